import { randomInt } from 'node:crypto'
import { PGlite } from '@electric-sql/pglite'
import BetterSqlite3 from 'better-sqlite3'
import { afterAll, afterEach, expect, it } from 'vitest'
import { estimatorNamed } from '../../src/core/tokens/index.ts'
import { type OpenOptions, openStore, type Store } from '../../src/index.ts'
import type { Histories, Storage } from '../../src/storage/storage.ts'
import { moveStore } from '../../src/transfer/index.ts'
import { moveStorage } from '../../src/transfer/move-store.ts'
import { live, standing, turned } from '../storage/written/story.ts'
import { storageOf } from '../support/apply-stage.ts'
import { chat, say } from '../support/conversation.ts'
import { everythingOf } from './support.ts'

const pglite = new PGlite()
afterAll(() => pglite.close())
const open: Store[] = []
afterEach(async () => {
  for (const store of open.splice(0)) await store.close()
})
let schemas = 0

async function opened(store: Promise<Store>): Promise<Store> {
  open.push(await store)
  return store
}
const sqlite = (options: OpenOptions = {}): Promise<Store> => opened(openStore(':memory:', options))
/** A store in a schema of its own. */
const postgres = (options: OpenOptions = {}): Promise<Store> =>
  opened(openStore(pglite, { ...options, schema: `move${schemas++}` }))

const NOTHING = { copied: 0, replaced: 0, unchanged: 0, refused: 0, problems: [], messages: 0 }
const NO_RECORDS = { calibrations: 0, limits: 0, receipts: 0, notes: 0 }

/** The receipts of purges. */
async function receiptsOf(store: Store): Promise<readonly object[]> {
  return (await storageOf(store).histories.storeRecords('receipts', undefined)).records
}

it('notes of owners and of sessions are moved, and to owners who have some they are added', async () => {
  const [source, there, back] = [await sqlite(), await postgres(), await sqlite()]
  await source.sessions.create({ id: 's', owner: 'anna' })
  for (const text of ['one', 'two']) await source.notes.add(text, { owner: 'anna', key: 'k' })
  const { id } = await source.notes.add('three', { owner: 'bert' })
  await source.notes.add('of the session', { session: 's' })
  expect(await moveStore(source, there)).toMatchObject({ copied: 1, notes: 3 })
  expect(await moveStore(there, back)).toMatchObject({ copied: 1, notes: 3 })
  const notesOf = async (store: Store) => [
    await store.notes.list({ session: 's', all: true }),
    await store.notes.list({ owner: 'bert', all: true }),
  ]
  expect(await notesOf(there)).toEqual(await notesOf(source))
  expect(await notesOf(back)).toEqual(await notesOf(source))
  expect(await moveStore(source, there)).toMatchObject({ notes: 0 })
  await source.notes.forget(id)
  await there.notes.add('four', { owner: 'anna', key: 'other' })
  await source.notes.add('five', { owner: 'anna', key: 'other' })
  expect(await moveStore(source, there)).toMatchObject({ notes: 2 })
  expect(await there.notes.list({ owner: 'bert' })).toEqual([])
  const annas = await there.notes.list({ owner: 'anna', all: true })
  expect(annas.map(({ text, state }) => [text, state]).sort()).toEqual([
    ['five', 'replaced'],
    ['four', 'current'],
    ['one', 'replaced'],
    ['two', 'current'],
  ])
})

it('notes of owners that were purged in the copy do not return with the next move', async () => {
  const [source, there] = [await sqlite(), await postgres()]
  await source.sessions.create({ id: 's', owner: 'anna' })
  for (let at = 1; at <= 120; at++) await source.notes.add(`version ${at}`, { owner: 'anna', key: 'k' })
  const { id } = await source.notes.add('by itself', { owner: 'anna' })
  expect(await moveStore(source, there)).toMatchObject({ notes: 121 })
  const [newest] = await there.notes.list({ query: 'version', owner: 'anna' })
  expect(await there.notes.forget(newest!.id, { purge: true })).toMatchObject({ removed: 120 })
  await there.notes.forget(id, { purge: true })
  await source.notes.add('version 121', { owner: 'anna', key: 'k' })
  expect(await moveStore(source, there)).toMatchObject({ notes: 1 })
  expect(await there.notes.list({ owner: 'anna', all: true })).toMatchObject([{ text: 'version 121' }])
})

it('a store is the same after it was moved to PostgreSQL and back', async () => {
  const [source, there, back] = [await sqlite(), await postgres(), await sqlite()]
  await live(source)
  const ids = ['plain', 'compacted', 'replaced', 'rewound', 'branched', 'background']
  const moved = { ...NOTHING, copied: 6, messages: 86, calibrations: 1, limits: 1, receipts: 1, notes: 0 }
  expect(await moveStore(source, there)).toEqual(moved)
  expect(await moveStore(there, back)).toEqual(moved)
  for (const store of [there, back]) {
    for (const id of ids) {
      expect(await everythingOf(store, id), id).toEqual(await everythingOf(source, id))
      expect(await store.jobs.list(id), id).toEqual(await source.jobs.list(id))
      expect(await store.getContextStats(id), id).toEqual(await source.getContextStats(id))
    }
    expect(await standing(store)).toEqual(await standing(source))
    expect(await receiptsOf(store)).toEqual(await receiptsOf(source))
    expect(await receiptsOf(store)).toMatchObject([{ event: 'purged', actor: 'anna' }])
    expect(await store.limits.list()).toEqual(await source.limits.list())
    for (const archived of [true, false])
      expect((await store.sessions.list({ archived })).map(({ id }) => id)).toEqual(
        (await source.sessions.list({ archived })).map(({ id }) => id),
      )
  }
  // What can be undone and redone shows the same views.
  expect(await turned(back)).toEqual(await turned(source))
})

it('a second move copies what has changed, and a reader sees the old copy until the new one is complete', async () => {
  const [source, there, file] = [await sqlite(), await postgres(), await sqlite()]
  await source.append('a', chat(25))
  await source.compactSession('a', { range: { from: 1, to: 20 }, summary: 'One.' })
  await source.append('b', [say('user', 'b')])
  for (const to of [there, file]) await moveStore(source, to)
  const before = { there: await everythingOf(there, 'a'), file: await everythingOf(file, 'a') }
  await source.append('a', chat(240))
  await source.compactSession('a', { range: { from: 21, to: 40 }, summary: 'Two.' })
  await source.undoCompaction('a', (await source.listCompactions('a'))[0]!.id)
  for (const [name, to] of Object.entries({ there, file }) as ['there' | 'file', Store][]) {
    const reads: Promise<void>[] = []
    const report = await moveStore(source, to, {
      onMessages: () =>
        void reads.push(everythingOf(to, 'a').then((now) => expect(now).toEqual(before[name]))),
    })
    expect(report).toEqual({ ...NOTHING, ...NO_RECORDS, replaced: 1, unchanged: 1, messages: 530 })
    expect(reads.length).toBeGreaterThan(1)
    await Promise.all(reads.slice(0, 1))
    expect(await everythingOf(to, 'a')).toEqual(await everythingOf(source, 'a'))
    expect(await storageOf(to).importsInProgress()).toEqual([])
    expect(await moveStore(source, to)).toEqual({ ...NOTHING, ...NO_RECORDS, unchanged: 2 })
  }
})

it('what is written to the original while it is copied is not in the copy', async () => {
  const [source, there, other] = [await sqlite(), await postgres(), await sqlite()]
  await source.append('a', chat(260))
  await moveStore(source, other)
  const changes: Promise<unknown>[] = []
  await moveStore(source, there, {
    onMessages: () => changes.push(source.append('a', [say('user', 'later')])),
  })
  expect(changes.length).toBeGreaterThan(1)
  await Promise.all(changes)
  expect(await everythingOf(there, 'a')).toEqual(await everythingOf(other, 'a'))
  expect(await moveStore(source, there)).toMatchObject({ replaced: 1 })
  expect(await everythingOf(there, 'a')).toEqual(await everythingOf(source, 'a'))
})

it('a copy that was changed or purged, and another session of the same id, are named and stay as they are', async () => {
  const [source, there] = [await sqlite(), await postgres()]
  for (const id of ['changed', 'titled', 'gone', 'same', 'other']) await source.append(id, [say('user', id)])
  await there.append('other', [say('user', 'mine')])
  expect(await moveStore(source, there)).toMatchObject({ copied: 4, refused: 1 })
  await there.append('changed', [say('user', 'there')])
  await there.sessions.update('titled', { title: 'there' })
  await there.sessions.purge('gone')
  for (const id of ['changed', 'titled', 'gone']) await source.append(id, [say('user', 'here')])
  const before = await Promise.all(['changed', 'titled', 'other'].map((id) => everythingOf(there, id)))
  const { problems, ...counts } = await moveStore(source, there)
  expect(counts).toMatchObject({ copied: 0, replaced: 0, unchanged: 1, refused: 4 })
  expect(problems.map(({ sessionId, code }) => [sessionId, code])).toEqual([
    ['changed', 'CHANGED_THERE'],
    ['titled', 'CHANGED_THERE'],
    ['gone', 'PURGED_THERE'],
    ['other', 'OTHER_SESSION'],
  ])
  expect(await Promise.all(['changed', 'titled', 'other'].map((id) => everythingOf(there, id)))).toEqual(
    before,
  )
})

it('a copy that changes at the last moment is not replaced', async () => {
  const [source, there] = [await sqlite(), await sqlite()]
  await source.append('a', chat(2))
  await moveStore(source, there)
  await source.append('a', chat(1))
  const storage = storageOf(there)
  const changing: Storage = withHistories(storage, {
    publish: async (...given) => {
      await there.append('a', [say('user', 'mine')])
      return storage.histories.publish(...given)
    },
  })
  const { problems } = await moveStorage(storageOf(source), changing)
  expect(problems).toMatchObject([{ sessionId: 'a', code: 'CHANGED_THERE' }])
  expect((await there.sessions.get('a')).messageCount).toBe(5)
  expect(await storage.importsInProgress()).toEqual([])
})

function withHistories(storage: Storage, verbs: Partial<Histories>): Storage {
  return {
    ...storage,
    histories: { ...storage.histories, ...verbs },
    seenBy: (seen) => withHistories(storage.seenBy(seen), verbs),
  }
}

it('a copy that differs is an error of its session and is not seen, also in place of an older one', async () => {
  const [source, there] = [await sqlite(), await sqlite()]
  await source.append('a', chat(3))
  await source.append('b', chat(1))
  const storage = storageOf(there)
  const forgetful = withHistories(storage, {
    writeRows: (restoring, rows) =>
      storage.histories.writeRows(
        restoring,
        rows.map((one) => (rows.length === 6 ? { ...one, row: { ...one.row, createdAt: 1 } } : one)),
      ),
  })
  const { problems, copied } = await moveStorage(storageOf(source), forgetful)
  expect([copied, problems]).toMatchObject([1, [{ sessionId: 'a', code: 'MISMATCH' }]])
  expect((await there.sessions.list()).map(({ id }) => id)).toEqual(['b'])

  await source.append('b', chat(2))
  const before = await everythingOf(there, 'b')
  expect((await moveStorage(storageOf(source), forgetful)).problems).toMatchObject([
    { sessionId: 'a', code: 'MISMATCH' },
    { sessionId: 'b', code: 'MISMATCH' },
  ])
  expect(await everythingOf(there, 'b')).toEqual(before)
  expect(await moveStore(source, there)).toMatchObject({ copied: 1, replaced: 1, refused: 0 })
})

it('a session in which verify finds something is not copied before it is repaired', async () => {
  const database = new BetterSqlite3(':memory:')
  const [source, there] = [await opened(openStore(database)), await sqlite()]
  await source.append('a', chat(3))
  database.exec('update undertext_sessions set visible = 9')
  const { problems } = await moveStore(source, there)
  expect(problems).toMatchObject([{ code: 'UNSOUND', detail: expect.stringContaining('COUNTER_DRIFT') }])
  await source.sessions.verify('a', { repair: true })
  expect(await moveStore(source, there)).toMatchObject({ copied: 1, refused: 0 })
  database.close()
})

it('a running job becomes a queued one without a holder, and a circuit stays as it is', async () => {
  const [source, there] = [await sqlite(), await postgres()]
  await source.append('a', chat(2))
  const from = storageOf(source)
  const request = { config: { target: 0.3 }, replans: 1 }
  await from.jobs.enqueue('a', { id: 'job-1', request, notBefore: 5 }, false)
  const claim = { runId: 'run-1', holder: 'another machine', expiresAt: Date.now() + 60_000 }
  await from.jobs.claim('a', claim, 3)
  const failure = { viewEpoch: 0, model: 'm', error: 'MODEL_CALL_FAILED' }
  await from.circuits.fail('a', failure, { most: 1, openUntil: 9_999_999_999_999 })
  await moveStore(source, there)
  const to = storageOf(there)
  const [job] = await source.jobs.list('a')
  expect(job).toMatchObject({ id: 'job-1', state: 'running', attempts: 1 })
  expect(await there.jobs.list('a')).toEqual([{ ...job, state: 'queued' }])
  expect(await to.jobs.open('a')).toMatchObject({ isHeld: false })
  expect(await to.circuits.circuit('a')).toEqual(await from.circuits.circuit('a'))
  // It has its request, and counts its attempts.
  const again = { runId: 'run-2', holder: 'h', expiresAt: Date.now() + 60_000 }
  expect(await to.jobs.claim('a', again, 3)).toMatchObject({ request, job: { attempts: 2 } })
})

it('an attempt at a summary that runs is expired in the copy', async () => {
  const [source, there] = [await sqlite(), await sqlite()]
  await source.append('a', chat(6))
  let moved: Promise<unknown> | undefined
  const summarize = async () => {
    moved = moveStore(source, there)
    await moved
    return { text: 'Late.' }
  }
  const summarizer = { name: 'asking', usesModel: true, summarize }
  await source.compactSession('a', { range: { from: 1, to: 4 }, summarizer })
  expect(await moved).toMatchObject({ copied: 1 })
  expect((await there.listCompactions('a')).map(({ status }) => status)).toEqual(['expired'])
  expect(await moveStore(source, there)).toMatchObject({ replaced: 1 })
  expect(await everythingOf(there, 'a')).toEqual(await everythingOf(source, 'a'))
})

it('a session of an estimator that the other store does not know is named, and the others are copied', async () => {
  const own = { ...estimatorNamed('neurolink')!, name: 'own' }
  const [source, there, knowing] = [
    await sqlite({ estimators: [own] }),
    await sqlite(),
    await sqlite({ estimators: [own] }),
  ]
  await source.sessions.create({ id: 'own', config: { estimator: 'own' } })
  await source.append('plain', [say('user', 'x')])
  expect(await moveStore(source, there)).toMatchObject({
    copied: 1,
    problems: [{ sessionId: 'own', code: 'ESTIMATOR_UNKNOWN' }],
  })
  expect(await moveStore(source, knowing)).toMatchObject({ copied: 2, refused: 0 })
})

it('an aborted move leaves complete sessions only, and the next one continues', async () => {
  const [source, there] = [await sqlite(), await postgres()]
  for (const id of ['a', 'b', 'c']) await source.append(id, chat(260))
  const controller = new AbortController()
  let copied = 0
  const onMessages = (count: number): void => {
    copied += count
    if (copied > 700) controller.abort()
  }
  const aborted = moveStore(source, there, { signal: controller.signal, onMessages })
  await expect(aborted).rejects.toMatchObject({ code: 'ABORTED', facts: { sessionId: 'b' } })
  expect((await there.sessions.list()).map(({ id }) => id)).toEqual(['a'])
  expect(await storageOf(there).importsInProgress()).toEqual([])
  expect(await moveStore(source, there)).toMatchObject({ copied: 2, unchanged: 1 })
})

it('two sessions with one incarnation, as earlier versions copied them, are both copied', async () => {
  const database = new BetterSqlite3(':memory:')
  const source = await opened(openStore(database))
  await source.append('a', chat(2))
  await source.append('b', chat(1))
  const first = "(select incarnation from undertext_sessions where id = 'a')"
  database.exec(`update undertext_sessions set incarnation = ${first} where id = 'b'`)
  for (const to of [await sqlite(), await postgres()]) {
    expect(await moveStore(source, to)).toMatchObject({ copied: 2, refused: 0 })
    expect(await everythingOf(to, 'b')).toEqual(await everythingOf(source, 'b'))
    expect(await moveStore(source, to)).toMatchObject({ unchanged: 2 })
  }
  database.close()
})

it('of what was learned of a model the later is kept', async () => {
  const [source, there] = [await sqlite(), await postgres()]
  await there.limits.set({ provider: 'openai', model: 'older', tokens: 1_000 })
  await new Promise((resolve) => setTimeout(resolve, 5))
  await source.limits.set({ provider: 'openai', model: 'older', tokens: 2_000 })
  await source.limits.set({ provider: 'openai', model: 'newer', tokens: 3_000 })
  await new Promise((resolve) => setTimeout(resolve, 5))
  await there.limits.set({ provider: 'openai', model: 'newer', tokens: 500 })
  expect(await moveStore(source, there)).toMatchObject({ limits: 1 })
  expect((await there.limits.list()).map(({ model, tokens }) => [model, tokens])).toEqual([
    ['newer', 500],
    ['older', 2_000],
  ])
})

it('rejects what is no store, and unknown options', async () => {
  const store = await sqlite()
  await expect(moveStore(store, {} as Store)).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  await expect(moveStore(store, store, { all: true } as object)).rejects.toMatchObject({
    code: 'INVALID_INPUT',
  })
})

/** A text of so many bytes that no compression makes shorter: three bytes a character, then one. */
function incompressible(bytes: number): string {
  const hangul = Array.from({ length: Math.floor(bytes / 3) }, () => randomInt(0xac00, 0xd7a4))
  return String.fromCharCode(...hangul) + 'x'.repeat(bytes % 3)
}

it('a new name of 2,600 bytes is stored in every engine, and a longer one is refused', async () => {
  const [longest, longer] = [incompressible(2_600), incompressible(2_601)]
  const invalid = { code: 'INVALID_INPUT', message: expect.stringContaining('2600 bytes') }
  for (const store of [await sqlite(), await postgres()]) {
    const message = { ...say('user', 'x'), id: longest, idempotencyKey: longest }
    await store.sessions.create({ id: longest, owner: longest })
    await store.rewind(longest, { from: 'end', append: [message], operationId: longest })
    const found = await store.getMessages(longest)
    expect(found.map(({ id, idempotencyKey }) => [id, idempotencyKey])).toEqual([[longest, longest]])
    expect((await store.sessions.list({ owner: longest })).map(({ id }) => id)).toEqual([longest])

    await expect(store.sessions.create({ id: longer })).rejects.toMatchObject(invalid)
    await expect(store.sessions.create({ id: 'a', owner: longer })).rejects.toMatchObject(invalid)
    await expect(store.sessions.update(longest, { owner: longer })).rejects.toMatchObject(invalid)
    await expect(store.append(longer, [say('user', 'x')])).rejects.toMatchObject(invalid)
    await expect(store.append('a', [{ ...say('user', 'x'), id: longer }])).rejects.toMatchObject(invalid)
    const keyed = { ...say('user', 'x'), idempotencyKey: longer }
    await expect(store.append('a', [keyed])).rejects.toMatchObject(invalid)
    await expect(
      store.rewind(longest, { from: 'start', operationId: longer, append: [] }),
    ).rejects.toMatchObject(invalid)
    await expect(store.sessions.get(longer)).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' })
    await expect(store.getMessages(longer)).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' })
    expect(await store.getContextStats(longer)).toBeNull()
    expect((await store.sessions.list()).map(({ id }) => id)).toEqual([longest])
  }
})

it('a session with a name that another program made too long for PostgreSQL is named, and the others are copied', async () => {
  const database = new BetterSqlite3(':memory:')
  const source = await opened(openStore(database))
  for (const id of ['owned', 'fine']) await source.append(id, chat(2))
  const owner = incompressible(2_800)
  database.prepare("update undertext_sessions set owner = ? where id = 'owned'").run(owner)
  await source.limits.set({ provider: incompressible(900), model: incompressible(2_900), tokens: 1_000 })
  const [file, there] = [await sqlite(), await postgres()]
  expect(await moveStore(source, file)).toMatchObject({ copied: 2, refused: 0, limits: 1 })
  expect(await moveStore(source, there)).toMatchObject({
    ...{ copied: 1, limits: 0 },
    problems: [{ sessionId: 'owned', code: 'INVALID_INPUT' }],
  })
  expect((await there.sessions.list()).map(({ id }) => id)).toEqual(['fine'])
  database.close()
})
