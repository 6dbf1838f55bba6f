import { OpenAIResponsesCompactionSession } from '@openai/agents'
import { beforeEach, describe, expect, it } from 'vitest'
import { UndertextSession } from '../../src/adapters/openai-agents/index.ts'
import { dropReasoning } from '../../src/compat/arrays/index.ts'
import { openStore, type Store } from '../../src/index.ts'
import { failureOf, refuses } from '../support/failures.ts'
import { answer, call, result, said } from './session-contract.ts'

let store: Store
let session: UndertextSession
beforeEach(async () => {
  store = await openStore(':memory:')
  session = new UndertextSession({ store, sessionId: 's', actor: 'tests' })
  return () => store.close()
})

const turn = [said('Read it.'), call('c'), result('c', 'text'), answer('Done.')]
/** The newest compaction. */
const newest = async () => (await store.listCompactions('s')).at(-1)!

describe('nothing is destroyed', () => {
  it('a popped item is hidden, and comes back', async () => {
    await session.addItems(turn)
    await session.popItem()
    const { id, kind, actor, reason, rowsHidden } = await newest()
    expect([kind, actor, reason, rowsHidden]).toEqual(['manual', 'tests', 'openai-agents: popItem', 1])
    expect(await store.getMessages('s')).toHaveLength(4)
    await store.undoCompaction('s', id, { both: true })
    expect(await session.getItems()).toEqual(turn)
  })

  it('a cleared session comes back to the byte', async () => {
    await session.addItems(turn)
    const before = JSON.stringify(await session.getItems())
    await session.clearSession()
    await store.undoCompaction('s', (await newest()).id, { both: true })
    expect(JSON.stringify(await session.getItems())).toBe(before)
  })

  it('a changed call is one row more, and the first is there', async () => {
    await session.addItems(turn)
    const replacement = call('c', '{"other":true}')
    await session.applyHistoryMutations({
      mutations: [{ type: 'replace_function_call', callId: 'c', replacement }],
    })
    // The call, its result and the answer are said again.
    expect((await store.getMessages('s')).map(({ hidden }) => hidden)).toEqual([
      false,
      true,
      true,
      true,
      false,
      false,
      false,
    ])
    await store.undoCompaction('s', (await newest()).id, { both: true })
  })

  it('a mutation that changes nothing hides nothing', async () => {
    await session.addItems(turn)
    await session.applyHistoryMutations({
      mutations: [{ type: 'replace_function_call', callId: 'c', replacement: call('c') }],
    })
    expect(await store.listCompactions('s')).toEqual([])
  })

  it('a history replaced by a compaction is there beneath it', async () => {
    await session.addItems(turn)
    const compacted = [{ type: 'compaction' as const, encrypted_content: 'gAAA' }, answer('Done.')]
    await session.replaceHistoryWithCompaction(compacted)
    expect(await session.getItems()).toEqual(compacted)
    await store.undoCompaction('s', (await newest()).id, { both: true })
    expect(await session.getItems()).toEqual([...turn, ...compacted])
  })
})

describe('what the store does to a history', () => {
  const long = Array.from({ length: 3_000 }, (_, line) => `line ${line}`).join('\n')

  it('a large output is shown as a preview, and popped, compared and returned in full', async () => {
    const large = result('c', long)
    await session.addItems([said('Read it.'), call('c'), large])
    const [, , shown] = await session.getItems()
    expect(shown).toMatchObject({ type: 'function_call_result', callId: 'c', output: { type: 'text' } })
    expect(JSON.stringify(shown).length).toBeLessThan(long.length)
    const replacement = call('c', '[1]')
    await session.applyHistoryMutations({
      mutations: [{ type: 'replace_function_call', callId: 'c', replacement }],
    })
    expect((await store.getMessages('s')).at(-1)!.content).toEqual((await store.getMessages('s'))[2]!.content)
    expect(await session.getItems()).toEqual([said('Read it.'), replacement, shown])
    await session.applyHistoryTransaction({
      operationId: 'op',
      transaction: { type: 'replace_suffix', expectedSuffix: [large], replacement: [large, answer('Long.')] },
    })
    expect(await session.popItem()).toEqual(answer('Long.'))
    expect(await session.popItem()).toEqual(large)
  })

  it('a summary is a record from the user’s side, and the full view has the messages that it replaces', async () => {
    const talk = Array.from({ length: 12 }, (_, i) =>
      i % 2 === 0 ? said(`Question ${i}`) : answer(`Answer ${i} ${'word '.repeat(150)}`),
    )
    await session.addItems(talk)
    const { compacted } = (await store.compactSession('s', {
      targetTokens: 700,
      summarizer: { name: 'm', usesModel: true, summarize: () => ({ text: 'They talked.' }) },
      stages: ['summarize'],
    }))!
    expect(compacted).toBe(true)
    const items = await session.getItems()
    expect(items.length).toBeLessThan(12)
    expect(items[0]).toMatchObject({
      type: 'message',
      role: 'user',
      content: expect.stringContaining('They talked.'),
    })
    expect(items.at(-1)).toEqual(talk.at(-1))
    expect(await session.getItems(2)).toEqual(talk.slice(-2))

    const full = new UndertextSession({ store, sessionId: 's', view: 'full' })
    expect(await full.getItems()).toEqual(talk)
    expect(await full.getItems(3)).toEqual(talk.slice(-3))
    await full.popItem()
    expect(await full.getItems()).toEqual(talk.slice(0, -1))
    // Takes the summary back, and what it stands for with it.
    await full.clearSession()
    expect(await full.getItems()).toEqual([])
    await full.addItems([said('Anew.')])
    expect(await full.getItems()).toEqual([said('Anew.')])

    const asUser = new UndertextSession({
      store,
      sessionId: 's',
      summaryRole: 'user',
      summaryHeader: 'So far:',
    })
    await store.undoCompaction(
      's',
      (await store.listCompactions('s')).find(({ params }) => params.why === 'clearSession')!.id,
      { both: true },
    )
    expect((await asUser.getItems())[0]).toEqual({
      type: 'message',
      role: 'user',
      content: 'So far:\n\nThey talked.',
    })
  })

  it('the full view forgets what was cleared, also what a truncation without a marker had hidden', async () => {
    const talk = Array.from({ length: 12 }, (_, i) =>
      i % 2 === 0 ? said(`Question ${i}`) : answer(`Answer ${i} ${'word '.repeat(150)}`),
    )
    await session.addItems(talk)
    await store.compactSession('s', { targetTokens: 300, stages: ['truncate'] })
    expect((await session.getItems()).length).toBeLessThan(12)
    const full = new UndertextSession({ store, sessionId: 's', view: 'full' })
    expect(await full.getItems()).toEqual(talk)
    await session.clearSession()
    expect(await full.getItems()).toEqual([])
    await store.undoCompaction('s', (await newest()).id, { both: true })
    expect(await full.getItems()).toEqual(talk)
  })

  it('the full view omits cleared items, also a last item that was hidden manually', async () => {
    await session.addItems(turn)
    const last = (await store.getMessages('s')).at(-1)!
    await store.compactions.hide('s', [last.id])
    const full = new UndertextSession({ store, sessionId: 's', view: 'full' })
    expect(await full.getItems()).toEqual(turn)
    await session.clearSession()
    await session.addItems([said('New.')])
    expect(await full.getItems()).toEqual([said('New.')])
    await store.undoCompaction('s', (await newest()).id, { both: true })
    expect(await full.getItems()).toEqual([...turn, said('New.')])
  })

  it('reasoning that was let go is no item, and popping goes past it', async () => {
    await session.addItems([
      said('1'),
      {
        type: 'reasoning',
        content: [{ type: 'input_text', text: 'Hm. '.repeat(50) }],
        providerData: { encrypted_content: 'g'.repeat(400) },
      },
      answer('2'),
      said('3'),
      answer('4'),
    ])
    await store.compactSession('s', { targetTokens: 0, stages: [dropReasoning({ keepTurns: 1 })] })
    expect((await session.getItems()).map(({ type }) => type)).toEqual([
      'message',
      'message',
      'message',
      'message',
    ])
    for (const expected of [answer('4'), said('3'), answer('2'), said('1')])
      expect(await session.popItem()).toEqual(expected)
    expect(await session.popItem()).toBe(undefined)
  })
})

describe('messages of others', () => {
  const mixed = {
    role: 'assistant' as const,
    content: [
      { type: 'text' as const, text: 'Looking.' },
      { type: 'tool-call' as const, toolCallId: 'a', toolName: 'read', input: {} },
      { type: 'tool-call' as const, toolCallId: 'b', toolName: 'list', input: {} },
    ],
  }
  const named = (callId: string, name: string) => ({ ...call(callId), name, status: 'completed' })

  it('limits and pops count items; other content of a row stays', async () => {
    await store.append('s', [{ role: 'user', content: 'Go.' }, mixed])
    expect(await session.getItems(2)).toEqual([named('a', 'read'), named('b', 'list')])
    expect(await session.popItem()).toEqual(named('b', 'list'))
    expect(await session.getItems()).toEqual([said('Go.'), answer('Looking.'), named('a', 'read')])
    await store.undoCompaction('s', (await newest()).id, { both: true })
  })

  it('a suffix may begin, and a call change, within a row', async () => {
    await store.append('s', [
      mixed,
      {
        role: 'tool',
        content: [{ type: 'tool-result', toolCallId: 'b', output: { type: 'text', value: 'a.ts' } }],
      },
    ])
    expect((await session.getItems()).at(-1)).toMatchObject({ callId: 'b', name: 'list', output: 'a.ts' })
    await session.applyHistoryMutations({
      mutations: [{ type: 'replace_function_call', callId: 'a', replacement: call('z') }],
    })
    const after = [answer('Looking.'), call('z'), named('b', 'list')]
    expect((await session.getItems()).slice(0, 3)).toEqual(after)
    expect((await session.getItems()).at(-1)).toMatchObject({ callId: 'b', name: 'list', output: 'a.ts' })
    await session.popItem()
    await session.applyHistoryTransaction({
      operationId: 'op',
      transaction: {
        type: 'replace_suffix',
        expectedSuffix: [call('z'), named('b', 'list') as never],
        replacement: [said('Stop.')],
      },
    })
    expect(await session.getItems()).toEqual([answer('Looking.'), said('Stop.')])
  })
})

describe('compaction', () => {
  const talk = Array.from({ length: 40 }, (_, i) =>
    i % 2 === 0 ? said(`Question ${i}`) : answer(`Answer ${i} ${'x '.repeat(300)}`),
  )
  const compacting = (more: object = {}) =>
    new UndertextSession({
      store,
      sessionId: 's',
      compact: {
        summarizer: {
          name: 'm',
          usesModel: true,
          summarize: () => ({ text: 'They talked.', usage: { inputTokens: 90, outputTokens: 5 } }),
        },
        ...more,
      },
      provider: 'openai',
      model: 'tiny',
    })
  beforeEach(async () => {
    await store.close()
    store = await openStore(':memory:', {
      contextWindows: { openai: { tiny: 4_000 } },
    })
    session = new UndertextSession({ store, sessionId: 's' })
    return () => store.close()
  })

  it("runs when it is due, only for the owner of the history, and reports the model's usage", async () => {
    const session = compacting()
    const { ownership } = await session.getItemsWithCompactionOwnership()
    await session.addItemsWithCompactionOwnership(talk, ownership)
    expect(await session.runCompaction({}, undefined, null)).toBe(null)
    expect(await session.runCompaction({}, undefined, {})).toBe(null)
    expect(await session.getItems()).toHaveLength(40)
    const answered = await session.runCompaction({ responseId: 'r' } as object, undefined, ownership)
    expect(answered!.usage).toMatchObject({ inputTokens: 90, outputTokens: 5, totalTokens: 95 })
    expect((await session.getItems()).length).toBeLessThan(40)
    // The view has changed, so whoever read it before owns it no more.
    expect(await session.runCompaction({ force: true }, undefined, ownership)).toBe(null)
  })

  it('does not run when another writer appended or rewound in between', async () => {
    for (const change of [() => session.addItems([said('x')]), () => session.popItem()]) {
      const mine = compacting()
      await mine.addItems(talk)
      const { ownership } = await mine.getItemsWithCompactionOwnership()
      await change()
      await mine.addItemsWithCompactionOwnership([answer('y')], ownership)
      expect(await mine.runCompaction({}, undefined, ownership)).toBe(null)
    }
  })

  it('is not done when it is not asked for, nor when it is not due, save by force', async () => {
    expect(await session.runCompaction({ force: true })).toBe(null)
    await session.addItems(talk.slice(0, 4))
    expect(await session.runCompaction()).toBe(null)
    expect(await compacting().runCompaction()).toBe(null)
    expect(await store.listCompactions('s')).toEqual([])
  })

  it('an error is reported, and does not fail the turn; a manual run throws it', async () => {
    const told: unknown[] = []
    const broken = new UndertextSession({
      store,
      sessionId: 's',
      compact: { targetTokens: -1 },
      provider: 'openai',
      model: 'tiny',
      onCompactionError: (error) => void told.push(error),
    })
    await broken.addItems(talk)
    const { ownership } = await broken.getItemsWithCompactionOwnership()
    expect(await broken.runCompaction({}, undefined, ownership)).toBe(null)
    expect(told).toMatchObject([{ code: 'INVALID_INPUT' }])
    expect(await failureOf(() => broken.runCompaction())).toMatchObject({ code: 'INVALID_INPUT' })
  })
})

describe("under the SDK's OpenAIResponsesCompactionSession", () => {
  const client = (output: () => unknown) => ({
    responses: { compact: async () => ({ output: output(), usage: undefined }) },
  })

  it('is compacted by it, and nothing is lost', async () => {
    const compacted = [{ type: 'compaction', id: 'cmp_1', encrypted_content: 'gAAA' }]
    const wrapped = new OpenAIResponsesCompactionSession({
      client: client(() => compacted) as never,
      underlyingSession: session,
    })
    await wrapped.addItems(turn)
    await wrapped.runCompaction({ force: true, compactionMode: 'input' })
    expect(await wrapped.getItems()).toEqual(compacted)
    expect(await store.getMessages('s')).toHaveLength(5)
    await store.undoCompaction('s', (await newest()).id, { both: true })
    expect((await session.getItems()).slice(0, 4)).toEqual(turn)
  })

  it('returns its items when the compaction is empty', async () => {
    const wrapped = new OpenAIResponsesCompactionSession({
      client: client(() => [{ type: 'function_call', name: 'no id', arguments: '{}' }]) as never,
      underlyingSession: session,
    })
    await wrapped.addItems(turn)
    await expect(wrapped.runCompaction({ force: true, compactionMode: 'input' })).rejects.toMatchObject({
      code: 'INVALID_INPUT',
    })
    expect(await session.getItems()).toEqual(turn)
  })
})

describe('bad input', () => {
  it('is refused whole, before anything is written', async () => {
    await session.addItems([said('1')])
    const error = await failureOf(() =>
      session.addItems([said('2'), { type: 'function_call', name: 'f', arguments: '{}' }]),
    )
    expect(error).toMatchObject({
      code: 'INVALID_INPUT',
      facts: { problems: '[1].callId: must be a string' },
    })
    await failureOf(() => session.replaceHistoryWithCompaction([{ type: 'new' }]))
    expect(await session.getItems()).toEqual([said('1')])
  })

  it.each([
    [undefined, 'applyHistoryMutations: must be an object'],
    [{}, 'mutations: must be an array'],
    [{ mutations: [null] }, 'mutations[0]: must be an object'],
    [
      { mutations: [{ type: 'replace_message', callId: 'c', replacement: call('d') }] },
      'mutations[0].type: must be replace_function_call',
    ],
    [
      { mutations: [{ type: 'replace_function_call', callId: 'c' }] },
      'mutations[0].replacement: must be an object',
    ],
    [
      { mutations: [{ type: 'replace_function_call', callId: 'c', replacement: said('x') }] },
      'mutations[0].replacement.type: must be function_call',
    ],
    [
      { mutations: [{ type: 'replace_function_call', replacement: call('d') }] },
      'mutations[0].callId: must be a string',
    ],
  ])('%j are no mutations', async (args, problems) => {
    await session.addItems(turn)
    expect(await failureOf(() => session.applyHistoryMutations(args as never))).toMatchObject({
      code: 'INVALID_INPUT',
      facts: { problems },
    })
    expect(await session.getItems()).toEqual(turn)
  })

  it('what is changed after it was given is stored as it was given', async () => {
    const told = () => ({ ...call('c'), providerData: { deep: { at: 'given' } } })
    const calls: readonly ((item: ReturnType<typeof told>) => Promise<void>)[] = [
      (item) => session.addItems([item]),
      (item) =>
        session.applyHistoryMutations({
          mutations: [{ type: 'replace_function_call', callId: 'c', replacement: item }],
        }),
      (item) => session.replaceHistoryWithCompaction([item]),
      (item) =>
        session.applyHistoryTransaction({
          operationId: 'op',
          transaction: { type: 'replace_suffix', expectedSuffix: [told()], replacement: [item] },
        }),
    ]
    for (const give of calls) {
      const item = told()
      const done = give(item)
      item.providerData.deep.at = 'later'
      await done
      expect(await session.getItems()).toEqual([told()])
    }
  })

  it.each([
    [{}],
    [{ store: {} }],
    [{ sessionId: '' }],
    [{ view: 'all' }],
    [{ compact: 1 }],
    [{ summaryRole: 'tool' }],
    [{ more: 1 }],
  ])('%j is no way to make a session', (options) => {
    const full =
      'sessionId' in options || !('store' in options || Object.keys(options).length === 0)
        ? { store, ...options }
        : options
    expect(refuses(() => new UndertextSession(full as never))).toBe(true)
  })

  it('without an id it makes one of its own', async () => {
    const one = new UndertextSession({ store })
    const other = new UndertextSession({ store })
    await one.addItems([said('1')])
    expect(await other.getItems()).toEqual([])
    expect(await one.getSessionId()).not.toBe(await other.getSessionId())
    expect((await store.sessions.get(await one.getSessionId())).messageCount).toBe(1)
  })
})
