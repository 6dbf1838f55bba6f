import { describe, expect, test } from 'vitest'
import type { NewMessage } from '../../../src/index.ts'
import { chat, say } from '../../support/conversation.ts'
import { appendAll, type Contract, everything, refusal, S } from './support.ts'

const keyed = (text: string, idempotencyKey: string): NewMessage => ({ ...say('user', text), idempotencyKey })

export function describeAppend({ open, openBoth }: Contract): void {
  describe('append', () => {
    test('creates the session, gives positions without gaps, and returns them', async () => {
      const store = await open()
      const first = await store.append(S, chat(1))
      expect(first).toMatchObject({ sessionId: S, position: 2 })
      expect(first.messages.map(({ position, existing }) => [position, existing])).toEqual([
        [1, false],
        [2, false],
      ])
      expect((await store.append(S, chat(1))).position).toBe(4)
      const rows = await store.getMessages(S)
      expect(rows.map(({ position }) => position)).toEqual([1, 2, 3, 4])
      expect(rows.map(({ anchor }) => anchor)).toEqual([1, 2, 3, 4])
      expect(new Set(rows.map(({ id }) => id)).size).toBe(4)
    })

    test('is all or nothing', async () => {
      const store = await open()
      await appendAll(store, [{ ...say('user', 'x'), id: 'taken' }])
      const before = await everything(store)
      const taken = [say('user', 'a'), { ...say('user', 'b'), id: 'taken' }, say('user', 'c')]
      const error = await refusal(store.append(S, taken), 'MESSAGE_ID_TAKEN')
      expect(error.facts).toEqual({ sessionId: S, messageId: 'taken' })
      await refusal(store.append(S, [say('user', 'a'), { role: 'user' } as never]), 'INVALID_INPUT')
      expect(await everything(store)).toEqual(before)
      await refusal(store.append('new', taken.concat(taken)), 'MESSAGE_ID_TAKEN')
      await refusal(store.sessions.get('new'), 'SESSION_NOT_FOUND')
      expect((await store.append(S, [say('user', 'a')])).position).toBe(2)
    })

    test('at an expected position', async () => {
      const store = await open()
      const error = await refusal(store.append(S, chat(1), { expectedPosition: 3 }), 'POSITION_CONFLICT')
      expect(error.facts).toEqual({ sessionId: S, expected: 3, actual: 0 })
      await refusal(store.sessions.get(S), 'SESSION_NOT_FOUND')
      await store.append(S, chat(1), { expectedPosition: 0 })
      await refusal(store.append(S, chat(1), { expectedPosition: 0 }), 'POSITION_CONFLICT')
      expect((await store.append(S, chat(1), { expectedPosition: 2 })).position).toBe(4)
    })

    test('stores what it was given, whatever the caller makes of it meanwhile', async () => {
      const store = await open()
      const first = { ...say('user', 'first'), createdAt: 5 }
      const second = { ...say('user', 'second'), id: 'own', idempotencyKey: 'k', createdAt: 6 }
      const appending = store.append(S, [first, second])
      Object.assign(first, { content: 'changed', createdAt: 7 })
      Object.assign(second, { content: 'changed', id: 'other', idempotencyKey: 'other', createdAt: 8 })
      await appending
      expect(await store.getMessages(S)).toMatchObject([
        { content: 'first', createdAt: 5 },
        { content: 'second', id: 'own', idempotencyKey: 'k', createdAt: 6 },
      ])
    })

    test('of two at once that expect the same position one wins', async () => {
      const store = await open()
      const both = await Promise.allSettled([
        store.append(S, chat(1), { expectedPosition: 0 }),
        store.append(S, chat(1), { expectedPosition: 0 }),
      ])
      expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
      expect((await store.sessions.get(S)).messageCount).toBe(2)
    })

    test("keeps the caller's ids and times", async () => {
      const store = await open()
      await appendAll(store, [
        { ...say('user', 'x'), id: 'mine', createdAt: 1_000 },
        { ...say('user', 'y'), createdAt: -5 },
        say('user', 'z'),
      ])
      const [first, second, third] = await store.getMessages(S)
      expect(first).toMatchObject({ id: 'mine', createdAt: 1_000 })
      expect(second!.createdAt).toBe(-5)
      expect(Math.abs(third!.createdAt - Date.now())).toBeLessThan(60_000)
      // The order is by position, not by time.
      expect((await store.getEffectiveHistory(S)).map(({ content }) => content)).toEqual(['x', 'y', 'z'])
      // Ids are unique within a session, not beyond it.
      await appendAll(store, [{ ...say('user', 'x'), id: 'mine' }], 'other')
    })

    test('a key and its body again answer the first row and write nothing', async () => {
      const store = await open()
      const [id] = await appendAll(store, [keyed('hello', 'k1')])
      const before = await everything(store)
      const again = await store.append(S, [keyed('hello', 'k1')])
      expect(again).toEqual({ sessionId: S, messages: [{ id, position: 1, existing: true }], position: 1 })
      expect(await everything(store)).toEqual(before)
      expect((await store.getMessages(S))[0]!.idempotencyKey).toBe('k1')
      // Only what is new is written, in its order.
      const mixed = await store.append(S, [keyed('new', 'k2'), keyed('hello', 'k1'), say('user', 'unkeyed')])
      expect(mixed.messages.map(({ position, existing }) => [position, existing])).toEqual([
        [2, false],
        [1, true],
        [3, false],
      ])
      // The same key in another session is another.
      expect((await store.append('other', [keyed('hello', 'k1')])).messages[0]!.existing).toBe(false)
    })

    test('the position answered is the last of the session, also when nothing was written', async () => {
      const store = await open()
      await appendAll(store, [keyed('hello', 'k1'), ...chat(2)])
      const again = await store.append(S, [keyed('hello', 'k1')])
      expect(again.position).toBe(5)
    })

    test('a key with another body is refused, and nothing is written', async () => {
      const store = await open()
      const [id] = await appendAll(store, [keyed('hello', 'k1')])
      const before = await everything(store)
      for (const other of [
        keyed('hello!', 'k1'),
        { ...keyed('hello', 'k1'), role: 'assistant' as const },
        { ...keyed('hello', 'k1'), metadata: { a: 1 } },
        { ...keyed('hello', 'k1'), content: [{ type: 'text' as const, text: 'hello' }] },
      ]) {
        const error = await refusal(store.append(S, [say('user', 'first'), other]), 'IDEMPOTENCY_CONFLICT')
        expect(error.facts).toEqual({ sessionId: S, idempotencyKey: 'k1', messageId: id })
      }
      expect(await everything(store)).toEqual(before)
    })

    test('bodies are compared as values', async () => {
      const store = await open()
      const body = (input: object, image: Uint8Array): NewMessage => ({
        role: 'assistant',
        idempotencyKey: 'k',
        metadata: { b: 1, a: 2 },
        content: [
          { type: 'tool-call', toolCallId: 'c', toolName: 'x', input: input as never },
          { type: 'image', image },
        ],
      })
      await appendAll(store, [body({ a: 1, b: [2] }, new Uint8Array([1, 2]))])
      const same = { ...body({ b: [2], a: 1 }, Buffer.from([1, 2])), metadata: { a: 2, b: 1 } }
      expect((await store.append(S, [same])).messages[0]!.existing).toBe(true)
      await refusal(store.append(S, [body({ a: 1, b: [2] }, new Uint8Array([1, 3]))]), 'IDEMPOTENCY_CONFLICT')
      await refusal(
        store.append(S, [body({ a: 1, b: [-0] }, new Uint8Array([1, 2]))]),
        'IDEMPOTENCY_CONFLICT',
      )
    })

    test('a key repeated within one array is written once', async () => {
      const store = await open()
      const { messages, position } = await store.append(S, [
        keyed('a', 'k'),
        say('user', 'b'),
        keyed('a', 'k'),
      ])
      expect(messages.map((one) => [one.position, one.existing])).toEqual([
        [1, false],
        [2, false],
        [1, true],
      ])
      expect(position).toBe(2)
      expect((await store.sessions.get(S)).messageCount).toBe(2)
    })

    test('a key whose message was hidden manually appends again', async () => {
      const store = await open()
      const [id] = await appendAll(store, [keyed('hello', 'k'), ...chat(4)])
      const hidden = await store.compactions.hide(S, [id!])
      const again = await store.append(S, [keyed('another body', 'k')])
      expect(again.messages).toMatchObject([{ position: 10, existing: false }])
      expect((await store.append(S, [keyed('another body', 'k')])).messages).toMatchObject([
        { position: 10, existing: true },
      ])
      // When the first comes back, the newest still has the key, and both rows say it.
      await store.undoCompaction(S, hidden.id)
      expect((await store.append(S, [keyed('another body', 'k')])).messages[0]!.position).toBe(10)
      await refusal(store.append(S, [keyed('hello', 'k')]), 'IDEMPOTENCY_CONFLICT')
      const rows = await store.getMessages(S)
      expect([rows[0]!.idempotencyKey, rows[9]!.idempotencyKey]).toEqual(['k', 'k'])
    })

    test('a key whose message was hidden otherwise is still known', async () => {
      const store = await open()
      await appendAll(store, [keyed('hello', 'k'), ...chat(4)])
      await store.compactSession(S, { range: { from: 1, to: 5 }, summary: 'x' })
      expect((await store.append(S, [keyed('hello', 'k')])).messages).toMatchObject([
        { position: 1, existing: true },
      ])
    })

    test('a result without its call is accepted', async () => {
      const store = await open()
      await appendAll(store, [
        {
          role: 'tool',
          content: [{ type: 'tool-result', toolCallId: 'x', output: { type: 'text', value: 'y' } }],
        },
      ])
      expect((await store.sessions.get(S)).messageCount).toBe(1)
    })

    test('what a caller changes later changes nothing stored', async () => {
      const { store, reopen } = await openBoth()
      const input = { list: [1] }
      const bytes = new Uint8Array([1, 2, 3])
      const message: NewMessage = {
        role: 'assistant',
        metadata: { input },
        content: [
          { type: 'tool-call', toolCallId: 'c', toolName: 'x', input },
          { type: 'image', image: bytes },
        ],
      }
      await appendAll(store, [message])
      input.list.push(2)
      bytes[0] = 9
      const expected = {
        metadata: { input: { list: [1] } },
        content: [
          { type: 'tool-call', toolCallId: 'c', toolName: 'x', input: { list: [1] } },
          { type: 'image', image: new Uint8Array([1, 2, 3]) },
        ],
      }
      const [shown] = await store.getEffectiveHistory(S)
      expect(shown).toMatchObject(expected)
      // Nor does what a reader does to what it was given.
      ;(shown!.content as unknown as { image: Uint8Array }[])[1]!.image[0] = 7
      ;(shown!.metadata as { input: { list: number[] } }).input.list.push(3)
      expect((await store.getMessages(S))[0]).toMatchObject(expected)
      if (reopen) expect((await (await reopen()).getMessages(S))[0]).toMatchObject(expected)
    })
  })
}
