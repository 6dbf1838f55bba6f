import { UndertextError } from '../errors.ts'
import { type Coverage, reachesInto, spanPlaces, withoutRows } from './coverage.ts'

/** What a compaction can be. Only `active` ones are in force. */
export const COMPACTION_STATUSES = [
  'running',
  'active',
  'undone',
  'failed',
  'rejected',
  'aborted',
  'expired',
] as const
export type CompactionStatus = (typeof COMPACTION_STATUSES)[number]

/** What the rules of nesting look at. */
export type Nested = {
  readonly no: number
  /** The order in which compactions were first put in force. A number is given before, when a summary is asked for. */
  readonly rank: number
  readonly id: string
  readonly status: CompactionStatus
  readonly coverage: Coverage
}

/**
 * Whether `later` builds on `earlier`: it covers the row the earlier one inserted, or its span encloses rows the
 * earlier one hid, which would come to light in the middle of it. Rows that the later one covers itself, or
 * that stood in its span when it was made, were not hidden then, so it does not build on their being hidden.
 */
export function dependsOn(later: Nested, earlier: Nested): boolean {
  if (later.rank <= earlier.rank) return false
  const { inserted, hidden } = earlier.coverage
  if (
    inserted !== undefined &&
    later.coverage.hidden.inserted.some(({ ordinal }) => ordinal === inserted.ordinal)
  )
    return true
  const span = spanPlaces(later.coverage.hidden)
  return (
    span !== undefined && reachesInto(withoutRows(hidden, later.coverage.hidden, later.coverage.beside), span)
  )
}

/**
 * What to undo, newest first, to take `targets` out of force: themselves (those in force) and, with `cascade`,
 * everything in force that builds on them.
 *
 * Throws `HAS_ACTIVE_DEPENDENTS` naming those when they are not asked for.
 */
export function planUndo<T extends Nested>(
  sessionId: string,
  compactions: readonly T[],
  targets: readonly T[],
  cascade: boolean,
): T[] {
  const active = compactions.filter(({ status }) => status === 'active')
  const taken = new Set(targets.filter(({ status }) => status === 'active'))
  const asked = new Set(taken)
  for (const candidate of [...active].sort((a, b) => a.rank - b.rank)) {
    if (taken.has(candidate)) continue
    if ([...taken].some((earlier) => dependsOn(candidate, earlier))) taken.add(candidate)
  }
  const dependents = [...taken].filter((candidate) => !asked.has(candidate))
  if (dependents.length > 0 && !cascade) {
    throw new UndertextError('HAS_ACTIVE_DEPENDENTS', {
      sessionId,
      compactionId: targets.map(({ id }) => id).join(', '),
      dependents: dependents.sort((a, b) => b.rank - a.rank).map(({ id }) => id),
    })
  }
  return [...taken].sort((a, b) => b.rank - a.rank)
}

/**
 * What to redo, oldest first, to put `targets` back: themselves (those undone) and, with `cascade`, everything
 * undone they build on. Whether each can be put back is for the laws to say, one after the other.
 */
export function planRedo<T extends Nested>(
  compactions: readonly T[],
  targets: readonly T[],
  cascade: boolean,
): T[] {
  const taken = new Set(targets.filter(({ status }) => status === 'undone'))
  if (cascade) {
    const undone = compactions.filter(({ status }) => status === 'undone')
    for (const candidate of [...undone].sort((a, b) => b.rank - a.rank)) {
      if ([...taken].some((later) => dependsOn(later, candidate))) taken.add(candidate)
    }
  }
  return [...taken].sort((a, b) => a.rank - b.rank)
}
