/*
 * A chat of LangChain's that never loses a message, not even when it is cleared. Run it with Node 22.18 or newer, or with tsx:
 *
 *   npm install undertext @langchain/core
 *   node chat.ts
 *
 * The model is a mock: no key and no network. Put ChatOpenAI, ChatAnthropic or any other in its place. STORE names another file than
 * chats.db. Run it twice: the second run goes on where the first ended.
 */
import { ChatPromptTemplate, MessagesPlaceholder } from '@langchain/core/prompts'
import { RunnableWithMessageHistory } from '@langchain/core/runnables'
import { FakeListChatModel } from '@langchain/core/utils/testing'
import { openStore } from 'undertext'
import { recoveringModel, UndertextChatMessageHistory } from 'undertext/langchain'

const store = await openStore(process.env.STORE ?? 'chats.db')
const print = (line: string): void => void process.stdout.write(`${line}\n`)

const prompt = ChatPromptTemplate.fromMessages([
  ['system', 'Be friendly.'],
  new MessagesPlaceholder('history'),
  ['human', '{question}'],
])
const model = new FakeListChatModel({ responses: ['Hello, Ada.', 'You are Ada.'] })
const historyOf = (sessionId: string) => new UndertextChatMessageHistory({ store, sessionId })

// This is all there is to it.
const chat = new RunnableWithMessageHistory({
  runnable: prompt.pipe(recoveringModel(model)),
  getMessageHistory: historyOf,
  inputMessagesKey: 'question',
  historyMessagesKey: 'history',
})
const config = { configurable: { sessionId: 'demo' } }

for (const question of ['I am Ada.', 'Who am I?']) {
  print(`> ${question}`)
  for await (const piece of await chat.stream({ question }, config)) process.stdout.write(piece.text)
  print('')
}

const history = historyOf('demo')
await history.clear()
print(`${(await history.getMessages()).length} messages after clear`)

// What clear did is a compaction like all others: it is undone by its id.
const cleared = (await store.listCompactions('demo')).find(
  ({ reason, status }) => reason === 'clear' && status === 'active',
)
if (cleared !== undefined) await store.undoCompaction('demo', cleared.id)
print(`${(await history.getMessages()).length} messages after undo`)
await store.close()
