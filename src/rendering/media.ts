import { imageTypeOf, sniffedType } from '../messages/media-type.ts'
import type { FilePart, ImagePart, TextPart } from '../messages/message.ts'
import type { MediaRules } from '../tokens/providers.ts'

/** The longest name or address in a text, characters. */
const NAME_LENGTH = 200
/** No image or file is shorter, base64. */
const SHORTEST_FILE = 100
/** The characters of base64 or of an address that are looked at. */
const START = 1_000

/** What the beginning of an image or a file says of it. */
type Look = {
  /** The media type that is stated, or that its data URL states. */
  readonly stated: string | undefined
  /** The beginning of its base64; absent for an address. */
  readonly base64?: string
  /** Its address; absent for data. */
  readonly address?: string
  /** The scheme of its address, with the colon; absent for a relative one. */
  readonly scheme?: string
}

function lookAt(part: ImagePart | FilePart): Look {
  const { mediaType } = part
  const data = part.type === 'image' ? part.image : part.data
  const given = (mediaType ?? '').split(';', 1)[0]!.trim().toLowerCase()
  // `image/*` says no type.
  const stated = given.includes('/') && !given.endsWith('/*') ? given : undefined
  if (typeof data !== 'string')
    return { stated, base64: Buffer.from(data.subarray(0, 12)).toString('base64') }
  const start = data.slice(0, START)
  const comma = /^data:/i.test(start) ? start.indexOf(',') : -1
  if (comma !== -1) {
    const named = start.slice('data:'.length, comma).split(';', 1)[0]!.toLowerCase()
    return { stated: stated ?? (named || undefined), base64: start.slice(comma + 1) }
  }
  const scheme = /^[a-z][a-z0-9+.-]*:/i.exec(start)?.[0].toLowerCase()
  if (scheme !== undefined) return { stated, address: data, scheme }
  return isRelative(data, start) ? { stated, address: data } : { stated, base64: start }
}

/** Whether data without a scheme is an address of the application's own site instead of base64. */
function isRelative(data: string, start: string): boolean {
  if (!/^[A-Za-z0-9+/_=\-\s]*$/.test(start)) return true
  return data.startsWith('/') && !data.startsWith('/9j/') && data.length < SHORTEST_FILE
}

/** Why a provider cannot read an image or a file; `undefined` when it can, as far as its type and its address tell. */
function whyUnreadable(look: Look, { types, schemes }: MediaRules): string | undefined {
  const { stated, base64, address, scheme } = look
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

/** The media type of an image that is stated to be of another; `undefined` when the stated type is right, or the bytes are not known. */
export function trueType(part: ImagePart | FilePart): string | undefined {
  const { stated, base64 } = lookAt(part)
  if (stated?.startsWith('image/') !== true) return undefined
  const type = base64 === undefined ? undefined : imageTypeOf(base64)
  if (type !== undefined) return type === stated ? undefined : type
  return stated === 'image/jpg' ? 'image/jpeg' : undefined
}

/** A text in place of an image or a file that a provider cannot read; `undefined` when it can. It names the file and the reason. */
export function unreadableText(part: ImagePart | FilePart, rules: MediaRules): TextPart | undefined {
  const look = lookAt(part)
  const why = whyUnreadable(look, rules)
  if (why === undefined) return undefined
  const name = (part.type === 'file' ? part.filename : undefined) ?? look.address ?? ''
  const kind = part.type === 'image' || part.mediaType.startsWith('image/') ? 'image' : 'file'
  const shown = name.slice(0, NAME_LENGTH).replace(/\s+/g, ' ').toWellFormed()
  return { type: 'text', text: `[${kind}${shown === '' ? '' : ` ${shown}`} is not shown: ${why}]` }
}
