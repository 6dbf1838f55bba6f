import { constants, isUtf8 } from 'node:buffer'
import { MAX_JSON_DEPTH } from '../core/messages/json.ts'
import type { NoteEvent, Place, ProblemEvent } from './source.ts'

/**
 * A line of a file without its end, or the reason why it can't be read.
 *
 * - `number`: counts from 1, including blank lines.
 * - `ended`: whether a line feed follows. The last line of a file that is being written may be incomplete.
 */
export type Line = {
  readonly number: number
  readonly ended: boolean
} & ({ readonly text: string } | { readonly problem: string })

/** A JSON value in a line, or the reason why a piece of the line isn't one. Columns are characters and count from 1. */
export type JsonLine = {
  readonly line: number
  /** The column where it begins; absent if it is the whole line. */
  readonly column?: number
  readonly ended: boolean
} & ({ readonly value: unknown; readonly text: string } | Unread)

/** The reason why a piece of a line isn't a value. `isTorn`: it isn't complete JSON, as left by a crash of the writer. */
export type Unread = { readonly problem: string; readonly isTorn: boolean }

/** A piece of a line: a JSON value with its text, or a problem. */
type LinePiece = { readonly at: number } & ({ readonly value: unknown; readonly text: string } | Unread)

/** The maximum length of a line in bytes: the maximum number of characters in a JavaScript string. */
export const MAX_LINE_BYTES: number = constants.MAX_STRING_LENGTH

const LINE_FEED = 0x0a
const RETURN = 0x0d

/** The descriptions of a truncated piece. */
export const ENDS_WITHIN = 'the file ends within it'

/** Why the incomplete last line of an agent's file isn't read. */
const UNFINISHED = 'the last line is incomplete; the next import reads it'

export function placeOfLine({ line, column }: Pick<JsonLine, 'line' | 'column'>): Place {
  return { line, ...(column !== undefined && { column }) }
}

/**
 * Returns the event for an unread piece of an agent's own file. Agents skip a line that isn't JSON, as left by a crash, and so do imports.
 * The last line may still be being written.
 */
export function unreadEvent(read: JsonLine & Unread): NoteEvent | ProblemEvent {
  const { problem: why, isTorn, ended } = read
  const at = placeOfLine(read)
  if (!isTorn) return { type: 'problem', at, why }
  if (!ended) return { type: 'note', at, kind: 'left-out', why: UNFINISHED }
  return { type: 'note', at, kind: 'torn', why: `${why}; the agent skips it too` }
}

/**
 * Yields the lines of bytes, however they are divided into chunks. A line ends only at a line feed (a carriage return before it is part of
 * the end; U+2028 is text). A byte order mark is skipped, and only the current line is held in memory. Invalid UTF-8, or a line longer than
 * `maxBytes` (default `MAX_LINE_BYTES`), is a problem; the rest of a line that is too long isn't held.
 */
export function readLines(
  bytes: AsyncIterable<Uint8Array>,
  maxBytes: number = MAX_LINE_BYTES,
): AsyncGenerator<Line, void, undefined> {
  return cutLines(bytes, maxBytes, true)
}

/** Like `readLines`, but blank lines are skipped and only counted, because a file may have millions of them. */
export function readFilledLines(
  bytes: AsyncIterable<Uint8Array>,
  maxBytes: number = MAX_LINE_BYTES,
): AsyncGenerator<Line, void, undefined> {
  return cutLines(bytes, maxBytes, false)
}

function isBlankBytes(chunk: Buffer, from: number, to: number): boolean {
  for (let at = from; at < to; at++) {
    const byte = chunk[at]!
    if (byte !== 0x20 && (byte < 0x09 || byte > 0x0d)) return false
  }
  return true
}

async function* cutLines(
  bytes: AsyncIterable<Uint8Array>,
  maxBytes: number,
  includeBlank: boolean,
): AsyncGenerator<Line, void, undefined> {
  const open = new OpenLine(maxBytes)
  for await (const given of bytes) {
    const chunk = Buffer.from(given.buffer, given.byteOffset, given.byteLength)
    let from = 0
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, from)) {
      if (!includeBlank && open.size === 0 && isBlankBytes(chunk, from, end)) {
        open.pass()
        from = end + 1
        continue
      }
      open.add(chunk.subarray(from, end))
      const line = open.close(true)
      if (includeBlank || !('text' in line) || line.text.trim() !== '') yield line
      from = end + 1
    }
    if (from < chunk.length) open.add(chunk.subarray(from))
  }
  if (open.size > 0) yield open.close(false)
}

/**
 * Yields the JSON values of lines. A line may hold several, because agents sometimes write two without a line feed in between. Blank lines
 * are counted and skipped; invalid JSON is a problem.
 */
export async function* readJsonLines(
  bytes: AsyncIterable<Uint8Array>,
  maxBytes: number = MAX_LINE_BYTES,
): AsyncGenerator<JsonLine, void, undefined> {
  for await (const line of readFilledLines(bytes, maxBytes)) {
    const { number, ended } = line
    if ('problem' in line) {
      yield { line: number, ended, problem: line.problem, isTorn: true }
      continue
    }
    const pieces = valuesInLine(line.text, ended)
    const isWhole = pieces.length === 1 && pieces[0]!.at === 0
    for (const { at, ...piece } of pieces)
      yield { line: number, ...(!isWhole && { column: at + 1 }), ended, ...piece }
  }
}

/** Treated like white space between values: the zeros left by a machine that crashed, and the byte order marks of concatenated texts. */
const BETWEEN_VALUES = /[\s\0\ufeff]/

/**
 * Returns the JSON values of a line in order, and the pieces between them that aren't JSON. `isEnded`: the line is complete. Takes linear
 * time: brackets and strings divide the line from its beginning and, after a torn piece that leaves them open, from its end.
 */
export function valuesInLine(line: string, isEnded: boolean): LinePiece[] {
  const whole = readJson(line, isEnded)
  if ('value' in whole) return [{ at: 0, value: whole.value, text: line.trim() }]
  const pieces: LinePiece[] = []
  let from = 0
  // A zero is never part of JSON.
  for (const { index, 0: zeros } of line.matchAll(/\0+/g)) {
    addPieces(pieces, line, [from, index], true)
    from = index + zeros.length
  }
  addPieces(pieces, line, [from, line.length], isEnded)
  if (pieces.length > 0) return pieces
  return [{ at: 0, problem: isEnded ? 'it contains only zeros' : ENDS_WITHIN, isTorn: true }]
}

/** The maximum number of pieces that aren't JSON. The rest of the line then becomes one piece, because each one costs an exception. */
const MAX_UNREAD = 100

function addPieces(
  pieces: LinePiece[],
  line: string,
  [from, to]: readonly [number, number],
  isEnded: boolean,
): void {
  let last: LinePiece[] | undefined
  let unread = 0
  let at = from
  let end = to
  for (;;) {
    while (at < end && BETWEEN_VALUES.test(line[at]!)) at += 1
    if (at >= end) break
    const closing = closingAfter(line, at, end)
    const isRest = closing === undefined || unread === MAX_UNREAD
    const until = isRest ? end : closing
    const text = line.slice(at, until).trimEnd()
    const read = readJson(text, isEnded || end < to || closing !== undefined, at)
    if ('problem' in read && !read.isOpen && last === undefined) {
      last = valuesAtEnd(line, at, end)
      end = last[0]?.at ?? end
      if (last.length > 0) continue
    }
    if ('value' in read) pieces.push({ at, value: read.value, text })
    else {
      unread += 1
      pieces.push({ at, problem: read.problem, isTorn: read.isTorn })
    }
    at = until
  }
  for (const piece of last ?? []) pieces.push(piece)
}

/** Returns the values at the end of a part of a line. */
function valuesAtEnd(line: string, from: number, to: number): LinePiece[] {
  const values: LinePiece[] = []
  let end = to
  for (;;) {
    while (end > from && BETWEEN_VALUES.test(line[end - 1]!)) end -= 1
    const at = openingBefore(line, from, end)
    const text = at === undefined ? '' : line.slice(at, end)
    const read = readJson(text, true)
    if (at === undefined || 'problem' in read) return values.reverse()
    values.push({ at, value: read.value, text })
    end = at
  }
}

/** Returns the end of the object or list that begins at a character; `undefined` if none begins there, or it doesn't end. */
function closingAfter(line: string, at: number, to: number): number | undefined {
  let depth = 0
  let isString = false
  for (let i = at; i < to; i++) {
    const char = line[i]
    if (isString) {
      if (char === '\\') i += 1
      else if (char === '"') isString = false
    } else if (char === '"') isString = true
    else if (char === '{' || char === '[') depth += 1
    else if (char === '}' || char === ']') depth -= 1
    if (depth === 0) return i === at ? undefined : i + 1
  }
  return undefined
}

/** Returns the beginning of the object or list that ends before a character; `undefined` if none ends there, or it doesn't begin. */
function openingBefore(line: string, from: number, end: number): number | undefined {
  let depth = 0
  let isString = false
  for (let i = end - 1; i >= from; i--) {
    const char = line[i]
    if (char === '"') {
      let escapes = 0
      while (line[i - escapes - 1] === '\\') escapes += 1
      if (escapes % 2 === 0) isString = !isString
      i -= escapes
    } else if (isString) continue
    else if (char === '}' || char === ']') depth += 1
    else if (char === '{' || char === '[') depth -= 1
    if (depth <= 0) return depth === 0 && i < end - 1 ? i : undefined
  }
  return undefined
}

/** A text as JSON, or the reason why it is invalid. */
type JsonRead = { readonly value: unknown } | (Unread & { readonly isOpen: boolean })

/**
 * Parses a text as JSON, or returns the reason why it is invalid, without quoting the text. `whole`: the text is complete. `at`: where it
 * begins in its line, in characters. `isOpen`: it is the beginning of a value.
 */
export function readJson(text: string, whole: boolean, at = 0): JsonRead {
  try {
    return { value: JSON.parse(text) as unknown }
  } catch (error) {
    if (error instanceof RangeError)
      return { problem: `it is nested more than ${MAX_JSON_DEPTH} levels deep`, isTorn: false, isOpen: false }
    // V8 reports the position together with the content there, which must not be repeated.
    const { message } = error as Error
    const [, position] = /at position (\d+)/.exec(message) ?? []
    const isOpen = /^(?:Unexpected end|Unterminated string)/.test(message) || Number(position) >= text.length
    const place = position === undefined ? '' : ` from character ${at + Number(position) + 1} on`
    return { problem: whole ? `it is not JSON${place}` : ENDS_WITHIN, isTorn: true, isOpen }
  }
}

/** The current incomplete line, as pieces from several chunks. */
class OpenLine {
  readonly #maxBytes: number
  #pieces: Buffer[] = []
  #number = 1
  #isLong = false
  /** The number of its bytes so far. */
  size = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  add(piece: Buffer): void {
    this.size += piece.length
    // One more than the limit, because of a carriage return.
    if (this.size > this.#maxBytes + 1) {
      this.#isLong = true
      this.#pieces = []
    } else if (piece.length > 0) this.#pieces.push(piece)
  }

  pass(): void {
    this.#number += 1
  }

  close(ended: boolean): Line {
    const number = this.#number
    const text = this.#isLong ? undefined : this.#bytes(ended)
    this.#pieces = []
    this.#number += 1
    this.#isLong = false
    this.size = 0
    if (text === undefined || text.length > this.#maxBytes)
      return { number, ended, problem: `it is longer than ${this.#maxBytes} bytes` }
    return isUtf8(text)
      ? { number, ended, text: text.toString('utf8') }
      : { number, ended, problem: 'it is not UTF-8' }
  }

  #bytes(ended: boolean): Buffer {
    const whole = this.#pieces.length === 1 ? this.#pieces[0]! : Buffer.concat(this.#pieces)
    const from = this.#number === 1 && startsWithMark(whole) ? 3 : 0
    const to = ended && whole.at(-1) === RETURN ? whole.length - 1 : whole.length
    return whole.subarray(from, Math.max(from, to))
  }
}

function startsWithMark(bytes: Uint8Array): boolean {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
}
