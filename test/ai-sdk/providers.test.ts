import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { generateText, stepCountIs, streamText, tool, wrapLanguageModel } from 'ai'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { z } from 'zod'
import { undertext } from '../../src/adapters/ai-sdk/index.ts'
import { openStore } from '../../src/index.ts'
import { type ModelServer, type Scripted, startModelServer } from '../support/model-server.ts'
import { logOf } from './models.ts'

let server: ModelServer

beforeEach(async () => {
  server = await startModelServer()
})
afterEach(() => server.close())

const MODELS = {
  'OpenAI chat': () => createOpenAI({ baseURL: server.openaiUrl, apiKey: 'none' }).chat('gpt-4o'),
  'OpenAI responses': () => createOpenAI({ baseURL: server.openaiUrl, apiKey: 'none' })('gpt-4o'),
  Anthropic: () => createAnthropic({ baseURL: server.anthropicUrl, apiKey: 'none' })('claude-sonnet-4-5'),
}

const look = tool({ inputSchema: z.object({ at: z.string() }), execute: ({ at }) => `saw ${at}` })
const SCRIPT: readonly Scripted[] = [
  { text: 'Looking.', toolCalls: [{ id: 'call_1', name: 'look', input: { at: 'sea' } }] },
  { text: 'Done.' },
  { text: 'Yes.' },
]
const LOG = [
  'user: go',
  'assistant: Looking. | call call_1',
  'tool: result call_1 saw sea',
  'assistant: Done.',
  'user: sure?',
  'assistant: Yes.',
]

type Messages = Awaited<ReturnType<typeof generateText>>['response']['messages']

/** The messages of all steps: from version 7 on `response` has those of the last one alone. */
async function answered(result: {
  readonly response: PromiseLike<{ readonly messages: Messages }> | { readonly messages: Messages }
  readonly responseMessages?: PromiseLike<Messages> | Messages
}): Promise<Messages> {
  return (await result.responseMessages) ?? (await result.response).messages
}

for (const [name, model] of Object.entries(MODELS)) {
  for (const way of ['generateText', 'streamText'] as const) {
    it(`${name}, ${way}: the bytes sent are those of a chat without a store`, async () => {
      await using store = await openStore(':memory:')
      const kept = wrapLanguageModel({ model: model(), middleware: undertext(store, 's') })
      const ask = async (
        one: typeof kept,
        messages: Parameters<typeof generateText>[0]['messages'] & object,
      ) => {
        const settings = {
          model: one,
          system: 'Be brief.',
          tools: { look },
          stopWhen: stepCountIs(5),
          messages,
        }
        if (way === 'generateText') return answered(await generateText(settings))
        const stream = streamText(settings)
        await stream.consumeStream()
        return answered(stream)
      }
      const go = { role: 'user', content: 'go' } as const
      const sure = { role: 'user', content: 'sure?' } as const
      server.script(SCRIPT)
      await ask(kept, [go])
      await ask(kept, [sure])
      const through = server.requests.map(({ text }) => text)
      expect(await logOf(store)).toEqual(LOG)
      expect(through.length).toBe(3)

      server.forget()
      server.script(SCRIPT)
      const plain = model()
      const said = await ask(plain, [go])
      await ask(plain, [go, ...said, sure])
      expect(through).toEqual(server.requests.map(({ text }) => text))
    })
  }

  it(`${name}: an overflow is answered with a shorter request, a rate limit by the SDK itself`, async () => {
    await using store = await openStore(':memory:')
    const wrapped = wrapLanguageModel({ model: model(), middleware: undertext(store, 's') })
    for (let turn = 0; turn < 6; turn++)
      await store.append('s', [
        { role: 'user', content: `question ${turn}` },
        { role: 'assistant', content: 'word '.repeat(300) },
      ])
    const message =
      name === 'Anthropic'
        ? 'prompt is too long: 205000 tokens > 200000 maximum'
        : "This model's maximum context length is 1000 tokens. However, your messages resulted in 3000 tokens."
    server.script([{ status: 429, retryAfterMs: 1 }, { status: 400, message }, { text: 'fits' }])
    const { text } = await generateText({ model: wrapped, prompt: 'last' })
    expect(text).toBe('fits')
    const sizes = server.requests.map((request) => request.text.length)
    expect(sizes.length).toBe(3)
    expect(sizes[1]).toBe(sizes[0])
    expect(sizes[2]!).toBeLessThan(sizes[1]! * 0.7)
    expect((await logOf(store)).slice(-2)).toEqual(['user: last', 'assistant: fits'])
  })

  it(`${name}: a stream that is cut leaves nothing`, async () => {
    await using store = await openStore(':memory:')
    const wrapped = wrapLanguageModel({ model: model(), middleware: undertext(store, 's') })
    server.script([{ text: 'a long answer that is cut', cutAfter: 4 }, { text: 'whole' }])
    const broken = streamText({ model: wrapped, prompt: 'hi', maxRetries: 0, onError: () => {} })
    await broken.consumeStream({ onError: () => {} })
    expect(await store.getMessages('s').catch(() => [])).toEqual([])
    const { text } = await generateText({ model: wrapped, prompt: 'hi' })
    expect(text).toBe('whole')
    expect(await logOf(store)).toEqual(['user: hi', 'assistant: whole'])
  })
}
