import { Background } from '../compaction/background/background.ts'
import type { CompactionResult } from '../compaction/result.ts'
import type { ContextStats } from '../compaction/stats.ts'
import { readCall } from '../config/layers.ts'
import {
  type CloseOptions,
  type CompactOptions,
  closeSchema,
  type IdleOptions,
  idleSchema,
  type ListJobsOptions,
  listJobsSchema,
} from '../config/store-options.ts'
import { invalid, UndertextError } from '../errors.ts'
import { check } from '../messages/check.ts'
import type { Job, JobState, Storage } from '../storage/storage.ts'
import type { StoreSettings } from './base.ts'
import { checkId } from './check-arguments.ts'
import { RewindVerbs } from './rewind-verbs.ts'

/** Compaction behind the conversation's back. */
export class BackgroundVerbs<S extends Storage> extends RewindVerbs<S> {
  readonly #background: Background

  constructor(storage: S, settings: StoreSettings) {
    super(storage, settings)
    const { configuration, events, guard, compact } = this
    this.#background = new Background({ storage, configuration, events, guard, compact })
  }

  /**
   * Queues a compaction and answers at once; nobody waits for it but `whenIdle`. A session has one open job at most: while there is
   * one, that is answered, and it stays as it was asked for. Settings of the call that are plain data are stored with the job; a
   * summarizer and stages of one's own count as long as this store is open. The run counts as unasked (`trigger: 'auto'`); a
   * `signal` cancels it.
   *
   * Throws `SESSION_NOT_FOUND`, `CIRCUIT_OPEN`, `ABORTED`.
   */
  async compactInBackground(
    sessionId: string,
    config: CompactOptions = {},
  ): Promise<{ readonly jobId: string; readonly state: JobState }> {
    const id = checkId(sessionId)
    const call = readCall(config, 'compactInBackground')
    if (call.trigger !== undefined && call.trigger !== 'auto')
      throw invalid('compactInBackground: trigger can only be "auto"')
    const job = await this.#background.start(await this.requireSession(id), call)
    return { jobId: job.id, state: job.state }
  }

  /** A session's jobs, newest first, at most `limit` (100); the last hundred are kept. */
  async listJobs(sessionId: string, options: ListJobsOptions = {}): Promise<Job[]> {
    const { limit } = check(listJobsSchema, options, 'listJobs')
    return this.storage.jobs.list(checkId(sessionId), limit)
  }

  /** One job. Throws `JOB_NOT_FOUND`. */
  async getJob(jobId: string): Promise<Job> {
    const job = await this.storage.jobs.job(checkId(jobId, 'jobId'))
    if (job === undefined) throw new UndertextError('JOB_NOT_FOUND', { jobId })
    return job
  }

  /**
   * Waits until no job of the session runs or is due, and takes up what a process that died left; without a session: until this
   * store works at nothing, and nothing is due. A job that waits for a later time (its next try, a limit) is not waited for.
   * Answers false when `timeoutMs` passed before. Throws `ABORTED` after the signal; `sessionId` of that is empty without one.
   */
  async whenIdle(sessionId?: string, options: IdleOptions = {}): Promise<boolean> {
    const limits = check(idleSchema, options, 'whenIdle')
    return this.#background.whenIdle(sessionId === undefined ? undefined : checkId(sessionId), limits)
  }

  /**
   * Cancels a job by its id, or the open job of a session: the model's call is aborted, nothing is changed, and what was paid is on
   * record. A job another process works at is marked, so that its commit is refused. Answers the job, or `null` when none was open.
   * Throws `SESSION_NOT_FOUND` for what is neither a job nor a session.
   */
  async cancel(sessionOrJobId: string): Promise<Job | null> {
    const target = checkId(sessionOrJobId, 'sessionOrJobId')
    const cancelled = await this.#background.cancel(target)
    if (cancelled !== undefined) return cancelled
    if ((await this.storage.jobs.job(target)) === undefined) await this.requireSession(target)
    return null
  }

  /**
   * Closes the store; a connection that was handed in stays open. Closing twice is nothing. Runs in the background are waited for
   * as long as `timeoutMs` says (0); what is not over then is aborted, changes nothing, and stays queued for the next process.
   */
  async close(options: CloseOptions = {}): Promise<void> {
    const { timeoutMs } = check(closeSchema, options, 'close')
    const ending = this.#background.close(timeoutMs)
    if (ending !== undefined) await ending
    await this.storage.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  /** Lets the background know how full a session is: above the soft threshold it goes to work. Never waits, never throws. */
  protected offerBackground(sessionId: string, stats: ContextStats): void {
    this.#background.offer(sessionId, stats)
  }

  /** Waits for a background run of the session, so many milliseconds at most. Returns its result, where this store made it. */
  protected settleBackground(
    sessionId: string,
    waitMs: number,
    signal?: AbortSignal,
  ): Promise<CompactionResult | null> {
    return this.#background.settle(sessionId, waitMs, signal)
  }

  /** Ends what is at work on a session that was purged. */
  protected forgetBackground(sessionId: string): void {
    this.#background.forget(sessionId)
  }
}
