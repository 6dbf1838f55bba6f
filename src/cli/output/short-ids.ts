/** Fewest letters an id is shown by. */
const LEAST = 8

/**
 * Each id by the shortest end that no other has, at its beginning or its end: ids made in the same moment begin alike. A command takes such
 * an end for the id. Takes linear time: every length is looked at once, for all ids.
 */
export function shortIds(ids: Iterable<string>): ReadonlyMap<string, string> {
  const all = [...new Set(ids)]
  const short = new Map<string, string>()
  let waiting = all.filter((id) => id.length > LEAST)
  for (let length = LEAST; waiting.length > 0; length += 1) {
    const beginnings = tally(all, (id) => id.slice(0, length))
    const ends = tally(all, (id) => id.slice(-length))
    for (const id of waiting) {
      const end = id.slice(-length)
      const beginningsOfOthers = (beginnings.get(end) ?? 0) - (id.startsWith(end) ? 1 : 0)
      if (ends.get(end) === 1 && beginningsOfOthers === 0) short.set(id, end)
    }
    waiting = waiting.filter((id) => !short.has(id) && id.length > length + 1)
  }
  return new Map(all.map((id) => [id, short.get(id) ?? id]))
}

/** How many ids have a piece; shorter ids have none of that length. */
function tally(ids: readonly string[], pieceOf: (id: string) => string): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const id of ids) {
    const piece = pieceOf(id)
    counts.set(piece, (counts.get(piece) ?? 0) + 1)
  }
  return counts
}
