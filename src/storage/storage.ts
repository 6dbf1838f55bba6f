import type { Json, JsonObject } from '../core/messages/json.ts'
import type { NewMessage, Part, PositionRange, StoredMessage, ViewMessage } from '../core/messages/message.ts'
import type { CompactionStatus, Coverage, Finding } from '../core/model/coverage.ts'
import type { ExpandedSummary } from '../core/model/expansion.ts'
import type { CompactionKind, PlannedStep } from '../core/model/plan.ts'
import type { ToolCall, ToolOutput } from '../core/model/tool-calls.ts'
import type { View } from '../core/model/view.ts'
import type { ViewRow } from '../core/model/view-row.ts'
import type { Estimate, Readings } from '../core/tokens/calibration.ts'
import type { Estimator } from '../core/tokens/estimators/estimator-schema.ts'
import type { Awaitable, Circuits, Histories, Jobs } from './jobs.ts'
import type { Notes } from './notes.ts'
import type { Past } from './past.ts'
import type {
  BilledTokens,
  FoundRequest,
  NewRequest,
  ReasoningRecord,
  RequestKey,
  RequestQuery,
  SessionPoint,
  StoredRequest,
} from './requests.ts'
import type { Searching } from './search.ts'
import type {
  Appended,
  AppendedMessage,
  Authorship,
  BroughtBack,
  FinishedImport,
  ForkRequest,
  ImportInProgress,
  KnownMessage,
  ListedSession,
  MessageCounts,
  MessageQuery,
  NewImport,
  Previewing,
  Purged,
  PurgeRequest,
  RewindOperation,
  RewindRequest,
  Rewound,
  RunStart,
  Session,
  SessionFields,
  SessionFigures,
  SessionQuery,
  SessionStats,
  Snapshot,
  SourceQuery,
  ToolCallQuery,
  Trigger,
} from './sessions.ts'

export * from './jobs.ts'
export * from './notes.ts'
export * from './past.ts'
export * from './requests.ts'
export * from './search.ts'
export * from './sessions.ts'

/*
 * The storage interface: whole methods, each one transaction. SQLite returns values, other databases return promises; callers await
 * both. Arguments have been checked and belong to the caller: a method reads all it needs of them before its first await. Every method
 * throws `STORE_CLOSED`, `STORE_BUSY`, `STORE_CORRUPT` and the like; other errors are listed at each.
 */

/** The recorded facts of a summary. */
export type SummaryRecord = {
  readonly summarizer: string
  readonly model?: string | undefined
  readonly promptVersion?: string | undefined
  readonly usage?: JsonObject | undefined
  readonly cost?: number | undefined
}

/** One step of a run, ready to commit. */
export type CommitStep = PlannedStep & {
  readonly id: string
  /** Milliseconds since 1970; also the time of the inserted row. */
  readonly createdAt: number
  readonly summary?: SummaryRecord | undefined
}

/** An attempt at a summary that ended without one. */
export type FailedAttempt = {
  readonly id: string
  readonly status: 'failed' | 'rejected' | 'aborted'
  readonly error: string
  /** Of the history, which the attempt did not change. */
  readonly tokens: number
  readonly summary: SummaryRecord
  /** `false` for one that ended before its model was called: it is not recorded. */
  readonly wasAsked?: false
}

/** A summary that is about to be requested. */
export type Attempt = {
  readonly id: string
  readonly view: View
  readonly rows: readonly ViewRow[]
  readonly summarizer: string
}

export type RunCommit = RunStart & {
  readonly steps: readonly CommitStep[]
  readonly failed: readonly FailedAttempt[]
}

/** A compaction in its public form. */
export type Compaction = {
  readonly id: string
  readonly runId: string
  readonly kind: CompactionKind
  readonly status: CompactionStatus
  readonly trigger: Trigger
  readonly actor: string | undefined
  readonly reason: string | undefined
  readonly params: { readonly [name: string]: Json | undefined }
  /** The hidden rows, exactly; replacing compactions hide none. */
  readonly coverage: Coverage
  /** Ids of the compactions that a rewind undoes; its undo redoes them. */
  readonly lifts?: readonly string[]
  /** Ids of the undone compactions that a rewind redoes; its undo undoes them again. */
  readonly restores?: readonly string[]
  readonly rowsHidden: number
  readonly partsReplaced: number
  readonly rowsInserted: number
  /** The replaced parts, in the order of the log; the originals are kept. */
  readonly replaced: readonly { readonly messageId: string; readonly part: number }[]
  /** The parts that it points to, such as the copy that survives a deduplication. */
  readonly requires: readonly { readonly messageId: string; readonly part: number }[]
  /** Ids of the inserted rows. */
  readonly insertedIds: readonly string[]
  /** Tokens of the history before and after it, by the session's estimator, for the provider of the run. */
  readonly tokensBefore: number
  readonly tokensAfter: number
  readonly summarizer: string | undefined
  readonly model: string | undefined
  readonly promptVersion: string | undefined
  readonly usage: JsonObject | undefined
  /** US dollars. */
  readonly cost: number | undefined
  /** A code or a short reason, never text of the conversation. */
  readonly error: string | undefined
  readonly createdAt: number
  readonly changedAt: number
  /** In a fork: the id of the compaction that it is a copy of; absent for others. */
  readonly copiedFrom?: string
}

/** An entry of the audit log. */
export type AuditEntry = {
  readonly no: number
  readonly event: string
  readonly compactionId: string | undefined
  readonly runId: string | undefined
  readonly at: number
  readonly actor: string | undefined
  readonly detail: JsonObject | undefined
}

export type UndoRequest = Authorship & {
  readonly cascade: boolean
  /** Whether a rewind is undone although messages were appended after it. */
  readonly both: boolean
  /** Set by an import whose source did the same; recorded in the audit. */
  readonly source?: string
}

/** What an undo or a redo did. */
export type UndoOutcome = {
  /** Whether anything was changed; a second undo changes nothing. */
  readonly changed: boolean
  /** Ids of the undone or redone compactions, in order. */
  readonly compactionIds: readonly string[]
  readonly rows: number
  readonly parts: number
  /** Ids of the compactions that rewinds among them undid or redid, in order; absent for none. */
  readonly alsoChanged?: readonly string[]
  /**
   * Members that the verb could not undo or redo, with their status: attempts that were never in force, and for a redo of a run the
   * members that its last undo did not undo. Absent for none.
   */
  readonly unchanged?: readonly { readonly compactionId: string; readonly status: CompactionStatus }[]
}

/** The kinds that may be undone, and the model of the figures. */
export type UndoWhileRequest = Authorship & {
  readonly kinds: readonly CompactionKind[]
  readonly provider: string
  readonly model: string
}

/** Whether a session would still meet a condition. */
export type SessionTest = (figures: SessionFigures, readings: Readings) => boolean

export type UndoWhileOutcome = UndoOutcome & {
  readonly readings: Readings
  readonly before: SessionFigures
  readonly after: SessionFigures
  /** The next one, which did not pass, with the figures that the session would have had. */
  readonly refused: { readonly compactionId: string; readonly figures: SessionFigures } | undefined
  /** Those of the requested kinds that compactions of other kinds build on. */
  readonly blocked: readonly string[]
}

/** A claim on a session, so that no other process requests the same summary from a model. */
export type Lease = { readonly runId: string; readonly holder: string; readonly expiresAt: number }

/** A limit in a provider's error, tokens: of input and output together, or of the input alone. */
export type NamedLimit = { readonly tokens: number; readonly kind: LimitKind }
export const LIMIT_KINDS = ['window', 'input'] as const
/** The kind of a limit: the whole context window (input and output), or the input alone. */
export type LimitKind = (typeof LIMIT_KINDS)[number]

/** A provider's report of a request. Providers have their canonical names; "no model" is the empty text. */
export type UsageReport = {
  readonly provider: string
  readonly model: string
  /** The whole input, tokens. */
  readonly tokens: number
  /** The last position in the request; `undefined`: all but the assistant's messages at the end. */
  readonly position: number | undefined
  /** The view of the request; `undefined`: the current one. */
  readonly viewEpoch: number | undefined
  /** Whether the request succeeded: only then it shows that a learned limit is wrong. */
  readonly wentThrough: boolean
  /** A limit in the same error, to learn with it. */
  readonly limit: NamedLimit | undefined
  /** Estimates of the rest of the request besides the history, tokens. */
  readonly standing: number
  readonly pending: number
  /** The billed tokens; `undefined` for a failed request. */
  readonly billed: BilledTokens | undefined
  /** When the provider reported it, milliseconds since 1970. Default: now. */
  readonly at?: number | undefined
  /** What was sent, to be recorded with it. */
  readonly request?: NewRequest | undefined
}

/** The billed tokens of a provider's model in a session: sums. */
export type ModelUsage = {
  readonly provider: string
  readonly model?: string
  readonly requests: number
  readonly inputTokens: number
  readonly cacheReadTokens: number
  readonly cacheCreationTokens: number
  readonly outputTokens: number
  /** The cached tokens of the last request of the view at that time, if reported. */
  readonly lastCacheReadTokens?: number
  readonly lastCacheCreationTokens?: number
  /** The time of the last report, milliseconds since 1970. */
  readonly at: number
}

/** The billed tokens of a session by provider and model, and the facts of each requested summary. */
export type RecordedUsage = {
  readonly models: readonly ModelUsage[]
  readonly summaries: readonly Pick<SummaryRecord, 'summarizer' | 'model' | 'usage' | 'cost'>[]
}

/** The result of a report. */
export type UsageOutcome = {
  /** False when the view has changed or is empty: then only the billed tokens count. */
  readonly recorded: boolean
  /** The estimate of the same request. */
  readonly estimate: Estimate | undefined
  readonly before: Readings
  readonly after: Readings
  /** Of the recorded request, if there was one. */
  readonly requestId?: string | undefined
}

/** A limit that was learned from an overflow error. */
export type LearnedLimit = NamedLimit & {
  readonly provider: string
  readonly model?: string
  /** Milliseconds since 1970. */
  readonly at: number
}

/**
 * A storage. Every method reads its arguments before its first `await`: callers may change them afterwards.
 */
export interface Storage {
  /** Creates a session. Throws `SESSION_EXISTS`. */
  createSession(id: string, fields: SessionFields, estimator: string): Awaitable<Session>
  session(id: string): Awaitable<Session | undefined>
  /** The figures of a session, and its readings for a model; `undefined` for an unknown session. */
  stats(id: string, provider: string, model: string): Awaitable<SessionStats | undefined>
  /** Throws `SESSION_NOT_FOUND`. */
  countMessages(id: string): Awaitable<MessageCounts>
  /**
   * In the order of `ListedSession.newestAt`, newest first; among equal ones the last inserted first. Throws `SESSION_NOT_FOUND` for an
   * unknown `after`, also of another owner.
   */
  listSessions(query: SessionQuery): Awaitable<ListedSession[]>
  /** The names of the estimators that sessions were counted with. */
  estimatorNames(): Awaitable<string[]>
  /** The id of the first session of the list of the archived ones or the others. */
  newestSession(archived: boolean): Awaitable<string | undefined>
  /** Creates a session that no list shows, with a lease whose run is its name. Throws `SESSION_EXISTS`. */
  beginImport(request: NewImport): Awaitable<Session>
  /** Names an imported session, which lists it. Throws `SESSION_EXISTS`, `SESSION_NOT_FOUND`. */
  finishImport(importId: string, id: string, finished: FinishedImport): Awaitable<Session>
  /** Removes some rows of an unfinished import; returns whether nothing of it is left. */
  discardImport(importId: string, rows: number): Awaitable<boolean>
  importsInProgress(): Awaitable<ImportInProgress[]>
  /** The newest message for each idempotency key, hidden or not; `undefined` for an unknown key and a message without one. Throws `SESSION_NOT_FOUND`. */
  knownMessages(id: string, messages: readonly NewMessage[]): Awaitable<(KnownMessage | undefined)[]>
  /** `undefined` fields keep their values, `null` clears. `updatedAt`: the time of the last change, default now. Throws `SESSION_NOT_FOUND`, also when the session is not open to `owner`. */
  updateSession(
    id: string,
    fields: SessionFields & { readonly updatedAt?: number },
    owner?: string,
  ): Awaitable<Session>
  archiveSession(id: string, archived: boolean): Awaitable<Session>
  /**
   * Copies a session at a moment: its rows and the compactions that exist then, without contents. Afterwards neither session sees
   * changes of the other. Throws `SESSION_NOT_FOUND`, `SESSION_EXISTS`.
   */
  fork(id: string, request: ForkRequest): Awaitable<Session>
  /** Appends the conclusion of a fork to a session, and records it in its audit. Throws `SESSION_NOT_FOUND`. */
  bringBack(id: string, message: NewMessage, how: BroughtBack): Awaitable<AppendedMessage>
  /** The direct forks of a session, oldest first. Throws `SESSION_NOT_FOUND`. */
  forks(id: string): Awaitable<Session[]>
  /** Removes a session permanently, also from the files, leaving a receipt. Throws `SESSION_NOT_FOUND`, `HAS_FORKS`. */
  purgeSession(id: string, request: PurgeRequest): Awaitable<Purged>

  /**
   * Adds messages at the end, all or none; creates the session if necessary. With `previewing` large tool outputs among them are
   * shortened in the same transaction; the view epoch stays. Throws
   * `POSITION_CONFLICT`, `IDEMPOTENCY_CONFLICT`, `MESSAGE_ID_TAKEN`, `ESTIMATOR_UNKNOWN`.
   */
  append(
    id: string,
    messages: readonly NewMessage[],
    expectedPosition: number | undefined,
    previewing?: Previewing,
  ): Awaitable<Appended>
  /**
   * Hides the end of the view from a row on, as one compaction of kind `manual`, and appends messages, in one transaction. Creates the
   * session when there is something to append. Throws `SESSION_NOT_FOUND`, `MESSAGE_NOT_FOUND`,
   * `STALE_PLAN` (the row is not visible, or the version has changed), `OPERATION_CONFLICT`, and what `append` throws.
   */
  rewind(id: string, request: RewindRequest, previewing?: Previewing): Awaitable<Rewound>
  /** The result of the rewind with this operation id; `undefined` when there was none. Throws `OPERATION_CONFLICT`. */
  rewound(id: string, operation: RewindOperation): Awaitable<Rewound | undefined>
  /** Stored rows with their tags. Throws `SESSION_NOT_FOUND`. */
  messages(id: string, query: MessageQuery): Awaitable<StoredMessage[]>
  /** The effective history, without the rows of these keys. Throws `SESSION_NOT_FOUND`. */
  view(id: string, provenance: boolean, without?: readonly number[]): Awaitable<ViewMessage[]>
  /** A call by its id, at a position or the newest; `undefined` for an unknown one. Throws `SESSION_NOT_FOUND`, `ESTIMATOR_UNKNOWN`. */
  toolOutput(id: string, callId: string, position: number | undefined): Awaitable<ToolOutput | undefined>
  /** Calls in the order of the log. Throws `SESSION_NOT_FOUND`, `ESTIMATOR_UNKNOWN`. */
  toolCalls(id: string, query: ToolCallQuery): Awaitable<ToolCall[]>
  /**
   * A summary, opened so many levels deep. Throws `SESSION_NOT_FOUND`, `MESSAGE_NOT_FOUND`, `ESTIMATOR_UNKNOWN`, and
   * `INVALID_INPUT` for a row that is not a summary.
   */
  expand(id: string, summaryId: string, depth: number): Awaitable<ExpandedSummary>
  /** The messages of the log that a summary represents, in order. Throws like `expand`, except for the estimator. */
  sources(id: string, summaryId: string, query: SourceQuery): Awaitable<StoredMessage[]>
  /** Pins or unpins; returns how many changed. Throws `SESSION_NOT_FOUND`, `MESSAGE_NOT_FOUND`. */
  pin(id: string, messageIds: readonly string[], pinned: boolean, authorship: Authorship): Awaitable<number>

  /** Throws `MESSAGE_NOT_FOUND` for the first id without a row in the session. */
  requireMessages(id: string, messageIds: readonly string[]): Awaitable<void>

  /** The input of planning, or `undefined` for an unknown session. Throws `ESTIMATOR_UNKNOWN`. */
  snapshot(id: string, provider: string): Awaitable<Snapshot | undefined>
  /** The parts of rows of a snapshot, originals, by key. */
  contents(id: string, keys: readonly number[]): Awaitable<ReadonlyMap<number, readonly Part[]>>
  /** The metadata of rows of a snapshot, by key. */
  metadata(id: string, keys: readonly number[]): Awaitable<ReadonlyMap<number, JsonObject>>
  /** The texts shown in place of parts, by key and part, of rows of a snapshot. */
  shownTexts(id: string, keys: readonly number[]): Awaitable<ReadonlyMap<number, ReadonlyMap<number, string>>>
  /**
   * Commits a run, all or nothing, and ends its job. Throws `STALE_PLAN`, also when its plans no longer obey the laws, and `ABORTED`
   * when the job no longer belongs to the run.
   */
  commit(snapshot: Snapshot, run: RunCommit, lease: Lease | undefined): Awaitable<void>

  /** The valid lease on a session, if there is one. */
  leaseInTheWay(id: string): Awaitable<Lease | undefined>
  /** Claims a session; returns the lease that prevents it, if there is one. */
  takeLease(id: string, lease: Lease): Awaitable<Lease | undefined>
  /** Extends a lease; `false` when it is no longer held. */
  renewLease(id: string, lease: Lease): Awaitable<boolean>
  /** Releases a lease. */
  releaseLease(id: string, lease: Lease): Awaitable<void>
  /** Records that a summary is being requested. */
  noteAttempt(snapshot: Snapshot, run: RunStart, attempt: Attempt): Awaitable<void>
  /**
   * Records the cost of an attempt so far, and its model; does nothing when the attempt no longer exists or was ended by its run.
   */
  noteAnswer(id: string, attemptId: string, summary: SummaryRecord): Awaitable<void>
  /** Records attempts that ended without a summary; does nothing when their session was purged. */
  endAttempts(snapshot: Snapshot, run: RunStart, ended: readonly FailedAttempt[]): Awaitable<void>

  /** Undoes a compaction or a run. Throws `COMPACTION_NOT_FOUND`, `HAS_ACTIVE_DEPENDENTS`. */
  undo(id: string, compactionOrRun: string, request: UndoRequest): Awaitable<UndoOutcome>
  /** Redoes a compaction or a run. Throws `COMPACTION_NOT_FOUND`, `INPUT_NOT_VISIBLE`. */
  redo(id: string, compactionOrRun: string, request: UndoRequest): Awaitable<UndoOutcome>
  /**
   * Undoes compactions, newest first, as long as the session meets a condition afterwards; in one transaction, so that a step that does
   * not meet it is never visible. Throws `SESSION_NOT_FOUND`.
   */
  undoWhile(id: string, request: UndoWhileRequest, passes: SessionTest): Awaitable<UndoWhileOutcome>
  compactions(
    id: string,
    query: { run?: string | undefined; id?: string | undefined },
  ): Awaitable<Compaction[]>
  auditLog(id: string, query: { after: number; limit: number }): Awaitable<AuditEntry[]>

  /** The reports and the calibration of a model for a session; empty for an unknown one. */
  readings(id: string, provider: string, model: string): Awaitable<Readings>
  /** Records the size of a request and its billed tokens. Throws `SESSION_NOT_FOUND`, `ESTIMATOR_UNKNOWN`. */
  recordUsage(id: string, usage: UsageReport): Awaitable<UsageOutcome>
  /** The last entry of the audit, read at one moment with the version of the session; `undefined` for an unknown session. */
  present(id: string): Awaitable<SessionPoint | undefined>
  /**
   * Records a request; returns its id, or `undefined` when its moment is not of this session. Throws `SESSION_NOT_FOUND`.
   */
  recordRequest(id: string, request: NewRequest): Awaitable<string | undefined>
  /**
   * Records the positions of the answer of a request that has none; returns whether it did. Positions that are not in the log, or not after
   * the moment of the request, are not recorded. Throws `SESSION_NOT_FOUND`, `REQUEST_NOT_FOUND`.
   */
  recordAnswer(id: string, request: string, answer: PositionRange): Awaitable<boolean>
  /** Oldest first. Throws `SESSION_NOT_FOUND`, and `REQUEST_NOT_FOUND` for an `after` that is not of this session. */
  requests(id: string, query: RequestQuery): Awaitable<StoredRequest[]>
  /** A request and what it was made of. Throws `SESSION_NOT_FOUND`, `REQUEST_NOT_FOUND`, `MESSAGE_NOT_FOUND`. */
  request(id: string, key: RequestKey): Awaitable<FoundRequest>
  /**
   * The newest answer whose request was recorded, and what happened since; with `whole`, or when there is none, all of them. Throws
   * `SESSION_NOT_FOUND`.
   */
  reasoning(id: string, whole: boolean): Awaitable<ReasoningRecord>
  /** The parts that the stage `cut` shortened in the view, by the positions of their messages. Throws `SESSION_NOT_FOUND`. */
  cutParts(id: string): Awaitable<ReadonlyMap<number, readonly number[]>>
  /** The billed tokens so far, by provider and model. Throws `SESSION_NOT_FOUND`. */
  usage(id: string): Awaitable<RecordedUsage>
  /**
   * Tokens of the last request in its provider's cache, from its report; `undefined` without one, for another model, and when the view
   * has changed since by anything but appends.
   */
  cachedTokens(id: string, provider: string, model: string): Awaitable<number | undefined>
  /** Records a limit; returns the lowest of its kind, which applies. */
  learnLimit(provider: string, model: string, limit: NamedLimit): Awaitable<number>
  /** Returns whether there was one. */
  forgetLimit(provider: string, model: string): Awaitable<boolean>
  limits(): Awaitable<LearnedLimit[]>

  /** Background jobs. */
  readonly jobs: Jobs
  /** Consecutive failures, and the cost of summaries. */
  readonly circuits: Circuits

  /** The search and its index. */
  readonly searching: Searching
  readonly notes: Notes

  /** Whole sessions as records: export and restore. */
  readonly histories: Histories

  /** Sessions as they were. */
  readonly past: Past

  verify(id: string, repair: boolean): Awaitable<{ findings: Finding[]; repaired: boolean }>
  /** Counts all rows again. Throws `SESSION_NOT_FOUND`. */
  reestimate(id: string, estimator: Estimator): Awaitable<Session>
  close(): Awaitable<void>
}

/** The estimators of a store by name, and the one of new sessions. */
export type Estimators = { readonly standard: Estimator; readonly byName: Map<string, Estimator> }
