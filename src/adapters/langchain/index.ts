/* The entry `undertext/langchain`: adapters for LangChain (`@langchain/core`, an optional peer that this entry loads). */

export type { ConversionNote, ConversionNoteKind, ConversionOptions } from '../conversion.ts'
export type { MessagePlace } from '../forks.ts'
export {
  type HistoryForkOptions,
  type HistoryStore,
  UndertextChatMessageHistory,
  type UndertextChatMessageHistoryOptions,
} from './chat-message-history.ts'
export { fromLangChain } from './from-langchain.ts'
export { toLangChain } from './instances.ts'
export { recoveringModel } from './recovering-model.ts'
export { toLangChainStored } from './to-langchain.ts'
export type { LangChainBlock, LangChainData, LangChainStoredMessage } from './types.ts'
