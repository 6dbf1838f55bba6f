import type { Json, JsonObject } from '../../messages/json.ts'
import type { FilePart, ImagePart, Part, ToolResultContent } from '../../messages/message.ts'
import { type Conversion, unknownPart, whyNotSent } from '../conversion.ts'
import { isObject, mediaOf } from '../wire.ts'
import { audioFormatOf, dataUrlOf, defaultName } from './openai-media.ts'
import { fieldsOf, OPENAI, type WirePart } from './openai-types.ts'

/** A part of content, in a list of one; an empty list, with a note, for what has no place there. */
export function toPart(part: Part, isUser: boolean, place: string, conversion: Conversion): WirePart[] {
  switch (part.type) {
    case 'text': {
      const { type, ...extra } = fieldsOf(part.providerOptions)
      if (type === 'refusal') return [{ type, refusal: part.text, ...extra }]
      return [{ type: 'text', text: part.text, ...extra }]
    }
    case 'image':
    case 'file': {
      if (!isUser)
        return notSent(place, `only a user sends ${part.type === 'image' ? 'images' : 'files'}`, conversion)
      const sent = mediaPart(part)
      if (sent.type === 'text')
        conversion.note('changed', place, 'a file known by its address is sent as that address in words')
      return [sent]
    }
    case 'provider': {
      const type = part.provider === OPENAI && isObject(part.data) ? part.data.type : undefined
      if (typeof type === 'string') return [{ ...(part.data as JsonObject), type }]
      return notSent(place, whyNotSent(part.provider, OPENAI), conversion)
    }
    case 'reasoning':
      return notSent(place, 'Chat Completions takes no reasoning', conversion)
    case 'tool-call':
      return notSent(place, 'only an assistant calls tools', conversion)
    case 'tool-result':
      return []
    default:
      throw unknownPart(place)
  }
}

function notSent(place: string, why: string, conversion: Conversion): [] {
  conversion.note('not-sent', place, why)
  return []
}

/** An image, a sound or a file; a file known by its address as text. */
export function mediaPart(part: ImagePart | FilePart): WirePart {
  const data = part.type === 'image' ? part.image : part.data
  const media = mediaOf(data, part.mediaType)
  const isImage = part.type === 'image' || part.mediaType.startsWith('image/')
  const { image_url, file, ...extra } = fieldsOf(part.providerOptions)

  if ('url' in media) {
    if (!isImage) return { type: 'text', text: `[file ${media.url}]` }
    return { type: 'image_url', image_url: { url: media.url, ...asFields(image_url) }, ...extra }
  }
  const { base64, mediaType = isImage ? 'image/png' : 'application/octet-stream' } = media
  const url = dataUrlOf(data, mediaType, base64)
  if (isImage) return { type: 'image_url', image_url: { url, ...asFields(image_url) }, ...extra }
  if (mediaType.startsWith('audio/')) {
    const format = audioFormatOf(mediaType)
    return { type: 'input_audio', input_audio: { data: base64, format }, ...extra }
  }
  const filename =
    part.type === 'file' && part.filename !== undefined ? part.filename : defaultName(mediaType)
  return { type: 'file', file: { filename, file_data: url, ...asFields(file) }, ...extra }
}

function asFields(value: Json | undefined): JsonObject {
  return isObject(value) ? value : {}
}

/** The API reads only text of a tool: an image or a file leaves a word that it was there. */
export function toAnswerPart(item: ToolResultContent, place: string, conversion: Conversion): WirePart[] {
  if (item.type !== 'image' && item.type !== 'file') return toPart(item, false, place, conversion)
  conversion.note('changed', place, 'a result is text: a word says what was there')
  if (item.type === 'image') return [{ type: 'text', text: '[image]' }]
  return [{ type: 'text', text: item.filename === undefined ? '[file]' : `[file ${item.filename}]` }]
}
