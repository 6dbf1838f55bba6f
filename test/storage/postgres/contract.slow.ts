import pg from 'pg'
import { afterAll, describe } from 'vitest'
import { openStore } from '../../../src/index.ts'
import { fromPool } from '../../../src/storage/postgres/drivers.ts'
import { postgresServer } from '../../support/postgres.ts'
import { describeStore } from '../contract.ts'
import { schemasOf } from './schemas.ts'

/* The whole contract. Each store has its own connections. */

const server = await postgresServer()

describe.skipIf(server === undefined)('on a server', async () => {
  if (server === undefined) return
  const url = await server.newDatabase()
  const pool = new pg.Pool({ connectionString: url, max: 1 })
  // The server ends while the pool still closes its connection.
  pool.on('error', () => {})
  afterAll(() => pool.end())
  const newSchema = schemasOf(() => fromPool(pool))

  describeStore('PostgreSQL', async () => {
    const options = { schema: await newSchema(), estimator: 'neurolink' } as const
    return {
      store: await openStore(url, options),
      reopen: () => openStore(url, options),
    }
  })
})
