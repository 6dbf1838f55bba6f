/*
 * What concerns the AI SDK (`ai`, an optional peer): the entry `undertext/ai-sdk`.
 */

export type { ChatRequest } from './ecosystems/ai-sdk/chat/asked.ts'
export { type ChatStore, chatStore, type SaveInput } from './ecosystems/ai-sdk/chat/chat-store.ts'
export type { ChatStorage, SaveResult } from './ecosystems/ai-sdk/chat/log.ts'
export type {
  ChatStoreOptions,
  LoadOptions,
  TurnOptions,
  TurnRequestOptions,
} from './ecosystems/ai-sdk/chat/options.ts'
export type { OnConflict } from './ecosystems/ai-sdk/chat/target.ts'
export type { AnswerEnd, ChatTurn } from './ecosystems/ai-sdk/chat/turn.ts'
export { fromUIMessages } from './ecosystems/ai-sdk/chat/versions.ts'
export { fromModelMessages } from './ecosystems/ai-sdk/from-model-messages.ts'
export type { PromptHistory } from './ecosystems/ai-sdk/known.ts'
export { undertext } from './ecosystems/ai-sdk/middleware.ts'
export type { UndertextStore } from './ecosystems/ai-sdk/middleware-call.ts'
export type { SdkModelMessage } from './ecosystems/ai-sdk/model-types.ts'
export { fromSdkPrompt, toSdkPrompt } from './ecosystems/ai-sdk/prompt.ts'
export { namesOf } from './ecosystems/ai-sdk/provider-names.ts'
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
} from './ecosystems/ai-sdk/sdk-types.ts'
export type { OnDivergence } from './ecosystems/ai-sdk/session-reading.ts'
export { type AiSdkSummarizerOptions, aiSdkSummarizer } from './ecosystems/ai-sdk/summarizer.ts'
export { type ModelMessageOptions, toModelMessages } from './ecosystems/ai-sdk/to-model-messages.ts'
export { toUIMessages, type UIMessageOptions } from './ecosystems/ai-sdk/to-ui-messages.ts'
export type { LanguageModelLike, ModelRegistry } from './ecosystems/ai-sdk/types.ts'
export type { SdkUIMessage, SdkUIPart, UIMessageLike } from './ecosystems/ai-sdk/ui-types.ts'
export type {
  RequestOptions,
  RequestOptionsOf,
  SessionChoice,
  UndertextCallOptions,
  UndertextOptions,
  Unrecorded,
} from './ecosystems/ai-sdk/undertext-options.ts'
export type { ConversionNote, ConversionNoteKind, ConversionOptions } from './ecosystems/conversion.ts'
