import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chownSync, mkdirSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { isUndertextError, openStore } from '../../../src/index.ts'
import { chat, say } from '../../support/conversation.ts'
import { postgresServer, query, unprivileged } from '../../support/postgres.ts'
import { newFolder } from '../../support/temporary.ts'

/* A full disk: the tables of a database are on a small file system of its own, in a tablespace. */

const server = await postgresServer()
const small = server?.killHard === undefined ? undefined : smallDisk()
if (server !== undefined && small === undefined)
  console.log(
    'No small file system can be mounted here, so the test of a full disk of PostgreSQL is skipped.',
  )

/** A folder that holds 32 MB; `undefined` where it cannot be mounted. */
function smallDisk(): string | undefined {
  const folder = newFolder()
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=32m', 'tmpfs', folder], { stdio: 'pipe' })
  } catch {
    return undefined
  }
  afterAll(() => void execFileSync('umount', ['--lazy', folder]))
  const user = unprivileged()
  mkdirSync(join(folder, 'tables'))
  if (user !== undefined) chownSync(join(folder, 'tables'), user.uid, user.gid)
  return folder
}

/** A text that takes as much room as it has characters. */
function incompressible(length: number): string {
  return randomBytes((length * 3) / 4).toString('base64')
}

describe.skipIf(small === undefined)('a full disk', () => {
  it('refuses what needs room with nothing written; the store reads, and works when there is room again', async () => {
    const url = new URL(await server!.newDatabase())
    await query(url.href, `create tablespace small location '${small}/tables'`)
    await query(url.href, 'create database on_small tablespace small')
    url.pathname = '/on_small'
    const ballast = join(small!, 'ballast')
    writeFileSync(ballast, Buffer.alloc(4_000_000, 'x'))

    const store = await openStore(url.href, { estimator: 'neurolink' })
    await store.append('compacted', chat(10))
    const codes = new Map<string, unknown>()
    const positions = new Map<string, number>()
    for (let turn = 0; !codes.has('append'); turn++) {
      const id = `s${turn % 4}`
      try {
        const { messages } = await store.append(id, [
          say('user', `${turn}`),
          say('assistant', incompressible(100_000)),
        ])
        positions.set(id, messages.at(-1)!.position)
      } catch (error) {
        codes.set('append', isUndertextError(error) ? error.code : error)
      }
    }
    const fill = async (what: string, act: (n: number) => Promise<unknown>): Promise<void> => {
      for (let n = 0; n < 300 && !codes.has(what); n++)
        await act(n).catch((error) => codes.set(what, isUndertextError(error) ? error.code : error))
    }
    const bulk = Array.from({ length: 400 }, (_, n) => say('user', `${n} ${'and more '.repeat(20)}`))
    await fill('a batch', () => store.append('batch', bulk))
    await fill('a new session', (n) => store.append(`new ${n}`, bulk))
    await fill('compact', () =>
      store.compactSession('compacted', { range: { from: 1, to: 2 }, summary: incompressible(8_000_000) }),
    )
    expect(Object.fromEntries(codes)).toEqual({
      append: 'STORE_FULL',
      'a batch': 'STORE_FULL',
      'a new session': 'STORE_FULL',
      compact: 'STORE_FULL',
    })

    const check = async (): Promise<void> => {
      for await (const { id } of sessions())
        expect((await store.sessions.verify(id)).findings, id).toEqual([])
      for (const [id, position] of positions)
        expect((await store.sessions.get(id)).messageCount, id).toBe(position)
      expect((await store.sessions.get('batch').catch(() => ({ messageCount: 0 }))).messageCount % 400).toBe(
        0,
      )
      expect(await store.listCompactions('compacted')).toEqual([])
    }
    const sessions = async function* () {
      yield* await store.sessions.list({ limit: 200 })
    }
    await check()
    await rm(ballast)
    await check()
    const { messages } = await store.append('s0', [say('user', 'there is room')])
    expect(messages[0]!.position).toBe(positions.get('s0')! + 1)
    await store.compactSession('compacted', { range: { from: 1, to: 2 }, summary: 'short' })
    await store.close()
    // Otherwise the server would look for the tables when it stops.
    await query(await server!.newDatabase(), 'drop database on_small with (force)', 'drop tablespace small')
  })
})
