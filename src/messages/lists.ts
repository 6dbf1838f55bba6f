/** The list under a key, for adding to it; a new list where the key is unknown. Copying the list for each item would take quadratic time. */
export function listIn<K, T>(lists: Map<K, T[]>, key: K): T[] {
  const known = lists.get(key)
  if (known !== undefined) return known
  const list: T[] = []
  lists.set(key, list)
  return list
}
