import type { UIMessage } from 'ai'
import { expect, it } from 'vitest'
import { chatStore } from '../../src/adapters/ai-sdk/index.ts'
import { openStore } from '../../src/index.ts'
import { newFile } from '../support/temporary.ts'

const message = (id: string, role: 'user' | 'assistant', text: string): UIMessage => ({
  id,
  role,
  parts: [{ type: 'text', text }],
})
const [u1, a1, u2] = [
  message('u1', 'user', 'One'),
  message('a1', 'assistant', 'Two'),
  message('u2', 'user', 'Bad'),
]
const id = 'chat'

async function chatOf(...messages: UIMessage[]) {
  const store = await openStore(':memory:')
  const chats = chatStore<UIMessage>(store)
  await chats.save({ chatId: id, messages })
  return { store, chats, ids: async () => (await chats.load(id)).map((one) => one.id) }
}

it('a message that no answer follows can be withdrawn, and does not block the chat', async () => {
  const { store, chats, ids } = await chatOf(u1, a1)
  await chats.resume({ id, message: u2 })
  expect(await chats.withdraw(id)).toBe(true)
  expect(await ids()).toEqual(['u1', 'a1'])
  expect(await chats.withdraw(id)).toBe(false)
  const turn = await chats.resume({ id, messages: [u1, a1, u2, message('u3', 'user', 'Good')] })
  expect(JSON.stringify(turn.messages)).not.toContain('Bad')
  expect(await ids()).toEqual(['u1', 'a1', 'u3'])
  expect((await store.sessions.verify(id)).findings).toEqual([])
})

it('a message before others can be withdrawn by its id', async () => {
  const { chats, ids } = await chatOf(u1, a1, u2, message('u3', 'user', 'Good'))
  expect(await chats.withdraw(id, { messageId: 'u1' })).toBe(false)
  expect(await chats.withdraw(id, { messageId: 'u2' })).toBe(true)
  expect(await ids()).toEqual(['u1', 'a1', 'u3'])
})

it('withdrawing an edit restores what it replaced', async () => {
  const { store, chats } = await chatOf(u1, a1)
  await chats.resume({ id, message: message('u1', 'user', 'Edited'), messageId: 'u1' })
  expect(await chats.withdraw(id)).toBe(true)
  expect(await chats.load(id)).toMatchObject([u1, a1])
  expect((await store.sessions.verify(id)).findings).toEqual([])
})

it('withdrawing a regeneration restores the answer, and keeps the question', async () => {
  const { chats, ids } = await chatOf(u1, a1)
  await chats.resume({ id, trigger: 'regenerate-message', messageId: 'a1' })
  expect(await ids()).toEqual(['u1'])
  expect(await chats.withdraw(id)).toBe(true)
  expect(await ids()).toEqual(['u1', 'a1'])
})

it.each([
  ['no parts', []],
  ['an empty text', [{ type: 'text', text: '' }]],
  ['a blank text', [{ type: 'text', text: ' \n' }]],
])('a message of the user with %s is refused before anything is stored', async (_, parts) => {
  const { chats, ids } = await chatOf(u1, a1)
  const given = { id: 'u2', role: 'user', parts }
  await expect(chats.resume({ id, message: given }, { validate: false })).rejects.toMatchObject({
    code: 'INVALID_INPUT',
  })
  expect(await ids()).toEqual(['u1', 'a1'])
})

it.each(['one store', 'two stores on one file'])(
  'of two requests with the same approval at once, one runs the tool: %s',
  async (how) => {
    const file = newFile()
    const first = await openStore(file)
    const second = how === 'one store' ? first : await openStore(file)
    const call = { type: 'tool-delete', toolCallId: 'c1', input: { path: 'x' } }
    const asked = {
      id: 'a1',
      role: 'assistant',
      parts: [{ ...call, state: 'approval-requested', approval: { id: 'p1' } }],
    }
    const given = {
      ...asked,
      parts: [{ ...call, state: 'approval-responded', approval: { id: 'p1', approved: true } }],
    }
    await chatStore(first).save({ chatId: id, messages: [u1, asked as never] })
    const both = [first, second].map((store) =>
      chatStore(store).resume({ id, message: given }, { validate: false, turn: { waitMs: 100 } }),
    )
    const ends = await Promise.allSettled(both)
    expect(ends.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
    expect(ends.find((end) => end.status === 'rejected')).toMatchObject({
      reason: { code: 'TURN_IN_PROGRESS' },
    })
    // The first request dies: it is unknown whether its tool has run.
    const winner = ends.find((end) => end.status === 'fulfilled')!
    await winner.value.end()
    await expect(chatStore(second).resume({ id, message: given }, { validate: false })).rejects.toMatchObject(
      {
        code: 'APPROVAL_STORED',
        facts: { sessionId: id, toolCallIds: ['c1'] },
      },
    )
    const again = await chatStore(second).resume(
      { id, message: given },
      { validate: false, repeatApproved: true },
    )
    expect(again.saved).toMatchObject({ rowsAppended: 0, rowsHidden: 0 })
    const done = { ...given.parts[0], state: 'output-available', output: 'deleted' }
    await again.onFinish({ responseMessage: { ...given, parts: [done] } as never })
    // The other tab posts its approval again.
    await expect(chatStore(first).resume({ id, message: given }, { validate: false })).rejects.toMatchObject({
      code: 'APPROVAL_STORED',
      facts: { sessionId: id, toolCallIds: ['c1'] },
    })
    await second.close()
    await first.close()
  },
)
