import type { Role, RowKind } from '../core/messages/message.ts'
import type { SearchQuery } from '../core/search/query.ts'
import type { Awaitable } from './jobs.ts'
import type { SessionName } from './owners.ts'

/* The part of the storage interface for search. */

/** Restricts which rows may be hits; an `undefined` field doesn't restrict. */
export type SearchFilter = {
  readonly roles?: readonly Role[] | undefined
  /** Names of tools: only rows that call one of them or hold one of their results. */
  readonly tools?: readonly string[] | undefined
  /** The earliest and the latest time, in milliseconds since 1970. */
  readonly from?: number | undefined
  readonly to?: number | undefined
  /** `true`: only rows that a compaction hides; `false`: only rows of the view. */
  readonly hidden?: boolean | undefined
}

/** A place in the list of hits. Candidates are read and ranked block by block. */
export type SearchPlace = {
  readonly block: number
  /** The number of the block's hits that come before. */
  readonly skip: number
  /** Rows stored after this moment aren't hits, so that the list doesn't change between pages. */
  readonly moment: number
  /** The number of rows, and of rows with each word of the query, that ordered the first page; if absent, the current numbers. */
  readonly counts?: readonly number[]
}

export type SearchRequest = {
  readonly query: SearchQuery
  /** Whether a message without words of the query is a hit if it is next to a message that has them: the answer to a question. */
  readonly isQuestion: boolean
  /** Only rows of this session; an unknown one throws `SESSION_NOT_FOUND`. */
  readonly session: string | undefined
  readonly filter: SearchFilter
  readonly limit: number
  readonly after: SearchPlace | undefined
}

/** A stored row that contains words of the query. */
export type SearchHit = {
  readonly sessionId: string
  readonly messageId: string
  readonly kind: Exclude<RowKind, 'marker'>
  readonly role: Role
  /** The position of a message; absent for a summary. */
  readonly position?: number
  /** The position of a message; for a summary, the last position that it covers. */
  readonly anchor: number
  /** Milliseconds since 1970. */
  readonly createdAt: number
  /** Higher is better. Scores compare only within one block of (at most 40) candidates that are ranked together. */
  readonly score: number
  /** A passage of the stored text. `marks` are the places of the query's words in it, in UTF-16 units. */
  readonly snippet: {
    readonly text: string
    readonly marks: readonly (readonly [start: number, end: number])[]
  }
  /** The id of the compaction that hides the row; absent for a row of the view. */
  readonly hiddenBy?: string
}

export type SearchPage = {
  readonly hits: readonly SearchHit[]
  /** Where the next page begins; `undefined` after the last one. */
  readonly next: SearchPlace | undefined
}

/** The result of one transaction of indexing. */
export type Indexed = {
  /** The number of sessions, from the first of `ids`, that are fully indexed. */
  readonly sessions: number
  readonly rows: number
}

/** Search and its index. */
export interface Searching {
  /**
   * Returns the ids of at most `limit` sessions with rows that aren't in the index. With `onlyIfUsed`, returns none if the index was never
   * used.
   */
  unindexed(limit: number, onlyIfUsed?: boolean): Awaitable<SessionName[]>
  /** Returns the number of rows that aren't in the index, of one session or of all. */
  countUnindexed(session?: string): Awaitable<number>
  /**
   * Adds rows of sessions to the index, as many as fit into a short transaction. Several processes may do this at once. With `isPatient:
   * false`, doesn't wait for a lock of SQLite, but throws `STORE_BUSY`.
   */
  index(sessions: readonly SessionName[], isPatient?: boolean): Awaitable<Indexed>
  /** Finds rows that are in the index. */
  find(request: SearchRequest): Awaitable<SearchPage>
}
