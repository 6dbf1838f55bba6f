import { randomUUID } from 'node:crypto'
import { isUndertextError } from '../../core/errors.ts'
import { type Connection, sqliteCode } from './connection.ts'
import { holdsOthers } from './migrate.ts'

/*
 * Removed rows must not stay readable in the files. Zeroing deleted content (secure_delete) isn't enough: when SQLite splits or merges
 * pages, it leaves copies of rows in unused space, and the write-ahead log contains older versions of pages. So after a removal, the tables
 * are rewritten and the log is truncated. The transaction of the removal writes a mark to undertext_meta that records the remaining work;
 * the mark is deleted last.
 */

/**
 * `tables`: pages of the database may contain copies of removed rows. `later`: the same, but they are only cleared on request. `log`: only the
 * write-ahead log may.
 */
type Stage = 'tables' | 'later' | 'log'
type Residue = { readonly stage: Stage; readonly token: string }

const KEY = 'residue'
/** The delay, in milliseconds, after which a write tries again to clear the files. */
const RETRY_AFTER_MS = 100
/** The maximum share of time for work that can wait: clearing within a series of removals, and failed attempts. */
const MAX_TIME_SHARE = 0.05

/** Records, within a removal, that the files have to be cleared; with `isLater`, on request only. */
export function recordRemoval(connection: Connection, isLater: boolean): void {
  if (connection.database.memory) return
  const stage = isLater && (residueOf(connection)?.stage ?? 'later') === 'later' ? 'later' : 'tables'
  mark(connection, { stage, token: randomUUID() })
  forgetStatistics(connection)
}

/** Deletes the samples of indexes that ANALYZE keeps: ids and keys. */
function forgetStatistics(connection: Connection): void {
  for (const name of ['sqlite_stat1', 'sqlite_stat4']) {
    if (!hasTable(connection, name)) continue
    connection.script(`delete from main.${name} where tbl like 'undertext\\_%' escape '\\'`)
  }
}

/**
 * Clears what removed rows left in the files: rewrites the tables and truncates the write-ahead log. Returns `false` if another connection
 * or a full disk prevents it; then later writes try again, as do opening, verifying, closing and the next removal. With `waits: false`,
 * doesn't wait for other connections.
 */
export function clearFiles(connection: Connection, { waits = true } = {}): boolean {
  connection.residue.retry = undefined
  const began = performance.now()
  const isCleared = attempt(() =>
    waits ? clear(connection) : withPragmas(connection, [['busy_timeout', '0']], () => clear(connection)),
  )
  // On a full disk, an attempt takes long to fail.
  if (!isCleared) retryLater(connection, waits ? 0 : performance.now() - began)
  return isCleared
}

/** Runs work that can be done later; returns `false` if SQLite rejects it now. */
function attempt(work: () => boolean): boolean {
  try {
    return work()
  } catch (error) {
    if (isUndertextError(error) || sqliteCode(error) !== undefined) return false
    throw error
  }
}

/** Clears the files unless they were rewritten recently, because a series of removals must not rewrite them each time. */
export function clearFilesInTurn(connection: Connection): boolean {
  const { endedAt, tookMs } = connection.residue
  if (tookMs > (performance.now() - endedAt) * MAX_TIME_SHARE) return false
  return clearFiles(connection)
}

function retryLater(connection: Connection, tookMs: number): void {
  const notBefore = performance.now() + Math.max(RETRY_AFTER_MS, tookMs / MAX_TIME_SHARE)
  connection.residue.retry = () => {
    if (performance.now() >= notBefore) clearFiles(connection, { waits: false })
  }
}

/** Like `clearFiles`, but throws what prevents it, and never tries again. */
export function clear(connection: Connection): boolean {
  const found = residueOf(connection)
  if (found === undefined) return true
  if (found.stage !== 'log') {
    rewrite(connection)
    connection.writing('clearFiles', () => replaceMark(connection, found, 'log'))
  }
  const [busy] = Object.values(connection.pragma('main.wal_checkpoint(truncate)')[0] ?? {})
  if (Number(busy) !== 0) return false
  connection.writing('clearFiles', () => replaceMark(connection, { ...found, stage: 'log' }, undefined))
  return residueOf(connection) === undefined
}

/** Clears the files if an earlier removal, possibly of another process, couldn't, unless it left this to a request. */
export function finishClearing(connection: Connection, verb: string): void {
  if (connection.readonly || connection.closed) return
  const stage = connection.bare(verb, () => residueOf(connection))?.stage
  if (stage === undefined || stage === 'later') return
  clearFiles(connection, { waits: false })
}

/** The pages that one step returns, each of usually 4 KB: a few milliseconds. */
const RELEASED_PAGES = 200
/** The value of `auto_vacuum` of a file that returns free pages on request. */
const INCREMENTAL = '2'

/**
 * Returns free pages at the end of a file to the file system, after moving used ones to their front; returns whether there are more. Only a
 * file that was made for this can do it.
 */
export function releaseSpace(connection: Connection): boolean {
  if (connection.database.memory || connection.readPragma('main.auto_vacuum') !== INCREMENTAL) return false
  if (connection.readPragma('main.freelist_count') === '0') return false
  // Not `pragma`, which runs the first step of a statement only.
  connection.writing('privacy.applyRetention', () =>
    connection.script(`pragma main.incremental_vacuum(${RELEASED_PAGES})`),
  )
  return connection.readPragma('main.freelist_count') !== '0'
}

function residueOf(connection: Connection): Residue | undefined {
  const value = connection.get(`select value from undertext_meta where key = '${KEY}'`).value?.[0]
  if (value === undefined) return undefined
  const [stage, token = ''] = String(value).split(':')
  return { stage: stage === 'log' || stage === 'later' ? stage : 'tables', token }
}

function mark(connection: Connection, { stage, token }: Residue): void {
  connection.run(
    `insert into undertext_meta (key, value) values ('${KEY}', ?) on conflict (key) do update set value = excluded.value`,
    `${stage}:${token}`,
  )
}

/** Changes the mark, unless another connection has removed rows meanwhile and set its own. */
function replaceMark(connection: Connection, found: Residue, stage: Stage | undefined): void {
  const now = residueOf(connection)
  if (now?.token !== found.token || now.stage !== found.stage) return
  if (stage !== undefined) mark(connection, { ...found, stage })
  else connection.run(`delete from undertext_meta where key = '${KEY}'`)
}

/**
 * Writes all rows to new pages, and merges the search index, which otherwise keeps words of removed rows. VACUUM is three times as fast as
 * copying, but may change the rowids of another program's tables.
 */
function rewrite(connection: Connection): void {
  const began = performance.now()
  overwriting(connection, () => {
    if (holdsOthers(connection))
      withPragmas(connection, [['foreign_keys', '0']], () => copyTables(connection))
    else {
      connection.writing('clearFiles', () => connection.script(commandOfIndex('optimize')))
      connection.script('vacuum')
    }
  })
  connection.residue.endedAt = performance.now()
  connection.residue.tookMs = connection.residue.endedAt - began
}

const OURS = "like 'undertext\\_%' escape '\\'"

function commandOfIndex(command: 'optimize' | 'delete-all'): string {
  return `insert into main.undertext_words (undertext_words) values ('${command}')`
}

/**
 * Empties and refills each table. The triggers forbid this, so they are dropped and created again. The tables of the search index can't be
 * refilled directly, so it is emptied, and the next search rebuilds it.
 */
function copyTables(connection: Connection): void {
  connection.writing('clearFiles', () => {
    const triggers = connection.all(
      `select name, sql from main.sqlite_schema where type = 'trigger' and tbl_name ${OURS}`,
    ).value as (readonly [name: string, sql: string])[]
    for (const [name] of triggers) connection.script(`drop trigger main."${name.replaceAll('"', '""')}"`)
    for (const table of tablesOf(connection)) {
      const columns = columnsOf(connection, table)
      connection.script(`create temp table undertext_copy as select ${columns} from main.${table};
        delete from main.${table};
        insert into main.${table} (${columns}) select ${columns} from temp.undertext_copy;
        drop table temp.undertext_copy`)
    }
    for (const [, sql] of triggers) connection.script(sql)
    connection.script(`${commandOfIndex('delete-all')};
      delete from main.undertext_searched; delete from main.undertext_meta where key = 'searched'`)
  })
}

/** Returns the stored columns; generated columns can't be written. */
function columnsOf(connection: Connection, table: string): string {
  const names = connection.all("select name from pragma_table_info(?, 'main')", table).value
  return names.map(([name]) => `"${name}"`).join(', ')
}

function tablesOf(connection: Connection): string[] {
  const ours = connection
    .all(`select name from main.sqlite_schema where type = 'table' and name ${OURS}
      and name not like 'undertext\\_words%' escape '\\' and name <> 'undertext_vocabulary'`)
    .value.map(([name]) => name as string)
  return [...ours, ...['sqlite_stat1', 'sqlite_stat4'].filter((name) => hasTable(connection, name))]
}

function hasTable(connection: Connection, name: string): boolean {
  return (
    connection.get("select 1 from main.sqlite_schema where type = 'table' and name = ?", name).value !==
    undefined
  )
}

/** Runs work with secure_delete, and without leaving pages in a persistent rollback journal. */
export function overwriting<T>(connection: Connection, work: () => T): T {
  const pragmas: Pragma[] = [['main.secure_delete', '1']]
  if (connection.readPragma('main.journal_mode') === 'persist') pragmas.push(['main.journal_size_limit', '0'])
  return withPragmas(connection, pragmas, work)
}

type Pragma = readonly [name: string, value: string]

/** Runs work with other pragmas and then restores them, so that a connection of the application keeps its settings. */
function withPragmas<T>(connection: Connection, pragmas: readonly Pragma[], work: () => T): T {
  const before = pragmas.map(([name]) => [name, connection.readPragma(name)] as const)
  try {
    for (const [name, value] of pragmas) connection.pragma(`${name} = ${value}`)
    return work()
  } finally {
    // The value 2 of secure_delete can only be set by name.
    for (const [name, value] of before)
      connection.pragma(`${name} = ${name.endsWith('secure_delete') && value === '2' ? 'fast' : value}`)
  }
}
