import { PGlite } from '@electric-sql/pglite'
import { afterAll } from 'vitest'
import { openStore } from '../../src/index.ts'
import { fromPglite } from '../../src/storage/postgres/drivers.ts'
import { describeSpoiledCalls, type Ground } from './store.ts'
import { type Fixture, furnish } from './verbs.ts'

/* On PostgreSQL: one filled schema, which is filled again from a copy of its tables after a call that wrote. */

const OPTIONS = { env: false, estimator: 'neurolink', schema: 'fuzz' } as const
const pglite = await PGlite.create()
afterAll(() => pglite.close())
const driver = fromPglite(pglite)
const filling = await openStore(driver, OPTIONS)
const filled: Fixture = await furnish(filling, 's')
await filling.close()
/** The tables, each with the columns that a statement may write. */
const { rows: tables } = await pglite.query<{ table: string; columns: string }>(
  `select format('%I', table_name) as table, string_agg(format('%I', column_name), ', ') as columns
   from information_schema.columns where table_schema = 'fuzz' and is_generated = 'NEVER' group by 1 order by 1`,
)
const COPIES = tables.map(({ table }) => `create table kept.${table} as table fuzz.${table};`)
await pglite.exec(`create schema kept; ${COPIES.join('')}`)
/** A hash of the rows of each table, whatever their order. */
const HASHES = tables
  .map(({ table }) => `select md5(string_agg(t::text, ' ' order by t::text)) as hash from fuzz.${table} as t`)
  .join(' union all ')

/** Without triggers, which refuse that rows change or are removed. */
async function refill(): Promise<void> {
  const inserts = tables.map(
    ({ table, columns }) =>
      `insert into fuzz.${table} (${columns}) overriding system value select ${columns} from kept.${table};`,
  )
  await pglite.exec(
    `begin; set local session_replication_role = replica;
     truncate ${tables.map(({ table }) => `fuzz.${table}`).join()}; ${inserts.join('')} commit`,
  )
}

async function newGround(): Promise<Ground> {
  await refill()
  const store = await openStore(driver, OPTIONS)
  return {
    fixture: { ...filled, store, preview: (await store.previewCompaction('s', { targetTokens: 100 }))! },
    stateOf: async () => JSON.stringify((await pglite.query(HASHES)).rows),
    close: () => store.close(),
  }
}

describeSpoiledCalls(newGround, 20)
