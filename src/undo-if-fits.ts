import { resolveModel } from './compaction/model.ts'
import { DEFAULT_COMPACTION_TARGET } from './core/budget.ts'
import type { Readings } from './core/calibration.ts'
import type { Estimator } from './core/tokens.ts'
import type { ContextWindows } from './core/windows.ts'
import { type ContextStats, contextStats } from './stats.ts'
import type { SessionFigures, Storage, UndoOutcome } from './storage/storage.ts'
import type { CheckedUndoIfFits } from './store-options.ts'

/** What `undoIfFits` did. */
export type UndoIfFitsResult = UndoOutcome & {
  /** Most tokens the whole request may take afterwards: the target's share of the available input. */
  readonly limitTokens: number
  /** How full the context was, and is, for the model asked for. */
  readonly before: ContextStats
  readonly after: ContextStats
  /** The compaction that would have been next, and how large the request would have been: more than fits. */
  readonly next?: { readonly compactionId: string; readonly estimatedInputTokens: number }
  /** Compactions that stay because others in force build on them that were not to be undone. */
  readonly blocked: readonly string[]
}

/**
 * Undoes compactions, newest first, as long as the request stays within the target for a model, and below the usage at which
 * compaction would be due: otherwise the next check would do it all over. Throws `SESSION_NOT_FOUND`, `ESTIMATOR_UNKNOWN`.
 * Source: checklist F5-09.
 */
export async function undoIfFits(
  storage: Storage,
  sessionId: string,
  options: CheckedUndoIfFits,
  given: {
    /** The session as it is now, whose provider counts where none is named. */
    readonly session: Pick<SessionFigures, 'provider' | 'model'>
    readonly estimatorNamed: (name: string) => Estimator
    readonly contextWindows: ContextWindows | undefined
  },
): Promise<UndoIfFitsResult> {
  const { provider, model, target = DEFAULT_COMPACTION_TARGET, kinds, actor, reason, ...request } = options
  const chosen = resolveModel(given.session, provider, model)
  const statsOf = (figures: SessionFigures, readings: Readings): ContextStats =>
    contextStats(figures, readings, {
      provider: chosen.provider,
      model: chosen.model,
      request,
      estimator: given.estimatorNamed(figures.estimator),
      contextWindows: given.contextWindows,
    })
  const limitOf = ({ availableInputTokens }: ContextStats): number =>
    Math.max(0, Math.floor(target * availableInputTokens))
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
