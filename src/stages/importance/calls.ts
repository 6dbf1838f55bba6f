import { coversRange, type IndexedCall, normalizePath } from '../../model/line-range.ts'
import type { View } from '../../model/view.ts'
import type { LineRange } from '../../model/view-row.ts'
import type { RowFacts } from './facts.ts'

/** Most later reads of one file an earlier one is held against. */
const MOST_LATER_READS = 8

/** Which rows hold failed results, and what the calls of a group are worth besides their role. */
export function callFacts(view: View, facts: readonly RowFacts[]) {
  const errors = new Set<number>()
  const failedCalls = new Set<string>()
  const answered = new Set<string>()
  for (const [index, row] of view.rows.entries()) {
    for (const { part } of row.results) {
      const call = view.turns.callOf(index, part)
      if (call !== undefined) answered.add(`${call.row}:${call.part}`)
      if (!facts[index]!.failed.has(part)) continue
      errors.add(index)
      if (call !== undefined) failedCalls.add(`${call.row}:${call.part}`)
    }
  }
  const repeated = repeatedReads(view, facts, (key) => answered.has(key) && !failedCalls.has(key))

  /** Only when all its calls are of the kind: a group that does more is worth what it does. */
  const worthOf = (indexes: readonly number[]): 'repeatedRead' | 'listing' | undefined => {
    let worth: 'repeatedRead' | 'listing' | undefined
    for (const index of indexes) {
      for (const { part } of view.rows[index]!.calls) {
        if (repeated.has(`${index}:${part}`)) worth = 'repeatedRead'
        else if (facts[index]!.listings.has(part)) worth ??= 'listing'
        else return undefined
      }
    }
    return worth
  }
  return { errors, worthOf }
}

/** Calls that read what a later successful one reads again. */
function repeatedReads(
  view: View,
  facts: readonly RowFacts[],
  succeeded: (key: string) => boolean,
): ReadonlySet<string> {
  const repeated = new Set<string>()
  const later = new Map<string, LineRange[]>()
  for (let index = view.rows.length - 1; index >= 0; index--) {
    for (const call of view.rows[index]!.calls as readonly IndexedCall[]) {
      if (call.path === undefined || !facts[index]!.reads.has(call.part)) continue
      const range = call.range ?? { from: 1 }
      const file = `${normalizePath(call.path)}\n${call.variant ?? ''}`
      const known = later.get(file) ?? []
      if (known.some((read) => coversRange(read, range))) repeated.add(`${index}:${call.part}`)
      else if (succeeded(`${index}:${call.part}`) && known.length < MOST_LATER_READS)
        later.set(file, [...known, range])
    }
  }
  return repeated
}
