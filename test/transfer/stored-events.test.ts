import { expect, it } from 'vitest'
import type { PositionRange } from '../../src/core/messages/message.ts'
import { StoredEvents } from '../../src/transfer/import-conversations.ts'
import type { SourceEvent } from '../../src/transfer/source.ts'

const message = (content: unknown): SourceEvent => ({
  type: 'message',
  at: {},
  message: { role: 'user', content } as never,
})
const compaction = (...covers: PositionRange[]): SourceEvent => ({
  type: 'compaction',
  at: {},
  compaction: { id: 'c', kind: 'manual', covers },
})

/** What is covered in the end, where the messages of these ordinals cannot be stored. */
function covered(bad: readonly number[], ...covers: PositionRange[]): readonly PositionRange[] | undefined {
  const stored = new StoredEvents()
  for (let ordinal = 1; ordinal <= 6; ordinal++) stored.take(message(bad.includes(ordinal) ? 7 : 'x'))
  const event = stored.take(compaction(...covers))
  return event?.type === 'compaction' ? event.compaction.covers : undefined
}

it.each([
  [[], [[1, 3]], [[1, 3]]],
  [[1], [[1, 3]], [[1, 2]]],
  [[2], [[1, 3]], [[1, 2]]],
  [[3], [[1, 3]], [[1, 2]]],
  [
    [1, 4],
    [
      [2, 3],
      [5, 6],
    ],
    [
      [1, 2],
      [3, 4],
    ],
  ],
  [
    [2, 3],
    [
      [2, 3],
      [4, 4],
    ],
    [[2, 2]],
  ],
  [[6], [[1, 2]], [[1, 2]]],
] as const)('without %j, %j covers %j', (bad, covers, expected) => {
  expect(covered(bad, ...(covers as readonly PositionRange[]))).toEqual(expected)
})

it('passes on what the store takes, and nothing else', () => {
  const stored = new StoredEvents()
  const events: SourceEvent[] = [
    { type: 'fields', title: 't' },
    { type: 'problem', at: {}, why: 'x' },
    { type: 'note', at: {}, kind: 'kept', why: 'x' },
    message('hello'),
    message(7),
  ]
  expect(events.map((event) => stored.take(event)?.type)).toEqual([
    'fields',
    undefined,
    undefined,
    'message',
    undefined,
  ])
})
