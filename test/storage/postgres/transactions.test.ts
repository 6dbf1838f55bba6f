import { beforeAll, describe, expect, it } from 'vitest'
import { type PostgresDatabase, PostgresSql } from '../../../src/storage/postgres/connection.ts'
import { fromPglite } from '../../../src/storage/postgres/drivers.ts'
import { expectFailure, failureOf } from '../../support/failures.ts'
import { postgresServer } from '../../support/postgres.ts'
import {
  append,
  create,
  databaseAt,
  databaseOver,
  only,
  pgliteDatabase,
  pgliteWithTables,
  say,
  takenOf,
  textsOf,
  withTables,
} from './support.ts'

const server = await postgresServer()

const ENGINES: [string, () => Promise<PostgresDatabase>][] = [['PGlite', () => pgliteDatabase()]]
if (server !== undefined)
  ENGINES.push(['a server', async () => databaseAt(await withTables(await server.newDatabase()))])

describe.each(ENGINES)('on %s', (_, open) => {
  let database: PostgresDatabase
  let ids = 0
  const newSession = async (): Promise<string> => {
    const id = `s${++ids}`
    await database.perform((sql) => create(sql, id))
    return id
  }
  beforeAll(async () => {
    database = await open()
  })

  it('a written text is read', async () => {
    const id = await newSession()
    expect(await append(database, id, 1, `first of ${id}`)).toBe(2)
    expect(await append(database, id, 2, `second of ${id}`)).toBe(4)
    expect(await textsOf(database, id)).toEqual([`first of ${id}`, `second of ${id}`])
  })

  it('an error of the verb leaves nothing', async () => {
    const id = await newSession()
    const failing = database.perform(function* (sql) {
      yield* sql.write('append', function* () {
        yield* say(sql, id, 1, `lost of ${id}`)
        throw new TypeError('of the application')
      })
    })
    await expect(failing).rejects.toThrow(new TypeError('of the application'))
    expect(await textsOf(database, id)).toEqual([])
  })

  it('a failed statement that the verb catches fails the verb', async () => {
    const id = await newSession()
    const error = await failureOf(() =>
      database.perform(function* (sql) {
        yield* sql.write('append', function* () {
          yield* say(sql, id, 1, `caught of ${id}`)
          try {
            yield* sql.run('insert into undertext_nothing values (1)')
          } catch {}
        })
      }),
    )
    expectFailure(error, 'INTERNAL_ERROR')
    expect(error).toMatchObject({ facts: { detail: '42P01, append' } })
    expect(await textsOf(database, id)).toEqual([])
  })

  it('a failed statement that a read catches fails the read', async () => {
    const error = await failureOf(() =>
      database.perform((sql) =>
        sql.read('getMessages', function* () {
          try {
            yield* sql.get('select 1 from undertext_nothing')
          } catch {}
        }),
      ),
    )
    expectFailure(error, 'INTERNAL_ERROR')
  })

  it('a session that does not exist gets no rows', async () => {
    expect(await failureOf(() => append(database, 'nobody', 1, 'x'))).toMatchObject({
      message: /existing session/,
    })
  })

  it('a session that does not exist has no rows, and no error', async () => {
    expect(await textsOf(database, 'nobody')).toEqual([])
  })

  it('a session that was removed and made again is found under its new address', async () => {
    const id = await newSession()
    await append(database, id, 1, `before of ${id}`)
    await database.perform(function* (sql) {
      yield* sql.write('purge', function* () {
        yield* sql.enter(id)
        yield* sql.run('delete from undertext_messages where {family} key > ?', 0)
        yield* sql.run('delete from undertext_sessions where {family} no = ?', 1)
        yield* sql.leave()
      })
    })
    expect(await textsOf(database, id)).toEqual([])
    await database.perform((sql) => create(sql, id))
    await append(database, id, 1, `after of ${id}`)
    expect(await textsOf(database, id)).toEqual([`after of ${id}`])
  })

  it('an address that another client made stale is looked up again', async () => {
    const id = await newSession()
    await append(database, id, 1, `old of ${id}`)
    await database.perform(function* (sql) {
      yield* sql.outside('another client', function* () {
        yield* sql.run('update undertext_sessions set family = 77 where id = ?', id)
        yield* sql.run('update undertext_names set family = 77 where id = ?', id)
      })
    })
    await append(database, id, 1, `new of ${id}`)
    expect(await textsOf(database, id)).toEqual([`new of ${id}`])
    await database.perform(function* (sql) {
      yield* sql.outside('clean', () => only(sql.run('delete from undertext_messages where family = 77')))
      yield* sql.outside('clean', () => only(sql.run('delete from undertext_sessions where family = 77')))
    })
  })

  it('numbers of rows continue, and only those that were used are written', async () => {
    const id = await newSession()
    const number = (table: 'undertext_audit' | 'undertext_jobs', count: number): Promise<unknown> =>
      database.perform(function* (sql) {
        return yield* sql.write('audit', function* () {
          yield* sql.enter(id)
          yield* sql.run('update undertext_sessions set title = null where {family} no = ?', 1)
          const numbers: unknown[] = []
          for (let n = 0; n < count; n++) numbers.push(yield* sql.nextNo(table, 1))
          return numbers
        })
      })
    expect(await number('undertext_audit', 2)).toEqual([1, 2])
    expect(await number('undertext_jobs', 1)).toEqual([1])
    expect(await number('undertext_audit', 1)).toEqual([3])
    const row = await database.perform(function* (sql) {
      return yield* sql.outside('look', function* () {
        return yield* sql.get('select compacted, audited, jobbed from undertext_sessions where id = ?', id)
      })
    })
    expect(row).toEqual([0, 3, 1])
  })

  it('keys are of their session and place', () => {
    const sql = new PostgresSql(database)
    expect(sql.keyOf(1, { position: 3 })).toBe(6)
    expect(sql.keyOf(1, { ordinal: 3 })).toBe(7)
    expect(sql.keyOf(3, { position: 1 })).toBe(34_359_738_370)
  })

  it('reads and writes values of every type as they are', async () => {
    const row = await database.perform(function* (sql) {
      return yield* sql.outside('types', function* () {
        return yield* sql.get(
          'select cast(? as bigint), cast(? as text), cast(? as bytea), cast(? as bigint), 1.5::float8, count(*), sum(1), 1 = 1, \'{"a": 1}\'::json',
          9_007_199_254_740_991,
          '\\x00 \u{1f600}',
          new Uint8Array([0, 255]),
          null,
        )
      })
    })
    const [number, text, bytes, ...others] = row!
    expect(Array.from(bytes as Uint8Array)).toEqual([0, 255])
    expect([number, text, ...others]).toEqual([
      9_007_199_254_740_991,
      '\\x00 \u{1f600}',
      null,
      1.5,
      1,
      1,
      1,
      '{"a": 1}',
    ])
  })

  it('lists are tables', async () => {
    const rows = await database.perform(function* (sql) {
      return yield* sql.outside('lists', function* () {
        return yield* sql.all(
          'select value from {list ?} where value > ? union all select k.value + 100 from {list ?} k order by 1',
          '[3,1,2]',
          1,
          '[5]',
        )
      })
    })
    expect(rows).toEqual([[2], [3], [105]])
  })

  it('a read is of one moment, and refuses to write', async () => {
    const id = await newSession()
    const error = await failureOf(() =>
      database.perform(function* (sql) {
        yield* sql.read('getMessages', function* () {
          yield* say(sql, id, 1, `never of ${id}`)
        })
      }),
    )
    expectFailure(error, 'STORE_READONLY')
  })

  it('the clock of the database is known after enter', async () => {
    const id = await newSession()
    await database.perform(function* (sql) {
      const offset = yield* sql.read('getSession', function* () {
        yield* sql.enter(id)
        return yield* sql.clockOffset()
      })
      expect(Math.abs(offset)).toBeLessThan(5_000)
    })
  })

  it('nested transactions are refused, and transactions within outside are not', async () => {
    const id = await newSession()
    const nest = (kind: 'read' | 'write' | 'outside') =>
      failureOf(() =>
        database.perform(function* (sql) {
          yield* sql.write('append', () => only(sql[kind]('inner', () => say(sql, id, 1, 'x'))))
        }),
      )
    for (const kind of ['read', 'write', 'outside'] as const)
      expectFailure(await nest(kind), 'IN_TRANSACTION')
    const key = await database.perform(function* (sql) {
      return yield* sql.outside('append', function* () {
        yield* sql.enter(id)
        const key = yield* sql.write('append', () => say(sql, id, 1, `within of ${id}`))
        const rows = yield* sql.all('select text from undertext_messages where {family} key = ?', key)
        expect(rows).toEqual([[`within of ${id}`]])
        return key
      })
    })
    expect(key).toBe(2)
  })

  it('mistakes of a verb are errors', async () => {
    const mistake = (work: Parameters<PostgresDatabase['perform']>[0]) =>
      failureOf(() => database.perform(work))
    expect(await mistake((sql) => only(sql.get('select 1')))).toMatchObject({ message: /within/ })
    const inside = (text: string, ...values: unknown[]) =>
      mistake(function* (sql) {
        yield* sql.read('x', () => only(sql.get(text, ...values)))
      })
    expect(await inside('select 1 where {family} ? = 1', 1)).toMatchObject({
      message: /Enter the session before/,
    })
    expect(await inside('select ?')).toMatchObject({ message: /1 parameters received 0/ })
  })

  it('every connection is released', async () => {
    await expect.poll(() => takenOf(database).now).toBe(0)
    expect(takenOf(database)).toMatchObject({ broken: 0 })
    expect(takenOf(database).ever).toBeGreaterThan(10)
  })

  it('a closed database refuses everything, and closes once', async () => {
    const closing = await open()
    await closing.close()
    await closing.close()
    for (const kind of ['read', 'write', 'outside'] as const)
      expectFailure(
        await failureOf(() => closing.perform((sql) => sql[kind]('x', () => only(sql.get('select 1'))))),
        'STORE_CLOSED',
      )
  })

  it('a database opened for reading refuses to write', async () => {
    const reading = await open()
    Object.assign(reading, { options: { ...reading.options, readonly: true } })
    expectFailure(await failureOf(() => append(reading, 's', 1, 'x')), 'STORE_READONLY')
  })
})

describe('a PGlite', () => {
  it('serves several stores, whose transactions take turns', async () => {
    const instance = await pgliteWithTables()
    const [one, two] = [databaseOver(fromPglite(instance)), databaseOver(fromPglite(instance))]
    await one.perform((sql) => create(sql, 's'))
    const writes = Array.from({ length: 10 }, (_, n) => append([one, two][n % 2]!, 's', n, `text ${n}`))
    const failing = failureOf(() =>
      two.perform((sql) => sql.write('x', () => only(sql.run('select nothing')))),
    )
    await Promise.all([...writes, failing])
    expect(await textsOf(two, 's')).toHaveLength(9)
    await one.close()
    expect((await instance.query('select count(*)::int as n from chats.messages')).rows).toEqual([{ n: 10 }])
  })
})

describe('a database', () => {
  const unused = { acquire: () => Promise.reject(new Error('unused')), end: async () => {} }

  it('keeps the 10,000 addresses that were used last', () => {
    const database = databaseOver(unused)
    for (let n = 0; n < 10_000; n++) database.keepAddress(`s${n}`, { family: n, number: 0 })
    database.keepAddress('s0', { family: 0, number: 0 })
    database.keepAddress('one more', { family: 1, number: 0 })
    expect(database.addressOf('s0')).toEqual({ family: 0, number: 0 })
    expect(database.addressOf('s1')).toBeUndefined()
    expect(database.addressOf('s2')).toEqual({ family: 2, number: 0 })
  })

  it('prepares a statement under the same name everywhere, and other schemas under others', () => {
    const nameIn = (schema: string) =>
      databaseOver(unused, { schema }).statement('delete from undertext_jobs', undefined).name
    expect(nameIn('a')).toBe(nameIn('a'))
    expect(nameIn('a')).not.toBe(nameIn('b'))
    expect(nameIn('a')!.length).toBeLessThan(64)
  })

  it('runs the code of a verb up to its first step at once', () => {
    let ran = false
    void databaseOver(unused)
      .perform((sql) =>
        sql.write('x', () => {
          ran = true
          return only(sql.get('select 1'))
        }),
      )
      .catch(() => {})
    expect(ran).toBe(true)
  })
})
