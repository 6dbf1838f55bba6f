import { invalid } from '../../core/errors.ts'
import { joinByAdjacency } from '../../core/messages/call-results.ts'
import { isBlank } from '../../core/messages/characters.ts'
import { readable } from '../../core/messages/check.ts'
import { defined, isObject, type Json, type JsonObject } from '../../core/messages/json.ts'
import {
  type NewMessage,
  type Part,
  partsOf,
  type ToolCallPart,
  type ToolResultPart,
} from '../../core/messages/message.ts'
import { contentProblem, messageProblem } from '../../core/messages/message-check.ts'
import { argumentsIn, roleOf } from '../../core/model/message-parts.ts'
import { Conversion, type ConversionOptions } from '../conversion.ts'
import { oneOf } from '../shapes.ts'
import { isEmpty, jsonMessageAt, keptFor, keptUnder, objectAt, stringAt } from '../wire.ts'

/*
 * The flat form of the type `ChatMessage`, in and out: a text with a role, tool calls and results as messages of their own (`tool_call`,
 * `tool_result`), tags of compactions as fields. One flat message becomes one neutral message, and a message that was read is written again
 * as it was.
 *
 * `id` and `metadata` are those of the neutral message. Fields without a place there are kept under the name `flat`. In the metadata:
 *
 * - `fields`: the further fields of the message, including tags of compactions;
 * - `metadata`: the metadata, when it was empty or used the name `flat` itself;
 * - `role`: the role, when it was another of the same meaning; `parts`: the content was a list of neutral parts;
 * - `id`: an id that a session cannot have.
 *
 * In the options of a call or a result:
 *
 * - `content`: the text beside the arguments of a call; null, or `absent` under `shape`, when there was none;
 * - `from`: the field of the arguments, when it was not `args`; `args` and `input`: other values of these fields;
 * - `tool`: the given value when it names no tool, null when it was absent; `toolCallId`: the same for an id, and an id of an unknown call;
 *   `id`: the id that a call was given, or that a result was joined to.
 *
 * The neutral message takes precedence: if an output or an input has changed since, the new one is written.
 */

/** The name under which this format keeps its fields. */
export const FLAT = 'flat'

/** Fields that compactions write on a message, in this format and on the rows of a store. */
export const TAGS = [
  'condenseId',
  'condenseParent',
  'truncationId',
  'truncationParent',
  'isTruncationMarker',
  'retiredBy',
] as const

const keptIn = (fields: JsonObject) => keptUnder(FLAT, fields)

/** Marks arguments that were given in the text of a call. */
export const FROM_CONTENT = 'content'

const roleShape = oneOf('system', 'user', 'assistant', 'tool', 'tool_call', 'tool_result')

/**
 * Converts flat messages (`ChatMessage`) to neutral messages, ready to be appended, one for one: `tool_call` becomes an assistant message
 * with a call, `tool_result` its result. A call without an id is joined to the result near it, as the functions for plain lists do; a
 * result gets the tool name of its call. Arguments are `args`, else `input`, else parsed from the text. `isError: true`, or a `result`
 * whose `success` is false, marks a failed call. Tags of compactions and further fields are kept and have no effect in a store:
 * `ContextCompactor` and the like read them.
 *
 * Messages whose content is a list of neutral parts are allowed and stay as they are. The input is not modified; values are shared with it.
 * Fields that are `undefined` count as absent.
 *
 * Throws `INVALID_INPUT`, which names the place and never quotes the text, for a message that isn't in this format: an unknown role, a
 * content that is neither text nor neutral parts, a field of another type, calls in OpenAI fields. With `lenient`, such a message is kept
 * as a user message with an unread part.
 */
export function fromChatMessages(messages: readonly object[], options?: ConversionOptions): NewMessage[] {
  return readChatMessages(messages, 0, options)
}

/**
 * `fromChatMessages` for a section of a list whose first message has the index `first`. Calls and results
 * without ids that belong together must be in the same section.
 */
export function readChatMessages(
  messages: readonly unknown[],
  first: number,
  options?: ConversionOptions,
): NewMessage[] {
  return readable('fromChatMessages', () => {
    const conversion = new Conversion(FLAT, options)
    return withIds(conversion.messages(messages, 'messages', fromMessage, first), first)
  })
}

function fromMessage(value: unknown, path: string): NewMessage {
  const { content, ...given } = objectAt(value, path) as { readonly [field: string]: unknown }
  const { id, role: givenRole, metadata, ...fields } = jsonMessageAt(given, path)
  const role = roleShape(givenRole, `${path}.role`)
  for (const name of ['tool_calls', 'function_call'])
    if (fields[name] !== undefined)
      throw invalid(`${path}.${name}: isn't a field of this format; use fromOpenAI to read it`)
  if (id !== undefined) stringAt(id, `${path}.id`)
  if (metadata !== undefined) objectAt(metadata, `${path}.metadata`)
  const own = typeof id === 'string' && isStorableId(id) ? id : undefined

  const { message, further, marks } = fromContent(content, role, fields, path)
  const kept: JsonObject = {
    ...marks,
    ...(!isEmpty(further) && { fields: further }),
    ...(own === undefined && defined({ id })),
  }
  return {
    ...message,
    ...(own !== undefined && { id: own }),
    ...metadataOf(metadata as JsonObject | undefined, kept),
  }
}

function isStorableId(id: string): boolean {
  return messageProblem({ role: 'user', content: '', id }) === undefined
}

function metadataOf(given: JsonObject | undefined, kept: JsonObject): { metadata?: JsonObject } {
  if (given === undefined) return isEmpty(kept) ? {} : { metadata: { [FLAT]: kept } }
  const isPlain = !isEmpty(given) && !Object.hasOwn(given, FLAT)
  if (isPlain || (isEmpty(given) && isEmpty(kept)))
    return { metadata: isEmpty(kept) ? given : { ...given, [FLAT]: kept } }
  return { metadata: { [FLAT]: { ...kept, metadata: given } } }
}

/** The content of a message, its further fields, and the marks it needs to be written again. */
type Read = {
  readonly message: Pick<NewMessage, 'role' | 'content'>
  readonly further: JsonObject
  readonly marks: JsonObject
}

function fromContent(content: unknown, flatRole: string, fields: JsonObject, path: string): Read {
  const role = roleOf(flatRole)!
  const marks: JsonObject = role === flatRole || flatRole.startsWith('tool_') ? {} : { role: flatRole }
  if (Array.isArray(content)) {
    const problem = contentProblem(content)
    if (problem !== undefined) throw invalid(`${path}.content${problem.replace(/^(\S*) /, '$1: ')}`)
    const shown = role === flatRole ? {} : { role: flatRole }
    const message = { role, content: content as readonly Part[] }
    return { message, further: fields, marks: { ...shown, parts: true } }
  }
  if (flatRole === 'tool_call') {
    const { part, further } = fromCall(contentAt(content, path), fields, path)
    return { message: { role, content: [part] }, further, marks }
  }
  if (role === 'tool') {
    const { part, further } = fromResult(contentAt(content, path), fields, path)
    const shown = flatRole === 'tool' ? { role: flatRole } : {}
    return { message: { role, content: [part] }, further, marks: shown }
  }
  return { message: { role, content: textAt(content, path) }, further: fields, marks }
}

/** The text of a call or a result, which may be absent. */
function contentAt(content: unknown, path: string): string | null | undefined {
  return content === null || content === undefined ? content : textAt(content, path)
}

function textAt(content: unknown, path: string): string {
  if (typeof content === 'string') return content
  throw invalid(`${path}.content: must be a string or an array of parts`)
}

function shapeOf(content: string | null | undefined): JsonObject {
  return typeof content === 'string' ? {} : { shape: content === null ? null : 'absent' }
}

/** Reads a name. A value that isn't a name is returned as given, with null for an absent one. */
function nameAt(
  fields: JsonObject,
  field: 'tool' | 'toolCallId',
  other: 'name' | 'tool_call_id',
  path: string,
): { name: string; kept: JsonObject } {
  const given = fields[field]
  if (given !== undefined) stringAt(given, `${path}.${field}`)
  if (typeof given === 'string' && given !== '') return { name: given, kept: {} }
  const instead = fields[other]
  return {
    name: typeof instead === 'string' ? instead : '',
    kept: { [field]: given === undefined ? null : '' },
  }
}

function fromCall(
  content: string | null | undefined,
  fields: JsonObject,
  path: string,
): { part: ToolCallPart; further: JsonObject } {
  const id = nameAt(fields, 'toolCallId', 'tool_call_id', path)
  const tool = nameAt(fields, 'tool', 'name', path)
  const { tool: _, toolCallId: __, args, input, ...further } = fields
  const text = content ?? ''
  const textFields = { ...shapeOf(content), ...(text === '' ? {} : { content: text }) }
  const call = (value: Json, kept: JsonObject): ToolCallPart => ({
    type: 'tool-call',
    toolCallId: id.name,
    toolName: tool.name || 'unknown',
    input: value,
    ...keptIn({ ...textFields, ...tool.kept, ...id.kept, ...kept }),
  })
  const isGiven = (value: Json | undefined): value is Json => value !== undefined && value !== null
  if (isGiven(args)) return { part: call(args, defined({ input })), further }
  if (isGiven(input)) return { part: call(input, { from: 'input', ...defined({ args }) }), further }
  if (args === null && isBlank(text)) return { part: call(null, defined({ input })), further }
  if (input === null && isBlank(text)) return { part: call(null, { from: 'input' }), further }
  return { part: call(argumentsIn(text), { from: FROM_CONTENT, ...defined({ args, input }) }), further }
}

function fromResult(
  content: string | null | undefined,
  fields: JsonObject,
  path: string,
): { part: ToolResultPart; further: JsonObject } {
  const id = nameAt(fields, 'toolCallId', 'tool_call_id', path)
  const tool = nameAt(fields, 'tool', 'name', path)
  const { tool: _, toolCallId: __, ...further } = fields
  const part: ToolResultPart = {
    type: 'tool-result',
    toolCallId: id.name,
    ...(tool.name !== '' && { toolName: tool.name }),
    output: { type: isMarkedFailed(further) ? 'error-text' : 'text', value: content ?? '' },
    ...keptIn({ ...shapeOf(content), ...tool.kept, ...id.kept }),
  }
  return { part, further }
}

/** Whether the fields of a flat result mark a failed call. */
export function isMarkedFailed({ isError, result }: JsonObject): boolean {
  return isError === true || (isObject(result) && result.success === false)
}

/** Gives calls and results without ids an id each, and results the names of their tools. */
function withIds(messages: readonly NewMessage[], first: number): NewMessage[] {
  const joined = joinByAdjacency(messages.map(partsOf), first)
  const names = new Map<string, string>()
  return messages.map((message, index) => {
    for (const part of joined[index]!)
      if (part.type === 'tool-call' && part.toolName !== 'unknown') names.set(part.toolCallId, part.toolName)
    const [part] = joined[index]!
    const isFlat = typeof message.content !== 'string' && keptFor(FLAT, message.metadata)?.parts !== true
    if (!isFlat || (part?.type !== 'tool-call' && part?.type !== 'tool-result')) return message
    return { ...message, content: [withName(withOwnId(part, message.content[0]!), names)] }
  })
}

function withOwnId<P extends ToolCallPart | ToolResultPart>(part: P, given: Part): P {
  const own = 'toolCallId' in given ? given.toolCallId : ''
  if (own === part.toolCallId) return part
  const kept = {
    ...(own !== '' && { toolCallId: own }),
    ...part.providerOptions?.[FLAT],
    id: part.toolCallId,
  }
  return { ...part, providerOptions: { ...part.providerOptions, [FLAT]: kept } }
}

function withName<P extends ToolCallPart | ToolResultPart>(part: P, names: ReadonlyMap<string, string>): P {
  if (part.type === 'tool-call' || part.toolName !== undefined) return part
  const toolName = names.get(part.toolCallId)
  return toolName === undefined ? part : { ...part, toolName }
}
