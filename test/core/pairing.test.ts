import { describe, expect, it } from 'vitest'
import { pairToolUse, type ToolUse, toolUseOf } from '../../src/core/messages/call-results.ts'

/** Rows from words: `+a` is a call with the id a, `-a` a result for it, `.` some other part. */
function rows(...words: readonly string[]): (ToolUse | undefined)[] {
  return words.map((word) => {
    const parts = word.split(' ').map((sign, part) => ({ sign: sign[0], part, id: sign.slice(1) }))
    const calls = parts.filter(({ sign }) => sign === '+').map(({ part, id }) => ({ part, id }))
    const results = parts.filter(({ sign }) => sign === '-').map(({ part, id }) => ({ part, id }))
    return calls.length + results.length === 0 ? undefined : { calls, results }
  })
}

/** A pairing in words: `1:0>2:0` is the call in row 1, part 0, and its result in row 2, part 0. */
function paired(...words: readonly string[]): { pairs: string[]; unanswered: string[]; orphans: string[] } {
  const { pairs, unanswered, orphans } = pairToolUse(rows(...words))
  const place = ({ row, part }: { row: number; part: number }): string => `${row}:${part}`
  return {
    pairs: pairs.map(({ call, result }) => `${place(call)}>${place(result)}`),
    unanswered: unanswered.map(place),
    orphans: orphans.map(({ result, duplicateOf }) =>
      duplicateOf === undefined ? place(result) : `${place(result)}=${place(duplicateOf)}`,
    ),
  }
}

describe('pairToolUse', () => {
  it.each([
    { name: 'nothing', list: [], pairs: [] },
    { name: 'a call and its result', list: ['+a', '-a'], pairs: ['0:0>1:0'] },
    {
      name: 'parallel calls, results in another order',
      list: ['+a +b', '-b -a'],
      pairs: ['0:1>1:0', '0:0>1:1'],
    },
    { name: 'a late result', list: ['+a', '.', '-a'], pairs: ['0:0>2:0'] },
    { name: 'an id that repeats', list: ['+a', '-a', '+a', '-a'], pairs: ['0:0>1:0', '2:0>3:0'] },
    {
      name: 'two results in a row, nearest call first',
      list: ['+a', '+a', '-a', '-a'],
      pairs: ['1:0>2:0', '0:0>3:0'],
    },
    { name: 'one id twice in a batch, in order', list: ['+a +a', '-a', '-a'], pairs: ['0:0>1:0', '0:1>2:0'] },
    { name: 'call and result in one row', list: ['. +a . -a'], pairs: ['0:1>0:3'] },
    {
      name: 'the call beside it before one further away',
      list: ['+a', '+a -a'],
      pairs: ['1:0>1:1'],
      open: ['0:0'],
    },
    { name: 'the nearest call in its own row', list: ['+a +a -a', '-a'], pairs: ['0:1>0:2', '0:0>1:0'] },
    {
      name: 'a result before the call in its row',
      list: ['-a +a'],
      pairs: [],
      open: ['0:1'],
      orphans: ['0:0'],
    },
    { name: 'a result without a call', list: ['-a', '+a'], pairs: [], open: ['1:0'], orphans: ['0:0'] },
    { name: 'another id', list: ['+a', '-b'], pairs: [], open: ['0:0'], orphans: ['1:0'] },
    { name: 'a second result', list: ['+a', '-a', '-a'], pairs: ['0:0>1:0'], orphans: ['2:0=0:0'] },
    {
      name: 'a second result, of the most recent call with its id',
      list: ['+a', '-a', '+a', '-a', '-a'],
      pairs: ['0:0>1:0', '2:0>3:0'],
      orphans: ['4:0=2:0'],
    },
    {
      name: 'calls nobody answered, in their order',
      list: ['+b +a', '-b', '+c'],
      pairs: ['0:0>1:0'],
      open: ['0:1', '2:0'],
    },
    {
      name: 'ids that are names of objects',
      list: ['+__proto__', '-__proto__', '-constructor'],
      pairs: ['0:0>1:0'],
      orphans: ['2:0'],
    },
  ])('pairs $name', ({ list, pairs, open = [], orphans = [] }) => {
    expect(paired(...list)).toEqual({ pairs, unanswered: open, orphans })
  })

  it('stays linear when one id is used over and over', () => {
    const list = rows(...Array.from({ length: 100_000 }, (_, n) => (n < 50_000 ? '+a' : '-a')))
    const { pairs } = pairToolUse(list)
    expect(pairs[0]).toMatchObject({ call: { row: 49_999 }, result: { row: 50_000 } })
    expect(pairs.at(-1)).toMatchObject({ call: { row: 0 }, result: { row: 99_999 } })
  })
})

describe('toolUseOf', () => {
  it('finds calls and results among the parts', () => {
    expect(
      toolUseOf([
        { type: 'text', text: 'hi' },
        { type: 'tool-call', toolCallId: 'a', toolName: 'look', input: null },
        { type: 'tool-result', toolCallId: 'a', output: { type: 'text', value: 'ok' } },
      ]),
    ).toEqual({ calls: [{ part: 1, id: 'a' }], results: [{ part: 2, id: 'a' }] })
  })

  it('returns that there are none', () => {
    expect(toolUseOf([{ type: 'text', text: 'hi' }])).toBeUndefined()
  })
})
