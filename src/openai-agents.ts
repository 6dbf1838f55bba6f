/*
 * What concerns the OpenAI Agents SDK (`@openai/agents`, an optional peer): the entry `undertext/openai-agents`.
 */

export type { ConversionNote, ConversionNoteKind, ConversionOptions } from './ecosystems/conversion.ts'
export { fromAgentItems } from './ecosystems/openai-agents/from-items.ts'
export type {
  AgentFunctionCallItem,
  AgentFunctionResultItem,
  AgentItem,
  AgentKeptItem,
  AgentMessageItem,
  AgentReasoningItem,
  AgentToolItem,
} from './ecosystems/openai-agents/item-shapes.ts'
export type { AgentModel, AgentModelProvider } from './ecosystems/openai-agents/recovering-model.ts'
export type { CompactionAnswer } from './ecosystems/openai-agents/session.ts'
export { UndertextSession } from './ecosystems/openai-agents/session.ts'
export type {
  SessionForkOptions,
  SessionStore,
  UndertextSessionOptions,
} from './ecosystems/openai-agents/session-options.ts'
export type { HistoryMutation, HistoryTransaction } from './ecosystems/openai-agents/session-rewrites.ts'
export { toAgentItems } from './ecosystems/openai-agents/to-items.ts'
