import type { Plan, PlannedReplacement } from '../model/plan.ts'
import { worthOf } from '../model/prompt-cache.ts'
import type { View } from '../model/view.ts'
import type { ViewRow } from '../model/view-row.ts'
import { SizesSum, tokensOf } from '../tokens/measure.ts'

/** The minimum effect of a part of a plan that is used in place of the whole. */
export type CompactionGoal = {
  /** The target size of the view, in tokens. */
  readonly targetTokens: number
  /** The minimum worth of a run and its minimum savings, in tokens. */
  readonly minimumWorth: number
  readonly minimumSavings: number
  /** The index from which earlier steps of the run have changed the view, so that no reasoning there can stay valid. */
  readonly changedFrom: number
}

/**
 * Returns the newest replacements of a plan that are sufficient alone; the whole plan if there are none, or if no reasoning is between
 * its first row and theirs. For models that check the content before their reasoning: the later the first change, the more reasoning
 * stays valid. All parts of a row are replaced together.
 */
export function latestPart(view: View, plan: Plan, goal: CompactionGoal): Plan {
  const first = firstIndex(view, plan.replace)
  const chosen = newestSufficient(view, plan.replace, goal)
  if (chosen === undefined || first === undefined) return plan
  const from = firstIndex(view, chosen)!
  const spared = view.rows.slice(first, Math.min(from, goal.changedFrom))
  if (!spared.some(({ hasReasoning }) => hasReasoning)) return plan
  const keys = new Set(chosen.map(({ row }) => row.key))
  const requires = plan.requires.flatMap((required) => {
    const by = required.by.filter((key) => keys.has(key))
    return by.length === 0 ? [] : [{ ...required, by }]
  })
  // This figure belongs to the whole plan.
  const { files: _, ...params } = plan.params
  return { ...plan, replace: chosen, requires, params }
}

function firstIndex(view: View, replace: readonly PlannedReplacement[]): number | undefined {
  return replace.reduce<number | undefined>((least, { row }) => {
    const index = view.indexOf(row.key)
    return index === undefined || (least !== undefined && least < index) ? least : index
  }, undefined)
}

function newestSufficient(
  view: View,
  replace: readonly PlannedReplacement[],
  { targetTokens, minimumWorth, minimumSavings }: CompactionGoal,
): PlannedReplacement[] | undefined {
  const byRow = new Map<ViewRow, PlannedReplacement[]>()
  for (const one of replace) byRow.set(one.row, [...(byRow.get(one.row) ?? []), one])
  const newestFirst = [...byRow].sort(([a], [b]) => view.indexOf(b.key)! - view.indexOf(a.key)!)
  const { estimator, provider } = view
  const left = new SizesSum(view.sizes)
  const rows = new Set<ViewRow>()
  for (const [row, own] of newestFirst) {
    rows.add(row)
    for (const { saved, instead } of own) {
      left.subtract(saved)
      if (instead !== undefined) left.add(instead)
    }
    const tokens = tokensOf(left.value, view.sent, estimator, provider)
    const saved = view.tokens - tokens
    // At most the remaining tokens are written to the prompt cache again.
    const isSufficient =
      tokens <= targetTokens && saved >= minimumSavings && worthOf(saved, tokens) >= minimumWorth
    if (isSufficient) return rows.size === byRow.size ? undefined : replace.filter((one) => rows.has(one.row))
  }
  return undefined
}
