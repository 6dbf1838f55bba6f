import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openStore, type Store } from '../../src/index.ts'
import type { ImportEvent } from '../../src/store/history/import/import-types.ts'
import { chat } from '../support/conversation.ts'
import { CANARY, failureOf } from '../support/failures.ts'
import { newFolder } from '../support/temporary.ts'
import { KINDS, readableIn, talk } from './erasing.ts'

/* What was removed is in no file any more: every file of the folder is searched for its bytes. */

let folder: string
let file: string
beforeEach(() => {
  folder = newFolder()
  file = join(folder, 'chats.db')
})

const readable = (who: string): string[] => readableIn(folder, who)

const PEOPLE = ['anna', 'bert', 'cleo', 'dora', 'emil']

describe('after a purge nothing of the session is readable', () => {
  test('in a store of our own, whatever wrote between', async () => {
    const store = await openStore(file, { durability: 'normal' })
    await talk(store, PEOPLE, 12)
    // The first title was overwritten, or not.
    expect(readable('bert')).toEqual(expect.arrayContaining(KINDS.filter((kind) => kind !== 'first-title')))
    const kept = await store.getMessages('session-anna')
    for (const who of ['bert', 'dora', 'emil']) {
      expect(await store.sessions.purge(`session-${who}`)).not.toHaveProperty('filesCleared')
      expect(readable(who)).toEqual([])
    }
    expect(await store.getMessages('session-anna')).toEqual(kept)
    expect((await store.sessions.verify('session-cleo')).findings).toEqual([])
    await store.close()
    expect(readable('dora')).toEqual([])
  }, 60_000)

  for (const journal of ['wal', 'delete', 'persist', 'truncate']) {
    test(`in a database of an application with the journal mode ${journal}, whose tables and pragmas stay`, async () => {
      const database = new BetterSqlite3(file)
      database.pragma(`journal_mode = ${journal}`)
      database.pragma('secure_delete = fast')
      database.exec('create table theirs (a text); insert into theirs (rowid, a) values (7, 1), (9, 2)')
      const store = await openStore(database)
      database.exec('create table chats (s integer references undertext_sessions (no) on delete cascade)')
      await talk(store, ['anna', 'bert', 'cleo'], 6)
      database.exec("insert into chats select no from undertext_sessions where id = 'session-cleo'; analyze")
      await store.sessions.purge('session-bert')
      await store.sessions.purge('session-anna')
      expect([readable('anna'), readable('bert')]).toEqual([[], []])
      expect(database.prepare('select rowid from theirs').pluck().all()).toEqual([7, 9])
      expect(database.prepare('select count(*) from chats').pluck().get()).toBe(1)
      for (const [name, value] of Object.entries({
        journal_mode: journal,
        secure_delete: 2,
        foreign_keys: 1,
      }))
        expect(database.pragma(name, { simple: true })).toBe(value)
      expect((await store.sessions.verify('session-cleo')).findings).toEqual([])
      await store.close()
      database.close()
    }, 60_000)
  }
})

describe('when another connection reads', () => {
  let store: Store
  let reader: BetterSqlite3.Database
  beforeEach(async () => {
    store = await openStore(file, { busyTimeoutMs: 20 })
    await talk(store, ['anna', 'bert'], 2)
    reader = new BetterSqlite3(file)
    reader.exec('begin')
    reader.prepare('select count(*) from undertext_messages').get()
  })
  afterEach(async () => {
    reader.close()
    await store.close()
  })

  test('the receipt reports that the files are not cleared, and a later write clears them', async () => {
    expect(await store.sessions.purge('session-anna')).toMatchObject({ messages: 8, filesCleared: false })
    expect(readable('anna')).not.toEqual([])
    reader.exec('commit')
    await new Promise((resolve) => setTimeout(resolve, 120))
    await store.append('session-bert', chat(1))
    expect(readable('anna')).toEqual([])
  })

  const OPPORTUNITIES: Record<string, () => Promise<unknown>> = {
    'verifying a session': () => store.sessions.verify('session-bert'),
    'another purge': () => store.sessions.purge('session-bert'),
    'opening it in another store': async () => (await openStore(file)).close(),
    'opening it with a connection': async () => (await openStore(new BetterSqlite3(file))).close(),
  }
  for (const [name, act] of Object.entries(OPPORTUNITIES)) {
    test(`${name} clears them`, async () => {
      await store.sessions.purge('session-anna')
      reader.exec('commit')
      await act()
      expect(readable('anna')).toEqual([])
    })
  }

  test('closing the store clears them while the other stays open', async () => {
    await store.sessions.purge('session-anna')
    reader.exec('commit')
    await store.close()
    expect(readable('anna')).toEqual([])
  })

  test('a write does not wait for the reader', async () => {
    await store.close()
    store = await openStore(file, { busyTimeoutMs: 400 })
    await store.sessions.purge('session-anna')
    await new Promise((resolve) => setTimeout(resolve, 120))
    const began = performance.now()
    await store.append('session-bert', chat(1))
    expect(performance.now() - began).toBeLessThan(300)
  })
})

describe('a purge that leaves the files for later', () => {
  test('reports it, and the next one clears them for both', async () => {
    const store = await openStore(file)
    await talk(store, ['anna', 'bert', 'cleo'], 2)
    const rows = { messages: 8, compactions: expect.any(Number), blobs: 1 }
    const first = await store.sessions.purge('session-anna', { clearFiles: false })
    expect(first).toEqual({ ...rows, filesCleared: false })
    expect(await store.sessions.purge('session-bert')).toEqual(rows)
    expect([readable('anna'), readable('bert')]).toEqual([[], []])
    await store.close()
  })

  test('is finished when the store is closed', async () => {
    const store = await openStore(file)
    await talk(store, ['anna', 'bert'], 2)
    await store.sessions.purge('session-anna', { clearFiles: false })
    await store.close()
    expect(readable('anna')).toEqual([])
  })
})

test('after a rejected import nothing of it is readable', async () => {
  const store = await openStore(file)
  await talk(store, ['anna'], 2)
  function* events(): Generator<ImportEvent> {
    yield { type: 'fields', title: 'bert-title', metadata: { who: 'bert-field' } }
    for (let nth = 0; nth < 1_500; nth++) {
      const said = { role: 'user', content: `bert-text ${nth}`, id: `bert-id-${nth}` } as const
      yield { type: 'message', message: { ...said, idempotencyKey: `bert-key-${nth}` } }
    }
    throw new Error(CANARY)
  }
  await failureOf(() =>
    store.sessions.import(events(), { id: 'session-bert', source: 'elsewhere', owner: 'bert-owner' }),
  )
  expect(readable('bert')).toEqual([])
  expect((await store.sessions.verify('session-anna')).findings).toEqual([])
  await store.close()
})

test('clearing that fails late is not tried again at each write', async () => {
  const database = new BetterSqlite3(file)
  const store = await openStore(database)
  await talk(store, ['anna', 'bert'], 2)
  let attempts = 0
  const exec = database.exec.bind(database)
  database.exec = (sql) => {
    if (sql !== 'vacuum') return exec(sql)
    attempts += 1
    const until = performance.now() + 100
    while (performance.now() < until);
    throw Object.assign(new BetterSqlite3.SqliteError('database or disk is full', 'SQLITE_FULL'))
  }
  expect(await store.sessions.purge('session-anna')).toMatchObject({ filesCleared: false })
  const until = performance.now() + 700
  while (performance.now() < until) {
    await store.append('session-bert', chat(1))
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  // The purge's own, and one a moment later; the next comes after twenty times what that took.
  expect(attempts).toBe(2)
  database.exec = exec
  await store.close()
  expect(readable('anna')).toEqual([])
  database.close()
})

test('of a series of rejected imports the first is cleared at once, the others with the next opportunity', async () => {
  const store = await openStore(file)
  // Rewriting takes a moment, so that the next one has to wait for its turn.
  await talk(store, ['anna'], 12)
  const rejected = (who: string): Promise<unknown> => {
    function* events(): Generator<ImportEvent> {
      yield { type: 'message', message: { role: 'user', content: `${who}-text`, id: `${who}-id` } }
      throw new Error(CANARY)
    }
    return failureOf(() => store.sessions.import(events(), { id: `session-${who}`, source: 'elsewhere' }))
  }
  const filesCleared = (): boolean => {
    const database = new BetterSqlite3(file, { readonly: true })
    const row = database.prepare("select 1 from undertext_meta where key = 'residue'").get()
    database.close()
    return row === undefined
  }
  await rejected('bert')
  expect([readable('bert'), filesCleared()]).toEqual([[], true])
  for (const who of ['cleo', 'dora', 'emil']) await rejected(who)
  expect(filesCleared()).toBe(false)
  await store.sessions.verify('session-anna')
  expect([readable('cleo'), readable('dora'), readable('emil'), filesCleared()]).toEqual([[], [], [], true])
  await store.close()
})
