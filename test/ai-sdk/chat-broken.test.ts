import { readUIMessageStream, stepCountIs, streamText, tool, type UIMessage } from 'ai'
import { MockLanguageModelV3 } from 'ai/test'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { type ChatStore, chatStore } from '../../src/adapters/ai-sdk/index.ts'
import { openStore, type Store } from '../../src/index.ts'
import { type Content, call, partsOf, type StreamPart, streamOf, text } from './models.ts'

/* Answers that broke off, as a chat stores and loads them. */

let store: Store
let chats: ChatStore<UIMessage>
beforeEach(async () => {
  store = await openStore(':memory:', { env: false })
  chats = chatStore<UIMessage>(store)
})
afterEach(() => store.close())

const START: StreamPart[] = [
  { type: 'stream-start', warnings: [] },
  { type: 'text-start', id: '1' },
  { type: 'text-delta', id: '1', delta: 'Half an' },
]
const FAILURE: StreamPart = { type: 'error', error: new Error('overloaded') }

type Ending = {
  /** The streams of the model's calls, one after the other. */
  readonly streams: readonly (readonly StreamPart[])[]
  /** Whether the model is given by its name alone, so that no call is seen. */
  readonly byName?: boolean
  readonly signal?: AbortSignal
  /** Ends each stream with an error instead of an end. */
  readonly fails?: boolean
}

/** A turn whose model sends these streams; returns the assistant's parts as the chat loads them. */
async function partsAfter({ streams, byName = false, signal, fails = false }: Ending) {
  let at = 0
  const model = new MockLanguageModelV3({
    doStream: async () => {
      const parts = streams[at++] ?? []
      if (!fails) return streamOf(parts)
      let next = 0
      return {
        stream: new ReadableStream<StreamPart>({
          pull(controller) {
            const part = parts[next++]
            if (part === undefined) controller.error(new Error('connection reset'))
            else controller.enqueue(part)
          },
        }),
      }
    },
  })
  const body = { id: 'c', message: { id: 'u1', role: 'user', parts: [{ type: 'text', text: 'Go.' }] } }
  const named = { provider: 'openai', model: 'gpt-4o' }
  const turn = byName ? { ...(await chats.resume(body, named)), model } : await chats.resume(body, { model })
  const result = streamText({
    model: turn.model,
    messages: turn.messages,
    tools: { look: tool({ inputSchema: z.object({}), execute: () => 'seen' }) },
    stopWhen: stepCountIs(3),
    maxRetries: 0,
    onError: () => {},
    ...(signal && { abortSignal: signal }),
  })
  const stream = result.toUIMessageStream({
    originalMessages: turn.originalMessages,
    generateMessageId: turn.generateMessageId,
    onFinish: turn.onFinish,
    onError: () => 'failed',
  })
  for await (const _ of readUIMessageStream({ stream, onError: () => {} }));
  return (await chats.load('c'))[1]?.parts.map((part) => {
    if (part.type === 'text') return `${part.text} (${part.state})`
    return 'state' in part ? `${part.type} (${part.state})` : part.type
  })
}

describe('the beginning of an answer', () => {
  const half = ['step-start', 'Half an (streaming)']
  const closed: StreamPart[] = [...START, { type: 'text-end', id: '1' }]
  const called = partsOf([text('Looking.'), call('t1')])
  const looked = ['step-start', 'Looking. (done)', 'tool-look (output-available)']

  it.each<[string, Ending, string[]]>([
    ['with an error in its middle', { streams: [[...START, FAILURE]] }, half],
    ['whose connection fails', { streams: [START], fails: true }, half],
    ['without an end', { streams: [START] }, half],
    ['without an end after a closed text', { streams: [closed] }, half],
    ['with an error after a closed text', { streams: [[...closed, FAILURE]] }, half],
    ['whose connection fails after a closed text', { streams: [closed], fails: true }, half],
    [
      'with an error after a closed text, of a model given by name',
      { streams: [[...closed, FAILURE]], byName: true },
      half,
    ],
    [
      'that fails after a result',
      { streams: [called, [FAILURE]] },
      [...looked, 'step-start', ' (streaming)'],
    ],
    ['that ends without an end after a result', { streams: [called, []] }, [...looked, ' (streaming)']],
    [
      'within the arguments of a call',
      {
        streams: [
          [
            { type: 'stream-start', warnings: [] },
            { type: 'tool-input-start', id: 't1', toolName: 'look' },
            { type: 'tool-input-delta', id: 't1', delta: '{' },
            FAILURE,
          ],
        ],
      },
      ['step-start', 'tool-look (input-streaming)'],
    ],
  ])('%s is loaded as unfinished', async (_, ending, expected) => {
    expect(await partsAfter(ending)).toEqual(expected)
  })

  it('that a button stopped after a closed text is loaded as unfinished', async () => {
    const body = { id: 'c', message: { id: 'u1', role: 'user', parts: [{ type: 'text', text: 'Go.' }] } }
    const { onFinish } = await chats.resume(body)
    const parts = [{ type: 'text', text: 'Half an', state: 'done' }]
    await onFinish({ responseMessage: { id: 'a1', role: 'assistant', parts }, isAborted: true })
    const [, answer] = await chats.load('c')
    expect(answer?.parts).toEqual([{ type: 'text', text: 'Half an', state: 'streaming' }])
  })

  it('stays as it is when a browser that shows it as done sends the whole chat', async () => {
    await partsAfter({ streams: [closed] })
    const [question, answer] = await chats.load('c')
    const parts = answer!.parts.map((part) => (part.type === 'text' ? { ...part, state: 'done' } : part))
    const next = { id: 'u2', role: 'user', parts: [{ type: 'text', text: 'Go on.' }] }
    const { saved } = await chats.resume({ id: 'c', messages: [question, { ...answer, parts }, next] })
    expect(saved).toMatchObject({ rowsAppended: 1, rowsHidden: 0 })
    expect((await chats.load('c'))[1]).toEqual(answer)
  })

  it('is not sent with the empty text that marks its end, and the chat goes on', async () => {
    await partsAfter({ streams: [called, [FAILURE]] })
    for (const provider of ['anthropic', 'openai', 'google', 'mistral']) {
      const body = {
        id: 'c',
        message: { id: `u-${provider}`, role: 'user', parts: [{ type: 'text', text: 'Again.' }] },
      }
      const { messages, end } = await chats.resume(body, { provider, model: 'some' })
      await end()
      expect(JSON.stringify(messages)).not.toContain('"text":""')
      expect(JSON.stringify(messages)).toContain('seen')
    }
  })
})

describe('an answer that reached its end', () => {
  it.each<[string, readonly Content[], boolean]>([
    ['', [text('All.')], false],
    [' of a model given by name', [text('All.')], true],
  ])('is loaded as done%s', async (_, content, byName) => {
    expect(await partsAfter({ streams: [partsOf(content)], byName })).toEqual(['step-start', 'All. (done)'])
  })

  it('at the limit of output tokens is loaded as done: its text is all that the model sent', async () => {
    const parts = partsOf([text('As far as')]).map(
      (part): StreamPart =>
        part.type === 'finish' ? { ...part, finishReason: { unified: 'length', raw: 'length' } } : part,
    )
    expect(await partsAfter({ streams: [parts] })).toEqual(['step-start', 'As far as (done)'])
  })

  it('after a result is loaded as done', async () => {
    const streams = [partsOf([call('t1')]), partsOf([text('Seen.')])]
    expect(await partsAfter({ streams })).toEqual([
      'step-start',
      'tool-look (output-available)',
      'step-start',
      'Seen. (done)',
    ])
  })
})
