import { readError } from '../core/overflow/error-texts.ts'
import { overflowAmong } from '../core/overflow/read-overflow.ts'
import { estimateOf, estimateRequest } from '../core/tokens/budget.ts'
import type { LearnedTokens } from '../core/tokens/calibration.ts'
import type { BilledTokens, NewRequest, Session, UsageReport } from '../storage/storage.ts'
import {
  type OverflowResult,
  overflowResult,
  reportedLimit,
  reportedSize,
  type UsageResult,
  usageResult,
} from './compaction/usage.ts'
import type { CheckedOverflow, CheckedUsage } from './config/store-options.ts'
import type { StoreContext } from './context.ts'

/** Records what a provider reported for a request that it answered, and the request itself, also where nothing was reported. */
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
    wentThrough: true,
    limit: undefined,
    billed,
    request: requestOf(billed),
  })
  return result
}

/** Records the size and the limit that an overflow error names, in one transaction; a limit alone has no report to go with. */
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
  const refused = { wentThrough: false, limit, billed: undefined }
  const { result, learned } = await report(context, session, size, { ...request, provider }, refused)
  const lowest = limit && { ...limit, tokens: Math.min(learned[limit.kind] ?? limit.tokens, limit.tokens) }
  return overflowResult(reading, lowest, result)
}

async function report(
  context: StoreContext,
  session: Session,
  tokens: number,
  request: CheckedOverflow,
  outcome: Pick<UsageReport, 'wentThrough' | 'limit' | 'billed' | 'request'>,
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
