import { describe, expect, it } from 'vitest'
import { rowsOf } from '../../src/compat/arrays/rows.ts'
import { estimateMessagesTokens } from '../../src/core/tokens/measure.ts'
import { assistant, call, result, user } from './support.ts'

/** Which rows go together, as lists of indexes. */
function groups(messages: Parameters<typeof rowsOf>[0]): number[][] {
  const { turns, rows } = rowsOf(messages, '', 'test').view
  return [...new Set(rows.map((_, index) => turns.groupOf(index)))].map((group) => [...group])
}

describe('pairs [C-35 S3-U09]', () => {
  it('a flat call and the result after it', () => {
    expect(groups([user('q'), call('look'), result('look', 'r'), assistant('a')])).toEqual([[0], [1, 2], [3]])
  })

  it('parallel flat calls and the results that follow them, in order', () => {
    expect(groups([call('look'), call('look'), result('look', '1'), result('look', '2')])).toEqual([
      [0, 2],
      [1, 3],
    ])
  })

  it('by the tool’s name where it tells them apart', () => {
    expect(groups([call('look'), call('find'), result('find', '1'), result('look', '2')])).toEqual([
      [0, 3],
      [1, 2],
    ])
  })

  it("never across a user's text", () => {
    expect(groups([call('look'), user('stop'), result('look', 'r')])).toEqual([[0], [1], [2]])
  })

  it('by id before everything else', () => {
    const messages = [
      { ...call('look'), toolCallId: 'a' },
      { ...call('look'), toolCallId: 'b' },
      { ...result('look', '2'), toolCallId: 'b' },
      user('meanwhile'),
      { ...result('look', '1'), toolCallId: 'a' },
    ]
    expect(groups(messages)).toEqual([[0, 4], [1, 2], [3]])
  })

  it('a result without an id with a call that has one, and the other way round', () => {
    expect(groups([{ ...call('look'), toolCallId: 'a' }, result('look', 'r')])).toEqual([[0, 1]])
    expect(groups([call('look'), { ...result('look', 'r'), toolCallId: 'a' }])).toEqual([[0, 1]])
  })

  it('no ids that disagree', () => {
    const messages = [
      { ...call('look'), toolCallId: 'a' },
      { ...result('look', 'r'), toolCallId: 'b' },
    ]
    expect(groups(messages)).toEqual([[0], [1]])
  })

  it('OpenAI’s form, and flat and neutral messages side by side [S3-139]', () => {
    const messages = [
      {
        role: 'assistant',
        content: null as unknown as string,
        tool_calls: [{ id: 'x', type: 'function', function: { name: 'look', arguments: '{"path":"a.ts"}' } }],
      },
      { role: 'tool', content: 'r', tool_call_id: 'x' },
      {
        role: 'assistant',
        content: [{ type: 'tool-call' as const, toolCallId: 'y', toolName: 'look', input: {} }],
      },
      {
        role: 'tool',
        content: [
          { type: 'tool-result' as const, toolCallId: 'y', output: { type: 'text' as const, value: 'r' } },
        ],
      },
      call('look'),
      result('look', 'r'),
    ]
    expect(groups(messages)).toEqual([
      [0, 1],
      [2, 3],
      [4, 5],
    ])
    expect(rowsOf(messages, '', 'test').view.rows[0]!.calls[0]).toMatchObject({ name: 'look', path: 'a.ts' })
  })
})

it('knows the roles and refuses others [S3-139]', () => {
  const roles = ['system', 'user', 'assistant', 'tool_call', 'tool_result', 'tool', 'developer']
  const rows = rowsOf(
    roles.map((role) => ({ role, content: 'x' })),
    '',
    'test',
  ).view.rows
  expect(rows.map(({ role }) => role)).toEqual([
    'system',
    'user',
    'assistant',
    'assistant',
    'tool',
    'tool',
    'system',
  ])
  const refused = expect.objectContaining({ code: 'INVALID_INPUT' })
  expect(() => rowsOf([{ role: 'narrator', content: 'x' }], '', 'test')).toThrow(refused)
  expect(() => rowsOf([{ role: 'user', content: 7 as never }], '', 'test')).toThrow(refused)
  expect(() => rowsOf([{ role: 'user', content: [{ type: 'tool_use' }] as never }], '', 'test')).toThrow(
    refused,
  )
})

it('counts as estimateMessagesTokens does, and the arguments of a flat call besides', () => {
  const flat = [user('hello there'), call('look'), result('look', 'found it'), assistant('done')]
  expect(rowsOf(flat, 'anthropic', 'test').view.tokens).toBe(estimateMessagesTokens(flat, 'anthropic'))
  const bare = rowsOf([call('look')], '', 'test').view.rows[0]!.sizes
  expect(bare.toolCalls).toBe(0)
  // "look" is one unit, {"path":"a.ts"} is 15 characters: four units.
  expect(rowsOf([call('look', { path: 'a.ts' })], '', 'test').view.rows[0]!.sizes.toolCalls).toBe(5)
})

it('takes the arguments of a flat call from args, input, or a content that spells an object', () => {
  const path = (message: Parameters<typeof rowsOf>[0][number]): string | undefined =>
    rowsOf([message], '', 'test').view.rows[0]!.calls[0]!.path
  expect(path(call('read_file', { path: 'a.ts' }))).toBe('a.ts')
  expect(path({ role: 'tool_call', content: '', tool: 'read_file', input: { path: 'a.ts' } })).toBe('a.ts')
  expect(path({ role: 'tool_call', content: '{"path":"a.ts"}', tool: 'read_file' })).toBe('a.ts')
  expect(path({ role: 'tool_call', content: '{no json', tool: 'read_file' })).toBeUndefined()
  const date = { path: 'a.ts', at: new Date(0) }
  expect(path(call('read_file', date))).toBe('a.ts')
})
