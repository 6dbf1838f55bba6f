import { describe, expect, it } from 'vitest'
import { NO_ROWS } from '../../src/core/model/coverage.ts'
import type { Transition } from '../../src/core/model/moment.ts'
import {
  entriesBefore,
  evenly,
  requestsAnswered,
  type SizedCompaction,
  type SizedRow,
  sizesAt,
} from '../../src/core/model/timeline.ts'
import { NO_SIZES } from '../../src/core/tokens/measure.ts'

const row = (text: number, isSent = true): SizedRow => ({ sizes: { ...NO_SIZES, text }, isSent })

/** Messages of 1, 10, 100 and 1,000 units at positions 1 to 4; the third shows 60 units less, and the second is silent. */
const LOG = [row(1), row(10, false), row(40), row(1_000)]
const SUMMARY = row(5)

const compaction = (no: number, more: Partial<SizedCompaction>): SizedCompaction => ({
  ...{
    no,
    isActive: true,
    coverage: { hidden: NO_ROWS, inserted: undefined },
    replaced: [],
    early: undefined,
  },
  ...more,
})
const shortening = (saved: number) => [{ row: LOG[2]!, part: 0, saved: { ...NO_SIZES, text: saved } }]
const entry = (no: number, compaction: number, event: Transition['event'] = 'created'): Transition => ({
  ...{ no, compaction, event },
})

const HISTORY = {
  log: [undefined, ...LOG],
  inserted: new Map([[1, SUMMARY]]),
  compactions: [
    compaction(1, {
      coverage: {
        hidden: { positions: [[1, 2]], inserted: [] },
        inserted: { anchor: 2, ordinal: 1 },
      },
    }),
    // Two texts in place of one part: the newer one is shown.
    compaction(2, { replaced: shortening(90) }),
    compaction(3, { replaced: shortening(60) }),
  ],
  transitions: [
    entry(10, 1),
    entry(20, 2),
    entry(30, 3),
    entry(40, 1, 'undone'),
    entry(50, 3, 'undone'),
    entry(60, 3, 'redone'),
    entry(70, 1, 'redone'),
  ],
}

const at = (position: number, audit: number) => ({ position, audit })
const short = (points: Parameters<typeof sizesAt>[1], history: Parameters<typeof sizesAt>[0] = HISTORY) =>
  sizesAt(history, points).map(({ view, log }) => [view.rows, view.sizes.text, log.rows, log.sizes.text])

describe('the sizes of the view', () => {
  it('follow the log and the transitions, and the log has its original sizes', () => {
    expect(
      short([
        at(0, 0),
        at(2, 0),
        at(2, 10),
        at(3, 10),
        at(3, 20),
        at(3, 30),
        at(4, 40),
        at(4, 50),
        at(4, 70),
      ]),
    ).toEqual([
      [0, 0, 0, 0],
      [1, 11, 1, 11],
      [1, 5, 1, 11],
      [2, 105, 2, 111],
      [2, 15, 2, 111],
      [2, 45, 2, 111],
      [3, 1_051, 3, 1_111],
      [3, 1_021, 3, 1_111],
      [3, 1_045, 3, 1_111],
    ])
  })

  it('are the same in any order of points', () => {
    const points = [0, 1, 2, 3, 4].flatMap((position) =>
      [0, 10, 25, 30, 45, 55, 60, 99].map((audit) => at(position, audit)),
    )
    const all = short(points)
    expect(short(points.toReversed()).toReversed()).toEqual(all)
    for (const [index, point] of points.entries()) expect(short([point])).toEqual([all[index]])
    const shuffled = points.map((_, index) => (index * 17) % points.length)
    expect(short(shuffled.map((index) => points[index]!))).toEqual(shuffled.map((index) => all[index]))
  })

  it('count compactions that the audit has no entry of, from a position on', () => {
    const history = {
      ...HISTORY,
      compactions: [
        compaction(1, {
          coverage: { hidden: { positions: [[1, 2]], inserted: [] }, inserted: undefined },
          early: { position: 3, audit: Number.POSITIVE_INFINITY },
        }),
        compaction(3, { replaced: shortening(60), early: { position: 3, audit: 30 } }),
      ],
      transitions: [entry(30, 3), entry(40, 3, 'undone')],
    }
    expect(short([at(2, 0), at(3, 0), at(3, 30), at(3, 40), at(2, 40)], history)).toEqual([
      [1, 11, 1, 11],
      [1, 40, 2, 111],
      [1, 40, 2, 111],
      [1, 100, 2, 111],
      [1, 11, 1, 11],
    ])
  })

  it('skip rows that are missing, and compactions that are', () => {
    const history = { ...HISTORY, log: [undefined, LOG[0], undefined, LOG[2]], inserted: new Map() }
    expect(short([at(4, 10)], { ...history, transitions: [entry(1, 99), entry(10, 1)] })).toEqual([
      [1, 100, 2, 101],
    ])
  })
})

describe('the points of a timeline', () => {
  it('are at even distances', () => {
    const ten = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    expect(evenly(ten, 10)).toEqual(ten)
    expect(evenly(ten, 4)).toEqual([0, 3, 6, 9])
    expect(evenly(ten, 3)).toEqual([0, 5, 9])
    expect(evenly(ten, 2)).toEqual([0, 9])
    expect(evenly([], 2)).toEqual([])
  })

  it('have the last entry of the audit before each message, by number', () => {
    const entries = [
      ...[
        { no: 3, position: 0 },
        { no: 4, position: 2 },
        { no: 9, position: 2 },
      ],
      // Restored with an older position.
      ...[
        { no: 11, position: 1 },
        { no: 12, position: 5 },
      ],
    ]
    expect(entriesBefore(entries, [1, 2, 3, 5, 6])).toEqual([3, 11, 11, 11, 12])
    expect(entriesBefore([], [1, 2])).toEqual([0, 0])
  })

  it('have the request whose answer contains the message, where answers overlap the one that ends first', () => {
    const requests = [
      ...[
        { no: 1, first: 2, last: 2 },
        { no: 3, first: 4, last: 5 },
      ],
      ...[
        { no: 2, first: 3, last: 8 },
        { no: 4, first: 9, last: 9 },
      ],
    ]
    const numbers = requestsAnswered(requests, [1, 2, 3, 4, 5, 6, 9, 10]).map((one) => one?.no)
    expect(numbers).toEqual([undefined, 1, 2, 3, 3, 2, 4, undefined])
  })
})
