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

/* The options of each method of the store: type, default and check in one place. A misspelled option is an error. */

/** Maximum tokens of a report, so that sums stay exact. */
export const MAX_TOKENS = 1_000_000_000

/** A session's config: any JSON object. The settings in it must be valid (docs/configuration.md); they are stored under their own names. */
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
/** For whom a session is read or changed. */
export const forOwnerSchema = z.strictObject({
  /** A session of another owner is treated as an unknown one; a session without an owner is not. */
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
  /** Whether large tool outputs are shown shortened. Default: the setting. */
  previewToolOutputs: z.boolean().optional(),
})
export const authorshipSchema = z.strictObject({
  actor: nameSchema.optional(),
  reason: labelSchema.optional(),
})
const codeSchema = z.string().regex(/^[\w.:-]{1,64}$/, 'must be 1 to 64 letters, digits, _, ., : and -')
/** Codes, so that a program finds its own compactions again without reading a sentence. */
export const causeSchema = z.strictObject({ by: codeSchema, why: codeSchema })
export const hideSchema = z.strictObject({ params: causeSchema.optional(), ...authorshipSchema.shape })
/** A message by its id or its position. */
export const messageSchema = z.union([nameSchema, z.int().positive()])
/** A moment of a session: exactly one of these. */
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
/** The past instead of the present. */
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
  /** Input read from a cache, where the provider reports it separately from `inputTokens` (Anthropic does, OpenAI does not). */
  cacheReadTokens: tokensSchema.nullish(),
  /** Input written to a cache, where the provider reports it separately. */
  cacheCreationTokens: tokensSchema.nullish(),
  /** Output tokens as reported; they are only added up. */
  outputTokens: tokensSchema.nullish(),
  /** The last position of the log in the request, 0 for none. Default: the last one before the assistant's messages at the end. */
  position: z.int().nonnegative().optional(),
  /** The `viewEpoch` of the session when the request was made. Default: the current one. */
  viewEpoch: z.int().nonnegative().optional(),
  /** What the request contained beside the history, where it is known. */
  ...requestSchema.omit({ maxOutputTokens: true, pendingMedia: true }).shape,
})
/** What is known of a request that overflowed; the error has its size. */
export const overflowSchema = usageSchema
  .omit({ inputTokens: true, cacheReadTokens: true, cacheCreationTokens: true, outputTokens: true })
  /** Which errors are overflows: `strict` and `patterns` of `readOverflow`. */
  .safeExtend({ overflow: overflowRulesSchema.optional() })
/** A compaction by a provider. */
export const providerCompactionSchema = z
  .strictObject({
    ...authorshipSchema.shape,
    /** The answer after it. Default: the newest message of the view with a compaction block. */
    messageId: nameSchema.optional(),
    /**
     * An answer that is nothing but a compaction block, because the provider was asked for a summary (Anthropic's compaction on demand), as
     * `fromAnthropic` returns it. It is not appended: its block replaces what it summarizes.
     */
    answer: z.custom<NewMessage>().optional(),
    /** With `answer`: the first message that was left out of its request. Default: it summarizes all of the view. */
    keepFrom: nameSchema.optional(),
    /** Provider whose tokens the figures are in. Default: that of the session, else "openai". */
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
    message: 'belongs to an answer',
  })
  .refine(
    ({ answer, messageId, appliedEdits }) =>
      answer === undefined || (messageId === undefined && appliedEdits.length === 0),
    {
      path: ['answer'],
      message: 'is recorded alone, without messageId and appliedEdits',
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
/** Milliseconds to wait. Default: no limit. */
export const idleSchema = z.strictObject({
  timeoutMs: z.int().nonnegative().optional(),
  signal: z.instanceof(AbortSignal).optional(),
})
export const idsSchema = z.array(nameSchema).min(1, 'must name at least one message').max(1_000_000)

/** The fields of a new session. All are optional. */
export type SessionInput = z.input<typeof createSchema>
/** The changed fields of a session. Absent fields stay as they are; `null` removes a value. */
export type SessionChange = z.input<typeof updateSchema>
/** Options of `append`. */
export type AppendOptions = z.input<typeof appendSchema>
/** Who made a change and why, for the audit. */
export type AuthorshipOptions = z.input<typeof authorshipSchema>
/** Which program hides messages, and why, as codes: `params` of its compaction has them. */
export type Cause = z.output<typeof causeSchema>
/** Options of `compactions.hide`. */
export type HideOptions = z.input<typeof hideSchema>
/** A provider's report of the tokens of a request. */
export type UsageInput = z.input<typeof usageSchema> & NeurolinkRequest
export type CheckedUsage = z.output<typeof usageSchema>
/** A request that a provider refused as too long, and its figures. */
export type OverflowInput = z.input<typeof overflowSchema> & NeurolinkRequest
export type CheckedOverflow = z.output<typeof overflowSchema>
/** A compaction that a provider made of the history that it received. */
export type ProviderCompactionInput = z.input<typeof providerCompactionSchema>
/** Options of `getContextStats` and `needsCompaction`. */
export type StatsOptions = Readonly<z.input<typeof statsSchema>> & NeurolinkRequest
export type CheckedStats = Readonly<z.output<typeof statsSchema>>
/** The options of `compactSession`: those of a compaction, NeuroLink's spellings of them, and settings of presets. */
export type CompactOptions = z.input<typeof callSchema> & SwitchSpellings & NeurolinkRequest
/** Options of `previewCompaction`: those of `compactSession`, and whether a preview may call a model for its summaries. */
export type PreviewOptions = CompactOptions & { readonly summarize?: boolean | undefined }
/** Options of `jobs.whenIdle`. */
export type IdleOptions = z.input<typeof idleSchema>
