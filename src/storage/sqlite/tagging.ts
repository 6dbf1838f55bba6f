import { type Coverage, countRows, type RowSet } from '../../model/coverage.ts'
import { type CompactionKind, isCondensing } from '../../model/plan.ts'
import { type Sizes, SizesSum } from '../../tokens/tokens.ts'
import type { Connection } from './connection.ts'
import { VISIBLE } from './history.ts'

/*
 * Laying tags on exact sets of rows and taking them off. By ranges of positions, not through the partial index
 * (an update would change the index it scans) and not by lists: the number of changed rows against the number
 * of rows in the set is the check that nothing else had happened to them, and costs nothing.
 */

/** The column that holds the hiding parent of a kind of compaction. */
function parentColumn(kind: CompactionKind): 'condense_parent' | 'truncation_parent' {
  return isCondensing(kind) ? 'condense_parent' : 'truncation_parent'
}

/** The counter of a session that counts what a kind of compaction hid. */
function hiddenCounter(kind: CompactionKind): 'hidden_condensed' | 'hidden_truncated' | 'hidden_by_hand' {
  if (isCondensing(kind)) return 'hidden_condensed'
  return kind === 'manual' ? 'hidden_by_hand' : 'hidden_truncated'
}

/** Hides the rows of a compaction; answers whether every one was visible and, but for a rewind, not pinned. */
export function layTags(
  connection: Connection,
  session: number,
  kind: CompactionKind,
  no: number,
  { hidden: set, rewinds }: Coverage,
): boolean {
  const column = parentColumn(kind)
  const free = rewinds === true ? VISIBLE : `${VISIBLE} and pinned = 0`
  let changed = 0
  for (const [from, to] of set.positions) {
    changed += connection.run(
      `update undertext_messages set ${column} = ? where session = ? and position between ? and ? and ${free}`,
      no,
      session,
      from,
      to,
    )
  }
  for (const { ordinal } of set.inserted) {
    changed += connection.run(
      `update undertext_messages set ${column} = ? where session = ? and position is null and ordinal = ? and ${free}`,
      no,
      session,
      ordinal,
    )
  }
  return changed === countRows(set)
}

/** Shows the rows of a set again; answers whether every one carried this very tag. */
export function liftTags(
  connection: Connection,
  session: number,
  kind: CompactionKind,
  no: number,
  set: RowSet,
): boolean {
  const column = parentColumn(kind)
  let changed = 0
  for (const [from, to] of set.positions) {
    changed += connection.run(
      `update undertext_messages set ${column} = null where session = ? and position between ? and ? and ${column} = ?`,
      session,
      from,
      to,
      no,
    )
  }
  for (const { ordinal } of set.inserted) {
    changed += connection.run(
      `update undertext_messages set ${column} = null where session = ? and position is null and ordinal = ? and ${column} = ?`,
      session,
      ordinal,
      no,
    )
  }
  return changed === countRows(set)
}

/** The sums that `sizesOf` reads. */
export const SIZE_TOTALS =
  'total(size_text), total(size_reasoning), total(size_calls), total(size_results), total(size_media)'

export function sizesOf(totals: readonly unknown[]): Sizes {
  const [text, reasoning, toolCalls, toolResults, media] = totals as [number, number, number, number, number]
  return { text, reasoning, toolCalls, toolResults, media }
}

/** The sizes of all rows of a set, as they show themselves now. */
export function sizesOfSet(connection: Connection, session: number, set: RowSet): Sizes {
  const sum = new SizesSum()
  const from = `select ${SIZE_TOTALS} from undertext_messages where session = ?`
  for (const [first, last] of set.positions)
    sum.add(sizesOf(connection.get(`${from} and position between ? and ?`, session, first, last)!))
  for (const { ordinal } of set.inserted)
    sum.add(sizesOf(connection.get(`${from} and position is null and ordinal = ?`, session, ordinal)!))
  return sum.value
}

/** A change of a session's counters. */
type CounterChange = {
  readonly visible: number
  readonly sizes: Sizes
  readonly hidden?: { readonly kind: CompactionKind; readonly rows: number }
  readonly inserted?: number
  readonly retired?: number
  readonly activeCompactions: number
}

/** Moves the counters, within the caller's transaction. Raises version and view epoch. */
export function moveCounters(connection: Connection, session: number, change: CounterChange): void {
  const { sizes } = change
  const counter = hiddenCounter(change.hidden?.kind ?? 'condense')
  connection.run(
    `update undertext_sessions set visible = visible + ?, size_text = size_text + ?, size_reasoning = size_reasoning + ?,
       size_calls = size_calls + ?, size_results = size_results + ?, size_media = size_media + ?, ${counter} = ${counter} + ?,
       inserted = inserted + ?, retired = retired + ?, active_compactions = active_compactions + ?, updated_at = ?,
       version = version + 1, view_epoch = view_epoch + 1 where no = ?`,
    change.visible,
    sizes.text,
    sizes.reasoning,
    sizes.toolCalls,
    sizes.toolResults,
    sizes.media,
    change.hidden?.rows ?? 0,
    change.inserted ?? 0,
    change.retired ?? 0,
    change.activeCompactions,
    Date.now(),
    session,
  )
}
