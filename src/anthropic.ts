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
export { fromAnthropic } from './ecosystems/anthropic/from-anthropic.ts'
export { type AnthropicOptions, toAnthropic } from './ecosystems/anthropic/to-anthropic.ts'
export type { ConversionNote, ConversionNoteKind, ConversionOptions } from './ecosystems/conversion.ts'
