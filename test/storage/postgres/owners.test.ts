import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openStore, type Store } from '../../../src/index.ts'
import { chat, say } from '../../support/conversation.ts'
import { type Database, databaseOn, postgresServer, query } from '../../support/postgres.ts'

/* Row-level security by a setting of the transaction: docs/postgres-owners.sql, and `rowSecurity` of openStore. */

const script = (name: string): string =>
  readFileSync(join(import.meta.dirname, '../../../docs', name), 'utf8')
const OPTIONS = { env: false, estimator: 'neurolink' } as const
const installed = await postgresServer()

describe.skipIf(installed === undefined)('a role for all users of an application', () => {
  let server: Database
  let url: string
  let store: Store
  beforeAll(async () => {
    server = await databaseOn(installed!)
    await (await openStore(server.url!, OPTIONS)).close()
    await query(server.url!, script('postgres-roles.sql'))
    await query(server.url!, script('postgres-owners.sql'))
    await server.sql("create role web login password 'web' in role undertext_app")
    const address = new URL(server.url!)
    address.username = address.password = 'web'
    url = address.href
    store = await openStore(url, { ...OPTIONS, strict: true, rowSecurity: true })
  }, 60_000)
  afterAll(async () => {
    await store.close()
    for (const role of ['web', 'undertext_app'])
      await query(server.url!, `drop owned by ${role}`, `drop role ${role}`).catch(() => {})
    await server.stop()
  })

  const seenBy = async (owner: string | undefined, table: string): Promise<number> => {
    const setting = owner === undefined ? [] : [`select set_config('undertext.owner', '${owner}', true)`]
    const [[count]] = (await query(
      url,
      'begin',
      ...setting,
      `select count(*)::int from undertext.${table}`,
    )) as [[number]]
    return count
  }

  it('does everything in the stores of owners, who use the same ids', async () => {
    for (const owner of ['ann', 'bob']) {
      const own = store.forOwner(owner)
      await own.append('chat', [say('user', `I am ${owner}`), ...chat(6)])
      await own.append('chat', [say('user', 'more')])
      const request = await own.prepareRequest('chat', { prompt: 'Now?', system: 'Be brief.' })
      await own.recordResponse('chat', {
        messages: [say('assistant', 'Yes.')],
        request,
        usage: { inputTokens: 9 },
      })
      const run = await own.compactSession('chat', { range: { from: 1, to: 4 }, summary: `About ${owner}` })
      await own.undoCompaction('chat', run!.runId)
      await own.redoCompaction('chat', run!.runId)
      await own.notes.add(`${owner} likes tea`, { owner })
      await own.sessions.fork('chat', { id: 'fork' })
      await own.sessions.archive('fork')
      await own.jobs.start('chat', { targetTokens: 10_000 })
      expect(await own.jobs.whenIdle('chat')).toBe(true)
      expect((await own.sessions.verify('chat')).findings).toEqual([])
      expect((await own.search('likes OR about OR ann OR bob')).hits.length).toBeGreaterThan(0)
    }
    const ann = store.forOwner('ann')
    expect(JSON.stringify(await ann.getMessages('chat'))).not.toContain('bob')
    expect(JSON.stringify(await ann.search('bob'))).not.toContain('I am bob')
    expect((await ann.sessions.list()).map(({ id }) => id)).toEqual(['chat'])
    expect(await ann.notes.list({ session: 'chat' })).toMatchObject([{ text: 'ann likes tea' }])
  })

  it('sees the rows of the owner of a transaction, and none without an owner', async () => {
    for (const table of [
      'sessions',
      'names',
      'messages',
      'contents',
      'compactions',
      'audit',
      'requests',
      'notes',
      'words',
    ]) {
      expect(await seenBy(undefined, table), table).toBe(0)
      expect(await seenBy('nobody', table), table).toBe(0)
      expect(await seenBy('ann', table), table).toBeGreaterThan(0)
    }
    expect(await seenBy('ann', 'sessions')).toBe(2)
    expect(await query(server.url!, 'select count(*)::int from undertext.sessions')).toEqual([[4]])
  })

  it('erases an owner, and keeps the others', async () => {
    const before = await store.forOwner('bob').getMessages('chat')
    expect(await store.privacy.eraseOwner('ann')).toMatchObject({ sessions: 2, notes: 1 })
    expect(await store.forOwner('bob').getMessages('chat')).toEqual(before)
    expect(
      await query(
        server.url!,
        "select count(*)::int from undertext.contents where content like '%I am ann%'",
      ),
    ).toEqual([[0]])
  })
})
