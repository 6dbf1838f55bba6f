import BetterSqlite3 from 'better-sqlite3'
import { describe, expect, it } from 'vitest'
import { openStore, type SearchOptions, type SearchResult } from '../../src/index.ts'
import type { Database } from '../../src/storage/sqlite/driver.ts'
import { say } from '../support/conversation.ts'
import { CANARY, expectFailure } from '../support/failures.ts'
import { FAULTS, FaultySet } from './faults.ts'
import { standingOf } from './standing.ts'
import { checkInOrder, filledDatabase } from './trials.ts'
import { OTHER, S } from './verbs.ts'

const QUERY = 'request text of the file answer, and what came late'
/** What prevents writing to the index, and not reading it: a search returns what is there, and says that it is not all. */
const INCOMPLETE: readonly string[] = ['STORE_FULL', 'STORE_BUSY']

/** A store with a session in the index, one that is in it in part, and one that is not. */
async function partlyIndexed(): Promise<Buffer> {
  const database = new BetterSqlite3(await filledDatabase())
  const store = await openStore(database)
  await store.append('third', [say('user', `${CANARY} request`)])
  for (const session of [S, 'third']) await store.search(QUERY, { session })
  await store.append(S, [say('user', `${CANARY} what came late`)])
  const copy = database.serialize()
  database.close()
  return copy
}

function indexOf(database: Database): unknown {
  const rows = (sql: string): unknown[] => database.prepare(sql).raw().all()
  database.exec("insert into undertext_words (undertext_words) values ('integrity-check')")
  return {
    words: rows('select term, doc, cnt from undertext_vocabulary'),
    searched: rows('select session, positions, ordinals from undertext_searched order by session'),
  }
}

const placesOf = ({ hits }: SearchResult): unknown => hits.map(({ sessionId, anchor }) => [sessionId, anchor])

describe('a search whose statements fail, one after the other', () => {
  it.each<[string, SearchOptions]>([
    ['of one session', { session: S }],
    ['of a session that is not in the index', { session: OTHER }],
    ['of all sessions', {}],
  ])(
    'returns what there is or reports it, and the index is as if nothing had failed: %s',
    async (_, options) => {
      const copy = await partlyIndexed()
      const open = async () => {
        const database = new BetterSqlite3(copy)
        return { database, store: await openStore(database) }
      }
      const whole = await open()
      const standing = await standingOf(whole.store, whole.database)
      const found = await whole.store.search(QUERY, { ...options, limit: 30 })
      const index = indexOf(whole.database)
      expect(found.hits.length).toBeGreaterThan(3)
      whole.database.close()

      const set = new FaultySet(() => FAULTS)
      const counts = { faults: 0, reported: 0, incomplete: 0 }
      for (;;) {
        const { database, store } = await open()
        set.lay(database)
        let answer: SearchResult | undefined
        const { error, watch } = await set.during(async () => {
          answer = await store.search(QUERY, { ...options, limit: 30 })
        })
        const { failed } = watch
        if (failed === undefined) {
          expect(error).toBeUndefined()
          break
        }
        counts.faults++
        const what = `statement ${watch.count}, ${failed.fault.name}: ${failed.sql}`
        expect(database.inTransaction, `${what}: an open transaction`).toBe(false)
        if (error !== undefined) {
          counts.reported++
          expectFailure(error, failed.fault.code, what)
        } else if (answer!.complete) expect(placesOf(answer!), what).toEqual(placesOf(found))
        else {
          counts.incomplete++
          expect(INCOMPLETE, what).toContain(failed.fault.code)
        }
        expect(await standingOf(store, database), `${what}: a search changed something`).toEqual(standing)
        await checkInOrder(store, what)
        const again = await store.search(QUERY, { ...options, limit: 30 })
        expect([again.complete, placesOf(again)], `${what}: searched again`).toEqual([true, placesOf(found)])
        expect(indexOf(database), `${what}: the index`).toEqual(index)
        database.close()
      }
      expect(counts.faults, JSON.stringify(counts)).toBeGreaterThan(100)
      expect(counts.reported, JSON.stringify(counts)).toBeGreaterThan(counts.faults / 2)
      expect(counts.incomplete, JSON.stringify(counts)).toBeGreaterThan(0)
    },
  )
})
