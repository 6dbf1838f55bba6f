import { v7 as uuidv7 } from 'uuid'
import { isUndertextError, UndertextError } from '../../errors.ts'
import { isGivenUp, LEASE_HOLDER, LEASE_MS, liveRuns, RENEW_MS } from '../../storage/process.ts'
import type { Session, StagedFields, StagedSession, Storage } from '../../storage/storage.ts'

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
