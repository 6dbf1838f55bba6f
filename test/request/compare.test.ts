import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { effectsOf } from '../../src/core/model/compaction-events.ts'
import { type NewMessage, openStore, type PrepareRequestOptions, type Store } from '../../src/index.ts'
import { call, result, say } from '../support/conversation.ts'
import { expectFailure, failureOf } from '../support/failures.ts'

const CLAUDE = { provider: 'anthropic', model: 'claude-sonnet-4-5' } as const
const TOOLS = [{ name: 'read', input_schema: { type: 'object' } }]
const START = Date.parse('2026-11-29T12:00:00Z')
/** Less than the shortest lifetime of a cache, and more. */
const SOON = 4 * 60_000
const LATE = 6 * 60_000

let store: Store
beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: START })
  store = await openStore(':memory:', { estimator: 'neurolink', env: false })
})
afterEach(async () => {
  await store.close()
  vi.useRealTimers()
})

type Cached = readonly [inputTokens: number, cacheReadTokens: number, cacheCreationTokens: number]

/** Asks and records the answer; returns the id of the request. */
async function ask(
  prompt: string | NewMessage,
  cached?: Cached,
  options: PrepareRequestOptions = {},
  answer: NewMessage = say('assistant', 'Yes.'),
): Promise<string> {
  const prompts = typeof prompt === 'string' && prompt === '' ? {} : { prompt }
  const request = await store.prepareRequest('s', {
    ...CLAUDE,
    system: 'Be brief.',
    tools: TOOLS,
    ...prompts,
    ...options,
  })
  const [inputTokens, cacheReadTokens, cacheCreationTokens] = cached ?? []
  const { requestId } = await store.recordResponse('s', {
    request,
    messages: [answer],
    ...(inputTokens !== undefined && {
      usage: { inputTokens, cacheReadTokens, cacheCreationTokens, outputTokens: 100 },
    }),
  })
  return requestId!
}

const compare = (id: string, earlier?: string) =>
  store.requests.compare('s', id, earlier === undefined ? {} : { with: earlier })

/** The comparison of a request with the one before it, which must exist. */
async function compared(id: string) {
  const found = await compare(id)
  if (found.before === undefined) throw new Error('there is no request before')
  return found
}

describe('the cost of a recorded request', () => {
  it('is that of its tokens by list prices', async () => {
    const id = await ask('Hi', [1_000, 10_000, 2_000])
    // Dollars per million: input 3, read 0.30, written 3.75, output 15: 3,000 + 3,000 + 7,500 + 1,500.
    expect((await store.requests.get('s', id)).cost).toBeCloseTo(0.015, 9)
    expect((await store.requests.list('s'))[0]!.cost).toBeCloseTo(0.015, 9)
  })

  it('is null for a model without a price, and absent without usage', async () => {
    const unpriced = await ask('Hi', [1_000, 0, 0], { provider: 'mine', model: 'mine-1' })
    const unreported = await ask('Hi')
    expect((await store.requests.get('s', unpriced)).cost).toBeNull()
    expect(await store.requests.get('s', unreported)).not.toHaveProperty('cost')
    const [one, other] = await store.requests.list('s')
    expect(one).toHaveProperty('cost', null)
    expect(other).not.toHaveProperty('cost')
  })
})

describe('a comparison of requests', () => {
  it('of the first one says that it is the first', async () => {
    const id = await ask('Hi', [10, 0, 0])
    expect(await compare(id)).toEqual({ request: id, causes: ['first'] })
  })

  it('names no cause if the request continues the one before and its cache was read', async () => {
    const before = await ask('Hi', [10, 0, 5_000])
    vi.setSystemTime(START + LATE)
    const request = await ask('On', [10, 5_000, 20])
    const found = await compared(request)
    // `[{"name":"read","input_schema":{"type":"object"}}]`, `"Be brief."` and the first prompt, each with its end.
    const shared = 51 + 12 + '{"role":"user","content":[{"type":"text","text":"Hi"}]}\n'.length
    const added =
      '{"role":"assistant","content":[{"type":"text","text":"Yes."}]}\n{"role":"user","content":[{"type":"text","text":"On"}]}\n'
    expect(found).toEqual({
      request,
      before,
      length: { before: shared, after: shared + added.length, shared },
      messages: { same: 1, before: 1, after: 3 },
      matches: true,
      causes: [],
      compactionIds: [],
      elapsedMs: LATE,
    })
  })

  it('names tools and system prompt, and what was lost', async () => {
    await ask('Hi', [10, 0, 5_000])
    const tools = [{ name: 'find', input_schema: { type: 'object' } }]
    const found = await compared(await ask('On', [10, 0, 5_020], { system: 'Be long.', tools }))
    expect(found).toMatchObject({
      causes: ['tools', 'system'],
      // `[{"name":"`
      firstChanged: { part: 'tools', offset: 10 },
      length: { shared: 10 },
      messages: { same: 1 },
      lost: { tokens: 5_000 },
    })
    // Written again at 3.75 instead of read at 0.30 dollars per million.
    expect(found.lost!.cost).toBeCloseTo((5_000 * 3.45) / 1e6, 9)
  })

  it('does not count prompt cache marks and tools that are loaded later', async () => {
    const marked = { anthropic: { cacheControl: { type: 'ephemeral' } } }
    const hello = (options: object): NewMessage => ({
      role: 'user',
      content: [{ type: 'text', text: 'Hi', ...options }],
    })
    await ask(hello({ providerOptions: marked }), [10, 0, 5_000])
    const tools = [
      { ...TOOLS[0], cache_control: { type: 'ephemeral' } },
      { name: 'later', input_schema: {}, defer_loading: true },
    ]
    expect(await compared(await ask('On', [10, 5_000, 0], { tools }))).toMatchObject({ causes: [] })
  })

  it('names another model, whose cache is another one', async () => {
    await ask('Hi', [10, 0, 5_000])
    const found = await compared(await ask('On', [10, 0, 5_020], { model: 'claude-opus-4-8' }))
    expect(found).toMatchObject({ causes: ['model'], lost: { tokens: 5_000 } })
    expect(found).not.toHaveProperty('firstChanged')
  })

  it('names a compaction, its undo and its redo, with its id', async () => {
    for (const turn of ['one', 'two', 'three']) await ask(turn, [10, 0, 5_000])
    const run = await store.compactSession('s', { range: { from: 1, to: 4 }, summary: 'They spoke.' })
    const compactionIds = run!.compactions.map(({ id }) => id)
    const after = await compared(await ask('four', [10, 300, 600]))
    expect(after).toMatchObject({
      causes: ['compaction'],
      compactionIds,
      firstChanged: { part: 'messages', message: 0 },
      messages: { same: 0, before: 5 },
      // 910 tokens were sent, of which 300 were read.
      lost: { tokens: 610 },
    })
    expect(after.firstChanged!.after).toContain('They spoke.')
    await store.undoCompaction('s', run!.runId!)
    expect(await compared(await ask('five'))).toMatchObject({ causes: ['undo'], compactionIds })
    await store.redoCompaction('s', run!.runId!)
    expect(await compared(await ask('six'))).toMatchObject({ causes: ['compaction'], compactionIds })
  })

  it('names no compaction that was undone in between, and none that changed only what came later', async () => {
    await store.append('s', [say('user', 'one'), say('assistant', 'Yes.')])
    await ask('two', [10, 0, 5_000])
    const run = await store.compactSession('s', { range: { from: 1, to: 2 }, summary: 'They spoke.' })
    await store.undoCompaction('s', run!.runId!)
    const compactionIds = run!.compactions.map(({ id }) => id)
    const found = await compared(await ask('three', [10, 5_000, 20]))
    expect(found).toMatchObject({ causes: [], compactionIds })
    await store.append('s', [say('user', 'four'), say('assistant', 'Yes.')])
    await store.compactSession('s', { range: { from: 7, to: 8 }, summary: 'On.' })
    expect(await compared(await ask('five', [10, 5_020, 20]))).toMatchObject({ causes: [] })
  })

  it('names a rewind, and not the compactions that it undid', async () => {
    for (const turn of ['one', 'two', 'three']) await ask(turn, [10, 0, 5_000])
    await store.compactSession('s', { range: { from: 1, to: 4 }, summary: 'They spoke.' })
    await ask('four', [10, 0, 5_000])
    const [, , second] = await store.getMessages('s')
    const rewound = await store.rewind('s', { from: { beforeMessage: second!.id } })
    const found = await compared(await ask('five'))
    expect(found.causes).toEqual(['rewind'])
    expect(found.compactionIds.length).toBe(2)
    expect(found.compactionIds).toContain(rewound.compactionId)
  })

  it('names the rendering if a summary is shown with another role', async () => {
    await ask('one', [10, 0, 5_000])
    await ask('two', [10, 0, 5_000])
    await store.compactSession('s', { range: { from: 1, to: 2 }, summary: 'They spoke.' })
    await ask('three', [10, 0, 5_000])
    expect(await compared(await ask('four', [10, 0, 5_000], { summaryHeader: 'Before: ' }))).toMatchObject({
      causes: ['rendering'],
      firstChanged: { part: 'messages', message: 0 },
    })
  })

  it('names a change if the result of an open call takes the place of its placeholder', async () => {
    await ask('one', [10, 0, 5_000], {}, call('c1', 'read', { path: 'a' }))
    await ask('', [10, 0, 5_000])
    await store.append('s', [result('c1', 'the text', 'read')])
    expect(await compared(await ask('two', [10, 0, 5_000]))).toMatchObject({
      causes: ['changed'],
      firstChanged: { part: 'messages', message: 2 },
    })
  })

  it('sees an addition where the next message is merged with the last one', async () => {
    const request = await store.prepareRequest('s', { ...CLAUDE, prompt: 'one' })
    await store.append('s', [say('user', 'one')])
    const { requestId } = await store.requests.recordUsage('s', { ...CLAUDE, inputTokens: 10, request })
    const found = await compared(await ask('two', [10, 0, 0], { system: undefined, tools: undefined }))
    expect(found.before).toBe(requestId)
    // The answer of the first request failed, so both prompts are one message.
    expect(found).toMatchObject({ causes: [], messages: { same: 0, before: 1, after: 1 } })
    expect(found.length.shared).toBe(found.length.before)
  })

  it('names the time if nothing changed, and the cache may have expired', async () => {
    await ask('one', [10, 0, 5_000])
    vi.setSystemTime(START + SOON)
    expect(await compared(await ask('two', [10, 0, 5_020]))).toMatchObject({
      causes: ['unknown'],
      elapsedMs: SOON,
      lost: { tokens: 5_000 },
    })
    vi.setSystemTime(START + SOON + LATE)
    expect(await compared(await ask('three', [10, 0, 5_040]))).toMatchObject({
      causes: ['expired'],
      elapsedMs: LATE,
    })
  })

  it('names a change, not the time, if what was sent is not known', async () => {
    await ask('one', [10, 0, 5_000])
    const request = await store.prepareRequest('s', {
      ...CLAUDE,
      system: 'Be brief.',
      tools: TOOLS,
      prompt: 'two',
    })
    // The application sends other messages than those that it was given.
    const messages = [say('user', 'And now?'), ...request.messages]
    vi.setSystemTime(START + LATE)
    const { requestId } = await store.recordResponse('s', {
      request: { ...request, messages },
      messages: [say('assistant', 'Yes.')],
      usage: { inputTokens: 10, cacheReadTokens: 0, cacheCreationTokens: 5_000, outputTokens: 1 },
    })
    const found = await compared(requestId!)
    expect(found).toMatchObject({ matches: false, causes: ['changed'], lost: { tokens: 5_000 } })
    expect(found).not.toHaveProperty('firstChanged')
  })

  it('of redacted requests names the time, because they differ at most in what was redacted', async () => {
    await store.close()
    store = await openStore(':memory:', {
      estimator: 'neurolink',
      env: false,
      redact: (text) => text.replaceAll('1234', '#'),
    })
    await ask('PIN 1234', [10, 0, 5_000])
    vi.setSystemTime(START + LATE)
    const found = await compared(await ask('PIN 1234 again', [10, 0, 5_020]))
    expect(found).toMatchObject({ matches: false, causes: ['expired'] })
    expect(JSON.stringify(found)).not.toContain('1234')
  })

  it('takes any earlier request of the session, and no later or unknown one', async () => {
    const one = await ask('one', [10, 0, 5_000])
    await ask('two', [10, 5_000, 0], { system: 'Be long.' })
    const three = await ask('three', [10, 5_000, 0])
    expect(await compare(three, one)).toMatchObject({ before: one, causes: [] })
    expect(await compare(three)).toMatchObject({ causes: ['system'] })
    expectFailure(await failureOf(() => compare(one, three)), 'INVALID_INPUT')
    expectFailure(await failureOf(() => compare(one, one)), 'INVALID_INPUT')
    expectFailure(await failureOf(() => compare('none')), 'REQUEST_NOT_FOUND')
    expectFailure(await failureOf(() => compare(one, 'none')), 'REQUEST_NOT_FOUND')
  })
})

it('the effects of events are the compactions whose state differs afterwards', () => {
  const event = (id: string, name: 'created' | 'undone' | 'redone', more: object = {}) => ({
    ...{ id, event: name, isPreview: false, isRewind: false, isConsequence: false },
    ...more,
  })
  expect(effectsOf([])).toEqual({ compactionIds: [], causes: [] })
  expect(effectsOf([event('a', 'created', { isPreview: true }), event('b', 'created')])).toEqual({
    compactionIds: ['b'],
    causes: ['compaction'],
  })
  expect(effectsOf([event('a', 'undone'), event('a', 'redone')])).toEqual({
    compactionIds: ['a'],
    causes: [],
  })
  const rewound = [event('a', 'undone', { isConsequence: true }), event('r', 'created', { isRewind: true })]
  expect(effectsOf(rewound)).toEqual({ compactionIds: ['a', 'r'], causes: ['rewind'] })
  expect(effectsOf([event('b', 'undone'), event('c', 'created')])).toEqual({
    compactionIds: ['b', 'c'],
    causes: ['compaction', 'undo'],
  })
})
