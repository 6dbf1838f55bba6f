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
  subtractSizes,
  unitsOf,
} from '../tokens/measure.ts'
import { isUserWord } from './clear-tool-outputs.ts'
import { keepsGroups } from './cut-points.ts'
import type { PlanningStage, StageContext } from './stage.ts'

/** The ending of a cut content. */
export const CUT_ENDING = '... [TRUNCATED]'

/** The shortest cut content, in tokens (about 200 characters). */
const MIN_CUT_TOKENS = 50

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
 * Texts that are cut all or none, because only their total shown size is known: a part that shows its original, or the parts of a row
 * that show replacements, for which the row stores only a sum.
 */
type CuttableGroup = { readonly texts: readonly Cuttable[]; readonly shown: Sizes }

/**
 * The last resort if the request still doesn't fit: cuts the longest contents, all to the same length, until it fits. The rows keep their
 * text; the view shows less of it. Contents that were cut before, for a larger window, are cut again from their originals.
 */
export const cut: PlanningStage<Plan | undefined> = {
  name: 'cut',
  until: 'limit',

  reads(view) {
    return cuttableRows(view)
  },

  plan(view, context) {
    if (view.tokens <= context.limitTokens) return undefined
    const all = cuttableRows(view).flatMap((row) =>
      cuttableGroups(row, context.contentOf(row), view.estimator),
    )
    // A person's answers through a tool are cut only if nothing else makes the request fit.
    const others = all.filter(({ texts }) => !texts.some((text) => isAnswer(view, text, context)))
    const groups = others.length < all.length && canFit(view, others, context) ? others : all
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

function isAnswer(view: View, { row, part, shownAs }: Cuttable, { settings }: StageContext): boolean {
  if (shownAs !== 'toolResults') return false
  const result = row.results.find((one) => one.part === part)
  return result !== undefined && isUserWord(result, view.toolOf(view.indexOf(row.key)!, result), settings)
}

function canFit(view: View, groups: readonly CuttableGroup[], context: StageContext): boolean {
  const shortest = shortestUnits(view.estimator)
  return groups.length > 0 && tokensCut(view, groups, shortest) <= context.limitTokens
}

/** Returns the tokens of the history if every longer text is cut to a length, in units. */
function tokensCut(view: View, groups: readonly CuttableGroup[], level: number): number {
  const total = unitsOf(view.sizes)
  const framing = view.tokens - view.estimator.toTokens(total, view.provider)
  const saved = groups.reduce((sum, group) => sum + savingOf(group, level), 0)
  return framing + view.estimator.toTokens(total - saved, view.provider)
}

function shortestUnits({ unitsPerToken = 1 }: Estimator): number {
  return MIN_CUT_TOKENS * unitsPerToken
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
    // Replacements are texts, without media.
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

/** Returns the shown units that a group loses if every text longer than `level` is cut; 0 if none is. */
function savingOf({ texts, shown }: CuttableGroup, level: number): number {
  const left = texts.reduce((sum, { units }) => sum + Math.min(units, level), 0)
  return Math.max(0, unitsOf(shown) - left)
}

/** Returns the greatest length, in units, at which the history fits if every longer text is cut to it. */
function findLevel(view: View, groups: readonly CuttableGroup[], { limitTokens }: StageContext): number {
  const fits = (level: number): boolean => tokensCut(view, groups, level) <= limitTokens
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

/** Returns the longest beginning of a text that, with its ending, takes at most `units`; no character is split. */
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
