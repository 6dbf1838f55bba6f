import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type Estimate,
  expectedTokens,
  isFarBelow,
  outlook,
  type Readings,
  ratioOf,
  recordReport,
} from '../../src/core/tokens/calibration.ts'

type Known = Pick<Readings, 'measurement' | 'calibration'>

const NONE = { samples: 0, measured: 0, estimated: 0 }
const NOTHING: Known = { measurement: undefined, calibration: undefined }

function estimate(history: number, standing = 0, pending = 0): Estimate {
  return { history, standing, pending }
}

function at(history: number, viewEpoch = 0) {
  return { viewEpoch, estimator: 'e', estimate: estimate(history) }
}

/** Reports of requests, one after the other: [estimated, reported, epoch]. */
function reported(...reports: readonly (readonly [number, number, number?])[]): Known {
  let known = NOTHING
  for (const [estimated, tokens, epoch] of reports)
    known = recordReport(known, { ...at(estimated, epoch), tokens, at: 1 })
  return known
}

function expected(known: Known, history: number, epoch = 0): number {
  return expectedTokens(outlook(known, at(history, epoch)), estimate(history))
}

describe('what is expected of a request', () => {
  it('is the estimate while nothing was reported', () => {
    expect(outlook(NOTHING, at(1_000))).toEqual({ unseen: 0, ratio: 1, source: 'estimated' })
  })

  it('is the report itself for the very request', () => {
    const known = reported([1_000, 1_400])
    expect(outlook(known, at(1_000))).toMatchObject({ source: 'measured' })
    expect(expected(known, 1_000)).toBe(1_400)
  })

  it('is the report and what was added since', () => {
    const known = reported([1_000, 1_400])
    expect(outlook(known, at(1_100))).toMatchObject({ source: 'measured+estimated' })
    expect(expected(known, 1_100)).toBe(1_500)
  })

  it('does not build on a report of another view, only on what it showed to be unseen', () => {
    // 200 of 1,200 were in no estimate; the view came down to 200.
    const known = reported([1_000, 1_200])
    expect(outlook(known, at(200, 1))).toEqual({ unseen: 200, ratio: 1, source: 'calibrated' })
    expect(expected(known, 200, 1)).toBe(400)
  })

  it('does not take a large surplus over a long history for unseen while no ratio is known', () => {
    // 90,000 more than estimated: of tools at most a quarter of 100,000, the rest is the model's own way of counting.
    const known = reported([100_000, 190_000])
    const same = outlook(known, at(100_000))
    expect(same).toEqual({ unseen: 25_000, ratio: 1.65, source: 'measured' })
    expect(expectedTokens(same, estimate(100_000))).toBe(190_000)
    expect(expected(known, 10_000, 1)).toBe(35_000)
    // Three reports that grow by 1.9 an estimated token tell the one from the other.
    const learnt = reported([100_000, 190_000], [101_000, 191_900], [102_000, 193_800], [103_000, 195_700])
    expect(outlook(learnt, at(10_000, 1)).unseen).toBeCloseTo(0)
    expect(expected(learnt, 10_000, 1)).toBeCloseTo(19_000)
  })

  it('does not build on another estimator', () => {
    const known = reported([1_000, 1_400])
    expect(outlook(known, { ...at(1_000), estimator: 'other' })).toMatchObject({ source: 'estimated' })
  })

  it('counts the fixed part of every request once, reported or not', () => {
    const told: Estimate = estimate(1_000, 300)
    // Reported without telling; 300 of what was unseen is told now.
    const known = reported([1_000, 1_400])
    const now = { viewEpoch: 0, estimator: 'e', estimate: told }
    expect(outlook(known, now)).toEqual({ unseen: 100, ratio: 1, source: 'measured' })
    // Told then and now: only the difference is new.
    const both = recordReport(NOTHING, { ...now, tokens: 1_500, at: 1 })
    expect(expectedTokens(outlook(both, now), told)).toBeCloseTo(1_500)
    const more = estimate(1_000, 350)
    expect(expectedTokens(outlook(both, { ...now, estimate: more }), more)).toBeCloseTo(1_550)
  })

  it('is not limited by a doubtful report when the given parts explain it', () => {
    // 3,600 reported where 120 were estimated: held to 240 until confirmed. 2,900 of tools and system prompt are told now.
    const known = reported([120, 3_600])
    expect(expected(known, 120)).toBe(240)
    const now = estimate(120, 2_900)
    const found = outlook(known, { viewEpoch: 0, estimator: 'e', estimate: now })
    expect(expectedTokens(found, now)).toBeCloseTo(3_020)
  })

  it('adds a prompt that is not in the history yet', () => {
    const known = reported([1_000, 1_400])
    const now = estimate(1_000, 0, 50)
    const found = outlook(known, { viewEpoch: 0, estimator: 'e', estimate: now })
    expect(expectedTokens(found, now)).toBe(1_450)
  })
})

describe('the ratio', () => {
  it('counts after three reports', () => {
    expect(ratioOf(reported([1_000, 1_300], [1_000, 1_300]).calibration!)).toBe(1)
    expect(ratioOf(reported([1_000, 1_300], [1_000, 1_300], [1_000, 1_300]).calibration!)).toBeCloseTo(1.3)
  })

  it('comes from what was added, free of what is not seen', () => {
    // 5,000 tokens nobody told of, 1.2 tokens an estimated one.
    const reports = [1_000, 2_000, 3_000, 4_000].map((e) => [e, 5_000 + 1.2 * e] as const)
    const known = reported(...reports)
    expect(ratioOf(known.calibration!)).toBeCloseTo(1.2)
    expect(outlook(known, at(500, 1)).unseen).toBeCloseTo(5_000)
    expect(expected(known, 500, 1)).toBeCloseTo(5_600)
  })

  it('is not led astray by one wild report, and neither is what is expected', () => {
    const wild = reported([1_000, 1_000], [1_000, 1_000], [1_000, 1_000], [1_000, 100_000])
    expect(ratioOf(wild.calibration!)).toBe(1)
    expect(expected(wild, 1_000)).toBe(2_000)
    expect(wild.measurement).toMatchObject({ tokens: 100_000, held: 2_000 })
  })

  it('believes a jump as soon as the next report confirms it', () => {
    // Fifty thousand tokens of tools in a session that has just begun.
    const first = reported([100, 50_100])
    expect(expected(first, 100)).toBe(200)
    const second = reported([100, 50_100], [300, 50_300])
    expect(expected(second, 300)).toBe(50_300)
    expect(outlook(second, at(50, 1)).unseen).toBe(50_000)
  })

  it('follows a context that shrank without the store, from the second report on', () => {
    const before = [
      [50_000, 50_000],
      [100_000, 100_000],
    ] as const
    const shrunk = reported(...before, [100_500, 20_000], [101_000, 20_500])
    expect(expected(shrunk, 101_500)).toBeCloseTo(21_000)
    expect(outlook(shrunk, at(101_500)).ratio).toBeGreaterThan(0)
  })

  it('is not learned from a model whose first requests carry unreported tools', () => {
    const once = reported([100, 50_100])
    expect(ratioOf(once.calibration ?? { grown: NONE, whole: NONE })).toBe(1)
  })

  it('is bounded even when the reports are believed', () => {
    expect(
      ratioOf(reported([1_000, 3_000], [2_000, 6_000], [3_000, 9_000], [4_000, 12_000]).calibration!),
    ).toBe(2)
    expect(ratioOf(reported([1_000, 600], [2_000, 1_000], [3_000, 1_400], [4_000, 1_800]).calibration!)).toBe(
      0.5,
    )
  })

  it('moves: what was reported long ago counts less', () => {
    const old = Array.from({ length: 50 }, () => [1_000, 1_000] as const)
    const recent = Array.from({ length: 50 }, () => [1_000, 1_500] as const)
    expect(ratioOf(reported(...old, ...recent).calibration!)).toBeCloseTo(1.5, 1)
  })
})

describe('for any reports', () => {
  const report = fc.tuple(
    fc.integer({ min: 28, max: 1_000_000 }),
    fc.integer({ min: 0, max: 1_000_000_000 }),
    fc.integer({ min: 0, max: 2 }),
  )

  it('the ratio stays between a half and two, and expectations are finite and positive', () => {
    fc.assert(
      fc.property(fc.array(report, { maxLength: 40 }), report, (reports, [estimated, , epoch]) => {
        const known = reported(...reports)
        if (known.calibration !== undefined) {
          expect(ratioOf(known.calibration)).toBeGreaterThanOrEqual(0.5)
          expect(ratioOf(known.calibration)).toBeLessThanOrEqual(2)
        }
        const found = outlook(known, at(estimated, epoch))
        expect(Number.isFinite(expectedTokens(found, estimate(estimated)))).toBe(true)
        expect(found.unseen).toBeGreaterThanOrEqual(0)
        expect(found.ratio).toBeGreaterThan(0)
      }),
    )
  })

  it('a second report of the same size is believed, unless it is far below what the request must hold', () => {
    fc.assert(
      fc.property(fc.array(report, { maxLength: 20 }), report, (reports, [estimated, tokens, epoch]) => {
        const known = reported(...reports, [estimated, tokens, epoch], [estimated, tokens, epoch])
        const { measurement, calibration } = known
        fc.pre(!isFarBelow(measurement!, calibration))
        expect(measurement!.held).toBe(tokens)
      }),
    )
  })

  it('a provider that makes r tokens of one and sends o more is known after a few turns', () => {
    const turns = fc.array(fc.integer({ min: 50, max: 5_000 }), { minLength: 8, maxLength: 40 })
    fc.assert(
      fc.property(
        turns,
        fc.double({ min: 0.6, max: 1.9, noNaN: true }),
        fc.integer({ min: 0, max: 50_000 }),
        (sizes, r, o) => {
          let estimated = 0
          let known = NOTHING
          for (const size of sizes) {
            estimated += size
            known = recordReport(known, { ...at(estimated), tokens: Math.round(o + r * estimated), at: 1 })
          }
          const next = estimated + 1_000
          const truth = o + r * next
          // Rounding of tokens and of the ratio; a wild first report may have kept one sample out.
          expect(Math.abs(expected(known, next) - truth)).toBeLessThan(0.02 * truth + 20)
          expect(Math.abs(expected(known, 500, 1) - (o + r * 500))).toBeLessThan(0.1 * (o + r * 500) + 60)
        },
      ),
    )
  })
})
