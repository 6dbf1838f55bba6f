import { expect, it } from 'vitest'
import { cline, roo } from '../../../src/transfer/sources/roo.ts'
import { eventsOf, eventsOfType, type Folded, foldEvents, inputOf, notesOf, spokenOf } from './support.ts'

const NAME = 'api_conversation_history.json'
const told = (value: unknown, name = NAME) => inputOf(JSON.stringify(value), { name, folder: 'task-1' })
const said = (role: string, content: unknown, rest: object = {}): object => ({ role, content, ...rest })
const summary = (condenseId: string | undefined, rest: object = {}): object =>
  said('user', `S ${condenseId}`, { isSummary: true, ...(condenseId && { condenseId }), ...rest })
const marker = (truncationId: string | undefined, rest: object = {}): object =>
  said('user', `T ${truncationId}`, {
    isTruncationMarker: true,
    ...(truncationId && { truncationId }),
    ...rest,
  })
const calls = (id: string, rest: object = {}): object =>
  said('assistant', [{ type: 'tool_use', id, name: 'read_file', input: { path: 'a' } }], rest)
const answers = (id: string, rest: object = {}): object =>
  said('user', [{ type: 'tool_result', tool_use_id: id, content: `result ${id}` }], rest)
const shown = (folded: Folded): unknown[] =>
  spokenOf(folded).map((row) =>
    'inserted' in row
      ? `[${row.text}]`
      : typeof row.content === 'string'
        ? row.content
        : row.content[0]!.type,
  )

/** What is seen, and what was noted. */
async function read(
  elements: readonly object[],
): Promise<{ view: unknown[]; notes: string[]; folded: Folded }> {
  const events = await eventsOf(roo, told(elements))
  const [folded] = foldEvents(events)
  return { view: shown(folded!), notes: notesOf(events), folded: folded! }
}

const C = { condenseParent: 'C' }
const T = { truncationParent: 'T' }

it('drops tags whose owner is not in the file', async () => {
  const { view, notes } = await read([
    said('user', 'a', C),
    said('assistant', 'b', { ...C, ...T }),
    said('user', 'c'),
  ])
  expect(view).toEqual(['a', 'b', 'c'])
  expect(notes.sort()).toEqual([
    'mended: messages have the tags of both a summary and a marker; the first one counts (1)',
    'mended: tags of a missing summary or marker were dropped (1)',
    'mended: tags of a missing summary or marker were dropped (2)',
  ])
})

it('lets a marker that a summary had hidden all of hide nothing', async () => {
  const { view, notes, folded } = await read([
    said('user', 'a', C),
    said('assistant', 'b', { ...C, ...T }),
    // Put here when the summary was there already: it carries no tag of it.
    marker('T'),
    summary('C'),
    said('assistant', 'c'),
  ])
  expect(view).toEqual(['[S C]', 'c'])
  expect(folded.compactions.map(({ id }) => id)).toEqual(['C'])
  expect(notes).toContain(
    'mended: a marker before a summary that had already hidden its messages was dropped',
  )
})

it('never hides the summary by a truncation', async () => {
  const { view, notes } = await read([
    said('user', 'a', C),
    summary('C', T),
    said('assistant', 'b', T),
    marker('T'),
    said('user', 'c'),
  ])
  expect(view).toEqual(['[S C]', '[T T]', 'c'])
  expect(notes).toEqual(['mended: a truncation that hid a summary leaves it visible'])
})

it('keeps calls and results together where a truncation parted them', async () => {
  const { view, notes, folded } = await read([
    said('user', 'a'),
    said('assistant', 'b', T),
    calls('1', T),
    marker('T'),
    answers('1'),
    said('assistant', 'c'),
  ])
  expect(view).toEqual(['a', '[T T]', 'tool-call', 'tool-result', 'c'])
  expect(folded.compactions).toMatchObject([{ covers: [[2, 2]] }])
  expect(notes).toEqual([
    'mended: a truncation that separated tool calls from their results covers fewer messages',
  ])
})

it('takes a result along whose call the summary covers', async () => {
  const { view, folded } = await read([
    said('user', 'a', C),
    calls('1', C),
    summary('C'),
    answers('1'),
    said('assistant', 'b'),
  ])
  expect(view).toEqual(['[S C]', 'b'])
  expect(folded.compactions).toMatchObject([{ covers: [[1, 3]] }])
})

it('keeps the text of a summary that has nothing to hide', async () => {
  const alone = await read([summary('C', C), said('assistant', 'b')])
  expect(alone.view).toEqual(['S C', 'b'])
  expect(alone.notes).toEqual(['kept: a summary of messages that are not in the file was kept as a message'])

  const marked = await read([marker('T', T), said('assistant', 'b')])
  expect(marked.view).toEqual(['T T', 'b'])

  // An earlier one, which the last one covers as Roo Code does.
  const earlier = await read([summary('C', C), said('user', 'a', { condenseParent: 'D' }), summary('D')])
  expect(earlier.view).toEqual(['[S D]'])
  expect(earlier.folded.compactions).toMatchObject([{ id: 'D', covers: [[1, 2]] }])

  // What it would hide must stay: the call that comes first is parted from its result.
  const parted = await read([calls('1', C), summary('C'), said('user', 'a'), answers('1')])
  expect(parted.view).toEqual(['tool-call', 'S C', 'a', 'tool-result'])
  expect(parted.notes).toContain('kept: a summary without any messages to hide was kept as a message')
})

it('reads summaries and markers without an id', async () => {
  const { view, folded } = await read([
    said('user', 'a', { ts: 5 }),
    summary(undefined, { ts: 9 }),
    said('user', 'b'),
  ])
  expect(view).toEqual(['[S undefined]', 'b'])
  expect(folded.compactions).toMatchObject([{ id: 'condense-9', covers: [[1, 1]] }])
  const alone = await read([marker(undefined), said('user', 'b')])
  expect(alone.view).toEqual(['T undefined', 'b'])
  expect(alone.notes).toEqual(['kept: a marker of messages that are not in the file was kept as a message'])
})

it('covers what carries no tag before the last summary, and only tags before an earlier one', async () => {
  const D = { condenseParent: 'D' }
  const { folded, notes } = await read([
    said('user', 'first', D),
    said('assistant', 'a', C),
    said('user', 'b', C),
    summary('C', D),
    said('assistant', 'c', D),
    said('user', 'untagged'),
    summary('D'),
    said('assistant', 'd'),
  ])
  expect(folded.compactions).toMatchObject([
    { id: 'C', covers: [[2, 3]] },
    {
      id: 'D',
      covers: [
        [1, 1],
        [3, 5],
      ],
    },
  ])
  expect(notes).toEqual([
    'mended: messages before the last summary lack its tag; Roo Code does not send them, so the summary covers them',
  ])
})

it('keeps the order of the file, and names messages by their time', async () => {
  const elements = [
    said('user', 'a', { ts: 30 }),
    said('assistant', 'b', { ts: 10 }),
    said('user', 'c', { ts: 10 }),
    said('assistant', 'd'),
  ]
  const { view, notes, folded } = await read(elements)
  expect(view).toEqual(['a', 'b', 'c', 'd'])
  expect(notes).toEqual(['kept: 2 come after messages of a later time; the order of the file is kept'])
  expect(folded.messages.map(({ idempotencyKey }) => idempotencyKey)).toEqual([
    '%time-30',
    '%time-10',
    '%time-10-2',
    '%message-4',
  ])
  // Tags and what they insert change nothing about the messages themselves.
  const tagged = await read([{ ...elements[0]!, ...C }, summary('C'), ...elements.slice(1)])
  expect(tagged.folded.messages).toEqual(folded.messages)
})

it('keeps every field, and what is for other providers apart', async () => {
  const { folded } = await read([
    said('user', [
      { type: 'text', text: 'x' },
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } },
    ]),
    said(
      'assistant',
      [
        { type: 'reasoning', text: 'hm' },
        { type: 'thoughtSignature', thoughtSignature: 's' },
      ],
      { ts: 2, id: 'r' },
    ),
    {
      type: 'reasoning',
      role: 'assistant',
      summary: [{ type: 'summary_text', text: 'why' }],
      encrypted_content: 'e',
      id: 'rs',
      ts: 3,
    },
    calls('1', { ts: 4, reasoning_details: [{ data: 'g' }] }),
    answers('1'),
  ])
  expect(folded.messages).toMatchObject([
    { role: 'user', content: [{ type: 'text' }, { type: 'image', image: 'iVBORw0KGgo=' }] },
    {
      role: 'assistant',
      content: [
        { type: 'reasoning', text: 'hm' },
        { type: 'provider', provider: 'roo', data: { type: 'thoughtSignature', thoughtSignature: 's' } },
      ],
      metadata: { roo: { ts: 2, id: 'r' } },
      createdAt: 2,
    },
    { role: 'assistant', content: [{ type: 'reasoning', text: 'why' }] },
    { metadata: { roo: { ts: 4, reasoning_details: [{ data: 'g' }] } } },
    { role: 'tool', content: [{ type: 'tool-result', toolCallId: '1', toolName: 'read_file' }] },
  ])
})

it('reports what is wrong with an element, and continues after it', async () => {
  const events = await eventsOf(
    roo,
    inputOf('[{"role":"user","content":"a"},7,{"role":"nobody"},{"role":"user","content":"b"}]', {
      name: NAME,
    }),
  )
  expect(eventsOfType(events, 'problem').map(({ at, why }) => [at.element, why])).toEqual([
    [2, 'a message must be an object'],
    [3, 'a message must have a role and a content'],
  ])
  expect(shown(foldEvents(events)[0]!)).toEqual(['a', 'b'])
})

const head = (values: unknown[], name = 'x.json') => ({ name, shape: 'list' as const, values })

it('refuses what Roo Code only showed, and a form it does not know', async () => {
  const only = async (value: unknown, name?: string) => eventsOf(roo, told(value, name))
  const shown = `the displayed messages of Cline or Roo Code, not the conversation: import ${NAME} in the same folder`
  const list = [{ ts: 1, type: 'say', say: 'text', text: 'x' }]
  for (const name of ['ui_messages.json', 'renamed.json']) {
    expect(roo.describeOther!(head(list, name))).toBe(shown)
    expect(await only(list, name)).toEqual([{ type: 'problem', at: {}, why: `this is ${shown}` }])
  }
  expect(await only({ version: 2, messages: [{ role: 'user' }] })).toMatchObject([
    { type: 'problem', why: expect.stringContaining('must be one list of messages') },
  ])
})

it('knows its files by name and by fields', () => {
  expect(roo.recognizes(head([], NAME))).toBe(true)
  expect(roo.recognizes(head([said('user', 'a', { ts: 1 })]))).toBe(true)
  expect(roo.recognizes(head([said('user', 'a', C)]))).toBe(true)
  expect(roo.recognizes(head([{ ts: 1, type: 'ask', ask: 'x' }]))).toBe(false)
  expect(roo.recognizes(head([said('user', 'a')]))).toBe(false)
  expect(roo.recognizes(head([{ mapping: {} }]))).toBe(false)
})

it('distinguishes Cline by messages without a time, or with the model that wrote them', async () => {
  const head = (values: readonly unknown[]) => ({ name: NAME, shape: 'list' as const, values })
  const modelInfo = { modelId: 'claude-x', providerId: 'anthropic', mode: 'act' }
  expect(cline.recognizes(head([said('user', 'a')]))).toBe(true)
  expect(
    cline.recognizes(head([said('user', 'a', { ts: 1 }), said('assistant', 'b', { ts: 2, modelInfo })])),
  ).toBe(true)
  expect(cline.recognizes(head([said('user', 'a', { ts: 1 })]))).toBe(false)
  expect(cline.recognizes(head([said('user', 'a'), summary('c')]))).toBe(false)
  expect(cline.recognizes({ ...head([said('user', 'a')]), name: 'copy.json' })).toBe(false)
})

it('reads of a task of Cline its model, its beginning and its fields', async () => {
  const modelInfo = { modelId: 'claude-x', providerId: 'anthropic', mode: 'act' }
  const values = [said('user', 'a'), said('assistant', 'b', { modelInfo })]
  const input = inputOf(JSON.stringify(values), { name: NAME, folder: '1767225600000' })
  const events = await eventsOf(cline, input)
  expect(eventsOfType(events, 'conversation')[0]).toMatchObject({ id: '1767225600000' })
  expect(eventsOfType(events, 'fields')).toEqual([
    { type: 'fields', createdAt: 1_767_225_600_000, model: 'claude-x', provider: 'anthropic' },
  ])
  expect(eventsOfType(events, 'message')[1]!.message.metadata).toEqual({ cline: { modelInfo } })
})

it('takes the model of a task of Cline from the file beside it', async () => {
  const readSibling = async (name: string) =>
    name === 'task_metadata.json'
      ? JSON.stringify({
          model_usage: [{ model_id: 'first' }, { model_id: 'last', model_provider_id: 'openai' }],
        })
      : undefined
  const events = await eventsOf(cline, { ...told([said('user', 'a')]), readSibling })
  expect(eventsOfType(events, 'fields')).toEqual([{ type: 'fields', model: 'last', provider: 'openai' }])
})

const say = (ts: number, what: string, conversationHistoryIndex?: number): object => ({
  ...{ ts, type: 'say', say: what },
  ...(conversationHistoryIndex !== undefined && { conversationHistoryIndex }),
})
/** The times of a task's messages and of its beginning, with the given messages displayed. */
const timesOf = async (values: readonly object[], displayed: readonly object[] | string) => {
  const readSibling = async (name: string) => {
    if (name !== 'ui_messages.json') return undefined
    return typeof displayed === 'string' ? displayed : JSON.stringify(displayed)
  }
  const events = await eventsOf(cline, { ...told(values), readSibling })
  const began = eventsOfType(events, 'fields').flatMap(({ createdAt }) => createdAt ?? [])
  return {
    began: began.at(-1),
    messages: eventsOfType(events, 'message').map((one) => one.message.createdAt),
  }
}
const TASK = [said('user', 'a'), calls('c'), answers('c'), said('assistant', 'd')]

it('takes the times of a task of Cline from the messages that were displayed', async () => {
  const displayed = [
    say(1_000, 'task', -1),
    say(1_010, 'api_req_started', -1),
    say(1_200, 'text', 0),
    say(1_300, 'tool', 0),
    say(1_900, 'user_feedback', 1),
    say(1_950, 'api_req_started', 1),
    say(2_100, 'text', 2),
    say(2_500, 'completion_result', 3),
  ]
  expect(await timesOf(TASK, displayed)).toEqual({ began: 1_000, messages: [1_010, 1_200, 1_950, 2_100] })
  // Versions before the index: each request adds a message of the user and an answer.
  const older = displayed.map((one) => ({ ...one, conversationHistoryIndex: undefined }))
  expect(await timesOf(TASK, older)).toEqual({ began: 1_000, messages: [1_010, 1_200, 1_950, 2_100] })
})

it('gives a message without a displayed one the time of the message before, and keeps times of its own', async () => {
  const displayed = [say(1_000, 'task', -1), say(1_200, 'text', 0), say(900, 'api_req_started', 1)]
  expect(await timesOf(TASK, displayed)).toEqual({ began: 1_000, messages: [1_000, 1_200, 1_200, 1_200] })
  const some = [said('user', 'a'), said('assistant', 'b', { ts: 5_000, modelInfo: {} }), said('user', 'c')]
  expect(await timesOf(some, displayed)).toEqual({ began: 1_000, messages: [1_000, 5_000, 5_000] })
  const isBroken = some.map((one, at) => (at === 1 ? { role: 'nobody' } : one))
  expect((await timesOf(isBroken, displayed)).messages).toEqual([1_000, 1_000])
})

it('reads a task of Cline whose displayed messages cannot be read', async () => {
  for (const displayed of ['', '[', '{}', '[]', '[null, 1, { "ts": "x" }]'])
    expect(await timesOf(TASK, displayed)).toEqual({
      began: undefined,
      messages: [undefined, undefined, undefined, undefined],
    })
})
