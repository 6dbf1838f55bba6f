import { type AgentInputItem, protocol } from '@openai/agents'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { UNREAD } from '../../src/adapters/conversion.ts'
import { type ConversionNote, fromAgentItems, toAgentItems } from '../../src/adapters/openai-agents/index.ts'
import { isUndertextError } from '../../src/core/errors.ts'
import { canonicalJson } from '../../src/core/messages/json.ts'
import type { Message } from '../../src/core/messages/message.ts'
import { messageProblem } from '../../src/core/messages/message-check.ts'
import { anyItem, ITEM_KINDS } from './items.ts'

const PNG = 'iVBORw0KGgoAAAANSUhEUg=='

/** The one message an item is read as. */
function read(item: AgentInputItem): Message {
  const messages = fromAgentItems([item])
  expect(messages).toHaveLength(1)
  return messages[0]!
}

function isItem(value: unknown): boolean {
  return protocol.ModelItem.safeParse(value).success
}

function problemOf(item: unknown): string {
  try {
    fromAgentItems([item as object])
  } catch (error) {
    if (isUndertextError(error, 'INVALID_INPUT')) return error.facts.problems
    throw error
  }
  return 'nothing was thrown'
}

function written(messages: readonly Message[]): { items: AgentInputItem[]; notes: ConversionNote[] } {
  const notes: ConversionNote[] = []
  const items: AgentInputItem[] = toAgentItems(messages, { onNote: (note) => notes.push(note) })
  for (const item of items) expect(isItem(item), JSON.stringify(item)).toBe(true)
  return { items, notes }
}

describe('there and back', () => {
  it.each(Object.keys(ITEM_KINDS))('%s', (kind) => {
    fc.assert(
      fc.property(ITEM_KINDS[kind]!, (item) => {
        expect(isItem(item)).toBe(true)
        const given = canonicalJson(item)
        const messages = fromAgentItems([item])
        expect(messages).toHaveLength(1)
        expect(messageProblem(messages[0])).toBe(undefined)
        expect(toAgentItems(messages)).toStrictEqual([item])
        expect(canonicalJson(item)).toBe(given)
      }),
      { numRuns: 150 },
    )
  })

  it('of whole conversations, one message an item', () => {
    fc.assert(
      fc.property(fc.array(anyItem, { maxLength: 6 }), (items) => {
        const messages = fromAgentItems(items)
        expect(messages).toHaveLength(items.length)
        expect(toAgentItems(messages)).toStrictEqual(items)
      }),
    )
  })

  it('keeps fields the SDK does not know', () => {
    const items = [
      { type: 'message', role: 'user', content: 'Hi', later: { field: [1] } },
      { type: 'function_call', callId: 'c', name: 'f', arguments: '{}', later: 1 },
      { type: 'function_call_result', callId: 'c', name: 'f', status: 'completed', output: 'x', later: 1 },
      {
        type: 'computer_call_result',
        callId: 'c',
        name: 'n',
        output: { type: 'computer_screenshot', data: PNG, later: 1 },
      },
      { type: 'hosted_tool_call', name: 'web_search_call', later: 1 },
    ]
    expect(toAgentItems(fromAgentItems(items))).toStrictEqual(items)
  })
})

describe('fromAgentItems', () => {
  it('reads a turn with a tool', () => {
    const items: AgentInputItem[] = [
      { type: 'message', role: 'user', content: 'How is the weather?' },
      {
        type: 'reasoning',
        id: 'rs_1',
        content: [{ type: 'input_text', text: 'I should ask the tool.' }],
        providerData: { encrypted_content: 'gAAA' },
      },
      {
        type: 'function_call',
        id: 'fc_1',
        callId: 'c1',
        name: 'weather',
        arguments: '{ "city": "Turin" }',
        status: 'completed',
      },
      {
        type: 'function_call_result',
        callId: 'c1',
        name: 'weather',
        status: 'completed',
        output: { type: 'text', text: 'Sunny.' },
      },
      {
        type: 'message',
        id: 'msg_1',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: 'It is sunny.' }],
      },
    ]
    expect(fromAgentItems(items)).toStrictEqual([
      { role: 'user', content: 'How is the weather?' },
      {
        role: 'assistant',
        content: [
          {
            type: 'reasoning',
            text: 'I should ask the tool.',
            providerOptions: {
              'openai-agents': {
                type: 'reasoning',
                id: 'rs_1',
                providerData: { encrypted_content: 'gAAA' },
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
            toolCallId: 'c1',
            toolName: 'weather',
            input: { city: 'Turin' },
            providerOptions: {
              'openai-agents': {
                type: 'function_call',
                id: 'fc_1',
                status: 'completed',
                arguments: '{ "city": "Turin" }',
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
            toolCallId: 'c1',
            toolName: 'weather',
            output: { type: 'text', value: 'Sunny.' },
            providerOptions: {
              'openai-agents': { type: 'function_call_result', status: 'completed', output: {} },
            },
          },
        ],
      },
      {
        role: 'assistant',
        content: [{ type: 'text', text: 'It is sunny.' }],
        metadata: { 'openai-agents': { id: 'msg_1', status: 'completed' } },
      },
    ])
  })

  it('reads calls and results of the shell, the computer and patches as what they are', () => {
    const shell = read({ type: 'shell_call', callId: 's', action: { commands: ['ls'] } })
    expect(shell.content).toStrictEqual([
      {
        type: 'tool-call',
        toolCallId: 's',
        toolName: 'shell',
        input: { action: { commands: ['ls'] } },
        providerOptions: { 'openai-agents': { type: 'shell_call' } },
      },
    ])
    const screenshot = read({
      type: 'computer_call_result',
      callId: 'p',
      output: { type: 'computer_screenshot', data: PNG },
    })
    expect(screenshot.role).toBe('tool')
    expect(screenshot.content[0]).toMatchObject({
      toolName: 'computer',
      output: { type: 'content', value: [{ type: 'image', image: PNG }] },
    })
    const failed = read({ type: 'apply_patch_call_output', callId: 'a', status: 'failed', output: 'no file' })
    expect(failed.content[0]).toMatchObject({ output: { type: 'error-text', value: 'no file' } })
  })

  it('keeps items without a neutral meaning whole, and reports them', () => {
    const notes: ConversionNote[] = []
    const search: AgentInputItem = { type: 'hosted_tool_call', name: 'web_search_call', status: 'completed' }
    const upload: AgentInputItem = {
      role: 'user',
      content: [
        { type: 'input_text', text: 'See this.' },
        { type: 'input_file', file: { id: 'file-1' } },
      ],
    }
    const messages = fromAgentItems([search, upload], { onNote: (note) => notes.push(note) })
    expect(messages[0]).toStrictEqual({
      role: 'assistant',
      content: [{ type: 'provider', provider: 'openai', data: { 'openai-agents': search } }],
    })
    expect(notes.map(({ kind, messageIndex, place }) => [kind, messageIndex, place])).toStrictEqual([
      ['kept', 0, '[0]'],
      ['kept', 1, '[1].content[1]'],
    ])
  })

  it.each([
    [7, '[0]: must be an object'],
    [{}, '[0].role: must be system, user or assistant'],
    [{ role: 'tool', content: 'x' }, '[0].role: must be system, user or assistant'],
    [{ role: 'user' }, '[0].content: must be an array'],
    [{ role: 'system', content: [] }, '[0].content: must be a string'],
    [{ role: 'assistant', content: [] }, '[0].status: must be in_progress, completed or incomplete'],
    [{ type: 'image_generation_call' }, "[0].type: isn't an item type"],
    [{ type: 'function_call', name: 'f', arguments: '{}' }, '[0].callId: must be a string'],
    [{ type: 'function_call', callId: 'c', name: 'f', arguments: {} }, '[0].arguments: must be a string'],
    [
      { type: 'function_call_result', name: 'f', status: 'completed', output: 'x' },
      '[0].callId: must be a string',
    ],
    [
      { type: 'function_call_result', callId: 'c', name: 'f', status: 'completed' },
      '[0].output: must be an object',
    ],
    [
      { role: 'user', content: [{ type: 'image_url' }] },
      '[0].content[0].type: must be input_text, input_image, input_file or audio',
    ],
    [
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'a' },
          { type: 'input_image', image: 'not base64!' },
        ],
      },
      '[0].content[1].image: must be base64',
    ],
    [
      { role: 'user', content: [{ type: 'input_file', file: 'data:application/pdf;base64,a b' }] },
      '[0].content[0].file: must be base64',
    ],
    [
      {
        type: 'function_call_result',
        callId: 'c',
        name: 'f',
        status: 'completed',
        output: { type: 'image', image: { data: '%%%' } },
      },
      '[0].output.image.data: must be base64',
    ],
    [{ type: 'computer_call', callId: 'c', status: 'completed' }, '[0]: must have action or actions'],
    [
      {
        type: 'shell_call_output',
        callId: 'c',
        output: [{ stdout: '', stderr: '', outcome: { type: 'exit', exitCode: 0.5 } }],
      },
      '[0].output[0].outcome.exitCode: must be a whole number',
    ],
    [
      { type: 'unknown', providerData: { at: new Date(0) } },
      "[0]: contains an object that isn't plain in an object in an object",
    ],
  ])('refuses %j', (item, problem) => {
    expect(problemOf(item)).toBe(problem)
  })

  it('refuses what is no list, also leniently', () => {
    expect(() => fromAgentItems('x' as never, { lenient: true })).toThrow('items: must be an array')
  })

  it('agrees with the schema of the SDK about every item with something wrong in it', () => {
    const junk = fc.constantFrom(7, 0.5, -1, null, true, [], {}, '', 'QUJD', undefined)
    let refused = 0
    fc.assert(
      fc.property(anyItem, fc.nat(), junk, (item, where, value) => {
        const broken = structuredClone(item) as object
        const places = placesIn(broken)
        const [holder, name] = places[where % places.length]!
        if (value === undefined) Array.isArray(holder) ? holder.splice(Number(name), 1) : delete holder[name]
        else holder[name] = value
        const isRefused = problemOf(broken) !== 'nothing was thrown'
        if (isRefused) refused += 1
        expect(isRefused, JSON.stringify(broken)).toBe(!isItem(broken))
      }),
      { numRuns: 3_000 },
    )
    expect(refused).toBeGreaterThan(500)
  })
})

/** Every field of an item and of what is in it. */
function placesIn(value: object): [holder: { [name: string]: unknown }, name: string][] {
  if (value instanceof Uint8Array) return []
  return Object.entries(value).flatMap(([name, inner]) => [
    [value as { [name: string]: unknown }, name] as [{ [name: string]: unknown }, string],
    ...(typeof inner === 'object' && inner !== null ? placesIn(inner as object) : []),
  ])
}

describe('lenient', () => {
  const notes: ConversionNote[] = []
  const options = { lenient: true, onNote: (note: ConversionNote) => void notes.push(note) }

  it('keeps a malformed item and a malformed content as unread parts, sent nowhere', () => {
    const content = [
      { type: 'input_text', text: 'a' },
      { type: 'input_image', image: '%' },
    ]
    const messages = fromAgentItems(
      [
        { type: 'new_call', x: 1 },
        { type: 'message', role: 'user', content },
      ],
      options,
    )
    expect(messages).toStrictEqual([
      {
        role: 'user',
        content: [
          {
            type: 'provider',
            provider: UNREAD,
            data: { format: 'openai-agents', value: { type: 'new_call', x: 1 } },
          },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'a' },
          { type: 'provider', provider: UNREAD, data: { format: 'openai-agents', value: content[1] } },
        ],
      },
    ])
    expect(notes).toStrictEqual([
      { kind: 'unread', messageIndex: 0, place: '[0].type', why: "isn't an item type" },
      { kind: 'unread', messageIndex: 1, place: '[1].content[1].image', why: 'must be base64' },
    ])
    const sent = written(messages)
    expect(sent.items).toStrictEqual([
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'a' }] },
    ])
    expect(sent.notes.map(({ kind, place }) => [kind, place])).toStrictEqual([
      ['not-sent', '[0].content[0]'],
      ['not-sent', '[1].content[1]'],
    ])
  })

  it('reads everything of any list', () => {
    fc.assert(
      fc.property(fc.array(fc.anything(), { maxLength: 4 }), (items) => {
        const messages = fromAgentItems(items as object[], { lenient: true })
        expect(messages).toHaveLength(items.length)
        for (const message of messages) expect(messageProblem(message)).toBe(undefined)
        written(messages)
      }),
    )
  })
})

describe('toAgentItems', () => {
  it('parts an assistant message at its calls, in order', () => {
    const { items, notes } = written([
      { role: 'user', content: 'Two at once, please.' },
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: 'Hm.', providerOptions: { anthropic: { signature: 's' } } },
          { type: 'text', text: 'Looking.' },
          { type: 'tool-call', toolCallId: 'a', toolName: 'read', input: { path: 'a.ts' } },
          { type: 'tool-call', toolCallId: 'b', toolName: 'read', input: 'b.ts' },
          { type: 'text', text: 'Wait.' },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool-result', toolCallId: 'b', output: { type: 'json', value: { lines: 2 } } },
          { type: 'tool-result', toolCallId: 'a', output: { type: 'error-text', value: 'no file' } },
          { type: 'text', text: 'And?' },
        ],
      },
    ])
    expect(items).toStrictEqual([
      { type: 'message', role: 'user', content: 'Two at once, please.' },
      {
        type: 'message',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: 'Looking.' }],
      },
      { type: 'function_call', callId: 'a', name: 'read', arguments: '{"path":"a.ts"}', status: 'completed' },
      { type: 'function_call', callId: 'b', name: 'read', arguments: '"b.ts"', status: 'completed' },
      {
        type: 'message',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: 'Wait.' }],
      },
      { type: 'function_call_result', callId: 'b', name: 'read', status: 'completed', output: '{"lines":2}' },
      { type: 'function_call_result', callId: 'a', name: 'read', status: 'completed', output: 'no file' },
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'And?' }] },
    ])
    expect(notes.map(({ kind, messageIndex, place }) => [kind, messageIndex, place])).toStrictEqual([
      ['not-sent', 1, '[1].content[0]'],
      ['changed', 2, '[2].content[1]'],
    ])
  })

  it('shows pictures and files of a user, and of a tool', () => {
    const { items, notes } = written([
      {
        role: 'user',
        content: [
          { type: 'image', image: new Uint8Array([1, 2]), mediaType: 'image/png' },
          { type: 'image', image: 'https://example.com/a.png' },
          { type: 'file', data: 'JVBERi0xLjQ=', mediaType: 'application/pdf', filename: 'a.pdf' },
          { type: 'file', data: 'AQI=', mediaType: 'audio/wav' },
        ],
      },
      { role: 'assistant', content: [{ type: 'image', image: PNG }] },
      {
        role: 'tool',
        content: [
          {
            type: 'tool-result',
            toolCallId: 'x',
            output: {
              type: 'content',
              value: [
                { type: 'text', text: 'Here' },
                { type: 'image', image: PNG },
                { type: 'file', data: 'AQI=', mediaType: 'audio/wav' },
                { type: 'provider', provider: 'anthropic', data: { type: 'citation' } },
              ],
            },
          },
        ],
      },
    ])
    expect(items).toStrictEqual([
      {
        type: 'message',
        role: 'user',
        content: [
          { type: 'input_image', image: 'data:image/png;base64,AQI=' },
          { type: 'input_image', image: 'https://example.com/a.png' },
          { type: 'input_file', file: 'data:application/pdf;base64,JVBERi0xLjQ=', filename: 'a.pdf' },
          { type: 'audio', audio: 'AQI=', format: 'wav' },
        ],
      },
      {
        type: 'function_call_result',
        callId: 'x',
        name: 'tool',
        status: 'completed',
        output: [
          { type: 'input_text', text: 'Here' },
          { type: 'input_image', image: `data:image/png;base64,${PNG}` },
          { type: 'input_file', file: 'data:audio/wav;base64,AQI=', filename: 'file' },
        ],
      },
    ])
    expect(notes.map(({ kind, place }) => [kind, place])).toStrictEqual([
      ['not-sent', '[1].content[0]'],
      ['changed', '[2].content[0]'],
      ['not-sent', '[2].content[0].output.value[3]'],
    ])
  })

  it("sends a compaction block of OpenAI's, and no other provider's", () => {
    const block = { type: 'compaction', id: 'cmp_1', encrypted_content: 'gAAA' }
    const { items, notes } = written([
      { role: 'assistant', content: [{ type: 'provider', provider: 'openai', data: block }] },
      {
        role: 'assistant',
        content: [
          { type: 'provider', provider: 'anthropic', data: { type: 'compaction', content: 'So far.' } },
          { type: 'provider', provider: 'openai', data: { type: 'web_search_call' } },
        ],
      },
    ])
    expect(items).toStrictEqual([block])
    expect(notes.map(({ place }) => place)).toStrictEqual(['[1].content[0]', '[1].content[1]'])
  })

  it('sends what is shown in place of an output in the form the output had', () => {
    const items: AgentInputItem[] = [
      {
        type: 'function_call_result',
        callId: 'a',
        name: 'f',
        status: 'completed',
        output: { type: 'text', text: 'long' },
      },
      {
        type: 'function_call_result',
        callId: 'b',
        name: 'f',
        status: 'completed',
        output: [{ type: 'input_text', text: 'long' }],
      },
      {
        type: 'shell_call_output',
        callId: 'c',
        output: [{ stdout: 'long', stderr: '', outcome: { type: 'timeout' } }],
      },
      { type: 'apply_patch_call_output', callId: 'd', status: 'failed', output: 'long' },
      { type: 'computer_call_result', callId: 'e', output: { type: 'computer_screenshot', data: PNG } },
    ]
    const shown = fromAgentItems(items).map((message): Message => {
      const [part] = message.content
      if (typeof part !== 'object' || part.type !== 'tool-result') throw new Error('no result')
      return { ...message, content: [{ ...part, output: { type: 'text', value: '[cleared]' } }] }
    })
    const { items: sent, notes } = written(shown)
    expect(sent.map((item) => ('output' in item ? item.output : undefined))).toStrictEqual([
      { type: 'text', text: '[cleared]' },
      '[cleared]',
      [{ stdout: '[cleared]', stderr: '', outcome: { type: 'exit', exitCode: null } }],
      '[cleared]',
      { type: 'computer_screenshot', data: expect.stringMatching(/^data:image\/gif;base64,/) },
    ])
    expect(notes.map(({ kind, messageIndex }) => [kind, messageIndex])).toStrictEqual([['changed', 4]])
  })

  it('leaves out reasoning that was let go, without a note', () => {
    expect(written([{ role: 'assistant', content: [{ type: 'reasoning', text: '' }] }])).toStrictEqual({
      items: [],
      notes: [],
    })
  })
})
