import type { PositionRange } from '../../messages/message.ts'
import type { Facts } from './claude-code-facts.ts'

/* What a compaction of Claude Code's can cover: a piece of what is visible that parts nothing. */

type Spoken = { readonly ordinal: number; readonly facts: Pick<Facts, 'results'> }

/** Of what is not kept the longest piece that follows each other. */
export function longestRun<T>(before: readonly T[], kept: ReadonlySet<T>): T[] {
  let longest: T[] = []
  let run: T[] = []
  for (const node of before) {
    if (kept.has(node)) run = []
    else run.push(node)
    if (run.length > longest.length) longest = run
  }
  return longest
}

/** A piece cut down until no call is parted from its result. */
export function wholeRun<T extends Spoken>(
  run: readonly T[],
  before: readonly T[],
  callerOf: (callId: string) => T | undefined,
): T[] {
  const at = new Map(before.map((node, index) => [node, index]))
  const pairs = before.flatMap((node, result) =>
    node.facts.results.flatMap((id) => {
      const caller = at.get(callerOf(id)!)
      return caller === undefined ? [] : [[caller, result] as const]
    }),
  )
  // The run follows each other, so it is from a place in `before` up to one.
  let from = run.length === 0 ? 0 : at.get(run[0]!)!
  let to = from + run.length
  const isIn = (index: number): boolean => from <= index && index < to
  for (let cuts = 0; cuts < MOST_CUTS && from < to; cuts++) {
    const parted = pairs.find(([caller, result]) => isIn(caller) !== isIn(result))
    if (parted === undefined) return before.slice(from, to)
    const [caller, result] = parted
    // A call loses what follows it, a result what goes before.
    if (isIn(caller)) to = caller
    else from = result + 1
  }
  return []
}

/** A compaction that parts more calls from their results than this covers nothing. */
const MOST_CUTS = 100

/**
 * The rows a summary stands for, given the ordinals of its boundary and its own entry: what is covered, and between what stays rows that say
 * nothing and earlier summaries. Where all that is said is kept, what stands before it, if anything is seen of that (`isSeen`), else the
 * compaction's own entries.
 */
export function coversOf(
  covered: readonly Spoken[],
  before: readonly Spoken[],
  { boundary, summary, isSeen }: { boundary: number; summary: number; isSeen: (to: number) => boolean },
): PositionRange {
  const [first, last] = [covered[0], covered.at(-1)]
  if (first === undefined || last === undefined) {
    const to = (before[0]?.ordinal ?? boundary) - 1
    return to > 0 && isSeen(to) ? [1, to] : [boundary, summary]
  }
  const previous = before[before.indexOf(first) - 1]
  const next = before[before.indexOf(last) + 1]
  return [(previous?.ordinal ?? 0) + 1, (next?.ordinal ?? boundary) - 1]
}
