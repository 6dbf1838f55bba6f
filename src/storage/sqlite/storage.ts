import { isUndertextError, UndertextError } from '../../errors.ts'
import { planUndo } from '../../model/nesting.ts'
import type { Estimator } from '../../tokens/estimators/estimator-schema.ts'
import type {
  AuditEntry,
  Estimators,
  SessionFigures,
  SessionTest,
  Storage,
  UndoWhileOutcome,
  UndoWhileRequest,
} from '../storage.ts'
import { append, knownMessages } from './append.ts'
import {
  noteFailure,
  readCachedTokens,
  readCircuit,
  readSpending,
  readUsage,
  resetCircuit,
  tryOnce,
} from './billing.ts'
import { commitRun } from './commit.ts'
import { readCompactions, type StoredCompaction, someCompactions, storedNesting } from './compactions.ts'
import type { Connection } from './connection.ts'
import { parseStoredObject } from './content-codec.ts'
import { exportHead, exportRows } from './export.ts'
import { beginImport, discardImport, finishImport, importsInProgress } from './imports.ts'
import {
  cancelJob,
  claimJob,
  endJob,
  enqueueJob,
  readJob,
  readJobs,
  readOpenJob,
  readWaiting,
  renewJob,
} from './jobs.ts'
import {
  endAttempts,
  leaseInTheWay,
  noteAnswer,
  noteAttempt,
  releaseLease,
  renewLease,
  takeLease,
} from './lease.ts'
import { pinMessages, requireMessages } from './pins.ts'
import { readSnapshot } from './planning.ts'
import { reestimate } from './recount.ts'
import { finishClearing, purgeSession } from './residue.ts'
import {
  reserveCompactions,
  restoreAudit,
  restoreCompactions,
  restoreRows,
  settleRestored,
  takenIds,
} from './restore.ts'
import { rewind, rewound } from './rewind.ts'
import {
  archiveSession,
  countMessages,
  createSession,
  listSessions,
  newestSession,
  readFigures,
  readSession,
  requireSession,
  type StoredSession,
  updateSession,
} from './sessions.ts'
import { expandSummary, readSources } from './sources.ts'
import { readToolCalls, readToolOutput } from './tool-calls.ts'
import { outcome, redo, refuseMoved, Turning, undo } from './undo.ts'
import { forgetLimit, learnLimit, readLimits, readReadings, recordUsage } from './usage.ts'
import { verifySession } from './verify.ts'
import { readContents, readMessages, readMetadata, readShown, readView } from './view.ts'

type Verb = (connection: Connection, ...parameters: never[]) => unknown
type Bound<F> = F extends (connection: Connection, ...parameters: infer P) => infer R
  ? (...parameters: P) => R
  : never

/** `Storage` over SQLite. Each verb is a function whose first parameter is the connection, and one transaction. */
export function sqliteStorage(connection: Connection, estimators: Estimators) {
  const bound = <V extends { readonly [name: string]: Verb }>(verbs: V): { [K in keyof V]: Bound<V[K]> } => {
    const entries = Object.entries(verbs).map(([name, verb]) => [name, verb.bind(undefined, connection)])
    return Object.fromEntries(entries)
  }
  const estimatorOf = (session: Pick<StoredSession, 'id' | 'estimator'>): Estimator => {
    const estimator = estimators.byName.get(session.estimator)
    if (estimator !== undefined) return estimator
    throw new UndertextError('ESTIMATOR_UNKNOWN', { sessionId: session.id, estimator: session.estimator })
  }
  return {
    ...bound({ createSession, countMessages, listSessions, newestSession, updateSession, archiveSession }),
    ...bound({ beginImport, finishImport, discardImport, importsInProgress, purgeSession, knownMessages }),
    ...bound({ rewound, messages: readMessages, view: readView, sources: readSources, pin: pinMessages }),
    ...bound({ requireMessages, contents: readContents, metadata: readMetadata, shownTexts: readShown }),
    ...bound({ leaseInTheWay, takeLease, renewLease, releaseLease, noteAttempt, noteAnswer, endAttempts }),
    ...bound({ undo, undoWhile, compactions: readCompactions, auditLog: readAudit, reestimate }),
    ...bound({ usage: readUsage, learnLimit, forgetLimit, limits: readLimits }),
    session: (id) => connection.outside('getSession', () => readSession(connection, id)),
    figures: (id) => connection.outside('getContextStats', () => readFigures(connection, id)),
    append: (id, messages, expectedPosition, previewing) =>
      append(connection, id, messages, expectedPosition, estimators, previewing),
    rewind: (id, request, previewing) => rewind(connection, id, request, estimators, previewing),
    toolOutput: (id, callId, position) => readToolOutput(connection, id, callId, position, estimatorOf),
    toolCalls: (id, query) => readToolCalls(connection, id, query, estimatorOf),
    expand: (id, summaryId, depth) => expandSummary(connection, id, summaryId, depth, estimatorOf),
    snapshot: (id, provider) => readSnapshot(connection, id, provider, estimators),
    commit: (snapshot, run, lease) => commitRun(connection, snapshot, run, lease, estimators),
    redo: (id, target, request) => redo(connection, id, target, request, estimators),
    verify: (id, repair) => {
      finishClearing(connection, 'verifySession')
      return verifySession(connection, id, estimatorOf, repair)
    },
    readings: (id, provider, model) =>
      connection.outside('getContextStats', () => readReadings(connection, id, provider, model)),
    recordUsage: (id, usage) => recordUsage(connection, id, usage, estimatorOf),
    cachedTokens: (id, provider, model) =>
      connection.outside('compactSession', () => readCachedTokens(connection, id, provider, model)),
    histories: {
      ...bound({ head: exportHead, rows: exportRows, takenIds, reserve: reserveCompactions }),
      ...bound({ writeAudit: restoreAudit, writeCompactions: restoreCompactions, settle: settleRestored }),
      writeRows: (restoring, rows) =>
        restoreRows(connection, restoring, rows, estimatorOf(restoring.head.session)),
    },
    jobs: {
      ...bound({ enqueue: enqueueJob, claim: claimJob, renew: renewJob, end: endJob, cancel: cancelJob }),
      ...bound({ job: readJob, open: readOpenJob, list: readJobs, waiting: readWaiting }),
    },
    circuits: {
      ...bound({ circuit: readCircuit, fail: noteFailure, tryOnce, reset: resetCircuit }),
      ...bound({ spending: readSpending }),
    },
    close: () => {
      try {
        finishClearing(connection, 'close')
      } finally {
        connection.close()
      }
    },
  } satisfies Storage
}

export type SqliteStorage = ReturnType<typeof sqliteStorage>

/** The audit of a session, oldest first. */
export function readAudit(
  connection: Connection,
  id: string,
  query: { after: number; limit: number },
): AuditEntry[] {
  return connection.read('getAuditLog', () => {
    const session = requireSession(connection, id)
    const rows = connection.all(
      `select a.no, a.event, c.id, a.run, a.at, a.actor, a.detail
       from undertext_audit a left join undertext_compactions c on c.no = a.compaction
       where a.session = ? and a.no > ? order by a.no limit ?`,
      session.no,
      query.after,
      query.limit,
    )
    return rows.map(([no, event, compactionId, runId, at, actor, detail]) => ({
      no: no as number,
      event: event as string,
      compactionId: (compactionId as string | null) ?? undefined,
      runId: (runId as string | null) ?? undefined,
      at: at as number,
      actor: (actor as string | null) ?? undefined,
      detail: detail === null ? undefined : parseStoredObject(detail, 'detail', `audit entry ${no}`),
    }))
  })
}

/**
 * Undoes compactions, newest first, as long as the session passes a test. Each is really undone and the counters read, because the rows
 * that become visible depend on the other compactions in force. The undo that does not pass is rolled back within the transaction.
 * Throws as `Storage.undoWhile`.
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
    const inForce = someCompactions(connection, session.no, "c.status = 'active' order by c.rank desc")
    const nesting = storedNesting(connection, session.no)
    const turning = new Turning(connection, session, { ...authorship, cascade: false, both: false })
    const wanted = new Set<string>(kinds)
    const turnedWith = new Set<string>()
    const rollBack = (): void => {
      connection.run('rollback to undertext_step')
      connection.run('release undertext_step')
      turning.turnedWith.length = turnedWith.size
    }
    const undone = new Set<StoredCompaction>()
    const blocked: string[] = []
    let after = before
    let refused: UndoWhileOutcome['refused']
    // A session that does not pass now does not pass with more rows.
    for (const compaction of passes(before, readings) ? inForce : []) {
      // A rewind that was undone here has undone or redone some of these.
      if (!wanted.has(compaction.kind) || turnedWith.has(compaction.id)) continue
      if (!isFree(() => planUndo(id, nesting, [compaction], false))) {
        blocked.push(compaction.id)
        continue
      }
      connection.run('savepoint undertext_step')
      turning.undo(compaction, undefined)
      if (!isFree(() => refuseMoved(connection, session, [compaction]))) {
        rollBack()
        blocked.push(compaction.id)
        continue
      }
      const figures = figuresNow()
      if (!passes(figures, readings)) {
        rollBack()
        refused = { compactionId: compaction.id, figures }
        break
      }
      connection.run('release undertext_step')
      undone.add(compaction)
      for (const turned of turning.turnedWith.slice(turnedWith.size)) turnedWith.add(turned)
      after = figures
    }
    return {
      ...outcome([...undone], turning.turnedWith),
      changed: undone.size > 0,
      readings,
      before,
      after,
      refused,
      blocked,
    }
  })
}

/** Whether a check finds no compaction that depends on this one, and no conversation that continued after it. */
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
