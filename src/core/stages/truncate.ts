import type { Plan, PlannedInsert } from '../model/plan.ts'
import { isRequest } from '../model/tool-groups.ts'
import { Tally, type View } from '../model/view.ts'
import type { ViewRow } from '../model/view-row.ts'
import { measureMessage } from '../tokens/measure.ts'
import { keepSurvivors, keepsGroups } from './cut-points.ts'
import { lowestFirst } from './importance/groups.ts'
import { DEFAULT_WEIGHTS } from './importance/weights.ts'
import type { BareContext, PlanningStage, StageContext } from './stage.ts'
import { MIN_MESSAGES } from './summarize.ts'

/** The marker's text. */
export const TRUNCATION_MARKER = '[Earlier conversation history was truncated to fit within context limits]'
/** The share of the messages after the first pair that NeuroLink hides, according to its documentation. */
export const TRUNCATION_FRACTION = 0.5

/** The maximum share of the target for the first exchange; if it takes more, only its request is kept. */
const FIRST_EXCHANGE_SHARE = 0.5

/**
 * Hides the oldest turns, whole, until the history fits the target.
 *
 * The first exchange, system and pinned messages, summaries in force and the newest turn stay. If the newest turn alone exceeds the
 * target (one request, hundreds of tool calls), its oldest calls are hidden with their results. The marker of an earlier truncation is
 * hidden too, so there is never more than one.
 *
 * With `truncationOrder: 'importance'`, the least important messages and tool groups are hidden first.
 */
export const truncate: PlanningStage<Plan | undefined> = {
  name: 'truncate',

  reads(view, { settings }) {
    return isByImportance(settings) ? view.rows : []
  },

  plan(view, context) {
    if (view.rows.length <= MIN_MESSAGES) return undefined
    const { truncationFraction, truncationMarker } = context.settings
    const insert = truncationMarker === undefined ? undefined : markerFor(view, truncationMarker)
    const hide =
      truncationFraction === undefined
        ? hideByTokens(view, context, insert)
        : hideByFraction(view, truncationFraction, context, insert)
    const hidden = new Uint8Array(view.rows.length)
    for (const index of hide) hidden[index] = 1
    if (!hide.some((index) => view.rows[index]!.kind === 'message')) return undefined
    if (!isSmaller(view, hide, insert)) return undefined
    const plan: Plan = {
      kind: 'truncate',
      hide: view.rows.filter((_, index) => hidden[index] === 1),
      replace: [],
      requires: [],
      params:
        truncationFraction === undefined
          ? {
              targetTokens: context.targetTokens,
              ...(isByImportance(context.settings) && { order: 'importance' }),
            }
          : { fraction: truncationFraction },
    }
    return insert === undefined ? plan : { ...plan, insert }
  },
}

/** A fraction always hides by age. */
function isByImportance({ truncationOrder, truncationFraction }: BareContext['settings']): boolean {
  return truncationOrder === 'importance' && truncationFraction === undefined
}

/** A marker must not cost more than the rows that it replaces. */
function isSmaller(view: View, hide: readonly number[], insert: PlannedInsert | undefined): boolean {
  const remaining = tallyWith(view, insert)
  for (const index of hide) remaining.drop(view.rows[index]!)
  return remaining.tokens < view.tokens
}

/** Returns the tally of the view with the new marker, before anything is hidden. */
function tallyWith(view: View, insert: PlannedInsert | undefined): Tally {
  const tally = new Tally(view)
  if (insert !== undefined) tally.add(insert)
  return tally
}

function markerFor(view: View, text: string): PlannedInsert {
  return {
    kind: 'marker',
    role: 'system',
    text,
    metadata: {},
    sizes: measureMessage({ content: text }, view.estimator),
  }
}

/** Hides turn by turn from the oldest, then call by call within the newest turn, until the history fits. */
function hideByTokens(view: View, context: StageContext, insert: PlannedInsert | undefined): number[] {
  const stays = keepsGroups(view, (row) => staysAlways(row))
  for (const index of firstExchange(view, context.targetTokens)) stays.add(index)
  keepSurvivors(view, stays)

  const markers = indexesOf(view.rows, isMarker)
  const remaining = tallyWith(view, insert)
  const hide: number[] = []
  const drop = (indexes: readonly number[]): void => {
    for (const index of indexes) {
      remaining.drop(view.rows[index]!)
      hide.push(index)
    }
  }

  const byWorth = isByImportance(context.settings) ? orderByWorth(view, context) : undefined
  for (const steps of [olderTurns(view, stays), newestTurnUnits(view, stays)]) {
    for (const step of byWorth?.([...steps]) ?? steps) {
      if (remaining.tokens <= context.targetTokens) return hide
      if (hide.length === 0) drop(markers)
      drop(step)
    }
  }
  return hide
}

/** Returns a function that splits steps into groups, the least important first. */
function orderByWorth(view: View, { contentOf }: StageContext): (steps: readonly number[][]) => number[][] {
  const groups = lowestFirst(view, contentOf, DEFAULT_WEIGHTS)
  return (steps) => {
    const may = new Set(steps.flat())
    return groups
      .filter(({ indexes }) => indexes.every((index) => may.has(index)))
      .map(({ indexes }) => [...indexes])
  }
}

/** System messages, pinned messages and summaries are never truncated; markers are handled separately. */
function staysAlways(row: ViewRow): boolean {
  return row.pinned || row.kind !== 'message' || row.role === 'system'
}

/** A pinned marker stays beside the new one. */
function isMarker(row: ViewRow): boolean {
  return row.kind === 'marker' && !row.pinned
}

/**
 * Hides a share of the messages after the first pair, oldest first, rounded down to an even number that splits no group. If the request
 * would still not fit its window, hides as many as necessary.
 */
function hideByFraction(
  view: View,
  fraction: number,
  context: StageContext,
  insert: PlannedInsert | undefined,
): number[] {
  const hide = shareOf(view, fraction)
  const remaining = tallyWith(view, insert)
  for (const index of hide) remaining.drop(view.rows[index]!)
  if (remaining.tokens <= context.limitTokens) return hide
  return hideByTokens(view, { ...context, targetTokens: context.limitTokens }, insert)
}

/** Returns the rows of a share of the messages, and the markers before them. */
function shareOf(view: View, fraction: number): number[] {
  const messages = indexesOf(view.rows, (row) => !staysAlways(row))
  const stays = keepsGroups(view, staysAlways)
  for (const index of messages.slice(0, 2)) for (const member of view.turns.groupOf(index)) stays.add(member)
  keepSurvivors(view, stays)
  const rest = messages.slice(2)
  const hide = wholeGroups(
    view,
    rest.filter((index) => !stays.has(index)),
    Math.floor(rest.length * fraction),
  )
  // Only markers that the new one replaces: its place is after the plan's last row.
  const end = (hide.at(-1) ?? 0) + 2
  const markers = indexesOf(view.rows.slice(0, end), isMarker)
  return hide.length === 0 ? [] : [...markers, ...hide]
}

/** Returns the longest beginning of `indexes` that has an even length of at most `most` and no partial groups. */
function wholeGroups(view: View, indexes: readonly number[], most: number): readonly number[] {
  let length = 0
  let groupsEnd = -1
  for (let count = 1; count <= Math.min(most, indexes.length); count++) {
    groupsEnd = Math.max(groupsEnd, view.turns.groupOf(indexes[count - 1]!).at(-1)!)
    const next = indexes[count]
    if (count % 2 === 0 && (next === undefined || groupsEnd < next)) length = count
  }
  return indexes.slice(0, length)
}

/** Returns the first request and its answer, unless a summary already replaces them or they are too large. */
function firstExchange(view: View, targetTokens: number): number[] {
  const first = view.rows.findIndex(isRequest)
  if (first < 0 || view.rows.slice(0, first).some((row) => row.kind === 'summary')) return []
  let end = first
  while (end < view.rows.length && isRequest(view.rows[end]!)) end++
  // If a row has text beside results, the calls stay too.
  const requests = withGroups(view, range(first, end))
  const answer = view.rows.findIndex(
    (row, index) => index >= end && row.role === 'assistant' && row.kind === 'message',
  )
  if (answer < 0) return requests
  const exchange = [...new Set([...requests, ...view.turns.groupOf(answer)])]
  const tokens = view.tokensOfRows(exchange.map((index) => view.rows[index]!))
  return tokens <= targetTokens * FIRST_EXCHANGE_SHARE ? exchange : requests
}

/** Yields the turns before the newest, oldest first, without the rows that stay. */
function* olderTurns(view: View, stays: ReadonlySet<number>): Generator<number[]> {
  const starts = view.turns.turnStarts()
  const newest = starts.at(-1) ?? 0
  let turn: number[] = []
  let next = 0
  for (let index = 0; index < newest; index++) {
    if (index === starts[next]) {
      if (turn.length > 0) yield turn
      turn = []
      next += 1
    }
    if (!stays.has(index)) turn.push(index)
  }
  if (turn.length > 0) yield turn
}

/** Returns the groups of the newest turn after its request, oldest first; the last group stays. */
function newestTurnUnits(view: View, stays: ReadonlySet<number>): number[][] {
  const newest = view.turns.turnStarts().at(-1) ?? 0
  const units: number[][] = []
  let unit: number[] = []
  for (let index = newest; index < view.rows.length; index++) {
    if (view.turns.isLegalCut(index) && unit.length > 0) {
      units.push(unit)
      unit = []
    }
    unit.push(index)
  }
  const requests = new Set(
    withGroups(
      view,
      range(newest, view.rows.length).filter((index) => isRequest(view.rows[index]!)),
    ),
  )
  return units
    .map((indexes) => indexes.filter((index) => !stays.has(index) && !requests.has(index)))
    .filter((indexes) => indexes.length > 0)
}

/** Returns rows with their groups. Groups are added whole, so each is read once. */
function withGroups(view: View, indexes: readonly number[]): number[] {
  const all = new Set<number>()
  for (const index of indexes)
    if (!all.has(index)) for (const member of view.turns.groupOf(index)) all.add(member)
  return [...all]
}

function indexesOf(rows: readonly ViewRow[], matches: (row: ViewRow) => boolean): number[] {
  const indexes: number[] = []
  for (let index = 0; index < rows.length; index++) if (matches(rows[index]!)) indexes.push(index)
  return indexes
}

function range(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, to - from) }, (_, at) => from + at)
}
