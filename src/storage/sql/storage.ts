import type { AuditEntry, Awaitable, Storage } from '../storage.ts'
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
import {
  finishCopy,
  mostNameBytes,
  readLongNames,
  readMark,
  readMoment,
  readSessions,
  readStoreRecords,
  writeMark,
  writeStoreRecords,
} from './move.ts'
import { forget, listNotes, remember } from './notes.ts'
import { pinMessages, requireMessages } from './pins.ts'
import { readSnapshot } from './planning.ts'
import { purgeSession } from './purge.ts'
import { readReasoning } from './reasoning.ts'
import { reestimate } from './recount.ts'
import { readPresent, readRequest, readRequests, recordAnswer, recordRequest } from './requests.ts'
import {
  reserveCompactions,
  restoreAudit,
  restoreCompactions,
  restoreRows,
  settleRestored,
  takenIds,
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
  updateSession,
} from './sessions.ts'
import { expandSummary, readSources } from './sources.ts'
import { reading, type Sql } from './sql.ts'
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
import type { Step, Work } from './work.ts'

type Verb = (sql: Sql, ...parameters: never[]) => Step<unknown>
type Bound<F> = F extends (sql: Sql, ...parameters: infer P) => Step<infer R>
  ? (...parameters: P) => Awaitable<R>
  : never

/** An engine: runs the work of a verb on a connection. */
export type Engine = {
  perform<T>(work: (sql: Sql) => Step<T>): Awaitable<T>
  close(): Awaitable<void>
}

/** `Storage` over an engine. Each verb is a function whose first parameter is the connection, and one transaction. */
export function storageOver(engine: Engine): Storage {
  const bound = <V extends { readonly [name: string]: Verb }>(verbs: V): { [K in keyof V]: Bound<V[K]> } => {
    const entries = Object.entries(verbs).map(([name, verb]) => [
      name,
      (...parameters: never[]) => engine.perform((sql) => verb(sql, ...parameters)),
    ])
    return Object.fromEntries(entries)
  }
  return {
    ...bound({
      createSession,
      session: getSession,
      countMessages,
      estimatorNames,
      listSessions,
      newestSession,
    }),
    ...bound({ updateSession, archiveSession, fork: forkSession, forks: listForks, bringBack, purgeSession }),
    ...bound({ beginImport, finishImport, discardImport, importsInProgress, knownMessages }),
    ...bound({ append, rewind, rewound, messages: readMessages, view: readView, pin: pinMessages }),
    ...bound({
      toolOutput: readToolOutput,
      toolCalls: readToolCalls,
      expand: expandSummary,
      sources: readSources,
    }),
    ...bound({ requireMessages, contents: readContents, metadata: readMetadata, shownTexts: readShown }),
    ...bound({ snapshot: readSnapshot, commit: commitRun, cutParts: readCutParts, reasoning: readReasoning }),
    ...bound({ leaseInTheWay, takeLease, renewLease, releaseLease, noteAttempt, noteAnswer, endAttempts }),
    ...bound({ undo, redo, undoWhile, compactions: readCompactions, auditLog: readAudit }),
    ...bound({ verify: verifySession, reestimate }),
    ...bound({
      present: readPresent,
      recordRequest,
      recordAnswer,
      requests: readRequests,
      request: readRequest,
    }),
    ...bound({ stats: readStats, readings: getReadings, cachedTokens: readCachedTokens, usage: readUsage }),
    ...bound({ recordUsage, learnLimit, forgetLimit, limits: readLimits }),
    histories: {
      ...bound({ head: exportHead, rows: exportRows, takenIds, reserve: reserveCompactions }),
      ...bound({ writeRows: restoreRows, writeAudit: restoreAudit, writeCompactions: restoreCompactions }),
      ...bound({ settle: settleRestored, sessions: readSessions, moment: readMoment, finishCopy }),
      ...bound({ mark: readMark, writeMark, mostNameBytes, longNames: readLongNames }),
      ...bound({ storeRecords: readStoreRecords, writeStoreRecords }),
    },
    past: bound({
      ...{ point: readPoint, view: readPastView, messages: readPastMessages, diff: readDiff },
      stats: readPastStats,
    }),
    notes: bound({ remember, list: listNotes, forget }),
    jobs: {
      ...bound({ enqueue: enqueueJob, claim: claimJob, renew: renewJob, end: endJob, cancel: cancelJob }),
      ...bound({ job: readJob, open: readOpenJob, list: readJobs, waiting: readWaiting }),
    },
    searching: bound({ unindexed: readUnindexed, countUnindexed, index: indexSessions, find }),
    circuits: {
      ...bound({ circuit: readCircuit, fail: noteFailure, tryOnce, reset: resetCircuit }),
      ...bound({ spending: readSpending }),
    },
    close: () => engine.close(),
  }
}

/** The audit of a session, oldest first. */
const readAudit = reading(
  'getAuditLog',
  function* (sql: Sql, id: string, query: { after: number; limit: number }): Work<AuditEntry[]> {
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
  },
)
