/** Returns the list of a key, to add to it; inserts a new list for an unknown key. */
export function listIn<K, T>(lists: Map<K, T[]>, key: K): T[] {
  const known = lists.get(key)
  if (known !== undefined) return known
  const list: T[] = []
  lists.set(key, list)
  return list
}
