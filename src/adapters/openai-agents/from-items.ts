import { invalid } from '../../core/errors.ts'
import { readable } from '../../core/messages/check.ts'
import { defined, isObject, type Json, type JsonObject } from '../../core/messages/json.ts'
import type {
  FilePart,
  ImagePart,
  Message,
  Part,
  ProviderPart,
  ReasoningPart,
  Role,
  ToolCallPart,
  ToolResultContent,
  ToolResultOutput,
} from '../../core/messages/message.ts'
import { Conversion, type ConversionOptions } from '../conversion.ts'
import { audioTypeOf } from '../openai/chat-types.ts'
import { oneOf, type Shape } from '../shapes.ts'
import {
  isEmpty,
  joinBlocks,
  jsonMessageAt,
  keptMessage,
  keptUnder,
  listAt,
  objectAt,
  readArguments,
  replacedAt,
  stringAt,
  type TextBlock,
} from '../wire.ts'
import { AGENTS, CALLS, CONTENTS, ITEMS, MESSAGES, PROVIDER, parted, RESULTS } from './item-shapes.ts'

/**
 * Converts items of the OpenAI Agents SDK to neutral messages, ready to be appended: one item becomes one message.
 *
 * A `function_call` becomes an assistant message with that call, a `function_call_result` a tool message with its result; so do calls and
 * results of the shell, the computer, `apply_patch` and programs, with those tool names. Items without a neutral meaning
 * (`hosted_tool_call`, `tool_search_…`, `compaction`, `unknown`) and contents that name an uploaded file are kept whole and reported.
 * Fields that the SDK does not know are kept. The input is not modified; values are shared with it.
 *
 * Throws `INVALID_INPUT`, which names the place and never quotes the text, for a value that isn't an item: an unknown type or role, a
 * missing field, a field of another type, data that is not base64. With `lenient`, such values are kept as unread parts.
 */
export function fromAgentItems(items: readonly object[], options?: ConversionOptions): Message[] {
  return readable('fromAgentItems', () => {
    const conversion = new Conversion(AGENTS, options)
    return conversion.messages(items, 'items', (item, place) => fromItem(item, place, conversion))
  })
}

function fromItem(value: unknown, place: string, conversion: Conversion): Message {
  const { type, role } = objectAt(value, place)
  if (type === undefined || type === 'message') return fromMessage(value, place, role, conversion)
  const shape = ITEMS.get(type)
  if (shape === undefined) throw invalid(`${place}.type: isn't an item type`)
  if (type === 'function_call_result') return fromResult(value, place, shape, conversion)
  const item = jsonMessageAt(value, place)
  shape(item, place)
  if (type === 'function_call') return only('assistant', fromCall(item))
  if (type === 'reasoning') return only('assistant', fromReasoning(item, place))
  if (CALLS.has(type)) return only('assistant', fromToolCall(item))
  if (RESULTS.has(type)) return fromResult(value, place, shape, conversion)
  conversion.note('kept', place, `an item of type ${String(type)} has no neutral meaning`)
  return only('assistant', keptContent(item))
}

function only(role: Role, part: Part): Message {
  return { role, content: [part] }
}

function fromMessage(value: unknown, place: string, givenRole: unknown, conversion: Conversion): Message {
  const role = oneOf('system', 'user', 'assistant')(givenRole, `${place}.role`)
  const shape = MESSAGES[role]
  const { content: given, ...others } = objectAt(value, place)
  // Contents are checked one by one, so that a malformed one can be kept alone.
  const { type, role: _, ...rest } = jsonMessageAt(others, place)
  shape(role === 'system' ? { ...rest, content: given } : rest, place)
  const fields = type === undefined ? { ...rest, type: null } : rest
  if (role !== 'assistant' && typeof given === 'string') return keptMessage(AGENTS, role, given, fields)
  const at = `${place}.content`
  const content = fromParts(listAt(given, at), at, role === 'user' ? 'user' : 'assistant', conversion)
  // Empty texts are dropped from other messages; the mark shows that this message was read here.
  const isSilent = content.every((part) => part.type === 'text' && part.text === '')
  return keptMessage(AGENTS, role, content, isSilent && isEmpty(fields) ? { type: 'message' } : fields)
}

function fromParts(
  list: readonly unknown[],
  place: string,
  where: 'user' | 'assistant' | 'outputs',
  conversion: Conversion,
): ToolResultContent[] {
  return list.map((value, i) => {
    const at = `${place}[${i}]`
    return conversion.reading(value, at, (): ToolResultContent => {
      const content = jsonMessageAt(value, at)
      CONTENTS[where](content, at)
      return fromContent(content, at, conversion)
    })
  })
}

/** A call with its arguments as a value, and as text if `JSON.stringify` would write a different text. */
function fromCall({ type: _, callId, name, arguments: text, ...rest }: JsonObject): ToolCallPart {
  const { input, raw } = readArguments(stringAt(text, 'arguments'))
  return {
    type: 'tool-call',
    toolCallId: stringAt(callId, 'callId'),
    toolName: stringAt(name, 'name'),
    input,
    ...own({ type: 'function_call', ...rest, ...raw }),
  }
}

function fromToolCall({ callId, ...item }: JsonObject): ToolCallPart {
  const { tool, input: names } = CALLS.get(item.type)!
  const [input, fields] = parted(item, names)
  const toolCallId = stringAt(callId, 'callId')
  return { type: 'tool-call', toolCallId, toolName: tool, input, ...own(fields) }
}

/** The readable texts as one text; everything the provider requires is kept beside it. */
function fromReasoning({ content, ...item }: JsonObject, place: string): ReasoningPart {
  const blocks = listAt(content, `${place}.content`).map((block) => block as TextBlock)
  const { text, layout } = joinBlocks(blocks, `${place}.content`)
  const isPlain = layout.length === 1 && layout[0]?.fields === undefined
  return { type: 'reasoning', text, ...own(isPlain ? item : { ...item, content: layout }) }
}

/** An output in the neutral form, and the form in which it was given. */
type Read = { readonly output: ToolResultOutput; readonly form?: Json }

/** A tool result as a message. Throws `INVALID_INPUT`. */
function fromResult(value: unknown, place: string, shape: Shape, conversion: Conversion): Message {
  const { output: given, ...others } = objectAt(value, place)
  const { callId, name, ...fields } = jsonMessageAt(others, place)
  const known = RESULTS.get(fields.type)
  shape(known === undefined ? { callId, name, ...fields } : { callId, ...fields, output: given }, place)
  const { output, form } =
    known === undefined
      ? fromOutput(given, `${place}.output`, conversion)
      : fromKnownOutput(fields, given, `${place}.output`)
  return {
    role: 'tool',
    content: [
      {
        type: 'tool-result',
        toolCallId: callId as string,
        toolName: known ?? (name as string),
        output,
        ...own({
          ...fields,
          ...(known !== undefined && name !== undefined && { name }),
          ...(form !== undefined && { output: form }),
        }),
      },
    ],
  }
}

function fromOutput(given: unknown, place: string, conversion: Conversion): Read {
  if (typeof given === 'string') return { output: { type: 'text', value: given } }
  if (Array.isArray(given))
    return { output: { type: 'content', value: fromParts(given, place, 'outputs', conversion) } }
  const read = conversion.reading(given, place, () => fromLoneOutput(given, place, conversion))
  return 'output' in read ? read : { output: { type: 'content', value: [read] }, form: 'one' }
}

function fromLoneOutput(given: unknown, place: string, conversion: Conversion): Read {
  const [bytes, bare] = withoutBytes(objectAt(given, place))
  const content = jsonMessageAt(bare, place)
  CONTENTS.output(content, place)
  if (content.type === 'text') {
    const { type: _, text, ...form } = content
    return { output: { type: 'text', value: text as string }, form }
  }
  const value = [mediaPart(content, bytes) ?? keptAtProvider(content, place, conversion)]
  return { output: { type: 'content', value }, form: 'one' }
}

/** The bytes of an output, and the output with an empty text instead: JSON has no bytes. */
function withoutBytes(output: JsonObject): readonly [Uint8Array | undefined, JsonObject] {
  for (const name of ['image', 'file']) {
    const source = output[name]
    const { data } = isObject(source) ? (source as { readonly data?: unknown }) : {}
    if (output.type === name && data instanceof Uint8Array)
      return [data, replacedAt(output, `${name}.data`, '') as JsonObject]
  }
  return [undefined, output]
}

/** Outputs of tools that have item types of their own. */
function fromKnownOutput({ type, status }: JsonObject, given: unknown, place: string): Read {
  if (type === 'computer_call_result') {
    const { type: _, data, ...fields } = jsonMessageAt(given, place)
    const image = { type: 'image' as const, image: data as string, ...own(fields) }
    return { output: { type: 'content', value: [image] } }
  }
  if (type === 'shell_call_output') return { output: { type: 'json', value: listOfJson(given, place) } }
  const isFailed = type === 'apply_patch_call_output' && status === 'failed'
  const value = typeof given === 'string' ? given : ''
  const output = { type: isFailed ? ('error-text' as const) : ('text' as const), value }
  return given === undefined ? { output, form: null } : { output }
}

function listOfJson(given: unknown, place: string): Json {
  return (given as readonly unknown[]).map((entry, i) => jsonMessageAt(entry, `${place}[${i}]`))
}

const own = (fields: JsonObject) => keptUnder(AGENTS, fields)

/** A value that only the SDK understands, kept whole. Its type is not at the top level, where other formats would mistake it for theirs. */
function keptContent(data: JsonObject): ProviderPart {
  return { type: 'provider', provider: PROVIDER, data: { [AGENTS]: data } }
}

/** A content that names a file stored by the provider. */
function keptAtProvider(content: JsonObject, place: string, conversion: Conversion): ProviderPart {
  conversion.note('kept', place, 'the provider stores the file that it names')
  return keptContent(content)
}

/** A checked content of a message, as a part. */
function fromContent(content: JsonObject, place: string, conversion: Conversion): ToolResultContent {
  const { type, ...rest } = content
  if (type === 'input_text' || type === 'output_text') {
    const { text, ...fields } = rest
    return { type: 'text', text: text as string, ...own(fields) }
  }
  if (type === 'refusal') {
    const { refusal, ...fields } = rest
    return { type: 'text', text: refusal as string, ...own({ ...fields, type }) }
  }
  return mediaPart(content) ?? keptAtProvider(content, place, conversion)
}

/**
 * Returns the image or file of a content. The content is kept beside it without its data; `in` is the path to the data. `undefined` for a
 * file that the provider stores.
 */
function mediaPart(content: JsonObject, bytes?: Uint8Array): ImagePart | FilePart | undefined {
  const field = ['image', 'file', 'audio'].find((name) => content[name] !== undefined)
  if (field === undefined) return undefined
  const source = content[field]
  const held = isObject(source) ? source : {}
  const isInput = content.type === 'input_file'
  const inners = isInput && held.id === undefined ? ['url'] : isInput ? [] : ['data', 'url']
  const inner = typeof source === 'string' ? '' : inners.find((name) => typeof held[name] === 'string')
  if (inner === undefined) return undefined
  const at = inner === '' ? field : `${field}.${inner}`
  const data = bytes ?? ((inner === '' ? source : held[inner]) as string)
  const kept = own({ ...(replacedAt(content, at, undefined) as JsonObject), in: at })
  const stated = typeof held.mediaType === 'string' ? held.mediaType : undefined
  if (field === 'image') return { type: field, image: data, ...defined({ mediaType: stated }), ...kept }
  const { format, filename } = { ...content, ...held }
  const sound = field === 'audio' ? audioTypeOf(typeof format === 'string' ? format : '*') : undefined
  const named = typeof filename === 'string' && { filename }
  return { type: 'file', data, mediaType: sound ?? stated ?? mediaTypeOf(data), ...named, ...kept }
}

/** The media type of a file without one. */
function mediaTypeOf(data: string | Uint8Array): string {
  if (typeof data !== 'string') return 'application/octet-stream'
  const [, stated] = /^data:([^;,]+)/i.exec(data) ?? []
  return stated ?? (data.startsWith('JVBERi0') ? 'application/pdf' : 'application/octet-stream')
}
