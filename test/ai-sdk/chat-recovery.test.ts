import { APICallError, streamText, type UIMessage } from 'ai'
import { MockLanguageModelV3 } from 'ai/test'
import { expect, it } from 'vitest'
import { chatStore } from '../../src/adapters/ai-sdk/index.ts'
import { openStore } from '../../src/index.ts'
import { partsOf, scripted, sent, streamOf, text } from './models.ts'

const words = 'It had seemed simple enough in the morning. '
const user = (id: string, said: string): UIMessage => ({
  id,
  role: 'user',
  parts: [{ type: 'text', text: said }],
})

function overflow(): never {
  throw new APICallError({
    message:
      "This model's maximum context length is 8192 tokens. However, your messages resulted in 30000 tokens.",
    url: 'http://127.0.0.1/',
    requestBodyValues: {},
    statusCode: 400,
    responseBody: '{"error":{"code":"context_length_exceeded"}}',
  })
}

it('the documented route recovers from an overflow, and records usage, provider, model and owner', async () => {
  await using store = await openStore(':memory:')
  const chats = chatStore<UIMessage>(store)
  const id = await chats.create({ owner: 'ann' })
  for (let at = 0; at < 20; at++)
    await store.append(id, [
      { role: 'user', content: words.repeat(40) },
      { role: 'assistant', content: words.repeat(40) },
    ])
  const model = scripted([overflow, [text('Done.')]])
  const turn = await chats.resume({ id, message: user('u', 'And now?') }, { model, owner: 'ann' })
  const result = streamText({ model: turn.model, messages: turn.messages, maxRetries: 0, onError: () => {} })
  const response = result.toUIMessageStreamResponse({
    originalMessages: turn.originalMessages,
    generateMessageId: turn.generateMessageId,
    onFinish: turn.onFinish,
  })
  expect(await response.text()).toContain('"type":"text-end"')
  expect(model.calls).toHaveLength(2)
  const [whole, shorter] = model.calls.map((call) => JSON.stringify(sent(call)).length)
  expect(shorter!).toBeLessThan(whole! * 0.7)
  expect(JSON.stringify(sent(model.calls[1]))).toContain('And now?')
  const session = await store.sessions.get(id)
  expect(session).toMatchObject({ provider: expect.any(String), model: model.modelId, owner: 'ann' })
  expect(await store.limits.list()).toMatchObject([{ model: model.modelId, tokens: 8_192 }])
  const usage = await store.requests.usage(id)
  expect(usage.models).toMatchObject([{ model: model.modelId, requests: 1 }])
  expect((await chats.load(id, { owner: 'ann' })).at(-1)).toMatchObject({
    role: 'assistant',
    parts: expect.arrayContaining([expect.objectContaining({ type: 'text', text: 'Done.' })]),
  })
  expect((await store.sessions.verify(id)).findings).toEqual([])
})

it('a stream that begins with an overflow in the application’s own words is sent again, shorter', async () => {
  await using store = await openStore(':memory:')
  const chats = chatStore<UIMessage>(store)
  const id = await chats.create()
  for (let at = 0; at < 20; at++) await store.append(id, [{ role: 'user', content: words.repeat(40) }])
  const streams = [
    [{ type: 'error' as const, error: new Error('The house is full.') }],
    partsOf([text('Done.')]),
  ]
  const model = new MockLanguageModelV3({ doStream: async () => streamOf(streams.shift()!) })
  const overflow = { patterns: [{ provider: 'mine', pattern: 'the house is full' }] }
  const turn = await chats.resume({ id, message: user('u', 'Hi') }, { model, request: { overflow } })
  const result = streamText({ model: turn.model, messages: turn.messages, maxRetries: 0, onError: () => {} })
  expect(await result.text).toBe('Done.')
  const [whole, shorter] = model.doStreamCalls.map((call) => JSON.stringify(call.prompt).length)
  expect(shorter!).toBeLessThan(whole!)
})

it('an error that is no overflow comes back as the model threw it', async () => {
  await using store = await openStore(':memory:')
  const chats = chatStore<UIMessage>(store)
  const failing = new Error('the model fails')
  const model = scripted([
    () => {
      throw failing
    },
  ])
  const turn = await chats.resume({ id: 'c', message: user('u', 'Hi') }, { model })
  const errors: unknown[] = []
  const result = streamText({
    model: turn.model,
    messages: turn.messages,
    maxRetries: 0,
    onError: ({ error }) => void errors.push(error),
  })
  await result.consumeStream()
  expect(errors).toEqual([failing])
  expect((await store.requests.usage('c')).total.requests).toBe(0)
})
