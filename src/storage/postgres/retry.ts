import { setTimeout as sleep } from 'node:timers/promises'
import { UndertextError } from '../../core/errors.ts'
import type { Scope } from './scope.ts'

/* Repeats a transaction after a serialization failure, a deadlock, a lock that was not free, or a lost connection. */

/** The longest pause before a repetition, milliseconds. */
const MAX_PAUSE_MS = 200

/** The maximum number of retries after a lost connection, because the call itself may be the cause of the loss. */
const MAX_LOSS_RETRIES = 3
/** The maximum number of retries if an id was taken by a session that isn't there. */
const MAX_TAKEN_RETRIES = 3

/** Runs attempts of a transaction until one succeeds or another could not help. */
export async function retried<T>(
  begin: () => Scope,
  deadline: number,
  attempt: (scope: Scope) => Promise<T>,
): Promise<T> {
  for (let losses = 0, count = 0; ; count++) {
    const scope = begin()
    try {
      return await attempt(scope)
    } catch (error) {
      if (scope.isStale) continue
      if (scope.failure?.isLost) losses++
      // Row-level security hides the session with this id, so a retry can't find it either.
      if (count >= MAX_TAKEN_RETRIES && scope.failure?.constraint?.startsWith('names_pkey'))
        throw new UndertextError('SESSION_EXISTS', { sessionId: scope.entered.at(-1)?.id ?? '' })
      if (!isRepeatable(scope) || losses > MAX_LOSS_RETRIES || !(await pause(count, deadline))) throw error
    }
  }
}

/** Whether a failed transaction left nothing behind, so that it can be repeated. */
function isRepeatable({ kind, failure, hasConnected, hasAnswered, outcome }: Scope): boolean {
  if (failure === undefined || !hasConnected || outcome === 'unknown') return false
  // The caller may have seen rows of a read, so it is repeated only if the connection was dead from the start.
  if (kind === 'read') return failure.isLost && !hasAnswered
  return failure.isPassing || failure.isLost
}

/** Waits before another attempt; returns `false` if the deadline leaves no time for one. */
export async function pause(attempt: number, deadline: number): Promise<boolean> {
  const ms = (0.5 + Math.random() / 2) * Math.min(MAX_PAUSE_MS, 5 * 2 ** attempt)
  if (performance.now() + ms >= deadline) return false
  await sleep(ms)
  return true
}
