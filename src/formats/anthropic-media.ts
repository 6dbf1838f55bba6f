import type { FilePart, ImagePart } from '../core/message.ts'
import { blockOptions } from './anthropic-options.ts'
import type {
  AnthropicDocumentBlock,
  AnthropicDocumentSource,
  AnthropicImageBlock,
  AnthropicImageSource,
} from './anthropic-types.ts'
import { type Media, mediaOf } from './wire.ts'

/** The types of images the API takes, and whatever another image says it is. */
type ImageType = (AnthropicImageSource & { type: 'base64' })['media_type']
type DocumentType = (AnthropicDocumentSource & { type: 'base64' })['media_type']

/** An image or a document. Plain text has a source of its own: the API reads no other type as text. */
export function mediaBlock(part: ImagePart | FilePart): AnthropicImageBlock | AnthropicDocumentBlock {
  const media = mediaOf(part.type === 'image' ? part.image : part.data, part.mediaType)
  const { fields } = blockOptions(part.providerOptions)
  if (part.type === 'image' || part.mediaType.startsWith('image/'))
    return { type: 'image', source: imageSource(media), ...fields }
  const title = part.filename === undefined ? {} : { title: part.filename }
  return { type: 'document', source: documentSource(media), ...title, ...fields }
}

/** Whether a file is shown as plain text though it says it is another kind of text. */
export function isShownAsPlain(part: ImagePart | FilePart): boolean {
  if (part.type === 'image') return false
  const media = mediaOf(part.data, part.mediaType)
  return (
    !('url' in media) && media.mediaType?.startsWith('text/') === true && media.mediaType !== 'text/plain'
  )
}

function imageSource(media: Media): AnthropicImageSource {
  if ('url' in media) return { type: 'url', url: media.url }
  const { base64, mediaType = 'image/png' } = media
  return { type: 'base64', media_type: mediaType as ImageType, data: base64 }
}

function documentSource(media: Media): AnthropicDocumentSource {
  if ('url' in media) return { type: 'url', url: media.url }
  const { base64, mediaType = 'application/pdf' } = media
  if (mediaType.startsWith('text/'))
    return { type: 'text', media_type: 'text/plain', data: Buffer.from(base64, 'base64').toString() }
  return { type: 'base64', media_type: mediaType as DocumentType, data: base64 }
}
