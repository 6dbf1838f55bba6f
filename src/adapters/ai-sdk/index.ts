/* The entry `undertext/ai-sdk`: adapters for the AI SDK (`ai`, an optional peer). */

export type { ConversionNote, ConversionNoteKind, ConversionOptions } from '../conversion.ts'
export type { MessagePlace } from '../forks.ts'
export type { AnswerEnd, ChatTurn } from './chat/chat-store.ts'
export { type ChatStore, chatStore, type SaveInput } from './chat/chat-store.ts'
export type { ChatStorage, OnConflict, SaveResult } from './chat/log.ts'
export type { ChatRequest } from './chat/request.ts'
export { fromUIMessages } from './from-ui-messages.ts'
export type { UndertextStore } from './middleware.ts'
export { undertext } from './middleware.ts'
export {
  fromModelMessages,
  type ModelMessageOptions,
  toModelMessages,
} from './model-messages.ts'
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
} from './options.ts'
export { fromSdkPrompt, toSdkPrompt } from './prompt.ts'
export type { PromptHistory } from './prompt-matching.ts'
export type { OnDivergence } from './session-reading.ts'
export { type AiSdkSummarizerOptions, aiSdkSummarizer } from './summarizer.ts'
export { toUIMessages, type UIMessageOptions } from './to-ui-messages.ts'
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
} from './types.ts'
export { namesOf } from './types.ts'
