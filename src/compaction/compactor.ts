import { AsyncLocalStorage } from 'node:async_hooks'
import { v7 as uuidv7 } from 'uuid'
import { type CheckedConfig, mayAskModel } from '../config/compaction.ts'
import { resolveModel } from '../config/model.ts'
import { invalid, isUndertextError, UndertextError } from '../errors.ts'
import { type CompactionEvent, Events } from '../events.ts'
import { recheckSteps } from '../model/laws.ts'
import type { Authorship, Lease, RunStart, Session, Snapshot, Storage, Trigger } from '../storage/storage.ts'
import type { ContextWindows } from '../tokens/windows.ts'
import { Attempts, recorded } from './attempts.ts'
import { hideByHand } from './hide-rows.ts'
import type { SummaryMode } from './plan-summaries.ts'
import { type ModelOf, type PlanningWorld, planWeighed } from './plan-weighed.ts'
import type { PlannedRun } from './planned-run.ts'
import { MOST_PLANS } from './planned-run.ts'
import { CompactionPreview, plannedRunOf } from './preview.ts'
import { type CompactionResult, type IdleReason, resultOf } from './result.ts'
import { aboutRun, RunTelling } from './run-events.ts'
import { isUnasked, type RunEnd, type RunGuard } from './run-guard.ts'
import {
  deadlineOf,
  goesOn,
  isOver,
  isSameRequest,
  LeaseTaken,
  POLL_MS,
  waitForOthers,
  withLease,
} from './run-leases.ts'
import { orAborted } from './waiting.ts'

type Running = { readonly config: CheckedConfig; readonly result: Promise<CompactionResult | null> }

/** Fills in what a call says from the settings beneath it; `undefined` where they switch compaction off. */
export type FillConfig = (session: Session) => CheckedConfig | undefined

/** What concerns all runs of a store. */
type CompactorOptions = {
  readonly contextWindows?: ContextWindows | undefined
  readonly modelOf: ModelOf
  readonly events?: Events | undefined
  readonly guard?: RunGuard | undefined
}

/** A run that a call was made in, and the run that this one was made in. */
type EnclosingRun = {
  readonly of: Compactor
  readonly sessionId: string
  readonly outer: EnclosingRun | undefined
}

/** One for all stores: up to Node 22 every instance makes every promise of the process slower, also after its store was closed. */
const currentRun = new AsyncLocalStorage<EnclosingRun | undefined>()

function withoutRunsOf(compactor: Compactor, run: EnclosingRun | undefined): EnclosingRun | undefined {
  if (run === undefined) return undefined
  const outer = withoutRunsOf(compactor, run.outer)
  return run.of === compactor ? outer : { ...run, outer }
}

/** Carries compactions out: reads, plans, asks for summaries, commits. The walk of design 3.5. */
export class Compactor {
  readonly #storage: Storage
  readonly #events: Events
  readonly #world: PlanningWorld
  readonly #guard: RunGuard | undefined
  readonly #running = new Map<string, Running>()

  constructor(storage: Storage, options: CompactorOptions) {
    this.#storage = storage
    this.#events = options.events ?? new Events()
    this.#world = { storage, modelOf: options.modelOf, contextWindows: options.contextWindows }
    this.#guard = options.guard
  }

  /**
   * The same request for the same session shares the run, unless the call limits how long it waits; another one waits until the run is done,
   * or `waitMs` is over. An automatic run that finds nothing left to do after another automatic run returns the result of that run.
   */
  async compact(sessionId: string, fill: FillConfig): Promise<CompactionResult | null> {
    const filled = await this.#filled(sessionId, fill)
    if (filled === undefined) return null
    this.refuseReentry(sessionId)
    let current = this.#running.get(sessionId)
    let earlier: CompactionResult | null = null
    const deadline = deadlineOf(filled)
    for (; current !== undefined; current = this.#running.get(sessionId)) {
      const isSame = isSameRequest(current.config, filled)
      if (isSame && !limitsWait(filled)) return current.result
      if (!isSame && (filled.trigger === 'overflow' || filled.withoutModel === true)) break
      if (!(await isOver(sessionId, current.result, filled, deadline))) break
      if (isSame) return current.result
      // Whoever asked for it hears of its error.
      if (isUnasked(current.config)) earlier = await current.result.catch(() => null)
    }
    const isFree = current === undefined || !goesOn(filled)
    const own = await this.#exclusive(sessionId, filled, () => this.#run(sessionId, filled, deadline, isFree))
    if (own?.reason !== 'NOTHING_TO_COMPACT' || earlier?.compacted !== true) return own
    if (!isUnasked(filled) || filled.job !== undefined) return own
    const { messages, targetTokens, reachedTarget, fits } = own
    return { ...earlier, messages, targetTokens, reachedTarget, fits }
  }

  async preview(sessionId: string, fill: FillConfig, summarize: boolean): Promise<CompactionPreview | null> {
    const filled = await this.#filled(sessionId, fill)
    if (filled === undefined) return null
    if (!summarize || !filled.summarizer!.usesModel)
      return this.#preview(sessionId, filled, this.#start(filled), summarize)
    if ((await this.#snapshot(sessionId, filled)) === undefined) return null
    return this.#withLease(sessionId, filled, (start) => this.#preview(sessionId, filled, start, true))
  }

  /**
   * A preview shows one moment: when the session was changed while it was planned, it is planned anew. When somebody was
   * paid for it, or others will not stop, it is answered all the same; applying it is refused then.
   */
  async #preview(
    sessionId: string,
    config: CheckedConfig,
    start: RunStart,
    summarize: boolean,
    attempt = 1,
  ): Promise<CompactionPreview | null> {
    const snapshot = await this.#snapshot(sessionId, config)
    if (snapshot === undefined) return null
    const attempts = new Attempts(this.#storage, snapshot, start)
    const mode: SummaryMode = skipsModel(config)
      ? { kind: 'skip' }
      : summarize
        ? attempts.mode()
        : { kind: 'estimate' }
    let planned: PlannedRun
    try {
      planned = await planWeighed(this.#world, snapshot, config, mode)
    } catch (error) {
      await attempts.abandon(undefined, codeOf(error))
      throw error
    }
    await attempts.close(planned)
    const view = await this.#storage.view(sessionId, false, hiddenBy(planned))
    const { incarnation, version } = snapshot.session
    const now = await this.#storage.session(sessionId)
    const isSame = now?.incarnation === incarnation
    if (isSame && (now.version === version || attempts.hasAsked || attempt === MOST_PLANS))
      return new CompactionPreview(planned, config, start, view)
    if (!attempts.hasAsked && attempt < MOST_PLANS)
      return this.#preview(sessionId, config, start, summarize, attempt + 1)
    throw purgedSince(sessionId)
  }

  /** Applies a preview: its very plans, with the model asked now where it was not asked before. */
  async apply(sessionId: string, preview: CompactionPreview): Promise<CompactionResult> {
    const behind = plannedRunOf(preview)
    if (behind === undefined) throw invalid('compactSession: this is no preview made by this package')
    const { run: planned, config } = behind
    this.refuseReentry(sessionId)
    if (planned.pending.length > 0) {
      await this.#refuseStale(planned)
      return this.#exclusive(sessionId, config, () =>
        this.#withLease(sessionId, config, (start, lease) => {
          const telling = this.#telling(sessionId, start, lease)
          return toldOf(telling, () => this.#runOn(planned.snapshot, config, start, lease, telling))
        }),
      )
    }
    // Used a second time (after an undo, say) it makes new compactions: the ids of the first are taken.
    const start = behind.start ?? this.#start(config)
    const steps =
      behind.start === undefined ? planned.steps.map((step) => ({ ...step, id: uuidv7() })) : planned.steps
    const run = { ...planned, steps }
    const telling = this.#telling(sessionId, start, undefined)
    return toldOf(telling, async () => {
      telling.planning(planned.snapshot, planned.settings)
      for (const step of steps) telling.stage(step)
      if (!(await this.#isAllowed(start, run, config))) return this.#vetoed(start, run, telling)
      await this.#storage.commit(planned.snapshot, { ...start, steps, failed: [] }, undefined)
      behind.start = undefined
      telling.done(run)
      return this.#report(sessionId, start, run)
    })
  }

  /** Before a model is paid: a preview of a view that is not there any more cannot be applied. */
  async #refuseStale({ snapshot, steps }: PlannedRun): Promise<void> {
    const now = await this.#storage.snapshot(snapshot.session.id, snapshot.view.provider)
    if (now?.session.incarnation !== snapshot.session.incarnation) throw purgedSince(snapshot.session.id)
    recheckSteps(snapshot.session.id, steps, now.view, snapshot.session.messageCount)
  }

  /** A summarizer that compacts the session it is asked to summarize would wait for itself. Throws `COMPACTION_IN_PROGRESS`. */
  refuseReentry(sessionId: string): void {
    for (let run = currentRun.getStore(); run !== undefined; run = run.outer) {
      if (run.of !== this || run.sessionId !== sessionId) continue
      throw new UndertextError('COMPACTION_IN_PROGRESS', {
        sessionId,
        runId: 'the run this call was made in',
        expiresAt: 0,
      })
    }
  }

  async #exclusive<T extends CompactionResult | null>(
    sessionId: string,
    config: CheckedConfig,
    work: () => Promise<T>,
  ): Promise<T> {
    const result = currentRun.run({ of: this, sessionId, outer: currentRun.getStore() }, work)
    const entry = { config, result }
    // One that does not wait for the run there is, and whatever it does is planned anew, does not take its place.
    if (!this.#running.has(sessionId)) this.#running.set(sessionId, entry)
    try {
      return await result
    } finally {
      if (this.#running.get(sessionId) === entry) this.#running.delete(sessionId)
    }
  }

  /** Hides messages by hand; answers the compaction's id. */
  hide(sessionId: string, messageIds: readonly string[], authorship: Authorship): Promise<string> {
    return hideByHand(this.#storage, this.#world.modelOf, sessionId, messageIds, authorship)
  }

  async #filled(sessionId: string, fill: FillConfig): Promise<CheckedConfig | undefined> {
    const session = await this.#storage.session(sessionId)
    return session === undefined ? undefined : fill(session)
  }

  #start({ trigger = 'manual', actor, reason, job }: CheckedConfig): RunStart {
    const runId = job?.runId ?? uuidv7()
    return { runId, trigger: trigger as Trigger, actor, reason, ...(job !== undefined && { job }) }
  }

  async #snapshot(sessionId: string, config: CheckedConfig): Promise<Snapshot | undefined> {
    const session = await this.#storage.session(sessionId)
    if (session === undefined || session.messageCount === 0) return undefined
    const chosen = resolveModel(this.#world.modelOf(session), config.provider, config.model)
    return this.#storage.snapshot(sessionId, chosen.key)
  }

  /** `isFree`: the run need not go on beside another one of this store. */
  async #run(
    sessionId: string,
    config: CheckedConfig,
    deadline: number,
    isFree: boolean,
  ): Promise<CompactionResult | null> {
    const session = await this.#storage.session(sessionId)
    if (session === undefined || session.messageCount === 0) return null
    const usesModel = mayAskModel(config)
    const withoutModel = (): Promise<CompactionResult | null> =>
      this.#fresh(sessionId, config, this.#start(config), undefined, usesModel)
    if (config.withoutModel === true) return withoutModel()
    const inTheWay = await waitForOthers(this.#storage, sessionId, config, deadline)
    if (!usesModel || !isFree || inTheWay !== undefined) return withoutModel()
    // Also with a model that may not be asked: nobody else is to pay one for what changes under it.
    const skipsModel = !(await this.#admits(session, config))
    try {
      return await this.#withLease(
        sessionId,
        config,
        (start, lease) => this.#fresh(sessionId, config, start, lease, skipsModel),
        deadline,
      )
    } catch (error) {
      // Somebody else was quicker.
      if (!(error instanceof LeaseTaken) || !goesOn(config)) throw error
      return withoutModel()
    }
  }

  /** A job was asked about before it was begun. */
  async #admits(session: Session, config: CheckedConfig): Promise<boolean> {
    if (this.#guard === undefined || !isUnasked(config) || config.job !== undefined) return true
    return this.#guard.admits(session, config)
  }

  /** Plans and commits. Without a model nothing was paid for, so a plan that went stale is simply made again. */
  async #fresh(
    sessionId: string,
    config: CheckedConfig,
    start: RunStart,
    lease: Lease | undefined,
    skipModel = false,
  ): Promise<CompactionResult | null> {
    const asksNobody = lease === undefined || skipModel
    const telling = this.#telling(sessionId, start, asksNobody ? undefined : lease)
    for (let attempt = 1; ; attempt++) {
      const snapshot = await this.#snapshot(sessionId, config)
      if (snapshot === undefined) return null
      const ended = async (end: Omit<RunEnd, 'hasAsked'>): Promise<void> => {
        if (!mayAskModel(config)) return
        await this.#guard?.ended(snapshot.session, config, { hasAsked: telling.hasAsked, ...end })
      }
      try {
        const result = await this.#runOn(snapshot, config, start, lease, telling, skipModel)
        await ended({ result })
        return result
      } catch (error) {
        const again = asksNobody && isUndertextError(error, 'STALE_PLAN') && attempt < MOST_PLANS
        if (again) continue
        telling.failed(codeOf(error))
        await ended({ error })
        throw error
      }
    }
  }

  async #runOn(
    snapshot: Snapshot,
    config: CheckedConfig,
    start: RunStart,
    lease: Lease | undefined,
    telling: RunTelling,
    skipModel = false,
  ): Promise<CompactionResult> {
    const attempts = new Attempts(this.#storage, snapshot, start)
    const mode: SummaryMode = skipModel ? { kind: 'skip' } : attempts.mode(telling)
    let planned: PlannedRun | undefined
    let isAllowed: boolean
    try {
      planned = await planWeighed(this.#world, snapshot, config, mode, telling)
      isAllowed = await this.#isAllowed(start, planned, config)
      if (!isAllowed) await attempts.abandon(planned, 'VETOED')
      else if (planned.steps.length > 0 || recorded(planned).length > 0) {
        await this.#storage.commit(
          snapshot,
          { ...start, steps: planned.steps, failed: recorded(planned) },
          lease,
        )
      }
    } catch (error) {
      await attempts.abandon(planned, codeOf(error))
      throw error
    }
    if (!isAllowed) return this.#vetoed(start, planned, telling)
    telling.done(planned)
    return this.#report(snapshot.session.id, start, planned)
  }

  /** Listeners are outside of the run: what they call later is not part of it. */
  #telling(sessionId: string, start: RunStart, lease: Lease | undefined): RunTelling {
    const emit = (event: CompactionEvent): void =>
      currentRun.run(withoutRunsOf(this, currentRun.getStore()), () => this.#events.emit('compaction', event))
    return new RunTelling(emit, sessionId, start, { isLive: lease !== undefined })
  }

  /** Whether no hook vetoes. Asked only for what would change the view. */
  async #isAllowed(start: RunStart, planned: PlannedRun, { signal }: CheckedConfig): Promise<boolean> {
    if (planned.steps.length === 0 || !this.#events.hasHooks) return true
    const sessionId = planned.snapshot.session.id
    let isAllowed = false
    const asking = this.#events.allows(aboutRun(sessionId, start, planned)).then((answer) => {
      isAllowed = answer
    })
    await orAborted(sessionId, asking, signal)
    return isAllowed
  }

  #vetoed(start: RunStart, planned: PlannedRun, telling: RunTelling): Promise<CompactionResult> {
    telling.failed('VETOED')
    const { snapshot } = planned
    const nothing = { ...planned, steps: [], stagesUsed: [], after: snapshot.view }
    return this.#report(snapshot.session.id, start, nothing, 'VETOED')
  }

  /** With what was appended while a summary was asked for. */
  async #report(
    sessionId: string,
    { runId }: RunStart,
    planned: PlannedRun,
    idle?: IdleReason,
  ): Promise<CompactionResult> {
    return resultOf(planned, runId, await this.#storage.view(sessionId, false), idle)
  }

  /**
   * Works while no run of others asks a model about the session: what it answers would be paid for, and stale. Waits for such a run
   * `waitMs` milliseconds at most; then, and where the session cannot be held, it works all the same. `hasWaited` says whether the
   * view may have changed meanwhile. The work's own runs must ask no model. Throws `ABORTED` and what the work throws.
   */
  async undisturbed<T>(
    sessionId: string,
    { waitMs, signal }: { readonly waitMs: number; readonly signal: AbortSignal | undefined },
    work: (hasWaited: boolean) => Promise<T>,
  ): Promise<T> {
    this.refuseReentry(sessionId)
    let hasBegun = false
    const begun = performance.now()
    const begin = (): Promise<T> => {
      hasBegun = true
      return work(performance.now() - begun > POLL_MS / 2)
    }
    try {
      return await this.#withLease(sessionId, { waitMs, ...(signal !== undefined && { signal }) }, begin)
    } catch (error) {
      if (hasBegun || !isUndertextError(error) || error.code === 'ABORTED') throw error
      return begin()
    }
  }

  #withLease<T>(
    sessionId: string,
    config: CheckedConfig,
    work: (start: RunStart, lease: Lease) => Promise<T>,
    deadline: number = deadlineOf(config),
  ): Promise<T> {
    const start = this.#start(config)
    const { runId } = start
    return withLease(this.#storage, sessionId, config, { runId, deadline }, (lease) => work(start, lease))
  }
}

/** Keys of the stored rows that a plan hides: what it leaves is shown without reading them. */
function hiddenBy({ steps }: PlannedRun): number[] {
  return steps.flatMap(({ plan }) => plan.hide.flatMap(({ key }) => (key > 0 ? [key] : [])))
}

/** Whether a run is told to do without the model its summarizer is. */
function skipsModel({ withoutModel, summarizer }: CheckedConfig): boolean {
  return withoutModel === true && summarizer?.usesModel === true
}

/** Whether a call says how long it waits for another run, or what it does then. */
function limitsWait({ waitMs, whenBusy }: CheckedConfig): boolean {
  return waitMs !== undefined || whenBusy !== undefined
}

function purgedSince(sessionId: string): UndertextError<'STALE_PLAN'> {
  const why = 'the session was purged since'
  return new UndertextError('STALE_PLAN', { sessionId, why, messageIds: [] })
}

function codeOf(error: unknown): string {
  return isUndertextError(error) ? error.code : 'FAILED'
}

/** A run whose error is told of as well. */
async function toldOf<T>(telling: RunTelling, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    telling.failed(codeOf(error))
    throw error
  }
}
