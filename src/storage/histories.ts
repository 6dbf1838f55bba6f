import type { Awaitable } from './jobs.ts'
import type {
  AuditRecord,
  CompactionRecord,
  HistoryHead,
  ReplacementRecord,
  RowRecord,
} from './records/records.ts'

/** What was read of a session to export it. */
export type ExportedHead = {
  readonly head: HistoryHead
  /** What the storage needs to read the rows as they were then; nobody else's business. */
  readonly within: unknown
}

/** Rows of a session in the order of the view, each with the texts shown in its place. */
export type ExportedRows = {
  readonly records: readonly (RowRecord | ReplacementRecord)[]
  /** The position behind which the next ones stand; `undefined` when these were the last. */
  readonly next: number | undefined
}

/** A row to be restored, with the texts shown in its place. */
export type RestoredRow = { readonly row: RowRecord; readonly replacements: readonly ReplacementRecord[] }

/** A session being restored: what it is called until it is whole, what stands before its rows, and its compactions' first number. */
export type Restoring = {
  readonly stagedId: string
  readonly head: HistoryHead
  readonly firstNo: number
}

/** Whole sessions out of the storage and into it, as records. What comes in was checked, and is written to a staged session. */
export interface Histories {
  /** What is small or changes, of one moment. Throws `SESSION_NOT_FOUND`. */
  head(id: string): Awaitable<ExportedHead>
  /** Some rows behind a position (0: from the first). Throws `SESSION_NOT_FOUND` when the session is another by now. */
  rows(exported: ExportedHead, after: number): Awaitable<ExportedRows>

  /** Those of some ids that compactions or runs have. */
  takenIds(ids: readonly string[]): Awaitable<string[]>
  /** Keeps numbers for the compactions of a staged session, and answers the first. */
  reserve(stagedId: string, compactions: number): Awaitable<number>
  /** Writes rows with the tags they have. Throws `MESSAGE_ID_TAKEN`. */
  writeRows(restoring: Restoring, rows: readonly RestoredRow[]): Awaitable<void>
  /** Writes entries of the audit; answers their numbers. */
  writeAudit(restoring: Restoring, entries: readonly AuditRecord[]): Awaitable<number[]>
  /** Writes compactions, from a place in their list on; `undoneWith` has the numbers of the audit's entries. Throws `SESSION_EXISTS` when an id is taken by now. */
  writeCompactions(
    restoring: Restoring,
    from: number,
    compactions: readonly CompactionRecord[],
    undoneWith: readonly number[],
  ): Awaitable<void>
  /** Writes what is left: figures, operations, counters. */
  settle(restoring: Restoring): Awaitable<void>
}
