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
import { type Estimator, estimatorSchema } from './estimators/estimator-schema.ts'
import { ESTIMATOR_NAMES, estimatorNamed, neurolinkEstimator } from './measure.ts'
import {
  canonicalProvider,
  compactsHistory,
  contextManagementTypes,
  isKnownProvider,
  providerProfile,
} from './providers.ts'
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
 * All figures and rules that depend on the model of a request, each with its source. The planner and the stats use the same functions, so
 * a profile describes their behavior.
 */

/**
 * The source of a figure: the caller (`override`), an overflow error (`learned`), a session's or a store's table, the package or the
 * registry of windows, the provider's rules, the estimator, a share of the available tokens (`share`), its maximum (`most`) or minimum
 * (`least`), or no source.
 */
export type FigureSource = 'override' | WindowSource | 'provider' | 'estimator' | ScaleSource

/** A figure with its source. */
export type Figure<T> = { readonly value: T; readonly source: FigureSource }

/** The properties of a model. Figures are in tokens unless stated otherwise. */
export type ModelProfile = {
  /** The provider and the matching entry of the table: `openai/gpt-4o` for gpt-4o-2024-08-06; `default` for an unknown model. */
  readonly name: string
  /** The provider's canonical name. */
  readonly provider: string
  readonly model?: string
  /** The context window: input and output together. */
  readonly contextWindow: Figure<number>
  /** The limit of the input alone, if known. */
  readonly inputLimit?: Figure<number>
  readonly outputReserve: Figure<number>
  /** The available input: the window minus the reserve, and at most the input limit. */
  readonly availableInputTokens: number
  /** The name of the estimator. */
  readonly estimator: Figure<string>
  /** UTF-16 units of plain English prose per estimated token, before multiplier and margin. */
  readonly charactersPerToken: Figure<number>
  /** The estimator's factor for this provider. */
  readonly multiplier: Figure<number>
  /** The estimator's margin against underestimating, as a factor. */
  readonly margin: Figure<number>
  /** The usage at which compaction is due, 0 to 1. */
  readonly threshold: Figure<number>
  /** The share of the available input to which a compaction reduces the request. */
  readonly target: Figure<number>
  /** The target in tokens, if only the history is sent. */
  readonly targetTokens: Figure<number>
  readonly keepRecentTokens: Figure<number>
  readonly pruneProtectTokens: Figure<number>
  readonly pruneMinimumSavings: Figure<number>
  readonly summaryMaxTokens: Figure<number>
  /** Roles that may occur after other messages in the list. */
  readonly roles: Figure<readonly Role[]>
  /** Whether user and assistant must alternate. */
  readonly strictAlternation: Figure<boolean>
  /** Whether the first message must be the user's. */
  readonly firstMustBeUser: Figure<boolean>
  /** Whether every call needs a result, and every result a call. */
  readonly toolPairing: Figure<boolean>
  /** The types of `context_management` that the server supports. */
  readonly contextManagement: Figure<readonly string[]>
  /** Whether one of these types summarizes. */
  readonly serverCompacts: Figure<boolean>
}

const tokens = z.int().nonnegative()
/** The caller's overrides. An unknown name is an error. */
const overridesSchema = z.strictObject({
  /** With `neurolink`, NeuroLink's table of windows takes precedence. */
  preset: z.enum(['default', 'neurolink']).optional(),
  /** The window of this model. */
  contextWindow: z.int().positive().optional(),
  /** A table like the one of `openStore`: by provider, and by model with `_default`. */
  contextWindows: contextWindowsSchema.optional(),
  inputLimit: z.int().positive().optional(),
  /** The requested output, which sets the output reserve. */
  maxOutputTokens: tokens.optional(),
  /** An estimator, or the name of a built-in one. Default "neurolink"; stores use the estimators of their sessions. */
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
/** Values that replace those of a model profile. */
export type ModelOverrides = z.input<typeof overridesSchema>

/**
 * Returns the profile of a model: its window from the caller's figures, or else from the tables of this package, or else 128,000; the
 * rest from the provider and the available input. Any name of a provider is accepted. Throws `INVALID_INPUT`.
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

/** The inputs of a profile. */
export type ProfileSubject = {
  /** The provider's canonical name. */
  readonly provider: string
  readonly model: string | undefined
  readonly contextWindow: ContextWindow
  readonly learnedInput: number | undefined
  readonly estimator: Estimator
  readonly estimatorSource: FigureSource
  readonly overrides: Omit<z.output<typeof overridesSchema>, 'contextWindows' | 'estimator' | 'preset'>
  /** Whether the store's table was given by the caller. */
  readonly isTableGiven: boolean
}

/** Returns the profile of a model with a known window. */
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
  const available = Math.max(0, availableInput(contextWindow.value, given.maxOutputTokens, inputLimit?.value))
  const target = given.target ?? DEFAULT_COMPACTION_TARGET
  const targetTokens = given.targetTokens ?? Math.floor(target * available)
  const types = contextManagementTypes(provider, model)
  return {
    name: nameOf(subject),
    provider,
    ...(model !== undefined && { model }),
    contextWindow,
    ...(inputLimit !== undefined && { inputLimit }),
    outputReserve: reserveFigure(contextWindow.value, given.maxOutputTokens),
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

function reserveFigure(contextWindow: number, maxOutputTokens: number | undefined): Figure<number> {
  const isMost = contextWindow * DEFAULT_OUTPUT_RESERVE_RATIO > MAX_DEFAULT_OUTPUT_RESERVE
  return figure(maxOutputTokens, getOutputReserve(contextWindow), isMost ? 'most' : 'share')
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

/** Returns the provider's rules for a history. */
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
    // No provider accepts a call without its result: `validateHistory` requires pairs for all providers.
    toolPairing: figure(given.toolPairing, true, source),
  }
}

/** Plain English prose, 240 characters, from which the characters per token are computed. */
const PROSE =
  'When the meeting was over she walked back along the river and thought about the plan again. It had seemed simple enough in the morning, but now there were more open questions than before, and none could say who would have to reply to all...'
/** A number of tokens at which rounding is negligible. */
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
