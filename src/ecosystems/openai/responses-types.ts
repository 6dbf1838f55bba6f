/*
 * Items of the OpenAI Responses API, in and out. One item becomes one message, and an item that was read is
 * written again as it was, the arguments of calls byte for byte.
 *
 * Messages, reasoning, tool calls and their results become neutral parts; other items are kept whole, as
 * provider parts of OpenAI with the data `{ item }`. They have no type at the top level, so that Chat
 * Completions does not mistake them for its own parts. The data of a `compaction` item is the item itself,
 * because Chat Completions reads it too.
 *
 * What the neutral form has no place for is kept under the name `openai-responses`: with the part of an item
 * that is one part, with the first part of a message, and in `metadata` of a message that is a text or has no
 * parts. Reserved there:
 *
 * - `item` holds the further fields of an item (its id, its status), `part` those of a part of content;
 * - `type` is the type of a call or a result other than those of functions, `field` the field that held its
 *   input;
 * - `arguments` is the text of arguments that `JSON.stringify` would write otherwise;
 * - `summary` and `content` are the layouts of reasoning, `content` also that of a result in several texts;
 * - `after` is the id of the reasoning before an item, `leads` marks reasoning that such an item followed;
 * - `length` is that of a text whose annotations count its characters.
 *
 * The neutral part takes precedence: a text, an output or an input that changed since is what is sent.
 */
import type { Json, JsonObject } from '../../messages/json.ts'
import type { ProviderOptions } from '../../messages/message.ts'
import { isEmpty, isObject, keptFor, keptUnder } from '../wire.ts'

/** The name under which this format keeps its fields. */
export const RESPONSES = 'openai-responses'

/** A text, an image or a file that was not written by the model. */
export type ResponsesInputPart =
  | { type: 'input_text'; text: string }
  | {
      type: 'input_image'
      detail: 'low' | 'high' | 'auto' | 'original'
      image_url?: string | null
      file_id?: string | null
    }
  | { type: 'input_file'; file_data?: string; file_id?: string | null; file_url?: string; filename?: string }

/** A text or a refusal of the model. */
export type ResponsesOutputPart =
  | { type: 'output_text'; text: string; annotations: [] }
  | { type: 'refusal'; refusal: string }

/**
 * An item as the Responses API accepts it: the kinds written here. An item that was read is written as it was,
 * with any type and further fields.
 */
export type ResponsesItem =
  | {
      type?: 'message'
      role: 'user' | 'assistant' | 'system' | 'developer'
      content: string | ResponsesInputPart[]
      phase?: 'commentary' | 'final_answer' | null
    }
  | {
      type: 'message'
      role: 'assistant'
      id: string
      status: 'in_progress' | 'completed' | 'incomplete'
      content: ResponsesOutputPart[]
      phase?: 'commentary' | 'final_answer' | null
    }
  | {
      type: 'reasoning'
      id: string
      summary: { type: 'summary_text'; text: string }[]
      content?: { type: 'reasoning_text'; text: string }[]
      encrypted_content?: string | null
    }
  | { type: 'function_call'; call_id: string; name: string; arguments: string; id?: string }
  | { type: 'function_call_output'; call_id: string; output: string | ResponsesInputPart[] }
  | { type: 'custom_tool_call'; call_id: string; name: string; input: string; id?: string }
  | { type: 'custom_tool_call_output'; call_id: string; output: string | ResponsesInputPart[] }
  | { type: 'compaction'; encrypted_content: string; id?: string | null }

/** The conversation of a request: items, or a text or items with the instructions before them. */
export type ResponsesInput =
  | readonly object[]
  | { readonly input: string | readonly object[]; readonly instructions?: unknown }

/** The author of a content. A tool result is input too. */
export type Speaker = 'system' | 'user' | 'assistant' | 'tool'

/** The fields this format keeps with a part or a message. */
export type Own = { readonly [field: string]: Json | undefined }

/** The fields this format kept. */
export function ownOf(kept: JsonObject | ProviderOptions | undefined): Own | undefined {
  return keptFor(RESPONSES, kept)
}

/** Fields as `providerOptions` of this format; no options for no fields. */
export function keptAs(own: Own): { providerOptions?: ProviderOptions } {
  return keptUnder(RESPONSES, own)
}

/** A field with this name, unless the value is undefined or an empty object. */
export function given(name: string, value: Json | undefined): JsonObject {
  return value === undefined || (isObject(value) && isEmpty(value)) ? {} : { [name]: value }
}

/** A kind of call: the type of its result, and for OpenAI tools their name and the fields of the input. */
type CallKind = {
  readonly output: string
  readonly tool?: string
  readonly fields?: readonly string[]
  /** The API requires the item's id. */
  readonly needsId?: true
}

/** Types of calls. Source: `ResponseInputItem` and `ResponseOutputItem` of `openai`. */
export const CALLS: ReadonlyMap<Json | undefined, CallKind> = new Map<Json | undefined, CallKind>([
  ['function_call', { output: 'function_call_output' }],
  ['custom_tool_call', { output: 'custom_tool_call_output' }],
  [
    'computer_call',
    { output: 'computer_call_output', tool: 'computer', fields: ['actions', 'action'], needsId: true },
  ],
  [
    'local_shell_call',
    { output: 'local_shell_call_output', tool: 'local_shell', fields: ['action'], needsId: true },
  ],
  ['shell_call', { output: 'shell_call_output', tool: 'shell', fields: ['action'] }],
  ['apply_patch_call', { output: 'apply_patch_call_output', tool: 'apply_patch', fields: ['operation'] }],
])

/** Types of results. */
export const OUTPUTS: ReadonlySet<Json | undefined> = new Set([...CALLS.values()].map(({ output }) => output))
