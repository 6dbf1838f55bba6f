import type { JsonObject } from '../../messages/json.ts'
import {
  isFailed,
  outputText,
  type ToolCallPart,
  type ToolResultOutput,
  type ToolResultPart,
} from '../../messages/message.ts'
import type { Conversion } from '../conversion.ts'
import { argumentsText, isObject } from '../wire.ts'
import { kindOf } from './openai-types.ts'
import { imagePart, keptPartOf, toAnswer } from './to-content.ts'
import { noteFailure } from './to-openai-calls.ts'
import { CALLS, OUTPUTS, type Own, ownOf } from './types.ts'

/** The type of the item a call becomes. */
export function callTypeOf({ input, providerOptions }: ToolCallPart): string {
  const own = ownOf(providerOptions)
  const type =
    own?.type ?? (own === undefined && kindOf(providerOptions) === 'custom' ? 'custom_tool_call' : undefined)
  if (typeof type !== 'string' || !CALLS.has(type)) return 'function_call'
  return type === 'custom_tool_call' && typeof input !== 'string' ? 'function_call' : type
}

/** A call as an item. */
export function callItem(part: ToolCallPart): JsonObject {
  const own = ownOf(part.providerOptions) ?? {}
  const type = callTypeOf(part)
  const { toolCallId: call_id, toolName: name, input } = part
  if (type === 'function_call') return { ...functionCall(part), ...itemOf(own) }
  if (type === 'custom_tool_call') return { type, call_id, name, input, ...itemOf(own) }
  const asked = typeof own.field === 'string' ? { [own.field]: input } : {}
  return { type, call_id, ...asked, ...itemOf(own) }
}

/** A call as that of a function. */
export function functionCall({ toolCallId, toolName, input, providerOptions }: ToolCallPart): JsonObject {
  const raw = ownOf(providerOptions)?.arguments
  return { type: 'function_call', call_id: toolCallId, name: toolName, arguments: argumentsText(input, raw) }
}

function itemOf({ item }: Own): JsonObject {
  return isObject(item) ? item : {}
}

/** An answer as an item. `callType` is the type of the call it answers, where that is known. */
export function outputItem(
  part: ToolResultPart,
  callType: string | undefined,
  place: string,
  conversion: Conversion,
): { item: JsonObject; asFunction: JsonObject; onlyAsFunction: boolean } {
  const own = ownOf(part.providerOptions) ?? {}
  const said = typeof own.type === 'string' && OUTPUTS.has(own.type) ? own.type : undefined
  const type = said ?? CALLS.get(callType)?.output ?? 'function_call_output'
  const call_id = part.toolCallId
  const answered = typeof own.id === 'string' ? { id: own.id } : { call_id }
  const shown = shownOutput(part, type, own, place, conversion)
  const text = outputText(part.output)
  return {
    item: { type, ...answered, ...shown, ...itemOf(own) },
    asFunction: { type: 'function_call_output', call_id, output: text },
    onlyAsFunction: shown === undefined,
  }
}

/** What an answer of a type shows; `undefined` when it has no place there. */
function shownOutput(
  { output }: ToolResultPart,
  type: string,
  own: Own,
  place: string,
  conversion: Conversion,
): JsonObject | undefined {
  const text = outputText(output)
  switch (type) {
    case 'computer_call_output': {
      const screenshot = screenshotOf(output)
      return screenshot && { output: screenshot }
    }
    case 'local_shell_call_output':
      return { output: text }
    case 'shell_call_output': {
      const runs = output.type === 'json' && Array.isArray(output.value) ? output.value : undefined
      return { output: runs ?? [{ stdout: text, stderr: '', outcome: outcomeOf(isFailed(output)) }] }
    }
    case 'apply_patch_call_output': {
      const status = isFailed(output) ? 'failed' : 'completed'
      if (text !== '' || own.output === undefined) return { output: text, status }
      return own.output === null ? { output: null, status } : { status }
    }
    default:
      if (isFailed(output)) noteFailure(place, conversion)
      return { output: toAnswer(output, own.content, place, conversion) }
  }
}

function screenshotOf(output: ToolResultOutput): JsonObject | undefined {
  const [first] = output.type === 'content' ? output.value : []
  if (first?.type === 'provider') return keptPartOf(first.provider, first.data)
  if (first?.type !== 'image') return undefined
  const own = ownOf(first.providerOptions)?.part
  return { image_url: imagePart(first).image_url, ...(isObject(own) ? own : { type: 'computer_screenshot' }) }
}

function outcomeOf(failed: boolean): JsonObject {
  return { type: 'exit', exit_code: failed ? 1 : 0 }
}
