import { invalid } from '../../errors.ts'
import { isObject, type Json, type JsonObject } from '../../messages/json.ts'
import type { FilePart, ImagePart, ProviderPart } from '../../messages/message.ts'
import type { Conversion } from '../conversion.ts'
import { mediaOf } from '../wire.ts'
import {
  AI_SDK,
  addressOrBase64At,
  base64Of,
  jsonAt,
  jsonOf,
  keptOptions,
  keptWith,
  optionalStringAt,
  otherFields,
  ownOf,
  sentOptions,
  withKeptFields,
} from './fields.ts'
import type { SdkPart, SdkVersion } from './types.ts'

/**
 * A part only the AI SDK and one provider know (a part of a kind of later versions, a file by reference), kept as it
 * is for that provider.
 */
export function opaquePart(part: SdkPart, provider: string): ProviderPart {
  return { type: 'provider', provider, data: { [AI_SDK]: jsonOf(part) } }
}

/** The part of the AI SDK that is kept in a provider's part; `undefined` for other parts of providers. */
export function sdkPartIn({ data }: ProviderPart): SdkPart | undefined {
  const kept = isObject(data) ? data[AI_SDK] : undefined
  if (!isObject(kept) || typeof kept.type !== 'string') return undefined
  const { data: inner } = kept
  const isAddress = isObject(inner) && inner.type === 'url' && typeof inner.url === 'string'
  return {
    ...kept,
    type: kept.type,
    ...(isAddress && { data: { ...inner, url: addressOf(inner.url as string) } }),
  }
}

/** A file of a prompt or an answer: bytes, base64, an address, or (V4) one of these with its kind. */
export function fileFrom(part: SdkPart, provider: string): FilePart | ProviderPart {
  const { data, mediaType, filename, originalUrl, providerOptions, providerMetadata } = part
  const found = dataFrom(data)
  if (found === undefined) return opaquePart(part, provider)
  const original = originalUrl ?? (isObject(data) ? data.originalUrl : undefined)
  const own: JsonObject = typeof original === 'string' ? { originalUrl: original } : {}
  return {
    type: 'file',
    data: found,
    mediaType: typeof mediaType === 'string' ? mediaType : 'application/octet-stream',
    ...(typeof filename === 'string' && { filename }),
    ...keptOptions(providerOptions ?? providerMetadata, own),
  }
}

/** What a file holds; `undefined` where it is neither bytes nor base64 nor an address. */
function dataFrom(data: unknown): string | Uint8Array | undefined {
  if (typeof data === 'string' || data instanceof Uint8Array) return data
  if (data instanceof URL) return data.href
  if (!isObject(data)) return undefined
  if (data.type === 'data') return dataFrom(data.data)
  if (data.type === 'url') return data.url instanceof URL ? data.url.href : dataFrom(data.url)
  return undefined
}

/** An image or a file as the AI SDK sends it. */
export function fileTo(part: FilePart | ImagePart, version: SdkVersion): SdkPart {
  const { data, mediaType } = sentMedia(part)
  const { originalUrl } = ownOf(part)
  const original = typeof originalUrl === 'string' && data instanceof URL ? { originalUrl } : {}
  return {
    type: 'file',
    data: version === 'v4' ? tagged(data, original) : data,
    mediaType,
    ...(part.type === 'file' && part.filename !== undefined && { filename: part.filename }),
    ...(version !== 'v4' && original),
    ...sentOptions(part.providerOptions),
  }
}

export function sentMedia(part: FilePart | ImagePart): {
  readonly data: string | Uint8Array | URL
  readonly mediaType: string
} {
  const data = part.type === 'image' ? part.image : part.data
  const fallback = part.type === 'image' ? 'image/*' : 'application/octet-stream'
  if (typeof data !== 'string') return { data, mediaType: part.mediaType ?? fallback }
  const media = mediaOf(data, part.mediaType)
  if ('url' in media) return { data: addressOf(media.url), mediaType: part.mediaType ?? fallback }
  return { data: media.base64, mediaType: part.mediaType ?? media.mediaType ?? fallback }
}

/** Data with its kind, as V4 wants it. */
function tagged(data: string | Uint8Array | URL, more: object = {}): object {
  return data instanceof URL ? { type: 'url', url: data, ...more } : { type: 'data', data }
}

export function asBase64(data: string | Uint8Array): string {
  return typeof data === 'string' ? data : base64Of(data)
}

function addressOf(url: string): URL | string {
  return URL.canParse(url) ? new URL(url) : url
}

/** Whether a JSON value is a text. */
export function isText(value: Json | undefined): value is string {
  return typeof value === 'string'
}

/*
 * Pictures and files of an application's own messages. An address may be a text or a `URL`, bytes a text in base64 or a `Uint8Array`
 * (an `ArrayBuffer` and a `Buffer` become one), and from ai 7 on each of them may stand in an object that tells its kind. `url` and
 * `tagged` among what is kept say which it was.
 */

/** What a picture or file holds, in the neutral form, and which of the AI SDK's ways of writing it was used. */
type Held = { readonly data: string | Uint8Array; readonly own: JsonObject }

/** A picture or a file. One by reference, or a text as a file, is kept as it is. Throws `INVALID_INPUT`. */
export function mediaFrom(
  part: SdkPart,
  place: string,
  conversion: Conversion,
): FilePart | ImagePart | ProviderPart {
  const field = part.type === 'image' ? 'image' : 'data'
  const mediaType = optionalStringAt(part.mediaType, `${place}.mediaType`)
  const filename = optionalStringAt(part.filename, `${place}.filename`)
  if (part.type === 'file' && mediaType === undefined) throw invalid(`${place}.mediaType: must be a string`)
  const held = heldAt(part[field], `${place}.${field}`)
  if (held === undefined) return keptPart(part, place, conversion)
  const known = ['type', field, 'mediaType', 'providerOptions', ...(part.type === 'file' ? ['filename'] : [])]
  const kept = keptWith(part.providerOptions, held.own, otherFields(part, known, place, conversion))
  if (part.type === 'image')
    return { type: 'image', image: held.data, ...(mediaType !== undefined && { mediaType }), ...kept }
  const named = filename === undefined ? {} : { filename }
  return { type: 'file', data: held.data, mediaType: mediaType!, ...named, ...kept }
}

/** `undefined` for what only its provider, or a later version, can say: it is to be kept whole. */
function heldAt(value: unknown, place: string): Held | undefined {
  const bare = bareAt(value, place)
  if (bare !== undefined) return bare
  if (!isObject(value)) throw invalid(`${place}: must be base64, bytes or an address`)
  const { type, data, url, text, reference } = value
  if (type === 'data') {
    const held = bareAt(data, `${place}.data`)
    if (held === undefined || held.own.url === true) throw invalid(`${place}.data: must be base64 or bytes`)
    return { data: held.data, own: { tagged: true } }
  }
  if (type === 'url') {
    if (!(url instanceof URL)) throw invalid(`${place}.url: must be a URL`)
    return { data: url.href, own: { tagged: true, url: true } }
  }
  if (type === 'text') {
    if (typeof text !== 'string') throw invalid(`${place}.text: must be a string`)
    return undefined
  }
  referenceAt(type === 'reference' ? reference : value, place)
  return undefined
}

function bareAt(value: unknown, place: string): Held | undefined {
  if (typeof value === 'string') return { data: addressOrBase64At(value, place), own: {} }
  const bytes = bytesOf(value)
  if (bytes !== undefined) return { data: bytes, own: {} }
  return value instanceof URL ? { data: value.href, own: { url: true } } : undefined
}

/** Bytes as a plain `Uint8Array`, whatever holds them. */
function bytesOf(value: unknown): Uint8Array | undefined {
  if (value instanceof ArrayBuffer) return new Uint8Array(value)
  if (!(value instanceof Uint8Array)) return undefined
  return new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
}

/** A file that providers hold: their ids of it by their names. */
function referenceAt(value: unknown, place: string): void {
  const isReference =
    isObject(value) &&
    Object.keys(value).length > 0 &&
    Object.values(value).every((id) => typeof id === 'string')
  if (!isReference) throw invalid(`${place}: must be base64, bytes or an address`)
}

/** What was read by `mediaFrom`, as it was; in `v4` with its kind, where it had one. */
export function mediaTo(part: FilePart | ImagePart, version: SdkVersion): SdkPart {
  const own = ownOf(part)
  const held = heldTo(part.type === 'image' ? part.image : part.data, own, version)
  const rest = { ...sentOptions(part.providerOptions) }
  const written =
    part.type === 'image'
      ? {
          type: 'image',
          image: held,
          ...(part.mediaType !== undefined && { mediaType: part.mediaType }),
          ...rest,
        }
      : {
          type: 'file',
          data: held,
          mediaType: part.mediaType,
          ...(part.filename !== undefined && { filename: part.filename }),
          ...rest,
        }
  return withKeptFields(written, own)
}

/** Data as it was written. */
export function heldTo(data: string | Uint8Array, own: JsonObject, version: SdkVersion): unknown {
  const bare = own.url === true && typeof data === 'string' && URL.canParse(data) ? new URL(data) : data
  if (own.tagged !== true || version !== 'v4') return bare
  return bare instanceof URL ? { type: 'url', url: bare } : { type: 'data', data: bare }
}

/** Data of a tool's file, as it was checked by `heldAt`. */
export function toolFileAt(value: unknown, place: string): Held | undefined {
  if (!isObject(value) || typeof value.type !== 'string') throw invalid(`${place}: must tell its kind`)
  return heldAt(value, place)
}

/**
 * A part the neutral form has no place for, kept whole: bytes and addresses in its `data` or `image` as texts, and `form` says what they
 * were. Noted as kept.
 */
export function keptPart(part: SdkPart, place: string, conversion: Conversion): ProviderPart {
  const field = part.type === 'image' ? 'image' : 'data'
  const { [field]: data, ...others } = part
  const packed = packedAt(data, `${place}.${field}`, conversion)
  const fields = otherFields(others, [], place, conversion)
  conversion.note('kept', place, 'only the AI SDK knows such a part')
  return {
    type: 'provider',
    provider: AI_SDK,
    data: {
      [AI_SDK]: { ...fields, ...(packed !== undefined && { [field]: packed.json }) },
      ...(packed?.form !== undefined && { form: packed.form }),
    },
  }
}

type Form = 'bytes' | 'url'

function packedAt(
  data: unknown,
  place: string,
  conversion: Conversion,
): { readonly json: Json; readonly form?: Form } | undefined {
  if (data === undefined) return undefined
  if (data instanceof URL) return { json: data.href, form: 'url' }
  const bytes = bytesOf(data)
  if (bytes !== undefined) return { json: base64Text(bytes), form: 'bytes' }
  if (isObject(data) && data.type === 'data') {
    const inner = bytesOf(data.data)
    if (inner !== undefined) return { json: { type: 'data', data: base64Text(inner) }, form: 'bytes' }
  }
  // The address of a tagged one is made a URL again by its kind.
  if (isObject(data) && data.url instanceof URL) return { json: { ...data, url: data.url.href } as Json }
  return { json: jsonAt(data, place, conversion) }
}

function base64Text(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
}

/** What was kept by `keptPart`, or by the middleware, as it was. `undefined` for other parts of providers. */
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
    return form === 'url' && URL.canParse(value) ? new URL(value) : value
  }
  if (!isObject(value)) return value
  if (value.type === 'url' && typeof value.url === 'string' && URL.canParse(value.url))
    return { ...value, url: new URL(value.url) }
  return form === 'bytes' ? { ...value, data: unpacked(value.data, form) } : value
}
