import { generateText, stepCountIs, streamText, tool, type UIMessage } from 'ai'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { chatStore } from '../../src/adapters/ai-sdk/index.ts'
import { openStore } from '../../src/index.ts'
import { type Content, call, scripted, text } from './models.ts'

const user = (id: string, said: string): UIMessage => ({
  id,
  role: 'user',
  parts: [{ type: 'text', text: said }],
})
const tools = {
  look: tool({ inputSchema: z.object({ at: z.string() }), execute: ({ at }) => `seen ${at}` }),
  // The browser runs it.
  ask: tool({ inputSchema: z.object({}), outputSchema: z.string() }),
}

async function open(...answers: Content[][]) {
  const store = await openStore(':memory:')
  const chats = chatStore<UIMessage>(store, { tools })
  const model = scripted(answers)
  const turn = async (
    body: object,
    more: Pick<Parameters<typeof streamText<typeof tools>>[0], 'prepareStep'> = {},
  ): Promise<void> => {
    const begun = await chats.resume({ id: 'c', ...body }, { model, system: 'Be brief.' })
    const result = streamText({
      ...{ model: begun.model, messages: begun.messages, tools, stopWhen: stepCountIs(5), ...more },
      ...(begun.system !== undefined && { system: begun.system }),
    })
    const { originalMessages, generateMessageId, onFinish } = begun
    await result.toUIMessageStreamResponse({ originalMessages, generateMessageId, onFinish }).text()
  }
  /** Expects that these rows are the answers, each of a request with as many messages as the model was sent. */
  const expectAnswers = async (positions: readonly number[]): Promise<void> => {
    const requests = await store.requests.list('c')
    expect(requests.map(({ answerPositions }) => answerPositions)).toEqual(positions.map((at) => [at, at]))
    for (const row of await store.getMessages('c')) {
      const at = positions.indexOf(row.position!)
      const seen = store.requests.get('c', { answer: row.id })
      if (at === -1) await expect(seen).rejects.toMatchObject({ code: 'REQUEST_NOT_FOUND' })
      else {
        const { id, matches, messages, system } = await seen
        expect({ id, matches, system }).toEqual({ id: requests[at]!.id, matches: true, system: 'Be brief.' })
        expect(messages).toHaveLength(model.calls[at]!.prompt.filter(({ role }) => role !== 'system').length)
      }
    }
  }
  return { store, chats, model, turn, expectAnswers, [Symbol.asyncDispose]: () => store.close() }
}

it('each step of an answer has its request', async () => {
  await using chat = await open(
    [text('First.')],
    [text('I look.'), call('c1', { at: 'x' }), call('c2', { at: 'y' })],
    [call('c3', { at: 'z' })],
    [text('Done.')],
  )
  await chat.turn({ message: user('u1', 'One?') })
  await chat.turn({ message: user('u2', 'Two?') })
  // One?, First., Two?, I look. with two calls, their results, a call, its result, Done.
  await chat.expectAnswers([2, 4, 6, 8])
})

it('an answer that continues after the browser ran a tool has the requests of both turns', async () => {
  await using chat = await open([text('Who?'), call('c1', {}, 'ask')], [text('Thanks.')])
  await chat.turn({ message: user('u1', 'Hi.') })
  await chat.expectAnswers([2])
  const [first, asked] = await chat.chats.load('c')
  const parts = asked!.parts.map((part) =>
    part.type === 'tool-ask' ? { ...part, state: 'output-available', output: 'Ada' } : part,
  )
  await chat.turn({ messages: [first, { ...asked, parts }] })
  // Hi., Who? with a call, its result, Thanks.
  await chat.expectAnswers([2, 4])
})

it('a regenerated answer has a request of its own', async () => {
  await using chat = await open([text('One.')], [text('Two.')])
  await chat.turn({ message: user('u1', 'Hi.') })
  await chat.turn({ trigger: 'regenerate-message', messages: [user('u1', 'Hi.')] })
  await chat.expectAnswers([2, 3])
})

it('an answer without a stream is found too, when its message is stored', async () => {
  await using chat = await open([text('One.')])
  const { model, messages, onFinish } = await chat.chats.resume(
    { id: 'c', message: user('u1', 'Hi.') },
    { model: chat.model, system: 'Be brief.' },
  )
  const answered = await generateText({ model, messages, system: 'Be brief.' })
  const parts = [{ type: 'text', text: answered.text }]
  await onFinish({ responseMessage: { id: 'a1', role: 'assistant', parts } })
  await chat.expectAnswers([2])
})

it('a request is compacted in the middle of an answer when its steps fill the window', async () => {
  await using store = await openStore(':memory:', { contextWindows: { openai: 6_000 } })
  const long = 'word '.repeat(1_600)
  const reading = { look: tool({ inputSchema: z.object({}), execute: () => long }) }
  const chats = chatStore<UIMessage>(store, { tools: reading })
  for (let at = 0; at < 5; at++)
    await store.append('c', [
      { role: 'user', content: `${at} ${'word '.repeat(300)}` },
      { role: 'assistant', content: 'word '.repeat(300) },
    ])
  const model = scripted([[call('c1')], [text('Done.')]])
  const begun = await chats.resume({ id: 'c', message: user('u1', 'Look.') }, { model, maxOutputTokens: 100 })
  const stopWhen = stepCountIs(5)
  const result = streamText({ model: begun.model, messages: begun.messages, tools: reading, stopWhen })
  const { originalMessages, generateMessageId, onFinish } = begun
  await result.toUIMessageStreamResponse({ originalMessages, generateMessageId, onFinish }).text()
  expect((await store.listCompactions('c')).length).toBeGreaterThan(0)
  const [first, second] = model.calls.map(({ prompt }) => JSON.stringify(prompt))
  expect(second).toContain(long)
  expect(second!.length - long.length).toBeLessThan(first!.length)
  const requests = await store.requests.list('c')
  expect(requests.map(({ answerPositions }) => answerPositions)).toEqual([
    [12, 12],
    [14, 14],
  ])
  for (const answer of [12, 14]) expect((await store.requests.get('c', { answer })).matches).toBe(true)
})

it('a prompt that does not begin with the messages of the turn has its usage recorded, and no request', async () => {
  await using chat = await open(
    [text('I look.'), call('c1', { at: 'x' })],
    [call('c2', { at: 'y' })],
    [text('Done.')],
  )
  await chat.turn(
    { message: user('u1', 'Hi.') },
    { prepareStep: ({ messages }) => ({ messages: messages.slice(-2) }) },
  )
  expect(chat.model.calls.map(({ prompt }) => prompt.map(({ role }) => role).join())).toEqual([
    'system,user',
    'system,assistant,tool',
    'system,assistant,tool',
  ])
  // Hi., I look. with a call, its result, a call, its result, Done.
  await chat.expectAnswers([2])
  expect((await chat.store.requests.usage('c')).total.requests).toBe(3)
})

it('another call of the model of a turn is no step of its answer', async () => {
  await using chat = await open(
    [text('A title.')],
    [text('I look.'), call('c1', { at: 'x' })],
    [text('Done.')],
  )
  const { model, messages, onFinish, originalMessages, generateMessageId } = await chat.chats.resume(
    { id: 'c', message: user('u1', 'Hi.') },
    { model: chat.model },
  )
  await generateText({ model, prompt: 'Write a title.' })
  const result = streamText({ model, messages, tools, stopWhen: stepCountIs(5) })
  await result.toUIMessageStreamResponse({ originalMessages, generateMessageId, onFinish }).text()
  const requests = await chat.store.requests.list('c')
  expect(requests.map(({ answerPositions }) => answerPositions)).toEqual([
    [2, 2],
    [4, 4],
  ])
})
