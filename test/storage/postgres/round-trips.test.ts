import { PGlite } from '@electric-sql/pglite'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openStore, type Store } from '../../../src/index.ts'
import { fromPglite } from '../../../src/storage/postgres/drivers.ts'
import type { PostgresDriver } from '../../../src/storage/postgres/port.ts'
import { chat } from '../../support/conversation.ts'

/*
 * Round trips: how often a verb waits for the server. A statement is one later than the last answer that came before it was sent. The end of
 * a transaction that only read is not waited for.
 */

let verb = { answered: 0, trips: 0 }
/** Those of each writing transaction. */
let writes: number[] = []

function counting(driver: PostgresDriver): PostgresDriver {
  return {
    end: () => driver.end(),
    acquire: async () => {
      const connection = await driver.acquire()
      let isReading = false
      let before = 0
      return {
        release: (isBroken) => connection.release(isBroken),
        query: async (text, values, name) => {
          if (text.startsWith('begin')) {
            isReading = text.includes('read only')
            before = verb.answered
          }
          const current = verb
          const trip = current.answered + 1
          if (!isReading || text !== 'commit') current.trips = Math.max(current.trips, trip)
          if (!isReading && text === 'commit') writes.push(trip - before)
          try {
            return await connection.query(text, values, name)
          } finally {
            current.answered = Math.max(current.answered, trip)
          }
        },
      }
    },
  }
}

describe('round trips', () => {
  let instance: PGlite
  let store: Store
  let runId: string

  beforeAll(async () => {
    instance = await PGlite.create()
    store = await openStore(counting(fromPglite(instance)), { env: false })
    await store.append('s', chat(10))
  })
  afterAll(async () => {
    await store.close()
    await instance.close()
  })

  const say = (text: string, fields: object = {}) => [{ role: 'user', content: text, ...fields } as const]
  const verbs: [name: string, expected: number, run: () => unknown][] = [
    ['an append', 1, () => store.append('s', say('second'))],
    ['an append with an idempotency key', 1, () => store.append('s', say('third', { idempotencyKey: 'k' }))],
    [
      'an append of many',
      2,
      () =>
        store.append(
          's',
          Array.from({ length: 40 }, (_, n) => say(`${n}`)[0]!),
        ),
    ],
    ['a view', 1, () => store.getEffectiveHistory('s')],
    ['the stats', 1, () => store.getContextStats('s')],
    ['whether compaction is due', 1, () => store.needsCompaction('s')],
    ['an undo', 4, () => store.undoCompaction('s', runId)],
    ['a redo', 8, () => store.redoCompaction('s', runId)],
    ['a usage report', 7, () => store.requests.recordUsage('s', { inputTokens: 100, outputTokens: 10 })],
    ['a request that is prepared', 12, () => store.prepareRequest('s', { prompt: 'Hi', auto: false })],
    [
      'a usage report with its request',
      7,
      async () => {
        const at = verb
        verb = { answered: 0, trips: 0 }
        const request = await store.prepareRequest('s', { prompt: 'Hi', system: 'Be brief.', auto: false })
        verb = at
        return store.requests.recordUsage('s', { inputTokens: 100, outputTokens: 10, request })
      },
    ],
    ['an append with an id', 2, () => store.append('s', say('fourth', { id: 'own' }))],
    ['a pin', 4, () => store.messages.pin('s', ['own'])],
    ['a session that is created', 3, () => store.sessions.create({ id: 't' })],
    ['a view with a summary', 1, () => store.getEffectiveHistory('s')],
  ]

  it('of a commit are 3: its lock and what it reads, its tags, the rest', async () => {
    writes = []
    const range = { from: 1, to: 8 }
    const result = await store.compactSession('s', { range, summary: 'What was said.' })
    expect(result).toMatchObject({ compacted: true })
    runId = result!.runId!
    // Planning, before it, only reads.
    expect(writes).toEqual([3])
  })

  it.each(verbs)('of %s are %i', async (_, expected, run) => {
    verb = { answered: 0, trips: 0 }
    await run()
    expect(verb.trips).toBe(expected)
  })
})
