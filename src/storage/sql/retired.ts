import { UndertextError } from '../../core/errors.ts'
import type { Part } from '../../core/messages/message.ts'
import type { Coverage, RowSet } from '../../core/model/coverage.ts'
import { tombstonesIn } from '../../core/retention/tombstone.ts'
import { placesIn } from './commit.ts'
import type { StoredCompaction } from './compactions.ts'
import { decodeShown, RETIRED, rowId } from './row-codec.ts'
import type { StoredSession } from './sessions.ts'
import type { Row, Sql } from './sql.ts'
import { contentsOf, M_VISIBLE, VISIBLE } from './view.ts'
import type { Work } from './work.ts'

/*
 * Whether a view shows what retention removed. Undo and redo promise the former view, so they are rejected if something of it was removed
 * while their compaction kept it out of the view. What was removed from the view itself, by a rule that says so, doesn't matter.
 */

/** The fields of a turned compaction that the check needs. */
export type Turned = Pick<StoredCompaction, 'no' | 'id' | 'changedAt' | 'partsReplaced'> & {
  readonly coverage: Pick<Coverage, 'hidden' | 'inserted'>
}

/** The most ids that an error lists. */
const MAX_IDS = 20

/** Throws `CONTENT_RETIRED` if rows of a compaction are visible without content that was removed since it last came into or out of force. */
export function* rejectRetired(sql: Sql, session: StoredSession, compaction: Turned): Work<void> {
  const rows = yield* visibleRows(sql, session.no, compaction)
  if (rows.size === 0) return
  const contents = yield* contentsOf(sql, [...rows.keys()])
  const messageIds: string[] = []
  let messages = 0
  let parts = 0
  for (const [key, { row, only }] of rows) {
    const shown = new Set(decodeShown(row[4]).map(({ part }) => part))
    const found = contents
      .get(key)!
      .filter(
        (part, at) => !shown.has(at) && (only === undefined || only.has(at)) && isSince(part, compaction),
      )
    if (found.length === 0) continue
    parts += found.length
    messages += 1
    if (messageIds.length < MAX_IDS) messageIds.push(rowId(session.incarnation, row[1], row[2], row[3]))
  }
  if (messages === 0) return
  const facts = { sessionId: session.id, compactionId: compaction.id, messages, parts, messageIds }
  throw new UndertextError('CONTENT_RETIRED', facts)
}

function isSince(part: Part, { changedAt }: Turned): boolean {
  return tombstonesIn(part).some(({ at }) => at >= changedAt)
}

/** A row, and the parts that the compaction replaces if it doesn't hide or insert the row. */
type Shown = { readonly row: Row; readonly only: Set<number> | undefined }

const COLUMNS = ['key', 'id', 'position', 'ordinal', 'shown']

/** Returns the visible rows of a compaction of which something was removed, by key. */
function* visibleRows(sql: Sql, session: number, compaction: Turned): Work<Map<number, Shown>> {
  const rows = new Map<number, Shown>()
  for (const [where, ...values] of placesIn(sql, session, coveredBy(compaction.coverage)))
    for (const row of yield* sql.all(
      `select ${COLUMNS.join(', ')} from undertext_messages where ${where} and ${VISIBLE} and flags >= ${RETIRED}`,
      ...values,
    ))
      rows.set(row[0] as number, { row, only: undefined })
  if (compaction.partsReplaced === 0) return rows
  const replaced = yield* sql.all(
    `select ${COLUMNS.map((name) => `m.${name}`).join(', ')}, r.part
     from undertext_replacements r {cross} undertext_messages m on {family m} m.key = r.message
     where {family r} r.compaction = ? and ${M_VISIBLE} and m.flags >= ${RETIRED}`,
    compaction.no,
  )
  for (const row of replaced) {
    const key = row[0] as number
    const found = rows.get(key)
    if (found === undefined) rows.set(key, { row, only: new Set([row[5] as number]) })
    else found.only?.add(row[5] as number)
  }
  return rows
}

function coveredBy({ hidden, inserted }: Turned['coverage']): RowSet {
  if (inserted === undefined) return hidden
  return { positions: hidden.positions, inserted: [...hidden.inserted, inserted] }
}
