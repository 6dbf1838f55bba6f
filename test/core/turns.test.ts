import { expect, it } from 'vitest'
import type { Part, Role } from '../../src/core/messages/message.ts'
import { indexMessage } from '../../src/core/model/message-parts.ts'
import { Turns } from '../../src/core/model/tool-groups.ts'
import type { ViewRow } from '../../src/core/model/view-row.ts'
import { neurolinkEstimator } from '../../src/core/tokens/measure.ts'
import { growth } from '../support/growth.ts'

const call = (id: string): Part => ({ type: 'tool-call', toolCallId: id, toolName: 't', input: {} })
const result = (id: string): Part => ({
  type: 'tool-result',
  toolCallId: id,
  output: { type: 'text', value: 'v' },
})
const says: Part = { type: 'text', text: 'four' }
const thinks: Part = { type: 'reasoning', text: 'four' }

function turnsOf(...messages: readonly (readonly [Role, ...Part[]])[]): Turns {
  return new Turns(
    messages.map(([role, ...content], at): ViewRow => {
      const index = indexMessage({ content }, neurolinkEstimator)
      const place = { key: at, id: `m${at}`, kind: 'message', position: at, anchor: at, ordinal: 0 } as const
      return { ...place, ...index, role, pinned: false, shown: [] }
    }),
  )
}

it.each<[string, readonly (readonly [Role, ...Part[]])[], number[]]>([
  [
    'two messages of calls, none answered',
    [
      ['user', says],
      ['assistant', call('c1')],
      ['assistant', call('c2')],
    ],
    [1, 2],
  ],
  [
    'two messages of calls, the second answered',
    [
      ['user', says],
      ['assistant', call('c1')],
      ['assistant', call('c2')],
      ['tool', result('c2')],
    ],
    [1],
  ],
  [
    'a call that speaks, and further calls behind it',
    [
      ['assistant', says, call('c1')],
      ['assistant', says, call('c2')],
      ['tool', result('c2')],
    ],
    [0],
  ],
  [
    'half a batch answered',
    [
      ['assistant', call('c1'), call('c2')],
      ['tool', result('c2')],
    ],
    [0, 1],
  ],
  [
    'a request behind it',
    [
      ['assistant', call('c1')],
      ['user', says],
    ],
    [0],
  ],
  [
    'nothing, once a request behind it is answered: the model went on without the result',
    [
      ['assistant', call('c1'), call('c2')],
      ['tool', result('c2')],
      ['user', says],
      ['assistant', call('c3')],
      ['tool', result('c3')],
    ],
    [],
  ],
  [
    'only the calls since the last answered request',
    [
      ['assistant', call('c1')],
      ['user', says],
      ['assistant', call('c2')],
      ['user', says],
      ['assistant', thinks],
    ],
    [2],
  ],
  [
    'an answer behind it',
    [
      ['assistant', call('c1')],
      ['assistant', says],
    ],
    [0],
  ],
  [
    // Some formats give reasoning a message of its own: it says nothing of what the model does next.
    'reasoning behind it',
    [
      ['assistant', call('c1')],
      ['assistant', thinks],
    ],
    [0],
  ],
  [
    'an answer behind it, and another call',
    [
      ['assistant', call('c1')],
      ['assistant', says],
      ['assistant', call('c2')],
    ],
    [0, 2],
  ],
  [
    'a result the provider ran behind it',
    [
      ['assistant', call('c1')],
      ['assistant', result('x')],
    ],
    [0],
  ],
  [
    'a system message behind it',
    [
      ['assistant', call('c1')],
      ['system', says],
    ],
    [0],
  ],
  [
    'a late result behind it',
    [
      ['assistant', call('c1')],
      ['user', says],
      ['tool', result('c1')],
    ],
    [],
  ],
  [
    'the loop that its reasoning needs while it is open',
    [
      ['user', says],
      ['assistant', thinks, call('c1')],
      ['tool', result('c1')],
      ['assistant', call('c2'), call('c3')],
      ['tool', result('c3')],
      ['assistant', call('c4')],
      ['tool', result('c4')],
    ],
    [1, 2, 3, 4, 5, 6],
  ],
  [
    // The reasoning of a finished loop is not needed, so one call does not keep the loop.
    'only its own batch, with the reasoning before it, in a finished loop',
    [
      ['user', says],
      ['assistant', thinks, call('c1')],
      ['tool', result('c1')],
      ['assistant', thinks],
      ['assistant', call('c2'), call('c3')],
      ['tool', result('c3')],
      ['assistant', call('c4')],
      ['tool', result('c4')],
      ['user', says],
    ],
    [3, 4, 5],
  ],
])('pending: %s', (_, messages, pending) => {
  expect([...turnsOf(...messages).pending].sort((a, b) => a - b)).toEqual(pending)
})

it.each<[string, readonly (readonly [Role, ...Part[]])[], number[]]>([
  [
    'reasoning in a row of its own goes with the calls behind it',
    [
      ['user', says],
      ['assistant', thinks],
      ['assistant', call('c1')],
      ['tool', result('c1')],
      ['assistant', says],
    ],
    [0, 1, 4, 5],
  ],
  [
    'and with the words behind it',
    [
      ['user', says],
      ['assistant', thinks],
      ['assistant', says],
    ],
    [0, 1, 3],
  ],
  [
    'a loop that begins without reasoning is cut up to the first',
    [
      ['user', says],
      ['assistant', call('c1')],
      ['tool', result('c1')],
      ['assistant', thinks],
      ['assistant', call('c2')],
      ['tool', result('c2')],
    ],
    [0, 1, 3, 6],
  ],
  [
    'reasoning behind a loop goes with the answer, not with the loop',
    [
      ['user', says],
      ['assistant', thinks],
      ['assistant', call('c1')],
      ['tool', result('c1')],
      ['assistant', thinks],
      ['assistant', says],
    ],
    [0, 1, 4, 6],
  ],
  [
    'a row that says nothing parts no loop',
    [
      ['user', says],
      ['assistant', thinks, call('c1')],
      ['tool', result('c1')],
      ['tool'],
      ['assistant', call('c2')],
      ['tool', result('c2')],
      ['assistant', says],
    ],
    [0, 1, 6, 7],
  ],
])('legal cuts: %s', (_, messages, cuts) => {
  expect(turnsOf(...messages).legalCuts()).toEqual(cuts)
})

it('an open loop begins with its reasoning', () => {
  expect(turnsOf(['user', says], ['assistant', thinks], ['assistant', call('c1')]).openLoop).toBe(1)
  expect(turnsOf(['user', says], ['assistant', thinks], ['assistant', says]).openLoop).toBe(3)
})

it('a block that only its provider reads ends a loop, though other providers do not read it', () => {
  const block: ViewRow = {
    ...{
      key: 9,
      id: 'block',
      kind: 'summary',
      role: 'assistant',
      position: undefined,
      anchor: 1,
      ordinal: 1,
    },
    ...indexMessage({ content: [] }, neurolinkEstimator),
    ...{ pinned: false, shown: [] },
  }
  const { rows } = turnsOf(
    ['assistant', thinks, call('c1')],
    ['tool', result('c1')],
    ['assistant', thinks, call('c2')],
  )
  const turns = new Turns([...rows.slice(0, 2), block, ...rows.slice(2)])
  expect(turns.openLoop).toBe(3)
  expect(turns.isLegalCut(2)).toBe(true)
})

it('a row that a compaction inserted counts as a request behind a call: it may stand for one', () => {
  const { rows } = turnsOf(['user', says], ['assistant', call('c1')], ['user', says], ['assistant', says])
  const marker: ViewRow = { ...rows[2]!, kind: 'marker', position: undefined, role: 'system' }
  expect([...new Turns([...rows.slice(0, 2), marker, rows[3]!]).pending]).toEqual([])
  expect([...new Turns([...rows.slice(0, 2), marker]).pending]).toEqual([1])
})

it('unanswered calls in one loop, and calls in one row, take linear time', () => {
  const inOneLoop = (size: number): void => {
    const loop = Array.from({ length: size }, (_, at) => ['assistant', thinks, call(`c${at}`)] as const)
    expect(turnsOf(...loop).pending.size).toBe(size)
  }
  const inOneRow = (size: number): void => {
    const ids = Array.from({ length: size }, (_, at) => `c${at}`)
    const batch = turnsOf(['assistant', ...ids.map(call)], ['tool', ...ids.map(result)])
    expect(ids.every((id, part) => batch.callOf(1, part)?.id === id)).toBe(true)
  }
  expect(growth(inOneLoop, 3_000)).toBeLessThan(3)
  expect(growth(inOneRow, 3_000)).toBeLessThan(3)
})

it('knows the call of a result, and none for a result without', () => {
  const turns = turnsOf(['assistant', call('c1'), call('c2')], ['tool', result('c2'), result('c3')])
  expect(turns.callOf(1, 0)).toMatchObject({ id: 'c2', part: 1, row: 0 })
  expect(turns.callOf(1, 1)).toBeUndefined()
})
