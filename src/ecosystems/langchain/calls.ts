import { isDeepStrictEqual } from 'node:util'
import { invalid } from '../../errors.ts'
import type { Json, JsonObject } from '../../messages/json.ts'
import type { Part, ToolCallPart } from '../../messages/message.ts'
import type { Conversion } from '../conversion.ts'
import type { FunctionCallIds } from '../openai/from-openai.ts'
import { isEmpty, isObject, keptUnder, listAt, objectAt, parsedArguments, stringAt } from '../wire.ts'
import { noBlock } from './blocks.ts'
import { LANGCHAIN } from './types.ts'

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
