import type { ToolOutputLimits } from '../core/files/tool-output/message-previews.ts'
import type { JsonObject } from '../core/messages/json.ts'
import type { NewMessage } from '../core/messages/message.ts'
import type { Moment } from '../core/model/moment.ts'
import type { View } from '../core/model/view.ts'
import type { Readings } from '../core/tokens/calibration.ts'
import type { Sizes } from '../core/tokens/measure.ts'
import type { RunOfJob } from './jobs.ts'

/* The part of the storage interface for sessions: their fields, messages, rewinds and views. */

/** The causes of a run. */
export const TRIGGERS = ['manual', 'auto', 'overflow', 'import', 'provider', 'refusal'] as const
/** The cause of a compaction. */
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
  /** The length of the log, silent messages included, which is also the last position. */
  readonly messageCount: number
  /** Rows of the view that are sent: inserted ones are included, silent ones are not. */
  readonly visibleCount: number
  /** Sizes of the visible rows, replacements applied. */
  readonly visibleSizes: Sizes
  readonly hidden: { readonly condensed: number; readonly truncated: number; readonly manual: number }
  readonly activeCompactions: number
  /** Automatic compactions that a user undid since the last one was made. */
  readonly undoneAutomatic: number
  readonly version: number
  readonly viewEpoch: number
  /** The session that it is a fork of, and the last position that it copied; absent for any other. */
  readonly forkedFrom?: ForkOrigin
}

/** Where a session was forked. */
export type ForkOrigin = { readonly sessionId: string; readonly position: number }

/** A fork of a session, see `Storage.fork`. */
export type ForkRequest = {
  /** Its id. */
  readonly id: string
  /** `undefined`: that of the original. */
  readonly title: string | undefined
  /** `undefined`: now. */
  readonly at: Moment | undefined
  /** Who made it, for the audit of both sessions. */
  readonly actor: string | undefined
}

/** Numbers of rows of a session. */
export type MessageCounts = {
  /** Messages of the log that are not silent, hidden ones included. */
  readonly messages: number
  /** Silent messages, which are never sent: an agent's bookkeeping, and messages of which an import keeps only what was shown. */
  readonly bookkeeping: number
  /** Rows of the view that are sent, inserted ones included. */
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

/** A session of a list. */
export type ListedSession = Session & {
  /**
   * The time of its newest message, milliseconds since 1970; a later time than that of the last change counts as the last change. 0
   * without messages. Lists are in this order.
   */
  readonly newestAt: number
}

/** A session to import: written in batches, listed when it is complete. */
export type NewImport = ImportFields & {
  /** Its temporary name, which is unique. */
  readonly id: string
  /** The importer, see `LEASE_HOLDER`, and the end of its lease unless it is renewed, milliseconds since 1970. */
  readonly holder: string
  readonly expiresAt: number
}

/** The fields of such a session. */
export type ImportFields = {
  readonly fields: SessionFields
  readonly estimator: string
  /** Candidates of its incarnation, when it comes from a store: the first unused one is taken. */
  readonly incarnations?: readonly string[] | undefined
  /** Its incarnation, also when another session has it: that of the original, or of the copy that it will replace. */
  readonly incarnation?: string | undefined
}

/** A session that is being imported. */
export type ImportInProgress = {
  readonly id: string
  readonly holder: string
  /** The end of its lease; without one, the time of its last write. Milliseconds since 1970. */
  readonly expiresAt: number
}

/** The fields that an imported session gets with its name. */
export type FinishedImport = {
  readonly fields?: SessionFields | undefined
  /** Milliseconds since 1970; unchanged when absent. */
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
 * The message of a session with an idempotency key, and whether it is equal: by role and content, without content also by its metadata.
 */
export type KnownMessage = { readonly position: number; readonly same: boolean }

/** A session in a list. */
export type SessionPlace = { readonly id: string; readonly newestAt?: number | undefined }

export type SessionQuery = {
  readonly owner: string | undefined
  readonly archived: boolean
  readonly limit: number
  /** The session after which to continue, and its place when it was listed; without it, its place now. */
  readonly after: SessionPlace | undefined
  /** A text that the id or the title contains, ignoring case. */
  readonly search: string | undefined
}

/** A message that was appended, or that was stored before under the same idempotency key. */
export type AppendedMessage = {
  readonly id: string
  readonly position: number
  /** Whether the idempotency key was known, so that nothing was written. */
  readonly existing: boolean
}

/** The compaction of kind `preview` with which an append shows large tool outputs head and tail. */
export type AppendPreview = {
  readonly compactionId: string
  readonly runId: string
  /** The number of outputs. */
  readonly parts: number
  /** The saved tokens of history, by the session's estimator for its provider. */
  readonly savedTokens: number
}

export type Appended = {
  /** One entry per message, in order. */
  readonly messages: AppendedMessage[]
  /** Absent when no written output was large. */
  readonly preview?: AppendPreview
}

/** The fields of a session that its settings depend on. */
export type SessionSettings = Pick<Session, 'config' | 'provider' | 'model'>

/** The ids of an append's compaction, and the provider of its tokens. */
export type PreviewRun = RunStart & { readonly id: string; readonly provider: string }

/** How an append shows large tool outputs. */
export type Previewing = {
  /** The limits for a session with this config; `undefined` when its outputs are shown whole. */
  limitsFor(config: JsonObject | undefined): ToolOutputLimits | undefined
  /** Called when there is a large output. */
  begin(session: SessionSettings): PreviewRun
}

/** The start of a rewind: the first message, a row by its id or position, or the end. */
export type RewindPoint = 'start' | 'end' | { readonly beforeMessage: string | number }

/** An operation id of the caller, with a digest of the operation. */
export type RewindOperation = { readonly id: string; readonly digest: string }

/** A rewind and its preconditions. */
export type RewindRequest = {
  readonly from: RewindPoint
  /** Whether compactions that lie entirely before the point stay as they are. */
  readonly keepCompactions: boolean
  readonly append: readonly NewMessage[]
  readonly expectedPosition: number | undefined
  /** The session that `from` and `append` were computed for, `null` when there was none; absent when they apply to any state. */
  readonly madeFor: Pick<Session, 'incarnation' | 'version'> | null | undefined
  readonly operation: RewindOperation | undefined
  /** The id of the compaction that hides the rows. */
  readonly compactionId: string
  readonly run: RunStart
  /** Parameters of the compaction, besides those of a rewind. */
  readonly params?: { readonly by: string; readonly why: string } | undefined
  /** The provider of its tokens. */
  readonly provider: string
}

/** What a rewind did. */
export type Rewound = Appended & {
  /** The compaction that hides the rows; absent when nothing was hidden. */
  readonly compactionId?: string
  readonly rowsHidden: number
  /** Whether the operation was known, so that nothing was done. */
  readonly existing: boolean
}

export type MessageQuery = {
  /** Only positions after this one. */
  readonly after: number | undefined
  /** Only positions before this one. */
  readonly before: number | undefined
  /** The most messages of the log. */
  readonly limit: number | undefined
  readonly order: 'forward' | 'backward'
  /** Whether rows include the texts that they show in place of parts. */
  readonly shown?: boolean | undefined
  /** Only rows of the view. A page covers the same positions, and hidden rows among them are not read. */
  readonly visible?: boolean | undefined
}

export type ToolCallQuery = {
  /** Only calls after this position. */
  readonly after: number
  /** A page ends with the message in which this number of calls is reached. */
  readonly limit: number
}

export type SourceQuery = {
  /** Only messages after this position. */
  readonly after: number
  /** The most messages. */
  readonly limit: number | undefined
}

/** The planning index of a view at one moment, with the versions that a commit checks. */
export type Snapshot = {
  readonly session: Session
  readonly view: View
  /** The ordinal of the next inserted row. */
  readonly nextOrdinal: number
}

/** Which messages of a fork a conclusion is of: those after a position up to another. */
export type BroughtBack = Authorship & {
  readonly fork: string
  /** The incarnation of the fork that the conclusion is of. */
  readonly incarnation: string
  readonly from: number
  readonly to: number
}

/** The actor and the reason of an action. */
export type Authorship = { readonly actor: string | undefined; readonly reason: string | undefined }

/** With `clearFiles: false` the files are cleared later: by the next purge that clears them, or when the store is closed. */
export type PurgeRequest = Authorship & {
  readonly clearFiles: boolean
  /** What happens to forks: `keep` them with what they need, or `purge` them too, with their own; `undefined`: the purge is refused. */
  readonly forks: 'keep' | 'purge' | undefined
}

/** What a purge removed. */
export type Purged = {
  /** Ids of the forks that were purged too; absent for none. */
  readonly forks?: readonly string[]
  readonly messages: number
  readonly compactions: number
  readonly blobs: number
  /** Present only when parts of the session may still be readable in the files, because of another connection or a full disk. */
  readonly filesCleared?: false
}

/** The id, trigger and author of a run. */
export type RunStart = Authorship & {
  readonly runId: string
  readonly trigger: Trigger
  /** Its job, if any. */
  readonly job?: RunOfJob | undefined
}

/** What stats are computed from, read at one moment. */
export type SessionStats = { readonly figures: SessionFigures; readonly readings: Readings }
