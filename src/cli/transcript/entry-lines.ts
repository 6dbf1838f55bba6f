import { partsOf } from '../../messages/message.ts'
import { positionWords } from '../../transfer/document/positions.ts'
import type { Sink, Style } from '../command.ts'
import { counted, time } from '../output/figures.ts'
import { paragraph } from '../output/layout.ts'
import { safeLine } from '../output/safe-text.ts'
import type { Entry } from './entry.ts'
import { doneBy } from './hidden-by.ts'
import { type Piece, piecesOf } from './part-lines.ts'

export type Manner = {
  readonly out: Sink
  readonly style: Style
  readonly fold: boolean
  /** How an id of a compaction is written. */
  readonly shortId: (id: string) => string
}

/** A row of a session as lines: a heading, then what it says. What is hidden is dimmed and says why. */
export function entryLines(entry: Entry, manner: Manner): string[] {
  const { style, out } = manner
  const pieces = piecesOf(partsOf(entry), manner.fold)
  const nothing = pieces.length === 0 ? [`${INDENT}(nothing that a model is sent)`] : []
  if (entry.hidden !== undefined) {
    const body = pieces.flatMap((piece) => pieceLines(piece, out, undefined))
    return [...paragraph(headingOf(entry, manner), out), ...nothing, ...body].map((line) => style.dim(line))
  }
  const heading = paragraph(headingOf(entry, manner), out).map((line) => headingStyle(entry, style)(line))
  return [...heading, ...nothing.map(style.dim), ...pieces.flatMap((piece) => pieceLines(piece, out, style))]
}

function headingStyle({ kind, role }: Entry, style: Style): (text: string) => string {
  if (kind !== 'message') return (text) => style.bold(style.magenta(text))
  const colour = { user: style.cyan, assistant: style.green, tool: style.blue, system: style.yellow }[role]
  return (text) => style.bold(colour(text))
}

function headingOf(entry: Entry, { out, shortId }: Manner): string {
  const { kind, position, role, createdAt, insertedBy, standsFor, replacedParts, pinned, hidden } = entry
  const by = insertedBy === undefined ? '' : ` by ${shortId(insertedBy)}`
  const stands = standsFor.length === 0 ? '' : ` of ${positionWords(standsFor)}`
  const first = kind === 'message' ? `${position} · ${role}` : `── ${kind}${stands}${by}`
  const notes = [
    time(createdAt, out),
    ...(pinned ? ['pinned'] : []),
    ...(replacedParts.length > 0 ? [`${counted(replacedParts.length, 'part')} replaced`] : []),
    ...(hidden === undefined ? [] : [reasonOf(entry, out, shortId)]),
  ]
  return safeLine(`${first} · ${notes.join(' · ')}`)
}

function reasonOf({ hidden, kind }: Entry, out: Sink, shortId: (id: string) => string): string {
  const { compaction, kind: by, at, retired } = hidden!
  const when = at === undefined ? '' : `, ${time(at, out)}`
  if (retired) return `hidden: its compaction ${shortId(compaction)} is undone${when}`
  const verb = by === undefined ? 'hidden' : doneBy(by)
  return `hidden: ${verb}${kind === 'message' ? '' : ' in its turn'} by ${shortId(compaction)}${when}`
}

const INDENT = '  '

function pieceLines(piece: Piece, out: Sink, style: Style | undefined): string[] {
  const look = style === undefined ? (line: string) => line : pieceStyle(piece, style)
  const head = piece.head === undefined ? [] : paragraph(piece.head, out, INDENT)
  const body =
    piece.text === '' ? [] : paragraph(piece.text, out, piece.head === undefined ? INDENT : INDENT.repeat(2))
  return [...head, ...body].map((line) => (line === '' ? line : look(line)))
}

function pieceStyle({ kind }: Piece, style: Style): (line: string) => string {
  switch (kind) {
    case 'text':
      return (line) => line
    case 'reasoning':
    case 'result':
      return style.gray
    case 'call':
      return style.yellow
    case 'failure':
      return style.red
    case 'media':
      return style.magenta
  }
}
