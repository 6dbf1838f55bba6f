import { isUndertextError, UndertextError } from '../errors.ts'
import { LEASE_HOLDER, liveRuns } from '../process.ts'
import type { Lease, Storage } from '../storage/storage.ts'
import { type CheckedConfig, waitMsOf } from './config.ts'
import { orAborted, pause, settled, timeLimit } from './waiting.ts'

/** How long a lease holds without being renewed, and how often it is renewed, milliseconds. */
const LEASE_MS = 60_000
const RENEW_MS = 15_000
/** How often somebody who waits looks again, milliseconds. */
export const POLL_MS = 50

/** Another run holds the session, and there was no more time to wait. */
export class LeaseTaken extends UndertextError<'COMPACTION_IN_PROGRESS'> {
  constructor(sessionId: string, { runId, expiresAt }: Lease) {
    super('COMPACTION_IN_PROGRESS', { sessionId, runId, expiresAt })
  }
}

/** Waits for another process's run. Who need not wait for its end is answered the lease in the way. */
export async function waitForOthers(
  storage: Storage,
  sessionId: string,
  config: CheckedConfig,
): Promise<Lease | undefined> {
  const deadline = Date.now() + waitMsOf(config)
  for (;;) {
    const lease = await storage.leaseInTheWay(sessionId, LEASE_HOLDER)
    if (lease === undefined || config.trigger === 'overflow') return lease
    if (Date.now() >= deadline) {
      if (goesOn(config)) return lease
      throw new LeaseTaken(sessionId, lease)
    }
    await orAborted(sessionId, pause(POLL_MS), config.signal)
  }
}

/**
 * Works with the session's lease, which is renewed until the work is over, and given back whatever came of it. Waits for whoever
 * holds it as long as the call allows; then throws `LeaseTaken`.
 */
export async function withLease<T>(
  storage: Storage,
  sessionId: string,
  config: CheckedConfig,
  runId: string,
  work: (lease: Lease) => Promise<T>,
): Promise<T> {
  const newLease = (): Lease => ({
    runId,
    holder: LEASE_HOLDER,
    expiresAt: Date.now() + LEASE_MS,
  })
  const deadline = Date.now() + waitMsOf(config)
  for (;;) {
    const inTheWay = await storage.takeLease(sessionId, newLease())
    if (inTheWay === undefined) break
    if (Date.now() >= deadline || config.trigger === 'overflow') throw new LeaseTaken(sessionId, inTheWay)
    await orAborted(sessionId, pause(POLL_MS), config.signal)
  }
  const renewal = setInterval(() => {
    // A renewal that fails is no matter: the commit checks the lease itself.
    void Promise.resolve()
      .then(() => storage.renewLease(sessionId, newLease()))
      .catch(() => undefined)
  }, RENEW_MS)
  renewal.unref()
  liveRuns.add(runId)
  try {
    return await work(newLease())
  } finally {
    clearInterval(renewal)
    liveRuns.delete(runId)
    await release(storage, sessionId, newLease())
  }
}

/** A lease that cannot be given back (the store was closed meanwhile) is dead all the same: its run is not live. */
async function release(storage: Storage, sessionId: string, lease: Lease): Promise<void> {
  try {
    await storage.releaseLease(sessionId, lease)
  } catch (error) {
    if (!isUndertextError(error)) throw error
  }
}

/** Waits until another run is over; false when there is no more time for it. */
export async function isOver(
  sessionId: string,
  run: Promise<unknown>,
  config: CheckedConfig,
): Promise<boolean> {
  const over = settled(run).then(() => true)
  if (!goesOn(config)) {
    await orAborted(
      sessionId,
      over.then(() => undefined),
      config.signal,
    )
    return true
  }
  let isDone = false
  const timer = timeLimit(waitMsOf(config))
  try {
    const first = Promise.race([over, timer.passed]).then((answer) => {
      isDone = answer
    })
    await orAborted(sessionId, first, config.signal)
  } finally {
    timer.stop()
  }
  return isDone
}

/** Whether a run goes on with the stages that need no model when another is in the way. */
export function goesOn({ trigger, whenBusy }: CheckedConfig): boolean {
  return trigger === 'overflow' || whenBusy === 'withoutModel'
}
