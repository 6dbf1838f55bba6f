import { describe, expect, test } from 'vitest'
import type { NewMessage } from '../../../src/index.ts'
import { chat, say } from '../../support/conversation.ts'
import { appendAll, type Contract, refusal, S } from './support.ts'

export function describeSessions({ open, openBoth, keeps }: Contract): void {
  describe('sessions', () => {
    test('are made with an id or without', async () => {
      const store = await open()
      const named = await store.sessions.create({
        id: S,
        owner: 'anna',
        title: 'Travel',
        provider: 'openai',
        model: 'gpt-4',
      })
      expect(named).toMatchObject({
        id: S,
        owner: 'anna',
        title: 'Travel',
        provider: 'openai',
        model: 'gpt-4',
      })
      expect(named).toMatchObject({
        messageCount: 0,
        visibleCount: 0,
        activeCompactions: 0,
        archivedAt: undefined,
      })
      const first = await store.sessions.create()
      const second = await store.sessions.create()
      expect(first.id).toMatch(/^[0-9a-f-]{36}$/)
      expect(first.id).not.toBe(second.id)
      expect(await store.sessions.get(S)).toEqual(named)
      await refusal(store.sessions.create({ id: S }), 'SESSION_EXISTS')
      await refusal(store.sessions.get('nobody'), 'SESSION_NOT_FOUND')
    })

    test('keep any JSON as config and metadata', async () => {
      const store = await open()
      const json = { a: [1, -0, null, '\0', { b: '\ud800' }], ['__proto__']: 1, '': {} }
      await store.sessions.create({ id: S, config: json, metadata: json })
      const { config, metadata } = await store.sessions.get(S)
      expect(config).toStrictEqual(json)
      expect(metadata).toStrictEqual(json)
    })

    test('are changed by what is given; null clears, what is left out stays', async () => {
      const store = await open()
      await store.sessions.create({
        id: S,
        owner: 'anna',
        title: 'Travel',
        model: 'gpt-4',
        metadata: { a: 1 },
      })
      await store.sessions.update(S, { title: 'Rome', metadata: undefined })
      expect(await store.sessions.get(S)).toMatchObject({
        owner: 'anna',
        title: 'Rome',
        model: 'gpt-4',
        metadata: { a: 1 },
      })
      const cleared = await store.sessions.update(S, { title: null, model: null, metadata: null })
      expect(cleared).toMatchObject({ owner: 'anna' })
      expect([cleared.title, cleared.model, cleared.metadata]).toEqual([undefined, undefined, undefined])
      await refusal(store.sessions.update('nobody', { title: 'x' }), 'SESSION_NOT_FOUND')
    })

    test('are listed newest first, in pages, by owner', async () => {
      const store = await open()
      // Stored out of order: the list goes by the times of the messages.
      for (const index of [3, 1, 7, 2, 6, 4, 5]) {
        await store.sessions.create({ id: `s${index}`, owner: index % 2 === 0 ? 'even' : 'odd' })
        await store.append(`s${index}`, [{ ...say('user', 'x'), createdAt: index * 1_000 }])
      }
      const ids = async (options: Parameters<typeof store.sessions.list>[0]): Promise<string[]> =>
        (await store.sessions.list(options)).map(({ id }) => id)
      expect(await ids({})).toEqual(['s7', 's6', 's5', 's4', 's3', 's2', 's1'])
      expect(await ids({ limit: 3 })).toEqual(['s7', 's6', 's5'])
      expect(await ids({ limit: 3, after: 's5' })).toEqual(['s4', 's3', 's2'])
      expect(await ids({ after: 's1' })).toEqual([])
      expect(await ids({ owner: 'even' })).toEqual(['s6', 's4', 's2'])
      expect(await ids({ owner: 'even', after: 's4', limit: 1 })).toEqual(['s2'])
      expect(await ids({ owner: 'nobody' })).toEqual([])
      await refusal(store.sessions.list({ after: 'nobody' }), 'SESSION_NOT_FOUND')
      await refusal(store.sessions.list({ after: { id: 's1' } as never }), 'INVALID_INPUT')
      await store.sessions.update('s2', { title: 'Ärger mit 100%' })
      await store.sessions.update('s5', { title: 'The INVOICES of May' })
      expect(await ids({ search: 'ÄRGER' })).toEqual(['s2'])
      expect(await ids({ search: 'invoices' })).toEqual(['s5'])
      expect(await ids({ search: '0%' })).toEqual(['s2'])
      expect(await ids({ search: '%a' })).toEqual([])
      expect(await ids({ search: 'S', limit: 2, after: 's6', owner: 'even' })).toEqual(['s4', 's2'])
      expect(await ids({ search: '5', after: 's5' })).toEqual([])
    })

    test('have their messages counted by content', async () => {
      const store = await open()
      const silent = { role: 'tool', content: [] } as const
      await store.append('a', [silent, ...chat(2), silent, say('user', 'x')])
      expect((await store.sessions.get('a', { counts: true })).counts).toEqual({
        messages: 5,
        bookkeeping: 2,
        visible: 5,
      })
      // Positions 1 to 5: a silent row and four messages; the summary stands for them.
      await store.compactSession('a', { range: { from: 1, to: 5 }, summary: 'x' })
      expect((await store.sessions.get('a', { counts: true })).counts).toEqual({
        messages: 5,
        bookkeeping: 2,
        visible: 2,
      })
      await store.sessions.create({ id: 'empty' })
      expect((await store.sessions.get('empty', { counts: true })).counts).toEqual({
        messages: 0,
        bookkeeping: 0,
        visible: 0,
      })
      await refusal(
        store.sessions.get('nobody', { counts: true }).then((found) => found.counts),
        'SESSION_NOT_FOUND',
      )
    })

    test('silent messages count no tokens and no messages, whatever hides and shows them', async () => {
      const store = await open()
      const unsent = {
        type: 'provider',
        provider: 'undertext-unread',
        data: { kept: 'x'.repeat(400) },
      } as const
      const silent: NewMessage[] = [
        { role: 'tool', content: [] },
        { role: 'user', content: [unsent] },
        { role: 'assistant', content: [{ ...unsent, provider: 'chatgpt' }] },
      ]
      await store.append('none', silent)
      expect(await store.getContextStats('none')).toMatchObject({
        ...{ messageCount: 0, storedMessages: 3, estimated: 0, estimatedInputTokens: 0 },
      })
      // A session with silent rows has the figures of one without them, at each step.
      const said = [...chat(2), say('user', 'x'.repeat(40))]
      const ranges = { with: { from: 2, to: 6 }, without: { from: 1, to: 3 } }
      const figures = async (id: string) => {
        const { messageCount, estimated, breakdown, sizes } = (await store.getContextStats(id))!
        const { messages, visible } = (await store.sessions.get(id, { counts: true })).counts
        return { messageCount, estimated, breakdown, sizes, messages, visible }
      }
      const expectSame = async () => {
        expect(await figures('with')).toEqual(await figures('without'))
        for (const id of ['with', 'without']) {
          const { visible } = (await store.sessions.get(id, { counts: true })).counts
          expect((await store.sessions.get(id)).visibleCount).toBe(visible)
          if (keeps.verify) expect((await store.sessions.verify(id)).findings).toEqual([])
        }
      }
      await store.append('without', said)
      await store.append('with', [silent[0]!, said[0]!, silent[1]!, said[1]!, silent[2]!])
      for (const message of [said[2]!, silent[0]!, said[3]!, said[4]!, silent[1]!])
        await store.append('with', [message])
      await expectSame()
      const ids: Record<string, string> = {}
      for (const [id, range] of Object.entries(ranges))
        ids[id] = (await store.compactSession(id, { range, summary: 'So.' }))!.compactions[0]!.id
      await expectSame()
      for (const id of Object.keys(ranges)) await store.undoCompaction(id, ids[id]!)
      await expectSame()
      for (const id of Object.keys(ranges)) await store.redoCompaction(id, ids[id]!)
      await expectSame()
      for (const id of Object.keys(ranges)) await store.undoCompaction(id, ids[id]!)
      const made: string[] = []
      for (const [id, fromPosition] of [
        ['with', 6],
        ['without', 3],
      ] as const) {
        const [row] = await store.getMessages(id, { after: fromPosition - 1, limit: 1 })
        made.push((await store.rewind(id, { from: { beforeMessage: row!.id } })).compactionId!)
      }
      await expectSame()
      for (const [at, id] of ['with', 'without'].entries()) await store.undoCompaction(id, made[at]!)
      await expectSame()
    })

    test('archived ones are listed apart; archiving twice is once', async () => {
      const store = await open()
      await store.sessions.create({ id: 'a' })
      await store.sessions.create({ id: 'b' })
      const { archivedAt } = await store.sessions.archive('a')
      expect(archivedAt).toBeGreaterThan(0)
      expect((await store.sessions.archive('a')).archivedAt).toBe(archivedAt)
      expect((await store.sessions.list()).map(({ id }) => id)).toEqual(['b'])
      expect((await store.sessions.list({ archived: true })).map(({ id }) => id)).toEqual(['a'])
      if (keeps.audit)
        expect((await store.sessions.audit('a')).map(({ event }) => event)).toEqual(['archived'])
      await store.append('a', chat(1))
      expect((await store.sessions.archive('a', false)).archivedAt).toBeUndefined()
      expect((await store.sessions.list()).map(({ id }) => id)).toEqual(['a', 'b'])
      await refusal(store.sessions.archive('nobody'), 'SESSION_NOT_FOUND')
    })

    test('are sorted by their newest message, not by the newest write', async () => {
      const store = await open()
      expect((await store.sessions.list({ limit: 1 }))[0]?.id).toBeUndefined()
      const hour = (nth: number) => Date.UTC(2025, 0, 1, nth)
      for (const [id, nth] of [
        ['a', 3],
        ['b', 5],
        ['c', 1],
      ] as const)
        await store.append(id, [{ ...say('user', 'x'), createdAt: hour(nth) }])
      await store.sessions.update('a', { title: 'changed' })
      const times = async () => (await store.sessions.list()).map(({ id, newestAt }) => [id, newestAt])
      expect(await times()).toEqual([
        ['b', hour(5)],
        ['a', hour(3)],
        ['c', hour(1)],
      ])
      expect((await store.sessions.list({ limit: 1 }))[0]?.id).toBe('b')
      await store.append('c', [{ ...say('user', 'y'), createdAt: hour(6) }])
      expect((await store.sessions.list({ limit: 1 }))[0]?.id).toBe('c')
      await store.sessions.create({ id: 'empty' })
      expect((await times()).at(-1)).toEqual(['empty', 0])
      expect((await store.sessions.list({ limit: 1 }))[0]?.id).toBe('c')
      await store.sessions.archive('c')
      expect((await store.sessions.list({ limit: 1 }))[0]?.id).toBe('b')
      expect((await store.sessions.list({ limit: 1, archived: true }))[0]?.id).toBe('c')
      await refusal(
        store.sessions.list({ limit: 1, archived: 1 as never }).then((found) => found[0]?.id),
        'INVALID_INPUT',
      )
      if (!keeps.audit) return
      // A clock that is ahead: it counts as said when it was written.
      await store.append('a', [{ ...say('user', 'z'), createdAt: Date.now() + 1e10 }])
      await new Promise((resolve) => setTimeout(resolve, 5))
      await store.append('b', [say('user', 'now')])
      expect((await store.sessions.list({ limit: 1 }))[0]?.id).toBe('b')
    })

    test('are on one page each, also when the session that ends a page receives a message', async () => {
      const store = await open()
      for (const nth of [4, 1, 3, 2, 5])
        await store.append(`s${nth}`, [{ ...say('user', 'x'), createdAt: nth * 1_000 }])
      const first = await store.sessions.list({ limit: 2 })
      expect(first.map(({ id }) => id)).toEqual(['s5', 's4'])
      await store.append('s4', [{ ...say('user', 'y'), createdAt: 9_000 }])
      const ids = async (after: Parameters<typeof store.sessions.list>[0]): Promise<string[]> =>
        (await store.sessions.list(after)).map(({ id }) => id)
      expect(await ids({ limit: 2, after: first[1] })).toEqual(['s3', 's2'])
      expect(await ids({ after: 's4' })).toEqual(['s5', 's3', 's2', 's1'])
      // Of equal times, the last inserted first; a page may end between them.
      for (const id of ['t1', 't2', 't3']) await store.append(id, [{ ...say('user', 'x'), createdAt: 3_000 }])
      const [, , ...same] = await store.sessions.list({ limit: 4 })
      expect(same.map(({ id }) => id)).toEqual(['t3', 't2'])
      expect(await ids({ limit: 3, after: same[1] })).toEqual(['t1', 's3', 's2'])
      expect(await ids({ limit: 3, after: 't2' })).toEqual(['t1', 's3', 's2'])
    })

    test('count a message with a time in the future as stored then; later changes move none', async () => {
      const store = await open()
      const from = Date.now()
      await store.append('a', [{ ...say('user', 'x'), createdAt: from + 1e10 }])
      const to = Date.now()
      const time = async (): Promise<number> => (await store.sessions.list({ search: 'a' }))[0]!.newestAt
      const stored = await time()
      expect(stored).toBeGreaterThanOrEqual(from)
      expect(stored).toBeLessThanOrEqual(to)
      await new Promise((resolve) => setTimeout(resolve, 5))
      await store.sessions.update('a', { title: 'changed' })
      await store.compactions.hide('a', [(await store.getMessages('a'))[0]!.id])
      expect(await time()).toBe(stored)
      await store.append('b', [say('user', 'now')])
      expect((await store.sessions.list()).map(({ id }) => id)).toEqual(['b', 'a'])
    })

    test('are listed in the same order with the archive alone, and for one owner', async () => {
      const store = await open()
      const times = { a: 2_000, b: 3_000, c: 2_000, d: 2_000, e: 1_000, f: 2_000 }
      for (const [id, createdAt] of Object.entries(times)) {
        if (id !== 'f') await store.sessions.create({ id, owner: id === 'd' ? 'ben' : 'anna' })
        await store.append(id, [{ ...say('user', 'x'), createdAt }])
        await store.sessions.archive(id)
      }
      const pages = async (of: typeof store, archived: boolean): Promise<string[][]> => {
        const found: string[][] = []
        for (let after: Parameters<typeof of.sessions.list>[0] = {}; ; ) {
          const page = await of.sessions.list({ ...after, archived, limit: 2 })
          if (page.length === 0) return found
          found.push(page.map(({ id }) => id))
          after = { after: page.at(-1)! }
        }
      }
      const inOrder = [
        ['b', 'f'],
        ['d', 'c'],
        ['a', 'e'],
      ]
      const ofAnna = [
        ['b', 'c'],
        ['a', 'e'],
      ]
      expect(await pages(store, true)).toEqual(inOrder)
      expect(await pages(store.forOwner('anna'), true)).toEqual(ofAnna)
      expect(await pages(store, false)).toEqual([])
      for (const id of Object.keys(times)) await store.sessions.archive(id, false)
      expect(await pages(store, false)).toEqual(inOrder)
      expect(await pages(store.forOwner('anna'), false)).toEqual(ofAnna)
      expect(await pages(store.forOwner('ben'), false)).toEqual([['d']])
      expect(await pages(store.forOwner('anna'), true)).toEqual([])
    })

    test('purged they are gone, and made anew they are others', async () => {
      const store = await open()
      await appendAll(store, chat(6))
      await appendAll(store, chat(2), 'other')
      const other = await store.getMessages('other')
      await store.compactSession(S, { range: { from: 1, to: 8 }, summary: 'x' })
      const { incarnation } = await store.sessions.get(S)
      const ids = (await store.getMessages(S)).map(({ id }) => id)
      const { filesCleared, ...removed } = await store.sessions.purge(S, {
        actor: 'anna',
        reason: 'asked to',
      })
      expect(removed).toEqual({ messages: 12, compactions: 1, blobs: 0 })
      // A server keeps removed rows until it vacuums.
      expect([undefined, false]).toContain(filesCleared)
      await refusal(store.sessions.get(S), 'SESSION_NOT_FOUND')
      await refusal(store.sessions.purge(S), 'SESSION_NOT_FOUND')
      expect(await store.getContextStats(S)).toBeNull()
      expect((await store.sessions.list()).map(({ id }) => id)).toEqual(['other'])
      const again = await store.append(S, [say('user', 'again')], { expectedPosition: 0 })
      expect(again.messages[0]!.position).toBe(1)
      expect(ids).not.toContain(again.messages[0]!.id)
      expect((await store.sessions.get(S)).incarnation).not.toBe(incarnation)
      expect(await store.listCompactions(S)).toEqual([])
      await refusal(store.messages.pin(S, [ids[0]!]), 'MESSAGE_NOT_FOUND')
      expect(await store.getMessages('other')).toEqual(other)
    })

    test('come back as they were when the store is opened again', async () => {
      const { store, reopen } = await openBoth()
      if (reopen === undefined) return
      await store.sessions.create({ id: S, owner: 'anna', metadata: { a: [1] } })
      await appendAll(store, chat(3))
      await store.sessions.archive(S)
      const before = await store.sessions.get(S)
      await store.close()
      expect(await (await reopen()).sessions.get(S)).toEqual(before)
    })
  })
}
