import { z } from 'zod'
import { check } from '../messages/check.ts'
import { isReasoning, type Part } from '../messages/message.ts'
import { type Plan, type PlannedReplacement, savedBy } from '../model/plan.ts'
import type { View } from '../model/view.ts'
import type { ViewRow } from '../model/view-row.ts'
import type { Estimator } from '../tokens/estimators/estimator-schema.ts'
import { measurePart } from '../tokens/tokens.ts'
import type { PlanningStage } from './stage.ts'

/** What the stage can be told. */
export const dropReasoningShape = {
  /** How many of the newest turns keep their reasoning. At least 1, the default. */
  keepTurns: z.int().min(1).optional(),
}
const optionsSchema = z.strictObject(dropReasoningShape)
type DropReasoningStageOptions = z.input<typeof optionsSchema>

/** Turns that keep their reasoning. Source: Anthropic's `clear_thinking_20251015` keeps one by default. */
export const DROP_REASONING_KEEP_TURNS = 1

/**
 * Makes a stage that shows nothing in place of the reasoning of older turns, signatures and redacted forms with it. Only
 * finished tool loops lose it, each as a whole; a loop with a pinned message keeps all of it. Name: `drop_reasoning`.
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

/** The assistant's rows of the loops and messages that may lose their reasoning. */
function rowsToRead(view: View, keepTurns: number): ViewRow[] {
  const end = view.turns.turnStarts().at(-keepTurns)
  return end === undefined ? [] : reasoningRows(view, 0, end)
}

/** Rows from `from` to before `to` whose reasoning may go: loops that hold some, are over, and have nothing pinned. */
export function reasoningRows(view: View, from: number, to: number): ViewRow[] {
  const { rows, turns } = view
  const open = turns.openLoop
  const found: ViewRow[] = []
  for (let index = from; index < Math.min(to, open); ) {
    const [first, behind] = turns.loopOf(index)
    const loop = rows.slice(first, behind)
    const isWithin = first >= from && behind <= to
    if (isWithin && loop.some(({ hasReasoning }) => hasReasoning) && loop.every(({ pinned }) => !pinned))
      for (const row of loop) if (row.kind === 'message' && row.role === 'assistant') found.push(row)
    index = behind
  }
  return found
}

/** Nothing in place of the reasoning of these rows; what shows a replacement already stays as it is. */
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
