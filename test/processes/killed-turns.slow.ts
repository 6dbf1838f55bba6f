import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { isUndertextError, openStore, type Store } from '../../src/index.ts'
import { LEASE_MS } from '../../src/storage/process.ts'
import { type Bundled, bundle } from '../support/bundled.ts'
import { postgresServer } from '../support/postgres.ts'
import { newFile } from '../support/temporary.ts'

/* Turns whose process is killed, or doesn't answer, and two processes that begin one at once. */

const server = await postgresServer()
let bundled: Bundled
beforeAll(async () => {
  bundled = await bundle('test/processes/turn-child.ts')
})
afterAll(() => bundled.remove())

const ENGINES = [
  ['SQLite', async () => newFile()],
  ...(server === undefined ? [] : [['PostgreSQL', () => server.newDatabase()] as const]),
] as const

/** A process in its turn. */
async function child(location: string) {
  const started = spawn(process.execPath, [bundled.script, location], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void started.kill('SIGKILL'))
  const lines = createInterface(started.stdout)[Symbol.asyncIterator]()
  const says = async (): Promise<string> => String((await lines.next()).value)
  return {
    says,
    kill: async () => {
      const ended = once(started, 'exit')
      started.kill('SIGKILL')
      await ended
    },
  }
}

const texts = async (store: Store): Promise<string[]> =>
  (await store.getMessages('s')).map(({ content }) =>
    typeof content === 'string'
      ? content
      : content.map((part) => (part.type === 'text' ? part.text : `<${part.type}>`)).join(''),
  )

describe.each(ENGINES)('on %s', (engine, locate) => {
  const open = async (): Promise<{ readonly store: Store; readonly location: string }> => {
    const location = await locate()
    const store = await openStore(location, { busyTimeoutMs: 30_000 })
    onTestFinished(() => store.close())
    await store.append('s', [
      { role: 'user', content: 'Pay it.' },
      {
        role: 'assistant',
        content: [{ type: 'tool-call', toolCallId: 'call-1', toolName: 'pay', input: {} }],
      },
    ])
    return { store, location }
  }

  it('a killed turn is taken over, its draft is offered until it is kept, and its call is not run again', async () => {
    const { store, location } = await open()
    const first = await child(location)
    expect(await first.says()).toBe('claimed true')
    expect(await first.says()).toBe('at work')
    await expect(store.beginTurn('s', { waitMs: 100 })).rejects.toMatchObject({ code: 'TURN_IN_PROGRESS' })
    await first.kill()

    const killedAt = performance.now()
    const turn = await store.beginTurn('s', { waitMs: 30_000 })
    const waited = performance.now() - killedAt
    // SQLite sees that the process is gone; on PostgreSQL it may be on another machine, so its claim runs out.
    if (engine === 'SQLite') expect(waited).toBeLessThan(2_000)
    else expect(waited).toBeLessThan(LEASE_MS + 3_000)
    expect(turn.draft).toMatchObject({
      messages: [{ role: 'assistant', content: [{ type: 'text', text: 'The answer is' }] }],
      position: 2,
    })
    expect(await turn.claimCall('call-1')).toBe(false)
    await turn.end()

    // The next process is killed too, after it kept the draft.
    const second = await child(location)
    expect(await second.says()).toBe('claimed false')
    expect(await second.says()).toBe('at work')
    await second.kill()
    const last = await store.beginTurn('s', { waitMs: 30_000 })
    expect(last.draft?.position).toBe(3)
    await last.dropDraft()
    await last.finish({ messages: [{ role: 'assistant', content: [{ type: 'text', text: 'Paid.' }] }] })
    expect(await texts(store)).toEqual([
      'Pay it.',
      '<tool-call>',
      'The answer is[This answer was interrupted before its end.]',
      'Paid.',
    ])
    expect((await store.sessions.verify('s')).findings).toEqual([])
  }, 60_000)

  it('of two processes that begin at once, one is refused', async () => {
    const { location, store } = await open()
    const other = await openStore(location, { busyTimeoutMs: 30_000 })
    onTestFinished(() => other.close())
    const begun = await Promise.allSettled(
      [store, other, store, other].map((one) => one.beginTurn('s', { waitMs: 0 })),
    )
    const refused = begun.filter((one) => one.status === 'rejected')
    expect(refused.map(({ reason }) => isUndertextError(reason, 'TURN_IN_PROGRESS'))).toEqual([
      true,
      true,
      true,
    ])
    for (const one of begun) if (one.status === 'fulfilled') await one.value.end()
  })

  it('a draft is not exported, forked, searched or counted', async () => {
    const { store } = await open()
    const before = await store.getContextStats('s')
    const turn = await store.beginTurn('s')
    await turn.flush([{ role: 'assistant', content: [{ type: 'text', text: 'XYZZY plugh' }] }])
    await turn.end()
    let lines = ''
    for await (const line of await store.sessions.export('s')) lines += JSON.stringify(line)
    expect(lines).not.toContain('XYZZY')
    expect((await store.search('XYZZY')).hits).toEqual([])
    expect(await store.getContextStats('s')).toEqual(before)
    expect(JSON.stringify(await store.sessions.audit('s'))).not.toContain('XYZZY')
    const fork = await store.sessions.fork('s')
    const own = await store.beginTurn(fork.id)
    expect(own.draft).toBeUndefined()
    await own.end()
    const next = await store.beginTurn('s')
    expect(next.draft?.messages).toHaveLength(1)
    await next.end()
  })
})
