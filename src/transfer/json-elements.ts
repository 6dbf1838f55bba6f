import { isUtf8 } from 'node:buffer'
import { ENDS_WITHIN, MAX_LINE_BYTES, placeOfLine, readJson, readJsonLines } from './lines.ts'
import type { Head, Input, Place } from './source.ts'

/*
 * Finds the beginning and end of the values of one JSON list, or of the fields of one JSON object, from brackets and strings alone. Values
 * aren't parsed: an invalid value doesn't hide later ones, as long as its brackets are balanced.
 */

/** A piece of the file. The bytes of a value are unchanged, without leading white space. */
type Piece = { readonly line: number } & (
  | {
      readonly kind: 'value'
      readonly list: string | undefined
      readonly element: number
      readonly bytes: Raw
    }
  | { readonly kind: 'field'; readonly key: Raw; readonly bytes: Raw }
  | { readonly kind: 'problem'; readonly element?: number; readonly why: string }
)

/** Bytes from several chunks; `undefined` if they exceed the limit. */
type Raw = Buffer | undefined

type Mode = 'start' | 'value' | 'key' | 'field' | 'next' | 'after' | 'lost'

const QUOTE = 0x22
const ESCAPE = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
const LINE_FEED = 0x0a
const OPEN_LIST = 0x5b
const CLOSE_LIST = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

type SplitterOptions = {
  /** Returns whether a field of the root object is a list whose elements are reported one by one. */
  isList(key: Raw): boolean
  /** Returns whether the value of another field is reported. */
  isWanted(key: Raw): boolean
  /** The maximum size of one value in bytes. */
  readonly maxBytes: number
}

/** Divides the chunks of one file into pieces. Keeps chunks while a value extends over them. */
class JsonSplitter {
  readonly #options: SplitterOptions
  #mode: Mode = 'start'
  #line = 1
  #pieces: Piece[] = []
  /** The current list: `undefined` for the one at the root. */
  #list: string | undefined
  /** Whether the root is an object, and whether one of its lists is open. */
  #isObject = false
  #isInList = false
  #element = 0
  #key: Raw
  // The current value: its bytes so far, its start, and its depth.
  #taken: Buffer[] = []
  #size = 0
  #isTaking = false
  #holds = true
  #takenLine = 1
  #depth = 0
  #isString = false
  #isEscaped = false

  constructor(options: SplitterOptions) {
    this.#options = options
  }

  /** Returns the pieces that end within a chunk. */
  push(chunk: Buffer): Piece[] {
    this.#pieces = []
    let at = 0
    while (at < chunk.length && this.#mode !== 'lost')
      at = this.#isTaking ? this.#take(chunk, at) : this.#step(chunk, at)
    return this.#pieces
  }

  /** Returns the problem at the end, if any. */
  finish(why: string): Piece[] {
    this.#pieces = []
    if (this.#mode === 'after' || this.#mode === 'lost' || this.#mode === 'start') return []
    const isElement = this.#isInList && this.#isTaking
    const line = this.#isTaking ? this.#takenLine : this.#line
    this.#pieces.push({ kind: 'problem', line, ...(isElement && { element: this.#element + 1 }), why })
    return this.#pieces
  }

  #step(chunk: Buffer, at: number): number {
    const byte = chunk[at]!
    if (byte === LINE_FEED) this.#line += 1
    if (byte === 0x20 || (byte >= 0x09 && byte <= 0x0d)) return at + 1
    switch (this.#mode) {
      case 'start':
        return this.#open(byte, at)
      case 'after':
        // If a machine crashes, it may leave zeros at the end of a file.
        if (byte === 0) return at + 1
        return this.#lose('there is text after its end', at)
      case 'next':
        return this.#next(byte, at)
      case 'field':
        if (byte === OPEN_LIST && this.#options.isList(this.#key)) return this.#openList(at)
        this.#begin(this.#options.isWanted(this.#key))
        return at
      default:
        if (this.#isEmptyEnd(byte)) return this.#close(at)
        this.#begin(true)
        return at
    }
  }

  #open(byte: number, at: number): number {
    if (byte === OPEN_LIST) return this.#openList(at)
    if (byte !== OPEN_OBJECT) return this.#lose('it is neither a list nor an object', at)
    this.#isObject = true
    this.#mode = 'key'
    return at + 1
  }

  #openList(at: number): number {
    this.#list = this.#key?.toString('utf8')
    this.#isInList = true
    this.#element = 0
    this.#mode = 'value'
    return at + 1
  }

  /** Returns whether a closing bracket ends an empty list or object. */
  #isEmptyEnd(byte: number): boolean {
    return this.#mode === 'key' ? byte === CLOSE_OBJECT : byte === CLOSE_LIST && this.#element === 0
  }

  #next(byte: number, at: number): number {
    if (byte === COMMA) {
      this.#mode = 'key'
      return at + 1
    }
    if (byte === CLOSE_OBJECT) return this.#close(at)
    return this.#lose('its fields are not separated by commas', at)
  }

  #close(at: number): number {
    if (this.#isInList && this.#isObject) this.#mode = 'next'
    else this.#mode = 'after'
    this.#isInList = false
    return at + 1
  }

  #lose(why: string, at: number): number {
    this.#pieces.push({ kind: 'problem', line: this.#line, why })
    this.#mode = 'lost'
    return at
  }

  #begin(holds: boolean): void {
    this.#isTaking = true
    this.#holds = holds
    this.#taken = []
    this.#size = 0
    this.#takenLine = this.#line
    this.#depth = 0
    this.#isString = false
    this.#isEscaped = false
  }

  /** Continues the current value, up to its end or the end of the chunk. */
  #take(chunk: Buffer, from: number): number {
    let at = from
    let depth = this.#depth
    const { length } = chunk
    const closer = this.#isInList ? CLOSE_LIST : CLOSE_OBJECT
    const isKey = this.#mode === 'key'
    while (at < length) {
      if (this.#isString) {
        at = this.#takeString(chunk, at)
        continue
      }
      const byte = chunk[at]!
      if (byte === QUOTE) this.#isString = true
      else if (byte === LINE_FEED) this.#line += 1
      else if (byte === OPEN_OBJECT || byte === OPEN_LIST) depth += 1
      else if (depth === 0) {
        if (byte === COMMA || byte === closer || (isKey && byte === COLON)) {
          this.#keep(chunk, from, at)
          return this.#end(byte, at)
        }
      } else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) depth -= 1
      at += 1
    }
    this.#depth = depth
    this.#keep(chunk, from, at)
    return at
  }

  /** Continues a string, up to its end or the end of the chunk. A line feed in it is invalid, but doesn't end it. */
  #takeString(chunk: Buffer, from: number): number {
    const { length } = chunk
    let at = from
    if (this.#isEscaped) {
      this.#isEscaped = false
      at += 1
    }
    for (; at < length; at++) {
      const byte = chunk[at]!
      if (byte === ESCAPE) at += 1
      else if (byte === LINE_FEED) this.#line += 1
      else if (byte === QUOTE) {
        this.#isString = false
        return at + 1
      }
    }
    this.#isEscaped = at > length
    return length
  }

  #keep(chunk: Buffer, from: number, to: number): void {
    this.#size += to - from
    if (this.#size > this.#options.maxBytes) this.#taken = []
    else if (this.#holds && to > from) this.#taken.push(chunk.subarray(from, to))
  }

  /** Ends a value or a key at this byte. */
  #end(byte: number, at: number): number {
    this.#isTaking = false
    const bytes = this.#bytes()
    const line = this.#takenLine
    if (this.#isInList) {
      this.#element += 1
      this.#pieces.push({ kind: 'value', line, list: this.#list, element: this.#element, bytes })
      return byte === COMMA ? at + 1 : this.#close(at)
    }
    if (this.#mode === 'key') {
      this.#key = bytes
      this.#mode = 'field'
      return byte === COLON ? at + 1 : this.#lose('a field has no value', at)
    }
    this.#pieces.push({ kind: 'field', line, key: this.#key, bytes })
    this.#mode = 'key'
    return byte === COMMA ? at + 1 : this.#close(at)
  }

  #bytes(): Raw {
    const taken = this.#taken
    this.#taken = []
    if (!this.#holds || this.#size > this.#options.maxBytes) return undefined
    return taken.length === 1 ? taken[0]! : Buffer.concat(taken)
  }
}

/**
 * A piece of a file: one JSON value (an element of its list, or a field of its object), or a problem at a place. `list` is the field that
 * contains the list, absent for a list at the root. Elements and lines count from 1.
 */
export type JsonElement = { readonly line: number } & (
  | { readonly type: 'element'; readonly list?: string; readonly element: number; readonly value: unknown }
  | { readonly type: 'field'; readonly key: string; readonly value: unknown }
  | {
      readonly type: 'problem'
      readonly element?: number
      /** Whether it is an unreadable field that doesn't affect the rest. */
      readonly isField?: true
      readonly why: string
    }
)

export type ElementOptions = {
  /** The fields of an object at the root whose lists are read element by element. Default: none. */
  readonly lists?: readonly string[]
  /** The other fields to report. Default: all. */
  readonly fields?: (key: string) => boolean
  /** The maximum size of one element or field, in bytes. Default: the maximum length of a JavaScript string. */
  readonly maxBytes?: number
}

/**
 * Yields the elements of one JSON list, or the fields of one object and the elements of its lists, each parsed separately. The division of
 * the file into chunks doesn't matter, and only the current piece is held in memory. Invalid JSON or UTF-8, text after the end, and an end
 * within a piece are problems. A bad piece doesn't hide later ones, as long as its brackets are balanced.
 */
export async function* readElements(
  bytes: AsyncIterable<Uint8Array>,
  options: ElementOptions = {},
): AsyncGenerator<JsonElement, void, undefined> {
  const { lists = [], fields = () => true, maxBytes = MAX_LINE_BYTES } = options
  // A field with an invalid name is reported as a problem.
  const isWanted = (key: Raw): boolean => {
    const name = keyOf(key)
    return name === undefined || fields(name)
  }
  const splitter = new JsonSplitter({
    isList: (key) => lists.includes(keyOf(key) ?? ''),
    isWanted,
    maxBytes,
  })
  const isReported = (piece: Piece): boolean => piece.kind !== 'field' || isWanted(piece.key)
  for await (const chunk of withoutMark(bytes))
    for (const piece of splitter.push(chunk)) if (isReported(piece)) yield elementOf(piece, maxBytes)
  for (const piece of splitter.finish(ENDS_WITHIN)) yield elementOf(piece, maxBytes)
}

function elementOf(piece: Piece, maxBytes: number): JsonElement {
  const { line } = piece
  if (piece.kind === 'problem') return { type: 'problem', line, why: piece.why, ...elementIn(piece) }
  const read = readPiece(piece.bytes, maxBytes)
  if (piece.kind === 'field') {
    const key = keyOf(piece.key)
    const isField = true
    if ('problem' in read) return { type: 'problem', line, isField, why: read.problem }
    if (key === undefined) return { type: 'problem', line, isField, why: 'the name of a field is not JSON' }
    return { type: 'field', line, key, value: read.value }
  }
  if ('problem' in read) return { type: 'problem', line, why: read.problem, ...elementIn(piece) }
  const list = piece.list === undefined ? undefined : keyOf(Buffer.from(piece.list))
  return {
    type: 'element',
    line,
    element: piece.element,
    value: read.value,
    ...(list !== undefined && { list }),
  }
}

/** Returns the place of a piece in its file. */
export function placeOf(piece: JsonElement): Place {
  return { line: piece.line, ...elementIn(piece) }
}

/** A value of a file, or the reason why it is unreadable. */
export type Unit = { readonly at: Place } & ({ readonly value: unknown } | { readonly problem: string })

/** Yields the values of a file one by one: those of its lines, the elements of its list, or those of the given lists of its object. */
export async function* unitsIn(
  input: Input,
  shape: Head['shape'],
  lists: readonly string[] = [],
): AsyncGenerator<Unit, void, undefined> {
  if (shape === 'lines') {
    for await (const read of readJsonLines(input.bytes())) yield { ...read, at: placeOfLine(read) }
    return
  }
  for await (const piece of readElements(input.bytes(), { lists, fields: () => false })) {
    if (piece.type === 'element') yield { at: placeOf(piece), value: piece.value }
    else if (piece.type === 'problem') yield { at: placeOf(piece), problem: piece.why }
  }
}

function elementIn(piece: Piece | JsonElement): { readonly element?: number } {
  return 'element' in piece && piece.element !== undefined ? { element: piece.element } : {}
}

function readPiece(bytes: Raw, maxBytes: number): { readonly value: unknown } | { readonly problem: string } {
  if (bytes === undefined) return { problem: `it is longer than ${maxBytes} bytes` }
  return isUtf8(bytes) ? readJson(bytes.toString('utf8'), true) : { problem: 'it is not UTF-8' }
}

function keyOf(bytes: Raw): string | undefined {
  const read = bytes === undefined ? undefined : readPiece(bytes, MAX_LINE_BYTES)
  return read !== undefined && 'value' in read && typeof read.value === 'string' ? read.value : undefined
}

/** Yields the chunks without the byte order mark in the first three bytes. */
async function* withoutMark(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer, void, undefined> {
  let head: Buffer | undefined = Buffer.alloc(0)
  for await (const given of bytes) {
    let chunk = Buffer.from(given.buffer, given.byteOffset, given.byteLength)
    if (head !== undefined) {
      chunk = head.length === 0 ? chunk : Buffer.concat([head, chunk])
      if (chunk.length < 3) {
        head = chunk
        continue
      }
      head = undefined
      if (chunk[0] === 0xef && chunk[1] === 0xbb && chunk[2] === 0xbf) chunk = chunk.subarray(3)
    }
    yield chunk
  }
  if (head !== undefined && head.length > 0) yield head
}
