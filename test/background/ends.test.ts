import { afterEach, describe, expect, it, vi } from 'vitest'
import { afterTurn } from '../../src/compat/index.ts'
import { type CompactionResult, type Store, UndertextError } from '../../src/index.ts'
import { Guard } from '../../src/store/compaction/background/guard.ts'
import { Configuration } from '../../src/store/config/resolve.ts'
import type { RunConfig } from '../../src/store/config/run-config.ts'
import { Events } from '../../src/store/events.ts'
import { storageOf } from '../support/apply-stage.ts'
import { say } from '../support/conversation.ts'
import { newFile } from '../support/temporary.ts'
import { cleanUp, FULL, held, listen, model, open, openFull, S, states } from './support.ts'

/* Offers and ends of jobs where several things happen at once. */

afterEach(async () => {
  vi.useRealTimers()
  await cleanUp()
})

describe('a request made with auto: false', () => {
  it('has nothing done in the background, before and after', async () => {
    const asked = model()
    const store = await openFull(asked)
    const request = await store.prepareRequest(S, { prompt: 'and now?', auto: false })
    expect(request.auto).toBe(false)
    expect(await store.jobs.whenIdle(S)).toBe(true)
    await store.recordResponse(S, { request, messages: [say('assistant', 'well')] })
    expect(await store.jobs.whenIdle(S)).toBe(true)
    await store.recordResponse(S, { messages: [say('assistant', 'more')], auto: false })
    expect(await store.jobs.whenIdle(S)).toBe(true)
    expect(await states(store)).toEqual([])
    expect(asked.asked).toEqual([])
  })

  it('made without it: one job', async () => {
    const store = await openFull(model())
    const request = await store.prepareRequest(S, { prompt: 'and now?' })
    expect(request.auto).toBe(true)
    expect(await store.jobs.whenIdle(S)).toBe(true)
    expect(await states(store)).toEqual(['done'])
  })
})

describe('exactly one end [F4-10]', () => {
  it.each([
    ['fails', (): Promise<string> => Promise.reject(new Error('no'))],
    ['is stale', async (): Promise<string> => 'In short.'],
  ] as const)('of a job that is cancelled while its run %s', async (_, answer) => {
    const store: Store = await openFull(
      model(async (): Promise<string> => {
        const [row] = (await store.getMessages(S)).slice(4, 5)
        await store.compactions.hide(S, [row!.id])
        return answer()
      }),
    )
    const { phases } = listen(store)
    const { jobs } = storageOf(store)
    const { end } = jobs
    // Between the end of the run and the note of it.
    vi.spyOn(jobs, 'end').mockImplementationOnce(async (...args) => {
      await cancelled(store)
      return end.apply(jobs, args)
    })
    await store.jobs.start(S)
    await store.jobs.whenIdle(S)
    expect(await states(store)).toEqual(['cancelled'])
    expect(phases()).toEqual(['queued', 'started', 'cancelled CANCELLED'])
  })

  it('of a job that is cancelled before it has begun: it does not start afterwards', async () => {
    const asked = model()
    const store = await openFull(asked)
    const { phases } = listen(store)
    const { jobs } = storageOf(store)
    const { claim } = jobs
    vi.spyOn(jobs, 'claim').mockImplementationOnce(async (...args) => {
      const claimed = await claim.apply(jobs, args)
      await cancelled(store)
      return claimed
    })
    await store.jobs.start(S)
    await store.jobs.whenIdle(S)
    expect(phases()).toEqual(['queued', 'cancelled CANCELLED'])
    expect(asked.asked).toEqual([])
  })

  it('of a job that another store of this process cancels: both receive the event', async () => {
    const file = newFile()
    const { model: slow, begun } = held()
    const store = await openFull(slow, { file })
    const other = await open(model(undefined, 'other'), { file })
    const mine = listen(store)
    const others = listen(other)
    await store.jobs.start(S)
    await begun
    await other.jobs.cancel({ session: S })
    await store.jobs.whenIdle(S)
    expect(mine.phases()).toEqual(['queued', 'started', 'cancelled CANCELLED'])
    expect(others.phases()).toEqual(['cancelled CANCELLED'])
  })

  it.each(['before', 'after'] as const)('of a job whose session is purged %s it is claimed', async (when) => {
    const asked = model()
    const store = await openFull(asked)
    const { phases } = listen(store)
    const { jobs } = storageOf(store)
    const { claim } = jobs
    // The storage is late: the session is purged while the claim is under way.
    vi.spyOn(jobs, 'claim').mockImplementationOnce((async (...args: Parameters<typeof claim>) => {
      const claimed = when === 'after' ? claim.apply(jobs, args) : undefined
      await store.sessions.purge(S)
      return when === 'after' ? claimed : claim.apply(jobs, args)
    }) as unknown as typeof claim)
    await store.jobs.start(S)
    await store.jobs.whenIdle()
    expect(phases()).toEqual(['queued', 'cancelled PURGED'])
    expect(asked.asked).toEqual([])
  })

  it('of a job whose session another store purged before it was claimed', async () => {
    const file = newFile()
    const store = await openFull(model(), { file })
    const other = await open(undefined, { file })
    const { phases } = listen(store)
    const { jobs } = storageOf(store)
    const { claim } = jobs
    vi.spyOn(jobs, 'claim').mockImplementationOnce((async (...args: Parameters<typeof claim>) => {
      await other.sessions.purge(S)
      return claim.apply(jobs, args)
    }) as unknown as typeof claim)
    await store.jobs.start(S)
    await store.jobs.whenIdle()
    expect(phases()).toEqual(['queued', 'cancelled PURGED'])
  })

  it('of a job that waits for its next try while its session is purged', async () => {
    const store = await openFull(model(() => Promise.reject(new Error('no'))))
    const { phases } = listen(store)
    await store.jobs.start(S)
    await store.jobs.whenIdle(S)
    await store.sessions.purge(S)
    expect(phases()).toEqual(['queued', 'started', 'queued Error', 'cancelled PURGED'])
  })
})

it('whenIdle does not overlook an offer that becomes a job while it looks for jobs', async () => {
  const store = await openFull(model())
  const { jobs } = storageOf(store)
  const { open } = jobs
  const queued = new Promise<void>((resolve) => {
    store.on('job', ({ phase }) => phase === 'queued' && resolve())
  })
  // The storage is late: what it says was true before the job was queued.
  vi.spyOn(jobs, 'open').mockImplementationOnce((async (...args: Parameters<typeof open>) => {
    const found = await open.apply(jobs, args)
    await queued
    for (let turn = 0; turn < 20; turn++) await undefined
    return found
  }) as unknown as typeof open)
  await afterTurn(store, S)
  expect(await store.jobs.whenIdle(S)).toBe(true)
  expect(await states(store)).toEqual(['done'])
})

it('a storage that fails while a job is given up ends no process: the next caller who waits receives the error', async () => {
  const unhandled = vi.fn()
  process.on('unhandledRejection', unhandled)
  const store = await openFull(model())
  const storage = storageOf(store)
  const { jobs } = storage
  const { claim } = jobs
  vi.spyOn(jobs, 'claim').mockImplementationOnce(async (...args) => {
    const claimed = await claim.apply(jobs, args)
    // Another process purges the session, and then the storage cannot be read.
    vi.spyOn(storage, 'session').mockImplementationOnce(async () => {
      throw new UndertextError('SESSION_NOT_FOUND', { sessionId: S })
    })
    vi.spyOn(jobs, 'job').mockImplementationOnce(async () => {
      throw new UndertextError('STORE_BUSY', { waitedMs: 1 })
    })
    return claimed
  })
  await store.jobs.start(S)
  await expect(store.jobs.whenIdle(S)).rejects.toMatchObject({ code: 'STORE_BUSY' })
  await new Promise((resolve) => setImmediate(resolve))
  process.off('unhandledRejection', unhandled)
  expect(unhandled).not.toHaveBeenCalled()
})

it('runs that would save too little open no circuit, however often, and cost included', async () => {
  const store = await openFull(model())
  const guard = new Guard(storageOf(store), new Configuration([]), new Events())
  const session = (await storageOf(store).session(S))!
  const result = { compacted: false, reason: 'SAVES_TOO_LITTLE', failed: [] } as unknown as CompactionResult
  const config = { trigger: 'auto', summarizer: model() } as unknown as RunConfig
  for (let run = 1; run <= 3; run++) await guard.ended(session, config, { hasCalledModel: true, result })
  expect(await storageOf(store).circuits.circuit(S)).toBeUndefined()
  await store.jobs.start(S)
  await store.jobs.whenIdle(S)
  expect(await states(store)).toEqual(['done'])
})

it('a clock that is set back holds no session from the background', async () => {
  const summarizer = model()
  const store = await openFull(summarizer, { config: { backgroundMinIntervalMs: 60_000 } })
  await afterTurn(store, S)
  await store.jobs.whenIdle(S)
  await store.append(S, FULL)
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 86_400_000 })
  await afterTurn(store, S)
  await store.jobs.whenIdle(S)
  expect(summarizer.asked).toHaveLength(2)
})

describe('a job that is no longer needed', () => {
  const failsOnce = () =>
    model((_, call) => (call === 1 ? Promise.reject(new Error('no')) : Promise.resolve('In short.')))
  const later = (): unknown => vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 10_000 })

  it.each([
    ['auto: false', (store: Store) => store.sessions.update(S, { config: { auto: false } })],
    ['background: false', (store: Store) => store.sessions.update(S, { config: { background: false } })],
    ['an archived session', (store: Store) => store.sessions.archive(S)],
  ])('is not made any more with %s', async (_, change) => {
    const asked = failsOnce()
    const store = await openFull(asked)
    const { phases } = listen(store)
    await afterTurn(store, S)
    await store.jobs.whenIdle(S)
    await change(store)
    later()
    expect(await store.jobs.whenIdle(S)).toBe(true)
    expect(phases()).toEqual(['queued', 'started', 'queued Error', 'cancelled SWITCHED_OFF'])
    expect(await states(store)).toEqual(['cancelled'])
    expect(asked.asked).toHaveLength(1)
  })

  it('still runs when a caller has requested it since', async () => {
    const store = await openFull(failsOnce())
    await afterTurn(store, S)
    await store.jobs.whenIdle(S)
    await store.sessions.update(S, { config: { auto: false } })
    await store.jobs.start(S)
    expect(await store.jobs.whenIdle(S)).toBe(true)
    expect(await states(store)).toEqual(['done'])
  })
})

describe('a signal', () => {
  it('cancels the job that follows a stale one as well', async () => {
    const { signal, abort } = abortable()
    const store: Store = await openFull(
      model(async (_, call): Promise<string> => {
        if (call > 1) {
          abort()
          return new Promise<never>(() => undefined)
        }
        await store.compactions.hide(S, [(await store.getMessages(S))[4]!.id])
        return 'In short.'
      }),
    )
    await store.jobs.start(S, { signal })
    expect(await store.jobs.whenIdle(S, { timeoutMs: 10_000 })).toBe(true)
    expect(await states(store)).toEqual(['cancelled', 'stale'])
  })

  it('is let go of when the job is over', async () => {
    const { signal } = abortable()
    const added = vi.spyOn(signal, 'addEventListener')
    const removed = vi.spyOn(signal, 'removeEventListener')
    const store = await openFull(model())
    await store.jobs.start(S, { signal })
    await store.jobs.whenIdle(S)
    const ours = added.mock.calls.map(([, listener]) => listener)
    expect(removed.mock.calls.map(([, listener]) => listener)).toEqual(expect.arrayContaining(ours))
  })
})

/** Cancels the session's job. What the verb waits for is not waited for here: it may be the caller. */
function cancelled(store: Store): Promise<void> {
  return new Promise((resolve) => {
    store.on('job', ({ phase }) => phase === 'cancelled' && resolve())
    void store.jobs.cancel({ session: S })
  })
}

function abortable(): { readonly signal: AbortSignal; readonly abort: () => void } {
  const controller = new AbortController()
  return { signal: controller.signal, abort: () => controller.abort() }
}
