import { z } from 'zod'
import { check } from '../check.ts'
import { type Plan, type PlannedReplacement, replaceResult } from '../plan.ts'
import type { PlanningStage } from './stage.ts'

/** What a cleared result shows. Source: seed 000. */
export const CLEARED_PLACEHOLDER = '[tool result cleared]'

export const clearToolResultsShape = {
  /** How many of the newest tool results stay as they are, counted one by one, not by message. */
  keep: z.int().nonnegative(),
  /** What a cleared result shows. Default "[tool result cleared]". */
  placeholder: z.string().min(1).optional(),
}
const optionsSchema = z.strictObject(clearToolResultsShape)
export type ClearToolResultsStageOptions = z.input<typeof optionsSchema>

/**
 * Shows a placeholder in place of all tool results but the newest `keep`, short and failed ones too (seed 000). Calls,
 * ids, order and everything else stay. What stays besides: results in pinned messages and of waiting calls, those that show
 * a replacement already, and those that other rows point at; they count among the newest all the same.
 *
 * In a store a replacement is a text over the output, so a failed result stays marked as failed. Throws `INVALID_INPUT`.
 */
export function clearToolResultsStage(
  options: ClearToolResultsStageOptions,
  what = 'clearToolResults',
): PlanningStage<Plan | undefined> {
  const { keep, placeholder = CLEARED_PLACEHOLDER } = check(optionsSchema, options, what)
  return {
    name: 'clear_tool_results',
    plan(view) {
      const units = view.estimator.measureText(placeholder, 'toolResult')
      const replace: PlannedReplacement[] = []
      let seen = 0
      for (let index = view.rows.length - 1; index >= 0; index--) {
        const row = view.rows[index]!
        const isFixed = row.pinned || isSystem(row) || view.turns.pending.has(index)
        for (let at = row.results.length - 1; at >= 0; at--) {
          const result = row.results[at]!
          seen += 1
          if (seen <= keep || isFixed || row.shown.some(({ part }) => part === result.part)) continue
          if (view.isLeanedOn(row.key, result.part)) continue
          replace.push(replaceResult(row, result, placeholder, units))
        }
      }
      if (replace.length === 0) return undefined
      replace.reverse()
      return { kind: 'prune', hide: [], replace, requires: [], params: { keep, placeholder } }
    },
  }
}

function isSystem({ kind, role }: { readonly kind: string; readonly role: string }): boolean {
  return kind === 'message' && role === 'system'
}
