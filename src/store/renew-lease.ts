import { isUndertextError } from '../core/errors.ts'
import { LEASE_HOLDER, LEASE_MS, liveRuns, RENEW_MS } from '../storage/process.ts'
import type { Awaitable, Lease, Storage } from '../storage/storage.ts'
import { LeaseTaken, orAborted, POLL_MS, pause, type Waiting } from './compaction/waiting.ts'

/**
 * Runs work, and renews a lease, a claim or an import every 3 seconds in the meantime. Errors of a renewal are ignored: others follow, and
 * the commit checks the lease itself.
 */
export async function renewing<T>(renew: () => Awaitable<unknown>, work: () => Promise<T>): Promise<T> {
  const timer = setInterval(() => {
    void Promise.resolve()
      .then(renew)
      .catch(() => undefined)
  }, RENEW_MS)
  timer.unref()
  try {
    return await work()
  } finally {
    clearInterval(timer)
  }
}

/**
 * Runs work with the lease of a session, which is renewed until the work is done and then released. Waits for the current holder as long as
 * the call allows, then throws `LeaseTaken`.
 */
export async function withLease<T>(
  storage: Storage,
  sessionId: string,
  waiting: Waiting,
  { runId, deadline }: { readonly runId: string; readonly deadline: number },
  work: (lease: Lease) => Promise<T>,
): Promise<T> {
  const newLease = (): Lease => ({ runId, holder: LEASE_HOLDER, expiresAt: Date.now() + LEASE_MS })
  // Before the lease is taken: another store may see it before this one receives the result.
  liveRuns.add(runId)
  try {
    for (;;) {
      const other = await storage.takeLease(sessionId, newLease())
      if (other === undefined) break
      if (performance.now() >= deadline || waiting.trigger === 'overflow')
        throw new LeaseTaken(sessionId, other)
      await orAborted(sessionId, pause(POLL_MS), waiting.signal)
    }
    try {
      return await renewing(
        () => storage.renewLease(sessionId, newLease()),
        () => work(newLease()),
      )
    } finally {
      await release(storage, sessionId, newLease())
    }
  } finally {
    liveRuns.delete(runId)
  }
}

/** A lease that can't be released because the store was closed expires: its run is no longer live. */
async function release(storage: Storage, sessionId: string, lease: Lease): Promise<void> {
  try {
    await storage.releaseLease(sessionId, lease)
  } catch (error) {
    if (!isUndertextError(error)) throw error
  }
}
