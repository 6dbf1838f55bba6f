import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { invalid, isUndertextError, UndertextError } from '../../core/errors.ts'
import { endedByAlso, ThrownByAlso } from '../also.ts'
import type { Seen } from '../owners.ts'
import { PLANNING_QUERY } from '../sql/planning.ts'
import type { Row, Sql } from '../sql/sql.ts'
import { complete, Done, type Work } from '../sql/work.ts'
import type { Also, AppendedMessage, Estimators } from '../storage.ts'
import type { Database, Statement } from './driver.ts'
import { MIGRATIONS } from './migrations.ts'
import { words } from './words.ts'

const NOTHING = new Done<void>(undefined)
const CHOSEN = new Done(null)
const SAME_CLOCK = new Done(0)

/** The interval between checks that the file still exists, in milliseconds. */
const CHECK_INTERVAL_MS = 5

const SIZE_AND_SCHEMA = `select page_count * page_size, schema_version, auto_vacuum
  from pragma_page_count, pragma_page_size, pragma_schema_version, pragma_auto_vacuum`

/**
 * A connection and its prepared statements.
 *
 * A statement is prepared once per text and kept for the life of the connection. This is fast, and better-sqlite3 12 aborts the process on
 * some versions of Node when a statement is garbage-collected. Rows are arrays, because objects cost more than the query.
 */
export class Connection implements Omit<Sql, 'erase' | 'clearFiles' | 'releaseSpace' | 'guardProblems'> {
  readonly database: Database
  readonly location: string
  readonly readonly: boolean
  readonly busyTimeoutMs: number
  readonly isShared = false
  readonly isRemote = false
  readonly words = words
  readonly planning = PLANNING_QUERY
  readonly seen: Seen = undefined
  /** Set by `sqliteStorage`. */
  estimators!: Estimators
  readonly #owned: boolean
  /** The path of the file; undefined for a store in memory. */
  readonly path: string | undefined
  /** The identity of the file that this connection opened; undefined for a passed connection, whose owner checks the file. */
  readonly #file: string | undefined
  /** The size of the file in bytes when it was last checked. */
  #size = 0
  /** The size below which the file was truncated, unless the version of the schema has changed since. */
  #least = 0
  #schema: number | undefined
  /** Whether the size has changed since it was measured. */
  #isUnmeasured = false
  #checkedAt = 0
  readonly #statements = new Map<string, Statement>()
  #closed = false
  #isStuck = false
  #isLent = false
  /** Removed data that may still be in the files, see residue.ts. */
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
    if (database.memory) return
    this.path = resolve(database.name)
    if (options.owned && !options.readonly) this.#file = fileAt(this.path).file
  }

  /**
   * Reads the size of the file, to which later sizes are compared. The query comes first: it rolls back what a process that was killed
   * during its commit left, which shortens the file, and it keeps others from writing until the size is read.
   */
  measureFile(): void {
    const { path } = this
    if (path === undefined || this.#file === undefined) return
    this.#inTransaction('begin', 'openStore', () => {
      this.get('select 1 from sqlite_schema limit 1')
      this.#measure(path)
    })
  }

  get closed(): boolean {
    return this.#closed || !this.database.open
  }

  // The next five methods don't share their `try`, because another function per call would cost an append half a microsecond.

  run(sql: string, ...parameters: unknown[]): Done<void> {
    try {
      this.#statement(sql, false).run(...parameters)
      return NOTHING
    } catch (error) {
      throw fromDriver(error, this.location)
    }
  }

  /** Runs a statement that returns no rows; returns the number of changed rows. */
  change(sql: string, ...parameters: unknown[]): Done<number> {
    try {
      return new Done(this.#statement(sql, false).run(...parameters).changes)
    } catch (error) {
      throw fromDriver(error, this.location)
    }
  }

  /** Runs an insert; returns the key of the new row. */
  insert(sql: string, ...parameters: unknown[]): Done<number> {
    try {
      return new Done(Number(this.#statement(sql, false).run(...parameters).lastInsertRowid))
    } catch (error) {
      throw fromDriver(error, this.location)
    }
  }

  get(sql: string, ...parameters: unknown[]): Done<Row | undefined> {
    try {
      return new Done(this.#statement(sql, true).get(...parameters) as Row | undefined)
    } catch (error) {
      throw fromDriver(error, this.location)
    }
  }

  /** Returns all rows. Never an iterator, because an open one would keep the write-ahead log from being checkpointed. */
  all(sql: string, ...parameters: unknown[]): Done<Row[]> {
    try {
      return new Done(this.#statement(sql, true).all(...parameters) as Row[])
    } catch (error) {
      throw fromDriver(error, this.location)
    }
  }

  /** Runs SQL that isn't worth preparing: migrations. */
  script(sql: string): void {
    this.#driver(() => this.database.exec(sql))
  }

  /** Sets a pragma, or runs one that returns rows. */
  pragma(sql: string): Record<string, unknown>[] {
    return this.#driver(() => this.database.pragma(sql) as Record<string, unknown>[])
  }

  readPragma(name: string): string {
    return String(Object.values(this.pragma(name)[0] ?? {})[0])
  }

  /** Does nothing: a file is a family, and SQLite chooses the keys. */
  enter(): Done<void> {
    return NOTHING
  }

  /** Does nothing: a file has a single writer. */
  enterAlone(): Done<void> {
    return NOTHING
  }

  enterOwner(): Done<void> {
    return NOTHING
  }

  clockOffset(): Done<number> {
    return SAME_CLOCK
  }

  admit(): Done<null> {
    return CHOSEN
  }

  isTaken(id: string, owner: Seen): Done<boolean> {
    const statement = 'select 1 from undertext_sessions where id = ?'
    const found =
      owner === undefined ? this.get(statement, id) : this.get(`${statement} and owner is ?`, id, owner)
    return new Done(found.value !== undefined)
  }

  isAmbiguous(id: string): Done<boolean> {
    const statement = 'select owner from undertext_sessions where id = ? order by owner nulls first limit 2'
    const [first, second] = this.all(statement, id).value
    return new Done(second !== undefined && first![0] !== null)
  }

  rename(): Done<void> {
    return NOTHING
  }

  leave(): Done<void> {
    return NOTHING
  }

  keyOf(): null {
    return null
  }

  nextNo(): Done<null> {
    return CHOSEN
  }

  /** Runs a write verb in one transaction, which takes the write lock at its start. */
  write<T>(verb: string, work: () => Work<T>, isPatient = true): Done<T> {
    return new Done(this.writing(verb, () => complete(work()), isPatient))
  }

  writing<T>(verb: string, work: () => T, isPatient = true): T {
    this.#enter(verb)
    if (this.readonly) throw new UndertextError('STORE_READONLY', { verb })
    const checked = (): T => {
      const result = work()
      this.#checkFile()
      return result
    }
    const written = isPatient
      ? this.#inTransaction('begin immediate', verb, checked)
      : this.#withoutWaiting(verb, checked)
    this.#measureAgain()
    this.residue.retry?.()
    return written
  }

  /** Runs a write transaction that doesn't wait for the lock of another connection, and then restores the driver's timeout. */
  #withoutWaiting<T>(verb: string, work: () => T): T {
    const before = this.readPragma('busy_timeout')
    this.pragma('busy_timeout = 0')
    try {
      return this.#inTransaction('begin immediate', verb, work, 0)
    } finally {
      this.pragma(`busy_timeout = ${before}`)
    }
  }

  /** Runs a read verb in one transaction, so that all of its reads are as of one moment. */
  read<T>(verb: string, work: () => Work<T>): Done<T> {
    this.#enter(verb)
    return new Done(this.#inTransaction('begin', verb, () => complete(work())))
  }

  outside<T>(verb: string, work: () => Work<T>): Done<T> {
    return new Done(this.bare(verb, () => complete(work())))
  }

  /** Runs work without a transaction of its own. */
  bare<T>(verb: string, work: () => T): T {
    this.#enter(verb)
    try {
      return work()
    } catch (error) {
      throw translateFailure(error, this.#where(verb))
    }
  }

  /** The savepoint shows whether the function ended the transaction. */
  lend(also: Also, appended: readonly AppendedMessage[]): Done<void> {
    if (Object.prototype.toString.call(also) === '[object AsyncFunction]')
      throw new ThrownByAlso(invalid(MUST_BE_SYNCHRONOUS))
    this.run('savepoint undertext_also')
    this.#isLent = true
    let result: unknown
    try {
      result = also(this.database as never, appended)
    } catch (error) {
      throw new ThrownByAlso(error)
    } finally {
      this.#isLent = false
    }
    if (isThenable(result)) {
      // Not for other thenables, because drizzle's run their query when they are awaited.
      if (result instanceof Promise) result.catch(() => {})
      throw new ThrownByAlso(invalid(MUST_BE_SYNCHRONOUS))
    }
    try {
      this.run('release undertext_also')
    } catch (error) {
      throw sqliteCode(error) === 'SQLITE_ERROR' ? new ThrownByAlso(endedByAlso()) : error
    }
    return NOTHING
  }

  unguarded<T>(what: string, work: () => Work<T>): Done<T> {
    this.run("insert into undertext_meta (key, value) values ('purging', ?)", what)
    const result = complete(work())
    this.run("delete from undertext_meta where key = 'purging'")
    return new Done(result)
  }

  takenColumn(error: unknown): string | undefined {
    const code = sqliteCode(error)
    if (code === 'SQLITE_CONSTRAINT_TRIGGER') return 'key'
    if (code !== 'SQLITE_CONSTRAINT_UNIQUE') return undefined
    return /\.(\w+)$/.exec((error as Error).message)?.[1]
  }

  /** Closes the database, unless it was passed in. Further calls have no effect. */
  close(): void {
    if (this.#closed) return
    this.#closed = true
    if (this.#owned && this.database.open) this.database.close()
  }

  #driver<T>(call: () => T): T {
    try {
      return call()
    } catch (error) {
      throw fromDriver(error, this.location)
    }
  }

  #enter(verb: string): void {
    // No one else closes an own connection or begins a transaction on it, so the driver needn't be asked.
    if (this.#closed || (!this.#owned && !this.database.open)) throw new UndertextError('STORE_CLOSED', {})
    if (this.#owned && this.#isStuck) this.#rollBack()
    if ((!this.#owned || this.#isStuck || this.#isLent) && this.database.inTransaction)
      throw new UndertextError('IN_TRANSACTION', { verb })
  }

  /**
   * SQLite writes into a deleted, replaced or truncated file without an error. Acknowledged data must exist afterwards, so the file is
   * checked before a commit, but at most once per interval, because a check takes 4 µs (20 µs after a sync of the disk). The header isn't
   * read, because opening the file would release the locks of this process.
   */
  #checkFile(): void {
    if (this.#file === undefined) return
    const now = performance.now()
    if (now - this.#checkedAt < CHECK_INTERVAL_MS) return
    const size = this.requireFile()
    if (size !== undefined) this.#checkSize(size)
    this.#checkedAt = now
  }

  /** Throws unless the path leads to the file that this connection opened; returns its size, or `undefined` if that can't be read. */
  requireFile(): number | undefined {
    if (this.path === undefined || this.#file === undefined) return undefined
    const { file, size } = fileAt(this.path)
    if (file === 'unknown') return undefined
    if (file !== this.#file) throw this.#changedFile('removed, moved or replaced')
    return size
  }

  #changedFile(what: string): UndertextError {
    const detail = `the file was ${what} since it was opened. Open the store again.`
    return new UndertextError('STORE_UNAVAILABLE', { location: this.location, detail })
  }

  /**
   * A file is only shortened by `VACUUM`, at a later checkpoint, which changes the version of the schema, and by `auto_vacuum`, which
   * leaves no trace. Asking SQLite costs more than all other checks of an append, so it is only asked if the size has changed.
   */
  #checkSize(size: number): void {
    if (size === this.#size) return
    if (size < this.#least) this.#requireVacuumed(size)
    this.#size = size
    this.#isUnmeasured = true
  }

  #requireVacuumed(size: number): void {
    const [, schema, shortens] = this.#sizeAndSchema()
    if (size === 0 || (schema === this.#schema && shortens === 0))
      throw this.#changedFile('truncated or overwritten')
  }

  /**
   * Measures the file outside of a transaction that adds pages. Between a `VACUUM` and its checkpoint, which a reader may delay, the file is
   * larger than the database, and will be shortened to a size that isn't known yet.
   */
  #measure(path: string): void {
    const [bytes, schema, shortens] = this.#sizeAndSchema()
    const { file, size } = fileAt(path)
    // The next check finds out.
    if (file === 'unknown' || (size < this.#least && schema === this.#schema && shortens === 0)) return
    this.#size = size
    this.#least = size <= bytes ? size : 0
    this.#schema = schema
    this.#isUnmeasured = false
  }

  /** Measures the file after a commit, if its size has changed. The write is stored, so an error is left to the next one. */
  #measureAgain(): void {
    if (!this.#isUnmeasured || this.path === undefined) return
    try {
      this.#measure(this.path)
    } catch {}
  }

  #sizeAndSchema(): readonly [bytes: number, schema: number, shortens: number] {
    return this.get(SIZE_AND_SCHEMA).value as unknown as [number, number, number]
  }

  #inTransaction<T>(begin: string, verb: string, work: () => T, waitsMs = this.busyTimeoutMs): T {
    try {
      this.run(begin)
      const result = work()
      this.run('commit')
      return result
    } catch (error) {
      this.#rollBack()
      throw translateFailure(error, { ...this.#where(verb), busyTimeoutMs: waitsMs })
    }
  }

  /**
   * Rolls back an open transaction. After some failures, such as a full disk, SQLite has already done so. If the rollback fails, the caller
   * still receives the error of the verb, and the next verb tries again.
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
    const prepared = this.database.prepare(toSqlite(sql)) as Statement
    // A passed connection may default to BigInt, but all stored numbers are below 2^53.
    prepared.safeIntegers(false)
    if (rows) prepared.raw(true)
    this.#statements.set(sql, prepared)
    return prepared
  }
}

const MUST_BE_SYNCHRONOUS =
  'also: must write synchronously on SQLite: without async, and with .run() at the end of a query of drizzle'

function isThenable(value: unknown): boolean {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function'
}

const FRAGMENTS: { readonly [name: string]: (a?: string, b?: string) => string } = {
  index: (name) => `indexed by ${name}`,
  list: (value) => `json_each(${value})`,
  texts: (value) => `json_each(${value})`,
  elements: (value) => `json_each(${value})`,
  int: (row, at) => `${row}.value ->> ${at}`,
  at: (list, index) => `${list} ->> ${index}`,
  unhex: (row, at) => `unhex(${row}.value ->> ${at})`,
  cross: () => 'cross join',
  find: () => 'cross join',
  where: () => 'on',
  latest: (row) => `max(${row}.compaction)`,
  last: () => 'group by r.message, r.part',
  '+': () => '+',
  number: (column, key) => `case when json_valid(${column}) then json_extract(${column}, '$.${key}') end`,
  instr: () => 'instr',
  array: () => 'json_array',
  named: (table = 'undertext_sessions') =>
    `(${table}.owner is null or not exists (select 1 from undertext_sessions n where n.id = ${table}.id and n.no <> ${table}.no)) and`,
  age: () => 'no',
  ages: () => 'no',
  newest: () => 'no desc',
}

/** Replaces the fragments of a statement, see sql.ts. */
export function toSqlite(text: string): string {
  return text.replace(/\{([^\s}]+)([^}]*)\}/g, (_, name: string, rest: string) => {
    const [a, b] = rest.trim() === '' ? [] : rest.trim().split(' ')
    return FRAGMENTS[name]?.(a, b) ?? ''
  })
}

/** Returns the size in bytes and the identity of the file at a path: "none", or "unknown" if the path can't be read. */
function fileAt(path: string): { readonly file: string; readonly size: number } {
  try {
    const found = statSync(path, { throwIfNoEntry: false })
    if (found === undefined) return { file: 'none', size: 0 }
    return { file: `${found.dev}:${found.ino}`, size: found.size }
  } catch {
    return { file: 'unknown', size: 0 }
  }
}

const UNWRITABLE = 'SQLite cannot write to the file or to its folder'

type Where = { readonly location: string; readonly busyTimeoutMs: number; readonly verb: string }

/**
 * Translates an error of the driver. The driver's messages name tables and columns, never values, so its error becomes the cause, unless
 * the file is damaged: then the name of a table may be text of a conversation.
 */
export function translateFailure(error: unknown, where: Where): unknown {
  if (isUndertextError(error)) return error
  const code = sqliteCode(error)
  const cause = { cause: error }
  const isTooLarge = error instanceof RangeError && /string length|too large/i.test(error.message)
  if (isTooLarge || code === 'SQLITE_TOOBIG')
    return new UndertextError('INVALID_INPUT', { problems: 'a message is too large for the database' }, cause)
  if (code === undefined) return error
  if (/^SQLITE_(BUSY|LOCKED|PROTOCOL)/.test(code))
    return new UndertextError('STORE_BUSY', { waitedMs: where.busyTimeoutMs }, cause)
  if (code === 'SQLITE_FULL') return new UndertextError('STORE_FULL', { detail: code }, cause)
  const { location, verb } = where
  if (code === 'SQLITE_NOTADB')
    return new UndertextError(
      'NOT_A_STORE',
      { location, detail: "the file isn't an SQLite database." },
      cause,
    )
  // A write verb on a store opened read-only is rejected before it reaches the driver.
  if (code.startsWith('SQLITE_READONLY'))
    return new UndertextError('STORE_READONLY', { verb, detail: `${UNWRITABLE} (${code})` }, cause)
  if (/^SQLITE_(IOERR|CANTOPEN|PERM|AUTH|NOMEM|NOLFS|INTERRUPT)/.test(code)) {
    const detail = `the file cannot be read or written (${code}).`
    return new UndertextError('STORE_UNAVAILABLE', { location, detail }, cause)
  }
  // Undertext's tables have no foreign keys.
  if (code === 'SQLITE_CONSTRAINT_FOREIGNKEY') {
    const detail = `rows of another program refer to these (${code}), and nothing was written. Delete them first.`
    return new UndertextError('STORE_UNAVAILABLE', { location, detail }, cause)
  }
  if (isMistake(code, (error as Error).message))
    return new UndertextError('INTERNAL_ERROR', { detail: `${code}, ${verb}` })
  // SQLITE_CORRUPT, and errors that only occur in a file that another program changed: a missing table, a value that violates a constraint.
  return new UndertextError('STORE_CORRUPT', { detail: code })
}

/**
 * Returns whether the statement itself is wrong: its syntax or a name. If a table or an index of the migrations is missing, another program
 * has dropped it; if a function can't read a value, another program has written it.
 */
function isMistake(code: string, message: string): boolean {
  if (code !== 'SQLITE_ERROR') return /^SQLITE_(?:RANGE|MISUSE)/.test(code)
  const absent = /^no such (?:table|index): (?:main\.)?(undertext_\w+)$/.exec(message)?.[1]
  if (absent !== undefined) return !MIGRATIONS.flat().some((text) => text.includes(`\`${absent}\``))
  return !/malformed|JSON|overflow/i.test(message)
}

/**
 * Wraps an error of the driver that is neither SQLite's nor about sizes, for example that the connection is busy iterating.
 * `translateFailure` handles the others.
 */
export function fromDriver(error: unknown, location: string): unknown {
  if (sqliteCode(error) !== undefined || error instanceof RangeError || isUndertextError(error)) return error
  const detail = `the driver failed (${error instanceof Error ? error.name : typeof error}).`
  return new UndertextError('STORE_UNAVAILABLE', { location, detail }, { cause: error })
}

/** Returns the code of a driver's error, from any copy of the driver. */
export function sqliteCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || error.name !== 'SqliteError') return undefined
  const { code } = error as { code?: unknown }
  return typeof code === 'string' ? code : undefined
}
