import { v7 as uuidv7 } from 'uuid'
import { isUndertextError, UndertextError } from '../../../core/errors.ts'
import { isGivenUp, LEASE_HOLDER, LEASE_MS, liveRuns } from '../../../storage/process.ts'
import type { ImportFields, NewImport, Session, Storage } from '../../../storage/storage.ts'
import { renewing } from '../../renew-lease.ts'

/** Maximum number of messages or records in one transaction. */
export const BATCH_SIZE = 500
/** Approximate maximum characters in one transaction, which takes a few tens of milliseconds. */
const BATCH_CHARACTERS = 4_000_000

/** Items that are written or looked up together. */
export class Batch<T> {
  #items: T[] = []
  #characters = 0

  get isFull(): boolean {
    return this.#items.length >= BATCH_SIZE || this.#characters >= BATCH_CHARACTERS
  }

  add(thing: T): void {
    this.#items.push(thing)
    this.#characters += lengthOf(thing)
  }

  /** Returns the items added since the last call. */
  take(): readonly T[] {
    const things = this.#items
    this.#items = []
    this.#characters = 0
    return things
  }
}

/** Returns the approximate length of a value as JSON: texts, inputs and data dominate a message. */
function lengthOf(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 8
  if (value instanceof Uint8Array) return value.length
  let sum = 0
  if (Array.isArray(value)) for (const inner of value) sum += lengthOf(inner)
  else for (const name in value) sum += lengthOf((value as Record<string, unknown>)[name])
  return sum
}

const STAGED = '~import/'
const DISCARDED_AT_ONCE = 1_000
/** Milliseconds after its lease until an import by a process that can't be observed counts as abandoned. */
const ABANDONED_AFTER_MS = 24 * 60 * 60 * 1_000

/** Returns a name that no caller's session has. */
export function stagedName(): string {
  return `${STAGED}${uuidv7()}`
}

/**
 * Runs `work` on a session that is invisible until `work` publishes it. If `work` throws, the session is removed; if this process dies, the
 * next import removes it. Errors contain the session's final name.
 */
export async function staged<T>(
  storage: Storage,
  sessionId: string,
  about: ImportFields,
  work: (session: Session) => Promise<T>,
): Promise<T> {
  const id = stagedName()
  liveRuns.add(id)
  try {
    return await renewing(
      () => renew(storage, id),
      async () => work(await storage.beginImport({ ...about, id, ...newLease() })),
    )
  } catch (error) {
    await discard(storage, id).catch(() => undefined)
    throw underName(error, sessionId)
  } finally {
    liveRuns.delete(id)
  }
}

/** Returns a lease of this process that begins now. */
export function newLease(): Pick<NewImport, 'holder' | 'expiresAt'> {
  return { holder: LEASE_HOLDER, expiresAt: Date.now() + LEASE_MS }
}

async function renew(storage: Storage, id: string): Promise<void> {
  await storage.renewLease(id, { runId: id, ...newLease() })
}

/** Returns an error with a session's final name in place of its temporary one. */
function underName(error: unknown, sessionId: string): unknown {
  if (!isUndertextError(error)) return error
  const { facts } = error
  if (!('sessionId' in facts) || !facts.sessionId?.startsWith(STAGED)) return error
  return new UndertextError(error.code, { ...facts, sessionId }, { cause: error })
}

/** Removes the remains of imports whose processes have died. */
export async function discardAbandoned(storage: Storage): Promise<void> {
  for (const id of await abandonedImports(storage)) await discard(storage, id)
}

/** Returns the names of imports, and of sessions that are being removed, whose processes have died. */
export async function abandonedImports(storage: Storage): Promise<string[]> {
  const all = await storage.importsInProgress()
  const given = all.filter(({ id, holder, expiresAt }) =>
    isGivenUp({ holder, run: id, expiresAt }, ABANDONED_AFTER_MS),
  )
  return given.map(({ id }) => id)
}

/** Removes an unfinished import. */
export async function discard(storage: Storage, id: string): Promise<void> {
  while (!(await storage.discardImport(id, DISCARDED_AT_ONCE))) await othersFirst()
}

/** Yields to other work of this process, and to other processes that wait for the write lock. */
export function othersFirst(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
