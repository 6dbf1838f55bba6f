import { describe, expect, it } from 'vitest'
import type { Store, ViewMessage } from '../../../src/index.ts'
import { call, chat, result, say } from '../../support/conversation.ts'
import { type Contract, refusal } from './support.ts'

/** Forks: copies of a session that share its contents and nothing else. */
export function describeForks({ open, keeps }: Contract): void {
  describe.skipIf(!keeps.histories)('a fork', () => {
    it('has the messages, ids and compactions of its original, and both go on alone', async () => {
      const store = await open()
      await store.append('a', [{ ...say('user', 'one'), id: 'mine', idempotencyKey: 'k' }, ...chat(3, 100)])
      await store.compactSession('a', { range: { from: 2, to: 3 }, summary: 'Short.' })
      const fork = await store.sessions.fork('a', { id: 'b', title: 'Other' })
      expect(fork).toMatchObject({ id: 'b', title: 'Other', forkedFrom: { sessionId: 'a', position: 7 } })
      expect(await texts(store, 'b')).toEqual(await texts(store, 'a'))

      const originals = await store.getMessages('a')
      const copies = await store.getMessages('b')
      expect(copies.map(({ copiedFrom }) => copiedFrom)).toEqual(
        originals.map(({ id }) => ({ sessionId: 'a', messageId: id })),
      )
      expect(copies[0]!.id).toBe('mine')
      const [original] = await store.listCompactions('a')
      const [copy] = await store.listCompactions('b')
      expect(copy).toMatchObject({ copiedFrom: original!.id, status: 'active' })
      expect(copy!.id).not.toBe(original!.id)

      const again = await store.append('b', [{ ...say('user', 'one'), idempotencyKey: 'k' }])
      expect(again.messages).toMatchObject([{ id: 'mine', existing: true }])
      await store.undoCompaction('b', copy!.id)
      await store.append('b', [say('user', 'in b')])
      await store.append('a', [say('user', 'in a')])
      expect(await texts(store, 'b')).toEqual([
        ...originalTexts(originals.filter(({ kind }) => kind === 'message')),
        'in b',
      ])
      expect((await texts(store, 'a')).at(-1)).toBe('in a')
      expect((await store.listCompactions('a')).map(({ status }) => status)).toEqual(['active'])
      for (const id of ['a', 'b']) expect((await store.sessions.verify(id)).findings).toEqual([])
      expect(await lastEvents(store)).toEqual({ a: 'forked', b: ['created', 'forked', 'undone'] })
    })

    it('has its author in the audit of both sessions', async () => {
      const store = await open()
      await store.append('a', [say('user', 'one')])
      await store.sessions.fork('a', { id: 'b', actor: 'ann' })
      await store.sessions.fork('a', { id: 'c' })
      const authors = async (id: string) =>
        (await store.sessions.audit(id)).map(({ event, actor }) => [event, actor])
      expect(await authors('a')).toEqual([
        ['forked', 'ann'],
        ['forked', undefined],
      ])
      expect(await authors('b')).toEqual([['forked', 'ann']])
      expect(await authors('c')).toEqual([['forked', undefined]])
      await expect(store.sessions.fork('a', { actor: '' })).rejects.toMatchObject({ code: 'INVALID_INPUT' })
    })

    it('is of any moment', async () => {
      const store = await open()
      await store.append('a', chat(3, 100))
      const before = await texts(store, 'a')
      await store.compactSession('a', { range: { from: 1, to: 4 }, summary: 'Short.' })
      await store.append('a', [say('user', 'later')])
      const [made] = await store.listCompactions('a')
      const early = await store.sessions.fork('a', { at: { afterMessage: 2 } })
      const uncompacted = await store.sessions.fork('a', { at: { beforeCompaction: made!.id } })
      expect(early.messageCount).toBe(2)
      expect(await texts(store, early.id)).toEqual(before.slice(0, 2))
      expect(await texts(store, uncompacted.id)).toEqual(before)
      expect(await store.listCompactions(uncompacted.id)).toEqual([])
      expect((await store.sessions.forks('a')).map(({ id }) => id)).toEqual([early.id, uncompacted.id])
    })

    it('is billed for no summary that it copied; after a purge of the original, one fork is', async () => {
      const summarizer = {
        name: 'paid',
        usesModel: true,
        summarize: async () => ({ text: 'Short.', model: 'm', usage: { inputTokens: 70, outputTokens: 2 } }),
      }
      const store = await open()
      await store.append('a', chat(6, 400))
      await store.compactSession('a', { range: { from: 1, to: 4 }, summarizer })
      for (const id of ['b', 'c']) await store.sessions.fork('a', { id })
      await store.sessions.fork('b', { id: 'd' })
      const billed = async (ids: string[], from: Store = store) => {
        const usages = await Promise.all(ids.map((id) => from.requests.usage(id)))
        return usages.map(({ summaries }) => summaries.total.inputTokens)
      }
      expect(await billed(['a', 'b', 'c', 'd'])).toEqual([70, 0, 0, 0])
      await store.sessions.purge('a', { forks: 'keep' })
      expect(await billed(['b', 'c', 'd'])).toEqual([70, 0, 0])
      const [copy] = await store.listCompactions('c')
      expect(copy).not.toHaveProperty('copiedFrom')
      const copied = await open()
      for (const id of ['b', 'c', 'd']) await copied.sessions.import(store.sessions.export(id))
      expect(await billed(['b', 'c', 'd'], copied)).toEqual([70, 0, 0])
      await store.sessions.purge('b', { forks: 'keep' })
      expect(await billed(['c', 'd'])).toEqual([0, 70])
      for (const id of ['c', 'd']) expect((await store.sessions.verify(id)).findings).toEqual([])
    })

    it('redoes the run that was undone at its moment, and nothing else, whatever was turned since', async () => {
      const store = await open()
      await store.append('a', chat(6, 100))
      const runs: string[] = []
      for (const from of [1, 5]) {
        const run = await store.compactSession('a', { range: { from, to: from + 3 }, summary: 'Short.' })
        runs.push(run!.runId!)
      }
      const [first, second] = await store.listCompactions('a')
      await store.undoCompaction('a', runs[0]!)
      await store.undoCompaction('a', second!.id)
      const { no } = (await store.sessions.audit('a')).at(-1)!
      const then = await texts(store, 'a')
      await store.redoCompaction('a', second!.id)
      await store.redoCompaction('a', runs[0]!)
      const fork = await store.sessions.fork('a', { at: { audit: no } })
      expect(await texts(store, fork.id)).toEqual(then)

      const [copyOfFirst, copyOfSecond] = await store.listCompactions(fork.id)
      expect([copyOfFirst!.copiedFrom, copyOfSecond!.copiedFrom]).toEqual([first!.id, second!.id])
      // The second was not undone with its run.
      expect(await store.redoCompaction(fork.id, copyOfSecond!.runId)).toMatchObject({ changed: false })
      expect(await store.redoCompaction(fork.id, copyOfFirst!.runId)).toMatchObject({
        compactionIds: [copyOfFirst!.id],
      })
      expect((await store.sessions.verify(fork.id)).findings).toEqual([])
    })

    it('undoes a rewind with what it had undone at its moment, whatever was turned since', async () => {
      const store = await open()
      await store.append('a', chat(4, 100))
      await store.compactSession('a', { range: { from: 1, to: 4 }, summary: 'Short.' })
      const before = await texts(store, 'a')
      const third = (await store.getMessages('a')).find(({ position }) => position === 3)!
      const { compactionId } = await store.rewind('a', { from: { beforeMessage: third.id } })
      const { no } = (await store.sessions.audit('a')).at(-1)!
      const then = await texts(store, 'a')
      expect(then).toHaveLength(2)
      await store.undoCompaction('a', compactionId!)
      expect(await texts(store, 'a')).toEqual(before)
      const [made] = await store.listCompactions('a')
      await store.undoCompaction('a', made!.id)
      await store.redoCompaction('a', compactionId!)
      expect(await texts(store, 'a')).toEqual(then)

      const fork = await store.sessions.fork('a', { at: { audit: no } })
      expect(await texts(store, fork.id)).toEqual(then)
      const rewind = (await store.listCompactions(fork.id)).find((one) => one.copiedFrom === compactionId)
      await store.undoCompaction(fork.id, rewind!.id)
      expect(await texts(store, fork.id)).toEqual(before)
      await store.redoCompaction(fork.id, rewind!.id)
      expect(await texts(store, fork.id)).toEqual(then)
      expect((await store.sessions.verify(fork.id)).findings).toEqual([])
    })

    it('of a purged fork names no other summary as its source', async () => {
      const store = await open()
      await store.append('a', chat(6, 100))
      await store.sessions.fork('a', { id: 'b' })
      await store.compactSession('a', { range: { from: 3, to: 4 }, summary: 'Made in a.' })
      await store.compactSession('b', { range: { from: 1, to: 2 }, summary: 'Made in b.' })
      for (const id of ['c', 'd']) await store.sessions.fork('b', { id })
      await store.sessions.purge('b', { forks: 'keep' })
      for (const id of ['c', 'd']) {
        const rows = await store.getMessages(id)
        const summary = rows.find(({ kind }) => kind === 'summary')
        expect(summary).toMatchObject({ content: 'Made in b.' })
        expect(summary).not.toHaveProperty('copiedFrom')
        expect(rows[0]!.copiedFrom).toMatchObject({ sessionId: 'a' })
      }
    })

    it('is compacted, rewound, estimated again and exported like any other session', async () => {
      const store = await open()
      await store.append('a', [say('user', 'read'), call('c', 'read'), result('c', 'line\n'.repeat(9_000))])
      await store.append('a', chat(4, 100))
      const { id } = await store.sessions.fork('a')
      await store.compactSession(id, { range: { from: 4, to: 6 }, summary: 'Short.' })
      await store.sessions.reestimate(id)
      const view = await texts(store, id)
      const records: unknown[] = []
      for await (const record of store.sessions.export(id)) records.push(record)
      await store.rewind(id, { from: 'start', append: [say('user', 'new')] })
      await store.sessions.purge('a', { forks: 'keep' })
      const restored = await store.sessions.import(records as never, { id: 'restored' })
      expect(await texts(store, restored.sessionId)).toEqual(view)
      for (const one of [id, 'restored']) expect((await store.sessions.verify(one)).findings).toEqual([])
      expect((await store.sessions.get('restored')).forkedFrom).toBeUndefined()
    })

    it('keeps its contents when its original is purged, in each order, and becomes a fork of the rest', async () => {
      const store = await open()
      await store.append('a', [say('user', 'read'), call('c', 'read'), result('c', 'line\n'.repeat(9_000))])
      await store.sessions.fork('a', { id: 'b' })
      await store.append('b', [say('user', 'in b')])
      await store.sessions.fork('b', { id: 'c' })
      await store.sessions.fork('a', { id: 'd' })
      const [b, c, d] = [await texts(store, 'b'), await texts(store, 'c'), await texts(store, 'd')]
      expect((await refusal(store.sessions.purge('a'), 'HAS_FORKS')).facts).toEqual({
        sessionId: 'a',
        forks: ['b', 'd'],
      })
      await store.sessions.purge('b', { forks: 'keep' })
      expect((await store.sessions.get('c')).forkedFrom).toEqual({ sessionId: 'a', position: 3 })
      expect(await texts(store, 'c')).toEqual(c)
      await store.sessions.purge('a', { forks: 'keep' })
      expect((await store.sessions.get('c')).forkedFrom).toBeUndefined()
      expect([await texts(store, 'c'), await texts(store, 'd')]).toEqual([c, d])
      await store.sessions.purge('c')
      expect(await texts(store, 'd')).toEqual(d)
      expect((await store.sessions.verify('d')).findings).toEqual([])
      expect(b).toEqual(c)
    })

    it('is purged with its original on request', async () => {
      const store = await open()
      await store.append('a', chat(2, 100))
      await store.sessions.fork('a', { id: 'b' })
      await store.sessions.fork('b', { id: 'c' })
      expect(await store.sessions.purge('a', { forks: 'purge' })).toMatchObject({
        messages: 12,
        forks: ['b', 'c'],
      })
      expect(await store.sessions.list()).toEqual([])
    })

    it('is refused under an id that is taken, and of a session that does not exist', async () => {
      const store = await open()
      await store.append('a', chat(1, 10))
      await refusal(store.sessions.fork('a', { id: 'a' }), 'SESSION_EXISTS')
      await refusal(store.sessions.fork('x'), 'SESSION_NOT_FOUND')
      await refusal(store.sessions.fork('a', { at: { afterMessage: 99 } }), 'MESSAGE_NOT_FOUND')
      await refusal(store.sessions.fork('a', { when: 1 } as never), 'INVALID_INPUT')
      expect(await store.sessions.list()).toHaveLength(1)
    })

    it('brings its conclusion back, which can be hidden', async () => {
      const store = await open()
      await store.append('a', chat(1, 10))
      await store.sessions.fork('a', { id: 'b' })
      await refusal(store.sessions.bringBack('a'), 'INVALID_INPUT')
      await refusal(store.sessions.bringBack('b'), 'INVALID_INPUT')
      const first = (await store.sessions.get('b')).messageCount
      await store.append('b', [say('user', 'Is the cache needed?'), say('assistant', 'No, it is not.')])
      const given = await store.sessions.bringBack('b', { text: 'No cache.' })
      expect(given).toMatchObject({ sessionId: 'a', position: first + 1, text: 'No cache.' })
      expect((await texts(store, 'a')).at(-1)).toBe(
        `[Conclusion of the branch b, which left this conversation after message ${first}]\n\nNo cache.`,
      )
      await store.compactions.hide('a', [given.messageId])
      expect(await texts(store, 'a')).toHaveLength(first)

      const written = await store.sessions.bringBack('b')
      expect(written.summarizer).toBe('extractive')
      expect(written.text).toContain('Is the cache needed?')
      expect((await store.sessions.audit('a')).at(-1)).toMatchObject({
        event: 'brought back',
        detail: { fork: 'b', from: first, to: first + 2, position: first + 2 },
      })
    })
  })
}

async function texts(store: Store, id: string): Promise<string[]> {
  return originalTexts(await store.getEffectiveHistory(id))
}

function originalTexts(rows: readonly Pick<ViewMessage, 'content'>[]): string[] {
  return rows.map(({ content }) => (typeof content === 'string' ? content : JSON.stringify(content)))
}

async function lastEvents(store: Store): Promise<unknown> {
  const events = async (id: string): Promise<string[]> =>
    (await store.sessions.audit(id)).map(({ event }) => event)
  return { a: (await events('a')).at(-1), b: await events('b') }
}
