import { UndertextError } from '../errors.ts'
import { applyPlan, isCondensing, type Plan, type PlannedStep, spanOf } from './plan.ts'
import { isThought } from './turns.ts'
import { View } from './view.ts'
import type { ViewRow } from './view-row.ts'

/**
 * The hard laws of design 3.3 that a plan must meet on the view it is applied to, whoever made it. Law 1 (the
 * world has not moved) is `checkStale`, law 7 (a summary is worth it) belongs to whoever has the text.
 *
 * A rewind takes back what was said, so pins, system messages, summaries and calls that wait go with it; all that is asked is
 * that no result is left without its call.
 *
 * Throws `ILLEGAL_BOUNDARY`, `PENDING_TOOL_CALLS` or `STALE_PLAN` (a row is not there); changes nothing.
 */
export function checkLaws(sessionId: string, view: View, plan: Plan): void {
  const { turns } = view
  const indexOf = (row: ViewRow): number => view.indexOf(row.key)!
  const refuse = (why: string, rows: readonly ViewRow[]): never => {
    throw new UndertextError('ILLEGAL_BOUNDARY', { sessionId, why, messageIds: rows.map((row) => row.id) })
  }
  // A part that moves to the inserted row is sent all the same, from there.
  const touched = [...plan.hide, ...plan.replace.filter(({ moved }) => moved !== true).map(({ row }) => row)]
  const gone = [
    ...plan.hide,
    ...plan.replace.map(({ row }) => row),
    ...plan.requires.map(({ row }) => row),
  ].filter((row) => view.indexOf(row.key) === undefined)
  if (gone.length > 0) throw stale(sessionId, 'some of its messages are not visible', gone)

  if (plan.rewinds === true) {
    const answers = turns.answersMissing(plan.hide.map(indexOf))
    if (answers.length > 0)
      refuse(
        'they answer tool calls that would be hidden',
        answers.map((at) => view.rows[at]!),
      )
    return
  }
  const pinned = touched.filter((row) => row.pinned)
  if (pinned.length > 0) refuse('pinned messages stay', pinned)
  const system = touched.filter((row) => row.kind === 'message' && row.role === 'system')
  if (system.length > 0) refuse('system messages stay', system)
  // A provider compacts in the middle of a loop: what waits stays, the loop before it may go.
  const waits = plan.kind === 'provider' ? turns.waiting : turns.pending
  // A preview is made with its message: nobody has seen more of it, whatever its batch still waits for.
  const pending = plan.kind === 'preview' ? [] : touched.filter((row) => waits.has(indexOf(row)))
  if (pending.length > 0) {
    throw new UndertextError('PENDING_TOOL_CALLS', { sessionId, messageIds: pending.map((row) => row.id) })
  }

  // A loop may be cut where its provider compacted it: what it still needs stands behind the block.
  const hidden = plan.hide.map(indexOf)
  const parted = plan.kind === 'provider' ? turns.partnersMissing(hidden) : turns.partedBy(hidden)
  if (parted.length > 0)
    refuse(
      'they belong to tool calls that would be hidden',
      parted.map((at) => view.rows[at]!),
    )

  if (plan.kind === 'condense') {
    const { beside } = spanOf(view, plan.hide)
    if (beside.length > 0)
      refuse('a summary stands for messages that follow each other; these lie between', beside)
  } else if (!isCondensing(plan.kind)) {
    const summaries = plan.hide.filter((row) => row.kind === 'summary')
    if (summaries.length > 0) refuse('a summary is hidden only by a summary that covers it', summaries)
  }

  const worded = plan.replace.filter(({ saved, text }) => saved.reasoning !== 0 && text !== '')
  if (worded.length > 0)
    refuse(
      'reasoning is shown as it is or not at all',
      worded.map(({ row }) => row),
    )
  const emptied = plan.replace.filter(({ text, moved }) => text === '' && moved !== true)
  const needing = emptied.length === 0 ? [] : partedReasoning(view, emptied)
  if (needing.length > 0) refuse('reasoning stays with the tool loop that needs it', needing)

  if (plan.requires.length > 0) checkLeans(view, plan, refuse)
}

/**
 * Law 2 for reasoning: rows whose tool loop would be parted from it when nothing is shown in place of these parts.
 * A loop that is still open needs all of its reasoning; one that is over keeps it or loses it as a whole.
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

/** Law 6: what a plan leans on shows its original or the preview it was appended with, and stays so under this plan too. */
function checkLeans(view: View, plan: Plan, refuse: (why: string, rows: readonly ViewRow[]) => never): void {
  const hidden = new Set(plan.hide.map(({ key }) => key))
  const replaced = new Set(plan.replace.map(({ row, part }) => `${row.key}:${part}`))
  const leaned = plan.requires.filter(
    ({ row, part }) =>
      view.previewOf(row, part) === false || replaced.has(`${row.key}:${part}`) || hidden.has(row.key),
  )
  if (leaned.length > 0) {
    refuse(
      'the plan leans on these, so they must stay as they are',
      leaned.map(({ row }) => row),
    )
  }
}

/**
 * Law 1: what a plan covers or changes is there as it was when it was read, and nothing within its span has
 * become visible since. Rows appended later are no reason to refuse.
 *
 * `before` is the view the plan was made on, `now` the view at commit. Throws `STALE_PLAN`.
 */
export function checkStale(sessionId: string, before: View, now: View, plan: Plan): void {
  const current = new Map(now.rows.map((row) => [row.key, row] as const))
  const leanedOn = plan.requires.map(({ row }) => row)
  const changed = [...plan.hide, ...plan.replace.map(({ row }) => row), ...leanedOn].filter((row) => {
    const other = current.get(row.key)
    return other === undefined || !sameTags(row, other)
  })
  if (changed.length > 0)
    throw stale(sessionId, 'these messages were hidden, pinned or changed since', changed)
  if (plan.hide.length === 0) return
  const known = new Set(spanOf(before, plan.hide).rows.map((row) => row.key))
  const span = spanOf(
    now,
    plan.hide.map((row) => current.get(row.key)!),
  )
  const appeared = span.rows.filter((row) => !known.has(row.key))
  if (appeared.length > 0)
    throw stale(sessionId, 'these messages became visible within its span since', appeared)
}

/**
 * Holds the steps of a run to the laws again, one after the other, on a view that has changed since they were
 * planned. What was appended behind `lastPosition` since is no reason to refuse, so it is not looked at. Throws
 * what `checkStale` and `checkLaws` throw.
 */
export function recheckSteps(
  sessionId: string,
  steps: readonly PlannedStep[],
  view: View,
  lastPosition: number,
): void {
  const known = view.rows.filter(({ anchor }) => anchor <= lastPosition)
  let now = new View(known, view.estimator, view.provider, undefined, undefined, view.leans, view.previews)
  for (const step of steps) {
    checkStale(sessionId, step.before, now, step.plan)
    const plan = rebasePlan(step.plan, now)
    checkLaws(sessionId, now, plan)
    now = applyPlan(now, plan, step.provisional, step.inserted?.ordinal ?? 0).after
  }
}

/** Sizes too: a session that was counted anew has other figures than the plan was made with. */
function sameTags(a: ViewRow, b: ViewRow): boolean {
  return (
    a.pinned === b.pinned &&
    a.sizes.text === b.sizes.text &&
    a.sizes.reasoning === b.sizes.reasoning &&
    a.sizes.toolCalls === b.sizes.toolCalls &&
    a.sizes.toolResults === b.sizes.toolResults &&
    a.sizes.media === b.sizes.media &&
    a.shown.length === b.shown.length &&
    a.shown.every(
      (shown, at) => shown.part === b.shown[at]!.part && shown.compaction === b.shown[at]!.compaction,
    )
  )
}

function stale(sessionId: string, why: string, rows: readonly ViewRow[]): UndertextError<'STALE_PLAN'> {
  return new UndertextError('STALE_PLAN', { sessionId, why, messageIds: rows.map((row) => row.id) })
}

/** The same plan over the rows of another view that has them all, found by key. */
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
