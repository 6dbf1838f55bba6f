import { UndertextError } from '../../core/errors.ts'
import { defined } from '../../core/messages/json.ts'
import { countRows, NO_ROWS, spanPlaces } from '../../core/model/coverage.ts'
import { addSizes, subtractSizes } from '../../core/tokens/measure.ts'
import type { Trigger, UndoOutcome, UndoRequest } from '../storage.ts'
import { writeAudit } from './audit.ts'
import { figuresOfSet, moveCounters, NO_FIGURES, placesIn, type RowFigures, setTags } from './commit.ts'
import {
  compactionsNumbered,
  findTargets,
  type StoredCompaction,
  someCompactions,
  storedNesting,
} from './compactions.ts'
import { type Nesting, planLift, planRedo, planUndo, turnedBack } from './plan-undo.ts'
import {
  checkPairs,
  checkReasoning,
  checkReplaced,
  figuresInSpan,
  idsOf,
  missingRows,
  notVisible,
} from './redo-checks.ts'
import { refreshShown } from './replacements.ts'
import { rejectRetired, type Turned } from './retired.ts'
import { requireSession, type StoredSession } from './sessions.ts'
import { type Sql, writing } from './sql.ts'
import { M_VISIBLE } from './view.ts'
import { begun, Done, type Step, type Work } from './work.ts'

const AUTOMATIC: ReadonlySet<Trigger> = new Set(['auto', 'overflow'])

/**
 * Undoes a compaction, or all active compactions of a run, in one transaction whose cost is proportional to the number of covered rows. A
 * second undo changes nothing. The undo of a rewind also reverses what the rewind undid and redid, except compactions that build on one
 * that was undone since.
 *
 * Throws `COMPACTION_NOT_FOUND`, `HAS_ACTIVE_DEPENDENTS`, `BRANCH_MOVED`, `CONTENT_RETIRED`, and `STORE_CORRUPT` for wrong tags.
 */
export const undo = writing(
  'undoCompaction',
  function* (sql: Sql, id: string, target: string, request: UndoRequest): Work<UndoOutcome> {
    yield* sql.enter(id)
    const reading = begun(requireSession(sql, id))
    const finding = begun(findTargets(sql, id, target, true))
    const session = yield* reading
    const { targets, isRun, later } = yield* finding
    const turning = new Turning(sql, session, request)
    const isActive = targets.some(({ status }) => status === 'active')
    const withRun = isRun && isActive ? yield* turning.recordRun('run undone', target) : undefined
    const undone = yield* turning.undoAll(targets, request.cascade, withRun, later)
    if (!request.both) yield* rejectMovedBranch(sql, session, undone)
    yield* turning.rejectRetired()
    yield* turning.countAutomatic(undone, 1)
    const left = targets.filter(({ status }) => status !== 'active' && status !== 'undone')
    return outcome(undone, turning.alsoChanged, left)
  },
)

/**
 * Redoes a compaction, or everything that the last undo of a run undid, including compactions of other runs: the same rows, ids and
 * summaries, without calling a model.
 *
 * Throws `COMPACTION_NOT_FOUND`, `CONTENT_RETIRED`, and `INPUT_NOT_VISIBLE` if the view would be invalid; nothing is changed then.
 */
export const redo = writing(
  'redoCompaction',
  function* (sql: Sql, id: string, target: string, request: UndoRequest): Work<UndoOutcome> {
    yield* sql.enter(id)
    const reading = begun(requireSession(sql, id))
    const finding = begun(findTargets(sql, id, target))
    const session = yield* reading
    const { targets, isRun } = yield* finding
    const wanted = isRun ? yield* undoneWithRun(sql, session, target) : targets
    const redone = yield* planRedo(storedNesting(sql, session.no), wanted, request.cascade)
    const turning = new Turning(sql, session, request)
    if (isRun && redone.length > 0) yield* turning.recordRun('run redone', target)
    for (const compaction of redone) yield* turning.redo(compaction)
    yield* turning.rejectRetired()
    yield* turning.countAutomatic(redone, -1)
    const left = targets.filter((one) => one.status !== 'active' && !includesNo(redone, one))
    return outcome(redone, turning.alsoChanged, left)
  },
)

/** Returns the compactions that the last undo of a run undid and that are still undone, including those of other runs. */
function* undoneWithRun(sql: Sql, session: StoredSession, run: string): Work<StoredCompaction[]> {
  const last = (yield* sql.get(
    "select max(no) from undertext_audit where {family} run = ? and event = 'run undone' and {+}session = ?",
    run,
    session.no,
  ))![0]
  if (last === null) return []
  return yield* someCompactions(sql, session.no, "c.undone_with_run = ? and c.status = 'undone'", last)
}

/**
 * A rewind hides everything up to the end of the view, so any visible row after its last hidden one was appended later. Throws
 * `BRANCH_MOVED` in this case, because otherwise the conversation would continue with the rewound messages.
 */
export function* rejectMovedBranch(
  sql: Sql,
  session: StoredSession,
  undone: readonly StoredCompaction[],
): Work<void> {
  for (const { id, coverage } of undone) {
    if (coverage.rewinds !== true) continue
    const rows = yield* sql.all(
      `select m.id, m.position, m.ordinal from undertext_messages m {index undertext_visible}
       where {family m} m.session = ? and m.anchor > ? and ${M_VISIBLE} order by m.anchor, m.ordinal limit 1`,
      session.no,
      spanPlaces(coverage.hidden)![1].anchor,
    )
    const [messageId] = idsOf(session, rows)
    if (messageId === undefined) continue
    throw new UndertextError('BRANCH_MOVED', { sessionId: session.id, compactionId: id, messageId })
  }
}

/** Undoes and redoes compactions within one transaction. A rewind is turned together with the compactions that it undid and redid. */
export class Turning {
  /** The ids of the compactions that rewinds undid or redid. */
  readonly alsoChanged: string[] = []
  readonly #sql: Sql
  readonly #session: StoredSession
  readonly #request: UndoRequest
  readonly #nesting: Nesting<StoredCompaction>
  /** The turned compactions that may have made retired rows visible. */
  readonly #suspects: StoredCompaction[] = []

  constructor(sql: Sql, session: StoredSession, request: UndoRequest) {
    this.#sql = sql
    this.#session = session
    this.#request = request
    this.#nesting = storedNesting(sql, session.no)
  }

  /** Records the undo or redo of a whole run; returns the number of the entry. */
  *recordRun(event: 'run undone' | 'run redone', run: string): Work<number> {
    const { actor, reason, source } = this.#request
    const entry = { event, run, actor, detail: defined({ reason, source }) }
    return yield* writeAudit(this.#sql, this.#session.no, entry)
  }

  /** Counts undone automatic compactions, so that usage over the threshold alone doesn't repeat them. An import copies the count. */
  *countAutomatic(turned: readonly StoredCompaction[], sign: 1 | -1): Work<void> {
    const count = turned.filter(({ trigger, kind }) => AUTOMATIC.has(trigger) && kind !== 'preview').length
    if (count === 0 || this.#request.source !== undefined) return
    if (sign === -1 && this.#session.undoneAutomatic === 0) return
    const statement = 'update undertext_sessions set undone_automatic = ? where {family} no = ?'
    yield* this.#sql.run(
      statement,
      Math.max(0, this.#session.undoneAutomatic + sign * count),
      this.#session.no,
    )
  }

  /** Returns the nesting, answering from the rows that were read together with the targets if possible. */
  #nestingWith(
    targets: readonly StoredCompaction[],
    later: readonly StoredCompaction[],
  ): Nesting<StoredCompaction> {
    return {
      ...this.#nesting,
      laterInForce: (one) =>
        includesNo(targets, one)
          ? new Done(later.filter(({ rank }) => rank > one.rank))
          : this.#nesting.laterInForce(one),
    }
  }

  /**
   * Undoes targets and, with `cascade`, the compactions that build on them; returns the undone compactions. Throws `HAS_ACTIVE_DEPENDENTS`.
   */
  *undoAll(
    targets: readonly StoredCompaction[],
    cascade: boolean,
    withRun: number | undefined,
    later?: readonly StoredCompaction[],
  ): Work<StoredCompaction[]> {
    const undone: StoredCompaction[] = []
    for (let rest = targets; ; ) {
      const nesting =
        later !== undefined && rest === targets ? this.#nestingWith(targets, later) : this.#nesting
      const plan = yield* planUndo(this.#session.id, nesting, rest, cascade)
      // The undo of a rewind redoes compactions, which may build on the remaining ones, so the rest is planned again.
      const rewind = plan.findIndex(({ coverage }) => coverage.rewinds === true)
      const step = rewind === -1 ? plan : plan.slice(0, rewind + 1)
      for (const compaction of step) {
        yield* this.undo(compaction, withRun)
        undone.push(compaction)
      }
      if (step.length === plan.length) return undone
      rest = rest.filter((one) => !includesNo(step, one))
    }
  }

  /** Undoes one compaction; for a rewind, also reverses what it undid and redid. */
  *undo(compaction: StoredCompaction, withRun: number | undefined): Work<void> {
    const { lifted, restored } = yield* turnedBack(this.#nesting, compaction)
    yield* this.#deactivate(compaction)
    yield* this.#record(compaction, 'undone', withRun)
    yield* this.turn(restored, lifted, compaction.id)
  }

  /** Redoes one compaction if the view stays valid; a rewind undoes and redoes the same compactions again. Throws `INPUT_NOT_VISIBLE`. */
  *redo(compaction: StoredCompaction): Work<void> {
    const { no, coverage } = compaction
    if (coverage.lifts !== undefined || coverage.restores !== undefined) {
      const lifts = yield* this.#numbered(coverage.lifts, 'active')
      const restores = yield* this.#numbered(coverage.restores, 'undone')
      yield* this.#rejectIfBuiltOn(compaction, lifts)
      yield* this.turn(lifts, restores, compaction.id)
      yield* writeTurned(this.#sql, no, lifts, restores)
    }
    this.#note(
      compaction,
      yield* redoOne(this.#sql, yield* requireSession(this.#sql, this.#session.id), compaction),
    )
    yield* this.#record(compaction, 'redone', undefined)
  }

  /**
   * Undoes some compactions, newest first, and redoes others, oldest first. The view was valid in this state before, so it isn't checked.
   */
  *turn(
    lifted: readonly StoredCompaction[],
    restored: readonly StoredCompaction[],
    rewind: string,
  ): Work<void> {
    for (const compaction of lifted.toSorted((a, b) => b.rank - a.rank)) {
      yield* this.#deactivate(compaction)
      yield* this.#recordTurned(compaction, 'undone', rewind)
    }
    for (const compaction of restored.toSorted((a, b) => a.rank - b.rank)) {
      // Its rows may be pinned, which `rewinds` allows.
      const coverage = { ...compaction.coverage, rewinds: true as const }
      const figures = yield* figuresOfSet(this.#sql, this.#session.no, coverage.hidden)
      const redone = { ...compaction, coverage }
      const shown = yield* setActive(this.#sql, this.#session, redone, true, () => new Done(figures))
      if (shown === undefined) throw yield* missingRows(this.#sql, this.#session, compaction)
      this.#note(compaction, shown)
      yield* this.#recordTurned(compaction, 'redone', rewind)
    }
  }

  *#deactivate(compaction: StoredCompaction): Work<void> {
    const { hidden } = compaction.coverage
    const figures = (): Work<RowFigures> => figuresOfSet(this.#sql, this.#session.no, hidden)
    const shown = yield* setActive(this.#sql, this.#session, compaction, false, figures)
    if (shown !== undefined) return this.#note(compaction, shown)
    const detail = `the rows of compaction ${compaction.id} don't have its tags`
    throw new UndertextError('STORE_CORRUPT', { detail })
  }

  #note(compaction: StoredCompaction, { retired }: Pick<RowFigures, 'retired'>): void {
    if (retired > 0 || compaction.partsReplaced > 0) this.#suspects.push(compaction)
  }

  /**
   * Throws `CONTENT_RETIRED` if the view now shows rows of which retention removed something while a turned compaction kept it out of the
   * view. It is called last, because a rewind hides rows again that it showed in between. `rewind`: the compaction that now shows originals.
   */
  *rejectRetired(rewind?: Pick<Turned, 'no' | 'id' | 'partsReplaced'>): Work<void> {
    if (this.#request.showRetired === true) return
    const coverage = { hidden: NO_ROWS, inserted: undefined }
    if (rewind !== undefined && rewind.partsReplaced > 0)
      yield* rejectRetired(this.#sql, this.#session, { ...rewind, coverage, changedAt: 0 })
    for (const compaction of this.#suspects) yield* rejectRetired(this.#sql, this.#session, compaction)
  }

  /** Forgets the turns that were rolled back. */
  forgetRetired(): void {
    this.#suspects.length = 0
  }

  /** Keeps the run whose undo included a compaction, because the undo of the rewind needs it. */
  *#recordTurned(compaction: StoredCompaction, event: 'undone' | 'redone', rewind: string): Work<void> {
    yield* this.#record(compaction, event, compaction.undoneWithRun, rewind)
    this.alsoChanged.push(compaction.id)
  }

  /** Writes the new status and its audit entry. */
  *#record(
    compaction: StoredCompaction,
    event: 'undone' | 'redone',
    undoneWithRun: number | undefined,
    rewind?: string,
  ): Work<void> {
    const { no, run, rowsHidden, partsReplaced } = compaction
    const { actor, reason, source } = this.#request
    yield* this.#sql.run(
      'update undertext_compactions set status = ?, undone_with_run = ?, changed_at = ? where {family} no = ?',
      event === 'undone' ? 'undone' : 'active',
      undoneWithRun ?? null,
      Date.now(),
      no,
    )
    const detail = { ...defined({ reason, source, rewind }), rows: rowsHidden, parts: partsReplaced }
    yield* writeAudit(this.#sql, this.#session.no, { event, compaction: no, run, actor, detail })
  }

  *#numbered(numbers: readonly number[] = [], status: 'active' | 'undone'): Work<StoredCompaction[]> {
    const all = yield* compactionsNumbered(this.#sql, this.#session.no, numbers)
    return all.filter((one) => one.status === status)
  }

  *#rejectIfBuiltOn(rewind: StoredCompaction, lifts: readonly StoredCompaction[]): Work<void> {
    const since = (yield* planLift(this.#nesting, lifts)).filter((one) => !includesNo(lifts, one))
    if (since.length === 0) return
    const missing = since.map(({ id }) => id)
    throw notVisible(
      this.#session,
      rewind,
      'first undo these compactions, which build on those that it undoes',
      missing,
    )
  }
}

function includesNo(compactions: readonly StoredCompaction[], { no }: StoredCompaction): boolean {
  return compactions.some((one) => one.no === no)
}

/** Stores which compactions a rewind undid and redid, within the caller's transaction. */
export function* writeTurned(
  sql: Sql,
  rewind: number,
  lifted: readonly StoredCompaction[],
  restored: readonly StoredCompaction[],
): Work<void> {
  const numbers = (list: readonly StoredCompaction[]): number[] => list.map(({ no }) => no)
  const turned = JSON.stringify([numbers(lifted), numbers(restored)])
  yield* sql.run('update undertext_compactions set turned = ? where {family} no = ?', turned, rewind)
}

/**
 * Hides or shows the rows of a compaction, retires or restores its inserted row, and sets the shown texts and counters. Returns the figures
 * of the rows that became visible, `undefined` if the rows were not as expected. `figuresOfCovered` returns the figures of its rows; it is
 * called after their tags are set.
 */
function* setActive(
  sql: Sql,
  session: StoredSession,
  compaction: StoredCompaction,
  isActive: boolean,
  figuresOfCovered: () => Step<RowFigures>,
  checkReplacing?: () => Work<void>,
): Work<RowFigures | undefined> {
  const { no, kind, coverage, partsReplaced } = compaction
  const rows = countRows(coverage.hidden)
  const tagging = begun(setTags(sql, session.no, compaction, coverage, isActive))
  const row = { positions: [], inserted: coverage.inserted === undefined ? [] : [coverage.inserted] }
  for (const [where, ...values] of placesIn(sql, session.no, row)) {
    const statement = `update undertext_messages set retired_by = ? where ${where}`
    yield* sql.run(statement, isActive ? null : no, ...values)
  }
  const summing = begun(figuresOfSet(sql, session.no, row))
  const covering = begun(figuresOfCovered())
  if (!(yield* tagging)) return undefined
  const own = yield* summing
  const covered = yield* covering
  const inserted = row.inserted.length
  const [shown, gone] = isActive ? [own, covered] : [covered, own]
  let sizes = subtractSizes(shown.sizes, gone.sizes)
  if (partsReplaced > 0) {
    if (checkReplacing !== undefined) yield* checkReplacing()
    sizes = addSizes(sizes, yield* refreshShown(sql, no, isActive))
  }
  const sign = isActive ? 1 : -1
  yield* moveCounters(sql, session.no, {
    visible: shown.sent - gone.sent,
    sizes,
    hidden: { kind, rows: sign * rows },
    retired: sign * -inserted,
    activeCompactions: sign,
  })
  return shown
}

function* redoOne(sql: Sql, session: StoredSession, compaction: StoredCompaction): Work<RowFigures> {
  const { kind, coverage } = compaction
  const rows = countRows(coverage.hidden)
  // A provider's block moves its parts to the row that it inserted, and a rewind shows originals, even of pinned rows. Neither depends on
  // pinned or required rows.
  const isMoving = kind === 'provider' && coverage.inserted !== undefined
  const isReplacing = compaction.partsReplaced > 0 && !isMoving && kind !== 'repair'
  if (isReplacing) yield* checkReasoning(sql, session, compaction)
  if (rows > 0 && (coverage.openCalls || coverage.rewinds === true))
    yield* checkPairs(sql, session, compaction)
  const covered = rows === 0 ? NO_FIGURES : yield* figuresInSpan(sql, session, compaction)
  const shown = yield* setActive(
    sql,
    session,
    compaction,
    true,
    () => new Done(covered),
    function* () {
      if (isReplacing && coverage.rewinds !== true) yield* checkReplaced(sql, session, compaction)
    },
  )
  if (shown === undefined) throw yield* missingRows(sql, session, compaction)
  return shown
}

export function outcome(
  turned: readonly StoredCompaction[],
  alsoChanged: readonly string[] = [],
  left: readonly StoredCompaction[] = [],
): UndoOutcome {
  return {
    changed: turned.length > 0,
    compactionIds: turned.map(({ id }) => id),
    rows: turned.reduce((sum, { rowsHidden }) => sum + rowsHidden, 0),
    parts: turned.reduce((sum, { partsReplaced }) => sum + partsReplaced, 0),
    ...(alsoChanged.length > 0 && { alsoChanged }),
    ...(left.length > 0 && { unchanged: left.map(({ id, status }) => ({ compactionId: id, status })) }),
  }
}
