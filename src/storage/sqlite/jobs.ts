import { UndertextError } from '../../errors.ts'
import { isObject, stringifyJson } from '../../messages/json.ts'
import type { ClaimedJob, Job, JobClaim, JobEnd, JobRequest, JobState, NewJob, RunOfJob } from '../jobs.ts'
import { claimName, isHeld as isHeldBy, LEASE_MS } from '../process.ts'
import type { Connection, Row } from './connection.ts'
import { requireHead, requireSession } from './sessions.ts'

/** Ended jobs a session keeps; older ones go when a new one is queued. */
const KEPT_JOBS = 100

const COLUMNS = `j.id, s.id, j.state, j.run, j.attempts, j.position, j.view_epoch, j.not_before, j.error, j.created_at, j.changed_at,
  j.holder, j.expires, j.request, j.no, j.session`
const SELECT = `select ${COLUMNS} from undertext_jobs j join undertext_sessions s on s.no = j.session`
const OPEN = "state in ('queued', 'running')"

type StoredJob = {
  readonly job: Job
  readonly no: number
  readonly session: number
  readonly holder: string | undefined
  readonly expires: number
  readonly request: unknown
}

export function enqueueJob(
  connection: Connection,
  id: string,
  { id: jobId, request, notBefore }: NewJob,
  hurry: boolean,
): { readonly job: Job; readonly isNew: boolean } {
  return connection.write('compactInBackground', () => {
    const session = requireSession(connection, id)
    const open = openOf(connection, session.no)
    const now = Date.now()
    if (open !== undefined) {
      // From now on somebody asked for it.
      if (hurry && requestOf(open.request).isOffered === true) {
        const { config, replans } = requestOf(open.request)
        const asked = stringifyJson({ config, replans })
        connection.run('update undertext_jobs set request = ? where no = ?', asked, open.no)
      }
      if (hurry && open.job.state === 'queued' && open.job.notBefore > now)
        connection.run(
          'update undertext_jobs set not_before = ?, changed_at = ? where no = ?',
          now,
          now,
          open.no,
        )
      return { job: byNo(connection, open.no)!.job, isNew: false }
    }
    const no = connection.insert(
      `insert into undertext_jobs (id, session, state, request, position, view_epoch, not_before, created_at, changed_at)
       values (?, ?, 'queued', ?, ?, ?, ?, ?, ?)`,
      jobId,
      session.no,
      stringifyJson({
        config: request.config,
        replans: request.replans,
        ...(request.isOffered === true && { isOffered: true }),
      }),
      session.messageCount,
      session.viewEpoch,
      notBefore,
      now,
      now,
    )
    connection.run(
      `delete from undertext_jobs where session = ? and no <= (
         select no from undertext_jobs where session = ? order by no desc limit 1 offset ?)`,
      session.no,
      session.no,
      KEPT_JOBS,
    )
    return { job: byNo(connection, no)!.job, isNew: true }
  })
}

export function claimJob(
  connection: Connection,
  id: string,
  claim: JobClaim,
  mostAttempts: number,
): ClaimedJob | undefined {
  // Most often there is none: that is seen without the write lock.
  const seen = connection.outside('compactInBackground', () => openOfId(connection, id))
  if (seen === undefined) return undefined
  if (!isDue(seen)) return shorten(connection, seen)
  return connection.write('compactInBackground', () => {
    const open = openOfId(connection, id)
    if (open === undefined || !isDue(open)) return undefined
    const now = Date.now()
    const isExhausted = open.job.attempts >= mostAttempts
    if (isExhausted) {
      connection.run(
        `update undertext_jobs set state = 'failed', error = ?, request = null, holder = null, expires = null, changed_at = ? where no = ?`,
        open.job.error ?? 'EXPIRED',
        now,
        open.no,
      )
    } else {
      connection.run(
        `update undertext_jobs set state = 'running', run = ?, holder = ?, expires = ?, attempts = attempts + 1, error = null,
           changed_at = ? where no = ?`,
        claim.runId,
        claim.holder,
        claim.expiresAt,
        now,
        open.no,
      )
    }
    return { job: byNo(connection, open.no)!.job, request: requestOf(open.request), isExhausted }
  })
}

/** Lets a claim that ends later than a full one would, since the clock was set back, count as long as a full one. */
function shorten(connection: Connection, { job, no, expires }: StoredJob): undefined {
  const latest = Date.now() + LEASE_MS
  if (job.state !== 'running' || expires <= latest) return
  connection.write('compactInBackground', () => {
    const sql = "update undertext_jobs set expires = ? where no = ? and run = ? and state = 'running'"
    connection.run(sql, latest, no, job.runId)
  })
}

/**
 * When a wait that was noted at `changedAt` is over: now, when the clock was set back since. How long ago that was nobody can tell, and
 * what made it wait is asked again.
 */
export function dueAt(notBefore: number, changedAt: number): number {
  return changedAt - Date.now() > LEASE_MS ? Math.min(notBefore, Date.now()) : notBefore
}

/** Queued and its time has come, or running and nobody is at it. */
function isDue({ job, holder, expires }: StoredJob): boolean {
  if (job.state === 'queued') return job.notBefore <= Date.now()
  return !isHeld(job, holder, expires)
}

function isHeld(job: Job, holder: string | undefined, expires: number): boolean {
  if (job.state !== 'running' || holder === undefined || job.runId === undefined) return false
  return isHeldBy({ holder, run: claimName(job.runId), expiresAt: expires })
}

export function renewJob(connection: Connection, jobId: string, { runId, expiresAt }: JobClaim): boolean {
  return connection.write('compactInBackground', () => {
    const sql = "update undertext_jobs set expires = ? where id = ? and run = ? and state = 'running'"
    return connection.run(sql, expiresAt, jobId, runId) === 1
  })
}

export function endJob(connection: Connection, jobId: string, runId: string, end: JobEnd): boolean {
  return connection.write('compactInBackground', () => {
    const changed = connection.run(
      `update undertext_jobs set state = ?, error = ?, not_before = coalesce(?, not_before), attempts = attempts - ?, request = iif(?, request, null), holder = null,
         expires = null, changed_at = ? where id = ? and run = ? and state = 'running'`,
      end.state,
      end.error ?? null,
      end.notBefore ?? null,
      end.isUncounted === true ? 1 : 0,
      end.state === 'queued' ? 1 : 0,
      Date.now(),
      jobId,
      runId,
    )
    return changed === 1
  })
}

/**
 * Before the commit of a job's run, within its transaction: a job that was cancelled, or that somebody else took over, changes
 * nothing. With something in force the job is done at the same moment, so that no crash in between has it made again.
 */
export function settleJob(
  connection: Connection,
  sessionId: string,
  { jobId, runId }: RunOfJob,
  hasSteps: boolean,
): void {
  const found = connection.get(
    "select no from undertext_jobs where id = ? and run = ? and state = 'running'",
    jobId,
    runId,
  )
  if (found === undefined) throw new UndertextError('ABORTED', { sessionId })
  if (!hasSteps) return
  connection.run(
    "update undertext_jobs set state = 'done', request = null, holder = null, expires = null, changed_at = ? where no = ?",
    Date.now(),
    found[0],
  )
}

export function cancelJob(connection: Connection, jobId: string): Job | undefined {
  return connection.write('cancel', () => {
    const changed = connection.run(
      `update undertext_jobs set state = 'cancelled', request = null, holder = null, expires = null, changed_at = ? where id = ? and ${OPEN}`,
      Date.now(),
      jobId,
    )
    return changed === 1 ? byId(connection, jobId)?.job : undefined
  })
}

export function readJob(connection: Connection, jobId: string): Job | undefined {
  return connection.outside('getJob', () => byId(connection, jobId)?.job)
}

export function readOpenJob(
  connection: Connection,
  id: string,
): { readonly job: Job; readonly isHeld: boolean } | undefined {
  const open = connection.outside('whenIdle', () => openOfId(connection, id))
  if (open === undefined) return undefined
  if (!isHeld(open.job, open.holder, open.expires)) return { job: open.job, isHeld: false }
  if (!connection.readonly) shorten(connection, open)
  return { job: open.job, isHeld: true }
}

export function readJobs(connection: Connection, id: string, limit: number): Job[] {
  return connection.read('listJobs', () => {
    const { no } = requireHead(connection, id)
    const rows = connection.all(`${SELECT} where j.session = ? order by j.no desc limit ?`, no, limit)
    return rows.map((row) => decode(row).job)
  })
}

export function readWaiting(connection: Connection, limit: number): string[] {
  return connection.outside('whenIdle', () => {
    const sql = `select s.id from undertext_jobs j join undertext_sessions s on s.no = j.session where j.${OPEN} order by j.no limit ?`
    return connection.all(sql, limit).map((row) => row[0] as string)
  })
}

function openOf(connection: Connection, session: number): StoredJob | undefined {
  const row = connection.get(`${SELECT} where j.session = ? and j.${OPEN}`, session)
  return row && decode(row)
}

function openOfId(connection: Connection, id: string): StoredJob | undefined {
  const row = connection.get(`${SELECT} where s.id = ? and j.${OPEN}`, id)
  return row && decode(row)
}

function byNo(connection: Connection, no: number): StoredJob | undefined {
  const row = connection.get(`${SELECT} where j.no = ?`, no)
  return row && decode(row)
}

function byId(connection: Connection, jobId: string): StoredJob | undefined {
  const row = connection.get(`${SELECT} where j.id = ?`, jobId)
  return row && decode(row)
}

function decode(row: Row): StoredJob {
  const text = (at: number): string | undefined => (row[at] as string | null) ?? undefined
  return {
    job: {
      id: row[0] as string,
      sessionId: row[1] as string,
      state: row[2] as JobState,
      runId: text(3),
      attempts: row[4] as number,
      position: row[5] as number,
      viewEpoch: row[6] as number,
      notBefore: dueAt(row[7] as number, row[10] as number),
      error: text(8),
      createdAt: row[9] as number,
      changedAt: row[10] as number,
    },
    holder: text(11),
    expires: (row[12] as number | null) ?? 0,
    request: row[13],
    no: row[14] as number,
    session: row[15] as number,
  }
}

/** What cannot be read counts as nothing asked: the job is made by the settings in force. */
function requestOf(value: unknown): JobRequest {
  try {
    const { config, replans, isOffered } = JSON.parse(String(value)) as Record<string, unknown>
    return {
      config: isObject(config) ? (config as JobRequest['config']) : {},
      replans: typeof replans === 'number' ? replans : 0,
      ...(isOffered === true && { isOffered }),
    }
  } catch (error) {
    if (!(error instanceof SyntaxError || error instanceof TypeError)) throw error
    return { config: {}, replans: 0 }
  }
}
