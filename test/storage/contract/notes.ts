import fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import type { ListNotesOptions, Note, Store } from '../../../src/index.ts'
import { chat } from '../../support/conversation.ts'
import { ModelNotes } from '../../support/model-notes.ts'
import { SEED } from '../../support/seed.ts'
import { appendAll, type Contract, refusal, S } from './support.ts'

const texts = async (store: Store, options: ListNotesOptions, query?: string): Promise<string[]> =>
  (await store.notes.list({ query, ...options })).map(({ text }) => text)

export function describeNotes({ openBoth, keeps }: Contract): void {
  describe('notes', () => {
    let store: Store
    let reopen: (() => Promise<Store>) | undefined
    beforeEach(async () => {
      const opened = await openBoth()
      store = opened.store
      reopen = opened.reopen
      await store.sessions.create({ id: S, owner: 'anna' })
      await store.sessions.create({ id: 'other' })
    })

    test('of a session are recalled there, newest first', async () => {
      const before = Date.now()
      const note = await store.notes.add('The tests run with vitest.', {
        session: S,
        metadata: { type: 'fact' },
        actor: 'bert',
      })
      expect(note).toEqual({
        id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        sessionId: S,
        text: 'The tests run with vitest.',
        metadata: { type: 'fact' },
        actor: 'bert',
        createdAt: expect.any(Number),
        state: 'current',
      })
      expect(note.createdAt).toBeGreaterThanOrEqual(before - 1)
      const second = await store.notes.add('The port is 8080.', { session: S })
      expect(await store.notes.list({ session: S })).toEqual([second, note])
      expect(await store.notes.list({ query: '', session: S, limit: 1 })).toEqual([second])
      expect(await store.notes.list({ session: 'other' })).toEqual([])
      const again = (await reopen?.()) ?? store
      expect(await again.notes.list({ session: S })).toEqual([second, note])
    })

    test('of an owner apply to all sessions of that owner, and to no other', async () => {
      await store.notes.add('Anna writes TypeScript.', { owner: 'anna' })
      await store.notes.add('Bert writes Rust.', { owner: 'bert' })
      await store.notes.add('This session is about the parser.', { session: S })
      expect(await texts(store, { owner: 'anna' })).toEqual(['Anna writes TypeScript.'])
      expect(await texts(store, { owner: 'bert' })).toEqual(['Bert writes Rust.'])
      expect(await texts(store, { session: S })).toEqual([
        'This session is about the parser.',
        'Anna writes TypeScript.',
      ])
      expect(await texts(store, { session: 'other' })).toEqual([])
      await store.sessions.update(S, { owner: 'bert' })
      expect(await texts(store, { session: S }, 'who writes?')).toEqual(['Bert writes Rust.'])
      expect(await texts(store, { owner: 'nobody' })).toEqual([])
    })

    test('are found by their words, the best first', async () => {
      await store.notes.add('The database runs on port 5432.', { session: S })
      await store.notes.add('Deployments happen on Fridays.', { owner: 'anna' })
      await store.notes.add('The port of the database changed after the deployment.', {
        session: S,
        key: 'a',
      })
      const found = await store.notes.list({ query: 'Which port does the database use?', session: S })
      expect(found).toHaveLength(2)
      expect(found[0]!.score).toBeGreaterThanOrEqual(found[1]!.score!)
      expect(await texts(store, { session: S }, 'deployment friday')).toEqual([
        'Deployments happen on Fridays.',
        'The port of the database changed after the deployment.',
      ])
      expect(await texts(store, { session: S }, 'zebra')).toEqual([])
      for (const query of ['"', "'; drop table", 'NEAR(', '🎉', 'x'.repeat(10_000)])
        expect(await texts(store, { session: S }, query)).toEqual([])
    })

    test('of one key replace each other, and the former ones stay stored', async () => {
      const first = await store.notes.add('The plan is A.', { session: S, key: 'plan' })
      const second = await store.notes.add('The plan is B.', { session: S, key: 'plan' })
      await store.notes.add('The plan is C.', { owner: 'anna', key: 'plan' })
      const other = await store.notes.add('The plan is D.', { session: 'other', key: 'plan' })
      expect(await texts(store, { session: S })).toEqual(['The plan is C.', 'The plan is B.'])
      expect(await texts(store, { session: S }, 'plan A')).not.toContain('The plan is A.')
      expect((await store.notes.list({ session: S, key: 'plan', all: true })).slice(1)).toEqual([
        second,
        { ...first, state: 'replaced' },
      ])
      expect(await store.notes.list({ session: 'other', key: 'plan' })).toEqual([other])
      expect(await store.notes.list({ session: S, key: 'none' })).toEqual([])
    })

    test('that are equal under one key are stored once', async () => {
      const first = await store.notes.add('x', { session: S, key: 'k', metadata: { a: 1, b: 2 } })
      expect(await store.notes.add('x', { session: S, key: 'k', metadata: { b: 2, a: 1 } })).toEqual(first)
      await store.notes.add('x', { session: S, key: 'k', metadata: { a: 2 } })
      await store.notes.add('x', { session: S })
      await store.notes.add('x', { session: S })
      expect(await texts(store, { session: S, all: true })).toEqual(['x', 'x', 'x', 'x'])
    })

    test('that are forgotten stay stored, and are no longer recalled', async () => {
      const note = await store.notes.add('The key is under the mat.', { session: S, key: 'k' })
      expect(await store.notes.forget(note.id)).toEqual({ changed: true, removed: 0 })
      expect(await store.notes.forget(note.id)).toEqual({ changed: false, removed: 0 })
      expect(await texts(store, { session: S })).toEqual([])
      expect(await texts(store, { session: S }, 'key')).toEqual([])
      expect(await store.notes.list({ query: 'key', session: S, all: true })).toEqual([
        { ...note, state: 'forgotten', score: expect.any(Number) },
      ])
      const later = await store.notes.add('The key is in the safe.', { session: S, key: 'k' })
      expect(await store.notes.list({ session: S })).toEqual([later])
      await refusal(store.notes.forget('nothing'), 'NOTE_NOT_FOUND')
    })

    test('are removed for good by a purge, with those of their key before them', async () => {
      const first = await store.notes.add('one', { owner: 'anna', key: 'k' })
      const second = await store.notes.add('two', { owner: 'anna', key: 'k' })
      const third = await store.notes.add('three', { owner: 'anna', key: 'k' })
      const other = await store.notes.add('other', { owner: 'anna' })
      expect(await store.notes.forget(second.id, { purge: true })).toMatchObject({
        changed: true,
        removed: 2,
      })
      expect(await store.notes.list({ owner: 'anna', all: true })).toEqual([other, third])
      expect(await store.notes.forget(other.id, { purge: true })).toMatchObject({ removed: 1 })
      // A loop over all notes meets those again that went with a later one of their key.
      for (const { id } of [first, second, other]) {
        expect(await store.notes.forget(id)).toEqual({ changed: false, removed: 0 })
        expect(await store.notes.forget(id, { purge: true })).toEqual({ changed: false, removed: 0 })
      }
      await refusal(store.notes.forget('nothing', { purge: true }), 'NOTE_NOT_FOUND')
      const fourth = await store.notes.add('four', { owner: 'anna', key: 'k' })
      expect(await store.notes.list({ owner: 'anna' })).toEqual([fourth])
    })

    test('of a session are removed with it; those of its owner stay', async () => {
      const [message] = await appendAll(store, chat(1))
      const note = await store.notes.add('mine', { session: S })
      const source = { sessionId: S, messageId: message! }
      const theirs = await store.notes.add('theirs', { owner: 'anna', source })
      await store.sessions.purge(S)
      await refusal(store.notes.list({ session: S }), 'SESSION_NOT_FOUND')
      await refusal(store.notes.forget(note.id), 'NOTE_NOT_FOUND')
      await store.sessions.create({ id: S, owner: 'anna' })
      expect(await store.notes.list({ session: S, all: true })).toEqual([theirs])
    })

    test('name the message that they are from', async () => {
      const [message] = await appendAll(store, chat(1))
      const source = { sessionId: S, messageId: message! }
      expect(await store.notes.add('a', { session: S, source: message! })).toMatchObject({ source })
      expect(await store.notes.add('b', { session: 'other', source })).toMatchObject({ source })
      expect(await store.notes.add('c', { owner: 'anna', source })).toMatchObject({ source })
      await refusal(store.notes.add('d', { session: S, source: 'none' }), 'MESSAGE_NOT_FOUND')
      await refusal(store.notes.add('d', { session: 'other', source: message! }), 'MESSAGE_NOT_FOUND')
      const nowhere = { sessionId: 'nowhere', messageId: message! }
      await refusal(store.notes.add('d', { owner: 'anna', source: nowhere }), 'SESSION_NOT_FOUND')
      expect(await texts(store, { owner: 'anna', all: true })).toEqual(['c'])
    })

    test('hold any text', async () => {
      const text = 'NUL \0, a lone \ud800, quotes " \' and\nlines, 日本語 🎉'
      const note = await store.notes.add(text, { owner: 'anna', metadata: { '\0': '\ud800' } })
      expect(await store.notes.list({ owner: 'anna' })).toEqual([note])
      expect(note.text).toBe(text)
    })

    test('beyond the setting are stored and not recalled', async () => {
      for (let n = 1; n <= 130; n++) await store.notes.add(`note ${n}`, { owner: 'anna' })
      const found = await texts(store, { owner: 'anna', limit: 1_000 })
      expect([found.length, found[0], found.at(-1)]).toEqual([128, 'note 130', 'note 3'])
      expect(await texts(store, { owner: 'anna', limit: 1_000, all: true })).toHaveLength(130)
      expect(await texts(store, { owner: 'anna' })).toHaveLength(20)
    })

    test('of one key and one owner, by writers at the same time, leave one current', async () => {
      const two = (await reopen?.()) ?? store
      const wrote = await Promise.all(
        Array.from({ length: 8 }, (_, n) =>
          (n % 2 === 0 ? store : two).notes.add(`version ${n}`, { owner: 'carl', key: 'k' }),
        ),
      )
      expect(await store.notes.list({ owner: 'carl' })).toHaveLength(1)
      const all = await store.notes.list({ owner: 'carl', all: true })
      expect(all.map(({ id }) => id).sort()).toEqual(wrote.map(({ id }) => id).sort())
    })

    test('of an unknown session are refused', async () => {
      await refusal(store.notes.add('x', { session: 'nobody' }), 'SESSION_NOT_FOUND')
      await refusal(store.notes.list({ session: 'nobody' }), 'SESSION_NOT_FOUND')
    })

    test('leave the view and the log as they are', async () => {
      await appendAll(store, chat(2))
      const before = [
        await store.getMessages(S),
        await store.getEffectiveHistory(S),
        await store.getContextStats(S),
      ]
      const note = await store.notes.add('x', { session: S })
      await store.notes.forget(note.id, { purge: true })
      expect([
        await store.getMessages(S),
        await store.getEffectiveHistory(S),
        await store.getContextStats(S),
      ]).toEqual(before)
      if (keeps.verify) expect((await store.sessions.verify(S)).findings).toEqual([])
    })

    test.skipIf(!keeps.audit)('leave ids and numbers in the audit, and no text', async () => {
      const first = await store.notes.add('SECRET', {
        session: S,
        key: 'SECRET',
        actor: 'bert',
        reason: 'asked',
      })
      const second = await store.notes.add('SECRET 2', { session: S, key: 'SECRET' })
      await store.notes.add('SECRET 3', { owner: 'anna' })
      await store.notes.forget(second.id, { actor: 'carl', reason: 'wrong' })
      await store.notes.forget(second.id)
      await store.notes.forget(second.id, { purge: true })
      const log = await store.sessions.audit(S)
      expect(log.map(({ event, actor, detail }) => [event, actor, detail])).toEqual([
        ['remembered', 'bert', { noteId: first.id, reason: 'asked' }],
        ['remembered', undefined, { noteId: second.id, replaces: first.id }],
        ['forgotten', 'carl', { noteId: second.id, reason: 'wrong' }],
        ['forgotten', undefined, { noteId: second.id, removed: 2, versions: [first.id] }],
      ])
      expect(JSON.stringify(log)).not.toContain('SECRET')
    })

    const scopes = [{ session: S }, { session: 'other' }, { owner: 'anna' }] as const
    type Step = {
      readonly at: number
      readonly key: number
      readonly forgets?: 'one' | 'purge'
      readonly which: number
    }
    const step: fc.Arbitrary<Step> = fc.record(
      {
        at: fc.nat(2),
        key: fc.nat(2),
        forgets: fc.constantFrom('one', 'purge'),
        which: fc.nat(50),
      },
      { requiredKeys: ['at', 'key', 'which'] },
    )

    test('after any sequence are those of a list in memory', async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
          const known: Note[] = []
          const model = new ModelNotes(
            (id) => ({ id, owner: id === S ? 'anna' : undefined }) as never,
            () => {},
          )
          for (const scope of scopes)
            for (const { id } of await store.notes.list({ ...scope, all: true, limit: 1_000 }))
              await store.notes.forget(id, { purge: true }).catch(() => {})
          for (const [n, { at, key, forgets, which }] of steps.entries()) {
            const scope = scopes[at]!
            if (forgets !== undefined && known.length > 0) {
              const { id } = known[which % known.length]!
              const request = { purge: forgets === 'purge', actor: undefined, reason: undefined }
              const outcome = async (work: () => unknown): Promise<unknown> => {
                try {
                  const { filesCleared: _, ...rest } = (await work()) as Record<string, unknown>
                  return rest
                } catch (error) {
                  return (error as { code: string }).code
                }
              }
              expect(await outcome(() => store.notes.forget(id, { purge: request.purge }))).toEqual(
                await outcome(() => model.forget(id, request)),
              )
              continue
            }
            // The third of the keys is no key.
            const name = key === 2 ? undefined : `k${key}`
            const text = `text ${n % 4}`
            const note = await store.notes.add(text, { ...scope, ...(name !== undefined && { key: name }) })
            const given = { id: note.id, text, key: name, metadata: undefined, source: undefined }
            expect(model.remember(scope, given, { actor: undefined, reason: undefined }).id).toBe(note.id)
            known.push(note)
          }
          for (const scope of scopes)
            for (const all of [false, true]) {
              const found = await store.notes.list({ ...scope, all, limit: 1_000 })
              const expected = model.list(scope, { limit: 1_000, all, key: undefined })
              const facts = (notes: readonly Note[]): unknown =>
                notes.map(({ createdAt: _, ...note }) => note).sort((a, b) => (a.id < b.id ? -1 : 1))
              expect(facts(found)).toEqual(facts(expected))
              const ids = found.filter(({ owner }) => owner === undefined).map(({ id }) => id)
              expect(ids).toEqual([...ids].sort().reverse())
            }
        }),
        { numRuns: 15, seed: SEED },
      )
    })
  })
}
