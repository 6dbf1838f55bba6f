import type { Part } from '../messages/message.ts'
import { indexMessage } from '../model/index-message.ts'
import { joinByNeighbourhood } from '../model/join-neighbours.ts'
import {
  type ChatMessage,
  isMarker,
  isSummary,
  partsOfMessage,
  requireMessages,
  roleOf,
  sizesOf,
} from '../model/message-parts.ts'
import { View } from '../model/view.ts'
import type { ShownReplacement, ViewRow } from '../model/view-row.ts'
import { CLEARED_PLACEHOLDER, PRUNE_PLACEHOLDER } from '../stages/prune.ts'
import { neurolinkEstimator } from '../tokens/tokens.ts'
import type { ArrayEstimator } from './array-estimator.ts'
import { isVisible } from './effective-history.ts'

/** What planning needs of an array: its visible messages as rows, and their contents by key. */
export type ArrayRows = {
  readonly view: View
  /** The parts of each visible message, by key. A row's key is its message's index + 1. */
  readonly parts: ReadonlyMap<number, readonly Part[]>
}

/**
 * Reads an array as the planner reads a session: one row per visible message, in order. Figures are of
 * `estimator`, for `provider` ("" for none).
 *
 * Throws `INVALID_INPUT` for a role or a content that is neither flat nor neutral; `what` names the caller.
 */
export function rowsOf(
  messages: readonly ChatMessage[],
  provider: string,
  what: string,
  estimator: ArrayEstimator = neurolinkEstimator,
): ArrayRows {
  requireMessages(messages, what)
  const visible = messages.flatMap((message, index) => (isVisible(message) ? [{ message, index }] : []))
  const contents = joinByNeighbourhood(
    visible.map(({ message, index }) => partsOfMessage(message, `${what}: messages[${index}]`)),
  )
  const parts = new Map<number, readonly Part[]>()
  const rows = visible.map(({ message, index }, at) => {
    const content = contents[at]!
    parts.set(index + 1, content)
    return rowOf(message, index, content, estimator)
  })
  return { view: new View(rows, estimator, provider), parts }
}

function rowOf(
  message: ChatMessage,
  index: number,
  parts: readonly Part[],
  estimator: ArrayEstimator,
): ViewRow {
  const kind = isMarker(message) ? 'marker' : isSummary(message) ? 'summary' : 'message'
  const indexed = indexMessage({ content: parts }, estimator)
  const sizes = sizesOf(message, indexed.sizes, estimator)
  const roleUnits = estimator.measureRole?.(message.role) ?? 0
  return {
    key: index + 1,
    id: message.id ?? `#${index}`,
    kind,
    role: roleOf(message.role)!,
    position: kind === 'message' ? index + 1 : undefined,
    anchor: index + 1,
    ordinal: 0,
    sizes: roleUnits === 0 ? sizes : { ...sizes, text: sizes.text + roleUnits },
    pinned: message.pinned === true,
    hasReasoning: indexed.hasReasoning,
    speaks: indexed.speaks,
    calls: indexed.calls,
    results: indexed.results,
    shown: shownIn(message, parts),
  }
}

/** Parts that show a replacement already: as a store says, or by the very texts the stages put there. */
function shownIn(message: ChatMessage, parts: readonly Part[]): ShownReplacement[] {
  const { replacedParts } = message as { readonly replacedParts?: unknown }
  const replaced = new Set<unknown>(Array.isArray(replacedParts) ? replacedParts : [])
  return parts.flatMap((part, index) =>
    replaced.has(index) || isReplacement(part) ? [{ part: index, compaction: 0 }] : [],
  )
}

function isReplacement(part: Part): boolean {
  if (part.type !== 'tool-result' || part.output.type !== 'text') return false
  const { value } = part.output
  if (value === PRUNE_PLACEHOLDER || value === CLEARED_PLACEHOLDER) return true
  return (
    /^\[Output pruned to save context\b[^\n]{0,80}\]$/.test(value) ||
    /^\[File .{1,1000} - refer to latest read below\]$/.test(value)
  )
}
