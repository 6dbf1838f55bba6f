import type { Socket } from 'node:net'
import { openStore, type Store } from '../../src/index.ts'
import { say } from '../support/conversation.ts'

/*
 * A process of the backups under load, which is killed at any moment. A writer appends the same number to its first session and then to its
 * second, again and again. A purger adds sessions and purges them. A copier makes one backup.
 */

export type Role = 'writer' | 'purger' | 'copier'
/** What a process says: that it works, that a session was purged, or that a backup was made. */
export type Said =
  | { readonly event: 'working' }
  | { readonly event: 'purged'; readonly nth: number }
  | { readonly event: 'copied' }
  | { readonly event: 'failed'; readonly error: string }

const [role, path, argument = ''] = process.argv.slice(2) as [Role, string, string]
// Nobody is left to work for.
process.stdin.resume().on('end', () => process.exit())
// It keeps no process from ending that has done its work.
;(process.stdin as Partial<Socket>).unref?.()

const tell = (said: Said): void => void process.stdout.write(`${JSON.stringify(said)}\n`)
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

async function lengthOf(store: Store, id: string): Promise<number> {
  return (await store.sessions.list({ limit: 10_000 })).find((one) => one.id === id)?.messageCount ?? 0
}

async function write(store: Store): Promise<never> {
  const [first, second] = [`${argument} first`, `${argument} second`]
  for (let n = (await lengthOf(store, second)) + 1; ; n++) {
    // One that was killed in between continues with its second session.
    if ((await lengthOf(store, first)) < n) await store.append(first, [say('user', `${n}`)])
    await store.append(second, [say('user', `${n}`)])
    if (n % 50 === 0) {
      const run = await store.compactSession(second, {
        range: { from: n - 9, to: n - 2 },
        summary: 'Numbers.',
      })
      if (n % 100 === 0) await store.undoCompaction(second, run!.runId)
    }
    await pause(1)
  }
}

/** A text that only the session to be purged has. */
export const secretOf = (nth: number): string => `secret-${nth}-end`

async function purge(store: Store): Promise<never> {
  for (let nth = Number(argument); ; nth++) {
    await store.append(`purged ${nth}`, [say('user', `${secretOf(nth)} `.repeat(300))])
    await store.sessions.purge(`purged ${nth}`, { clearFiles: nth % 2 === 0 })
    tell({ event: 'purged', nth })
    await pause(200)
  }
}

/** Calls of a store whose file others use may be refused for a moment. */
async function work(): Promise<void> {
  const store = await openStore(path, {
    readonly: argument.endsWith('0.db') && role === 'copier',
    busyTimeoutMs: 60_000,
  })
  tell({ event: 'working' })
  if (role === 'writer') await write(store)
  if (role === 'purger') await purge(store)
  await store.backup(argument)
  tell({ event: 'copied' })
  await store.close()
}

work().catch((error: unknown) => tell({ event: 'failed', error: String((error as Error).stack) }))
