import { isDeepStrictEqual } from 'node:util'
import { invalid } from '../../errors.ts'
import { type Json, type JsonObject, stringifyJson } from '../../messages/json.ts'
import {
  type FilePart,
  type ImagePart,
  isFailed,
  outputText,
  type TextPart,
  type ToolResultContent,
  type ToolResultOutput,
} from '../../messages/message.ts'
import { base64At } from '../conversion.ts'
import { isObject, mediaOf, objectAt, parsedArguments, stringAt } from '../wire.ts'
import { field, type GeminiResponsePart, kept, ownOf, partOptions, under } from './gemini-types.ts'

/** The media type of a file of an unknown type. */
const UNKNOWN_TYPE = 'application/octet-stream'

/**
 * Reads a part that holds bytes or an address, of a content or of a function response. `undefined` where the
 * neutral form cannot express the same: such a part is kept whole. Throws `INVALID_INPUT` for bytes that are
 * not base64, and for a part without its media type or address.
 */
export function fromMedia(part: JsonObject, path: string): ImagePart | FilePart | undefined {
  const read = part.inlineData === undefined ? fromFileData(part, path) : fromInlineData(part, path)
  return isDeepStrictEqual(mediaPart(read), part) ? read : undefined
}

function fromInlineData({ inlineData, ...rest }: JsonObject, path: string): ImagePart | FilePart {
  const at = `${path}.inlineData`
  const { data, mimeType, displayName, ...own } = objectAt(inlineData, at)
  const bytes = base64At(data, `${at}.data`)
  const mediaType = stringAt(mimeType, `${at}.mimeType`)
  if (mediaType.startsWith('image/')) {
    const fields = { ...rest, ...under('inlineData', { ...own, ...field('displayName', displayName) }) }
    return { type: 'image', image: bytes, mediaType, ...kept(fields) }
  }
  const { named, more } = nameIn(displayName)
  return {
    type: 'file',
    data: bytes,
    mediaType,
    ...named,
    ...kept({ ...rest, ...under('inlineData', { ...own, ...more }) }),
  }
}

function fromFileData({ fileData, ...rest }: JsonObject, path: string): ImagePart | FilePart {
  const at = `${path}.fileData`
  const { fileUri, mimeType, displayName, ...own } = objectAt(fileData, at)
  const uri = stringAt(fileUri, `${at}.fileUri`)
  const mediaType = mimeType === undefined ? undefined : stringAt(mimeType, `${at}.mimeType`)
  if (mediaType?.startsWith('image/')) {
    const fields = { ...rest, ...under('fileData', { ...own, ...field('displayName', displayName) }) }
    return { type: 'image', image: uri, mediaType, ...kept(fields) }
  }
  const { named, more } = nameIn(displayName)
  const fields = under('fileData', { ...own, ...more, ...(mediaType === undefined && { mimeType: null }) })
  return {
    type: 'file',
    data: uri,
    mediaType: mediaType ?? UNKNOWN_TYPE,
    ...named,
    ...kept({ ...rest, ...fields }),
  }
}

function nameIn(displayName: JsonObject[string]): { named: { filename?: string }; more: JsonObject } {
  if (typeof displayName === 'string') return { named: { filename: displayName }, more: {} }
  return { named: {}, more: field('displayName', displayName) }
}

/** An image or a file as a part: bytes inline, an address as file data. */
export function mediaPart(part: ImagePart | FilePart): GeminiResponsePart {
  const media = mediaOf(part.type === 'image' ? part.image : part.data, part.mediaType)
  const fields = partOptions(part.providerOptions)?.fields ?? {}
  const name = part.type === 'file' && part.filename !== undefined ? { displayName: part.filename } : {}
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

/** The shape of a response where it differs from the one that its output gets by default. Null: there was none. */
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
  const fields = { ...(shape !== undefined && { response: shape }), ...(isJson && { json: true }) }
  return { item: { type: 'text', text, ...kept(fields) }, isError: isFailed(output) }
}

/** The response from the texts of such a result. */
export function responseOfItems(
  items: readonly ToolResultContent[],
  isError: boolean,
  wasAbsent: boolean,
): JsonObject | undefined {
  const [first, ...others] = items.filter((item) => item.type === 'text')
  if (first === undefined && !isError) return wasAbsent ? undefined : {}
  const marks = others.length === 0 ? partOptions(first?.providerOptions)?.fields : undefined
  const text = outputText({ type: 'content', value: items })
  const value = marks?.json === true ? parsedArguments(text) : text
  const type = typeof value === 'string' ? 'text' : 'json'
  return toResponse({ type: isError ? `error-${type}` : type, value } as PlainOutput, marks?.response)
}
