import type { Plan, PlannedInsert } from '../model/plan.ts'
import type { View } from '../model/view.ts'
import type { ViewRow } from '../model/view-row.ts'
import { findCut, findFillingCut, keepSurvivors, keepsGroups } from './cut.ts'
import type { BareContext, SummarizingStage, SummaryTask } from './stage.ts'
/** Histories this short are left alone. Source: seed 003. */
export const MINIMUM_MESSAGES = 4
/** Fewest recent messages kept when a ratio is given. Source: seed 003. */
const MINIMUM_RECENT_MESSAGES = 4
/** Share of the messages that are kept under a rule by share. Source: NeuroLink's documentation. */
export const KEEP_RECENT_RATIO = 0.3
/** A summary that fills what is left of the target may take this at least, tokens. */
const LEAST_SUMMARY_TOKENS = 64
/** A further range between pinned messages is not worth a summary below this, tokens. */
const MINIMUM_FURTHER_TOKENS = 200

/**
 * Says what is to be summarized: the whole view before the kept tail, in runs between the messages that stay
 * (pinned, system, waiting calls). Which text stands for them is not its business.
 *
 * The tail is the newest turns that fit `keepRecentTokens`, and the newest turn at least, unless that alone
 * would not fit the target; or by the seed's ratio when one was given.
 */
function planSummaries(view: View, context: BareContext): SummaryTask[] {
  const { settings } = context
  if (view.rows.length <= MINIMUM_MESSAGES) return []
  // A target above what the window takes would only be cut down to it afterwards.
  const target = Math.min(context.targetTokens, context.limitTokens)
  const stays = tokensThatStay(view)
  const { keepRecentTokens, keepRecentRatio } = settings
  const isFilling = keepRecentRatio === undefined && keepRecentTokens === undefined
  const cut =
    keepRecentRatio !== undefined
      ? cutByRatio(view, keepRecentRatio)
      : keepRecentTokens !== undefined
        ? findCut(view, keepRecentTokens, context.targetTokens - settings.summaryMaxTokens - stays)
        : findFillingCut(view, Math.max(0, target - settings.summaryRoomTokens - stays))
  const tasks = coverableRuns(view, cut)
    .map((rows) => ({ rows, tokens: view.tokensOfRows(rows) }))
    .filter(({ rows, tokens }, at) => isWorthIt(rows) && (at === 0 || tokens >= MINIMUM_FURTHER_TOKENS))
  const covered = tasks.reduce((sum, { tokens }) => sum + tokens, 0)
  const framing = tasks.length * view.estimator.tokensPerMessage
  const left = ownTokens(view, target - (view.tokens - covered) - framing)
  return tasks.map((task) => {
    // What the rest of the view leaves, each summary by what it stands for; one of a few words says nothing.
    const room = isFilling
      ? Math.max(LEAST_SUMMARY_TOKENS, Math.floor((left * task.tokens) / covered))
      : Number.POSITIVE_INFINITY
    const half = Math.floor(task.tokens / 2)
    return { ...task, maxTokens: Math.max(1, Math.min(settings.summaryMaxTokens, room, half)) }
  })
}

/** Tokens as a provider counts them, in those of no provider: summarizers count in these. */
function ownTokens({ estimator, provider }: View, tokens: number): number {
  return Math.floor((tokens * estimator.toTokens(MANY_UNITS)) / estimator.toTokens(MANY_UNITS, provider))
}

/** So many that rounding does not show in the ratio of two figures for them. */
const MANY_UNITS = 1_000_000

/** Stage 3 as a value. */
export const summarize: SummarizingStage = { name: 'summarize', summaries: planSummaries }

/** What no summary may stand for takes its room whatever is done: system and pinned messages. */
export function tokensThatStay(view: View): number {
  return view.tokensOfRows(view.rows.filter(staysAlways))
}

/** Besides, a block that only its provider can read: told in other words, what it stands for would be lost. */
function staysAlways(row: ViewRow): boolean {
  if (row.kind === 'summary' && !row.speaks) return true
  return row.pinned || (row.kind === 'message' && row.role === 'system')
}

/** The plan of a condensation: hide the rows, insert the summary. Also for ranges and texts the caller gives. */
export function condensePlan(rows: readonly ViewRow[], insert: PlannedInsert, params: Plan['params']): Plan {
  return { kind: 'condense', hide: rows, replace: [], insert, requires: [], params }
}

/** The plan of a condensation whose text is not known yet. */
export function bareCondensePlan(rows: readonly ViewRow[]): Plan {
  return { kind: 'condense', hide: rows, replace: [], requires: [], params: {} }
}

function cutByRatio(view: View, ratio: number): number {
  const keep = Math.max(MINIMUM_RECENT_MESSAGES, Math.ceil(view.rows.length * ratio))
  let cut = Math.max(0, view.rows.length - keep)
  while (cut > 0 && !view.turns.isLegalCut(cut)) cut--
  return cut
}

/** A summary alone gains nothing from being summarized again. */
export function isWorthIt(rows: readonly ViewRow[]): boolean {
  return rows.some((row) => row.kind === 'message')
}

/** The rows before the cut that may be hidden, as runs without anything visible between them. */
export function coverableRuns(view: View, cut: number): ViewRow[][] {
  const stays = keepsGroups(view, staysAlways)
  keepSurvivors(view, stays)
  let runs: number[][]
  let parted: number[]
  do {
    runs = runsOf(cut, stays)
    parted = runs.flatMap((run) => partedRows(view, run))
    for (const index of parted) stays.add(index)
  } while (parted.length > 0)
  return runs.map((run) => run.map((index) => view.rows[index]!))
}

function runsOf(cut: number, stays: ReadonlySet<number>): number[][] {
  const runs: number[][] = []
  let open = false
  for (let index = 0; index < cut; index++) {
    if (stays.has(index)) open = false
    else if (open) runs.at(-1)!.push(index)
    else {
      runs.push([index])
      open = true
    }
  }
  return runs
}

/** Rows of a run that belong to a group which is not wholly in it. */
function partedRows(view: View, run: readonly number[]): number[] {
  const first = run[0]!
  const last = run[run.length - 1]!
  return run.filter((index) => {
    const group = view.turns.groupOf(index)
    return group[0]! < first || group[group.length - 1]! > last
  })
}
