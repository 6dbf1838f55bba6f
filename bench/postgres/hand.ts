import { randomUUID } from 'node:crypto'
import type pg from 'pg'

/* What an application would write by hand: one statement for each verb, prepared, for the rows that the package writes. */

export type Hand = { readonly family: number; readonly id: string }
type Said = { readonly role: string; readonly content: string; readonly idempotencyKey?: string }

export async function handSession(pool: pg.Pool, id: string): Promise<Hand> {
  const family = Math.floor(Math.random() * 2 ** 53)
  await pool.query(
    `insert into bench_hand.sessions (family, no, id, incarnation, estimator, created_at, updated_at)
     values ($1, 1, $2, $3, 'neurolink', 0, 0)`,
    [family, id, randomUUID()],
  )
  return { family, id }
}

const rowsOf = (messages: readonly Said[], keys: boolean): { values: string; parameters: unknown[] } => {
  const parameters: unknown[] = []
  const next = (value: unknown, type: string): string => `$${parameters.push(value) + 2}::${type}`
  const values = messages.map(({ role, content, idempotencyKey }, at) => {
    const size = Math.ceil(content.length / 4)
    const row = [next(at + 1, 'bigint'), next(role === 'user' ? 1 : 2, 'smallint'), next(size, 'bigint')]
    const key = keys ? [next(idempotencyKey, 'text')] : ['null::text']
    return `(${[...row, next(JSON.stringify(content), 'text'), ...key].join(', ')})`
  })
  return { values: values.join(', '), parameters }
}

function insertion(messages: readonly Said[], keys: boolean): { text: string; parameters: unknown[] } {
  const { values, parameters } = rowsOf(messages, keys)
  const n = messages.length
  return {
    parameters,
    text: `with given(i, role, size, content, key) as (values ${values}),
      head as (update bench_hand.sessions set messages = messages + ${n}, visible = visible + ${n},
        size_text = size_text + (select sum(size) from given), updated_at = 1, version = version + 1
        where family = $1 and no = 1 and id = $2 returning messages - ${n} as before),
      ins as (insert into bench_hand.messages (family, key, session, anchor, position, role, flags, size_text, size_reasoning,
        size_calls, size_results, size_media, created_at, idempotency_key)
        select $1, 2 * (before + i), 1, before + i, before + i, role, 2, size, 0, 0, 0, 0, 1, key from head, given)
      insert into bench_hand.contents (family, key, content) select $1, 2 * (before + i), content from head, given`,
  }
}

export async function appended(
  pool: pg.Pool,
  { family, id }: Hand,
  messages: readonly Said[],
): Promise<void> {
  const { text, parameters } = insertion(messages, false)
  await pool.query({ name: `append${messages.length}`, text, values: [family, id, ...parameters] })
}

/** With idempotency keys: one statement looks for them before. */
export async function keyed(pool: pg.Pool, { family, id }: Hand, messages: readonly Said[]): Promise<void> {
  const known = await pool.query({
    name: 'known',
    text: 'select 1 from bench_hand.messages where family = $1 and session = 1 and idempotency_key = any ($2::text[])',
    values: [family, messages.map(({ idempotencyKey }) => idempotencyKey)],
  })
  if (known.rowCount !== 0) return
  const { text, parameters } = insertion(messages, true)
  await pool.query({ name: `keyed${messages.length}`, text, values: [family, id, ...parameters] })
}

/** The visible rows of a session of the package, parsed. The offset keeps the server from reading all contents. */
export async function viewed(pool: pg.Pool, family: number): Promise<unknown[]> {
  const { rows } = await pool.query({
    name: 'view',
    rowMode: 'array',
    text: `select m.kind, m.role, m.anchor, m.created_at, m.id, m.inserted_by, m.ordinal,
        (select c.content from bench.contents c where c.family = m.family and c.key = m.key)
      from bench.messages m where m.family = $1 and m.session = 1
        and m.condense_parent is null and m.truncation_parent is null and m.retired_by is null order by m.anchor, m.ordinal`,
    values: [family],
  })
  return rows.map((row) => ({ role: row[1], at: row[3], content: JSON.parse(row[7]) }))
}

/** The bare change of the tags of 9,950 rows. */
export async function tagged(pool: pg.Pool, family: number, compaction: number | null): Promise<void> {
  await pool.query(
    'update bench.messages set condense_parent = $2 where family = $1 and session = 1 and position between 1 and 9950',
    [family, compaction],
  )
}
