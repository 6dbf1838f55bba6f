import { defined } from '../core/messages/json.ts'
import { readError } from '../core/overflow/error-texts.ts'
import { type OverflowReading, overflowAmong } from '../core/overflow/read-overflow.ts'
import { estimateOf, estimateRequest } from '../core/tokens/budget.ts'
import {
  isDoubted,
  type LearnedTokens,
  NO_CALIBRATION,
  ratioOf,
  samplesOf,
  totalOf,
} from '../core/tokens/calibration.ts'
import type { PriceOf } from '../core/tokens/prices.ts'
import type {
  BilledTokens,
  ModelUsage,
  NamedLimit,
  NewRequest,
  RecordedUsage,
  Session,
  UsageOutcome,
  UsageReport,
} from '../storage/storage.ts'
import type { CheckedOverflow, CheckedUsage } from './config/store-options.ts'
import type { StoreContext } from './context.ts'
import type { UsageWarning } from './events.ts'

/** Records what a provider reported for a request, and the request itself, even if no usage was reported. */
export async function recordUsage(
  context: StoreContext,
  sessionId: string,
  usage: CheckedUsage,
  {
    isReported = true,
    requestOf,
  }: {
    readonly isReported?: boolean
    readonly requestOf: (billed: BilledTokens | undefined) => NewRequest | undefined
  },
): Promise<UsageResult> {
  const { inputTokens, cacheReadTokens, cacheCreationTokens, outputTokens } = usage
  const tokens = inputTokens + (cacheReadTokens ?? 0) + (cacheCreationTokens ?? 0)
  const session = await context.requireSession(sessionId)
  const billed = isReported
    ? {
        inputTokens,
        cacheReadTokens: cacheReadTokens ?? undefined,
        cacheCreationTokens: cacheCreationTokens ?? undefined,
        outputTokens: outputTokens ?? 0,
      }
    : undefined
  const { result } = await report(context, session, tokens, usage, {
    wasAccepted: true,
    limit: undefined,
    billed,
    request: requestOf(billed),
  })
  return result
}

/** Records the size and the limit in an overflow error, in one transaction; a limit without a size makes no report. */
export async function recordOverflow(
  context: StoreContext,
  sessionId: string,
  error: unknown,
  { overflow: options, ...request }: CheckedOverflow,
): Promise<OverflowResult> {
  // Before anything is awaited: the caller may change the error.
  const read = readError(error)
  const session = await context.requireSession(sessionId)
  const named = request.provider ?? session.provider
  const overflow = overflowAmong(read, { ...options, provider: named })
  if (overflow === undefined) return { isOverflow: false }
  // The error itself may name the provider that the caller and the session do not.
  const {
    provider,
    key,
    model = '',
  } = context.modelFor(session, named ?? overflow.provider ?? undefined, request.model)
  const reading = overflowAmong(read, { ...options, provider })!
  const size = reportedSize(reading)
  const limit = reportedLimit(reading)
  if (size === undefined) {
    const lowest = limit && { ...limit, tokens: await context.storage.learnLimit(key, model, limit) }
    return overflowResult(reading, lowest)
  }
  const refused = { wasAccepted: false, limit, billed: undefined }
  const { result, learned } = await report(context, session, size, { ...request, provider }, refused)
  const lowest = limit && { ...limit, tokens: Math.min(learned[limit.kind] ?? limit.tokens, limit.tokens) }
  return overflowResult(reading, lowest, result)
}

async function report(
  context: StoreContext,
  session: Session,
  tokens: number,
  request: CheckedOverflow,
  outcome: Pick<UsageReport, 'wasAccepted' | 'limit' | 'billed' | 'request'>,
): Promise<{ readonly result: UsageResult; readonly learned: LearnedTokens }> {
  const { id, estimator } = session
  const chosen = context.modelFor(session, request.provider, request.model)
  const estimate = estimateRequest(chosen.key, request, 0, context.estimatorNamed(estimator, id))
  const { standing, pending } = estimateOf(estimate)
  const report: UsageReport = {
    ...outcome,
    standing,
    pending,
    provider: chosen.key,
    model: chosen.model ?? '',
    tokens,
    position: request.position,
    viewEpoch: request.viewEpoch,
  }
  const recorded = await context.storage.recordUsage(id, report)
  const result = usageResult(report, recorded, estimator)
  if (result.warning !== undefined) {
    const { provider, model, warning } = result
    context.events.emit('usageWarning', {
      ...warning,
      sessionId: id,
      provider,
      ...(model !== undefined && { model }),
    })
  }
  return { result, learned: recorded.after.learned }
}

/** The result of `requests.recordUsage`. */
export type UsageResult = {
  /** False if nothing was reported, the view of `viewEpoch` no longer exists, or the session has no messages. */
  readonly recorded: boolean
  readonly provider: string
  readonly model?: string
  readonly estimator: string
  /** The whole input as reported: input, cache reads and cache creation. */
  readonly inputTokens: number
  /** Tokens of the same request, as estimated. */
  readonly estimatedTokens?: number
  /** Tokens of the report that count now: all of them, unless another report must confirm it first. */
  readonly countedTokens?: number
  /** Real tokens per estimated token after this report. */
  readonly calibration: { readonly ratio: number; readonly samples: number }
  /** Whether the report disproved a learned limit, which was removed. */
  readonly limitRefuted: boolean
  /** Present if the report is far below what the request must contain; nothing was learned from it. */
  readonly warning?: UsageWarning
  /** The id of the request that was recorded with the report. */
  readonly requestId?: string
}
const FAR_BELOW =
  'The provider reported less than half of the tokens that the request is estimated to take. A server may have truncated the prompt without an error (Ollama: raise num_ctx, and set contextWindows to it), the report may omit cached tokens (pass cacheReadTokens), or images may take far fewer tokens than estimated.'

function warningOf(
  { tokens }: UsageReport,
  { before, after: { measurement }, estimate, recorded }: UsageOutcome,
): UsageWarning | undefined {
  if (!recorded || estimate === undefined || measurement === undefined) return undefined
  if (!isDoubted(measurement, before.calibration)) return undefined
  return {
    code: 'USAGE_FAR_BELOW_ESTIMATE',
    reportedTokens: tokens,
    expectedTokens: Math.round(ratioOf(before.calibration ?? NO_CALIBRATION) * totalOf(estimate)),
    message: FAR_BELOW,
  }
}

/** Returns the result for a report, given the outcome in the storage. */
export function usageResult(report: UsageReport, outcome: UsageOutcome, estimator: string): UsageResult {
  const { provider, model, tokens } = report
  const { recorded, before, after, estimate, requestId } = outcome
  // The size in an error doesn't belong to a successful request.
  const warning = report.wasAccepted ? warningOf(report, outcome) : undefined
  const calibration = after.calibration ?? NO_CALIBRATION
  return {
    recorded,
    provider,
    ...(model !== '' && { model }),
    estimator,
    inputTokens: tokens,
    ...(estimate !== undefined && {
      estimatedTokens: totalOf(estimate),
      countedTokens: after.measurement?.held ?? tokens,
    }),
    calibration: { ratio: ratioOf(calibration), samples: samplesOf(calibration) },
    limitRefuted:
      isRemoved(before.learned.window, after.learned.window) ||
      isRemoved(before.learned.input, after.learned.input),
    ...defined({ warning, requestId }),
  }
}

function isRemoved(before: number | undefined, after: number | undefined): boolean {
  return before !== undefined && after === undefined
}

/** The result of `limits.learn`. */
export type OverflowResult =
  | { readonly isOverflow: false }
  | {
      readonly isOverflow: true
      /** What was read from the error, including its figures. */
      readonly reading: OverflowReading
      /** The outcome of recording the size in the error. */
      readonly usage?: UsageResult
      /** The limit in the error, as it now applies to the model; absent if the error has none. */
      readonly learnedLimit?: NamedLimit
    }

/** Minimum tokens of a plausible limit: a misread figure must not make every request too large. */
const MIN_LIMIT = 256

/** Returns the input size in an overflow error, including the requested output if the error doesn't separate them. */
export function reportedSize({ inputTokens, tokens }: OverflowReading): number | undefined {
  return inputTokens ?? tokens
}

/** Returns the limit in an overflow error, if it is plausible: at least the minimum, and less than what was sent. */
export function reportedLimit({
  limit,
  tokens,
  limitKind = 'window',
}: OverflowReading): NamedLimit | undefined {
  if (limit === undefined || limit < MIN_LIMIT) return undefined
  if (tokens !== undefined && tokens <= limit) return undefined
  return { tokens: limit, kind: limitKind }
}

export function overflowResult(
  reading: OverflowReading,
  learnedLimit: NamedLimit | undefined,
  usage?: UsageResult,
): OverflowResult {
  return { isOverflow: true, reading, ...defined({ usage, learnedLimit }) }
}

/** US dollars; `null` if no price is known. */
type Cost = number | null

/** Sums of tokens. `inputTokens` excludes cache reads and writes if the provider reports them separately. */
export type UsageTotals = {
  readonly requests: number
  readonly inputTokens: number
  readonly cacheReadTokens: number
  readonly cacheCreationTokens: number
  readonly outputTokens: number
  /** Cost of the requests whose price is known; `null` if no price is known. */
  readonly cost: Cost
  /** Number of requests whose price isn't known; `cost` doesn't include them. */
  readonly unpricedRequests: number
}

/** Tokens and cost of the summaries by one summarizer and model, as far as they were reported. */
export type SummaryTotals = {
  readonly summarizer: string
  readonly model?: string
  /** Number of requested summaries that reported usage or cost. */
  readonly requests: number
  readonly inputTokens: number
  readonly outputTokens: number
  /** Cost as reported, else by list prices; `null` if neither is known for any summary. */
  readonly cost: Cost
}

/** The tokens and cost of a session. */
export type SessionUsage = {
  /** Currency of all costs. */
  readonly currency: 'USD'
  /** All requests to all models, without summaries. */
  readonly total: UsageTotals
  readonly models: readonly (ModelUsage & {
    /** Cost by the list prices of `@pydantic/genai-prices` at the time of the last report. */
    readonly cost: Cost
  })[]
  readonly summaries: {
    readonly total: Omit<SummaryTotals, 'summarizer' | 'model'>
    readonly models: readonly SummaryTotals[]
  }
}

type Bill = { requests: number; inputTokens: number; outputTokens: number; cost: Cost }

/** Adds up the recorded usage of a session. Pure. */
export function sessionUsage({ models, summaries }: RecordedUsage, priceOf: PriceOf): SessionUsage {
  const byModel = new Map<
    string,
    { readonly name: Pick<SummaryTotals, 'summarizer' | 'model'>; bill: Bill }
  >()
  const all = noBill(0)
  for (const summary of summaries) {
    const { summarizer, model } = summary
    const key = JSON.stringify([summarizer, model ?? null])
    const entry = byModel.get(key) ?? { name: { summarizer, ...defined({ model }) }, bill: noBill(null) }
    byModel.set(key, entry)
    addSummary([entry.bill, all], summary, priceOf)
  }
  if (all.cost === 0 && summaries.length > 0 && [...byModel.values()].every(({ bill }) => bill.cost === null))
    all.cost = null
  const priced = models.map((usage) => ({ ...usage, cost: priceOf({ ...usage, model: usage.model }) }))
  return {
    currency: 'USD',
    total: totalsOf(priced),
    models: priced,
    summaries: { total: all, models: [...byModel.values()].map(({ name, bill }) => ({ ...name, ...bill })) },
  }
}

function totalsOf(models: SessionUsage['models']): UsageTotals {
  const sum = (of: (usage: ModelUsage) => number): number =>
    models.reduce((total, usage) => total + of(usage), 0)
  const known = models.filter(({ cost }) => cost !== null)
  const requests = sum((usage) => usage.requests)
  return {
    requests,
    inputTokens: sum(({ inputTokens }) => inputTokens),
    cacheReadTokens: sum(({ cacheReadTokens }) => cacheReadTokens),
    cacheCreationTokens: sum(({ cacheCreationTokens }) => cacheCreationTokens),
    outputTokens: sum(({ outputTokens }) => outputTokens),
    cost: models.length > 0 && known.length === 0 ? null : known.reduce((all, { cost }) => all + cost!, 0),
    unpricedRequests: requests - known.reduce((all, usage) => all + usage.requests, 0),
  }
}

function addSummary(
  bills: readonly Bill[],
  summary: RecordedUsage['summaries'][number],
  priceOf: PriceOf,
): void {
  const { inputTokens, outputTokens, cost } = billOf(summary, priceOf, Date.now())
  for (const bill of bills) {
    bill.requests += 1
    bill.inputTokens += inputTokens
    bill.outputTokens += outputTokens
    if (cost !== null) bill.cost = (bill.cost ?? 0) + cost
  }
}

/** Returns the tokens of a summary as reported, and its cost as reported, otherwise by the list prices at a time. */
export function billOf(
  { model, usage, cost }: Pick<RecordedUsage['summaries'][number], 'model' | 'usage' | 'cost'>,
  priceOf: PriceOf,
  at: number,
): Omit<Bill, 'requests'> {
  const inputTokens = numberIn(usage, 'inputTokens')
  const outputTokens = numberIn(usage, 'outputTokens')
  const cacheReadTokens = numberIn(usage, 'cacheReadTokens')
  const cacheCreationTokens = numberIn(usage, 'cacheCreationTokens')
  const fresh = Math.max(0, inputTokens - cacheReadTokens - cacheCreationTokens)
  const tokens = { requests: 1, inputTokens: fresh, cacheReadTokens, cacheCreationTokens, outputTokens }
  // A summarizer may name its model with or without a provider.
  const listed = () => priceOf({ ...tokens, provider: undefined, model, at })
  return { inputTokens, outputTokens, cost: cost ?? listed() }
}

function noBill(cost: Cost): Bill {
  return { requests: 0, inputTokens: 0, outputTokens: 0, cost }
}

/** Returns a figure of a summarizer's report, which may contain anything. */
function numberIn(usage: RecordedUsage['summaries'][number]['usage'], name: string): number {
  const value = usage !== undefined && Object.hasOwn(usage, name) ? usage[name] : undefined
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : 0
}
