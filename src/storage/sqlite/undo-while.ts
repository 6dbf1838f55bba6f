import { isUndertextError } from '../../errors.ts'
import { planUndo } from '../../model/nesting.ts'
import type { SessionFigures, SessionTest, UndoWhileOutcome, UndoWhileRequest } from '../storage.ts'
import { type StoredCompaction, someCompactions, storedNesting } from './compactions.ts'
import type { Connection } from './connection.ts'
import { readFigures, requireSession } from './sessions.ts'
import { outcome, refuseMoved, Turning } from './undo.ts'
import { readReadings } from './usage.ts'

/**
 * Takes compactions out of force, newest first, as long as the session passes a test. Each is really undone and the counters
 * asked, for what shows again when one goes depends on what else is in force; the one that does not pass is taken back
 * within the transaction, so that nobody sees it. Throws as the port says.
 */
export function undoWhile(
  connection: Connection,
  id: string,
  { kinds, provider, model, ...authorship }: UndoWhileRequest,
  passes: SessionTest,
): UndoWhileOutcome {
  return connection.write('undoIfFits', () => {
    const session = requireSession(connection, id)
    const readings = readReadings(connection, id, provider, model)
    const figuresNow = (): SessionFigures => readFigures(connection, id)!
    const before = figuresNow()
    const standing = someCompactions(connection, session.no, "c.status = 'active' order by c.rank desc")
    const nesting = storedNesting(connection, session.no)
    const turning = new Turning(connection, session, { ...authorship, cascade: false, both: false })
    const wanted = new Set<string>(kinds)
    const turnedWith = new Set<string>()
    const takeBack = (): void => {
      connection.run('rollback to undertext_step')
      connection.run('release undertext_step')
      turning.turnedWith.length = turnedWith.size
    }
    const taken = new Set<StoredCompaction>()
    const blocked: string[] = []
    let after = before
    let refused: UndoWhileOutcome['refused']
    // What does not fit now fits no better with more in it.
    for (const compaction of passes(before, readings) ? standing : []) {
      // A rewind that was undone here has turned some of those that stood.
      if (!wanted.has(compaction.kind) || turnedWith.has(compaction.id)) continue
      if (!isFree(() => planUndo(id, nesting, [compaction], false))) {
        blocked.push(compaction.id)
        continue
      }
      connection.run('savepoint undertext_step')
      turning.undo(compaction, undefined)
      if (!isFree(() => refuseMoved(connection, session, [compaction]))) {
        takeBack()
        blocked.push(compaction.id)
        continue
      }
      const figures = figuresNow()
      if (!passes(figures, readings)) {
        takeBack()
        refused = { compactionId: compaction.id, figures }
        break
      }
      connection.run('release undertext_step')
      taken.add(compaction)
      for (const turned of turning.turnedWith.slice(turnedWith.size)) turnedWith.add(turned)
      after = figures
    }
    return {
      ...outcome([...taken], turning.turnedWith),
      changed: taken.size > 0,
      readings,
      before,
      after,
      refused,
      blocked,
    }
  })
}

/** Whether nothing in force builds on a compaction, and no conversation went on after it. */
function isFree(check: () => unknown): boolean {
  try {
    check()
    return true
  } catch (error) {
    if (isUndertextError(error, 'HAS_ACTIVE_DEPENDENTS') || isUndertextError(error, 'BRANCH_MOVED'))
      return false
    throw error
  }
}
