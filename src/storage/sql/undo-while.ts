import { isUndertextError } from '../../core/errors.ts'
import type { SessionFigures, SessionTest, UndoWhileOutcome, UndoWhileRequest } from '../storage.ts'
import { type StoredCompaction, someCompactions, storedNesting } from './compactions.ts'
import { planUndo } from './plan-undo.ts'
import { readFigures, requireSession } from './sessions.ts'
import { type Sql, writing } from './sql.ts'
import { outcome, rejectMovedBranch, Turning } from './undo.ts'
import { readReadings } from './usage.ts'
import type { Work } from './work.ts'

/**
 * Undoes compactions, newest first, while the session passes a test. Each one is actually undone before the counters are read, because
 * which rows become visible depends on the other compactions in force. The undo that fails the test is rolled back within the transaction.
 * Throws the errors of `Storage.undoWhile`.
 */
export const undoWhile = writing(
  'undoCompaction',
  function* (
    sql: Sql,
    id: string,
    { kinds, provider, model, ...authorship }: UndoWhileRequest,
    passes: SessionTest,
  ): Work<UndoWhileOutcome> {
    const session = yield* requireSession(sql, id)
    const readings = yield* readReadings(sql, id, provider, model)
    const figuresNow = function* (): Work<SessionFigures> {
      return (yield* readFigures(sql, id))!
    }
    const before = yield* figuresNow()
    const inForce = yield* someCompactions(sql, session.no, "c.status = 'active' order by c.rank desc")
    const nesting = storedNesting(sql, session.no)
    const turning = new Turning(sql, session, { ...authorship, cascade: false, both: false })
    const wanted = new Set<string>(kinds)
    const alsoChanged = new Set<string>()
    const rollBack = function* (): Work<void> {
      yield* sql.run('rollback to one_step')
      yield* sql.run('release one_step')
      turning.alsoChanged.length = alsoChanged.size
    }
    const undone = new Set<StoredCompaction>()
    const blocked: string[] = []
    let after = before
    let refused: UndoWhileOutcome['refused']
    // A session that fails the test now would also fail it with more rows.
    for (const compaction of passes(before, readings) ? inForce : []) {
      // A rewind that was undone here may have undone or redone some of these.
      if (!wanted.has(compaction.kind) || alsoChanged.has(compaction.id)) continue
      if (!(yield* isFree(planUndo(id, nesting, [compaction], false)))) {
        blocked.push(compaction.id)
        continue
      }
      yield* sql.run('savepoint one_step')
      yield* turning.undo(compaction, undefined)
      const isOpen = yield* isFree(rejectMovedBranch(sql, session, [compaction]))
      if (!isOpen || !(yield* isFree(turning.rejectRetired()))) {
        turning.forgetRetired()
        yield* rollBack()
        blocked.push(compaction.id)
        continue
      }
      const figures = yield* figuresNow()
      if (!passes(figures, readings)) {
        yield* rollBack()
        refused = { compactionId: compaction.id, figures }
        break
      }
      yield* sql.run('release one_step')
      undone.add(compaction)
      for (const turned of turning.alsoChanged.slice(alsoChanged.size)) alsoChanged.add(turned)
      after = figures
    }
    return {
      ...outcome([...undone], turning.alsoChanged),
      changed: undone.size > 0,
      readings,
      before,
      after,
      refused,
      blocked,
    }
  },
)

const BLOCKING = ['HAS_ACTIVE_DEPENDENTS', 'BRANCH_MOVED', 'CONTENT_RETIRED'] as const

/** Returns whether a check finds no dependent compaction, no conversation that continued afterwards, and no removed content. */
function* isFree(check: Work<unknown>): Work<boolean> {
  try {
    yield* check
    return true
  } catch (error) {
    if (BLOCKING.some((code) => isUndertextError(error, code))) return false
    throw error
  }
}
