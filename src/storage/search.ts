import type { Role, RowKind } from '../core/messages/message.ts'
import type { SearchQuery } from '../core/search/query.ts'
import type { Awaitable } from './jobs.ts'

/* The part of the storage interface for the search. */

/** Which rows may be hits; `undefined` does not restrict. */
export type SearchFilter = {
  readonly owner?: string | undefined
  readonly roles?: readonly Role[] | undefined
  /** Names of tools; rows that call one of them or hold a result of it. */
  readonly tools?: readonly string[] | undefined
  /** The first and the last time, milliseconds since 1970. */
  readonly from?: number | undefined
  readonly to?: number | undefined
  /** `true`: only rows that a compaction hides; `false`: only rows of the view. */
  readonly hidden?: boolean | undefined
}

/** A place in the list of hits: blocks of candidates are read and ranked one after another. */
export type SearchPlace = {
  readonly block: number
  /** Hits of the block that come before. */
  readonly skip: number
  /** Rows that were stored later are no hits, so that the list stays the same. */
  readonly moment: number
  /** The number of rows, and of rows with each word of the query, by which the first page was ordered; without, those of now. */
  readonly counts?: readonly number[]
}

export type SearchRequest = {
  readonly query: SearchQuery
  /** Whether messages without words of the query are hits when they are next to messages that have them: the answer to a question. */
  readonly isQuestion: boolean
  /** Only rows of this session; an unknown one throws `SESSION_NOT_FOUND`. */
  readonly session: string | undefined
  readonly filter: SearchFilter
  readonly limit: number
  readonly after: SearchPlace | undefined
}

/** A stored row with words of a query. */
export type SearchHit = {
  readonly sessionId: string
  readonly messageId: string
  readonly kind: Exclude<RowKind, 'marker'>
  readonly role: Role
  /** The position of a message; absent for a summary. */
  readonly position?: number
  /** The position of a message; of a summary, the last position that it covers. */
  readonly anchor: number
  /** Milliseconds since 1970. */
  readonly createdAt: number
  /** Higher is better, among the candidates of a search that are ranked together (40). */
  readonly score: number
  /** A passage of the stored text; `marks` are the places of words of the query in it, UTF-16 units. */
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

/** What one transaction added to the index. */
export type Indexed = {
  /** How many of the sessions, from the first, need no more. */
  readonly sessions: number
  readonly rows: number
}

/** The search and its index. */
export interface Searching {
  /** Ids of sessions with rows that are not in the index, at most `limit`. With `onlyIfUsed`, none if the index was never used. */
  unindexed(limit: number, onlyIfUsed?: boolean): Awaitable<string[]>
  /** How many rows are not in the index, of one session or of all. */
  countUnindexed(session?: string): Awaitable<number>
  /**
   * Adds rows of sessions to the index, as many as a short transaction holds. Several processes may do this at once. With
   * `isPatient: false` a lock of SQLite is not waited for: `STORE_BUSY`.
   */
  index(ids: readonly string[], isPatient?: boolean): Awaitable<Indexed>
  /** Finds rows that are in the index. */
  find(request: SearchRequest): Awaitable<SearchPage>
}
