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

/** Most bytes of a tool output that a preview keeps, UTF-8. Source: seed 002, checklist S2-045. */
export const DEFAULT_MAX_PREVIEW_BYTES = 51_200
/** Share of what a preview keeps that comes from the beginning; the rest is the end. Source: checklist S2-U03. */
const DEFAULT_PREVIEW_HEAD_RATIO = 0.25
/** The tool a preview names for the full output. Source: checklist S2-U03. */
const DEFAULT_RETRIEVAL_TOOL = 'retrieve_context'

/** A line is kept whole when that leaves more than this share of the room of its end. */
const LEAST_SHARE = 0.5

const ratio = z.number().min(0).max(1)
const optionsSchema = z
  .strictObject({
    /** Most bytes kept, UTF-8; the notice comes on top. Default 51,200. */
    maxBytes: z.int().nonnegative().optional(),
    /** Most lines kept; the notice comes on top. Default 2,000. */
    maxLines: z.int().nonnegative().optional(),
    /** Share of both limits for the beginning, 0 to 1. Default 0.25, or what `tailRatio` leaves. */
    headRatio: ratio.optional(),
    /** Share of both limits for the end, 0 to 1. Default what `headRatio` leaves. */
    tailRatio: ratio.optional(),
    /** The tool that gives the full output, named in the notice; `null` names none. Default "retrieve_context". */
    retrieveWith: z.string().min(1).max(200).nullable().optional(),
  })
  .refine(
    ({ headRatio = 0, tailRatio = 0 }) => headRatio + tailRatio <= 1 + 1e-9,
    'headRatio and tailRatio must not be more than 1 together',
  )
  .optional()
/** Options of `previewToolOutput`. */
export type ToolOutputPreviewOptions = z.input<typeof optionsSchema>

/** A preview, and what it leaves out. Sizes are bytes of UTF-8. */
export type ToolOutputPreview = {
  readonly preview: string
  readonly truncated: boolean
  readonly originalSize: number
  readonly originalLines: number
  /** Bytes of the output in the preview, without the notice. */
  readonly keptBytes: number
  readonly omittedBytes: number
  /** Lines of which something or everything is left out. */
  readonly omittedLines: number
}

/**
 * The beginning and the end of a long tool output, with a notice of what is left out between them; an output
 * within both limits as it is.
 *
 * What is kept is within both limits; the preview, notice included, never takes more bytes than the output. An
 * output so short that the notice would not fit has a shorter one or none. Lines are kept whole where that is
 * not more than half of an end; no character is cut in two.
 *
 * Throws `INVALID_INPUT`. Source: seed 002, checklist S2-043 to S2-045 and S2-U03.
 */
export function generateToolOutputPreview(
  output: string,
  options?: ToolOutputPreviewOptions,
): ToolOutputPreview {
  if (typeof output !== 'string') throw invalid('generateToolOutputPreview: output must be a text')
  const limits = limitsOf(check(optionsSchema, options, 'generateToolOutputPreview'))
  return previewWithin(output, limits, noticesFor(limits.retrieveWith))
}

/** The same with notices of one's own, longest first; limits and notices must be checked already. */
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

/** How much is kept, and what share of it from which end. */
type PreviewShares = {
  readonly maxBytes: number
  readonly maxLines: number
  readonly headRatio: number
  readonly tailRatio: number
}
type Limits = PreviewShares & { readonly retrieveWith: string | null }

/** The shares when nobody says otherwise. Source: checklist S2-U03. */
export const PREVIEW_SHARES = {
  headRatio: DEFAULT_PREVIEW_HEAD_RATIO,
  tailRatio: 1 - DEFAULT_PREVIEW_HEAD_RATIO,
} as const

function limitsOf(options: z.output<typeof optionsSchema> = {}): Limits {
  const { headRatio, tailRatio } = options
  const head =
    headRatio ?? (tailRatio === undefined ? DEFAULT_PREVIEW_HEAD_RATIO : Math.max(0, 1 - tailRatio))
  return {
    maxBytes: options.maxBytes ?? DEFAULT_MAX_PREVIEW_BYTES,
    maxLines: options.maxLines ?? MAX_TOOL_OUTPUT_LINES,
    headRatio: head,
    tailRatio: tailRatio ?? 1 - head,
    retrieveWith: options.retrieveWith === undefined ? DEFAULT_RETRIEVAL_TOOL : options.retrieveWith,
  }
}

/** Parts an amount by two shares of together at most 1, in whole numbers; each end that is wanted gets one at least. */
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
  return line > longest * LEAST_SHARE ? line : characterStart(output, longest)
}

function startOfTail(output: string, maxBytes: number, maxLines: number): number {
  const longest = Math.max(tailWithin(output, maxBytes), startOfLines(output, maxLines))
  if (longest === 0 || output.charAt(longest - 1) === '\n') return longest
  const line = output.indexOf('\n', longest)
  const isNear = line !== -1 && line + 1 - longest < (output.length - longest) * LEAST_SHARE
  return isNear ? line + 1 : characterEnd(output, longest)
}

/** Lines that are whole in the two ends. The break that ends a line of the head is not kept itself. */
function linesOfEnds(output: string, headEnd: number, tailStart: number): number {
  const endsLine = headEnd > 0 && output.charAt(headEnd) === '\n' ? 1 : 0
  const startsLine = output.charAt(tailStart - 1) === '\n' ? 1 : 0
  return countLineBreaks(output, 0, headEnd) + endsLine + countLineBreaks(output, tailStart) + startsLine
}

/** What stands between the ends: what is left out, and of how much. */
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

/** The longest notice that takes no more than half of an output, whatever its figures turn out to be. */
function noticeWithin(size: number, lines: number, notices: readonly Notice[]): Notice {
  return notices.find((notice) => 2 * frameBytes(notice(size, lines, size, lines)) <= size) ?? (() => '')
}

/** Bytes of a notice and the line breaks around it. */
function frameBytes(notice: string): number {
  return notice === '' ? 0 : byteLength(notice) + 2
}

function join(head: string, notice: string, tail: string): string {
  if (notice === '') return `${head}${tail}`
  return `${head === '' ? '' : `${head}\n`}${notice}${tail === '' ? '' : `\n${tail}`}`
}
