import { z } from 'zod'
import { pick } from '../config/resolve.ts'
import { SUMMARY_TIMEOUT_MS } from '../config/settings.ts'
import { check } from '../messages/check.ts'
import { type ChatMessage, requireMessages } from '../model/message-parts.ts'
import { MANNERS, type SummaryPreset } from '../rendering/rows.ts'
import { ours, type Stage } from '../stages/stage.ts'
import { extractiveSummarizer } from '../summarizers/extractive.ts'
import { SUMMARY_SECTIONS, type Summarizer, summarizerSchema } from '../summarizers/summarizer.ts'
import { arrayEstimator, estimatorChoiceSchema } from './array-estimator.ts'
import { rowsOf } from './rows.ts'
import {
  type ArrayRun,
  copyMessage,
  type Item,
  itemsOf,
  messagesOf,
  originsOf,
  PASSING,
  type RunOptions,
  runStageOnItems,
  type StrategyStep,
  targetOf,
  tokensIn,
} from './run-strategy.ts'

/** Most tokens of a summary over an array. Source: seed 000 (golden NSM-01). */
const STRATEGY_SUMMARY_TOKENS = 1_024

/** How a summary looks without a preset: a system message of its text alone. */
const PLAIN_MANNER = { role: 'system', before: '', after: '', place: 'inline' } as const

const PRESETS = Object.keys(MANNERS) as [SummaryPreset, ...SummaryPreset[]]

/** What every strategy can be told besides its own options. */
export const strategyShape = {
  /** Compaction is due when the messages take more than this many tokens. Default: never. */
  maxTokens: z.int().nonnegative().optional(),
  /** What counts: the name of an estimator, one of your own, or a `createTokenCounter`. Default "neurolink". */
  estimator: estimatorChoiceSchema.optional(),
  /** Provider the tokens are counted for. Default: none. */
  provider: z.string().optional(),
}
/** What strategies that summarize can be told besides. */
export const summaryShape = {
  /** Who writes summaries of arrays. Default: the extractive one, which needs no model. In a store the store's does. */
  summarizer: summarizerSchema.optional(),
  /** Role and words around a summary in an array, as a system of the founding documents has them. Default: system, none. */
  summaryPreset: z.enum(PRESETS).optional(),
  /** Most tokens of a summary of an array. Default 1,024 (seed 000). */
  summaryMaxTokens: z.int().positive().optional(),
  /** Titles of the sections asked for. Default: the ten. */
  summarySections: z.array(z.string().min(1)).min(1).readonly().optional(),
  /** How long a summarizer may take for one summary, milliseconds. Default 120,000. */
  summaryTimeoutMs: z.int().positive().optional(),
}

/** Without options of its own; also what `createStrategy` accepts. */
export const strategySchema = z.strictObject({ ...strategyShape, ...summaryShape })
/** Options of the array face, as they come from a factory. */
export type StrategyOptions = z.input<typeof strategySchema>

/** What a strategy may be told to fit: tokens, or what `contextBudget` found. */
export type StrategyBudget =
  | number
  | {
      readonly availableForHistory: number
      /** Of it, what was set aside for a system prompt: given back when the messages begin with one (S1-U14). */
      readonly reservedSystem?: number
    }
const budgetSchema = z.union([
  z.number().nonnegative(),
  z.looseObject({
    availableForHistory: z.number().nonnegative(),
    reservedSystem: z.number().nonnegative().optional(),
  }),
])

/** What a strategy did to an array. Figures are tokens of its estimator. */
export type StrategyResult = {
  /** What is to be sent: a new list of new objects, in order. */
  readonly messages: ChatMessage[]
  /** Indexes, in the array given, of the messages that were visible and are not sent, ascending. */
  readonly hidden: number[]
  /** Whether they take more than the budget all the same: what stays always, or one turn, is too large (S1-U13). */
  readonly overBudget: boolean
  readonly tokensBefore: number
  readonly tokensAfter: number
  /** One figure for each strategy that was applied, in order; none when everything fitted. */
  readonly steps: StrategyStep[]
  /** The summaries in `messages`, and the indexes of the messages each stands for. */
  readonly summaries: { readonly text: string; readonly standsFor: readonly number[] }[]
}

/** The face of a strategy over plain arrays: what seeds 000 and 001 describe. */
export type ArrayFace = {
  /** Tokens above which `shouldCompact` says yes. */
  readonly maxTokens: number | undefined
  /** Who writes its summaries of arrays, when it was told. */
  readonly summarizer: Summarizer | undefined
  /** Tokens of the visible messages, a whole number. Throws `INVALID_INPUT`. */
  tokenEstimate(messages: readonly ChatMessage[]): number
  /** Whether `tokenCount` is more than `maxTokens`; equal is not (seed 000). */
  shouldCompact(messages: readonly ChatMessage[], tokenCount: number): boolean
  /**
   * Acts by its rule, whatever the messages take, and answers what is left. `targetTokens` (default `maxTokens`) is what
   * rules that go by tokens aim at. The array given and its objects are not changed.
   *
   * Rejects, with nothing changed, with `SUMMARIZER_FAILED`, `STRATEGY_FAILED` (a strategy of your own within it) and
   * `INVALID_INPUT`.
   */
  compact(messages: readonly ChatMessage[], targetTokens?: number): Promise<ChatMessage[]>
  /**
   * Makes the messages fit a budget, if the rule can; does nothing when they fit. A summary that is no smaller than what
   * it stands for is not taken, and those messages stay. Rejects as `compact` does.
   */
  apply(messages: readonly ChatMessage[], budget: StrategyBudget): Promise<StrategyResult>
}

/** A way of making room: a stage for `compactSession`, and the same over plain arrays. It keeps no state. */
export type Strategy<S extends Stage = Stage> = S & ArrayFace

/** What a strategy needs besides its stage. */
type StrategyTraits = {
  /** The final form of a message that the stage changed; `undefined` removes it. For stages that only replace. */
  readonly finish?: (message: ChatMessage, before: ChatMessage) => ChatMessage | undefined
  /** Whether it cannot work without a target size. Default false. */
  readonly needsTarget?: boolean
}

/** Gives a stage the methods over plain arrays. Other fields of `options`, those of the stage, are ignored. */
export function strategyOf<S extends Stage>(
  stage: S,
  options: StrategyOptions,
  { finish, needsTarget = false }: StrategyTraits = {},
): Strategy<S> {
  const { name } = stage
  const { maxTokens, summarizer } = options
  const resolved = resolve(options)
  const estimate = (items: readonly Item[]): number => tokensIn(items, resolved, name)
  const itemsIn = (messages: readonly ChatMessage[]): Item[] => {
    requireMessages(messages, name)
    return itemsOf(messages)
  }
  const pass = async (
    items: readonly Item[],
    run: ArrayRun,
    outer?: RunOptions,
  ): Promise<readonly Item[]> => {
    if (needsTarget) targetOf(run)
    const after = await runStageOnItems(items, stage, run, resolve(options, outer))
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
    tokenEstimate: (messages) => estimate(itemsIn(messages)),
    shouldCompact: (_messages, tokenCount) => maxTokens !== undefined && tokenCount > maxTokens,
    async compact(messages, targetTokens) {
      const target =
        check(z.number().nonnegative().optional(), targetTokens, `${name}: targetTokens`) ?? maxTokens
      const items = await pass(itemsIn(messages), { target, mustShrink: false, what: name })
      return messagesOf(items).map(copyMessage)
    },
    async apply(messages, budget) {
      const items = itemsIn(messages)
      const target = tokensOfBudget(budget, items, resolved, name)
      const tokensBefore = estimate(items)
      const steps: StrategyStep[] = []
      const isOver = tokensBefore > target
      const after = isOver ? await pass(items, { target, mustShrink: true, what: name, steps }) : items
      const tokensAfter = estimate(after)
      if (isOver && !('stages' in stage)) steps.push({ name, tokensBefore, tokensAfter })
      const kept = new Set(after.map(({ origin }) => origin))
      return {
        messages: messagesOf(after).map(copyMessage),
        hidden: items.flatMap((item) => (kept.has(item.origin) ? [] : originsOf(item))),
        overBudget: tokensAfter > target,
        tokensBefore,
        tokensAfter,
        steps,
        summaries: after.flatMap(({ summary }) => summary ?? []),
      }
    },
  }
  return Object.assign({}, ours(stage), face, { [PASSING]: pass })
}

/** The tokens a budget leaves for these messages. A system prompt that stands first among them is not counted twice. */
function tokensOfBudget(
  budget: StrategyBudget,
  items: readonly Item[],
  { estimator, provider }: RunOptions,
  what: string,
): number {
  const checked = check(budgetSchema, budget, `${what}: budget`)
  if (typeof checked === 'number') return checked
  const { availableForHistory, reservedSystem = 0 } = checked
  const first = messagesOf(items.slice(0, 1))
  if (reservedSystem === 0 || first[0]?.role !== 'system') return availableForHistory
  const { view } = rowsOf(first, provider, what, estimator)
  return availableForHistory + Math.min(reservedSystem, view.tokensOfRows(view.rows))
}

/** Options with defaults filled in: those of the strategy around it, if any. */
function resolve(options: StrategyOptions, outer: RunOptions = DEFAULT_OPTIONS): RunOptions {
  const { estimator, summaryPreset } = options
  const given = pick(options, [
    'provider',
    'summarizer',
    'summaryMaxTokens',
    'summarySections',
    'summaryTimeoutMs',
  ])
  return {
    ...outer,
    ...(given as Partial<RunOptions>),
    ...(estimator !== undefined && { estimator: arrayEstimator(estimator) }),
    ...(summaryPreset !== undefined && { manner: MANNERS[summaryPreset] }),
  }
}

const DEFAULT_OPTIONS: RunOptions = {
  estimator: arrayEstimator(undefined),
  provider: '',
  summarizer: extractiveSummarizer,
  manner: PLAIN_MANNER,
  summaryMaxTokens: STRATEGY_SUMMARY_TOKENS,
  summarySections: SUMMARY_SECTIONS,
  summaryTimeoutMs: SUMMARY_TIMEOUT_MS,
}

/** The options that belong to the stage of a strategy, by its shape. */
export function stageOptions<T extends object, K extends keyof T>(
  options: T,
  shape: { readonly [name in K]: unknown },
): Pick<T, K> {
  return pick(options, Object.keys(shape) as K[])
}
