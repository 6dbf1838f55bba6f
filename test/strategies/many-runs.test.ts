import { describe, expect, it } from 'vitest'
import { slidingWindow, summarizeOlder } from '../../src/compat/arrays/index.ts'
import { type NewMessage, openStore } from '../../src/index.ts'
import { saying, system, talk } from '../plain/support.ts'
import { say, units } from '../support/conversation.ts'

/* Many messages that stay part what may go into many runs: their summaries together have one bound. */

const S = 's'

/** `runs` times a system message and four others of 100 units: 4 × (115 + 4) = 476 tokens. */
function parted(runs: number): NewMessage[] {
  return Array.from({ length: runs }, (_, at) => [
    say('system', `Rule ${at}.`),
    ...['user', 'assistant', 'user', 'assistant'].map((role) => say(role as 'user', units(100))),
  ]).flat()
}

describe('summaries of many runs', () => {
  it.each([
    ['a window', slidingWindow({ last: 0, summarize: true })],
    ['summarize_older', summarizeOlder({ keepLast: 0 })],
  ])('of %s share one bound, by what they replace; runs that would get too little stay', async (_, stage) => {
    const ask = async (runs: number): Promise<{ limits: number[]; kinds: string[] }> => {
      await using store = await openStore(':memory:', { env: false, estimator: 'neurolink' })
      await store.append(S, parted(runs))
      const summarizer = saying('What happened.')
      const config = { stages: [stage], summaryMaxTokens: 400, targetTokens: 1, summarizer }
      const run = await store.compactSession(S, config)
      return {
        limits: summarizer.asked.map(({ maxTokens }) => maxTokens),
        kinds: run!.messages.map(({ kind, role }) => (kind === 'summary' ? kind : role)),
      }
    }
    expect((await ask(5)).limits).toEqual([80, 80, 80, 80, 80])
    // Of twenty equal runs each would get 20 tokens, of ten 40: the ten newest are told.
    const { limits, kinds } = await ask(20)
    expect(limits).toEqual(Array(10).fill(40))
    const told = Array(10).fill(['system', 'summary'])
    const left = Array(10).fill(['system', 'user', 'assistant', 'user', 'assistant'])
    expect(kinds).toEqual([...left, ...told].flat())
  })

  it('get more room for more material, and one run gets all of it', async () => {
    await using store = await openStore(':memory:', { env: false, estimator: 'neurolink' })
    // 600 × 1.15 + 4 = 694 tokens, 200 × 1.15 + 4 = 234, and 10 × 1.15 + 4 = 15.5, which is worth none.
    const sizes = [600, 200, 10]
    await store.append(
      S,
      sizes.flatMap((size) => [say('system', 'Rule.'), say('user', units(size))]),
    )
    const summarizer = saying('What happened.')
    const config = {
      stages: [summarizeOlder({ keepLast: 0 })],
      summaryMaxTokens: 200,
      targetTokens: 1,
      summarizer,
    }
    await store.compactSession(S, config)
    // 200 × 694 / 928 = 149.5 and 200 × 234 / 928 = 50.4.
    expect(summarizer.asked.map(({ maxTokens }) => maxTokens)).toEqual([149, 50])
  })

  it.each(['neuron', 'nca'] as const)(
    'leave a session under the preset %s within its window',
    async (preset) => {
      const summarizer = saying('What happened. '.repeat(15))
      await using store = await openStore(':memory:', { env: false, config: { preset, summarizer } })
      const all = Array.from({ length: 3_000 }, (_, at) =>
        at % 20 === 0 ? say('system', 'ok') : say(at % 2 === 0 ? 'user' : 'assistant', units(50)),
      )
      for (let round = 0; round < 3; round++) {
        await store.append(S, all)
        const run = await store.compactSession(S)
        expect(run!.tokensAfter).toBeLessThan((await store.getContextStats(S))!.availableInputTokens)
        // 150 runs a round.
        expect(summarizer.asked.length).toBeLessThanOrEqual(100 * (round + 1))
      }
    },
  )

  it('never request so little over an array that nothing fits', async () => {
    const messages = talk(60).flatMap((message, at) => (at % 3 === 0 ? [system('ok'), message] : [message]))
    const strategies = [
      slidingWindow({ fitBudget: true, summarize: true }),
      slidingWindow({ last: 4, shrinkToFit: true, summarize: true }),
      summarizeOlder({ keepLast: 2 }),
    ]
    for (const strategy of strategies)
      for (let budget = 0; budget <= 400; budget += 20)
        expect((await strategy.apply(messages, budget)).tokensBefore).toBeGreaterThan(400)
  })
})
