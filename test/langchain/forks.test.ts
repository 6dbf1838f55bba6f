import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from '@langchain/core/messages'
import { RunnableLambda, RunnableWithMessageHistory } from '@langchain/core/runnables'
import { expect, it } from 'vitest'
import { UndertextChatMessageHistory } from '../../src/adapters/langchain/index.ts'
import { openStore } from '../../src/index.ts'

const MESSAGES = [
  new HumanMessage({ content: 'a', id: 'h1' }),
  new AIMessage({
    content: '',
    id: 'm1',
    tool_calls: [{ name: 'look', args: {}, id: 'c1', type: 'tool_call' }],
  }),
  new ToolMessage({ content: 'x', tool_call_id: 'c1', name: 'look', id: 't1' }),
  new AIMessage({ content: 'b', id: 'm2' }),
  new HumanMessage('c'),
]
const said = (messages: readonly BaseMessage[]): string[] =>
  messages.map((message) => `${message.type}: ${message.text}`)
const NOW = ['human: a', 'ai: ', 'tool: x', 'ai: b', 'human: c']

it('a fork is a history of its own that a chain continues', async () => {
  await using store = await openStore(':memory:')
  const history = new UndertextChatMessageHistory({ store, sessionId: 's', owner: 'ada', actor: 'me' })
  await history.addMessages(MESSAGES)
  const fork = await history.fork({ at: { beforeMessage: 'm2' }, sessionId: 'f', title: 'Another way' })
  expect(said(await fork.getMessages())).toEqual(NOW.slice(0, 3))
  const chain = new RunnableWithMessageHistory({
    runnable: RunnableLambda.from((_: BaseMessage[]) => new AIMessage('ok')),
    getMessageHistory: () => fork,
  })
  await chain.invoke([new HumanMessage('d')], { configurable: { sessionId: 'f' } })
  expect(said(await fork.getMessages())).toEqual([...NOW.slice(0, 3), 'human: d', 'ai: ok'])
  expect(said(await history.getMessages())).toEqual(NOW)
  await fork.clear()
  expect((await store.listCompactions('f')).map(({ actor }) => actor)).toEqual(['me'])
  const { title, owner, forkedFrom } = await store.sessions.get('f')
  expect({ title, owner, forkedFrom }).toEqual({
    title: 'Another way',
    owner: 'ada',
    forkedFrom: { sessionId: 's', position: 3 },
  })
})

it('a fork after a message has it, and one of now has all', async () => {
  await using store = await openStore(':memory:')
  const history = new UndertextChatMessageHistory({ store, sessionId: 's' })
  await history.addMessages(MESSAGES)
  for (const [at, id] of ['h1', 'm1', 't1', 'm2'].entries()) {
    const [before, after] = [
      await history.fork({ at: { beforeMessage: id } }),
      await history.fork({ at: { afterMessage: id } }),
    ]
    expect(said(await before.getMessages())).toEqual(NOW.slice(0, at))
    expect(said(await after.getMessages())).toEqual(NOW.slice(0, at + 1))
  }
  expect(said(await (await history.fork()).getMessages())).toEqual(NOW)
})

it('of a history that was cleared, an earlier moment can be continued', async () => {
  await using store = await openStore(':memory:')
  const history = new UndertextChatMessageHistory({ store, sessionId: 's' })
  await history.addMessages(MESSAGES)
  await history.clear()
  const fork = await history.fork({ at: { afterMessage: 'm2' } })
  expect(said(await fork.getMessages())).toEqual(NOW.slice(0, 4))
  expect(await (await history.fork()).getMessages()).toEqual([])
})

it('a retry in the fork is written once', async () => {
  await using store = await openStore(':memory:')
  const history = new UndertextChatMessageHistory({ store, sessionId: 's' })
  await history.addMessages(MESSAGES)
  const fork = await history.fork({ at: { afterMessage: 't1' } })
  await fork.addMessages([MESSAGES[2]!, MESSAGES[3]!])
  expect(said(await fork.getMessages())).toEqual(NOW.slice(0, 4))
})

it('an unknown message is an error, and so is a session without messages', async () => {
  await using store = await openStore(':memory:')
  const history = new UndertextChatMessageHistory({ store, sessionId: 's' })
  await expect(history.fork()).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' })
  await history.addMessages(MESSAGES)
  await expect(history.fork({ at: { afterMessage: 'm9' } })).rejects.toMatchObject({
    code: 'MESSAGE_NOT_FOUND',
    facts: { sessionId: 's', messageId: 'm9' },
  })
  await expect(history.fork({ sessionId: 's' })).rejects.toMatchObject({ code: 'SESSION_EXISTS' })
  await expect(history.fork({ title: 1 } as never)).rejects.toMatchObject({ code: 'INVALID_INPUT' })
})
