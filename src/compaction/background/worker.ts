import { AsyncLocalStorage } from 'node:async_hooks'
import { v7 as uuidv7 } from 'uuid'
import { type CheckedConfig, mayAskModel } from '../../config/compaction.ts'
import type { Configuration } from '../../config/resolve.ts'
import { runConfig } from '../../config/run-config.ts'
import type { CheckedCall } from '../../config/settings.ts'
import { isUndertextError, type UndertextError } from '../../errors.ts'
import type { Events, JobEvent } from '../../events.ts'
import { MAX_TIMER_MS } from '../../messages/timer.ts'
import { claimName, LEASE_HOLDER, LEASE_MS, liveRuns, RENEW_MS } from '../../storage/process.ts'
import type { ClaimedJob, Job, JobClaim, Session, Storage } from '../../storage/storage.ts'
import type { FillConfig } from '../compactor.ts'
import type { CompactionResult } from '../result.ts'
import { timeLimit } from '../waiting.ts'
import type { Guard } from './guard.ts'
import { MOST_ATTEMPTS, MOST_REPLANS, type Outcome, outcomeOfError, outcomeOfResult } from './outcome.ts'
import { asOrdered, storableCall, storedCall } from './stored-call.ts'

/** Jobs a store works at at the same time; the others wait in line. */
const MOST_AT_ONCE = 4

type WorkerPort = {
  readonly storage: Storage
  readonly configuration: Configuration
  readonly events: Events
  readonly guard: Guard
  readonly compact: (sessionId: string, fill: FillConfig) => Promise<CompactionResult | null>
}

/** Why a run was ended from outside. */
type Cause = 'cancelled' | 'elsewhere' | 'closing' | 'purged' | 'lost'

/** A session somebody works at. */
type Work = {
  readonly abort: AbortController
  cause: Cause | undefined
  /** The job that was cancelled while this was about to claim it. */
  cancelled?: string
  /** What its run came to. */
  result: CompactionResult | null
  readonly done: Promise<CompactionResult | null>
}

/** The jobs of this thread, whichever store works at them: so that another store on the same file can end them. */
const atWork = new Map<string, Work>()

/** Ends the run of a job of this thread; answers once it is over. */
async function endRun(jobId: string, cause: Cause): Promise<void> {
  const work = atWork.get(jobId)
  if (work === undefined) return
  work.cause ??= cause
  work.abort.abort()
  await work.done
}

/** Takes jobs up and makes them, one a session. */
export class Worker {
  readonly #port: WorkerPort
  readonly #works = new Map<string, Work>()
  /** Sessions that wait for their turn. */
  readonly #line = new Set<string>()
  readonly #timers = new Map<string, NodeJS.Timeout>()
  /** What jobs of this store were asked for that cannot be stored: a summarizer, stages. */
  readonly #given = new Map<string, CheckedCall>()
  /** A job begins in nobody's call, whoever offered it. */
  readonly #outside = AsyncLocalStorage.snapshot()
  /** Signals that cancel jobs. */
  readonly #followed = new Map<string, { readonly signal: AbortSignal; readonly listener: () => void }>()
  /** Jobs of which was told that they are queued, and nothing since: one a session. */
  readonly #queued = new Map<string, Pick<JobEvent, 'sessionId' | 'jobId' | 'attempt'>>()
  /** Jobs that are being cancelled by this store, and what came of it. */
  readonly #cancelling = new Map<string, Promise<Job | undefined>>()
  #isClosed = false
  /** Why the storage could not be worked with when a session's job was taken up last. */
  readonly #troubles = new Map<string, UndertextError>()

  constructor(port: WorkerPort) {
    this.#port = port
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** What the storage said when the session's job was taken up last, if it could not be; said once. */
  trouble(sessionId: string): UndertextError | undefined {
    const trouble = this.#troubles.get(sessionId)
    this.#troubles.delete(sessionId)
    return trouble
  }

  /** What is at work now: a promise a session. */
  works(sessionId?: string): Promise<CompactionResult | null>[] {
    const works = sessionId === undefined ? [...this.#works.values()] : [this.#works.get(sessionId)]
    return works.flatMap((work) => (work === undefined ? [] : [work.done]))
  }

  /** Queues a job, and sees to it that it is made. Throws what the storage throws. */
  async enqueue(
    sessionId: string,
    asked: {
      readonly call: CheckedCall
      readonly replans: number
      readonly hurry: boolean
      readonly isOffered?: boolean
    },
  ): Promise<Job> {
    const { call, replans, hurry, isOffered = false } = asked
    const request = { config: storableCall(call), replans, isOffered }
    const { job, isNew } = await this.#port.storage.jobs.enqueue(
      sessionId,
      { id: uuidv7(), request, notBefore: Date.now() },
      hurry,
    )
    if (isNew) {
      this.#given.set(job.id, call)
      this.#emit({ phase: 'queued', ...about(job), notBefore: job.notBefore })
    }
    this.later(sessionId, job.notBefore - Date.now())
    return job
  }

  /** Looks after a session's job in so many milliseconds. The timer keeps no process alive: the job is in the store. */
  later(sessionId: string, ms: number): void {
    if (this.#isClosed) return
    clearTimeout(this.#timers.get(sessionId))
    const timer = setTimeout(
      () => {
        this.#timers.delete(sessionId)
        void this.take(sessionId)
      },
      Math.min(Math.max(ms, 0), MAX_TIMER_MS),
    )
    // What is due at once begins before the process may end.
    if (ms > 0) timer.unref()
    this.#timers.set(sessionId, timer)
  }

  /** Takes the session's job up, when there is one that is due, and makes it. Never throws. */
  take(sessionId: string): Promise<unknown> {
    const current = this.#works.get(sessionId)
    if (current !== undefined) return current.done
    if (this.#isClosed) return Promise.resolve()
    if (this.#works.size >= MOST_AT_ONCE) {
      this.#line.add(sessionId)
      return Promise.resolve()
    }
    this.#line.delete(sessionId)
    let end = (_result: CompactionResult | null): void => undefined
    const done = new Promise<CompactionResult | null>((resolve) => {
      end = resolve
    })
    const work: Work = { abort: new AbortController(), cause: undefined, result: null, done }
    this.#works.set(sessionId, work)
    const over = (): void => {
      this.#works.delete(sessionId)
      end(work.result)
      for (const next of this.#line) void this.take(next)
    }
    void this.#outside(() => this.#work(sessionId, work)).finally(over)
    return done
  }

  async #work(sessionId: string, work: Work): Promise<void> {
    this.#troubles.delete(sessionId)
    const runId = uuidv7()
    const name = claimName(runId)
    liveRuns.add(name)
    let jobId: string | undefined
    let claimed: ClaimedJob | undefined
    try {
      claimed = await this.#port.storage.jobs.claim(sessionId, claimOf(runId), MOST_ATTEMPTS)
      if (claimed === undefined) return await this.#notClaimed(sessionId)
      const { job, isExhausted } = claimed
      if (isExhausted) {
        this.#given.delete(job.id)
        this.#emit({ phase: 'failed', ...about(job), code: job.error ?? 'EXPIRED' })
        return
      }
      jobId = job.id
      atWork.set(jobId, work)
      if (work.cancelled === jobId) {
        work.cause ??= 'cancelled'
        work.abort.abort()
      }
      await this.#make(claimed, runId, work)
    } catch (error) {
      if (!isUndertextError(error)) throw error
      if (error.code === 'SESSION_NOT_FOUND' && claimed !== undefined)
        return this.#aborted(claimed.job, runId, work)
      // The storage is closed, busy or gone. The job stays where it is, and is taken up when its claim is over.
      if (!this.#isClosed) this.#troubles.set(sessionId, error)
    } finally {
      liveRuns.delete(name)
      if (jobId !== undefined && atWork.get(jobId) === work) atWork.delete(jobId)
    }
  }

  /** A job that was announced as queued and no longer exists: its session was purged before it could be claimed. */
  async #notClaimed(sessionId: string): Promise<void> {
    const queued = this.#queued.get(sessionId)
    if (queued === undefined || (await this.#port.storage.jobs.job(queued.jobId)) !== undefined) return
    if (this.#queued.get(sessionId) === queued) this.#emit({ ...queued, phase: 'cancelled', code: 'PURGED' })
  }

  async #make(claimed: ClaimedJob, runId: string, work: Work): Promise<void> {
    const { job } = claimed
    const session = await this.#port.storage.session(job.sessionId)
    if (session === undefined) return this.#aborted(job, runId, work)
    const code = this.#whyUnwanted(session, claimed)
    if (code !== undefined) return this.#unwanted(job, runId, work, code)
    const refused = await this.#refusal(session, claimed)
    if (refused !== undefined) {
      const wait = Math.max(0, refused.until - Date.now())
      await this.#settle(claimed, runId, work, {
        kind: 'again',
        code: refused.code,
        afterMs: wait,
        isUncounted: true,
      })
      return
    }
    // Cancelled since it was claimed: it does not start behind its end.
    if (work.abort.signal.aborted) return this.#aborted(job, runId, work)
    this.#emit({ phase: 'started', ...about(job), runId })
    await this.#settle(claimed, runId, work, await this.#run(claimed, runId, work))
  }

  /** Why an automatic job is not made any more. The view it was offered for is another one after an undo, and after a run that went stale. */
  #whyUnwanted(session: Session, { job, request }: ClaimedJob): 'SWITCHED_OFF' | 'HELD_BACK' | undefined {
    if (request.isOffered !== true) return undefined
    const { settings } = this.#port.configuration.ofSession(session.config)
    const isOn = session.archivedAt === undefined && settings.auto && settings.background !== false
    if (!isOn) return 'SWITCHED_OFF'
    const isOvertaken = job.viewEpoch !== session.viewEpoch || request.replans > 0
    return session.undoneAutomatic > 0 && isOvertaken ? 'HELD_BACK' : undefined
  }

  async #unwanted(job: Job, runId: string, work: Work, code: string): Promise<void> {
    if ((await this.#port.storage.jobs.cancel(job.id)) === undefined) return this.#aborted(job, runId, work)
    this.#given.delete(job.id)
    this.#emit({ phase: 'cancelled', ...about(job), code })
  }

  async #run(claimed: ClaimedJob, runId: string, work: Work): Promise<Outcome> {
    const { job } = claimed
    const renewal = setInterval(() => void this.#renew(job, runId, work), RENEW_MS)
    renewal.unref()
    try {
      const result = await this.#port.compact(job.sessionId, (session) => {
        const config = this.#configOf(session, claimed)
        return config && { ...config, signal: work.abort.signal, job: { jobId: job.id, runId } }
      })
      work.result = result
      return outcomeOfResult(result, job.attempts)
    } catch (error) {
      return outcomeOfError(error, job.attempts)
    } finally {
      clearInterval(renewal)
    }
  }

  /** A job that is not ours any more is not to cost more. A renewal that fails is no matter: the commit checks the claim itself. */
  async #renew({ id }: Job, runId: string, work: Work): Promise<void> {
    try {
      if (await this.#port.storage.jobs.renew(id, claimOf(runId))) return
      work.cause ??= 'lost'
      work.abort.abort()
    } catch (error) {
      if (!isUndertextError(error)) throw error
    }
  }

  async #refusal(session: Session, claimed: ClaimedJob): ReturnType<Guard['refusal']> {
    const config = this.#configOf(session, claimed)
    return config !== undefined && mayAskModel(config)
      ? this.#port.guard.refusal(session, config, true)
      : undefined
  }

  #configOf(session: Session, { job, request }: ClaimedJob): CheckedConfig | undefined {
    const call = this.#given.get(job.id) ?? storedCall(request.config)
    const { signal: _, ...rest } = call
    const asked = request.isOffered === true ? rest : asOrdered(rest)
    return runConfig(this.#port.configuration, session, { ...asked, trigger: 'auto' })
  }

  /** Notes what became of a try, and tells it. */
  async #settle(claimed: ClaimedJob, runId: string, work: Work, outcome: Outcome): Promise<void> {
    const { job } = claimed
    const { jobs } = this.#port.storage
    switch (outcome.kind) {
      case 'lost':
        throw outcome.error
      case 'aborted':
        return this.#aborted(job, runId, work)
      case 'again': {
        const notBefore = Date.now() + outcome.afterMs
        const { code, isUncounted } = outcome
        const isOurs = await jobs.end(job.id, runId, { state: 'queued', error: code, notBefore, isUncounted })
        if (!isOurs) return this.#aborted(job, runId, work)
        this.#emit({ phase: 'queued', ...about(job), notBefore, code })
        return this.later(job.sessionId, outcome.afterMs)
      }
      case 'done': {
        const { result, code } = outcome
        // With something in force the commit has ended it.
        const isOurs = await jobs.end(job.id, runId, { state: 'done', error: code })
        const ended = isOurs ? undefined : await jobs.job(job.id)
        if (!isOurs && !(ended?.state === 'done' && ended.runId === runId))
          return this.#aborted(job, runId, work)
        this.#given.delete(job.id)
        this.#emit({
          phase: 'completed',
          ...about(job),
          runId,
          compacted: result?.compacted ?? false,
          tokensBefore: result?.tokensBefore ?? 0,
          tokensAfter: result?.tokensAfter ?? 0,
          ...(code !== undefined && { code }),
        })
        return
      }
      default: {
        const { kind, code } = outcome
        const isOurs = await jobs.end(job.id, runId, { state: kind, error: code })
        // Cancelled, purged or taken over meanwhile: it has that end, and no other.
        if (!isOurs) return this.#aborted(job, runId, work)
        const call = this.#given.get(job.id)
        const signal = this.#followed.get(job.id)?.signal
        this.#given.delete(job.id)
        this.#emit({ phase: kind, ...about(job), code })
        if (kind === 'stale') await this.#again(claimed, call, signal)
      }
    }
  }

  async #again(
    { job, request }: ClaimedJob,
    call: CheckedCall | undefined,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    if (request.replans >= MOST_REPLANS || this.#isClosed) return
    const { config, replans, isOffered = false } = request
    const next = { call: call ?? storedCall(config), replans: replans + 1, hurry: false, isOffered }
    const { id } = await this.enqueue(job.sessionId, next)
    if (signal !== undefined) this.follow(id, signal)
  }

  async #aborted(job: Job, runId: string, { cause }: Work): Promise<void> {
    if (cause === 'closing') {
      const notBefore = Date.now()
      await this.#port.storage.jobs.end(job.id, runId, {
        state: 'queued',
        error: undefined,
        notBefore,
        isUncounted: true,
      })
      return
    }
    this.#given.delete(job.id)
    // Who cancelled it here has told of it.
    if (cause === 'cancelled' || (await this.#cancelling.get(job.id)) !== undefined) return
    const now = cause === 'purged' ? undefined : await this.#port.storage.jobs.job(job.id)
    const code = now === undefined ? 'PURGED' : now.state === 'cancelled' ? 'CANCELLED' : 'TAKEN_OVER'
    this.#emit({ phase: 'cancelled', ...about(job), code })
  }

  /** Cancels an open job; `undefined` when it is over. What it was about to change stays as it was. */
  async cancel(jobId: string): Promise<Job | undefined> {
    const cancelled = await this.#cancelled(jobId)
    if (cancelled === undefined) return undefined
    this.#given.delete(jobId)
    this.#emit({ phase: 'cancelled', ...about(cancelled), code: 'CANCELLED' })
    const mine = this.#works.get(cancelled.sessionId)
    if (mine !== undefined) mine.cancelled = jobId
    await endRun(jobId, atWork.get(jobId) === mine ? 'cancelled' : 'elsewhere')
    return cancelled
  }

  /** A run that ends meanwhile must not announce its end: that is done here. */
  async #cancelled(jobId: string): Promise<Job | undefined> {
    const cancelling = (async () => this.#port.storage.jobs.cancel(jobId))()
    this.#cancelling.set(jobId, cancelling)
    try {
      return await cancelling
    } finally {
      this.#cancelling.delete(jobId)
    }
  }

  /** Cancels a job, and what follows it when it goes stale, when the signal fires. */
  follow(jobId: string, signal: AbortSignal): void {
    if (this.#followed.has(jobId)) return
    const listener = (): void => {
      void this.cancel(jobId).catch((error: unknown) => {
        // Nobody waits for it; the storage is closed or out of reach.
        if (!isUndertextError(error)) throw error
      })
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

  /** Ends what is at work on a session that was purged. */
  forget(sessionId: string): void {
    this.#troubles.delete(sessionId)
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

  /** Takes up nothing new, and ends what is at work; `undefined` when nothing is, so that nobody waits. */
  close(timeoutMs: number): Promise<void> | undefined {
    this.#isClosed = true
    for (const timer of this.#timers.values()) clearTimeout(timer)
    this.#timers.clear()
    this.#line.clear()
    for (const jobId of [...this.#followed.keys()]) this.#unfollow(jobId)
    return this.#works.size === 0 ? undefined : this.#end(timeoutMs)
  }

  /** Waits for what is at work, then aborts it; its jobs are queued for the next process. */
  async #end(timeoutMs: number): Promise<void> {
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
    this.#port.events.emit('job', event)
  }
}

/** An aborted run notes what it cost and ends at once; a storage that does not answer is not waited for longer, milliseconds. */
const ENDING_MS = 1_000

async function within(promise: Promise<unknown>, ms: number): Promise<void> {
  const limit = timeLimit(ms)
  await Promise.race([promise, limit.passed])
  limit.stop()
}

function claimOf(runId: string): JobClaim {
  return { runId, holder: LEASE_HOLDER, expiresAt: Date.now() + LEASE_MS }
}

function about({ sessionId, id, attempts }: Job): {
  readonly sessionId: string
  readonly jobId: string
  readonly attempt: number
} {
  return { sessionId, jobId: id, attempt: attempts }
}
