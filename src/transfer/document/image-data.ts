import type { FilePart, ImagePart } from '../../messages/message.ts'

/** A picture that may stand in a document: a raster image whose bytes say themselves what it is. */
export type Picture = { readonly mediaType: string; readonly base64: string; readonly bytes: number }

/** What is known of an image or a file without its bytes. */
export type Media = {
  readonly picture: Picture | undefined
  /** Bytes, where they are stored. */
  readonly bytes: number | undefined
  /** The address, where it is a web address. */
  readonly address: string | undefined
}

/**
 * Reads an image or a file of the neutral form. Only PNG, JPEG, GIF and WebP become pictures, told by their first bytes and not by
 * what somebody calls them; SVG, which is a document with scripts, never does.
 */
export function mediaOf(part: ImagePart | FilePart): Media {
  const data = part.type === 'image' ? part.image : part.data
  if (typeof data === 'string' && /^https?:\/\//i.test(data))
    return { picture: undefined, bytes: undefined, address: data }
  const bytes = bytesOf(data)
  if (bytes === undefined) return { picture: undefined, bytes: undefined, address: undefined }
  const mediaType = rasterType(bytes)
  const picture =
    mediaType === undefined
      ? undefined
      : { mediaType, base64: bytes.toString('base64'), bytes: bytes.byteLength }
  return { picture, bytes: bytes.byteLength, address: undefined }
}

function bytesOf(data: string | Uint8Array): Buffer | undefined {
  if (typeof data !== 'string') return Buffer.from(data.buffer, data.byteOffset, data.byteLength)
  const head = /^data:[^,]*;base64,/i.exec(data.slice(0, 1_000))
  if (head !== null) return Buffer.from(data.slice(head[0].length), 'base64')
  // Other addresses have no bytes here.
  if (/^[a-z][a-z0-9+.-]*:/i.test(data)) return undefined
  return Buffer.from(data, 'base64')
}

/** Source: the PNG specification 5.2, JFIF (T.871), GIF89a section 17, RFC 9649 for WebP. */
function rasterType(bytes: Buffer): string | undefined {
  const head = bytes.subarray(0, 12).toString('latin1')
  if (head.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png'
  if (head.startsWith('\xff\xd8\xff')) return 'image/jpeg'
  if (head.startsWith('GIF87a') || head.startsWith('GIF89a')) return 'image/gif'
  if (head.startsWith('RIFF') && head.slice(8, 12) === 'WEBP') return 'image/webp'
  return undefined
}
