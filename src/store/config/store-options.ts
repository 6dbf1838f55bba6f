import { z } from 'zod'
import { isUndertextError } from '../../core/errors.ts'
import {
  jsonObjectSchema,
  labelSchema,
  modelShape,
  nameSchema,
  newNameSchema,
  newOwnerOption,
  ownerOption,
} from '../../core/messages/check.ts'
import { jsonProblem } from '../../core/messages/json.ts'
import type { NewMessage } from '../../core/messages/message.ts'
import type { Moment } from '../../core/model/moment.ts'
import { overflowRulesSchema } from '../../core/overflow/read-overflow.ts'
import { SUMMARY_PRESETS } from '../../core/rendering/summary-heading.ts'
import { type NeurolinkRequest, requestSchema } from '../../core/tokens/budget.ts'
import { sessionConfig } from './read-settings.ts'
import { type callSchema, renderingShape, settingsSchema } from './settings.ts'
import type { SwitchSpellings } from './spellings.ts'

/* The options of each method of the store, with type, default and check in one place. Misspelled options are errors. */

/** Maximum tokens of a report, so that sums stay exact. */
export const MAX_TOKENS = 1_000_000_000

/**
 * A session's config: any JSON object. The settings in it must be valid (docs/configuration.md); they are stored under their canonical
 * names.
 */
const configSchema = jsonObjectSchema.transform((config, context) => {
  try {
    return sessionConfig(config, 'settings')
  } catch (error) {
    if (!isUndertextError(error, 'INVALID_INPUT')) throw error
    context.addIssue({ code: 'custom', message: error.facts.problems })
    return z.NEVER
  }
})

const fieldsSchema = {
  owner: newOwnerOption.unwrap().nullable().exactOptional(),
  title: labelSchema.nullish(),
  provider: nameSchema.nullish(),
  model: nameSchema.nullish(),
  config: configSchema.nullish(),
  metadata: jsonObjectSchema.nullish(),
}
export const createSchema = z.strictObject({ id: newNameSchema.optional(), ...fieldsSchema })
export const updateSchema = z.strictObject(fieldsSchema)
/** The owner on whose behalf a session is read or changed. */
export const forOwnerSchema = z.strictObject({
  /** Only a session of this owner; any other is treated as unknown. */
  owner: ownerOption,
})
/** Options of `sessions.update`. */
export type ForOwnerOptions = z.input<typeof forOwnerSchema>

/** Milliseconds since 1970, or a `Date`. */
export const timeSchema = z
  .union([z.int(), z.date()], 'must be milliseconds since 1970, or a Date')
  .transform(Number)
export const appendSchema = z.strictObject({
  expectedPosition: z.int().nonnegative().optional(),
  /** Whether the view shows large tool outputs shortened. Default: the setting. */
  previewToolOutputs: z.boolean().optional(),
})
export const authorshipSchema = z.strictObject({
  actor: nameSchema.optional(),
  reason: labelSchema.optional(),
})
const codeSchema = z.string().regex(/^[\w.:-]{1,64}$/, 'must be 1 to 64 letters, digits, _, ., : and -')
/** Codes, so that a program recognizes its own compactions without parsing a sentence. */
export const causeSchema = z.strictObject({ by: codeSchema, why: codeSchema })
export const hideSchema = z.strictObject({ params: causeSchema.optional(), ...authorshipSchema.shape })
/** A message by its id or its position. */
export const messageSchema = z.union([nameSchema, z.int().positive()])
/** A moment of a session: exactly one of these fields. */
export const momentSchema: z.ZodType<Moment, Moment> = z.union(
  [
    z.strictObject({ afterMessage: messageSchema }),
    z.strictObject({ beforeMessage: messageSchema }),
    z.strictObject({ audit: z.int().positive() }),
    z.strictObject({ time: timeSchema }),
    z.strictObject({ beforeCompaction: nameSchema }),
    z.strictObject({ afterCompaction: nameSchema }),
    z.strictObject({ request: nameSchema }),
  ],
  'must be one of { afterMessage }, { beforeMessage }, { audit }, { time }, { beforeCompaction }, { afterCompaction } and { request }',
)
/** The moment to read; absent for the present. */
export const atShape = { at: momentSchema.optional() }
export const statsSchema = z.strictObject({
  ...settingsSchema.pick({ threshold: true, thresholdTokens: true, contextWindowTarget: true }).shape,
  /** The moment of the figures. Default: now. */
  ...atShape,
  ...requestSchema.shape,
})
const tokensSchema = z.int().nonnegative().max(MAX_TOKENS)
/** A provider's report of one request. */
export const usageSchema = z.strictObject({
  ...modelShape,
  /** Input tokens as reported. */
  inputTokens: tokensSchema,
  /** Input tokens read from a cache, if the provider reports them separately from `inputTokens` (Anthropic does, OpenAI doesn't). */
  cacheReadTokens: tokensSchema.nullish(),
  /** Input tokens written to a cache, if the provider reports them separately. */
  cacheCreationTokens: tokensSchema.nullish(),
  /** Output tokens as reported; they are only summed. */
  outputTokens: tokensSchema.nullish(),
  /** The last position of the log in the request, 0 for none. Default: the last one before the assistant messages at the end. */
  position: z.int().nonnegative().optional(),
  /** The `viewEpoch` of the session when the request was made. Default: the current one. */
  viewEpoch: z.int().nonnegative().optional(),
  /** The parts of the request besides the history, as far as they are known. */
  ...requestSchema.omit({ maxOutputTokens: true, pendingMedia: true }).shape,
})
/** The known figures of a request that overflowed; its size is read from the error. */
export const overflowSchema = usageSchema
  .omit({ inputTokens: true, cacheReadTokens: true, cacheCreationTokens: true, outputTokens: true })
  /** Which errors are overflows: `strict` and `patterns` of `readOverflow`. */
  .safeExtend({ overflow: overflowRulesSchema.optional() })
/** A compaction made by a provider. */
export const providerCompactionSchema = z
  .strictObject({
    ...authorshipSchema.shape,
    /** The answer that follows the compaction. Default: the newest message of the view with a compaction block. */
    messageId: nameSchema.optional(),
    /**
     * An answer that consists only of a compaction block, because the provider was asked for a summary (Anthropic's compaction on demand),
     * as returned by `fromAnthropic`. It isn't appended: its block replaces the messages that it summarizes.
     */
    answer: z.custom<NewMessage>().optional(),
    /** With `answer`: the first message that was left out of its request. Default: the block summarizes the whole view. */
    keepFrom: nameSchema.optional(),
    /** Provider that counted the tokens in the figures. Default: that of the session, else "openai". */
    provider: nameSchema.optional(),
    /** `context_management.applied_edits` of the answer, unchanged. */
    appliedEdits: z
      .array(
        z
          .looseObject({ type: z.string().min(1).max(200) })
          .refine((edit) => jsonProblem(edit) === undefined, 'must be JSON'),
      )
      .max(1_000)
      .default([]),
    /** Tools that the request excluded from clearing (`exclude_tools`). */
    excludeTools: z.array(z.string()).max(10_000).default([]),
  })
  .refine(({ answer, keepFrom }) => answer !== undefined || keepFrom === undefined, {
    path: ['keepFrom'],
    message: 'requires answer',
  })
  .refine(
    ({ answer, messageId, appliedEdits }) =>
      answer === undefined || (messageId === undefined && appliedEdits.length === 0),
    {
      path: ['answer'],
      message: 'cannot be combined with messageId or appliedEdits',
    },
  )
export const renderSchema = z.strictObject({
  provider: nameSchema.optional(),
  ...renderingShape,
  preset: z.enum(SUMMARY_PRESETS).optional(),
  pendingCalls: z.enum(['answer', 'keep']).optional(),
  toolUse: z.enum(['parts', 'text']).optional(),
  alsoReads: z.array(nameSchema).max(100).readonly().optional(),
  ...atShape,
})
/** Milliseconds to wait. Default: unlimited. */
export const idleSchema = z.strictObject({
  timeoutMs: z.int().nonnegative().optional(),
  signal: z.instanceof(AbortSignal).optional(),
})
export const idsSchema = z.array(nameSchema).min(1, 'must name at least one message').max(1_000_000)

/** The fields of a new session. All are optional. */
export type SessionInput = z.input<typeof createSchema>
/** The changed fields of a session. Absent fields keep their values; `null` clears a field. */
export type SessionChange = z.input<typeof updateSchema>
/** Options of `append`. */
export type AppendOptions = z.input<typeof appendSchema>
/** Who made a change and why, for the audit. */
export type AuthorshipOptions = z.input<typeof authorshipSchema>
/** Which program hides messages, and why, as codes that are stored in the compaction's `params`. */
export type Cause = z.output<typeof causeSchema>
/** Options of `compactions.hide`. */
export type HideOptions = z.input<typeof hideSchema>
/** A provider's report of the tokens of a request. */
export type UsageInput = z.input<typeof usageSchema> & NeurolinkRequest
export type CheckedUsage = z.output<typeof usageSchema>
/** The figures of a request that a provider rejected as too long. */
export type OverflowInput = z.input<typeof overflowSchema> & NeurolinkRequest
export type CheckedOverflow = z.output<typeof overflowSchema>
/** A compaction that a provider made of the history it received. */
export type ProviderCompactionInput = z.input<typeof providerCompactionSchema>
/** Options of `getContextStats` and `needsCompaction`. */
export type StatsOptions = Readonly<z.input<typeof statsSchema>> & NeurolinkRequest
export type CheckedStats = Readonly<z.output<typeof statsSchema>>
/** Options of `compactSession`: those of a compaction, NeuroLink's spellings of them, and the settings of presets. */
export type CompactOptions = z.input<typeof callSchema> & SwitchSpellings & NeurolinkRequest
/** Options of `previewCompaction`: those of `compactSession`, and whether the preview may call a model for its summaries. */
export type PreviewOptions = CompactOptions & { readonly summarize?: boolean | undefined }
/** Options of `jobs.whenIdle`. */
export type IdleOptions = z.input<typeof idleSchema>
