import { z } from 'zod'
import { check, shareSchema, taken } from '../messages/check.ts'
import type { Part } from '../messages/message.ts'
import { type Estimate, expectedTokens, type Outlook, PLAIN_OUTLOOK } from './calibration.ts'
import type { Estimator } from './estimators/estimator-schema.ts'
import { canonicalProvider } from './providers.ts'
import { estimateMessagesTokens, estimateToolDefinition, neurolinkEstimator, tokensOfText } from './tokens.ts'
import { availableInput, getContextWindowSize } from './windows.ts'

/** Fractions and token counts of settings that scale with the window. Source: checklist C-23 and F5. */
const PRUNE_PROTECT_SHARE = 0.25
const PRUNE_MINIMUM_SHARE = 0.1
const SUMMARY_SHARE = 0.05
const SUMMARY_LEAST_TOKENS = 500
const SUMMARY_MOST_TOKENS = 4_000
/**
 * Offline: six tenths of a target of up to 16,000 tokens, and a tenth of what is beyond, at most 16,000 more. What a session's
 * files define and its calls did grows slower than the session. Source: measured, docs/summaries.md.
 */
const SUMMARY_ROOM_SHARE = 0.6
/** Of the first 16,000, where the tail needs less than it might: its groups are not parted. */
const OFFLINE_MOST_SHARE = 0.9
const OFFLINE_FULL_TARGET = 16_000
const OFFLINE_MORE_SHARE = 0.1
const OFFLINE_MORE_TOKENS = 16_000

/** Settings of the stages that scale, tokens. */
export type ScaledFigures = {
  readonly pruneProtectTokens: number
  readonly pruneMinimumSavings: number
  /** What the target leaves beside a model's summary. */
  readonly keepRecentTokens: number
  readonly summaryMaxTokens: number
}

/** Why a figure is what it is: a share of what is available, or the most or the least it may be. */
export type ScaleSource = 'share' | 'most' | 'least'

/**
 * What the stages go by where nothing else was said: for planning and for profiles alike. `availableTokens` is what a request may
 * take, `targetTokens` what the history is to come down to. Source: checklist F5.
 */
export function scaledFigures(availableTokens: number, targetTokens: number): ScaledFigures {
  const summaryMaxTokens = Math.min(
    SUMMARY_MOST_TOKENS,
    Math.max(SUMMARY_LEAST_TOKENS, shareOf(availableTokens, SUMMARY_SHARE)),
  )
  return {
    pruneProtectTokens: Math.min(PRUNE_PROTECT_TOKENS, shareOf(availableTokens, PRUNE_PROTECT_SHARE)),
    pruneMinimumSavings: Math.min(PRUNE_MINIMUM_SAVINGS, shareOf(availableTokens, PRUNE_MINIMUM_SHARE)),
    keepRecentTokens: Math.max(0, targetTokens - summaryRoom(summaryMaxTokens, targetTokens)),
    summaryMaxTokens,
  }
}

/** What a tail leaves to a summary that may take so much, tokens: all of it, unless the target is small. */
export function summaryRoom(summaryMaxTokens: number, targetTokens: number): number {
  return Math.min(summaryMaxTokens, shareOf(targetTokens, SUMMARY_ROOM_SHARE))
}

/** What a tail leaves to a summary that costs nothing, and the most it may take when the tail needs less than it might, tokens. */
export function offlineSummaryTokens(targetTokens: number): {
  readonly summaryRoomTokens: number
  readonly summaryMaxTokens: number
} {
  const full = Math.min(targetTokens, OFFLINE_FULL_TARGET)
  const more = Math.min(OFFLINE_MORE_TOKENS, (targetTokens - full) * OFFLINE_MORE_SHARE)
  return {
    summaryRoomTokens: Math.floor(full * SUMMARY_ROOM_SHARE + more),
    summaryMaxTokens: Math.max(SUMMARY_LEAST_TOKENS, Math.floor(full * OFFLINE_MOST_SHARE + more)),
  }
}

/** Where each of them comes from. */
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
      summary >= SUMMARY_MOST_TOKENS ? 'most' : summary <= SUMMARY_LEAST_TOKENS ? 'least' : 'share',
  }
}

function shareOf(tokens: number, share: number): number {
  return Math.floor(tokens * share)
}

/** Tokens of recent tool outputs that pruning leaves alone. Source: seed 003. */
export const PRUNE_PROTECT_TOKENS = 40_000

/** Least saving, in tokens, for pruning to be applied. Source: seed 003. */
export const PRUNE_MINIMUM_SAVINGS = 20_000

/** Usage at which compaction is due. Source: seed 003. */
export const DEFAULT_COMPACTION_THRESHOLD = 0.8
/**
 * Share of the available input a compaction brings the whole request down to: half of the threshold. Source: `npm run bench:cache`
 * (docs/prompt-cache.md); design 3.6 has 0.6.
 */
export const DEFAULT_COMPACTION_TARGET = 0.4
/** Provider assumed when neither the call nor the session names one. Source: seed 003. */
export const DEFAULT_PROVIDER = 'openai'

/** What is about to be sent besides the history, so that it counts. */
export const requestSchema = z.strictObject({
  /** Output tokens asked for; sets the output reserve. */
  maxTokens: z.int().nonnegative().optional(),
  systemPrompt: z.string().optional(),
  /** The prompt that is not appended yet. */
  currentPrompt: z.string().optional(),
  toolDefinitions: z.array(z.unknown().transform(taken)).optional(),
  fileAttachments: z.array(z.looseObject({ content: z.string() })).optional(),
  /** Tokens of what else goes along and is no text here, by the estimator: messages that are not appended yet. */
  pendingTokens: z.int().nonnegative().optional(),
})
export type PendingRequest = z.input<typeof requestSchema>

/** Tokens of a request by category. */
export type BudgetBreakdown = {
  readonly systemPrompt: number
  readonly conversationHistory: number
  readonly currentPrompt: number
  readonly toolDefinitions: number
  readonly fileAttachments: number
  /** What the provider counted besides: a system prompt and tools nobody told of. Only where its reports showed any. */
  readonly unseen?: number
}

/** How a request stands to a window: seed 003's fields, tokens. */
export type BudgetCheckResult = {
  /** Whether the request fits: estimated ≤ available. */
  readonly withinBudget: boolean
  /** The sum of the breakdown. */
  readonly estimatedInputTokens: number
  readonly availableInputTokens: number
  /** Estimated by available; may exceed 1, and is 1 when nothing is available. */
  readonly usageRatio: number
  /** Whether compaction is due: usageRatio ≥ threshold. */
  readonly shouldCompact: boolean
  readonly breakdown: BudgetBreakdown
}

/** A request and the model it is for. */
export type BudgetCheckParams = PendingRequest & {
  readonly provider: string
  readonly model?: string | undefined
  readonly conversationMessages?:
    | readonly { readonly role: string; readonly content: string | readonly Part[] }[]
    | undefined
  /** 0 to 1, default 0.8. */
  readonly compactionThreshold?: number | undefined
  /** The model's context window, tokens, for one the registry does not know or knows wrongly. */
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
 * Whether a request fits a model's window and whether compaction is due: the pure check of seed 003, over plain
 * messages, by the seed's formula. The store's `getContextStats` makes the same sum from its counters, by the session's
 * estimator and with what was reported. Throws `INVALID_INPUT`.
 */
export function checkContextBudget(params: BudgetCheckParams): BudgetCheckResult {
  const checked = check(budgetParamsSchema, params, 'checkContextBudget')
  const provider = canonicalProvider(checked.provider)
  const history = estimateMessagesTokens(params.conversationMessages ?? [], provider)
  return weighRequest({
    raw: estimateRequest(provider, checked, history),
    outlook: PLAIN_OUTLOOK,
    contextWindow: checked.contextWindow ?? getContextWindowSize(provider, checked.model),
    maxTokens: checked.maxTokens,
    threshold: checked.compactionThreshold,
  })
}

/**
 * Tokens of a request by category as the estimator has them. A prompt adds the framing of a message (checklist S3-U02). Tool
 * definitions count by the seed's rule with the seed's estimator (conflict C-25), with others as a text.
 */
export function estimateRequest(
  provider: string,
  request: PendingRequest,
  conversationHistory: number,
  estimator: Estimator = neurolinkEstimator,
): BudgetBreakdown {
  const textTokens = (text: string): number => tokensOfText(text, estimator, provider)
  const prompt = (text: string | undefined): number =>
    text === undefined || text === '' ? 0 : textTokens(text) + estimator.tokensPerMessage
  const tool = (definition: unknown): number =>
    estimateToolDefinition(definition, estimator === neurolinkEstimator ? undefined : textTokens)
  return {
    systemPrompt: prompt(request.systemPrompt),
    conversationHistory,
    currentPrompt: prompt(request.currentPrompt) + (request.pendingTokens ?? 0),
    toolDefinitions: sumOf(request.toolDefinitions, tool),
    fileAttachments: sumOf(request.fileAttachments, ({ content }) => textTokens(content)),
  }
}

/** The same as what a provider's reports are compared with. */
export function estimateOf(raw: BudgetBreakdown): Estimate {
  return {
    history: raw.conversationHistory,
    standing: raw.systemPrompt + raw.toolDefinitions,
    pending: raw.currentPrompt + raw.fileAttachments,
  }
}

/** Holds a request against a window. Every figure of a budget in this package comes from here. */
export function weighRequest(params: {
  /** Estimates, uncalibrated. */
  readonly raw: BudgetBreakdown
  readonly outlook: Outlook
  /** Tokens, input and output together. */
  readonly contextWindow: number
  /** The most the provider takes of input alone, tokens, where it was learnt. */
  readonly inputLimit?: number | undefined
  readonly maxTokens?: number | undefined
  readonly threshold?: number | undefined
}): BudgetCheckResult {
  const { contextWindow, maxTokens, threshold = DEFAULT_COMPACTION_THRESHOLD } = params
  const breakdown = calibrated(params.raw, params.outlook)
  const estimatedInputTokens =
    breakdown.systemPrompt +
    breakdown.conversationHistory +
    breakdown.currentPrompt +
    breakdown.toolDefinitions +
    breakdown.fileAttachments +
    (breakdown.unseen ?? 0)
  const availableInputTokens = availableInput(contextWindow, maxTokens, params.inputLimit)
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

/** Estimates made true by an outlook. The history takes what rounding leaves, so the sum is the outlook's to the token. */
function calibrated(raw: BudgetBreakdown, outlook: Outlook): BudgetBreakdown {
  if (outlook === PLAIN_OUTLOOK) return raw
  const scaled = (tokens: number): number => Math.round(outlook.ratio * tokens)
  const systemPrompt = scaled(raw.systemPrompt)
  const currentPrompt = scaled(raw.currentPrompt)
  const toolDefinitions = scaled(raw.toolDefinitions)
  const fileAttachments = scaled(raw.fileAttachments)
  const unseen = Math.round(outlook.unseen)
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
