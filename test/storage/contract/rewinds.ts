import { describe, expect, it } from 'vitest'
import { chat } from '../../support/conversation.ts'
import { type Contract, everything, refusal } from './support.ts'

/** Rewinds, which undo the compactions that were made after the message that they go back to. */
export function describeRewinds({ open }: Contract): void {
  describe('a rewind', () => {
    it('undoes what was compacted later, and nothing because of another session', async () => {
      const store = await open()
      const statuses = async (): Promise<string[]> =>
        (await store.listCompactions('a')).map(({ kind, status }) => `${kind} ${status}`)
      const range = { from: 1, to: 2 }
      const { messages } = await store.append('a', chat(3, 100))
      await store.compactSession('a', { range, summary: 'Short.' })
      const later = await store.append('a', chat(2, 100))
      await store.append('b', chat(10, 100))
      await store.compactSession('b', { range, summary: 'Short.' })

      await store.rewind('a', { from: { beforeMessage: later.messages[1]!.id } })
      expect(await statuses()).toEqual(['condense active', 'manual active'])
      expect(await store.getEffectiveHistory('a')).toHaveLength(6)

      await store.rewind('a', { from: { beforeMessage: messages[3]!.id } })
      expect(await statuses()).toEqual(['condense undone', 'manual undone', 'manual active'])
      expect((await store.getEffectiveHistory('a')).map(({ position }) => position)).toEqual([1, 2, 3])
      expect((await store.sessions.verify('a')).findings).toEqual([])
      expect((await store.listCompactions('b')).map(({ status }) => status)).toEqual(['active'])
    })

    it('can be undone after a compaction was undone that one of those it undid builds on', async () => {
      const store = await open()
      const shown = async () =>
        (await store.getEffectiveHistory('a')).map(({ position, kind }) => position ?? kind)
      await store.append('a', chat(3, 100).slice(0, 5))
      const inner = await store.compactSession('a', { range: { from: 1, to: 3 }, summary: 'Inner.' })
      const { messages } = await store.append('a', chat(1, 100))
      const outer = await store.compactSession('a', { range: { from: 1, to: 6 }, summary: 'Outer.' })
      await store.append('a', chat(1, 100))
      // Message 7 was appended when only the inner summary was in force, so the rewind undoes the outer one.
      const { compactionId } = await store.rewind('a', { from: { beforeMessage: messages[1]!.id } })
      expect(await shown()).toEqual(['summary', 4, 5, 6])

      await store.undoCompaction('a', inner!.runId)
      const undone = await store.undoCompaction('a', compactionId!)
      expect(undone.alsoChanged).toBeUndefined()
      expect(await shown()).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9])
      expect((await store.sessions.verify('a')).findings).toEqual([])

      await store.redoCompaction('a', inner!.runId)
      expect(await shown()).toEqual(['summary', 4, 5, 6, 7, 8, 9])
      await store.redoCompaction('a', outer!.compactions[0]!.id)
      expect(await shown()).toEqual(['summary', 7, 8, 9])
    })

    it('accepts a position in place of an id', async () => {
      const store = await open()
      await store.append('a', chat(3, 100))
      await store.compactSession('a', { range: { from: 1, to: 2 }, summary: 'Short.' })
      const shown = async () =>
        (await store.getEffectiveHistory('a')).map(({ position, kind }) => position ?? kind)

      const { rowsHidden } = await store.rewind('a', { from: { beforeMessage: 5 } })
      expect(rowsHidden).toBe(2)
      expect(await shown()).toEqual([1, 2, 3, 4])
      for (const position of [7, 1_000])
        expect(
          (await refusal(store.rewind('a', { from: { beforeMessage: position } }), 'MESSAGE_NOT_FOUND'))
            .facts,
        ).toEqual({ sessionId: 'a', messageId: String(position) })
    })

    it('that is repeated with its operation id returns the first result and changes nothing', async () => {
      const store = await open()
      const known = { role: 'user', content: 'known', idempotencyKey: 'k' } as const
      await store.append('a', [known, { role: 'assistant', content: 'one' }])
      const go = () =>
        store.rewind('a', {
          from: 'end',
          // The second message is known: it keeps its position, which is before that of the first.
          append: [{ role: 'user', content: 'two' }, known],
          operationId: 'op',
        })
      const first = await go()
      expect(first.messages.map(({ position }) => position)).toEqual([3, 1])
      const before = await everything(store, 'a')
      const again = await go()
      expect(again.existing).toBe(true)
      expect(again.messages.map(({ id, position }) => [id, position])).toEqual(
        first.messages.map(({ id, position }) => [id, position]),
      )
      expect(await everything(store, 'a')).toEqual(before)
      const other = store.rewind('a', { from: 'start', operationId: 'op' })
      await refusal(other, 'OPERATION_CONFLICT')
    })
  })
}
