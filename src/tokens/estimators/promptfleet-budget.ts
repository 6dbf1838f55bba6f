import { z } from 'zod'
import { check } from '../../messages/check.ts'
import {
  estimatePromptfleetMessage,
  estimatePromptfleetMessages,
  estimatePromptfleetTools,
  type PromptfleetMessage,
} from './promptfleet.ts'

const budgetSchema = z.strictObject({
  /** The model's whole window, tokens. */
  contextWindow: z.int().nonnegative(),
  /** Tokens kept for the answer. */
  maxOutputTokens: z.int().nonnegative(),
  /** The system prompt; none reserves nothing, an empty one its framing. */
  systemMessage: z.string().nullish(),
  tools: z.array(z.unknown()).default([]),
  history: z.array(z.looseObject({})).default([]),
})
export type ContextBudgetInput = Omit<z.input<typeof budgetSchema>, 'history'> & {
  readonly history?: readonly PromptfleetMessage[]
}

/** A window after its reservations. All figures in tokens of `promptfleet`. */
export type ContextBudget = {
  readonly total: number
  readonly reservedOutput: number
  readonly reservedSystem: number
  readonly reservedTools: number
  /** total − output − system − tools, each step no lower than 0. */
  readonly availableForHistory: number
  /** What the history takes, its framing included. */
  readonly historyUsage: number
  readonly remaining: number
  /** Whether the history takes more than is available. */
  readonly wouldExceed: boolean
  /** Share of the window in use with all reservations, at most 1; 0 for a window of 0. */
  readonly utilization: number
}

/** What a window leaves for the history. Throws `INVALID_INPUT`. Source: seed 001's crate, checklist S1-30, S1-U02. */
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
