import { consumeStream, streamText, tool, type UIMessage } from 'ai'
import { MockLanguageModelV3 } from 'ai/test'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { chatStore, type SdkUIMessage } from '../../src/adapters/ai-sdk/index.ts'
import { partsOf } from '../../src/core/messages/message.ts'
import { isSpoken } from '../../src/core/messages/user-answers.ts'
import { openStore, type Turn } from '../../src/index.ts'
import { Browser, plain } from './chat-browser.ts'
import { call, finishOf, type Said, type StreamPart, scripted, sent, text, usage } from './models.ts'

/*
 * What `useChat` really posts, through the AI SDK's own class: after answers that failed, requests that never arrived, outputs nobody sent.
 */

const tools = {
  look: tool({ inputSchema: z.object({}), execute: () => 'seen' }),
  ask: tool({ inputSchema: z.object({}), outputSchema: z.string() }),
}
const fails = (): never => {
  throw new Error('the model fails')
}

/** A route, in place of `fetch`, that can be out of reach. */
async function serve(script: readonly Said[], whole: boolean) {
  const store = await openStore(':memory:')
  const chats = chatStore<UIMessage>(store, { tools })
  const id = await chats.create()
  const model = scripted(script)
  const route = { isDown: false }
  const post = async (init: RequestInit | undefined): Promise<Response> => {
    if (route.isDown) throw new TypeError('fetch failed')
    const turn = await chats.resume(JSON.parse(String(init?.body)), { model })
    const result = streamText({ model, tools, messages: turn.messages, maxRetries: 0, onError: () => {} })
    return result.toUIMessageStreamResponse({
      originalMessages: turn.originalMessages,
      generateMessageId: turn.generateMessageId,
      onFinish: turn.onFinish,
    })
  }
  const chat = new Browser(id, 'http://localhost/', [], { whole, fetch: (_, init) => post(init) })
  return {
    store,
    chats,
    chat,
    id,
    route,
    sent: () => sent(model.calls.at(-1)),
    /** What the browser shows and what is stored are the same, and hold together. */
    async expectSaid(said: readonly string[]) {
      expect(chat.error).toBeUndefined()
      expect(chat.said).toEqual(said)
      expect(await chats.load(id)).toEqual(plain(chat.messages))
      expect((await store.sessions.verify(id)).findings).toEqual([])
    },
    [Symbol.asyncDispose]: () => store.close(),
  }
}

function promise() {
  let resolve = (): void => {}
  let reject: (error: unknown) => void = () => {}
  const promise = new Promise<void>((done, failed) => {
    resolve = done
    reject = failed
  })
  return { promise, resolve, reject }
}

const ONE = ['user: one', 'assistant: first']

describe.each([
  ['the last message alone', false],
  ['the whole list', true],
])('%s', (_, whole) => {
  it('regenerating after a failed answer answers the last question', async () => {
    await using served = await serve([[text('first')], fails, [text('second')]], whole)
    const { chat } = served
    await chat.sendMessage({ text: 'one' })
    await chat.sendMessage({ text: 'two' })
    expect(chat.status).toBe('error')
    await chat.regenerate()
    await served.expectSaid([...ONE, 'user: two', 'assistant: second'])
    expect(served.sent()).toEqual([...ONE, 'user: two'])
    expect(await served.store.listCompactions(served.id)).toEqual([])
  })

  it.each([
    ['regenerate', (chat: Browser) => chat.regenerate(), 'two'],
    ['sendMessage()', (chat: Browser) => chat.sendMessage(), 'two'],
    ['an edit', (chat: Browser) => chat.sendMessage({ text: 'too', messageId: chat.lastMessage!.id }), 'too'],
  ])(
    '%s after a request that never arrived sends it, and takes nothing back',
    async (_name, again, words) => {
      await using served = await serve([[text('first')], [text('second')]], whole)
      const { chat, route } = served
      await chat.sendMessage({ text: 'one' })
      route.isDown = true
      await chat.sendMessage({ text: 'two' })
      expect(chat.status).toBe('error')
      route.isDown = false
      await again(chat)
      await served.expectSaid([...ONE, `user: ${words}`, 'assistant: second'])
      expect(await served.store.listCompactions(served.id)).toEqual([])
    },
  )

  it('regenerating an answer that was never stored continues from its question', async () => {
    await using served = await serve([[text('first')], [text('second')]], whole)
    const { chat, chats, id } = served
    await chat.sendMessage({ text: 'one' })
    // The process died in the middle of the answer: the browser alone has it.
    const question: UIMessage = { id: 'u2', role: 'user', parts: [{ type: 'text', text: 'two' }] }
    await (await chats.resume({ id, message: question })).end()
    chat.messages = [
      ...chat.messages,
      question,
      { id: 'lost', role: 'assistant', parts: [{ type: 'step-start' }, { type: 'text', text: 'sec' }] },
    ]
    await chat.regenerate({ messageId: 'lost' })
    await served.expectSaid([...ONE, 'user: two', 'assistant: second'])
  })
})

describe('a whole list', () => {
  it('stores messages that never arrived', async () => {
    await using served = await serve([[text('first')], [text('second')]], true)
    const { chat, route } = served
    await chat.sendMessage({ text: 'one' })
    route.isDown = true
    await chat.sendMessage({ text: 'two' })
    route.isDown = false
    await chat.sendMessage({ text: 'three' })
    await served.expectSaid([...ONE, 'user: two', 'user: three', 'assistant: second'])
  })

  it('does not restore rewound messages', async () => {
    await using served = await serve([[text('first')]], true)
    const { chats, id } = served
    const say = (name: string): SdkUIMessage => ({
      id: name,
      role: 'user',
      parts: [{ type: 'text', text: name }],
    })
    await chats.save({ chatId: id, messages: [say('u1'), say('u2')] })
    await chats.save({ chatId: id, messages: [say('u1')], onConflict: 'replace' })
    await chats.resume({ id, messages: [say('u1'), say('u2'), say('u3')] })
    expect((await chats.load(id)).map((message) => message.id)).toEqual(['u1', 'u3'])
  })

  it('stores a tool output that no request contained', async () => {
    await using served = await serve([[call('c1', {}, 'ask')], [text('second')]], true)
    const { chat } = served
    await chat.sendMessage({ text: 'one' })
    await chat.addToolOutput({ tool: 'ask', toolCallId: 'c1', output: 'blue' } as never)
    await chat.sendMessage({ text: 'two' })
    await served.expectSaid([
      'user: one',
      'assistant: tool-ask output-available',
      'user: two',
      'assistant: second',
    ])
    expect(served.sent()).toEqual(['user: one', 'assistant: call c1', 'tool: result c1 blue', 'user: two'])
    expect(await served.store.listCompactions(served.id)).toEqual([])
  })
})

describe('an output that a browser gives', () => {
  it('is the user’s word: a compaction leaves it, a summary quotes it, and the rest of the answer follows it', async () => {
    await using served = await serve([[call('c1', { question: 'Which?' }, 'ask')], [text('second')]], false)
    const { chat, chats, store, id } = served
    await chat.sendMessage({ text: 'one' })
    await chat.addToolOutput({ tool: 'ask', toolCallId: 'c1', output: 'Blue, and never green.' } as never)
    await chat.sendMessage()
    await served.expectSaid(['user: one', 'assistant: tool-ask output-available | second'])
    expect(await store.listCompactions(id)).toEqual([])
    const [result] = partsOf((await store.getMessages(id)).find(({ role }) => role === 'tool')!)
    expect(result).toMatchObject({ output: { value: 'Blue, and never green.' } })
    expect(isSpoken(result as never)).toBe(true)
    // What the browser shows has no mark.
    expect(JSON.stringify(await chats.load(id))).not.toContain('answered')

    await store.append(id, [
      { role: 'user', content: 'Go on. '.repeat(50) },
      { role: 'assistant', content: 'Done.' },
    ])
    const all = { targetTokens: 1, pruneProtectTokens: 0, pruneMinimumSavings: 0, minimumSavings: 0 }
    await store.compactSession(id, { ...all, stages: ['prune'] })
    expect(await store.listCompactions(id)).toEqual([])
    const summary = await store.compactSession(id, { range: { from: 1, to: 5 } })
    expect(summary?.compactions).toHaveLength(1)
    const [row] = await store.getEffectiveHistory(id)
    expect(String(row?.content)).toContain('"Blue, and never green."')
  })

  it('is a program’s when the server runs the tool, or when it is a page', async () => {
    const open = (name: string) =>
      ({ type: `tool-${name}`, toolCallId: name, state: 'input-available', input: {} }) as const
    const there = {
      id: 'a1',
      role: 'assistant',
      parts: [{ type: 'step-start' }, open('look'), open('ask'), open('page')],
    } as const
    await using store = await openStore(':memory:')
    const chats = chatStore(store, { tools: { ...tools, page: tools.ask } })
    const id = await chats.create()
    const question = { id: 'u1', role: 'user', parts: [{ type: 'text', text: 'hi' }] } as const
    await chats.save({ chatId: id, messages: [question, there] })
    const output: Record<string, string> = { look: 'seen', ask: 'blue', page: 'word '.repeat(3_000) }
    const parts = there.parts.map((part) =>
      'toolCallId' in part ? { ...part, state: 'output-available', output: output[part.toolCallId] } : part,
    )
    await chats.resume({ id, message: { ...there, parts } })
    const results = (await store.getMessages(id)).filter(({ role }) => role === 'tool').flatMap(partsOf)
    expect(results.map((part) => isSpoken(part as never))).toEqual([false, true, false])
  })
})

describe('a request that comes twice', () => {
  it('is answered anew, and the first answer can be given back', async () => {
    await using served = await serve([[text('first')]], false)
    const { chat, chats, id, store } = served
    await chat.sendMessage({ text: 'one' })
    const [question, answer] = plain(chat.messages)
    const turn = await chats.resume({ id, message: question, trigger: 'submit-message' })
    expect(turn.originalMessages).toEqual([question])
    expect(turn.messages.map(({ role }) => role)).toEqual(['user'])
    await store.undoCompaction(id, turn.saved.compactionId!)
    expect(await chats.load(id)).toEqual([question, answer])
  })
})

describe('stores only the results of calls from an assistant’s message that a browser sends', () => {
  const step = { type: 'step-start' } as const
  const done = {
    type: 'tool-look',
    toolCallId: 'c1',
    state: 'output-available',
    input: {},
    output: 'seen',
  } as const
  const open = { type: 'tool-ask', toolCallId: 'c2', state: 'input-available', input: {} } as const
  const there = {
    id: 'a1',
    role: 'assistant',
    metadata: { by: 'x' },
    parts: [step, done, step, open],
  } as const
  const answered = { ...open, state: 'output-available', output: 'blue' } as const

  it.each([
    ['more words', { ...there, parts: [...there.parts, { type: 'text', text: 'I owe you.' }] }, there],
    ['another output', { ...there, parts: [step, { ...done, output: 'nothing' }, step, open] }, there],
    ['other arguments', { ...there, parts: [step, { ...done, input: { x: 1 } }, step, open] }, there],
    ['other metadata', { ...there, metadata: { by: 'me' } }, there],
    [
      'all of it, and an output',
      {
        ...there,
        metadata: { by: 'me' },
        parts: [step, { ...done, output: 'no' }, step, { ...answered, input: { x: 1 } }, step],
      },
      { ...there, parts: [step, done, step, answered] },
    ],
    [
      'an approval nobody asked for',
      {
        ...there,
        parts: [
          step,
          done,
          step,
          { ...open, state: 'approval-responded', approval: { id: 'p', approved: true } },
        ],
      },
      there,
    ],
  ])('%s', async (_, message, stands) => {
    await using store = await openStore(':memory:')
    const chats = chatStore(store)
    const id = await chats.create()
    const question = { id: 'u1', role: 'user', parts: [{ type: 'text', text: 'hi' }] } as const
    await chats.save({ chatId: id, messages: [question, there] })
    await chats.resume({ id, message })
    expect(await chats.load(id)).toEqual([question, stands])
  })
})

describe('a browser that goes away in the middle of an answer', () => {
  it.each([
    ['what it was sent is stored', false, 'one'],
    ['with consumeSseStream all of it is stored', true, 'one two'],
  ])('%s', async (_, consumes, said) => {
    await using store = await openStore(':memory:')
    const chats = chatStore(store)
    const id = await chats.create()
    const gone = promise()
    const finished = promise()
    const model = new MockLanguageModelV3({
      doStream: async () => ({
        stream: new ReadableStream<StreamPart>({
          async start(controller) {
            controller.enqueue({ type: 'text-start', id: '1' })
            controller.enqueue({ type: 'text-delta', id: '1', delta: 'one' })
            await gone.promise
            const rest: StreamPart[] = [
              { type: 'text-delta', id: '1', delta: ' two' },
              { type: 'text-end', id: '1' },
              { type: 'finish', finishReason: finishOf([]), usage: usage() },
            ]
            for (const part of rest) controller.enqueue(part)
            controller.close()
          },
        }),
      }),
    })
    const question = { id: 'u1', role: 'user', parts: [{ type: 'text', text: 'hi' }] } as const
    const turn = await chats.resume({ id, message: question })
    const response = streamText({ model, messages: turn.messages }).toUIMessageStreamResponse({
      originalMessages: turn.originalMessages as UIMessage[],
      generateMessageId: turn.generateMessageId,
      onFinish: (end) => turn.onFinish(end).then(finished.resolve, finished.reject),
      ...(consumes && { consumeSseStream: consumeStream }),
    })
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
    for (let seen = ''; !seen.includes('one'); ) seen += (await reader.read()).value
    const cancelled = reader.cancel()
    if (!consumes) await finished.promise
    gone.resolve()
    await Promise.all([cancelled, finished.promise])
    expect((await chats.load(id)).at(-1)?.parts.at(-1)).toMatchObject({ type: 'text', text: said })
  })
})

describe('an answer that comes late', () => {
  it('hides only its own rows, also when others have written after it', async () => {
    await using store = await openStore(':memory:')
    const say = (id: string, role: 'user' | 'assistant' = 'user') =>
      ({ id, role, parts: [{ type: 'text', text: id }] }) as const
    // Somebody else writes just when the late answer is about to be hidden.
    let afterAppend: (() => Promise<unknown>) | undefined
    const watched = new Proxy(store, {
      get: (target, name) => {
        const own: unknown = Reflect.get(target, name)
        if (typeof own !== 'function') return own
        if (name !== 'beginTurn') return own.bind(target)
        return async (...given: unknown[]) => {
          const turn = (await own.apply(target, given)) as Turn
          const append = turn.append.bind(turn)
          turn.append = async (...rows) => {
            const result = await append(...rows)
            await afterAppend?.()
            return result
          }
          return turn
        }
      },
    })
    const chats = chatStore(watched)
    const id = await chats.create()
    const slow = await chats.resume({ id, message: say('u1') })
    const edited = { ...say('u1'), parts: [{ type: 'text', text: 'edited' }] }
    await chats.save({ chatId: id, messages: [edited], messageId: 'u1' })
    afterAppend = () => chatStore(store).save({ chatId: id, messages: [edited, say('u2')] })
    await slow.onFinish({ responseMessage: say('late', 'assistant') })
    expect((await chats.load(id)).map((message) => message.id)).toEqual(['u1', 'u2'])
  })

  it.each([
    ['nothing', []],
    ['words that never came', [{ type: 'step-start' }, { type: 'text', text: '', state: 'streaming' }]],
  ])('%s leaves the answer that was to be made anew', async (_, parts) => {
    await using store = await openStore(':memory:')
    const chats = chatStore(store)
    const id = await chats.create()
    const question = { id: 'u1', role: 'user', parts: [{ type: 'text', text: 'hi' }] } as const
    const answer = { id: 'a1', role: 'assistant', parts: [{ type: 'text', text: 'ho' }] } as const
    await chats.save({ chatId: id, messages: [question, answer] })
    const turn = await chats.resume({ id, message: question, trigger: 'regenerate-message', messageId: 'a1' })
    await turn.onFinish({ responseMessage: { id: 'b1', role: 'assistant', parts } })
    expect(await chats.load(id)).toEqual([question, answer])
  })
})
