import { generateText, type ModelMessage, wrapLanguageModel } from 'ai'
import { expect, it } from 'vitest'
import { chatStore, undertext } from '../../src/adapters/ai-sdk/index.ts'
import { openStore } from '../../src/index.ts'
import { scripted, text } from './models.ts'

/* An application keeps its own copy of a conversation, with what the store redacted: it is recognized. */

const KEY = 'sk_live_4eC39HqLyjWDarjtT1zdp7dc'
const REDACTED = '[redacted: stripe-access-token]'
const user = (content: string): ModelMessage => ({ role: 'user', content })

it('a whole conversation with a credential continues the log, and nothing is set aside', async () => {
  await using store = await openStore(':memory:', { redact: 'secrets' })
  const messages: ModelMessage[] = []
  for (const [prompt, answer] of [
    [`use ${KEY}`, `I use ${KEY}`],
    ['and now?', 'done'],
  ] as const) {
    messages.push(user(prompt))
    const model = wrapLanguageModel({ model: scripted([[text(answer)]]), middleware: undertext(store, 's') })
    const { response } = await generateText({ model, messages, maxRetries: 0 })
    for (const one of response.messages) messages.push(one)
  }
  const stored = await store.getMessages('s')
  expect(stored.map(({ content, hidden }) => [JSON.stringify(content).includes(KEY), hidden])).toEqual(
    Array.from({ length: 4 }, () => [false, false]),
  )
  expect(JSON.stringify(stored[0]!.content)).toContain(`use ${REDACTED}`)
})

it('a chat that is saved again with a credential is the stored one', async () => {
  await using store = await openStore(':memory:', { redact: 'secrets' })
  const chats = chatStore(store)
  const messages = [
    { id: 'a', role: 'user' as const, parts: [{ type: 'text' as const, text: `use ${KEY}` }] },
    { id: 'b', role: 'assistant' as const, parts: [{ type: 'text' as const, text: 'ok' }] },
  ]
  await chats.save({ chatId: 'c', messages })
  const more = [
    ...messages,
    { id: 'd', role: 'user' as const, parts: [{ type: 'text' as const, text: 'go' }] },
  ]
  await chats.save({ chatId: 'c', messages: more })
  expect((await store.getMessages('c')).map(({ hidden }) => hidden)).toEqual([false, false, false])
  const [first] = await chats.load('c')
  expect(first!.parts).toMatchObject([{ type: 'text', text: `use ${REDACTED}` }])
})
