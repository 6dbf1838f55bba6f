import { isDeepStrictEqual } from 'node:util'
import { invalid } from '../../core/errors.ts'
import { isBlank } from '../../core/messages/characters.ts'
import { readable } from '../../core/messages/check.ts'
import { defined, isObject, type Json, type JsonObject } from '../../core/messages/json.ts'
import type {
  FilePart,
  ImagePart,
  Message,
  Part,
  ProviderPart,
  ToolResultContent,
  ToolResultPart,
} from '../../core/messages/message.ts'
import { isResult } from '../../core/messages/message.ts'
import { base64At, Conversion, type ConversionOptions } from '../conversion.ts'
import { fields, flag, nullish, oneOf, required, type Shape, text } from '../shapes.ts'
import { conversationAt, isEmpty, jsonMessageAt, keptUnder, listAt, messageRead, stringAt } from '../wire.ts'
import { ANTHROPIC, mediaBlock, type Place } from './blocks.ts'

/*
 * Required fields of blocks of the Messages API. Source: `ContentBlockParam` of `@anthropic-ai/sdk` and the
 * types it names; for blocks of betas, their pages. Only fields that a block cannot do without are checked.
 */

const textOrList: Shape = (value, path) => (typeof value === 'string' ? value : listAt(value, path))

/** Sources of images and documents by type. Unknown types are not checked. */
const SOURCES: ReadonlyMap<unknown, Shape> = new Map<unknown, Shape>([
  ['base64', fields({ media_type: text, data: base64At })],
  ['text', fields({ media_type: text, data: text })],
  ['url', fields({ url: text })],
  ['file', fields({ file_id: text })],
  ['content', fields({ content: textOrList })],
])

const source: Shape = (value, path) => {
  const { type } = fields({ type: text })(value, path)
  return SOURCES.get(type)?.(value, path)
}

const kept = (fields: JsonObject, mark = false) => keptUnder(ANTHROPIC, fields, mark)

const CALL = fields({ id: text, name: text, input: required })
const RESULT = fields({ tool_use_id: text })

const BLOCKS: ReadonlyMap<unknown, Shape> = new Map<unknown, Shape>([
  ['text', fields({ text })],
  ['image', fields({ source })],
  ['document', fields({ source, title: nullish(text), context: nullish(text) })],
  ['search_result', fields({ source: text, title: text, content: listAt })],
  ['thinking', fields({ thinking: text, signature: nullish(text) })],
  ['redacted_thinking', fields({ data: text })],
  ['tool_use', CALL],
  ['tool_result', fields({ tool_use_id: text, is_error: nullish(flag) })],
  ['server_tool_use', CALL],
  ['mcp_tool_use', CALL],
  ['web_search_tool_result', RESULT],
  ['web_fetch_tool_result', RESULT],
  ['code_execution_tool_result', RESULT],
  ['bash_code_execution_tool_result', RESULT],
  ['text_editor_code_execution_tool_result', RESULT],
  ['tool_search_tool_result', RESULT],
  ['mcp_tool_result', RESULT],
  ['container_upload', fields({ file_id: text })],
  ['tool_reference', fields({ tool_name: text })],
  ['browser_state', fields({ tabs: listAt })],
  ['compaction', fields({ content: nullish(text) })],
])

/** Throws `INVALID_INPUT`, which names the place and the rule, for a block without a type or without a required field. */
function checkBlock(block: JsonObject, path: string): void {
  BLOCKS.get(text(block.type, `${path}.type`))?.(block, path)
}

/**
 * Converts messages of Anthropic to neutral messages, ready to be appended: a list of messages, or an object
 * with `messages` and perhaps `system`, which becomes a leading system message. Other fields of such an object
 * (the model, the tools) are not kept. A response of the API (`Message`) is a message as well.
 *
 * A user message that holds only tool results gets the role `tool`. Each result gets the tool name of the nearest earlier call with its id.
 * Blocks without a neutral form and blocks of unknown types are kept whole and reported (`kept`). The input is not modified; values are
 * shared with it.
 *
 * Throws `INVALID_INPUT`, which names the place and the rule and never quotes the text, for a role that the API doesn't have, a block
 * without a required field (a call without an id, a result without `tool_use_id`), bytes that are not base64, and values that JSON cannot
 * express. With `lenient`, such a block is kept as an unread part, and such a message becomes a user message with an unread part.
 */
export function fromAnthropic(
  input: readonly object[] | { readonly messages: readonly object[]; readonly system?: unknown },
  options?: ConversionOptions,
): Message[] {
  return readable('fromAnthropic', () => {
    const reader = anthropicReader(options)
    const { system, list, place } = conversationAt(input, 'system', 'messages')
    const leading = system === undefined ? [] : [reader.system(system)]
    return [...leading, ...list.map((message, i) => reader.message(message, i, `${place}[${i}]`))]
  })
}

/**
 * `fromAnthropic` for messages that arrive one by one, in order: it remembers the calls. `path` is the place of
 * the message in errors and notes.
 */
export function anthropicReader(options?: ConversionOptions): {
  system(system: unknown): Message
  message(message: unknown, index: number, path: string): Message
} {
  const conversion = new Conversion(ANTHROPIC, options)
  return {
    system: (system) => fromSystem(system, conversion),
    message: (message, index, path) =>
      conversion.message(message, index, path, (fields) => fromMessage(fields, path, conversion)),
  }
}

function fromSystem(system: unknown, conversion: Conversion): Message {
  const read = conversion.reading(system, 'system', (): Message => {
    const { content } = jsonMessageAt({ content: system }, 'system')
    return { role: 'system', ...fromContent(content, 'system', 'system', conversion, {}) }
  })
  return messageRead(read, 'system')
}

function fromMessage({ role, content, ...extra }: JsonObject, path: string, conversion: Conversion): Message {
  const author = oneOf('user', 'assistant')(role, `${path}.role`)
  const value = fromContent(content, author, `${path}.content`, conversion, extra)
  const { content: parts } = value
  const isAnswer = typeof parts !== 'string' && parts.length > 0 && parts.every(isResult)
  return { role: isAnswer ? 'tool' : author, ...value }
}

function fromContent(
  content: Json | undefined,
  place: Place,
  path: string,
  conversion: Conversion,
  extra: JsonObject,
): { content: string | Part[]; metadata?: JsonObject } {
  const read =
    typeof content === 'string'
      ? content
      : conversion.parts(content, path, (block, at) => fromBlock(block, place, at, conversion))
  const nothing = typeof read === 'string' ? isBlank(read) : read.length === 0
  return isEmpty(extra) && !nothing ? { content: read } : { content: read, metadata: { [ANTHROPIC]: extra } }
}

function fromBlock(block: JsonObject, place: Place, path: string, conversion: Conversion): Part {
  checkBlock(block, path)
  switch (block.type) {
    case 'tool_use': {
      if (place !== 'assistant') throw invalid(`${path}: a tool_use must be in an assistant message`)
      const { type: _, id, name, input = null, ...extra } = block
      const call = { toolCallId: stringAt(id, `${path}.id`), toolName: stringAt(name, `${path}.name`), input }
      conversion.toolNames.set(call.toolCallId, call.toolName)
      return { type: 'tool-call', ...call, ...kept(extra, !isObject(input)) }
    }
    case 'tool_result':
      if (place !== 'user') throw invalid(`${path}: a tool_result must be in a user message`)
      return fromResult(block, path, conversion)
    case 'thinking': {
      const { type: _, thinking, ...extra } = block
      const text = stringAt(thinking, `${path}.thinking`)
      if (typeof extra.signature !== 'string') return opaque(block, path, conversion)
      return { type: 'reasoning', text, ...kept(extra) }
    }
    default:
      return fromSimpleBlock(block, place, path, conversion)
  }
}

/** The blocks that a tool result may hold too. */
function fromSimpleBlock(
  block: JsonObject,
  place: Place,
  path: string,
  conversion: Conversion,
): ToolResultContent {
  if (block.type === 'text') {
    const { type: _, text: given, ...extra } = block
    const own = stringAt(given, `${path}.text`)
    return { type: 'text', text: own, ...kept(extra, isBlank(own)) }
  }
  if (place === 'user' && (block.type === 'image' || block.type === 'document')) {
    const part = block.type === 'image' ? fromImage(block) : fromDocument(block)
    if (part !== undefined && isDeepStrictEqual(mediaBlock(part), block)) return part
  }
  return opaque(block, path, conversion)
}

function fromResult(block: JsonObject, path: string, conversion: Conversion): ToolResultPart {
  const { type: _, tool_use_id, content, is_error, ...extra } = block
  const toolCallId = stringAt(tool_use_id, `${path}.tool_use_id`)
  const failed = is_error === true
  const read = (item: JsonObject, at: string): ToolResultContent => {
    checkBlock(item, at)
    return fromSimpleBlock(item, 'user', at, conversion)
  }
  const { output, layout } = conversion.result(
    content === undefined ? '' : content,
    `${path}.content`,
    read,
    { failed },
  )
  const fields = {
    ...extra,
    ...defined({
      content: content === undefined ? null : layout,
      is_error: failed ? undefined : is_error,
    }),
  }
  return {
    type: 'tool-result',
    toolCallId,
    ...defined({ toolName: conversion.toolNames.get(toolCallId) }),
    output,
    ...kept(fields, failed && content === ''),
  }
}

/** An image whose bytes or address a neutral part can hold. Others (a file id) are kept whole. */
function fromImage({ type: _, source, ...extra }: JsonObject): ImagePart | undefined {
  if (!isObject(source)) return undefined
  const { data, media_type, url } = source
  if (typeof data === 'string' && typeof media_type === 'string') {
    return { type: 'image', image: data, mediaType: media_type, ...kept(extra) }
  }
  return typeof url === 'string' ? { type: 'image', image: url, ...kept(extra) } : undefined
}

/** A document whose bytes or address a neutral part can hold; plain text is held as base64. Others are kept whole. */
function fromDocument({ type: _, source, title, ...rest }: JsonObject): FilePart | undefined {
  if (!isObject(source)) return undefined
  const named = typeof title === 'string' ? { filename: title } : {}
  const extra = title === undefined || typeof title === 'string' ? rest : { ...rest, title }
  const { data, media_type, url } = source
  if (typeof data === 'string' && typeof media_type === 'string') {
    const base64 = source.type === 'text' ? Buffer.from(data).toString('base64') : data
    return { type: 'file', data: base64, mediaType: media_type, ...named, ...kept(extra) }
  }
  if (typeof url !== 'string') return undefined
  return { type: 'file', data: url, mediaType: 'application/pdf', ...named, ...kept(extra) }
}

function opaque(block: JsonObject, path: string, conversion: Conversion): ProviderPart {
  // The names of unknown types are not repeated in notes.
  const what = BLOCKS.has(block.type) ? `this ${block.type} block` : 'a block of an unknown type'
  return conversion.keep(ANTHROPIC, block, path, `the neutral form has no part for ${what}`)
}
