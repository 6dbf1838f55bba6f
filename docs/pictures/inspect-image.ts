import { deflateSync, inflateSync } from 'node:zlib'
import gifenc from 'gifenc'
import { pngFile } from '../../test/inspect/demo-png.ts'

const { applyPalette, GIFEncoder, quantize } = gifenc

/* Screenshots as small files: PNG with a palette, and an animated GIF whose frames hold only what changed. */

/** Pixels, four bytes each. */
export type Image = { readonly width: number; readonly height: number; readonly pixels: Uint8Array }

/** The color type of a PNG whose pixels are numbers of colors. */
const PALETTE = 3
/** The values of a pixel, by color type. */
const CHANNELS: { readonly [colorType: number]: number } = { 2: 3, 6: 4 }

/** Reads a screenshot: a PNG with 8 bits in each channel, not interlaced. */
export function readPng(file: Buffer): Image {
  const [width, height] = [file.readUInt32BE(16), file.readUInt32BE(20)]
  const channels = CHANNELS[file[25]!]
  if (channels === undefined || file[24] !== 8 || file[28] !== 0) throw new Error('not a screenshot')
  const data: Buffer[] = []
  for (let at = 8; at < file.length; ) {
    const length = file.readUInt32BE(at)
    if (file.toString('latin1', at + 4, at + 8) === 'IDAT') data.push(file.subarray(at + 8, at + 8 + length))
    at += length + 12
  }
  const lines = unfiltered(inflateSync(Buffer.concat(data)), width * channels, height, channels)
  const pixels = new Uint8Array(width * height * 4).fill(255)
  for (let at = 0; at < width * height; at++)
    for (let channel = 0; channel < channels; channel++)
      pixels[at * 4 + channel] = lines[at * channels + channel]!
  return { width, height, pixels }
}

/** Reverses the filters of a PNG's lines. */
function unfiltered(data: Buffer, length: number, height: number, channels: number): Uint8Array {
  const out = new Uint8Array(length * height)
  for (let y = 0; y < height; y++) {
    const filter = data[y * (length + 1)]!
    for (let x = 0; x < length; x++) {
      const left = x < channels ? 0 : out[y * length + x - channels]!
      const up = y === 0 ? 0 : out[(y - 1) * length + x]!
      const corner = x < channels || y === 0 ? 0 : out[(y - 1) * length + x - channels]!
      const predicted = [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter]!
      out[y * length + x] = data[y * (length + 1) + 1 + x]! + predicted
    }
  }
  return out
}

function paeth(left: number, up: number, corner: number): number {
  const estimate = left + up - corner
  const [a, b, c] = [Math.abs(estimate - left), Math.abs(estimate - up), Math.abs(estimate - corner)]
  return a <= b && a <= c ? left : b <= c ? up : corner
}

/** Writes a PNG with a palette of at most `colors` colors. */
export function palettePng({ width, height, pixels }: Image, colors = 128): Buffer {
  const palette = quantize(pixels, colors)
  const indexes = applyPalette(pixels, palette)
  const lines = Buffer.alloc((width + 1) * height)
  for (let y = 0; y < height; y++)
    lines.set(indexes.subarray(y * width, (y + 1) * width), y * (width + 1) + 1)
  return pngFile(width, height, PALETTE, [
    ['PLTE', Buffer.from(palette.flatMap(([red, green, blue]) => [red!, green!, blue!]))],
    ['IDAT', deflateSync(lines, { level: 9 })],
  ])
}

export type Frame = { readonly image: Image; readonly delayMs: number }

/** Writes an animated GIF that repeats. What didn't change since the frame before is transparent. */
export function animatedGif(frames: readonly Frame[], colors = 64): Buffer {
  const encoder = GIFEncoder()
  const palette = [[0, 0, 0], ...quantize(sampleOf(frames), colors - 1)]
  let before: Uint8Array | undefined
  for (const { image, delayMs } of frames) {
    const { width, height, pixels } = image
    const indexes = applyPalette(pixels, palette.slice(1)).map((index) => index + 1)
    const shown =
      before === undefined ? indexes : indexes.map((index, at) => (index === before![at] ? 0 : index))
    encoder.writeFrame(shown, width, height, {
      ...(before === undefined && { palette, repeat: 0 }),
      ...{ delay: delayMs, dispose: 1, transparent: before !== undefined, transparentIndex: 0 },
    })
    before = indexes
  }
  encoder.finish()
  return Buffer.from(encoder.bytes())
}

/** Every seventh pixel of all frames: enough to choose the colors. */
function sampleOf(frames: readonly Frame[]): Uint8Array {
  const sample: number[] = []
  for (const { image } of frames)
    for (let at = 0; at < image.pixels.length; at += 28)
      sample.push(image.pixels[at]!, image.pixels[at + 1]!, image.pixels[at + 2]!, 255)
  return Uint8Array.from(sample)
}

/** An arrow, a pixel for each character: `#` black, `.` white. */
const ARROW = [
  '#',
  '##',
  '#.#',
  '#..#',
  '#...#',
  '#....#',
  '#.....#',
  '#......#',
  '#.......#',
  '#........#',
  '#.....####',
  '#..#..#',
  '#.# #..#',
  '##  #..#',
  '#    #..#',
  '     #..#',
  '      ##',
]

/** Draws the pointer of a mouse. */
export function withPointer(image: Image, x: number, y: number): Image {
  const pixels = Uint8Array.from(image.pixels)
  for (const [row, line] of ARROW.entries())
    for (const [column, sign] of [...line].entries()) {
      const [left, top] = [Math.round(x) + column, Math.round(y) + row]
      if (sign === ' ' || left < 0 || left >= image.width || top < 0 || top >= image.height) continue
      const value = sign === '#' ? 0 : 255
      pixels.set([value, value, value, 255], (top * image.width + left) * 4)
    }
  return { ...image, pixels }
}
