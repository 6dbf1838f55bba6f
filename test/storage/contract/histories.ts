import { describe, expect, it } from 'vitest'
import type { HistoryRecord, Store } from '../../../src/index.ts'
import { call, chat, result, say, units } from '../../support/conversation.ts'
import type { Contract } from './support.ts'
import { S } from './support.ts'

async function recordsOf(store: Store, id = S): Promise<HistoryRecord[]> {
  const records: HistoryRecord[] = []
  for await (const record of store.sessions.export(id)) records.push(record)
  return records
}

/** Whole sessions as records: what every storage that keeps an audit can give and take. */
export function describeHistories({ open, keeps }: Contract): void {
  describe.skipIf(!keeps.histories)('whole sessions', () => {
    it('are compacted and undone after they were restored', async () => {
      const [store, other] = [await open(), await open()]
      await store.append(S, chat(6, 100))
      await store.compactSession(S, { range: { from: 1, to: 4 }, summary: 'so far' })
      await other.sessions.import(await recordsOf(store))
      const next = (await other.compactSession(S, { range: { from: 5, to: 8 }, summary: 'more' }))!
      expect(next.compacted).toBe(true)
      expect(await other.listCompactions(S)).toHaveLength(2)
      await other.undoCompaction(S, next.runId!)
      expect(await other.getEffectiveHistory(S)).toEqual(await store.getEffectiveHistory(S))
      expect((await other.sessions.verify(S)).findings).toEqual([])
    })

    it('are restored from an export, and continue as the original would', async () => {
      const [store, other] = [await open(), await open()]
      await store.append(S, [
        { ...say('user', 'hello'), id: 'own' },
        call('c', 'run'),
        result('c', units(500)),
      ])
      await store.append(S, chat(6))
      await store.messages.pin(S, ['own'])
      const run = (await store.compactSession(S, { range: { from: 4, to: 7 }, summary: 'so far' }))!
      await store.compactions.hide(S, [(await store.getMessages(S)).at(-1)!.id])
      const records = await recordsOf(store)
      expect(await other.sessions.import(records)).toEqual({
        ...{ sessionId: S, existing: false, messages: 15, compactions: 2 },
      })
      for (const one of [store, other]) {
        await one.undoCompaction(S, run.runId)
        await one.redoCompaction(S, run.runId)
        await one.undoCompaction(S, run.runId)
      }
      expect(await other.getMessages(S)).toEqual(await store.getMessages(S))
      expect(await other.getEffectiveHistory(S)).toEqual(await store.getEffectiveHistory(S))
      expect((await other.sessions.verify(S)).findings).toEqual([])
      expect(await other.sessions.import(await recordsOf(store), { id: 'copy' })).toMatchObject({
        existing: false,
      })
      const idsOf = async (id: string) => (await other.getEffectiveHistory(id)).map((row) => row.id)
      const [first, copy] = [await idsOf(S), await idsOf('copy')]
      expect(copy).toHaveLength(first.length)
      // The caller's own stays, and the others are of the copy.
      expect(copy.filter((id) => first.includes(id))).toEqual(['own'])
    })

    it('stay what they are when the same comes again', async () => {
      const store = await open()
      await store.append(S, chat(3))
      const records = await recordsOf(store)
      expect(await store.sessions.import(records)).toMatchObject({ existing: true })
      await store.append(S, chat(1))
      await expect(store.sessions.import(records)).rejects.toMatchObject({ code: 'SESSION_EXISTS' })
      expect((await store.sessions.get(S)).messageCount).toBe(8)
    })

    it('are listed at the time of their newest message, at most that of their last change', async () => {
      const [store, other] = [await open(), await open()]
      await store.append('old', [
        { ...say('user', 'x'), createdAt: 5_000 },
        { ...say('assistant', 'y'), createdAt: 4_000 },
      ])
      await store.append('ahead', [{ ...say('user', 'x'), createdAt: Date.now() + 1e10 }])
      await store.sessions.create({ id: 'empty' })
      const { updatedAt } = await store.sessions.get('ahead')
      for (const id of ['old', 'ahead', 'empty']) await other.sessions.import(await recordsOf(store, id))
      expect((await other.sessions.list()).map(({ id, newestAt }) => [id, newestAt])).toEqual([
        ['ahead', updatedAt],
        ['old', 4_000],
        ['empty', 0],
      ])
      for (const id of ['old', 'ahead', 'empty'])
        expect((await other.sessions.verify(id)).findings).toEqual([])
    })

    it('are not restored from a forged history', async () => {
      const [store, other] = [await open(), await open()]
      await store.append(S, chat(3))
      const records = (await recordsOf(store)).filter(
        (record) => record.type !== 'message' || record.position !== 4,
      )
      await expect(other.sessions.import(records)).rejects.toMatchObject({
        code: 'HISTORY_REFUSED',
        facts: { line: 6, why: 'position must be 4' },
      })
      expect(await other.sessions.list()).toEqual([])
    })
  })
}
