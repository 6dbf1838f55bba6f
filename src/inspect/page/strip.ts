import type { PositionRange } from '../../core/messages/message.ts'
import type { Compaction } from '../../storage/storage.ts'
import { type Effect, hidingEffect } from './compaction-runs.ts'

/* The map of a session: all positions of the log as one bar, by what compactions in force do to them. */

/** A stretch of the log with the same state. `kept` has no compaction. */
export type Segment = {
  readonly from: number
  readonly to: number
  readonly effect: Effect | 'kept'
  readonly compactionId?: string
}

/** Divides the log at every change of state. The row that hides a message wins over what replaces its parts. */
export function segmentsOf(compactions: readonly Compaction[], messages: number): Segment[] {
  const inForce = compactions.filter(({ status }) => status === 'active')
  const hidden = inForce
    .flatMap((one) => one.coverage.hidden.positions.map((range) => segment(range, hidingEffect(one), one.id)))
    .sort((a, b) => a.from - b.from)
  // A later replacement is the one that is shown.
  const byPosition = new Map<number, string>()
  for (const { id, replaced } of inForce)
    for (const { position } of replaced) if (position !== undefined) byPosition.set(position, id)
  const replaced = [...byPosition]
    .sort(([a], [b]) => a - b)
    .map(([position, id]) => segment([position, position], 'replaced', id))
  return filled(merged(beside(replaced, hidden)), messages)
}

const segment = ([from, to]: PositionRange, effect: Effect, compactionId: string): Segment => ({
  ...{ from, to, effect, compactionId },
})

/** Returns both lists in order, without the replaced positions that are hidden. */
function beside(replaced: readonly Segment[], hidden: readonly Segment[]): Segment[] {
  const all: Segment[] = []
  let at = 0
  for (const one of replaced) {
    while (at < hidden.length && hidden[at]!.to < one.from) all.push(hidden[at++]!)
    if (at === hidden.length || hidden[at]!.from > one.from) all.push(one)
  }
  return [...all, ...hidden.slice(at)]
}

function merged(segments: readonly Segment[]): Segment[] {
  const all: Segment[] = []
  for (const one of segments) {
    const last = all.at(-1)
    const continues =
      last !== undefined &&
      last.to + 1 === one.from &&
      last.compactionId === one.compactionId &&
      last.effect === one.effect
    if (continues) all[all.length - 1] = { ...last, to: one.to }
    else all.push(one)
  }
  return all
}

function filled(segments: readonly Segment[], messages: number): Segment[] {
  const all: Segment[] = []
  let next = 1
  for (const one of segments) {
    if (one.from > next) all.push({ from: next, to: one.from - 1, effect: 'kept' })
    all.push(one)
    next = one.to + 1
  }
  if (next <= messages) all.push({ from: next, to: messages, effect: 'kept' })
  return all
}

/** The number of messages in each state, in the order of the legend. */
export function countsOf(segments: readonly Segment[]): { readonly [effect in Segment['effect']]: number } {
  const counts = { kept: 0, replaced: 0, summarized: 0, truncated: 0, byHand: 0 }
  for (const { from, to, effect } of segments) counts[effect] += to - from + 1
  return counts
}

/** A column of the bar: some positions, the share of each state, and the compaction that most of them belong to. */
export type Bucket = {
  readonly from: number
  readonly to: number
  readonly shares: readonly { readonly effect: Segment['effect']; readonly share: number }[]
  readonly compactionId?: string
}

/**
 * Returns the bar in at most `most` columns: one for each segment if they are few, and otherwise columns of equally many positions, each
 * with the shares of its states.
 */
export function bucketsOf(segments: readonly Segment[], most: number): Bucket[] {
  if (segments.length <= most)
    return segments.map(({ from, to, effect, compactionId }) => ({
      ...{ from, to, shares: [{ effect, share: 1 }] },
      ...(compactionId !== undefined && { compactionId }),
    }))
  const last = segments.at(-1)!.to
  const columns = Math.min(most, last)
  const buckets: Bucket[] = []
  let at = 0
  for (let column = 0; column < columns; column += 1) {
    const from = Math.floor((column * last) / columns) + 1
    const to = Math.floor(((column + 1) * last) / columns)
    while (segments[at]!.to < from) at += 1
    buckets.push(bucketOf(segments, at, from, to))
  }
  return buckets
}

function bucketOf(segments: readonly Segment[], first: number, from: number, to: number): Bucket {
  const effects = new Map<Segment['effect'], number>()
  const compactions = new Map<string, number>()
  for (let at = first; at < segments.length && segments[at]!.from <= to; at += 1) {
    const { from: start, to: end, effect, compactionId } = segments[at]!
    const count = Math.min(end, to) - Math.max(start, from) + 1
    effects.set(effect, (effects.get(effect) ?? 0) + count)
    if (compactionId !== undefined)
      compactions.set(compactionId, (compactions.get(compactionId) ?? 0) + count)
  }
  const [most] = [...compactions].sort(([, a], [, b]) => b - a)
  return {
    ...{ from, to },
    shares: [...effects].map(([effect, count]) => ({ effect, share: count / (to - from + 1) })),
    ...(most !== undefined && { compactionId: most[0] }),
  }
}
