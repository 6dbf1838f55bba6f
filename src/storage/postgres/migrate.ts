import { invalid, UndertextError } from '../../core/errors.ts'
import { notAStore, outdated, rejectNewer, rejectUnguarded, versionIn, warnOfForeign } from '../opening.ts'
import { beginChanges, distribute, hasCitus, tablesOf } from './citus.ts'
import { guardReport } from './guards.ts'
import { MIGRATIONS } from './migrations.ts'
import type { PostgresConnection, PostgresDriver } from './port.ts'

/** The schema version that this version of the package needs. */
const supported = (): number => MIGRATIONS.length

/** The number of the lock that a migration holds, one per database: the bytes of "undert". */
const LOCK = 0x756e_6465_7274

export type MigrateOptions = {
  /** The name of the schema. */
  readonly schema: string
  /** The name of the database in errors. Default: the schema. */
  readonly location?: string
  readonly readonly: boolean
  /** Whether to add the tables to a schema that contains other tables. */
  readonly adopt?: boolean
}

/** The location of the store, and its name in errors. */
type Place = { readonly connection: PostgresConnection; readonly schema: string; readonly location: string }

/** Returns the name of a schema as an identifier of SQL. */
export function schemaIdentifier(schema: string): string {
  // The server truncates longer names with a notice only, and then two stores could share a schema.
  if (schema === '' || schema.includes('\0') || !schema.isWellFormed() || Buffer.byteLength(schema) > 63)
    throw invalid('schema: expected a name of 1 to 63 bytes.')
  return `"${schema.replaceAll('"', '""')}"`
}

/** Returns the statements of some or all migrations for a schema. */
export function statementsFor(schema: string, migrations = MIGRATIONS): string[] {
  const identifier = schemaIdentifier(schema)
  return migrations.flat().map((statement) => statement.replaceAll('{schema}', () => identifier))
}

/**
 * Migrates a schema to the version of this package, and creates it if necessary.
 *
 * As in SQLite, one lock covers the check and the work, so that several processes can open a new database at once. The lock ends with its
 * transaction, so it works through a pooler too. An up-to-date schema is only read, so its user needs no right to create anything.
 *
 * A read-only store is only checked: `NOT_A_STORE` or `STORE_TOO_OLD` if it isn't up to date. Without `adopt`, also throws `NOT_A_STORE`
 * for a schema that contains tables of another program. Errors of the driver that aren't translated are rethrown for the caller to read.
 */
export async function migrate(driver: PostgresDriver, options: MigrateOptions): Promise<void> {
  const { schema, location = `schema ${schema}`, readonly, adopt = false } = options
  schemaIdentifier(schema)
  const connection = await driver.acquire()
  const place = { connection, schema, location }
  let isDone = false
  try {
    const found = await schemaVersion(place)
    rejectNewer(found, supported())
    if (found < supported() && readonly) throw outdated(location, found, supported())
    if (found < supported()) await bringUp(place, adopt)
    await checkGuards(place)
    isDone = true
  } catch (error) {
    throw translated(error, place)
  } finally {
    connection.release(!isDone)
  }
}

async function bringUp(place: Place, adopt: boolean): Promise<void> {
  const { connection, schema } = place
  const run = (text: string, ...values: unknown[]) => connection.query(text, values)
  // The session's default may be repeatable read, which would read the version as of before the lock.
  await run('begin isolation level read committed')
  try {
    await run('select pg_advisory_xact_lock($1)', LOCK)
    const locked = await schemaVersion(place)
    rejectNewer(locked, supported())
    const citus = (await hasCitus(connection)) ? await tablesOf(connection, schema) : undefined
    const isDistributed = citus !== undefined && citus.distributed.length > 0
    if (locked === 0 && isDistributed)
      throw notAStore(
        place.location,
        'this is a worker of a cluster. Connect to the coordinator, which has all tables.',
      )
    // A schema that was created without Citus isn't distributed here: moving its rows takes long, so the administrator decides when.
    const isCluster = isDistributed || (citus !== undefined && locked === 0)
    if (locked === 0 && !adopt) await rejectForeignTables(place)
    if (locked < supported()) {
      // Not "if not exists", which needs the right to create in the database even if the schema exists.
      const { count } = await run('select 1 from pg_catalog.pg_namespace where nspname = $1', schema)
      if (count === 0) await run(`create schema ${schemaIdentifier(schema)}`)
      if (isCluster) await beginChanges(place)
      for (const statement of statementsFor(schema, MIGRATIONS.slice(locked))) await run(statement)
      if (isCluster) await distribute({ ...place, identifier: schemaIdentifier(schema) })
      await run(
        `insert into ${schemaIdentifier(schema)}.meta (key, value) values ('schema', $1) on conflict (key) do update set value = excluded.value`,
        String(supported()),
      )
    }
    await run('commit')
  } catch (error) {
    await rollBack(connection)
    throw error
  }
}

/** A rollback may fail on a lost connection; the error of the statement that failed first is the useful one. */
async function rollBack(connection: PostgresConnection): Promise<void> {
  try {
    await connection.query('rollback', [])
  } catch {}
}

/** Returns the schema version of a schema; 0 if it has no store. */
export async function schemaVersion({
  connection,
  schema,
}: Pick<Place, 'connection' | 'schema'>): Promise<number> {
  const columns = await connection.query(
    `select 1 from pg_catalog.pg_attribute a
       join pg_catalog.pg_class c on c.oid = a.attrelid join pg_catalog.pg_namespace n on n.oid = c.relnamespace
     where n.nspname = $1 and c.relname = 'meta' and a.attname in ('key', 'value') and a.atttypid = 'pg_catalog.text'::regtype`,
    [schema],
  )
  // Another program's "meta" table may have other columns.
  if (columns.rows.length < 2) return 0
  const text = `select value from ${schemaIdentifier(schema)}.meta where key = 'schema'`
  const [row] = (await connection.query(text, [])).rows
  return versionIn(row)
}

async function rejectForeignTables(place: Place): Promise<void> {
  if (!(await hasTables(place))) return
  const detail = `its schema ${JSON.stringify(place.schema)} has tables of another program.`
  throw notAStore(place.location, detail, 'ADOPT')
}

/** Returns whether a schema contains tables or similar objects, of any program. */
export async function hasTables({
  connection,
  schema,
}: Pick<Place, 'connection' | 'schema'>): Promise<boolean> {
  const { rows } = await connection.query(
    `select 1 from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
     where n.nspname = $1 and c.relkind in ('r', 'p', 'v', 'm', 'f', 'S') limit 1`,
    [schema],
  )
  return rows.length > 0
}

/** Returns an error without the server's words, which may quote values. */
function translated(error: unknown, place: Place): unknown {
  switch ((error as { code?: unknown } | null)?.code) {
    case '42501': // insufficient_privilege
      return new UndertextError('STORE_UNAVAILABLE', {
        location: place.location,
        detail: `its role may not use the schema ${JSON.stringify(place.schema)} or create the tables in it. Open the store once with a role that may, and grant this role access to its tables.`,
      })
    case '42P01': // undefined_table
      return notAStore(place.location, 'some tables of its version are missing.')
    case '42P07': // duplicate_table
    case '42723': // duplicate_function
    case '42710': // duplicate_object
      return notAStore(place.location, 'it has tables of another program whose names undertext needs.')
    default:
      return error
  }
}

async function checkGuards(place: Place): Promise<void> {
  const { kind, problems } = await guardReport(place.connection, place.schema)
  if (kind === 'none') rejectUnguarded(place.location, problems)
  else warnOfForeign(place.location, problems)
}
