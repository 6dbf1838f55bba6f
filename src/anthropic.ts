/*
 * Messages of Anthropic's: the entry `undertext/anthropic`.
 */

export type {
  AnthropicBlock,
  AnthropicConversation,
  AnthropicDocumentBlock,
  AnthropicDocumentSource,
  AnthropicImageBlock,
  AnthropicImageSource,
  AnthropicMessage,
  AnthropicResultBlock,
  AnthropicTextBlock,
} from './ecosystems/anthropic/blocks.ts'
export {
  ANTHROPIC_BETAS,
  type ClearThinkingEdit,
  type ClearToolUsesEdit,
  COMPACT_TRIGGER_MINIMUM,
  type CompactEdit,
  type ContextEdit,
  type ContextManagement,
  contextManagement,
  contextManagementBetas,
} from './ecosystems/anthropic/context-management.ts'
export { fromAnthropic } from './ecosystems/anthropic/from-anthropic.ts'
export { type AnthropicOptions, toAnthropic } from './ecosystems/anthropic/to-anthropic.ts'
export type { ConversionNote, ConversionNoteKind, ConversionOptions } from './ecosystems/conversion.ts'
export type * from './message-types.ts'
export { ANTHROPIC_EDITS, contextManagementTypes } from './tokens/providers.ts'
