/*
 * What concerns the OpenAI Agents SDK (`@openai/agents`, an optional peer): the entry `undertext/openai-agents`.
 */

export type { ConversionNote, ConversionNoteKind, ConversionOptions } from './formats/conversion.ts'
export { fromAgentItems } from './openai-agents/from-items.ts'
export type {
  AgentFunctionCallItem,
  AgentFunctionResultItem,
  AgentItem,
  AgentKeptItem,
  AgentMessageItem,
  AgentReasoningItem,
  AgentToolItem,
} from './openai-agents/item-types.ts'
export type { AgentModel, AgentModelProvider } from './openai-agents/recovering-model.ts'
export { UndertextSession } from './openai-agents/session.ts'
export type { SessionStore, UndertextSessionOptions } from './openai-agents/session-options.ts'
export type { HistoryMutation } from './openai-agents/session-rewrites.ts'
export { toAgentItems } from './openai-agents/to-items.ts'
export type { HistoryTransaction } from './openai-agents/transaction.ts'
export type { CompactionAnswer } from './openai-agents/usage.ts'
