/*
 * What concerns LangChain (`@langchain/core`, an optional peer that this entry loads): the entry `undertext/langchain`.
 */

export type { ConversionNote, ConversionNoteKind, ConversionOptions } from './ecosystems/conversion.ts'
export type { MessagePlace } from './ecosystems/fork-options.ts'
export {
  type HistoryForkOptions,
  type HistoryStore,
  UndertextChatMessageHistory,
  type UndertextChatMessageHistoryOptions,
} from './ecosystems/langchain/chat-message-history.ts'
export { fromLangChain } from './ecosystems/langchain/from-langchain.ts'
export { toLangChain } from './ecosystems/langchain/instances.ts'
export { recoveringModel } from './ecosystems/langchain/recovering-model.ts'
export { toLangChainStored } from './ecosystems/langchain/to-langchain.ts'
export type { LangChainBlock, LangChainData, LangChainStoredMessage } from './ecosystems/langchain/types.ts'
