/*
 * Messages of OpenAI's: the entry `undertext/openai`.
 */

export type { ConversionNote, ConversionNoteKind, ConversionOptions } from './ecosystems/conversion.ts'
export type {
  OpenAIAudioPart,
  OpenAIFilePart,
  OpenAIImagePart,
  OpenAIMessage,
  OpenAIPart,
  OpenAIRefusalPart,
  OpenAITextPart,
  OpenAIToolCall,
} from './ecosystems/openai/chat-types.ts'
export { fromOpenAI } from './ecosystems/openai/from-openai.ts'
export { fromOpenAIResponses } from './ecosystems/openai/from-responses.ts'
export type {
  ResponsesInput,
  ResponsesInputPart,
  ResponsesItem,
  ResponsesOutputPart,
} from './ecosystems/openai/responses-content.ts'
export { toOpenAI } from './ecosystems/openai/to-openai.ts'
export { toOpenAIResponses } from './ecosystems/openai/to-responses.ts'
export type * from './message-types.ts'
