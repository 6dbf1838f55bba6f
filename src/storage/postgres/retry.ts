import { setTimeout as sleep } from 'node:timers/promises'
import { UndertextError } from '../../core/errors.ts'
import type { Scope } from './scope.ts'

/* Repeats a transaction after a serialization failure, a deadlock, a lock that was not free, or a lost connection. */

/** The longest pause before a repetition, milliseconds. */
const LONGEST_PAUSE_MS = 200

/** The most repetitions after a connection was lost: a call may be what ends it. */
const MOST_LOSSES = 3
/** The most repetitions after an id was taken by a session that is not there. */
const MOST_TAKEN = 3

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
      // Row-level security hides the session that has the id, so no repetition finds it.
      if (count >= MOST_TAKEN && scope.failure?.constraint?.startsWith('names_pkey'))
        throw new UndertextError('SESSION_EXISTS', { sessionId: scope.entered.at(-1)?.id ?? '' })
      if (!isRepeatable(scope) || losses > MOST_LOSSES || !(await pause(count, deadline))) throw error
    }
  }
}

/** Whether nothing of a failed transaction remains, so that another attempt is the first. */
function isRepeatable({ kind, failure, hasConnected, hasAnswered, outcome }: Scope): boolean {
  if (failure === undefined || !hasConnected || outcome === 'unknown') return false
  // The work of a read may have been seen, so it is repeated only if the connection was dead from the start.
  if (kind === 'read') return failure.isLost && !hasAnswered
  return failure.isPassing || failure.isLost
}

/** Waits before another attempt; `false` when there is no time for one. */
export async function pause(attempt: number, deadline: number): Promise<boolean> {
  const ms = (0.5 + Math.random() / 2) * Math.min(LONGEST_PAUSE_MS, 5 * 2 ** attempt)
  if (performance.now() + ms >= deadline) return false
  await sleep(ms)
  return true
}
