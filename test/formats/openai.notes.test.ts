import { describe, expect, it } from 'vitest'
import { type ConversionNote, UNREAD } from '../../src/adapters/conversion.ts'
import { fromOpenAI } from '../../src/adapters/openai/from-openai.ts'
import { toOpenAI } from '../../src/adapters/openai/to-openai.ts'
import { isUndertextError } from '../../src/core/errors.ts'
import type { Message, Part } from '../../src/core/messages/message.ts'

const part = (given: object): object => ({ role: 'user', content: [given] })
const call = (given: unknown): object => ({ role: 'assistant', content: null, tool_calls: [given] })

/** What Chat Completions does not allow, and where and why. */
const BAD: readonly (readonly [what: string, message: unknown, place: string, why: string])[] = [
  ['message', 'SECRET', '[0]', 'must be an object'],
  [
    'role',
    { role: 'SECRET', content: '' },
    '[0].role',
    'must be system, developer, user, assistant, tool or function',
  ],
  ['answer without its id', { role: 'tool', content: 'SECRET' }, '[0].tool_call_id', 'must be a string'],
  ['call without its id', call({ type: 'function' }), '[0].tool_calls[0].id', 'must be a string'],
  ['list of calls', { role: 'assistant', tool_calls: 'SECRET' }, '[0].tool_calls', 'must be an array'],
  ['old call', { role: 'assistant', function_call: 'SECRET' }, '[0].function_call', 'must be an object'],
  ['refusal', { role: 'assistant', refusal: 7 }, '[0].refusal', 'must be a string'],
  [
    'image',
    part({ type: 'image_url', image_url: 'SECRET' }),
    '[0].content[0].image_url',
    'must be an object',
  ],
  ['address', part({ type: 'image_url', image_url: {} }), '[0].content[0].image_url.url', 'must be a string'],
  [
    'data of an image',
    part({ type: 'image_url', image_url: { url: 'data:image/png;base64,S ECRET' } }),
    '[0].content[0].image_url.url',
    'must be base64',
  ],
  [
    'sound',
    part({ type: 'input_audio', input_audio: { data: 'SECRET!', format: 'wav' } }),
    '[0].content[0].input_audio.data',
    'must be base64',
  ],
  [
    'format of a sound',
    part({ type: 'input_audio', input_audio: { data: 'AAAA' } }),
    '[0].content[0].input_audio.format',
    'must be a string',
  ],
  [
    'file',
    part({ type: 'file', file: { file_data: 'SECRET!' } }),
    '[0].content[0].file.file_data',
    'must be base64',
  ],
  [
    'text of an answer',
    { role: 'tool', tool_call_id: 'a', content: [{ type: 'text' }] },
    '[0].content[0].text',
    'must be a string',
  ],
]

describe('what Chat Completions does not allow', () => {
  it.each(BAD)('is refused: %s', (_, message, place, why) => {
    let problem: unknown
    try {
      fromOpenAI([message as object])
    } catch (error) {
      if (isUndertextError(error, 'INVALID_INPUT')) problem = error.facts.problems
    }
    expect(problem).toBe(`${place}: ${why}`)
  })

  it.each(BAD)('is kept when asked to, and sent nowhere: %s', (_, message, place, why) => {
    const notes: ConversionNote[] = []
    const read = fromOpenAI([{ role: 'user', content: 'before' }, message as object], {
      lenient: true,
      onNote: (note) => notes.push(note),
    })
    expect(notes).toEqual([{ kind: 'unread', messageIndex: 1, place: place.replace('[0]', '[1]'), why }])
    expect(JSON.stringify(read[1])).toContain(UNREAD)

    const untold: ConversionNote[] = []
    const sent = toOpenAI(read, { onNote: (note) => untold.push(note) })
    expect(JSON.stringify(sent)).not.toContain(UNREAD)
    expect(untold).toMatchObject([{ kind: 'not-sent', messageIndex: 1 }])
  })

  it('leaves its place to the part, and to the message only what has no other', () => {
    const read = fromOpenAI([call(7), { role: 'critic' }], { lenient: true })
    const unread = (value: unknown): object => ({
      type: 'provider',
      provider: UNREAD,
      data: { format: 'openai', value },
    })
    expect(read).toEqual([
      { role: 'assistant', content: [unread(7)] },
      { role: 'user', content: [unread({ role: 'critic' })] },
    ])
  })

  it.each([
    'data:image/svg+xml,<svg/>',
    'data:image/svg+xml;charset=utf-8,%3Csvg/%3E',
    'https://x.test/a.png',
    'data:image/png;base64,_-8',
  ])('does not concern the address %s', (url) => {
    const given = [part({ type: 'image_url', image_url: { url } })]
    expect(toOpenAI(fromOpenAI(given))).toEqual(given)
  })
})

it('tells what is kept whole', () => {
  const notes: ConversionNote[] = []
  fromOpenAI(
    [
      part({ type: 'file', file: { file_id: 'file_1' } }),
      part({ type: 'hologram' }),
      call({ type: 'mcp' }),
      { type: 'compaction', encrypted_content: 'g' },
    ],
    { onNote: (note) => notes.push(note) },
  )
  const kept = (messageIndex: number, place: string): ConversionNote => ({
    kind: 'kept',
    messageIndex,
    place,
    why: 'the neutral form has no part for it',
  })
  expect(notes).toEqual([
    kept(0, '[0].content[0]'),
    kept(1, '[1].content[0]'),
    kept(2, '[2].tool_calls[0]'),
    kept(3, '[3]'),
  ])
})

describe('toOpenAI tells', () => {
  const user = (...content: Part[]): Message => ({ role: 'user', content })
  const assistant = (...content: Part[]): Message => ({ role: 'assistant', content })
  const image: Part = { type: 'image', image: 'AAAA' }
  const old = (toolCallId: string): Part => ({
    type: 'tool-call',
    toolCallId,
    toolName: 'f',
    input: {},
    providerOptions: { openai: { type: 'function_call' } },
  })
  const foreign: Part = { type: 'provider', provider: 'anthropic', data: { type: 'document' } }

  it.each<[string, Message, string[]]>([
    ['reasoning', assistant({ type: 'reasoning', text: 'hm' }), ['not-sent .content[0]']],
    ['parts of others', user(foreign), ['not-sent .content[0]']],
    [
      'an item of the Responses API',
      assistant({ type: 'provider', provider: 'openai', data: { item: { type: 'web_search_call' } } }),
      ['not-sent .content[0]'],
    ],
    ["an assistant's image", assistant(image), ['not-sent .content[0]']],
    ["a system's image", { role: 'system', content: [image] }, ['not-sent .content[0]']],
    ['a call of a user', user(old('a')), ['not-sent .content[0]']],
    ['a message without content', user(), ['not-sent ']],
    ['an answer without content', assistant(), ['not-sent ']],
    [
      'a file by its address',
      user({ type: 'file', data: 'https://x.test/a.pdf', mediaType: 'application/pdf' }),
      ['changed .content[0]'],
    ],
    ['old calls together', assistant(old('a'), old('b')), ['changed .content[0]', 'changed .content[1]']],
    [
      'a failure, and what is in it',
      {
        role: 'tool',
        content: [
          {
            type: 'tool-result',
            toolCallId: 'a',
            output: { type: 'content', isError: true, value: [{ type: 'text', text: 'x' }, image, foreign] },
          },
        ],
      },
      [
        'changed .content[0].output',
        'changed .content[0].output.value[1]',
        'not-sent .content[0].output.value[2]',
      ],
    ],
    [
      'nothing of what it can say',
      user({ type: 'text', text: 'a' }, image, { type: 'file', data: 'AAAA', mediaType: 'audio/wav' }),
      [],
    ],
  ])('%s', (_, message, expected) => {
    const notes: ConversionNote[] = []
    toOpenAI([{ role: 'user', content: 'before' }, message], { onNote: (note) => notes.push(note) })
    expect(notes.map(({ kind, place }) => `${kind} ${place}`)).toEqual(
      expected.map((note) => note.replace(' ', ' [1]')),
    )
    expect(notes.every(({ messageIndex }) => messageIndex === 1)).toBe(true)
  })
})
