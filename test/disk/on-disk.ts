import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, statfsSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { openStore } from '../../src/index.ts'
import { say, units } from '../support/conversation.ts'
import { CANARY } from '../support/failures.ts'
import { fillUp, outcomeOf } from './fill.ts'
import { type Furnished, READS, WRITES } from './verbs.ts'

/* A process of its own on a disk that was prepared for it: runs one script and prints what came of it. */

const [script = '', folder = ''] = process.argv.slice(2)
const file = join(folder, 'chats.db')

const scripts: Record<string, () => Promise<unknown>> = {
  /** Fills the disk; room is made by removing another file. */
  fill: async () => {
    const ballast = join(folder, 'ballast')
    writeFileSync(ballast, Buffer.alloc(4_500_000))
    const store = await openStore(file)
    const filled = await fillUp(store, { shrink: () => undefined, makeRoom: () => unlinkSync(ballast) })
    await store.close()
    return { ...filled, reopened: await reopened() }
  },

  /** Writes until a file would be larger than it may; then the limit is lifted. */
  limit: async () => {
    const store = await openStore(file)
    const lift = (): unknown => spawnSync('prlimit', ['--pid', String(process.pid), '--fsize=unlimited'])
    const filled = await fillUp(store, { shrink: () => undefined, makeRoom: lift })
    await store.close()
    return { ...filled, reopened: await reopened() }
  },

  /** There is room for a removal, and none for rewriting the file. */
  purge: async () => {
    const ballast = join(folder, 'ballast')
    const readable = (): boolean =>
      readdirSync(folder).some((name) => readFileSync(join(folder, name)).includes(CANARY))
    const store = await openStore(file)
    await store.append('gone', [say('user', CANARY)])
    for (let nth = 0; nth < 20; nth++) await store.append('kept', [say('user', units(20_000))])
    new BetterSqlite3(file).pragma('wal_checkpoint(truncate)')
    writeFileSync(ballast, Buffer.alloc(statfsSync(folder).bavail * statfsSync(folder).bsize - 400_000))
    const { filesCleared } = await store.sessions.purge('gone')
    const whileFull = [readable(), await outcomeOf(() => store.append('kept', [say('user', 'x')]))]
    unlinkSync(ballast)
    await new Promise((resolve) => setTimeout(resolve, 150))
    const afterwards = [await outcomeOf(() => store.append('kept', [say('user', 'y')])), readable()]
    const { findings } = await store.sessions.verify('kept')
    await store.close()
    return { filesCleared, whileFull, afterwards, findings }
  },

  /** Opens every store in the folder, for writing and for reading, and tries every verb. */
  open: async () => {
    const outcomes: Record<string, unknown> = {}
    for (const name of readdirSync(folder).filter((entry) => entry.endsWith('.db'))) {
      for (const readonly of [false, true])
        outcomes[`${name}${readonly ? ' read-only' : ''}`] = await everyVerb(join(folder, name), readonly)
    }
    return outcomes
  },
}

async function reopened(): Promise<string> {
  return outcomeOf(async () => {
    const store = await openStore(file)
    await store.append('s', [{ role: 'user', content: 'x' }])
    await store.close()
  })
}

async function everyVerb(path: string, readonly: boolean): Promise<unknown> {
  const reads: Record<string, string> = {}
  const writes: Record<string, string> = {}
  const furnished = JSON.parse(readFileSync(join(folder, 'furnished.json'), 'utf8')) as Furnished
  const opened = await outcomeOf(async () => {
    const store = await openStore(path, { readonly })
    for (const [name, act] of Object.entries(READS))
      reads[name] = await outcomeOf(() => act(store, furnished))
    for (const [name, act] of Object.entries(WRITES))
      writes[name] = await outcomeOf(() => act(store, furnished))
    await store.close()
  })
  return { opened, reads, writes }
}

process.stdout.write(JSON.stringify(await scripts[script]!()))
