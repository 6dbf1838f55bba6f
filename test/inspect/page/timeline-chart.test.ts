import { describe, expect, it } from 'vitest'
import {
  type ChartPoint,
  edgesOf,
  happeningsOf,
  indexAt,
  indexIn,
  layersOf,
  markLabel,
  marksOf,
  slotOf,
  stackOf,
  stepsOf,
  ticksOf,
  topOf,
} from '../../../src/inspect/page/timeline-chart.ts'
import { sumOf } from '../../../src/inspect/page/tokens.ts'
import type { AuditEntry, Compaction } from '../../../src/storage/storage.ts'

const SIZES = {
  ...{ text: 30, reasoning: 0, toolCalls: 10, toolResults: 60, media: 0 },
  ...{ images: 2, mediaBytes: 500, largeImages: 0 },
}

const point = (answer: number | undefined, auditNo: number, time = 0): ChartPoint => ({
  ...(answer !== undefined && { answer }),
  ...{ position: (answer ?? 100) - 1, auditNo, time, rows: 3, sizes: SIZES, tokens: 100 },
})
const POINTS = [point(2, 0), point(4, 0), point(8, 3), point(undefined, 5)]

describe('the point of an address', () => {
  it('is the first answer at or after a position', () => {
    expect(indexIn(POINTS, { position: '4' })).toBe(1)
    expect(indexIn(POINTS, { position: '5' })).toBe(2)
  })

  it('is the first point at which an entry of the audit is in force', () => {
    expect(indexIn(POINTS, { audit: '3' })).toBe(2)
    expect(indexIn(POINTS, { audit: '4' })).toBe(3)
  })

  it('is the last one without a place, and for a place that does not exist', () => {
    expect(indexIn(POINTS, {})).toBe(3)
    expect(indexIn(POINTS, { position: 'x' })).toBe(3)
    expect(indexIn(POINTS, { audit: '99' })).toBe(3)
  })
})

describe('the figures of a point', () => {
  it('add up to its tokens, corrected, and the parts besides the history', () => {
    const stack = stackOf(point(2, 0), 'tokens', { ratio: 2, fixed: { system: 7 } })
    expect(stack).toMatchObject({ text: 60, toolCalls: 20, toolResults: 120, system: 7 })
    expect(sumOf(stack)).toBe(207)
  })

  it('are images, or bytes, on the other scales', () => {
    expect(stackOf(point(2, 0), 'images', { ratio: 2, fixed: { system: 7 } })).toEqual({ media: 2 })
    expect(stackOf(point(2, 0), 'bytes', { ratio: 2, fixed: {} })).toEqual({ media: 500 })
  })
})

describe('the bands of the axis', () => {
  it('are equally wide by answer, one for a single point', () => {
    expect(edgesOf([10, 20, 90, 91], 'answers', 200)).toEqual([0, 50, 100, 150, 200])
    expect(edgesOf([10], 'answers', 200)).toEqual([0, 200])
    expect(edgesOf([], 'answers', 200)).toEqual([])
  })

  it('end halfway between the times of two points', () => {
    // The times 0, 50 and 100 are at 6, 56 and 106 of 112.
    expect(edgesOf([0, 50, 100], 'time', 112)).toEqual([0, 31, 81, 112])
  })

  it('never go back if a later message has an earlier time, and are even if all times are equal', () => {
    // The second time counts as 100: the centers are 6, 106 and 106.
    expect(edgesOf([0, 100, 50], 'time', 112)).toEqual([0, 56, 106, 112])
    expect(edgesOf([5, 5], 'time', 100)).toEqual([0, 50, 100])
  })

  it('contain each place of the axis once', () => {
    const edges = [0, 50, 100, 150]
    expect([-5, 0, 49.9, 50, 120, 150, 999].map((x) => indexAt(edges, x))).toEqual([0, 0, 0, 1, 2, 2, 2])
  })

  it('take 5,000 points', () => {
    const times = Array.from({ length: 5_000 }, (_, at) => at)
    const edges = edgesOf(times, 'time', 1_000)
    expect(edges).toHaveLength(5_001)
    expect(indexAt(edges, 1_000)).toBe(4_999)
  })
})

/** The corners of a path, without repeated ones. */
function corners(path: string): string[] {
  const all = path.replace('Z', '').split(/[ML]/).slice(1)
  return all.filter((corner, at) => corner !== all[at - 1])
}

describe('the areas', () => {
  it('are stacked from the bottom in steps, without empty categories', () => {
    const layers = layersOf([{ system: 10, text: 30 }, { text: 20 }], [0, 50, 100], {
      height: 100,
      most: 100,
    })
    expect(layers.map(({ category, path }) => [category, corners(path)])).toEqual([
      ['system', ['0,90', '50,90', '50,100', '100,100', '50,100', '0,100']],
      ['text', ['0,60', '50,60', '50,80', '100,80', '100,100', '50,100', '50,90', '0,90']],
    ])
  })

  it('of a single point have its whole width', () => {
    const [layer] = layersOf([{ text: 50 }], [0, 200], { height: 100, most: 100 })
    expect(corners(layer!.path)).toEqual(['0,50', '200,50', '200,100', '0,100'])
  })

  it('have lines that end with the last figure before a gap', () => {
    const size = { height: 100, most: 100 }
    expect(corners(stepsOf([50, undefined], [0, 10, 20], size))).toEqual(['0,50', '10,50'])
    expect(corners(stepsOf([50, 25], [0, 10, 20], size))).toEqual(['0,50', '10,50', '10,75', '20,75'])
  })
})

describe('the height', () => {
  it('includes the window unless the usage is asked for', () => {
    expect(topOf({ used: 10, log: 0, limit: 100, fit: 'window' })).toBeCloseTo(106)
    expect(topOf({ used: 10, log: 0, limit: 100, fit: 'usage' })).toBeCloseTo(10.6)
  })

  it('includes the log without compaction up to twice the rest', () => {
    expect(topOf({ used: 100, log: 200, limit: undefined, fit: 'window' })).toBeCloseTo(212)
    expect(topOf({ used: 100, log: 201, limit: undefined, fit: 'window' })).toBeCloseTo(106)
  })

  it('is divided at whole figures', () => {
    expect(ticksOf(100, 4)).toEqual([0, 20, 40, 60, 80, 100])
    expect(ticksOf(2, 4)).toEqual([0, 1, 2])
  })
})

const compaction = (id: string, fields: Partial<Compaction> = {}): Compaction =>
  ({
    ...{
      id,
      kind: 'condense',
      status: 'active',
      trigger: 'auto',
      params: {},
      rowsHidden: 4,
      partsReplaced: 0,
    },
    ...{ rowsInserted: 1, tokensBefore: 900, tokensAfter: 400, coverage: {} },
    ...fields,
  }) as unknown as Compaction

const entry = (no: number, event: string, compactionId?: string): AuditEntry =>
  ({ no, event, at: no, compactionId }) as AuditEntry

describe('events', () => {
  const compactions = [
    compaction('s'),
    compaction('o', { kind: 'prune', trigger: 'overflow' }),
    compaction('r', { kind: 'repair', trigger: 'refusal' }),
    compaction('w', { kind: 'manual', coverage: { rewinds: true } as never }),
  ]

  it('are compactions by kind, rewinds, overflows, repairs, undos and failures', () => {
    const audit = [
      entry(1, 'created', 's'),
      entry(2, 'created', 'o'),
      entry(3, 'created', 'r'),
      entry(4, 'created', 'w'),
      entry(5, 'undone', 's'),
      entry(6, 'redone', 's'),
      entry(7, 'failed', 's'),
      entry(8, 'forked'),
    ]
    expect(happeningsOf(audit, compactions).map(({ no, kind, sign }) => [no, kind, sign])).toEqual([
      [1, 'compaction', 'S'],
      [2, 'refusal', '!'],
      [3, 'repair', 'R'],
      [4, 'rewind', '«'],
      [5, 'undone', '↶'],
      [6, 'redone', '↷'],
      [7, 'failed', '✕'],
      [8, 'other', '•'],
    ])
  })

  it('are neither pins nor the entries of a run as a whole', () => {
    expect(
      happeningsOf([entry(1, 'pinned'), entry(2, 'run undone'), entry(3, 'started', 's')], compactions),
    ).toEqual([])
  })

  it('are before the first point in which they are in force', () => {
    expect([0, 1, 3, 4, 6].map((no) => slotOf(POINTS, no))).toEqual([0, 2, 2, 3, 4])
  })

  it('are merged if they would overlap, and stay within the axis', () => {
    const happenings = happeningsOf(
      [
        entry(1, 'created', 's'),
        entry(2, 'created', 'o'),
        entry(4, 'created', 'w'),
        entry(9, 'created', 'r'),
      ],
      compactions,
    )
    const edges = [0, 100, 200, 300, 400]
    const marks = marksOf(happenings, POINTS, edges, 20)
    expect(marks.map(({ x, happenings: all }) => [x, all.map(({ no }) => no)])).toEqual([
      [200, [1, 2]],
      [300, [4]],
      [390, [9]],
    ])
    expect(markLabel(marks[1]!)).toBe('Rewind: 4 rows hidden, 1 row written, −500 tokens')
    expect(markLabel(marks[0]!)).toMatch(
      /^2 events: Summarized: .*; Pruned old tool outputs: .*after an overflow$/,
    )
    expect(marksOf(happenings, POINTS, edges, 150)).toHaveLength(2)
  })
})
