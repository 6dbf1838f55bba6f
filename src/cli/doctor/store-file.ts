import { statSync } from 'node:fs'
import { errorName } from '../../errors.ts'
import type { Database } from '../../storage/sqlite/driver.ts'
import { loadDriver } from '../../storage/sqlite/driver.ts'

/** What can be said of a file without opening it as a store. */
export type FileFacts = {
  readonly exists: boolean
  /** Bytes; absent where there is no file, or none that may be looked at. */
  readonly size?: number
  /** Bytes of the write-ahead log beside it. */
  readonly walSize?: number
  /** What SQLite says; absent where it cannot open the file. */
  readonly database?: DatabaseFacts
  /** Why it cannot: a code. */
  readonly error?: string
}

type DatabaseFacts = {
  readonly schema: number | null
  readonly pageSize: number
  readonly pages: number
  readonly freePages: number
  readonly journalMode: string
  /** Lines of `integrity_check`, when it was asked for; one `ok` for a sound file. */
  readonly integrity?: readonly string[]
}

/** Looks at the file of a store. Nothing in it is changed, and nothing it is throws. */
export async function fileFacts(path: string, deep: boolean): Promise<FileFacts> {
  let size: number
  try {
    size = statSync(path).size
  } catch (error) {
    if (isNothingThere(error)) return { exists: false }
    // Something is there, but may not be looked at: a folder of somebody else's, a link that leads to itself.
    return { exists: true, error: (error as NodeJS.ErrnoException).code ?? errorName(error) }
  }
  const walSize = sizeOf(`${path}-wal`)
  const file = { exists: true, size, ...(walSize !== undefined && { walSize }) }
  try {
    const Driver = await loadDriver()
    const database = new Driver(path, { readonly: true, fileMustExist: true })
    try {
      return { ...file, database: databaseFacts(database, deep) }
    } finally {
      database.close()
    }
  } catch (error) {
    return { ...file, error: errorName(error) }
  }
}

/**
 * How many sessions a store of this version holds, by counts that read an index and not the sessions, and whether rows that were
 * removed may still be readable in its files.
 */
export async function storedIn(
  path: string,
): Promise<{ readonly sessions: number; readonly filesCleared: boolean }> {
  const Driver = await loadDriver()
  const database = new Driver(path, { readonly: true, fileMustExist: true })
  try {
    const row = database
      .prepare(
        `select (select count(*) from undertext_sessions)
           - (select count(*) from undertext_sessions where staged_by is not null) as sessions,
           not exists (select 1 from undertext_meta where key = 'residue') as cleared`,
      )
      .get() as { readonly sessions: number; readonly cleared: number }
    return { sessions: row.sessions, filesCleared: row.cleared === 1 }
  } finally {
    database.close()
  }
}

/** Whether an error of the system says that there is no such file. */
export function isNothingThere(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException
  return code === 'ENOENT' || code === 'ENOTDIR'
}

function sizeOf(path: string): number | undefined {
  try {
    return statSync(path).size
  } catch {
    return undefined
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
