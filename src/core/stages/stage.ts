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

const OURS = new WeakSet<object>()

/** Marks a stage as built-in by its function; a copy with another function is not built-in. */
export function ours<S extends Stage>(stage: S): S {
  if ('plan' in stage) OURS.add(stage.plan)
  return stage
}

export function isOurs(stage: Stage): boolean {
  return 'plan' in stage && OURS.has(stage.plan)
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
  /** A share of the messages; when absent, truncation works by tokens. */
  readonly truncationFraction: number | undefined
  /** What truncation by tokens hides first: the oldest turns, or the least important messages. */
  readonly truncationOrder: 'oldest' | 'importance'
  /** The marker's text, or `undefined` for none. */
  readonly truncationMarker: string | undefined
}

/** The context of planning besides the view. */
export type StageContext = {
  readonly settings: StageSettings
  /** The target size of the history, tokens. */
  readonly targetTokens: number
  /** The largest history with which the request fits the window, tokens. */
  readonly limitTokens: number
  /** What media are too many; absent where the limits of the provider are unknown. */
  readonly media?: MediaNeed
  /** The original parts of a row. Only for the rows of `reads`. */
  readonly contentOf: (row: ViewRow) => readonly Part[]
  /** The metadata of a row, such as the level of a summary. Only for the rows of `reads`. */
  readonly metadataOf: (row: ViewRow) => JsonObject | undefined
  /** The parts of a row as the view shows them. When it is absent, the originals are used. */
  readonly shownOf?: (row: ViewRow) => readonly Part[]
}

/** The context without contents, before `reads` are read. */
export type BareContext = Omit<StageContext, 'contentOf' | 'metadataOf' | 'shownOf'>

/** A requested summary: rows that follow each other, an earlier summary included. */
export type SummaryTask = {
  readonly rows: readonly ViewRow[]
  readonly tokens: number
  /** The most tokens of the text: that of the settings, and never more than half of what it represents. */
  readonly maxTokens: number
  /**
   * The tokens that the view should have after the summary. When the summary of the extractive summarizer is shorter than expected,
   * fewer rows are replaced: the newest of them stay. Absent: all rows are replaced.
   */
  readonly fillTokens?: number
  /** Its level: 0 or absent for a summary of messages, 1 for one of such summaries. */
  readonly level?: number
  /** For the audit. */
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
 * The change that a stage proposes. Sizes, order and kind are computed: `condense` with a summary, else `truncate` when rows are
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
  /** Its name in results, in the audit and in configurations, in snake case. */
  readonly name: string
}

interface Reading extends Named {
  /** The rows whose content planning needs. Default: none, which makes planning fast. */
  reads?(view: View, context: BareContext): readonly ViewRow[]
  /**
   * Returns a function that decides for each row of `reads`, in that order, whether its content is needed, given its original parts:
   * `contentOf` returns no parts of the others, which saves memory. Default: all are needed.
   */
  keeps?(view: View, context: BareContext): (row: ViewRow, parts: readonly Part[]) => boolean
}

type Planned = PlanDraft | undefined

/** A stage: a pure function from a view to a plan. It returns `undefined` when it has nothing to do. */
export interface PlanningStage<A = Planned> extends Reading {
  /**
   * The limit above which the stage runs: the run's target, or the room of the window. Default `target`. `media`: at any size, because it
   * decides by `context.media`.
   */
  readonly until?: 'target' | 'limit' | 'media'
  /** Returns the changes to the view, or `undefined` for none. */
  plan(view: View, context: StageContext): A
}

/**
 * An asynchronous stage, as `stageFrom` makes of a strategy over arrays. Nothing is locked meanwhile; its plan is checked against the
 * view at the commit.
 */
export interface SlowPlanningStage extends Reading {
  /** Resolves to the changes to the view, or to `undefined` for none. */
  plan(view: View, context: StageContext): Promise<Planned>
}

/**
 * A stage that selects what to summarize; the summarizer writes the text. It is called again after its summaries were written, until it
 * selects nothing or none was accepted.
 */
export interface SummarizingStage extends Reading {
  /** Returns the ranges to summarize, or an empty list. */
  summaries(view: View, context: StageContext): readonly SummaryTaskDraft[]
  /** The most calls in one run. Default 1. */
  readonly rounds?: number
}

/** Stages in order, each only while the history is over the budget. */
export interface CompositeStage extends Named {
  readonly stages: readonly Stage[]
  /** Tokens. Default: the target of the run. */
  readonly budget?: number
}

/** A stage of a compaction. */
export type Stage = PlanningStage | SlowPlanningStage | SummarizingStage | CompositeStage

/** An output that is about to be cleared. */
export type ClearedOutput = {
  /** The tool's name, if known. */
  readonly tool: string | undefined
  readonly toolCallId: string
  /** The size of the output in tokens by the session's estimator. */
  readonly tokens: number
}

/**
 * The text in place of a cleared output: a text in which `{tokens}` and `{tool}` are replaced, or a function. The same output must give
 * the same text, because it is part of a prefix that providers cache.
 */
export type Placeholder = string | ((output: ClearedOutput) => string)
