import { z } from 'zod'
import { check, modelShape } from '../core/messages/check.ts'
import { COMPACTION_KINDS } from '../core/model/plan.ts'
import {
  DEFAULT_COMPACTION_TARGET,
  type NeurolinkRequest,
  requestSchema,
  withRequestNames,
} from '../core/tokens/budget.ts'
import type { Readings } from '../core/tokens/calibration.ts'
import type { SessionFigures, UndoOutcome } from '../storage/storage.ts'
import type { ContextStats } from './compaction/stats.ts'
import { settingsSchema } from './config/settings.ts'
import { authorshipSchema, type CheckedStats } from './config/store-options.ts'
import type { ReasoningChange } from './requests/reasoning.ts'
import type { Services } from './services.ts'

/**
 * Kinds that `undoCompaction` doesn't undo by default: those made by users or for providers, and shortened outputs, which save room by
 * design.
 */
const KEPT_KINDS: ReadonlySet<string> = new Set(['manual', 'provider', 'preview', 'repair'])
const undoIfFitsSchema = z.strictObject({
  ...modelShape,
  /**
   * The share of the available input that the request may take afterwards (default 0.4), and the usage below which it stays (default 0.8).
   */
  ...settingsSchema.pick({ target: true, threshold: true }).shape,
  /** Kinds to undo. Default: all but manual compactions, those of a provider, repairs, and shortened outputs. */
  kinds: z
    .array(z.enum(COMPACTION_KINDS))
    .default(() => COMPACTION_KINDS.filter((kind) => !KEPT_KINDS.has(kind))),
  ...requestSchema.shape,
  ...authorshipSchema.shape,
})
/** Options of `undoCompaction`. */
export type UndoIfFitsOptions = z.input<typeof undoIfFitsSchema> & NeurolinkRequest

/** The result of `undoCompaction` with `ifFits`. */
export type UndoIfFitsResult = UndoOutcome & {
  /** Maximum tokens of the whole request afterwards: the target's share of the available input. */
  readonly limitTokens: number
  /** How full the context was before, and is now, for the requested model. */
  readonly before: ContextStats
  readonly after: ContextStats
  /** The next compaction that would have been undone, and the size of the request without it, which wouldn't fit. */
  readonly next?: { readonly compactionId: string; readonly estimatedInputTokens: number }
  /** Compactions that stay because others in force, which weren't selected, depend on them. */
  readonly blocked: readonly string[]
}

/**
 * Undoes compactions, newest first, as long as the request stays within the target of a model and below the usage at which compaction is
 * due; otherwise the next check would compact again. Throws `SESSION_NOT_FOUND`, `ESTIMATOR_UNKNOWN`.
 */
export async function undoIfFits(
  services: Services,
  sessionId: string,
  options: UndoIfFitsOptions,
): Promise<UndoIfFitsResult & ReasoningChange> {
  const { context } = services
  const checked = check(undoIfFitsSchema, withRequestNames(options), 'undoCompaction: ifFits')
  const session = await context.requireSession(sessionId)
  const { key, provider, model } = context.modelFor(session, checked.provider, checked.model)
  const { settings } = context.configuration.ofSession(session.config)
  const { kinds, actor, reason, target = settings.target ?? DEFAULT_COMPACTION_TARGET } = checked
  const { provider: _provider, model: _model, kinds: _kinds, target: _target, ...rest } = checked
  const { actor: _actor, reason: _reason, ...request } = rest
  const statsOf = (figures: SessionFigures, readings: Readings): ContextStats =>
    context.statsOf(sessionId, figures, readings, { provider, model, request: request as CheckedStats })
  // Target tokens cover the history alone; the rest of the request is added.
  const tokens = checked.target === undefined ? settings.targetTokens : undefined
  const limitOf = ({ availableInputTokens, estimatedInputTokens, breakdown }: ContextStats): number =>
    tokens === undefined
      ? Math.max(0, Math.floor(target * availableInputTokens))
      : tokens + estimatedInputTokens - breakdown.conversationHistory
  const fits = (stats: ContextStats): boolean =>
    stats.estimatedInputTokens <= limitOf(stats) && !stats.shouldCompact
  const how = { kinds, actor, reason, provider: key, model: model ?? '' }
  const work = async (): Promise<UndoIfFitsResult> => {
    const outcome = await context.storage.undoWhile(sessionId, how, (figures, found) =>
      fits(statsOf(figures, found)),
    )
    const { readings, before: was, after: is, refused, blocked, ...undone } = outcome
    const before = statsOf(was, readings)
    return {
      ...undone,
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
  return services.turned('undone', sessionId, 'ifFits', work, provider, model)
}
