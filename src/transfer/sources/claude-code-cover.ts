import type { PositionRange } from '../../core/message.ts'
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
  let covered = [...run]
  const all = new Set(before)
  for (;;) {
    const given = new Set(covered)
    const parted = before.flatMap((node): [number, number][] =>
      node.facts.results.flatMap((id) => {
        const caller = callerOf(id)
        if (caller === undefined || !all.has(caller) || given.has(caller) === given.has(node)) return []
        return [[covered.indexOf(caller), covered.indexOf(node)] as [number, number]]
      }),
    )
    if (parted.length === 0) return covered
    const [caller, result] = parted[0]!
    // A call loses what follows it, a result what goes before.
    covered = caller === -1 ? covered.slice(result + 1) : covered.slice(0, caller)
  }
}

/** The rows a summary stands for, given the ordinals of its boundary and its own entry. */
export function coversOf(
  covered: readonly Spoken[],
  before: readonly Spoken[],
  boundary: number,
  summary: number,
): PositionRange[] {
  const [first, last] = [covered[0], covered.at(-1)]
  if (first === undefined || last === undefined) return [rowsBesides(before[0], boundary, summary)]
  // Rows that say nothing go along, and so does an earlier summary.
  const from = first === before[0] ? 1 : first.ordinal
  const to = last === before.at(-1) ? boundary - 1 : last.ordinal
  return [[from, to]]
}

/** Where all that is said is kept: what stands before it, else the compaction's own entries, which say nothing. */
function rowsBesides(first: Spoken | undefined, boundary: number, summary: number): PositionRange {
  const before = first === undefined ? boundary - 1 : first.ordinal - 1
  return before > 0 ? [1, before] : [boundary, summary]
}
