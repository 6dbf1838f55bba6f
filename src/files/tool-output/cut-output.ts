import { z } from 'zod'
import { characterEnd, characterStart, detached } from '../../messages/characters.ts'
import { byteLength, endOfLines, headWithin, startOfLines, tailWithin } from './bytes.ts'

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
export type OutputLimits = z.output<typeof outputLimitsSchema>

/** What is left of a tool output. Sizes are bytes of UTF-8. */
export type CutOutput = {
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
