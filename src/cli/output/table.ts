import Table from 'cli-table3'
import type { Sink, Style } from '../command.ts'
import { clipped, clippedInside, padEnd, widthOf, wrapped } from './layout.ts'
import { safeLine } from './safe-text.ts'

export type Column = {
  readonly title: string
  readonly align?: 'left' | 'right'
  /** What becomes of its texts where there is no room: they are broken into lines (`wrap`), or their ends are left out (`clip`). */
  readonly flexible?: 'wrap' | 'clip'
  /** Names what a row is of: it stays whole in a pipe, where programs read it, and is clipped so that names which begin alike differ. */
  readonly isName?: boolean
  /** Whether the column is left out where there is no room for all; of several the last one goes first. */
  readonly isExtra?: boolean
}

/** A cell: stored text, made safe here, and how it is to look. */
type Cell = string | { readonly text: string; readonly style: (text: string) => string }

const GAP = 2
/** Columns of a line where it is no terminal that says how many it has. */
const PIPE = 120
/** A flexible column is made no narrower. */
const LEAST = 12
/** Nor than this as long as there are extra columns that can go. */
const COMFORTABLE = 16
const LEAST_IN_BLOCK = 8

/**
 * A quiet table as lines. It fits: flexible columns are made narrower, extra ones left out, and where that is not enough on a terminal each
 * row becomes a block of lines. A row of columns that are clipped or fixed is one line.
 */
export function table(
  given: readonly Column[],
  rows: readonly (readonly Cell[])[],
  sink: Sink,
  style: Style,
): string[] {
  const columns = given.map(
    ({ flexible, ...column }): Column =>
      flexible === undefined || (column.isName === true && !sink.isTerminal)
        ? column
        : { ...column, flexible },
  )
  const texts = rows.map((row) => row.map((cell) => safeLine(typeof cell === 'string' ? cell : cell.text)))
  const natural = columns.map(({ title }, at) =>
    texts.reduce((widest, row) => Math.max(widest, widthOf(row[at] ?? '')), widthOf(title)),
  )
  const { widths, excess } = fitted(columns, natural, sink.isTerminal ? sink.columns : PIPE)
  if (excess > 0 && sink.isTerminal) return blocks(columns, rows, texts, sink, style)
  const shown = columns.flatMap((column, at) => {
    const width = widths[at]
    return width === undefined ? [] : [{ column, at, width }]
  })
  const clips = shown.map(({ column, at, width }) => clipOf(column, texts, at, width))
  const titles = shown.map(({ column: { title } }) => [style.bold(title)])
  const body = rows.map((row, at) =>
    shown.map(({ column: { flexible }, at: from, width }, no) => {
      const text = texts[at]![from]!
      const lines = flexible === 'clip' ? [clips[no]!(text, width)] : wrapped(text, width)
      const cell = row[from]!
      return typeof cell === 'string' ? lines : lines.map(cell.style)
    }),
  )
  return laidOut(
    shown.map(({ column }) => column),
    shown.map(({ width }) => width),
    [titles, ...body],
  )
}

/** Names whose beginnings do not tell them apart keep their ends as well. */
function clipOf({ isName }: Column, texts: readonly string[][], at: number, width: number): typeof clipped {
  if (isName !== true) return clipped
  const names = new Set(texts.map((row) => row[at]!))
  const beginnings = new Set([...names].map((name) => clipped(name, width)))
  return beginnings.size < names.size ? clippedInside : clipped
}

/** The widths of the columns, `undefined` for one that is left out, and by how much the table is still too wide. */
function fitted(
  columns: readonly Column[],
  natural: readonly number[],
  most: number,
): { readonly widths: readonly (number | undefined)[]; readonly excess: number } {
  let shown: readonly (number | undefined)[] = natural
  for (;;) {
    const extra = columns.findLastIndex(({ isExtra }, at) => isExtra === true && shown[at] !== undefined)
    const { widths, excess } = narrowed(columns, shown, most, extra === -1 ? LEAST : COMFORTABLE)
    if (excess <= 0 || extra === -1) return { widths, excess }
    shown = shown.map((width, at) => (at === extra ? undefined : width))
  }
}

/** Flexible columns made narrower, the widest first. */
function narrowed(
  columns: readonly Column[],
  natural: readonly (number | undefined)[],
  most: number,
  least: number,
): { readonly widths: readonly (number | undefined)[]; readonly excess: number } {
  const widths = [...natural]
  let excess =
    widths.reduce<number>((sum, width) => sum + (width === undefined ? 0 : width + GAP), -GAP) - most
  for (; excess > 0; excess -= 1) {
    const widest = columns.reduce(
      (best, { flexible }, at) =>
        flexible !== undefined && (widths[at] ?? 0) > least && widths[at]! > (widths[best] ?? 0) ? at : best,
      -1,
    )
    if (widest === -1) break
    widths[widest]! -= 1
  }
  return { widths, excess }
}

/*
 * cli-table3 measures text by rules of its own, so it lays out fillers of the right width, and the lines are put in afterwards, in the
 * order in which they stand. How a row is laid out depends on the widths of its lines alone, so rows that are alike in them are laid out
 * once: a plan may have 100,000, of a few hundred kinds.
 */
const FILLER = '\ue000'
const FILLERS = new RegExp(`${FILLER}+`, 'g')

type Cells = readonly (readonly string[])[]

function laidOut(columns: readonly Column[], widths: readonly number[], rows: readonly Cells[]): string[] {
  const layouts = new Map<string, string>()
  return rows.flatMap((row) => {
    const taken = row.map((lines) => lines.map(widthOf))
    const kind = taken.map((one) => one.join(' ')).join()
    const layout = layouts.get(kind) ?? layoutOf(columns, widths, taken)
    layouts.set(kind, layout)
    return filled(layout, row, taken)
  })
}

/** A row of lines that are so wide, with fillers in their places. */
function layoutOf(
  columns: readonly Column[],
  widths: readonly number[],
  taken: readonly (readonly number[])[],
): string {
  const grid = new Table({
    colWidths: widths.map((width) => width + GAP),
    colAligns: columns.map(({ align = 'left' }) => align),
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': GAP },
    chars: Object.fromEntries(BORDERS.map((name) => [name, ''])),
  })
  grid.push(taken.map((lines) => lines.map((width) => FILLER.repeat(width)).join('\n')))
  return grid.toString()
}

function filled(layout: string, row: Cells, taken: readonly (readonly number[])[]): string[] {
  const height = Math.max(...row.map((lines) => lines.length))
  const queue: string[] = []
  for (let at = 0; at < height; at += 1)
    for (const [column, lines] of row.entries()) if ((taken[column]![at] ?? 0) > 0) queue.push(lines[at]!)
  let next = 0
  return layout
    .replace(FILLERS, () => queue[next++] ?? '')
    .split('\n')
    .map((line) => line.trimEnd())
}

const BORDERS = [
  'top',
  'top-mid',
  'top-left',
  'top-right',
  'bottom',
  'bottom-mid',
  'bottom-left',
  'bottom-right',
  'left',
  'left-mid',
  'mid',
  'mid-mid',
  'right',
  'right-mid',
  'middle',
] as const

/** Each row as a block: its first cell, then a line for each other that says something. */
function blocks(
  columns: readonly Column[],
  rows: readonly (readonly Cell[])[],
  texts: readonly (readonly string[])[],
  sink: Sink,
  style: Style,
): string[] {
  const label = Math.max(...columns.slice(1).map(({ title }) => widthOf(title)))
  return texts.flatMap((row, at) => {
    const lines = row.flatMap((text, column) => {
      const cell = rows[at]![column]!
      const look = typeof cell === 'string' ? (one: string) => one : cell.style
      if (column === 0) return wrapped(text, sink.columns).map((line) => style.bold(line))
      if (text === '') return []
      const head = `  ${style.dim(padEnd(columns[column]!.title, label))}  `
      const room = Math.max(LEAST_IN_BLOCK, sink.columns - label - 4)
      return wrapped(text, room).map((line, no) => (no === 0 ? head : ' '.repeat(label + 4)) + look(line))
    })
    return at === 0 ? lines : ['', ...lines]
  })
}
