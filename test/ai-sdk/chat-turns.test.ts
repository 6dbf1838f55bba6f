import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { stepCountIs, streamText, tool, type UIMessage } from 'ai'
import { MockLanguageModelV3 } from 'ai/test'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { chatStore } from '../../src/adapters/ai-sdk/index.ts'
import { isUndertextError, openStore, type Store } from '../../src/index.ts'
import { exportMarkdown } from '../../src/transfer/index.ts'
import { newFile } from '../support/temporary.ts'
import { call, type StreamPart, streamOf, usage } from './models.ts'

const id = 'chat'
const user = (messageId: string, said: string): UIMessage => ({
  id: messageId,
  role: 'user',
  parts: [{ type: 'text', text: said }],
})
const said = (messageId: string, answer: string): UIMessage => ({
  ...user(messageId, answer),
  role: 'assistant',
})
const NOTE = '[This answer was interrupted before its end.]'

let file: string
let store: Store
beforeEach(async () => {
  file = newFile()
  store = await openStore(file)
})
afterEach(() => store.close())

/** A model whose streams stop after some parts until they are released, as a model that is still writing does. */
function writing(...streams: readonly (readonly StreamPart[])[]) {
  let at = 0
  return new MockLanguageModelV3({
    provider: 'openai.chat',
    modelId: 'gpt-4o',
    doStream: async () => {
      const parts = streams[at++]!
      if (parts.at(-1)?.type === 'finish') return streamOf(parts)
      return {
        stream: new ReadableStream<StreamPart>({
          start(controller) {
            for (const part of parts) controller.enqueue(part)
          },
        }),
      }
    },
  })
}

const delta = (said: string): StreamPart[] => [
  { type: 'text-start', id: 't' },
  { type: 'text-delta', id: 't', delta: said },
]
const ended = (unified: 'stop' | 'tool-calls'): StreamPart => ({
  ...{ type: 'finish', finishReason: { unified, raw: undefined } },
  usage: usage(),
})

const look = tool({ inputSchema: z.object({}), execute: () => 'seen' })

/** Starts an answer in a store of its own, waits until its draft holds a text, and closes the store in the middle of the answer. */
async function closedAfter(
  draft: string,
  model: MockLanguageModelV3,
  { body = { id, message: user('u1', 'Why?') } as object, tools = { look } as object } = {},
): Promise<void> {
  const dying = await openStore(file)
  const turn = await chatStore<UIMessage>(dying, { tools }).resume(body, { model })
  const result = streamText({
    model: turn.model,
    messages: turn.messages,
    tools: tools as { look: typeof look },
    stopWhen: stepCountIs(5),
  })
  const { originalMessages, generateMessageId, onFinish } = turn
  const reader = result
    .toUIMessageStream({ originalMessages, generateMessageId, onFinish: async (end) => onFinish(end) })
    .getReader()
  void (async () => {
    for (;;) if ((await reader.read()).done) return
  })()
  const database = await import('better-sqlite3')
  const beside = new database.default(file)
  await vi.waitFor(
    () => expect(String(beside.prepare('select draft from undertext_turns').pluck().get())).toContain(draft),
    { timeout: 5_000, interval: 50 },
  )
  beside.close()
  await dying.close()
}

describe('an answer whose store was closed before its end', () => {
  it('is stored by the next turn as one that broke off, and the browser sees that', async () => {
    await closedAfter('Because', writing([...delta('Because')]))
    expect((await store.getMessages(id)).map(({ role }) => role)).toEqual(['user'])
    const chats = chatStore<UIMessage>(store, { tools: { look } })
    const turn = await chats.resume({ id, message: user('u2', 'And?') }, { turn: { waitMs: 10_000 } })
    const [, broken] = await chats.load(id)
    expect(broken).toMatchObject({
      role: 'assistant',
      parts: [{ type: 'text', text: 'Because', state: 'streaming' }],
    })
    expect(JSON.stringify(turn.messages)).toContain(NOTE)
    await turn.onFinish({ responseMessage: said('a2', 'So.') })
    expect((await chats.load(id)).map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant'])
    let document = ''
    for await (const line of exportMarkdown(store, id)) document += line
    expect(document).toContain('broken off before its end')
    expect((await store.sessions.verify(id)).findings).toEqual([])
  })

  it('keeps the results of its tools', async () => {
    const model = writing(
      [
        ...delta('Let me look.'),
        { type: 'text-end', id: 't' },
        call('c1') as StreamPart,
        ended('tool-calls'),
      ],
      [...delta('It is')],
    )
    await closedAfter('It is', model)
    const chats = chatStore<UIMessage>(store, { tools: { look } })
    const turn = await chats.resume({ id, message: user('u2', 'And?') }, { turn: { waitMs: 10_000 } })
    const [, broken] = await chats.load(id)
    expect(broken!.parts).toMatchObject([
      { type: 'text', text: 'Let me look.' },
      { type: 'tool-look', toolCallId: 'c1', state: 'output-available', output: 'seen' },
      { type: 'text', text: 'It is', state: 'streaming' },
    ])
    await turn.end()
  }, 10_000)

  it('during a tool has a call without a result, which the next model receives as such', async () => {
    const slow = tool({ inputSchema: z.object({}), execute: () => new Promise<string>(() => undefined) })
    const model = writing([call('c1') as StreamPart, ended('tool-calls')])
    await closedAfter('c1', model, { tools: { look: slow } })
    const chats = chatStore<UIMessage>(store, { tools: { look } })
    const turn = await chats.resume(
      { id, message: user('u2', 'And?') },
      { provider: 'openai', model: 'gpt-4o', turn: { waitMs: 10_000 } },
    )
    expect((await chats.load(id))[1]!.parts).toMatchObject([{ type: 'tool-look', state: 'input-available' }])
    expect(turn.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'user'])
    expect(turn.request.mends).toContainEqual(
      expect.objectContaining({ kind: 'result-added', toolCallId: 'c1' }),
    )
    await turn.end()
  })

  it('is dropped if the application wants that', async () => {
    await closedAfter('Because', writing([...delta('Because')]))
    const chats = chatStore<UIMessage>(store)
    const turn = await chats.resume(
      { id, message: user('u2', 'And?') },
      { draft: 'drop', turn: { waitMs: 10_000 } },
    )
    await turn.end()
    expect((await chats.load(id)).map(({ role }) => role)).toEqual(['user', 'user'])
    expect((await store.getMessages(id)).length).toBe(2)
  })

  it('is replaced when it is regenerated', async () => {
    await closedAfter('Because', writing([...delta('Because')]))
    const chats = chatStore<UIMessage>(store)
    const body = { id, messages: [user('u1', 'Why?')], trigger: 'regenerate-message' }
    const turn = await chats.resume(body, { turn: { waitMs: 10_000 } })
    expect(turn.originalMessages.map(({ role }) => role)).toEqual(['user'])
    await turn.end()
    const rows = await store.getMessages(id)
    expect(rows.map(({ role, hidden }) => [role, hidden])).toEqual([
      ['user', false],
      ['assistant', true],
    ])
  })
})

describe('an answer that reaches its end', () => {
  it('leaves no draft, and is stored once', async () => {
    const chats = chatStore<UIMessage>(store)
    const model = writing([...delta('Because.'), { type: 'text-end', id: 't' }, ended('stop')])
    const turn = await chats.resume({ id, message: user('u1', 'Why?') }, { model })
    const result = streamText({ model: turn.model, messages: turn.messages })
    const { originalMessages, generateMessageId, onFinish } = turn
    await result.toUIMessageStreamResponse({ originalMessages, generateMessageId, onFinish }).text()
    const next = await store.beginTurn(id, { waitMs: 0 })
    expect(next.draft).toBeUndefined()
    await next.end()
    expect((await store.getMessages(id)).map(({ role }) => role)).toEqual(['user', 'assistant'])
  })

  it('is stored although its draft can not be', async () => {
    const chats = chatStore<UIMessage>(store)
    const model = writing([...delta('Because.'), { type: 'text-end', id: 't' }, ended('stop')])
    const turn = await chats.resume({ id, message: user('u1', 'Why?') }, { model })
    const other = await store.beginTurn(id, { takeOver: true })
    const result = streamText({ model: turn.model, messages: turn.messages })
    // The model's text reaches the browser; the turn was taken over, so the chat doesn't get it.
    expect(await result.text).toBe('Because.')
    await expect(turn.onFinish({ responseMessage: said('a', 'Because.') })).rejects.toMatchObject({
      code: 'TURN_LOST',
    })
    await other.end()
    expect((await store.getMessages(id)).map(({ role }) => role)).toEqual(['user'])
  })
})

describe('the documented route, over HTTP', () => {
  it('runs a tool once when its approval is posted by two tabs at once, and again later', async () => {
    let runs = 0
    const pay = tool({
      inputSchema: z.object({ euros: z.number() }),
      needsApproval: true,
      execute: async ({ euros }) => {
        runs += 1
        await new Promise((resolve) => setTimeout(resolve, 300))
        return `paid ${euros}`
      },
    })
    const tools = { pay }
    const chats = chatStore<UIMessage>(store, { tools })
    const model = writing(
      [call('c1', { euros: 5 }, 'pay') as StreamPart, ended('tool-calls')],
      [...delta('Done.'), { type: 'text-end', id: 't' }, ended('stop')],
    )
    const server = createServer(async (request, response) => {
      let body = ''
      for await (const piece of request) body += String(piece)
      try {
        const turn = await chats.resume(JSON.parse(body), { model })
        const result = streamText({
          model: turn.model,
          tools,
          messages: turn.messages,
          stopWhen: stepCountIs(5),
        })
        const { originalMessages, generateMessageId, onFinish } = turn
        const answer = result.toUIMessageStreamResponse({ originalMessages, generateMessageId, onFinish })
        response.writeHead(200)
        for await (const piece of answer.body!) response.write(piece)
      } catch (error) {
        const isOurs =
          isUndertextError(error, 'APPROVAL_STORED') || isUndertextError(error, 'TURN_IN_PROGRESS')
        response.writeHead(isOurs ? 409 : 500)
      }
      response.end()
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const post = async (body: object): Promise<number> => {
      const response = await fetch(url, { method: 'POST', body: JSON.stringify(body) })
      await response.text()
      return response.status
    }
    try {
      expect(await post({ id, message: user('u1', 'Pay 5.') })).toBe(200)
      const asked = (await chats.load(id)).at(-1)!
      const part = asked.parts.at(-1) as { approval: { id: string } }
      expect(part).toMatchObject({ type: 'tool-pay', state: 'approval-requested' })
      const approved = {
        ...asked,
        parts: asked.parts.with(-1, {
          ...part,
          state: 'approval-responded',
          approval: { id: part.approval.id, approved: true },
        } as never),
      }
      const both = await Promise.all([1, 2].map(() => post({ id, message: approved })))
      expect(both.toSorted()).toEqual([200, 409])
      expect(runs).toBe(1)
      expect(await post({ id, message: approved })).toBe(409)
      expect(runs).toBe(1)
      const [, answer] = await chats.load(id)
      expect(answer!.parts).toMatchObject([
        { type: 'step-start' },
        { type: 'tool-pay', state: 'output-available', output: 'paid 5' },
        { type: 'step-start' },
        { type: 'text', text: 'Done.' },
      ])
    } finally {
      server.close()
    }
  }, 20_000)
})
