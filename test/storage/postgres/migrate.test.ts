import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { openStore } from '../../../src/index.ts'
import { migrate } from '../../../src/storage/postgres/migrate.ts'
import { MIGRATIONS } from '../../../src/storage/postgres/migrations.ts'
import { failureOf } from '../../support/failures.ts'
import { beNext, beNow, NEXT } from '../../support/next-version.ts'
import { type Database, enginesOf, newSchema, postgresServer } from '../../support/postgres.ts'
import { live, standing, turned } from '../written/story.ts'

/* Bringing up a schema of PostgreSQL, and refusing one. */

const SUPPORTED = MIGRATIONS.length

describe.each(enginesOf(await postgresServer()))('migrating %s', (_, start) => {
  let server: Database
  let schema: string
  const open = (options: object = {}): Promise<void> =>
    migrate(server.driver, { schema, readonly: false, ...options })
  const codeOf = async (work: () => Promise<unknown>): Promise<unknown> =>
    ((await failureOf(work)) as { code?: unknown }).code
  const relations = async (): Promise<number> =>
    (await server.sql('select 1 from pg_class where relnamespace = to_regnamespace($1)', schema)).length
  const version = async (): Promise<unknown> =>
    (await server.sql(`select value from ${schema}.meta where key = 'schema'`))[0]?.[0]

  beforeAll(async () => {
    server = await start()
  })
  afterAll(() => server.stop())
  beforeEach(() => {
    schema = newSchema()
  })

  it('makes the schema and its tables, once', async () => {
    await open()
    const made = await relations()
    await open()
    await open({ readonly: true })
    expect([made, await relations(), await version()]).toEqual([made, made, String(SUPPORTED)])
    expect(made).toBeGreaterThan(50)
  })

  it('makes the tables in a schema that is there and empty', async () => {
    await server.sql(`create schema ${schema}`)
    await open()
    expect(await version()).toBe(String(SUPPORTED))
  })

  it('keeps schemas apart whatever their names are', async () => {
    for (const name of ['old', 'ON', 'select', 'a "quoted" $& $1 {schema}', 'ü.ö', "it's"]) {
      await migrate(server.driver, { schema: name, readonly: false })
      await migrate(server.driver, { schema: name, readonly: true })
    }
    await expect(open({ readonly: true })).rejects.toMatchObject({ code: 'NOT_A_STORE' })
  })

  it('refuses names that are no names of a schema', async () => {
    for (const name of ['', 'a\0b', 'x'.repeat(64), 'ü'.repeat(32), '\ud800'])
      expect(await codeOf(() => open({ schema: name })), name).toBe('INVALID_INPUT')
    await open({ schema: 'y'.repeat(63) })
    await open({ schema: 'y'.repeat(63), readonly: true })
  })

  it('fills the time of the newest message when it migrates a store that had none', async () => {
    const options = { schema, env: false } as const
    const connections = { acquire: () => server.driver.acquire(), end: async () => {} }
    const made = await openStore(connections, options)
    const say = (createdAt: number) => ({ role: 'user', content: 'x', createdAt }) as const
    await made.append('a', [say(2_000)])
    await made.append('b', [say(9_000), say(1_000)])
    await made.forOwner('anna').append('c', [say(4_000)])
    await made.append('ahead', [say(Date.UTC(2200, 0))])
    await made.sessions.create({ id: 'empty' })
    const { updatedAt } = await made.sessions.get('ahead')
    await made.close()
    await server.sql(`alter table ${schema}.sessions drop column newest_at`)
    await server.sql(`update ${schema}.meta set value = '3' where key = 'schema'`)
    const store = await openStore(connections, options)
    expect((await store.sessions.list()).map(({ id, newestAt }) => [id, newestAt])).toEqual([
      ['ahead', updatedAt],
      ['c', 4_000],
      ['a', 2_000],
      ['b', 1_000],
      ['empty', 0],
    ])
    for (const id of ['a', 'b', 'ahead', 'empty'])
      expect(await store.sessions.verify(id)).toEqual({ findings: [], repaired: false })
    await store.close()
  })

  it('migrates a store to the next version: data, guards and statistics are kept', async () => {
    const options = { schema, env: false } as const
    const connections = { acquire: () => server.driver.acquire(), end: async () => {} }
    const made = await openStore(connections, options)
    await live(made)
    const stood = await standing(made)
    await made.close()
    const entries = `select no, session, event, detail, position from ${schema}.audit order by family, no`
    const audit = await server.sql(entries)
    beNext('postgres')
    try {
      expect(await codeOf(() => open({ readonly: true }))).toBe('STORE_TOO_OLD')
      expect(await version()).toBe(String(SUPPORTED))
      const store = await openStore(connections, options)
      expect(await version()).toBe(String(NEXT.postgres))
      expect(await standing(store)).toEqual(stood)
      expect(await server.sql(entries)).toEqual(audit)
      expect(await server.sql(`select distinct weight from ${schema}.audit`)).toEqual([[7]])
      expect(
        await server.sql(`select 1 from ${schema}.sessions where label is distinct from 'of ' || id`),
      ).toEqual([])
      for (const { id } of await store.sessions.list())
        expect((await store.sessions.verify(id)).findings).toEqual([])
      await turned(store)
      await store.close()
      await open({ readonly: true })
    } finally {
      beNow('postgres')
    }
    expect(await failureOf(() => open())).toMatchObject({
      code: 'STORE_TOO_NEW',
      facts: { found: NEXT.postgres, supported: SUPPORTED },
    })
  })

  it('refuses a schema of a newer version', async () => {
    await open()
    await server.sql(`update ${schema}.meta set value = '${SUPPORTED + 1}'`)
    for (const readonly of [false, true])
      expect(await failureOf(() => open({ readonly }))).toMatchObject({
        code: 'STORE_TOO_NEW',
        facts: { found: SUPPORTED + 1, supported: SUPPORTED },
      })
    await server.sql(`update ${schema}.meta set value = 'x'`)
    expect(await codeOf(open)).toBe('STORE_CORRUPT')
  })

  it('refuses a schema without some of its tables', async () => {
    await open()
    await server.sql(`drop table ${schema}.audit`)
    expect(await codeOf(open)).toBe('NOT_A_STORE')
  })

  it('makes nothing for a read-only store', async () => {
    expect(await failureOf(() => open({ readonly: true, location: 'here' }))).toMatchObject({
      code: 'NOT_A_STORE',
      facts: { location: 'here' },
    })
    expect(await server.sql('select 1 from pg_namespace where nspname = $1', schema)).toEqual([])
  })

  const OTHERS = {
    'a table': 'create table SCHEMA.orders (id int)',
    'a table of the name of ours': 'create table SCHEMA.messages (id int)',
    'a table meta with other columns': 'create table SCHEMA.meta (key int, value text)',
    'a table meta with the same columns': 'create table SCHEMA.meta (key text, value text)',
    'a view': 'create view SCHEMA.v as select 1',
  }
  for (const [name, sql] of Object.entries(OTHERS)) {
    it(`refuses a schema of another program, with ${name}, and writes nothing`, async () => {
      await server.sql(`create schema ${schema}`)
      await server.sql(sql.replace('SCHEMA', schema))
      const before = await relations()
      for (const readonly of [false, true])
        expect(await codeOf(() => open({ readonly })), String(readonly)).toBe('NOT_A_STORE')
      expect(await relations()).toBe(before)
    })
  }

  it('adds its tables beside those of another program when told to', async () => {
    await server.sql(`create schema ${schema}`)
    await server.sql(`create table ${schema}.orders (id int)`)
    await open({ adopt: true })
    await open()
    expect(await version()).toBe(String(SUPPORTED))
  })

  it('adopts no schema with tables of the names of ours', async () => {
    await server.sql(`create schema ${schema}`)
    await server.sql(`create table ${schema}.messages (id int)`)
    expect(await codeOf(() => open({ adopt: true }))).toBe('NOT_A_STORE')
    expect(await relations()).toBe(1)
  })

  it('refuses a store whose guards are gone, changed or disabled', async () => {
    const damages = [
      'drop trigger audit_is_kept on SCHEMA.audit',
      'drop function SCHEMA.refuse() cascade',
      'alter table SCHEMA.contents disable trigger contents_are_written_once',
      'alter table SCHEMA.messages disable trigger all',
      'alter table SCHEMA.messages enable replica trigger messages_are_kept',
    ]
    for (const sql of damages) {
      schema = newSchema()
      await open()
      await server.sql(sql.replace('SCHEMA', schema))
      for (const readonly of [false, true])
        expect(await codeOf(() => open({ readonly })), sql).toBe('NOT_A_STORE')
    }
  })

  it('reports triggers of others on its tables', async () => {
    await open()
    await server.sql(
      `create trigger watch before insert on ${schema}.contents for each row execute function ${schema}.refuse('no')`,
    )
    const warnings: Error[] = []
    const listen = (warning: Error): unknown => warnings.push(warning)
    process.on('warning', listen)
    await open()
    await open()
    await new Promise((resolve) => setImmediate(resolve))
    process.off('warning', listen)
    expect(warnings).toMatchObject([
      { code: 'UNDERTEXT_TRIGGER', message: expect.stringContaining('"watch"') },
    ])
  })

  it('asks for no lock and changes nothing when the schema is complete', async () => {
    await open()
    const statements: string[] = []
    const connection = await server.driver.acquire()
    const query: typeof connection.query = (text, values) => {
      statements.push(text)
      return connection.query(text, values)
    }
    const watched = { acquire: async () => ({ query, release: () => {} }), end: async () => {} }
    await migrate(watched, { schema, readonly: false })
    connection.release(false)
    expect(statements.map((text) => text.slice(0, 6))).toEqual(['select', 'select', 'select'])
    expect(statements.join()).not.toContain('lock')
  })
})
