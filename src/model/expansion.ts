import type { JsonObject } from '../messages/json.ts'
import type { Part, PositionRange, Role } from '../messages/message.ts'
import { addSizes, type Sizes } from '../tokens/tokens.ts'
import type { RowSet } from './coverage.ts'

/*
 * Summaries opened again. What a summary stands for is told by the coverage of compactions, which never changes, not by
 * tags: so it can be opened whatever was undone since. Nesting may be as deep as there are compactions: nothing recurses.
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
  /** First and last position of what it stands for; of a message its own, twice. */
  readonly positions: PositionRange
  /** When the earliest and the latest message it stands for were made, milliseconds since 1970. */
  readonly times: readonly [earliest: number, latest: number]
  /** Tokens of its own content, without replacements, by the session's estimator for its provider. */
  readonly tokens: number
}

/** A summary or a marker, and what it stands for. */
export type ExpandedSummary = Omit<ExpandedMessage, 'kind'> & {
  readonly kind: 'summary' | 'marker'
  /** The compaction that inserted it. */
  readonly compactionId: string
  /** Levels of summaries beneath it, as its compaction says; where that says nothing, that of the deepest child. */
  readonly level: number
  /** Messages of the log it stands for in the end, and their tokens, without replacements. */
  readonly messages: number
  readonly sourceTokens: number
  /** Rows beneath it at any depth: those messages, and the summaries and markers between. */
  readonly descendants: number
  /** What its compaction covered, in order. Absent where `depth` ended. */
  readonly children?: readonly ExpandedRow[]
}

export type ExpandedRow = ExpandedMessage | ExpandedSummary

/** What a compaction covers, as a storage has it. Compactions go by number. */
export type Covering = {
  readonly hidden: RowSet
  /** The level it was given; `undefined` when it was given none. */
  readonly level: number | undefined
  /** The compactions that inserted the inserted rows among what it hid. */
  readonly inner: readonly number[]
  /** Of the messages it hid itself; `undefined` when there are none. */
  readonly own: Sources | undefined
}

/** Messages of the log, together. */
export type Sources = {
  readonly messages: number
  /** Of their originals. */
  readonly sizes: Sizes
  readonly times: readonly [earliest: number, latest: number]
}

/** What a compaction stands for in the end. */
export type Beneath = Sources & {
  readonly level: number
  readonly descendants: number
  /** Where those messages stand, merged and in order. */
  readonly ranges: readonly PositionRange[]
}

/**
 * What a compaction, and each compaction beneath it, stands for. `coveringOf` is asked once of each. `undefined` when coverage
 * goes in a circle or covers nothing, as only damage does.
 */
export function beneath(
  root: number,
  coveringOf: (compaction: number) => Covering,
): ReadonlyMap<number, Beneath> | undefined {
  const coverings = new Map<number, Covering>()
  const done = new Map<number, Beneath>()
  const stack = [root]
  while (stack.length > 0) {
    const no = stack[stack.length - 1]!
    const covering = coverings.get(no)
    if (covering === undefined) {
      const found = coveringOf(no)
      coverings.set(no, found)
      for (const inner of found.inner) {
        if (done.has(inner)) continue
        // Asked of, and not done: it is on the way down to itself.
        if (coverings.has(inner)) return undefined
        stack.push(inner)
      }
      continue
    }
    stack.pop()
    if (done.has(no)) continue
    const folded = fold(
      covering,
      covering.inner.map((inner) => done.get(inner)!),
    )
    if (folded === undefined) return undefined
    done.set(no, folded)
  }
  return done
}

function fold({ hidden, level, own }: Covering, inner: readonly Beneath[]): Beneath | undefined {
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

/** Ranges that touch or overlap become one; in order. */
export function mergeRanges(ranges: readonly PositionRange[]): PositionRange[] {
  const merged: [number, number][] = []
  for (const [from, to] of [...ranges].sort((a, b) => a[0] - b[0])) {
    const last = merged.at(-1)
    if (last !== undefined && from <= last[1] + 1) last[1] = Math.max(last[1], to)
    else merged.push([from, to])
  }
  return merged
}

/** The part of some ranges, in order, that is behind a position, and no more than `limit` positions of it. */
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

/** A level as a compaction's parameters give it. */
export function levelOf(params: { readonly [name: string]: unknown } | undefined): number | undefined {
  const level = params?.level
  return Number.isSafeInteger(level) && (level as number) >= 0 ? (level as number) : undefined
}
