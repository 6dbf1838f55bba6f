import { isObject, type JsonObject } from '../../messages/json.ts'
import type { FilePart, ImagePart, Part, ProviderPart } from '../../messages/message.ts'
import { mediaOf } from '../wire.ts'
import { sentOptions } from './options.ts'
import type { SdkPart } from './sdk-types.ts'

type Fields = { readonly [field: string]: unknown }

/** The options of a part, as a chat calls them. */
export function metadataOf(part: Exclude<Part, ProviderPart>): { readonly providerMetadata?: Fields } {
  const { providerOptions } = sentOptions(part.providerOptions)
  return providerOptions === undefined ? {} : { providerMetadata: providerOptions }
}

/** A picture or a file: its address, or its bytes as a data URL. */
export function fileTo(part: ImagePart | FilePart): SdkPart {
  const data = part.type === 'image' ? part.image : part.data
  const fallback = part.type === 'image' ? 'image/*' : 'application/octet-stream'
  const media = mediaOf(data, part.mediaType)
  const found = 'url' in media ? undefined : media.mediaType
  const mediaType = part.mediaType ?? found ?? fallback
  const isAddress = typeof data === 'string' && ('url' in media || data.startsWith('data:'))
  const { filename } = part as { readonly filename?: string }
  return {
    type: 'file',
    mediaType,
    url: isAddress || 'url' in media ? (data as string) : `data:${mediaType};base64,${media.base64}`,
    ...(filename !== undefined && { filename }),
    ...metadataOf(part),
  }
}

/** Parts in a list of somebody else's. */
export function listOf(value: unknown): readonly SdkPart[] {
  return Array.isArray(value) ? value.filter((item) => isObject(item) && typeof item.type === 'string') : []
}

/** A source as an answer of a model tells it, which the middleware keeps. Source: `LanguageModelV3Source` of `@ai-sdk/provider`. */
export function sourceTo(source: SdkPart): readonly SdkPart[] {
  const { sourceType, id, url, title, mediaType, filename, providerMetadata } = source
  const common: JsonObject = {
    ...(typeof title === 'string' && { title }),
    ...(isObject(providerMetadata) && { providerMetadata: providerMetadata as JsonObject }),
  }
  if (typeof id !== 'string') return []
  if (sourceType === 'url' && typeof url === 'string')
    return [{ type: 'source-url', sourceId: id, url, ...common }]
  if (sourceType !== 'document' || typeof mediaType !== 'string' || typeof title !== 'string') return []
  const named = typeof filename === 'string' ? { filename } : {}
  return [{ type: 'source-document', sourceId: id, mediaType, ...named, ...common }]
}
