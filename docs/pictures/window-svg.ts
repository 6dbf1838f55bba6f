import type { IBufferCell } from '@xterm/headless'

/* A terminal's screen as an SVG picture: a window with a title, text on a grid, the colours of a dark terminal. */

const CELL_WIDTH = 8.4
const CELL_HEIGHT = 18
const FONT_SIZE = 14
const PADDING = 16
const BAR = 34

const BACKGROUND = '#16181d'
const FOREGROUND = '#d6dae3'
/** The sixteen colours of the palette. */
const PALETTE = [
  '#3b4252',
  '#f07178',
  '#a3d977',
  '#ffcb6b',
  '#82aaff',
  '#d49bf0',
  '#7fdbe0',
  '#d6dae3',
  '#8891a5',
  '#ff8b92',
  '#bdf08f',
  '#ffd98f',
  '#a3c3ff',
  '#e3b8fa',
  '#a3eef2',
  '#ffffff',
] as const

export type Picture = {
  /** On the window's bar. */
  readonly title: string
  readonly rows: readonly (readonly IBufferCell[])[]
  readonly columns: number
  /** Whether more would follow: then the end fades out. */
  readonly isCut: boolean
}

/** Neighbouring cells of one look. */
type Run = { readonly column: number; width: number; text: string; readonly look: string }

/** Draws a screen. The same screen gives the same text. */
export function windowSvg({ title, rows, columns, isCut }: Picture): string {
  const width = round(columns * CELL_WIDTH + 2 * PADDING)
  const height = BAR + rows.length * CELL_HEIGHT + PADDING
  const lines = rows
    .map((row, at) => lineOf(row, BAR + (at + 1) * CELL_HEIGHT - 5))
    .filter((line) => line !== '')
  const buttons = ['#ff5f57', '#febc2e', '#28c840'].map(
    (colour, at) => `<circle cx="${PADDING + 6 + at * 20}" cy="${BAR / 2}" r="6" fill="${colour}"/>`,
  )
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escaped(title)}" font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="${FONT_SIZE}">
<title>${escaped(title)}</title>
<rect x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="9" fill="${BACKGROUND}" stroke="#3a3f4b"/>
${buttons.join('')}
<text x="${round(width / 2)}" y="${BAR / 2 + 5}" fill="#8891a5" text-anchor="middle" font-size="13">${escaped(title)}</text>
<g fill="${FOREGROUND}" xml:space="preserve" style="white-space:pre">
${lines.join('\n')}
</g>${isCut ? fade(width, height) : ''}
</svg>
`
}

/** A veil over the last lines. */
function fade(width: number, height: number): string {
  const top = height - 4 * CELL_HEIGHT - PADDING
  return `
<linearGradient id="fade" x1="0" y1="0" x2="0" y2="1"><stop offset="0" stop-color="${BACKGROUND}" stop-opacity="0"/><stop offset="1" stop-color="${BACKGROUND}"/></linearGradient>
<rect x="1" y="${top}" width="${width - 2}" height="${height - top - 9}" fill="url(#fade)"/>`
}

function lineOf(row: readonly IBufferCell[], y: number): string {
  return runsOf(row)
    .filter(({ text, look }) => text.trim() !== '' || look.includes('data-back'))
    .map((run) => textOf(run, y))
    .join('')
}

function textOf({ column, width, text, look }: Run, y: number): string {
  const x = round(PADDING + column * CELL_WIDTH)
  const length = round(width * CELL_WIDTH)
  return `<text x="${x}" y="${y}" textLength="${length}" lengthAdjust="spacingAndGlyphs"${look}>${escaped(text)}</text>`
}

function runsOf(row: readonly IBufferCell[]): Run[] {
  const runs: Run[] = []
  let last: Run | undefined
  row.forEach((cell, column) => {
    const width = cell.getWidth()
    if (width === 0) return
    const text = cell.getChars() || ' '
    const look = lookOf(cell)
    // Wide characters stand alone, and so do blanks of some length: a font that draws them otherwise moves nothing else.
    const joins =
      last !== undefined && last.look === look && width === 1 && last.width === [...last.text].length
    if (joins && last !== undefined) {
      last.text += text
      last.width += width
    } else {
      last = { column, width, text, look }
      runs.push(last)
    }
  })
  return runs.flatMap(withoutGaps)
}

/** A run without the blanks around it, parted where several stand together. */
function withoutGaps({ column, text, look, width }: Run): Run[] {
  if (width !== [...text].length) return [{ column, text, look, width }]
  const found = [...text.matchAll(/\S+(?: \S+)*/gu)]
  return found.map(({ index, 0: piece }) => ({
    column: column + [...text.slice(0, index)].length,
    text: piece,
    look,
    width: [...piece].length,
  }))
}

function lookOf(cell: IBufferCell): string {
  const colour = cell.isFgDefault() ? undefined : PALETTE[cell.getFgColor()]
  return [
    colour === undefined ? '' : ` fill="${colour}"`,
    cell.isBold() !== 0 ? ' font-weight="bold"' : '',
    cell.isDim() !== 0 ? ' opacity="0.6"' : '',
  ].join('')
}

function round(value: number): number {
  return Math.round(value * 100) / 100
}

function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}
