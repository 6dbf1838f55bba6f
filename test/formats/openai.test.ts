import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fromAnthropic } from '../../src/adapters/anthropic/from-anthropic.ts'
import { toAnthropic } from '../../src/adapters/anthropic/to-anthropic.ts'
import { detectFormat } from '../../src/adapters/detect.ts'
import { fromOpenAI } from '../../src/adapters/openai/from-openai.ts'
import { toOpenAI } from '../../src/adapters/openai/to-openai.ts'
import { canonicalJson, stringifyJson } from '../../src/core/messages/json.ts'
import type { Message, Part, ToolResultOutput } from '../../src/core/messages/message.ts'
import { frozen, problemOf } from '../support/failures.ts'
import { sharedPath } from '../support/shared.ts'

const PNG = 'iVBORw0KGgoAAAANSUhEUg=='
const PDF = 'JVBERi0xLjQ='

const call = (id: string, args: string, name = 'read') => ({
  id,
  type: 'function',
  function: { name, arguments: args },
})
const calling = (...tool_calls: object[]) => ({ role: 'assistant', content: null, tool_calls })

/** The parts that one message is read as. */
function partsRead(message: object): Part[] {
  const [read] = fromOpenAI([message])
  return read?.content as Part[]
}

/** Reads and writes, also by way of the text a database would hold, and expects what was given. */
function expectSame(given: readonly object[]): void {
  const read = fromOpenAI(frozen(given))
  expect(read).toHaveLength(given.length)
  for (const messages of [read, JSON.parse(stringifyJson(read)) as Message[]]) {
    const sent = toOpenAI(frozen(messages))
    expect(sent).toStrictEqual(given)
    expect(canonicalJson(sent)).toBe(canonicalJson(given))
  }
}

describe('fromOpenAI', () => {
  it('reads a conversation with tools', () => {
    expect(
      fromOpenAI([
        { role: 'developer', content: 'Be brief.' },
        { role: 'user', content: 'What is in a.ts?', name: 'ann' },
        {
          role: 'assistant',
          content: 'Looking.',
          refusal: null,
          reasoning_content: 'I should look.',
          tool_calls: [
            call('call_1', '{"path":"a.ts"}'),
            call('call_2', '{ "path": "b.ts" }'),
            call('call_3', '{"path":'),
            call('call_4', ''),
            { id: 'call_5', type: 'custom', custom: { name: 'patch', input: '*** Begin' } },
          ],
        },
        { role: 'tool', tool_call_id: 'call_1', content: 'one', name: 'read' },
        {
          role: 'tool',
          tool_call_id: 'call_5',
          content: [
            { type: 'text', text: 'do' },
            { type: 'text', text: 'ne' },
          ],
        },
        { role: 'assistant', content: null, refusal: 'I will not say.' },
      ]),
    ).toStrictEqual([
      { role: 'system', content: 'Be brief.', metadata: { openai: { role: 'developer' } } },
      { role: 'user', content: 'What is in a.ts?', metadata: { openai: { name: 'ann' } } },
      {
        role: 'assistant',
        content: [
          {
            type: 'reasoning',
            text: 'I should look.',
            providerOptions: { openai: { type: 'reasoning_content' } },
          },
          { type: 'text', text: 'Looking.' },
          { type: 'tool-call', toolCallId: 'call_1', toolName: 'read', input: { path: 'a.ts' } },
          {
            type: 'tool-call',
            toolCallId: 'call_2',
            toolName: 'read',
            input: { path: 'b.ts' },
            providerOptions: { openai: { function: { arguments: '{ "path": "b.ts" }' } } },
          },
          {
            type: 'tool-call',
            toolCallId: 'call_3',
            toolName: 'read',
            input: '{"path":',
            providerOptions: { openai: { function: { arguments: '{"path":' } } },
          },
          {
            type: 'tool-call',
            toolCallId: 'call_4',
            toolName: 'read',
            input: {},
            providerOptions: { openai: { function: { arguments: '' } } },
          },
          {
            type: 'tool-call',
            toolCallId: 'call_5',
            toolName: 'patch',
            input: '*** Begin',
            providerOptions: { openai: { type: 'custom' } },
          },
        ],
        metadata: { openai: { refusal: null } },
      },
      {
        role: 'tool',
        content: [
          {
            type: 'tool-result',
            toolCallId: 'call_1',
            toolName: 'read',
            output: { type: 'text', value: 'one' },
            providerOptions: { openai: { name: 'read' } },
          },
        ],
      },
      {
        role: 'tool',
        content: [
          {
            type: 'tool-result',
            toolCallId: 'call_5',
            toolName: 'patch',
            output: { type: 'text', value: 'done' },
            providerOptions: { openai: { content: [{ length: 2 }, { length: 2 }] } },
          },
        ],
      },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'I will not say.', providerOptions: { openai: { type: 'message_refusal' } } },
        ],
      },
    ])
  })

  it('pairs legacy calls with their answers by ids of its own', () => {
    const given = [
      { role: 'assistant', content: null, function_call: { name: 'look', arguments: '{}' } },
      { role: 'function', name: 'look', content: 'one' },
      { role: 'assistant', content: null, function_call: { name: 'look', arguments: '{"a": 1}' } },
      { role: 'function', name: 'look', content: null },
      { role: 'function', name: 'other', content: 'from nowhere', tool_call_id: 'odd' },
    ]
    const ids = fromOpenAI(given)
      .flatMap(({ content }) => content as Part[])
      .map((part) => (part.type === 'tool-call' || part.type === 'tool-result' ? part.toolCallId : undefined))

    expect(ids).toEqual([
      'function_call_look',
      'function_call_look',
      'function_call_look_2',
      'function_call_look_2',
      'function_call_other',
    ])
    expectSame(given)
  })

  it.each<[string, object, Part]>([
    [
      'an image',
      { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}`, detail: 'low' } },
      {
        type: 'image',
        image: `data:image/png;base64,${PNG}`,
        providerOptions: { openai: { image_url: { detail: 'low' } } },
      },
    ],
    [
      'an image by its address',
      { type: 'image_url', image_url: { url: 'https://x.test/a.png' } },
      { type: 'image', image: 'https://x.test/a.png' },
    ],
    [
      'a sound',
      { type: 'input_audio', input_audio: { data: 'AAAA', format: 'mp3' } },
      { type: 'file', data: 'AAAA', mediaType: 'audio/mpeg' },
    ],
    [
      'a file',
      { type: 'file', file: { file_data: `data:application/pdf;base64,${PDF}`, filename: 'a.pdf' } },
      {
        type: 'file',
        data: `data:application/pdf;base64,${PDF}`,
        mediaType: 'application/pdf',
        filename: 'a.pdf',
      },
    ],
    [
      'a file by its id',
      { type: 'file', file: { file_id: 'file_1' } },
      { type: 'provider', provider: 'openai', data: { type: 'file', file: { file_id: 'file_1' } } },
    ],
    [
      'a part of tomorrow',
      { type: 'tomorrow', data: [1] },
      { type: 'provider', provider: 'openai', data: { type: 'tomorrow', data: [1] } },
    ],
    [
      'a text with further fields',
      { type: 'text', text: 'a', cache_control: {} },
      { type: 'text', text: 'a', providerOptions: { openai: { cache_control: {} } } },
    ],
  ])('reads %s, and writes it again', (_, given, part) => {
    const message = { role: 'user', content: [given] }
    expect(partsRead(message)).toStrictEqual([part])
    expectSame([message])
  })

  it('keeps every form of content apart', () => {
    const contents = [
      {},
      { content: null },
      { content: '' },
      { content: 'a' },
      { content: [] },
      { content: [{ type: 'text', text: 'a' }] },
    ]
    for (const role of ['user', 'system', 'developer', 'assistant']) {
      expectSame(contents.map((content) => ({ role, ...content })))
    }
    for (const more of [
      { tool_calls: [call('a', '{}')] },
      { refusal: 'no' },
      { reasoning_content: '' },
      { function_call: { name: 'f', arguments: '{}' } },
      { audio: { id: 'audio_1' }, tool_calls: [], function_call: null, annotations: [] },
    ]) {
      expectSame(contents.map((content) => ({ role: 'assistant', ...content, ...more })))
    }
    expectSame(contents.map((content) => ({ role: 'tool', tool_call_id: 'a', ...content })))
    expectSame(contents.map((content) => ({ role: 'function', name: 'a', ...content })))
  })

  it("keeps the parts of an assistant's message, and unknown kinds of calls", () => {
    expectSame([
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'a' },
          { type: 'refusal', refusal: 'no', extra: 1 },
          { type: 'tomorrow', tool_call: { id: 'a' } },
          { type: 'image_url', image_url: { url: 'https://x.test/a.png' } },
        ],
        name: 'ann',
      },
      {
        role: 'assistant',
        tool_calls: [
          {
            id: 'a',
            function: { name: 'f', arguments: '{}', strict: true },
            index: 0,
            custom: 'odd',
            arguments: 'odd',
          },
          { id: 'b', type: 'custom', custom: { name: 'g', input: '', extra: null }, function: 'odd' },
          { id: 'c', type: 'mcp', server: 's' },
          call('d', '[]'),
        ],
      },
      {
        role: 'tool',
        tool_call_id: 'a',
        content: [{ type: 'image_url', image_url: { url: 'https://x.test/a.png' } }],
      },
    ])
  })

  it.each([
    '{"a":1}',
    '{"a": 1}',
    '{"a":1.0}',
    '{"a":1,"a":2}',
    '{"b":1,"1":2}',
    '{"__proto__":{"x":1}}',
    '{"a":-0}',
    '{"a":1e400}',
    '"text"',
    'text',
    'null',
    '12345678901234567890',
    '{"a":',
    '',
    ' ',
    '[]',
    '{"a":"\\u00e9"}',
    `${'['.repeat(5_000)}${']'.repeat(5_000)}`,
  ])('keeps arguments to the byte (%#)', (args) => {
    expectSame([calling(call('a', args))])
  })

  it('writes an input that was changed since, not the arguments it had', () => {
    const [part] = partsRead(calling(call('a', '{ "path": "a" }')))
    const changed = { ...part, input: { path: 'b' } } as Part

    expect(toOpenAI([{ role: 'assistant', content: [changed] }])).toStrictEqual([
      calling(call('a', '{"path":"b"}')),
    ])
  })

  it('writes an input that is no longer the text of a custom tool as arguments', () => {
    const [part] = partsRead(calling({ id: 'a', type: 'custom', custom: { name: 'f', input: 'x' } }))
    const changed = { ...part, input: { cut: true } } as Part

    expect(toOpenAI([{ role: 'assistant', content: [changed] }])).toStrictEqual([
      calling(call('a', '{"cut":true}', 'f')),
    ])
  })

  it.each([{}, { content: null }, { content: [] }, { content: 'long' }])(
    'shows a text in place of the result %j',
    (content) => {
      const [part] = partsRead({ role: 'tool', tool_call_id: 'a', ...content })
      const shown = { ...part, output: { type: 'text', value: 'short' } } as Part
      const expected = Array.isArray(content.content) ? [{ type: 'text', text: 'short' }] : 'short'

      expect(toOpenAI([{ role: 'tool', content: [shown] }])).toStrictEqual([
        { role: 'tool', tool_call_id: 'a', content: expected },
      ])
    },
  )

  it('shows another text in place of a result', () => {
    const content = [{ type: 'text', text: 'a long answer', x: 1 }]
    const [part] = partsRead({ role: 'tool', tool_call_id: 'a', content, name: 'f' })
    const shown = { ...part, output: { type: 'text', value: 'short' } } as Part

    expect(toOpenAI([{ role: 'tool', content: [shown] }])).toStrictEqual([
      { role: 'tool', tool_call_id: 'a', content: [{ type: 'text', text: 'short', x: 1 }], name: 'f' },
    ])
  })

  it.each<[string, unknown, string]>([
    ['a list', { messages: [] }, 'input: must be an array'],
    ['a message', ['SECRET'], '[0]: must be an object'],
    [
      'a role',
      [{ role: 'SECRET', content: '' }],
      '[0].role: must be system, developer, user, assistant, tool or function',
    ],
    ['a content', [{ role: 'user', content: 7 }], '[0].content: must be an array'],
    ['a part', [{ role: 'user', content: ['SECRET'] }], '[0].content[0]: must be an object'],
    ['a type', [{ role: 'user', content: [{ text: 'SECRET' }] }], '[0].content[0].type: must be a string'],
    ['a text', [{ role: 'user', content: [{ type: 'text' }] }], '[0].content[0].text: must be a string'],
    ['an id', [{ role: 'tool', content: 'SECRET' }], '[0].tool_call_id: must be a string'],
    ['a name', [{ role: 'function', content: 'SECRET' }], '[0].name: must be a string'],
    ['a call', [calling('SECRET' as never)], '[0].tool_calls[0]: must be an object'],
    [
      'a call with an id',
      [calling({ type: 'function', function: {} })],
      '[0].tool_calls[0].id: must be a string',
    ],
    ['a function', [calling({ id: 'a', type: 'function' })], '[0].tool_calls[0].function: must be an object'],
    [
      'arguments',
      [calling({ id: 'a', type: 'function', function: { name: 'f', arguments: {} } })],
      '[0].tool_calls[0].function.arguments: must be a string',
    ],
    [
      'an input',
      [calling({ id: 'a', type: 'custom', custom: { name: 'f' } })],
      '[0].tool_calls[0].custom.input: must be a string',
    ],
    [
      'an old call',
      [{ role: 'assistant', function_call: { arguments: '' } }],
      '[0].function_call.name: must be a string',
    ],
    [
      'json',
      [{ role: 'user', content: 'SECRET', at: 1n }],
      '[0]: contains a value of type bigint in an object',
    ],
  ])('refuses what is not %s, naming the place and not the text', (_, input, problem) => {
    expect(problemOf(() => fromOpenAI(input as never))).toBe(problem)
  })
})

describe('toOpenAI', () => {
  it('writes what never came from OpenAI', () => {
    const messages = fromAnthropic({
      system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is this?' },
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } },
            {
              type: 'document',
              source: { type: 'base64', media_type: 'application/pdf', data: PDF },
              title: 'a.pdf',
            },
            { type: 'document', source: { type: 'url', url: 'https://x.test/b.pdf' } },
          ],
        },
        {
          role: 'assistant',
          stop_reason: 'tool_use',
          content: [
            { type: 'thinking', thinking: 'hm', signature: 'sig' },
            { type: 'tool_use', id: 'toolu_1', name: 'look', input: { at: 'it' } },
            { type: 'tool_use', id: 'toolu_2', name: 'look', input: {} },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'toolu_1', content: [{ type: 'text', text: 'a dot' }] },
            { type: 'tool_result', tool_use_id: 'toolu_2', content: 'no such thing', is_error: true },
            { type: 'text', text: 'Well?' },
          ],
        },
        { role: 'assistant', content: [{ type: 'redacted_thinking', data: 'x' }] },
        {
          role: 'assistant',
          content: [
            { type: 'text', text: 'A ' },
            { type: 'text', text: 'dot.' },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'a' },
            { type: 'tool_result', tool_use_id: 'b' },
          ],
        },
        { role: 'assistant', content: [{ type: 'text', text: 'Done.' }], id: 'msg_1' },
      ],
    })

    expect(toOpenAI(messages)).toStrictEqual([
      { role: 'system', content: [{ type: 'text', text: 'Be brief.' }] },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is this?' },
          { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}` } },
          { type: 'file', file: { filename: 'a.pdf', file_data: `data:application/pdf;base64,${PDF}` } },
          { type: 'text', text: '[file https://x.test/b.pdf]' },
        ],
      },
      calling(call('toolu_1', '{"at":"it"}', 'look'), call('toolu_2', '{}', 'look')),
      { role: 'tool', tool_call_id: 'toolu_1', content: 'a dot' },
      { role: 'tool', tool_call_id: 'toolu_2', content: 'no such thing' },
      { role: 'user', content: [{ type: 'text', text: 'Well?' }] },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'A ' },
          { type: 'text', text: 'dot.' },
        ],
      },
      { role: 'tool', tool_call_id: 'a', content: '' },
      { role: 'tool', tool_call_id: 'b', content: '' },
      { role: 'assistant', content: 'Done.' },
    ])
  })

  it.each<[ToolResultOutput, unknown]>([
    [{ type: 'json', value: { a: [1] } }, '{"a":[1]}'],
    [{ type: 'error-json', value: null }, 'null'],
    [{ type: 'error-text', value: 'no' }, 'no'],
    [{ type: 'content', value: [] }, ''],
    [
      {
        type: 'content',
        value: [
          { type: 'text', text: 'see' },
          { type: 'image', image: PNG },
          { type: 'file', data: PDF, mediaType: 'application/pdf', filename: 'a.pdf' },
          { type: 'file', data: PDF, mediaType: 'application/pdf' },
          { type: 'provider', provider: 'anthropic', data: { type: 'search_result' } },
        ],
      },
      [
        { type: 'text', text: 'see' },
        { type: 'text', text: '[image]' },
        { type: 'text', text: '[file a.pdf]' },
        { type: 'text', text: '[file]' },
      ],
    ],
  ])('writes a result of %j as text', (output, content) => {
    expect(
      toOpenAI([{ role: 'tool', content: [{ type: 'tool-result', toolCallId: 'a', output }] }]),
    ).toStrictEqual([{ role: 'tool', tool_call_id: 'a', content }])
  })

  it.each<[string, Part, object]>([
    [
      'bytes',
      { type: 'image', image: Buffer.from(PNG, 'base64') },
      { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}` } },
    ],
    [
      'an image file',
      { type: 'file', data: new Uint8Array([1, 2, 3]), mediaType: 'image/webp' },
      { type: 'image_url', image_url: { url: 'data:image/webp;base64,AQID' } },
    ],
    [
      'a drawing',
      { type: 'image', image: 'data:image/svg+xml,<svg/>' },
      { type: 'image_url', image_url: { url: 'data:image/svg+xml,<svg/>' } },
    ],
    [
      'an unknown image',
      { type: 'image', image: 'AQID' },
      { type: 'image_url', image_url: { url: 'data:image/png;base64,AQID' } },
    ],
    [
      'a sound',
      { type: 'file', data: 'data:audio/wav;base64,AAAA', mediaType: 'audio/wav' },
      { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } },
    ],
    [
      'a nameless document',
      { type: 'file', data: PDF, mediaType: 'application/pdf' },
      { type: 'file', file: { filename: 'file.pdf', file_data: `data:application/pdf;base64,${PDF}` } },
    ],
    [
      'a nameless file',
      { type: 'file', data: 'aMOp', mediaType: 'text/plain' },
      { type: 'file', file: { filename: 'file', file_data: 'data:text/plain;base64,aMOp' } },
    ],
  ])('writes %s', (_, part, sent) => {
    expect(toOpenAI([{ role: 'user', content: [part] }])).toStrictEqual([{ role: 'user', content: [sent] }])
  })

  it('leaves out what has no place, and messages with nothing left', () => {
    const foreign: Part = { type: 'provider', provider: 'anthropic', data: { type: 'compaction' } }
    const thought: Part = { type: 'reasoning', text: 'hm' }

    expect(
      toOpenAI([
        { role: 'assistant', content: [thought, foreign, { type: 'image', image: PNG }] },
        { role: 'assistant', content: [] },
        { role: 'user', content: [foreign] },
        { role: 'system', content: [{ type: 'image', image: PNG }] },
        { role: 'tool', content: [] },
        { role: 'user', content: [foreign], metadata: { openai: { content: 'parts' } } },
        {
          role: 'assistant',
          content: [{ type: 'provider', provider: 'anthropic', data: { tool_call: { id: 'a' } } }],
        },
        {
          role: 'assistant',
          content: [thought, { type: 'text', text: 'ok' }],
          metadata: { mine: 1, openai: 'odd' },
        },
      ]),
    ).toEqual([{ role: 'assistant', content: 'ok' }])
  })

  it('puts the result of a tool that a provider ran into a message of its own', () => {
    expect(
      toOpenAI([
        {
          role: 'assistant',
          content: [
            { type: 'tool-call', toolCallId: 'a', toolName: 'read', input: {} },
            { type: 'tool-result', toolCallId: 'a', output: { type: 'text', value: 'found' } },
            { type: 'text', text: 'There.' },
            { type: 'tool-result', toolCallId: 'a', output: { type: 'text', value: 'more' } },
            { type: 'reasoning', text: 'hm' },
          ],
          metadata: { openai: { name: 'ann', content: 'parts' } },
        },
      ]),
    ).toStrictEqual([
      { ...calling(call('a', '{}')), content: [], name: 'ann' },
      { role: 'tool', tool_call_id: 'a', content: 'found' },
      { role: 'assistant', content: 'There.' },
      { role: 'tool', tool_call_id: 'a', content: 'more' },
    ])
  })

  it('writes a single text with fields of its own as a part', () => {
    const part: Part = { type: 'text', text: 'a', providerOptions: { openai: { cache_control: {} } } }

    expect(toOpenAI([{ role: 'assistant', content: [part] }])).toStrictEqual([
      { role: 'assistant', content: [{ type: 'text', text: 'a', cache_control: {} }] },
    ])
  })

  it('writes several calls of the old kind in one message as calls of the new', () => {
    const [first, second] = fromOpenAI([
      { role: 'assistant', content: null, function_call: { name: 'f', arguments: '{}' } },
      { role: 'assistant', content: null, function_call: { name: 'f', arguments: '{"a": 1}' } },
    ]).map(({ content }) => content as Part[])

    expect(toOpenAI([{ role: 'assistant', content: [...(first ?? []), ...(second ?? [])] }])).toStrictEqual([
      calling(call('function_call_f', '{}', 'f'), call('function_call_f_2', '{"a": 1}', 'f')),
    ])
  })

  it('refuses a part of an unknown type', () => {
    for (const role of ['user', 'assistant'] as const) {
      expect(problemOf(() => toOpenAI([{ role, content: [{ type: 'SECRET' }] } as never]))).toBe(
        "[0].content[0].type: isn't a part type",
      )
    }
  })
})

describe('the round trip', () => {
  const json = fc.jsonValue({ maxDepth: 3 })
  const text = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('', ' ', 'hello'))
  const url = fc.oneof(
    text,
    fc.constantFrom(
      `data:image/png;base64,${PNG}`,
      'data:application/pdf;base64,AA==',
      'data:,x',
      'https://x.test/a',
    ),
  )
  const base64 = fc.uint8Array({ maxLength: 5 }).map((bytes) => Buffer.from(bytes).toString('base64'))
  const fileData = fc.oneof(
    base64,
    base64.map((data) => `data:application/pdf;base64,${data}`),
    fc.constantFrom('data:text/plain,%C3%A4', 'data:,', 'https://x.test/a.pdf'),
  )
  const args = fc.oneof(
    text,
    json.map((value) => JSON.stringify(value)),
    json.map((value) => JSON.stringify(value, null, 1)),
  )

  /** Something with further fields, among them those that others have and our own notes use. */
  function withExtras<T extends object>(known: fc.Arbitrary<T>, own: readonly string[]): fc.Arbitrary<T> {
    const names = [
      'name',
      'type',
      'content',
      'function',
      'custom',
      'arguments',
      'tool_call',
      'length',
      'audio',
      'annotations',
      'image_url',
      'file',
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

  const textPart = withExtras(fc.record({ type: fc.constant('text'), text }), [])
  const refusalPart = withExtras(fc.record({ type: fc.constant('refusal'), refusal: text }), [])
  const imagePart = withExtras(
    fc.record({
      type: fc.constant('image_url'),
      image_url: withExtras(fc.record({ url }), []),
    }),
    [],
  )
  const audioPart = withExtras(
    fc.record({
      type: fc.constant('input_audio'),
      input_audio: fc.record({
        data: base64,
        format: fc.constantFrom('wav', 'mp3', 'mpeg', ''),
      }),
    }),
    [],
  )
  const filePart = withExtras(
    fc.record({
      type: fc.constant('file'),
      file: withExtras(
        fc.record({ file_data: fileData, filename: text, file_id: text }, { requiredKeys: [] }),
        [],
      ),
    }),
    [],
  )
  const userPart = fc.oneof(
    textPart,
    imagePart,
    audioPart,
    filePart,
    fc.record({ type: fc.constant('tomorrow'), data: json }),
  )
  const content = (part: fc.Arbitrary<object>) =>
    fc.oneof(text, fc.constant(null), fc.array(part, { maxLength: 3 }))

  const id = fc.constantFrom('a', 'b', 'c')
  const fields = withExtras(fc.record({ name: text, arguments: args }), ['name', 'arguments'])
  const toolCall = fc.oneof(
    withExtras(fc.record({ id, type: fc.constant('function'), function: fields }), ['type', 'function']),
    withExtras(fc.record({ id, function: fields }), ['type', 'function']),
    withExtras(
      fc.record({
        id,
        type: fc.constant('custom'),
        custom: withExtras(fc.record({ name: text, input: text }), ['name', 'input']),
      }),
      ['type', 'custom'],
    ),
    fc.record({ type: fc.constantFrom('mcp', ''), data: json }),
  )
  const spoken = withExtras(
    fc.record(
      { role: fc.constantFrom('system', 'developer'), content: content(textPart) },
      { requiredKeys: ['role'] },
    ),
    ['content'],
  )
  const user = withExtras(
    fc.record({ role: fc.constant('user'), content: content(userPart) }, { requiredKeys: ['role'] }),
    ['content'],
  )
  const assistant = withExtras(
    fc.record(
      {
        role: fc.constant('assistant'),
        content: content(fc.oneof(textPart, refusalPart, imagePart)),
        refusal: fc.oneof(text, fc.constant(null)),
        reasoning_content: fc.oneof(text, fc.constant(null)),
        tool_calls: fc.oneof(fc.array(toolCall, { maxLength: 3 }), fc.constant(null)),
        function_call: fc.oneof(fields, fc.constant(null)),
      },
      { requiredKeys: ['role'] },
    ),
    ['content'],
  )
  const tool = withExtras(
    fc.record(
      { role: fc.constant('tool'), tool_call_id: id, content: content(userPart) },
      { requiredKeys: ['role', 'tool_call_id'] },
    ),
    ['content'],
  )
  const legacy = withExtras(
    fc.record(
      { role: fc.constant('function'), name: text, content: content(textPart) },
      { requiredKeys: ['role', 'name'] },
    ),
    ['name', 'content'],
  )
  const messages = fc
    .array(fc.oneof(spoken, user, assistant, tool, legacy), { maxLength: 5 })
    .map((list) => JSON.parse(JSON.stringify(list)) as object[])

  it('returns any valid conversation unchanged, and does not change its input', () => {
    fc.assert(
      fc.property(messages, (given) => expectSame(given)),
      { numRuns: 3_000 },
    )
  })

  it('writes any conversation so that Anthropic can read it', () => {
    fc.assert(
      fc.property(messages, (given) => {
        const sent = toAnthropic(fromOpenAI(given))
        const readAgain = fromAnthropic(sent)
        expect(toAnthropic(readAgain)).toStrictEqual(sent)
        expect(readAgain.some(({ metadata }) => metadata !== undefined)).toBe(false) // none is blank
      }),
    )
  })

  it('returns real conversations unchanged', (context) => {
    const path = sharedPath('corpus/airline-support.openai.jsonl')
    if (path === undefined) return context.skip()
    const conversations = readFileSync(path, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { messages: object[] })

    expect(conversations).toHaveLength(100)
    for (const conversation of conversations) {
      expectSame(conversation.messages)
      expect(detectFormat(conversation.messages)).toBe('openai')
    }
  })
})

describe('detectFormat', () => {
  it.each<[string, unknown[]]>([
    [
      'anthropic',
      [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'n', input: {} }] },
      ],
    ],
    ['anthropic', [{ role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a' }] }]],
    [
      'anthropic',
      [
        {
          role: 'assistant',
          content: [
            { type: 'text', text: 'a' },
            { type: 'thinking', thinking: '', signature: '' },
          ],
        },
      ],
    ],
    ['anthropic', [{ role: 'user', content: [{ type: 'tomorrow' }, { type: 'document' }] }]],
    ['anthropic', [{ role: 'user', content: [{ type: 'image', source: {} }] }]],
    ['anthropic', [{ role: 'assistant', content: [{ type: 'web_search_tool_result' }] }]],
    ['anthropic', [{ role: 'user', content: [{ type: 'text', text: 'a', cache_control: {} }] }]],
    ['anthropic', [{ role: 'assistant', content: 'a', stop_reason: 'end_turn' }]],
    ['openai', [{ role: 'assistant', content: null, tool_calls: [] }]],
    ['openai', [{ role: 'tool', tool_call_id: 'a', content: 'a' }]],
    [
      'openai',
      [
        { role: 'system', content: 'a' },
        { role: 'user', content: 'a' },
      ],
    ],
    ['openai', [{ role: 'developer', content: 'a' }]],
    ['openai', [{ role: 'user', content: [{ type: 'image_url', image_url: {} }] }]],
    ['openai', [{ role: 'user', content: [{ type: 'file', file: {} }] }]],
    [
      'openai',
      [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: [{ type: 'text', text: 'a' }] },
      ],
    ],
    [
      'neutral',
      [
        { role: 'system', content: 'a' },
        { role: 'tool', content: [{ type: 'tool-result', toolCallId: 'a', output: {} }] },
      ],
    ],
    [
      'neutral',
      [{ role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'a', toolName: 'n', input: {} }] }],
    ],
    ['neutral', [{ role: 'user', content: [{ type: 'image', image: '' }] }]],
    ['neutral', [{ role: 'user', content: [{ type: 'file', data: '', mediaType: 'a/b' }] }]],
    ['neutral', [{ role: 'user', content: '', metadata: { anthropic: {} } }]],
    ['neutral', [{ role: 'user', content: '', metadata: { 'openai-responses': {} } }]],
    ['openai', [{ role: 'assistant', content: [{ type: 'refusal', refusal: 'no' }] }]],
    [
      'anthropic',
      [
        {
          type: 'message',
          role: 'assistant',
          content: [{ type: 'tool_use', id: 'a', name: 'n', input: {} }],
          stop_reason: 'tool_use',
        },
      ],
    ],
    ['openai-responses', [{ role: 'user', content: [{ type: 'input_text', text: 'a' }] }]],
    [
      'openai-responses',
      [
        { role: 'developer', content: 'a' },
        { type: 'reasoning', id: 'rs_1', summary: [] },
        {
          type: 'message',
          role: 'assistant',
          content: [
            { type: 'output_text', text: 'a' },
            { type: 'refusal', refusal: 'no' },
          ],
        },
      ],
    ],
    ['openai-responses', [{ type: 'function_call', call_id: 'a', name: 'n', arguments: '{}' }]],
    ['openai-responses', [{ type: 'web_search_call', id: 'ws_1' }]],
    ['openai-responses', [{ type: 'message', role: 'user', content: 'a' }]],
    [
      'openai-responses',
      [
        { role: 'user', content: 'a' },
        { type: 'compaction', encrypted_content: 'g' },
      ],
    ],
    [
      'gemini',
      [
        { role: 'user', parts: [{ text: 'a' }] },
        { role: 'model', parts: [{ functionCall: { name: 'n' } }] },
        { role: 'function', parts: [{ functionResponse: { name: 'n' } }] },
        { parts: [{ text: 'a' }] },
        { role: 'model' },
      ],
    ],
  ])('finds %s', (format, messages) => {
    expect(detectFormat(messages)).toBe(format)
  })

  it.each([
    [[]],
    [['a']],
    [[{ role: 'critic', content: 'a' }]],
    [[{ type: 'summary' }]],
    [[{ role: 'user', content: [{ type: 'tomorrow' }] }]],
    [[{ role: 'model', content: 'a' }]],
    [[{ parts: 'a' }]],
    [
      [
        { role: 'assistant', tool_calls: [] },
        { role: 'user', content: [{ type: 'tool_result' }] },
      ],
    ],
    [[{ role: 'assistant', tool_calls: [] }, { type: 'function_call_output' }]],
  ])('finds nothing in %j', (messages) => {
    expect(detectFormat(messages)).toBeUndefined()
  })

  it('distinguishes the content of a message from what it is about', () => {
    const input = { messages: [{ role: 'assistant', tool_calls: [] }], type: 'tool-call', toolCallId: 'a' }
    expect(
      detectFormat([{ role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'n', input }] }]),
    ).toBe('anthropic')
  })

  it('finds what the converters make of a conversation with a tool', (context) => {
    const path = sharedPath('corpus/coding-session.anthropic.jsonl')
    if (path === undefined) return context.skip()
    const session = readFileSync(path, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as object)

    expect(detectFormat(session)).toBe('anthropic')
    expect(detectFormat(fromAnthropic(session))).toBe('neutral')
    expect(detectFormat(toOpenAI(fromAnthropic(session)))).toBe('openai')
  })
})
