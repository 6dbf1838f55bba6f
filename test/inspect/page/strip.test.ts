import { describe, expect, it } from 'vitest'
import { bucketsOf, countsOf, segmentsOf } from '../../../src/inspect/page/strip.ts'
import type { Compaction } from '../../../src/storage/storage.ts'

type Given = Partial<Pick<Compaction, 'kind' | 'status'>> & {
  readonly hides?: readonly (readonly [number, number])[]
  readonly replaces?: readonly number[]
}

function compaction(
  id: string,
  { kind = 'prune', status = 'active', hides = [], replaces = [] }: Given,
): Compaction {
  return {
    ...{ id, kind, status },
    coverage: { hidden: { positions: hides, inserted: [] } },
    replaced: replaces.map((position) => ({ messageId: `m${position}`, position, part: 0 })),
  } as unknown as Compaction
}

describe('the segments of a session', () => {
  it('cover every position once, by what compactions in force do', () => {
    const segments = segmentsOf(
      [
        compaction('p', { replaces: [2, 6, 7] }),
        compaction('s', { kind: 'condense', hides: [[1, 3]] }),
        compaction('t', { kind: 'truncate', hides: [[9, 9]] }),
        compaction('h', { kind: 'manual', hides: [[10, 11]] }),
      ],
      12,
    )
    expect(segments).toEqual([
      { from: 1, to: 3, effect: 'summarized', compactionId: 's' },
      { from: 4, to: 5, effect: 'kept' },
      { from: 6, to: 7, effect: 'replaced', compactionId: 'p' },
      { from: 8, to: 8, effect: 'kept' },
      { from: 9, to: 9, effect: 'truncated', compactionId: 't' },
      { from: 10, to: 11, effect: 'byHand', compactionId: 'h' },
      { from: 12, to: 12, effect: 'kept' },
    ])
    expect(countsOf(segments)).toEqual({ kept: 4, replaced: 2, summarized: 3, truncated: 1, byHand: 2 })
  })

  it('ignore compactions that are undone or failed', () => {
    const segments = segmentsOf(
      [
        compaction('a', { kind: 'condense', status: 'undone', hides: [[1, 2]] }),
        compaction('b', { kind: 'condense', status: 'failed', hides: [[1, 2]] }),
      ],
      2,
    )
    expect(segments).toEqual([{ from: 1, to: 2, effect: 'kept' }])
  })

  it('name the later of two compactions that replace the same message', () => {
    const both = [compaction('a', { replaces: [1] }), compaction('b', { replaces: [1] })]
    expect(segmentsOf(both, 1)).toEqual([{ from: 1, to: 1, effect: 'replaced', compactionId: 'b' }])
  })

  it('don’t exist in an empty session', () => {
    expect(segmentsOf([], 0)).toEqual([])
  })
})

describe('the columns of the bar', () => {
  it('are the segments while there is room for them', () => {
    const segments = segmentsOf([compaction('s', { kind: 'condense', hides: [[1, 3]] })], 4)
    expect(bucketsOf(segments, 2)).toEqual([
      { from: 1, to: 3, shares: [{ effect: 'summarized', share: 1 }], compactionId: 's' },
      { from: 4, to: 4, shares: [{ effect: 'kept', share: 1 }] },
    ])
  })

  it('otherwise have the shares of their states, and the compaction of most positions', () => {
    // 1 and 3 are replaced by a, 5 by a and 7 and 8 by b.
    const segments = segmentsOf(
      [compaction('a', { replaces: [1, 3, 5] }), compaction('b', { replaces: [7, 8] })],
      8,
    )
    expect(bucketsOf(segments, 2)).toEqual([
      {
        ...{ from: 1, to: 4, compactionId: 'a' },
        shares: [
          { effect: 'replaced', share: 0.5 },
          { effect: 'kept', share: 0.5 },
        ],
      },
      {
        ...{ from: 5, to: 8, compactionId: 'b' },
        shares: [
          { effect: 'replaced', share: 0.75 },
          { effect: 'kept', share: 0.25 },
        ],
      },
    ])
  })
})
