import type { JsonObject } from '../messages/json.ts'
import type { Part, PositionRange, Role } from '../messages/message.ts'
import { addSizes, type Sizes } from '../tokens/measure.ts'
import type { RowSet } from './coverage.ts'

/*
 * Opens summaries. Coverage determines the messages that a summary represents; unlike tags it never changes, so a summary can be opened
 * whatever has been undone since. There is no recursion, because summaries may be nested as deep as there are compactions.
 */

/** A message of the log beneath a summary, in its original form. */
export type ExpandedMessage = {
  readonly kind: 'message'
  readonly id: string
  readonly role: Role
  readonly content: string | readonly Part[]
  readonly metadata?: JsonObject
  /** Milliseconds since 1970. */
  readonly createdAt: number
  /** The first and last position that the row represents; for a message, its own position twice. */
  readonly positions: PositionRange
  /** The times of the earliest and the latest message that the row represents, in milliseconds since 1970. */
  readonly times: readonly [earliest: number, latest: number]
  /** Tokens of the row's own content, without replacements, by the session's estimator for its provider. */
  readonly tokens: number
}

/** A summary or a marker, with the messages that it represents. */
export type ExpandedSummary = Omit<ExpandedMessage, 'kind'> & {
  readonly kind: 'summary' | 'marker'
  /** The compaction that inserted the row. */
  readonly compactionId: string
  /** The levels of summaries beneath the row: from its compaction, or else from its deepest child. */
  readonly level: number
  /** The messages of the log that the row represents through all levels, and their tokens, without replacements. */
  readonly messages: number
  readonly sourceTokens: number
  /** The rows beneath the row at any depth: those messages, and the summaries and markers between. */
  readonly descendants: number
  /** The rows that its compaction covered, in order. Absent below `depth`. */
  readonly children?: readonly ExpandedRow[]
}

/** A message or a nested summary that a summary replaces. */
export type ExpandedRow = ExpandedMessage | ExpandedSummary

/** The coverage of a compaction as it is stored. Compactions are identified by number. */
export type Covering = {
  readonly hidden: RowSet
  /** The stored level, or `undefined`. */
  readonly level: number | undefined
  /** The compactions whose inserted rows this compaction hid. */
  readonly inner: readonly number[]
  /** The messages that the compaction hid directly; `undefined` if there are none. */
  readonly own: Sources | undefined
}

/** Sums over messages of the log. */
export type Sources = {
  readonly messages: number
  /** The sizes of the original messages. */
  readonly sizes: Sizes
  readonly times: readonly [earliest: number, latest: number]
}

/** The messages that a compaction represents through all levels. */
export type Beneath = Sources & {
  readonly level: number
  readonly descendants: number
  /** The positions of those messages, merged and in order. */
  readonly ranges: readonly PositionRange[]
}

/**
 * Returns the messages that a compaction represents: those that it hid directly, and those of the compactions beneath it. Returns
 * `undefined` if there are none.
 */
export function fold({ hidden, level, own }: Covering, inner: readonly Beneath[]): Beneath | undefined {
  const sources = own === undefined ? inner : [own, ...inner]
  const [first, ...others] = sources
  if (first === undefined) return undefined
  let { messages, sizes, times } = first
  for (const other of others) {
    messages += other.messages
    sizes = addSizes(sizes, other.sizes)
    times = [Math.min(times[0], other.times[0]), Math.max(times[1], other.times[1])]
  }
  let deepest = 0
  let descendants = (own?.messages ?? 0) + inner.length
  const ranges: PositionRange[] = [...hidden.positions]
  for (const one of inner) {
    deepest = Math.max(deepest, one.level)
    descendants += one.descendants
    for (const range of one.ranges) ranges.push(range)
  }
  return { messages, sizes, times, level: level ?? deepest, descendants, ranges: mergeRanges(ranges) }
}

/** Merges ranges that touch or overlap. */
export function mergeRanges(ranges: readonly PositionRange[]): PositionRange[] {
  const merged: [number, number][] = []
  for (const [from, to] of [...ranges].sort((a, b) => a[0] - b[0])) {
    const last = merged.at(-1)
    if (last !== undefined && from <= last[1] + 1) last[1] = Math.max(last[1], to)
    else merged.push([from, to])
  }
  return merged
}

/** Returns the part of the ranges after a position, limited to `limit` positions. */
export function pageOfRanges(
  ranges: readonly PositionRange[],
  after: number,
  limit: number,
): PositionRange[] {
  const page: PositionRange[] = []
  let left = limit
  for (const [from, to] of ranges) {
    const start = Math.max(from, after + 1)
    const end = Math.min(to, start + left - 1)
    if (start > end) continue
    page.push([start, end])
    left -= end - start + 1
    if (left === 0) break
  }
  return page
}

/** Returns the level in a compaction's parameters. */
export function levelOf(params: { readonly [name: string]: unknown } | undefined): number | undefined {
  const level = params?.level
  return Number.isSafeInteger(level) && (level as number) >= 0 ? (level as number) : undefined
}
