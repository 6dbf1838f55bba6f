import type { Part } from '../../messages/message.ts'
import { outputText, partsOf } from '../../messages/message.ts'
import type { SeenRow } from './view-at.ts'

/** A part that is another text now. */
type PartChange = { readonly part: number; readonly before: string; readonly after: string }

/** A row of two views: in both alike, in one alone, or with other texts. */
export type Difference =
  | { readonly change: 'same' | 'removed' | 'added'; readonly seen: SeenRow }
  | {
      readonly change: 'replaced'
      readonly seen: SeenRow
      readonly before: SeenRow
      readonly parts: readonly PartChange[]
    }

/** Two views of one session row by row, in its order. `order` is the ids of all rows. */
export function differences(
  before: readonly SeenRow[],
  after: readonly SeenRow[],
  order: readonly string[],
): Difference[] {
  const old = new Map(before.map((seen) => [seen.row.id, seen] as const))
  const young = new Map(after.map((seen) => [seen.row.id, seen] as const))
  return order.flatMap((id): Difference | readonly Difference[] => {
    const was = old.get(id)
    const is = young.get(id)
    if (was === undefined) return is === undefined ? [] : { change: 'added', seen: is }
    if (is === undefined) return { change: 'removed', seen: was }
    const parts = partChanges(was, is)
    return parts.length === 0
      ? { change: 'same', seen: is }
      : { change: 'replaced', seen: is, before: was, parts }
  })
}

function partChanges(before: SeenRow, after: SeenRow): PartChange[] {
  const old = partsOf(before)
  return partsOf(after).flatMap((part, at) => {
    const [was, is] = [textOf(old[at]), textOf(part)]
    return was === is ? [] : { part: at, before: was, after: is }
  })
}

/** What can be replaced of a part. */
function textOf(part: Part | undefined): string {
  switch (part?.type) {
    case 'text':
    case 'reasoning':
      return part.text
    case 'tool-result':
      return outputText(part.output)
    case 'provider':
      return JSON.stringify(part.data)
    default:
      return ''
  }
}
