import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import type { NewMessage, Store } from '../../src/index.ts'
import { call, result, say } from '../support/conversation.ts'
import { newFolder } from '../support/temporary.ts'

export const DAY_MS = 86_400_000
/** A time at which everything that a test stores is a day old. */
export const tomorrow = (): number => Date.now() + DAY_MS

/** A word that only removed outputs contain. */
export const CANARY = 'heroncanary'

/** Turns with an output each, which contains the canary, but not at its beginning: a summary quotes that. */
export function turns(count: number, outputBytes = 3_000): NewMessage[] {
  return Array.from({ length: count }, (_, turn) => [
    say('user', `question ${turn}`),
    call(`c${turn}`, 'read', { path: `${turn}.ts` }),
    result(`c${turn}`, `${'-'.repeat(500)}${`${CANARY} ${turn} `.repeat(Math.ceil(outputBytes / 16))}`),
    say('assistant', `answer ${turn}`),
  ]).flat()
}

/** Makes sessions in which all turns but the last are hidden; the first of them are archived. */
export async function fill(store: Store, sessions: number, count: number, archived: number): Promise<void> {
  for (let at = 0; at < sessions; at++) {
    const id = `session-${at}`
    await store.append(id, turns(count), { previewToolOutputs: false })
    await store.compactSession(id, { range: { from: 1, to: (count - 1) * 4 }, summary: 'They read files.' })
    if (at < archived) await store.sessions.archive(id)
  }
}

const REPOSITORY = join(import.meta.dirname, '..', '..')

/** Returns a function that starts a process of `child.ts`. */
export async function children(): Promise<(file: string, ...how: string[]) => ChildProcess> {
  const folder = newFolder()
  const script = join(folder, 'a', 'b', 'c', 'child.mjs')
  mkdirSync(join(folder, 'a'))
  // The one file finds its packages where the source would.
  symlinkSync(join(REPOSITORY, 'node_modules'), join(folder, 'node_modules'))
  await build({
    entryPoints: [join(import.meta.dirname, 'child.ts')],
    ...{ outfile: script, bundle: true, format: 'esm', platform: 'node', packages: 'external' },
    logLevel: 'error',
  })
  return (file, ...how) => fork(script, [file, ...how], { execArgv: [] })
}

/** Resolves to the next message of a child other than `begins`; rejects if it ends without one. */
export async function said(child: ChildProcess): Promise<unknown> {
  const exit = once(child, 'exit').then(() => {
    throw new Error('the process ended')
  })
  exit.catch(() => {})
  for (;;) {
    const [message] = await Promise.race([once(child, 'message'), exit])
    if (message !== 'begins') return message
  }
}
