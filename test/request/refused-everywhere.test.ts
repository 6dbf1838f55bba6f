import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import Anthropic from '@anthropic-ai/sdk'
import { ApiError } from '@google/genai'
import { BaseChatModel } from '@langchain/core/language_models/chat_models'
import { AIMessage, AIMessageChunk, type BaseMessage, HumanMessage } from '@langchain/core/messages'
import { ChatGenerationChunk, type ChatResult } from '@langchain/core/outputs'
import { Agent, OpenAIResponsesModel, run, setTracingDisabled } from '@openai/agents'
import { generateText, streamText, type UIMessage, wrapLanguageModel } from 'ai'
import OpenAI from 'openai'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { chatStore, undertext } from '../../src/adapters/ai-sdk/index.ts'
import { toAnthropic } from '../../src/adapters/anthropic/index.ts'
import { toGemini } from '../../src/adapters/google/index.ts'
import { recoveringModel, UndertextChatMessageHistory } from '../../src/adapters/langchain/index.ts'
import { toOpenAI, toOpenAIResponses } from '../../src/adapters/openai/index.ts'
import { UndertextSession } from '../../src/adapters/openai-agents/index.ts'
import { type NewMessage, openStore, type PreparedRequest, type Store } from '../../src/index.ts'
import {
  type ModelServer,
  type ReceivedRequest,
  type Scripted,
  startModelServer,
} from '../support/model-server.ts'

setTracingDisabled(true)

/*
 * A history that a provider refuses, through every way in which an application calls a model. The servers look at what arrives, not at
 * what the package says that it sent, and the libraries give their errors the shapes that they always give them.
 */

const IMAGE = 'iVBORw0KGgoAAAANpoisonImage'
const text = (value: string): NewMessage => ({ role: 'user', content: value })
const said = (value: string): NewMessage => ({ role: 'assistant', content: value })

/** Histories that are refused, each for one part. */
const HISTORIES: { readonly [name: string]: readonly NewMessage[] } = {
  'an image that cannot be decoded': [
    text('Hello.'),
    said('Hi.'),
    {
      role: 'user',
      content: [
        { type: 'text', text: 'See this.' },
        { type: 'image', image: IMAGE, mediaType: 'image/png' },
      ],
    },
    said('I see.'),
  ],
  'the input of a call': [
    text('Write.'),
    {
      role: 'assistant',
      content: [
        { type: 'text', text: 'I write.' },
        { type: 'tool-call', toolCallId: 'call_1poison', toolName: 'write', input: { poisonInput: ['a'] } },
      ],
    },
    {
      role: 'tool',
      content: [
        {
          type: 'tool-result',
          toolCallId: 'call_1poison',
          toolName: 'write',
          output: { type: 'text', value: 'written' },
        },
      ],
    },
    said('Done with that.'),
  ],
  'a character': [text('A sign: \ue000poisonCharacter'), said('Seen.')],
}

/** Where poison is in a list of messages or items: the index of the message, and of the block or call in it. */
type Found = { readonly poison: string; readonly at: number; readonly part?: number; readonly call?: number }

const POISON = /poisonImage|poisonInput|\ue000poisonCharacter/
/** The text that shows a call which is not sent as one has its input, and is no call. */
const jsonOf = (value: unknown): string =>
  JSON.stringify(value, (_, inner) =>
    typeof inner === 'string' && inner.includes('[Call of tool') ? '' : inner,
  )

function poisonIn(list: readonly unknown[]): Found | undefined {
  for (const [at, message] of list.entries()) {
    const poison = POISON.exec(jsonOf(message))?.[0].replace('\ue000', '')
    if (poison === undefined) continue
    const { content, tool_calls: calls, parts } = message as { [name: string]: unknown }
    const indexIn = (inner: unknown): number =>
      Array.isArray(inner) ? inner.findIndex((one) => jsonOf(one).includes(poison)) : -1
    const part = Math.max(indexIn(content), indexIn(parts))
    const call = indexIn(calls)
    return { poison, at, ...(part >= 0 && { part }), ...(part < 0 && call >= 0 && { call }) }
  }
  return undefined
}

const CLAUDE: { readonly [poison: string]: (path: string) => string } = {
  poisonImage: (path) => `${path}.image.source.base64: Could not process image`,
  poisonInput: (path) => `${path}.tool_use.input: Input should be a valid dictionary`,
  poisonCharacter: () =>
    'The request body is not valid JSON: invalid control character in string: line 1 column 241 (char 240)',
}
const GPT: { readonly [poison: string]: (path: string) => string } = {
  poisonImage: (path) =>
    `Invalid '${path}.image_url'. You uploaded an unsupported image. Please make sure your image has of one the following formats: ['png', 'jpeg', 'gif', 'webp'].`,
  poisonInput: (path) => `Invalid '${path}.arguments': arguments must be valid JSON of an object.`,
  poisonCharacter: () => 'We could not parse the JSON body of your request.',
}

function dotted(root: string, { at, part, call }: Found): string {
  return [
    root,
    at,
    ...(part === undefined ? [] : ['content', part]),
    ...(call === undefined ? [] : ['tool_calls', call]),
  ].join('.')
}

function bracketed(root: string, { at, part, call }: Found): string {
  const inner = part === undefined ? (call === undefined ? '' : `.tool_calls[${call}]`) : `.content[${part}]`
  return `${root}[${at}]${inner}`
}

/** What a server says of a request; `undefined` when it answers. */
function refusalOf(format: string, list: readonly unknown[]): string | undefined {
  const pair = unpaired(format, list)
  if (pair !== undefined) return pair
  const found = poisonIn(list)
  if (found === undefined) return undefined
  if (format === 'messages') return CLAUDE[found.poison]!(dotted('messages', found))
  return GPT[found.poison]!(bracketed(format === 'responses' ? 'input' : 'messages', found))
}

/** A result whose call is not in the request. */
function unpaired(format: string, list: readonly unknown[]): string | undefined {
  const calls = new Set<unknown>()
  for (const item of list as { [name: string]: unknown }[]) {
    if (format === 'responses' && item.type === 'function_call') calls.add(item.call_id)
    if (format === 'responses' && item.type === 'function_call_output' && !calls.has(item.call_id))
      return `No tool call found for function call output with call_id ${String(item.call_id)}.`
  }
  return undefined
}

/** What this server says to everything, when it is set: an error for another reason. */
let other: { readonly status: number; readonly message: string } | undefined
/** Whether a stream begins before it is refused. */
let late = false
let calls = 0
let server: ModelServer
beforeAll(async () => {
  server = await startModelServer()
})
afterAll(() => server.close())

function reply({ format, body, stream }: ReceivedRequest): Scripted {
  calls += 1
  if (other !== undefined) return other
  const list = (format === 'responses' ? body.input : body.messages) as readonly unknown[]
  const message = refusalOf(format, list)
  if (message === undefined) return { text: 'Done.' }
  const type = 'invalid_request_error'
  return late && stream
    ? { text: '', errorAfter: 1, streamError: { type, message } }
    : { status: 400, message }
}

let store: Store
beforeEach(async () => {
  other = undefined
  late = false
  calls = 0
  server.script(reply)
  const contextWindows = { openai: { 'made-up-1': 100_000 } }
  store = await openStore(':memory:', { estimator: 'neurolink', env: false, contextWindows })
  return () => store.close()
})

/** Asks once in session `s`, and returns the text of the answer. */
type Face = (provider: string) => Promise<string>

const openai = (): OpenAI => new OpenAI({ apiKey: 'none', baseURL: server.openaiUrl, maxRetries: 0 })
const anthropic = (): Anthropic => new Anthropic({ apiKey: 'none', baseURL: server.url, maxRetries: 0 })
const own = <T>(provider: string, call: (request: PreparedRequest) => Promise<T>): Promise<T> =>
  store.withOverflowRecovery('s', call, { provider, system: 'Be brief.', prompt: 'Go on.' })

const sdkModel = (provider: string) =>
  provider === 'anthropic'
    ? createAnthropic({ baseURL: server.anthropicUrl, apiKey: 'none' })('claude-sonnet-5')
    : createOpenAI({ baseURL: server.openaiUrl, apiKey: 'none' }).chat('made-up-1')

const user: UIMessage = { id: 'u', role: 'user', parts: [{ type: 'text', text: 'Go on.' }] }

/** An integration of LangChain, with the errors that its packages make of a refusal. */
class Served extends BaseChatModel {
  override _llmType(): string {
    return 'served'
  }

  override getLsParams() {
    return { ls_provider: 'openai', ls_model_name: 'made-up-1', ls_model_type: 'chat' as const }
  }

  #ask(messages: BaseMessage[]): void {
    calls += 1
    const wire = messages.map((message) => ({
      content: message.content,
      ...('tool_calls' in message && { tool_calls: message.tool_calls }),
    }))
    const message = other?.message ?? refusalOf('chat', wire)
    const code = other === undefined ? 'INVALID_TOOL_RESULTS' : 'MODEL_AUTHENTICATION'
    if (message === undefined) return
    throw Object.assign(
      new Error(
        `${other?.status ?? 400} ${message}\n\nTroubleshooting URL: https://docs.langchain.com/oss/javascript/langchain/errors/${code}/\n`,
      ),
      {
        status: other?.status ?? 400,
        lc_error_code: code,
        error: { message, type: 'invalid_request_error' },
      },
    )
  }

  override async _generate(messages: BaseMessage[]): Promise<ChatResult> {
    this.#ask(messages)
    return { generations: [{ text: 'Done.', message: new AIMessage('Done.') }] }
  }

  override async *_streamResponseChunks(messages: BaseMessage[]) {
    this.#ask(messages)
    yield new ChatGenerationChunk({ text: 'Done.', message: new AIMessageChunk('Done.') })
  }
}

async function langchainCall(): Promise<[ReturnType<typeof recoveringModel<Served>>, BaseMessage[]]> {
  const history = new UndertextChatMessageHistory({ store, sessionId: 's' })
  return [
    recoveringModel(new Served({}), history),
    [...(await history.getMessages()), new HumanMessage('Go on.')],
  ]
}

async function agentRun(stream: boolean): Promise<string> {
  const session = new UndertextSession({ store, sessionId: 's', provider: 'openai', model: 'made-up-1' })
  const model = session.recovering(new OpenAIResponsesModel(openai() as never, 'made-up-1'))
  const agent = new Agent({ name: 'A', instructions: 'Be brief.', model })
  if (!stream) return String((await run(agent, 'Go on.', { session })).finalOutput)
  const streamed = await run(agent, 'Go on.', { session, stream: true })
  await streamed.completed
  return String(streamed.finalOutput)
}

async function streamedText(
  model: Parameters<typeof streamText>[0]['model'],
  messages?: object,
): Promise<string> {
  let failure: unknown
  const given = messages === undefined ? { prompt: 'Go on.' } : { messages: messages as never }
  const result = streamText({
    model,
    ...given,
    maxRetries: 0,
    onError: ({ error }: { error: unknown }) => {
      failure = error
    },
  } as never)
  await result.consumeStream()
  if (failure !== undefined) throw failure
  return result.text
}

const FACES: readonly (readonly [name: string, provider: string, face: Face])[] = [
  ...(['anthropic', 'openai'] as const).flatMap((provider) => [
    [
      `the middleware of the AI SDK, whole, ${provider}`,
      provider,
      async () => {
        const model = wrapLanguageModel({ model: sdkModel(provider), middleware: undertext(store, 's') })
        return (await generateText({ model, prompt: 'Go on.', maxRetries: 0 })).text
      },
    ] as const,
    [
      `the middleware of the AI SDK, streamed, ${provider}`,
      provider,
      () => streamedText(wrapLanguageModel({ model: sdkModel(provider), middleware: undertext(store, 's') })),
    ] as const,
    [
      `a chat of useChat, ${provider}`,
      provider,
      async () => {
        const model = sdkModel(provider)
        const turn = await chatStore<UIMessage>(store).resume({ id: 's', message: user }, { model })
        return streamedText(turn.model, turn.messages)
      },
    ] as const,
  ]),
  [
    'LangChain, invoke',
    'openai',
    async () => {
      const [model, messages] = await langchainCall()
      return (await model.invoke(messages)).text
    },
  ],
  [
    'LangChain, stream',
    'openai',
    async () => {
      const [model, messages] = await langchainCall()
      let whole = ''
      for await (const piece of await model.stream(messages)) whole += piece.text
      return whole
    },
  ],
  ['OpenAI Agents, whole', 'openai', () => agentRun(false)],
  ['OpenAI Agents, streamed', 'openai', () => agentRun(true)],
  [
    'own calls of @anthropic-ai/sdk',
    'anthropic',
    (provider) =>
      own(provider, async ({ messages, system }) => {
        const body = toAnthropic(messages, { forRequest: true })
        const answer = await anthropic().messages.create({
          model: 'claude-sonnet-5',
          max_tokens: 100,
          ...(body as { messages: [] }),
          system: system!,
        })
        return answer.content.map((block) => (block.type === 'text' ? block.text : '')).join('')
      }),
  ],
  [
    'own calls of @anthropic-ai/sdk, streamed',
    'anthropic',
    (provider) =>
      own(provider, async ({ messages, system }) => {
        const body = toAnthropic(messages, { forRequest: true })
        const stream = anthropic().messages.stream({
          model: 'claude-sonnet-5',
          max_tokens: 100,
          ...(body as { messages: [] }),
          system: system!,
        })
        return stream.finalText()
      }),
  ],
  [
    'own calls of openai, Chat Completions',
    'openai',
    (provider) =>
      own(provider, async ({ messages, system }) => {
        const sent = [{ role: 'system', content: system }, ...toOpenAI(messages)]
        const answer = await openai().chat.completions.create({ model: 'made-up-1', messages: sent as [] })
        return answer.choices[0]!.message.content!
      }),
  ],
  [
    'own calls of openai, Responses',
    'openai',
    (provider) =>
      own(provider, async ({ messages, system }) => {
        const input = toOpenAIResponses(messages) as []
        return (await openai().responses.create({ model: 'made-up-1', instructions: system!, input }))
          .output_text
      }),
  ],
  [
    'own calls of @google/genai',
    'google-ai',
    (provider) =>
      own(provider, async ({ messages }) => {
        calls += 1
        const { contents } = toGemini(messages)
        const found = poisonIn(contents as readonly unknown[])
        const message =
          other?.message ??
          (found &&
            {
              poisonImage:
                'Unable to process input image. Please retry or report in https://developers.generativeai.google/guide/troubleshooting',
              poisonInput: `Invalid value at 'contents[${found.at}].parts[${found.part}].function_call.args' (type.googleapis.com/google.protobuf.Struct), Input should be an object`,
              poisonCharacter: `Invalid value at 'contents[${found.at}].parts[${found.part}].text' (TYPE_STRING), invalid UTF-8 character`,
            }[found.poison])
        const status = other?.status ?? 400
        if (message !== undefined)
          throw new ApiError({
            status,
            message: JSON.stringify({ error: { code: status, message, status: 'INVALID_ARGUMENT' } }),
          })
        return 'Done.'
      }),
  ],
]

const logOf = async (count: number): Promise<string> =>
  JSON.stringify(
    (await store.getMessages('s'))
      .slice(0, count)
      .map(({ id, role, content, metadata }) => [id, role, content, metadata]),
  )

async function expectAnswered(face: Face, provider: string, history: readonly NewMessage[]): Promise<void> {
  await store.append('s', history)
  const log = await logOf(history.length)
  const before = await store.getEffectiveHistory('s')
  expect(await face(provider)).toBe('Done.')
  expect(calls).toBe(2)
  expect(await logOf(history.length)).toBe(log)
  const repairs = await store.listCompactions('s')
  expect(repairs.map(({ kind, trigger, status }) => [kind, trigger, status])).toEqual([
    ['repair', 'refusal', 'active'],
  ])
  const after = await store.getEffectiveHistory('s')
  expect(POISON.test(jsonOf(after))).toBe(false)
  expect((await store.sessions.verify('s')).findings).toEqual([])
  await store.undoCompaction('s', repairs[0]!.id)
  expect((await store.getEffectiveHistory('s')).slice(0, history.length)).toEqual(before)
  await store.redoCompaction('s', repairs[0]!.id)
  expect(await store.getEffectiveHistory('s')).toEqual(after)
  expect((await store.sessions.verify('s')).findings).toEqual([])
}

describe.each(FACES)('%s', (name, provider, face) => {
  it.each(Object.entries(HISTORIES))('a history that is refused for %s is answered', async (_, history) => {
    await expectAnswered(face, provider, history)
  })

  it('a refusal for another reason is passed on at once', async () => {
    const history = HISTORIES['an image that cannot be decoded']!
    await store.append('s', history)
    other = { status: 401, message: 'invalid x-api-key' }
    const error = await face(provider).then(
      (answer) => expect.fail(`answered: ${answer}`),
      (thrown: unknown) => thrown,
    )
    expect(String(error)).toContain('invalid x-api-key')
    expect(calls).toBe(1)
    expect(await store.listCompactions('s')).toEqual([])
  })

  if (/stream|useChat/.test(name) && !name.includes('LangChain'))
    it('a stream whose first event is the refusal is answered', async () => {
      late = true
      await expectAnswered(face, provider, HISTORIES['the input of a call']!)
    })
})

it('a prompt that a middleware keeps after a failed call is repaired in the next one', async () => {
  const middleware = undertext(store, 's', { keepPromptOnFailure: true })
  const model = wrapLanguageModel({ model: sdkModel('anthropic'), middleware })
  const messages = [
    {
      role: 'user' as const,
      content: [
        { type: 'text' as const, text: 'See this.' },
        { type: 'image' as const, image: IMAGE, mediaType: 'image/png' },
      ],
    },
  ]
  const ask = () => generateText({ model, messages, maxRetries: 0 })
  await expect(ask()).rejects.toThrow('Could not process image')
  expect(calls).toBe(1)
  expect((await ask()).text).toBe('Done.')
  expect(calls).toBe(3)
  expect((await store.getMessages('s')).map(({ role }) => role)).toEqual(['user', 'assistant'])
})
