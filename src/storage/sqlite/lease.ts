import { isUndertextError, UndertextError } from '../../errors.ts'
import { coverageOf, encodeCoverage } from '../../model/coverage.ts'
import { bareCondensePlan } from '../../stages/summarize.ts'
import { isHeld, LEASE_MS } from '../process.ts'
import type { Attempt, FailedAttempt, Lease, RunStart, Snapshot, SummaryRecord } from '../storage.ts'
import { writeAudit } from './audit.ts'
import { recordColumns, writeCompaction } from './compaction-row.ts'
import type { Connection } from './connection.ts'
import { readSession, requireSession, type StoredSession } from './sessions.ts'

export function leaseOf(connection: Connection, session: number): Lease | undefined {
  return leaseWhere(connection, 'no', session)
}

function leaseWhere(connection: Connection, column: 'id' | 'no', value: string | number): Lease | undefined {
  const row = connection.get(
    `select lease_run, lease_holder, lease_expires from undertext_sessions where ${column} = ? and lease_run is not null`,
    value,
  )
  return row && { runId: row[0] as string, holder: row[1] as string, expiresAt: row[2] as number }
}

export function clearLease(connection: Connection, session: number): void {
  connection.run(
    'update undertext_sessions set lease_run = null, lease_holder = null, lease_expires = null where no = ?',
    session,
  )
}

/** Marks attempts of a session as expired whose run has no lease that counts, within the caller's transaction. */
export function expireDead(connection: Connection, session: number): void {
  const lease = leaseOf(connection, session)
  expireAttempts(connection, session, lease !== undefined && isAlive(lease) ? lease.runId : undefined)
}

/** The same in a transaction of its own, when there are any. */
export function endDead(connection: Connection, verb: string, id: string): void {
  const no = connection.outside(verb, () => {
    const session = readSession(connection, id)
    return session !== undefined && hasRunning(connection, session.no) ? session.no : undefined
  })
  if (no !== undefined) connection.write(verb, () => expireDead(connection, no))
}

/** The same in all sessions, when a store is opened. */
export function expireAllDead(connection: Connection): void {
  if (!connection.outside('openStore', () => hasRunning(connection))) return
  try {
    connection.write('openStore', () => {
      const sql = "select distinct session from undertext_compactions where status = 'running'"
      for (const [session] of connection.all(sql)) expireDead(connection, session as number)
    })
  } catch (error) {
    // While another connection writes, the next run of a session ends its attempts.
    if (!isUndertextError(error, 'STORE_BUSY')) throw error
  }
}

/** The lease on a session that still counts. Without one, attempts of the session are expired. */
export function leaseInTheWay(connection: Connection, id: string): Lease | undefined {
  const lease = connection.outside('compactSession', () => leaseWhere(connection, 'id', id))
  if (lease === undefined || !isAlive(lease)) {
    endDead(connection, 'compactSession', id)
    return undefined
  }
  if (endsTooLate(lease)) connection.write('compactSession', () => shorten(connection, id, lease))
  return lease
}

/** Claims a session, or answers the lease in the way. What a dead holder left running is marked as expired. */
export function takeLease(connection: Connection, id: string, lease: Lease): Lease | undefined {
  return connection.write('compactSession', () => {
    const session = requireSession(connection, id)
    const current = leaseOf(connection, session.no)
    if (current !== undefined && current.runId !== lease.runId && isAlive(current)) {
      if (endsTooLate(current)) shorten(connection, id, current)
      return current
    }
    expireAttempts(connection, session.no, lease.runId)
    connection.run(
      'update undertext_sessions set lease_run = ?, lease_holder = ?, lease_expires = ? where no = ?',
      lease.runId,
      lease.holder,
      lease.expiresAt,
      session.no,
    )
    return undefined
  })
}

export function renewLease(connection: Connection, id: string, lease: Lease): boolean {
  return connection.write('compactSession', () => {
    const sql = 'update undertext_sessions set lease_expires = ? where id = ? and lease_run = ?'
    return connection.run(sql, lease.expiresAt, id, lease.runId) === 1
  })
}

export function releaseLease(connection: Connection, id: string, lease: Lease): void {
  connection.write('compactSession', () => {
    const session = readSession(connection, id)
    if (session !== undefined && leaseOf(connection, session.no)?.runId === lease.runId)
      clearLease(connection, session.no)
  })
}

function isAlive({ expiresAt, holder, runId }: Lease): boolean {
  return isHeld({ holder, run: runId, expiresAt })
}

/** Whether a lease ends later than a full one would: the clock it was written by was set back since. */
function endsTooLate({ expiresAt }: Lease): boolean {
  return expiresAt > Date.now() + LEASE_MS
}

/** Lets a lease count as long as a full one. A holder that is alive renews it. */
function shorten(connection: Connection, id: string, { runId }: Lease): void {
  const sql = 'update undertext_sessions set lease_expires = ? where id = ? and lease_run = ?'
  connection.run(sql, Date.now() + LEASE_MS, id, runId)
}

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
