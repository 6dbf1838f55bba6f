import { stringifyJson } from '../messages/json.ts'

/**
 * The messages of a list that a shorter one does not have, in order. A message is known again by itself, then by its id;
 * a copy without one by what it says, the newest of equal ones first, each counted once. Source: checklist S1-U19.
 */
export function evictedOf<M extends object>(all: readonly M[], kept: readonly M[]): M[] {
  const objects = new Set<M>(kept)
  const ids = new Set<unknown>(kept.map(idOf).filter((id) => id !== undefined))
  const missing = all.filter((message) => {
    const id = idOf(message)
    return !objects.has(message) && !(id !== undefined && ids.has(id))
  })
  if (missing.length === 0) return missing
  const originals = new Set<M>(all)
  const copies = new Map<string, number>()
  for (const message of kept) {
    if (originals.has(message) || idOf(message) !== undefined) continue
    const text = stringifyJson(message)
    copies.set(text, (copies.get(text) ?? 0) + 1)
  }
  if (copies.size === 0) return missing
  const evicted: M[] = []
  for (const message of missing.toReversed()) {
    const text = stringifyJson(message)
    const left = copies.get(text) ?? 0
    if (left > 0) copies.set(text, left - 1)
    else evicted.push(message)
  }
  return evicted.reverse()
}

function idOf(message: object): unknown {
  return (message as { readonly id?: unknown }).id
}
