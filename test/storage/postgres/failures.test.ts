import { inspect } from 'node:util'
import pg from 'pg'
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import type { ErrorCode } from '../../../src/index.ts'
import { locationOf, storeIn } from '../../../src/storage/location.ts'
import type { PostgresDatabase } from '../../../src/storage/postgres/connection.ts'
import { fromPool, fromUrl } from '../../../src/storage/postgres/drivers.ts'
import { readFailure } from '../../../src/storage/postgres/failure.ts'
import { CANARY, expectFailure, failureOf } from '../../support/failures.ts'
import { postgresServer, query } from '../../support/postgres.ts'
import {
  append,
  counted,
  create,
  databaseAt,
  databaseOver,
  only,
  pgliteDatabase,
  say,
  takenOf,
  textsOf,
  withTables,
} from './support.ts'

const server = await postgresServer()
const WHERE = { location: 'postgres://host/chats', busyTimeoutMs: 5_000, verb: 'append' }

/** An error as a driver throws it. */
function driverError(code: string | undefined, message = `about ${CANARY}`, more: object = {}): Error {
  return Object.assign(new Error(message), { code, detail: CANARY, where: CANARY, hint: CANARY, ...more })
}

describe('an error of the driver', () => {
  it.each<[string, ErrorCode, RegExp]>([
    ['40001', 'STORE_BUSY', /longer than 5000 ms/],
    ['40P01', 'STORE_BUSY', /Another connection/],
    ['55P03', 'STORE_BUSY', /raise busyTimeoutMs/],
    ['53300', 'STORE_BUSY', /accepted no more connections/],
    ['53100', 'STORE_FULL', /53100/],
    ['53200', 'STORE_FULL', /53200/],
    ['25006', 'STORE_READONLY', /standby.*append can't write/],
    ['08006', 'STORE_UNAVAILABLE', /connection was lost \(08006\)/],
    ['57P01', 'STORE_UNAVAILABLE', /connection was lost \(57P01\)/],
    ['57P03', 'STORE_UNAVAILABLE', /starting or stopping/],
    ['57014', 'STORE_UNAVAILABLE', /Raise statement_timeout/],
    ['28P01', 'STORE_UNAVAILABLE', /Check the user, the password/],
    ['3D000', 'STORE_UNAVAILABLE', /createdb/],
    ['42501', 'STORE_UNAVAILABLE', /lacks a privilege/],
    ['26000', 'STORE_UNAVAILABLE', /prepare: false/],
    ['58030', 'STORE_UNAVAILABLE', /its files/],
    ['22021', 'INVALID_INPUT', /character/],
    ['22P05', 'INVALID_INPUT', /character/],
    ['54000', 'INVALID_INPUT', /too large/],
    ['UT001', 'STORE_CORRUPT', /UT001/],
    ['23505', 'STORE_CORRUPT', /23505/],
    ['3F000', 'STORE_CORRUPT', /3F000/],
    ['42P01', 'INTERNAL_ERROR', /42P01, append/],
    ['42703', 'INTERNAL_ERROR', /42703, append/],
    ['42601', 'INTERNAL_ERROR', /report it/],
    ['42883', 'INTERNAL_ERROR', /nothing was written/],
    ['ECONNREFUSED', 'STORE_UNAVAILABLE', /cannot be reached \(ECONNREFUSED\)/],
    ['ENOTFOUND', 'STORE_UNAVAILABLE', /host and port/],
    ['EPIPE', 'STORE_UNAVAILABLE', /cannot be reached/],
    ['SELF_SIGNED_CERT_IN_CHAIN', 'STORE_UNAVAILABLE', /sslmode/],
  ])('%s is %s', (code, expected, sentence) => {
    const { error } = readFailure(driverError(code), WHERE)
    expectFailure(error, expected)
    expect(error.message).toMatch(sentence)
    expect(inspect(error, { depth: 9 })).not.toContain(CANARY)
  })

  it.each<[string, ErrorCode]>([
    ['Connection terminated unexpectedly', 'STORE_UNAVAILABLE'],
    ['timeout exceeded when trying to connect', 'STORE_UNAVAILABLE'],
    ['Cannot use a pool after calling end on the pool', 'STORE_CLOSED'],
    ['PGlite is closed', 'STORE_CLOSED'],
    ['SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string', 'STORE_UNAVAILABLE'],
    [CANARY, 'STORE_UNAVAILABLE'],
  ])('without a code, "%s" is %s', (message, expected) => {
    expectFailure(readFailure(new Error(message), WHERE).error, expected)
  })

  it('of a worker of a cluster names the constraint in its message, with the number of the shard', () => {
    const taken = driverError(
      '23505',
      `duplicate key violates unique constraint "names_pkey_102289" ${CANARY}`,
    )
    expect(readFailure(taken, WHERE)).toMatchObject({ constraint: 'names_pkey', isPassing: true })
    const other = driverError('23505', 'doppelter Schlüssel verletzt »messages_id_102008«')
    expect(readFailure(other, WHERE)).toMatchObject({ constraint: 'messages_id', isPassing: false })
  })

  it('of a worker that refused the connection is one before anything was written', () => {
    const failed = 'connection to the remote node u@worker:5432 failed with the following error:'
    const refused = (message: string): boolean => readFailure(driverError('08006', message), WHERE).isRefused
    expect(refused(`${failed} Connection refused`)).toBe(true)
    expect(refused(`${failed} server closed the connection unexpectedly`)).toBe(false)
  })

  it('of a key that another client took is passing, and of another constraint is not', () => {
    expect(readFailure(driverError('23505', '', { constraint: 'names_pkey' }), WHERE)).toMatchObject({
      isPassing: true,
      error: { code: 'STORE_BUSY' },
    })
    expect(readFailure(driverError('23505', '', { constraint: 'messages_id' }), WHERE)).toMatchObject({
      isPassing: false,
      error: { code: 'STORE_CORRUPT' },
    })
  })

  it('of several attempts to connect is the first of them', () => {
    const error = new AggregateError([driverError('ECONNREFUSED'), driverError('ENETUNREACH')])
    expect(readFailure(error, WHERE)).toMatchObject({ code: 'ECONNREFUSED', isLost: true })
  })

  it('that is too long for JavaScript is the input', () => {
    expectFailure(readFailure(new RangeError('Invalid string length'), WHERE).error, 'INVALID_INPUT')
  })
})

const ENGINES: [string, () => Promise<PostgresDatabase>][] = [['PGlite', () => pgliteDatabase()]]
if (server !== undefined)
  ENGINES.push(['a server', async () => databaseAt(await withTables(await server.newDatabase()))])

describe.each(ENGINES)('text of a conversation on %s', (_, open) => {
  let database: PostgresDatabase
  beforeAll(async () => {
    database = await open()
    await database.perform((sql) => create(sql, 's'))
    await append(database, 's', 1, CANARY)
  })

  it.each<[string, ErrorCode, string, unknown[]]>([
    [
      'a unique violation',
      'STORE_CORRUPT',
      'insert into undertext_messages (family, key, text) values (?, ?, ?)',
      [1, 1, CANARY],
    ],
    [
      'a text that is no number',
      'STORE_CORRUPT',
      'update undertext_sessions set no = cast(cast(? as text) as bigint)',
      [CANARY],
    ],
    [
      'a character that cannot be stored',
      'INVALID_INPUT',
      'update undertext_sessions set title = ?',
      [`${CANARY}\0`],
    ],
    ['an unknown column', 'INTERNAL_ERROR', `select "${CANARY}" from undertext_sessions`, []],
  ])('is not in the error of %s', async (_, code, text, values) => {
    const run = (kind: 'write' | 'outside') =>
      failureOf(() => database.perform((sql) => sql[kind]('append', () => only(sql.run(text, ...values)))))
    for (const kind of ['write', 'outside'] as const) {
      const error = await run(kind)
      expectFailure(error, code)
      expect(inspect(error, { depth: 9, showHidden: true })).not.toContain(CANARY)
    }
    expect(await textsOf(database, 's')).toEqual([CANARY])
  })
})

describe('addresses', () => {
  it('are shown without user, password and parameters', () => {
    expect(locationOf('postgres://me:secret@db.example:5432/chats?password=secret')).toBe(
      'postgres://db.example:5432/chats',
    )
    expect(locationOf('me:secret@somewhere')).not.toContain('secret')
    expect(locationOf('not a url with secret')).toBe('PostgreSQL')
    // A part of a password that is not encoded is not taken for the host or the path.
    for (const password of ['1/secret', '1?secret', '1#secret', 'a@secret', 'a@1/secret'])
      expect(locationOf(`postgres://me:${password}@db.example/chats`)).toMatch(
        /^PostgreSQL$|\/\/db\.example\//,
      )
  })

  it('may name the schema, and say that statements are not prepared', () => {
    expect(storeIn('postgres://db.example/chats')).toEqual({ schema: 'undertext', prepare: true })
    expect(storeIn('postgres://db.example/chats?prepare=false&schema=a%20b')).toEqual({
      schema: 'a b',
      prepare: false,
    })
    expect(() => storeIn('postgres://db.example/chats?prepare=no')).toThrow('true or false')
  })

  it.each([
    ['postgres://me:secret@127.0.0.1:1/chats', /ECONNREFUSED/],
    ['postgres://me:secret@nowhere.invalid/chats', /ENOTFOUND|EAI_AGAIN/],
    ['postgres:///chats?host=/nonexistent&user=me&password=secret', /ENOENT/],
    ['postgres://me:secret@[/chats', /form postgres/],
  ])('%s cannot be reached', async (url, sentence) => {
    const database = databaseOver(counted(await fromUrl(url)), {
      location: locationOf(url),
      busyTimeoutMs: 200,
    })
    for (const act of [() => textsOf(database, 's'), () => append(database, 's', 1, CANARY)]) {
      const error = await failureOf(act)
      expectFailure(error, 'STORE_UNAVAILABLE')
      expect(error).toMatchObject({ message: sentence })
      expect(inspect(error, { depth: 9, showHidden: true })).not.toContain('secret')
    }
    expect(takenOf(database)).toEqual({ now: 0, ever: 0, broken: 0 })
  })
})

describe.skipIf(server === undefined)('a server', async () => {
  if (server === undefined) return
  const url = await withTables(await server.newDatabase())
  const changed = (change: (parts: URL) => void): string => {
    const parts = new URL(url)
    change(parts)
    return parts.href
  }

  // A server that is not ours may trust everyone.
  it.runIf(server.killHard !== undefined).each<[string, (parts: URL) => void, RegExp]>([
    ['with a wrong password', (parts) => (parts.password = 'wrong'), /28P01.*Check the user/],
    ['without a password', (parts) => (parts.password = ''), /Check the user/],
    ['for a database that it lacks', (parts) => (parts.pathname = '/nothing'), /3D000.*createdb/],
  ])('%s refuses, and the address is shown without credentials', async (_, change, sentence) => {
    const given = changed(change)
    const error = await failureOf(async () => textsOf(await databaseAt(given), 's'))
    expectFailure(error, 'STORE_UNAVAILABLE')
    expect(error).toMatchObject({ message: sentence })
    expect(inspect(error, { depth: 9, showHidden: true })).not.toMatch(/wrong|undertext:/)
  })

  it('that only reads refuses to write', async () => {
    const readonly = await withTables(await server.newDatabase())
    const database = await databaseAt(readonly)
    await database.perform((sql) => create(sql, 's'))
    await append(database, 's', 1, 'kept')
    await database.close()
    const name = new URL(readonly).pathname.slice(1)
    await query(readonly, `alter database ${name} set default_transaction_read_only = on`)
    const reading = await databaseAt(readonly)
    expect(await textsOf(reading, 's')).toEqual(['kept'])
    const error = await failureOf(() => append(reading, 's', 2, 'x'))
    expectFailure(error, 'STORE_READONLY')
    expect(error).toMatchObject({ message: /standby/ })
  })

  it('with a short statement_timeout says so', async () => {
    const limited = changed((parts) => parts.searchParams.set('options', '-c statement_timeout=50'))
    const database = await databaseAt(limited)
    const error = await failureOf(() =>
      database.perform((sql) => sql.write('append', () => only(sql.get('select pg_sleep(5)')))),
    )
    expectFailure(error, 'STORE_UNAVAILABLE')
    expect(error).toMatchObject({ message: /statement_timeout/ })
    await vi.waitFor(() => expect(takenOf(database)).toEqual({ now: 0, ever: 1, broken: 0 }))
  })
})

describe.skipIf(server === undefined)('a pool of the application', async () => {
  if (server === undefined) return
  const url = await withTables(await server.newDatabase())
  await query(
    url,
    "insert into chats.names values ('s', '', 5, 0)",
    "insert into chats.sessions (family, no, id) values (5, 0, 's')",
  )

  it.each([false, true])('with pipeline %s keeps its parsers, its life and its silence', async (pipeline) => {
    const warned = vi.fn()
    process.on('warning', warned)
    const pool = new pg.Pool({ connectionString: url, max: 1, pipeline })
    onTestFinished(async () => {
      process.off('warning', warned)
      await pool.end()
    })
    const [one, two] = [databaseOver(fromPool(pool)), databaseOver(fromPool(pool), { prepare: false })]
    await Promise.all(
      [one, two, one, two].map((database, n) =>
        append(database, 's', n + 1, `${pipeline} ${n}`).catch(() => {}),
      ),
    )
    expect(await textsOf(one, 's')).toContain(`${pipeline} 3`)
    await one.close()
    expect((await pool.query('select 1::bigint as big')).rows).toEqual([{ big: '1' }])
    await query(url, 'delete from chats.messages')
    expect(warned).not.toHaveBeenCalled()
  })

  it('that was ended is a closed store', async () => {
    const pool = new pg.Pool({ connectionString: url })
    const database = databaseOver(fromPool(pool))
    await pool.end()
    expectFailure(await failureOf(() => textsOf(database, 's')), 'STORE_CLOSED')
  })

  it('that loses the client of a verb goes on, and so does the process', async () => {
    const pool = new pg.Pool({ connectionString: url })
    onTestFinished(() => pool.end())
    const database = databaseOver(fromPool(pool))
    let attempts = 0
    await database.perform((sql) =>
      sql.write('append', function* () {
        yield* say(sql, 's', 9, 'survived')
        if (++attempts === 1) yield* sql.get('select pg_terminate_backend(pg_backend_pid())')
      }),
    )
    expect(await textsOf(database, 's')).toEqual(['survived'])
  })

  it('statements are prepared once, and not at all for a pooler', async () => {
    const prepared = async (prepare: boolean): Promise<unknown> => {
      const pool = new pg.Pool({ connectionString: url, max: 1 })
      onTestFinished(() => pool.end())
      const database = databaseOver(fromPool(pool), { prepare })
      for (let n = 0; n < 3; n++) await textsOf(database, 's')
      const { rows } = await pool.query(
        "select count(*)::int as n from pg_prepared_statements where name like 'undertext%'",
      )
      return rows[0].n
    }
    expect(await prepared(true)).toBe(3)
    expect(await prepared(false)).toBe(0)
  })
})
