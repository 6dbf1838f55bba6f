import {
  closeSync,
  existsSync,
  fchmodSync,
  lstatSync,
  openSync,
  readlinkSync,
  realpathSync,
  type Stats,
  statSync,
} from 'node:fs'
import { dirname, resolve } from 'node:path'
import { invalid, UndertextError } from '../../core/errors.ts'
import { isAddress, shownPath } from '../location.ts'
import { expireAllDead } from '../sql/lease.ts'
import { complete } from '../sql/work.ts'
import { fromDriver, sqliteCode, translateFailure } from './connection.ts'
import { type Database, loadDriver } from './driver.ts'
import { migrate, rejectForeignTables } from './migrate.ts'
import { finishClearing } from './residue.ts'
import { SqliteSql } from './storage.ts'

/* Opens a file of SQLite: permissions, migrations, pragmas, the write-ahead log, and the unfinished work of processes that died. */

/** The mode of a new file: only its owner can read conversations, whatever the umask. */
const PRIVATE = 0o600
/** The size in bytes to which a checkpoint truncates the write-ahead log, which SQLite never shrinks by default. */
const JOURNAL_SIZE_LIMIT = 16 * 1024 * 1024

/** Options of a store in SQLite, as passed to `openStore`. */
export type SqliteOptions = {
  readonly readonly: boolean
  readonly adopt: boolean
  readonly durability: 'full' | 'normal'
  readonly returnsSpace: boolean
  readonly busyTimeoutMs: number
}

/** Opens a file, creating and migrating it if necessary; `':memory:'` opens a store in memory. Throws the errors of `openStore`. */
export async function openFile(location: string, options: SqliteOptions): Promise<SqliteSql> {
  if (location === '')
    throw invalid("openStore: the location must not be empty; ':memory:' keeps a store in memory")
  if (location.includes('\0')) throw invalid('openStore: a path cannot contain NUL')
  const shown = shownPath(location)
  if (location !== ':memory:') checkPath(location, shown, options)
  else if (options.readonly) throw invalid('openStore: a store in memory is empty, so it cannot be read-only')
  const Driver = await loadDriver()
  const { busyTimeoutMs } = options
  const where = { location: shown, busyTimeoutMs, verb: 'openStore' }
  const open = (readonly: boolean): SqliteSql => {
    const database = new Driver(location, { readonly, timeout: busyTimeoutMs })
    return new SqliteSql(database, { ...where, readonly, owned: true })
  }
  let connection: SqliteSql | undefined
  try {
    if (!options.readonly && !/^(:memory:$|file:)/.test(location)) prepareLocation(location, options, open)
    connection = open(options.readonly)
    prepareFile(connection, options)
    return connection
  } catch (error) {
    connection?.close()
    throw translateFailure(error, where)
  }
}

/**
 * Creates a new file that only its owner can read; SQLite gives its companion files the same mode. A file of another program is rejected
 * before it is opened for writing, because that would checkpoint its write-ahead log.
 */
function prepareLocation(
  location: string,
  { adopt }: SqliteOptions,
  open: (readonly: boolean) => SqliteSql,
): void {
  if (makePrivate(location) || adopt || !hasLog(location)) return
  const connection = open(true)
  try {
    rejectForeignTables(connection)
  } finally {
    connection.close()
  }
}

/** Creates a file that only its owner can read; returns `false` if it exists or can't be created, which SQLite reports later. */
function makePrivate(path: string): boolean {
  try {
    const file = openSync(existsSync(path) ? path : endOfLink(path), 'wx', PRIVATE)
    fchmodSync(file, PRIVATE)
    closeSync(file)
    return true
  } catch {
    return false
  }
}

/** Returns the target of a link to a file that doesn't exist yet. */
function endOfLink(path: string): string {
  const isLink = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()
  return isLink ? resolve(dirname(path), readlinkSync(path)) : path
}

function hasLog(path: string): boolean {
  try {
    return statSync(`${realpathSync(path)}-wal`).size > 0
  } catch {
    return false
  }
}

const NO_ADDRESS =
  'a location is the path of a file, ":memory:", or postgres://USER:PASSWORD@HOST:5432/DATABASE without spaces or quotes.'

/** Throws for locations where the driver's error would not help. */
function checkPath(location: string, shown: string, { readonly }: SqliteOptions): void {
  const refused = (name: string, detail: string): UndertextError =>
    new UndertextError('STORE_UNAVAILABLE', { location: name, detail })
  if (isAddress(location) && !existsSync(location)) throw refused('an address', NO_ADDRESS)
  const unavailable = (detail: string): UndertextError => refused(shown, detail)
  const found = statOf(location, unavailable)
  if (found?.isDirectory()) throw unavailable('it is a directory.')
  if (found === undefined && readonly)
    throw unavailable("the file doesn't exist, and a read-only store doesn't create it.")
  if (found === undefined && !existsSync(dirname(location)))
    throw unavailable("its folder doesn't exist. Create it first.")
}

function statOf(location: string, unavailable: (detail: string) => UndertextError): Stats | undefined {
  try {
    return statSync(location, { throwIfNoEntry: false })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw unavailable(code === 'ENOTDIR' ? 'one of its folders is a file.' : `it cannot be read (${code}).`)
  }
}

/**
 * Migrates, then switches to the write-ahead log, in this order: on a new file, the switch immediately returns "busy" if another process is
 * switching too.
 */
function prepareFile(
  connection: SqliteSql,
  { readonly, adopt, durability, returnsSpace, busyTimeoutMs }: SqliteOptions,
): void {
  connection.measureFile()
  // Otherwise INSERT OR REPLACE would delete rows without firing the trigger that protects them.
  connection.pragma('recursive_triggers = on')
  // Only has an effect before the first table is made, and by VACUUM.
  if (returnsSpace && !readonly) connection.pragma('auto_vacuum = incremental')
  migrate(connection, { adopt })
  if (readonly) return
  useWriteAheadLog(connection, busyTimeoutMs)
  connection.pragma(`synchronous = ${durability}`)
  connection.pragma(`journal_size_limit = ${JOURNAL_SIZE_LIMIT}`)
  finishPreviousWork(connection)
}

/** Finishes the work of processes that died: clears the files after a purge, and expires summary attempts. */
function finishPreviousWork(connection: SqliteSql): void {
  if (connection.readonly) return
  finishClearing(connection, 'openStore')
  complete(expireAllDead(connection))
}

function useWriteAheadLog(connection: SqliteSql, busyTimeoutMs: number): void {
  const deadline = Date.now() + busyTimeoutMs
  for (;;) {
    try {
      connection.pragma('journal_mode = wal')
      return
    } catch (error) {
      // SQLITE_BUSY_RECOVERY: another process is recovering the log of a killed process.
      if (!sqliteCode(error)?.startsWith('SQLITE_BUSY') || Date.now() > deadline) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5)
    }
  }
}

/** Checks a connection of the application and migrates its database. An unsuitable connection is rejected; its settings aren't changed. */
export function takeConnection(database: Database, options: SqliteOptions): SqliteSql {
  if (
    typeof database !== 'object' ||
    database === null ||
    typeof database.prepare !== 'function' ||
    typeof database.pragma !== 'function'
  ) {
    throw invalid('openStore: the location must be a path or a better-sqlite3 connection')
  }
  if (!database.open) throw new UndertextError('CONNECTION_UNSUITABLE', { detail: 'it is closed.' })
  if (database.inTransaction) throw new UndertextError('IN_TRANSACTION', { verb: 'openStore' })
  if (database.readonly && !options.readonly) {
    throw new UndertextError('CONNECTION_UNSUITABLE', {
      detail: 'it is read-only.',
      advice: 'READONLY',
    })
  }
  const location = database.name
  let busyTimeoutMs = 0
  try {
    // A connection may return integers as BigInt.
    if (!options.readonly && Number(database.pragma('query_only', { simple: true })) === 1) {
      throw new UndertextError('CONNECTION_UNSUITABLE', { detail: 'its pragma query_only is on.' })
    }
    busyTimeoutMs = Number(database.pragma('busy_timeout', { simple: true }))
  } catch (error) {
    throw translateFailure(fromDriver(error, location), { location, busyTimeoutMs, verb: 'openStore' })
  }
  const { readonly } = options
  const connection = new SqliteSql(database, { location, readonly, owned: false, busyTimeoutMs })
  try {
    migrate(connection, { adopt: true })
    finishPreviousWork(connection)
  } catch (error) {
    throw translateFailure(error, { location, busyTimeoutMs, verb: 'openStore' })
  }
  return connection
}
