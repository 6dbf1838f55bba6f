import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Question } from '../../../src/cli/chat/backends/backend.ts'
import { addressBackend } from '../../../src/cli/chat/backends/chat-completions.ts'
import { failureSentence } from '../../../src/cli/chat/failure-sentence.ts'
import { isContextOverflowError } from '../../../src/index.ts'
import { type ModelServer, startModelServer } from '../../support/model-server.ts'

const KEY = 'sk-secret-0123456789abcdef'

describe('an OpenAI-compatible address', () => {
  let server: ModelServer
  beforeAll(async () => {
    server = await startModelServer()
  })
  afterAll(() => server.close())

  function ask(more: Partial<Question> = {}) {
    const pieces: string[] = []
    const backend = addressBackend({ url: `${server.openaiUrl}/`, model: 'm', apiKey: KEY })
    const reply = backend.ask({
      messages: [{ role: 'user', content: 'hi' }],
      signal: new AbortController().signal,
      onText: (text) => pieces.push(text),
      ...more,
    })
    return { pieces, reply }
  }

  it('streams the answer, with its usage and why it ended', async () => {
    server.forget()
    server.script([
      { text: 'Hello to you.', usage: { inputTokens: 100, cacheReadTokens: 40, outputTokens: 7 } },
    ])
    const { pieces, reply } = ask({ system: 'Be brief.', maxOutputTokens: 50 })
    expect(await reply).toEqual({
      text: 'Hello to you.',
      messages: [{ role: 'assistant', content: 'Hello to you.' }],
      calledTools: [],
      stopReason: 'stop',
      usage: { inputTokens: 60, cacheReadTokens: 40, outputTokens: 7 },
      model: 'scripted-model',
    })
    expect(pieces).toEqual(['Hello to', ' you.'])
    const [request] = server.requests
    expect(request?.headers.authorization).toBe(`Bearer ${KEY}`)
    expect(request?.body).toEqual({
      model: 'm',
      stream: true,
      stream_options: { include_usage: true },
      max_tokens: 50,
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'hi' },
      ],
    })
  })

  it('takes an answer that comes in one piece', async () => {
    const message = { role: 'assistant', content: 'Whole.' }
    server.script([{ raw: JSON.stringify({ choices: [{ message, finish_reason: 'stop' }] }) }])
    const { pieces, reply } = ask()
    expect((await reply).text).toBe('Whole.')
    expect(pieces).toEqual(['Whole.'])
  })

  it('asks again without what the server does not know', async () => {
    server.forget()
    server.script([
      { status: 400, message: "Unknown parameter: 'stream_options'." },
      {
        status: 400,
        message: "'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
      },
      { text: 'At last.' },
    ])
    expect((await ask({ maxOutputTokens: 9 }).reply).text).toBe('At last.')
    expect(server.requests.map(({ body }) => Object.keys(body))).toEqual([
      ['model', 'messages', 'stream', 'stream_options', 'max_tokens'],
      ['model', 'messages', 'stream', 'max_tokens'],
      ['model', 'messages', 'stream', 'max_completion_tokens'],
    ])
  })

  it('names the tools a model wanted to call', async () => {
    server.script([{ toolCalls: [{ id: 'c', name: 'search', input: { q: 'x' } }] }])
    expect(await ask().reply).toMatchObject({
      text: '',
      messages: [],
      calledTools: ['search'],
      stopReason: 'tool_calls',
    })
  })

  it('refuses a stream that ends in the middle, and one that tells of an error', async () => {
    server.script([{ text: 'Half of this is lost on the way.', cutAfter: 2 }])
    await expect(ask().reply).rejects.toThrow()
    server.script([{ text: 'Half of this is lost on the way.', errorAfter: 2 }])
    await expect(ask().reply).rejects.toThrow('Overloaded')
    server.script([
      { raw: 'data: {"choices":[{"delta":{"content":"ha"}}]}\n\n', contentType: 'text/event-stream' },
    ])
    await expect(ask().reply).rejects.toThrow('in the middle of the answer')
  })

  it('throws what the server says so that an overflow is known for one', async () => {
    const message =
      "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens."
    server.script([{ status: 400, message, code: 'context_length_exceeded' }])
    const error = await ask().reply.catch((thrown: unknown) => thrown)
    expect(isContextOverflowError(error)).toBe(true)
    expect(failureSentence(error, 'm')).toMatch(/^m refused the request as too long: This model's maximum/)
  })

  it('never repeats the key', async () => {
    server.script([{ status: 401, message: `Incorrect API key provided: ${KEY}, or sk-se**********cdef.` }])
    const error = await ask().reply.catch((thrown: unknown) => thrown)
    const sentence = failureSentence(error, 'm')
    expect(sentence).toBe(
      'm does not accept the API key (status 401): Incorrect API key provided: [key], or [key]',
    )
  })

  it('says that nobody is there', async () => {
    const gone = await startModelServer()
    const { openaiUrl: url } = gone
    await gone.close()
    const error = await addressBackend({ url, model: 'm' })
      .ask({ messages: [], signal: new AbortController().signal, onText: () => {} })
      .catch((thrown: unknown) => thrown)
    expect(failureSentence(error, 'm at home')).toBe('m at home cannot be reached (ECONNREFUSED).')
  })

  it('stops when it is told to', async () => {
    server.script([{ silent: true }])
    const own = new AbortController()
    const { reply } = ask({ signal: own.signal })
    own.abort()
    await expect(reply).rejects.toMatchObject({ name: 'AbortError' })
  })
})
