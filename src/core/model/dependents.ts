import { type Coverage, isBetween, reachesInto, sharesRow, spanPlaces, withoutRows } from './coverage.ts'

/** The states of a compaction. Only `active` ones are in force. */
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
 * Whether `later` builds on `earlier`: it covers the row that the earlier one inserted, or its span encloses rows that the earlier
 * one hid, which would become visible inside it. Rows that the later one covers itself, that were visible in its span when it was made,
 * or that others hide, do not count.
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

/** Whether a compaction made after a rewind prevents the return of one that the rewind undid. */
export function isInTheWay(later: Nested, lifted: Nested): boolean {
  const { hidden, inserted } = later.coverage
  if (sharesRow(hidden, lifted.coverage.hidden)) return true
  const span = spanPlaces(lifted.coverage.hidden)
  return inserted !== undefined && span !== undefined && isBetween(inserted, span)
}
