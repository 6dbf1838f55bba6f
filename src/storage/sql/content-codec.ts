import { createHash } from 'node:crypto'
import { UndertextError } from '../../core/errors.ts'
import { type JsonObject, stringifyJson } from '../../core/messages/json.ts'
import type { Part } from '../../core/messages/message.ts'
import { mapMedia } from '../records/row-fields.ts'
import type { Row, Sql } from './sql.ts'
import type { Work } from './work.ts'

/**
 * The minimum length of text data, in UTF-16 units, that is stored as a blob, once for all messages that contain it. Bytes are always
 * stored as blobs.
 */
const BLOB_THRESHOLD = 4_096

/** The form of a blob's data in the content: bytes, base64, or a text in UTF-8. */
type Encoding = 'bytes' | 'base64' | 'text'

/** The place of a blob: part, entry of a tool result's content or -1, hash in hexadecimal, encoding. */
type BlobPlace = readonly [part: number, item: number, hash: string, encoding: Encoding]

export type EncodedContent = {
  /** The JSON of the content, with an empty text in place of data that is stored as a blob. */
  readonly content: string
  readonly blobs: string | null
  readonly bytes: readonly { readonly hash: Buffer; readonly bytes: Uint8Array }[]
  /** Returns the JSON of a tool call's input, given its part. Kept so that it is computed only once. */
  readonly inputJson: (part: number) => string | undefined
}

const NO_BYTES: EncodedContent['bytes'] = []
const NO_INPUT = (): undefined => undefined

/** Encodes a content for storage. */
export function encodeContent(content: string | readonly Part[]): EncodedContent {
  if (typeof content === 'string') {
    return { content: JSON.stringify(content), blobs: null, bytes: NO_BYTES, inputJson: NO_INPUT }
  }
  // One native call encodes most contents.
  if (!content.some(needsShaping))
    return { content: stringifyJson(content), blobs: null, bytes: NO_BYTES, inputJson: NO_INPUT }
  const inputs: (string | undefined)[] = []
  const places: BlobPlace[] = []
  const bytes: { hash: Buffer; bytes: Uint8Array }[] = []
  const shaped = mapMedia(content, (data, [part, item]) => {
    const found = separate(data)
    if (found === undefined) return data
    const hash = createHash('sha256').update(found.bytes).digest()
    bytes.push({ hash, bytes: found.bytes })
    places.push([part, item, hash.toString('hex'), found.encoding])
    return ''
  })
  const json = stringifyParts(shaped, inputs)
  return {
    content: json,
    blobs: places.length === 0 ? null : JSON.stringify(places),
    bytes,
    inputJson: (part) => inputs[part],
  }
}

/** Returns the JSON of parts, and adds the JSON of tool calls' inputs to `inputs`, by part. */
function stringifyParts(parts: readonly Part[], inputs: (string | undefined)[]): string {
  const texts = parts.map((part, index) => {
    if (part.type !== 'tool-call') return stringifyJson(part)
    const input = stringifyJson(part.input)
    inputs[index] = input
    return stringifyEntry(part, 'input', input)
  })
  return `[${texts.join(',')}]`
}

/** Returns the JSON of an object, given the JSON of one value. The order of the keys is kept. */
function stringifyEntry(object: object, key: string, json: string): string {
  let text = ''
  for (const name in object) {
    const value = (object as { readonly [name: string]: unknown })[name]
    if (value === undefined) continue
    text += `${text === '' ? '{' : ','}${JSON.stringify(name)}:${name === key ? json : stringifyJson(value)}`
  }
  return `${text}}`
}

/** Returns whether a part may contain data for a blob, or an input whose JSON is needed. */
function needsShaping(part: Part): boolean {
  return (
    part.type === 'tool-call' ||
    part.type === 'image' ||
    part.type === 'file' ||
    (part.type === 'tool-result' && part.output.type === 'content')
  )
}

function separate(data: string | Uint8Array): { bytes: Uint8Array; encoding: Encoding } | undefined {
  if (typeof data !== 'string') return { bytes: data, encoding: 'bytes' }
  if (data.length < BLOB_THRESHOLD) return undefined
  const decoded = Buffer.from(data, 'base64')
  if (decoded.toString('base64') === data) return { bytes: decoded, encoding: 'base64' }
  // UTF-8 can't represent lone surrogates, so a text that contains one stays in the JSON.
  return data.isWellFormed() ? { bytes: Buffer.from(data, 'utf8'), encoding: 'text' } : undefined
}

/**
 * Parses stored JSON. Throws `STORE_CORRUPT` with the row's id or key, and without the error of `JSON.parse`, which would quote the
 * conversation.
 */
export function parseStored(text: unknown, what: string, row: string | number): unknown {
  try {
    return JSON.parse(text as string)
  } catch {
    throw damaged(what, row)
  }
}

/** Parses a stored JSON array of arrays. */
export function parseStoredLists(text: unknown, what: string, row: string | number): unknown[][] {
  const value = parseStored(text, what, row)
  if (!Array.isArray(value) || !value.every(Array.isArray)) throw damaged(what, row)
  return value
}

/** Returns the text of a replacement; `null` if it shows the original. Throws `STORE_CORRUPT`. */
export function parseReplacement(text: unknown, row: string | number): string | null {
  return text === ORIGINAL ? null : parseStoredText(text, 'replacement', row)
}

/** The stored JSON of a replacement that shows the original. */
export const ORIGINAL = 'null'

/** Returns the text of a nullable column. Throws `STORE_CORRUPT`, naming the row, for any other value. */
export function storedText(value: unknown, row: string): string | undefined {
  if (value === null) return undefined
  if (typeof value !== 'string') throw damaged('record', row)
  return value
}

/** Returns the number of a column. Throws `STORE_CORRUPT`, naming the row, for any other value. */
export function storedNumber(value: unknown, row: string): number {
  if (typeof value !== 'number') throw damaged('record', row)
  return value
}

/** Returns the number of a nullable column. Throws `STORE_CORRUPT`, naming the row, for any other value. */
export function storedOptional(value: unknown, row: string): number | undefined {
  return value === null ? undefined : storedNumber(value, row)
}

/** Parses a stored JSON text. */
export function parseStoredText(text: unknown, what: string, row: string | number): string {
  const value = parseStored(text, what, row)
  if (typeof value !== 'string') throw damaged(what, row)
  return value
}

/** Parses a stored JSON object. */
export function parseStoredObject(text: unknown, what: string, row: string | number): JsonObject {
  const value = parseStored(text, what, row)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw damaged(what, row)
  return value as JsonObject
}

/** Returns the error for a stored value that can't be read. `row` is its key or id. */
export function damaged(what: string, row: string | number): UndertextError<'STORE_CORRUPT'> {
  return new UndertextError('STORE_CORRUPT', { detail: `the ${what} of ${named(row)} cannot be read` })
}

/** Returns what an index or another row named. Throws `STORE_CORRUPT` if a damaged file lacks it. */
export function storedRow<T>(found: T | undefined, row: string | number): T {
  if (found === undefined) throw new UndertextError('STORE_CORRUPT', { detail: `${named(row)} is missing` })
  return found
}

function named(row: string | number): string {
  return typeof row === 'number' ? `the row with key ${row}` : row
}

/**
 * Decodes a content to the appended value. `found` must include its blobs. Throws `STORE_CORRUPT`, naming the row, if a value can't be read
 * or bytes are missing.
 */
export function decodeContent(
  stored: string,
  blobs: string | null,
  found: Blobs,
  row: string | number,
): string | Part[] {
  const decoded = parseStored(stored, 'content', row)
  if (typeof decoded === 'string') return decoded
  if (!Array.isArray(decoded) || !decoded.every(isPart)) throw damaged('content', row)
  if (blobs === null) return decoded
  const places = new Map(
    blobPlaces(blobs, row).map(([part, item, ...blob]) => [String([part, item]), blob] as const),
  )
  const content = mapMedia(decoded, (data, place) => {
    const blob = places.get(String(place))
    if (blob === undefined) return data
    const [hash, encoding] = blob
    const bytes = found.get(hash)
    if (bytes === undefined)
      throw new UndertextError('STORE_CORRUPT', { detail: `blob ${hash} of ${named(row)} is missing` })
    places.delete(String(place))
    if (encoding === 'bytes') return new Uint8Array(bytes)
    return Buffer.from(bytes).toString(encoding === 'base64' ? 'base64' : 'utf8')
  })
  if (places.size > 0) throw damaged('list of blobs', row)
  return content
}

/** Returns whether a part has the fields that its readers rely on. Must be cheap, because every part of every view is checked. */
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

/** Returns the places of a row's blobs. Throws `STORE_CORRUPT`. */
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

/** Stores bytes once each and counts references to them, within the caller's transaction. */
export function* keepBlobs(sql: Sql, bytes: EncodedContent['bytes']): Work<void> {
  for (const { hash, bytes: data } of inOrder(bytes)) {
    // Not "on conflict", because the trigger that protects blobs fires before conflicts are handled.
    const known = yield* sql.change(ADD_REFERENCE, hash)
    if (known > 0) continue
    yield* sql.run(INSERT_BLOB, hash, data)
  }
}

/** Like `keepBlobs`, but given the hashes (in hexadecimal) of bytes that are already stored; adds the hashes of those that it stores. */
export function* keepPieces(sql: Sql, pieces: EncodedContent['bytes'], known: Set<string>): Work<void> {
  for (const { hash, bytes } of inOrder(pieces)) {
    const name = hash.toString('hex')
    if (known.has(name)) yield* sql.run(ADD_REFERENCE, hash)
    else yield* sql.run(INSERT_BLOB, hash, bytes)
    known.add(name)
  }
}

/** Sorts bytes, so that two writers that lock shared blobs of a family can't deadlock. */
function inOrder(bytes: EncodedContent['bytes']): EncodedContent['bytes'] {
  return bytes.length < 2 ? bytes : [...bytes].sort((a, b) => a.hash.compare(b.hash))
}

const ADD_REFERENCE =
  'update undertext_blobs set reference_count = reference_count + 1 where {family} hash = ?'
const INSERT_BLOB =
  'insert into undertext_blobs ({family,} hash, reference_count, bytes) values ({?,} ?, 1, ?)'

/** Bytes by their hash in hexadecimal; missing bytes are absent. */
export type Blobs = ReadonlyMap<string, Uint8Array>
const NO_BLOBS: Blobs = new Map()

/** Reads the blobs in lists of places. Each list comes with the id or key of its row. */
export function* readBlobs(
  sql: Sql,
  lists: Iterable<readonly [blobs: string | null, row: string | number]>,
): Work<Blobs> {
  let found: Map<string, Uint8Array> | undefined
  for (const [blobs, row] of lists) {
    if (blobs === null) continue
    found ??= new Map()
    for (const [, , hash] of blobPlaces(blobs, row)) {
      if (found.has(hash)) continue
      const blob = yield* sql.get(
        'select bytes from undertext_blobs where {family} hash = ?',
        Buffer.from(hash, 'hex'),
      )
      if (blob?.[0] instanceof Uint8Array) found.set(hash, blob[0])
    }
  }
  return found ?? NO_BLOBS
}

/** Returns how often the contents of a session's rows refer to each blob, by hash in hexadecimal. */
export function* contentBlobs(sql: Sql, session: number): Work<Map<string, number>> {
  const rows = yield* sql.all(
    `select c.key, c.blobs from undertext_messages m join undertext_contents c on {family c} c.key = m.key
     where {family m} m.session = ? and c.blobs is not null`,
    session,
  )
  return referencesIn(rows)
}

/** Returns how often the contents of some rows refer to each blob, by hash in hexadecimal. */
export function* blobsOf(sql: Sql, keys: readonly number[]): Work<Map<string, number>> {
  const rows = yield* sql.all(
    `select key, blobs from undertext_contents where {family} key in (select value from {list ?} k) and blobs is not null`,
    JSON.stringify(keys),
  )
  return referencesIn(rows)
}

/** Adds the counts of one list to those of another. */
export function addReferences(counts: Map<string, number>, more: ReadonlyMap<string, number>): void {
  for (const [hash, count] of more) counts.set(hash, (counts.get(hash) ?? 0) + count)
}

export function countReference(counts: Map<string, number>, hash: string): void {
  counts.set(hash, (counts.get(hash) ?? 0) + 1)
}

function referencesIn(rows: readonly Row[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const [key, blobs] of rows)
    for (const [, , hash] of blobPlaces(blobs as string, key as number)) countReference(counts, hash)
  return counts
}

/** Removes references, by hash in hexadecimal, and the blobs that have no references left; returns the number of removed blobs. */
export function* dropReferences(sql: Sql, counts: ReadonlyMap<string, number>): Work<number> {
  for (const hash of [...counts.keys()].sort())
    yield* sql.run(
      'update undertext_blobs set reference_count = reference_count - ? where {family} hash = ?',
      counts.get(hash),
      Buffer.from(hash, 'hex'),
    )
  return yield* sql.change('delete from undertext_blobs where {family} reference_count <= 0')
}
