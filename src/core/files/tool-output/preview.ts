import { z } from 'zod'
import { invalid } from '../../errors.ts'
import { characterEnd, characterStart, detached } from '../../messages/characters.ts'
import { check } from '../../messages/check.ts'
import {
  byteLength,
  countLineBreaks,
  endOfLines,
  headWithin,
  MAX_TOOL_OUTPUT_LINES,
  startOfLines,
  tailWithin,
} from './cut-output.ts'

/** The default maximum bytes of a preview, UTF-8. */
export const DEFAULT_MAX_PREVIEW_BYTES = 51_200
/** The share of a preview for the beginning of the output; the rest is for the end. */
const DEFAULT_PREVIEW_HEAD_RATIO = 0.25
/** The tool that a preview names for reading the full output. */
const DEFAULT_RETRIEVAL_TOOL = 'retrieve_context'

/** A cut moves to a line break if that keeps more than this share of the room. */
const MIN_KEPT_SHARE = 0.5

const ratio = z.number().min(0).max(1)
const optionsSchema = z
  .strictObject({
    /** The maximum bytes, UTF-8, without the notice. Default 51,200. */
    maxBytes: z.int().nonnegative().optional(),
    /** The maximum lines, without the notice. Default 2,000. */
    maxLines: z.int().nonnegative().optional(),
    /** The share of both limits for the beginning, 0 to 1. Default 0.25, or the rest of `tailRatio`. */
    headRatio: ratio.optional(),
    /** The share of both limits for the end, 0 to 1. Default: the rest of `headRatio`. */
    tailRatio: ratio.optional(),
    /** The name of the tool that returns the full output, named in the notice; `null` for none. Default "retrieve_context". */
    retrieveWith: z.string().min(1).max(200).nullable().optional(),
  })
  .refine(
    ({ headRatio = 0, tailRatio = 0 }) => headRatio + tailRatio <= 1 + 1e-9,
    'headRatio and tailRatio must not add up to more than 1',
  )
  .optional()
/** Options of `previewToolOutput`. */
export type ToolOutputPreviewOptions = z.input<typeof optionsSchema>

/** A preview, and the size of the omitted text. Sizes are bytes of UTF-8. */
export type ToolOutputPreview = {
  readonly preview: string
  readonly truncated: boolean
  readonly originalSize: number
  readonly originalLines: number
  /** Bytes of the output in the preview, without the notice. */
  readonly keptBytes: number
  readonly omittedBytes: number
  /** The number of lines that are omitted in full or in part. */
  readonly omittedLines: number
}

/**
 * Returns the beginning and the end of a long tool output, with a notice between them; an output within both limits is returned
 * unchanged.
 *
 * The kept text is within both limits; the preview including its notice never has more bytes than the output. If the notice doesn't fit,
 * it is shortened or omitted. Lines stay whole if that loses at most half of an end; characters always stay whole.
 *
 * Throws `INVALID_INPUT`.
 */
export function generateToolOutputPreview(
  output: string,
  options?: ToolOutputPreviewOptions,
): ToolOutputPreview {
  if (typeof output !== 'string') throw invalid('generateToolOutputPreview: output must be a string')
  const limits = limitsOf(check(optionsSchema, options, 'generateToolOutputPreview'))
  return previewWithin(output, limits, noticesFor(limits.retrieveWith))
}

/** Like `generateToolOutputPreview`, but with the given notices, longest first. Limits and notices must already be checked. */
export function previewWithin(
  output: string,
  limits: PreviewShares,
  notices: readonly Notice[],
): ToolOutputPreview {
  const originalSize = byteLength(output)
  const originalLines = output === '' ? 0 : countLineBreaks(output) + 1
  if (originalSize <= limits.maxBytes && originalLines <= limits.maxLines) {
    const sizes = { originalSize, originalLines, keptBytes: originalSize, omittedBytes: 0, omittedLines: 0 }
    return { preview: output, truncated: false, ...sizes }
  }
  const noticeOf = noticeWithin(originalSize, originalLines, notices)
  const reserved = frameBytes(noticeOf(originalSize, originalLines, originalSize, originalLines))
  const { headEnd, tailStart } = findEnds(output, limits, Math.min(limits.maxBytes, originalSize - reserved))
  const [head, tail] = [output.slice(0, headEnd), output.slice(tailStart)]
  const keptBytes = byteLength(head) + byteLength(tail)
  const omittedBytes = originalSize - keptBytes
  const omittedLines = originalLines - linesOfEnds(output, headEnd, tailStart)
  const notice = noticeOf(omittedBytes, omittedLines, originalSize, originalLines)
  const preview = detached(join(head, notice, tail))
  return { preview, truncated: true, originalSize, originalLines, keptBytes, omittedBytes, omittedLines }
}

/** The limits, and the share of each end. */
type PreviewShares = {
  readonly maxBytes: number
  readonly maxLines: number
  readonly headRatio: number
  readonly tailRatio: number
}

/** The default shares. */
export const PREVIEW_SHARES = {
  headRatio: DEFAULT_PREVIEW_HEAD_RATIO,
  tailRatio: 1 - DEFAULT_PREVIEW_HEAD_RATIO,
} as const

function limitsOf({
  maxBytes = DEFAULT_MAX_PREVIEW_BYTES,
  maxLines = MAX_TOOL_OUTPUT_LINES,
  headRatio,
  tailRatio,
  retrieveWith = DEFAULT_RETRIEVAL_TOOL,
}: z.output<typeof optionsSchema> = {}) {
  const head = headRatio ?? Math.max(0, 1 - (tailRatio ?? PREVIEW_SHARES.tailRatio))
  return { maxBytes, maxLines, headRatio: head, tailRatio: tailRatio ?? 1 - head, retrieveWith }
}

/** Divides an amount into integers by two shares whose sum is at most 1; each end with a share gets at least 1. */
function share(amount: number, { headRatio, tailRatio }: PreviewShares): readonly [number, number] {
  const least = headRatio > 0 && amount > 1 ? 1 : 0
  const head = Math.max(least, Math.floor(amount * headRatio))
  return [head, Math.min(amount - head, Math.ceil(amount * tailRatio))]
}

function findEnds(
  output: string,
  limits: PreviewShares,
  maxBytes: number,
): { readonly headEnd: number; readonly tailStart: number } {
  const [headBytes, tailBytes] = share(Math.max(0, maxBytes), limits)
  const [headLines, tailLines] = share(limits.maxLines, limits)
  const headEnd = endOfHead(output, headBytes, headLines)
  return { headEnd, tailStart: Math.max(headEnd, startOfTail(output, tailBytes, tailLines)) }
}

function endOfHead(output: string, maxBytes: number, maxLines: number): number {
  const longest = Math.min(headWithin(output, maxBytes), endOfLines(output, maxLines))
  const line = output.lastIndexOf('\n', longest)
  return line > longest * MIN_KEPT_SHARE ? line : characterStart(output, longest)
}

function startOfTail(output: string, maxBytes: number, maxLines: number): number {
  const longest = Math.max(tailWithin(output, maxBytes), startOfLines(output, maxLines))
  if (longest === 0 || output.charAt(longest - 1) === '\n') return longest
  const line = output.indexOf('\n', longest)
  const isNear = line !== -1 && line + 1 - longest < (output.length - longest) * MIN_KEPT_SHARE
  return isNear ? line + 1 : characterEnd(output, longest)
}

/** Returns the number of whole lines in the two ends. The line break at the end of the head is not kept. */
function linesOfEnds(output: string, headEnd: number, tailStart: number): number {
  const endsLine = headEnd > 0 && output.charAt(headEnd) === '\n' ? 1 : 0
  const startsLine = output.charAt(tailStart - 1) === '\n' ? 1 : 0
  return countLineBreaks(output, 0, headEnd) + endsLine + countLineBreaks(output, tailStart) + startsLine
}

/** Returns the text between the ends, which gives the omitted amount and the total. */
export type Notice = (bytes: number, lines: number, allBytes: number, allLines: number) => string

function noticesFor(retrieveWith: string | null): readonly Notice[] {
  const how = retrieveWith === null ? '' : `. Use the tool ${retrieveWith} for the full output`
  return [
    (bytes, lines) => `[... ${bytes} bytes omitted (${lines} ${lines === 1 ? 'line' : 'lines'})${how} ...]`,
    bareNotice,
  ]
}

/** The shortest notice. */
export const bareNotice: Notice = (bytes) => `[... ${bytes} bytes omitted ...]`

/** Returns the longest notice that takes at most half of an output, whatever the figures. */
function noticeWithin(size: number, lines: number, notices: readonly Notice[]): Notice {
  return notices.find((notice) => 2 * frameBytes(notice(size, lines, size, lines)) <= size) ?? (() => '')
}

/** Returns the bytes of a notice and of the line breaks around it. */
function frameBytes(notice: string): number {
  return notice === '' ? 0 : byteLength(notice) + 2
}

function join(head: string, notice: string, tail: string): string {
  if (notice === '') return `${head}${tail}`
  return `${head === '' ? '' : `${head}\n`}${notice}${tail === '' ? '' : `\n${tail}`}`
}
