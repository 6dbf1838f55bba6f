import { invalid } from '../../errors.ts'
import type { Json, JsonObject } from '../../messages/json.ts'
import type { Message, Part, Role } from '../../messages/message.ts'
import { base64At, Conversion, type ConversionOptions, UNREAD } from '../conversion.ts'
import { isEmpty, jsonMessageAt, messageRead, objectAt, stringAt } from '../wire.ts'
import { fromCall, fromOutput, KnownCalls } from './from-calls.ts'
import { fromContentList } from './from-content.ts'
import { OPENAI } from './openai-types.ts'
import { fromReasoning } from './reasoning-items.ts'
import { endsAnswer, isReasoningItem, type Link, linksOf } from './reasoning-links.ts'
import { CALLS, OUTPUTS, type Own, RESPONSES, type ResponsesInput } from './types.ts'

/**
 * Items of OpenAI's Responses API in the neutral form, ready to be appended: what goes in (`input`) and what comes out
 * (`response.output`). Given is a list of items, or an object with `input` (items, or one text of the user's) and
 * perhaps `instructions`, which become leading system messages. Other fields of such an object are not kept.
 *
 * Each item becomes one message: messages, reasoning, calls and answers in neutral parts, every other item whole, as a
 * part that only OpenAI is sent. Shells, patches and the computer are calls too. Each answer learns the name of its tool
 * from the nearest earlier call with its id. Nothing given is changed; values are shared with it.
 *
 * Throws `INVALID_INPUT`, with the place and without the text, for an item the API has no meaning for: an unknown role,
 * a call or an answer without its id, a malformed part, data that is no base64. With `lenient` such a part, or such an
 * item, is kept as an unread part.
 */
export function fromOpenAIResponses(input: ResponsesInput, options?: ConversionOptions): Message[] {
  const conversion = new Conversion(RESPONSES, options)
  const known = new KnownCalls()
  if (Array.isArray(input)) return fromItems(input, '', true, known, conversion)
  const { input: said, instructions } = objectAt(input, 'input')
  if (typeof said !== 'string' && !Array.isArray(said)) throw invalid('input: must be a text or an array')
  const leading = fromText(instructions, 'instructions', 'system', false, known, conversion)
  return [...leading, ...fromText(said, 'input', 'user', true, known, conversion)]
}

/**
 * `fromOpenAIResponses` for items that come one by one, in order: it remembers the calls and the reasoning. `next` is the item behind,
 * absent at the end: reasoning and what it led to know of each other. `path` is what refusals and notes call the item.
 */
export function responsesReader(
  options?: ConversionOptions,
): (item: unknown, index: number, path: string, next?: unknown) => Message {
  const conversion = new Conversion(RESPONSES, options)
  const known = new KnownCalls()
  let reasoning: unknown
  return (item, index, path, next) => {
    const link = linksOf([reasoning, item, next])[1] ?? {}
    if (isReasoningItem(item)) reasoning = item
    else if (endsAnswer(item)) reasoning = undefined
    conversion.at(index)
    const read = conversion.reading(item, path, () =>
      fromItem(jsonMessageAt(item, path), link, path, known, conversion),
    )
    return messageRead(read)
  }
}

/** Items, or a text somebody says. */
function fromText(
  said: unknown,
  path: string,
  role: Role,
  isList: boolean,
  known: KnownCalls,
  conversion: Conversion,
): Message[] {
  if (said === undefined || said === null) return []
  if (typeof said === 'string') return [{ role, content: said }]
  if (!Array.isArray(said)) throw invalid(`${path}: must be a text or an array`)
  return fromItems(said, path, isList, known, conversion)
}

/** `isList` says that notes count these items; instructions stand beside the list. */
function fromItems(
  items: readonly unknown[],
  path: string,
  isList: boolean,
  known: KnownCalls,
  conversion: Conversion,
): Message[] {
  const links = linksOf(items)
  return Array.from(items).map((item, i) => {
    const place = `${path}[${i}]`
    conversion.at(isList ? i : -1)
    const read = conversion.reading(item, place, () =>
      fromItem(jsonMessageAt(item, place), links[i] ?? {}, place, known, conversion),
    )
    return messageRead(read)
  })
}

function fromItem(
  item: JsonObject,
  link: Link,
  path: string,
  known: KnownCalls,
  conversion: Conversion,
): Message {
  const { type, role } = item
  const isUntyped = type === undefined || type === null
  if (type === 'message' || (isUntyped && role !== undefined))
    return fromMessage(item, link, path, conversion)
  if (type === 'reasoning') return fromReasoning(item, link, path)
  if (CALLS.has(type)) return fromCall(item, link, path, known)
  if (OUTPUTS.has(type)) return fromOutput(item, path, known, conversion)
  // A reference needs no type.
  const kind = isUntyped && typeof item.id === 'string' ? 'item_reference' : stringAt(type, `${path}.type`)
  checkKept(kind, item, path)
  conversion.note('kept', path, 'the neutral form has no part for it')
  const data =
    kind === 'compaction' ? item : { item, ...(link.after === undefined ? {} : { after: link.after }) }
  return {
    role: ROLES_OF_KEPT.get(kind) ?? 'assistant',
    content: [{ type: 'provider', provider: OPENAI, data }],
  }
}

/** Who speaks in items that are kept whole: the model, save for these. */
const ROLES_OF_KEPT: ReadonlyMap<string, Role> = new Map([
  ['additional_tools', 'system'],
  ['mcp_approval_response', 'user'],
  ['compaction_trigger', 'user'],
])

/** The texts the API cannot do without in items that are kept whole. Source: `ResponseInputItem` of `openai`. */
const NEEDED: ReadonlyMap<string, readonly string[]> = new Map([
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
  for (const field of NEEDED.get(kind) ?? []) stringAt(item[field], `${path}.${field}`)
  const { result } = item
  if (kind === 'image_generation_call' && result !== undefined && result !== null)
    base64At(result, `${path}.result`)
}

function fromMessage(item: JsonObject, link: Link, path: string, conversion: Conversion): Message {
  const { role: shown, content, ...fields } = item
  const role = roleOf(shown, path)
  const own: Own = { item: shown === 'developer' ? { ...fields, role: shown } : fields }
  if (typeof content === 'string')
    return isEmpty(own.item as JsonObject)
      ? { role, content }
      : { role, content, metadata: { [RESPONSES]: own } }

  const parts = fromContentList(content, role, `${path}.content`, conversion)
  const kept: Own = link.after === undefined ? own : { ...own, after: link.after }
  const bearer = parts.findIndex((part) => part.type !== 'provider' || part.provider !== UNREAD)
  if (bearer === -1) return { role, content: parts, metadata: { [RESPONSES]: kept } }
  return { role, content: parts.map((part, i) => (i === bearer ? withOwn(part, kept) : part)) }
}

function roleOf(role: Json | undefined, path: string): 'user' | 'assistant' | 'system' {
  if (role === 'developer') return 'system'
  if (role === 'user' || role === 'assistant' || role === 'system') return role
  throw invalid(`${path}.role: must be user, assistant, system or developer`)
}

/** A part that says as well what is kept of its message: messages may be merged, their parts stay. */
function withOwn<P extends Part>(part: P, own: Own): P {
  if (part.type === 'provider') return { ...part, data: { ...(part.data as JsonObject), ...own } }
  const { [RESPONSES]: before, ...others } = part.providerOptions ?? {}
  return { ...part, providerOptions: { ...others, [RESPONSES]: { ...before, ...own } } }
}
