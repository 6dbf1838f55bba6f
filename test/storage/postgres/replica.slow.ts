import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, existsSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { openStore } from '../../../src/index.ts'
import { chat, say } from '../../support/conversation.ts'
import { expectFailure, failureOf } from '../../support/failures.ts'
import { freePort, postgresServer, programsFolder, query, unprivileged } from '../../support/postgres.ts'
import { newFolder } from '../../support/temporary.ts'

/* A streaming replica, which repeats what the server did, later. */

const server = await postgresServer()
const programs = programsFolder()
const backup = programs && join(dirname(realpathSync(join(programs, 'initdb'))), 'pg_basebackup')
const isPossible = server?.killHard !== undefined && backup !== undefined && existsSync(backup)

/** Copies a server and starts the copy as its replica, until the tests end; returns the URL of the database there. */
async function startReplica(url: string): Promise<string> {
  const folder = newFolder()
  const user = unprivileged()
  if (user !== undefined) chownSync(folder, user.uid, user.gid)
  chmodSync(folder, 0o755)
  const data = join(folder, 'data')
  const options = { ...user, cwd: folder }
  const copying = ['-d', url, '-D', data, '-R', '-X', 'stream', '--checkpoint=fast', '--no-sync']
  execFileSync(backup!, copying, { ...options, stdio: 'pipe' })
  const replica = new URL(url)
  replica.port = String(await freePort())
  const settings = {
    port: replica.port,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    fsync: 'off',
  }
  const given = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const child = spawn(join(programs!, 'postgres'), ['-D', data, ...given], {
    ...options,
    stdio: 'ignore',
  })
  const endNow = (): void => void child.kill('SIGQUIT')
  process.once('exit', endNow)
  afterAll(async () => {
    process.off('exit', endNow)
    const exit = once(child, 'exit')
    child.kill('SIGINT')
    await exit
  })
  for (let attempt = 0; ; attempt++)
    try {
      await query(replica.href, 'select 1')
      return replica.href
    } catch (error) {
      if (attempt === 500 || child.exitCode !== null) throw error
      await sleep(20)
    }
}

describe.skipIf(!isPossible)('a replica', async () => {
  if (!isPossible) return
  const url = await server.newDatabase()
  const primary = await openStore(url, { estimator: 'neurolink' })
  afterAll(() => primary.close())
  await primary.append('s', chat(10))
  const run = await primary.compactSession('s', { range: { from: 1, to: 10 }, summary: 'short' })
  const replica = await startReplica(url)

  it('is read, and refuses to write', async () => {
    const reading = await openStore(replica, { readonly: true, estimator: 'neurolink' })
    expect(await reading.getMessages('s')).toEqual(await primary.getMessages('s'))
    expect(await reading.getEffectiveHistory('s')).toEqual(await primary.getEffectiveHistory('s'))
    expect(await reading.sessions.get('s')).toEqual(await primary.sessions.get('s'))
    expect(await reading.getContextStats('s')).toEqual(await primary.getContextStats('s'))
    expect(await reading.sessions.list()).toEqual(await primary.sessions.list())
    expect(await reading.listCompactions('s')).toEqual(await primary.listCompactions('s'))
    expect(await reading.sessions.audit('s')).toEqual(await primary.sessions.audit('s'))
    expect(await reading.needsCompaction('s')).toBe(false)
    expect((await reading.sessions.verify('s')).findings).toEqual([])
    expectFailure(await failureOf(() => reading.append('s', [say('user', 'x')])), 'STORE_READONLY')
    await reading.close()

    const writing = await openStore(replica, { estimator: 'neurolink' })
    const calls = [
      () => writing.append('s', [say('user', 'x')]),
      () => writing.undoCompaction('s', run!.compactions[0]!.id),
      () => writing.compactSession('s', { range: { from: 12, to: 13 }, summary: 'x' }),
      () => writing.sessions.create({ id: 'new' }),
    ]
    for (const call of calls) {
      const error = await failureOf(call)
      expectFailure(error, 'STORE_READONLY')
      expect(error).toMatchObject({ message: /standby/ })
    }
    await writing.close()
  })

  it('shows what the server did later, and each read as of one moment', async () => {
    const reading = await openStore(replica, { readonly: true, estimator: 'neurolink' })
    const compacted = await reading.getEffectiveHistory('s')
    await query(replica, 'select pg_wal_replay_pause()')
    await primary.undoCompaction('s', run!.compactions[0]!.id)
    await primary.append('s', [say('user', 'later')])
    expect(await primary.getEffectiveHistory('s')).toHaveLength(21)
    expect(await reading.getEffectiveHistory('s')).toEqual(compacted)
    await query(replica, 'select pg_wal_replay_resume()')
    await vi.waitFor(async () => expect(await reading.getEffectiveHistory('s')).toHaveLength(21), 30_000)
    await reading.close()
  })
})
