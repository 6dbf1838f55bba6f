/* The entry `undertext/openai`: conversions of OpenAI messages. */

export type * from '../../core/message-types.ts'
export type { ConversionNote, ConversionNoteKind, ConversionOptions } from '../conversion.ts'
export type {
  OpenAIAudioPart,
  OpenAIFilePart,
  OpenAIImagePart,
  OpenAIMessage,
  OpenAIPart,
  OpenAIRefusalPart,
  OpenAITextPart,
  OpenAIToolCall,
} from './chat-types.ts'
export { fromOpenAI } from './from-openai.ts'
export { fromOpenAIResponses } from './from-responses.ts'
export type {
  ResponsesInput,
  ResponsesInputPart,
  ResponsesItem,
  ResponsesOutputPart,
} from './responses-content.ts'
export { toOpenAI } from './to-openai.ts'
export { toOpenAIResponses } from './to-responses.ts'
