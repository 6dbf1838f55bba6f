import { z } from 'zod'
import {
  isStorableText,
  jsonObjectSchema,
  labelSchema,
  nameSchema,
  newNameSchema,
  problemOf,
} from '../../core/messages/check.ts'
import type { JsonObject } from '../../core/messages/json.ts'
import { ROLES } from '../../core/messages/message.ts'
import { COMPACTION_STATUSES } from '../../core/model/coverage.ts'
import { COMPACTION_KINDS } from '../../core/model/plan.ts'

/*
 * A session as a list of records, from which it can be restored: docs/history-format.md. Every record is plain JSON. Small and changing
 * data come first (session, compactions, audit, figures), then the rows in view order, each followed by its replacements, then a record
 * with the counts. The state of a machine isn't included: leases, jobs, circuits, calibrations, limits.
 */

export const HISTORY_FORMAT = 'undertext history'
export const HISTORY_VERSION = 1

/* The schemas of the records. Records are checked but never copied, because zod's copies would drop a `__proto__` key in a content. */

/** The maximum of counts and sums, so that additions stay exact. */
const MAX_COUNT = 1_000_000_000_000_000
const count = z.int().nonnegative().max(MAX_COUNT)
const ordinal = z.int().positive()
const time = z.int()
const flag = z.literal(true).optional()
/** The maximum length of other texts, such as an error or the name of a model, in UTF-16 units. */
const MAX_NOTE_LENGTH = 10_000
const note = z.string().max(MAX_NOTE_LENGTH).refine(isStorableText, 'must not contain NUL or lone surrogates')

/** An incarnation: 96 random bits in base64url. It is the prefix of the ids of messages. */
const incarnation = z.string().regex(/^[\w-]{16}$/, 'must be 16 characters of base64url')

const range = z.tuple([ordinal, ordinal]).refine(([from, to]) => from <= to, 'must not end before it begins')
const place = z.tuple([count, ordinal])

const rowSet = z
  .strictObject({ positions: z.array(range).optional(), inserted: z.array(place).optional() })
  .refine(({ positions = [] }) => isAscending(positions), "must be ordered ranges that don't overlap")
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
  /** The version of the package that wrote the file. */
  package: labelSchema,
  /** Milliseconds since 1970, like all times. */
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
  /** The number of messages in the log; `inserted` is the number of inserted rows. */
  messages: count,
  inserted: count,
  version: count,
  viewEpoch: count,
  /** The number of automatic compactions that a user has undone since the last one was made. */
  undoneAutomatic: count.optional(),
})

/** A part that a compaction depends on, and the ids of the rows that point to it. */
const required = z.strictObject({ message: nameSchema, part: count, by: z.array(nameSchema).optional() })

const compaction = z.strictObject({
  type: z.literal('compaction'),
  id: nameSchema,
  run: nameSchema,
  kind: z.enum(COMPACTION_KINDS),
  status: z.enum(COMPACTION_STATUSES),
  trigger: z.enum(['manual', 'auto', 'overflow', 'import', 'provider', 'refusal']) as z.ZodType<string>,
  actor: note.optional(),
  reason: note.optional(),
  params: jsonObjectSchema.optional(),
  hides: rowSet.optional(),
  /** Rows within its span that stayed visible. */
  beside: rowSet.optional(),
  inserts: place.optional(),
  openCalls: flag,
  rewinds: flag,
  /** The ids of the compactions that a rewind undoes; `restores` holds those that it redoes. */
  lifts: z.array(nameSchema).optional(),
  restores: z.array(nameSchema).optional(),
  /** Those that it actually undid and redid when it was last activated. */
  turned: z.strictObject({ lifted: z.array(nameSchema), restored: z.array(nameSchema) }).optional(),
  requires: z.array(required).optional(),
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
  /** Its position in the order of activation. */
  rank: count,
  /** The number, from 1, of the audit record in which undoing a whole run (its own, or one it depends on) undid it. */
  undoneWithRun: ordinal.optional(),
  /** Whether a fork copied it; its usage and cost are then the original's. */
  copied: flag,
})

const audit = z.strictObject({
  type: z.literal('audit'),
  event: labelSchema,
  compaction: nameSchema.optional(),
  run: nameSchema.optional(),
  at: time,
  actor: note.optional(),
  detail: jsonObjectSchema.optional(),
  /** The log's last position at that time. */
  position: count,
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
  /** The positions of the messages it appended. */
  positions: z.array(ordinal),
})

const sha256 = z.string().regex(/^[0-9a-f]{64}$/, 'must be 64 hexadecimal digits')

const piece = z.strictObject({ type: z.literal('piece'), sha256, text: z.string() })

const request = z.strictObject({
  type: z.literal('request'),
  /** The moment of its view: the log's last position, and the number of an audit record, from 1; 0 if there is none. */
  position: count,
  audit: count,
  provider: nameSchema,
  model: labelSchema,
  rendering: jsonObjectSchema.optional(),
  renderer: count,
  /** The hash of the request as sent. */
  sha256,
  /**
   * The pieces of each text, whose concatenation is the JSON of the system prompt, the tools, the messages that aren't in the log, and the
   * files.
   */
  system: z.array(sha256).min(1).optional(),
  tools: z.array(sha256).min(1).optional(),
  prompt: z.array(sha256).min(1).optional(),
  files: z.array(sha256).min(1).optional(),
  /** First and last position. */
  promptRange: range.optional(),
  answer: range.optional(),
  inputTokens: count.optional(),
  cacheReadTokens: count.optional(),
  cacheCreationTokens: count.optional(),
  outputTokens: count.optional(),
  at: time,
})

const noteRecord = z.strictObject({
  type: z.literal('note'),
  id: nameSchema,
  /** 1, 2, 3 …, with gaps where notes were removed permanently. */
  no: ordinal,
  key: newNameSchema.optional(),
  text: z.string().max(MAX_NOTE_LENGTH * 2),
  metadata: jsonObjectSchema.optional(),
  /** The message that it was taken from, and the session of that message. */
  sourceSession: nameSchema.optional(),
  source: nameSchema.optional(),
  actor: nameSchema.optional(),
  createdAt: time,
  /** The number of the note that replaced it. */
  replacedBy: ordinal.optional(),
  forgottenAt: time.optional(),
})

/** A place of base64 bytes in a content: the part, and the entry of a tool result's content or −1. */
const bytesPlace = z.tuple([count, z.int().min(-1)])

/** Content and metadata are checked separately, part by part. */
const rowFields = {
  role: z.enum(ROLES),
  /** A text or a list of parts, as JSON. */
  content: z.unknown(),
  bytes: z.array(bytesPlace).optional(),
  metadata: z.custom<JsonObject>().optional(),
  createdAt: time,
  pinned: flag,
  /** The compaction that hides the row. It is for readers of the file, and must agree with coverage and statuses. */
  condenseParent: nameSchema.optional(),
  truncationParent: nameSchema.optional(),
}

const message = z.strictObject({
  type: z.literal('message'),
  position: ordinal,
  /** The caller's id, if given. */
  id: nameSchema.optional(),
  idempotencyKey: nameSchema.optional(),
  ...rowFields,
})

const insertedFields = {
  anchor: count,
  ordinal,
  compaction: nameSchema,
  /** Whether its compaction is inactive. */
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
  /** The hash of all previous lines in hexadecimal, if the records are lines of a file. */
  sha256: sha256.optional(),
})

/** A record as it is read: immutable, and without absent fields. */
type RecordOf<S extends z.ZodType> = Read<z.output<S>>
type Read<T> = unknown extends T
  ? T
  : string extends keyof T
    ? T
    : T extends object
      ? { readonly [K in keyof T]: Read<Exclude<T[K], undefined>> }
      : T

/** The first record, with the version of the format. */
export type HeaderRecord = RecordOf<typeof header>
/** The session and its settings. */
export type SessionRecord = RecordOf<typeof session>
/** A set of rows; empty fields are omitted. */
export type RowSetRecord = RecordOf<typeof rowSet>
export type RequiredRecord = RecordOf<typeof required>
/** A compaction. Compactions are listed in the order in which they were recorded. */
export type CompactionRecord = RecordOf<typeof compaction>
/** An entry of the audit log. */
export type AuditRecord = RecordOf<typeof audit>
/** The tokens that a provider billed, as sums. */
export type UsageRecord = RecordOf<typeof usage>
/** The last size that a provider reported. */
export type MeasurementRecord = RecordOf<typeof measurement>
/** A rewind with an operation id of the caller. */
export type OperationRecord = RecordOf<typeof operation>
/** A text of requests, or a part of one, stored once. */
export type PieceRecord = RecordOf<typeof piece>
/** A request to a model. */
export type RequestRecord = RecordOf<typeof request>
/** A note of the session. */
export type NoteRecord = RecordOf<typeof noteRecord>
export type BytesPlace = RecordOf<typeof bytesPlace>
/** A message of the log. */
export type MessageRecord = RecordOf<typeof message>
/** A row that a compaction inserted. */
export type InsertedRecord = RecordOf<typeof summary> | RecordOf<typeof marker>
/** A record of a row: a message, or an inserted summary or marker. */
export type RowRecord = MessageRecord | InsertedRecord
/** A text that replaces a part of the preceding row; `null` shows the original again. */
export type ReplacementRecord = RecordOf<typeof replacement>
/** The last record: the number of records of each kind, and the checksum. */
export type EndRecord = RecordOf<typeof end>
/** The number of records of each kind. */
export type HistoryCounts = Omit<EndRecord, 'type' | 'sha256'>

/** A record between the header and the rows. */
export type HeadRecord =
  | SessionRecord
  | CompactionRecord
  | AuditRecord
  | UsageRecord
  | MeasurementRecord
  | OperationRecord
  | PieceRecord
  | RequestRecord
  | NoteRecord

/** A record of an exported history. */
export type HistoryRecord = HeaderRecord | HeadRecord | RowRecord | ReplacementRecord | EndRecord

/** The kinds of records before the rows in order, except the session, which comes first, and the lists of a head that hold them. */
export const HEAD_LISTS = {
  compaction: 'compactions',
  audit: 'audit',
  usage: 'usage',
  measurement: 'measurements',
  operation: 'operations',
  piece: 'pieces',
  request: 'requests',
  note: 'notes',
} as const
type HeadLists = typeof HEAD_LISTS

/** The small and changing data of a session as of one moment. */
export type HistoryHead = { readonly session: SessionRecord } & {
  readonly [T in keyof HeadLists as HeadLists[T]]: readonly Extract<HeadRecord, { type: T }>[]
}

/** Returns the records of a head in order. */
export function* headRecords(head: HistoryHead): Generator<HeadRecord> {
  yield head.session
  for (const list of Object.values(HEAD_LISTS)) yield* head[list]
}

export function isRow(record: HistoryRecord): record is RowRecord {
  return record.type === 'message' || record.type === 'summary' || record.type === 'marker'
}

/** Returns the id of a record's row in a session of this incarnation. */
export function recordId(incarnation: string, row: RowRecord): string {
  if (row.type === 'message') return row.id ?? `${incarnation}:${row.position}`
  return `${incarnation}:s${row.ordinal}`
}

/** The schema of each type of record. */
export const RECORD_SCHEMAS: { readonly [T in HistoryRecord['type']]: z.ZodObject } = {
  header,
  session,
  compaction,
  audit,
  usage,
  measurement,
  operation,
  piece,
  request,
  note: noteRecord,
  message,
  summary,
  marker,
  replacement,
  end,
}

/** Returns the problem of a record's form; `undefined` if it is valid. The problem names fields, never content. */
export function formProblem(record: unknown): string | undefined {
  if (typeof record !== 'object' || record === null) return 'a record must be an object'
  const { type } = record as { readonly type?: unknown }
  const known = typeof type === 'string' && Object.hasOwn(RECORD_SCHEMAS, type)
  if (!known) return 'its type is unknown'
  return problemOf(RECORD_SCHEMAS[type as HistoryRecord['type']], record)
}
