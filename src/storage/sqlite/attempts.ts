import { UndertextError } from '../../errors.ts'
import { coverageOf, encodeCoverage } from '../../model/coverage.ts'
import { bareCondensePlan } from '../../stages/summarize.ts'
import type { Attempt, FailedAttempt, RunStart, Snapshot, SummaryRecord } from '../storage.ts'
import { writeAudit } from './audit.ts'
import { recordColumns, writeCompaction } from './compaction-row.ts'
import type { Connection } from './connection.ts'
import { readSession, type StoredSession } from './sessions.ts'

/*
 * Summaries that are asked for: noted before the question, and brought to an end whatever happens. A model call
 * costs money even when the process dies.
 */

/** Notes that a summary is being asked for, before it is: what it costs must be in the audit whatever happens. */
export function noteAttempt(
  connection: Connection,
  snapshot: Snapshot,
  run: RunStart,
  attempt: Attempt,
): void {
  connection.write('compactSession', () => {
    const session = readSession(connection, snapshot.session.id)
    if (session === undefined || session.incarnation !== snapshot.session.incarnation) {
      throw new UndertextError('STALE_PLAN', {
        sessionId: snapshot.session.id,
        why: 'the session was purged since',
        messageIds: [],
      })
    }
    const no = writeCompaction(connection, session, run, {
      id: attempt.id,
      kind: 'condense',
      status: 'running',
      params: null,
      coverage: encodeCoverage(coverageOf(attempt.view, bareCondensePlan(attempt.rows), undefined)),
      requires: null,
      rowsHidden: attempt.rows.length,
      partsReplaced: 0,
      rowsInserted: 0,
      tokensBefore: attempt.view.tokens,
      tokensAfter: attempt.view.tokens,
      summary: { summarizer: attempt.summarizer },
      error: null,
      rank: session.version,
    })
    writeAudit(connection, session.no, { event: 'started', compaction: no, run: run.runId, actor: run.actor })
  })
}

/**
 * Notes what an attempt has cost so far, so that it is on record also when the process dies. One that somebody else marked as
 * expired meanwhile cost the same.
 */
export function noteAnswer(connection: Connection, attemptId: string, summary: SummaryRecord): void {
  connection.write('compactSession', () => {
    connection.run(
      `update undertext_compactions set summarizer = ?, model = ?, prompt_version = ?, usage = ?, cost = ?
       where id = ? and status in ('running', 'expired')`,
      ...recordColumns(summary),
      attemptId,
    )
  })
}

/**
 * Notes attempts that ended without a summary. When their session was purged since, the one that has its id now
 * is another, and nothing of the purged one belongs into its audit.
 */
export function endAttempts(
  connection: Connection,
  snapshot: Snapshot,
  run: RunStart,
  ended: readonly FailedAttempt[],
): void {
  connection.write('compactSession', () => {
    const session = readSession(connection, snapshot.session.id)
    if (session?.incarnation !== snapshot.session.incarnation) return
    for (const attempt of ended) recordFailure(connection, session, run, attempt)
  })
}

/** Notes an attempt that ended without a summary: it cost something, and somebody may ask why. */
export function recordFailure(
  connection: Connection,
  session: StoredSession,
  run: RunStart,
  attempt: FailedAttempt,
): void {
  const no = writeCompaction(connection, session, run, {
    id: attempt.id,
    kind: 'condense',
    status: attempt.status,
    params: null,
    coverage: '{}',
    requires: null,
    rowsHidden: 0,
    partsReplaced: 0,
    rowsInserted: 0,
    tokensBefore: attempt.tokensBefore,
    tokensAfter: attempt.tokensAfter,
    summary: attempt.summary,
    error: attempt.error,
    rank: session.version,
  })
  connection.run('update undertext_sessions set version = version + 1 where no = ?', session.no)
  writeAudit(connection, session.no, {
    event: attempt.status,
    compaction: no,
    run: run.runId,
    actor: run.actor,
    detail: { error: attempt.error, tokensBefore: attempt.tokensBefore, tokensAfter: attempt.tokensAfter },
  })
}

/** Whether attempts of a session, or of any, are noted as going on. */
export function hasRunning(connection: Connection, session?: number): boolean {
  const running = "select 1 from undertext_compactions where status = 'running'"
  if (session === undefined) return connection.get(`${running} limit 1`) !== undefined
  return connection.get(`${running} and session = ? limit 1`, session) !== undefined
}

/** Marks attempts as expired that nobody works on any more, but those of one run, within the caller's transaction. */
export function expireAttempts(connection: Connection, session: number, exceptRun: string | undefined): void {
  const rows = connection.all(
    "select no, run from undertext_compactions where session = ? and status = 'running' and run is not ?",
    session,
    exceptRun ?? null,
  )
  for (const [no, run] of rows) {
    connection.run(
      "update undertext_compactions set status = 'expired', changed_at = ? where no = ?",
      Date.now(),
      no,
    )
    writeAudit(connection, session, { event: 'expired', compaction: no as number, run: run as string })
  }
}
