import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { guardReport } from '../../../src/storage/postgres/guards.ts'
import { migrate } from '../../../src/storage/postgres/migrate.ts'
import type { PostgresConnection } from '../../../src/storage/postgres/port.ts'
import { type Database, enginesOf, newSchema, postgresServer } from '../../support/postgres.ts'
import { PERMITTED, ROWS, TABLES, WRITTEN_ONCE } from './rows.ts'

/* What a connection can and cannot do to the tables of PostgreSQL. */

describe.each(enginesOf(await postgresServer()))('the guards of %s', (_, start) => {
  let server: Database
  let connection: PostgresConnection
  let schema: string
  const run = async (text: string): Promise<number> => (await connection.query(text, [])).count
  /** Begins a transaction with the permit of a purge. */
  const beginPurge = async (): Promise<void> => {
    await run('begin')
    await run("select set_config('undertext.purging', 'on', true)")
  }
  const dump = async (): Promise<unknown[]> => {
    const rows: unknown[] = []
    for (const table of TABLES)
      rows.push((await connection.query(`select * from ${table} order by 1, 2`, [])).rows)
    return rows
  }

  beforeAll(async () => {
    server = await start()
  })
  afterAll(() => server.stop())
  beforeEach(async () => {
    schema = newSchema()
    await migrate(server.driver, { schema, readonly: false })
    connection = await server.driver.acquire()
    await run(`set search_path = ${schema}`)
    for (const statement of ROWS) await run(statement)
    return async () => {
      await run('set search_path = public')
      connection.release(false)
    }
  })

  it('refuse every update of what is written once', async () => {
    const before = await dump()
    for (const [table, columns] of Object.entries(WRITTEN_ONCE)) {
      for (const [column, value] of Object.entries(columns)) {
        const sql = `update ${table} set ${column} = ${value} where family = 7`
        await expect(run(sql), sql).rejects.toMatchObject({ code: 'UT001', message: /^undertext: / })
      }
    }
    expect(await dump()).toEqual(before)
  })

  it('refuse an insert that turns into an update', async () => {
    const sql = `insert into contents (family, key, content) values (7, 2, '"x"') on conflict (family, key) do update set content = excluded.content`
    await expect(run(sql)).rejects.toMatchObject({ code: 'UT001' })
    const again = `insert into contents (family, key, content) values (7, 2, '"x"')`
    await expect(run(again)).rejects.toMatchObject({ code: '23505' })
  })

  it('refuse every delete and truncate, a truncate even while purging', async () => {
    const before = await dump()
    for (const table of TABLES) {
      for (const sql of [`delete from ${table}`, `truncate ${table}`, `truncate ${table}, names cascade`])
        await expect(run(sql), sql).rejects.toMatchObject({ code: 'UT001', message: /^undertext: / })
      await beginPurge()
      await expect(run(`truncate ${table}`)).rejects.toMatchObject({ code: 'UT001' })
      await run('rollback')
    }
    expect(await dump()).toEqual(before)
  })

  it('permit tags, figures and blobs that no message refers to', async () => {
    for (const sql of PERMITTED) expect(await run(sql), sql).toBeGreaterThan(0)
  })

  it('permit a purge, within its transaction alone', async () => {
    await beginPurge()
    for (const table of TABLES) expect(await run(`delete from ${table} where family = 7`)).toBeGreaterThan(0)
    await run('commit')
    for (const statement of ROWS) await run(statement)
    await expect(run('delete from contents')).rejects.toMatchObject({ code: 'UT001' })
    await run("select set_config('undertext.purging', 'off', false)")
    await expect(run('delete from contents')).rejects.toMatchObject({ code: 'UT001' })
  })

  it('do not permit a purge to change anything', async () => {
    await beginPurge()
    await expect(run(`update contents set content = '"x"'`)).rejects.toMatchObject({ code: 'UT001' })
    await run('rollback')
  })

  it('are reported as they are', async () => {
    const problems = { missing: [], changed: [], disabled: [], foreign: [] }
    expect(await guardReport(connection, schema)).toEqual({ kind: 'triggers', problems })
    await run('drop trigger audit_is_kept on audit')
    await run('alter table contents disable trigger contents_are_written_once')
    await run('alter table blobs enable always trigger blobs_are_kept')
    await run('drop trigger messages_are_kept on messages')
    await run(
      "create trigger messages_are_kept before delete on messages for each row when (false) execute function refuse('messages are kept; only sessions.purge removes them')",
    )
    await run("create trigger theirs before insert on messages for each row execute function refuse('no')")
    expect(await guardReport(connection, schema)).toEqual({
      kind: 'none',
      problems: {
        missing: ['audit_is_kept'],
        changed: ['messages_are_kept'],
        disabled: ['contents_are_written_once'],
        foreign: ['theirs'],
      },
    })
  })

  it('are changed when their function is, or another is called', async () => {
    await run(
      "create or replace function refuse() returns trigger language plpgsql as 'begin return coalesce(new, old); end'",
    )
    expect((await guardReport(connection, schema)).problems.changed).toHaveLength(25)
    await run(`create schema ${schema}_b`)
    await run(
      `create function ${schema}_b.refuse() returns trigger language plpgsql as 'begin return coalesce(new, old); end'`,
    )
    const theirs = newSchema()
    // A PGlite has one connection.
    connection.release(false)
    await migrate(server.driver, { schema: theirs, readonly: false })
    connection = await server.driver.acquire()
    await run(`drop trigger audit_is_kept on ${theirs}.audit`)
    await run(
      `create trigger audit_is_kept before delete on ${theirs}.audit for each row when (current_setting('undertext.purging', true) is distinct from 'on') execute function ${schema}_b.refuse('the audit is kept')`,
    )
    await run(`set search_path = ${schema}_b`)
    expect((await guardReport(connection, theirs)).problems.changed).toEqual(['audit_is_kept'])
  })

  it('do not hide a change behind a lost search path', async () => {
    await run("set search_path = ''")
    expect((await guardReport(connection, schema)).kind).toBe('triggers')
  })
})
