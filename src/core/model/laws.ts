/* Rejects plans that separate a call from its result or break another law. Stages avoid such plans with `tool-groups.ts`. */

import { isUndertextError, UndertextError } from '../errors.ts'
import { sameSizes } from '../tokens/measure.ts'
import { applyPlan, isCondensing, type Plan, type PlannedStep, spanOf } from './plan.ts'
import { isThought } from './tool-groups.ts'
import { compareRows, View } from './view.ts'
import type { ViewRow } from './view-row.ts'

/**
 * Checks a plan against the laws (ARCHITECTURE.md) on the view to which it is applied. `checkStale` checks that the view has not
 * changed; whether a summary is smaller than its source is checked where its text is available.
 *
 * A rewind hides the whole end of the conversation, including pins, system messages, summaries and open calls; its only law is that
 * no result is left without its call.
 *
 * A repair replaces parts that a provider refused, including pinned and open ones.
 *
 * Throws `ILLEGAL_BOUNDARY`, `PENDING_TOOL_CALLS` or `STALE_PLAN` (a row is missing); changes nothing.
 */
export function checkLaws(sessionId: string, view: View, plan: Plan): void {
  const { turns } = view
  const indexOf = (row: ViewRow): number => view.indexOf(row.key)!
  const refuse = (why: string, rows: readonly ViewRow[]): never => {
    throw new UndertextError('ILLEGAL_BOUNDARY', { sessionId, why, messageIds: rows.map((row) => row.id) })
  }
  // A part that moves to the inserted row is still sent there.
  const touched = [...plan.hide, ...plan.replace.filter(({ moved }) => moved !== true).map(({ row }) => row)]
  const gone = [
    ...plan.hide,
    ...plan.replace.map(({ row }) => row),
    ...plan.requires.map(({ row }) => row),
  ].filter((row) => view.indexOf(row.key) === undefined)
  if (gone.length > 0) throw stale(sessionId, "some of its messages aren't visible", gone)

  if (plan.rewinds === true) {
    const answers = turns.answersMissing(plan.hide.map(indexOf))
    if (answers.length > 0)
      refuse(
        'they answer tool calls that would be hidden',
        answers.map((at) => view.rows[at]!),
      )
    return
  }
  // A repair hides nothing, and the provider refuses the part wherever it is.
  if (plan.kind === 'repair') {
    if (plan.hide.length > 0) refuse('a repair hides no messages', plan.hide)
    return
  }
  const pinned = touched.filter((row) => row.pinned)
  if (pinned.length > 0) refuse('they are pinned', pinned)
  const system = touched.filter((row) => row.kind === 'message' && row.role === 'system')
  if (system.length > 0) refuse('they are system messages', system)
  // Abandoned calls may be hidden. A provider may compact inside a loop: open calls stay, but the rest of their loop may be hidden.
  const waits = plan.kind === 'provider' ? turns.waiting : turns.pending
  // A preview belongs to the append of its message, so a pending batch doesn't forbid it.
  const pending = plan.kind === 'preview' ? [] : touched.filter((row) => waits.has(indexOf(row)))
  if (pending.length > 0) {
    throw new UndertextError('PENDING_TOOL_CALLS', { sessionId, messageIds: pending.map((row) => row.id) })
  }

  // A loop may be cut where its provider compacted it, because the rest follows the block.
  const hidden = plan.hide.map(indexOf)
  const parted = plan.kind === 'provider' ? turns.partnersMissing(hidden) : turns.partedBy(hidden)
  if (parted.length > 0)
    refuse(
      'they belong to tool calls that would be hidden',
      parted.map((at) => view.rows[at]!),
    )

  if (plan.kind === 'condense') {
    const { beside } = spanOf(view, plan.hide)
    if (beside.length > 0) refuse('a summary replaces adjacent messages, and these are between them', beside)
  } else if (!isCondensing(plan.kind)) {
    const summaries = plan.hide.filter((row) => row.kind === 'summary')
    if (summaries.length > 0) refuse('only a summary that covers another summary can hide it', summaries)
  }

  const worded = plan.replace.filter(({ saved, text }) => saved.reasoning !== 0 && text !== '')
  if (worded.length > 0)
    refuse(
      'reasoning can be hidden but not changed',
      worded.map(({ row }) => row),
    )
  const emptied = plan.replace.filter(({ text, moved }) => text === '' && moved !== true)
  const needing = emptied.length === 0 ? [] : partedReasoning(view, emptied)
  if (needing.length > 0) refuse('the tool loop needs its reasoning', needing)

  if (plan.requires.length > 0) checkPointers(view, plan, refuse)
}

type PlacedRow = Pick<ViewRow, 'key' | 'kind' | 'anchor' | 'ordinal'>

/**
 * Returns the messages after the newest summary that a run hid: they are in neither the summary nor the view. A valid run that summarizes
 * has none. `before` and `after` are the rows of the view before and after the run, in order.
 */
export function missingAfterSummary<R extends PlacedRow>(
  before: readonly R[],
  after: readonly PlacedRow[],
): R[] {
  const newest = after.findLast(({ kind }) => kind === 'summary')
  if (newest === undefined) return []
  const shown = new Set(after.map(({ key }) => key))
  return before.filter((row) => row.kind === 'message' && compareRows(row, newest) > 0 && !shown.has(row.key))
}

/**
 * Returns the rows whose tool loop would lose reasoning if these parts became empty. An open loop needs all of its reasoning; a finished
 * loop keeps or loses it as a whole.
 */
export function partedReasoning(
  view: View,
  emptied: readonly { readonly row: ViewRow; readonly part: number }[],
): ViewRow[] {
  const { turns } = view
  const open = turns.openLoop
  const isResult = (row: ViewRow, part: number): boolean => row.results.some((entry) => entry.part === part)
  const touched = new Set<number>()
  for (const { row, part } of emptied) if (!isResult(row, part)) touched.add(view.indexOf(row.key)!)
  const parted: ViewRow[] = []
  let done = 0
  for (const index of [...touched].sort((a, b) => a - b)) {
    const row = view.rows[index]!
    if (index >= open && (row.calls.length > 0 || isThought(row))) parted.push(row)
    if (index >= open || index < done || !row.hasReasoning) continue
    const [from, to] = turns.loopOf(index)
    done = to
    for (let at = from; at < to; at++) {
      const other = view.rows[at]!
      const isLess = touched.has(at) || other.shown.some(({ part }) => !isResult(other, part))
      if (other.hasReasoning && !isLess) parted.push(other)
    }
  }
  return parted
}

/** Checks that every row to which a plan points shows its original, or the preview from its append, and still does under this plan. */
function checkPointers(
  view: View,
  plan: Plan,
  refuse: (why: string, rows: readonly ViewRow[]) => never,
): void {
  const hidden = new Set(plan.hide.map(({ key }) => key))
  const replaced = new Set(plan.replace.map(({ row, part }) => `${row.key}:${part}`))
  const broken = plan.requires.filter(
    ({ row, part }) =>
      view.previewOf(row, part) === false || replaced.has(`${row.key}:${part}`) || hidden.has(row.key),
  )
  if (broken.length > 0) {
    refuse(
      'the plan refers to them, so they must not change',
      broken.map(({ row }) => row),
    )
  }
}

/**
 * Checks that the rows of a plan have not changed since they were read, and that no row within its span has become visible. Later appends
 * are ignored. `before` is the view of the plan, `now` the view at commit. Throws `STALE_PLAN`.
 */
export function checkStale(sessionId: string, before: View, now: View, plan: Plan): void {
  const current = new Map(now.rows.map((row) => [row.key, row] as const))
  const targets = plan.requires.map(({ row }) => row)
  const changed = [...plan.hide, ...plan.replace.map(({ row }) => row), ...targets].filter((row) => {
    const other = current.get(row.key)
    return other === undefined || !sameTags(row, other)
  })
  if (changed.length > 0)
    throw stale(sessionId, 'these messages have been hidden, pinned or changed since', changed)
  if (plan.hide.length === 0) return
  const known = new Set(spanOf(before, plan.hide).rows.map((row) => row.key))
  const span = spanOf(
    now,
    plan.hide.map((row) => current.get(row.key)!),
  )
  const appeared = span.rows.filter((row) => !known.has(row.key))
  if (appeared.length > 0)
    throw stale(sessionId, 'these messages have become visible within its span since', appeared)
}

/**
 * Checks the steps of a run again, in order, on a view that has changed since they were planned. Messages after `lastPosition` are
 * ignored. Throws `STALE_PLAN`, also if the plan no longer meets the laws.
 */
export function recheckSteps(
  sessionId: string,
  steps: readonly PlannedStep[],
  view: View,
  lastPosition: number,
): void {
  const known = view.rows.filter(({ anchor }) => anchor <= lastPosition)
  let now = new View(
    known,
    view.estimator,
    view.provider,
    undefined,
    undefined,
    view.pointerTargets,
    view.previews,
  )
  for (const step of steps) {
    checkStale(sessionId, step.before, now, step.plan)
    const plan = rebasePlan(step.plan, now)
    checkAgain(sessionId, now, plan)
    now = applyPlan(now, plan, step.provisional, step.inserted?.ordinal ?? 0).after
  }
}

/** The plan met the laws when it was made; if it no longer does, the view has changed. */
function checkAgain(sessionId: string, now: View, plan: Plan): void {
  try {
    checkLaws(sessionId, now, plan)
  } catch (error) {
    if (!isUndertextError(error, 'ILLEGAL_BOUNDARY') && !isUndertextError(error, 'PENDING_TOOL_CALLS'))
      throw error
    const why = 'the view has changed since the plan was made'
    const messageIds = 'messageIds' in error.facts ? error.facts.messageIds : []
    throw new UndertextError('STALE_PLAN', { sessionId, why, messageIds }, { cause: error })
  }
}

/** Sizes are compared too, because a session may have been recounted since the plan. */
function sameTags(a: ViewRow, b: ViewRow): boolean {
  return (
    a.pinned === b.pinned &&
    sameSizes(a.sizes, b.sizes) &&
    a.shown.length === b.shown.length &&
    a.shown.every(
      (shown, at) => shown.part === b.shown[at]!.part && shown.compaction === b.shown[at]!.compaction,
    )
  )
}

function stale(sessionId: string, why: string, rows: readonly ViewRow[]): UndertextError<'STALE_PLAN'> {
  return new UndertextError('STALE_PLAN', { sessionId, why, messageIds: rows.map((row) => row.id) })
}

/** Returns the same plan with the rows of another view, found by key. */
export function rebasePlan(plan: Plan, view: View): Plan {
  const current = new Map(view.rows.map((row) => [row.key, row] as const))
  const rebase = (row: ViewRow): ViewRow => current.get(row.key) ?? row
  return {
    ...plan,
    hide: plan.hide.map(rebase),
    replace: plan.replace.map((replacement) => ({ ...replacement, row: rebase(replacement.row) })),
    requires: plan.requires.map((required) => ({ ...required, row: rebase(required.row) })),
  }
}
