import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fromAnthropic } from '../../src/adapters/anthropic/from-anthropic.ts'
import { toAnthropic } from '../../src/adapters/anthropic/to-anthropic.ts'
import { fromOpenAI } from '../../src/adapters/openai/from-openai.ts'
import { toOpenAI } from '../../src/adapters/openai/to-openai.ts'
import { canonicalJson, stringifyJson } from '../../src/core/messages/json.ts'
import {
  type Message,
  type Part,
  type ToolResultOutput,
  withOutputText,
} from '../../src/core/messages/message.ts'
import { frozen, problemOf } from '../support/failures.ts'
import { sharedPath } from '../support/shared.ts'

const PNG = 'iVBORw0KGgoAAAANSUhEUg=='
const PDF = 'JVBERi0xLjQ='

const user = (...content: object[]) => ({ role: 'user', content })
const assistant = (...content: object[]) => ({ role: 'assistant', content })
const call = (id: string, name = 'read', input: unknown = { path: 'a.ts' }) => ({
  type: 'tool_use',
  id,
  name,
  input,
})
const result = (tool_use_id: string, rest: object = {}) => ({ type: 'tool_result', tool_use_id, ...rest })
const base64 = (media_type: string, data: string) => ({ type: 'base64', media_type, data })

/** The parts of the one message that blocks are read as. */
function partsRead(role: 'user' | 'assistant', ...content: object[]): Part[] {
  const [message] = fromAnthropic([{ role, content }])
  return message?.content as Part[]
}

/** The blocks that the parts of one message are sent as. */
function blocksSent(role: Message['role'], ...content: Part[]): unknown {
  return toAnthropic([{ role, content }]).messages
}

/** Reads and writes, also by way of the text a database would hold, and expects what was given. */
function expectSame(given: readonly object[]): void {
  const read = fromAnthropic(frozen(given))
  for (const messages of [read, JSON.parse(stringifyJson(read)) as Message[]]) {
    const { system, messages: sent } = toAnthropic(frozen(messages))
    expect(system).toBeUndefined()
    expect(sent).toStrictEqual(given)
    expect(canonicalJson(sent)).toBe(canonicalJson(given))
  }
}

describe('fromAnthropic', () => {
  it('reads a conversation with a tool', () => {
    const read = fromAnthropic({
      system: 'Be brief.',
      messages: [
        { role: 'user', content: 'What is in a.ts?' },
        {
          id: 'msg_1',
          model: 'claude',
          stop_reason: 'tool_use',
          ...assistant(
            { type: 'thinking', thinking: 'I should look.', signature: 'sig' },
            { type: 'text', text: 'Looking.' },
            call('toolu_1'),
            call('toolu_2', 'list', {}),
          ),
        },
        user(result('toolu_1', { content: 'one' }), result('toolu_2', { content: 'no', is_error: true })),
        user(result('toolu_1', { content: 'again' }), { type: 'text', text: 'and now?' }),
      ],
    })

    expect(read).toStrictEqual([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'What is in a.ts?' },
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: 'I should look.', providerOptions: { anthropic: { signature: 'sig' } } },
          { type: 'text', text: 'Looking.' },
          { type: 'tool-call', toolCallId: 'toolu_1', toolName: 'read', input: { path: 'a.ts' } },
          { type: 'tool-call', toolCallId: 'toolu_2', toolName: 'list', input: {} },
        ],
        metadata: { anthropic: { id: 'msg_1', model: 'claude', stop_reason: 'tool_use' } },
      },
      {
        role: 'tool',
        content: [
          {
            type: 'tool-result',
            toolCallId: 'toolu_1',
            toolName: 'read',
            output: { type: 'text', value: 'one' },
          },
          {
            type: 'tool-result',
            toolCallId: 'toolu_2',
            toolName: 'list',
            output: { type: 'error-text', value: 'no' },
          },
        ],
      },
      {
        role: 'user',
        content: [
          {
            type: 'tool-result',
            toolCallId: 'toolu_1',
            toolName: 'read',
            output: { type: 'text', value: 'again' },
          },
          { type: 'text', text: 'and now?' },
        ],
      },
    ])
  })

  it('names a result after the nearest earlier call of its id, and leaves it nameless without one', () => {
    const names = fromAnthropic([
      user(result('a', { content: '' })),
      assistant(call('a', 'first')),
      user(result('a', { content: '' })),
      assistant(call('a', 'second')),
      user(result('a', { content: '' })),
    ])
      .flatMap(({ content }) => content as Part[])
      .map((part) => (part.type === 'tool-result' ? part.toolName : undefined))

    expect(names).toEqual([undefined, undefined, 'first', undefined, 'second'])
  })

  it.each<[string, object, Part]>([
    [
      'an image in base64',
      { type: 'image', source: base64('image/png', PNG) },
      { type: 'image', image: PNG, mediaType: 'image/png' },
    ],
    [
      'an image by its address',
      {
        type: 'image',
        source: { type: 'url', url: 'https://x.test/a.png' },
        cache_control: { type: 'ephemeral' },
      },
      {
        type: 'image',
        image: 'https://x.test/a.png',
        providerOptions: { anthropic: { cache_control: { type: 'ephemeral' } } },
      },
    ],
    [
      'an image by a file id',
      { type: 'image', source: { type: 'file', file_id: 'file_1' } },
      {
        type: 'provider',
        provider: 'anthropic',
        data: { type: 'image', source: { type: 'file', file_id: 'file_1' } },
      },
    ],
    [
      'a document in base64',
      {
        type: 'document',
        source: base64('application/pdf', PDF),
        title: 'a.pdf',
        citations: { enabled: true },
      },
      {
        type: 'file',
        data: PDF,
        mediaType: 'application/pdf',
        filename: 'a.pdf',
        providerOptions: { anthropic: { citations: { enabled: true } } },
      },
    ],
    [
      'a document of plain text',
      { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'hé' } },
      { type: 'file', data: 'aMOp', mediaType: 'text/plain' },
    ],
    [
      'a document by its address',
      { type: 'document', source: { type: 'url', url: 'https://x.test/a.pdf' } },
      { type: 'file', data: 'https://x.test/a.pdf', mediaType: 'application/pdf' },
    ],
    [
      'a text with a mark for the cache',
      { type: 'text', text: 'hi', cache_control: { type: 'ephemeral' } },
      { type: 'text', text: 'hi', providerOptions: { anthropic: { cache_control: { type: 'ephemeral' } } } },
    ],
    ['a result without content', result('a'), resultPart({ type: 'text', value: '' }, { content: null })],
    ['a result of empty text', result('a', { content: '' }), resultPart({ type: 'text', value: '' })],
    [
      'a result of no blocks',
      result('a', { content: [] }),
      resultPart({ type: 'text', value: '' }, { content: [] }),
    ],
    [
      'a result that says it did not fail',
      result('a', { content: 'ok', is_error: false }),
      resultPart({ type: 'text', value: 'ok' }, { is_error: false }),
    ],
    [
      'a failed result of two texts',
      result('a', {
        content: [
          { type: 'text', text: 'one ' },
          { type: 'text', text: 'two', cache_control: null },
        ],
        is_error: true,
      }),
      resultPart(
        { type: 'error-text', value: 'one two' },
        { content: [{ length: 4 }, { length: 3, fields: { cache_control: null } }] },
      ),
    ],
    [
      'a failed result of text and image',
      result('a', {
        content: [
          { type: 'text', text: 'see' },
          { type: 'image', source: base64('image/png', PNG) },
          { type: 'tool_reference', tool_name: 'x' },
        ],
        is_error: true,
      }),
      resultPart({
        type: 'content',
        value: [
          { type: 'text', text: 'see' },
          { type: 'image', image: PNG, mediaType: 'image/png' },
          { type: 'provider', provider: 'anthropic', data: { type: 'tool_reference', tool_name: 'x' } },
        ],
        isError: true,
      }),
    ],
  ])('reads %s, and writes it again', (_, block, part) => {
    expect(partsRead('user', block)).toStrictEqual([part])
    expectSame([user(block)])
  })

  function resultPart(output: ToolResultOutput, anthropic?: object): Part {
    const part = { type: 'tool-result', toolCallId: 'a', output }
    return (anthropic === undefined ? part : { ...part, providerOptions: { anthropic } }) as Part
  }

  it.each([
    { type: 'redacted_thinking', data: 'abc' },
    { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'x' } },
    {
      type: 'web_search_tool_result',
      tool_use_id: 'srvtoolu_1',
      content: [{ type: 'web_search_result', url: 'u' }],
    },
    { type: 'compaction', content: 'so far' },
    { type: 'container_upload', file_id: 'f' },
    { type: 'thinking', thinking: 'without a signature' },
    { type: 'image', source: base64('image/png', PNG) },
    { type: 'invented_tomorrow', odd: 1, nested: { deep: [null] } },
  ])('keeps the block $type of an assistant as it is', (block) => {
    expect(partsRead('assistant', block)).toStrictEqual([
      { type: 'provider', provider: 'anthropic', data: block },
    ])
    expectSame([assistant(block)])
  })

  it('keeps blank texts and empty messages that Anthropic wrote', () => {
    expectSame([
      { role: 'user', content: '' },
      { role: 'assistant', content: [] },
      { role: 'assistant', content: [], stop_reason: 'end_turn' },
      assistant({ type: 'text', text: '' }, { type: 'text', text: '\n\n' }),
      user(result('a', { content: [{ type: 'text', text: '' }] })),
      user(
        result('a', {
          content: [
            { type: 'text', text: '' },
            { type: 'image', source: base64('image/png', PNG) },
          ],
        }),
      ),
    ])
  })

  it('keeps keys that name a prototype, and minus nothing', () => {
    const block = JSON.parse(
      '{"type":"tool_use","id":"a","name":"n","input":{"__proto__":{"x":1},"zero":-0}}',
    ) as object
    const message = JSON.parse('{"role":"assistant","__proto__":{"evil":true}}') as object
    const [sent] = toAnthropic(fromAnthropic([{ ...message, content: [block] }])).messages

    expect(canonicalJson(sent)).toBe(
      '{"__proto__":{"evil":true},"content":[{"id":"a","input":{"__proto__":{"x":1},"zero":-0},"name":"n","type":"tool_use"}],"role":"assistant"}',
    )
    expect(Object.getPrototypeOf(sent)).toBe(Object.prototype)
  })

  it('takes fields that are undefined for absent', () => {
    const given = [
      { role: 'user', id: undefined, content: [{ type: 'text', text: 'a', cache_control: undefined }] },
      assistant(call('a', 'n', { limit: undefined, path: 'p' })),
    ]

    expect(toAnthropic(fromAnthropic(given)).messages).toStrictEqual([
      user({ type: 'text', text: 'a' }),
      assistant(call('a', 'n', { path: 'p' })),
    ])
  })

  it.each([
    ['Be brief.'],
    [''],
    [[]],
    [[{ type: 'text', text: 'a' }]],
    [
      [
        { type: 'text', text: 'a', cache_control: { type: 'ephemeral' } },
        { type: 'text', text: '' },
      ],
    ],
  ])('gives the system prompt %j back', (system) => {
    for (const messages of [[], [user({ type: 'text', text: 'hi' })]]) {
      expect(toAnthropic(fromAnthropic({ system, messages }))).toStrictEqual({ system, messages })
    }
  })

  it.each<[string, unknown, string]>([
    ['a list', 'SECRET', 'input: must be an object'],
    ['a list within', { messages: 'SECRET' }, 'messages: must be an array'],
    ['a message', ['SECRET'], '[0]: must be an object'],
    [
      'a role',
      { messages: [{ role: 'SECRET', content: '' }] },
      'messages[0].role: must be user or assistant',
    ],
    ['a content', [{ role: 'user', content: 7 }], '[0].content: must be an array'],
    ['no content', [{ role: 'user' }], '[0].content: must be an array'],
    ['a block', [user({ type: 'text', text: 'a' }, null as never)], '[0].content[1]: must be an object'],
    ['a type', [user({ text: 'SECRET' })], '[0].content[0].type: must be a string'],
    ['a text', [user({ type: 'text', text: 7 })], '[0].content[0].text: must be a string'],
    [
      'an id',
      [assistant({ type: 'tool_use', name: 'SECRET', input: {} })],
      '[0].content[0].id: must be a string',
    ],
    ['an input', [assistant({ type: 'tool_use', id: 'a', name: 'n' })], '[0].content[0].input: is required'],
    ['a call', [user(call('a'))], '[0].content[0]: a tool_use must be in an assistant message'],
    ['a result', [assistant(result('a'))], '[0].content[0]: a tool_result must be in a user message'],
    ['an answer', [user(result('a', { content: 7 }))], '[0].content[0].content: must be an array'],
    [
      'text within',
      [user(result('a', { content: [{ type: 'text' }] }))],
      '[0].content[0].content[0].text: must be a string',
    ],
    [
      'a number',
      [{ role: 'user', content: 'SECRET', at: Number.NaN }],
      "[0]: contains a number that isn't finite in an object",
    ],
    [
      'a date',
      [assistant(call('a', 'n', { at: new Date(0) }))],
      "[0]: contains an object that isn't plain in an object in an object at [0] in an object",
    ],
  ])('refuses what is not %s, naming the place and not the text', (_, input, problem) => {
    expect(problemOf(() => fromAnthropic(input as never))).toBe(problem)
  })

  it('refuses endless nesting instead of running out of stack', () => {
    let input: unknown
    for (let i = 0; i < 50_000; i++) input = { input }

    expect(problemOf(() => fromAnthropic([assistant(call('a', 'n', input))]))).toContain(
      'nesting deeper than',
    )
  })
})

describe('toAnthropic', () => {
  it('writes what never came from Anthropic', () => {
    const sent = toAnthropic(
      fromOpenAI([
        { role: 'system', content: 'Be brief.' },
        { role: 'developer', content: [{ type: 'text', text: 'Be kind.' }] },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is this?' },
            { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}`, detail: 'low' } },
            { type: 'image_url', image_url: { url: 'https://x.test/a.png' } },
            { type: 'file', file: { file_data: `data:application/pdf;base64,${PDF}`, filename: 'a.pdf' } },
          ],
        },
        {
          role: 'assistant',
          content: null,
          reasoning_content: 'hm',
          tool_calls: [
            { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{"at": "it"}' } },
            { id: 'call_2', type: 'function', function: { name: 'look', arguments: '{"at": ' } },
          ],
        },
        { role: 'tool', tool_call_id: 'call_1', content: 'a dot' },
        { role: 'tool', tool_call_id: 'call_2', content: [{ type: 'text', text: 'no' }] },
        { role: 'assistant', content: '', refusal: 'I will not say.' },
        { role: 'system', content: 'Hurry.' },
        { role: 'assistant', content: null },
      ]),
    )

    expect(sent).toStrictEqual({
      system: [
        { type: 'text', text: 'Be brief.' },
        { type: 'text', text: 'Be kind.' },
      ],
      messages: [
        user(
          { type: 'text', text: 'What is this?' },
          { type: 'image', source: base64('image/png', PNG) },
          { type: 'image', source: { type: 'url', url: 'https://x.test/a.png' } },
          { type: 'document', source: base64('application/pdf', PDF), title: 'a.pdf' },
        ),
        assistant(call('call_1', 'look', { at: 'it' }), call('call_2', 'look', { arguments: '{"at": ' })),
        user(result('call_1', { content: 'a dot' })),
        user(result('call_2', { content: 'no' })),
        assistant({ type: 'text', text: 'I will not say.' }),
        { role: 'user', content: 'Hurry.' },
      ],
    })
  })

  it.each<[string, ToolResultOutput, object]>([
    ['text', { type: 'text', value: 'a' }, { content: 'a' }],
    ['empty text', { type: 'text', value: '' }, { content: '' }],
    ['json', { type: 'json', value: { a: [1] } }, { content: '{"a":[1]}' }],
    ['a failure', { type: 'error-text', value: 'a' }, { content: 'a', is_error: true }],
    ['a failure in json', { type: 'error-json', value: null }, { content: 'null', is_error: true }],
    [
      'several things',
      {
        type: 'content',
        value: [
          { type: 'text', text: '' },
          { type: 'text', text: 'a' },
          { type: 'image', image: PNG },
          { type: 'provider', provider: 'openai', data: { type: 'x' } },
        ],
        isError: true,
      },
      {
        content: [
          { type: 'text', text: 'a' },
          { type: 'image', source: base64('image/png', PNG) },
        ],
        is_error: true,
      },
    ],
  ])('writes a result of %s', (_, output, rest) => {
    const part: Part = { type: 'tool-result', toolCallId: 'a', output }
    const sent = [user(result('a', rest))]

    expect(blocksSent('tool', part)).toStrictEqual(sent)
    expect(blocksSent('user', part)).toStrictEqual(sent)
  })

  it.each<[string, Part, object]>([
    [
      'bytes',
      { type: 'image', image: Buffer.from(PNG, 'base64') },
      { type: 'image', source: base64('image/png', PNG) },
    ],
    [
      'stated bytes',
      { type: 'image', image: new Uint8Array([1, 2, 3]), mediaType: 'image/jpeg' },
      { type: 'image', source: base64('image/jpeg', 'AQID') },
    ],
    [
      'bytes within others',
      { type: 'image', image: new Uint8Array([9, 1, 2, 3, 9]).subarray(1, 4), mediaType: 'image/*' },
      { type: 'image', source: base64('image/png', 'AQID') },
    ],
    [
      'a data URL',
      { type: 'image', image: 'data:image/gif;base64,R0lG' },
      { type: 'image', source: base64('image/gif', 'R0lG') },
    ],
    [
      'an image file',
      { type: 'file', data: '/9j/4AA=', mediaType: 'image/*' },
      { type: 'image', source: base64('image/jpeg', '/9j/4AA=') },
    ],
    [
      'a named image file',
      { type: 'file', data: 'data:;base64,R0lGODlh', mediaType: 'image/*', filename: 'a.gif' },
      { type: 'image', source: base64('image/gif', 'R0lGODlh') },
    ],
    [
      'a text file',
      { type: 'file', data: 'aMOp', mediaType: 'text/markdown', filename: 'a.md' },
      { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'hé' }, title: 'a.md' },
    ],
    [
      'a data URL of text',
      { type: 'file', data: 'data:,h%C3%A9 %', mediaType: 'text/plain' },
      { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'h%C3%A9 %' } },
    ],
    [
      'a decoded data URL',
      { type: 'file', data: 'data:text/plain;charset=utf-8,h%C3%A9', mediaType: 'text/plain' },
      { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'hé' } },
    ],
    [
      'a file by address',
      { type: 'file', data: 'https://x.test/a.pdf', mediaType: 'application/pdf' },
      { type: 'document', source: { type: 'url', url: 'https://x.test/a.pdf' } },
    ],
  ])('writes %s', (_, part, block) => {
    expect(blocksSent('user', part)).toStrictEqual([user(block)])
  })

  it('leaves out what Anthropic refuses, and messages with nothing left', () => {
    const foreign: Part = { type: 'provider', provider: 'openai', data: { type: 'refusal', refusal: 'no' } }
    const unsigned: Part = {
      type: 'reasoning',
      text: 'hm',
      providerOptions: { openai: { signature: 'not ours' } },
    }

    const marked: Part = {
      type: 'reasoning',
      text: 'hm',
      providerOptions: { anthropic: { cache_control: {} } },
    }

    expect(blocksSent('assistant', marked)).toEqual([])
    expect(
      toAnthropic([{ role: 'assistant', content: [unsigned], metadata: { anthropic: { id: 'msg_1' } } }])
        .messages,
    ).toEqual([])
    expect(blocksSent('assistant', unsigned, foreign, { type: 'text', text: ' ' })).toEqual([])
    expect(blocksSent('assistant', { type: 'image', image: PNG })).toEqual([])
    expect(blocksSent('assistant')).toEqual([])
    expect(blocksSent('assistant', unsigned, { type: 'text', text: 'ok' })).toEqual([
      assistant({ type: 'text', text: 'ok' }),
    ])
    expect(
      toAnthropic([
        { role: 'user', content: ' ' },
        { role: 'system', content: '' },
      ]),
    ).toEqual({ messages: [] })
    expect(toAnthropic([{ role: 'system', content: '' }])).toEqual({ messages: [] })
    expect(
      toAnthropic([{ role: 'user', content: 'hi', metadata: { mine: 1, anthropic: 'odd' } }]).messages,
    ).toEqual([{ role: 'user', content: 'hi' }])
  })

  it('puts the result of a tool that a provider ran into a message of its own', () => {
    expect(
      blocksSent(
        'assistant',
        { type: 'text', text: 'Wait.' },
        { type: 'tool-call', toolCallId: 'a', toolName: 'search', input: {}, providerExecuted: true },
        { type: 'tool-result', toolCallId: 'a', output: { type: 'text', value: 'found' } },
        { type: 'text', text: 'There.' },
      ),
    ).toStrictEqual([
      assistant({ type: 'text', text: 'Wait.' }, call('a', 'search', {})),
      user(result('a', { content: 'found' })),
      assistant({ type: 'text', text: 'There.' }),
    ])
  })

  it.each([
    [undefined, 'short'],
    ['a long answer', 'short'],
    [[{ type: 'text', text: 'a long answer' }], [{ type: 'text', text: 'short' }]],
    [
      [
        { type: 'text', text: 'a long', cache_control: { type: 'ephemeral' } },
        { type: 'text', text: ' answer' },
      ],
      [{ type: 'text', text: 'short' }],
    ],
    [[{ type: 'text', text: 'a long answer', x: 1 }], [{ type: 'text', text: 'short', x: 1 }]],
    [[{ type: 'image', source: base64('image/png', PNG) }], 'short'],
  ])('shows another text in place of the result %j', (content, shown) => {
    for (const is_error of [true, undefined]) {
      const read = fromAnthropic([user(result('a', { content, is_error }))])
      const replaced = read.map((message) => ({
        ...message,
        content: (message.content as Part[]).map((part) =>
          part.type === 'tool-result' ? { ...part, output: withOutputText(part.output, 'short') } : part,
        ),
      }))
      const expected = result('a', { content: shown, ...(is_error === true ? { is_error } : {}) })
      expect(toAnthropic(replaced).messages).toStrictEqual([user(expected)])
    }
  })

  it('shows nothing in place of a result as an empty text', () => {
    const read = partsRead('user', result('a', { content: [{ type: 'text', text: 'long' }] }))
    const parts = read.map((part) => ({ ...part, output: { type: 'text', value: '' } }) as Part)

    expect(blocksSent('tool', ...parts)).toStrictEqual([user(result('a', { content: '' }))])
  })

  it('refuses a part of an unknown type', () => {
    expect(problemOf(() => blocksSent('user', { type: 'SECRET' } as never))).toBe(
      "[0].content[0].type: isn't a part type",
    )
  })
})

describe('the round trip', () => {
  const json = fc.jsonValue({ maxDepth: 3 })
  const text = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('', ' ', '\n', 'hello'))
  const media = fc.oneof(
    fc.base64String(),
    fc.constantFrom(PNG, 'data:image/png;base64,AA==', 'https://x.test/a', 'a:b', ''),
  )
  const mediaType = fc.constantFrom(
    'image/png',
    'image/*',
    'application/pdf',
    'text/plain',
    'text/html',
    'audio/wav',
    '',
  )

  /** A block or message with further fields, among them those that other blocks and our own notes use. */
  function withExtras<T extends object>(known: fc.Arbitrary<T>, own: readonly string[]): fc.Arbitrary<T> {
    const names = [
      'cache_control',
      'citations',
      'content',
      'is_error',
      'signature',
      'title',
      'length',
      'fields',
      'text',
      '__proto__',
    ]
    const name = fc.constantFrom(...names.filter((candidate) => !own.includes(candidate)))
    return fc
      .tuple(
        known,
        fc.oneof(
          { weight: 3, arbitrary: fc.constant({}) },
          { weight: 1, arbitrary: fc.dictionary(name, json, { maxKeys: 3 }) },
        ),
      )
      .map(([fields, extra]) => ({ ...extra, ...fields }))
  }

  const textBlock = withExtras(fc.record({ type: fc.constant('text'), text }), ['text'])
  const source = fc.oneof(
    fc.record({
      type: fc.constant('base64'),
      media_type: mediaType,
      data: fc.oneof(fc.base64String(), fc.constantFrom(PNG, 'AA', 'A-_w')),
    }),
    fc.record({ type: fc.constant('text'), media_type: mediaType, data: text }),
    fc.record({ type: fc.constant('url'), url: media }),
    fc.record({ type: fc.constant('file'), file_id: text }),
    fc.record({ type: fc.constant('content'), content: fc.oneof(text, fc.array(json, { maxLength: 2 })) }),
    fc.record({ type: fc.constant('tomorrow'), data: json }),
  )
  const image = withExtras(fc.record({ type: fc.constant('image'), source }), [])
  const document = withExtras(
    fc.record(
      { type: fc.constant('document'), source, title: fc.oneof(text, fc.constant(null)) },
      { requiredKeys: ['type', 'source'] },
    ),
    ['title'],
  )
  const id = fc.constantFrom('a', 'b', 'c')
  const texts = fc.array(textBlock, { maxLength: 2 })
  const call = { id, name: fc.constantFrom('web_search', 'code_execution'), input: json }
  const answered = (type: string) => ({ type: fc.constant(type), tool_use_id: id, content: json })
  /** All that stays a block: the types of `ContentBlockParam` that the neutral form has no part for, and others. */
  const unknown = withExtras(
    fc.oneof<fc.Arbitrary<object>[]>(
      fc.record({ type: fc.constant('redacted_thinking'), data: text }),
      fc.record({ type: fc.constant('search_result'), source: text, title: text, content: texts }),
      fc.record({ type: fc.constantFrom('server_tool_use', 'mcp_tool_use'), ...call }),
      ...[
        'web_search_tool_result',
        'web_fetch_tool_result',
        'code_execution_tool_result',
        'bash_code_execution_tool_result',
        'text_editor_code_execution_tool_result',
        'tool_search_tool_result',
        'mcp_tool_result',
      ].map((type) => fc.record(answered(type))),
      fc.record({ type: fc.constant('container_upload'), file_id: text }),
      fc.record({ type: fc.constant('tool_reference'), tool_name: text }),
      fc.record({ type: fc.constant('browser_state'), tabs: fc.array(json, { maxLength: 2 }) }),
      fc.record({ type: fc.constant('compaction'), content: fc.oneof(text, fc.constant(null)) }),
      fc.record({ type: fc.constant('tomorrow'), data: json }),
    ),
    ['content', 'title', 'text'],
  )
  const result = withExtras(
    fc.record(
      {
        type: fc.constant('tool_result'),
        tool_use_id: id,
        content: fc.oneof(
          text,
          fc.array(textBlock, { maxLength: 3 }),
          fc.array(fc.oneof(textBlock, image, document, unknown), { maxLength: 3 }),
        ),
        is_error: fc.constantFrom(true, false, null),
      },
      { requiredKeys: ['type', 'tool_use_id'] },
    ),
    ['content', 'is_error'],
  )
  const toolUse = withExtras(
    fc.record({ type: fc.constant('tool_use'), id, name: fc.string(), input: json }),
    [],
  )
  const thinking = withExtras(
    fc.record(
      { type: fc.constant('thinking'), thinking: text, signature: fc.oneof(text, fc.constant(null)) },
      { requiredKeys: ['type', 'thinking'] },
    ),
    ['signature'],
  )
  const userContent = fc.oneof(
    text,
    fc.array(result, { maxLength: 3 }),
    fc.array(fc.oneof(textBlock, image, document, result, unknown), { maxLength: 4 }),
  )
  const assistantContent = fc.oneof(
    text,
    fc.array(fc.oneof(textBlock, thinking, toolUse, image, unknown), { maxLength: 4 }),
  )
  const messages = fc
    .array(
      fc.oneof(
        withExtras(fc.record({ role: fc.constant('user'), content: userContent }), ['content']),
        withExtras(fc.record({ role: fc.constant('assistant'), content: assistantContent }), ['content']),
      ),
      { maxLength: 5 },
    )
    .map((list) => JSON.parse(JSON.stringify(list)) as object[])

  it('returns any valid conversation unchanged, and does not change its input', () => {
    fc.assert(
      fc.property(messages, (given) => expectSame(given)),
      { numRuns: 2_000 },
    )
  })

  it('writes any conversation so that OpenAI can read it', () => {
    fc.assert(
      fc.property(messages, (given) => {
        const sent = toOpenAI(fromAnthropic(given))
        expect(toOpenAI(fromOpenAI(sent))).toStrictEqual(sent)
      }),
    )
  })

  it('returns a real coding session unchanged', (context) => {
    const path = sharedPath('corpus/coding-session.anthropic.jsonl')
    if (path === undefined) return context.skip()
    const session = readFileSync(path, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as object)

    expectSame(session)
    const results = fromAnthropic(session).flatMap(({ role, content }) =>
      role === 'tool' ? (content as Part[]) : [],
    )
    expect(results).toHaveLength(448)
    expect(results.every((part) => part.type === 'tool-result' && part.output.type.endsWith('text'))).toBe(
      true,
    )
  })
})
