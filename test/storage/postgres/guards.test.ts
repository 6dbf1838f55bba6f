import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { guardReport } from '../../../src/storage/postgres/guards.ts'
import { migrate } from '../../../src/storage/postgres/migrate.ts'
import type { PostgresConnection } from '../../../src/storage/postgres/port.ts'
import { newSchema, SERVERS, type Server } from './servers.ts'

/* What a connection can and cannot do to the tables of PostgreSQL. */

const TABLES = ['messages', 'contents', 'compactions', 'replacements', 'blobs', 'audit']

/** A row in each table that is guarded: two messages, and the rest once. */
const ROWS = [
  `insert into messages (family, key, session, anchor, position, role, size_text, size_reasoning, size_calls, size_results,
     size_media, created_at) values (7, 2, 1, 1, 1, 1, 0, 0, 0, 0, 0, 5), (7, 4, 1, 2, 2, 0, 0, 0, 0, 0, 0, 6)`,
  `insert into contents (family, key, content) values (7, 2, '"a"'), (7, 4, '"b"')`,
  `insert into compactions (family, no, id, session, run, kind, status, trigger, coverage, tokens_before, tokens_after, created_at,
     changed_at, rank) values (7, 1, 'c', 1, 'r', 'condense', 'active', 'manual', '{"p":[[1,1]]}', 5, 2, 7, 7, 1)`,
  `insert into replacements (family, compaction, message, part, text, saved_text, saved_results, saved_media)
     values (7, 1, 2, 0, '""', 0, 0, 0)`,
  "insert into blobs (family, hash, reference_count, bytes) values (7, '\\x01', 1, '\\x02')",
  "insert into audit (family, no, session, event, at) values (7, 1, 1, 'created', 5)",
]

/** Each written-once column with another value. */
const WRITTEN_ONCE: Record<string, Record<string, string>> = {
  messages: {
    family: '8',
    key: 'key + 100',
    session: '2',
    anchor: '9',
    ordinal: 'ordinal + 100',
    position: 'position + 100',
    kind: '1',
    role: '1',
    flags: '1',
    id: "'x'",
    created_at: '0',
    idempotency_key: "'x'",
    inserted_by: '1',
  },
  contents: { family: '8', key: 'key + 100', content: `'"x"'`, metadata: "'{}'", blobs: "'[]'" },
  compactions: {
    family: '8',
    no: '2',
    id: "'x'",
    session: '2',
    run: "'x'",
    kind: "'truncate'",
    coverage: "'{}'",
    requires: "'[]'",
    created_at: '0',
  },
  replacements: { family: '8', compaction: '2', message: '4', part: '1', text: `'"x"'` },
  blobs: { family: '8', hash: "'\\x03'", bytes: "'\\x03'" },
  audit: {
    family: '8',
    no: '2',
    session: '2',
    event: "'x'",
    compaction: '1',
    run: "'x'",
    at: '0',
    actor: "'x'",
    detail: "'x'",
    position: '1',
  },
}

/** What the verbs change. */
const PERMITTED = [
  'update messages set condense_parent = 1, truncation_parent = 2, retired_by = 3, pinned = 1',
  "update messages set shown = '[[0,1]]', size_text = 1, size_reasoning = 1, size_calls = 1, size_results = 1, size_media = 1, tools = '[]'",
  "update compactions set status = 'undone', params = '{}', rows_hidden = 1, parts_replaced = 1, rows_inserted = 1, changed_at = 8, rank = 2",
  "update compactions set summarizer = 's', model = 'm', prompt_version = 'p', usage = '{}', cost = 0.5, error = 'e', turned = '[]', undone_with_run = 1",
  'update compactions set tokens_before = 6, tokens_after = 3',
  'update replacements set saved_text = 1, saved_reasoning = 1, saved_results = 1, saved_media = 1',
  'update blobs set reference_count = reference_count + 1',
  'update blobs set reference_count = 0',
  'delete from blobs where reference_count <= 0',
]

describe.each(SERVERS)('the guards of %s', (_, start) => {
  let server: Server
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
      "create trigger messages_are_kept before delete on messages for each row when (false) execute function refuse('messages are kept; purgeSession is the one way to remove them')",
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
    expect((await guardReport(connection, schema)).problems.changed).toHaveLength(18)
    await run(`create schema ${schema}_b`)
    await run(
      `create function ${schema}_b.refuse() returns trigger language plpgsql as 'begin return coalesce(new, old); end'`,
    )
    const theirs = newSchema()
    await migrate(server.driver, { schema: theirs, readonly: false })
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
