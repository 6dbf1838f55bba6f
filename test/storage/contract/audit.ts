import { describe, expect, test } from 'vitest'
import { chat, say } from '../../support/conversation.ts'
import { appendAll, type Contract, fakeModel, historyTokens, ONLY, refusal, S } from './support.ts'

export function describeAudit({ open, keeps }: Contract): void {
  describe('the audit', () => {
    test('tells everything of a compaction', async () => {
      const store = await open()
      await appendAll(store, chat(6))
      const start = Date.now()
      const run = await store.compactSession(S, {
        ...ONLY.summarize,
        targetTokens: 100,
        keepRecentTokens: 64,
        summarizer: fakeModel('Short.', {
          model: 'big-1',
          promptVersion: '3',
          cost: 0.25,
          usage: { inputTokens: 200, outputTokens: 7 },
        }),
        trigger: 'auto',
        actor: 'anna',
        reason: 'too full',
      })
      const [compaction] = await store.listCompactions(S)
      const { incarnation } = await store.sessions.get(S)
      expect(compaction).toMatchObject({
        id: run!.compactions[0]!.id,
        runId: run!.runId,
        kind: 'condense',
        status: 'active',
        trigger: 'auto',
        actor: 'anna',
        reason: 'too full',
        rowsHidden: 8,
        partsReplaced: 0,
        rowsInserted: 1,
        insertedIds: [`${incarnation}:s1`],
        tokensBefore: historyTokens(120, 12),
        tokensAfter: historyTokens(40 + 2, 5),
        summarizer: 'fake',
        coverage: {
          hidden: { positions: [[1, 8]], inserted: [] },
          beside: { positions: [], inserted: [] },
          inserted: { anchor: 8, ordinal: 1 },
          openCalls: false,
        },
      })
      expect(await store.compactions.get(S, compaction!.id)).toEqual(compaction)
      if (!keeps.audit) return
      expect(compaction).toMatchObject({
        model: 'big-1',
        promptVersion: '3',
        cost: 0.25,
        usage: { inputTokens: 200, outputTokens: 7 },
        error: undefined,
      })
      expect(compaction!.createdAt).toBeGreaterThanOrEqual(start - 1)
      expect(compaction!.changedAt).toBeGreaterThanOrEqual(compaction!.createdAt)
    })

    test('lists all compactions, or those of a run, oldest first', async () => {
      const store = await open()
      await appendAll(store, chat(8))
      const first = await store.compactSession(S, { range: { from: 1, to: 4 }, summary: 'x' })
      const second = await store.compactSession(S, { range: { from: 5, to: 8 }, summary: 'x' })
      await store.undoCompaction(S, first!.runId)
      expect((await store.listCompactions(S)).map(({ runId, status }) => [runId, status])).toEqual([
        [first!.runId, 'undone'],
        [second!.runId, 'active'],
      ])
      expect(await store.listCompactions(S, { runId: second!.runId })).toHaveLength(1)
      expect(await store.listCompactions(S, { runId: 'nobody' })).toEqual([])
      await refusal(store.compactions.get(S, 'nobody'), 'COMPACTION_NOT_FOUND')
      await refusal(store.compactions.get(S, first!.runId), 'COMPACTION_NOT_FOUND')
      await refusal(store.listCompactions('nobody'), 'SESSION_NOT_FOUND')
    })

    test('chunks of one summary cost together', async () => {
      const store = await open()
      await appendAll(store, chat(8, 100))
      const summarizer = fakeModel('Short.', {
        cost: 0.25,
        usage: { inputTokens: 100, outputTokens: 10 },
        maxInputTokens: 600,
      })
      await store.compactSession(S, { ...ONLY.summarize, targetTokens: 0, keepRecentTokens: 240, summarizer })
      if (!keeps.audit) return
      const count = summarizer.requests.length
      expect(count).toBeGreaterThan(1)
      expect((await store.listCompactions(S))[0]).toMatchObject({
        cost: 0.25 * count,
        usage: { inputTokens: 100 * count, outputTokens: 10 * count },
      })
    })

    test.skipIf(!keeps.audit)('logs what happened, in pages', async () => {
      const store = await open()
      const ids = await appendAll(store, chat(6))
      await store.messages.pin(S, [ids[10]!], { actor: 'anna', reason: 'dear' })
      const run = await store.compactSession(S, { range: { from: 1, to: 8 }, summary: 'x', actor: 'bert' })
      const id = run!.compactions[0]!.id
      await store.undoCompaction(S, run!.runId, { actor: 'carl', reason: 'wrong' })
      await store.redoCompaction(S, id)
      const log = await store.sessions.audit(S)
      expect(log.map(({ event, compactionId, runId, actor }) => [event, compactionId, runId, actor])).toEqual(
        [
          ['pinned', undefined, undefined, 'anna'],
          ['created', id, run!.runId, 'bert'],
          ['run undone', undefined, run!.runId, 'carl'],
          ['undone', id, run!.runId, 'carl'],
          ['redone', id, run!.runId, undefined],
        ],
      )
      expect(log[0]!.detail).toEqual({ count: 1, messageIds: [ids[10]], reason: 'dear' })
      expect(log[1]!.detail).toMatchObject({
        kind: 'condense',
        rows: 8,
        tokensBefore: historyTokens(120, 12),
      })
      expect(log[3]!.detail).toMatchObject({ reason: 'wrong', rows: 8 })
      expect(log.every(({ at }) => Math.abs(at - Date.now()) < 60_000)).toBe(true)
      expect(await store.sessions.audit(S, { limit: 2 })).toEqual(log.slice(0, 2))
      expect(await store.sessions.audit(S, { after: log[1]!.no, limit: 2 })).toEqual(log.slice(2, 4))
      expect(await store.sessions.audit(S, { after: log.at(-1)!.no })).toEqual([])
      await refusal(store.sessions.audit('nobody'), 'SESSION_NOT_FOUND')
    })

    test.skipIf(!keeps.audit)('contains no text of the conversation', async () => {
      const store = await open()
      await appendAll(store, [say('user', 'SECRET'), ...chat(6), say('assistant', 'SECRET')])
      await store.compactSession(S, { range: { from: 1, to: 7 }, summary: 'A SECRET.' })
      await store.compactSession(S, { ...ONLY.truncate, targetTokens: 100 })
      expect(JSON.stringify(await store.sessions.audit(S))).not.toContain('SECRET')
      expect(JSON.stringify(await store.listCompactions(S))).not.toContain('SECRET')
    })

    test.skipIf(!keeps.audit)('stays small however much it covers', async () => {
      const store = await open()
      // Every other message is pinned, so that what is hidden is no single range.
      const ids = await appendAll(
        store,
        Array.from({ length: 10_000 }, (_, at) => say(at % 2 === 0 ? 'user' : 'assistant', 'x')),
      )
      const odd = ids.filter((_, at) => at % 2 === 1)
      await store.messages.pin(S, odd)
      await store.compactions.hide(
        S,
        ids.filter((_, at) => at % 4 === 0),
      )
      await store.messages.unpin(S, odd)
      const run = await store.compactSession(S, { range: { from: 1, to: 10_000 }, summary: 'x' })
      await store.undoCompaction(S, run!.runId)
      await store.redoCompaction(S, run!.runId)
      for (const entry of await store.sessions.audit(S))
        expect(JSON.stringify(entry).length, entry.event).toBeLessThan(4_096)
    })

    test.skipIf(!keeps.audit)('stays small however long the names are', async () => {
      const store = await open()
      const ids = Array.from({ length: 20 }, (_, at) => `${at}:${'é'.repeat(990)}`)
      await appendAll(
        store,
        ids.map((id) => ({ ...say('user', 'x'), id })),
      )
      await store.messages.pin(S, ids)
      expect(JSON.stringify((await store.sessions.audit(S))[0]).length).toBeLessThan(4_096)
    })
  })

  describe('reestimate', () => {
    test('by the same estimator changes no figure', async () => {
      const store = await open()
      await appendAll(store, chat(6))
      await store.compactSession(S, { range: { from: 1, to: 4 }, summary: 'x' })
      const before = await store.getContextStats(S)
      expect((await store.sessions.reestimate(S)).estimator).toBe('neurolink')
      expect(await store.getContextStats(S)).toEqual(before)
      if (keeps.verify) expect((await store.sessions.verify(S)).findings).toEqual([])
      await refusal(store.sessions.reestimate('nobody'), 'SESSION_NOT_FOUND')
      await refusal(store.sessions.reestimate(S, 'other'), 'ESTIMATOR_UNKNOWN')
    })
  })
}
