import { UndertextError } from '../../core/errors.ts'
import { MAX_TIMER_MS } from '../../core/messages/check.ts'
import type { Lease, Storage } from '../../storage/storage.ts'
import type { RunConfig } from '../config/run-config.ts'
import type { CheckedCall } from '../config/settings.ts'
import { isSameValue } from '../config/spellings.ts'

/** Milliseconds that a turn waits for another turn of its session. */
export const TURN_WAIT_MS = 5_000
/** Milliseconds that a request waits for models: as long as a summary takes, not as long as it may take. A web request waits for it. */
export const PREPARE_WAIT_MS = 30_000
/** Milliseconds, of those, that a user's turn waits for other runs, which it doesn't need while its request fits. */
export const OTHERS_WAIT_MS = 10_000
const DEFAULT_WAIT_MS = 30_000
/** Milliseconds between two checks of the lease or the job of another process. */
export const POLL_MS = 50

/** The options for how a call waits for other runs. */
export type Waiting = Pick<RunConfig, 'trigger' | 'whenBusy' | 'waitMs' | 'signal'>

/** Another run holds the session, and the waiting time is over. */
export class LeaseTaken extends UndertextError<'COMPACTION_IN_PROGRESS'> {
  constructor(sessionId: string, { runId, expiresAt }: Lease) {
    super('COMPACTION_IN_PROGRESS', { sessionId, runId, expiresAt })
  }
}

/** Returns the common end of all waits of a call, by the monotonic clock. */
export function deadlineOf({ waitMs = DEFAULT_WAIT_MS }: Waiting): number {
  return performance.now() + waitMs
}

/** Whether a run continues with the stages that need no model when another run holds the session. */
export function continuesWithoutModel({ trigger, whenBusy }: Waiting): boolean {
  return trigger === 'overflow' || whenBusy === 'withoutModel'
}

/**
 * Waits for the run of another store, in this process or another. Returns that run's lease to a caller that continues beside it; otherwise,
 * throws `LeaseTaken` once the time is over.
 */
export async function waitForOthers(
  storage: Storage,
  sessionId: string,
  waiting: Waiting,
  deadline: number,
): Promise<Lease | undefined> {
  for (;;) {
    const lease = await storage.leaseInTheWay(sessionId)
    if (lease === undefined || waiting.trigger === 'overflow') return lease
    if (performance.now() >= deadline) {
      if (continuesWithoutModel(waiting)) return lease
      throw new LeaseTaken(sessionId, lease)
    }
    await orAborted(sessionId, pause(POLL_MS), waiting.signal)
  }
}

/** Waits for another run of this store; returns false if the time is over before that run ends. */
export async function waitForRun(
  sessionId: string,
  run: Promise<unknown>,
  { signal }: Waiting,
  deadline: number,
): Promise<boolean> {
  const timer = timeLimit(Math.max(0, deadline - performance.now()))
  // The caller of that run receives its error.
  const end = run.catch(() => undefined).then(() => true)
  try {
    return await orAborted(sessionId, Promise.race([end, timer.passed]), signal)
  } finally {
    timer.stop()
  }
}

/** Whether two calls for a session are equivalent. A call with a signal or tools is never equivalent to another. */
export function isSameCall(a: CheckedCall, b: CheckedCall): boolean {
  if ((a.signal ?? b.signal ?? a.tools ?? b.tools) !== undefined) return false
  const names = new Set([...Object.keys(a), ...Object.keys(b)]) as ReadonlySet<keyof CheckedCall>
  return [...names].every((name) => isSameValue(a[name], b[name]))
}

const STOPPED = new Error('aborted')

/** Rejects as soon as the signal fires, so that a summarizer that ignores its signal can't block a run. */
export function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(STOPPED)
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
    // A caller that polls passes the same signal repeatedly.
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
  })
}

/** Waits for a promise, or throws `ABORTED` as soon as the caller's signal fires. */
export async function orAborted<T>(
  sessionId: string,
  promise: Promise<T>,
  signal: AbortSignal | undefined,
): Promise<T> {
  if (signal === undefined) return promise
  try {
    return await unlessAborted(promise, signal)
  } catch (error) {
    if (error !== STOPPED) throw error
    throw new UndertextError('ABORTED', { sessionId })
  }
}

/** Waits for a number of milliseconds. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

/** `passed` resolves after a number of milliseconds; `stop` ends the timer. */
export function timeLimit(ms: number): { readonly passed: Promise<false>; readonly stop: () => void } {
  let timer: NodeJS.Timeout | undefined
  const passed = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), Math.min(ms, MAX_TIMER_MS))
  })
  return { passed, stop: () => clearTimeout(timer) }
}
