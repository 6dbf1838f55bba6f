import type { FilePart, ImagePart } from '../../messages/message.ts'
import { type Media, mediaOf } from '../wire.ts'
import { blockOptions } from './anthropic-options.ts'
import type {
  AnthropicDocumentBlock,
  AnthropicDocumentSource,
  AnthropicImageBlock,
  AnthropicImageSource,
} from './anthropic-types.ts'

type ImageType = (AnthropicImageSource & { type: 'base64' })['media_type']

/** The types of images the API takes. Source: `Base64ImageSource` of `@anthropic-ai/sdk`. */
const IMAGE_TYPES: ReadonlySet<string> = new Set<ImageType>([
  'image/jpeg',
  'image/png',
  'image/gif',
  'image/webp',
])

function isImageType(mediaType: string): mediaType is ImageType {
  return IMAGE_TYPES.has(mediaType)
}

/**
 * An image or a document; `undefined` for bytes of a type the API does not take. Plain text has a source of its own: the
 * API reads no other type as text.
 */
export function mediaBlock(
  part: ImagePart | FilePart,
): AnthropicImageBlock | AnthropicDocumentBlock | undefined {
  const media = mediaOf(part.type === 'image' ? part.image : part.data, part.mediaType)
  const { fields } = blockOptions(part.providerOptions)
  if (part.type === 'image' || part.mediaType.startsWith('image/')) {
    const source = imageSource(media)
    return source && { type: 'image', source, ...fields }
  }
  const title = part.filename === undefined ? {} : { title: part.filename }
  const source = documentSource(media)
  return source && { type: 'document', source, ...title, ...fields }
}

/** Whether a file is shown as plain text though it says it is another kind of text. */
export function isShownAsPlain(part: ImagePart | FilePart): boolean {
  if (part.type === 'image') return false
  const media = mediaOf(part.data, part.mediaType)
  return (
    !('url' in media) && media.mediaType?.startsWith('text/') === true && media.mediaType !== 'text/plain'
  )
}

function imageSource(media: Media): AnthropicImageSource | undefined {
  if ('url' in media) return { type: 'url', url: media.url }
  const { base64, mediaType = 'image/png' } = media
  return isImageType(mediaType) ? { type: 'base64', media_type: mediaType, data: base64 } : undefined
}

function documentSource(media: Media): AnthropicDocumentSource | undefined {
  if ('url' in media) return { type: 'url', url: media.url }
  const { base64, mediaType = 'application/pdf' } = media
  if (mediaType.startsWith('text/'))
    return { type: 'text', media_type: 'text/plain', data: Buffer.from(base64, 'base64').toString() }
  return mediaType === 'application/pdf' ? { type: 'base64', media_type: mediaType, data: base64 } : undefined
}
