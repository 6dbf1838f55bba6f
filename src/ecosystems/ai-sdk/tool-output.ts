import { isDeepStrictEqual } from 'node:util'
import { invalid } from '../../errors.ts'
import { isObject, type Json, type JsonObject } from '../../messages/json.ts'
import { outputText, type ToolResultContent, type ToolResultOutput } from '../../messages/message.ts'
import { base64At, type Conversion } from '../conversion.ts'
import { listAt, stringAt } from '../wire.ts'
import {
  AI_SDK,
  jsonAt,
  jsonOf,
  keptOptions,
  keptWith,
  oneOfAt,
  optionalStringAt,
  optionsAt,
  otherFields,
  ownOf,
  partAt,
  sentOptions,
  withKeptFields,
} from './fields.ts'
import {
  asBase64,
  fileFrom,
  fileTo,
  heldTo,
  isText,
  keptPart,
  keptPartTo,
  opaquePart,
  sdkPartIn,
  sentMedia,
  toolFileAt,
} from './media.ts'
import type { SdkOptions, SdkPart, SdkVersion } from './types.ts'

/*
 * What tools answered, in an application's own messages. `as` among what is kept with a piece of content says which kind of piece it was,
 * where that is not what would be written anyway: the AI SDK has six ways of saying what is a picture or a file here.
 */

const OUTPUT_KINDS = ['text', 'json', 'execution-denied', 'error-text', 'error-json', 'content']

/** An output, checked; `own` is what the neutral form has no place for. Throws `INVALID_INPUT`. */
export function outputAt(
  value: unknown,
  place: string,
  conversion: Conversion,
): { readonly output: ToolResultOutput; readonly own: JsonObject } {
  const given = partAt(value, place)
  oneOfAt(given.type, OUTPUT_KINDS, `${place}.type`)
  optionsAt(given.providerOptions, `${place}.providerOptions`)
  const fields = otherFields(given, ['type', 'value', 'reason', 'providerOptions'], place, conversion)
  const more: JsonObject = Object.keys(fields).length === 0 ? {} : { outputFields: fields }
  switch (given.type) {
    case 'text':
    case 'error-text':
      stringAt(given.value, `${place}.value`)
      break
    case 'json':
    case 'error-json': {
      if (given.value === undefined) throw invalid(`${place}.value: must be a JSON value`)
      const json = { ...given, value: jsonAt(given.value, `${place}.value`, conversion) }
      const { output, own } = outputFrom(json, AI_SDK)
      return { output, own: { ...own, ...more } }
    }
    case 'execution-denied':
      optionalStringAt(given.reason, `${place}.reason`)
      break
    default: {
      const value = listAt(given.value, `${place}.value`).map((item, index) => {
        const at = `${place}.value[${index}]`
        return conversion.reading(item, at, () => itemAt(item, at, conversion))
      })
      const { own } = outputFrom({ ...given, value: [] }, AI_SDK)
      return { output: { type: 'content', value }, own: { ...own, ...more } }
    }
  }
  const { output, own } = outputFrom(given, AI_SDK)
  return { output, own: { ...own, ...more } }
}

/** Fields of each kind of piece that is text, a picture or a file, and which of them must be a text, base64 or an address. */
const ITEMS: { readonly [type: string]: readonly (readonly [field: string, rule: Rule])[] } = {
  text: [['text', 'text']],
  media: [
    ['data', 'base64'],
    ['mediaType', 'text'],
  ],
  'image-data': [
    ['data', 'base64'],
    ['mediaType', 'text'],
  ],
  'file-data': [
    ['data', 'base64'],
    ['mediaType', 'text'],
    ['filename', 'optional'],
  ],
  'image-url': [['url', 'text']],
  'file-url': [
    ['url', 'text'],
    ['mediaType', 'optional'],
  ],
}
type Rule = 'text' | 'base64' | 'optional'

/** Kinds that only say where a file is held, or what a provider alone knows. */
const KEPT_ITEMS = ['file-id', 'image-file-id', 'file-reference', 'image-file-reference', 'custom']

function itemAt(value: unknown, place: string, conversion: Conversion): ToolResultContent {
  const item = partAt(value, place)
  optionsAt(item.providerOptions, `${place}.providerOptions`)
  if (item.type === 'file') return toolFile(item, place, conversion)
  if (KEPT_ITEMS.includes(item.type)) return keptItem(item, place, conversion)
  const rules = Object.hasOwn(ITEMS, item.type) ? ITEMS[item.type] : undefined
  if (rules === undefined)
    throw invalid(
      `${place}.type: must be one of ${[...Object.keys(ITEMS), 'file', ...KEPT_ITEMS].join(', ')}`,
    )
  for (const [field, rule] of rules) {
    const at = `${place}.${field}`
    if (rule === 'text') stringAt(item[field], at)
    else if (rule === 'base64') base64At(item[field], at)
    else optionalStringAt(item[field], at)
  }
  const known = rules.map(([field]) => field)
  const fields = otherFields(item, ['type', 'providerOptions', ...known], place, conversion)
  const read = itemFrom(item, AI_SDK)
  if (read.type === 'provider') return read
  const own = ownOf(read)
  const plain = { ...read, ...keptWith(item.providerOptions, own, fields) }
  if (isDeepStrictEqual(withKept(itemTo(plain, 'v3', AI_SDK), plain), [item])) return plain
  return { ...read, ...keptWith(item.providerOptions, { ...own, as: item.type }, fields) }
}

function keptItem(item: SdkPart, place: string, conversion: Conversion): ToolResultContent {
  if (item.type.endsWith('-id')) {
    if (typeof item.fileId !== 'string' && !isObject(item.fileId))
      throw invalid(`${place}.fileId: must be a string or an object`)
  } else if (item.type !== 'custom' && !isObject(item.providerReference))
    throw invalid(`${place}.providerReference: must be an object`)
  return keptPart(item, place, conversion)
}

function toolFile(item: SdkPart, place: string, conversion: Conversion): ToolResultContent {
  const mediaType = stringAt(item.mediaType, `${place}.mediaType`)
  const filename = optionalStringAt(item.filename, `${place}.filename`)
  const held = toolFileAt(item.data, `${place}.data`)
  if (held === undefined) return keptPart(item, place, conversion)
  const fields = otherFields(
    item,
    ['type', 'data', 'mediaType', 'filename', 'providerOptions'],
    place,
    conversion,
  )
  return {
    type: 'file',
    data: held.data,
    mediaType,
    ...(filename !== undefined && { filename }),
    ...keptWith(item.providerOptions, { ...held.own, as: 'file' }, fields),
  }
}

/** An output as the AI SDK writes it. Notes what is left out and what is shown as something else. */
export function modelOutputTo(
  output: ToolResultOutput,
  own: JsonObject,
  version: SdkVersion,
  place: string,
  conversion: Conversion,
): object {
  const fields = isObject(own.outputFields) ? own.outputFields : {}
  if (own.denied === true && version === 'v2')
    conversion.note('changed', place, 'ai 5 has no calls that were not allowed: a failed result says so')
  if (output.type !== 'content') return { ...outputTo(output, own, version, AI_SDK), ...fields }
  if (output.isError === true) conversion.note('changed', place, 'content has no sign that the call failed')
  if (output.isError === true && output.value.every(({ type }) => type === 'text'))
    return outputTo(output, own, version, AI_SDK)
  const value = output.value.flatMap((item, index) => {
    const written = modelItemTo(item, version)
    const at = `${place}.value[${index}]`
    if (written.length === 0) conversion.note('not-sent', at, 'only its provider knows it')
    else if (item.type !== 'text' && (written[0] as SdkPart).type === 'text')
      conversion.note('changed', at, 'ai 5 has no addresses in results: a text names it')
    return written
  })
  return { ...outputTo({ type: 'content', value: [] }, own, version, AI_SDK), value, ...fields }
}

function modelItemTo(item: ToolResultContent, version: SdkVersion): readonly object[] {
  if (item.type === 'provider') {
    const kept = keptPartTo(item)
    return kept === undefined || version === 'v2' ? [] : [kept]
  }
  const { as } = ownOf(item)
  const exact = typeof as === 'string' ? itemAs(item, as, version) : undefined
  // What ai 6 and 7 both read, unless it was written in another way.
  return withKept(exact ?? itemTo(item, version === 'v2' ? 'v2' : 'v3', AI_SDK), item)
}

function itemAs(
  item: Exclude<ToolResultContent, { type: 'provider' }>,
  as: string,
  version: SdkVersion,
): readonly object[] | undefined {
  if (item.type === 'text') return undefined
  const data = item.type === 'image' ? item.image : item.data
  const options = sentOptions(item.providerOptions)
  const named = item.type === 'file' && item.filename !== undefined ? { filename: item.filename } : {}
  const typed = item.mediaType === undefined ? {} : { mediaType: item.mediaType }
  if (as === 'file') {
    if (version !== 'v4') return undefined
    return [{ type: 'file', data: heldTo(data, ownOf(item), version), ...typed, ...named, ...options }]
  }
  if (typeof data !== 'string' || (version === 'v2' && as !== 'media')) return undefined
  if (as === 'media') return version === 'v4' ? undefined : [{ type: as, data, ...typed, ...options }]
  if (as === 'image-url') return [{ type: as, url: data, ...options }]
  if (as === 'file-url')
    return [{ type: as, url: data, ...(ownOf(item).untyped !== true && typed), ...named, ...options }]
  return [{ type: as, data, ...typed, ...named, ...options }]
}

function withKept(
  written: readonly object[],
  item: Exclude<ToolResultContent, { type: 'provider' }>,
): object[] {
  return written.map((one) => withKeptFields(one, ownOf(item)))
}

/** What stands in the log for a call the user did not allow, when no reason was given. */
export const DENIED = 'Execution of the tool was denied.'

/** The result of a tool as it is kept; `own` is what the neutral form has no place for. */
export function outputFrom(
  output: unknown,
  provider: string,
): { readonly output: ToolResultOutput; readonly own: JsonObject } {
  const given = output as (SdkPart & { readonly value?: unknown }) | null | undefined
  const options = given?.providerOptions
  const own: JsonObject = options === undefined ? {} : { output: jsonOf(options) }
  switch (given?.type) {
    case 'text':
    case 'error-text':
      return { output: { type: given.type, value: String(given.value ?? '') }, own }
    case 'json':
    case 'error-json':
      return { output: { type: given.type, value: jsonOf(given.value) }, own }
    case 'execution-denied': {
      const reason = typeof given.reason === 'string' ? given.reason : undefined
      const denied = { denied: true, ...(reason !== undefined && { reason }) }
      return { output: { type: 'error-text', value: reason ?? DENIED }, own: { ...own, ...denied } }
    }
    case 'content': {
      const items = Array.isArray(given.value) ? (given.value as readonly SdkPart[]) : []
      return { output: { type: 'content', value: items.map((item) => itemFrom(item, provider)) }, own }
    }
    default:
      return { output: { type: 'json', value: jsonOf(output) }, own }
  }
}

/** One piece of a result as it is kept. */
export function itemFrom(item: SdkPart, provider: string): ToolResultContent {
  const { mediaType, filename, providerOptions } = item
  const kept = keptOptions(providerOptions)
  const type = typeof mediaType === 'string' ? mediaType : undefined
  switch (item.type) {
    case 'text':
      return { type: 'text', text: String(item.text ?? ''), ...kept }
    case 'media':
    case 'image-data':
      if (item.type === 'media' && type?.startsWith('image/') !== true) break
      return {
        type: 'image',
        image: String(item.data),
        ...(type !== undefined && { mediaType: type }),
        ...kept,
      }
    case 'image-url':
      return { type: 'image', image: String(item.url), ...kept }
    case 'file-data':
      break
    case 'file-url': {
      const named = typeof filename === 'string' ? { filename } : {}
      const own: JsonObject = type === undefined ? { untyped: true } : {}
      const said = type ?? 'application/octet-stream'
      return {
        type: 'file',
        data: String(item.url),
        mediaType: said,
        ...named,
        ...keptOptions(providerOptions, own),
      }
    }
    case 'file':
      return fileFrom(item, provider)
    default:
      return opaquePart(item, provider)
  }
  return fileFrom({ ...item, type: 'file' }, provider)
}

/** The result of a tool as it is sent. */
export function outputTo(
  output: ToolResultOutput,
  own: JsonObject,
  version: SdkVersion,
  provider: string,
): object {
  const options =
    own.output === undefined || version === 'v2' ? {} : { providerOptions: own.output as SdkOptions }
  if (own.denied === true && version !== 'v2' && output.type === 'error-text') {
    const reason = isText(own.reason) ? own.reason : undefined
    if (output.value === (reason ?? DENIED))
      return { type: 'execution-denied', ...(reason !== undefined && { reason }), ...options }
  }
  if (output.type !== 'content') return { ...output, ...options }
  if (output.isError === true && output.value.every(({ type }) => type === 'text'))
    return { type: 'error-text', value: outputText(output), ...options }
  return {
    type: 'content',
    value: output.value.flatMap((item) => itemTo(item, version, provider)),
    ...options,
  }
}

/** One piece of a result as it is sent; nothing for what another provider alone knows. */
export function itemTo(item: ToolResultContent, version: SdkVersion, provider: string): readonly object[] {
  if (item.type === 'text')
    return [{ type: 'text', text: item.text, ...(version !== 'v2' && sentOptions(item.providerOptions)) }]
  if (item.type === 'provider') {
    const part = item.provider === provider ? sdkPartIn(item) : undefined
    return part === undefined ? [] : [part]
  }
  if (version === 'v4') return [fileTo(item, version)]
  const { data, mediaType } = sentMedia(item)
  const options = sentOptions(item.providerOptions)
  if (data instanceof URL) {
    if (version === 'v2') return [{ type: 'text', text: `[${item.type} ${data.href}]` }]
    if (item.type === 'image') return [{ type: 'image-url', url: data.href, ...options }]
    const untyped = item.providerOptions?.['ai-sdk']?.untyped === true
    return [{ type: 'file-url', url: data.href, ...(!untyped && { mediaType }), ...options }]
  }
  if (version === 'v2') return [{ type: 'media', data: asBase64(data), mediaType }]
  const named = item.type === 'file' && item.filename !== undefined ? { filename: item.filename } : {}
  const type = item.type === 'image' ? 'image-data' : 'file-data'
  return [{ type, data: asBase64(data), mediaType, ...named, ...options }]
}

/** What a provider's own tool answered, as it came with the model's answer. */
export function providerResult(result: unknown, isError: boolean): ToolResultOutput {
  if (typeof result === 'string') return { type: isError ? 'error-text' : 'text', value: result }
  const value: Json = jsonOf(result)
  return { type: isError ? 'error-json' : 'json', value }
}
