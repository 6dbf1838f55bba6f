import { headOf } from '../core/messages/characters.ts'
import { isObject } from '../core/messages/json.ts'
import type { FilePart, ImagePart } from '../core/messages/message.ts'
import { rasterType, storedMedia, versionOf } from './stored-media.ts'
import type { PlacedMedia } from './verbs.ts'

/*
 * The results of the store's methods as JSON for the page. Bytes aren't sent: a raster image gets an address, other media a description.
 * Long texts are cut, unless the page asked for the whole.
 */

/** Texts up to this length, in UTF-16 units, are sent whole. */
export const MAX_TEXT_LENGTH = 20_000

/** The place of an image or a file in a session. */
export type MediaPlace = {
  readonly position?: number
  /** The id of the message, if it has no position. */
  readonly message?: string
  readonly part: number
  /** The index within the content of a tool result. */
  readonly item?: number
}

type Sending = {
  readonly whole: boolean
  /** Returns the address of an image. `version` changes with its bytes. The place of a message that isn't a row is unknown. */
  address(place: MediaPlace | undefined, version: string): string | undefined
}

type Fields = { readonly [name: string]: unknown }
/** The characters that were left out of an item: a row, or an element of the result. */
type Item = { leftOut: number }
type Place = Omit<MediaPlace, 'part'> | undefined

/** Fields that hold foreign JSON, in which nothing is a row or a part. */
const FOREIGN: ReadonlySet<string> = new Set([
  'metadata',
  'config',
  'params',
  'detail',
  'usage',
  'tools',
  'rendering',
])

/** Returns a result of a method as JSON. */
export function sendable(value: unknown, sending: Sending): unknown {
  return new Sender(sending).element(value)
}

class Sender {
  readonly #sending: Sending

  constructor(sending: Sending) {
    this.#sending = sending
  }

  /** Returns the whole result, or an element of a list, with the number of characters that were left out of it. */
  element(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((one) => this.element(one))
    if (!isObject(value) || value instanceof Uint8Array) return this.#json(value, { leftOut: 0 })
    const item: Item = { leftOut: 0 }
    const sent = isRow(value) ? this.#row(value, item) : this.#fields(value, item)
    return item.leftOut === 0 ? sent : { ...sent, shortened: item.leftOut }
  }

  #fields(fields: Fields, item: Item): Fields {
    return mapFields(fields, (inner, name) => {
      if (FOREIGN.has(name)) return this.#json(inner, item)
      if (name === 'output' && isObject(inner)) return this.#output(inner, item, placeOfResult(fields))
      if (Array.isArray(inner))
        return inner.map((one) => (isObject(one) ? this.#nested(one, item) : this.#json(one, item)))
      return isObject(inner) ? this.#nested(inner, item) : this.#json(inner, item)
    })
  }

  /** A row counts for itself; anything else belongs to the item around it. */
  #nested(value: Fields, item: Item): unknown {
    if (isRow(value)) return this.element(value)
    return value instanceof Uint8Array ? this.#json(value, item) : this.#fields(value, item)
  }

  #row(row: Fields, item: Item): Fields {
    const place = placeOfRow(row)
    return mapFields(row, (inner, name) => {
      if (name === 'content' && Array.isArray(inner))
        return inner.map((part, index) => this.#part(part, item, place && { ...place, part: index }))
      return name === 'children' || name === 'shown'
        ? this.#fields({ [name]: inner }, item)[name]
        : this.#json(inner, item)
    })
  }

  #part(part: unknown, item: Item, place: MediaPlace | undefined): unknown {
    if (!isObject(part)) return this.#json(part, item)
    if (isMedia(part)) return this.#media(part, item, place)
    if (part.type !== 'tool-result') return this.#json(part, item)
    return mapFields(part, (inner, name) =>
      name === 'output' && isObject(inner) ? this.#output(inner, item, place) : this.#json(inner, item),
    )
  }

  /** The output of a tool, which may contain images. */
  #output(output: Fields, item: Item, place: MediaPlace | undefined): Fields {
    return mapFields(output, (inner, name) =>
      name === 'value' && output.type === 'content' && Array.isArray(inner)
        ? inner.map((one, index) =>
            isObject(one) && isMedia(one)
              ? this.#media(one, item, place && { ...place, item: index })
              : this.#json(one, item),
          )
        : this.#json(inner, item),
    )
  }

  #media(part: ImagePart | FilePart, item: Item, place: MediaPlace | undefined): PlacedMedia {
    const media = storedMedia(part)
    const type = rasterType(media)
    const filename = part.type === 'file' ? part.filename : undefined
    const src = type && this.#sending.address(place, versionOf(media))
    return {
      type: part.type,
      mediaType: type ?? this.#text(part.mediaType ?? 'application/octet-stream', item),
      ...(filename !== undefined && { filename: this.#text(filename, item) }),
      ...(media.url === undefined ? { bytes: media.size } : { url: this.#text(media.url, item) }),
      ...(src !== undefined && { src }),
    }
  }

  #json(value: unknown, item: Item): unknown {
    if (typeof value === 'string') return this.#text(value, item)
    if (value instanceof Uint8Array) return { bytes: value.byteLength }
    if (Array.isArray(value)) return value.map((one) => this.#json(one, item))
    return isObject(value) && !(value instanceof Date)
      ? mapFields(value, (inner) => this.#json(inner, item))
      : value
  }

  #text(text: string, item: Item): string {
    if (this.#sending.whole || text.length <= MAX_TEXT_LENGTH) return text
    const head = headOf(text, MAX_TEXT_LENGTH)
    item.leftOut += text.length - head.length
    return head
  }
}

/** Copies an object. A stored field may be called `__proto__`, which an assignment would read as the prototype. */
function mapFields(fields: Fields, sent: (value: unknown, name: string) => unknown): Fields {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, sent(value, name)]))
}

function isRow(value: Fields): boolean {
  return typeof value.role === 'string' && (typeof value.content === 'string' || Array.isArray(value.content))
}

function isMedia(part: Fields): part is Fields & (ImagePart | FilePart) {
  const data = part.type === 'image' ? part.image : part.type === 'file' ? part.data : undefined
  return typeof data === 'string' || data instanceof Uint8Array
}

/** Rows of a summary that is opened have a range of positions instead of one. */
function placeOfRow({ position, positions, kind, id }: Fields): Place {
  if (typeof position === 'number') return { position }
  const [first] = kind === 'message' && Array.isArray(positions) ? positions : []
  if (typeof first === 'number') return { position: first }
  return typeof id === 'string' ? { message: id } : undefined
}

/** The place of the result of a call, as `messages.toolOutput` returns it. */
function placeOfResult({ result }: Fields): MediaPlace | undefined {
  if (!isObject(result) || typeof result.part !== 'number' || typeof result.position !== 'number')
    return undefined
  return { position: result.position, part: result.part }
}
