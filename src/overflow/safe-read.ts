/** Entries of one list looked at from each end. */
export const MAX_ENTRIES = 200

/** `Array.isArray`, which throws of a revoked Proxy. */
export function isList(value: unknown): value is readonly unknown[] {
  try {
    return Array.isArray(value)
  } catch {
    return false
  }
}

/** The entries of a list, of a long one those at its ends. */
export function entriesOf(list: readonly unknown[]): unknown[] {
  const entries: unknown[] = []
  const length = read(list, 'length')
  if (typeof length !== 'number') return entries
  for (let i = 0; i < Math.min(length, MAX_ENTRIES); i++) entries.push(read(list, i))
  for (let i = Math.max(MAX_ENTRIES, length - MAX_ENTRIES); i < length; i++) entries.push(read(list, i))
  return entries
}

/** A property of somebody else's object; what throws counts as absent. */
export function read(value: object, key: string | number): unknown {
  try {
    return (value as Record<string | number, unknown>)[key]
  } catch {
    return undefined
  }
}
