import type { ToolOutputLimits } from '../files/tool-output/message-previews.ts'
import type { Json, JsonObject } from '../messages/json.ts'
import type { NewMessage, Part, StoredMessage, ViewMessage } from '../messages/message.ts'
import type { Coverage, Finding } from '../model/coverage.ts'
import type { ExpandedSummary } from '../model/expansion.ts'
import type { CompactionStatus } from '../model/nesting.ts'
import type { CompactionKind, PlannedStep } from '../model/plan.ts'
import type { ToolCall, ToolOutput } from '../model/tool-calls.ts'
import type { View } from '../model/view.ts'
import type { ViewRow } from '../model/view-row.ts'
import type { Estimate, Readings } from '../tokens/calibration.ts'
import type { Estimator } from '../tokens/estimators/estimator-schema.ts'
import type { Sizes } from '../tokens/tokens.ts'
import type { Awaitable, Circuits, Histories, Jobs, RunOfJob } from './jobs.ts'

export type { ExportedHead, ExportedRows, Histories, RestoredRow, Restoring } from './jobs.ts'

export {
  type Circuit,
  type Circuits,
  type ClaimedJob,
  JOB_STATES,
  type Job,
  type JobClaim,
  type JobEnd,
  type JobRequest,
  type JobState,
  type Jobs,
  type NewJob,
  type RunOfJob,
  type Spending,
} from './jobs.ts'

/*
 * The port: whole verbs, each one transaction. SQLite answers at once, other databases with a promise; whoever
 * calls awaits. What comes in was checked at the door, and is the caller's: a verb reads all it needs of it before its first await. Every verb throws `STORE_CLOSED`, `STORE_BUSY`,
 * `STORE_CORRUPT` and its like; what else is said at each.
 */
/** Why a run was started. */
export const TRIGGERS = ['manual', 'auto', 'overflow', 'import', 'provider'] as const
export type Trigger = (typeof TRIGGERS)[number]

/** A session with its counters. */
export type Session = {
  readonly id: string
  /** New at each creation, so that a purged and recreated id is another session. */
  readonly incarnation: string
  readonly owner: string | undefined
  readonly title: string | undefined
  readonly provider: string | undefined
  readonly model: string | undefined
  readonly config: JsonObject | undefined
  readonly metadata: JsonObject | undefined
  readonly estimator: string
  /** Milliseconds since 1970. */
  readonly createdAt: number
  readonly updatedAt: number
  readonly archivedAt: number | undefined
  /** Messages in the log, which is also the last position. */
  readonly messageCount: number
  /** Rows of the view, inserted ones included. */
  readonly visibleCount: number
  /** Sizes of the visible rows, replacements applied. */
  readonly visibleSizes: Sizes
  readonly hidden: { readonly condensed: number; readonly truncated: number; readonly byHand: number }
  readonly activeCompactions: number
  /** Automatic compactions that a user undid since one was made last. */
  readonly undoneAutomatic: number
  readonly version: number
  readonly viewEpoch: number
}

/** The rows of a session, by what they say. */
export type MessageCounts = {
  /** Messages of the log that say something, hidden ones included. */
  readonly messages: number
  /** Rows of the log that keep something and are sent nowhere: an agent's own bookkeeping. */
  readonly bookkeeping: number
  /** Rows of the view that say something, inserted ones included. */
  readonly visible: number
}

/** What stats are made of: counters, and whose figures they are. */
export type SessionFigures = Pick<
  Session,
  | 'provider'
  | 'model'
  | 'config'
  | 'estimator'
  | 'messageCount'
  | 'visibleCount'
  | 'visibleSizes'
  | 'hidden'
  | 'activeCompactions'
  | 'undoneAutomatic'
  | 'viewEpoch'
>

export type SessionFields = {
  readonly owner?: string | null | undefined
  readonly title?: string | null | undefined
  readonly provider?: string | null | undefined
  readonly model?: string | null | undefined
  readonly config?: JsonObject | null | undefined
  readonly metadata?: JsonObject | null | undefined
}

/** A session about to be brought in, written in batches and listed only when it is whole. */
export type StagedSession = StagedFields & {
  /** What it is called until then: nobody else's name. */
  readonly id: string
  /** Who brings it in, see `LEASE_HOLDER`, and until when that counts unless it is renewed; milliseconds since 1970. */
  readonly holder: string
  readonly expiresAt: number
}

/** What such a session is made with. */
export type StagedFields = {
  readonly fields: SessionFields
  readonly estimator: string
  /** The first of these that no session has, where it was a session of a store before. */
  readonly incarnations?: readonly string[] | undefined
}

/** A session that is on its way. */
export type Staged = {
  readonly id: string
  readonly holder: string
  /** When its lease ends; where it has none, when something was last written to it. Milliseconds since 1970. */
  readonly expiresAt: number
}

/** What a staged session gets with its name. */
export type StagedWith = {
  readonly fields?: SessionFields | undefined
  /** Milliseconds since 1970; as it is when absent. */
  readonly createdAt?: number | undefined
  readonly updatedAt?: number | undefined
  /** A row of the audit. */
  readonly audit?: {
    readonly event: string
    readonly actor?: string | undefined
    readonly detail?: JsonObject | undefined
  }
}

/**
 * A message of a session that came with an idempotency key, and whether it says the same: by role and content, and one without any content
 * by its metadata too.
 */
export type KnownMessage = { readonly position: number; readonly same: boolean }

export type SessionQuery = {
  readonly owner: string | undefined
  readonly archived: boolean
  readonly limit: number
  /** The id of the session after which to go on. */
  readonly after: string | undefined
  /** What the id or the title contains, in whatever case. */
  readonly search: string | undefined
}

export type AppendedMessage = {
  readonly id: string
  readonly position: number
  /** Whether the idempotency key was known and nothing was written for it. */
  readonly existing: boolean
}

/** What an append shows of large tool outputs: head and tail, as one compaction of kind `preview`. */
export type AppendPreview = {
  readonly compactionId: string
  readonly runId: string
  /** How many outputs. */
  readonly parts: number
  /** Tokens of history it saves, by the session's estimator for its provider. */
  readonly savedTokens: number
}

export type Appended = {
  /** One entry a message, in order. */
  readonly messages: AppendedMessage[]
  /** Absent when no output among those written was large. */
  readonly preview?: AppendPreview
}

/** What a session says of itself that settings are made of. */
export type SessionSaid = Pick<Session, 'config' | 'provider' | 'model'>

/** What the compaction of an append is called, and for whom its tokens are told. */
export type PreviewRun = RunStart & { readonly id: string; readonly provider: string }

/** How an append shows large tool outputs. */
export type Previewing = {
  /** The limits for a session with this config; `undefined` when its outputs are shown as they are. */
  limitsFor(config: JsonObject | undefined): ToolOutputLimits | undefined
  /** Asked once there is something to show so. */
  begin(session: SessionSaid): PreviewRun
}

/** From where on a rewind hides: the first message, a certain row, or none. */
export type RewindPoint = 'start' | 'end' | { readonly messageId: string }

/** An id of the caller's, and a digest of what is asked for under it. */
export type RewindOperation = { readonly id: string; readonly digest: string }

/** What a rewind does, and what must be true for it. */
export type RewindRequest = {
  readonly from: RewindPoint
  /** Whether compactions that lie entirely before the point stay as they are. */
  readonly keepCompactions: boolean
  readonly append: readonly NewMessage[]
  readonly expectedPosition: number | undefined
  /** The session that `from` and `append` were made for, `null` when there was none; absent when they hold whatever it is now. */
  readonly madeFor: Pick<Session, 'incarnation' | 'version'> | null | undefined
  readonly operation: RewindOperation | undefined
  /** What the compaction that hides is called. */
  readonly compactionId: string
  readonly run: RunStart
  /** For whom its tokens are told. */
  readonly provider: string
}

/** What a rewind did. */
export type Rewound = Appended & {
  /** The compaction that hides; absent when nothing was hidden. */
  readonly compactionId?: string
  readonly rowsHidden: number
  /** Whether the operation was known and nothing was done. */
  readonly existing: boolean
}

export type MessageQuery = {
  /** Only positions behind this one. */
  readonly after: number | undefined
  /** Only positions before this one. */
  readonly before: number | undefined
  /** Most messages of the log. */
  readonly limit: number | undefined
  readonly order: 'forward' | 'backward'
  /** Whether rows come with the texts they show in place of parts. */
  readonly shown?: boolean | undefined
  /** Only rows of the view. A page is made of the same positions, and hidden rows among them are not read. */
  readonly visible?: boolean | undefined
}

export type ToolCallQuery = {
  /** Only calls behind this position. */
  readonly after: number
  /** The message in which so many calls are reached is the last one of a page. */
  readonly limit: number
}

export type SourceQuery = {
  /** Only messages behind this position. */
  readonly after: number
  /** Most messages. */
  readonly limit: number | undefined
}

/** The view's index at one moment, and what a plan made on it must name to be committed. */
export type Snapshot = {
  readonly session: Session
  readonly view: View
  /** The ordinal the next inserted row gets. */
  readonly nextOrdinal: number
}

/** Who did something, and why. */
export type Authorship = { readonly actor: string | undefined; readonly reason: string | undefined }

/** With `clearFiles: false` the files are cleared later, with the next removal that clears them or when the store is closed. */
export type PurgeRequest = Authorship & { readonly clearFiles: boolean }

/** What a purge removed. */
export type Purged = {
  readonly messages: number
  readonly compactions: number
  readonly blobs: number
  /** Only there when parts of the session may still be readable in the files: another connection kept them, or the disk is full. */
  readonly filesCleared?: false
}

/** What is noted of a summary. */
export type SummaryRecord = {
  readonly summarizer: string
  readonly model?: string | undefined
  readonly promptVersion?: string | undefined
  readonly usage?: JsonObject | undefined
  readonly cost?: number | undefined
}

/** One step of a run, ready to be committed. */
export type CommitStep = PlannedStep & {
  readonly id: string
  /** Milliseconds since 1970; the inserted row carries it too. */
  readonly createdAt: number
  readonly summary?: SummaryRecord | undefined
}

/** An attempt at a summary that ended without one. */
export type FailedAttempt = {
  readonly id: string
  readonly status: 'failed' | 'rejected' | 'aborted'
  readonly error: string
  readonly tokensBefore: number
  readonly tokensAfter: number
  /** What the summary was to stand for. */
  readonly coveredTokens: number
  readonly summary: SummaryRecord
  /** `false` for one that ended before its model was asked: it is in no record. */
  readonly wasAsked?: false
}

/** What a run is called, and who asked for it. */
export type RunStart = Authorship & {
  readonly runId: string
  readonly trigger: Trigger
  /** The job it is made for, if it is. */
  readonly job?: RunOfJob | undefined
}

/** A summary about to be asked for. */
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

/** A compaction as people see it. */
export type Compaction = {
  readonly id: string
  readonly runId: string
  readonly kind: CompactionKind
  readonly status: CompactionStatus
  readonly trigger: Trigger
  readonly actor: string | undefined
  readonly reason: string | undefined
  readonly params: { readonly [name: string]: Json | undefined }
  /** Which rows it hid, exactly; replacing compactions hide none. */
  readonly coverage: Coverage
  /** Ids of the compactions that a rewind takes out of force; its undo puts them back. */
  readonly lifts?: readonly string[]
  /** Ids of the compactions, undone meanwhile, that a rewind brings back into force; its undo undoes them again. */
  readonly restores?: readonly string[]
  readonly rowsHidden: number
  readonly partsReplaced: number
  readonly rowsInserted: number
  /** Which parts it shows another text for, in the order of the log; the originals are kept. */
  readonly replaced: readonly { readonly messageId: string; readonly part: number }[]
  /** Which parts it leans on, such as the copy that survives a deduplication. */
  readonly requires: readonly { readonly messageId: string; readonly part: number }[]
  /** Ids of the rows it inserted. */
  readonly insertedIds: readonly string[]
  /** Tokens of the history around it, by the session's estimator, for the provider of the run. */
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
}

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
  /** The import that asks for it, since its source's system did the same; the audit's detail says so. */
  readonly source?: string
}

/** What an undo or a redo did. */
export type UndoOutcome = {
  /** Whether anything was changed; a second undo changes nothing. */
  readonly changed: boolean
  /** Ids of the compactions taken out of force or put back, in the order it was done. */
  readonly compactionIds: readonly string[]
  readonly rows: number
  readonly parts: number
  /** Ids of the compactions that rewinds among them turned with themselves, in the order it was done; absent for none. */
  readonly turnedWith?: readonly string[]
  /**
   * What the id names and the verb could not turn, and its status: attempts that were never in force, and, at a redo by the id of a
   * run, members that its last undo did not undo. Absent for none.
   */
  readonly notTurned?: readonly { readonly compactionId: string; readonly status: CompactionStatus }[]
}

/** Which compactions may be taken out of force, and for which model figures are read. */
export type UndoWhileRequest = Authorship & {
  readonly kinds: readonly CompactionKind[]
  readonly provider: string
  readonly model: string
}

/** Says whether a session, as it would be, is still as it must be. */
export type SessionTest = (figures: SessionFigures, readings: Readings) => boolean

export type UndoWhileOutcome = UndoOutcome & {
  readonly readings: Readings
  readonly before: SessionFigures
  readonly after: SessionFigures
  /** The one that would have been next and did not pass, and the session as it would have been. */
  readonly refused: { readonly compactionId: string; readonly figures: SessionFigures } | undefined
  /** Those of the kinds asked for that others in force build on, of kinds not asked for. */
  readonly blocked: readonly string[]
}

/** A claim on a session: nobody else asks a model for the same summary. */
export type Lease = { readonly runId: string; readonly holder: string; readonly expiresAt: number }

/** A limit as a provider names it, tokens: of question and answer together, or of the question alone. */
export type NamedLimit = { readonly tokens: number; readonly kind: LimitKind }
export const LIMIT_KINDS = ['window', 'input'] as const
export type LimitKind = (typeof LIMIT_KINDS)[number]

/** What a provider reported of a request. Providers go by their one name, "no model" is the empty text. */
export type UsageReport = {
  readonly provider: string
  readonly model: string
  /** The whole input, tokens. */
  readonly tokens: number
  /** The last position that was in the request; `undefined`: all but the assistant's messages at the end. */
  readonly position: number | undefined
  /** The view the request was made from; `undefined`: the one that stands now. */
  readonly viewEpoch: number | undefined
  /** Whether it went through: only then it shows that a learnt limit is wrong. */
  readonly wentThrough: boolean
  /** A limit the same answer named, to be learnt with it. */
  readonly limit: NamedLimit | undefined
  /** Estimates of what was in it besides the history, tokens. */
  readonly standing: number
  readonly pending: number
  /** What the provider billed; `undefined` for a request that failed. */
  readonly billed: BilledTokens | undefined
}

/** Tokens of one request as its provider billed them; input without what came from the cache or went into it. */
export type BilledTokens = {
  readonly inputTokens: number
  /** `undefined` where the provider did not say. */
  readonly cacheReadTokens: number | undefined
  readonly cacheCreationTokens: number | undefined
  readonly outputTokens: number
}

/** What a provider's model was billed for in a session: sums, tokens. */
export type ModelUsage = {
  readonly provider: string
  readonly model?: string
  readonly requests: number
  readonly inputTokens: number
  readonly cacheReadTokens: number
  readonly cacheCreationTokens: number
  readonly outputTokens: number
  /** Of the last request made from the view as it was then, where it said so: what its provider's cache held of it. */
  readonly lastCacheReadTokens?: number
  readonly lastCacheCreationTokens?: number
  /** The last report, milliseconds since 1970. */
  readonly at: number
}

/** What a session was billed for, by provider and model, and what is noted of each summary that was asked for. */
export type RecordedUsage = {
  readonly models: readonly ModelUsage[]
  readonly summaries: readonly Pick<SummaryRecord, 'summarizer' | 'model' | 'usage' | 'cost'>[]
}

/** What became of it. */
export type UsageOutcome = {
  /** False when the view is another by now, or empty: then nothing is made of it, but what was billed counts. */
  readonly recorded: boolean
  /** The estimate of the same request. */
  readonly estimate: Estimate | undefined
  readonly before: Readings
  readonly after: Readings
}

/** A limit that an overflow error named. */
export type LearnedLimit = NamedLimit & {
  readonly provider: string
  readonly model?: string
  /** Milliseconds since 1970. */
  readonly at: number
}

/**
 * What a store needs of its storage. Every verb reads its arguments before its first `await`: callers may change them afterwards.
 */
export interface Storage {
  /** Makes a session. Throws `SESSION_EXISTS`. */
  createSession(id: string, fields: SessionFields, estimator: string): Awaitable<Session>
  session(id: string): Awaitable<Session | undefined>
  /** The figures of a session alone; `undefined` for an unknown one. */
  figures(id: string): Awaitable<SessionFigures | undefined>
  /** Throws `SESSION_NOT_FOUND`. */
  countMessages(id: string): Awaitable<MessageCounts>
  /** Newest first. */
  listSessions(query: SessionQuery): Awaitable<Session[]>
  /** The id of the session with the newest message among the archived ones or the others. A time that is later than the last change counts as that, and one without messages comes last. */
  newestSession(archived: boolean): Awaitable<string | undefined>
  /** Makes a session that no list shows, with a lease whose run is its name. Throws `SESSION_EXISTS`. */
  stageSession(staged: StagedSession): Awaitable<Session>
  /** Gives a staged session its own name, and lists it. Throws `SESSION_EXISTS`, `SESSION_NOT_FOUND`. */
  publishSession(stagedId: string, id: string, published: StagedWith): Awaitable<Session>
  /** Takes some rows out of a staged session; answers whether nothing of it is left. */
  discardStaged(stagedId: string, rows: number): Awaitable<boolean>
  stagedSessions(): Awaitable<Staged[]>
  /** The newest message for each idempotency key, hidden or not; `undefined` for an unknown key and a message without one. Throws `SESSION_NOT_FOUND`. */
  knownMessages(id: string, messages: readonly NewMessage[]): Awaitable<(KnownMessage | undefined)[]>
  /** Fields that are `undefined` stay, `null` clears. `updatedAt`: when it was changed last, default now. Throws `SESSION_NOT_FOUND`. */
  updateSession(id: string, fields: SessionFields & { readonly updatedAt?: number }): Awaitable<Session>
  archiveSession(id: string, archived: boolean): Awaitable<Session>
  /** Removes a session for good, from the files too, leaving a receipt. Throws `SESSION_NOT_FOUND`. */
  purgeSession(id: string, request: PurgeRequest): Awaitable<Purged>

  /**
   * Adds messages at the end, all or none, and makes the session if need be. With `previewing` the large tool outputs
   * among those written are shown as previews from the start, in the same transaction; the view epoch stays. Throws
   * `POSITION_CONFLICT`, `IDEMPOTENCY_CONFLICT`, `MESSAGE_ID_TAKEN`, `ESTIMATOR_UNKNOWN`.
   */
  append(
    id: string,
    messages: readonly NewMessage[],
    expectedPosition: number | undefined,
    previewing?: Previewing,
  ): Awaitable<Appended>
  /**
   * Hides the end of the view from a row on, whatever stands there, as one compaction of kind `manual`, and appends messages; one
   * transaction. The session is made when there is something to append. Throws `SESSION_NOT_FOUND`, `MESSAGE_NOT_FOUND`,
   * `STALE_PLAN` (the row is not visible, or the version another), `OPERATION_CONFLICT`, and what `append` throws.
   */
  rewind(id: string, request: RewindRequest, previewing?: Previewing): Awaitable<Rewound>
  /** What a rewind under this id did; `undefined` when there was none. Throws `OPERATION_CONFLICT`. */
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
   * `INVALID_INPUT` for a row that is no summary.
   */
  expand(id: string, summaryId: string, depth: number): Awaitable<ExpandedSummary>
  /** The messages of the log a summary stands for, in order. Throws as `expand` does, but for the estimator. */
  sources(id: string, summaryId: string, query: SourceQuery): Awaitable<StoredMessage[]>
  /** Pins or unpins; answers how many changed. Throws `SESSION_NOT_FOUND`, `MESSAGE_NOT_FOUND`. */
  pin(id: string, messageIds: readonly string[], pinned: boolean, authorship: Authorship): Awaitable<number>

  /** Throws `MESSAGE_NOT_FOUND` for the first id the session has no row of. */
  requireMessages(id: string, messageIds: readonly string[]): Awaitable<void>

  /** What planning works on, or `undefined` for an unknown session. Throws `ESTIMATOR_UNKNOWN`. */
  snapshot(id: string, provider: string): Awaitable<Snapshot | undefined>
  /** The parts of rows of a snapshot, originals, by key. */
  contents(keys: readonly number[]): Awaitable<ReadonlyMap<number, readonly Part[]>>
  /** The metadata of rows of a snapshot, by key. */
  metadata(keys: readonly number[]): Awaitable<ReadonlyMap<number, JsonObject>>
  /** The texts shown in place of parts, by key and part, of rows of a snapshot. */
  shownTexts(keys: readonly number[]): Awaitable<ReadonlyMap<number, ReadonlyMap<number, string>>>
  /**
   * Puts a run in force, all or nothing; a job it is made for is done with it. Throws `STALE_PLAN`, `ILLEGAL_BOUNDARY`,
   * `PENDING_TOOL_CALLS`, and `ABORTED` when the job is not the run's any more.
   */
  commit(snapshot: Snapshot, run: RunCommit, lease: Lease | undefined): Awaitable<void>

  /** The lease on a session that still counts, if there is one. */
  leaseInTheWay(id: string): Awaitable<Lease | undefined>
  /** Claims a session; answers the lease that stands in the way, if one does. */
  takeLease(id: string, lease: Lease): Awaitable<Lease | undefined>
  /** Moves the end of a lease; `false` when it is not held any more. */
  renewLease(id: string, lease: Lease): Awaitable<boolean>
  /** Gives a lease back. */
  releaseLease(id: string, lease: Lease): Awaitable<void>
  /** Notes that a summary is being asked for. */
  noteAttempt(snapshot: Snapshot, run: RunStart, attempt: Attempt): Awaitable<void>
  /**
   * Notes what an attempt has cost so far, and who answered; nothing when it is not there any more, or was ended by its own run.
   */
  noteAnswer(attemptId: string, summary: SummaryRecord): Awaitable<void>
  /** Notes attempts that ended without a summary; nothing when their session was purged since. */
  endAttempts(snapshot: Snapshot, run: RunStart, ended: readonly FailedAttempt[]): Awaitable<void>

  /** Takes a compaction or a run out of force. Throws `COMPACTION_NOT_FOUND`, `HAS_ACTIVE_DEPENDENTS`. */
  undo(id: string, compactionOrRun: string, request: UndoRequest): Awaitable<UndoOutcome>
  /** Puts it back. Throws `COMPACTION_NOT_FOUND`, `INPUT_NOT_VISIBLE`. */
  redo(id: string, compactionOrRun: string, request: UndoRequest): Awaitable<UndoOutcome>
  /**
   * Takes compactions out of force, newest first, as long as the session passes a test afterwards; in one transaction, and what does
   * not pass is never seen. Throws `SESSION_NOT_FOUND`.
   */
  undoWhile(id: string, request: UndoWhileRequest, passes: SessionTest): Awaitable<UndoWhileOutcome>
  compactions(
    id: string,
    query: { run?: string | undefined; id?: string | undefined },
  ): Awaitable<Compaction[]>
  auditLog(id: string, query: { after: number; limit: number }): Awaitable<AuditEntry[]>

  /** What was reported and learnt of a model, for a session; nothing for an unknown one. */
  readings(id: string, provider: string, model: string): Awaitable<Readings>
  /** Notes the size of a request, and what was billed for it. Throws `SESSION_NOT_FOUND`, `ESTIMATOR_UNKNOWN`. */
  recordUsage(id: string, usage: UsageReport): Awaitable<UsageOutcome>
  /** What was billed so far, by provider and model. Throws `SESSION_NOT_FOUND`. */
  usage(id: string): Awaitable<RecordedUsage>
  /**
   * Tokens of the last request that its provider's cache holds now, by what it reported; `undefined` when it did not say, for
   * another model, and when the view has been changed since by anything but appends.
   */
  cachedTokens(id: string, provider: string, model: string): Awaitable<number | undefined>
  /** Notes a limit; the lowest of its kind counts, and is answered. */
  learnLimit(provider: string, model: string, limit: NamedLimit): Awaitable<number>
  /** Answers whether there was one. */
  forgetLimit(provider: string, model: string): Awaitable<boolean>
  limits(): Awaitable<LearnedLimit[]>

  /** What is to be done in the background, and who does it. */
  readonly jobs: Jobs
  /** Failures in a row, and what summaries cost. */
  readonly circuits: Circuits

  /** Whole sessions as records: export and restore. */
  readonly histories: Histories

  verify(id: string, repair: boolean): Awaitable<{ findings: Finding[]; repaired: boolean }>
  /** Counts all rows anew. Throws `SESSION_NOT_FOUND`. */
  reestimate(id: string, estimator: Estimator): Awaitable<Session>
  close(): Awaitable<void>
}

/** The estimators a store was given, by name, and the one new sessions are counted with. */
export type Estimators = { readonly standard: Estimator; readonly byName: ReadonlyMap<string, Estimator> }
