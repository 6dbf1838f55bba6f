import { describe, expect, it } from 'vitest'
import {
  bucketsOf,
  byModel,
  bySummarizer,
  cachedShare,
  chartData,
  dayOf,
  daysWithCosts,
  modelName,
  pricedRequests,
  pricesOf,
  savedByCompaction,
  startOf,
  totalOf,
} from '../../../src/inspect/page/cost-sums.ts'
import { axisMoney } from '../../../src/inspect/page/format.ts'
import type { DayOfRequests } from '../../../src/store/costs.ts'
import type { RecordedRequest } from '../../../src/store/requests/recorded.ts'
import type { TimelinePoint } from '../../../src/store/topics/messages.ts'

function day(name: string, model: string, figures: Partial<DayOfRequests> = {}): DayOfRequests {
  return {
    ...{ day: name, provider: 'anthropic', model, requests: 1, inputTokens: 0, cacheReadTokens: 0 },
    ...{ cacheCreationTokens: 0, outputTokens: 0, cost: null, uncachedCost: null, ...figures },
  }
}

describe('periods', () => {
  it('begin at a local midnight, and include today', () => {
    const now = new Date(2026, 10, 29, 15, 30).getTime()
    expect(startOf(7, now)).toBe(new Date(2026, 10, 23).getTime())
    expect(startOf('all', now)).toBeUndefined()
    expect(dayOf(now)).toBe('2026-11-29')
  })
})

describe('sums', () => {
  const rows = [
    day('2026-11-28', 'b', { requests: 2, inputTokens: 10, cacheReadTokens: 90, cost: 1, uncachedCost: 3 }),
    day('2026-11-29', 'a', { requests: 1, inputTokens: 5, outputTokens: 7, cost: 4, uncachedCost: 3.5 }),
    day('2026-11-29', 'b', {
      requests: 1,
      inputTokens: 20,
      cacheCreationTokens: 80,
      cost: 0.5,
      uncachedCost: 0.5,
    }),
    day('2026-11-29', 'local', { requests: 9 }),
  ]

  it('by model are ordered by cost, and an unknown price stays unknown', () => {
    const sums = byModel(rows)
    expect(sums.map(({ model, requests, cost, saved }) => [model, requests, cost, saved])).toEqual([
      ['a', 1, 4, -0.5],
      ['b', 3, 1.5, 2],
      ['local', 9, null, null],
    ])
    expect(totalOf(sums)).toMatchObject({ requests: 13, inputTokens: 35, cost: 5.5, saved: 1.5 })
  })

  it('say which share of the input was read from the cache', () => {
    expect(cachedShare(byModel(rows)[1]!)).toBe(90 / 200)
    expect(cachedShare(totalOf([]))).toBeUndefined()
  })

  it('of compactions are by summarizer and model', () => {
    expect(
      bySummarizer([
        { day: '1', compactions: 3, tokensSaved: 100, cost: 0 },
        { day: '1', summarizer: 'ai', model: 'm', compactions: 1, tokensSaved: 50, cost: 0.1 },
        { day: '2', summarizer: 'ai', model: 'm', compactions: 1, tokensSaved: 25, cost: null },
      ]),
    ).toEqual([
      { summarizer: 'ai', model: 'm', compactions: 2, tokensSaved: 75, cost: 0.1 },
      { compactions: 3, tokensSaved: 100, cost: 0 },
    ])
  })

  it('name the days on which anything happened', () => {
    expect(daysWithCosts({ requests: rows, compactions: [] })).toEqual(['2026-11-28', '2026-11-29'])
    expect(daysWithCosts({ requests: [], compactions: [] })).toBeUndefined()
  })

  it('name a model with its provider once', () => {
    expect(modelName({ provider: 'openai', model: 'gpt-5' })).toBe('openai / gpt-5')
    expect(modelName({ provider: 'openrouter', model: 'openrouter/auto' })).toBe('openrouter/auto')
    expect(modelName({ provider: 'ollama' })).toBe('ollama')
  })
})

describe('bars', () => {
  it('are days, and those without requests are empty', () => {
    const costs = {
      requests: [
        day('2026-11-27', 'a', { cost: 2 }),
        day('2026-11-29', 'a', { cost: 1 }),
        day('2026-11-29', 'b', { cost: 4 }),
      ],
      compactions: [{ day: '2026-11-29', summarizer: 'ai', compactions: 1, tokensSaved: 9, cost: 0.5 }],
    }
    const { series, buckets } = chartData(costs, { measure: 'cost', from: '2026-11-27', to: '2026-11-29' })
    expect(series.map(({ label }) => label)).toEqual(['anthropic / b', 'anthropic / a', 'Summaries'])
    expect(buckets.map(({ from, values }) => [from, ...values])).toEqual([
      ['2026-11-27', 0, 2, 0],
      ['2026-11-28', 0, 0, 0],
      ['2026-11-29', 4, 1, 0.5],
    ])
  })

  it('show tokens by how they were billed, without kinds that no request has', () => {
    const costs = {
      requests: [
        day('2026-11-29', 'a', { inputTokens: 3, outputTokens: 2 }),
        day('2026-11-29', 'b', { inputTokens: 4 }),
      ],
      compactions: [],
    }
    const { series, buckets } = chartData(costs, { measure: 'tokens', from: '2026-11-29', to: '2026-11-29' })
    expect(series.map(({ label }) => label)).toEqual(['Input, uncached', 'Output'])
    expect(buckets[0]!.values).toEqual([7, 2])
  })

  it('join the cheapest models if there are more than six', () => {
    const requests = Array.from({ length: 9 }, (_, at) => day('2026-11-29', `m${at}`, { cost: 9 - at }))
    const { series, buckets } = chartData(
      { requests, compactions: [] },
      { measure: 'cost', from: '2026-11-29', to: '2026-11-29' },
    )
    expect(series.map(({ label }) => label)).toEqual([
      ...['anthropic / m0', 'anthropic / m1', 'anthropic / m2', 'anthropic / m3', 'anthropic / m4'],
      'Other models',
    ])
    expect(buckets[0]!.values).toEqual([9, 8, 7, 6, 5, 4 + 3 + 2 + 1])
  })

  it('become weeks from Monday, and then months, if there are too many days', () => {
    // 2026-11-01 is a Sunday.
    expect(bucketsOf('2026-11-01', '2026-11-10', 5)).toEqual([
      { from: '2026-10-26', to: '2026-11-01' },
      { from: '2026-11-02', to: '2026-11-08' },
      { from: '2026-11-09', to: '2026-11-15' },
    ])
    expect(bucketsOf('2026-11-15', '2027-02-02', 5)).toEqual([
      { from: '2026-11-01', to: '2026-11-30' },
      { from: '2026-12-01', to: '2026-12-31' },
      { from: '2027-01-01', to: '2027-01-31' },
      { from: '2027-02-01', to: '2027-02-28' },
    ])
    expect(bucketsOf('2026-11-02', '2026-11-01', 5)).toEqual([])
  })

  it('leave out what lies outside of the period', () => {
    const costs = {
      requests: [day('2026-11-20', 'a', { cost: 1 }), day('2026-12-01', 'a', { cost: 1 })],
      compactions: [],
    }
    const { buckets } = chartData(costs, { measure: 'cost', from: '2026-11-28', to: '2026-11-29' })
    expect(buckets.map(({ values }) => values)).toEqual([[0], [0]])
  })
})

describe('what compaction saved', () => {
  const point = (logTokens: number, tokens: number) => ({ logTokens, tokens }) as TimelinePoint

  it('is the sum of what the log has more than the view, at each answer', () => {
    const points = [point(100, 100), point(300, 120), point(400, 200)]
    expect(savedByCompaction({ points, answers: 3 })).toEqual({ tokens: 380, answers: 3, counted: 3 })
  })

  it('is scaled if not all answers were read, and a view larger than the log saves nothing', () => {
    expect(savedByCompaction({ points: [point(300, 100), point(10, 12)], answers: 20 })).toEqual({
      tokens: 2_000,
      answers: 20,
      counted: 2,
    })
    expect(savedByCompaction({ points: [], answers: 0 }).tokens).toBe(0)
  })
})

describe('prices', () => {
  /** Dollars for a million tokens: input 3, cache read 0.3, cache written 3.75, output 15. */
  const costOf = (input: number, read: number, written: number, output: number): number =>
    (3 * input + 0.3 * read + 3.75 * written + 15 * output) / 1e6
  const billed = (input: number, read: number, written: number, output: number) => ({
    ...{ inputTokens: input, cacheReadTokens: read, cacheCreationTokens: written, outputTokens: output },
    cost: costOf(input, read, written, output),
  })

  it('are derived from requests that differ enough', () => {
    const prices = pricesOf(
      [],
      [
        ...[billed(500, 0, 20_000, 300), billed(80, 20_000, 900, 700), billed(300, 20_900, 100, 20)],
        billed(90, 21_000, 4_000, 1_200),
      ],
    )!
    expect(prices.input! * 1e6).toBeCloseTo(3, 6)
    expect(prices.cacheRead! * 1e6).toBeCloseTo(0.3, 6)
    expect(prices.cacheCreation! * 1e6).toBeCloseTo(3.75, 6)
    expect(prices.output! * 1e6).toBeCloseTo(15, 6)
  })

  it('are those of the kinds of tokens that occur', () => {
    const prices = pricesOf([], [billed(500, 0, 0, 300), billed(80, 0, 0, 700)])!
    expect(Object.keys(prices)).toEqual(['input', 'output'])
    expect(prices.input! * 1e6).toBeCloseTo(3, 6)
  })

  it('use the sums of days, whose cost is known with and without a cache', () => {
    const row = (input: number, read: number, output: number) =>
      day('2026-11-29', 'a', {
        ...{ inputTokens: input, cacheReadTokens: read, outputTokens: output },
        ...{ cost: costOf(input, read, 0, output), uncachedCost: costOf(input + read, 0, 0, output) },
      })
    const prices = pricesOf([row(100, 9_000, 200), row(5_000, 2_000, 100)], [])!
    expect(prices.cacheRead! * 1e6).toBeCloseTo(0.3, 6)
    expect(prices.output! * 1e6).toBeCloseTo(15, 6)
  })

  it('are unknown for requests that are too much alike, too few, or billed by other rules', () => {
    expect(
      pricesOf([], [billed(100, 200, 0, 10), billed(200, 400, 0, 20), billed(50, 100, 0, 5)]),
    ).toBeUndefined()
    expect(pricesOf([], [billed(100, 0, 0, 10)])).toBeUndefined()
    expect(pricesOf([], [])).toBeUndefined()
    // Above 200,000 tokens, the price is twice as high.
    const tiered = { ...billed(250_000, 0, 0, 100), cost: 2 * costOf(250_000, 0, 0, 100) }
    expect(pricesOf([], [billed(500, 0, 0, 300), billed(90_000, 0, 0, 700), tiered])).toBeUndefined()
  })

  it('are read from the requests to the model that most use, as far as their cost is known', () => {
    const request = (model: string, cost?: number | null): RecordedRequest => ({
      ...{
        id: '1',
        sessionId: 's',
        provider: 'p',
        model,
        position: 1,
        audit: 0,
        renderer: 1,
        hash: '',
        at: 0,
      },
      ...{ rendering: { provider: 'p' }, usage: { inputTokens: 1, outputTokens: 2 } },
      ...(cost !== undefined && { cost }),
    })
    expect(pricedRequests([request('a', 1), request('b', 5), request('a', null), request('a')])).toEqual({
      ...{ provider: 'p', model: 'a' },
      billed: [{ inputTokens: 1, outputTokens: 2, cost: 1 }],
    })
    expect(pricedRequests([])).toBeUndefined()
  })
})

it('dollars on an axis have as many digits as its step needs', () => {
  expect([0, 0.5, 1].map((value) => axisMoney(value, 0.5))).toEqual(['$0.00', '$0.50', '$1.00'])
  expect([0, 20].map((value) => axisMoney(value, 20))).toEqual(['$0', '$20'])
  expect([0.001, 0.005].map((value) => axisMoney(value, 0.001))).toEqual(['$0.001', '$0.005'])
})
