import { v7 as uuidv7 } from 'uuid'
import { resolveModel } from '../config/model.ts'
import { UndertextError } from '../errors.ts'
import { checkLaws } from '../model/laws.ts'
import { applyPlan, type Plan } from '../model/plan.ts'
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

async function hideOnce(
  storage: Storage,
  modelOf: ModelOf,
  sessionId: string,
  messageIds: readonly string[],
  authorship: Authorship,
): Promise<string> {
  const session = await storage.session(sessionId)
  if (session === undefined) throw new UndertextError('SESSION_NOT_FOUND', { sessionId })
  await storage.requireMessages(sessionId, messageIds)
  const { key } = resolveModel(modelOf(session), undefined, undefined)
  const snapshot = await storage.snapshot(sessionId, key)
  if (snapshot === undefined) throw new UndertextError('SESSION_NOT_FOUND', { sessionId })
  const plan = manualPlan(sessionId, snapshot, messageIds)
  checkLaws(sessionId, snapshot.view, plan)
  const id = uuidv7()
  const step = { ...applyPlan(snapshot.view, plan, -1, snapshot.nextOrdinal), id, createdAt: Date.now() }
  const run = { runId: uuidv7(), trigger: 'manual' as const, ...authorship }
  await storage.commit(snapshot, { ...run, steps: [step], failed: [] }, undefined)
  return id
}
