/*
 * Messages in the form of Anthropic's Messages API, in and out. One message becomes one message, and what was
 * read comes out again as it was.
 *
 * What the neutral form has no place for is kept under the name `anthropic`: fields of a message in `metadata`,
 * fields of a block in `providerOptions`, whole blocks as provider parts. Three things are reserved there:
 *
 * - an empty object marks a blank text, a failure without content or an empty message as Anthropic's own; others are not
 *   sent there as they stand;
 * - `content` of a tool result says that its content was absent (null) or a list of texts (their layout);
 * - `is_error` of a tool result is set when it was given and not true.
 *
 * The output of a part goes first: shown in place of a tool result, another text is what is sent.
 *
 * The AI SDK keeps things of its own under the same name: see `anthropic-options.ts`.
 */
import type { Json } from '../../messages/json.ts'

/** The name under which this form keeps its own things. */
export const ANTHROPIC = 'anthropic'

type Field = Json | undefined

/** A block of text. */
export type AnthropicTextBlock = { type: 'text'; text: string; [field: string]: Field }

/** Where the bytes of an image are. */
export type AnthropicImageSource =
  | { type: 'base64'; media_type: 'image/jpeg' | 'image/png' | 'image/gif' | 'image/webp'; data: string }
  | { type: 'url'; url: string }
export type AnthropicImageBlock = { type: 'image'; source: AnthropicImageSource; [field: string]: Field }

/** Where the bytes of a document are. */
export type AnthropicDocumentSource =
  | { type: 'base64'; media_type: 'application/pdf'; data: string }
  | { type: 'text'; media_type: 'text/plain'; data: string }
  | { type: 'url'; url: string }
export type AnthropicDocumentBlock = {
  type: 'document'
  source: AnthropicDocumentSource
  [field: string]: Field
}

/** What a tool result may hold. */
export type AnthropicResultBlock = AnthropicTextBlock | AnthropicImageBlock | AnthropicDocumentBlock

/** A block of content: its type, the fields that type must have, and whatever else it has. */
export type AnthropicBlock =
  | AnthropicResultBlock
  | { type: 'thinking'; thinking: string; signature: string; [field: string]: Field }
  | { type: 'redacted_thinking'; data: string; [field: string]: Field }
  | { type: 'tool_use'; id: string; name: string; input: Json; [field: string]: Field }
  | {
      type: 'tool_result'
      tool_use_id: string
      content?: string | AnthropicResultBlock[]
      [field: string]: Field
    }

/** A message of the Messages API, with any further fields an answer or a transcript carries. */
export type AnthropicMessage = {
  role: 'user' | 'assistant'
  content: string | AnthropicBlock[]
  [field: string]: Field
}

/** The part of a request that is conversation. */
export type AnthropicConversation = {
  system?: string | AnthropicTextBlock[]
  messages: AnthropicMessage[]
}

/** Who speaks where a block stands: images and files belong to what a user or a tool says. */
export type Place = 'system' | 'user' | 'assistant'
