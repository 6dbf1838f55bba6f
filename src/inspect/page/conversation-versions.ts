import { listIn } from '../../core/messages/json.ts'
import type { Compaction } from '../../storage/storage.ts'
import { isApplied } from './compaction-runs.ts'

/*
 * Versions of the conversation. A rewind hides the end of the log, and what is appended afterwards is another version of it. The log is a
 * tree: its nodes are stretches of positions, and siblings are versions of each other.
 */

/** A stretch of the log that one message after another continued. */
export type Stretch = {
  readonly from: number
  readonly to: number
  /** The position that it continues; 0 for the beginning. */
  readonly after: number
  /** The rewind in force that hides it. */
  readonly hiddenBy: string | undefined
}

/** The stretches by the position that they continue, oldest first. */
export type Versions = ReadonlyMap<number, readonly Stretch[]>

/** The version that is shown after a position: the first position of its stretch. */
export type Choices = ReadonlyMap<number, number>

type Rewinding = Pick<Compaction, 'id' | 'status' | 'createdAt' | 'changedAt' | 'coverage'>

type Rewound = {
  readonly id: string
  readonly from: number
  readonly to: number
  readonly isActive: boolean
  /** The last position that was appended while it was in force. */
  readonly until: number
}

/** Returns the tree of a log with this number of messages. The compactions are those of the session, oldest first. */
export function versionsOf(compactions: readonly Rewinding[], messageCount: number): Versions {
  const rewinds = rewindsOf(compactions)
  const starts = [1, ...rewinds.flatMap(({ from, to, until }) => [from, to + 1, until + 1])]
  const sorted = [...new Set(starts)].filter((at) => at >= 1 && at <= messageCount).sort((a, b) => a - b)
  const versions = new Map<number, Stretch[]>()
  for (const [index, from] of sorted.entries()) {
    const after = predecessor(rewinds, from)
    const hiddenBy = rewinds.findLast((one) => one.isActive && isWithin(one, from))?.id
    const stretch = { from, to: (sorted[index + 1] ?? messageCount + 1) - 1, after, hiddenBy }
    listIn(versions, after).push(stretch)
  }
  return versions
}

function rewindsOf(compactions: readonly Rewinding[]): Rewound[] {
  const rewinds = compactions.filter(
    ({ coverage, status }) =>
      coverage.rewinds === true && coverage.hidden.positions.length > 0 && isApplied({ status }),
  )
  const lastOf = ({ coverage }: Rewinding): number =>
    Math.max(...coverage.hidden.positions.map(([, to]) => to))
  return rewinds.map((one, index) => {
    const to = lastOf(one)
    // What a later rewind hides was appended before it, so it was there before this one was undone.
    const later = rewinds.slice(index + 1).filter(({ createdAt }) => createdAt <= one.changedAt)
    const isActive = one.status === 'active'
    return {
      id: one.id,
      from: Math.min(...one.coverage.hidden.positions.map(([from]) => from)),
      to,
      isActive,
      until: isActive ? Number.POSITIVE_INFINITY : Math.max(to, ...later.map(lastOf)),
    }
  })
}

const isWithin = ({ from, to }: { readonly from: number; readonly to: number }, position: number): boolean =>
  from <= position && position <= to

/** Returns the position that was the end of the conversation when a message was appended. */
function predecessor(rewinds: readonly Rewound[], position: number): number {
  const inForce = rewinds.filter(({ to, until }) => to < position && position <= until)
  let before = position - 1
  for (let found: Rewound | undefined; ; before = found.from - 1) {
    found = inForce.find((one) => isWithin(one, before))
    if (found === undefined) return before
  }
}

/**
 * Returns the stretches that are shown, in order: all that no rewind hides; where there are several versions, the chosen one; where all
 * are hidden, the last.
 */
export function shownStretches(versions: Versions, choices: Choices): Stretch[] {
  const shown: Stretch[] = []
  const waiting = [0]
  for (let after = waiting.pop(); after !== undefined; after = waiting.pop())
    for (const stretch of shownAfter(versions.get(after) ?? [], choices.get(after))) {
      shown.push(stretch)
      waiting.push(stretch.to)
    }
  return shown.sort((a, b) => a.from - b.from)
}

function shownAfter(siblings: readonly Stretch[], choice: number | undefined): readonly Stretch[] {
  if (siblings.length < 2) return siblings
  const chosen = siblings.filter(({ from }) => from === choice)
  if (chosen.length > 0) return chosen
  const visible = siblings.filter(({ hiddenBy }) => hiddenBy === undefined)
  return visible.length > 0 ? visible : siblings.slice(-1)
}

/** Returns the choices with which a position is shown: those given, changed where it is in another version. */
export function choicesFor(versions: Versions, choices: Choices, position: number): Choices {
  const all = [...versions.values()].flat()
  const isShown = shownStretches(versions, choices).some((one) => isWithin(one, position))
  if (isShown) return choices
  const changed = new Map(choices)
  let stretch = all.find((one) => isWithin(one, position))
  while (stretch !== undefined) {
    if (versions.get(stretch.after)!.length > 1) changed.set(stretch.after, stretch.from)
    const { after } = stretch
    stretch = all.find((one) => one.to === after)
  }
  return changed
}
