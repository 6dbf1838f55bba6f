import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { countRows } from '../../src/core/model/coverage.ts'
import {
  hiderOf,
  newestByPart,
  publicPoint,
  rowsAt,
  statesAfter,
  type Transition,
} from '../../src/core/model/moment.ts'

type Range = readonly [from: number, to: number]

const row = (ordinal: number) => ({ ordinal, anchor: 1 })
const hides = (no: number, positions: readonly Range[], ordinals: readonly number[] = [], own?: number) => ({
  no,
  coverage: {
    hidden: { positions, inserted: ordinals.map(row) },
    ...(own !== undefined && { inserted: row(own) }),
  } as never,
})

it('the state of a compaction is that of its last transition up to an entry', () => {
  const transitions: Transition[] = [
    { no: 2, compaction: 1, event: 'created' },
    { no: 4, compaction: 2, event: 'created' },
    { no: 5, compaction: 1, event: 'undone' },
    { no: 9, compaction: 1, event: 'redone' },
  ]
  const at = (audit: number): unknown => [...statesAfter(transitions, audit)]
  expect(at(1)).toEqual([])
  expect(at(2)).toEqual([[1, true]])
  expect(at(4)).toEqual([
    [1, true],
    [2, true],
  ])
  expect(at(8)).toEqual([
    [1, false],
    [2, true],
  ])
  expect(at(9)).toEqual(at(4))
})

describe('the rows of a view', () => {
  it('are the messages up to a position and inserted rows, without those that are hidden', () => {
    const inForce = [hides(1, [[1, 4]], [], 0), hides(2, [[6, 6]], [0], 1)]
    expect(rowsAt(inForce, 8)).toEqual({
      positions: [
        [5, 5],
        [7, 8],
      ],
      inserted: [row(1)],
    })
    expect(rowsAt([], 0)).toEqual({ positions: [], inserted: [] })
  })

  it('are those that no compaction hides', () => {
    const spans = fc.array(fc.tuple(fc.nat(3), fc.integer({ min: 1, max: 3 })), { maxLength: 6 })
    fc.assert(
      fc.property(spans, fc.nat(40), (lengths, last) => {
        let next = 1
        const inForce = lengths.map(([gap, length], no) => {
          const from = next + gap
          next = from + length
          return hides(no, [[from, next - 1]])
        })
        const hider = hiderOf(inForce)
        const positions = Array.from({ length: last }, (_, at) => at + 1)
        const visible = positions.filter((position) => hider({ position, ordinal: 0 }) === undefined)
        expect(countRows(rowsAt(inForce, last))).toBe(visible.length)
      }),
    )
  })

  it('have the compaction that hides them, inserted ones too', () => {
    const spread: readonly Range[] = [
      [2, 3],
      [7, 7],
    ]
    const hider = hiderOf([hides(1, spread), hides(2, [[5, 6]], [4])])
    const at = (position: number | null, ordinal = 0) => hider({ position, ordinal })?.no
    const none = undefined
    expect([1, 2, 3, 4, 5, 6, 7, 8].map((position) => at(position))).toEqual([
      none,
      1,
      1,
      none,
      2,
      2,
      1,
      none,
    ])
    expect([at(null, 4), at(null, 5)]).toEqual([2, none])
  })
})

it('the newest replacement of each part counts, in order of parts', () => {
  const of = (part: number, compaction: number) => ({ part, compaction })
  expect(newestByPart([of(3, 1), of(0, 5), of(3, 4), of(0, 2)])).toEqual([of(0, 5), of(3, 4)])
})

it('a point has its public names', () => {
  expect(publicPoint({ position: 3, audit: 7 })).toEqual({ position: 3, auditNo: 7 })
})
