import type { Json, JsonObject } from '../../messages/json.ts'
import {
  isFailed,
  outputText,
  type ToolCallPart,
  type ToolResultOutput,
  type ToolResultPart,
} from '../../messages/message.ts'
import type { Conversion } from '../conversion.ts'
import { argumentsText, isObject, textBlocks } from '../wire.ts'
import { fieldsOf, type WireMessage } from './openai-types.ts'
import { toAnswerPart } from './to-openai-parts.ts'
import { ownOf } from './types.ts'

/** One of the `tool_calls`. */
export function toToolCall(part: ToolCallPart): JsonObject {
  const options = fieldsOf(part.providerOptions)
  const isCustom = options.type === 'custom' || ownOf(part.providerOptions)?.type === 'custom_tool_call'
  if (isCustom && typeof part.input === 'string') {
    const { type = 'custom', custom, ...extra } = options
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
export function toFunction({ toolName, input, providerOptions }: ToolCallPart): JsonObject {
  const own = fieldsOf(providerOptions).function
  const { arguments: raw, ...extra } = isObject(own) ? own : {}
  return { name: toolName, arguments: argumentsText(input, raw), ...extra }
}

/** How calls of the old kind were sent: an answer has to be of the kind of its call. */
export class SentCalls {
  readonly #names = new Map<string, string | undefined>()

  /** Takes note of a call that was read as one of the old kind. */
  add({ toolCallId, toolName }: ToolCallPart, isOldKind: boolean): void {
    this.#names.set(toolCallId, isOldKind ? toolName : undefined)
  }

  /** The kind of an answer, and the name of the function that one of the old kind needs. */
  kindOf(toolCallId: string, read: Json | undefined): { role: 'function' | 'tool'; name?: string } {
    const name = this.#names.get(toolCallId)
    if (name !== undefined) return { role: 'function', name }
    return { role: read === 'function' && !this.#names.has(toolCallId) ? read : 'tool' }
  }
}

/** The message an answer of a tool becomes. */
export function toToolMessage(
  { toolCallId, output, providerOptions }: ToolResultPart,
  place: string,
  calls: SentCalls,
  conversion: Conversion,
): WireMessage {
  const { role, content: shape, ...extra } = fieldsOf(providerOptions)
  if (isFailed(output)) noteFailure(place, conversion)
  const content = answerContent(output, shape, place, conversion)
  const sent = content === undefined ? {} : { content }
  const kind = calls.kindOf(toolCallId, role)
  if (kind.role === 'function') return { ...kind, ...sent, ...extra }
  return { role: 'tool', tool_call_id: toolCallId, ...sent, ...extra }
}

/** OpenAI's APIs do not mark failures. */
export function noteFailure(place: string, conversion: Conversion): void {
  conversion.note('changed', `${place}.output`, 'that the call failed is only told by its text')
}

function answerContent(
  output: ToolResultOutput,
  shape: Json | undefined,
  place: string,
  conversion: Conversion,
): WireMessage['content'] {
  if (output.type === 'content') {
    const parts = output.value.flatMap((item, i) =>
      toAnswerPart(item, `${place}.output.value[${i}]`, conversion),
    )
    return parts.length > 0 ? parts : ''
  }
  const text = outputText(output)
  if (text === '' && shape === null) return null
  if (text === '' && shape === 'absent') return undefined
  return textBlocks(text, shape) ?? text
}
