/** What the first bytes of a picture tell. */
export type Picture = { readonly type: string; readonly width?: number; readonly height?: number }

/** How many bytes are read: a JPEG can have a long preview before its size. */
const READ = 256 * 1024

/** Reads type and size of a picture, `undefined` for another file. Source: the formats' specifications. */
export function pictureOf(data: string | Uint8Array): Picture | undefined {
  const bytes =
    typeof data === 'string'
      ? Buffer.from(data.slice(0, (READ / 3) * 4), 'base64')
      : Buffer.from(data.buffer, data.byteOffset, Math.min(data.byteLength, READ))
  const begins = (text: string, at = 0): boolean => bytes.toString('latin1', at, at + text.length) === text
  if (begins('\x89PNG\r\n\x1a\n')) {
    if (bytes.length < 24) return { type: 'image/png' }
    return { type: 'image/png', width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) }
  }
  if (begins('GIF87a') || begins('GIF89a')) {
    if (bytes.length < 10) return { type: 'image/gif' }
    return { type: 'image/gif', width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) }
  }
  if (begins('\xff\xd8\xff')) return { type: 'image/jpeg', ...jpegSize(bytes) }
  if (begins('RIFF') && begins('WEBP', 8)) return { type: 'image/webp', ...webpSize(bytes, begins) }
  return undefined
}

type Size = { width: number; height: number } | undefined

/** Segments follow each other; those from C0 to CF hold the size, but for three. */
function jpegSize(bytes: Buffer): Size {
  let at = 2
  while (at + 9 < bytes.length && bytes[at] === 0xff) {
    const kind = bytes[at + 1]!
    if (kind >= 0xc0 && kind <= 0xcf && kind !== 0xc4 && kind !== 0xc8 && kind !== 0xcc)
      return { width: bytes.readUInt16BE(at + 7), height: bytes.readUInt16BE(at + 5) }
    at += kind === 0xff ? 1 : 2 + Math.max(2, bytes.readUInt16BE(at + 2))
  }
  return undefined
}

function webpSize(bytes: Buffer, begins: (text: string, at: number) => boolean): Size {
  if (bytes.length < 30) return undefined
  if (begins('VP8X', 12)) return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 }
  if (begins('VP8L', 12)) {
    const packed = bytes.readUInt32LE(21)
    return { width: (packed & 0x3fff) + 1, height: ((packed >>> 14) & 0x3fff) + 1 }
  }
  if (begins('VP8 ', 12))
    return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff }
  return undefined
}
