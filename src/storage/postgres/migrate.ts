import { invalid, UndertextError } from '../../core/errors.ts'
import { notAStore, outdated, refuseNewer, refuseUnguarded, versionIn, warnOfForeign } from '../opening.ts'
import { beginChanges, distribute, hasCitus, tablesOf } from './citus.ts'
import { guardReport } from './guards.ts'
import { MIGRATIONS } from './migrations.ts'
import type { PostgresConnection, PostgresDriver } from './port.ts'

/** The schema version of this version of the package. */
const supported = (): number => MIGRATIONS.length

/** The number of the lock that one migration at a time holds in a database: the bytes of "undert". */
const LOCK = 0x756e_6465_7274

export type MigrateOptions = {
  /** The name of the schema. */
  readonly schema: string
  /** The database as errors name it; default the schema. */
  readonly location?: string
  readonly readonly: boolean
  /** Whether to add the tables to a schema that has tables of others. */
  readonly adopt?: boolean
}

/** Where to look, and how errors name it. */
type Place = { readonly connection: PostgresConnection; readonly schema: string; readonly location: string }

/** The name of a schema as an identifier of SQL. */
export function schemaIdentifier(schema: string): string {
  // The server cuts longer names off with a notice; then two stores could share a schema.
  if (schema === '' || schema.includes('\0') || !schema.isWellFormed() || Buffer.byteLength(schema) > 63)
    throw invalid('schema: expected a name of 1 to 63 bytes.')
  return `"${schema.replaceAll('"', '""')}"`
}

/** The statements of one or all migrations for a schema. */
export function statementsFor(schema: string, migrations = MIGRATIONS): string[] {
  const identifier = schemaIdentifier(schema)
  return migrations.flat().map((statement) => statement.replaceAll('{schema}', () => identifier))
}

/**
 * Migrates a schema to this version's, and creates it if necessary.
 *
 * As for SQLite, one lock covers check and work, so that several processes can open a new database at once. The lock ends with its
 * transaction, so it works through a pooler too. A complete schema is only read: its user needs no right to create anything.
 *
 * A read-only store is only checked: `NOT_A_STORE` or `STORE_TOO_OLD` when it is not up to date. Without `adopt`, a schema with tables
 * of another program is also `NOT_A_STORE`. Errors of the driver without a code of ours are passed on: the caller reads them.
 */
export async function migrate(driver: PostgresDriver, options: MigrateOptions): Promise<void> {
  const { schema, location = `schema ${schema}`, readonly, adopt = false } = options
  schemaIdentifier(schema)
  const connection = await driver.acquire()
  const place = { connection, schema, location }
  let isDone = false
  try {
    const found = await schemaVersion(place)
    refuseNewer(found, supported())
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
  // Not the default of the session: in a repeatable read, the version would be read as of before the lock.
  await run('begin isolation level read committed')
  try {
    await run('select pg_advisory_xact_lock($1)', LOCK)
    const locked = await schemaVersion(place)
    refuseNewer(locked, supported())
    const citus = (await hasCitus(connection)) ? await tablesOf(connection, schema) : undefined
    const isDistributed = citus !== undefined && citus.distributed.length > 0
    if (locked === 0 && isDistributed)
      throw notAStore(
        place.location,
        'this is a worker of a cluster. Name the coordinator, which has all tables.',
      )
    // A schema that was made without Citus stays as it is: to move its rows takes long, and is the administrator's to start.
    const isCluster = isDistributed || (citus !== undefined && locked === 0)
    if (locked === 0 && !adopt) await refuseOthers(place)
    if (locked < supported()) {
      // Not "if not exists": that needs the right to create in the database even when there is nothing to create.
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

/** The error that a statement met says more than that of a rollback on a lost connection. */
async function rollBack(connection: PostgresConnection): Promise<void> {
  try {
    await connection.query('rollback', [])
  } catch {}
}

/** The schema version of a schema, 0 when it has no store. */
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
  // A table "meta" of another program may have other columns.
  if (columns.rows.length < 2) return 0
  const text = `select value from ${schemaIdentifier(schema)}.meta where key = 'schema'`
  const [row] = (await connection.query(text, [])).rows
  return versionIn(row)
}

async function refuseOthers(place: Place): Promise<void> {
  if (!(await hasTables(place))) return
  const detail = `its schema ${JSON.stringify(place.schema)} has tables of another program.`
  throw notAStore(place.location, detail, 'ADOPT')
}

/** Whether a schema has tables or the like, of whatever program. */
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

/** The server's words may quote values, so none of them becomes part of an error. */
function translated(error: unknown, place: Place): unknown {
  switch ((error as { code?: unknown } | null)?.code) {
    case '42501': // insufficient_privilege
      return new UndertextError('STORE_UNAVAILABLE', {
        location: place.location,
        detail: `its role may not use the schema ${JSON.stringify(place.schema)} or create the tables in it. Open the store once with a role that may, and grant the rest.`,
      })
    case '42P01': // undefined_table
      return notAStore(place.location, 'it has not all of the tables of its version.')
    case '42P07': // duplicate_table
    case '42723': // duplicate_function
    case '42710': // duplicate_object
      return notAStore(place.location, 'it has tables of another program with names that undertext needs.')
    default:
      return error
  }
}

async function checkGuards(place: Place): Promise<void> {
  const { kind, problems } = await guardReport(place.connection, place.schema)
  if (kind === 'none') refuseUnguarded(place.location, problems)
  else warnOfForeign(place.location, problems)
}
