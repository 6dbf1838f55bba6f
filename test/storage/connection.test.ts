import { copyFileSync, existsSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { inspect } from 'node:util'
import type { Database } from 'better-sqlite3'
import BetterSqlite3 from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openStore, type Store } from '../../src/index.ts'
import { translateFailure } from '../../src/storage/sqlite/connection.ts'
import { chat, say } from '../support/conversation.ts'
import { dumpOf, expectFailure, failureOf } from '../support/failures.ts'
import { newFile } from '../support/temporary.ts'

/* A connection of the application's own: our tables live beside its, and it stays its. */

const PRAGMAS = [
  'journal_mode',
  'synchronous',
  'foreign_keys',
  'recursive_triggers',
  'busy_timeout',
  'cache_size',
  'temp_store',
  'locking_mode',
  'user_version',
  'application_id',
  'journal_size_limit',
  'wal_autocheckpoint',
  'case_sensitive_like',
  'secure_delete',
]

let database: Database
beforeEach(() => {
  database = new BetterSqlite3(':memory:')
  database.exec("create table messages (body); insert into messages values ('mine')")
})
afterEach(() => database.close())

const pragmas = (): unknown => PRAGMAS.map((name) => [name, database.pragma(name, { simple: true })])

describe('a connection handed in', () => {
  test('keeps its pragmas, its tables and its life', async () => {
    database.pragma('user_version = 12')
    database.pragma('foreign_keys = on')
    const before = pragmas()
    const store = await openStore(database)
    await store.append('s', chat(6))
    const run = await store.compactSession('s', { range: { from: 1, to: 8 }, summary: 'x' })
    await store.undoCompaction('s', run!.runId)
    await store.sessions.purge('s')
    expect(pragmas()).toEqual(before)
    await store.close()
    expectFailure(await failureOf(() => store.sessions.get('s')), 'STORE_CLOSED')
    expect(database.open).toBe(true)
    expect(database.prepare('select body from messages').pluck().all()).toEqual(['mine'])
    const names = database
      .prepare("select name from sqlite_master where type in ('table', 'index', 'trigger')")
      .pluck()
    for (const name of names.all() as string[])
      if (name !== 'messages') expect(name).toMatch(/^(undertext_|sqlite_autoindex_undertext_)/)
  })

  test('can be handed in again, and to two stores at once', async () => {
    const first = await openStore(database)
    await first.append('s', chat(1))
    const second = await openStore(database)
    await second.append('s', chat(1))
    expect(await first.getEffectiveHistory('s')).toHaveLength(4)
    await first.close()
    expect(await second.getEffectiveHistory('s')).toHaveLength(4)
  })

  test('is not touched inside a transaction of its own', async () => {
    const store = await openStore(database)
    await store.append('s', chat(1))
    database.exec("begin; insert into messages values ('pending')")
    const before = dumpOf(database)
    for (const act of [
      () => store.append('s', chat(1)),
      () => store.getEffectiveHistory('s'),
      () => store.getContextStats('s'),
      () => store.needsCompaction('s'),
      () => store.compactSession('s', { targetTokens: 0 }),
      () => store.sessions.purge('s'),
      () => store.sessions.verify('s'),
      () => openStore(database),
    ])
      expectFailure(await failureOf(act), 'IN_TRANSACTION', String(act))
    expect(database.inTransaction).toBe(true)
    expect(dumpOf(database)).toBe(before)
    database.exec('commit')
    expect(database.prepare('select body from messages').pluck().all()).toEqual(['mine', 'pending'])
    await store.append('s', chat(1))
    expect(await store.getEffectiveHistory('s')).toHaveLength(4)
  })

  test('may default to bigints', async () => {
    database.defaultSafeIntegers(true)
    const store = await openStore(database)
    await store.append('s', [...chat(6), { ...say('user', 'x'), createdAt: 12 }])
    const run = await store.compactSession('s', { range: { from: 1, to: 8 }, summary: 'x' })
    await store.undoCompaction('s', run!.runId)
    expect((await store.sessions.verify('s')).findings).toEqual([])
    expect(JSON.stringify(await store.getContextStats('s'))).toContain('"messageCount":13')
    expect((await store.getMessages('s', { after: 12 }))[0]).toMatchObject({ position: 13, createdAt: 12 })
    expect(database.prepare('select 1 as one').get()).toEqual({ one: 1n })
  })

  test('that cannot be used is refused', async () => {
    for (const bigints of [false, true]) {
      const asleep = new BetterSqlite3(':memory:')
      asleep.defaultSafeIntegers(bigints)
      asleep.pragma('query_only = on')
      expectFailure(await failureOf(() => openStore(asleep)), 'CONNECTION_UNSUITABLE', `bigints ${bigints}`)
      asleep.close()
      expectFailure(await failureOf(() => openStore(asleep)), 'CONNECTION_UNSUITABLE')
    }
  })

  test('that its owner closed is a closed store', async () => {
    const own = new BetterSqlite3(':memory:')
    const store = await openStore(own)
    await store.append('s', chat(1))
    own.close()
    expectFailure(await failureOf(() => store.append('s', chat(1))), 'STORE_CLOSED')
    expectFailure(await failureOf(() => store.getContextStats('s')), 'STORE_CLOSED')
    await store.close()
  })

  test('with a schema of ours that is newer is refused', async () => {
    await openStore(database)
    database.exec("update undertext_meta set value = '99' where key = 'schema'")
    expectFailure(await failureOf(() => openStore(database)), 'STORE_TOO_NEW')
  })
})

describe('a connection of our own', () => {
  /** The connections opened while something runs, by the first pragma each of them is told. */
  async function connectionsOf(work: () => Promise<unknown>): Promise<Set<Database>> {
    const seen = new Set<Database>()
    const prototype = BetterSqlite3.prototype as Database
    const { pragma } = prototype
    prototype.pragma = function (this: Database, ...args: Parameters<Database['pragma']>) {
      seen.add(this)
      return pragma.apply(this, args)
    }
    try {
      await work()
    } finally {
      prototype.pragma = pragma
    }
    return seen
  }

  for (const [durability, level] of [
    [undefined, 2],
    ['full', 2],
    ['normal', 1],
  ] as const) {
    test(`durability ${durability ?? 'by default'} is synchronous = ${level}`, async () => {
      let store: Awaited<ReturnType<typeof openStore>> | undefined
      const seen = await connectionsOf(async () => {
        store = await openStore(newFile(), durability === undefined ? {} : { durability })
      })
      const [own] = seen
      expect(seen.size).toBe(1)
      expect(own!.pragma('synchronous', { simple: true })).toBe(level)
      expect(own!.pragma('journal_mode', { simple: true })).toBe('wal')
      expect(own!.pragma('recursive_triggers', { simple: true })).toBe(1)
      expect(own!.pragma('journal_size_limit', { simple: true })).toBe(16 * 1024 * 1024)
      await store!.close()
      expect(own!.open).toBe(false)
    })
  }
})

describe('a location that is a mistyped address', () => {
  for (const location of [
    ' postgres://app:S3CRET@db.example/chats',
    '"postgres://app:S3CRET@db.example/chats"',
    'pg://app:S3CRET@db.example/chats',
    'postgres:/app:S3CRET@db.example/chats',
    'postgres:app:S3CRET@db.example',
    'postgres//app:S3CRET@db.example/chats',
    'psql://app@db.example/chats?password=S3CRET',
    'mysql:/app:S3CRET@db.example/chats',
    'app:S3CRET@db.example/chats',
    'a:S3CRET@db.example/chats',
    'host=db.example user=app password=S3CRET dbname=chats',
    'jdbc:postgresql://db.example/chats?user=app&password=S3CRET',
  ])
    test(`${location} is refused, and its password is not repeated`, async () => {
      const error = await failureOf(() => openStore(location))
      expectFailure(error, 'STORE_UNAVAILABLE')
      expect(inspect(error, { depth: 9, showHidden: true })).not.toContain('S3CRET')
    })

  test('the path of a file with a colon and an @ is not one', async () => {
    const path = join(dirname(newFile()), 'at 10:30 me@example.db')
    const store = await openStore(path)
    await store.append('s', chat(1))
    await store.close()
    expect(existsSync(path)).toBe(true)
  })
})

test('a file or folder that cannot be written to is not reported as opened read-only', () => {
  const failure = new BetterSqlite3.SqliteError(
    'attempt to write a readonly database',
    'SQLITE_READONLY_DIRECTORY',
  )
  const where = { location: 'chats.db', busyTimeoutMs: 0, verb: 'append' }
  const error = translateFailure(failure, where) as Error
  expectFailure(error, 'STORE_READONLY')
  expect(error.message).toMatch(/^SQLite cannot write to the file or to its folder/)
  expect(error.message).not.toContain('opened read-only')
})

test('a new file whose first process was killed during its commit is a store for the next one', async () => {
  const [killed, path] = [newFile(), newFile()]
  const other = new BetterSqlite3(killed)
  // With a cache this small, pages are written to the file before the commit, and the journal says how to take them back.
  other.pragma('cache_size = 2')
  other.exec('begin immediate; create table undertext_half (text); insert into undertext_half values (1)')
  other.exec('insert into undertext_half select zeroblob(200000)')
  for (const ending of ['', '-journal']) copyFileSync(killed + ending, path + ending)
  other.close()
  expect(statSync(path).size).toBeGreaterThan(0)

  const store = await openStore(path)
  expect(await store.append('s', chat(1))).toMatchObject({ position: 2 })
  await store.close()
  const tables = new BetterSqlite3(path)
  expect(tables.prepare("select name from sqlite_schema where name = 'undertext_half'").all()).toEqual([])
  tables.close()
})

describe('a file that is changed in place while it is open', () => {
  const opened = async (
    path = newFile(),
  ): Promise<{ store: Store; path: string; append: () => Promise<unknown> }> => {
    const store = await openStore(path)
    await store.append('s', chat(200))
    const other = new BetterSqlite3(path)
    other.pragma('wal_checkpoint(truncate)')
    other.close()
    // Its size is seen, and the log has pages.
    await store.append('s', chat(1))
    await setTimeout(10)
    return {
      store,
      path,
      append: async () => {
        await setTimeout(10)
        return store.append('s', chat(1))
      },
    }
  }

  for (const size of [0, 4096, 40_960])
    test(`truncated to ${size} bytes, it takes no more messages`, async () => {
      const { store, path, append } = await opened()
      await append()
      truncateSync(path, size)
      expectFailure(await failureOf(append), ['STORE_UNAVAILABLE', 'STORE_CORRUPT'])
      await store.close().catch(() => {})
    })

  test('overwritten with an earlier copy, it takes no more messages', async () => {
    const { store, path, append } = await opened()
    const copy = readFileSync(path)
    await store.append('s', chat(400))
    const other = new BetterSqlite3(path)
    other.pragma('wal_checkpoint(truncate)')
    other.close()
    await append()
    writeFileSync(path, copy)
    expectFailure(await failureOf(append), ['STORE_UNAVAILABLE', 'STORE_CORRUPT'])
    await store.close().catch(() => {})
  })

  const whenPurged = async ({ store, path, append }: Awaited<ReturnType<typeof opened>>): Promise<void> => {
    const other = await openStore(path)
    await other.append('large', chat(400))
    await append()
    await other.sessions.purge('large')
    await other.close()
    await append()
    await append()
    expect((await store.sessions.verify('s')).findings).toEqual([])
    await store.close()
  }

  test('shortened by a purge of another process, it takes more', async () => {
    await whenPurged(await opened())
  })

  test('with auto_vacuum, shortened without a VACUUM, it takes more', async () => {
    const path = newFile()
    const made = new BetterSqlite3(path)
    made.exec('pragma auto_vacuum = full; create table mine (x)')
    made.close()
    await (await openStore(path, { adopt: true })).close()
    const store = await opened(path)
    const other = new BetterSqlite3(path)
    const before = await store.append().then(() => statSync(path).size)
    other.exec('insert into mine select zeroblob(4000000)')
    other.pragma('wal_checkpoint(truncate)')
    await store.append()
    other.exec('delete from mine')
    other.pragma('wal_checkpoint(truncate)')
    other.close()
    expect(statSync(path).size).toBeLessThan(before + 1_000_000)
    await whenPurged(store)
  })
})
