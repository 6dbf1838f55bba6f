import { SUMMARY_TIMEOUT_MS } from '../config/settings.ts'
import { errorName, isUndertextError } from '../errors.ts'
import { headOf } from '../messages/characters.ts'
import { isStorableText, MAX_NAME_LENGTH } from '../messages/check.ts'
import type { JsonObject } from '../messages/json.ts'
import { MAX_TIMER_MS } from '../messages/timer.ts'
import type { View } from '../model/view.ts'
import type { SummaryRecord } from '../storage/storage.ts'
import { boundDigest, type Digest, filesOf, renderDigest } from '../summarizers/digest.ts'
import { topicsOf } from '../summarizers/extractive/terms.ts'
import { judgeAnswer } from '../summarizers/judge-answer.ts'
import type {
  AnswerProblem,
  Summarizer,
  SummaryAnswer,
  SummaryRequest,
  SummaryUsage,
} from '../summarizers/summarizer.ts'
import { fitText, longest, shortenMiddle } from '../summarizers/text.ts'
import type { Estimator } from '../tokens/estimators/estimator-schema.ts'
import { estimateTokens } from '../tokens/tokens.ts'
import { readableSource, Scale, type SummaryMaterial, takeChunk } from './summary-chunks.ts'
import { unlessAborted } from './waiting.ts'

const USAGE_FIELDS = ['inputTokens', 'outputTokens', 'cacheReadTokens', 'cacheCreationTokens'] as const

/**
 * What the answers for one summary cost, together: a long range takes several, and those that were paid count also when a later
 * one fails. Takes from an answer only known fields of the right kind: a summarizer may say anything.
 */
export class Bill {
  readonly #usage: { -readonly [F in keyof SummaryUsage]: number } = {}
  #cost: number | undefined
  #model: string | undefined
  #promptVersion: string | undefined
  readonly #onAnswer: ((record: Omit<SummaryRecord, 'summarizer'>) => unknown) | undefined

  /** `onAnswer` is called after each answer, with what is noted of all of them so far; `add` answers what it does. */
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

  /** One answer that stands for all of them. */
  total(text: string): SummaryAnswer {
    const { usage, cost, model, promptVersion } = this.record()
    return {
      text,
      ...(usage !== undefined && { usage }),
      ...(cost !== undefined && { cost }),
      ...(model !== undefined && { model }),
      ...(promptVersion !== undefined && { promptVersion }),
    }
  }

  /** What is noted of them. */
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

/** Share of a summary's tokens that its digest of tool calls may take. Source: checklist F3. */
const DIGEST_SHARE = 0.25
/** A summary of fewer tokens gives its digest a smaller share: what it is about comes first. */
const FULL_DIGEST_TOKENS = 400
/** Most of a summarizer's input that the summary so far may take: what is new needs room too. */
const PREVIOUS_SHARE = 0.5
/** What a summarizer wrote, and how it is to be kept. */
export type WrittenSummary = {
  /** What the summary row says: the summarizer's text, and the digest behind it. */
  readonly text: string
  readonly metadata: JsonObject
  /** The last answer, with what all of them cost. */
  readonly answer: SummaryAnswer
  /** Why the text is no summary; it is empty then. */
  readonly problem?: AnswerProblem
}

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
  material: SummaryMaterial,
  { calling, ...request }: Omit<SummaryRequest, 'messages' | 'previousSummary' | 'files'>,
  estimator: Estimator,
  provider?: string,
  bill = new Bill(),
): Promise<WrittenSummary> {
  const { rest, reader } = material
  const digest = material.digest()
  const rendered = renderForSummary(digest, request.maxTokens)
  const textTokens = request.maxTokens - (rendered === '' ? 0 : estimateTokens(rendered))

  let previousSummary = material.earlier.join('\n\n')
  let answer: SummaryAnswer = { text: previousSummary }
  const scale = new Scale(estimator, request.provider ?? provider, summarizer.tokensPerMessage ?? 0)
  const asked = { ...request, maxTokens: Math.max(1, textTokens) }
  const limit = summarizer.inputTokensFor?.(asked) ?? summarizer.maxInputTokens
  const most = limit ?? Number.POSITIVE_INFINITY
  // A summarizer without a model reads everything at no cost, also what was cleared in the view.
  const readsAll = !summarizer.usesModel && limit === undefined
  if (reader !== undefined && material.count > 0) {
    request.signal?.throwIfAborted()
    answer = reader.answer({
      ...asked,
      files: material.files(),
      ...(previousSummary !== '' && { previousSummary }),
    })
    await bill.add(answer)
    const judged = judge(summarizer, answer)
    if ('problem' in judged) return noSummary(bill.total(''), judged.problem)
    answer = { ...answer, text: judged.text }
  }
  for (let from = 0; from < rest.length; ) {
    previousSummary = shortenSummary(
      previousSummary,
      request.sections,
      (text) => scale.ofText(text) <= most * PREVIOUS_SHARE,
    )
    const { chunk, next } = takeChunk(rest, from, most - scale.ofText(previousSummary), scale)
    from = next
    request.signal?.throwIfAborted()
    if (summarizer.announcesCalls !== true) await calling?.()
    answer = await summarizer.summarize({
      ...asked,
      ...(summarizer.announcesCalls === true && calling !== undefined && { calling }),
      messages: chunk.map((source) => ({ ...readableSource(source, readsAll), kind: source.kind })),
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
export function givenSummary(text: string, material: SummaryMaterial): WrittenSummary {
  return {
    text,
    metadata: {
      isSummary: true,
      textLength: text.length,
      digest: boundDigest(material.digest()) as unknown as JsonObject,
    },
    answer: { text },
  }
}

/** How a summarizer is asked. */
type AskOptions = {
  readonly timeoutMs: number | undefined
  readonly signal: AbortSignal | undefined
  /** The view whose estimator and provider count. */
  readonly view: Pick<View, 'estimator' | 'provider'>
  /** Called after each answer, with all that is to be noted so far; waited for. */
  readonly answered: ((record: SummaryRecord) => unknown) | undefined
}

/**
 * Asks a summarizer for one summary, for no longer than `timeoutMs` milliseconds. Answers what was written, or the code of the error;
 * and, either way, who was asked and what it cost. Never rejects.
 */
export async function askForSummary(
  summarizer: Summarizer,
  material: SummaryMaterial,
  request: Parameters<typeof writeSummary>[2],
  { timeoutMs = SUMMARY_TIMEOUT_MS, signal: own, view, answered }: AskOptions,
): Promise<
  { readonly record: SummaryRecord } & ({ readonly written: WrittenSummary } | { readonly error: string })
> {
  const recorded = (record: Omit<SummaryRecord, 'summarizer'>): SummaryRecord => ({
    summarizer: summarizer.name,
    ...record,
  })
  const bill = new Bill((record) => answered?.(recorded(record)))
  const timeout = new AbortController()
  // Not AbortSignal.timeout: its timer would let the process end in the middle of the wait.
  const timer = setTimeout(() => timeout.abort(), Math.min(timeoutMs, MAX_TIMER_MS))
  const signal = own === undefined ? timeout.signal : AbortSignal.any([own, timeout.signal])
  try {
    const work = writeSummary(
      summarizer,
      material,
      { ...request, signal },
      view.estimator,
      view.provider,
      bill,
    )
    const written = await unlessAborted(work, signal)
    return { written, record: recorded(bill.record()) }
  } catch (error) {
    const code = timeout.signal.aborted ? 'SUMMARY_TIMEOUT' : failureCode(error)
    return { error: code, record: recorded(bill.record()) }
  } finally {
    clearTimeout(timer)
  }
}

/** What an attempt is noted to have failed with: what went wrong with the call, where that is known. */
export function failureCode(error: unknown): string {
  return isUndertextError(error, 'MODEL_CALL_FAILED') ? error.facts.error : errorName(error)
}

/**
 * A summary as it is, or as much of it as fits: its rules stay whole as long as they fit themselves, and the rest is shortened in
 * the middle. The rules are what stands beneath the heading of the section for them.
 */
export function shortenSummary(
  summary: string,
  sections: readonly string[],
  fits: (text: string) => boolean,
): string {
  if (fits(summary)) return summary
  const { before, rules, behind } = parted(summary, sections[topicsOf(sections).indexOf('rules')])
  if (rules === '' || !fits(rules)) return fitText(summary, fits)
  const rest = `${before}${behind}`
  const most = longest(rest.length, (length) => fits(joined(shortenMiddle(rest, length), rules)))
  return most < 0 ? rules : joined(shortenMiddle(rest, most), rules)
}

function joined(rest: string, rules: string): string {
  return rest === '' ? rules : `${rest.trimEnd()}\n\n${rules}`
}

/** The section with a title, its heading included, and what stands before and behind it. */
function parted(
  summary: string,
  title: string | undefined,
): { readonly before: string; readonly rules: string; readonly behind: string } {
  const whole = { before: summary, rules: '', behind: '' }
  if (title === undefined) return whole
  const wanted = title.trim().toLowerCase()
  let from = -1
  let level = 0
  for (let at = 0; at < summary.length; ) {
    const end = summary.indexOf('\n', at)
    const next = end === -1 ? summary.length : end + 1
    const heading = /^(#{1,6})[ \t]+(\S.{0,999})$/.exec(summary.slice(at, end === -1 ? next : end).trimEnd())
    if (heading !== null) {
      const depth = heading[1]!.length
      if (from >= 0 && depth <= level)
        return {
          before: summary.slice(0, from),
          rules: summary.slice(from, at).trimEnd(),
          behind: summary.slice(at),
        }
      if (from < 0 && heading[2]!.trim().toLowerCase() === wanted) {
        from = at
        level = depth
      }
    }
    at = next
  }
  return from < 0
    ? whole
    : { before: summary.slice(0, from), rules: summary.slice(from).trimEnd(), behind: '' }
}
