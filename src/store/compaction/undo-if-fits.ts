import { DEFAULT_COMPACTION_TARGET } from '../../core/tokens/budget.ts'
import type { Readings } from '../../core/tokens/calibration.ts'
import type { SessionFigures, Storage, UndoOutcome } from '../../storage/storage.ts'
import type { ChosenModel } from '../config/model.ts'
import type { CheckedStats, CheckedUndoIfFits } from '../config/store-options.ts'
import type { ContextStats } from './stats.ts'

/** The result of `undoCompaction`. */
export type UndoIfFitsResult = UndoOutcome & {
  /** Maximum tokens of the whole request afterwards: the target's share of the available input. */
  readonly limitTokens: number
  /** How full the context was and is, for the requested model. */
  readonly before: ContextStats
  readonly after: ContextStats
  /** The next compaction, and the size of the request without it, which would not fit. */
  readonly next?: { readonly compactionId: string; readonly estimatedInputTokens: number }
  /** Compactions that stay because others in force that were not selected depend on them. */
  readonly blocked: readonly string[]
}

/**
 * Undoes compactions, newest first, as long as the request stays within the target of a model and below the usage at which
 * compaction is due: otherwise the next check would repeat them. Throws `SESSION_NOT_FOUND`, `ESTIMATOR_UNKNOWN`.
 */
export async function undoIfFits(
  storage: Storage,
  sessionId: string,
  options: CheckedUndoIfFits,
  given: {
    /** The requested model. */
    readonly chosen: ChosenModel
    /** The target of the settings: a share of the available input, or tokens of history. */
    readonly target: number | undefined
    readonly targetTokens: number | undefined
    /** How full its context is with these figures. */
    readonly statsOf: (figures: SessionFigures, readings: Readings, request: CheckedStats) => ContextStats
  },
): Promise<UndoIfFitsResult> {
  const {
    provider: _provider,
    model: _model,
    target = given.target ?? DEFAULT_COMPACTION_TARGET,
    kinds,
    actor,
    reason,
    ...request
  } = options
  const { chosen } = given
  const statsOf = (figures: SessionFigures, readings: Readings): ContextStats =>
    given.statsOf(figures, readings, request as CheckedStats)
  // Target tokens are of the history alone; the rest of the request is added.
  const tokens = options.target === undefined ? given.targetTokens : undefined
  const limitOf = ({ availableInputTokens, estimatedInputTokens, breakdown }: ContextStats): number =>
    tokens === undefined
      ? Math.max(0, Math.floor(target * availableInputTokens))
      : tokens + estimatedInputTokens - breakdown.conversationHistory
  const fits = (stats: ContextStats): boolean =>
    stats.estimatedInputTokens <= limitOf(stats) && !stats.shouldCompact
  const {
    readings,
    before: was,
    after: is,
    refused,
    blocked,
    ...outcome
  } = await storage.undoWhile(
    sessionId,
    { kinds, actor, reason, provider: chosen.key, model: chosen.model ?? '' },
    (figures, found) => fits(statsOf(figures, found)),
  )
  const before = statsOf(was, readings)
  return {
    ...outcome,
    limitTokens: limitOf(before),
    before,
    after: statsOf(is, readings),
    ...(refused !== undefined && {
      next: {
        compactionId: refused.compactionId,
        estimatedInputTokens: statsOf(refused.figures, readings).estimatedInputTokens,
      },
    }),
    blocked,
  }
}
