import type { JsonObject } from '../core/json.ts'
import { type Message, type Part, partsOf, type RowKind } from '../core/message.ts'
import { type Estimator, estimateMessagesTokens, estimateTokens } from '../core/tokens.ts'
import { type Digest, digestToolCalls, filesOf, mergeDigests, renderDigest } from '../summarizers/digest.ts'
import type { Summarizer, SummaryAnswer, SummaryRequest } from '../summarizers/summarizer.ts'

/** Share of a summary's tokens that its digest of tool calls may take. Source: checklist F3. */
const DIGEST_SHARE = 0.25
/** What is kept of each end of a text that alone is too long for a summarizer, as a share of its room. */
const END_SHARE = 0.4

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
  readonly answer: SummaryAnswer
}

/** What a summary row remembers, so that the next summary can build on it. */
type SummaryMemory = { readonly textLength: number; readonly digest: Digest }

/**
 * Asks a summarizer for the text that is to stand for some rows, in chunks that fit it, each with the summary so
 * far, and adds the digest of the tool calls. Answers an empty text when the summarizer does.
 *
 * Rejects with whatever the summarizer throws. Changes nothing.
 */
export async function writeSummary(
  summarizer: Summarizer,
  sources: readonly SummarySource[],
  request: Omit<SummaryRequest, 'messages' | 'previousSummary' | 'files'>,
  estimator: Estimator,
): Promise<WrittenSummary> {
  const earlier = leadingSummaries(sources)
  const rest = sources.slice(earlier.length)
  const originals = rest.filter(({ kind }) => kind === 'message').map(({ original }) => original)
  const digest = [...earlier, ...rest.filter(({ kind }) => kind === 'summary')]
    .flatMap((source) => memoryOf(source)?.digest ?? [])
    .concat(digestToolCalls(originals))
    .reduce(mergeDigests)
  const rendered = renderDigest(digest, Math.floor(request.maxTokens * DIGEST_SHARE))
  const textTokens = request.maxTokens - (rendered.text === '' ? 0 : estimateTokens(rendered.text))

  let previousSummary = earlier.map(ownText).join('\n\n')
  let answer: SummaryAnswer = { text: previousSummary }
  let [inputTokens, outputTokens, cost] = [0, 0, 0]
  for (const chunk of chunksOf(rest, summarizer.maxInputTokens, estimator)) {
    answer = await summarizer.summarize({
      ...request,
      maxTokens: Math.max(1, textTokens),
      messages: chunk.map(({ kind, shown }) => ({ ...shown, kind })),
      files: filesOf(chunk.map(({ original }) => original)),
      ...(previousSummary !== '' && { previousSummary }),
    })
    if (typeof answer?.text !== 'string' || answer.text.trim() === '') return emptyAnswer(answer)
    previousSummary = answer.text
    inputTokens += answer.usage?.inputTokens ?? 0
    outputTokens += answer.usage?.outputTokens ?? 0
    cost += answer.cost ?? 0
  }

  const text = rendered.text === '' ? answer.text : `${answer.text}\n\n${rendered.text}`
  const memory = {
    isSummary: true,
    textLength: answer.text.length,
    digest: rendered.digest as unknown as JsonObject,
  }
  return {
    text,
    metadata: memory,
    answer: {
      ...answer,
      ...((inputTokens > 0 || outputTokens > 0) && { usage: { inputTokens, outputTokens } }),
      ...(cost > 0 && { cost }),
    },
  }
}

/** A summary whose text the caller gave: the digest is added all the same, and says what was done. */
export function givenSummary(
  text: string,
  sources: readonly SummarySource[],
  maxTokens: number,
): WrittenSummary {
  const digest = digestToolCalls(
    sources.filter(({ kind }) => kind === 'message').map(({ original }) => original),
  )
  const merged = sources
    .flatMap((source) => memoryOf(source)?.digest ?? [])
    .concat(digest)
    .reduce(mergeDigests)
  const rendered = renderDigest(merged, Math.floor(maxTokens * DIGEST_SHARE))
  return {
    text,
    metadata: { isSummary: true, textLength: text.length, digest: rendered.digest as unknown as JsonObject },
    answer: { text },
  }
}

function emptyAnswer(answer: SummaryAnswer | undefined): WrittenSummary {
  return { text: '', metadata: {}, answer: { ...answer, text: '' } }
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

/** A summary's text without its digest. */
function ownText(source: SummarySource): string {
  const text = textOf(source.shown)
  const length = memoryOf(source)?.textLength
  return length === undefined ? text : text.slice(0, length)
}

function textOf(message: Message): string {
  return partsOf(message)
    .map((part) => (part.type === 'text' ? part.text : ''))
    .join('')
}

/**
 * Splits rows so that no chunk takes more tokens than a summarizer can read. Calls and their results stay
 * together as long as they fit; a single row that does not fit is shortened in the middle, never left out.
 */
function chunksOf(
  sources: readonly SummarySource[],
  maxTokens: number | undefined,
  estimator: Estimator,
): readonly (readonly SummarySource[])[] {
  if (maxTokens === undefined) return sources.length === 0 ? [] : [sources]
  const chunks: SummarySource[][] = []
  let chunk: SummarySource[] = []
  let size = 0
  for (const source of sources) {
    const fitted = fitSource(source, maxTokens, estimator)
    const tokens = tokensOfSource(fitted, estimator)
    const joins = startsWithResult(fitted) && chunk.length > 1
    if (size + tokens > maxTokens && chunk.length > 0) {
      // A result goes with the call before it, so the call moves on too, if both fit.
      const call = joins ? chunk.at(-1)! : undefined
      const moves = call !== undefined && tokensOfSource(call, estimator) + tokens <= maxTokens
      if (moves) chunk.pop()
      chunks.push(chunk)
      chunk = moves ? [call] : []
      size = moves ? tokensOfSource(call, estimator) : 0
    }
    chunk.push(fitted)
    size += tokens
  }
  if (chunk.length > 0) chunks.push(chunk)
  return chunks
}

function startsWithResult({ shown }: SummarySource): boolean {
  return partsOf(shown)[0]?.type === 'tool-result'
}

function tokensOfSource({ shown }: SummarySource, estimator: Estimator): number {
  return estimateMessagesTokens([shown], undefined, estimator)
}

function fitSource(source: SummarySource, maxTokens: number, estimator: Estimator): SummarySource {
  const tokens = tokensOfSource(source, estimator)
  if (tokens <= maxTokens) return source
  const share = (maxTokens / tokens) * 2 * END_SHARE
  const shorten = (text: string): string => shortenMiddle(text, Math.floor(text.length * share))
  const parts = partsOf(source.shown).map((part): Part => {
    if (part.type === 'text' || part.type === 'reasoning') return { ...part, text: shorten(part.text) }
    if (part.type === 'tool-result')
      return { ...part, output: { type: 'text', value: shorten(outputOf(part)) } }
    if (part.type === 'tool-call') return { ...part, input: shorten(JSON.stringify(part.input)) }
    return { type: 'text', text: `[${part.type}]` }
  })
  return { ...source, shown: { ...source.shown, content: parts } }
}

function outputOf(part: Extract<Part, { type: 'tool-result' }>): string {
  const { output } = part
  if (output.type === 'content')
    return output.value.map((item) => (item.type === 'text' ? item.text : `[${item.type}]`)).join('\n')
  return typeof output.value === 'string' ? output.value : JSON.stringify(output.value)
}

function shortenMiddle(text: string, length: number): string {
  if (text.length <= length) return text
  const half = Math.floor(length / 2)
  const head = text.slice(0, half).replace(/[\ud800-\udbff]$/, '')
  const tail = half === 0 ? '' : text.slice(-half).replace(/^[\udc00-\udfff]/, '')
  return `${head}\n[… ${text.length - head.length - tail.length} characters left out …]\n${tail}`
}
