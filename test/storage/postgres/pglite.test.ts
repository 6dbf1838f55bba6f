import { PGlite } from '@electric-sql/pglite'
import { afterAll, beforeAll } from 'vitest'
import { openStore } from '../../../src/index.ts'
import { describeStore } from '../contract.ts'

let pglite: PGlite
let schemas = 0

beforeAll(async () => {
  pglite = await PGlite.create()
})
afterAll(() => pglite.close())

describeStore('PGlite', async () => {
  const options = { schema: `s${schemas++}`, estimator: 'neurolink' } as const
  return {
    store: await openStore(pglite, options),
    reopen: () => openStore(pglite, options),
  }
})
