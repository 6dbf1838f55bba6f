import type { Sink } from '../command.ts'
import { paragraph, widthOf } from './layout.ts'
import { safeLine } from './safe-text.ts'

/** A piece of a line: stored text, made safe here, and how it is to look. */
export type Piece = string | { readonly text: string; readonly style: (text: string) => string }

/** A line of several looks. Where it does not fit a terminal it is wrapped, and then without its looks. */
export function mixedLine(pieces: readonly Piece[], sink: Sink, indent = ''): string[] {
  const texts = pieces.map((piece) => safeLine(typeof piece === 'string' ? piece : piece.text))
  const plain = texts.join('')
  if (sink.isTerminal && widthOf(plain) + widthOf(indent) > sink.columns)
    return paragraph(plain, sink, indent)
  const styled = pieces.map((piece, at) => (typeof piece === 'string' ? texts[at]! : piece.style(texts[at]!)))
  return [indent + styled.join('')]
}
