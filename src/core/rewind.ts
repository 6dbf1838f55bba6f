import { outputText, type Part } from './message.ts'
import { type Plan, type PlannedReplacement, savedBy } from './plan.ts'
import { measurePart, type Sizes } from './tokens.ts'
import type { View, ViewRow } from './view.ts'

/** A row with parts that point at copies which a rewind hides: they must show their own texts again. */
export type Pointing = { readonly row: ViewRow; readonly copies: readonly number[] }

/**
 * The original text of a part, laid over the pointer it shows. Undoing the rewind shows the pointer again. Nothing for a result
 * with pictures, which no text can show: it keeps its pointer. `instead` is what the pointer saves.
 */
export function restoredPart(
  view: View,
  row: ViewRow,
  part: number,
  original: Part | undefined,
  instead: Sizes,
): PlannedReplacement[] {
  if (original?.type !== 'text' && original?.type !== 'tool-result') return []
  const sizes = measurePart(original, view.estimator)
  if (sizes.media > 0) return []
  const isResult = original.type === 'tool-result'
  const text = isResult ? outputText(original.output) : original.text
  const units = view.estimator.measureText(text, isResult ? 'toolResult' : 'text')
  return [{ row, part, text, saved: savedBy(sizes, isResult ? 'toolResults' : 'text', units), instead }]
}

/**
 * The plan that takes back the end of a view, from the row at `from` on: all that stands there, whatever it is. `restored` are parts
 * before it that would point at something hidden.
 */
export function planRewind(view: View, from: number, restored: readonly PlannedReplacement[]): Plan {
  return {
    kind: 'manual',
    hide: view.rows.slice(from),
    replace: restored,
    requires: [],
    rewinds: true,
    params: { rewind: true },
  }
}

/** The rows before `from` with parts that a deduplication made point at copies behind it, and the keys of these copies. */
export function pointingBehind(view: View, from: number): Pointing[] {
  const copies = new Map<number, number[]>()
  for (const { key, by } of view.leans) {
    if ((view.indexOf(key) ?? -1) < from) continue
    for (const pointing of by) {
      const index = view.indexOf(pointing)
      if (index !== undefined && index < from) copies.set(index, [...(copies.get(index) ?? []), key])
    }
  }
  return [...copies]
    .sort(([a], [b]) => a - b)
    .map(([index, keys]) => ({ row: view.rows[index]!, copies: keys }))
}
