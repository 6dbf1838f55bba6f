import { AsyncLocalStorage } from 'node:async_hooks'
import { v7 as uuidv7 } from 'uuid'
import { errorName, isUndertextError } from '../../../core/errors.ts'
import { MAX_TIMER_MS } from '../../../core/messages/check.ts'
import { defined, type JsonObject, jsonProblem } from '../../../core/messages/json.ts'
import { claimName, LEASE_HOLDER, LEASE_MS, liveRuns } from '../../../storage/process.ts'
import type { ClaimedJob, Job, JobClaim, Session, Storage } from '../../../storage/storage.ts'
import { readCall } from '../../config/read-settings.ts'
import type { Configuration } from '../../config/resolve.ts'
import { mayCallModel, runConfig } from '../../config/run-config.ts'
import type { CheckedCall } from '../../config/settings.ts'
import type { Events, JobEvent } from '../../events.ts'
import { renewing } from '../../renew-lease.ts'
import type { Compactor } from '../compactor.ts'
import type { CompactionResult } from '../result.ts'
import { timeLimit } from '../waiting.ts'
import type { Guard } from './guard.ts'

/** Maximum runs of one job, including one whose process died. */
const MAX_ATTEMPTS = 3
/** Maximum number of jobs that may follow one with a stale plan. */
const MAX_REPLANS = 2
/** Milliseconds before the second attempt, doubled for each further one. */
const RETRY_MS = 2_000
/** Milliseconds before another attempt if another run was active. */
const BUSY_MS = 5_000

/** Maximum number of jobs that a store runs at the same time; the others wait. */
const MAX_AT_ONCE = 4

/** The parts of a store that background work needs. */
export type WorkerParts = {
  readonly storage: Storage
  readonly configuration: Configuration
  readonly events: Events
  readonly guard: Guard
  readonly compactor: Compactor
}

/** Why a run was ended from outside. `elsewhere`: canceled by another store in this thread; `lost`: another process took the job over. */
type Cause = 'cancelled' | 'elsewhere' | 'closing' | 'purged' | 'lost'

type Work = {
  readonly runId: string
  readonly abort: AbortController
  cause: Cause | undefined
  /** The id of a job that was canceled before it was claimed. */
  cancelled?: string
  result: CompactionResult | null
  readonly done: Promise<CompactionResult | null>
}

/** The running jobs of all stores in this thread, so that another store on the same file can end them. */
const running = new Map<string, Work>()

/** Ends the run of a job in this thread; resolves once it is over. */
async function endRun(jobId: string, cause: Cause): Promise<void> {
  const work = running.get(jobId)
  if (work === undefined) return
  work.cause ??= cause
  work.abort.abort()
  await work.done
}

/** Claims jobs and runs them, one per session. */
export class Worker {
  readonly #parts: WorkerParts
  readonly #works = new Map<string, Work>()
  /** Sessions that wait because too many jobs are running. */
  readonly #waiting = new Set<string>()
  readonly #timers = new Map<string, NodeJS.Timeout>()
  /** The calls of this store's jobs, including values that can't be stored: a summarizer, stages. */
  readonly #calls = new Map<string, CheckedCall>()
  /** Jobs run outside the call that queued them. */
  readonly #outside = AsyncLocalStorage.snapshot()
  readonly #followed = new Map<string, { readonly signal: AbortSignal; readonly listener: () => void }>()
  /** Each session's last job that was announced as queued, until the next event about it. */
  readonly #queued = new Map<string, Pick<JobEvent, 'sessionId' | 'jobId' | 'attempt'>>()
  readonly #canceling = new Map<string, Promise<Job | undefined>>()
  #isClosed = false
  /** The error when a session's job was last started: the next caller who waits for the session receives it. */
  readonly #errors = new Map<string, unknown>()

  constructor(parts: WorkerParts) {
    this.#parts = parts
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Returns, once, the error when the session's job was last started. */
  takeError(sessionId: string): unknown {
    const error = this.#errors.get(sessionId)
    this.#errors.delete(sessionId)
    return error
  }

  /** Returns the work in progress: one promise per session, which never rejects. */
  works(sessionId?: string): Promise<CompactionResult | null>[] {
    const works = sessionId === undefined ? [...this.#works.values()] : [this.#works.get(sessionId)]
    return works.flatMap((work) => (work === undefined ? [] : [work.done]))
  }

  /** Queues a job and schedules it. Throws the storage's errors. */
  async enqueue(
    sessionId: string,
    requested: {
      readonly call: CheckedCall
      readonly replans: number
      readonly hurry: boolean
      readonly isOffered?: boolean
    },
  ): Promise<Job> {
    const { call, replans, hurry, isOffered = false } = requested
    const request = { config: storableCall(call), replans, isOffered }
    const newJob = { id: uuidv7(), request, notBefore: Date.now() }
    const { job, isNew } = await this.#parts.storage.jobs.enqueue(sessionId, newJob, hurry)
    if (isNew) {
      this.#calls.set(job.id, call)
      this.#emit({ phase: 'queued', ...about(job), notBefore: job.notBefore })
    }
    this.schedule(sessionId, job.notBefore - Date.now())
    return job
  }

  /**
   * Starts the job of a session after a delay in milliseconds. The timer doesn't keep the process alive, because the job is in the store.
   */
  schedule(sessionId: string, ms: number): void {
    if (this.#isClosed) return
    clearTimeout(this.#timers.get(sessionId))
    const timer = setTimeout(
      () => {
        this.#timers.delete(sessionId)
        this.start(sessionId)
      },
      Math.min(Math.max(ms, 0), MAX_TIMER_MS),
    )
    // A job that is already due starts before the process may exit.
    if (ms > 0) timer.unref()
    this.#timers.set(sessionId, timer)
  }

  /** Claims the due job of a session, if any, and runs it. Never throws. */
  start(sessionId: string): void {
    if (this.#works.has(sessionId) || this.#isClosed) return
    if (this.#works.size >= MAX_AT_ONCE) {
      this.#waiting.add(sessionId)
      return
    }
    this.#waiting.delete(sessionId)
    let end = (_result: CompactionResult | null): void => undefined
    const done = new Promise<CompactionResult | null>((resolve) => {
      end = resolve
    })
    const abort = new AbortController()
    const work: Work = { runId: uuidv7(), abort, cause: undefined, result: null, done }
    this.#works.set(sessionId, work)
    const over = (): void => {
      this.#works.delete(sessionId)
      end(work.result)
      for (const next of this.#waiting) this.start(next)
    }
    this.#outside(() => this.#work(sessionId, work))
      .catch((error: unknown) => {
        // For example, the storage is closed or unavailable. The job stays queued, and is resumed once its claim has expired.
        if (!this.#isClosed) this.#errors.set(sessionId, error)
      })
      .finally(over)
  }

  async #work(sessionId: string, work: Work): Promise<void> {
    this.#errors.delete(sessionId)
    const name = claimName(work.runId)
    liveRuns.add(name)
    let jobId: string | undefined
    let claimed: ClaimedJob | undefined
    try {
      claimed = await this.#parts.storage.jobs.claim(sessionId, claimOf(work.runId), MAX_ATTEMPTS)
      if (claimed === undefined) return await this.#reportIfPurged(sessionId)
      const { job, isExhausted } = claimed
      if (isExhausted) {
        this.#calls.delete(job.id)
        this.#emit({ phase: 'failed', ...about(job), code: job.error ?? 'EXPIRED' })
        return
      }
      jobId = job.id
      running.set(jobId, work)
      if (work.cancelled === jobId) {
        work.cause ??= 'cancelled'
        work.abort.abort()
      }
      await this.#process(claimed, work)
    } catch (error) {
      if (!isUndertextError(error, 'SESSION_NOT_FOUND') || claimed === undefined) throw error
      await this.#aborted(claimed.job, work)
    } finally {
      liveRuns.delete(name)
      if (jobId !== undefined && running.get(jobId) === work) running.delete(jobId)
    }
  }

  /** Reports a job that was announced as queued and no longer exists: its session was purged before it could be claimed. */
  async #reportIfPurged(sessionId: string): Promise<void> {
    const queued = this.#queued.get(sessionId)
    if (queued === undefined || (await this.#parts.storage.jobs.job(queued.jobId)) !== undefined) return
    if (this.#queued.get(sessionId) === queued) this.#emit({ ...queued, phase: 'cancelled', code: 'PURGED' })
  }

  async #process(claimed: ClaimedJob, work: Work): Promise<void> {
    const { job } = claimed
    const session = await this.#parts.storage.session(job.sessionId)
    if (session === undefined) return this.#aborted(job, work)
    const code = this.#obsoleteReason(session, claimed)
    if (code !== undefined) return this.#drop(job, work, code)
    const config = runConfig(this.#parts.configuration, session, this.#callOf(claimed))
    const refused =
      config && mayCallModel(config) ? await this.#parts.guard.refusal(session, config) : undefined
    if (refused !== undefined) {
      const afterMs = Math.max(0, refused.until - Date.now())
      return this.#settle(claimed, work, { kind: 'again', code: refused.code, afterMs, isUncounted: true })
    }
    // It was canceled after it was claimed: no `started` event after its end.
    if (work.abort.signal.aborted) return this.#aborted(job, work)
    this.#emit({ phase: 'started', ...about(job), runId: work.runId })
    await this.#settle(claimed, work, await this.#run(claimed, work))
  }

  /** Returns why an automatic job is no longer needed. After an undo or a stale run, the view isn't the one it was queued for. */
  #obsoleteReason(session: Session, { job, request }: ClaimedJob): 'SWITCHED_OFF' | 'HELD_BACK' | undefined {
    if (request.isOffered !== true) return undefined
    const { settings } = this.#parts.configuration.ofSession(session.config)
    const isOn = session.archivedAt === undefined && settings.auto && settings.background !== false
    if (!isOn) return 'SWITCHED_OFF'
    const isOtherView = job.viewEpoch !== session.viewEpoch || request.replans > 0
    return session.undoneAutomatic > 0 && isOtherView ? 'HELD_BACK' : undefined
  }

  async #drop(job: Job, work: Work, code: string): Promise<void> {
    if ((await this.#parts.storage.jobs.cancel(job.id)) === undefined) return this.#aborted(job, work)
    this.#calls.delete(job.id)
    this.#emit({ phase: 'cancelled', ...about(job), code })
  }

  async #run(claimed: ClaimedJob, work: Work): Promise<Outcome> {
    const { job } = claimed
    const call = { ...this.#callOf(claimed), signal: work.abort.signal }
    const runOfJob = { jobId: job.id, runId: work.runId }
    try {
      work.result = await renewing(
        () => this.#renew(job, work),
        () => this.#parts.compactor.compact(job.sessionId, call, runOfJob),
      )
      return outcomeOfResult(work.result, job.attempts)
    } catch (error) {
      return outcomeOfError(error, job.attempts)
    }
  }

  /** Renews the claim of a job, and ends its run if another process took it over. */
  async #renew({ id, sessionId }: Job, work: Work): Promise<void> {
    if (await this.#parts.storage.jobs.renew(sessionId, id, claimOf(work.runId))) return
    work.cause ??= 'lost'
    work.abort.abort()
  }

  #callOf({ job, request }: ClaimedJob): CheckedCall {
    const { signal: _, ...call } = this.#calls.get(job.id) ?? storedCall(request.config)
    return { ...(request.isOffered === true ? call : asRequested(call)), trigger: 'auto' }
  }

  async #settle(claimed: ClaimedJob, work: Work, outcome: Outcome): Promise<void> {
    const { job } = claimed
    const { runId } = work
    const { jobs } = this.#parts.storage
    switch (outcome.kind) {
      case 'lost':
        throw outcome.error
      case 'aborted':
        return this.#aborted(job, work)
      case 'again': {
        const notBefore = Date.now() + outcome.afterMs
        const { code, isUncounted } = outcome
        const isOurs = await jobs.end(job.sessionId, job.id, runId, {
          state: 'queued',
          error: code,
          notBefore,
          isUncounted,
        })
        if (!isOurs) return this.#aborted(job, work)
        this.#emit({ phase: 'queued', ...about(job), notBefore, code })
        return this.schedule(job.sessionId, outcome.afterMs)
      }
      case 'done': {
        const { result, code } = outcome
        // A commit that changed something has already ended the job.
        const isOurs = await jobs.end(job.sessionId, job.id, runId, { state: 'done', error: code })
        const ended = isOurs ? undefined : await jobs.job(job.id)
        if (!isOurs && !(ended?.state === 'done' && ended.runId === runId)) return this.#aborted(job, work)
        this.#calls.delete(job.id)
        const { compacted = false, tokensBefore = 0, tokensAfter = 0 } = result ?? {}
        const figures = { compacted, tokensBefore, tokensAfter, ...defined({ code }) }
        return this.#emit({ phase: 'completed', ...about(job), runId, ...figures })
      }
      default: {
        const { kind, code } = outcome
        const isOurs = await jobs.end(job.sessionId, job.id, runId, { state: kind, error: code })
        // It was canceled, purged or taken over in the meantime: a job ends only once.
        if (!isOurs) return this.#aborted(job, work)
        const call = this.#calls.get(job.id)
        const signal = this.#followed.get(job.id)?.signal
        this.#calls.delete(job.id)
        this.#emit({ phase: kind, ...about(job), code })
        if (kind === 'stale') await this.#requeue(claimed, call, signal)
      }
    }
  }

  async #requeue(
    { job, request }: ClaimedJob,
    call: CheckedCall | undefined,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    if (request.replans >= MAX_REPLANS || this.#isClosed) return
    const { config, replans, isOffered = false } = request
    const next = { call: call ?? storedCall(config), replans: replans + 1, hurry: false, isOffered }
    const { id } = await this.enqueue(job.sessionId, next)
    if (signal !== undefined) this.follow(id, signal)
  }

  async #aborted(job: Job, { cause, runId }: Work): Promise<void> {
    if (cause === 'closing') {
      const end = { state: 'queued', error: undefined, notBefore: Date.now(), isUncounted: true } as const
      await this.#parts.storage.jobs.end(job.sessionId, job.id, runId, end)
      return
    }
    this.#calls.delete(job.id)
    // `jobs.cancel` has emitted the event.
    if (cause === 'cancelled' || (await this.#canceling.get(job.id)) !== undefined) return
    const now = cause === 'purged' ? undefined : await this.#parts.storage.jobs.job(job.id)
    const code = now === undefined ? 'PURGED' : now.state === 'cancelled' ? 'CANCELLED' : 'TAKEN_OVER'
    this.#emit({ phase: 'cancelled', ...about(job), code })
  }

  /** Cancels an open job, so that it changes nothing; returns `undefined` if it is over. */
  async cancel(jobId: string): Promise<Job | undefined> {
    const cancelled = await this.#cancelStored(jobId)
    if (cancelled === undefined) return undefined
    this.#calls.delete(jobId)
    this.#emit({ phase: 'cancelled', ...about(cancelled), code: 'CANCELLED' })
    const mine = this.#works.get(cancelled.sessionId)
    if (mine !== undefined) mine.cancelled = jobId
    await endRun(jobId, running.get(jobId) === mine ? 'cancelled' : 'elsewhere')
    return cancelled
  }

  /** A run that ends in the meantime must not emit its end: `jobs.cancel` does. */
  async #cancelStored(jobId: string): Promise<Job | undefined> {
    const canceling = (async () => this.#parts.storage.jobs.cancel(jobId))()
    this.#canceling.set(jobId, canceling)
    try {
      return await canceling
    } finally {
      this.#canceling.delete(jobId)
    }
  }

  /** When the signal fires, cancels a job, or the job that follows it if it is stale. */
  follow(jobId: string, signal: AbortSignal): void {
    if (this.#followed.has(jobId)) return
    const listener = (): void => {
      // The storage may be closed or unavailable, and no caller waits.
      void this.cancel(jobId).catch(() => undefined)
    }
    this.#followed.set(jobId, { signal, listener })
    if (signal.aborted) listener()
    else signal.addEventListener('abort', listener, { once: true })
  }

  #unfollow(jobId: string): void {
    const followed = this.#followed.get(jobId)
    followed?.signal.removeEventListener('abort', followed.listener)
    this.#followed.delete(jobId)
  }

  forget(sessionId: string): void {
    this.#errors.delete(sessionId)
    clearTimeout(this.#timers.get(sessionId))
    this.#timers.delete(sessionId)
    const work = this.#works.get(sessionId)
    const queued = this.#queued.get(sessionId)
    if (work === undefined) {
      if (queued !== undefined) this.#emit({ ...queued, phase: 'cancelled', code: 'PURGED' })
      return
    }
    work.cause ??= 'purged'
    work.abort.abort()
  }

  /** Starts no more jobs and ends the work in progress; returns `undefined` if there is none. */
  close(timeoutMs: number): Promise<void> | undefined {
    this.#isClosed = true
    for (const timer of this.#timers.values()) clearTimeout(timer)
    this.#timers.clear()
    this.#waiting.clear()
    for (const jobId of [...this.#followed.keys()]) this.#unfollow(jobId)
    return this.#works.size === 0 ? undefined : this.#endAll(timeoutMs)
  }

  /** Waits for the work in progress, then aborts it; its jobs are queued for the next process. */
  async #endAll(timeoutMs: number): Promise<void> {
    if (timeoutMs > 0) await within(Promise.all(this.works()), timeoutMs)
    for (const work of this.#works.values()) {
      work.cause ??= 'closing'
      work.abort.abort()
    }
    await within(Promise.all(this.works()), ENDING_MS)
  }

  #emit(event: JobEvent): void {
    const { sessionId, jobId, attempt } = event
    if (event.phase !== 'queued' && event.phase !== 'started') this.#unfollow(jobId)
    if (event.phase === 'queued') this.#queued.set(sessionId, { sessionId, jobId, attempt })
    else this.#queued.delete(sessionId)
    this.#parts.events.emit('job', event)
  }
}

/** Maximum milliseconds to wait for aborted runs to record their cost, in case the storage doesn't respond. */
const ENDING_MS = 1_000

async function within(promise: Promise<unknown>, ms: number): Promise<void> {
  const limit = timeLimit(ms)
  await Promise.race([promise, limit.passed])
  limit.stop()
}

function claimOf(runId: string): JobClaim {
  return { runId, holder: LEASE_HOLDER, expiresAt: Date.now() + LEASE_MS }
}

function about({ sessionId, id, attempts }: Job): Pick<JobEvent, 'sessionId' | 'jobId' | 'attempt'> {
  return { sessionId, jobId: id, attempt: attempts }
}

/** Returns the part of a call that can be stored: plain data. A summarizer, stages and a signal stay in this process. */
function storableCall(call: CheckedCall): JsonObject {
  const entries = Object.entries(call).filter(([, value]) => jsonProblem(value) === undefined)
  return Object.fromEntries(entries) as JsonObject
}

/** Returns the stored call of a job. A call that this version rejects, because another version stored it, counts as empty. */
function storedCall(config: JsonObject): CheckedCall {
  try {
    return readCall(config, 'jobs.start')
  } catch (error) {
    if (!isUndertextError(error, 'INVALID_INPUT')) throw error
    return {}
  }
}

/** Returns the call of a requested job, which may summarize even if automatic runs may not. */
export function asRequested(call: CheckedCall): CheckedCall {
  return { enableAutoSummarize: true, ...call }
}

type Outcome =
  | { readonly kind: 'done'; readonly result: CompactionResult | null; readonly code: string | undefined }
  /** The job is tried again after `afterMs` milliseconds. `isUncounted`: the run doesn't count as an attempt. */
  | {
      readonly kind: 'again'
      readonly code: string
      readonly afterMs: number
      readonly isUncounted: boolean
    }
  | { readonly kind: 'failed' | 'stale'; readonly code: string }
  /** The run was ended from outside. */
  | { readonly kind: 'aborted' }
  /** The storage is closed or unavailable, so nothing can be recorded. The job is resumed once its claim has expired. */
  | { readonly kind: 'lost'; readonly error: unknown }

function outcomeOfResult(result: CompactionResult | null, attempt: number): Outcome {
  if (result?.reason === 'SUMMARY_FAILED') return retry(result.failed[0]?.error ?? result.reason, attempt)
  return { kind: 'done', result, code: result?.reason }
}

function outcomeOfError(error: unknown, attempt: number): Outcome {
  const code = errorName(error)
  if (!isUndertextError(error)) return retry(code, attempt)
  if (code === 'ABORTED') return { kind: 'aborted' }
  if (code === 'STALE_PLAN') return { kind: 'stale', code }
  if (code === 'STORE_BUSY' || code === 'COMPACTION_IN_PROGRESS')
    return { kind: 'again', code, afterMs: BUSY_MS, isUncounted: true }
  if (code.startsWith('STORE_')) return { kind: 'lost', error }
  return retry(code, attempt)
}

function retry(code: string, attempt: number): Outcome {
  if (attempt >= MAX_ATTEMPTS) return { kind: 'failed', code }
  return { kind: 'again', code, afterMs: RETRY_MS * 2 ** (attempt - 1), isUncounted: false }
}
