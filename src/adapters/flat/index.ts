/* Plain chat messages, and which format messages have. The entry `undertext/formats`. */

export type { ChatMessage } from '../../core/model/message-parts.ts'
export type { ConversionNote, ConversionNoteKind, ConversionOptions } from '../conversion.ts'
export { detectFormat, type MessageFormat } from '../detect.ts'
export { fromChatMessages } from './from-chat-messages.ts'
export { toChatMessages } from './to-chat-messages.ts'
