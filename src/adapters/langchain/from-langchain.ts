import { isDeepStrictEqual } from 'node:util'
import { invalid } from '../../core/errors.ts'
import { readable } from '../../core/messages/check.ts'
import { defined, isObject, type Json, type JsonObject } from '../../core/messages/json.ts'
import type {
  Message,
  Part,
  Role,
  ToolCallPart,
  ToolResultContent,
  ToolResultOutput,
} from '../../core/messages/message.ts'
import { Conversion, type ConversionOptions } from '../conversion.ts'
import { FunctionCallIds } from '../openai/from-openai.ts'
import { required } from '../shapes.ts'
import {
  isEmpty,
  isTextBlock,
  joinBlocks,
  keptMessage,
  listAt,
  objectAt,
  parsedArguments,
  stringAt,
} from '../wire.ts'
import { keptIn, noBlock, readBlock, readSimpleBlock } from './blocks.ts'
import { type Envelope, LANGCHAIN, openEnvelope, usualFields } from './types.ts'

/**
 * Converts messages of LangChain to neutral messages, ready to be appended: instances of `BaseMessage` (chunks too), the stored form `{
 * type, data }`, the serialized constructor `{ lc: 1, … }`, and bare fields with a `type`, in any mixture.
 *
 * A call in the content and in `tool_calls` becomes one call, at its place in the content; raw calls in `additional_kwargs` count only
 * where `tool_calls` has none, as in LangChain's models. A `tool` or `function` message becomes a message of role `tool` with one result,
 * which gets the name of its tool from the nearest earlier call with its id; status `error` becomes a failed result. A `generic` message is
 * a user's unless its role is `assistant`, `ai`, `model`, `system` or `developer`. Kept whole and reported: blocks without a neutral form,
 * calls with unreadable arguments (`invalid_tool_calls`), `RemoveMessage`. The input is not modified; values are shared with it.
 *
 * Throws `INVALID_INPUT`, which names the place and the rule and never quotes the text, for an invalid list, an unknown type of message, a
 * malformed block, a call without an id, name or arguments, a `tool` message without `tool_call_id`, invalid base64. With `lenient`, such
 * values are kept as unread parts and reported.
 */
export function fromLangChain(messages: readonly object[], options?: ConversionOptions): Message[] {
  return readable('fromLangChain', () => {
    const conversion = new Conversion(LANGCHAIN, options)
    const calls: KnownCalls = { names: new Map(), functionCallIds: new FunctionCallIds() }
    const inexact = (place: string): void =>
      conversion.note('changed', place, "it isn't JSON, so its JSON form is kept")
    return conversion.messages(messages, 'messages', (message, path) =>
      new MessageReader(conversion, calls, openEnvelope(message, path, inexact), path).read(),
    )
  })
}

/** Roles of `generic` messages that are not a user's. */
const ROLE_OF_GENERIC: ReadonlyMap<Json | undefined, Role> = new Map<Json | undefined, Role>([
  ['assistant', 'assistant'],
  ['ai', 'assistant'],
  ['model', 'assistant'],
  ['system', 'system'],
  ['developer', 'system'],
])

class MessageReader {
  readonly #conversion: Conversion
  readonly #calls: KnownCalls
  readonly #envelope: Envelope
  readonly #path: string
  /** What the role and parts of the message do not determine. */
  readonly #form: { [name: string]: Json }

  constructor(conversion: Conversion, calls: KnownCalls, envelope: Envelope, path: string) {
    this.#conversion = conversion
    this.#calls = calls
    this.#envelope = envelope
    this.#path = path
    this.#form = defined({ class: envelope.className, blocks: envelope.blocksBeside })
  }

  read(): Message {
    const { type, data } = this.#envelope
    const { content, ...fields } = data
    switch (type) {
      case 'human':
        return this.#message('user', this.#content(content), fields)
      case 'system':
        return this.#message('system', this.#content(content), fields)
      case 'ai':
        return this.#fromAi(content, fields)
      case 'generic':
        stringAt(data.role, `${this.#path}.role`)
        this.#form.type = type
        return this.#message(ROLE_OF_GENERIC.get(data.role) ?? 'user', this.#content(content), fields)
      case 'tool':
      case 'function':
        return this.#answer(content, fields)
      case 'remove':
        return this.#fromRemove(data)
      default:
        throw invalid(`${this.#path}.type: must be human, ai, system, tool, function, generic or remove`)
    }
  }

  #message(role: Role, content: string | Part[], fields: JsonObject): Message {
    return keptMessage(LANGCHAIN, role, content, this.#kept(fields))
  }

  /** Returns the content: one text, or parts. */
  #content(content: Json | undefined, calls?: CallReader): string | Part[] {
    const { blocks } = this.#envelope
    if (blocks === undefined) return this.#plainContent(content)
    const parts = blocks.map((block, i) => {
      const place = `${this.#path}.content[${i}]`
      return calls?.fromBlock(block, place) ?? this.#block(block, place)
    })
    if (blocks.length < 2 || !blocks.every((block) => isTextBlock(block))) this.#form.content = 'blocks'
    return parts
  }

  #plainContent(content: Json | undefined): string | Part[] {
    if (typeof content === 'string') return content
    if (content !== undefined && content !== null)
      throw invalid(`${this.#path}.content: must be a string or an array of blocks`)
    this.#form.content = content === null ? null : 'absent'
    return []
  }

  #block(block: unknown, place: string): Part {
    const { response_metadata } = this.#envelope.data
    const model = isObject(response_metadata) ? response_metadata.model_provider : undefined
    return this.#conversion.reading(block, place, () => readBlock(this.#conversion, block, place, model))
  }

  #fromAi(content: Json | undefined, fields: JsonObject): Message {
    const reader = new CallReader(this.#conversion, this.#calls, fields, this.#path)
    const own = this.#content(content, reader)
    const { parts, order, fields: rest } = reader.rest()
    if (order !== undefined) this.#form.order = order
    if (parts.length === 0) return this.#message('assistant', own, rest)
    const text: readonly Part[] = own === '' ? [] : [{ type: 'text', text: own as string }]
    return this.#message('assistant', [...(typeof own === 'string' ? text : own), ...parts], rest)
  }

  #answer(content: Json | undefined, fields: JsonObject): Message {
    const { type } = this.#envelope
    const { tool_call_id, ...others } = fields
    const isTool = type === 'tool'
    const toolCallId = isTool
      ? stringAt(tool_call_id, `${this.#path}.tool_call_id`)
      : this.#calls.functionCallIds.newest(stringAt(fields.name, `${this.#path}.name`))
    if (!isTool) this.#form.type = type
    const name = typeof fields.name === 'string' ? fields.name : undefined
    const toolName = this.#calls.names.get(toolCallId) ?? name
    if (toolName !== undefined && fields.name === undefined) this.#form.without = ['name']
    const output = this.#output(content, fields.status === 'error')
    const isShown = (field: string, value: unknown): boolean =>
      (field === 'name' && value === toolName) || (field === 'status' && value === 'error')
    const rest = Object.entries(isTool ? others : fields).filter(([field, value]) => !isShown(field, value))
    const kept = this.#kept(Object.fromEntries(rest))
    const call = { toolCallId, ...defined({ toolName }) }
    return {
      role: 'tool',
      content: [{ type: 'tool-result', ...call, output, ...keptIn(kept) }],
    }
  }

  #output(content: Json | undefined, failed: boolean): ToolResultOutput {
    const type = failed ? 'error-text' : 'text'
    const { blocks } = this.#envelope
    if (blocks === undefined) {
      const text = this.#plainContent(content)
      return { type, value: typeof text === 'string' ? text : '' }
    }
    if (blocks.every((block) => isTextBlock(block))) {
      const { text, layout } = joinBlocks(blocks, `${this.#path}.content`)
      this.#form.content = layout
      return { type, value: text }
    }
    this.#form.content = 'blocks'
    const value = blocks.map((block, i): ToolResultContent => {
      const place = `${this.#path}.content[${i}]`
      return this.#conversion.reading(block, place, () => readSimpleBlock(this.#conversion, block, place))
    })
    return { type: 'content', value, ...(failed && { isError: true }) }
  }

  /** A message without an author, kept as it is, for LangChain only. */
  #fromRemove(fields: JsonObject): Message {
    stringAt(fields.id, `${this.#path}.id`)
    this.#conversion.note('kept', this.#path, 'the neutral form has no message that removes another')
    const content = this.#envelope.blocks as readonly Json[] | undefined
    return { role: 'user', content: [noBlock('remove', { ...defined({ content }), ...fields })] }
  }

  /** The fields that are not the usual empty ones, and the form. */
  #kept(fields: JsonObject): JsonObject {
    const { type, className } = this.#envelope
    const kept: { [name: string]: Json } = {}
    const without: Json[] = Array.isArray(this.#form.without) ? [...this.#form.without] : []
    const usual = usualFields(type, className)
    for (const [name, value] of Object.entries(fields)) {
      if (value === undefined || isUsual(value, usual[name])) continue
      if (name === 'form') this.#form.field = value
      else kept[name] = value
    }
    for (const name of Object.keys(usual)) if (this.#envelope.data[name] === undefined) without.push(name)
    if (without.length > 0) this.#form.without = without
    return isEmpty(this.#form) ? kept : { ...kept, form: this.#form }
  }
}

/** Whether a field has the empty value it has in every message. */
function isUsual(value: Json, usual: Json | undefined): boolean {
  if (Array.isArray(usual)) return Array.isArray(value) && value.length === 0
  return isObject(usual) && isObject(value) && isEmpty(value)
}

/** The calls of earlier messages: names by id, and the ids given to calls of the old kind, which have none. */
type KnownCalls = {
  readonly names: Map<string, string>
  readonly functionCallIds: FunctionCallIds
}

/** An entry of `tool_calls`. */
type Entry = { readonly at: number; readonly value: Json; taken: boolean }

/** Reads the calls of one message: each becomes one part, although it may be in the message several times. */
class CallReader {
  readonly #conversion: Conversion
  readonly #known: KnownCalls
  readonly #fields: JsonObject
  readonly #path: string
  readonly #entries: readonly Entry[]
  /** Indexes in `tool_calls` in the order of the parts. */
  readonly #order: number[] = []

  constructor(conversion: Conversion, known: KnownCalls, fields: JsonObject, path: string) {
    this.#conversion = conversion
    this.#known = known
    this.#fields = fields
    this.#path = path
    this.#entries = this.#listed('tool_calls').map((value, at) => ({
      at,
      value: value as Json,
      taken: false,
    }))
  }

  #listed(field: 'tool_calls' | 'invalid_tool_calls'): readonly unknown[] {
    const list = this.#fields[field]
    return list === undefined ? [] : listAt(list, `${this.#path}.${field}`)
  }

  /** The part of a block that is a call; `undefined` for other blocks. */
  fromBlock(value: unknown, place: string): Part | undefined {
    if (!isObject(value) || (value.type !== 'tool_call' && value.type !== 'tool_use')) return undefined
    return this.#conversion.reading(value, place, () => this.#readBlock(value as JsonObject, place))
  }

  #readBlock(block: JsonObject, place: string): ToolCallPart {
    const argsField = block.type === 'tool_use' ? 'input' : 'args'
    const { id, name, [argsField]: given, ...extra } = block
    const toolCallId = stringAt(id, `${place}.id`)
    const blockName = stringAt(name, `${place}.name`)
    const args = required(given, `${place}.${argsField}`)
    const entry = this.#entries.find(
      ({ taken, value }) => !taken && isObject(value) && value.id === toolCallId,
    )
    if (entry === undefined) return this.#call(toolCallId, blockName, args, { block: extra, from: 'content' })
    const call = this.#readEntry(entry)
    const own = {
      ...extra,
      ...(blockName !== call.toolName && { name: blockName }),
      ...(!isDeepStrictEqual(args, call.input) && { [argsField]: args }),
    }
    return { ...call, providerOptions: { [LANGCHAIN]: { ...call.providerOptions?.[LANGCHAIN], block: own } } }
  }

  #readEntry(entry: Entry): ToolCallPart {
    const place = `${this.#path}.tool_calls[${entry.at}]`
    const { id, name, args: given, type, ...extra } = objectAt(entry.value, place)
    const toolCallId = stringAt(id, `${place}.id`)
    const toolName = stringAt(name, `${place}.name`)
    const args = required(given, `${place}.args`)
    entry.taken = true
    this.#order.push(entry.at)
    const call = { ...extra, ...(type !== 'tool_call' && { type: type ?? null }) }
    return this.#call(toolCallId, toolName, args, isEmpty(call) && isObject(args) ? {} : { call })
  }

  /** The calls that are not in the content, and the fields that are left. */
  rest(): { parts: Part[]; order: readonly number[] | undefined; fields: JsonObject } {
    const { tool_calls: _, invalid_tool_calls: __, ...fields } = this.#fields
    const parts: Part[] = this.#entries
      .filter(({ taken }) => !taken)
      .map((entry) => {
        const place = `${this.#path}.tool_calls[${entry.at}]`
        return this.#conversion.reading(entry.value, place, () => this.#readEntry(entry))
      })
    if (this.#entries.length === 0) for (const part of this.#raw()) parts.push(part)
    for (const [i, call] of this.#listed('invalid_tool_calls').entries())
      parts.push(this.#invalid(call, `${this.#path}.invalid_tool_calls[${i}]`))
    const isInOrder = this.#order.every((at, i) => i === 0 || at > this.#order[i - 1]!)
    return { parts, order: isInOrder ? undefined : this.#order, fields }
  }

  #invalid(call: unknown, place: string): Part {
    return this.#conversion.reading(call, place, () => {
      const kept = objectAt(call, place)
      this.#conversion.note('kept', place, "a call with unreadable arguments can't get a result")
      return noBlock('invalid_tool_call', kept)
    })
  }

  /** Calls that are only in `additional_kwargs`, as OpenAI wrote them. Anything else there stays a field. */
  #raw(): ToolCallPart[] {
    const { additional_kwargs } = this.#fields
    if (!isObject(additional_kwargs)) return []
    const { tool_calls, function_call } = additional_kwargs
    const calls = (Array.isArray(tool_calls) ? tool_calls : []) as readonly Json[]
    return [
      ...calls.flatMap((call) =>
        isObject(call) && typeof call.id === 'string' ? this.#rawCall(call.function, call.id) : [],
      ),
      ...this.#rawCall(function_call),
    ]
  }

  /** A call of the old kind has no id: it gets one. */
  #rawCall(call: Json | undefined, id?: string): ToolCallPart[] {
    if (!isObject(call)) return []
    const { name, arguments: args } = call
    if (typeof name !== 'string' || typeof args !== 'string') return []
    const options = { from: 'additional_kwargs' }
    if (id !== undefined) return [this.#call(id, name, parsedArguments(args), options)]
    return [callPart(this.#known.functionCallIds.next(name), name, parsedArguments(args), options)]
  }

  #call(toolCallId: string, toolName: string, input: Json, options: JsonObject): ToolCallPart {
    this.#known.names.set(toolCallId, toolName)
    return callPart(toolCallId, toolName, input, options)
  }
}

function callPart(toolCallId: string, toolName: string, input: Json, options: JsonObject): ToolCallPart {
  return { type: 'tool-call', toolCallId, toolName, input, ...keptIn(options) }
}
