import pc from 'picocolors'
import { BROKEN, UNREAD } from './exit-codes.ts'
import { cell, clip, UNBREAKABLE, widthOf, wrap } from './text.ts'

/** Widest line we write, however wide the terminal is: longer ones are hard to read. */
const MOST_COLUMNS = 100
const DEFAULT_COLUMNS = 80
const MARGIN = '  '

/** Colours are for people: not for pipes, and not where `NO_COLOR` is set. `FORCE_COLOR` asks for them anyway. */
function wantsColours({ NO_COLOR, FORCE_COLOR, TERM }: NodeJS.ProcessEnv): boolean {
  if (NO_COLOR !== undefined && NO_COLOR !== '') return false
  if (FORCE_COLOR !== undefined && FORCE_COLOR !== '') return FORCE_COLOR !== '0' && FORCE_COLOR !== 'false'
  return process.stdout.isTTY === true && TERM !== 'dumb'
}

export const paint = pc.createColors(wantsColours(process.env))
export type Paint = (text: string) => string

/** Columns we may use. */
export const columns = Math.max(
  20,
  Math.min(MOST_COLUMNS, process.stdout.columns || Number(process.env.COLUMNS) || DEFAULT_COLUMNS),
)

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
  process.exit(UNREAD)
})

/** One line, never wider than the terminal. Spaces that must not break a line are ordinary ones by now. */
export function print(line = ''): void {
  process.stdout.write(`${clip(line, columns).replaceAll(UNBREAKABLE, ' ').trimEnd()}\n`)
}

/** A sentence for whoever asked for something that cannot be. */
export function complain(sentence: string): void {
  process.stderr.write(`${paint.red(sentence.replaceAll(UNBREAKABLE, ' '))}\n`)
}

/** A line within the margin. */
export function say(line = ''): void {
  print(MARGIN + line)
}

/** A sentence or several, wrapped. */
export function tell(sentences: string, colour: Paint = paint.dim): void {
  for (const line of wrap(sentences, columns - MARGIN.length)) say(colour(line))
}

/** A name and what there is to say of it, wrapped beside the name. */
export function fact(name: string, value: string): void {
  const indent = 13
  const [first = '', ...more] = wrap(value, columns - MARGIN.length - indent)
  say(paint.dim(cell(name, indent)) + first)
  for (const line of more) say(' '.repeat(indent) + line)
}

export function heading(number: number, title: string): void {
  const text = clip(`${number}  ${title}`, columns - 5)
  print()
  print(
    `${paint.dim('──')} ${paint.bold(paint.cyan(text))} ${paint.dim('─'.repeat(columns - widthOf(text) - 4))}`,
  )
  print()
}

let broken = 0

/** Something this demo claims, and whether it is so. */
export function claim(holds: boolean, sentence: string): void {
  if (!holds) broken += 1
  const [first = '', ...more] = wrap(sentence, columns - MARGIN.length - 2)
  say(`${holds ? paint.green('✓') : paint.red('✗')} ${holds ? first : paint.red(first)}`)
  for (const line of more) say(`  ${holds ? line : paint.red(line)}`)
}

/** The exit code after these claims. */
export function outcome(): number {
  return broken === 0 ? 0 : BROKEN
}

const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉']

/**
 * A bar of `width` columns, filled by a share of 0 to 1; what is more fills it whole. `mark` is the place of a
 * limit, as a share.
 */
export function bar(share: number, width: number, colour: Paint = paint.cyan, mark?: number): string {
  const eighths = Math.round(Math.max(0, Math.min(1, share)) * width * 8)
  // What is there at all is seen.
  const shown = share > 0 && eighths === 0 ? 1 : eighths
  const filled = '█'.repeat(Math.floor(shown / 8)) + EIGHTHS[shown % 8]!
  const cells = [...filled.padEnd(width, '░')]
  const at = mark === undefined ? -1 : Math.min(width - 1, Math.floor(mark * width))
  return cells
    .map((cell, index) => (index === at ? paint.yellow('┃') : cell === '░' ? paint.dim(cell) : colour(cell)))
    .join('')
}

/** One column of a table. At most one is elastic: it takes the room the others leave. */
export type Column = {
  readonly title: string
  readonly side?: 'left' | 'right'
  readonly elastic?: boolean
  /** Left out where the terminal is too narrow for all. */
  readonly spare?: boolean
  readonly colour?: Paint
}

const GAP = 2
/** An elastic column that is narrower says nothing. */
const LEAST_ELASTIC = 16

/** Aligned columns under their titles. Cells may be coloured. */
export function table(shape: readonly Column[], rows: readonly (readonly string[])[]): void {
  const all = shape.map((column, at) => ({
    ...column,
    at,
    width: Math.max(widthOf(column.title), ...rows.map((row) => widthOf(row[at] ?? ''))),
  }))
  const excessOf = (shown: typeof all): number =>
    shown.reduce((sum, { width }) => sum + width + GAP, MARGIN.length - GAP) - columns
  const needs = all.find(({ elastic }) => elastic)
  const gives = needs === undefined ? 0 : Math.max(0, needs.width - LEAST_ELASTIC)
  const shown = excessOf(all) > gives ? all.filter(({ spare }) => !spare) : all
  const excess = Math.max(0, excessOf(shown))

  const line = (cellOf: (column: (typeof all)[number]) => string): void => {
    const cells = shown.map((column) => {
      const { elastic, width, side } = column
      return cell(cellOf(column), elastic ? Math.max(4, width - excess) : width, side)
    })
    say(cells.join(' '.repeat(GAP)))
  }
  line(({ title }) => paint.dim(title))
  for (const row of rows) line(({ at, colour }) => (colour ?? String)(row[at] ?? ''))
}
