/*
 * Types of the Claude Agent SDK (`@anthropic-ai/claude-agent-sdk`, an optional peer) that this package uses.
 * Tests compare them with the SDK's own types. Source: `SessionStore` and its neighbours in the SDK's
 * `sdk.d.ts`, 0.3.
 */
import type { Store } from '../../store/store.ts'

/** Names a transcript: the SDK's `SessionKey`. */
export type SessionKey = {
  readonly projectKey: string
  readonly sessionId: string
  /** Of a subagent's transcript; absent for the session's own. */
  readonly subpath?: string
}

/** One line of a transcript: the SDK's `SessionStoreEntry`. Any JSON object with a `type`. */
export type SessionStoreEntry = {
  type: string
  uuid?: string
  timestamp?: string
  [field: string]: unknown
}

/** A session in a list. `mtime`: milliseconds since 1970, when something was last appended. */
export type ListedSession = { sessionId: string; mtime: number }

/** The SDK's summary of a session for its list: its `SessionSummaryEntry`. `data` is the SDK's own. */
export type SessionSummaryEntry = ListedSession & { data: Record<string, unknown> }

/** The SDK's `foldSessionSummary`: adds entries to a summary. Pure. */
export type FoldSessionSummary = (
  previous: SessionSummaryEntry | undefined,
  key: { projectKey: string; sessionId: string },
  entries: SessionStoreEntry[],
  options?: { mtime?: number },
) => SessionSummaryEntry

/** The store methods that the adapter needs. */
export type TranscriptStore = Pick<
  Store,
  | 'append'
  | 'archiveSession'
  | 'createSession'
  | 'getCompaction'
  | 'getMessages'
  | 'getSession'
  | 'listSessions'
  | 'rewind'
  | 'undoCompaction'
  | 'updateSession'
>
