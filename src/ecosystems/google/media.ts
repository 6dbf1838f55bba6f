import { isDeepStrictEqual } from 'node:util'
import type { JsonObject } from '../../messages/json.ts'
import type { FilePart, ImagePart } from '../../messages/message.ts'
import { base64At } from '../conversion.ts'
import { mediaOf, objectAt, stringAt } from '../wire.ts'
import { kept, ownOf, partOptions, told, under } from './options.ts'
import type { GeminiResponsePart } from './types.ts'

/** What a file is said to be when nothing is known of it. */
const UNKNOWN_TYPE = 'application/octet-stream'

/**
 * Reads a part that holds bytes or an address, of a content or of a function's answer. `undefined` where the neutral form
 * cannot say the same (an address that is none): such a part is kept whole. Throws `INVALID_INPUT` for bytes that are no
 * base64, and for a part without its media type or address.
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
    const fields = { ...rest, ...under('inlineData', { ...own, ...told('displayName', displayName) }) }
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
    const fields = { ...rest, ...under('fileData', { ...own, ...told('displayName', displayName) }) }
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
  return { named: {}, more: told('displayName', displayName) }
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
