import { z } from 'zod'
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
  type RunOptions,
  runStageOnItems,
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

const optionsSchema = z.strictObject({ ...strategyShape, ...summaryShape })
/** Options of the array face, as they come from a factory. */
export type StrategyOptions = z.input<typeof optionsSchema>
type CheckedOptions = z.output<typeof optionsSchema>

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
export type StrategyStep = {
  readonly name: string
  readonly tokensBefore: number
  readonly tokensAfter: number
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

/** What messages are after a strategy, and what it did on the way. */
type Passed = { readonly items: readonly Item[]; readonly steps: readonly StrategyStep[] }
/** How messages pass through a strategy once. */
export type Passing = (items: readonly Item[], run: ArrayRun, options: RunOptions) => Promise<Passed>

/** Where a strategy of ours keeps its way of passing, for composites. */
const PASSING = Symbol('undertext.passing')

/** A strategy's passing, within another whose options count where it was told nothing. */
type PassingWithin = (items: readonly Item[], run: ArrayRun, outer?: RunOptions) => Promise<Passed>

/** How messages pass through a strategy of ours, with the options it was made with; `undefined` for anything else. */
export function passingOf(value: object): PassingWithin | undefined {
  return (value as { readonly [PASSING]?: PassingWithin })[PASSING]
}

/** What a stage needs besides its options, to be a strategy. */
type StrategyTraits = {
  /** How messages go through it. Default: as the stage plans. */
  readonly passing?: Passing
  /** Whether it cannot work without knowing how many tokens there are to come down to. Default false. */
  readonly needsTarget?: boolean
}

/** Gives a stage the face over plain arrays. Throws `INVALID_INPUT`. */
export function strategyOf<S extends Stage>(
  stage: S,
  options: StrategyOptions,
  { passing = stagePassing(stage), needsTarget = false }: StrategyTraits = {},
): Strategy<S> {
  const { name } = stage
  const checked = check(optionsSchema, options, name)
  const { maxTokens } = checked
  const resolved = resolve(checked)
  const estimate = (items: readonly Item[]): number => tokensIn(items, resolved, name)
  const itemsIn = (messages: readonly ChatMessage[]): Item[] => {
    requireMessages(messages, name)
    return itemsOf(messages)
  }
  const pass: PassingWithin = async (items, run, outer) => {
    if (needsTarget) targetOf(run)
    return passing(items, run, outer === undefined ? resolved : resolve(checked, outer))
  }
  const face: ArrayFace = {
    maxTokens,
    summarizer: checked.summarizer,
    tokenEstimate: (messages) => estimate(itemsIn(messages)),
    shouldCompact: (_messages, tokenCount) => maxTokens !== undefined && tokenCount > maxTokens,
    async compact(messages, targetTokens) {
      const target =
        check(z.number().nonnegative().optional(), targetTokens, `${name}: targetTokens`) ?? maxTokens
      const { items } = await pass(itemsIn(messages), { target, mustShrink: false, what: name })
      return messagesOf(items).map(copyMessage)
    },
    async apply(messages, budget) {
      const items = itemsIn(messages)
      const target = tokensOfBudget(budget, items, resolved, name)
      const tokensBefore = estimate(items)
      const passed =
        tokensBefore <= target
          ? { items, steps: [] }
          : await pass(items, { target, mustShrink: true, what: name })
      return resultOf(items, passed, tokensBefore, estimate(passed.items), target)
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

/** Messages go through as a stage plans. */
export function stagePassing(stage: Stage): Passing {
  return async (items, run, options) => {
    const after = await runStageOnItems(items, stage, run, options)
    return { items: after, steps: [stepFrom(stage.name, items, after, options)] }
  }
}

/** The figures of one strategy that was applied. */
export function stepFrom(
  name: string,
  before: readonly Item[],
  after: readonly Item[],
  options: RunOptions,
): StrategyStep {
  return {
    name,
    tokensBefore: tokensIn(before, options, name),
    tokensAfter: tokensIn(after, options, name),
  }
}

function resultOf(
  before: readonly Item[],
  { items, steps }: Passed,
  tokensBefore: number,
  tokensAfter: number,
  target: number,
): StrategyResult {
  const kept = new Set(items.map(({ origin }) => origin))
  return {
    messages: messagesOf(items).map(copyMessage),
    hidden: before.flatMap((item) => (kept.has(item.origin) ? [] : originsOf(item))),
    overBudget: tokensAfter > target,
    tokensBefore,
    tokensAfter,
    steps: [...steps],
    summaries: items.flatMap(({ summary }) => summary ?? []),
  }
}

/** Options with everything filled in: from those of the strategy around it, where it stands in one, else by default. */
function resolve(options: CheckedOptions, outer: RunOptions = DEFAULT_OPTIONS): RunOptions {
  const { estimator, summaryPreset } = options
  return {
    estimator: estimator === undefined ? outer.estimator : arrayEstimator(estimator),
    provider: options.provider ?? outer.provider,
    summarizer: options.summarizer ?? outer.summarizer,
    manner: summaryPreset === undefined ? outer.manner : MANNERS[summaryPreset],
    summaryMaxTokens: options.summaryMaxTokens ?? outer.summaryMaxTokens,
    summarySections: options.summarySections ?? outer.summarySections,
    summaryTimeoutMs: options.summaryTimeoutMs ?? outer.summaryTimeoutMs,
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

/** Splits the options of a factory: those of its stage, by name, and those of the face over arrays. */
export function split<T extends object, K extends keyof T>(
  options: T,
  names: readonly K[],
): [Pick<T, K>, Omit<T, K>] {
  const own: Partial<T> = {}
  const rest: Partial<T> = {}
  for (const [name, value] of Object.entries(options) as [keyof T, T[keyof T]][]) {
    if (value === undefined) continue
    if ((names as readonly (keyof T)[]).includes(name)) own[name] = value
    else rest[name] = value
  }
  return [own as Pick<T, K>, rest as Omit<T, K>]
}

/** The names in a shape. */
export function shapeKeys<S extends object>(shape: S): (keyof S)[] {
  return Object.keys(shape) as (keyof S)[]
}
