import { APICallError, stepCountIs, streamText, tool, wrapLanguageModel } from 'ai'
import { MockLanguageModelV3, simulateReadableStream } from 'ai/test'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { undertext } from '../../src/adapters/ai-sdk/index.ts'
import { openStore, type Store } from '../../src/index.ts'
import { call, logOf, partsOf, type StreamPart, streamOf, text } from './models.ts'

type Stream = ReadableStream<StreamPart>

/** A model that streams these, in turn. */
function streaming(...streams: readonly (() => Stream)[]): MockLanguageModelV3 {
  let next = 0
  return new MockLanguageModelV3({
    provider: 'openai.chat',
    modelId: 'gpt-4o',
    doStream: async () => ({ stream: streams[next++]!() }),
  })
}

const whole = (words: string) => () => streamOf(partsOf([text(words)])).stream

/** The first parts of an answer, and then this. */
function breaking(what: (controller: ReadableStreamDefaultController<StreamPart>) => void) {
  return (): Stream => {
    const parts = partsOf([text('never to the end')]).slice(0, 3)
    return new ReadableStream<StreamPart>({
      pull(controller) {
        const part = parts.shift()
        if (part === undefined) what(controller)
        else controller.enqueue(part)
      },
    })
  }
}

async function say(store: Store, model: MockLanguageModelV3, prompt: string, abortSignal?: AbortSignal) {
  const errors: unknown[] = []
  const result = streamText({
    model: wrapLanguageModel({ model, middleware: undertext(store, 's') }),
    prompt,
    maxRetries: 0,
    onError: ({ error }) => {
      errors.push(error)
    },
    ...(abortSignal !== undefined && { abortSignal }),
  })
  return { result, errors }
}

async function read(store: Store, model: MockLanguageModelV3, prompt: string) {
  const { result, errors } = await say(store, model, prompt)
  let words = ''
  try {
    for await (const piece of result.textStream) words += piece
  } catch (error) {
    errors.push(error)
  }
  return { words, errors }
}

const BREAKS: Readonly<Record<string, () => Stream>> = {
  'throws in the middle': breaking((controller) => controller.error(new Error('socket hang up'))),
  'tells of an error in the middle': breaking((controller) => {
    controller.enqueue({ type: 'error', error: new Error('overloaded') })
    controller.close()
  }),
  'tells of an error and then ends in order': breaking((controller) => {
    controller.enqueue({ type: 'error', error: new Error('overloaded') })
    controller.enqueue(partsOf([]).at(-1)!)
    controller.close()
  }),
  'ends with the reason "error"': breaking((controller) => {
    const end = partsOf([]).at(-1) as StreamPart & { type: 'finish' }
    controller.enqueue({ ...end, finishReason: { unified: 'error', raw: undefined } })
    controller.close()
  }),
  'stops without an end': breaking((controller) => controller.close()),
}

for (const [name, broken] of Object.entries(BREAKS)) {
  it(`a stream that ${name} leaves nothing, and the next try is whole`, async () => {
    await using store = await openStore(':memory:')
    const model = streaming(whole('one'), broken, whole('two'))
    await read(store, model, 'first')
    const { words } = await read(store, model, 'second')
    expect(words.length).toBeGreaterThan(0)
    expect(await logOf(store)).toEqual(['user: first', 'assistant: one'])
    expect(await read(store, model, 'second')).toEqual({ words: 'two', errors: [] })
    expect(await logOf(store)).toEqual(['user: first', 'assistant: one', 'user: second', 'assistant: two'])
    expect((await store.sessions.verify('s')).findings).toEqual([])
  })
}

it('a stream that is aborted leaves nothing', async () => {
  await using store = await openStore(':memory:')
  const abort = new AbortController()
  const model = streaming(
    breaking((controller) => {
      abort.abort()
      controller.error(new DOMException('aborted', 'AbortError'))
    }),
  )
  const { result } = await say(store, model, 'first', abort.signal)
  const types: string[] = []
  for await (const part of result.fullStream) types.push(part.type)
  expect(types.at(-1)).toBe('abort')
  expect(await store.sessions.get('s').catch((error: { code: string }) => error.code)).toBe(
    'SESSION_NOT_FOUND',
  )
})

it('a stream that is not read to its end stores nothing', async () => {
  await using store = await openStore(':memory:')
  let cancelled = false
  const parts = partsOf([text('a long answer')])
  const model = streaming(
    () =>
      new ReadableStream<StreamPart>({
        pull: (controller) => controller.enqueue(parts.length > 2 ? parts.shift()! : parts[0]!),
        cancel: () => {
          cancelled = true
        },
      }),
  )
  const wrapped = wrapLanguageModel({ model, middleware: undertext(store, 's') })
  const prompt = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'hi' }] }]
  const reader = (await wrapped.doStream({ prompt })).stream.getReader()
  await reader.read()
  await reader.read()
  await reader.cancel()
  expect(cancelled).toBe(true)
  expect(await store.getMessages('s').catch(() => [])).toEqual([])
})

it('an overflow in the first part is answered with a shorter request', async () => {
  await using store = await openStore(':memory:')
  const long = 'word '.repeat(300)
  for (let turn = 0; turn < 6; turn++)
    await store.append('s', [
      { role: 'user', content: `question ${turn}` },
      { role: 'assistant', content: long },
    ])
  const overflow = new APICallError({
    message:
      "This model's maximum context length is 1000 tokens. However, your messages resulted in 3000 tokens.",
    url: 'https://example.com',
    requestBodyValues: {},
    statusCode: 400,
  })
  const told = (): Stream =>
    streamOf([
      { type: 'stream-start', warnings: [] },
      { type: 'error', error: overflow },
    ]).stream
  const model = streaming(told, whole('fits'))
  expect(await read(store, model, 'last')).toEqual({ words: 'fits', errors: [] })
  const [refused, taken] = model.doStreamCalls.map(({ prompt }) => JSON.stringify(prompt).length)
  expect(taken!).toBeLessThan(refused! * 0.7)
  expect((await logOf(store)).slice(-2)).toEqual(['user: last', 'assistant: fits'])
})

it('an error that the patterns of the request take for an overflow is one in a stream too [S3-265]', async () => {
  await using store = await openStore(':memory:')
  for (let turn = 0; turn < 6; turn++)
    await store.append('s', [
      { role: 'user', content: `question ${turn}` },
      { role: 'assistant', content: 'word '.repeat(300) },
    ])
  const error = new Error('zu viel Text')
  const model = streaming(() => streamOf([{ type: 'error', error }]).stream, whole('fits'))
  const overflow = { patterns: [{ provider: 'acme', pattern: 'zu viel text' }] }
  const wrapped = wrapLanguageModel({ model, middleware: undertext(store, 's', { request: { overflow } }) })
  const prompt = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'last' }] }]
  const { stream } = await wrapped.doStream({ prompt })
  for await (const part of stream) expect(part.type).not.toBe('error')
  expect(model.doStreamCalls).toHaveLength(2)
  expect((await logOf(store)).slice(-2)).toEqual(['user: last', 'assistant: fits'])
})

it('any other error in the first part is passed on unchanged', async () => {
  await using store = await openStore(':memory:')
  const error = new Error('rate limited')
  const model = streaming(() => streamOf([{ type: 'error', error }]).stream)
  expect(await read(store, model, 'hi')).toEqual({ words: '', errors: [error] })
  expect(model.doStreamCalls.length).toBe(1)
})

it('parts come as they are made, and the end when everything is stored', async () => {
  await using store = await openStore(':memory:')
  const parts = partsOf([text('word')])
  const model = streaming(() => simulateReadableStream({ chunks: [...parts], chunkDelayInMs: null }))
  const wrapped = wrapLanguageModel({ model, middleware: undertext(store, 's') })
  const prompt = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'hi' }] }]
  const { stream } = await wrapped.doStream({ prompt })
  const seen: StreamPart[] = []
  for await (const part of stream) {
    seen.push(part as StreamPart)
    const stored = await store.getMessages('s').catch(() => [])
    expect(stored.length).toBe(part.type === 'finish' ? 2 : 0)
  }
  expect(seen).toEqual(parts)
})

it('a step is stored before the next one asks', async () => {
  await using store = await openStore(':memory:')
  const logs: string[][] = []
  let step = 0
  const model = new MockLanguageModelV3({
    doStream: async () => {
      logs.push(step === 0 ? [] : await logOf(store))
      return streamOf(partsOf([step++ === 0 ? call('1') : text('Done.')]))
    },
  })
  const look = tool({ inputSchema: z.object({}), execute: () => 'seen' })
  const result = streamText({
    model: wrapLanguageModel({ model, middleware: undertext(store, 's') }),
    prompt: 'go',
    tools: { look },
    stopWhen: stepCountIs(5),
  })
  expect(await result.text).toBe('Done.')
  expect(logs).toEqual([[], ['user: go', 'assistant: call 1']])
})

it('an answer that cannot be stored ends the stream with an error after its text', async () => {
  await using store = await openStore(':memory:')
  const parts = partsOf([text('one')])
  const closing = (): Stream =>
    new ReadableStream<StreamPart>({
      async pull(controller) {
        const part = parts.shift()
        if (part?.type === 'finish') await store.close()
        if (part === undefined) controller.close()
        else controller.enqueue(part)
      },
    })
  const { result } = await say(store, streaming(closing), 'first')
  const words: string[] = []
  const reading = async (): Promise<void> => {
    for await (const piece of result.textStream) words.push(piece)
  }
  await expect(reading()).rejects.toMatchObject({ code: 'STORE_CLOSED' })
  expect(words.join('')).toBe('one')
})

it('a prompt in which the user says nothing is refused before the model is called, and nothing is stored', async () => {
  const store = await openStore(':memory:')
  for (const prompt of ['', ' \n']) {
    const model = streaming(whole('never'))
    const { errors } = await read(store, model, prompt)
    expect(errors).toMatchObject([{ code: 'INVALID_INPUT' }])
    expect(model.doStreamCalls).toEqual([])
  }
  expect(await store.sessions.list()).toEqual([])
  await store.close()
})
