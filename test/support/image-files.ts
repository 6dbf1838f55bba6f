/* Image files of a certain size: their headers, and as many bytes after them as wanted. No decoder reads them. */

/** A PNG: signature, length and name of the first chunk, width, height. */
export function png(width: number, height: number, bytes = 64): Buffer {
  const file = Buffer.alloc(bytes)
  file.write('\x89PNG\r\n\x1a\n\0\0\0\rIHDR', 'latin1')
  file.writeUInt32BE(width, 16)
  file.writeUInt32BE(height, 20)
  return file
}

/** A JPEG: a segment of metadata, of so many bytes, before the one with the size. */
export function jpeg(width: number, height: number, metadata = 16): Buffer {
  const segments: Buffer[] = [Buffer.from([0xff, 0xd8])]
  // A segment has at most 65,535 bytes, with its length.
  for (let left = metadata; left > 0; left -= 60_000) {
    const length = Math.min(left, 60_000)
    const head = Buffer.from([0xff, 0xe1, 0, 0])
    head.writeUInt16BE(length + 2, 2)
    segments.push(head, Buffer.alloc(length))
  }
  const size = Buffer.from([0xff, 0xc0, 0, 17, 8, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0])
  size.writeUInt16BE(height, 5)
  size.writeUInt16BE(width, 7)
  return Buffer.concat([...segments, size])
}

export function gif(width: number, height: number): Buffer {
  const file = Buffer.alloc(32)
  file.write('GIF89a', 'latin1')
  file.writeUInt16LE(width, 6)
  file.writeUInt16LE(height, 8)
  return file
}

/** A WebP of one of its three kinds. */
export function webp(kind: 'VP8 ' | 'VP8L' | 'VP8X', width: number, height: number): Buffer {
  const file = Buffer.alloc(64)
  file.write('RIFF\0\0\0\0WEBP', 'latin1')
  file.write(kind, 12, 'latin1')
  if (kind === 'VP8X') {
    file.writeUIntLE(width - 1, 24, 3)
    file.writeUIntLE(height - 1, 27, 3)
  } else if (kind === 'VP8L') {
    file[20] = 0x2f
    file.writeUInt32LE((width - 1) | ((height - 1) << 14), 21)
  } else {
    file.writeUInt16LE(width, 26)
    file.writeUInt16LE(height, 28)
  }
  return file
}
