import { isDeepStrictEqual } from 'node:util'
import { invalid } from '../../core/errors.ts'
import { isObject, type Json, type JsonObject, jsonProblem } from '../../core/messages/json.ts'
import { asJson } from '../conversion.ts'
import { jsonMessageAt, objectAt, stringAt } from '../wire.ts'

/** A message of any form: its type, its fields, and its class if the type doesn't determine it. */
export type Envelope = {
  readonly type: string
  readonly className: string | undefined
  readonly data: JsonObject
  /** The blocks of a content that is a list; their `data` may be bytes. */
  readonly blocks: readonly unknown[] | undefined
  /** Whether it has `content_blocks`: besides the same content, or alone. */
  readonly blocksBeside: 'same' | 'alone' | undefined
}

/** Properties of an instance that are not fields. */
const NOT_FIELDS = new Set(['type', 'contentBlocks', 'text'])

/** Fields that are not sent to a model: a date or a class in one of them is kept as far as JSON allows. */
const ASIDE = ['artifact', 'additional_kwargs', 'response_metadata', 'metadata']

type Fields = { readonly [name: string]: unknown }

/**
 * Opens a LangChain message: an instance, `{ type, data }`, the form of its first version `{ type, text, role }`, its serialized
 * constructor `{ lc: 1, type: 'constructor', id, kwargs }`, or its bare fields with a `type`. `inexact` is called with fields that are
 * not exactly JSON. Throws `INVALID_INPUT` for anything else, and for fields sent to a model that are not JSON.
 */
export function openEnvelope(value: unknown, path: string, inexact: (place: string) => void): Envelope {
  const message: Fields = objectAt(value, path)
  const { type, className, fields } = contentsOf(message, path)
  const { content, content_blocks, ...rest } = fields
  const data: { [name: string]: unknown } = {}
  for (const [name, field] of Object.entries(rest)) {
    if (field === undefined) continue
    data[name] = field
    if (!ASIDE.includes(name) || jsonProblem(field) === undefined) continue
    data[name] = asJson(field)
    if (!isExact(field)) inexact(`${path}.${name}`)
  }
  const isAlone = content === undefined && Array.isArray(content_blocks)
  const held = isAlone ? content_blocks : content
  const isSame = !isAlone && Array.isArray(content) && isDeepStrictEqual(content, content_blocks)
  if (content_blocks !== undefined && !isAlone && !isSame) data.content_blocks = content_blocks
  const blocks = Array.isArray(held) ? (held as readonly unknown[]) : undefined
  if (blocks === undefined && content !== undefined) data.content = content
  return {
    type,
    className: isChunkClass(className) ? className : undefined,
    data: jsonMessageAt(data, path),
    blocks,
    blocksBeside: isAlone ? 'alone' : isSame ? 'same' : undefined,
  }
}

/** Whether a value is JSON when `undefined` counts as absent. */
function isExact(value: unknown): boolean {
  try {
    jsonMessageAt({ value }, '')
    return true
  } catch {
    return false
  }
}

function contentsOf(message: Fields, path: string): { type: string; className: unknown; fields: Fields } {
  const getType = message.getType ?? message._getType
  if (typeof getType === 'function') {
    const type: unknown = getType.call(message)
    const id = Array.isArray(message.lc_id) ? (message.lc_id.at(-1) as unknown) : undefined
    return { type: stringAt(type, `${path}.type`), className: id, fields: messageFields(message) }
  }
  if (message.lc === 1) {
    const className: unknown = Array.isArray(message.id) ? message.id.at(-1) : undefined
    const type = TYPE_OF_CLASS.get(className)
    if (message.type !== 'constructor' || type === undefined)
      throw invalid(`${path}.id: must name a message class`)
    const { type: _, ...fields }: Fields = objectAt(message.kwargs, `${path}.kwargs`)
    return { type, className, fields }
  }
  const { type: given, data, ...rest } = message
  const type = stringAt(given, `${path}.type`)
  if (data !== undefined) return { type, className: undefined, fields: objectAt(data, `${path}.data`) }
  if (typeof rest.text === 'string' && rest.content === undefined) {
    const { text, ...others } = rest
    return { type, className: undefined, fields: { content: text, ...others } }
  }
  return { type, className: undefined, fields: rest }
}

/** The fields of an instance: its own, and others from its constructor. */
function messageFields(message: Fields): Fields {
  const given = isObject(message.lc_kwargs) ? message.lc_kwargs : {}
  const isField = ([name, value]: [string, unknown]): boolean =>
    value !== undefined && !NOT_FIELDS.has(name) && !name.startsWith('lc_')
  return Object.fromEntries(Object.entries({ ...given, ...message }).filter(isField))
}

/** A block as a fresh object; bytes stay bytes in `data`. Throws `INVALID_INPUT` for other values that are not JSON. */
export function blockAt(value: unknown, path: string): LangChainBlock {
  const { data, ...rest }: Fields = objectAt(value, path)
  if (data instanceof Uint8Array) return { ...(jsonMessageAt(rest, path) as LangChainBlock), data }
  return jsonMessageAt(value, path) as LangChainBlock
}

/** A block that must be JSON throughout. */
export function jsonBlock(block: LangChainBlock, path: string): JsonObject {
  if (block.data instanceof Uint8Array) throw invalid(`${path}.data: must be base64`)
  return block as { [field: string]: Json | undefined }
}

/*
 * Messages in the form of LangChain's `@langchain/core` 1, recognized by their shape: nothing of the package is imported here. A
 * message that was read is written again unchanged.
 *
 * Everything without a place in the neutral form is kept under the name `langchain`: fields of a message in `metadata` (of a tool's message
 * in the `providerOptions` of its result), fields of a block or call in `providerOptions`, whole blocks as provider parts. Reserved names
 * there:
 *
 * - `form` of a message or result: `type` and `class` if they don't follow from the role; `content` is the shape of the content if it
 *   doesn't follow from the parts; `without` names usual fields that were absent; `order` is the order of `tool_calls` if it isn't the
 *   order of the parts; `blocks` records that `content_blocks` repeats the content, or was alone; `field` is the message's own field named
 *   `form`;
 * - `type` of a reasoning: the type of its block;
 * - `in` of an image or file: the path to the data within its block, which is kept without the data;
 * - `call`, `block`, `from` of a call: further fields of its entry in `tool_calls`, its block in the content, and where else it was.
 *
 * The neutral part takes precedence: if an output or a text has changed since, the new one is written.
 */

/** The name under which this form keeps its own fields. */
export const LANGCHAIN = 'langchain'

/** A block of content: its type, and whatever fields that type has. Only `data` may be bytes. */
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

/** What the role and the parts of a message do not determine. */
export type MessageForm = {
  readonly type?: Json
  readonly class?: Json
  readonly content?: Json
  readonly without?: Json
  readonly order?: Json
  readonly blocks?: Json
  readonly field?: Json
}

/** Types of messages by the names of their classes, without `RemoveMessage`. */
const TYPES = Object.entries({
  HumanMessage: 'human',
  AIMessage: 'ai',
  SystemMessage: 'system',
  ToolMessage: 'tool',
  FunctionMessage: 'function',
  ChatMessage: 'generic',
})

/** Classes of pieces of a streamed message. The stored form does not show them. */
const CHUNKS: ReadonlyMap<unknown, string> = new Map(TYPES.map(([name, type]) => [`${name}Chunk`, type]))

const TYPE_OF_CLASS: ReadonlyMap<unknown, string> = new Map([
  ...TYPES,
  ...CHUNKS,
  ['RemoveMessage', 'remove'],
] as [unknown, string][])

/** Whether a class is one of a streamed piece. */
export function isChunkClass(name: unknown): name is string {
  return CHUNKS.has(name)
}

/** The fields every message of a type has, with their empty values. */
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
