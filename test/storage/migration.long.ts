import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import BetterSqlite3 from 'better-sqlite3'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openStore } from '../../src/index.ts'

/* What bringing up a file of 1,000,000 messages takes: time, and disk for the file and its write-ahead log together. */

const MESSAGES = 1_000_000
const SESSIONS = 100
const MIGRATIONS = fileURLToPath(new URL('../../migrations/sqlite', import.meta.url))
const { entries } = JSON.parse(readFileSync(join(MIGRATIONS, 'meta', '_journal.json'), 'utf8')) as {
  readonly entries: readonly { readonly tag: string }[]
}

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'undertext-migration-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** A file of the schema's first `versions` migrations, by the columns that all of them have. */
function fileOf(versions: number): string {
  const file = join(folder, 'large.db')
  const database = new BetterSqlite3(file)
  for (const { tag } of entries.slice(0, versions))
    database.exec(readFileSync(join(MIGRATIONS, `${tag}.sql`), 'utf8'))
  database.pragma('journal_mode = wal')
  database.pragma('synchronous = off')
  database.exec(`begin;
    insert into undertext_meta (key, value) values ('schema', '${versions}');
    insert into undertext_sessions (no, id, incarnation, estimator, created_at, updated_at, messages, visible, size_text)
      with recursive n (i) as (select 1 union all select i + 1 from n where i < ${SESSIONS})
      select i, 's' || i, 'incarnation' || i, 'calibrated', 1, 1, ${MESSAGES / SESSIONS}, ${MESSAGES / SESSIONS}, 0 from n;
    insert into undertext_messages (key, session, anchor, position, role, id, size_text, size_reasoning, size_calls, size_results,
        size_media, created_at, idempotency_key)
      with recursive n (i) as (select 1 union all select i + 1 from n where i < ${MESSAGES})
      select i, 1 + i % ${SESSIONS}, 1 + (i - 1) / ${SESSIONS}, 1 + (i - 1) / ${SESSIONS}, i % 2, 'message-' || i, 0, 0, 0, 0, 0, i,
        'key-' || i from n;
    insert into undertext_contents (key, content)
      select key, '"' || key || ' ' || replace(hex(zeroblob(100)), '0', 'a') || '"' from undertext_messages;
    commit`)
  database.close()
  return file
}

/** Opens the file in a process of its own, which appends ten messages, and watches the files meanwhile. */
async function opened(file: string): Promise<{ readonly ms: number; readonly peak: number }> {
  const script = fileURLToPath(new URL('../support/open-and-append.ts', import.meta.url))
  const began = performance.now()
  const child = spawn(process.execPath, ['--import', import.meta.resolve('tsx'), script, file, 'me'])
  let peak = 0
  const watch = setInterval(() => {
    peak = Math.max(peak, bytesOf(file))
  }, 5)
  const code = await new Promise((resolve) => child.once('close', resolve))
  clearInterval(watch)
  expect(code).toBe(0)
  return { ms: performance.now() - began, peak }
}

function bytesOf(file: string): number {
  const sizes = ['', '-wal', '-journal'].map(
    (end) => statSync(`${file}${end}`, { throwIfNoEntry: false })?.size ?? 0,
  )
  return sizes.reduce((sum, size) => sum + size, 0)
}

test.each([1, entries.length - 1])('a million messages are migrated from schema %i', async (versions) => {
  const file = fileOf(versions)
  const before = bytesOf(file)
  const first = await opened(file)
  const again = await opened(file)
  const took = Math.max(0, first.ms - again.ms)
  const mb = (bytes: number): string => `${Math.round(bytes / 1e6)} MB`
  console.log(
    `schema ${versions} to ${entries.length}: ${Math.round(took)} ms; ${mb(before)} before, at most ${mb(first.peak)} meanwhile, ${mb(bytesOf(file))} after`,
  )
  expect(first.peak).toBeLessThan(3 * before)
  await using store = await openStore(file)
  expect(await store.getSession('s1')).toMatchObject({ messageCount: MESSAGES / SESSIONS })
  const [last] = await store.getMessages('s100', { after: MESSAGES / SESSIONS - 1 })
  expect(last).toMatchObject({ id: `message-${MESSAGES - 1}`, position: MESSAGES / SESSIONS })
})
