import type { JsonObject } from '../messages/json.ts'
import type { Part } from '../messages/message.ts'
import type { Plan, PlannedInsert, PlannedReplacement, RequiredPart } from '../model/plan.ts'
import type { View } from '../model/view.ts'
import type { ViewRow } from '../model/view-row.ts'
import type { MediaMost, RequestMedia } from '../tokens/media-limits.ts'

/*
 * The built-in stages. The figures of their plans are trusted, because computing the savings of thousands of placeholders would mean
 * reading every output again. The figures of other stages are computed.
 */

const BUILT_IN = new WeakSet<object>()

/** Marks a stage as built-in by its function; a copy with another function is not built-in. */
export function markBuiltIn<S extends Stage>(stage: S): S {
  if ('plan' in stage) BUILT_IN.add(stage.plan)
  return stage
}

export function isBuiltInStage(stage: Stage): boolean {
  return 'plan' in stage && BUILT_IN.has(stage.plan)
}

/** The images and bytes of a request, and their target and limit. */
export type MediaNeed = {
  /** Whether images or bytes have reached the usage at which compaction is due. */
  readonly isDue: boolean
  /** The images and bytes of the request. */
  readonly used: RequestMedia
  /** The amount to which the run reduces them; Infinity if no limit is known. */
  readonly target: MediaMost
  /** The most that the provider accepts; Infinity if no limit is known. */
  readonly limit: MediaMost
}

/** The resolved settings of the stages: plain values, defaults filled in and scaled to the window. */
export type StageSettings = {
  /** The number of newest images and files that the stage `media` keeps. */
  readonly keepRecentMedia: number
  readonly pruneProtectTokens: number
  readonly pruneMinimumSavings: number
  readonly pruneProtectedTools: readonly string[]
  readonly prunePlaceholder: Placeholder
  readonly pruneFailedResults: boolean
  readonly readTools: readonly string[]
  readonly userTools: readonly string[]
  readonly pathArguments: readonly string[]
  readonly deduplicateMinimumSavings: number
  readonly deduplicateByText: boolean
  /** If `undefined`: as much as the target leaves after the summary. */
  readonly keepRecentTokens: number | undefined
  /** A share of the messages; if given, it overrides `keepRecentTokens`. */
  readonly keepRecentRatio: number | undefined
  /** The room for the summary beside a tail that fills the target, in tokens. */
  readonly summaryRoomTokens: number
  readonly summaryMaxTokens: number
  readonly summarySections: readonly string[]
  /** A share of the messages; if absent, truncation works by tokens. */
  readonly truncationFraction: number | undefined
  /** The order in which truncation by tokens hides messages: the oldest turns, or the least important messages first. */
  readonly truncationOrder: 'oldest' | 'importance'
  /** The marker's text, or `undefined` for no marker. */
  readonly truncationMarker: string | undefined
}

/** The context of planning, apart from the view. */
export type StageContext = {
  readonly settings: StageSettings
  /** The target size of the history, in tokens. */
  readonly targetTokens: number
  /** The size of the largest history with which the request fits the window, in tokens. */
  readonly limitTokens: number
  /** The use and limits of media; absent if the provider's limits are unknown. */
  readonly media?: MediaNeed
  /** Returns the original parts of a row. Only for the rows of `reads`. */
  readonly contentOf: (row: ViewRow) => readonly Part[]
  /** Returns the metadata of a row, such as the level of a summary. Only for the rows of `reads`. */
  readonly metadataOf: (row: ViewRow) => JsonObject | undefined
  /** Returns the parts of a row as the view shows them. If absent, the originals are used. */
  readonly shownOf?: (row: ViewRow) => readonly Part[]
}

/** The context without contents, before the rows of `reads` are read. */
export type BareContext = Omit<StageContext, 'contentOf' | 'metadataOf' | 'shownOf'>

/** A requested summary of consecutive rows, which may include an earlier summary. */
export type SummaryTask = {
  readonly rows: readonly ViewRow[]
  readonly tokens: number
  /** The maximum tokens of the text: the limit in the settings, and never more than half of the size of the rows. */
  readonly maxTokens: number
  /**
   * The target tokens of the view after the summary. If the extractive summarizer's summary is shorter than expected, fewer rows are
   * replaced: the newest of them stay. If absent, all rows are replaced.
   */
  readonly fillTokens?: number
  /** The level: 0 or absent for a summary of messages, 1 for a summary of such summaries. */
  readonly level?: number
  /** The parameters for the audit. */
  readonly params?: Plan['params']
}

/** A draft of a summary request; missing fields are computed. */
export type SummaryTaskDraft = Pick<SummaryTask, 'rows'> & Partial<Omit<SummaryTask, 'tokens'>>

/** A draft of a replacement; the savings are computed. */
export type ReplacementDraft = Pick<PlannedReplacement, 'row' | 'part' | 'text'>

/** A draft of a row to insert. Default role: `system`. */
export type InsertDraft = Pick<PlannedInsert, 'kind' | 'text'> &
  Partial<Pick<PlannedInsert, 'role' | 'metadata'>>

/**
 * The change that a stage proposes. Sizes, order and kind are computed: `condense` if there is a summary, else `truncate` if rows are
 * hidden, else `prune`.
 */
export type PlanDraft = {
  readonly hide?: readonly ViewRow[]
  readonly replace?: readonly ReplacementDraft[]
  readonly insert?: InsertDraft
  readonly requires?: readonly RequiredPart[]
  readonly params?: Plan['params']
}

type Named = {
  /** The stage's name in results, in the audit and in configurations, in snake case. */
  readonly name: string
}

interface Reading extends Named {
  /** Returns the rows whose content planning needs. Default: none, which makes planning fast. */
  reads?(view: View, context: BareContext): readonly ViewRow[]
  /**
   * Returns a function that decides for each row of `reads`, in that order, whether its content is needed, given its original parts. For
   * the other rows `contentOf` returns no parts, which saves memory. Default: all are needed.
   */
  keeps?(view: View, context: BareContext): (row: ViewRow, parts: readonly Part[]) => boolean
}

type Planned = PlanDraft | undefined

/** A stage: a pure function from a view to a plan. It returns `undefined` if it has nothing to do. */
export interface PlanningStage<A = Planned> extends Reading {
  /**
   * The limit above which the stage runs: the run's target, or the room of the window. Default `target`. With `media` the stage runs at
   * any size, because `context.media` decides.
   */
  readonly until?: 'target' | 'limit' | 'media'
  /** Returns the changes to the view, or `undefined` if there are none. */
  plan(view: View, context: StageContext): A
}

/**
 * An asynchronous stage, such as `stageFrom` makes from a strategy over arrays. Nothing is locked while it plans; its plan is checked
 * against the view at the commit.
 */
export interface SlowPlanningStage extends Reading {
  /** Resolves to the changes to the view, or to `undefined` if there are none. */
  plan(view: View, context: StageContext): Promise<Planned>
}

/**
 * A stage that selects rows to summarize; the summarizer writes the text. It is called again after its summaries are written, until it
 * selects nothing or none is accepted.
 */
export interface SummarizingStage extends Reading {
  /** Returns the ranges to summarize, or an empty list. */
  summaries(view: View, context: StageContext): readonly SummaryTaskDraft[]
  /** The most calls in one run. Default 1. */
  readonly rounds?: number
}

/** Stages that run in order, each only if the history is still over the budget. */
export interface CompositeStage extends Named {
  readonly stages: readonly Stage[]
  /** The budget, in tokens. Default: the target of the run. */
  readonly budget?: number
}

/** A stage of a compaction. */
export type Stage = PlanningStage | SlowPlanningStage | SummarizingStage | CompositeStage

/** An output that is about to be cleared. */
export type ClearedOutput = {
  /** The tool's name, if known. */
  readonly tool: string | undefined
  readonly toolCallId: string
  /** The size of the output, in tokens by the session's estimator. */
  readonly tokens: number
}

/**
 * The text in place of a cleared output: a text in which `{tokens}` and `{tool}` are replaced, or a function. Equal outputs must give
 * equal texts, because the text is part of a prefix that providers cache.
 */
export type Placeholder = string | ((output: ClearedOutput) => string)
