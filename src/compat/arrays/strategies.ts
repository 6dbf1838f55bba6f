import { z } from 'zod'
import { check } from '../../core/messages/check.ts'
import { isFailed, isReasoning, outputText, type Part } from '../../core/messages/message.ts'
import { type ChatMessage, requireMessages } from '../../core/model/message-parts.ts'
import { SUMMARY_STYLES, type SummaryPreset } from '../../core/rendering/summary-heading.ts'
import { clearToolResultsShape, clearToolResultsStage } from '../../core/stages/clear-tool-outputs.ts'
import { dropReasoningShape, dropReasoningStage } from '../../core/stages/drop-reasoning.ts'
import { priorityShape, priorityStage } from '../../core/stages/priority.ts'
import {
  slidingWindowShape,
  slidingWindowStage,
  summarizeOlderShape,
  summarizeOlderStage,
} from '../../core/stages/sliding-window.ts'
import { markBuiltIn, type Stage } from '../../core/stages/stage.ts'
import { extractiveSummarizer } from '../../core/summarizers/extractive.ts'
import { SUMMARY_SECTIONS, type Summarizer, summarizerSchema } from '../../core/summarizers/summarizer.ts'
import { pick } from '../../store/config/resolve.ts'
import { SUMMARY_TIMEOUT_MS } from '../../store/config/settings.ts'
import { arrayEstimator, estimatorChoiceSchema } from './rows.ts'
import {
  type ArrayRun,
  type Counting,
  copyMessage,
  type Item,
  itemsOf,
  messagesOf,
  PASSING,
  type RunOptions,
  rowsIn,
  runStageOnItems,
  type StrategyStep,
  targetOf,
  tokensIn,
} from './run-strategy.ts'

/** Default maximum tokens of a summary of an array. */
const SUMMARY_TOKENS = 1_024

/** How a summary is rendered without a preset: a system message that contains only its text. */
const PLAIN_STYLE = { role: 'system', before: '', after: '', place: 'inline' } as const

const PRESETS = Object.keys(SUMMARY_STYLES) as [SummaryPreset, ...SummaryPreset[]]

/** The options that every strategy has besides its own. */
export const strategyShape = {
  /** Compaction is due when the messages take more than this many tokens. Default: never. */
  maxTokens: z.int().nonnegative().optional(),
  /** The name of an estimator, an estimator of your own, or the result of `createTokenCounter`. Default "neurolink". */
  estimator: estimatorChoiceSchema.optional(),
  /** The provider for which tokens are counted. Default: none. */
  provider: z.string().optional(),
}
/** The options of strategies that summarize over arrays. In a store, the store's settings apply. */
export const summaryShape = {
  /** The summarizer. Default: the extractive one, which needs no model. */
  summarizer: summarizerSchema.optional(),
  /** The role of a summary and the text around it. Default: `system` without text around it. */
  summaryPreset: z.enum(PRESETS).optional(),
  /** Maximum tokens of a summary. Default 1,024. */
  summaryMaxTokens: z.int().positive().optional(),
  /** Titles of the requested sections. Default: `SUMMARY_SECTIONS`. */
  summarySections: z.array(z.string().min(1)).min(1).readonly().optional(),
  /** Milliseconds for one summary. Default 120,000. */
  summaryTimeoutMs: z.int().positive().optional(),
}

const strategySchema = z.strictObject({ ...strategyShape, ...summaryShape })
/** The options that all strategies share. */
export type StrategyOptions = z.input<typeof strategySchema>

/** The budget of a strategy: tokens, or the result of `contextBudget`. */
export type StrategyBudget =
  | number
  | {
      readonly availableForHistory: number
      /** Tokens reserved for a system prompt; added to the budget if the messages begin with one. */
      readonly reservedSystem?: number
    }
const budgetSchema = z.union([
  z.number().nonnegative(),
  z.looseObject({
    availableForHistory: z.number().nonnegative(),
    reservedSystem: z.number().nonnegative().optional(),
  }),
])

/** The result of a strategy over an array. Figures are in tokens of its estimator. */
export type StrategyResult = {
  /** The messages to send, in order: a new list of new objects. */
  readonly messages: ChatMessage[]
  /** Indexes in the given array, ascending, of the visible messages that aren't sent. */
  readonly hidden: number[]
  /** Whether the messages still exceed the budget, because the messages that always stay, or a single turn, are too large. */
  readonly overBudget: boolean
  readonly tokensBefore: number
  readonly tokensAfter: number
  /** One entry for each applied strategy, in order; empty if everything fit. */
  readonly steps: StrategyStep[]
  /** The summaries in `messages`, each with the indexes of the messages that it replaces. */
  readonly summaries: { readonly text: string; readonly positions: readonly number[] }[]
}

/** The methods of a strategy over plain arrays. */
export type ArrayFace = {
  /** Tokens above which `shouldCompact` returns true. */
  readonly maxTokens: number | undefined
  /** The summarizer in its options. */
  readonly summarizer: Summarizer | undefined
  /** Returns the tokens of the visible messages, rounded up. Throws `INVALID_INPUT`. */
  tokenEstimate(messages: readonly ChatMessage[]): number
  /** Returns whether `tokenCount` is greater than `maxTokens`. */
  shouldCompact(messages: readonly ChatMessage[], tokenCount: number): boolean
  /**
   * Applies the strategy, whatever the size of the messages, and returns the remaining messages. `targetTokens` (default `maxTokens`) is
   * the target of strategies that count tokens. The given array and its objects aren't changed.
   *
   * Rejects with `SUMMARIZER_FAILED`, `STRATEGY_FAILED` (from a strategy of your own within it) and `INVALID_INPUT`.
   */
  compact(messages: readonly ChatMessage[], targetTokens?: number): Promise<ChatMessage[]>
  /**
   * Makes the messages fit a budget as far as the strategy can; does nothing if they already fit. A summary that isn't smaller than its
   * source is rejected, and those messages stay. Rejects with the same errors as `compact`.
   */
  apply(messages: readonly ChatMessage[], budget: StrategyBudget): Promise<StrategyResult>
}

/** A stage for `compactSession` that also works over plain arrays. It keeps no state. */
export type Strategy<S extends Stage = Stage> = S & ArrayFace

type StrategyTraits = {
  /** Returns the final form of a message that the stage changed; `undefined` removes the message. For stages that only replace. */
  readonly finish?: (message: ChatMessage, before: ChatMessage) => ChatMessage | undefined
  /** Whether the strategy needs a target size. Default false. */
  readonly needsTarget?: boolean
}

/** Gives a stage the methods over plain arrays. Fields of `options` that belong to the stage are ignored. */
export function strategyOf<S extends Stage>(
  stage: S,
  options: StrategyOptions,
  { finish, needsTarget = false }: StrategyTraits = {},
): Strategy<S> {
  const { name } = stage
  const { maxTokens, summarizer } = options
  const given = givenOptions(options)
  const own = { ...DEFAULT_OPTIONS, ...given, what: name }
  const itemsIn = (messages: readonly ChatMessage[]): Item[] => {
    requireMessages(messages, name)
    return itemsOf(messages)
  }
  // Within a composite, the composite's options are the defaults.
  const pass = async (items: readonly Item[], outer: ArrayRun): Promise<readonly Item[]> => {
    const run = { ...outer, ...given }
    if (needsTarget) targetOf(run)
    const after = await runStageOnItems(items, stage, run)
    if (finish === undefined) return after
    return after.flatMap((item, at) => {
      const before = items[at]!.message
      const message = item.message === before ? before : finish(item.message, before)
      return message === undefined ? [] : [{ ...item, message }]
    })
  }
  const face: ArrayFace = {
    maxTokens,
    summarizer,
    tokenEstimate: (messages) => tokensIn(itemsIn(messages), own),
    shouldCompact: (_messages, tokenCount) => maxTokens !== undefined && tokenCount > maxTokens,
    async compact(messages, targetTokens) {
      const target =
        check(z.number().nonnegative().optional(), targetTokens, `${name}: targetTokens`) ?? maxTokens
      const items = await pass(itemsIn(messages), { ...own, target, mustShrink: false })
      return messagesOf(items).map(copyMessage)
    },
    async apply(messages, budget) {
      const items = itemsIn(messages)
      const target = tokensOfBudget(budget, items, own)
      const tokensBefore = tokensIn(items, own)
      const steps: StrategyStep[] = []
      const isOver = tokensBefore > target
      const after = isOver ? await pass(items, { ...own, target, mustShrink: true, steps }) : items
      const tokensAfter = tokensIn(after, own)
      if (isOver && !('stages' in stage)) steps.push({ name, tokensBefore, tokensAfter })
      const kept = new Set(after.flatMap(({ origins, summary }) => (summary === undefined ? origins : [])))
      return {
        messages: messagesOf(after).map(copyMessage),
        hidden: items.flatMap(({ origins }) => origins.filter((origin) => !kept.has(origin))),
        overBudget: tokensAfter > target,
        tokensBefore,
        tokensAfter,
        steps,
        summaries: after.flatMap(({ summary: text, origins: positions }) =>
          text === undefined ? [] : [{ text, positions }],
        ),
      }
    },
  }
  return Object.assign({}, markBuiltIn(stage), face, { [PASSING]: pass })
}

/** Returns the tokens that a budget leaves for these messages. A system prompt as the first message isn't counted twice. */
function tokensOfBudget(budget: StrategyBudget, items: readonly Item[], own: Counting): number {
  const checked = check(budgetSchema, budget, `${own.what}: budget`)
  if (typeof checked === 'number') return checked
  const { availableForHistory, reservedSystem = 0 } = checked
  const first = items.slice(0, 1)
  if (reservedSystem === 0 || first[0]?.message.role !== 'system') return availableForHistory
  const { view } = rowsIn(first, own)
  return availableForHistory + Math.min(reservedSystem, view.tokensOfRows(view.rows))
}

/** Returns the given options of a strategy in the form of a run's options. */
function givenOptions({ estimator, summaryPreset, ...options }: StrategyOptions): Partial<RunOptions> {
  return {
    ...pick(options, ['provider', 'summarizer', 'summaryMaxTokens', 'summarySections', 'summaryTimeoutMs']),
    ...(estimator !== undefined && { estimator: arrayEstimator(estimator) }),
    ...(summaryPreset !== undefined && { style: SUMMARY_STYLES[summaryPreset] }),
  } as Partial<RunOptions>
}

const DEFAULT_OPTIONS: RunOptions = {
  estimator: arrayEstimator(undefined),
  provider: '',
  summarizer: extractiveSummarizer,
  style: PLAIN_STYLE,
  summaryMaxTokens: SUMMARY_TOKENS,
  summarySections: SUMMARY_SECTIONS,
  summaryTimeoutMs: SUMMARY_TIMEOUT_MS,
}

/** Returns the options that belong to the stage of a strategy, according to its shape. */
function stageOptions<T extends object, K extends keyof T>(
  options: T,
  shape: { readonly [name in K]: unknown },
): Pick<T, K> {
  return pick(options, Object.keys(shape) as K[])
}

/** The kinds of strategies that a configuration may select. */
export const STRATEGY_KINDS = ['sliding_window', 'sliding_window_with_summary', 'priority_based'] as const
/** A kind of strategy of `createStrategy`. */
export type ContextStrategyKind = (typeof STRATEGY_KINDS)[number]

/** Options of `createStrategy`. */
export type CreateStrategyOptions = StrategyOptions

const MAKERS: { readonly [K in ContextStrategyKind]: (options: CreateStrategyOptions) => Strategy } = {
  sliding_window: ({ maxTokens, estimator, provider }) =>
    slidingWindow({ fitBudget: true, keepNewest: 'nothing', maxTokens, estimator, provider }),
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
 * Creates a strategy of a kind. The default "sliding_window" keeps the newest messages that fit; "sliding_window_with_summary" without a
 * `summarizer` is the same, including the name. The result of `apply` fits the budget unless the system messages alone are too large: even
 * the newest message may be dropped, and a summary that doesn't fit is omitted. Throws `INVALID_INPUT`.
 */
export function createStrategy(
  kind: ContextStrategyKind = 'sliding_window',
  options: CreateStrategyOptions = {},
): Strategy {
  const checked = check(z.enum(STRATEGY_KINDS), kind, 'createStrategy: kind')
  return MAKERS[checked](check(strategySchema, options, 'createStrategy'))
}

const dropReasoningSchema = z.strictObject({ ...dropReasoningShape, ...strategyShape })
/** Options of `dropReasoning`. */
export type DropReasoningOptions = z.input<typeof dropReasoningSchema>

/**
 * Removes the reasoning of turns before the newest `keepTurns` (1), including signatures and redacted reasoning. Only finished tool loops
 * are changed, each as a whole.
 *
 * Returns a stage for `compactSession` that is also a strategy over plain arrays. Throws `INVALID_INPUT`.
 */
export function dropReasoning(options: DropReasoningOptions = {}): Strategy {
  const checked = check(dropReasoningSchema, options, 'dropReasoning')
  const stage = dropReasoningStage(stageOptions(checked, dropReasoningShape))
  return strategyOf(stage, checked, { finish: withoutEmptied })
}

/** An array has no part indexes to preserve, so emptied reasoning parts, and messages that consist only of them, are removed. */
function withoutEmptied(after: ChatMessage, before: ChatMessage): ChatMessage | undefined {
  const [was, is] = [before.content, after.content]
  if (!Array.isArray(was) || !Array.isArray(is)) return after
  const content = (is as readonly Part[]).filter(
    (part, at) => !(isReasoning(was[at]) && 'text' in part && part.text === ''),
  )
  return content.length === 0 && is.length > 0 ? undefined : { ...after, content }
}

const clearToolResultsSchema = z.strictObject({ ...clearToolResultsShape, ...strategyShape })
/** Options of `clearToolResults`. */
export type ClearToolResultsOptions = z.input<typeof clearToolResultsSchema>

/**
 * Replaces all tool results except the newest `keep` with "[tool result cleared]". Nothing else changes. In an array, a cleared result is
 * no longer marked as failed; in a store it still is, because only its text is replaced.
 *
 * Returns a stage for `compactSession` that is also a strategy over plain arrays. Throws `INVALID_INPUT`.
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

/** Returns a replaced part without its failure mark. */
function clearedPart(part: Part): Part {
  if (part.type !== 'tool-result' || !isFailed(part.output)) return part
  return { ...part, output: { type: 'text', value: outputText(part.output) } }
}

const prioritySchema = z.strictObject({ ...priorityShape, ...strategyShape })
/** Options of `priority`. */
export type PriorityOptions = z.input<typeof prioritySchema>

/**
 * Keeps the highest-scoring messages that fit the budget. A call and its results are one unit with the score of the call. System and pinned
 * messages, pending calls, active summaries and the newest turn always stay.
 *
 * Returns a stage for `compactSession` that is also a strategy over plain arrays. Throws `INVALID_INPUT`.
 */
export function priority(options: PriorityOptions = {}): Strategy {
  const checked = check(prioritySchema, options, 'priority')
  return strategyOf(priorityStage(stageOptions(checked, priorityShape)), checked, { needsTarget: true })
}

const summarizeOlderSchema = z.strictObject({ ...summarizeOlderShape, ...strategyShape, ...summaryShape })
/** Options of `summarizeOlder`. */
export type SummarizeOlderOptions = z.input<typeof summarizeOlderSchema>

/**
 * Replaces all messages except the newest `keepLast` with a summary. System messages stay in their places and aren't counted. Without older
 * messages the summarizer isn't called.
 *
 * Returns a stage for `compactSession` that is also a strategy over plain arrays. Throws `INVALID_INPUT`.
 */
export function summarizeOlder(options: SummarizeOlderOptions): Strategy {
  const checked = check(summarizeOlderSchema, options, 'summarizeOlder')
  return strategyOf(summarizeOlderStage(stageOptions(checked, summarizeOlderShape)), checked)
}

const slidingWindowSchema = z.strictObject({ ...slidingWindowShape, ...strategyShape, ...summaryShape })
/** Options of `slidingWindow`. */
export type SlidingWindowOptions = z.input<typeof slidingWindowSchema>

/**
 * Keeps the newest messages: the newest `last`, not counting system messages, or, with `fitBudget: true`, the newest that fit the budget.
 * System and pinned messages, pending calls and active summaries always stay; a call and its results are never separated. With `summarize:
 * true`, a summary replaces the removed messages, and the name is `sliding_window_with_summary`.
 *
 * Returns a stage for `compactSession` that is also a strategy over plain arrays. Throws `INVALID_INPUT`.
 */
export function slidingWindow(options: SlidingWindowOptions): Strategy {
  const checked = check(slidingWindowSchema, options, 'slidingWindow')
  const stage = slidingWindowStage(stageOptions(checked, slidingWindowShape))
  return strategyOf(stage, checked, {
    needsTarget: checked.fitBudget === true || checked.shrinkToFit === true,
  })
}
