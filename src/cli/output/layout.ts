import stringWidth from 'string-width'
import wrapAnsi from 'wrap-ansi'
import type { Sink } from '../command.ts'
import { safeText } from './safe-text.ts'

/** Columns a text takes on a terminal. Stored text must be made safe first. */
export function widthOf(text: string): number {
  return PRINTABLE.test(text) ? text.length : stringWidth(text)
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
  return wrapAnsi(line.trim(), width - indent.length, { hard: true })
    .split('\n')
    .map((one) => (indent + one).trimEnd())
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
  for (const { segment } of new Intl.Segmenter().segment(text)) yield segment
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
