import { isDeepStrictEqual } from 'node:util'
import { invalid } from '../../core/errors.ts'
import { defined, isObject, type JsonObject } from '../../core/messages/json.ts'
import { outputText, type ToolResultContent, type ToolResultOutput } from '../../core/messages/message.ts'
import { base64At, type Conversion } from '../conversion.ts'
import { fields, object, optional, required, rule, type Shape, type Shapes, text } from '../shapes.ts'
import { listAt } from '../wire.ts'
import {
  AI_SDK,
  base64Of,
  dataFrom,
  dataTo,
  fileFrom,
  fileTo,
  jsonAt,
  keptOptions,
  keptPart,
  keptPartTo,
  keptWith,
  mediaData,
  nonEmpty,
  opaquePart,
  otherFields,
  ownOf,
  partAt,
  sdkJson,
  sdkOptions,
  sentMedia,
  sentOptions,
  withKeptFields,
} from './fields.ts'
import type { SdkOptions, SdkPart, SdkVersion } from './types.ts'

/** The text stored for a call that the user denied without a reason. */
const DENIED = 'Execution of the tool was denied.'

/** An output in the neutral form; `own` has the fields without a place in it. */
export type ReadOutput = { readonly output: ToolResultOutput; readonly own: JsonObject }
type Item = Exclude<ToolResultContent, { type: 'provider' }>

/** Converts the output of a tool to the neutral form. */
export function outputFrom(output: unknown, provider: string): ReadOutput {
  const given = output as (SdkPart & { readonly value?: unknown }) | null | undefined
  const options = given?.providerOptions
  const own: JsonObject = options === undefined ? {} : { output: sdkJson(options) }

  switch (given?.type) {
    case 'text':
    case 'error-text':
      return { output: { type: given.type, value: String(given.value ?? '') }, own }
    case 'json':
    case 'error-json':
      return { output: { type: given.type, value: sdkJson(given.value) }, own }
    case 'execution-denied': {
      const denied = deniedOutput(given.reason)
      return { output: denied.output, own: { ...own, ...denied.own } }
    }
    case 'content': {
      const items = Array.isArray(given.value) ? (given.value as readonly SdkPart[]) : []
      return { output: { type: 'content', value: items.map((item) => itemFrom(item, provider)) }, own }
    }
    default:
      return { output: { type: 'json', value: sdkJson(output) }, own }
  }
}

/** The output of a call that the user denied. */
export function deniedOutput(given: unknown): ReadOutput {
  const reason = typeof given === 'string' ? given : undefined
  return {
    output: { type: 'error-text', value: reason ?? DENIED },
    own: { denied: true, ...(reason !== undefined && { reason }) },
  }
}

/** The output of a provider's own tool, as it came with the response. */
export function providerResult(result: unknown, isError: boolean): ToolResultOutput {
  if (typeof result === 'string') return { type: isError ? 'error-text' : 'text', value: result }
  return { type: isError ? 'error-json' : 'json', value: sdkJson(result) }
}

/** Converts an item of an output to the neutral form. */
function itemFrom(item: SdkPart, provider: string): ToolResultContent {
  const { type, data, url, mediaType: given, filename, providerOptions } = item
  const mediaType = typeof given === 'string' ? given : undefined
  const kept = keptOptions(providerOptions)
  switch (type) {
    case 'text':
      return { type, text: String(item.text ?? ''), ...kept }
    case 'image-url':
      return { type: 'image', image: String(url), ...kept }
    case 'image-data':
    case 'media':
    case 'file':
    case 'file-data':
      if (type === 'image-data' || (type === 'media' && mediaType?.startsWith('image/') === true))
        return { type: 'image', image: String(data), ...defined({ mediaType }), ...kept }
      return fileFrom({ ...item, type: 'file' }, provider)
    case 'file-url':
      return {
        type: 'file',
        data: String(url),
        mediaType: mediaType ?? 'application/octet-stream',
        ...(typeof filename === 'string' && { filename }),
        ...keptOptions(providerOptions, mediaType === undefined ? { untyped: true } : {}),
      }
    default:
      return opaquePart(item, provider)
  }
}

/** Returns the output of a tool as it is sent, with items as `toItem` writes them. */
export function outputTo(
  output: ToolResultOutput,
  own: JsonObject,
  version: SdkVersion,
  toItem: (item: ToolResultContent, index: number) => readonly object[],
): object {
  const options =
    own.output === undefined || version === 'v2' ? {} : { providerOptions: own.output as SdkOptions }
  if (own.denied === true && version !== 'v2' && output.type === 'error-text') {
    const reason = typeof own.reason === 'string' ? own.reason : undefined
    if (output.value === (reason ?? DENIED))
      return { type: 'execution-denied', ...defined({ reason }), ...options }
  }
  if (output.type !== 'content') return { ...output, ...options }
  if (output.isError === true && output.value.every(({ type }) => type === 'text'))
    return { type: 'error-text', value: outputText(output), ...options }
  return { type: 'content', value: output.value.flatMap(toItem), ...options }
}

/** Converts an item of an output to what is sent; returns no item for one of another provider. */
export function itemTo(item: ToolResultContent, version: SdkVersion, provider: string): readonly object[] {
  if (item.type === 'text')
    return [{ type: 'text', text: item.text, ...(version !== 'v2' && sentOptions(item.providerOptions)) }]
  if (item.type === 'provider') {
    const part = item.provider === provider ? keptPartTo(item) : undefined
    return part === undefined ? [] : [part]
  }
  if (version === 'v4') return [fileTo(item, version)]
  const { data, mediaType } = sentMedia(item)
  const options = sentOptions(item.providerOptions)
  if (data instanceof URL) {
    const url = data.href
    if (version === 'v2') return [{ type: 'text', text: `[${item.type} ${url}]` }]
    if (item.type === 'image') return [{ type: 'image-url', url, ...options }]
    return [{ type: 'file-url', url, ...(ownOf(item).untyped !== true && { mediaType }), ...options }]
  }
  const base64 = typeof data === 'string' ? data : base64Of(data)
  if (version === 'v2') return [{ type: 'media', data: base64, mediaType }]
  const type = item.type === 'image' ? 'image-data' : 'file-data'
  return [{ type, data: base64, mediaType, ...filenameOf(item), ...options }]
}

function filenameOf(item: Item): { readonly filename?: string } {
  return item.type === 'file' ? defined({ filename: item.filename }) : {}
}

/*
 * Outputs in an application's messages. The AI SDK has six types of items with an image or a file; `as` among the kept fields records the
 * type of an item if another one would be written.
 */

/** Kinds of outputs, and their fields. */
const OUTPUTS: { readonly [type: string]: Shapes } = {
  text: { value: text },
  json: { value: required },
  'execution-denied': { reason: optional(text) },
  'error-text': { value: text },
  'error-json': { value: required },
  content: {},
}

const fileId = rule((value) => typeof value === 'string' || isObject(value), 'must be a string or an object')
const tagged: Shape = (value, place) => {
  if (!isObject(value) || typeof value.type !== 'string')
    throw invalid(`${place}: must be an object with a type`)
  return mediaData(value, place)
}

/** Types of items, and their fields. The last five are kept whole: they refer to a file elsewhere, or only a provider knows them. */
const ITEMS: { readonly [type: string]: Shapes } = {
  text: { text: text },
  media: { data: base64At, mediaType: text },
  'image-data': { data: base64At, mediaType: text },
  'file-data': { data: base64At, mediaType: text, filename: optional(text) },
  'image-url': { url: text },
  'file-url': { url: text, mediaType: optional(text) },
  file: { data: tagged, mediaType: text, filename: optional(text) },
  'file-id': { fileId },
  'image-file-id': { fileId },
  'file-reference': { providerReference: object },
  'image-file-reference': { providerReference: object },
  custom: {},
}

/** Checks and reads an output. Throws `INVALID_INPUT`. */
export function outputAt(value: unknown, place: string, conversion: Conversion): ReadOutput {
  const given = partAt(value, place, Object.keys(OUTPUTS))
  fields({ providerOptions: sdkOptions, ...OUTPUTS[given.type] })(given, place)
  const others = otherFields(given, ['type', 'value', 'reason', 'providerOptions'], place, conversion)
  const more = nonEmpty({ outputFields: others })
  if (given.type === 'content') {
    const items = listAt(given.value, `${place}.value`).map((item, index) => {
      const at = `${place}.value[${index}]`
      return conversion.reading(item, at, () => itemAt(item, at, conversion))
    })
    const { own } = outputFrom({ ...given, value: [] }, AI_SDK)
    return { output: { type: 'content', value: items }, own: { ...own, ...more } }
  }
  const isJson = given.type.endsWith('json')
  const read = isJson ? { ...given, value: jsonAt(given.value, `${place}.value`, conversion) } : given
  const { output, own } = outputFrom(read, AI_SDK)
  return { output, own: { ...own, ...more } }
}

function itemAt(value: unknown, place: string, conversion: Conversion): ToolResultContent {
  const item = partAt(value, place, Object.keys(ITEMS))
  const rules = ITEMS[item.type]!
  fields({ providerOptions: sdkOptions, ...rules })(item, place)
  const { type, data } = item
  const read = itemFrom(item, AI_SDK)
  if (read.type === 'provider') return keptPart(item, place, conversion)
  const own = type === 'file' ? dataFrom(data)!.own : ownOf(read)
  const plain = { ...read, ...keptWith(item, rules, own, place, conversion) }
  if (isDeepStrictEqual(withKept(itemTo(plain, 'v3', AI_SDK), plain), [item])) return plain
  return { ...read, ...keptOptions(plain.providerOptions, { as: type, ...ownOf(plain) }) }
}

/** Converts an output to what an application passes to the AI SDK. Notes items that are left out or replaced. */
export function modelOutputTo(
  output: ToolResultOutput,
  own: JsonObject,
  version: SdkVersion,
  place: string,
  conversion: Conversion,
): object {
  if (own.denied === true && version === 'v2')
    conversion.note('changed', place, 'ai 5 has no denied calls, so a failed result is sent instead')
  if (output.type === 'content' && output.isError === true)
    conversion.note('changed', place, "an output of parts can't mark the call as failed")
  const toItem = (item: ToolResultContent, index: number): readonly object[] => {
    const written = modelItemTo(item, version)
    const at = `${place}.value[${index}]`
    if (written.length === 0) conversion.note('not-sent', at, 'only its provider can read it')
    else if (item.type !== 'text' && (written[0] as SdkPart).type === 'text')
      conversion.note('changed', at, 'ai 5 has no URLs in results, so a text with the URL is sent')
    return written
  }
  const { outputFields } = own
  return { ...outputTo(output, own, version, toItem), ...(isObject(outputFields) && outputFields) }
}

function modelItemTo(item: ToolResultContent, version: SdkVersion): readonly object[] {
  if (item.type === 'provider') {
    const kept = keptPartTo(item)
    return kept === undefined || version === 'v2' ? [] : [kept]
  }
  const { as } = ownOf(item)
  const exact = typeof as === 'string' ? itemAs(item, as, version) : undefined
  // ai 6 and 7 both read items of v3.
  return withKept(exact === undefined ? itemTo(item, version === 'v2' ? 'v2' : 'v3', AI_SDK) : [exact], item)
}

/** An image or a file with the type it was read from; `undefined` if the version does not have that type. */
function itemAs(item: Item, as: string, version: SdkVersion): object | undefined {
  if (item.type === 'text') return undefined
  const isKnown = as === 'file' ? version === 'v4' : version !== (as === 'media' ? 'v4' : 'v2')
  const data = item.type === 'image' ? item.image : item.data
  if (!isKnown || (as !== 'file' && typeof data !== 'string')) return undefined
  const own = ownOf(item)
  return {
    type: as,
    [as.endsWith('-url') ? 'url' : 'data']: as === 'file' ? dataTo(data, own, version) : data,
    ...(own.untyped !== true && defined({ mediaType: item.mediaType })),
    ...filenameOf(item),
    ...sentOptions(item.providerOptions),
  }
}

function withKept(written: readonly object[], item: Item): object[] {
  return written.map((one) => withKeptFields(one, ownOf(item)))
}
