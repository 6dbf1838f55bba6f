import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { chatStore, type SdkUIMessage, type UIMessageLike } from '../../src/ai-sdk.ts'
import { isUndertextError, openStore } from '../../src/index.ts'
import { chatOf } from './generators.ts'

const user = (id: string, text: string): SdkUIMessage => ({
  id,
  role: 'user',
  parts: [{ type: 'text', text }],
})
const said = (id: string, text: string): SdkUIMessage => ({
  id,
  role: 'assistant',
  parts: [{ type: 'step-start' }, { type: 'text', text, state: 'done' }],
})
type ToolPart = Extract<SdkUIMessage['parts'][number], { type: `tool-${string}` }>
const asked = { type: 'tool-look', toolCallId: 'c1', state: 'input-available', input: { at: 'x' } } as const
const answered: ToolPart = { ...asked, state: 'output-available', output: { seen: 1 } }

async function open() {
  const store = await openStore(':memory:')
  const chats = chatStore(store)
  const chatId = await chats.create()
  const save = (...messages: readonly UIMessageLike[]) => chats.save({ chatId, messages })
  const load = () => chats.load(chatId)
  const roles = async () => (await store.getEffectiveHistory(chatId)).map(({ role }) => role)
  return { store, chats, chatId, save, load, roles, [Symbol.asyncDispose]: () => store.close() }
}

const CHAT = [user('u1', 'hi'), said('a1', 'hello'), user('u2', 'and?'), said('a2', 'well')] as const
const [u1, a1, u2, a2] = CHAT

describe('save and load', () => {
  it('a new chat has no messages; one that is not there is an error', async () => {
    await using chat = await open()
    expect(await chat.load()).toEqual([])
    await expect(chat.chats.load('other')).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' })
  })

  it('stores what is new, once', async () => {
    await using chat = await open()
    expect(await chat.save(u1, a1)).toMatchObject({ rowsAppended: 2, rowsHidden: 0, isConflict: false })
    expect(await chat.save(u1, a1)).toMatchObject({ rowsAppended: 0, rowsHidden: 0, isConflict: false })
    expect(await chat.save(...CHAT)).toMatchObject({ rowsAppended: 2, rowsHidden: 0, isConflict: false })
    expect(await chat.load()).toEqual(CHAT)
    expect(await chat.store.listCompactions(chat.chatId)).toEqual([])
  })

  it('an answer made anew takes the place of the old one, which can be given back', async () => {
    await using chat = await open()
    await chat.save(u1, a1)
    const { compactionId, rowsHidden } = await chat.save(u1, said('b1', 'good day'))
    expect(rowsHidden).toBe(1)
    expect(await chat.load()).toEqual([u1, said('b1', 'good day')])
    const [compaction] = await chat.store.listCompactions(chat.chatId)
    expect(compaction).toMatchObject({ id: compactionId, kind: 'manual', status: 'active' })
    await chat.store.undoCompaction(chat.chatId, compactionId!)
    expect(await chat.load()).toEqual([u1, a1, said('b1', 'good day')])
  })

  it('an edit under the same id takes back what stands from there on', async () => {
    await using chat = await open()
    await chat.save(...CHAT)
    const result = await chat.save(user('u1', 'hey'), said('b1', 'hey you'))
    expect(result).toMatchObject({ rowsHidden: 4, rowsAppended: 2, isConflict: false })
    expect(await chat.load()).toEqual([user('u1', 'hey'), said('b1', 'hey you')])
    // Undone, both stand, and no two messages have one id.
    await chat.store.undoCompaction(chat.chatId, result.compactionId!)
    const both = await chat.load()
    expect(both.map(({ parts }) => parts.at(-1))).toEqual(
      [...CHAT, user('u1', 'hey'), said('b1', 'hey you')].map(({ parts }) => parts.at(-1)),
    )
    expect(new Set(both.map(({ id }) => id)).size).toBe(6)
  })

  it('the output of a tool that came later is one more row', async () => {
    await using chat = await open()
    const call: SdkUIMessage = { id: 'a1', role: 'assistant', parts: [{ type: 'step-start' }, asked] }
    await chat.save(u1, call)
    const grown: SdkUIMessage = { ...call, parts: [{ type: 'step-start' }, answered] }
    expect(await chat.save(u1, grown)).toMatchObject({ rowsAppended: 1, rowsHidden: 0 })
    const more: SdkUIMessage = {
      ...grown,
      parts: [...grown.parts, { type: 'step-start' }, { type: 'text', text: 'so' }],
    }
    expect(await chat.save(u1, more)).toMatchObject({ rowsAppended: 1, rowsHidden: 0 })
    expect(await chat.load()).toEqual([u1, more])
    expect(await chat.roles()).toEqual(['user', 'assistant', 'tool', 'assistant'])
  })

  it('the result of a call that was allowed goes behind the answer to the request', async () => {
    await using chat = await open()
    const at = (part: object) =>
      ({ id: 'a1', role: 'assistant', parts: [{ type: 'step-start' }, part] }) as unknown as SdkUIMessage
    const requested = at({ ...asked, state: 'approval-requested', approval: { id: 'p1' } })
    const allowed = at({ ...asked, state: 'approval-responded', approval: { id: 'p1', approved: true } })
    const done = at({ ...answered, approval: { id: 'p1', approved: true } })
    const saved = []
    for (const version of [requested, allowed, done]) saved.push(await chat.save(u1, version))
    expect(saved.map(({ rowsAppended, rowsHidden }) => [rowsAppended, rowsHidden])).toEqual([
      [2, 0],
      [1, 0],
      [1, 0],
    ])
    expect(await chat.load()).toEqual([u1, done])
    // An older version changes nothing.
    expect(await chat.save(u1, allowed)).toMatchObject({ rowsAppended: 0, rowsHidden: 0 })
    expect(await chat.load()).toEqual([u1, done])
  })

  it('a last message that says something else is replaced from where it does', async () => {
    await using chat = await open()
    const steps = (last: string): SdkUIMessage => ({
      id: 'a1',
      role: 'assistant',
      parts: [{ type: 'step-start' }, answered, { type: 'step-start' }, { type: 'text', text: last }],
    })
    await chat.save(u1, steps('partl'))
    expect(await chat.save(u1, steps('partly'))).toMatchObject({ rowsAppended: 1, rowsHidden: 1 })
    expect(await chat.load()).toEqual([u1, steps('partly')])
  })
})

describe('a list that does not go on from what stands', () => {
  it('a stale list takes nothing back, and what is new of it goes behind', async () => {
    await using chat = await open()
    await chat.save(...CHAT)
    expect(await chat.save(u1, a1)).toMatchObject({ rowsAppended: 0, rowsHidden: 0, isConflict: true })
    const [u3, a3] = [user('u3', 'from another tab'), said('a3', 'yes')]
    expect(await chat.save(u1, a1, u3, a3)).toMatchObject({
      rowsAppended: 2,
      rowsHidden: 0,
      isConflict: true,
    })
    expect(await chat.load()).toEqual([...CHAT, u3, a3])
    expect(await chat.save(u1, a1, u3, a3)).toMatchObject({ rowsAppended: 0, rowsHidden: 0 })
  })

  it('replace takes back what the list lacks, undoable', async () => {
    await using chat = await open()
    await chat.save(...CHAT)
    const { chatId } = chat
    const cut = await chat.chats.save({ chatId, messages: [u1, a1], onConflict: 'replace' })
    expect(cut).toMatchObject({ rowsHidden: 2, rowsAppended: 0, isConflict: true })
    expect(await chat.load()).toEqual([u1, a1])
    await chat.store.undoCompaction(chatId, cut.compactionId!)
    expect(await chat.load()).toEqual(CHAT)
  })

  it('error refuses, and nothing is changed', async () => {
    await using chat = await open()
    await chat.save(...CHAT)
    const { chatId } = chat
    await expect(chat.chats.save({ chatId, messages: [u1, a1], onConflict: 'error' })).rejects.toMatchObject({
      code: 'HISTORY_DIVERGED',
    })
    expect(await chat.load()).toEqual(CHAT)
  })

  it('a late output of an earlier message is merged in, and what followed stands', async () => {
    await using chat = await open()
    const call: SdkUIMessage = { id: 'a1', role: 'assistant', parts: [{ type: 'step-start' }, asked] }
    const grown: SdkUIMessage = { ...call, parts: [{ type: 'step-start' }, answered] }
    await chat.save(u1, call, u2, a2)
    await chat.save(u1, grown)
    expect(await chat.load()).toEqual([u1, grown, u2, a2])
  })

  it('whatever lists are saved, no message that stood is lost, and the same again does nothing', async () => {
    await using store = await openStore(':memory:')
    const chats = chatStore(store, { validate: false })
    await fc.assert(
      fc.asyncProperty(
        chatOf(6, 4),
        fc.array(fc.subarray([0, 1, 2, 3]), { maxLength: 3 }),
        async (all, picks) => {
          const chatId = await chats.create()
          for (const pick of picks) {
            const before = await chats.load(chatId)
            const messages = pick.flatMap((index) => all[index] ?? [])
            await chats.save({ chatId, messages })
            const after = await chats.load(chatId)
            const again = await chats.save({ chatId, messages })
            expect(again).toMatchObject({ rowsAppended: 0, rowsHidden: 0 })
            for (const message of messages) expect(after).toContainEqual(message)
            // Answers in the place of answers aside, which are made anew.
            for (const message of before)
              if (message.role !== 'assistant') expect(after).toContainEqual(message)
          }
          expect((await store.verifySession(chatId)).findings).toEqual([])
        },
      ),
      { numRuns: 60 },
    )
  })
})

describe('compacted chats', () => {
  it('people see all of it, models the view; an edit within a summary opens it', async () => {
    await using chat = await open()
    await chat.save(...CHAT, user('u3', 'more'))
    const { chatId, store } = chat
    const rows = await store.getMessages(chatId)
    await store
      .compactSession(chatId, {
        stages: ['summarize'],
        range: { from: rows[0]!.id, to: rows[3]!.id },
      } as never)
      .catch(() => undefined)
    expect(await chat.load()).toEqual([...CHAT, user('u3', 'more')])
    const edited = user('u2', 'and then?')
    await chat.save(u1, a1, edited)
    expect(await chat.load()).toEqual([u1, a1, edited])
    expect((await store.getEffectiveHistory(chatId)).map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'user',
    ])
  })
})

describe('bad input', () => {
  it.each([
    ['no list', 'x', 'save: messages: must be an array'],
    ['two with one id', [u1, u1], 'save: messages[1].id: another message has it'],
    ['no id', [{ role: 'user', parts: [] }], 'messages[0].id: must be a string'],
  ])('%s', async (_, messages, problem) => {
    await using chat = await open()
    const error = await chat.chats
      .save({ chatId: chat.chatId, messages: messages as never })
      .catch((it: unknown) => it)
    expect(isUndertextError(error, 'INVALID_INPUT') && error.facts.problems).toBe(problem)
  })
})
