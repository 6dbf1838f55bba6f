import { isDeepStrictEqual } from 'node:util'
import { invalid } from '../../errors.ts'
import type { Json, JsonObject } from '../../messages/json.ts'
import type {
  Message,
  Part,
  Role,
  ToolCallPart,
  ToolResultContent,
  ToolResultOutput,
} from '../../messages/message.ts'
import { Conversion, type ConversionOptions } from '../conversion.ts'
import { FunctionCallIds } from '../openai/function-call-ids.ts'
import {
  isEmpty,
  isObject,
  isTextBlock,
  joinBlocks,
  keptUnder,
  listAt,
  messageRead,
  objectAt,
  parsedArguments,
  stringAt,
} from '../wire.ts'
import { noBlock, readBlock, readSimpleBlock } from './blocks.ts'
import { type Envelope, LANGCHAIN, openEnvelope, usualFields } from './types.ts'

/** What is known of the calls so far: names by id, and the ids given to calls of the old kind, which have none. */
export type KnownCalls = {
  readonly names: Map<string, string>
  readonly functionCallIds: FunctionCallIds
}

/** An entry of `tool_calls`. */
type Entry = { readonly at: number; readonly value: Json; taken: boolean }

/** The calls of one message: each becomes one part, wherever and however often it stands in the message. */
export class CallReader {
  readonly #conversion: Conversion
  readonly #known: KnownCalls
  readonly #fields: JsonObject
  readonly #path: string
  readonly #entries: readonly Entry[]
  /** Places in `tool_calls` in the order of the parts. */
  readonly #order: number[] = []

  constructor(conversion: Conversion, known: KnownCalls, fields: JsonObject, path: string) {
    this.#conversion = conversion
    this.#known = known
    this.#fields = fields
    this.#path = path
    const { tool_calls } = fields
    const listed = tool_calls === undefined ? [] : listAt(tool_calls, `${path}.tool_calls`)
    this.#entries = listed.map((value, at) => ({ at, value: value as Json, taken: false }))
  }

  /** The part of a block that is a call; `undefined` for other blocks. */
  fromBlock(value: unknown, place: string): Part | undefined {
    if (!isObject(value) || (value.type !== 'tool_call' && value.type !== 'tool_use')) return undefined
    return this.#conversion.reading(value, place, () => this.#readBlock(value, place))
  }

  #readBlock(block: JsonObject, place: string): ToolCallPart {
    const argsField = block.type === 'tool_use' ? 'input' : 'args'
    const { id, name, [argsField]: args, ...extra } = block
    const toolCallId = stringAt(id, `${place}.id`)
    const blockName = stringAt(name, `${place}.name`)
    if (args === undefined) throw invalid(`${place}.${argsField}: is missing`)
    const entry = this.#entries.find(
      ({ taken, value }) => !taken && isObject(value) && value.id === toolCallId,
    )
    if (entry === undefined) {
      this.#known.names.set(toolCallId, blockName)
      return callPart(toolCallId, blockName, args, { block: extra, from: 'content' })
    }
    const call = this.#readEntry(entry)
    const own = {
      ...extra,
      ...(blockName === call.toolName ? {} : { name: blockName }),
      ...(isDeepStrictEqual(args, call.input) ? {} : { [argsField]: args }),
    }
    return { ...call, providerOptions: { [LANGCHAIN]: { ...call.providerOptions?.[LANGCHAIN], block: own } } }
  }

  #readEntry(entry: Entry): ToolCallPart {
    const place = `${this.#path}.tool_calls[${entry.at}]`
    const { id, name, args, type, ...extra } = objectAt(entry.value, place)
    const toolCallId = stringAt(id, `${place}.id`)
    const toolName = stringAt(name, `${place}.name`)
    if (args === undefined) throw invalid(`${place}.args: is missing`)
    entry.taken = true
    this.#order.push(entry.at)
    this.#known.names.set(toolCallId, toolName)
    const call = { ...extra, ...(type === 'tool_call' ? {} : { type: type ?? null }) }
    return callPart(toolCallId, toolName, args, isEmpty(call) && isObject(args) ? {} : { call })
  }

  /** The calls that stand beside the content, and the fields that are left. */
  rest(): { parts: Part[]; order: readonly number[] | undefined; fields: JsonObject } {
    const { tool_calls: _, invalid_tool_calls, ...fields } = this.#fields
    const beside = this.#entries.filter(({ taken }) => !taken)
    const parts: Part[] = beside.map((entry) =>
      this.#conversion.reading(entry.value, `${this.#path}.tool_calls[${entry.at}]`, () =>
        this.#readEntry(entry),
      ),
    )
    if (this.#entries.length === 0) for (const part of this.#raw()) parts.push(part)
    const unread =
      invalid_tool_calls === undefined ? [] : listAt(invalid_tool_calls, `${this.#path}.invalid_tool_calls`)
    for (const [i, call] of unread.entries())
      parts.push(this.#invalid(call, `${this.#path}.invalid_tool_calls[${i}]`))
    const isInOrder = this.#order.every((at, i) => i === 0 || at > this.#order[i - 1]!)
    return { parts, order: isInOrder ? undefined : this.#order, fields }
  }

  #invalid(call: unknown, place: string): Part {
    return this.#conversion.reading(call, place, () => {
      const kept = objectAt(call, place)
      this.#conversion.note(
        'kept',
        place,
        'a call whose arguments could not be read is none that can be answered',
      )
      return noBlock('invalid_tool_call', kept)
    })
  }

  /** Calls that stand only in `additional_kwargs`, as OpenAI wrote them. What is no call there stays a field. */
  #raw(): ToolCallPart[] {
    const { additional_kwargs } = this.#fields
    if (!isObject(additional_kwargs)) return []
    const { tool_calls, function_call } = additional_kwargs
    const parts = Array.isArray(tool_calls)
      ? tool_calls.flatMap((call: Json) => this.#rawCall(call) ?? [])
      : []
    return [...parts, ...(this.#functionCall(function_call) ?? [])]
  }

  #rawCall(call: Json): ToolCallPart | undefined {
    if (!isObject(call) || typeof call.id !== 'string' || !isObject(call.function)) return undefined
    const { name, arguments: args } = call.function
    if (typeof name !== 'string' || typeof args !== 'string') return undefined
    this.#known.names.set(call.id, name)
    return callPart(call.id, name, parsedArguments(args), { from: 'additional_kwargs' })
  }

  #functionCall(call: Json | undefined): [ToolCallPart] | undefined {
    if (!isObject(call)) return undefined
    const { name, arguments: args } = call
    if (typeof name !== 'string' || typeof args !== 'string') return undefined
    const id = this.#known.functionCallIds.next(name)
    return [callPart(id, name, parsedArguments(args), { from: 'additional_kwargs' })]
  }
}

function callPart(toolCallId: string, toolName: string, input: Json, options: JsonObject): ToolCallPart {
  return { type: 'tool-call', toolCallId, toolName, input, ...keptUnder(LANGCHAIN, options) }
}

/**
 * Messages of LangChain's in the neutral form, ready to be appended: instances of `BaseMessage` (chunks too), the
 * stored form `{ type, data }`, the serialized constructor `{ lc: 1, … }`, and bare fields with a `type`, in any mixture.
 *
 * A call that stands in the content and in `tool_calls` becomes one call, in its place in the content; raw calls in
 * `additional_kwargs` count only where `tool_calls` has none, as models of LangChain's read them. A `tool` or `function`
 * message becomes a message of role `tool` with one result, which learns the name of its tool from the nearest earlier
 * call with its id; status `error` becomes a failed result. A `generic` message is a user's unless its role is
 * `assistant`, `ai`, `model`, `system` or `developer`. Kept whole, and noted: blocks the neutral form has no part for,
 * calls whose arguments could not be read (`invalid_tool_calls`), `RemoveMessage`. Nothing given is changed; values are
 * shared with it.
 *
 * Throws `INVALID_INPUT`, with place and rule and without the text: a list that is none, an unknown type of message, a
 * malformed block, a call without an id, name or arguments, a `tool` message without `tool_call_id`, bytes that are no
 * base64. With `lenient` such places are kept as unread parts and noted.
 */
export function fromLangChain(messages: readonly object[], options?: ConversionOptions): Message[] {
  const conversion = new Conversion(LANGCHAIN, options)
  const calls: KnownCalls = { names: new Map(), functionCallIds: new FunctionCallIds() }
  return listAt(messages, 'messages').map((message, i) => {
    conversion.at(i)
    const path = `[${i}]`
    const read = conversion.reading(message, path, () => {
      const inexact = (place: string): void =>
        conversion.note('changed', place, 'holds what JSON cannot say, and is kept as far as it can')
      return new MessageReader(conversion, calls, openEnvelope(message, path, inexact), path).read()
    })
    return messageRead(read)
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

/** The reading of one message. */
class MessageReader {
  readonly #conversion: Conversion
  readonly #calls: KnownCalls
  readonly #envelope: Envelope
  readonly #path: string
  /** What the message was that its role and parts do not say. */
  readonly #form: { [name: string]: Json } = {}

  constructor(conversion: Conversion, calls: KnownCalls, envelope: Envelope, path: string) {
    this.#conversion = conversion
    this.#calls = calls
    this.#envelope = envelope
    this.#path = path
    if (envelope.className !== undefined) this.#form.class = envelope.className
    if (envelope.blocksBeside !== undefined) this.#form.blocks = envelope.blocksBeside
  }

  read(): Message {
    const { type, data } = this.#envelope
    switch (type) {
      case 'human':
        return this.#spoken('user', data)
      case 'system':
        return this.#spoken('system', data)
      case 'ai':
        return this.#fromAi(data)
      case 'generic': {
        stringAt(data.role, `${this.#path}.role`)
        this.#form.type = type
        return this.#spoken(ROLE_OF_GENERIC.get(data.role) ?? 'user', data)
      }
      case 'tool':
      case 'function':
        return this.#answer(data)
      case 'remove':
        return this.#fromRemove(data)
      default:
        throw invalid(`${this.#path}.type: must be human, ai, system, tool, function, generic or remove`)
    }
  }

  #spoken(role: Role, { content, ...fields }: JsonObject): Message {
    const said = this.#said(content)
    return this.#message(role, said, fields)
  }

  #message(role: Role, content: string | Part[], fields: JsonObject): Message {
    const kept = this.#kept(fields)
    return { role, content, ...(isEmpty(kept) ? {} : { metadata: { [LANGCHAIN]: kept } }) }
  }

  /** The content as it is said: one text, or parts. */
  #said(content: Json | undefined): string | Part[] {
    const { blocks } = this.#envelope
    if (blocks === undefined) return this.#plain(content)
    if (blocks.length < 2 || !blocks.every((block) => isTextBlock(block))) this.#form.content = 'blocks'
    return blocks.map((block, i) => this.#block(block, i))
  }

  #plain(content: Json | undefined): string | Part[] {
    if (typeof content === 'string') return content
    if (content !== undefined && content !== null)
      throw invalid(`${this.#path}.content: must be a text or a list of blocks`)
    this.#form.content = content === null ? null : 'absent'
    return []
  }

  #block(block: unknown, i: number): Part {
    const place = `${this.#path}.content[${i}]`
    return this.#conversion.reading(block, place, () =>
      readBlock(this.#conversion, block, place, this.#model()),
    )
  }

  /** Whose words these are, where the message says it. */
  #model(): Json | undefined {
    const { response_metadata } = this.#envelope.data
    return isObject(response_metadata) ? response_metadata.model_provider : undefined
  }

  #fromAi({ content, ...fields }: JsonObject): Message {
    const reader = new CallReader(this.#conversion, this.#calls, fields, this.#path)
    const { blocks } = this.#envelope
    const said =
      blocks === undefined
        ? this.#plain(content)
        : blocks.map(
            (block, i) => reader.fromBlock(block, `${this.#path}.content[${i}]`) ?? this.#block(block, i),
          )
    if (blocks !== undefined && (blocks.length < 2 || !blocks.every((block) => isTextBlock(block))))
      this.#form.content = 'blocks'
    const { parts, order, fields: rest } = reader.rest()
    if (order !== undefined) this.#form.order = order
    if (parts.length === 0) return this.#message('assistant', said, rest)
    const spoken: readonly Part[] =
      typeof said !== 'string' ? said : said === '' ? [] : [{ type: 'text', text: said }]
    return this.#message('assistant', [...spoken, ...parts], rest)
  }

  #answer({ content, ...fields }: JsonObject): Message {
    const { type } = this.#envelope
    const { toolCallId, rest } = type === 'tool' ? this.#asked(fields) : this.#askedByName(fields)
    const name = typeof fields.name === 'string' ? fields.name : undefined
    const toolName = this.#calls.names.get(toolCallId) ?? name
    if (toolName !== undefined && fields.name === undefined) this.#form.without = ['name']
    const output = this.#output(content, fields.status === 'error')
    const { status, ...others } = name !== undefined && name === toolName ? withoutName(rest) : rest
    const kept = this.#kept(status === undefined || status === 'error' ? others : { ...others, status })
    const part: Part = {
      type: 'tool-result',
      toolCallId,
      ...(toolName === undefined ? {} : { toolName }),
      output,
      ...keptUnder(LANGCHAIN, kept),
    }
    return { role: 'tool', content: [part] }
  }

  #asked({ tool_call_id, ...rest }: JsonObject): { toolCallId: string; rest: JsonObject } {
    return { toolCallId: stringAt(tool_call_id, `${this.#path}.tool_call_id`), rest }
  }

  #askedByName(rest: JsonObject): { toolCallId: string; rest: JsonObject } {
    const name = stringAt(rest.name, `${this.#path}.name`)
    this.#form.type = 'function'
    return { toolCallId: this.#calls.functionCallIds.newest(name), rest }
  }

  #output(content: Json | undefined, failed: boolean): ToolResultOutput {
    const type = failed ? 'error-text' : 'text'
    const { blocks } = this.#envelope
    if (blocks === undefined) {
      const said = this.#plain(content)
      return { type, value: typeof said === 'string' ? said : '' }
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
    return { type: 'content', value, ...(failed ? { isError: true } : {}) }
  }

  /** It is nobody's word: kept as it is, for LangChain only. */
  #fromRemove(fields: JsonObject): Message {
    stringAt(fields.id, `${this.#path}.id`)
    this.#conversion.note('kept', this.#path, 'the neutral form has no message that removes another')
    const { blocks } = this.#envelope
    const content = blocks === undefined ? {} : { content: listAt(blocks, '') as readonly Json[] }
    return { role: 'user', content: [noBlock('remove', { ...content, ...fields })] }
  }

  /** What is kept of the fields: those that say something, and what else the message was. */
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

function withoutName({ name: _, ...rest }: JsonObject): JsonObject {
  return rest
}

/** Whether a field has the empty value it has in every message. */
function isUsual(value: Json, usual: Json | undefined): boolean {
  if (Array.isArray(usual)) return Array.isArray(value) && value.length === 0
  return isObject(usual) && isObject(value) && isEmpty(value)
}
