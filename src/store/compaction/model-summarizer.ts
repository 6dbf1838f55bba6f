import { setTimeout as pause } from 'node:timers/promises'
import { z } from 'zod'
import { isUndertextError, UndertextError, withOriginal } from '../../core/errors.ts'
import { check, MAX_TIMER_MS, modelShape, nameSchema } from '../../core/messages/check.ts'
import { callFailure, mayRetry, waitBefore } from '../../core/summarizers/model/call-failure.ts'
import {
  MAX_OUTPUT_CHARS,
  MESSAGE_LINE_TOKENS,
  summarizationPrompt,
} from '../../core/summarizers/model/prompt.ts'
import type {
  Summarizer,
  SummaryAnswer,
  SummaryRequest,
  SummaryUsage,
} from '../../core/summarizers/summarizer.ts'
import { estimateTokens } from '../../core/tokens/measure.ts'
import { canonicalProvider } from '../../core/tokens/providers.ts'
import { resolveContextWindow } from '../../core/tokens/windows.ts'

const perMillion = z.number().nonnegative()
/** Prices of a model's tokens, US dollars per million. */
const priceSchema = z.strictObject({
  input: perMillion,
  output: perMillion,
  /** Input read from the provider's cache. Default: the price of `input`. */
  cacheRead: perMillion.optional(),
  /** Input written to the cache. Default: the price of `input`. */
  cacheWrite: perMillion.optional(),
})
/** Prices of a model's tokens, US dollars per million. */
export type ModelPrice = z.output<typeof priceSchema>

const MILLION = 1_000_000

/** Returns the cost of the tokens in US dollars; `undefined` if their number is unknown. `inputTokens` includes cached tokens. */
function costOf(usage: SummaryUsage | undefined, price: ModelPrice): number | undefined {
  const { inputTokens, outputTokens, cacheReadTokens = 0, cacheCreationTokens = 0 } = usage ?? {}
  if (inputTokens === undefined && outputTokens === undefined) return undefined
  const fresh = Math.max(0, (inputTokens ?? 0) - cacheReadTokens - cacheCreationTokens)
  const dollars =
    fresh * price.input +
    cacheReadTokens * (price.cacheRead ?? price.input) +
    cacheCreationTokens * (price.cacheWrite ?? price.input) +
    (outputTokens ?? 0) * price.output
  return dollars / MILLION
}

/**
 * Output tokens for reasoning besides the summary. Reasoning counts as output, so limiting the output to the summary's length would leave
 * no room for the text.
 */
const THINKING_TOKENS = 4_000
/** Default number of retries, as in the AI SDK. */
const MAX_RETRIES = 2
/** Milliseconds before the first retry, as in the AI SDK. */
const FIRST_WAIT_MS = 2_000
/** Share of the room for messages: their estimate can be too low, and each is preceded by a line. */
const ROOM_SHARE = 0.8
/** Share of the room for the list of files, which the messages contain too. */
const FILES_SHARE = 0.1
/** Share of a summary that the listed rules may take, because they are part of it. */
const RULES_SHARE = 0.5
const MIN_ROOM_TOKENS = 200

/** The arguments of `generate`. */
export type GenerateRequest = {
  readonly system: string
  readonly prompt: string
  /** Maximum tokens of output, including reasoning. */
  readonly maxOutputTokens: number
  readonly temperature?: number
  /** The provider and model in the caller's config, for a function that can choose. */
  readonly provider?: string
  readonly model?: string
  readonly signal: AbortSignal
}

/** The result of `generate`. */
export type GenerateAnswer = {
  readonly text: string
  readonly reasoning?: string | undefined
  readonly finishReason?: string | undefined
  readonly usage?: SummaryUsage | undefined
  /** The model that answered, as the provider names it. */
  readonly model?: string | undefined
  /** US dollars. Default: computed from `price`. */
  readonly cost?: number | undefined
}

const isFunction = (value: unknown): boolean => typeof value === 'function'
/** The checked options. */
export const modelSummarizerSchema = z.strictObject({
  /** The summarizer's name, for the audit. */
  name: nameSchema,
  /** Calls the model once. */
  generate: z.custom<(request: GenerateRequest) => Promise<GenerateAnswer>>(isFunction, 'must be a function'),
  /** The provider and model if the caller's config gives none; they determine the context window. */
  ...modelShape,
  /**
   * Maximum tokens of one request in total. Default: the model's window minus its output; 128,000 minus its output for an unknown model.
   */
  maxInputTokens: z.int().positive().optional(),
  /** Output tokens for reasoning besides the summary. Default 4,000. */
  thinkingTokens: z.int().nonnegative().optional(),
  /** Default: the model's own, because reasoning models accept no other. */
  temperature: z.number().min(0).max(2).optional(),
  /** Maximum number of retries of a failed call that may be repeated. Default 2. */
  maxRetries: z.int().nonnegative().max(100).optional(),
  /** Milliseconds before the first retry, doubled each time; a server's retry-after takes precedence. Default 2,000. */
  retryWaitMs: z.int().nonnegative().optional(),
  /** Milliseconds for one request, including retries. Default: the run's `summaryTimeoutMs`. */
  timeoutMs: z.int().positive().optional(),
  /** Whether to request an answer that contradicts the log once more, instead of correcting it after the text. Default false. */
  retryContradictions: z.boolean().optional(),
  /** Prices in US dollars per million tokens. */
  price: priceSchema.optional(),
  /** Maximum characters of one tool output that the model receives, from both ends. Default 8,000. */
  maxOutputChars: z.int().nonnegative().optional(),
  /** Whether the provider and model of a config can be called. Default: always. */
  canUse: z.custom<NonNullable<Summarizer['canUse']>>(isFunction, 'must be a function').optional(),
})
/** Options of `modelSummarizer`. */
export type ModelSummarizerOptions = z.input<typeof modelSummarizerSchema>
type Checked = z.output<typeof modelSummarizerSchema>

/**
 * Returns a summarizer that calls a model through a function of the caller: it builds the request, retries calls that failed temporarily,
 * and reports usage and cost. The run judges the answer. Throws `INVALID_INPUT` for invalid options.
 *
 * `summarize` rejects with `MODEL_CALL_FAILED`, whose facts give the kind of failure and never conversation text; `originalErrorOf` returns
 * the error that `generate` threw.
 */
export function modelSummarizer(options: ModelSummarizerOptions): Summarizer {
  const checked = check(modelSummarizerSchema, options, 'modelSummarizer')
  const { name, canUse } = checked
  return {
    name,
    usesModel: true,
    asksAgain: true,
    retriesContradictions: checked.retryContradictions === true,
    announcesCalls: true,
    inputTokensFor: (request) => roomFor(checked, request),
    tokensPerMessage: MESSAGE_LINE_TOKENS,
    ...(canUse !== undefined && { canUse }),
    summarize: (request) => summarizeWith(checked, request),
  }
}

async function summarizeWith(options: Checked, request: SummaryRequest): Promise<SummaryAnswer> {
  const { name, generate, price, timeoutMs } = options
  const { system, prompt, promptVersion } = summarizationPrompt(
    request.messages,
    promptOptions(options, {
      ...request,
      files: filesWithin(request.files, inputRoom(options, request) * FILES_SHARE),
      rules: rulesWithin(request.rules ?? [], rulesRoom(options, request)),
    }),
  )
  await request.calling?.()
  const timeout = new AbortController()
  const timer =
    timeoutMs === undefined ? undefined : setTimeout(() => timeout.abort(), Math.min(timeoutMs, MAX_TIMER_MS))
  const signal =
    request.signal === undefined ? timeout.signal : AbortSignal.any([request.signal, timeout.signal])
  let answer: GenerateAnswer
  try {
    answer = await repeated(options, signal, () =>
      generate({
        system,
        prompt,
        maxOutputTokens: outputTokens(options, request),
        ...(options.temperature !== undefined && { temperature: options.temperature }),
        ...modelOf(request),
        signal,
      }),
    )
  } catch (error) {
    if (isUndertextError(error)) throw error
    const code = timeout.signal.aborted ? 'SUMMARY_TIMEOUT' : callFailure(error)
    throw withOriginal(new UndertextError('MODEL_CALL_FAILED', { summarizer: name, error: code }), error)
  } finally {
    clearTimeout(timer)
  }
  return toSummaryAnswer(answer, promptVersion, price)
}

function toSummaryAnswer(
  answer: GenerateAnswer,
  promptVersion: string,
  price: ModelPrice | undefined,
): SummaryAnswer {
  const { text, reasoning, finishReason, usage, model } = answer
  const cost = answer.cost ?? (price && costOf(usage, price))
  return {
    text: typeof text === 'string' ? text : '',
    promptVersion,
    ...(reasoning !== undefined && { reasoning }),
    ...(finishReason !== undefined && { finishReason }),
    ...(usage !== undefined && { usage }),
    ...(model !== undefined && { model }),
    ...(cost !== undefined && { cost }),
  }
}

/** Calls until a call succeeds, its error can't be retried, the retries are used up, or the signal aborts. */
async function repeated<T>(
  { maxRetries = MAX_RETRIES, retryWaitMs = FIRST_WAIT_MS }: Checked,
  signal: AbortSignal,
  call: () => Promise<T>,
): Promise<T> {
  for (let attempt = 0; ; attempt++) {
    signal.throwIfAborted()
    try {
      return await call()
    } catch (error) {
      if (signal.aborted || attempt >= maxRetries || !mayRetry(error)) throw error
      await pause(waitBefore(error, attempt, retryWaitMs, Date.now()), undefined, { signal })
    }
  }
}

function promptOptions(
  { maxOutputChars = MAX_OUTPUT_CHARS }: Checked,
  request: Omit<SummaryRequest, 'messages'>,
): Parameters<typeof summarizationPrompt>[1] {
  const { previousSummary, level, sections, maxTokens, files, rules, userTools, retryOf } = request
  return {
    previousSummary,
    level,
    sections: sections.length > 0 ? sections : undefined,
    maxTokens,
    files,
    rules,
    userTools,
    retryOf,
    maxOutputChars,
  }
}

/**
 * Returns the output tokens of a request. One that is repeated because its answer reached the output limit gets more room for reasoning.
 */
function outputTokens(
  { thinkingTokens = THINKING_TOKENS }: Checked,
  { maxTokens, retryOf }: Pick<SummaryRequest, 'maxTokens' | 'retryOf'>,
): number {
  const isTruncated = retryOf === 'SUMMARY_REASONING_ONLY' || retryOf === 'SUMMARY_CUT'
  return maxTokens + thinkingTokens * (isTruncated ? 2 : 1)
}

/** Returns the tokens of messages that fit into one request besides the prompt's own text. */
function roomFor(
  options: Checked,
  request: Parameters<NonNullable<Summarizer['inputTokensFor']>>[0],
): number {
  const files = { read: [], modified: [] }
  const rules = rulesWithin(request.rules ?? [], rulesRoom(options, request))
  const without = { ...request, files, rules, previousSummary: '…' }
  const bare = summarizationPrompt([], promptOptions(options, without))
  const own = estimateTokens(bare.system) + estimateTokens(bare.prompt)
  return Math.max(MIN_ROOM_TOKENS, Math.floor((inputRoom(options, request) - own) * ROOM_SHARE))
}

function inputRoom(
  options: Checked,
  request: Pick<SummaryRequest, 'provider' | 'model' | 'maxTokens' | 'retryOf'>,
): number {
  const { provider = options.provider, model = options.model } = modelOf(request)
  const window = resolveContextWindow(canonicalProvider(provider ?? ''), model).tokens
  return options.maxInputTokens ?? window - outputTokens(options, request)
}

/** Returns the changed files, then the read files, until the first path that doesn't fit. */
function filesWithin({ read, modified }: SummaryRequest['files'], tokens: number): SummaryRequest['files'] {
  let left = tokens
  const fits = (path: string): boolean => {
    left -= estimateTokens(JSON.stringify(path)) + 1
    return left >= 0
  }
  return { modified: modified.filter(fits), read: read.filter(fits) }
}

/** Rules are part of the summary and are included in every request. */
function rulesRoom(options: Checked, request: Parameters<typeof inputRoom>[1]): number {
  return Math.min(request.maxTokens * RULES_SHARE, inputRoom(options, request) * FILES_SHARE)
}

function rulesWithin(rules: readonly string[], tokens: number): readonly string[] {
  let left = tokens
  let first = rules.length
  while (first > 0) {
    left -= estimateTokens(rules[first - 1]!) + 1
    if (left < 0) break
    first -= 1
  }
  return rules.slice(first)
}

function modelOf({ provider, model }: Pick<SummaryRequest, 'provider' | 'model'>): {
  provider?: string
  model?: string
} {
  return { ...(provider !== undefined && { provider }), ...(model !== undefined && { model }) }
}
