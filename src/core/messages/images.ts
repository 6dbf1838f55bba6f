/** Width and height of an image, in pixels. */
export type ImageSize = { readonly width: number; readonly height: number }

/** The bytes that are read first, enough for most images, and the bytes that are read if long metadata precedes the size of a JPEG. */
const FIRST_READ_BYTES = 1_024
const MAX_READ_BYTES = 256 * 1_024

/**
 * Returns the size of an image from its header; `undefined` if the data is not PNG, JPEG, GIF or WebP, or if the size is not near the
 * beginning. A text is decoded as base64. Sources: the specifications of the formats.
 */
export function imageSizeOf(data: string | Uint8Array): ImageSize | undefined {
  const size = sizeIn(beginningOf(data, FIRST_READ_BYTES))
  return size === 'later' ? onlySize(sizeIn(beginningOf(data, MAX_READ_BYTES))) : size
}

function onlySize(size: ImageSize | 'later' | undefined): ImageSize | undefined {
  return size === 'later' ? undefined : size
}

function beginningOf(data: string | Uint8Array, bytes: number): Buffer {
  return typeof data === 'string'
    ? Buffer.from(data.slice(0, Math.ceil(bytes / 3) * 4), 'base64')
    : Buffer.from(data.buffer, data.byteOffset, Math.min(data.byteLength, bytes))
}

/** Returns `later` if the size is after the given bytes. */
function sizeIn(bytes: Buffer): ImageSize | 'later' | undefined {
  const is = (text: string, at = 0): boolean => bytes.toString('latin1', at, at + text.length) === text
  if (is('\x89PNG\r\n\x1a\n'))
    return bytes.length < 24 ? undefined : { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) }
  if (is('GIF8'))
    return bytes.length < 10 ? undefined : { width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) }
  if (is('\xff\xd8\xff')) return sizeInJpeg(bytes)
  if (!is('RIFF') || !is('WEBP', 8) || bytes.length < 30) return undefined
  if (is('VP8X', 12)) return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 }
  if (is('VP8L', 12)) {
    const packed = bytes.readUInt32LE(21)
    return { width: (packed & 0x3fff) + 1, height: ((packed >>> 14) & 0x3fff) + 1 }
  }
  if (!is('VP8 ', 12)) return undefined
  return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff }
}

/** JPEG segments C0 to CF hold the size, except for these: tables, and a reserved one. */
const WITHOUT_SIZE: ReadonlySet<number> = new Set([0xc4, 0xc8, 0xcc])

function sizeInJpeg(bytes: Buffer): ImageSize | 'later' | undefined {
  let at = 2
  while (at + 9 <= bytes.length) {
    if (bytes[at] !== 0xff) return undefined
    const kind = bytes[at + 1]!
    if (kind >= 0xc0 && kind <= 0xcf && !WITHOUT_SIZE.has(kind))
      return { width: bytes.readUInt16BE(at + 7), height: bytes.readUInt16BE(at + 5) }
    // Bytes of FF may pad the space before a segment.
    at += kind === 0xff ? 1 : 2 + Math.max(2, bytes.readUInt16BE(at + 2))
  }
  return 'later'
}

/** Returns the media type of base64 data by its first bytes: PDF, or one of the four image types that models read. */
export function sniffedType(base64: string): string | undefined {
  return imageTypeOf(base64) ?? (base64.startsWith('JVBERi0') ? 'application/pdf' : undefined)
}

/** Returns the media type of an image by its first bytes: one of the four types that models read. */
export function imageTypeOf(base64: string): string | undefined {
  if (base64.startsWith('iVBORw0KGgo')) return 'image/png'
  if (base64.startsWith('/9j/')) return 'image/jpeg'
  if (base64.startsWith('R0lGOD')) return 'image/gif'
  if (base64.startsWith('UklGR')) return 'image/webp'
  return undefined
}
