import { z } from 'zod'
import { check } from '../check.ts'
import type { Plan } from '../plan.ts'
import type { View } from '../view.ts'
import type { BareContext, PlanningStage, SummarizingStage, SummaryTask } from './stage.ts'
import { coverableRuns, isWorthIt } from './summarize.ts'
import { cutByCount, cutToFit, isCounted, newestGroup, newestTurn, staying } from './window-cut.ts'

/** Share of the target that is left free for summaries, at most. */
const SUMMARY_SHARE = 0.5
/** Tokens for what stands around a summary: its framing as a message, a header. */
const FRAME_TOKENS = 20

export const slidingWindowShape = {
  /** Keep this many of the newest messages; system messages are not counted. 0 keeps only those. Source: seed 000. */
  last: z.int().nonnegative().optional(),
  /** Keep the newest messages that fit the target. Source: seed 001. */
  fitBudget: z.literal(true).optional(),
  /** With `last`: system messages count too, as in the pure window of seed 004 (golden NCC-02, conflict C-18). */
  countSystem: z.boolean().optional(),
  /** With `last`: keep fewer, by whole groups, until the target is met; the newest group stays. Source: checklist S4-U07. */
  shrinkToFit: z.boolean().optional(),
  /**
   * With `fitBudget`: what stays even when it does not fit: the newest turn (default, checklist S1-U13), the newest
   * message with what belongs to it, or nothing.
   */
  keepNewest: z.enum(['turn', 'message', 'nothing']).optional(),
  /** A summary stands for what goes. */
  summarize: z.boolean().optional(),
}

/** What must hold of the options together: the message, or `undefined`. */
export function windowProblem(options: WindowOptions): string | undefined {
  const { last, fitBudget, countSystem, shrinkToFit, keepNewest } = options
  if (last !== undefined && fitBudget !== undefined) return 'last and fitBudget cannot both be given'
  if (last === undefined && fitBudget === undefined) return 'either last or fitBudget must be given'
  if (last === undefined && (countSystem !== undefined || shrinkToFit !== undefined))
    return 'countSystem and shrinkToFit go with last'
  return keepNewest !== undefined && fitBudget === undefined ? 'keepNewest goes with fitBudget' : undefined
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
 * Keeps the newest messages and hides the older ones: the newest `last` (seed 000), or the newest that fit the target
 * (`fitBudget`, seed 001). System and pinned messages, waiting calls and live summaries always stay, wherever they
 * stand; a call and its results stay or go together, and when the window ends between them they stay.
 *
 * With `summarize` it says what to condense instead: exactly what would be hidden, earlier summaries included, a summary
 * for each run between rows that stay. Room for it is left within the target.
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

/** Where a window that summarizes keeps the same window without a summary. A symbol: it goes with copies of the stage. */
const PLAIN = Symbol('undertext.plainWindow')
type WithPlain = { readonly [PLAIN]: PlanningStage<Plan | undefined> }

/** The window that does the same without a summary; `undefined` for a stage that is no window. */
export function plainWindowOf(stage: SummarizingStage): PlanningStage<Plan | undefined> | undefined {
  return (stage as Partial<WithPlain>)[PLAIN]
}

/** What a summary for each coverable run before a cut is to stand for. All texts together take at most `room` tokens. */
export function summaryTasks(
  view: View,
  { settings }: BareContext,
  cut: number,
  room?: number,
): SummaryTask[] {
  const runs = coverableRuns(view, cut)
    .filter(isWorthIt)
    .map((rows) => ({ rows, tokens: view.tokensOfRows(rows) }))
  const total = runs.reduce((sum, { tokens }) => sum + tokens, 0)
  return runs.map((run) => {
    const share = room === undefined ? settings.summaryMaxTokens : Math.floor((room * run.tokens) / total)
    const most = Math.min(settings.summaryMaxTokens, share, Math.floor(run.tokens / 2))
    return { ...run, maxTokens: Math.max(1, most) }
  })
}

/** The tokens the texts of summaries may take, where the window is to fit the target. */
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
    // What fits as it is needs no summary, and so no room for one.
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
