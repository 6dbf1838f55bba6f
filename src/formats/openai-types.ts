/*
 * Messages in the form of OpenAI's Chat Completions, in and out. One message becomes one message, and what was
 * read comes out again as it was, the arguments of calls to the byte.
 *
 * What the neutral form has no place for is kept under the name `openai`: fields of a message in `metadata`
 * (of a tool's message in the `providerOptions` of its result), fields of a part or call in `providerOptions`,
 * whole parts as provider parts. Reserved there:
 *
 * - `role` is the role shown instead: `developer` for system, `function` for tool;
 * - `content` is what the content was when that cannot be told from the parts: null, `absent` or `parts`, and
 *   for a tool result that was a list of texts, their layout;
 * - `type` says which field or kind of part a text, reasoning or call was;
 * - `function.arguments` is the text of arguments that `JSON.stringify` would write otherwise.
 *
 * The neutral part goes first: an output or input changed since is what is sent.
 */
import type { Json } from '../core/json.ts'

/** The name under which this form keeps its own things. */
export const OPENAI = 'openai'

/** A part of content: its type, and whatever fields that type has. */
export type OpenAIPart = { type: string; [field: string]: Json | undefined }

/** What the Responses API leaves of what it compacted: an item of its own, to be sent back as it is. */
export type OpenAICompaction = { type: 'compaction'; role?: never; [field: string]: Json | undefined }

/** A message of Chat Completions, with any further fields an answer or a transcript carries. */
export type OpenAIMessage = {
  role: 'system' | 'developer' | 'user' | 'assistant' | 'tool' | 'function'
  content?: string | OpenAIPart[] | null
  [field: string]: Json | undefined
}
