import { NO_CALIBRATION, ratioOf, samplesOf } from './core/calibration.ts'
import type { UsageOutcome, UsageReport } from './storage/storage.ts'

/** What `recordUsage` made of a report. */
export type UsageResult = {
  /** False when the view named by `viewEpoch` is not there any more, or the session has no messages: then nothing was kept. */
  readonly recorded: boolean
  readonly provider: string
  readonly model?: string
  readonly estimator: string
  /** The whole input as reported: input, cache reads and cache creation. */
  readonly inputTokens: number
  /** What the estimator alone says of the same request. */
  readonly estimatedTokens?: number
  /** What of the report counts now: all of it, unless it waits to be confirmed. */
  readonly countedTokens?: number
  /** True tokens an estimated one, as it stands after this report. */
  readonly calibration: { readonly ratio: number; readonly samples: number }
  /** Whether the report showed a learnt limit to be wrong; it is forgotten. */
  readonly limitRefuted: boolean
}

export function usageResult(
  { provider, model, tokens }: UsageReport,
  { recorded, before, after, estimate }: UsageOutcome,
  estimator: string,
): UsageResult {
  const calibration = after.calibration ?? NO_CALIBRATION
  return {
    recorded,
    provider,
    ...(model !== '' && { model }),
    estimator,
    inputTokens: tokens,
    ...(estimate !== undefined && {
      estimatedTokens: estimate.history + estimate.standing + estimate.pending,
      countedTokens: after.measurement?.held ?? tokens,
    }),
    calibration: { ratio: ratioOf(calibration), samples: samplesOf(calibration) },
    limitRefuted: before.learnedLimit !== undefined && after.learnedLimit === undefined,
  }
}
