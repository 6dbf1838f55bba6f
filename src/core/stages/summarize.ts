import type { Plan, PlannedInsert } from '../model/plan.ts'
import type { View } from '../model/view.ts'
import type { ViewRow } from '../model/view-row.ts'
import { findCut, findFillingCut, keepSurvivors, keepsGroups, newestGroup } from './cut-points.ts'
import type { BareContext, SummarizingStage, SummaryTask } from './stage.ts'

/** Histories of at most this many messages are not summarized. */
export const MIN_MESSAGES = 4
/** The minimum number of recent messages that a ratio keeps. */
const MIN_RECENT_MESSAGES = 4
/** The share of the messages that NeuroLink's documentation keeps. */
export const KEEP_RECENT_RATIO = 0.3
/** The minimum tokens of a summary that fills the rest of the target, and its share of the target if there is no rest. */
const MIN_SUMMARY_TOKENS = 128
const MIN_SUMMARY_SHARE = 0.3
/** The minimum tokens if the window has no room for that. */
const MIN_TIGHT_SUMMARY_TOKENS = 64
/** The minimum tokens of a further range between pinned messages that is worth a summary. */
const MIN_FURTHER_TOKENS = 200

/**
 * Selects the rows to summarize: the view before the kept tail, in runs between the messages that stay (pinned, system, pending calls).
 * The summarizer writes the text.
 *
 * The tail is the newest turns that fit `keepRecentTokens`, and at least the newest turn, unless that alone exceeds the target; or a
 * share of the messages if a ratio is given.
 */
function planSummaries(view: View, context: BareContext): SummaryTask[] {
  const { settings } = context
  if (view.rows.length <= MIN_MESSAGES) return []
  // A summary for a target above the room of the window would be cut afterwards.
  const target = Math.min(context.targetTokens, context.limitTokens)
  const stays = tokensThatStay(view)
  const { keepRecentTokens, keepRecentRatio } = settings
  const isFilling = keepRecentRatio === undefined && keepRecentTokens === undefined
  const cut =
    keepRecentRatio !== undefined
      ? cutByRatio(view, keepRecentRatio)
      : keepRecentTokens !== undefined
        ? findCut(view, keepRecentTokens, context.targetTokens - settings.summaryMaxTokens - stays)
        : fillingCut(view, target - stays, settings.summaryRoomTokens)
  const tasks = coverableRuns(view, cut)
    .map((rows) => ({ rows, tokens: view.tokensOfRows(rows) }))
    .filter(({ rows, tokens }, at) => isWorthIt(rows) && (at === 0 || tokens >= MIN_FURTHER_TOKENS))
  const covered = tasks.reduce((sum, { tokens }) => sum + tokens, 0)
  const framing = tasks.length * view.estimator.tokensPerMessage
  const roomBelow = (limit: number): number => ownTokens(view, limit - (view.tokens - covered) - framing)
  const rest = roomBelow(target)
  // A tail that cannot be split may exceed the target; the rows before it are not reduced to a few words because of that.
  const least = Math.min(ownTokens(view, target * MIN_SUMMARY_SHARE), roomBelow(context.limitTokens))
  const floor = Math.min(
    MIN_SUMMARY_TOKENS,
    Math.max(MIN_TIGHT_SUMMARY_TOKENS, roomBelow(context.limitTokens)),
  )
  const left = rest < floor ? least : rest
  return tasks.map((task, at) => {
    // The room that the rest of the view leaves, in proportion to the size that each summary represents; a few words are useless.
    const room = isFilling
      ? Math.max(floor, Math.floor((left * task.tokens) / covered))
      : Number.POSITIVE_INFINITY
    const half = Math.floor(task.tokens / 2)
    const maxTokens = Math.max(1, Math.min(settings.summaryMaxTokens, room, half))
    return isFilling && at === tasks.length - 1
      ? { ...task, maxTokens, fillTokens: target }
      : { ...task, maxTokens }
  })
}

/**
 * Returns the start of the tail beside a summary. Summaries may have filled the rest of the target: if the tail beside the usual room
 * leaves only them, it fits beside them instead. Otherwise nothing would be summarized, and the summaries would never be merged.
 */
function fillingCut(view: View, target: number, summaryRoom: number): number {
  const cut = findFillingCut(view, Math.max(0, target - summaryRoom))
  const before = view.rows.slice(0, cut).filter((row) => !staysAlways(row))
  if (before.length === 0 || isWorthIt(before)) return cut
  return findFillingCut(view, Math.max(0, target - view.tokensOfRows(before)))
}

/**
 * The share of the target that a view may leave unused before the plan is changed to replace fewer rows, which requires reading all rows
 * again.
 */
const SPARE_SHARE = 0.05

/**
 * Returns the task without as many of its newest rows as fit beside a summary of `summaryTokens`; `undefined` if none fits, or if too
 * little would be left to replace.
 */
export function withoutSpareRows(
  view: View,
  task: SummaryTask,
  summaryTokens: number,
): SummaryTask | undefined {
  const { rows, tokens, fillTokens = 0 } = task
  const spare = fillTokens - (view.tokens - tokens + summaryTokens)
  if (spare < fillTokens * SPARE_SHARE) return undefined
  let cut: number | undefined
  let kept = 0
  for (let at = rows.length - 1; at > 0; at--) {
    kept += view.tokensOfRow(rows[at]!)
    if (kept > spare) break
    const index = view.indexOf(rows[at]!.key)!
    if (view.turns.isLegalCut(index)) cut = index
  }
  if (cut === undefined) return undefined
  const left = coverableRuns(view, cut).find((run) => run[0]!.key === rows[0]!.key)
  if (left === undefined || left.length >= rows.length || !isWorthIt(left)) return undefined
  const leftTokens = view.tokensOfRows(left)
  if (leftTokens <= summaryTokens) return undefined
  // The summary of the remaining rows must not be longer than the room beside them.
  const room = ownTokens(view, fillTokens - (view.tokens - leftTokens) - view.estimator.tokensPerMessage)
  return { ...task, rows: left, tokens: leftTokens, maxTokens: Math.max(1, Math.min(task.maxTokens, room)) }
}

/** The minimum tokens of rows that are worth a further summary, and the share of them that it may take. */
const MIN_COVERED_TOKENS = 100
const FURTHER_SHARE = 0.25

/**
 * Selects the rows that further summaries replace, if hiding messages after the newest summary would leave them in no summary: the oldest
 * rows after it, only as many as needed to bring the view to the target, in runs between the rows that stay. The newest group stays.
 */
export function planFurtherSummaries(
  view: View,
  targetTokens: number,
  summaryMaxTokens: number,
): SummaryTask[] {
  const { rows, turns } = view
  const start = rows.findLastIndex(({ kind }) => kind === 'summary') + 1
  const most = newestGroup(view)
  const coverable = new Set(coverableRuns(view, most, start).flat())
  let covered = 0
  let cut = start
  for (let index = start; index <= most; index++) {
    if (turns.isLegalCut(index)) {
      cut = index
      if (view.tokens - covered + furtherTokens(covered, summaryMaxTokens) <= targetTokens) break
    }
    if (coverable.has(rows[index]!)) covered += view.tokensOfRow(rows[index]!)
  }
  return coverableRuns(view, cut, start).flatMap((run): SummaryTask[] => {
    const tokens = view.tokensOfRows(run)
    if (!isWorthIt(run) || tokens < MIN_COVERED_TOKENS) return []
    const room = furtherTokens(tokens, summaryMaxTokens) - view.estimator.tokensPerMessage
    return [{ rows: run, tokens, maxTokens: Math.max(1, ownTokens(view, room)) }]
  })
}

/** Returns the tokens that further summaries take, given the tokens of the rows that they replace. */
function furtherTokens(covered: number, summaryMaxTokens: number): number {
  const least = Math.min(MIN_TIGHT_SUMMARY_TOKENS, covered / 2)
  return Math.floor(Math.min(summaryMaxTokens, Math.max(least, covered * FURTHER_SHARE)))
}

/** Converts a provider's tokens to the provider-independent tokens in which summarizers count. */
function ownTokens({ estimator, provider }: View, tokens: number): number {
  return Math.floor((tokens * estimator.toTokens(MANY_UNITS)) / estimator.toTokens(MANY_UNITS, provider))
}

/** A number of units that is large enough for rounding not to affect the ratio of two figures. */
const MANY_UNITS = 1_000_000

/** The summarizing stage. */
export const summarize: SummarizingStage = { name: 'summarize', summaries: planSummaries }

/** Returns the tokens of the rows that no summary may replace and that always take up room: system and pinned messages. */
export function tokensThatStay(view: View): number {
  return view.tokensOfRows(view.rows.filter(staysAlways))
}

/**
 * Returns whether a row always stays: system and pinned messages, and blocks that only their provider can read, whose content a summary
 * would lose.
 */
function staysAlways(row: ViewRow): boolean {
  if (row.kind === 'summary' && !row.speaks) return true
  return row.pinned || (row.kind === 'message' && row.role === 'system')
}

/** Returns the plan of a condensation, which hides the rows and inserts the summary. Also used for the caller's own ranges and texts. */
export function condensePlan(rows: readonly ViewRow[], insert: PlannedInsert, params: Plan['params']): Plan {
  return { kind: 'condense', hide: rows, replace: [], insert, requires: [], params }
}

function cutByRatio(view: View, ratio: number): number {
  const keep = Math.max(MIN_RECENT_MESSAGES, Math.ceil(view.rows.length * ratio))
  let cut = Math.max(0, view.rows.length - keep)
  while (cut > 0 && !view.turns.isLegalCut(cut)) cut--
  return cut
}

/** Returns whether rows are worth a summary: summarizing a single summary gains nothing. */
export function isWorthIt(rows: readonly ViewRow[]): boolean {
  return rows.some((row) => row.kind === 'message')
}

/** Returns the rows from an index to a cut that may be hidden, as runs without visible rows between them. */
export function coverableRuns(view: View, cut: number, from = 0): ViewRow[][] {
  const stays = keepsGroups(view, staysAlways)
  keepSurvivors(view, stays)
  let runs: number[][]
  let parted: number[]
  do {
    runs = runsOf(from, cut, stays)
    parted = runs.flatMap((run) => partedRows(view, run))
    for (const index of parted) stays.add(index)
  } while (parted.length > 0)
  return runs.map((run) => run.map((index) => view.rows[index]!))
}

function runsOf(from: number, cut: number, stays: ReadonlySet<number>): number[][] {
  const runs: number[][] = []
  let open = false
  for (let index = from; index < cut; index++) {
    if (stays.has(index)) open = false
    else if (open) runs.at(-1)!.push(index)
    else {
      runs.push([index])
      open = true
    }
  }
  return runs
}

/** Returns the rows of a run whose group is not entirely in the run. */
function partedRows(view: View, run: readonly number[]): number[] {
  const first = run[0]!
  const last = run[run.length - 1]!
  return run.filter((index) => {
    const group = view.turns.groupOf(index)
    return group[0]! < first || group[group.length - 1]! > last
  })
}
