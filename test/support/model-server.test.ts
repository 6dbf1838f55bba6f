import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { generateText, jsonSchema, streamText, type ToolSet, tool } from 'ai'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { startModelServer } from './model-server.ts'

const server = await startModelServer()
afterAll(() => server.close())
vi.stubGlobal('AI_SDK_LOG_WARNINGS', false)

const openai = createOpenAI({ baseURL: server.openaiUrl, apiKey: 'none' })
const anthropic = createAnthropic({ baseURL: server.anthropicUrl, apiKey: 'none' })
const MODELS = [
  ['chat', openai.chat('any')],
  ['responses', openai('any')],
  ['messages', anthropic('any')],
] as const

const TOOLS = {
  look: tool({ inputSchema: jsonSchema({ type: 'object', properties: { path: { type: 'string' } } }) }),
} as ToolSet

describe.each(MODELS)('%s', (format, model) => {
  it('returns a text whole and in pieces, with its cost', async () => {
    server.forget()
    const usage = { inputTokens: 50, outputTokens: 7, cacheReadTokens: 30 }
    server.script([{ text: 'the keys are rotated 🔑 weekly', usage }])
    const whole = await generateText({ model, prompt: 'hello', maxRetries: 0 })
    expect(whole.text).toBe('the keys are rotated 🔑 weekly')
    expect(whole.finishReason).toBe('stop')
    // Version 5 of the AI SDK leaves cached tokens out of Anthropic's sum.
    const isOld = whole.usage.inputTokenDetails === undefined && format === 'messages'
    const counted = { inputTokens: isOld ? 20 : 50, outputTokens: 7 }
    expect(whole.usage).toMatchObject(counted)
    // Version 7 has no field of its own for them any more.
    const { cachedInputTokens } = whole.usage as { readonly cachedInputTokens?: number }
    expect(cachedInputTokens ?? whole.usage.inputTokenDetails?.cacheReadTokens).toBe(30)
    const streamed = streamText({ model, prompt: 'hello', maxRetries: 0 })
    expect(await streamed.text).toBe('the keys are rotated 🔑 weekly')
    expect(await streamed.finishReason).toBe('stop')
    expect(await streamed.usage).toMatchObject(counted)
    expect(server.requests.map((request) => [request.format, request.stream])).toEqual([
      [format, false],
      [format, true],
    ])
  })

  it('calls tools, whole and streamed', async () => {
    server.script([{ text: 'looking', toolCalls: [{ id: 'call_1', name: 'look', input: { path: 'a.ts' } }] }])
    const whole = await generateText({ model, prompt: 'hello', tools: TOOLS, maxRetries: 0 })
    const streamed = streamText({ model, prompt: 'hello', tools: TOOLS, maxRetries: 0 })
    for (const calls of [whole.toolCalls, await streamed.toolCalls])
      expect(calls).toMatchObject([{ toolCallId: 'call_1', toolName: 'look', input: { path: 'a.ts' } }])
    expect([whole.finishReason, await streamed.finishReason]).toEqual(['tool-calls', 'tool-calls'])
  })

  it('returns its stop reason', async () => {
    for (const finish of ['length', 'content-filter'] as const) {
      server.script([{ text: 'half', finish }])
      const whole = await generateText({ model, prompt: 'hello', maxRetries: 0 })
      const streamed = streamText({ model, prompt: 'hello', maxRetries: 0 })
      expect([whole.finishReason, await streamed.finishReason]).toEqual([finish, finish])
    }
  })

  it('fails as configured', async () => {
    const call = () => generateText({ model, prompt: 'hello', maxRetries: 0 })
    server.script([{ status: 429, retryAfterMs: 5 }])
    await expect(call()).rejects.toMatchObject({ statusCode: 429, isRetryable: true })
    server.script([{ status: 400, message: 'no' }])
    await expect(call()).rejects.toMatchObject({ statusCode: 400, isRetryable: false, message: 'no' })
    for (const scripted of [{ cut: true }, { text: 'half', cutAfter: 10 }, { raw: '{"id":' }] as const) {
      server.script([scripted])
      await expect(call()).rejects.toThrow()
    }
    server.script([{ text: 'a text of some length', cutAfter: 3 }])
    // What breaks while it is streamed rejects the reading; what the server says of an error is a part of the stream.
    const streamed = streamText({ model, prompt: 'hello', maxRetries: 0, onError: () => {} })
    const onError = vi.fn()
    await streamed.consumeStream({ onError })
    expect(onError).toHaveBeenCalledOnce()
  })

  it('keeps silent until the client goes', async () => {
    server.forget()
    server.script([{ silent: true }])
    const controller = new AbortController()
    const call = generateText({ model, prompt: 'hello', maxRetries: 0, abortSignal: controller.signal })
    const given = expect(call).rejects.toThrow()
    await expect.poll(() => server.requests.length).toBe(1)
    controller.abort()
    await given
    await expect.poll(() => server.requests[0]?.gone()).toBe(true)
  })
})
