import { z } from 'zod'
import { check } from '../messages/check.ts'
import { isRecallTool, isUserTool } from '../messages/tool-names.ts'
import { type Plan, type PlannedReplacement, replaceResult } from '../model/plan.ts'
import type { View } from '../model/view.ts'
import type { ResultEntry, ViewRow } from '../model/view-row.ts'
import { NO_SIZES } from '../tokens/measure.ts'
import type { ClearedOutput, Placeholder, PlanningStage, StageSettings } from './stage.ts'

/*
 * Clears old tool outputs by showing a placeholder in their place. `prune`, the default stage, protects the newest outputs up to a number
 * of tokens; `clear_tool_results` keeps a number of outputs.
 */

/** The placeholder with the size, from NeuroLink's article. */
export const PRUNE_PLACEHOLDER_WITH_SIZE = '[Output pruned to save context. Original size: {tokens} tokens.]'

/**
 * Returns whether a result contains a person's words: an answer, or the reason for a refusal. Stages leave it unchanged, like a user's
 * message.
 */
export function isUserWord(
  { spoken }: ResultEntry,
  tool: string | undefined,
  { userTools }: Pick<StageSettings, 'userTools'>,
): boolean {
  return spoken === true || (tool !== undefined && isUserTool(tool, userTools))
}

/** A placeholder and its size. */
type MeasuredPlaceholder = { readonly text: string; readonly units: number; readonly tokens: number }

/** Returns the placeholder of each output of a view. A constant placeholder is measured once. */
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
 * Returns a function that returns whether an output is stored text that a recall tool returned before the newest turn. Such an output is
 * also stored elsewhere, so it is cleared before other outputs and doesn't use up their protection.
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
 * Shows a placeholder in place of old tool outputs. The newest outputs are protected, up to `pruneProtectTokens`; outputs of recall tools
 * before the newest turn are not. If clearing only these brings the history within its target, the others stay. Failed results keep the
 * text of their error, unless `pruneFailedResults` is set.
 *
 * The cheapest stage, so it runs first: the call stays visible, so that the model knows what it did and can request the result again. A
 * preview is cleared like any output; any other replacement stays. When the stage acts, it applies its whole rule: clearing a little at
 * every turn would invalidate the provider's prompt cache each time.
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
      // An older read points to this result.
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

/** Returns the size of a result as shown: that of its preview, or else that of its original. */
function tokensOfResult(view: View, { units, media }: ResultEntry, preview = NO_SIZES): number {
  return view.estimator.toTokens(units - preview.toolResults, view.provider) + media - preview.media
}

/** Calls a function for every result in the view, newest first. */
export function forResultsFromNewest(
  view: View,
  visit: (index: number, row: ViewRow, result: ResultEntry) => void,
): void {
  for (let index = view.rows.length - 1; index >= 0; index--) {
    const row = view.rows[index]!
    for (let at = row.results.length - 1; at >= 0; at--) visit(index, row, row.results[at]!)
  }
}

/** The default text of a cleared result, as in neuron. */
export const CLEARED_PLACEHOLDER = '[tool result cleared]'

export const clearToolResultsShape = {
  /** The number of newest tool results that stay. Results are counted individually, not by message. */
  keep: z.int().nonnegative(),
  /**
   * The text of a cleared result, with `{tokens}` and `{tool}` filled in, or a function that returns one. Default "[tool result
   * cleared]".
   */
  placeholder: z
    .union([
      z.string().min(1),
      z.custom<Exclude<Placeholder, string>>(
        (value) => typeof value === 'function',
        'must be a string or a function',
      ),
    ])
    .optional(),
  /** Names of tools whose results are never cleared. Default: none, as in neuron. */
  protectedTools: z.array(z.string()).readonly().optional(),
}

const optionsSchema = z.strictObject(clearToolResultsShape)

export type ClearToolResultsStageOptions = z.input<typeof optionsSchema>

/**
 * Returns a stage that shows a placeholder in place of all tool results except the newest `keep`, including short and failed ones, as in
 * neuron. Calls, ids and order stay. The following results also stay, and count among the newest: results in pinned messages, results
 * that already show a replacement other than a preview, results to which other rows point, a person's words, and results of
 * `protectedTools`. Outputs of recall tools before the newest turn don't stay: they are cleared whatever `keep` is.
 *
 * In a store a replacement is a text shown in place of the output, so a failed result stays marked as failed.
 *
 * Throws `INVALID_INPUT`.
 */
export function clearToolResultsStage(
  options: ClearToolResultsStageOptions,
  what = 'clearToolResults',
): PlanningStage<Plan | undefined> {
  const checked = check(optionsSchema, options, what)
  const { keep, placeholder = CLEARED_PLACEHOLDER, protectedTools = [] } = checked
  const params = {
    keep,
    ...(typeof placeholder === 'string' && { placeholder }),
    ...(protectedTools.length > 0 && { protectedTools }),
  }
  return {
    name: 'clear_tool_results',
    plan(view, { settings }) {
      const placeholderOf = placeholders(view, placeholder)
      const isRecalled = recalledIn(view)
      const replace: PlannedReplacement[] = []
      let seen = 0
      forResultsFromNewest(view, (index, row, result) => {
        const tool = view.toolOf(index, result)
        const isFirst = isRecalled(index, tool)
        if (!isFirst) seen += 1
        if (!isFirst && seen <= keep) return
        if (row.pinned || isSystem(row) || view.turns.pending.has(index)) return
        const preview = view.previewOf(row, result.part)
        if (preview === false || view.isPointerTarget(row.key, result.part)) return
        if (tool !== undefined && protectedTools.includes(tool)) return
        if (isUserWord(result, tool, settings)) return
        const tokens = view.estimator.toTokens(result.units, view.provider) + result.media
        const { text, units } = placeholderOf(result, tool, tokens)
        replace.push(replaceResult(row, result, text, units, preview))
      })
      if (replace.length === 0) return undefined
      replace.reverse()
      return { kind: 'prune', hide: [], replace, requires: [], params }
    },
  }
}

function isSystem({ kind, role }: { readonly kind: string; readonly role: string }): boolean {
  return kind === 'message' && role === 'system'
}
