import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import BetterSqlite3 from 'better-sqlite3'
import { beforeEach, expect, test } from 'vitest'
import { migrationsFile, migrationsModule } from '../../migrations/embed.ts'
import { BUILT_IN_ESTIMATORS } from '../../src/core/tokens/index.ts'
import { openStore } from '../../src/index.ts'
import { chat } from '../support/conversation.ts'
import { newFolder } from '../support/temporary.ts'
import { formerTools, imageFigures, MEDIA_SIZES, storeImages } from './media-story.ts'

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

/** Takes away from a file what the migrations from `versions` on added for images. */
function takeImages(file: string, versions: number): void {
  const database = new BetterSqlite3(file)
  const had = versions < 15 ? MEDIA_SIZES : (['large'] as const)
  for (const size of had) {
    for (const table of ['messages', 'sessions'])
      database.exec(`alter table undertext_${table} drop column size_${size}`)
    database.exec(`alter table undertext_replacements drop column saved_${size}`)
  }
  const rows = database
    .prepare('select key, tools from undertext_messages where tools is not null')
    .raw()
    .all()
  if (versions < 15)
    for (const [key, tools] of rows as [number, string][])
      database.prepare('update undertext_messages set tools = ? where key = ?').run(formerTools(tools), key)
  database.prepare("update undertext_meta set value = ? where key = 'schema'").run(String(versions))
  database.close()
}

test.each([14, 15])('the images of a file of version %i are counted when it is opened', async (versions) => {
  const file = join(folder, 'images.db')
  const made = await openStore(file, { estimator: 'neurolink' })
  await storeImages(made)
  const figures = await imageFigures(made)
  await made.close()
  // Two images of 2,560 pixels in the first session: one is shown as a text.
  expect(figures).toMatchObject([{ sizes: { largeImages: 1 } }, {}, { sizes: { images: 0 } }])
  takeImages(file, versions)
  await using store = await openStore(file, { estimator: 'neurolink' })
  expect(await imageFigures(store)).toEqual(figures)
  const database = new BetterSqlite3(file)
  expect(database.prepare("select 1 from undertext_meta where key = 'uncounted media'").all()).toEqual([])
  database.close()
})

test('images of a session whose estimator is not given are counted once it is', async () => {
  const file = join(folder, 'images.db')
  const own = { ...BUILT_IN_ESTIMATORS.find(({ name }) => name === 'neurolink')!, name: 'own' }
  const made = await openStore(file, { estimator: own })
  await storeImages(made)
  const figures = await imageFigures(made)
  await made.close()
  takeImages(file, 14)
  await (await openStore(file)).close()
  await using store = await openStore(file, { estimator: own })
  expect(await imageFigures(store)).toEqual(figures)
})
