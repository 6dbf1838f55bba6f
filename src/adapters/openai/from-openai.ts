import { isDeepStrictEqual } from 'node:util'
import { invalid } from '../../core/errors.ts'
import { readable } from '../../core/messages/check.ts'
import { defined, isObject, type Json, type JsonObject } from '../../core/messages/json.ts'
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
} from '../../core/messages/message.ts'
import { addressAt, base64At, Conversion, type ConversionOptions, fileDataAt } from '../conversion.ts'
import { nullish } from '../shapes.ts'
import { given, keptMessage, listAt, mediaOf, objectAt, readArguments, stringAt } from '../wire.ts'
import { audioTypeOf, kept, OPENAI } from './chat-types.ts'
import { mediaPart } from './to-openai.ts'

/**
 * Ids for legacy calls (`function_call`), which have none: made of the function name. The first call of a name
 * has no number, so that its result is also found in another batch.
 */
export class FunctionCallIds {
  readonly #counts = new Map<string, number>()

  next(name: string): string {
    const count = (this.#counts.get(name) ?? 0) + 1
    this.#counts.set(name, count)
    return idOf(name, count)
  }

  /** The id of the newest call of a function, which a result of that name answers. */
  newest(name: string): string {
    return idOf(name, this.#counts.get(name) ?? 1)
  }
}

function idOf(name: string, count: number): string {
  return `function_call_${name}${count === 1 ? '' : `_${count}`}`
}

/** A conversion that also gives ids to legacy calls. */
class Reading extends Conversion {
  readonly functionCallIds = new FunctionCallIds()
}

/** One of the `tool_calls`. A kind of call that is unknown here is kept whole. */
function fromCall(value: Json, path: string, reading: Reading): ToolCallPart | ProviderPart {
  const call = objectAt(value, path)
  if (call.type !== undefined && call.type !== 'function' && call.type !== 'custom')
    return reading.keep(OPENAI, { tool_call: call }, path)
  const toolCallId = stringAt(call.id, `${path}.id`)

  if (call.type === 'custom') {
    const { id: _, type, custom, ...extra } = call
    const { name, input, ...own } = objectAt(custom, `${path}.custom`)
    const toolName = stringAt(name, `${path}.custom.name`)
    const text = stringAt(input, `${path}.custom.input`)
    reading.toolNames.set(toolCallId, toolName)
    const options = { ...extra, type, ...given('custom', own) }
    return { type: 'tool-call', toolCallId, toolName, input: text, ...kept(options) }
  }
  const { id: _, type, function: called, ...extra } = call
  const { toolName, input, own } = fromFunction(objectAt(called, `${path}.function`), `${path}.function`)
  reading.toolNames.set(toolCallId, toolName)
  const options = { ...extra, ...(type === undefined && { type: null }), ...given('function', own) }
  return { type: 'tool-call', toolCallId, toolName, input, ...kept(options) }
}

function fromLegacyCall(value: Json, path: string, reading: Reading): ToolCallPart {
  const { toolName, input, own } = fromFunction(objectAt(value, path), path)
  const toolCallId = reading.functionCallIds.next(toolName)
  const options = { type: 'function_call', ...given('function', own) }
  return { type: 'tool-call', toolCallId, toolName, input, ...kept(options) }
}

function fromFunction({ name, arguments: args, ...own }: JsonObject, path: string) {
  const toolName = stringAt(name, `${path}.name`)
  const { input, raw } = readArguments(stringAt(args, `${path}.arguments`))
  return { toolName, input, own: { ...own, ...raw } }
}

function fromToolMessage(
  { role: _, tool_call_id, ...rest }: JsonObject,
  path: string,
  reading: Reading,
): ToolResultPart {
  const toolCallId = stringAt(tool_call_id, `${path}.tool_call_id`)
  const toolName =
    reading.toolNames.get(toolCallId) ?? (typeof rest.name === 'string' ? rest.name : undefined)
  const { output, options } = fromAnswer(rest, path, reading)
  return { type: 'tool-result', toolCallId, ...defined({ toolName }), output, ...kept(options) }
}

function fromFunctionMessage({ role, ...rest }: JsonObject, path: string, reading: Reading): ToolResultPart {
  const toolName = stringAt(rest.name, `${path}.name`)
  const toolCallId = reading.functionCallIds.newest(toolName)
  const { output, options } = fromAnswer(rest, path, reading)
  return { type: 'tool-result', toolCallId, toolName, output, ...kept({ ...options, role }) }
}

function fromAnswer(
  { content, ...extra }: JsonObject,
  path: string,
  reading: Reading,
): { output: ToolResultOutput; options: JsonObject } {
  if (content === null || content === undefined) {
    return { output: { type: 'text', value: '' }, options: { ...extra, ...shapeOf(content) } }
  }
  const { output, layout } = reading.result(content, `${path}.content`, (block, place) =>
    fromPart(block, false, place, reading),
  )
  return { output, options: { ...extra, ...defined({ content: layout }) } }
}

/**
 * Converts messages of OpenAI Chat Completions to neutral messages, ready to be appended. `developer` becomes the role `system`, `function`
 * the role `tool`; legacy calls get an id made of the function name. Arguments that are not JSON stay a string. A `compaction` item of the
 * Responses API becomes an assistant message. Each result gets the tool name of the nearest earlier call with its id. Unknown parts and
 * calls are kept whole and reported. The input is not modified; values are shared with it.
 *
 * Throws `INVALID_INPUT`, which names the place and never quotes the text, for a message that isn't valid in the API: an unknown role, a
 * call or a result without its id, a malformed part, data that is not base64. With `lenient`, such a part or message is kept as an unread
 * part.
 */
export function fromOpenAI(input: readonly object[], options?: ConversionOptions): Message[] {
  return readable('fromOpenAI', () => {
    const read = openAIReader(options)
    return listAt(input, 'input').map((message, i) => read(message, i, `[${i}]`))
  })
}

/**
 * `fromOpenAI` for messages that arrive one by one, in order: it remembers the calls. `path` is the place of
 * the message in errors and notes.
 */
export function openAIReader(
  options?: ConversionOptions,
): (message: unknown, index: number, path: string) => Message {
  const reading = new Reading(OPENAI, options)
  return (message, index, path) =>
    reading.message(message, index, path, (fields) => fromMessage(fields, path, reading))
}

function fromMessage(message: JsonObject, path: string, reading: Reading): Message {
  const { role, content, ...extra } = message
  // The Responses API adds its compaction to the list as an item without a role.
  if (role === undefined && message.type === 'compaction') {
    stringAt(message.encrypted_content, `${path}.encrypted_content`)
    return { role: 'assistant', content: [reading.keep(OPENAI, message, path)] }
  }
  switch (role) {
    case 'tool':
      return { role: 'tool', content: [fromToolMessage(message, path, reading)] }
    case 'function':
      return { role: 'tool', content: [fromFunctionMessage(message, path, reading)] }
    case 'assistant':
      return fromAssistant(message, path, reading)
    case 'system':
    case 'developer':
    case 'user': {
      const parts = fromContent(content, role === 'user', `${path}.content`, reading)
      const fields = Object.assign(extra, role === 'developer' ? { role } : {}, shapeOf(content))
      return keptMessage(OPENAI, role === 'user' ? 'user' : 'system', parts, fields)
    }
    default:
      throw invalid(`${path}.role: must be system, developer, user, assistant, tool or function`)
  }
}

function fromAssistant(message: JsonObject, path: string, reading: Reading): Message {
  const { role: _, content, reasoning_content, refusal, audio, tool_calls, function_call, ...extra } = message
  const items = fromContent(content, false, `${path}.content`, reading)
  const before: Part[] = []
  const after: Part[] = []
  const unused: { [field: string]: Json } = {}

  if (typeof reasoning_content === 'string') {
    before.push({ type: 'reasoning', text: reasoning_content, ...kept({ type: 'reasoning_content' }) })
  } else if (reasoning_content !== undefined) unused.reasoning_content = reasoning_content

  if (refusal === null) unused.refusal = refusal
  else if (refusal !== undefined) {
    const text = stringAt(refusal, `${path}.refusal`)
    after.push({ type: 'text', text, ...kept({ type: 'message_refusal' }) })
  }

  if (isObject(audio)) after.push(reading.keep(OPENAI, { audio }, `${path}.audio`))
  else if (audio !== undefined) unused.audio = audio

  const list = tool_calls === undefined || tool_calls === null ? [] : listAt(tool_calls, `${path}.tool_calls`)
  if (tool_calls !== undefined && list.length === 0) unused.tool_calls = tool_calls
  for (const [i, call] of list.entries()) {
    const place = `${path}.tool_calls[${i}]`
    after.push(reading.reading(call, place, () => fromCall(call as Json, place, reading)))
  }

  if (function_call === null) unused.function_call = function_call
  else if (function_call !== undefined) {
    const place = `${path}.function_call`
    after.push(reading.reading(function_call, place, () => fromLegacyCall(function_call, place, reading)))
  }

  const alone = before.length + after.length === 0
  const parts: readonly Part[] = typeof items === 'string' ? [{ type: 'text', text: items }] : items
  const fields = Object.assign(extra, unused, shapeOfAssistant(content, alone))
  return keptMessage(OPENAI, 'assistant', alone ? items : [...before, ...parts, ...after], fields)
}

/** A null content is the default beside calls; it is kept only when the message has nothing else. */
function shapeOfAssistant(content: Json | undefined, alone: boolean): JsonObject {
  if (Array.isArray(content)) return { content: 'parts' }
  return content === null && !alone ? {} : shapeOf(content)
}

/** The parts of a content; a string stays a string. */
function fromContent(
  content: Json | undefined,
  isUser: boolean,
  path: string,
  reading: Reading,
): string | (TextPart | ImagePart | FilePart | ProviderPart)[] {
  if (typeof content === 'string') return content
  if (content === null || content === undefined) return []
  return reading.parts(content, path, (part, place) => fromPart(part, isUser, place, reading))
}

/** The original form of a content without parts. */
function shapeOf(content: Json | undefined): JsonObject {
  if (content === null) return { content: null }
  if (content === undefined) return { content: 'absent' }
  return Array.isArray(content) && content.length === 0 ? { content: 'parts' } : {}
}

/** One part. A type that is unknown here is kept whole. */
function fromPart(
  part: JsonObject,
  isUser: boolean,
  path: string,
  reading: Reading,
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
  checkMedia(part, path)
  const media = isUser ? fromMedia(part) : undefined
  if (media !== undefined && isDeepStrictEqual(mediaPart(media), part)) return media
  return reading.keep(OPENAI, part, path)
}

/** Checks known media, which may be kept whole. */
function checkMedia({ type, image_url, input_audio, file }: JsonObject, path: string): void {
  if (type === 'image_url') {
    addressAt(objectAt(image_url, `${path}.image_url`).url, `${path}.image_url.url`)
  } else if (type === 'input_audio') {
    const { data, format } = objectAt(input_audio, `${path}.input_audio`)
    base64At(data, `${path}.input_audio.data`)
    stringAt(format, `${path}.input_audio.format`)
  } else if (type === 'file') {
    nullish(fileDataAt)(objectAt(file, `${path}.file`).file_data, `${path}.file.file_data`)
  }
}

/** An image, audio or a file whose bytes or address a neutral part can hold. Others (a file id) are kept whole. */
function fromMedia({ type, ...fields }: JsonObject): ImagePart | FilePart | undefined {
  const { image_url, input_audio, file, ...extra } = fields
  if (type === 'image_url' && isObject(image_url)) {
    const { url, ...own } = image_url
    const options = { ...extra, ...given('image_url', own) }
    return typeof url === 'string' ? { type: 'image', image: url, ...kept(options) } : undefined
  }
  if (type === 'input_audio' && isObject(input_audio)) {
    const { data, format } = input_audio
    if (typeof data !== 'string' || typeof format !== 'string') return undefined
    return { type: 'file', data, mediaType: audioTypeOf(format), ...kept(extra) }
  }
  if (type === 'file' && isObject(file)) {
    const { file_data, filename, ...own } = file
    if (typeof file_data !== 'string' || typeof filename !== 'string') return undefined
    const media = mediaOf(file_data, undefined)
    if ('url' in media || media.mediaType === undefined) return undefined
    const options = { ...extra, ...given('file', own) }
    return { type: 'file', data: file_data, mediaType: media.mediaType, filename, ...kept(options) }
  }
  return undefined
}
