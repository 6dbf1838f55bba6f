import { afterEach, describe, expect, test, vi } from 'vitest'
import type { Store } from '../../../src/index.ts'
import { chat, say, units } from '../../support/conversation.ts'
import { type Contract, refusal, S } from './support.ts'

const CLAUDE = { provider: 'anthropic', model: 'claude-sonnet-4' }

/** What requests and compactions cost, by day and model. */
export function describeCosts({ open, keeps }: Contract): void {
  describe.skipIf(!keeps.histories)('costs by day', () => {
    afterEach(() => {
      vi.useRealTimers()
    })

    /** Records a request, its answer and its usage at a time. */
    async function ask(
      store: Store,
      time: string,
      usage: {
        inputTokens: number
        cacheReadTokens?: number
        cacheCreationTokens?: number
        outputTokens?: number
      },
      { session = S, ...of }: { session?: string; provider: string; model?: string } = CLAUDE,
    ): Promise<void> {
      vi.useFakeTimers({ toFake: ['Date'], now: Date.parse(time) })
      const request = await store.prepareRequest(session, { prompt: 'And?', ...of })
      await store.recordResponse(session, { request, messages: [say('assistant', 'So.')], usage })
    }

    test('add up recorded requests by model, with and without a cache', async () => {
      const store = await open()
      await ask(store, '2026-03-01T23:30:00Z', {
        inputTokens: 10,
        cacheCreationTokens: 900,
        outputTokens: 50,
      })
      await ask(store, '2026-03-02T00:30:00Z', {
        inputTokens: 20,
        cacheReadTokens: 900,
        cacheCreationTokens: 70,
      })
      await ask(
        store,
        '2026-03-02T09:00:00Z',
        { inputTokens: 5, outputTokens: 7 },
        { provider: 'openai', model: 'none-such' },
      )
      const second = {
        ...{ day: '2026-03-02', ...CLAUDE, requests: 1, inputTokens: 20, cacheReadTokens: 900 },
        ...{ cacheCreationTokens: 70, outputTokens: 0 },
        // (20 × 3 + 900 × 0.30 + 70 × 3.75) / 10^6, and 990 × 3 / 10^6.
        ...{ cost: expect.closeTo(0.0005925, 10), uncachedCost: expect.closeTo(0.00297, 10) },
      }
      const first = {
        ...{ day: '2026-03-01', ...CLAUDE, requests: 1, inputTokens: 10, cacheReadTokens: 0 },
        ...{ cacheCreationTokens: 900, outputTokens: 50 },
        // (10 × 3 + 900 × 3.75 + 50 × 15) / 10^6, and (910 × 3 + 50 × 15) / 10^6.
        ...{ cost: expect.closeTo(0.004155, 10), uncachedCost: expect.closeTo(0.00348, 10) },
      }
      const unpriced = {
        ...{ day: '2026-03-02', provider: 'openai', model: 'none-such', requests: 1, inputTokens: 5 },
        ...{ cacheReadTokens: 0, cacheCreationTokens: 0, outputTokens: 7, cost: null, uncachedCost: null },
      }
      expect(await store.requests.costs()).toEqual({ requests: [second, unpriced, first], compactions: [] })

      // An hour east, both are of the second day; an hour west, of the first.
      const both = {
        ...{ ...CLAUDE, requests: 2, inputTokens: 30, cacheReadTokens: 900, cacheCreationTokens: 970 },
        ...{
          outputTokens: 50,
          cost: expect.closeTo(0.0047475, 10),
          uncachedCost: expect.closeTo(0.00645, 10),
        },
      }
      expect((await store.requests.costs({ utcOffsetMinutes: 60 })).requests).toEqual([
        { day: '2026-03-02', ...both },
        unpriced,
      ])
      expect((await store.requests.costs({ utcOffsetMinutes: -60 })).requests).toEqual([
        unpriced,
        { day: '2026-03-01', ...both },
      ])

      const noon = Date.parse('2026-03-01T12:00:00Z')
      const midnight = new Date('2026-03-02T00:00:00Z')
      expect((await store.requests.costs({ from: noon, to: midnight })).requests).toEqual([first])
      expect((await store.requests.costs({ from: midnight })).requests).toEqual([second, unpriced])
      expect((await store.requests.costs({ to: noon })).requests).toEqual([])
    })

    test('are of one session, or of all sessions that a store sees', async () => {
      const store = await open()
      const ann = store.forOwner('ann')
      const day = '2026-03-01T12:00:00Z'
      await ask(store, day, { inputTokens: 1 })
      await ask(store, day, { inputTokens: 2 }, { session: 'other', ...CLAUDE })
      await ask(ann, day, { inputTokens: 4 }, { session: 'hers', ...CLAUDE })
      const tokensOf = async (of: Store, session?: string): Promise<number[]> =>
        (await of.requests.costs({ session })).requests.map(({ inputTokens }) => inputTokens)
      expect(await tokensOf(store)).toEqual([7])
      expect(await tokensOf(store, S)).toEqual([1])
      expect(await tokensOf(ann)).toEqual([4])
      expect(await tokensOf(ann, 'hers')).toEqual([4])
      expect(await tokensOf(store.forOwner('bob'))).toEqual([])
      await refusal(ann.requests.costs({ session: S }), 'SESSION_NOT_FOUND')
      await refusal(store.requests.costs({ session: 'nobody' }), 'SESSION_NOT_FOUND')
    })

    test('leave out a request whose usage nobody reported', async () => {
      const store = await open()
      const request = await store.prepareRequest(S, { prompt: 'And?', ...CLAUDE })
      await store.recordResponse(S, { request, messages: [say('assistant', 'So.')] })
      expect(await store.requests.list(S)).toHaveLength(1)
      expect(await store.requests.costs()).toEqual({ requests: [], compactions: [] })
    })

    test('say what compactions saved and what their summaries cost', async () => {
      const store = await open()
      vi.useFakeTimers({ toFake: ['Date'], now: Date.parse('2026-03-01T12:00:00Z') })
      await store.append(S, chat(20, 500))
      const mine = { name: 'mine', usesModel: true }
      const usage = { inputTokens: 1_000, outputTokens: 100 }
      for (const [at, answer] of [
        { text: 'In short.', usage, cost: 0.25 },
        // 1,000 × 3 + 100 × 15 for a million.
        { text: 'In short.', usage, model: 'claude-sonnet-4' },
        { text: 'In short.', cost: 0.5 },
      ].entries()) {
        const range = { from: 4 * at + 1, to: 4 * at + 2 }
        await store.compactSession(S, { range, summarizer: { ...mine, summarize: () => answer } })
      }
      await store.compactSession(S, { range: { from: 20, to: 21 }, summary: 'Short.' })
      const made = await store.listCompactions(S)
      expect(made).toHaveLength(4)
      await store.undoCompaction(S, made[2]!.id)
      await store.compactions.hide(S, [(await store.getMessages(S)).at(-5)!.id])
      const hidden = (await store.listCompactions(S)).at(-1)!
      // A rewind saves nothing.
      await store.rewind(S, { from: { beforeMessage: 40 }, append: [say('user', units(5))] })
      const saved = (...all: readonly { tokensBefore: number; tokensAfter: number }[]): number =>
        all.reduce((sum, { tokensBefore, tokensAfter }) => sum + tokensBefore - tokensAfter, 0)
      const day = '2026-03-01'
      expect((await store.requests.costs({ session: S })).compactions).toEqual([
        { day, compactions: 1, tokensSaved: saved(hidden), cost: 0 },
        { day, summarizer: 'given', compactions: 1, tokensSaved: saved(made[3]!), cost: null },
        // The one that was undone was paid for.
        { day, summarizer: 'mine', compactions: 2, tokensSaved: saved(made[0]!, made[2]!), cost: 0.75 },
        {
          ...{ day, summarizer: 'mine', model: 'claude-sonnet-4', compactions: 1 },
          ...{ tokensSaved: saved(made[1]!), cost: expect.closeTo(0.0045, 10) },
        },
      ])
      expect(saved(...made)).toBeGreaterThan(4 * 900)
      // A fork copies compactions; they weren't paid for twice.
      await store.sessions.fork(S, { id: 'fork' })
      expect((await store.requests.costs({ session: 'fork' })).compactions).toEqual([])
    })

    test('refuse an offset that no clock has, and unknown options', async () => {
      const store = await open()
      for (const options of [
        ...[{ utcOffsetMinutes: 841 }, { utcOffsetMinutes: 0.5 }, { from: 'today' }, { session: '' }],
        ...[{ to: new Date(Number.NaN) }, { owner: 'ann' }],
      ])
        await refusal(store.requests.costs(options as never), 'INVALID_INPUT')
      const most = { from: -Number.MAX_SAFE_INTEGER, to: Number.MAX_SAFE_INTEGER, utcOffsetMinutes: 840 }
      expect(await store.requests.costs(most)).toEqual({ requests: [], compactions: [] })
    })
  })
}
