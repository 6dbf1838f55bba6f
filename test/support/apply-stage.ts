import { v7 as uuidv7 } from 'uuid'
import { checkLaws } from '../../src/core/model/laws.ts'
import { applyPlan, type Plan } from '../../src/core/model/plan.ts'
import type { View } from '../../src/core/model/view.ts'
import type { Stage } from '../../src/core/stages/stage.ts'
import type { Store } from '../../src/index.ts'
import type { Snapshot, Storage } from '../../src/storage/storage.ts'
import { storageOf } from '../../src/store/store.ts'

export { storageOf }

/** Runs one stage, whatever the history takes; answers the compaction's id, or `undefined` when it had nothing to do. */
export async function applyStage(store: Store, stage: Stage, session: string): Promise<string | undefined> {
  const run = await store.compactSession(session, { stages: [stage], targetTokens: 0 })
  return run?.compactions[0]?.id
}

/** Commits what a function plans on the view as it stands. */
export async function applyPlanned(
  store: Store,
  session: string,
  plan: (view: View) => Plan,
): Promise<string> {
  const storage = storageOf(store)
  const snapshot = (await storage.snapshot(session, 'openai'))!
  return commitPlan(storage, snapshot, plan(snapshot.view))
}

async function commitPlan(storage: Storage, snapshot: Snapshot, plan: Plan): Promise<string> {
  checkLaws(snapshot.session.id, snapshot.view, plan)
  const id = uuidv7()
  const step = { ...applyPlan(snapshot.view, plan, -1, snapshot.nextOrdinal), id, createdAt: Date.now() }
  const run = { runId: uuidv7(), trigger: 'manual' as const, actor: undefined, reason: undefined }
  await storage.commit(snapshot, { ...run, steps: [step], failed: [] }, undefined)
  return id
}
