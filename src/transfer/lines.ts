import { constants, isUtf8 } from 'node:buffer'
import { MAX_JSON_DEPTH } from '../messages/json.ts'

/**
 * One line of a file, without its end; or why there is none to be had.
 *
 * - `number`: counts from 1, blank lines too.
 * - `ended`: whether a line feed stands behind it. The last line of a file that is being written may be a part of one.
 */
export type Line = {
  readonly number: number
  readonly ended: boolean
} & ({ readonly text: string } | { readonly problem: string })

/** A JSON value a line says, or what is wrong with that line. */
export type JsonLine = { readonly line: number; readonly ended: boolean } & (
  | { readonly value: unknown }
  | { readonly problem: string }
)

/** Longest line that is read, in bytes: no text of JavaScript's can hold more characters than that. */
export const MAX_LINE_BYTES: number = constants.MAX_STRING_LENGTH

const LINE_FEED = 0x0a
const RETURN = 0x0d

/** The words for what a file breaks off in. */
export const ENDS_WITHIN = 'the file ends within it'

/** Why the last line of a file that an agent is writing to is not read. */
export const UNFINISHED = 'the last line is not finished: it waits for the next import'

/**
 * The lines of bytes, wherever the chunks are cut. A line ends at a line feed alone (a carriage return before it belongs to the end; U+2028
 * is text), a byte order mark is skipped, and nothing is held but the line at hand. A line that is no UTF-8, or longer than `maxBytes`
 * (default `MAX_LINE_BYTES`), comes as a problem; of one that is too long nothing more is held once that is known.
 */
export function readLines(
  bytes: AsyncIterable<Uint8Array>,
  maxBytes: number = MAX_LINE_BYTES,
): AsyncGenerator<Line, void, undefined> {
  return linesOf(bytes, maxBytes, true)
}

/** The same without blank lines, of which a file may have millions: they count and are not told. */
export function readFilledLines(
  bytes: AsyncIterable<Uint8Array>,
  maxBytes: number = MAX_LINE_BYTES,
): AsyncGenerator<Line, void, undefined> {
  return linesOf(bytes, maxBytes, false)
}

/** Whether there are only blanks from a place up to another one. */
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

/** The JSON values of lines, one a line. Blank lines count and say nothing; what is no JSON comes as a problem. */
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

/** What a text says as JSON, or why it says nothing. `whole` is whether more of it cannot follow. The text is not quoted. */
export function jsonOf(
  text: string,
  whole: boolean,
): { readonly value: unknown } | { readonly problem: string } {
  try {
    return { value: JSON.parse(text) as unknown }
  } catch (error) {
    // V8 says where it stopped, and next to it what stands there, which nobody may repeat.
    const [, position] = /at position (\d+)/.exec((error as Error).message) ?? []
    if (error instanceof RangeError) return { problem: `it is nested deeper than ${MAX_JSON_DEPTH}` }
    if (!whole) return { problem: ENDS_WITHIN }
    return {
      problem: `it is no JSON${position === undefined ? '' : ` from character ${Number(position) + 1} on`}`,
    }
  }
}

/** The line whose end is not there yet: the pieces of it, over the chunks it is spread over. */
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
    // One more than the limit: the carriage return that may be cut off.
    if (this.size > this.#maxBytes + 1) {
      this.#isLong = true
      this.#pieces = []
    } else if (piece.length > 0) this.#pieces.push(piece)
  }

  /** Counts a line that is left out. */
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
