import type { Json, JsonObject } from '../../messages/json.ts'
import type { FilePart, ImagePart, Part, ProviderPart, TextPart } from '../../messages/message.ts'
import { unknownPart, whyNotSent } from '../conversion.ts'
import { audioFormatOf } from '../openai/openai-media.ts'
import { isObject, keptFor, mediaOf } from '../wire.ts'
import { CONTENT_TYPES } from './item-shapes.ts'
import { AGENTS, PROVIDER } from './item-types.ts'
import { type Item, keptItem, type Writing } from './writing.ts'

/** What a part says in a message item, in a list of one; none for what has no place there, which is noted. */
export function toContent(part: Part, isModel: boolean, writing: Writing): readonly Item[] {
  switch (part.type) {
    case 'text':
      return [toText(part, isModel ? 'output_text' : 'input_text')]
    case 'image':
    case 'file': {
      const isOurs = keptFor(AGENTS, part.providerOptions) !== undefined
      if (!isModel || isOurs) return [toInputMedia(part, true)]
      return left(writing, 'a model is sent no pictures and files of its own')
    }
    case 'reasoning':
      // Reasoning that is shown as nothing was let go on purpose.
      return part.text === '' ? [] : left(writing, 'reasoning of another provider')
    case 'provider':
      return toKeptContent(part, writing)
    default:
      throw unknownPart(writing.place)
  }
}

function left({ conversion, place }: Writing, why: string): readonly Item[] {
  conversion.note('not-sent', place, why)
  return []
}

/** A content that names what lies with the provider. */
export function toKeptContent(part: ProviderPart, writing: Writing): readonly Item[] {
  const content = keptItem(part)
  if (content !== undefined && CONTENT_TYPES.has(content.type)) return [content]
  return left(writing, whyNotSent(part.provider, PROVIDER))
}

export function toText({ text, providerOptions }: TextPart, type: 'input_text' | 'output_text'): Item {
  const { type: own, ...fields } = keptFor(AGENTS, providerOptions) ?? {}
  return own === 'refusal' ? { type: own, refusal: text, ...fields } : { type, text, ...fields }
}

/** A picture or file as content of a message, or of a list a tool answered; there sound is a file like all others. */
export function toInputMedia(part: ImagePart | FilePart, mayBeAudio: boolean): Item {
  const own = keptFor(AGENTS, part.providerOptions)
  const data = part.type === 'image' ? part.image : part.data
  const filename = part.type === 'file' && part.filename !== undefined ? { filename: part.filename } : {}
  if (own !== undefined && typeof data === 'string') {
    const { type, file: form, ...fields } = own
    if (type === 'input_image' || type === 'image') return { type, image: data, ...fields }
    if (type === 'audio') return { type, audio: data, ...fields }
    if (type === 'input_file') {
      const [, further] = formOf(form) ?? []
      return { type, file: further === undefined ? data : { ...further, url: data }, ...filename, ...fields }
    }
  }
  const media = mediaOf(data, part.mediaType)
  const isImage = part.type === 'image' || part.mediaType.startsWith('image/')
  if ('url' in media)
    return isImage
      ? { type: 'input_image', image: media.url }
      : { type: 'input_file', file: { url: media.url }, ...filename }
  const { base64, mediaType = isImage ? 'image/png' : 'application/octet-stream' } = media
  if (mayBeAudio && mediaType.startsWith('audio/')) {
    return { type: 'audio', audio: base64, format: audioFormatOf(mediaType) }
  }
  const url = `data:${mediaType};base64,${base64}`
  // The API wants a name with every file.
  return isImage
    ? { type: 'input_image', image: url }
    : { type: 'input_file', file: url, filename: 'file', ...filename }
}

/** How bytes or an address were given, and their further fields. */
export function formOf(value: Json | undefined): readonly [form: Json, fields: JsonObject] | undefined {
  if (!Array.isArray(value)) return undefined
  const [form, fields] = value as readonly Json[]
  return form !== undefined && isObject(fields) ? [form, fields] : undefined
}
