import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openStore, type Store, type StoreEvents } from '../../src/index.ts'
import { call, chat, say } from '../support/conversation.ts'
import { expectFailure, failureOf } from '../support/failures.ts'

let store: Store
let complete: StoreEvents['turnComplete'][]
beforeEach(async () => {
  store = await openStore(':memory:', { estimator: 'neurolink', env: false })
  complete = []
  store.on('turnComplete', (event) => {
    complete.push(event)
  })
})
afterEach(() => store.close())

describe('a response', () => {
  it('is appended after its prompt, all at once, and ends a turn [S3-011]', async () => {
    const request = await store.prepareRequest('s', { prompt: 'What is 6 × 7?', provider: 'openai' })
    const recorded = await store.recordResponse('s', {
      request,
      messages: [say('assistant', '42')],
      usage: { inputTokens: 12, outputTokens: 3 },
      stopReason: 'stop',
    })
    expect(recorded).toMatchObject({
      appended: { position: 2 },
      usage: { recorded: true, inputTokens: 12 },
      next: 'final',
      final: true,
      stats: { storedMessages: 2 },
    })
    expect((await store.getMessages('s')).map(({ role, content }) => [role, content])).toEqual([
      ['user', 'What is 6 × 7?'],
      ['assistant', '42'],
    ])
    expect(complete).toEqual([{ sessionId: 's', position: 2, stopReason: 'stop' }])
  })

  it('can be recorded without a request, and without a prompt', async () => {
    await store.append('s', [say('user', 'Hi')])
    const request = await store.prepareRequest('s')
    await store.recordResponse('s', { request, messages: [say('assistant', 'Hi.')] })
    await store.recordResponse('s', { prompt: 'More', messages: [], usage: { inputTokens: 5 } })
    const later = await store.prepareRequest('s', { prompt: 'not stored' })
    await store.recordResponse('s', { request: later, prompt: [], messages: [say('assistant', 'Yes.')] })
    expect((await store.getMessages('s')).map(({ content }) => content)).toEqual([
      'Hi',
      'Hi.',
      'More',
      'Yes.',
    ])
  })

  it('that is refused and whose usage throws rejects once, and nothing is left unhandled', async () => {
    const unhandled: unknown[] = []
    const listen = (reason: unknown): unknown => unhandled.push(reason)
    process.on('unhandledRejection', listen)
    await store.append('s', [say('user', 'Hi')])
    const throwing = {
      get inputTokens(): number {
        throw new Error('not ready')
      },
    }
    const usages = [
      () => throwing,
      () => ({ usage: throwing }),
      () => ({
        get usage(): number {
          throw new Error('no')
        },
      }),
      () => ({ usage: Promise.reject(new Error('lost')) }),
    ]
    for (const usageOf of usages) {
      const usage = usageOf()
      const messages = [say('assistant', 'Hi.')]
      const refused = () => store.recordResponse('s', { messages, usage, expectedPosition: 7 })
      expectFailure(await failureOf(refused), 'POSITION_CONFLICT')
    }
    // Node reports a rejection after the microtasks.
    await new Promise((resolve) => setTimeout(resolve, 20))
    process.off('unhandledRejection', listen)
    expect(unhandled).toEqual([])
    expect(await store.getMessages('s')).toHaveLength(1)
  })

  it('that calls tools continues the turn, and its calls wait', async () => {
    const recorded = await store.recordResponse('s', {
      prompt: 'Read it.',
      messages: [call('c1', 'read')],
      stopReason: 'tool_use',
    })
    expect([recorded.next, recorded.final, complete]).toEqual(['tools', false, []])
  })

  it('is counted for exactly its request, whatever was appended meanwhile', async () => {
    await store.append('s', chat(3, 100))
    const request = await store.prepareRequest('s', { prompt: 'Go on. '.repeat(50) })
    await store.append('s', [say('user', 'Between. '.repeat(100))])
    const inputTokens = Math.round(1.2 * request.stats.estimated)
    const { stats, usage } = await store.recordResponse('s', {
      request,
      messages: [say('assistant', 'Done. '.repeat(50))],
      usage: { inputTokens },
    })
    // The estimate of exactly that request: neither what came between nor the answer is in it.
    expect(usage).toMatchObject({ recorded: true, estimatedTokens: request.stats.estimated })
    // What was measured, and an estimate of what was added.
    expect(stats!.estimatedInputTokens).toBe(inputTokens + stats!.estimated - request.stats.estimated)
    expect(stats!.source).toBe('measured+estimated')
  })

  it('of a first request is counted for it as well', async () => {
    const request = await store.prepareRequest('s', { prompt: 'Hello there, how are you?' })
    expect(request.position).toBe(0)
    await store.append('s', [say('user', 'Somebody else was quicker.')])
    const { usage } = await store.recordResponse('s', {
      request,
      messages: [say('assistant', 'Well.')],
      usage: { inputTokens: 20 },
    })
    expect(usage).toMatchObject({ recorded: true, estimatedTokens: request.stats.estimated })
  })

  it('of an outdated view does not change the readings of the current one', async () => {
    await store.append('s', chat(10, 100))
    const request = await store.prepareRequest('s', { prompt: 'Go on.' })
    await store.compactSession('s', { range: { from: 3, to: 12 }, summary: 'In short.' })
    const { usage, stats } = await store.recordResponse('s', {
      request,
      messages: [say('assistant', 'Done.')],
      usage: { inputTokens: 3_000 },
    })
    expect(usage!.recorded).toBe(false)
    expect(stats!.measured).toBeNull()
  })

  it('with keys is recorded once, however often it is repeated', async () => {
    const response = {
      prompt: { ...say('user', 'Once'), idempotencyKey: 'p' },
      messages: [{ ...say('assistant', 'and for all'), idempotencyKey: 'a' }],
      usage: { inputTokens: 10 },
    }
    const first = await store.recordResponse('s', response)
    const again = await store.recordResponse('s', response)
    expect(again.appended.messages.map(({ id, existing }) => [id, existing])).toEqual(
      first.appended.messages.map(({ id }) => [id, true]),
    )
    expect('usage' in again).toBe(false)
    expect(complete).toHaveLength(1)
    expect((await store.sessions.get('s')).messageCount).toBe(2)
  })

  it('is rejected as a whole where another writer was faster', async () => {
    await store.append('s', [say('user', 'one')])
    const error = await failureOf(() =>
      store.recordResponse('s', {
        prompt: 'two',
        messages: [say('assistant', 'three')],
        usage: { inputTokens: 5 },
        expectedPosition: 0,
      }),
    )
    expectFailure(error, 'POSITION_CONFLICT')
    expect((await store.sessions.get('s')).messageCount).toBe(1)
    expect((await store.getContextStats('s'))!.measured).toBeNull()
  })

  it('that cannot be is refused, and nothing is written', async () => {
    const request = await store.prepareRequest('other', { prompt: 'x' })
    const messages = [say('assistant', 'x')]
    const bad: unknown[] = [
      undefined,
      {},
      { messages: [] },
      { messages, request },
      { messages, request: { ...request, sessionId: 's', position: -1 } },
      { messages, request: {} },
      { messages, prompt: null },
      { messages, prompt: [{ role: 'robot', content: 'x' }] },
      { messages: [null] },
    ]
    for (const response of bad)
      expectFailure(await failureOf(() => store.recordResponse('s', response as never)), 'INVALID_INPUT')
    expect(await store.sessions.list()).toEqual([])
  })

  it('of a request with auto: false sets nothing to work in the background either', async () => {
    await store.sessions.create({ id: 's', config: { background: true } })
    await store.append('s', chat(20, 100))
    // 4,810 of 6,400 are 75 percent: above the soft threshold, below the one at which compaction is due.
    const of6400 = { contextWindowTarget: 6_400 }
    for (const [auto, jobs] of [
      [false, 0],
      [true, 1],
    ] as const) {
      const request = await store.prepareRequest('s', { ...of6400, auto })
      expect(request.auto).toBe(auto)
      expect(request.stats.usageRatio).toBeGreaterThan(0.7)
      await store.jobs.whenIdle()
      expect(await store.jobs.list('s')).toHaveLength(jobs)
      await store.recordResponse('s', { request, messages: [say('assistant', 'Yes.')] })
      await store.jobs.whenIdle()
      expect(await store.jobs.list('s')).toHaveLength(jobs)
    }
  })

  it('may be recorded with a request that was JSON meanwhile', async () => {
    const request = await store.prepareRequest('s', { prompt: 'x', maxOutputTokens: 100, threshold: 0.5 })
    const { stats } = await store.recordResponse('s', {
      request: JSON.parse(JSON.stringify(request)),
      messages: [say('assistant', 'y')],
    })
    expect(stats).toMatchObject({ threshold: 0.5, outputReserve: { tokens: 100, source: 'maxOutputTokens' } })
  })
})

describe('provider and model of a session', () => {
  const names = async (id: string): Promise<unknown> => {
    const { provider = null, model = null } = await store.sessions.get(id)
    return { provider, model }
  }
  const answer = { messages: [say('assistant', 'Yes.')] }

  it('are those of its first request, also where the answer creates it; its usage counts', async () => {
    const request = await store.prepareRequest('s', {
      ...{ provider: 'anthropic', model: 'claude-sonnet-4-5', prompt: 'Hi', system: 'Be brief.' },
    })
    const { usage } = await store.recordResponse('s', { ...answer, request, usage: { inputTokens: 50 } })
    expect(usage!.recorded).toBe(true)
    expect(await names('s')).toEqual({ provider: 'anthropic', model: 'claude-sonnet-4-5' })
    expect(await store.getContextStats('s')).toMatchObject({
      provider: 'anthropic',
      model: 'claude-sonnet-4-5',
      measured: { inputTokens: 50, isCurrent: true },
    })
    expect((await store.sessions.verify('s')).findings).toEqual([])
  })

  it('are stored by prepareRequest, and by recordResponse alone', async () => {
    await store.append('s', [say('user', 'Hi')])
    const { viewEpoch } = await store.prepareRequest('s', { provider: 'google-ai', model: 'gemini-2.5-pro' })
    expect(await names('s')).toEqual({ provider: 'google-ai', model: 'gemini-2.5-pro' })
    expect(viewEpoch).toBe((await store.sessions.get('s')).viewEpoch)
    await store.recordResponse('t', { ...answer, provider: 'openai', model: 'gpt-4o' })
    expect(await names('t')).toEqual({ provider: 'openai', model: 'gpt-4o' })
  })

  it('stay when a request is of another model; a model alone completes its provider', async () => {
    await store.sessions.create({ id: 's', provider: 'openai' })
    await store.append('s', [say('user', 'Hi')])
    await store.prepareRequest('s', { provider: 'anthropic', model: 'claude-haiku-4-5' })
    expect(await names('s')).toEqual({ provider: 'openai', model: null })
    await store.prepareRequest('s', { provider: 'OpenAI', model: 'gpt-4o' })
    expect(await names('s')).toEqual({ provider: 'openai', model: 'gpt-4o' })
    await store.prepareRequest('s', { provider: 'openai', model: 'gpt-4o-mini' })
    expect(await names('s')).toEqual({ provider: 'openai', model: 'gpt-4o' })
  })

  it('are not stored where no call named them', async () => {
    const request = await store.prepareRequest('s', { prompt: 'Hi' })
    await store.recordResponse('s', { ...answer, request })
    expect(await names('s')).toEqual({ provider: null, model: null })
  })
})
