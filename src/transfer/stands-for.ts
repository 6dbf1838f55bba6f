import type { PositionRange } from '../messages/message.ts'
import { mergeRanges } from '../model/expansion.ts'
import type { Compaction } from '../storage/storage.ts'

/**
 * A function that says which positions of the log a compaction hides in the end, through all summaries beneath it. `compactions` are those
 * of a session.
 */
export function standsFor(
  compactions: readonly Compaction[],
): (compaction: Compaction) => readonly PositionRange[] {
  const byOrdinal = new Map(compactions.map((one) => [one.coverage.inserted?.ordinal, one]))
  const known = new Map<string, readonly PositionRange[]>()
  const positionsOf = ({ id, coverage: { hidden } }: Compaction): readonly PositionRange[] => {
    const found = known.get(id)
    if (found !== undefined) return found
    // Coverage that goes in a circle, as only damage makes it, ends here.
    known.set(id, [])
    const beneath = hidden.inserted.flatMap(({ ordinal }) => {
      const inner = byOrdinal.get(ordinal)
      return inner === undefined ? [] : positionsOf(inner)
    })
    const positions = mergeRanges([...hidden.positions, ...beneath])
    known.set(id, positions)
    return positions
  }
  return positionsOf
}
