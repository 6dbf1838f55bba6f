import { isDeepStrictEqual } from 'node:util'
import type { Json, JsonObject } from '../../messages/json.ts'
import type { FilePart, ImagePart, ProviderPart, TextPart } from '../../messages/message.ts'
import { addressAt, base64At, type Conversion, fileDataAt } from '../conversion.ts'
import { isEmpty, isObject, listAt, mediaOf, objectAt, stringAt } from '../wire.ts'
import { audioTypeOf } from './openai-media.ts'
import { kept, OPENAI } from './openai-types.ts'
import { mediaPart } from './to-openai-parts.ts'

/** The parts of a content; a text stays one. */
export function fromContent(
  content: Json | undefined,
  isUser: boolean,
  path: string,
  conversion: Conversion,
): string | (TextPart | ImagePart | FilePart | ProviderPart)[] {
  if (typeof content === 'string') return content
  if (content === null || content === undefined) return []
  return listAt(content, path).map((part, i) => {
    const place = `${path}[${i}]`
    return conversion.reading(part, place, () => fromPart(objectAt(part, place), isUser, place, conversion))
  })
}

/** What a content was that has left no parts. */
export function shapeOf(content: Json | undefined): JsonObject {
  if (content === null) return { content: null }
  if (content === undefined) return { content: 'absent' }
  return Array.isArray(content) && content.length === 0 ? { content: 'parts' } : {}
}

/** One part. A type the API may have by now is kept whole. */
export function fromPart(
  part: JsonObject,
  isUser: boolean,
  path: string,
  conversion: Conversion,
): TextPart | ImagePart | FilePart | ProviderPart {
  const kind = stringAt(part.type, `${path}.type`)
  if (kind === 'text') {
    const { type: _, text, ...extra } = part
    return { type: 'text', text: stringAt(text, `${path}.text`), ...kept(extra) }
  }
  if (kind === 'refusal') {
    const { type, refusal, ...extra } = part
    return { type: 'text', text: stringAt(refusal, `${path}.refusal`), ...kept({ type, ...extra }) }
  }
  checkMedia(part, path)
  const media = isUser ? fromMedia(part) : undefined
  if (media !== undefined && isDeepStrictEqual(mediaPart(media), part)) return media
  return opaque(part, path, conversion)
}

/** The form of the kinds of media we know, also where they are kept whole. */
function checkMedia({ type, image_url, input_audio, file }: JsonObject, path: string): void {
  if (type === 'image_url') {
    addressAt(objectAt(image_url, `${path}.image_url`).url, `${path}.image_url.url`)
  } else if (type === 'input_audio') {
    const { data, format } = objectAt(input_audio, `${path}.input_audio`)
    base64At(data, `${path}.input_audio.data`)
    stringAt(format, `${path}.input_audio.format`)
  } else if (type === 'file') {
    const { file_data } = objectAt(file, `${path}.file`)
    if (file_data !== undefined && file_data !== null) fileDataAt(file_data, `${path}.file.file_data`)
  }
}

/** An image, a sound or a file whose bytes or address we can hold. Others (a file id) stay parts. */
function fromMedia({ type, ...fields }: JsonObject): ImagePart | FilePart | undefined {
  const { image_url, input_audio, file, ...extra } = fields
  if (type === 'image_url' && isObject(image_url)) {
    const { url, ...own } = image_url
    const options = isEmpty(own) ? extra : { ...extra, image_url: own }
    return typeof url === 'string' ? { type: 'image', image: url, ...kept(options) } : undefined
  }
  if (type === 'input_audio' && isObject(input_audio)) {
    const { data, format } = input_audio
    if (typeof data !== 'string' || typeof format !== 'string') return undefined
    return { type: 'file', data, mediaType: audioTypeOf(format), ...kept(extra) }
  }
  if (type === 'file' && isObject(file)) {
    const { file_data, filename, ...own } = file
    if (typeof file_data !== 'string' || typeof filename !== 'string') return undefined
    const media = mediaOf(file_data, undefined)
    if ('url' in media || media.mediaType === undefined) return undefined
    const options = isEmpty(own) ? extra : { ...extra, file: own }
    return { type: 'file', data: file_data, mediaType: media.mediaType, filename, ...kept(options) }
  }
  return undefined
}

/** Something kept whole, for this API alone. */
export function opaque(data: JsonObject, path: string, conversion: Conversion): ProviderPart {
  conversion.note('kept', path, 'the neutral form has no part for it')
  return { type: 'provider', provider: OPENAI, data }
}
