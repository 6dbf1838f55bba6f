/*
 * Contents of Gemini's: the entry `undertext/google`.
 */

export type { ConversionNote, ConversionNoteKind, ConversionOptions } from './formats/conversion.ts'
export { fromGemini } from './formats/google/from-gemini.ts'
export { DUMMY_SIGNATURE, type GeminiOptions, toGemini } from './formats/google/to-gemini.ts'
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
} from './formats/google/types.ts'
