import BetterSqlite3 from 'better-sqlite3'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { readQuery } from '../../src/core/search/query.ts'
import { openStore, type Store } from '../../src/index.ts'
import { find } from '../../src/storage/sql/search.ts'
import { indexSessions } from '../../src/storage/sql/search-index.ts'
import type { Row, Sql } from '../../src/storage/sql/sql.ts'
import { complete, drive } from '../../src/storage/sql/work.ts'
import { SqliteSql } from '../../src/storage/sqlite/storage.ts'
import { storageOf } from '../../src/store/store.ts'
import { result, say } from '../support/conversation.ts'
import { newFile } from '../support/temporary.ts'

/* What the index of the search does while others write, and how much it reads at once. */

let file: string
let store: Store
let database: BetterSqlite3.Database
beforeEach(async () => {
  file = newFile()
  store = await openStore(file, { durability: 'normal' })
  database = new BetterSqlite3(file)
})
afterEach(async () => {
  database.close()
  await store.close()
})

/** A connection of its own; `changed` replaces some of its functions. */
function connection(changed: (sql: SqliteSql) => Partial<Sql>): Sql {
  const sql = new SqliteSql(database, { location: file, readonly: false, owned: false, busyTimeoutMs: 5_000 })
  const replaced = changed(sql)
  return new Proxy(sql as unknown as Sql, {
    get: (_, name) => {
      const own = replaced[name as keyof Sql] ?? sql[name as keyof SqliteSql]
      return typeof own === 'function' ? (own as () => unknown).bind(sql) : own
    },
  })
}

test('a page that another connection added meanwhile is not counted as done', async () => {
  await store.append('a', [say('user', 'kettle')])
  await store.append('b', [say('user', 'kettle')])
  await store.append('c', [say('user', 'kettle')])
  const { searching } = storageOf(store)
  const sql = connection((own) => ({
    write: (verb, work) => {
      searching.index([{ id: 'b' }])
      return own.write(verb, work)
    },
  }))
  expect(complete(indexSessions(sql, [{ id: 'a' }, { id: 'b' }, { id: 'c' }])).sessions).toBe(1)
  expect(complete(indexSessions(sql, [{ id: 'b' }, { id: 'c' }])).sessions).toBe(2)
  expect(await searching.unindexed(10)).toEqual([])
})

test('the background does not wait for the lock of another connection, and tries again later', async () => {
  await store.append('a', [say('user', 'first')])
  await store.search('first')
  await store.append('a', [say('user', 'second')])
  database.exec('begin immediate')
  let longest = 0
  let last = performance.now()
  const turns = setInterval(() => {
    longest = Math.max(longest, performance.now() - last)
    last = performance.now()
  }, 20)
  // The first attempt comes 2 seconds after the append, and would wait for 5.
  await new Promise((resolve) => setTimeout(resolve, 2_600))
  clearInterval(turns)
  expect(longest).toBeLessThan(4_000)
  expect(() => storageOf(store).searching.index([{ id: 'a' }], false)).toThrow(
    expect.objectContaining({ code: 'STORE_BUSY', facts: { waitedMs: 0 } }),
  )
  database.exec('commit')
  const rows = database.prepare('select count(*) from undertext_words_docsize').pluck()
  await expect.poll(() => rows.get(), { timeout: 10_000 }).toBe(2)
  // The timeout of the driver is as before.
  expect(storageOf(store).searching.index([{ id: 'a' }], false)).toEqual({ sessions: 1, rows: 0 })
}, 30_000)

test('of 80 outputs of 1 MB never more than one is read at a time', async () => {
  const filler = 'lorem ipsum dolor sit amet '.repeat(40_000)
  await store.append(
    's',
    Array.from({ length: 80 }, (_, at) =>
      result(`c${at}`, `kettle ${at} ${filler} teapot${at}`, 'read_file'),
    ),
  )
  let most = 0
  const sizeOf = (rows: readonly Row[]): number =>
    rows.flat().reduce<number>((sum, value) => sum + (typeof value === 'string' ? value.length : 0), 0)
  const sql = connection((own) => ({
    all: (text, ...values) => {
      const done = own.all(text, ...values)
      most = Math.max(most, sizeOf(done.value))
      return done
    },
  }))
  while ((await drive(indexSessions(sql, [{ id: 's' }]))).sessions === 0);
  expect(most).toBeLessThan(2_000_000)
  most = 0
  const { hits } = complete(
    find(sql, {
      ...{ query: readQuery('kettle teapot7'), isQuestion: false, session: undefined, filter: {} },
      ...{ limit: 10, after: undefined },
    }),
  )
  expect(hits[0]).toMatchObject({ position: 8 })
  expect(hits).toHaveLength(10)
  expect(most).toBeLessThan(2_000_000)
}, 60_000)

test('a word is found in each of many long texts, wherever it is', async () => {
  await using store = await openStore(':memory:')
  const filler = 'lorem ipsum '.repeat(8_000)
  // The first 20,000 units of a text are read in any case: this word begins there and ends after them.
  const across = `${'x '.repeat(9_998)}quixotic`
  const texts = Array.from({ length: 8 }, (_, at) => `text ${at} ${filler} xylophone`)
  await store.append(
    's',
    [...texts, across].map((content) => ({ role: 'user' as const, content })),
  )
  const { hits } = await store.search('xylophone', { limit: 20 })
  expect(hits.map(({ position }) => position).sort()).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
  expect((await store.search('quixotic')).hits.map(({ position }) => position)).toEqual([9])
})

test('pages return each hit once, whatever is appended between them', async () => {
  await using store = await openStore(':memory:')
  const words = ['lamp', 'sofa', 'rug', 'desk']
  const wordsOf = (at: number) => words.filter((_, nth) => (at * 7) % (nth + 2) < 2).join(' ')
  for (let session = 0; session < 8; session++)
    await store.append(
      `s${session}`,
      Array.from({ length: 30 }, (_, at) => ({
        role: 'user' as const,
        content: `${wordsOf(at + session)} lamp ${'other '.repeat(at % 5)}`,
      })),
    )
  const seen: string[] = []
  let cursor: string | undefined
  do {
    const page = await store.search('lamp sofa rug desk', {
      limit: 10,
      ...(cursor !== undefined && { cursor }),
    })
    for (const { sessionId, position } of page.hits) seen.push(`${sessionId} ${position}`)
    cursor = page.cursor
    await store.append(
      'late',
      Array.from({ length: 60 }, () => ({ role: 'user' as const, content: 'a desk' })),
    )
  } while (cursor !== undefined)
  expect(new Set(seen).size).toBe(seen.length)
  expect(seen).toHaveLength(8 * 30)
})

test('other work of the process goes on while a long text is split, and its words are all in the index', async () => {
  const words = Array.from({ length: 20_000 }, (_, at) => `word${at.toString(36)}`)
  await store.append('long', [say('user', words.join(' '))])
  const { searching } = storageOf(store)
  let isOver = false
  const indexing = Promise.resolve(searching.index([{ id: 'long' }])).then((done) => {
    isOver = true
    return done
  })
  await store.append('other', [say('user', 'meanwhile')])
  expect(isOver).toBe(false)
  expect(await indexing).toEqual({ sessions: 1, rows: 1 })
  expect(await searching.unindexed(10)).toEqual(['other'])
  for (const word of [words[0]!, words[10_000]!, words.at(-1)!])
    expect((await store.search(word)).hits).toMatchObject([{ sessionId: 'long' }])
})
