import { isObject, type Json, type JsonObject } from '../../messages/json.ts'
import type { FilePart, ImagePart, ProviderPart } from '../../messages/message.ts'
import { mediaOf } from '../wire.ts'
import { AI_SDK, base64Of, jsonOf, keptOptions, ownOf, sentOptions } from './options.ts'
import type { SdkPart, SdkVersion } from './sdk-types.ts'

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
