import { z } from 'zod'
import { invalid, isUndertextError } from '../errors.ts'
import { check } from '../messages/check.ts'
import { isObject } from '../messages/json.ts'
import { listIn } from '../messages/lists.ts'
import type { View } from '../model/view.ts'
import type { ViewRow } from '../model/view-row.ts'
import { type ClearToolResultsStageOptions, clearToolResultsStage } from './clear-tool-results.ts'
import { compositeStage } from './composite.ts'
import { cut } from './cut.ts'
import { findCut } from './cut-points.ts'
import { deduplicate } from './deduplicate.ts'
import { dropReasoningStage } from './drop-reasoning.ts'
import { type MediaStageOptions, mediaStage } from './media.ts'
import { type PriorityStageOptions, priorityStage } from './priority.ts'
import { prune } from './prune.ts'
import { type SlidingWindowStageOptions, slidingWindowStage } from './sliding-window.ts'
import type { BareContext, Stage, StageContext, SummarizingStage, SummaryTaskDraft } from './stage.ts'
import { ours } from './stage.ts'
import { coverableRuns, summarize, tokensThatStay } from './summarize.ts'
import { type SummarizeOlderStageOptions, summarizeOlderStage } from './summarize-older.ts'
import { truncate } from './truncate.ts'

/** The minimum tokens and messages of a chunk that becomes a summary. */
export const LEAF_TOKENS = 20_000
/** The number of messages in a summary of the lowest level. */
export const LEAF_MESSAGES = 8
/** The number of neighbouring summaries of one level that become one of the next. */
export const FAN_OUT = 4
/** The default share of the target for the kept tail: the summaries need room too. */
const TAIL_SHARE = 0.3
/** The most rounds of one run; each makes at least one more level or batch. */
const MOST_ROUNDS = 32

const optionsSchema = z.strictObject({
  /** The minimum tokens of a chunk that becomes a summary. Default 20,000. */
  leafTokens: z.int().positive().default(LEAF_TOKENS),
  /** Its minimum messages. Default 8. */
  leafMessages: z.int().positive().default(LEAF_MESSAGES),
  /** The number of neighbouring summaries of one level that become one of the next. Default 4. */
  fanOut: z.int().min(2).default(FAN_OUT),
})

/** Options of the hierarchical stage. */
export type HierarchicalOptions = z.input<typeof optionsSchema>
type Options = z.output<typeof optionsSchema>

/**
 * Summaries of several levels: the far past stays cheap, the near past detailed, and each can be opened again.
 *
 * Messages before the kept tail become summaries of level 0, one per chunk; when enough neighbouring summaries of one level are in the
 * view, the oldest of them become one of the next level, lowest level first. A summary is never merged with messages, which would
 * summarize the same words again and again. Rows that stay (pinned and system messages, pending calls) separate the summaries beside
 * them.
 *
 * Messages too few for a chunk stay: add a stage after this one that compacts in every case.
 * Throws `INVALID_INPUT`.
 */
export function hierarchicalSummaries(
  options: HierarchicalOptions = {},
  what = 'hierarchicalSummaries',
): SummarizingStage {
  const checked = check(optionsSchema, options, what)
  return {
    name: 'hierarchical_summaries',
    rounds: MOST_ROUNDS,
    reads: (view) => view.rows.filter(({ kind }) => kind === 'summary'),
    summaries: (view, context) => {
      const leaves = leafTasks(view, context, checked)
      return leaves.length > 0 ? leaves : mergeTasks(view, context, checked)
    },
  }
}

/** The chunks of messages before the kept tail, cut between turns and tool groups. */
function leafTasks(view: View, context: BareContext, options: Options): SummaryTaskDraft[] {
  const { keepRecentTokens, summaryMaxTokens } = context.settings
  const room = context.targetTokens - summaryMaxTokens - tokensThatStay(view)
  const tail = keepRecentTokens ?? Math.floor(context.targetTokens * TAIL_SHARE)
  const cut = findCut(view, tail, room)
  return coverableRuns(view, cut)
    .flatMap(messageRuns)
    .flatMap((run) => chunks(view, run, options))
    .map((rows) => ({ rows, level: 0 }))
}

/** The stretches of a run without summaries. */
function messageRuns(run: readonly ViewRow[]): ViewRow[][] {
  const runs: ViewRow[][] = [[]]
  for (const row of run) {
    if (row.kind === 'summary') runs.push([])
    else runs.at(-1)!.push(row)
  }
  return runs.filter((rows) => rows.length > 0)
}

function chunks(view: View, run: readonly ViewRow[], { leafTokens, leafMessages }: Options): ViewRow[][] {
  const found: ViewRow[][] = []
  let chunk: ViewRow[] = []
  let tokens = 0
  const start = view.indexOf(run[0]!.key)!
  run.forEach((row, at) => {
    chunk.push(row)
    tokens += view.tokensOfRow(row)
    const isFull = tokens >= leafTokens && chunk.length >= leafMessages
    if (!isFull || !view.turns.isLegalCut(start + at + 1)) return
    found.push(chunk)
    chunk = []
    tokens = 0
  })
  return found
}

/** Neighbouring summaries of the lowest level that has enough of them, oldest first. */
function mergeTasks(view: View, { metadataOf }: StageContext, { fanOut }: Options): SummaryTaskDraft[] {
  const found = new Map<number, ViewRow[][]>()
  let run: ViewRow[] = []
  let level = -1
  for (const row of view.rows) {
    const own = row.kind === 'summary' && !row.pinned ? levelOf(row, metadataOf) : -1
    if (own !== level) run = []
    level = own
    if (own === -1) continue
    run.push(row)
    if (run.length < fanOut) continue
    listIn(found, own).push(run)
    run = []
  }
  let lowest = Number.POSITIVE_INFINITY
  for (const one of found.keys()) lowest = Math.min(lowest, one)
  return (found.get(lowest) ?? []).map((rows) => ({ rows, level: lowest + 1 }))
}

function levelOf(row: ViewRow, metadataOf: StageContext['metadataOf']): number {
  const level = metadataOf(row)?.level
  return typeof level === 'number' && Number.isInteger(level) && level > 0 ? level : 0
}

/*
 * Stages by name, so that a composition can be part of a configuration and be stored with a session. Each entry makes a stage from
 * its options.
 */

const noOptions = z.strictObject({})

/** A stage in a configuration: its name, or its name and options: `{ stage: 'sliding_window', last: 20 }`. */
export type StageSpec = string | { readonly stage: string; readonly [option: string]: unknown }

type Maker = (options: Record<string, unknown>, what: string, depth: number) => Stage

/** The deepest nesting of composites in a configuration. */
const MOST_DEPTH = 10

function without(stage: Stage): Maker {
  return (options, what) => {
    check(noOptions, options, what)
    return stage
  }
}

const compositeSchema = z.strictObject({
  stages: z.array(z.union([z.string(), z.looseObject({ stage: z.string() })])),
  budget: z.int().nonnegative().optional(),
})

/** A composite in a configuration; its stages have the same form. */
function makeComposite(options: Record<string, unknown>, what: string, depth: number): Stage {
  if (depth >= MOST_DEPTH) throw invalid(`${what}: composites are nested more than ${MOST_DEPTH} deep`)
  const { stages, budget } = check(compositeSchema, options, what)
  const made = stages.map((spec, at) => make(spec, `${what}: stages[${at}]`, depth + 1))
  return compositeStage(made, budget === undefined ? {} : { budget }, what)
}

for (const stage of [prune, deduplicate, truncate, cut]) ours(stage)

const MAKERS: ReadonlyMap<string, Maker> = new Map<string, Maker>([
  ['media', (options, what) => mediaStage(options as MediaStageOptions, what)],
  ['prune', without(prune)],
  ['deduplicate', without(deduplicate)],
  ['summarize', without(summarize)],
  ['truncate', without(truncate)],
  ['cut', without(cut)],
  ['hierarchical_summaries', (options, what) => hierarchicalSummaries(options, what)],
  // The stages check their options.
  ['sliding_window', (options, what) => slidingWindowStage(options as SlidingWindowStageOptions, what)],
  [
    'sliding_window_with_summary',
    (options, what) =>
      slidingWindowStage({ ...(options as SlidingWindowStageOptions), summarize: true }, what),
  ],
  [
    'clear_tool_results',
    (options, what) => clearToolResultsStage(options as ClearToolResultsStageOptions, what),
  ],
  ['summarize_older', (options, what) => summarizeOlderStage(options as SummarizeOlderStageOptions, what)],
  ['composite', makeComposite],
  ['priority_based', (options, what) => priorityStage(options as PriorityStageOptions, what)],
  ['drop_reasoning', (options, what) => dropReasoningStage(options, what)],
])

/** The names of stages in configurations. */
export const STAGE_NAMES: readonly string[] = [...MAKERS.keys()]

/** Makes a stage from a configuration. Throws `INVALID_INPUT` for an unknown name or option. */
export function createStage(spec: StageSpec, what = 'createStage'): Stage {
  return make(spec, what, 0)
}

function make(spec: StageSpec, what: string, depth: number): Stage {
  const { stage, ...options } = typeof spec === 'string' ? { stage: spec } : spec
  const maker = MAKERS.get(stage)
  if (maker === undefined) throw invalid(`${what}: stage must be one of ${STAGE_NAMES.join(', ')}`)
  return ours(maker(options, what, depth))
}

/** Whether a value has the form of a stage in a configuration, whatever its name. */
export function isStageSpec(value: unknown): value is StageSpec {
  return typeof value === 'string' || (isObject(value) && typeof value.stage === 'string')
}

/** Why a value is not a stage in a configuration, or `undefined`. */
export function specProblem(value: unknown): string | undefined {
  if (!isStageSpec(value))
    return 'must be a stage (a name in snake_case, and plan or summaries), the name of one, or { stage: name, … }'
  try {
    createStage(value, 'stage')
    return undefined
  } catch (error) {
    if (isUndertextError(error, 'INVALID_INPUT')) return error.facts.problems
    throw error
  }
}

/** Whether a value is a stage: a name, and a function that plans. */
export function isStage(value: unknown): value is Stage {
  try {
    return isStageWithin(value, MOST_DEPTH)
  } catch {
    return false
  }
}

function isStageWithin(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  const { name, plan, summaries, stages } = value as Record<string, unknown>
  if (typeof name !== 'string' || !/^[a-z][a-z0-9_]{0,63}$/.test(name)) return false
  if (Array.isArray(stages)) {
    const isComposite = plan === undefined && summaries === undefined && depth > 0
    return isComposite && stages.every((stage) => isStageWithin(stage, depth - 1))
  }
  return (typeof plan === 'function') !== (typeof summaries === 'function')
}
