import { isUtf8 } from 'node:buffer'
import { z } from 'zod'
import { check, nameSchema } from '../../messages/check.ts'
import type { PositionRange } from '../../messages/message.ts'
import { onOneLine, withUnseenShown } from '../../messages/unseen.ts'
import { JsonSplitter, type Piece, type Raw } from '../json-splitter.ts'
import { ENDS_WITHIN, jsonOf, MAX_LINE_BYTES } from '../lines.ts'
import type { Place } from '../source.ts'

/** Options of documents for people. */
export const documentSchema = z.strictObject({
  /** Hidden rows: omitted with a note in their place, or shown with the reason. Default: omitted in Markdown, shown in HTML. */
  hidden: z.enum(['omit', 'show']).optional(),
  /** Images: inline, or a word with their size. Default: a word in Markdown, inline in HTML. */
  images: z.enum(['inline', 'word']).optional(),
  /** The maximum characters of a tool's output; the rest is omitted with a note. Default: no limit. */
  cutOutputs: z.int().positive().optional(),
  /** The title. Default: the session's own, else its id. */
  title: nameSchema.optional(),
  /** The time of the export, milliseconds since 1970, shown in the document. Default: none, so that the same session yields the same bytes. */
  exportedAt: z.int().min(-8.64e15).max(8.64e15).optional(),
})

export type DocumentOptions = z.input<typeof documentSchema>

/** The options with defaults. */
export type DocumentSettings = {
  readonly hidden: 'omit' | 'show'
  readonly images: 'inline' | 'word'
  readonly cutOutputs: number | undefined
  readonly title: string | undefined
  readonly exportedAt: number | undefined
}

/** Checks options and applies the defaults of one kind of document. Throws `INVALID_INPUT`. */
export function documentSettings(
  options: DocumentOptions,
  defaults: Pick<DocumentSettings, 'hidden' | 'images'>,
  verb: string,
): DocumentSettings {
  const { hidden, images, cutOutputs, title, exportedAt } = check(documentSchema, options, verb)
  return {
    hidden: hidden ?? defaults.hidden,
    images: images ?? defaults.images,
    cutOutputs,
    title,
    exportedAt,
  }
}

/** An integer with separated thousands: `12,345`. */
export function figure(value: number): string {
  return String(Math.round(value)).replace(/\B(?=(?:\d{3})+$)/g, ',')
}

/** `1 message`, `3 messages`. */
export function counted(count: number, word: string): string {
  return `${figure(count)} ${word}${count === 1 ? '' : 's'}`
}

/** A time in UTC to the second: the same bytes in every time zone. */
export function time(ms: number): string {
  if (!Number.isFinite(ms) || Math.abs(ms) > 8.64e15) return 'at no time there is'
  return `${new Date(ms).toISOString().slice(0, -5).replace('T', ' ')} UTC`
}

/** Bytes for people: `612 bytes`, `34 KB`, `1.2 MB`. */
export function size(bytes: number): string {
  if (bytes < 1_000) return counted(bytes, 'byte')
  if (bytes < 1_000_000) return `${Math.round(bytes / 1_000)} KB`
  return `${(bytes / 1_000_000).toFixed(1)} MB`
}

/*
 * Positions in documents and on the terminal, without separated thousands: a position identifies a message and can be copied into a
 * command.
 */

/** `3`, `3–41, 44`. */
function positionList(ranges: readonly PositionRange[]): string {
  return ranges.map(([from, to]) => (from === to ? `${from}` : `${from}–${to}`)).join(', ')
}

/** `position 3`, `positions 3–41, 44`. */
export function positionWords(ranges: readonly PositionRange[]): string {
  const isOne = ranges.length === 1 && ranges[0]![0] === ranges[0]![1]
  return `${isOne ? 'position' : 'positions'} ${positionList(ranges)}`
}

/**
 * A text without invisible characters: control characters become symbols (`␛`), directional and invisible characters and lone surrogates
 * become numbers (`⟨U+202E⟩`). Line breaks and tabs stay; CRLF becomes LF. The result is well-formed.
 */
export function visibleText(text: string): string {
  return withUnseenShown(text, (code) => `⟨U+${code.toString(16).toUpperCase().padStart(4, '0')}⟩`)
}

/** The same on one line: line breaks and tabs are shown too. */
export function visibleLine(text: string): string {
  return onOneLine(visibleText(text))
}

/**
 * A piece of a file with one JSON value: an element of its list, a field of its object, or a problem at a place. `list` is the field with
 * the list, absent for the list at the root. Elements and lines count from 1.
 */
export type JsonElement = { readonly line: number } & (
  | { readonly type: 'element'; readonly list?: string; readonly element: number; readonly value: unknown }
  | { readonly type: 'field'; readonly key: string; readonly value: unknown }
  | {
      readonly type: 'problem'
      readonly element?: number
      /** Whether it is an unreadable field that does not affect the rest. */
      readonly isField?: true
      readonly why: string
    }
)

export type ElementOptions = {
  /** The fields of an object at the root whose lists are read element by element. Default: none. */
  readonly lists?: readonly string[]
  /** The other fields to report. Default: all. */
  readonly fields?: (key: string) => boolean
  /** The maximum bytes of one element or field. Default: the maximum length of a JavaScript string. */
  readonly maxBytes?: number
}

/**
 * Yields the elements of one JSON list, or the fields of one object and the elements of its lists, each parsed separately, for any division
 * into chunks. Only the current piece is held. Invalid JSON or UTF-8, text after the end, and an end within a piece are problems; a bad
 * piece does not hide later ones while its brackets are balanced.
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
    if (key === undefined) return { type: 'problem', line, isField, why: 'the name of a field is no JSON' }
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

/** The place of a piece in its file. */
export function placeOf(piece: JsonElement): Place {
  return { line: piece.line, ...elementIn(piece) }
}

function elementIn(piece: Piece | JsonElement): { readonly element?: number } {
  return 'element' in piece && piece.element !== undefined ? { element: piece.element } : {}
}

function readPiece(bytes: Raw, maxBytes: number): ReturnType<typeof jsonOf> {
  if (bytes === undefined) return { problem: `it is longer than ${maxBytes} bytes` }
  return isUtf8(bytes) ? jsonOf(bytes.toString('utf8'), true) : { problem: 'it is no UTF-8' }
}

/** A field's name from its JSON. */
function keyOf(bytes: Raw): string | undefined {
  const read = bytes === undefined ? undefined : readPiece(bytes, MAX_LINE_BYTES)
  return read !== undefined && 'value' in read && typeof read.value === 'string' ? read.value : undefined
}

/** The chunks without the byte order mark of the first three bytes. */
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
