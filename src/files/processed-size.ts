import { z } from 'zod'
import { check } from '../messages/check.ts'

/** Tokens of what is said of a file whose content is not sent as text. Source: checklist S2-U06. */
const TOKENS_BY_TYPE: ReadonlyMap<string, number> = new Map([
  ['video', 500],
  ['audio', 300],
  ['image', 1_500],
  ['archive', 1_000],
  ['unknown', 500],
])
/** Types whose text is a small part of the file. Source: checklist S2-U06. */
const OFFICE_TYPES: ReadonlySet<string> = new Set(['office', 'docx', 'xlsx', 'pptx', 'doc', 'xls', 'ppt'])
const OFFICE_TEXT_SHARE = 0.15
const PDF_BYTES_PER_TOKEN = 100
const MOST_PDF_TOKENS = 50_000
const BYTES_PER_TOKEN = 4
/** How much longer bytes become as base64. Source: checklist S2-U06. */
const BASE64_GROWTH = 1.33

const figures = z.strictObject({ sizeBytes: z.number().nonnegative(), fileType: z.string().optional() })

/**
 * Tokens to expect of a file once it is part of the final prompt, by its size in bytes and its type: `video`,
 * `audio`, `image`, `archive`, `unknown`, `pdf`, an office type, `svg`; any other, or none, counts as bytes in base64.
 *
 * Throws `INVALID_INPUT`. Source: seed 002, checklist S2-110 and S2-U06.
 */
export function estimatePostProcessingTokens(sizeBytes: number, fileType?: string): number {
  check(figures, { sizeBytes, fileType }, 'estimatePostProcessingTokens')
  const type = fileType ?? ''
  const fixed = TOKENS_BY_TYPE.get(type)
  if (fixed !== undefined) return fixed
  if (type === 'pdf') return Math.min(Math.ceil(sizeBytes / PDF_BYTES_PER_TOKEN), MOST_PDF_TOKENS)
  if (OFFICE_TYPES.has(type)) return Math.ceil((sizeBytes * OFFICE_TEXT_SHARE) / BYTES_PER_TOKEN)
  if (type === 'svg') return Math.ceil(sizeBytes / BYTES_PER_TOKEN)
  return Math.ceil((sizeBytes * BASE64_GROWTH) / BYTES_PER_TOKEN)
}
