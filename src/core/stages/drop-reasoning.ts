import { z } from 'zod'
import { check } from '../messages/check.ts'
import { isReasoning, type Part } from '../messages/message.ts'
import { type Plan, type PlannedReplacement, savedBy } from '../model/plan.ts'
import type { View } from '../model/view.ts'
import type { ViewRow } from '../model/view-row.ts'
import type { Estimator } from '../tokens/estimators/estimator-schema.ts'
import { measurePart } from '../tokens/measure.ts'
import type { PlanningStage } from './stage.ts'

/** The options of the stage. */
export const dropReasoningShape = {
  /** The number of newest turns that keep their reasoning, at least 1. Default 1. */
  keepTurns: z.int().min(1).optional(),
}
const optionsSchema = z.strictObject(dropReasoningShape)
type DropReasoningStageOptions = z.input<typeof optionsSchema>

/** The number of turns that keep their reasoning; Anthropic's `clear_thinking_20251015` has the same default. */
export const DROP_REASONING_KEEP_TURNS = 1

/**
 * Returns a stage that empties the reasoning of older turns, including signatures and redacted forms. Only finished tool loops lose their
 * reasoning, each as a whole; a loop with a pinned message keeps it. Name: `drop_reasoning`.
 *
 * Throws `INVALID_INPUT`.
 */
export function dropReasoningStage(
  options: DropReasoningStageOptions = {},
  what = 'dropReasoning',
): PlanningStage<Plan | undefined> {
  const { keepTurns = DROP_REASONING_KEEP_TURNS } = check(optionsSchema, options, what)
  return {
    name: 'drop_reasoning',

    reads(view) {
      return rowsToRead(view, keepTurns)
    },

    plan(view, { contentOf }) {
      const replace = emptiedReasoning(rowsToRead(view, keepTurns), contentOf, view.estimator)
      if (replace.length === 0) return undefined
      return {
        kind: 'prune',
        hide: [],
        replace,
        requires: [],
        params: { stage: 'drop_reasoning', keepTurns },
      }
    },
  }
}

/** Returns the assistant's rows of the loops and messages that may lose their reasoning. */
function rowsToRead(view: View, keepTurns: number): ViewRow[] {
  const end = view.turns.turnStarts().at(-keepTurns)
  return end === undefined ? [] : reasoningRows(view, 0, end)
}

/**
 * Returns the rows from `from` to before `to` whose reasoning may be emptied: finished loops with reasoning, without pins and open calls.
 */
export function reasoningRows(view: View, from: number, to: number): ViewRow[] {
  const { rows, turns } = view
  const open = turns.openLoop
  const found: ViewRow[] = []
  for (let index = from; index < Math.min(to, open); ) {
    const [first, end] = turns.loopOf(index)
    const loop = rows.slice(first, end)
    const isWithin = first >= from && end <= to
    const mayChange = loop.every(({ pinned }, at) => !pinned && !turns.pending.has(first + at))
    if (isWithin && mayChange && loop.some(({ hasReasoning }) => hasReasoning))
      for (const row of loop) if (row.kind === 'message' && row.role === 'assistant') found.push(row)
    index = end
  }
  return found
}

/** Empties the reasoning of these rows, except parts that already show a replacement. */
export function emptiedReasoning(
  rows: readonly ViewRow[],
  contentOf: (row: ViewRow) => readonly Part[],
  estimator: Estimator,
): PlannedReplacement[] {
  const replace: PlannedReplacement[] = []
  for (const row of rows) {
    const shown = new Set(row.shown.map(({ part }) => part))
    for (const [index, part] of contentOf(row).entries()) {
      if (shown.has(index) || !isReasoning(part)) continue
      replace.push({ row, part: index, text: '', saved: savedBy(measurePart(part, estimator), 'text', 0) })
    }
  }
  return replace
}
