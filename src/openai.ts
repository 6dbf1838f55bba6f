/*
 * Messages of OpenAI's: the entry `undertext/openai`.
 */

export type { ConversionNote, ConversionNoteKind, ConversionOptions } from './formats/conversion.ts'
export { fromOpenAI } from './formats/from-openai.ts'
export type {
  OpenAIAudioPart,
  OpenAICompaction,
  OpenAIFilePart,
  OpenAIImagePart,
  OpenAIMessage,
  OpenAIPart,
  OpenAIRefusalPart,
  OpenAITextPart,
  OpenAIToolCall,
} from './formats/openai-types.ts'
export { fromOpenAIResponses } from './formats/responses/from-responses.ts'
export { toOpenAIResponses } from './formats/responses/to-responses.ts'
export type {
  ResponsesInput,
  ResponsesInputPart,
  ResponsesItem,
  ResponsesOutputPart,
} from './formats/responses/types.ts'
export { toOpenAI } from './formats/to-openai.ts'
