import { UndertextError } from '../../errors.ts'
import type { Estimator } from '../../tokens/estimators/estimator-schema.ts'
import type { Estimators, Storage } from '../storage.ts'
import { append, knownMessages } from './append.ts'
import { endAttempts, noteAnswer, noteAttempt } from './attempts.ts'
import { readAudit } from './audit-log.ts'
import { readCachedTokens, readUsage } from './billing.ts'
import { noteFailure, readCircuit, readSpending, resetCircuit, tryOnce } from './circuits.ts'
import { commitRun } from './commit.ts'
import { readCompactions } from './compactions.ts'
import type { Connection } from './connection.ts'
import { exportHead } from './export-head.ts'
import { exportRows } from './export-rows.ts'
import { readContents, readMessages, readMetadata, readShown, readView } from './history.ts'
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
import { leaseInTheWay, releaseLease, renewLease, takeLease } from './lease.ts'
import { pinMessages, requireMessages } from './pins.ts'
import { readSnapshot } from './planning.ts'
import { purgeSession } from './purge.ts'
import { reestimate } from './reestimate.ts'
import { finishClearing } from './residue.ts'
import {
  reserveCompactions,
  restoreAudit,
  restoreCompactions,
  settleRestored,
  takenIds,
} from './restore-head.ts'
import { restoreRows } from './restore-rows.ts'
import { rewind, rewound } from './rewind.ts'
import {
  archiveSession,
  countMessages,
  createSession,
  listSessions,
  newestSession,
  readFigures,
  readSession,
  type StoredSession,
  updateSession,
} from './sessions.ts'
import { expandSummary, readSources } from './sources.ts'
import { discardStaged, publishSession, stagedSessions, stageSession } from './staging.ts'
import { readToolCalls, readToolOutput } from './tool-calls.ts'
import { redo, undo } from './undo.ts'
import { undoWhile } from './undo-while.ts'
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
    stageSession: (staged) => stageSession(connection, staged),
    publishSession: (stagedId, id, published) => publishSession(connection, stagedId, id, published),
    discardStaged: (stagedId, rows) => discardStaged(connection, stagedId, rows),
    stagedSessions: () => stagedSessions(connection),
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
      reserve: (stagedId, compactions) => reserveCompactions(connection, stagedId, compactions),
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
