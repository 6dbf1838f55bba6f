import type { PositionRange } from '../messages/message.ts'
import { type Plan, spanOf } from './plan.ts'
import { compareRows, type View } from './view.ts'
import type { ViewRow } from './view-row.ts'

/* The exact rows that a compaction hid, in compact form. Written once. The tags can be rebuilt from coverages and statuses. */

/** A place in the view's order. */
export type Place = { readonly anchor: number; readonly ordinal: number }

/** A set of rows: messages by ranges of positions, inserted rows by ordinal. */
export type RowSet = {
  readonly positions: readonly PositionRange[]
  readonly inserted: readonly Place[]
}

/** What a compaction covers: the rows that it hides, and the row that it inserts. */
export type Coverage = {
  /** The hidden rows. */
  readonly hidden: RowSet
  /** The rows within the span that stayed visible. */
  readonly beside: RowSet
  /** The inserted row. */
  readonly inserted: Place | undefined
  /** Whether calls without a result are among the hidden rows: a late result separates the pair. */
  readonly openCalls: boolean
  /** Whether this is a rewind, to which the laws of pins, pairs and system messages do not apply. */
  readonly rewinds?: true
  /** Numbers of the compactions that a rewind undoes, in order of rank. */
  readonly lifts?: readonly number[]
  /** Numbers of the compactions that a rewind redoes, in order of rank. */
  readonly restores?: readonly number[]
}

export const NO_ROWS: RowSet = { positions: [], inserted: [] }

/** Returns the coverage of a plan on its view. `inserted` is the place of the inserted row. */
export function coverageOf(view: View, plan: Plan, inserted: Place | undefined): Coverage {
  const hidden = new Set(plan.hide)
  const openCalls = view.turns.openRows.some((index) => hidden.has(view.rows[index]!))
  const { beside } = spanOf(view, plan.hide)
  const rewinds = plan.rewinds === true ? { rewinds: true as const } : {}
  return { hidden: rowSet(plan.hide), beside: rowSet(beside), inserted, openCalls, ...rewinds }
}

function rowSet(rows: readonly ViewRow[]): RowSet {
  const positions: [number, number][] = []
  const inserted: Place[] = []
  for (const row of [...rows].sort(compareRows)) {
    if (row.position === undefined) {
      inserted.push({ anchor: row.anchor, ordinal: row.ordinal })
      continue
    }
    const last = positions.at(-1)
    if (last !== undefined && last[1] === row.position - 1) last[1] = row.position
    else positions.push([row.position, row.position])
  }
  return { positions, inserted }
}

export function countRows(set: RowSet): number {
  return set.positions.reduce((sum, [from, to]) => sum + to - from + 1, set.inserted.length)
}

/** Returns whether a row is in a set. */
export function containsRow(
  set: RowSet,
  row: { readonly position: number | undefined; readonly ordinal: number },
): boolean {
  if (row.position === undefined) return set.inserted.some(({ ordinal }) => ordinal === row.ordinal)
  const { position } = row
  return set.positions.some(([from, to]) => position >= from && position <= to)
}

/** Returns whether two sets share a row. */
export function sharesRow(a: RowSet, b: RowSet): boolean {
  return countRows(withoutRows(a, [b])) < countRows(a)
}

/** Returns the first and the last place of a set, or `undefined` for an empty set. */
export function spanPlaces(set: RowSet): readonly [first: Place, last: Place] | undefined {
  const places: Place[] = [...set.inserted]
  const first = set.positions[0]
  const last = set.positions.at(-1)
  if (first !== undefined) places.push({ anchor: first[0], ordinal: 0 })
  if (last !== undefined) places.push({ anchor: last[1], ordinal: 0 })
  places.sort(compareRows)
  return places.length === 0 ? undefined : [places[0]!, places[places.length - 1]!]
}

/** Returns whether a place is strictly between two others. */
export function isBetween(place: Place, [first, last]: readonly [Place, Place]): boolean {
  return compareRows(place, first) > 0 && compareRows(place, last) < 0
}

/** Returns whether a set has a row strictly between two places. */
export function reachesInto(set: RowSet, [first, last]: readonly [Place, Place]): boolean {
  const within = (place: Place): boolean => isBetween(place, [first, last])
  return (
    set.inserted.some(within) ||
    set.positions.some(([from, to]) => {
      // A message precedes the inserted rows of its anchor, so the next message after `first` is at anchor + 1.
      const position = Math.max(from, first.anchor + 1)
      return position <= to && within({ anchor: position, ordinal: 0 })
    })
  )
}

/** Returns the rows of a set that are in none of the other sets. */
export function withoutRows(set: RowSet, others: readonly RowSet[]): RowSet {
  const ordinals = new Set(others.flatMap(({ inserted }) => inserted.map(({ ordinal }) => ordinal)))
  const taken = others.flatMap(({ positions }) => positions).sort((a, b) => a[0] - b[0])
  const positions: [number, number][] = []
  for (const [from, to] of set.positions) {
    let start = from
    for (const [takenFrom, takenTo] of taken) {
      if (takenTo < start) continue
      if (takenFrom > to) break
      if (takenFrom > start) positions.push([start, takenFrom - 1])
      start = takenTo + 1
    }
    if (start <= to) positions.push([start, to])
  }
  return { positions, inserted: set.inserted.filter(({ ordinal }) => !ordinals.has(ordinal)) }
}

type Encoded = {
  p?: readonly PositionRange[]
  i?: readonly (readonly [number, number])[]
  b?: { p?: readonly PositionRange[]; i?: readonly (readonly [number, number])[] }
  o?: 1
  w?: 1
  /** Numbers of the compactions that a rewind undoes, and of those that it redoes. */
  l?: readonly number[]
  r?: readonly number[]
}

/**
 * Encodes a coverage for storage, with short keys and without empty fields. The inserted row is omitted, because that row itself stores
 * the number of its compaction.
 */
export function encodeCoverage(coverage: Coverage): string {
  const encoded: Encoded = encodeRows(coverage.hidden)
  const beside = encodeRows(coverage.beside)
  if (beside.p !== undefined || beside.i !== undefined) encoded.b = beside
  if (coverage.openCalls) encoded.o = 1
  if (coverage.rewinds === true) encoded.w = 1
  if (coverage.lifts !== undefined) encoded.l = coverage.lifts
  if (coverage.restores !== undefined) encoded.r = coverage.restores
  return JSON.stringify(encoded)
}

function encodeRows(set: RowSet): Pick<Encoded, 'p' | 'i'> {
  return {
    ...(set.positions.length > 0 && { p: set.positions }),
    ...(set.inserted.length > 0 && {
      i: set.inserted.map(({ anchor, ordinal }) => [anchor, ordinal] as const),
    }),
  }
}

export function decodeCoverage(text: string, inserted: Place | undefined): Coverage {
  const encoded = JSON.parse(text) as Encoded
  return {
    hidden: decodeRows(encoded),
    beside: decodeRows(encoded.b ?? {}),
    inserted,
    openCalls: encoded.o === 1,
    ...(encoded.w === 1 && { rewinds: true as const }),
    ...(encoded.l !== undefined && { lifts: encoded.l }),
    ...(encoded.r !== undefined && { restores: encoded.r }),
  }
}

function decodeRows({ p = [], i = [] }: Pick<Encoded, 'p' | 'i'>): RowSet {
  return { positions: p, inserted: i.map(([anchor, ordinal]) => ({ anchor, ordinal })) }
}

/** The kinds of findings of `sessions.verify`. */
export type FindingCode =
  | 'TAG_CYCLE'
  | 'ORPHAN_TAG'
  | 'FOREIGN_TAG'
  | 'TAG_MISSING'
  | 'TAG_WRONG'
  | 'COUNTER_DRIFT'
  | 'SIZE_DRIFT'
  | 'PARTED_PAIR'
  | 'POSITION_GAP'
  | 'CONTENT_MISSING'
  | 'CONTENT_DAMAGED'
  | 'INSERTED_TWICE'
  | 'BLOB_MISSING'
  | 'BLOB_DAMAGED'
  | 'BLOB_REFERENCES'
  | 'INDEX_DRIFT'
  | 'COMPACTION_DAMAGED'
  | 'GUARD_MISSING'
  | 'GUARD_CHANGED'
  | 'FOREIGN_TRIGGER'

/** A violated invariant, as ids and numbers, never text of the conversation. */
export type Finding = {
  readonly code: FindingCode
  readonly messageId?: string
  readonly compactionId?: string
  /** The actual and the expected value, for people. */
  readonly detail: string
  /** Whether `repair: true` can repair it. */
  readonly repairable: boolean
}

/** The states of a compaction. Only `active` compactions are in force. */
export const COMPACTION_STATUSES = [
  'running',
  'active',
  'undone',
  'failed',
  'rejected',
  'aborted',
  'expired',
] as const
/** The state of a compaction. */
export type CompactionStatus = (typeof COMPACTION_STATUSES)[number]

/** The fields of a compaction that nesting depends on. */
export type Nested = {
  readonly no: number
  /** The order in which compactions first came into force. Numbers are assigned earlier, when a summary is requested. */
  readonly rank: number
  readonly id: string
  readonly status: CompactionStatus
  readonly coverage: Coverage
}

/**
 * Returns whether `later` builds on `earlier`: it covers the row that `earlier` inserted, or its span encloses rows that `earlier` hid,
 * which would become visible inside it. Hidden rows don't count if `later` covers them, if they were visible in its span when it was
 * made, or if `others` hide them.
 */
export function dependsOn(later: Nested, earlier: Nested, others: readonly Nested[] = []): boolean {
  if (later.rank <= earlier.rank) return false
  const { inserted, hidden } = earlier.coverage
  if (
    inserted !== undefined &&
    later.coverage.hidden.inserted.some(({ ordinal }) => ordinal === inserted.ordinal)
  )
    return true
  const span = spanPlaces(later.coverage.hidden)
  if (span === undefined) return false
  const elsewhere = others.map(({ coverage }) => coverage.hidden)
  return reachesInto(withoutRows(hidden, [later.coverage.hidden, later.coverage.beside, ...elsewhere]), span)
}

/** Returns whether a compaction made after a rewind prevents the redo of a compaction that the rewind undid. */
export function blocksLifting(later: Nested, lifted: Nested): boolean {
  const { hidden, inserted } = later.coverage
  if (sharesRow(hidden, lifted.coverage.hidden)) return true
  const span = spanPlaces(lifted.coverage.hidden)
  return inserted !== undefined && span !== undefined && isBetween(inserted, span)
}
