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
import { type Json, jsonProblem } from '../../core/messages/json.ts'
import { type NewMessage, ROLES } from '../../core/messages/message.ts'
import type { Moment } from '../../core/model/moment.ts'
import { COMPACTION_KINDS } from '../../core/model/plan.ts'
import { overflowRulesSchema } from '../../core/overflow/read-overflow.ts'
import { SUMMARY_PRESETS } from '../../core/rendering/rows.ts'
import { type NeurolinkRequest, requestSchema } from '../../core/tokens/budget.ts'
import { LIMIT_KINDS } from '../../storage/storage.ts'
import { sessionConfig } from './read-settings.ts'
import { type callSchema, renderingShape, settingsSchema } from './settings.ts'
import type { SwitchSpellings } from './spellings.ts'

/* The options of each method of the store: type, default and check in one place. A misspelled option is an error. */

/** Maximum tokens of a report, so that sums stay exact. */
const MAX_TOKENS = 1_000_000_000

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
export const getSessionSchema = z.strictObject({
  ...forOwnerSchema.shape,
  /** Whether the messages, the rows of the view that are sent, and the silent messages are counted too. */
  counts: z.boolean().default(false),
})
/** Options of `sessions.get`. */
export type GetSessionOptions = z.input<typeof getSessionSchema>
/** Maximum length of a search: SQLite accepts no pattern of more than 50,000 bytes. */
const MAX_SEARCH_LENGTH = 10_000

export const listSchema = z.strictObject({
  owner: ownerOption,
  archived: z.boolean().default(false),
  limit: z.int().positive().max(10_000).default(50),
  /** The last session of the page before. With its id alone, the list continues after the place that it has now. */
  after: z
    .union(
      [nameSchema, z.object({ id: nameSchema, newestAt: z.int() })],
      'must be a session of listSessions, or its id',
    )
    .transform((given) => (typeof given === 'string' ? { id: given } : given))
    .optional(),
  /** Only sessions whose id or title contains this text, ignoring case. */
  search: z.string().min(1).max(MAX_SEARCH_LENGTH).optional(),
})
/** Milliseconds since 1970, or a `Date`. */
const timeSchema = z
  .union([z.int(), z.date()], 'must be milliseconds since 1970, or a Date')
  .transform(Number)
export const searchSchema = z.strictObject({
  /** Only this session. */
  session: nameSchema.optional(),
  /** Only sessions of this owner. */
  owner: ownerOption,
  roles: z.array(z.enum(ROLES)).min(1).optional(),
  /** Only messages that call one of these tools or hold a result of it. */
  tools: z.array(nameSchema).min(1).max(100).optional(),
  /** Only messages from this time on, and up to this time: milliseconds since 1970, or a `Date`. */
  from: timeSchema.optional(),
  to: timeSchema.optional(),
  /** Only messages that a compaction hides (`true`), or only those of the view (`false`). Default: both. */
  hidden: z.boolean().optional(),
  /** The most hits of a page. */
  limit: z.int().positive().max(100).default(10),
  /** The `cursor` of the page before. */
  cursor: z.string().max(200).optional(),
})
export const searchedTextSchema = z.string()
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
const causeSchema = z.strictObject({ by: codeSchema, why: codeSchema })
export const hideSchema = z.strictObject({ params: causeSchema.optional(), ...authorshipSchema.shape })
export const bringBackSchema = z.strictObject({
  /** The conclusion; default: the summarizer of the fork's settings writes it. */
  text: z.string().min(1).optional(),
  ...authorshipSchema.shape,
})
export const forkSchema = z.strictObject({
  /** The moment that it is the session at; default now. */
  at: z.lazy(() => momentSchema).optional(),
  /** The id of the fork; default a uuid. */
  id: nameSchema.optional(),
  /** Its title; default that of the original. */
  title: labelSchema.optional(),
  /** Who made it, for the audit of both sessions. */
  actor: nameSchema.optional(),
})
export const purgeSchema = z.strictObject({
  /**
   * Whether the files are cleared before the purge returns. With `false`, for purging many sessions, the next purge without it,
   * `sessions.verify` or closing the store clears them.
   */
  clearFiles: z.boolean().default(true),
  /** What happens to forks: they stay, with all that they need, or they are purged too, with their own forks. */
  forks: z.enum(['keep', 'purge']).optional(),
  ...authorshipSchema.shape,
})
/** The point of a rewind: before the first message, after the last one, or before a certain one. */
export const rewindPointSchema = z.union(
  [z.enum(['start', 'end']), z.strictObject({ messageId: nameSchema })],
  "must be 'start', 'end' or { messageId }",
)
/** `from` and `append` may be functions, so what they return is checked separately. */
export const rewindSchema = z.strictObject({
  from: z.unknown(),
  append: z.unknown().optional(),
  keepCompactions: z.boolean().default(false),
  expectedPosition: z.int().nonnegative().optional(),
  operationId: newNameSchema.optional(),
  operationBody: z
    .custom<Json>((value) => jsonProblem(value) === undefined, 'must be a JSON value')
    .optional(),
  params: causeSchema.optional(),
  ...authorshipSchema.shape,
})
/** A message by its id or its position. */
const messageSchema = z.union([nameSchema, z.int().positive()])
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
const atShape = { at: momentSchema.optional() }
export const messagesSchema = z.strictObject({
  after: z.int().nonnegative().optional(),
  before: z.int().positive().optional(),
  limit: z.int().positive().optional(),
  order: z.enum(['forward', 'backward']).default('forward'),
  /** Whether rows include the texts that replace their parts (`shown`). */
  shown: z.boolean().default(false),
  /** Whether to return only the rows of the view; `limit` counts hidden messages too. */
  visible: z.boolean().default(false),
  ...atShape,
})
/** Providers choose the ids of calls, so any text is valid. */
export const callIdSchema = z.string()
export const toolOutputSchema = z.strictObject({ position: z.int().positive().optional() })
export const toolCallsSchema = z.strictObject({
  after: z.int().nonnegative().default(0),
  limit: z.int().positive().max(100_000).default(1_000),
})
const expandTreeSchema = z.strictObject({
  /** The levels of summaries that are opened. */
  depth: z.int().positive().default(1),
  flat: z.literal(false).optional(),
})
const expandFlatSchema = z.strictObject({
  /** Whether to return the messages of the log through all levels instead. */
  flat: z.literal(true),
  after: z.int().nonnegative().default(0),
  limit: z.int().positive().optional(),
})
export const expandSchema = z.union([expandFlatSchema, expandTreeSchema])
export const historySchema = z.strictObject({ provenance: z.boolean().default(false), ...atShape })
export const redoSchema = z.strictObject({ cascade: z.boolean().default(false), ...authorshipSchema.shape })
export const undoSchema = z.strictObject({
  ...redoSchema.shape,
  /** Whether to undo a rewind although messages were appended after it: the former ones are shown before them. */
  both: z.boolean().default(false),
})
export const statsSchema = z.strictObject({
  ...settingsSchema.pick({ threshold: true, thresholdTokens: true, contextWindowTarget: true }).shape,
  /** The moment of the figures. Default: now. */
  ...atShape,
  ...requestSchema.shape,
})
/** Kinds that `undoCompaction` does not undo: those made by users or for providers, and shortened outputs, which save room by design. */
const KEPT_KINDS: ReadonlySet<string> = new Set(['manual', 'provider', 'preview', 'repair'])
export const undoIfFitsSchema = z.strictObject({
  ...modelShape,
  /** The share of the available input that the request may take afterwards, and the usage that it stays below. Default 0.4 and 0.8. */
  ...settingsSchema.pick({ target: true, threshold: true }).shape,
  /** Kinds to undo. Default: all but manual compactions, those of a provider, repairs, and shortened outputs. */
  kinds: z
    .array(z.enum(COMPACTION_KINDS))
    .default(() => COMPACTION_KINDS.filter((kind) => !KEPT_KINDS.has(kind))),
  ...requestSchema.shape,
  ...authorshipSchema.shape,
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
export const limitSchema = z.strictObject({
  provider: nameSchema,
  model: nameSchema.optional(),
  tokens: z.int().positive().max(MAX_TOKENS),
  /** Whether the limit is of input and output together, or of the input alone. */
  kind: z.enum(LIMIT_KINDS).default('window'),
})
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
export const auditSchema = z.strictObject({
  after: z.int().nonnegative().default(0),
  limit: z.int().positive().max(100_000).default(1_000),
})
export const compactionsSchema = z.strictObject({ runId: nameSchema.optional() })
export const verifySchema = z.strictObject({ repair: z.boolean().default(false) })
export const renderSchema = z.strictObject({
  provider: nameSchema.optional(),
  ...renderingShape,
  preset: z.enum(SUMMARY_PRESETS).optional(),
  pendingCalls: z.enum(['answer', 'keep']).optional(),
  toolUse: z.enum(['parts', 'text']).optional(),
  alsoReads: z.array(nameSchema).max(100).readonly().optional(),
  ...atShape,
})
export const requestsSchema = z.strictObject({
  /** The id of the last request of the page before. */
  after: nameSchema.optional(),
  /** Requests of a page. Default 100. */
  limit: z.int().positive().max(10_000).default(100),
})
export const requestKeySchema = z.union([
  nameSchema.transform((id) => ({ id })),
  z.strictObject({ answer: z.union([nameSchema, z.int().positive()]) }),
])
/** The first and the last position of an answer. */
export const answerPositionsSchema = z
  .tuple([z.int().positive(), z.int().positive()])
  .refine(([first, last]) => first <= last, 'must be the first and the last position')
export const listJobsSchema = z.strictObject({ limit: z.int().positive().max(1_000).default(100) })
/** Milliseconds to wait. Default: no limit. */
export const idleSchema = z.strictObject({
  timeoutMs: z.int().nonnegative().optional(),
  signal: z.instanceof(AbortSignal).optional(),
})
/** Milliseconds to wait for background runs. Default 0. */
export const closeSchema = z.strictObject({ timeoutMs: z.int().nonnegative().default(0) })
export const idsSchema = z.array(nameSchema).min(1, 'must name at least one message').max(1_000_000)

/** The fields of a new session. All are optional. */
export type SessionInput = z.input<typeof createSchema>
/** The changed fields of a session. Absent fields stay as they are; `null` removes a value. */
export type SessionChange = z.input<typeof updateSchema>
/** Options of `sessions.list`. */
export type ListSessionsOptions = z.input<typeof listSchema>
/** Options of `search`. */
export type SearchOptions = z.input<typeof searchSchema>
export type CheckedSearch = z.output<typeof searchSchema>
/** Options of `append`. */
export type AppendOptions = z.input<typeof appendSchema>
/** Options of `getMessages`. Without options, all messages are returned in order. */
export type GetMessagesOptions = z.input<typeof messagesSchema>
/** Options of `messages.toolOutput`. */
export type ToolOutputOptions = z.input<typeof toolOutputSchema>
/** Options of `messages.toolCalls`. */
export type ListToolCallsOptions = z.input<typeof toolCallsSchema>
/** Options of `messages.expand`. */
export type ExpandOptions = z.input<typeof expandTreeSchema>
/** Options of `messages.expand` for a list of messages. */
export type ExpandFlatOptions = z.input<typeof expandFlatSchema>
/** Options of `getEffectiveHistory`. */
export type EffectiveHistoryOptions = z.input<typeof historySchema>
/** Who made a change and why, for the audit. */
export type AuthorshipOptions = z.input<typeof authorshipSchema>
/** Which program hides messages, and why, as codes: `params` of its compaction has them. */
export type Cause = z.output<typeof causeSchema>
/** Options of `compactions.hide`. */
export type HideOptions = z.input<typeof hideSchema>
/** Options of `sessions.bringBack`. */
export type BringBackOptions = z.output<typeof bringBackSchema>
/** Options of `sessions.fork`. */
export type ForkOptions = z.input<typeof forkSchema>
/** Options of `sessions.purge`. */
export type PurgeOptions = z.input<typeof purgeSchema>
/** A provider's report of the tokens of a request. */
export type UsageInput = z.input<typeof usageSchema> & NeurolinkRequest
export type CheckedUsage = z.output<typeof usageSchema>
/** A request that a provider refused as too long, and its figures. */
export type OverflowInput = z.input<typeof overflowSchema> & NeurolinkRequest
export type CheckedOverflow = z.output<typeof overflowSchema>
/** The limit of a model: its context window or its input, tokens. */
export type LimitInput = z.input<typeof limitSchema>
/** A compaction that a provider made of the history that it received. */
export type ProviderCompactionInput = z.input<typeof providerCompactionSchema>
/** Options of `undo`. */
export type UndoOptions = z.input<typeof undoSchema>
/** Options of `redo`. */
export type RedoOptions = z.input<typeof redoSchema>
/** Options of `undoCompaction`. */
export type UndoIfFitsOptions = z.input<typeof undoIfFitsSchema> & NeurolinkRequest
export type CheckedUndoIfFits = z.output<typeof undoIfFitsSchema>
/** Options of `getContextStats` and `needsCompaction`. */
export type StatsOptions = Readonly<z.input<typeof statsSchema>> & NeurolinkRequest
export type CheckedStats = Readonly<z.output<typeof statsSchema>>
/** The options of `compactSession`: those of a compaction, NeuroLink's spellings of them, and settings of presets. */
export type CompactOptions = z.input<typeof callSchema> & SwitchSpellings & NeurolinkRequest
/** Options of `previewCompaction`: those of `compactSession`, and whether a preview may call a model for its summaries. */
export type PreviewOptions = CompactOptions & { readonly summarize?: boolean | undefined }
/** Options of `requests.list`. */
export type ListRequestsOptions = z.input<typeof requestsSchema>
export const cancelSchema = z
  .strictObject({
    /** The id of a job. */
    job: nameSchema.optional(),
    /** The session whose open job is meant. */
    session: nameSchema.optional(),
  })
  .refine(
    ({ job, session }) => (job === undefined) !== (session === undefined),
    'must name either a job or a session',
  )
/** The job that `jobs.cancel` cancels: by its id, or the open one of a session. */
export type CancelOptions = z.input<typeof cancelSchema>
/** Options of `jobs.list`. */
export type ListJobsOptions = z.input<typeof listJobsSchema>
/** Options of `jobs.whenIdle`. */
export type IdleOptions = z.input<typeof idleSchema>
/** Options of `close`. */
export type CloseOptions = z.input<typeof closeSchema>
/** Options of `listCompactions`. */
export type ListCompactionsOptions = z.input<typeof compactionsSchema>
/** Options of `sessions.audit`. */
export type AuditLogOptions = z.input<typeof auditSchema>
/** Options of `sessions.verify`. */
export type VerifyOptions = z.input<typeof verifySchema>
