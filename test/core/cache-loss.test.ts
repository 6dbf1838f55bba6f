import { describe, expect, it } from 'vitest'
import {
  type CachedRequest,
  cacheLifetimeMs,
  costOfLost,
  lostTokens,
} from '../../src/core/tokens/cache-loss.ts'
import type { PriceOf } from '../../src/core/tokens/prices.ts'

const of = (
  provider: string,
  [inputTokens, cacheReadTokens, cacheCreationTokens]: readonly [number, number?, number?],
  model?: string,
): CachedRequest => ({
  provider,
  ...(model !== undefined && { model }),
  usage: {
    inputTokens,
    outputTokens: 10,
    ...(cacheReadTokens !== undefined && { cacheReadTokens }),
    ...(cacheCreationTokens !== undefined && { cacheCreationTokens }),
  },
  at: 0,
})

describe('the tokens that a provider could have read and did not', () => {
  it('are those that Anthropic had read and written before, minus those that it read', () => {
    const before = of('anthropic', [100, 4_000, 1_000])
    expect(lostTokens(before, of('anthropic', [100, 5_000, 300]))).toBe(0)
    expect(lostTokens(before, of('anthropic', [100, 4_000, 1_300]))).toBe(1_000)
    expect(lostTokens(before, of('anthropic', [100, 0, 5_300]))).toBe(5_000)
    // A report without a figure read nothing.
    expect(lostTokens(before, of('anthropic', [5_400]))).toBe(5_000)
  })

  it('are at most those of the later request', () => {
    // 5,000 were held; 1,200 were sent, of which 200 were read.
    expect(lostTokens(of('anthropic', [0, 4_000, 1_000]), of('anthropic', [100, 200, 900]))).toBe(1_000)
  })

  it('are of the whole request before if the provider caches by itself and reports no writes', () => {
    expect(lostTokens(of('openai', [3_000, 2_000]), of('openai', [5_600, 0]))).toBe(5_000)
    expect(lostTokens(of('google', [9_000]), of('gemini', [5_000, 4_500]))).toBe(4_500)
    // GPT-5.6 and later report what they write.
    expect(lostTokens(of('openai', [3_000, 2_000, 1_000], 'gpt-5.6'), of('openai', [6_000, 0, 0]))).toBe(
      3_000,
    )
    // Claude caches on request on every host.
    expect(lostTokens(of('vertex', [9_000, 500], 'claude-opus-4-8'), of('vertex', [9_500, 0]))).toBe(500)
  })

  it('are zero below the minimum, and for fewer than two blocks', () => {
    expect(lostTokens(of('openai', [1_000, 0]), of('openai', [2_000, 0]))).toBe(0)
    expect(lostTokens(of('openai', [3_000, 0]), of('openai', [1_000, 0]))).toBe(0)
    expect(lostTokens(of('google-ai', [4_000, 0]), of('google-ai', [5_000, 0]))).toBe(0)
    expect(lostTokens(of('openai', [5_000, 0]), of('openai', [300, 4_745]))).toBe(0)
    expect(lostTokens(of('openai', [5_000, 0]), of('openai', [300, 4_744]))).toBe(256)
  })

  it('are those that were read before for a provider of which nothing is known', () => {
    expect(lostTokens(of('mine', [9_000, 500]), of('mine', [9_500, 100]))).toBe(400)
  })

  it('are not known without figures of caching', () => {
    expect(lostTokens(of('openai', [5_000]), of('openai', [6_000]))).toBeUndefined()
    const { usage: _, ...unreported } = of('openai', [0])
    expect(lostTokens(unreported, of('openai', [6_000, 0]))).toBeUndefined()
    expect(lostTokens(of('openai', [6_000, 0]), unreported)).toBeUndefined()
  })
})

it('a cache lives at least five minutes, 30 for models of OpenAI that report writes, an hour for DeepSeek', () => {
  expect(cacheLifetimeMs(of('anthropic', [0, 0, 5]))).toBe(300_000)
  expect(cacheLifetimeMs(of('openai', [0, 5]))).toBe(300_000)
  expect(cacheLifetimeMs(of('openai', [0, 0, 5]))).toBe(1_800_000)
  expect(cacheLifetimeMs(of('deepseek', [0, 5]))).toBe(3_600_000)
})

describe('the cost of lost tokens', () => {
  // Input 1, cache read 0.1, cache write 1.25 dollars a token.
  const priceOf: PriceOf = ({ inputTokens, cacheReadTokens, cacheCreationTokens, outputTokens }) =>
    inputTokens + cacheReadTokens * 0.1 + cacheCreationTokens * 1.25 + outputTokens * 5

  it('is that of writing them again, and of the rest as input, minus that of reading them', () => {
    // 80 written again at 1.25 instead of 0.1, and 20 as input at 1 instead of 0.1.
    const request = of('anthropic', [50, 10, 80])
    expect(costOfLost(request, 100, priceOf)).toBeCloseTo(80 * 1.15 + 20 * 0.9, 9)
    expect(costOfLost(request, 60, priceOf)).toBeCloseTo(60 * 1.15, 9)
    expect(costOfLost(of('openai', [500, 0]), 400, priceOf)).toBeCloseTo(400 * 0.9, 9)
  })

  it('is null without a price', () => {
    expect(costOfLost(of('mine', [500, 0]), 400, () => null)).toBeNull()
  })
})
