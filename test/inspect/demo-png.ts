import { crc32, deflateSync } from 'node:zlib'

type Color = readonly [red: number, green: number, blue: number]

/** The color type of a PNG with red, green and blue for each pixel. */
const COLORS = 2

/** A PNG whose pixels a function colors. Browsers show it. */
export function picture(width: number, height: number, colorAt: (x: number, y: number) => Color): Uint8Array {
  const pixels = Buffer.alloc(height * (width * 3 + 1))
  for (let y = 0, at = 0; y < height; y++) {
    // Each line begins with its filter: none.
    at++
    for (let x = 0; x < width; x++) for (const value of colorAt(x, y)) pixels[at++] = value
  }
  return new Uint8Array(pngFile(width, height, COLORS, [['IDAT', deflateSync(pixels)]]))
}

/** The file of a PNG with 8 bits for each value: its header, the given chunks, and its end. Source: the PNG specification 5 and 11.2. */
export function pngFile(
  width: number,
  height: number,
  colorType: number,
  chunks: readonly (readonly [name: string, data: Buffer])[],
): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([8, colorType, 0, 0, 0], 8)
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', header),
    ...chunks.map(([name, data]) => chunk(name, data)),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

function chunk(name: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(name, 'latin1'), data])
  const whole = Buffer.alloc(body.length + 8)
  whole.writeUInt32BE(data.length, 0)
  whole.set(body, 4)
  whole.writeUInt32BE(crc32(body), body.length + 4)
  return whole
}

/** A picture of an invoice: a sheet with lines, and one line marked in red. */
export function invoicePicture(marked: number): Uint8Array {
  return picture(320, 200, (x, y) => {
    if (x < 24 || x >= 296 || y < 12) return [226, 232, 240]
    const line = Math.floor((y - 12) / 22)
    const isText =
      (y - 12) % 22 > 7 && (y - 12) % 22 < 15 && x > 40 && x < 280 - ((line * 37) % 90) && x % 41 > 5
    if (line === marked && x > 34 && x < 286) return isText ? [185, 28, 28] : [254, 226, 226]
    return isText ? [71, 85, 105] : [255, 255, 255]
  })
}
