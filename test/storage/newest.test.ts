import { join } from 'node:path'
import BetterSqlite3, { type Database } from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openStore, type Store } from '../../src/index.ts'
import { say } from '../support/conversation.ts'
import { newFolder } from '../support/temporary.ts'

/* The time by which sessions are listed: its column, its indexes, and its repair. */

let path: string
let store: Store
let other: Database

beforeEach(async () => {
  path = join(newFolder(), 'chats.db')
  store = await openStore(path, { env: false })
  other = new BetterSqlite3(path)
})
afterEach(async () => {
  other.close()
  await store.close()
})

const times = async (of: Store = store): Promise<[string, number][]> =>
  (await of.sessions.list()).map(({ id, newestAt }) => [id, newestAt])

/** Makes the schema what it was before the column. */
function takeColumnAway(database: Database): void {
  for (const name of ['newest', 'archived', 'owner_newest', 'owner_archived'])
    database.exec(`drop index undertext_sessions_${name}`)
  database.exec('alter table undertext_sessions drop column newest_at')
  database.exec("update undertext_meta set value = '3' where key = 'schema'")
}

describe('a list of sessions', () => {
  /** The plans of the statements that read a list. */
  async function plansOf(list: (of: Store) => Promise<unknown>): Promise<string[]> {
    const database = new BetterSqlite3(path)
    const statements = new Set<string>()
    const prepare = database.prepare.bind(database)
    database.prepare = ((sql: string) => {
      statements.add(sql)
      return prepare(sql)
    }) as typeof database.prepare
    await list(await openStore(database, { env: false }))
    const lists = [...statements].filter((sql) => sql.includes('order by newest_at desc'))
    const plans = lists.map((sql) => {
      const named = sql.includes('@owner') ? [{ owner: 'anna' }] : []
      const values = Array.from({ length: sql.split('?').length - 1 }, () => 1)
      const plan = prepare(`explain query plan ${sql}`).all(...values, ...named)
      return (plan as { readonly detail: string }[]).map(({ detail }) => detail).join('; ')
    })
    database.close()
    return plans
  }
  /** The search of the session that a session was forked from, in the columns of each row. */
  const OF_ORIGIN = '; CORRELATED SCALAR SUBQUERY 1; SEARCH o USING INTEGER PRIMARY KEY (rowid=?)'

  it('reads a range of an index in its order, with and without the archive, of all and of one owner', async () => {
    const table = 'undertext_sessions'
    const PLANS = [
      [undefined, false, 'newest', ''],
      [undefined, true, 'archived', ''],
      ['anna', false, 'owner_newest', 'owner=? AND '],
      ['anna', true, 'owner_archived', 'owner=? AND '],
    ] as const
    const named = store.forOwner('anna')
    await store.append('a', [say('user', 'x')])
    await named.append('b', [say('user', 'x')])
    for (const [owner, archived, index, of] of PLANS) {
      const after = owner === undefined ? 'a' : 'b'
      const seenBy = (all: Store): Store => (owner === undefined ? all : all.forOwner(owner))
      const using = `${table} USING INDEX ${table}_${index}`
      const first = owner === undefined ? `SCAN ${using}` : `SEARCH ${using} (owner=?)`
      expect(await plansOf((all) => seenBy(all).sessions.list({ archived }))).toEqual([first + OF_ORIGIN])
      expect(await plansOf((all) => seenBy(all).sessions.list({ archived, after }))).toEqual([
        `SEARCH ${using} (${of}newest_at=? AND rowid<?)${OF_ORIGIN}`,
        `SEARCH ${using} (${of}newest_at<?)${OF_ORIGIN}`,
      ])
    }
  })

  it('changes no index of lists when a session changes without a message', async () => {
    await store.append('s', [say('user', 'one'), say('assistant', 'two'), say('user', 'three')])
    const written: string[] = []
    const database = new BetterSqlite3(path)
    const prepare = database.prepare.bind(database)
    database.prepare = ((sql: string) => {
      written.push(sql)
      return prepare(sql)
    }) as typeof database.prepare
    const opened = await openStore(database, { env: false })
    const updates = (): string[] => {
      const found = written.filter((sql) => sql.startsWith('update undertext_sessions'))
      written.length = 0
      return found
    }
    const [first] = await opened.getMessages('s')
    await opened.compactions.hide('s', [first!.id])
    await opened.sessions.update('s', { title: 'A title' })
    const changes = updates()
    expect(changes.length).toBeGreaterThan(1)
    expect(changes.filter((sql) => sql.includes('newest_at'))).toEqual([])
    await opened.append('s', [say('user', 'four')])
    expect(updates().filter((sql) => sql.includes('newest_at'))).toHaveLength(1)
    database.close()
  })
})

describe('the column', () => {
  it('has the time of the last message, of a fork that of its last message', async () => {
    await store.append('a', [
      { ...say('user', 'x'), createdAt: 5_000 },
      { ...say('assistant', 'y'), createdAt: 3_000 },
    ])
    await store.sessions.fork('a', { id: 'whole' })
    const [first] = await store.getMessages('a')
    await store.sessions.fork('a', { id: 'part', at: { afterMessage: first!.id } })
    expect(await times()).toEqual([
      ['part', 5_000],
      ['whole', 3_000],
      ['a', 3_000],
    ])
  })

  it('follows a rewind that appends, and stays at one that only hides', async () => {
    await store.append('a', [
      { ...say('user', 'x'), createdAt: 1_000 },
      { ...say('assistant', 'y'), createdAt: 2_000 },
    ])
    const [first, last] = await store.getMessages('a')
    await store.rewind('a', { from: { beforeMessage: last!.id } })
    expect(await times()).toEqual([['a', 2_000]])
    await store.rewind('a', {
      from: { beforeMessage: first!.id },
      append: [{ ...say('user', 'z'), createdAt: 3_000 }],
    })
    expect(await times()).toEqual([['a', 3_000]])
  })

  it('is filled when an older file is opened', async () => {
    await store.append('a', [{ ...say('user', 'x'), createdAt: 2_000 }])
    await store.append('b', [
      { ...say('user', 'x'), createdAt: 9_000 },
      { ...say('assistant', 'y'), createdAt: 1_000 },
    ])
    await store.forOwner('anna').append('c', [{ ...say('user', 'x'), createdAt: 4_000 }])
    await store.append('ahead', [{ ...say('user', 'x'), createdAt: Date.UTC(2200, 0) }])
    await store.sessions.create({ id: 'empty' })
    const { updatedAt } = await store.sessions.get('ahead')
    await store.close()
    takeColumnAway(other)
    store = await openStore(path, { env: false })
    expect(await times()).toEqual([
      ['ahead', updatedAt],
      ['c', 4_000],
      ['a', 2_000],
      ['b', 1_000],
      ['empty', 0],
    ])
    expect(await times(store.forOwner('anna'))).toEqual([['c', 4_000]])
    for (const id of ['a', 'b', 'ahead', 'empty'])
      expect(await store.sessions.verify(id)).toEqual({ findings: [], repaired: false })
  })
})

describe('sessions.verify', () => {
  const set = (value: number): void =>
    void other.prepare('update undertext_sessions set newest_at = ?').run(value)
  const verified = async (repair = false) => {
    const { findings, repaired } = await store.sessions.verify('s', { repair })
    return [findings.map(({ code, repairable }) => [code, repairable]), repaired]
  }
  const DRIFT = [['COUNTER_DRIFT', true]]

  it('finds and repairs a time other than the last message, and one of a session without messages', async () => {
    await store.append('s', [say('user', 'x')])
    const sound = await times()
    for (const wrong of [0, 1, sound[0]![1] + 1]) {
      set(wrong)
      expect(await verified()).toEqual([DRIFT, false])
      expect(await verified(true)).toEqual([DRIFT, true])
      expect(await verified()).toEqual([[], false])
      expect(await times()).toEqual(sound)
    }
    await store.sessions.purge('s')
    await store.sessions.create({ id: 's' })
    set(7)
    expect(await verified(true)).toEqual([DRIFT, true])
    expect(await times()).toEqual([['s', 0]])
  })

  it('accepts the time at which a message with a time in the future was stored, and a repair keeps it', async () => {
    await store.append('s', [{ ...say('user', 'x'), createdAt: Date.UTC(2200, 0) }])
    const sound = await times()
    await new Promise((resolve) => setTimeout(resolve, 5))
    await store.sessions.update('s', { title: 'later' })
    expect(await verified()).toEqual([[], false])
    other.exec('update undertext_sessions set visible = 5')
    expect(await verified(true)).toEqual([DRIFT, true])
    expect(await times()).toEqual(sound)
    set(Date.UTC(2200, 0) + 1)
    expect(await verified(true)).toEqual([DRIFT, true])
    const { updatedAt } = await store.sessions.get('s')
    expect(await times()).toEqual([['s', updatedAt]])
  })
})
