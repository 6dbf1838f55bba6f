import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openStore, type Store } from '../../../src/index.ts'
import { fromUrl } from '../../../src/storage/postgres/drivers.ts'
import { guardReport } from '../../../src/storage/postgres/guards.ts'
import { migrate } from '../../../src/storage/postgres/migrate.ts'
import type { PostgresDriver } from '../../../src/storage/postgres/port.ts'
import { KEY_OF_CONTENT } from '../../../src/storage/sql/view.ts'
import { call, result, say, units } from '../../support/conversation.ts'
import { failureOf } from '../../support/failures.ts'
import { beNext, beNow } from '../../support/next-version.ts'
import { type Database, databaseOn, postgresServer, query } from '../../support/postgres.ts'
import { PERMITTED, ROWS, TABLES, WRITTEN_ONCE } from './rows.ts'

/* The rights that docs/postgres-roles.sql gives to the role of an application. */

const [, basic = '', purging = '', byOwner = ''] = readFileSync(
  join(import.meta.dirname, '../../../docs/postgres-roles.sql'),
  'utf8',
).split(/^-- \d\. /m)
/** A section begins within a comment. */
const script = (section: string): string => `-- ${section}`

const installed = await postgresServer()

describe.skipIf(installed === undefined)('a role of PostgreSQL', () => {
  let server: Database
  let app: PostgresDriver
  const as = async (driver: PostgresDriver, text: string): Promise<number> => {
    const connection = await driver.acquire()
    try {
      await connection.query('set search_path = undertext', [])
      return (await connection.query(text, [])).count
    } finally {
      connection.release(false)
    }
  }

  const urlAs = (role: string): string => {
    const url = new URL(server.url!)
    url.username = url.password = role
    return url.href
  }
  const driverAs = (role: string): Promise<PostgresDriver> => fromUrl(urlAs(role))

  beforeEach(async () => {
    server = await databaseOn(installed!)
    await migrate(server.driver, { schema: 'undertext', readonly: false })
    await query(server.url!, script(basic))
    await server.sql("create role app login password 'app' in role undertext_app")
    app = await driverAs('app')
  })
  afterEach(async () => {
    await app.end()
    // Roles belong to the whole server.
    for (const role of ['app', 'someone', 'stranger', 'undertext_app'])
      await query(server.url!, `drop owned by ${role}`, `drop role ${role}`).catch(() => {})
    await server.stop()
  })

  it('opens a complete store, and makes none', async () => {
    await migrate(app, { schema: 'undertext', readonly: false })
    await expect(migrate(app, { schema: 'other', readonly: false })).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
    })
    beNext('postgres')
    try {
      await expect(migrate(app, { schema: 'undertext', readonly: false })).rejects.toMatchObject({
        code: 'STORE_UNAVAILABLE',
      })
    } finally {
      beNow('postgres')
    }
  })

  it('that may not even use the schema is told so', async () => {
    await server.sql("create role stranger login password 'stranger'")
    const stranger = await driverAs('stranger')
    await expect(migrate(stranger, { schema: 'undertext', readonly: true })).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
    })
    await stranger.end()
  })

  it('changes and removes nothing that is written once, even without triggers', async () => {
    await query(server.url!, DROP_TRIGGERS)
    for (const statement of ROWS) await as(app, statement)
    const report = async (driver: PostgresDriver): Promise<string> => {
      const connection = await driver.acquire()
      const { kind } = await guardReport(connection, 'undertext')
      connection.release(false)
      return kind
    }
    expect([await report(app), await report(server.driver)]).toEqual(['privileges', 'none'])
    await migrate(app, { schema: 'undertext', readonly: false })
    await expect(migrate(server.driver, { schema: 'undertext', readonly: false })).rejects.toMatchObject({
      code: 'NOT_A_STORE',
    })
    for (const [table, columns] of Object.entries(WRITTEN_ONCE)) {
      for (const [column, value] of Object.entries(columns)) {
        const sql = `update ${table} set ${column} = ${value}`
        await expect(as(app, sql), sql).rejects.toMatchObject({ code: '42501' })
      }
    }
    for (const table of TABLES) {
      for (const sql of [`delete from ${table}`, `truncate ${table}`])
        await expect(as(app, sql), sql).rejects.toMatchObject({ code: '42501' })
    }
    const taggings = PERMITTED.filter((sql) => !sql.startsWith('delete'))
    for (const sql of taggings) expect(await as(app, sql), sql).toBeGreaterThan(0)
  })

  it('that may delete is no guard without triggers', async () => {
    await query(server.url!, script(purging))
    await migrate(app, { schema: 'undertext', readonly: false })
    for (const statement of ROWS) await as(app, statement)
    await expect(as(app, 'delete from contents')).rejects.toMatchObject({ code: 'UT001' })
    await query(server.url!, DROP_TRIGGERS)
    await expect(migrate(app, { schema: 'undertext', readonly: false })).rejects.toMatchObject({
      code: 'NOT_A_STORE',
    })
  })

  it('sees its own sessions, with row-level security', async () => {
    await query(server.url!, script(byOwner))
    await server.sql("create role someone login password 'someone' in role undertext_app")
    const someone = await driverAs('someone')
    for (const [driver, owner, family] of [
      [app, 'app', 7],
      [someone, 'someone', 8],
    ] as const) {
      await as(
        driver,
        `insert into sessions (family, no, id, owner, incarnation, estimator, created_at, updated_at) values (${family}, 1, '${owner}', '${owner}', 'i', 'e', 1, 1)`,
      )
      for (const statement of ROWS) await as(driver, statement.replaceAll('(7,', `(${family},`))
    }
    for (const table of ['sessions', ...TABLES]) {
      const rows = table === 'messages' || table === 'contents' ? 2 : 1
      expect(await as(app, `select * from ${table}`), table).toBe(rows)
      expect(await as(server.driver, `select * from ${table}`), table).toBe(2 * rows)
    }
    expect(await as(app, 'update messages set pinned = 1 where family = 8')).toBe(0)
    await expect(as(app, "update sessions set owner = 'someone'")).rejects.toMatchObject({ code: '42501' })
    await someone.end()
  })

  it('keeps a fork of another owner whole, and its contents apart, with row-level security', async () => {
    await query(server.url!, script(purging), script(byOwner))
    await server.sql("create role someone login password 'someone' in role undertext_app")
    const [root, mine, theirs] = await Promise.all(
      [server.url!, urlAs('app'), urlAs('someone')].map((url) => openStore(url, { env: false })),
    )
    await root!.sessions.create({ id: 'origin', owner: 'app' })
    await mine!.append('origin', [say('user', 'template'), say('assistant', 'yes')])
    await root!.sessions.fork('origin', { id: 'fork' })
    await root!.sessions.update('fork', { owner: 'someone' })
    await theirs!.append('fork', [say('user', 'theirs alone')])

    const texts = ['template', 'yes', 'theirs alone']
    const contentsOf = async (store: Store): Promise<unknown[]> =>
      (await store.getMessages('fork')).map(({ content }) => content)
    expect(await contentsOf(theirs!)).toEqual(texts)
    expect(await theirs!.getEffectiveHistory('fork')).toHaveLength(3)
    expect((await theirs!.sessions.verify('fork')).findings).toEqual([])
    expect(await as(app, 'select 1 from contents')).toBe(2)

    await expect(mine!.sessions.purge('origin')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    expect(await contentsOf(root!)).toEqual(texts)
    expect(await mine!.getMessages('origin')).toHaveLength(2)
    // Each owner has ids of its own.
    await mine!.sessions.create({ id: 'fork', owner: 'app' })
    expect(await mine!.getMessages('fork')).toEqual([])
    expect(await contentsOf(theirs!)).toEqual(texts)

    await root!.sessions.purge('origin', { forks: 'keep' })
    expect(await contentsOf(theirs!)).toEqual(texts)
    await theirs!.sessions.purge('fork')
    expect(await server.sql('select 1 from undertext.contents')).toEqual([])
    for (const store of [root, mine, theirs]) await store!.close()
  })

  it('sees of a fork of another owner only the contents and texts that its own session uses, with row-level security', async () => {
    // A later version of the script replaces the policies: to run it again changes nothing.
    for (let times = 0; times < 2; times++)
      await query(server.url!, script(basic), script(purging), script(byOwner))
    await server.sql("create role someone login password 'someone' in role undertext_app")
    const [root, mine, theirs] = await Promise.all(
      [server.url!, urlAs('app'), urlAs('someone')].map((url) => openStore(url, { env: false })),
    )
    /** A pruned result with a long placeholder, and a summary. */
    const compacted = async (store: Store, id: string, text: string): Promise<void> => {
      await store.append(id, [
        say('user', text),
        call(text, 'read'),
        result(text, units(3_000), 'read'),
        say('user', text),
      ])
      await store.compactSession(id, {
        ...{ enableDeduplicate: false, enableSummarize: false, enableTruncate: false, targetTokens: 0 },
        ...{
          pruneProtectTokens: 0,
          pruneMinimumSavings: 0,
          prunePlaceholder: `placeholder ${text} ${units(50)}`,
        },
      })
      const [first] = await store.getMessages(id, { limit: 1 })
      await store.compactSession(id, {
        range: { from: first!.position!, to: first!.position! },
        summary: `summary ${text}`,
        reason: text,
      })
    }
    await root!.sessions.create({ id: 'origin', owner: 'app' })
    await compacted(mine!, 'origin', 'shared')
    await mine!.notes.add('note of mine', { session: 'origin' })
    await root!.sessions.fork('origin', { id: 'fork' })
    await root!.sessions.update('fork', { owner: 'someone' })
    await theirs!.append('fork', [say('user', 'alone theirs')])
    await theirs!.notes.add('note of theirs', { session: 'fork' })
    await compacted(mine!, 'origin', 'alone mine')

    for (const id of ['origin', 'fork']) {
      const [own, other] = id === 'origin' ? [mine!, theirs!] : [theirs!, mine!]
      expect(await own.getEffectiveHistory(id)).toEqual(await root!.getEffectiveHistory(id))
      expect((await own.sessions.verify(id)).findings).toEqual([])
      expect(await other.sessions.get(id).catch((error) => error.code)).toBe('SESSION_NOT_FOUND')
    }
    const seen = async (driver: PostgresDriver, condition: string): Promise<string[]> => {
      const found: string[] = []
      for (const table of ['messages', 'compactions', 'audit', 'notes', 'words', 'searched', 'names'])
        if ((await as(driver, `select 1 from ${table} where session = ${condition}`)) > 0) found.push(table)
      for (const [table, key] of [
        ['contents', 'key'],
        ['replacements', 'compaction'],
      ] as const)
        if ((await as(driver, `select 1 from ${table} where (${key} >> 34) + 1 = ${condition}`)) > 0)
          found.push(table)
      return found
    }
    const someone = await driverAs('someone')
    const [[origin], [fork]] = (await server.sql('select no from undertext.sessions order by no')) as [
      [number],
      [number],
    ]
    expect(await seen(app, String(fork))).toEqual([])
    expect(await seen(app, '0')).toEqual([])
    expect(await seen(someone, String(origin))).toEqual(['contents', 'replacements'])
    expect(await as(someone, "select 1 from contents where content like '%alone mine%'")).toBe(0)
    expect(await as(someone, "select 1 from replacements where text like '%alone mine%'")).toBe(0)
    expect(await as(someone, "select 1 from replacements where text like '%placeholder shared%'")).toBe(1)

    // An expression that the planner takes for leaking would read all contents of the family for each row.
    const plan = await query(
      urlAs('app'),
      'set search_path = undertext',
      'set enable_seqscan = off',
      `explain select c.content from messages m
         cross join lateral (select * from contents c where c.family = 1 and c.key = ${KEY_OF_CONTENT} offset 0) c
       where m.family = 1 and m.session = 1`,
    )
    expect(plan.join('\n')).toMatch(/Index Cond: \(\(family = \S+\) AND \(key = CASE/)

    // What a role could do with the permit of a purge.
    for (const table of ['contents', 'replacements']) {
      const statements = ['begin', "set local undertext.purging = 'on'", `delete from undertext.${table}`]
      expect(await failureOf(() => query(urlAs('app'), ...statements)), table).toMatchObject({
        code: 'UT002',
      })
    }
    expect(await contentsAndView(theirs!, 'fork')).toEqual(await contentsAndView(root!, 'fork'))

    // The number of the other's fork is taken, though it is not visible.
    await mine!.sessions.fork('origin', { id: 'second' })
    expect((await mine!.sessions.verify('second')).findings).toEqual([])
    await mine!.sessions.purge('second')
    await mine!.sessions.create({ id: 'second', owner: 'app' })

    await root!.sessions.purge('origin', { forks: 'keep' })
    expect((await theirs!.sessions.verify('fork')).findings).toEqual([])
    await theirs!.sessions.purge('fork')
    const left = ['names', 'contents', 'replacements', 'blobs'].map(
      (table) => `(select count(*) from undertext.${table})::int`,
    )
    expect(await server.sql(`select ${left}`)).toEqual([[1, 0, 0, 0]])
    for (const store of [root, mine, theirs]) await store!.close()
    await someone.end()
  })
})

async function contentsAndView(store: Store, id: string): Promise<unknown> {
  return [(await store.getMessages(id)).map(({ content }) => content), await store.getEffectiveHistory(id)]
}

const DROP_TRIGGERS = `do $$ declare one record; begin
  for one in select tgname, tgrelid::regclass as of from pg_trigger where not tgisinternal loop
    execute format('drop trigger %I on %s', one.tgname, one.of); end loop; end $$`
