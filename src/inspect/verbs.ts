import type { Session, UndoOutcome } from '../storage/storage.ts'
import type { CompactionPreview } from '../store/compaction/result.ts'
import type { CompactOptions, PreviewOptions, SessionChange } from '../store/config/store-options.ts'
import type { RewindOptions } from '../store/rewind.ts'
import type { Store, UndoOptions } from '../store/store.ts'

/*
 * The interface between the page and its server: methods of the store by name, called over HTTP with JSON. Nothing else is invented here,
 * so the page can do what an application can, and what the store refuses is refused here.
 */

/** The methods that read. */
export const READS = [
  'sessions.list',
  'sessions.get',
  'sessions.forks',
  'sessions.config',
  'sessions.audit',
  'sessions.activeTurn',
  'getMessages',
  'getEffectiveHistory',
  'getContextStats',
  'search',
  'messages.expand',
  'messages.toolOutput',
  'messages.toolCalls',
  'messages.moment',
  'messages.diff',
  'messages.timeline',
  'listCompactions',
  'previewCompaction',
  'requests.list',
  'requests.get',
  'requests.compare',
  'requests.usage',
  'requests.costs',
  'jobs.list',
  'notes.list',
] as const

/** The methods that change what a session shows, or what is known of it. */
export const CHANGES = [
  'compactSession',
  'undoCompaction',
  'redoCompaction',
  'rewind',
  'messages.pin',
  'messages.unpin',
  'compactions.hide',
  'sessions.fork',
  'sessions.bringBack',
  'sessions.update',
  'sessions.archive',
  'jobs.cancel',
] as const

type Read = (typeof READS)[number]
type Change = (typeof CHANGES)[number]
export type Verb = Read | Change

type Method<V extends Verb> = V extends `${infer Topic}.${infer Name}`
  ? Topic extends keyof Store
    ? Name extends keyof Store[Topic]
      ? Store[Topic][Name]
      : never
    : never
  : V extends keyof Store
    ? Store[V]
    : never

/**
 * A preview is an object of the store that JSON can't carry: the server keeps it, and `compactSession` names it. Its `messages`, and those
 * of a compaction's result, are empty unless the call asked for the `whole`: a view may be long.
 */
export type NamedPreview = CompactionPreview & { readonly previewId: string }

/** Verbs whose arguments or results JSON can't carry as they are, or that have overloads, of which the page uses one. */
type Special = {
  compactSession: (
    sessionId: string,
    config?: CompactOptions | { readonly previewId: string },
  ) => ReturnType<Store['compactSession']>
  previewCompaction: (sessionId: string, config?: PreviewOptions) => NamedPreview | null
  undoCompaction: (sessionId: string, compactionOrRunId: string, options?: UndoOptions) => UndoOutcome
  'sessions.get': (sessionId: string) => Session
  /** Nobody writes messages through the page. */
  rewind: (
    sessionId: string,
    options: Pick<RewindOptions, 'from' | 'keepCompactions' | 'showRetired' | 'expectedPosition' | 'reason'>,
  ) => ReturnType<Store['rewind']>
  /** Nor settings and metadata, which are the application's. */
  'sessions.update': (sessionId: string, changes: Pick<SessionChange, 'title'>) => Session
}
type Called<V extends Verb> = V extends keyof Special ? Special[V] : Method<V>

/** The arguments of a verb. */
export type Arguments<V extends Verb> = Called<V> extends (...given: infer A) => unknown ? A : never

/** The result of a verb, as it arrives: bytes of images are replaced with their place. */
export type Result<V extends Verb> = Called<V> extends (...given: never[]) => infer R ? Awaited<R> : never

/**
 * The body of a call. `whole`: long texts aren't shortened. `owner`: in a store of all owners, the owner of the session, because ids are
 * unique for an owner (`store.forOwner`). `events`, `media` and `export` take it too (in the query, or in
 * the body).
 */
export type Call<V extends Verb = Verb> = {
  readonly verb: V
  readonly args: Arguments<V>
  readonly whole?: boolean
  readonly owner?: string
}

/** The answer to a call. */
export type Answer<V extends Verb = Verb> =
  | { readonly value: Result<V> }
  | {
      readonly error: {
        readonly code: string
        readonly message: string
        readonly facts: { readonly [name: string]: unknown }
      }
    }

/**
 * What a call says of texts that it shortened: the number of characters that were left out. The server adds it to the row in which the texts
 * are (else to the element of the list, or to the result), so that the page can offer the whole.
 */
export type Shortened = { readonly shortened?: number }

/** An image or a file as the page receives it: raster images have an address, others only a description. */
export type PlacedMedia = {
  readonly type: 'image' | 'file'
  readonly mediaType: string
  readonly filename?: string
  readonly bytes?: number
  /** The address of a stored raster image, relative to the page. */
  readonly src?: string
  /** A remote address, which the page shows as text and never fetches. */
  readonly url?: string
}

/** The facts that the server sends on opening, and again whenever one of them changes (server-sent events, `event: state`). */
export type LiveState = {
  /** Changes if a session was added or has a new message; undefined for an empty store, and if the query has a session. */
  readonly newest?: string | undefined
  /** Of the session in the query; null if it doesn't exist. */
  readonly session?: {
    readonly version: number
    readonly viewEpoch: number
    readonly messageCount: number
    readonly auditNo: number
    /** The newest recorded request and the positions of its answer; absent without requests. */
    readonly newestRequest?: string | undefined
    /** Whether a turn, or a run that calls a model, holds the session. */
    readonly turn: boolean
    readonly run: boolean
  } | null
}

/** What the page must know before its first call, in the document as JSON (`<script type="application/json" id="facts">`). */
export type Facts = {
  readonly version: string
  readonly readonly: boolean
  /** Shown in the header: the place of the store, or a name that the application gives. */
  readonly title: string | undefined
  /** Whether the store shows the sessions of all owners. */
  readonly owners: boolean
  /** Name of the actor of changes in the audit. */
  readonly actor: string
}
