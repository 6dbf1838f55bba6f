import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, chownSync, constants, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { openStore, type Store } from '../../../src/index.ts'
import { fromPool } from '../../../src/storage/postgres/drivers.ts'
import { chat, say } from '../../support/conversation.ts'
import { expectFailure, failureOf } from '../../support/failures.ts'
import { freePort, postgresServer, query, unprivileged } from '../../support/postgres.ts'
import { newFolder } from '../../support/temporary.ts'
import { fakeModel, KEEPS_ALL, ONLY, waitingModel } from '../contract/support.ts'
import { describeStore, SAMPLE } from '../contract.ts'
import { schemasOf } from './schemas.ts'

/* PgBouncer in transaction mode: each transaction has any of four connections to the server, which forgets its state after each. */

const program = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin']
  .map((folder) => join(folder, 'pgbouncer'))
  .find(isExecutable)
const server = await postgresServer()
if (program === undefined) console.log('PgBouncer is not installed, so its tests are skipped.')

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** Starts PgBouncer before the server of a URL, until the tests of the file end; returns the URL through it. */
async function startPooler(
  url: string,
  settings: Readonly<Record<string, string | number>>,
): Promise<string> {
  const { hostname, port, username, password } = new URL(url)
  const folder = newFolder()
  const through = new URL(url)
  through.host = `127.0.0.1:${await freePort()}`
  const all = {
    listen_addr: '127.0.0.1',
    listen_port: through.port,
    unix_socket_dir: '',
    auth_type: 'scram-sha-256',
    auth_file: join(folder, 'users'),
    pool_mode: 'transaction',
    default_pool_size: 4,
    max_client_conn: 500,
    ...settings,
  }
  const lines = Object.entries(all).map(([name, value]) => `${name} = ${value}`)
  const databases = `[databases]\n* = host=${hostname} port=${port || 5432}\n`
  writeFileSync(join(folder, 'users'), `"${username}" "${password}"\n`)
  writeFileSync(join(folder, 'settings'), `${databases}[pgbouncer]\n${lines.join('\n')}\n`)
  const user = unprivileged()
  if (user !== undefined)
    for (const path of [folder, join(folder, 'users'), join(folder, 'settings')])
      chownSync(path, user.uid, user.gid)
  const child = spawn(program!, ['-q', join(folder, 'settings')], { ...user, cwd: folder, stdio: 'ignore' })
  const endNow = (): void => void child.kill('SIGQUIT')
  process.once('exit', endNow)
  afterAll(async () => {
    process.off('exit', endNow)
    const exit = once(child, 'exit')
    child.kill('SIGTERM')
    await exit
  })
  for (let attempt = 0; ; attempt++)
    try {
      await query(through.href, 'select 1')
      return through.href
    } catch (error) {
      if (attempt === 200 || child.exitCode !== null) throw error
      await sleep(20)
    }
}

const CLIENTS = 16
const SUMMARIZE = { ...ONLY.summarize, targetTokens: 0, keepRecentTokens: 64 }

describe.skipIf(server === undefined || program === undefined)('through PgBouncer', async () => {
  if (server === undefined || program === undefined) return
  const direct = await server.newDatabase()
  const through = await startPooler(direct, { server_reset_query_always: 1 })
  const unprepared = `${through}?prepare=false`

  const open = async (url = unprepared): Promise<Store> => {
    const store = await openStore(url, { estimator: 'neurolink', busyTimeoutMs: 30_000 })
    onTestFinished(() => store.close())
    return store
  }
  const openMany = (count = CLIENTS): Promise<Store[]> =>
    Promise.all(Array.from({ length: count }, () => open()))

  /** The texts of a session, checked. */
  const soundTexts = async (store: Store, id: string): Promise<string[]> => {
    expect((await store.sessions.verify(id)).findings).toEqual([])
    const rows = (await store.getMessages(id)).filter(({ kind }) => kind === 'message')
    expect(rows.map(({ position }) => position)).toEqual(rows.map((_, index) => index + 1))
    return rows.map(({ content }) => content as string)
  }

  describe('with four connections', () => {
    it('16 clients make the tables once', async () => {
      const stores = await openMany()
      expect(await stores[0]!.sessions.list()).toEqual([])
    })

    it('16 clients append to one session without a gap', async () => {
      const stores = await openMany()
      await Promise.all(
        stores.map(async (store, client) => {
          for (let turn = 0; turn < 10; turn++) await store.append('one', [say('user', `${client}/${turn}`)])
        }),
      )
      const texts = await soundTexts(stores[0]!, 'one')
      expect(texts).toHaveLength(160)
      for (let client = 0; client < CLIENTS; client++)
        expect(texts.filter((text) => text.startsWith(`${client}/`))).toEqual(
          Array.from({ length: 10 }, (_, turn) => `${client}/${turn}`),
        )
    })

    it('16 clients write 50 sessions in turn', async () => {
      const stores = await openMany()
      await Promise.all(
        stores.map(async (store, client) => {
          for (let n = 0; n < 50; n++) await store.append(`many ${n}`, [say('user', `${client}`)])
        }),
      )
      for (let n = 0; n < 50; n++) {
        const texts = await soundTexts(stores[n % CLIENTS]!, `many ${n}`)
        expect(texts.map(Number).sort((a, b) => a - b)).toEqual(
          Array.from({ length: CLIENTS }, (_, client) => client),
        )
      }
    })

    it('the lease of a session is held while its run waits for a model, and what it did is undone and redone', async () => {
      const [one, two] = await openMany(2)
      await one!.append('leased', chat(20))
      const model = waitingModel('of one')
      const run = one!.compactSession('leased', { ...SUMMARIZE, summarizer: model.summarizer })
      await model.asked
      const error = await failureOf(() =>
        two!.compactSession('leased', { ...SUMMARIZE, waitMs: 0, summarizer: fakeModel('of two') }),
      )
      expectFailure(error, 'COMPACTION_IN_PROGRESS')
      await two!.append('leased', [say('user', 'meanwhile')])
      model.answer()
      const [{ id } = { id: '' }] = (await run)!.compactions
      const summarized = await two!.getEffectiveHistory('leased')
      expect(summarized.length).toBeLessThan(41)
      await two!.undoCompaction('leased', id)
      expect(await one!.getEffectiveHistory('leased')).toHaveLength(41)
      await one!.redoCompaction('leased', id)
      expect(await two!.getEffectiveHistory('leased')).toEqual(summarized)
      expect(await soundTexts(one!, 'leased')).toHaveLength(41)
    })

    it('a session is purged', async () => {
      const store = await open()
      await store.append('purged', chat(2))
      await store.sessions.purge('purged')
      expect(await query(direct, "select 1 from undertext.names where id = 'purged'")).toEqual([])
    })

    it('with named statements, says to open the store without', async () => {
      const stores = [await open(through), await open(through)]
      await stores[0]!.sessions.create({ id: 'named' })
      const append = async (): Promise<void> => {
        for (let turn = 0; turn < 20; turn++)
          await Promise.all(stores.map((store) => store.append('named', [say('user', 'hi')])))
      }
      const error = await failureOf(append)
      expectFailure(error, 'STORE_UNAVAILABLE')
      expect(error).toMatchObject({ message: /\((?:26000|42P05)\).*prepare: false/ })
    })
  })

  describe('the contract', () => {
    const pool = new pg.Pool({ connectionString: through, max: 1 })
    pool.on('error', () => {})
    afterAll(() => pool.end())
    const newSchema = schemasOf(() => fromPool(pool))

    describeStore(
      'PgBouncer',
      async () => {
        const options = { schema: await newSchema(), estimator: 'neurolink' } as const
        return {
          store: await openStore(unprepared, options),
          reopen: () => openStore(unprepared, options),
        }
      },
      KEEPS_ALL,
      SAMPLE,
    )
  })
})
