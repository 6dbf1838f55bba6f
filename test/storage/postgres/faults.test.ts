import { connect, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { isUndertextError } from '../../../src/index.ts'
import type { PostgresDatabase, PostgresSql } from '../../../src/storage/postgres/connection.ts'
import type { Work } from '../../../src/storage/sql/work.ts'
import { expectFailure, failureOf } from '../../support/failures.ts'
import { postgresServer, query } from '../../support/postgres.ts'
import { append, create, databaseAt, only, say, takenOf, textsOf, withTables } from './support.ts'

/* Conflicts, and connections that end at the worst moments, on a real server. */

const server = await postgresServer()

describe.skipIf(server === undefined)('on a server', async () => {
  if (server === undefined) return
  const url = await withTables(await server.newDatabase())
  const database = await databaseAt(url)
  const isOurs = server.killHard !== undefined
  let ids = 0
  const newSession = async (): Promise<string> => {
    const id = `s${++ids}`
    await database.perform((sql) => create(sql, id))
    return id
  }
  afterAll(async () => {
    await vi.waitFor(() => expect(takenOf(database).now).toBe(0))
  })

  /** Resolves for all when so many wait. */
  function barrier(count: number): () => Promise<void> {
    let open = (): void => {}
    const opened = new Promise<void>((resolve) => (open = resolve))
    return () => {
      if (--count <= 0) open()
      return opened
    }
  }

  describe('conflicts', () => {
    it('one of two verbs in a deadlock is repeated', async () => {
      const [a, b] = [await newSession(), await newSession()]
      const bothHaveOne = barrier(2)
      let attempts = 0
      const lockBoth = (first: string, second: string): Promise<void> =>
        database.perform((sql) =>
          sql.write('append', function* () {
            const at = ++attempts
            yield* say(sql, first, at, `${at} in ${first}`)
            // Its answer comes after that of the lock.
            yield* sql.get('select 1')
            yield bothHaveOne()
            yield* say(sql, second, at + 10, `${at} in ${second}`)
          }),
        )
      await Promise.all([lockBoth(a, b), lockBoth(b, a)])
      expect(attempts).toBe(3)
      expect([...(await textsOf(database, a)), ...(await textsOf(database, b))]).toHaveLength(4)
    })

    it('two clients that create one session make one', async () => {
      const bothLooked = barrier(2)
      let attempts = 0
      const createOnce = (): Promise<string> =>
        database.perform((sql) =>
          sql.write('append', function* () {
            attempts++
            yield* sql.enter('twice')
            if (
              (yield* sql.get('select 1 from undertext_sessions where {family} id = ?', 'twice')) !==
              undefined
            )
              return 'found'
            yield bothLooked()
            const number = yield* sql.admit('twice', null)
            yield* sql.run(
              'insert into undertext_sessions ({family,} no, id) values ({?,} ?, ?)',
              number,
              'twice',
            )
            return 'created'
          }),
        )
      expect((await Promise.all([createOnce(), createOnce()])).sort()).toEqual(['created', 'found'])
      expect(attempts).toBe(3)
      expect(await query(url, "select count(*) from chats.sessions where id = 'twice'")).toEqual([['1']])
    })

    it.each(['40001', '40P01'])('%s is repeated until it passes', async (code) => {
      await query(url, 'drop function if exists chats.fail', FAIL)
      let attempts = 0
      const result = await database.perform((sql) =>
        sql.write('append', function* () {
          if (++attempts < 4) yield* sql.get('select chats.fail(?)', code)
          return attempts
        }),
      )
      expect(result).toBe(4)
    })

    it('what never passes is STORE_BUSY, in time', async () => {
      const impatient = await databaseAt(url, { busyTimeoutMs: 300 })
      await query(url, 'drop function if exists chats.fail', FAIL)
      const start = performance.now()
      const error = await failureOf(() =>
        impatient.perform((sql) => sql.write('append', () => only(sql.get("select chats.fail('40001')")))),
      )
      expectFailure(error, 'STORE_BUSY')
      expect(performance.now() - start).toBeLessThan(1_500)
      expect(takenOf(impatient)).toMatchObject({ now: 0, broken: 0 })
      expect(takenOf(impatient).ever).toBeGreaterThan(3)
    })

    it('a session that another client holds is STORE_BUSY after busyTimeoutMs', async () => {
      const id = await newSession()
      const impatient = await databaseAt(url, { busyTimeoutMs: 200 })
      await database.perform((sql) =>
        sql.write('hold', function* () {
          yield* sql.enter(id)
          // `enter` does not wait for the lock; an answer to a later statement shows that it is held.
          yield* sql.get('select 1')
          const start = performance.now()
          const error = (yield failureOf(() => append(impatient, id, 1, 'x'))) as unknown
          expectFailure(error, 'STORE_BUSY')
          expect(error).toMatchObject({ facts: { waitedMs: 200 } })
          expect(performance.now() - start).toBeGreaterThan(150)
        }),
      )
      await append(impatient, id, 1, `free ${id}`)
    })

    it('writers of one session take turns', async () => {
      const id = await newSession()
      const next = (): Promise<number> =>
        database.perform((sql) =>
          sql.write('append', function* () {
            yield* sql.enter(id)
            const row = yield* sql.get(
              'select coalesce(max(key), 0) / 2 from undertext_messages where {family} true',
            )
            return yield* say(sql, id, (row![0] as number) + 1, `${row![0]} of ${id}`)
          }),
        )
      const keys = await Promise.all(Array.from({ length: 20 }, next))
      expect(keys.sort((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, index) => 2 * index + 2))
    })

    it.runIf(isOurs)(
      'a role with no connection left is STORE_BUSY, and succeeds when there is one',
      async () => {
        await query(
          url,
          "create role few login password 'few' connection limit 1",
          'grant usage on schema chats to few',
          'grant select on all tables in schema chats to few',
        )
        const few = new URL(url)
        few.username = few.password = 'few'
        const [holding, waiting] = [
          await databaseAt(few.href),
          await databaseAt(few.href, { busyTimeoutMs: 300 }),
        ]
        await holding.perform((sql) =>
          sql.read('hold', function* () {
            yield* sql.get('select 1')
            const error = (yield failureOf(() => textsOf(waiting, 'x'))) as unknown
            expectFailure(error, 'STORE_BUSY')
            expect(error).toMatchObject({ message: /no more connections/ })
          }),
        )
        await holding.close()
        expect(await textsOf(waiting, 'x')).toEqual([])
        const denied = await failureOf(() => waiting.perform((sql) => create(sql, 'denied')))
        expectFailure(denied, 'STORE_UNAVAILABLE')
        expect(denied).toMatchObject({ message: /privilege \(42501\)/ })
      },
    )
  })

  describe('connections that are lost', () => {
    it('a verb whose backend is killed in its middle is repeated', async () => {
      const id = await newSession()
      const before = takenOf(database).broken
      let attempts = 0
      await database.perform((sql) =>
        sql.write('append', function* () {
          yield* say(sql, id, 1, `after kill of ${id}`)
          const [pid] = (yield* sql.get('select pg_backend_pid()'))!
          if (++attempts === 1) yield query(url, `select pg_terminate_backend(${pid})`)
          yield* sql.get('select 1')
        }),
      )
      expect(attempts).toBe(2)
      expect(await textsOf(database, id)).toEqual([`after kill of ${id}`])
      expect(takenOf(database).broken).toBe(before + 1)
    })

    it('a verb that always ends its connection fails', async () => {
      let attempts = 0
      const error = await failureOf(() =>
        database.perform((sql) =>
          sql.write('append', function* () {
            attempts++
            yield* sql.get('select pg_terminate_backend(pg_backend_pid())')
          }),
        ),
      )
      expectFailure(error, 'STORE_UNAVAILABLE')
      expect(attempts).toBe(4)
    })

    it('a read whose backend is killed in its middle fails, for its work is not repeated', async () => {
      let attempts = 0
      const error = await failureOf(() =>
        database.perform((sql) =>
          sql.read('getMessages', function* () {
            attempts++
            yield* sql.get('select 1')
            yield* sql.get('select pg_terminate_backend(pg_backend_pid())')
          }),
        ),
      )
      expectFailure(error, 'STORE_UNAVAILABLE')
      expect(error).not.toHaveProperty('facts.outcome')
      expect(attempts).toBe(1)
    })

    it('idle connections that were lost do no harm', async () => {
      const id = await newSession()
      await Promise.all(Array.from({ length: 5 }, () => textsOf(database, id)))
      await query(
        url,
        'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
      )
      expect(await textsOf(database, id)).toEqual([])
      await append(database, id, 1, `idle of ${id}`)
    })
  })

  type Drop = 'before' | 'after' | 'while'
  /**
   * A database behind a proxy that loses the connection at the next commit of a write: before the server gets it, after it was
   * committed, or while the server has yet to get it.
   */
  async function losing(drop: Drop, meanwhile: () => unknown = () => {}, busyTimeoutMs = 3_000) {
    const target = new URL(url)
    let isArmed = false
    let isDown = false
    const lose = async (chunk: Buffer, client: Socket, upstream: Socket): Promise<void> => {
      if (drop === 'before') upstream.destroy()
      if (drop === 'while') setTimeout(() => upstream.write(chunk), 300)
      if (drop === 'after') {
        upstream.write(chunk)
        await new Promise<void>((resolve) =>
          upstream.on('data', (answer) => answer.includes('COMMIT\0') && resolve()),
        )
        await meanwhile()
      }
      client.destroy()
    }
    const proxy = createServer((client) => {
      if (isDown) {
        client.destroy()
        return
      }
      const upstream = connect(Number(target.port), target.hostname)
      for (const socket of [client, upstream]) socket.on('error', () => {})
      client.on('data', (chunk) => {
        if (!isArmed || !chunk.includes('commit\0')) upstream.write(chunk)
        else {
          isArmed = false
          upstream.unpipe(client)
          upstream.resume()
          void lose(chunk, client, upstream)
        }
      })
      upstream.pipe(client)
      if (drop !== 'while') client.on('close', () => upstream.destroy())
      upstream.on('close', () => client.destroy())
    }).listen(0, '127.0.0.1')
    await new Promise((resolve) => proxy.once('listening', resolve))
    const through = new URL(url)
    through.port = String((proxy.address() as { port: number }).port)
    const lossy = await databaseAt(through.href, { busyTimeoutMs })
    onTestFinished(async () => {
      await lossy.close()
      proxy.close()
      expect(takenOf(lossy).now).toBe(0)
    })
    /** From here on, when one connection is open and no commit under way. */
    const arm = async (): Promise<void> => {
      await textsOf(lossy, 'nobody')
      await vi.waitFor(() => expect(takenOf(lossy).now).toBe(0))
      isArmed = true
    }
    const down = (): void => {
      isDown = true
    }
    return { lossy, arm, down }
  }

  /** Runs an append whose commit is lost, and counts its attempts. */
  async function appendLost(lossy: PostgresDatabase, id: string, arm: () => Promise<void>) {
    let attempts = 0
    const work = (sql: PostgresSql): Work<number> =>
      sql.write('append', function* () {
        attempts++
        return yield* say(sql, id, 1, `lost commit of ${id}`)
      })
    await arm()
    const outcome = await lossy.perform(work).catch((error: unknown) => error)
    return { outcome, attempts, texts: await textsOf(database, id) }
  }

  describe('a connection lost at the commit', () => {
    it.each<[Drop, string, number]>([
      ['before', 'that the server did not get: the verb is repeated', 2],
      ['after', 'that the server carried out: the verb is done', 1],
      ['while', 'that the server carries out later: it is waited for, and the verb is done', 1],
    ])('%s: one %s', async (drop, _, expected) => {
      const id = await newSession()
      const { lossy, arm } = await losing(drop)
      const { outcome, attempts, texts } = await appendLost(lossy, id, arm)
      expect(outcome).toBe(2)
      expect(attempts).toBe(expected)
      expect(texts).toEqual([`lost commit of ${id}`])
    })

    it.each<[Drop, number]>([
      ['before', 2],
      ['after', 1],
      ['while', 1],
    ])('%s, of a session that is new: the session is there once', async (drop, expected) => {
      const id = `new-${drop}`
      const { lossy, arm } = await losing(drop)
      await arm()
      let attempts = 0
      await lossy.perform((sql) =>
        sql.write('createSession', function* () {
          attempts++
          const number = yield* sql.admit(id, null)
          yield* sql.run('insert into undertext_sessions ({family,} no, id) values ({?,} ?, ?)', number, id)
        }),
      )
      expect(attempts).toBe(expected)
      expect(await query(url, `select count(*) from chats.sessions where id = '${id}'`)).toEqual([['1']])
    })

    /** Adds to a counter by one statement that is sent with its commit. */
    const countOnce = (lossy: PostgresDatabase, id: string): Promise<unknown> =>
      lossy.perform((sql) =>
        only(
          sql.once('append', id, {
            text: 'update undertext_sessions set messages = messages + 1, last_write = ? where {family} no = ? returning messages, incarnation',
            values: (session, token) => [token, session],
            readsRows: true,
          }),
        ),
      )

    it('after, of a single statement: what it returned is known', async () => {
      const id = await newSession()
      const { lossy, arm } = await losing('after')
      await append(lossy, id, 1, `known to ${id}`)
      await arm()
      expect(await countOnce(lossy, id)).toEqual([1, null])
    })

    it.each<[Drop, string]>([
      ['before', 'that the server did not get'],
      ['while', 'that the server carries out later'],
      ['after', 'after which another client wrote'],
    ])('%s, of a single statement %s: unknown, and never stored twice', async (drop) => {
      const id = await newSession()
      const { lossy, arm } = await losing(drop, () => append(database, id, 1, `other of ${id}`))
      await append(lossy, id, 2, `known to ${id}`)
      await arm()
      const error = await failureOf(() => countOnce(lossy, id))
      expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE', facts: { outcome: 'unknown' } })
    })

    it.each<Drop>(['before', 'after', 'while'])(
      '%s, of a session that is removed: it is removed',
      async (drop) => {
        const id = await newSession()
        const { lossy, arm } = await losing(drop)
        await arm()
        await lossy.perform((sql) =>
          sql.write('purgeSession', function* () {
            yield* sql.enter(id)
            yield* sql.run('delete from undertext_sessions where {family} no = 1')
            yield* sql.leave()
          }),
        )
        expect(await query(url, `select 1 from chats.names where id = '${id}'`)).toEqual([])
      },
    )

    const expectUnknown = (outcome: unknown): void => {
      expectFailure(outcome, 'STORE_UNAVAILABLE')
      expect(outcome).toMatchObject({ facts: { outcome: 'unknown' }, message: /Read the session/ })
    }

    it('after which another client wrote: unknown', async () => {
      const id = await newSession()
      const { lossy, arm } = await losing('after', () => append(database, id, 2, `another of ${id}`))
      const { outcome, attempts, texts } = await appendLost(lossy, id, arm)
      expectUnknown(outcome)
      expect(attempts).toBe(1)
      expect(texts).toEqual([`lost commit of ${id}`, `another of ${id}`])
    })

    it('after which no connection is to be had: unknown, in time', async () => {
      const id = await newSession()
      const { lossy, arm, down } = await losing('after', () => down(), 400)
      const start = performance.now()
      const { outcome, attempts } = await appendLost(lossy, id, arm)
      expectUnknown(outcome)
      expect(attempts).toBe(1)
      expect(performance.now() - start).toBeLessThan(3_000)
    })

    it('of a verb that entered no session: unknown', async () => {
      const { lossy, arm } = await losing('before')
      await arm()
      const write = lossy.perform((sql) =>
        sql.write('learn', () =>
          only(sql.run('insert into undertext_messages (family, key) values (?, ?)', 1, 1)),
        ),
      )
      expectUnknown(await write.catch((error: unknown) => error))
    })

    it.each<Drop>(['before', 'after'])('%s, of a verb that only read: its result is true', async (drop) => {
      const id = await newSession()
      await append(database, id, 1, `only read of ${id}`)
      const { lossy, arm } = await losing(drop)
      await arm()
      expect(await textsOf(lossy, id)).toEqual([`only read of ${id}`])
    })
  })

  it.runIf(isOurs)(
    'a server killed under eight writers has every acknowledged text once, and no half of a verb',
    async () => {
      const acknowledged: string[] = []
      let isRunning = true
      const writer = async (id: string): Promise<void> => {
        for (let position = 1; isRunning; position++) {
          const text = `${id}/${position}`
          try {
            await database.perform((sql) =>
              sql.write('append', function* () {
                yield* say(sql, id, position, text)
                yield* sql.run('update undertext_sessions set title = ? where {family} no = 1', text)
              }),
            )
            acknowledged.push(text)
          } catch (error) {
            if (!isUndertextError(error)) throw error
            expect(['STORE_UNAVAILABLE', 'STORE_BUSY']).toContain(error.code)
            await sleep(20)
          }
        }
      }
      const sessions = await Promise.all(Array.from({ length: 8 }, newSession))
      const writers = sessions.map(writer)
      for (let round = 0; round < 2; round++) {
        await sleep(500)
        await server.killHard!()
        await server.start()
      }
      await sleep(300)
      isRunning = false
      await Promise.all(writers)
      const stored = new Set((await Promise.all(sessions.map((id) => textsOf(database, id)))).flat())
      expect(acknowledged.length).toBeGreaterThan(50)
      expect(acknowledged.filter((text) => !stored.has(text))).toEqual([])
      for (const id of sessions) {
        const texts = await textsOf(database, id)
        expect(await query(url, `select title from chats.sessions where id = '${id}'`)).toEqual([
          [texts.at(-1)],
        ])
      }
    },
  )
})

/** A function that fails with a code. */
const FAIL = `create function chats.fail(code text) returns void language plpgsql as
  $$ begin raise exception 'refused' using errcode = code; end $$`
