import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises'
import { isUndertextError } from '../core/errors.ts'
import type { SessionName } from '../storage/owners.ts'
import type { Storage } from '../storage/storage.ts'
import type { Events } from './events.ts'

const MAX_SESSIONS = 1_000
/** Milliseconds after an append until the index is updated, and between two transactions. */
const [BACKGROUND_AFTER_MS, BACKGROUND_PAUSE_MS] = [2_000, 50]

/** Errors that prevent writing to the index: a search then finds only what is in it. */
const UNWRITABLE = ['STORE_READONLY', 'STORE_BUSY', 'STORE_FULL'] as const

type Report = (rows: number) => void

/** Keeps the search index up to date: before a search, and in the background after an append. */
export class SearchIndex {
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

  /** Adds missing rows of one session or of all to the index; returns `false` if some are missing that can't be written. */
  async catchUp(session: string | undefined): Promise<boolean> {
    if (session !== undefined) return this.#index([{ id: session }], await this.#reporter(session))
    this.#catchingUp ??= this.#indexAll().finally(() => {
      this.#catchingUp = undefined
    })
    return this.#catchingUp
  }

  async #indexAll(): Promise<boolean> {
    let report: Report | undefined
    for (;;) {
      const unindexed = await this.#storage.searching.unindexed(MAX_SESSIONS)
      if (unindexed.length === 0) return true
      report ??= await this.#reporter()
      if (!(await this.#index(unindexed, report))) return false
    }
  }

  async #index(ids: readonly SessionName[], report: Report): Promise<boolean> {
    try {
      await this.#addAll(ids, false, report)
      return true
    } catch (error) {
      if (UNWRITABLE.some((code) => isUndertextError(error, code))) return false
      throw error
    }
  }

  /** Emits the progress of one piece of work. Without a listener, its size isn't read. */
  async #reporter(session?: string): Promise<Report> {
    if (!this.#events.hasListener('indexing')) return () => {}
    const total = await this.#storage.searching.countUnindexed(session)
    let indexed = 0
    return (rows) => {
      if (rows === 0) return
      indexed += rows
      this.#events.emit('indexing', {
        ...(session !== undefined && { sessionId: session }),
        // Rows appended in the meantime are added too.
        ...{ indexed, total: Math.max(total, indexed) },
      })
    }
  }

  async #addAll(ids: readonly SessionName[], inBackground: boolean, report: Report): Promise<void> {
    for (let at = 0; at < ids.length; ) {
      const { sessions, rows } = await this.#storage.searching.index(ids.slice(at), !inBackground)
      at += sessions
      report(rows)
      if (this.#closing.signal.aborted || at >= ids.length) return
      // Between two transactions, other work of this process and, with a pause, that of other processes can run. The pause ends with the
      // store: it doesn't keep the process alive, and `close` waits for this work.
      const { signal } = this.#closing
      await (inBackground
        ? pause(BACKGROUND_PAUSE_MS, undefined, { ref: false, signal }).catch(() => {})
        : turn())
    }
  }

  /** After an append: schedules a catch-up if the index is in use. Never waits, never throws. */
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
      const unindexed = await this.#storage.searching.unindexed(MAX_SESSIONS, true)
      if (unindexed.length === 0 || this.#closing.signal.aborted) return
      report ??= await this.#reporter()
      await this.#addAll(unindexed, true, report)
    }
  }

  #ended(error?: unknown): void {
    this.#timer = undefined
    this.#background = undefined
    // Another connection held SQLite's lock. After any other failure, the next append or search tries again; a search throws the error.
    if (isUndertextError(error, 'STORE_BUSY')) this.offer()
  }

  /** Ends the background work; resolves when the current transaction is done; `undefined` if there is none. */
  close(): Promise<void> | undefined {
    this.#closing.abort()
    clearTimeout(this.#timer)
    return this.#background
  }
}
