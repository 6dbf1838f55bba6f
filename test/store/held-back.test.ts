import { afterEach, describe, expect, it, vi } from 'vitest'
import { afterTurn, beforeTurn } from '../../src/compat/index.ts'
import { type NewMessage, openStore, type Store } from '../../src/index.ts'
import { cleanUp, listen, model, openFull, S, states } from '../background/support.ts'
import { chat } from '../support/conversation.ts'

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
async function undone(): Promise<{ store: Store; runId: string }> {
  const store = await openStore(':memory:', {
    contextWindows: { openai: { _default: WINDOW } },
    config: { maxOutputTokens: 100, background: false },
  })
  await store.append('s', say(2))
  for (;;) {
    const stats = (await store.getContextStats('s'))!
    if (stats.shouldCompact) break
    await store.append('s', say(2))
  }
  const { run } = await beforeTurn(store, 's')
  expect(run?.compacted).toBe(true)
  await store.undoCompaction('s', run!.runId)
  return { store, runId: run!.runId }
}

it('is not repeated by the threshold alone, and stats and results report it', async () => {
  const { store } = await undone()
  const stats = (await store.getContextStats('s'))!
  expect([stats.withinBudget, stats.usageRatio >= stats.threshold]).toEqual([true, true])
  expect([stats.shouldCompact, stats.heldBack]).toEqual([false, true])
  expect(store.needsCompaction('s')).toBe(false)
  const before = await beforeTurn(store, 's')
  expect([before.run, before.heldBack]).toEqual([null, true])
  const after = await afterTurn(store, 's', { messages: [{ role: 'user', content: 'x' }] })
  expect([after.run, after.heldBack]).toEqual([null, true])
  const prepared = await store.prepareRequest('s', { prompt: 'y' })
  expect([prepared.compacted, prepared.stats.heldBack]).toEqual([false, true])
})

it('is made again when the request would not fit', async () => {
  const { store } = await undone()
  await store.append('s', say(8))
  const stats = (await store.getContextStats('s'))!
  expect([stats.withinBudget, stats.shouldCompact, stats.heldBack]).toEqual([false, true, undefined])
  expect((await beforeTurn(store, 's')).run?.compacted).toBe(true)
  expect((await store.sessions.get('s')).undoneAutomatic).toBe(0)
})

it('ends when the user compacts, and when it is redone', async () => {
  const first = await undone()
  await first.store.compactSession('s', { range: { from: 1, to: 2 }, summary: 'short' })
  const { heldBack, shouldCompact, usageRatio, threshold } = (await first.store.getContextStats('s'))!
  expect([heldBack, shouldCompact]).toEqual([undefined, usageRatio >= threshold])
  expect((await first.store.sessions.get('s')).undoneAutomatic).toBe(0)

  const second = await undone()
  await second.store.redoCompaction('s', second.runId)
  expect((await second.store.sessions.get('s')).undoneAutomatic).toBe(0)
})

it('does not concern what the user compacted, nor the undo of that', async () => {
  const { store, runId } = await undone()
  await store.redoCompaction('s', runId)
  const own = await store.compactSession('s', { targetTokens: 0 })
  if (own?.runId !== undefined) await store.undoCompaction('s', own.runId)
  expect((await store.sessions.get('s')).undoneAutomatic).toBe(0)
})

describe('a job in the background that was offered before the undo', () => {
  afterEach(async () => {
    vi.useRealTimers()
    await cleanUp()
  })

  /** A session with an automatic compaction in force that is over the soft threshold again; undone, it still fits. */
  async function compacted(store: Store): Promise<string> {
    const range = { from: 1, to: 12 }
    const run = await store.compactSession(S, { trigger: 'auto', range, summary: 'In short.' })
    while ((await store.getContextStats(S))!.usageRatio < 0.72) await store.append(S, chat(1, 20))
    return run!.runId
  }

  async function expectUndone(store: Store, view: string): Promise<void> {
    expect(JSON.stringify(await store.getEffectiveHistory(S))).toBe(view)
    const { heldBack, withinBudget } = (await store.getContextStats(S))!
    expect([heldBack, withinBudget]).toEqual([true, true])
  }

  it('and waits for its next try is not made', async () => {
    const asked = model((_, call) => {
      if (call === 1) throw new Error('no')
      return 'In short.'
    })
    const store = await openFull(asked)
    const runId = await compacted(store)
    const { phases } = listen(store)
    await afterTurn(store, S)
    await store.jobs.whenIdle(S)
    await store.undoCompaction(S, runId)
    const view = JSON.stringify(await store.getEffectiveHistory(S))
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 10_000 })
    expect(await store.jobs.whenIdle(S)).toBe(true)
    expect(phases()).toEqual(['queued', 'started', 'queued Error', 'cancelled HELD_BACK'])
    expect(await states(store)).toEqual(['cancelled'])
    expect(asked.asked).toHaveLength(1)
    await expectUndone(store, view)
    // What a user asks for is made.
    await store.jobs.start(S)
    await store.jobs.whenIdle(S)
    expect((await states(store))[0]).toBe('done')
  })

  it('and runs meanwhile is not made again', async () => {
    let begin = (): void => undefined
    const begun = new Promise<void>((resolve) => {
      begin = resolve
    })
    let release = (_text: string): void => undefined
    const answer = new Promise<string>((resolve) => {
      release = resolve
    })
    const asked = model(() => {
      begin()
      return answer
    })
    const store = await openFull(asked)
    const runId = await compacted(store)
    await afterTurn(store, S)
    await begun
    await store.undoCompaction(S, runId)
    const view = JSON.stringify(await store.getEffectiveHistory(S))
    release('In short.')
    expect(await store.jobs.whenIdle(S)).toBe(true)
    expect(await states(store)).toEqual(['cancelled', 'stale'])
    expect(asked.asked).toHaveLength(1)
    await expectUndone(store, view)
  })
})
