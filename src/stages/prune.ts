import { type Plan, type PlannedReplacement, replaceResult } from '../model/plan.ts'
import type { View } from '../model/view.ts'
import type { ResultEntry, ViewRow } from '../model/view-row.ts'
import { NO_SIZES } from '../tokens/tokens.ts'
import { placeholders } from './placeholder.ts'
import type { PlanningStage } from './stage.ts'

/** Tools whose outputs are never pruned. Source: seed 003. */
export const PRUNE_PROTECTED_TOOLS: readonly string[] = ['skill']
/** What a pruned output shows. It never changes, so that a cached prefix stays valid. Source: seed 003. */
export const PRUNE_PLACEHOLDER = '[Tool result cleared]'

/**
 * Shows a placeholder in place of old tool outputs, newest protected first.
 *
 * The cheapest stage, so it goes first: the call stays visible, the model knows what it did, and only loses an
 * answer it could ask for again. A preview goes like any output; what shows another replacement is left. Once it acts it applies its whole rule: clearing a little at every turn would
 * break the provider's prompt cache every time.
 */
export const prune: PlanningStage<Plan | undefined> = {
  name: 'prune',

  plan(view, { settings }) {
    const placeholderOf = placeholders(view, settings.prunePlaceholder)
    const replace: PlannedReplacement[] = []
    let protectedTokens = 0
    let savedTokens = 0

    forResultsFromNewest(view, (index, row, result) => {
      const tool = result.name ?? view.turns.callOf(index, result.part)?.name
      if (tool !== undefined && settings.pruneProtectedTools.includes(tool)) return
      const preview = view.previewOf(row, result.part)
      const tokens = tokensOfResult(view, result, preview || undefined)
      if (protectedTokens < settings.pruneProtectTokens) {
        protectedTokens += tokens
        return
      }
      if (view.turns.pending.has(index) || preview === false) return
      // Failed results keep their error text.
      if (row.pinned || result.failed) return
      // An older read points at this one.
      if (view.leans.length > 0 && view.isLeanedOn(row.key, result.part)) return
      const placeholder = placeholderOf(result, tool, tokensOfResult(view, result))
      const saving = tokens - placeholder.tokens
      if (saving <= 0) return
      replace.push(replaceResult(row, result, placeholder.text, placeholder.units, preview))
      savedTokens += saving
    })

    if (replace.length === 0 || savedTokens < settings.pruneMinimumSavings) return undefined
    return {
      kind: 'prune',
      hide: [],
      replace: replace.reverse(),
      requires: [],
      params: {
        protectTokens: settings.pruneProtectTokens,
        minimumSavings: settings.pruneMinimumSavings,
        protectedTools: settings.pruneProtectedTools,
      },
    }
  },
}

/** What a result takes as it is shown: a preview less than its original. What shows another replacement counts as its original. */
function tokensOfResult(view: View, { units, media }: ResultEntry, preview = NO_SIZES): number {
  return view.estimator.toTokens(units - preview.toolResults, view.provider) + media - preview.media
}

/** Every result in the view, newest first. */
function forResultsFromNewest(
  view: View,
  visit: (index: number, row: ViewRow, result: ResultEntry) => void,
): void {
  for (let index = view.rows.length - 1; index >= 0; index--) {
    const row = view.rows[index]!
    for (let at = row.results.length - 1; at >= 0; at--) visit(index, row, row.results[at]!)
  }
}
