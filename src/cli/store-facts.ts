import { statSync } from 'node:fs'
import { chmod, mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { errorName, UndertextError } from '../core/errors.ts'
import { locationOf, storeIn } from '../storage/location.ts'
import { hasCitus, tablesOf } from '../storage/postgres/citus.ts'
import { fromUrl } from '../storage/postgres/drivers.ts'
import { readFailure } from '../storage/postgres/failure.ts'
import { type GuardReport, guardReport } from '../storage/postgres/guards.ts'
import { hasTables, schemaIdentifier, schemaVersion } from '../storage/postgres/migrate.ts'
import type { PostgresConnection } from '../storage/postgres/port.ts'
import { type Database, loadDriver } from '../storage/sqlite/driver.ts'
import type { Location } from './command.ts'

/* Facts about a file or a server, found without opening a store there. */

/** Prepares a file for opening, as `Context.open` describes. */
export async function prepareFile(
  { path, from }: Location,
  access: 'read' | 'change' | 'write',
): Promise<void> {
  if (access === 'change') await requireStoreTables(path)
  if (access === 'write' && from === 'default' && isMissing(dirname(path))) {
    await mkdir(dirname(path), { recursive: true })
    // Only its owner may read conversations.
    await chmod(dirname(path), 0o700)
  }
}

/** Whether a file has no tables. */
export async function isBlankFile(path: string): Promise<boolean> {
  const { database } = await fileFacts(path, false)
  return database?.schema === null && database.pages <= 1
}

/** A command that changes a session must not create tables in a database of another program that was named by mistake. */
async function requireStoreTables(path: string): Promise<void> {
  const { database } = await fileFacts(path, false)
  if (database?.schema !== null) return
  const detail = "it has no undertext tables, and this command doesn't create them."
  throw new UndertextError('NOT_A_STORE', { location: path, detail })
}

/** Whether a file does not exist. If it exists but may not be read, opening it explains why. */
export function isMissing(path: string): boolean {
  try {
    statSync(path)
    return false
  } catch (error) {
    return isNotFound(error)
  }
}

function isNotFound(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException
  return code === 'ENOENT' || code === 'ENOTDIR'
}

/** The facts about a file that is not opened as a store. */
export type FileFacts = {
  readonly exists: boolean
  /** Bytes; absent without a file that may be read. */
  readonly size?: number
  /** Bytes of the write-ahead log beside it. */
  readonly walSize?: number
  /** What SQLite reports; absent if it cannot open the file. */
  readonly database?: DatabaseFacts
  /** The code of the error that prevents an inspection. */
  readonly error?: string
}

type DatabaseFacts = {
  readonly schema: number | null
  readonly pageSize: number
  readonly pages: number
  readonly freePages: number
  readonly journalMode: string
  /** Lines of `integrity_check`, if requested; a single `ok` for a sound file. */
  readonly integrity?: readonly string[]
}

/** Inspects the file of a store, whatever its state. Changes nothing and never throws. */
export async function fileFacts(path: string, deep: boolean): Promise<FileFacts> {
  let size: number
  try {
    size = statSync(path).size
  } catch (error) {
    if (isNotFound(error)) return { exists: false }
    // It exists but may not be read: a folder of another user, a link that leads to itself.
    return { exists: true, error: (error as NodeJS.ErrnoException).code ?? errorName(error) }
  }
  const walSize = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size
  const file = { exists: true, size, ...(walSize !== undefined && { walSize }) }
  try {
    return { ...file, database: await inDatabase(path, (database) => databaseFacts(database, deep)) }
  } catch (error) {
    return { ...file, error: errorName(error) }
  }
}

/** The number of sessions, counted in an index, and whether removed rows are no longer readable in the files. */
export async function storedIn(
  path: string,
): Promise<{ readonly sessions: number; readonly filesCleared: boolean }> {
  const query = `select (select count(*) from undertext_sessions)
      - (select count(*) from undertext_sessions where staged_by is not null) as sessions,
      not exists (select 1 from undertext_meta where key = 'residue') as cleared`
  const row = await inDatabase(
    path,
    (database) => database.prepare(query).get() as { readonly sessions: number; readonly cleared: number },
  )
  return { sessions: row.sessions, filesCleared: row.cleared === 1 }
}

async function inDatabase<T>(path: string, read: (database: Database) => T): Promise<T> {
  const Driver = await loadDriver()
  const database = new Driver(path, { readonly: true, fileMustExist: true })
  try {
    return read(database)
  } finally {
    database.close()
  }
}

function databaseFacts(database: Database, deep: boolean): DatabaseFacts {
  const pragma = (name: string): unknown => database.pragma(name, { simple: true })
  return {
    schema: schemaOf(database),
    pageSize: Number(pragma('page_size')),
    pages: Number(pragma('page_count')),
    freePages: Number(pragma('freelist_count')),
    journalMode: String(pragma('journal_mode')),
    ...(deep && { integrity: integrityOf(database) }),
  }
}

function schemaOf(database: Database): number | null {
  const table = database.prepare(
    "select 1 from sqlite_master where type = 'table' and name = 'undertext_meta'",
  )
  if (table.get() === undefined) return null
  const row = database.prepare("select value from undertext_meta where key = 'schema'").get() as
    | { readonly value: unknown }
    | undefined
  const version = Number(row?.value)
  return Number.isSafeInteger(version) ? version : null
}

function integrityOf(database: Database): string[] {
  const rows = database.pragma('integrity_check(20)') as readonly { readonly integrity_check: string }[]
  return rows.map((row) => row.integrity_check)
}

/** The facts about a server in which no store is opened. */
export type ServerFacts = {
  /** Whether the schema has tables, of any program. */
  readonly exists: boolean
  readonly version: string
  readonly schema: string
  /** `null` without a store. */
  readonly schemaVersion: number | null
  /** Whether statements are prepared. */
  readonly prepared: boolean
}

/** Inspects a server. Changes nothing. Throws the errors of `openStore` for a server that doesn't respond. */
export async function serverFacts(url: string): Promise<ServerFacts> {
  const { schema, prepare: prepared } = storeIn(url)
  return withConnection(url, async (connection) => {
    const { rows } = await connection.query('show server_version', [])
    const found = await schemaVersion({ connection, schema })
    const exists = found > 0 || (await hasTables({ connection, schema }))
    return { exists, version: String(rows[0]?.[0]), schema, schemaVersion: found || null, prepared }
  })
}

/** Where the tables are on a cluster of Citus: on its workers, or all on the coordinator. */
export type Distribution = 'workers' | 'coordinator'

type StoredOn = {
  readonly sessions: number
  readonly guards: GuardReport
  /** `null` without Citus. */
  readonly distribution: Distribution | null
}

/** The number of sessions in a store, what guards their history, and on which machines it is. */
export async function storedOn(url: string): Promise<StoredOn> {
  const { schema } = storeIn(url)
  return withConnection(url, async (connection) => {
    const query = `select count(*) from ${schemaIdentifier(schema)}.sessions where staged_by is null`
    const { rows } = await connection.query(query, [])
    const distribution = await distributionIn(connection, schema)
    return { sessions: Number(rows[0]?.[0]), guards: await guardReport(connection, schema), distribution }
  })
}

async function distributionIn(connection: PostgresConnection, schema: string): Promise<Distribution | null> {
  if (!(await hasCitus(connection))) return null
  return (await tablesOf(connection, schema)).distributed.length > 0 ? 'workers' : 'coordinator'
}

async function withConnection<T>(
  url: string,
  work: (connection: PostgresConnection) => Promise<T>,
): Promise<T> {
  const driver = await fromUrl(url, { connections: 1 })
  try {
    const connection = await driver.acquire()
    try {
      return await work(connection)
    } finally {
      connection.release(false)
    }
  } catch (error) {
    throw readFailure(error, { location: locationOf(url), busyTimeoutMs: 0, verb: 'openStore' }).error
  } finally {
    await driver.end()
  }
}
