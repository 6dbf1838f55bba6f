import { invalid } from '../../core/errors.ts'
import { isBlank } from '../../core/messages/characters.ts'
import { readable } from '../../core/messages/check.ts'
import { defined, isObject, type Json, type JsonObject } from '../../core/messages/json.ts'
import type {
  Message,
  Part,
  ProviderPart,
  ToolCallPart,
  ToolResultContent,
  ToolResultOutput,
  ToolResultPart,
} from '../../core/messages/message.ts'
import { isResult } from '../../core/messages/message.ts'
import { Conversion, type ConversionOptions } from '../conversion.ts'
import { fields, flag, nullish, oneOf, optional, text } from '../shapes.ts'
import {
  conversationAt,
  given,
  isEmpty,
  jsonMessageAt,
  keptMessage,
  listAt,
  messageRead,
  objectAt,
  stringAt,
} from '../wire.ts'
import {
  Calls,
  fromMedia,
  fromResponse,
  type GeminiPlace,
  GOOGLE,
  kept,
  orderOf,
  responseItem,
} from './gemini-parts.ts'

type Reading = { readonly conversion: Conversion; readonly calls: Calls }

/** The contents of a part: exactly one of these. Source: `Part` of `@google/genai`. */
const CONTENT_FIELDS = [
  'text',
  'inlineData',
  'fileData',
  'functionCall',
  'functionResponse',
  'executableCode',
  'codeExecutionResult',
  'toolCall',
  'toolResponse',
] as const

/** Fields that only describe the content of a part. */
const DESCRIBING_FIELDS: ReadonlySet<string> = new Set([
  'thought',
  'videoMetadata',
  'mediaResolution',
  'mediaProcessing',
  'partMetadata',
  'speechMetadata',
  'audioTranscription',
])

/** The content field of a part; `undefined` for an unknown kind, or a signature alone. */
function contentFieldOf(part: JsonObject, path: string): (typeof CONTENT_FIELDS)[number] | undefined {
  const [field, another] = CONTENT_FIELDS.filter((name) => part[name] !== undefined && part[name] !== null)
  if (another !== undefined) throw invalid(`${path}: must have only one of ${CONTENT_FIELDS.join(', ')}`)
  const hasContent = field !== undefined || Object.keys(part).some((name) => !DESCRIBING_FIELDS.has(name))
  if (!hasContent) throw invalid(`${path}: must have one of ${CONTENT_FIELDS.join(', ')}`)
  return field
}

const partShape = fields({ thoughtSignature: optional(text), thought: nullish(flag) })

/** Reads a part. Throws `INVALID_INPUT`, which names the place and the rule, for a part that the API doesn't have. */
function readPart(part: JsonObject, place: GeminiPlace, path: string, reading: Reading): Part {
  partShape(part, path)
  const field = contentFieldOf(part, path)
  switch (field) {
    case 'text':
      return readText(part, path)
    case 'inlineData':
    case 'fileData': {
      // A system instruction is text. Other parts of it are kept whole.
      const media = fromMedia(part, path)
      return place === 'system' || media === undefined ? whole(part, path, field, reading) : media
    }
    case 'functionCall':
      if (place !== 'model') throw invalid(`${path}: a functionCall must be in a content of the model`)
      return readCall(part, path, reading)
    case 'functionResponse':
      if (place !== 'user') throw invalid(`${path}: a functionResponse must be in a content of the user`)
      return readAnswer(part, path, reading)
    case 'executableCode':
      stringAt(objectAt(part[field], `${path}.${field}`).code, `${path}.${field}.code`)
      return whole(part, path, field, reading)
    case 'codeExecutionResult':
    case 'toolCall':
    case 'toolResponse':
      objectAt(part[field], `${path}.${field}`)
      return whole(part, path, field, reading)
    case undefined:
      return whole(part, path, undefined, reading)
  }
}

function whole(
  data: JsonObject,
  path: string,
  field: string | undefined,
  { conversion }: Reading,
): ProviderPart {
  const what = field === undefined ? 'a part of an unknown kind' : `this ${field}`
  return conversion.keep(GOOGLE, data, path, `the neutral form has no part for ${what}`)
}

function readText({ text: own, ...rest }: JsonObject, path: string): Part {
  const text = stringAt(own, `${path}.text`)
  if (rest.thought !== true) return { type: 'text', text, ...kept(rest, isBlank(text)) }
  const { thought: _, ...fields } = rest
  return { type: 'reasoning', text, ...kept(fields, true) }
}

function readCall(part: JsonObject, path: string, reading: Reading): ToolCallPart | ProviderPart {
  const { functionCall, ...rest } = part
  const at = `${path}.functionCall`
  const { id: givenId, name, args, ...own } = objectAt(functionCall, at)
  // A piece of a streamed call: it continues another part.
  if (givenId === undefined && name === undefined && args === undefined)
    return whole(part, path, 'piece of a functionCall', reading)
  const toolName = stringAt(name, `${at}.name`)
  const id = optional(text)(givenId, `${at}.id`)
  const input = args === undefined ? {} : objectAt(args, `${at}.args`)
  const toolCallId = reading.calls.call(toolName, id)
  const fields = {
    ...own,
    ...(id === toolCallId ? {} : { id: id ?? null }),
    ...(args === undefined && { args: null }),
  }
  return {
    type: 'tool-call',
    toolCallId,
    toolName,
    input,
    ...kept({ ...rest, ...given('functionCall', fields) }),
  }
}

function readAnswer(
  { functionResponse, ...rest }: JsonObject,
  path: string,
  reading: Reading,
): ToolResultPart {
  const at = `${path}.functionResponse`
  const { id: givenId, name: givenName, response, parts, ...own } = objectAt(functionResponse, at)
  const id = optional(text)(givenId, `${at}.id`)
  // Without an id, only the name identifies the call.
  const name = givenName === undefined && id !== undefined ? undefined : stringAt(givenName, `${at}.name`)
  const { output, shape } = readOutput(response, parts, at, reading)
  const call = reading.calls.answer(name, id, own.willContinue === true)
  const toolName = name ?? call.name
  const fields = {
    ...own,
    ...(id === call.id ? {} : { id: id ?? null }),
    ...(name === undefined && { name: null }),
    ...defined({ response: shape }),
    ...(Array.isArray(parts) && parts.length === 0 && { parts }),
  }
  return {
    type: 'tool-result',
    toolCallId: call.id,
    ...defined({ toolName }),
    output,
    ...kept({ ...rest, ...given('functionResponse', fields) }),
  }
}

function readOutput(
  response: Json | undefined,
  parts: Json | undefined,
  path: string,
  reading: Reading,
): { output: ToolResultOutput; shape?: Json } {
  const media =
    parts === undefined
      ? []
      : reading.conversion.parts(parts, `${path}.parts`, (piece, at) => readPiece(piece, at, reading))
  if (media.length === 0) return fromResponse(response, `${path}.response`)
  if (response === undefined) return { output: { type: 'content', value: media }, shape: null }
  const { item, isError } = responseItem(response, `${path}.response`)
  return { output: { type: 'content', value: [item, ...media], ...(isError && { isError }) } }
}

function readPiece(piece: JsonObject, path: string, reading: Reading): ToolResultContent {
  if (isEmpty(piece)) throw invalid(`${path}: must have inlineData or fileData`)
  if (piece.inlineData !== undefined && piece.fileData !== undefined)
    throw invalid(`${path}: must have only one of inlineData and fileData`)
  const isMedia = piece.inlineData !== undefined || piece.fileData !== undefined
  return (isMedia ? fromMedia(piece, path) : undefined) ?? whole(piece, path, undefined, reading)
}

/**
 * Converts contents of Gemini to neutral messages, ready to be appended: a list of contents, or an object with `contents` and perhaps
 * `systemInstruction` (a text, a part, a list of both, or a content), which becomes a leading system message. `toGemini(fromGemini(x))` is
 * x.
 *
 * The role `model` becomes `assistant`; `user`, `function` (of older versions) and no role become `user`, or `tool` for contents that hold
 * only function responses. A call without an id gets one made of its function name; a response without an id belongs to the first open call
 * of its name. `{ output }` and `{ result }` of a response become its text or JSON, `{ error }` a failure, any other object JSON. Thoughts
 * become reasoning; signatures stay with their parts. Parts without a neutral form (executed code, calls that Gemini ran itself, unknown
 * kinds) are kept whole and reported (`kept`). The input is not modified; values are shared with it.
 *
 * Throws `INVALID_INPUT`, which names the place and the rule and never quotes the text, for another role, a part with no content or with
 * several, a call without a name, a response with neither id nor name, bytes that are not base64, and values that JSON cannot express. With
 * `lenient`, such a part is kept as an unread part, and such a content becomes a user message with an unread part.
 */
export function fromGemini(
  input: readonly object[] | { readonly contents: readonly object[]; readonly systemInstruction?: unknown },
  options?: ConversionOptions,
): Message[] {
  return readable('fromGemini', () => {
    const conversion = new Conversion(GOOGLE, options)
    const { system, list, place } = conversationAt(input, 'systemInstruction', 'contents')
    const reading: Reading = { conversion, calls: new Calls(list) }
    const leading = system === undefined ? [] : [readInstruction(system, reading)]
    let lastCalls: readonly string[] = []
    let followsAnswers = false
    const turns = list.map((content, i) => {
      const path = `${place}[${i}]`
      const read = (fields: JsonObject): Message => readContent(fields, path, reading)
      const message = conversion.message(asPlainContent(content), i, path, read)
      const calls = idsOf(message, 'tool-call')
      const answers = idsOf(message, 'tool-result')
      if (calls.length > 0) lastCalls = calls
      const isInOrder = orderOf(answers, lastCalls).every((from, to) => from === to)
      const isReordered = answers.length > 0 && (followsAnswers || !isInOrder)
      followsAnswers = answers.length > 0
      return isReordered && message.metadata === undefined
        ? { ...message, metadata: { [GOOGLE]: {} } }
        : message
    })
    return [...leading, ...turns]
  })
}

function idsOf({ content }: Message, type: 'tool-call' | 'tool-result'): string[] {
  if (typeof content === 'string') return []
  return content.flatMap((part) => (part.type === type ? [part.toolCallId] : []))
}

const roleShape = optional(oneOf('user', 'model', 'function'))

function readContent({ role, parts, ...extra }: JsonObject, path: string, reading: Reading): Message {
  roleShape(role, `${path}.role`)
  reading.calls.nextContent()
  const list = parts === undefined ? [] : listAt(parts, `${path}.parts`)
  const place = role === 'model' || (role === undefined && isModelsOwn(list)) ? 'model' : 'user'
  const read = reading.conversion.parts(list, `${path}.parts`, (part, at) =>
    readPart(part, place, at, reading),
  )
  const content = markFirstCall(read)
  const fields = {
    ...extra,
    ...(role === undefined ? { role: null } : role === 'function' ? { role } : {}),
    ...(parts === undefined && { parts: null }),
  }
  const isAnswer = content.length > 0 && content.every(isResult)
  return asMessage(place === 'model' ? 'assistant' : isAnswer ? 'tool' : 'user', content, fields)
}

/** The API treats a content without a role as a user content, but some responses come without one. */
function isModelsOwn(parts: readonly unknown[]): boolean {
  const holds = (name: string): boolean => parts.some((part) => isObject(part) && isObject(part[name]))
  if (holds('functionResponse')) return false
  const thinks = parts.some((part) => isObject(part) && part.thought === true)
  return thinks || holds('functionCall') || holds('executableCode')
}

/** Gemini 3 requires a signature with the first call of a content; a call of an older model has none and is accepted without it. */
function markFirstCall(parts: readonly Part[]): readonly Part[] {
  const first = parts.findIndex(({ type }) => type === 'tool-call')
  return parts.map((part, i) =>
    i === first && part.type === 'tool-call' && part.providerOptions === undefined
      ? { ...part, ...kept({}, true) }
      : part,
  )
}

/** A message of these parts. A single plain text needs no list. */
function asMessage(role: Message['role'], parts: readonly Part[], fields: JsonObject): Message {
  const [first] = parts
  const isPlain = parts.length === 1 && first?.type === 'text' && first.providerOptions === undefined
  const content = isPlain ? first.text : parts
  return keptMessage(GOOGLE, role, content, fields, parts.length === 0)
}

function readInstruction(instruction: unknown, reading: Reading): Message {
  const path = 'systemInstruction'
  const read = reading.conversion.reading(instruction, path, (): Message => {
    const { value } = jsonMessageAt({ value: instruction }, path)
    if (typeof value === 'string') return keptMessage(GOOGLE, 'system', value, {}, isBlank(value))
    if (Array.isArray(value)) return instructionOf(value, path, { form: 'parts' }, reading)
    const content = objectAt(value, path)
    if (!('parts' in content)) return instructionOf([content], path, { form: 'part' }, reading)
    const { parts, ...fields } = content
    return instructionOf(listAt(parts, `${path}.parts`), `${path}.parts`, fields, reading)
  })
  return messageRead(read, 'system')
}

function instructionOf(
  list: readonly unknown[],
  path: string,
  fields: JsonObject,
  reading: Reading,
): Message {
  const content = list.map((part, i): Part => {
    if (typeof part === 'string') return { type: 'text', text: part, ...kept({ form: 'text' }) }
    const at = `${path}[${i}]`
    return reading.conversion.reading(part, at, () => readPart(objectAt(part, at), 'system', at, reading))
  })
  return keptMessage(GOOGLE, 'system', content, fields, content.length === 0)
}

/** Fields whose values are instances of classes in the SDK; only the fields of an instance are sent. */
const INSTANCES: ReadonlySet<string> = new Set(['functionResponse', 'toolResponse', 'inlineData', 'fileData'])

/** A content, or the value of such a field, as a plain object. */
function asPlainContent(content: unknown): unknown {
  if (!isObject(content) || !Array.isArray(content.parts)) return content
  const plain = ([name, value]: [string, unknown]): [string, unknown] =>
    INSTANCES.has(name) && isObject(value) ? [name, asPlainContent({ ...value })] : [name, value]
  const parts = (content.parts as readonly unknown[]).map((part) =>
    isObject(part) ? Object.fromEntries(Object.entries(part).map(plain)) : part,
  )
  return { ...content, parts }
}
