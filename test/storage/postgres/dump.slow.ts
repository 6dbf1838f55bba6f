import { execFile, spawnSync } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { openStore, type Store } from '../../../src/index.ts'
import { chat, say } from '../../support/conversation.ts'
import { postgresServer } from '../../support/postgres.ts'
import { newFile } from '../../support/temporary.ts'

/* The commands of docs/backup.md for PostgreSQL. */

const server = await postgresServer()
const hasDump = spawnSync('pg_dump', ['--version']).status === 0
const run = promisify(execFile)

async function numbersIn(store: Store, id: string): Promise<unknown[]> {
  return (await store.getMessages(id)).map(({ content }) => content)
}

describe.skipIf(server === undefined || !hasDump)('pg_dump', () => {
  it('while others write, copies a store as of one moment, and its copy is a sound store', async () => {
    const [from, to] = [await server!.newDatabase(), await server!.newDatabase()]
    const store = await openStore(from)
    await store.append('talk', chat(10))
    await store.compactSession('talk', { range: { from: 1, to: 4 }, summary: 'One.' })
    let isDone = false
    const write = async (): Promise<void> => {
      for (let n = 1; !isDone; n++) {
        await store.append('first', [say('user', `${n}`)])
        await store.append('second', [say('user', `${n}`)])
      }
    }
    const writing = write()
    const file = newFile('chats.dump')
    await new Promise((resolve) => setTimeout(resolve, 100))
    await run('pg_dump', ['--format=custom', '--schema=undertext', `--file=${file}`, from])
    isDone = true
    await writing
    await run('pg_restore', ['--exit-on-error', '--no-owner', `--dbname=${to}`, file])
    const copy = await openStore(to)
    for (const { id } of await copy.sessions.list())
      expect((await copy.sessions.verify(id)).findings, id).toEqual([])
    expect(await copy.getMessages('talk')).toEqual(await store.getMessages('talk'))
    const [first, second] = [await numbersIn(copy, 'first'), await numbersIn(copy, 'second')]
    expect(first).toEqual(first.map((_, at) => `${at + 1}`))
    expect(second).toEqual(second.map((_, at) => `${at + 1}`))
    expect([0, 1]).toContain(first.length - second.length)
    expect(first.length).toBeGreaterThan(0)
    await copy.append('talk', [say('user', 'more')])
    await expect(copy.backup(newFile('backup.db'))).rejects.toMatchObject({ code: 'NOT_SUPPORTED' })
    await store.close()
    await copy.close()
  })
})
