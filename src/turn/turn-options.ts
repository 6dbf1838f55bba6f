import { z } from 'zod'
import { compactionConfigSchema } from '../compaction/config.ts'
import { requestSchema } from '../core/budget.ts'
import { labelSchema, nameSchema } from '../core/check.ts'
import type { NewMessage } from '../core/message.ts'
import type { PersistentContext } from './persistent-context.ts'
import type { SystemInjector } from './system-injector.ts'

/** Levels of usage that are warned of. Source: conflict C-29 (seed 003's notice and warning). */
export const WARNING_LEVELS: readonly number[] = [0.6, 0.8]
/** Usage at which `afterTurn` compacts. Source: seed 004, `auto_summarize_threshold`. */
export const AFTER_TURN_THRESHOLD = 0.75

const share = z.number().min(0).max(1)

const turnSchema = {
  /** Whose figures count. Default: the session's own, else "openai". */
  provider: nameSchema.optional(),
  model: nameSchema.optional(),
  ...requestSchema.shape,
  /**
   * Tokens that usage is held against in place of the available input, when that is more: seed 004's
   * `context_window_target`.
   */
  contextTarget: z.int().positive().optional(),
  /** Whether the history is compacted when it is due. Default true. */
  auto: z.boolean().default(true),
  /** Further settings of that compaction, as `compactSession` takes them. */
  compaction: compactionConfigSchema.optional(),
}

const injectorSchema = z.custom<Pick<SystemInjector, 'check'>>(
  (value) => typeof (value as Partial<SystemInjector> | null)?.check === 'function',
  'must be a SystemInjector',
)
const contextSchema = z.custom<Pick<PersistentContext, 'render'>>(
  (value) => typeof (value as Partial<PersistentContext> | null)?.render === 'function',
  'must be a PersistentContext',
)

/** What `beforeTurn` can be told. */
export const beforeTurnSchema = z
  .strictObject({
    ...turnSchema,
    /** Usage at which compaction is due, as a share. Default 0.8. */
    threshold: share.optional(),
    /** Levels to warn of, as shares. Default 0.6 and 0.8; an empty list warns of nothing. */
    warnAt: z
      .array(z.number().gt(0).max(1))
      .max(20)
      .default([...WARNING_LEVELS]),
    /** Its texts stand at the end of the system prompt of this one request. */
    injector: injectorSchema.optional(),
    /** The turn that is about to begin, for the injector: 1, 2, 3 … */
    turnNumber: z.int().nonnegative().optional(),
    /** Its sections stand in the system prompt, behind `systemPrompt`. */
    persistentContext: contextSchema.optional(),
  })
  .refine(({ injector, turnNumber }) => injector === undefined || turnNumber !== undefined, {
    path: ['turnNumber'],
    message: 'is needed with an injector',
  })

/** What `afterTurn` can be told. */
export const afterTurnSchema = z.strictObject({
  ...turnSchema,
  /** Usage at which compaction is due, as a share. Default 0.75. */
  threshold: share.default(AFTER_TURN_THRESHOLD),
  /** What the model answered, to be appended first. Leave it out when it was appended already. */
  messages: z.custom<readonly NewMessage[]>((value) => Array.isArray(value), 'must be a list').optional(),
  /** Why the answer ended, in the provider's words. */
  stopReason: labelSchema.optional(),
})

export type BeforeTurnOptions = z.input<typeof beforeTurnSchema>
export type AfterTurnOptions = z.input<typeof afterTurnSchema>
export type CheckedBefore = z.output<typeof beforeTurnSchema>
export type CheckedAfter = z.output<typeof afterTurnSchema>
