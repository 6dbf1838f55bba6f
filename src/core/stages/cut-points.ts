import { Tally, type View } from '../model/view.ts'
import type { ViewRow } from '../model/view-row.ts'

/**
 * Returns the start of the kept tail: the earliest turn start with at most `keepTokens` after it.
 *
 * The newest turn stays whole even if it is larger, as long as it takes at most `roomTokens`. If it takes more (one request, hundreds of
 * tool calls), the cut is inside it, between calls.
 */
export function findCut(view: View, keepTokens: number, roomTokens: number): number {
  const { rows, turns } = view
  const fits = tailStart(view, keepTokens)
  for (let index = fits; index < rows.length; index++) if (turns.isTurnStart(index)) return index
  const newest = turns.turnStarts().at(-1) ?? 0
  if (newest > 0 && view.tokensOfRows(rows.slice(newest)) <= roomTokens) return newest
  for (let index = fits; index < rows.length; index++) if (turns.isLegalCut(index)) return index
  return newest
}

/**
 * Returns the start of the tail that best fills `roomTokens`: at the start of a turn, or between the calls of a turn if whole turns would
 * leave too much room unused.
 */
export function findFillingCut(view: View, roomTokens: number): number {
  const { rows, turns } = view
  const atTurn = findCut(view, roomTokens, roomTokens)
  const tokens = view.tokensOfRows(rows.slice(atTurn))
  // Nothing fits, so only the newest group stays, not its whole turn.
  if (tokens > roomTokens) {
    for (let index = rows.length - 1; index > atTurn; index--) if (turns.isLegalCut(index)) return index
    return atTurn
  }
  if (tokens >= roomTokens * FILLED_SHARE) return atTurn
  for (let index = tailStart(view, roomTokens); index < atTurn; index++)
    if (turns.isLegalCut(index)) return index
  return atTurn
}

/** Returns the first index from which the rest of the view takes at most `tokens`. */
function tailStart(view: View, tokens: number): number {
  let sum = 0
  for (let index = view.rows.length - 1; index >= 0; index--) {
    sum += view.tokensOfRow(view.rows[index]!)
    if (sum > tokens) return index + 1
  }
  return 0
}

/** Returns the indexes of rows that stay, with their groups; pending calls always stay. */
export function keepsGroups(view: View, stays: (row: ViewRow) => boolean): Set<number> {
  const kept = new Set(view.turns.pending)
  // A loop of 20,000 rows is one group and is read once, not once per row.
  const done = new Set<readonly number[]>()
  view.rows.forEach((row, index) => {
    if (!stays(row)) return
    const group = view.turns.groupOf(index)
    if (done.has(group)) return
    done.add(group)
    for (const member of group) kept.add(member)
  })
  return kept
}

/** Adds rows to which a staying row points (survivors of deduplications), with their groups. */
export function keepSurvivors(view: View, stays: Set<number>): void {
  for (const { key, by } of view.pointerTargets) {
    const survivor = view.indexOf(key)
    if (survivor === undefined || stays.has(survivor)) continue
    const isPointedAt = by.some((pointing) => stays.has(view.indexOf(pointing) ?? -1))
    if (isPointedAt) for (const member of view.turns.groupOf(survivor)) stays.add(member)
  }
}

/*
 * The start of the kept end of a window. A cut is an index: the rows from it on stay, and so do the earlier rows in `staying`. Cuts are
 * only between groups, so calls keep their results.
 */

/** Returns whether a row counts as a message of the conversation: neither a system message nor inserted by a compaction. */
export function isCounted({ kind, role }: ViewRow): boolean {
  return kind === 'message' && role !== 'system'
}

/**
 * Returns the rows that no window may hide, with their groups: system and pinned messages, pending calls, rows to which visible rows
 * point, and rows inserted by compactions, because only a condensation may hide a summary. With `condenses`, the inserted rows may be
 * hidden.
 */
export function staying(view: View, condenses = false): Set<number> {
  const stays = keepsGroups(
    view,
    (row) => row.pinned || (!isCounted(row) && !(condenses && row.kind !== 'message')),
  )
  keepSurvivors(view, stays)
  return stays
}

/** Returns the cut that keeps the newest `count` messages, moved back to the nearest legal place. */
export function cutByCount(view: View, count: number): number {
  let cut = view.rows.length
  for (let left = count; cut > 0 && left > 0; cut--) if (isCounted(view.rows[cut - 1]!)) left -= 1
  while (cut > 0 && !view.turns.isLegalCut(cut)) cut--
  return cut
}

/** Returns the first cut from `from` on that leaves at most `tokens`; `most` if there is none before it. */
export function cutToFit(
  view: View,
  stays: ReadonlySet<number>,
  from: number,
  most: number,
  tokens: number,
): number {
  const kept = new Tally(view)
  for (let cut = 0; cut < most; cut++) {
    if (cut >= from && view.turns.isLegalCut(cut) && kept.tokens <= tokens) return cut
    if (!stays.has(cut)) kept.drop(view.rows[cut]!)
  }
  return most
}

/** Returns the start of the newest turn, or of the newest group if there are no turns. */
export function newestTurn(view: View): number {
  for (let index = view.rows.length - 1; index >= 0; index--) if (view.turns.isTurnStart(index)) return index
  return newestGroup(view)
}

/** Returns the last cut that keeps something. */
export function newestGroup(view: View): number {
  for (let index = view.rows.length - 1; index > 0; index--) if (view.turns.isLegalCut(index)) return index
  return 0
}

/** The minimum share of the room that a tail of whole turns must fill; otherwise the cut is inside a turn. */
const FILLED_SHARE = 0.75
