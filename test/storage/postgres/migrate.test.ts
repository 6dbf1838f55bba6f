import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { openStore } from '../../../src/index.ts'
import { migrate, statementsFor } from '../../../src/storage/postgres/migrate.ts'
import { MIGRATIONS } from '../../../src/storage/postgres/migrations.ts'
import { failureOf } from '../../support/failures.ts'
import { type Database, enginesOf, newSchema, postgresServer } from '../../support/postgres.ts'
import { formerTools, imageFigures, MEDIA_SIZES, storeImages } from '../media-story.ts'
import { ROWS } from './rows.ts'

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

  it('continues from every older version', async () => {
    // The first migration makes functions only.
    for (let versions = 2; versions < SUPPORTED; versions++) {
      schema = newSchema()
      await server.sql(`create schema ${schema}`)
      for (const statement of statementsFor(schema, MIGRATIONS.slice(0, versions)))
        await server.sql(statement)
      await server.sql(`insert into ${schema}.meta values ('schema', '${versions}')`)
      expect(await codeOf(() => open({ readonly: true }))).toBe('STORE_TOO_OLD')
      await open()
      expect(await version()).toBe(String(SUPPORTED))
      await open({ readonly: true })
    }
  })

  it('removes the statistics of texts that earlier versions left, and keeps the guards', async () => {
    const before = MIGRATIONS.findIndex((migration) =>
      migration.some((text) => text.includes('SET STATISTICS 0')),
    )
    await server.sql(`create schema ${schema}`)
    for (const statement of statementsFor(schema, MIGRATIONS.slice(0, before))) await server.sql(statement)
    await server.sql(`insert into ${schema}.meta values ('schema', '${before}')`)
    await server.sql(`create policy by_owner on ${schema}.sessions using (owner = current_user)`)
    const connection = await server.driver.acquire()
    await connection.query(`set search_path = ${schema}`, [])
    for (const statement of ROWS) await connection.query(statement, [])
    await connection.query('reset search_path', [])
    connection.release(false)
    await server.sql('analyze')
    const sampled = async (): Promise<unknown[]> =>
      (
        await server.sql(
          `select s.tablename || '.' || s.attname from pg_stats s join pg_attribute a on a.attrelid = to_regclass($1 || '.' || s.tablename)
             and a.attname = s.attname
           where s.schemaname = $1 and (a.attstattarget = 0 or (s.tablename, s.attname) in (('contents', 'content'), ('notes', 'text')))`,
          schema,
        )
      ).flat()
    expect(await sampled()).toHaveLength(2)
    await open()
    expect(await sampled()).toEqual([])
    await server.sql('analyze')
    expect(await sampled()).toEqual([])
    expect(await server.sql(`select content from ${schema}.contents order by key`)).toEqual([
      ['"a"'],
      ['"b"'],
    ])
    await open({ readonly: true })
  })

  it.each([7, 8])('counts the images of a store of version %i when it is opened', async (versions) => {
    const options = { schema, estimator: 'neurolink' }
    const connections = { acquire: () => server.driver.acquire(), end: async () => {} }
    const made = await openStore(connections, options)
    await storeImages(made)
    const figures = await imageFigures(made)
    await made.close()
    for (const size of versions < 8 ? MEDIA_SIZES : ['large']) {
      for (const table of ['messages', 'sessions'])
        await server.sql(`alter table ${schema}.${table} drop column size_${size}`)
      await server.sql(`alter table ${schema}.replacements drop column saved_${size}`)
    }
    const rows = await server.sql(`select family, key, tools from ${schema}.messages where tools is not null`)
    if (versions < 8)
      for (const [family, key, tools] of rows)
        await server.sql(
          `update ${schema}.messages set tools = $1 where family = $2 and key = $3`,
          formerTools(tools as string),
          family,
          key,
        )
    await server.sql(`update ${schema}.meta set value = '${versions}' where key = 'schema'`)
    const store = await openStore(connections, options)
    expect(await imageFigures(store)).toEqual(figures)
    expect(await server.sql(`select 1 from ${schema}.meta where key = 'uncounted media'`)).toEqual([])
    await store.close()
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
    await server.sql(`update ${schema}.meta set value = '2'`)
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
