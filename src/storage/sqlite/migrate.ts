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
export function schemaVersion(connection: Connection): number {
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
 * A read-only connection is only checked: `NOT_A_STORE` or `STORE_TOO_OLD` when it is not up to date.
 */
export function migrate(connection: Connection): void {
  const found = schemaVersion(connection)
  refuseNewer(found)
  if (found < SUPPORTED) bringUp(connection, found)
  checkGuards(connection)
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

/** A migration that rebuilds a table loses its triggers in silence, and so does a careless tool. */
function checkGuards(connection: Connection): void {
  const missing = missingGuards(connection)
  if (missing.length > 0) throw notAStore(connection, `its triggers are gone (${missing.join(', ')}).`)
}

/** The names of the guards that are not there. */
export function missingGuards(connection: Connection): string[] {
  const rows = connection.all(
    "select name from sqlite_master where type = 'trigger' and name like 'undertext\\_%' escape '\\'",
  )
  const present = new Set(rows.map(([name]) => name))
  return GUARDS.filter((name) => !present.has(name))
}

function notAStore(connection: Connection, detail: string): UndertextError<'NOT_A_STORE'> {
  return new UndertextError('NOT_A_STORE', { location: connection.location, detail })
}
