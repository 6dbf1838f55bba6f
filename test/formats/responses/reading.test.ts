import { describe, expect, it } from 'vitest'
import type { ConversionNote } from '../../../src/adapters/conversion.ts'
import { fromOpenAIResponses } from '../../../src/adapters/openai/from-responses.ts'
import { toOpenAIResponses } from '../../../src/adapters/openai/to-responses.ts'
import type { Message } from '../../../src/core/messages/message.ts'
import { problemOf } from '../../support/failures.ts'

const RESPONSES = 'openai-responses'

describe('fromOpenAIResponses', () => {
  it('reads a conversation with reasoning, calls and a search', () => {
    const call = { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'read', status: 'completed' }
    expect(
      fromOpenAIResponses({
        instructions: 'Be brief.',
        input: [
          { role: 'user', content: 'What is in a.ts?' },
          {
            type: 'reasoning',
            id: 'rs_1',
            summary: [
              { type: 'summary_text', text: 'One.' },
              { type: 'summary_text', text: 'Two.' },
            ],
            encrypted_content: 'gAAAA',
          },
          { ...call, arguments: '{ "path": "a.ts" }' },
          { type: 'function_call_output', call_id: 'call_1', output: 'a dot' },
          {
            type: 'web_search_call',
            id: 'ws_1',
            status: 'completed',
            action: { type: 'search', query: 'q' },
          },
          {
            type: 'message',
            id: 'msg_1',
            role: 'assistant',
            status: 'completed',
            content: [{ type: 'output_text', text: 'A dot.', annotations: [] }],
          },
        ],
      }),
    ).toStrictEqual([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'What is in a.ts?' },
      {
        role: 'assistant',
        content: [
          {
            type: 'reasoning',
            text: 'One.\n\nTwo.',
            providerOptions: {
              [RESPONSES]: {
                item: { id: 'rs_1', encrypted_content: 'gAAAA' },
                summary: [{ length: 4 }, { length: 4 }],
                leads: true,
              },
            },
          },
        ],
      },
      {
        role: 'assistant',
        content: [
          {
            type: 'tool-call',
            toolCallId: 'call_1',
            toolName: 'read',
            input: { path: 'a.ts' },
            providerOptions: {
              [RESPONSES]: {
                item: { id: 'fc_1', status: 'completed' },
                arguments: '{ "path": "a.ts" }',
                after: 'rs_1',
              },
            },
          },
        ],
      },
      {
        role: 'tool',
        content: [
          {
            type: 'tool-result',
            toolCallId: 'call_1',
            toolName: 'read',
            output: { type: 'text', value: 'a dot' },
          },
        ],
      },
      {
        role: 'assistant',
        content: [
          {
            type: 'provider',
            provider: 'openai',
            data: {
              item: {
                type: 'web_search_call',
                id: 'ws_1',
                status: 'completed',
                action: { type: 'search', query: 'q' },
              },
            },
          },
        ],
      },
      {
        role: 'assistant',
        content: [
          {
            type: 'text',
            text: 'A dot.',
            providerOptions: {
              [RESPONSES]: {
                part: { annotations: [] },
                item: { type: 'message', id: 'msg_1', status: 'completed' },
              },
            },
          },
        ],
      },
    ])
  })

  it('reads a text alone, and instructions in items', () => {
    expect(fromOpenAIResponses({ input: 'Hello' })).toEqual([{ role: 'user', content: 'Hello' }])
    const instructions = [{ role: 'developer', content: 'Be brief.' }]
    expect(fromOpenAIResponses({ instructions, input: [] })).toEqual([
      { role: 'system', content: 'Be brief.', metadata: { [RESPONSES]: { item: { role: 'developer' } } } },
    ])
    expect(fromOpenAIResponses({ instructions: null, input: [] })).toEqual([])
  })

  it.each<[string, object, object, string]>([
    [
      'a custom tool',
      { type: 'custom_tool_call', call_id: 'a', name: 'patch', input: '*** Begin' },
      { type: 'custom_tool_call_output', call_id: 'a', output: 'ok' },
      'patch',
    ],
    [
      'a shell',
      { type: 'shell_call', call_id: 'a', action: { commands: ['ls'] } },
      { type: 'shell_call_output', call_id: 'a', output: [{ stdout: 'x', stderr: '', outcome: {} }] },
      'shell',
    ],
    [
      'a local shell',
      { type: 'local_shell_call', id: 'lsh_1', call_id: 'a', action: { type: 'exec', command: ['ls'] } },
      { type: 'local_shell_call_output', id: 'lsh_1', output: 'x' },
      'local_shell',
    ],
    [
      'a patch',
      { type: 'apply_patch_call', call_id: 'a', operation: { type: 'delete_file', path: 'a' } },
      { type: 'apply_patch_call_output', call_id: 'a', status: 'completed' },
      'apply_patch',
    ],
    [
      'the computer',
      { type: 'computer_call', id: 'cu_1', call_id: 'a', action: { type: 'screenshot' } },
      {
        type: 'computer_call_output',
        call_id: 'a',
        output: { type: 'computer_screenshot', image_url: 'data:image/png;base64,AAAA' },
      },
      'computer',
    ],
  ])('pairs the call of %s with its answer', (_, asked, answered, tool) => {
    const [call, result] = fromOpenAIResponses([asked, answered])
    expect(call?.content).toMatchObject([{ type: 'tool-call', toolCallId: 'a', toolName: tool }])
    expect(result?.content).toMatchObject([{ type: 'tool-result', toolCallId: 'a', toolName: tool }])
    expect(toOpenAIResponses([call!, result!])).toStrictEqual([asked, answered])
  })

  it('keeps a compaction as Chat Completions reads it', () => {
    const block = { type: 'compaction', id: 'cmp_1', encrypted_content: 'gAAAA' }
    expect(fromOpenAIResponses([block])).toStrictEqual([
      { role: 'assistant', content: [{ type: 'provider', provider: 'openai', data: block }] },
    ])
  })
})

const BAD: readonly (readonly [what: string, input: unknown, problem: string])[] = [
  ['a list', 'SECRET', 'input: must be an object'],
  ['an input', { output: [] }, 'input: must be a string or an array'],
  ['instructions', { input: [], instructions: 7 }, 'instructions: must be a string or an array'],
  ['an item', ['SECRET'], '[0]: must be an object'],
  ['an item of the object', { input: [7] }, 'input[0]: must be an object'],
  ['a type', [{ content: 'SECRET' }], '[0].type: must be a string'],
  ['a role', [{ role: 'SECRET', content: '' }], '[0].role: must be user, assistant, system or developer'],
  ['a content', [{ role: 'user', content: 7 }], '[0].content: must be an array'],
  ['a part', [{ role: 'user', content: ['SECRET'] }], '[0].content[0]: must be an object'],
  ['the type of a part', [{ role: 'user', content: [{}] }], '[0].content[0].type: must be a string'],
  ['a text', [{ role: 'user', content: [{ type: 'input_text' }] }], '[0].content[0].text: must be a string'],
  [
    'a refusal',
    [{ role: 'assistant', content: [{ type: 'refusal' }] }],
    '[0].content[0].refusal: must be a string',
  ],
  [
    'base64',
    [{ role: 'user', content: [{ type: 'input_image', image_url: 'data:image/png;base64,S ECRET' }] }],
    '[0].content[0].image_url: must be base64',
  ],
  [
    'base64 of a file',
    [{ role: 'user', content: [{ type: 'input_file', file_data: 'SECRET!' }] }],
    '[0].content[0].file_data: must be base64',
  ],
  ['a summary', [{ type: 'reasoning', id: 'rs_1' }], '[0].summary: must be an array'],
  [
    'a text of a summary',
    [{ type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text' }] }],
    '[0].summary[0].text: must be a string',
  ],
  ['a call with an id', [{ type: 'function_call', name: 'f' }], '[0].call_id: must be a string'],
  [
    'arguments',
    [{ type: 'function_call', call_id: 'a', name: 'f', arguments: {} }],
    '[0].arguments: must be a string',
  ],
  ['an input', [{ type: 'custom_tool_call', call_id: 'a', name: 'f' }], '[0].input: must be a string'],
  ['a name', [{ type: 'custom_tool_call', call_id: 'a', input: '' }], '[0].name: must be a string'],
  ['an action', [{ type: 'shell_call', call_id: 'a' }], '[0].action: must be an object'],
  [
    'an answer with an id',
    [{ type: 'function_call_output', output: 'SECRET' }],
    '[0].call_id: must be a string',
  ],
  ['an answer', [{ type: 'function_call_output', call_id: 'a' }], '[0].output: must be an array'],
  [
    'a screenshot',
    [
      {
        type: 'computer_call_output',
        call_id: 'a',
        output: { type: 'computer_screenshot', image_url: 'data:image/png;base64,A' },
      },
    ],
    '[0].output.image_url: must be base64',
  ],
  [
    'what a shell wrote',
    [{ type: 'shell_call_output', call_id: 'a', output: [{ stdout: 'SECRET' }] }],
    '[0].output[0].stderr: must be a string',
  ],
  [
    'a picture',
    [{ type: 'image_generation_call', id: 'ig_1', result: 'S ECRET' }],
    '[0].result: must be base64',
  ],
  ['a reference', [{ type: 'item_reference' }], '[0].id: must be a string'],
  ['a compaction', [{ type: 'compaction' }], '[0].encrypted_content: must be a string'],
  ['json', [{ type: 'hologram', at: 1n }], '[0]: contains a value of type bigint in an object'],
]

describe('bad input', () => {
  it.each(BAD)('refuses what is not %s, naming the place and not the text', (_, input, problem) => {
    expect(problemOf(() => fromOpenAIResponses(input as never))).toBe(problem)
  })

  it.each(BAD.filter(([, input]) => Array.isArray(input)))(
    'keeps what is not %s when asked to, and sends it nowhere',
    (_, input, problem) => {
      const notes: ConversionNote[] = []
      const given = [{ role: 'user', content: 'before' }, ...(input as object[])]
      const read = fromOpenAIResponses(given, { lenient: true, onNote: (note) => notes.push(note) })
      const [place, why] = problem.replace('[0]', '[1]').split(': ') as [string, string]
      expect(notes).toContainEqual({ kind: 'unread', messageIndex: 1, place, why })
      expect(read).toHaveLength(2)
      expect(JSON.stringify(read[1])).toContain('undertext-unread')

      const untold: ConversionNote[] = []
      const sent = toOpenAIResponses(read, { onNote: (note) => untold.push(note) })
      expect(JSON.stringify(sent)).not.toContain('undertext-unread')
      expect(untold).toMatchObject([{ kind: 'not-sent', messageIndex: 1 }])
    },
  )

  it('keeps the good parts around a bad one', () => {
    const content = [
      { type: 'input_text', text: 'a' },
      { type: 'input_text' },
      { type: 'input_text', text: 'b' },
    ]
    const read = fromOpenAIResponses([{ role: 'user', content }], { lenient: true })
    expect(read).toMatchObject<Partial<Message>[]>([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'a' },
          {
            type: 'provider',
            provider: 'undertext-unread',
            data: { format: RESPONSES, value: { type: 'input_text' } },
          },
          { type: 'text', text: 'b' },
        ],
      },
    ])
    expect(toOpenAIResponses(read)).toEqual([{ role: 'user', content: [content[0], content[2]] }])
  })

  it.each([
    [7, 'options must be an object'],
    [{ lenient: 1 }, 'options.lenient must be true or false'],
    [{ onNote: 1 }, 'options.onNote must be a function'],
  ])('refuses the options %j', (options, problem) => {
    expect(problemOf(() => fromOpenAIResponses([], options as never))).toBe(`${RESPONSES}: ${problem}`)
    expect(problemOf(() => toOpenAIResponses([], options as never))).toBe(`${RESPONSES}: ${problem}`)
  })
})

it('tells what is kept whole', () => {
  const notes: ConversionNote[] = []
  fromOpenAIResponses(
    [
      { type: 'web_search_call', id: 'ws_1' },
      { role: 'user', content: [{ type: 'input_file', file_id: 'file_1' }] },
      { type: 'hologram' },
    ],
    { onNote: (note) => notes.push(note) },
  )
  const why = 'the neutral form has no part for it'
  expect(notes).toEqual([
    { kind: 'kept', messageIndex: 0, place: '[0]', why },
    { kind: 'kept', messageIndex: 1, place: '[1].content[0]', why },
    { kind: 'kept', messageIndex: 2, place: '[2]', why },
  ])
})
