import { PGlite } from '@electric-sql/pglite'
import BetterSqlite3 from 'better-sqlite3'
import { eq } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/better-sqlite3'
import { drizzle as overPg } from 'drizzle-orm/node-postgres'
import { integer as pgInteger, pgTable, text as pgText } from 'drizzle-orm/pg-core'
import { drizzle as overPglite } from 'drizzle-orm/pglite'
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openStore, type Store, type StoreEventName } from '../../../src/index.ts'
import * as ofPostgres from '../../../src/storage/postgres/schema.ts'
import * as ofSqlite from '../../../src/storage/sqlite/schema.ts'
import { say } from '../../support/conversation.ts'
import { expectFailure, failureOf } from '../../support/failures.ts'
import { postgresServer } from '../../support/postgres.ts'
import { newFolder } from '../../support/temporary.ts'

/* Rows of the application, written in the transaction of an append, on each engine. */

type Client = {
  prepare(text: string): { run(...values: unknown[]): unknown }
  query(text: string, values?: unknown[]): Promise<unknown>
}

/** A store, and the tables of an application beside it. */
type World = {
  readonly isSynchronous: boolean
  readonly store: Store
  /** Another store over the same rows. */
  readonly other: Store
  /** Reads rows of the application. */
  rows(text: string): Promise<unknown[][]>
  /** Runs a statement on the client of a transaction; on SQLite at once. */
  run(client: unknown, text: string, ...values: unknown[]): unknown
  close(): Promise<void>
}

const TABLES = [
  'create table charges (session text not null, position integer not null, cents integer not null check (cents > 0), unique (session, position))',
  `create table accounts (name text primary key, parent text references accounts (name) deferrable initially deferred)`,
]

const server = await postgresServer()

function sqliteWorld(handed: boolean): () => Promise<World> {
  return async () => {
    const path = `${newFolder()}/app.db`
    const database = new BetterSqlite3(path)
    for (const table of TABLES) database.exec(table)
    if (handed) database.pragma('journal_mode = wal')
    const store = await openStore(handed ? database : path, { adopt: true, env: false, busyTimeoutMs: 2_000 })
    const other = await openStore(path, { adopt: true, env: false })
    return {
      isSynchronous: true,
      store,
      other,
      rows: async (query) => database.prepare(query).raw().all() as unknown[][],
      run: (client, statement, ...values) => (client as Client).prepare(statement).run(...values),
      close: async () => {
        await store.close()
        await other.close()
        database.close()
      },
    }
  }
}

const withDollars = (statement: string): string => {
  let at = 0
  return statement.replace(/\?/g, () => `$${++at}`)
}
const runOnPostgres: World['run'] = (client, statement, ...values) =>
  (client as Client).query(withDollars(statement), values)

async function pgliteWorld(): Promise<World> {
  const instance = await PGlite.create()
  for (const table of TABLES) await instance.query(table)
  const store = await openStore(instance, { env: false, busyTimeoutMs: 2_000 })
  return {
    isSynchronous: false,
    store,
    other: await openStore(instance, { env: false }),
    rows: async (query) =>
      (await instance.query(query, [], { rowMode: 'array' })).rows as unknown as unknown[][],
    run: runOnPostgres,
    close: async () => {
      await store.close()
      await instance.close()
    },
  }
}

const poolWorld = (pipeline: boolean) => async (): Promise<World & { readonly pool: pg.Pool }> => {
  const connectionString = await server!.newDatabase()
  const pool = new pg.Pool({ connectionString, pipeline } as pg.PoolConfig)
  pool.on('error', () => {})
  for (const table of TABLES) await pool.query(table)
  const store = await openStore(pool, { env: false, busyTimeoutMs: 2_000 })
  return {
    pool,
    isSynchronous: false,
    store,
    other: await openStore(pool, { env: false }),
    rows: async (query) => (await pool.query({ text: query, rowMode: 'array' })).rows,
    run: runOnPostgres,
    close: async () => {
      await store.close()
      await pool.end()
    },
  }
}

const ENGINES: [string, () => Promise<World>][] = [
  ['SQLite, a file', sqliteWorld(false)],
  ['SQLite, a connection of the application', sqliteWorld(true)],
  ['PGlite', pgliteWorld],
]
if (server !== undefined)
  ENGINES.push(['PostgreSQL', poolWorld(true)], ['PostgreSQL without a pipeline', poolWorld(false)])

const CHARGE = 'insert into charges values (?, ?, ?)'

describe.each(ENGINES)('on %s', (_, open) => {
  let world: World
  let store: Store
  let ids = 0
  const newId = (): string => `s${++ids}`
  beforeAll(async () => {
    world = await open()
    store = world.store
  })
  afterAll(() => world.close())

  /** The charges of a session. */
  const chargesOf = async (id: string): Promise<unknown[][]> =>
    (await world.rows('select session, position, cents from charges order by position'))
      .filter(([session]) => session === id)
      .map(([, ...rest]) => rest.map(Number))
  const textsOf = async (id: string): Promise<unknown[] | undefined> => {
    const session = (await store.sessions.list()).find((one) => one.id === id)
    return session && (await store.getEffectiveHistory(id)).map(({ content }) => content)
  }
  /** Charges for the last of the appended messages. */
  const charging =
    (id: string, cents: number) =>
    (client: unknown, appended: readonly { readonly position: number }[]): unknown =>
      world.run(client, CHARGE, id, appended.at(-1)!.position, cents)

  it('rows and messages are stored together, and the function knows the new positions', async () => {
    const id = newId()
    await store.append(id, [say('user', 'one')])
    const { messages } = await store.append(id, [say('assistant', 'two'), say('user', 'three')], {
      also: charging(id, 7),
    })
    expect(messages.map(({ position }) => position)).toEqual([2, 3])
    expect(await chargesOf(id)).toEqual([[3, 7]])
    expect(await textsOf(id)).toEqual(['one', 'two', 'three'])
  })

  it('a new session and the first row are stored together', async () => {
    const id = newId()
    await store.append(id, [say('user', 'one')], { also: charging(id, 1) })
    expect(await chargesOf(id)).toEqual([[1, 1]])
    expect(await textsOf(id)).toEqual(['one'])
  })

  it('what the function throws is thrown unchanged, nothing is written, and no event is emitted', async () => {
    const id = newId()
    const events: string[] = []
    const names: StoreEventName[] = ['compaction', 'turnComplete', 'indexing', 'job', 'listenerError']
    const stops = names.map((name) => store.on(name, () => void events.push(name)))
    for (const thrown of [
      new Error('of the application'),
      'a text',
      undefined,
      new RangeError('Invalid string length'),
      Object.assign(new Error('duplicate key'), { code: '23505', constraint: 'names_pkey' }),
    ]) {
      let caught: unknown = 'nothing'
      const act = store.append(id, [say('user', 'lost')], {
        also: (client, appended) => {
          const done = charging(id, 3)(client, appended)
          if (world.isSynchronous) throw thrown
          return (done as Promise<unknown>).then(() => {
            throw thrown
          })
        },
      })
      await act.catch((error: unknown) => {
        caught = error
      })
      expect(caught).toBe(thrown)
    }
    expect(await chargesOf(id)).toEqual([])
    expect(await textsOf(id)).toBeUndefined()
    expect(events).toEqual([])
    for (const stop of stops) stop()
    // The session that didn't come about isn't remembered.
    await store.append(id, [say('user', 'first')], { expectedPosition: 0 })
    expect(await textsOf(id)).toEqual(['first'])
  })

  it('a constraint of the application refuses both, with the error of its driver', async () => {
    const id = newId()
    await store.append(id, [say('user', 'one')])
    const error = await failureOf(() => store.append(id, [say('user', 'two')], { also: charging(id, -1) }))
    expect((error as { code: string }).code).toBe(world.isSynchronous ? 'SQLITE_CONSTRAINT_CHECK' : '23514')
    expect(await chargesOf(id)).toEqual([])
    expect(await textsOf(id)).toEqual(['one'])
    expect((await store.sessions.verify(id)).findings).toEqual([])
  })

  it('a deferred constraint of the application refuses both', async () => {
    const id = newId()
    const error = await failureOf(() =>
      store.append(id, [say('user', 'one')], {
        also: (client) => world.run(client, 'insert into accounts values (?, ?)', id, 'nobody'),
      }),
    )
    if (world.isSynchronous) expectFailure(error, 'STORE_UNAVAILABLE')
    else expect((error as { code: string }).code).toBe('23503')
    expect(await world.rows(`select name from accounts`)).toEqual([])
    expect(await textsOf(id)).toBeUndefined()
  })

  it('an append that is repeated by its key writes the rows once', async () => {
    const id = newId()
    const message = { ...say('user', 'one'), idempotencyKey: 'k' }
    for (const existing of [false, true, true]) {
      const { messages } = await store.append(id, [message], { also: charging(id, 5) })
      expect(messages.map((one) => one.existing)).toEqual([existing])
    }
    expect(await chargesOf(id)).toEqual([[1, 5]])
    await store.append(id, [message, { ...say('user', 'two'), idempotencyKey: 'k2' }], {
      also: charging(id, 6),
    })
    expect(await chargesOf(id)).toEqual([
      [1, 5],
      [2, 6],
    ])
  })

  it('an append that fails does not call the function', async () => {
    const id = newId()
    await store.append(id, [{ ...say('user', 'one'), id: `own-${id}` }])
    let calls = 0
    const also = (): void => void calls++
    const conflict = store.append(id, [say('user', 'two')], { expectedPosition: 0, also })
    expectFailure(await failureOf(() => conflict), 'POSITION_CONFLICT')
    const taken = store.append(id, [{ ...say('user', 'two'), id: `own-${id}` }], { also })
    expectFailure(await failureOf(() => taken), 'MESSAGE_ID_TAKEN')
    const bad = store.append(id, [say('user', 'two')], { also: 'no' as never })
    expectFailure(await failureOf(() => bad), 'INVALID_INPUT')
    expect(calls).toBe(0)
    expect(await textsOf(id)).toEqual(['one'])
  })

  it('a method of the store within the function is refused, and another store sees nothing before the commit', async () => {
    const id = newId()
    await store.append(id, [say('user', 'one')])
    const inner: unknown[] = []
    await store.append(id, [say('user', 'two')], {
      also: (client, appended) => {
        const attempts = [
          store.append(id, [say('user', 'inner')]),
          store.getMessages(id),
          store.append(newId(), [say('user', 'inner')]),
        ].map((attempt) => attempt.catch((error: unknown) => void inner.push(error)))
        const charge = charging(id, 2)
        if (world.isSynchronous) return void charge(client, appended)
        return Promise.all(attempts).then(() => charge(client, appended))
      },
    })
    await Promise.resolve()
    expect(inner).toHaveLength(3)
    for (const error of inner) expectFailure(error, 'IN_TRANSACTION')
    expect(await textsOf(id)).toEqual(['one', 'two'])
    expect(await chargesOf(id)).toEqual([[2, 2]])
    // Afterwards the store is as before.
    await store.append(id, [say('user', 'three')])
    expect(await textsOf(id)).toEqual(['one', 'two', 'three'])
  })

  it('a function that ends the transaction is found out', async () => {
    for (const ending of ['commit', 'rollback']) {
      const id = newId()
      await store.append(id, [say('user', 'one')])
      const error = await failureOf(() =>
        store.append(id, [say('user', 'two')], { also: (client) => world.run(client, ending) }),
      )
      expectFailure(error, 'INVALID_INPUT')
      expect(String(error)).toContain('must neither begin nor end a transaction')
      expect(await textsOf(id)).toEqual(ending === 'commit' ? ['one', 'two'] : ['one'])
      // On PostgreSQL, the next append finds its session as usual.
      await store.append(id, [say('user', 'after')])
      expect((await store.sessions.verify(id)).findings).toEqual([])
    }
  })

  it('a rewind and a recorded response write rows too', async () => {
    const id = newId()
    await store.append(id, [say('user', 'one'), say('assistant', 'two')])
    const rewound = {
      from: { beforeMessage: 2 },
      append: [say('assistant', 'better')],
      operationId: 'again',
      also: charging(id, 4),
    }
    await store.rewind(id, rewound)
    expect((await store.rewind(id, rewound)).existing).toBe(true)
    expect(await textsOf(id)).toEqual(['one', 'better'])
    expect(await chargesOf(id)).toEqual([[3, 4]])

    await store.recordResponse(id, {
      prompt: 'next',
      messages: [say('assistant', 'answer')],
      usage: { inputTokens: 10, outputTokens: 2 },
      also: charging(id, 9),
    })
    expect(await chargesOf(id)).toEqual([
      [3, 4],
      [5, 9],
    ])
    const refused = store.rewind(id, {
      from: 'start',
      also: () => {
        throw new TypeError('no')
      },
    })
    await expect(refused).rejects.toThrow(new TypeError('no'))
    expect(await textsOf(id)).toEqual(['one', 'better', 'next', 'answer'])
  })

  it('large outputs and large images are stored before the function runs', async () => {
    const id = newId()
    const image = { type: 'image' as const, image: new Uint8Array(9_000).fill(7), mediaType: 'image/png' }
    const table = world.isSynchronous ? 'undertext_' : 'undertext.'
    let seen: unknown
    await store.append(id, [{ role: 'user', content: [{ type: 'text', text: 'see' }, image] }], {
      also: (client) => {
        const count = `select count(*) as n from ${table}blobs`
        if (world.isSynchronous) seen = (client as BetterSqlite3.Database).prepare(count).get()
        else
          return (client as Client).query(count).then((result) => {
            seen = (result as { rows: unknown[] }).rows[0]
          })
        return undefined
      },
    })
    expect(Number((seen as { n: number | string }).n)).toBeGreaterThan(0)
    expect((await store.sessions.verify(id)).findings).toEqual([])
  })
})

describe.each(ENGINES.slice(0, 2))('on %s, synchronously', (_, open) => {
  let world: World
  beforeAll(async () => {
    world = await open()
  })
  afterAll(() => world.close())

  it.each<[string, (client: unknown) => unknown]>([
    ['an async function', async (client) => world.run(client, CHARGE, 's', 1, 1)],
    ['a function that returns a promise', (client) => Promise.resolve(world.run(client, CHARGE, 's', 1, 1))],
    ['a rejected promise', () => Promise.reject(new Error('later'))],
    [
      'a query of drizzle that did not run',
      (client) =>
        drizzle(client as BetterSqlite3.Database)
          .insert(charges)
          .values({ session: 's', position: 1, cents: 1 }),
    ],
  ])('%s is refused, and nothing is written', async (__, also) => {
    const error = await failureOf(() => world.store.append('s', [say('user', 'x')], { also }))
    expectFailure(error, 'INVALID_INPUT')
    expect(String(error)).toContain('synchronously')
    expect(await world.rows('select * from charges')).toEqual([])
    expect(await world.store.sessions.list()).toEqual([])
  })

  it('drizzle and its own transactions work in it', async () => {
    await world.store.append('s', [say('user', 'one')], {
      also: (client: BetterSqlite3.Database, [first]) => {
        const db = drizzle(client, { schema: { charges, ...ofSqlite } })
        db.transaction((tx) => {
          tx.insert(charges).values({ session: 's', position: first!.position, cents: 12 }).run()
        })
        const [row] = db.query.messages.findMany({ with: { content: true } }).sync()
        db.update(charges).set({ cents: row!.content!.content.length }).where(eq(charges.session, 's')).run()
      },
    })
    // The JSON of the text: "one" with its quotes.
    expect(await world.rows('select cents from charges')).toEqual([[5]])
  })
})

const charges = sqliteTable('charges', { session: text(), position: integer(), cents: integer() })
const pgCharges = pgTable('charges', { session: pgText(), position: pgInteger(), cents: pgInteger() })

describe('on PGlite, with drizzle', () => {
  it('the instance is the client', async () => {
    const world = await pgliteWorld()
    await world.store.append('s', [say('user', 'one')], {
      also: async (client: PGlite) => {
        await overPglite(client).insert(pgCharges).values({ session: 's', position: 1, cents: 3 })
      },
    })
    expect(await world.rows('select cents from charges')).toEqual([[3]])
    await world.close()
  })
})

describe.skipIf(server === undefined)('on PostgreSQL, with several connections', () => {
  let world: World & { readonly pool: pg.Pool }
  beforeAll(async () => {
    world = await poolWorld(true)()
    await world.pool.query("insert into accounts values ('a'), ('b')")
    await world.store.append('s', [say('user', 'one')])
  })
  afterAll(() => world.close())

  it('drizzle works in it, and may return its query', async () => {
    await world.store.append('d', [say('user', 'one')], {
      also: (client: pg.PoolClient, [first]) =>
        overPg(client).insert(pgCharges).values({ session: 'd', position: first!.position, cents: 3 }),
    })
    const db = overPg(world.pool, { schema: ofPostgres })
    const [row] = await db.query.messages.findMany({ with: { content: true, ofSession: true } })
    expect(row).toMatchObject({ role: 'user', kind: 'message', ofSession: { id: expect.any(String) } })
    expect(await world.rows("select cents from charges where session = 'd'")).toEqual([[3]])
  })

  it('after a deadlock the function is called again, and each row is stored once', async () => {
    const rival = await world.pool.connect()
    await rival.query('begin')
    await rival.query("set local deadlock_timeout = '5s'")
    await rival.query("update accounts set parent = null where name = 'b'")
    let calls = 0
    let rivals: Promise<unknown> | undefined
    const { messages } = await world.store.append('s', [say('user', 'two')], {
      also: async (client: pg.PoolClient) => {
        calls++
        await client.query("update accounts set parent = null where name = 'a'")
        if (calls === 1) {
          await client.query("set local deadlock_timeout = '50ms'")
          rivals = rival
            .query("update accounts set parent = null where name = 'a'")
            .then(() => rival.query('commit'))
          // The rival waits for "a" by the time this one waits for "b".
          await new Promise((resolve) => setTimeout(resolve, 100))
        }
        await client.query("update accounts set parent = null where name = 'b'")
        await client.query('insert into charges values ($1, $2, $3)', ['s', 2, calls])
      },
    })
    await rivals
    rival.release()
    expect(calls).toBe(2)
    expect(messages.map(({ position }) => position)).toEqual([2])
    expect(await world.rows("select position, cents from charges where session = 's'")).toEqual([[2, 2]])
  })

  it('a conflict that lasts is thrown as the application knows it, within the time of the store', async () => {
    let calls = 0
    const conflict = Object.assign(new Error('could not serialize'), { code: '40001' })
    const error = await failureOf(() =>
      world.store.append('s', [say('user', 'lost')], {
        also: () => {
          calls++
          throw new Error('of drizzle', { cause: conflict })
        },
      }),
    )
    expect((error as Error).cause).toBe(conflict)
    expect(calls).toBeGreaterThan(3)
    expect(await world.store.getMessages('s')).toHaveLength(2)
  })

  it('a failed statement that the function ignores fails the append', async () => {
    const error = await failureOf(() =>
      world.store.append('s', [say('user', 'lost')], {
        also: async (client: pg.PoolClient) => {
          await client.query('select 1 / 0').catch(() => {})
        },
      }),
    )
    expectFailure(error, 'INVALID_INPUT')
    expect(await world.store.getMessages('s')).toHaveLength(2)
  })

  it('a connection that dies in the function leaves nothing, and the store goes on', async () => {
    const error = await failureOf(() =>
      world.store.append('s', [say('user', 'lost')], {
        also: async (client: pg.PoolClient) => {
          await client.query("insert into charges values ('lost', 1, 1)")
          await client.query('select pg_terminate_backend(pg_backend_pid())')
        },
      }),
    )
    expect(error).toBeInstanceOf(Error)
    expect(await world.rows("select * from charges where session = 'lost'")).toEqual([])
    await world.store.append('s', [say('user', 'three')])
    expect((await world.store.getMessages('s')).map(({ content }) => content)).toEqual([
      'one',
      'two',
      'three',
    ])
  })

  it('a session that another store purged and created anew is found, before the function runs', async () => {
    await world.store.append('moved', [say('user', 'one')])
    await world.other.sessions.purge('moved')
    await world.other.append('moved', [say('user', 'new')])
    let calls = 0
    await world.store.append('moved', [say('user', 'two')], {
      also: () => void calls++,
    })
    expect(calls).toBe(1)
    expect((await world.other.getMessages('moved')).map(({ content }) => content)).toEqual(['new', 'two'])
  })
})
