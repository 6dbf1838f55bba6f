import { describe, expect, test } from 'vitest'
import { chat, say, units } from '../../support/conversation.ts'
import { appendAll, type Contract, historyTokens, refusal, S, shape } from './support.ts'

export function describeUndoIfFits({ open, keeps }: Contract): void {
  describe('undoIfFits', () => {
    /** Four summaries of ten messages each; 40 messages of 100 units, 4,784 tokens in all, for openai. */
    const fourSummaries = async (store: Awaited<ReturnType<typeof open>>): Promise<string[]> => {
      await appendAll(
        store,
        Array.from({ length: 40 }, (_, at) => say(at % 2 === 0 ? 'user' : 'assistant', units(100))),
      )
      const ids: string[] = []
      for (const from of [1, 11, 21, 31]) {
        const run = await store.compactSession(S, { range: { from, to: from + 9 }, summary: 'Ten.' })
        ids.push(run!.compactions[0]!.id)
      }
      return ids
    }
    /** With so many summaries left: each is one unit, each ten messages 1,000. */
    const tokensWith = (summaries: number): number =>
      historyTokens(summaries + (4 - summaries) * 1_000, summaries + (4 - summaries) * 10)

    test('undoes newest first, as many as fit, and names the next one [F5-09]', async () => {
      const store = await open()
      const ids = await fourSummaries(store)
      // Room for two and a half of them at 40 %.
      const available = Math.ceil((tokensWith(2) + 595) / 0.4)
      const pending = { maxOutputTokens: 128_000 - available }
      const result = await store.undoCompaction(S, {
        ifFits: { ...pending, actor: 'anna', reason: 'a larger model' },
      })
      expect(result).toMatchObject({
        changed: true,
        compactionIds: [ids[3], ids[2]],
        rows: 20,
        parts: 0,
        limitTokens: Math.floor(available * 0.4),
        before: { estimatedInputTokens: tokensWith(4) },
        after: { estimatedInputTokens: tokensWith(2) },
        next: { compactionId: ids[1], estimatedInputTokens: tokensWith(1) },
        blocked: [],
      })
      expect(await shape(store)).toEqual([
        'summary',
        'summary',
        ...Array.from({ length: 20 }, (_, i) => 21 + i),
      ])
      expect(await store.getContextStats(S, undefined, undefined, pending)).toEqual(result.after)
      expect(await store.needsCompaction(S, undefined, undefined, pending)).toBe(false)
      // A second time there is nothing more.
      const again = await store.undoCompaction(S, { ifFits: pending })
      expect(again).toMatchObject({ changed: false, compactionIds: [], next: { compactionId: ids[1] } })
      if (keeps.audit) {
        const log = (await store.sessions.audit(S)).filter(({ event }) => event === 'undone')
        expect(log.map(({ compactionId, actor, detail }) => [compactionId, actor, detail?.reason])).toEqual([
          [ids[3], 'anna', 'a larger model'],
          [ids[2], 'anna', 'a larger model'],
        ])
      }
      // Last first they go back on.
      const view = await store.getEffectiveHistory(S)
      for (const id of [...result.compactionIds].reverse()) await store.redoCompaction(S, id)
      expect(await shape(store)).toEqual(['summary', 'summary', 'summary', 'summary'])
      for (const id of result.compactionIds) await store.undoCompaction(S, id)
      expect(await store.getEffectiveHistory(S)).toEqual(view)
    })

    test('with room for everything undoes everything, outer ones before inner ones [F5-09]', async () => {
      const store = await open()
      await appendAll(store, chat(6))
      const original = await store.getEffectiveHistory(S)
      const ids: string[] = []
      for (const to of [4, 6, 8]) {
        const run = await store.compactSession(S, { range: { from: 1, to }, summary: 'So far.' })
        ids.push(run!.compactions[0]!.id)
      }
      const result = await store.undoCompaction(S, { ifFits: { provider: 'openai', model: 'gpt-4.1' } })
      expect(result.compactionIds).toEqual([...ids].reverse())
      expect(result).not.toHaveProperty('next')
      expect(await store.getEffectiveHistory(S)).toEqual(original)
      for (const id of ids) await store.redoCompaction(S, id)
      expect(await shape(store)).toEqual(['summary', 9, 10, 11, 12])
    })

    test('what is about to be sent counts, and a target and a threshold do', async () => {
      const store = await open()
      await fourSummaries(store)
      const available = 15_000
      const pending = { maxOutputTokens: 128_000 - available }
      // 6,000 tokens at 40 %: all 4,784 fit, and with 3,000 more of a prompt three of four summaries stay.
      const prompt = 'x'.repeat(4 * 2_600)
      const first = await store.undoCompaction(S, { ifFits: { ...pending, prompt: prompt } })
      expect(first.before.breakdown.currentPrompt).toBe(2_990 + 4)
      expect(first.compactionIds).toHaveLength(2)
      expect(first.after.estimatedInputTokens).toBe(tokensWith(2) + 2_994)
      expect(
        (await store.undoCompaction(S, { ifFits: { ...pending, target: 0.2 } })).compactionIds,
      ).toHaveLength(0)
      expect(
        (await store.undoCompaction(S, { ifFits: { ...pending, threshold: 0.2 } })).compactionIds,
      ).toHaveLength(0)
      expect(
        (await store.undoCompaction(S, { ifFits: { ...pending, target: 0.27 } })).compactionIds,
      ).toHaveLength(1)
      expect((await store.undoCompaction(S, { ifFits: pending })).compactionIds).toHaveLength(1)
    })

    test('leaves alone what was hidden manually, and what is beneath it', async () => {
      const store = await open()
      const ids = await appendAll(store, chat(6))
      await store.compactSession(S, { range: { from: 1, to: 4 }, summary: 'First.' })
      const manual = await store.compactions.hide(S, [ids[6]!])
      const last = await store.compactSession(S, { range: { from: 9, to: 10 }, summary: 'Second.' })
      const result = await store.undoCompaction(S, { ifFits: {} })
      expect(result.compactionIds).toHaveLength(2)
      expect(result.compactionIds[0]).toBe(last!.compactions[0]!.id)
      expect(await store.compactions.get(S, manual.id)).toMatchObject({ status: 'active' })
      expect(await shape(store)).toEqual([1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12])
      expect((await store.undoCompaction(S, { ifFits: { kinds: ['manual'] } })).compactionIds).toEqual([
        manual.id,
      ])
      expect((await store.undoCompaction(S, { ifFits: { kinds: [] } })).changed).toBe(false)
    })

    test('of kinds asked for, those others build on are named', async () => {
      const store = await open()
      const ids = await appendAll(store, chat(6))
      const inner = await store.compactSession(S, { range: { from: 2, to: 5 }, summary: 'Inner.' })
      // Its span encloses what the summary hides.
      const manual = await store.compactions.hide(S, [ids[0]!, ids[6]!])
      const result = await store.undoCompaction(S, { ifFits: {} })
      expect(result).toMatchObject({ changed: false, blocked: [inner!.compactions[0]!.id] })
      const all = await store.undoCompaction(S, { ifFits: { kinds: ['manual', 'condense'] } })
      expect(all.compactionIds).toEqual([manual.id, inner!.compactions[0]!.id])
    })

    test('when the request does not fit as it is, nothing is undone', async () => {
      const store = await open()
      await fourSummaries(store)
      const before = await store.getEffectiveHistory(S)
      const result = await store.undoCompaction(S, { ifFits: { maxOutputTokens: 127_990 } })
      expect(result).toMatchObject({ changed: false, compactionIds: [], limitTokens: 4, blocked: [] })
      expect(result).not.toHaveProperty('next')
      expect(await store.getEffectiveHistory(S)).toEqual(before)
      await store.sessions.create({ id: 'empty' })
      expect(await store.undoCompaction('empty', { ifFits: {} })).toMatchObject({ changed: false })
      await refusal(store.undoCompaction('nobody', { ifFits: {} }), 'SESSION_NOT_FOUND')
    })
  })
}
