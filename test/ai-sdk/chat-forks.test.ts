import { streamText, type UIMessage } from 'ai'
import { expect, it } from 'vitest'
import { chatStore } from '../../src/adapters/ai-sdk/index.ts'
import { openStore } from '../../src/index.ts'
import { scripted, text } from './models.ts'

type Script = Parameters<typeof scripted>[0]

/** A chat whose answers have the ids a1, a2 …, and the turn that a browser begins in one. */
async function open(...answers: string[]) {
  const store = await openStore(':memory:')
  let made = 0
  const chats = chatStore<UIMessage>(store, { generateMessageId: () => `a${++made}` })
  const model = scripted(answers.map((said) => [text(said)]) as Script)
  const turn = async (body: object): Promise<void> => {
    const begun = await chats.resume(body, { model })
    const result = streamText({ model: begun.model, messages: begun.messages })
    const { originalMessages, generateMessageId, onFinish } = begun
    await result.toUIMessageStreamResponse({ originalMessages, generateMessageId, onFinish }).text()
  }
  const shown = async (id: string): Promise<string[]> =>
    (await chats.load(id)).map(({ id: own, parts }) => {
      const said = parts.flatMap((part) => (part.type === 'text' ? [part.text] : []))
      return `${own}: ${said.join()}`
    })
  return { store, chats, turn, shown, [Symbol.asyncDispose]: () => store.close() }
}

const user = (id: string, said: string): UIMessage => ({
  id,
  role: 'user',
  parts: [{ type: 'text', text: said }],
})

it('an answer is regenerated in a new chat, and the old chat keeps its own', async () => {
  await using chat = await open('One.', 'Two.', 'Three.')
  await chat.turn({ id: 'old', message: user('u1', 'First?') })
  await chat.turn({ id: 'old', message: user('u2', 'Second?') })
  const fork = await chat.chats.fork('old', { at: { beforeMessage: 'a2' } })
  expect(await chat.shown(fork)).toEqual(['u1: First?', 'a1: One.', 'u2: Second?'])
  await chat.turn({ id: fork, trigger: 'regenerate-message', messages: await chat.chats.load(fork) })
  expect(await chat.shown(fork)).toEqual(['u1: First?', 'a1: One.', 'u2: Second?', 'a3: Three.'])
  expect(await chat.shown('old')).toEqual(['u1: First?', 'a1: One.', 'u2: Second?', 'a2: Two.'])
  expect(await chat.store.listCompactions(fork)).toEqual([])
})

it('a message is edited in a new chat with an id and a title of its own', async () => {
  await using chat = await open('One.', 'Two.', 'Three.')
  await chat.turn({ id: 'old', message: user('u1', 'First?') })
  await chat.turn({ id: 'old', message: user('u2', 'Second?') })
  const at = { afterMessage: 'a1' }
  expect(await chat.chats.fork('old', { at, id: 'new', title: 'Another way' })).toBe('new')
  await chat.turn({ id: 'new', message: user('u3', 'Instead?') })
  expect(await chat.shown('new')).toEqual(['u1: First?', 'a1: One.', 'u3: Instead?', 'a3: Three.'])
  expect(await chat.store.sessions.get('new')).toMatchObject({
    title: 'Another way',
    forkedFrom: { sessionId: 'old', position: 2 },
  })
})

it('a fork after an edited message has the edit alone', async () => {
  await using chat = await open('One.', 'Two.', 'Three.')
  await chat.turn({ id: 'old', message: user('u1', 'First?') })
  await chat.turn({ id: 'old', message: user('u2', 'Second?') })
  await chat.turn({ id: 'old', message: user('u2', 'Second, edited?'), messageId: 'u2' })
  const now = ['u1: First?', 'a1: One.', 'u2: Second, edited?', 'a3: Three.']
  expect(await chat.shown('old')).toEqual(now)
  expect(await chat.shown(await chat.chats.fork('old'))).toEqual(now)
  const fork = await chat.chats.fork('old', { at: { afterMessage: 'u2' } })
  expect(await chat.shown(fork)).toEqual(now.slice(0, 3))
})

it('a fork of a compacted chat has the view of its moment, and people see all of it', async () => {
  await using chat = await open()
  const messages = Array.from({ length: 20 }, (_, n) => user(`u${n}`, 'word '.repeat(200)))
  await chat.chats.save({ chatId: 'old', messages })
  await chat.store.compactSession('old', { targetTokens: 1_000, stages: ['truncate'] })
  const [before, now] = [
    await chat.chats.fork('old', { at: { afterMessage: 'u19' } }),
    await chat.chats.fork('old'),
  ]
  expect(await chat.store.getEffectiveHistory(before)).toHaveLength(20)
  const view = await chat.store.getEffectiveHistory('old')
  expect(await chat.store.getEffectiveHistory(now)).toHaveLength(view.length)
  expect(await chat.shown(now)).toEqual(await chat.shown('old'))
})

it('a message that the chat does not show is an error, and so is a chat that exists', async () => {
  await using chat = await open('One.')
  await chat.turn({ id: 'old', message: user('u1', 'First?') })
  const fork = (options: object) => chat.chats.fork('old', options)
  await expect(fork({ at: { afterMessage: 'u9' } })).rejects.toMatchObject({ code: 'MESSAGE_NOT_FOUND' })
  await expect(fork({ id: 'old' })).rejects.toMatchObject({ code: 'SESSION_EXISTS' })
  await expect(fork({ at: { audit: 1 } })).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  await expect(chat.chats.fork('other')).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' })
  expect(await chat.store.sessions.forks('old')).toEqual([])
})
