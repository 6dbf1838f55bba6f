import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openStore } from '../../src/index.ts'
import { type Compiled, compile } from '../support/compiled.ts'
import { newFolder } from '../support/temporary.ts'

let folder: string
let compiled: Compiled
beforeAll(() => {
  folder = newFolder()
  compiled = compile('test/import')
})
afterAll(() => {
  compiled.remove()
})

it('leaves nothing in any list when its process is killed, and nothing at all after the next import', async () => {
  const file = join(folder, 'chats.db')
  const child = spawn(process.execPath, [compiled.script('test/import/endless-import.ts'), file], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(child.stdout, 'data')
  const store = await openStore(file)
  // While it is at work nobody takes it out, and nobody waits for it.
  await store.append('live', [{ role: 'user', content: 'meanwhile' }])
  await store.sessions.import([], { id: 'other', source: 'elsewhere' })
  const database = new BetterSqlite3(file, { readonly: true })
  const staged = database.prepare("select count(*) from undertext_sessions where id like '~import/%'").pluck()
  const rows = database.prepare('select count(*) from undertext_messages').pluck()
  expect(staged.get()).toBe(1)
  expect(rows.get()).toBeGreaterThan(1_000)
  child.kill('SIGKILL')
  await once(child, 'exit')
  // In the order of the newest messages: `other` was made later, but has none.
  expect((await store.sessions.list()).map(({ id }) => id)).toEqual(['live', 'other'])
  const message = { role: 'user', content: 'm1', idempotencyKey: 'k1' } as const
  await store.sessions.import([{ type: 'message', message }], { id: 's', source: 'elsewhere' })
  expect(staged.get()).toBe(0)
  expect(rows.get()).toBe(2)
  expect(database.prepare('select count(*) from undertext_blobs').pluck().get()).toBe(0)
  expect((await store.sessions.verify('s')).findings).toEqual([])
  database.close()
  await store.close()
})
