import { v7 as uuidv7 } from 'uuid'
import { invalid, UndertextError, withOriginal } from '../../core/errors.ts'
import { defined } from '../../core/messages/json.ts'
import type { Part } from '../../core/messages/message.ts'
import type { ChatMessage } from '../../core/model/message-parts.ts'
import type { Plan, PlannedInsert } from '../../core/model/plan.ts'
import type { View } from '../../core/model/view.ts'
import type { ViewRow } from '../../core/model/view-row.ts'
import { framedText, SUMMARY_STYLES, type SummaryStyle } from '../../core/rendering/summary-heading.ts'
import type {
  PlanDraft,
  Stage,
  StageContext,
  SummarizingStage,
  SummaryTask,
} from '../../core/stages/stage.ts'
import { condensePlan } from '../../core/stages/summarize.ts'
import { namedBy } from '../../core/summarizers/extractive/speakers.ts'
import type { Summarizer } from '../../core/summarizers/summarizer.ts'
import { measureMessage } from '../../core/tokens/measure.ts'
import {
  completePlan,
  completeTask,
  draftProblem,
  isWholePlan,
  tasksProblem,
} from '../../store/compaction/draft-plan.ts'
import { SummaryMaterial, type SummarySource } from '../../store/compaction/summary-chunks.ts'
import { askForSummary, summaryProblem, type WrittenSummary } from '../../store/compaction/write-summary.ts'
import { isVisible } from './effective-history.ts'
import {
  type ArrayEstimator,
  type ArrayRows,
  contextIn,
  insertedMessage,
  replaceParts,
  rowsOf,
  stepOf,
} from './rows.ts'

/** Share of the target that the default stages keep unsummarized over an array. */
const KEEP_RECENT_SHARE = 0.3

/** The estimator and summarizer settings of a strategy, with defaults filled in. */
export type RunOptions = {
  readonly estimator: ArrayEstimator
  readonly provider: string
  readonly summarizer: Summarizer
  readonly style: SummaryStyle
  readonly summaryMaxTokens: number
  readonly summarySections: readonly string[]
  readonly summaryTimeoutMs: number
}

/** One pass of an array through a strategy. */
export type ArrayRun = RunOptions & {
  /** The target size of the messages in tokens; `undefined` for none. */
  readonly target: number | undefined
  /**
   * Whether the messages must fit; if so, a summary that isn't smaller than its source is rejected, and those messages stay. `compact`
   * accepts such a summary.
   */
  readonly mustShrink: boolean
  /** The name of the called function, for errors. */
  readonly what: string
  /** Receives the figures of each stage of a composite. */
  readonly steps?: StrategyStep[]
}

/** The figures of one strategy that was applied. */
export type StrategyStep = {
  readonly name: string
  readonly tokensBefore: number
  readonly tokensAfter: number
}

/** A message during the application of strategies. */
export type Item = {
  readonly message: ChatMessage
  /** Its index in the given array; for a summary, the indexes of the messages that it replaces. */
  readonly origins: readonly number[]
  /** The summarizer's own text, for an added summary. */
  readonly summary?: string
}
type Items = readonly Item[]

export function itemsOf(messages: readonly ChatMessage[]): Item[] {
  return messages.flatMap((message, origin) => (isVisible(message) ? [{ message, origins: [origin] }] : []))
}

export function messagesOf(items: Items): ChatMessage[] {
  return items.map(({ message }) => message)
}

/** The options for counting the tokens of messages. */
export type Counting = Pick<ArrayRun, 'estimator' | 'provider' | 'what'>

export function rowsIn(items: Items, { provider, estimator, what }: Counting): ArrayRows {
  return rowsOf(messagesOf(items), provider, what, estimator)
}

/** Returns the tokens of the messages, as a whole number. */
export function tokensIn(items: Items, counting: Counting): number {
  return Math.ceil(rowsIn(items, counting).view.tokens)
}

/** Returns the target size of a run. Throws `INVALID_INPUT` if there is none. */
export function targetOf({ target, what }: Pick<ArrayRun, 'target' | 'what'>): number {
  if (target === undefined) throw invalid(`${what}: maxTokens or a target in tokens is required`)
  return target
}

/** The key of a stage's own way to run over arrays, in place of its planning: with its own options, or as a strategy of the application. */
export const PASSING = Symbol('undertext.passing')
type Passing = (items: Items, run: ArrayRun) => Promise<Items>

/**
 * Runs a stage over messages once, whatever their size. A composite stage runs each of its stages only while the messages are over its
 * budget.
 *
 * Rejects with `SUMMARIZER_FAILED`, with `INVALID_INPUT` for an invalid plan, and with the errors of `checkLaws`.
 */
export async function runStageOnItems(
  items: Items,
  stage: Stage & { readonly [PASSING]?: Passing },
  run: ArrayRun,
): Promise<Items> {
  if (stage[PASSING] !== undefined) return stage[PASSING](items, run)
  if ('stages' in stage) return runComposite(items, stage.stages, run)
  if ('summaries' in stage) return runSummaries(items, stage, run)
  const rows = rowsIn(items, run)
  const context = contextOf(rows, run)
  const draft: PlanDraft | undefined = await stage.plan(rows.view, context)
  if (draft === undefined) return items
  const plan = planOf(rows.view, draft, stage, context, run)
  const { after } = stepOf(rows.view, plan)
  const shown = replaceParts(messagesOf(items), plan.replace)
  // A row's key is its item's index + 1; the inserted row's is negative.
  return after.rows.map(({ key }): Item => {
    const item = items[key - 1]
    if (item !== undefined) return { ...item, message: shown[key - 1]! }
    return insertedItem(plan.insert!, originsOf(items, plan.hide), run.style)
  })
}

async function runComposite(
  items: Items,
  stages: readonly Stage[],
  { steps, ...run }: ArrayRun,
): Promise<Items> {
  const target = targetOf(run)
  let left = items
  for (const stage of stages) {
    const tokensBefore = tokensIn(left, run)
    if (tokensBefore <= target) break
    const budget = 'stages' in stage ? stage.budget : undefined
    left = await runStageOnItems(left, stage, { ...run, target: budget ?? target })
    steps?.push({ name: stage.name, tokensBefore, tokensAfter: tokensIn(left, run) })
  }
  return left
}

/** Completes the plan of a stage. Throws `INVALID_INPUT` for an invalid plan. */
function planOf(view: View, draft: PlanDraft, stage: Stage, context: StageContext, run: ArrayRun): Plan {
  if (isWholePlan(draft, stage)) return draft
  const { name } = stage
  const problem = draftProblem(draft)
  if (problem !== undefined) throw invalid(`${run.what}: ${name}: ${problem}`)
  const plan = completePlan(view, draft, name, (row) => {
    const parts = context.contentOf(row)
    return { original: parts, shown: parts }
  })
  if ('unfit' in plan) throw invalid(`${run.what}: ${name}: only texts and tool results can be replaced`)
  return plan
}

async function runSummaries(items: Items, stage: SummarizingStage, run: ArrayRun): Promise<Items> {
  let left = items
  for (let round = 0; round < (stage.rounds ?? 1); round++) {
    const rows = rowsIn(left, run)
    const drafts = stage.summaries(rows.view, contextOf(rows, run))
    const problem = tasksProblem(drafts)
    if (problem !== undefined) throw invalid(`${run.what}: ${stage.name}: ${problem}`)
    const tasks = drafts.map((draft) => completeTask(rows.view, draft, run.summaryMaxTokens))
    if (tasks.length === 0) break
    left = await condenseTasks(left, rows, tasks, run)
  }
  return left
}

/** Replaces the rows of each task with a summary. The tasks belong to one view and don't overlap. */
async function condenseTasks(
  items: Items,
  array: ArrayRows,
  tasks: readonly SummaryTask[],
  run: ArrayRun,
): Promise<Items> {
  const made = new Map<number, Item>()
  let now = array.view
  for (const task of tasks) {
    const { rows, level, tokens } = task
    const sources = rows.map((row) => sourceOf(row, array))
    const limited = run.mustShrink ? task : { ...task, maxTokens: run.summaryMaxTokens }
    const { text, metadata, answer } = await requestSummary(sources, limited, array.view, run)
    const sizes = measureMessage({ content: text }, array.view.estimator)
    if (run.mustShrink && now.tokensOfRow({ sizes }) >= tokens) continue
    const withLevel = { ...metadata, ...defined({ level }) }
    const insert: PlannedInsert = { kind: 'summary', role: 'system', text, metadata: withLevel, sizes }
    const number = made.size + 1
    made.set(-number, insertedItem(insert, originsOf(items, rows), run.style, answer.text))
    now = stepOf(now, condensePlan(rows, insert, {}), number).after
  }
  return now.rows.map(({ key }) => made.get(key) ?? items[key - 1]!)
}

function originsOf(items: Items, rows: readonly ViewRow[]): number[] {
  return rows.flatMap(({ key }) => items[key - 1]!.origins)
}

/** Returns a row as a summarizer reads it; an earlier summary without the text around it. */
function sourceOf(row: ViewRow, { contentOf, metadataOf }: ArrayRows): SummarySource {
  const content = contentOf(row)
  const metadata = metadataOf(row)
  const shown =
    row.kind === 'summary'
      ? { role: row.role, content: content.map(withoutFrame) }
      : { role: row.role, content, ...namedBy(metadata) }
  return { kind: row.kind, shown, original: shown, metadata }
}

function withoutFrame(part: Part): Part {
  if (part.type !== 'text') return part
  const frame = Object.values(SUMMARY_STYLES).find(
    ({ before, after }) => part.text.startsWith(before) && part.text.endsWith(after),
  )
  if (frame === undefined) return part
  return { ...part, text: part.text.slice(frame.before.length, part.text.length - frame.after.length) }
}

function contextOf(
  rows: ArrayRows,
  { target = 0, summaryMaxTokens, summarySections }: ArrayRun,
): StageContext {
  const own = {
    keepRecentRatio: undefined,
    keepRecentTokens: Math.floor(target * KEEP_RECENT_SHARE),
    truncationFraction: undefined,
    summaryMaxTokens,
    summarySections,
  }
  return contextIn(rows, own, target, target)
}

/** Requests one summary. Rejects with `SUMMARIZER_FAILED` if there is none; `originalErrorOf` returns the summarizer's error. */
async function requestSummary(
  sources: readonly SummarySource[],
  { level, maxTokens }: SummaryTask,
  view: View,
  { summarizer, summarySections: sections, summaryTimeoutMs: timeoutMs }: RunOptions,
): Promise<WrittenSummary> {
  const failed = (error: string) =>
    new UndertextError('SUMMARIZER_FAILED', { summarizer: summarizer.name, error })
  const asked = await askForSummary(
    summarizer,
    SummaryMaterial.of(sources, summarizer, { level }),
    { sessionId: '', sections, maxTokens, ...defined({ level }) },
    { timeoutMs, view, signal: undefined, answered: undefined },
  )
  if ('error' in asked) {
    const failure = failed(asked.error)
    throw asked.error === 'SUMMARY_TIMEOUT' ? failure : withOriginal(failure, asked.thrown)
  }
  const problem = summaryProblem(asked.written)
  if (problem !== undefined) throw failed(problem)
  return asked.written
}

/** Returns the message that a plan inserts. `ownText`: the text without digest and frame. */
function insertedItem(
  insert: PlannedInsert,
  origins: readonly number[],
  style: SummaryStyle,
  ownText = insert.text,
): Item {
  const id = uuidv7()
  if (insert.kind === 'marker') return { message: insertedMessage(insert, id), origins: [] }
  const text = framedText(insert.text, style)
  const metadata = { ...insert.metadata, isSummary: true }
  const message = insertedMessage({ ...insert, role: style.role, text, metadata }, id)
  return { message, origins, summary: ownText }
}

/** Copies a message and its parts, so that callers can change them. */
export function copyMessage(message: ChatMessage): ChatMessage {
  const { content } = message
  if (typeof content === 'string' || !Array.isArray(content)) return { ...message }
  return { ...message, content: content.map((part: Part) => ({ ...part })) }
}
