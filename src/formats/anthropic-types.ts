/*
 * Messages in the form of Anthropic's Messages API, in and out. One message becomes one message, and what was
 * read comes out again as it was.
 *
 * What the neutral form has no place for is kept under the name `anthropic`: fields of a message in `metadata`,
 * fields of a block in `providerOptions`, whole blocks as provider parts. Three things are reserved there:
 *
 * - an empty object marks a blank text or an empty message as Anthropic's own; others are not sent there;
 * - `content` of a tool result says that its content was absent (null) or a list of texts (their layout);
 * - `is_error` of a tool result is set when it was given and not true.
 *
 * The output of a part goes first: shown in place of a tool result, another text is what is sent.
 */
import type { Json } from '../core/json.ts'

/** The name under which this form keeps its own things. */
export const ANTHROPIC = 'anthropic'

/** A block of content: its type, and whatever fields that type has. */
export type AnthropicBlock = { type: string; [field: string]: Json | undefined }

/** A message of the Messages API, with any further fields an answer or a transcript carries. */
export type AnthropicMessage = {
  role: 'user' | 'assistant'
  content: string | AnthropicBlock[]
  [field: string]: Json | undefined
}

/** The part of a request that is conversation. */
export type AnthropicConversation = { system?: string | AnthropicBlock[]; messages: AnthropicMessage[] }

/** Who speaks where a block stands: images and files belong to what a user or a tool says. */
export type Place = 'system' | 'user' | 'assistant'
