import type { PositionRange } from '../../messages/message.ts'

/*
 * Positions as people read them, in documents and on the terminal. Their digits stand together: a position names a message, and can be
 * given back to a command as it is.
 */

/** `3`, `3–41, 44`. */
export function positionList(ranges: readonly PositionRange[]): string {
  return ranges.map(([from, to]) => (from === to ? `${from}` : `${from}–${to}`)).join(', ')
}

/** `position 3`, `positions 3–41, 44`. */
export function positionWords(ranges: readonly PositionRange[]): string {
  const isOne = ranges.length === 1 && ranges[0]![0] === ranges[0]![1]
  return `${isOne ? 'position' : 'positions'} ${positionList(ranges)}`
}
