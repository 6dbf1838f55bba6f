import { z } from 'zod'
import {
  characterEnd,
  characterStart,
  codePointStart,
  detached,
  isInsidePair,
} from '../../messages/characters.ts'

/*
 * Sizes of texts in UTF-8, without encoding them: an output may have 100 MB. A lone surrogate counts as the three
 * bytes of the character that is written for it.
 */

/** How much of a text is measured at once, UTF-16 units. */
const STEP = 4_096

export function byteLength(text: string): number {
  return Buffer.byteLength(text, 'utf8')
}

/** How long the beginning of a text is that takes at most `maxBytes`, UTF-16 units. Cuts between code points. */
export function headWithin(text: string, maxBytes: number): number {
  let at = 0
  let room = maxBytes
  while (at < text.length) {
    const next = codePointStart(text, Math.min(text.length, at + STEP))
    const bytes = byteLength(text.slice(at, next))
    if (bytes > room) break
    room -= bytes
    at = next
  }
  while (at < text.length) {
    const next = isInsidePair(text, at + 1) ? at + 2 : at + 1
    room -= bytesAt(text, at, next)
    if (room < 0) break
    at = next
  }
  return at
}

/** Where the end of a text begins that takes at most `maxBytes`, UTF-16 units. Cuts between code points. */
export function tailWithin(text: string, maxBytes: number): number {
  let at = text.length
  let room = maxBytes
  while (at > 0) {
    const next = codePointStart(text, Math.max(0, at - STEP))
    const bytes = byteLength(text.slice(next, at))
    if (bytes > room) break
    room -= bytes
    at = next
  }
  while (at > 0) {
    const next = isInsidePair(text, at - 1) ? at - 2 : at - 1
    room -= bytesAt(text, next, at)
    if (room < 0) break
    at = next
  }
  return at
}

/** Bytes of the one code point between two places. */
function bytesAt(text: string, from: number, to: number): number {
  if (to - from === 2) return 4
  const unit = text.charCodeAt(from)
  return unit < 0x80 ? 1 : unit < 0x800 ? 2 : 3
}

/** Where the first `lines` lines of a text end, their last line break left out. Lines are parted by "\n". */
export function endOfLines(text: string, lines: number): number {
  let end = -1
  for (let line = 0; line < lines; line++) {
    end = text.indexOf('\n', end + 1)
    if (end === -1) return text.length
  }
  return Math.max(0, end)
}

/** Where the last `lines` lines of a text begin. */
export function startOfLines(text: string, lines: number): number {
  if (lines === 0) return text.length
  let start = text.length
  for (let line = 0; line < lines; line++) {
    if (start === 0) return 0
    start = text.lastIndexOf('\n', start - 1)
    if (start === -1) return 0
  }
  return start + 1
}

/** How many line breaks stand between two places. */
export function countLineBreaks(text: string, from = 0, to = text.length): number {
  let count = 0
  // Searched, not gone through: outputs are often slices of larger texts, whose units are slow to come by.
  for (let at = text.indexOf('\n', from); at !== -1 && at < to; at = text.indexOf('\n', at + 1)) count++
  return count
}

/** Most bytes of a tool output that are kept, UTF-8. Source: seed 003, checklist S3-283. */
export const MAX_TOOL_OUTPUT_BYTES = 51_200
/** Most lines of a tool output that are kept. Source: seed 003, checklist S3-284. */
export const MAX_TOOL_OUTPUT_LINES = 2_000

/** Which end of a tool output is kept, and how much of it. Source: seed 003, checklist S3-286 to S3-288. */
export const outputLimitsSchema = z.strictObject({
  /** Most bytes kept, UTF-8. Default 51,200. */
  maxBytes: z.int().nonnegative().optional(),
  /** Most lines kept. Default 2,000. */
  maxLines: z.int().nonnegative().optional(),
  /** Which end is kept. Default the tail. */
  direction: z.enum(['head', 'tail']).optional(),
})
type OutputLimits = z.output<typeof outputLimitsSchema>

/** What is left of a tool output. Sizes are bytes of UTF-8. */
type CutOutput = {
  readonly kept: string
  readonly truncated: boolean
  readonly originalSize: number
  readonly keptSize: number
}

/**
 * One end of a tool output, within both limits: first whole lines, then bytes, as seed 003 has it. No character
 * is cut in two. An output within both limits, and an empty one, is kept whole. Options must be checked already.
 */
export function cutOutput(
  output: string,
  {
    maxBytes = MAX_TOOL_OUTPUT_BYTES,
    maxLines = MAX_TOOL_OUTPUT_LINES,
    direction = 'tail',
  }: OutputLimits = {},
): CutOutput {
  const originalSize = byteLength(output)
  const kept =
    direction === 'head' ? cutHead(output, maxBytes, maxLines) : cutTail(output, maxBytes, maxLines)
  if (kept.length === output.length)
    return { kept: output, truncated: false, originalSize, keptSize: originalSize }
  return { kept: detached(kept), truncated: true, originalSize, keptSize: byteLength(kept) }
}

function cutHead(output: string, maxBytes: number, maxLines: number): string {
  const lines = output.slice(0, endOfLines(output, maxLines))
  const end = headWithin(lines, maxBytes)
  return end === lines.length ? lines : lines.slice(0, characterStart(lines, end))
}

function cutTail(output: string, maxBytes: number, maxLines: number): string {
  const lines = output.slice(startOfLines(output, maxLines))
  const start = tailWithin(lines, maxBytes)
  return start === 0 ? lines : lines.slice(characterEnd(lines, start))
}

/**
 * A cut output with its notice, behind a head and in front of a tail; the output itself when nothing was cut.
 * Source: checklist S3-295 and C-14, the blank lines from the golden data.
 */
export function withNotice(cut: CutOutput, direction: 'head' | 'tail' = 'tail', savedPath?: string): string {
  if (!cut.truncated) return cut.kept
  const saved = savedPath === undefined ? '' : `. Full output saved to: ${savedPath}`
  const notice = `[Output truncated from ${cut.originalSize} bytes to ${cut.keptSize} bytes${saved}]`
  return direction === 'head' ? `${cut.kept}\n\n${notice}` : `\n\n${notice}\n${cut.kept}`
}
