import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import BetterSqlite3 from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { migrationsFile, migrationsModule } from '../../../migrations/embed.ts'
import { openStore } from '../../../src/index.ts'
import { Connection } from '../../../src/storage/sqlite/connection.ts'
import { failureOf } from '../../support/failures.ts'
import { beNext, beNow, NEXT, statementCount } from '../../support/next-version.ts'
import { newFolder } from '../../support/temporary.ts'
import { live, standing, turned } from './story.ts'

/*
 * Files of earlier versions: those that released versions wrote (make.ts beside this says how), and one of this version, which a made-up
 * next version opens.
 */

const HERE = fileURLToPath(new URL('.', import.meta.url))
const NAMES = readdirSync(HERE).flatMap((name) => (name.endsWith('.db.gz') ? [name.slice(0, -6)] : []))

let folder: string
beforeEach(() => {
  folder = newFolder()
})
afterEach(() => beNow('sqlite'))

type Written = { readonly file: string; readonly standing: unknown; readonly turned: unknown }

/** The file of a released version, or one of this version. */
async function written(name: string): Promise<Written> {
  const file = join(folder, 'written.db')
  if (name !== 'this version') {
    writeFileSync(file, gunzipSync(readFileSync(join(HERE, `${name}.db.gz`))))
    return { file, ...JSON.parse(readFileSync(join(HERE, `${name}.json`), 'utf8')) }
  }
  const made = await openStore(file, { env: false })
  await live(made)
  const stood = await standing(made)
  await made.close()
  const bytes = readFileSync(file)
  const store = await openStore(file, { env: false })
  const seen = await turned(store)
  await store.close()
  writeFileSync(file, bytes)
  return { file, standing: stood, turned: seen }
}

function query(file: string, sql: string): unknown[][] {
  const database = new BetterSqlite3(file)
  const statement = database.prepare(sql)
  const rows = statement.reader ? (statement.raw().all() as unknown[][]) : []
  if (!statement.reader) statement.run()
  database.close()
  return rows
}
const VERSION = "select value from undertext_meta where key = 'schema'"

test('the migrations that are shipped are those of the folder: `npm run migrations` writes both', () => {
  expect(readFileSync(migrationsFile('sqlite'), 'utf8')).toBe(migrationsModule('sqlite'))
})

describe.each(['this version', ...NAMES])('the file of %s', (name) => {
  test('is migrated to the next version, and has what was stored; undo and redo work as before', async () => {
    const { file, standing: stood, turned: seen } = await written(name)
    const audit = query(file, 'select no, session, event, detail, position from undertext_audit order by no')
    beNext('sqlite')
    const store = await openStore(file, { env: false })
    expect(query(file, VERSION)).toEqual([[String(NEXT.sqlite)]])
    expect(query(file, "select 1 from undertext_sessions where label is not 'of ' || id")).toEqual([])
    expect(query(file, "select 1 from sqlite_master where name = 'undertext_sessions_label'")).toHaveLength(1)
    expect(
      query(file, 'select no, session, event, detail, position from undertext_audit order by no'),
    ).toEqual(audit)
    expect(query(file, 'select distinct weight from undertext_audit')).toEqual([[7]])
    expect(await standing(store)).toEqual(stood)
    const findings = async (): Promise<unknown[]> => {
      const found = []
      for (const { id } of await store.sessions.list())
        found.push(...(await store.sessions.verify(id)).findings)
      return found
    }
    expect(await findings()).toEqual([])
    expect(await turned(store)).toEqual(seen)
    expect(await findings()).toEqual([])
    await store.close()
    await expect(async () => query(file, 'delete from undertext_audit')).rejects.toThrow('the audit is kept')
  })

  test('is refused by a read-only store of the next version, and stays as it is', async () => {
    const { file } = await written(name)
    beNext('sqlite')
    expect(await failureOf(() => openStore(file, { readonly: true, env: false }))).toMatchObject({
      code: 'STORE_TOO_OLD',
      facts: { supported: NEXT.sqlite },
    })
    expect(Number(query(file, VERSION)[0]![0])).toBeLessThan(NEXT.sqlite)
  })

  test('of the next version is refused by this one, and stays as it is', async () => {
    const { file } = await written(name)
    beNext('sqlite')
    await (await openStore(file, { env: false })).close()
    beNow('sqlite')
    const bytes = readFileSync(file)
    for (const readonly of [false, true])
      expect(await failureOf(() => openStore(file, { readonly, env: false }))).toMatchObject({
        code: 'STORE_TOO_NEW',
        facts: { found: NEXT.sqlite, supported: NEXT.sqlite - 1 },
      })
    expect(readFileSync(file).equals(bytes)).toBe(true)
  })

  test('keeps nothing of a session that is purged by the next version', async () => {
    const { file } = await written(name)
    beNext('sqlite')
    const store = await openStore(file, { env: false })
    const ids = (await store.getMessages('plain')).map(({ id }) => id)
    await store.sessions.purge('plain')
    const bytes = readdirSync(folder)
      .map((part) => readFileSync(join(folder, part), 'latin1'))
      .join('')
    for (const text of [...ids, 'key-of-plain', 'Hello', 'Title of plain'])
      expect(bytes.includes(text), text).toBe(false)
    await store.close()
  })
})

test('a migration that fails at any of its statements changes nothing, and the next one is complete', async () => {
  const { file, standing: stood } = await written('this version')
  const everything = 'select type, name, sql from sqlite_master order by type, name'
  const before = query(file, everything)
  beNext('sqlite')
  const { script } = Connection.prototype
  for (let at = 0; at < statementCount('sqlite'); at++) {
    let count = 0
    Connection.prototype.script = function (this: Connection, sql: string) {
      script.call(this, count++ === at ? 'select * from no_such_table' : sql)
    }
    try {
      await expect(openStore(file, { env: false })).rejects.toThrow()
    } finally {
      Connection.prototype.script = script
    }
    expect(query(file, everything), `statement ${at}`).toEqual(before)
    expect(query(file, VERSION)).toEqual([[String(NEXT.sqlite - 1)]])
  }
  const store = await openStore(file, { env: false })
  expect(await standing(store)).toEqual(stood)
  await store.close()
})
