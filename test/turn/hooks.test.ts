import { beforeEach, describe, expect, it } from 'vitest'
import {
  type AfterTurnOptions,
  afterTurn,
  type BeforeTurnOptions,
  beforeTurn,
  everyNTurns,
  not,
  onTokenThreshold,
  PersistentContext,
  SystemInjector,
} from '../../src/compat/index.ts'
import { openStore, type Store, type StoreEvents, type Summarizer } from '../../src/index.ts'
import { Events } from '../../src/store/events.ts'
import { Warnings } from '../../src/store/requests/warnings.ts'
import { call, chat, say, units } from '../support/conversation.ts'
import { CANARY, expectFailure, failureOf } from '../support/failures.ts'

let store: Store
let warnings: StoreEvents['contextWarning'][]
let heard: string[]
beforeEach(async () => {
  // 10 tokens a message and a fourth of its characters.
  store = await openStore(':memory:', { estimator: 'nca' })
  warnings = []
  heard = []
  store.on('contextWarning', (warning) => {
    warnings.push(warning)
    heard.push(`warning ${warning.level}`)
  })
  store.on('compaction', ({ phase }) => {
    heard.push(phase)
  })
  store.on('turnComplete', () => {
    heard.push('complete')
  })
  return () => store.close()
})

const spy = (answers: readonly (string | Error)[] = []): Summarizer & { calls: number } => ({
  name: 'spy',
  usesModel: true,
  calls: 0,
  async summarize() {
    const answer = answers[this.calls] ?? 'So far.'
    this.calls += 1
    if (answer instanceof Error) throw answer
    return { text: answer }
  },
})
const SUMMARIZE = { enablePrune: false, enableDeduplicate: false, keepRecentTokens: 0 } as const
/** Six messages of so many tokens. */
const three = (tokens: number) => chat(3, tokens - 10)

describe('before a turn', () => {
  const of1000: BeforeTurnOptions = { contextWindowTarget: 1_000, auto: false }

  it('reports how full the context is, and does nothing to a session that has room', async () => {
    await store.append('s', three(50))
    const turn = await beforeTurn(store, 's', { maxOutputTokens: 127_400 })
    // 6 × 50 of 600.
    expect(turn.usage).toEqual({ tokens: 300, availableTokens: 600, ratio: 0.5, percent: 50 })
    expect(turn).toMatchObject({
      sessionId: 's',
      compacted: false,
      tokensBefore: 300,
      tokensAfter: 300,
      run: null,
      warning: null,
      injected: [],
      stats: { estimatedInputTokens: 300 },
    })
    expect('systemPrompt' in turn).toBe(false)
    expect(heard).toEqual([])
  })

  it('returns for a session without messages, and for an unknown one', async () => {
    await store.sessions.create({ id: 'empty' })
    for (const id of ['empty', 'unknown']) {
      const turn = await beforeTurn(store, id, { system: 'Be brief.' })
      expect(turn).toMatchObject({ usage: null, stats: null, tokensBefore: 0, systemPrompt: 'Be brief.' })
    }
  })

  it('warns once per crossing, of the highest level reached, and again after usage fell', async () => {
    const add = async (tokens: number): Promise<number | undefined> => {
      await store.append('s', [say('user', 'x'.repeat(4 * (tokens - 10)))])
      return (await beforeTurn(store, 's', of1000)).warning?.level
    }
    expect(await add(599)).toBeUndefined()
    await store.sessions.purge('s')
    expect(await add(600)).toBe(0.6)
    expect(await add(10)).toBeUndefined()
    expect(await add(189)).toBeUndefined()
    expect(await add(10)).toBe(0.8)
    expect(await add(500)).toBeUndefined()
    // Down to 600 of 1,000: the upper level is armed again, the lower is not.
    const ids = (await store.getMessages('s')).map(({ id }) => id)
    const hidden = await store.compactions.hide('s', ids.slice(1))
    expect((await beforeTurn(store, 's', of1000)).warning).toBeNull()
    await store.undoCompaction('s', hidden.id)
    expect((await beforeTurn(store, 's', of1000)).warning?.level).toBe(0.8)
    // And a new session that jumps over both hears of the upper one.
    await store.append('t', [say('user', 'x'.repeat(4 * 990))])
    expect((await beforeTurn(store, 't', of1000)).warning).toEqual({
      sessionId: 't',
      level: 0.8,
      percent: 100,
      tokens: 1_000,
      availableTokens: 1_000,
    })
    expect(warnings.map(({ level }) => level)).toEqual([0.6, 0.8, 0.8, 0.8])
  })

  it('warns at the levels it is given', async () => {
    await store.append('s', three(50))
    expect((await beforeTurn(store, 's', { ...of1000, warningLevels: [] })).warning).toBeNull()
    expect((await beforeTurn(store, 's', { ...of1000, warningLevels: [0.9, 0.3, 0.1] })).warning?.level).toBe(
      0.3,
    )
  })

  it('compacts when that is due, before the request goes out', async () => {
    await store.append('s', [say('system', 'Rules.'), ...chat(20, 40)])
    const summarizer = spy()
    const compaction = { ...SUMMARIZE, summarizer }
    const due = { contextWindowTarget: 2_100, warningLevels: [0.8], compaction }
    const idle = await beforeTurn(store, 's', { ...due, threshold: 1 })
    const off = await beforeTurn(store, 's', { ...due, threshold: 0.5, auto: false })
    expect([idle.compacted, off.compacted, summarizer.calls]).toEqual([false, false, 0])

    const turn = await beforeTurn(store, 's', { ...due, threshold: 0.9 })
    // 11.5 for the system message, 40 × 50, and a character more in each of the last 22.
    expect(turn.tokensBefore).toBe(2_017)
    expect([turn.compacted, summarizer.calls]).toEqual([true, 1])
    expect(turn.tokensAfter).toBe(turn.stats!.estimatedInputTokens)
    expect(turn.run).toMatchObject({
      tokensBefore: 2_017,
      tokensAfter: turn.tokensAfter,
      targetTokens: 840,
    })
    expect(heard).toEqual(['warning 0.8', 'started', 'stage', 'completed'])
    const [compaction1] = await store.listCompactions('s')
    expect(compaction1!.trigger).toBe('auto')
    // System messages stay at the start.
    expect((await store.getEffectiveHistory('s'))[0]).toMatchObject({ role: 'system', content: 'Rules.' })
    // It fell below the level, so the level is armed.
    await store.undoCompaction('s', turn.run!.runId)
    expect((await beforeTurn(store, 's', { ...due, auto: false })).warning?.level).toBe(0.8)
  })

  it('is due at 0.8 of the available input', async () => {
    await store.append('s', [...three(100), say('user', units(189))])
    const available = { compaction: SUMMARIZE, maxOutputTokens: 127_000 }
    // 600 + 199 of 1,000.
    expect((await beforeTurn(store, 's', available)).compacted).toBe(false)
    await store.append('s', [say('assistant', '')])
    const turn = await beforeTurn(store, 's', available)
    expect(turn.tokensBefore).toBe(809)
    expect(turn.compacted).toBe(true)
  })

  it('places sections and injected texts in the system prompt of this one request', async () => {
    await store.append('s', three(100))
    const persistentContext = new PersistentContext().addSection({
      label: 'Role',
      content: 'Engineer.',
      priority: 0,
    })
    const injector = new SystemInjector()
      .addRule(everyNTurns(5), 'Keep it short.')
      .addRule(onTokenThreshold(600), 'Context is long.')
    const dump = await store.getMessages('s')
    const options = { system: 'Be kind.', persistentContext, injector }
    const fifth = await beforeTurn(store, 's', { ...options, turnNumber: 5 })
    expect(fifth.systemPrompt).toBe('Be kind.\n\n## Role\nEngineer.\n\nKeep it short.\n\nContext is long.')
    expect(fifth.injected).toEqual(['Keep it short.', 'Context is long.'])
    // It counts: 10, and a fourth of 8 + 17 + 14 + 16 characters and three times two breaks, rounded down.
    expect(fifth.stats!.breakdown.systemPrompt).toBe(10 + 15)
    const sixth = await beforeTurn(store, 's', { ...options, turnNumber: 6 })
    expect(sixth.injected).toEqual(['Context is long.'])
    expect(await store.getMessages('s')).toEqual(dump)
    expect(await beforeTurn(store, 's', { persistentContext: new PersistentContext() })).not.toHaveProperty(
      'systemPrompt',
    )
    expect((await beforeTurn(store, 'none', { injector, turnNumber: 5 })).systemPrompt).toBe('Keep it short.')
  })

  it('injects for the request that goes out, not for the one that was too long', async () => {
    await store.append('s', chat(20, 40))
    const injector = new SystemInjector()
      .addRule(onTokenThreshold(1_500), 'Context is long.')
      .addRule(not(onTokenThreshold(1_500)), 'There is room.')
    const turn = await beforeTurn(store, 's', {
      injector,
      turnNumber: 1,
      contextWindowTarget: 2_000,
      compaction: { ...SUMMARIZE, summarizer: spy() },
    })
    expect(turn.compacted).toBe(true)
    expect(turn.injected).toEqual(['There is room.'])
    expect(turn.tokensAfter).toBe(turn.stats!.estimatedInputTokens)
  })
})

describe('both hooks, turn by turn', () => {
  it('warn once per crossing, though what is sent besides the history is seen before a turn alone', async () => {
    const persistentContext = new PersistentContext().addSection({
      label: 'Rules',
      content: units(560),
      priority: 0,
    })
    const options = { contextWindowTarget: 1_000, auto: false }
    for (let turnNumber = 1; turnNumber <= 6; turnNumber++) {
      await store.append('s', [say('user', units(5))])
      await beforeTurn(store, 's', { ...options, persistentContext })
      // Other levels, and none, forget nothing.
      await beforeTurn(store, 's', { ...options, persistentContext, warningLevels: [] })
      await afterTurn(store, 's', { ...options, messages: [say('assistant', units(5))] })
    }
    expect(heard.filter((event) => event.startsWith('warning'))).toHaveLength(1)
  })
})

describe('after a turn', () => {
  const of1000: AfterTurnOptions = { contextWindowTarget: 1_000 }

  it('appends the answer and reports that it was final', async () => {
    const complete: unknown[] = []
    store.on('turnComplete', (event) => {
      complete.push(event)
    })
    await store.append('s', [say('user', 'Hello?')])
    const turn = await afterTurn(store, 's', {
      messages: [say('assistant', 'Hello.')],
      stopReason: 'end_turn',
    })
    expect(turn).toMatchObject({ next: 'final', final: true, compacted: false, run: null })
    expect(complete).toEqual([{ sessionId: 's', position: 2, stopReason: 'end_turn' }])
    expect(await store.getEffectiveHistory('s')).toMatchObject([{ role: 'user' }, { content: 'Hello.' }])
    await afterTurn(store, 's')
    expect(complete[1]).toEqual({ sessionId: 's', position: 2 })
  })

  it.each(['compaction', 'pause', 'pause_turn'])(
    'continues after the stop reason %s: the message is in the history, and no turn is complete',
    async (stopReason) => {
      await store.append('s', three(200))
      const block = {
        type: 'provider',
        provider: 'anthropic',
        data: { type: 'compaction', content: 'So far.' },
      } as const
      const turn = await afterTurn(store, 's', {
        ...of1000,
        messages: [{ role: 'assistant', content: [block] }],
        stopReason,
      })
      expect(turn).toMatchObject({ next: 'continue', final: false, compacted: false })
      expect(turn.appended).toMatchObject({ providerCompaction: { recorded: true } })
      expect(heard).toEqual(['recorded'])
      // The block stands for what was before it, by a compaction of the provider's own.
      expect((await store.getEffectiveHistory('s'))[0]).toMatchObject({ kind: 'summary', content: [block] })
      expect((await store.listCompactions('s')).map(({ kind }) => kind)).toEqual(['provider'])
      expect((await store.getMessages('s')).findLast(({ kind }) => kind === 'message')).toMatchObject({
        content: [block],
      })
    },
  )

  it.each(['tool_use', 'tool_calls', 'tool-calls'])('waits for tools after %s', async (stopReason) => {
    await store.append('s', three(200))
    const turn = await afterTurn(store, 's', { ...of1000, messages: [call('c', 'read')], stopReason })
    expect(turn).toMatchObject({ next: 'tools', final: false, compacted: false })
    expect(heard).toEqual([])
  })

  it.each(['stop', 'length', 'max_tokens', 'refusal', 'constructor', ''])(
    'is final after "%s"',
    async (stopReason) => {
      await store.append('s', three(20))
      expect((await afterTurn(store, 's', { stopReason })).next).toBe('final')
      expect(heard).toEqual(['complete'])
    },
  )

  it('summarizes at 75 percent, by asking the model once', async () => {
    const summarizer = spy()
    const options = { ...of1000, threshold: 0.75, compaction: { ...SUMMARIZE, summarizer } }
    await store.append('s', three(100))
    expect(
      (await afterTurn(store, 's', { ...options, messages: [say('assistant', units(139))] })).compacted,
    ).toBe(false)
    heard = []
    const turn = await afterTurn(store, 's', { ...options, messages: [say('assistant', units(0).padEnd(4))] })
    // 749 and 11.
    expect(turn).toMatchObject({ tokensBefore: 760, compacted: true, final: true })
    expect(summarizer.calls).toBe(1)
    expect(heard).toEqual(['complete', 'started', 'stage', 'completed'])
    const off = await afterTurn(store, 's', { ...options, auto: false, threshold: 0 })
    expect(off.compacted).toBe(false)
  })

  it('falls back when the model fails, and the event reports it', async () => {
    const summarizer = spy([new Error(CANARY)])
    const ends: unknown[] = []
    store.on('compaction', (event) => {
      ends.push(event)
    })
    await store.append('s', chat(20, 40))
    const turn = await afterTurn(store, 's', { ...of1000, compaction: { ...SUMMARIZE, summarizer } })
    expect(turn.compacted).toBe(true)
    expect(turn.run).toMatchObject({ stagesUsed: ['truncate'], failed: [{ status: 'failed' }] })
    expect(ends.at(-1)).toMatchObject({ phase: 'completed', fallback: 'truncate', failedSummaries: 1 })
    expect(JSON.stringify(ends)).not.toContain(CANARY)
    const stored = await store.getMessages('s')
    expect(stored.filter(({ kind }) => kind === 'message')).toHaveLength(40)
    expect((await store.getEffectiveHistory('s')).length).toBeLessThan(40)
  })

  it('makes a second summary when usage reaches the threshold again', async () => {
    const summarizer = spy(['The first.', 'The second.'])
    const options = { ...of1000, compaction: { ...SUMMARIZE, summarizer, target: 0.5 } }
    await store.append('s', three(110))
    const first = await afterTurn(store, 's', { ...options, messages: three(40) })
    await store.append('s', three(60))
    const between = await afterTurn(store, 's', options)
    const second = await afterTurn(store, 's', { ...options, messages: three(60) })
    expect([first.compacted, between.compacted, second.compacted]).toEqual([true, false, true])
    // It stays above what was left after the first, and is summarized all the same.
    expect(between.tokensBefore).toBeGreaterThan(first.tokensAfter)
    expect(summarizer.calls).toBe(2)
    const view = await store.getEffectiveHistory('s')
    expect(view.filter(({ kind }) => kind === 'summary').map(({ content }) => content)).toEqual([
      'The second.',
    ])
  })

  it('leaves what was appended when the compaction is refused', async () => {
    await store.append('s', three(200))
    const signal = AbortSignal.abort()
    const options = { ...of1000, messages: [say('assistant', 'Done.')], compaction: { ...SUMMARIZE, signal } }
    expectFailure(await failureOf(() => afterTurn(store, 's', options)), 'ABORTED')
    expect((await store.sessions.get('s')).messageCount).toBe(7)
  })
})

it('tells an application of both moments, in order', async () => {
  await store.append('s', chat(20, 40))
  const options = { contextWindowTarget: 2_500, compaction: { ...SUMMARIZE, summarizer: spy() } }
  await beforeTurn(store, 's', options)
  await afterTurn(store, 's', { ...options, messages: [say('assistant', 'Done.')], stopReason: 'stop' })
  expect(heard).toEqual(['warning 0.8', 'started', 'stage', 'completed', 'complete'])
})

describe('bad options', () => {
  const injector = new SystemInjector()
  it.each<[string, object]>([
    ['a misspelled option', { treshold: 0.5 }],
    ['a threshold above 1', { threshold: 1.1 }],
    ['a level of 0', { warningLevels: [0] }],
    ['a level above 1', { warningLevels: [80] }],
    ['a contextWindowTarget of -1', { contextWindowTarget: -1 }],
    ['an injector without a turn', { injector }],
    ['an injector that is none', { injector: {}, turnNumber: 1 }],
    ['sections that are none', { persistentContext: {} }],
    ['a turn below 0', { injector, turnNumber: -1 }],
    ['a misspelled setting of the compaction', { compaction: { enablePrunes: true } }],
  ])('refuses %s before a turn', async (what, options) => {
    expectFailure(await failureOf(() => beforeTurn(store, 's', options)), 'INVALID_INPUT', what)
  })

  it.each<[string, object]>([
    ['a stop reason that is a number', { stopReason: 5 }],
    ['messages that are none', { messages: say('assistant', 'x') }],
    ['messages that cannot be', { messages: [{ role: 'robot', content: '' }] }],
    ['warnings', { warningLevels: [0.5] }],
  ])('refuses %s after a turn', async (what, options) => {
    expectFailure(await failureOf(() => afterTurn(store, 's', options as never)), 'INVALID_INPUT', what)
  })
})

it('remembers the crossings of no more than 10,000 sessions', () => {
  const some = new Warnings(new Events())
  for (let session = 0; session <= 10_000; session++) expect(some.crossed(`${session}`, 0.7, [0.6])).toBe(0.6)
  expect(some.crossed('10000', 0.7, [0.6])).toBeUndefined()
  expect(some.crossed('1', 0.7, [0.6])).toBeUndefined()
  expect(some.crossed('0', 0.7, [0.6])).toBe(0.6)
})
