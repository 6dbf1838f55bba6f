import { sniffedType } from '../messages/media-type.ts'
import type { FilePart, ImagePart, TextPart } from '../messages/message.ts'
import type { MediaRules } from '../tokens/providers.ts'

/** The longest name or address in a text, characters. */
const NAME_LENGTH = 200
/** No image or file is shorter, base64. */
const SHORTEST_FILE = 100

/** Why a provider cannot read an image or a file; `undefined` when it can, as far as its type and its address tell. */
function whyUnreadable(part: ImagePart | FilePart, { types, schemes }: MediaRules): string | undefined {
  const data = part.type === 'image' ? part.image : part.data
  if (data.length === 0) return 'it is empty'
  const stated = part.mediaType === undefined || isWildcard(part.mediaType) ? undefined : part.mediaType
  let type = stated?.split(';', 1)[0]?.trim().toLowerCase()
  if (typeof data === 'string') {
    const scheme = /^[a-z][a-z0-9+.-]*:/i.exec(data.slice(0, 100))?.[0].toLowerCase()
    if (scheme === 'data:')
      type ??= /^data:([^;,]*)/i.exec(data.slice(0, 200))?.[1]?.toLowerCase() || undefined
    else if (scheme !== undefined) {
      if (!schemes.includes(scheme)) return 'the provider cannot load it from its address'
    } else if (isRelative(data)) return 'its address is relative, so the provider cannot load it'
    else type ??= sniffedType(data)
  }
  if (type === undefined || types.some((known) => matches(known, type))) return undefined
  return `the provider does not read files of the type ${type}`
}

function isWildcard(mediaType: string): boolean {
  return mediaType.endsWith('/*') || !mediaType.includes('/')
}

function matches(known: string, type: string): boolean {
  return known === type || (known.endsWith('/*') && type.startsWith(known.slice(0, -1)))
}

/** Whether data without a scheme is an address of the application's own site instead of base64. */
function isRelative(data: string): boolean {
  if (!/^[A-Za-z0-9+/_\-\s]*={0,2}$/.test(data.slice(0, 1_000))) return true
  return data.startsWith('/') && !data.startsWith('/9j/') && data.length < SHORTEST_FILE
}

/** A text in place of an image or a file that a provider cannot read; `undefined` when it can. It names the file and the reason. */
export function unreadableText(part: ImagePart | FilePart, rules: MediaRules): TextPart | undefined {
  const why = whyUnreadable(part, rules)
  if (why === undefined) return undefined
  const data = part.type === 'image' ? part.image : part.data
  const isAddress =
    typeof data === 'string' &&
    !/^data:/i.test(data) &&
    (isRelative(data) || /^[a-z][a-z0-9+.-]*:/i.test(data))
  const name = (part.type === 'file' ? part.filename : undefined) ?? (isAddress ? data : '')
  const kind = part.type === 'image' || part.mediaType.startsWith('image/') ? 'image' : 'file'
  const shown = name.replace(/\s+/g, ' ').slice(0, NAME_LENGTH).toWellFormed()
  return { type: 'text', text: `[${kind}${shown === '' ? '' : ` ${shown}`} is not shown: ${why}]` }
}
