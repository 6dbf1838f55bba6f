import type { JsonObject } from '../../core/messages/json.ts'
import type { AuditEntry, Awaitable, Storage } from '../storage.ts'
import { append, knownMessages } from './append.ts'
import * as billing from './billing.ts'
import { commitRun } from './commit.ts'
import { readCompactions } from './compactions.ts'
import { parseStoredObject } from './content-codec.ts'
import { countOwned, eraseRest, keepKey } from './erase-owner.ts'
import { exportHead, exportRows } from './export.ts'
import { bringBack, forkSession, listForks } from './fork.ts'
import * as imports from './imports.ts'
import * as jobs from './jobs.ts'
import * as lease from './lease.ts'
import * as moments from './moments.ts'
import * as move from './move.ts'
import { forget, listNotes, remember } from './notes.ts'
import { pinMessages, requireMessages } from './pins.ts'
import { readSnapshot } from './planning.ts'
import { purgeSession } from './purge.ts'
import { clearPurged, noteOwners, purgeNotes, purgeText } from './purge-text.ts'
import { readReasoning } from './reasoning.ts'
import { reestimate } from './recount.ts'
import * as requests from './requests.ts'
import * as restore from './restore.ts'
import { discardRetired, releaseSpace, retainStep, retireSession } from './retention.ts'
import { rewind, rewound } from './rewind.ts'
import { find } from './search.ts'
import { countUnindexed, indexSessions, readUnindexed } from './search-index.ts'
import * as sessions from './sessions.ts'
import { expandSummary, readSources } from './sources.ts'
import { reading, type Sql } from './sql.ts'
import { readTimeline } from './timeline.ts'
import { readToolCalls, readToolOutput } from './tool-calls.ts'
import * as turns from './turns.ts'
import { redo, undo } from './undo.ts'
import { undoWhile } from './undo-while.ts'
import * as usage from './usage.ts'
import { verifySession } from './verify.ts'
import * as view from './view.ts'
import type { Step, Work } from './work.ts'

type Verb = (sql: Sql, ...parameters: never[]) => Step<unknown>
type Bound<F> = F extends (sql: Sql, ...parameters: infer P) => Step<infer R>
  ? (...parameters: P) => Awaitable<R>
  : never

/** An engine, which runs the work of a verb on a connection. */
export type Engine = {
  perform<T>(work: (sql: Sql) => Step<T>): Awaitable<T>
  seenBy(seen: string | null): Storage
  close(): Awaitable<void>
}

/** Implements `Storage` over an engine. Each verb is one transaction, and a function whose first parameter is the connection. */
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
      createSession: sessions.createSession,
      session: sessions.getSession,
      listSessions: sessions.listSessions,
      newestSession: sessions.newestSession,
      estimatorNames: sessions.estimatorNames,
      countMessages: sessions.countMessages,
      updateSession: sessions.updateSession,
      archiveSession: sessions.archiveSession,
      fork: forkSession,
      forks: listForks,
      bringBack,
      purgeSession,
      beginImport: imports.beginImport,
      finishImport: imports.finishImport,
      discardImport: imports.discardImport,
      importsInProgress: imports.importsInProgress,
      append,
      knownMessages,
      rewind,
      rewound,
      pin: pinMessages,
      requireMessages,
      reasoning: readReasoning,
      view: view.readView,
      messages: view.readMessages,
      contents: view.readContents,
      metadata: view.readMetadata,
      shownTexts: view.readShown,
      cutParts: view.readCutParts,
      toolOutput: readToolOutput,
      toolCalls: readToolCalls,
      expand: expandSummary,
      sources: readSources,
      snapshot: readSnapshot,
      commit: commitRun,
      undo,
      redo,
      undoWhile,
      compactions: readCompactions,
      leaseInTheWay: lease.leaseInTheWay,
      takeLease: lease.takeLease,
      renewLease: lease.renewLease,
      releaseLease: lease.releaseLease,
      noteAttempt: lease.noteAttempt,
      noteAnswer: lease.noteAnswer,
      endAttempts: lease.endAttempts,
      auditLog: readAudit,
      verify: verifySession,
      reestimate,
      present: requests.readPresent,
      recordRequest: requests.recordRequest,
      recordAnswer: requests.recordAnswer,
      requests: requests.readRequests,
      request: requests.readRequest,
      stats: usage.readStats,
      readings: usage.getReadings,
      recordUsage: usage.recordUsage,
      learnLimit: usage.learnLimit,
      forgetLimit: usage.forgetLimit,
      limits: usage.readLimits,
      usage: billing.readUsage,
      costs: billing.readCosts,
      cachedTokens: billing.readCachedTokens,
    }),
    histories: bound({
      head: exportHead,
      rows: exportRows,
      reserve: restore.reserveCompactions,
      writeRows: restore.restoreRows,
      writeAudit: restore.restoreAudit,
      settle: restore.settleRestored,
      writeCompactions: restore.restoreCompactions,
      publish: restore.publishRestored,
      sessions: move.readSessions,
      mark: move.readMark,
      writeMark: move.writeMark,
      storeRecords: move.readStoreRecords,
      writeStoreRecords: move.writeStoreRecords,
    }),
    past: bound({
      point: moments.readPoint,
      view: moments.readPastView,
      messages: moments.readPastMessages,
      diff: moments.readDiff,
      stats: usage.readPastStats,
      timeline: readTimeline,
    }),
    turns: bound({
      take: turns.takeTurn,
      active: turns.activeTurn,
      renew: turns.renewTurn,
      flush: turns.flushDraft,
      drop: turns.dropDraft,
      claim: turns.claimCall,
      end: turns.endTurn,
    }),
    notes: bound({ remember, list: listNotes, forget }),
    retention: bound({
      step: retainStep,
      retire: retireSession,
      discard: discardRetired,
      release: releaseSpace,
    }),
    removals: bound({ purgeText, purgeNotes, noteOwners, clearFiles: clearPurged }),
    owned: bound({ count: countOwned, key: keepKey, erase: eraseRest }),
    jobs: bound({
      enqueue: jobs.enqueueJob,
      claim: jobs.claimJob,
      renew: jobs.renewJob,
      end: jobs.endJob,
      cancel: jobs.cancelJob,
      job: jobs.readJob,
      open: jobs.readOpenJob,
      list: jobs.readJobs,
      waiting: jobs.readWaiting,
    }),
    searching: bound({ unindexed: readUnindexed, countUnindexed, index: indexSessions, find }),
    circuits: bound({
      circuit: billing.readCircuit,
      fail: billing.noteFailure,
      tryOnce: billing.tryOnce,
      reset: billing.resetCircuit,
      spending: billing.readSpending,
    }),
    seenBy: (seen) => engine.seenBy(seen),
    close: () => engine.close(),
  }
}

const readAudit = reading(
  'sessions.audit',
  function* (sql: Sql, id: string, query: { after: number; limit: number }): Work<AuditEntry[]> {
    const session = yield* sessions.requireSession(sql, id)
    const rows = yield* sql.all(
      `select a.no, a.event, c.id, a.run, a.at, a.actor, a.detail
       from undertext_audit a left join undertext_compactions c on {family c} c.no = a.compaction
       where {family a} a.session = ? and a.no > ? order by a.no limit ?`,
      session.no,
      query.after,
      query.limit,
    )
    // A fork that was given to another owner doesn't name its original to them.
    const isGiven = sql.seen !== undefined && session.forkedFrom === undefined
    const shown = (event: unknown, detail: JsonObject): JsonObject => {
      if (event !== 'forked' || !isGiven) return detail
      const { from: _, ...rest } = detail
      return rest
    }
    return rows.map(([no, event, compactionId, runId, at, actor, detail]) => ({
      no: no as number,
      event: event as string,
      compactionId: (compactionId as string | null) ?? undefined,
      runId: (runId as string | null) ?? undefined,
      at: at as number,
      actor: (actor as string | null) ?? undefined,
      detail:
        detail === null ? undefined : shown(event, parseStoredObject(detail, 'detail', `audit entry ${no}`)),
    }))
  },
)
