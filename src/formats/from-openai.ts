import { isDeepStrictEqual } from 'node:util'
import { invalid } from '../core/check.ts'
import { type Json, type JsonObject, stringifyJson } from '../core/json.ts'
import type {
  FilePart,
  ImagePart,
  Message,
  Part,
  ProviderPart,
  TextPart,
  ToolCallPart,
  ToolResultOutput,
  ToolResultPart,
} from '../core/message.ts'
import { OPENAI } from './openai-types.ts'
import { mediaPart } from './to-openai.ts'
import {
  isEmpty,
  isObject,
  joinBlocks,
  jsonMessageAt,
  listAt,
  mediaOf,
  objectAt,
  parsedArguments,
  stringAt,
} from './wire.ts'

/** What is known of the calls so far: names by id, and the ids given to calls of the old kind, which have none. */
type Calls = { names: Map<string, string>; legacyCounts: Map<string, number>; legacyIds: Map<string, string> }

/**
 * Messages of OpenAI's in the neutral form, ready to be appended. `developer` becomes the role `system`,
 * `function` the role `tool`; calls of the old kind get an id made from the function's name. Arguments that are
 * no JSON stay a string. A `compaction` item of the Responses API becomes an assistant message. Each result learns the name of its tool from the nearest earlier call with its id.
 * Nothing given is changed; values are shared with it.
 *
 * Throws `INVALID_INPUT`, with the place and without the text, for a message the API has no meaning for.
 */
export function fromOpenAI(input: readonly object[]): Message[] {
  const calls: Calls = { names: new Map(), legacyCounts: new Map(), legacyIds: new Map() }
  return listAt(input, 'input').map((message, i) =>
    fromMessage(jsonMessageAt(message, `[${i}]`), `[${i}]`, calls),
  )
}

function fromMessage(message: JsonObject, path: string, calls: Calls): Message {
  const { role, content, ...extra } = message
  // The Responses API puts its compaction into the list as an item of its own, which nobody speaks.
  if (role === undefined && message.type === 'compaction') {
    stringAt(message.encrypted_content, `${path}.encrypted_content`)
    return { role: 'assistant', content: [opaque(message)] }
  }
  switch (role) {
    case 'tool':
      return { role: 'tool', content: [fromToolMessage(message, path, calls)] }
    case 'function':
      return { role: 'tool', content: [fromFunctionMessage(message, path, calls)] }
    case 'assistant':
      return fromAssistant(message, path, calls)
    case 'system':
    case 'developer':
    case 'user': {
      const parts = fromContent(content, role === 'user', `${path}.content`)
      const fields = { ...extra, ...(role === 'developer' ? { role } : {}), ...shapeOf(content) }
      return withMetadata(role === 'user' ? 'user' : 'system', parts, fields)
    }
    default:
      throw invalid(`${path}.role: must be system, developer, user, assistant, tool or function`)
  }
}

function fromAssistant(message: JsonObject, path: string, calls: Calls): Message {
  const { role: _, content, reasoning_content, refusal, tool_calls, function_call, ...extra } = message
  const said = fromContent(content, false, `${path}.content`)
  const before: Part[] = []
  const after: Part[] = []
  const unused: { [field: string]: Json } = {}

  if (typeof reasoning_content === 'string') {
    before.push({ type: 'reasoning', text: reasoning_content, ...kept({ type: 'reasoning_content' }) })
  } else if (reasoning_content !== undefined) unused.reasoning_content = reasoning_content

  if (typeof refusal === 'string') {
    after.push({ type: 'text', text: refusal, ...kept({ type: 'message_refusal' }) })
  } else if (refusal !== undefined) unused.refusal = refusal

  if (Array.isArray(tool_calls) && tool_calls.length > 0) {
    after.push(...tool_calls.map((call: Json, i) => fromCall(call, `${path}.tool_calls[${i}]`, calls)))
  } else if (tool_calls !== undefined) unused.tool_calls = tool_calls

  if (isObject(function_call)) {
    after.push(fromLegacyCall(function_call, `${path}.function_call`, calls))
  } else if (function_call !== undefined) unused.function_call = function_call

  const alone = before.length + after.length === 0
  const parts: readonly Part[] = typeof said === 'string' ? [{ type: 'text', text: said }] : said
  const fields = { ...extra, ...unused, ...shapeOfAssistant(content, alone) }
  return withMetadata('assistant', alone ? said : [...before, ...parts, ...after], fields)
}

/** Null is what content is anyway where there is no text, unless the message has nothing at all. */
function shapeOfAssistant(content: Json | undefined, alone: boolean): JsonObject {
  if (Array.isArray(content)) return { content: 'parts' }
  return content === null && !alone ? {} : shapeOf(content)
}

function fromContent(content: Json | undefined, isUser: boolean, path: string): string | Part[] {
  if (typeof content === 'string') return content
  if (content === null || content === undefined) return []
  return listAt(content, path).map((part, i) =>
    fromPart(objectAt(part, `${path}[${i}]`), isUser, `${path}[${i}]`),
  )
}

/** What a content was that has left no parts. */
function shapeOf(content: Json | undefined): JsonObject {
  if (content === null) return { content: null }
  if (content === undefined) return { content: 'absent' }
  return Array.isArray(content) && content.length === 0 ? { content: 'parts' } : {}
}

function fromPart(
  part: JsonObject,
  isUser: boolean,
  path: string,
): TextPart | ImagePart | FilePart | ProviderPart {
  const kind = stringAt(part.type, `${path}.type`)
  if (kind === 'text') {
    const { type: _, text, ...extra } = part
    return { type: 'text', text: stringAt(text, `${path}.text`), ...kept(extra) }
  }
  if (kind === 'refusal') {
    const { type, refusal, ...extra } = part
    return { type: 'text', text: stringAt(refusal, `${path}.refusal`), ...kept({ type, ...extra }) }
  }
  const media = isUser ? fromMedia(part) : undefined
  return media !== undefined && isDeepStrictEqual(mediaPart(media), part) ? media : opaque(part)
}

/** An image, a sound or a file whose bytes or address we can hold. Others (a file id) stay parts. */
function fromMedia({ type, ...fields }: JsonObject): ImagePart | FilePart | undefined {
  const { image_url, input_audio, file, ...extra } = fields
  if (type === 'image_url' && isObject(image_url)) {
    const { url, ...own } = image_url
    const options = isEmpty(own) ? extra : { ...extra, image_url: own }
    return typeof url === 'string' ? { type: 'image', image: url, ...kept(options) } : undefined
  }
  if (type === 'input_audio' && isObject(input_audio)) {
    const { data, format } = input_audio
    if (typeof data !== 'string' || typeof format !== 'string') return undefined
    return {
      type: 'file',
      data,
      mediaType: format === 'mp3' ? 'audio/mpeg' : `audio/${format}`,
      ...kept(extra),
    }
  }
  if (type === 'file' && isObject(file)) {
    const { file_data, filename, ...own } = file
    if (typeof file_data !== 'string' || typeof filename !== 'string') return undefined
    const media = mediaOf(file_data, undefined)
    if ('url' in media || media.mediaType === undefined) return undefined
    const options = isEmpty(own) ? extra : { ...extra, file: own }
    return { type: 'file', data: file_data, mediaType: media.mediaType, filename, ...kept(options) }
  }
  return undefined
}

function fromCall(value: Json, path: string, calls: Calls): ToolCallPart | ProviderPart {
  const call = objectAt(value, path)
  if (call.type !== undefined && call.type !== 'function' && call.type !== 'custom')
    return opaque({ tool_call: call })
  const toolCallId = stringAt(call.id, `${path}.id`)

  if (call.type === 'custom') {
    const { id: _, type, custom, ...extra } = call
    const { name, input, ...own } = objectAt(custom, `${path}.custom`)
    const toolName = stringAt(name, `${path}.custom.name`)
    calls.names.set(toolCallId, toolName)
    const options = { ...extra, type, ...(isEmpty(own) ? {} : { custom: own }) }
    return {
      type: 'tool-call',
      toolCallId,
      toolName,
      input: stringAt(input, `${path}.custom.input`),
      ...kept(options),
    }
  }
  const { id: _, type, function: called, ...extra } = call
  const { toolName, input, own } = fromFunction(objectAt(called, `${path}.function`), `${path}.function`)
  calls.names.set(toolCallId, toolName)
  const options = {
    ...extra,
    ...(type === undefined ? { type: null } : {}),
    ...(isEmpty(own) ? {} : { function: own }),
  }
  return { type: 'tool-call', toolCallId, toolName, input, ...kept(options) }
}

/** The old kind of call has no id. The first of a name is called after it, so that it is also found in another batch. */
function fromLegacyCall(call: JsonObject, path: string, calls: Calls): ToolCallPart {
  const { toolName, input, own } = fromFunction(call, path)
  const count = (calls.legacyCounts.get(toolName) ?? 0) + 1
  const toolCallId = legacyId(toolName) + (count === 1 ? '' : `_${count}`)
  calls.legacyCounts.set(toolName, count)
  calls.legacyIds.set(toolName, toolCallId)
  const options = { type: 'function_call', ...(isEmpty(own) ? {} : { function: own }) }
  return { type: 'tool-call', toolCallId, toolName, input, ...kept(options) }
}

function legacyId(name: string): string {
  return `function_call_${name}`
}

function fromFunction({ name, arguments: args, ...own }: JsonObject, path: string) {
  const text = stringAt(args, `${path}.arguments`)
  const input = parsedArguments(text)
  const raw = stringifyJson(input) === text ? {} : { arguments: text }
  return { toolName: stringAt(name, `${path}.name`), input, own: { ...own, ...raw } }
}

function fromToolMessage(
  { role: _, tool_call_id, ...rest }: JsonObject,
  path: string,
  calls: Calls,
): ToolResultPart {
  const toolCallId = stringAt(tool_call_id, `${path}.tool_call_id`)
  const toolName = calls.names.get(toolCallId) ?? (typeof rest.name === 'string' ? rest.name : undefined)
  const { output, options } = fromAnswer(rest, path)
  return {
    type: 'tool-result',
    toolCallId,
    ...(toolName === undefined ? {} : { toolName }),
    output,
    ...kept(options),
  }
}

function fromFunctionMessage({ role, ...rest }: JsonObject, path: string, calls: Calls): ToolResultPart {
  const toolName = stringAt(rest.name, `${path}.name`)
  const toolCallId = calls.legacyIds.get(toolName) ?? legacyId(toolName)
  const { output, options } = fromAnswer(rest, path)
  return { type: 'tool-result', toolCallId, toolName, output, ...kept({ ...options, role }) }
}

function fromAnswer(
  { content, ...extra }: JsonObject,
  path: string,
): { output: ToolResultOutput; options: JsonObject } {
  if (typeof content === 'string') return { output: { type: 'text', value: content }, options: extra }
  if (content === null || content === undefined) {
    return { output: { type: 'text', value: '' }, options: { ...extra, ...shapeOf(content) } }
  }
  const blocks = listAt(content, `${path}.content`).map((item, i) => objectAt(item, `${path}.content[${i}]`))
  if (blocks.every(({ type }) => type === 'text')) {
    const { text, layout } = joinBlocks(blocks, `${path}.content`)
    return { output: { type: 'text', value: text }, options: { ...extra, content: layout } }
  }
  const value = blocks.map((block, i) => fromPart(block, false, `${path}.content[${i}]`))
  return { output: { type: 'content', value }, options: extra }
}

function withMetadata(role: Message['role'], content: string | Part[], fields: JsonObject): Message {
  return isEmpty(fields) ? { role, content } : { role, content, metadata: { [OPENAI]: fields } }
}

function kept(fields: JsonObject): { providerOptions?: { [OPENAI]: JsonObject } } {
  return isEmpty(fields) ? {} : { providerOptions: { [OPENAI]: fields } }
}

function opaque(data: JsonObject): ProviderPart {
  return { type: 'provider', provider: OPENAI, data }
}
