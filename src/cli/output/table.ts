import type { Sink, Style } from '../command.ts'
import { clipped, clippedInside, padded, widthOf, wrapped } from './layout.ts'
import { safeLine } from './safe-text.ts'

export type Column = {
  readonly title: string
  readonly align?: 'left' | 'right'
  /** What happens to texts that do not fit: they are broken into lines (`wrap`), or shortened (`clip`). */
  readonly flexible?: 'wrap' | 'clip'
  /**
   * Identifies the row: whole in a pipe, where programs read it, and shortened on a terminal so that names that begin alike still differ.
   */
  readonly isName?: boolean
  /** Left out if not all columns fit, the last such column first. */
  readonly isExtra?: boolean
}

/** A cell: stored text, made safe here, and its style. */
type Cell =
  | string
  | {
      readonly text: string
      readonly style: (text: string) => string
      /** The text shown instead if the table is too wide for a terminal. */
      readonly short?: string | undefined
    }

const GAP = 2
/** Columns of a line in a pipe. */
const PIPE_WIDTH = 120
/** Least width of a flexible column. */
const MIN_WIDTH = 12
/** Its least width while there are extra columns to leave out. */
const COMFORTABLE_WIDTH = 24
const MIN_BLOCK_WIDTH = 8

/**
 * A table as lines that fit: flexible columns become narrower, extra ones are left out, and if that is not enough on a terminal each row
 * becomes a block of lines. A row without wrapped columns is one line.
 */
export function table(
  given: readonly Column[],
  rows: readonly (readonly Cell[])[],
  sink: Sink,
  style: Style,
): string[] {
  const columns = given.map(({ flexible, ...column }): Column => {
    const isFixed = flexible === undefined || (column.isName === true && !sink.isTerminal)
    return isFixed ? column : { ...column, flexible }
  })
  const most = sink.isTerminal ? sink.columns : PIPE_WIDTH
  let texts = rows.map((row) => row.map((cell) => safeLine(typeof cell === 'string' ? cell : cell.text)))
  const naturalOf = (): number[] =>
    columns.map(({ title }, at) =>
      texts.reduce((widest, row) => Math.max(widest, widthOf(row[at] ?? '')), widthOf(title)),
    )
  let natural = naturalOf()
  if (sink.isTerminal && natural.reduce((sum, width) => sum + width + GAP, -GAP) > most) {
    texts = texts.map((row, no) => row.map((text, at) => shortOf(rows[no]![at]!) ?? text))
    natural = naturalOf()
  }
  const { widths, excess } = fitted(columns, natural, most)
  if (excess > 0 && sink.isTerminal) return blocks(columns, rows, texts, sink, style)
  const shown = columns.flatMap((column, at) => {
    const width = widths[at]
    return width === undefined ? [] : [{ ...column, at, width, clip: clipOf(column, texts, at, width) }]
  })
  const lineOf = (cells: readonly string[]): string =>
    shown
      .map(({ width, align }, no) => padded(cells[no] ?? '', width, align))
      .join(' '.repeat(GAP))
      .trimEnd()
  const titles = lineOf(shown.map(({ title }) => style.bold(title)))
  const body = rows.flatMap((cells, no) => {
    const row = shown.map(({ at, width, flexible, clip }) => {
      const text = texts[no]![at]!
      const cell = cells[at]!
      const lines = flexible === 'clip' ? [clip(text, width)] : wrapped(text, width)
      return typeof cell === 'string' ? lines : lines.map(cell.style)
    })
    const height = row.reduce((most, lines) => Math.max(most, lines.length), 0)
    return Array.from({ length: height }, (_, line) => lineOf(row.map((lines) => lines[line] ?? '')))
  })
  return [titles, ...body]
}

function shortOf(cell: Cell): string | undefined {
  return typeof cell === 'string' || cell.short === undefined ? undefined : safeLine(cell.short)
}

/** Names with the same beginning keep their ends as well. */
function clipOf({ isName }: Column, texts: readonly string[][], at: number, width: number): typeof clipped {
  if (isName !== true) return clipped
  const names = new Set(texts.map((row) => row[at]!))
  const beginnings = new Set([...names].map((name) => clipped(name, width)))
  return beginnings.size < names.size ? clippedInside : clipped
}

type Widths = {
  /** `undefined` for a column that is left out. */
  readonly widths: readonly (number | undefined)[]
  /** By how much the table is still too wide. */
  readonly excess: number
}

function fitted(columns: readonly Column[], natural: readonly number[], most: number): Widths {
  let shown: readonly (number | undefined)[] = natural
  for (;;) {
    const extra = columns.findLastIndex(({ isExtra }, at) => isExtra === true && shown[at] !== undefined)
    const found = narrowed(columns, shown, most, extra === -1 ? MIN_WIDTH : COMFORTABLE_WIDTH)
    if (found.excess <= 0 || extra === -1) return found
    shown = shown.map((width, at) => (at === extra ? undefined : width))
  }
}

/** Makes flexible columns narrower, the widest first. */
function narrowed(
  columns: readonly Column[],
  natural: readonly (number | undefined)[],
  most: number,
  least: number,
): Widths {
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

/** Each row as a block: its first cell, then a line for each other cell with text. */
function blocks(
  columns: readonly Column[],
  rows: readonly (readonly Cell[])[],
  texts: readonly (readonly string[])[],
  sink: Sink,
  style: Style,
): string[] {
  const label = columns.slice(1).reduce((most, { title }) => Math.max(most, widthOf(title)), 0)
  return texts.flatMap((row, at) => {
    const lines = row.flatMap((text, column) => {
      const cell = rows[at]![column]!
      const look = typeof cell === 'string' ? (one: string) => one : cell.style
      if (column === 0) return wrapped(text, sink.columns).map((line) => style.bold(line))
      if (text === '') return []
      const head = `  ${style.dim(padded(columns[column]!.title, label))}  `
      const room = Math.max(MIN_BLOCK_WIDTH, sink.columns - label - 4)
      return wrapped(text, room).map((line, no) => (no === 0 ? head : ' '.repeat(label + 4)) + look(line))
    })
    return at === 0 ? lines : ['', ...lines]
  })
}
