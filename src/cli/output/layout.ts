import stringWidth from 'string-width'
import type { Context, Sink, StatusLine } from '../command.ts'
import { EXIT } from '../errors.ts'
import { safeLine, safeText, TRUSTED, unmark } from './safe-text.ts'

/** The columns that a text takes on a terminal, without its colors. Stored text must be made safe first. */
export function widthOf(text: string): number {
  const unstyled = text.includes('\u001b') ? text.replace(TRUSTED, '') : text
  if (PRINTABLE.test(unstyled)) return unstyled.length
  let width = 0
  for (const character of segmentsOf(unstyled)) width += widthOfCharacter(character)
  return width
}

/** Text whose characters take one column each. */
const PRINTABLE = /^[\x20-\x7e]*$/

/** Widths of the first characters that were measured: measuring is the slowest part of a layout. */
const WIDTHS = new Map<string, number>()
const MAX_CACHED_WIDTHS = 10_000
/** The longest grapheme that is remembered. A longer slice would keep its whole text in memory. */
const MAX_CACHED_LENGTH = 12

function widthOfCharacter(character: string): number {
  const known = WIDTHS.get(character)
  if (known !== undefined) return known
  const width = stringWidth(character)
  if (WIDTHS.size < MAX_CACHED_WIDTHS && character.length <= MAX_CACHED_LENGTH) WIDTHS.set(character, width)
  return width
}

/** Length of a piece of text. Splitting a text into graphemes takes quadratic time. */
const PIECE = 1_000
const SEGMENTER = new Intl.Segmenter()

/** A text in short pieces that end where a grapheme does, unless one is longer than a piece. */
function graphemePieces(text: string): string[] {
  const pieces: string[] = []
  for (let from = 0; from < text.length; from += pieces.at(-1)!.length) {
    const piece = text.slice(from, from + PIECE)
    const isLast = from + PIECE >= text.length
    // The last grapheme may continue after the piece.
    const end = isLast ? 0 : SEGMENTER.segment(piece).containing(piece.length - 1)!.index
    pieces.push(end === 0 ? piece : piece.slice(0, end))
  }
  return pieces
}

function* segmentsOf(text: string): Generator<string> {
  for (const piece of graphemePieces(text))
    if (PRINTABLE.test(piece)) yield* piece
    else for (const { segment } of SEGMENTER.segment(piece)) yield segment
}

/** Pads a text with spaces to a width; a longer text is unchanged. */
export function padded(text: string, width: number, align: 'left' | 'right' = 'left'): string {
  const space = ' '.repeat(Math.max(0, width - widthOf(text)))
  return align === 'left' ? text + space : space + text
}

/** A text without colors as lines no wider than `width`, broken between words if possible. Lines keep their indentation. */
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

/** The lines of a text: wrapped on a terminal, unchanged elsewhere. */
export function paragraph(text: string, sink: Sink, indent = ''): string[] {
  const lines = sink.isTerminal
    ? wrapped(text, Math.max(10, sink.columns - widthOf(indent)))
    : safeText(text).split('\n')
  return lines.map((line) => (indent + line).trimEnd())
}

/** The lines of a text that is one line of its own, such as a sentence with a title in it, each styled. */
export function sentence(
  text: string,
  sink: Sink,
  look: (line: string) => string = (line) => line,
  indent = '',
): string[] {
  return paragraph(safeLine(text), sink, indent).map((line) => look(line))
}

export function writeLines(sink: Pick<Sink, 'write'>, lines: readonly string[]): void {
  sink.write(lines.map((line) => `${line}\n`).join(''))
}

/** Prints the result of a command, as JSON with `--json`, and returns the exit code of a command that is done. */
export function report(
  { json, out, printJson }: Pick<Context, 'json' | 'out' | 'printJson'>,
  value: object,
  lines: () => readonly string[],
): number {
  if (json) printJson(value)
  else writeLines(out, lines())
  return EXIT.done
}

/** The beginning of a text, at most `width` columns; `…` marks what is left out. */
export function clipped(text: string, width: number): string {
  if (widthOf(text) <= width) return text
  const head = fitting(segmentsOf(text), width - 1).join('')
  return `${head.trimEnd()}…`
}

/** The beginning and the end of a text; `…` marks what is left out between them. */
export function clippedInside(text: string, width: number): string {
  if (widthOf(text) <= width) return text
  const head = clipped(text, Math.ceil(width / 2))
  const end = fitting([...segmentsOf(text)].reverse(), width - widthOf(head))
  return head + end.reverse().join('')
}

/** The first segments that fit into `width` columns. */
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

/** A line of a terminal that is rewritten. It moves the cursor, so it writes to the terminal unchanged, and makes its text safe. */
export function statusLine(terminal: Sink): StatusLine {
  let shown = ''
  return {
    show: (text) => {
      const line = clipped(unmark(safeLine(text), false), terminal.columns - 1)
      if (line !== shown) terminal.write(`\r\x1b[2K${line}`)
      shown = line
    },
    clear: () => {
      if (shown !== '') terminal.write('\r\x1b[2K')
      shown = ''
    },
  }
}
