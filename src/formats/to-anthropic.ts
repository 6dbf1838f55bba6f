import { invalid } from '../core/check.ts'
import type { Json, JsonObject } from '../core/json.ts'
import {
  type FilePart,
  type ImagePart,
  isFailed,
  type Message,
  outputText,
  type Part,
  type TextPart,
  type ToolResultOutput,
  type ToolResultPart,
} from '../core/message.ts'
import { checkMessageList } from '../core/message-list.ts'
import {
  ANTHROPIC,
  type AnthropicBlock,
  type AnthropicConversation,
  type AnthropicMessage,
  type Place,
} from './anthropic-types.ts'
import { isBlank, isObject, isResult, keptFor, mediaOf, runsOf, textBlocks } from './wire.ts'

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
  checkMessageList(messages, 'toAnthropic')
  const firstTurn = messages.findIndex(({ role }) => role !== 'system')
  const leading = firstTurn === -1 ? messages : messages.slice(0, firstTurn)
  const system = toSystem(leading)
  const turns: AnthropicMessage[] = []
  /** Whether the last turn is results that stood within an assistant message: the user's next words join them. */
  let ownResults = false
  for (const message of messages.slice(leading.length)) {
    const [first, ...others] = toMessages(message)
    if (first === undefined) continue
    const last = turns.at(-1)
    if (ownResults && first.role === 'user' && last !== undefined)
      turns[turns.length - 1] = joined(last, first)
    else turns.push(first)
    turns.push(...others)
    ownResults = message.role === 'assistant' && turns.at(-1)?.role === 'user'
  }
  return system === undefined ? { messages: turns } : { system, messages: turns }
}

function joined(results: AnthropicMessage, words: AnthropicMessage): AnthropicMessage {
  const content = [results, words].flatMap(({ content }) =>
    typeof content === 'string' ? [{ type: 'text', text: content }] : content,
  )
  return { ...words, content }
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
  { role, metadata }: Message,
  content: string | readonly Part[],
  place: Place,
): string | AnthropicBlock[] | undefined {
  const own = keptFor(ANTHROPIC, metadata) !== undefined
  if (typeof content === 'string') return own || !isBlank(content) ? content : undefined
  // The API wants results first; only beside those that came from elsewhere can something stand before them.
  const parts =
    role === 'tool' ? [...content.filter(isResult), ...content.filter((part) => !isResult(part))] : content
  const blocks = parts.flatMap((part) => toBlock(part, place) ?? [])
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
export function mediaBlock(part: ImagePart | FilePart): AnthropicBlock {
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
