import { describe, expect, test } from 'vitest'
import { PRUNE_PLACEHOLDER } from '../../../src/compat/arrays/index.ts'
import { call, calls, failure, result, say, units } from '../../support/conversation.ts'
import { appendAll, type Contract, historyTokens, ONLY, S, standing, texts } from './support.ts'

/** Three results of 100 units each (115 tokens) under a request. The placeholder has 21 characters: 6 units, 7 tokens. */
const THREE_RESULTS = [
  say('user', units(1)),
  call('a', 'search'),
  result('a', units(100, 'a')),
  call('b', 'search'),
  result('b', units(100, 'b')),
  call('c', 'search'),
  result('c', units(100, 'c')),
  say('assistant', units(1)),
]
const A = units(100, 'a')
const B = units(100, 'b')
const C = units(100, 'c')

export function describePrune({ open }: Contract): void {
  describe('prune', () => {
    const prune = { ...ONLY.prune, targetTokens: 0, pruneProtectTokens: 0, pruneMinimumSavings: 0 }
    const results = async (store: Awaited<ReturnType<typeof open>>): Promise<string[]> => {
      const all = await texts(store)
      return [2, 4, 6].map((index) => all[index]!)
    }

    test('replaces old results by the placeholder and counts what is left', async () => {
      const store = await open()
      await appendAll(store, THREE_RESULTS)
      const run = await store.compactSession(S, prune)
      expect(await results(store)).toEqual([PRUNE_PLACEHOLDER, PRUNE_PLACEHOLDER, PRUNE_PLACEHOLDER])
      // Units: 1 + 1 of text, 3 × (2 for "search" + 1 for "{}") of calls, 3 × 100 of results.
      expect(run!.tokensBefore).toBe(historyTokens(2 + 9 + 300, 8))
      expect(run!.tokensAfter).toBe(historyTokens(2 + 9 + 18, 8))
      expect(run!.tokensSaved).toBe(run!.tokensBefore - run!.tokensAfter)
      expect(run!).toMatchObject({ compacted: true, stagesUsed: ['prune'], reachedTarget: false, fits: true })
      expect(run!.compactions).toMatchObject([
        { kind: 'prune', rowsHidden: 0, partsReplaced: 3, rowsInserted: 0 },
      ])
    })

    test('protects the newest results until they reach the protected tokens', async () => {
      const store = await open()
      await appendAll(store, THREE_RESULTS)
      // The newest brings the protected sum from 0 to 115: not below 115 any more, so the next one may go.
      await store.compactSession(S, { ...prune, pruneProtectTokens: 115 })
      expect(await results(store)).toEqual([PRUNE_PLACEHOLDER, PRUNE_PLACEHOLDER, C])
    })

    test('protects one more when one token more is protected', async () => {
      const store = await open()
      await appendAll(store, THREE_RESULTS)
      await store.compactSession(S, { ...prune, pruneProtectTokens: 116 })
      expect(await results(store)).toEqual([PRUNE_PLACEHOLDER, B, C])
    })

    test('acts when it saves exactly the minimum, and not below it', async () => {
      const store = await open()
      await appendAll(store, THREE_RESULTS)
      // Each saves 115 - 7 = 108.
      const idle = await store.compactSession(S, { ...prune, pruneMinimumSavings: 325 })
      expect(idle).toMatchObject({ compacted: false, stagesUsed: [], reason: 'NO_PROGRESS', tokensSaved: 0 })
      expect(await results(store)).toEqual([A, B, C])
      const run = await store.compactSession(S, { ...prune, pruneMinimumSavings: 324 })
      expect(run!.compacted).toBe(true)
    })

    test('does nothing when the history is already within the target', async () => {
      const store = await open()
      await appendAll(store, THREE_RESULTS)
      const exact = historyTokens(311, 8)
      expect(await store.compactSession(S, { ...prune, targetTokens: exact })).toMatchObject({
        compacted: false,
        reason: 'NOTHING_TO_COMPACT',
        reachedTarget: true,
        targetTokens: exact,
      })
      const run = await store.compactSession(S, { ...prune, targetTokens: exact - 1 })
      expect(run).toMatchObject({ compacted: true, reachedTarget: true })
    })

    test('leaves protected tools alone, by the name of the call or of the result', async () => {
      const store = await open()
      await appendAll(store, [
        say('user', 'go'),
        call('a', 'skill'),
        result('a', A),
        call('b', 'search'),
        result('b', B, 'skill'),
        call('c', 'search'),
        result('c', C),
        say('assistant', 'done'),
      ])
      await store.compactSession(S, prune)
      expect(await results(store)).toEqual([A, B, PRUNE_PLACEHOLDER])
      await store.compactSession(S, { ...prune, pruneProtectedTools: [] })
      expect(await results(store)).toEqual([PRUNE_PLACEHOLDER, PRUNE_PLACEHOLDER, PRUNE_PLACEHOLDER])
    })

    test('leaves failed, pinned and small results alone', async () => {
      const store = await open()
      const ids = await appendAll(store, [
        say('user', 'go'),
        call('a', 'run'),
        failure('a', A),
        call('b', 'run'),
        result('b', B),
        call('c', 'run'),
        // 24 characters: 6 units, as many as the placeholder.
        result('c', 'x'.repeat(24)),
        call('d', 'run'),
        // 25 characters: 7 units, ceil(8.05) = 9 tokens against 7.
        result('d', 'y'.repeat(25)),
        say('assistant', 'done'),
      ])
      await store.messages.pin(S, [ids[4]!])
      await store.compactSession(S, prune)
      const all = await texts(store)
      expect([all[2], all[4], all[6], all[8]]).toEqual([A, B, 'x'.repeat(24), PRUNE_PLACEHOLDER])
    })

    test('leaves the results of a batch alone of which a call still waits', async () => {
      const store = await open()
      await appendAll(store, [
        say('user', 'go'),
        call('z', 'run'),
        result('z', C),
        calls(['a', 'run'], ['b', 'run']),
        result('a', A),
      ])
      await store.compactSession(S, prune)
      const all = await texts(store)
      expect([all[2], all[4]]).toEqual([PRUNE_PLACEHOLDER, A])
    })

    test('shows another placeholder on request', async () => {
      const store = await open()
      await appendAll(store, THREE_RESULTS)
      await store.compactSession(S, { ...prune, prunePlaceholder: '[gone]' })
      expect(await results(store)).toEqual(['[gone]', '[gone]', '[gone]'])
    })

    test('a second run finds nothing more, and its undo is exact', async () => {
      const store = await open()
      await appendAll(store, THREE_RESULTS)
      const before = await standing(store)
      const run = await store.compactSession(S, prune)
      const idle = await store.compactSession(S, prune)
      expect(idle).toMatchObject({ compacted: false, reason: 'NO_PROGRESS' })
      await store.undoCompaction(S, run!.runId)
      expect(await standing(store)).toEqual(before)
    })

    test('defaults scale to a small window', async () => {
      const store = await open()
      // gpt-4: window 8,192, reserve floor(8192 × 0.35) = 2,867, available 5,325: protect 1,331, minimum 532.
      const big = units(1_200)
      await appendAll(store, [
        say('user', 'go'),
        call('a', 'run'),
        result('a', big),
        call('b', 'run'),
        result('b', big),
        say('assistant', 'done'),
      ])
      const run = await store.compactSession(S, { ...ONLY.prune, targetTokens: 0, model: 'gpt-4' })
      // b: 1,380 tokens, protected (0 < 1,331); a: saves 1,380 - 7 = 1,373 ≥ 532.
      expect(run!.compacted).toBe(true)
      expect((await texts(store))[2]).toBe(PRUNE_PLACEHOLDER)
      expect((await texts(store))[4]).toBe(big)
    })

    test('images in a result go with it and are counted', async () => {
      const store = await open()
      await appendAll(store, [
        say('user', 'go'),
        call('a', 'shot'),
        {
          role: 'tool',
          content: [
            {
              type: 'tool-result',
              toolCallId: 'a',
              output: { type: 'content', value: [{ type: 'image', image: 'aGk=' }] },
            },
          ],
        },
        say('assistant', 'nice'),
      ])
      const run = await store.compactSession(S, prune)
      // "go" 1, "shot" 1, "{}" 1, "nice" 1, and 1,024 for the image; after it 6 for the placeholder.
      expect(run!.tokensBefore).toBe(historyTokens(4, 4) + 1_024)
      expect(run!.tokensAfter).toBe(historyTokens(10, 4))
      await store.undoCompaction(S, run!.runId)
      expect((await store.getContextStats(S))!.breakdown.conversationHistory).toBe(run!.tokensBefore)
    })
  })
}
