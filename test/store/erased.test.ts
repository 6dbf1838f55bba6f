import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ImportEvent } from '../../src/import/import-event.ts'
import { openStore, type SqliteStore } from '../../src/index.ts'
import { call, chat, result } from '../support/conversation.ts'
import { CANARY, failureOf } from '../support/failures.ts'

/* What was removed is in no file any more: every file of the folder is searched for its bytes. */

let folder: string
let file: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'undertext-erased-'))
  file = join(folder, 'chats.db')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** The kinds of text that are found in a file of the folder. */
function readable(who: string): string[] {
  const bytes = readdirSync(folder)
    .map((name) => readFileSync(join(folder, name), 'latin1'))
    .join('\0')
  return KINDS.filter((kind) => bytes.includes(`${who}-${kind}`))
}

const KINDS = [
  ...['text', 'long', 'id', 'key', 'metadata', 'call', 'output', 'file'],
  ...['owner', 'title', 'first-title', 'field', 'summary', 'reason', 'actor', 'operation', 'config'],
]

/** Numbers that are the same in every run. */
function random(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) & 0x7fffffff
    return state % below
  }
}

/** Two turns of a session, in which every text says whose it is. */
async function turn(store: SqliteStore, who: string, nth: number, size: number): Promise<void> {
  const of = (kind: string): string => `${who}-${kind}-${nth}-${'.'.repeat(size % 90)}`
  const long = `${who}-long `.repeat(1 + (size % 900))
  const image = Buffer.from(`${who}-file `.repeat(1_000)).toString('base64')
  await store.append(`session-${who}`, [
    { role: 'user', content: of('text'), id: of('id'), idempotencyKey: of('key') },
    { ...call(of('call'), 'run', { long }), metadata: { who: of('metadata') } },
    { ...result(of('call'), of('output')), id: of('id2') },
    {
      role: 'user',
      content: [
        { type: 'text', text: long },
        { type: 'image', image },
      ],
    },
  ])
}

/** A conversation of each, one turn of each after the other, with all that leaves texts in tables. */
async function talk(store: SqliteStore, people: readonly string[], turns: number): Promise<void> {
  const below = random(7)
  for (let nth = 0; nth < turns; nth++) {
    for (const who of people) await turn(store, who, nth, below(5_000))
    for (const who of people.filter(() => nth === 0 || below(3) === 0)) await change(store, who, nth)
  }
}

async function change(store: SqliteStore, who: string, nth: number): Promise<void> {
  const id = `session-${who}`
  await store.updateSession(id, {
    title: `${who}-${nth === 0 ? 'first-title' : 'title'} ${'-'.repeat(nth * 9)}`,
    owner: `${who}-owner`,
    metadata: { who: `${who}-field` },
    config: { instructions: `${who}-config` } as never,
  })
  await store.compactSession(id, {
    range: { from: 1, to: 3 },
    summary: `${who}-summary`,
    reason: `${who}-reason`,
  })
  const [newest] = (await store.getEffectiveHistory(id)).slice(-1)
  await store.rewind(id, {
    from: { messageId: newest!.id },
    operationId: `${who}-operation-${nth}`,
    actor: `${who}-actor`,
  })
}

const PEOPLE = ['anna', 'bert', 'cleo', 'dora', 'emil']

describe('after a purge nothing of the session is readable', () => {
  test('in a store of our own, whoever wrote between', async () => {
    const store = await openStore(file, { durability: 'normal' })
    await talk(store, PEOPLE, 12)
    // The first title was overwritten, or not.
    expect(readable('bert')).toEqual(expect.arrayContaining(KINDS.filter((kind) => kind !== 'first-title')))
    const kept = await store.getMessages('session-anna')
    for (const who of ['bert', 'dora', 'emil']) {
      expect(await store.purgeSession(`session-${who}`)).not.toHaveProperty('filesCleared')
      expect(readable(who)).toEqual([])
    }
    expect(await store.getMessages('session-anna')).toEqual(kept)
    expect((await store.verifySession('session-cleo')).findings).toEqual([])
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
      await store.purgeSession('session-bert')
      await store.purgeSession('session-anna')
      expect([readable('anna'), readable('bert')]).toEqual([[], []])
      expect(database.prepare('select rowid from theirs').pluck().all()).toEqual([7, 9])
      expect(database.prepare('select count(*) from chats').pluck().get()).toBe(1)
      for (const [name, value] of Object.entries({
        journal_mode: journal,
        secure_delete: 2,
        foreign_keys: 1,
      }))
        expect(database.pragma(name, { simple: true })).toBe(value)
      expect((await store.verifySession('session-cleo')).findings).toEqual([])
      await store.close()
      database.close()
    }, 60_000)
  }
})

describe('when another connection reads', () => {
  let store: SqliteStore
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

  test('the receipt says that the files are not cleared, and a later write clears them', async () => {
    expect(await store.purgeSession('session-anna')).toMatchObject({ messages: 8, filesCleared: false })
    expect(readable('anna')).not.toEqual([])
    reader.exec('commit')
    await new Promise((resolve) => setTimeout(resolve, 120))
    await store.append('session-bert', chat(1))
    expect(readable('anna')).toEqual([])
  })

  const OPPORTUNITIES: Record<string, () => Promise<unknown>> = {
    'verifying a session': () => store.verifySession('session-bert'),
    'another purge': () => store.purgeSession('session-bert'),
    'opening it in another store': async () => (await openStore(file)).close(),
    'opening it with a connection': async () => (await openStore(new BetterSqlite3(file))).close(),
  }
  for (const [name, act] of Object.entries(OPPORTUNITIES)) {
    test(`${name} clears them`, async () => {
      await store.purgeSession('session-anna')
      reader.exec('commit')
      await act()
      expect(readable('anna')).toEqual([])
    })
  }

  test('closing the store clears them while the other stays open', async () => {
    await store.purgeSession('session-anna')
    reader.exec('commit')
    await store.close()
    expect(readable('anna')).toEqual([])
  })

  test('a write does not wait for the reader', async () => {
    await store.close()
    store = await openStore(file, { busyTimeoutMs: 400 })
    await store.purgeSession('session-anna')
    await new Promise((resolve) => setTimeout(resolve, 120))
    const began = performance.now()
    await store.append('session-bert', chat(1))
    expect(performance.now() - began).toBeLessThan(300)
  })
})

describe('a purge that leaves the files for later', () => {
  test('says so, and the next one clears them for both', async () => {
    const store = await openStore(file)
    await talk(store, ['anna', 'bert', 'cleo'], 2)
    const rows = { messages: 8, compactions: expect.any(Number), blobs: 1 }
    const first = await store.purgeSession('session-anna', { clearFiles: false })
    expect(first).toEqual({ ...rows, filesCleared: false })
    expect(await store.purgeSession('session-bert')).toEqual(rows)
    expect([readable('anna'), readable('bert')]).toEqual([[], []])
    await store.close()
  })

  test('is finished when the store is closed', async () => {
    const store = await openStore(file)
    await talk(store, ['anna', 'bert'], 2)
    await store.purgeSession('session-anna', { clearFiles: false })
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
    store.importSession('session-bert', events(), { source: 'elsewhere', owner: 'bert-owner' }),
  )
  expect(readable('bert')).toEqual([])
  expect((await store.verifySession('session-anna')).findings).toEqual([])
  await store.close()
})
