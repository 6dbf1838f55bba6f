import { v7 as uuidv7 } from 'uuid'
import { checkLaws } from '../../src/core/laws.ts'
import { applyPlan, type Plan } from '../../src/core/plan.ts'
import type { BareContext, PlanningStage } from '../../src/core/stages/stage.ts'
import type { View } from '../../src/core/view.ts'
import type { Store } from '../../src/index.ts'
import type { Snapshot, Storage } from '../../src/storage/storage.ts'

/** The storage beneath a store, of which the store says nothing. */
export function storageOf(store: Store): Storage {
  return (store as unknown as { readonly storage: Storage }).storage
}

/** Plans one stage and commits it; answers the compaction's id, or `undefined` when it had nothing to do. */
export async function applyStage(
  store: Store,
  stage: PlanningStage<Plan>,
  session: string,
): Promise<string | undefined> {
  const storage = storageOf(store)
  const snapshot = await storage.snapshot(session, 'openai')
  if (snapshot === undefined) return undefined
  const context = { settings: {}, targetTokens: 0, limitTokens: 0 } as unknown as BareContext
  const keys = (stage.reads?.(snapshot.view, context) ?? []).map(({ key }) => key)
  const contents = await storage.contents(keys)
  const plan = stage.plan(snapshot.view, {
    ...context,
    contentOf: (row) => contents.get(row.key) ?? [],
    metadataOf: () => undefined,
  })
  return plan && commitPlan(storage, snapshot, plan)
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
