/*
 * Contents of Gemini's: the entry `undertext/google`.
 */

export type { ConversionNote, ConversionNoteKind, ConversionOptions } from './ecosystems/conversion.ts'
export { fromGemini } from './ecosystems/google/from-gemini.ts'
export type {
  GeminiBlob,
  GeminiContent,
  GeminiConversation,
  GeminiFileData,
  GeminiFunctionCall,
  GeminiFunctionResponse,
  GeminiInstruction,
  GeminiPart,
  GeminiResponsePart,
} from './ecosystems/google/gemini-parts.ts'
export { DUMMY_SIGNATURE, type GeminiOptions, toGemini } from './ecosystems/google/to-gemini.ts'
export type { Json, JsonObject } from './messages/json.ts'
export type {
  FilePart,
  ImagePart,
  Message,
  Part,
  ProviderOptions,
  ProviderPart,
  ReasoningPart,
  Role,
  TextPart,
  ToolCallPart,
  ToolResultContent,
  ToolResultOutput,
  ToolResultPart,
} from './messages/message.ts'
