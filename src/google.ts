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
export { type GeminiOptions, toGemini } from './ecosystems/google/to-gemini.ts'
export type * from './message-types.ts'
export { DUMMY_SIGNATURE } from './tokens/reasoning-bindings.ts'
