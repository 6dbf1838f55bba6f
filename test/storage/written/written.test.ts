import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import BetterSqlite3 from 'better-sqlite3'
import { beforeEach, describe, expect, test } from 'vitest'
import { openStore } from '../../../src/index.ts'
import { failureOf } from '../../support/failures.ts'
import { newFolder } from '../../support/temporary.ts'
import { standing, turned } from './story.ts'

/* Files that earlier versions of the code wrote: make.ts beside this says how. */

const HERE = fileURLToPath(new URL('.', import.meta.url))
const NAMES = readdirSync(HERE).flatMap((name) => (name.endsWith('.db.gz') ? [name.slice(0, -6)] : []))

let folder: string
beforeEach(() => {
  folder = newFolder()
})

function unpacked(name: string): string {
  const file = join(folder, 'written.db')
  writeFileSync(file, gunzipSync(readFileSync(join(HERE, `${name}.db.gz`))))
  return file
}

test('there is a file for each version that wrote some', () => {
  expect(NAMES).toContain('schema-8-86ef9f4')
})

describe.each(NAMES)('the file %s', (name) => {
  const written = JSON.parse(readFileSync(join(HERE, `${name}.json`), 'utf8'))

  test('opens, is migrated, and has what was stored; undo and redo work as before', async () => {
    await using store = await openStore(unpacked(name), { env: false })
    expect(await standing(store)).toEqual(written.standing)
    for (const { session } of written.standing.sessions)
      expect((await store.verifySession(session.id)).findings).toEqual([])
    expect(await turned(store)).toEqual(written.turned)
    for (const { session } of written.standing.sessions)
      expect((await store.verifySession(session.id)).findings).toEqual([])
  })

  test('is not migrated read-only, and is rejected unchanged when it is one version newer', async () => {
    const file = unpacked(name)
    const schema = (): string => {
      const database = new BetterSqlite3(file, { readonly: true })
      const value = database.prepare("select value from undertext_meta where key = 'schema'").pluck().get()
      database.close()
      return value as string
    }
    const before = schema()
    await (await openStore(file, { env: false })).close()
    const isOlder = schema() !== before
    const opened = openStore(unpacked(name), { readonly: true, env: false })
    if (isOlder) expect(await failureOf(() => opened)).toMatchObject({ code: 'STORE_TOO_OLD' })
    else await (await opened).close()
    const database = new BetterSqlite3(file)
    database.exec("update undertext_meta set value = value + 1 where key = 'schema'")
    database.close()
    const bytes = readFileSync(file)
    if (!isOlder) {
      expect(await failureOf(() => openStore(file, { env: false }))).toMatchObject({
        code: 'STORE_TOO_NEW',
        facts: { found: Number(before) + 1, supported: Number(before) },
      })
      expect(readFileSync(file).equals(bytes)).toBe(true)
    }
  })

  test('keeps nothing of a session that is purged now', async () => {
    const file = unpacked(name)
    const store = await openStore(file, { env: false })
    const ids = (await store.getMessages('plain')).map(({ id }) => id)
    await store.purgeSession('plain')
    const bytes = readdirSync(folder)
      .map((part) => readFileSync(join(folder, part), 'latin1'))
      .join('')
    for (const text of [...ids, 'key-of-plain', 'Hello', 'Title of plain'])
      expect(bytes.includes(text), text).toBe(false)
    await store.close()
  })
})
