import { z } from 'zod'
import { check } from '../messages/check.ts'
import type { Plan } from '../model/plan.ts'
import type { View } from '../model/view.ts'
import type { ViewRow } from '../model/view-row.ts'
import { cutByCount, cutToFit, isCounted, newestGroup, newestTurn, staying } from './cut-points.ts'
import type { BareContext, PlanningStage, SummarizingStage, SummaryTask } from './stage.ts'
import { coverableRuns, isWorthIt } from './summarize.ts'

/** The maximum share of the target that is reserved for summaries. */
const SUMMARY_SHARE = 0.5
/** If there are several runs, a text with fewer tokens is not worth a model call. */
const MIN_TEXT_TOKENS = 40
/** The most summaries that one stage requests. */
const MAX_SUMMARIES = 100
/** Tokens around a summary: its framing as a message, a header. */
const FRAME_TOKENS = 20

export const slidingWindowShape = {
  /** Keep this many of the newest messages, not counting system messages. 0 keeps only system messages. */
  last: z.int().nonnegative().optional(),
  /** Keep the newest messages that fit the target. */
  fitBudget: z.literal(true).optional(),
  /** With `last`: count system messages too. */
  countSystem: z.boolean().optional(),
  /** With `last`: keep fewer messages, by whole groups, until the target is met; the newest group stays. */
  shrinkToFit: z.boolean().optional(),
  /**
   * With `fitBudget`: the messages that stay even if they don't fit: the newest turn (default), the newest message with its group, or
   * nothing.
   */
  keepNewest: z.enum(['turn', 'message', 'nothing']).optional(),
  /** Replace the hidden messages with a summary. */
  summarize: z.boolean().optional(),
}

function windowProblem(options: WindowOptions): string | undefined {
  const { last, fitBudget, countSystem, shrinkToFit, keepNewest } = options
  if (last !== undefined && fitBudget !== undefined) return "last and fitBudget can't be combined"
  if (last === undefined && fitBudget === undefined) return 'last or fitBudget is required'
  if (last === undefined && (countSystem !== undefined || shrinkToFit !== undefined))
    return 'countSystem and shrinkToFit require last'
  return keepNewest !== undefined && fitBudget === undefined ? 'keepNewest requires fitBudget' : undefined
}

const optionsSchema = z.strictObject(slidingWindowShape).superRefine((options, context) => {
  const problem = windowProblem(options)
  if (problem !== undefined) context.addIssue({ code: 'custom', message: problem })
})

type WindowOptions = {
  readonly [K in keyof typeof slidingWindowShape]?: z.output<(typeof slidingWindowShape)[K]>
}
export type SlidingWindowStageOptions = z.input<typeof optionsSchema>

/**
 * Returns a stage that keeps the newest messages and hides the older ones: the newest `last`, or the newest that fit the target
 * (`fitBudget`). System and pinned messages, pending calls and summaries in force always stay. A call and its results stay or go
 * together; if the window begins between them, they stay.
 *
 * With `summarize`, the messages that would be hidden, including earlier summaries, are summarized instead, with one summary per run
 * between rows that stay. Room for the summaries is reserved within the target.
 *
 * Throws `INVALID_INPUT`.
 */
export function slidingWindowStage(
  options: SlidingWindowStageOptions,
  what = 'slidingWindow',
): PlanningStage<Plan | undefined> | SummarizingStage {
  const checked = check(optionsSchema, options, what)
  if (checked.summarize !== true) return plainWindow(checked)
  const { summarize: _, ...plain } = checked
  const stage: SummarizingStage & WithPlain = {
    name: 'sliding_window_with_summary',
    summaries: (view, context) =>
      summaryTasks(view, context, windowCut(view, context, checked), summaryRoom(context, checked)),
    [PLAIN]: plainWindow(plain),
  }
  return stage
}

function plainWindow(options: WindowOptions): PlanningStage<Plan | undefined> {
  return {
    name: 'sliding_window',
    plan: (view, context) => hidePlan(view, windowCut(view, context, options), windowParams(options)),
  }
}

/** The key under which a summarizing window stores the same window without a summary. A symbol is preserved in copies of the stage. */
const PLAIN = Symbol('undertext.plainWindow')
type WithPlain = { readonly [PLAIN]: PlanningStage<Plan | undefined> }

/** Returns the same window without a summary; `undefined` for a stage that is not a window. */
export function plainWindowOf(stage: SummarizingStage): PlanningStage<Plan | undefined> | undefined {
  return (stage as Partial<WithPlain>)[PLAIN]
}

/**
 * Returns the runs before a cut that become summaries. All texts together take at most `summaryMaxTokens`, `room` if given, and the space
 * that the rest of the view leaves in the window, shared in proportion to the sizes that they represent. Runs whose text would be a few
 * words stay, except the largest: many system or pinned messages separate many runs, and that many summaries could never be hidden again.
 */
export function summaryTasks(
  view: View,
  context: BareContext,
  cut: number,
  room = Number.POSITIVE_INFINITY,
): SummaryTask[] {
  const runs = coverableRuns(view, cut)
    .filter(isWorthIt)
    .map((rows, at) => ({ rows, at, tokens: view.tokensOfRows(rows) }))
  const most = maxSummaryTokens(view, context, runs, room)
  // Largest first, newest first among equals.
  const bySize = runs.toSorted((a, b) => b.tokens - a.tokens || b.at - a.at).slice(0, MAX_SUMMARIES)
  const textOf = (run: { readonly tokens: number }, sum: number, count: number): number =>
    Math.min(Math.floor((most(count) * run.tokens) / sum), Math.floor(run.tokens / 2))
  let count = 0
  let sum = 0
  for (const run of bySize) {
    const isTooLittle = count === 0 ? most(1) < 1 : textOf(run, sum + run.tokens, count + 1) < MIN_TEXT_TOKENS
    if (isTooLittle) break
    count += 1
    sum += run.tokens
  }
  return bySize
    .slice(0, count)
    .sort((a, b) => a.at - b.at)
    .map((run) => ({ rows: run.rows, tokens: run.tokens, maxTokens: Math.max(1, textOf(run, sum, count)) }))
}

type Run = { readonly rows: readonly ViewRow[]; readonly tokens: number }

/** Returns the tokens that `count` texts may take together. */
function maxSummaryTokens(
  view: View,
  { settings, limitTokens }: BareContext,
  runs: readonly Run[],
  room: number,
): (count: number) => number {
  const standing = standingTokens(view, runs)
  // Earlier summaries count too; otherwise each compaction of a session would add the same amount again.
  const share =
    standing === 0 || limitTokens === 0 ? room : Math.min(room, limitTokens * SUMMARY_SHARE) - standing
  const rest = view.tokens - runs.reduce((sum, { tokens }) => sum + tokens, 0)
  return (count) => {
    const { tokensPerMessage } = view.estimator
    const left = limitTokens - rest - count * tokensPerMessage
    // A single text is worthwhile even if the rest leaves too little room for any.
    const beside = count === 1 ? Math.max(MIN_TEXT_TOKENS, left) : left
    return Math.min(settings.summaryMaxTokens, share - (count - 1) * tokensPerMessage, beside)
  }
}

/** Returns the tokens of the summaries that don't become part of a new one. */
function standingTokens(view: View, runs: readonly Run[]): number {
  const covered = new Set(runs.flatMap(({ rows }) => rows.map(({ key }) => key)))
  return view.tokensOfRows(view.rows.filter(({ kind, key }) => kind === 'summary' && !covered.has(key)))
}

/** Returns the tokens for the texts of summaries, if the window must fit the target. */
function summaryRoom({ targetTokens, settings }: BareContext, options: WindowOptions): number | undefined {
  if (options.fitBudget !== true && options.shrinkToFit !== true) return undefined
  const half = Math.floor(targetTokens * SUMMARY_SHARE)
  return Math.min(settings.summaryMaxTokens, Math.max(0, half - FRAME_TOKENS))
}

function hidePlan(view: View, cut: number, params: Plan['params']): Plan | undefined {
  const stays = staying(view)
  const hide = view.rows.slice(0, cut).filter((_, index) => !stays.has(index))
  return hide.length === 0 ? undefined : { kind: 'truncate', hide, replace: [], requires: [], params }
}

function windowParams({ last, ...others }: WindowOptions): Plan['params'] {
  const flags = Object.entries(others).filter(([, value]) => value !== undefined)
  return { ...(last !== undefined && { last }), ...Object.fromEntries(flags) }
}

function windowCut(view: View, context: BareContext, options: WindowOptions): number {
  const { targetTokens } = context
  const condenses = options.summarize === true
  const summaryTokens = condenses ? (summaryRoom(context, options) ?? 0) + FRAME_TOKENS : 0
  const room = targetTokens - summaryTokens
  if (options.last === undefined) {
    // A history that fits needs no summary and no room for one.
    if (view.tokens <= targetTokens) return 0
    return cutToFit(view, staying(view, condenses), 0, mostCut(view, options.keepNewest ?? 'turn'), room)
  }
  const cut = cutByCount(view, countedOf(view, options.last, options.countSystem === true))
  if (options.shrinkToFit !== true || cut === view.rows.length) return cut
  return cutToFit(view, staying(view, condenses), cut, Math.max(cut, newestGroup(view)), room)
}

function countedOf(view: View, last: number, countSystem: boolean): number {
  if (!countSystem) return last
  const systems = view.rows.filter((row) => row.kind === 'message' && !isCounted(row)).length
  return Math.max(0, last - systems)
}

function mostCut(view: View, keepNewest: 'turn' | 'message' | 'nothing'): number {
  if (keepNewest === 'nothing') return view.rows.length
  return keepNewest === 'turn' ? newestTurn(view) : newestGroup(view)
}

export const summarizeOlderShape = {
  /** The number of newest messages that stay, not counting system messages. */
  keepLast: z.int().nonnegative(),
}

const olderSchema = z.strictObject(summarizeOlderShape)

export type SummarizeOlderStageOptions = z.input<typeof olderSchema>

/**
 * Returns a stage that replaces all messages except the newest `keepLast` with a summary. System and pinned messages and pending calls
 * stay; a call and its results stay or go together; an earlier summary becomes part of the new one. If there are no older messages, no
 * summary is requested. Throws `INVALID_INPUT`.
 */
export function summarizeOlderStage(
  options: SummarizeOlderStageOptions,
  what = 'summarizeOlder',
): SummarizingStage {
  const { keepLast } = check(olderSchema, options, what)
  return {
    name: 'summarize_older',
    summaries: (view, context) => summaryTasks(view, context, cutByCount(view, keepLast)),
  }
}
