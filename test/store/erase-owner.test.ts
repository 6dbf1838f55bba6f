import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openStore, type Store } from '../../src/index.ts'
import { exportOwner, moveStore } from '../../src/transfer/index.ts'
import { chat, say } from '../support/conversation.ts'
import { databaseOn, postgresServer, query } from '../support/postgres.ts'
import { newFile } from '../support/temporary.ts'

const OWNER = 'Ann Example'
const SECRET = 'the-combination-4711'
const OPTIONS = { env: false, estimator: 'neurolink' } as const

/** Sessions of two owners; each took part in the other's. */
async function furnish(store: Store): Promise<void> {
  const ann = store.forOwner(OWNER)
  const bob = store.forOwner('bob')
  for (const id of ['chat', 'archived']) {
    await ann.sessions.create({ id, title: SECRET, metadata: { who: SECRET } })
    await ann.append(id, [say('user', SECRET), say('assistant', `Noted: ${SECRET}`), ...chat(6)])
    const request = await ann.prepareRequest(id, { prompt: SECRET, system: SECRET })
    await ann.requests.recordUsage(id, { inputTokens: 100, request })
    await ann.compactSession(id, { range: { from: 1, to: 3 }, summary: SECRET })
    await ann.notes.add(SECRET, { session: id })
    await ann.jobs.start(id, { targetTokens: 10_000 })
    await ann.jobs.whenIdle(id)
  }
  await ann.sessions.archive('archived')
  await ann.sessions.fork('chat', { id: 'own fork' })
  await ann.notes.add(SECRET, { owner: OWNER, key: 'k' })
  await ann.search(SECRET)
  await bob.append('chat', [say('user', 'of bob'), ...chat(2)])
  const { id } = (await bob.getMessages('chat'))[1]!
  await bob.messages.pin('chat', [id], { actor: OWNER })
  await bob.compactions.hide('chat', [(await bob.getMessages('chat'))[0]!.id], { actor: OWNER })
  await bob.notes.add('of bob', { session: 'chat', actor: OWNER })
}

/** What the store holds of bob. */
async function bobs(store: Store): Promise<unknown[]> {
  const bob = store.forOwner('bob')
  return [await bob.getMessages('chat'), await bob.getEffectiveHistory('chat'), await bob.sessions.list()]
}

describe('in a file, the erasure of an owner', () => {
  let file: string
  let store: Store
  beforeEach(async () => {
    file = newFile()
    store = await openStore(file, OPTIONS)
    await furnish(store)
  })
  afterEach(() => store.close())

  /** The files of the store, with the bytes of each. */
  const bytes = (): Buffer =>
    Buffer.concat(
      readdirSync(dirname(file))
        .filter((name) => name.startsWith(basename(file)))
        .map((name) => readFileSync(join(dirname(file), name))),
    )

  it('is counted by a dry run, which changes nothing', async () => {
    const found = await store.privacy.eraseOwner(OWNER, { dryRun: true })
    // Two sessions of 2 + 6 × 2 messages and a fork; two summaries, and the copy of one. In the session of Bob, three entries name her.
    expect(found).toEqual({
      ...{ sessions: 3, messages: 42, compactions: 3, requests: 2, jobs: 2 },
      ...{ notes: 1, auditEntries: 3, keptForks: 0 },
    })
    expect(await store.forOwner(OWNER).sessions.list()).toHaveLength(2)
    expect(bytes().includes(SECRET)).toBe(true)
  })

  it('leaves no byte of the owner in any file, and the rows of others', async () => {
    const before = await bobs(store)
    const { mark, ...erased } = await store.privacy.eraseOwner(OWNER, { actor: OWNER })
    expect(erased).toMatchObject({ sessions: 3, messages: 42, notes: 1, auditEntries: 3 })
    expect(mark).toMatch(/^[\w-]{22}$/)
    expect(await store.forOwner(OWNER).sessions.list()).toEqual([])
    expect(await store.forOwner(OWNER).notes.list({ owner: OWNER, all: true })).toEqual([])
    expect(await bobs(store)).toEqual(before)
    expect((await store.forOwner('bob').sessions.verify('chat')).findings).toEqual([])
    const audit = await store.forOwner('bob').sessions.audit('chat')
    expect(audit.map(({ actor }) => actor).filter((actor) => actor === mark)).toHaveLength(3)
    expect(bytes().includes(SECRET)).toBe(false)
    expect(bytes().includes(OWNER)).toBe(false)
    await store.close()
    expect(bytes().includes(SECRET)).toBe(false)
    expect(bytes().includes(OWNER)).toBe(false)
    store = await openStore(file, OPTIONS)
  })

  it('that ends early is continued by the next call', async () => {
    const abort = new AbortController()
    abort.abort()
    await expect(store.privacy.eraseOwner(OWNER, { signal: abort.signal })).rejects.toMatchObject({
      code: 'ABORTED',
    })
    await store.forOwner(OWNER).sessions.purge('archived')
    expect(await store.privacy.eraseOwner(OWNER)).toMatchObject({ sessions: 2 })
    expect(await store.privacy.eraseOwner(OWNER)).toMatchObject({ sessions: 0, notes: 0, auditEntries: 0 })
  })

  it('keeps a fork of another owner whole, without a name of its origin', async () => {
    const fork = await store.forOwner(OWNER).sessions.fork('chat', { id: 'for bob' })
    await store.sessions.update(fork.id, { owner: 'bob' })
    const bob = store.forOwner('bob')
    const before = await bob.getEffectiveHistory('for bob')
    expect((await bob.sessions.get('for bob')).forkedFrom).toBeUndefined()
    expect(await store.privacy.eraseOwner(OWNER, { dryRun: true })).toMatchObject({ keptForks: 1 })
    await store.privacy.eraseOwner(OWNER)
    expect(await bob.getEffectiveHistory('for bob')).toEqual(before)
    expect((await bob.sessions.verify('for bob')).findings).toEqual([])
  })

  it('can be asked of the store of the owner, and of a strict store', async () => {
    const strict = await openStore(newFile(), { ...OPTIONS, strict: true })
    await strict.forOwner('ann').append('s', [say('user', 'Hi')])
    expect(await strict.privacy.eraseOwner('ann')).toMatchObject({ sessions: 1 })
    await strict.close()
    expect(await store.forOwner(OWNER).privacy.eraseOwner(OWNER)).toMatchObject({ sessions: 3 })
  })

  it('is refused for no owner', async () => {
    for (const owner of [undefined, '', null, 5])
      await expect(store.privacy.eraseOwner(owner as never)).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  })
})

describe('an export of an owner', () => {
  it('is a store with everything of the owner and nothing of others, which can be restored elsewhere', async () => {
    const store = await openStore(newFile(), OPTIONS)
    await furnish(store)
    const archive = newFile()
    expect(await exportOwner(store, OWNER, archive)).toMatchObject({
      ...{ copied: 3, refused: 0, notes: 1, calibrations: 0, limits: 0, receipts: 0 },
    })
    expect(readFileSync(archive).includes('of bob')).toBe(false)
    for (const path of [archive, 'postgres://localhost/x', '', ':memory:'])
      await expect(exportOwner(store, OWNER, path)).rejects.toMatchObject({ code: 'INVALID_INPUT' })
    const from = await openStore(archive, OPTIONS)
    const elsewhere = await openStore(newFile(), OPTIONS)
    await elsewhere.forOwner('bob').append('chat', [say('user', 'another chat')])
    expect(await moveStore(from, elsewhere)).toMatchObject({ copied: 3, refused: 0 })
    const [here, there] = [store, elsewhere].map((one) => one.forOwner(OWNER))
    for (const id of ['chat', 'archived', 'own fork']) {
      expect(await there!.getMessages(id)).toEqual(
        (await here!.getMessages(id)).map(({ copiedFrom: _, ...row }) => row),
      )
      expect(await there!.getEffectiveHistory(id)).toEqual(await here!.getEffectiveHistory(id))
    }
    expect(await there!.notes.list({ owner: OWNER })).toEqual(await here!.notes.list({ owner: OWNER }))
    expect(await elsewhere.forOwner('bob').getMessages('chat')).toHaveLength(1)
    for (const one of [from, elsewhere, store]) await one.close()
  })

  it('leaves no file behind when it fails', async () => {
    const store = await openStore(newFile(), OPTIONS)
    await furnish(store)
    const abort = new AbortController()
    abort.abort()
    const archive = newFile()
    await expect(exportOwner(store, OWNER, archive, { signal: abort.signal })).rejects.toMatchObject({
      code: 'ABORTED',
    })
    expect(existsSync(archive)).toBe(false)
    await store.close()
  })
})

const server = await postgresServer()
describe.skipIf(server === undefined)('in PostgreSQL, the erasure of an owner', () => {
  it('leaves no row with a word of the owner in any table', async () => {
    const { url, stop } = await databaseOn(server!)
    const store = await openStore(url!, OPTIONS)
    await furnish(store)
    const before = await bobs(store)
    const holding = async (text: string): Promise<string[]> => {
      const tables = await query(
        url!,
        "select relname::text from pg_class where relnamespace = 'undertext'::regnamespace and relkind = 'r'",
      )
      const found: string[] = []
      for (const [name] of tables) {
        const [[count]] = (await query(
          url!,
          `select count(*)::int from undertext."${name}" t where t::text like '%${text}%'`,
        )) as [[number]]
        if (count > 0) found.push(name as string)
      }
      return found
    }
    expect(await holding(SECRET)).not.toEqual([])
    expect(await store.privacy.eraseOwner(OWNER)).toMatchObject({ sessions: 3, notes: 1, auditEntries: 3 })
    expect(await holding(SECRET)).toEqual([])
    expect(await holding(OWNER)).toEqual([])
    expect(await bobs(store)).toEqual(before)
    await store.close()
    await stop()
  })
})
