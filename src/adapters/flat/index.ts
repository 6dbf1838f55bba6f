/* The entry `undertext/formats`: plain chat messages, and detection of message formats. */

export type { ChatMessage } from '../../core/model/message-parts.ts'
export type { ConversionNote, ConversionNoteKind, ConversionOptions } from '../conversion.ts'
export { detectFormat, type MessageFormat } from '../detect.ts'
export { fromChatMessages } from './from-chat-messages.ts'
export { toChatMessages } from './to-chat-messages.ts'
