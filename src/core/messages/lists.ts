/** Returns the list of a key, to add to it; inserts a new list for an unknown key. */
export function listIn<K, T>(lists: Map<K, T[]>, key: K): T[] {
  const known = lists.get(key)
  if (known !== undefined) return known
  const list: T[] = []
  lists.set(key, list)
  return list
}

/** The number of entries at the start of a sorted list that are before a place: a binary search. */
export function countBefore<T>(list: readonly T[], isBefore: (entry: T) => boolean): number {
  let [low, high] = [0, list.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (isBefore(list[middle]!)) low = middle + 1
    else high = middle
  }
  return low
}
