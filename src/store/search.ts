import { createHash } from 'node:crypto'
import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises'
import { z } from 'zod'
import { decodeCursor, encodeCursor } from '../core/cursor.ts'
import { invalid, isUndertextError } from '../core/errors.ts'
import type { Events } from '../core/events.ts'
import { MAX_TEXT, readQuery, type SearchQuery } from '../core/search/query.ts'
import type { SearchHit, SearchPlace, Storage } from '../storage/storage.ts'
import type { CheckedSearch } from './config/store-options.ts'

/** What a search found. */
export type SearchResult = {
  /** Best first. */
  readonly hits: readonly SearchHit[]
  /** Pass it with the same query and options to get the next hits; absent after the last page. */
  readonly cursor?: string
  /** `false` when rows were not searched: they are not in the index, and the store is read-only, full, or locked by another process. */
  readonly complete: boolean
  /** Words of the query, as written, that were not looked for: they are too common to be in the index. Absent when no word was left out. */
  readonly leftOut?: readonly string[]
  /** `true` when no word of the query was looked for, so that there are no hits: it has none, or all were left out. */
  readonly noWords?: true
}

/** Sessions that are looked up at once. */
const MOST_SESSIONS = 1_000
/** How long after an append the index is brought up to date, and the pause between two transactions, milliseconds. */
const [BACKGROUND_AFTER_MS, BACKGROUND_PAUSE_MS] = [2_000, 50]

/** What prevents writing to the index: a search then finds what is in it. */
const UNWRITABLE = ['STORE_READONLY', 'STORE_BUSY', 'STORE_FULL'] as const

/** Receives how many rows a transaction added. */
type Report = (rows: number) => void

/** Searches, and keeps the index of the search up to date. */
export class Searcher {
  readonly #storage: Storage
  readonly #events: Events
  #catchingUp: Promise<boolean> | undefined
  #timer: NodeJS.Timeout | undefined
  #background: Promise<void> | undefined
  readonly #closing = new AbortController()

  constructor(storage: Storage, events: Events) {
    this.#storage = storage
    this.#events = events
  }

  async search(text: string, options: CheckedSearch): Promise<SearchResult> {
    const { session, limit, cursor, ...filter } = options
    const digest = digestOf(text, [session, filter])
    const query = readQuery(text)
    const after = cursor === undefined ? undefined : placeOf(cursor, digest, query.words.length)
    // What was stored since the first page is not part of the list, and a query without words finds nothing.
    const isIndexed = after !== undefined || query.words.length === 0
    const complete = isIndexed || (await this.#catchUp(session))
    const { hits, next } = await this.#storage.searching.find({
      ...{ query, isQuestion: isQuestion(text, query), session, filter, limit, after },
    })
    return {
      hits,
      ...(next !== undefined && { cursor: cursorOf(next, digest) }),
      complete,
      ...(query.leftOut.length > 0 && { leftOut: query.leftOut }),
      ...(query.words.length === 0 && { noWords: true }),
    }
  }

  /** Adds to the index what it lacks, of one session or of all; returns `false` when it lacks something that cannot be written. */
  async #catchUp(session: string | undefined): Promise<boolean> {
    if (session !== undefined) return this.#index([session], await this.#reporter(session))
    this.#catchingUp ??= this.#indexAll().finally(() => {
      this.#catchingUp = undefined
    })
    return this.#catchingUp
  }

  async #indexAll(): Promise<boolean> {
    let report: Report | undefined
    for (;;) {
      const unindexed = await this.#storage.searching.unindexed(MOST_SESSIONS)
      if (unindexed.length === 0) return true
      report ??= await this.#reporter()
      if (!(await this.#index(unindexed, report))) return false
    }
  }

  async #index(ids: readonly string[], report: Report): Promise<boolean> {
    try {
      await this.#addAll(ids, false, report)
      return true
    } catch (error) {
      if (UNWRITABLE.some((code) => isUndertextError(error, code))) return false
      throw error
    }
  }

  /** Emits the progress of one piece of work. Without a listener its size is not read. */
  async #reporter(session?: string): Promise<Report> {
    if (!this.#events.hasListener('indexing')) return () => {}
    const total = await this.#storage.searching.countUnindexed(session)
    let indexed = 0
    return (rows) => {
      if (rows === 0) return
      indexed += rows
      this.#events.emit('indexing', {
        ...(session !== undefined && { sessionId: session }),
        // Rows that were appended meanwhile are added too.
        ...{ indexed, total: Math.max(total, indexed) },
      })
    }
  }

  async #addAll(ids: readonly string[], inBackground: boolean, report: Report): Promise<void> {
    for (let at = 0; at < ids.length; ) {
      const { sessions, rows } = await this.#storage.searching.index(ids.slice(at), !inBackground)
      at += sessions
      report(rows)
      if (this.#closing.signal.aborted || at >= ids.length) return
      // Between two transactions other work of this process goes on, and that of others when there is a pause.
      // The pause ends with the store: alone it does not keep the process alive, and `close` waits for this work.
      const { signal } = this.#closing
      await (inBackground
        ? pause(BACKGROUND_PAUSE_MS, undefined, { ref: false, signal }).catch(() => {})
        : turn())
    }
  }

  /** After an append: an index that is in use catches up soon. Never waits, never throws. */
  offer(): void {
    if (this.#timer !== undefined || this.#closing.signal.aborted) return
    this.#timer = setTimeout(() => {
      this.#background = this.#work().then(
        () => this.#ended(),
        (error: unknown) => this.#ended(error),
      )
    }, BACKGROUND_AFTER_MS).unref()
  }

  async #work(): Promise<void> {
    let report: Report | undefined
    while (!this.#closing.signal.aborted) {
      const unindexed = await this.#storage.searching.unindexed(MOST_SESSIONS, true)
      if (unindexed.length === 0 || this.#closing.signal.aborted) return
      report ??= await this.#reporter()
      await this.#addAll(unindexed, true, report)
    }
  }

  #ended(error?: unknown): void {
    this.#timer = undefined
    this.#background = undefined
    // Another connection held the lock of SQLite. After any other failure the next append or search tries again; a search throws it.
    if (isUndertextError(error, 'STORE_BUSY')) this.offer()
  }

  /** Ends the work in the background; resolves when the transaction under way is over; `undefined` without one. */
  close(): Promise<void> | undefined {
    this.#closing.abort()
    clearTimeout(this.#timer)
    return this.#background
  }
}

/** The words of a text from which on it is rather a question than a name or a word that someone looks for. */
const QUESTION_WORDS = 5

function isQuestion(text: string, { phrases }: SearchQuery): boolean {
  if (phrases.length > 0) return false
  const read = text.slice(0, MAX_TEXT)
  return /[?？؟]/.test(read) || read.trim().split(/\s+/, QUESTION_WORDS).length === QUESTION_WORDS
}

/** Whether a cursor belongs to a search. */
function digestOf(text: string, options: unknown): string {
  return createHash('sha256').update(text).update(JSON.stringify(options)).digest('base64url').slice(0, 8)
}

const count = z.int().nonnegative()
/** A digest of the search, then its place. */
const cursorSchema = z.tuple([z.string(), count, count, count, z.array(count)])

function cursorOf({ block, skip, moment, counts = [] }: SearchPlace, digest: string): string {
  return encodeCursor([digest, block, skip, moment, counts])
}

/** The cursor of a place in a search. */
export function searchCursor(text: string, options: CheckedSearch, place: SearchPlace): string {
  const { session, limit: _, cursor: __, ...filter } = options
  return cursorOf(place, digestOf(text, [session, filter]))
}

/** The place of a cursor that a search returned. */
export function searchPlace(cursor: string): SearchPlace {
  return read(cursor)!.place
}

function read(cursor: string): { readonly digest: string; readonly place: SearchPlace } | undefined {
  const held = decodeCursor(cursorSchema, cursor)
  if (held === undefined) return undefined
  const [digest, block, skip, moment, counts] = held
  return { digest, place: { block, skip, moment, ...(counts.length > 0 && { counts }) } }
}

function placeOf(cursor: string, expected: string, words: number): SearchPlace {
  const { digest, place } = read(cursor) ?? {}
  const isComplete = place?.counts === undefined || place.counts.length === words + 1
  if (place === undefined || digest !== expected || !isComplete)
    throw invalid('search: the cursor is not one of this query with these options')
  return place
}
