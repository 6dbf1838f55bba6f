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
import type { Backup, BackupRequest } from './backup.ts'
import type { Awaitable, Circuits, Histories, Jobs, Lease } from './jobs.ts'
import type { Notes } from './notes.ts'
import type { Owned } from './owned.ts'
import type { Past } from './past.ts'
import type { Redaction } from './redaction.ts'
import type { Removals } from './removals.ts'
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
import type { Retention } from './retention.ts'
import type { Searching } from './search.ts'
import type {
  Also,
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
  MessageToWrite,
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
import type { Turns, TurnUse } from './turns.ts'

export type { Backup, BackupProgress, BackupRequest } from './backup.ts'
export * from './jobs.ts'
export * from './notes.ts'
export * from './owned.ts'
export * from './past.ts'
export * from './removals.ts'
export * from './requests.ts'
export * from './retention.ts'
export * from './search.ts'
export * from './sessions.ts'
export * from './turns.ts'

/*
 * The storage interface. Each method is one transaction. SQLite returns values, other databases return promises, and callers await both.
 * Arguments have been checked and belong to the caller, so a method reads them before its first await. Every method may throw
 * `STORE_CLOSED`, `STORE_BUSY`, `STORE_CORRUPT` and similar errors; other errors are listed at each method.
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

/** An attempt that ended without a summary. */
export type FailedAttempt = {
  readonly id: string
  readonly status: 'failed' | 'rejected' | 'aborted'
  readonly error: string
  /** The tokens of the history, which the attempt didn't change. */
  readonly tokens: number
  readonly summary: SummaryRecord
  /** `false` if the attempt ended before its model was called; then it isn't recorded. */
  readonly wasCalled?: false
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
  /** The exact set of hidden rows; compactions that replace parts hide none. */
  readonly coverage: Coverage
  /** The ids of the compactions that a rewind undoes; undoing the rewind redoes them. */
  readonly lifts?: readonly string[]
  /** The ids of the undone compactions that a rewind redoes; undoing the rewind undoes them again. */
  readonly restores?: readonly string[]
  readonly rowsHidden: number
  readonly partsReplaced: number
  readonly rowsInserted: number
  /** The replaced parts, in log order; their originals are kept. Parts of summaries have no position. */
  readonly replaced: readonly {
    readonly messageId: string
    readonly position?: number
    readonly part: number
  }[]
  /** The parts that it points to, such as the copy kept by a deduplication. */
  readonly requires: readonly { readonly messageId: string; readonly part: number }[]
  /** The ids of the inserted rows. */
  readonly insertedIds: readonly string[]
  /** The tokens of the history before and after the compaction, by the session's estimator, for the provider of the run. */
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
  /** The id of the compaction that a fork copied; absent if it isn't a copy. */
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
  /** Whether a rewind is undone even if messages were appended after it. */
  readonly both: boolean
  /** Whether messages are shown even if retention removed something of them. Default `false`. */
  readonly showRetired?: boolean
  /** The action in the source that an import repeats; recorded in the audit. */
  readonly source?: string
}

/** The result of an undo or a redo. */
export type UndoOutcome = {
  /** Whether anything was changed; a second undo changes nothing. */
  readonly changed: boolean
  /** The ids of the undone or redone compactions, in order. */
  readonly compactionIds: readonly string[]
  readonly rows: number
  readonly parts: number
  /** The ids of the compactions that rewinds among them undid or redid, in order; absent if there are none. */
  readonly alsoChanged?: readonly string[]
  /**
   * Members that couldn't be undone or redone, with their status: attempts that were never in force and, when a run is redone, the members
   * that its last undo didn't undo. Absent if there are none.
   */
  readonly unchanged?: readonly { readonly compactionId: string; readonly status: CompactionStatus }[]
}

/** The kinds that may be undone, and the provider and model of the figures. */
export type UndoWhileRequest = Authorship & {
  readonly kinds: readonly CompactionKind[]
  readonly provider: string
  readonly model: string
}

/** Returns whether a session with these figures would still meet a condition. */
export type SessionTest = (figures: SessionFigures, readings: Readings) => boolean

export type UndoWhileOutcome = UndoOutcome & {
  readonly readings: Readings
  readonly before: SessionFigures
  readonly after: SessionFigures
  /** The next compaction, whose undo failed the test, with the figures that the session would have had. */
  readonly refused: { readonly compactionId: string; readonly figures: SessionFigures } | undefined
  /** The ids of compactions of the requested kinds that compactions of other kinds build on. */
  readonly blocked: readonly string[]
}

/** A limit in a provider's error, in tokens. */
export type NamedLimit = { readonly tokens: number; readonly kind: LimitKind }
export const LIMIT_KINDS = ['window', 'input'] as const
/** The kind of a limit: the whole context window (input and output), or the input alone. */
export type LimitKind = (typeof LIMIT_KINDS)[number]

/** A provider's report of a request. Providers have their canonical names; if there is no model, its name is empty. */
export type UsageReport = {
  readonly provider: string
  readonly model: string
  /** The tokens of the whole input. */
  readonly tokens: number
  /** The last position in the request; `undefined`: all messages except the trailing assistant messages. */
  readonly position: number | undefined
  /** The epoch of the view that was sent; `undefined`: the current one. */
  readonly viewEpoch: number | undefined
  /** Whether the request succeeded. Only then can it disprove a learned limit. */
  readonly wasAccepted: boolean
  /** A limit from the same error, to be learned. */
  readonly limit: NamedLimit | undefined
  /** Estimates, in tokens, of the parts of the request other than the history. */
  readonly standing: number
  readonly pending: number
  /** The billed tokens; `undefined` for a failed request. */
  readonly billed: BilledTokens | undefined
  /** The time of the provider's report, in milliseconds since 1970. Default: now. */
  readonly at?: number | undefined
  /** The request as sent, to be recorded with the report. */
  readonly request?: NewRequest | undefined
}

/** The billed tokens of a provider's model in a session, as sums. */
export type ModelUsage = {
  readonly provider: string
  readonly model?: string
  readonly requests: number
  readonly inputTokens: number
  readonly cacheReadTokens: number
  readonly cacheCreationTokens: number
  readonly outputTokens: number
  /** The cached tokens of the last request, for its view, if reported. */
  readonly lastCacheReadTokens?: number
  readonly lastCacheCreationTokens?: number
  /** The time of the last report, in milliseconds since 1970. */
  readonly at: number
}

/** The billed tokens of a session by provider and model, and the facts of each requested summary. */
export type RecordedUsage = {
  readonly models: readonly ModelUsage[]
  readonly summaries: readonly Pick<SummaryRecord, 'summarizer' | 'model' | 'usage' | 'cost'>[]
}

/** Which requests and compactions to add up: of a session or of all that are seen, from a time up to another. */
export type CostsQuery = {
  readonly session: string | undefined
  readonly from: number
  readonly to: number
  /** How much earlier than in UTC a day begins. */
  readonly offsetMs: number
}

/** Billed requests and compactions by day, in days since 1970. */
export type RecordedCosts = {
  /** `at`: the time of the last request. */
  readonly requests: readonly ({ readonly day: number } & Omit<
    ModelUsage,
    'lastCacheReadTokens' | 'lastCacheCreationTokens'
  >)[]
  /** The compactions that were applied, and what they saved; the cost as far as it was reported, including failed attempts. */
  readonly compactions: readonly {
    readonly day: number
    readonly summarizer?: string
    readonly model?: string
    readonly compactions: number
    readonly tokensSaved: number
    readonly cost?: number
  }[]
  /** The summaries with reported tokens and no reported cost. */
  readonly summaries: readonly ({ readonly day: number; readonly at: number } & Pick<
    SummaryRecord,
    'summarizer' | 'model' | 'usage'
  >)[]
}

/** The result of a report. */
export type UsageOutcome = {
  /** `false` if the view has changed or is empty; then only the billed tokens count. */
  readonly recorded: boolean
  /** The estimate of the same request. */
  readonly estimate: Estimate | undefined
  readonly before: Readings
  readonly after: Readings
  /** The id of the recorded request, if there was one. */
  readonly requestId?: string | undefined
}

/** A limit that was learned from an overflow error. */
export type LearnedLimit = NamedLimit & {
  readonly provider: string
  readonly model?: string
  /** Milliseconds since 1970. */
  readonly at: number
}

/** A storage. Every method reads its arguments before its first `await`, so callers may change them afterwards. */
export interface Storage {
  /** Returns the same storage for an owner, who sees no session of others; with `null` for sessions without an owner. */
  seenBy(seen: string | null): Storage
  /**
   * What changes texts before they are written, if the store redacts (redacting.ts). Texts of plans pass it before they are measured; all
   * others within the methods.
   */
  readonly redaction?: Redaction | undefined
  /** Creates a session. Throws `SESSION_EXISTS`. */
  createSession(id: string, fields: SessionFields, estimator: string): Awaitable<Session>
  session(id: string): Awaitable<Session | undefined>
  /** Returns the figures of a session and its readings for a model; `undefined` for an unknown session. */
  stats(id: string, provider: string, model: string): Awaitable<SessionStats | undefined>
  /** Returns the numbers of a session's rows. Throws `SESSION_NOT_FOUND`. */
  countMessages(id: string): Awaitable<MessageCounts>
  /**
   * Returns sessions in the order of `ListedSession.newestAt`, newest first; of equal ones, the last inserted comes first. Throws
   * `SESSION_NOT_FOUND` if `after` is unknown or belongs to another owner.
   */
  listSessions(query: SessionQuery): Awaitable<ListedSession[]>
  /** Returns the names of the estimators that sessions were counted with. */
  estimatorNames(): Awaitable<string[]>
  /** Returns the id of the first session in the list of archived or of other sessions. */
  newestSession(archived: boolean): Awaitable<string | undefined>
  /** Creates a session that no list shows, with a lease whose run is its name. Throws `SESSION_EXISTS`. */
  beginImport(request: NewImport): Awaitable<Session>
  /** Gives an imported session its name, which lists it. Throws `SESSION_EXISTS`, `SESSION_NOT_FOUND`. */
  finishImport(importId: string, id: string, finished: FinishedImport): Awaitable<Session>
  /** Removes some rows of an unfinished import; returns whether nothing is left of it. */
  discardImport(importId: string, rows: number): Awaitable<boolean>
  importsInProgress(): Awaitable<ImportInProgress[]>
  /**
   * Returns the newest message for each idempotency key, hidden or not; `undefined` for an unknown key, and for a message without a key.
   * Throws `SESSION_NOT_FOUND`.
   */
  knownMessages(id: string, messages: readonly NewMessage[]): Awaitable<(KnownMessage | undefined)[]>
  /**
   * Updates the fields of a session: `undefined` keeps a value, `null` clears it. `updatedAt` is the time of the last change (default:
   * now). Throws `SESSION_NOT_FOUND`, and `SESSION_EXISTS` if the new owner has a session with this id.
   */
  updateSession(id: string, fields: SessionFields & { readonly updatedAt?: number }): Awaitable<Session>
  archiveSession(id: string, archived: boolean): Awaitable<Session>
  /**
   * Copies a session as of a moment: its rows and the compactions that exist then, without contents. Later changes to one session don't
   * affect the other. Throws `SESSION_NOT_FOUND`, `SESSION_EXISTS`.
   */
  fork(id: string, request: ForkRequest): Awaitable<Session>
  /** Appends the conclusion of a fork to a session, and records it in its audit. Throws `SESSION_NOT_FOUND`. */
  bringBack(id: string, message: MessageToWrite, how: BroughtBack): Awaitable<AppendedMessage>
  /** Returns the direct forks of a session, oldest first. Throws `SESSION_NOT_FOUND`. */
  forks(id: string): Awaitable<Session[]>
  /** Removes a session permanently, including from the files, and leaves a receipt. Throws `SESSION_NOT_FOUND`, `HAS_FORKS`. */
  purgeSession(id: string, request: PurgeRequest): Awaitable<Purged>

  /**
   * Appends messages, all or none; creates the session if necessary. With `previewing`, large tool outputs among them are shortened in the
   * same transaction, which doesn't change the view epoch. `also` is called at its end, if a message is new. With `turn`, nothing is
   * written unless that turn holds the session, and its draft is removed. Throws `POSITION_CONFLICT`, `IDEMPOTENCY_CONFLICT`,
   * `MESSAGE_ID_TAKEN`, `ESTIMATOR_UNKNOWN`, `TURN_LOST`, and `ThrownByAlso`.
   */
  append(
    id: string,
    messages: readonly MessageToWrite[],
    expectedPosition: number | undefined,
    previewing?: Previewing,
    also?: Also,
    turn?: TurnUse,
  ): Awaitable<Appended>
  /**
   * Hides the end of the view, from a row on, as one compaction of kind `manual`, and appends messages, in one transaction. Creates the
   * session if there is something to append. Throws `SESSION_NOT_FOUND`, `MESSAGE_NOT_FOUND`, `STALE_PLAN` (the row isn't visible, or the
   * version has changed), `OPERATION_CONFLICT`, and the errors of `append`.
   */
  rewind(id: string, request: RewindRequest, previewing?: Previewing): Awaitable<Rewound>
  /** Returns the result of the rewind with this operation id; `undefined` if there was none. Throws `OPERATION_CONFLICT`. */
  rewound(id: string, operation: RewindOperation): Awaitable<Rewound | undefined>
  /** Returns stored rows with their tags. Throws `SESSION_NOT_FOUND`. */
  messages(id: string, query: MessageQuery): Awaitable<StoredMessage[]>
  /** Returns the view, without the rows with the given keys. Throws `SESSION_NOT_FOUND`. */
  view(id: string, provenance: boolean, without?: readonly number[]): Awaitable<ViewMessage[]>
  /**
   * Returns a call by its id, the one at a position or the newest; `undefined` if it is unknown. Throws `SESSION_NOT_FOUND`,
   * `ESTIMATOR_UNKNOWN`.
   */
  toolOutput(id: string, callId: string, position: number | undefined): Awaitable<ToolOutput | undefined>
  /** Returns calls in log order. Throws `SESSION_NOT_FOUND`, `ESTIMATOR_UNKNOWN`. */
  toolCalls(id: string, query: ToolCallQuery): Awaitable<ToolCall[]>
  /**
   * Returns a summary, expanded `depth` levels deep. Throws `SESSION_NOT_FOUND`, `MESSAGE_NOT_FOUND`, `ESTIMATOR_UNKNOWN`, and
   * `INVALID_INPUT` for a row that isn't a summary.
   */
  expand(id: string, summaryId: string, depth: number): Awaitable<ExpandedSummary>
  /** Returns the messages of the log that a summary represents, in order. Throws the errors of `expand`, except for the estimator's. */
  sources(id: string, summaryId: string, query: SourceQuery): Awaitable<StoredMessage[]>
  /** Pins or unpins rows; returns the number of changed rows. Throws `SESSION_NOT_FOUND`, `MESSAGE_NOT_FOUND`. */
  pin(id: string, messageIds: readonly string[], pinned: boolean, authorship: Authorship): Awaitable<number>

  /** Throws `MESSAGE_NOT_FOUND` for the first id without a row in the session. */
  requireMessages(id: string, messageIds: readonly string[]): Awaitable<void>

  /** Returns the input of planning; `undefined` for an unknown session. Throws `ESTIMATOR_UNKNOWN`. */
  snapshot(id: string, provider: string): Awaitable<Snapshot | undefined>
  /** Returns the original parts of rows of a snapshot, by key. */
  contents(id: string, keys: readonly number[]): Awaitable<ReadonlyMap<number, readonly Part[]>>
  /** Returns the metadata of rows of a snapshot, by key. */
  metadata(id: string, keys: readonly number[]): Awaitable<ReadonlyMap<number, JsonObject>>
  /** Returns the texts that rows of a snapshot show in place of their parts, by key and part. */
  shownTexts(id: string, keys: readonly number[]): Awaitable<ReadonlyMap<number, ReadonlyMap<number, string>>>
  /**
   * Commits a run, all or nothing, and ends its job. Throws `STALE_PLAN`, also if its plans no longer obey the laws, and `ABORTED` if the
   * job no longer belongs to the run.
   */
  commit(snapshot: Snapshot, run: RunCommit, lease: Lease | undefined): Awaitable<void>

  /** Returns the valid lease on a session, if any. */
  leaseInTheWay(id: string): Awaitable<Lease | undefined>
  /** Claims a session; returns the lease that prevents it, if any. */
  takeLease(id: string, lease: Lease): Awaitable<Lease | undefined>
  /** Extends a lease; returns `false` if it is no longer held. */
  renewLease(id: string, lease: Lease): Awaitable<boolean>
  /** Releases a lease. */
  releaseLease(id: string, lease: Lease): Awaitable<void>
  /** Records that a summary is being requested. */
  noteAttempt(snapshot: Snapshot, run: RunStart, attempt: Attempt): Awaitable<void>
  /** Records the cost of an attempt so far, and its model. Does nothing if the attempt no longer exists or its run has ended it. */
  noteAnswer(id: string, attemptId: string, summary: SummaryRecord): Awaitable<void>
  /** Records attempts that ended without a summary; does nothing if their session was purged. */
  endAttempts(snapshot: Snapshot, run: RunStart, ended: readonly FailedAttempt[]): Awaitable<void>

  /** Undoes a compaction or a run. Throws `COMPACTION_NOT_FOUND`, `HAS_ACTIVE_DEPENDENTS`, `CONTENT_RETIRED`. */
  undo(id: string, compactionOrRun: string, request: UndoRequest): Awaitable<UndoOutcome>
  /** Redoes a compaction or a run. Throws `COMPACTION_NOT_FOUND`, `INPUT_NOT_VISIBLE`, `CONTENT_RETIRED`. */
  redo(id: string, compactionOrRun: string, request: UndoRequest): Awaitable<UndoOutcome>
  /**
   * Undoes compactions, newest first, while the session meets a condition afterwards. All of this is one transaction, so a step that fails
   * the condition is never visible. Throws `SESSION_NOT_FOUND`.
   */
  undoWhile(id: string, request: UndoWhileRequest, passes: SessionTest): Awaitable<UndoWhileOutcome>
  compactions(
    id: string,
    query: { run?: string | undefined; id?: string | undefined },
  ): Awaitable<Compaction[]>
  auditLog(id: string, query: { after: number; limit: number }): Awaitable<AuditEntry[]>

  /** Returns the reports and the calibration of a model for a session; empty for an unknown session. */
  readings(id: string, provider: string, model: string): Awaitable<Readings>
  /** Records the size of a request and its billed tokens. Throws `SESSION_NOT_FOUND`, `ESTIMATOR_UNKNOWN`. */
  recordUsage(id: string, usage: UsageReport): Awaitable<UsageOutcome>
  /** Returns the number of the audit's last entry, read together with the version of the session; `undefined` for an unknown session. */
  present(id: string): Awaitable<SessionPoint | undefined>
  /** Records a request; returns its id, or `undefined` if its moment isn't in this session. Throws `SESSION_NOT_FOUND`. */
  recordRequest(id: string, request: NewRequest): Awaitable<string | undefined>
  /**
   * Records the positions of a request's answer, if it has none yet; returns whether it did. Positions that aren't in the log, or not after
   * the moment of the request, aren't recorded. Throws `SESSION_NOT_FOUND`, `REQUEST_NOT_FOUND`.
   */
  recordAnswer(id: string, request: string, answer: PositionRange): Awaitable<boolean>
  /** Returns requests. Throws `SESSION_NOT_FOUND`, and `REQUEST_NOT_FOUND` if `after` or `before` isn't an id of this session. */
  requests(id: string, query: RequestQuery): Awaitable<StoredRequest[]>
  /** Returns a request with its texts, messages and view. Throws `SESSION_NOT_FOUND`, `REQUEST_NOT_FOUND`, `MESSAGE_NOT_FOUND`. */
  request(id: string, key: RequestKey): Awaitable<FoundRequest>
  /**
   * Returns the newest answer whose request was recorded, and the events since; all answers and events with `whole` or if there is no such
   * answer. Throws `SESSION_NOT_FOUND`.
   */
  reasoning(id: string, whole: boolean): Awaitable<ReasoningRecord>
  /** Returns the parts that the stage `cut` shortened in the view, by the positions of their messages. Throws `SESSION_NOT_FOUND`. */
  cutParts(id: string): Awaitable<ReadonlyMap<number, readonly number[]>>
  /** Returns the billed tokens so far, by provider and model. Throws `SESSION_NOT_FOUND`. */
  usage(id: string): Awaitable<RecordedUsage>
  /** Returns sums over billed requests and over compactions, by day. Throws `SESSION_NOT_FOUND`. */
  costs(query: CostsQuery): Awaitable<RecordedCosts>
  /**
   * Returns the number of tokens that the last request left in the provider's cache, from its report. Returns `undefined` without a report,
   * for another model, and if the view has changed since other than by appends.
   */
  cachedTokens(id: string, provider: string, model: string): Awaitable<number | undefined>
  /** Records a limit; returns the lowest one of its kind, which applies. */
  learnLimit(provider: string, model: string, limit: NamedLimit): Awaitable<number>
  /** Removes the learned limits of a model; returns whether there were any. */
  forgetLimit(provider: string, model: string): Awaitable<boolean>
  limits(): Awaitable<LearnedLimit[]>

  /** Background jobs. */
  readonly jobs: Jobs
  /** Consecutive failures, and the cost of summaries. */
  readonly circuits: Circuits

  /** The search and its index. */
  readonly searching: Searching
  readonly notes: Notes
  /** Removing texts from what is stored. */
  readonly removals: Removals
  /** Removal by age and size. */
  readonly retention: Retention
  readonly owned: Owned
  /** Turns, drafts of answers, and tool calls that were begun. */
  readonly turns: Turns

  /** Export and restore of whole sessions as records. */
  readonly histories: Histories

  /** Sessions at moments of the past. */
  readonly past: Past

  verify(id: string, repair: boolean): Awaitable<{ findings: Finding[]; repaired: boolean }>
  /** Recounts all rows with an estimator. Throws `SESSION_NOT_FOUND`. */
  reestimate(id: string, estimator: Estimator): Awaitable<Session>
  /**
   * Copies the whole database to a file as of one moment, while others write. Absent if the engine has tools of its own for this. Throws
   * `FILE_EXISTS`, `FILE_UNWRITABLE`, `STORE_FULL`, `BACKUP_ABORTED`, and `INVALID_INPUT` if the path is the store itself; then nothing is left.
   */
  backup?(request: BackupRequest): Promise<Backup>
  close(): Awaitable<void>
}

/** The estimators of a store by name, and the one for new sessions. */
export type Estimators = { readonly standard: Estimator; readonly byName: Map<string, Estimator> }
