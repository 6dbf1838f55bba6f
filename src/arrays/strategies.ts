import { z } from 'zod'
import { check } from '../messages/check.ts'
import { isFailed, isReasoning, outputText, type Part } from '../messages/message.ts'
import type { ChatMessage } from '../model/message-parts.ts'
import { dropReasoningShape, dropReasoningStage } from '../stages/drop-reasoning.ts'
import { priorityShape, priorityStage } from '../stages/priority.ts'
import { clearToolResultsShape, clearToolResultsStage } from '../stages/prune.ts'
import { slidingWindowShape, slidingWindowStage } from '../stages/sliding-window.ts'
import { summarizeOlderShape, summarizeOlderStage } from '../stages/summarize-older.ts'
import {
  type Strategy,
  type StrategyOptions,
  stageOptions,
  strategyOf,
  strategySchema,
  strategyShape,
  summaryShape,
} from './strategy.ts'

/** The kinds of strategies that a configuration may name. Source: seed 001, checklist S1-22 to S1-27, S1-U08. */
export const STRATEGY_KINDS = ['sliding_window', 'sliding_window_with_summary', 'priority_based'] as const
export type ContextStrategyKind = (typeof STRATEGY_KINDS)[number]

/** What a kind is when none is said. Source: checklist S1-U08. */
const DEFAULT_KIND: ContextStrategyKind = 'sliding_window'

export type CreateStrategyOptions = StrategyOptions

const MAKERS: { readonly [K in ContextStrategyKind]: (options: CreateStrategyOptions) => Strategy } = {
  sliding_window: ({ maxTokens, estimator, provider }) =>
    slidingWindow({ fitBudget: true, keepNewest: 'nothing', maxTokens, estimator, provider }),
  // Without somebody who writes it there is no summary, and the name says so (checklist S1-27).
  sliding_window_with_summary: (options) => {
    const plain = MAKERS.sliding_window(options)
    if (options.summarizer === undefined) return plain
    const window = slidingWindow({ fitBudget: true, summarize: true, ...options })
    return {
      ...window,
      async apply(messages, budget) {
        const result = await window.apply(messages, budget)
        return result.overBudget ? plain.apply(messages, budget) : result
      },
    }
  },
  priority_based: ({ maxTokens, estimator, provider }) =>
    priority({ keepNewest: 'nothing', maxTokens, estimator, provider }),
}

/**
 * The strategy of a kind, as a configuration names it. Default: "sliding_window", the newest that fit. "…_with_summary" needs
 * a `summarizer`; without one it is the plain window, and is called so. What `apply` returns fits the budget, also when the newest
 * message alone does not: only system messages that are too large themselves make it `overBudget`. A summary that does not fit is left
 * out. Throws `INVALID_INPUT`, for an unknown kind too.
 */
export function createStrategy(
  kind: ContextStrategyKind = DEFAULT_KIND,
  options: CreateStrategyOptions = {},
): Strategy {
  const checked = check(z.enum(STRATEGY_KINDS), kind, 'createStrategy: kind')
  return MAKERS[checked](check(strategySchema, options, 'createStrategy'))
}

const dropReasoningSchema = z.strictObject({ ...dropReasoningShape, ...strategyShape })
export type DropReasoningOptions = z.input<typeof dropReasoningSchema>

/**
 * Leaves out the reasoning of turns before the newest `keepTurns` (1), signatures and redacted forms with it. Only finished
 * tool loops lose it, each as a whole.
 *
 * A stage for `compactSession`, and a strategy over plain arrays. Throws `INVALID_INPUT`.
 */
export function dropReasoning(options: DropReasoningOptions = {}): Strategy {
  const checked = check(dropReasoningSchema, options, 'dropReasoning')
  const stage = dropReasoningStage(stageOptions(checked, dropReasoningShape))
  return strategyOf(stage, checked, { finish: withoutEmptied })
}

/** A message without the parts that were emptied, each where it was; `undefined` when nothing else was in it. */
function withoutEmptied(after: ChatMessage, before: ChatMessage): ChatMessage | undefined {
  const [was, is] = [before.content, after.content]
  if (!Array.isArray(was) || !Array.isArray(is)) return after
  const content = (is as readonly Part[]).filter(
    (part, at) => !(isReasoning(was[at]) && 'text' in part && part.text === ''),
  )
  return content.length === 0 && is.length > 0 ? undefined : { ...after, content }
}

const clearToolResultsSchema = z.strictObject({ ...clearToolResultsShape, ...strategyShape })
export type ClearToolResultsOptions = z.input<typeof clearToolResultsSchema>

/**
 * Shows "[tool result cleared]" in place of all tool results but the newest `keep` (seed 000). Calls, ids, order and
 * everything else stay as they are. Over an array a cleared result is no failed one any more (golden NTR-08); in a store
 * it stays marked as failed, for what is laid over it is a text.
 *
 * A stage for `compactSession`, and a strategy over plain arrays. Throws `INVALID_INPUT`.
 */
export function clearToolResults(options: ClearToolResultsOptions): Strategy {
  const checked = check(clearToolResultsSchema, options, 'clearToolResults')
  const stage = clearToolResultsStage(stageOptions(checked, clearToolResultsShape))
  return strategyOf(stage, checked, { finish: withoutFailure })
}

function withoutFailure(message: ChatMessage, before: ChatMessage): ChatMessage {
  const { content } = message
  if (typeof content !== 'string' && Array.isArray(content)) {
    const parts = before.content as readonly Part[]
    return {
      ...message,
      content: content.map((part: Part, at) => (part === parts[at] ? part : clearedPart(part))),
    }
  }
  const { isError, result } = message as { readonly isError?: unknown; readonly result?: unknown }
  const failed =
    typeof result === 'object' && result !== null && (result as { success?: unknown }).success === false
  return {
    ...message,
    ...(isError === true && { isError: false }),
    ...(failed && { result: { ...result, success: true } }),
  }
}

/** A part that was laid over: only what was laid over is another object than before. */
function clearedPart(part: Part): Part {
  if (part.type !== 'tool-result' || !isFailed(part.output)) return part
  return { ...part, output: { type: 'text', value: outputText(part.output) } }
}

const prioritySchema = z.strictObject({ ...priorityShape, ...strategyShape })
export type PriorityOptions = z.input<typeof prioritySchema>

/**
 * Keeps the highest-scoring messages that fit the budget (seed 001): a call and its results are one unit and score as the
 * call; system and pinned messages, waiting calls, live summaries and the newest turn always stay.
 *
 * A stage for `compactSession`, and a strategy over plain arrays. Throws `INVALID_INPUT`.
 */
export function priority(options: PriorityOptions = {}): Strategy {
  const checked = check(prioritySchema, options, 'priority')
  return strategyOf(priorityStage(stageOptions(checked, priorityShape)), checked, { needsTarget: true })
}

const summarizeOlderSchema = z.strictObject({ ...summarizeOlderShape, ...strategyShape, ...summaryShape })
export type SummarizeOlderOptions = z.input<typeof summarizeOlderSchema>

/**
 * A summary in place of all but the newest `keepLast` messages (seeds 000 and 004). System messages stay where they are and
 * are not counted. With nothing older the summarizer is not asked.
 *
 * A stage for `compactSession`, and a strategy over plain arrays. Throws `INVALID_INPUT`.
 */
export function summarizeOlder(options: SummarizeOlderOptions): Strategy {
  const checked = check(summarizeOlderSchema, options, 'summarizeOlder')
  return strategyOf(summarizeOlderStage(stageOptions(checked, summarizeOlderShape)), checked)
}

const slidingWindowSchema = z.strictObject({ ...slidingWindowShape, ...strategyShape, ...summaryShape })
export type SlidingWindowOptions = z.input<typeof slidingWindowSchema>

/**
 * Keeps the newest messages: the newest `last` besides system messages (seed 000), or the newest that fit the budget
 * (`fitBudget: true`, seed 001). System and pinned messages, waiting calls and live summaries always stay; a call and its
 * results are never parted. With `summarize: true` a summary stands for exactly what goes, and the name is
 * `sliding_window_with_summary`.
 *
 * A stage for `compactSession`, and a strategy over plain arrays. Throws `INVALID_INPUT`.
 */
export function slidingWindow(options: SlidingWindowOptions): Strategy {
  const checked = check(slidingWindowSchema, options, 'slidingWindow')
  const stage = slidingWindowStage(stageOptions(checked, slidingWindowShape))
  return strategyOf(stage, checked, {
    needsTarget: checked.fitBudget === true || checked.shrinkToFit === true,
  })
}
