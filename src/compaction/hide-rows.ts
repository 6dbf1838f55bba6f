import { UndertextError } from '../errors.ts'
import type { Plan } from '../model/plan.ts'
import type { Authorship, Snapshot, Storage } from '../storage/storage.ts'
import type { ModelOf } from './plan-weighed.ts'
import { replanned } from './planned-run.ts'

/**
 * Hides messages by hand; answers the compaction's id. Planned anew when the view changes meanwhile.
 *
 * Throws `SESSION_NOT_FOUND`, `MESSAGE_NOT_FOUND`, `ILLEGAL_BOUNDARY`, and `STALE_PLAN` for what is hidden already.
 */
export function hideByHand(
  storage: Storage,
  modelOf: ModelOf,
  sessionId: string,
  messageIds: readonly string[],
  authorship: Authorship,
): Promise<string> {
  return replanned(() => hideOnce(storage, modelOf, sessionId, messageIds, authorship))
}

function manualPlan(sessionId: string, snapshot: Snapshot, messageIds: readonly string[]): Plan {
  const wanted = new Set(messageIds)
  const hide = snapshot.view.rows.filter((row) => wanted.delete(row.id))
  if (wanted.size > 0) {
    throw new UndertextError('STALE_PLAN', {
      sessionId,
      why: 'they are hidden already',
      messageIds: [...wanted],
    })
  }
  return { kind: 'manual', hide, replace: [], requires: [], params: {} }
}
