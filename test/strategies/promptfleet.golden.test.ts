import { describe, expect, it } from 'vitest'
import { createStrategy, STRATEGY_KINDS, slidingWindow } from '../../src/compat/arrays/index.ts'
import { estimatePromptfleetMessages } from '../../src/compat/index.ts'
import type { ChatMessage } from '../../src/index.ts'
import { saying } from '../plain/support.ts'
import { goldenCases, placesIn } from './golden.ts'

/* The cases of seed 001's system. Over arrays the estimator `promptfleet` counts as its functions do. */

type Input = { readonly availableForHistory: number; readonly messages: readonly ChatMessage[] }
type Expectation = { readonly kept: number[]; readonly totalTokens: number }
const golden = goldenCases<Input, Expectation>('promptfleet-sliding-window')

describe('promptfleet-sliding-window', () => {
  const cases = golden
  const withIds = (messages: readonly ChatMessage[]): ChatMessage[] =>
    messages.map((message, at) => ({ id: `m${at}`, ...message }))

  // The newest turn stays by default, also when it does not fit (S1-U13); the original lets it go in PSW-06.
  it.each(cases)('$id $name', async ({ id, input, expected }) => {
    const window = slidingWindow({
      fitBudget: true,
      estimator: 'promptfleet',
      ...(id === 'PSW-06' && { keepNewest: 'nothing' }),
    })
    const result = await window.apply(withIds(input.messages), input)
    expect(placesIn(result.messages)).toEqual(expected.kept)
    expect(result.overBudget).toBe(false)
    expect(result.tokensAfter).toBeLessThanOrEqual(input.availableForHistory)
    expect(estimatePromptfleetMessages(input.messages as never)).toBe(expected.totalTokens)
    if (input.messages.length > 0) expect(result.tokensBefore).toBe(expected.totalTokens)
  })

  it('keeps the newest turn all the same by default, and reports that it is too much [PSW-06]', async () => {
    const { input } = cases.find(({ id }) => id === 'PSW-06')!
    const window = slidingWindow({ fitBudget: true, estimator: 'promptfleet' })
    const result = await window.apply(withIds(input.messages), input)
    expect(placesIn(result.messages)).toEqual([0, 5])
    expect(result.overBudget).toBe(true)
  })

  it.each(cases)(
    '$id $name, as createStrategy has it by default [S1-03 S1-09]',
    async ({ input, expected }) => {
      const result = await createStrategy('sliding_window', { estimator: 'promptfleet' }).apply(
        withIds(input.messages),
        input,
      )
      expect(placesIn(result.messages)).toEqual(expected.kept)
      expect([result.overBudget, result.tokensAfter <= input.availableForHistory]).toEqual([false, true])
    },
  )

  it('the kinds of a configuration fit any budget that the system message fits [S1-03 S1-15]', async () => {
    const messages = withIds([
      { role: 'system', content: 'Be brief.' },
      ...Array.from({ length: 12 }, (_, at) => ({
        role: at % 2 === 0 ? 'user' : 'assistant',
        content: `${at} `.padEnd(at === 11 ? 2_000 : 80, 'word '),
      })),
    ])
    const least = estimatePromptfleetMessages(messages.slice(0, 1) as never)
    // Of a summarizer that keeps to no length, too.
    const summarizer = saying('They talked. '.repeat(40))
    for (const kind of STRATEGY_KINDS)
      for (let availableForHistory = least; availableForHistory < least + 900; availableForHistory += 7) {
        const result = await createStrategy(kind, { estimator: 'promptfleet', summarizer }).apply(messages, {
          availableForHistory,
        })
        expect(result.overBudget).toBe(false)
        expect(estimatePromptfleetMessages(result.messages as never)).toBeLessThanOrEqual(availableForHistory)
      }
  })

  it('covers all 9 cases', () => expect(cases).toHaveLength(9))
})
