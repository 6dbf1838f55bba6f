import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { isUndertextError, UndertextError } from '../../errors.ts'
import type { Database, Statement } from './driver.ts'

/** A row as the driver gives it in raw mode: its columns in the order they were asked for. */
export type Row = readonly unknown[]

/** How often it is looked whether the file is still there, milliseconds. */
const LOOK_EVERY_MS = 5

/**
 * One connection and all its prepared statements.
 *
 * A statement is prepared once, by its text, and kept for the life of the connection: that is fast, and
 * better-sqlite3 12 aborts the process on some versions of Node when a statement is garbage-collected. Rows
 * come as arrays, because objects cost more than the query.
 */
export class Connection {
  readonly database: Database
  readonly location: string
  readonly readonly: boolean
  readonly busyTimeoutMs: number
  readonly #owned: boolean
  /** The file we opened, by its place and what stood there then; a connection handed in is its owner's to look after. */
  readonly #path: string | undefined
  readonly #file: string | undefined
  #lookedAt = 0
  readonly #statements = new Map<string, Statement>()
  #closed = false
  /** A transaction of ours that could not be rolled back. */
  #isStuck = false
  /** What removals have left in the files: see residue.ts. */
  readonly residue: { retry: (() => void) | undefined; endedAt: number; tookMs: number } = {
    retry: undefined,
    endedAt: 0,
    tookMs: 0,
  }

  constructor(
    database: Database,
    options: { location: string; readonly: boolean; owned: boolean; busyTimeoutMs: number },
  ) {
    this.database = database
    this.location = options.location
    this.readonly = options.readonly
    this.busyTimeoutMs = options.busyTimeoutMs
    this.#owned = options.owned
    if (!options.owned || database.memory || options.readonly) return
    this.#path = resolve(options.location)
    this.#file = fileAt(this.#path)
  }

  get closed(): boolean {
    return this.#closed || !this.database.open
  }

  /** Runs a statement that returns no rows; answers how many rows it changed. */
  run(sql: string, ...parameters: unknown[]): number {
    try {
      return this.#statement(sql, false).run(...parameters).changes
    } catch (error) {
      throw fromDriver(error, this.location)
    }
  }

  /** Runs an insert; answers the key of the new row. */
  insert(sql: string, ...parameters: unknown[]): number {
    try {
      return Number(this.#statement(sql, false).run(...parameters).lastInsertRowid)
    } catch (error) {
      throw fromDriver(error, this.location)
    }
  }

  /** The first row, or `undefined`. */
  get(sql: string, ...parameters: unknown[]): Row | undefined {
    try {
      return this.#statement(sql, true).get(...parameters) as Row | undefined
    } catch (error) {
      throw fromDriver(error, this.location)
    }
  }

  /** All rows. Never an iterator: an open one would keep the write-ahead log from being checkpointed. */
  all(sql: string, ...parameters: unknown[]): Row[] {
    try {
      return this.#statement(sql, true).all(...parameters) as Row[]
    } catch (error) {
      throw fromDriver(error, this.location)
    }
  }

  /** Runs SQL that is not worth preparing: migrations. */
  script(sql: string): void {
    try {
      this.database.exec(sql)
    } catch (error) {
      throw fromDriver(error, this.location)
    }
  }

  /** Sets a pragma, or runs one that returns rows. */
  pragma(sql: string): Record<string, unknown>[] {
    try {
      return this.database.pragma(sql) as Record<string, unknown>[]
    } catch (error) {
      throw fromDriver(error, this.location)
    }
  }

  /** The value of a pragma, as text. */
  readPragma(name: string): string {
    return String(Object.values(this.pragma(name)[0] ?? {})[0])
  }

  /** One writing verb: the write lock first, then the work, all of it or nothing. */
  write<T>(verb: string, work: () => T): T {
    this.#enter(verb)
    if (this.readonly) throw new UndertextError('STORE_READONLY', { verb })
    const written = this.#inTransaction('begin immediate', verb, () => {
      const result = work()
      this.#refuseVanished()
      return result
    })
    this.residue.retry?.()
    return written
  }

  /** One reading verb: everything it reads is of one moment. */
  read<T>(verb: string, work: () => T): T {
    this.#enter(verb)
    return this.#inTransaction('begin', verb, work)
  }

  /** Work that needs no transaction of its own: reading by a single statement, which is of one moment by itself, or what surrounds a transaction. */
  outside<T>(verb: string, work: () => T): T {
    this.#enter(verb)
    try {
      return work()
    } catch (error) {
      throw translateFailure(error, this.#where(verb))
    }
  }

  /** Closes what we opened; a connection that was handed in stays open. Closing twice is nothing. */
  close(): void {
    if (this.#closed) return
    this.#closed = true
    if (this.#owned && this.database.open) this.database.close()
  }

  #enter(verb: string): void {
    // On a connection of our own nobody else closes it or begins a transaction, so the driver is not asked.
    if (this.#closed || (!this.#owned && !this.database.open)) throw new UndertextError('STORE_CLOSED', {})
    if (this.#owned && this.#isStuck) this.#rollBack()
    if ((!this.#owned || this.#isStuck) && this.database.inTransaction)
      throw new UndertextError('IN_TRANSACTION', { verb })
  }

  /**
   * SQLite goes on writing into a file that was deleted or replaced, and says that all is well. What is
   * acknowledged must be there afterwards, so before a commit this is looked at, when the last look is more than a
   * moment ago: looking takes 4 µs, 20 behind a sync of the disk.
   */
  #refuseVanished(): void {
    if (this.#path === undefined) return
    const now = performance.now()
    if (now - this.#lookedAt < LOOK_EVERY_MS) return
    const file = fileAt(this.#path)
    if (file === this.#file || file === 'unknown') {
      this.#lookedAt = now
      return
    }
    throw new UndertextError('STORE_UNAVAILABLE', {
      location: this.location,
      detail: 'the file was removed, moved or replaced since it was opened. Open the store again.',
    })
  }

  #inTransaction<T>(begin: string, verb: string, work: () => T): T {
    try {
      this.run(begin)
      const result = work()
      this.run('commit')
      return result
    } catch (error) {
      this.#rollBack()
      throw translateFailure(error, this.#where(verb))
    }
  }

  /**
   * Takes an open transaction back. SQLite has done so by itself after some failures (a full disk, say); then there is
   * nothing to do. When it cannot be done the caller still hears why the verb failed, and the next verb tries again.
   */
  #rollBack(): void {
    this.#isStuck = false
    if (!this.database.open || !this.database.inTransaction) return
    try {
      this.run('rollback')
    } catch {
      this.#isStuck = true
    }
  }

  #where(verb: string): Where {
    return { location: this.location, busyTimeoutMs: this.busyTimeoutMs, verb }
  }

  #statement(sql: string, rows: boolean): Statement {
    const kept = this.#statements.get(sql)
    if (kept !== undefined) return kept
    const prepared = this.database.prepare(sql) as Statement
    // A connection that was handed in may default to BigInt; ours are all below 2^53.
    prepared.safeIntegers(false)
    if (rows) prepared.raw(true)
    this.#statements.set(sql, prepared)
    return prepared
  }
}

/** Which file stands at a place; "none", and "unknown" where we may not look (any more). */
function fileAt(path: string): string {
  try {
    const found = statSync(path, { throwIfNoEntry: false })
    return found === undefined ? 'none' : `${found.dev}:${found.ino}`
  } catch {
    return 'unknown'
  }
}

/** What the translation needs to know of the connection that failed. */
type Where = { readonly location: string; readonly busyTimeoutMs: number; readonly verb: string }

/**
 * Turns what the driver throws into our own error. The driver's sentences name tables and columns, never
 * values, so its error may stay as the cause; but not of a damaged file, where what it takes for a table's name
 * may be what somebody said.
 */
export function translateFailure(error: unknown, where: Where): unknown {
  if (isUndertextError(error)) return error
  if (error instanceof RangeError && /string length|too large/i.test(error.message)) {
    return new UndertextError(
      'INVALID_INPUT',
      { problems: 'a message is larger than a database can hold' },
      { cause: error },
    )
  }
  const code = sqliteCode(error)
  if (code === undefined) return error
  const cause = { cause: error }
  if (/^SQLITE_(BUSY|LOCKED|PROTOCOL)/.test(code)) {
    return new UndertextError('STORE_BUSY', { waitedMs: where.busyTimeoutMs }, cause)
  }
  if (code === 'SQLITE_FULL') return new UndertextError('STORE_FULL', { detail: code }, cause)
  if (code === 'SQLITE_TOOBIG') {
    return new UndertextError(
      'INVALID_INPUT',
      { problems: 'a message is larger than a database can hold' },
      cause,
    )
  }
  if (code === 'SQLITE_NOTADB') {
    return new UndertextError(
      'NOT_A_STORE',
      { location: where.location, detail: 'the file is not an SQLite database.' },
      cause,
    )
  }
  if (code.startsWith('SQLITE_READONLY'))
    return new UndertextError('STORE_READONLY', { verb: where.verb }, cause)
  if (/^SQLITE_(IOERR|CANTOPEN|PERM|AUTH|NOMEM|NOLFS|INTERRUPT)/.test(code)) {
    return new UndertextError(
      'STORE_UNAVAILABLE',
      { location: where.location, detail: `the file cannot be read or written (${code}).` },
      cause,
    )
  }
  // SQLITE_CORRUPT; and what our own statements can only meet in a file that is not as they left it: a column that
  // is not there, a value that a constraint forbids.
  return new UndertextError('STORE_CORRUPT', { detail: code })
}

/**
 * What a call of the driver threw: SQLite's errors and those about sizes as they are, for `translateFailure` to tell
 * apart; anything else (the connection is iterating, say) as our own. Errors of our own code never come this way.
 */
export function fromDriver(error: unknown, location: string): unknown {
  if (sqliteCode(error) !== undefined || error instanceof RangeError || isUndertextError(error)) return error
  const detail = `the driver failed (${error instanceof Error ? error.name : typeof error}).`
  return new UndertextError('STORE_UNAVAILABLE', { location, detail }, { cause: error })
}

/** The code of an error of the driver, whichever copy of it threw. */
export function sqliteCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || error.name !== 'SqliteError') return undefined
  const { code } = error as { code?: unknown }
  return typeof code === 'string' ? code : undefined
}
