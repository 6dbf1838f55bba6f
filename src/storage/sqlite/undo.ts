import { countRows, holdsRow, spanPlaces } from '../../core/coverage.ts'
import { checkLaws, partedReasoning } from '../../core/laws.ts'
import { planRedo, planUndo } from '../../core/nesting.ts'
import { lastUndoneOf } from '../../core/session-log.ts'
import { addSizes, NO_SIZES, type Sizes, subtractSizes } from '../../core/tokens.ts'
import { isUndertextError, UndertextError } from '../../errors.ts'
import type { Estimators, UndoOutcome, UndoRequest } from '../storage.ts'
import { writeAudit } from './audit.ts'
import { findTargets, loadCompactions, type StoredCompaction } from './compactions.ts'
import type { Connection } from './connection.ts'
import { M_VISIBLE } from './history.ts'
import { viewIndex } from './planning.ts'
import { refreshShown } from './replacements.ts'
import { rowId } from './row-codec.ts'
import { requireSession, type StoredSession } from './sessions.ts'
import { layTags, liftTags, moveCounters, SIZE_TOTALS, sizesOf, sizesOfSet } from './tagging.ts'

const NOTHING_DONE: UndoOutcome = { changed: false, compactionIds: [], rows: 0, parts: 0 }

/**
 * Takes a compaction, or all of a run that is in force, out of force: one transaction, cost in proportion to
 * the rows covered. A second time it says so and writes nothing.
 *
 * Throws `COMPACTION_NOT_FOUND`, `HAS_ACTIVE_DEPENDENTS`, `STORE_CORRUPT` when the tags are not as they must be.
 */
export function undo(connection: Connection, id: string, target: string, request: UndoRequest): UndoOutcome {
  return connection.write('undoCompaction', () => {
    const session = requireSession(connection, id)
    const compactions = loadCompactions(connection, session.no)
    const { targets, isRun } = findTargets(id, compactions, target)
    const taken = planUndo(id, compactions, targets, request.cascade)
    if (taken.length === 0) return NOTHING_DONE
    const withRun = isRun
      ? writeAudit(connection, session.no, {
          event: 'run undone',
          run: target,
          actor: request.actor,
          detail: note(request),
        })
      : undefined
    const members = new Set(targets)
    for (const compaction of taken) {
      undoOne(connection, session, compaction)
      setStatus(connection, compaction, 'undone', members.has(compaction) ? withRun : undefined)
      writeTransition(connection, session, compaction, 'undone', request)
    }
    return outcome(taken)
  })
}

export function undoOne(connection: Connection, session: StoredSession, compaction: StoredCompaction): void {
  const { no, kind, coverage } = compaction
  let sizes: Sizes = NO_SIZES
  if (!liftTags(connection, session.no, kind, no, coverage.hidden)) {
    throw new UndertextError('STORE_CORRUPT', {
      detail: `tags of compaction ${compaction.id} are not as it laid them`,
    })
  }
  sizes = addSizes(sizes, sizesOfSet(connection, session.no, coverage.hidden))
  if (coverage.inserted !== undefined) {
    const inserted = { positions: [], inserted: [coverage.inserted] }
    sizes = subtractSizes(sizes, sizesOfSet(connection, session.no, inserted))
    setRetired(connection, session.no, coverage.inserted.ordinal, no)
  }
  if (compaction.partsReplaced > 0) sizes = addSizes(sizes, refreshShown(connection, no, false))
  const rows = countRows(coverage.hidden)
  const inserted = coverage.inserted === undefined ? 0 : 1
  moveCounters(connection, session.no, {
    visible: rows - inserted,
    sizes,
    hidden: { kind, rows: -rows },
    retired: inserted,
    activeCompactions: -1,
  })
}

/**
 * Puts a compaction back, or exactly those of a run that its last undo took down: same rows, same ids, the
 * stored summary, no model.
 *
 * Throws `COMPACTION_NOT_FOUND`, and `INPUT_NOT_VISIBLE` when laws 1 to 6 would not hold now; then nothing is
 * changed.
 */
export function redo(
  connection: Connection,
  id: string,
  target: string,
  request: UndoRequest,
  estimators: Estimators,
): UndoOutcome {
  return connection.write('redoCompaction', () => {
    const session = requireSession(connection, id)
    const compactions = loadCompactions(connection, session.no)
    const { targets, isRun } = findTargets(id, compactions, target)
    const taken = planRedo(compactions, isRun ? lastUndoneOf(targets) : targets, request.cascade)
    if (taken.length === 0) return NOTHING_DONE
    if (isRun) {
      writeAudit(connection, session.no, {
        event: 'run redone',
        run: target,
        actor: request.actor,
        detail: note(request),
      })
    }
    for (const compaction of taken) {
      redoOne(connection, session, compaction, estimators)
      setStatus(connection, compaction, 'active', undefined)
      writeTransition(connection, session, compaction, 'redone', request)
    }
    return outcome(taken)
  })
}

function redoOne(
  connection: Connection,
  session: StoredSession,
  compaction: StoredCompaction,
  estimators: Estimators,
): void {
  const { no, kind, coverage } = compaction
  let sizes: Sizes = NO_SIZES
  const rows = countRows(coverage.hidden)
  const isMoving = kind === 'provider' && coverage.inserted !== undefined
  if (compaction.partsReplaced > 0 && !isMoving) checkReasoning(connection, session, compaction, estimators)
  if (rows > 0) {
    if (coverage.openCalls || coverage.rewinds === true)
      checkPairs(connection, session, compaction, estimators)
    sizes = subtractSizes(sizes, sizesInSpan(connection, session, compaction))
    if (!layTags(connection, session.no, kind, no, coverage))
      throw missingRows(connection, session, compaction)
  }
  if (coverage.inserted !== undefined) {
    setRetired(connection, session.no, coverage.inserted.ordinal, null)
    sizes = addSizes(
      sizes,
      sizesOfSet(connection, session.no, { positions: [], inserted: [coverage.inserted] }),
    )
  }
  if (compaction.partsReplaced > 0) {
    // The parts of a provider's block moved to the row it inserted: no law keeps them in their place. What a rewind shows again is
    // the original, which pins do not hold against.
    if (!isMoving && coverage.rewinds !== true) checkReplaced(connection, session, compaction)
    sizes = addSizes(sizes, refreshShown(connection, no, true))
  }
  const inserted = coverage.inserted === undefined ? 0 : 1
  moveCounters(connection, session.no, {
    visible: inserted - rows,
    sizes,
    hidden: { kind, rows },
    retired: -inserted,
    activeCompactions: 1,
  })
}

/**
 * The sizes of the rows a redo is to hide, when they are visible; whether they are is seen when they are tagged.
 * Nothing may stand in their span now that neither is covered nor stood there before.
 */
function sizesInSpan(connection: Connection, session: StoredSession, compaction: StoredCompaction): Sizes {
  const { hidden, beside } = compaction.coverage
  const [first, last] = spanPlaces(hidden)!
  const span = `from undertext_messages m indexed by undertext_visible where m.session = ? and ${M_VISIBLE}
    and m.anchor >= ? and m.anchor <= ? and (m.anchor, m.ordinal) >= (?, ?) and (m.anchor, m.ordinal) <= (?, ?)`
  const bounds = [
    session.no,
    first.anchor,
    last.anchor,
    first.anchor,
    first.ordinal,
    last.anchor,
    last.ordinal,
  ]
  const [count, ...totals] = connection.get(`select count(*), ${SIZE_TOTALS} ${span}`, ...bounds)!
  // As many as it covers: then, if these are the very ones, nothing else stands there, and they are counted.
  if (count === countRows(hidden)) return sizesOf(totals)
  const rows = connection.all(`select m.position, m.ordinal, m.id ${span}`, ...bounds)
  const appeared = rows.filter(([position, ordinal]) => {
    const row = { position: (position as number | null) ?? undefined, ordinal: ordinal as number }
    return !holdsRow(hidden, row) && !holdsRow(beside, row)
  })
  if (appeared.length === 0) return sizesOfSet(connection, session.no, hidden)
  throw notVisible(
    session,
    compaction,
    'other messages have come to light between its own',
    appeared.map(([position, ordinal, rowOwnId]) => rowId(session.incarnation, rowOwnId, position, ordinal)),
  )
}

/** A result that came late may answer a call that was hidden without one. Rare, so the whole view is looked at. */
function checkPairs(
  connection: Connection,
  session: StoredSession,
  compaction: StoredCompaction,
  estimators: Estimators,
): void {
  const view = viewIndex(connection, session, '', estimators)
  const hide = view.rows.filter((row) => holdsRow(compaction.coverage.hidden, row))
  if (hide.length < countRows(compaction.coverage.hidden)) throw missingRows(connection, session, compaction)
  try {
    // A manual plan meets the laws about pairs and pins; spans are checked apart.
    const { kind, coverage } = compaction
    const rewinds = coverage.rewinds === true ? { rewinds: true as const } : {}
    checkLaws(session.id, view, { kind, hide, replace: [], requires: [], params: {}, ...rewinds })
  } catch (error) {
    if (!isUndertextError(error, 'ILLEGAL_BOUNDARY') && !isUndertextError(error, 'PENDING_TOOL_CALLS'))
      throw error
    throw notVisible(session, compaction, 'a law would not hold', error.facts.messageIds)
  }
}

/** Nothing is shown in place of reasoning a tool loop needs now. Rare, so the whole view is looked at. */
function checkReasoning(
  connection: Connection,
  session: StoredSession,
  compaction: StoredCompaction,
  estimators: Estimators,
): void {
  const emptied = connection.all(
    `select message, part from undertext_replacements where compaction = ? and text = '""'`,
    compaction.no,
  )
  if (emptied.length === 0) return
  const view = viewIndex(connection, session, '', estimators)
  const parted = partedReasoning(
    view,
    emptied.flatMap(([key, part]) => {
      const index = view.indexOf(key as number)
      return index === undefined ? [] : [{ row: view.rows[index]!, part: part as number }]
    }),
  )
  if (parted.length === 0) return
  const ids = parted.map(({ id }) => id)
  throw notVisible(session, compaction, 'a tool loop needs the reasoning', ids)
}

/** What a deduplication leans on must be there, whole or as the preview it was appended with, unless nothing it replaced is visible either. */
function checkReplaced(connection: Connection, session: StoredSession, compaction: StoredCompaction): void {
  const visible = `from undertext_replacements r join undertext_messages m on m.key = r.message
     where r.compaction = ? and ${M_VISIBLE}`
  const pinned = connection.all(
    `select distinct m.id, m.position, m.ordinal ${visible} and m.pinned = 1`,
    compaction.no,
  )
  if (pinned.length > 0) {
    const ids = pinned.map(([id, position, ordinal]) => rowId(session.incarnation, id, position, ordinal))
    throw notVisible(session, compaction, 'these are pinned now', ids)
  }
  if (compaction.requires.length === 0) return
  if (connection.get(`select 1 ${visible} limit 1`, compaction.no) === undefined) return
  const gone = compaction.requires.filter(([key, part]) => {
    const row = connection.get(
      `select 1 from undertext_messages m where m.key = ? and ${M_VISIBLE}
         and not exists (select 1 from json_each(m.shown) s join undertext_compactions c on c.no = s.value ->> 1
           where s.value ->> 0 = ? and c.kind <> 'preview')`,
      key,
      part,
    )
    return row === undefined
  })
  if (gone.length === 0) return
  const ids = gone.map(([key]) => idOfKey(connection, session, key))
  throw notVisible(session, compaction, 'it leans on these, and they are hidden or replaced', ids)
}

function missingRows(
  connection: Connection,
  session: StoredSession,
  compaction: StoredCompaction,
): UndertextError {
  const { hidden } = compaction.coverage
  const missing: string[] = []
  const columns = 'select m.id, m.position, m.ordinal from undertext_messages m where m.session = ?'
  const gone = `not (${M_VISIBLE} and m.pinned = 0) and m.condense_parent is not ? and m.truncation_parent is not ?`
  const collect = (rows: readonly (readonly unknown[])[]): void => {
    for (const [id, position, ordinal] of rows)
      missing.push(rowId(session.incarnation, id, position, ordinal))
  }
  for (const [from, to] of hidden.positions) {
    collect(
      connection.all(
        `${columns} and m.position between ? and ? and ${gone}`,
        session.no,
        from,
        to,
        compaction.no,
        compaction.no,
      ),
    )
  }
  for (const { ordinal } of hidden.inserted) {
    collect(
      connection.all(
        `${columns} and m.position is null and m.ordinal = ? and ${gone}`,
        session.no,
        ordinal,
        compaction.no,
        compaction.no,
      ),
    )
  }
  return notVisible(session, compaction, 'these are hidden, retired or pinned', missing)
}

function notVisible(
  session: StoredSession,
  compaction: StoredCompaction,
  why: string,
  missing: readonly string[],
): UndertextError<'INPUT_NOT_VISIBLE'> {
  return new UndertextError('INPUT_NOT_VISIBLE', {
    sessionId: session.id,
    compactionId: compaction.id,
    why,
    missing,
  })
}

function idOfKey(connection: Connection, session: StoredSession, key: number): string {
  const row = connection.get('select id, position, ordinal from undertext_messages where key = ?', key)
  return row === undefined ? String(key) : rowId(session.incarnation, row[0], row[1], row[2])
}

function setRetired(connection: Connection, session: number, ordinal: number, by: number | null): void {
  connection.run(
    'update undertext_messages set retired_by = ? where session = ? and position is null and ordinal = ?',
    by,
    session,
    ordinal,
  )
}

export function setStatus(
  connection: Connection,
  compaction: StoredCompaction,
  status: 'active' | 'undone',
  undoneWithRun: number | undefined,
): void {
  connection.run(
    'update undertext_compactions set status = ?, undone_with_run = ?, changed_at = ? where no = ?',
    status,
    undoneWithRun ?? null,
    Date.now(),
    compaction.no,
  )
}

export function writeTransition(
  connection: Connection,
  session: StoredSession,
  compaction: StoredCompaction,
  event: 'undone' | 'redone',
  request: UndoRequest,
): void {
  writeAudit(connection, session.no, {
    event,
    compaction: compaction.no,
    run: compaction.run,
    actor: request.actor,
    detail: { ...note(request), rows: compaction.rowsHidden, parts: compaction.partsReplaced },
  })
}

function note({ reason, source }: UndoRequest): { reason?: string; source?: string } {
  return { ...(reason !== undefined && { reason }), ...(source !== undefined && { source }) }
}

export function outcome(taken: readonly StoredCompaction[]): UndoOutcome {
  return {
    changed: true,
    compactionIds: taken.map(({ id }) => id),
    rows: taken.reduce((sum, { rowsHidden }) => sum + rowsHidden, 0),
    parts: taken.reduce((sum, { partsReplaced }) => sum + partsReplaced, 0),
  }
}
