import { isCall, isResult, type Part, partsOf, type ToolResultPart } from '../../core/messages/message.ts'

/* Results shown beneath their calls: those in the same message, and in the messages that follow it directly. */

type Row = {
  readonly role: string
  readonly content: string | readonly Part[]
  readonly hidden: boolean
  readonly position?: number
}

/** A result, and where it is. */
export type FoundResult = { readonly row: Row; readonly part: ToolResultPart; readonly index: number }

/** The most messages that are looked at after a call. */
const REACH = 60

/** Returns the results of the calls of a message by the id of the call. `rowAt` returns a loaded row. */
export function resultsOf<R extends Row>(
  row: R,
  rowAt: (position: number) => R | undefined,
): ReadonlyMap<string, FoundResult & { readonly row: R }> {
  const found = new Map<string, FoundResult & { readonly row: R }>()
  const waiting = new Set(partsOf(row).flatMap((part) => (isCall(part) ? [part.toolCallId] : [])))
  if (waiting.size === 0) return found
  const take = (from: R): number => {
    let results = 0
    for (const [index, part] of partsOf(from).entries()) {
      if (!isResult(part)) continue
      results++
      if (waiting.delete(part.toolCallId)) found.set(part.toolCallId, { row: from, part, index })
    }
    return results
  }
  take(row)
  const { position } = row
  for (let step = 1; position !== undefined && waiting.size > 0 && step <= REACH; step++) {
    const next = rowAt(position + step)
    // A result that only one of both shows to the model isn't hidden in the card of the other.
    if (next === undefined || next.hidden !== row.hidden || take(next) === 0) break
  }
  return found
}

/** Returns the indexes of the parts of a message that are shown beneath the calls of an earlier one, with the position of that one. */
export function absorbedParts<R extends Row>(
  row: R,
  rowAt: (position: number) => R | undefined,
): { readonly parts: ReadonlySet<number>; readonly position: number | undefined } {
  const results = partsOf(row).flatMap((part, index) => (isResult(part) ? [{ part, index }] : []))
  const { position } = row
  if (results.length === 0 || position === undefined) return { parts: new Set(), position: undefined }
  for (let step = 1; step <= REACH; step++) {
    const before = rowAt(position - step)
    if (before === undefined || before.hidden !== row.hidden) break
    const parts = partsOf(before)
    if (parts.some(isCall)) {
      const found = resultsOf(before, rowAt)
      const own = results.filter(({ part }) => found.get(part.toolCallId)?.row === row)
      return {
        parts: new Set(own.map(({ index }) => index)),
        position: own.length > 0 ? before.position : undefined,
      }
    }
    if (!parts.some(isResult)) break
  }
  return { parts: new Set(), position: undefined }
}
