import { compactionBlock, UNREADABLE_SUMMARY } from '../../core/messages/compaction-block.ts'
import { defined, isObject, type Json, type JsonObject } from '../../core/messages/json.ts'
import {
  type FilePart,
  type ImagePart,
  isFailed,
  isResult,
  type Message,
  outputText,
  type Part,
  type ProviderPart,
  type ToolCallPart,
  type ToolResultContent,
  type ToolResultOutput,
  type ToolResultPart,
} from '../../core/messages/message.ts'
import { readMessages } from '../../core/messages/message-check.ts'
import { Conversion, type ConversionOptions, omissionReason, unknownPart } from '../conversion.ts'
import { answeredRunsOf, placesOf } from '../runs.ts'
import { argumentsText, isEmpty, keptFor, mediaOf, textBlocks } from '../wire.ts'
import {
  audioFormatOf,
  chatFields,
  dataUrlOf,
  defaultFilename,
  kindOf,
  OPENAI,
  type OpenAIMessage,
  type WireMessage,
  type WirePart,
} from './chat-types.ts'
import { ownOf } from './responses-content.ts'

/** One of the `tool_calls`. */
function toToolCall(part: ToolCallPart): JsonObject {
  const options = chatFields(part.providerOptions)
  const isCustom = options.type === 'custom' || ownOf(part.providerOptions)?.type === 'custom_tool_call'
  if (isCustom && typeof part.input === 'string') {
    const { type = 'custom', custom, ...extra } = options
    const called = { name: part.toolName, input: part.input, ...(isObject(custom) ? custom : {}) }
    return { id: part.toolCallId, type, custom: called, ...extra }
  }
  const { type, function: _, ...extra } = options
  const kind = type === null ? {} : { type: 'function' }
  return { id: part.toolCallId, ...kind, function: toFunction(part), ...extra }
}

/** Name and arguments; the arguments as they were written, as long as they still mean the same input. */
function toFunction({ toolName, input, providerOptions }: ToolCallPart): JsonObject {
  const own = chatFields(providerOptions).function
  const { arguments: raw, ...extra } = isObject(own) ? own : {}
  return { name: toolName, arguments: argumentsText(input, raw), ...extra }
}

/** A conversion that remembers which calls were sent in the legacy form: a result must have the form of its call. */
class Writing extends Conversion {
  readonly #legacyNames = new Map<string, string | undefined>()

  /** Records a call and its form. */
  sent({ toolCallId, toolName }: ToolCallPart, isOldKind: boolean): void {
    this.#legacyNames.set(toolCallId, isOldKind ? toolName : undefined)
  }

  /** The role of a result, and the function name that a legacy one needs. */
  kindOf(toolCallId: string, read: Json | undefined): { role: 'function' | 'tool'; name?: string } {
    const name = this.#legacyNames.get(toolCallId)
    if (name !== undefined) return { role: 'function', name }
    return { role: read === 'function' && !this.#legacyNames.has(toolCallId) ? read : 'tool' }
  }
}

function toToolMessage(
  { toolCallId, output, providerOptions }: ToolResultPart,
  place: string,
  writing: Writing,
): WireMessage {
  const { role, content: shape, ...extra } = chatFields(providerOptions)
  if (isFailed(output)) noteFailure(place, writing)
  const content = answerContent(output, shape, place, writing)
  const sent = defined({ content })
  const kind = writing.kindOf(toolCallId, role)
  if (kind.role === 'function') return { ...kind, ...sent, ...extra }
  return { role: 'tool', tool_call_id: toolCallId, ...sent, ...extra }
}

/** Reports a failed call: OpenAI has no field for it. */
export function noteFailure(place: string, conversion: Conversion): void {
  conversion.note('changed', `${place}.output`, 'only the text shows that the call failed')
}

function answerContent(
  output: ToolResultOutput,
  shape: Json | undefined,
  place: string,
  conversion: Conversion,
): WireMessage['content'] {
  if (output.type === 'content') {
    const parts = output.value.flatMap(
      (item, i) => toAnswerPart(item, `${place}.output.value[${i}]`, conversion) ?? [],
    )
    return parts.length > 0 ? parts : ''
  }
  const text = outputText(output)
  if (text === '' && shape === null) return null
  if (text === '' && shape === 'absent') return undefined
  return textBlocks(text, shape) ?? text
}

/**
 * Converts neutral messages to Chat Completions: `toOpenAI(fromOpenAI(x))` is x, except for compactions.
 *
 * For messages from elsewhere: each tool result becomes a message of its own, before the other content of a user message; a result within
 * an assistant message splits it in two. JSON and failures are sent as text, an image or file within a result as a short text, a file known
 * only by its address as that address. Not sent: parts of other providers, reasoning, images and files outside user messages, empty
 * messages, and metadata other than `metadata.openai`. `onNote` receives each of these.
 *
 * A compaction of OpenAI, which only the Responses API reads, becomes a user message that mentions it. Throws `INVALID_INPUT` for a part of
 * an unknown type.
 */
export function toOpenAI(messages: readonly Message[], options?: ConversionOptions): OpenAIMessage[] {
  return readMessages(messages, 'toOpenAI', () => {
    const writing = new Writing(OPENAI, options)
    const sent = writing.sendable(messages).flatMap((message, index): WireMessage[] => {
      writing.at(index)
      const path = `[${index}]`
      if (message.role === 'assistant') {
        return [...compactionsOf(message, path, writing), ...toAssistant(message, path, writing)]
      }
      return toOthers(message, path, writing)
    })
    // A message that was read may be looser than the SDK type; it is written as it was.
    return sent as OpenAIMessage[]
  })
}

/** A system, user or tool message: its results, then its other content. */
function toOthers(message: Message, path: string, writing: Writing): WireMessage[] {
  const { role, content, metadata } = message
  if (typeof content === 'string') return [toSpoken(message, content)]
  const answers = content.flatMap((part, i) =>
    isResult(part) ? [toToolMessage(part, placeOf(path, i), writing)] : [],
  )
  const parts = content.flatMap((part, i) => {
    // Only text beside results can be sent, as a user message.
    if (role !== 'tool' || part.type !== 'provider')
      return toPart(part, role !== 'system', placeOf(path, i), writing) ?? []
    writing.omit(placeOf(path, i), 'only text can accompany tool results')
    return []
  })
  const shape = keptFor(OPENAI, metadata)?.content
  const speaks = parts.length > 0 || (shape !== undefined && content.length === 0)
  if (content.length === 0 && !speaks) noteEmpty(path, writing)
  return [...answers, ...(speaks ? [toSpoken(message, parts)] : [])]
}

function placeOf(path: string, part: number): string {
  return `${path}.content[${part}]`
}

function noteEmpty(path: string, conversion: Conversion): void {
  conversion.omit(path, "messages without content aren't sent")
}

/** A message in place of each of OpenAI's own compaction blocks, which only the Responses API reads. */
function compactionsOf({ content }: Message, path: string, writing: Writing): WireMessage[] {
  if (typeof content === 'string') return []
  return content.flatMap((part, i): WireMessage[] => {
    if (!isCompaction(part)) return []
    writing.note(
      'changed',
      placeOf(path, i),
      'only the Responses API reads compactions, so a text is sent instead',
    )
    return [{ role: 'user', content: compactionBlock(part)?.text ?? UNREADABLE_SUMMARY }]
  })
}

function isCompaction(part: Part): part is ProviderPart {
  return part.type === 'provider' && part.provider === OPENAI && compactionBlock(part) !== undefined
}

function toSpoken({ role, metadata }: Message, content: string | WirePart[]): WireMessage {
  const { role: shown, content: shape, ...extra } = keptFor(OPENAI, metadata) ?? {}
  const shownRole = role === 'system' ? (shown === 'developer' ? shown : role) : 'user'
  if (content.length === 0 && shape === 'absent') return { role: shownRole, ...extra }
  return { role: shownRole, content: content.length === 0 && shape === null ? null : content, ...extra }
}

function toAssistant({ content, metadata }: Message, path: string, writing: Writing): WireMessage[] {
  const { content: shape, ...extra } = keptFor(OPENAI, metadata) ?? {}
  if (typeof content === 'string') return [{ role: 'assistant', content, ...extra }]
  const places = placesOf(content, `${path}.content`)
  const parts = content.filter((part) => !isCompaction(part))
  if (parts.length < content.length && parts.every((part) => part.type === 'text' && part.text === ''))
    return []

  const runs = parts.length === 0 ? [parts] : answeredRunsOf(parts)
  return runs.flatMap((run, i): WireMessage[] => {
    const placed = run.map((part) => ({ part, place: places.get(part) ?? path }))
    if (isResult(run[0])) {
      return placed.flatMap(({ part, place }) =>
        isResult(part) ? [toToolMessage(part, place, writing)] : [],
      )
    }
    const { parts, fields } = toAssistantFields(placed, writing)
    // A run without any part to send is dropped, because the API rejects an empty list.
    if (parts.length === 0 && isEmpty(fields) && (run.length > 0 || shape === undefined)) {
      if (run.length === 0) noteEmpty(path, writing)
      return []
    }
    const sent = spokenContent(parts, i === 0 ? shape : undefined)
    return [{ role: 'assistant', ...defined({ content: sent }), ...fields, ...(i === 0 && extra) }]
  })
}

type Placed = { readonly part: Part; readonly place: string }

/** The content of an assistant message, and the fields beside it. */
function toAssistantFields(
  parts: readonly Placed[],
  writing: Writing,
): { parts: WirePart[]; fields: JsonObject } {
  const content: WirePart[] = []
  let toolCalls: JsonObject[] = []
  const functionCalls: { readonly part: ToolCallPart; readonly place: string }[] = []
  const texts: { reasoning_content?: string; refusal?: string } = {}
  const spoken: { audio?: JsonObject } = {}

  for (const { part, place } of parts) {
    const kind = part.type === 'provider' ? undefined : kindOf(part.providerOptions)
    const { tool_call: unknownCall, audio } = keptFieldsOf(part)
    if (part.type === 'tool-call') {
      if (kind === 'function_call') functionCalls.push({ part, place })
      else toolCalls.push(toToolCall(part))
    } else if (part.type === 'reasoning' && kind === 'reasoning_content') {
      texts.reasoning_content = (texts.reasoning_content ?? '') + part.text
    } else if (part.type === 'text' && kind === 'message_refusal') {
      texts.refusal = (texts.refusal ?? '') + part.text
    } else if (isObject(unknownCall)) {
      toolCalls.push({ ...unknownCall })
    } else if (isObject(audio) && !spoken.audio) {
      spoken.audio = audio
    } else {
      const sent = toPart(part, false, place, writing)
      if (sent !== undefined) content.push(sent)
    }
  }
  // Without the image that cannot be sent, only an empty text would be left.
  const isEmptied =
    parts.some(({ part: { type } }) => type === 'image' || type === 'file') && content.every(isEmptyText)
  if (isEmptied) content.length = 0
  // A message has room for one legacy call; several, in merged messages, become tool calls.
  const [only] = functionCalls
  const legacy =
    functionCalls.length === 1 && only !== undefined ? { function_call: toFunction(only.part) } : {}
  if (functionCalls.length > 1) {
    for (const { place } of functionCalls)
      writing.note(
        'changed',
        place,
        'a message can have one legacy call, so each of several is sent as a tool call',
      )
    toolCalls = [...functionCalls.map(({ part }) => toToolCall(part)), ...toolCalls]
  }
  for (const { part } of functionCalls) writing.sent(part, functionCalls.length === 1)
  const calls = toolCalls.length > 0 && { tool_calls: toolCalls }
  return { parts: content, fields: { ...texts, ...spoken, ...calls, ...legacy } }
}

function isEmptyText({ type, text }: WirePart): boolean {
  return type === 'text' && text === ''
}

/** The fields of a message that a part keeps whole: an unknown call, or the audio of the assistant. */
function keptFieldsOf(part: Part): JsonObject {
  if (part.type !== 'provider' || part.provider !== OPENAI) return {}
  return isObject(part.data) && !('type' in part.data) ? part.data : {}
}

/** As in responses of the API, missing content is null and a single text is a string, unless it was read in another form. */
function spokenContent(parts: WirePart[], shape: Json | undefined): WireMessage['content'] {
  if (shape === 'parts') return parts
  const [first] = parts
  if (first === undefined) return shape === 'absent' ? undefined : null
  const isPlain = parts.length === 1 && first.type === 'text' && Object.keys(first).length === 2
  return isPlain && typeof first.text === 'string' ? first.text : parts
}

/** A part of content; undefined for a part without a place there, which is reported. */
function toPart(part: Part, isUser: boolean, place: string, conversion: Conversion): WirePart | undefined {
  switch (part.type) {
    case 'text': {
      const { type, ...extra } = chatFields(part.providerOptions)
      if (type === 'refusal') return { type, refusal: part.text, ...extra }
      return { type: 'text', text: part.text, ...extra }
    }
    case 'image':
    case 'file': {
      if (!isUser)
        return conversion.omit(
          place,
          `only user messages can contain ${part.type === 'image' ? 'images' : 'files'}`,
        )
      const sent = mediaPart(part)
      if (sent.type === 'text')
        conversion.note(
          'changed',
          place,
          'a file that is known only by its URL is sent as a text with the URL',
        )
      return sent
    }
    case 'provider': {
      const type = part.provider === OPENAI && isObject(part.data) ? part.data.type : undefined
      if (typeof type === 'string') return { ...(part.data as JsonObject), type }
      return conversion.omit(place, omissionReason(part.provider, OPENAI))
    }
    case 'reasoning':
      return conversion.omit(place, "Chat Completions doesn't accept reasoning")
    case 'tool-call':
      return conversion.omit(place, 'only assistant messages can contain tool calls')
    case 'tool-result':
      return undefined
    default:
      throw unknownPart(place)
  }
}

/** An image, audio or a file; a file known by its address as text. */
export function mediaPart(part: ImagePart | FilePart): WirePart {
  const data = part.type === 'image' ? part.image : part.data
  const media = mediaOf(data, part.mediaType)
  const isImage = part.type === 'image' || part.mediaType.startsWith('image/')
  const { image_url, file, ...extra } = chatFields(part.providerOptions)

  if ('url' in media) {
    if (!isImage) return { type: 'text', text: `[file ${media.url}]` }
    return { type: 'image_url', image_url: { url: media.url, ...asFields(image_url) }, ...extra }
  }
  const { base64, mediaType = isImage ? 'image/png' : 'application/octet-stream' } = media
  const url = dataUrlOf(data, mediaType, base64)
  if (isImage) return { type: 'image_url', image_url: { url, ...asFields(image_url) }, ...extra }
  if (mediaType.startsWith('audio/')) {
    const format = audioFormatOf(mediaType)
    return { type: 'input_audio', input_audio: { data: base64, format }, ...extra }
  }
  const filename =
    part.type === 'file' && part.filename !== undefined ? part.filename : defaultFilename(mediaType)
  return { type: 'file', file: { filename, file_data: url, ...asFields(file) }, ...extra }
}

function asFields(value: Json | undefined): JsonObject {
  return isObject(value) ? value : {}
}

/** Results hold only text: a short text replaces an image or a file. */
function toAnswerPart(item: ToolResultContent, place: string, conversion: Conversion): WirePart | undefined {
  if (item.type !== 'image' && item.type !== 'file') return toPart(item, false, place, conversion)
  conversion.note('changed', place, 'results can only contain text, so a short text is sent instead')
  if (item.type === 'image') return { type: 'text', text: '[image]' }
  return { type: 'text', text: item.filename === undefined ? '[file]' : `[file ${item.filename}]` }
}
