import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fromAnthropic } from '../../src/adapters/anthropic/from-anthropic.ts'
import { toAnthropic } from '../../src/adapters/anthropic/to-anthropic.ts'
import { fromGemini } from '../../src/adapters/google/from-gemini.ts'
import { toGemini } from '../../src/adapters/google/to-gemini.ts'
import { fromOpenAI } from '../../src/adapters/openai/from-openai.ts'
import { toOpenAI } from '../../src/adapters/openai/to-openai.ts'
import { canonicalJson, stringifyJson } from '../../src/core/messages/json.ts'
import {
  type Message,
  type Part,
  type ToolResultOutput,
  withOutputText,
} from '../../src/core/messages/message.ts'
import { renderView } from '../../src/core/rendering/render.ts'
import { validateHistory } from '../../src/core/rendering/validate.ts'
import { frozen } from '../support/failures.ts'
import { expectViewAccepted } from '../support/requests.ts'
import { sharedPath } from '../support/shared.ts'
import { geminiContents, geminiInstruction } from './gemini-contents.ts'

/** Reads and writes, also by way of the text a database would hold, and expects what was given. */
function expectSame(contents: readonly object[], systemInstruction?: unknown): void {
  const given = systemInstruction === undefined ? { contents } : { systemInstruction, contents }
  const read = fromGemini(frozen(given))
  for (const messages of [read, JSON.parse(stringifyJson(read)) as Message[]]) {
    const sent = toGemini(frozen(messages))
    expect(sent).toStrictEqual(given)
    expect(canonicalJson(sent)).toBe(canonicalJson(given))
  }
}

const DUMMY = 'skip_thought_signature_validator'
const PNG = 'iVBORw0KGgoAAAANSUhEUg=='

const user = (...parts: object[]) => ({ role: 'user', parts })
const model = (...parts: object[]) => ({ role: 'model', parts })
const call = (name: string, args: object, rest: object = {}) => ({ functionCall: { name, args }, ...rest })
const answer = (name: string, response: object, rest: object = {}) => ({
  functionResponse: { name, response, ...rest },
})

/** The parts that one part of the user's is read as. */
function partsRead(...parts: object[]): Part[] {
  return fromGemini([user(...parts)]).flatMap(({ content }) => content as Part[])
}

describe('fromGemini', () => {
  it('reads a conversation with parallel calls that have no ids', () => {
    const read = fromGemini({
      systemInstruction: 'Be brief.',
      contents: [
        user({ text: 'How warm is it in Rome and in Oslo, and what time is it?' }),
        model(
          { text: 'Two cities.', thought: true },
          { text: 'Looking.' },
          call('weather', { city: 'Rome' }, { thoughtSignature: 'c2ln' }),
          call('weather', { city: 'Oslo' }),
          { functionCall: { name: 'time' } },
        ),
        user(
          answer('weather', { output: '20 °C' }),
          answer('weather', { error: 'no such city' }),
          answer('time', { hour: 12 }),
        ),
        model({ text: '20 °C.', thoughtSignature: 'c2lo' }),
      ],
    })

    expect(read).toStrictEqual([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'How warm is it in Rome and in Oslo, and what time is it?' },
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: 'Two cities.', providerOptions: { google: {} } },
          { type: 'text', text: 'Looking.' },
          {
            type: 'tool-call',
            toolCallId: 'gemini_call_weather',
            toolName: 'weather',
            input: { city: 'Rome' },
            providerOptions: { google: { thoughtSignature: 'c2ln', functionCall: { id: null } } },
          },
          {
            type: 'tool-call',
            toolCallId: 'gemini_call_weather_2',
            toolName: 'weather',
            input: { city: 'Oslo' },
            providerOptions: { google: { functionCall: { id: null } } },
          },
          {
            type: 'tool-call',
            toolCallId: 'gemini_call_time',
            toolName: 'time',
            input: {},
            providerOptions: { google: { functionCall: { id: null, args: null } } },
          },
        ],
      },
      {
        role: 'tool',
        content: [
          {
            type: 'tool-result',
            toolCallId: 'gemini_call_weather',
            toolName: 'weather',
            output: { type: 'text', value: '20 °C' },
            providerOptions: { google: { functionResponse: { id: null } } },
          },
          {
            type: 'tool-result',
            toolCallId: 'gemini_call_weather_2',
            toolName: 'weather',
            output: { type: 'error-text', value: 'no such city' },
            providerOptions: { google: { functionResponse: { id: null } } },
          },
          {
            type: 'tool-result',
            toolCallId: 'gemini_call_time',
            toolName: 'time',
            output: { type: 'json', value: { hour: 12 } },
            providerOptions: { google: { functionResponse: { id: null } } },
          },
        ],
      },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: '20 °C.', providerOptions: { google: { thoughtSignature: 'c2lo' } } },
        ],
      },
    ])
    expect(validateHistory(read, 'google-ai')).toEqual([])
  })

  it('pairs answers with the newest open calls, in their order, and never reuses an id', () => {
    const contents = [
      model(call('f', { of: 'an answer that never came' })),
      user({ text: 'Go on.' }),
      model(
        call('f', { n: 1 }),
        { functionCall: { id: 'gemini_call_f_3', name: 'g', args: {} } },
        call('f', { n: 2 }),
      ),
      user(answer('f', { output: '1' }), answer('g', { output: 'g' }), answer('f', { output: '2' })),
      user(answer('f', { output: 'late' }), answer('f', { output: 'of nothing' })),
    ]
    const ids = fromGemini(contents).flatMap(({ content }) =>
      (typeof content === 'string' ? [] : content).flatMap((part) =>
        part.type === 'tool-call' || part.type === 'tool-result' ? [part.toolCallId] : [],
      ),
    )

    expect(ids).toEqual([
      'gemini_call_f',
      'gemini_call_f_2',
      'gemini_call_f_3',
      'gemini_call_f_4',
      'gemini_call_f_2',
      'gemini_call_f_3',
      'gemini_call_f_4',
      'gemini_call_f',
      'gemini_call_f_5',
    ])
    expectSame(contents)
  })

  it('gives calls and answers the same ids when they are read in two batches', () => {
    const [asked] = fromGemini([model(call('get.it', {}), call('get.it', {}))])
    const [answered] = fromGemini([user(answer('get.it', {}), answer('get.it', {}))])
    const ids = (message: Message | undefined) =>
      ((message as Message).content as Part[]).map((part) => ('toolCallId' in part ? part.toolCallId : ''))

    expect(ids(asked)).toEqual(['gemini_call_get_it', 'gemini_call_get_it_2'])
    expect(ids(answered)).toEqual(ids(asked))
  })

  it('keeps given ids, and leaves the call of an unfinished answer open', () => {
    const contents = [
      model(
        { functionCall: { id: 'a', name: 'f', args: {} } },
        { functionCall: { id: 'b', name: 'f', args: {} } },
      ),
      user(
        { functionResponse: { id: 'b', response: { output: 'to b' } } },
        answer('f', { output: 'more to come' }, { willContinue: true }),
        answer('f', { output: 'done' }),
      ),
    ]
    const [, answered] = fromGemini(contents)
    const read = ((answered as Message).content as Part[]).map((part) =>
      part.type === 'tool-result' ? [part.toolCallId, part.toolName] : [],
    )

    expect(read).toEqual([
      ['b', 'f'],
      ['a', 'f'],
      ['a', 'f'],
    ])
    expectSame(contents)
  })

  it.each<[object, ToolResultOutput]>([
    [{ output: 'a' }, { type: 'text', value: 'a' }],
    [{ result: 'a' }, { type: 'text', value: 'a' }],
    [{ error: 'a' }, { type: 'error-text', value: 'a' }],
    [{ output: { a: 1 } }, { type: 'json', value: { a: 1 } }],
    [{ result: [1] }, { type: 'json', value: [1] }],
    [{ error: { code: 1 } }, { type: 'error-json', value: { code: 1 } }],
    [
      { error: 'a', code: 1 },
      { type: 'error-json', value: { error: 'a', code: 1 } },
    ],
    [{ error: null }, { type: 'json', value: { error: null } }],
    [
      { output: 'a', error: 'b' },
      { type: 'json', value: { output: 'a', error: 'b' } },
    ],
    [{ temperature: 20 }, { type: 'json', value: { temperature: 20 } }],
    [{}, { type: 'json', value: {} }],
  ])('reads the answer %j, and writes it again', (response, output) => {
    const [part] = partsRead(answer('f', response))
    expect(part).toMatchObject({ output })
    expectSame([user(answer('f', response))])
  })

  it('reads an answer with an image', () => {
    const parts = [{ inlineData: { data: PNG, mimeType: 'image/png', displayName: 'a.png' } }]
    const [part] = partsRead(answer('f', { output: 'see' }, { id: 'a', parts }))

    expect(part).toStrictEqual({
      type: 'tool-result',
      toolCallId: 'a',
      toolName: 'f',
      output: {
        type: 'content',
        value: [
          { type: 'text', text: 'see' },
          {
            type: 'image',
            image: PNG,
            mediaType: 'image/png',
            providerOptions: { google: { inlineData: { displayName: 'a.png' } } },
          },
        ],
      },
    })
  })

  it.each<[string, object, Part]>([
    [
      'an image with its resolution',
      {
        inlineData: { data: PNG, mimeType: 'image/png' },
        mediaResolution: { level: 'MEDIA_RESOLUTION_LOW' },
      },
      {
        type: 'image',
        image: PNG,
        mediaType: 'image/png',
        providerOptions: { google: { mediaResolution: { level: 'MEDIA_RESOLUTION_LOW' } } },
      },
    ],
    [
      'a stretch of a video',
      {
        fileData: { fileUri: 'https://x.test/v', mimeType: 'video/mp4', displayName: 'v' },
        videoMetadata: { startOffset: '1s' },
      },
      {
        type: 'file',
        data: 'https://x.test/v',
        mediaType: 'video/mp4',
        filename: 'v',
        providerOptions: { google: { videoMetadata: { startOffset: '1s' } } },
      },
    ],
    [
      'a file of an unknown type',
      { fileData: { fileUri: 'gs://a/b' } },
      {
        type: 'file',
        data: 'gs://a/b',
        mediaType: 'application/octet-stream',
        providerOptions: { google: { fileData: { mimeType: null } } },
      },
    ],
    [
      'a file by its name',
      { fileData: { fileUri: 'files/abc', mimeType: 'application/pdf' } },
      {
        type: 'provider',
        provider: 'google',
        data: { fileData: { fileUri: 'files/abc', mimeType: 'application/pdf' } },
      },
    ],
    ['a blank text', { text: '' }, { type: 'text', text: '', providerOptions: { google: {} } }],
    [
      'code that was executed',
      { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '4' } },
      {
        type: 'provider',
        provider: 'google',
        data: { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '4' } },
      },
    ],
  ])('reads %s, and writes it again', (_, given, part) => {
    expect(partsRead(given)).toStrictEqual([part])
    expectSame([user(given)])
  })

  it('reads contents without a role by what they hold, and those of older versions', () => {
    const contents = [
      { parts: [{ text: 'hi' }] },
      { parts: [call('f', {})] },
      { role: 'function', parts: [answer('f', { output: 'a' })] },
      { role: 'model' },
    ]

    expect(fromGemini(contents).map(({ role, metadata }) => [role, metadata])).toStrictEqual([
      ['user', { google: { role: null } }],
      ['assistant', { google: { role: null } }],
      ['tool', { google: { role: 'function' } }],
      ['assistant', { google: { parts: null } }],
    ])
    expectSame(contents)
  })
})

describe('toGemini', () => {
  it('writes what never came from Gemini by its rules', () => {
    const sent = toGemini([
      { role: 'system', content: 'Be brief.' },
      { role: 'system', content: [{ type: 'text', text: 'Be kind.' }] },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is this?' },
          { type: 'image', image: `data:image/png;base64,${PNG}` },
          { type: 'file', data: 'https://x.test/a.pdf', mediaType: 'application/pdf' },
        ],
      },
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: 'hm', providerOptions: { anthropic: { signature: 's' } } },
          { type: 'text', text: ' ' },
          { type: 'tool-call', toolCallId: 'call_1', toolName: 'look', input: { at: 'it' } },
          { type: 'tool-call', toolCallId: 'call_2', toolName: 'look', input: 'it' },
        ],
      },
      {
        role: 'tool',
        content: [{ type: 'tool-result', toolCallId: 'call_2', output: { type: 'error-text', value: 'no' } }],
      },
      {
        role: 'tool',
        content: [
          {
            type: 'tool-result',
            toolCallId: 'call_1',
            toolName: 'look',
            output: {
              type: 'content',
              value: [
                { type: 'text', text: 'a ' },
                { type: 'image', image: PNG, mediaType: 'image/png' },
                { type: 'text', text: 'dot' },
              ],
            },
          },
        ],
      },
      { role: 'system', content: 'Hurry.' },
      { role: 'assistant', content: [] },
      { role: 'assistant', content: 'A dot.' },
    ])

    expect(sent).toStrictEqual({
      systemInstruction: { parts: [{ text: 'Be brief.' }, { text: 'Be kind.' }] },
      contents: [
        user(
          { text: 'What is this?' },
          { inlineData: { data: PNG, mimeType: 'image/png' } },
          { fileData: { fileUri: 'https://x.test/a.pdf', mimeType: 'application/pdf' } },
        ),
        model(
          { functionCall: { id: 'call_1', name: 'look', args: { at: 'it' } }, thoughtSignature: DUMMY },
          { functionCall: { id: 'call_2', name: 'look', args: { arguments: 'it' } } },
        ),
        user(
          answer(
            'look',
            { output: 'a \ndot' },
            {
              id: 'call_1',
              parts: [{ inlineData: { data: PNG, mimeType: 'image/png' } }],
            },
          ),
          answer('look', { error: 'no' }, { id: 'call_2' }),
        ),
        user({ text: 'Hurry.' }),
        model({ text: 'A dot.' }),
      ],
    })
  })

  it("sends no signature of its own when that is turned off, or when the call is Gemini's", () => {
    const asked: Message = {
      role: 'assistant',
      content: [{ type: 'tool-call', toolCallId: 'a', toolName: 'f', input: {} }],
    }
    const bare = [model({ functionCall: { id: 'a', name: 'f', args: {} } })]

    expect(toGemini([asked], { dummySignatures: false }).contents).toStrictEqual(bare)
    expect(toGemini(fromGemini(bare)).contents).toStrictEqual(bare)
    expect(toGemini([asked]).contents).toStrictEqual([
      model({ functionCall: { id: 'a', name: 'f', args: {} }, thoughtSignature: DUMMY }),
    ])
  })

  it.each<[ToolResultOutput, object]>([
    [{ type: 'text', value: 'a' }, { output: 'a' }],
    [{ type: 'error-text', value: 'a' }, { error: 'a' }],
    [{ type: 'json', value: { a: 1 } }, { a: 1 }],
    [{ type: 'json', value: { output: 1 } }, { output: { output: 1 } }],
    [{ type: 'json', value: { error: 1, b: 2 } }, { output: { error: 1, b: 2 } }],
    [{ type: 'json', value: [1] }, { output: [1] }],
    [{ type: 'error-json', value: { a: 1 } }, { error: { a: 1 } }],
    [{ type: 'content', value: [] }, {}],
    [{ type: 'content', value: [], isError: true }, { error: '' }],
    [{ type: 'content', value: [{ type: 'text', text: 'a' }], isError: true }, { error: 'a' }],
  ])('writes the output %j', (output, response) => {
    const part: Part = { type: 'tool-result', toolCallId: 'a', toolName: 'f', output }
    expect(toGemini([{ role: 'tool', content: [part] }]).contents).toStrictEqual([
      user(answer('f', response, { id: 'a' })),
    ])
  })

  it.each([
    [{ output: 'a long answer' }, { output: 'short' }],
    [{ result: 'a long answer' }, { result: 'short' }],
    [{ result: { long: true } }, { result: 'short' }],
    [{ error: 'a long answer' }, { error: 'short' }],
    [{ error: 'long', code: 1 }, { error: 'short' }],
    [{ long: true }, { output: 'short' }],
    [{ output: 1, long: true }, { output: 'short' }],
  ])('shows another text in place of the answer %j', (response, shown) => {
    const parts = partsRead(answer('f', response)).map((part) =>
      part.type === 'tool-result' ? { ...part, output: withOutputText(part.output, 'short') } : part,
    )
    expect(toGemini([{ role: 'tool', content: parts }]).contents).toStrictEqual([user(answer('f', shown))])
  })

  it('splits an assistant message at its results', () => {
    const { contents } = toGemini([
      {
        role: 'assistant',
        content: [
          { type: 'tool-call', toolCallId: 'a', toolName: 'search', input: {}, providerExecuted: true },
          { type: 'tool-result', toolCallId: 'a', output: { type: 'text', value: 'found' } },
          { type: 'text', text: 'There.' },
        ],
      },
    ])

    expect(contents).toStrictEqual([
      model({ functionCall: { id: 'a', name: 'search', args: {} }, thoughtSignature: DUMMY }),
      user(answer('search', { output: 'found' }, { id: 'a' })),
      model({ text: 'There.' }),
    ])
  })

  it('writes a conversation with Anthropic so that it can be read again, and the other way round', () => {
    const messages = [
      { role: 'user', content: 'How warm is it in Rome and in Oslo?' },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'Two cities.', signature: 'sig' },
          { type: 'tool_use', id: 'toolu_1', name: 'weather', input: { city: 'Rome' } },
          { type: 'tool_use', id: 'toolu_2', name: 'weather', input: { city: 'Oslo' } },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'toolu_2', content: '5 °C' },
          { type: 'tool_result', tool_use_id: 'toolu_1', content: '20 °C' },
        ],
      },
    ]
    const read = fromAnthropic(messages)
    const { contents } = toGemini(read)

    expect(contents).toStrictEqual([
      user({ text: 'How warm is it in Rome and in Oslo?' }),
      model(
        { functionCall: { id: 'toolu_1', name: 'weather', args: { city: 'Rome' } }, thoughtSignature: DUMMY },
        { functionCall: { id: 'toolu_2', name: 'weather', args: { city: 'Oslo' } } },
      ),
      user(
        answer('weather', { output: '20 °C' }, { id: 'toolu_1' }),
        answer('weather', { output: '5 °C' }, { id: 'toolu_2' }),
      ),
    ])
    expect(validateHistory(fromGemini(contents), 'google-ai')).toEqual([])
    expect(toAnthropic(read).messages).toStrictEqual(messages)
    expect(toAnthropic(fromGemini(contents)).messages[1]).toStrictEqual({
      role: 'assistant',
      content: messages[1]?.content.slice(1),
    })
  })
})

describe('the round trip', () => {
  it('returns any contents unchanged, and does not change its input', () => {
    fc.assert(
      fc.property(geminiContents, (contents) => expectSame(contents)),
      { numRuns: 1_000 },
    )
  })

  it('returns any system instruction unchanged', () => {
    fc.assert(fc.property(geminiInstruction, (instruction) => expectSame([], instruction)))
  })

  it('writes any contents so that Anthropic and OpenAI can read them', () => {
    fc.assert(
      fc.property(geminiContents, (contents) => {
        const read = fromGemini(contents)
        const { messages } = toAnthropic(read)
        expect(toAnthropic(fromAnthropic(messages)).messages).toStrictEqual(messages)
        expect(() => fromOpenAI(toOpenAI(read))).not.toThrow()
      }),
      { numRuns: 300 },
    )
  })

  it('writes a real session with Anthropic by the rules, and reads what it wrote', (context) => {
    const path = sharedPath('corpus/coding-session.anthropic.jsonl')
    if (path === undefined) return context.skip()
    const session = readFileSync(path, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as object)
    const view = fromAnthropic(session).map((message, i) => ({
      ...message,
      id: `m${i}`,
      kind: 'message' as const,
      position: i + 1,
      createdAt: 0,
    }))
    expectViewAccepted(view, ['google-ai'])
    const { contents } = toGemini(renderView(view, { provider: 'google-ai' }).messages)
    const held = contents.map(({ parts = [] }) => ({
      calls: parts.flatMap(({ functionCall }) => functionCall?.id ?? []),
      answers: parts.flatMap(({ functionResponse }) => functionResponse?.id ?? []),
    }))

    for (const [index, { calls }] of held.entries())
      if (calls.length > 0) expect(held[index + 1]?.answers).toEqual(calls)
    // 454 calls are in the file, 448 results; the rendering answers the rest.
    expect(held.flatMap(({ answers }) => answers)).toHaveLength(454)
    expect(contents.every(({ parts = [] }) => parts.length > 0)).toBe(true)
    expectSame(contents)
  })
})
