import { afterEach, describe, expect, it, vi } from 'vitest'
import { afterTurn, beforeTurn } from '../../src/compat/index.ts'
import { isUndertextError, type Store } from '../../src/index.ts'
import { storageOf } from '../support/apply-stage.ts'
import { chat, say } from '../support/conversation.ts'
import { failureOf } from '../support/failures.ts'
import { newFile } from '../support/temporary.ts'
import { cleanUp, FULL_TOKENS, held, listen, model, open, openFull, S, states, viewOf } from './support.ts'

/* The rows of F4 that one process shows; kills.test.ts has those of several. */

afterEach(async () => {
  vi.useRealTimers()
  await cleanUp()
})

describe('while a model works in the background [F4-01 F4-02]', () => {
  it('afterTurn returns before the model does, appends and requests continue, and no appended message is lost', async () => {
    const { model: slow, release, begun } = held()
    const store = await openFull(slow, { file: newFile(), durability: 'full' })
    const before = await store.getEffectiveHistory(S)
    const { run } = await afterTurn(store, S)
    expect(run).toBeNull()
    await begun
    // The model holds its answer back: all of this is done beside it.
    await store.append(S, [say('user', 'meanwhile')])
    await store.append(S, [say('assistant', 'as well')])
    expect((await store.getContextStats(S))!.storedMessages).toBe(54)
    expect((await store.getEffectiveHistory(S)).slice(0, 52)).toEqual(before)
    expect(await states(store)).toEqual(['running'])
    release()
    expect(await store.jobs.whenIdle(S)).toBe(true)
    const view = await store.getEffectiveHistory(S)
    expect(view[0]!.kind).toBe('summary')
    expect(view.slice(-2).map(({ content }) => content)).toEqual(['meanwhile', 'as well'])
    expect(await states(store)).toEqual(['done'])
    expect((await store.sessions.verify(S)).findings).toEqual([])
  })

  it('is not begun below the soft threshold, nor where automatic compaction or the background is off', async () => {
    const asked = model()
    const store = await open(asked)
    // 20 of the exchanges: 9 × 40 + 11 × 42 = 822 units, ceil(945.3) + 160 + 24 = 1,130 tokens of 2,000.
    await store.append(S, chat(20, 20))
    await afterTurn(store, S)
    expect(await store.jobs.whenIdle(S)).toBe(true)
    expect(await states(store)).toEqual([])
    for (const config of [{ auto: false }, { background: false }, { enabled: false }]) {
      const off = await openFull(asked, { config })
      await afterTurn(off, S)
      await beforeTurn(off, S)
      expect(await off.jobs.whenIdle(S)).toBe(true)
      expect(await states(off), JSON.stringify(config)).toEqual([])
    }
    const said = await openFull(asked)
    await afterTurn(said, S, { auto: false })
    await said.sessions.archive(S)
    await afterTurn(said, S)
    expect(await said.jobs.whenIdle(S)).toBe(true)
    expect(await states(said)).toEqual([])
    expect(asked.asked).toEqual([])
  })

  it('is on by itself only for summarizers that ask a model', async () => {
    const offline = await openFull(undefined)
    await beforeTurn(offline, S)
    expect(await offline.jobs.whenIdle(S)).toBe(true)
    expect(await states(offline)).toEqual([])
    const wanted = await openFull(undefined, { config: { background: true } })
    await beforeTurn(wanted, S)
    expect(await wanted.jobs.whenIdle(S)).toBe(true)
    expect(await states(wanted)).toEqual(['done'])
    expect((await wanted.sessions.get(S)).activeCompactions).toBe(1)
  })

  it('has one open job a session, however often it is offered', async () => {
    const { model: slow, release, begun } = held()
    const store = await openFull(slow)
    await Promise.all([afterTurn(store, S), afterTurn(store, S), beforeTurn(store, S)])
    await begun
    await afterTurn(store, S)
    const again = await store.jobs.start(S)
    expect(again.state).toBe('running')
    expect(await states(store)).toEqual(['running'])
    release()
    await store.jobs.whenIdle(S)
    expect(slow.asked).toHaveLength(1)
  })
})

describe('a change of the view under a running job [F4-03]', () => {
  const rewind = async (store: Store): Promise<unknown> => {
    const rows = (await store.getEffectiveHistory(S)).filter(({ kind }) => kind === 'message')
    return store.compactions.hide(
      S,
      rows.slice(1).map(({ id }) => id),
    )
  }
  it.each([
    ['rewound', rewind],
    ['edited', async (store: Store) => store.messages.pin(S, [(await store.getMessages(S))[2]!.id])],
    [
      'brought back by an undo',
      async (store: Store) => store.undoCompaction(S, (await store.listCompactions(S))[0]!.id),
    ],
  ])('with its range %s it is stale, and nothing is tagged by it', async (_, change) => {
    let answer = (_text: string): void => undefined
    let begin = (): void => undefined
    const begun = new Promise<void>((resolve) => {
      begin = resolve
    })
    const slow = model((_request, call) => {
      begin()
      return call > 1 ? new Promise<never>(() => undefined) : new Promise((resolve) => (answer = resolve))
    })
    const store = await openFull(slow)
    await store.compactions.hide(S, [(await store.getMessages(S))[5]!.id])
    const { jobId } = await store.jobs.start(S)
    await begun
    await change(store)
    const view = await viewOf(store)
    answer('In short.')
    await vi.waitFor(async () => expect((await store.jobs.get(jobId)).state).toBe('stale'), 5_000)
    await store.jobs.cancel({ session: S })
    expect(await viewOf(store)).toBe(view)
    const { runId } = await store.jobs.get(jobId)
    const made = (await store.listCompactions(S)).filter((one) => one.runId === runId)
    expect(made.map(({ status }) => status)).not.toContain('active')
    expect((await store.getMessages(S)).filter(({ condenseParent }) => condenseParent !== undefined)).toEqual(
      [],
    )
    expect((await store.sessions.verify(S)).findings).toEqual([])
  })

  it('makes its plan stale: nothing is changed by it, and it is planned anew', async () => {
    const { model: slow, release, begun } = held()
    const store = await openFull(slow)
    const { phases } = listen(store)
    const { jobId } = await store.jobs.start(S)
    await begun
    const ids = (await store.getMessages(S)).slice(2, 4).map(({ id }) => id)
    await store.compactions.hide(S, ids)
    release()
    expect(await store.jobs.whenIdle(S)).toBe(true)
    expect((await store.jobs.get(jobId)).state).toBe('stale')
    expect(await states(store)).toEqual(['done', 'stale'])
    expect(phases()).toEqual(['queued', 'started', 'stale STALE_PLAN', 'queued', 'started', 'completed'])
    expect(slow.asked).toHaveLength(2)
    expect((await store.sessions.verify(S)).findings).toEqual([])
  })

  it('is planned anew twice and no more', async () => {
    const moving = model(async () => {
      const { id } = (await store.getMessages(S, { limit: 1 }))[0]!
      await ((await store.messages.pin(S, [id])) === 0 ? store.messages.unpin(S, [id]) : undefined)
      const [first] = (await store.getEffectiveHistory(S))
        .filter(({ kind }) => kind === 'message')
        .slice(4, 5)
      await store.compactions.hide(S, [first!.id])
      return 'In short.'
    })
    const store = await openFull(moving)
    await store.jobs.start(S)
    expect(await store.jobs.whenIdle(S)).toBe(true)
    expect(await states(store)).toEqual(['stale', 'stale', 'stale'])
    expect(moving.asked).toHaveLength(3)
  })
})

describe('a run in the foreground and one in the background', () => {
  it('never pay twice: the automatic one in the foreground has the result of the other', async () => {
    const { model: slow, release, begun } = held()
    const store = await openFull(slow)
    const { jobId } = await store.jobs.start(S)
    await begun
    // 4 more exchanges of 21 units: 1,242 units, ceil(1,428.3) + 240 + 24 = 1,693 tokens, over the hard threshold.
    await store.append(S, chat(30, 20).slice(52))
    const turn = beforeTurn(store, S)
    await new Promise((resolve) => setTimeout(resolve, 30))
    release()
    const { run, compacted, tokensAfter } = await turn
    const { runId } = await store.jobs.get(jobId)
    expect(run!.runId).toBe(runId)
    expect(compacted).toBe(true)
    expect(tokensAfter).toBe((await store.getContextStats(S))!.estimatedInputTokens)
    expect(slow.asked).toHaveLength(1)
    expect((await store.listCompactions(S)).map(({ status }) => status)).toEqual(['active'])
  })

  it.each([
    ['beforeTurn', (store: Store) => beforeTurn(store, S)],
    ['afterTurn', (store: Store) => afterTurn(store, S)],
    ['prepareRequest', (store: Store) => store.prepareRequest(S)],
  ] as const)(
    '%s asks no model when the job has made enough room for what was appended meanwhile',
    async (_, act) => {
      const { model: slow, release, begun } = held()
      // The tail that is kept and what is appended are over the target, and below the threshold.
      const store = await openFull(slow, { config: { targetTokens: 300, keepRecentTokens: 250 } })
      const { jobId } = await store.jobs.start(S)
      await begun
      await store.append(S, chat(36, 20).slice(52))
      const turn = act(store)
      await new Promise((resolve) => setTimeout(resolve, 30))
      release()
      const { stats, run } = await turn
      const { state, runId } = await store.jobs.get(jobId)
      expect(state).toBe('done')
      expect(stats!.estimatedInputTokens).toBeGreaterThan(300)
      expect(slow.asked).toHaveLength(1)
      if (_ !== 'prepareRequest') expect(run!.runId).toBe(runId)
    },
  )

  it('in two stores of one process: the turn waits for the job of the other', async () => {
    const file = newFile()
    const { model: slow, release, begun } = held()
    const store = await openFull(slow, { file, config: { targetTokens: 300, keepRecentTokens: 250 } })
    const other = await open(slow, { file, config: { targetTokens: 300, keepRecentTokens: 250 } })
    await store.jobs.start(S)
    await begun
    await store.append(S, chat(36, 20).slice(52))
    const turn = beforeTurn(other, S)
    await new Promise((resolve) => setTimeout(resolve, 30))
    release()
    expect((await turn).stats!.shouldCompact).toBe(false)
    expect(slow.asked).toHaveLength(1)
  })

  it('that runs already leaves nothing for the job to do', async () => {
    const { model: slow, release, begun } = held()
    const store = await openFull(slow)
    const { events } = listen(store)
    const run = store.compactSession(S, { trigger: 'auto' })
    await begun
    await store.jobs.start(S)
    release()
    await run
    await store.jobs.whenIdle(S)
    expect(slow.asked).toHaveLength(1)
    expect(events.at(-1)).toMatchObject({ phase: 'completed', compacted: false, code: 'NOTHING_TO_COMPACT' })
  })

  it('are one when two in the foreground want the same', async () => {
    const asked = model()
    const store = await openFull(asked)
    const [a, b] = await Promise.all([store.compactSession(S), store.compactSession(S)])
    expect(a!.runId).toBe(b!.runId)
    expect(asked.asked).toHaveLength(1)
  })
})

describe('over the hard threshold [F4-06]', () => {
  it('with a job whose summarizer hangs a request is ready within its wait, and within its budget', async () => {
    const { model: hanging, begun } = held()
    const store = await openFull(hanging, { config: { enableTruncate: true } })
    await store.jobs.start(S)
    await begun
    await store.append(S, chat(40, 20).slice(52))
    expect((await store.getContextStats(S))!.shouldCompact).toBe(true)
    const start = Date.now()
    const request = await store.prepareRequest(S, { prompt: 'now', waitMs: 100 })
    expect(Date.now() - start).toBeLessThan(5_000)
    expect(request.compacted).toBe(true)
    expect(request.stats.withinBudget).toBe(true)
    expect(request.stats.shouldCompact).toBe(false)
    expect((await store.listCompactions(S)).filter(({ status }) => status === 'active')).toMatchObject([
      { kind: 'truncate' },
    ])
    await store.jobs.cancel({ session: S })
  })
})

describe('no transaction is open while a model works [F4-07]', () => {
  it('another connection writes at once', async () => {
    const file = newFile()
    const { model: slow, release, begun } = held()
    const store = await openFull(slow, { file })
    const other = await open(undefined, { file, busyTimeoutMs: 0, env: false })
    await store.jobs.start(S)
    await begun
    await other.append(S, [say('user', 'from beside')])
    await other.append('t', [say('user', 'x')])
    await other.sessions.update(S, { title: 'new' })
    release()
    await store.jobs.whenIdle(S)
    expect((await store.getEffectiveHistory(S)).at(-1)!.content).toBe('from beside')
    expect(await states(other)).toEqual(['done'])
  })
})

describe('the circuit [F4-08]', () => {
  const failing = () =>
    model(() => {
      throw new Error('overloaded')
    })

  /** Time stands still but for what is told; the database does not wait for timers. */
  const stopTime = (): void => {
    vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'], now: Date.now() })
  }

  it('opens after three tries of a job whose model fails, which truncates nothing where a turn would', async () => {
    const broken = failing()
    const store = await openFull(broken, { config: { enableTruncate: true } })
    const told: { state: string }[] = []
    store.on('circuit', (event) => told.push(event))
    const plain = JSON.stringify(await store.getEffectiveHistory(S))
    stopTime()
    const { jobId } = await store.jobs.start(S, { targetTokens: 800 })
    for (let look = 0; look < 40 && (await store.jobs.get(jobId)).state !== 'failed'; look++)
      await vi.advanceTimersByTimeAsync(1_000)
    vi.useRealTimers()
    expect(await store.jobs.get(jobId)).toMatchObject({ state: 'failed', attempts: 3 })
    expect(broken.asked).toHaveLength(3)
    expect(told.map(({ state }) => state)).toEqual(['opened'])
    expect(JSON.stringify(await store.getEffectiveHistory(S))).toBe(plain)
    const turn = await store.compactSession(S, { trigger: 'auto', targetTokens: 800 })
    expect(turn!.stagesUsed).toEqual(['truncate'])
    expect(broken.asked).toHaveLength(3)
  })

  it('opens after three failed automatic runs, and calls no model until its time is over', async () => {
    const broken = failing()
    const store = await openFull(broken)
    const told: unknown[] = []
    store.on('circuit', (event) => told.push(event))
    stopTime()
    const start = Date.now()
    for (let run = 1; run <= 3; run++) {
      expect(told).toEqual([])
      const result = await store.compactSession(S, { trigger: 'auto' })
      expect(result).toMatchObject({ compacted: false, reason: 'SUMMARY_FAILED' })
    }
    const openUntil = start + 300_000
    const facts = { sessionId: S, failures: 3, openUntil }
    expect(told).toEqual([{ ...facts, state: 'opened', code: 'Error' }])
    // In the foreground: without the model.
    expect(await store.compactSession(S, { trigger: 'auto' })).toMatchObject({
      reason: 'NO_PROGRESS',
      failed: [],
    })
    expect(broken.asked).toHaveLength(3)
    // In the background: not at all.
    const refused = await failureOf(() => store.jobs.start(S))
    expect(isUndertextError(refused, 'CIRCUIT_OPEN') && refused.facts).toEqual({ ...facts, error: 'Error' })
    expect(await states(store)).toEqual([])
    // Its time is over: one try, and as it fails too the circuit is open again.
    vi.setSystemTime(openUntil)
    const both = [store.compactSession(S, { trigger: 'auto' }), store.compactSession(S, { trigger: 'auto' })]
    await Promise.all(both)
    expect(broken.asked).toHaveLength(4)
    expect(told.at(-1)).toEqual({
      sessionId: S,
      state: 'opened',
      failures: 4,
      code: 'Error',
      openUntil: openUntil + 300_000,
    })
    await store.compactSession(S, { trigger: 'auto' })
    expect(broken.asked).toHaveLength(4)
  })

  it('closes when its time is over and the one trial succeeds, and emits an event', async () => {
    let isBroken = true
    const summarizer = model(() => {
      if (isBroken) throw new Error('overloaded')
      return 'In short.'
    })
    const store = await openFull(summarizer)
    const told: unknown[] = []
    store.on('circuit', ({ state }) => told.push([state, Date.now()]))
    stopTime()
    const start = Date.now()
    for (let run = 1; run <= 3; run++) await store.compactSession(S, { trigger: 'auto' })
    isBroken = false
    vi.setSystemTime(start + 299_999)
    expect(isUndertextError(await failureOf(() => store.jobs.start(S)), 'CIRCUIT_OPEN')).toBe(true)
    vi.setSystemTime(start + 300_000)
    const { jobId } = await store.jobs.start(S)
    await vi.advanceTimersByTimeAsync(0)
    await vi.waitFor(async () => expect((await store.jobs.get(jobId)).state).toBe('done'))
    expect(told).toEqual([
      ['opened', start],
      ['closed', start + 300_000],
    ])
    expect(summarizer.asked).toHaveLength(4)
  })

  it('is closed by a requested run that succeeds', async () => {
    let isBroken = true
    const summarizer = model(() => {
      if (isBroken) throw new Error('overloaded')
      return 'In short.'
    })
    const store = await openFull(summarizer)
    const told: string[] = []
    store.on('circuit', ({ state }) => told.push(state))
    for (let run = 1; run <= 3; run++) await store.compactSession(S, { trigger: 'auto' })
    isBroken = false
    expect((await store.compactSession(S))!.compacted).toBe(true)
    expect(told).toEqual(['opened', 'closed'])
    expect(await storageOf(store).circuits.circuit(S)).toBeUndefined()
  })

  it('is closed by any change of the view, of the model, and of the summarizer', async () => {
    const broken = failing()
    const opened = async () => {
      const store = await openFull(broken)
      for (let run = 1; run <= 3; run++) await store.compactSession(S, { trigger: 'auto' })
      return { store, told: listenToCircuit(store) }
    }
    const listenToCircuit = (store: Awaited<ReturnType<typeof openFull>>): string[] => {
      const told: string[] = []
      store.on('circuit', ({ state }) => told.push(state))
      return told
    }
    const changes: ((store: Awaited<ReturnType<typeof openFull>>) => Promise<unknown>)[] = [
      async (store) => store.messages.pin(S, [(await store.getMessages(S))[0]!.id]),
      (store) => store.sessions.update(S, { model: 'another' }),
      (store) => store.sessions.update(S, { config: { summarizationModel: 'another' } }),
    ]
    for (const change of changes) {
      const { store, told } = await opened()
      await change(store)
      const { jobId } = await store.jobs.start(S)
      expect(told).toEqual(['closed'])
      await store.jobs.cancel({ job: jobId })
    }
    const { store } = await opened()
    const working = model(() => 'In short.', 'another')
    expect((await store.compactSession(S, { trigger: 'auto', summarizer: working }))!.compacted).toBe(true)
  })

  it('does not count errors that do not come from the model', async () => {
    const { model: slow, begun } = held()
    const store = await openFull(slow)
    const { jobId } = await store.jobs.start(S)
    await begun
    await store.jobs.cancel({ job: jobId })
    const unhook = store.compactions.onBefore(() => false)
    const other = model()
    for (let run = 1; run <= 3; run++) await store.compactSession(S, { trigger: 'auto', summarizer: other })
    unhook()
    expect(await storageOf(store).circuits.circuit(S)).toBeUndefined()
    // Nor what somebody asked for.
    for (let run = 1; run <= 3; run++) await store.compactSession(S, { summarizer: failing() })
    expect(await storageOf(store).circuits.circuit(S)).toBeUndefined()
  })

  it('survives a restart', async () => {
    const file = newFile()
    const store = await openFull(failing(), { file })
    for (let run = 1; run <= 3; run++) await store.compactSession(S, { trigger: 'auto' })
    await store.close()
    const again = await open(failing(), { file })
    expect(isUndertextError(await failureOf(() => again.jobs.start(S)), 'CIRCUIT_OPEN')).toBe(true)
  })

  it('a job that fails is tried three times, each after a longer wait, and the reason is kept', async () => {
    const broken = failing()
    const store = await openFull(broken)
    const { phases, events } = listen(store)
    stopTime()
    const start = Date.now()
    const { jobId } = await store.jobs.start(S)
    await vi.advanceTimersByTimeAsync(0)
    await vi.waitFor(() => expect(phases()).toHaveLength(3))
    expect(await store.jobs.whenIdle(S, { timeoutMs: 0 })).toBe(true)
    expect((await store.jobs.get(jobId)).notBefore).toBe(start + 2_000)
    await vi.advanceTimersByTimeAsync(2_000)
    await vi.waitFor(() => expect(phases()).toHaveLength(5))
    expect((await store.jobs.get(jobId)).notBefore).toBe(start + 6_000)
    await vi.advanceTimersByTimeAsync(4_000)
    await vi.waitFor(() => expect(phases()).toHaveLength(7))
    expect(phases()).toEqual([
      'queued',
      'started',
      'queued Error',
      'started',
      'queued Error',
      'started',
      'failed Error',
    ])
    expect(events.map(({ attempt }) => attempt)).toEqual([0, 1, 1, 2, 2, 3, 3])
    expect(await store.jobs.get(jobId)).toMatchObject({ state: 'failed', attempts: 3, error: 'Error' })
    expect(broken.asked).toHaveLength(3)
  })
})

describe('close [F4-09]', () => {
  it('waits for a running job as long as requested', async () => {
    const file = newFile()
    const { model: slow, release, begun } = held()
    const store = await openFull(slow, { file })
    await store.jobs.start(S)
    await begun
    setTimeout(release, 50)
    await store.close({ timeoutMs: 10_000 })
    const again = await open(undefined, { file })
    expect(await states(again)).toEqual(['done'])
    expect((await again.getEffectiveHistory(S))[0]!.kind).toBe('summary')
  })

  it.each([0, 20])(
    'within %i ms leaves the job to the next, aborts the model and changes nothing',
    async (timeoutMs) => {
      const file = newFile()
      let isAborted = false
      const slow = model((request) => {
        request.signal!.addEventListener('abort', () => {
          isAborted = true
        })
        begin()
        return new Promise(() => undefined)
      })
      let begin = (): void => undefined
      const begun = new Promise<void>((resolve) => {
        begin = resolve
      })
      const store = await openFull(slow, { file })
      const { phases } = listen(store)
      const before = await viewOf(store)
      const { jobId } = await store.jobs.start(S)
      await begun
      await store.close({ timeoutMs })
      expect(isAborted).toBe(true)
      expect(phases()).toEqual(['queued', 'started'])
      // A store without a model looks, and leaves it alone; one with a model takes it up by itself.
      const reading = await open(undefined, { file })
      expect(await viewOf(reading)).toBe(before)
      expect(await reading.jobs.get(jobId)).toMatchObject({ state: 'queued', attempts: 0 })
      expect((await reading.listCompactions(S)).map(({ status, error }) => [status, error])).toEqual([
        ['aborted', 'ABORTED'],
      ])
      await reading.close()
      const asked = model()
      const next = await open(asked, { file })
      await vi.waitFor(async () => expect((await next.jobs.get(jobId)).state).toBe('done'), 5_000)
      expect(asked.asked).toHaveLength(1)
      expect((await next.sessions.verify(S)).findings).toEqual([])
    },
  )

  it('twice, and with jobs that only wait, is nothing', async () => {
    const store = await openFull(model(() => Promise.reject(new Error('no'))))
    await store.jobs.start(S)
    await store.jobs.whenIdle(S)
    await store.close({ timeoutMs: 5 })
    await store.close()
  })
})

describe('events [F4-10]', () => {
  it('are queued, started and exactly one end, with ids and figures', async () => {
    const store = await openFull(model())
    const { events } = listen(store)
    const { jobId, state } = await store.jobs.start(S)
    expect(state).toBe('queued')
    await store.jobs.whenIdle(S)
    const job = await store.jobs.get(jobId)
    const { runId } = job
    const about = { sessionId: S, jobId }
    // The summary stands for all but the newest turns: 30 % of the target; what is left is told by the run itself.
    const [compaction] = await store.listCompactions(S)
    expect(events).toEqual([
      { ...about, phase: 'queued', attempt: 0, notBefore: expect.closeTo(job.createdAt, -2) },
      { ...about, phase: 'started', attempt: 1, runId },
      {
        ...about,
        phase: 'completed',
        attempt: 1,
        runId,
        compacted: true,
        tokensBefore: FULL_TOKENS,
        tokensAfter: compaction!.tokensAfter,
      },
    ])
    expect(compaction).toMatchObject({ runId, trigger: 'auto', summarizer: 'model' })
    expect(job).toMatchObject({ state: 'done', attempts: 1, position: 52, error: undefined })
  })

  it('surround those of the run', async () => {
    const store = await openFull(model())
    const order: string[] = []
    store.on('job', ({ phase }) => order.push(`job ${phase}`))
    store.on('compaction', ({ phase }) => order.push(phase))
    await store.jobs.start(S)
    await store.jobs.whenIdle(S)
    expect(order).toEqual(['job queued', 'job started', 'started', 'stage', 'completed', 'job completed'])
  })
})
