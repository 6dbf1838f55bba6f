import { describe, expect, it } from 'vitest'
import { messageOfAnswer } from '../../src/adapters/ai-sdk/answers.ts'
import { fromAnthropic } from '../../src/adapters/anthropic/from-anthropic.ts'
import { toAnthropic } from '../../src/adapters/anthropic/to-anthropic.ts'
import type { ConversionNote } from '../../src/adapters/conversion.ts'
import type { Message, Part } from '../../src/core/messages/message.ts'
import { failureOf } from './refusals.ts'

const user = (...content: unknown[]) => ({ role: 'user', content })
const assistant = (...content: unknown[]) => ({ role: 'assistant', content })
const opaque = (value: unknown): Part => ({
  type: 'provider',
  provider: 'undertext-unread',
  data: { format: 'anthropic', value } as never,
})

function notesOf(act: (onNote: (note: ConversionNote) => void) => unknown): [string, number, string][] {
  const notes: [string, number, string][] = []
  act(({ kind, messageIndex, place }) => notes.push([kind, messageIndex, place]))
  return notes
}

describe('conversations that Anthropic cannot have produced', () => {
  const base64 = (data: unknown) => ({ type: 'base64', media_type: 'image/png', data })

  it.each<[string, unknown, string, string]>([
    ['an unknown role', { role: 'critic', content: 'SECRET' }, '[1].role', 'must be user or assistant'],
    ['no message', 'SECRET', '[1]', 'must be an object'],
    ['a content', { role: 'user', content: 7 }, '[1].content', 'must be an array'],
    [
      'a date in a message',
      { role: 'user', content: 'SECRET', at: new Date(0) },
      '[1]',
      "contains an object that isn't plain in an object",
    ],
  ])('refuses %s, and keeps it as a message of the user when lenient', (_, message, place, rule) => {
    const given = [user({ type: 'text', text: 'a' }), message] as object[]
    expect(failureOf(() => fromAnthropic(given))).toBe(`${place}: ${rule}`)

    const notes: ConversionNote[] = []
    const read = fromAnthropic(given, { lenient: true, onNote: (note) => notes.push(note) })
    const value = JSON.parse(JSON.stringify(message)) as unknown
    expect(read[1]).toStrictEqual({ role: 'user', content: [opaque(value)] })
    expect(notes).toStrictEqual([{ kind: 'unread', messageIndex: 1, place, why: rule }])
  })

  it.each<[string, 'user' | 'assistant', unknown, string, string]>([
    [
      'a call without an id',
      'assistant',
      { type: 'tool_use', name: 'SECRET', input: {} },
      '.id',
      'must be a string',
    ],
    [
      'a call without a name',
      'assistant',
      { type: 'tool_use', id: 'a', input: {} },
      '.name',
      'must be a string',
    ],
    [
      'a call without an input',
      'assistant',
      { type: 'tool_use', id: 'a', name: 'n' },
      '.input',
      'is required',
    ],
    [
      'a result of nothing',
      'user',
      { type: 'tool_result', content: 'SECRET' },
      '.tool_use_id',
      'must be a string',
    ],
    [
      'a result that failed perhaps',
      'user',
      { type: 'tool_result', tool_use_id: 'a', is_error: 'SECRET' },
      '.is_error',
      'must be true or false',
    ],
    ['an image without a source', 'user', { type: 'image' }, '.source', 'must be an object'],
    ['an image of no kind', 'user', { type: 'image', source: {} }, '.source.type', 'must be a string'],
    [
      'bytes that are none',
      'user',
      { type: 'image', source: base64('SECRET!') },
      '.source.data',
      'must be base64',
    ],
    ['bytes cut short', 'user', { type: 'image', source: base64('AAAAA') }, '.source.data', 'must be base64'],
    [
      'bytes padded too much',
      'user',
      { type: 'image', source: base64('AAA==') },
      '.source.data',
      'must be base64',
    ],
    ['bytes of a number', 'user', { type: 'image', source: base64(7) }, '.source.data', 'must be base64'],
    [
      'bytes of an assistant',
      'assistant',
      { type: 'document', source: base64('%') },
      '.source.data',
      'must be base64',
    ],
    [
      'bytes without a type',
      'user',
      { type: 'document', source: { type: 'base64', data: '' } },
      '.source.media_type',
      'must be a string',
    ],
    [
      'an address of a number',
      'user',
      { type: 'image', source: { type: 'url', url: 7 } },
      '.source.url',
      'must be a string',
    ],
    [
      'a file without an id',
      'user',
      { type: 'document', source: { type: 'file' } },
      '.source.file_id',
      'must be a string',
    ],
    [
      'a title of a number',
      'user',
      { type: 'document', source: { type: 'file', file_id: 'f' }, title: 7 },
      '.title',
      'must be a string',
    ],
    [
      'thinking of nothing',
      'assistant',
      { type: 'thinking', signature: 's' },
      '.thinking',
      'must be a string',
    ],
    [
      'a signature of a number',
      'assistant',
      { type: 'thinking', thinking: 'SECRET', signature: 7 },
      '.signature',
      'must be a string',
    ],
    [
      'redacted thinking without data',
      'assistant',
      { type: 'redacted_thinking' },
      '.data',
      'must be a string',
    ],
    [
      "a server's call without an id",
      'assistant',
      { type: 'server_tool_use', name: 'web_search', input: {} },
      '.id',
      'must be a string',
    ],
    [
      "a server's result of nothing",
      'assistant',
      { type: 'web_search_tool_result' },
      '.tool_use_id',
      'must be a string',
    ],
    ['a block of no type', 'user', { text: 'SECRET' }, '.type', 'must be a string'],
    ['no block', 'user', null, '', 'must be an object'],
  ])('refuses %s, and keeps it in its place when lenient', (_, role, block, where, rule) => {
    const said = { type: 'text', text: 'a' }
    const given = [{ role, content: [said, block, said] }]
    const place = `[0].content[1]${where}`
    expect(failureOf(() => fromAnthropic(given))).toBe(`${place}: ${rule}`)

    const notes: ConversionNote[] = []
    const read = fromAnthropic(given, { lenient: true, onNote: (note) => notes.push(note) })
    expect(read).toStrictEqual([{ role, content: [said, opaque(block), said] }])
    expect(notes).toStrictEqual([{ kind: 'unread', messageIndex: 0, place, why: rule }])
    expect(toAnthropic(read).messages).toStrictEqual([{ role, content: [said, said] }])
  })

  it('keeps a malformed block of a result within the result', () => {
    const content = [{ type: 'text', text: 'a' }, { type: 'text' }]
    const given = [user({ type: 'tool_result', tool_use_id: 'a', content })]
    const [read] = fromAnthropic(given, { lenient: true })

    expect(read).toStrictEqual({
      role: 'tool',
      content: [
        {
          type: 'tool-result',
          toolCallId: 'a',
          output: { type: 'content', value: [{ type: 'text', text: 'a' }, opaque({ type: 'text' })] },
        },
      ],
    })
  })

  it('rejects a value that is not a list, lenient or not', () => {
    expect(failureOf(() => fromAnthropic('SECRET' as never, { lenient: true }))).toBe(
      'input: must be an object',
    )
  })
})

describe('what is reported', () => {
  it('names blocks that are kept whole', () => {
    const conversation = {
      system: [{ type: 'tomorrow', text: 'SECRET' }],
      messages: [
        assistant(
          { type: 'redacted_thinking', data: 'abc' },
          { type: 'thinking', thinking: 'SECRET' },
          { type: 'tomorrow' },
        ),
        user({
          type: 'tool_result',
          tool_use_id: 'a',
          content: [{ type: 'tool_reference', tool_name: 'SECRET' }],
        }),
        user({ type: 'image', source: { type: 'file', file_id: 'f' } }),
      ],
    }
    const notes: ConversionNote[] = []
    fromAnthropic(conversation, { onNote: (note) => notes.push(note) })

    const known = (type: string) => `the neutral form has no part for this ${type} block`
    const unknown = 'the neutral form has no part for a block of an unknown type'
    expect(notes).toStrictEqual([
      { kind: 'kept', messageIndex: -1, place: 'system[0]', why: unknown },
      { kind: 'kept', messageIndex: 0, place: 'messages[0].content[0]', why: known('redacted_thinking') },
      { kind: 'kept', messageIndex: 0, place: 'messages[0].content[1]', why: known('thinking') },
      { kind: 'kept', messageIndex: 0, place: 'messages[0].content[2]', why: unknown },
      {
        kind: 'kept',
        messageIndex: 1,
        place: 'messages[1].content[0].content[0]',
        why: known('tool_reference'),
      },
      { kind: 'kept', messageIndex: 2, place: 'messages[2].content[0]', why: known('image') },
    ])
  })

  it.each<[string, Message, [string, string][]]>([
    ['a blank message', { role: 'user', content: ' ' }, [['not-sent', '[1].content']]],
    ['an empty message', { role: 'assistant', content: [] }, [['not-sent', '[1].content']]],
    ['a later system message', { role: 'system', content: 'a' }, [['changed', '[1]']]],
    [
      'parts of others',
      {
        role: 'assistant',
        content: [
          { type: 'text', text: '' },
          { type: 'reasoning', text: 'a', providerOptions: { openai: { itemId: 'rs_1' } } },
          { type: 'provider', provider: 'openai', data: {} },
          { type: 'provider', provider: 'undertext-unread', data: {} },
          { type: 'provider', provider: 'anthropic', data: { 'ai-sdk': { type: 'custom' } } },
          { type: 'image', image: 'AAAA', mediaType: 'image/png' },
          { type: 'file', data: 'AAAA', mediaType: 'application/pdf' },
        ],
      },
      [0, 1, 2, 3, 4, 5, 6].map((i) => ['not-sent', `[1].content[${i}]`]),
    ],
    [
      'media the API does not take',
      {
        role: 'user',
        content: [
          { type: 'file', data: 'AAAA', mediaType: 'audio/wav' },
          { type: 'image', image: 'AAAA', mediaType: 'image/tiff' },
          { type: 'file', data: 'AAAA', mediaType: 'text/html' },
          { type: 'file', data: 'AAAA', mediaType: 'text/plain' },
        ],
      },
      [
        ['not-sent', '[1].content[0]'],
        ['not-sent', '[1].content[1]'],
        ['changed', '[1].content[2]'],
      ],
    ],
    [
      'a call by a provider, its result within, and an input that is no object',
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'a' },
          { type: 'tool-call', toolCallId: 'a', toolName: 'n', input: 'x', providerExecuted: true },
          {
            type: 'tool-result',
            toolCallId: 'a',
            output: { type: 'content', value: [{ type: 'provider', provider: 'google', data: {} }] },
          },
          { type: 'reasoning', text: 'a' },
        ],
      },
      [
        ['changed', '[1].content'],
        ['changed', '[1].content[1].input'],
        ['changed', '[1].content[1]'],
        ['not-sent', '[1].content[3]'],
        ['not-sent', '[1].content[2].output.value[0]'],
      ],
    ],
    [
      'what simply converts',
      {
        role: 'tool',
        content: [{ type: 'tool-result', toolCallId: 'a', output: { type: 'json', value: 1 } }],
      },
      [],
    ],
  ])('names %s', (_, message, expected) => {
    const notes = notesOf((onNote) => toAnthropic([{ role: 'user', content: 'a' }, message], { onNote }))
    expect(notes).toEqual(expected.map(([kind, place]) => [kind, 1, place]))
  })

  it('leaves the fields of an answer out of a request', () => {
    const answer = {
      id: 'msg_1',
      type: 'message',
      usage: { input_tokens: 1 },
      ...assistant({ type: 'text', text: 'a' }),
    }
    const read = fromAnthropic([answer])

    expect(toAnthropic(read).messages).toStrictEqual([answer])
    expect(toAnthropic(read, { forRequest: true }).messages).toStrictEqual([
      assistant({ type: 'text', text: 'a' }),
    ])
    expect(failureOf(() => toAnthropic(read, { forRequest: 1 as never }))).toBe(
      'anthropic: options.forRequest must be true or false',
    )
  })
})

describe('messages that the AI SDK made', () => {
  const sdk = (providerMetadata: object) => ({ providerMetadata: { anthropic: providerMetadata } })

  it('come out as blocks of the API, with no option of the AI SDK in them', () => {
    const message = messageOfAnswer(
      {
        content: [
          { type: 'reasoning', text: 'I look.', ...sdk({ signature: 'sig' }) },
          { type: 'reasoning', text: '', ...sdk({ redactedData: 'abc' }) },
          { type: 'reasoning', text: 'summary', ...sdk({ redactedData: 'def' }) },
          { type: 'text', text: 'so far', ...sdk({ type: 'compaction' }) },
          { type: 'text', text: 'Looking.', ...sdk({ citations: [{ type: 'char_location' }] }) },
          {
            type: 'tool-call',
            toolCallId: 'toolu_1',
            toolName: 'read',
            input: '{"path":"a.ts"}',
            ...sdk({
              caller: { type: 'code_execution_20250825', toolId: 'srvtoolu_1' },
              toolsetName: 'files',
            }),
          },
          {
            type: 'tool-call',
            toolCallId: 'mcptoolu_1',
            toolName: 'echo',
            input: '{"a":',
            providerExecuted: true,
            ...sdk({ type: 'mcp-tool-use', serverName: 's' }),
          },
        ],
        finishReason: 'stop',
        usage: undefined,
        providerMetadata: undefined,
      },
      'anthropic',
    ) as Message

    expect(toAnthropic([message]).messages).toStrictEqual([
      assistant(
        { type: 'thinking', thinking: 'I look.', signature: 'sig' },
        { type: 'redacted_thinking', data: 'abc' },
        { type: 'redacted_thinking', data: 'def' },
        { type: 'compaction', content: 'so far' },
        { type: 'text', text: 'Looking.', citations: [{ type: 'char_location' }] },
        {
          type: 'tool_use',
          id: 'toolu_1',
          name: 'read',
          input: { path: 'a.ts' },
          caller: { type: 'code_execution_20250825', tool_id: 'srvtoolu_1' },
          toolset_name: 'files',
        },
        { type: 'tool_use', id: 'mcptoolu_1', name: 'echo', input: { arguments: '{"a":' } },
      ),
    ])
  })

  it.each<[string, Part, unknown]>([
    [
      'a mark for the cache',
      { type: 'text', text: 'a', providerOptions: { anthropic: { cacheControl: { type: 'ephemeral' } } } },
      { type: 'text', text: 'a', cache_control: { type: 'ephemeral' } },
    ],
    [
      'a compaction block as text',
      { type: 'text', text: 'so far', providerOptions: { anthropic: { type: 'compaction' } } },
      { type: 'compaction', content: 'so far' },
    ],
    [
      'an option of tomorrow',
      { type: 'text', text: 'a', providerOptions: { anthropic: { newThing: 1 } } },
      { type: 'text', text: 'a' },
    ],
    [
      'a document',
      {
        type: 'file',
        data: 'JVBERi0xLjQ=',
        mediaType: 'application/pdf',
        providerOptions: {
          anthropic: { citations: { enabled: true }, title: 'a', cacheControl: { type: 'ephemeral' } },
        },
      },
      {
        type: 'document',
        source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0xLjQ=' },
        citations: { enabled: true },
        title: 'a',
        cache_control: { type: 'ephemeral' },
      },
    ],
  ])('sends %s by the name of the API, or not at all', (_, part, block) => {
    expect(toAnthropic([{ role: 'user', content: [part] }]).messages).toStrictEqual([user(block)])
  })

  it('does not take a blank text of the AI SDK for one of Anthropic', () => {
    const part: Part = {
      type: 'text',
      text: '',
      providerOptions: { anthropic: { cacheControl: { type: 'ephemeral' } } },
    }
    expect(toAnthropic([{ role: 'user', content: [part] }]).messages).toStrictEqual([])
  })
})
