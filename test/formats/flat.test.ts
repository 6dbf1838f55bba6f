import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ConversionNote } from '../../src/adapters/conversion.ts'
import { detectFormat } from '../../src/adapters/detect.ts'
import { fromChatMessages } from '../../src/adapters/flat/from-chat-messages.ts'
import { toChatMessages } from '../../src/adapters/flat/to-chat-messages.ts'
import type { Message, NewMessage, Part } from '../../src/core/messages/message.ts'
import { messageProblem } from '../../src/core/messages/message-check.ts'
import type { ChatMessage } from '../../src/core/model/message-parts.ts'
import { openStore } from '../../src/index.ts'
import { frozen, problemOf } from '../support/failures.ts'

const RUNS = process.env.LONG === '1' ? 20_000 : 1_000

const call = (toolCallId: string, more: object = {}): Part => ({
  type: 'tool-call',
  toolCallId,
  toolName: 'look',
  input: { q: 1 },
  ...more,
})
const answer = (toolCallId: string, value = 'ok'): Part => ({
  type: 'tool-result',
  toolCallId,
  toolName: 'look',
  output: { type: 'text', value },
})

describe('fromChatMessages', () => {
  it('reads a conversation, one message for one', () => {
    const flat: ChatMessage[] = [
      { role: 'system', content: 'Be brief.' },
      { id: 'u1', role: 'user', content: 'What is in a.ts?', metadata: { from: 'ann' } },
      { role: 'tool_call', content: 'Reading', tool: 'read', toolCallId: 'c1', args: { path: 'a.ts' } },
      { role: 'tool_result', content: 'one', tool: 'read', toolCallId: 'c1' },
      { role: 'assistant', content: 'One.', condenseParent: 's1' },
      { role: 'system', content: 'Before: one.', condenseId: 's1', metadata: { isSummary: true } },
    ]
    expect(fromChatMessages(frozen(flat))).toStrictEqual([
      { role: 'system', content: 'Be brief.' },
      { id: 'u1', role: 'user', content: 'What is in a.ts?', metadata: { from: 'ann' } },
      {
        role: 'assistant',
        content: [
          {
            type: 'tool-call',
            toolCallId: 'c1',
            toolName: 'read',
            input: { path: 'a.ts' },
            providerOptions: { flat: { content: 'Reading' } },
          },
        ],
      },
      {
        role: 'tool',
        content: [
          { type: 'tool-result', toolCallId: 'c1', toolName: 'read', output: { type: 'text', value: 'one' } },
        ],
      },
      { role: 'assistant', content: 'One.', metadata: { flat: { fields: { condenseParent: 's1' } } } },
      {
        role: 'system',
        content: 'Before: one.',
        metadata: { isSummary: true, flat: { fields: { condenseId: 's1' } } },
      },
    ])
  })

  it('joins calls without ids to their results by neighbourhood, and names results after them', () => {
    const read = fromChatMessages([
      { role: 'tool_call', content: '', tool: 'look', args: {} },
      { role: 'tool_call', content: '', tool: 'list', args: {} },
      { role: 'tool_result', content: 'b', tool: 'list' },
      { role: 'tool_result', content: 'a' },
    ])
    const parts = read.map(({ content }) => content[0] as Extract<Part, { toolCallId: string }>)
    const [first, second, listed, looked] = parts
    expect(listed!.toolCallId).toBe(second!.toolCallId)
    expect(looked!.toolCallId).toBe(first!.toolCallId)
    expect(first!.toolCallId).not.toBe(second!.toolCallId)
    expect(looked!.toolName).toBe('look')
  })

  it.each<[string, object, unknown]>([
    ['args', { args: { a: 1 }, input: { b: 2 } }, { a: 1 }],
    ['input', { input: [1] }, [1]],
    ['input beside null', { args: null, input: 2 }, 2],
    ['a text that spells an object', { content: ' {"a":1}' }, { a: 1 }],
    ['a text that spells none', { content: '{"a":' }, '{"a":'],
    ['null', { args: null }, null],
    ['nothing', {}, ''],
  ])('takes for the arguments %s', (_, fields, expected) => {
    const flat = [{ role: 'tool_call', content: '', tool: 'look', toolCallId: 'a', ...fields }]
    const read = fromChatMessages(flat)
    expect(read[0]!.content[0]).toMatchObject({ type: 'tool-call', input: expected })
    expect(toChatMessages(read)).toStrictEqual(flat)
  })

  it.each<[object, string]>([
    [{ isError: true }, 'error-text'],
    [{ result: { success: false } }, 'error-text'],
    [{ result: { success: true } }, 'text'],
    [{ isError: false }, 'text'],
  ])('reads of %j how a call ended', (fields, type) => {
    const flat = [{ role: 'tool_result', content: 'x', tool: 'look', toolCallId: 'a', ...fields }]
    const read = fromChatMessages(flat)
    expect(read[0]!.content[0]).toMatchObject({ output: { type, value: 'x' } })
    expect(toChatMessages(read)).toStrictEqual(flat)
  })

  it.each<[string, unknown, string]>([
    ['no object', 'hello', '[1]: must be an object'],
    [
      'an unknown role',
      { role: 'developer', content: '' },
      '[1].role: must be system, user, assistant, tool, tool_call or tool_result',
    ],
    ['no content', { role: 'user' }, '[1].content: must be a string or an array of parts'],
    [
      'a call whose content is a number',
      { role: 'tool_call', content: 1 },
      '[1].content: must be a string or an array of parts',
    ],
    ['an id that is a number', { role: 'user', content: '', id: 1 }, '[1].id: must be a string'],
    ['a tool that is a number', { role: 'tool_call', content: '', tool: 1 }, '[1].tool: must be a string'],
    [
      'an id of a call that is null',
      { role: 'tool_result', content: '', toolCallId: null },
      '[1].toolCallId: must be a string',
    ],
    [
      'metadata that are a list',
      { role: 'user', content: '', metadata: [] },
      '[1].metadata: must be an object',
    ],
    [
      'calls of OpenAI’s',
      { role: 'assistant', content: '', tool_calls: [] },
      "[1].tool_calls: isn't a field of this format; use fromOpenAI to read it",
    ],
    [
      'parts of another form',
      { role: 'user', content: [{ type: 'image_url' }] },
      '[1].content[0].type: is unknown (messages of another format? fromOpenAI converts them)',
    ],
    ['arguments JSON cannot say', { role: 'tool_call', content: '', args: 1n }, '[1]: contains '],
  ])('refuses %s, and keeps it with lenient', (_, bad, problem) => {
    const good = { role: 'user', content: 'hello' }
    expect(problemOf(() => fromChatMessages([good, bad] as object[]))).toContain(problem)
    const notes: ConversionNote[] = []
    const read = fromChatMessages([good, bad, good] as object[], {
      lenient: true,
      onNote: (n) => notes.push(n),
    })
    expect(read).toHaveLength(3)
    expect(read[1]).toMatchObject({
      role: 'user',
      content: [{ type: 'provider', provider: 'undertext-unread' }],
    })
    expect(notes).toMatchObject([{ kind: 'unread', messageIndex: 1 }])
    expect(`${notes[0]!.place}: ${notes[0]!.why}`).toContain(problem)
    expect(toChatMessages(read)).toHaveLength(2)
  })

  it('rejects a value that is not a list, lenient or not', () => {
    for (const lenient of [false, true])
      expect(problemOf(() => fromChatMessages({} as never, { lenient }))).toBe('messages: must be an array')
  })
})

describe('toChatMessages', () => {
  const written = (messages: readonly Message[]): { flat: ChatMessage[]; notes: string[] } => {
    const notes: string[] = []
    const flat = toChatMessages(frozen(messages), {
      onNote: ({ kind, place }) => notes.push(`${kind} ${place}`),
    })
    return { flat, notes }
  }

  it('makes a message of each text, call and result', () => {
    const messages: NewMessage[] = [
      {
        id: 'a1',
        role: 'assistant',
        content: [{ type: 'text', text: 'Looking ' }, { type: 'text', text: 'twice.' }, call('a'), call('b')],
        metadata: { mine: 1 },
      },
      { role: 'tool', content: [answer('a'), answer('b', 'no')] },
      { role: 'user', content: [{ type: 'text', text: '' }, answer('x'), { type: 'text', text: 'and?' }] },
    ]
    expect(written(messages)).toEqual({
      flat: [
        { id: 'a1', role: 'assistant', content: 'Looking twice.', metadata: { mine: 1 } },
        { role: 'tool_call', content: '', tool: 'look', toolCallId: 'a', args: { q: 1 } },
        { role: 'tool_call', content: '', tool: 'look', toolCallId: 'b', args: { q: 1 } },
        { role: 'tool_result', content: 'ok', tool: 'look', toolCallId: 'a' },
        { role: 'tool_result', content: 'no', tool: 'look', toolCallId: 'b' },
        { role: 'tool_result', content: 'ok', tool: 'look', toolCallId: 'x' },
        { role: 'user', content: 'and?' },
      ],
      notes: [],
    })
  })

  it('reports what has no place, and what is shown as something else', () => {
    const image: Part = { type: 'image', image: 'aGk=' }
    const failed: Part = {
      type: 'tool-result',
      toolCallId: 'a',
      output: { type: 'content', value: [{ type: 'text', text: 'see' }, image as never], isError: true },
    }
    const messages: Message[] = [
      {
        role: 'user',
        content: [{ type: 'text', text: 'x' }, image, { type: 'file', data: '', mediaType: 'a/b' }],
      },
      { role: 'assistant', content: [{ type: 'reasoning', text: 'hm' }] },
      {
        role: 'assistant',
        content: [call('a', { providerExecuted: true }), { type: 'provider', provider: 'x', data: 1 }],
      },
      { role: 'tool', content: [failed, { type: 'text', text: 'words' }] },
      { role: 'user', content: [] },
    ]
    expect(written(messages)).toEqual({
      flat: [
        { role: 'user', content: 'x' },
        { role: 'tool_call', content: '', tool: 'look', toolCallId: 'a', args: { q: 1 } },
        { role: 'tool_result', content: 'see', toolCallId: 'a', isError: true },
        { role: 'user', content: 'words' },
      ],
      notes: [
        'not-sent [0].content[1]',
        'not-sent [0].content[2]',
        'not-sent [1].content[0]',
        'changed [2].content[0]',
        'not-sent [2].content[1]',
        'not-sent [3].content[0].output.value[1]',
        'changed [3].content[1]',
        'not-sent [4]',
      ],
    })
  })

  it('writes what was shown in place of an output or an input', () => {
    const read = fromChatMessages([
      { role: 'tool_call', content: '{"q":1}', tool: 'look' },
      { role: 'tool_result', content: 'long', isError: true },
    ])
    const [asked, said] = read.map(({ content }) => content[0]) as [Part & object, Part & object]
    const shown: Message[] = [
      { ...read[0]!, content: [{ ...asked, input: { q: 2 } } as Part] },
      { ...read[1]!, content: [{ ...said, output: { type: 'error-text', value: 'short' } } as Part] },
    ]
    expect(toChatMessages(shown)).toEqual([
      { role: 'tool_call', content: '{"q":1}', tool: 'look', args: { q: 2 } },
      { role: 'tool_result', content: 'short', isError: true },
    ])
  })

  it('writes an id that was made up once it is another', () => {
    const [read] = fromChatMessages([{ role: 'tool_call', content: '', tool: 'look', args: 1 }])
    const part = { ...(read!.content[0] as Part & object), toolCallId: 'call_1' } as Part
    expect(toChatMessages([{ role: 'assistant', content: [part] }])).toEqual([
      { role: 'tool_call', content: '', tool: 'look', toolCallId: 'call_1', args: 1 },
    ])
  })

  it('rejects unknown roles and parts', () => {
    expect(problemOf(() => toChatMessages([{ role: 'nobody', content: '' }] as never))).toBe(
      '[0].role: must be system, user, assistant or tool',
    )
    expect(problemOf(() => toChatMessages([{ role: 'user', content: [{ type: 'x' }] }] as never))).toBe(
      "[0].content[0].type: isn't a part type",
    )
  })

  it('gives the rows of a store with their ids and tags, as the functions for plain lists take them', async () => {
    await using store = await openStore(':memory:')
    const long = 'word '.repeat(400)
    for (let n = 0; n < 6; n++)
      await store.append('s', [
        { id: `u${n}`, role: 'user', content: `${n} ${long}` },
        { id: `a${n}`, role: 'assistant', content: `${n} ${long}` },
      ])
    const run = await store.compactSession('s', { targetTokens: 1_500 })
    const flat = toChatMessages(await store.getMessages('s'))
    const summary = flat.find(({ metadata }) => metadata?.isSummary === true)!
    expect(summary.condenseId).toBe(run!.compactions[0]!.id)
    const hidden = flat.filter(({ condenseParent }) => condenseParent === summary.condenseId)
    expect(hidden.map(({ id }) => id)).toEqual(
      (await store.getMessages('s')).filter(({ condenseParent }) => condenseParent).map(({ id }) => id),
    )
    expect(hidden.length).toBeGreaterThan(2)
  })
})

/** Everything the form can say. */
const word = fc.constantFrom('', 'a', 'b', ' {"a":1}', '{"a":', 'words')
const json = fc.jsonValue({ maxDepth: 2 }).map((value) => JSON.parse(JSON.stringify(value)) as unknown)
const record = fc.dictionary(fc.constantFrom('isSummary', 'x', 'flat', 'openai'), json, {
  maxKeys: 2,
  noNullPrototype: true,
})
const common = {
  id: fc.constantFrom('', 'm1', 'm2', 'm3'),
  metadata: record,
  condenseId: word,
  condenseParent: word,
  truncationId: word,
  truncationParent: word,
  isTruncationMarker: fc.boolean(),
  pinned: fc.boolean(),
  name: fc.constantFrom('look', 'ann'),
  tool_call_id: fc.constantFrom('a', 'z'),
  note: json,
}
const tool = {
  tool: fc.constantFrom('', 'look', 'list', 'unknown'),
  toolCallId: fc.constantFrom('', 'a', 'b', 'call 0.0'),
}
const some = (
  fields: { [name: string]: fc.Arbitrary<unknown> },
  ...required: string[]
): fc.Arbitrary<object> => fc.record(fields, { requiredKeys: required, noNullPrototype: true })

const flatMessage = fc.oneof(
  some(
    { ...common, ...tool, args: json, role: fc.constantFrom('system', 'user', 'assistant'), content: word },
    'role',
    'content',
  ),
  some(
    { ...common, ...tool, role: fc.constant('tool_call'), content: fc.option(word), args: json, input: json },
    'role',
  ),
  some(
    {
      ...common,
      ...tool,
      role: fc.constantFrom('tool_result', 'tool'),
      content: fc.option(word),
      isError: fc.boolean(),
      result: fc.record({ success: fc.boolean() }, { noNullPrototype: true }),
    },
    'role',
  ),
  some(
    {
      ...common,
      ...tool,
      role: fc.constantFrom('system', 'user', 'assistant', 'tool', 'tool_call', 'tool_result'),
      content: fc.array(
        fc.constantFrom<Part>(
          call('a'),
          call(''),
          answer('b'),
          answer(''),
          { type: 'text', text: 'x' },
          { type: 'image', image: 'aGk=' },
        ),
        { maxLength: 3 },
      ),
    },
    'role',
    'content',
  ),
)

describe('there and back', () => {
  it('returns everything that the form can express', () => {
    fc.assert(
      fc.property(fc.array(flatMessage, { maxLength: 8 }), (flat) => {
        const notes: ConversionNote[] = []
        const read = fromChatMessages(frozen(flat), { onNote: (note) => notes.push(note) })
        expect(read).toHaveLength(flat.length)
        for (const message of read) expect(messageProblem(message)).toBeUndefined()
        const stored = JSON.parse(JSON.stringify(read)) as NewMessage[]
        for (const messages of [read, stored])
          expect(toChatMessages(frozen(messages), { onNote: (note) => notes.push(note) })).toStrictEqual(flat)
        expect(notes).toEqual([])
      }),
      { numRuns: RUNS },
    )
  })
})

describe('detectFormat', () => {
  it('knows the flat form by its roles', () => {
    expect(
      detectFormat([
        { role: 'user', content: 'x' },
        { role: 'tool_call', content: '', tool: 'f' },
      ]),
    ).toBe('flat')
    expect(detectFormat([{ role: 'tool_result', content: '' }])).toBe('flat')
    expect(detectFormat([{ role: 'tool_result', content: '', tool_calls: [] }])).toBeUndefined()
    expect(detectFormat(fromChatMessages([{ role: 'user', content: 'x', condenseParent: 'a' }]))).toBe(
      'neutral',
    )
  })
})
