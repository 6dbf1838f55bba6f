import type { JsonObject } from '../core/messages/json.ts'
import type { SessionName } from './owners.ts'
import type {
  AuditRecord,
  CompactionRecord,
  HistoryHead,
  ReplacementRecord,
  RowRecord,
} from './records/records.ts'

/* The part of the storage interface for background work: jobs, circuits, and the cost of summaries. */

/**
 * The states of a job. `done` includes jobs that found nothing to do. `stale`: the view changed before the commit, and another job may
 * follow.
 */
export const JOB_STATES = ['queued', 'running', 'done', 'failed', 'stale', 'cancelled'] as const
/** The state of a background job. */
export type JobState = (typeof JOB_STATES)[number]

/** A background compaction and its state. */
export type Job = {
  readonly id: string
  readonly sessionId: string
  readonly state: JobState
  /** The run of the last attempt; `listCompactions({ runId })` lists its compactions. */
  readonly runId: string | undefined
  /** The number of attempts. */
  readonly attempts: number
  /** The last position of the log and the view's epoch when the job was queued. */
  readonly position: number
  readonly viewEpoch: number
  /** The earliest start, in milliseconds since 1970. */
  readonly notBefore: number
  /** The code of the failure, or why the job waits or had no effect. */
  readonly error: string | undefined
  /** Milliseconds since 1970. */
  readonly createdAt: number
  readonly changedAt: number
}

/** The request of a job: its settings, which can be stored, and how often it was planned again. */
export type JobRequest = {
  readonly config: JsonObject
  readonly replans: number
  /** An automatic job: it runs only while automatic background compaction is on. */
  readonly isOffered?: boolean
}

/** A job to queue; `notBefore` in milliseconds since 1970. */
export type NewJob = { readonly id: string; readonly request: JobRequest; readonly notBefore: number }

/** The claim on a job: its run, the thread that holds it, and its end in milliseconds since 1970. */
export type JobClaim = { readonly runId: string; readonly holder: string; readonly expiresAt: number }

/** The job that a run belongs to. If the job was canceled or taken over, the commit of the run is rejected. */
export type RunOfJob = { readonly jobId: string; readonly runId: string }

/** A claimed job, or a job that failed because it had been tried too often. */
export type ClaimedJob = { readonly job: Job; readonly request: JobRequest; readonly isExhausted: boolean }

/** The end of an attempt. `queued`: it will be tried again. */
export type JobEnd = {
  readonly state: Exclude<JobState, 'running' | 'cancelled'>
  readonly error: string | undefined
  /** For `queued`: the earliest start, milliseconds since 1970. */
  readonly notBefore?: number
  /** For `queued`: whether the attempt isn't counted. */
  readonly isUncounted?: boolean
}

/** Jobs. Each method is one transaction. */
export interface Jobs {
  /**
   * Queues a job, or returns the open one: a session has at most one. With `hurry`, a waiting job becomes due at once. Throws
   * `SESSION_NOT_FOUND`.
   */
  enqueue(id: string, job: NewJob, hurry: boolean): Awaitable<{ readonly job: Job; readonly isNew: boolean }>
  /**
   * Claims the session's open job if it is due or its holder has died; `undefined` if there is none. A job that was tried `maxAttempts`
   * times is marked as failed instead.
   */
  claim(id: string, claim: JobClaim, maxAttempts: number): Awaitable<ClaimedJob | undefined>
  /** Extends a claim; returns `false` if it is no longer held. */
  renew(id: string, jobId: string, claim: JobClaim): Awaitable<boolean>
  /** Ends an attempt; returns `false` if the claim is no longer held or the commit has ended the job. */
  end(id: string, jobId: string, runId: string, end: JobEnd): Awaitable<boolean>
  /** Cancels an open job; returns `undefined` if it isn't open. */
  cancel(jobId: string): Awaitable<Job | undefined>
  job(jobId: string): Awaitable<Job | undefined>
  /** Returns the open job of a session. `isHeld`: a live process is working on it. */
  open(id: string): Awaitable<{ readonly job: Job; readonly isHeld: boolean } | undefined>
  /** Returns the jobs of a session, newest first. Throws `SESSION_NOT_FOUND`. */
  list(id: string, limit: number): Awaitable<Job[]>
  /** Returns the ids of sessions with an open job, oldest job first. */
  waiting(limit: number): Awaitable<SessionName[]>
}

/** Consecutive failures of automatic runs of a session, for one view and one model. */
export type Circuit = {
  readonly failures: number
  readonly viewEpoch: number
  /** The summarizer and its model. */
  readonly model: string
  readonly error: string
  /** The end of the open state, in milliseconds since 1970; `undefined` while the circuit is closed. */
  readonly openUntil: number | undefined
}

/** The cost of summaries by models within a window of time. */
export type Spending = {
  readonly calls: number
  readonly tokens: number
  /** US dollars. */
  readonly cost: number
  /** The time of the oldest summary in the window, in milliseconds since 1970. */
  readonly oldest: number | undefined
}

/** Circuits and spending. Each method is one transaction. */
export interface Circuits {
  circuit(id: string): Awaitable<Circuit | undefined>
  /** Counts a failure; the count restarts when the view or the model is another. From `most` failures on, the circuit is open. */
  fail(
    id: string,
    failure: Omit<Circuit, 'failures' | 'openUntil'>,
    limits: { readonly most: number; readonly openUntil: number },
  ): Awaitable<Circuit | undefined>
  /** After the reset time, allows one trial call; returns `false` if another process has taken it. */
  tryOnce(id: string, openUntil: number, next: number): Awaitable<boolean>
  /** Resets the failures; returns the previous state. */
  reset(id: string): Awaitable<Circuit | undefined>
  /**
   * Returns the spending since a time (milliseconds since 1970) for one session or all. `summarizer` is the name of a summarizer that calls
   * a model; others are recognized by their records.
   */
  spending(id: string | undefined, since: number, summarizer: string): Awaitable<Spending>
}

export type Awaitable<T> = T | Promise<T>

/** The head of an export, and the data that only a move copies, as of the same moment. */
export type ExportedHead = {
  readonly head: HistoryHead
  readonly background: Background
  /** The state that the storage needs to read the rows as they were. Opaque to callers. */
  readonly within: unknown
}

/** Rows of a session in the order of the view, each with its replacements. */
export type ExportedRows = {
  readonly records: readonly (RowRecord | ReplacementRecord)[]
  /** The position to continue from; `undefined` after the last rows. */
  readonly next: number | undefined
}

/** A row to restore, with its replacements. */
export type RestoredRow = { readonly row: RowRecord; readonly replacements: readonly ReplacementRecord[] }

/** A session being restored: its temporary name, the records before its rows, and the first number of its compactions. */
export type Restoring = {
  readonly importId: string
  readonly head: HistoryHead
  readonly firstNo: number
}

/** The jobs of a session, oldest first, and its circuit. A running job counts as queued, because its holder belongs to another store. */
export type Background = {
  readonly jobs: readonly JobRecord[]
  readonly circuit: CircuitRecord | undefined
}
/** A stored job; `request` is its JSON. */
export type JobRecord = Omit<Job, 'sessionId' | 'runId' | 'error'> & {
  readonly run?: string | undefined
  readonly error?: string | undefined
  readonly request?: string | undefined
}
export type CircuitRecord = Omit<Circuit, 'openUntil'> & {
  readonly openUntil?: number | undefined
  readonly changedAt: number
}

/** A page of sessions, in the order of their insertion. */
export type SessionPage = {
  readonly sessions: readonly {
    readonly id: string
    readonly owner: string | null
    readonly messages: number
  }[]
  /** The place to continue from; `undefined` after the last session. */
  readonly next: readonly number[] | undefined
}

/** Tables whose rows belong to no session: calibrations and limits of models, receipts of purges, and notes of owners. */
export type StoreTable = 'calibrations' | 'limits' | 'receipts' | 'notes'
export type StoreRecord = { readonly [field: string]: string | number | null }
export type StoreRecords = {
  readonly records: readonly StoreRecord[]
  readonly next: readonly number[] | undefined
}

/** The data that a copied session receives together with its name: its background, and the mark that it is a copy. */
export type CopiedSession = {
  readonly background: Background
  readonly mark: { readonly key: string; readonly value: string }
  /** The older copy that this one replaces, provided that it hasn't changed since it was copied. */
  readonly replaced?: {
    readonly isUnchanged: (found: ExportedHead) => boolean
    /** The temporary name and holder under which the older copy is then removed. */
    readonly aside: { readonly id: string; readonly holder: string; readonly expiresAt: number }
  }
}

/** Export and restore of whole sessions as records. Restored records have been checked, and are written to an unlisted session. */
export interface Histories {
  /** Returns the small and changing records as of one moment. Throws `SESSION_NOT_FOUND`. */
  head(id: string): Awaitable<ExportedHead>
  /** Returns rows after a position (0: from the first). Throws `SESSION_NOT_FOUND` if the session was replaced. */
  rows(exported: ExportedHead, after: number): Awaitable<ExportedRows>

  /** Reserves numbers for the compactions of a session being restored, and returns the first. */
  reserve(importId: string, compactions: number): Awaitable<number>
  /** Writes rows with their tags. Throws `MESSAGE_ID_TAKEN`. */
  writeRows(restoring: Restoring, rows: readonly RestoredRow[]): Awaitable<void>
  /** Writes entries of the audit; returns their numbers. */
  writeAudit(restoring: Restoring, entries: readonly AuditRecord[]): Awaitable<number[]>
  /** Writes compactions, starting at an index of their list. `undoneWith` holds the numbers of the audit's entries. */
  writeCompactions(
    restoring: Restoring,
    from: number,
    compactions: readonly CompactionRecord[],
    undoneWith: readonly number[],
  ): Awaitable<void>
  /** Writes the remaining records: figures, operations, counters. */
  settle(restoring: Restoring): Awaitable<void>

  /** Returns a page of sessions, including archived ones, oldest first. */
  sessions(after: readonly number[] | undefined, limit: number): Awaitable<SessionPage>
  /**
   * Gives a restored session its name, which lists it, and the other data of a copy. If `copied` names an older copy, that copy is
   * replaced; if it has changed, nothing is done and the result is `false`. Throws `SESSION_EXISTS`, `SESSION_NOT_FOUND`.
   */
  publish(restoring: Restoring, copied?: CopiedSession): Awaitable<boolean>
  /** Returns the value of a mark; `undefined` if it isn't set. */
  mark(key: string): Awaitable<string | undefined>
  writeMark(key: string, value: string): Awaitable<void>
  /** Returns a page of rows of a table. */
  storeRecords(table: StoreTable, after: readonly number[] | undefined): Awaitable<StoreRecords>
  /** Adds rows that are missing; of two calibrations or limits of a model, the later one is kept. Returns the number of rows written. */
  writeStoreRecords(table: StoreTable, records: readonly StoreRecord[]): Awaitable<number>
}
