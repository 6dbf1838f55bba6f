/*
 * Messages in the form of Anthropic's Messages API, in and out. One message becomes one message, and what was
 * read comes out again as it was.
 *
 * What the neutral form has no place for is kept under the name `anthropic`: fields of a message in `metadata`,
 * fields of a block in `providerOptions`, whole blocks as provider parts. Three things are reserved there:
 *
 * - an empty object marks a blank text or an empty message as Anthropic's own; others are not sent there;
 * - `content` of a tool result says that its content was absent (null) or a list of texts (their layout);
 * - `is_error` of a tool result is set when it was given and not true.
 *
 * The output of a part goes first: shown in place of a tool result, another text is what is sent.
 */
import { isDeepStrictEqual } from 'node:util'
import { invalid } from '../core/check.ts'
import type { Json, JsonObject } from '../core/json.ts'
import {
  type FilePart,
  type ImagePart,
  isFailed,
  type Message,
  outputText,
  type Part,
  type ProviderPart,
  type TextPart,
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

const ANTHROPIC = 'anthropic'

/** A block of content: its type, and whatever fields that type has. */
export type AnthropicBlock = { type: string; [field: string]: Json | undefined }

/** A message of the Messages API, with any further fields an answer or a transcript carries. */
export type AnthropicMessage = {
  role: 'user' | 'assistant'
  content: string | AnthropicBlock[]
  [field: string]: Json | undefined
}

/** The part of a request that is conversation. */
export type AnthropicConversation = { system?: string | AnthropicBlock[]; messages: AnthropicMessage[] }

/** Who speaks where a block stands: images and files belong to what a user or a tool says. */
type Place = 'system' | 'user' | 'assistant'

/* ---------------------------------------------------------------------------------------------------- in */

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

/** Anthropic refuses a text without a visible character, though its models now and then write one. */
function isBlank(text: string): boolean {
  return text.trim() === ''
}

/* --------------------------------------------------------------------------------------------------- out */

/**
 * Neutral messages in the form of the Messages API: `toAnthropic(fromAnthropic(x))` is x.
 *
 * Of messages from elsewhere: leading system messages become `system`, later ones user messages; results of
 * tools become `tool_result` blocks of a user message, JSON as text, failures with `is_error`; a result within
 * an assistant message parts it in two. Not sent: parts of other providers, reasoning without a signature of
 * Anthropic's, images and files that are not a user's or a tool's, blank texts, messages left with nothing,
 * and metadata other than `metadata.anthropic`.
 *
 * Order and neighbours stay as they are; making them acceptable is the work of a rendering. Throws
 * `INVALID_INPUT` for a part of an unknown type.
 */
export function toAnthropic(messages: readonly Message[]): AnthropicConversation {
  const firstTurn = messages.findIndex(({ role }) => role !== 'system')
  const leading = firstTurn === -1 ? messages : messages.slice(0, firstTurn)
  const system = toSystem(leading)
  const turns = messages.slice(leading.length).flatMap(toMessages)
  return system === undefined ? { messages: turns } : { system, messages: turns }
}

function toSystem(messages: readonly Message[]): string | AnthropicBlock[] | undefined {
  const contents = messages
    .map((message) => toContent(message, message.content, 'system'))
    .filter((content) => content !== undefined)
  if (contents.length < 2) return contents[0]
  return contents.flatMap((content) =>
    typeof content === 'string' ? [{ type: 'text', text: content }] : content,
  )
}

function toMessages(message: Message): AnthropicMessage[] {
  const runs = typeof message.content === 'string' ? [] : runsOf(message.content)
  const whole = message.role !== 'assistant' || runs.length < 2
  const contents: readonly (string | readonly Part[])[] = whole ? [message.content] : runs
  return contents.flatMap((content, i): AnthropicMessage[] => {
    const answers = typeof content !== 'string' && isResult(content[0])
    const role = message.role === 'assistant' && !answers ? 'assistant' : 'user'
    const sent = toContent(message, content, role)
    const extra = i === 0 ? keptFor(ANTHROPIC, message.metadata) : undefined
    return sent === undefined ? [] : [{ role, content: sent, ...extra }]
  })
}

/** The content to send; `undefined` when nothing is left of it. */
function toContent(
  { metadata }: Message,
  content: string | readonly Part[],
  place: Place,
): string | AnthropicBlock[] | undefined {
  const own = keptFor(ANTHROPIC, metadata) !== undefined
  if (typeof content === 'string') return own || !isBlank(content) ? content : undefined
  const blocks = content.flatMap((part) => toBlock(part, place) ?? [])
  return blocks.length > 0 || (own && content.length === 0) ? blocks : undefined
}

function toBlock(part: Part, place: Place): AnthropicBlock | undefined {
  switch (part.type) {
    case 'text':
      return textBlock(part)
    case 'image':
    case 'file':
      return place === 'user' ? mediaBlock(part) : undefined
    case 'provider':
      return part.provider === ANTHROPIC && isObject(part.data)
        ? ({ ...part.data } as AnthropicBlock)
        : undefined
    case 'reasoning': {
      const fields = keptFor(ANTHROPIC, part.providerOptions)
      return typeof fields?.signature === 'string'
        ? { type: 'thinking', thinking: part.text, ...fields }
        : undefined
    }
    case 'tool-call': {
      const fields = keptFor(ANTHROPIC, part.providerOptions)
      const input = isObject(part.input) || fields !== undefined ? part.input : { arguments: part.input }
      return { type: 'tool_use', id: part.toolCallId, name: part.toolName, input, ...fields }
    }
    case 'tool-result':
      return resultBlock(part)
    default:
      throw invalid('a part of an unknown type')
  }
}

function textBlock({ text, providerOptions }: TextPart): AnthropicBlock | undefined {
  const fields = keptFor(ANTHROPIC, providerOptions)
  return isBlank(text) && fields === undefined ? undefined : { type: 'text', text, ...fields }
}

function resultBlock({ toolCallId, output, providerOptions }: ToolResultPart): AnthropicBlock {
  const { content: layout, is_error, ...fields } = keptFor(ANTHROPIC, providerOptions) ?? {}
  const content = resultContent(output, layout)
  const failed = isFailed(output) ? true : is_error === true ? undefined : is_error
  return {
    type: 'tool_result',
    tool_use_id: toolCallId,
    ...(content === undefined ? {} : { content }),
    ...(failed === undefined ? {} : { is_error: failed }),
    ...fields,
  }
}

function resultContent(
  output: ToolResultOutput,
  layout: Json | undefined,
): string | AnthropicBlock[] | undefined {
  if (output.type === 'content') return output.value.flatMap((item) => toBlock(item, 'user') ?? [])
  const text = outputText(output)
  return layout === null && text === '' ? undefined : (textBlocks(text, layout) ?? text)
}

/** An image or a document. Plain text has a source of its own: the API reads no other type as text. */
function mediaBlock(part: ImagePart | FilePart): AnthropicBlock {
  const media = mediaOf(part.type === 'image' ? part.image : part.data, part.mediaType)
  const type = part.type === 'image' || part.mediaType.startsWith('image/') ? 'image' : 'document'
  const title =
    part.type === 'file' && part.filename !== undefined && type === 'document' ? { title: part.filename } : {}
  return { type, source: sourceOf(media, type), ...title, ...keptFor(ANTHROPIC, part.providerOptions) }
}

function sourceOf(media: ReturnType<typeof mediaOf>, type: 'image' | 'document'): JsonObject {
  if ('url' in media) return { type: 'url', url: media.url }
  const { base64, mediaType = type === 'image' ? 'image/png' : 'application/pdf' } = media
  if (type === 'document' && mediaType.startsWith('text/')) {
    return { type: 'text', media_type: 'text/plain', data: Buffer.from(base64, 'base64').toString() }
  }
  return { type: 'base64', media_type: mediaType, data: base64 }
}
