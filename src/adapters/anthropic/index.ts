/* The entry `undertext/anthropic`: conversions of Anthropic messages. */

export type * from '../../core/message-types.ts'
export { ANTHROPIC_EDITS, contextManagementTypes } from '../../core/tokens/providers.ts'
export type { ConversionNote, ConversionNoteKind, ConversionOptions } from '../conversion.ts'
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
} from './blocks.ts'
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
} from './context-management.ts'
export { fromAnthropic } from './from-anthropic.ts'
export { type AnthropicOptions, toAnthropic } from './to-anthropic.ts'
