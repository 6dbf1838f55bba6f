import { once } from 'node:events'
import { beforeAll, describe, expect, test } from 'vitest'
import { openStore, type RetentionReport } from '../../src/index.ts'
import { storageOf } from '../../src/store/store.ts'
import { randomFrom } from '../support/random.ts'
import { SEED } from '../support/seed.ts'
import { newFile } from '../support/temporary.ts'
import { children, fill, said, tomorrow } from './support.ts'

/* Retention beside other processes: a writer that waits for it, and its own end at any moment. */

let start: Awaited<ReturnType<typeof children>>
beforeAll(async () => {
  start = await children()
})

/** An append waits for one step, which takes a few milliseconds on an idle machine. */
const LONGEST_MS = 2_000

test('a writer of another process is never held up for long', async () => {
  const file = newFile()
  const store = await openStore(file, { durability: 'normal', returnsSpace: true })
  await fill(store, 12, 60, 4)
  await store.search('question')
  const writer = start(file, 'write')
  await new Promise((resolve) => setTimeout(resolve, 1_000))
  const rules = { hidden: { olderThanDays: 1 }, archived: { olderThanDays: 1 } }
  const report = await store.privacy.applyRetention({ rules, now: tomorrow() })
  expect(report).toMatchObject({
    content: { hidden: { sessions: 8, rows: 1_888 } },
    archived: { sessions: 4 },
  })
  writer.send('end')
  const { appends, longestMs } = (await said(writer)) as { appends: number; longestMs: number }
  console.log(`${appends} appends, the longest took ${Math.round(longestMs)} ms`)
  expect(appends).toBeGreaterThan(20)
  expect(longestMs).toBeLessThan(LONGEST_MS)
  for (const { id } of await store.sessions.list())
    expect((await store.sessions.verify(id)).findings).toEqual([])
  await store.close()
}, 120_000)

describe('a process that is killed', () => {
  test(`leaves whole steps, and the next call does the rest (seed ${SEED})`, async () => {
    const random = randomFrom(Number(SEED) || 1)
    const file = newFile()
    const store = await openStore(file, { durability: 'normal' })
    await fill(store, 10, 25, 4)
    const views = new Map<string, unknown>()
    for (const { id } of await store.sessions.list()) views.set(id, await store.getEffectiveHistory(id))
    const now = tomorrow()
    let kills = 0
    for (;;) {
      const child = start(file, 'remove', String(now))
      await once(child, 'message')
      const report = await Promise.race([
        said(child) as Promise<RetentionReport>,
        new Promise<undefined>((resolve) => setTimeout(() => resolve(undefined), random() * 120)),
      ])
      if (report !== undefined) {
        await once(child, 'exit')
        break
      }
      const gone = once(child, 'exit')
      child.kill('SIGKILL')
      await gone
      kills += 1
      for (const [id, view] of views)
        expect(await store.getEffectiveHistory(id), `after kill ${kills}`).toEqual(view)
      if (kills === 40) break
    }
    expect(kills).toBeGreaterThan(2)
    const rules = { hidden: { olderThanDays: 1 }, archived: { olderThanDays: 1 } }
    await store.privacy.applyRetention({ rules, now })
    expect(await store.privacy.applyRetention({ rules, now })).toMatchObject({
      content: { hidden: { parts: 0 } },
      archived: { sessions: 0 },
    })
    expect(await storageOf(store).importsInProgress()).toEqual([])
    expect(await store.sessions.list({ archived: true })).toEqual([])
    expect((await store.sessions.list()).map(({ id }) => id).sort()).toEqual([...views.keys()].sort())
    for (const id of views.keys()) expect((await store.sessions.verify(id)).findings).toEqual([])
    await store.close()
  }, 300_000)
})
