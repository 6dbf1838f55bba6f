import { BaseChatModel } from '@langchain/core/language_models/chat_models'
import { AIMessage, AIMessageChunk, type BaseMessage, HumanMessage } from '@langchain/core/messages'
import { ChatGenerationChunk, type ChatResult } from '@langchain/core/outputs'
import { ChatPromptTemplate, MessagesPlaceholder } from '@langchain/core/prompts'
import { RunnableWithMessageHistory } from '@langchain/core/runnables'
import { expect, it } from 'vitest'
import { recoveringModel, UndertextChatMessageHistory } from '../../src/adapters/langchain/index.ts'
import { openStore } from '../../src/index.ts'

const words = 'It had seemed simple enough in the morning. '
const usage = {
  input_tokens: 5_000,
  output_tokens: 7,
  total_tokens: 5_007,
  input_token_details: { cache_read: 1_000 },
}

/** An integration as ChatOpenAI is one: refuses so many calls, and answers the others in two pieces with a usage. */
class Refusing extends BaseChatModel {
  readonly asked: BaseMessage[][] = []
  readonly tools: unknown[] = []
  readonly #refusals: Error[]

  constructor(refusals: Error[]) {
    super({})
    this.#refusals = refusals
  }

  override _llmType(): string {
    return 'refusing'
  }

  override getLsParams() {
    return { ls_provider: 'openai', ls_model_name: 'made-up-1', ls_model_type: 'chat' as const }
  }

  override bindTools(tools: unknown[]) {
    return this.withConfig({ tools } as never)
  }

  #ask(messages: BaseMessage[], options: unknown): void {
    this.asked.push(messages)
    this.tools.push((options as { tools?: unknown }).tools)
    const refusal = this.#refusals.shift()
    if (refusal !== undefined) throw refusal
  }

  override async _generate(messages: BaseMessage[], options: unknown): Promise<ChatResult> {
    this.#ask(messages, options)
    return {
      generations: [
        { text: 'Done.', message: Object.assign(new AIMessage('Done.'), { usage_metadata: usage }) },
      ],
    }
  }

  override async *_streamResponseChunks(messages: BaseMessage[], options: unknown) {
    this.#ask(messages, options)
    yield new ChatGenerationChunk({ text: 'Do', message: new AIMessageChunk('Do') })
    const message = Object.assign(new AIMessageChunk('ne.'), { usage_metadata: usage })
    yield new ChatGenerationChunk({ text: 'ne.', message })
  }
}

const overflow = (): Error =>
  Object.assign(
    new Error(
      "400 This model's maximum context length is 8192 tokens. However, your messages resulted in 30000 tokens.",
    ),
    { status: 400, code: 'context_length_exceeded' },
  )

type Store = Awaited<ReturnType<typeof openStore>>

async function tellMuch(store: Store, sessionId = 's'): Promise<void> {
  for (let at = 0; at < 20; at++)
    await store.forOwner('ann').append(sessionId, [
      { role: 'user', content: words.repeat(40) },
      { role: 'assistant', content: words.repeat(40) },
    ])
}

function chainOf(
  store: Store,
  model: Refusing,
): RunnableWithMessageHistory<{ question: string }, BaseMessage> {
  const prompt = ChatPromptTemplate.fromMessages([
    ['system', 'Be friendly.'],
    new MessagesPlaceholder('history'),
    ['human', '{question}'],
  ])
  return new RunnableWithMessageHistory({
    runnable: prompt.pipe(recoveringModel(model)),
    getMessageHistory: (sessionId) => new UndertextChatMessageHistory({ store, sessionId, owner: 'ann' }),
    inputMessagesKey: 'question',
    historyMessagesKey: 'history',
  })
}
const config = { configurable: { sessionId: 's' } }
const sizeOf = (messages: readonly BaseMessage[] = []): number =>
  messages.reduce((sum, { text }) => sum + text.length, 0)

async function expectRecovered(store: Store, model: Refusing): Promise<void> {
  expect(model.asked).toHaveLength(2)
  const [whole, shorter] = model.asked
  expect(sizeOf(shorter)).toBeLessThan(sizeOf(whole) * 0.7)
  for (const asked of [whole, shorter]) {
    expect(asked!.filter(({ text }) => text === 'Be friendly.')).toHaveLength(1)
    expect(asked!.filter(({ text }) => text === 'And now?')).toHaveLength(1)
    expect(asked!.at(-1)?.text).toBe('And now?')
  }
  expect(await store.sessions.get('s')).toMatchObject({
    provider: 'openai',
    model: 'made-up-1',
    owner: 'ann',
  })
  expect((await store.listCompactions('s')).map(({ trigger }) => trigger)).toContain('overflow')
  expect(await store.limits.list()).toMatchObject([{ provider: 'openai', model: 'made-up-1', tokens: 8_192 }])
  expect((await store.requests.usage('s')).models).toMatchObject([
    { model: 'made-up-1', requests: 1, inputTokens: 4_000, cacheReadTokens: 1_000, outputTokens: 7 },
  ])
  // 40 messages from before, the question and the answer, which LangChain's listener stores.
  expect((await store.sessions.get('s')).messageCount).toBe(42)
  expect((await store.sessions.verify('s')).findings).toEqual([])
}

it('a chain recovers from an overflow, and records usage, provider, model and owner', async () => {
  await using store = await openStore(':memory:')
  await tellMuch(store)
  const model = new Refusing([overflow()])
  const answer = await chainOf(store, model).invoke({ question: 'And now?' }, config)
  expect(answer.text).toBe('Done.')
  await expectRecovered(store, model)
})

it('a stream recovers before anything of it was passed on', async () => {
  await using store = await openStore(':memory:')
  await tellMuch(store)
  const model = new Refusing([overflow()])
  const pieces: string[] = []
  for await (const piece of await chainOf(store, model).stream({ question: 'And now?' }, config))
    pieces.push(piece.text)
  expect(pieces).toEqual(['Do', 'ne.'])
  await expectRecovered(store, model)
})

it('the first turn of a session is recorded, too', async () => {
  await using store = await openStore(':memory:')
  const model = new Refusing([])
  await chainOf(store, model).invoke({ question: 'Hi' }, config)
  expect(await store.sessions.get('s')).toMatchObject({
    provider: 'openai',
    model: 'made-up-1',
    owner: 'ann',
    messageCount: 2,
  })
  expect((await store.requests.usage('s')).total).toMatchObject({ requests: 1, inputTokens: 4_000 })
})

it('tools are bound to it as to the model, and messages that are stored meanwhile are sent once', async () => {
  await using store = await openStore(':memory:')
  await tellMuch(store)
  const model = new Refusing([overflow()])
  const history = new UndertextChatMessageHistory({ store, sessionId: 's' })
  const tool = {
    type: 'function',
    function: { name: 'look', parameters: { type: 'object', properties: {} } },
  }
  const messages = await history.getMessages()
  const question = new HumanMessage('And now?')
  await history.addMessages([question])
  const answer = await recoveringModel(model, history)
    .bindTools([tool])
    .invoke([...messages, question])
  expect(answer.text).toBe('Done.')
  expect(model.tools).toEqual([[tool], [tool]])
  for (const asked of model.asked) expect(asked.filter(({ text }) => text === 'And now?')).toHaveLength(1)
  expect(sizeOf(model.asked[1])).toBeLessThan(sizeOf(model.asked[0]) * 0.7)
})

it('a prompt that does not hold the whole history is sent as it is, and its error comes back', async () => {
  await using store = await openStore(':memory:')
  await tellMuch(store)
  const refusal = overflow()
  const model = new Refusing([refusal])
  const history = new UndertextChatMessageHistory({ store, sessionId: 's' })
  const messages = await history.getMessages()
  await expect(recoveringModel(model, history).invoke(messages.slice(1))).rejects.toBe(refusal)
  expect(model.asked).toHaveLength(1)
  expect(await store.listCompactions('s')).toEqual([])
  expect((await store.requests.usage('s')).total.requests).toBe(0)
})

it('an error that is no overflow comes back as the model threw it', async () => {
  await using store = await openStore(':memory:')
  await tellMuch(store)
  const failing = new Error('the model fails')
  const model = new Refusing([failing])
  await expect(chainOf(store, model).invoke({ question: 'And now?' }, config)).rejects.toBe(failing)
  expect(await store.listCompactions('s')).toEqual([])
})

it('refuses what is no chat model, and a history of another kind', () => {
  const model = new Refusing([])
  expect(() => recoveringModel(model.bindTools([]) as never)).toThrow('bind tools and settings')
  expect(() => recoveringModel(model, {} as never)).toThrow('UndertextChatMessageHistory')
})

it('a history compacts by default once usage has reached the threshold', async () => {
  const contextWindows = { openai: { tiny: 4_000 } }
  await using store = await openStore(':memory:', { contextWindows })
  const add = async (sessionId: string, compact?: false): Promise<number> => {
    const options = {
      store,
      sessionId,
      provider: 'openai',
      model: 'tiny',
      ...(compact === false && { compact }),
    }
    const history = new UndertextChatMessageHistory(options)
    for (let at = 0; at < 12; at++)
      await history.addMessages([new HumanMessage(words.repeat(20)), new AIMessage(words.repeat(20))])
    return (await store.listCompactions(sessionId)).filter(({ trigger }) => trigger === 'auto').length
  }
  expect(await add('default')).toBeGreaterThan(0)
  expect(await add('never', false)).toBe(0)
})

it('a model receives a blank question as it is', async () => {
  await using store = await openStore(':memory:')
  const model = new Refusing([])
  const history = new UndertextChatMessageHistory({ store, sessionId: 's' })
  for (const question of ['', ' \n'])
    await recoveringModel(model, history).invoke([new HumanMessage(question)])
  expect(model.asked.map((messages) => messages.map(({ text }) => text))).toEqual([[''], [' \n']])
})
