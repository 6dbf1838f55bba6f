import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync } from 'node:fs'
import { dirname } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { MAX_MESSAGE_BYTES } from '../../src/cli/commands/mcp/wire.ts'
import { openStore } from '../../src/index.ts'
import type { Bundled } from '../support/bundled.ts'
import { bundleCli } from '../support/cli-bundle.ts'
import { say } from '../support/conversation.ts'
import { unprivileged } from '../support/postgres.ts'
import { newFile } from '../support/temporary.ts'

/* The server as a process: its streams, its end, and input that is no message. */

let bundled: Bundled
let db: string
beforeAll(async () => {
  bundled = await bundleCli()
  db = newFile()
  const store = await openStore(db, { env: false })
  await store.append('talk', [say('user', 'Does the kettle work?'), say('assistant', 'It boils.')])
  await store.close()
})
afterAll(() => bundled.remove())

type Answer = {
  readonly id?: number | null
  readonly result?: {
    readonly content?: readonly { readonly text: string }[]
    readonly isError?: boolean
    readonly tools?: readonly unknown[]
  }
  readonly error?: { readonly code: number; readonly message: string }
}

class Raw {
  readonly child: ChildProcessWithoutNullStreams
  out = ''
  err = ''
  readonly #closed: Promise<unknown[]>

  constructor(argv: readonly string[], path = db, as: { uid: number; gid: number } | undefined = undefined) {
    this.child = spawn(process.execPath, [bundled.script, 'mcp', '--db', path, ...argv], { ...as })
    this.child.stdout.on('data', (chunk) => {
      this.out += String(chunk)
    })
    this.child.stderr.on('data', (chunk) => {
      this.err += String(chunk)
    })
    this.child.stdin.on('error', () => {})
    this.#closed = once(this.child, 'close')
  }

  /** Every line of the output is a message of the protocol. */
  get answers(): Answer[] {
    return this.out
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Answer)
  }

  async ended(): Promise<number | string> {
    const [code, signal] = await this.#closed
    return (code ?? signal) as number | string
  }

  async until(id: number): Promise<Answer> {
    for (;;) {
      const whole = this.out.slice(0, this.out.lastIndexOf('\n') + 1)
      const found = whole
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as Answer)
        .find((answer) => answer.id === id)
      if (found !== undefined) return found
      await once(this.child.stdout, 'data')
    }
  }
}

const message = (value: object): string => `${JSON.stringify({ jsonrpc: '2.0', ...value })}\n`
const HELLO =
  message({
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
  }) + message({ method: 'notifications/initialized' })
const call = (id: number, name: string, given: object): string =>
  message({ id, method: 'tools/call', params: { name, arguments: given } })

describe('the input', () => {
  it('may be a pipe that ends at once: all requests are answered first', async () => {
    const raw = new Raw([])
    raw.child.stdin.end(
      HELLO + call(2, 'search_history', { query: 'kettle' }) + call(3, 'get_view', { session_id: 'talk' }),
    )
    expect(await raw.ended()).toBe(0)
    expect(raw.answers.map(({ id }) => id).sort()).toEqual([1, 2, 3])
    expect(raw.answers.find(({ id }) => id === 2)?.result?.content?.[0]?.text).toContain(
      'Does the kettle work?',
    )
    expect(raw.err).toBe('')
  })

  it('that is no message is answered with an error, and the next message is read', async () => {
    const raw = new Raw([])
    raw.child.stdin.write(HELLO)
    raw.child.stdin.write('not json: the kettle\n{"jsonrpc":"1.0","id":7,"method":"ping"}\n[]\n\n')
    raw.child.stdin.write(Buffer.from([0xff, 0xfe, 0x0a]))
    raw.child.stdin.end(message({ id: 2, method: 'tools/list' }))
    expect(await raw.ended()).toBe(0)
    // Answers come when they are ready, in any order.
    expect(raw.answers.map(({ id, error }) => `${id} ${error?.code}`).sort()).toEqual(
      ['1 undefined', '2 undefined', '7 -32600', 'null -32600', 'null -32600', 'null -32700'].sort(),
    )
    expect(raw.out + raw.err).not.toContain('kettle')
  })

  it('may end within a message, or hold one in any pieces', async () => {
    const raw = new Raw([])
    for (const byte of HELLO) raw.child.stdin.write(byte)
    await raw.until(1)
    raw.child.stdin.end('{"jsonrpc":"2.0","id":2,"meth')
    expect(await raw.ended()).toBe(0)
    expect(raw.answers.length).toBe(1)
  })

  it('may end after a message without a line break', async () => {
    const raw = new Raw([])
    raw.child.stdin.end(HELLO + call(2, 'search_history', { query: 'kettle' }).trimEnd())
    expect(await raw.ended()).toBe(0)
    expect(raw.answers.map(({ id }) => id).sort()).toEqual([1, 2])
  })

  it('may hold a message that is too long, which is refused and not kept', async () => {
    const raw = new Raw([])
    raw.child.stdin.write(HELLO)
    const long = call(2, 'search_history', { query: 'x'.repeat(MAX_MESSAGE_BYTES) })
    raw.child.stdin.end(long + call(3, 'search_history', { query: `kettle ${'x'.repeat(15_000)}` }))
    expect(await raw.ended()).toBe(0)
    expect(raw.answers.map(({ id, error }) => `${id} ${error?.code}`).sort()).toEqual([
      '1 undefined',
      '3 undefined',
      'null -32600',
    ])
  })
})

describe('the end', () => {
  it.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
    'comes with %s, in the middle of everything',
    async (signal) => {
      const raw = new Raw(['--allow', 'compact'])
      raw.child.stdin.write(HELLO)
      await raw.until(1)
      raw.child.stdin.write(call(2, 'search_history', { query: 'kettle' }))
      raw.child.kill(signal)
      expect(await raw.ended()).toBe(130)
      const store = await openStore(db, { env: false })
      expect((await store.sessions.verify('talk')).findings).toEqual([])
      await store.close()
    },
  )

  it('comes when the client is killed and nobody reads any more', async () => {
    const raw = new Raw(['--allow', 'pin'])
    raw.child.stdin.write(HELLO)
    await raw.until(1)
    raw.child.stdout.destroy()
    for (let id = 2; id < 50; id += 1) raw.child.stdin.write(call(id, 'list_sessions', {}))
    expect(await raw.ended()).toBe(0)
    expect(raw.err).toBe('')
  })

  it('is an error before the first message when something is wrong', async () => {
    const cases: readonly (readonly [argv: readonly string[], path: string, exit: number, says: string])[] = [
      [[], '/no/such/store.db', 3, 'There is no store'],
      [['--watch', '/tmp'], db, 2, '--watch requires --allow import'],
      [['--allow', 'import', '--watch', '/no/such/folder'], db, 3, 'There is no folder'],
      [['--allow', 'everything'], db, 2, 'Allowed choices'],
      [['--max-tokens', '10'], db, 2, 'at least 300'],
      [['--json'], db, 2, "--json doesn't apply"],
    ]
    for (const [argv, path, exit, says] of cases) {
      const raw = new Raw(argv, path)
      raw.child.stdin.end(HELLO)
      expect(await raw.ended()).toBe(exit)
      expect(argv.includes('--json') ? raw.out : raw.err).toContain(says)
      if (!argv.includes('--json')) expect(raw.out).toBe('')
    }
  })
})

it('serves a store whose file cannot be written, and reports what is not in the index', async (test) => {
  for (let folder = dirname(bundled.script); folder.startsWith(bundled.folder); folder = dirname(folder))
    chmodSync(folder, 0o755)
  // Root writes any file, so the server runs as another user, who may have no way to Node or to this checkout.
  const reachable = spawnSync(process.execPath, [bundled.script, '--version'], unprivileged())
  if (reachable.status !== 0) test.skip('another user cannot reach Node or this checkout')
  const path = newFile()
  const store = await openStore(path, { env: false })
  await store.append('talk', [say('user', 'Does the kettle work?')])
  await store.close()
  chmodSync(path, 0o444)
  chmodSync(dirname(path), 0o777)
  const raw = new Raw([], path, unprivileged())
  raw.child.stdin.end(
    HELLO + call(2, 'search_history', { query: 'kettle' }) + call(3, 'get_view', { session_id: 'talk' }),
  )
  expect([await raw.ended(), raw.err]).toEqual([0, ''])
  expect(raw.answers.find(({ id }) => id === 2)?.result?.content?.[0]?.text).toContain("aren't indexed yet")
  expect(raw.answers.find(({ id }) => id === 3)?.result?.content?.[0]?.text).toContain(
    'Does the kettle work?',
  )
})
