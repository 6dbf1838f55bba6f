import { isUndertextError, UndertextError } from '../../core/errors.ts'
import { containsRow, countRows, spanPlaces } from '../../core/model/coverage.ts'
import { checkLaws, partedReasoning } from '../../core/model/laws.ts'
import { sizesOf } from './columns.ts'
import { figuresOfSet, placesIn, type RowFigures, SIZE_TOTALS } from './commit.ts'
import type { StoredCompaction } from './compactions.ts'
import { viewIndex } from './planning.ts'
import { COUNT_SENT, rowId } from './row-codec.ts'
import type { StoredSession } from './sessions.ts'
import type { Row, Sql } from './sql.ts'
import { M_VISIBLE } from './view.ts'
import type { Work } from './work.ts'

/* The conditions for a redo: the view must stay valid. laws.ts checks the same for new plans. */

/**
 * Returns the figures of the rows that a redo hides, without the number of retired ones. Tagging checks later that these rows are visible.
 * Throws if other rows have become visible in their span.
 */
export function* figuresInSpan(
  sql: Sql,
  session: StoredSession,
  compaction: StoredCompaction,
): Work<RowFigures> {
  const { hidden, beside } = compaction.coverage
  const [first, last] = spanPlaces(hidden)!
  const span = `from undertext_messages m {index undertext_visible} where {family m} m.session = ? and ${M_VISIBLE}
    and m.anchor >= ? and m.anchor <= ? and (m.anchor, m.ordinal) >= (?, ?) and (m.anchor, m.ordinal) <= (?, ?)`
  const places = [first.anchor, first.ordinal, last.anchor, last.ordinal]
  const bounds = [session.no, first.anchor, last.anchor, ...places]
  const figures = `select count(*), ${COUNT_SENT}, ${SIZE_TOTALS} ${span}`
  const [count, sent, ...totals] = (yield* sql.get(figures, ...bounds))!
  // Compares only the number of rows: if they aren't the covered ones, tagging them fails.
  if (count === countRows(hidden)) return { sent: sent as number, sizes: sizesOf(totals), retired: 0 }
  const rows = yield* sql.all(`select m.id, m.position, m.ordinal ${span}`, ...bounds)
  const appeared = rows.filter(([, position, ordinal]) => {
    const row = { position: (position as number | null) ?? undefined, ordinal: ordinal as number }
    return !containsRow(hidden, row) && !containsRow(beside, row)
  })
  if (appeared.length === 0) return yield* figuresOfSet(sql, session.no, hidden)
  const why = 'other messages became visible among those that it hides'
  throw notVisible(session, compaction, why, idsOf(session, appeared))
}

/** A late result may belong to a call that was hidden without it. Such results are rare, so this check may read the whole view. */
export function* checkPairs(sql: Sql, session: StoredSession, compaction: StoredCompaction): Work<void> {
  const { kind, coverage } = compaction
  const view = yield* viewIndex(sql, session, '')
  const hide = view.rows.filter((row) => containsRow(coverage.hidden, row))
  if (hide.length < countRows(coverage.hidden)) throw yield* missingRows(sql, session, compaction)
  try {
    const rewinds = coverage.rewinds === true ? { rewinds: true as const } : {}
    checkLaws(session.id, view, { kind, hide, replace: [], requires: [], params: {}, ...rewinds })
  } catch (error) {
    if (!isUndertextError(error, 'ILLEGAL_BOUNDARY') && !isUndertextError(error, 'PENDING_TOOL_CALLS'))
      throw error
    const why = 'it would separate a tool call from its result, or hide a pinned message'
    throw notVisible(session, compaction, why, error.facts.messageIds)
  }
}

/** Reasoning that the current tool loop needs must not be replaced. This is rare, so the check may read the whole view. */
export function* checkReasoning(sql: Sql, session: StoredSession, compaction: StoredCompaction): Work<void> {
  const emptied = yield* sql.all(
    `select message, part from undertext_replacements where {family} compaction = ? and text = '""'`,
    compaction.no,
  )
  if (emptied.length === 0) return
  const view = yield* viewIndex(sql, session, '')
  const places = emptied.flatMap(([key, part]) => {
    const index = view.indexOf(key as number)
    return index === undefined ? [] : [{ row: view.rows[index]!, part: part as number }]
  })
  const ids = partedReasoning(view, places).map(({ id }) => id)
  if (ids.length > 0) throw notVisible(session, compaction, 'a tool loop needs their reasoning', ids)
}

/**
 * Pinned rows must not be replaced. The target of a deduplication must be visible, in full or as the preview it was appended with, unless
 * no replaced row is visible.
 */
export function* checkReplaced(sql: Sql, session: StoredSession, compaction: StoredCompaction): Work<void> {
  const visible = `from undertext_replacements r join undertext_messages m on {family m} m.key = r.message
     where {family r} r.compaction = ? and ${M_VISIBLE}`
  const pinned = yield* sql.all(
    `select distinct m.id, m.position, m.ordinal ${visible} and m.pinned = 1`,
    compaction.no,
  )
  if (pinned.length > 0)
    throw notVisible(session, compaction, 'it changes pinned messages', idsOf(session, pinned))
  if (compaction.requires.length === 0) return
  if ((yield* sql.get(`select 1 ${visible} limit 1`, compaction.no)) === undefined) return
  const keys = JSON.stringify([...new Set(compaction.requires.map(([key]) => key))])
  const rows = 'from {list ?} k join undertext_messages m on {family m} m.key = k.value'
  const seen = new Set((yield* sql.all(`select m.key ${rows} where ${M_VISIBLE}`, keys)).map(([key]) => key))
  const replaced = yield* sql.all(
    `select m.key, {int s 0} ${rows} cross join {elements m.shown} s {cross} undertext_compactions c on {family c} c.no = {int s 1}
     where m.shown is not null and c.kind <> 'preview'`,
    keys,
  )
  const isReplaced = new Set(replaced.map(([key, part]) => `${key}:${part}`))
  const gone = compaction.requires.filter(([key, part]) => !seen.has(key) || isReplaced.has(`${key}:${part}`))
  if (gone.length === 0) return
  const goneKeys = JSON.stringify(gone.map(([key]) => key))
  const ids = idsOf(session, yield* sql.all(`select m.id, m.position, m.ordinal ${rows}`, goneKeys))
  throw notVisible(session, compaction, 'its pointers refer to messages that are hidden or replaced', ids)
}

export function* missingRows(
  sql: Sql,
  session: StoredSession,
  { no, ...compaction }: StoredCompaction,
): Work<UndertextError> {
  const missing: string[] = []
  for (const [where, ...values] of placesIn(sql, session.no, compaction.coverage.hidden)) {
    const rows = yield* sql.all(
      `select m.id, m.position, m.ordinal from undertext_messages m where ${where} and not (${M_VISIBLE} and m.pinned = 0)
         and m.condense_parent is distinct from ? and m.truncation_parent is distinct from ?`,
      ...values,
      no,
      no,
    )
    for (const id of idsOf(session, rows)) missing.push(id)
  }
  return notVisible(session, compaction, 'some of its messages are hidden, retired or pinned', missing)
}

export function notVisible(
  session: StoredSession,
  compaction: Pick<StoredCompaction, 'id'>,
  why: string,
  missing: readonly string[],
): UndertextError<'INPUT_NOT_VISIBLE'> {
  const facts = { sessionId: session.id, compactionId: compaction.id, why, missing }
  return new UndertextError('INPUT_NOT_VISIBLE', facts)
}

/** Returns the ids of rows that were read as id, position and ordinal. */
export function idsOf({ incarnation }: StoredSession, rows: readonly Row[]): string[] {
  return rows.map(([id, position, ordinal]) => rowId(incarnation, id, position, ordinal))
}
