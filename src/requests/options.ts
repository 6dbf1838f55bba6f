import { z } from 'zod'
import { renderSchema } from '../config/store-options.ts'
import type { SummarizeFile } from '../files/ask.ts'
import { nameSchema, taken } from '../messages/check.ts'
import type { NewMessage } from '../messages/message.ts'
import { overflowRulesSchema } from '../overflow/overflow.ts'
import { beforeTurnSchema } from './turn-options.ts'

/** What is about to be said: a text of the user's, or messages as `append` takes them. */
export type Prompt = string | NewMessage | readonly NewMessage[]

/** Checked by whoever asks for its messages, as `append` checks them. */
const promptSchema = z
  .custom<Prompt>((value) => value !== null, 'must be a text, a message or messages')
  .transform((prompt) => taken(prompt))

const { provider: _provider, ...rendering } = renderSchema.shape
const before = beforeTurnSchema.shape

/** What `prepareRequest` can be told, and `withOverflowRecovery`. */
export const prepareSchema = z
  .strictObject({
    /** Whom the request is for. Default: the session's own, else "openai". */
    provider: nameSchema.optional(),
    model: nameSchema.optional(),
    /** The system prompt; sections of `persistentContext` and texts of `injector` stand behind it. */
    system: z.string().optional(),
    /** Definitions of tools, as they go to the provider: counted, and handed back as they are. */
    tools: z.array(z.unknown().transform(taken)).readonly().optional(),
    /** What is about to be said. Counted, at the end of `messages`, and not stored. */
    prompt: promptSchema.optional(),
    /** Files, as text, for the prompt. What does not fit is summarized, cut or left out. */
    files: z
      .array(z.looseObject({ content: z.string(), path: z.string().optional() }))
      .readonly()
      .optional(),
    /** Asked for summaries of files that are too large. Default: nobody, they are cut. */
    summarizeFile: z
      .custom<SummarizeFile>((value) => typeof value === 'function', 'must be a function')
      .optional(),
    /** Output tokens asked for; sets the output reserve. */
    maxOutputTokens: z.int().nonnegative().optional(),
    contextWindowTarget: before.contextWindowTarget,
    auto: before.auto,
    threshold: before.threshold,
    warningLevels: before.warningLevels,
    injector: before.injector,
    turnNumber: before.turnNumber,
    persistentContext: before.persistentContext,
    compaction: before.compaction,
    /** Which errors `withOverflowRecovery` takes for overflows: `strict` and `patterns` of `isContextOverflowError`. */
    overflow: overflowRulesSchema.optional(),
    /** How long models and other runs are waited for, all together, milliseconds. Default 120,000. */
    waitMs: z.int().nonnegative().optional(),
    signal: z.instanceof(AbortSignal).optional(),
    ...rendering,
  })
  .refine(({ injector, turnNumber }) => injector === undefined || turnNumber !== undefined, {
    path: ['turnNumber'],
    message: 'is needed with an injector',
  })

/** What `prepareRequest` can be told. */
export type PrepareRequestOptions = z.input<typeof prepareSchema>
/** The same, checked. */
export type CheckedPrepare = z.output<typeof prepareSchema>
