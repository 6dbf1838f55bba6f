import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { invalid } from '../errors.ts'
import { check } from '../messages/check.ts'
import { outputText, type Part, partsOf } from '../messages/message.ts'
import type { ChatMessage } from '../model/message-parts.ts'
import type { View } from '../model/view.ts'
import type { ViewRow } from '../model/view-row.ts'
import { compositeStage } from '../stages/composite.ts'
import { staying } from '../stages/cut-point.ts'
import { isStage } from '../stages/registry.ts'
import type { CompositeStage, PlanDraft, ReplacementDraft, Stage, StageContext } from '../stages/stage.ts'
import { split } from './options.ts'
import { copyMessage, type Item } from './passage.ts'
import { type ArrayRun, type RunOptions, runStageOnItems, targetOf, tokensIn } from './run-strategy.ts'
import {
  type Passing,
  passingOf,
  type Strategy,
  type StrategyStep,
  stepFrom,
  strategyOf,
  strategyShape,
  summaryShape,
} from './strategy.ts'
import {
  findPlaces,
  isUserStrategy,
  passUserStrategy,
  runUserStrategy,
  stageNameOf,
  strategyFailed,
  type UserStrategy,
} from './user-strategy.ts'

/** What a composite may be made of: our strategies, stages, and strategies of your own. */
export type CompositePart = Strategy | Stage | UserStrategy

const optionsSchema = z.strictObject({
  /** Applied in this order. */
  stages: z.array(z.custom<CompositePart>(isPart, 'must be a strategy or a stage')),
  ...strategyShape,
  ...summaryShape,
})
export type CompositeOptions = z.input<typeof optionsSchema>

/**
 * Several strategies as one (seed 000): each in its turn, only while the messages take more than `maxTokens`, counted
 * again by the composite's estimator after each. The thresholds of those within do not matter, save that a composite
 * within goes by its own. What they leave over is left to whoever comes next.
 *
 * Recommended order: cheap ones first, so clearing, then dropping, then summarizing (checklist S0-47).
 *
 * A stage for `compactSession`, and a strategy over plain arrays. Throws `INVALID_INPUT`.
 */
export function composite(options: CompositeOptions): Strategy<CompositeStage> {
  const checked = check(optionsSchema, options, 'composite')
  const [{ stages }, face] = split(checked, ['stages'])
  const { maxTokens } = checked
  const stage = compositeStage(stages.map(stageFrom), maxTokens === undefined ? {} : { budget: maxTokens })
  return strategyOf(stage, face, { passing: chain(stages), needsTarget: true })
}

function chain(parts: readonly CompositePart[]): Passing {
  return async (items, run, options) => {
    const target = targetOf(run)
    const steps: StrategyStep[] = []
    let left = items
    for (const part of parts) {
      if (tokensIn(left, options, run.what) <= target) break
      const after = await passPart(part, left, { ...run, target }, options)
      steps.push(stepFrom(nameOf(part), left, after, options))
      left = after
    }
    return { items: left, steps }
  }
}

async function passPart(
  part: CompositePart,
  items: readonly Item[],
  run: ArrayRun,
  options: RunOptions,
): Promise<readonly Item[]> {
  const own = passingOf(part)
  if (own !== undefined) {
    // A composite has a threshold of its own, whatever it stands in.
    const target = isComposite(part) ? (part.budget ?? run.target) : run.target
    return (await own(items, { ...run, target }, options)).items
  }
  if (isStage(part)) return runStageOnItems(items, part, run, options)
  if (isUserStrategy(part)) return passUserStrategy(items, part, run.target)
  throw invalid(`${run.what}: no strategy`)
}

function isComposite(part: CompositePart): part is CompositeStage {
  return 'stages' in part
}

function nameOf(part: CompositePart): string {
  return isStage(part) ? part.name : stageNameOf(part)
}

function isPart(value: unknown): boolean {
  return isStage(value) || isUserStrategy(value)
}

/**
 * A strategy over arrays as a stage over a store. What it answers is compared with what it was given, by id: a message
 * that is missing is hidden, another text in a part is a replacement, and a new message where a run of messages went is
 * a summary of them. Their order in the answer does not matter.
 *
 * Whatever it says, what may not be hidden stays: system and pinned messages, waiting calls, summaries (unless a new
 * message stands for them), and the halves of a call and its results of which it kept the other. The first three show
 * what they showed, too.
 *
 * A stage, and so a strategy of ours, is answered as it is. Throws `INVALID_INPUT` for what is neither. Planning then
 * rejects with `STRATEGY_FAILED` when the strategy throws or answers what no plan can say: several new messages, one
 * that stands for nothing or for messages with others between them, or parts that are not texts changed.
 */
export function stageFrom(strategy: Stage | UserStrategy): Stage {
  if (isStage(strategy)) return strategy
  if (!isUserStrategy(strategy))
    throw invalid('stageFrom: must be a stage, { tokenEstimate, shouldCompact, compact } or { name, apply }')
  return {
    name: stageNameOf(strategy),
    reads: (view) => view.rows,
    async plan(view, context) {
      const given = view.rows.map((row) => messageOf(row, context))
      const returned = await runUserStrategy(strategy, given.map(copyMessage), context.targetTokens)
      return draftFrom(strategy, view, given, returned)
    },
  }
}

function messageOf(row: ViewRow, { contentOf, shownOf = contentOf, metadataOf }: StageContext): ChatMessage {
  const { id, kind, role, pinned } = row
  const metadata = metadataOf(row)
  return {
    id,
    role,
    content: shownOf(row),
    ...(kind === 'marker' && { isTruncationMarker: true }),
    ...(kind === 'summary' ? { metadata: { ...metadata, isSummary: true } } : metadata && { metadata }),
    ...(pinned && { pinned }),
  }
}

function draftFrom(
  strategy: UserStrategy,
  view: View,
  given: readonly ChatMessage[],
  returned: readonly ChatMessage[],
): PlanDraft | undefined {
  const places = findPlaces(given, returned)
  const kept = new Set(places)
  const added = returned.filter((_, at) => places[at] === undefined)
  if (added.length > 1) throw strategyFailed(strategy, 'SEVERAL_NEW_MESSAGES')

  const gone = hidable(view, kept, added.length > 0)
  const replace = returned.flatMap((message, at) => {
    const place = places[at]
    if (place === undefined || isFixed(view, place)) return []
    return replacements(strategy, view.rows[place]!, given[place]!, message)
  })
  const [summary] = added
  if (summary === undefined && gone.length === 0 && replace.length === 0) return undefined
  const hide = gone.map((index) => view.rows[index]!)
  if (summary === undefined) return { hide, replace }
  const isRun = gone.length > 0 && gone.at(-1)! - gone[0]! === gone.length - 1
  if (!isRun) throw strategyFailed(strategy, gone.length === 0 ? 'SUMMARY_OF_NOTHING' : 'SUMMARY_OF_PARTS')
  return { hide, replace, insert: { kind: 'summary', text: summaryText(strategy, summary) } }
}

/** The indexes of what is not kept and may go, ascending: whole groups only. */
function hidable(view: View, kept: ReadonlySet<number | undefined>, condenses: boolean): number[] {
  const stays = staying(view, condenses)
  const { turns } = view
  const gone = view.rows.flatMap((_, index) => (kept.has(index) || stays.has(index) ? [] : [index]))
  const goneSet = new Set(gone)
  // A group is gone through once: its members share one list.
  const whole = new Map<readonly number[], boolean>()
  return gone.filter((index) => {
    const group = turns.groupOf(index)
    let isWhole = whole.get(group)
    if (isWhole === undefined) {
      isWhole = group.every((member) => goneSet.has(member))
      whole.set(group, isWhole)
    }
    return isWhole
  })
}

/** Whether a row shows what it shows, whatever a strategy makes of it: law 3 of design 3.3. */
function isFixed(view: View, index: number): boolean {
  const { pinned, kind, role } = view.rows[index]!
  return pinned || (kind === 'message' && role === 'system') || view.turns.pending.has(index)
}

/** The parts of a message that came back with another text. */
function replacements(
  strategy: UserStrategy,
  row: ViewRow,
  given: ChatMessage,
  returned: ChatMessage,
): ReplacementDraft[] {
  if (returned.content === given.content) return []
  const [before, after] = [partsOf(given), partsOf(returned)]
  if (before.length !== after.length) throw strategyFailed(strategy, 'PARTS_CHANGED')
  return before.flatMap((part, index) => {
    const text = changedText(strategy, part, after[index]!)
    return text === undefined ? [] : [{ row, part: index, text }]
  })
}

function changedText(strategy: UserStrategy, before: Part, after: Part): string | undefined {
  if (before.type === 'text' && after.type === 'text')
    return before.text === after.text ? undefined : after.text
  if (isDeepStrictEqual(before, after)) return undefined
  if (before.type !== 'tool-result' || after.type !== 'tool-result')
    throw strategyFailed(strategy, 'PARTS_CHANGED')
  if (isDeepStrictEqual(before.output, after.output)) return undefined
  return outputText(after.output)
}

function summaryText(strategy: UserStrategy, message: ChatMessage): string {
  const text = partsOf(message)
    .flatMap((part) => (part.type === 'text' ? [part.text] : []))
    .join('\n')
  if (text.trim() === '') throw strategyFailed(strategy, 'EMPTY_SUMMARY')
  return text
}
