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
import { readContents, readMessages, readMetadata, readShown, readView } from './history.ts'
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

/** The port over SQLite: each verb is one function in a file of its own, and one transaction. */
export function sqliteStorage(connection: Connection, estimators: Estimators) {
  const estimatorOf = (session: Pick<StoredSession, 'id' | 'estimator'>): Estimator => {
    const estimator = estimators.byName.get(session.estimator)
    if (estimator !== undefined) return estimator
    throw new UndertextError('ESTIMATOR_UNKNOWN', { sessionId: session.id, estimator: session.estimator })
  }
  return {
    createSession: (id, fields, estimator) => createSession(connection, id, fields, estimator),
    session: (id) => connection.outside('getSession', () => readSession(connection, id)),
    figures: (id) => connection.outside('getContextStats', () => readFigures(connection, id)),
    countMessages: (id) => countMessages(connection, id),
    listSessions: (query) => listSessions(connection, query),
    newestSession: (archived) => newestSession(connection, archived),
    updateSession: (id, fields) => updateSession(connection, id, fields),
    archiveSession: (id, archived) => archiveSession(connection, id, archived),
    purgeSession: (id, request) => purgeSession(connection, id, request),
    beginImport: (staged) => beginImport(connection, staged),
    finishImport: (importId, id, published) => finishImport(connection, importId, id, published),
    discardImport: (importId, rows) => discardImport(connection, importId, rows),
    importsInProgress: () => importsInProgress(connection),
    knownMessages: (id, messages) => knownMessages(connection, id, messages),
    append: (id, messages, expectedPosition, previewing) =>
      append(connection, id, messages, expectedPosition, estimators, previewing),
    rewind: (id, request, previewing) => rewind(connection, id, request, estimators, previewing),
    rewound: (id, operation) => rewound(connection, id, operation),
    messages: (id, query) => readMessages(connection, id, query),
    view: (id, provenance, without) => readView(connection, id, provenance, without),
    toolOutput: (id, callId, position) => readToolOutput(connection, id, callId, position, estimatorOf),
    toolCalls: (id, query) => readToolCalls(connection, id, query, estimatorOf),
    expand: (id, summaryId, depth) => expandSummary(connection, id, summaryId, depth, estimatorOf),
    sources: (id, summaryId, query) => readSources(connection, id, summaryId, query),
    pin: (id, messageIds, pinned, authorship) => pinMessages(connection, id, messageIds, pinned, authorship),
    requireMessages: (id, messageIds) => requireMessages(connection, id, messageIds),
    snapshot: (id, provider) => readSnapshot(connection, id, provider, estimators),
    contents: (keys) => readContents(connection, keys),
    metadata: (keys) => readMetadata(connection, keys),
    shownTexts: (keys) => readShown(connection, keys),
    commit: (snapshot, run, lease) => commitRun(connection, snapshot, run, lease, estimators),
    leaseInTheWay: (id) => leaseInTheWay(connection, id),
    takeLease: (id, lease) => takeLease(connection, id, lease),
    renewLease: (id, lease) => renewLease(connection, id, lease),
    releaseLease: (id, lease) => releaseLease(connection, id, lease),
    noteAttempt: (snapshot, run, attempt) => noteAttempt(connection, snapshot, run, attempt),
    noteAnswer: (attemptId, summary) => noteAnswer(connection, attemptId, summary),
    endAttempts: (snapshot, run, ended) => endAttempts(connection, snapshot, run, ended),
    undo: (id, target, request) => undo(connection, id, target, request),
    redo: (id, target, request) => redo(connection, id, target, request, estimators),
    undoWhile: (id, request, passes) => undoWhile(connection, id, request, passes),
    compactions: (id, query) => readCompactions(connection, id, query),
    auditLog: (id, query) => readAudit(connection, id, query),
    histories: {
      head: (id) => exportHead(connection, id),
      rows: (exported, after) => exportRows(connection, exported, after),
      takenIds: (ids) => takenIds(connection, ids),
      reserve: (importId, compactions) => reserveCompactions(connection, importId, compactions),
      writeRows: (restoring, rows) =>
        restoreRows(connection, restoring, rows, estimatorOf(restoring.head.session)),
      writeAudit: (restoring, entries) => restoreAudit(connection, restoring, entries),
      writeCompactions: (restoring, from, compactions, undoneWith) =>
        restoreCompactions(connection, restoring, from, compactions, undoneWith),
      settle: (restoring) => settleRestored(connection, restoring),
    },
    verify: (id, repair) => {
      finishClearing(connection, 'verifySession')
      return verifySession(connection, id, estimatorOf, repair)
    },
    readings: (id, provider, model) =>
      connection.outside('getContextStats', () => readReadings(connection, id, provider, model)),
    recordUsage: (id, usage) => recordUsage(connection, id, usage, estimatorOf),
    usage: (id) => readUsage(connection, id),
    cachedTokens: (id, provider, model) =>
      connection.outside('compactSession', () => readCachedTokens(connection, id, provider, model)),
    learnLimit: (provider, model, limit) => learnLimit(connection, provider, model, limit),
    forgetLimit: (provider, model) => forgetLimit(connection, provider, model),
    limits: () => readLimits(connection),
    jobs: {
      enqueue: (id, job, hurry) => enqueueJob(connection, id, job, hurry),
      claim: (id, claim, mostAttempts) => claimJob(connection, id, claim, mostAttempts),
      renew: (jobId, claim) => renewJob(connection, jobId, claim),
      end: (jobId, runId, end) => endJob(connection, jobId, runId, end),
      cancel: (jobId) => cancelJob(connection, jobId),
      job: (jobId) => readJob(connection, jobId),
      open: (id) => readOpenJob(connection, id),
      list: (id, limit) => readJobs(connection, id, limit),
      waiting: (limit) => readWaiting(connection, limit),
    },
    circuits: {
      circuit: (id) => readCircuit(connection, id),
      fail: (id, failure, limits) => noteFailure(connection, id, failure, limits),
      tryOnce: (id, openUntil, next) => tryOnce(connection, id, openUntil, next),
      reset: (id) => resetCircuit(connection, id),
      spending: (id, since, summarizer) => readSpending(connection, id, since, summarizer),
    },
    reestimate: (id, estimator) => reestimate(connection, id, estimator),
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
