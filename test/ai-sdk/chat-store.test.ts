import { generateText, stepCountIs, streamText, tool, wrapLanguageModel } from 'ai'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import {
  chatStore,
  fromUIMessages,
  type SdkUIMessage,
  toModelMessages,
  toUIMessages,
  type UIMessageLike,
  undertext,
} from '../../src/adapters/ai-sdk/index.ts'
import { isUndertextError, openStore } from '../../src/index.ts'
import { chatOf } from './generators.ts'
import { call, scripted, text } from './models.ts'

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
    await chat.store.undoCompaction(chat.chatId, compactionId!, { both: true })
    expect(await chat.load()).toEqual([u1, a1, said('b1', 'good day')])
  })

  it('an edit under the same id rewinds the messages from there on', async () => {
    await using chat = await open()
    await chat.save(...CHAT)
    const result = await chat.save(user('u1', 'hey'), said('b1', 'hey you'))
    expect(result).toMatchObject({ rowsHidden: 4, rowsAppended: 2, isConflict: false })
    expect(await chat.load()).toEqual([user('u1', 'hey'), said('b1', 'hey you')])
    // Undone, both stand, and no two messages have one id.
    await chat.store.undoCompaction(chat.chatId, result.compactionId!, { both: true })
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

  it('the result of an allowed call is stored after the answer to the request', async () => {
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

  it('an older version of a message changes nothing, whatever its metadata was', async () => {
    await using chat = await open()
    const parts = [{ type: 'step-start' }, answered, { type: 'step-start' }, { type: 'text', text: 'so' }]
    const at = (count: number, metadata?: object) =>
      ({
        id: 'a1',
        role: 'assistant',
        parts: parts.slice(0, count),
        ...(metadata && { metadata }),
      }) as SdkUIMessage
    await chat.save(u1, at(2, { tokens: 1 }))
    await chat.save(u1, at(4, { tokens: 2 }))
    for (const older of [at(2, { tokens: 1 }), at(2)])
      expect(await chat.save(u1, older)).toMatchObject({ rowsAppended: 0, rowsHidden: 0 })
    expect(await chat.load()).toEqual([u1, at(4, { tokens: 2 })])
    // The same parts with other metadata are a newer version.
    await chat.save(u1, at(4, { tokens: 3 }))
    expect(await chat.load()).toEqual([u1, at(4, { tokens: 3 })])
  })

  it('a last message with other content is replaced from the first difference', async () => {
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

describe('a list that does not continue the stored messages', () => {
  it('a stale list rewinds nothing, and its new messages are appended', async () => {
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

  it('an earlier answer made anew is one, unless the message is named', async () => {
    await using chat = await open()
    await chat.save(...CHAT)
    const { chatId } = chat
    const b1 = said('b1', 'good day')
    expect(await chat.save(u1, b1)).toMatchObject({ rowsHidden: 0, rowsAppended: 1, isConflict: true })
    expect(await chat.load()).toEqual([...CHAT, b1])
    const named = await chat.chats.save({ chatId, messages: [u1, said('c1', 'welcome')], messageId: 'a1' })
    expect(named).toMatchObject({ rowsHidden: 4, rowsAppended: 1, isConflict: false })
    expect(await chat.load()).toEqual([u1, said('c1', 'welcome')])
  })

  it('replace rewinds the messages that the list lacks, undoably', async () => {
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

  it('a late output of an earlier message is merged in, and later messages stay', async () => {
    await using chat = await open()
    const call: SdkUIMessage = { id: 'a1', role: 'assistant', parts: [{ type: 'step-start' }, asked] }
    const grown: SdkUIMessage = { ...call, parts: [{ type: 'step-start' }, answered] }
    await chat.save(u1, call, u2, a2)
    await chat.save(u1, grown)
    expect(await chat.load()).toEqual([u1, grown, u2, a2])
  })

  it('saving any lists loses no stored message, and saving the same list again changes nothing', async () => {
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
          expect((await store.sessions.verify(chatId)).findings).toEqual([])
        },
      ),
      { numRuns: 80 },
    )
  })
})

describe('compacted chats', () => {
  it('people see all of it, models the view; an edit within a summary opens it', async () => {
    await using chat = await open()
    await chat.save(...CHAT, user('u3', 'more'))
    const { chatId, store } = chat
    await store.compactSession(chatId, { range: { from: 1, to: 4 }, summary: 'They said hello.' })
    const view = toUIMessages(await store.getEffectiveHistory(chatId))
    expect(view.map(({ role }) => role)).toEqual(['system', 'user'])
    expect(await chat.load()).toEqual([...CHAT, user('u3', 'more')])
    const edited = user('u2', 'and then?')
    await chat.save(u1, a1, edited)
    expect((await store.sessions.verify(chatId)).findings).toEqual([])
    expect(await chat.load()).toEqual([u1, a1, edited])
    expect((await store.getEffectiveHistory(chatId)).map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'user',
    ])
  })
})

describe('system messages', () => {
  it.each(['gpt-4o', 'claude-sonnet-4-5'])(
    'are never among the messages for %s after any compaction, because ai 7 rejects them there',
    async (modelId) => {
      await using chat = await open()
      const { chatId: id, store } = chat
      const rules: SdkUIMessage = { id: 's', role: 'system', parts: [{ type: 'text', text: 'Rhyme.' }] }
      await chat.save(rules, ...CHAT)
      await store.compactSession(id, { range: { from: 2, to: 3 }, summary: 'They said hello.' })
      const provider = modelId === 'gpt-4o' ? 'openai.chat' : 'anthropic.messages'
      const model = scripted([[text('Right.')]], { provider, modelId })
      const turn = await chat.chats.resume({ id, message: user('u3', 'so?') }, { model, system: 'Be brief.' })
      await turn.end()
      expect(turn.system).toBe('Be brief.\n\nRhyme.')
      expect(turn.messages.map(({ role }) => role)).not.toContain('system')
      expect(JSON.stringify(turn.messages[0])).toContain('They said hello.')
      // One that stands further on stays where it is.
      await chat.save(rules, ...CHAT, user('u3', 'so?'), { ...rules, id: 't' })
      const later = await chat.chats.resume({ id, message: user('u4', 'and?') }, { provider: 'openai' })
      expect(later.messages.map(({ role }) => role)).toEqual([
        'user',
        'user',
        'assistant',
        'user',
        'user',
        'user',
      ])
      const { text: said } = streamText({
        model,
        messages: turn.messages,
        ...(turn.system !== undefined && { system: turn.system }),
        allowSystemInMessages: false,
      })
      expect(await said).toBe('Right.')
    },
  )
})

describe('turns', () => {
  const part = (text: string) => ({ type: 'text' as const, text })

  it('a message is stored before the model is called, and the answer after it', async () => {
    await using chat = await open()
    const { chatId: id } = chat
    const turn = await chat.chats.resume(
      { id, message: u1 },
      { model: 'gpt-4o', provider: 'openai', system: 'Be brief.' },
    )
    expect(turn).toMatchObject({
      chatId: id,
      system: 'Be brief.',
      messages: [{ role: 'user', content: 'hi' }],
      originalMessages: [u1],
      saved: { rowsAppended: 1, rowsHidden: 0 },
    })
    expect(await chat.load()).toEqual([u1])
    await turn.onFinish({ responseMessage: a1 })
    await turn.onEnd({ responseMessage: a1 })
    expect(await chat.load()).toEqual([u1, a1])
    // Sent once more, as after a connection that broke.
    expect((await chat.chats.resume({ id, message: a1 })).saved).toMatchObject({
      rowsAppended: 0,
      rowsHidden: 0,
    })
  })

  it('an answer made anew that comes to nothing leaves the old one', async () => {
    await using chat = await open()
    await chat.save(u1, a1)
    const request = { id: chat.chatId, message: u1, trigger: 'regenerate-message', messageId: 'a1' }
    const failed = await chat.chats.resume(request)
    expect(await chat.load()).toEqual([u1])
    await failed.onFinish({ responseMessage: { id: 'b1', role: 'assistant', parts: [] } })
    expect(await chat.load()).toEqual([u1, a1])
    const again = await chat.chats.resume(request)
    await again.onFinish({ responseMessage: said('b1', 'good day') })
    expect(await chat.load()).toEqual([u1, said('b1', 'good day')])
  })

  it('an answer to what was edited meanwhile is kept, and is no part of the chat', async () => {
    await using chat = await open()
    const { chatId: id, store } = chat
    const slow = await chat.chats.resume({ id, message: u1 })
    await chat.chats.save({ chatId: id, messages: [user('u1', 'hey')], messageId: 'u1' })
    await slow.onFinish({ responseMessage: said('a1', 'to hi') })
    const edit = await chat.chats.resume({ id, message: user('u1', 'hey') })
    await edit.onFinish({ responseMessage: said('b1', 'to hey') })
    expect(await chat.load()).toEqual([user('u1', 'hey'), said('b1', 'to hey')])
    expect(await chat.roles()).toEqual(['user', 'assistant'])
    const log = await store.getMessages(id)
    expect(log.map(({ content }) => content)).toEqual(['hi', 'hey', 'to hi', 'to hey'])
  })

  it('a second request waits for the answer of the first, or is refused', async () => {
    await using chat = await open()
    const { chatId: id } = chat
    const one = await chat.chats.resume({ id, message: u1 })
    await expect(chat.chats.resume({ id, message: u2 }, { turn: { waitMs: 0 } })).rejects.toMatchObject({
      code: 'TURN_IN_PROGRESS',
    })
    expect(await chat.load()).toEqual([u1])
    const two = chat.chats.resume({ id, message: u2 })
    await one.onFinish({ responseMessage: a1 })
    await (await two).onFinish({ responseMessage: a2 })
    expect(await chat.load()).toEqual([u1, a1, u2, a2])
  })

  it('a request that takes over ends the turn of the first, whose answer is not stored', async () => {
    await using chat = await open()
    const { chatId: id } = chat
    const slow = await chat.chats.resume({ id, message: u1 })
    const body = { id, message: user('u1', 'hey'), messageId: 'u1' }
    const edit = await chat.chats.resume(body, { turn: { takeOver: true } })
    await expect(slow.onFinish({ responseMessage: said('a1', 'to hi') })).rejects.toMatchObject({
      code: 'TURN_LOST',
    })
    await slow.end()
    await edit.onFinish({ responseMessage: said('b1', 'to hey') })
    expect(await chat.load()).toEqual([user('u1', 'hey'), said('b1', 'to hey')])
  })

  it('an answer that is stored twice is stored once, also after its turn', async () => {
    await using chat = await open()
    const { chatId: id } = chat
    const turn = await chat.chats.resume({ id, message: u1 })
    await turn.onFinish({ responseMessage: a1 })
    await turn.onFinish({ responseMessage: a1 })
    await turn.end()
    expect(await chat.load()).toEqual([u1, a1])
  })

  it('a request that is refused, or that fails, holds no turn', async () => {
    await using chat = await open()
    const { chatId: id } = chat
    await chat.save(u1, a1)
    const refused = { id, message: u2, messageId: 'unknown' }
    await expect(chat.chats.resume(refused)).rejects.toMatchObject({ code: 'MESSAGE_NOT_FOUND' })
    const tooLarge = { request: { contextWindowTarget: 1 } }
    await expect(chat.chats.resume({ id, message: u2 }, tooLarge)).rejects.toMatchObject({
      code: 'CONTEXT_BUDGET_EXCEEDED',
    })
    const turn = await chat.chats.resume({ id, message: u2 }, { turn: { waitMs: 0 } })
    await turn.end()
    expect(await chat.load()).toEqual([u1, a1, u2])
  })

  it.each([
    ['no message', {}, 'request.message: is required, unless request.messages has a message'],
    [
      'an unknown trigger',
      { trigger: 'x', message: u1 },
      'request.trigger: must be submit-message or regenerate-message',
    ],
    [
      'a new answer',
      { message: said('x', 'no') },
      'request.message: must be a user message, or the assistant message at the end of the chat',
    ],
    [
      'another text',
      { message: said('a1', 'no') },
      'request.message: must equal the stored assistant message, with only outcomes of its calls added',
    ],
    [
      'a system message',
      { message: { ...u1, id: 's', role: 'system' } },
      'request.message: must be a user message, or the assistant message at the end of the chat',
    ],
  ])('refuses %s', async (_, request, problem) => {
    await using chat = await open()
    await chat.save(u1, a1)
    const error = await chat.chats.resume({ id: chat.chatId, ...request }).catch((it: unknown) => it)
    expect(isUndertextError(error, 'INVALID_INPUT') && error.facts.problems).toBe(problem)
    expect(await chat.load()).toEqual([u1, a1])
  })

  it('refuses what the AI SDK refuses, and unknown messages', async () => {
    await using chat = await open()
    const { chatId: id } = chat
    const broken = { id: 'x', role: 'user', parts: [{ type: 'text' }] }
    await expect(chat.chats.resume({ id, message: broken })).rejects.toMatchObject({
      code: 'INVALID_INPUT',
      message: expect.stringContaining('messages[0].parts[0]'),
    })
    const edit = chat.chats.resume({ id, message: u1, messageId: 'nobody' })
    await expect(edit).rejects.toMatchObject({ code: 'MESSAGE_NOT_FOUND' })
    expect(await chat.load()).toEqual([])
  })

  it('lets tools determine what a model reads of their results', async () => {
    await using store = await openStore(':memory:')
    const look = tool({
      inputSchema: z.object({ at: z.string() }),
      outputSchema: z.object({ seen: z.number() }),
      toModelOutput: (given: unknown) => ({ type: 'text', value: `said ${JSON.stringify(given)}` }) as const,
    })
    const chats = chatStore(store, { tools: { look } })
    const id = await chats.create()
    await chats.save({ chatId: id, messages: [u1, { id: 'a1', role: 'assistant', parts: [answered] }] })
    const { messages } = await chats.resume({ id, message: u2 })
    const value = 'said {"toolCallId":"c1","input":{"at":"x"},"output":{"seen":1}}'
    expect(messages[2]).toEqual({
      role: 'tool',
      content: [{ type: 'tool-result', toolCallId: 'c1', toolName: 'look', output: { type: 'text', value } }],
    })
  })

  it('holds metadata to a schema', async () => {
    await using store = await openStore(':memory:')
    const metadataSchema = z.object({ page: z.number() })
    const chats = chatStore(store, { metadataSchema })
    const id = await chats.create()
    await chats.save({ chatId: id, messages: [{ ...u1, metadata: { page: 'one' }, parts: [part('hi')] }] })
    await expect(chats.load(id)).rejects.toMatchObject({ code: 'INVALID_INPUT' })
    expect(await chats.load(id, { validate: false })).toHaveLength(1)
  })
})

describe('beside the middleware', () => {
  const tools = { look: tool({ inputSchema: z.object({}), execute: () => 'seen' }) }
  const script = [[call('c1')], [text('It is there.')], [text('Once more.')]]

  it.each([
    ['both store', false, 1],
    ['the turn keeps the middleware from storing', true, 0],
  ])('%s: nothing is stored twice', async (_, skip, foreign) => {
    await using chat = await open()
    const { chatId: id, store, chats } = chat
    const model = wrapLanguageModel({ model: scripted(script), middleware: undertext(store, id) as never })
    for (const message of [u1, u2]) {
      const turn = await chats.resume({ id, message }, { model })
      const result = streamText({
        model,
        tools,
        stopWhen: stepCountIs(3),
        messages: turn.messages,
        ...(skip && { providerOptions: turn.providerOptions }),
      })
      const stream = result.toUIMessageStream({
        originalMessages: turn.originalMessages as never,
        generateMessageId: turn.generateMessageId,
        onFinish: turn.onFinish,
      })
      for await (const _part of stream);
    }
    expect(await chat.roles()).toEqual(['user', 'assistant', 'tool', 'assistant', 'user', 'assistant'])
    const log = await store.getMessages(id)
    expect(log.some(({ metadata }) => metadata === undefined)).toBe(foreign === 1)
    const loaded = await chats.load(id)
    expect(loaded.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant'])
    // What a browser still holds, under ids of its own, is known.
    expect(await chats.save({ chatId: id, messages: loaded })).toMatchObject({
      rowsAppended: 0,
      rowsHidden: 0,
    })
  })
})

describe('the middleware after a rewind', () => {
  it('does not treat rewound messages as part of the conversation', async () => {
    await using chat = await open()
    await chat.save(u1, a1)
    await chat.save(u1, said('b1', 'good day'))
    const model = wrapLanguageModel({
      model: scripted([[text('Then again.')], [text('Hello, once more.')]]),
      middleware: undertext(chat.store, chat.chatId) as never,
    })
    const messages = toModelMessages(fromUIMessages([u1, said('b1', 'good day'), u2]))
    await generateText({ model, messages })
    expect(await chat.roles()).toEqual(['user', 'assistant', 'user', 'assistant'])
    // The same question as the one whose answer was taken back is no retry.
    await chat.chats.save({ chatId: chat.chatId, messages: [], onConflict: 'replace' })
    await generateText({ model, messages: toModelMessages(fromUIMessages([u1])) })
    expect((await chat.store.getEffectiveHistory(chat.chatId)).map(({ content }) => content)).toEqual([
      'hi',
      'Hello, once more.',
    ])
  })
})

describe('bad input', () => {
  it.each([
    ['no list', 'x', 'save: messages: must be an array'],
    ['two with one id', [u1, u1], 'save: messages[1].id: is used by another message'],
    ['no id', [{ role: 'user', parts: [] }], 'messages[0].id: must be a string'],
  ])('%s', async (_, messages, problem) => {
    await using chat = await open()
    const error = await chat.chats
      .save({ chatId: chat.chatId, messages: messages as never })
      .catch((it: unknown) => it)
    expect(isUndertextError(error, 'INVALID_INPUT') && error.facts.problems).toBe(problem)
  })
})
