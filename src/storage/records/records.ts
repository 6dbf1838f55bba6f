import type { JsonObject } from '../../messages/json.ts'
import type { PositionRange, Role } from '../../messages/message.ts'
import type { CompactionStatus } from '../../model/nesting.ts'
import type { CompactionKind } from '../../model/plan.ts'

/*
 * A session as a list of records, from which the very same session can be made: docs/history-format.md. Every record is plain JSON.
 * What is small or changes comes first (session, compactions, audit, figures), then the rows in the order of the view, each followed by
 * the texts shown in its place, then a record that says how many there were. Nothing is in it that belongs to a machine: leases, jobs,
 * circuits, calibrations, limits.
 */

export const HISTORY_FORMAT = 'undertext history'
export const HISTORY_VERSION = 1

export type HeaderRecord = {
  readonly type: 'header'
  readonly format: typeof HISTORY_FORMAT
  readonly version: typeof HISTORY_VERSION
  /** Version of the package that wrote it. */
  readonly package: string
  /** Milliseconds since 1970, as all times. */
  readonly exportedAt: number
}

export type SessionRecord = {
  readonly type: 'session'
  readonly id: string
  readonly incarnation: string
  readonly owner?: string
  readonly title?: string
  readonly provider?: string
  readonly model?: string
  readonly config?: JsonObject
  readonly metadata?: JsonObject
  readonly estimator: string
  readonly createdAt: number
  readonly updatedAt: number
  readonly archivedAt?: number
  /** Messages in the log, and rows compactions inserted. */
  readonly messages: number
  readonly inserted: number
  readonly version: number
  readonly viewEpoch: number
  /** Automatic compactions that a user undid since one was made last. */
  readonly undoneAutomatic?: number
}

/** Where an inserted row stands: the position it stands behind, and its ordinal. */
type PlaceRecord = readonly [anchor: number, ordinal: number]

/** A set of rows; what is empty is left out. */
export type RowSetRecord = {
  readonly positions?: readonly PositionRange[]
  readonly inserted?: readonly PlaceRecord[]
}

/** A part a compaction leans on, and ids of the rows that point at it. */
export type RequiredRecord = {
  readonly message: string
  readonly part: number
  readonly by?: readonly string[]
}

/** A compaction. They come in the order in which they were noted. */
export type CompactionRecord = {
  readonly type: 'compaction'
  readonly id: string
  readonly run: string
  readonly kind: CompactionKind
  readonly status: CompactionStatus
  readonly trigger: string
  readonly actor?: string
  readonly reason?: string
  readonly params?: JsonObject
  readonly hides?: RowSetRecord
  /** Rows within its span that were visible and stayed so. */
  readonly beside?: RowSetRecord
  readonly inserts?: PlaceRecord
  readonly openCalls?: true
  readonly rewinds?: true
  /** Ids of compactions that it takes out of force, and of those that it brings back. */
  readonly lifts?: readonly string[]
  readonly restores?: readonly string[]
  /** Those of them that it turned when it came into force last. */
  readonly turned?: { readonly lifted: readonly string[]; readonly restored: readonly string[] }
  readonly requires?: readonly RequiredRecord[]
  readonly rowsHidden: number
  readonly partsReplaced: number
  readonly tokensBefore: number
  readonly tokensAfter: number
  readonly summarizer?: string
  readonly model?: string
  readonly promptVersion?: string
  readonly usage?: JsonObject
  readonly cost?: number
  readonly error?: string
  readonly createdAt: number
  readonly changedAt: number
  /** Its place in the order in which compactions were put in force. */
  readonly rank: number
  /** The undo of a whole run, of its own or of one it built on, that took it down: which record of the audit that is, counted from 1. */
  readonly undoneWithRun?: number
}

export type AuditRecord = {
  readonly type: 'audit'
  readonly event: string
  readonly compaction?: string
  readonly run?: string
  readonly at: number
  readonly actor?: string
  readonly detail?: JsonObject
  /** The log's last position at that time. */
  readonly position?: number
}

/** What a provider billed, sums. */
export type UsageRecord = {
  readonly type: 'usage'
  readonly provider: string
  readonly model: string
  readonly requests: number
  readonly inputTokens: number
  readonly cacheReadTokens: number
  readonly cacheCreationTokens: number
  readonly outputTokens: number
  readonly lastCacheReadTokens?: number
  readonly lastCacheCreationTokens?: number
  readonly at: number
}

/** The last size a provider reported. */
export type MeasurementRecord = {
  readonly type: 'measurement'
  readonly provider: string
  readonly model: string
  readonly estimator: string
  readonly viewEpoch: number
  readonly tokens: number
  readonly held: number
  readonly history: number
  readonly standing: number
  readonly pending: number
  readonly firstTokens?: number
  readonly firstEstimate: number
  readonly at: number
}

/** A rewind that came under an id of the caller's. */
export type OperationRecord = {
  readonly type: 'operation'
  readonly id: string
  readonly digest: string
  readonly compaction?: string
  /** Positions of the messages it appended. */
  readonly positions: readonly number[]
}

/** Where bytes stand in a content as base64: the part, and the entry of a tool result's content or −1. */
export type BytesPlace = readonly [part: number, entry: number]

type RowFields = {
  readonly role: Role
  /** A text or a list of parts, as JSON. */
  readonly content: unknown
  readonly bytes?: readonly BytesPlace[]
  readonly metadata?: JsonObject
  readonly createdAt: number
  readonly pinned?: true
  /** What hides it. For readers: coverage and statuses say the same, and it is held to them. */
  readonly condenseParent?: string
  readonly truncationParent?: string
}

/** A message of the log. */
export type MessageRecord = RowFields & {
  readonly type: 'message'
  readonly position: number
  /** The caller's own. */
  readonly id?: string
  readonly idempotencyKey?: string
}

/** A row a compaction inserted. */
export type InsertedRecord = RowFields & {
  readonly type: 'summary' | 'marker'
  readonly anchor: number
  readonly ordinal: number
  readonly compaction: string
  /** Its compaction is not in force. */
  readonly retired?: true
}

export type RowRecord = MessageRecord | InsertedRecord

/** A text shown in place of a part of the row before it, or the original itself (`null`). */
export type ReplacementRecord = {
  readonly type: 'replacement'
  readonly compaction: string
  readonly message: string
  readonly part: number
  readonly text: string | null
}

/** How many records of each kind there were. */
export type HistoryCounts = {
  readonly compactions: number
  readonly audit: number
  readonly messages: number
  readonly inserted: number
  readonly replacements: number
}

export type EndRecord = HistoryCounts & {
  readonly type: 'end'
  /** Of all lines before it, in hex; where the records are lines of a file. */
  readonly sha256?: string
}

/** What stands before the rows, but for the header. */
export type HeadRecord =
  | SessionRecord
  | CompactionRecord
  | AuditRecord
  | UsageRecord
  | MeasurementRecord
  | OperationRecord

export type HistoryRecord = HeaderRecord | HeadRecord | RowRecord | ReplacementRecord | EndRecord

/** Everything of a session that is small or changes, as it was at one moment. */
export type HistoryHead = {
  readonly session: SessionRecord
  readonly compactions: readonly CompactionRecord[]
  readonly audit: readonly AuditRecord[]
  readonly usage: readonly UsageRecord[]
  readonly measurements: readonly MeasurementRecord[]
  readonly operations: readonly OperationRecord[]
}

/** The records of a head, in their order. */
export function* headRecords(head: HistoryHead): Generator<HeadRecord> {
  yield head.session
  yield* head.compactions
  yield* head.audit
  yield* head.usage
  yield* head.measurements
  yield* head.operations
}

export function isRow(record: HistoryRecord): record is RowRecord {
  return record.type === 'message' || record.type === 'summary' || record.type === 'marker'
}

/** The id of the row a record is of, in a session of this incarnation. */
export function recordId(incarnation: string, row: RowRecord): string {
  if (row.type === 'message') return row.id ?? `${incarnation}:${row.position}`
  return `${incarnation}:s${row.ordinal}`
}
