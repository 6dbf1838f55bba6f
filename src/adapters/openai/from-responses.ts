import { invalid } from '../../core/errors.ts'
import { readable } from '../../core/messages/check.ts'
import { defined, type Json, type JsonObject } from '../../core/messages/json.ts'
import type { Message, Part, Role, ToolResultOutput } from '../../core/messages/message.ts'
import { addressAt, base64At, Conversion, type ConversionOptions, UNREAD } from '../conversion.ts'
import { nullish, oneOf } from '../shapes.ts'
import { given, keptMessage, listAt, objectAt, readArguments, stringAt } from '../wire.ts'
import { OPENAI } from './chat-types.ts'
import { endsAnswer, fromReasoning, isReasoningItem, type Link, linksOf } from './reasoning.ts'
import {
  CALLS,
  fromAnswer,
  fromContentList,
  keptAs,
  OUTPUTS,
  type Own,
  RESPONSES,
  type ResponsesInput,
} from './responses-content.ts'

/** A conversion that also remembers item types of calls by call id, and call ids by item id. */
class Reading extends Conversion {
  readonly types = new Map<string, Json | undefined>()
  readonly idsOfItems = new Map<string, string>()
}

/** An item that is a call. */
function fromCall(item: JsonObject, link: Link, path: string, reading: Reading): Message {
  const { type, call_id, ...rest } = item
  const toolCallId = stringAt(call_id, `${path}.call_id`)
  const { toolName, input, fields, own } = readCallInput(type, rest, path)
  reading.toolNames.set(toolCallId, toolName)
  reading.types.set(toolCallId, type)
  if (typeof item.id === 'string') reading.idsOfItems.set(item.id, toolCallId)
  const kept = keptAs({
    ...(type !== 'function_call' && { type }),
    ...given('item', fields),
    ...own,
    ...given('after', link.after),
  })
  return { role: 'assistant', content: [{ type: 'tool-call', toolCallId, toolName, input, ...kept }] }
}

type CallInput = { toolName: string; input: Json; fields: JsonObject; own: Own }

function readCallInput(type: Json | undefined, item: JsonObject, path: string): CallInput {
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
    // A computer call may have no action.
    if (type !== 'computer_call') objectAt(undefined, `${path}.${names[0]}`)
    return { toolName: tool, input: {}, fields: item, own: {} }
  }
  const { [field]: input = null, ...fields } = item
  if (field === 'actions') listAt(input, `${path}.${field}`)
  else objectAt(input, `${path}.${field}`)
  return { toolName: tool, input, fields, own: { field } }
}

/** An item that is a result. */
function fromOutput(item: JsonObject, path: string, reading: Reading): Message {
  const { type, output, ...fields } = item
  const { toolCallId, rest, own: idOwn } = answeredBy(type, fields, path, reading)
  const { output: read, own } = fromAnswered(type, output, rest, `${path}.output`, reading)
  const toolName = reading.toolNames.get(toolCallId)
  const expected = CALLS.get(reading.types.get(toolCallId))?.output ?? type
  const isUsual = type === 'function_call_output' && expected === type
  const kept = keptAs({ ...(!isUsual && { type }), ...given('item', rest), ...own, ...idOwn })
  const part = { type: 'tool-result' as const, toolCallId, ...defined({ toolName }), output: read, ...kept }
  return { role: 'tool', content: [part] }
}

/** A local shell result names its item, by the item's id or the call's. */
function answeredBy(type: Json | undefined, fields: JsonObject, path: string, reading: Reading) {
  const { call_id, ...rest } = fields
  if (type !== 'local_shell_call_output' || call_id !== undefined)
    return { toolCallId: stringAt(call_id, `${path}.call_id`), rest, own: {} }
  const { id, ...others } = rest
  const name = stringAt(id, `${path}.id`)
  return { toolCallId: reading.idsOfItems.get(name) ?? name, rest: others, own: { id: name } }
}

function fromAnswered(
  type: Json | undefined,
  output: Json | undefined,
  { status }: JsonObject,
  path: string,
  reading: Reading,
): { output: ToolResultOutput; own: Own } {
  switch (type) {
    case 'computer_call_output':
      return { output: fromScreenshot(objectAt(output, path), path, reading), own: {} }
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
      return fromAnswer(output, path, reading)
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

function fromScreenshot(output: JsonObject, path: string, reading: Reading): ToolResultOutput {
  const { image_url, ...part } = output
  if (typeof image_url === 'string') {
    addressAt(image_url, `${path}.image_url`)
    return { type: 'content', value: [{ type: 'image', image: image_url, ...keptAs({ part }) }] }
  }
  return { type: 'content', value: [reading.keep(OPENAI, { part: output }, path)] }
}

/**
 * Converts items of the OpenAI Responses API to neutral messages, ready to be appended: items of a request (`input`) and of a response
 * (`response.output`). Takes a list of items, or an object with `input` (items, or one user text) and perhaps `instructions`, which become
 * leading system messages. Other fields of such an object are not kept.
 *
 * Each item becomes one message: messages, reasoning, calls and results in neutral parts, every other item whole, as a part that is sent
 * only to OpenAI. Shells, patches and the computer are calls too. Each result gets the tool name of the nearest earlier call with its id.
 * The input is not modified; values are shared with it.
 *
 * Throws `INVALID_INPUT`, which names the place and never quotes the text, for an item that isn't valid in the API: an unknown role, a call
 * or a result without its id, a malformed part, data that is not base64. With `lenient`, such a part or item is kept as an unread part.
 */
export function fromOpenAIResponses(input: ResponsesInput, options?: ConversionOptions): Message[] {
  return readable('fromOpenAIResponses', () => {
    const reading = new Reading(RESPONSES, options)
    if (Array.isArray(input)) return fromItems(input, '', true, reading)
    const { input: value, instructions } = objectAt(input, 'input')
    if (typeof value !== 'string' && !Array.isArray(value))
      throw invalid('input: must be a string or an array')
    const leading = fromText(instructions, 'instructions', 'system', false, reading)
    return [...leading, ...fromText(value, 'input', 'user', true, reading)]
  })
}

/**
 * `fromOpenAIResponses` for items that arrive one by one, in order: it remembers calls and reasoning. `next` is the following item, absent
 * at the end: reasoning and the item after it are linked. `path` is the place of the item in errors and notes.
 */
export function responsesReader(options?: ConversionOptions): ItemReader {
  return itemReader(new Reading(RESPONSES, options))
}

type ItemReader = (item: unknown, index: number, path: string, next?: unknown) => Message

function itemReader(reading: Reading): ItemReader {
  let reasoning: unknown
  return (item, index, path, next) => {
    const link = linksOf([reasoning, item, next])[1] ?? {}
    if (isReasoningItem(item)) reasoning = item
    else if (endsAnswer(item)) reasoning = undefined
    return reading.message(item, index, path, (fields) => fromItem(fields, link, path, reading))
  }
}

/** Items, or a text in this role. */
function fromText(value: unknown, path: string, role: Role, isList: boolean, reading: Reading): Message[] {
  if (value === undefined || value === null) return []
  if (typeof value === 'string') return [{ role, content: value }]
  if (!Array.isArray(value)) throw invalid(`${path}: must be a string or an array`)
  return fromItems(value, path, isList, reading)
}

/** `isList`: notes give the index of these items; instructions are beside the list. */
function fromItems(items: readonly unknown[], path: string, isList: boolean, reading: Reading): Message[] {
  const read = itemReader(reading)
  return Array.from(items, (item, i) => read(item, isList ? i : -1, `${path}[${i}]`, items[i + 1]))
}

function fromItem(item: JsonObject, link: Link, path: string, reading: Reading): Message {
  const { type, role } = item
  const isUntyped = type === undefined || type === null
  if (type === 'message' || (isUntyped && role !== undefined)) return fromMessage(item, link, path, reading)
  if (type === 'reasoning') return fromReasoning(item, link, path)
  if (CALLS.has(type)) return fromCall(item, link, path, reading)
  if (OUTPUTS.has(type)) return fromOutput(item, path, reading)
  // A reference may have no type.
  const kind = isUntyped && typeof item.id === 'string' ? 'item_reference' : stringAt(type, `${path}.type`)
  checkKept(kind, item, path)
  const data = kind === 'compaction' ? item : { item, ...given('after', link.after) }
  return { role: ROLES_OF_KEPT.get(kind) ?? 'assistant', content: [reading.keep(OPENAI, data, path)] }
}

/** The role of items that are kept whole: the assistant, except for these. */
const ROLES_OF_KEPT: ReadonlyMap<string, Role> = new Map([
  ['additional_tools', 'system'],
  ['mcp_approval_response', 'user'],
  ['compaction_trigger', 'user'],
])

/** The required texts of items that are kept whole. Source: `ResponseInputItem` of `openai`. */
const REQUIRED_TEXTS: ReadonlyMap<string, readonly string[]> = new Map([
  ['compaction', ['encrypted_content']],
  ['item_reference', ['id']],
  ['web_search_call', ['id']],
  ['file_search_call', ['id']],
  ['code_interpreter_call', ['id']],
  ['image_generation_call', ['id']],
  ['mcp_list_tools', ['id']],
  ['mcp_call', ['id', 'name', 'arguments']],
  ['mcp_approval_request', ['id', 'name', 'arguments']],
  ['mcp_approval_response', ['approval_request_id']],
  ['program', ['id', 'call_id']],
  ['program_output', ['id', 'call_id']],
])

function checkKept(kind: string, item: JsonObject, path: string): void {
  for (const field of REQUIRED_TEXTS.get(kind) ?? []) stringAt(item[field], `${path}.${field}`)
  if (kind === 'image_generation_call') nullish(base64At)(item.result, `${path}.result`)
}

function fromMessage(item: JsonObject, link: Link, path: string, reading: Reading): Message {
  const { role: author, content, ...fields } = item
  const shown = roleShape(author, `${path}.role`)
  const role = shown === 'developer' ? 'system' : shown
  const own: Own = { item: shown === 'developer' ? { ...fields, role: shown } : fields }
  if (typeof content === 'string') return keptMessage(RESPONSES, role, content, given('item', own.item))
  const parts = fromContentList(content, role, `${path}.content`, reading)
  const kept: Own = link.after === undefined ? own : { ...own, after: link.after }
  const bearer = parts.findIndex((part) => part.type !== 'provider' || part.provider !== UNREAD)
  if (bearer === -1) return { role, content: parts, metadata: { [RESPONSES]: kept } }
  return { role, content: parts.map((part, i) => (i === bearer ? withOwn(part, kept) : part)) }
}

const roleShape = oneOf('user', 'assistant', 'system', 'developer')

/** A part that also keeps the fields of its message: messages may be merged, their parts stay. */
function withOwn<P extends Part>(part: P, own: Own): P {
  if (part.type === 'provider') return { ...part, data: { ...(part.data as JsonObject), ...own } }
  const { [RESPONSES]: before, ...others } = part.providerOptions ?? {}
  return { ...part, providerOptions: { ...others, [RESPONSES]: { ...before, ...own } } }
}
