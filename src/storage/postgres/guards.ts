import type { GuardProblems } from '../sql/sql.ts'
import { MIGRATIONS } from './migrations.ts'
import type { PostgresConnection } from './port.ts'

/* Whether the database itself protects the history, by triggers or because the role may not change it. */

type Guard = {
  /** Its SQL as printed by the server, without the schema. */
  readonly text: string
  readonly table: string
  readonly event: 'UPDATE' | 'DELETE' | 'TRUNCATE'
  /** The columns whose update it rejects; `undefined` for all. */
  readonly columns: readonly string[] | undefined
}

/** The triggers by name. A later migration may replace a trigger. */
const GUARDS: ReadonlyMap<string, Guard> = new Map(
  MIGRATIONS.flat().flatMap((statement) => {
    const text = statement.replace(/;$/, '').replaceAll('{schema}.', '')
    const parts = /^CREATE TRIGGER (\w+) BEFORE (UPDATE|DELETE|TRUNCATE)(?: OF (.+))? ON (\w+) FOR EACH/.exec(
      text,
    )
    if (parts === null) return []
    const [, name = '', event, columns, table = ''] = parts
    const guard = {
      text,
      table,
      event: event as Guard['event'],
      columns: columns?.replaceAll('"', '').split(', '),
    }
    return [[name, guard] as const]
  }),
)

const GUARDED = [...new Set([...GUARDS.values()].map(({ table }) => table))]

/** The body of the function that all triggers call. */
const REFUSE = bodyOf(
  MIGRATIONS.flat().findLast((statement) => statement.includes('{schema}.refuse() RETURNS trigger'))!,
)

function bodyOf(statement: string): string {
  return statement.split('$$')[1]!
}

/** The problems that all engines can have, and triggers that are disabled. */
type PostgresGuardProblems = GuardProblems & { readonly disabled: readonly string[] }

export type GuardReport = {
  /** What protects the history: triggers, the limited rights of the role if there are no triggers, or nothing. */
  readonly kind: 'triggers' | 'privileges' | 'none'
  readonly problems: PostgresGuardProblems
}

type Asked = Pick<PostgresConnection, 'query'>

/** Compares the triggers of the store's tables with those of the migrations, by their SQL and by the SQL of their function. */
export async function guardProblems(connection: Asked, schema: string): Promise<PostgresGuardProblems> {
  const { rows } = await connection.query(
    `select t.tgname::text, t.tgenabled::text, pg_catalog.pg_get_triggerdef(t.oid), pg_catalog.quote_ident(n.nspname),
       case when f.pronamespace = n.oid and f.proname = 'refuse' then f.prosrc end
     from pg_catalog.pg_trigger t join pg_catalog.pg_class c on c.oid = t.tgrelid
       join pg_catalog.pg_namespace n on n.oid = c.relnamespace join pg_catalog.pg_proc f on f.oid = t.tgfoid
     where n.nspname = $1 and not t.tgisinternal and c.relname in (${TABLES.map((table) => `'${table}'`).join(', ')}) order by 1`,
    [schema],
  )
  const present = new Map(
    (rows as [string, string, string, string, string | null][]).map(([name, enabled, text, prefix, body]) => [
      name,
      {
        isFired: enabled === 'O' || enabled === 'A',
        // The server omits the schema of a function that the search_path finds without it.
        text: ['ON', 'FUNCTION'].reduce((rest, word) => rest.replace(`${word} ${prefix}.`, `${word} `), text),
        body,
      },
    ]),
  )
  const mine = [...GUARDS.keys()].flatMap((name) => {
    const found = present.get(name)
    return found === undefined ? [] : [{ name, ...found }]
  })
  return {
    missing: [...GUARDS.keys()].filter((name) => !present.has(name)),
    changed: mine
      .filter(({ name, text, body }) => text !== GUARDS.get(name)!.text || body !== REFUSE)
      .map(({ name }) => name),
    disabled: mine.filter(({ isFired }) => !isFired).map(({ name }) => name),
    foreign: [...present.keys()].filter((name) => !GUARDS.has(name)),
  }
}

/** The tables created by the migrations. */
export const TABLES: readonly string[] = MIGRATIONS.flat().flatMap(
  (text) => /^CREATE TABLE \{schema\}\."(\w+)"/.exec(text)?.[1] ?? [],
)

/** Returns what protects the history, as seen by the role of this connection. */
export async function guardReport(connection: Asked, schema: string): Promise<GuardReport> {
  const problems = await guardProblems(connection, schema)
  const { missing, changed, disabled } = problems
  if (missing.length + changed.length + disabled.length === 0) return { kind: 'triggers', problems }
  // If some of the triggers exist, all of them were intended.
  const isWithout = missing.length === GUARDS.size
  return { kind: isWithout && !(await mayChange(connection, schema)) ? 'privileges' : 'none', problems }
}

/** Returns whether the role may do anything that a trigger would reject. An owner can grant itself every right. */
async function mayChange(connection: Asked, schema: string): Promise<boolean> {
  const { rows } = await connection.query(
    `select c.relname::text, a.attname::text,
       has_column_privilege(c.oid, a.attnum, 'UPDATE')::int,
       (has_table_privilege(c.oid, 'DELETE') or has_table_privilege(c.oid, 'TRUNCATE') or pg_has_role(c.relowner, 'USAGE'))::int
     from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
       join pg_catalog.pg_attribute a on a.attrelid = c.oid
     where n.nspname = $1 and c.relname in (${GUARDED.map((table) => `'${table}'`).join(', ')})
       and a.attnum > 0 and not a.attisdropped`,
    [schema],
  )
  const fixed = [...GUARDS.values()].filter(({ event }) => event === 'UPDATE')
  return (rows as [string, string, number, number][]).some(
    ([table, column, mayUpdate, mayRemove]) =>
      mayRemove === 1 ||
      (mayUpdate === 1 &&
        fixed.some((one) => one.table === table && (one.columns?.includes(column) ?? true))),
  )
}
