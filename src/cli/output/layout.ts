import stringWidth from 'string-width'
import type { Sink } from '../command.ts'
import { safeText } from './safe-text.ts'
import { TRUSTED } from './trusted-codes.ts'

/** Columns a text takes on a terminal, its colours aside. Stored text must be made safe first. */
export function widthOf(text: string): number {
  const unstyled = text.includes('\u001b') ? text.replace(TRUSTED, '') : text
  if (PRINTABLE.test(unstyled)) return unstyled.length
  let width = 0
  for (const character of segmentsOf(unstyled)) width += widthOfCharacter(character)
  return width
}

/** Widths of the first characters that were measured, for measuring takes longer than all the rest. */
const WIDTHS = new Map<string, number>()
const MOST_WIDTHS = 10_000
/** Units of a character that is remembered: a longer one would keep the text in memory that it is cut from. */
const LONGEST_REMEMBERED = 12

function widthOfCharacter(character: string): number {
  const known = WIDTHS.get(character)
  if (known !== undefined) return known
  const width = stringWidth(character)
  if (WIDTHS.size < MOST_WIDTHS && character.length <= LONGEST_REMEMBERED) WIDTHS.set(character, width)
  return width
}

/** Units of a piece of text. What splits a text into graphemes takes the square of its length. */
const PIECE = 1_000
const SEGMENTER = new Intl.Segmenter()

/** A text in short pieces that end where a grapheme does, unless one is longer than a piece. */
function piecesOf(text: string): string[] {
  const pieces: string[] = []
  for (let from = 0; from < text.length; from += pieces.at(-1)!.length) {
    const piece = text.slice(from, from + PIECE)
    const isLast = from + PIECE >= text.length
    // The last grapheme may go on.
    const end = isLast ? 0 : SEGMENTER.segment(piece).containing(piece.length - 1)!.index
    pieces.push(end === 0 ? piece : piece.slice(0, end))
  }
  return pieces
}

/** Each of these takes a column. */
const PRINTABLE = /^[\x20-\x7e]*$/

/** Pads with blanks to a width; a longer text stays as it is. */
export function padEnd(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - widthOf(text)))
}

/** A text as lines no wider than `width`, broken between words where it can be, each as far in as its own line. It is not styled yet. */
export function wrapped(text: string, width: number): string[] {
  return safeText(text)
    .replaceAll('\t', '    ')
    .split('\n')
    .flatMap((line) => wrappedLine(line, Math.max(1, width)))
}

function wrappedLine(line: string, width: number): string[] {
  if (widthOf(line) <= width) return [line.trimEnd()]
  const own = /^ */.exec(line)![0]
  const indent = own.length * 2 > width ? '' : own
  return hardWrapped(line.trim(), width - indent.length).map((one) => (indent + one).trimEnd())
}

/** Breaks between words, and inside a word that is wider than a line. */
function hardWrapped(text: string, width: number): string[] {
  const lines: string[] = []
  let line = ''
  let columns = 0
  const add = (piece: string, wide: number): void => {
    if (columns > 0 && wide > 0 && columns + wide > width) {
      lines.push(line)
      line = ''
      columns = 0
    }
    line += piece
    columns += wide
  }
  for (const word of text.split(' ')) {
    if (columns > 0) {
      line += ' '
      columns++
    }
    const wide = widthOf(word)
    if (wide <= width) add(word, wide)
    else for (const character of segmentsOf(word)) add(character, widthOfCharacter(character))
  }
  return [...lines, line]
}

/** Lines of a text for a sink: wrapped on a terminal, as they are elsewhere. `indent` stands before each. */
export function paragraph(text: string, sink: Sink, indent = ''): string[] {
  const lines = sink.isTerminal
    ? wrapped(text, Math.max(10, sink.columns - widthOf(indent)))
    : safeText(text).split('\n')
  return lines.map((line) => (indent + line).trimEnd())
}

/** The beginning of a text that takes no more than `width` columns, `…` where something is left out. */
export function clipped(text: string, width: number): string {
  return widthOf(text) <= width
    ? text
    : `${fitting(segmentsOf(text), width - 1)
        .join('')
        .trimEnd()}…`
}

/** The beginning and the end of a text, `…` for what is left out between them. */
export function clippedInside(text: string, width: number): string {
  if (widthOf(text) <= width) return text
  const head = clipped(text, Math.ceil(width / 2))
  const end = fitting([...segmentsOf(text)].reverse(), width - widthOf(head))
  return head + end.reverse().join('')
}

function* segmentsOf(text: string): Generator<string> {
  for (const piece of piecesOf(text))
    if (PRINTABLE.test(piece)) yield* piece
    else for (const { segment } of SEGMENTER.segment(piece)) yield segment
}

/** As many of the segments, from the first one on, as fit into so many columns. */
function fitting(segments: Iterable<string>, width: number): string[] {
  const taken: string[] = []
  let columns = 0
  for (const segment of segments) {
    columns += widthOf(segment)
    if (columns > width) break
    taken.push(segment)
  }
  return taken
}
