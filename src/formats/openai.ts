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
import { isDeepStrictEqual } from 'node:util'
import { invalid } from '../core/check.ts'
import { canonicalJson, type Json, type JsonObject, jsonProblem, stringifyJson } from '../core/json.ts'
import {
  type FilePart,
  type ImagePart,
  type Message,
  outputText,
  type Part,
  type ProviderPart,
  type TextPart,
  type ToolCallPart,
  type ToolResultContent,
  type ToolResultOutput,
  type ToolResultPart,
} from '../core/message.ts'
import {
  isEmpty,
  isObject,
  isResult,
  joinBlocks,
  jsonMessageAt,
  keptFor,
  listAt,
  mediaOf,
  objectAt,
  runsOf,
  stringAt,
  textBlocks,
} from './detect.ts'

const OPENAI = 'openai'

/** A part of content: its type, and whatever fields that type has. */
export type OpenAIPart = { type: string; [field: string]: Json | undefined }

/** A message of Chat Completions, with any further fields an answer or a transcript carries. */
export type OpenAIMessage = {
  role: 'system' | 'developer' | 'user' | 'assistant' | 'tool' | 'function'
  content?: string | OpenAIPart[] | null
  [field: string]: Json | undefined
}

/** What is known of the calls so far: names by id, and the ids given to calls of the old kind, which have none. */
type Calls = { names: Map<string, string>; legacyCounts: Map<string, number>; legacyIds: Map<string, string> }

/* ---------------------------------------------------------------------------------------------------- in */

/**
 * Messages of OpenAI's in the neutral form, ready to be appended. `developer` becomes the role `system`,
 * `function` the role `tool`; calls of the old kind get an id made from the function's name. Arguments that are
 * no JSON stay a string. Each result learns the name of its tool from the nearest earlier call with its id.
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

/** Arguments as a value: none at all as an empty object, and as they stand when they are no JSON. */
function parsedArguments(text: string): Json {
  if (text.trim() === '') return {}
  try {
    const value = JSON.parse(text) as Json
    return jsonProblem(value) === undefined ? value : text
  } catch {
    return text // a model's slip, or a call cut off by the limit of tokens
  }
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

/* --------------------------------------------------------------------------------------------------- out */

/**
 * Neutral messages in the form of Chat Completions: `toOpenAI(fromOpenAI(x))` is x.
 *
 * Of messages from elsewhere: each result of a tool becomes a message of its own, before whatever else a user
 * message says; a result within an assistant message parts it in two. JSON and failures are sent as text, an
 * image or file within a result as a word in its place, a file known only by its address as that address. Not
 * sent: parts of other providers, reasoning, images and files that are not a user's, messages left with
 * nothing, and metadata other than `metadata.openai`. Throws `INVALID_INPUT` for a part of an unknown type.
 */
export function toOpenAI(messages: readonly Message[]): OpenAIMessage[] {
  return messages.flatMap((message) => {
    if (message.role === 'assistant') return toAssistant(message)
    if (typeof message.content === 'string') return [toSpoken(message, message.content)]
    const rest = message.content.filter((part) => !isResult(part))
    const parts = rest.flatMap((part) => toPart(part, message.role !== 'system') ?? [])
    const shape = keptFor(OPENAI, message.metadata)?.content
    const speaks = parts.length > 0 || (shape !== undefined && message.content.length === 0)
    return [
      ...message.content.filter(isResult).map(toToolMessage),
      ...(speaks ? [toSpoken(message, parts)] : []),
    ]
  })
}

function toSpoken({ role, metadata }: Message, content: string | OpenAIPart[]): OpenAIMessage {
  const { role: shown, content: shape, ...extra } = keptFor(OPENAI, metadata) ?? {}
  const shownRole = role === 'system' ? (shown === 'developer' ? shown : role) : 'user'
  if (content.length === 0 && shape === 'absent') return { role: shownRole, ...extra }
  return { role: shownRole, content: content.length === 0 && shape === null ? null : content, ...extra }
}

function toAssistant({ content, metadata }: Message): OpenAIMessage[] {
  const { content: shape, ...extra } = keptFor(OPENAI, metadata) ?? {}
  if (typeof content === 'string') return [{ role: 'assistant', content, ...extra }]
  const runs = content.length === 0 ? [content] : runsOf(content)
  return runs.flatMap((run, i): OpenAIMessage[] => {
    if (isResult(run[0])) return run.filter(isResult).map(toToolMessage)
    const { said, fields } = toAssistantFields(run)
    if (said.length === 0 && isEmpty(fields) && (i > 0 || shape === undefined)) return []
    const sent = spokenContent(said, i === 0 ? shape : undefined)
    return [
      {
        role: 'assistant',
        ...(sent === undefined ? {} : { content: sent }),
        ...fields,
        ...(i === 0 ? extra : {}),
      },
    ]
  })
}

/** What an assistant message says, and the fields that stand beside its content. */
function toAssistantFields(parts: readonly Part[]): { said: OpenAIPart[]; fields: JsonObject } {
  const said: OpenAIPart[] = []
  const toolCalls: JsonObject[] = []
  const functionCalls: ToolCallPart[] = []
  const texts: { reasoning_content?: string; refusal?: string } = {}

  for (const part of parts) {
    const type = part.type === 'provider' ? undefined : keptFor(OPENAI, part.providerOptions)?.type
    if (part.type === 'tool-call') {
      if (type === 'function_call') functionCalls.push(part)
      else toolCalls.push(toToolCall(part))
    } else if (part.type === 'reasoning') {
      if (type === 'reasoning_content') texts.reasoning_content = (texts.reasoning_content ?? '') + part.text
    } else if (part.type === 'text' && type === 'message_refusal') {
      texts.refusal = (texts.refusal ?? '') + part.text
    } else if (part.type === 'provider' && part.provider === OPENAI && isUnknownCall(part.data)) {
      toolCalls.push({ ...part.data.tool_call })
    } else {
      said.push(...(toPart(part, false) ?? []))
    }
  }
  // A message has room for one call of the old kind; several (messages merged by somebody) are calls of the new.
  const [only] = functionCalls
  const legacy = functionCalls.length === 1 && only !== undefined ? { function_call: toFunction(only) } : {}
  if (functionCalls.length > 1) toolCalls.unshift(...functionCalls.map(toToolCall))
  return { said, fields: { ...texts, ...(toolCalls.length > 0 ? { tool_calls: toolCalls } : {}), ...legacy } }
}

function isUnknownCall(data: Json): data is { readonly tool_call: JsonObject } {
  return isObject(data) && !('type' in data) && isObject(data.tool_call)
}

/** Nothing said is null and a single text a string, as the API itself answers, unless it was read otherwise. */
function spokenContent(said: OpenAIPart[], shape: Json | undefined): OpenAIMessage['content'] {
  if (shape === 'parts') return said
  const [first] = said
  if (first === undefined) return shape === 'absent' ? undefined : null
  const isPlain = said.length === 1 && first.type === 'text' && Object.keys(first).length === 2
  return isPlain && typeof first.text === 'string' ? first.text : said
}

/** A part of content, in a list of one; `undefined` for what has no place there. */
function toPart(part: Part, isUser: boolean): [OpenAIPart] | undefined {
  switch (part.type) {
    case 'text': {
      const { type, ...extra } = keptFor(OPENAI, part.providerOptions) ?? {}
      if (type === 'refusal') return [{ type, refusal: part.text, ...extra }]
      return [{ type: 'text', text: part.text, ...extra }]
    }
    case 'image':
    case 'file':
      return isUser ? [mediaPart(part)] : undefined
    case 'provider': {
      const type = part.provider === OPENAI && isObject(part.data) ? part.data.type : undefined
      return typeof type === 'string' ? [{ ...(part.data as JsonObject), type }] : undefined
    }
    case 'reasoning':
    case 'tool-call':
    case 'tool-result':
      return undefined
    default:
      throw invalid('a part of an unknown type')
  }
}

function mediaPart(part: ImagePart | FilePart): OpenAIPart {
  const data = part.type === 'image' ? part.image : part.data
  const media = mediaOf(data, part.mediaType)
  const isImage = part.type === 'image' || part.mediaType.startsWith('image/')
  const { image_url, file, ...extra } = keptFor(OPENAI, part.providerOptions) ?? {}

  if ('url' in media) {
    if (!isImage) return { type: 'text', text: `[file ${media.url}]` }
    return {
      type: 'image_url',
      image_url: { url: media.url, ...(isObject(image_url) ? image_url : {}) },
      ...extra,
    }
  }
  const { base64, mediaType = isImage ? 'image/png' : 'application/octet-stream' } = media
  const isDataUrl = typeof data === 'string' && /^data:/i.test(data)
  const url = isDataUrl ? data : `data:${mediaType};base64,${base64}`
  if (isImage)
    return { type: 'image_url', image_url: { url, ...(isObject(image_url) ? image_url : {}) }, ...extra }
  if (mediaType.startsWith('audio/')) {
    const format = mediaType === 'audio/mpeg' ? 'mp3' : mediaType.slice('audio/'.length)
    return { type: 'input_audio', input_audio: { data: base64, format }, ...extra }
  }
  const filename =
    part.type === 'file' && part.filename !== undefined ? part.filename : defaultName(mediaType)
  return { type: 'file', file: { filename, file_data: url, ...(isObject(file) ? file : {}) }, ...extra }
}

/** The API wants a name with every file. */
function defaultName(mediaType: string): string {
  return mediaType === 'application/pdf' ? 'file.pdf' : 'file'
}

function toToolCall(part: ToolCallPart): JsonObject {
  const options = keptFor(OPENAI, part.providerOptions) ?? {}
  if (options.type === 'custom' && typeof part.input === 'string') {
    const { type, custom, ...extra } = options
    const called = { name: part.toolName, input: part.input, ...(isObject(custom) ? custom : {}) }
    return { id: part.toolCallId, type, custom: called, ...extra }
  }
  const { type, function: _, ...extra } = options
  return {
    id: part.toolCallId,
    ...(type === null ? {} : { type: 'function' }),
    function: toFunction(part),
    ...extra,
  }
}

/** Name and arguments; these as they were written, as long as they still mean the input. */
function toFunction({ toolName, input, providerOptions }: ToolCallPart): JsonObject {
  const own = keptFor(OPENAI, providerOptions)?.function
  const { arguments: raw, ...extra } = isObject(own) ? own : {}
  const isSame = typeof raw === 'string' && canonicalJson(parsedArguments(raw)) === canonicalJson(input)
  return { name: toolName, arguments: isSame ? raw : stringifyJson(input), ...extra }
}

function toToolMessage({ toolCallId, output, providerOptions }: ToolResultPart): OpenAIMessage {
  const { role, content: shape, ...extra } = keptFor(OPENAI, providerOptions) ?? {}
  const content = answerContent(output, shape)
  const sent = content === undefined ? {} : { content }
  if (role === 'function') return { role, ...sent, ...extra }
  return { role: 'tool', tool_call_id: toolCallId, ...sent, ...extra }
}

function answerContent(output: ToolResultOutput, shape: Json | undefined): OpenAIMessage['content'] {
  if (output.type === 'content') {
    const parts = output.value.flatMap(toAnswerPart)
    return parts.length > 0 ? parts : ''
  }
  const text = outputText(output)
  if (text === '' && shape === null) return null
  if (text === '' && shape === 'absent') return undefined
  return textBlocks(text, shape) ?? text
}

/** The API reads only text of a tool: an image or a file leaves a word that it was there. */
function toAnswerPart(item: ToolResultContent): OpenAIPart[] {
  if (item.type === 'image') return [{ type: 'text', text: '[image]' }]
  if (item.type !== 'file') return toPart(item, false) ?? []
  return [{ type: 'text', text: item.filename === undefined ? '[file]' : `[file ${item.filename}]` }]
}
