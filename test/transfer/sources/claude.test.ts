import { describe, expect, it } from 'vitest'
import { openStore } from '../../../src/index.ts'
import { detectSource } from '../../../src/transfer/detect.ts'
import { importFile } from '../../../src/transfer/index.ts'
import { fileWith, readFile } from '../support/files.ts'
import {
  AT,
  chain,
  eventsOf,
  type Fields,
  MILLISECONDS,
  message,
  messagesIn,
  notesIn,
  problemsIn,
  ROOT,
  spoken,
  TIME,
  talk,
  text,
} from './claude-files.ts'
import { inputOf } from './support.ts'

describe('a conversation', () => {
  it('has its id, title and time; the rest of it is kept', async () => {
    const events = await eventsOf(
      talk(chain(message('m1', 'human', 'hello')), { account: { uuid: 'a-1' }, updated_at: TIME }),
    )
    expect(events).toEqual([
      { type: 'conversation', at: AT, id: 'talk-1' },
      {
        type: 'fields',
        provider: 'anthropic',
        title: 'A talk',
        createdAt: MILLISECONDS,
        metadata: {
          uuid: 'talk-1',
          summary: '',
          account: { uuid: 'a-1' },
          updated_at: TIME,
          created_at: TIME,
        },
      },
      {
        type: 'message',
        at: AT,
        message: {
          role: 'user',
          content: [{ type: 'text', text: 'hello' }],
          idempotencyKey: 'claude:m1',
          createdAt: MILLISECONDS,
          metadata: { claude: { created_at: TIME, updated_at: TIME, parent_message_uuid: ROOT } },
        },
      },
    ])
  })

  it('has its model where it was saved from the page itself; an empty name is no title', async () => {
    const [, fields] = await eventsOf(talk([], { name: '', model: 'claude-sonnet-4-5', settings: { a: 1 } }))
    expect(fields).toEqual({
      type: 'fields',
      provider: 'anthropic',
      model: 'claude-sonnet-4-5',
      createdAt: MILLISECONDS,
      metadata: { uuid: 'talk-1', summary: '', settings: { a: 1 }, created_at: TIME },
    })
  })

  it.each([
    ['one object', (value: object) => JSON.stringify(value, null, 1), 'talk.json'],
    ['a line', (value: object) => `${JSON.stringify(value)}\n${JSON.stringify(value)}\n`, 'talks.jsonl'],
  ])('may be in a file as %s', async (_, write, name) => {
    const path = await fileWith(name, write(talk([message('m1', 'human', 'hello')])))
    const { source, events } = await readFile(path)
    expect(source).toBe('claude')
    expect(events[0]).toEqual({ type: 'conversation', at: { line: 1 }, id: 'talk-1' })
    expect(messagesIn(events)[0]).toMatchObject(text('user', 'hello'))
  })

  it('is recognized when its messages begin beyond the part that is read', async () => {
    const { chat_messages, ...rest } = talk([message('m1', 'human', 'hello')])
    const value = { ...rest, settings: 'x'.repeat(400_000), chat_messages }
    const long = talk([message('m1', 'human', 'x'.repeat(400_000))])
    for (const written of [JSON.stringify(value), JSON.stringify([long])]) {
      const { source, events } = await readFile(await fileWith('conversations.json', written))
      expect(source).toBe('claude')
      expect(messagesIn(events)).toHaveLength(1)
    }
  })

  it('is distinguished from one of ChatGPT’s by its content, not by the name of the file', async () => {
    const mapping = {
      a: { message: { author: { role: 'user' }, content: { content_type: 'text', parts: ['x'] } } },
    }
    const path = await fileWith('conversations.json', JSON.stringify([{ id: 't', mapping }]))
    expect((await readFile(path)).source).toBe('chatgpt')
  })

  it.each([
    ['projects', [{ uuid: 'p', name: 'P', prompt_template: '', docs: [] }]],
    ['users', [{ uuid: 'u', full_name: 'Ann', email_address: 'ann@example.org' }]],
    ['memories', [{ account_uuid: 'u', conversations_memory: 'x', project_memories: {} }]],
  ])('is not in the file of an export that holds its %s', async (what, values) => {
    expect(await detectSource(inputOf(JSON.stringify(values)))).toEqual({
      looks: `the ${what} of a Claude export, without conversations (conversations.json contains them)`,
    })
  })
})

describe('a branch', () => {
  const [ask, first] = chain(message('ask', 'human', 'q'), message('first', 'assistant', 'one'))
  const second = message('second', 'assistant', 'two', {
    parent_message_uuid: 'ask',
    created_at: '2025-11-22T10:05:00Z',
  })
  const messages = [ask, second, first]

  it('that is the newest is the conversation; the others are counted', async () => {
    const events = await eventsOf(talk(messages))
    expect(messagesIn(events).map(({ idempotencyKey }) => idempotencyKey)).toEqual([
      'claude:ask',
      'claude:second',
    ])
    expect(notesIn(events)).toEqual(['branch: one other branch was not imported'])
  })

  it('that is named is the conversation', async () => {
    const events = await eventsOf(talk(messages, { current_leaf_message_uuid: 'first' }))
    expect(messagesIn(events).map(({ content }) => content)).toMatchObject([
      [{ text: 'q' }],
      [{ text: 'one' }],
    ])
  })

  it('that was left is imported on request, from the root', async () => {
    const events = await eventsOf(talk(messages), true)
    expect(events.filter(({ type }) => type === 'conversation')).toEqual([
      { type: 'conversation', at: AT, id: 'talk-1' },
      { type: 'conversation', at: AT, id: 'talk-1/first', branchOf: 'talk-1' },
    ])
    expect(messagesIn(events).map(({ idempotencyKey }) => idempotencyKey)).toEqual([
      'claude:ask',
      'claude:second',
      'claude:ask',
      'claude:first',
    ])
  })

  it('begins after a parent that is not in the file, and ends in a circle', async () => {
    const cut = await eventsOf(talk([{ ...message('m2', 'human', 'b'), parent_message_uuid: 'm1' }]))
    const why = 'mended: its first message follows a missing one, or itself, so the conversation begins there'
    expect([messagesIn(cut).length, notesIn(cut)]).toEqual([1, [why]])
    const circle = await eventsOf(
      talk([
        { ...message('m1', 'human', 'a'), parent_message_uuid: 'm2' },
        { ...message('m2', 'assistant', 'b'), parent_message_uuid: 'm1' },
      ]),
    )
    expect([messagesIn(circle).length, notesIn(circle)]).toEqual([2, [why]])
  })

  it('is all of an older file, in its order: no message names a parent', async () => {
    const old = [
      message('b', 'human', 'one'),
      message('a', 'assistant', 'two'),
      message('c', 'human', 'three'),
    ]
    expect(await spoken(...old)).toEqual([
      text('user', 'one'),
      text('assistant', 'two'),
      text('user', 'three'),
    ])
  })
})

describe('a bad place', () => {
  it.each([
    ['no object', 7, 'message: must be an object'],
    ['a stranger', message('m2', 'somebody', 'x'), 'message.sender: must be human or assistant'],
    [
      'a content that is no list',
      message('m2', 'human', { type: 'text' }),
      'message.content: must be an array',
    ],
    ['a uuid again', message('m1', 'human', 'other'), 'message.uuid: an earlier message has this uuid'],
  ])('is reported by its number: %s', async (_, bad, why) => {
    for (const parent_message_uuid of [undefined, ROOT]) {
      const first = { ...message('m1', 'human', 'a'), parent_message_uuid }
      const events = await eventsOf(
        talk([
          first,
          bad,
          message('m3', 'assistant', 'c', { parent_message_uuid: parent_message_uuid && 'm1' }),
        ]),
      )
      // A message beside the current branch is read with that branch alone.
      const isBeside =
        parent_message_uuid !== undefined && typeof bad === 'object' && (bad as Fields).uuid === 'm2'
      expect(problemsIn(events)).toEqual(
        isBeside ? [] : [{ type: 'problem', at: { line: 1, element: 2 }, why }],
      )
      expect(messagesIn(events)).toMatchObject([text('user', 'a'), text('assistant', 'c')])
    }
  })

  it('is no message that occurs twice, nor a conversation without messages of the form', async () => {
    const events = await eventsOf(talk([message('m1', 'human', 'a'), message('m1', 'human', 'a')]))
    expect([messagesIn(events).length, problemsIn(events), notesIn(events)]).toEqual([
      1,
      [],
      ['left-out: it repeats an earlier message'],
    ])
    const path = await fileWith('c.json', JSON.stringify([talk([]), { uuid: 'x', chat_messages: {} }]))
    expect(problemsIn((await readFile(path)).events)).toEqual([
      {
        type: 'problem',
        at: { line: 1, element: 2 },
        why: 'it is not a conversation: it has no list chat_messages',
      },
    ])
  })
})

describe('an import', () => {
  const ask = message('m1', 'human', 'q')
  const answer = message('m2', 'assistant', [
    { type: 'tool_use', name: 'f', input: {} },
    { type: 'tool_result', name: 'f', content: 'r' },
    { type: 'text', text: 'a' },
  ])
  const more = message('m3', 'human', 'and?')

  it('adds nothing when it is done again, and the end of what has grown', async () => {
    const store = await openStore(':memory:')
    const load = async (messages: readonly Fields[], updated_at: string) =>
      importFile(
        store,
        await fileWith('conversations.json', JSON.stringify([talk(messages, { updated_at })])),
      )
    const first = await load(chain(ask, answer), 'then')
    expect(first).toMatchObject({
      source: 'claude',
      conversations: [{ sessionId: 'talk-1', status: 'imported', messages: 4, problemCount: 0 }],
    })
    const later = await load(chain(ask, answer), 'later')
    expect(later.conversations).toMatchObject([{ status: 'unchanged', messages: 0, existing: 4 }])
    const grown = await load(chain(ask, answer, more), 'now')
    expect(grown.conversations).toMatchObject([{ status: 'extended', messages: 1, existing: 4 }])
    const view = await store.getEffectiveHistory('talk-1')
    expect(view.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant', 'user'])
    const session = await store.sessions.get('talk-1')
    expect(session).toMatchObject({ title: 'A talk', provider: 'anthropic' })
    expect(session?.metadata).toMatchObject({ claude: { uuid: 'talk-1' } })
    expect((await store.sessions.verify('talk-1')).findings).toEqual([])
    await store.close()
  })

  it('refuses a conversation with a bad place as a whole, and stores the rest of it when asked', async () => {
    const store = await openStore(':memory:')
    const bad = talk([ask, { ...more, sender: 'x' }, answer])
    const path = await fileWith('conversations.json', JSON.stringify([bad, talk([ask], { uuid: 'talk-2' })]))
    expect((await importFile(store, path)).conversations).toMatchObject([
      { status: 'refused', problems: [{ element: 2 }] },
      { sessionId: 'talk-2', status: 'imported' },
    ])
    expect((await importFile(store, path, { skipBad: true })).conversations).toMatchObject([
      { sessionId: 'talk-1', status: 'imported', messages: 4, skipped: 1 },
      { status: 'unchanged' },
    ])
    await store.close()
  })
})
