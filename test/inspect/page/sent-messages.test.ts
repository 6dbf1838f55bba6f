import { describe, expect, it } from 'vitest'
import type { Message } from '../../../src/core/messages/message.ts'
import {
  changeOf,
  isIn,
  lengthOf,
  originsOf,
  piecesOf,
  rangesOf,
  rangeWords,
  shownOf,
  toolName,
} from '../../../src/inspect/page/sent-messages.ts'

const text = (value: string): Message => ({ role: 'user', content: [{ type: 'text', text: value }] })
const calls = (id: string): Message => ({
  role: 'assistant',
  content: [{ type: 'tool-call', toolCallId: id, toolName: 'read', input: { path: 'a' } }],
})
const results = (id: string, value: string): Message => ({
  role: 'tool',
  content: [{ type: 'tool-result', toolCallId: id, toolName: 'read', output: { type: 'text', value } }],
})

describe('the parts of a sent message', () => {
  it('are texts as they were sent, with markup unchanged', () => {
    const pieces = piecesOf({
      content: [
        { type: 'text', text: '<b>**x**</b>' },
        { type: 'reasoning', text: 'why', providerOptions: { anthropic: { signature: 's' } } },
        { type: 'tool-call', toolCallId: 'c', toolName: 'read', input: { path: 'a' } },
        { type: 'tool-result', toolCallId: 'c', output: { type: 'error-text', value: 'no' } },
        { type: 'tool-result', toolCallId: 'd', output: { type: 'json', value: [1] } },
        { type: 'provider', provider: 'anthropic', data: { type: 'redacted_thinking' } },
      ],
    })
    expect(pieces).toEqual([
      { kind: 'text', text: '<b>**x**</b>' },
      {
        kind: 'reasoning',
        label: 'Reasoning',
        text: 'why',
        options: '{\n  "anthropic": {\n    "signature": "s"\n  }\n}',
      },
      { kind: 'call', label: 'read', text: '{\n  "path": "a"\n}' },
      { kind: 'result', label: 'c', text: 'no', isError: true },
      { kind: 'result', label: 'd', text: '[\n  1\n]' },
      { kind: 'provider', label: 'anthropic', text: '{\n  "type": "redacted_thinking"\n}' },
    ])
    expect(lengthOf([{ kind: 'text', text: 'abc' }, { kind: 'media' }, { kind: 'text', text: 'd' }])).toBe(4)
  })

  it('include the images of a tool result as descriptions', () => {
    const image = { type: 'image', mediaType: 'image/png', bytes: 12 }
    const output = {
      type: 'content',
      value: [{ type: 'text', text: 'a' }, image, { type: 'text', text: 'b' }],
    }
    const [piece] = piecesOf({
      content: [{ type: 'tool-result', toolCallId: 'c', toolName: 'shot', output }],
    } as unknown as Message)
    expect(piece).toEqual({ kind: 'result', label: 'shot', text: 'a\nb', media: [image] })
  })
})

it('tools are named in the forms of Anthropic, OpenAI and Bedrock, and otherwise by type or number', () => {
  const tools = [
    { name: 'a', input_schema: {} },
    { type: 'function', function: { name: 'b' } },
    { toolSpec: { name: 'c' } },
    { type: 'web_search_20250305' },
    {},
    null,
  ]
  expect(tools.map(toolName)).toEqual(['a', 'b', 'c', 'web_search_20250305', 'tool 5', 'tool 6'])
})

describe('the rows that a sent message represents', () => {
  it('are found one by one if nothing was changed', () => {
    const view = [text('a'), calls('1'), results('1', 'x'), text('b')]
    expect(originsOf(view, view, []).map(({ rows }) => rows)).toEqual([[0], [1], [2], [3]])
  })

  it('are several for merged messages, and the prompt is marked', () => {
    const sent: Message[] = [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ],
      },
      calls('1'),
      { role: 'user', content: [...(results('1', 'x').content as []), { type: 'text', text: 'now' }] },
    ]
    const origins = originsOf(sent, [text('a'), text('b'), calls('1'), results('1', 'x')], [text('now')])
    expect(origins).toEqual([
      { rows: [0, 1], isPrompt: false },
      { rows: [2], isPrompt: false },
      { rows: [3], isPrompt: true },
    ])
  })

  it('are told apart if texts repeat', () => {
    const view = [text('ok'), text('ok'), text('ok')]
    expect(originsOf(view, view, []).map(({ rows }) => rows)).toEqual([[0], [1], [2]])
  })

  it('include a summary, which is sent with a header', () => {
    const sent = [text('<earlier>\nThe state.\n</earlier>'), text('go on')]
    expect(originsOf(sent, [text('The state.'), text('go on')], []).map(({ rows }) => rows)).toEqual([
      [0],
      [1],
    ])
  })

  it('are empty for a message that rendering added, and leave out a row that was not sent', () => {
    const sent = [text('a'), results('1', 'Error: not executed'), text('c')]
    expect(originsOf(sent, [text('a'), text('left out'), text('c')], []).map(({ rows }) => rows)).toEqual([
      [0],
      [],
      [2],
    ])
  })

  it('are found for a result that was moved before later rows', () => {
    const sent = [calls('1'), results('1', 'x'), text('b')]
    expect(originsOf(sent, [calls('1'), text('b'), results('1', 'x')], []).map(({ rows }) => rows)).toEqual([
      [0],
      [2],
      [1],
    ])
  })
})

describe('positions', () => {
  it('of rows are ranges, joined where they are neighbors', () => {
    const ranges = rangesOf([
      {
        role: 'user',
        content: '',
        positions: [
          [1, 3],
          [5, 5],
        ],
      },
      { role: 'user', content: '', position: 4 },
      { role: 'user', content: '', position: 9 },
      { role: 'user', content: '' },
    ])
    expect(ranges).toEqual([
      [1, 3],
      [5, 5],
      [4, 4],
      [9, 9],
    ])
    expect(rangeWords(ranges)).toBe('1–5, 9')
    expect(isIn(ranges, 5)).toBe(true)
    expect(isIn(ranges, 6)).toBe(false)
  })
})

describe('a change', () => {
  it('is what differs between the common beginning and the common end', () => {
    expect(changeOf('abcXYdef', 'abcZdef')).toEqual({ same: 'abc', removed: 'XY', added: 'Z', end: 'def' })
    expect(changeOf('abc', 'abc')).toEqual({ same: 'abc', removed: '', added: '', end: '' })
    expect(changeOf('', 'abc')).toEqual({ same: '', removed: '', added: 'abc', end: '' })
  })

  it('never counts a character as the beginning and the end', () => {
    expect(changeOf('aa', 'aaa')).toEqual({ same: 'aa', removed: '', added: 'a', end: '' })
  })

  it('splits no character', () => {
    expect(changeOf('😀', '😁')).toEqual({ same: '', removed: '😀', added: '😁', end: '' })
  })
})

it('a long list shows its beginning and its end; a gap of one is not worth a button', () => {
  expect(shownOf(10, 4, 5)).toEqual([[0, 10]])
  expect(shownOf(11, 4, 5)).toEqual([
    [0, 4],
    [6, 11],
  ])
})
