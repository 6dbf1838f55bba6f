import { errorName, isUndertextError } from '../../core/errors.ts'
import { headOf } from '../../core/messages/characters.ts'
import { isStorableText, MAX_NAME_LENGTH, MAX_TIMER_MS } from '../../core/messages/check.ts'
import { defined, type JsonObject } from '../../core/messages/json.ts'
import { wellFormed, wellFormedMessages } from '../../core/messages/well-formed.ts'
import type { View } from '../../core/model/view.ts'
import { boundDigest, type Digest, filesOf, renderDigest } from '../../core/summarizers/digest.ts'
import { writeRule } from '../../core/summarizers/extractive/rules.ts'
import { type Topic, topicOf, topicsOf } from '../../core/summarizers/extractive/topics.ts'
import { judgeAnswer } from '../../core/summarizers/judge-answer.ts'
import { additionsTo, contradictionsIn, withoutAdditions } from '../../core/summarizers/model/check-answer.ts'
import type {
  AnswerProblem,
  Summarizer,
  SummaryAnswer,
  SummaryRequest,
  SummaryUsage,
} from '../../core/summarizers/summarizer.ts'
import { fitText, longest, shortenMiddle, unitsWithin } from '../../core/summarizers/text.ts'
import type { Estimator } from '../../core/tokens/estimators/estimator-schema.ts'
import { addSizes, estimateTokens, NO_SIZES } from '../../core/tokens/measure.ts'
import type { SummaryRecord } from '../../storage/storage.ts'
import { SUMMARY_TIMEOUT_MS } from '../config/settings.ts'
import { InputMeter, readableSource, type SummaryMaterial, takeChunk } from './summary-chunks.ts'
import { unlessAborted } from './waiting.ts'

const USAGE_FIELDS = ['inputTokens', 'outputTokens', 'cacheReadTokens', 'cacheCreationTokens'] as const

/**
 * Adds up the cost of the answers for one summary: a long range takes several, and paid answers count even if a later one fails. Reads only
 * known fields of the right type, because a summarizer may return anything.
 */
export class SummaryCost {
  readonly #usage: { -readonly [F in keyof SummaryUsage]: number } = {}
  #cost: number | undefined
  #model: string | undefined
  #promptVersion: string | undefined
  readonly #onAnswer: ((record: Omit<SummaryRecord, 'summarizer'>) => unknown) | undefined

  /** `onAnswer` is called after each answer with the record so far; `add` returns its result. */
  constructor(onAnswer?: (record: Omit<SummaryRecord, 'summarizer'>) => unknown) {
    this.#onAnswer = onAnswer
  }

  add(answer: SummaryAnswer | undefined): unknown {
    if (typeof answer !== 'object' || answer === null) return undefined
    for (const field of USAGE_FIELDS) {
      const count = amount(answer.usage?.[field])
      if (count !== undefined) this.#usage[field] = (this.#usage[field] ?? 0) + count
    }
    const cost = amount(answer.cost)
    if (cost !== undefined) this.#cost = (this.#cost ?? 0) + cost
    this.#model = label(answer.model) ?? this.#model
    this.#promptVersion = label(answer.promptVersion) ?? this.#promptVersion
    return this.#onAnswer?.(this.record())
  }

  /** Returns an answer with the given text and the total cost. */
  total(text: string): SummaryAnswer {
    return { text, ...defined(this.record()) }
  }

  record(): Omit<SummaryRecord, 'summarizer'> {
    return {
      model: this.#model,
      promptVersion: this.#promptVersion,
      usage: Object.keys(this.#usage).length === 0 ? undefined : { ...this.#usage },
      cost: this.#cost,
    }
  }
}

function amount(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined
}

function label(value: unknown): string | undefined {
  return typeof value === 'string' && isStorableText(value) ? headOf(value, MAX_NAME_LENGTH) : undefined
}

/** Share of a summary's tokens that its digest of tool calls may take. */
const DIGEST_SHARE = 0.25
/** In a summary of fewer tokens the digest gets a smaller share: the topic comes first. */
const FULL_DIGEST_TOKENS = 400
/** Maximum share of a summarizer's input for the summary so far, because the new messages need room too. */
const PREVIOUS_SHARE = 0.5

/** Share of a model's summary that added lines from the log may take, and the tokens that each correction may take besides. */
const ADDED_SHARE = 0.25
const CORRECTION_TOKENS = 80
/** Minimum tokens by which a summary with added lines must be smaller than what it replaces. */
const MARGIN = 16
/** Maximum number of rules in the metadata of a model's summary, on which the next one builds. */
const MAX_RULES = 500

/** A summarizer's text, and the row made from it. */
export type WrittenSummary = {
  /** The text of the summary row: the summarizer's text, then the digest. */
  readonly text: string
  /** Exactly the summarizer's text, without what the log adds to it, and without the digest. */
  readonly ownText: string
  readonly metadata: JsonObject
  /** The last answer, with the total cost. */
  readonly answer: SummaryAnswer
  /** Figures that are recorded with the summary. */
  readonly notes?: SummaryNotes
  /** Why the text isn't a summary; the text is then empty. */
  readonly problem?: AnswerProblem
}

/** Absent figures are 0. */
export type SummaryNotes = {
  /** Number of requests and rules that an offline summary shortens. */
  readonly shortened?: number
  /** Number of lines added to a model's summary from the log, and of its lines that the log corrects there. */
  readonly added?: number
  readonly corrected?: number
}

/**
 * Requests a summary in chunks that fit the summarizer, each with the summary so far, and adds the digest of the tool calls. If an answer
 * isn't a summary, returns an empty text and the `problem`.
 *
 * `cost` receives each answer at once and is awaited, so that it is complete even if a later chunk fails.
 *
 * Each chunk with the summary so far takes at most `maxInputTokens`, counted for the request's provider, else for `provider`. Rejects with
 * any error that the summarizer throws. Changes nothing.
 */
export async function writeSummary(
  summarizer: Summarizer,
  material: SummaryMaterial,
  { calling, ...request }: Omit<SummaryRequest, 'messages' | 'previousSummary' | 'files'>,
  estimator: Estimator,
  provider?: string,
  cost = new SummaryCost(),
): Promise<WrittenSummary> {
  const { rest, reader } = material
  const digest = material.digest()
  const few = Math.min(1, request.maxTokens / FULL_DIGEST_TOKENS)
  const share = request.maxTokens * DIGEST_SHARE * few
  // The extractive summarizer describes the calls itself: a partial digest would only repeat that.
  const rendered = renderForSummary(digest, share, reader !== undefined)
  const textTokens = request.maxTokens - (rendered === '' ? 0 : estimateTokens(rendered))

  const meter = new InputMeter(estimator, request.provider ?? provider, summarizer.tokensPerMessage ?? 0)
  const { memory } = material
  const isFirst = material.earlier.length === 0 && memory.rules.length === 0
  const log = material.log?.record(isFirst ? undefined : memory)
  const rules = log?.rules.map(writeRule) ?? []
  const withdrawn = log?.withdrawn.map(writeRule) ?? []
  const asked = { ...request, ...(rules.length > 0 && { rules }), maxTokens: Math.max(1, textTokens) }
  const limit = summarizer.inputTokensFor?.(asked) ?? summarizer.maxInputTokens
  const room = limit ?? Number.POSITIVE_INFINITY
  // A summarizer without a model reads everything at no cost, even what the view doesn't show.
  const readsAll = !summarizer.usesModel && limit === undefined
  let summary = material.earlier.join('\n\n')
  let shortened: number | undefined
  const previous = (): { previousSummary?: string } => (summary === '' ? {} : { previousSummary: summary })
  const problemOf = async (answer: SummaryAnswer | undefined): Promise<AnswerProblem | undefined> => {
    await cost.add(answer)
    const judged = judge(summarizer, answer)
    if ('problem' in judged) return judged.problem
    summary = judged.text
    shortened = amount(answer?.shortened)
    return undefined
  }
  if (reader !== undefined && material.count > 0) {
    request.signal?.throwIfAborted()
    const answer = reader.answer({ ...asked, files: material.files(), ...previous() })
    const problem = await problemOf(answer)
    if (problem !== undefined) return noSummary(cost.total(''), problem)
  }
  for (let from = 0; from < rest.length; ) {
    summary = shortenSummary(summary, request.sections, (text) => meter.ofText(text) <= room * PREVIOUS_SHARE)
    const { chunk, next } = takeChunk(rest, from, room - meter.ofText(summary), meter)
    from = next
    request.signal?.throwIfAborted()
    if (summarizer.announcesCalls !== true) await calling?.()
    const answer = await summarizer.summarize({
      ...asked,
      ...(summarizer.announcesCalls === true && calling !== undefined && { calling }),
      messages: wellFormedMessages(
        chunk.map((source) => ({ ...readableSource(source, readsAll), kind: source.kind })),
      ),
      files: wellFormed(
        filesOf(
          chunk.map(({ original }) => original),
          material.names,
        ),
      ),
      ...wellFormed(previous()),
    })
    const problem = await problemOf(answer)
    if (problem !== undefined) return noSummary(cost.total(''), problem)
  }
  const ownText = summary
  let notes: SummaryNotes = defined({ shortened })
  if (log !== undefined) {
    summary = withoutAdditions(summary)
    const wrong = contradictionsIn(summary, log)
    const mayRetry = summarizer.asksAgain === true && summarizer.retriesContradictions === true
    if (wrong.length > 0 && mayRetry && request.retryOf === undefined)
      return noSummary(cost.total(''), 'SUMMARY_CONTRADICTS_LOG')
    // Additions must not make a summary larger than what it replaces.
    const size = new InputMeter(estimator, provider, 0)
    const covered = material.rest.reduce((sum, source) => addSizes(sum, size.sizesOf(source)), NO_SIZES)
    const earlier = size.ofText(material.earlier.join('\n\n'))
    const replaced = earlier + size.ofMessages(covered, material.rest.length)
    const most = replaced - size.ofText(rendered) - size.ofText(summary) - MARGIN
    // A correction is worth more than the room that it takes.
    const share = textTokens * ADDED_SHARE + wrong.length * CORRECTION_TOKENS
    const added = additionsTo(
      summary,
      log,
      wrong,
      unitsWithin(Math.max(0, Math.floor(Math.min(share, most)))),
    )
    summary = `${summary}${added.text}`
    notes = { corrected: added.corrected, added: added.added, shortened: added.shortened }
  }
  return {
    text: rendered === '' ? summary : `${summary}\n\n${rendered}`,
    ownText,
    metadata: {
      ...metadataOf(summary, digest),
      ...(rules.length > 0 && { rules: rules.slice(-MAX_RULES) }),
      ...(withdrawn.length > 0 && { withdrawn: withdrawn.slice(-MAX_RULES) }),
      ...(log?.lastTest !== undefined && { lastTest: log.lastTest }),
    },
    answer: cost.total(summary),
    notes,
  }
}

function metadataOf(text: string, digest: Digest): JsonObject {
  return {
    isSummary: true,
    textLength: text.length,
    digest: boundDigest(digest) as unknown as JsonObject,
  }
}

/** A model may return something that isn't a summary; a summarizer without a model returns one, or nothing. */
function judge(summarizer: Summarizer, answer: SummaryAnswer | undefined): ReturnType<typeof judgeAnswer> {
  if (summarizer.usesModel) return judgeAnswer(answer)
  const isText = typeof answer?.text === 'string' && answer.text.trim() !== ''
  return isText ? { text: answer.text } : { problem: 'EMPTY_SUMMARY' }
}

function noSummary(answer: SummaryAnswer, problem: AnswerProblem): WrittenSummary {
  return { text: '', ownText: '', metadata: {}, answer, problem }
}

/** Returns the digest that follows a summary's text; empty if it would contain no call, or with `isWhole` if a call would be left out. */
function renderForSummary(digest: Digest, maxTokens: number, isWhole: boolean): string {
  const { text, digest: shown } = renderDigest(digest, Math.floor(maxTokens))
  const isPart = shown.omitted > digest.omitted
  return (isWhole && isPart) || (shown.entries.length === 0 && digest.entries.length > 0) ? '' : text
}

/** Topics of a summary whose lines may be left out, the least important first. */
const LESS: readonly (Topic | undefined)[] = ['concepts', 'files', 'evolution', 'problems', 'required']
/** Maximum share of a summary that may be left out so that it fits. */
const LEFT_OUT_SHARE = 0.3

/**
 * Returns a summary that fits: without the digest, which is stored too, and without the last lines of its least important sections. Returns
 * the same summary if too much of it would have to be left out.
 */
export function fittedByLines(written: WrittenSummary, fits: (text: string) => boolean): WrittenSummary {
  const { text, metadata } = written
  if (fits(text)) return written
  const summary = text.slice(0, metadata.textLength as number)
  const sections = summary.split(/\n(?=#{1,6} )/).map((section) => section.split('\n'))
  const joined = (): string =>
    sections
      .map((lines) => lines.join('\n'))
      .join('\n')
      .trimEnd()
  const isFence = (line: string): boolean => line.trimStart().startsWith('```')
  for (const topic of LESS)
    for (const lines of sections.filter(
      ([title = '']) => title.startsWith('#') && topicOf(title) === topic,
    )) {
      const gap = lines.at(-1) === '' ? lines.splice(-1) : []
      while (lines.length > 0 && !fits(joined()))
        if (isFence(lines.pop()!)) lines.splice(Math.max(0, lines.findLastIndex(isFence)))
      if (lines.length > 0) for (const line of gap) lines.push(line)
    }
  const left = joined()
  const isWorth = fits(left) && left.length >= summary.length * (1 - LEFT_OUT_SHARE)
  return isWorth ? { ...written, text: left, metadata: { ...metadata, textLength: left.length } } : written
}

/** Returns why a text isn't a summary, or `undefined`. */
export function summaryProblem({ problem, text, answer }: WrittenSummary): AnswerProblem | undefined {
  if (problem !== undefined) return problem
  return text.trim() === '' || answer.text.trim() === '' ? 'EMPTY_SUMMARY' : undefined
}

/** Returns a summary with a given text; the digest of its tool calls is kept for later summaries. */
export function givenSummary(text: string, material: SummaryMaterial): WrittenSummary {
  return { text, ownText: text, metadata: metadataOf(text, material.digest()), answer: { text } }
}

type AskOptions = {
  readonly timeoutMs: number | undefined
  readonly signal: AbortSignal | undefined
  /** The view whose estimator and provider are used. */
  readonly view: Pick<View, 'estimator' | 'provider'>
  /** Called and awaited after each answer, with the record so far. */
  readonly answered: ((record: SummaryRecord) => unknown) | undefined
}

/**
 * Requests one summary, for at most `timeoutMs` milliseconds. Returns the summary or an error code, with the record of the summarizer and
 * its cost. Never rejects.
 */
export async function askForSummary(
  summarizer: Summarizer,
  material: SummaryMaterial,
  request: Parameters<typeof writeSummary>[2],
  { timeoutMs = SUMMARY_TIMEOUT_MS, signal: own, view, answered }: AskOptions,
): Promise<
  { readonly record: SummaryRecord } & (
    | { readonly written: WrittenSummary }
    | { readonly error: string; readonly thrown: unknown }
  )
> {
  const recorded = (record: Omit<SummaryRecord, 'summarizer'>): SummaryRecord => ({
    summarizer: summarizer.name,
    ...record,
  })
  const cost = new SummaryCost((record) => answered?.(recorded(record)))
  const timeout = new AbortController()
  // Not `AbortSignal.timeout`: its timer would let the process exit during the wait.
  const timer = setTimeout(() => timeout.abort(), Math.min(timeoutMs, MAX_TIMER_MS))
  const signal = own === undefined ? timeout.signal : AbortSignal.any([own, timeout.signal])
  try {
    const work = writeSummary(
      summarizer,
      material,
      { ...request, signal },
      view.estimator,
      view.provider,
      cost,
    )
    const written = await unlessAborted(work, signal)
    return { written, record: recorded(cost.record()) }
  } catch (error) {
    const code = timeout.signal.aborted ? 'SUMMARY_TIMEOUT' : failureCode(error)
    return { error: code, thrown: error, record: recorded(cost.record()) }
  } finally {
    clearTimeout(timer)
  }
}

/** Returns the code of a failed attempt: that of the model call, if known. */
function failureCode(error: unknown): string {
  return isUndertextError(error, 'MODEL_CALL_FAILED') ? error.facts.error : errorName(error)
}

/**
 * Shortens a summary to what fits: its rules (the text under their section's heading) stay whole if they fit, and the rest is shortened in
 * the middle.
 */
export function shortenSummary(
  summary: string,
  sections: readonly string[],
  fits: (text: string) => boolean,
): string {
  if (fits(summary)) return summary
  const { before, rules, after } = splitAtRules(summary, sections[topicsOf(sections).indexOf('rules')])
  if (rules === '' || !fits(rules)) return fitText(summary, fits)
  const rest = `${before}${after}`
  const length = longest(rest.length, (units) => fits(joined(shortenMiddle(rest, units), rules)))
  return length < 0 ? rules : joined(shortenMiddle(rest, length), rules)
}

function joined(rest: string, rules: string): string {
  return rest === '' ? rules : `${rest.trimEnd()}\n\n${rules}`
}

/** Returns the section with a title, including its heading, and the text before and after it. */
function splitAtRules(
  summary: string,
  title: string | undefined,
): { readonly before: string; readonly rules: string; readonly after: string } {
  const whole = { before: summary, rules: '', after: '' }
  if (title === undefined) return whole
  const split = (start: number, end: number) => ({
    before: summary.slice(0, start),
    rules: summary.slice(start, end).trimEnd(),
    after: summary.slice(end),
  })
  const wanted = title.trim().toLowerCase()
  let start = -1
  let level = 0
  for (let at = 0; at < summary.length; ) {
    const end = summary.indexOf('\n', at)
    const next = end === -1 ? summary.length : end + 1
    const heading = /^(#{1,6})[ \t]+(\S.{0,999})$/.exec(summary.slice(at, end === -1 ? next : end).trimEnd())
    if (heading !== null) {
      const depth = heading[1]!.length
      if (start >= 0 && depth <= level) return split(start, at)
      if (start < 0 && heading[2]!.trim().toLowerCase() === wanted) {
        start = at
        level = depth
      }
    }
    at = next
  }
  return start < 0 ? whole : split(start, summary.length)
}
