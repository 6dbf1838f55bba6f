import BetterSqlite3 from 'better-sqlite3'
import { beforeAll, expect, it } from 'vitest'
import { openStore } from '../../src/index.ts'
import { runCli } from '../support/cli-run.ts'
import { newFile } from '../support/temporary.ts'

/* A store of a million sessions: what names one of them, or counts them, does not read them all. */

const path = newFile('many.db')

beforeAll(async () => {
  const store = await openStore(path)
  await store.sessions.create({ id: 'needle', title: 'The Needle' })
  await store.close()
  const database = new BetterSqlite3(path)
  database.exec(`
    insert into undertext_sessions (id, incarnation, title, provider, model, estimator, created_at, updated_at)
    with recursive n(i) as (select 1 union all select i + 1 from n where i < 1000000)
    select printf('session-%08d', i), printf('%016d', i), 'A conversation about topic ' || i, 'openai', 'gpt-5', 'calibrated', 1, i from n`)
  database.close()
})

/** Processor time of a command, milliseconds. */
async function costOf(...command: readonly string[]): Promise<number> {
  const before = process.cpuUsage()
  expect(await runCli([...command, '--db', path])).toMatchObject({ exit: 0 })
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}

it('reading every session takes several times as long as finding one or counting them', async () => {
  await using store = await openStore(path, { readonly: true })
  const before = process.cpuUsage()
  let after: string | undefined
  for (;;) {
    const page = await store.sessions.list({ limit: 10_000, ...(after !== undefined && { after }) })
    if (page.length === 0) break
    after = page.at(-1)!.id
  }
  const { user, system } = process.cpuUsage(before)
  const all = (user + system) / 1_000
  expect(await costOf('sessions', '--search', 'needle')).toBeLessThan(all / 3)
  expect(await costOf('log', 'needl')).toBeLessThan(all / 3)
  expect(await costOf('doctor')).toBeLessThan(all / 3)
})
