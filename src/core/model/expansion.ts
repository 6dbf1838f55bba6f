import type { JsonObject } from '../messages/json.ts'
import type { Part, PositionRange, Role } from '../messages/message.ts'
import { addSizes, type Sizes } from '../tokens/measure.ts'
import type { RowSet } from './coverage.ts'

/*
 * Opening summaries. The messages that a summary represents follow from the coverage of compactions, which never changes, not
 * from tags, so a summary can be opened whatever was undone since. Nesting may be as deep as there are compactions, so nothing
 * recurses.
 */

/** A message of the log beneath a summary: the original. */
export type ExpandedMessage = {
  readonly kind: 'message'
  readonly id: string
  readonly role: Role
  readonly content: string | readonly Part[]
  readonly metadata?: JsonObject
  /** Milliseconds since 1970. */
  readonly createdAt: number
  /** The first and last position that it represents; for a message its own, twice. */
  readonly positions: PositionRange
  /** The times of the earliest and latest message that it represents, milliseconds since 1970. */
  readonly times: readonly [earliest: number, latest: number]
  /** Tokens of its own content, without replacements, by the session's estimator for its provider. */
  readonly tokens: number
}

/** A summary or a marker, with the messages that it represents. */
export type ExpandedSummary = Omit<ExpandedMessage, 'kind'> & {
  readonly kind: 'summary' | 'marker'
  /** The compaction that inserted it. */
  readonly compactionId: string
  /** The levels of summaries below it, from its compaction; otherwise from its deepest child. */
  readonly level: number
  /** The messages of the log that it represents through all levels, and their tokens, without replacements. */
  readonly messages: number
  readonly sourceTokens: number
  /** The rows below it at any depth: those messages, and the summaries and markers between. */
  readonly descendants: number
  /** The rows that its compaction covered, in order. Absent below `depth`. */
  readonly children?: readonly ExpandedRow[]
}

/** A message or a nested summary that a summary replaces. */
export type ExpandedRow = ExpandedMessage | ExpandedSummary

/** The coverage of a compaction in the storage's form. Compactions are identified by number. */
export type Covering = {
  readonly hidden: RowSet
  /** Its stored level, or `undefined`. */
  readonly level: number | undefined
  /** The compactions that inserted the inserted rows among its hidden rows. */
  readonly inner: readonly number[]
  /** The messages that it hid itself; `undefined` when there are none. */
  readonly own: Sources | undefined
}

/** Sums of messages of the log. */
export type Sources = {
  readonly messages: number
  /** Tokens of their originals. */
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

/** The messages of a compaction, from its own and from those of the compactions below it; `undefined` without any. */
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

/** The part of the ranges after a position, at most `limit` positions of it. */
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

/** The level in a compaction's parameters. */
export function levelOf(params: { readonly [name: string]: unknown } | undefined): number | undefined {
  const level = params?.level
  return Number.isSafeInteger(level) && (level as number) >= 0 ? (level as number) : undefined
}
