/*
 * A chat that never loses a message and never overflows. Run it with Node 22.18 or newer, or with tsx:
 *
 *   npm install undertext ai @ai-sdk/openai @ai-sdk/anthropic
 *   node chat.ts                                          a mock model, no key and no network
 *   ANTHROPIC_API_KEY=…  node chat.ts                     Claude
 *   OPENAI_API_KEY=…     node chat.ts                     GPT
 *   BASE_URL=http://localhost:11434/v1 MODEL=qwen3 node chat.ts    Ollama, LM Studio, llama.cpp, vLLM …
 *
 * MODEL names another model, STORE another file than chats.db. Run it twice: the second run goes on where the first ended.
 */
import { stepCountIs, streamText, tool, wrapLanguageModel } from 'ai'
import { openStore } from 'undertext'
import { undertext } from 'undertext/ai-sdk'
import { z } from 'zod'
import { mockModel } from './mock-model.ts'

type Model = Parameters<typeof wrapLanguageModel>[0]['model']

const { ANTHROPIC_API_KEY, OPENAI_API_KEY, BASE_URL, MODEL, STORE = 'chats.db' } = process.env

async function chooseModel(): Promise<Model> {
  if (BASE_URL !== undefined) {
    const { createOpenAI } = await import('@ai-sdk/openai')
    return createOpenAI({ baseURL: BASE_URL, apiKey: OPENAI_API_KEY ?? 'none', name: 'local' }).chat(
      MODEL ?? 'qwen3',
    )
  }
  if (ANTHROPIC_API_KEY !== undefined) {
    const { anthropic } = await import('@ai-sdk/anthropic')
    return anthropic(MODEL ?? 'claude-haiku-4-5')
  }
  if (OPENAI_API_KEY !== undefined) {
    const { openai } = await import('@ai-sdk/openai')
    return openai(MODEL ?? 'gpt-5-mini')
  }
  return mockModel()
}

// A small window, so that a short chat shows how room is made.
const store = await openStore(STORE, { contextWindows: { mock: { _default: 1_500 } } })
const print = (line: string): void => void process.stdout.write(`${line}\n`)
store.on('compaction', ({ phase }) => print(`  [compaction ${phase}]`))

// This line is all there is to it.
const model = wrapLanguageModel({ model: await chooseModel(), middleware: undertext(store, 'demo') })

const tools = {
  weather: tool({
    description: 'The weather in a city.',
    inputSchema: z.object({ city: z.string() }),
    execute: ({ city }) => `It is sunny in ${city}.`,
  }),
}

const questions = [
  'My name is Ada and I live in Turin. Remember that.',
  'How is the weather where I live?',
  'Tell me a long story about a lighthouse.',
  'Another one, please, about a ship.',
  'And one about an island.',
  'What is my name?',
]
for (const prompt of questions) {
  print(`> ${prompt}`)
  // Only what is new is passed; the middleware adds the rest.
  const answer = streamText({ model, system: 'Be friendly.', tools, stopWhen: stepCountIs(5), prompt })
  for await (const piece of answer.textStream) process.stdout.write(piece)
  process.stdout.write('\n')
}

const { messageCount, visibleCount } = await store.sessions.get('demo')
print(`${messageCount} messages stored, ${visibleCount} in the view`)
await store.close()
