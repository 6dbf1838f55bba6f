import { constants, isUtf8 } from 'node:buffer'
import { MAX_JSON_DEPTH } from '../messages/json.ts'

/**
 * One line of a file without its end, or why it cannot be read.
 *
 * - `number`: counts from 1, blank lines too.
 * - `ended`: whether a line feed follows. The last line of a file that is being written may be incomplete.
 */
export type Line = {
  readonly number: number
  readonly ended: boolean
} & ({ readonly text: string } | { readonly problem: string })

/** The JSON value of a line, or its problem. */
export type JsonLine = { readonly line: number; readonly ended: boolean } & (
  | { readonly value: unknown }
  | { readonly problem: string }
)

/** The maximum length of a line, bytes: no JavaScript string can hold more characters. */
export const MAX_LINE_BYTES: number = constants.MAX_STRING_LENGTH

const LINE_FEED = 0x0a
const RETURN = 0x0d

/** The descriptions of a truncated piece. */
export const ENDS_WITHIN = 'the file ends within it'

/** Why the incomplete last line of an agent's file is not read. */
export const UNFINISHED = 'the last line is not finished: it waits for the next import'

/**
 * Yields the lines of bytes, for any division into chunks. A line ends only at a line feed (a carriage return before it is part of the end;
 * U+2028 is text), a byte order mark is skipped, and only the current line is held. Invalid UTF-8, or a line longer than `maxBytes` (default
 * `MAX_LINE_BYTES`), is a problem; the rest of a too long line is not held.
 */
export function readLines(
  bytes: AsyncIterable<Uint8Array>,
  maxBytes: number = MAX_LINE_BYTES,
): AsyncGenerator<Line, void, undefined> {
  return linesOf(bytes, maxBytes, true)
}

/** The same without blank lines, of which a file may have millions: they are counted and skipped. */
export function readFilledLines(
  bytes: AsyncIterable<Uint8Array>,
  maxBytes: number = MAX_LINE_BYTES,
): AsyncGenerator<Line, void, undefined> {
  return linesOf(bytes, maxBytes, false)
}

/** Whether a range contains only white space. */
function isBlank(chunk: Buffer, from: number, to: number): boolean {
  for (let at = from; at < to; at++) {
    const byte = chunk[at]!
    if (byte !== 0x20 && (byte < 0x09 || byte > 0x0d)) return false
  }
  return true
}

async function* linesOf(
  bytes: AsyncIterable<Uint8Array>,
  maxBytes: number,
  tellsBlank: boolean,
): AsyncGenerator<Line, void, undefined> {
  const open = new OpenLine(maxBytes)
  for await (const given of bytes) {
    const chunk = Buffer.from(given.buffer, given.byteOffset, given.byteLength)
    let from = 0
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, from)) {
      if (!tellsBlank && open.size === 0 && isBlank(chunk, from, end)) {
        open.pass()
        from = end + 1
        continue
      }
      open.add(chunk.subarray(from, end))
      const line = open.close(true)
      if (tellsBlank || !('text' in line) || line.text.trim() !== '') yield line
      from = end + 1
    }
    if (from < chunk.length) open.add(chunk.subarray(from))
  }
  if (open.size > 0) yield open.close(false)
}

/** Yields the JSON values of lines. Blank lines are counted and skipped; invalid JSON is a problem. */
export async function* readJsonLines(
  bytes: AsyncIterable<Uint8Array>,
  maxBytes: number = MAX_LINE_BYTES,
): AsyncGenerator<JsonLine, void, undefined> {
  for await (const line of readFilledLines(bytes, maxBytes)) {
    const { number, ended } = line
    if ('problem' in line) yield { line: number, ended, problem: line.problem }
    else yield { line: number, ended, ...jsonOf(line.text, ended) }
  }
}

/** A text as JSON, or why it is invalid. `whole`: no more of it can follow. The text is not quoted. */
export function jsonOf(
  text: string,
  whole: boolean,
): { readonly value: unknown } | { readonly problem: string } {
  try {
    return { value: JSON.parse(text) as unknown }
  } catch (error) {
    // V8 reports the position together with the content there, which must not be repeated.
    const [, position] = /at position (\d+)/.exec((error as Error).message) ?? []
    if (error instanceof RangeError) return { problem: `it is nested deeper than ${MAX_JSON_DEPTH}` }
    if (!whole) return { problem: ENDS_WITHIN }
    return {
      problem: `it is no JSON${position === undefined ? '' : ` from character ${Number(position) + 1} on`}`,
    }
  }
}

/** The current incomplete line: its pieces from several chunks. */
class OpenLine {
  readonly #maxBytes: number
  #pieces: Buffer[] = []
  #number = 1
  #isLong = false
  /** Bytes of it so far. */
  size = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  add(piece: Buffer): void {
    this.size += piece.length
    // One more than the limit, for a carriage return.
    if (this.size > this.#maxBytes + 1) {
      this.#isLong = true
      this.#pieces = []
    } else if (piece.length > 0) this.#pieces.push(piece)
  }

  /** Counts a skipped line. */
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
      : { number, ended, problem: 'it is no UTF-8' }
  }

  #bytes(ended: boolean): Buffer {
    const whole = this.#pieces.length === 1 ? this.#pieces[0]! : Buffer.concat(this.#pieces)
    const from = this.#number === 1 && startsWithMark(whole) ? 3 : 0
    const to = ended && whole.at(-1) === RETURN ? whole.length - 1 : whole.length
    return whole.subarray(from, Math.max(from, to))
  }
}

/** Whether bytes begin with the byte order mark of UTF-8. */
function startsWithMark(bytes: Uint8Array): boolean {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
}
