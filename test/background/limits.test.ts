import { afterEach, describe, expect, it, vi } from 'vitest'
import { afterTurn, beforeTurn } from '../../src/compat/index.ts'
import type { CompactionResult, ErrorCode, SpendLimitEvent } from '../../src/index.ts'
import { openStore } from '../../src/index.ts'
import { Background } from '../../src/store/compaction/background/background.ts'
import { Guard } from '../../src/store/compaction/background/guard.ts'
import { Compactor } from '../../src/store/compaction/compactor.ts'
import { Configuration } from '../../src/store/config/resolve.ts'
import { Events } from '../../src/store/events.ts'
import { storageOf } from '../support/apply-stage.ts'
import { chat, say } from '../support/conversation.ts'
import { expectFailure, failureOf } from '../support/failures.ts'
import { newFile } from '../support/temporary.ts'
import { CONFIG, cleanUp, FULL, held, listen, model, open, openFull, S, states, viewOf } from './support.ts'

/* What work in the background may cost, how it is ended, and who waits for it. */

afterEach(async () => {
  vi.useRealTimers()
  await cleanUp()
})

const fails = async (act: () => unknown, code: ErrorCode): Promise<void> =>
  expectFailure(await failureOf(act), code)

describe('spend limits', () => {
  it.each([
    ['calls', 2, 2],
    ['tokens', 220, 220],
    ['cost', 1, 1],
  ] as const)(
    'by %s: automatic runs continue without the model, jobs wait, and one event is emitted',
    async (limit, allowed, used) => {
      const summarizer = model()
      const store = await openFull(summarizer, {
        config: { spendLimits: { [limit]: allowed, windowMs: 60_000 } },
      })
      const told: SpendLimitEvent[] = []
      store.on('spendLimit', (event) => told.push(event))
      // Two that count, each taken back: 110 tokens and half a dollar each.
      for (let run = 1; run <= 2; run++) {
        const { runId } = (await store.compactSession(S))!
        await store.undoCompaction(S, runId)
      }
      const [first] = await store.listCompactions(S)
      expect(told).toEqual([])
      expect(await store.compactSession(S, { trigger: 'auto' })).toMatchObject({ reason: 'NO_PROGRESS' })
      const retryAt = first!.createdAt + 60_000
      const facts = { limit, allowed, used, windowMs: 60_000, per: 'session', retryAt }
      expect(told).toEqual([{ sessionId: S, ...facts }])
      const { phases } = listen(store)
      const { jobId } = await store.jobs.start(S)
      expect(await store.jobs.whenIdle(S)).toBe(true)
      expect(phases()).toEqual(['queued', 'queued SPEND_LIMIT'])
      const job = await store.jobs.get(jobId)
      expect(job).toMatchObject({ state: 'queued', attempts: 0, error: 'SPEND_LIMIT' })
      expect(job.notBefore).toBeGreaterThanOrEqual(retryAt)
      expect(job.notBefore).toBeLessThan(retryAt + 5_000)
      expect(told).toHaveLength(1)
      expect(summarizer.asked).toHaveLength(2)
      // What somebody asks for is not held back.
      expect((await store.compactSession(S))!.compacted).toBe(true)
      expect(summarizer.asked).toHaveLength(3)
    },
  )

  it('count each session by itself, or all together', async () => {
    for (const per of ['session', 'store'] as const) {
      const summarizer = model()
      const store = await openFull(summarizer, { config: { spendLimits: { calls: 1, per } } })
      await store.append('t', FULL)
      await store.compactSession(S, { trigger: 'auto' })
      await store.compactSession('t', { trigger: 'auto' })
      expect(summarizer.asked, per).toHaveLength(per === 'session' ? 2 : 1)
    }
  })

  it('count failed attempts, also of another summarizer, and not the offline one', async () => {
    const store = await openFull(undefined, { config: { spendLimits: { calls: 1 } } })
    const { runId } = (await store.compactSession(S))!
    await store.undoCompaction(S, runId)
    const broken = model(() => Promise.reject(new Error('no')), 'broken')
    await store.compactSession(S, { trigger: 'auto', summarizer: broken })
    expect(broken.asked).toHaveLength(1)
    const other = model(undefined, 'other')
    await store.compactSession(S, { trigger: 'auto', summarizer: other })
    expect(other.asked).toHaveLength(0)
  })

  it('are of a window of time', async () => {
    const summarizer = model()
    const store = await openFull(summarizer, { config: { spendLimits: { calls: 1, windowMs: 1_000 } } })
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() })
    const { runId } = (await store.compactSession(S, { trigger: 'auto' }))!
    await store.undoCompaction(S, runId)
    vi.setSystemTime(Date.now() + 999)
    expect((await store.compactSession(S, { trigger: 'auto' }))!.compacted).toBe(false)
    vi.setSystemTime(Date.now() + 1)
    expect((await store.compactSession(S, { trigger: 'auto' }))!.compacted).toBe(true)
  })
})

describe('cancel', () => {
  it.each(['job', 'session'])(
    'by the %s: the model is aborted, nothing is changed, what it cost is on record',
    async (by) => {
      const { model: slow, begun } = held()
      const store = await openFull(slow)
      const { phases } = listen(store)
      const before = await viewOf(store)
      const { jobId } = await store.jobs.start(S)
      await begun
      expect(await store.jobs.cancel(by === 'job' ? { job: jobId } : { session: S })).toMatchObject({
        id: jobId,
        state: 'cancelled',
      })
      expect(slow.asked[0]!.signal!.aborted).toBe(true)
      expect(await viewOf(store)).toBe(before)
      expect(phases()).toEqual(['queued', 'started', 'cancelled CANCELLED'])
      expect(await states(store)).toEqual(['cancelled'])
      expect((await store.listCompactions(S)).map(({ status }) => status)).toEqual(['aborted'])
      expect(await store.jobs.cancel({ session: S })).toBeNull()
      expect(await store.jobs.cancel({ job: jobId })).toBeNull()
      expect((await store.compactSession(S, { summarizer: model(), waitMs: 0 }))!.compacted).toBe(true)
    },
  )

  it('by a signal', async () => {
    const { model: slow, begun } = held()
    const store = await openFull(slow)
    const controller = new AbortController()
    await store.jobs.start(S, { signal: controller.signal })
    await begun
    controller.abort()
    expect(await store.jobs.whenIdle(S)).toBe(true)
    expect(await states(store)).toEqual(['cancelled'])
    await fails(() => store.jobs.start(S, { signal: AbortSignal.abort() }), 'ABORTED')
  })

  it('of an unknown job is rejected', async () => {
    const store = await openFull(model())
    await fails(() => store.jobs.cancel({ session: 'unknown' }), 'SESSION_NOT_FOUND')
    await fails(() => store.jobs.get('unknown'), 'JOB_NOT_FOUND')
    await fails(() => store.jobs.list('unknown'), 'SESSION_NOT_FOUND')
    await fails(() => store.jobs.start('unknown'), 'SESSION_NOT_FOUND')
    await fails(() => store.jobs.start(S, { trigger: 'manual' }), 'INVALID_INPUT')
    await fails(() => store.close({ timeoutMs: -1 }), 'INVALID_INPUT')
    await fails(() => store.jobs.whenIdle(S, { timeout: 1 } as never), 'INVALID_INPUT')
  })

  it("of a job whose mark another process set refuses the run's commit", async () => {
    const file = newFile()
    const { default: Database } = await import('better-sqlite3')
    const { model: slow, release, begun } = held()
    const store = await openFull(slow, { file })
    const { phases } = listen(store)
    const before = await viewOf(store)
    await store.jobs.start(S)
    await begun
    const beside = new Database(file)
    beside.exec("update undertext_jobs set state = 'cancelled', holder = null, expires = null")
    beside.close()
    release()
    expect(await store.jobs.whenIdle()).toBe(true)
    expect(await viewOf(store)).toBe(before)
    expect(phases()).toEqual(['queued', 'started', 'cancelled CANCELLED'])
  })
})

describe('whenIdle', () => {
  it('returns whether the time was enough, and obeys a signal', async () => {
    const { model: slow, release, begun } = held()
    const store = await openFull(slow)
    expect(await store.jobs.whenIdle()).toBe(true)
    expect(await store.jobs.whenIdle('unknown')).toBe(true)
    await store.jobs.start(S)
    await begun
    expect(await store.jobs.whenIdle(S, { timeoutMs: 20 })).toBe(false)
    expect(await store.jobs.whenIdle(undefined, { timeoutMs: 0 })).toBe(false)
    await fails(() => store.jobs.whenIdle(S, { signal: AbortSignal.timeout(20) }), 'ABORTED')
    release()
    expect(await store.jobs.whenIdle()).toBe(true)
    expect(await states(store)).toEqual(['done'])
  })

  it('looks at one session where one is named', async () => {
    const { model: slow, begun } = held()
    const store = await openFull(slow)
    await store.append('t', chat(2))
    await store.jobs.start(S)
    await begun
    expect(await store.jobs.whenIdle('t', { timeoutMs: 1_000 })).toBe(true)
    await store.jobs.cancel({ session: S })
  })

  it('waits for more jobs than are made at once', async () => {
    let atOnce = 0
    let most = 0
    let full = (): void => undefined
    const isFull = new Promise<void>((resolve) => {
      full = resolve
    })
    const slow = model(async () => {
      most = Math.max(most, ++atOnce)
      if (atOnce === 4) full()
      await isFull
      // A fifth would begin now.
      await new Promise((resolve) => setTimeout(resolve, 10))
      atOnce -= 1
      return 'In short.'
    })
    const store = await open(slow)
    const ids = Array.from({ length: 7 }, (_, at) => `s${at}`)
    for (const id of ids) await store.append(id, FULL)
    for (const id of ids) await store.jobs.start(id)
    expect(await store.jobs.whenIdle()).toBe(true)
    expect(most).toBe(4)
    expect(slow.asked).toHaveLength(7)
  })
})

describe('the background and', () => {
  it('a purge: the run ends, and the next session of that name has no job', async () => {
    const { model: slow, begun } = held()
    const store = await openFull(slow)
    const { phases } = listen(store)
    const { jobId } = await store.jobs.start(S)
    await begun
    await store.sessions.purge(S)
    await store.append(S, [say('user', 'another')])
    expect(await store.jobs.whenIdle()).toBe(true)
    expect(phases()).toEqual(['queued', 'started', 'cancelled PURGED'])
    expect(await states(store)).toEqual([])
    await fails(() => store.jobs.get(jobId), 'JOB_NOT_FOUND')
    expect(await store.getEffectiveHistory(S)).toHaveLength(1)
  })

  it('a store that is read-only: jobs are seen, and none is made', async () => {
    const file = newFile()
    const { model: slow, begun } = held()
    const store = await openFull(slow, { file })
    await store.jobs.start(S)
    await begun
    await store.close()
    const reading = await openStore(file, { readonly: true, config: CONFIG, summarizer: model() })
    await beforeTurn(reading, S)
    expect(await reading.jobs.whenIdle(S)).toBe(true)
    expect(await reading.jobs.whenIdle()).toBe(true)
    expect(await states(reading)).toEqual(['queued'])
    await fails(() => reading.jobs.start(S), 'STORE_READONLY')
    await fails(() => reading.jobs.cancel({ session: S }), 'STORE_READONLY')
    await reading.close()
  })

  it('two stores on one file in one process: one job, seen and cancelled from either', async () => {
    const file = newFile()
    const { model: slow, release, begun } = held()
    const store = await openFull(slow, { file })
    const other = await open(model(undefined, 'other'), { file })
    await store.jobs.start(S)
    await begun
    expect(await other.jobs.start(S)).toMatchObject({ state: 'running' })
    expect(await other.jobs.whenIdle(S, { timeoutMs: 60 })).toBe(false)
    expect(await other.jobs.whenIdle()).toBe(true)
    expect(await other.jobs.cancel({ session: S })).toMatchObject({ state: 'cancelled' })
    expect(slow.asked[0]!.signal!.aborted).toBe(true)
    expect(await store.jobs.whenIdle()).toBe(true)
    release()
    expect(await states(store)).toEqual(['cancelled'])
  })

  it('its own interval: no second run before the time set', async () => {
    const summarizer = model()
    const store = await openFull(summarizer, { config: { backgroundMinIntervalMs: 60_000 } })
    await afterTurn(store, S)
    await store.jobs.whenIdle(S)
    // Over the soft threshold again, below the hard one.
    await store.append(S, FULL.slice(0, 44))
    await afterTurn(store, S)
    await store.jobs.whenIdle(S)
    expect(summarizer.asked).toHaveLength(1)
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 60_000 })
    await afterTurn(store, S)
    await store.jobs.whenIdle(S)
    expect(summarizer.asked).toHaveLength(2)
  })

  it('the options of a call: its own summarizer, and stored settings', async () => {
    const own = model(undefined, 'own')
    const store = await openFull(model())
    await store.jobs.start(S, { summarizer: own, targetTokens: 1_000, actor: 'me', reason: 'why' })
    await store.jobs.whenIdle(S)
    expect(own.asked).toHaveLength(1)
    expect((await store.listCompactions(S))[0]).toMatchObject({
      actor: 'me',
      reason: 'why',
      summarizer: 'own',
    })
  })

  it('a call from within a summarizer of the same session', async () => {
    const store = await openFull(
      model(async () => {
        await store.jobs.start(S)
        return 'In short.'
      }),
    )
    await store.compactSession(S)
    expect(await store.jobs.whenIdle(S)).toBe(true)
    expect(await states(store)).toEqual(['done'])
  })
})

describe('settling', () => {
  it('waits for a run no longer than the limit, and obeys a signal', async () => {
    const { model: slow, release, begun } = held()
    // A store that runs no jobs of its own accord.
    const store = await openFull(undefined)
    const storage = storageOf(store)
    const configuration = new Configuration([{ source: 'store', values: { ...CONFIG, summarizer: slow } }])
    const events = new Events()
    const guard = new Guard(storage, configuration, events)
    const compactor = new Compactor(storage, configuration, events, guard)
    const background = new Background({ storage, configuration, events, guard, compactor }, () => [])
    const settle = (ms: number, signal?: AbortSignal): Promise<CompactionResult | null> =>
      background.settle(S, ms, signal)
    expect(await settle(10_000)).toBeNull()
    const { id: jobId } = await background.start((await storage.session(S))!, {})
    await begun
    expect(await settle(0)).toBeNull()
    expect(await settle(30)).toBeNull()
    expect(await states(store)).toEqual(['running'])
    await fails(() => settle(10_000, AbortSignal.timeout(20)), 'ABORTED')
    const settled = settle(10_000)
    release()
    expect((await settled)!.runId).toBe((await store.jobs.get(jobId)).runId)
    expect((await store.getEffectiveHistory(S))[0]!.kind).toBe('summary')
  })
})
