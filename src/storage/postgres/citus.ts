import { UndertextError } from '../../core/errors.ts'
import { SIZE_COLUMNS, sizeColumns } from '../sql/columns.ts'
import type { AppendCall } from '../sql/sql.ts'
import type { OnceStatement } from './append.ts'
import { MIGRATIONS } from './migrations.ts'
import type { PostgresConnection, PostgresDriver } from './port.ts'

/*
 * A cluster of Citus. If the database has the extension, a new schema is distributed: the rows of a family share a worker, the ids of
 * sessions are spread by hash, and rows that belong to no session stay on the coordinator.
 */

type Asked = Pick<PostgresConnection, 'query'>

export async function hasCitus(connection: Asked): Promise<boolean> {
  const { rows } = await connection.query("select 1 from pg_catalog.pg_extension where extname = 'citus'", [])
  return rows.length > 0
}

/** The tables whose rows have a family. */
const WITH_FAMILY = MIGRATIONS.flat()
  .flatMap((text) => /^CREATE TABLE \{schema\}\."(\w+)" \([^;]*"family" bigint/.exec(text)?.[1] ?? [])
  .map((table) => `'${table}'`)
  .join(', ')

/** Returns the tables of a schema that are, or could be, distributed. */
export async function tablesOf(
  connection: Asked,
  schema: string,
): Promise<{ readonly distributed: readonly string[]; readonly local: readonly string[] }> {
  const { rows } = await connection.query(
    `select c.relname::text, case when p.logicalrelid is null then 0 else 1 end
     from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
       left join pg_catalog.pg_dist_partition p on p.logicalrelid = c.oid
     where n.nspname = $1 and c.relkind = 'r' and c.relname in (${WITH_FAMILY})
     order by c.relname = 'sessions' desc, 1`,
    [schema],
  )
  const named = (is: number): string[] => rows.filter((row) => row[1] === is).map((row) => row[0] as string)
  return { distributed: named(1), local: named(0) }
}

/** Returns whether the tables of a schema are distributed over a cluster. */
export async function isDistributed(driver: PostgresDriver, schema: string): Promise<boolean> {
  const connection = await driver.acquire()
  let isDone = false
  try {
    const found = (await hasCitus(connection)) && (await tablesOf(connection, schema)).distributed.length > 0
    isDone = true
    return found
  } finally {
    connection.release(!isDone)
  }
}

/** The location of a schema, its name as an identifier, and the name of the store in errors. */
type Target = {
  readonly connection: Asked
  readonly schema: string
  readonly identifier: string
  readonly location: string
}

/** Prepares a transaction for changes of distributed tables. */
export async function beginChanges({
  connection,
  location,
}: Pick<Target, 'connection' | 'location'>): Promise<void> {
  // Otherwise a statement that reaches all shards is rejected after a statement about another table.
  await connection.query("set local citus.multi_shard_modify_mode = 'sequential'", [])
  await connection.query(
    `select set_config('citus.enable_unsafe_triggers', 'on', true) from pg_catalog.pg_roles
     where rolname = current_user and rolsuper`,
    [],
  )
  const { rows } = await connection.query('show citus.enable_unsafe_triggers', [])
  if (rows[0]?.[0] === 'on') return
  const detail =
    "Citus doesn't permit triggers on distributed tables. A superuser can permit them: alter database … set citus.enable_unsafe_triggers = on"
  throw new UndertextError('STORE_UNAVAILABLE', { location, detail })
}

/** Distributes the tables of a schema that aren't distributed yet, within the caller's transaction. */
export async function distribute({ connection, schema, identifier }: Target): Promise<void> {
  const run = (text: string, ...values: unknown[]) => connection.query(text, values)
  const { local } = await tablesOf(connection, schema)
  for (const table of local) {
    const [column, beside] =
      table === 'names'
        ? ['id', 'none']
        : ['family', table === 'sessions' ? 'none' : `${identifier}.sessions`]
    await run(
      'select create_distributed_table(($1::text)::regclass, $2::text, colocate_with => $3::text)',
      `${identifier}.${table}`,
      column,
      beside,
    )
  }
  await run(APPEND.replaceAll('{schema}', () => identifier))
  await run(
    'select create_distributed_function(($1::text)::regprocedure, $2::text, colocate_with => $3::text)',
    `${identifier}.append(${ARGUMENTS.map(([, type]) => type).join(', ')})`,
    'of_family',
    `${identifier}.sessions`,
  )
}

const ARGUMENTS = [
  ['of_family', 'bigint'],
  ['of_session', 'bigint'],
  ['of_id', 'text'],
  ['of_estimator', 'text'],
  ['expected', 'bigint'],
  ['token', 'text'],
  ['lock_ms', 'integer'],
  ['now', 'bigint'],
  ['sent', 'integer'],
  ['keys', 'text[]'],
  ['sizes', 'bigint[]'],
  ['numbers', 'bigint[]'],
  ['texts', 'text[]'],
] as const

/** The number of values of each message: in `texts`, and in `numbers` (role, flags, sizes and time). */
const TEXTS = 4
const NUMBERS = 3 + SIZE_COLUMNS.length

/**
 * Appends messages on the session's worker in one call; the coordinator would split a statement with several inserts. It does the same as
 * the statement of append.ts, but its parts see rows that others wrote while it waited for the session.
 */
const APPEND = `create or replace function {schema}.append(${ARGUMENTS.map((one) => one.join(' ')).join(', ')})
returns table (last bigint, incarnation text) language plpgsql as $$
declare
  rows constant integer := cardinality(texts) / ${TEXTS};
begin
  perform set_config('lock_timeout', lock_ms::text, true);
  if keys is not null then
    perform 1 from {schema}.sessions s where s.family = of_family and s.no = of_session for no key update;
    if exists (select 1 from {schema}.messages m
        where m.family = of_family and m.session = of_session and m.idempotency_key = any (keys)) then
      return;
    end if;
  end if;
  update {schema}.sessions s set messages = s.messages + rows, visible = s.visible + sent,
      ${SIZE_COLUMNS.map((name, at) => `${name} = s.${name} + sizes[${at + 1}]`).join(', ')}, updated_at = now,
      newest_at = least(numbers[cardinality(numbers)], now), version = s.version + 1, last_write = token
    where s.family = of_family and s.no = of_session and s.id = of_id and s.estimator = of_estimator
      and (expected is null or s.messages = expected)
    returning s.messages, s.incarnation into last, incarnation;
  if not found then
    return;
  end if;
  for i in 1..rows loop
    insert into {schema}.messages (family, key, session, anchor, position, role, flags, ${SIZE_COLUMNS.join(', ')},
        created_at, tools, idempotency_key)
      values (of_family, (of_session - 1) * 17179869184 + 2 * (last - rows + i), of_session, last - rows + i, last - rows + i,
        ${Array.from({ length: NUMBERS }, (_, at) => `numbers[${NUMBERS} * i - ${NUMBERS - 1 - at}]`).join(', ')}, texts[4 * i - 3], texts[4 * i]);
    insert into {schema}.contents (family, key, content, metadata)
      values (of_family, (of_session - 1) * 17179869184 + 2 * (last - rows + i), texts[4 * i - 2], texts[4 * i - 1]);
  end loop;
  return next;
end $$`

const CALL = `select last, incarnation from {schema}.append({?,} ${ARGUMENTS.slice(1)
  .map(([, type]) => `cast(? as ${type})`)
  .join(', ')})`

/** Returns the call of the function, which is sent to the worker as a whole. */
export function appendCall({
  id,
  estimator,
  expectedPosition,
  now,
  visible,
  keys,
  ...batch
}: AppendCall): OnceStatement {
  return {
    text: CALL,
    readsRows: false,
    values: (session, token, lockTimeoutMs) => [
      ...[session, id, estimator, expectedPosition ?? null, token, lockTimeoutMs, now, visible],
      keys.length === 0 ? null : arrayOf(keys),
      arrayOf(sizeColumns(batch.sizes)),
      arrayOf(batch.numbers),
      arrayOf(batch.texts),
    ],
  }
}

/** Returns a list as an array literal of PostgreSQL, because drivers differ in how they pass arrays. */
function arrayOf(values: readonly (number | string | null)[]): string {
  const elements = values.map((value) =>
    typeof value === 'string' ? `"${value.replaceAll(/["\\]/g, '\\$&')}"` : String(value),
  )
  return `{${elements.join(',')}}`
}
