/*
 * Decides which compactions an undo, a redo or a rewind takes out of force, and which it redoes. The rules are `dependsOn` and `blocksLifting`
 * of `core/model/coverage.ts`; the walks ask the database for candidates.
 */

import { UndertextError } from '../../core/errors.ts'
import { blocksLifting, dependsOn, type Nested } from '../../core/model/coverage.ts'
import { mapped, type Step, type Work } from './work.ts'

/** The compactions that a rewind undid and redid when it came into force. */
type Turned<T> = { readonly lifted: readonly T[]; readonly restored: readonly T[] }

/** The queries for candidates. Each may return too many, because the exact rules are applied here. */
export type Nesting<T extends Nested> = {
  /** Returns later compactions in force that hide rows within the span of a compaction. */
  readonly laterInForce: (earlier: T) => Step<readonly T[]>
  /** Returns earlier undone compactions that hide rows within the span of a compaction. */
  readonly earlierUndone: (later: T) => Step<readonly T[]>
  /** Returns earlier compactions in force that hide rows within the span of a compaction. */
  readonly earlierInForce: (later: T) => Step<readonly T[]>
  /** Returns the compactions that a rewind undid and redid. */
  readonly turnedBy: (rewind: T) => Step<Turned<T>>
}

/**
 * Returns the compactions that the undo of a rewind redoes and undoes. A compaction that the rewind undid stays undone if it builds on one
 * that was undone since.
 */
export function* turnedBack<T extends Nested>(nesting: Nesting<T>, rewind: T): Work<Turned<T>> {
  const { lifted, restored } = yield* nesting.turnedBy(rewind)
  const back: T[] = []
  const isAmong = (list: readonly T[], { no }: T): boolean => list.some((one) => one.no === no)
  for (const one of lifted.toSorted((a, b) => a.rank - b.rank)) {
    const undone = (yield* nesting.earlierUndone(one)).filter((other) => !isAmong(back, other))
    if (undone.length > 0) {
      const inForce = (yield* nesting.earlierInForce(one)).filter((other) => !isAmong(restored, other))
      const hiding = [...inForce, ...back].filter(({ rank }) => rank < one.rank)
      if (undone.some((earlier) => dependsOn(one, earlier, hiding))) continue
    }
    back.push(one)
  }
  return { lifted: back, restored }
}

/** Returns the compactions in force that build on a compaction or, if it is a rewind, on those that it undid and redid. */
function* dependentsOf<T extends Nested>(nesting: Nesting<T>, earlier: T): Work<T[]> {
  const dependents = yield* directDependentsOf(nesting, earlier)
  if (earlier.coverage.rewinds !== true) return dependents
  const { lifted, restored } = yield* turnedBack(nesting, earlier)
  const since = function* (one: T, counts: (later: T) => boolean): Work<T[]> {
    const later = yield* nesting.laterInForce(one)
    return later.filter((other) => other.rank > earlier.rank && counts(other))
  }
  const onRestored = yield* mapped(restored, (one) => since(one, (later) => dependsOn(later, one)))
  const onLifted = yield* mapped(lifted, (one) => since(one, (later) => blocksLifting(later, one)))
  return [...dependents, ...onRestored.flat(), ...onLifted.flat()]
}

function* directDependentsOf<T extends Nested>(nesting: Nesting<T>, earlier: T): Work<T[]> {
  return (yield* nesting.laterInForce(earlier)).filter((later) => dependsOn(later, earlier))
}

/** Returns the targets and everything reachable from them, each once. */
function* closure<T extends Nested>(targets: readonly T[], next: (one: T) => Step<readonly T[]>): Work<T[]> {
  const taken = new Map(targets.map((one) => [one.no, one] as const))
  for (const one of taken.values()) {
    for (const reached of yield* next(one)) if (!taken.has(reached.no)) taken.set(reached.no, reached)
  }
  return [...taken.values()]
}

/**
 * Returns the compactions to undo, newest first, so that `targets` are out of force: the targets that are in force and, with `cascade`,
 * every compaction in force that builds on them. Without `cascade`, throws `HAS_ACTIVE_DEPENDENTS` with their ids if there are any.
 */
export function* planUndo<T extends Nested>(
  sessionId: string,
  nesting: Nesting<T>,
  targets: readonly T[],
  cascade: boolean,
): Work<T[]> {
  const asked = targets.filter(({ status }) => status === 'active')
  const reached = yield* closure(asked, (one) => dependentsOf(nesting, one))
  const taken = reached.sort((a, b) => b.rank - a.rank)
  const dependents = taken.filter(({ no }) => !asked.some((one) => one.no === no))
  if (dependents.length === 0 || cascade) return taken
  throw new UndertextError('HAS_ACTIVE_DEPENDENTS', {
    sessionId,
    compactionId: targets.map(({ id }) => id).join(', '),
    dependents: dependents.map(({ id }) => id),
  })
}

/** Returns the compactions that a rewind undoes: those of a list and those in force that build on them, newest first. */
export function* planLift<T extends Nested>(nesting: Nesting<T>, compactions: readonly T[]): Work<T[]> {
  const reached = yield* closure(compactions, (one) => directDependentsOf(nesting, one))
  return reached.sort((a, b) => b.rank - a.rank)
}

/**
 * Returns the compactions to redo for `targets`, oldest first: those of them that are undone and, with `cascade`, every undone compaction
 * that they depend on. The laws then decide one by one whether each can be redone.
 */
export function* planRedo<T extends Nested>(
  nesting: Nesting<T>,
  targets: readonly T[],
  cascade: boolean,
): Work<T[]> {
  const asked = targets.filter(({ status }) => status === 'undone')
  if (!cascade) return asked.sort((a, b) => a.rank - b.rank)
  const reached = yield* closure(asked, function* (later): Work<T[]> {
    return (yield* nesting.earlierUndone(later)).filter((earlier) => dependsOn(later, earlier))
  })
  return reached.sort((a, b) => a.rank - b.rank)
}
