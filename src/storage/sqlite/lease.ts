import { isUndertextError } from '../../errors.ts'
import { coverageOf, encodeCoverage } from '../../model/coverage.ts'
import { bareCondensePlan } from '../../stages/summarize.ts'
import { isHeld, LEASE_MS } from '../process.ts'
import type { Attempt, FailedAttempt, Lease, RunStart, Snapshot, SummaryRecord } from '../storage.ts'
import { writeAudit } from './audit.ts'
import { recordColumns, stale, writeCompaction } from './compaction-row.ts'
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

/** Marks attempts of a session as expired whose run has no valid lease, within the caller's transaction. */
export function expireDead(connection: Connection, session: number): void {
  const lease = leaseOf(connection, session)
  expireAttempts(connection, session, lease !== undefined && isAlive(lease) ? lease.runId : undefined)
}

/** The same in its own transaction, if there are any. */
export function endDead(connection: Connection, verb: string, id: string): void {
  const no = connection.outside(verb, () => {
    const session = readSession(connection, id)
    return session !== undefined && hasRunning(connection, session.no) ? session.no : undefined
  })
  if (no !== undefined) connection.write(verb, () => expireDead(connection, no))
}

/** The same for all sessions, when a store is opened. */
export function expireAllDead(connection: Connection): void {
  if (!connection.outside('openStore', () => hasRunning(connection))) return
  try {
    connection.write('openStore', () => {
      const sql = "select distinct session from undertext_compactions where status = 'running'"
      for (const [session] of connection.all(sql)) expireDead(connection, session as number)
    })
  } catch (error) {
    // Another connection is writing: the next run of each session marks its attempts.
    if (!isUndertextError(error, 'STORE_BUSY')) throw error
  }
}

/** The valid lease on a session. Without one, its running attempts are marked as expired. */
export function leaseInTheWay(connection: Connection, id: string): Lease | undefined {
  const lease = connection.outside('compactSession', () => leaseWhere(connection, 'id', id))
  if (lease === undefined || !isAlive(lease)) {
    endDead(connection, 'compactSession', id)
    return undefined
  }
  if (expiresTooLate(lease)) connection.write('compactSession', () => shorten(connection, id, lease))
  return lease
}

/** Claims a session, or returns the lease that prevents it. Attempts of dead holders are marked as expired. */
export function takeLease(connection: Connection, id: string, lease: Lease): Lease | undefined {
  return connection.write('compactSession', () => {
    const session = requireSession(connection, id)
    const current = leaseOf(connection, session.no)
    if (current !== undefined && current.runId !== lease.runId && isAlive(current)) {
      if (expiresTooLate(current)) shorten(connection, id, current)
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
  return connection.write('compactSession', () => setExpiry(connection, id, lease))
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

function setExpiry(connection: Connection, id: string, { runId, expiresAt }: Lease): boolean {
  const sql = 'update undertext_sessions set lease_expires = ? where id = ? and lease_run = ?'
  return connection.run(sql, expiresAt, id, runId) === 1
}

/** Whether a lease expires later than a new one would: the clock was set back after it was written. */
function expiresTooLate({ expiresAt }: Lease): boolean {
  return expiresAt > Date.now() + LEASE_MS
}

/** Shortens a lease to the duration of a new one. A live holder renews it. */
function shorten(connection: Connection, id: string, lease: Lease): void {
  setExpiry(connection, id, { ...lease, expiresAt: Date.now() + LEASE_MS })
}

/*
 * Requested summaries: recorded before the request, and ended whatever happens. A model call costs money even when the process dies.
 */

/** The session of a snapshot; `undefined` when it was purged since. */
function findPlanned(connection: Connection, { session }: Snapshot): StoredSession | undefined {
  const now = readSession(connection, session.id)
  return now?.incarnation === session.incarnation ? now : undefined
}

/** The session of a snapshot. Throws `STALE_PLAN` when it was purged since. */
export function requirePlanned(connection: Connection, snapshot: Snapshot): StoredSession {
  const session = findPlanned(connection, snapshot)
  if (session === undefined) throw stale(snapshot.session.id, 'the session was purged since')
  return session
}

/** Records a request for a summary before it is made, so that the audit shows its cost whatever happens. */
export function noteAttempt(
  connection: Connection,
  snapshot: Snapshot,
  run: RunStart,
  { id, view, rows, summarizer }: Attempt,
): void {
  connection.write('compactSession', () => {
    const session = requirePlanned(connection, snapshot)
    const no = writeCompaction(connection, session, run, {
      ...{ id, kind: 'condense', status: 'running', rank: session.version, rowsHidden: rows.length },
      coverage: encodeCoverage(coverageOf(view, bareCondensePlan(rows), undefined)),
      tokensBefore: view.tokens,
      tokensAfter: view.tokens,
      summary: { summarizer },
    })
    writeAudit(connection, session.no, { event: 'started', compaction: no, run: run.runId, actor: run.actor })
  })
}

/**
 * Records the cost of an attempt so far, in case the process dies. The cost of an attempt that was marked as expired meanwhile is
 * recorded too.
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

/** Records attempts that ended without a summary; does nothing when their session was purged since. */
export function endAttempts(
  connection: Connection,
  snapshot: Snapshot,
  run: RunStart,
  ended: readonly FailedAttempt[],
): void {
  connection.write('compactSession', () => {
    const session = findPlanned(connection, snapshot)
    if (session === undefined) return
    for (const attempt of ended) recordFailure(connection, session, run, attempt)
  })
}

/** Records an attempt that ended without a summary, within the caller's transaction. */
export function recordFailure(
  connection: Connection,
  session: StoredSession,
  run: RunStart,
  { id, status, error, tokens, summary }: FailedAttempt,
): void {
  const figures = { error, tokensBefore: tokens, tokensAfter: tokens }
  const row = {
    id,
    kind: 'condense',
    status,
    coverage: '{}',
    summary,
    rank: session.version,
    ...figures,
  } as const
  const compaction = writeCompaction(connection, session, run, row)
  connection.run('update undertext_sessions set version = version + 1 where no = ?', session.no)
  const entry = { event: status, compaction, run: run.runId, actor: run.actor, detail: figures }
  writeAudit(connection, session.no, entry)
}

/** Whether attempts of a session, or of any session, are recorded as running. */
function hasRunning(connection: Connection, session?: number): boolean {
  const running = "select 1 from undertext_compactions where status = 'running'"
  if (session === undefined) return connection.get(`${running} limit 1`) !== undefined
  return connection.get(`${running} and session = ? limit 1`, session) !== undefined
}

/** Marks running attempts as expired, except those of one run, within the caller's transaction. */
function expireAttempts(connection: Connection, session: number, exceptRun: string | undefined): void {
  const rows = connection.all(
    "select no, run from undertext_compactions where session = ? and status = 'running' and run is not ?",
    session,
    exceptRun ?? null,
  )
  for (const [no, run] of rows) {
    const sql = "update undertext_compactions set status = 'expired', changed_at = ? where no = ?"
    connection.run(sql, Date.now(), no)
    writeAudit(connection, session, { event: 'expired', compaction: no as number, run: run as string })
  }
}
