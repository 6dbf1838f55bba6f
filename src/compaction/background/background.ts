import { mayAskModel } from '../../config/compaction.ts'
import type { Configuration, ResolvedConfig } from '../../config/resolve.ts'
import { runConfig } from '../../config/run-config.ts'
import type { CheckedCall } from '../../config/settings.ts'
import { DEFAULT_BACKGROUND_THRESHOLD } from '../../config/settings.ts'
import { isUndertextError, UndertextError } from '../../errors.ts'
import type { Events } from '../../events.ts'
import { LEASE_MS } from '../../storage/process.ts'
import type { Job, Session, Storage } from '../../storage/storage.ts'
import { DEFAULT_COMPACTION_THRESHOLD } from '../../tokens/budget.ts'
import type { FillConfig } from '../compactor.ts'
import type { CompactionResult } from '../result.ts'
import type { ContextStats } from '../stats.ts'
import { orAborted, pause } from '../waiting.ts'
import type { Guard } from './guard.ts'
import { asOrdered } from './stored-call.ts'
import { Worker } from './worker.ts'

/** How often somebody who waits for another process's job looks again, milliseconds. */
const POLL_MS = 50
/** Most sessions whose jobs are looked after at once when a store is opened, or waited for. */
const MOST_WAITING = 1_000

type BackgroundPort = {
  readonly storage: Storage
  readonly configuration: Configuration
  readonly events: Events
  readonly guard: Guard
  readonly compact: (sessionId: string, fill: FillConfig) => Promise<CompactionResult | null>
}

/** How long is waited, milliseconds, and what ends the wait. */
type WaitLimits = {
  readonly timeoutMs?: number | undefined
  readonly signal?: AbortSignal | undefined
}

/** Compaction behind the conversation's back: what is offered becomes a job, and jobs are made one after another. */
export class Background {
  readonly #port: BackgroundPort
  readonly #worker: Worker
  /** Offers that are looked at, a session each. */
  readonly #offers = new Map<string, Promise<void>>()
  /** Found out by trying: then jobs are seen, and not made. */
  #isReadonly = false

  constructor(port: BackgroundPort) {
    this.#port = port
    this.#worker = new Worker(port)
    if (this.#isOnForAll()) void this.#takeUp()
  }

  /** Whether this store makes jobs without being asked about a session: those that were left are its to take up. */
  #isOnForAll(): boolean {
    const { settings } = this.#port.configuration.ofStore
    const { enabled, auto, background = settings.summarizer?.usesModel === true } = settings
    return enabled && auto && background
  }

  /** What a process that died, or closed its store, left undone. */
  async #takeUp(): Promise<void> {
    await immediate()
    if (this.#worker.isClosed) return
    try {
      for (const sessionId of await this.#port.storage.jobs.waiting(MOST_WAITING)) await this.#look(sessionId)
    } catch (error) {
      if (!isUndertextError(error)) throw error
    }
  }

  /** Sees to a session's open job: takes it up now, or when its time comes. */
  async #look(sessionId: string): Promise<void> {
    const open = await this.#port.storage.jobs.open(sessionId)
    if (open === undefined) return
    // The process that claimed it may have died unseen: its claim ends within that time.
    if (open.isHeld) return this.#worker.later(sessionId, LEASE_MS)
    const wait = open.job.state === 'queued' ? open.job.notBefore - Date.now() : 0
    this.#worker.later(sessionId, wait)
  }

  /** Never waits, never throws. */
  offer(sessionId: string, stats: ContextStats): void {
    if (this.#worker.isClosed || this.#isReadonly || this.#offers.has(sessionId)) return
    const looking = immediate()
      .then(() => this.#consider(sessionId, stats))
      .catch((error: unknown) => this.#failed(error))
      .finally(() => this.#offers.delete(sessionId))
    this.#offers.set(sessionId, looking)
  }

  async #consider(sessionId: string, stats: ContextStats): Promise<void> {
    const { storage, configuration } = this.#port
    if (this.#worker.isClosed || this.#worker.works(sessionId).length > 0) return
    const session = await storage.session(sessionId)
    if (session === undefined || session.archivedAt !== undefined) return
    const resolved = configuration.ofSession(session.config)
    const { settings } = resolved
    if (!settings.auto || stats.usageRatio < softThreshold(resolved, stats)) return
    // What a user undid is not repeated before the request does not fit.
    if (session.undoneAutomatic > 0 && stats.withinBudget) return
    const config = runConfig(configuration, session, { trigger: 'auto' })
    if (config === undefined) return
    const asksModel = mayAskModel(config)
    if (!(settings.background ?? asksModel)) return
    const [last] = await storage.jobs.list(sessionId, 1)
    if (last?.state === 'queued' || last?.state === 'running') return this.#look(sessionId)
    // A clock that was set back says nothing of how long ago that was.
    const since = last === undefined ? undefined : Date.now() - last.changedAt
    if (since !== undefined && since >= 0 && since < settings.backgroundMinIntervalMs) return
    if (asksModel && (await this.#openUntil(session)) !== undefined) return
    await this.#worker.enqueue(sessionId, { call: {}, replans: 0, hurry: false, isOffered: true })
  }

  /** Nobody waits for an offer, so there is nobody to throw at: what the storage refuses is offered again at the next turn. */
  #failed(error: unknown): void {
    if (!isUndertextError(error)) throw error
    if (error.code === 'STORE_READONLY') this.#isReadonly = true
  }

  /** The circuit of a session, where it is open now. */
  async #openUntil(session: Session, call: CheckedCall = {}) {
    const config = runConfig(this.#port.configuration, session, { ...call, trigger: 'auto' })
    if (config === undefined || !mayAskModel(config)) return undefined
    const circuit = await this.#port.guard.openCircuit(session, config)
    return (circuit?.openUntil ?? 0) > Date.now() ? circuit : undefined
  }

  /** Queues a job on purpose. Throws `CIRCUIT_OPEN`, `ABORTED` and what the storage throws. */
  async start(session: Session, { signal, ...call }: CheckedCall): Promise<Job> {
    const circuit = await this.#openUntil(session, asOrdered(call))
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

  /** Waits for a run of a job of the session, in whichever process. Returns its result, where it was made here. */
  async settle(
    sessionId: string,
    waitMs: number,
    signal: AbortSignal | undefined,
  ): Promise<CompactionResult | null> {
    const deadline = performance.now() + waitMs
    let result: CompactionResult | null = null
    for (;;) {
      const before = this.#worker.works(sessionId)
      const open = await this.#port.storage.jobs.open(sessionId)
      const mine = [...before, ...this.#worker.works(sessionId)]
      const left = deadline - performance.now()
      if (left <= 0 || (open?.isHeld !== true && mine.length === 0)) return result
      for (const work of mine) {
        void work.then((made) => {
          result = made ?? result
        })
      }
      await orAborted(sessionId, this.#change(mine, left), signal)
    }
  }

  /** Waits until no job runs or is due. Answers false when the time was up before. Throws `ABORTED`, and what the storage throws. */
  async whenIdle(sessionId: string | undefined, { timeoutMs, signal }: WaitLimits): Promise<boolean> {
    const deadline = timeoutMs === undefined ? Number.POSITIVE_INFINITY : performance.now() + timeoutMs
    for (;;) {
      if (signal?.aborted) throw new UndertextError('ABORTED', { sessionId: sessionId ?? '' })
      // Before looking, too: an offer that becomes a job while the storage is read is not in what it returns.
      const before = this.#underWay(sessionId)
      const isBusy = await this.#isBusy(sessionId)
      const waited = [...before, ...this.#underWay(sessionId)]
      if (!isBusy && waited.length === 0) return true
      const left = deadline - performance.now()
      if (left <= 0) return false
      await orAborted(sessionId ?? '', this.#change(waited, left), signal)
    }
  }

  /** What this store works at, and offers it looks at. */
  #underWay(sessionId: string | undefined): Promise<unknown>[] {
    const offers = sessionId === undefined ? [...this.#offers.values()] : [this.#offers.get(sessionId)]
    return [...this.#worker.works(sessionId), ...offers.filter((offer) => offer !== undefined)]
  }

  /** Whether a job runs, or is due, which it sees to. Of all sessions only those count that are this store's to look after. */
  async #isBusy(sessionId: string | undefined): Promise<boolean> {
    const { jobs } = this.#port.storage
    const ids = sessionId === undefined ? await jobs.waiting(MOST_WAITING) : [sessionId]
    let isBusy = false
    for (const id of ids) {
      const open = await jobs.open(id)
      if (open === undefined) continue
      const isLater = open.job.state === 'queued' && open.job.notBefore > Date.now()
      if (open.isHeld) isBusy ||= sessionId !== undefined
      else if (!isLater && !this.#worker.isClosed && this.#takes(id)) isBusy = true
    }
    return isBusy
  }

  /** Takes a due job up; answers whether it could be. Throws what the storage said the last time. */
  #takes(sessionId: string): boolean {
    const trouble = this.#worker.trouble(sessionId)
    if (trouble?.code === 'STORE_READONLY') this.#isReadonly = true
    else if (trouble !== undefined) throw trouble
    if (this.#isReadonly) return false
    void this.#worker.take(sessionId)
    return true
  }

  /** Until something of these is over, or it is time to look again. */
  async #change(waited: readonly Promise<unknown>[], leftMs: number): Promise<void> {
    await Promise.race([...waited, pause(Math.min(POLL_MS, leftMs))])
  }

  /** Cancels a job, or a session's open one; `undefined` when none is open. */
  async cancel(target: string): Promise<Job | undefined> {
    const { jobs } = this.#port.storage
    const job = (await jobs.job(target)) ?? (await jobs.open(target))?.job
    return job === undefined ? undefined : this.#worker.cancel(job.id)
  }

  forget(sessionId: string): void {
    this.#port.guard.forget(sessionId)
    this.#worker.forget(sessionId)
  }

  /** Keeps its promise once nothing of this store's is at work any more; `undefined` when nothing is. */
  close(timeoutMs: number): Promise<void> | undefined {
    return this.#worker.close(timeoutMs)
  }
}

function immediate(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/**
 * The usage from which a session is compacted in the background. One that nobody said stays as far below the threshold at which
 * compaction is due as 0.7 is below 0.8.
 */
function softThreshold(
  { settings, sources }: ResolvedConfig,
  { threshold }: Pick<ContextStats, 'threshold'>,
): number {
  if (sources.backgroundThreshold !== 'default') return settings.backgroundThreshold
  const following = (threshold * DEFAULT_BACKGROUND_THRESHOLD) / DEFAULT_COMPACTION_THRESHOLD
  return Math.min(DEFAULT_BACKGROUND_THRESHOLD, following)
}
