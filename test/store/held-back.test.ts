import { expect, it } from 'vitest'
import { type NewMessage, openStore, type SqliteStore } from '../../src/index.ts'

/*
 * What a user undid stays undone: the threshold alone does not compact again, a request that does not fit does.
 */

const WINDOW = 2_000
const say = (count: number): NewMessage[] =>
  Array.from({ length: count }, (_, at) => ({
    role: at % 2 === 0 ? ('user' as const) : ('assistant' as const),
    content: `sentence ${at} that says a little `.repeat(6),
  }))

/** A session at more than the threshold and less than the window, compacted by a hook, which a user then undid. */
async function undone(): Promise<{ store: SqliteStore; runId: string }> {
  const store = await openStore(':memory:', {
    contextWindows: { openai: { _default: WINDOW } },
    config: { maxTokens: 100, background: false },
  })
  await store.append('s', say(2))
  for (;;) {
    const stats = (await store.getContextStats('s'))!
    if (stats.shouldCompact) break
    await store.append('s', say(2))
  }
  const { run } = await store.beforeTurn('s')
  expect(run?.compacted).toBe(true)
  await store.undoCompaction('s', run!.runId)
  return { store, runId: run!.runId }
}

it('is not repeated by the threshold alone, and stats and results say so', async () => {
  const { store } = await undone()
  const stats = (await store.getContextStats('s'))!
  expect([stats.withinBudget, stats.usageRatio >= stats.threshold]).toEqual([true, true])
  expect([stats.shouldCompact, stats.heldBack]).toEqual([false, true])
  expect(store.needsCompaction('s')).toBe(false)
  const before = await store.beforeTurn('s')
  expect([before.run, before.heldBack]).toEqual([null, true])
  const after = await store.afterTurn('s', { messages: [{ role: 'user', content: 'x' }] })
  expect([after.run, after.heldBack]).toEqual([null, true])
  const prepared = await store.prepareRequest('s', { prompt: 'y' })
  expect([prepared.compacted, prepared.stats.heldBack]).toEqual([false, true])
})

it('is made again when the request would not fit', async () => {
  const { store } = await undone()
  await store.append('s', say(8))
  const stats = (await store.getContextStats('s'))!
  expect([stats.withinBudget, stats.shouldCompact, stats.heldBack]).toEqual([false, true, undefined])
  expect((await store.beforeTurn('s')).run?.compacted).toBe(true)
  expect((await store.getSession('s')).undoneAutomatic).toBe(0)
})

it('ends when the user compacts, and when it is redone', async () => {
  const first = await undone()
  await first.store.compactSession('s', { range: { from: 1, to: 2 }, summary: 'short' })
  const { heldBack, shouldCompact, usageRatio, threshold } = (await first.store.getContextStats('s'))!
  expect([heldBack, shouldCompact]).toEqual([undefined, usageRatio >= threshold])
  expect((await first.store.getSession('s')).undoneAutomatic).toBe(0)

  const second = await undone()
  await second.store.redoCompaction('s', second.runId)
  expect((await second.store.getSession('s')).undoneAutomatic).toBe(0)
})

it('does not concern what the user compacted, nor the undo of that', async () => {
  const { store, runId } = await undone()
  await store.redoCompaction('s', runId)
  const own = await store.compactSession('s', { targetTokens: 0 })
  if (own?.runId !== undefined) await store.undoCompaction('s', own.runId)
  expect((await store.getSession('s')).undoneAutomatic).toBe(0)
})
