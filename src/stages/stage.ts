import type { JsonObject } from '../messages/json.ts'
import type { Part } from '../messages/message.ts'
import type { Plan, PlannedInsert, PlannedReplacement, RequiredPart } from '../model/plan.ts'
import type { View } from '../model/view.ts'
import type { ViewRow } from '../model/view-row.ts'

/*
 * Which stages are this package's own. What they plan is taken as it is, figures included: working out what thousands of
 * placeholders save would mean reading every output again. What anybody else plans is worked out anew.
 */

const OURS = new WeakSet<object>()

/** Marks a stage as ours, by its function: a copy with another function is none. */
export function ours<S extends Stage>(stage: S): S {
  if ('plan' in stage) OURS.add(stage.plan)
  return stage
}

export function isOurs(stage: Stage): boolean {
  return 'plan' in stage && OURS.has(stage.plan)
}

/** The knobs of the stages, resolved: plain values, defaults filled in and scaled to the window. */
export type StageSettings = {
  readonly pruneProtectTokens: number
  readonly pruneMinimumSavings: number
  readonly pruneProtectedTools: readonly string[]
  readonly prunePlaceholder: Placeholder
  readonly readTools: readonly string[]
  readonly pathArguments: readonly string[]
  readonly deduplicateMinimumSavings: number
  readonly deduplicateByText: boolean
  /** `undefined`: as much as the target leaves beside the summary. */
  readonly keepRecentTokens: number | undefined
  /** Counts as seed 003 says when given; then it takes the place of `keepRecentTokens`. */
  readonly keepRecentRatio: number | undefined
  /** What a tail that fills the target leaves to the summary, tokens. */
  readonly summaryRoomTokens: number
  readonly summaryMaxTokens: number
  readonly summarySections: readonly string[]
  /** Counts as seed 003 says when given; else stage 4 works by tokens. */
  readonly truncationFraction: number | undefined
  /** What truncation by tokens hides first: the oldest turns, or what is worth least. */
  readonly truncationOrder: 'oldest' | 'importance'
  /** The marker's text, or `undefined` for none. */
  readonly truncationMarker: string | undefined
}

/** What a stage may look at besides the view. */
export type StageContext = {
  readonly settings: StageSettings
  /** What the history is to come down to, tokens. */
  readonly targetTokens: number
  /** Most tokens of history with which the whole request still fits the window. */
  readonly limitTokens: number
  /** The parts of a row, originals. Only of the rows the stage asked for with `reads`. */
  readonly contentOf: (row: ViewRow) => readonly Part[]
  /** What a row carries besides: a summary its level. Only of the rows the stage asked for with `reads`. */
  readonly metadataOf: (row: ViewRow) => JsonObject | undefined
  /** The parts of a row as the view shows them, replacements applied. Where it is missing, the originals have to do. */
  readonly shownOf?: (row: ViewRow) => readonly Part[]
}

/** What a stage may look at before it was given the contents it asks for. */
export type BareContext = Omit<StageContext, 'contentOf' | 'metadataOf' | 'shownOf'>

/** What one summary is to stand for: rows that follow each other, an earlier summary included. */
export type SummaryTask = {
  readonly rows: readonly ViewRow[]
  readonly tokens: number
  /** Most tokens the text may take: the settings', and never more than half of what it stands for. */
  readonly maxTokens: number
  /** How many summaries deep: 0 or absent for one of messages, 1 for one of such summaries. */
  readonly level?: number
  /** For the audit. */
  readonly params?: Plan['params']
}

/** What a summarizing stage may say; what is missing is worked out. */
export type SummaryTaskDraft = Pick<SummaryTask, 'rows'> & Partial<Omit<SummaryTask, 'tokens'>>

/** What a stage says of a replacement; what it saves is worked out. */
export type ReplacementDraft = Pick<PlannedReplacement, 'row' | 'part' | 'text'>

/** What a stage says of a row to be inserted. Default role: `system`. */
export type InsertDraft = Pick<PlannedInsert, 'kind' | 'text'> &
  Partial<Pick<PlannedInsert, 'role' | 'metadata'>>

/**
 * What a stage wants done. Sizes, order and kind are worked out: `condense` with a summary, else `truncate` when rows are hidden,
 * else `prune`.
 */
export type PlanDraft = {
  readonly hide?: readonly ViewRow[]
  readonly replace?: readonly ReplacementDraft[]
  readonly insert?: InsertDraft
  readonly requires?: readonly RequiredPart[]
  readonly params?: Plan['params']
}

type Named = {
  /** Snake case: what results, the audit and configurations call it. */
  readonly name: string
}

interface Reading extends Named {
  /** The rows whose content planning needs. Default: none, and that is what makes planning fast. */
  reads?(view: View, context: BareContext): readonly ViewRow[]
  /**
   * Returns a function that says of each row named by `reads`, in that order, whether its content is needed after all, now that its
   * original parts are known: `contentOf` returns no parts of the others, which saves their memory. Default: all are needed.
   */
  keeps?(view: View, context: BareContext): (row: ViewRow, parts: readonly Part[]) => boolean
}

type Planned = PlanDraft | undefined

/** One way of making room: a pure function from a view to a plan. It answers `undefined` when it has nothing to do. */
export interface PlanningStage<A = Planned> extends Reading {
  /** Runs only while the history takes more than this: the run's target, or what the window has room for. Default `target`. */
  readonly until?: 'target' | 'limit'
  plan(view: View, context: StageContext): A
}

/**
 * A planning stage that takes its time: what `stageFrom` makes of a strategy over arrays. Nothing is locked meanwhile; its
 * plan is held to the view as it is at the commit.
 */
export interface SlowPlanningStage extends Reading {
  plan(view: View, context: StageContext): Promise<Planned>
}

/**
 * A stage that says what is to be summarized; who writes the text is not its business. It is asked again after its
 * summaries were written, until it names nothing or none was accepted.
 */
export interface SummarizingStage extends Reading {
  summaries(view: View, context: StageContext): readonly SummaryTaskDraft[]
  /** How often it is asked at most in one run. Default 1. */
  readonly rounds?: number
}

/** Stages in order, each only while the history takes more than the budget. */
export interface CompositeStage extends Named {
  readonly stages: readonly Stage[]
  /** Tokens. Default: what the run is to reach. */
  readonly budget?: number
}

export type Stage = PlanningStage | SlowPlanningStage | SummarizingStage | CompositeStage

/** What is known of an output that is about to be cleared. */
export type ClearedOutput = {
  /** The tool's name, where it is known. */
  readonly tool: string | undefined
  readonly toolCallId: string
  /** What the output takes, tokens, by the session's estimator. */
  readonly tokens: number
}

/**
 * What is shown in place of a cleared output: a text, in which `{tokens}` and `{tool}` stand for what the output took and
 * whose it was, or a function that makes one. The same output must give the same text: it stands in a prefix that
 * providers cache.
 */
export type Placeholder = string | ((output: ClearedOutput) => string)
