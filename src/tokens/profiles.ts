import { z } from 'zod'
import { check, nameSchema, shareSchema } from '../messages/check.ts'
import { ROLES, type Role } from '../messages/message.ts'
import {
  DEFAULT_COMPACTION_TARGET,
  DEFAULT_COMPACTION_THRESHOLD,
  type ScaledFigures,
  type ScaleSource,
  scaledFigures,
  scaleSources,
} from './budget.ts'
import { ESTIMATOR_NAMES, estimatorNamed } from './estimators/built-in.ts'
import { type Estimator, estimatorSchema } from './estimators/estimator-schema.ts'
import {
  canonicalProvider,
  compactsHistory,
  contextManagementTypes,
  isKnownProvider,
  providerProfile,
} from './providers.ts'
import { neurolinkEstimator } from './tokens.ts'
import {
  availableInput,
  type ContextWindow,
  contextWindowsSchema,
  DEFAULT_OUTPUT_RESERVE_RATIO,
  getOutputReserve,
  MAX_DEFAULT_OUTPUT_RESERVE,
  registryOf,
  resolveContextWindow,
  type WindowSource,
} from './windows.ts'

/*
 * Everything that is decided by which model a request is for, in one place, each figure with where it comes from. The planner and
 * the stats work with the same functions, so a profile says what they do. Source: checklist F5.
 */

/**
 * Where a figure comes from: the caller (`override`), an overflow error (`learned`), a session's or a store's table, the package or the registry of
 * windows, what is known of the provider, the estimator, a share of what is available (`share`) or the `most` or `least` it may be, or nobody.
 */
export type FigureSource = 'override' | WindowSource | 'provider' | 'estimator' | ScaleSource

/** A figure and where it comes from. */
export type Figure<T> = { readonly value: T; readonly source: FigureSource }

/** What a model is taken to be. Figures are tokens where nothing else is said. */
export type ModelProfile = {
  /** Provider and entry of the table that decided: `openai/gpt-4o` for gpt-4o-2024-08-06; `default` for a model nobody knows. */
  readonly name: string
  /** The provider's one name. */
  readonly provider: string
  readonly model?: string
  /** Input and output together. */
  readonly contextWindow: Figure<number>
  /** The most the provider takes of input alone, where that is known. */
  readonly inputLimit?: Figure<number>
  readonly outputReserve: Figure<number>
  /** What a request may take: the window less the reserve, and no more than the input limit. */
  readonly availableInputTokens: number
  /** By its name. */
  readonly estimator: Figure<string>
  /** UTF-16 units of plain English prose that the estimator takes for a token, before multiplier and margin. */
  readonly charactersPerToken: Figure<number>
  /** How many times more tokens the estimator counts for this provider than for none. */
  readonly multiplier: Figure<number>
  /** The estimator's margin against underestimating, as a factor. */
  readonly margin: Figure<number>
  /** Usage at which compaction is due, 0 to 1. */
  readonly threshold: Figure<number>
  /** Share of the available input that a compaction brings the request down to. */
  readonly target: Figure<number>
  /** The same in tokens, when nothing but the history is sent. */
  readonly targetTokens: Figure<number>
  readonly keepRecentTokens: Figure<number>
  readonly pruneProtectTokens: Figure<number>
  readonly pruneMinimumSavings: Figure<number>
  readonly summaryMaxTokens: Figure<number>
  /** Roles that may stand behind other messages of the list. */
  readonly roles: Figure<readonly Role[]>
  /** Whether user and assistant must take turns. */
  readonly strictAlternation: Figure<boolean>
  /** Whether the first message must be the user's. */
  readonly firstMustBeUser: Figure<boolean>
  /** Whether every call needs its result, and every result its call. */
  readonly toolPairing: Figure<boolean>
  /** Types of `context_management` the server knows. */
  readonly contextManagement: Figure<readonly string[]>
  /** Whether one of them summarizes. */
  readonly serverCompacts: Figure<boolean>
}

const tokens = z.int().nonnegative()
/** What a caller knows better. A misspelled one is an error. */
const overridesSchema = z.strictObject({
  /** `neurolink`: the founding table of windows as it was printed comes first. */
  preset: z.enum(['default', 'neurolink']).optional(),
  /** The window of this very model. */
  contextWindow: z.int().positive().optional(),
  /** A table for others too, as `openStore` takes it: by provider, and by model with `_default`. */
  contextWindows: contextWindowsSchema.optional(),
  inputLimit: z.int().positive().optional(),
  /** Output asked for: the reserve. */
  maxTokens: tokens.optional(),
  /** One, or the name of a built-in one. Default "neurolink"; stores count with their sessions' own. */
  estimator: z.union([z.enum(ESTIMATOR_NAMES as [string]), estimatorSchema]).optional(),
  threshold: shareSchema.optional(),
  target: shareSchema.optional(),
  targetTokens: tokens.optional(),
  keepRecentTokens: tokens.optional(),
  pruneProtectTokens: tokens.optional(),
  pruneMinimumSavings: tokens.optional(),
  summaryMaxTokens: z.int().positive().optional(),
  roles: z.array(z.enum(ROLES)).optional(),
  strictAlternation: z.boolean().optional(),
  firstMustBeUser: z.boolean().optional(),
  toolPairing: z.boolean().optional(),
  contextManagement: z.array(z.string()).optional(),
})
export type ModelOverrides = z.input<typeof overridesSchema>

/**
 * The profile of a model: its window by the caller's figures, else the tables of this package, else 128,000;
 * everything else by the provider and by what the window leaves for input. A provider goes by any of its names. Throws `INVALID_INPUT`.
 */
export function resolveModelProfile(
  provider: string,
  model?: string,
  overrides: ModelOverrides = {},
): ModelProfile {
  const name = check(nameSchema, provider, 'resolveModelProfile: provider')
  const of = check(nameSchema.optional(), model, 'resolveModelProfile: model')
  const given = check(overridesSchema, overrides, 'resolveModelProfile')
  const { estimator, contextWindows } = given
  const counting = typeof estimator === 'string' ? estimatorNamed(estimator) : estimator
  return profileOf({
    provider: canonicalProvider(name),
    model: of,
    contextWindow: resolveContextWindow(
      canonicalProvider(name),
      of,
      { store: contextWindows },
      registryOf(given.preset ?? 'default'),
    ),
    learnedInput: undefined,
    estimator: counting ?? neurolinkEstimator,
    estimatorSource: estimator === undefined ? 'default' : 'override',
    overrides: given,
    isTableGiven: true,
  })
}

/** What a profile is made of. */
export type ProfileSubject = {
  /** The provider's one name. */
  readonly provider: string
  readonly model: string | undefined
  readonly contextWindow: ContextWindow
  readonly learnedInput: number | undefined
  readonly estimator: Estimator
  readonly estimatorSource: FigureSource
  readonly overrides: Omit<z.output<typeof overridesSchema>, 'contextWindows' | 'estimator' | 'preset'>
  /** Whether what comes from the store's table is the caller's own. */
  readonly isTableGiven: boolean
}

/** The profile of a model whose window is known already. */
export function profileOf(subject: ProfileSubject): ModelProfile {
  const { provider, model, overrides: given, learnedInput } = subject
  const found = windowFigure(subject)
  const contextWindow = given.contextWindow === undefined ? found : overridden(given.contextWindow)
  const inputLimit =
    given.inputLimit !== undefined
      ? overridden(given.inputLimit)
      : learnedInput !== undefined
        ? ({ value: learnedInput, source: 'learned' } as const)
        : undefined
  const available = Math.max(0, availableInput(contextWindow.value, given.maxTokens, inputLimit?.value))
  const target = given.target ?? DEFAULT_COMPACTION_TARGET
  const targetTokens = given.targetTokens ?? Math.floor(target * available)
  const types = contextManagementTypes(provider, model)
  return {
    name: nameOf(subject),
    provider,
    ...(model !== undefined && { model }),
    contextWindow,
    ...(inputLimit !== undefined && { inputLimit }),
    outputReserve: reserveFigure(contextWindow.value, given.maxTokens),
    availableInputTokens: available,
    ...countingFigures(subject),
    threshold: figure(given.threshold, DEFAULT_COMPACTION_THRESHOLD, 'default'),
    target: figure(given.target, DEFAULT_COMPACTION_TARGET, 'default'),
    targetTokens: figure(given.targetTokens, targetTokens, 'share'),
    ...stageFigures(given, available, targetTokens),
    ...formFigures(subject),
    contextManagement: figure(given.contextManagement, types, 'provider'),
    serverCompacts: {
      value: compactsHistory(given.contextManagement ?? types),
      source: given.contextManagement === undefined ? 'provider' : 'override',
    },
  }
}

function overridden<T>(value: T): Figure<T> {
  return { value, source: 'override' }
}

function figure<T>(given: T | undefined, value: T, source: FigureSource): Figure<T> {
  return given === undefined ? { value, source } : overridden(given)
}

function windowFigure({ contextWindow, isTableGiven }: ProfileSubject): Figure<number> {
  const { tokens: value, source } = contextWindow
  return { value, source: isTableGiven && source === 'store' ? 'override' : source }
}

function nameOf({ provider, model, contextWindow, overrides }: ProfileSubject): string {
  if (overrides.contextWindow !== undefined) return `${provider}/${model ?? '_default'}`
  const { source, entry } = contextWindow
  if (entry !== undefined) return `${provider}/${entry}`
  return source === 'default' ? 'default' : `${provider}/${model ?? '_default'}`
}

function reserveFigure(contextWindow: number, maxTokens: number | undefined): Figure<number> {
  const isMost = contextWindow * DEFAULT_OUTPUT_RESERVE_RATIO > MAX_DEFAULT_OUTPUT_RESERVE
  return figure(maxTokens, getOutputReserve(contextWindow), isMost ? 'most' : 'share')
}

function stageFigures(
  given: ProfileSubject['overrides'],
  available: number,
  targetTokens: number,
): { readonly [F in keyof ScaledFigures]: Figure<number> } {
  const scaled = scaledFigures(available, targetTokens)
  const sources = scaleSources(available)
  const scaledFigure = (name: keyof ScaledFigures): Figure<number> =>
    figure(given[name], scaled[name], sources[name])
  return {
    keepRecentTokens: scaledFigure('keepRecentTokens'),
    pruneProtectTokens: scaledFigure('pruneProtectTokens'),
    pruneMinimumSavings: scaledFigure('pruneMinimumSavings'),
    summaryMaxTokens: scaledFigure('summaryMaxTokens'),
  }
}

/** What the provider's form of a history asks for. */
function formFigures({
  provider,
  overrides: given,
}: ProfileSubject): Pick<ModelProfile, 'roles' | 'strictAlternation' | 'firstMustBeUser' | 'toolPairing'> {
  const { systemInside, strictAlternation, firstMustBeUser } = providerProfile(provider)
  const source = isKnownProvider(provider) ? 'provider' : 'default'
  return {
    roles: figure<readonly Role[]>(
      given.roles,
      systemInside ? ROLES : ROLES.filter((role) => role !== 'system'),
      source,
    ),
    strictAlternation: figure(given.strictAlternation, strictAlternation, source),
    firstMustBeUser: figure(given.firstMustBeUser, firstMustBeUser, source),
    // No provider takes a call without its result: validateHistory asks for pairs of all of them.
    toolPairing: figure(given.toolPairing, true, source),
  }
}

/** Plain English prose, 240 characters: how many of them make a token is what people mean by characters per token. */
const PROSE =
  'When the meeting was over she walked back along the river and thought about the plan again. It had seemed simple enough in the morning, but now there were more open questions than before, and none could say who would have to reply to all...'
/** Units of a text so long that rounding up shows no more. */
const MANY_TOKENS = 1_000_000

type Counting = Pick<ModelProfile, 'charactersPerToken' | 'multiplier' | 'margin'>

function countingFigures({
  estimator,
  estimatorSource: source,
  provider,
}: ProfileSubject): Counting & Pick<ModelProfile, 'estimator'> {
  const units = MANY_TOKENS * (estimator.unitsPerToken ?? 1)
  const plain = estimator.toTokens(units)
  const of = (value: number): Figure<number> => ({ value: rounded(value), source: 'estimator' })
  return {
    estimator: { value: estimator.name, source },
    charactersPerToken: of((PROSE.length * (estimator.unitsPerToken ?? 1)) / estimator.measureText(PROSE)),
    multiplier: of(plain === 0 ? 1 : estimator.toTokens(units, provider) / plain),
    margin: of(plain / MANY_TOKENS),
  }
}

function rounded(value: number): number {
  return Math.round(value * 10_000) / 10_000
}
