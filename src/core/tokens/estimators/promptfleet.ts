import { z } from 'zod'
import { invalid } from '../../errors.ts'
import { check } from '../../messages/check.ts'
import type { Estimator } from './estimator-schema.ts'

const budgetSchema = z.strictObject({
  /** The model's whole window, in tokens. */
  contextWindow: z.int().nonnegative(),
  /** Tokens reserved for the answer. */
  maxOutputTokens: z.int().nonnegative(),
  /** The system prompt. An absent one reserves nothing, an empty one only its framing. */
  systemMessage: z.string().nullish(),
  tools: z.array(z.unknown()).default([]),
  history: z.array(z.looseObject({})).default([]),
})
/** The input of PromptFleet's budget. */
export type ContextBudgetInput = Omit<z.input<typeof budgetSchema>, 'history'> & {
  readonly history?: readonly PromptfleetMessage[]
}

/** A window after its reservations. All figures are in tokens by `promptfleet`. */
export type ContextBudget = {
  readonly total: number
  readonly reservedOutput: number
  readonly reservedSystem: number
  readonly reservedTools: number
  /** Total − output − system − tools, where no step goes below 0. */
  readonly availableForHistory: number
  /** The size of the history, framing included. */
  readonly historyUsage: number
  readonly remaining: number
  /** Whether the history is larger than the available tokens. */
  readonly wouldExceed: boolean
  /** The share of the window in use with all reservations, at most 1; 0 for a window of 0. */
  readonly utilization: number
}

/** Returns the tokens that a window leaves for the history. Throws `INVALID_INPUT`. */
export function contextBudget(input: ContextBudgetInput): ContextBudget {
  const checked = check(budgetSchema, input, 'contextBudget')
  const { contextWindow: total, maxOutputTokens: reservedOutput, systemMessage } = checked
  const reservedSystem =
    typeof systemMessage === 'string'
      ? estimatePromptfleetMessage({ role: 'system', content: systemMessage })
      : 0
  const reservedTools = estimatePromptfleetTools(checked.tools)
  const historyUsage = estimatePromptfleetMessages(input.history ?? [])
  const availableForHistory = [reservedOutput, reservedSystem, reservedTools].reduce(
    (left, reserved) => Math.max(0, left - reserved),
    total,
  )
  const used = reservedSystem + reservedTools + reservedOutput + historyUsage
  return {
    total,
    reservedOutput,
    reservedSystem,
    reservedTools,
    availableForHistory,
    historyUsage,
    remaining: Math.max(0, availableForHistory - historyUsage),
    wouldExceed: historyUsage > availableForHistory,
    utilization: total === 0 ? 0 : Math.min(1, used / total),
  }
}

/** Tokens for the framing of a message, a list of messages, a call, and a list of tools. */
const TOKENS_PER_MESSAGE = 4
const TOKENS_PER_LIST = 3
const TOKENS_PER_CALL = 3
const TOKENS_OF_TOOLS = 10
/**
 * The tokens of the role's name in a store; the original counts 1 (user, tool), 2 (system) or 3 (assistant). The total of a conversation
 * of questions and answers is exact; that of a single message is off by at most one token.
 */
const MEAN_ROLE_TOKENS = 2

/** A message in OpenAI's format; missing fields count as 0. */
export type PromptfleetMessage = {
  readonly role?: string
  readonly content?: unknown
  readonly tool_calls?: readonly {
    readonly function?: { readonly name?: string; readonly arguments?: string }
  }[]
}

/** Returns the tokens of a text: bytes of ASCII / 4 + other UTF-8 bytes / 3, together rounded up. Throws `INVALID_INPUT`. */
export function estimatePromptfleetTokens(text: string): number {
  if (typeof text !== 'string') throw invalid('estimatePromptfleetTokens: text must be a string')
  return measurePromptfleet(text)
}

function measurePromptfleet(text: string): number {
  let ascii = 0
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) < 128) ascii++
  const others = ascii === text.length ? 0 : Buffer.byteLength(text, 'utf8') - ascii
  // In twelfths, so that no fraction is lost.
  return Math.ceil((3 * ascii + 4 * others) / 12)
}

/**
 * Returns the tokens of one message: 4 + role + content + for each call 3 + name + arguments. Content that is not a text counts as empty.
 */
export function estimatePromptfleetMessage(message: PromptfleetMessage): number {
  if (typeof message !== 'object' || message === null)
    throw invalid('estimatePromptfleetMessage: a message must be an object')
  const of = (text: unknown): number => (typeof text === 'string' ? measurePromptfleet(text) : 0)
  const calls = Array.isArray(message.tool_calls) ? message.tool_calls : []
  return (calls as NonNullable<PromptfleetMessage['tool_calls']>).reduce(
    (sum, call) => sum + TOKENS_PER_CALL + of(call?.function?.name) + of(call?.function?.arguments),
    TOKENS_PER_MESSAGE + of(message.role) + of(message.content),
  )
}

/** Returns the tokens of a list: 3 + its messages, even for an empty list. */
export function estimatePromptfleetMessages(messages: readonly PromptfleetMessage[]): number {
  if (!Array.isArray(messages)) throw invalid('estimatePromptfleetMessages: messages must be an array')
  return (messages as readonly PromptfleetMessage[]).reduce(
    (sum, message) => sum + estimatePromptfleetMessage(message),
    TOKENS_PER_LIST,
  )
}

/** Returns the tokens of tool definitions: 10 if there are any, plus their compact JSON. */
export function estimatePromptfleetTools(tools: readonly unknown[]): number {
  if (!Array.isArray(tools)) throw invalid('estimatePromptfleetTools: tools must be an array')
  if (tools.length === 0) return 0
  return tools.reduce((sum: number, tool) => {
    const json = JSON.stringify(tool) as string | undefined
    return sum + (json === undefined ? 0 : measurePromptfleet(json))
  }, TOKENS_OF_TOOLS)
}

/** PromptFleet's estimator for a store. It only counts texts: images and files count as 0. The provider is ignored. */
export const promptfleetEstimator: Estimator = {
  name: 'promptfleet',
  measureText: measurePromptfleet,
  mediaTokens: 0,
  unitsPerCall: TOKENS_PER_CALL,
  toTokens: (units) => units,
  tokensPerMessage: TOKENS_PER_MESSAGE + MEAN_ROLE_TOKENS,
  tokensPerConversation: TOKENS_PER_LIST,
}
