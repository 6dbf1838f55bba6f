import type { JsonObject } from '../core/messages/json.ts'
import type {
  AuditRecord,
  CompactionRecord,
  HistoryHead,
  ReplacementRecord,
  RowRecord,
} from './records/records.ts'

/* The part of the storage interface for background work: jobs, circuits, and the cost of summaries. */

/** `done`: also when there was nothing to do; `stale`: the view changed before its commit, and another job may follow it. */
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
  /** The last position of the log, and the view's epoch, when it was queued. */
  readonly position: number
  readonly viewEpoch: number
  /** The earliest start, milliseconds since 1970. */
  readonly notBefore: number
  /** The code of its failure, its waiting, or its lack of effect. */
  readonly error: string | undefined
  /** Milliseconds since 1970. */
  readonly createdAt: number
  readonly changedAt: number
}

/** The request of a job: settings that can be stored, and how often it was planned again. */
export type JobRequest = {
  readonly config: JsonObject
  readonly replans: number
  /** An automatic job: it runs only while automatic background compaction is on. */
  readonly isOffered?: boolean
}

/** A job to queue; `notBefore` in milliseconds since 1970. */
export type NewJob = { readonly id: string; readonly request: JobRequest; readonly notBefore: number }

/** The claim on a job: its run, its thread, and its end, milliseconds since 1970. */
export type JobClaim = { readonly runId: string; readonly holder: string; readonly expiresAt: number }

/** The job of a run; the commit of the run is refused when the job no longer belongs to it. */
export type RunOfJob = { readonly jobId: string; readonly runId: string }

/** A claimed job, or one that is not tried again because it was tried too often. */
export type ClaimedJob = { readonly job: Job; readonly request: JobRequest; readonly isExhausted: boolean }

/** The end of an attempt. `queued`: it will be tried again. */
export type JobEnd = {
  readonly state: Exclude<JobState, 'running' | 'cancelled'>
  readonly error: string | undefined
  /** For `queued`: the earliest start, milliseconds since 1970. */
  readonly notBefore?: number
  /** For `queued`: whether the attempt does not count. */
  readonly isUncounted?: boolean
}

/** Jobs. Each method is one transaction. */
export interface Jobs {
  /**
   * Queues a job, or returns the open one; a session has at most one. `hurry`: an open job that waits is due at once.
   * Throws `SESSION_NOT_FOUND`.
   */
  enqueue(id: string, job: NewJob, hurry: boolean): Awaitable<{ readonly job: Job; readonly isNew: boolean }>
  /**
   * Claims the session's open job, when it is due or its holder has died. One that was tried `mostAttempts` times fails instead.
   * `undefined` when there is no job to claim.
   */
  claim(id: string, claim: JobClaim, mostAttempts: number): Awaitable<ClaimedJob | undefined>
  /** Extends a claim; `false` when it is no longer held. */
  renew(id: string, jobId: string, claim: JobClaim): Awaitable<boolean>
  /** Ends an attempt; `false` when the claim is no longer held, or the commit ended it. */
  end(id: string, jobId: string, runId: string, end: JobEnd): Awaitable<boolean>
  /** Cancels an open job; `undefined` when it is not open. */
  cancel(jobId: string): Awaitable<Job | undefined>
  job(jobId: string): Awaitable<Job | undefined>
  /** The open job of a session. `isHeld`: a live process works on it. */
  open(id: string): Awaitable<{ readonly job: Job; readonly isHeld: boolean } | undefined>
  /** Newest first. Throws `SESSION_NOT_FOUND`. */
  list(id: string, limit: number): Awaitable<Job[]>
  /** The sessions with an open job, oldest job first. */
  waiting(limit: number): Awaitable<string[]>
}

/** Consecutive failures of automatic runs of a session, on one view and with one model. */
export type Circuit = {
  readonly failures: number
  readonly viewEpoch: number
  /** The summarizer and its model. */
  readonly model: string
  readonly error: string
  /** The end of the open state, milliseconds since 1970; `undefined` while it is closed. */
  readonly openUntil: number | undefined
}

/** The cost of summaries by models in a window of time. */
export type Spending = {
  readonly calls: number
  readonly tokens: number
  /** US dollars. */
  readonly cost: number
  /** The time of the oldest of them, milliseconds since 1970. */
  readonly oldest: number | undefined
}

/** Circuits and spending. Each method is one transaction. */
export interface Circuits {
  circuit(id: string): Awaitable<Circuit | undefined>
  /** Records a failure: one more on the same view with the same model, else the first. From `most` failures on the circuit is open. */
  fail(
    id: string,
    failure: Omit<Circuit, 'failures' | 'openUntil'>,
    limits: { readonly most: number; readonly openUntil: number },
  ): Awaitable<Circuit | undefined>
  /** After the reset time, allows one trial call; `false` when another process has it. */
  tryOnce(id: string, openUntil: number, next: number): Awaitable<boolean>
  /** Resets the failures; returns the former state. */
  reset(id: string): Awaitable<Circuit | undefined>
  /**
   * The spending since a time, milliseconds since 1970, for one session or all. `summarizer` is the name of one that calls a model; others
   * are recognized by their records.
   */
  spending(id: string | undefined, since: number, summarizer: string): Awaitable<Spending>
}

export type Awaitable<T> = T | Promise<T>

/** The head of an export, and what only a move copies beside it, of the same moment. */
export type ExportedHead = {
  readonly head: HistoryHead
  readonly background: Background
  /** The state with which the storage reads the rows as they were. Opaque to others. */
  readonly within: unknown
}

/** Rows of a session in the order of the view, each with its replacements. */
export type ExportedRows = {
  readonly records: readonly (RowRecord | ReplacementRecord)[]
  /** The position after which the next rows follow; `undefined` when these were the last. */
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

/** The jobs of a session and its circuit, oldest job first. A job that runs is queued: its holder belongs to another store. */
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

/** Some sessions in the order of their insertion. */
export type SessionPage = {
  readonly sessions: readonly { readonly id: string; readonly messages: number }[]
  /** The place after which the next follow; `undefined` when these were the last. */
  readonly next: readonly number[] | undefined
}

/** Rows of a store that belong to no session: what was learned of models, receipts of purges, and notes of owners. */
export type StoreTable = 'calibrations' | 'limits' | 'receipts' | 'notes'
export type StoreRecord = { readonly [field: string]: string | number | null }
export type StoreRecords = {
  readonly records: readonly StoreRecord[]
  readonly next: readonly number[] | undefined
}

/** What a copied session gets with its name: its background, and the name and the value of the mark that it is a copy. */
export type CopiedSession = {
  readonly background: Background
  readonly mark: { readonly key: string; readonly value: string }
  /** The older copy that this one replaces, if it is still as it was copied. */
  readonly replaced?: {
    readonly isUnchanged: (found: ExportedHead) => boolean
    /** The temporary name, and its holder, under which it is then removed. */
    readonly aside: { readonly id: string; readonly holder: string; readonly expiresAt: number }
  }
}

/** Export and restore of whole sessions as records. Records have been checked and are written to an unlisted session. */
export interface Histories {
  /** The small and changing records, of one moment. Throws `SESSION_NOT_FOUND`. */
  head(id: string): Awaitable<ExportedHead>
  /** Some rows after a position (0: from the first). Throws `SESSION_NOT_FOUND` when the session was replaced. */
  rows(exported: ExportedHead, after: number): Awaitable<ExportedRows>

  /** Reserves numbers for the compactions of a session being restored, and returns the first. */
  reserve(importId: string, compactions: number): Awaitable<number>
  /** Writes rows with their tags. Throws `MESSAGE_ID_TAKEN`. */
  writeRows(restoring: Restoring, rows: readonly RestoredRow[]): Awaitable<void>
  /** Writes entries of the audit; returns their numbers. */
  writeAudit(restoring: Restoring, entries: readonly AuditRecord[]): Awaitable<number[]>
  /** Writes compactions, from an index of their list on; `undoneWith` has the numbers of the audit's entries. */
  writeCompactions(
    restoring: Restoring,
    from: number,
    compactions: readonly CompactionRecord[],
    undoneWith: readonly number[],
  ): Awaitable<void>
  /** Writes the rest: figures, operations, counters. */
  settle(restoring: Restoring): Awaitable<void>

  /** The sessions, archived ones too, oldest first. */
  sessions(after: readonly number[] | undefined, limit: number): Awaitable<SessionPage>
  /**
   * Names a restored session, which lists it, with what else a copy has; in place of an older copy if it names one. Returns `false`, and
   * does nothing, when that one has changed. Throws `SESSION_EXISTS`, `SESSION_NOT_FOUND`.
   */
  publish(restoring: Restoring, copied?: CopiedSession): Awaitable<boolean>
  /** The value of a mark; `undefined` when there is none. */
  mark(key: string): Awaitable<string | undefined>
  writeMark(key: string, value: string): Awaitable<void>
  /** Some rows of a table. */
  storeRecords(table: StoreTable, after: readonly number[] | undefined): Awaitable<StoreRecords>
  /** Adds rows that are not there; of what was learned, the later one is kept. Returns how many were written. */
  writeStoreRecords(table: StoreTable, records: readonly StoreRecord[]): Awaitable<number>
}
