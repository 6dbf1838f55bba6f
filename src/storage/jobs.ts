import type { JsonObject } from '../messages/json.ts'
import type {
  AuditRecord,
  CompactionRecord,
  HistoryHead,
  ReplacementRecord,
  RowRecord,
} from './records/records.ts'

/* The part of the port that work in the background stands on: jobs, circuits, and what summaries have cost. */

/** `done`: also when there was nothing to do; `stale`: its plan was overtaken, and another job may follow it. */
export const JOB_STATES = ['queued', 'running', 'done', 'failed', 'stale', 'cancelled'] as const
export type JobState = (typeof JOB_STATES)[number]

/** A compaction to be made in the background, and what became of it. */
export type Job = {
  readonly id: string
  readonly sessionId: string
  readonly state: JobState
  /** The run of the last try: `listCompactions({ runId })` has what it did. */
  readonly runId: string | undefined
  /** How often it was tried. */
  readonly attempts: number
  /** The last position of the log, and the view's epoch, when it was queued. */
  readonly position: number
  readonly viewEpoch: number
  /** Not to be taken up before, milliseconds since 1970. */
  readonly notBefore: number
  /** Why it failed, waits, or changed nothing: a code. */
  readonly error: string | undefined
  /** Milliseconds since 1970. */
  readonly createdAt: number
  readonly changedAt: number
}

/** What a job was asked for: settings that can be stored, and how often it was planned anew. */
export type JobRequest = {
  readonly config: JsonObject
  readonly replans: number
  /** Nobody asked for it: it is made only as long as automatic compaction in the background is on. */
  readonly isOffered?: boolean
}

/** A job to be queued; `notBefore` in milliseconds since 1970. */
export type NewJob = { readonly id: string; readonly request: JobRequest; readonly notBefore: number }

/** Who works at a job: the run it is made by, the thread, and how long that counts, milliseconds since 1970. */
export type JobClaim = { readonly runId: string; readonly holder: string; readonly expiresAt: number }

/** What a run carries that is made for a job; its commit is refused when the job is not its own any more. */
export type RunOfJob = { readonly jobId: string; readonly runId: string }

/** A job that was taken up, or that will not be tried again because it was tried too often. */
export type ClaimedJob = { readonly job: Job; readonly request: JobRequest; readonly isExhausted: boolean }

/** How a try ended. `queued`: it is to be tried again. */
export type JobEnd = {
  readonly state: Exclude<JobState, 'running' | 'cancelled'>
  readonly error: string | undefined
  /** For `queued`: not before, milliseconds since 1970. */
  readonly notBefore?: number
  /** For `queued`: whether the try does not count. */
  readonly isUncounted?: boolean
}

/** Jobs: each verb one transaction. */
export interface Jobs {
  /**
   * Queues a job, or answers the open one, of which a session has one at most. `hurry`: an open one that waits is due at once.
   * Throws `SESSION_NOT_FOUND`.
   */
  enqueue(id: string, job: NewJob, hurry: boolean): Awaitable<{ readonly job: Job; readonly isNew: boolean }>
  /**
   * Takes up the session's open job, when it is due, or its holder is gone. One that was tried `mostAttempts` times fails instead.
   * `undefined` when there is nothing to take up.
   */
  claim(id: string, claim: JobClaim, mostAttempts: number): Awaitable<ClaimedJob | undefined>
  /** Moves the end of a claim; `false` when it is not held any more. */
  renew(jobId: string, claim: JobClaim): Awaitable<boolean>
  /** Ends a try; `false` when the claim is not held any more, or the commit ended it. */
  end(jobId: string, runId: string, end: JobEnd): Awaitable<boolean>
  /** Cancels a job that is open; `undefined` when it is not. */
  cancel(jobId: string): Awaitable<Job | undefined>
  job(jobId: string): Awaitable<Job | undefined>
  /** The open job of a session. `isHeld`: somebody who is alive works at it. */
  open(id: string): Awaitable<{ readonly job: Job; readonly isHeld: boolean } | undefined>
  /** Newest first. Throws `SESSION_NOT_FOUND`. */
  list(id: string, limit: number): Awaitable<Job[]>
  /** The sessions with an open job, oldest job first. */
  waiting(limit: number): Awaitable<string[]>
}

/** Unasked runs of a session that failed in a row, on one view and with one model. */
export type Circuit = {
  readonly failures: number
  readonly viewEpoch: number
  /** The summarizer and the model it was asked with. */
  readonly model: string
  readonly error: string
  /** Open until then, milliseconds since 1970; `undefined` while it is closed. */
  readonly openUntil: number | undefined
}

/** What summaries by models have cost in a window of time. */
export type Spending = {
  readonly calls: number
  readonly tokens: number
  /** US dollars. */
  readonly cost: number
  /** When the oldest of them was asked for, milliseconds since 1970. */
  readonly oldest: number | undefined
}

/** Circuits, and what was spent: each verb one transaction. */
export interface Circuits {
  circuit(id: string): Awaitable<Circuit | undefined>
  /** Notes a failure: one more on the same view with the same model, else the first. Open from `most` on. */
  fail(
    id: string,
    failure: Omit<Circuit, 'failures' | 'openUntil'>,
    limits: { readonly most: number; readonly openUntil: number },
  ): Awaitable<Circuit | undefined>
  /** Lets one try through an open circuit whose time is over; `false` when somebody else was let through. */
  tryOnce(id: string, openUntil: number, next: number): Awaitable<boolean>
  /** Forgets the failures; answers what there was. */
  reset(id: string): Awaitable<Circuit | undefined>
  /**
   * What was asked of models since, milliseconds since 1970, for a session or all of them. `summarizer` is the name of one that asks
   * a model; others are known by what is noted of them.
   */
  spending(id: string | undefined, since: number, summarizer: string): Awaitable<Spending>
}

/*
 * The port: whole verbs, each one transaction. SQLite answers at once, other databases with a promise; whoever
 * calls awaits. What comes in was checked at the door, and is the caller's: a verb reads all it needs of it before its first await. Every verb throws `STORE_CLOSED`, `STORE_BUSY`,
 * `STORE_CORRUPT` and its like; what else is said at each.
 */

export type Awaitable<T> = T | Promise<T>

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
