/*
 * What concerns LangChain (`@langchain/core`, an optional peer that this entry loads): the entry `undertext/langchain`.
 */

export type { ConversionNote, ConversionNoteKind, ConversionOptions } from './formats/conversion.ts'
export { fromLangChain } from './formats/langchain/from-langchain.ts'
export { toLangChainStored } from './formats/langchain/to-langchain.ts'
export type { LangChainBlock, LangChainData, LangChainStoredMessage } from './formats/langchain/types.ts'
export {
  type HistoryStore,
  UndertextChatMessageHistory,
  type UndertextChatMessageHistoryOptions,
} from './langchain/chat-message-history.ts'
export { toLangChain } from './langchain/instances.ts'
export { recoveringModel } from './langchain/recovering-model.ts'
