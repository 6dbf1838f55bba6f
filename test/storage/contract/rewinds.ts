import { describe, expect, it } from 'vitest'
import { chat } from '../../support/conversation.ts'
import type { Contract } from './support.ts'

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

      await store.rewind('a', { from: { messageId: later.messages[1]!.id } })
      expect(await statuses()).toEqual(['condense active', 'manual active'])
      expect(await store.getEffectiveHistory('a')).toHaveLength(6)

      await store.rewind('a', { from: { messageId: messages[3]!.id } })
      expect(await statuses()).toEqual(['condense undone', 'manual undone', 'manual active'])
      expect((await store.getEffectiveHistory('a')).map(({ position }) => position)).toEqual([1, 2, 3])
      expect((await store.verifySession('a')).findings).toEqual([])
      expect((await store.listCompactions('b')).map(({ status }) => status)).toEqual(['active'])
    })
  })
}
