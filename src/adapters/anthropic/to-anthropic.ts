import { isBlank } from '../../core/messages/characters.ts'
import { defined, isObject, type Json, objectInput } from '../../core/messages/json.ts'
import {
  isFailed,
  isResult,
  type Message,
  outputText,
  type Part,
  type ReasoningPart,
  type TextPart,
  type ToolCallPart,
  type ToolResultOutput,
  type ToolResultPart,
} from '../../core/messages/message.ts'
import { readMessages } from '../../core/messages/message-check.ts'
import { type Conversion, type ConversionOptions, omissionReason, unknownPart } from '../conversion.ts'
import {
  answeredRunsOf,
  beginTurn,
  beginWriting,
  omit,
  placesOf,
  resultsFirst,
  type Writing,
} from '../runs.ts'
import { keptFor, textBlocks } from '../wire.ts'
import {
  ANTHROPIC,
  type AnthropicBlock,
  type AnthropicConversation,
  type AnthropicMessage,
  type AnthropicResultBlock,
  type AnthropicTextBlock,
  blockOptions,
  isShownAsPlain,
  mediaBlock,
  type Place,
} from './blocks.ts'

/** Options of `toAnthropic`. */
export type AnthropicOptions = ConversionOptions & {
  /**
   * Leaves out message fields other than role and content: the id, model, usage and similar fields of a response, which the API rejects in
   * a request. Default: false, which writes the fields that were read.
   */
  readonly forRequest?: boolean | undefined
}

/**
 * Converts neutral messages to the form of the Messages API: `toAnthropic(fromAnthropic(x))` is x.
 *
 * For messages from elsewhere: leading system messages become `system`, later ones user messages; tool results become `tool_result` blocks
 * of a user message, JSON as text, failures with `is_error`; a result within an assistant message splits it in two; an input that isn't an
 * object is sent as an object: an empty one if there is no input, the parsed one if its text is JSON, else `{ arguments: input }`; an
 * unpaired surrogate is sent as U+FFFD. Not sent: parts of other providers and unread ones, reasoning without a signature of Anthropic,
 * images and files outside user messages and tool results or of a type that the API rejects, blank texts, empty messages, and metadata
 * other than `metadata.anthropic`. Each of these is reported. What the AI SDK keeps under `anthropic` is sent with the API names
 * (`cacheControl` as `cache_control`), or not at all.
 *
 * The order of messages is not changed; `renderView` makes it acceptable. Throws `INVALID_INPUT` for a part of
 * an unknown type, and for invalid options.
 */
export function toAnthropic(
  given: readonly Message[],
  options: AnthropicOptions = {},
): AnthropicConversation {
  return readMessages(given, 'toAnthropic', () => {
    const begun = beginWriting(given, options, ANTHROPIC, 'forRequest', false)
    const { conversion, isSet: forRequest, leading, messages } = begun
    const system = toSystem(messages.slice(0, leading), conversion)
    const turns: AnthropicMessage[] = []
    /** Whether the last turn holds results from within an assistant message: the next user content joins them. */
    let ownResults = false
    for (const [index, message] of messages.entries()) {
      if (index < leading) continue
      const [first, ...others] = toMessages(message, index, conversion)
      if (first === undefined) continue
      const last = turns.at(-1)
      if (ownResults && first.role === 'user' && last !== undefined)
        turns[turns.length - 1] = joined(last, first)
      else turns.push(first)
      for (const other of others) turns.push(other)
      ownResults = message.role === 'assistant' && turns.at(-1)?.role === 'user'
    }
    const sent = forRequest ? turns.map(({ role, content }) => ({ role, content })) : turns
    return system === undefined ? { messages: sent } : { system, messages: sent }
  })
}

function joined(results: AnthropicMessage, words: AnthropicMessage): AnthropicMessage {
  return { ...words, content: [...asBlocks(results.content), ...asBlocks(words.content)] }
}

function toSystem(
  messages: readonly Message[],
  conversion: Conversion,
): string | AnthropicTextBlock[] | undefined {
  const contents = messages
    .map((message, i) => {
      conversion.at(i)
      const path = `[${i}].content`
      const { content } = message
      return toContent(message, content, placesOf(content, path), 'system', { conversion, path })
    })
    .filter((content) => content !== undefined)
  const sent = contents.length < 2 ? contents[0] : contents.flatMap(asBlocks)
  // A system prompt holds text, and blocks that were read from one.
  return sent as string | AnthropicTextBlock[] | undefined
}

function asBlocks(content: string | AnthropicBlock[]): AnthropicBlock[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content
}

function toMessages(message: Message, index: number, conversion: Conversion): AnthropicMessage[] {
  beginTurn(message, index, conversion)
  const path = `[${index}].content`
  const runs = typeof message.content === 'string' ? [] : answeredRunsOf(message.content)
  const whole = message.role !== 'assistant' || runs.length < 2
  if (!whole) conversion.note('changed', path, 'results within an assistant message become user messages')
  const places = placesOf(message.content, path)
  const contents: readonly (string | readonly Part[])[] = whole ? [message.content] : runs
  return contents.flatMap((content, i): AnthropicMessage[] => {
    const answers = typeof content !== 'string' && isResult(content[0])
    const role = message.role === 'assistant' && !answers ? 'assistant' : 'user'
    const sent = toContent(message, content, places, role, { conversion, path })
    const extra = i === 0 ? keptFor(ANTHROPIC, message.metadata) : undefined
    return sent === undefined ? [] : [{ role, content: sent, ...extra }]
  })
}

/** The content to send; `undefined` when nothing is left. */
function toContent(
  { role, metadata }: Message,
  content: string | readonly Part[],
  places: ReadonlyMap<Part, string>,
  place: Place,
  writing: Writing,
): string | AnthropicBlock[] | undefined {
  const own = keptFor(ANTHROPIC, metadata) !== undefined
  if (typeof content === 'string' ? own || !isBlank(content) : own && content.length === 0)
    return typeof content === 'string' ? content : []
  if (typeof content === 'string' || content.length === 0)
    return omit(writing, 'the API rejects a message without visible characters')
  const parts = role === 'tool' ? resultsFirst(content) : content
  const blocks = parts.flatMap((part) => toBlock(part, place, { ...writing, path: places.get(part)! }) ?? [])
  return blocks.length > 0 ? blocks : undefined
}

function toBlock(part: Part, place: Place, writing: Writing): AnthropicBlock | undefined {
  switch (part.type) {
    case 'reasoning':
      return reasoningBlock(part, writing)
    case 'tool-call':
      return callBlock(part, writing)
    case 'tool-result':
      return resultBlock(part, writing)
    default:
      return toSimpleBlock(part, place, writing)
  }
}

/** The blocks that a tool result may hold too. */
function toSimpleBlock(part: Part, place: Place, writing: Writing): AnthropicResultBlock | undefined {
  switch (part.type) {
    case 'text':
      return textBlock(part, writing)
    case 'image':
    case 'file':
      if (place !== 'user') return omit(writing, 'only user messages can contain images and files')
      if (isShownAsPlain(part))
        writing.conversion.note('changed', writing.path, 'a text file of another type is sent as plain text')
      return mediaBlock(part) ?? omit(writing, 'the API rejects this media type')
    case 'provider':
      if (part.provider !== ANTHROPIC) return omit(writing, omissionReason(part.provider, ANTHROPIC))
      if (!isObject(part.data) || typeof part.data.type !== 'string')
        return omit(writing, omissionReason(part.provider, ANTHROPIC))
      // It was a block of another type when it was read.
      return { ...part.data } as AnthropicResultBlock
    default:
      throw unknownPart(writing.path)
  }
}

function textBlock({ text, providerOptions }: TextPart, writing: Writing): AnthropicResultBlock | undefined {
  const { fields, isOwn, blockType } = blockOptions(providerOptions)
  // The AI SDK makes a text of a compaction block; it becomes a block again.
  if (blockType === 'compaction') return { type: blockType, content: text } as unknown as AnthropicResultBlock
  if (isBlank(text) && !isOwn) return omit(writing, 'the API rejects text without visible characters')
  return { type: 'text', text, ...fields }
}

function reasoningBlock(
  { text, providerOptions }: ReasoningPart,
  writing: Writing,
): AnthropicBlock | undefined {
  const { fields, redactedData } = blockOptions(providerOptions)
  const { signature, ...rest } = fields
  if (typeof signature === 'string') return { type: 'thinking', thinking: text, signature, ...rest }
  if (redactedData !== undefined) return { type: 'redacted_thinking', data: redactedData }
  return omit(writing, 'the API rejects reasoning without a signature from Anthropic')
}

function callBlock(part: ToolCallPart, { conversion, path }: Writing): AnthropicBlock {
  const { fields, isOwn } = blockOptions(part.providerOptions)
  const isUnchanged = isOwn || isObject(part.input)
  if (!isUnchanged)
    conversion.note('changed', `${path}.input`, "the input isn't an object, so it is sent as one")
  if (part.providerExecuted === true)
    conversion.note(
      'changed',
      path,
      "a call that a provider ran itself is sent as one of the application's tools",
    )
  const input = isUnchanged ? part.input : objectInput(part.input)
  return { type: 'tool_use', id: part.toolCallId, name: part.toolName, input, ...fields }
}

/** Replaces the missing content of a failure: the API rejects `is_error` without content. */
const FAILED_TEXT = '[The tool failed without output]'

function resultBlock(
  { toolCallId, output, providerOptions }: ToolResultPart,
  writing: Writing,
): AnthropicBlock {
  const { fields: kept, isOwn } = blockOptions(providerOptions)
  const { content: layout, is_error, ...fields } = kept
  const failed = isFailed(output) ? true : is_error === true ? undefined : is_error
  const value = resultContent(output, layout, writing)
  // Results read from this format stay as they were.
  const isSilent = failed === true && value?.length === 0 && !isOwn
  if (isSilent)
    writing.conversion.note(
      'changed',
      `${writing.path}.output`,
      'the API rejects a failure without content, so a short text is sent',
    )
  const content = isSilent ? FAILED_TEXT : value
  return {
    type: 'tool_result',
    tool_use_id: toolCallId,
    ...defined({ content, is_error: failed }),
    ...fields,
  }
}

function resultContent(
  output: ToolResultOutput,
  layout: Json | undefined,
  writing: Writing,
): string | AnthropicResultBlock[] | undefined {
  if (output.type === 'content') {
    const path = `${writing.path}.output.value`
    return output.value.flatMap(
      (item, i) => toSimpleBlock(item, 'user', { ...writing, path: `${path}[${i}]` }) ?? [],
    )
  }
  const text = outputText(output)
  return layout === null && text === '' ? undefined : (textBlocks(text, layout) ?? text)
}
