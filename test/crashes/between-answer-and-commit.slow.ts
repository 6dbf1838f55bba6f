import BetterSqlite3 from 'better-sqlite3'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openStore } from '../../src/index.ts'
import { randomFrom } from '../support/random.ts'
import { SEED } from '../support/seed.ts'
import { courseOf, killedWhilePaying, NOTING, Payers, paidFor, wordsOf } from './payers.ts'
import { COST, OPENING, PAYING, pay, SESSION } from './paying.ts'

/*
 * The moments between a model's answer and the commit. Here some of them; the long mode kills before every statement. Most runs
 * have twenty to thirty statements behind the answer, the commit in their second half.
 */

let payers: Payers
beforeAll(async () => {
  payers = await Payers.start()
})
afterAll(() => payers.remove())

describe(`a process killed between a model's answer and the commit (seed ${SEED})`, () => {
  it.each(PAYING)('leaves the view as before or as after: %s', async (how) => {
    const course = await courseOf(how)
    const random = randomFrom(SEED)
    const kill = (answers: number, killedAfter: number) =>
      killedWhilePaying(payers, how, course, { answers, killedAfter })
    // The answer is there, and nobody has heard it; in a summary of several parts, the first of them.
    expect(await kill(1, 0)).toMatchObject({ state: 'before', noted: 0 })
    // It was written down, and nothing else was done with it. Another answer may have come since.
    const { noted } = await kill(1, NOTING)
    expect(noted, 'what it was paid is on record').toBe(how === 'offline instead' ? 0 : 1)
    await kill(course.answers, 1 + Math.floor(random() * 19))
    if (how === 'one summary') expect(await kill(1, 1_000)).toMatchObject({ state: 'after', ended: true })
  })
})

describe('a process suspended for longer than its lease, with the answer in its hands', () => {
  /** Takes the lease's time away, as if a minute had passed. */
  function expireLease(file: string): void {
    const database = new BetterSqlite3(file)
    const { changes } = database
      .prepare('update undertext_sessions set lease_expires = ? where lease_run is not null')
      .run(Date.now() - 1)
    expect(changes).toBe(1)
    database.close()
  }

  it('cannot commit it when another has compacted since; both costs are on record', async () => {
    const file = payers.file()
    const late = payers.work({ file, how: 'one summary', answers: 1, fate: 'suspended' })
    await late.answered(1)
    const store = await openStore(file, OPENING)
    const refused = await pay(store, 'one summary').catch((error) => error.code)
    expect(refused, 'as long as the lease counts').toBe('COMPACTION_IN_PROGRESS')
    expireLease(file)
    await pay(store, 'one summary')
    const words = await wordsOf(store)
    await late.goesOn()
    expect(late.said.at(-1)).toMatchObject({ event: 'ended', outcome: 'STALE_PLAN' })
    expect(await wordsOf(store)).toBe(words)
    const paid = paidFor(await store.listCompactions(SESSION))
    expect(paid.map(({ status, cost, error }) => [status, cost, error])).toEqual([
      ['aborted', COST, 'STALE_PLAN'],
      ['active', COST, undefined],
    ])
    const events = (await store.sessions.audit(SESSION)).map(({ event }) => event)
    expect(events).toEqual(['started', 'expired', 'started', 'created', 'aborted'])
    expect((await store.sessions.verify(SESSION)).findings).toEqual([])
    await store.close()
  })

  it('cannot commit it while another is at work, and does not take the lease from it', async () => {
    const file = payers.file()
    const late = payers.work({ file, how: 'one summary', answers: 1, fate: 'suspended' })
    await late.answered(1)
    expireLease(file)
    const store = await openStore(file, OPENING)
    const before = await wordsOf(store)
    // The other one comes back while this model is thinking.
    let inBetween: string | undefined
    await pay(store, 'one summary', async () => {
      await late.goesOn()
      inBetween = await wordsOf(store)
    })
    expect(late.said.at(-1)).toMatchObject({ event: 'ended', outcome: 'STALE_PLAN' })
    expect(inBetween).toBe(before)
    const paid = paidFor(await store.listCompactions(SESSION))
    expect(paid.map(({ status, cost }) => [status, cost])).toEqual([
      ['aborted', COST],
      ['active', COST],
    ])
    expect((await store.sessions.verify(SESSION)).findings).toEqual([])
    await store.close()
  })

  it('commits it when no other run has taken over', async () => {
    const file = payers.file()
    const late = payers.work({ file, how: 'one summary', answers: 1, fate: 'suspended' })
    await late.answered(1)
    expireLease(file)
    await late.goesOn()
    expect(late.said.at(-1)).toMatchObject({ event: 'ended', outcome: 'done' })
    const store = await openStore(file, OPENING)
    expect(paidFor(await store.listCompactions(SESSION)).map(({ status }) => status)).toEqual(['active'])
    await store.close()
  })
})
