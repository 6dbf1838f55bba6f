import { z } from 'zod'
import { isStorableText, jsonObjectSchema, labelSchema, nameSchema, problemOf } from '../../messages/check.ts'
import { ROLES } from '../../messages/message.ts'
import { COMPACTION_STATUSES } from '../../model/nesting.ts'
import { COMPACTION_KINDS } from '../../model/plan.ts'
import { HISTORY_FORMAT, HISTORY_VERSION, type HistoryRecord } from './records.ts'

/*
 * What each record must look like by itself. Only looked at, never copied from: zod's copies would drop a `__proto__` key of what
 * somebody said.
 */

/** No count or sum is larger, so that adding to it stays exact. */
const MAX_COUNT = 1_000_000_000_000_000
const count = z.int().nonnegative().max(MAX_COUNT)
const ordinal = z.int().positive()
const time = z.int()
const flag = z.literal(true).optional()
/** Longest text of a column that no message is in, in UTF-16 units: an error, a model's name. */
const MAX_NOTE_LENGTH = 10_000
const note = z.string().max(MAX_NOTE_LENGTH).refine(isStorableText, 'must not contain NUL or lone surrogates')
/** What is somebody's own and checked apart, part by part. */
const anything = z.unknown()

/** Of an incarnation: 96 random bits in base64url, as ids of messages begin with it. */
const incarnation = z.string().regex(/^[\w-]{16}$/, 'must be 16 characters of base64url')

const range = z.tuple([ordinal, ordinal]).refine(([from, to]) => from <= to, 'must not end before it begins')
const place = z.tuple([count, ordinal])

const rowSet = z
  .strictObject({ positions: z.array(range).optional(), inserted: z.array(place).optional() })
  .refine(({ positions = [] }) => isAscending(positions), 'must be ranges in order that do not overlap')
  .refine(
    ({ inserted = [] }) => new Set(inserted.map(([, at]) => at)).size === inserted.length,
    'must not name a row twice',
  )

function isAscending(ranges: readonly (readonly number[])[]): boolean {
  return ranges.every(([from], index) => index === 0 || ranges[index - 1]![1]! < from!)
}

const header = z.strictObject({
  type: z.literal('header'),
  format: z.literal(HISTORY_FORMAT),
  version: z.literal(HISTORY_VERSION),
  package: labelSchema,
  exportedAt: time,
})

const session = z.strictObject({
  type: z.literal('session'),
  id: nameSchema,
  incarnation,
  owner: nameSchema.optional(),
  title: labelSchema.optional(),
  provider: nameSchema.optional(),
  model: nameSchema.optional(),
  config: jsonObjectSchema.optional(),
  metadata: jsonObjectSchema.optional(),
  estimator: nameSchema,
  createdAt: time,
  updatedAt: time,
  archivedAt: time.optional(),
  messages: count,
  inserted: count,
  version: count,
  viewEpoch: count,
  undoneAutomatic: count.optional(),
})

const compaction = z.strictObject({
  type: z.literal('compaction'),
  id: nameSchema,
  run: nameSchema,
  kind: z.enum(COMPACTION_KINDS),
  status: z.enum(COMPACTION_STATUSES),
  trigger: z.enum(['manual', 'auto', 'overflow', 'import', 'provider']),
  actor: note.optional(),
  reason: note.optional(),
  params: jsonObjectSchema.optional(),
  hides: rowSet.optional(),
  beside: rowSet.optional(),
  inserts: place.optional(),
  openCalls: flag,
  rewinds: flag,
  lifts: z.array(nameSchema).optional(),
  restores: z.array(nameSchema).optional(),
  turned: z.strictObject({ lifted: z.array(nameSchema), restored: z.array(nameSchema) }).optional(),
  requires: z
    .array(z.strictObject({ message: nameSchema, part: count, by: z.array(nameSchema).optional() }))
    .optional(),
  rowsHidden: count,
  partsReplaced: count,
  tokensBefore: count,
  tokensAfter: count,
  summarizer: note.optional(),
  model: note.optional(),
  promptVersion: note.optional(),
  usage: jsonObjectSchema.optional(),
  cost: z.number().optional(),
  error: note.optional(),
  createdAt: time,
  changedAt: time,
  rank: count,
  undoneWithRun: ordinal.optional(),
})

const audit = z.strictObject({
  type: z.literal('audit'),
  event: labelSchema,
  compaction: nameSchema.optional(),
  run: nameSchema.optional(),
  at: time,
  actor: note.optional(),
  detail: jsonObjectSchema.optional(),
  position: count.optional(),
})

const usage = z.strictObject({
  type: z.literal('usage'),
  provider: nameSchema,
  model: labelSchema,
  requests: count,
  inputTokens: count,
  cacheReadTokens: count,
  cacheCreationTokens: count,
  outputTokens: count,
  lastCacheReadTokens: count.optional(),
  lastCacheCreationTokens: count.optional(),
  at: time,
})

const measurement = z.strictObject({
  type: z.literal('measurement'),
  provider: nameSchema,
  model: labelSchema,
  estimator: nameSchema,
  viewEpoch: count,
  tokens: count,
  held: count,
  history: count,
  standing: count,
  pending: count,
  firstTokens: count.optional(),
  firstEstimate: count,
  at: time,
})

const operation = z.strictObject({
  type: z.literal('operation'),
  id: nameSchema,
  digest: nameSchema,
  compaction: nameSchema.optional(),
  positions: z.array(ordinal),
})

const rowFields = {
  role: z.enum(ROLES),
  content: anything,
  bytes: z.array(z.tuple([count, z.int().min(-1)])).optional(),
  metadata: anything.optional(),
  createdAt: time,
  pinned: flag,
  condenseParent: nameSchema.optional(),
  truncationParent: nameSchema.optional(),
}

const message = z.strictObject({
  type: z.literal('message'),
  position: ordinal,
  id: nameSchema.optional(),
  idempotencyKey: nameSchema.optional(),
  ...rowFields,
})

const insertedFields = {
  anchor: count,
  ordinal,
  compaction: nameSchema,
  retired: flag,
  ...rowFields,
}
const summary = z.strictObject({ type: z.literal('summary'), ...insertedFields })
const marker = z.strictObject({ type: z.literal('marker'), ...insertedFields })

const replacement = z.strictObject({
  type: z.literal('replacement'),
  compaction: nameSchema,
  message: nameSchema,
  part: count,
  text: z.string().nullable(),
})

const end = z.strictObject({
  type: z.literal('end'),
  compactions: count,
  audit: count,
  messages: count,
  inserted: count,
  replacements: count,
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/, 'must be 64 hexadecimal digits')
    .optional(),
})

/** The schema of each type of record. */
export const RECORD_SCHEMAS: { readonly [T in HistoryRecord['type']]: z.ZodObject } = {
  header,
  session,
  compaction,
  audit,
  usage,
  measurement,
  operation,
  message,
  summary,
  marker,
  replacement,
  end,
}

/** What is wrong with the form of a record, or `undefined` when it has one. Names fields, never what stands in them. */
export function formProblem(record: unknown): string | undefined {
  if (typeof record !== 'object' || record === null) return 'a record must be an object'
  const { type } = record as { readonly type?: unknown }
  const known = typeof type === 'string' && Object.hasOwn(RECORD_SCHEMAS, type)
  if (!known) return 'its type is none that a history has'
  return problemOf(RECORD_SCHEMAS[type as HistoryRecord['type']], record)
}
