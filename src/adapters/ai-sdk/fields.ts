import { isDeepStrictEqual } from 'node:util'
import { invalid } from '../../core/errors.ts'
import { defined, isObject, type Json, type JsonObject, jsonProblem } from '../../core/messages/json.ts'
import type { FilePart, ImagePart, ProviderOptions, ProviderPart } from '../../core/messages/message.ts'
import { type Conversion, fileDataAt } from '../conversion.ts'
import { object, oneOf, optional, type Shape, type Shapes, text } from '../shapes.ts'
import { keptFor, mediaOf, withoutUndefined } from '../wire.ts'
import type { SdkPart, SdkVersion } from './types.ts'

/*
 * Fields of the AI SDK's messages and parts, images and files: how they are checked, and how fields without a place in the neutral form
 * are kept. Only messages from an application, a browser or a file are checked; a prompt that a model is about to receive is not.
 */

/** The name under which this conversion keeps fields without a place in the neutral form. Never sent. */
export const AI_SDK = 'ai-sdk'

/** Converts a value to JSON: bytes to base64, URLs and dates to strings, `undefined` to null; `undefined` fields are left out. */
export function sdkJson(value: unknown): Json {
  if (value === undefined) return null
  if (jsonProblem(value) === undefined) return value as Json
  const text = JSON.stringify(value, function (this: unknown, key: string, inner: unknown) {
    const own = (this as { readonly [name: string]: unknown })[key]
    const bytes = bytesOf(own)
    if (bytes !== undefined) return base64Of(bytes)
    return typeof inner === 'bigint' ? String(inner) : inner
  })
  return text === undefined ? null : (JSON.parse(text) as Json)
}

export function base64Of(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
}

type KeptOptions = { readonly providerOptions?: ProviderOptions }

/** Provider options as they are stored, with our `own` fields; an empty object if there are none. */
export function keptOptions(given: unknown, own: JsonObject = {}): KeptOptions {
  const entries = Object.entries(isObject(given) ? given : {}).filter(
    ([name, fields]) => name !== AI_SDK && isObject(fields),
  )
  const kept = Object.fromEntries(entries.map(([name, fields]) => [name, sdkJson(fields) as JsonObject]))
  return nonEmpty({ providerOptions: { ...kept, ...nonEmpty({ [AI_SDK]: own }) } as ProviderOptions })
}

/** `keptOptions` with the fields of a part that its rules do not name, and a mark for empty options. */
export function keptWith(
  given: SdkPart,
  rules: Shapes,
  own: JsonObject,
  place: string,
  conversion: Conversion,
): KeptOptions {
  const options = given.providerOptions
  const fields = otherFields(given, ['type', 'providerOptions', ...Object.keys(rules)], place, conversion)
  const isBare = isObject(options) && Object.keys(options).length === 0
  return keptOptions(options, { ...own, ...nonEmpty({ fields }), ...(isBare && { bare: true }) })
}

/** Restores the fields that `keptWith` stored. */
export function withKeptFields<T extends object>(part: T, own: JsonObject): T {
  const { fields, bare } = own
  return {
    ...part,
    ...(isObject(fields) && fields),
    ...(bare === true && !('providerOptions' in part) && { providerOptions: {} }),
  }
}

/** Removes fields whose value is `undefined` or an empty object. */
export function nonEmpty<T extends { readonly [name: string]: object | undefined }>(fields: T): Partial<T> {
  const entries = Object.entries(fields).filter(
    ([, inner]) => inner !== undefined && Object.keys(inner).length > 0,
  )
  return Object.fromEntries(entries) as Partial<T>
}

/** Provider options as they are sent: without our own fields. */
export function sentOptions(options: ProviderOptions | undefined): KeptOptions {
  const { [AI_SDK]: _, ...sent } = options ?? {}
  return nonEmpty({ providerOptions: sent })
}

/** Our own fields of a part. */
export function ownOf(part: { readonly providerOptions?: ProviderOptions }): JsonObject {
  return keptFor(AI_SDK, part.providerOptions) ?? {}
}

/** Our own fields of a message. */
export function ownOfMessage(metadata: JsonObject | undefined): JsonObject {
  return keptFor(AI_SDK, metadata) ?? {}
}

/** The options of a message that are kept in its metadata. */
export function messageOptions(metadata: JsonObject | undefined): ProviderOptions | undefined {
  return keptFor('options', ownOfMessage(metadata)) as ProviderOptions | undefined
}

/** Provider options of a message or of a part. */
export const sdkOptions = optional((value, place) => {
  const given = object(value, place)
  if (Object.values(given).some((fields) => fields !== undefined && !isObject(fields)))
    throw invalid(`${place}: must contain only objects`)
  return given
})

/** Returns a value that is a part: an object with a `type`, which must be one of `types` if given. Throws `INVALID_INPUT`. */
export function partAt(value: unknown, place: string, types?: readonly string[]): SdkPart {
  const part = object(value, place) as SdkPart
  text(part.type, `${place}.type`)
  if (types !== undefined) oneOf(...types)(part.type, `${place}.type`)
  return part
}

/** Converts a value as `sdkJson` does, and notes a change. Throws `INVALID_INPUT` for a value that refers to itself. */
export function jsonAt(value: unknown, place: string, conversion: Conversion): Json {
  if (jsonProblem(value) === undefined) return value as Json
  let json: Json
  try {
    json = sdkJson(value)
  } catch {
    throw invalid(`${place}: must be a JSON value`)
  }
  const problem = jsonProblem(json)
  if (problem !== undefined) throw invalid(`${place}: must be a JSON value: ${problem}`)
  if (value !== undefined && !isDeepStrictEqual(withoutUndefined(value), json))
    conversion.note('changed', place, "it isn't JSON, so its JSON form is kept")
  return json
}

/** Returns the fields of an object other than the known ones, as JSON. Fields that are `undefined` count as absent. */
export function otherFields(
  value: { readonly [field: string]: unknown },
  known: readonly string[],
  place: string,
  conversion: Conversion,
): JsonObject {
  const others = Object.entries(value).filter(([name, inner]) => inner !== undefined && !known.includes(name))
  return Object.fromEntries(
    others.map(([name, inner]) => [name, jsonAt(inner, `${place}.${name}`, conversion)]),
  )
}

/** A part that only the AI SDK and one provider know (a file by reference, a part of a later version), stored for that provider. */
export function opaquePart(part: SdkPart, provider: string): ProviderPart {
  return { type: 'provider', provider, data: { [AI_SDK]: sdkJson(part) } }
}

/** A file of a prompt or a response: bytes, base64, an address, or (V4) one of these in a tagged object. */
export function fileFrom(part: SdkPart, provider: string): FilePart | ProviderPart {
  const { data, mediaType, filename, originalUrl, providerOptions, providerMetadata } = part
  const found = dataFrom(data)
  if (found === undefined) return opaquePart(part, provider)
  const original = originalUrl ?? (isObject(data) ? data.originalUrl : undefined)
  return {
    type: 'file',
    data: found.data,
    mediaType: typeof mediaType === 'string' ? mediaType : 'application/octet-stream',
    ...(typeof filename === 'string' && { filename }),
    ...keptOptions(
      providerOptions ?? providerMetadata,
      typeof original === 'string' ? { originalUrl: original } : {},
    ),
  }
}

/**
 * The data of an image or a file in the neutral form. `own` records whether the AI SDK had a `URL` object (`url`), and whether it was in
 * an object with a type (`tagged`, from ai 7 on).
 */
type FoundData = { readonly data: string | Uint8Array; readonly own: JsonObject }

/**
 * Reads the data of an image or a file: bytes, base64 or an address. Returns `undefined` for other values, which only their provider or a
 * later version understands.
 */
export function dataFrom(value: unknown): FoundData | undefined {
  if (!isObject(value) || (value.type !== 'data' && value.type !== 'url')) return plainData(value)
  const found = plainData(value[value.type])
  return found && { data: found.data, own: { tagged: true, ...found.own } }
}

function plainData(value: unknown): FoundData | undefined {
  if (typeof value === 'string') return { data: value, own: {} }
  const bytes = bytesOf(value)
  if (bytes !== undefined) return { data: bytes, own: {} }
  return value instanceof URL ? { data: value.href, own: { url: true } } : undefined
}

/** An image or a file as a model receives it: always as a file. */
export function fileTo(part: FilePart | ImagePart, version: SdkVersion): SdkPart {
  const { data, mediaType } = sentMedia(part)
  const { originalUrl } = ownOf(part)
  const original = typeof originalUrl === 'string' && data instanceof URL ? { originalUrl } : {}
  return {
    type: 'file',
    data: version === 'v4' ? { ...tagged(data), ...original } : data,
    mediaType,
    ...(part.type === 'file' && defined({ filename: part.filename })),
    ...(version !== 'v4' && original),
    ...sentOptions(part.providerOptions),
  }
}

/** Data and media type of an image or a file, for a model. */
export function sentMedia(part: FilePart | ImagePart): {
  readonly data: string | Uint8Array | URL
  readonly mediaType: string
} {
  const data = part.type === 'image' ? part.image : part.data
  const fallback = part.type === 'image' ? 'image/*' : 'application/octet-stream'
  if (typeof data !== 'string') return { data, mediaType: part.mediaType ?? fallback }
  const media = mediaOf(data, part.mediaType)
  if ('url' in media) return { data: urlOf(media.url), mediaType: part.mediaType ?? fallback }
  return { data: media.base64, mediaType: part.mediaType ?? media.mediaType ?? fallback }
}

/** Data in an object with its type, as in V4. */
function tagged(data: unknown): object {
  return data instanceof URL ? { type: 'url', url: data } : { type: 'data', data }
}

function urlOf(url: string): URL | string {
  return URL.canParse(url) ? new URL(url) : url
}

/** An image or a file of an application's message. A reference or a text is kept whole. Throws `INVALID_INPUT`. */
export function mediaFrom(
  part: SdkPart,
  rules: Shapes,
  place: string,
  conversion: Conversion,
): FilePart | ImagePart | ProviderPart {
  const field = part.type === 'image' ? 'image' : 'data'
  const { mediaType, filename } = part as { readonly mediaType?: string; readonly filename?: string }
  const found = dataFrom(part[field])
  if (found === undefined) return keptPart(part, place, conversion)
  const kept = keptWith(part, rules, found.own, place, conversion)
  if (part.type === 'image') return { type: 'image', image: found.data, ...defined({ mediaType }), ...kept }
  return { type: 'file', data: found.data, mediaType: mediaType!, ...defined({ filename }), ...kept }
}

/** The data of an image or a file. */
export const mediaData: Shape = (value, place) => {
  if (typeof value === 'string') return fileDataAt(value, place)
  if (value instanceof URL || bytesOf(value) !== undefined) return value
  const { type, data, url, text: words, reference } = isObject(value) ? value : {}
  if (type === 'data') {
    if (typeof data === 'string') fileDataAt(data, `${place}.data`)
    else if (bytesOf(data) === undefined) throw invalid(`${place}.data: must be base64 or bytes`)
  } else if (type === 'url') {
    if (!(url instanceof URL)) throw invalid(`${place}.url: must be a URL`)
  } else if (type === 'text') text(words, `${place}.text`)
  else if (!isReference(type === 'reference' ? reference : value))
    throw invalid(`${place}: must be base64, bytes or a URL`)
  return value
}

/** Bytes as a plain `Uint8Array`; `undefined` for other values. */
function bytesOf(value: unknown): Uint8Array | undefined {
  if (value instanceof ArrayBuffer) return new Uint8Array(value)
  if (!(value instanceof Uint8Array)) return undefined
  return new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
}

/** Whether a value refers to a file that providers store: an object with the file's id by provider. */
function isReference(value: unknown): boolean {
  if (!isObject(value)) return false
  const ids = Object.values(value)
  return ids.length > 0 && ids.every((id) => typeof id === 'string')
}

/** An image or a file as `mediaFrom` read it; tagged only in `v4`. */
export function mediaTo(part: FilePart | ImagePart, version: SdkVersion): SdkPart {
  const own = ownOf(part)
  const data = dataTo(part.type === 'image' ? part.image : part.data, own, version)
  const written =
    part.type === 'image'
      ? defined({ type: part.type, image: data, mediaType: part.mediaType })
      : defined({ type: part.type, data, mediaType: part.mediaType, filename: part.filename })
  return withKeptFields({ ...written, ...sentOptions(part.providerOptions) } as SdkPart, own)
}

/** Restores the data that `dataFrom` read. */
export function dataTo(data: string | Uint8Array, own: JsonObject, version: SdkVersion): unknown {
  const bare = own.url === true && typeof data === 'string' ? urlOf(data) : data
  return own.tagged === true && version === 'v4' ? tagged(bare) : bare
}

/** Keeps a part without a place in the neutral form whole, and notes it. `form` records whether its data was bytes or a `URL`. */
export function keptPart(part: SdkPart, place: string, conversion: Conversion): ProviderPart {
  const field = part.type === 'image' ? 'image' : 'data'
  const { [field]: data, ...others } = part
  const content = isObject(data) && data.type === 'data' ? data.data : data
  const form = data instanceof URL ? 'url' : bytesOf(content) && 'bytes'
  // The address of tagged data becomes a `URL` again by its tag.
  const isJson = form === undefined && !(isObject(data) && data.url instanceof URL)
  const json = isJson ? otherFields({ [field]: data }, [], place, conversion) : { [field]: sdkJson(data) }
  const fields = otherFields(others, [], place, conversion)
  conversion.note('kept', place, 'only the AI SDK has this type of part')
  const kept = { [AI_SDK]: { ...fields, ...json }, ...defined({ form }) }
  return { type: 'provider', provider: AI_SDK, data: kept }
}

/** Restores a part that was kept whole; returns `undefined` for other provider parts. */
export function keptPartTo({ data }: ProviderPart): SdkPart | undefined {
  const kept = isObject(data) ? data[AI_SDK] : undefined
  if (!isObject(kept) || typeof kept.type !== 'string') return undefined
  const field = kept.type === 'image' ? 'image' : 'data'
  if (kept[field] === undefined) return kept as SdkPart
  const form = isObject(data) ? data.form : undefined
  return { ...kept, type: kept.type, [field]: unpacked(kept[field], form) }
}

function unpacked(value: unknown, form: unknown): unknown {
  if (typeof value === 'string') {
    if (form === 'bytes') return new Uint8Array(Buffer.from(value, 'base64'))
    return form === 'url' ? urlOf(value) : value
  }
  if (!isObject(value)) return value
  if (value.type === 'url' && typeof value.url === 'string') return { ...value, url: urlOf(value.url) }
  return form === 'bytes' ? { ...value, data: unpacked(value.data, form) } : value
}
