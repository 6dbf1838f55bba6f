import { isRecallTool, isUserTool } from '../messages/tool-names.ts'
import { type Plan, type PlannedReplacement, replaceResult } from '../model/plan.ts'
import type { View } from '../model/view.ts'
import type { ResultEntry, ViewRow } from '../model/view-row.ts'
import { NO_SIZES } from '../tokens/measure.ts'
import type { ClearedOutput, Placeholder, PlanningStage, StageSettings } from './stage.ts'
/** The placeholder with the size, from NeuroLink's article. */
export const PRUNE_PLACEHOLDER_WITH_SIZE = '[Output pruned to save context. Original size: {tokens} tokens.]'

/** Whether a result is the word of a person: an answer, or the reason of a refusal. Stages leave it as they leave a user's message. */
export function isUserWord(
  { spoken }: ResultEntry,
  tool: string | undefined,
  { userTools }: Pick<StageSettings, 'userTools'>,
): boolean {
  return spoken === true || (tool !== undefined && isUserTool(tool, userTools))
}

/** A placeholder and its size. */
type MeasuredPlaceholder = { readonly text: string; readonly units: number; readonly tokens: number }

/** Returns the placeholder of each output of a view. A constant one is measured once. */
export function placeholders(
  view: View,
  placeholder: Placeholder,
): (result: ResultEntry, tool: string | undefined, tokens: number) => MeasuredPlaceholder {
  const measured = new Map<string, MeasuredPlaceholder>()
  return (result, tool, tokens) => {
    const text = placeholderText(placeholder, { tool, toolCallId: result.id, tokens })
    const known = measured.get(text)
    if (known !== undefined) return known
    const units = view.estimator.measureText(text, 'toolResult')
    const found = { text, units, tokens: view.estimator.toTokens(units, view.provider) }
    measured.set(text, found)
    return found
  }
}

function placeholderText(placeholder: Placeholder, output: ClearedOutput): string {
  if (typeof placeholder === 'function') return String(placeholder(output))
  if (!placeholder.includes('{')) return placeholder
  return placeholder.replace(/\{(tokens|tool)\}/g, (_, name) =>
    name === 'tokens' ? String(output.tokens) : (output.tool ?? 'unknown'),
  )
}

/** Tools whose outputs are never pruned, as in NeuroLink. */
export const PRUNE_PROTECTED_TOOLS: readonly string[] = ['skill']
/** The default text of a pruned output. It is constant, so that a cached prefix stays valid. */
export const PRUNE_PLACEHOLDER = '[Tool result cleared]'

/**
 * Whether an output of a view is stored text that a recall tool returned before the newest turn. It is stored elsewhere too, so it is
 * cleared before other outputs and protects none of them.
 */
export function recalledIn(view: View): (index: number, tool: string | undefined) => boolean {
  let newest: number | undefined
  return (index, tool) => {
    if (tool === undefined || !isRecallTool(tool)) return false
    newest ??= view.turns.turnStarts().at(-1) ?? 0
    return index < newest
  }
}

/**
 * Shows a placeholder in place of old tool outputs. The newest outputs are protected, up to `pruneProtectTokens`; those of recall tools
 * before the newest turn are not. When these alone bring the history within its target, the others stay. Failed results keep the text of
 * their error, unless `pruneFailedResults` is set.
 *
 * The cheapest stage, so it runs first: the call stays visible, so that the model knows what it did and can request the result
 * again. A preview is cleared like any output; another replacement stays. When the stage acts, it applies its whole rule: clearing a little at every turn
 * would invalidate the provider's prompt cache each time.
 */
export const prune: PlanningStage<Plan | undefined> = {
  name: 'prune',

  plan(view, { settings, targetTokens }) {
    const isRecalled = recalledIn(view)
    const recalled: PlannedReplacement[] = []
    let savedByRecalled = 0
    const placeholderOf = placeholders(view, settings.prunePlaceholder)
    const replace: PlannedReplacement[] = []
    let protectedTokens = 0
    let savedTokens = 0

    forResultsFromNewest(view, (index, row, result) => {
      const tool = view.toolOf(index, result)
      if (tool !== undefined && settings.pruneProtectedTools.includes(tool)) return
      if (isUserWord(result, tool, settings)) return
      const preview = view.previewOf(row, result.part)
      const tokens = tokensOfResult(view, result, preview || undefined)
      const isFirst = isRecalled(index, tool)
      if (!isFirst && protectedTokens < settings.pruneProtectTokens) {
        protectedTokens += tokens
        return
      }
      if (view.turns.pending.has(index) || preview === false) return
      if (row.pinned || (result.failed && !settings.pruneFailedResults)) return
      // An older read points to this one.
      if (view.pointerTargets.length > 0 && view.isPointerTarget(row.key, result.part)) return
      const placeholder = placeholderOf(result, tool, tokensOfResult(view, result))
      const saving = tokens - placeholder.tokens
      if (saving <= 0) return
      const planned = replaceResult(row, result, placeholder.text, placeholder.units, preview)
      replace.push(planned)
      savedTokens += saving
      if (!isFirst) return
      recalled.push(planned)
      savedByRecalled += saving
    })

    if (replace.length === 0 || savedTokens < settings.pruneMinimumSavings) return undefined
    const isEnough =
      savedByRecalled >= settings.pruneMinimumSavings && view.tokens - savedByRecalled <= targetTokens
    const chosen = isEnough && recalled.length > 0 ? recalled : replace
    return {
      kind: 'prune',
      hide: [],
      replace: chosen.reverse(),
      requires: [],
      params: {
        protectTokens: settings.pruneProtectTokens,
        minimumSavings: settings.pruneMinimumSavings,
        protectedTools: settings.pruneProtectedTools,
      },
    }
  },
}

/** The size of a result as shown: that of its preview, else that of its original. */
function tokensOfResult(view: View, { units, media }: ResultEntry, preview = NO_SIZES): number {
  return view.estimator.toTokens(units - preview.toolResults, view.provider) + media - preview.media
}

/** Every result in the view, newest first. */
export function forResultsFromNewest(
  view: View,
  visit: (index: number, row: ViewRow, result: ResultEntry) => void,
): void {
  for (let index = view.rows.length - 1; index >= 0; index--) {
    const row = view.rows[index]!
    for (let at = row.results.length - 1; at >= 0; at--) visit(index, row, row.results[at]!)
  }
}
