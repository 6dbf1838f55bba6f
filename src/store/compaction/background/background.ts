import { isUndertextError, UndertextError } from '../../../core/errors.ts'
import { DEFAULT_COMPACTION_THRESHOLD } from '../../../core/tokens/budget.ts'
import type { SessionName } from '../../../storage/owners.ts'
import { LEASE_MS } from '../../../storage/process.ts'
import type { Job, Session } from '../../../storage/storage.ts'
import type { ResolvedConfig } from '../../config/resolve.ts'
import { mayCallModel, runConfig } from '../../config/run-config.ts'
import { type CheckedCall, DEFAULT_BACKGROUND_THRESHOLD } from '../../config/settings.ts'
import type { IdleOptions } from '../../config/store-options.ts'
import type { CompactionResult } from '../result.ts'
import type { ContextStats } from '../stats.ts'
import { orAborted, POLL_MS, pause } from '../waiting.ts'
import { asRequested, Worker, type WorkerParts } from './worker.ts'

/** Maximum number of sessions whose jobs are resumed when a store is opened, or waited for. */
const MAX_WAITING = 1_000

/** Returns the background work of an owner; for `undefined`, that of every owner whose store is in use. Empty in the store of an owner. */
export type BackgroundOf = (owner: string | undefined) => readonly Background[]

/** Background compaction: offered sessions get a job if they need one, and jobs run one after another. */
export class Background {
  readonly #parts: WorkerParts
  readonly #of: BackgroundOf
  readonly #worker: Worker
  /** Offers being processed, one per session. */
  readonly #offers = new Map<string, Promise<void>>()
  /** Set after a write failed on a read-only storage; no jobs are run then. */
  #isReadonly = false

  constructor(parts: WorkerParts, of: BackgroundOf) {
    this.#parts = parts
    this.#of = of
    this.#worker = new Worker(parts)
    if (this.#isOnByDefault()) this.#resume().catch((error: unknown) => this.#failed(error))
  }

  /** Whether this store runs jobs of all sessions, and so resumes those left by other processes. */
  #isOnByDefault(): boolean {
    const { settings } = this.#parts.configuration.ofStore
    const { enabled, auto, background = settings.summarizer?.usesModel === true } = settings
    return enabled && auto && background
  }

  /** Resumes jobs left by a process that died or closed its store. */
  async #resume(): Promise<void> {
    await immediate()
    if (this.#worker.isClosed) return
    for (const waiting of await this.#parts.storage.jobs.waiting(MAX_WAITING))
      await this.#whose(waiting).#schedule(waiting.id)
  }

  /** Returns the background work of the owner of a session. */
  #whose({ owner }: SessionName): Background {
    return (owner == null ? undefined : this.#of(owner)[0]) ?? this
  }

  /** Starts the open job of a session, now or once it is due. */
  async #schedule(sessionId: string): Promise<void> {
    const open = await this.#parts.storage.jobs.open(sessionId)
    if (open === undefined) return
    // The process that claimed it may have died: its claim expires within this time.
    if (open.isHeld) return this.#worker.schedule(sessionId, LEASE_MS)
    const wait = open.job.state === 'queued' ? open.job.notBefore - Date.now() : 0
    this.#worker.schedule(sessionId, wait)
  }

  /** Queues a job if the session needs one. Never waits, never throws. */
  offer(sessionId: string, stats: ContextStats): void {
    if (this.#worker.isClosed || this.#isReadonly || this.#offers.has(sessionId)) return
    const offer = immediate()
      .then(() => this.#consider(sessionId, stats))
      .catch((error: unknown) => this.#failed(error))
      .finally(() => this.#offers.delete(sessionId))
    this.#offers.set(sessionId, offer)
  }

  async #consider(sessionId: string, stats: ContextStats): Promise<void> {
    const { storage, configuration } = this.#parts
    if (this.#worker.isClosed || this.#worker.works(sessionId).length > 0) return
    const session = await storage.session(sessionId)
    if (session === undefined || session.archivedAt !== undefined) return
    const resolved = configuration.ofSession(session.config)
    const { settings } = resolved
    if (!settings.auto || stats.usageRatio < backgroundThreshold(resolved, stats)) return
    // A compaction that a user undid isn't repeated while the request fits.
    if (session.undoneAutomatic > 0 && stats.withinBudget) return
    const config = runConfig(configuration, session, { trigger: 'auto' })
    if (config === undefined) return
    const usesModel = mayCallModel(config)
    if (!(settings.background ?? usesModel)) return
    const [last] = await storage.jobs.list(sessionId, 1)
    if (last?.state === 'queued' || last?.state === 'running') return this.#schedule(sessionId)
    // After the clock was set back, the elapsed time is unknown.
    const since = last === undefined ? undefined : Date.now() - last.changedAt
    if (since !== undefined && since >= 0 && since < settings.backgroundMinIntervalMs) return
    if (usesModel && (await this.#openUntil(session)) !== undefined) return
    // The threshold of a single call lowers the target of the run that follows it.
    const isOfCall = settings.thresholdTokens === undefined && stats.threshold !== settings.threshold
    const call = isOfCall && stats.threshold <= 1 ? { threshold: stats.threshold } : {}
    await this.#worker.enqueue(sessionId, { call, replans: 0, hurry: false, isOffered: true })
  }

  /** No caller waits for an offer or for resumed jobs, so errors are ignored: the session is offered again at the next turn. */
  #failed(error: unknown): void {
    if (isUndertextError(error, 'STORE_READONLY')) this.#isReadonly = true
  }

  async #openUntil(session: Session, call: CheckedCall = {}) {
    const config = runConfig(this.#parts.configuration, session, { ...call, trigger: 'auto' })
    if (config === undefined || !mayCallModel(config)) return undefined
    const circuit = await this.#parts.guard.openCircuit(session, config)
    return (circuit?.openUntil ?? 0) > Date.now() ? circuit : undefined
  }

  /** Queues a requested job. Throws `CIRCUIT_OPEN`, `ABORTED` and the storage's errors. */
  async start(session: Session, { signal, ...call }: CheckedCall): Promise<Job> {
    const circuit = await this.#openUntil(session, asRequested(call))
    const sessionId = session.id
    if (circuit !== undefined) {
      const { failures, error, openUntil } = circuit
      throw new UndertextError('CIRCUIT_OPEN', { sessionId, failures, error, openUntil: openUntil! })
    }
    if (signal?.aborted) throw new UndertextError('ABORTED', { sessionId })
    const job = await this.#worker.enqueue(sessionId, { call, replans: 0, hurry: true })
    if (signal !== undefined) this.#worker.follow(job.id, signal)
    return job
  }

  /** Waits while a job of the session runs; if it runs in another process, at most `othersMs`. Returns its result if it ran here. */
  async settle(
    sessionId: string,
    waitMs: number,
    signal: AbortSignal | undefined,
    othersMs = waitMs,
  ): Promise<CompactionResult | null> {
    const calledAt = performance.now()
    let result: CompactionResult | null = null
    for (;;) {
      const before = this.#worker.works(sessionId)
      const open = await this.#parts.storage.jobs.open(sessionId)
      const mine = [...before, ...this.#worker.works(sessionId)]
      const left = calledAt + (mine.length > 0 ? waitMs : othersMs) - performance.now()
      if (left <= 0 || (open?.isHeld !== true && mine.length === 0)) return result
      const keep = (made: CompactionResult | null): void => {
        result = made ?? result
      }
      for (const work of mine) work.then(keep, () => undefined)
      await orAborted(sessionId, this.#change(mine, left), signal)
    }
  }

  /** Waits until no job is running or due; returns false if the time runs out first. Throws `ABORTED` and the storage's errors. */
  async whenIdle(sessionId: string | undefined, { timeoutMs, signal }: IdleOptions): Promise<boolean> {
    const deadline = timeoutMs === undefined ? Number.POSITIVE_INFINITY : performance.now() + timeoutMs
    for (;;) {
      if (signal?.aborted) throw new UndertextError('ABORTED', { sessionId: sessionId ?? '' })
      // Read before the storage: an offer may become a job in between, which the storage's answer wouldn't contain.
      const before = this.#liveWork(sessionId)
      const isBusy = await this.#isBusy(sessionId)
      const waited = [...before, ...this.#liveWork(sessionId)]
      if (!isBusy && waited.length === 0) return true
      const left = deadline - performance.now()
      if (left <= 0) return false
      await orAborted(sessionId ?? '', this.#change(waited, left), signal)
    }
  }

  #liveWork(sessionId: string | undefined): Promise<unknown>[] {
    const offers = sessionId === undefined ? [...this.#offers.values()] : [this.#offers.get(sessionId)]
    const own = [...this.#worker.works(sessionId), ...offers.filter((offer) => offer !== undefined)]
    const others = sessionId === undefined ? this.#of(undefined) : []
    return others.reduce<Promise<unknown>[]>((all, one) => all.concat(one.#liveWork(undefined)), own)
  }

  /** Whether a job is running or due; due jobs are started. Without a session, jobs of other processes aren't counted. */
  async #isBusy(sessionId: string | undefined): Promise<boolean> {
    const { jobs } = this.#parts.storage
    const waiting = sessionId === undefined ? await jobs.waiting(MAX_WAITING) : [{ id: sessionId }]
    let isBusy = false
    for (const one of waiting) {
      const { id } = one
      const whose = this.#whose(one)
      const open = await whose.#parts.storage.jobs.open(id)
      if (open === undefined) continue
      const isLater = open.job.state === 'queued' && open.job.notBefore > Date.now()
      if (open.isHeld) isBusy ||= sessionId !== undefined
      else if (!isLater && !this.#worker.isClosed && whose.#start(id)) isBusy = true
    }
    return isBusy
  }

  /** Starts a due job; returns false on a read-only storage. Throws the storage's error of the last start. */
  #start(sessionId: string): boolean {
    const error = this.#worker.takeError(sessionId)
    if (isUndertextError(error, 'STORE_READONLY')) this.#isReadonly = true
    else if (error !== undefined) throw error
    if (this.#isReadonly) return false
    this.#worker.start(sessionId)
    return true
  }

  /** Waits until one of these promises settles, or it is time to poll again. */
  async #change(waited: readonly Promise<unknown>[], leftMs: number): Promise<void> {
    await Promise.race([...waited, pause(Math.min(POLL_MS, leftMs))])
  }

  /** Cancels a job; `undefined` if it isn't open. */
  cancel(jobId: string): Promise<Job | undefined> {
    return this.#worker.cancel(jobId)
  }

  forget(sessionId: string): void {
    this.#parts.guard.forget(sessionId)
    this.#worker.forget(sessionId)
  }

  /** Resolves once this store has no work left; `undefined` if it has none. */
  close(timeoutMs: number): Promise<void> | undefined {
    return this.#worker.close(timeoutMs)
  }
}

function immediate(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** Returns the usage at which a session is compacted in the background. By default it follows the threshold, in the ratio of 0.7 to 0.8. */
function backgroundThreshold(
  { settings, sources }: ResolvedConfig,
  { threshold }: Pick<ContextStats, 'threshold'>,
): number {
  if (sources.backgroundThreshold !== 'default') return settings.backgroundThreshold
  const following = (threshold * DEFAULT_BACKGROUND_THRESHOLD) / DEFAULT_COMPACTION_THRESHOLD
  return Math.min(DEFAULT_BACKGROUND_THRESHOLD, following)
}
