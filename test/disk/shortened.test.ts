import { statSync } from 'node:fs'
import BetterSqlite3 from 'better-sqlite3'
import { expect, it } from 'vitest'
import { openStore } from '../../src/index.ts'
import { say } from '../support/conversation.ts'
import { newFile } from '../support/temporary.ts'

it('a file that is shortened only after a reader has left, long after its VACUUM, is not taken for a truncated one', async () => {
  const path = newFile()
  const first = await openStore(path)
  await first.append('s', [say('user', 'one')])
  const other = new BetterSqlite3(path)
  other.exec('create table junk (bytes blob); insert into junk values (zeroblob(2000000)); delete from junk')
  other.pragma('wal_checkpoint(truncate)')
  const before = statSync(path).size
  // The reader keeps the file as large as it was.
  const reader = new BetterSqlite3(path, { readonly: true })
  reader.exec('begin; select 1 from sqlite_schema limit 1')
  other.exec('vacuum')
  expect(statSync(path).size).toBe(before)
  const second = await openStore(path)
  const append = async (): Promise<void> => {
    // Longer than the interval between two checks.
    await new Promise((resolve) => setTimeout(resolve, 10))
    await second.append('s', [say('user', 'more')])
  }
  await append()
  await append()
  await append()
  reader.close()
  other.pragma('wal_checkpoint(truncate)')
  expect(statSync(path).size).toBeLessThan(before / 2)
  await append()
  expect((await second.sessions.get('s')).messageCount).toBe(5)
  other.close()
  await second.close()
  await first.close()
})
