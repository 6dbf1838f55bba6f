import { isDeepStrictEqual } from 'node:util'
import { invalid } from '../../core/errors.ts'
import {
  defined,
  isObject,
  type Json,
  type JsonObject,
  listIn,
  stringifyJson,
} from '../../core/messages/json.ts'
import {
  type FilePart,
  type ImagePart,
  isFailed,
  outputText,
  type ProviderOptions,
  type TextPart,
  type ToolResultContent,
  type ToolResultOutput,
} from '../../core/messages/message.ts'
import { base64At } from '../conversion.ts'
import { given, keptFor, keptUnder, mediaOf, objectAt, parsedArguments, stringAt } from '../wire.ts'

/*
 * Contents of the Gemini API, in and out. One content becomes one message, and a content that was read is written again as it was. Sources:
 * `Content`, `Part` and the types they name, of `@google/genai`.
 *
 * Everything without a place in the neutral form is kept under the name `google`, which the AI SDK uses too: fields of a content in
 * `metadata`, fields of a part in `providerOptions`, whole parts as provider parts. Reserved there:
 *
 * - an empty object marks a part, a message or the first call of a message as Gemini's own, to be sent unchanged;
 * - fields of the content of a part are kept under its name: `functionCall`, `functionResponse`, `inlineData`, `fileData`; null there marks
 *   an absent field that every other part has (`id`, `name`, `args`, `response`, `mimeType`);
 * - `response` of a result is the shape in which its output was given;
 * - in `metadata`, `role` and `parts` of null were absent; `form` is the form of a system instruction.
 */

/** The name under which this format keeps its fields. */
export const GOOGLE = 'google'

type Field = Json | undefined

/** Bytes, base64. */
export type GeminiBlob = { data: string; mimeType: string; [field: string]: Field }

/** The address of a file. */
export type GeminiFileData = { fileUri: string; mimeType?: string; [field: string]: Field }

/** A call of a function, made by the model. */
export type GeminiFunctionCall = { id?: string; name?: string; args?: JsonObject; [field: string]: Field }

/** An image or a file within the response of a function. */
export type GeminiResponsePart = {
  inlineData?: GeminiBlob
  fileData?: GeminiFileData
  [field: string]: Field
}

/** The response of a function. */
export type GeminiFunctionResponse = {
  id?: string
  name?: string
  response?: JsonObject
  parts?: GeminiResponsePart[]
  [field: string]: Field
}

/** A part of a content: one of these fields, with fields that describe it. */
export type GeminiPart = {
  text?: string
  thought?: boolean
  thoughtSignature?: string
  inlineData?: GeminiBlob
  fileData?: GeminiFileData
  functionCall?: GeminiFunctionCall
  functionResponse?: GeminiFunctionResponse
  [field: string]: Field
}

/** A content of a user (`user`, or no role) or of the model (`model`). */
export type GeminiContent = { role?: string; parts?: GeminiPart[]; [field: string]: Field }

/** The system instruction, in one of the forms that the SDK accepts. */
export type GeminiInstruction = string | GeminiPart | GeminiContent | (string | GeminiPart)[]

/** The part of a request that is conversation. The SDK takes `systemInstruction` within `config`. */
export type GeminiConversation = { systemInstruction?: GeminiInstruction; contents: GeminiContent[] }

/** The side of a part. */
export type GeminiPlace = 'system' | 'user' | 'model'

/** Names under which the AI SDK keeps fields of Gemini: the same model, reached in several ways. */
const NAMES = [GOOGLE, 'googleVertex', 'vertex'] as const

/** The fields kept with a part under this format's names. */
type PartOptions = {
  /** Fields of the part. */
  readonly fields: JsonObject
  /** A call that Gemini ran itself, as the AI SDK keeps it. */
  readonly serverTool: { readonly id: string; readonly toolType: string } | undefined
}

/** Reads the fields kept with a part; `undefined` if the part was never Gemini's. */
export function partOptions(kept: ProviderOptions | undefined): PartOptions | undefined {
  const given = NAMES.map((name) => keptFor(name, kept)).find((fields) => fields !== undefined)
  if (given === undefined) return undefined
  const { serverToolCallId: id, serverToolType: toolType, ...fields } = given
  const isServerTool = typeof id === 'string' && typeof toolType === 'string'
  return { fields, serverTool: isServerTool ? { id, toolType } : undefined }
}

/** The kept fields of the content of a part, and the fields beside it. */
export function ownOf(fields: JsonObject, name: string): { own: JsonObject; rest: JsonObject } {
  const { [name]: own, ...rest } = fields
  return { own: isObject(own) ? own : {}, rest }
}

export const kept = (fields: JsonObject, mark = false) => keptUnder(GOOGLE, fields, mark)

/** The media type of a file of an unknown type. */
const UNKNOWN_TYPE = 'application/octet-stream'

/** The fields of a part that hold bytes or an address, and the field of each that holds the value. */
const INLINE_DATA = ['inlineData', 'data'] as const
const FILE_DATA = ['fileData', 'fileUri'] as const

/**
 * Reads a part that holds bytes or an address, of a content or of a function response. `undefined` where the
 * neutral form cannot express the same: such a part is kept whole. Throws `INVALID_INPUT` for bytes that are
 * not base64, and for a part without its media type or address.
 */
export function fromMedia(part: JsonObject, path: string): ImagePart | FilePart | undefined {
  const [name, source] = part.inlineData === undefined ? FILE_DATA : INLINE_DATA
  const { [name]: held, ...rest } = part
  const at = `${path}.${name}`
  const { [source]: value, mimeType, displayName, ...own } = objectAt(held, at)
  const data = source === 'data' ? base64At(value, `${at}.data`) : stringAt(value, `${at}.fileUri`)
  // Bytes need a media type.
  const isTyped = source === 'data' || mimeType !== undefined
  const mediaType = isTyped ? stringAt(mimeType, `${at}.mimeType`) : undefined
  const isImage = mediaType?.startsWith('image/') === true
  const filename = isImage || typeof displayName !== 'string' ? undefined : displayName
  const fields = {
    ...own,
    ...(filename === undefined && defined({ displayName })),
    ...(!isTyped && { mimeType: null }),
  }
  const options = kept({ ...rest, ...given(name, fields) })
  const read: ImagePart | FilePart = isImage
    ? { type: 'image', image: data, mediaType, ...options }
    : { type: 'file', data, mediaType: mediaType ?? UNKNOWN_TYPE, ...defined({ filename }), ...options }
  return isDeepStrictEqual(mediaPart(read), part) ? read : undefined
}

/** An image or a file as a part: bytes inline, an address as file data. */
export function mediaPart(part: ImagePart | FilePart): GeminiResponsePart {
  const media = mediaOf(part.type === 'image' ? part.image : part.data, part.mediaType)
  const fields = partOptions(part.providerOptions)?.fields ?? {}
  const name = defined({ displayName: part.type === 'file' ? part.filename : undefined })
  if ('url' in media) {
    const { own, rest } = ownOf(fields, 'fileData')
    const { mimeType: mark, ...more } = own
    const mediaType = part.mediaType?.endsWith('/*') ? undefined : part.mediaType
    const type = mark === null || mediaType === undefined ? {} : { mimeType: mediaType }
    return { fileData: { fileUri: media.url, ...type, ...name, ...more }, ...rest }
  }
  const { own, rest } = ownOf(fields, 'inlineData')
  const mimeType = media.mediaType ?? (part.type === 'image' ? 'image/png' : UNKNOWN_TYPE)
  return { inlineData: { data: media.base64, mimeType, ...name, ...own }, ...rest }
}

/*
 * Responses of functions. Gemini requires an object: its key `output` holds the output, its key `error` a
 * failure, and an object with neither is the output itself. Source: `FunctionResponse.response` of
 * `@google/genai`. Many applications write `{ result: … }`, which is written again as it was.
 */

/** The shape of a response if it differs from the default shape of its output. Null: there was no response. */
type Shape = 'output' | 'result' | 'whole' | null

/** An output of text or JSON. */
type PlainOutput = Exclude<ToolResultOutput, { readonly type: 'content' }>

/** Reads a response, and the shape that `toResponse` needs to write it again. */
export function fromResponse(given: Json | undefined, path: string): { output: PlainOutput; shape?: Shape } {
  if (given === undefined) return { output: { type: 'text', value: '' }, shape: null }
  if (!isObject(given)) throw invalid(`${path}: must be an object`)
  const { output, shape } = readObject(given)
  return isDeepStrictEqual(toResponse(output, undefined), given) ? { output } : { output, shape }
}

function readObject(given: JsonObject): { output: PlainOutput; shape: Shape } {
  const [key, ...others] = Object.keys(given)
  const isOne = others.length === 0
  const { error, output, result } = given
  if (isOne && key === 'output' && output !== undefined)
    return { output: valueOutput(output), shape: 'output' }
  if (isOne && key === 'result' && result !== undefined)
    return { output: valueOutput(result), shape: 'result' }
  if (error === undefined || error === null || Object.hasOwn(given, 'output'))
    return { output: { type: 'json', value: given }, shape: 'whole' }
  if (!isOne) return { output: { type: 'error-json', value: given }, shape: 'whole' }
  const failed: PlainOutput =
    typeof error === 'string' ? { type: 'error-text', value: error } : { type: 'error-json', value: error }
  return { output: failed, shape: null }
}

function valueOutput(value: Json): PlainOutput {
  return typeof value === 'string' ? { type: 'text', value } : { type: 'json', value }
}

/** The response of a function; `undefined` if it had none and its output is still empty. */
export function toResponse(output: PlainOutput, shape: Json | undefined): JsonObject | undefined {
  const { value } = output
  if (shape === null && value === '') return undefined
  if (shape === 'whole' && isObject(value)) return value
  if (isFailed(output)) return { error: value }
  if (shape === 'result' || shape === 'output') return { [shape]: value }
  const isPlain = isObject(value) && !Object.hasOwn(value, 'output') && !Object.hasOwn(value, 'error')
  return isPlain ? value : { output: value }
}

/** The response as a text within a result that also holds images or files. */
export function responseItem(given: Json, path: string): { item: TextPart; isError: boolean } {
  const { output, shape } = fromResponse(given, path)
  const isJson = output.type === 'json' || output.type === 'error-json'
  const text = isJson ? stringifyJson(output.value) : output.value
  const fields = defined({ response: shape, json: isJson || undefined })
  return { item: { type: 'text', text, ...kept(fields) }, isError: isFailed(output) }
}

/** The response from the texts of such a result. */
export function responseOfItems(
  items: readonly ToolResultContent[],
  isError: boolean,
  isAbsent: boolean,
): JsonObject | undefined {
  const [first, ...others] = items.filter((item) => item.type === 'text')
  if (first === undefined && !isError) return isAbsent ? undefined : {}
  const marks = others.length === 0 ? partOptions(first?.providerOptions)?.fields : undefined
  const text = outputText({ type: 'content', value: items })
  const value = marks?.json === true ? parsedArguments(text) : text
  const type = typeof value === 'string' ? 'text' : 'json'
  return toResponse({ type: isError ? `error-${type}` : type, value } as PlainOutput, marks?.response)
}

/*
 * Call ids. They are optional in Gemini, and required in the neutral form. A call without an id gets one made of its function name, the
 * same whenever the same contents are read, even in several batches.
 */

type OpenCall = { readonly id: string; isOpen: boolean }
/** Calls of one function in one content, in order; those before `next` are closed. */
type OpenCalls = { readonly turn: number; readonly calls: OpenCall[]; next: number }

/** The calls of a list of contents. */
export class Calls {
  readonly #given: ReadonlySet<string>
  readonly #names = new Map<string, string>()
  readonly #counts = new Map<string, number>()
  /** By id, newest last. */
  readonly #byId = new Map<string, OpenCall[]>()
  /** By the name of the function, newest content last. */
  readonly #byName = new Map<string, OpenCalls[]>()
  #turn = 0

  /** `contents` are only searched for ids, so that a made id equals none of them. */
  constructor(contents: readonly unknown[]) {
    this.#given = givenIds(contents)
  }

  nextContent(): void {
    this.#turn += 1
  }

  /** The id of a call in the neutral form. */
  call(name: string, id: string | undefined): string {
    const own = id === undefined || id === '' ? this.#generateId(name, 'call') : id
    this.#names.set(own, name)
    this.#open(own, name)
    return own
  }

  #open(id: string, name: string): void {
    const call = { id, isOpen: true }
    listIn(this.#byId, id).push(call)
    const contents = listIn(this.#byName, name)
    const last = contents.at(-1)
    if (last?.turn === this.#turn) last.calls.push(call)
    else contents.push({ turn: this.#turn, calls: [call], next: 0 })
  }

  /**
   * The call that a response belongs to: by its id, else by name and order, in the newest content with such a
   * call. A response that continues (`willContinue`) leaves its call open.
   */
  answer(
    name: string | undefined,
    id: string | undefined,
    isContinued: boolean,
  ): { id: string; name: string | undefined } {
    const known = id !== undefined && this.#names.has(id) ? id : undefined
    const found = known ?? this.#openCall(name)?.id
    if (found === undefined) {
      const own = id === undefined || id === '' ? this.#generateId(name ?? '', 'answer') : id
      return { id: own, name }
    }
    if (!isContinued) this.#close(found)
    return { id: found, name: this.#names.get(found) }
  }

  /** Closes the newest open call of an id. */
  #close(id: string): void {
    const calls = this.#byId.get(id) ?? []
    for (let call = calls.pop(); call !== undefined; call = calls.pop()) {
      if (!call.isOpen) continue
      call.isOpen = false
      return
    }
  }

  /** The first open call of a function in the newest content that has one. */
  #openCall(name: string | undefined): OpenCall | undefined {
    const contents = (name === undefined ? undefined : this.#byName.get(name)) ?? []
    for (let last = contents.at(-1); last !== undefined; last = contents.at(-1)) {
      while (last.calls[last.next]?.isOpen === false) last.next += 1
      const call = last.calls[last.next]
      if (call !== undefined) return call
      contents.pop()
    }
    return undefined
  }

  #generateId(name: string, kind: 'call' | 'answer'): string {
    const base = `gemini_call_${name.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, 40)}`
    for (;;) {
      const count = (this.#counts.get(`${kind} ${base}`) ?? 0) + 1
      this.#counts.set(`${kind} ${base}`, count)
      const id = count === 1 ? base : `${base}_${count}`
      // The id made for a response without a call must not match the id of a call.
      if (!this.#given.has(id) && !this.#names.has(id)) return id
    }
  }
}

function givenIds(contents: readonly unknown[]): Set<string> {
  const ids = new Set<string>()
  for (const content of contents) {
    const parts =
      isObject(content) && Array.isArray(content.parts) ? (content.parts as readonly unknown[]) : []
    for (const part of parts) {
      const held = isObject(part) ? [part.functionCall, part.functionResponse] : []
      for (const value of held) if (isObject(value) && typeof value.id === 'string') ids.add(value.id)
    }
  }
  return ids
}

/** Returns indexes into `answers`, in the order of their calls. Responses without a call in the list come last, in their order. */
export function orderOf(answers: readonly string[], calls: readonly string[]): number[] {
  const places = new Map<string, number>()
  for (const [place, id] of calls.entries()) if (!places.has(id)) places.set(id, place)
  const placeOf = (index: number): number => places.get(answers[index] ?? '') ?? calls.length
  return answers.map((_, index) => index).sort((a, b) => placeOf(a) - placeOf(b))
}
