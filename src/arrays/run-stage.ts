import { v7 as uuidv7 } from 'uuid'
import { PATH_ARGUMENTS, READ_TOOLS } from '../messages/tool-names.ts'
import { checkLaws } from '../model/laws.ts'
import { applyPlan, type Plan } from '../model/plan.ts'
import { DEDUP_THRESHOLD } from '../stages/deduplicate.ts'
import { PRUNE_PLACEHOLDER, PRUNE_PROTECTED_TOOLS } from '../stages/prune.ts'
import type { PlanningStage, StageSettings } from '../stages/stage.ts'
import { KEEP_RECENT_RATIO } from '../stages/summarize.ts'
import { TRUNCATION_FRACTION, TRUNCATION_MARKER } from '../stages/truncate.ts'
import { PRUNE_MINIMUM_SAVINGS, PRUNE_PROTECT_TOKENS } from '../tokens/budget.ts'
import type { ArrayStep } from './applied.ts'
import type { ArrayRows } from './rows.ts'

/** The seed's settings, where the window and the target are not known and so nothing is scaled to them. */
export const SEED_SETTINGS: StageSettings = {
  pruneProtectTokens: PRUNE_PROTECT_TOKENS,
  pruneMinimumSavings: PRUNE_MINIMUM_SAVINGS,
  pruneProtectedTools: PRUNE_PROTECTED_TOOLS,
  prunePlaceholder: PRUNE_PLACEHOLDER,
  readTools: READ_TOOLS,
  pathArguments: PATH_ARGUMENTS,
  deduplicateMinimumSavings: DEDUP_THRESHOLD,
  deduplicateByText: true,
  keepRecentTokens: 0,
  keepRecentRatio: KEEP_RECENT_RATIO,
  summaryRoomTokens: 0,
  summaryMaxTokens: 0,
  summarySections: [],
  truncationFraction: TRUNCATION_FRACTION,
  truncationOrder: 'oldest',
  truncationMarker: TRUNCATION_MARKER,
}

/**
 * Runs one stage that needs no model over an array, whatever its size: who calls a stage by name wants it done.
 * Answers `undefined` when the stage finds nothing to do.
 */
export function runStage(
  stage: PlanningStage<Plan | undefined>,
  { view, parts }: ArrayRows,
  settings: { readonly [K in keyof StageSettings]?: StageSettings[K] | undefined },
): ArrayStep | undefined {
  const plan = stage.plan(view, {
    settings: { ...SEED_SETTINGS, ...withoutUndefined(settings) },
    targetTokens: 0,
    limitTokens: Number.MAX_SAFE_INTEGER,
    contentOf: (row) => parts.get(row.key) ?? [],
    metadataOf: () => undefined,
  })
  if (plan === undefined) return undefined
  checkLaws('', view, plan)
  return { ...applyPlan(view, plan, -1, 1), id: uuidv7() }
}

function withoutUndefined<T extends object>(settings: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const given = Object.entries(settings).filter(([, value]) => value !== undefined)
  return Object.fromEntries(given) as { [K in keyof T]?: Exclude<T[K], undefined> }
}
