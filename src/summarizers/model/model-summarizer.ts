import { setTimeout as pause } from 'node:timers/promises'
import { z } from 'zod'
import { isUndertextError, standingFor, UndertextError } from '../../errors.ts'
import { check, nameSchema } from '../../messages/check.ts'
import { MAX_TIMER_MS } from '../../messages/timer.ts'
import { canonicalProvider } from '../../tokens/providers.ts'
import { estimateTokens } from '../../tokens/tokens.ts'
import { resolveContextWindow } from '../../tokens/windows.ts'
import type { Summarizer, SummaryAnswer, SummaryRequest, SummaryUsage } from '../summarizer.ts'
import { callFailure, mayRetry, waitBefore } from './call-failure.ts'
import { MAX_OUTPUT_CHARS, MESSAGE_LINE_TOKENS, summarizationPrompt } from './prompt.ts'

const perMillion = z.number().nonnegative()
/** Prices of a model's tokens, US dollars for a million. */
const priceSchema = z.strictObject({
  input: perMillion,
  output: perMillion,
  /** Of input read from the provider's cache. Default: as `input`. */
  cacheRead: perMillion.optional(),
  /** Of input written to it. Default: as `input`. */
  cacheWrite: perMillion.optional(),
})
/** What a model's tokens cost. */
export type ModelPrice = z.output<typeof priceSchema>

const MILLION = 1_000_000

/** What tokens cost, US dollars; `undefined` when nobody said how many there were. `inputTokens` counts cached ones too. */
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
 * Output tokens that a model may use for thinking besides its summary. Models that think count it among their output, and one that is
 * given the summary's length alone has none left to write.
 */
const THINKING_TOKENS = 4_000
/** Times that a call is made again. Source: the AI SDK's default. */
const MAX_RETRIES = 2
/** The first wait before a call is made again, milliseconds. Source: the AI SDK's default. */
const FIRST_WAIT_MS = 2_000
/** Share of the room that messages may take: our estimate of what they take may be too low, and each has a line above it. */
const ROOM_SHARE = 0.8
/** Share of the room that the list of files may take: what is not in it stands in the messages all the same. */
const FILES_SHARE = 0.1
/** Messages have this room at least, tokens. */
const LEAST_ROOM = 200

/** What `generate` is given. */
export type GenerateRequest = {
  readonly system: string
  readonly prompt: string
  /** Most tokens of output, thinking included. */
  readonly maxOutputTokens: number
  readonly temperature?: number
  /** Provider and model that the caller's config names, for a function that can choose. */
  readonly provider?: string
  readonly model?: string
  readonly signal: AbortSignal
}

/** What it answers. */
export type GenerateAnswer = {
  readonly text: string
  readonly reasoning?: string | undefined
  readonly finishReason?: string | undefined
  readonly usage?: SummaryUsage | undefined
  /** The model that answered, as the provider names it. */
  readonly model?: string | undefined
  /** US dollars. Default: by `price`. */
  readonly cost?: number | undefined
}

const isFunction = (value: unknown): boolean => typeof value === 'function'
/** Its options, checked. */
export const modelSummarizerSchema = z.strictObject({
  /** For the audit. */
  name: nameSchema,
  /** Calls the model once. */
  generate: z.custom<(request: GenerateRequest) => Promise<GenerateAnswer>>(isFunction, 'must be a function'),
  /** Provider and model called where the caller's config names none; the registry of windows knows what they take. */
  provider: nameSchema.optional(),
  model: nameSchema.optional(),
  /** Most tokens of one request, all included. Default: the model's window less its output; of an unknown model, of 128,000. */
  maxInputTokens: z.int().positive().optional(),
  /** Output tokens for thinking, besides the summary. Default 4,000. */
  thinkingTokens: z.int().nonnegative().optional(),
  /** Default: the model's own. Models that think take no other. */
  temperature: z.number().min(0).max(2).optional(),
  /** How often a call is made again that failed and may be repeated. Default 2. */
  maxRetries: z.int().nonnegative().max(100).optional(),
  /** The first wait before that, milliseconds; doubled each time, and what the server asks for counts. Default 2,000. */
  retryWaitMs: z.int().nonnegative().optional(),
  /** How long one request may take, retries included, milliseconds. Default: as long as the run's `summaryTimeoutMs`. */
  timeoutMs: z.int().positive().optional(),
  /** US dollars for a million tokens. */
  price: priceSchema.optional(),
  /** Most characters of one tool output that the model is shown, from both ends. Default 8,000. */
  maxOutputChars: z.int().nonnegative().optional(),
  /** Whether a provider and model named by a config can be called. Default: they can. */
  canUse: z.custom<NonNullable<Summarizer['canUse']>>(isFunction, 'must be a function').optional(),
})
/** What `modelSummarizer` is made with. */
export type ModelSummarizerOptions = z.input<typeof modelSummarizerSchema>
type Checked = z.output<typeof modelSummarizerSchema>

/**
 * A summarizer that asks a model through a function of the caller's: it builds the request, repeats calls that failed for the moment, and
 * reports usage and cost. The answer is judged by the run. Throws `INVALID_INPUT` for options that are none.
 *
 * `summarize` rejects with `MODEL_CALL_FAILED`, whose facts name what went wrong and never what was said; `originalErrorOf` has
 * what `generate` threw.
 */
export function modelSummarizer(options: ModelSummarizerOptions): Summarizer {
  const checked = check(modelSummarizerSchema, options, 'modelSummarizer')
  const { name, canUse } = checked
  return {
    name,
    usesModel: true,
    asksAgain: true,
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
    throw standingFor(new UndertextError('MODEL_CALL_FAILED', { summarizer: name, error: code }), error)
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

/** Calls until it works, the error may not be repeated, there were enough attempts, or the signal says stop. */
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
      await pause(waitBefore(error, attempt, retryWaitMs), undefined, { signal })
    }
  }
}

function promptOptions(
  { maxOutputChars = MAX_OUTPUT_CHARS }: Checked,
  { previousSummary, level, sections, maxTokens, files, retryOf }: Omit<SummaryRequest, 'messages'>,
): Parameters<typeof summarizationPrompt>[1] {
  return {
    previousSummary,
    level,
    sections: sections.length > 0 ? sections : undefined,
    maxTokens,
    files,
    retryOf,
    maxOutputChars,
  }
}

/** One that ran into its limit is given more room to think. */
function outputTokens(
  { thinkingTokens = THINKING_TOKENS }: Checked,
  { maxTokens, retryOf }: Pick<SummaryRequest, 'maxTokens' | 'retryOf'>,
): number {
  const ranOut = retryOf === 'SUMMARY_REASONING_ONLY' || retryOf === 'SUMMARY_CUT'
  return maxTokens + thinkingTokens * (ranOut ? 2 : 1)
}

/** Tokens of messages that go into one request, besides the prompt's own text. */
function roomFor(
  options: Checked,
  request: Parameters<NonNullable<Summarizer['inputTokensFor']>>[0],
): number {
  const files = { read: [], modified: [] }
  const bare = summarizationPrompt([], promptOptions(options, { ...request, files, previousSummary: '…' }))
  const own = estimateTokens(bare.system) + estimateTokens(bare.prompt)
  return Math.max(LEAST_ROOM, Math.floor((inputRoom(options, request) - own) * ROOM_SHARE))
}

/** Tokens of a whole request. */
function inputRoom(
  options: Checked,
  request: Pick<SummaryRequest, 'provider' | 'model' | 'maxTokens' | 'retryOf'>,
): number {
  const { provider = options.provider, model = options.model } = modelOf(request)
  const window = resolveContextWindow(canonicalProvider(provider ?? ''), model).tokens
  return options.maxInputTokens ?? window - outputTokens(options, request)
}

/** The files that were changed, then those that were read, as far as their paths fit; the first that does not ends both. */
function filesWithin({ read, modified }: SummaryRequest['files'], tokens: number): SummaryRequest['files'] {
  let left = tokens
  const fits = (path: string): boolean => {
    left -= estimateTokens(JSON.stringify(path)) + 1
    return left >= 0
  }
  return { modified: modified.filter(fits), read: read.filter(fits) }
}

function modelOf({ provider, model }: Pick<SummaryRequest, 'provider' | 'model'>): {
  provider?: string
  model?: string
} {
  return { ...(provider !== undefined && { provider }), ...(model !== undefined && { model }) }
}
