import { v7 as uuidv7 } from 'uuid'
import { isUndertextError, UndertextError } from '../../errors.ts'
import { isGivenUp, LEASE_HOLDER, LEASE_MS, liveRuns, RENEW_MS } from '../../storage/process.ts'
import type { Session, StagedFields, StagedSession, Storage } from '../../storage/storage.ts'

/** Most messages, or records, written in one transaction. */
export const MOST_TOGETHER = 500
/** About as many characters as are written in one transaction: it takes some tens of milliseconds. */
const MOST_CHARACTERS = 4_000_000

/** Things that are written, or looked up, together. */
export class Batch<T> {
  #things: T[] = []
  #characters = 0

  get isFull(): boolean {
    return this.#things.length >= MOST_TOGETHER || this.#characters >= MOST_CHARACTERS
  }

  add(thing: T): void {
    this.#things.push(thing)
    this.#characters += lengthOf(thing)
  }

  /** What was added since the last time. */
  take(): readonly T[] {
    const things = this.#things
    this.#things = []
    this.#characters = 0
    return things
  }
}

/** About how many characters a value has in JSON: what is long in a message stands in texts, inputs and data. */
function lengthOf(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 8
  if (value instanceof Uint8Array) return value.length
  let sum = 0
  if (Array.isArray(value)) for (const inner of value) sum += lengthOf(inner)
  else for (const name in value) sum += lengthOf((value as Record<string, unknown>)[name])
  return sum
}

/** How names of sessions begin that are on their way. */
const STAGED = '~import/'
/** Rows taken out in one transaction. */
const DISCARDED_AT_ONCE = 1_000
/** A session whose process cannot be seen has been given up when its lease was over so long. */
const GIVEN_UP_AFTER_MS = 24 * 60 * 60 * 1_000

/**
 * Runs `work` on a session that nobody sees until `work` publishes it. When it throws, nothing of it is left; when this process dies,
 * the next import takes it out.
 */
export async function staged<T>(
  storage: Storage,
  about: StagedFields,
  work: (session: Session) => Promise<T>,
): Promise<T> {
  const id = `${STAGED}${uuidv7()}`
  liveRuns.add(id)
  const renewal = setInterval(() => void renew(storage, id), RENEW_MS)
  renewal.unref()
  try {
    const session = await storage.stageSession({ ...about, id, ...newLease() })
    return await work(session)
  } catch (error) {
    await discard(storage, id).catch(() => undefined)
    throw error
  } finally {
    clearInterval(renewal)
    liveRuns.delete(id)
  }
}

function newLease(): Pick<StagedSession, 'holder' | 'expiresAt'> {
  return { holder: LEASE_HOLDER, expiresAt: Date.now() + LEASE_MS }
}

/** One renewal that fails is followed by others, and other processes wait for many of them. */
async function renew(storage: Storage, id: string): Promise<void> {
  try {
    await storage.renewLease(id, { runId: id, ...newLease() })
  } catch (error) {
    if (!isUndertextError(error)) throw error
  }
}

/** An error of a session on its way under the name it was to have: the other one means nothing to anybody. */
export function underName(error: unknown, sessionId: string): unknown {
  if (!isUndertextError(error)) return error
  const { facts } = error
  if (!('sessionId' in facts) || !facts.sessionId?.startsWith(STAGED)) return error
  return new UndertextError(error.code, { ...facts, sessionId }, { cause: error })
}

/** Takes out what imports left behind whose processes are gone. */
export async function discardDead(storage: Storage): Promise<void> {
  for (const { id, holder, expiresAt } of await storage.stagedSessions())
    if (isGivenUp({ holder, run: id, expiresAt }, GIVEN_UP_AFTER_MS)) await discard(storage, id)
}

async function discard(storage: Storage, id: string): Promise<void> {
  while (!(await storage.discardStaged(id, DISCARDED_AT_ONCE))) await othersFirst()
}

/** Lets other work of this process, and other processes that wait for the write lock, go first. */
export function othersFirst(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
