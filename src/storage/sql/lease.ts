import { isUndertextError } from '../../core/errors.ts'
import { coverageOf, encodeCoverage } from '../../core/model/coverage.ts'
import { bareCondensePlan } from '../../core/model/plan.ts'
import { isHeld, LEASE_MS } from '../process.ts'
import type { Attempt, FailedAttempt, Lease, RunStart, Snapshot, SummaryRecord } from '../storage.ts'
import { writeAudit } from './audit.ts'
import { recordColumns, stale, writeCompaction } from './compaction-row.ts'
import { readSession, requireSession, type StoredSession } from './sessions.ts'
import { type Sql, writing } from './sql.ts'
import type { Work } from './work.ts'

function* leaseOf(sql: Sql, session: number): Work<Lease | undefined> {
  return yield* leaseWhere(sql, 'no', session)
}

export function* leaseOfId(sql: Sql, id: string): Work<Lease | undefined> {
  return yield* leaseWhere(sql, 'id', id)
}

function* leaseWhere(sql: Sql, column: 'id' | 'no', value: string | number): Work<Lease | undefined> {
  if (column === 'id') yield* sql.enter(value as string)
  const row = yield* sql.get(
    `select lease_run, lease_holder, lease_expires from undertext_sessions where {family} ${column === 'id' ? '{named} id' : 'no'} = ? and lease_run is not null`,
    value,
  )
  if (row === undefined) return undefined
  const [runId, holder, expires] = row as [string, string, number]
  return { runId, holder, expiresAt: expires - (yield* sql.clockOffset()) }
}

export function* clearLease(sql: Sql, session: number): Work<void> {
  yield* sql.run(
    'update undertext_sessions set lease_run = null, lease_holder = null, lease_expires = null where {family} no = ?',
    session,
  )
}

/** Marks attempts of a session as expired if their run has no valid lease, within the caller's transaction. */
function* expireDead(sql: Sql, session: number): Work<void> {
  const lease = yield* leaseOf(sql, session)
  yield* expireAttempts(sql, session, yield* runningAttempts(sql, session), liveRun(sql, lease))
}

/** Returns the run of a lease whose holder is alive. */
export function liveRun(sql: Sql, lease: Lease | undefined): string | undefined {
  return lease !== undefined && isAlive(sql, lease) ? lease.runId : undefined
}

/** Like `expireDead`, in its own transaction, if there are such attempts. */
export function* expireDeadInTransaction(sql: Sql, verb: string, id: string): Work<void> {
  const no = yield* sql.outside(verb, function* () {
    const session = yield* readSession(sql, id)
    return session !== undefined && (yield* hasRunning(sql, session.no)) ? session.no : undefined
  })
  if (no === undefined) return
  yield* sql.write(verb, function* () {
    yield* sql.enter(id)
    yield* expireDead(sql, no)
  })
}

/** Like `expireDead`, for all sessions, when a store is opened. */
export function* expireAllDead(sql: Sql): Work<void> {
  if (!(yield* sql.outside('openStore', () => hasRunning(sql)))) return
  try {
    yield* sql.write('openStore', function* () {
      const statement = "select distinct session from undertext_compactions where status = 'running'"
      for (const [session] of yield* sql.all(statement)) yield* expireDead(sql, session as number)
    })
  } catch (error) {
    // Another connection is writing; the next run of each session will mark its attempts.
    if (!isUndertextError(error, 'STORE_BUSY')) throw error
  }
}

/** Returns the valid lease on a session. If there is none, its running attempts are marked as expired. */
export function* leaseInTheWay(sql: Sql, id: string): Work<Lease | undefined> {
  const lease = yield* sql.outside('compactSession', () => leaseOfId(sql, id))
  if (lease === undefined || !isAlive(sql, lease)) {
    yield* expireDeadInTransaction(sql, 'compactSession', id)
    return undefined
  }
  if (expiresTooLate(sql, lease)) yield* sql.write('compactSession', () => shorten(sql, id, lease))
  return lease
}

/** Claims a session, or returns the lease that prevents it. Attempts of dead holders are marked as expired. */
export const takeLease = writing('compactSession', function* (sql: Sql, id: string, lease: Lease): Work<
  Lease | undefined
> {
  const session = yield* requireSession(sql, id)
  const current = yield* leaseOf(sql, session.no)
  if (current !== undefined && current.runId !== lease.runId && isAlive(sql, current)) {
    if (expiresTooLate(sql, current)) yield* shorten(sql, id, current)
    return current
  }
  yield* expireAttempts(sql, session.no, yield* runningAttempts(sql, session.no), lease.runId)
  yield* sql.run(
    'update undertext_sessions set lease_run = ?, lease_holder = ?, lease_expires = ? where {family} no = ?',
    lease.runId,
    lease.holder,
    lease.expiresAt + (yield* sql.clockOffset()),
    session.no,
  )
  return undefined
})

export const renewLease = writing('compactSession', setExpiry)

export const releaseLease = writing(
  'compactSession',
  function* (sql: Sql, id: string, lease: Lease): Work<void> {
    const session = yield* readSession(sql, id)
    if (session !== undefined && (yield* leaseOf(sql, session.no))?.runId === lease.runId)
      yield* clearLease(sql, session.no)
  },
)

function isAlive(sql: Sql, { expiresAt, holder, runId }: Lease): boolean {
  return isHeld({ holder, run: runId, expiresAt }, sql.isShared)
}

function* setExpiry(sql: Sql, id: string, { runId, expiresAt }: Lease): Work<boolean> {
  yield* sql.enter(id)
  const statement =
    'update undertext_sessions set lease_expires = ? where {family} {named} id = ? and lease_run = ?'
  return (yield* sql.change(statement, expiresAt + (yield* sql.clockOffset()), id, runId)) === 1
}

/** Returns whether a lease expires later than a new one would, because the clock was set back after it was written. */
function expiresTooLate(sql: Sql, { expiresAt }: Lease): boolean {
  return !sql.isShared && expiresAt > Date.now() + LEASE_MS
}

/** Shortens a lease to the duration of a new one. A live holder renews it. */
function* shorten(sql: Sql, id: string, lease: Lease): Work<void> {
  yield* setExpiry(sql, id, { ...lease, expiresAt: Date.now() + LEASE_MS })
}

/*
 * Requested summaries. A request is recorded before it is sent, and its end is recorded whatever happens, because a model call costs money
 * even if the process dies.
 */

/** Returns the session of a snapshot; `undefined` if it was purged since. */
function* findPlanned(sql: Sql, { session }: Snapshot): Work<StoredSession | undefined> {
  const now = yield* readSession(sql, session.id)
  return now?.incarnation === session.incarnation ? now : undefined
}

/** Returns the session of a snapshot. Throws `STALE_PLAN` if it was purged since. */
export function* requirePlanned(sql: Sql, snapshot: Snapshot): Work<StoredSession> {
  const session = yield* findPlanned(sql, snapshot)
  if (session === undefined) throw stale(snapshot.session.id, 'the session was purged in the meantime')
  return session
}

/** Records a request for a summary before it is sent, so that the audit shows its cost whatever happens. */
export const noteAttempt = writing(
  'compactSession',
  function* (
    sql: Sql,
    snapshot: Snapshot,
    run: RunStart,
    { id, view, rows, summarizer }: Attempt,
  ): Work<void> {
    const session = yield* requirePlanned(sql, snapshot)
    const no = yield* writeCompaction(sql, session, run, {
      ...{ id, kind: 'condense', status: 'running', rank: session.version, rowsHidden: rows.length },
      coverage: encodeCoverage(coverageOf(view, bareCondensePlan(rows), undefined)),
      tokensBefore: view.tokens,
      tokensAfter: view.tokens,
      summary: { summarizer },
    })
    yield* writeAudit(sql, session.no, { event: 'started', compaction: no, run: run.runId, actor: run.actor })
  },
)

/**
 * Records the cost of an attempt so far, in case the process dies. The cost is recorded even if the attempt was marked as expired
 * meanwhile.
 */
export function* noteAnswer(sql: Sql, id: string, attemptId: string, summary: SummaryRecord): Work<void> {
  yield* sql.write('compactSession', function* () {
    yield* sql.enter(id)
    yield* sql.run(
      `update undertext_compactions set summarizer = ?, model = ?, prompt_version = ?, usage = ?, cost = ?
       where {family} id = ? and session = (select no from undertext_sessions where {family} {named} id = ?)
         and status in ('running', 'expired')`,
      ...recordColumns(summary),
      attemptId,
      id,
    )
  })
}

/** Records attempts that ended without a summary; does nothing if their session was purged since. */
export const endAttempts = writing(
  'compactSession',
  function* (sql: Sql, snapshot: Snapshot, run: RunStart, ended: readonly FailedAttempt[]): Work<void> {
    const session = yield* findPlanned(sql, snapshot)
    if (session === undefined) return
    for (const attempt of ended) yield* recordFailure(sql, session, run, attempt)
  },
)

/** Records an attempt that ended without a summary, within the caller's transaction. */
export function* recordFailure(
  sql: Sql,
  session: StoredSession,
  run: RunStart,
  { id, status, error, tokens, summary }: FailedAttempt,
): Work<void> {
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
  const compaction = yield* writeCompaction(sql, session, run, row)
  yield* sql.run('update undertext_sessions set version = version + 1 where {family} no = ?', session.no)
  const entry = { event: status, compaction, run: run.runId, actor: run.actor, detail: figures }
  yield* writeAudit(sql, session.no, entry)
}

/** Returns whether attempts of a session, or of any session, are recorded as running. */
function* hasRunning(sql: Sql, session?: number): Work<boolean> {
  const running = "select 1 from undertext_compactions where status = 'running'"
  if (session === undefined) return (yield* sql.get(`${running} limit 1`)) !== undefined
  return (yield* sql.get(`${running} and {family} session = ? limit 1`, session)) !== undefined
}

/** An attempt that is recorded as running. */
export type RunningAttempt = { readonly no: number; readonly id: string; readonly run: string }

export function* runningAttempts(sql: Sql, session: number): Work<RunningAttempt[]> {
  const rows = yield* sql.all(
    "select no, id, run from undertext_compactions where {family} session = ? and status = 'running'",
    session,
  )
  return rows.map(([no, id, run]) => ({ no: no as number, id: id as string, run: run as string }))
}

/** Marks attempts as expired, except those of one run, within the caller's transaction. */
export function* expireAttempts(
  sql: Sql,
  session: number,
  running: readonly RunningAttempt[],
  exceptRun: string | undefined,
): Work<void> {
  for (const { no, run } of running) {
    if (run === exceptRun) continue
    const statement =
      "update undertext_compactions set status = 'expired', changed_at = ? where {family} no = ?"
    yield* sql.run(statement, Date.now(), no)
    yield* writeAudit(sql, session, { event: 'expired', compaction: no, run })
  }
}
