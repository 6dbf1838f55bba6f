/* The entry `undertext/google`: conversions of Gemini contents. */

export type * from '../../core/message-types.ts'
export { DUMMY_SIGNATURE } from '../../core/tokens/reasoning-bindings.ts'
export type { ConversionNote, ConversionNoteKind, ConversionOptions } from '../conversion.ts'
export { fromGemini } from './from-gemini.ts'
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
} from './gemini-parts.ts'
export { type GeminiOptions, toGemini } from './to-gemini.ts'
