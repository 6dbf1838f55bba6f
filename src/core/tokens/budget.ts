import { z } from 'zod'
import { type ContextBudgetFacts, invalid } from '../errors.ts'
import { check, readable, shareSchema } from '../messages/check.ts'
import { isObject } from '../messages/json.ts'
import type { Part } from '../messages/message.ts'
import { type Estimate, expectedTokens, type FixedPart, type Outlook, PLAIN_OUTLOOK } from './calibration.ts'
import type { Estimator } from './estimators/estimator-schema.ts'
import {
  estimateMessagesTokens,
  estimateToolDefinition,
  neurolinkEstimator,
  tokensOfText,
} from './measure.ts'
import { pendingMediaSchema } from './media-limits.ts'
import { canonicalProvider } from './providers.ts'
import { type ToolSet, toolsSchema } from './tool-definitions.ts'
import { availableInput, getContextWindowSize } from './windows.ts'

/** Fractions and limits of settings that scale with the window. */
const PRUNE_PROTECT_SHARE = 0.25
const PRUNE_MINIMUM_SHARE = 0.1
const SUMMARY_SHARE = 0.05
const MIN_SUMMARY_TOKENS = 500
const MAX_SUMMARY_TOKENS = 4_000
/**
 * Offline summaries take six tenths of a target of up to 48,000 tokens, and a tenth of the rest, at most 16,000 more. The facts of a
 * session grow more slowly than the session, but each merge loses some of them, and a larger summary fewer (measured: docs/summaries.md).
 */
const SUMMARY_ROOM_SHARE = 0.6
/** The share of the first 48,000 tokens if the tail needs less than its room, because its groups stay whole. */
const OFFLINE_MAX_SHARE = 0.9
const OFFLINE_FULL_TARGET = 48_000
const OFFLINE_MORE_SHARE = 0.1
const OFFLINE_MORE_TOKENS = 16_000

/** The settings of the stages that scale with the window, in tokens. */
export type ScaledFigures = {
  readonly pruneProtectTokens: number
  readonly pruneMinimumSavings: number
  /** The part of the target that a model's summary leaves. */
  readonly keepRecentTokens: number
  readonly summaryMaxTokens: number
}

/** How a figure is determined: as a share of the available tokens, or by its maximum or minimum. */
export type ScaleSource = 'share' | 'most' | 'least'

/**
 * Returns the defaults of the stages, for planning and profiles alike. `availableTokens` is the available input, `targetTokens` the
 * target size of the history.
 */
export function scaledFigures(availableTokens: number, targetTokens: number): ScaledFigures {
  const summaryMaxTokens = Math.min(
    MAX_SUMMARY_TOKENS,
    Math.max(MIN_SUMMARY_TOKENS, shareOf(availableTokens, SUMMARY_SHARE)),
  )
  return {
    pruneProtectTokens: Math.min(PRUNE_PROTECT_TOKENS, shareOf(availableTokens, PRUNE_PROTECT_SHARE)),
    pruneMinimumSavings: Math.min(PRUNE_MINIMUM_SAVINGS, shareOf(availableTokens, PRUNE_MINIMUM_SHARE)),
    keepRecentTokens: Math.max(0, targetTokens - summaryRoom(summaryMaxTokens, targetTokens)),
    summaryMaxTokens,
  }
}

/** Returns the room beside a tail for a summary of this size, in tokens: all of it, unless the target is small. */
export function summaryRoom(summaryMaxTokens: number, targetTokens: number): number {
  return Math.min(summaryMaxTokens, shareOf(targetTokens, SUMMARY_ROOM_SHARE))
}

/** Returns the room beside a tail for an offline summary, and its maximum if the tail needs less than its room, in tokens. */
export function offlineSummaryTokens(targetTokens: number): {
  readonly summaryRoomTokens: number
  readonly summaryMaxTokens: number
} {
  const full = Math.min(targetTokens, OFFLINE_FULL_TARGET)
  const more = Math.min(OFFLINE_MORE_TOKENS, (targetTokens - full) * OFFLINE_MORE_SHARE)
  return {
    summaryRoomTokens: Math.floor(full * SUMMARY_ROOM_SHARE + more),
    summaryMaxTokens: Math.max(MIN_SUMMARY_TOKENS, Math.floor(full * OFFLINE_MAX_SHARE + more)),
  }
}

/** Returns how each figure is determined. */
export function scaleSources(availableTokens: number): {
  readonly [F in keyof ScaledFigures]: ScaleSource
} {
  const summary = shareOf(availableTokens, SUMMARY_SHARE)
  return {
    pruneProtectTokens:
      shareOf(availableTokens, PRUNE_PROTECT_SHARE) < PRUNE_PROTECT_TOKENS ? 'share' : 'most',
    pruneMinimumSavings:
      shareOf(availableTokens, PRUNE_MINIMUM_SHARE) < PRUNE_MINIMUM_SAVINGS ? 'share' : 'most',
    keepRecentTokens: 'share',
    summaryMaxTokens:
      summary >= MAX_SUMMARY_TOKENS ? 'most' : summary <= MIN_SUMMARY_TOKENS ? 'least' : 'share',
  }
}

function shareOf(tokens: number, share: number): number {
  return Math.floor(tokens * share)
}

/** The tokens of recent tool outputs that pruning keeps, as in NeuroLink's documentation. */
export const PRUNE_PROTECT_TOKENS = 40_000

/** The minimum savings of pruning, in tokens, as in NeuroLink's documentation. */
export const PRUNE_MINIMUM_SAVINGS = 20_000

/** The usage at which compaction is due. */
export const DEFAULT_COMPACTION_THRESHOLD = 0.8
/**
 * The share of the available input to which a compaction reduces the request: half of the threshold (measured with `npm run
 * bench:cache`, docs/prompt-cache.md).
 */
export const DEFAULT_COMPACTION_TARGET = 0.4
/** Returns a target that was not given explicitly: if the threshold is below the default, the target is lowered in proportion. */
export function targetAt(threshold: number, target: number): number {
  return threshold >= DEFAULT_COMPACTION_THRESHOLD
    ? target
    : (threshold * target) / DEFAULT_COMPACTION_THRESHOLD
}
/** The provider if neither the call nor the session specifies one. */
export const DEFAULT_PROVIDER = 'openai'

/** The parts of a request besides the history. */
export const requestSchema = z.strictObject({
  /** The requested output tokens, which set the output reserve. */
  maxOutputTokens: z.int().nonnegative().optional(),
  system: z.string().optional(),
  /** A prompt that is not appended yet. */
  prompt: z.string().optional(),
  /** Definitions of tools, or the tools of the AI SDK (name to tool). */
  tools: toolsSchema.optional(),
  files: z.array(z.looseObject({ content: z.string() })).optional(),
  /** Estimated tokens of other content of the request, such as messages that are not appended yet. */
  pendingTokens: z.int().nonnegative().optional(),
  /** The number of images in that content, and the bytes of its media in base64. */
  pendingMedia: pendingMediaSchema.optional(),
})
/** The parts of a request besides the stored history. */
export type PendingRequest = z.input<typeof requestSchema>
export type CheckedRequest = Readonly<z.output<typeof requestSchema>>

/** NeuroLink's names for the parts of a request, which are accepted as aliases. */
export const NEUROLINK_PARTS = {
  systemPrompt: 'system',
  currentPrompt: 'prompt',
  toolDefinitions: 'tools',
  fileAttachments: 'files',
}
const NEUROLINK_NAMES: ReadonlyMap<string, string> = new Map(
  Object.entries({ ...NEUROLINK_PARTS, maxTokens: 'maxOutputTokens' }),
)

/** The parts of a request under NeuroLink's names. */
export type NeurolinkRequest = {
  readonly maxTokens?: number | undefined
  readonly systemPrompt?: string | undefined
  readonly currentPrompt?: string | undefined
  readonly toolDefinitions?: unknown[] | ToolSet | undefined
  readonly fileAttachments?: { content: string; [field: string]: unknown }[] | undefined
}

/** Returns options with NeuroLink's names replaced. Throws `INVALID_INPUT` if a part is given under both names. */
export function withRequestNames<T>(options: T): T {
  return readable('options', () => renamedParts(options))
}

function renamedParts<T>(options: T): T {
  // Most options have none of these names; a value that isn't an object is rejected by the following check.
  if (!isObject(options) || !Object.keys(options).some((name) => NEUROLINK_NAMES.has(name))) return options
  const named = new Map<string, unknown>()
  for (const [given, value] of Object.entries(options)) {
    const name = NEUROLINK_NAMES.get(given) ?? given
    if (named.get(name) !== undefined && value !== undefined)
      throw invalid(`${name} is given twice, under two names`)
    named.set(name, value ?? named.get(name))
  }
  return Object.fromEntries(named) as T
}

/** Tokens of a request by category. */
export type BudgetBreakdown = ContextBudgetFacts['breakdown']

/** A request compared with a window, in tokens. */
export type BudgetCheckResult = {
  /** Whether the request fits: estimated ≤ available. */
  readonly withinBudget: boolean
  /** The sum of the breakdown. */
  readonly estimatedInputTokens: number
  readonly availableInputTokens: number
  /** Estimated tokens divided by available tokens; may exceed 1, and is 1 if nothing is available. */
  readonly usageRatio: number
  /** Whether compaction is due: usageRatio ≥ threshold. */
  readonly shouldCompact: boolean
  readonly breakdown: BudgetBreakdown
}

/** A request and its model. */
export type BudgetCheckParams = PendingRequest &
  NeurolinkRequest & {
    readonly provider: string
    readonly model?: string | undefined
    readonly conversationMessages?:
      | readonly { readonly role: string; readonly content: string | readonly Part[] }[]
      | undefined
    /** The usage at which compaction is due, from 0 to 1. Default 0.8. */
    readonly compactionThreshold?: number | undefined
    /** The model's context window, in tokens, if the registry doesn't list the model or is wrong. */
    readonly contextWindow?: number | undefined
  }

const budgetParamsSchema = z.strictObject({
  ...requestSchema.shape,
  provider: z.string(),
  model: z.string().optional(),
  conversationMessages: z
    .array(z.looseObject({ role: z.string(), content: z.union([z.string(), z.array(z.unknown())]) }))
    .optional(),
  compactionThreshold: shareSchema.optional(),
  contextWindow: z.int().positive().optional(),
})

/**
 * Checks whether a request fits a model's window and whether compaction is due, over plain messages, with the estimator `neurolink`. The
 * store's `getContextStats` makes the same calculation from its counters, with the session's estimator and the provider's reports. Throws
 * `INVALID_INPUT`.
 */
export function checkContextBudget(params: BudgetCheckParams): BudgetCheckResult {
  const checked = check(budgetParamsSchema, withRequestNames(params), 'checkContextBudget')
  const provider = canonicalProvider(checked.provider)
  const history = estimateMessagesTokens(params.conversationMessages ?? [], provider)
  return weighRequest({
    raw: estimateRequest(provider, checked, history),
    outlook: PLAIN_OUTLOOK,
    contextWindow: checked.contextWindow ?? getContextWindowSize(provider, checked.model),
    maxOutputTokens: checked.maxOutputTokens,
    threshold: checked.compactionThreshold,
  })
}

/** Returns whether a request includes its fixed part: its system prompt and tools, even if they are empty. */
export function hasFixedPart({ system, tools }: Pick<CheckedRequest, 'system' | 'tools'>): boolean {
  return system !== undefined || tools !== undefined
}

/**
 * Returns the estimated tokens of a request by category. A prompt adds the framing of a message. Tool definitions have their own rule
 * with `neurolink`, and count as a text with other estimators. `lastFixed` is the fixed part of the last request, for a request without
 * its own.
 */
export function estimateRequest(
  provider: string,
  request: CheckedRequest,
  conversationHistory: number,
  estimator: Estimator = neurolinkEstimator,
  lastFixed?: FixedPart,
): BudgetBreakdown {
  const textTokens = (text: string): number => tokensOfText(text, estimator, provider)
  const prompt = (text: string | undefined): number =>
    text === undefined || text === '' ? 0 : textTokens(text) + estimator.tokensPerMessage
  const tool = (definition: unknown): number =>
    estimateToolDefinition(definition, estimator === neurolinkEstimator ? undefined : textTokens)
  return {
    systemPrompt: prompt(request.system),
    conversationHistory,
    currentPrompt: prompt(request.prompt) + (request.pendingTokens ?? 0),
    toolDefinitions: sumOf(request.tools, tool),
    fileAttachments: sumOf(request.files, ({ content }) => textTokens(content)),
    ...(!hasFixedPart(request) && unseenOf(lastFixed, provider, estimator)),
  }
}

/** A number of units that is large enough for rounding not to matter. */
const MANY_UNITS = 1_000_000

/** Returns the fixed part of the last request, as the given provider counts it. */
function unseenOf(
  last: FixedPart | undefined,
  provider: string,
  estimator: Estimator,
): Pick<BudgetBreakdown, 'unseen'> {
  if (last === undefined || last.tokens === 0) return {}
  if (last.provider === provider) return { unseen: last.tokens }
  const ratio = estimator.toTokens(MANY_UNITS, provider) / estimator.toTokens(MANY_UNITS, last.provider)
  return { unseen: Math.round(ratio * last.tokens) }
}

/** Returns the same estimate in the form that is compared with a provider's reports. */
export function estimateOf(raw: BudgetBreakdown): Estimate {
  return {
    history: raw.conversationHistory,
    standing: raw.systemPrompt + raw.toolDefinitions + (raw.unseen ?? 0),
    pending: raw.currentPrompt + raw.fileAttachments,
  }
}

/** Compares a request with a window. Every budget of this package is computed here. */
export function weighRequest(params: {
  /** The uncalibrated estimates. */
  readonly raw: BudgetBreakdown
  readonly outlook: Outlook
  /** The context window, in tokens, input and output together. */
  readonly contextWindow: number
  /** The limit of the input alone, in tokens, if it was learned. */
  readonly inputLimit?: number | undefined
  readonly maxOutputTokens?: number | undefined
  readonly threshold?: number | undefined
}): BudgetCheckResult {
  const { contextWindow, maxOutputTokens, threshold = DEFAULT_COMPACTION_THRESHOLD } = params
  const breakdown = calibrated(params.raw, params.outlook)
  const estimatedInputTokens =
    breakdown.systemPrompt +
    breakdown.conversationHistory +
    breakdown.currentPrompt +
    breakdown.toolDefinitions +
    breakdown.fileAttachments +
    (breakdown.unseen ?? 0)
  const availableInputTokens = availableInput(contextWindow, maxOutputTokens, params.inputLimit)
  const usageRatio = availableInputTokens > 0 ? estimatedInputTokens / availableInputTokens : 1
  return {
    withinBudget: estimatedInputTokens <= availableInputTokens,
    estimatedInputTokens,
    availableInputTokens,
    usageRatio,
    shouldCompact: usageRatio >= threshold,
    breakdown,
  }
}

/** Calibrates estimates with an outlook. The history absorbs rounding, so that the sum is exactly the outlook's. */
function calibrated(raw: BudgetBreakdown, outlook: Outlook): BudgetBreakdown {
  if (outlook === PLAIN_OUTLOOK) return raw
  const scaled = (tokens: number): number => Math.round(outlook.ratio * tokens)
  const systemPrompt = scaled(raw.systemPrompt)
  const currentPrompt = scaled(raw.currentPrompt)
  const toolDefinitions = scaled(raw.toolDefinitions)
  const fileAttachments = scaled(raw.fileAttachments)
  const unseen = Math.round(outlook.unseen) + scaled(raw.unseen ?? 0)
  const total = Math.round(expectedTokens(outlook, estimateOf(raw)))
  const others = systemPrompt + currentPrompt + toolDefinitions + fileAttachments + unseen
  return {
    systemPrompt,
    conversationHistory: Math.max(0, total - others),
    currentPrompt,
    toolDefinitions,
    fileAttachments,
    ...(unseen > 0 && { unseen }),
  }
}

function sumOf<T>(items: readonly T[] | undefined, tokensOf: (item: T) => number): number {
  return items === undefined ? 0 : items.reduce((sum, item) => sum + tokensOf(item), 0)
}
