import { z } from 'zod'
import { type CompactionConfig, compactionConfigSchema } from './compaction/config.ts'
import { type PendingRequest, requestSchema } from './core/budget.ts'
import { labelSchema, nameSchema } from './core/check.ts'
import { type JsonObject, jsonProblem } from './core/json.ts'
import { windowsProblem } from './core/windows.ts'
import { LIMIT_KINDS } from './storage/storage.ts'

/* What each verb of the store can be told: type, default and check in one place. A misspelled option is an error. */

/** No report is larger; sums of them stay exact. */
const MOST_TOKENS = 1_000_000_000

const jsonObject = z.custom<JsonObject>(
  (value) =>
    typeof value === 'object' && value !== null && !Array.isArray(value) && jsonProblem(value) === undefined,
  'must be a JSON object',
)

/** A session's config: any JSON object. A key the store reads must be what it reads it as. */
const configSchema = jsonObject.superRefine((config, context) => {
  if (!Object.hasOwn(config, 'contextWindows')) return
  const message = windowsProblem(config.contextWindows)
  if (message !== undefined) context.addIssue({ code: 'custom', path: ['contextWindows'], message })
})

const fieldsSchema = {
  owner: nameSchema.nullish(),
  title: labelSchema.nullish(),
  provider: nameSchema.nullish(),
  model: nameSchema.nullish(),
  config: configSchema.nullish(),
  metadata: jsonObject.nullish(),
}
export const createSchema = z.strictObject({ id: nameSchema.optional(), ...fieldsSchema })
export const updateSchema = z.strictObject(fieldsSchema)
export const listSchema = z.strictObject({
  owner: nameSchema.optional(),
  archived: z.boolean().default(false),
  limit: z.int().positive().max(10_000).default(50),
  after: nameSchema.optional(),
})
export const appendSchema = z.strictObject({ expectedPosition: z.int().nonnegative().optional() })
export const messagesSchema = z.strictObject({
  after: z.int().nonnegative().optional(),
  before: z.int().positive().optional(),
  limit: z.int().positive().optional(),
  order: z.enum(['forward', 'backward']).default('forward'),
})
export const historySchema = z.strictObject({ provenance: z.boolean().default(false) })
export const authorshipSchema = z.strictObject({
  actor: nameSchema.optional(),
  reason: labelSchema.optional(),
})
export const undoSchema = z.strictObject({ cascade: z.boolean().default(false), ...authorshipSchema.shape })
export const statsSchema = z.strictObject({
  threshold: z.number().min(0).max(1).optional(),
  ...requestSchema.shape,
})
const tokensSchema = z.int().nonnegative().max(MOST_TOKENS)
/** A provider's report of one request. */
export const usageSchema = z.strictObject({
  /** Whose report it is. Default: the session's own, else "openai". */
  provider: nameSchema.optional(),
  model: nameSchema.optional(),
  /** Input tokens as reported. */
  inputTokens: tokensSchema,
  /** Input read from a cache, where the provider reports it apart from `inputTokens` (Anthropic does, OpenAI does not). */
  cacheReadTokens: tokensSchema.nullish(),
  /** Input written to a cache, where the provider reports it apart. */
  cacheCreationTokens: tokensSchema.nullish(),
  /** The last position of the log that was in the request. Default: all but the assistant's messages at the end. */
  position: z.int().positive().optional(),
  /** The view the request was made from, as `getSession` named it then. Default: the view as it is. */
  viewEpoch: z.int().nonnegative().optional(),
  /** What was in the request besides the history, where it is known. */
  systemPrompt: requestSchema.shape.systemPrompt,
  currentPrompt: requestSchema.shape.currentPrompt,
  toolDefinitions: requestSchema.shape.toolDefinitions,
  fileAttachments: requestSchema.shape.fileAttachments,
})
/** What is known of a request that overflowed; its size is the error's. */
export const overflowSchema = usageSchema.omit({
  inputTokens: true,
  cacheReadTokens: true,
  cacheCreationTokens: true,
})
export const limitSchema = z.strictObject({
  provider: nameSchema,
  model: nameSchema.optional(),
  tokens: z.int().positive().max(MOST_TOKENS),
  /** Of question and answer together, or of the question alone. */
  kind: z.enum(LIMIT_KINDS).default('window'),
})
/** What a provider did by itself. */
export const providerCompactionSchema = z.strictObject({
  ...authorshipSchema.shape,
  /** The answer that came of it. Default: the newest message of the view that holds a compaction block. */
  messageId: nameSchema.optional(),
  /** Whose tokens the figures are in. Default: the session's own, else "openai". */
  provider: nameSchema.optional(),
  /** `context_management.applied_edits` of the answer, as it came. */
  appliedEdits: z
    .array(
      z
        .looseObject({ type: z.string().min(1).max(200) })
        .refine((edit) => jsonProblem(edit) === undefined, 'must be JSON'),
    )
    .max(1_000)
    .default([]),
  /** Tools the request told the provider to leave alone (`exclude_tools`). */
  excludeTools: z.array(z.string()).max(10_000).default([]),
})
export const auditSchema = z.strictObject({
  after: z.int().nonnegative().default(0),
  limit: z.int().positive().max(100_000).default(1_000),
})
export const compactionsSchema = z.strictObject({ runId: nameSchema.optional() })
export const verifySchema = z.strictObject({ repair: z.boolean().default(false) })
export const previewSchema = z.strictObject({
  ...compactionConfigSchema.shape,
  summarize: z.boolean().optional(),
})
const roleSchema = z.enum(['system', 'user', 'assistant'])
export const renderSchema = z.strictObject({
  provider: nameSchema.optional(),
  summaryRole: roleSchema.optional(),
  summaryHeader: z.string().optional(),
  markerRole: roleSchema.optional(),
  markerText: z.string().optional(),
  preset: z.enum(['neurolink', 'neuron', 'nca', 'promptfleet', 'tags']).optional(),
  pendingCalls: z.enum(['answer', 'keep']).optional(),
})
export const idsSchema = z.array(nameSchema).min(1, 'must name at least one message').max(1_000_000)

export type SessionInput = z.input<typeof createSchema>
export type SessionChange = z.input<typeof updateSchema>
export type ListSessionsOptions = z.input<typeof listSchema>
export type AppendOptions = z.input<typeof appendSchema>
export type GetMessagesOptions = z.input<typeof messagesSchema>
export type EffectiveHistoryOptions = z.input<typeof historySchema>
export type AuthorshipOptions = z.input<typeof authorshipSchema>
export type UsageInput = z.input<typeof usageSchema>
export type OverflowInput = z.input<typeof overflowSchema>
export type LimitInput = z.input<typeof limitSchema>
export type ProviderCompactionInput = z.input<typeof providerCompactionSchema>
export type UndoOptions = z.input<typeof undoSchema>
export type StatsOptions = PendingRequest & { readonly threshold?: number | undefined }
export type PreviewOptions = CompactionConfig & { readonly summarize?: boolean | undefined }
export type ListCompactionsOptions = z.input<typeof compactionsSchema>
export type AuditLogOptions = z.input<typeof auditSchema>
export type VerifyOptions = z.input<typeof verifySchema>
