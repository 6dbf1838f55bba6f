import { invalid } from '../core/check.ts'
import { compactionBlock } from '../core/compaction-block.ts'
import { canonicalJson, type Json, type JsonObject, stringifyJson } from '../core/json.ts'
import {
  type FilePart,
  type ImagePart,
  type Message,
  outputText,
  type Part,
  type ProviderPart,
  type ToolCallPart,
  type ToolResultContent,
  type ToolResultOutput,
  type ToolResultPart,
} from '../core/message.ts'
import { checkMessageList } from '../core/message-list.ts'
import { OPENAI, type OpenAICompaction, type OpenAIMessage, type OpenAIPart } from './openai-types.ts'
import { isEmpty, isObject, isResult, keptFor, mediaOf, parsedArguments, runsOf, textBlocks } from './wire.ts'

/**
 * Neutral messages in the form of Chat Completions: `toOpenAI(fromOpenAI(x))` is x.
 *
 * Of messages from elsewhere: each result of a tool becomes a message of its own, before whatever else a user
 * message says; a result within an assistant message parts it in two. JSON and failures are sent as text, an
 * image or file within a result as a word in its place, a file known only by its address as that address. Not
 * sent: parts of other providers, reasoning, images and files that are not a user's, messages left with
 * nothing, and metadata other than `metadata.openai`. OpenAI's own compaction becomes an item of the list. Throws `INVALID_INPUT` for a part of an unknown type.
 */
export function toOpenAI(messages: readonly Message[]): (OpenAIMessage | OpenAICompaction)[] {
  checkMessageList(messages, 'toOpenAI')
  return messages.flatMap((message): (OpenAIMessage | OpenAICompaction)[] => {
    if (message.role === 'assistant') {
      const items = compactionsOf(message)
      if (items.length === 0) return toAssistant(message)
      const rest = (message.content as readonly Part[]).filter((part) => !isCompaction(part))
      const isSilent = rest.every((part) => part.type === 'text' && part.text === '')
      return isSilent ? items : [...items, ...toAssistant({ ...message, content: rest })]
    }
    if (typeof message.content === 'string') return [toSpoken(message, message.content)]
    // What stands beside results is nobody's words, unless it is a text.
    const isBeside = (part: Part): boolean => message.role === 'tool' && part.type === 'provider'
    const rest = message.content.filter((part) => !isResult(part) && !isBeside(part))
    const parts = rest.flatMap((part) => toPart(part, message.role !== 'system') ?? [])
    const shape = keptFor(OPENAI, message.metadata)?.content
    const speaks = parts.length > 0 || (shape !== undefined && message.content.length === 0)
    return [
      ...message.content.filter(isResult).map(toToolMessage),
      ...(speaks ? [toSpoken(message, parts)] : []),
    ]
  })
}

/** OpenAI's own blocks, each an item of the list. */
function compactionsOf({ content }: Message): OpenAICompaction[] {
  if (typeof content === 'string') return []
  return content.flatMap((part) =>
    isCompaction(part) ? [{ ...(part.data as JsonObject), type: 'compaction' as const }] : [],
  ) as OpenAICompaction[]
}

function isCompaction(part: Part): part is ProviderPart {
  return part.type === 'provider' && part.provider === OPENAI && compactionBlock(part) !== undefined
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
  // Beside an image that may not be sent an empty text would be all that is.
  const isEmptied = parts.some(({ type }) => type === 'image' || type === 'file') && said.every(isEmptyText)
  if (isEmptied) said.length = 0
  // A message has room for one call of the old kind; several (messages merged by somebody) are calls of the new.
  const [only] = functionCalls
  const legacy = functionCalls.length === 1 && only !== undefined ? { function_call: toFunction(only) } : {}
  if (functionCalls.length > 1) toolCalls.unshift(...functionCalls.map(toToolCall))
  return { said, fields: { ...texts, ...(toolCalls.length > 0 ? { tool_calls: toolCalls } : {}), ...legacy } }
}

function isEmptyText({ type, text }: OpenAIPart): boolean {
  return type === 'text' && text === ''
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

export function mediaPart(part: ImagePart | FilePart): OpenAIPart {
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
