import { describe, expect, test } from 'vitest'
import { say, units } from '../../support/conversation.ts'
import { type Contract, refusal, S } from './support.ts'

/** What providers billed, and what summaries cost. */
export function describeBilling({ open, openBoth, keeps }: Contract): void {
  describe('usage totals', () => {
    test('add up requests by provider and model, and keep the cache figures of the last one', async () => {
      const store = await open()
      await store.append(S, [say('user', units(100))])
      const claude = { provider: 'anthropic', model: 'claude-sonnet-4' }
      await store.requests.recordUsage(S, {
        ...claude,
        inputTokens: 10,
        cacheCreationTokens: 900,
        outputTokens: 50,
      })
      await store.requests.recordUsage(S, {
        ...claude,
        inputTokens: 20,
        cacheReadTokens: 900,
        cacheCreationTokens: 70,
      })
      await store.requests.recordUsage(S, { inputTokens: 1_000, outputTokens: 7 })
      const usage = await store.requests.usage(S)
      expect(usage.total).toEqual({
        requests: 3,
        inputTokens: 1_030,
        cacheReadTokens: 900,
        cacheCreationTokens: 970,
        outputTokens: 57,
        // (30 fresh × 3 + 900 read × 0.30 + 970 written × 3.75 + 50 × 15) / 10^6, and a request to a model nobody named.
        cost: expect.closeTo(0.0047475, 10),
        unpricedRequests: 1,
      })
      expect(usage.currency).toBe('USD')
      expect(usage.models).toEqual([
        {
          ...claude,
          requests: 2,
          inputTokens: 30,
          cacheReadTokens: 900,
          cacheCreationTokens: 970,
          outputTokens: 50,
          lastCacheReadTokens: 900,
          lastCacheCreationTokens: 70,
          cost: expect.closeTo(0.0047475, 10),
          at: expect.any(Number),
        },
        {
          provider: 'openai',
          requests: 1,
          inputTokens: 1_000,
          cacheReadTokens: 0,
          cacheCreationTokens: 0,
          outputTokens: 7,
          cost: null,
          at: expect.any(Number),
        },
      ])
    })

    test('count what is stale for the figures: it was billed all the same', async () => {
      const store = await open()
      await store.append(S, [say('user', units(100)), say('assistant', units(100)), say('user', units(9))])
      const { viewEpoch } = (await store.sessions.get(S))!
      await store.requests.recordUsage(S, { inputTokens: 5, cacheReadTokens: 300, viewEpoch })
      await store.compactions.hide(S, [(await store.getMessages(S))[1]!.id])
      const stale = await store.requests.recordUsage(S, { inputTokens: 9, cacheReadTokens: 0, viewEpoch })
      expect(stale.recorded).toBe(false)
      const [model] = (await store.requests.usage(S)).models
      // What it says of the cache is of a view that is gone.
      expect(model).toMatchObject({
        requests: 2,
        inputTokens: 14,
        cacheReadTokens: 300,
        lastCacheReadTokens: 300,
      })
    })

    test('do not keep the cache figures of an earlier request when the last one has none', async () => {
      const store = await open()
      await store.append(S, [say('user', units(100))])
      await store.requests.recordUsage(S, { inputTokens: 5, cacheReadTokens: 300 })
      await store.requests.recordUsage(S, { inputTokens: 400, cacheReadTokens: null })
      const [model] = (await store.requests.usage(S)).models
      expect(model).toMatchObject({ requests: 2, cacheReadTokens: 300 })
      expect(model).not.toHaveProperty('lastCacheReadTokens')
    })

    test('are of one session: a report of nothing, an overflow and a purged session leave none', async () => {
      const store = await open()
      await store.append(S, [say('user', units(100))])
      await store.append('other', [say('user', units(100))])
      await store.requests.recordUsage('other', { inputTokens: 40 })
      await store.requests.recordUsage(S, { inputTokens: 0 })
      await store.limits.learn(S, 'prompt is too long: 9000 tokens > 8000 maximum')
      const none = {
        requests: 0,
        inputTokens: 0,
        cacheReadTokens: 0,
        cacheCreationTokens: 0,
        outputTokens: 0,
        cost: 0,
        unpricedRequests: 0,
      }
      expect(await store.requests.usage(S)).toEqual({
        currency: 'USD',
        total: none,
        models: [],
        summaries: { total: { requests: 0, inputTokens: 0, outputTokens: 0, cost: 0 }, models: [] },
      })
      expect((await store.requests.usage('other')).total.inputTokens).toBe(40)
      await store.sessions.purge('other')
      await refusal(store.requests.usage('other'), 'SESSION_NOT_FOUND')
      await store.append('other', [say('user', 'again')])
      expect((await store.requests.usage('other')).total).toEqual(none)
    })

    test('tell what the summaries cost, by summarizer and model', async () => {
      const store = await open()
      await store.append(
        S,
        Array.from({ length: 8 }, (_, at) => say(at % 2 === 0 ? 'user' : 'assistant', units(500))),
      )
      for (const [from, inputTokens, cost] of [
        [1, 1_000, 0.25],
        [3, 1_100, 0.5],
      ] as const) {
        const summarizer = {
          name: 'mine',
          usesModel: true,
          summarize: () => ({ text: 'In short.', model: 'm', usage: { inputTokens, outputTokens: 5 }, cost }),
        }
        const run = await store.compactSession(S, { range: { from, to: from + 1 }, summarizer })
        expect(run?.compacted).toBe(true)
      }
      const bill = { requests: 2, inputTokens: 2_100, outputTokens: 10, cost: 0.75 }
      const { total, summaries } = await store.requests.usage(S)
      expect(total.requests).toBe(0)
      expect(summaries).toEqual({ total: bill, models: [{ summarizer: 'mine', model: 'm', ...bill }] })
    })

    test('and are there after reopening', async () => {
      const { store, reopen } = await openBoth()
      if (reopen === undefined || !keeps.audit) return
      await store.append(S, [say('user', units(100))])
      await store.requests.recordUsage(S, { inputTokens: 5, cacheReadTokens: 300, outputTokens: 2 })
      const before = await store.requests.usage(S)
      expect(await (await reopen()).requests.usage(S)).toEqual(before)
    })

    test('refuse figures that cannot be', async () => {
      const store = await open()
      await store.append(S, [say('user', 'hi')])
      for (const outputTokens of [-1, 0.5, Number.NaN, '5'])
        await refusal(
          store.requests.recordUsage(S, { inputTokens: 5, outputTokens } as never),
          'INVALID_INPUT',
        )
      await refusal(store.limits.learn(S, 'x', { outputTokens: 5 } as never), 'INVALID_INPUT')
      expect((await store.requests.usage(S)).models).toEqual([])
    })
  })
}
