import { z } from 'zod'
import { check } from '../messages/check.ts'
import { DEFAULT_PROVIDER } from '../tokens/budget.ts'
import { estimatorSchema } from '../tokens/estimators/estimator-schema.ts'
import { getAvailableInputTokens } from '../tokens/windows.ts'

/** Tokens for the description of a file whose content is not sent as text. */
const TOKENS_BY_TYPE: ReadonlyMap<string, number> = new Map([
  ['video', 500],
  ['audio', 300],
  ['image', 1_500],
  ['archive', 1_000],
  ['unknown', 500],
])
/** File types in which text is a small part of the bytes. */
const OFFICE_TYPES: ReadonlySet<string> = new Set(['office', 'docx', 'xlsx', 'pptx', 'doc', 'xls', 'ppt'])
const OFFICE_TEXT_SHARE = 0.15
const PDF_BYTES_PER_TOKEN = 100
const MAX_PDF_TOKENS = 50_000
const BYTES_PER_TOKEN = 4
/** The growth factor of base64 encoding. */
const BASE64_GROWTH = 1.33

const figures = z.strictObject({ sizeBytes: z.number().nonnegative(), fileType: z.string().optional() })

/**
 * Returns the expected tokens of a file in the final prompt, from its size in bytes and its type: `video`, `audio`, `image`, `archive`,
 * `unknown`, `pdf`, an office type, or `svg`. Any other type, or none, counts as base64.
 *
 * Throws `INVALID_INPUT`.
 */
export function estimatePostProcessingTokens(sizeBytes: number, fileType?: string): number {
  check(figures, { sizeBytes, fileType }, 'estimatePostProcessingTokens')
  const type = fileType ?? ''
  const fixed = TOKENS_BY_TYPE.get(type)
  if (fixed !== undefined) return fixed
  if (type === 'pdf') return Math.min(Math.ceil(sizeBytes / PDF_BYTES_PER_TOKEN), MAX_PDF_TOKENS)
  if (OFFICE_TYPES.has(type)) return Math.ceil((sizeBytes * OFFICE_TEXT_SHARE) / BYTES_PER_TOKEN)
  if (type === 'svg') return Math.ceil(sizeBytes / BYTES_PER_TOKEN)
  return Math.ceil((sizeBytes * BASE64_GROWTH) / BYTES_PER_TOKEN)
}

/** The share of the remaining context for files. */
export const FILE_READ_BUDGET_PERCENT = 0.6
/** Files below this size are used whole, in bytes. */
export const FILE_FAST_PATH_SIZE = 102_400
/** Files above this size are replaced with a preview, in bytes. */
export const FILE_PREVIEW_MODE_SIZE = 5_242_880
/** The length of that preview, in characters. */
export const FILE_PREVIEW_CHARS = 2_000
/** Characters per token, if only a size is known. */
const CHARS_PER_TOKEN = 4

const tokens = z.number().nonnegative()
const percent = z.number().min(0).max(1)

const budgetFigures = z.strictObject({
  contextWindow: tokens,
  currentTokens: tokens,
  maxOutputTokens: tokens,
  options: z
    .union([
      tokens,
      z.strictObject({
        /** Tokens reserved for content that is neither history nor files. Default 0. */
        reserve: tokens.optional(),
        /** The share of the remaining tokens for files, 0 to 1. Default 0.6. */
        percent: percent.optional(),
      }),
    ])
    .optional(),
})
/** Options of `calculateFileTokenBudget`. */
export type FileTokenBudgetOptions = Exclude<z.input<typeof budgetFigures>['options'], number | undefined>

/**
 * Returns the token budget for files: floor((window − current − output − reserve) × percent), or 0 if nothing remains. A number as the
 * fourth argument is the reserve.
 *
 * Throws `INVALID_INPUT`.
 */
export function calculateFileTokenBudget(
  contextWindow: number,
  currentTokens: number,
  maxOutputTokens = 0,
  options?: number | FileTokenBudgetOptions,
): number {
  check(budgetFigures, { contextWindow, currentTokens, maxOutputTokens, options }, 'calculateFileTokenBudget')
  const { reserve = 0, percent = FILE_READ_BUDGET_PERCENT } =
    typeof options === 'number' ? { reserve: options } : (options ?? {})
  return Math.max(0, Math.floor((contextWindow - currentTokens - maxOutputTokens - reserve) * percent))
}

const fileFigures = z.strictObject({ fileSize: tokens, budget: tokens })

/**
 * Returns how to use a file, from its size in bytes and its budget in tokens. Above 5 MB: a preview of 2,000 characters. Below 100 KB:
 * whole. Otherwise: whole if a quarter of its size fits, else cut to `maxChars`.
 *
 * Throws `INVALID_INPUT`.
 */
export function shouldTruncateFile(
  fileSize: number,
  budget: number,
): { readonly shouldTruncate: boolean; readonly maxChars?: number; readonly previewMode?: boolean } {
  check(fileFigures, { fileSize, budget }, 'shouldTruncateFile')
  if (fileSize > FILE_PREVIEW_MODE_SIZE)
    return { shouldTruncate: true, maxChars: FILE_PREVIEW_CHARS, previewMode: true }
  if (fileSize < FILE_FAST_PATH_SIZE || Math.ceil(fileSize / CHARS_PER_TOKEN) <= budget)
    return { shouldTruncate: false }
  return { shouldTruncate: true, maxChars: Math.floor(budget * CHARS_PER_TOKEN) }
}

/** The rest of a request, and the share of the remaining tokens for files. */
export const fileShareShape = {
  /** Tokens in use: system prompt, history, prompt, tools. Default 0. */
  usedTokens: tokens.optional(),
  /** Further tokens to reserve. */
  reserve: tokens.optional(),
  /** The share of the remaining tokens for files, 0 to 1. Default 0.6; the setting `fileReadBudgetPercent`. */
  percent: percent.optional(),
  /** The token budget of the files. If it is given, the other figures are ignored. */
  budgetTokens: tokens.optional(),
  /** The estimator. Default: `neurolink`. */
  estimator: estimatorSchema.optional(),
} as const

/** The model of a request with files, and the rest of the request. All sizes are in tokens. */
export const fileBudgetSchema = z.strictObject({
  ...fileShareShape,
  /** Default "openai". */
  provider: z.string().optional(),
  model: z.string().optional(),
  /** The requested output tokens, which set the output reserve. */
  maxOutputTokens: tokens.optional(),
})
/** The budget for the files of a request, in tokens. */
export type FileBudget = z.input<typeof fileBudgetSchema>

/**
 * Returns the token budget for the files of one request. `reserveShare` is the share of the available input that is reserved by default.
 */
export function fileBudgetTokens(budget: z.output<typeof fileBudgetSchema>, reserveShare: number): number {
  if (budget.budgetTokens !== undefined) return Math.floor(budget.budgetTokens)
  const { provider = DEFAULT_PROVIDER, model, maxOutputTokens, usedTokens = 0 } = budget
  const available = Math.max(0, getAvailableInputTokens(provider, model, maxOutputTokens))
  const reserve = budget.reserve ?? Math.ceil(available * reserveShare)
  return calculateFileTokenBudget(available, usedTokens, 0, {
    reserve,
    ...(budget.percent !== undefined && { percent: budget.percent }),
  })
}
