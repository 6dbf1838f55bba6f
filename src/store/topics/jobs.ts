import { z } from 'zod'
import { invalid, UndertextError } from '../../core/errors.ts'
import { check, nameSchema } from '../../core/messages/check.ts'
import type { Job, JobState } from '../../storage/storage.ts'
import { checkId } from '../arguments.ts'
import { readCall } from '../config/read-settings.ts'
import { type CompactOptions, type IdleOptions, idleSchema } from '../config/store-options.ts'
import type { Services } from '../services.ts'

const listJobsSchema = z.strictObject({ limit: z.int().positive().max(1_000).default(100) })
/** Options of `jobs.list`. */
export type ListJobsOptions = z.input<typeof listJobsSchema>
const cancelSchema = z
  .strictObject({
    /** The id of a job. */
    job: nameSchema.optional(),
    /** The session whose open job is canceled. */
    session: nameSchema.optional(),
  })
  .refine(
    ({ job, session }) => (job === undefined) !== (session === undefined),
    'must name either a job or a session',
  )
/** Which job `jobs.cancel` cancels: a job by its id, or the open job of a session. */
export type CancelOptions = z.input<typeof cancelSchema>

/** Compactions that run in the background. */
export class Jobs {
  readonly #services: Services

  /** @internal */
  constructor(services: Services) {
    this.#services = services
  }

  /**
   * Queues a compaction and returns at once; only `jobs.whenIdle` waits for it. A session has at most one open job: if there is one
   * already, that job is returned, with the settings it was queued with. Settings of the call that are plain data are stored with the job;
   * a summarizer and stages of the application apply as long as this store is open. The run counts as automatic (`trigger: 'auto'`); a
   * `signal` cancels it.
   *
   * Throws `CIRCUIT_OPEN`, `ABORTED`.
   */
  async start(
    sessionId: string,
    config: CompactOptions = {},
  ): Promise<{ readonly jobId: string; readonly state: JobState }> {
    const id = checkId(sessionId)
    const call = readCall(config, 'jobs.start')
    if (call.trigger !== undefined && call.trigger !== 'auto')
      throw invalid('jobs.start: trigger can only be "auto"')
    const job = await this.#services.background.start(await this.#services.context.requireSession(id), call)
    return { jobId: job.id, state: job.state }
  }

  /** Lists a session's jobs, newest first, at most `limit` (default 100). Only the last hundred jobs are kept. */
  async list(sessionId: string, options: ListJobsOptions = {}): Promise<Job[]> {
    const { limit } = check(listJobsSchema, options, 'jobs.list')
    return this.#services.context.storage.jobs.list(checkId(sessionId), limit)
  }

  /** Returns a job. Throws `JOB_NOT_FOUND`. */
  async get(jobId: string): Promise<Job> {
    const job = await this.#services.context.storage.jobs.job(checkId(jobId, 'jobId'))
    if (job === undefined) throw new UndertextError('JOB_NOT_FOUND', { jobId })
    return job
  }

  /**
   * Cancels a job, or the open job of a session: the call to the model is aborted, nothing changes, and its cost is recorded. A job that
   * runs in another process is marked, so that its commit is rejected. Returns the job, or `null` if none was open. Throws `JOB_NOT_FOUND`,
   * `SESSION_NOT_FOUND`.
   */
  async cancel(which: CancelOptions): Promise<Job | null> {
    const { job, session } = check(cancelSchema, which, 'jobs.cancel')
    const { background, context } = this.#services
    if (job !== undefined) {
      await this.get(job)
      return (await background.cancel(job)) ?? null
    }
    await context.requireSession(session!)
    const open = await context.storage.jobs.open(session!)
    return open === undefined ? null : ((await background.cancel(open.job.id)) ?? null)
  }

  /**
   * Waits until no job of the session is running or due; jobs left behind by a dead process are resumed. Without a session, waits until
   * nothing is running in this store and nothing is due. Doesn't wait for jobs that are scheduled for later (a retry, a limit). Returns
   * `false` if `timeoutMs` passes first. If the signal aborts, throws `ABORTED`, whose `sessionId` is empty if no session was given.
   */
  async whenIdle(sessionId?: string, options: IdleOptions = {}): Promise<boolean> {
    const limits = check(idleSchema, options, 'jobs.whenIdle')
    return this.#services.background.whenIdle(
      sessionId === undefined ? undefined : checkId(sessionId),
      limits,
    )
  }
}
