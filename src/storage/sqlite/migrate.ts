import { notAStore, outdated, refuseNewer, refuseUnguarded, versionIn, warnOfForeign } from '../opening.ts'
import type { GuardProblems } from '../sql/sql.ts'
import type { Connection } from './connection.ts'
import { MIGRATIONS } from './migrations.ts'

/** The schema version of this version of the package. */
const supported = (): number => MIGRATIONS.length

/** The SQL of each trigger that keeps the history, as SQLite stores it, by name. A later migration may replace one. */
const GUARDS: ReadonlyMap<string, string> = new Map(
  MIGRATIONS.flat().flatMap((statement) => {
    const at = statement.search(/^CREATE TRIGGER/m)
    const text = statement.slice(at).replace(/;$/, '')
    return at < 0 ? [] : [[text.split(/\s/)[2]!, text] as const]
  }),
)

/**
 * The schema version of a database, 0 when it has no store. It is in a table of the store, because `user_version` may belong to the
 * application that passed its connection.
 */
function schemaVersion(connection: Connection): number {
  const table = connection.get(
    "select 1 from sqlite_master where type = 'table' and name = 'undertext_meta'",
  ).value
  if (table === undefined) return 0
  const row = connection.get("select value from undertext_meta where key = 'schema'").value
  return versionIn(row)
}

/**
 * Migrates a database to this version's schema.
 *
 * The SQL comes from drizzle-kit, but not the migrator: here one write lock covers check and work, so that several processes can open a
 * new file at once, and a file of a newer version is refused with `STORE_TOO_NEW`.
 *
 * A read-only connection is only checked: `NOT_A_STORE` or `STORE_TOO_OLD` when it is not up to date. Without `adopt`, the database of
 * another program is also `NOT_A_STORE`.
 */
export function migrate(connection: Connection, { adopt }: { readonly adopt: boolean }): void {
  const found = schemaVersion(connection)
  refuseNewer(found, supported())
  if (found === 0 && !connection.readonly && !adopt) refuseOthers(connection)
  if (found < supported()) bringUp(connection, found)
  checkGuards(connection)
}

/** Throws `NOT_A_STORE` for the database of another program without a store. Writes nothing. */
export function refuseOthers(connection: Connection): void {
  if (schemaVersion(connection) > 0 || !holdsOthers(connection)) return
  throw notAStore(connection.location, 'it is the database of another program.', 'ADOPT')
}

/** Whether a database has anything that is not part of a store. */
export function holdsOthers(connection: Connection): boolean {
  if (connection.readPragma('main.application_id') !== '0') return true
  const ours = ['undertext', 'sqlite'].map((name) => `name not like '${name}\\_%' escape '\\'`)
  return (
    connection.get(`select 1 from main.sqlite_schema where ${ours.join(' and ')} limit 1`).value !== undefined
  )
}

function bringUp(connection: Connection, found: number): void {
  if (connection.readonly) throw outdated(connection.location, found, supported())
  connection.writing('openStore', () => {
    const locked = schemaVersion(connection)
    refuseNewer(locked, supported())
    for (const statement of MIGRATIONS.slice(locked).flat()) connection.script(statement)
    connection.run(
      "insert into undertext_meta (key, value) values ('schema', ?) on conflict (key) do update set value = excluded.value",
      String(supported()),
    )
  })
}

/** A migration or a tool that rebuilds a table drops its triggers without a warning. */
function checkGuards(connection: Connection): void {
  const problems = guardProblems(connection)
  refuseUnguarded(connection.location, problems)
  warnOfForeign(connection.location, problems)
}

/** Compares the triggers of our tables with those of the migrations, by their SQL. */
export function guardProblems(connection: Connection): GuardProblems {
  const ours = "like 'undertext\\_%' escape '\\'"
  const rows = connection.all(
    ['sqlite_master', 'sqlite_temp_master']
      .map(
        (table) =>
          `select name, sql from ${table} where type = 'trigger' and (tbl_name ${ours} or name ${ours})`,
      )
      .join(' union all '),
  ).value
  const present = new Map(rows as [string, string][])
  const guards = [...GUARDS.keys()]
  return {
    missing: guards.filter((name) => !present.has(name)),
    changed: guards.filter((name) => present.has(name) && present.get(name) !== GUARDS.get(name)),
    foreign: [...present.keys()].filter((name) => !GUARDS.has(name)),
  }
}
