import { compactionBlock } from '../../core/messages/compaction-block.ts'
import { isObject, type Json, type JsonObject } from '../../core/messages/json.ts'
import {
  type FilePart,
  type ImagePart,
  isFailed,
  type Message,
  outputText,
  type Part,
  type ProviderPart,
  partsOf,
  type ReasoningPart,
  type TextPart,
  type ToolCallPart,
  type ToolResultContent,
  type ToolResultOutput,
  type ToolResultPart,
} from '../../core/messages/message.ts'
import { readMessages } from '../../core/messages/message-check.ts'
import { Conversion, type ConversionOptions, omissionReason, unknownPart } from '../conversion.ts'
import { audioFormatOf } from '../openai/chat-types.ts'
import { argumentsText, keptFor, mediaOf, replacedAt, textBlocks } from '../wire.ts'
import { AGENTS, type AgentItem, CALLS, CONTENT_TYPES, PROVIDER, RESULTS } from './item-shapes.ts'

/** One gray pixel, for a screenshot that is shown as text, because the item can hold only an image. */
const NO_SCREENSHOT = 'data:image/gif;base64,R0lGODlhAQABAIAAAICAgAAAACH5BAAAAAAALAAAAAABAAEAAAICRAEAOw=='

function toResult(part: ToolResultPart, writing: Writing): Item {
  const own = keptFor(AGENTS, part.providerOptions)
  const { type, output: form, ...fields } = own ?? { status: 'completed' }
  const callId = part.toolCallId
  if (RESULTS.has(type)) return toKnownResult(part, { ...fields, type }, form, writing)
  if (own === undefined && isFailed(part.output))
    writing.conversion.note('changed', writing.place, "a result can't mark its call as failed")
  const name = part.toolName ?? writing.names.get(callId)
  if (name === undefined)
    writing.conversion.note(
      'changed',
      writing.place,
      'the name of the tool is unknown, so the name tool is sent',
    )
  const output = toOutput(part.output, form, writing)
  return { type: 'function_call_result', callId, name: name ?? 'tool', ...fields, output }
}

function toOutput(output: ToolResultOutput, form: Json | undefined, writing: Writing): unknown {
  if (output.type !== 'content') {
    const text = outputText(output)
    return isObject(form) ? { ...form, type: 'text', text } : text
  }
  const [first] = output.value
  if (form === 'one' && first !== undefined && output.value.length === 1) {
    const lone = toLoneOutput(first, writing)
    return lone ?? ''
  }
  const { place } = writing
  const contents = output.value.flatMap((entry, i) => {
    writing.place = `${place}.output.value[${i}]`
    return toListed(entry, writing)
  })
  writing.place = place
  return contents.length === 0 && output.value.length > 0 ? '' : contents
}

function toListed(entry: ToolResultContent, writing: Writing): readonly Item[] {
  if (entry.type === 'text') return [toText(entry, 'input_text')]
  if (entry.type === 'provider') return toKeptContent(entry, writing)
  return [toInputMedia(entry, false)]
}

/** An image or file that was a single content, in the form it was given. */
function toLoneOutput(entry: ToolResultContent, writing: Writing): unknown {
  if (entry.type === 'text') return { type: 'text', text: entry.text }
  if (entry.type === 'provider') return toKeptContent(entry, writing)[0]
  const data = entry.type === 'image' ? entry.image : entry.data
  return contentAsRead(entry, data) ?? { type: entry.type, [entry.type]: data }
}

/** A content as it was read, with the image or file that is shown now; `undefined` for one of another origin. */
function contentAsRead(part: ImagePart | FilePart, data: string | Uint8Array): Item | undefined {
  const { in: at, ...kept } = keptFor(AGENTS, part.providerOptions) ?? {}
  if (typeof at !== 'string') return undefined
  const content = replacedAt(kept, at, data) as Item
  const held = kept[part.type]
  // Another image may be shown instead, of another type.
  const isTyped = isObject(held) && held.mediaType !== undefined
  return isTyped ? (replacedAt(content, `${part.type}.mediaType`, part.mediaType) as Item) : content
}

function toKnownResult(
  { toolCallId: callId, output }: ToolResultPart,
  fields: JsonObject,
  form: Json | undefined,
  { conversion, place }: Writing,
): Item {
  const item = { callId, ...fields }
  if (fields.type === 'shell_call_output') return { ...item, output: shellOutput(output) }
  if (fields.type !== 'computer_call_result') {
    const text = outputText(output)
    return form === null && text === '' ? item : { ...item, output: text }
  }
  const [first] = output.type === 'content' ? output.value : []
  if (first?.type === 'image' && typeof first.image === 'string') {
    const own = keptFor(AGENTS, first.providerOptions)
    return { ...item, output: { ...own, type: 'computer_screenshot', data: first.image } }
  }
  conversion.note('changed', place, 'a screenshot that was replaced with text is sent as an empty image')
  return { ...item, output: { type: 'computer_screenshot', data: NO_SCREENSHOT } }
}

/** The output of a shell; a text that replaces it becomes the output of an unknown command. */
function shellOutput(output: ToolResultOutput): unknown {
  if (output.type === 'json' && Array.isArray(output.value)) return output.value
  return [{ stdout: outputText(output), stderr: '', outcome: { type: 'exit', exitCode: null } }]
}

/**
 * Converts neutral messages to items of the OpenAI Agents SDK: `toAgentItems(fromAgentItems(x))` is x.
 *
 * A message from elsewhere becomes as many items as it needs, in the order of its parts: the content between calls becomes a message item,
 * every call and every result an item of its own. System messages are sent as their text. JSON and the output of a failed tool are sent as
 * text; the item doesn't mark the failure. Not sent, and reported: reasoning of others, parts that only another provider reads, images and
 * files outside user messages and tool results, unread parts. A compaction block of OpenAI becomes a `compaction` item; a result whose tool
 * is unknown gets the name `tool`.
 *
 * Throws `INVALID_INPUT` for a list that holds anything other than messages, and for a part of an unknown type.
 */
export function toAgentItems(messages: readonly Message[], options?: ConversionOptions): AgentItem[] {
  return toItemsOfEach(messages, options).flat()
}

/** `toAgentItems` with a list of items per message. */
export function toItemsOfEach(messages: readonly Message[], options?: ConversionOptions): AgentItem[][] {
  return readMessages(messages, 'toAgentItems', () => {
    const conversion = new Conversion(AGENTS, options)
    const writing = { conversion, names: new Map<string, string>(), place: '' }
    const items = conversion.sendable(messages).map((message, i) => {
      conversion.at(i)
      return toItems(message, `[${i}]`, writing)
    })
    // Items that were read were checked then; all others are made here.
    return items as unknown as AgentItem[][]
  })
}

function toItems(message: Message, place: string, writing: Writing): Item[] {
  const fields = keptFor(AGENTS, message.metadata)
  if (message.role === 'system' || typeof message.content === 'string')
    return toPlain(message, fields, place, writing)
  const isModel = message.role === 'assistant'
  const items: Item[] = []
  let contents: Item[] = []
  let isFirst = true
  const flush = (always: boolean): void => {
    const isSilent = contents.every(({ text, type }) => text === '' && type !== 'refusal')
    if (always || !isSilent) {
      items.push(messageItem(isModel ? 'assistant' : 'user', contents, isFirst ? fields : undefined))
      isFirst = false
    }
    contents = []
  }
  message.content.forEach((part, i) => {
    writing.place = `${place}.content[${i}]`
    const item = toItem(part, writing)
    if (item !== undefined) {
      flush(false)
      items.push(item)
    } else for (const one of toContent(part, isModel, writing)) contents.push(one)
  })
  // An empty message item that was read is written again.
  flush(fields !== undefined && items.length === 0)
  return items
}

function messageItem(role: string, content: string | readonly Item[], fields: JsonObject = {}): Item {
  const { type, ...rest } = fields
  const status = role === 'assistant' ? { status: 'completed' } : {}
  return { ...(type !== null && { type: 'message' }), role, ...status, ...rest, content }
}

/** A system message, or one whose content is a string. */
function toPlain(message: Message, fields: JsonObject | undefined, place: string, writing: Writing): Item[] {
  const { role } = message
  const texts = partsOf(message).flatMap((part, i) => {
    if (part.type === 'text') return [part.text]
    writing.conversion.note('not-sent', `${place}.content[${i}]`, `a ${role} message can only contain text`)
    return []
  })
  if (texts.length === 0) return []
  const text = texts.join('')
  if (role !== 'assistant') return [messageItem(role === 'system' ? 'system' : 'user', text, fields)]
  return text === '' ? [] : [messageItem(role, [{ type: 'output_text', text }], fields)]
}

/** The item of a part; `undefined` for a part of a message item. */
function toItem(part: Part, writing: Writing): Item | undefined {
  switch (part.type) {
    case 'tool-call':
      writing.names.set(part.toolCallId, part.toolName)
      return toCall(part)
    case 'tool-result':
      return toResult(part, writing)
    case 'reasoning':
      return toReasoning(part)
    case 'provider':
      return wholeItem(part)
    default:
      return undefined
  }
}

function wholeItem(part: ProviderPart): Item | undefined {
  if (part.provider !== PROVIDER) return undefined
  if (compactionBlock(part) !== undefined) return part.data as JsonObject
  const item = keptItem(part)
  return item === undefined || CONTENT_TYPES.has(item.type) ? undefined : item
}

function toCall({ toolCallId, toolName, input, providerOptions }: ToolCallPart): Item {
  const { type, arguments: raw, ...fields } = keptFor(AGENTS, providerOptions) ?? { status: 'completed' }
  if (CALLS.has(type) && isObject(input)) return { type, callId: toolCallId, ...input, ...fields }
  const written = argumentsText(input, raw)
  return { type: 'function_call', callId: toolCallId, name: toolName, arguments: written, ...fields }
}

/** Reasoning that was read from this format. Only its own provider accepts other reasoning; emptied reasoning is dropped. */
function toReasoning({ text, providerOptions }: ReasoningPart): Item | undefined {
  const fields = keptFor(AGENTS, providerOptions)
  if (fields === undefined) return undefined
  const { content: layout, type: _, ...rest } = fields
  const blocks = layout === undefined ? [{ text }] : (textBlocks(text, layout) ?? [])
  const content = blocks.map((block) => ({ ...block, type: 'input_text' }))
  return { type: 'reasoning', ...rest, content }
}

/** An item, or a content of one; it may hold bytes. */
type Item = { readonly [name: string]: unknown }

/** The state of a conversion: tool names by call id, and the current place. */
type Writing = { readonly conversion: Conversion; readonly names: Map<string, string>; place: string }

/** The value that a part keeps whole; `undefined` for parts of other formats. */
function keptItem({ provider, data }: ProviderPart): JsonObject | undefined {
  const kept: Json | undefined = provider === PROVIDER && isObject(data) ? data[AGENTS] : undefined
  return isObject(kept) ? kept : undefined
}

/** The content of a part in a message item, in a list of one; an empty list for a part without a place there, which is reported. */
function toContent(part: Part, isModel: boolean, writing: Writing): readonly Item[] {
  switch (part.type) {
    case 'text':
      return [toText(part, isModel ? 'output_text' : 'input_text')]
    case 'image':
    case 'file': {
      const isOurs = keptFor(AGENTS, part.providerOptions) !== undefined
      if (!isModel || isOurs) return [toInputMedia(part, true)]
      return omit(writing, "images and files in assistant messages aren't sent")
    }
    case 'reasoning':
      // Emptied reasoning was removed on purpose.
      return part.text === '' ? [] : omit(writing, 'the provider accepts only its own reasoning')
    case 'provider':
      return toKeptContent(part, writing)
    default:
      throw unknownPart(writing.place)
  }
}

function omit({ conversion, place }: Writing, why: string): readonly Item[] {
  conversion.omit(place, why)
  return []
}

/** A content that names an uploaded file. */
function toKeptContent(part: ProviderPart, writing: Writing): readonly Item[] {
  const content = keptItem(part)
  if (content !== undefined && CONTENT_TYPES.has(content.type)) return [content]
  return omit(writing, omissionReason(part.provider, PROVIDER))
}

function toText({ text, providerOptions }: TextPart, type: 'input_text' | 'output_text'): Item {
  const { type: own, ...fields } = keptFor(AGENTS, providerOptions) ?? {}
  return own === 'refusal' ? { type: own, refusal: text, ...fields } : { type, text, ...fields }
}

/** An image or file as content of a message, or of a list in a tool output, where audio is a file like any other. */
function toInputMedia(part: ImagePart | FilePart, mayBeAudio: boolean): Item {
  const data = part.type === 'image' ? part.image : part.data
  const filename = part.type === 'file' && part.filename !== undefined ? { filename: part.filename } : {}
  const read = typeof data === 'string' ? contentAsRead(part, data) : undefined
  if (read !== undefined) return read
  const media = mediaOf(data, part.mediaType)
  const isImage = part.type === 'image' || part.mediaType.startsWith('image/')
  if ('url' in media)
    return isImage
      ? { type: 'input_image', image: media.url }
      : { type: 'input_file', file: { url: media.url }, ...filename }
  const { base64, mediaType = isImage ? 'image/png' : 'application/octet-stream' } = media
  if (mayBeAudio && mediaType.startsWith('audio/')) {
    return { type: 'audio', audio: base64, format: audioFormatOf(mediaType) }
  }
  const url = `data:${mediaType};base64,${base64}`
  // The API requires a name with every file.
  return isImage
    ? { type: 'input_image', image: url }
    : { type: 'input_file', file: url, filename: 'file', ...filename }
}
