/*
 * Messages in the form of LangChain's `@langchain/core` 1, in and out, met by their shape: nothing of the package is
 * imported here. What was read comes out again as it was.
 *
 * What the neutral form has no place for is kept under the name `langchain`: fields of a message in `metadata` (of a
 * tool's message in the `providerOptions` of its result), fields of a block or call in `providerOptions`, whole blocks as
 * provider parts. Reserved there, beside the fields by their own names:
 *
 * - `form` of a message or result: `type` and `class` where they cannot be told from the role; `content` is what the content
 *   was when that cannot be told from the parts; `without` names usual fields that were absent; `order` is the order of
 *   `tool_calls` where it is not the order of the parts; `blocks` says that `content_blocks` repeats the content, or stood
 *   alone; `field` is a field of the message's own that is called `form`;
 * - `type` of a reasoning, image or file: the type of its block;
 * - `call`, `block`, `from` of a call: further fields of its entry in `tool_calls`, its block in the content, and where
 *   else it was read.
 *
 * The neutral part goes first: an output or a text changed since is what is written.
 */
import type { Json, JsonObject } from '../../messages/json.ts'

/** The name under which this form keeps its own things. */
export const LANGCHAIN = 'langchain'

/** A block of content: its type, and whatever fields that type has. Bytes stand in `data` only. */
export type LangChainBlock = { type?: string; [field: string]: Json | Uint8Array | undefined }

/** The fields of a message, by the names they are stored under. */
export type LangChainData = {
  content?: string | LangChainBlock[] | null
  role?: Json | undefined
  name?: Json | undefined
  tool_call_id?: Json | undefined
  [field: string]: Json | LangChainBlock[] | undefined
}

/** A message as `mapChatMessagesToStoredMessages` writes it. */
export type LangChainStoredMessage = {
  /** `human`, `ai`, `system`, `tool`, `function`, `generic` or `remove`. */
  type: string
  data: LangChainData
}

/** What a message was that its role and parts do not say. */
export type MessageForm = {
  readonly type?: Json
  readonly class?: Json
  readonly content?: Json
  readonly without?: Json
  readonly order?: Json
  readonly blocks?: Json
  readonly field?: Json
}

/** Classes of pieces of a streamed message: the stored form does not tell them from whole messages. */
const CHUNKS: Readonly<Record<string, string>> = {
  HumanMessageChunk: 'human',
  AIMessageChunk: 'ai',
  SystemMessageChunk: 'system',
  ToolMessageChunk: 'tool',
  FunctionMessageChunk: 'function',
  ChatMessageChunk: 'generic',
}

/** Types of messages by the names of their classes. */
export const TYPE_OF_CLASS: ReadonlyMap<string, string> = new Map([
  ['HumanMessage', 'human'],
  ['AIMessage', 'ai'],
  ['SystemMessage', 'system'],
  ['ToolMessage', 'tool'],
  ['FunctionMessage', 'function'],
  ['ChatMessage', 'generic'],
  ['RemoveMessage', 'remove'],
  ...Object.entries(CHUNKS),
])

/** Whether a class is one of a streamed piece. */
export function isChunkClass(name: unknown): name is string {
  return typeof name === 'string' && Object.hasOwn(CHUNKS, name)
}

/** The fields every message of a type has, with the values they have when there is nothing to say. */
export function usualFields(
  type: string,
  className: unknown,
): Readonly<Record<string, JsonObject | readonly Json[]>> {
  return {
    ...(type === 'ai' ? { tool_calls: [], invalid_tool_calls: [] } : {}),
    ...(className === 'AIMessageChunk' ? { tool_call_chunks: [] } : {}),
    additional_kwargs: {},
    response_metadata: {},
  }
}
