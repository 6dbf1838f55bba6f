/*
 * What concerns the AI SDK (`ai`, an optional peer): the entry `undertext/ai-sdk`.
 */

export type { AnswerEnd, ChatTurn } from './ecosystems/ai-sdk/chat/chat-store.ts'
export { type ChatStore, chatStore, type SaveInput } from './ecosystems/ai-sdk/chat/chat-store.ts'
export type { ChatStorage, OnConflict, SaveResult } from './ecosystems/ai-sdk/chat/log.ts'
export type { ChatRequest } from './ecosystems/ai-sdk/chat/request.ts'
export { fromUIMessages } from './ecosystems/ai-sdk/from-ui-messages.ts'
export type { UndertextStore } from './ecosystems/ai-sdk/middleware.ts'
export { undertext } from './ecosystems/ai-sdk/middleware.ts'
export {
  fromModelMessages,
  type ModelMessageOptions,
  toModelMessages,
} from './ecosystems/ai-sdk/model-messages.ts'
export type {
  ChatForkOptions,
  ChatStoreOptions,
  LoadOptions,
  RequestOptions,
  RequestOptionsOf,
  SessionChoice,
  TurnOptions,
  TurnRequestOptions,
  UndertextCallOptions,
  UndertextOptions,
  Unrecorded,
  WithdrawOptions,
} from './ecosystems/ai-sdk/options.ts'
export { fromSdkPrompt, toSdkPrompt } from './ecosystems/ai-sdk/prompt.ts'
export type { PromptHistory } from './ecosystems/ai-sdk/prompt-matching.ts'
export type { OnDivergence } from './ecosystems/ai-sdk/session-reading.ts'
export { type AiSdkSummarizerOptions, aiSdkSummarizer } from './ecosystems/ai-sdk/summarizer.ts'
export { toUIMessages, type UIMessageOptions } from './ecosystems/ai-sdk/to-ui-messages.ts'
export type {
  LanguageModelLike,
  ModelRegistry,
  SdkAnswer,
  SdkMessage,
  SdkMessageLike,
  SdkMiddleware,
  SdkModel,
  SdkModelMessage,
  SdkOptions,
  SdkParams,
  SdkPart,
  SdkUIMessage,
  SdkUIPart,
  SdkVersion,
  UIMessageLike,
} from './ecosystems/ai-sdk/types.ts'
export { namesOf } from './ecosystems/ai-sdk/types.ts'
export type { ConversionNote, ConversionNoteKind, ConversionOptions } from './ecosystems/conversion.ts'
export type { MessagePlace } from './ecosystems/fork-options.ts'
