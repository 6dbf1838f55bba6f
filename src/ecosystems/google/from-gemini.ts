import { invalid } from '../../errors.ts'
import type { Json, JsonObject } from '../../messages/json.ts'
import type { Message, Part } from '../../messages/message.ts'
import { Conversion, type ConversionOptions } from '../conversion.ts'
import { isBlank, isObject, isResult, jsonMessageAt, listAt, messageRead, objectAt } from '../wire.ts'
import { Calls, orderOf } from './calls.ts'
import { kept } from './options.ts'
import { type Reading, readPart } from './read-part.ts'
import { type GeminiPlace, GOOGLE } from './types.ts'

/**
 * Contents of Gemini's in the neutral form, ready to be appended: a list of contents, or an object with `contents` and
 * perhaps `systemInstruction` (a text, a part, a list of both, or a content), which becomes a leading system message.
 * `toGemini(fromGemini(x))` is x.
 *
 * The role `model` becomes `assistant`; `user`, `function` (of older versions) and no role become `user`, or `tool` where
 * nothing but answers of functions stands. A call without an id gets one made of its function's name; an answer without
 * belongs to the first open call of its name. `{ output }` and `{ result }` of an answer become its text or JSON,
 * `{ error }` a failed one, any other object JSON. Thoughts become reasoning; signatures stay with their parts. Parts that the
 * neutral form has none for (code that was executed, calls Gemini ran itself, kinds unknown here) are kept whole and noted
 * (`kept`). Nothing given is changed; values are shared with it.
 *
 * Throws `INVALID_INPUT`, with the place and the rule and without the text, for another role, a part that holds nothing or
 * several things, a call without a name, an answer with neither id nor name, bytes that are no base64, and what JSON cannot
 * say. With `lenient` such a part, or such a content as a user's message, is kept as an unread part.
 */
export function fromGemini(
  input: readonly object[] | { readonly contents: readonly object[]; readonly systemInstruction?: unknown },
  options?: ConversionOptions,
): Message[] {
  const conversion = new Conversion(GOOGLE, options)
  const list = Array.isArray(input)
  const { systemInstruction, contents } = list
    ? { systemInstruction: undefined, contents: input }
    : objectAt(input, 'input')
  const head = list ? '' : 'contents'
  const given = listAt(contents, list ? 'input' : 'contents')
  const reading: Reading = { conversion, calls: new Calls(given) }
  const leading = systemInstruction === undefined ? [] : [readInstruction(systemInstruction, reading)]
  let lastCalls: readonly string[] = []
  let followsAnswers = false
  const turns = given.map((content, i) => {
    conversion.at(i)
    const message = readContentAt(content, `${head}[${i}]`, reading)
    const calls = idsOf(message, 'tool-call')
    const answers = idsOf(message, 'tool-result')
    if (calls.length > 0) lastCalls = calls
    const isInOrder = orderOf(answers, lastCalls).every((from, to) => from === to)
    const isOdd = answers.length > 0 && (followsAnswers || !isInOrder)
    followsAnswers = answers.length > 0
    return isOdd && message.metadata === undefined ? { ...message, metadata: { [GOOGLE]: {} } } : message
  })
  return [...leading, ...turns]
}

function idsOf({ content }: Message, type: 'tool-call' | 'tool-result'): string[] {
  if (typeof content === 'string') return []
  return content.flatMap((part) => (part.type === type ? [part.toolCallId] : []))
}

const ROLES: ReadonlySet<unknown> = new Set([undefined, 'user', 'model', 'function'])

function readContentAt(given: unknown, path: string, reading: Reading): Message {
  const read = reading.conversion.reading(given, path, (): Message => {
    const { role, parts, ...extra } = jsonMessageAt(asPlainContent(given), path)
    if (!ROLES.has(role)) throw invalid(`${path}.role: must be user or model, or absent`)
    reading.calls.nextContent()
    const list = parts === undefined ? [] : listAt(parts, `${path}.parts`)
    const place = role === 'model' || (role === undefined && isModelsOwn(list)) ? 'model' : 'user'
    const read = list.map((part, i) => readPartAt(part, place, `${path}.parts[${i}]`, reading))
    const content = markFirstCall(read)
    const fields = {
      ...extra,
      ...(role === undefined ? { role: null } : role === 'function' ? { role } : {}),
      ...(parts === undefined && { parts: null }),
    }
    const answers = content.length > 0 && content.every(isResult)
    return asMessage(place === 'model' ? 'assistant' : answers ? 'tool' : 'user', content, fields)
  })
  return messageRead(read)
}

/** The API takes a content without a role for a user's, but answers now and then come without one. */
function isModelsOwn(parts: readonly unknown[]): boolean {
  const holds = (name: string): boolean => parts.some((part) => isObject(part) && isObject(part[name]))
  if (holds('functionResponse')) return false
  const thinks = parts.some((part) => isObject(part) && part.thought === true)
  return thinks || holds('functionCall') || holds('executableCode')
}

function readPartAt(given: unknown, place: GeminiPlace, path: string, reading: Reading): Part {
  return reading.conversion.reading(given, path, () => readPart(objectAt(given, path), place, path, reading))
}

/** Gemini 3 wants a signature with the first call of a content; one of an older model has none and needs none. */
function markFirstCall(parts: readonly Part[]): readonly Part[] {
  const first = parts.findIndex(({ type }) => type === 'tool-call')
  return parts.map((part, i) =>
    i === first && part.type === 'tool-call' && part.providerOptions === undefined
      ? { ...part, ...kept({}, true) }
      : part,
  )
}

/** A message of these parts. One plain text needs no list. */
function asMessage(role: Message['role'], parts: readonly Part[], fields: JsonObject): Message {
  const [first] = parts
  const isPlain = parts.length === 1 && first?.type === 'text' && first.providerOptions === undefined
  const content = isPlain ? first.text : parts
  const needsMark = parts.length === 0 || Object.keys(fields).length > 0
  return needsMark ? { role, content, metadata: { [GOOGLE]: fields } } : { role, content }
}

function readInstruction(given: unknown, reading: Reading): Message {
  const path = 'systemInstruction'
  const read = reading.conversion.reading(given, path, (): Message => {
    const { value } = jsonMessageAt({ value: given }, path)
    if (typeof value === 'string')
      return { role: 'system', content: value, ...(isBlank(value) && { metadata: { [GOOGLE]: {} } }) }
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
  const content = list.map((given, i): Part => {
    if (typeof given === 'string') return { type: 'text', text: given, ...kept({ form: 'text' }) }
    return readPartAt(given, 'system', `${path}[${i}]`, reading)
  })
  const needsMark = content.length === 0 || Object.keys(fields).length > 0
  return { role: 'system', content, ...(needsMark && { metadata: { [GOOGLE]: fields } }) }
}

/** The SDK has classes for what functions answer; their fields are what is sent. */
function asPlainContent(given: unknown): unknown {
  if (!isObject(given) || !Array.isArray(given.parts)) return given
  const parts = (given.parts as readonly Json[]).map((part) => {
    if (!isObject(part)) return part
    const { functionResponse: answer, toolResponse: ran } = part
    return {
      ...part,
      ...(isObject(answer) && { functionResponse: asPlainAnswer(answer) }),
      ...(isObject(ran) && { toolResponse: { ...ran } }),
    }
  })
  return { ...given, parts }
}

function asPlainAnswer(answer: JsonObject): JsonObject {
  if (!Array.isArray(answer.parts)) return { ...answer }
  const parts = (answer.parts as readonly Json[]).map((part) => {
    if (!isObject(part)) return part
    const { inlineData, fileData } = part
    return {
      ...part,
      ...(isObject(inlineData) && { inlineData: { ...inlineData } }),
      ...(isObject(fileData) && { fileData: { ...fileData } }),
    }
  })
  return { ...answer, parts }
}
