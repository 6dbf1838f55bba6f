import { type BaseChatMessageHistory, BaseListChatMessageHistory } from '@langchain/core/chat_history'
import {
  AIMessage,
  AIMessageChunk,
  type BaseMessage,
  HumanMessage,
  RemoveMessage,
  ToolMessage,
} from '@langchain/core/messages'
import { ChatPromptTemplate, MessagesPlaceholder } from '@langchain/core/prompts'
import { RunnableLambda, RunnableWithMessageHistory } from '@langchain/core/runnables'
import { FakeListChatModel, FakeStreamingChatModel } from '@langchain/core/utils/testing'
import { describe, expect, it } from 'vitest'
import { UndertextChatMessageHistory } from '../../src/adapters/langchain/index.ts'
import { isUndertextError, openStore } from '../../src/index.ts'

const open = () => openStore(':memory:')
type Store = Awaited<ReturnType<typeof open>>

const said = (messages: readonly BaseMessage[]): string[] =>
  messages.map((message) => `${message.type}: ${message.text}`)

async function codeOf(act: () => unknown): Promise<string> {
  try {
    await act()
  } catch (error) {
    return isUndertextError(error) ? error.code : String(error)
  }
  return 'nothing was thrown'
}

async function manual(store: Store, sessionId = 's'): Promise<string> {
  const found = (await store.listCompactions(sessionId)).filter(({ kind }) => kind === 'manual')
  expect(found).toHaveLength(1)
  return found[0]!.id
}

const config = { configurable: { sessionId: 's' } }

describe('UndertextChatMessageHistory', () => {
  it('keeps what is added, in order, and gives the same messages back', async () => {
    const store = await open()
    const history = new UndertextChatMessageHistory({ store, sessionId: 's' })
    expect(await history.getMessages()).toEqual([])
    const messages = [
      new HumanMessage('How is it?'),
      new AIMessage({ content: '', tool_calls: [{ name: 'look', args: {}, id: 'c1', type: 'tool_call' }] }),
      new ToolMessage({ content: 'Sunny.', tool_call_id: 'c1', name: 'look', artifact: [1] }),
    ]
    await history.addMessages(messages)
    await history.addAIMessage('It is sunny.')
    await history.addUserMessage('Thanks.')
    expect(await history.getMessages()).toEqual([
      ...messages,
      new AIMessage('It is sunny.'),
      new HumanMessage('Thanks.'),
    ])
    expect((await store.sessions.verify('s')).findings).toEqual([])
  })

  it('is of the classes LangChain asks for, and shows nothing of the store', async () => {
    const store = await open()
    const history: BaseListChatMessageHistory = new UndertextChatMessageHistory({ store, sessionId: 's' })
    const asked: BaseChatMessageHistory = history as UndertextChatMessageHistory
    expect(history).toBeInstanceOf(BaseListChatMessageHistory)
    expect(JSON.parse(JSON.stringify(asked))).toEqual({
      lc: 1,
      type: 'not_implemented',
      id: ['undertext', 'langchain', 'UndertextChatMessageHistory'],
    })
    expect(history.lc_kwargs).toEqual({})
  })

  it('writes a retry once, and never loses another body under the same id', async () => {
    const store = await open()
    const history = new UndertextChatMessageHistory({ store, sessionId: 's' })
    const question = () => new HumanMessage({ content: 'a', id: 'm1' })
    const answer = () => new ToolMessage({ content: 'b', tool_call_id: 'c', id: 'm2' })
    await history.addMessages([question(), answer()])
    await history.addMessages([question(), answer(), new HumanMessage({ content: 'c', id: 'm1' })])
    await history.addMessages([new HumanMessage('a'), new HumanMessage('a')])
    const rows = await store.getMessages('s')
    expect(rows.map(({ role }) => role)).toEqual(['user', 'tool', 'user', 'user', 'user'])
    expect(rows.map(({ content }) => content).filter((content) => typeof content === 'string')).toEqual([
      'a',
      'c',
      'a',
      'a',
    ])
  })

  it('loses no answer of a model that repeats its ids', async () => {
    const store = await open()
    const chain = new RunnableWithMessageHistory({
      runnable: RunnableLambda.from((_: BaseMessage[]) => new AIMessage({ content: 'ok', id: 'fixed' })),
      getMessageHistory: (sessionId) => new UndertextChatMessageHistory({ store, sessionId }),
    })
    await chain.invoke([new HumanMessage('a')], config)
    await chain.invoke([new HumanMessage('b')], config)
    const history = new UndertextChatMessageHistory({ store, sessionId: 's' })
    expect(said(await history.getMessages())).toEqual(['human: a', 'ai: ok', 'human: b', 'ai: ok'])
  })

  it('loses no message that was handed out and is added again, changed or out of its place', async () => {
    const store = await open()
    const history = new UndertextChatMessageHistory({ store, sessionId: 's' })
    await history.addMessages([new HumanMessage('a'), new AIMessage('b')])
    const [first, second] = await history.getMessages()
    await history.addMessages([first!, new AIMessage('c')])
    second!.content = 'changed'
    await history.addMessages([second!, new HumanMessage('d')])
    const [, , , , last] = (await history.getMessages()).slice(1)
    await history.addMessages([last!, new AIMessage('e')])
    expect(said(await history.getMessages())).toEqual([
      'human: a',
      'ai: b',
      'human: a',
      'ai: c',
      'ai: changed',
      'human: d',
      'ai: e',
    ])
  })

  it('adds all or nothing, and nothing for nothing', async () => {
    const store = await open()
    const history = new UndertextChatMessageHistory({ store, sessionId: 's' })
    await history.addMessages([])
    const bad = new AIMessage({ content: '', tool_calls: [{ name: 'f', args: {} }] })
    for (const messages of [
      [new HumanMessage('a'), bad],
      [new HumanMessage('a'), new RemoveMessage({ id: 'x' })],
    ])
      expect(await codeOf(() => history.addMessages(messages))).toBe('INVALID_INPUT')
    expect(await codeOf(() => history.addMessages(3 as never))).toBe('INVALID_INPUT')
    expect(await codeOf(() => history.addMessage(null as never))).toBe('INVALID_INPUT')
    expect(await codeOf(() => store.sessions.get('s'))).toBe('SESSION_NOT_FOUND')
    const notes: string[] = []
    const lenient = new UndertextChatMessageHistory({
      store,
      sessionId: 's',
      lenient: true,
      onNote: ({ kind }) => notes.push(kind),
    })
    await lenient.addMessages([new HumanMessage('a'), bad])
    expect((await store.sessions.get('s')).messageCount).toBe(2)
    expect(notes).toEqual(['unread'])
  })

  it('clears so that it can be undone, and adds again what was cleared', async () => {
    const store = await open()
    const history = new UndertextChatMessageHistory({ store, sessionId: 's', actor: 'ann' })
    await history.clear()
    expect(await codeOf(() => store.sessions.get('s'))).toBe('SESSION_NOT_FOUND')
    await history.addMessages([new HumanMessage({ content: 'a', id: 'm1' }), new AIMessage('b')])
    const before = await history.getMessages()
    await history.clear()
    await history.clear()
    expect(await history.getMessages()).toEqual([])
    // What LangChain's users do to trim a history: read, clear, add some again.
    await history.addMessages(before)
    expect(said(await history.getMessages())).toEqual(['human: a', 'ai: b'])
    await history.addUserMessage('c')
    const compactionId = await manual(store)
    expect(await store.compactions.get('s', compactionId)).toMatchObject({ actor: 'ann', reason: 'clear' })
    await store.undoCompaction('s', compactionId, { both: true })
    expect(said(await history.getMessages())).toEqual(['human: a', 'ai: b', 'human: a', 'ai: b', 'human: c'])
    expect((await store.sessions.verify('s')).findings).toEqual([])
  })

  it('shows the effective history by default, and all messages on request', async () => {
    const store = await open()
    const history = new UndertextChatMessageHistory({ store, sessionId: 's' })
    await history.addMessages([
      new HumanMessage('a'),
      new AIMessage('b'),
      new HumanMessage('c'),
      new AIMessage('d'),
    ])
    const [first, second] = await store.getMessages('s')
    await store.compactions.hide('s', [first!.id, second!.id])
    const full = new UndertextChatMessageHistory({ store, sessionId: 's', view: 'full' })
    expect(said(await history.getMessages())).toEqual(['human: c', 'ai: d'])
    await history.clear()
    expect(said(await history.getMessages())).toEqual([])
    expect(said(await full.getMessages())).toEqual(['human: a', 'ai: b', 'human: c', 'ai: d'])
  })

  it('meets the rules of the given provider, and leaves calls at the end open', async () => {
    const store = await open()
    const call = (id: string) =>
      new AIMessage({ content: '', tool_calls: [{ name: 'f', args: {}, id, type: 'tool_call' }] })
    const of = (provider?: string) =>
      new UndertextChatMessageHistory({
        store,
        sessionId: 's',
        ...(provider === undefined ? {} : { provider }),
      })
    await of().addMessages([
      new HumanMessage('a'),
      new HumanMessage('b'),
      call('c1'),
      new HumanMessage('c'),
      call('c2'),
    ])
    const types = async (provider?: string) => (await of(provider).getMessages()).map(({ type }) => type)
    // A call in the middle that nobody answered gets an answer; the one at the end may get its own.
    expect(await types()).toEqual(['human', 'human', 'ai', 'tool', 'human', 'ai'])
    expect(await types('anthropic')).toEqual(['human', 'ai', 'tool', 'human', 'ai'])
    await of().addMessage(new ToolMessage({ content: 'x', tool_call_id: 'c2' }))
    expect(await types()).toEqual(['human', 'human', 'ai', 'tool', 'human', 'ai', 'tool'])
  })

  it.each(['mistral', 'anthropic'])(
    'an open call is answered by the id it is shown with for %s',
    async (provider) => {
      const store = await open()
      const history = new UndertextChatMessageHistory({ store, sessionId: 's', provider })
      const calls = ['call_1|fc_1', 'call_2|fc_1'].map((id) => ({ name: 'look', args: {}, id }))
      await history.addMessages([
        new HumanMessage('Look.'),
        new AIMessage({ content: '', tool_calls: calls }),
      ])
      const asking = (await history.getMessages()).at(-1) as AIMessage
      const ids = asking.tool_calls!.map(({ id }) => id!)
      expect(ids).not.toContain('call_1|fc_1')
      await history.addMessage(new ToolMessage({ content: 'second', tool_call_id: ids[1]! }))
      await history.addMessage(new ToolMessage({ content: 'first', tool_call_id: 'call_1|fc_1' }))
      const results = (await store.getMessages('s')).slice(2).map(({ content }) => content)
      expect(results).toMatchObject([[{ toolCallId: 'call_2|fc_1' }], [{ toolCallId: 'call_1|fc_1' }]])
      const shown = (await history.getMessages()).slice(2) as ToolMessage[]
      expect(shown.map(({ text, tool_call_id }) => [text, tool_call_id])).toEqual([
        ['first', ids[0]],
        ['second', ids[1]],
      ])
    },
  )

  it('compacts after an append on request', async () => {
    const store = await openStore(':memory:', {
      contextWindows: { mock: { _default: 1_000 } },
      config: { auto: false },
    })
    await store.sessions.create({ id: 's', provider: 'mock', model: 'any' })
    const history = new UndertextChatMessageHistory({ store, sessionId: 's', compact: true })
    for (let i = 0; i < 12; i++) {
      await history.addMessages([new HumanMessage(`${i} ${'q'.repeat(200)}`), new AIMessage('a'.repeat(200))])
    }
    const { messageCount, visibleCount } = await store.sessions.get('s')
    expect(messageCount).toBe(24)
    expect(visibleCount).toBeLessThan(24)
    expect(await store.listCompactions('s')).not.toEqual([])
    const wrong = new UndertextChatMessageHistory({ store, sessionId: 's', compact: { odd: 1 } as never })
    expect(await codeOf(() => wrong.addUserMessage('z'))).toBe('INVALID_INPUT')
  })

  it('refuses options that cannot be', async () => {
    const store = await open()
    const base = { store, sessionId: 's' }
    for (const options of [
      undefined,
      null,
      {},
      { ...base, store: {} },
      { ...base, sessionId: '' },
      { ...base, view: 'all' },
      { ...base, provider: 3 },
      { ...base, compact: 'yes' },
      { ...base, actor: '' },
      { ...base, lenient: 1 },
      { ...base, onNote: 1 },
      { ...base, sessionID: 's' },
    ])
      expect(await codeOf(() => new UndertextChatMessageHistory(options as never))).toBe('INVALID_INPUT')
  })

  it("tells the store's errors", async () => {
    const store = await open()
    const history = new UndertextChatMessageHistory({ store, sessionId: 's' })
    await store.close()
    for (const act of [() => history.getMessages(), () => history.addUserMessage('a'), () => history.clear()])
      expect(await codeOf(act)).toBe('STORE_CLOSED')
  })
})

describe('under RunnableWithMessageHistory', () => {
  it('keeps the turns of a chain with a place for the history, invoked and streamed', async () => {
    const store = await open()
    const prompt = ChatPromptTemplate.fromMessages([
      ['system', 'Be brief.'],
      new MessagesPlaceholder('history'),
      ['human', '{question}'],
    ])
    const seen: string[][] = []
    const chain = new RunnableWithMessageHistory({
      runnable: prompt
        .pipe((value) => {
          seen.push(said(value.toChatMessages()))
          return value
        })
        .pipe(new FakeListChatModel({ responses: ['one', 'two'] })),
      getMessageHistory: (sessionId) => new UndertextChatMessageHistory({ store, sessionId }),
      inputMessagesKey: 'question',
      historyMessagesKey: 'history',
    })
    expect((await chain.invoke({ question: 'a' }, config)).content).toBe('one')
    let streamed = ''
    for await (const chunk of await chain.stream({ question: 'b' }, config)) streamed += chunk.content
    expect(streamed).toBe('two')
    expect(seen).toEqual([
      ['system: Be brief.', 'human: a'],
      ['system: Be brief.', 'human: a', 'ai: one', 'human: b'],
    ])
    const history = new UndertextChatMessageHistory({ store, sessionId: 's' })
    expect(said(await history.getMessages())).toEqual(['human: a', 'ai: one', 'human: b', 'ai: two'])
  })

  it('keeps the messages of a model alone, once, though the history became shorter while it worked', async () => {
    const store = await open()
    let during = async (): Promise<void> => {}
    const chain = new RunnableWithMessageHistory({
      runnable: new FakeListChatModel({ responses: ['one', 'two', 'three'] }).withListeners({
        onStart: () => during(),
      }),
      getMessageHistory: (sessionId) => new UndertextChatMessageHistory({ store, sessionId }),
    })
    await chain.invoke([new HumanMessage('a')], config)
    await chain.invoke([new HumanMessage('b')], config)
    during = async () => {
      const [first, second] = await store.getMessages('s')
      await store.compactions.hide('s', [first!.id, second!.id])
    }
    await chain.invoke([new HumanMessage('c')], config)
    const full = new UndertextChatMessageHistory({ store, sessionId: 's', view: 'full' })
    expect(said(await full.getMessages())).toEqual([
      'human: a',
      'ai: one',
      'human: b',
      'ai: two',
      'human: c',
      'ai: three',
    ])
  })

  it('keeps calls of tools, streamed in pieces, and their results', async () => {
    const store = await open()
    const call = { name: 'look', args: { path: 'a' }, id: 'c1', type: 'tool_call' as const }
    const asking = new FakeStreamingChatModel({
      chunks: [new AIMessageChunk('Wa'), new AIMessageChunk({ content: 'it.', tool_calls: [call] })],
      sleep: 0,
    })
    const done = new FakeListChatModel({ responses: ['Done.'] })
    const chainOf = (runnable: FakeStreamingChatModel | FakeListChatModel) =>
      new RunnableWithMessageHistory<BaseMessage[], BaseMessage>({
        runnable,
        getMessageHistory: (sessionId) => new UndertextChatMessageHistory({ store, sessionId }),
      })
    for await (const _ of await chainOf(asking).stream([new HumanMessage('Look.')], config));
    const answer = new ToolMessage({ content: 'seen', tool_call_id: 'c1', status: 'error' })
    await chainOf(done).invoke([answer], config)
    const rows = await store.getMessages('s')
    expect(rows.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant'])
    expect(rows[1]!.content).toMatchObject([
      { type: 'text', text: 'Wait.' },
      { type: 'tool-call', toolCallId: 'c1', toolName: 'look', input: { path: 'a' } },
    ])
    expect(rows[2]!.content).toMatchObject([
      { toolCallId: 'c1', output: { type: 'error-text', value: 'seen' } },
    ])
  })
})
