import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import BetterSqlite3 from 'better-sqlite3'
import { beforeEach, expect, test } from 'vitest'
import { migrationsFile, migrationsModule } from '../../migrations/embed.ts'
import { openStore } from '../../src/index.ts'
import { chat } from '../support/conversation.ts'
import { newFolder } from '../support/temporary.ts'

/*
 * Files of older versions of the schema: built by their own migrations, filled by their own columns, opened by this version.
 */

const MIGRATIONS = fileURLToPath(new URL('../../migrations/sqlite', import.meta.url))
const { entries } = JSON.parse(readFileSync(join(MIGRATIONS, 'meta', '_journal.json'), 'utf8')) as {
  readonly entries: readonly { readonly idx: number; readonly tag: string }[]
}

let folder: string
beforeEach(() => {
  folder = newFolder()
})

/** An empty file of the schema's first `versions` migrations. */
function fileOf(versions: number): { readonly file: string; readonly database: BetterSqlite3.Database } {
  const file = join(folder, `version-${versions}.db`)
  const database = new BetterSqlite3(file)
  database.pragma('journal_mode = WAL')
  for (const { tag } of entries.slice(0, versions))
    database.exec(readFileSync(join(MIGRATIONS, `${tag}.sql`), 'utf8'))
  database.prepare("insert into undertext_meta (key, value) values ('schema', ?)").run(String(versions))
  return { file, database }
}

test('the migrations that are shipped are those of the folder: `npm run migrations` writes both', () => {
  expect(readFileSync(migrationsFile('sqlite'), 'utf8')).toBe(migrationsModule('sqlite'))
})

test('a file of every older version is migrated, and works', async () => {
  for (let versions = 1; versions < entries.length; versions++) {
    const { file, database } = fileOf(versions)
    database.close()
    await using store = await openStore(file)
    await store.append('s', chat(3))
    await store.recordUsage('s', { inputTokens: 50, outputTokens: 5, provider: 'openai', model: 'gpt-4o' })
    expect((await store.getEffectiveHistory('s')).length).toBe(6)
    expect((await store.getUsage('s')).total.inputTokens).toBe(50)
    expect((await store.verifySession('s')).findings).toEqual([])
  }
})

test('what was reported and learnt before the tables were keyed is still there', async () => {
  const { file, database } = fileOf(5)
  database.exec(`
    insert into undertext_limits (provider, model, kind, tokens, at) values ('openai', 'gpt-4o', 'window', 100000, 7);
    insert into undertext_calibrations values ('openai', 'gpt-4o', 'calibrated', 1, 2.5, 3.5, 4, 5.5, 6.5, 7);
    insert into undertext_usage values (1, 'openai', 'gpt-4o', 2, 30, 4, 5, 6, null, 8, 9);
    insert into undertext_measurements values (1, 'openai', 'gpt-4o', 'calibrated', 2, 3, 4, 5, 6, 7, null, 8, 9);
  `)
  const tables = ['limits', 'calibrations', 'usage', 'measurements'].map((name) => `undertext_${name}`)
  const rowsOf = (one: BetterSqlite3.Database): unknown[] =>
    tables.map((name) => one.prepare(`select * from ${name}`).raw().all())
  const before = rowsOf(database)
  expect(before.flat()).toHaveLength(4)
  database.close()
  const store = await openStore(file)
  expect(await store.listLimits()).toMatchObject([{ provider: 'openai', model: 'gpt-4o', tokens: 100_000 }])
  await store.close()
  const after = new BetterSqlite3(file, { readonly: true })
  expect(rowsOf(after)).toEqual(before)
  after.close()
})
