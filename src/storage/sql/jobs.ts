import { UndertextError } from '../../core/errors.ts'
import { isObject, stringifyJson } from '../../core/messages/json.ts'
import type { ClaimedJob, Job, JobClaim, JobEnd, JobRequest, JobState, NewJob, RunOfJob } from '../jobs.ts'
import type { SessionName } from '../owners.ts'
import { claimName, isHeld as isHeldBy, LEASE_MS } from '../process.ts'
import { insertInto, JOB } from './columns.ts'
import { requireHead, requireSession } from './sessions.ts'
import { outside, type Row, reading, type Sql, writing } from './sql.ts'
import type { Work } from './work.ts'

/** The number of jobs kept per session; older ones are deleted when a new one is queued. */
const KEPT_JOBS = 100

const COLUMNS = `j.id, s.id, j.state, j.run, j.attempts, j.position, j.view_epoch, j.not_before, j.error, j.created_at, j.changed_at,
  j.holder, j.expires, j.request, j.no, j.session, s.owner`
const SELECT = `select ${COLUMNS} from undertext_jobs j join undertext_sessions s on {same s j} s.no = j.session`
const INSERT = insertInto('undertext_jobs', ['no', 'session', ...JOB.names])
const OPEN = "state in ('queued', 'running')"
/** The columns that a job loses when it ends. */
const ENDED = 'request = null, holder = null, expires = null, changed_at = ?'

type StoredJob = {
  readonly job: Job
  readonly no: number
  readonly session: number
  readonly holder: string | undefined
  readonly expires: number
  readonly request: unknown
  readonly owner: string | undefined
}

export const enqueueJob = writing(
  'jobs.start',
  function* (
    sql: Sql,
    id: string,
    { id: jobId, request, notBefore }: NewJob,
    hurry: boolean,
  ): Work<{ readonly job: Job; readonly isNew: boolean }> {
    const session = yield* requireSession(sql, id)
    const open = yield* findJob(sql, `{family j} j.${OPEN} and j.session = ?`, session.no)
    const now = Date.now()
    if (open !== undefined) {
      // A requested job takes the place of an automatic one.
      if (hurry && requestOf(open.request).isOffered === true) {
        const { config, replans } = requestOf(open.request)
        const asked = stringifyJson({ config, replans })
        yield* sql.run('update undertext_jobs set request = ? where {family} no = ?', asked, open.no)
      }
      if (hurry && open.job.state === 'queued' && open.job.notBefore > now)
        yield* sql.run(
          'update undertext_jobs set not_before = ?, changed_at = ? where {family} no = ?',
          now,
          now,
          open.no,
        )
      return { job: (yield* findJob(sql, '{family j} j.no = ?', open.no))!.job, isNew: false }
    }
    const no = yield* sql.insert(
      INSERT,
      yield* sql.nextNo('undertext_jobs', session.no),
      session.no,
      ...JOB.write({
        ...{ id: jobId, state: 'queued', attempts: 0, notBefore, createdAt: now, changedAt: now },
        ...{ position: session.messageCount, viewEpoch: session.viewEpoch },
        request: stringifyJson({
          ...{ config: request.config, replans: request.replans },
          ...(request.isOffered === true && { isOffered: true }),
        }),
      }),
    )
    yield* sql.run(
      `delete from undertext_jobs where {family} session = ? and no <= (
         select no from undertext_jobs where {family} session = ? order by no desc limit 1 offset ?)`,
      session.no,
      session.no,
      KEPT_JOBS,
    )
    return { job: (yield* findJob(sql, '{family j} j.no = ?', no))!.job, isNew: true }
  },
)

export function* claimJob(
  sql: Sql,
  id: string,
  claim: JobClaim,
  maxAttempts: number,
): Work<ClaimedJob | undefined> {
  // Usually there is no open job, and then no write lock is needed.
  const seen = yield* sql.outside('jobs.start', () => openOfId(sql, id))
  if (seen === undefined) return undefined
  if (!(yield* isDue(sql, seen))) return yield* shorten(sql, seen)
  return yield* sql.write('jobs.start', function* () {
    const open = yield* openOfId(sql, id)
    if (open === undefined || !(yield* isDue(sql, open))) return undefined
    const now = Date.now()
    const isExhausted = open.job.attempts >= maxAttempts
    if (isExhausted) {
      yield* sql.run(
        `update undertext_jobs set state = 'failed', error = ?, ${ENDED} where {family} no = ?`,
        open.job.error ?? 'EXPIRED',
        now,
        open.no,
      )
    } else {
      yield* sql.run(
        `update undertext_jobs set state = 'running', run = ?, holder = ?, expires = ?, attempts = attempts + 1, error = null,
           changed_at = ? where {family} no = ?`,
        claim.runId,
        claim.holder,
        claim.expiresAt + (yield* sql.clockOffset()),
        now,
        open.no,
      )
    }
    return {
      job: (yield* findJob(sql, '{family j} j.no = ?', open.no))!.job,
      request: requestOf(open.request),
      isExhausted,
    }
  })
}

/** If the clock was set back, a claim may expire later than a new one would; its end is then moved to that of a new one. */
function* shorten(sql: Sql, { job, expires }: StoredJob): Work<undefined> {
  const latest = Date.now() + LEASE_MS
  if (!sql.isShared && job.state === 'running' && expires > latest)
    yield* setExpiry(sql, job.sessionId, job.id, job.runId!, latest)
}

const setExpiry = writing(
  'jobs.start',
  function* (sql: Sql, id: string, jobId: string, runId: string, expires: number): Work<boolean> {
    yield* sql.enter(id)
    const statement =
      "update undertext_jobs set expires = ? where {family} id = ? and run = ? and state = 'running'"
    return (yield* sql.change(statement, expires + (yield* sql.clockOffset()), jobId, runId)) === 1
  },
)

/**
 * Returns the end of a wait that was recorded at `changedAt`; if the clock was set back since, that is now. The elapsed time is unknown
 * then, and the reason for the wait is checked again.
 */
export function dueAt(notBefore: number, changedAt: number): number {
  return changedAt - Date.now() > LEASE_MS ? Math.min(notBefore, Date.now()) : notBefore
}

/** Returns whether a job is due in the queue, or running without a live holder. */
function* isDue(sql: Sql, stored: StoredJob): Work<boolean> {
  if (stored.job.state === 'queued') return stored.job.notBefore <= Date.now()
  return !(yield* isHeld(sql, stored))
}

function* isHeld(sql: Sql, { job, holder, expires }: StoredJob): Work<boolean> {
  if (job.state !== 'running' || holder === undefined || job.runId === undefined) return false
  const expiresAt = expires - (yield* sql.clockOffset())
  return isHeldBy({ holder, run: claimName(job.runId), expiresAt }, sql.isShared)
}

export function* renewJob(
  sql: Sql,
  id: string,
  jobId: string,
  { runId, expiresAt }: JobClaim,
): Work<boolean> {
  return yield* setExpiry(sql, id, jobId, runId, expiresAt)
}

export const endJob = writing(
  'jobs.start',
  function* (sql: Sql, id: string, jobId: string, runId: string, end: JobEnd): Work<boolean> {
    yield* sql.enter(id)
    const changed = yield* sql.change(
      `update undertext_jobs set state = ?, error = ?, not_before = coalesce(?, not_before), attempts = attempts - ?, request = case when ? = 1 then request end, holder = null,
         expires = null, changed_at = ? where {family} id = ? and run = ? and state = 'running'`,
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
  },
)

/**
 * Settles the job of a run within the transaction of the run's commit. Throws `ABORTED` if the job was canceled or taken over. If the run
 * has steps, the job is done with the same commit, so that a crash can't repeat it.
 */
export function* settleJob(
  sql: Sql,
  sessionId: string,
  { jobId, runId }: RunOfJob,
  hasSteps: boolean,
): Work<void> {
  const found = yield* sql.get(
    "select no from undertext_jobs where {family} id = ? and run = ? and state = 'running'",
    jobId,
    runId,
  )
  if (found === undefined) throw new UndertextError('ABORTED', { sessionId })
  if (!hasSteps) return
  yield* sql.run(
    `update undertext_jobs set state = 'done', ${ENDED} where {family} no = ?`,
    Date.now(),
    found[0],
  )
}

export function* cancelJob(sql: Sql, jobId: string): Work<Job | undefined> {
  const known = yield* sql.outside('jobs.cancel', () => findJob(sql, 'j.id = ?', jobId))
  if (known === undefined) return undefined
  return yield* sql.write('jobs.cancel', function* () {
    yield* sql.enter(known.job.sessionId, known.owner ?? null)
    const changed = yield* sql.change(
      `update undertext_jobs set state = 'cancelled', ${ENDED} where {family} id = ? and ${OPEN}`,
      Date.now(),
      jobId,
    )
    return changed === 1 ? (yield* findJob(sql, 'j.id = ?', jobId))?.job : undefined
  })
}

export const readJob = outside('jobs.get', function* (sql: Sql, jobId: string): Work<Job | undefined> {
  return (yield* findJob(sql, 'j.id = ?', jobId))?.job
})

export function* readOpenJob(
  sql: Sql,
  id: string,
): Work<{ readonly job: Job; readonly isHeld: boolean } | undefined> {
  const open = yield* sql.outside('jobs.whenIdle', () => openOfId(sql, id))
  if (open === undefined) return undefined
  if (!(yield* isHeld(sql, open))) return { job: open.job, isHeld: false }
  if (!sql.readonly) yield* shorten(sql, open)
  return { job: open.job, isHeld: true }
}

export const readJobs = reading('jobs.list', function* (sql: Sql, id: string, limit: number): Work<Job[]> {
  const { no } = yield* requireHead(sql, id)
  const rows = yield* sql.all(
    `${SELECT} where {family j} j.session = ? order by j.no desc limit ?`,
    no,
    limit,
  )
  return rows.map((row) => decode(row).job)
})

export const readWaiting = outside('jobs.whenIdle', function* (sql: Sql, limit: number): Work<SessionName[]> {
  const statement = `select s.id, s.owner from undertext_jobs j join undertext_sessions s on {same s j} s.no = j.session
    where {seen s} j.${OPEN} order by j.no limit ?`
  const rows = yield* sql.all(statement, limit)
  return rows.map(([id, owner]) => ({ id: id as string, owner: owner as string | null }))
})

function* findJob(sql: Sql, where: string, value: string | number): Work<StoredJob | undefined> {
  const row = yield* sql.get(`${SELECT} where {seen s} ${where}`, value)
  return row && decode(row)
}

function* openOfId(sql: Sql, id: string): Work<StoredJob | undefined> {
  yield* sql.enter(id)
  return yield* findJob(sql, `{family j} {family s} {named s} j.${OPEN} and s.id = ?`, id)
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
    owner: text(16),
  }
}

/** Returns the stored request. If it can't be read, an empty one is returned, so that the job uses the current settings. */
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
