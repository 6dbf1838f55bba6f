import { z } from 'zod'
import { kept, readCall } from '../config/layers.ts'
import type { CompactOptions } from '../config/store-options.ts'
import { isUndertextError } from '../errors.ts'
import { labelSchema, nameSchema, shareSchema } from '../messages/check.ts'
import type { NewMessage } from '../messages/message.ts'
import { requestSchema } from '../tokens/budget.ts'
import type { PersistentContext } from './persistent-context.ts'
import type { SystemInjector } from './system-injector.ts'

/** What `compactSession` takes, checked as it checks it, so that a mistake is told at the first turn and not at the first run. */
const compactionSchema = z.custom<CompactOptions>().superRefine((value, context) => {
  try {
    readCall(value, 'compaction')
  } catch (error) {
    if (!isUndertextError(error, 'INVALID_INPUT')) throw error
    context.addIssue({ code: 'custom', message: error.facts.problems })
  }
})

const turnSchema = {
  /** Whose figures count. Default: the session's own, else "openai". */
  provider: nameSchema.optional(),
  model: nameSchema.optional(),
  ...requestSchema.shape,
  /** Most tokens of input, whatever the window leaves (seed 004's `context_window_target`); 0 for no such limit. Default: the setting. */
  contextWindowTarget: z.int().nonnegative().optional(),
  /** Whether the history is compacted when it is due. Default: the setting, which is true by default. */
  auto: z.boolean().optional(),
  /** Further settings of that compaction, as `compactSession` takes them. */
  compaction: compactionSchema.transform((options): CompactOptions => kept(options)).optional(),
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
    /** Usage at which compaction is due, as a share. Default: the setting, 0.8 by default. */
    threshold: shareSchema.optional(),
    /** Levels to warn of, as shares; an empty list warns of nothing. Default: the setting, 0.6 and 0.8 by default. */
    warningLevels: z.array(z.number().gt(0).max(1)).max(20).readonly().optional(),
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
  /** Usage at which compaction is due, as a share. Default: the setting, 0.8 by default. */
  threshold: shareSchema.optional(),
  /** What the model answered, to be appended first. Leave it out when it was appended already. */
  messages: z.custom<readonly NewMessage[]>((value) => Array.isArray(value), 'must be a list').optional(),
  /** Why the answer ended, in the provider's words. */
  stopReason: labelSchema.optional(),
})

export type BeforeTurnOptions = z.input<typeof beforeTurnSchema>
export type AfterTurnOptions = z.input<typeof afterTurnSchema>
export type CheckedBefore = z.output<typeof beforeTurnSchema>
export type CheckedAfter = z.output<typeof afterTurnSchema>
