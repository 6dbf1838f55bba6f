import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { openStore, type Store } from '../../../src/index.ts'
import { call, result, say, units } from '../../support/conversation.ts'
import { type Database, databaseOn, postgresServer, query } from '../../support/postgres.ts'

/* What a removal of text leaves on a server. */

const SECRET = 'zq9canary7x'
const installed = await postgresServer()

async function conversation(store: Store): Promise<void> {
  await store.append('a', [
    say('user', `the ${SECRET} of ${units(20)}`),
    call('c1', 'run', { key: SECRET }),
    // Long enough to be stored beside the row, and compressed or not.
    result(
      'c1',
      Array.from({ length: 4_000 }, (_, line) => `${line} ${SECRET} ${(line * 7_919) % 10_007}`).join('\n'),
    ),
    say('assistant', 'done'),
    say('user', 'on'),
  ])
  await store.compactSession('a', { range: { from: 1, to: 4 }, summary: `It used ${SECRET}.` })
  await store.sessions.fork('a', { id: 'b' })
  await store.append('b', [say('user', `also ${SECRET}`)])
  await store.notes.add(SECRET, { session: 'a' })
  const request = await store.prepareRequest('a', { system: SECRET, prompt: `ask ${SECRET}` })
  await store.recordResponse('a', { request, messages: [say('assistant', SECRET)] })
  await store.search(SECRET)
}

describe.skipIf(installed === undefined)('after a removal of text on a server', () => {
  let server: Database
  let store: Store
  beforeEach(async () => {
    server = await databaseOn(installed!)
    store = await openStore(server.url!)
    return async () => {
      await store.close()
      await server.stop()
    }
  })

  /** The tables and indexes of the store, those for long values included, whose files have the text. */
  async function readable(): Promise<string[]> {
    const [[folder]] = (await server.sql('show data_directory')) as [[string]]
    const relations = await server.sql(`
      select c.relname, pg_relation_filepath(c.oid) from pg_class c
      where (c.relnamespace = 'undertext'::regnamespace or c.relnamespace = 'pg_toast'::regnamespace)
        and pg_relation_filepath(c.oid) is not null`)
    return relations.flatMap(([name, path]) =>
      readFileSync(join(folder, path as string)).includes(SECRET) ? [name as string] : [],
    )
  }

  it('no row has it after VACUUM, no index entry after REINDEX, and no file after VACUUM FULL', async () => {
    await conversation(store)
    await server.sql('checkpoint')
    expect(await readable()).toEqual(
      expect.arrayContaining(['contents', 'notes', 'blobs', 'words', 'words_words']),
    )
    expect(await store.privacy.purgeText('all', SECRET)).toMatchObject({ filesCleared: false, forks: 1 })
    for (const id of ['a', 'b']) expect((await store.sessions.verify(id)).findings).toEqual([])
    const tables = await server.sql(
      "select relname from pg_class where relkind = 'r' and relnamespace = 'undertext'::regnamespace",
    )
    await query(server.url!, 'vacuum')
    for (const [name] of tables) {
      const rows = await server.sql(
        `select 1 from undertext."${name}" r where r::text like '%${SECRET}%' or r::text like '%${Buffer.from(SECRET).toString('hex')}%'`,
      )
      expect(rows, name as string).toEqual([])
      const [[dead]] = (await server.sql(
        `select coalesce(pg_stat_get_dead_tuples('undertext."${name}"'::regclass), 0)`,
      )) as [[unknown]]
      expect(Number(dead), `dead rows of ${name}`).toBe(0)
    }
    // The index of the search keeps the words of removed rows as keys without rows until it is built again.
    expect(await readable()).toContain('words_words')
    await query(server.url!, 'reindex index undertext.words_words', 'checkpoint')
    expect(await readable()).not.toContain('words_words')
    await query(server.url!, 'vacuum full', 'checkpoint')
    expect(await readable()).toEqual([])
  }, 120_000)

  it('a role of an application that may purge may do it', async () => {
    const rights = readFileSync(join(import.meta.dirname, '../../../docs/postgres-roles.sql'), 'utf8')
    const [, basic = '', purging = ''] = rights.split(/^-- \d\. /m)
    await query(
      server.url!,
      `-- ${basic}`,
      `-- ${purging}`,
      "create role app login password 'app' in role undertext_app",
    )
    const url = new URL(server.url!)
    url.username = url.password = 'app'
    const mine = await openStore(url.href)
    try {
      await conversation(mine)
      expect(await mine.privacy.purgeText('all', SECRET)).toMatchObject({
        forks: 1,
        messages: 6,
        summaries: 1,
      })
      expect(await mine.privacy.purgeText('all', SECRET)).toMatchObject({ matches: 0 })
    } finally {
      await mine.close()
      await query(server.url!, 'drop owned by app', 'drop role app')
      await query(server.url!, 'drop owned by undertext_app', 'drop role undertext_app')
    }
  }, 120_000)
})
