import { isDeepStrictEqual } from 'node:util'
import { invalid } from '../../errors.ts'
import { type Json, type JsonObject, jsonProblem } from '../../messages/json.ts'
import { asJson } from '../conversion.ts'
import { isObject, jsonMessageAt, objectAt, stringAt } from '../wire.ts'
import { isChunkClass, type LangChainBlock, TYPE_OF_CLASS } from './types.ts'

/** A message in whichever form it came: its type, its fields, and its class where that says more than the type. */
export type Envelope = {
  readonly type: string
  readonly className: string | undefined
  readonly data: JsonObject
  /** The blocks of a content that is a list; bytes in their `data` are let through. */
  readonly blocks: readonly unknown[] | undefined
  /** Whether `content_blocks` stands there as well: beside the same content, or alone. */
  readonly blocksBeside: 'same' | 'alone' | undefined
}

/** Fields of the classes of messages. An instance may hold others, which it was made with. */
const FIELDS = [
  'id',
  'name',
  'additional_kwargs',
  'response_metadata',
  'tool_calls',
  'invalid_tool_calls',
  'tool_call_chunks',
  'usage_metadata',
  'tool_call_id',
  'status',
  'artifact',
  'metadata',
  'role',
] as const

/** What an instance carries beside its fields. */
const NOT_FIELDS = new Set<string>([...FIELDS, 'content', 'type', 'contentBlocks', 'text'])

/** Fields nobody sends to a model: a date or a class in one of them is told as far as JSON can say it. */
const ASIDE = ['artifact', 'additional_kwargs', 'response_metadata', 'metadata']

type Fields = { readonly [name: string]: unknown }

/**
 * Opens a message of LangChain's: an instance, `{ type, data }`, the form of its first version `{ type, text, role }`, its
 * serialized constructor `{ lc: 1, type: 'constructor', id, kwargs }`, or its bare fields with a `type`. `inexact` hears
 * of fields that JSON cannot say exactly. Throws `INVALID_INPUT` for anything else, and for fields a model is sent that
 * JSON cannot say.
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
    if (!isSaid(field)) inexact(`${path}.${name}`)
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

/** Whether JSON says a value exactly once what is undefined counts as absent. */
function isSaid(value: unknown): boolean {
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
    return { type: stringAt(type, `${path}.type`), className: id, fields: fieldsOf(message) }
  }
  if (message.lc === 1) {
    const className: unknown = Array.isArray(message.id) ? message.id.at(-1) : undefined
    const type = TYPE_OF_CLASS.get(String(className))
    if (message.type !== 'constructor' || type === undefined)
      throw invalid(`${path}.id: must name a class of message`)
    return { type, className, fields: withoutType(objectAt(message.kwargs, `${path}.kwargs`)) }
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

function withoutType({ type: _, ...fields }: Fields): Fields {
  return fields
}

/** The fields of an instance: what its class declares, and what else it was made with. */
function fieldsOf(message: Fields): Fields {
  const fields: { [name: string]: unknown } = { content: message.content }
  for (const name of FIELDS) if (message[name] !== undefined) fields[name] = message[name]
  if (!isObject(message.lc_kwargs)) return fields
  for (const [name, value] of Object.entries(message.lc_kwargs as Fields)) {
    if (!NOT_FIELDS.has(name) && !name.startsWith('lc_')) fields[name] = value
  }
  return fields
}

/** A block as a fresh object; bytes stay bytes in `data`. Throws `INVALID_INPUT` for what JSON cannot say. */
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
