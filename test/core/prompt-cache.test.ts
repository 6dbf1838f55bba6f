import { describe, expect, it } from 'vitest'
import { Meter } from '../../bench/cache/bill.ts'
import { isWorthIt, minimumSavingsOf, worthOf } from '../../src/core/model/prompt-cache.ts'
import type { View } from '../../src/core/model/view.ts'

describe('what a run is worth', () => {
  it('is what it saves, less what is written into the cache again', () => {
    // (1.25 - 0.1) / (0.1 × 100) = 0.115 of a token for each.
    expect(worthOf(1_000, 0)).toBe(1_000)
    expect(worthOf(1_000, 2_000)).toBeCloseTo(770, 9)
  })

  it('must be a twentieth of the history by default, and no more than 20,000 tokens', () => {
    expect(minimumSavingsOf(4_260)).toBe(213)
    expect(minimumSavingsOf(1_000_000)).toBe(20_000)
  })

  it('counts what follows the change, as far as it was cached', () => {
    const changed = {
      position: 1,
      index: 1,
      messageId: 'm',
      tokensBefore: 1_000,
      cachedTokens: 9_000,
      tokensGivenUp: 8_000,
      source: 'assumed' as const,
    }
    const before = { tokens: 10_000 } as View
    // 7,000 are left, 6,000 of them behind the change: 3,000 saved less 690.
    expect(isWorthIt({ changed, before, tokensAfter: 7_000, minimum: 2_310 })).toBe(true)
    expect(isWorthIt({ changed, before, tokensAfter: 7_000, minimum: 2_311 })).toBe(false)
    // Nothing cached: 3,000 saved.
    const cold = { ...changed, cachedTokens: 0, tokensGivenUp: 0 }
    expect(isWorthIt({ changed: cold, before, tokensAfter: 7_000, minimum: 3_000 })).toBe(true)
    expect(isWorthIt({ changed, before, tokensAfter: 9_999, minimum: 0 })).toBe(true)
  })
})

describe('the bill of bench:cache', () => {
  it('serves the longest common beginning of two requests from the cache', () => {
    const meter = new Meter((text) => text.length)
    const a = { role: 'user', content: 'a'.repeat(70) }
    const b = { role: 'user', content: 'b'.repeat(70) }
    // 26 characters before the words, 70 of words, 2 behind them.
    expect(JSON.stringify(a)).toHaveLength(98)
    meter.add([a])
    expect(meter.bill).toEqual({ requests: 1, plain: 98, written: 122.5, free: 98 })
    // The first is served, the second written.
    meter.add([a, b])
    expect(meter.bill.plain).toBe(98 + 196)
    expect(meter.bill.written).toBeCloseTo(122.5 + 9.8 + 122.5, 6)
    expect(meter.bill.free).toBeCloseTo(98 + 9.8 + 98, 6)
    // Of another first message the 26 characters before its words are served, and nothing behind it.
    meter.add([b, b])
    expect(meter.bill.plain).toBe(98 + 196 + 196)
    expect(meter.bill.free).toBeCloseTo(205.8 + 2.6 + 170, 6)
  })
})
