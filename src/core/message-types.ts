/* The types of a message, which every entry point that takes or returns messages exports. */

export type { Json, JsonObject } from './messages/json.ts'
export type {
  FilePart,
  ImagePart,
  Message,
  Part,
  ProviderOptions,
  ProviderPart,
  ReasoningPart,
  Role,
  TextPart,
  ToolCallPart,
  ToolResultContent,
  ToolResultOutput,
  ToolResultPart,
} from './messages/message.ts'
