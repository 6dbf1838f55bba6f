import type { UsageWarning } from '../events.ts'
import type { ProviderOverflowDetails } from '../overflow/overflow.ts'
import type { NamedLimit, UsageOutcome, UsageReport } from '../storage/storage.ts'
import { isDoubted, NO_CALIBRATION, ratioOf, samplesOf, totalOf } from '../tokens/calibration.ts'

/** What `recordUsage` made of a report. */
export type UsageResult = {
  /** False when nothing was reported, the view named by `viewEpoch` is not there any more, or the session has no messages. */
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
  /** The report is far below what the request must hold: nothing was learnt from it. */
  readonly warning?: UsageWarning
}
const FAR_BELOW =
  'The provider reported less than half of what the request is estimated to hold. A server may have cut the prompt without an error (Ollama: raise num_ctx, and set contextWindows to it), the report leaves out what came from a cache (pass cacheReadTokens), or images take much less than they were estimated at.'

/** The warning about a report, where there is one. */
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

/** A report and what the storage made of it, as the caller is told. */
export function usageResult(report: UsageReport, outcome: UsageOutcome, estimator: string): UsageResult {
  const { provider, model, tokens } = report
  const { recorded, before, after, estimate } = outcome
  // An error that names a size is no report of a request that went through.
  const warning = report.wentThrough ? warningOf(report, outcome) : undefined
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
      isGone(before.learned.window, after.learned.window) ||
      isGone(before.learned.input, after.learned.input),
    ...(warning !== undefined && { warning }),
  }
}

function isGone(before: number | undefined, after: number | undefined): boolean {
  return before !== undefined && after === undefined
}

/** What `recordOverflow` made of an error. */
export type OverflowResult =
  | { readonly isOverflow: false }
  | {
      readonly isOverflow: true
      /** The figures the error names; `null` when it names none. */
      readonly details: ProviderOverflowDetails | null
      /** What became of the size it names. */
      readonly usage?: UsageResult
      /** The limit the error names, as it counts for the model now; absent when it names none. */
      readonly learnedLimit?: NamedLimit
    }

/** A limit below this is no model's: a figure that was misread must not make every request too large. Tokens. */
const LEAST_LIMIT = 256

/** The size of the input an overflow error names; with the answer asked for, where that is not told apart. */
export function sizeNamed(details: ProviderOverflowDetails | null): number | undefined {
  return details?.inputTokens ?? details?.actualTokens
}

/** The limit an overflow error names, where it can be one: not less than the least, and less than what was sent. */
export function limitNamed(details: ProviderOverflowDetails | null): NamedLimit | undefined {
  const { budgetTokens, actualTokens, limitKind = 'window' } = details ?? {}
  if (budgetTokens === undefined || budgetTokens < LEAST_LIMIT) return undefined
  if (actualTokens !== undefined && actualTokens <= budgetTokens) return undefined
  return { tokens: budgetTokens, kind: limitKind }
}

/** An overflow, with the limit as it counts now and what became of its size. */
export function overflowResult(
  details: ProviderOverflowDetails | null,
  learnedLimit: NamedLimit | undefined,
  usage?: UsageResult,
): OverflowResult {
  return {
    isOverflow: true,
    details,
    ...(usage !== undefined && { usage }),
    ...(learnedLimit !== undefined && { learnedLimit }),
  }
}
