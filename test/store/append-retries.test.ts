import { describe, expect, it } from 'vitest'
import { neurolinkEstimator } from '../../src/core/tokens/index.ts'
import { openStore } from '../../src/index.ts'
import { Store } from '../../src/store/store.ts'
import { say } from '../support/conversation.ts'
import { ModelStorage } from '../support/model-storage.ts'

const keyed = (text: string, idempotencyKey: string) => ({ ...say('user', text), idempotencyKey })

const STORES: Record<string, () => Promise<Store>> = {
  SQLite: () => openStore(':memory:'),
  'the model': async () =>
    new Store(new ModelStorage(), {
      estimators: { standard: neurolinkEstimator, byName: new Map() },
    }),
}

for (const [name, open] of Object.entries(STORES)) {
  describe(`retries of append (${name})`, () => {
    it('are answered with the first rows, whatever position they expect', async () => {
      const store = await open()
      const turn = [keyed('a', 'k1'), keyed('b', 'k2')]
      const first = await store.append('s', turn, { expectedPosition: 0 })
      const again = await store.append('s', turn, { expectedPosition: 0 })
      expect(again).toEqual({
        ...first,
        messages: first.messages.map((row) => ({ ...row, existing: true })),
      })
      expect((await store.sessions.get('s')).messageCount).toBe(2)
    })

    it('that are not the same append still conflict', async () => {
      const store = await open()
      await store.append('s', [keyed('a', 'k1')])
      const others = [
        [keyed('a', 'k1'), keyed('b', 'k2')],
        [keyed('a', 'k1'), say('user', 'b')],
        [keyed('other', 'k1')],
        [say('user', 'a')],
      ]
      for (const messages of others) {
        await expect(store.append('s', messages, { expectedPosition: 0 })).rejects.toMatchObject({
          code: 'POSITION_CONFLICT',
        })
      }
      await expect(store.append('s', [keyed('other', 'k1')], { expectedPosition: 1 })).rejects.toMatchObject({
        code: 'IDEMPOTENCY_CONFLICT',
      })
    })

    it('find an older row when the newest of the key is hidden manually', async () => {
      const store = await open()
      const {
        messages: [first],
      } = await store.append('s', [keyed('a', 'k')])
      const hidden = await store.compactions.hide('s', [first!.id])
      const {
        messages: [second],
      } = await store.append('s', [keyed('a', 'k')])
      expect(second).toMatchObject({ position: 2, existing: false })
      await store.undoCompaction('s', hidden.id)
      expect((await store.append('s', [keyed('a', 'k')])).messages).toMatchObject([
        { position: 2, existing: true },
      ])
      await store.compactions.hide('s', [second!.id])
      expect((await store.append('s', [keyed('a', 'k')])).messages).toMatchObject([
        { position: 1, existing: true },
      ])
    })
  })
}

it('an expected position counts however the options carry it', async () => {
  await using guarded = await openStore(':memory:')
  await guarded.append('s', [{ role: 'user', content: 'one' }])
  class Options {
    get expectedPosition(): number {
      return 0
    }
  }
  await expect(guarded.append('s', [{ role: 'user', content: 'two' }], new Options())).rejects.toMatchObject({
    code: expect.stringMatching(/POSITION_CONFLICT|INVALID_INPUT/) as string,
  })
  expect((await guarded.sessions.get('s')).messageCount).toBe(1)
})
