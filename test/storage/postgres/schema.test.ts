import { readFileSync } from 'node:fs'
import BetterSqlite3 from 'better-sqlite3'
import { getTableName, isTable, type Table } from 'drizzle-orm'
import { type PgTable, getTableConfig as postgresTable } from 'drizzle-orm/pg-core'
import { SQLiteTable, getTableConfig as sqliteTable } from 'drizzle-orm/sqlite-core'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { migrationsFile, migrationsModule } from '../../../migrations/embed.ts'
import { encodeCoverage } from '../../../src/core/model/coverage.ts'
import { openStore } from '../../../src/index.ts'
import { migrate } from '../../../src/storage/postgres/migrate.ts'
import * as postgres from '../../../src/storage/postgres/schema.ts'
import { MIGRATIONS as OF_SQLITE } from '../../../src/storage/sqlite/migrations.ts'
import * as sqlite from '../../../src/storage/sqlite/schema.ts'
import { call, result, say } from '../../support/conversation.ts'
import { type Database, enginesOf, newSchema, postgresServer } from '../../support/postgres.ts'

/* The tables of PostgreSQL beside those of SQLite. */

/** Tables of no family. */
const SHARED = ['calibrations', 'limits', 'meta']
/** Indexes for questions about all families. */
const ACROSS = [
  'compactions_summaries',
  'notes_id',
  'words_words',
  'sessions_added',
  'sessions_archived',
  'sessions_incarnation',
  'sessions_newest',
  'sessions_owner',
  'sessions_owner_archived',
  'sessions_owner_newest',
]

type Column = { readonly type: string; readonly notNull: boolean; readonly default: unknown }

const tablesOf = (schema: object): Table[] => Object.values(schema).filter((value) => isTable(value))

/** The columns of each table, by name; types as SQLite knows them. */
function columnsOf(schema: Record<string, unknown>): Record<string, Record<string, Column>> {
  const config = (table: unknown) =>
    table instanceof SQLiteTable ? sqliteTable(table) : postgresTable(table as PgTable)
  return Object.fromEntries(
    tablesOf(schema).map((table) => [
      getTableName(table).replace('undertext_', ''),
      Object.fromEntries(
        config(table).columns.map((column) => [
          column.name,
          { type: IN_SQLITE[column.getSQLType()]!, notNull: column.notNull, default: column.default },
        ]),
      ),
    ]),
  )
}

const IN_SQLITE: Record<string, string> = {
  text: 'text',
  integer: 'integer',
  smallint: 'integer',
  bigint: 'integer',
  real: 'real',
  'double precision': 'real',
  blob: 'blob',
  bytea: 'blob',
  tsvector: 'tsvector',
}

describe('the columns', () => {
  it('are those of SQLite, except the listed ones', () => {
    const expected = columnsOf(sqlite)
    const whole = { type: 'integer', notNull: true, default: undefined }
    for (const [name, columns] of Object.entries(expected)) if (!SHARED.includes(name)) columns.family = whole
    const counter = { ...whole, default: 0 }
    const lastWrite = { type: 'text', notNull: false, default: undefined }
    Object.assign(expected.sessions!, { compacted: counter, audited: counter, jobbed: counter })
    Object.assign(expected.sessions!, {
      last_write: lastWrite,
      added: { ...counter, default: expect.anything() },
      purged_no: counter,
    })
    // SQLite has a table of FTS5 instead.
    expected.words = {
      ...{ family: whole, session: whole, place: whole, part: whole },
      words: { type: 'tsvector', notNull: true, default: undefined },
      added: { ...whole, default: expect.anything() },
    }
    const id = { type: 'text', notNull: true, default: undefined }
    expected.names = { id, owner: { ...id, default: '' }, family: whole, session: whole }
    expect(columnsOf(postgres)).toEqual(expected)
  })

  it('hold JSON as text, and times, sizes and numbers in 64 bits', () => {
    const ofType = (type: string): string[] =>
      tablesOf(postgres).flatMap((table) =>
        postgresTable(table as PgTable)
          .columns.filter((column) => column.getSQLType() === type)
          .map((column) => `${getTableName(table)}.${column.name}`),
      )
    expect(ofType('json')).toEqual([])
    expect(ofType('jsonb')).toEqual([])
    expect([...ofType('integer'), ...ofType('smallint')].sort()).toEqual([
      'circuits.failures',
      'jobs.attempts',
      'messages.flags',
      'messages.kind',
      'messages.pinned',
      'messages.role',
      'replacements.part',
      'requests.renderer',
      'words.part',
    ])
  })
})

it('the migrations that are shipped are those of the folder: `npm run migrations` writes both', () => {
  expect(readFileSync(migrationsFile('postgres'), 'utf8')).toBe(migrationsModule('postgres'))
})

describe.each(enginesOf(await postgresServer()))('the tables in %s', (_, start) => {
  let server: Database
  const schema = newSchema()
  beforeAll(async () => {
    server = await start()
    await migrate(server.driver, { schema, readonly: false })
  })
  afterAll(() => server.stop())

  it('lead with the family in every key and index, except the listed ones', async () => {
    const rows = await server.sql(
      `select t.relname::text, i.relname::text, a.attname::text, x.indisunique::int from pg_index x
         join pg_class i on i.oid = x.indexrelid join pg_class t on t.oid = x.indrelid
         join pg_attribute a on a.attrelid = t.oid and a.attnum = x.indkey[0]
       where t.relnamespace = to_regnamespace($1) order by 2`,
      schema,
    )
    const other = rows.filter(([, , first]) => first !== 'family')
    expect(rows.length).toBeGreaterThan(35)
    expect(other.map(([, index]) => index)).toEqual(
      [...ACROSS, ...SHARED.map((name) => `${name}_pkey`), 'names_pkey'].sort(),
    )
    const unique = other.filter(([, , , isUnique]) => isUnique === 1).map(([table]) => table)
    expect(unique).toEqual([...SHARED, 'names'].sort())
  })

  it('have the indexes of SQLite, with the same conditions; the key of names replaces one of sessions', async () => {
    const database = new BetterSqlite3(':memory:')
    for (const statement of OF_SQLITE.flat()) database.exec(statement)
    const condition = (sql: string): string => /\bwhere (.*)$/is.exec(sql)?.[1] ?? ''
    const inSqlite = database
      .prepare(
        "select replace(name, 'undertext_', ''), sql from sqlite_master where type = 'index' and sql is not null and name <> 'undertext_sessions_unowned' order by 1",
      )
      .raw()
      .all() as [string, string][]
    const rows = (await server.sql(
      'select indexname::text, indexdef from pg_indexes where schemaname = $1 order by 1',
      schema,
    )) as [string, string][]
    // The server prints a condition in its own words.
    const plain = (text: string): string => text.replaceAll(/::text|[()\s]/g, '').toLowerCase()
    const found = new Map(rows.map(([name, sql]) => [name, plain(condition(sql))]))
    for (const [name, sql] of inSqlite)
      expect(found.get(name), name).toBe(
        plain(condition(sql)).replace("statein'queued','running'", "state=anyarray['queued','running']"),
      )
    expect(inSqlite.length).toBeGreaterThan(20)
  })

  it('list the newest sessions, and the rows of a view, in the order of an index', async () => {
    const visible = 'condense_parent is null and truncation_parent is null and retired_by is null'
    const newest = 'order by added desc, family desc, no desc limit 10'
    const older = '(newest_at, added, family, no) < (9, 9, 9, 9) and staged_by is null'
    const last = newest.replace('added', 'newest_at desc, added')
    const questions = {
      sessions_newest: `sessions where archived_at is null and ${older} ${last}`,
      sessions_archived: `sessions where archived_at is not null and ${older} ${last}`,
      sessions_owner_newest: `sessions where owner = 'a' and archived_at is null and ${older} ${last}`,
      sessions_owner_archived: `sessions where owner = 'a' and archived_at is not null and ${older} ${last}`,
      sessions_added: `sessions where (added, family, no) < (9, 9, 9) ${newest}`,
      sessions_owner: `sessions where owner = 'a' and (added, family, no) < (9, 9, 9) ${newest}`,
      visible: `messages where family = 1 and session = 1 and ${visible} order by anchor, ordinal`,
    }
    const connection = await server.driver.acquire()
    await connection.query('set enable_seqscan = off', [])
    await connection.query('set enable_bitmapscan = off', [])
    for (const [index, question] of Object.entries(questions)) {
      const { rows } = await connection.query(`explain (costs off) select * from ${schema}.${question}`, [])
      const plan = rows.join('\n')
      expect(plan).toMatch(new RegExp(`Index Scan (Backward )?using ${index} `))
      expect(plan).not.toContain('Sort')
    }
    await connection.query('reset all', [])
    connection.release(false)
  })

  it('have no statistics of texts, names and hashes, except of the listed columns', async () => {
    const rows = await server.sql(
      `select c.relname || '.' || a.attname from pg_attribute a join pg_class c on c.oid = a.attrelid
       where c.relnamespace = to_regnamespace($1) and c.relkind = 'r' and a.attnum > 0 and not a.attisdropped
         and a.atttypid in ('text'::regtype, 'bytea'::regtype, 'tsvector'::regtype) and a.attstattarget is distinct from 0
       order by 1`,
      schema,
    )
    const RANDOM = [
      ...['audit.run', 'compactions.copied_from', 'compactions.id', 'compactions.run'],
      ...['jobs.holder', 'jobs.id', 'jobs.run', 'notes.id'],
      ...[
        'sessions.incarnation',
        'sessions.last_write',
        'sessions.lease_holder',
        'sessions.lease_run',
        'turns.holder',
      ],
    ]
    const NUMBERS = ['compactions.coverage', 'messages.shown', 'operations.positions']
    const WORDS_OF_OURS = [
      ...['audit.event', 'compactions.kind', 'compactions.status', 'compactions.trigger', 'jobs.state'],
    ]
    const SETTINGS = [
      ...[
        'calibrations.estimator',
        'calibrations.model',
        'calibrations.provider',
        'compactions.prompt_version',
      ],
      ...[
        'compactions.summarizer',
        'limits.kind',
        'limits.model',
        'limits.provider',
        'measurements.estimator',
      ],
      ...['meta.key', 'meta.value', 'sessions.estimator'],
    ]
    expect(rows.map(([column]) => column)).toEqual(
      [...RANDOM, ...NUMBERS, ...WORDS_OF_OURS, ...SETTINGS].sort(),
    )
    const indexed = await server.sql(
      'select 1 from pg_index x join pg_class c on c.oid = x.indrelid where c.relnamespace = to_regnamespace($1) and x.indexprs is not null',
      schema,
    )
    expect(indexed).toEqual([])
  })

  it('show nothing of a purged session in the statistics of the planner', async () => {
    const own = newSchema()
    const driver = { acquire: () => server.driver.acquire(), end: async () => {} }
    const store = await openStore(driver, { schema: own, env: false })
    const named = async (text: string): Promise<unknown[]> =>
      (
        await server.sql(
          `select tablename::text || '.' || attname from pg_stats s where schemaname = $1 and strpos(s::text, $2) > 0`,
          own,
          text,
        )
      ).flat()
    // A value that is stored twice is a common one.
    for (const id of ['secret-a', 'secret-b']) {
      await store.sessions.create({
        id,
        owner: 'secret-owner',
        title: 'secret-title',
        metadata: { a: 'secret' },
      })
      for (let nth = 0; nth < 5; nth++)
        await store.append(id, [
          {
            ...say('user', `secret-text secretword ${nth}`),
            id: `secret-id-${nth}`,
            metadata: { b: 'secret' },
          },
          { ...call(`secret-call-${nth}`, 'secret-tool'), idempotencyKey: `secret-key-${nth}` },
          result(`secret-call-${nth}`, 'secret-output', 'secret-tool'),
        ])
      await store.compactSession(id, {
        range: { from: 1, to: 3 },
        summary: 'secret',
        reason: 'secret',
        actor: 'secret',
      })
      await store.rewind(id, { from: 'end', operationId: 'secret', append: [say('user', 'secret')] })
      await store.notes.add('secret', { session: id, key: 'secret', actor: 'secret' })
      await store.requests.recordUsage(id, {
        inputTokens: 5,
        outputTokens: 5,
        provider: 'secret-provider',
        model: 'secret',
      })
    }
    await store.search('secretword')
    await server.sql('analyze')
    for (const id of ['secret-a', 'secret-b']) await store.sessions.purge(id)
    expect(await named('secret')).toEqual([])
    expect(await server.sql('select 1 from pg_stats where schemaname = $1 limit 1', own)).toHaveLength(1)
    await store.close()
  })

  it('leave half of a page of sessions free', async () => {
    const [row] = await server.sql(
      'select reloptions::text from pg_class where oid = to_regclass($1)',
      `${schema}.sessions`,
    )
    expect(row![0]).toBe('{fillfactor=50}')
  })

  it('have the anchors that SQLite computes of a coverage', async () => {
    const database = new BetterSqlite3(':memory:')
    for (const statement of OF_SQLITE.flat()) database.exec(statement)
    const coverages = [...COVERAGES, ...fc.sample(RANDOM_COVERAGE, 200).map(encodeCoverage)]
    const figures = "('run', 'condense', 'active', 'manual', 0, 0, 0, 0, 0)"
    const columns = 'run, kind, status, trigger, tokens_before, tokens_after, created_at, changed_at, rank'
    const insert = database.prepare(
      `insert into undertext_compactions (no, id, session, coverage, ${columns}) values (?, ?, 1, ?, ${figures.slice(1)}`,
    )
    for (const [no, coverage] of coverages.entries()) {
      insert.run(no + 1, `c${no}`, coverage)
      await server.sql(
        `insert into ${schema}.compactions (family, no, id, session, coverage, ${columns}) values (1, $1, $2, 1, $3, ${figures.slice(1)}`,
        no + 1,
        `c${no}`,
        coverage,
      )
    }
    const asked = 'select coverage, first_anchor, last_anchor from'
    const inSqlite = database.prepare(`${asked} undertext_compactions order by no`).raw().all()
    const found = await server.sql(`${asked} ${schema}.compactions order by no`)
    expect(found).toEqual(inSqlite)
    expect(found.slice(0, 3).map(([, ...anchors]) => anchors)).toEqual([
      [1, 9],
      [2, 9],
      [3, 4],
    ])
  })
})

const COVERAGES = [
  '{"p":[[1,5],[7,9]],"i":[[9,1]]}',
  '{"p":[[4,5]],"i":[[2,1],[9,3]]}',
  '{"p":[[3,4]]}',
  '{"i":[[5,1]]}',
  '{"i":[[5,1],[8,2]],"b":{"p":[[1,20]]},"o":1}',
  '{}',
  '{"p":[]}',
  '{"p":[],"i":[]}',
  '{"p":[],"i":[[6,2]]}',
  '{"b":{"p":[[1,2]]},"w":1,"l":[1,2],"r":[3]}',
  ' {\n"p" : [ [ 2 , 3 ] ] } ',
  '{"p":[[1,9007199254740991]]}',
  '{"p":null,"i":[[3,1]]}',
  '{"p":[5]}',
  '[]',
  'null',
  '5',
  '"p"',
  '',
  'x',
  '{"p":[[1,5]',
  '{"p":[[1,5]]}}',
]

const rows = fc.record({
  positions: fc.array(fc.tuple(fc.nat(1_000), fc.nat(1_000))),
  inserted: fc.array(fc.record({ anchor: fc.nat(1_000), ordinal: fc.nat(50) })),
})
const RANDOM_COVERAGE = fc.record({
  hidden: rows,
  beside: rows,
  inserted: fc.constant(undefined),
  openCalls: fc.boolean(),
})
