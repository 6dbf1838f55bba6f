import {
  AIMessage,
  AIMessageChunk,
  type BaseMessage,
  HumanMessage,
  ToolMessage,
} from '@langchain/core/messages'
import { RunnableLambda, RunnableWithMessageHistory } from '@langchain/core/runnables'
import { FakeListChatModel, FakeStreamingChatModel } from '@langchain/core/utils/testing'
import { UndertextChatMessageHistory } from '../../src/adapters/langchain/index.ts'
import { openStore } from '../../src/index.ts'

/*
 * A process of its own that goes on with the conversation in a file, by LangChain's means, and prints as one line of JSON what the
 * model was sent each time.
 */

const [file = '', step = ''] = process.argv.slice(2)
const store = await openStore(file)
const sent: string[][] = []
const said = (message: BaseMessage): string => `${message.type}: ${message.text}`

const listen = RunnableLambda.from((messages: BaseMessage[]) => {
  sent.push(messages.map(said))
  return messages
})
const chainOf = (model: FakeListChatModel | FakeStreamingChatModel) =>
  new RunnableWithMessageHistory<BaseMessage[], BaseMessage>({
    runnable: listen.pipe(model),
    getMessageHistory: (sessionId) => new UndertextChatMessageHistory({ store, sessionId }),
  })
const answering = (text: string) => chainOf(new FakeListChatModel({ responses: [text] }))
const config = { configurable: { sessionId: 's' } }
const history = new UndertextChatMessageHistory({ store, sessionId: 's' })

if (step === 'first') {
  const call = { name: 'look', args: { path: 'a' }, id: 'c1', type: 'tool_call' as const }
  const asking = new FakeStreamingChatModel({
    chunks: [new AIMessageChunk({ content: '', tool_calls: [call] })],
    sleep: 0,
  })
  await answering('Hello, Ada.').invoke([new HumanMessage('I am Ada.')], config)
  for await (const _ of await chainOf(asking).stream([new HumanMessage('What is in a?')], config));
  const result = new ToolMessage({ content: 'text of a', tool_call_id: 'c1', name: 'look' })
  await answering('Text.').invoke([result], config)
} else if (step === 'compact') {
  // The first turn is hidden, as a compaction would.
  const [first, second] = await store.getMessages('s')
  await store.compactions.hide('s', [first!.id, second!.id])
} else if (step === 'second') {
  let streamed = ''
  for await (const chunk of await answering('Sure.').stream([new HumanMessage('Go on.')], config)) {
    streamed += chunk.text
  }
  if (streamed !== 'Sure.') throw new Error('the stream came otherwise')
} else if (step === 'clear') {
  await history.clear()
} else if (step === 'undo') {
  for (const { id, kind, status } of (await store.listCompactions('s')).reverse())
    if (kind === 'manual' && status === 'active') await store.undoCompaction('s', id)
}
const shown = await history.getMessages()
const calls = shown.flatMap((message) => (AIMessage.isInstance(message) ? (message.tool_calls ?? []) : []))
process.stdout.write(`${JSON.stringify({ sent, shown: shown.map(said), calls })}\n`)
await store.close()
