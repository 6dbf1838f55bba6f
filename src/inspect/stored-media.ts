import { createHash } from 'node:crypto'
import type { FilePart, ImagePart } from '../core/messages/message.ts'

/* The bytes of stored images and files. */

/** A remote address, or the bytes of an image or a file, which are decoded only as far as they are read. */
export type StoredMedia =
  | { readonly url: string; readonly size?: never }
  | { readonly url?: never; readonly size: number; read(most?: number): Buffer }

/** Bytes that are read to recognize a type. */
const HEAD_BYTES = 32

/** Returns where the bytes of an image or a file are. */
export function storedMedia(part: ImagePart | FilePart): StoredMedia {
  const data = part.type === 'image' ? part.image : part.data
  if (typeof data !== 'string') {
    const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength)
    return { size: bytes.length, read: (most) => bytes.subarray(0, most) }
  }
  const head = /^data:[^,]{0,1000},/i.exec(data)?.[0]
  if (head === undefined) return /^[a-z][a-z0-9+.-]*:/i.test(data) ? { url: data } : base64Media(data, 0)
  return /;base64,$/i.test(head) ? base64Media(data, head.length) : textMedia(data.slice(head.length))
}

function base64Media(text: string, start: number): StoredMedia {
  const base64 = text.slice(start)
  return {
    size: Buffer.byteLength(base64, 'base64'),
    read: (most) =>
      most === undefined
        ? Buffer.from(base64, 'base64')
        : Buffer.from(base64.slice(0, Math.ceil(most / 3) * 4), 'base64').subarray(0, most),
  }
}

/** A data URL whose data is text. It never is a raster image, so its bytes only count. */
function textMedia(text: string): StoredMedia {
  const bytes = Buffer.from(text)
  return { size: bytes.length, read: (most) => bytes.subarray(0, most) }
}

/** Returns the type of a raster image by its first bytes; `undefined` for anything else, such as SVG. Its declared type isn't read. */
export function rasterType(media: StoredMedia): string | undefined {
  return media.url === undefined ? rasterTypeOf(media.read(HEAD_BYTES)) : undefined
}

/** Source: the PNG specification 5.2, JFIF (T.871), GIF89a section 17, RFC 9649 for WebP, and ISO/IEC 14496-12 4.3 for AVIF. */
function rasterTypeOf(bytes: Buffer): string | undefined {
  const head = bytes.toString('latin1')
  if (head.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png'
  if (head.startsWith('\xff\xd8\xff')) return 'image/jpeg'
  if (head.startsWith('GIF87a') || head.startsWith('GIF89a')) return 'image/gif'
  if (head.startsWith('RIFF') && head.slice(8, 12) === 'WEBP') return 'image/webp'
  if (head.slice(4, 8) === 'ftyp' && /^avi[fs]/.test(head.slice(8))) return 'image/avif'
  return undefined
}

/** Changes with the bytes of an image, so that a browser doesn't show the image of an earlier session with the same id. */
export function versionOf(media: StoredMedia): string {
  const sum = createHash('sha256').update(`${media.size}:`)
  if (media.url === undefined) sum.update(media.read(4_096))
  return sum.digest('base64url').slice(0, 12)
}
