import type { View } from '../model/view.ts'
import type { ViewRow } from '../model/view-row.ts'
import { SizesSum, tokensOf } from '../tokens/tokens.ts'
import { keepSurvivors, keepsGroups } from './cut-point.ts'

/*
 * Where the kept end of a window begins. A cut is an index: the rows from it on stay, and of those before it what
 * must stay (`staying`). Cuts fall between groups only, so no call is parted from its result.
 */

/** Whether a row counts as a message of the conversation: not a system message, nothing a compaction inserted. */
export function isCounted({ kind, role }: ViewRow): boolean {
  return kind === 'message' && role !== 'system'
}

/**
 * The rows no window may hide, with their groups: system and pinned messages, waiting calls, what visible rows point
 * at, and what compactions inserted (design 3.3: only a condensation may hide a summary). For a condensation, which
 * takes those in, all but them.
 */
export function staying(view: View, condenses = false): Set<number> {
  const stays = keepsGroups(
    view,
    (row) => row.pinned || (!isCounted(row) && !(condenses && row.kind !== 'message')),
  )
  keepSurvivors(view, stays)
  return stays
}

/** The cut that keeps the newest `count` messages; it moves back to where it parts nothing. */
export function cutByCount(view: View, count: number): number {
  let cut = view.rows.length
  for (let left = count; cut > 0 && left > 0; cut--) if (isCounted(view.rows[cut - 1]!)) left -= 1
  while (cut > 0 && !view.turns.isLegalCut(cut)) cut--
  return cut
}

/** The first cut from `from` on with which the view takes at most `tokens`; `most` when there is none before it. */
export function cutToFit(
  view: View,
  stays: ReadonlySet<number>,
  from: number,
  most: number,
  tokens: number,
): number {
  const { rows, estimator, provider, turns } = view
  const kept = new SizesSum(view.sizes)
  let count = rows.length
  for (let cut = 0; ; cut++) {
    if (cut >= most) return most
    if (cut >= from && turns.isLegalCut(cut) && tokensOf(kept.value, count, estimator, provider) <= tokens) {
      return cut
    }
    if (stays.has(cut)) continue
    kept.subtract(rows[cut]!.sizes)
    count -= 1
  }
}

/** Where the newest turn begins; without turns, the newest group. */
export function newestTurn(view: View): number {
  for (let index = view.rows.length - 1; index >= 0; index--) if (view.turns.isTurnStart(index)) return index
  return newestGroup(view)
}

/** The last cut that keeps something. */
export function newestGroup(view: View): number {
  for (let index = view.rows.length - 1; index > 0; index--) if (view.turns.isLegalCut(index)) return index
  return 0
}
