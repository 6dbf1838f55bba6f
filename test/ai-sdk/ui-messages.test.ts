import { convertToModelMessages, type ModelMessage, type UIMessage, validateUIMessages } from 'ai'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  fromModelMessages,
  fromUIMessages,
  type SdkUIMessage,
  toModelMessages,
  toUIMessages,
  type UIMessageLike,
} from '../../src/adapters/ai-sdk/index.ts'
import { partsOf } from '../../src/core/messages/message.ts'
import { type ConversionNote, isUndertextError, type Message, openStore } from '../../src/index.ts'
import { call, result, say } from '../support/conversation.ts'
import { chatOf } from './generators.ts'

describe('there and back', () => {
  it.each([6, 7] as const)('round-trips any message of ai %i', (version) => {
    fc.assert(
      fc.property(chatOf(version), (messages) => {
        expect(toUIMessages(fromUIMessages(messages))).toStrictEqual(messages)
      }),
      { numRuns: 800 },
    )
  })

  it('also by way of the database', async () => {
    await using store = await openStore(':memory:')
    let sessions = 0
    await fc.assert(
      fc.asyncProperty(chatOf(7, 3), async (messages) => {
        fc.pre(messages.length > 0)
        const session = `s${sessions++}`
        await store.append(session, fromUIMessages(messages), { previewToolOutputs: false })
        expect(toUIMessages(await store.getMessages(session))).toStrictEqual(messages)
      }),
      { numRuns: 100 },
    )
  })
})

const assistant = (...parts: object[]) => ({ id: 'a', role: 'assistant', parts }) as unknown as UIMessageLike
const asked = { type: 'tool-look', toolCallId: '1', input: { at: 'x' } }
const approval = { id: 'p' }
const own = (part: object) => ({ type: 'provider', provider: 'ai-sdk', data: { 'ai-sdk': part } })
const theCall = { type: 'tool-call', toolCallId: '1', toolName: 'look', input: { at: 'x' } }
const theResult = (output: object, more: object = {}) => ({
  type: 'tool-result',
  toolCallId: '1',
  toolName: 'look',
  output,
  ...more,
})
const request = own({ type: 'tool-approval-request', approvalId: 'p', toolCallId: '1' })
const response = (approved: boolean, more: object = {}) =>
  own({ type: 'tool-approval-response', approvalId: 'p', approved, ...more })

describe('the rows of a tool', () => {
  it.each<[string, object, unknown[][]]>([
    ['input-streaming', { input: undefined, rawInput: '{"at' }, [[]]],
    ['input-available', {}, [[theCall]]],
    ['approval-requested', { approval }, [[theCall, request]]],
    ['approval-responded', { approval: { id: 'p', approved: true } }, [[theCall, request], [response(true)]]],
    ['output-available', { output: 'seen' }, [[theCall], [theResult({ type: 'text', value: 'seen' })]]],
    [
      'output-available',
      { output: [1], preliminary: true },
      [
        [theCall],
        [
          theResult(
            { type: 'json', value: [1] },
            { providerOptions: { 'ai-sdk': { ui: { preliminary: true } } } },
          ),
        ],
      ],
    ],
    [
      'output-available',
      { output: 'seen', providerExecuted: true },
      [[{ ...theCall, providerExecuted: true }, theResult({ type: 'text', value: 'seen' })]],
    ],
    [
      'output-available',
      { output: 'seen', approval: { id: 'p', approved: true } },
      [
        [theCall, request],
        [response(true), theResult({ type: 'text', value: 'seen' })],
      ],
    ],
    ['output-error', { errorText: 'no' }, [[theCall], [theResult({ type: 'error-text', value: 'no' })]]],
    [
      'output-error',
      { errorText: 'no', input: undefined, rawInput: 'x' },
      [[{ ...theCall, input: 'x' }], [theResult({ type: 'error-text', value: 'no' })]],
    ],
    [
      'output-denied',
      { approval: { id: 'p', approved: false, reason: 'never' } },
      [
        [theCall, request],
        [
          response(false, { reason: 'never' }),
          theResult(
            { type: 'error-text', value: 'never' },
            { providerOptions: { 'ai-sdk': { denied: true, reason: 'never' } } },
          ),
        ],
      ],
    ],
  ])('%s', (state, more, contents) => {
    const part = { ...asked, state, ...more }
    const rows = fromUIMessages([assistant(part)])
    expect(rows.map(({ content }) => content)).toEqual(contents)
    expect(rows.map(({ role }) => role)).toEqual(['assistant', 'tool'].slice(0, contents.length))
    expect(toUIMessages(rows)).toEqual([assistant(part)])
  })

  it('one row a step and one for its results, each naming the message', () => {
    const rows = fromUIMessages([
      assistant(
        { type: 'step-start' },
        { type: 'text', text: 'Let me see.', state: 'done' },
        { ...asked, state: 'output-available', output: 'seen' },
        { type: 'step-start' },
        { type: 'data-x', data: 1 },
        { type: 'text', text: 'There.' },
      ),
    ])
    expect(rows.map(({ role, metadata }) => [role, metadata?.['ai-sdk']])).toEqual([
      [
        'assistant',
        { ui: { id: 'a', first: {}, parts: ['step-start', { at: 0, fields: { state: 'done' } }, 1] } },
      ],
      ['tool', { ui: { id: 'a' } }],
      ['assistant', { ui: { id: 'a', parts: ['step-start', { part: { type: 'data-x', data: 1 } }, 0] } }],
    ])
  })
})

describe('the AI SDK', () => {
  // The default type is a UIMessage of either version, and any UIMessage is read.
  const made: UIMessage[] = toUIMessages<SdkUIMessage>(fromUIMessages([] satisfies UIMessage[]))

  it('takes what is made, and models read of it what they read of the original', async () => {
    expect(made).toEqual([])
    await fc.assert(
      fc.asyncProperty(chatOf(6, 3), async (messages) => {
        fc.pre(messages.length > 0)
        const again = toUIMessages<UIMessage>(fromUIMessages(messages))
        await validateUIMessages({ messages: structuredClone(again) })
      }),
      { numRuns: 100 },
    )
    const messages = [
      assistant(
        { type: 'step-start' },
        { type: 'reasoning', text: 'hm', providerMetadata: { anthropic: { signature: 's' } } },
        { ...asked, state: 'output-available', output: { n: 1 } },
        { type: 'step-start' },
        { type: 'text', text: 'One.' },
      ),
    ]
    const theirs = await convertToModelMessages(messages as UIMessage[])
    const ours = toModelMessages(fromUIMessages(messages))
    // A single text is a string here, and a list there.
    const listed = ours.map(({ content, ...rest }) => ({
      ...rest,
      content: typeof content === 'string' ? [{ type: 'text', text: content }] : content,
    }))
    expect(listed).toEqual(theirs)
  })
})

describe('rows of other origins', () => {
  const rows: Message[] = [
    say('user', 'hi'),
    call('c1', 'look', { at: 'x' }),
    result('c1', 'seen'),
    say('assistant', 'There.'),
    say('user', 'and?'),
  ]
  const tool = (type: object) => ({
    ...type,
    toolCallId: 'c1',
    state: 'output-available',
    input: { at: 'x' },
    output: 'seen',
  })
  const turn = (part: object) => [
    { type: 'step-start' },
    part,
    { type: 'step-start' },
    { type: 'text', text: 'There.' },
  ]

  it("an assistant's turn is one message", () => {
    const messages = toUIMessages(rows)
    expect(messages.map(({ id, role }) => [id, role])).toEqual([
      ['message-0', 'user'],
      ['message-1', 'assistant'],
      ['message-4', 'user'],
    ])
    expect(messages[1]!.parts).toEqual(turn(tool({ type: 'dynamic-tool', toolName: 'look' })))
    for (const tools of ['all', { look: {} }] as const)
      expect(toUIMessages(rows, { tools })[1]!.parts).toEqual(turn(tool({ type: 'tool-look' })))
    expect(toUIMessages(rows, { tools: { other: {} } })).toEqual(messages)
  })

  it('goes by the ids of rows, shows all of the log to people, and the view with its summary', async () => {
    await using store = await openStore(':memory:')
    const { messages } = await store.append('s', rows)
    const ids = messages.map(({ id }) => id)
    await store.compactSession('s', { range: { from: 1, to: 4 }, summary: 'They looked.' })
    const log = toUIMessages(await store.getMessages('s'))
    expect(log.map(({ id, role }) => [id, role])).toEqual([
      [ids[0], 'user'],
      [ids[1], 'assistant'],
      [ids[4], 'user'],
    ])
    const view = toUIMessages(await store.getEffectiveHistory('s'))
    expect(view.map(({ role, parts }) => [role, parts])).toEqual([
      ['system', [{ type: 'text', text: 'They looked.' }]],
      ['user', [{ type: 'text', text: 'and?' }]],
    ])
  })

  it('a part of a message whose other rows are hidden is still a message', () => {
    const given = assistant(
      { type: 'step-start' },
      { ...asked, state: 'output-available', output: 'seen' },
      { type: 'step-start' },
      { type: 'text', text: 'There.' },
    )
    const [, , last] = fromUIMessages([given])
    expect(toUIMessages([last!])).toEqual([
      { id: 'a', role: 'assistant', parts: [{ type: 'step-start' }, { type: 'text', text: 'There.' }] },
    ])
  })

  it('bytes become data URLs, results beside words of a user join their calls, and what no chat shows is noted', () => {
    const notes: string[] = []
    const messages = toUIMessages(
      [
        {
          role: 'user',
          content: [{ type: 'image', image: new Uint8Array([137, 80, 78, 71, 13, 10, 26, 10]) }],
        },
        call('c1', 'look'),
        {
          role: 'user',
          content: [
            { type: 'tool-result', toolCallId: 'c1', output: { type: 'error-text', value: 'no' } },
            { type: 'text', text: 'Oh.' },
          ],
        },
        { role: 'assistant', content: [{ type: 'provider', provider: 'openai', data: {} }] },
        result('lost', 'x'),
      ],
      { onNote: ({ kind, place }) => notes.push(`${kind} ${place}`) },
    )
    expect(messages.map(({ parts }) => parts)).toEqual([
      [{ type: 'file', mediaType: 'image/png', url: 'data:image/png;base64,iVBORw0KGgo=' }],
      [
        { type: 'step-start' },
        {
          type: 'dynamic-tool',
          toolName: 'look',
          toolCallId: 'c1',
          state: 'output-error',
          input: {},
          errorText: 'no',
        },
      ],
      [{ type: 'text', text: 'Oh.' }],
      [
        { type: 'step-start' },
        {
          type: 'dynamic-tool',
          toolName: 'unknown',
          toolCallId: 'lost',
          state: 'output-available',
          input: {},
          output: 'x',
        },
      ],
    ])
    expect(notes).toEqual(['not-sent [3].content[0]', 'changed [4].content[0]'])
  })

  it('what the middleware kept of sources and approvals is shown', () => {
    const source = { type: 'source', sourceType: 'url', id: 's1', url: 'https://example.test', title: 'T' }
    const [message] = toUIMessages([
      {
        ...call('c1', 'look'),
        metadata: {
          'ai-sdk': {
            sources: [source],
            approvals: [{ type: 'tool-approval-request', approvalId: 'p', toolCallId: 'c1' }],
          },
        },
      },
    ])
    expect(message!.parts).toEqual([
      { type: 'step-start' },
      {
        type: 'dynamic-tool',
        toolName: 'look',
        toolCallId: 'c1',
        state: 'approval-requested',
        input: {},
        approval: { id: 'p' },
      },
      { type: 'source-url', sourceId: 's1', url: 'https://example.test', title: 'T' },
    ])
  })

  it('comes out of messages of an application too', () => {
    const given: ModelMessage[] = [{ role: 'user', content: [{ type: 'text', text: 'a' }] }]
    const read = fromModelMessages(given)
    expect(toUIMessages(read)).toEqual([
      { id: 'message-0', role: 'user', parts: [{ type: 'text', text: 'a' }] },
    ] satisfies SdkUIMessage[])
  })
})

describe('bad input', () => {
  const at = (...parts: unknown[]) => [{ id: 'a', role: 'assistant', parts }]
  it.each<[string, unknown, string]>([
    ['no list', 'x', 'messages: must be an array'],
    ['no message', [1], '[0]: must be an object'],
    ['no id', [{ role: 'user', parts: [] }], '[0].id: must be a string'],
    [
      'an unknown role',
      [{ id: 'a', role: 'tool', parts: [] }],
      '[0].role: must be system, user or assistant',
    ],
    ['no parts', [{ id: 'a', role: 'user', content: 'x' }], '[0].parts: must be an array'],
    ['no part', at(null), '[0].parts[0]: must be an object'],
    ['an unknown part', at({ type: 'x' }), '[0].parts[0].type: must be the type of a UIMessage part'],
    ['a text that is none', at({ type: 'text' }), '[0].parts[0].text: must be a string'],
    [
      'a text in no state',
      at({ type: 'text', text: '', state: 'x' }),
      '[0].parts[0].state: must be streaming or done',
    ],
    [
      'a file without an address',
      at({ type: 'file', mediaType: 'a/b' }),
      '[0].parts[0].url: must be a string',
    ],
    [
      'a file that is no base64',
      at({ type: 'file', mediaType: 'a/b', url: 'data:a/b;base64,%' }),
      '[0].parts[0].url: must be base64',
    ],
    [
      'a source without an id',
      at({ type: 'source-url', url: 'x' }),
      '[0].parts[0].sourceId: must be a string',
    ],
    [
      'a call without an id',
      at({ type: 'tool-look', state: 'input-available' }),
      '[0].parts[0].toolCallId: must be a string',
    ],
    [
      'a call of no tool',
      at({ type: 'dynamic-tool', toolCallId: '1', state: 'input-available' }),
      '[0].parts[0].toolName: must be a string',
    ],
    [
      'a call in no state',
      at({ ...asked, state: 'x' }),
      '[0].parts[0].state: must be input-streaming, input-available, approval-requested, approval-responded, output-available, output-error or output-denied',
    ],
    [
      'a failure that says nothing',
      at({ ...asked, state: 'output-error' }),
      '[0].parts[0].errorText: must be a string',
    ],
    [
      'a request that is none',
      at({ ...asked, state: 'approval-requested' }),
      '[0].parts[0].approval: must be an object',
    ],
    [
      'an answer that says neither',
      at({ ...asked, state: 'approval-responded', approval }),
      '[0].parts[0].approval.approved: must be true or false',
    ],
    [
      'metadata that is none',
      at({ type: 'text', text: '', providerMetadata: { a: 1 } }),
      '[0].parts[0].providerMetadata: must contain only objects',
    ],
  ])('%s is refused', (_, given, problem) => {
    let found: unknown
    try {
      fromUIMessages(given as never)
    } catch (error) {
      found = isUndertextError(error, 'INVALID_INPUT') ? error.facts.problems : error
    }
    expect(found).toBe(problem)
  })

  it('lenient keeps it unread in its place, and the rest is read', () => {
    const notes: ConversionNote[] = []
    const rows = fromUIMessages(
      [
        assistant(
          { type: 'text', text: 'a' },
          { type: 'x' },
          { ...asked, state: 'output-available', output: 'y' },
        ),
      ],
      { lenient: true, onNote: (note) => notes.push(note) },
    )
    expect(notes.map(({ kind, place }) => [kind, place])).toEqual([['unread', '[0].parts[1].type']])
    expect(rows.map(({ content }) => partsOf({ content }).map(({ type }) => type))).toEqual([
      ['text', 'provider', 'tool-call'],
      ['tool-result'],
    ])
    expect(toUIMessages(rows)[0]!.parts.map(({ type }) => type)).toEqual(['text', 'tool-look'])
  })

  it('invalid options are rejected', () => {
    expect(() => toUIMessages([], { tools: 'some' as never })).toThrow('options.tools')
  })
})

describe('notes of what is read', () => {
  it('lists what models do not read', () => {
    const notes: string[] = []
    fromUIMessages(
      [
        assistant(
          { type: 'step-start' },
          { type: 'data-x', data: 1 },
          { type: 'source-url', sourceId: 's', url: 'https://example.test' },
          { ...asked, state: 'input-streaming' },
          { type: 'file', mediaType: 'image/png', url: '/uploads/a.png' },
          { type: 'custom', kind: 'a.b' },
        ),
      ],
      { onNote: ({ kind, place }) => notes.push(`${kind} ${place}`) },
    )
    expect(notes).toEqual([1, 2, 3, 4, 5].map((index) => `kept [0].parts[${index}]`))
  })
})
