import { simulateReadableStream, streamText, type UIMessage } from 'ai'
import { MockLanguageModelV3 } from 'ai/test'
import { expect, it } from 'vitest'
import { chatStore } from '../../src/adapters/ai-sdk/index.ts'
import { brokenOff } from '../../src/core/messages/stop-reason.ts'
import { openStore } from '../../src/index.ts'
import { exportMarkdown } from '../../src/transfer/index.ts'

const user = (id: string, said: string): UIMessage => ({
  id,
  role: 'user',
  parts: [{ type: 'text', text: said }],
})
const count = (total: number) => ({ total, noCache: total, cacheRead: 0, cacheWrite: 0 })

/** A model that reaches the limit of its output. */
const model = new MockLanguageModelV3({
  provider: 'openai.chat',
  modelId: 'gpt-4o',
  doStream: async () => ({
    stream: simulateReadableStream({
      chunks: [
        { type: 'stream-start', warnings: [] },
        { type: 'text-start', id: 't' },
        { type: 'text-delta', id: 't', delta: 'Because' },
        { type: 'text-end', id: 't' },
        {
          ...{ type: 'finish', finishReason: { unified: 'length', raw: 'length' } },
          usage: { inputTokens: count(9), outputTokens: { total: 5, text: 5, reasoning: 0 } },
        },
      ] as never,
    }),
  }),
})

it('an answer that reached the limit of output is stored as broken off, once, and shown as such', async () => {
  await using store = await openStore(':memory:')
  const chats = chatStore<UIMessage>(store)
  const answerTo = async (id: string, said: string) => {
    const turn = await chats.resume({ id: 'c', message: user(id, said) }, { model })
    const { originalMessages, generateMessageId, onFinish } = turn
    const result = streamText({ model: turn.model, messages: turn.messages })
    await result.toUIMessageStreamResponse({ originalMessages, generateMessageId, onFinish }).text()
  }
  await answerTo('u1', 'Why?')
  const loaded = await chats.load('c')
  expect(loaded.map(({ parts }) => parts.at(-1))).toMatchObject([{ text: 'Why?' }, { text: 'Because' }])
  // The browser returns what it has, without the mark: nothing changes.
  await chats.save({ chatId: 'c', messages: loaded })
  await answerTo('u2', 'And then?')
  const rows = await store.getMessages('c')
  expect(rows.map(({ role, hidden }) => [role, hidden])).toEqual([
    ['user', false],
    ['assistant', false],
    ['user', false],
    ['assistant', false],
  ])
  expect(rows.map(brokenOff)).toEqual([undefined, 'length', undefined, 'length'])
  let text = ''
  for await (const line of exportMarkdown(store, 'c')) text += line
  expect(text.split('broken off at the limit of output')).toHaveLength(3)
})
