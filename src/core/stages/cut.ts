import { outputText, type Part } from '../message.ts'
import { type PlannedReplacement, savedBy } from '../plan.ts'
import { type Estimator, measureOutput, NO_SIZES, type Sizes, unitsOf } from '../tokens.ts'
import type { View, ViewRow } from '../view.ts'
import { keepsGroups } from './cut-point.ts'
import type { Stage, StageContext } from './stage.ts'

/** What a content that was cut ends in. Source: seed 002. */
export const CUT_ENDING = '... [TRUNCATED]'

/** No content is cut shorter than this, in units of the estimator (with the default some 200 characters). */
const SHORTEST_UNITS = 50

/** One text that can be cut. */
type Cuttable = {
  readonly row: ViewRow
  readonly part: number
  readonly text: string
  readonly units: number
  readonly original: Sizes
  readonly shownAs: 'text' | 'toolResults'
}

/**
 * The last resort, when everything else was done and the request still does not fit: cuts over-long contents,
 * the largest first, all to one length, until it fits. The rows keep their text; the view shows less of it.
 */
export const cut: Stage = {
  kind: 'cut',

  reads(view) {
    return cuttableRows(view)
  },

  plan(view, context) {
    if (view.tokens <= context.limitTokens) return undefined
    const texts = cuttableRows(view).flatMap((row) =>
      cuttableTexts(row, context.contentOf(row), view.estimator),
    )
    const level = findLevel(view, texts, context)
    const replace = texts
      .filter(({ units }) => units > level)
      .map((text) => shortened(text, level, view.estimator))
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

function cuttableRows(view: View): ViewRow[] {
  const stays = keepsGroups(view, (row) => row.kind !== 'message' || row.role === 'system')
  return view.rows.filter(
    (row, index) => !stays.has(index) && !row.pinned && unitsOf(row.sizes) > SHORTEST_UNITS,
  )
}

function cuttableTexts(row: ViewRow, parts: readonly Part[], estimator: Estimator): Cuttable[] {
  return parts.flatMap((part, index): Cuttable[] => {
    if (row.shown.some((shown) => shown.part === index)) return []
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

/** The greatest length, in units, to which cutting every longer text makes the history fit. */
function findLevel(view: View, texts: readonly Cuttable[], { limitTokens }: StageContext): number {
  const total = unitsOf(view.sizes)
  const framing = view.tokens - view.estimator.toTokens(total, view.provider)
  const fits = (level: number): boolean => {
    const saved = texts.reduce((sum, { units }) => sum + Math.max(0, units - level), 0)
    return framing + view.estimator.toTokens(total - saved, view.provider) <= limitTokens
  }
  let low = SHORTEST_UNITS
  let high = texts.reduce((most, { units }) => Math.max(most, units), SHORTEST_UNITS)
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (fits(middle)) low = middle
    else high = middle - 1
  }
  return low
}

function shortened(from: Cuttable, level: number, estimator: Estimator): PlannedReplacement {
  const text = cutText(from.text, level, estimator)
  const saved = savedBy(from.original, from.shownAs, estimator.measureText(text))
  return { row: from.row, part: from.part, text, saved }
}

/** The longest beginning of a text that with its ending measures at most `units`; no character is cut in two. */
export function cutText(text: string, units: number, estimator: Estimator): string {
  let low = 0
  let high = text.length
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (estimator.measureText(`${beginning(text, middle)}${CUT_ENDING}`) <= units) low = middle
    else high = middle - 1
  }
  return `${beginning(text, low)}${CUT_ENDING}`
}

/** The first `length` UTF-16 units, one less where that would cut a pair of surrogates. */
export function beginning(text: string, length: number): string {
  const last = text.charCodeAt(length - 1)
  const isHigh = last >= 0xd800 && last <= 0xdbff
  const next = text.charCodeAt(length)
  return isHigh && next >= 0xdc00 && next <= 0xdfff ? text.slice(0, length - 1) : text.slice(0, length)
}
