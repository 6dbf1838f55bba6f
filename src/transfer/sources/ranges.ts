import type { PositionRange } from '../../messages/message.ts'

/** Ordinals as ranges, inclusive, ascending; each counts once, in whatever order it is given. */
export function rangesOf(ordinals: Iterable<number>): PositionRange[] {
  const ranges: [number, number][] = []
  for (const ordinal of [...new Set(ordinals)].sort((a, b) => a - b)) {
    const last = ranges.at(-1)
    if (last !== undefined && last[1] === ordinal - 1) last[1] = ordinal
    else ranges.push([ordinal, ordinal])
  }
  return ranges
}
