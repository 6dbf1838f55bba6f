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
} from './formats/anthropic-types.ts'
export type { ConversionNote, ConversionNoteKind, ConversionOptions } from './formats/conversion.ts'
export { fromAnthropic } from './formats/from-anthropic.ts'
export { type AnthropicOptions, toAnthropic } from './formats/to-anthropic.ts'
