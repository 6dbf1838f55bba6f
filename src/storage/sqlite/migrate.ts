import { UndertextError } from '../../errors.ts'
import type { Connection } from './connection.ts'
import { MIGRATIONS } from './migrations.ts'

/** The schema version this version of the package knows. */
const SUPPORTED = MIGRATIONS.length

/** Triggers the promise rests on, all of them; a schema without one is not ours to write to. */
export const GUARDS: readonly string[] = [
  'undertext_messages_are_written_once',
  'undertext_messages_are_not_replaced',
  'undertext_messages_are_kept',
  'undertext_contents_are_written_once',
  'undertext_contents_are_not_replaced',
  'undertext_contents_are_kept',
  'undertext_compactions_cover_what_they_cover',
  'undertext_compactions_are_kept',
  'undertext_replacements_are_written_once',
  'undertext_replacements_are_not_replaced',
  'undertext_replacements_are_kept',
  'undertext_blobs_are_written_once',
  'undertext_blobs_are_not_replaced',
  'undertext_blobs_are_kept',
  'undertext_audit_is_not_replaced',
  'undertext_audit_is_append_only',
  'undertext_audit_is_kept',
]

/**
 * The schema version of a database, 0 when it holds no store. Kept in a table of our own: `user_version` may
 * belong to the application that handed us its connection.
 */
function schemaVersion(connection: Connection): number {
  const table = connection.get("select 1 from sqlite_master where type = 'table' and name = 'undertext_meta'")
  if (table === undefined) return 0
  const row = connection.get("select value from undertext_meta where key = 'schema'")
  if (row === undefined) return 0
  const version = Number(row[0])
  if (Number.isSafeInteger(version) && version >= 0) return version
  throw new UndertextError('STORE_CORRUPT', { detail: 'its schema version is no number' })
}

/**
 * Brings a database up to this version's schema.
 *
 * The SQL comes from drizzle-kit; running it is ours, for two reasons. The check and the work sit under one
 * write lock, so processes opening a new file at once take turns. And a file written by a newer version is
 * refused with `STORE_TOO_NEW` instead of being read wrongly.
 *
 * A read-only connection is only checked: `NOT_A_STORE` or `STORE_TOO_OLD` when it is not up to date. Without `adopt` the
 * database of another program is `NOT_A_STORE`, too.
 */
export function migrate(connection: Connection, { adopt }: { readonly adopt: boolean }): void {
  const found = schemaVersion(connection)
  refuseNewer(found)
  if (found === 0 && !connection.readonly && !adopt) refuseOthers(connection)
  if (found < SUPPORTED) bringUp(connection, found)
  checkGuards(connection)
}

/** Throws `NOT_A_STORE` for the database of another program that holds no store. Writes nothing. */
export function refuseOthers(connection: Connection): void {
  if (schemaVersion(connection) > 0 || !holdsOthers(connection)) return
  const detail =
    'it is the database of another program. Name another file, or have openStore add the tables to it with { adopt: true }.'
  throw notAStore(connection, detail)
}

/** Whether there is anything in a database that is not ours. */
export function holdsOthers(connection: Connection): boolean {
  if (connection.readPragma('main.application_id') !== '0') return true
  const ours = ['undertext', 'sqlite'].map((name) => `name not like '${name}\\_%' escape '\\'`)
  return connection.get(`select 1 from main.sqlite_schema where ${ours.join(' and ')} limit 1`) !== undefined
}

function bringUp(connection: Connection, found: number): void {
  if (connection.readonly) {
    if (found === 0)
      throw notAStore(connection, 'it holds no tables of undertext, and a read-only store makes none.')
    throw new UndertextError('STORE_TOO_OLD', { found, supported: SUPPORTED })
  }
  connection.write('openStore', () => {
    const locked = schemaVersion(connection)
    refuseNewer(locked)
    for (const statement of MIGRATIONS.slice(locked).flat()) connection.script(statement)
    connection.run(
      "insert into undertext_meta (key, value) values ('schema', ?) on conflict (key) do update set value = excluded.value",
      String(SUPPORTED),
    )
  })
}

function refuseNewer(found: number): void {
  if (found > SUPPORTED) throw new UndertextError('STORE_TOO_NEW', { found, supported: SUPPORTED })
}

/**
 * A migration that rebuilds a table loses its triggers in silence, and so does a careless tool. Triggers of others may be meant, so
 * they are reported and not refused.
 */
function checkGuards(connection: Connection): void {
  const { missing, changed, foreign } = guardProblems(connection)
  if (missing.length > 0) throw notAStore(connection, `its triggers are gone (${missing.join(', ')}).`)
  if (changed.length > 0) throw notAStore(connection, `its triggers are not ours (${changed.join(', ')}).`)
  for (const name of foreign) warnOf(connection, name)
}

const warned = new Set<string>()

function warnOf({ location }: Connection, name: string): void {
  const what = `undertext: ${JSON.stringify(location)} has the trigger ${JSON.stringify(name)} on a table of undertext, which did not make it`
  if (warned.has(what)) return
  warned.add(what)
  process.emitWarning(what, { type: 'UndertextWarning', code: 'UNDERTEXT_TRIGGER' })
}

/** Names of triggers that are not as the migrations made them. */
type GuardProblems = {
  readonly missing: readonly string[]
  /** Under a name of ours, with another text. */
  readonly changed: readonly string[]
  /** On a table of ours, made by others. */
  readonly foreign: readonly string[]
}

/** Compares the triggers of our tables with those that the migrations make, by their SQL. */
export function guardProblems(connection: Connection): GuardProblems {
  const ours = "like 'undertext\\_%' escape '\\'"
  const rows = connection.all(
    ['sqlite_master', 'sqlite_temp_master']
      .map(
        (table) =>
          `select name, sql from ${table} where type = 'trigger' and (tbl_name ${ours} or name ${ours})`,
      )
      .join(' union all '),
  )
  const present = new Map(rows as [string, string][])
  const guards = guardTexts()
  return {
    missing: GUARDS.filter((name) => !present.has(name)),
    changed: GUARDS.filter((name) => present.has(name) && present.get(name) !== guards.get(name)),
    foreign: rows.map(([name]) => name as string).filter((name) => !guards.has(name)),
  }
}

let texts: ReadonlyMap<string, string> | undefined

/** The SQL of each guard as SQLite keeps it. A later migration may make one anew. */
function guardTexts(): ReadonlyMap<string, string> {
  texts ??= new Map(
    MIGRATIONS.flat().flatMap((statement) => {
      const at = statement.search(/^CREATE TRIGGER/m)
      const text = statement.slice(at).replace(/;$/, '')
      return at < 0 ? [] : [[text.split(/\s/)[2]!, text] as const]
    }),
  )
  return texts
}

function notAStore(connection: Connection, detail: string): UndertextError<'NOT_A_STORE'> {
  return new UndertextError('NOT_A_STORE', { location: connection.location, detail })
}
