import { z } from 'zod'
import { isUndertextError } from '../../core/errors.ts'
import { labelSchema, modelShape, taken } from '../../core/messages/check.ts'
import { defined } from '../../core/messages/json.ts'
import type { NewMessage } from '../../core/messages/message.ts'
import { overflowRulesSchema } from '../../core/overflow/read-overflow.ts'
import { type NeurolinkRequest, requestSchema } from '../../core/tokens/budget.ts'
import type { MediaFigures } from '../../core/tokens/media-limits.ts'
import { frozenCopy, readCall } from '../config/read-settings.ts'
import { settingsSchema } from '../config/settings.ts'
import { type CheckedStats, type CompactOptions, renderSchema } from '../config/store-options.ts'
import { notesSchema } from '../notes.ts'
import type { SummarizeFile } from './file-summarization-service.ts'
import type { PreparedRequest } from './prepared.ts'

/* The options of the methods around a request. */

/** The next message: a text from the user, or messages as for `append`. */
export type Prompt = string | NewMessage | readonly NewMessage[]

/** The messages are checked by the caller, as in `append`. */
const promptSchema = z
  .custom<Prompt>((value) => value !== null, 'must be a string, a message or an array of messages')
  .transform((prompt) => taken(prompt))

/** Checked as in `compactSession`, so that a mistake is reported at the first turn and not at the first run. */
const compactionSchema = z.custom<CompactOptions>().superRefine((value, context) => {
  try {
    readCall(value, 'compaction')
  } catch (error) {
    if (!isUndertextError(error, 'INVALID_INPUT')) throw error
    context.addIssue({ code: 'custom', message: error.facts.problems })
  }
})

/** The options that all these methods have. */
const commonShape = {
  ...modelShape,
  /** Take precedence over the settings of the session and the store. */
  ...settingsSchema.pick({ contextWindowTarget: true, auto: true, threshold: true }).shape,
  /** Further settings of that compaction, as for `compactSession`. */
  compaction: compactionSchema.transform((options): CompactOptions => frozenCopy(options)).optional(),
}

/** A `SystemInjector`, or any other object that returns texts for a turn number and a token count. */
type Injector = { check(turnNumber: number, tokenCount: number): readonly string[] }
/** A `PersistentContext`, or any other object that renders a text. */
type Context = { render(): string }

/** The options of the methods that run before a request. */
const beforeShape = {
  ...commonShape,
  /** Usage levels to warn at, as shares; an empty list turns warnings off. Default: the setting, [0.6, 0.8] unless changed. */
  warningLevels: z.array(z.number().gt(0).max(1)).max(20).readonly().optional(),
  /** Adds its texts to the end of the system prompt of this request only. */
  injector: z
    .custom<Injector>(
      (value) => typeof (value as Partial<Injector> | null)?.check === 'function',
      'must be a SystemInjector',
    )
    .optional(),
  /** The turn that is about to begin, for the injector: 1, 2, 3 … */
  turnNumber: z.int().nonnegative().optional(),
  /** Adds its sections to the system prompt, after the caller's own text. */
  persistentContext: z
    .custom<Context>(
      (value) => typeof (value as Partial<Context> | null)?.render === 'function',
      'must be a PersistentContext',
    )
    .optional(),
}

function hasTurnNumber(options: { readonly injector?: unknown; readonly turnNumber?: unknown }): boolean {
  return options.injector === undefined || options.turnNumber !== undefined
}
const needsTurnNumber = { path: ['turnNumber'], message: 'is required with an injector' }

/** Options of `beforeTurn`. */
export const beforeTurnSchema = z
  .strictObject({ ...requestSchema.shape, ...beforeShape })
  .refine(hasTurnNumber, needsTurnNumber)

/** Options of `afterTurn`. */
export const afterTurnSchema = z.strictObject({
  ...requestSchema.shape,
  ...commonShape,
  /** The model's answer, to be appended first. Omit it if it was already appended. */
  messages: z.custom<readonly NewMessage[]>((value) => Array.isArray(value), 'must be an array').optional(),
  /** Why the answer ended, as the provider reported it. */
  stopReason: labelSchema.optional(),
})

const { provider: _provider, at: _at, ...rendering } = renderSchema.shape

/** Options of `prepareRequest` and `withOverflowRecovery`. */
export const prepareSchema = z
  .strictObject({
    ...beforeShape,
    /** The system prompt; sections of `persistentContext` and texts of `injector` come after it. */
    system: z.string().optional(),
    /** Tool definitions in the provider's form, or the tools of the AI SDK. They are counted, and returned as definitions. */
    tools: requestSchema.shape.tools.readonly(),
    /** The next message. It is counted, placed at the end of `messages`, and not stored. */
    prompt: promptSchema.optional(),
    /** Files for the prompt, as text. Files that don't fit are summarized, cut or left out. */
    files: z
      .array(z.looseObject({ content: z.string(), path: z.string().optional() }))
      .readonly()
      .optional(),
    /** Adds notes of the session and its owner to the system prompt (with bound reasoning, to the end of the request). Default: none. */
    notes: notesSchema.optional(),
    /** Summarizes files that are too large. Default: such files are cut. */
    summarizeFile: z
      .custom<SummarizeFile>((value) => typeof value === 'function', 'must be a function')
      .optional(),
    /** Output tokens requested; sets the output reserve. */
    maxOutputTokens: z.int().nonnegative().optional(),
    /**
     * For development: returns the body that you send for a request. `validateRequest` checks that body; if the provider would reject it,
     * `REQUEST_INVALID` is thrown. Default: no check.
     */
    validate: z
      .custom<(request: PreparedRequest) => object>(
        (value) => typeof value === 'function',
        'must be a function that returns the body of the request',
      )
      .optional(),
    /** Which errors `withOverflowRecovery` treats as overflows: `strict` and `patterns` of `readOverflow`. */
    overflow: overflowRulesSchema.optional(),
    /**
     * Maximum milliseconds that all waits for models and other runs may take together. Default 30,000, of which other runs may take
     * 10,000.
     */
    waitMs: z.int().nonnegative().optional(),
    signal: z.instanceof(AbortSignal).optional(),
    ...rendering,
  })
  .refine(hasTurnNumber, needsTurnNumber)

/** Options of `beforeTurn`. */
export type BeforeTurnOptions = z.input<typeof beforeTurnSchema> & NeurolinkRequest
/** Options of `afterTurn`. */
export type AfterTurnOptions = z.input<typeof afterTurnSchema> & NeurolinkRequest
export type CheckedBefore = z.output<typeof beforeTurnSchema>
export type CheckedAfter = z.output<typeof afterTurnSchema>
/** Options of `prepareRequest` and `withOverflowRecovery`. */
export type PrepareRequestOptions = z.input<typeof prepareSchema>
export type CheckedPrepare = z.output<typeof prepareSchema>

/** Returns the parts of a request besides its history. */
export function requestParts({
  system,
  tools,
  maxOutputTokens,
  ...others
}: Pick<CheckedPrepare, 'system' | 'tools' | 'maxOutputTokens' | 'contextWindowTarget' | 'threshold'> & {
  readonly pendingTokens?: number
  readonly pendingMedia?: MediaFigures
}) {
  const { contextWindowTarget, threshold, pendingTokens, pendingMedia } = others
  return defined({
    system,
    // A request prepared here is complete: the tools of the last one aren't added.
    tools: tools === undefined ? [] : [...tools],
    maxOutputTokens,
    contextWindowTarget,
    threshold,
    pendingTokens,
    pendingMedia,
  })
}

/** Returns a request and its place in the session, for the methods that record its usage or its overflow. */
export function describedBy({
  position,
  viewEpoch,
  pendingTokens,
  system,
  tools,
}: Pick<PreparedRequest, 'position' | 'viewEpoch' | 'pendingTokens'> & {
  readonly system?: string | undefined
  readonly tools?: readonly unknown[] | undefined
}) {
  return { position, viewEpoch, pendingTokens, ...requestParts({ system, tools }) }
}

/** Returns the options of an automatic run that makes room for a request; `pending` is the request without the history. */
export function runOptions(
  {
    compaction,
    provider,
    model,
    threshold,
  }: Pick<CheckedBefore, 'compaction' | 'provider' | 'model' | 'threshold'>,
  pending: CheckedStats,
): CompactOptions {
  return { trigger: 'auto', ...compaction, ...defined({ provider, model, threshold }), ...pending }
}
