import { describe } from 'vitest'
import { openStore } from '../../../src/index.ts'
import { postgresServer } from '../../support/postgres.ts'
import { describeStore } from '../contract.ts'

/* The whole contract, each test in a new schema. Another store of a test has its own connections. */

const server = await postgresServer()

describe.skipIf(server === undefined)('on a server', async () => {
  if (server === undefined) return
  const url = await server.newDatabase()
  let schemas = 0

  describeStore('PostgreSQL', async () => {
    const options = { schema: `s${schemas++}`, estimator: 'neurolink' } as const
    return {
      store: await openStore(url, options),
      reopen: () => openStore(url, options),
    }
  })
})
