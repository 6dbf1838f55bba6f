import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import pg from 'pg'
import { describe, expect, it, type TestContext } from 'vitest'
import { openStore } from '../../../src/index.ts'
import { say } from '../../support/conversation.ts'
import { expectFailure, failureOf } from '../../support/failures.ts'
import { postgresServer } from '../../support/postgres.ts'

/* A server that is connected and no longer answers: each call ends, in the time that docs/postgres.md promises. */

const server = await postgresServer()
type Finished = TestContext['onTestFinished']

/** Listens on a port of this machine, until the test ends. */
async function listening(proxy: Server, sockets: ReadonlySet<Socket>, finished: Finished): Promise<string> {
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  finished(() => {
    for (const socket of sockets) socket.destroy()
    proxy.close()
  })
  return String((proxy.address() as { port: number }).port)
}

/** The address of a server behind a proxy that can stop to forward in both directions, and keeps its connections. */
async function mutable(target: URL, finished: Finished) {
  const sockets = new Set<Socket>()
  let isMute = false
  const forward = (from: Socket, to: Socket): void => {
    sockets.add(from)
    from.on('error', () => {})
    from.on('data', (chunk) => void (isMute || to.write(chunk)))
    for (const end of ['end', 'close']) from.on(end, () => void (isMute || to.destroy()))
  }
  const proxy = createServer({ allowHalfOpen: true }, (client) => {
    const upstream = connect({ port: Number(target.port), host: target.hostname, allowHalfOpen: true })
    forward(client, upstream)
    forward(upstream, client)
  })
  const url = new URL(target)
  url.port = await listening(proxy, sockets, finished)
  /** Lets it answer again; on new connections. */
  const unmute = (): void => {
    for (const socket of sockets) socket.destroy()
    isMute = false
  }
  const mute = (): void => {
    isMute = true
  }
  return { url, mute, unmute }
}

/** The seconds that a call takes to fail as unavailable, and its error. */
async function failing(act: () => Promise<unknown>): Promise<{ seconds: number; error: unknown }> {
  const start = performance.now()
  const error = await failureOf(act)
  expectFailure(error, 'STORE_UNAVAILABLE')
  return { seconds: (performance.now() - start) / 1_000, error }
}

/** As much later as a call may end: it waits ten seconds for another connection, and the machine is busy. */
const LATE = 15

function expectSeconds(seconds: number, least: number): void {
  expect(seconds).toBeGreaterThan(least - 0.5)
  expect(seconds).toBeLessThan(least + LATE)
}

describe.concurrent('a server that says nothing', () => {
  it('ends openStore after ten seconds', async ({ onTestFinished }) => {
    const sockets = new Set<Socket>()
    const port = await listening(
      createServer((socket) => sockets.add(socket)),
      sockets,
      onTestFinished,
    )
    const { seconds, error } = await failing(() => openStore(`postgres://me:secret@127.0.0.1:${port}/chats`))
    expectSeconds(seconds, 10)
    expect(error).toMatchObject({ message: /doesn't answer/ })
  })

  it.skipIf(server === undefined)(
    'after a statement ends every call after query_timeout',
    async ({ onTestFinished }) => {
      const target = new URL(await server!.newDatabase())
      const { url, mute, unmute } = await mutable(target, onTestFinished)
      url.searchParams.set('query_timeout', '1000')
      const options = { busyTimeoutMs: 200, estimator: 'neurolink' } as const
      const store = await openStore(url.href, options)
      await store.append('s', [say('user', 'one'), say('assistant', 'two'), say('user', 'three')])
      const run = await store.compactSession('s', { range: { from: 1, to: 2 }, summary: 'short' })

      mute()
      const id = run!.compactions[0]!.id
      const calls = [
        () => store.append('s', [say('assistant', 'lost')]),
        () => store.getMessages('s'),
        () => store.undoCompaction('s', id),
        () => store.append('new', [say('user', 'lost')]),
      ]
      const failed = await Promise.all(calls.map(failing))
      for (const { seconds } of failed) expectSeconds(seconds, 1)
      // Whether that append was stored cannot be looked up.
      expect(failed[0]!.error).toMatchObject({ facts: { outcome: 'unknown' } })
      unmute()
      expect((await store.getMessages('s')).filter(({ kind }) => kind === 'message')).toHaveLength(3)
      expect((await store.sessions.verify('s')).findings).toEqual([])
      await store.undoCompaction('s', id)
    },
  )

  it.skipIf(server === undefined)(
    'while a store is opened ends that after query_timeout',
    async ({ onTestFinished }) => {
      const target = new URL(await server!.newDatabase())
      const { url, mute } = await mutable(target, onTestFinished)
      // The answer to the startup packet comes through; the first statement gets none.
      const pool = new pg.Pool({ connectionString: url.href, query_timeout: 500, pipeline: true })
      const client = await pool.connect()
      client.release()
      mute()
      const { seconds } = await failing(() => openStore(pool))
      expectSeconds(seconds, 0.5)
    },
  )

  it.skipIf(server === undefined)(
    'ends a call after a minute and busyTimeoutMs',
    { timeout: 120_000 },
    async ({ onTestFinished }) => {
      const { url, mute } = await mutable(new URL(await server!.newDatabase()), onTestFinished)
      const store = await openStore(url.href, { busyTimeoutMs: 2_000 })
      await store.append('s', [say('user', 'one')])
      mute()
      expectSeconds((await failing(() => store.getMessages('s'))).seconds, 62)
    },
  )

  it.skipIf(server === undefined)(
    'lets a process end ten seconds after its store was closed',
    async ({ onTestFinished }) => {
      const { url, mute } = await mutable(new URL(await server!.newDatabase()), onTestFinished)
      const script = join(import.meta.dirname, 'close-in-process.ts')
      const child = spawn(process.execPath, ['--import', import.meta.resolve('tsx'), script, url.href])
      child.stderr.pipe(process.stderr)
      const [opened] = (await once(child.stdout, 'data')) as [Buffer]
      expect(opened.toString()).toBe('open\n')
      mute()
      const start = performance.now()
      child.stdin.end('close\n')
      expect(await once(child, 'close')).toEqual([0, null])
      expectSeconds((performance.now() - start) / 1_000, 10)
    },
  )
})
