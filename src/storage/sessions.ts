import type { ToolOutputLimits } from '../core/files/tool-output/message-previews.ts'
import type { JsonObject } from '../core/messages/json.ts'
import type { NewMessage } from '../core/messages/message.ts'
import type { Moment } from '../core/model/moment.ts'
import type { View } from '../core/model/view.ts'
import type { Readings } from '../core/tokens/calibration.ts'
import type { Sizes } from '../core/tokens/measure.ts'
import type { RunOfJob } from './jobs.ts'
import type { TurnUse } from './turns.ts'

/* The part of the storage interface for sessions: their fields, messages, rewinds and views. */

/** The causes of a run. */
export const TRIGGERS = ['manual', 'auto', 'overflow', 'import', 'provider', 'refusal'] as const
/** The cause of a compaction. */
export type Trigger = (typeof TRIGGERS)[number]

/** A session with its counters. */
export type Session = {
  readonly id: string
  /** New for each created session, so that a purged and recreated id is a different session. */
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
  /** The length of the log, including silent messages. It is also the last position. */
  readonly messageCount: number
  /** The number of rows of the view that are sent: inserted rows are included, silent ones are not. */
  readonly visibleCount: number
  /** Sizes of the visible rows, after replacements. */
  readonly visibleSizes: Sizes
  readonly hidden: { readonly condensed: number; readonly truncated: number; readonly manual: number }
  readonly activeCompactions: number
  /** The number of automatic compactions that a user has undone since the last one was made. */
  readonly undoneAutomatic: number
  readonly version: number
  readonly viewEpoch: number
  /** The session that it was forked from, and the last position that was copied; absent if it isn't a fork. */
  readonly forkedFrom?: ForkOrigin
}

/** Where a session was forked. */
export type ForkOrigin = { readonly sessionId: string; readonly position: number }

/** The request for a fork, see `Storage.fork`. */
export type ForkRequest = {
  /** The id of the fork. */
  readonly id: string
  /** The title of the fork; `undefined`: the original's. */
  readonly title: string | undefined
  /** The moment to fork at; `undefined`: now. */
  readonly at: Moment | undefined
  /** The actor, for the audit of both sessions. */
  readonly actor: string | undefined
}

/** The numbers of a session's rows. */
export type MessageCounts = {
  /** Messages of the log that aren't silent, including hidden ones. */
  readonly messages: number
  /** Silent messages, which are never sent: an agent's bookkeeping, and imported messages of which only the displayed text is known. */
  readonly bookkeeping: number
  /** Rows of the view that are sent, including inserted ones. */
  readonly visible: number
}

/** The input of stats: counters, provider and model. */
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

/** A session in a list. */
export type ListedSession = Session & {
  /**
   * The time of its newest message, at most the time at which that message was stored (of an import, its last change), in milliseconds
   * since 1970; 0 without messages. Later changes don't move it. Lists are sorted by it.
   */
  readonly newestAt: number
}

/** A session to import. It is written in batches, and listed once it is complete. */
export type NewImport = ImportFields & {
  /** Its temporary name, which is unique. */
  readonly id: string
  /** The importer, see `LEASE_HOLDER`, and the end of its lease unless renewed, in milliseconds since 1970. */
  readonly holder: string
  readonly expiresAt: number
}

/** The fields of a session to import. */
export type ImportFields = {
  readonly fields: SessionFields
  readonly estimator: string
  /** Candidates for the incarnation, if the session comes from a store: the first unused one is taken. */
  readonly incarnations?: readonly string[] | undefined
  /** The incarnation, even if another session has it: that of the original, or of the copy that will be replaced. */
  readonly incarnation?: string | undefined
}

/** A session that is being imported. */
export type ImportInProgress = {
  readonly id: string
  readonly holder: string
  /** The end of its lease, or if it has no lease, the time of its last write, in milliseconds since 1970. */
  readonly expiresAt: number
}

/** The fields that an imported session receives together with its name. */
export type FinishedImport = {
  readonly fields?: SessionFields | undefined
  /** Milliseconds since 1970; unchanged when absent. */
  readonly createdAt?: number | undefined
  readonly updatedAt?: number | undefined
  /** An entry of the audit. */
  readonly audit?: {
    readonly event: string
    readonly actor?: string | undefined
    readonly detail?: JsonObject | undefined
  }
}

/** The message of a session with an idempotency key, and whether it is equal in role and content; without content, in metadata too. */
export type KnownMessage = { readonly position: number; readonly same: boolean }

/** A session in a list. */
export type SessionPlace = {
  readonly id: string
  readonly newestAt?: number | undefined
  /** Present, if only as `undefined`, if the session is one of a list of all owners. */
  readonly owner?: string | undefined
}

export type SessionQuery = {
  readonly archived: boolean
  readonly limit: number
  /** The session to continue after, and its place when it was listed; if absent, its current place. */
  readonly after?: SessionPlace | undefined
  /** A text that the id or the title must contain, ignoring case. */
  readonly search?: string | undefined
}

/** How many texts of a message were redacted, by kind: names, never texts. */
export type Redactions = { readonly [kind: string]: number }

/** A message to write, and what was redacted in it, for the audit. */
export type MessageToWrite = NewMessage & { readonly redacted?: Redactions }

/** An appended message, or one that was stored before under the same idempotency key. */
export type AppendedMessage = {
  readonly id: string
  readonly position: number
  /** Whether the idempotency key was known, so that nothing was written. */
  readonly existing: boolean
}

/** The compaction of kind `preview` by which an append shortens large tool outputs to their head and tail. */
export type AppendPreview = {
  readonly compactionId: string
  readonly runId: string
  /** The number of shortened outputs. */
  readonly parts: number
  /** The tokens saved in the history, by the session's estimator for its provider. */
  readonly savedTokens: number
}

export type Appended = {
  /** One entry per message, in order. */
  readonly messages: AppendedMessage[]
  /** Absent if no written output was large. */
  readonly preview?: AppendPreview
}

/** The fields of a session that its settings depend on. */
export type SessionSettings = Pick<Session, 'config' | 'provider' | 'model'>

/** The ids of an append's compaction, and the provider that its tokens are counted for. */
export type PreviewRun = RunStart & { readonly id: string; readonly provider: string }

/** How an append shortens large tool outputs. */
export type Previewing = {
  /** Returns the limits for a session with this config; `undefined` if its outputs are shown in full. */
  limitsFor(config: JsonObject | undefined): ToolOutputLimits | undefined
  /** Called if there is a large output. */
  begin(session: SessionSettings): PreviewRun
}

/**
 * Writes rows of the application in the transaction of an append or a rewind. Receives the database's own client (a `Database` of
 * better-sqlite3, a client of `pg`, a PGlite, or a connection of the application's driver) and the appended messages. It declares the type
 * of its client, so here the type is `never`. On SQLite it must be synchronous; on PostgreSQL it may be called again.
 */
export type Also = (client: never, appended: readonly AppendedMessage[]) => unknown

/** The point that a rewind starts from: the first message, a row by its id or position, or the end. */
export type RewindPoint = 'start' | 'end' | { readonly beforeMessage: string | number }

/** An operation id of the caller, with a digest of the operation. */
export type RewindOperation = { readonly id: string; readonly digest: string }

/** A rewind and its preconditions. */
export type RewindRequest = {
  readonly from: RewindPoint
  /** Whether compactions that lie entirely before the point are kept. */
  readonly keepCompactions: boolean
  /** Whether messages are shown even if retention removed something of them. Default `false`. */
  readonly showRetired?: boolean
  readonly append: readonly MessageToWrite[]
  readonly expectedPosition: number | undefined
  /** The session that `from` and `append` were computed for, `null` if it didn't exist; absent if any state is accepted. */
  readonly madeFor: Pick<Session, 'incarnation' | 'version'> | null | undefined
  readonly operation: RewindOperation | undefined
  /** The id of the compaction that hides the rows. */
  readonly compactionId: string
  readonly run: RunStart
  /** Additional parameters of the compaction. */
  readonly params?: { readonly by: string; readonly why: string } | undefined
  /** The provider that its tokens are counted for. */
  readonly provider: string
  /** Rows of the application, written in the same transaction. */
  readonly also?: Also | undefined
  /** The turn that must hold the session. */
  readonly turn?: TurnUse | undefined
}

/** The result of a rewind. */
export type Rewound = Appended & {
  /** The compaction that hides the rows; absent if nothing was hidden. */
  readonly compactionId?: string
  readonly rowsHidden: number
  /** Whether the operation was known, so that nothing was written. */
  readonly existing: boolean
}

export type MessageQuery = {
  /** Only positions after this one. */
  readonly after: number | undefined
  /** Only positions before this one. */
  readonly before: number | undefined
  /** The maximum number of messages of the log. */
  readonly limit: number | undefined
  readonly order: 'forward' | 'backward'
  /** Whether rows include the texts that replace their parts in the view. */
  readonly shown?: boolean | undefined
  /** Only rows of the view. A page covers the same positions, but the hidden rows among them aren't read. */
  readonly visible?: boolean | undefined
}

export type ToolCallQuery = {
  /** Only calls after this position. */
  readonly after: number
  /** A page ends with the message that reaches this number of calls. */
  readonly limit: number
}

export type SourceQuery = {
  /** Only messages after this position. */
  readonly after: number
  /** The maximum number of messages. */
  readonly limit: number | undefined
}

/** The planning index of a view at one moment, with the versions that the commit checks. */
export type Snapshot = {
  readonly session: Session
  readonly view: View
  /** The ordinal of the next inserted row. */
  readonly nextOrdinal: number
}

/** The messages of a fork that a conclusion is about: those after one position, up to another. */
export type BroughtBack = Authorship & {
  readonly fork: string
  /** The incarnation of the fork. */
  readonly incarnation: string
  readonly from: number
  readonly to: number
}

/** The actor and the reason of an action. */
export type Authorship = { readonly actor: string | undefined; readonly reason: string | undefined }

/** A purge. With `clearFiles: false` the files are cleared later: by the next purge that clears them, or when the store is closed. */
export type PurgeRequest = Authorship & {
  readonly clearFiles: boolean
  /**
   * What happens to forks: `keep` them with the rows they need, or `purge` them and their own forks too; if `undefined`, a session with
   * forks isn't purged.
   */
  readonly forks: 'keep' | 'purge' | undefined
  /** A keyed hash of the owner, which the receipt has in place of the session's id. */
  readonly mark?: string
}

/** The result of a purge. */
export type Purged = {
  /** Ids of the forks that were purged too; absent if there are none. */
  readonly forks?: readonly string[]
  readonly messages: number
  readonly compactions: number
  readonly blobs: number
  /**
   * Present only if another connection or a full disk prevented the clearing of the files, so that parts of the session may still be
   * readable in them.
   */
  readonly filesCleared?: false
}

/** The id, trigger and author of a run. */
export type RunStart = Authorship & {
  readonly runId: string
  readonly trigger: Trigger
  /** Its job, if any. */
  readonly job?: RunOfJob | undefined
}

/** The input of stats, read at one moment. */
export type SessionStats = { readonly figures: SessionFigures; readonly readings: Readings }
