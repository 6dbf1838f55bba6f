import type { ModelMessage } from 'ai'
import { modelMessageSchema } from 'ai'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fromModelMessages, toModelMessages } from '../../src/adapters/ai-sdk/index.ts'
import type { ConversionNote } from '../../src/index.ts'
import { openStore } from '../../src/index.ts'
import { problemOf } from '../support/failures.ts'
import { modelMessage } from './generators.ts'

describe('there and back', () => {
  it.each([6, 7] as const)('round-trips any message of ai %i', (version) => {
    const target = { version: version === 6 ? 'v3' : 'v4' } as const
    fc.assert(
      fc.property(fc.array(modelMessage(version), { maxLength: 4 }), (messages) => {
        expect(toModelMessages(fromModelMessages(messages), target)).toStrictEqual(messages)
      }),
      { numRuns: 1000 },
    )
  })

  it('also by way of the database', async () => {
    await using store = await openStore(':memory:')
    let sessions = 0
    await fc.assert(
      fc.asyncProperty(fc.array(modelMessage(7), { minLength: 1, maxLength: 4 }), async (messages) => {
        const session = `s${sessions++}`
        await store.append(session, fromModelMessages(messages), { previewToolOutputs: false })
        const rows = await store.getMessages(session)
        expect(toModelMessages(rows, { version: 'v4' })).toStrictEqual(messages)
      }),
      { numRuns: 100 },
    )
  })

  it('makes what the installed version takes', () => {
    fc.assert(
      fc.property(fc.array(modelMessage(6), { maxLength: 3 }), (messages) => {
        const made: ModelMessage[] = toModelMessages(fromModelMessages(messages))
        for (const message of made) {
          const result = modelMessageSchema.safeParse(message)
          // ai 7 has no `media` any more.
          if (!JSON.stringify(message).includes('"type":"media"')) expect(result.success).toBe(true)
        }
      }),
      { numRuns: 300 },
    )
  })
})

type Given = Parameters<typeof fromModelMessages>[0]
const assistant = (...content: object[]) => [{ role: 'assistant', content }] as unknown as Given
const user = (...content: object[]) => [{ role: 'user', content }] as unknown as Given
const tool = (...content: object[]) => [{ role: 'tool', content }] as unknown as Given
const result = (output: unknown) => tool({ type: 'tool-result', toolCallId: '1', toolName: 'look', output })

describe('the neutral form', () => {
  it('has calls, results and pictures as its own parts, and what only the AI SDK knows as parts of its name', () => {
    const read = fromModelMessages([
      ...user({ type: 'image', image: new URL('https://example.test/a.png') }),
      ...assistant(
        { type: 'tool-call', toolCallId: '1', toolName: 'look', input: { at: 'x' } },
        { type: 'tool-approval-request', approvalId: 'p', toolCallId: '1' },
      ),
      ...result({ type: 'execution-denied', reason: 'no' }),
    ])
    expect(read).toEqual([
      {
        role: 'user',
        content: [
          {
            type: 'image',
            image: 'https://example.test/a.png',
            providerOptions: { 'ai-sdk': { url: true } },
          },
        ],
      },
      {
        role: 'assistant',
        content: [
          { type: 'tool-call', toolCallId: '1', toolName: 'look', input: { at: 'x' } },
          {
            type: 'provider',
            provider: 'ai-sdk',
            data: { 'ai-sdk': { type: 'tool-approval-request', approvalId: 'p', toolCallId: '1' } },
          },
        ],
      },
      {
        role: 'tool',
        content: [
          {
            type: 'tool-result',
            toolCallId: '1',
            toolName: 'look',
            output: { type: 'error-text', value: 'no' },
            providerOptions: { 'ai-sdk': { denied: true, reason: 'no' } },
          },
        ],
      },
    ])
  })

  it('takes an ArrayBuffer and a Buffer as bytes, and dates as texts', () => {
    const bytes = new Uint8Array([1, 2])
    const notes: ConversionNote[] = []
    const read = fromModelMessages(
      [
        ...user(
          { type: 'file', data: bytes.buffer, mediaType: 'a/b' },
          { type: 'file', data: Buffer.from(bytes), mediaType: 'a/b' },
        ),
        ...result({ type: 'json', value: { at: new Date(0) } }),
      ],
      { onNote: (note) => notes.push(note) },
    )
    const file = { type: 'file', data: bytes, mediaType: 'a/b' }
    expect(toModelMessages(read)).toStrictEqual([
      { role: 'user', content: [file, file] },
      {
        role: 'tool',
        content: [
          {
            type: 'tool-result',
            toolCallId: '1',
            toolName: 'look',
            output: { type: 'json', value: { at: '1970-01-01T00:00:00.000Z' } },
          },
        ],
      },
    ])
    expect(notes).toEqual([
      {
        kind: 'changed',
        messageIndex: 1,
        place: '[1].content[0].output.value',
        why: "it isn't JSON, so its JSON form is kept",
      },
    ])
  })
})

const IMAGE = { type: 'image', image: 'no base64!' }

describe('bad input', () => {
  it.each<[string, Given, string]>([
    ['no list', 'x' as never, 'messages: must be an array'],
    ['no message', [null] as never, '[0]: must be an object'],
    [
      'an unknown role',
      [{ role: 'owner', content: '' }] as never,
      '[0].role: must be system, user, assistant or tool',
    ],
    ['a list from the system', [{ role: 'system', content: [] }] as never, '[0].content: must be a string'],
    ['a text from a tool', [{ role: 'tool', content: '' }] as never, '[0].content: must be an array'],
    ['no part', user(null as never), '[0].content[0]: must be an object'],
    ['a part without a type', user({ text: '' }), '[0].content[0].type: must be a string'],
    [
      'a part that may not stand there',
      user({ type: 'reasoning', text: '' }),
      '[0].content[0].type: must be text, image or file',
    ],
    ['a text that is none', user({ type: 'text' }), '[0].content[0].text: must be a string'],
    ['binary that is no base64', user(IMAGE), '[0].content[0].image: must be base64'],
    [
      'a data URL whose base64 is none',
      user({ type: 'image', image: 'data:image/png;base64,%' }),
      '[0].content[0].image: must be base64',
    ],
    [
      'a picture that is none',
      user({ type: 'image', image: 1 }),
      '[0].content[0].image: must be base64, bytes or a URL',
    ],
    [
      'a file without a type',
      user({ type: 'file', data: 'AAAA' }),
      '[0].content[0].mediaType: must be a string',
    ],
    [
      'a call without an id',
      assistant({ type: 'tool-call', toolName: 'look', input: {} }),
      '[0].content[0].toolCallId: must be a string',
    ],
    [
      'a result without an id',
      tool({ type: 'tool-result', toolName: 'look', output: { type: 'text', value: '' } }),
      '[0].content[0].toolCallId: must be a string',
    ],
    ['a result without an output', result(undefined), '[0].content[0].output: must be an object'],
    [
      'an output of no kind',
      result({ type: 'x' }),
      '[0].content[0].output.type: must be text, json, execution-denied, error-text, error-json or content',
    ],
    ['JSON without a value', result({ type: 'json' }), '[0].content[0].output.value: is required'],
    [
      'a picture of a tool that is none',
      result({ type: 'content', value: [{ type: 'image-data', data: '%', mediaType: 'a/b' }] }),
      '[0].content[0].output.value[0].data: must be base64',
    ],
    [
      'an answer that says neither',
      tool({ type: 'tool-approval-response', approvalId: 'p' }),
      '[0].content[0].approved: must be true or false',
    ],
    [
      'options that are none',
      user({ type: 'text', text: '', providerOptions: { openai: 1 } }),
      '[0].content[0].providerOptions: must contain only objects',
    ],
  ])('%s is refused', (_, given, problem) => {
    expect(problemOf(() => fromModelMessages(given))).toBe(problem)
  })

  it('lenient keeps it unread, in its place, and sends it nowhere', () => {
    const notes: ConversionNote[] = []
    const options = { lenient: true, onNote: (note: ConversionNote) => notes.push(note) }
    const given = [...user({ type: 'text', text: 'a' }, IMAGE), { role: 'owner', content: 'x' }] as Given
    const read = fromModelMessages(given, options)
    const unread = (value: unknown) => ({
      type: 'provider',
      provider: 'undertext-unread',
      data: { format: 'ai-sdk ModelMessage', value },
    })
    expect(read).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'a' }, unread(IMAGE)] },
      { role: 'user', content: [unread({ role: 'owner', content: 'x' })] },
    ])
    expect(notes.map(({ kind, place }) => [kind, place])).toEqual([
      ['unread', '[0].content[1].image'],
      ['unread', '[1].role'],
    ])
    expect(toModelMessages(read, options)).toEqual([{ role: 'user', content: [{ type: 'text', text: 'a' }] }])
    expect(notes.slice(2).map(({ kind, place, why }) => [kind, place, why])).toEqual([
      ['not-sent', '[0].content[1]', "it couldn't be read"],
      ['not-sent', '[1].content[0]', "it couldn't be read"],
    ])
  })

  it('invalid options are rejected', () => {
    expect(problemOf(() => toModelMessages([], { version: 'v9' as never }))).toBe(
      'toModelMessages: options.version: must be v2, v3 or v4',
    )
  })
})

describe('notes of what is written', () => {
  const PNG = 'iVBORw0KGgo='
  it.each<[string, Parameters<typeof toModelMessages>[0][number], 'v2' | 'v3' | 'v4', unknown, string[]]>([
    [
      'a part of another provider',
      { role: 'assistant', content: [{ type: 'provider', provider: 'openai', data: { type: 'x' } }] },
      'v3',
      [],
      ['not-sent [0].content[0]'],
    ],
    [
      'reasoning that led to such a part alone',
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: 'Hm.' },
          { type: 'provider', provider: 'openai', data: { type: 'x' } },
          { type: 'text', text: ' ' },
        ],
      },
      'v3',
      [],
      ['not-sent [0].content[1]'],
    ],
    [
      'reasoning alone, as it was stored',
      { role: 'assistant', content: [{ type: 'reasoning', text: 'Hm.' }] },
      'v3',
      [{ role: 'assistant', content: [{ type: 'reasoning', text: 'Hm.' }] }],
      [],
    ],
    [
      'a picture of an assistant',
      { role: 'assistant', content: [{ type: 'image', image: PNG }] },
      'v3',
      [{ role: 'assistant', content: [{ type: 'file', data: PNG, mediaType: 'image/*' }] }],
      ['changed [0].content[0]'],
    ],
    [
      'a failed result with a picture',
      {
        role: 'tool',
        content: [
          {
            type: 'tool-result',
            toolCallId: '1',
            output: {
              type: 'content',
              isError: true,
              value: [{ type: 'image', image: PNG, mediaType: 'image/png' }],
            },
          },
        ],
      },
      'v3',
      [
        {
          role: 'tool',
          content: [
            {
              type: 'tool-result',
              toolCallId: '1',
              toolName: 'unknown',
              output: { type: 'content', value: [{ type: 'image-data', data: PNG, mediaType: 'image/png' }] },
            },
          ],
        },
      ],
      ['changed [0].content[0].output'],
    ],
    [
      'results beside words of a user',
      {
        role: 'user',
        content: [
          { type: 'tool-result', toolCallId: '1', toolName: 'look', output: { type: 'text', value: 'x' } },
          { type: 'text', text: 'and?' },
        ],
      },
      'v3',
      [
        {
          role: 'tool',
          content: [
            { type: 'tool-result', toolCallId: '1', toolName: 'look', output: { type: 'text', value: 'x' } },
          ],
        },
        { role: 'user', content: [{ type: 'text', text: 'and?' }] },
      ],
      [],
    ],
    [
      'a call of a user',
      { role: 'user', content: [{ type: 'tool-call', toolCallId: '1', toolName: 'look', input: {} }] },
      'v3',
      [],
      ['not-sent [0].content[0]'],
    ],
    [
      'an approval, to ai 5',
      fromModelMessages(tool({ type: 'tool-approval-response', approvalId: 'p', approved: true }))[0]!,
      'v2',
      [],
      ['not-sent [0].content[0]'],
    ],
  ])('%s', (_, message, version, expected, places) => {
    const notes: string[] = []
    const onNote = ({ kind, place }: ConversionNote) => void notes.push(`${kind} ${place}`)
    expect(toModelMessages([message], { version, onNote })).toEqual(expected)
    expect(notes).toEqual(places)
  })
})
