import {
  AIMessage,
  AIMessageChunk,
  type BaseMessage,
  ChatMessage,
  coerceMessageLikeToMessage,
  FunctionMessage,
  getBufferString,
  HumanMessage,
  mapChatMessagesToStoredMessages,
  mapStoredMessagesToChatMessages,
  mergeMessageRuns,
  RemoveMessage,
  type StoredMessage,
  SystemMessage,
  ToolMessage,
  trimMessages,
} from '@langchain/core/messages'
import { describe, expect, it } from 'vitest'
import type { ConversionNote } from '../../src/adapters/conversion.ts'
import { fromLangChain, toLangChain, toLangChainStored } from '../../src/adapters/langchain/index.ts'
import type { Message, Part } from '../../src/core/messages/message.ts'
import { problemOf } from '../support/failures.ts'

const PNG = 'iVBORw0KGgoAAAANSUhEUg=='

/** What is to be read of a message: its class and every field a class of message has. */
function fieldsOf(message: BaseMessage): object {
  const { type, id, name, content, additional_kwargs, response_metadata } = message
  const more = message as unknown as Record<string, unknown>
  const names = ['tool_calls', 'invalid_tool_calls', 'tool_call_chunks', 'usage_metadata', 'tool_call_id']
  return {
    class: message.constructor,
    ...{ type, id, name, content, additional_kwargs, response_metadata },
    ...Object.fromEntries(
      [...names, 'status', 'artifact', 'metadata', 'role'].map((field) => [field, more[field]]),
    ),
  }
}

const weather = { name: 'weather', args: { city: 'Turin' }, id: 'c1', type: 'tool_call' as const }

describe('fromLangChain', () => {
  it('reads a conversation with tools', () => {
    const read = fromLangChain([
      new SystemMessage('Be brief.'),
      new HumanMessage({ content: 'How is it?', name: 'ann', id: 'm1' }),
      new AIMessage({
        content: 'Looking.',
        tool_calls: [weather, { name: 'time', args: {}, id: 'c2', type: 'tool_call' }],
        usage_metadata: { input_tokens: 3, output_tokens: 2, total_tokens: 5 } as never,
        response_metadata: { model: 'x' },
      }),
      new ToolMessage({ content: 'Sunny.', tool_call_id: 'c1', name: 'weather', artifact: { raw: 1 } }),
      new ToolMessage({ content: 'No clock.', tool_call_id: 'c2', status: 'error' }),
      new AIMessage('It is sunny.'),
      new ChatMessage('Go on.', 'reviewer'),
    ])
    expect(read).toStrictEqual([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'How is it?', metadata: { langchain: { id: 'm1', name: 'ann' } } },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'Looking.' },
          { type: 'tool-call', toolCallId: 'c1', toolName: 'weather', input: { city: 'Turin' } },
          { type: 'tool-call', toolCallId: 'c2', toolName: 'time', input: {} },
        ],
        metadata: {
          langchain: {
            response_metadata: { model: 'x' },
            usage_metadata: { input_tokens: 3, output_tokens: 2, total_tokens: 5 },
          },
        },
      },
      {
        role: 'tool',
        content: [
          {
            type: 'tool-result',
            toolCallId: 'c1',
            toolName: 'weather',
            output: { type: 'text', value: 'Sunny.' },
            providerOptions: { langchain: { artifact: { raw: 1 } } },
          },
        ],
      },
      {
        role: 'tool',
        content: [
          {
            type: 'tool-result',
            toolCallId: 'c2',
            toolName: 'time',
            output: { type: 'error-text', value: 'No clock.' },
            providerOptions: { langchain: { form: { without: ['name'] } } },
          },
        ],
      },
      { role: 'assistant', content: 'It is sunny.' },
      {
        role: 'user',
        content: 'Go on.',
        metadata: { langchain: { role: 'reviewer', form: { type: 'generic' } } },
      },
    ])
  })

  it.each<[string, object]>([
    ['of version 1', { type: 'tool_call', id: 'c1', name: 'weather', args: { city: 'Turin' } }],
    ["of Anthropic's", { type: 'tool_use', id: 'c1', name: 'weather', input: { city: 'Turin' } }],
  ])('makes one call of a block %s and its entry in tool_calls, at the place of the block', (_, block) => {
    const message = {
      type: 'ai',
      data: { content: [block, { type: 'text', text: 'Wait.' }], tool_calls: [weather] },
    }
    const [read] = fromLangChain([message])
    expect((read!.content as Part[]).map(({ type }) => type)).toEqual(['tool-call', 'text'])
    expect(read!.content[0]).toMatchObject({
      toolCallId: 'c1',
      toolName: 'weather',
      input: { city: 'Turin' },
    })
    expect(toLangChainStored([read as Message])).toStrictEqual([message])
  })

  it('counts raw calls of additional_kwargs only where tool_calls has none', () => {
    const raw = { id: 'c1', type: 'function', function: { name: 'weather', arguments: '{"city":"Turin"}' } }
    const callsOf = (data: object): unknown[] =>
      fromLangChain([
        { type: 'ai', data: { content: '', additional_kwargs: { tool_calls: [raw] }, ...data } },
      ])
        .flatMap(({ content }) => content as Part[])
        .map((part) => part.type === 'tool-call' && [part.toolCallId, part.toolName, part.input])
    const one = [['c1', 'weather', { city: 'Turin' }]]
    expect(callsOf({ tool_calls: [weather] })).toEqual(one)
    expect(callsOf({ tool_calls: [] })).toEqual(one)
    expect(callsOf({})).toEqual(one)
  })

  it('pairs legacy calls with their answers', () => {
    const given = [
      {
        type: 'ai',
        data: { content: '', additional_kwargs: { function_call: { name: 'look', arguments: '{}' } } },
      },
      { type: 'function', data: { content: 'seen', name: 'look' } },
    ]
    const read = fromLangChain(given)
    expect(read[0]?.content).toMatchObject([
      { toolCallId: 'function_call_look', toolName: 'look', input: {} },
    ])
    expect(read[1]?.content).toMatchObject([{ toolCallId: 'function_call_look', toolName: 'look' }])
    expect(toLangChainStored(read)).toStrictEqual(given)
    // A rendering that changes the message of the call drops what was kept beside it: then both are of the new kind.
    const [call, answer] = read as [Message, Message]
    const written = toLangChainStored([{ role: call.role, content: call.content }, answer])
    expect(written.map(({ type }) => type)).toEqual(['ai', 'tool'])
    expect(written[0]?.data.tool_calls).toMatchObject([{ id: 'function_call_look' }])
  })

  it.each<[string, object, Part]>([
    [
      'an image of version 1',
      { type: 'image', data: PNG, mimeType: 'image/png' },
      { type: 'image', image: PNG, mediaType: 'image/png' },
    ],
    [
      'a sound of version 0',
      { type: 'audio', source_type: 'base64', data: 'AAAA', mime_type: 'audio/wav' },
      {
        type: 'file',
        data: 'AAAA',
        mediaType: 'audio/wav',
        providerOptions: {
          langchain: { type: 'audio', source_type: 'base64', mime_type: 'audio/wav', in: 'data' },
        },
      },
    ],
    [
      'an image by its address',
      { type: 'image_url', image_url: { url: 'https://x.test/a.png', detail: 'low' } },
      {
        type: 'image',
        image: 'https://x.test/a.png',
        providerOptions: {
          langchain: { type: 'image_url', image_url: { detail: 'low' }, in: 'image_url.url' },
        },
      },
    ],
    [
      'a plain text',
      { type: 'text-plain', text: 'abc', title: 'T' },
      {
        type: 'file',
        data: 'YWJj',
        mediaType: 'text/plain',
        providerOptions: { langchain: { type: 'text-plain', title: 'T', in: 'text' } },
      },
    ],
    [
      'a file by its id',
      { type: 'file', fileId: 'f1' },
      { type: 'provider', provider: 'langchain', data: { type: 'file', fileId: 'f1' } },
    ],
    [
      "Anthropic's thinking",
      { type: 'thinking', thinking: 'Hm.', signature: 's' },
      {
        type: 'reasoning',
        text: 'Hm.',
        providerOptions: { langchain: { signature: 's', type: 'thinking' }, anthropic: { signature: 's' } },
      },
    ],
    ['reasoning', { type: 'reasoning', reasoning: 'Hm.' }, { type: 'reasoning', text: 'Hm.' }],
    [
      'a call its provider answers',
      { type: 'server_tool_call', name: 'search', args: {} },
      {
        type: 'provider',
        provider: 'langchain',
        data: { type: 'server_tool_call', name: 'search', args: {} },
      },
    ],
  ])('reads %s', (_, block, part) => {
    const [read] = fromLangChain([{ type: 'human', data: { content: [block] } }])
    expect(read?.content).toStrictEqual([part])
  })

  it('reads the serialized constructor, bare fields and the first stored form as the same', () => {
    const message = new AIMessage({ content: 'a', id: 'm' })
    const [read] = fromLangChain([message])
    expect(fromLangChain([JSON.parse(JSON.stringify(message)) as object])).toStrictEqual([read])
    expect(fromLangChain([message.toDict()])).toStrictEqual([read])
    expect(fromLangChain([{ type: 'human', content: 'a' }])).toMatchObject([{ role: 'user', content: 'a' }])
    expect(fromLangChain([{ type: 'human', text: 'a', role: undefined }])).toMatchObject([{ content: 'a' }])
  })

  it.each<[string, object, string]>([
    [
      'an unknown type',
      { type: 'robot', data: { content: '' } },
      '[0].type: must be human, ai, system, tool',
    ],
    ['no type', { content: 'a' }, '[0].type: must be a string'],
    [
      'another class',
      { lc: 1, type: 'constructor', id: ['x', 'Prompt'], kwargs: {} },
      '[0].id: must name a message class',
    ],
    [
      'a content of another kind',
      { type: 'human', content: 3 },
      '[0].content: must be a string or an array of blocks',
    ],
    ['a block that is none', { type: 'human', content: ['a'] }, '[0].content[0]: must be an object'],
    [
      'a text without text',
      { type: 'human', content: [{ type: 'text' }] },
      '[0].content[0].text: must be a string',
    ],
    [
      'bytes that are no base64',
      { type: 'human', content: [{ type: 'image', data: '%%%', mimeType: 'image/png' }] },
      '[0].content[0].data: must be base64',
    ],
    [
      'an address with such bytes',
      { type: 'human', content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,%' } }] },
      '[0].content[0].image_url.url: must be base64',
    ],
    [
      'a call without id',
      { type: 'ai', content: '', tool_calls: [{ name: 'f', args: {} }] },
      '[0].tool_calls[0].id: must be a string',
    ],
    [
      'a call without arguments',
      { type: 'ai', content: '', tool_calls: [{ name: 'f', id: 'c' }] },
      '[0].tool_calls[0].args: is required',
    ],
    [
      'a block of a call without a name',
      { type: 'ai', content: [{ type: 'tool_use', id: 'c', input: {} }] },
      '[0].content[0].name: must be a string',
    ],
    ['a result without its call', { type: 'tool', content: 'x' }, '[0].tool_call_id: must be a string'],
    ['an answer without a name', { type: 'function', content: 'x' }, '[0].name: must be a string'],
    ['a message without a role', { type: 'generic', content: 'x' }, '[0].role: must be a string'],
    [
      'what JSON cannot say',
      { type: 'human', content: [{ type: 'text', text: 'a', n: 1n }] },
      '[0].content[0]: contains',
    ],
  ])('refuses %s, and keeps it with lenient', (_, message, problem) => {
    expect(problemOf(() => fromLangChain([message]))).toContain(problem)
    const notes: ConversionNote[] = []
    const read = fromLangChain([message, new HumanMessage('b')], {
      lenient: true,
      onNote: (note) => notes.push(note),
    })
    expect(read).toHaveLength(2)
    expect(JSON.stringify(read[0]?.content)).toContain('undertext-unread')
    expect(read[1]).toStrictEqual({ role: 'user', content: 'b' })
    const [place = ''] = problem.split(': ')
    expect(notes).toMatchObject([{ kind: 'unread', messageIndex: 0, place }])
  })

  it('keeps a part that cannot be read in its place', () => {
    const [read] = fromLangChain(
      [
        {
          type: 'human',
          content: [{ type: 'text', text: 'a' }, { type: 'text' }, { type: 'text', text: 'c' }],
        },
      ],
      { lenient: true },
    )
    expect((read!.content as Part[]).map(({ type }) => type)).toEqual(['text', 'provider', 'text'])
  })

  it('rejects a value that is not a list, lenient or not', () => {
    expect(problemOf(() => fromLangChain({} as never, { lenient: true }))).toBe('messages: must be an array')
  })

  it('reports what it keeps for LangChain only, and what JSON cannot represent exactly', () => {
    const notes: string[] = []
    const date = new Date(0)
    const read = fromLangChain(
      [
        new AIMessage({
          content: [{ type: 'server_tool_call', name: 'f', args: {} }],
          invalid_tool_calls: [{ name: 'f', args: '{', id: 'c', type: 'invalid_tool_call' }],
        }),
        new ToolMessage({ content: 'a', tool_call_id: 'c', artifact: { date, gone: undefined } }),
        new ToolMessage({ content: 'a', tool_call_id: 'c', artifact: { gone: undefined } }),
        new RemoveMessage({ id: 'm' }),
      ],
      { onNote: ({ kind, messageIndex, place }) => notes.push(`${kind} ${messageIndex} ${place}`) },
    )
    expect(notes).toEqual([
      'kept 0 [0].content[0]',
      'kept 0 [0].invalid_tool_calls[0]',
      'changed 1 [1].artifact',
      'kept 3 [3]',
    ])
    expect(toLangChainStored(read)[1]?.data.artifact).toEqual({ date: '1970-01-01T00:00:00.000Z' })
  })
})

describe('toLangChain', () => {
  const instances = (): BaseMessage[] => [
    new SystemMessage({ content: 'Be brief.', additional_kwargs: { __openai_role__: 'developer' } }),
    new HumanMessage({ content: [{ type: 'text', text: 'a' }], id: 'm1', name: 'ann' }),
    new HumanMessage({ contentBlocks: [{ type: 'image', data: PNG, mimeType: 'image/png' }] }),
    new HumanMessage({
      content: [{ type: 'image', data: new Uint8Array([1, 2]), mimeType: 'image/png' }],
    }),
    new AIMessage({
      contentBlocks: [
        { type: 'reasoning', reasoning: 'Hm.' },
        { type: 'text', text: 'a', annotations: [{ type: 'citation', url: 'https://x.test' }] },
        { type: 'tool_call', name: 'weather', args: { city: 'Turin' }, id: 'c1' },
      ],
    }),
    new AIMessageChunk({
      content: '',
      id: 'run-1',
      tool_call_chunks: [
        { name: 'weather', args: '{"city":"Turin"}', id: 'c1', index: 0, type: 'tool_call_chunk' },
      ],
    }),
    new AIMessageChunk('hello').concat(new AIMessageChunk(' you')),
    new ToolMessage({
      content: [{ type: 'text', text: 'a' }],
      tool_call_id: 'c1',
      status: 'success',
      metadata: { a: 1 },
    }),
    new FunctionMessage({ content: 'a', name: 'f' }),
    new ChatMessage('a', 'reviewer'),
    new RemoveMessage({ id: 'm1' }),
  ]

  it('gives instances of the same class with the same fields', () => {
    const back = toLangChain(fromLangChain(instances()))
    expect(back.map(fieldsOf)).toStrictEqual(instances().map(fieldsOf))
  })

  it('gives what LangChain itself stores', () => {
    const given = instances().filter(
      ({ response_metadata }) => response_metadata.output_version === undefined,
    )
    const json = (value: unknown): unknown => JSON.parse(JSON.stringify(value))
    expect(json(toLangChainStored(fromLangChain(given)))).toEqual(
      json(mapChatMessagesToStoredMessages(given)),
    )
  })

  const foreign: Message[] = [
    { role: 'system', content: 'Be brief.' },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'Look.' },
        { type: 'image', image: `data:image/png;base64,${PNG}` },
        { type: 'file', data: 'JVBERi0xLjQ=', mediaType: 'application/pdf', filename: 'a.pdf' },
      ],
    },
    {
      role: 'assistant',
      content: [
        { type: 'reasoning', text: 'Hm.', providerOptions: { anthropic: { signature: 's' } } },
        { type: 'text', text: 'Wait.' },
        { type: 'tool-call', toolCallId: 'c1', toolName: 'look', input: { path: 'a' } },
        { type: 'tool-call', toolCallId: 'c2', toolName: 'patch', input: '*** Begin' },
      ],
    },
    {
      role: 'tool',
      content: [
        {
          type: 'tool-result',
          toolCallId: 'c1',
          toolName: 'look',
          output: { type: 'json', value: { a: 1 } },
        },
        { type: 'tool-result', toolCallId: 'c2', output: { type: 'error-text', value: 'no' } },
      ],
    },
    {
      role: 'assistant',
      content: [{ type: 'provider', provider: 'anthropic', data: { type: 'redacted_thinking' } }],
    },
    { role: 'assistant', content: [{ type: 'text', text: 'Done.' }] },
  ]

  it('makes clean messages of those from elsewhere', () => {
    const notes: string[] = []
    const written = toLangChainStored(foreign, {
      onNote: ({ kind, place }) => notes.push(`${kind} ${place}`),
    })
    const usual = { additional_kwargs: {}, response_metadata: {} }
    const standard = { additional_kwargs: {}, response_metadata: { output_version: 'v1' } }
    const look = { name: 'look', args: { path: 'a' }, id: 'c1' }
    const patch = { name: 'patch', args: { arguments: '*** Begin' }, id: 'c2' }
    expect(written).toStrictEqual([
      { type: 'system', data: { content: 'Be brief.', ...usual } },
      {
        type: 'human',
        data: {
          content: [
            { type: 'text', text: 'Look.' },
            { type: 'image', data: PNG, mimeType: 'image/png' },
            {
              type: 'file',
              data: 'JVBERi0xLjQ=',
              mimeType: 'application/pdf',
              metadata: { filename: 'a.pdf' },
            },
          ],
          ...standard,
        },
      },
      {
        type: 'ai',
        data: {
          content: [
            { type: 'reasoning', reasoning: 'Hm.', signature: 's' },
            { type: 'text', text: 'Wait.' },
            { type: 'tool_call', ...look },
            { type: 'tool_call', ...patch },
          ],
          tool_calls: [
            { ...look, type: 'tool_call' },
            { ...patch, type: 'tool_call' },
          ],
          invalid_tool_calls: [],
          ...standard,
        },
      },
      { type: 'tool', data: { content: '{"a":1}', tool_call_id: 'c1', name: 'look', ...usual } },
      { type: 'tool', data: { content: 'no', tool_call_id: 'c2', status: 'error', ...usual } },
      { type: 'ai', data: { content: 'Done.', tool_calls: [], invalid_tool_calls: [], ...usual } },
    ])
    expect(notes).toEqual(['changed [2].content[3]', 'not-sent [4].content[0]'])
  })

  it('leaves reasoning out that led to nothing but what was left out', () => {
    const foreign: Part = { type: 'provider', provider: 'google', data: {} }
    const reasoning: Part = { type: 'reasoning', text: 'Hm.' }
    const typesOf = (content: Part[]): string[] =>
      toLangChainStored([{ role: 'assistant', content }]).map(({ type }) => type)
    expect(typesOf([reasoning, foreign])).toEqual([])
    expect(typesOf([reasoning])).toEqual(['ai'])
    expect(typesOf([reasoning, foreign, { type: 'text', text: 'So.' }])).toEqual(['ai'])
  })

  it('names the place of a part that occurs twice, also after a result', () => {
    const foreign: Part = { type: 'provider', provider: 'google', data: {} }
    const answer: Part = { type: 'tool-result', toolCallId: 'c', output: { type: 'text', value: '4' } }
    const places: string[] = []
    toLangChainStored([{ role: 'assistant', content: [foreign, answer, foreign] }], {
      onNote: ({ place }) => places.push(place),
    })
    expect(places).toEqual(['[0].content[0]', '[0].content[2]'])
  })

  it("gives what LangChain's own functions take", async () => {
    const messages = toLangChain(foreign)
    expect(messages.map((message) => coerceMessageLikeToMessage(message))).toEqual(messages)
    const kept = await trimMessages(messages, {
      maxTokens: 3,
      strategy: 'last',
      tokenCounter: (all) => all.length,
    })
    expect(kept).toHaveLength(3)
    expect(mergeMessageRuns(messages)).toHaveLength(messages.length)
    expect(getBufferString(messages)).toContain('Human: Look.[image][file]')
    expect(messages[2]?.contentBlocks.map(({ type }) => type)).toEqual([
      'reasoning',
      'text',
      'tool_call',
      'tool_call',
    ])
    expect((messages[2] as AIMessage).tool_calls?.map(({ id }) => id)).toEqual(['c1', 'c2'])
    // The type of LangChain's says that a content is a text, which it need not be.
    const stored = toLangChainStored(foreign) as StoredMessage[]
    expect(mapStoredMessagesToChatMessages(stored).map(fieldsOf)).toStrictEqual(messages.map(fieldsOf))
  })

  it('renders results of provider-run tools as standard blocks, and splits a message at the others', () => {
    const call = { type: 'tool-call', toolCallId: 'c1', toolName: 'search', input: { q: 'x' } } as const
    const result = {
      type: 'tool-result',
      toolCallId: 'c1',
      output: { type: 'text', value: 'found' },
    } as const
    const text = { type: 'text', text: 'So.' } as const
    const [served] = toLangChainStored([
      { role: 'assistant', content: [{ ...call, providerExecuted: true }, result, text] },
    ])
    expect(served?.data.content).toStrictEqual([
      { type: 'server_tool_call', id: 'c1', name: 'search', args: { q: 'x' } },
      { type: 'server_tool_call_result', toolCallId: 'c1', status: 'success', output: { text: 'found' } },
      { type: 'text', text: 'So.' },
    ])
    const parted = toLangChainStored([{ role: 'assistant', content: [call, result, text] }])
    expect(parted.map(({ type }) => type)).toEqual(['ai', 'tool', 'ai'])
  })

  it('shows the current content of the neutral part', () => {
    const [read] = fromLangChain([
      new ToolMessage({
        content: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ],
        tool_call_id: 'c1',
      }),
    ])
    const part = read!.content[0] as Part & { type: 'tool-result' }
    const pruned = { ...part, output: { type: 'text', value: '[pruned]' } } as const
    expect(toLangChainStored([{ role: 'tool', content: [pruned] }])[0]?.data.content).toEqual([
      { type: 'text', text: '[pruned]' },
    ])
  })

  it('rejects a value that is not a list', () => {
    expect(problemOf(() => toLangChain({} as never))).toBe('toLangChain: messages must be an array')
  })
})
