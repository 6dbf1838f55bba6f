import type { PositionRange } from '../../messages/message.ts'
import { mergeRanges } from '../../model/expansion.ts'
import { loadCompactions } from './compactions.ts'
import type { Connection } from './connection.ts'

/**
 * A function that says which positions of the log the row inserted by a compaction stands for, down to the
 * originals: what the compaction hid, and what the inserted rows among that stood for.
 */
export function provenanceOf(
  connection: Connection,
  session: number,
): (compaction: number) => readonly PositionRange[] {
  const compactions = loadCompactions(connection, session)
  const byNo = new Map(compactions.map((compaction) => [compaction.no, compaction] as const))
  const byOrdinal = new Map(
    compactions.flatMap((compaction) => {
      const { inserted } = compaction.coverage
      return inserted === undefined ? [] : [[inserted.ordinal, compaction.no] as const]
    }),
  )
  const known = new Map<number, readonly PositionRange[]>()
  const positionsOf = (no: number): readonly PositionRange[] => {
    const found = known.get(no)
    if (found !== undefined) return found
    known.set(no, [])
    const hidden = byNo.get(no)?.coverage.hidden
    const inner = (hidden?.inserted ?? []).flatMap(({ ordinal }) => {
      const by = byOrdinal.get(ordinal)
      return by === undefined ? [] : positionsOf(by)
    })
    const positions = mergeRanges([...(hidden?.positions ?? []), ...inner])
    known.set(no, positions)
    return positions
  }
  return positionsOf
}
