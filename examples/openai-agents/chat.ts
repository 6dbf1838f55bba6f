/*
 * An agent that never loses an item and never overflows. Run it with Node 22.18 or newer, or with tsx:
 *
 *   npm install undertext @openai/agents zod
 *   node chat.ts                       a mock model, no key and no network
 *   OPENAI_API_KEY=… node chat.ts      GPT; MODEL names another one
 *
 * STORE names another file than chats.db. Run it twice: the second run goes on where the first ended.
 */
import { Agent, OpenAIProvider, Runner, setTracingDisabled, tool } from '@openai/agents'
import { openStore } from 'undertext'
import { UndertextSession } from 'undertext/openai-agents'
import { z } from 'zod'
import { MockModel } from './mock-model.ts'

const { OPENAI_API_KEY, MODEL = 'gpt-5-mini', STORE = 'chats.db' } = process.env
const print = (line: string): void => void process.stdout.write(`${line}\n`)
if (OPENAI_API_KEY === undefined) setTracingDisabled(true)

// A small window, so that a short chat shows how room is made.
const store = await openStore(STORE, { contextWindows: { mock: { _default: 2_000 } } })
store.on('compaction', ({ phase }) => print(`  [compaction ${phase}]`))

// This is all there is to it.
const session = new UndertextSession({
  store,
  sessionId: 'demo',
  compact: true,
  ...(OPENAI_API_KEY === undefined ? { provider: 'mock' } : { provider: 'openai', model: MODEL }),
})

const agent = new Agent({
  name: 'Friend',
  instructions: 'Be friendly.',
  model: OPENAI_API_KEY === undefined ? session.recovering(new MockModel()) : MODEL,
  tools: [
    tool({
      name: 'weather',
      description: 'The weather in a city.',
      parameters: z.object({ city: z.string() }),
      execute: ({ city }) => `It is sunny in ${city}.`,
    }),
  ],
})

// Requests that overflow are sent again, shorter, and usage is recorded.
const runner = new Runner({ modelProvider: session.recovering(new OpenAIProvider()) })

const questions = [
  'My name is Ada and I live in Turin. Remember that.',
  'How is the weather where I live, and in Oslo?',
  'Tell me a long story about a lighthouse.',
  'Another story, please, about a ship.',
  'And a story about an island.',
  'One more story.',
  'What is my name?',
]
for (const question of questions) {
  print(`> ${question}`)
  const { finalOutput } = await runner.run(agent, question, { session })
  print(finalOutput ?? '')
}

// Cleared is not gone.
const before = (await session.getItems()).length
await session.clearSession()
const [cleared] = (await store.listCompactions('demo')).filter(({ reason }) =>
  reason?.includes('clearSession'),
)
await store.undoCompaction('demo', cleared!.id)
print(`${before} items, cleared, and ${(await session.getItems()).length} again`)

const { messageCount, visibleCount } = await store.sessions.get('demo')
print(`${messageCount} items stored, ${visibleCount} in the view`)
print(`${(await store.requests.usage('demo')).total.requests} calls of the model recorded`)
await store.close()
