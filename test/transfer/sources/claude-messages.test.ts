import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { messageProblem } from '../../../src/core/messages/message-check.ts'
import type { SourceEvent } from '../../../src/transfer/source.ts'
import { claude, missingTextOf } from '../../../src/transfer/sources/claude.ts'
import {
  eventsOf,
  type Fields,
  MILLISECONDS,
  message,
  messagesIn,
  notesIn,
  spoken,
  TIME,
  talk,
  text,
} from './claude-files.ts'
import { inputOf } from './support.ts'

describe('a message', () => {
  it('of an older file has its text beside no content, or an empty one', async () => {
    const { content: _, ...without } = message('m2', 'assistant', ' indeed\n')
    const said = await spoken(message('m1', 'human', [], { text: 'old' }), without)
    expect(said).toEqual([text('user', 'old'), text('assistant', ' indeed\n')])
  })

  it('becomes several: calls and results have their own, in order, with the ids of the export', async () => {
    const times = { start_timestamp: TIME, stop_timestamp: TIME, flags: null }
    const call = {
      ...times,
      type: 'tool_use',
      id: 'toolu_1',
      name: 'web_search',
      input: { query: 'x' },
      message: 'Searching',
      context: null,
    }
    const result = {
      ...times,
      type: 'tool_result',
      tool_use_id: 'toolu_1',
      name: 'web_search',
      content: [
        { type: 'text', text: 'a', uuid: 'u-1' },
        { type: 'text', text: 'b' },
      ],
      is_error: false,
      meta: null,
    }
    const citations = [
      {
        uuid: 'c-1',
        start_index: 0,
        end_index: 4,
        details: { type: 'web_search_citation', url: 'https://example.org' },
      },
    ]
    const budget = { type: 'token_budget', start_timestamp: TIME, stop_timestamp: TIME }
    const events = await eventsOf(
      talk([
        message(
          'm1',
          'assistant',
          [
            { ...times, type: 'text', text: ' ', citations: [] },
            {
              ...times,
              type: 'thinking',
              thinking: 'Let me see.',
              summaries: [{ summary: 'Looks' }],
              cut_off: false,
            },
            call,
            result,
            budget,
            { ...times, type: 'text', text: 'Here.', citations },
          ],
          { text: 'Let me see.\n```\nThis block is not supported on your current device yet.\n```\n\nHere.' },
        ),
      ]),
    )
    const claude = (rest: object) => ({
      providerOptions: { claude: { start_timestamp: TIME, stop_timestamp: TIME, ...rest } },
    })
    const common = { createdAt: MILLISECONDS }
    expect(messagesIn(events)).toEqual([
      {
        ...common,
        role: 'assistant',
        content: [
          {
            type: 'reasoning',
            text: 'Let me see.',
            ...claude({ summaries: [{ summary: 'Looks' }], cut_off: false }),
          },
          {
            type: 'tool-call',
            toolCallId: 'toolu_1',
            toolName: 'web_search',
            input: { query: 'x' },
            ...claude({ message: 'Searching' }),
          },
        ],
        idempotencyKey: 'claude:m1',
        metadata: {
          claude: {
            created_at: TIME,
            updated_at: TIME,
            token_budget: [{ block: 4, start_timestamp: TIME, stop_timestamp: TIME }],
          },
        },
      },
      {
        ...common,
        role: 'tool',
        content: [
          {
            type: 'tool-result',
            toolCallId: 'toolu_1',
            toolName: 'web_search',
            output: { type: 'text', value: 'a\nb' },
            ...claude({ content: [{ uuid: 'u-1' }, {}] }),
          },
        ],
        idempotencyKey: 'claude:m1/2',
        metadata: { claude: { uuid: 'm1', piece: 2 } },
      },
      {
        ...common,
        role: 'assistant',
        content: [{ type: 'text', text: 'Here.', ...claude({ citations }) }],
        idempotencyKey: 'claude:m1/3',
        metadata: { claude: { uuid: 'm1', piece: 3 } },
      },
    ])
    expect(notesIn(events)).toEqual([])
  })

  it('of an older file has calls and results without ids: they are paired by name and order, with ids of their places', async () => {
    const use = (name: string) => ({ type: 'tool_use', name, input: {} })
    const answer = (name: string, content: unknown, more: Fields = {}) => ({
      type: 'tool_result',
      name,
      content,
      ...more,
    })
    const said = await spoken(
      message('m1', 'assistant', [
        use('repl'),
        use('artifacts'),
        answer('artifacts', 'OK', { is_error: true }),
        answer('repl', null),
        answer('repl', { rows: 2 }),
      ]),
    )
    const result = (toolCallId: string, toolName: string, output: object) => ({
      type: 'tool-result',
      toolCallId,
      toolName,
      output,
    })
    expect(said).toEqual([
      {
        role: 'assistant',
        content: [
          { type: 'tool-call', toolCallId: 'm1-1', toolName: 'repl', input: {} },
          { type: 'tool-call', toolCallId: 'm1-2', toolName: 'artifacts', input: {} },
        ],
      },
      {
        role: 'tool',
        content: [
          result('m1-2', 'artifacts', { type: 'error-text', value: 'OK' }),
          result('m1-1', 'repl', { type: 'text', value: '' }),
          result('m1-5', 'repl', { type: 'json', value: { rows: 2 } }),
        ],
      },
    ])
  })

  it('has its id within what it is called with, in some exports', async () => {
    const input = { _tool_call_id: 'toolu_1', query: 'x' }
    const said = await spoken(
      message('m1', 'assistant', [
        { type: 'tool_use', name: 'web_search', input },
        { type: 'tool_result', tool_use_id: 'toolu_1', content: 'hits' },
      ]),
    )
    expect(said).toEqual([
      {
        role: 'assistant',
        content: [{ type: 'tool-call', toolCallId: 'toolu_1', toolName: 'web_search', input }],
      },
      {
        role: 'tool',
        content: [
          {
            type: 'tool-result',
            toolCallId: 'toolu_1',
            toolName: 'web_search',
            output: { type: 'text', value: 'hits' },
          },
        ],
      },
    ])
  })

  it('is paired with one of the calls just before: a doubt is reported, an interrupted call has no answer', async () => {
    const use = { type: 'tool_use', name: 'f', input: {} }
    const answer = { type: 'tool_result', content: 'r' }
    const events = await eventsOf(
      talk([
        message('m1', 'assistant', [use, { type: 'text', text: 'Again:' }, use, answer]),
        message('m2', 'assistant', [use, use, answer, answer]),
        message('m3', 'human', 'so?'),
        message('m4', 'assistant', [answer]),
      ]),
    )
    const answered = messagesIn(events).flatMap(({ content }) =>
      typeof content === 'string'
        ? []
        : content.flatMap((part) => (part.type === 'tool-result' ? [part.toolCallId] : [])),
    )
    expect(answered).toEqual(['m1-3', 'm2-1', 'm2-2', 'm4-1'])
    expect(notesIn(events)).toEqual([
      'mended: content[2]: the file does not say which of several calls it answers, so it is assigned to the first',
    ])
  })

  it('may have results that are more than text: documents found, files made, pictures', async () => {
    const picture = { type: 'image', file_uuid: 'f-1' }
    const made = { type: 'local_resource', file_path: '/out/a.md', name: 'a.md', mime_type: 'text/markdown' }
    const events = await eventsOf(
      talk([
        message('m1', 'assistant', [
          { type: 'tool_use', id: 't', name: 'find', input: null },
          {
            type: 'tool_result',
            tool_use_id: 't',
            content: [
              { type: 'knowledge', title: 'T', url: 'https://example.org', text: 'words', is_missing: false },
              made,
              picture,
              { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aGk=' } },
              { type: 'rich_link', link: 'x' },
            ],
            is_error: true,
          },
        ]),
      ]),
    )
    expect(messagesIn(events)[1]?.content).toEqual([
      {
        type: 'tool-result',
        toolCallId: 't',
        toolName: 'find',
        output: {
          type: 'content',
          isError: true,
          value: [
            {
              type: 'text',
              text: 'T\n\nhttps://example.org\n\nwords',
              providerOptions: {
                claude: { type: 'knowledge', title: 'T', url: 'https://example.org', is_missing: false },
              },
            },
            { type: 'text', text: '[file a.md]', providerOptions: { claude: { block: made } } },
            { type: 'text', text: '[image]', providerOptions: { claude: { block: picture } } },
            { type: 'image', image: 'aGk=', mediaType: 'image/png' },
            { type: 'provider', provider: 'claude', data: { type: 'rich_link', link: 'x' } },
          ],
        },
      },
    ])
    const pointer = 'the file has only a reference to it, so a word replaces it'
    expect(notesIn(events)).toEqual([
      `kept: content[1].content[1]: ${pointer}`,
      `kept: content[1].content[2]: ${pointer}`,
      'kept: content[1].content[4]: the neutral form has no part for it',
    ])
  })

  it('has the extracted text of its attachments after its own, and a text for its files', async () => {
    const paste = { id: 'x', file_name: '', file_size: 5, file_type: 'txt', extracted_content: 'paste' }
    const notes = { file_name: 'notes.md', file_size: 3, file_type: 'md', extracted_content: '# A' }
    const empty = { file_name: 'b.pdf', extracted_content: '' }
    const photo = { file_kind: 'image', file_uuid: 'f-1', file_name: 'p.png' }
    const sheet = { file_uuid: 'f-2', file_name: 'c.csv' }
    const events = await eventsOf(
      talk([message('m1', 'human', 'See:', { attachments: [paste, notes, empty], files: [photo, sheet] })]),
    )
    const kept = (words: string, claude: object) => ({
      type: 'text',
      text: words,
      providerOptions: { claude },
    })
    expect(messagesIn(events)).toMatchObject([
      {
        content: [
          { type: 'text', text: 'See:' },
          kept('[file]\npaste', { attachment: { id: 'x', file_name: '', file_size: 5, file_type: 'txt' } }),
          kept('[file notes.md]\n# A', {
            attachment: { file_name: 'notes.md', file_size: 3, file_type: 'md' },
          }),
          kept('[file b.pdf]', { attachment: empty }),
          kept('[image]', { file: photo }),
          kept('[file c.csv]', { file: sheet }),
        ],
      },
    ])
    expect(messagesIn(events)[0]?.metadata).toEqual({ claude: { created_at: TIME, updated_at: TIME } })
    const pointer = 'the file has only a reference to it, so a word replaces it'
    expect(notesIn(events)).toEqual([
      `kept: attachments[2]: ${pointer}`,
      `kept: files[0]: ${pointer}`,
      `kept: files[1]: ${pointer}`,
    ])
  })

  it('is kept whole where its blocks are unknown, or a person calls a tool; a text in them is a text', async () => {
    const flag = { type: 'flag', flag: 'x', helpline: null }
    const use = { type: 'tool_use', name: 'f', input: {} }
    const nameless = { type: 'tool_use', input: {} }
    const events = await eventsOf(
      talk([
        message('m1', 'human', [{ type: 'voice_note', title: 'Memo', text: 'spoken' }, use]),
        message('m2', 'assistant', [flag, nameless, 7]),
      ]),
    )
    const provider = (data: unknown) => ({ type: 'provider', provider: 'claude', data })
    expect(messagesIn(events).map(({ role, content }) => ({ role, content }))).toEqual([
      {
        role: 'user',
        content: [
          {
            type: 'text',
            text: 'spoken',
            providerOptions: { claude: { type: 'voice_note', title: 'Memo' } },
          },
          provider(use),
        ],
      },
      { role: 'assistant', content: [provider(flag), provider(nameless), provider(7)] },
    ])
    const why = 'the neutral form has no part for it'
    expect(notesIn(events)).toEqual(
      ['content[1]', 'content[0]', 'content[1]', 'content[2]'].map((path) => `kept: ${path}: ${why}`),
    )
  })

  it('without content is omitted, and counted', async () => {
    const events = await eventsOf(
      talk([message('m1', 'human', ' '), message('m2', 'assistant', []), message('m3', 'human', 'so?')]),
    )
    expect(messagesIn(events)).toMatchObject([text('user', 'so?')])
    expect(notesIn(events)).toEqual(['left-out: 2 messages without any content'])
  })

  it('keeps text that its blocks lack; without a text among these it is reported', async () => {
    const events = await eventsOf(
      talk([
        message('m1', 'assistant', 'blocks', { text: 'blocks and more' }),
        message('m2', 'assistant', [{ type: 'thinking', thinking: 'Hm.' }], { text: 'Hm.\n\nYes.' }),
      ]),
    )
    const [first, second] = messagesIn(events)
    expect(first?.metadata).toMatchObject({ claude: { text: 'blocks and more' } })
    expect(second?.content).toEqual([
      { type: 'reasoning', text: 'Hm.' },
      { type: 'text', text: '\n\nYes.' },
    ])
    expect(second?.metadata).toEqual({ claude: { created_at: TIME, updated_at: TIME } })
  })
})

it.each([
  ['the same', 'a\nb', ['a', 'b'], undefined],
  ['without the thoughts', 'b', ['a', 'b'], undefined],
  [
    'with a stand-in',
    'a\n```\nViewing artifacts created via the Analysis Tool isn’t yet supported on mobile.\n```\nb',
    ['a', 'b'],
    undefined,
  ],
  ['in another order', 'b a', ['a', 'b'], 'b '],
  ['something else', 'c', ['a', 'b'], 'c'],
])('a text repeats its blocks: %s', (_, whole, words, left) => {
  expect(missingTextOf(whole, words)).toBe(left)
})

const word = fc.constantFrom(
  'text',
  'thinking',
  'tool_use',
  'tool_result',
  'image',
  'knowledge',
  'm1',
  'f',
  '',
)
const odd = fc.oneof(word, fc.constant(null), fc.integer(), fc.jsonValue({ maxDepth: 2 }))
const block = fc.record(
  {
    type: odd,
    text: odd,
    thinking: odd,
    summaries: odd,
    id: odd,
    name: odd,
    input: odd,
    tool_use_id: odd,
    source: fc.oneof(odd, fc.record({ type: odd, data: odd, media_type: odd, url: odd })),
    is_error: odd,
    content: fc.oneof(odd, fc.array(fc.record({ type: word, text: odd, name: odd }, { requiredKeys: [] }))),
  },
  { requiredKeys: [] },
)
const anything = fc.record(
  {
    uuid: odd,
    sender: fc.constantFrom('human', 'assistant'),
    text: odd,
    content: fc.oneof(fc.array(fc.oneof(block, odd)), odd),
    created_at: odd,
    parent_message_uuid: odd,
    attachments: fc.oneof(odd, fc.array(fc.record({ file_name: odd, extracted_content: odd }))),
    files: fc.oneof(odd, fc.array(fc.record({ file_name: odd, file_kind: odd }))),
  },
  { requiredKeys: ['sender'] },
)

it('yields messages that can be stored, each under a key of its own, for any file', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.oneof(anything, odd), { maxLength: 5 }), async (messages) => {
      const told: SourceEvent[] = []
      for await (const event of claude.read(inputOf(JSON.stringify([talk(messages)])), { branches: false }))
        told.push(event)
      const found = messagesIn(told)
      expect(found.map(messageProblem).filter((why) => why !== undefined)).toEqual([])
      expect(new Set(found.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(found.length)
      const calls = found.flatMap(({ role, content }) =>
        role === 'assistant' || typeof content === 'string'
          ? []
          : content.filter(({ type }) => type === 'tool-call'),
      )
      expect(calls).toEqual([])
    }),
    { numRuns: 300 },
  )
})
