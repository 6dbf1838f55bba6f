import { headOf } from '../messages/characters.ts'
import { outputText, type Part } from '../messages/message.ts'
import { type Plan, type PlannedReplacement, savedBy } from '../model/plan.ts'
import type { View } from '../model/view.ts'
import type { ViewRow } from '../model/view-row.ts'
import type { Estimator, TextKind } from '../tokens/estimators/estimator-schema.ts'
import {
  addSizes,
  measureOutput,
  measurePart,
  NO_SIZES,
  type Sizes,
  SizesSum,
  subtractSizes,
  tokensOf,
  unitsOf,
} from '../tokens/tokens.ts'
import type { PlanningStage, StageContext } from './stage.ts'

/**
 * The start of the kept tail: the earliest turn start with at most `keepTokens` after it.
 *
 * The newest turn stays whole even when it is larger, as long as it takes at most `roomTokens`; when it takes more (one request,
 * hundreds of tool calls), the cut is inside it, between calls.
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

/** The share of its room that a tail of whole turns must fill; otherwise the cut is inside a turn. */
const FILLED_SHARE = 0.75

/**
 * The start of the tail that fills `roomTokens` best: at the start of a turn, or between the calls of a turn when whole turns would
 * leave too much room unused.
 */
export function findFillingCut(view: View, roomTokens: number): number {
  const { rows, turns } = view
  const atTurn = findCut(view, roomTokens, roomTokens)
  const tokens = view.tokensOfRows(rows.slice(atTurn))
  // Nothing fits: only the newest group stays, not its whole turn.
  if (tokens > roomTokens) {
    for (let index = rows.length - 1; index > atTurn; index--) if (turns.isLegalCut(index)) return index
    return atTurn
  }
  if (tokens >= roomTokens * FILLED_SHARE) return atTurn
  for (let index = tailStart(view, roomTokens); index < atTurn; index++)
    if (turns.isLegalCut(index)) return index
  return atTurn
}

/** The first index from which the rest of the view takes at most `tokens`. */
function tailStart(view: View, tokens: number): number {
  let sum = 0
  for (let index = view.rows.length - 1; index >= 0; index--) {
    sum += view.tokensOfRow(view.rows[index]!.sizes)
    if (sum > tokens) return index + 1
  }
  return 0
}

/** The indexes of rows that stay, with their groups; pending calls always stay. */
export function keepsGroups(view: View, stays: (row: ViewRow) => boolean): Set<number> {
  const kept = new Set(view.turns.pending)
  // A loop of 20,000 rows is one group: it is read once, not once per row.
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

/** Adds rows that a staying row points to (survivors of deduplications), with their groups. */
export function keepSurvivors(view: View, stays: Set<number>): void {
  for (const { key, by } of view.pointerTargets) {
    const survivor = view.indexOf(key)
    if (survivor === undefined || stays.has(survivor)) continue
    const isPointedAt = by.some((pointing) => stays.has(view.indexOf(pointing) ?? -1))
    if (isPointedAt) for (const member of view.turns.groupOf(survivor)) stays.add(member)
  }
}

/*
 * The start of the kept end of a window. A cut is an index: the rows from it on stay, and of those before it the ones in `staying`. Cuts
 * are between groups only, so calls keep their results.
 */

/** Whether a row counts as a message of the conversation: not a system message and not inserted by a compaction. */
export function isCounted({ kind, role }: ViewRow): boolean {
  return kind === 'message' && role !== 'system'
}

/**
 * The rows that no window may hide, with their groups: system and pinned messages, pending calls, rows that visible rows point to, and
 * rows inserted by compactions, because only a condensation may hide a summary. A condensation may hide those inserted rows.
 */
export function staying(view: View, condenses = false): Set<number> {
  const stays = keepsGroups(
    view,
    (row) => row.pinned || (!isCounted(row) && !(condenses && row.kind !== 'message')),
  )
  keepSurvivors(view, stays)
  return stays
}

/** The cut that keeps the newest `count` messages, moved back to the nearest legal place. */
export function cutByCount(view: View, count: number): number {
  let cut = view.rows.length
  for (let left = count; cut > 0 && left > 0; cut--) if (isCounted(view.rows[cut - 1]!)) left -= 1
  while (cut > 0 && !view.turns.isLegalCut(cut)) cut--
  return cut
}

/** The first cut from `from` on that leaves at most `tokens`; `most` when there is none before it. */
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

/** The start of the newest turn; without turns, of the newest group. */
export function newestTurn(view: View): number {
  for (let index = view.rows.length - 1; index >= 0; index--) if (view.turns.isTurnStart(index)) return index
  return newestGroup(view)
}

/** The last cut that keeps something. */
export function newestGroup(view: View): number {
  for (let index = view.rows.length - 1; index > 0; index--) if (view.turns.isLegalCut(index)) return index
  return 0
}

/** The ending of a cut content. */
export const CUT_ENDING = '... [TRUNCATED]'

/** The shortest cut content, in tokens (about 200 characters). */
const SHORTEST_TOKENS = 50

/** A text that can be cut: the original, whatever is shown in its place. */
type Cuttable = {
  readonly row: ViewRow
  readonly part: number
  readonly text: string
  readonly units: number
  readonly original: Sizes
  readonly shownAs: 'text' | 'toolResults'
}

/**
 * Texts that are cut all or none, because only their total shown size is known: a part that shows its original; the parts of a row that
 * show replacements, for which the row has only a sum.
 */
type CuttableGroup = { readonly texts: readonly Cuttable[]; readonly shown: Sizes }

/**
 * The last resort when the request does not fit after everything else: cuts the longest contents, all to one length, until it fits. The
 * rows keep their text; the view shows less of it. Contents that were cut before, for a larger window, are cut again from their
 * originals.
 */
export const cut: PlanningStage<Plan | undefined> = {
  name: 'cut',
  until: 'limit',

  reads(view) {
    return cuttableRows(view)
  },

  plan(view, context) {
    if (view.tokens <= context.limitTokens) return undefined
    const groups = cuttableRows(view).flatMap((row) =>
      cuttableGroups(row, context.contentOf(row), view.estimator),
    )
    const level = findLevel(view, groups, context)
    const replace = groups
      .filter((group) => savingOf(group, level) > 0)
      .flatMap((group) => shortened(group, level, view.estimator))
    if (replace.length === 0) return undefined
    return {
      kind: 'cut',
      hide: [],
      replace,
      requires: [],
      params: { limitTokens: context.limitTokens, units: level },
    }
  },
}

function shortestUnits({ unitsPerToken = 1 }: Estimator): number {
  return SHORTEST_TOKENS * unitsPerToken
}

function cuttableRows(view: View): ViewRow[] {
  const stays = keepsGroups(view, (row) => row.kind !== 'message' || row.role === 'system')
  return view.rows.filter(
    (row, index) => !stays.has(index) && !row.pinned && unitsOf(row.sizes) > shortestUnits(view.estimator),
  )
}

function cuttableGroups(row: ViewRow, parts: readonly Part[], estimator: Estimator): CuttableGroup[] {
  const replaced = new Set(row.shown.map(({ part }) => part))
  const texts = cuttableTexts(row, parts, estimator)
  const groups = texts
    .filter(({ part }) => !replaced.has(part))
    .map((text): CuttableGroup => ({ texts: [text], shown: text.original }))
  if (replaced.size === 0) return groups
  const others = parts.reduce(
    (sum, part, index) => (replaced.has(index) ? sum : addSizes(sum, measurePart(part, estimator))),
    NO_SIZES,
  )
  for (const shownAs of ['text', 'toolResults'] as const) {
    const together = texts.filter((text) => text.shownAs === shownAs && replaced.has(text.part))
    if (together.length === 0) continue
    // A replacement is a text, without media.
    const shown = { ...NO_SIZES, [shownAs]: row.sizes[shownAs] - others[shownAs] }
    groups.push({ texts: together, shown })
  }
  return groups
}

function cuttableTexts(row: ViewRow, parts: readonly Part[], estimator: Estimator): Cuttable[] {
  return parts.flatMap((part, index): Cuttable[] => {
    if (part.type === 'text') {
      const units = estimator.measureText(part.text)
      return [
        { row, part: index, text: part.text, units, original: { ...NO_SIZES, text: units }, shownAs: 'text' },
      ]
    }
    if (part.type === 'tool-result') {
      const original = measureOutput(part.output, estimator)
      const text = outputText(part.output)
      return [{ row, part: index, text, units: original.toolResults, original, shownAs: 'toolResults' }]
    }
    return []
  })
}

/** The shown units that a group loses when every text longer than `level` is cut; 0 for none. */
function savingOf({ texts, shown }: CuttableGroup, level: number): number {
  const left = texts.reduce((sum, { units }) => sum + Math.min(units, level), 0)
  return Math.max(0, unitsOf(shown) - left)
}

/** The greatest length, in units, with which the history fits when every longer text is cut to it. */
function findLevel(view: View, groups: readonly CuttableGroup[], { limitTokens }: StageContext): number {
  const total = unitsOf(view.sizes)
  const framing = view.tokens - view.estimator.toTokens(total, view.provider)
  const fits = (level: number): boolean => {
    const saved = groups.reduce((sum, group) => sum + savingOf(group, level), 0)
    return framing + view.estimator.toTokens(total - saved, view.provider) <= limitTokens
  }
  const shortest = shortestUnits(view.estimator)
  let low = shortest
  let high = groups.reduce((most, { shown }) => Math.max(most, unitsOf(shown)), shortest)
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (fits(middle)) low = middle
    else high = middle - 1
  }
  return low
}

function shortened(
  { texts, shown }: CuttableGroup,
  level: number,
  estimator: Estimator,
): PlannedReplacement[] {
  const original = texts.reduce((sum, text) => addSizes(sum, text.original), NO_SIZES)
  const instead = subtractSizes(original, shown)
  const isReplaced = texts.some(({ row, part }) => row.shown.some((entry) => entry.part === part))
  return texts.map((from, at) => {
    const text = from.units > level ? cutText(from.text, level, estimator, kindOf(from.shownAs)) : from.text
    const saved = savedBy(from.original, from.shownAs, estimator.measureText(text, kindOf(from.shownAs)))
    const replacement = { row: from.row, part: from.part, text, saved }
    return isReplaced && at === 0 ? { ...replacement, instead } : replacement
  })
}

function kindOf(shownAs: Cuttable['shownAs']): TextKind {
  return shownAs === 'toolResults' ? 'toolResult' : 'text'
}

/** The longest beginning of a text that takes at most `units` with its ending; no character is split. */
function cutText(text: string, units: number, estimator: Estimator, kind?: TextKind): string {
  let low = 0
  let high = text.length
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (estimator.measureText(`${headOf(text, middle)}${CUT_ENDING}`, kind) <= units) low = middle
    else high = middle - 1
  }
  return `${headOf(text, low)}${CUT_ENDING}`
}
