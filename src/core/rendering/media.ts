import { invalid } from '../errors.ts'
import { type ImageSize, imageSizeOf, imageTypeOf, sniffedType } from '../messages/images.ts'
import { defined } from '../messages/json.ts'
import type { FilePart, ImagePart, TextPart } from '../messages/message.ts'
import { FEW_IMAGES, type MediaItemLimits } from '../tokens/media-limits.ts'
import type { MediaRules } from '../tokens/providers.ts'

/** The longest name or address in a text, in characters. */
const MAX_LABEL_LENGTH = 200
/** The shortest possible image or file, in units of base64. */
const MIN_FILE_LENGTH = 100
/** The number of leading characters of base64 or of an address that are examined. */
const EXAMINED_LENGTH = 1_000

/** The properties that the beginning of an image or a file shows. */
type MediaStart = {
  /** The stated media type, or the one in its data URL. */
  readonly stated: string | undefined
  /** The beginning of its base64; absent for an address. */
  readonly base64?: string
  /** Its address; absent for data. */
  readonly address?: string
  /** The scheme of its address, with the colon; absent for a relative one. */
  readonly scheme?: string
}

function startOf(part: ImagePart | FilePart): MediaStart {
  const { mediaType } = part
  const data = part.type === 'image' ? part.image : part.data
  const given = (mediaType ?? '').split(';', 1)[0]!.trim().toLowerCase()
  // `image/*` doesn't name a type.
  const stated = given.includes('/') && !given.endsWith('/*') ? given : undefined
  if (typeof data !== 'string')
    return { stated, base64: Buffer.from(data.subarray(0, 12)).toString('base64') }
  const start = data.slice(0, EXAMINED_LENGTH)
  const comma = /^data:/i.test(start) ? start.indexOf(',') : -1
  if (comma !== -1) {
    const named = start.slice('data:'.length, comma).split(';', 1)[0]!.toLowerCase()
    return { stated: stated ?? (named || undefined), base64: start.slice(comma + 1) }
  }
  const scheme = /^[a-z][a-z0-9+.-]*:/i.exec(start)?.[0].toLowerCase()
  if (scheme !== undefined) return { stated, address: data, scheme }
  return isRelative(data, start) ? { stated, address: data } : { stated, base64: start }
}

/** Returns whether data without a scheme is an address on the application's own site rather than base64. */
function isRelative(data: string, start: string): boolean {
  if (!/^[A-Za-z0-9+/_=\-\s]*$/.test(start)) return true
  return data.startsWith('/') && !data.startsWith('/9j/') && data.length < MIN_FILE_LENGTH
}

/** Returns why a provider cannot read an image or a file; `undefined` if it can, as far as its type and its address show. */
function whyUnreadable(start: MediaStart, { types, schemes }: MediaRules): string | undefined {
  const { stated, base64, address, scheme } = start
  if (base64 === '') return 'it is empty'
  if (address !== undefined && scheme === undefined)
    return 'its address is relative, so the provider cannot load it'
  if (scheme !== undefined && !schemes.includes(scheme)) return 'the provider cannot load it from its address'
  const type = stated ?? (base64 === undefined ? undefined : sniffedType(base64))
  if (type === undefined || types.some((known) => matches(known, type))) return undefined
  return `the provider does not read files of the type ${type}`
}

function matches(known: string, type: string): boolean {
  return known === type || (known.endsWith('/*') && type.startsWith(known.slice(0, -1)))
}

/**
 * Returns the media type of an image whose stated type is wrong; `undefined` if the stated type is right, or if the bytes are unknown.
 */
export function trueType(part: ImagePart | FilePart): string | undefined {
  const { stated, base64 } = startOf(part)
  if (stated?.startsWith('image/') !== true) return undefined
  const type = base64 === undefined ? undefined : imageTypeOf(base64)
  if (type !== undefined) return type === stated ? undefined : type
  return stated === 'image/jpg' ? 'image/jpeg' : undefined
}

/**
 * Returns a text in place of an image or a file that a provider cannot read, with its name and the reason; `undefined` if the provider
 * can read it.
 */
export function unreadableText(part: ImagePart | FilePart, rules: MediaRules): TextPart | undefined {
  const start = startOf(part)
  const why = whyUnreadable(start, rules)
  return why === undefined ? undefined : placeholderFor(part, why, start.address)
}

/** Returns the text in place of an image or a file. */
function placeholderFor(part: ImagePart | FilePart, why: string, address = ''): TextPart {
  const name = (part.type === 'file' ? part.filename : undefined) ?? address
  const shown = name.slice(0, MAX_LABEL_LENGTH).replace(/\s+/g, ' ').toWellFormed()
  return {
    type: 'text',
    text: `[${isImage(part) ? 'image' : 'file'}${shown === '' ? '' : ` ${shown}`} is not shown: ${why}]`,
  }
}

/** Returns whether a part is an image, including a file with an image type. */
export function isImage(part: ImagePart | FilePart): boolean {
  return part.type === 'image' || part.mediaType.startsWith('image/')
}

/*
 * Images that are larger than a provider accepts. Sizes come from image headers: they are unknown for an image given by its address, and
 * if the header isn't at the beginning.
 */

/** An image whose size a provider would refuse, and the provider's limits. A limit is absent if it is unknown or does not exist. */
export type ImageToResize = {
  /** The bytes of its file. */
  readonly data: Uint8Array
  readonly mediaType: string
  readonly width?: number
  readonly height?: number
  readonly maxWidth?: number
  readonly maxHeight?: number
  /** Maximum total pixels. */
  readonly maxPixels?: number
  /** Maximum bytes of the file. */
  readonly maxBytes?: number
}

/** An image that replaces a larger one: bytes or base64, and its media type. */
export type ResizedImage = { readonly data: Uint8Array | string; readonly mediaType: string }

/**
 * Returns a smaller image, always the same for the same image, because different bytes in a later request would invalidate the prompt
 * cache. Returns `undefined` if it cannot resize the image.
 */
export type ResizeImage = (image: ImageToResize) => ResizedImage | undefined

/** An image that is too large, with its base64 or its bytes: `data` is decoded only when it is read. */
export type LargeImage = ImageToResize & { readonly source: string | Uint8Array }

function largeImage(image: Omit<LargeImage, 'data'>): LargeImage {
  const { source } = image
  return {
    ...image,
    get data() {
      return typeof source === 'string' ? Buffer.from(source, 'base64') : source
    },
  }
}

/** Why an image or a file is too large for a provider; also the image, if it may be resized. */
export type TooLarge = { readonly why: string; readonly image?: LargeImage }

/**
 * Returns why an image or a file is too large; `undefined` if it isn't, as far as is known. `isMany`: the request contains many images.
 */
export function tooLarge(
  part: ImagePart | FilePart,
  limits: MediaItemLimits,
  isMany: boolean,
): TooLarge | undefined {
  const data = part.type === 'image' ? part.image : part.data
  const source = typeof data === 'string' ? base64In(data) : data
  if (source === undefined) return undefined
  const bytes = typeof source === 'string' ? bytesIn(source) : source.byteLength
  if (!isImage(part)) {
    const { fileBytes } = limits
    return fileBytes !== undefined && bytes > fileBytes ? { why: tooManyBytes(bytes, fileBytes) } : undefined
  }
  const { side: sideOfFew, sideOfMany, pixels, imageBytes } = limits
  const side = isMany ? (sideOfMany ?? sideOfFew) : sideOfFew
  const size = side === undefined && pixels === undefined ? undefined : imageSizeOf(source)
  const why = whyTooLarge(size, bytes, { side, pixels, bytes: imageBytes, isMany: side !== sideOfFew })
  if (why === undefined) return undefined
  const given = part.mediaType?.endsWith('/*') === true ? undefined : part.mediaType
  const start = typeof source === 'string' ? source : Buffer.from(source.subarray(0, 12)).toString('base64')
  const mediaType = given ?? imageTypeOf(start) ?? 'image/png'
  const most = { maxWidth: side, maxHeight: side, maxPixels: pixels, maxBytes: imageBytes }
  return { why, image: largeImage({ source, mediaType, ...size, ...defined(most) }) }
}

type ImageLimits = {
  readonly side: number | undefined
  readonly pixels: number | undefined
  readonly bytes: number | undefined
  readonly isMany: boolean
}

function whyTooLarge(
  size: ImageSize | undefined,
  bytes: number,
  { side, pixels, bytes: most, isMany }: ImageLimits,
): string | undefined {
  if (size !== undefined) {
    const { width, height } = size
    const is = `it has ${width} × ${height} pixels, and the provider accepts at most`
    if (side !== undefined && Math.max(width, height) > side)
      return `${is} ${side} on a side${isMany ? ` in a request with more than ${FEW_IMAGES} images` : ''}`
    if (pixels !== undefined && width * height > pixels) return `${is} ${pixels} in all`
  }
  return most !== undefined && bytes > most ? tooManyBytes(bytes, most) : undefined
}

function tooManyBytes(bytes: number, most: number): string {
  return `it has ${bytes} bytes, and the provider accepts at most ${most}`
}

/** Returns the base64 of data that is a text; `undefined` for an address and for a data URL with another encoding. */
function base64In(data: string): string | undefined {
  const start = data.slice(0, EXAMINED_LENGTH)
  if (/^data:/i.test(start)) {
    const comma = start.indexOf(',')
    return comma !== -1 && /;base64$/i.test(start.slice(0, comma)) ? data.slice(comma + 1) : undefined
  }
  return /^[a-z][a-z0-9+.-]*:/i.test(start) ? undefined : data
}

/** Returns the maximum number of bytes that base64 encodes. */
function bytesIn(base64: string): number {
  const padding = base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0
  return Math.floor(((base64.length - padding) * 3) / 4)
}

/** Returns a smaller image in place of one that is too large; a text if none can be made, or if it is still too large. */
export function smallerMedia(
  part: ImagePart | FilePart,
  { why, image }: TooLarge,
  resize: ResizeImage | undefined,
  isAccepted: (part: ImagePart | FilePart) => boolean,
): ImagePart | FilePart | TextPart {
  const resized = image && resize?.(image)
  if (resized === undefined) return placeholderFor(part, why)
  const { data, mediaType } = checkResized(resized)
  const smaller = part.type === 'image' ? { ...part, image: data, mediaType } : { ...part, data, mediaType }
  return isAccepted(smaller)
    ? smaller
    : placeholderFor(part, `${why}; it was resized to what it does not accept`)
}

/** Checks the value that the application's resizing function returned. Throws `INVALID_INPUT` for any other form. */
export function checkResized(resized: ResizedImage): ResizedImage {
  const { data, mediaType } = (resized ?? {}) as Partial<ResizedImage>
  const isData = (typeof data === 'string' && data !== '') || (data instanceof Uint8Array && data.length > 0)
  if (!isData || typeof mediaType !== 'string' || !mediaType.startsWith('image/'))
    throw invalid(
      'resizeImage: must return { data, mediaType } with bytes or base64 of an image, or undefined',
    )
  return resized
}
