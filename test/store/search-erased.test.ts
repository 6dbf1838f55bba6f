import { fork } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { beforeEach, expect, test } from 'vitest'
import { openStore, type Store } from '../../src/index.ts'
import { storageOf } from '../../src/store/store.ts'
import { say } from '../support/conversation.ts'
import { newFolder } from '../support/temporary.ts'

/* The index of the search has words of messages: after a purge none of them is in a file. */

let folder: string
let file: string
beforeEach(() => {
  folder = newFolder()
  file = join(folder, 'chats.db')
})

/** Whether a word is in a file of the folder. */
function isReadable(word: string): boolean {
  return readdirSync(folder).some((name) => readFileSync(join(folder, name)).includes(word))
}

const messages = (word: string, from = 0) =>
  Array.from({ length: 400 }, (_, at) =>
    say('user', `${word}${from + at} is ${word} and more ${'words '.repeat(at % 9)}`),
  )

/** The word in the index alone: stored texts have capitals. */
const said = (word: string) => messages(word.toUpperCase())

async function fill(store: Store): Promise<void> {
  for (const word of ['zebrafinch', 'quokkajar', 'axolotlus']) await store.append(`s-${word[0]}`, said(word))
  expect((await store.search('quokkajar399')).hits[0]).toMatchObject({
    sessionId: 's-q',
    position: 400,
  })
  await store.append('s-q', messages('QUOKKAJAR', 400))
  await store.search('quokkajar')
}

test('after a purge no file has a word of the index', async () => {
  const store = await openStore(file)
  await fill(store)
  expect(isReadable('quokkaj')).toBe(true)
  expect(await store.sessions.purge('s-q')).not.toHaveProperty('filesCleared')
  expect([isReadable('quokkaj'), isReadable('QUOKKAJ')]).toEqual([false, false])
  expect((await store.search('quokkajar')).hits).toEqual([])
  expect((await store.search('zebrafinch')).hits[0]).toMatchObject({ sessionId: 's-z' })
  expect(isReadable('zebraf')).toBe(true)
  await store.close()
  expect(isReadable('quokkaj')).toBe(false)
})

test('also in a database of an application, whose search works afterwards', async () => {
  const database = new BetterSqlite3(file)
  database.exec('create table theirs (a text)')
  const store = await openStore(database)
  await fill(store)
  await store.sessions.purge('s-q')
  expect([isReadable('quokkaj'), isReadable('QUOKKAJ')]).toEqual([false, false])
  expect((await store.search('quokkajar')).hits).toEqual([])
  expect((await store.search('axolotlus')).hits[0]).toMatchObject({ sessionId: 's-a' })
  database.close()
})

test('a read-only store searches what is in the index, and says that something is missing', async () => {
  const writer = await openStore(file)
  await writer.append('s', [say('user', 'first')])
  await writer.search('first')
  await writer.append('s', [say('user', 'second')])
  const reader = await openStore(file, { readonly: true })
  expect(await reader.search('second')).toEqual({ hits: [], complete: false })
  expect(await reader.search('first')).toMatchObject({ hits: [{ position: 1 }], complete: false })
  expect(await reader.search('first', { session: 's' })).toMatchObject({
    hits: [{ position: 1 }],
    complete: false,
  })
  await writer.search('second')
  expect(await reader.search('second')).toMatchObject({ hits: [{ position: 2 }], complete: true })
  await reader.close()
  await writer.close()
})

/** The numbers of documents in the index, and of distinct ones. */
function documents(): unknown {
  const database = new BetterSqlite3(file, { readonly: true })
  try {
    return database.prepare('select count(*), count(distinct id) from undertext_words_docsize').raw().get()
  } finally {
    database.close()
  }
}

test('processes that index at the same time, and are killed meanwhile, leave no gap and no duplicate', async () => {
  const store = await openStore(file, { durability: 'normal' })
  for (let nth = 0; nth < 20; nth++) await store.append(`s${nth}`, said(`word${nth}`))
  const child = (): ReturnType<typeof fork> =>
    fork(join(import.meta.dirname, 'search-in-process.ts'), [file], {
      execArgv: ['--import', 'tsx'],
      stdio: 'inherit',
    })
  const ended = (one: ReturnType<typeof fork>) => new Promise((resolve) => one.once('exit', resolve))
  const killed = child()
  // It says when a transaction of the index is done; the next one is under way.
  await new Promise((resolve) => killed.once('message', resolve))
  killed.kill('SIGKILL')
  await ended(killed)
  const [some] = documents() as [number]
  expect(some).toBeGreaterThan(0)
  expect(some).toBeLessThan(8_000)
  const others = [child(), child()]
  const exits = await Promise.all(others.map(ended))
  expect(exits).toEqual([0, 0])
  expect(documents()).toEqual([8_000, 8_000])
  expect(await storageOf(store).searching.unindexed(1)).toEqual([])
  await store.close()
}, 60_000)

test('an append after the first search is put into the index in the background', async () => {
  const store = await openStore(file)
  await store.append('s', [say('user', 'first')])
  await new Promise((resolve) => setTimeout(resolve, 2_300))
  expect(documents()).toEqual([0, 0])
  await store.search('first')
  await store.append('s', [say('user', 'second')])
  await expect.poll(documents, { timeout: 10_000 }).toEqual([2, 2])
  await store.close()
}, 20_000)
