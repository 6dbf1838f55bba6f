import type { PositionRange } from '../../core/messages/message.ts'

/* Which pages of the log to read for some positions. */

/** Positions that are closer than this are read together: a row in between costs less than another call. */
const MAX_GAP = 8
const MAX_WINDOW = 100

type RowWindow = { readonly after: number; readonly limit: number }

/** Returns the pages of the log that contain some positions. */
export function windowsOf(positions: readonly number[]): RowWindow[] {
  const windows: { from: number; to: number }[] = []
  for (const position of [...new Set(positions)].sort((a, b) => a - b)) {
    const last = windows.at(-1)
    const fits = last !== undefined && position - last.to <= MAX_GAP && position - last.from < MAX_WINDOW
    if (fits) last.to = position
    else windows.push({ from: position, to: position })
  }
  return windows.map(({ from, to }) => ({ after: from - 1, limit: to - from + 1 }))
}

/** Returns the first `count` positions of some ranges. */
export function positionsIn(ranges: readonly PositionRange[], count: number): number[] {
  const positions: number[] = []
  for (const [from, to] of ranges)
    for (let position = from; position <= to; position += 1) {
      if (positions.length === count) return positions
      positions.push(position)
    }
  return positions
}

/** Ranges in words: `1–40, 44`. Of many, the first few and how many more there are. */
export function rangeWords(ranges: readonly PositionRange[], most = 6): string {
  const words = ranges.slice(0, most).map(([from, to]) => (from === to ? String(from) : `${from}–${to}`))
  return ranges.length > most ? `${words.join(', ')} and ${ranges.length - most} more` : words.join(', ')
}
