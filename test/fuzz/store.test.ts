import BetterSqlite3 from 'better-sqlite3'
import { openStore } from '../../src/index.ts'
import { dumpOf } from '../support/failures.ts'
import { describeSpoiledCalls, type Ground } from './store.ts'
import { type Fixture, furnish } from './verbs.ts'

/* On SQLite: each store is a copy of one filled database, in memory. */

const OPTIONS = { env: false, estimator: 'neurolink' } as const
const first = new BetterSqlite3(':memory:')
const filled: Fixture = await furnish(await openStore(first, OPTIONS), 's')
const image = first.serialize()

async function newGround(): Promise<Ground> {
  const database = new BetterSqlite3(image)
  const store = await openStore(database, OPTIONS)
  const changes = database.prepare('select total_changes()').pluck()
  let seen: unknown
  let dump = ''
  return {
    fixture: { ...filled, store, preview: (await store.previewCompaction('s', { targetTokens: 100 }))! },
    // Reading everything takes longer than most calls, so it is read again only after a statement that wrote.
    stateOf: () => {
      const count = changes.get()
      if (count !== seen) dump = dumpOf(database)
      seen = count
      return dump
    },
    close: async () => {
      await store.close()
      database.close()
    },
  }
}

describeSpoiledCalls(newGround, 40)
