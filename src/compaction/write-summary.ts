import { withReadableBlocks } from '../core/compaction-block.ts'
import { type JsonObject, stringifyJson } from '../core/json.ts'
import { type Message, type Part, partsOf, type RowKind, withOutputText } from '../core/message.ts'
import {
  addSizes,
  type Estimator,
  estimateTokens,
  measureMessage,
  NO_SIZES,
  type Sizes,
  tokensOf,
  tokensOfText,
} from '../core/tokens.ts'
import {
  boundDigest,
  type Digest,
  digestToolCalls,
  filesOf,
  mergeDigests,
  renderDigest,
} from '../summarizers/digest.ts'
import { judgeAnswer } from '../summarizers/judge-answer.ts'
import { shortenMiddle } from '../summarizers/shorten-middle.ts'
import type { AnswerProblem, Summarizer, SummaryAnswer, SummaryRequest } from '../summarizers/summarizer.ts'
import { Bill } from './bill.ts'
import { fitText, shortenSummary } from './shorten-summary.ts'

/** Share of a summary's tokens that its digest of tool calls may take. Source: checklist F3. */
const DIGEST_SHARE = 0.25
/** A summary of fewer tokens gives its digest a smaller share: what it is about comes first. */
const FULL_DIGEST_TOKENS = 400
/** What is kept of each end of a text that alone is too long for a summarizer, as a share of its room. */
const END_SHARE = 0.4
/** Most of a summarizer's input that the summary so far may take: what is new needs room too. */
const PREVIOUS_SHARE = 0.5
/** How often a row is shortened to half of what it was before it becomes one text. */
const MOST_HALVINGS = 8

/** One row that a summary is to stand for. */
export type SummarySource = {
  readonly kind: RowKind
  /** As the view shows it. */
  readonly shown: Message
  /** As it is stored: the digest tells what really came out. */
  readonly original: Message
  readonly metadata: JsonObject | undefined
}

export type WrittenSummary = {
  /** What the summary row says: the summarizer's text, and the digest behind it. */
  readonly text: string
  readonly metadata: JsonObject
  /** The last answer, with what all of them cost. */
  readonly answer: SummaryAnswer
  /** Why the text is no summary; it is empty then. */
  readonly problem?: AnswerProblem
}

/** What a summary row remembers, so that the next summary can build on it. */
type SummaryMemory = { readonly textLength: number; readonly digest: Digest }

/**
 * Asks a summarizer for the text that is to stand for some rows, in chunks that fit it, each with the summary so
 * far, and adds the digest of the tool calls. Answers an empty text and the `problem` when an answer is no summary.
 *
 * `bill` hears of each answer as it comes, and is waited for: what was paid stands there also when a later chunk fails.
 *
 * What it is sent at once, messages and summary so far, takes at most `maxInputTokens` as the request's provider
 * counts, or `provider` when the request names none.
 *
 * Rejects with whatever the summarizer throws. Changes nothing.
 */
export async function writeSummary(
  summarizer: Summarizer,
  sources: readonly SummarySource[],
  request: Omit<SummaryRequest, 'messages' | 'previousSummary' | 'files'>,
  estimator: Estimator,
  provider?: string,
  bill = new Bill(),
): Promise<WrittenSummary> {
  // Summaries of one level are merged side by side, none of them into the next.
  const earlier = request.level === undefined ? leadingSummaries(sources) : []
  const rest = sources.slice(earlier.length)
  const originals = rest.filter(({ kind }) => kind === 'message').map(({ original }) => original)
  const digest = [...earlier, ...rest.filter(({ kind }) => kind === 'summary')]
    .flatMap((source) => memoryOf(source)?.digest ?? [])
    .concat(digestToolCalls(originals))
    .reduce(mergeDigests)
  const rendered = renderForSummary(digest, request.maxTokens)
  const textTokens = request.maxTokens - (rendered === '' ? 0 : estimateTokens(rendered))

  let previousSummary = earlier.map(ownText).join('\n\n')
  let answer: SummaryAnswer = { text: previousSummary }
  const scale = new Scale(estimator, request.provider ?? provider)
  const asked = { ...request, maxTokens: Math.max(1, textTokens) }
  const limit = summarizer.inputTokensFor?.(asked) ?? summarizer.maxInputTokens
  const most = limit ?? Number.POSITIVE_INFINITY
  // Whoever calls no model reads everything for nothing, what was cleared in the view too.
  const readsAll = !summarizer.usesModel && limit === undefined
  const read = (source: SummarySource): Message =>
    withReadableBlocks(readsAll && source.kind !== 'summary' ? source.original : withoutDigest(source))
  for (let from = 0; from < rest.length; ) {
    previousSummary = shortenSummary(
      previousSummary,
      request.sections,
      (text) => scale.ofText(text) <= most * PREVIOUS_SHARE,
    )
    const { chunk, next } = takeChunk(rest, from, most - scale.ofText(previousSummary), scale)
    from = next
    request.signal?.throwIfAborted()
    answer = await summarizer.summarize({
      ...asked,
      messages: chunk.map((source) => ({ ...read(source), kind: source.kind })),
      files: filesOf(chunk.map(({ original }) => original)),
      ...(previousSummary !== '' && { previousSummary }),
    })
    await bill.add(answer)
    const judged = judge(summarizer, answer)
    if ('problem' in judged) return noSummary(bill.total(''), judged.problem)
    previousSummary = judged.text
    answer = { ...answer, text: judged.text }
  }

  const text = rendered === '' ? answer.text : `${answer.text}\n\n${rendered}`
  const memory = {
    isSummary: true,
    textLength: answer.text.length,
    digest: boundDigest(digest) as unknown as JsonObject,
  }
  return {
    text,
    metadata: memory,
    answer: bill.total(answer.text),
  }
}

/** What a model answers may be many things that are no summary; whoever calls no model writes one, or nothing. */
function judge(summarizer: Summarizer, answer: SummaryAnswer | undefined): ReturnType<typeof judgeAnswer> {
  if (summarizer.usesModel) return judgeAnswer(answer)
  const isText = typeof answer?.text === 'string' && answer.text.trim() !== ''
  return isText ? { text: answer.text } : { problem: 'EMPTY_SUMMARY' }
}

function noSummary(answer: SummaryAnswer, problem: AnswerProblem): WrittenSummary {
  return { text: '', metadata: {}, answer, problem }
}

/** The digest behind a summary's text. One that could only say how many calls it leaves out is not worth its room. */
function renderForSummary(digest: Digest, maxTokens: number): string {
  const { text, digest: shown } = renderDigest(
    digest,
    Math.floor(maxTokens * DIGEST_SHARE * Math.min(1, maxTokens / FULL_DIGEST_TOKENS)),
  )
  return shown.entries.length === 0 && digest.entries.length > 0 ? '' : text
}

/** A summary whose text the caller gave: the digest is added all the same, and says what was done. */
export function givenSummary(text: string, sources: readonly SummarySource[]): WrittenSummary {
  const digest = digestToolCalls(
    sources.filter(({ kind }) => kind === 'message').map(({ original }) => original),
  )
  const merged = sources
    .flatMap((source) => memoryOf(source)?.digest ?? [])
    .concat(digest)
    .reduce(mergeDigests)
  return {
    text,
    metadata: {
      isSummary: true,
      textLength: text.length,
      digest: boundDigest(merged) as unknown as JsonObject,
    },
    answer: { text },
  }
}

function leadingSummaries(sources: readonly SummarySource[]): readonly SummarySource[] {
  const end = sources.findIndex(({ kind }) => kind !== 'summary')
  return end === -1 ? sources : sources.slice(0, end)
}

function memoryOf({ kind, metadata }: SummarySource): SummaryMemory | undefined {
  if (kind !== 'summary' || metadata === undefined) return undefined
  const { textLength, digest } = metadata
  if (typeof textLength !== 'number' || typeof digest !== 'object' || digest === null) return undefined
  return { textLength, digest: digest as unknown as Digest }
}

/** As it is shown; a summary without its digest, which is merged apart. */
function withoutDigest(source: SummarySource): Message {
  return source.kind === 'summary' ? { ...source.shown, content: ownText(source) } : source.shown
}

/** A summary's text without its digest. */
function ownText(source: SummarySource): string {
  const text = textOf(source.shown)
  const length = memoryOf(source)?.textLength
  return length === undefined ? text : text.slice(0, length)
}

function textOf(message: Message): string {
  return partsOf(withReadableBlocks(message))
    .map((part) => (part.type === 'text' ? part.text : ''))
    .join('')
}

/** How much of a summarizer's input something takes, in tokens of one provider. */
class Scale {
  readonly #estimator: Estimator
  readonly #provider: string | undefined

  constructor(estimator: Estimator, provider: string | undefined) {
    this.#estimator = estimator
    this.#provider = provider
  }

  sizesOf({ shown }: SummarySource): Sizes {
    return measureMessage(shown, this.#estimator)
  }

  /** Tokens of `count` messages in one request. */
  ofMessages(sizes: Sizes, count: number): number {
    return tokensOf(sizes, count, this.#estimator, this.#provider)
  }

  /** Tokens of the summary so far, counted as a message of its own; 0 for none. */
  ofText(text: string): number {
    if (text === '') return 0
    const estimator = this.#estimator
    return tokensOfText(text, estimator, this.#provider) + estimator.tokensPerMessage
  }
}

/**
 * The rows from `from` on that together take at most `room` tokens, one at least, and where the next chunk begins.
 * Calls and their results stay together as long as they fit; a single row that does not fit is shortened in the
 * middle, never left out.
 */
function takeChunk(
  sources: readonly SummarySource[],
  from: number,
  room: number,
  scale: Scale,
): { readonly chunk: readonly SummarySource[]; readonly next: number } {
  const chunk: SummarySource[] = []
  let sizes = NO_SIZES
  for (let at = from; at < sources.length; at++) {
    const fitted = fitSource(sources[at]!, room, scale)
    const own = scale.sizesOf(fitted)
    const sum = addSizes(sizes, own)
    if (chunk.length > 0 && scale.ofMessages(sum, chunk.length + 1) > room) {
      // A result goes with the call before it, so the call moves on too, if both fit.
      const start = startsWithResult(fitted) ? callBefore(chunk) : chunk.length
      const moved = chunk.slice(start).reduce((total, source) => addSizes(total, scale.sizesOf(source)), own)
      const moves = start > 0 && scale.ofMessages(moved, chunk.length - start + 1) <= room
      return moves ? { chunk: chunk.slice(0, start), next: from + start } : { chunk, next: at }
    }
    chunk.push(fitted)
    sizes = sum
  }
  return { chunk, next: sources.length }
}

/** Where the row stands whose calls a result behind the chunk may answer: before the results at its end. */
function callBefore(chunk: readonly SummarySource[]): number {
  let at = chunk.length - 1
  while (at > 0 && startsWithResult(chunk[at]!)) at--
  return at
}

function startsWithResult({ shown }: SummarySource): boolean {
  return partsOf(shown)[0]?.type === 'tool-result'
}

/** A row that takes at most `room`. Every text in it is shortened alike; only one with too many parts becomes one text. */
function fitSource(source: SummarySource, room: number, scale: Scale): SummarySource {
  const tokensOfSource = (some: SummarySource): number => scale.ofMessages(scale.sizesOf(some), 1)
  const tokens = tokensOfSource(source)
  if (tokens <= room) return source
  let share = (Math.max(0, room) / tokens) * 2 * END_SHARE
  for (let tries = 0; tries <= MOST_HALVINGS; tries++) {
    const shortened = withContent(source, shortenParts(source.shown, share))
    if (tokensOfSource(shortened) <= room) return shortened
    share /= 2
  }
  const whole = partsOf(source.shown).map(plainText).join('\n')
  return withContent(
    source,
    fitText(whole, (text) => tokensOfSource(withContent(source, text)) <= room),
  )
}

function withContent(source: SummarySource, content: Message['content']): SummarySource {
  return { ...source, shown: { ...source.shown, content } }
}

function shortenParts(message: Message, share: number): Part[] {
  const shorten = (text: string): string => shortenMiddle(text, Math.floor(text.length * share))
  return partsOf(message).map((part): Part => {
    if (part.type === 'text' || part.type === 'reasoning') return { ...part, text: shorten(part.text) }
    if (part.type === 'tool-result')
      return { ...part, output: withOutputText(part.output, shorten(outputOf(part))) }
    if (part.type === 'tool-call') {
      const json = stringifyJson(part.input)
      const short = shorten(json)
      return short.length < json.length ? { ...part, input: short } : part
    }
    return { type: 'text', text: `[${part.type}]` }
  })
}

function plainText(part: Part): string {
  if (part.type === 'text' || part.type === 'reasoning') return part.text
  if (part.type === 'tool-result') return outputOf(part)
  return part.type === 'tool-call' ? `${part.toolName} ${stringifyJson(part.input)}` : `[${part.type}]`
}

function outputOf(part: Extract<Part, { type: 'tool-result' }>): string {
  const { output } = part
  if (output.type === 'content')
    return output.value.map((item) => (item.type === 'text' ? item.text : `[${item.type}]`)).join('\n')
  return typeof output.value === 'string' ? output.value : stringifyJson(output.value)
}
