/** Fewest letters an id is shown by. */
const LEAST = 8

/**
 * Each id by the shortest end that no other has: ids made in the same moment begin alike. A command takes such an end for the id.
 */
export function shortIds(ids: Iterable<string>): ReadonlyMap<string, string> {
  const all = [...new Set(ids)]
  return new Map(
    all.map((id) => {
      for (let length = LEAST; length < id.length; length += 1) {
        const end = id.slice(-length)
        const isOnly = !all.some((other) => other !== id && (other.endsWith(end) || other.startsWith(end)))
        if (isOnly) return [id, end] as const
      }
      return [id, id] as const
    }),
  )
}
