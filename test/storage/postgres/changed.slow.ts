import { describe, expect, it } from 'vitest'
import { openStore } from '../../../src/index.ts'
import { say } from '../../support/conversation.ts'
import { expectFailure, failureOf } from '../../support/failures.ts'
import { postgresServer, query } from '../../support/postgres.ts'

/* Tables that another process changes, as a newer version does, while this one has prepared its statements. */

const server = await postgresServer()

describe.skipIf(server === undefined)('tables that another process changes', () => {
  it('by columns that it adds: the store goes on', async () => {
    const url = await server!.newDatabase()
    const store = await openStore(url)
    await store.append('s', [say('user', 'one')])
    await store.append('s', [say('user', 'two')])
    await query(
      url,
      'alter table undertext.sessions add column new text',
      'alter table undertext.messages add column new text',
    )
    await store.append('s', [say('user', 'three')])
    expect(await store.getMessages('s')).toHaveLength(3)
    expect((await store.sessions.get('s')).messageCount).toBe(3)
    await store.close()
  })

  it('by the type of a column: writes are repeated on new connections, and a read fails at most once', async () => {
    const url = await server!.newDatabase()
    const store = await openStore(url, { busyTimeoutMs: 10_000 })
    const all = async <T>(call: (n: number) => Promise<T>): Promise<T[]> =>
      Promise.all(Array.from({ length: 10 }, (_, n) => call(n)))
    const append = (n: number) => store.append(`s${n}`, [say('user', 'hi'), say('assistant', 'hello')])
    const title = (n: number) => store.sessions.update(`s${n}`, { title: 'a title' })
    // Ten connections, each with its statements prepared.
    for (let round = 0; round < 3; round++) {
      await all(append)
      await all(title)
      await all((n) => store.sessions.get(`s${n}`))
    }
    await query(
      url,
      'alter table undertext.sessions alter column title type varchar, alter column last_write type varchar',
    )
    await all(append)
    await all(title)
    await query(url, 'alter table undertext.sessions alter column title type text')
    const failed = await failureOf(() => store.sessions.get('s0'))
    expectFailure(failed, 'STORE_UNAVAILABLE')
    expect(failed).toMatchObject({ message: /changed the tables \(0A000\)\. Try again/ })
    for (const { title, messageCount } of await all((n) => store.sessions.get(`s${n}`)))
      expect({ title, messageCount }).toEqual({ title: 'a title', messageCount: 8 })
    await store.close()
  })
})
