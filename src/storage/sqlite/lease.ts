import { isUndertextError } from '../../errors.ts'
import { isHeld, LEASE_MS } from '../process.ts'
import type { Lease } from '../storage.ts'
import { expireAttempts, hasRunning } from './attempts.ts'
import type { Connection } from './connection.ts'
import { readSession, requireSession } from './sessions.ts'

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
