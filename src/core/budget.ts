import { z } from 'zod'
import { check } from './check.ts'
import type { Part } from './message.ts'
import {
  type Estimator,
  estimateMessagesTokens,
  estimateTokens,
  estimateToolDefinition,
  neurolinkEstimator,
  TOKENS_PER_MESSAGE,
} from './tokens.ts'
import { getAvailableInputTokens } from './windows.ts'

/** Usage at which compaction is due. Source: seed 003. */
export const DEFAULT_COMPACTION_THRESHOLD = 0.8
/** Share of the available input a compaction brings the whole request down to. Source: design 3.6. */
export const DEFAULT_COMPACTION_TARGET = 0.6
/** Provider assumed when neither the call nor the session names one. Source: seed 003. */
export const DEFAULT_PROVIDER = 'openai'

/** What is about to be sent besides the history, so that it counts. */
export const requestSchema = z.strictObject({
  /** Output tokens asked for; sets the output reserve. */
  maxTokens: z.int().nonnegative().optional(),
  systemPrompt: z.string().optional(),
  /** The prompt that is not appended yet. */
  currentPrompt: z.string().optional(),
  toolDefinitions: z.array(z.unknown()).optional(),
  fileAttachments: z.array(z.looseObject({ content: z.string() })).optional(),
})
export type PendingRequest = z.input<typeof requestSchema>

/** Tokens of a request by category. */
export type BudgetBreakdown = {
  readonly systemPrompt: number
  readonly conversationHistory: number
  readonly currentPrompt: number
  readonly toolDefinitions: number
  readonly fileAttachments: number
}

export type BudgetCheckResult = {
  /** Whether the request fits: estimated ≤ available. */
  readonly withinBudget: boolean
  readonly estimatedInputTokens: number
  readonly availableInputTokens: number
  /** Estimated by available; may exceed 1, and is 1 when nothing is available. */
  readonly usageRatio: number
  /** Whether compaction is due: usageRatio ≥ threshold. */
  readonly shouldCompact: boolean
  readonly breakdown: BudgetBreakdown
}

export type BudgetCheckParams = PendingRequest & {
  readonly provider: string
  readonly model?: string | undefined
  readonly conversationMessages?:
    | readonly { readonly role: string; readonly content: string | readonly Part[] }[]
    | undefined
  /** 0 to 1, default 0.8. */
  readonly compactionThreshold?: number | undefined
}

const budgetParamsSchema = z.strictObject({
  ...requestSchema.shape,
  provider: z.string(),
  model: z.string().optional(),
  conversationMessages: z
    .array(z.looseObject({ role: z.string(), content: z.union([z.string(), z.array(z.unknown())]) }))
    .optional(),
  compactionThreshold: z.number().min(0).max(1).optional(),
})

/**
 * Whether a request fits a model's window and whether compaction is due: the pure check of seed 003, over plain
 * messages. The store's `getContextStats` gives the same figures from its counters. Throws `INVALID_INPUT`.
 */
export function checkContextBudget(params: BudgetCheckParams): BudgetCheckResult {
  const checked = check(budgetParamsSchema, params, 'checkContextBudget')
  return weighRequest({
    provider: checked.provider,
    model: checked.model,
    historyTokens: estimateMessagesTokens(params.conversationMessages ?? [], checked.provider),
    request: checked,
    threshold: checked.compactionThreshold,
  })
}

/** The same sum from a history that is counted already. Every figure of a budget in this package comes from here. */
export function weighRequest(params: {
  readonly provider: string
  readonly model?: string | undefined
  readonly historyTokens: number
  readonly request: PendingRequest
  readonly threshold?: number | undefined
  readonly estimator?: Estimator
}): BudgetCheckResult {
  const { provider, historyTokens, request } = params
  const breakdown = weighPending(provider, request, historyTokens, params.estimator)
  const estimatedInputTokens =
    breakdown.systemPrompt +
    breakdown.conversationHistory +
    breakdown.currentPrompt +
    breakdown.toolDefinitions +
    breakdown.fileAttachments
  const availableInputTokens = getAvailableInputTokens(provider, params.model, request.maxTokens)
  const usageRatio = availableInputTokens > 0 ? estimatedInputTokens / availableInputTokens : 1
  return {
    withinBudget: estimatedInputTokens <= availableInputTokens,
    estimatedInputTokens,
    availableInputTokens,
    usageRatio,
    shouldCompact: usageRatio >= (params.threshold ?? DEFAULT_COMPACTION_THRESHOLD),
    breakdown,
  }
}

/** Tokens of what is sent besides the history. A prompt adds the framing of a message (checklist S3-U02). */
function weighPending(
  provider: string,
  request: PendingRequest,
  conversationHistory: number,
  estimator: Estimator = neurolinkEstimator,
): BudgetBreakdown {
  const prompt = (text: string | undefined): number =>
    text === undefined || text === ''
      ? 0
      : estimator.toTokens(estimator.measureText(text), provider) + TOKENS_PER_MESSAGE
  return {
    systemPrompt: prompt(request.systemPrompt),
    conversationHistory,
    currentPrompt: prompt(request.currentPrompt),
    toolDefinitions: sumOf(request.toolDefinitions, estimateToolDefinition),
    fileAttachments: sumOf(request.fileAttachments, ({ content }) => estimateTokens(content, provider)),
  }
}

function sumOf<T>(items: readonly T[] | undefined, tokensOf: (item: T) => number): number {
  return items === undefined ? 0 : items.reduce((sum, item) => sum + tokensOf(item), 0)
}
