import { expect, it } from 'vitest'
import type { SourceEvent } from '../../../src/transfer/source.ts'
import { fileWith, readFile } from '../support/files.ts'

const hello = { role: 'user', content: 'hello' }
const toolCall = {
  role: 'assistant',
  content: null,
  tool_calls: [{ id: 'c1', type: 'function', function: { name: 'read', arguments: '{"path":"a.ts"}' } }],
}
const toolAnswer = { role: 'tool', tool_call_id: 'c1', content: 'text of a.ts' }
/** The same in the neutral form, with keys of a source. */
const neutralCall = (source: string, ordinal: number) => ({
  idempotencyKey: `${source}:${ordinal}`,
  role: 'assistant',
  content: [{ type: 'tool-call', toolCallId: 'c1', toolName: 'read', input: { path: 'a.ts' } }],
})
const neutralAnswer = (source: string, ordinal: number) => ({
  idempotencyKey: `${source}:${ordinal}`,
  role: 'tool',
  content: [
    {
      type: 'tool-result',
      toolCallId: 'c1',
      toolName: 'read',
      output: { type: 'text', value: 'text of a.ts' },
    },
  ],
})
const keyed = (source: string, ordinal: number, message: object) => ({
  idempotencyKey: `${source}:${ordinal}`,
  ...message,
})

const messagesOf = (events: readonly SourceEvent[]): object[] =>
  events.flatMap((event) => (event.type === 'message' ? [event.message] : []))
const placesOf = (events: readonly SourceEvent[]): object[] =>
  events.flatMap((event) => (event.type === 'message' ? [event.at] : []))
const others = (events: readonly SourceEvent[]): SourceEvent[] =>
  events.filter(({ type }) => type !== 'message')

it('reads Chat Completions, a message a line', async () => {
  const path = await fileWith('chat.jsonl', [hello, toolCall, toolAnswer])
  const { source, events } = await readFile(path)
  expect(source).toBe('openai')
  expect(messagesOf(events)).toEqual([
    keyed('openai', 1, hello),
    neutralCall('openai', 2),
    neutralAnswer('openai', 3),
  ])
  expect(placesOf(events)).toEqual([{ line: 1 }, { line: 2 }, { line: 3 }])
  expect(others(events)).toEqual([{ type: 'conversation', at: {} }])
})

it('reads Chat Completions as one list', async () => {
  const path = await fileWith('chat.json', JSON.stringify([hello, toolCall, toolAnswer], null, 2))
  const { source, events } = await readFile(path)
  expect(source).toBe('openai')
  expect(messagesOf(events)).toEqual([
    keyed('openai', 1, hello),
    neutralCall('openai', 2),
    neutralAnswer('openai', 3),
  ])
  expect(placesOf(events)).toEqual([
    { line: 2, element: 1 },
    { line: 6, element: 2 },
    { line: 20, element: 3 },
  ])
})

it('keeps name and system prompt of a conversation in which a message cannot be kept', async () => {
  const good = JSON.stringify({ id: 'first', system: 'Be brief.', messages: [hello, hello] })
  const bad = good.replace('"hello"}]', '"hello","score":1e999}]')
  const { source, events } = await readFile(await fileWith('talks.jsonl', `${bad}\n${good}\n`))
  expect(source).toBe('anthropic')
  expect(events[0]).toEqual({ type: 'conversation', at: { line: 1 }, id: 'first' })
  expect(messagesOf(events).slice(0, 2)).toEqual([
    keyed('anthropic', 1, { role: 'system', content: 'Be brief.' }),
    keyed('anthropic', 2, hello),
  ])
  const why = "message: contains a number that isn't finite in an object"
  expect(events.filter(({ type }) => type === 'problem')).toEqual([
    { type: 'problem', at: { line: 1, element: 2 }, why },
  ])
})

it('reports which fields beside the messages cannot be kept, whatever is before them', async () => {
  const messages = [{ ...hello, content: 'x'.repeat(300_000) }]
  const given = JSON.stringify({ messages, id: 'first' })
  const path = await fileWith('talk.json', given.replace(/}$/, ',\n"system":nope,\n"weight":1e999}'))
  const { events } = await readFile(path)
  expect(events[0]).toEqual({ type: 'conversation', at: {}, id: 'first' })
  expect(events.filter(({ type }) => type === 'problem')).toEqual([
    { type: 'problem', at: {}, why: "a field contains a number that isn't finite" },
    { type: 'problem', at: { line: 2 }, why: expect.stringMatching(/^it is not JSON/) },
  ])
  expect(messagesOf(events)).toEqual([keyed('messages', 1, messages[0]!)])
})

it('is recognized by its messages, however much is before them', async () => {
  const system = 's'.repeat(300_000)
  const request = await readFile(await fileWith('a.json', { model: 'claude-x', system, messages: [hello] }))
  expect(request.source).toBe('anthropic')
  expect(messagesOf(request.events)).toEqual([
    keyed('anthropic', 1, { role: 'system', content: system }),
    keyed('anthropic', 2, hello),
  ])
  const tools = [{ type: 'function', function: { name: 'read', description: system } }]
  const messages = [hello, toolCall, toolAnswer]
  const chat = await readFile(await fileWith('b.json', { model: 'gpt-5', tools, messages }))
  expect([chat.source, messagesOf(chat.events).length]).toEqual(['openai', 3])
  const tuning = [
    { tools, messages },
    { tools, messages: [hello] },
  ]
  const many = await readFile(await fileWith('c.jsonl', tuning))
  expect([many.source, messagesOf(many.events).length]).toEqual(['openai', 4])
})

it('takes no message of unknown form for an empty one', async () => {
  const parts = [{ type: 'text', text: 'hello' }]
  const path = await fileWith('ui.json', JSON.stringify([{ id: 'a', role: 'user', parts }]))
  await expect(readFile(path)).rejects.toThrow('not recognized')
  const one = await readFile(await fileWith('one.jsonl', [hello, { role: 'assistant', parts }, toolCall]))
  expect(one.events.filter(({ type }) => type === 'problem')).toEqual([
    { type: 'problem', at: { line: 2 }, why: 'message.content: must be present' },
  ])
  expect(placesOf(one.events)).toEqual([{ line: 1 }, { line: 3 }])
})

it('reports which message repeats the name of an earlier one', async () => {
  const [a, b] = [
    { ...hello, id: 'a' },
    { ...hello, idempotencyKey: 'b' },
  ]
  const path = await fileWith('own.jsonl', [a, b, { ...a, content: 'again' }, { ...b, content: 'again' }, b])
  const { source, events } = await readFile(path)
  expect(source).toBe('messages')
  expect(events.filter(({ type }) => type === 'problem')).toEqual([
    { type: 'problem', at: { line: 3 }, why: 'message.id: an earlier message has this id' },
    {
      type: 'problem',
      at: { line: 4 },
      why: 'message.idempotencyKey: an earlier message has this key',
    },
  ])
  // The same message under the same key is one; the store knows it.
  expect(placesOf(events)).toEqual([{ line: 1 }, { line: 2 }, { line: 5 }])
})

it('reads files for fine-tuning, a conversation a line, with their other fields as metadata', async () => {
  const path = await fileWith('tuning.jsonl', [
    { messages: [hello, toolCall], tools: [{ type: 'function' }] },
    { id: 'second', messages: [toolCall, toolAnswer], model: 'gpt-5', created: 1_700_000_000 },
  ])
  const { source, events } = await readFile(path)
  expect(source).toBe('openai')
  expect(others(events)).toEqual([
    { type: 'conversation', at: { line: 1 } },
    { type: 'fields', metadata: { tools: [{ type: 'function' }] } },
    { type: 'conversation', at: { line: 2 }, id: 'second' },
    {
      type: 'fields',
      model: 'gpt-5',
      createdAt: 1_700_000_000_000,
      metadata: { id: 'second', model: 'gpt-5', created: 1_700_000_000 },
    },
  ])
  expect(messagesOf(events)).toEqual([
    keyed('openai', 1, hello),
    neutralCall('openai', 2),
    neutralCall('openai', 1),
    neutralAnswer('openai', 2),
  ])
  expect(placesOf(events)).toEqual([
    { line: 1, element: 1 },
    { line: 1, element: 2 },
    { line: 2, element: 1 },
    { line: 2, element: 2 },
  ])
})

it.each([
  ['a list of lists', [[hello, toolCall], [toolCall]]],
  ['a list of objects', [{ messages: [hello, toolCall] }, { messages: [toolCall] }]],
])('reads %s as conversations', async (_, value) => {
  const path = await fileWith('many.json', JSON.stringify(value))
  const { source, events } = await readFile(path)
  expect(source).toBe('openai')
  expect(events.filter(({ type }) => type === 'conversation')).toEqual([
    { type: 'conversation', at: { line: 1, element: 1 } },
    { type: 'conversation', at: { line: 1, element: 2 } },
  ])
  expect(messagesOf(events)).toHaveLength(3)
})

it('reads an object with a list of conversations', async () => {
  const path = await fileWith('many.json', {
    version: 2,
    conversations: [
      { id: 'a', messages: [toolCall] },
      { id: 'b', messages: [] },
    ],
  })
  const { source, events } = await readFile(path)
  expect(source).toBe('openai')
  expect(others(events).filter(({ type }) => type === 'conversation')).toEqual([
    { type: 'conversation', at: { line: 1, element: 1 }, id: 'a' },
    { type: 'conversation', at: { line: 1, element: 2 }, id: 'b' },
  ])
})

it('reads items of the Responses API, each with what it must know of its neighbors', async () => {
  const items = [
    { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hello' }] },
    { type: 'reasoning', id: 'rs_1', summary: [] },
    { type: 'function_call', id: 'fc_1', call_id: 'c1', name: 'read', arguments: '{"path":"a.ts"}' },
    { type: 'function_call_output', call_id: 'c1', output: 'text of a.ts' },
  ]
  const lines = await readFile(await fileWith('items.jsonl', items))
  const object = await readFile(
    await fileWith('request.json', { model: 'gpt-5', input: items, instructions: 'Be brief.' }),
  )
  expect([lines.source, object.source]).toEqual(['openai', 'openai'])
  const [asked, reasoned, called, answered] = messagesOf(lines.events) as { content: unknown }[]
  expect(asked).toMatchObject({ role: 'user', idempotencyKey: 'openai:1' })
  // The API takes the id of a call only with the reasoning it came behind, and reasoning only with what it led to.
  expect(JSON.stringify(called!.content)).toContain('"after":"rs_1"')
  expect(JSON.stringify(reasoned)).toContain('"leads":true')
  expect(answered).toMatchObject({
    role: 'tool',
    idempotencyKey: 'openai:4',
    content: [{ type: 'tool-result', toolCallId: 'c1', toolName: 'read' }],
  })
  const [leading, ...rest] = messagesOf(object.events)
  expect(leading).toEqual({ idempotencyKey: 'openai:1', role: 'system', content: 'Be brief.' })
  expect(rest).toEqual(
    messagesOf(lines.events).map((each, i) => ({ ...each, idempotencyKey: `openai:${i + 2}` })),
  )
})

it('reads a request of the Responses API whose input is a text', async () => {
  const path = await fileWith('request.json', { model: 'gpt-5', instructions: 'Be brief.', input: 'hello' })
  const { source, events } = await readFile(path)
  expect(source).toBe('openai')
  expect(messagesOf(events)).toEqual([
    { idempotencyKey: 'openai:1', role: 'system', content: 'Be brief.' },
    { idempotencyKey: 'openai:2', role: 'user', content: 'hello' },
  ])
})

const use = {
  role: 'assistant',
  content: [{ type: 'tool_use', id: 'c1', name: 'read', input: { path: 'a.ts' } }],
}
const result = {
  role: 'user',
  content: [{ type: 'tool_result', tool_use_id: 'c1', content: 'text of a.ts' }],
}

it('reads Anthropic’s messages; a system prompt beside them becomes the first one', async () => {
  const value = {
    model: 'claude-sonnet-4',
    messages: [hello, use, result],
    system: 'Be brief.',
    max_tokens: 9,
  }
  const { source, events } = await readFile(await fileWith('request.json', value))
  expect(source).toBe('anthropic')
  expect(messagesOf(events)).toEqual([
    { idempotencyKey: 'anthropic:1', role: 'system', content: 'Be brief.' },
    keyed('anthropic', 2, hello),
    neutralCall('anthropic', 3),
    neutralAnswer('anthropic', 4),
  ])
  expect(others(events)).toEqual([
    { type: 'conversation', at: {} },
    {
      type: 'fields',
      provider: 'anthropic',
      model: 'claude-sonnet-4',
      metadata: { model: 'claude-sonnet-4', max_tokens: 9 },
    },
  ])
  expect(placesOf(events)).toEqual([
    {},
    { line: 1, element: 1 },
    { line: 1, element: 2 },
    { line: 1, element: 3 },
  ])
})

it('takes the model of Anthropic’s answers for that of the conversation, the last one’s', async () => {
  const answer = (model: unknown) => ({ role: 'assistant', model, content: [{ type: 'text', text: 'Hi.' }] })
  const tool = { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'x', content: 'r' }] }
  const { source, events } = await readFile(
    await fileWith('a.jsonl', [hello, answer('claude-a'), tool, answer('claude-b'), answer(7)]),
  )
  expect(source).toBe('anthropic')
  expect(others(events).filter(({ type }) => type === 'fields')).toEqual([
    { type: 'fields', provider: 'anthropic' },
    { type: 'fields', model: 'claude-b' },
  ])
})

it('reads Anthropic’s messages a line, with their times', async () => {
  const path = await fileWith('chat.jsonl', [
    { ...hello, timestamp: '2025-12-08T22:41:05.306Z' },
    { ...use, timestamp: 1_765_233_666 },
    { ...result, timestamp: 1_765_233_667_500 },
  ])
  const { source, events } = await readFile(path)
  expect(source).toBe('anthropic')
  expect(messagesOf(events).map((message) => (message as { createdAt?: number }).createdAt)).toEqual([
    Date.UTC(2025, 11, 8, 22, 41, 5, 306),
    1_765_233_666_000,
    1_765_233_667_500,
  ])
})

it('a system prompt alone shows that plain texts are Anthropic’s', async () => {
  const { source } = await readFile(await fileWith('a.json', { system: 'Be brief.', messages: [hello] }))
  expect(source).toBe('anthropic')
})

it('reads plain messages', async () => {
  const path = await fileWith('plain.jsonl', [{ role: 'system', content: 'Be brief.' }, hello])
  const { source, events } = await readFile(path)
  expect(source).toBe('messages')
  expect(messagesOf(events)).toEqual([
    { idempotencyKey: 'messages:1', role: 'system', content: 'Be brief.' },
    keyed('messages', 2, hello),
  ])
})

it('keeps fields of plain messages that have no place in a message', async () => {
  const path = await fileWith(
    'plain.json',
    JSON.stringify([{ ...hello, name: 'ann', created_at: 1_700_000_000 }]),
  )
  const { source, events } = await readFile(path)
  expect(source).toBe('messages')
  expect(messagesOf(events)).toEqual([
    {
      ...keyed('messages', 1, hello),
      createdAt: 1_700_000_000_000,
      metadata: { openai: { name: 'ann', created_at: 1_700_000_000 } },
    },
  ])
})

it('reads neutral messages as they are, with their own keys and ids', async () => {
  const own = { ...neutralCall('x', 7), id: 'm7', createdAt: 5, metadata: { mine: true } }
  const { source, events } = await readFile(await fileWith('neutral.jsonl', [own, neutralAnswer('x', 8)]))
  expect(source).toBe('messages')
  expect(messagesOf(events)).toEqual([own, neutralAnswer('x', 8)])
})

it('joins flat calls and results by neighbourhood, with ids of their own place', async () => {
  const flat = [
    hello,
    { role: 'tool_call', content: '{"path":"a.ts"}', tool: 'read' },
    { role: 'tool_result', content: 'text of a.ts' },
    { role: 'assistant', content: 'done' },
    { role: 'tool_call', content: '', tool: 'read', args: { path: 'b.ts' } },
    { role: 'tool_result', content: 'text of b.ts' },
  ]
  const { source, events } = await readFile(await fileWith('flat.jsonl', flat))
  expect(source).toBe('messages')
  const parts = messagesOf(events).flatMap((message) => {
    const { content } = message as { content: string | { toolCallId: string; toolName: string }[] }
    return typeof content === 'string' ? [] : content
  })
  expect(parts.map(({ toolCallId, toolName }) => [toolCallId, toolName])).toEqual([
    ['call 1.0', 'read'],
    ['call 1.0', 'read'],
    ['call 4.0', 'read'],
    ['call 4.0', 'read'],
  ])
  expect(messagesOf(events).map((each) => (each as { idempotencyKey: string }).idempotencyKey)).toEqual(
    [1, 2, 3, 4, 5, 6].map((ordinal) => `messages:${ordinal}`),
  )
})

it('reads a file in which forms are mixed, each message by its own form', async () => {
  const { source, events } = await readFile(
    await fileWith('mixed.jsonl', [toolCall, toolAnswer, use, result]),
  )
  expect(source).toBe('messages')
  const roles = messagesOf(events).map((message) => (message as { role: string }).role)
  expect(roles).toEqual(['assistant', 'tool', 'assistant', 'tool'])
})

it('reports the rule that a message breaks, and continues', async () => {
  const path = await fileWith('bad.jsonl', [
    hello,
    { ...toolAnswer, tool_call_id: 7 },
    toolCall,
    { role: 'alien', content: 'x' },
  ])
  const { source, events } = await readFile(path)
  expect(source).toBe('openai')
  expect(messagesOf(events)).toEqual([keyed('openai', 1, hello), neutralCall('openai', 3)])
  expect(others(events)).toEqual([
    { type: 'conversation', at: {} },
    { type: 'problem', at: { line: 2 }, why: 'message.tool_call_id: must be a string' },
    { type: 'problem', at: { line: 4 }, why: expect.stringMatching(/^message\.role: must be/) },
  ])
})

it('tells of parts that are kept whole', async () => {
  const image = { type: 'image', source: { type: 'file', file_id: 'f1' } }
  const path = await fileWith('kept.jsonl', [{ role: 'user', content: [image] }, use])
  const { events } = await readFile(path)
  expect(others(events).filter(({ type }) => type === 'note')).toEqual([
    { type: 'note', at: { line: 1 }, kind: 'kept', why: expect.stringMatching(/^message\.content\[0\]/) },
  ])
})

it('tells of a line that is no conversation among conversations', async () => {
  const path = await fileWith('tuning.jsonl', [
    { messages: [toolCall] },
    { prompt: 'x' },
    { messages: [toolCall] },
  ])
  const { events } = await readFile(path)
  expect(others(events).filter(({ type }) => type !== 'fields')).toEqual([
    { type: 'conversation', at: { line: 1 } },
    { type: 'conversation', at: { line: 2 } },
    { type: 'problem', at: { line: 2 }, why: 'it is not a conversation: it has no list of messages' },
    { type: 'conversation', at: { line: 3 } },
  ])
})
