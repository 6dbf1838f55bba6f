import { z } from 'zod'
import { check } from '../messages/check.ts'
import { listIn } from '../messages/json.ts'
import type { View } from '../model/view.ts'
import type { ViewRow } from '../model/view-row.ts'
import { findCut } from './cut-points.ts'
import type { BareContext, StageContext, SummarizingStage, SummaryTaskDraft } from './stage.ts'
import { coverableRuns, tokensThatStay } from './summarize.ts'

/** The minimum tokens of a chunk that becomes a summary of the lowest level. */
export const LEAF_TOKENS = 20_000
/** The minimum number of messages of such a chunk. */
export const LEAF_MESSAGES = 8
/** The number of neighboring summaries of one level that become one summary of the next. */
export const FAN_OUT = 4
/** The default share of the target for the kept tail; the summaries need room too. */
const TAIL_SHARE = 0.3
/** The most rounds of one run; each adds at least one level or batch. */
const MAX_ROUNDS = 32

const optionsSchema = z.strictObject({
  /** The minimum tokens of a chunk that becomes a summary. Default 20,000. */
  leafTokens: z.int().positive().default(LEAF_TOKENS),
  /** The minimum messages of such a chunk. Default 8. */
  leafMessages: z.int().positive().default(LEAF_MESSAGES),
  /** The number of neighboring summaries of one level that become one summary of the next. Default 4. */
  fanOut: z.int().min(2).default(FAN_OUT),
})

/** Options of the hierarchical stage. */
export type HierarchicalOptions = z.input<typeof optionsSchema>
type Options = z.output<typeof optionsSchema>

/**
 * Returns a stage that makes summaries of several levels: the distant past stays cheap, the recent past detailed, and each summary can be
 * opened again.
 *
 * Messages before the kept tail become summaries of level 0, one per chunk. If the view contains enough neighboring summaries of one
 * level, the oldest of them become one summary of the next level, lowest level first. A summary is never merged with messages, because
 * that would summarize the same words again and again. Rows that stay (pinned and system messages, pending calls) separate the summaries
 * beside them.
 *
 * If there are too few messages for a chunk, they stay: follow this stage with one that compacts in every case.
 *
 * Throws `INVALID_INPUT`.
 */
export function hierarchicalSummaries(
  options: HierarchicalOptions = {},
  what = 'hierarchicalSummaries',
): SummarizingStage {
  const checked = check(optionsSchema, options, what)
  return {
    name: 'hierarchical_summaries',
    rounds: MAX_ROUNDS,
    reads: (view) => view.rows.filter(({ kind }) => kind === 'summary'),
    summaries: (view, context) => {
      const leaves = leafTasks(view, context, checked)
      return leaves.length > 0 ? leaves : mergeTasks(view, context, checked)
    },
  }
}

/** Returns the chunks of messages before the kept tail, cut between turns and tool groups. */
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

/** Returns the stretches of a run without summaries. */
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

/** Returns neighboring summaries of the lowest level that has enough of them, oldest first. */
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
