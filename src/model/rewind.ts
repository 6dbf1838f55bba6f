import { listIn } from '../messages/lists.ts'
import { NO_SIZES, type Sizes } from '../tokens/tokens.ts'
import type { Plan, PlannedReplacement } from './plan.ts'
import { openLoopBefore } from './turns.ts'
import type { View } from './view.ts'
import type { ViewRow } from './view-row.ts'

/** A row with parts that point at copies which a rewind hides: they must show themselves again. */
type Pointing = { readonly row: ViewRow; readonly copies: readonly number[] }

/**
 * A part as it was before it showed what saves `instead` of it: its preview if it has one, else the original. Undoing the rewind shows
 * that other thing again.
 */
export function restoredPart(
  row: ViewRow,
  part: number,
  instead: Sizes,
  preview: { readonly text: string; readonly saved: Sizes } | undefined,
): PlannedReplacement {
  if (preview === undefined) return { row, part, text: '', original: true, saved: NO_SIZES, instead }
  return { row, part, ...preview, instead }
}

/**
 * The plan that takes back the end of a view, from the row at `from` on: all that stands there, whatever it is. `restored` are parts
 * before it that would point at something hidden, and reasoning that a tool loop needs which is open again.
 */
export function planRewind(
  view: View,
  from: number,
  restored: readonly PlannedReplacement[],
  keepsCompactions: boolean,
): Plan {
  return {
    kind: 'manual',
    hide: view.rows.slice(from),
    replace: restored,
    requires: [],
    rewinds: true,
    params: keepsCompactions ? { rewind: true, keepCompactions: true } : { rewind: true },
  }
}

/** The rows before `from` with parts that a deduplication made point at copies behind it, and the keys of these copies. */
export function pointingBehind(view: View, from: number): Pointing[] {
  const copies = new Map<number, number[]>()
  for (const { key, by } of view.leans) {
    if ((view.indexOf(key) ?? -1) < from) continue
    for (const pointing of by) {
      const index = view.indexOf(pointing)
      if (index !== undefined && index < from) listIn(copies, index).push(key)
    }
  }
  return [...copies]
    .sort(([a], [b]) => a - b)
    .map(([index, keys]) => ({ row: view.rows[index]!, copies: keys }))
}

/**
 * The rows before `from` that stand in a tool loop which a rewind opens again, and show something else than their reasoning: with
 * thinking on, providers refuse calls without it.
 */
export function thinkingAgain(view: View, from: number): ViewRow[] {
  const loop = view.rows.slice(openLoopBefore(view.rows, from), from)
  if (loop.every(({ calls }) => calls.length === 0)) return []
  return loop.filter(({ hasReasoning, shown }) => hasReasoning && shown.length > 0)
}
