import { type CheckedConfig, waitMsOf } from '../config/compaction.ts'
import { isUndertextError, UndertextError } from '../errors.ts'
import { canonicalJson } from '../messages/json.ts'
import { isStage } from '../stages/registry.ts'
import { LEASE_HOLDER, LEASE_MS, liveRuns, RENEW_MS } from '../storage/process.ts'
import type { Lease, Storage } from '../storage/storage.ts'
import { orAborted, pause, settled, timeLimit } from './waiting.ts'

/** How often somebody who waits looks again, milliseconds. */
export const POLL_MS = 50

/** Another run holds the session, and there was no more time to wait. */
export class LeaseTaken extends UndertextError<'COMPACTION_IN_PROGRESS'> {
  constructor(sessionId: string, { runId, expiresAt }: Lease) {
    super('COMPACTION_IN_PROGRESS', { sessionId, runId, expiresAt })
  }
}

/** Until when a call waits for other runs, all its waits together, by a clock that nobody sets. */
export function deadlineOf(config: CheckedConfig): number {
  return performance.now() + waitMsOf(config)
}

/**
 * Waits for a run of another store, in this process or another. Returns the lease in the way to a caller that need not wait for the end
 * of the run.
 */
export async function waitForOthers(
  storage: Storage,
  sessionId: string,
  config: CheckedConfig,
  deadline: number,
): Promise<Lease | undefined> {
  for (;;) {
    const lease = await storage.leaseInTheWay(sessionId)
    if (lease === undefined || config.trigger === 'overflow') return lease
    if (performance.now() >= deadline) {
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
  { runId, deadline }: { readonly runId: string; readonly deadline: number },
  work: (lease: Lease) => Promise<T>,
): Promise<T> {
  const newLease = (): Lease => ({
    runId,
    holder: LEASE_HOLDER,
    expiresAt: Date.now() + LEASE_MS,
  })
  // Before the lease is taken: another store may see the lease before this one receives the answer.
  liveRuns.add(runId)
  try {
    await takeLease(storage, sessionId, config, deadline, newLease)
    return await holdingLease(storage, sessionId, newLease, work)
  } finally {
    liveRuns.delete(runId)
  }
}

/** Takes the session's lease, and waits for the one in the way as long as the call allows. */
async function takeLease(
  storage: Storage,
  sessionId: string,
  config: CheckedConfig,
  deadline: number,
  newLease: () => Lease,
): Promise<void> {
  for (;;) {
    const inTheWay = await storage.takeLease(sessionId, newLease())
    if (inTheWay === undefined) return
    if (performance.now() >= deadline || config.trigger === 'overflow')
      throw new LeaseTaken(sessionId, inTheWay)
    await orAborted(sessionId, pause(POLL_MS), config.signal)
  }
}

/** Renews the lease until the work is over, then gives it back. */
async function holdingLease<T>(
  storage: Storage,
  sessionId: string,
  newLease: () => Lease,
  work: (lease: Lease) => Promise<T>,
): Promise<T> {
  const renewal = setInterval(() => {
    // A renewal that fails is no matter: the commit checks the lease itself.
    void Promise.resolve()
      .then(() => storage.renewLease(sessionId, newLease()))
      .catch(() => undefined)
  }, RENEW_MS)
  renewal.unref()
  try {
    return await work(newLease())
  } finally {
    clearInterval(renewal)
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

/** Waits until another run of this store is over; false when there is no more time for it. */
export async function isOver(
  sessionId: string,
  run: Promise<unknown>,
  { signal }: CheckedConfig,
  deadline: number,
): Promise<boolean> {
  let isDone = false
  const timer = timeLimit(Math.max(0, deadline - performance.now()))
  try {
    const first = Promise.race([settled(run).then(() => true), timer.passed]).then((answer) => {
      isDone = answer
    })
    await orAborted(sessionId, first, signal)
  } finally {
    timer.stop()
  }
  return isDone
}

/** Whether a run goes on with the stages that need no model when another is in the way. */
export function goesOn({ trigger, whenBusy }: CheckedConfig): boolean {
  return trigger === 'overflow' || whenBusy === 'withoutModel'
}

/** Whether two requests are the same. One that carries a signal, tools or a function is like no other. */
export function isSameRequest(a: CheckedConfig, b: CheckedConfig): boolean {
  const plain = ({ summarizer: _, stages: __, signal, toolDefinitions, ...rest }: CheckedConfig) =>
    signal === undefined && toolDefinitions === undefined && typeof rest.prunePlaceholder !== 'function'
      ? canonicalJson(rest)
      : undefined
  return (
    a.summarizer === b.summarizer &&
    isSameComposition(a.stages ?? [], b.stages ?? []) &&
    plain(a) !== undefined &&
    plain(a) === plain(b)
  )
}

type Composition = NonNullable<CheckedConfig['stages']>

/** Stages of the application's own are compared as objects: what their functions do, nobody can tell. */
function isSameComposition(a: Composition, b: Composition): boolean {
  const isSame = (one: Composition[number], at: number): boolean => {
    const other = b[at]
    if (isStage(one) || isStage(other)) return one === other
    return canonicalJson(one) === canonicalJson(other)
  }
  return a.length === b.length && a.every(isSame)
}
