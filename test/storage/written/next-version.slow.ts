import { spawn } from 'node:child_process'
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import BetterSqlite3 from 'better-sqlite3'
import { afterEach, expect, test } from 'vitest'
import { openStore } from '../../../src/index.ts'
import { beNext, beNow, NEXT, statementCount } from '../../support/next-version.ts'
import { newFolder } from '../../support/temporary.ts'
import { live, standing } from './story.ts'

/* Processes that migrate a file to the made-up next version: killed at each statement, and four at once. */

const SCRIPT = fileURLToPath(new URL('../../support/open-next-version.ts', import.meta.url))
afterEach(() => beNow('sqlite'))

async function written(file: string): Promise<unknown> {
  const store = await openStore(file, { env: false })
  await live(store)
  const stood = await standing(store)
  await store.close()
  return stood
}

/** Opens a file in another process; returns its exit code or signal. */
function opened(file: string, ...more: (number | string)[]): Promise<unknown> {
  const args = ['--import', import.meta.resolve('tsx'), SCRIPT, file, ...more.map(String)]
  const child = spawn(process.execPath, args, { stdio: 'inherit' })
  return new Promise((resolve) => child.once('close', (code, signal) => resolve(signal ?? code)))
}

function versionOf(file: string): unknown {
  const database = new BetterSqlite3(file)
  expect(database.pragma('integrity_check', { simple: true })).toBe('ok')
  const version = database.prepare("select value from undertext_meta where key = 'schema'").pluck().get()
  database.close()
  return Number(version)
}

async function complete(file: string, stood: unknown): Promise<void> {
  beNext('sqlite')
  const store = await openStore(file, { env: false })
  expect(await standing(store)).toEqual(stood)
  for (const { id } of await store.sessions.list())
    expect((await store.sessions.verify(id)).findings).toEqual([])
  await store.close()
  beNow('sqlite')
  expect(versionOf(file)).toBe(NEXT.sqlite)
}

test('a process that is killed at any statement leaves the file as it was, and the next one completes it', async () => {
  const folder = newFolder()
  const first = join(folder, 'first.db')
  const stood = await written(first)
  for (let at = 0; at < statementCount('sqlite'); at++) {
    const file = join(folder, `killed-${at}.db`)
    copyFileSync(first, file)
    expect(await opened(file, 0, at), `statement ${at}`).toBe('SIGKILL')
    expect(versionOf(file)).toBe(NEXT.sqlite - 1)
    await complete(file, stood)
  }
})

test('four processes at once migrate a file once', async () => {
  const folder = newFolder()
  for (let round = 0; round < 3; round++) {
    const file = join(folder, `round-${round}.db`)
    const stood = await written(file)
    // They start when the clock says so, so that they really meet.
    const start = Date.now() + 4_000
    const codes = Array.from({ length: 4 }, () => opened(file, start))
    expect(await Promise.all(codes)).toEqual([0, 0, 0, 0])
    await complete(file, stood)
  }
})
