import type { Json, JsonObject } from '../../messages/json.ts'
import type { ProviderPart, ToolCallPart, ToolResultOutput, ToolResultPart } from '../../messages/message.ts'
import type { Conversion } from '../conversion.ts'
import { isEmpty, isTextBlock, joinBlocks, listAt, objectAt, readArguments, stringAt } from '../wire.ts'
import { fromPart, opaque, shapeOf } from './from-openai-parts.ts'
import { FunctionCallIds } from './function-call-ids.ts'
import { kept } from './openai-types.ts'

/** What is known of the calls so far: names by id, and the ids given to calls of the old kind, which have none. */
export class Calls {
  readonly functionCallIds = new FunctionCallIds()
  readonly #names = new Map<string, string>()

  named(id: string): string | undefined {
    return this.#names.get(id)
  }

  name(id: string, toolName: string): void {
    this.#names.set(id, toolName)
  }
}

/** One of the `tool_calls`. A kind of call the API may have by now is kept whole. */
export function fromCall(
  value: Json,
  path: string,
  calls: Calls,
  conversion: Conversion,
): ToolCallPart | ProviderPart {
  const call = objectAt(value, path)
  if (call.type !== undefined && call.type !== 'function' && call.type !== 'custom')
    return opaque({ tool_call: call }, path, conversion)
  const toolCallId = stringAt(call.id, `${path}.id`)

  if (call.type === 'custom') {
    const { id: _, type, custom, ...extra } = call
    const { name, input, ...own } = objectAt(custom, `${path}.custom`)
    const toolName = stringAt(name, `${path}.custom.name`)
    const said = stringAt(input, `${path}.custom.input`)
    calls.name(toolCallId, toolName)
    const options = { ...extra, type, ...(isEmpty(own) ? {} : { custom: own }) }
    return { type: 'tool-call', toolCallId, toolName, input: said, ...kept(options) }
  }
  const { id: _, type, function: called, ...extra } = call
  const { toolName, input, own } = fromFunction(objectAt(called, `${path}.function`), `${path}.function`)
  calls.name(toolCallId, toolName)
  const options = {
    ...extra,
    ...(type === undefined ? { type: null } : {}),
    ...(isEmpty(own) ? {} : { function: own }),
  }
  return { type: 'tool-call', toolCallId, toolName, input, ...kept(options) }
}

/** A call of the old kind. */
export function fromLegacyCall(value: Json, path: string, calls: Calls): ToolCallPart {
  const { toolName, input, own } = fromFunction(objectAt(value, path), path)
  const options = { type: 'function_call', ...(isEmpty(own) ? {} : { function: own }) }
  return {
    type: 'tool-call',
    toolCallId: calls.functionCallIds.next(toolName),
    toolName,
    input,
    ...kept(options),
  }
}

function fromFunction({ name, arguments: args, ...own }: JsonObject, path: string) {
  const toolName = stringAt(name, `${path}.name`)
  const { input, raw } = readArguments(stringAt(args, `${path}.arguments`))
  return { toolName, input, own: { ...own, ...raw } }
}

/** The answer a message of the role `tool` is. */
export function fromToolMessage(
  { role: _, tool_call_id, ...rest }: JsonObject,
  path: string,
  calls: Calls,
  conversion: Conversion,
): ToolResultPart {
  const toolCallId = stringAt(tool_call_id, `${path}.tool_call_id`)
  const toolName = calls.named(toolCallId) ?? (typeof rest.name === 'string' ? rest.name : undefined)
  const { output, options } = fromAnswer(rest, path, conversion)
  return {
    type: 'tool-result',
    toolCallId,
    ...(toolName === undefined ? {} : { toolName }),
    output,
    ...kept(options),
  }
}

/** The answer a message of the role `function` is. */
export function fromFunctionMessage(
  { role, ...rest }: JsonObject,
  path: string,
  calls: Calls,
  conversion: Conversion,
): ToolResultPart {
  const toolName = stringAt(rest.name, `${path}.name`)
  const toolCallId = calls.functionCallIds.newest(toolName)
  const { output, options } = fromAnswer(rest, path, conversion)
  return { type: 'tool-result', toolCallId, toolName, output, ...kept({ ...options, role }) }
}

function fromAnswer(
  { content, ...extra }: JsonObject,
  path: string,
  conversion: Conversion,
): { output: ToolResultOutput; options: JsonObject } {
  if (typeof content === 'string') return { output: { type: 'text', value: content }, options: extra }
  if (content === null || content === undefined) {
    return { output: { type: 'text', value: '' }, options: { ...extra, ...shapeOf(content) } }
  }
  const blocks = listAt(content, `${path}.content`)
  if (blocks.every((block) => isTextBlock(block))) {
    const { text, layout } = joinBlocks(blocks, `${path}.content`)
    return { output: { type: 'text', value: text }, options: { ...extra, content: layout } }
  }
  const value = blocks.map((block, i) => {
    const place = `${path}.content[${i}]`
    return conversion.reading(block, place, () => fromPart(objectAt(block, place), false, place, conversion))
  })
  return { output: { type: 'content', value }, options: extra }
}
