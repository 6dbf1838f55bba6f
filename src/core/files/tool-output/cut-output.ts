import { z } from 'zod'
import { characterEnd, characterStart, detached } from '../../messages/characters.ts'

/** Returns the bytes of a text in UTF-8. A lone surrogate counts as three, because it is written as U+FFFD. */
export function byteLength(text: string): number {
  return Buffer.byteLength(text, 'utf8')
}

const encoder = new TextEncoder()

/** Returns the length of the longest prefix of at most `maxBytes`, in UTF-16 units. Cuts between code points. */
export function headWithin(text: string, maxBytes: number): number {
  if (byteLength(text) <= maxBytes) return text.length
  // A unit takes at least one byte, so only the part that may fit is encoded, even of a 100 MB output.
  return encoder.encodeInto(text.slice(0, maxBytes), new Uint8Array(maxBytes)).read
}

/** Returns the start of the longest suffix of at most `maxBytes`, in UTF-16 units. Cuts between code points. */
export function tailWithin(text: string, maxBytes: number): number {
  if (byteLength(text) <= maxBytes) return 0
  const bytes = Buffer.from(text.slice(Math.max(0, text.length - maxBytes)))
  let start = bytes.length - maxBytes
  // Not within a code point.
  while ((bytes[start]! & 0xc0) === 0x80) start += 1
  return text.length - bytes.toString('utf8', start).length
}

/** Returns the end of the first `lines` lines, without their last line break. Lines are separated by "\n". */
export function endOfLines(text: string, lines: number): number {
  let end = -1
  for (let line = 0; line < lines; line++) {
    end = text.indexOf('\n', end + 1)
    if (end === -1) return text.length
  }
  return Math.max(0, end)
}

/** Returns the start of the last `lines` lines. */
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

/** Returns the number of line breaks between two positions. */
export function countLineBreaks(text: string, from = 0, to = text.length): number {
  let count = 0
  // `indexOf` is faster than reading units: outputs are often slices of larger texts.
  for (let at = text.indexOf('\n', from); at !== -1 && at < to; at = text.indexOf('\n', at + 1)) count++
  return count
}

/** The default maximum bytes of a tool output, UTF-8, as in NeuroLink. */
export const MAX_TOOL_OUTPUT_BYTES = 51_200
/** The default maximum lines of a tool output, as in NeuroLink. */
export const MAX_TOOL_OUTPUT_LINES = 2_000

/** The limits of a tool output, and the end that is kept. */
export const outputLimitsSchema = z.strictObject({
  /** The maximum bytes, UTF-8. Default 51,200. */
  maxBytes: z.int().nonnegative().optional(),
  /** The maximum lines. Default 2,000. */
  maxLines: z.int().nonnegative().optional(),
  /** The end that is kept. Default: the tail. */
  direction: z.enum(['head', 'tail']).optional(),
})
type OutputLimits = z.output<typeof outputLimitsSchema>

/** A cut tool output. Sizes are bytes of UTF-8. */
type CutOutput = {
  readonly kept: string
  readonly truncated: boolean
  readonly originalSize: number
  readonly keptSize: number
}

/**
 * Returns one end of a tool output within both limits: first whole lines, then bytes, as in NeuroLink. Characters stay whole. An output
 * within both limits is returned whole. The options must already be checked.
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

/** Returns a cut output with its notice, after a head or before a tail; an output that was not cut is returned unchanged. */
export function withNotice(cut: CutOutput, direction: 'head' | 'tail' = 'tail', savedPath?: string): string {
  if (!cut.truncated) return cut.kept
  const saved = savedPath === undefined ? '' : `. Full output saved to: ${savedPath}`
  const notice = `[Output truncated from ${cut.originalSize} bytes to ${cut.keptSize} bytes${saved}]`
  return direction === 'head' ? `${cut.kept}\n\n${notice}` : `\n\n${notice}\n${cut.kept}`
}
