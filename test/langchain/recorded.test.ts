import { BaseChatModel } from '@langchain/core/language_models/chat_models'
import {
  AIMessage,
  AIMessageChunk,
  type BaseMessage,
  HumanMessage,
  ToolMessage,
} from '@langchain/core/messages'
import { StringOutputParser } from '@langchain/core/output_parsers'
import { ChatGenerationChunk, type ChatResult } from '@langchain/core/outputs'
import { ChatPromptTemplate, MessagesPlaceholder } from '@langchain/core/prompts'
import { RunnableWithMessageHistory } from '@langchain/core/runnables'
import { expect, it } from 'vitest'
import { recoveringModel, UndertextChatMessageHistory } from '../../src/adapters/langchain/index.ts'
import { openStore } from '../../src/index.ts'

const usage_metadata = { input_tokens: 50, output_tokens: 7, total_tokens: 57 }

/** Answers a text, or calls a tool, as it is told. */
class Scripted extends BaseChatModel {
  readonly #answers: AIMessage[]

  constructor(...answers: (string | AIMessage)[]) {
    super({})
    this.#answers = answers.map((one) => (typeof one === 'string' ? new AIMessage(one) : one))
  }

  override _llmType(): string {
    return 'scripted'
  }

  override getLsParams() {
    return { ls_provider: 'openai', ls_model_name: 'made-up-1', ls_model_type: 'chat' as const }
  }

  override async _generate(): Promise<ChatResult> {
    const message = this.#answers.shift()!
    Object.assign(message, { usage_metadata })
    return { generations: [{ text: message.text, message }] }
  }

  override async *_streamResponseChunks() {
    const { text, tool_calls: calls = [] } = this.#answers.shift()!
    for (const word of text.split(/(?<= )/))
      yield new ChatGenerationChunk({ text: word, message: new AIMessageChunk(word) })
    const tool_call_chunks = calls.map(({ name, args, id }, index) => ({
      ...{ type: 'tool_call_chunk' as const, index, name, args: JSON.stringify(args) },
      ...(id !== undefined && { id }),
    }))
    const message = new AIMessageChunk({ content: '', tool_call_chunks, usage_metadata } as never)
    yield new ChatGenerationChunk({ text: '', message })
  }
}

const asking = (id: string): AIMessage =>
  new AIMessage({ content: '', tool_calls: [{ name: 'look', args: {}, id, type: 'tool_call' }] })

it.each(['invoke', 'stream', 'text'])('the answer of a chain has its request: %s', async (how) => {
  await using store = await openStore(':memory:')
  const prompt = ChatPromptTemplate.fromMessages([
    ['system', 'Be brief.'],
    new MessagesPlaceholder('history'),
    ['human', '{question}'],
  ])
  const model = recoveringModel(new Scripted('It is so.', 'It is so.'))
  const answering = prompt.pipe(model)
  const chain = new RunnableWithMessageHistory<{ question: string }, unknown>({
    runnable: how === 'text' ? answering.pipe(new StringOutputParser()) : answering,
    getMessageHistory: (sessionId) => new UndertextChatMessageHistory({ store, sessionId }),
    inputMessagesKey: 'question',
    historyMessagesKey: 'history',
  })
  const config = { configurable: { sessionId: 's' } }
  for (const question of ['One?', 'Two?']) {
    if (how !== 'stream') await chain.invoke({ question }, config)
    else for await (const _ of await chain.stream({ question }, config));
  }
  const requests = await store.requests.list('s')
  expect(requests.map(({ answerPositions }) => answerPositions)).toEqual([
    [2, 2],
    [4, 4],
  ])
  for (const [at, { id }] of (await store.getMessages('s')).entries()) {
    if (at % 2 === 0) continue
    const seen = await store.requests.get('s', { answer: id })
    expect(seen).toMatchObject({ id: requests[(at - 1) / 2]!.id, matches: true, system: 'Be brief.' })
    expect(seen.messages).toHaveLength(at)
  }
})

it.each([false, true])('each step of a loop over tools has its request, streamed: %s', async (isStreamed) => {
  await using store = await openStore(':memory:')
  const history = new UndertextChatMessageHistory({ store, sessionId: 's' })
  const model = recoveringModel(new Scripted(asking('c1'), asking('c2'), 'Done.'), history)
  const ask = async (messages: BaseMessage[]): Promise<BaseMessage> => {
    if (!isStreamed) return model.invoke(messages)
    let whole: AIMessageChunk | undefined
    for await (const chunk of await model.stream(messages)) whole = whole?.concat(chunk) ?? chunk
    return whole!
  }
  const before = await history.getMessages()
  const turn: BaseMessage[] = [new HumanMessage('Look twice.')]
  for (const id of ['c1', 'c2'])
    turn.push(
      await ask([...before, ...turn]),
      new ToolMessage({ content: 'seen', tool_call_id: id, name: 'look' }),
    )
  turn.push(await ask([...before, ...turn]))
  await history.addMessages(turn)
  const requests = await store.requests.list('s')
  expect(requests.map(({ answerPositions }) => answerPositions)).toEqual([
    [2, 2],
    [4, 4],
    [6, 6],
  ])
  for (const [at, answer] of [2, 4, 6].entries()) {
    const seen = await store.requests.get('s', { answer })
    expect(seen).toMatchObject({ id: requests[at]!.id, matches: true })
    expect(seen.messages).toHaveLength(answer - 1)
  }
})

it('an answer that was not stored leaves its request to no later, equal answer', async () => {
  await using store = await openStore(':memory:')
  const history = new UndertextChatMessageHistory({ store, sessionId: 's' })
  const model = recoveringModel(new Scripted('OK.', 'OK.', 'OK.'), history)
  for (const [at, content] of ['Delete?', 'List?', 'Bye?'].entries()) {
    const question = new HumanMessage(content)
    const answer = await model.invoke([...(await history.getMessages()), question])
    // A chain may store a copy.
    if (at > 0) await history.addMessages([question, new AIMessage(answer.text)])
  }
  const requests = await store.requests.list('s')
  expect(requests.map(({ answerPositions }) => answerPositions)).toEqual([undefined, [2, 2], [4, 4]])
  for (const [answer, content] of [
    [2, 'List?'],
    [4, 'Bye?'],
  ] as const)
    expect((await store.requests.get('s', { answer })).messages.at(-1)).toMatchObject({ content })
})

it.each([
  ['the message itself', true, false],
  ['its question', false, true],
  ['nothing', false, false],
])('equal answers of calls at the same time differ by %s', async (_, isItself, hasQuestion) => {
  await using store = await openStore(':memory:')
  const history = new UndertextChatMessageHistory({ store, sessionId: 's' })
  const model = recoveringModel(new Scripted('OK.', 'OK.'), history)
  await history.getMessages()
  const questions = ['One?', 'Two?'].map((content) => new HumanMessage(content))
  const answers = await Promise.all(questions.map((question) => model.invoke([question])))
  // The second one is stored first.
  for (const at of [1, 0])
    await history.addMessages([
      ...(hasQuestion ? [questions[at]!] : []),
      isItself ? answers[at]! : new AIMessage('OK.'),
    ])
  const asked = async (answer: number) =>
    (await store.requests.get('s', { answer })).messages.at(-1)!.content as string
  const positions = hasQuestion ? [2, 4] : [1, 2]
  if (isItself || hasQuestion) expect(await Promise.all(positions.map(asked))).toEqual(['Two?', 'One?'])
  else
    for (const answer of positions)
      await expect(asked(answer)).rejects.toMatchObject({ code: 'REQUEST_NOT_FOUND' })
})
