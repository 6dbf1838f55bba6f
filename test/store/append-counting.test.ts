import { createRequire } from 'node:module'
import type BetterSqlite3 from 'better-sqlite3'
import { expect, it } from 'vitest'
import { neuronEstimator } from '../../src/compat/index.ts'
import { neurolinkEstimator } from '../../src/core/tokens/index.ts'
import { type Estimator, openStore } from '../../src/index.ts'
import { call, result, say } from '../support/conversation.ts'

const Database = createRequire(import.meta.url)('better-sqlite3') as typeof BetterSqlite3

/** A store whose estimators note when they measure texts while the database is in a transaction. */
async function openWatched() {
  const database = new Database(':memory:')
  const seen = { within: 0, texts: 0 }
  let before: (() => void) | undefined
  const watched = (own: Estimator, name: string): Estimator => ({
    ...own,
    name,
    measureText: (text, kind) => {
      seen.texts++
      if (database.inTransaction) seen.within++
      before?.()
      before = undefined
      return own.measureText(text, kind)
    },
    toTokens: (units, provider) => own.toTokens(units, provider),
  })
  const [standard, other] = [watched(neurolinkEstimator, 'one'), watched(neuronEstimator, 'other')]
  const store = await openStore(database, { estimator: standard, estimators: [other] })
  return {
    store,
    seen,
    /** Runs SQL the next time a text is measured, as another process could. */
    whenMeasuring: (sql: string): void => {
      before = () => database.exec(sql)
    },
  }
}

const LARGE = 'a line of a large output\n'.repeat(4_000)
const TURN = [say('user', 'hello'), call('c', 'run'), result('c', LARGE), say('assistant', 'bye')]

it('append counts before its transaction: in sessions with the estimator and limits of the store, and with others', async () => {
  const { store, seen } = await openWatched()
  await store.sessions.create({ id: 'own', config: { estimator: 'other' } })
  await store.sessions.create({ id: 'limited', config: { maxToolOutputLines: 8 } })
  await store.sessions.create({ id: 'both', config: { estimator: 'other', maxToolOutputLines: 8 } })
  for (const id of ['new', 'own', 'limited', 'both']) {
    const appended = await store.append(id, TURN)
    expect(appended.preview?.parts).toBe(1)
    await store.append(id, TURN, { expectedPosition: 4 })
    await store.rewind(id, {
      from: { beforeMessage: appended.messages[3]!.id },
      append: [say('user', 'again')],
    })
    expect(seen.texts).toBeGreaterThan(0)
    expect(seen.within).toBe(0)
    // Verification counts within a transaction that reads.
    expect((await store.sessions.verify(id)).findings).toEqual([])
    seen.within = 0
  }
})

it('a session that changes between counting and writing is counted again', async () => {
  const { store, seen, whenMeasuring } = await openWatched()
  await store.append('s', [say('user', 'hello')])
  seen.texts = 0
  // What reestimate of another process writes: "hello" is 2 units of that estimator.
  whenMeasuring(
    "update undertext_sessions set estimator = 'other', size_text = 2; update undertext_messages set size_text = 2",
  )
  await store.append('s', [say('assistant', 'x'.repeat(400))])
  expect(seen).toEqual({ within: 0, texts: 2 })

  whenMeasuring(`update undertext_sessions set config = '{"maxToolOutputLines":8}'`)
  const { preview } = await store.append('s', TURN.slice(1, 3))
  const [{ params } = {}] = await store.listCompactions('s')
  expect(preview?.parts).toBe(1)
  expect(params).toMatchObject({ maxLines: 8 })
  expect(seen.within).toBe(0)
  expect((await store.sessions.verify('s')).findings).toEqual([])
})
