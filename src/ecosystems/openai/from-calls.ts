import type { Json, JsonObject } from '../../messages/json.ts'
import type { Message, ToolCallPart, ToolResultOutput } from '../../messages/message.ts'
import { addressAt, type Conversion } from '../conversion.ts'
import { listAt, objectAt, readArguments, stringAt } from '../wire.ts'
import { fromAnswer } from './from-content.ts'
import { OPENAI } from './openai-types.ts'
import type { Link } from './reasoning-links.ts'
import { CALLS, given, keptAs, type Own } from './types.ts'

/** What is known of the calls so far: the names of their tools and the types of their items, and call ids by the ids of items. */
export class KnownCalls {
  readonly names = new Map<string, string>()
  readonly types = new Map<string, Json | undefined>()
  readonly idsOfItems = new Map<string, string>()
}

/** An item that asks the application to do something. */
export function fromCall(item: JsonObject, link: Link, path: string, known: KnownCalls): Message {
  const { type, call_id, ...rest } = item
  const toolCallId = stringAt(call_id, `${path}.call_id`)
  const { toolName, input, fields, own } = fromAsked(type, rest, path)
  known.names.set(toolCallId, toolName)
  known.types.set(toolCallId, type)
  if (typeof item.id === 'string') known.idsOfItems.set(item.id, toolCallId)
  const part: ToolCallPart = {
    type: 'tool-call',
    toolCallId,
    toolName,
    input,
    ...keptAs({
      ...(type === 'function_call' ? {} : { type }),
      ...given('item', fields),
      ...own,
      ...given('after', link.after),
    }),
  }
  return { role: 'assistant', content: [part] }
}

type Asked = { toolName: string; input: Json; fields: JsonObject; own: Own }

function fromAsked(type: Json | undefined, item: JsonObject, path: string): Asked {
  if (type === 'function_call') {
    const { name, arguments: args, ...fields } = item
    const toolName = stringAt(name, `${path}.name`)
    const { input, raw } = readArguments(stringAt(args, `${path}.arguments`))
    return { toolName, input, fields, own: raw }
  }
  if (type === 'custom_tool_call') {
    const { name, input, ...fields } = item
    const toolName = stringAt(name, `${path}.name`)
    return { toolName, input: stringAt(input, `${path}.input`), fields, own: {} }
  }
  const { tool = '', fields: names = [] } = CALLS.get(type) ?? {}
  const field = names.find((name) => item[name] !== undefined && item[name] !== null)
  if (field === undefined) {
    // A call of the computer may come without what it asks for.
    if (type !== 'computer_call') objectAt(undefined, `${path}.${names[0]}`)
    return { toolName: tool, input: {}, fields: item, own: {} }
  }
  const { [field]: asked = null, ...fields } = item
  if (field === 'actions') listAt(asked, `${path}.${field}`)
  else objectAt(asked, `${path}.${field}`)
  return { toolName: tool, input: asked, fields, own: { field } }
}

/** An item that answers a call. */
export function fromOutput(
  item: JsonObject,
  path: string,
  known: KnownCalls,
  conversion: Conversion,
): Message {
  const { type, output, ...fields } = item
  const { toolCallId, rest, own: idOwn } = answeredBy(type, fields, path, known)
  const { output: read, own } = fromAnswered(type, output, rest, `${path}.output`, conversion)
  const toolName = known.names.get(toolCallId)
  const expected = CALLS.get(known.types.get(toolCallId))?.output ?? type
  const isUsual = type === 'function_call_output' && expected === type
  return {
    role: 'tool',
    content: [
      {
        type: 'tool-result',
        toolCallId,
        ...(toolName === undefined ? {} : { toolName }),
        output: read,
        ...keptAs({
          ...(isUsual ? {} : { type }),
          ...given('item', rest),
          ...own,
          ...idOwn,
        }),
      },
    ],
  }
}

/** The answer of a local shell names the item it answers, by its id or by that of the call. */
function answeredBy(type: Json | undefined, fields: JsonObject, path: string, known: KnownCalls) {
  const { call_id, ...rest } = fields
  if (type !== 'local_shell_call_output' || call_id !== undefined)
    return { toolCallId: stringAt(call_id, `${path}.call_id`), rest, own: {} }
  const { id, ...others } = rest
  const name = stringAt(id, `${path}.id`)
  return { toolCallId: known.idsOfItems.get(name) ?? name, rest: others, own: { id: name } }
}

function fromAnswered(
  type: Json | undefined,
  output: Json | undefined,
  { status }: JsonObject,
  path: string,
  conversion: Conversion,
): { output: ToolResultOutput; own: Own } {
  switch (type) {
    case 'computer_call_output':
      return { output: fromScreenshot(objectAt(output, path), path, conversion), own: {} }
    case 'local_shell_call_output':
      return { output: { type: 'text', value: stringAt(output, path) }, own: {} }
    case 'shell_call_output':
      return { output: { type: 'json', value: checkedRuns(output, path) }, own: {} }
    case 'apply_patch_call_output': {
      const isThere = output !== undefined && output !== null
      const value = isThere ? stringAt(output, path) : ''
      const read: ToolResultOutput = { type: status === 'failed' ? 'error-text' : 'text', value }
      return { output: read, own: isThere ? {} : { output: output === null ? null : 'absent' } }
    }
    default:
      return fromAnswer(output, path, conversion)
  }
}

function checkedRuns(output: Json | undefined, path: string): Json {
  for (const [i, run] of listAt(output, path).entries()) {
    const { stdout, stderr } = objectAt(run, `${path}[${i}]`)
    stringAt(stdout, `${path}[${i}].stdout`)
    stringAt(stderr, `${path}[${i}].stderr`)
  }
  return output ?? null
}

function fromScreenshot(output: JsonObject, path: string, conversion: Conversion): ToolResultOutput {
  const { image_url, ...part } = output
  if (typeof image_url === 'string') {
    addressAt(image_url, `${path}.image_url`)
    return { type: 'content', value: [{ type: 'image', image: image_url, ...keptAs({ part }) }] }
  }
  conversion.note('kept', path, 'the neutral form has no part for it')
  return { type: 'content', value: [{ type: 'provider', provider: OPENAI, data: { part: output } }] }
}
