import { isDeepStrictEqual } from 'node:util'
import { defined, isObject, type Json, type JsonObject } from '../../core/messages/json.ts'
import {
  isFailed,
  isResult,
  type Message,
  outputText,
  type Part,
  type ProviderPart,
  type ToolCallPart,
  type ToolResultPart,
} from '../../core/messages/message.ts'
import { readMessages } from '../../core/messages/message-check.ts'
import { Conversion, type ConversionOptions, isSilent, omissionReason, unknownPart } from '../conversion.ts'
import { runsOf } from '../runs.ts'
import { isEmpty, keptFor, textBlocks } from '../wire.ts'
import { mediaBlock, noBlockOf, reasoningBlock, textBlock } from './blocks.ts'
import {
  isChunkClass,
  LANGCHAIN,
  type LangChainBlock,
  type LangChainData,
  type LangChainStoredMessage,
  type MessageForm,
  usualFields,
} from './types.ts'

/** Writes the calls of one assistant message. */
class CallWriter {
  readonly #conversion: Conversion
  readonly #own: JsonObject | undefined
  readonly #renewed: Set<string>
  readonly #listed: JsonObject[] = []
  readonly #unread: JsonObject[] = []

  constructor(conversion: Conversion, own: JsonObject | undefined, renewed: Set<string>) {
    this.#conversion = conversion
    this.#own = own
    this.#renewed = renewed
  }

  /** Adds a call, and returns its block in the content where it has one: as it was read, or in a message of version 1. */
  write(part: ToolCallPart, place: string, isStandard: boolean): LangChainBlock[] {
    const options = keptFor(LANGCHAIN, part.providerOptions) ?? {}
    // It is in `additional_kwargs`, which is kept whole.
    if (options.from === 'additional_kwargs' && isObject(this.#own?.additional_kwargs)) return []
    if (options.from === 'additional_kwargs') this.#renewed.add(part.toolCallId)
    const isWritten = isObject(part.input) || options.call !== undefined || options.from === 'content'
    if (!isWritten) this.#conversion.note('changed', place, "the input isn't an object, so it is sent as one")
    const args: Json = isWritten ? part.input : { arguments: part.input }
    const call = { name: part.toolName, args, id: part.toolCallId }
    if (options.from !== 'content') this.#listed.push(entryOf(call, options.call))
    if (isObject(options.block)) return [blockOf(call, options.block)]
    return isStandard ? [{ type: 'tool_call', ...call }] : []
  }

  /** Adds a call whose arguments could not be read. Returns whether the part was one. */
  writeUnread(part: ProviderPart): boolean {
    const call = noBlockOf(part, 'invalid_tool_call')
    if (call !== undefined) this.#unread.push(call)
    return call !== undefined
  }

  /** The fields that list the calls, in the order they were read in. */
  fields(): JsonObject {
    const { form } = this.#own ?? {}
    const order = isObject(form) && Array.isArray(form.order) ? (form.order as readonly number[]) : []
    const calls = this.#listed.map((call, i) => ({
      call,
      at: order.length === this.#listed.length ? order[i]! : i,
    }))
    const sorted = calls.sort((a, b) => a.at - b.at).map(({ call }) => call)
    return {
      ...(sorted.length > 0 && { tool_calls: sorted }),
      ...(this.#unread.length > 0 && { invalid_tool_calls: this.#unread }),
    }
  }
}

function entryOf(call: JsonObject, extra: Json | undefined): JsonObject {
  if (!isObject(extra)) return { ...call, type: 'tool_call' }
  const { type, ...rest } = extra
  return { ...call, ...(type !== null && { type: type ?? 'tool_call' }), ...rest }
}

function blockOf({ name, args, id }: JsonObject, block: JsonObject): LangChainBlock {
  return { id, name, [block.type === 'tool_use' ? 'input' : 'args']: args, ...block }
}

/** A call of a tool that its provider runs itself. */
function serverCallBlock({ toolCallId, toolName, input }: ToolCallPart): LangChainBlock {
  return { type: 'server_tool_call', id: toolCallId, name: toolName, args: input }
}

/** The result of such a tool. A text is put into an object, as the standard block has it. */
function serverResultBlock({ toolCallId, output }: ToolResultPart): LangChainBlock {
  const isJson = output.type === 'json' || output.type === 'error-json'
  const value =
    isJson && isObject(output.value) && !isEmpty(output.value) ? output.value : { text: outputText(output) }
  return {
    type: 'server_tool_call_result',
    toolCallId,
    status: isFailed(output) ? 'error' : 'success',
    output: value,
  }
}

/** A message as it is written, and its class if the type doesn't determine it. */
type WrittenMessage = LangChainStoredMessage & { readonly className?: string }

/**
 * Converts neutral messages to the form LangChain stores, `{ type, data }`. Messages that `fromLangChain` read are written unchanged.
 *
 * For messages from elsewhere: calls are in `tool_calls`; each result becomes a `tool` message of its own, before the other parts of its
 * message, with status `error` where it failed; JSON is sent as text; a result within an assistant message splits it in two, except results
 * of tools its provider ran. Reasoning, images and files become standard blocks of version 1, and a message with such blocks is marked
 * (`output_version` in its `response_metadata`), as LangChain's own constructors do. Not sent, and reported: parts of other providers,
 * unread parts, messages that would be empty or hold reasoning alone. Reported as changed: arguments that are not an object (they become `{
 * arguments }`).
 *
 * Throws `INVALID_INPUT` for an invalid list and for a part of an unknown type.
 */
export function toLangChainStored(
  messages: readonly Message[],
  options?: ConversionOptions,
): LangChainStoredMessage[] {
  return writeMessages(messages, options).map(({ type, data }) => ({ type, data }))
}

/** The same, with the classes of streamed pieces, for making instances. */
export function writeMessages(messages: readonly Message[], options?: ConversionOptions): WrittenMessage[] {
  return readMessages(messages, 'toLangChain', () => {
    const conversion = new Conversion(LANGCHAIN, options)
    const writer = new Writer(conversion)
    return conversion.sendable(messages).flatMap((message, i) => {
      conversion.at(i)
      return writer.write(message, `[${i}]`)
    })
  })
}

const TYPE_OF_ROLE = { system: 'system', user: 'human', assistant: 'ai', tool: 'human' } as const

/** Writes a list of messages: how a call was written decides how its result is written. */
class Writer {
  readonly #conversion: Conversion
  /** Ids of old function calls that were written as tool calls: their results become tool results too. */
  readonly #renewed = new Set<string>()

  constructor(conversion: Conversion) {
    this.#conversion = conversion
  }

  write(message: Message, path: string): WrittenMessage[] {
    const { role, content, metadata } = message
    const own = keptFor(LANGCHAIN, metadata)
    if (typeof content === 'string') return [this.#message(message, own, [{ type: 'text', text: content }])]
    if (role === 'assistant') return this.#assistant(message, content, own, path)
    const removal = removalOf(content)
    if (removal !== undefined) return [{ type: 'remove', data: { ...removal } }]
    const placeOf = (i: number): string => `${path}.content[${i}]`
    const answers = content.flatMap((part, i) => (isResult(part) ? [this.#answer(part, placeOf(i))] : []))
    const blocks = content.flatMap((part, i) => (isResult(part) ? [] : this.#block(part, placeOf(i))))
    if (blocks.length === 0 && content.length > 0) return answers
    return [...answers, this.#message(message, own, blocks)]
  }

  #assistant(
    message: Message,
    content: readonly Part[],
    own: JsonObject | undefined,
    path: string,
  ): WrittenMessage[] {
    const served = new Set(content.flatMap((part) => (isServed(part) ? [part.toolCallId] : [])))
    const isAside = (part: Part): boolean => isResult(part) && !served.has(part.toolCallId)
    const runs = content.length === 0 ? [{ from: 0, parts: content }] : runsOf(content, isAside)
    let isFirst = true
    return runs.flatMap(({ from, parts }): WrittenMessage[] => {
      const placeOf = (i: number): string => `${path}.content[${from + i}]`
      if (parts[0] !== undefined && isAside(parts[0]))
        return parts.filter(isResult).map((part, i) => this.#answer(part, placeOf(i)))
      const written = this.#turn(message, parts, isFirst ? own : undefined, placeOf)
      if (written.length > 0) isFirst = false
      return written
    })
  }

  /** One message of an assistant. */
  #turn(
    message: Message,
    parts: readonly Part[],
    own: JsonObject | undefined,
    placeOf: (index: number) => string,
  ): WrittenMessage[] {
    const calls = new CallWriter(this.#conversion, own, this.#renewed)
    const isStandard = own === undefined && parts.some(isStandardOnly)
    const omitted = new Set<Part>()
    const blocks = parts.flatMap((part, i): LangChainBlock[] => {
      if (part.type === 'tool-call' && !isServed(part)) return calls.write(part, placeOf(i), isStandard)
      if (part.type === 'provider' && calls.writeUnread(part)) return []
      const block = this.#block(part, placeOf(i))
      if (block.length === 0) omitted.add(part)
      return block
    })
    // Providers reject reasoning on its own, and the parts that followed it are left out.
    if (omitted.size > 0 && parts.every((part) => isSilent(part) || omitted.has(part))) return []
    return [this.#message(message, own, blocks, calls.fields())]
  }

  #message(
    { role }: Message,
    own: JsonObject | undefined,
    blocks: LangChainBlock[],
    calls: JsonObject = {},
  ): WrittenMessage {
    const { form: kept, ...fields } = own ?? {}
    const form: MessageForm = isObject(kept) ? kept : {}
    const type = form.type === 'generic' ? form.type : TYPE_OF_ROLE[role]
    const isStandard = own === undefined && blocks.some(({ type: kind }) => kind !== 'text')
    return written(type, form, contentOf(blocks, form), {
      ...calls,
      ...(isStandard && { response_metadata: { output_version: 'v1' } }),
      ...fields,
    })
  }

  /** The block of a part; none for a part that LangChain has no place for. */
  #block(part: Part, place: string): LangChainBlock[] {
    switch (part.type) {
      case 'text':
        return [textBlock(part)]
      case 'reasoning':
        return [reasoningBlock(part)]
      case 'image':
      case 'file':
        return [mediaBlock(part)]
      case 'provider': {
        if (part.provider === LANGCHAIN && isObject(part.data)) return [{ ...part.data }]
        this.#conversion.note('not-sent', place, omissionReason(part.provider, LANGCHAIN))
        return []
      }
      case 'tool-call':
        if (isServed(part)) return [serverCallBlock(part)]
        this.#conversion.note('not-sent', place, 'only assistant messages can contain tool calls')
        return []
      case 'tool-result':
        return [serverResultBlock(part)]
      default:
        throw unknownPart(place)
    }
  }

  #answer(part: ToolResultPart, place: string): WrittenMessage {
    const { toolCallId, toolName, output } = part
    const own = keptFor(LANGCHAIN, part.providerOptions)
    const { form: kept, name, ...fields } = own ?? {}
    const form: MessageForm = isObject(kept) ? kept : {}
    const blocks =
      output.type === 'content'
        ? output.value.flatMap((item, i) => this.#block(item, `${place}.output.value[${i}]`))
        : undefined
    const isFunction = form.type === 'function' && !this.#renewed.has(toolCallId)
    const isStandard = own === undefined && blocks?.some(({ type }) => type !== 'text')
    const shown = name ?? (withoutOf(form).includes('name') ? undefined : toolName)
    return written(
      isFunction ? 'function' : 'tool',
      form,
      blocks ?? answerContent(outputText(output), form),
      {
        ...(!isFunction && { tool_call_id: toolCallId }),
        ...defined({ name: shown }),
        ...(isFailed(output) && { status: 'error' }),
        ...(isStandard && { response_metadata: { output_version: 'v1' } }),
        ...fields,
      },
    )
  }
}

function isServed(part: Part): part is Extract<Part, { type: 'tool-call' }> {
  return part.type === 'tool-call' && part.providerExecuted === true
}

/** Whether only a message of version 1 has such a part. */
function isStandardOnly(part: Part): boolean {
  return part.type === 'reasoning' || part.type === 'image' || part.type === 'file' || isServed(part)
}

/** The removal of another message, if a message holds nothing else. */
function removalOf(content: readonly Part[]): JsonObject | undefined {
  const [part] = content
  return content.length === 1 && part?.type === 'provider' ? noBlockOf(part, 'remove') : undefined
}

function withoutOf(form: MessageForm): readonly Json[] {
  return Array.isArray(form.without) ? (form.without as readonly Json[]) : []
}

/** Builds a message with its fields. Usual fields without a value are empty, unless they were absent when the message was read. */
function written(
  type: string,
  form: MessageForm,
  content: LangChainData['content'],
  fields: JsonObject,
): WrittenMessage {
  const className = isChunkClass(form.class) ? form.class : undefined
  const without = withoutOf(form)
  const usual = Object.entries(usualFields(type, className)).filter(([name]) => !without.includes(name))
  const data: LangChainData = {
    ...(form.blocks !== 'alone' && defined({ content })),
    ...(form.blocks !== undefined && Array.isArray(content) && { content_blocks: content }),
    ...Object.fromEntries(usual),
    ...defined({ form: form.field }),
    ...fields,
  }
  return { type, data, ...defined({ className }) }
}

/** The content of a message: an empty string without blocks, and a string for a single text, unless it was read in another form. */
function contentOf(blocks: LangChainBlock[], { content: shape }: MessageForm): LangChainData['content'] {
  if (shape === 'blocks') return blocks
  const [first] = blocks
  if (first === undefined) return shape === 'absent' ? undefined : shape === null ? null : ''
  const isPlain = blocks.length === 1 && isDeepStrictEqual(Object.keys(first), ['type', 'text'])
  return isPlain && typeof first.text === 'string' ? first.text : blocks
}

function answerContent(text: string, { content: shape }: MessageForm): LangChainData['content'] {
  if (text === '' && (shape === null || shape === 'absent')) return shape === null ? null : undefined
  return textBlocks(text, shape) ?? text
}
