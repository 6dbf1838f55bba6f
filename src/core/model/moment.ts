import { countBefore } from '../messages/json.ts'
import { addSizes, NO_SIZES, type Sizes } from '../tokens/measure.ts'
import { type Coverage, countRows, type RowSet, withoutRows } from './coverage.ts'

/*
 * Past states of a session. The view at a moment follows from the rows that existed and the compactions that were in force, as the audit
 * recorded them. The current tags play no part.
 */

/**
 * A moment of a session: before or after a message (its id or its position), after an entry of the audit, at a time (milliseconds since
 * 1970), before or after a compaction (its id or that of a run), or at a recorded request.
 */
export type Moment =
  | { readonly afterMessage: string | number }
  | { readonly beforeMessage: string | number }
  | { readonly audit: number }
  | { readonly time: number | Date }
  | { readonly beforeCompaction: string }
  | { readonly afterCompaction: string }
  | { readonly request: string }

/** The log up to a position, and the audit up to an entry; 0 if there is none. */
export type Point = { readonly position: number; readonly audit: number }

/** The moment at which a result was read. */
export type MomentPoint = {
  /** The last position of the log; 0 for an empty one. */
  readonly position: number
  /** The number of the last entry of the audit; 0 before the first. */
  readonly auditNo: number
}

/** Returns a point in its public form. */
export function publicPoint({ position, audit }: Point): MomentPoint {
  return { position, auditNo: audit }
}

/** The events of the audit that change whether a compaction is in force. */
export const TRANSITIONS = ['created', 'undone', 'redone'] as const
const KNOWN: ReadonlySet<unknown> = new Set(TRANSITIONS)

/** Returns whether an event of the audit changes whether a compaction is in force. */
export function isTransition(event: unknown): event is Transition['event'] {
  return KNOWN.has(event)
}

/** An entry of the audit that changes whether a compaction is in force. */
export type Transition = {
  readonly no: number
  readonly compaction: number
  readonly event: (typeof TRANSITIONS)[number]
}

/**
 * Returns whether compactions were in force after an entry, by the last transition of each up to that entry. Transitions are in order.
 */
export function statesAfter(transitions: readonly Transition[], audit: number): Map<number, boolean> {
  const states = new Map<number, boolean>()
  for (const { no, compaction, event } of transitions) {
    if (no > audit) break
    states.set(compaction, event !== 'undone')
  }
  return states
}

type Covering = { readonly coverage: Coverage }

/** Returns the rows of a view: messages up to a position and inserted rows, without the rows that compactions in force hide. */
export function rowsAt(inForce: readonly Covering[], position: number): RowSet {
  const hidden = inForce.map(({ coverage }) => coverage.hidden).filter((set) => countRows(set) > 0)
  const stored: RowSet = {
    positions: position === 0 ? [] : [[1, position]],
    inserted: inForce.flatMap(({ coverage }) => coverage.inserted ?? []),
  }
  return withoutRows(stored, hidden)
}

/** Returns the newest replacement of each part, in order of parts. A compaction with a higher number replaces one with a lower number. */
export function newestByPart<T extends { readonly part: number; readonly compaction: number }>(
  replacements: readonly T[],
): T[] {
  const newest = new Map<number, T>()
  for (const one of replacements) {
    const other = newest.get(one.part)
    if (other === undefined || other.compaction < one.compaction) newest.set(one.part, one)
  }
  return [...newest.values()].sort((a, b) => a.part - b.part)
}

/** Returns what the newest replacement of each part of a row saves, together. */
export function savedByNewest(
  replacements: readonly { readonly part: number; readonly compaction: number; readonly saved: Sizes }[],
): Sizes {
  return newestByPart(replacements).reduce((sum, { saved }) => addSizes(sum, saved), NO_SIZES)
}

/**
 * Returns a function that returns the compaction that hides a row. Compactions that are in force at the same time hide different rows.
 */
export function hiderOf<T extends Covering>(
  inForce: readonly T[],
): (row: { readonly position: number | null; readonly ordinal: number }) => T | undefined {
  const ranges = inForce
    .flatMap((one) => one.coverage.hidden.positions.map(([from, to]) => ({ from, to, one })))
    .sort((a, b) => a.from - b.from)
  const byOrdinal = new Map(
    inForce.flatMap((one) => one.coverage.hidden.inserted.map(({ ordinal }) => [ordinal, one] as const)),
  )
  return ({ position, ordinal }) => {
    if (position === null) return byOrdinal.get(ordinal)
    const found = ranges[countBefore(ranges, ({ to }) => to < position)]
    return found !== undefined && found.from <= position ? found.one : undefined
  }
}
