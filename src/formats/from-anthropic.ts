import { isDeepStrictEqual } from 'node:util'
import { invalid } from '../core/check.ts'
import type { Json, JsonObject } from '../core/json.ts'
import type {
  FilePart,
  ImagePart,
  Message,
  Part,
  ProviderPart,
  ToolResultContent,
  ToolResultOutput,
  ToolResultPart,
} from '../core/message.ts'
import { ANTHROPIC, type Place } from './anthropic-types.ts'
import { mediaBlock } from './to-anthropic.ts'
import {
  isBlank,
  isEmpty,
  isObject,
  isResult,
  joinBlocks,
  jsonMessageAt,
  listAt,
  objectAt,
  stringAt,
} from './wire.ts'

/**
 * Messages of Anthropic's in the neutral form, ready to be appended: a list of messages, or an object with
 * `messages` and perhaps `system`, which becomes a leading system message. Other fields of such an object (the
 * model, the tools) are no conversation and are not kept.
 *
 * A user message of nothing but tool results gets the role `tool`. Each result learns the name of its tool from
 * the nearest earlier call with its id. Nothing given is changed; values are shared with it.
 *
 * Throws `INVALID_INPUT`, with the place and without the text, for a message or block the API has no meaning for.
 */
export function fromAnthropic(
  input: readonly object[] | { readonly messages: readonly object[]; readonly system?: unknown },
): Message[] {
  const list = Array.isArray(input)
  const { system, messages } = list ? { system: undefined, messages: input } : objectAt(input, 'input')
  const nameOfCall = new Map<string, string>()
  const turns = listAt(messages, list ? 'input' : 'messages').map((message, i) =>
    fromMessage(
      jsonMessageAt(message, `${list ? '' : 'messages'}[${i}]`),
      `${list ? '' : 'messages'}[${i}]`,
      nameOfCall,
    ),
  )
  if (system === undefined) return turns
  const { content } = jsonMessageAt({ content: system }, 'system')
  return [{ role: 'system', ...fromContent(content, 'system', 'system', nameOfCall, {}) }, ...turns]
}

function fromMessage(message: JsonObject, path: string, nameOfCall: Map<string, string>): Message {
  const { role, content, ...extra } = message
  if (role !== 'user' && role !== 'assistant') throw invalid(`${path}.role: must be user or assistant`)
  const read = fromContent(content, role, `${path}.content`, nameOfCall, extra)
  const { content: parts } = read
  const answers = typeof parts !== 'string' && parts.length > 0 && parts.every(isResult)
  return { role: answers ? 'tool' : role, ...read }
}

function fromContent(
  content: Json | undefined,
  place: Place,
  path: string,
  nameOfCall: Map<string, string>,
  extra: JsonObject,
): { content: string | Part[]; metadata?: JsonObject } {
  const read =
    typeof content === 'string'
      ? content
      : listAt(content, path).map((block, i) =>
          fromBlock(objectAt(block, `${path}[${i}]`), place, `${path}[${i}]`, nameOfCall),
        )
  const nothing = typeof read === 'string' ? isBlank(read) : read.length === 0
  return isEmpty(extra) && !nothing ? { content: read } : { content: read, metadata: { [ANTHROPIC]: extra } }
}

function fromBlock(block: JsonObject, place: Place, path: string, nameOfCall: Map<string, string>): Part {
  switch (block.type) {
    case 'tool_use': {
      if (place !== 'assistant') throw invalid(`${path}: a tool_use must stand in an assistant message`)
      const { type: _, id, name, input, ...extra } = block
      if (input === undefined) throw invalid(`${path}.input: is missing`)
      const call = { toolCallId: stringAt(id, `${path}.id`), toolName: stringAt(name, `${path}.name`), input }
      nameOfCall.set(call.toolCallId, call.toolName)
      return { type: 'tool-call', ...call, ...kept(extra, !isObject(input)) }
    }
    case 'tool_result':
      if (place !== 'user') throw invalid(`${path}: a tool_result must stand in a user message`)
      return fromResult(block, path, nameOfCall)
    case 'thinking': {
      const { type: _, thinking, ...extra } = block
      const text = stringAt(thinking, `${path}.thinking`)
      return typeof extra.signature === 'string' ? { type: 'reasoning', text, ...kept(extra) } : opaque(block)
    }
    default:
      return fromSimpleBlock(block, place, path)
  }
}

/** The blocks that may also stand within a tool result. */
function fromSimpleBlock(block: JsonObject, place: Place, path: string): ToolResultContent {
  const type = stringAt(block.type, `${path}.type`)
  if (type === 'text') {
    const { type: _, text, ...extra } = block
    const own = stringAt(text, `${path}.text`)
    return { type: 'text', text: own, ...kept(extra, isBlank(own)) }
  }
  if (place === 'user' && (type === 'image' || type === 'document')) {
    const part = type === 'image' ? fromImage(block) : fromDocument(block)
    if (part !== undefined && isDeepStrictEqual(mediaBlock(part), block)) return part
  }
  return opaque(block)
}

function fromResult(block: JsonObject, path: string, nameOfCall: Map<string, string>): ToolResultPart {
  const { type: _, tool_use_id, content, is_error, ...extra } = block
  const toolCallId = stringAt(tool_use_id, `${path}.tool_use_id`)
  const toolName = nameOfCall.get(toolCallId)
  const failed = is_error === true
  const { output, layout } = fromResultContent(content, failed, `${path}.content`)
  const fields = {
    ...extra,
    ...(layout === undefined ? {} : { content: layout }),
    ...(is_error === undefined || failed ? {} : { is_error }),
  }
  return {
    type: 'tool-result',
    toolCallId,
    ...(toolName === undefined ? {} : { toolName }),
    output,
    ...kept(fields),
  }
}

function fromResultContent(
  content: Json | undefined,
  failed: boolean,
  path: string,
): { output: ToolResultOutput; layout?: Json } {
  const type = failed ? 'error-text' : 'text'
  if (content === undefined) return { output: { type, value: '' }, layout: null }
  if (typeof content === 'string') return { output: { type, value: content } }
  const blocks = listAt(content, path).map((block, i) => objectAt(block, `${path}[${i}]`))
  if (blocks.every((block) => block.type === 'text')) {
    const { text, layout } = joinBlocks(blocks, path)
    return { output: { type, value: text }, layout }
  }
  const value = blocks.map((block, i) => fromSimpleBlock(block, 'user', `${path}[${i}]`))
  return { output: { type: 'content', value, ...(failed ? { isError: true } : {}) } }
}

/** An image whose bytes or address we can hold. Others (a file id) stay blocks. */
function fromImage({ type: _, source, ...extra }: JsonObject): ImagePart | undefined {
  if (!isObject(source)) return undefined
  const { data, media_type, url } = source
  if (typeof data === 'string' && typeof media_type === 'string') {
    return { type: 'image', image: data, mediaType: media_type, ...kept(extra) }
  }
  return typeof url === 'string' ? { type: 'image', image: url, ...kept(extra) } : undefined
}

/** A document whose bytes or address we can hold; plain text is held as base64. Others stay blocks. */
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

function opaque(block: JsonObject): ProviderPart {
  return { type: 'provider', provider: ANTHROPIC, data: block }
}

/** Fields as provider options; nothing for no fields, unless the part must be known as Anthropic's own. */
function kept(fields: JsonObject, mark = false): { providerOptions?: { [ANTHROPIC]: JsonObject } } {
  return isEmpty(fields) && !mark ? {} : { providerOptions: { [ANTHROPIC]: fields } }
}
