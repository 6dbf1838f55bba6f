import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  clearToolResults,
  composite,
  getEffectiveHistory,
  type Strategy,
  type StrategyResult,
  slidingWindow,
  summarizeOlder,
} from '../../src/compat/arrays/index.ts'
import { isSummary } from '../../src/core/model/message-parts.ts'
import type { ChatMessage } from '../../src/index.ts'
import { conversations, partedPairs, saying } from '../plain/support.ts'

/* What holds of any conversation under any strategy. The arrays are frozen to the bottom, so whoever writes into one throws. */

const count = fc.integer({ min: 0, max: 8 })
const summarizer = saying('short')

const hiding: fc.Arbitrary<Strategy> = fc.oneof(
  fc
    .record({ last: count, countSystem: fc.boolean(), shrinkToFit: fc.boolean() })
    .map((options) => slidingWindow(options)),
  fc
    .constantFrom('turn' as const, 'message' as const, 'nothing' as const)
    .map((keepNewest) => slidingWindow({ fitBudget: true, keepNewest })),
  count.map((keep) => clearToolResults({ keep })),
)
const summarizing: fc.Arbitrary<Strategy> = fc.oneof(
  count.map((last) => slidingWindow({ last, summarize: true, summarizer })),
  fc.constant(slidingWindow({ fitBudget: true, summarize: true, summarizer })),
  count.map((keepLast) => summarizeOlder({ keepLast, summarizer })),
)
const single = fc.oneof(hiding, summarizing)
const any = fc.oneof(
  single,
  fc.array(single, { maxLength: 4 }).map((stages) => composite({ stages })),
)
const budgets = fc.integer({ min: 0, max: 600 })

/** Indexes, in `whole`, of messages that were in it. */
function kept(messages: readonly ChatMessage[], whole: readonly ChatMessage[]): number[] {
  return messages.flatMap(({ id }) => {
    const index = whole.findIndex((other) => other.id === id)
    return index < 0 ? [] : [index]
  })
}

/** What nobody may hide, summaries and markers aside. */
function untouchable(messages: readonly ChatMessage[]): ChatMessage[] {
  return getEffectiveHistory(messages).filter(
    (message) =>
      message.pinned === true ||
      (message.role === 'system' && !isSummary(message) && !message.isTruncationMarker),
  )
}

function withoutIds({ messages, ...rest }: StrategyResult): object {
  return { ...rest, messages: messages.map(({ id: _, condenseId: __, ...message }) => message) }
}

describe('any strategy', () => {
  it('fits or reports that it does not, keeps the order, splits no pair, and reports what it hid [S1-03 S1-04 S1-05]', async () => {
    await fc.assert(
      fc.asyncProperty(conversations, any, budgets, async (messages, strategy, budget) => {
        const visible = getEffectiveHistory(messages)
        const result = await strategy.apply(messages, budget)
        expect(result.tokensBefore).toBe(strategy.tokenEstimate(messages))
        expect(result.tokensAfter).toBe(strategy.tokenEstimate(result.messages))
        expect(result.overBudget).toBe(result.tokensAfter > budget)
        if (result.tokensBefore <= budget) expect(result).toMatchObject({ messages: visible, steps: [] })

        const places = kept(result.messages, messages)
        expect(places).toEqual([...new Set(places)].sort((a, b) => a - b))
        expect(result.messages.length).toBeLessThanOrEqual(visible.length)
        expect(partedPairs(result.messages, visible)).toEqual([])
        expect(result.messages).toEqual(expect.arrayContaining(untouchable(messages)))
        const all = [...places, ...result.hidden].sort((a, b) => a - b)
        expect(all).toEqual(visible.map((message) => messages.indexOf(message)))
      }),
      { numRuns: 400 },
    )
  })

  it('returns the same twice, and to two callers at once [S0-14 S0-19 S1-13]', async () => {
    await fc.assert(
      fc.asyncProperty(conversations, conversations, any, budgets, async (one, other, strategy, budget) => {
        const alone = [await strategy.apply(one, budget), await strategy.apply(other, budget)]
        const together = await Promise.all([strategy.apply(one, budget), strategy.apply(other, budget)])
        expect(together.map(withoutIds)).toEqual(alone.map(withoutIds))
      }),
      { numRuns: 100 },
    )
  })
})

describe('a strategy that hides', () => {
  it('leaves every live summary where it is', async () => {
    await fc.assert(
      fc.asyncProperty(conversations, hiding, budgets, async (messages, strategy, budget) => {
        const result = await strategy.apply(messages, budget)
        expect(result.messages.filter(isSummary)).toEqual(getEffectiveHistory(messages).filter(isSummary))
        expect(result.summaries).toEqual([])
      }),
      { numRuns: 200 },
    )
  })
})

describe('a strategy that summarizes', () => {
  it('has a summary for exactly what it hid [S1-24]', async () => {
    await fc.assert(
      fc.asyncProperty(conversations, summarizing, budgets, async (messages, strategy, budget) => {
        const { hidden, summaries } = await strategy.apply(messages, budget)
        expect(summaries.flatMap(({ positions }) => positions)).toEqual(hidden)
        expect(summaries.map(({ text }) => text)).toEqual(summaries.map(() => 'short'))
      }),
      { numRuns: 200 },
    )
  })
})

describe('a window', () => {
  it('keeps all system messages and the newest N of the others, and more only for a reason [S0-17 S0-23 S0-26]', async () => {
    await fc.assert(
      fc.asyncProperty(conversations, count, async (messages, last) => {
        const visible = getEffectiveHistory(messages)
        const counted = visible.filter(
          (message) => message.role !== 'system' && !isSummary(message) && !message.isTruncationMarker,
        )
        const newest = counted.slice(Math.max(0, counted.length - last))
        const left = await slidingWindow({ last }).compact(messages)
        expect(left).toEqual(expect.arrayContaining(newest))
        // What is kept besides belongs to a pair, or is pinned, or stands within what a pair holds together.
        const more =
          left.filter((message) => counted.some(({ id }) => id === message.id)).length - newest.length
        const pairs = visible.some((message) => 'pair' in message || message.pinned === true)
        if (!pairs) expect(more).toBe(0)
      }),
      { numRuns: 200 },
    )
  })

  it('of a budget keeps an unbroken run up to the end, the newest turn in it [S1-09 S1-10 S1-11]', async () => {
    await fc.assert(
      fc.asyncProperty(conversations, budgets, async (messages, budget) => {
        const visible = getEffectiveHistory(messages)
        const { messages: left, hidden } = await slidingWindow({ fitBudget: true }).apply(messages, budget)
        const newest = visible.at(-1)
        if (newest !== undefined) expect(left.at(-1)).toEqual(newest)
        // Behind the last message that went, nothing went.
        const end = Math.max(-1, ...hidden)
        const behind = visible.filter((message) => messages.indexOf(message) > end)
        expect(left.slice(left.length - behind.length)).toEqual(behind)
      }),
      { numRuns: 200 },
    )
  })
})
