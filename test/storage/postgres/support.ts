import { PGlite } from '@electric-sql/pglite'
import { afterAll } from 'vitest'
import { BUILT_IN_ESTIMATORS } from '../../../src/core/tokens/measure.ts'
import { locationOf } from '../../../src/storage/location.ts'
import {
  PostgresDatabase,
  type PostgresOptions,
  type PostgresSql,
} from '../../../src/storage/postgres/connection.ts'
import { fromPglite, fromUrl } from '../../../src/storage/postgres/drivers.ts'
import type { PostgresDriver } from '../../../src/storage/postgres/port.ts'
import type { Step, Work } from '../../../src/storage/sql/work.ts'
import { query } from '../../support/postgres.ts'

/** The tables that a connection knows, and one of a verb's. */
const TABLES = [
  'create schema chats',
  `create table chats.names (id text, owner text not null default '', family bigint not null, session bigint not null,
    constraint names_pkey primary key (id, owner))`,
  `create table chats.sessions (family bigint not null, no bigint not null, id text not null, title text, last_write text,
    version bigint not null default 0, compacted bigint not null default 0, audited bigint not null default 0,
    jobbed bigint not null default 0, messages bigint not null default 0, incarnation text,
    purged_no bigint not null default 0, primary key (family, no))`,
  'create table chats.messages (family bigint not null, key bigint not null, text text, unique (text), primary key (family, key))',
]

/** A driver that counts the connections it gave out. */
export type Counted = PostgresDriver & { readonly taken: { now: number; ever: number; broken: number } }

export function counted(driver: PostgresDriver): Counted {
  const taken = { now: 0, ever: 0, broken: 0 }
  return {
    taken,
    end: () => driver.end(),
    acquire: async () => {
      const connection = await driver.acquire()
      taken.now++
      taken.ever++
      return {
        query: (...args) => connection.query(...args),
        release: (isBroken) => {
          taken.now--
          if (isBroken) taken.broken++
          connection.release(isBroken)
        },
      }
    },
  }
}

export function databaseOver(
  driver: PostgresDriver,
  options: Partial<PostgresOptions> = {},
): PostgresDatabase {
  const database = new PostgresDatabase(driver, {
    schema: 'chats',
    location: 'postgres://somewhere/chats',
    estimators: { standard: BUILT_IN_ESTIMATORS[0]!, byName: new Map() },
    busyTimeoutMs: 5_000,
    readonly: false,
    prepare: true,
    rowSecurity: false,
    ...options,
  })
  afterAll(() => database.close())
  return database
}

/** A database with the tables, on a server. */
export async function databaseAt(
  url: string,
  options: Partial<PostgresOptions> = {},
): Promise<PostgresDatabase> {
  return databaseOver(counted(await fromUrl(url)), { location: locationOf(url), ...options })
}

export async function withTables(url: string): Promise<string> {
  await query(url, ...TABLES)
  return url
}

/** A PGlite with the tables; one for each file, because it starts in seconds. */
export async function pgliteWithTables(): Promise<PGlite> {
  const instance = await PGlite.create()
  for (const text of TABLES) await instance.query(text)
  afterAll(() => instance.close())
  return instance
}

export async function pgliteDatabase(options: Partial<PostgresOptions> = {}): Promise<PostgresDatabase> {
  return databaseOver(counted(fromPglite(await pgliteWithTables())), options)
}

export function takenOf(database: PostgresDatabase): Counted['taken'] {
  return (database.driver as Counted).taken
}

/** A step as a work. */
export function* only<T>(step: Step<T>): Work<T> {
  return yield* step
}

/** A verb that creates a session. */
export function* create(sql: PostgresSql, id: string): Work<number> {
  return yield* sql.write('createSession', function* () {
    yield* sql.enter(id)
    const number = yield* sql.admit(id, null)
    yield* sql.run('insert into undertext_sessions ({family,} no, id) values ({?,} ?, ?)', number, id)
    return number
  })
}

/** The part of a verb that writes a text into a session, at a position. */
export function* say(sql: PostgresSql, id: string, position: number, text: string): Work<number> {
  yield* sql.enter(id)
  return yield* sql.insert(
    'insert into undertext_messages (key, {family,} text) values (?, {?,} ?)',
    sql.keyOf(1, { position }),
    text,
  )
}

export function append(
  database: PostgresDatabase,
  id: string,
  position: number,
  text: string,
): Promise<number> {
  return database.perform((sql) => sql.write('append', () => say(sql, id, position, text)))
}

export function textsOf(database: PostgresDatabase, id: string): Promise<unknown[]> {
  return database.perform(function* (sql) {
    return yield* sql.read('getMessages', function* () {
      yield* sql.enter(id)
      const rows = yield* sql.all(
        'select text from undertext_messages where {family} key > ? order by key',
        0,
      )
      return rows.map(([text]) => text)
    })
  })
}
