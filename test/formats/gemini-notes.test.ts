import { describe, expect, it } from 'vitest'
import { messageOfAnswer } from '../../src/adapters/ai-sdk/answers.ts'
import type { ConversionNote } from '../../src/adapters/conversion.ts'
import { fromGemini } from '../../src/adapters/google/from-gemini.ts'
import { toGemini } from '../../src/adapters/google/to-gemini.ts'
import type { Message, Part } from '../../src/core/messages/message.ts'
import { failureOf } from './refusals.ts'

const HELD =
  'text, inlineData, fileData, functionCall, functionResponse, executableCode, codeExecutionResult, toolCall, toolResponse'
const opaque = (value: unknown): Part => ({
  type: 'provider',
  provider: 'undertext-unread',
  data: { format: 'google', value } as never,
})

describe('contents that Gemini cannot have produced', () => {
  it.each<[string, unknown, string, string]>([
    ['an unknown role', { role: 'critic', parts: [] }, '.role', 'must be user, model or function'],
    ['a system content', { role: 'system', parts: [] }, '.role', 'must be user, model or function'],
    ['no content', 'SECRET', '', 'must be an object'],
    ['parts that are none', { role: 'user', parts: 'SECRET' }, '.parts', 'must be an array'],
  ])('refuses %s, and keeps it as a message of the user when lenient', (_, content, where, rule) => {
    const given = { contents: [{ role: 'user', parts: [{ text: 'a' }] }, content as object] }
    expect(failureOf(() => fromGemini(given))).toBe(`contents[1]${where}: ${rule}`)

    const notes: ConversionNote[] = []
    const read = fromGemini(given, { lenient: true, onNote: (note) => notes.push(note) })
    expect(read).toStrictEqual([
      { role: 'user', content: 'a' },
      { role: 'user', content: [opaque(content)] },
    ])
    expect(notes).toStrictEqual([
      { kind: 'unread', messageIndex: 1, place: `contents[1]${where}`, why: rule },
    ])
  })

  it.each<[string, 'user' | 'model', unknown, string, string]>([
    ['no part', 'user', 'SECRET', '', 'must be an object'],
    ['an empty part', 'user', {}, '', `must have one of ${HELD}`],
    ['a part that only tells', 'model', { thought: true }, '', `must have one of ${HELD}`],
    [
      'a part of two things',
      'model',
      { text: 'SECRET', functionCall: { name: 'f' } },
      '',
      `must have only one of ${HELD}`,
    ],
    ['a text of a number', 'user', { text: 7 }, '.text', 'must be a string'],
    ['a thought perhaps', 'model', { text: 'SECRET', thought: 'yes' }, '.thought', 'must be true or false'],
    [
      'a signature of a number',
      'model',
      { text: 'SECRET', thoughtSignature: 7 },
      '.thoughtSignature',
      'must be a string',
    ],
    ['bytes of no type', 'user', { inlineData: { data: '' } }, '.inlineData.mimeType', 'must be a string'],
    [
      'bytes that are none',
      'user',
      { inlineData: { data: 'SECRET!', mimeType: 'image/png' } },
      '.inlineData.data',
      'must be base64',
    ],
    ['a file at no address', 'user', { fileData: {} }, '.fileData.fileUri', 'must be a string'],
    ['a call of nothing', 'model', { functionCall: { args: {} } }, '.functionCall.name', 'must be a string'],
    [
      'arguments that are none',
      'model',
      { functionCall: { name: 'f', args: 'SECRET' } },
      '.functionCall.args',
      'must be an object',
    ],
    [
      'a call of the user',
      'user',
      { functionCall: { name: 'f' } },
      '',
      'a functionCall must be in a content of the model',
    ],
    [
      'an answer of the model',
      'model',
      { functionResponse: { name: 'f' } },
      '',
      'a functionResponse must be in a content of the user',
    ],
    [
      'an answer to nothing',
      'user',
      { functionResponse: { response: {} } },
      '.functionResponse.name',
      'must be a string',
    ],
    [
      'an answer that is a text',
      'user',
      { functionResponse: { name: 'f', response: 'SECRET' } },
      '.functionResponse.response',
      'must be an object',
    ],
    [
      'no code',
      'model',
      { executableCode: { language: 'PYTHON' } },
      '.executableCode.code',
      'must be a string',
    ],
    ['no result', 'model', { codeExecutionResult: 'SECRET' }, '.codeExecutionResult', 'must be an object'],
  ])('refuses %s, and keeps it in its place when lenient', (_, role, part, where, rule) => {
    const said = { text: 'a' }
    const given = [{ role, parts: [said, part, said] }]
    const place = `[0].parts[1]${where}`
    expect(failureOf(() => fromGemini(given))).toBe(`${place}: ${rule}`)

    const notes: ConversionNote[] = []
    const read = fromGemini(given, { lenient: true, onNote: (note) => notes.push(note) })
    const text = { type: 'text', text: 'a' }
    expect(read).toStrictEqual([
      { role: role === 'model' ? 'assistant' : 'user', content: [text, opaque(part), text] },
    ])
    expect(notes).toStrictEqual([{ kind: 'unread', messageIndex: 0, place, why: rule }])
    expect(toGemini(read).contents).toStrictEqual([{ role, parts: [said, said] }])
  })

  it.each<[unknown, string]>([
    ['SECRET', 'input: must be an object'],
    [{ contents: 'SECRET' }, 'contents: must be an array'],
    [{ contents: [], systemInstruction: 7 }, 'systemInstruction: must be an object'],
    [{ contents: [], systemInstruction: { parts: 7 } }, 'systemInstruction.parts: must be an array'],
    [{ contents: [], systemInstruction: ['a', {}] }, `systemInstruction[1]: must have one of ${HELD}`],
  ])('refuses %j', (input, problem) => {
    expect(failureOf(() => fromGemini(input as never))).toBe(problem)
  })
})

describe('what is reported', () => {
  it('names parts that are kept whole', () => {
    const notes: ConversionNote[] = []
    fromGemini(
      [
        {
          role: 'model',
          parts: [
            { executableCode: { code: 'SECRET', language: 'PYTHON' } },
            { functionCall: { willContinue: true } },
            { tomorrow: 'SECRET' },
          ],
        },
        {
          role: 'user',
          parts: [{ functionResponse: { name: 'f', response: {}, parts: [{ tomorrow: 1 }] } }],
        },
      ],
      { onNote: (note) => notes.push(note) },
    )

    const why = (what: string) => `the neutral form has no part for ${what}`
    const unknown = why('a part of an unknown kind')
    expect(notes).toStrictEqual([
      { kind: 'kept', messageIndex: 0, place: '[0].parts[0]', why: why('this executableCode') },
      { kind: 'kept', messageIndex: 0, place: '[0].parts[1]', why: why('this piece of a functionCall') },
      { kind: 'kept', messageIndex: 0, place: '[0].parts[2]', why: unknown },
      { kind: 'kept', messageIndex: 1, place: '[1].parts[0].functionResponse.parts[0]', why: unknown },
    ])
  })

  it.each<[string, Message, [string, string][]]>([
    ['a blank message', { role: 'user', content: ' ' }, [['not-sent', '[1].content[0]']]],
    ['an empty message', { role: 'assistant', content: [] }, [['not-sent', '[1].content']]],
    ['a later system message', { role: 'system', content: 'a' }, [['changed', '[1]']]],
    [
      'parts of others',
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: 'a', providerOptions: { anthropic: { signature: 's' } } },
          { type: 'provider', provider: 'anthropic', data: { type: 'redacted_thinking', data: '' } },
          { type: 'provider', provider: 'undertext-unread', data: {} },
          { type: 'provider', provider: 'google-ai', data: { 'ai-sdk': { type: 'custom' } } },
        ],
      },
      [0, 1, 2, 3].map((i) => ['not-sent', `[1].content[${i}]`]),
    ],
    [
      'a call by another provider, with its result within',
      {
        role: 'assistant',
        content: [
          { type: 'tool-call', toolCallId: 'a', toolName: 'n', input: 'x', providerExecuted: true },
          {
            type: 'tool-result',
            toolCallId: 'b',
            output: { type: 'content', value: [{ type: 'provider', provider: 'openai', data: {} }] },
          },
        ],
      },
      [
        ['changed', '[1].content'],
        ['not-sent', '[1].content[1].output.value[0]'],
        ['changed', '[1].content[1]'],
        ['changed', '[1].content[0].input'],
        ['changed', '[1].content[0]'],
        ['changed', '[1].content'],
      ],
    ],
    [
      'what simply converts',
      { role: 'user', content: [{ type: 'image', image: 'AAAA', mediaType: 'image/png' }] },
      [],
    ],
  ])('names %s', (_, message, expected) => {
    const notes: [string, number, string][] = []
    toGemini([{ role: 'user', content: 'a' }, message], {
      onNote: ({ kind, messageIndex, place }) => notes.push([kind, messageIndex, place]),
    })
    expect(notes).toEqual(expected.map(([kind, place]) => [kind, 1, place]))
  })

  it('sends no image within a system instruction', () => {
    const notes: ConversionNote[] = []
    const sent = toGemini(
      [
        { role: 'system', content: 'a' },
        { role: 'system', content: [{ type: 'image', image: 'AAAA' }] },
      ],
      { onNote: (note) => notes.push(note) },
    )
    expect(sent).toStrictEqual({ systemInstruction: { parts: [{ text: 'a' }] }, contents: [] })
    expect(notes).toStrictEqual([
      {
        kind: 'not-sent',
        messageIndex: 1,
        place: '[1].content[0]',
        why: 'a system instruction can only contain text',
      },
    ])
  })

  it('rejects invalid options', () => {
    expect(failureOf(() => toGemini([], { dummySignatures: 1 as never }))).toBe(
      'google: options.dummySignatures must be true or false',
    )
    expect(failureOf(() => fromGemini([], { lenient: 1 as never }))).toBe(
      'google: options.lenient must be true or false',
    )
  })
})

describe('messages that the AI SDK made', () => {
  it.each(['google', 'googleVertex', 'vertex'])(
    'keep signatures and calls of Gemini itself, by the name %s',
    (name) => {
      const sdk = (providerMetadata: object) => ({ providerMetadata: { [name]: providerMetadata } })
      const server = { serverToolCallId: 'st_1', serverToolType: 'GOOGLE_SEARCH_WEB' }
      const message = messageOfAnswer(
        {
          content: [
            { type: 'reasoning', text: 'I look.', ...sdk({ thoughtSignature: 'dGhpbms=' }) },
            { type: 'text', text: 'Looking.' },
            {
              type: 'tool-call',
              toolCallId: 'a',
              toolName: 'server:GOOGLE_SEARCH_WEB',
              input: '{"queries":["x"]}',
              providerExecuted: true,
              ...sdk({ ...server, thoughtSignature: 'c2VhcmNo' }),
            },
            {
              type: 'tool-result',
              toolCallId: 'a',
              toolName: 'server:GOOGLE_SEARCH_WEB',
              result: { found: 1 },
              ...sdk(server),
            },
            {
              type: 'tool-call',
              toolCallId: 'b',
              toolName: 'read',
              input: '{"path":"a.ts"}',
              ...sdk({ thoughtSignature: 'Y2FsbA==' }),
            },
            { type: 'tool-call', toolCallId: 'c', toolName: 'read', input: '{"path":"b.ts"}' },
          ],
          finishReason: 'tool-calls',
          usage: undefined,
          providerMetadata: undefined,
        },
        'google-ai',
      ) as Message

      expect(toGemini([message]).contents).toStrictEqual([
        {
          role: 'model',
          parts: [
            { text: 'I look.', thought: true, thoughtSignature: 'dGhpbms=' },
            { text: 'Looking.' },
            {
              toolCall: { id: 'st_1', toolType: 'GOOGLE_SEARCH_WEB', args: { queries: ['x'] } },
              thoughtSignature: 'c2VhcmNo',
            },
            { toolResponse: { id: 'st_1', toolType: 'GOOGLE_SEARCH_WEB', response: { found: 1 } } },
            {
              functionCall: { id: 'b', name: 'read', args: { path: 'a.ts' } },
              thoughtSignature: 'Y2FsbA==',
            },
            { functionCall: { id: 'c', name: 'read', args: { path: 'b.ts' } } },
          ],
        },
      ])
    },
  )
})
