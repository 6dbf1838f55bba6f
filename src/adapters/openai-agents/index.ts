/* The entry `undertext/openai-agents`: adapters for the OpenAI Agents SDK (`@openai/agents`, an optional peer). */

export type { ConversionNote, ConversionNoteKind, ConversionOptions } from '../conversion.ts'
export { fromAgentItems } from './from-items.ts'
export type {
  AgentFunctionCallItem,
  AgentFunctionResultItem,
  AgentItem,
  AgentKeptItem,
  AgentMessageItem,
  AgentReasoningItem,
  AgentToolItem,
} from './item-shapes.ts'
export type { AgentModel, AgentModelProvider } from './recovering-model.ts'
export type { CompactionAnswer } from './session.ts'
export { UndertextSession } from './session.ts'
export type {
  SessionForkOptions,
  SessionStore,
  UndertextSessionOptions,
} from './session-options.ts'
export type { HistoryMutation, HistoryTransaction } from './session-rewrites.ts'
export { toAgentItems } from './to-items.ts'
