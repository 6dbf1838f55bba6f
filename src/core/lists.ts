/** The list under a key, for adding to it; a new one where there is none. A list that is copied for each item costs the square of their number. */
export function listIn<K, T>(lists: Map<K, T[]>, key: K): T[] {
  const known = lists.get(key)
  if (known !== undefined) return known
  const list: T[] = []
  lists.set(key, list)
  return list
}
