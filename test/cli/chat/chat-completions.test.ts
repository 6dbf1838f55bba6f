import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Question } from '../../../src/cli/commands/chat/backend.ts'
import { addressBackend } from '../../../src/cli/commands/chat/chat-completions.ts'
import { failureSentence } from '../../../src/cli/commands/chat/loop.ts'
import { isContextOverflowError } from '../../../src/compat/overflow.ts'
import { type ModelServer, startModelServer } from '../../support/model-server.ts'

const KEY = 'sk-secret-0123456789abcdef'
const NEVER = new AbortController().signal

/** Does something with the address of a server, and ends the server. */
async function atServer<T>(server: Server, work: (url: string) => Promise<T>): Promise<T> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  try {
    return await work(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`)
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

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

  it('ends when the server sends its end, though the connection stays open', async () => {
    const holding = createServer((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('data: {"choices":[{"delta":{"content":"All."}}]}\n\ndata: [DONE]\n\n')
    })
    const reply = await atServer(holding, (url) =>
      addressBackend({ url, model: 'm' }).ask({ messages: [], signal: NEVER, onText: () => {} }),
    )
    expect(reply.text).toBe('All.')
  })

  it('names the target of a redirect that is not followed', async () => {
    const moved = createServer((_, response) => {
      response.writeHead(308, { location: 'https://models.example/v1/chat/completions' }).end()
    })
    const error = await atServer(moved, (url) =>
      addressBackend({ url, model: 'm', apiKey: KEY })
        .ask({ messages: [], signal: NEVER, onText: () => {} })
        .catch((thrown: unknown) => thrown),
    )
    expect(failureSentence(error, 'm')).toBe(
      "m returned status 308: it redirects to https://models.example/v1/chat/completions, and redirects aren't followed; pass the final address with --url",
    )
  })

  it('reports that a page, or half a JSON value, is not an answer', async () => {
    server.script([{ raw: '<html>Welcome</html>', contentType: 'text/html' }])
    await expect(ask().reply).rejects.toThrow("didn't return a Chat Completions response. Check the address.")
    server.script([{ raw: '{"choices": [{' }])
    await expect(ask().reply).rejects.toThrow("The server didn't return a Chat Completions response.")
  })

  it('takes contents that are lists of parts', async () => {
    const content = [
      { type: 'thinking', thinking: [{ type: 'text', text: 'Hm.' }] },
      { type: 'text', text: 'In ' },
      { type: 'text', text: 'parts.' },
    ]
    server.script([{ raw: JSON.stringify({ choices: [{ message: { content }, finish_reason: 'stop' }] }) }])
    expect((await ask().reply).text).toBe('In parts.')
  })

  it("throws the server's error so that an overflow is recognized", async () => {
    const message =
      "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens."
    server.script([{ status: 400, message, code: 'context_length_exceeded' }])
    const error = await ask().reply.catch((thrown: unknown) => thrown)
    expect(isContextOverflowError(error)).toBe(true)
    expect(failureSentence(error, 'm')).toMatch(/^m rejected the request as too long: This model's maximum/)
  })

  it('never repeats the key', async () => {
    server.script([{ status: 401, message: `Incorrect API key provided: ${KEY}, or sk-se**********cdef.` }])
    const error = await ask().reply.catch((thrown: unknown) => thrown)
    const sentence = failureSentence(error, 'm')
    expect(sentence).toBe('m rejected the API key (status 401): Incorrect API key provided: [key], or [key]')
  })

  it('passes on what the AI SDK passes on unchanged: an object, a text, a key', () => {
    expect(failureSentence({ message: 'Overloaded', type: 'server_error' }, 'm')).toBe('m failed: Overloaded')
    expect(failureSentence('Overloaded', 'm')).toBe('m failed: Overloaded')
    expect(failureSentence(null, 'm')).toBe('m failed: no reason given')
    const wrong = Object.assign(new Error(`Incorrect API key provided: ${KEY}.`), { statusCode: 401 })
    expect(failureSentence(wrong, 'm')).toMatch(/\(status 401\): Incorrect API key provided: \[key\]$/)
  })

  it('reports that no server responds', async () => {
    const gone = await startModelServer()
    const { openaiUrl: url } = gone
    await gone.close()
    const error = await addressBackend({ url, model: 'm' })
      .ask({ messages: [], signal: new AbortController().signal, onText: () => {} })
      .catch((thrown: unknown) => thrown)
    expect(failureSentence(error, 'm at home')).toBe("m at home can't be reached (ECONNREFUSED).")
  })

  it('stops on an abort', async () => {
    server.script([{ silent: true }])
    const own = new AbortController()
    const { reply } = ask({ signal: own.signal })
    own.abort()
    await expect(reply).rejects.toMatchObject({ name: 'AbortError' })
  })
})
