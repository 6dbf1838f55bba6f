import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { beforeEach, describe, expect, it } from 'vitest'
import { openStore } from '../../src/index.ts'
import { say } from '../support/conversation.ts'
import { CANARY, expectFailure, failureOf } from '../support/failures.ts'
import { newFolder } from '../support/temporary.ts'
import { FAULTS, FaultySet, oneFault } from './faults.ts'
import { interceptStatements } from './statements.ts'

let folder: string
beforeEach(() => {
  folder = newFolder()
})

const ours = "select count(*) from sqlite_master where name like 'undertext_%'"

describe('opening a store, one statement failing after the other', () => {
  for (const fault of FAULTS) {
    it(`makes all tables or none on a connection handed in: ${fault.name}`, async () => {
      const set = new FaultySet(() => [fault])
      for (let faults = 0; ; faults++) {
        const database = new BetterSqlite3(':memory:')
        set.lay(database)
        const { error, watch } = await set.during(() => openStore(database))
        const { failed } = watch
        if (failed === undefined) {
          expect(error).toBeUndefined()
          // Each table, index and trigger is a statement.
          expect(faults).toBeGreaterThan(30)
          return
        }
        expectFailure(error, fault.code, `statement ${watch.count}: ${failed.sql}`)
        expect(database.inTransaction).toBe(false)
        if (watch.commits === 0) expect(database.prepare(ours).pluck().get(), failed.sql).toBe(0)
        const store = await openStore(database)
        await store.append('s', [say('user', CANARY)])
        expect((await store.sessions.verify('s')).findings).toEqual([])
        database.close()
      }
    })
  }

  it('leaves a file that can be opened', async () => {
    const set = new FaultySet(oneFault)
    const takeOff = set.lay(BetterSqlite3.prototype)
    try {
      for (let faults = 0; ; faults++) {
        const file = join(folder, `${faults}.db`)
        const { error, watch } = await set.during(async () => (await openStore(file)).close())
        const { failed } = watch
        if (failed === undefined) {
          expect(error).toBeUndefined()
          expect(faults).toBeGreaterThan(35)
          return
        }
        // Only the change to the write-ahead log is tried again when it is busy.
        if (error === undefined)
          expect([failed.sql, failed.fault.name]).toEqual(['pragma journal_mode = wal', 'busy'])
        else expectFailure(error, failed.fault.code, `statement ${watch.count}: ${failed.sql}`)
        const store = await openStore(file)
        await store.append('s', [say('user', CANARY)])
        expect((await store.sessions.verify('s')).findings).toEqual([])
        await store.close()
      }
    } finally {
      takeOff()
    }
  })
})

describe('a transaction that cannot be rolled back', () => {
  /** Opens a store whose second write fails, and whose rollback fails too. */
  async function stuckStore(
    location: string,
  ): Promise<{ store: Awaited<ReturnType<typeof openStore>>; failed: string[] }> {
    const failed: string[] = []
    const takeOff = interceptStatements(BetterSqlite3.prototype, (sql, execute) => {
      const isDue = sql.startsWith('insert into undertext_contents') || sql === 'rollback'
      if (!isDue || failed.includes(sql)) return execute()
      failed.push(sql)
      throw new BetterSqlite3.SqliteError('disk I/O error', 'SQLITE_IOERR_WRITE')
    })
    const store = await openStore(location)
    expectFailure(await failureOf(() => store.append('s', [say('user', CANARY)])), 'STORE_UNAVAILABLE')
    takeOff()
    return { store, failed }
  }

  it('hides no error, and is rolled back before the next method', async () => {
    const { store, failed } = await stuckStore(join(folder, 'stuck.db'))
    expect(failed).toHaveLength(2)
    expect(await store.getContextStats('s')).toBeNull()
    expect((await store.append('s', [say('user', CANARY)])).position).toBe(1)
    expect((await store.sessions.verify('s')).findings).toEqual([])
    await store.close()
  })
})

it('a connection whose owner is reading through it is refused with an error of ours', async () => {
  const database = new BetterSqlite3(':memory:')
  const store = await openStore(database)
  await store.append('s', [say('user', CANARY)])
  for (const _ of database.prepare('select 1 union select 2').iterate()) {
    expectFailure(await failureOf(() => store.append('s', [say('user', CANARY)])), 'STORE_UNAVAILABLE')
    expectFailure(await failureOf(() => openStore(database)), 'STORE_UNAVAILABLE')
  }
  expect((await store.append('s', [say('user', CANARY)])).position).toBe(2)
  database.close()
})
