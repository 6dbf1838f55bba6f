import { describe, expect, test } from 'vitest'
import type { CompactOptions, NewMessage, Part, Stage, Store } from '../../../src/index.ts'
import { say, units } from '../../support/conversation.ts'
import { appendAll, type Contract, S } from './support.ts'

/** 20 messages of 100 units, 100 × 1.15 + 4 = 119 tokens each by `neurolink` for openai. */
const TALK = Array.from({ length: 20 }, (_, at) => say(at % 2 === 0 ? 'user' : 'assistant', units(100)))
const TRUNCATES = { enablePrune: false, enableDeduplicate: false, enableSummarize: false } as const
/** Truncation spares the first exchange. */
const KEPT = 2 * 119

/** What a run does to a provider's prompt cache, and runs that are not worth it. */
export function describePromptCache({ open, keeps }: Contract): void {
  describe('the prompt cache', () => {
    const filled = async (): Promise<{ store: Store; ids: string[] }> => {
      const store = await open()
      return { store, ids: await appendAll(store, TALK) }
    }

    test('a run reports the first row it changes, and the cached tokens that it invalidates', async () => {
      const { store, ids } = await filled()
      const options: CompactOptions = { ...TRUNCATES, targetTokens: 1_500 }
      const preview = await store.previewCompaction(S, options)
      // All but the newest answer was in the last request.
      const expected = {
        position: 3,
        index: 2,
        messageId: ids[2],
        tokensBefore: KEPT,
        cachedTokens: 19 * 119,
        tokensGivenUp: 17 * 119,
        source: 'assumed',
      }
      expect(preview!.firstChanged).toEqual(expected)
      const run = await store.compactSession(S, options)
      expect(run!.firstChanged).toEqual(expected)
      const before = (await store.getMessages(S)).filter(({ position }) => position !== undefined)
      const after = await store.getEffectiveHistory(S)
      // Not a byte before it is another.
      expect(after.slice(0, 2).map(({ id }) => id)).toEqual(before.slice(0, 2).map(({ id }) => id))
      expect(after[2]!.kind).toBe('marker')
    })

    test('goes by what the provider reported of the cache', async () => {
      const { store } = await filled()
      const options: CompactOptions = { ...TRUNCATES, targetTokens: 1_500 }
      await store.requests.recordUsage(S, {
        inputTokens: 1_000,
        cacheReadTokens: 800,
        cacheCreationTokens: 485,
      })
      const seen = (await store.previewCompaction(S, options))!.firstChanged!
      // 2,285 reported of 19 messages estimated at 2,285 and 24 for the conversation: nothing is unseen, no ratio is known.
      expect(seen).toMatchObject({ source: 'reported', cachedTokens: 1_285, tokensGivenUp: 1_285 - KEPT })
      await store.requests.recordUsage(S, { inputTokens: 2_285, cacheReadTokens: 0, cacheCreationTokens: 0 })
      expect((await store.previewCompaction(S, options))!.firstChanged).toMatchObject({
        source: 'reported',
        cachedTokens: 0,
        tokensGivenUp: 0,
      })
    })

    test('forgets what was reported with the view it is of, and of other models', async () => {
      const { store, ids } = await filled()
      const options: CompactOptions = { ...TRUNCATES, targetTokens: 1_200 }
      await store.requests.recordUsage(S, { inputTokens: 2_285, cacheReadTokens: 0 })
      expect((await store.previewCompaction(S, { ...options, model: 'gpt-4o' }))!.firstChanged!.source).toBe(
        'assumed',
      )
      expect((await store.previewCompaction(S, options))!.firstChanged!.source).toBe('reported')
      await store.compactions.hide(S, [ids[10]!])
      expect((await store.previewCompaction(S, options))!.firstChanged!.source).toBe('assumed')
    })

    test('is not reported when nothing changes', async () => {
      const { store } = await filled()
      const run = await store.compactSession(S, { targetTokens: 50_000 })
      expect(run!.firstChanged).toBeUndefined()
      expect(run!.reason).toBe('NOTHING_TO_COMPACT')
      const preview = await store.previewCompaction(S, { targetTokens: 50_000 })
      expect(preview!.firstChanged).toBeUndefined()
    })
  })

  describe('reasoning that a run makes invalid', () => {
    const CHECKS = { provider: 'anthropic', model: 'claude-opus-5-5' } as const
    const SIGNATURE = { anthropic: { signature: 'sig' } }
    const thought = (size: number, providerOptions?: typeof SIGNATURE): Part => ({
      type: 'reasoning',
      text: units(size, 'r'),
      ...(providerOptions && { providerOptions }),
    })
    /** 39 characters of JSON: 10 units. */
    const redacted: Part = {
      type: 'provider',
      provider: 'anthropic',
      data: { type: 'redacted_thinking', data: 'x' },
    }
    const text: Part = { type: 'text', text: units(50) }
    const answer = (...content: Part[]): NewMessage => ({ role: 'assistant', content })
    /** Five exchanges. What has no signature was not sent before either. */
    const THINKING: readonly NewMessage[] = [
      say('user', units(50)),
      answer(thought(10, SIGNATURE), text),
      say('user', units(50)),
      answer(thought(10, SIGNATURE), text),
      say('user', units(50)),
      answer(thought(10, SIGNATURE), text),
      say('user', units(50)),
      answer(thought(10, SIGNATURE), thought(20), text),
      say('user', units(50)),
      answer(thought(10, SIGNATURE), redacted, text),
    ]
    /** The second and the third exchange. */
    const RANGE = { range: { from: 3, to: 6 }, summary: 'Two questions.' } as const

    test('is what stays after the first change, in the preview and in the result', async () => {
      const store = await open()
      await appendAll(store, THINKING)
      // 10 units in the fourth exchange, 10 and 10 in the fifth; 30 × 1.23 × 1.15 = 42.4.
      const lost = { blocks: 3, tokens: 43 }
      const preview = await store.previewCompaction(S, { ...CHECKS, ...RANGE })
      expect(preview!.invalidatedReasoning).toEqual(lost)
      expect((await store.compactSession(S, preview!))!.invalidatedReasoning).toEqual(lost)
    })

    test('is not reported for other models, and when nothing changes', async () => {
      const store = await open()
      await appendAll(store, THINKING)
      for (const model of ['claude-opus-4-8', 'claude-opus-5'])
        expect(
          await store.previewCompaction(S, { ...RANGE, provider: 'anthropic', model }),
        ).not.toHaveProperty('invalidatedReasoning')
      expect(await store.compactSession(S, { ...CHECKS, targetTokens: 50_000 })).not.toHaveProperty(
        'invalidatedReasoning',
      )
    })

    test('is not what the run itself leaves out from the beginning', async () => {
      const store = await open()
      await appendAll(store, THINKING)
      const run = await store.compactSession(S, { ...CHECKS, stages: ['drop_reasoning'], targetTokens: 0 })
      expect(run!.compactions[0]!.partsReplaced).toBe(5)
      expect(run!.invalidatedReasoning).toEqual({ blocks: 0, tokens: 0 })
    })

    test('of what stays on both sides of a gap, is the smaller part', async () => {
      const store = await open()
      const ids = await appendAll(store, THINKING)
      await store.messages.pin(S, [ids[3]!])
      // The second block stays; the third and fourth go; the fifth and its redacted one stay. Without a gap these are sent, not the second: 10 units × 1.23 × 1.15 = 14.1.
      const run = await store.compactSession(S, { ...CHECKS, stages: ['drop_reasoning'], targetTokens: 0 })
      expect(run!.compactions[0]!.partsReplaced).toBe(4)
      expect(run!.invalidatedReasoning).toEqual({ blocks: 1, tokens: 15 })
    })

    test('is only what follows the changed part within its message', async () => {
      const store = await open()
      await appendAll(store, [
        ...THINKING.slice(0, 1),
        answer(thought(10, SIGNATURE), text, thought(5, SIGNATURE), text),
        ...THINKING.slice(2, 4),
      ])
      const stage: Stage = {
        name: 'shorten',
        plan: ({ rows }) => ({ replace: [{ row: rows[1]!, part: 1, text: 'short' }] }),
      }
      // 5 and 10 units × 1.23 × 1.15 = 21.2.
      const run = await store.compactSession(S, { ...CHECKS, stages: [stage], targetTokens: 0 })
      expect(run!.invalidatedReasoning).toEqual({ blocks: 2, tokens: 22 })
    })

    test.runIf(keeps.audit)(
      'is not what an earlier run made invalid already, until that is undone',
      async () => {
        const store = await open()
        await appendAll(store, THINKING)
        const first = await store.compactSession(S, { ...CHECKS, ...RANGE })
        await appendAll(store, THINKING.slice(0, 4))
        // The fourth exchange goes. The fifth cannot be sent since the first run; two exchanges are new: 20 units × 1.23 × 1.15 = 28.3.
        const again = { range: { from: 7, to: 8 }, summary: 'A question.', ...CHECKS } as const
        expect((await store.previewCompaction(S, again))!.invalidatedReasoning).toEqual({
          blocks: 2,
          tokens: 29,
        })
        await store.undoCompaction(S, first!.runId)
        // Now the fifth can be sent again, with its redacted block, and what was written in between cannot: 20 units.
        expect((await store.previewCompaction(S, again))!.invalidatedReasoning).toEqual({
          blocks: 2,
          tokens: 29,
        })
      },
    )

    test('is nothing where no message of the model follows', async () => {
      const store = await open()
      await appendAll(store, [...THINKING.slice(0, 2), say('user', units(900))])
      const stage: Stage = {
        name: 'shorten',
        plan: ({ rows }) => ({ replace: [{ row: rows[2]!, part: 0, text: 'short' }] }),
      }
      const run = await store.compactSession(S, { ...CHECKS, stages: [stage], targetTokens: 0 })
      expect(run!.invalidatedReasoning).toEqual({ blocks: 0, tokens: 0 })
    })
  })

  describe('a run that saves too little', () => {
    // 5 % of 2,404 tokens are 120. Two messages are 238, of which what is written again takes some 220.
    const LITTLE: CompactOptions = { ...TRUNCATES, targetTokens: 2_200 }
    const MORE: CompactOptions = { ...TRUNCATES, targetTokens: 1_600 }

    test('is not made automatically, and writes nothing', async () => {
      const store = await open()
      await appendAll(store, TALK)
      const before = await store.sessions.get(S)
      const run = await store.compactSession(S, { ...LITTLE, trigger: 'auto' })
      expect(run).toMatchObject({
        compacted: false,
        reason: 'SAVES_TOO_LITTLE',
        tokensSaved: 0,
        compactions: [],
        stagesUsed: [],
        reachedTarget: false,
        fits: true,
      })
      expect(await store.sessions.get(S)).toEqual(before)
      expect(await store.listCompactions(S)).toEqual([])
      const preview = await store.previewCompaction(S, { ...LITTLE, trigger: 'auto' })
      expect(preview).toMatchObject({ compacted: false, reason: 'SAVES_TOO_LITTLE', compactions: [] })
    })

    test('is made on request, unless the call itself sets how much it must save', async () => {
      const store = await open()
      await appendAll(store, TALK)
      const asked = await store.compactSession(S, { ...LITTLE, minimumSavings: 2_000 })
      expect(asked!.reason).toBe('SAVES_TOO_LITTLE')
      expect((await store.compactSession(S, LITTLE))!.compacted).toBe(true)
    })

    test('counts what is written into the cache again', async () => {
      const store = await open()
      await appendAll(store, TALK)
      const options: CompactOptions = { ...MORE, trigger: 'auto' }
      const planned = (await store.previewCompaction(S, { ...options, minimumSavings: 0 }))!
      const { tokensSaved, tokensAfter, firstChanged } = planned
      // What stays behind the change was cached but for the marker: at most all of it is written again, at 0.115 tokens each.
      const rewritten = Math.min(tokensAfter - KEPT, firstChanged!.tokensGivenUp)
      const worth = tokensSaved - 0.115 * rewritten
      expect(worth).toBeGreaterThan(100)
      const just = { ...options, minimumSavings: Math.floor(worth) }
      const more = { ...options, minimumSavings: Math.ceil(worth) + 1 }
      expect((await store.previewCompaction(S, more))!.reason).toBe('SAVES_TOO_LITTLE')
      expect((await store.previewCompaction(S, just))!.compacted).toBe(true)
      // Where nothing is cached, nothing is given up: what is saved is what counts.
      await store.requests.recordUsage(S, { inputTokens: 2_285, cacheReadTokens: 0, cacheCreationTokens: 0 })
      const plain = (await store.previewCompaction(S, { ...options, minimumSavings: 0 }))!.tokensSaved
      expect((await store.previewCompaction(S, { ...options, minimumSavings: plain }))!.compacted).toBe(true)
    })

    test('is made when the request would not fit otherwise, and after an overflow', async () => {
      for (const call of [
        { trigger: 'auto', contextWindowTarget: 2_100 },
        { trigger: 'overflow', minimumSavings: 5_000 },
      ] as const) {
        const store = await open()
        await appendAll(store, TALK)
        const run = await store.compactSession(S, { ...LITTLE, ...call })
        expect(run!.compacted).toBe(true)
        expect(run!.reason).toBeUndefined()
      }
    })

    test('asks no model for a summary that could not make it worth it, and keeps one it has paid for', async () => {
      const store = await open()
      await appendAll(store, TALK)
      let asked = 0
      const summarizer = {
        name: 'mine',
        usesModel: true,
        summarize: () => {
          asked += 1
          return { text: units(300) }
        },
      }
      const options: CompactOptions = {
        enablePrune: false,
        enableDeduplicate: false,
        enableTruncate: false,
        targetTokens: 1_200,
        keepRecentTokens: 600,
        trigger: 'auto',
        summarizer,
      }
      const held = await store.compactSession(S, { ...options, minimumSavings: 5_000 })
      expect(held!.reason).toBe('SAVES_TOO_LITTLE')
      expect(asked).toBe(0)
      // An empty answer would save more than this; the one that comes does not.
      const paid = await store.compactSession(S, { ...options, minimumSavings: 1_600 })
      expect(asked).toBe(1)
      expect(paid!.tokensSaved).toBeGreaterThan(0)
      expect(paid!.tokensSaved).toBeLessThan(1_600)
      expect(paid!.compacted).toBe(true)
    })
  })
}
