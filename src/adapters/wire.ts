/* The common part of the formats: checks of shape, data of images and files, and layouts of text blocks. */

import { invalid } from '../core/errors.ts'
import { imageTypeOf } from '../core/messages/images.ts'
import {
  canonicalJson,
  isObject,
  type Json,
  type JsonObject,
  jsonProblem,
  MAX_JSON_DEPTH,
  stringifyJson,
} from '../core/messages/json.ts'
import type { Message, ProviderOptions, ProviderPart } from '../core/messages/message.ts'

/** The elements of a list, holes included. Throws `INVALID_INPUT` for another value. */
export function listAt(value: unknown, path: string): readonly unknown[] {
  if (!Array.isArray(value)) throw invalid(`${path}: must be an array`)
  return Array.from(value as readonly unknown[])
}

/** Returns a value that is an object. Throws `INVALID_INPUT` otherwise. */
export function objectAt(value: unknown, path: string): JsonObject {
  if (!isObject(value)) throw invalid(`${path}: must be an object`)
  return value as JsonObject
}

/** Returns a value that is a string. Throws `INVALID_INPUT` otherwise. */
export function stringAt(value: unknown, path: string): string {
  if (typeof value !== 'string') throw invalid(`${path}: must be a string`)
  return value
}

/** The most fields a message may have: reading it visits all of them about ten times, and so does each later reader. */
const MAX_FIELDS = 10_000

/**
 * Returns a message as an object of JSON values; the same object if it already is one. Fields that are `undefined` count as absent at any
 * depth, as when a message is sent. Throws `INVALID_INPUT` for values that JSON cannot express, and for more than 10,000 fields.
 */
export function jsonMessageAt(value: unknown, path: string): JsonObject {
  const given = objectAt(value, path)
  let count = 0
  for (const _ in given)
    if (++count > MAX_FIELDS) throw invalid(`${path}: must have at most ${MAX_FIELDS} fields`)
  if (jsonProblem(given) === undefined) return given
  const message = { ...given }
  if (jsonProblem(message) === undefined) return message
  const sent = withoutUndefined(message) as JsonObject
  const problem = jsonProblem(sent)
  if (problem !== undefined) throw invalid(`${path}: contains ${problem}`)
  return sent
}

/** A value without fields that are `undefined`, at any depth. */
export function withoutUndefined(value: unknown, depth = 0): unknown {
  if (depth > MAX_JSON_DEPTH || typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((item) => withoutUndefined(item, depth + 1))
  const prototype = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return value
  const entries = Object.entries(value).filter(([, inner]) => inner !== undefined)
  return Object.fromEntries(entries.map(([key, inner]) => [key, withoutUndefined(inner, depth + 1)]))
}

/** Whether an object has no field at all. */
export function isEmpty(fields: JsonObject): boolean {
  for (const name in fields) if (Object.hasOwn(fields, name)) return false
  return true
}

/** The fields that a format keeps under its name in `metadata` or `providerOptions`; `undefined` if there are none. */
export function keptFor(
  provider: string,
  kept: JsonObject | ProviderOptions | undefined,
): JsonObject | undefined {
  const fields = kept?.[provider]
  return isObject(fields) ? fields : undefined
}

/**
 * Fields as options of a part, under a format's name, where `keptFor` finds them. Without fields there are no options, unless `mark`
 * identifies the part as the format's own.
 */
export function keptUnder(
  provider: string,
  fields: JsonObject,
  mark = false,
): { providerOptions?: ProviderOptions } {
  return isEmpty(fields) && !mark ? {} : { providerOptions: { [provider]: fields } }
}

/** A message with the fields that a format keeps under its name. Without fields there is no metadata, unless `mark` asks for it. */
export function keptMessage(
  format: string,
  role: Message['role'],
  content: Message['content'],
  fields: JsonObject,
  mark = false,
): Message {
  return isEmpty(fields) && !mark ? { role, content } : { role, content, metadata: { [format]: fields } }
}

/** An object with a field of this name, unless the value is undefined or an empty object. */
export function given(name: string, value: Json | undefined): JsonObject {
  return value === undefined || (isObject(value) && isEmpty(value)) ? {} : { [name]: value }
}

/**
 * The messages of a conversation: a list, or an object with the list and perhaps a system prompt. `place` is the beginning of the places of
 * the messages.
 */
export function conversationAt(
  input: unknown,
  systemField: string,
  listField: string,
): { readonly system: unknown; readonly list: readonly unknown[]; readonly place: string } {
  if (Array.isArray(input)) return { system: undefined, list: listAt(input, 'input'), place: '' }
  const { [systemField]: system, [listField]: list } = objectAt(input, 'input')
  return { system, list: listAt(list, listField), place: listField }
}

/**
 * Returns an object with another value in a field, or without the field for `undefined`. `at` is the path to the field, such as
 * `source.data`.
 */
export function replacedAt(block: object, at: string, value: unknown): object {
  const dot = at.indexOf('.')
  const name = dot === -1 ? at : at.slice(0, dot)
  const { [name]: own, ...others } = block as { readonly [field: string]: unknown }
  const now = dot === -1 ? value : replacedAt(isObject(own) ? own : {}, at.slice(dot + 1), value)
  return now === undefined ? others : { ...others, [name]: now }
}

/** The length of each block within the joined text, and its other fields. */
type TextLayout = readonly { readonly length: number; readonly fields?: JsonObject }[]

/** Whether a block is a readable text; `type` is the format's name for a text. */
export function isTextBlock(block: unknown, type = 'text'): block is JsonObject {
  return isObject(block) && block.type === type && typeof block.text === 'string'
}

/** Joins text blocks, and returns the layout that `textBlocks` needs to split them again. */
export function joinBlocks(
  blocks: readonly JsonObject[],
  path: string,
): { text: string; layout: TextLayout } {
  const texts: string[] = []
  const layout = blocks.map(({ type: _, text, ...fields }, i) => {
    const own = stringAt(text, `${path}[${i}].text`)
    texts.push(own)
    return { length: own.length, ...(isEmpty(fields) ? {} : { fields }) }
  })
  return { text: texts.join(''), layout }
}

/**
 * Splits a text into the blocks it was read from. A text of another length, because other content is shown instead, is one block. Returns
 * `undefined` if the layout isn't ours, or nothing is left to show.
 */
export function textBlocks(text: string, layout: Json | undefined): TextBlock[] | undefined {
  if (!Array.isArray(layout)) return undefined
  const parts = layout.map((entry: Json) => {
    const { length, fields } = isObject(entry) ? entry : {}
    return { length: typeof length === 'number' ? length : 0, fields: isObject(fields) ? fields : {} }
  })
  if (parts.reduce((sum, { length }) => sum + length, 0) !== text.length) {
    return text === '' ? undefined : [{ type: 'text', text, ...(parts.length === 1 ? parts[0]?.fields : {}) }]
  }
  let from = 0
  return parts.map(({ length, fields }) => {
    from += length
    return { type: 'text', text: text.slice(from - length, from), ...fields }
  })
}

export type TextBlock = { type: 'text'; text: string; [field: string]: Json | undefined }

/** The bytes of an image or a file as base64, or its address. */
export type Media =
  | { readonly url: string }
  | { readonly base64: string; readonly mediaType: string | undefined }

/** Reads the data of an image or file part: a URL, a data URL, base64 or bytes. A stated media type takes precedence. */
export function mediaOf(data: string | Uint8Array, stated: string | undefined): Media {
  const known = stated?.endsWith('/*') ? undefined : stated
  if (typeof data !== 'string') {
    const base64 = Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64')
    return { base64, mediaType: known ?? imageTypeOf(base64) }
  }
  const comma = /^data:/i.test(data) ? data.indexOf(',') : -1
  if (comma !== -1) {
    const head = data.slice('data:'.length, comma)
    const body = data.slice(comma + 1)
    const base64 = /;base64$/i.test(head) ? body : Buffer.from(percentDecoded(body)).toString('base64')
    return { base64, mediaType: known ?? (head.split(';', 1)[0] || imageTypeOf(base64)) }
  }
  if (hasScheme(data)) return { url: data }
  return { base64: data, mediaType: known ?? imageTypeOf(data) }
}

/** Whether a text is an address with a scheme; any other text is read as base64. */
export function hasScheme(text: string): boolean {
  return /^[a-z][a-z0-9+.-]*:/i.test(text.slice(0, 100))
}

function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text // a stray percent sign: the unchanged text
  }
}

/** Arguments as a value: an empty object for blank text, and the text itself when it is not JSON. */
export function parsedArguments(text: string): Json {
  if (text.trim() === '') return {}
  try {
    const value = JSON.parse(text) as Json
    return jsonProblem(value) === undefined ? value : text
  } catch {
    return text // a model's slip, or a call cut off by the limit of tokens
  }
}

/**
 * Returns arguments as a value, and their text as `raw` if `JSON.stringify` would write a different text: `argumentsText` needs `raw` to
 * write the same bytes again.
 */
export function readArguments(text: string): { input: Json; raw: { arguments?: string } } {
  const input = parsedArguments(text)
  return { input, raw: stringifyJson(input) === text ? {} : { arguments: text } }
}

/** Returns an input as the text of arguments: the original text as long as it still means the same input. */
export function argumentsText(input: Json, raw: Json | undefined): string {
  const isSame = typeof raw === 'string' && canonicalJson(parsedArguments(raw)) === canonicalJson(input)
  return isSame ? raw : stringifyJson(input)
}

/** A message that was read, or a message of this role that holds only an unread part. */
export function messageRead(read: Message | ProviderPart, role: Message['role'] = 'user'): Message {
  return 'role' in read ? read : { role, content: [read] }
}
