import { z } from 'zod'
import { check } from '../messages/check.ts'
import { type Plan, type PlannedReplacement, replaceResult } from '../model/plan.ts'
import { forResultsFromNewest, isUserWord, placeholders, recalledIn } from './prune.ts'
import type { Placeholder, PlanningStage } from './stage.ts'

/** The default text of a cleared result, as in neuron. */
export const CLEARED_PLACEHOLDER = '[tool result cleared]'

export const clearToolResultsShape = {
  /** The number of newest tool results that stay, counted one by one, not by message. */
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
        'must be a text or a function',
      ),
    ])
    .optional(),
  /** Tools whose results are never cleared. Default: none, as in neuron. */
  protectedTools: z.array(z.string()).readonly().optional(),
}

const optionsSchema = z.strictObject(clearToolResultsShape)

export type ClearToolResultsStageOptions = z.input<typeof optionsSchema>

/**
 * Shows a placeholder in place of all tool results but the newest `keep`, including short and failed ones, as in neuron. Calls, ids and
 * order stay. These results stay too: those in pinned messages, those that already show a replacement other than a preview, those that
 * other rows point to, words of a person, and those of `protectedTools`; they count among the newest. Outputs of recall tools before the newest turn do not:
 * they are cleared whatever `keep` is.
 *
 * In a store a replacement is a text over the output, so a failed result stays marked as failed. Throws `INVALID_INPUT`.
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
