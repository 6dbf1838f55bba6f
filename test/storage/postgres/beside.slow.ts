import { execFile } from 'node:child_process'
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import BetterSqlite3 from 'better-sqlite3'
import { eq } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/better-sqlite3'
import { integer, sqliteTable } from 'drizzle-orm/sqlite-core'
import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { openStore, type Role, type Store } from '../../../src/index.ts'
import * as undertext from '../../../src/storage/sqlite/schema.ts'
import { call, result, say } from '../../support/conversation.ts'
import { expectFailure, failureOf } from '../../support/failures.ts'
import { postgresServer } from '../../support/postgres.ts'
import { examplesOf, resolved } from '../../support/run-as-user.ts'
import { newFolder } from '../../support/temporary.ts'

/* An application with a schema of its own in the same database: drizzle-kit, foreign keys, and the examples of docs/beside.md. */

const run = promisify(execFile)
const REPOSITORY = join(import.meta.dirname, '..', '..', '..')
const server = await postgresServer()
const [CONFIG = '', SCHEMA = '', JOINS = '', RELATIONS = '', ALSO = '', ON_POSTGRES = ''] = examplesOf(
  readFileSync(join(REPOSITORY, 'docs', 'beside.md'), 'utf8'),
)

/** A folder of an application, with the packages and these files. */
function projectOf(files: Readonly<Record<string, string>>): string {
  const folder = newFolder()
  symlinkSync(join(REPOSITORY, 'node_modules'), join(folder, 'node_modules'))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), resolved(text))
  return folder
}

async function kit(folder: string, ...words: string[]): Promise<string> {
  const program = join(REPOSITORY, 'node_modules', 'drizzle-kit', 'bin.cjs')
  const both = await run(process.execPath, [program, ...words], { cwd: folder }).catch(
    (error: { stdout: string; stderr: string }) => error,
  )
  return both.stdout + both.stderr
}
const push = (folder: string): Promise<string> => kit(folder, 'push', '--force', '--verbose')

async function tsx(folder: string, file: string, env = {}): Promise<string> {
  const program = join(REPOSITORY, 'node_modules', 'tsx', 'dist', 'cli.mjs')
  const { PATH = '' } = process.env
  return (await run(process.execPath, [program, file], { cwd: folder, env: { PATH, ...env } })).stdout
}

function poolAt(connectionString: string): pg.Pool {
  const pool = new pg.Pool({ connectionString })
  // The server ends before the file's pools do when a test fails.
  return pool.on('error', () => {})
}

/** A store with rows in most of its tables. */
async function fill(store: Store): Promise<void> {
  await store.append('session-1', [
    say('user', 'Please read the file.'),
    call('c1', 'read'),
    result('c1', 'contents of the file'),
    say('assistant', 'It is short.'),
  ])
  await store.compactSession('session-1', { range: { from: 1, to: 3 }, summary: 'read a file' })
  await store.notes.add('short', { session: 'session-1' })
  await store.search('contents')
}

/** What is wrong with such a store. */
async function problemsOf(store: Store): Promise<unknown[]> {
  const { findings } = await store.sessions.verify('session-1')
  const { hits } = await store.search('contents')
  const view = await store.getEffectiveHistory('session-1')
  return [
    ...findings,
    ...(hits.length === 1 ? [] : ['the search index']),
    ...(view.length === 2 ? [] : ['the view']),
  ]
}

const MORE_COLUMNS = [
  'cents: integer().notNull()',
  "cents: integer().notNull(), currency: text().default('EUR')",
]
/** An application's table that drizzle-kit has to rebuild when it changes, and that is purged with its session. */
const MARKS = `
import { sessions } from 'undertext/schema'
export const marks = sqliteTable('marks', { no: integer().references(() => sessions.no, { onDelete: 'cascade' }) })`

describe('drizzle-kit beside a store in SQLite', { timeout: 180_000 }, () => {
  const ours = (path: string): unknown[] => {
    const database = new BetterSqlite3(path)
    const tables = database
      .prepare("select * from sqlite_schema where tbl_name like 'undertext%' order by name")
      .all()
    const counts = ['messages', 'contents', 'sessions', 'compactions', 'audit', 'words'].map((name) =>
      database.prepare(`select count(*) from undertext_${name}`).pluck().get(),
    )
    database.close()
    return [...tables, ...counts]
  }
  const withStore = async (files: Readonly<Record<string, string>>): Promise<[string, string]> => {
    const folder = projectOf(files)
    const path = join(folder, 'app.db')
    const store = await openStore(path)
    await fill(store)
    await store.close()
    return [folder, path]
  }

  it('with the filter, push creates and changes tables of the application and nothing else', async () => {
    const [folder, path] = await withStore({ 'drizzle.config.ts': CONFIG, 'schema.ts': SCHEMA + MARKS })
    const before = ours(path)
    expect(await push(folder)).toContain('Changes applied')
    expect(ours(path)).toEqual(before)

    const database = new BetterSqlite3(path)
    database.exec("insert into charges values ('session-1', 4, 7); insert into marks values (1)")
    database.close()
    const [old = '', now = ''] = MORE_COLUMNS
    expect(SCHEMA).toContain(old)
    const rebuilt = MARKS.replace('integer()', 'integer().notNull()')
    writeFileSync(join(folder, 'schema.ts'), resolved(SCHEMA.replace(old, now) + rebuilt))
    expect(await push(folder)).toContain('Changes applied')
    expect(await push(folder)).toContain('No changes detected')
    expect(ours(path)).toEqual(before)

    const store = await openStore(path)
    expect(await problemsOf(store)).toEqual([])
    const other = new BetterSqlite3(path)
    expect(other.prepare('select * from charges').all()).toEqual([
      { session: 'session-1', position: 4, cents: 7, currency: 'EUR' },
    ])
    expect(other.prepare('select * from marks').all()).toEqual([{ no: 1 }])
    await store.sessions.purge('session-1')
    expect(other.prepare('select * from marks').all()).toEqual([])
    other.close()
    await store.close()
  })

  it('with an open store and a connection of the application, push does the same', async () => {
    const [folder, path] = await withStore({ 'drizzle.config.ts': CONFIG, 'schema.ts': SCHEMA })
    const database = new BetterSqlite3(path)
    const store = await openStore(database)
    expect(await push(folder)).toContain('Changes applied')
    await store.append('session-1', [say('user', 'after the push')], {
      also: (client: BetterSqlite3.Database, [message]) =>
        client.prepare('insert into charges values (?, ?, 1)').run('session-1', message!.position),
    })
    expect(database.prepare('select position from charges').all()).toEqual([{ position: 5 }])
    await store.close()
    database.close()
  })

  it('without the filter, push drops the tables of the store', async () => {
    const [folder, path] = await withStore({
      'drizzle.config.ts': CONFIG.replace('...KIT_FILTER,', ''),
      'schema.ts': SCHEMA,
    })
    const database = new BetterSqlite3(path)
    // Otherwise it asks whether one of them was renamed.
    database.exec(
      'create table charges (session text not null, position integer not null, cents integer not null, primary key (session, position))',
    )
    await push(folder)
    expect(database.prepare("select 1 from sqlite_schema where name = 'undertext_messages'").get()).toBe(
      undefined,
    )
    database.close()
  })

  it('generate writes tables of the application only, unless the schema exports those of undertext', async () => {
    const [folder, path] = await withStore({
      'drizzle.config.ts': CONFIG,
      'schema.ts': SCHEMA + MARKS,
      'both.ts': `${SCHEMA}\nexport { messages } from 'undertext/schema'`,
    })
    await kit(folder, 'generate', '--name', 'first')
    const sql = readFileSync(join(folder, 'drizzle', '0000_first.sql'), 'utf8')
    expect([...sql.matchAll(/CREATE TABLE `(\w+)`/g)].map(([, name]) => name)).toEqual(['charges', 'marks'])

    const before = ours(path)
    writeFileSync(join(folder, 'drizzle.config.ts'), resolved(CONFIG.replace('schema.ts', 'both.ts')))
    expect(await push(folder)).toContain('already exists')
    expect(ours(path)).toEqual(before)
  })

  it('a foreign key without cascade keeps a session from being purged', async () => {
    const [, path] = await withStore({})
    const database = new BetterSqlite3(path)
    database.exec(
      'create table mine (no integer references undertext_sessions (no)); insert into mine values (1)',
    )
    const store = await openStore(path)
    const error = await failureOf(() => store.sessions.purge('session-1'))
    expectFailure(error, 'STORE_UNAVAILABLE')
    expect(String(error)).toContain('rows of another program refer to these')
    expect(await problemsOf(store)).toEqual([])
    database.exec('delete from mine')
    await store.sessions.purge('session-1')
    await store.close()
    database.close()
  })

  it('a purge keeps the rows that refer to other sessions, although it rewrites the tables', async () => {
    const [, path] = await withStore({})
    const database = new BetterSqlite3(path)
    const store = await openStore(database)
    await store.append('session-2', [say('user', 'two')])
    database.exec(`create table mine (no integer references undertext_sessions (no) on delete cascade);
      insert into mine values (1), (2)`)
    expect(await store.sessions.purge('session-2')).not.toHaveProperty('filesCleared')
    expect(database.prepare('select no from mine').pluck().all()).toEqual([1])
    expect(database.pragma('foreign_keys', { simple: true })).toBe(1)
    expect((await store.sessions.verify('session-1')).findings).toEqual([])
    await store.close()
    database.close()
  })

  it('a process that dies in the function leaves neither messages nor rows', async () => {
    const [folder, path] = await withStore({
      'die.ts': `import { openStore } from 'undertext'
        const store = await openStore('app.db', { adopt: true })
        await store.append('session-1', [{ role: 'user', content: 'lost' }], {
          also: (client) => {
            client.prepare('insert into mine values (1)').run()
            process.kill(process.pid, 'SIGKILL')
            for (;;) {}
          },
        })`,
    })
    const database = new BetterSqlite3(path)
    database.exec('create table mine (no integer)')
    await expect(tsx(folder, 'die.ts')).rejects.toThrow()
    expect(database.prepare('select * from mine').all()).toEqual([])
    const store = await openStore(path)
    expect(await problemsOf(store)).toEqual([])
    expect((await store.sessions.get('session-1')).messageCount).toBe(4)
    await store.close()
    database.close()
  })

  it('relations of every table can be read, beside a table of the same name', async () => {
    const [, path] = await withStore({})
    const store = await openStore(path)
    await store.sessions.fork('session-1', { id: 'fork' })
    const request = await store.prepareRequest('session-1', { prompt: 'next' })
    await store.recordResponse('session-1', { request, messages: [say('assistant', 'answer')] })
    await store.close()
    const mine = sqliteTable('sessions', { token: integer() })
    const db = drizzle(new BetterSqlite3(path), {
      schema: { ...undertext, sessions: mine, chats: undertext.sessions },
    })
    const chats = db.query.chats
      .findMany({
        columns: { id: true },
        with: {
          origin: { columns: { id: true } },
          forks: { columns: { id: true } },
          rows: {
            orderBy: ({ position }) => position,
            columns: { kind: true, role: true, position: true },
            with: {
              content: { columns: { content: true } },
              sourceContent: { columns: { content: true } },
              insertion: { columns: { kind: true } },
              condensation: { columns: { kind: true } },
            },
          },
          compactions: { columns: { kind: true }, with: { inserted: true, condensed: true } },
          notes: { columns: { text: true } },
          requests: { columns: { no: true, position: true } },
          audit: { columns: { event: true }, with: { ofCompaction: { columns: { status: true } } } },
        },
      })
      .sync()
    const [first, fork] = chats
    expect(first).toMatchObject({
      id: 'session-1',
      origin: null,
      forks: [{ id: 'fork' }],
      notes: [{ text: '"short"' }],
      requests: [{ no: 1, position: 4 }],
    })
    const [summary, ...log] = first!.rows
    const roles: readonly Role[] = log.map(({ role }) => role)
    expect(new Set(roles)).toEqual(new Set(['user', 'assistant', 'tool']))
    const ofUsers = db.select().from(undertext.messages).where(eq(undertext.messages.role, 'user')).all()
    expect(ofUsers.map(({ kind }) => kind)).toEqual(['message', 'message', 'message'])
    // @ts-expect-error a word that isn't a role
    expect(db.select().from(undertext.messages).where(eq(undertext.messages.role, 'model')).all()).toEqual([])
    // @ts-expect-error a relation that doesn't exist
    expect(() => db.query.chats.findMany({ with: { messages: true } }).sync()).toThrow()
    expect(log.map(({ kind, role }) => `${kind} ${role}`)).toEqual([
      'message user',
      'message assistant',
      'message tool',
      'message assistant',
      'message user',
      'message assistant',
    ])
    expect(log[0]).toMatchObject({
      content: { content: '"Please read the file."' },
      condensation: { kind: 'condense' },
      insertion: null,
    })
    expect(summary).toMatchObject({
      ...{ kind: 'summary', position: null, insertion: { kind: 'condense' } },
      content: { content: '"read a file"' },
    })
    expect(first!.compactions[0]).toMatchObject({ inserted: [{ kind: 'summary' }] })
    expect(first!.compactions[0]!.condensed).toHaveLength(3)
    expect(first!.audit[0]).toMatchObject({ ofCompaction: { status: 'active' } })
    expect(fork).toMatchObject({ id: 'fork', origin: { id: 'session-1' } })
    expect(fork!.rows.find(({ position }) => position === 1)).toMatchObject({
      content: null,
      sourceContent: { content: '"Please read the file."' },
    })
  })

  it('the examples of the page run', async () => {
    const [folder, path] = await withStore({
      'drizzle.config.ts': CONFIG,
      'schema.ts': SCHEMA,
      'example.ts': `${JOINS}\n${RELATIONS}\n${ALSO}
        console.log(JSON.stringify(costs))
        console.log(found[0]!.rows.length, found[0]!.rows[0]!.content!.content)
        console.log(JSON.stringify(db.select().from(charges).all()))`,
    })
    await push(folder)
    const database = new BetterSqlite3(path)
    database.exec("insert into charges values ('session-1', 4, 7)")
    database.close()
    expect((await tsx(folder, 'example.ts')).trim().split('\n')).toEqual([
      '[{"title":null,"role":"assistant","position":4,"cents":7}]',
      '5 "read a file"',
      '[{"session":"session-1","position":4,"cents":7},{"session":"session-1","position":5,"cents":3}]',
    ])
  })
})

describe.skipIf(server === undefined)(
  'drizzle-kit beside a store in PostgreSQL',
  { timeout: 180_000 },
  () => {
    const CONFIG_OF = (url: string): string =>
      CONFIG.replace("'sqlite'", "'postgresql'")
        .replace("'app.db'", JSON.stringify(url))
        .replace('undertext/schema', 'undertext/schema/postgres')
    /** The role of the tests has the name of undertext's schema, which is therefore first in its search path. */
    const newUrl = async (): Promise<string> =>
      `${await server!.newDatabase()}?options=${encodeURIComponent('-c search_path=public')}`
    const SCHEMA_OF = /export|const charges[\s\S]*?\}\)\n/.exec(ON_POSTGRES)![0]
    const FILE = `import { bigint, foreignKey, integer, pgTable, text } from 'drizzle-orm/pg-core'
    import { sessions } from 'undertext/schema/postgres'
    export ${SCHEMA_OF}
    export const marks = pgTable('marks', { family: bigint({ mode: 'number' }), no: bigint({ mode: 'number' }) }, (table) => [
      foreignKey({ columns: [table.family, table.no], foreignColumns: [sessions.family, sessions.no] }).onDelete('cascade')])`

    it('with the filter, push creates and changes tables of the application and nothing else', async () => {
      const url = await newUrl()
      const pool = poolAt(url)
      const store = await openStore(pool)
      await fill(store)
      const ours = async (): Promise<unknown[]> => {
        const { rows } =
          await pool.query(`select c.relname, c.relkind, c.oid::int, (select count(*)::int from pg_trigger t
        where t.tgrelid = c.oid and not t.tgisinternal) as triggers from pg_class c
        where c.relnamespace = to_regnamespace('undertext') order by 1`)
        return rows
      }
      const before = await ours()
      expect(before.length).toBeGreaterThan(50)
      const folder = projectOf({ 'drizzle.config.ts': CONFIG_OF(url), 'schema.ts': FILE })
      expect(await push(folder)).toContain('Changes applied')
      await pool.query('insert into marks select family, no from undertext.sessions')
      writeFileSync(join(folder, 'schema.ts'), resolved(FILE.replace(MORE_COLUMNS[0]!, MORE_COLUMNS[1]!)))
      expect(await push(folder)).toContain('Changes applied')
      expect(await push(folder)).toContain('No changes detected')
      expect(await ours()).toEqual(before)
      expect(await problemsOf(store)).toEqual([])

      writeFileSync(
        join(folder, 'example.ts'),
        resolved(ON_POSTGRES.replace('pg.Pool({', 'pg.Pool({ max: 3,')),
      )
      writeFileSync(join(folder, 'run.ts'), "await import('./example.ts'); process.exit(0)")
      await tsx(folder, 'run.ts', { DATABASE_URL: url })
      expect((await pool.query('select * from charges')).rows).toEqual([
        { session: 'session-1', position: '5', cents: 3, currency: 'EUR' },
      ])

      await store.sessions.purge('session-1')
      expect((await pool.query('select * from marks')).rows).toEqual([])
      await store.close()
      await pool.end()
    })

    it('with undertext in the filter, push drops its tables', async () => {
      const url = await newUrl()
      const pool = poolAt(url)
      const store = await openStore(pool)
      await fill(store)
      const config = CONFIG_OF(url).replace('...KIT_FILTER', "schemaFilter: ['public', 'undertext']")
      const folder = projectOf({
        'drizzle.config.ts': config,
        'schema.ts':
          "import { pgTable, text } from 'drizzle-orm/pg-core'\nexport const mine = pgTable('mine', { a: text() })",
      })
      await pool.query('create table mine (a text)')
      await push(folder)
      expect((await pool.query("select to_regclass('undertext.messages') as found")).rows).toEqual([
        { found: null },
      ])
      await pool.end()
    })

    it('a foreign key without cascade keeps a session from being purged', async () => {
      const pool = poolAt(await server!.newDatabase())
      const store = await openStore(pool)
      await fill(store)
      await pool.query(`create table mine (family bigint, no bigint, foreign key (family, no) references undertext.sessions);
      insert into mine select family, no from undertext.sessions`)
      const error = await failureOf(() => store.sessions.purge('session-1'))
      expectFailure(error, 'STORE_UNAVAILABLE')
      expect(String(error)).toContain('rows of another program refer to these')
      expect(await problemsOf(store)).toEqual([])
      await pool.end()
    })
  },
)
