/*
 * What concerns the AI SDK (`ai`, an optional peer): the entry `undertext/ai-sdk`.
 */

export type { ChatRequest } from './ai-sdk/chat/asked.ts'
export { type ChatStore, chatStore, type SaveInput } from './ai-sdk/chat/chat-store.ts'
export type { ChatStorage, SaveResult } from './ai-sdk/chat/log.ts'
export type { ChatStoreOptions, LoadOptions, TurnOptions, TurnRequestOptions } from './ai-sdk/chat/options.ts'
export type { OnConflict } from './ai-sdk/chat/target.ts'
export type { AnswerEnd, ChatTurn } from './ai-sdk/chat/turn.ts'
export { fromModelMessages } from './ai-sdk/from-model-messages.ts'
export { fromUIMessages } from './ai-sdk/from-ui-messages.ts'
export type { PromptHistory } from './ai-sdk/known.ts'
export { undertext } from './ai-sdk/middleware.ts'
export type { UndertextStore } from './ai-sdk/middleware-call.ts'
export type { SdkModelMessage } from './ai-sdk/model-types.ts'
export { fromSdkPrompt, toSdkPrompt } from './ai-sdk/prompt.ts'
export { namesOf } from './ai-sdk/provider-names.ts'
export type {
  SdkAnswer,
  SdkMessage,
  SdkMessageLike,
  SdkMiddleware,
  SdkModel,
  SdkOptions,
  SdkParams,
  SdkPart,
  SdkVersion,
} from './ai-sdk/sdk-types.ts'
export type { OnDivergence } from './ai-sdk/session-reading.ts'
export { type AiSdkSummarizerOptions, aiSdkSummarizer } from './ai-sdk/summarizer.ts'
export { type ModelMessageOptions, toModelMessages } from './ai-sdk/to-model-messages.ts'
export { toUIMessages, type UIMessageOptions } from './ai-sdk/to-ui-messages.ts'
export type { LanguageModelLike, ModelRegistry } from './ai-sdk/types.ts'
export type { SdkUIMessage, SdkUIPart, UIMessageLike } from './ai-sdk/ui-types.ts'
export type {
  RequestOptions,
  RequestOptionsOf,
  SessionChoice,
  UndertextCallOptions,
  UndertextOptions,
  Unrecorded,
} from './ai-sdk/undertext-options.ts'
export type { ConversionNote, ConversionNoteKind, ConversionOptions } from './formats/conversion.ts'
