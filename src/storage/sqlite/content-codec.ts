import { createHash } from 'node:crypto'
import { UndertextError } from '../../errors.ts'
import { type JsonObject, stringifyJson } from '../../messages/json.ts'
import type { Part } from '../../messages/message.ts'
import type { Connection } from './connection.ts'

/** Binary data longer than this, in characters or bytes, is stored apart, once for all messages that hold it. */
const BLOB_THRESHOLD = 4_096

/** How a blob's bytes stand in the content: as bytes, as base64, or as the text itself (UTF-8). */
type Encoding = 'bytes' | 'base64' | 'text'

/** Where a blob belongs: part index, index within a tool result's content or -1, hash in hex, encoding. */
type BlobPlace = readonly [part: number, item: number, hash: string, encoding: Encoding]

export type EncodedContent = {
  /** JSON of the content; data stored apart is an empty text in it. */
  readonly content: string
  readonly blobs: string | null
  readonly bytes: readonly { readonly hash: Buffer; readonly bytes: Uint8Array }[]
  /** The JSON of a tool call's input, by part, so that it is made only once. */
  readonly inputJson: (part: number) => string | undefined
}

const NO_BYTES: EncodedContent['bytes'] = []
const NO_INPUT = (): undefined => undefined

/** A content as it is stored. */
export function encodeContent(content: string | readonly Part[]): EncodedContent {
  if (typeof content === 'string') {
    return { content: JSON.stringify(content), blobs: null, bytes: NO_BYTES, inputJson: NO_INPUT }
  }
  // Most contents go through the native function as they are, in one piece.
  if (!content.some(needsShaping))
    return { content: stringifyJson(content), blobs: null, bytes: NO_BYTES, inputJson: NO_INPUT }
  const inputs: (string | undefined)[] = []
  const places: BlobPlace[] = []
  const bytes: { hash: Buffer; bytes: Uint8Array }[] = []
  const keepApart = (data: string | Uint8Array, part: number, item: number): string | undefined => {
    const found = separate(data)
    if (found === undefined) return undefined
    const hash = createHash('sha256').update(found.bytes).digest()
    bytes.push({ hash, bytes: found.bytes })
    places.push([part, item, hash.toString('hex'), found.encoding])
    return ''
  }
  const json = stringifyParts(content, inputs, (part, index) =>
    withoutData(part, (data, item) => keepApart(data, index, item)),
  )
  return {
    content: json,
    blobs: places.length === 0 ? null : JSON.stringify(places),
    bytes,
    inputJson: (part) => inputs[part],
  }
}

/** The JSON of parts, each as `shape` has it. The JSON of tool calls' inputs goes into `inputs`, by part. */
function stringifyParts(
  parts: readonly Part[],
  inputs: (string | undefined)[],
  shape: (part: Part, index: number) => Part,
): string {
  let text = '['
  for (let index = 0; index < parts.length; index++) {
    const part = parts[index]!
    if (index > 0) text += ','
    if (part.type === 'tool-call') {
      const input = stringifyJson(part.input)
      inputs[index] = input
      text += stringifyEntry(part, 'input', input)
    } else text += stringifyJson(shape(part, index))
  }
  return `${text}]`
}

/** An object's JSON with one value's JSON known already; keys keep their order. */
function stringifyEntry(object: object, key: string, json: string): string {
  let text = ''
  for (const name in object) {
    const value = (object as { readonly [name: string]: unknown })[name]
    if (value === undefined) continue
    text += `${text === '' ? '{' : ','}${JSON.stringify(name)}:${name === key ? json : stringifyJson(value)}`
  }
  return `${text}}`
}

/** Whether a part may hold data to be stored apart, or a value that others want the JSON of. */
function needsShaping(part: Part): boolean {
  return (
    part.type === 'tool-call' ||
    part.type === 'image' ||
    part.type === 'file' ||
    (part.type === 'tool-result' && part.output.type === 'content')
  )
}

/** A part with its large data taken out. `take` answers what stands in its place, or `undefined` to leave it. */
function withoutData(
  part: Part,
  take: (data: string | Uint8Array, item: number) => string | undefined,
  item = -1,
): Part {
  if (part.type === 'image') {
    const image = take(part.image, item)
    return image === undefined ? part : { ...part, image }
  }
  if (part.type === 'file') {
    const data = take(part.data, item)
    return data === undefined ? part : { ...part, data }
  }
  if (part.type === 'tool-result' && part.output.type === 'content') {
    let changed = false
    const value = part.output.value.map((entry, at) => {
      const other = withoutData(entry, take, at)
      changed ||= other !== entry
      return other as typeof entry
    })
    return changed ? { ...part, output: { ...part.output, value } } : part
  }
  return part
}

function separate(data: string | Uint8Array): { bytes: Uint8Array; encoding: Encoding } | undefined {
  if (typeof data !== 'string') return { bytes: data, encoding: 'bytes' }
  if (data.length < BLOB_THRESHOLD) return undefined
  const decoded = Buffer.from(data, 'base64')
  if (decoded.toString('base64') === data) return { bytes: decoded, encoding: 'base64' }
  // What UTF-8 cannot hold (lone surrogates) stays in the JSON.
  return data.isWellFormed() ? { bytes: Buffer.from(data, 'utf8'), encoding: 'text' } : undefined
}

/**
 * Reads JSON as it was stored. What went wrong is said by the row's id or key alone: the sentences of
 * `JSON.parse` quote the text, which is somebody's conversation, so its error is not even kept as the cause.
 */
export function parseStored(text: unknown, what: string, row: string | number): unknown {
  try {
    return JSON.parse(text as string)
  } catch {
    throw damaged(what, row)
  }
}

/** A JSON array of arrays as `parseStored` reads it: what our own lists of places are made of. */
export function parseStoredLists(text: unknown, what: string, row: string | number): unknown[][] {
  const value = parseStored(text, what, row)
  if (!Array.isArray(value) || !value.every(Array.isArray)) throw damaged(what, row)
  return value
}

/** What a replacement shows: a text, or the original (`null`). Throws `STORE_CORRUPT`. */
export function parseReplacement(text: unknown, row: string | number): string | null {
  return text === ORIGINAL ? null : parseStoredText(text, 'replacement', row)
}

/** How a replacement is stored that shows the original: JSON, as the texts of the others. */
export const ORIGINAL = 'null'

/** A text of a column that may be empty. Throws `STORE_CORRUPT`, naming the row, for what is neither. */
export function storedText(value: unknown, row: string): string | undefined {
  if (value === null) return undefined
  if (typeof value !== 'string') throw damaged('record', row)
  return value
}

/** A number of a column that is never empty. Throws `STORE_CORRUPT`, naming the row. */
export function storedNumber(value: unknown, row: string): number {
  if (typeof value !== 'number') throw damaged('record', row)
  return value
}

/** A text as `parseStored` reads it. */
export function parseStoredText(text: unknown, what: string, row: string | number): string {
  const value = parseStored(text, what, row)
  if (typeof value !== 'string') throw damaged(what, row)
  return value
}

/** A JSON object as `parseStored` reads it. */
export function parseStoredObject(text: unknown, what: string, row: string | number): JsonObject {
  const value = parseStored(text, what, row)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw damaged(what, row)
  return value as JsonObject
}

/** The error for what is stored and cannot be read, named by its row. */
export function damaged(what: string, row: string | number): UndertextError<'STORE_CORRUPT'> {
  return new UndertextError('STORE_CORRUPT', { detail: `the ${what} of ${named(row)} cannot be read` })
}

function named(row: string | number): string {
  return typeof row === 'number' ? `the row with key ${row}` : row
}

/**
 * A content as it came in. `blobOf` reads bytes by the hash in hex; `undefined` when they are missing. Throws
 * `STORE_CORRUPT` for what cannot be read, naming the row: an image without its bytes is not the image.
 */
export function decodeContent(
  content: string,
  blobs: string | null,
  blobOf: (hash: string) => Uint8Array | undefined,
  row: string | number,
): string | Part[] {
  const decoded = parseStored(content, 'content', row)
  if (typeof decoded === 'string') return decoded
  if (!Array.isArray(decoded) || !decoded.every(isPart)) throw damaged('content', row)
  if (blobs === null) return decoded
  for (const [index, item, hash, encoding] of blobPlaces(blobs, row)) {
    const bytes = blobOf(hash)
    if (bytes === undefined) {
      throw new UndertextError('STORE_CORRUPT', { detail: `blob ${hash} of ${named(row)} is gone` })
    }
    const data = restore(bytes, encoding)
    const part = decoded[index]
    if (part === undefined) throw damaged('list of blobs', row)
    if (item === -1) decoded[index] = withData(part, data)
    else if (part.type === 'tool-result' && part.output.type === 'content') {
      const value = [...part.output.value]
      if (value[item] === undefined) throw damaged('list of blobs', row)
      value[item] = withData(value[item], data) as (typeof value)[number]
      decoded[index] = { ...part, output: { ...part.output, value } }
    }
  }
  return decoded
}

/** Whether a part has what everybody who reads it relies on; cheap, for every part of every view is asked. */
function isPart(value: unknown): value is Part {
  if (typeof value !== 'object' || value === null) return false
  const part = value as { readonly [name: string]: unknown }
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return typeof part.text === 'string'
    case 'image':
      return typeof part.image === 'string'
    case 'file':
      return typeof part.data === 'string' && typeof part.mediaType === 'string'
    case 'tool-call':
      return typeof part.toolCallId === 'string' && typeof part.toolName === 'string' && 'input' in part
    case 'tool-result':
      return typeof part.toolCallId === 'string' && isOutput(part.output)
    default:
      return part.type === 'provider' && typeof part.provider === 'string'
  }
}

function isOutput(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  const { type, value: inner } = value as { readonly type?: unknown; readonly value?: unknown }
  if (type === 'text' || type === 'error-text') return typeof inner === 'string'
  if (type === 'content') return Array.isArray(inner) && inner.every(isPart)
  return (type === 'json' || type === 'error-json') && inner !== undefined
}

/** Where the blobs of a row belong. */
export function blobPlaces(blobs: string, row: string | number): readonly BlobPlace[] {
  const places = parseStored(blobs, 'list of blobs', row)
  if (!Array.isArray(places) || !places.every(isPlace)) throw damaged('list of blobs', row)
  return places
}

function isPlace(value: unknown): value is BlobPlace {
  return (
    Array.isArray(value) &&
    Number.isInteger(value[0]) &&
    Number.isInteger(value[1]) &&
    typeof value[2] === 'string'
  )
}

function withData(part: Part, data: string | Uint8Array): Part {
  if (part.type === 'image') return { ...part, image: data }
  return part.type === 'file' ? { ...part, data } : part
}

function restore(bytes: Uint8Array, encoding: Encoding): string | Uint8Array {
  if (encoding === 'bytes') return new Uint8Array(bytes)
  return Buffer.from(bytes).toString(encoding === 'base64' ? 'base64' : 'utf8')
}

/** Stores bytes once each and counts who refers to them, within the caller's transaction. */
export function keepBlobs(connection: Connection, bytes: EncodedContent['bytes']): void {
  for (const { hash, bytes: data } of bytes) {
    // Not "on conflict": the guard against replacing a blob fires before conflicts are looked at.
    const known = connection.run(
      'update undertext_blobs set reference_count = reference_count + 1 where hash = ?',
      hash,
    )
    if (known > 0) continue
    connection.run('insert into undertext_blobs (hash, reference_count, bytes) values (?, 1, ?)', hash, data)
  }
}

/** A function that reads bytes by the hash in hex. Anything but bytes counts as missing. */
export function blobReader(connection: Connection): (hash: string) => Uint8Array | undefined {
  return (hash) => {
    const row = connection.get('select bytes from undertext_blobs where hash = ?', Buffer.from(hash, 'hex'))
    return row?.[0] instanceof Uint8Array ? row[0] : undefined
  }
}

/** Gives up a session's references; answers how many blobs nobody refers to any more and are gone. */
export function dropBlobs(connection: Connection, session: number): number {
  const keys = connection.all(
    `select c.key from undertext_messages m join undertext_contents c on c.key = m.key
     where m.session = ? and c.blobs is not null`,
    session,
  )
  return dropBlobsOf(
    connection,
    keys.map(([key]) => key as number),
  )
}

/** Gives up the references of rows by key; answers how many blobs are gone. */
export function dropBlobsOf(connection: Connection, keys: readonly number[]): number {
  for (const key of keys) {
    const blobs = connection.get('select blobs from undertext_contents where key = ?', key)?.[0] ?? null
    if (blobs === null) continue
    for (const [, , hash] of blobPlaces(blobs as string, key)) {
      connection.run(
        'update undertext_blobs set reference_count = reference_count - 1 where hash = ?',
        Buffer.from(hash, 'hex'),
      )
    }
  }
  return connection.run('delete from undertext_blobs where reference_count <= 0')
}
