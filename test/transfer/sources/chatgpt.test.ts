import { describe, expect, it } from 'vitest'
import type { SourceEvent } from '../../../src/transfer/source.ts'
import { treeOf } from '../../../src/transfer/sources/chatgpt.ts'
import { fileWith, readFile } from '../support/files.ts'

type Message = { readonly [field: string]: unknown }

/** A message as exports have it. */
function said(role: string, content: object | string, more: Message = {}): Message {
  const { name = null, ...rest } = more
  return {
    author: { role, name, metadata: {} },
    create_time: 1_700_000_000.25,
    content: typeof content === 'string' ? { content_type: 'text', parts: [content] } : content,
    weight: 1,
    recipient: 'all',
    ...rest,
  }
}

/** Nodes by id: the parent, and the message or null. */
function conversation(
  nodes: { readonly [id: string]: readonly [string | null, Message | null] },
  more: Message = {},
) {
  const mapping = Object.fromEntries(
    Object.entries(nodes).map(([id, [parent, message]]) => [
      id,
      { id, parent, children: [], message: message && { id, ...message } },
    ]),
  )
  const current_node = Object.keys(nodes).at(-1)
  return {
    title: 'A talk',
    create_time: 1_700_000_000,
    mapping,
    current_node,
    conversation_id: 'talk-1',
    ...more,
  }
}

const line = (...messages: readonly Message[]) =>
  conversation({
    root: [null, null],
    ...Object.fromEntries(
      messages.map((message, i) => [`n${i + 1}`, [i === 0 ? 'root' : `n${i}`, message] as const]),
    ),
  })

async function eventsOf(value: object, branches = false): Promise<readonly SourceEvent[]> {
  const { source, events } = await readFile(
    await fileWith('conversations.json', JSON.stringify([value])),
    branches,
  )
  expect(source).toBe('chatgpt')
  return events
}

const messagesIn = (events: readonly SourceEvent[]) =>
  events.flatMap((event) => (event.type === 'message' ? [event.message] : []))
/** Role and content of the messages. */
const spoken = async (value: object): Promise<unknown[]> =>
  messagesIn(await eventsOf(value)).map(({ role, content }) => ({ role, content }))
const text = (role: string, words: string) => ({ role, content: [{ type: 'text', text: words }] })
const notesIn = (events: readonly SourceEvent[]) => events.filter(({ type }) => type === 'note')

describe('a conversation', () => {
  it('has its id, title, model and time; the rest of it is kept', async () => {
    const value = conversation(
      { root: [null, null], a: ['root', said('user', 'hello')] },
      { default_model_slug: 'gpt-4o', gizmo_id: 'g-1', is_archived: false },
    )
    const [begun, fields, message] = await eventsOf(value)
    expect(begun).toEqual({ type: 'conversation', at: { line: 1, element: 1 }, id: 'talk-1' })
    expect(fields).toEqual({
      type: 'fields',
      provider: 'openai',
      title: 'A talk',
      model: 'gpt-4o',
      createdAt: 1_700_000_000_000,
      metadata: {
        create_time: 1_700_000_000,
        current_node: 'a',
        conversation_id: 'talk-1',
        gizmo_id: 'g-1',
        is_archived: false,
      },
    })
    expect(message).toEqual({
      type: 'message',
      at: { line: 1, element: 1 },
      message: {
        idempotencyKey: 'chatgpt:a',
        createdAt: 1_700_000_000_250,
        role: 'user',
        content: [{ type: 'text', text: 'hello' }],
        metadata: {
          chatgpt: {
            create_time: 1_700_000_000.25,
            weight: 1,
            recipient: 'all',
            author: { name: null, metadata: {} },
            content: { content_type: 'text' },
          },
        },
      },
    })
  })

  it.each([
    ['one object', (value: object) => JSON.stringify(value, null, 1), 'talk.json'],
    ['a line', (value: object) => `${JSON.stringify(value)}\n${JSON.stringify(value)}\n`, 'talks.jsonl'],
  ])('may be in a file as %s', async (_, write, name) => {
    const { source, events } = await readFile(await fileWith(name, write(line(said('user', 'hello')))))
    expect(source).toBe('chatgpt')
    expect(events[0]).toEqual({ type: 'conversation', at: { line: 1 }, id: 'talk-1' })
    expect(messagesIn(events)[0]).toMatchObject(text('user', 'hello'))
  })

  it('is recognized when it is longer than the beginning of a file that is looked at', async () => {
    const value = line(said('user', 'x'.repeat(400_000)))
    const { source } = await readFile(await fileWith('conversations.json', JSON.stringify([value])))
    expect(source).toBe('chatgpt')
  })

  it('is what else is there of it when a message or a field cannot be kept', async () => {
    const good = JSON.stringify(line(said('user', 'a'), said('assistant', 'b'), said('user', 'c')))
    const bad = good
      .replace('"parts":["b"]', '"parts":["b"],"score":1e999')
      .replace('{"title"', '{"rating":1e999,"title"')
    const { events } = await readFile(await fileWith('conversations.json', `[${bad}]`))
    const at = { line: 1, element: 1 }
    const why = "a number that isn't finite"
    expect(events[0]).toEqual({ type: 'conversation', at, id: 'talk-1' })
    expect(events.filter(({ type }) => type === 'problem')).toEqual([
      { type: 'problem', at, why: `a field contains ${why}` },
      {
        type: 'problem',
        at: { line: 1, element: 2 },
        why: `message: contains ${why} in an object in an object`,
      },
    ])
    expect(messagesIn(events).map(({ content }) => content)).toEqual([
      text('user', 'a').content,
      text('user', 'c').content,
    ])
  })

  it('of a file of its own has the problems of that file, and is one', async () => {
    const long = 'x'.repeat(300_000)
    const good = JSON.stringify(line(said('user', long)))
    const { events } = await readFile(await fileWith('c.json', good.replace(/}$/, ',"voice":nope}')))
    expect(events.filter(({ type }) => type === 'conversation' || type === 'problem')).toEqual([
      { type: 'conversation', at: { line: 1 }, id: 'talk-1' },
      { type: 'problem', at: { line: 1 }, why: expect.stringMatching(/^it is not JSON/) },
    ])
    expect(messagesIn(events)).toHaveLength(1)
  })

  it('without a mapping is a problem of its own', async () => {
    const path = await fileWith('c.json', JSON.stringify([line(said('user', 'a')), { title: 'x' }, line()]))
    const { events } = await readFile(path)
    expect(events.filter(({ type }) => type === 'problem' || type === 'conversation')).toEqual([
      { type: 'conversation', at: { line: 1, element: 1 }, id: 'talk-1' },
      { type: 'conversation', at: { line: 1, element: 2 } },
      {
        type: 'problem',
        at: { line: 1, element: 2 },
        why: 'it is not a conversation: it has no mapping of messages',
      },
      { type: 'conversation', at: { line: 1, element: 3 }, id: 'talk-1' },
    ])
  })
})

describe('branches', () => {
  // root → ask ┬ first answer → thanks
  //            └ second answer (current)
  const forked = conversation({
    root: [null, null],
    ask: ['root', said('user', 'a question')],
    first: ['ask', said('assistant', 'an answer')],
    thanks: ['first', said('user', 'thanks')],
    second: ['ask', said('assistant', 'another answer')],
  })

  it('but the current one are counted', async () => {
    const events = await eventsOf(forked)
    expect(messagesIn(events)).toMatchObject([
      text('user', 'a question'),
      text('assistant', 'another answer'),
    ])
    expect(notesIn(events)).toEqual([
      { type: 'note', at: { line: 1, element: 1 }, kind: 'branch', why: 'one other branch was not imported' },
    ])
  })

  it('become conversations of their own, from the root, on request', async () => {
    const events = await eventsOf(forked, true)
    expect(events.filter(({ type }) => type === 'conversation')).toEqual([
      { type: 'conversation', at: { line: 1, element: 1 }, id: 'talk-1' },
      { type: 'conversation', at: { line: 1, element: 1 }, id: 'talk-1/thanks', branchOf: 'talk-1' },
    ])
    expect(messagesIn(events).slice(2)).toMatchObject([
      { ...text('user', 'a question'), idempotencyKey: 'chatgpt:ask' },
      { ...text('assistant', 'an answer'), idempotencyKey: 'chatgpt:first' },
      { ...text('user', 'thanks'), idempotencyKey: 'chatgpt:thanks' },
    ])
    expect(notesIn(events)).toEqual([])
  })

  it('of a tree without a current node: the newest one', async () => {
    const value = conversation(
      {
        ask: [null, said('user', 'a question')],
        late: ['ask', said('assistant', 'late', { create_time: 1_700_000_009 })],
        early: ['ask', said('assistant', 'early', { create_time: 1_700_000_001 })],
      },
      { current_node: null },
    )
    expect(messagesIn(await eventsOf(value))).toMatchObject([
      text('user', 'a question'),
      text('assistant', 'late'),
    ])
  })

  it('are counted at once, however many there are', async () => {
    const nodes: Record<string, [string | null, Message | null]> = { root: [null, null] }
    for (let turn = 0; turn < 2_000; turn++) {
      const parent = turn === 0 ? 'root' : `${turn - 1}.2`
      for (let nth = 0; nth < 3; nth++) nodes[`${turn}.${nth}`] = [parent, said('assistant', 'again')]
    }
    // An end without a message behind a branch is a branch; behind what is current it is none.
    Object.assign(nodes, { behind: ['7.0', null], none: ['7.2', null] })
    const looked: string[] = []
    const mapping = Object.fromEntries(
      Object.entries(nodes).map(([id, [parent, message]]) => [
        id,
        {
          message,
          get parent() {
            looked.push(id)
            return parent
          },
        },
      ]),
    )
    const { otherBranches } = treeOf({ mapping, current_node: '1999.2' } as never)!
    expect(otherBranches).toHaveLength(4_000)
    expect(otherBranches).toContain('behind')
    expect(otherBranches).not.toContain('none')
    expect(looked.length).toBeLessThan(10 * Object.keys(nodes).length)
  })

  it('are followed by the children nodes name, where these name no parent', async () => {
    const value = {
      id: 'talk',
      current_node: 'c',
      mapping: {
        a: { children: ['b'], message: null },
        b: { children: ['c'], message: said('user', 'b') },
        c: { children: [], message: said('assistant', 'c') },
      },
    }
    expect(await spoken(value)).toEqual([text('user', 'b'), text('assistant', 'c')])
  })

  it('that go in a circle, or whose parents are missing, end', async () => {
    const circle = conversation({ a: ['b', said('user', 'a')], b: ['a', said('assistant', 'b')] })
    expect(messagesIn(await eventsOf(circle))).toMatchObject([text('user', 'a'), text('assistant', 'b')])
    const orphan = conversation({ a: ['gone', said('user', 'a')] })
    expect(messagesIn(await eventsOf(orphan))).toMatchObject([text('user', 'a')])
    for (const cut of [circle, orphan])
      expect(notesIn(await eventsOf(cut))).toMatchObject([{ kind: 'mended', at: { line: 1, element: 1 } }])
  })
})

describe('contents', () => {
  it('calls of tools and their answers are paired', async () => {
    const value = line(
      said('user', 'plot it'),
      said(
        'assistant',
        { content_type: 'code', language: 'python', text: 'plot()' },
        { recipient: 'python' },
      ),
      said('tool', { content_type: 'execution_output', text: 'ok' }, { name: 'python' }),
      said('tool', { content_type: 'execution_output', text: 'more' }, { name: 'python' }),
      said('assistant', '{"query":"x"}', { recipient: 'web.run' }),
      said('tool', { content_type: 'system_error', name: 'Oops', text: 'no net' }, { name: 'web' }),
      said('assistant', 'done'),
    )
    expect(await spoken(value)).toEqual([
      text('user', 'plot it'),
      {
        role: 'assistant',
        content: [{ type: 'tool-call', toolCallId: 'n2', toolName: 'python', input: { code: 'plot()' } }],
      },
      {
        role: 'tool',
        content: [
          {
            type: 'tool-result',
            toolCallId: 'n2',
            toolName: 'python',
            output: { type: 'text', value: 'ok' },
          },
        ],
      },
      {
        role: 'tool',
        content: [
          {
            type: 'tool-result',
            toolCallId: 'n4',
            toolName: 'python',
            output: { type: 'text', value: 'more' },
          },
        ],
      },
      {
        role: 'assistant',
        content: [{ type: 'tool-call', toolCallId: 'n5', toolName: 'web.run', input: { query: 'x' } }],
      },
      {
        role: 'tool',
        content: [
          {
            type: 'tool-result',
            toolCallId: 'n5',
            toolName: 'web.run',
            output: { type: 'error-text', value: 'Oops\n\nno net' },
          },
        ],
      },
      text('assistant', 'done'),
    ])
  })

  it('pictures are words, with the pointer kept beside', async () => {
    const picture = { content_type: 'image_asset_pointer', asset_pointer: 'file-service://f', width: 3 }
    const voice = { content_type: 'audio_transcription', text: 'spoken words', direction: 'in' }
    const events = await eventsOf(
      line(said('user', { content_type: 'multimodal_text', parts: [picture, 'what is it?', voice] })),
    )
    expect(messagesIn(events)[0]!.content).toEqual([
      { type: 'text', text: '[image]', providerOptions: { chatgpt: { part: picture } } },
      { type: 'text', text: 'what is it?' },
      {
        type: 'text',
        text: 'spoken words',
        providerOptions: { chatgpt: { content_type: 'audio_transcription', direction: 'in' } },
      },
    ])
    expect(notesIn(events)).toEqual([
      {
        type: 'note',
        at: { line: 1, element: 1 },
        kind: 'kept',
        why: 'content.parts[0]: the file has only a reference to it, so a word replaces it',
      },
    ])
  })

  it('thoughts are reasoning; a recap is for people alone', async () => {
    const events = await eventsOf(
      line(
        said('assistant', {
          content_type: 'thoughts',
          thoughts: [{ summary: 'Looking', content: 'It may be …', finished: true }],
        }),
        said('assistant', { content_type: 'reasoning_recap', content: 'Thought for 8s' }),
      ),
    )
    expect(messagesIn(events).map(({ content }) => content)).toEqual([
      [
        {
          type: 'reasoning',
          text: 'Looking\n\nIt may be …',
          providerOptions: { chatgpt: { thought: { summary: 'Looking', finished: true } } },
        },
      ],
      [
        {
          type: 'provider',
          provider: 'chatgpt',
          data: { content: { content_type: 'reasoning_recap', content: 'Thought for 8s' } },
        },
      ],
    ])
    expect(notesIn(events)).toHaveLength(1)
  })

  it('pages that were read are results', async () => {
    const quote = { content_type: 'tether_quote', title: 'T', url: 'https://a.example', text: 'words' }
    const value = line(
      said('assistant', { content_type: 'code', text: 'search("x")' }, { recipient: 'browser' }),
      said(
        'tool',
        { content_type: 'tether_browsing_display', result: 'found', summary: '' },
        { name: 'browser' },
      ),
      said('tool', quote, { name: 'browser' }),
    )
    const outputs = messagesIn(await eventsOf(value)).flatMap(({ content }) =>
      typeof content === 'string'
        ? []
        : content.flatMap((part) => (part.type === 'tool-result' ? [part.output] : [])),
    )
    expect(outputs).toEqual([
      { type: 'text', value: 'found' },
      { type: 'text', value: 'T\n\nhttps://a.example\n\nwords' },
    ])
  })

  it('the profile of the user is a system message', async () => {
    const value = line(
      said('user', {
        content_type: 'user_editable_context',
        user_profile: 'I am Ann.',
        user_instructions: 'Be brief.',
      }),
      said('user', 'hello'),
    )
    expect(await spoken(value)).toEqual([text('system', 'I am Ann.\n\nBe brief.'), text('user', 'hello')])
  })

  it('what has the weight 0 is kept and sent nowhere', async () => {
    const events = await eventsOf(line(said('assistant', 'a draft', { weight: 0 }), said('user', 'hello')))
    expect(messagesIn(events)[0]!.content).toEqual([
      {
        type: 'provider',
        provider: 'chatgpt',
        data: { message: { content: { content_type: 'text', parts: ['a draft'] } } },
      },
    ])
    expect(notesIn(events)).toMatchObject([{ kind: 'kept', why: 'its weight is 0, so it is never sent' }])
  })

  it('messages without any content are left out, and counted', async () => {
    const events = await eventsOf(line(said('system', ''), said('user', 'hello'), said('assistant', ' ')))
    expect(messagesIn(events)).toHaveLength(1)
    expect(notesIn(events)).toEqual([
      {
        type: 'note',
        at: { line: 1, element: 1 },
        kind: 'left-out',
        why: '2 messages without any content',
      },
    ])
  })

  it('a type that is not known is read by its text, or kept whole', async () => {
    const events = await eventsOf(
      line(
        said('assistant', { content_type: 'new_thing', text: 'words' }),
        said('assistant', { content_type: 'newer_thing', data: { x: 1 } }),
      ),
    )
    expect(messagesIn(events).map(({ content }) => content)).toEqual([
      [{ type: 'text', text: 'words' }],
      [
        {
          type: 'provider',
          provider: 'chatgpt',
          data: { content: { content_type: 'newer_thing', data: { x: 1 } } },
        },
      ],
    ])
  })

  it('a message without an author or a content is a problem', async () => {
    const events = await eventsOf(
      line(said('user', 'a'), { ...said('user', 'b'), author: null }, said('alien', 'c')),
    )
    expect(events.filter(({ type }) => type === 'problem')).toEqual([
      {
        type: 'problem',
        at: { line: 1, element: 2 },
        why: 'message.author.role: must be system, user, assistant or tool',
      },
      {
        type: 'problem',
        at: { line: 1, element: 3 },
        why: 'message.author.role: must be system, user, assistant or tool',
      },
    ])
  })
})
