import type { Json, JsonObject } from '../../messages/json.ts'
import {
  isFailed,
  outputText,
  type ProviderPart,
  type ToolCallPart,
  type ToolResultPart,
} from '../../messages/message.ts'
import type { Conversion } from '../conversion.ts'
import { isEmpty, isObject, keptFor } from '../wire.ts'
import { noBlockOf } from './blocks.ts'
import { LANGCHAIN, type LangChainBlock } from './types.ts'

/** The calls of one assistant message on their way out. */
export class CallWriter {
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

  /**
   * Takes a call, and answers its block in the content, in a list, where it has one: as it was read, or in a
   * message of version 1.
   */
  write(part: ToolCallPart, place: string, isStandard: boolean): LangChainBlock[] {
    const options = keptFor(LANGCHAIN, part.providerOptions) ?? {}
    // It stands in `additional_kwargs`, which is kept whole.
    if (options.from === 'additional_kwargs' && isObject(this.#own?.additional_kwargs)) return []
    if (options.from === 'additional_kwargs') this.#renewed.add(part.toolCallId)
    const isWritten = isObject(part.input) || options.call !== undefined || options.from === 'content'
    if (!isWritten)
      this.#conversion.note('changed', place, 'arguments must be an object, and stand within one')
    const args: Json = isWritten ? part.input : { arguments: part.input }
    const call = { name: part.toolName, args, id: part.toolCallId }
    if (options.from !== 'content') this.#listed.push(entryOf(call, options.call))
    if (isObject(options.block)) return [blockOf(call, options.block)]
    return isStandard ? [{ type: 'tool_call', ...call }] : []
  }

  /** Takes a call whose arguments could not be read. Answers whether the part was one. */
  writeUnread(part: ProviderPart): boolean {
    const call = noBlockOf(part, 'invalid_tool_call')
    if (call !== undefined) this.#unread.push(call)
    return call !== undefined
  }

  /** The fields that list them, in the order they were read in. */
  fields(): JsonObject {
    const { form } = this.#own ?? {}
    const order = isObject(form) && Array.isArray(form.order) ? (form.order as readonly number[]) : []
    const calls = this.#listed.map((call, i) => ({
      call,
      at: order.length === this.#listed.length ? order[i]! : i,
    }))
    const sorted = calls.sort((a, b) => a.at - b.at).map(({ call }) => call)
    return {
      ...(sorted.length === 0 ? {} : { tool_calls: sorted }),
      ...(this.#unread.length === 0 ? {} : { invalid_tool_calls: this.#unread }),
    }
  }
}

function entryOf(call: JsonObject, extra: Json | undefined): JsonObject {
  if (!isObject(extra)) return { ...call, type: 'tool_call' }
  const { type, ...rest } = extra
  return { ...call, ...(type === null ? {} : { type: type ?? 'tool_call' }), ...rest }
}

function blockOf({ name, args, id }: JsonObject, block: JsonObject): LangChainBlock {
  return { id, name, [block.type === 'tool_use' ? 'input' : 'args']: args, ...block }
}

/** A call of a tool that its provider runs itself. */
export function serverCallBlock({ toolCallId, toolName, input }: ToolCallPart): LangChainBlock {
  return { type: 'server_tool_call', id: toolCallId, name: toolName, args: input }
}

/** What such a tool answered. Results in text stand in an object, as the standard block has them. */
export function serverResultBlock({ toolCallId, output }: ToolResultPart): LangChainBlock {
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
