/*
 * Items of OpenAI's Responses API, in and out. One item becomes one message, and what was read comes out again as it
 * was, the arguments of calls to the byte.
 *
 * Messages, reasoning, calls of tools and their answers become neutral parts; other items are kept whole, as provider
 * parts of OpenAI's whose data is `{ item }`. They have no type at the top, so that Chat Completions does not take
 * them for parts of its own. An item of the type `compaction` is its own data, as Chat Completions reads it too.
 *
 * What the neutral form has no place for is kept under the name `openai-responses`: with the part of an item that is
 * one part, with the first part of a message, and in `metadata` of a message that is a text or has no parts. There:
 *
 * - `item` holds the further fields of an item (its id, its status), `part` those of a part of content;
 * - `type` is the type of a call or an answer that is none of a function, `field` the field its input stood in;
 * - `arguments` is the text of arguments that `JSON.stringify` would write otherwise;
 * - `summary` and `content` are the layouts of reasoning, `content` also that of an answer in several texts;
 * - `after` is the id of the reasoning an item came behind, `leads` says that such an item followed the reasoning;
 * - `length` is that of a text whose annotations count its characters.
 *
 * The neutral part goes first: a text, an output or an input changed since is what is sent.
 */
import type { Json, JsonObject } from '../../messages/json.ts'
import type { ProviderOptions } from '../../messages/message.ts'
import { keptFor, keptUnder } from '../wire.ts'

/** The name under which this form keeps its own things. */
export const RESPONSES = 'openai-responses'

/** Text, an image or a file, from whoever is not the model. */
export type ResponsesInputPart =
  | { type: 'input_text'; text: string }
  | {
      type: 'input_image'
      detail: 'low' | 'high' | 'auto' | 'original'
      image_url?: string | null
      file_id?: string | null
    }
  | { type: 'input_file'; file_data?: string; file_id?: string | null; file_url?: string; filename?: string }

/** What the model said. */
export type ResponsesOutputPart =
  | { type: 'output_text'; text: string; annotations: [] }
  | { type: 'refusal'; refusal: string }

/**
 * An item as the Responses API takes it: the kinds made here. An item that was read comes out as it was, whatever its
 * type and its further fields.
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

/** What a request says of a conversation: its items, or a text or items with the instructions before them. */
export type ResponsesInput =
  | readonly object[]
  | { readonly input: string | readonly object[]; readonly instructions?: unknown }

/** Who says a content. An answer of a tool is input too. */
export type Speaker = 'system' | 'user' | 'assistant' | 'tool'

/** What this form keeps with a part or a message. */
export type Own = { readonly [field: string]: Json | undefined }

/** What this form kept. */
export function ownOf(kept: JsonObject | ProviderOptions | undefined): Own | undefined {
  return keptFor(RESPONSES, kept)
}

/** What this form keeps with a part; nothing for no fields. */
export function keptAs(own: Own): { providerOptions?: ProviderOptions } {
  return keptUnder(RESPONSES, own)
}

/** A field under a name, where it says something. */
export function given(name: string, value: Json | undefined): JsonObject {
  const says = value !== undefined && !(typeof value === 'object' && value !== null && isNothing(value))
  return says ? { [name]: value } : {}
}

function isNothing(value: object): boolean {
  return !Array.isArray(value) && Object.keys(value).length === 0
}

/** A call of a tool: the item that answers it, and for tools of OpenAI's own their name and where the input stands. */
type CallKind = {
  readonly output: string
  readonly tool?: string
  readonly fields?: readonly string[]
  /** The API wants the item's id. */
  readonly needsId?: true
}

/** Items that ask the application to do something. Source: `ResponseInputItem` and `ResponseOutputItem` of `openai`. */
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

/** Types of the items that answer a call. */
export const OUTPUTS: ReadonlySet<Json | undefined> = new Set([...CALLS.values()].map(({ output }) => output))
