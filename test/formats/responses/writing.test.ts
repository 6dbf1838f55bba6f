import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { fromAnthropic } from '../../../src/adapters/anthropic/from-anthropic.ts'
import { type ConversionNote, UNREAD } from '../../../src/adapters/conversion.ts'
import { fromOpenAI } from '../../../src/adapters/openai/from-openai.ts'
import { fromOpenAIResponses } from '../../../src/adapters/openai/from-responses.ts'
import { toOpenAIResponses } from '../../../src/adapters/openai/to-responses.ts'
import type { Message, Part } from '../../../src/core/messages/message.ts'
import { renderView } from '../../../src/index.ts'
import { expectViewAccepted } from '../../support/requests.ts'
import { sharedPath } from '../../support/shared.ts'

const PNG = 'iVBORw0KGgoAAAANSUhEUg=='

/** What is sent, and the kinds and places of the notes. */
function written(messages: readonly Message[]): { items: unknown[]; notes: string[] } {
  const notes: ConversionNote[] = []
  const items = toOpenAIResponses(messages, { onNote: (note) => notes.push(note) })
  return { items, notes: notes.map(({ kind, place }) => `${kind} ${place}`) }
}

const assistant = (...content: Part[]): Message => ({ role: 'assistant', content })

describe('toOpenAIResponses', () => {
  it("writes Anthropic's messages, several items for one", () => {
    const messages = fromAnthropic({
      system: 'Be brief.',
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is this?' },
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } },
            { type: 'document', source: { type: 'url', url: 'https://x.test/b.pdf' } },
          ],
        },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'hm', signature: 'sig' },
            { type: 'text', text: 'Looking.' },
            { type: 'tool_use', id: 'toolu_1', name: 'look', input: { at: 'it' } },
            { type: 'tool_use', id: 'toolu_2', name: 'look', input: {} },
          ],
        },
        {
          role: 'user',
          content: [
            {
              type: 'tool_result',
              tool_use_id: 'toolu_1',
              content: [
                { type: 'text', text: 'see' },
                { type: 'image', source: { type: 'url', url: 'https://x.test/a.png' } },
              ],
            },
            { type: 'tool_result', tool_use_id: 'toolu_2', content: 'no such thing', is_error: true },
            { type: 'text', text: 'Well?' },
          ],
        },
      ],
    })
    expect(written(messages)).toStrictEqual({
      items: [
        { role: 'system', content: 'Be brief.' },
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'What is this?' },
            { type: 'input_image', detail: 'auto', image_url: `data:image/png;base64,${PNG}` },
            { type: 'input_file', file_url: 'https://x.test/b.pdf' },
          ],
        },
        { role: 'assistant', content: 'Looking.' },
        { type: 'function_call', call_id: 'toolu_1', name: 'look', arguments: '{"at":"it"}' },
        { type: 'function_call', call_id: 'toolu_2', name: 'look', arguments: '{}' },
        {
          type: 'function_call_output',
          call_id: 'toolu_1',
          output: [
            { type: 'input_text', text: 'see' },
            { type: 'input_image', detail: 'auto', image_url: 'https://x.test/a.png' },
          ],
        },
        { type: 'function_call_output', call_id: 'toolu_2', output: 'no such thing' },
        { role: 'user', content: [{ type: 'input_text', text: 'Well?' }] },
      ],
      notes: ['not-sent [2].content[0]', 'changed [3].content[1].output'],
    })
  })

  it('writes messages of Chat Completions, and nothing that form alone knows', () => {
    const messages = fromOpenAI([
      { role: 'developer', content: 'Be brief.', name: 'ann' },
      {
        role: 'assistant',
        content: null,
        reasoning_content: 'hm',
        refusal: 'No.',
        annotations: [],
        tool_calls: [
          { id: 'a', type: 'function', function: { name: 'f', arguments: '{}', strict: true } },
          { id: 'b', type: 'custom', custom: { name: 'g', input: 'x' } },
        ],
      },
      { role: 'tool', tool_call_id: 'a', content: [{ type: 'text', text: 'one' }], name: 'f' },
      { role: 'tool', tool_call_id: 'b', content: 'two' },
      { role: 'user', content: [{ type: 'file', file: { file_id: 'file_1' } }] },
    ])
    expect(written(messages)).toStrictEqual({
      items: [
        { role: 'developer', content: 'Be brief.' },
        { role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] },
        { type: 'function_call', call_id: 'a', name: 'f', arguments: '{}' },
        { type: 'custom_tool_call', call_id: 'b', name: 'g', input: 'x' },
        { type: 'function_call_output', call_id: 'a', output: 'one' },
        { type: 'custom_tool_call_output', call_id: 'b', output: 'two' },
      ],
      notes: ['not-sent [1].content[0]', 'not-sent [4].content[0]'],
    })
  })

  it('tells of everything that has no place', () => {
    const text: Part = { type: 'text', text: 'a' }
    expect(
      written([
        { role: 'system', content: [{ type: 'image', image: PNG }, text] },
        assistant(
          { type: 'image', image: PNG },
          { type: 'provider', provider: 'anthropic', data: {} },
          text,
          text,
        ),
        { role: 'user', content: [{ type: 'tool-call', toolCallId: 'a', toolName: 'f', input: {} }] },
        { role: 'user', content: [{ type: 'file', data: 'AAAA', mediaType: 'audio/wav' }] },
        { role: 'user', content: [{ type: 'provider', provider: UNREAD, data: {} }] },
        { role: 'user', content: [] },
      ]),
    ).toStrictEqual({
      items: [
        { role: 'system', content: [{ type: 'input_text', text: 'a' }] },
        {
          role: 'assistant',
          content: [
            { type: 'output_text', text: 'a', annotations: [] },
            { type: 'output_text', text: 'a', annotations: [] },
          ],
        },
        {
          role: 'user',
          content: [
            {
              type: 'input_text',
              text: '[file is not shown: the provider does not read files of the type audio/wav]',
            },
          ],
        },
      ],
      notes: [
        'not-sent [0].content[0]',
        'not-sent [1].content[0]',
        'not-sent [1].content[1]',
        'not-sent [2].content[0]',
        'changed [3].content[0]',
        'not-sent [4].content[0]',
        'not-sent [5]',
      ],
    })
  })

  it('writes what the AI SDK keeps of items, and no id whose reasoning is not shown', () => {
    const reasoning = (text: string, reasoningEncryptedContent: string | null): Part => ({
      type: 'reasoning',
      text,
      providerOptions: { openai: { itemId: 'rs_1', reasoningEncryptedContent } },
    })
    const call: Part = {
      type: 'tool-call',
      toolCallId: 'a',
      toolName: 'f',
      input: {},
      providerOptions: { openai: { itemId: 'fc_1' }, 'ai-sdk': { reasoned: true } },
    }
    const said: Part = { type: 'text', text: 'Hi.', providerOptions: { openai: { itemId: 'msg_1' } } }
    const sent = { type: 'function_call', call_id: 'a', name: 'f', arguments: '{}' }
    expect(
      written([assistant(reasoning('One.', null), reasoning('Two.', 'gAAAA'), call, said)]),
    ).toStrictEqual({
      items: [
        {
          type: 'reasoning',
          id: 'rs_1',
          summary: [
            { type: 'summary_text', text: 'One.' },
            { type: 'summary_text', text: 'Two.' },
          ],
          encrypted_content: 'gAAAA',
        },
        { ...sent, id: 'fc_1' },
        {
          type: 'message',
          role: 'assistant',
          id: 'msg_1',
          status: 'completed',
          content: [{ type: 'output_text', text: 'Hi.', annotations: [] }],
        },
      ],
      notes: [],
    })
    expect(written([assistant(call)])).toStrictEqual({ items: [sent], notes: [] })
  })

  it('refuses a part of an unknown type', () => {
    expect(() => toOpenAIResponses([{ role: 'user', content: [{ type: 'SECRET' }] } as never])).toThrow(
      "[0].content[0].type: isn't a part type",
    )
  })
})

describe('items whose neighbors are hidden', () => {
  const reasoning = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAAA' }
  const call = { type: 'function_call', id: 'fc_1', call_id: 'a', name: 'f', arguments: '{}' }
  const search = { type: 'web_search_call', id: 'ws_1', status: 'completed' }
  const said = {
    type: 'message',
    id: 'msg_1',
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text: 'Hi.', annotations: [] }],
  }
  const output = { type: 'function_call_output', call_id: 'a', output: 'x' }

  it('go without their ids, or not at all', () => {
    const [, ...behind] = fromOpenAIResponses([reasoning, call, search, said, output])
    const { id: _, ...callAlone } = call
    const { id: __, status: ___, ...saidAlone } = said
    expect(written(behind)).toStrictEqual({
      items: [callAlone, saidAlone, output],
      notes: ['not-sent [1].content[0]'],
    })
  })

  it('are not led to by reasoning', () => {
    const [thought, , , answer, result] = fromOpenAIResponses([reasoning, call, search, said, output])
    // The call and the search are hidden: the message came behind the same reasoning.
    expect(written([thought!, answer!]).items).toStrictEqual([reasoning, said])
    expect(written([thought!, result!])).toStrictEqual({
      items: [output],
      notes: ['not-sent [0].content[0]'],
    })
  })

  it('of the computer go as calls of a function', () => {
    const click = { type: 'click', button: 'left', x: 1, y: 2 }
    const computer = { type: 'computer_call', id: 'cu_1', call_id: 'c', action: click, status: 'completed' }
    const image_url = 'https://x.test/a.png'
    const seen = {
      type: 'computer_call_output',
      call_id: 'c',
      output: { type: 'computer_screenshot', image_url },
    }
    const asFunction = [
      { type: 'function_call', call_id: 'c', name: 'computer', arguments: JSON.stringify(click) },
      { type: 'function_call_output', call_id: 'c', output: '[cleared]' },
    ]
    const [asked, result] = fromOpenAIResponses([computer, seen])
    const [part] = result!.content as Part[]
    const cleared = { ...part, output: { type: 'text', value: '[cleared]' } } as Part
    expect(written([asked!, { role: 'tool', content: [cleared] }])).toStrictEqual({
      items: asFunction,
      notes: ['changed [0].content[0]', 'changed [1].content[0]'],
    })
  })

  it.each([
    [
      { type: 'shell_call_output', call_id: 'a', output: [{ stdout: 'long', stderr: '', outcome: {} }] },
      [{ stdout: '[cleared]', stderr: '', outcome: { type: 'exit', exit_code: 0 } }],
    ],
    [{ type: 'local_shell_call_output', id: 'a', output: 'long' }, '[cleared]'],
    [{ type: 'apply_patch_call_output', call_id: 'a', status: 'completed', output: 'long' }, '[cleared]'],
    [
      { type: 'function_call_output', call_id: 'a', output: [{ type: 'input_text', text: 'long' }] },
      [{ type: 'input_text', text: '[cleared]' }],
    ],
  ])('show another text in place of the output of %j', (given, shown) => {
    const [message] = fromOpenAIResponses([given])
    const [part] = message!.content as Part[]
    const cleared = { ...part, output: { type: 'text', value: '[cleared]' } } as Part
    expect(toOpenAIResponses([{ role: 'tool', content: [cleared] }])).toEqual([{ ...given, output: shown }])
  })

  it('lose annotations with the text they count in', () => {
    const annotations = [
      { type: 'url_citation', start_index: 0, end_index: 2, title: 't', url: 'https://x.test' },
    ]
    const given = { ...said, content: [{ type: 'output_text', text: 'Hi.', annotations }] }
    const [message] = fromOpenAIResponses([given])
    const [part] = message!.content as Part[]
    expect(toOpenAIResponses([assistant({ ...part, text: 'Other.' } as Part)])).toEqual([
      { ...said, content: [{ type: 'output_text', text: 'Other.', annotations: [] }] },
    ])
  })

  it('keep their ids and their reasoning through a rendering', () => {
    const second = { ...call, id: 'fc_2', call_id: 'b' }
    const given = [
      { role: 'user', content: 'Hello' },
      reasoning,
      call,
      second,
      output,
      { ...output, call_id: 'b' },
      { ...reasoning, id: 'rs_2', encrypted_content: 'gAAAAAother' },
      said,
    ]
    const view = fromOpenAIResponses(given).map((message, i) => ({
      ...message,
      id: `m${i}`,
      kind: 'message' as const,
      createdAt: 0,
    }))
    expectViewAccepted(view, ['openai'])
    const { messages } = renderView(view, { provider: 'openai' })
    // A rendering puts each answer directly behind its call.
    const order = [0, 1, 2, 4, 3, 5, 6, 7].map((i) => given[i])
    expect(written(messages)).toStrictEqual({ items: order, notes: [] })
  })
})

it('writes real conversations of others so that they read as items again', (context) => {
  const coding = sharedPath('corpus/coding-session.anthropic.jsonl')
  const airline = sharedPath('corpus/airline-support.openai.jsonl')
  if (coding === undefined || airline === undefined) return context.skip()
  const linesOf = (path: string): object[] =>
    readFileSync(path, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as object)
  const conversations = [
    fromAnthropic(linesOf(coding)),
    ...(linesOf(airline) as { messages: object[] }[]).map(({ messages }) => fromOpenAI(messages)),
  ]
  for (const messages of conversations) {
    const items = toOpenAIResponses(messages)
    expect(toOpenAIResponses(fromOpenAIResponses(items))).toStrictEqual(items)
    const ids = (type: string): string[] =>
      (items as { type?: string; call_id?: string }[]).flatMap((item) =>
        item.type === type ? [item.call_id!] : [],
      )
    expect(ids('function_call_output').filter((id) => !ids('function_call').includes(id))).toEqual([])
  }
})
