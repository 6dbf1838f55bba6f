import { isUndertextError, UndertextError } from '../../errors.ts'
import { countRows, holdsRow, spanPlaces } from '../../model/coverage.ts'
import { checkLaws, partedReasoning } from '../../model/laws.ts'
import { type Nesting, planLift, planRedo, planUndo } from '../../model/nesting.ts'
import { addSizes, NO_SIZES, type Sizes, subtractSizes } from '../../tokens/tokens.ts'
import type { Estimators, Trigger, UndoOutcome, UndoRequest } from '../storage.ts'
import { writeAudit } from './audit.ts'
import { layTags, liftTags, moveCounters, SIZE_TOTALS, sizesOf, sizesOfSet } from './commit.ts'
import {
  compactionsNumbered,
  findTargets,
  type StoredCompaction,
  someCompactions,
  storedNesting,
} from './compactions.ts'
import type { Connection } from './connection.ts'
import { M_VISIBLE } from './history.ts'
import { viewIndex } from './planning.ts'
import { refreshShown } from './replacements.ts'
import { rowId } from './row-codec.ts'
import { requireSession, type StoredSession } from './sessions.ts'

/** Triggers of automatic runs. */
const AUTOMATIC: ReadonlySet<Trigger> = new Set(['auto', 'overflow'])

/**
 * Takes a compaction, or all of a run that is in force, out of force: one transaction, cost in proportion to
 * the rows covered. A second time it says so and writes nothing. With a rewind, what it turned is turned back.
 *
 * Throws `COMPACTION_NOT_FOUND`, `HAS_ACTIVE_DEPENDENTS`, `BRANCH_MOVED`, `STORE_CORRUPT` when the tags are not as they must be.
 */
export function undo(connection: Connection, id: string, target: string, request: UndoRequest): UndoOutcome {
  return connection.write('undoCompaction', () => {
    const session = requireSession(connection, id)
    const { targets, isRun } = findTargets(connection, session, target)
    const turning = new Turning(connection, session, request)
    const isActive = targets.some(({ status }) => status === 'active')
    const withRun =
      isRun && isActive ? noteRun(connection, session, 'run undone', target, request) : undefined
    const taken = turning.undoAll(targets, request.cascade, withRun)
    if (!request.both) refuseMoved(connection, session, taken)
    const automatic = taken.filter(({ trigger, kind }) => AUTOMATIC.has(trigger) && kind !== 'preview')
    if (request.source === undefined) holdBack(connection, session, automatic.length)
    return outcome(taken, turning.turnedWith, neverInForce(targets))
  })
}

function noteRun(
  connection: Connection,
  session: StoredSession,
  event: 'run undone' | 'run redone',
  run: string,
  request: UndoRequest,
): number {
  return writeAudit(connection, session.no, { event, run, actor: request.actor, detail: note(request) })
}

/** Those that no undo and no redo can turn. */
function neverInForce(targets: readonly StoredCompaction[]): StoredCompaction[] {
  return targets.filter(({ status }) => status !== 'active' && status !== 'undone')
}

/** Counts automatic compactions that were undone (or redone, when negative), since the threshold alone must not repeat them. */
function holdBack(connection: Connection, session: StoredSession, count: number): void {
  if (count === 0 || (count < 0 && session.undoneAutomatic === 0)) return
  connection.run(
    'update undertext_sessions set undone_automatic = max(0, undone_automatic + ?) where no = ?',
    count,
    session.no,
  )
}

/**
 * A rewind hid everything up to the end of the view, so what shows after its last row was appended since. Throws `BRANCH_MOVED`:
 * the conversation would continue with what was said instead.
 */
export function refuseMoved(
  connection: Connection,
  session: StoredSession,
  undone: readonly StoredCompaction[],
): void {
  for (const { id, coverage } of undone) {
    if (coverage.rewinds !== true) continue
    const since = connection.get(
      `select m.id, m.position, m.ordinal from undertext_messages m indexed by undertext_visible
       where m.session = ? and m.anchor > ? and ${M_VISIBLE} order by m.anchor, m.ordinal limit 1`,
      session.no,
      spanPlaces(coverage.hidden)![1].anchor,
    )
    if (since === undefined) continue
    const messageId = rowId(session.incarnation, since[0], since[1], since[2])
    throw new UndertextError('BRANCH_MOVED', { sessionId: session.id, compactionId: id, messageId })
  }
}

/** Turns compactions within one transaction, rewinds together with what they turn. */
export class Turning {
  /** Ids of what rewinds turned with themselves. */
  readonly turnedWith: string[] = []
  readonly #connection: Connection
  readonly #session: StoredSession
  readonly #request: UndoRequest
  readonly #nesting: Nesting<StoredCompaction>

  constructor(connection: Connection, session: StoredSession, request: UndoRequest) {
    this.#connection = connection
    this.#session = session
    this.#request = request
    this.#nesting = storedNesting(connection, session.no)
  }

  /** Undoes targets, and with `cascade` what builds on them; returns what was undone. Throws `HAS_ACTIVE_DEPENDENTS`. */
  undoAll(
    targets: readonly StoredCompaction[],
    cascade: boolean,
    withRun: number | undefined,
  ): StoredCompaction[] {
    const taken: StoredCompaction[] = []
    let rest = targets
    let plan = planUndo(this.#session.id, this.#nesting, rest, cascade)
    while (plan.length > 0) {
      // What a rewind lifted is in force again after it, and may build on the rest.
      const rewind = plan.findIndex(({ coverage }) => coverage.rewinds === true)
      const step = rewind === -1 ? plan : plan.slice(0, rewind + 1)
      for (const compaction of step) {
        this.undo(compaction, withRun)
        taken.push(compaction)
      }
      if (step.length === plan.length) break
      rest = rest.filter(({ no }) => !step.some((done) => done.no === no))
      plan = planUndo(this.#session.id, this.#nesting, rest, cascade)
    }
    return taken
  }

  /** Takes one out of force; a rewind turns back what it turned. */
  undo(compaction: StoredCompaction, withRun: number | undefined): void {
    const { lifted, restored } = this.#nesting.turnedBy(compaction)
    undoOne(this.#connection, this.#session, compaction)
    setStatus(this.#connection, compaction, 'undone', withRun)
    this.#note(compaction, 'undone')
    this.turn(restored, lifted, compaction.id)
  }

  /** Puts one back, held to the laws; a rewind turns again what it lifts and restores. Throws `INPUT_NOT_VISIBLE`. */
  redo(compaction: StoredCompaction, estimators: Estimators): void {
    const { no, coverage } = compaction
    if (coverage.lifts !== undefined || coverage.restores !== undefined) {
      const lifts = this.#numbered(coverage.lifts, 'active')
      const restores = this.#numbered(coverage.restores, 'undone')
      this.#refuseBuiltOn(compaction, lifts)
      this.turn(lifts, restores, compaction.id)
      writeTurned(this.#connection, no, lifts, restores)
    }
    redoOne(this.#connection, requireSession(this.#connection, this.#session.id), compaction, estimators)
    setStatus(this.#connection, compaction, 'active', undefined)
    this.#note(compaction, 'redone')
  }

  /** Takes some out of force, newest first, and puts others back, oldest first: to a state that was, so no law is asked. */
  turn(lifted: readonly StoredCompaction[], restored: readonly StoredCompaction[], rewind: string): void {
    for (const compaction of lifted.toSorted((a, b) => b.rank - a.rank)) {
      undoOne(this.#connection, this.#session, compaction)
      this.#turned(compaction, 'undone', rewind)
    }
    for (const compaction of restored.toSorted((a, b) => a.rank - b.rank)) {
      putBack(this.#connection, this.#session, compaction)
      this.#turned(compaction, 'redone', rewind)
    }
  }

  /** What undid it as part of a run stays noted, for the day the rewind is undone. */
  #turned(compaction: StoredCompaction, event: 'undone' | 'redone', rewind: string): void {
    const status = event === 'undone' ? 'undone' : 'active'
    setStatus(this.#connection, compaction, status, compaction.undoneWithRun)
    this.#note(compaction, event, rewind)
    this.turnedWith.push(compaction.id)
  }

  #note(compaction: StoredCompaction, event: 'undone' | 'redone', rewind?: string): void {
    writeTransition(this.#connection, this.#session, compaction, event, this.#request, rewind)
  }

  #numbered(numbers: readonly number[] = [], status: 'active' | 'undone'): StoredCompaction[] {
    const all = compactionsNumbered(this.#connection, this.#session.no, numbers)
    return all.filter((one) => one.status === status)
  }

  #refuseBuiltOn(rewind: StoredCompaction, lifts: readonly StoredCompaction[]): void {
    const since = planLift(this.#nesting, lifts).filter(({ no }) => !lifts.some((one) => one.no === no))
    if (since.length === 0) return
    const missing = since.map(({ id }) => id)
    throw notVisible(this.#session, rewind, 'these compactions build on what it lifts', missing)
  }
}

/** Notes what a rewind turned when it came into force, within the caller's transaction. */
export function writeTurned(
  connection: Connection,
  rewind: number,
  lifted: readonly StoredCompaction[],
  restored: readonly StoredCompaction[],
): void {
  const numbers = (list: readonly StoredCompaction[]): number[] => list.map(({ no }) => no)
  const turned = JSON.stringify([numbers(lifted), numbers(restored)])
  connection.run('update undertext_compactions set turned = ? where no = ?', turned, rewind)
}

function undoOne(connection: Connection, session: StoredSession, compaction: StoredCompaction): void {
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
 * Puts a compaction back, or exactly what the last undo of a run took down, of other runs too: same rows, same ids, the
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
    const { targets, isRun } = findTargets(connection, session, target)
    const wanted = isRun ? undoneWithRun(connection, session, target) : targets
    const taken = planRedo(storedNesting(connection, session.no), wanted, request.cascade)
    const turning = new Turning(connection, session, request)
    if (isRun && taken.length > 0) noteRun(connection, session, 'run redone', target, request)
    for (const compaction of taken) turning.redo(compaction, estimators)
    const automatic = taken.filter(({ trigger, kind }) => AUTOMATIC.has(trigger) && kind !== 'preview')
    if (request.source === undefined) holdBack(connection, session, -automatic.length)
    const left = targets.filter(
      (one) => one.status !== 'active' && !taken.some((redone) => redone.no === one.no),
    )
    return outcome(taken, turning.turnedWith, left)
  })
}

/** What the last undo of a run took down and is still down, members of other runs included. */
function undoneWithRun(connection: Connection, session: StoredSession, run: string): StoredCompaction[] {
  const last = connection.get(
    "select max(no) from undertext_audit where run = ? and event = 'run undone' and +session = ?",
    run,
    session.no,
  )![0]
  if (last === null) return []
  return someCompactions(connection, session.no, "c.undone_with_run = ? and c.status = 'undone'", last)
}

/** Lays what a compaction lays, pinned rows or not, where it was in force before. Throws `INPUT_NOT_VISIBLE`. */
function putBack(connection: Connection, session: StoredSession, compaction: StoredCompaction): void {
  const { hidden } = compaction.coverage
  const coverage = { ...compaction.coverage, rewinds: true as const }
  lay(connection, session, { ...compaction, coverage }, sizesOfSet(connection, session.no, hidden))
}

function redoOne(
  connection: Connection,
  session: StoredSession,
  compaction: StoredCompaction,
  estimators: Estimators,
): void {
  const { kind, coverage } = compaction
  const rows = countRows(coverage.hidden)
  // The parts of a provider's block moved to the row it inserted: no law keeps them in their place. What a rewind shows again is
  // the original, which pins do not hold against.
  const isMoving = kind === 'provider' && coverage.inserted !== undefined
  const isReplacing = compaction.partsReplaced > 0 && !isMoving
  if (isReplacing) checkReasoning(connection, session, compaction, estimators)
  if (rows > 0 && (coverage.openCalls || coverage.rewinds === true))
    checkPairs(connection, session, compaction, estimators)
  const covered = rows === 0 ? NO_SIZES : sizesInSpan(connection, session, compaction)
  lay(connection, session, compaction, covered, () => {
    if (isReplacing && coverage.rewinds !== true) checkReplaced(connection, session, compaction)
  })
}

/** Tags the rows of a compaction, whose sizes are given, shows its row and its texts again, and moves the counters. */
function lay(
  connection: Connection,
  session: StoredSession,
  compaction: StoredCompaction,
  covered: Sizes,
  checkBeforeReplacing: () => void = () => {},
): void {
  const { no, kind, coverage } = compaction
  const rows = countRows(coverage.hidden)
  if (!layTags(connection, session.no, kind, no, coverage)) throw missingRows(connection, session, compaction)
  let sizes = subtractSizes(NO_SIZES, covered)
  if (coverage.inserted !== undefined) {
    setRetired(connection, session.no, coverage.inserted.ordinal, null)
    sizes = addSizes(
      sizes,
      sizesOfSet(connection, session.no, { positions: [], inserted: [coverage.inserted] }),
    )
  }
  if (compaction.partsReplaced > 0) {
    checkBeforeReplacing()
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
  const keys = JSON.stringify([...new Set(compaction.requires.map(([key]) => key))])
  const rows = 'from json_each(?) k join undertext_messages m on m.key = k.value'
  const seen = new Set(connection.all(`select m.key ${rows} where ${M_VISIBLE}`, keys).map(([key]) => key))
  const replaced = connection.all(
    `select m.key, s.value ->> 0 ${rows}, json_each(m.shown) s cross join undertext_compactions c on c.no = s.value ->> 1
     where m.shown is not null and c.kind <> 'preview'`,
    keys,
  )
  const isReplaced = new Set(replaced.map(([key, part]) => `${key}:${part}`))
  const gone = compaction.requires.filter(([key, part]) => !seen.has(key) || isReplaced.has(`${key}:${part}`))
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

function setStatus(
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

function writeTransition(
  connection: Connection,
  session: StoredSession,
  compaction: StoredCompaction,
  event: 'undone' | 'redone',
  request: Pick<UndoRequest, 'actor' | 'reason' | 'source'>,
  rewind?: string,
): void {
  const turnedWith = rewind === undefined ? {} : { rewind }
  writeAudit(connection, session.no, {
    event,
    compaction: compaction.no,
    run: compaction.run,
    actor: request.actor,
    detail: { ...note(request), ...turnedWith, rows: compaction.rowsHidden, parts: compaction.partsReplaced },
  })
}

function note({ reason, source }: Pick<UndoRequest, 'reason' | 'source'>): {
  reason?: string
  source?: string
} {
  return { ...(reason !== undefined && { reason }), ...(source !== undefined && { source }) }
}

export function outcome(
  taken: readonly StoredCompaction[],
  turnedWith: readonly string[] = [],
  left: readonly StoredCompaction[] = [],
): UndoOutcome {
  return {
    changed: taken.length > 0,
    compactionIds: taken.map(({ id }) => id),
    rows: taken.reduce((sum, { rowsHidden }) => sum + rowsHidden, 0),
    parts: taken.reduce((sum, { partsReplaced }) => sum + partsReplaced, 0),
    ...(turnedWith.length > 0 && { turnedWith }),
    ...(left.length > 0 && { notTurned: left.map(({ id, status }) => ({ compactionId: id, status })) }),
  }
}
