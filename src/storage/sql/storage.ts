import { UndertextError } from '../../core/errors.ts'
import type { Estimator } from '../../core/tokens/estimators/estimator-schema.ts'
import type { AuditEntry, Awaitable, Estimators, Storage } from '../storage.ts'
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
import { bringBack } from './bring-back.ts'
import { commitRun } from './commit.ts'
import { readCompactions } from './compactions.ts'
import { parseStoredObject } from './content-codec.ts'
import { exportHead, exportRows } from './export.ts'
import { forkSession, listForks } from './fork.ts'
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
import { readDiff, readPastMessages, readPastView, readPoint } from './moments.ts'
import { readMark, readSessions, readStoreRecords, writeMark, writeStoreRecords } from './move.ts'
import { forget, listNotes, remember } from './notes.ts'
import { pinMessages, requireMessages } from './pins.ts'
import { readSnapshot } from './planning.ts'
import { purgeSession } from './purge.ts'
import { readReasoning } from './reasoning.ts'
import { reestimate } from './recount.ts'
import { readPresent, readRequest, readRequests, recordAnswer, recordRequest } from './requests.ts'
import {
  publishRestored,
  reserveCompactions,
  restoreAudit,
  restoreCompactions,
  restoreRows,
  settleRestored,
} from './restore.ts'
import { rewind, rewound } from './rewind.ts'
import { find } from './search.ts'
import { countUnindexed, indexSessions, readUnindexed } from './search-index.ts'
import {
  archiveSession,
  countMessages,
  createSession,
  estimatorNames,
  getSession,
  listSessions,
  newestSession,
  requireSession,
  type StoredSession,
  updateSession,
} from './sessions.ts'
import { expandSummary, readSources } from './sources.ts'
import type { Sql } from './sql.ts'
import { readToolCalls, readToolOutput } from './tool-calls.ts'
import { redo, undo } from './undo.ts'
import { undoWhile } from './undo-while.ts'
import {
  forgetLimit,
  getReadings,
  learnLimit,
  readLimits,
  readPastStats,
  readStats,
  recordUsage,
} from './usage.ts'
import { verifySession } from './verify.ts'
import { readContents, readCutParts, readMessages, readMetadata, readShown, readView } from './view.ts'
import type { Work } from './work.ts'

type Verb = (sql: Sql, ...parameters: never[]) => Work<unknown>
type Bound<F> = F extends (sql: Sql, ...parameters: infer P) => Work<infer R>
  ? (...parameters: P) => Awaitable<R>
  : never

/** An engine: runs the work of a verb on a connection. */
export type Engine = {
  perform<T>(work: (sql: Sql) => Work<T>): Awaitable<T>
  close(): Awaitable<void>
}

/** `Storage` over an engine. Each verb is a function whose first parameter is the connection, and one transaction. */
export function storageOver(engine: Engine, estimators: Estimators): Storage {
  const bound = <V extends { readonly [name: string]: Verb }>(verbs: V): { [K in keyof V]: Bound<V[K]> } => {
    const entries = Object.entries(verbs).map(([name, verb]) => [
      name,
      (...parameters: never[]) => engine.perform((sql) => verb(sql, ...parameters)),
    ])
    return Object.fromEntries(entries)
  }
  const estimatorOf = (session: Pick<StoredSession, 'id' | 'estimator'>): Estimator => {
    const estimator = estimators.byName.get(session.estimator)
    if (estimator !== undefined) return estimator
    throw new UndertextError('ESTIMATOR_UNKNOWN', { sessionId: session.id, estimator: session.estimator })
  }
  return {
    ...bound({
      createSession,
      countMessages,
      estimatorNames,
      listSessions,
      newestSession,
      updateSession,
      archiveSession,
    }),
    ...bound({ beginImport, finishImport, discardImport, importsInProgress, purgeSession, knownMessages }),
    ...bound({ fork: forkSession, forks: listForks }),
    ...bound({ rewound, messages: readMessages, view: readView, sources: readSources, pin: pinMessages }),
    ...bound({ requireMessages, contents: readContents, metadata: readMetadata, shownTexts: readShown }),
    ...bound({ leaseInTheWay, takeLease, renewLease, releaseLease, noteAttempt, noteAnswer, endAttempts }),
    ...bound({ undo, undoWhile, compactions: readCompactions, auditLog: readAudit, reestimate }),
    ...bound({
      present: readPresent,
      recordRequest,
      recordAnswer,
      requests: readRequests,
      request: readRequest,
      reasoning: readReasoning,
      cutParts: readCutParts,
    }),
    ...bound({ usage: readUsage, learnLimit, forgetLimit, limits: readLimits }),
    ...bound({
      session: getSession,
      stats: readStats,
      readings: getReadings,
      cachedTokens: readCachedTokens,
    }),
    bringBack: (id, message, how) => engine.perform((sql) => bringBack(sql, id, message, how, estimators)),
    append: (id, messages, expectedPosition, previewing) =>
      engine.perform((sql) => append(sql, id, messages, expectedPosition, estimators, previewing)),
    rewind: (id, request, previewing) =>
      engine.perform((sql) => rewind(sql, id, request, estimators, previewing)),
    toolOutput: (id, callId, position) =>
      engine.perform((sql) => readToolOutput(sql, id, callId, position, estimatorOf)),
    toolCalls: (id, query) => engine.perform((sql) => readToolCalls(sql, id, query, estimatorOf)),
    expand: (id, summaryId, depth) =>
      engine.perform((sql) => expandSummary(sql, id, summaryId, depth, estimatorOf)),
    snapshot: (id, provider) => engine.perform((sql) => readSnapshot(sql, id, provider, estimators)),
    commit: (snapshot, run, lease) =>
      engine.perform((sql) => commitRun(sql, snapshot, run, lease, estimators)),
    redo: (id, target, request) => engine.perform((sql) => redo(sql, id, target, request, estimators)),
    verify: (id, repair) => engine.perform((sql) => verifySession(sql, id, estimatorOf, repair)),
    recordUsage: (id, usage) => engine.perform((sql) => recordUsage(sql, id, usage, estimatorOf)),
    histories: {
      ...bound({ head: exportHead, rows: exportRows, reserve: reserveCompactions }),
      ...bound({ writeAudit: restoreAudit, writeCompactions: restoreCompactions, settle: settleRestored }),
      ...bound({ publish: publishRestored, sessions: readSessions, mark: readMark, writeMark }),
      ...bound({ storeRecords: readStoreRecords, writeStoreRecords }),
      writeRows: (restoring, rows) =>
        engine.perform((sql) => restoreRows(sql, restoring, rows, estimatorOf(restoring.head.session))),
    },
    past: {
      ...bound({ point: readPoint, view: readPastView, messages: readPastMessages, diff: readDiff }),
      stats: (id, provider, model, moment) =>
        engine.perform((sql) => readPastStats(sql, id, provider, model, moment, estimatorOf)),
    },
    notes: bound({ remember, list: listNotes, forget }),
    jobs: {
      ...bound({ enqueue: enqueueJob, claim: claimJob, renew: renewJob, end: endJob, cancel: cancelJob }),
      ...bound({ job: readJob, open: readOpenJob, list: readJobs, waiting: readWaiting }),
    },
    searching: { ...bound({ unindexed: readUnindexed, countUnindexed, index: indexSessions, find }) },
    circuits: {
      ...bound({ circuit: readCircuit, fail: noteFailure, tryOnce, reset: resetCircuit }),
      ...bound({ spending: readSpending }),
    },
    close: () => engine.close(),
  }
}

/** The audit of a session, oldest first. */
function* readAudit(sql: Sql, id: string, query: { after: number; limit: number }): Work<AuditEntry[]> {
  return yield* sql.read('getAuditLog', function* () {
    const session = yield* requireSession(sql, id)
    const rows = yield* sql.all(
      `select a.no, a.event, c.id, a.run, a.at, a.actor, a.detail
       from undertext_audit a left join undertext_compactions c on {family c} c.no = a.compaction
       where {family a} a.session = ? and a.no > ? order by a.no limit ?`,
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
