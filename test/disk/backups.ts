import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import BetterSqlite3 from 'better-sqlite3'
import { build } from 'esbuild'
import { expect } from 'vitest'
import { openStore } from '../../src/index.ts'
import { chat } from '../support/conversation.ts'
import { randomFrom } from '../support/random.ts'
import { newFolder } from '../support/temporary.ts'
import type { Role, Said } from './backup-child.ts'

const WRITERS = ['ann', 'bob', 'cleo'] as const
/** Sessions that make the copy take several steps. */
const FILLERS = 10

type Child = { readonly process: ChildProcess; readonly gone: Promise<unknown>; readonly said: Said[] }

/** What came of the backups; `partial` counts those that were killed while they were written. */
export type Result = {
  readonly whole: number
  readonly killed: number
  readonly partial: number
  readonly writersKilled: number
}

/**
 * Makes backups while three processes write, a fourth purges sessions, and writers and copiers are killed. Each backup is a sound store as
 * of one moment, and without what was purged before it began.
 */
export async function backUpUnderLoad(copies: number, seed: number): Promise<Result> {
  const random = randomFrom(seed)
  const folder = newFolder()
  const script = await bundled(folder)
  const [path, target] = [join(folder, 'chats.db'), join(folder, 'backups')]
  mkdirSync(target)
  const store = await openStore(path)
  for (let n = 0; n < FILLERS; n++) await store.append(`filler ${n}`, chat(25, 4_000))
  await store.close()

  const failures: string[] = []
  const purged = new Set<number>()
  const children = new Set<Child>()
  const start = (role: Role, argument: string): Child => {
    const process_ = spawn(process.execPath, [script, role, path, argument], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    const gone = new Promise((resolve) => process_.once('close', resolve))
    const child: Child = { process: process_, gone, said: [] }
    createInterface({ input: process_.stdout! }).on('line', (line) => {
      const said = JSON.parse(line) as Said
      child.said.push(said)
      if (said.event === 'purged') purged.add(said.nth)
      if (said.event === 'failed') failures.push(`${role} ${argument}: ${said.error}`)
    })
    children.add(child)
    void gone.then(() => children.delete(child))
    return child
  }
  const kill = async (child: Child): Promise<void> => {
    child.process.kill('SIGKILL')
    await child.gone
  }
  const result = { whole: 0, killed: 0, partial: 0, writersKilled: 0 }
  const writers = WRITERS.map((name) => start('writer', name))
  start('purger', '1')
  try {
    for (let nth = 1; result.whole < copies; nth++) {
      const file = join(target, `${nth}.db`)
      const before = new Set(purged)
      const copier = start('copier', file)
      const victim = Math.floor(random() * WRITERS.length)
      await pause(random() * 150)
      await kill(writers[victim]!)
      result.writersKilled += 1
      writers[victim] = start('writer', WRITERS[victim]!)
      if (random() < 1 / 3) {
        while (copier.said.length === 0 && copier.process.exitCode === null) await pause(2)
        await pause(random() * 80)
        await kill(copier)
      }
      await copier.gone
      expect(failures).toEqual([])
      const wasKilled = copier.process.signalCode !== null
      if (wasKilled) result.killed += 1
      else expect(copier.said.at(-1)).toEqual({ event: 'copied' })
      if (!existsSync(file)) {
        expect(wasKilled, `${file} is missing`).toBe(true)
        continue
      }
      await expectSound(file, before)
      result.whole += 1
      rmSync(file)
    }
    const left = readdirSync(target)
    expect(
      left.filter((name) => !/^\d+\.db\.[0-9a-f]{8}\.partial-backup(-wal|-shm|-journal)?$/.test(name)),
    ).toEqual([])
    result.partial = left.filter((name) => name.endsWith('.partial-backup')).length
    expect(result.partial).toBeLessThanOrEqual(result.killed)
  } finally {
    for (const child of [...children]) await kill(child)
  }
  return result
}

/** The child as one file, which starts in a third of the time. */
async function bundled(folder: string): Promise<string> {
  const outfile = join(folder, 'build', 'a', 'b', 'c', 'child.mjs')
  mkdirSync(join(folder, 'build'))
  symlinkSync(join(import.meta.dirname, '..', '..', 'node_modules'), join(folder, 'build', 'node_modules'))
  await build({
    entryPoints: [join(import.meta.dirname, 'backup-child.ts')],
    ...{ outfile, bundle: true, format: 'esm', platform: 'node', packages: 'external', logLevel: 'error' },
  })
  return outfile
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

async function expectSound(file: string, purgedBefore: ReadonlySet<number>): Promise<void> {
  const database = new BetterSqlite3(file, { readonly: true })
  expect(database.pragma('integrity_check', { simple: true })).toBe('ok')
  database.close()
  const readable = [...readFileSync(file, 'latin1').matchAll(/secret-(\d+)-end/g)].map(([, nth]) =>
    Number(nth),
  )
  expect(
    [...new Set(readable)].filter((nth) => purgedBefore.has(nth)),
    'what was purged',
  ).toEqual([])
  const store = await openStore(file, { readonly: true })
  const sessions = await store.sessions.list({ limit: 10_000 })
  for (const { id } of sessions) expect((await store.sessions.verify(id)).findings, id).toEqual([])
  for (const name of WRITERS) {
    const [first, second] = await Promise.all(
      ['first', 'second'].map(async (which) => {
        const id = `${name} ${which}`
        return sessions.some((one) => one.id === id)
          ? (await store.getMessages(id)).filter(({ kind }) => kind === 'message')
          : []
      }),
    )
    for (const messages of [first!, second!])
      expect(
        messages.every(({ content }, at) => content === `${at + 1}`),
        `${name} has a gap`,
      ).toBe(true)
    expect([0, 1], name).toContain(first!.length - second!.length)
  }
  expect(sessions.filter(({ id }) => id.startsWith('filler'))).toHaveLength(FILLERS)
  await store.close()
}
