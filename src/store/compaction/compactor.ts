import { AsyncLocalStorage } from 'node:async_hooks'
import { v7 as uuidv7 } from 'uuid'
import { invalid, isUndertextError, UndertextError } from '../../core/errors.ts'
import { recheckSteps } from '../../core/model/laws.ts'
import type { Lease, RunOfJob, RunStart, Session, Snapshot, Storage } from '../../storage/storage.ts'
import { resolveModel } from '../config/model.ts'
import type { Configuration } from '../config/resolve.ts'
import { mayCallModel, type RunConfig, runConfig } from '../config/run-config.ts'
import type { CheckedCall } from '../config/settings.ts'
import type { CompactionEvent, Events } from '../events.ts'
import { withLease } from '../renew-lease.ts'
import { type Guard, isAutomatic, type RunEnd } from './background/guard.ts'
import { MAX_PLANS } from './direct-compactions.ts'
import { planSession } from './plan-session.ts'
import {
  CompactionPreview,
  type CompactionResult,
  type IdleReason,
  planOfPreview,
  resultOf,
} from './result.ts'
import { type PlannedRun, type SummaryMode, withoutSteps } from './run.ts'
import { beforeCompaction, RunEvents, recordedAttempts, SummaryAttempts } from './run-progress.ts'
import {
  continuesWithoutModel,
  deadlineOf,
  isSameCall,
  LeaseTaken,
  orAborted,
  POLL_MS,
  type Waiting,
  waitForOthers,
  waitForRun,
} from './waiting.ts'

/** The call and the settings of a run, which an equal call may share. */
type Shareable = { readonly call: CheckedCall; readonly settings: Session['config'] }

type ActiveRun = {
  readonly config: RunConfig
  readonly shareable: Shareable | undefined
  readonly result: Promise<CompactionResult | null>
}

type Attempt = {
  readonly config: RunConfig
  readonly start: RunStart
  readonly lease: Lease | undefined
  readonly events: RunEvents
  /** Whether stages that need a model are skipped. */
  readonly skipsModel: boolean
}

/** The run within which a call was made, and the run that encloses that one. */
type EnclosingRun = {
  readonly of: Compactor
  readonly sessionId: string
  readonly outer: EnclosingRun | undefined
}

/** One for all stores: up to Node 22 every instance slows down every promise of the process, even after its store was closed. */
const enclosingRun = new AsyncLocalStorage<EnclosingRun | undefined>()

function withoutRunsOf(compactor: Compactor, run: EnclosingRun | undefined): EnclosingRun | undefined {
  if (run === undefined) return undefined
  const outer = withoutRunsOf(compactor, run.outer)
  return run.of === compactor ? outer : { ...run, outer }
}

/** Carries out compactions: reads, plans, requests summaries, and commits. */
export class Compactor {
  readonly #storage: Storage
  readonly #configuration: Configuration
  readonly #events: Events
  readonly #guard: Guard
  readonly #active = new Map<string, ActiveRun>()

  constructor(storage: Storage, configuration: Configuration, events: Events, guard: Guard) {
    this.#storage = storage
    this.#configuration = configuration
    this.#events = events
    this.#guard = guard
  }

  /**
   * An equal call for the same session shares the active run, unless it limits how long it waits; any other call waits until that run is
   * over, or `waitMs` has passed. An automatic run that has nothing left to do after another automatic run returns the result of that run.
   */
  async compact(sessionId: string, call: CheckedCall, job?: RunOfJob): Promise<CompactionResult | null> {
    const session = await this.#storage.session(sessionId)
    const filled = session && runConfig(this.#configuration, session, call)
    if (filled === undefined) return null
    const config: RunConfig = { ...filled, job }
    const shareable = job === undefined ? { call, settings: session?.config } : undefined
    this.rejectReentry(sessionId)
    let active = this.#active.get(sessionId)
    const hasWaited = active !== undefined
    let earlier: CompactionResult | null = null
    const deadline = deadlineOf(config)
    for (; active !== undefined; active = this.#active.get(sessionId)) {
      const isSame = isSameRun(active.shareable, shareable)
      if (isSame && !limitsWait(config)) return active.result
      if (!isSame && (config.trigger === 'overflow' || config.withoutModel === true)) break
      if (!(await waitForRun(sessionId, active.result, config, deadline))) break
      if (isSame) return active.result
      // The caller of that run receives its error.
      if (isAutomatic(active.config)) earlier = await active.result.catch(() => null)
    }
    const mustFinish = active !== undefined && continuesWithoutModel(config)
    const work = async (): Promise<CompactionResult | null> => {
      const current = hasWaited ? await this.#storage.session(sessionId) : session
      return current === undefined ? null : this.#run(current, config, deadline, mustFinish)
    }
    const own = await this.#exclusive(sessionId, config, work, shareable)
    if (own?.reason !== 'NOTHING_TO_COMPACT' || earlier?.compacted !== true) return own
    if (!isAutomatic(config) || job !== undefined) return own
    const { messages, targetTokens, reachedTarget, fits } = own
    const { offTarget, ...figures } = earlier
    const stillOff = offTarget !== undefined && targetTokens === earlier.targetTokens
    return { ...figures, messages, targetTokens, reachedTarget, fits, ...(stillOff && { offTarget }) }
  }

  async preview(sessionId: string, call: CheckedCall, summarize: boolean): Promise<CompactionPreview | null> {
    const session = await this.#storage.session(sessionId)
    const config = session && runConfig(this.#configuration, session, call)
    if (config === undefined || session === undefined || session.messageCount === 0) return null
    if (!summarize || !config.summarizer!.usesModel)
      return this.#preview(session, config, startOf(config), summarize)
    return this.#withLease(sessionId, config, (start) => this.#preview(session, config, start, true))
  }

  /**
   * Plans a preview of one moment: if the session changes during planning, it is planned again. After a paid summary, or if others keep
   * changing the session, the preview is returned anyway; applying it then fails.
   */
  async #preview(
    session: Session,
    config: RunConfig,
    start: RunStart,
    summarize: boolean,
  ): Promise<CompactionPreview | null> {
    const usesModel = config.summarizer?.usesModel === true
    for (let attempt = 1; ; attempt++) {
      const snapshot = await this.#snapshot(session, config)
      if (snapshot === undefined) return null
      const attempts = new SummaryAttempts(this.#storage, snapshot, start)
      const skipsModel = config.withoutModel === true && usesModel
      const mode: SummaryMode = skipsModel ? 'skip' : summarize ? attempts : 'estimate'
      let planned: PlannedRun
      try {
        planned = await planSession(this.#storage, this.#configuration, snapshot, config, mode)
      } catch (error) {
        await attempts.abandon(undefined, codeOf(error))
        throw error
      }
      await attempts.close(planned)
      const hidden = planned.steps.flatMap(({ plan }) => plan.hide.map(({ key }) => key))
      // Shows the remaining rows without reading the stored rows that would be hidden.
      const view = await this.#storage.view(
        session.id,
        false,
        hidden.filter((key) => key > 0),
      )
      const { incarnation, version } = snapshot.session
      const now = await this.#storage.session(session.id)
      const isLast = attempts.hasCalledModel || attempt === MAX_PLANS
      if (now?.incarnation === incarnation && (now.version === version || isLast))
        return new CompactionPreview(planned, config, start, view)
      if (isLast) throw purged(session.id)
    }
  }

  /** Applies exactly the plans of a preview, and calls the model now if it wasn't called before. */
  async apply(sessionId: string, preview: CompactionPreview): Promise<CompactionResult> {
    const source = planOfPreview(preview)
    if (source === undefined) throw invalid("compactSession: this preview wasn't made by this package")
    const { run: planned, config } = source
    this.rejectReentry(sessionId)
    if (planned.pending.length > 0) {
      await this.#rejectStale(planned)
      return this.#exclusive(sessionId, config, () =>
        this.#withLease(sessionId, config, (start, lease) => {
          const events = this.#eventsOf(sessionId, start, lease)
          const attempt = { config, start, lease, events, skipsModel: false }
          return reportingFailure(events, () => this.#planAndCommit(planned.snapshot, attempt))
        }),
      )
    }
    // If used again (after an undo, for example), it makes new compactions, because the ids of the first ones are taken.
    const start = source.start ?? startOf(config)
    const steps =
      source.start === undefined ? planned.steps.map((step) => ({ ...step, id: uuidv7() })) : planned.steps
    const run = { ...planned, steps }
    const events = this.#eventsOf(sessionId, start, undefined)
    return reportingFailure(events, async () => {
      events.planning(planned.snapshot, planned.settings)
      for (const step of steps) events.stage(step)
      if (!(await this.#isAllowed(start, run, config))) return this.#vetoed(start, run, events)
      await this.#storage.commit(planned.snapshot, { ...start, steps, failed: [] }, undefined)
      source.start = undefined
      events.completed(run)
      return this.#report(start, run)
    })
  }

  /** Before a model is paid for: a preview of a view that has changed can't be applied. */
  async #rejectStale({ snapshot, steps }: PlannedRun): Promise<void> {
    const { id, incarnation, messageCount } = snapshot.session
    const now = await this.#storage.snapshot(id, snapshot.view.provider)
    if (now?.session.incarnation !== incarnation) throw purged(id)
    recheckSteps(id, steps, now.view, messageCount)
  }

  /** Throws `COMPACTION_IN_PROGRESS` for a summarizer that compacts the session it summarizes: it would wait for itself. */
  rejectReentry(sessionId: string): void {
    for (let run = enclosingRun.getStore(); run !== undefined; run = run.outer) {
      if (run.of !== this || run.sessionId !== sessionId) continue
      throw new UndertextError('COMPACTION_IN_PROGRESS', { sessionId, expiresAt: 0 })
    }
  }

  async #exclusive<T extends CompactionResult | null>(
    sessionId: string,
    config: RunConfig,
    work: () => Promise<T>,
    shareable?: Shareable,
  ): Promise<T> {
    const result = enclosingRun.run({ of: this, sessionId, outer: enclosingRun.getStore() }, work)
    const entry = { config, shareable, result }
    // A run that didn't wait for the active one doesn't replace it.
    if (!this.#active.has(sessionId)) this.#active.set(sessionId, entry)
    try {
      return await result
    } finally {
      if (this.#active.get(sessionId) === entry) this.#active.delete(sessionId)
    }
  }

  /** Returns the view at one moment, counted for the run's provider; `undefined` for a session without messages. */
  async #snapshot(session: Session, config: RunConfig): Promise<Snapshot | undefined> {
    const keyOf = (one: Session): string =>
      resolveModel(this.#configuration.modelOf(one), config.provider, config.model).key
    const key = keyOf(session)
    const snapshot = await this.#storage.snapshot(session.id, key)
    if (snapshot === undefined || snapshot.session.messageCount === 0) return undefined
    // The session's provider was changed after it was read.
    return keyOf(snapshot.session) === key ? snapshot : this.#snapshot(snapshot.session, config)
  }

  /** `mustFinish`: another run of this store is active, and this one continues beside it without a model. */
  async #run(
    session: Session,
    config: RunConfig,
    deadline: number,
    mustFinish: boolean,
  ): Promise<CompactionResult | null> {
    if (session.messageCount === 0) return null
    const usesModel = mayCallModel(config)
    const withoutModel = (): Promise<CompactionResult | null> =>
      this.#plan(session, config, startOf(config), undefined, usesModel)
    if (config.withoutModel === true) return withoutModel()
    const other = await waitForOthers(this.#storage, session.id, config, deadline)
    if (!usesModel || mustFinish || other !== undefined) return withoutModel()
    // The lease is taken even if the model may not be called: no other run should pay for a view that is changing. For a job, the guard was
    // asked before it was started.
    const isChecked = !isAutomatic(config) || config.job !== undefined
    const skipsModel = !isChecked && (await this.#guard.refusal(session, config)) !== undefined
    const work = (start: RunStart, lease: Lease): Promise<CompactionResult | null> =>
      this.#plan(session, config, start, lease, skipsModel)
    try {
      return await this.#withLease(session.id, config, work, deadline)
    } catch (error) {
      if (error instanceof LeaseTaken && continuesWithoutModel(config)) return withoutModel()
      throw error
    }
  }

  /** Plans and commits. Without a model nothing was paid for, so a stale plan is made again. */
  async #plan(
    session: Session,
    config: RunConfig,
    start: RunStart,
    lease: Lease | undefined,
    skipsModel: boolean,
  ): Promise<CompactionResult | null> {
    const mayReplan = lease === undefined || skipsModel
    const events = this.#eventsOf(session.id, start, mayReplan ? undefined : lease)
    for (let attempt = 1; ; attempt++) {
      const snapshot = await this.#snapshot(session, config)
      if (snapshot === undefined) return null
      const ended = async (end: Omit<RunEnd, 'hasCalledModel'>): Promise<void> => {
        if (!mayCallModel(config)) return
        const { hasCalledModel } = events
        await this.#guard.ended(snapshot.session, config, { hasCalledModel, ...end })
      }
      try {
        const result = await this.#planAndCommit(snapshot, { config, start, lease, events, skipsModel })
        await ended({ result })
        return result
      } catch (error) {
        if (mayReplan && isUndertextError(error, 'STALE_PLAN') && attempt < MAX_PLANS) continue
        events.failed(codeOf(error))
        await ended({ error })
        throw error
      }
    }
  }

  async #planAndCommit(
    snapshot: Snapshot,
    { config, start, lease, events, skipsModel }: Attempt,
  ): Promise<CompactionResult> {
    const attempts = new SummaryAttempts(this.#storage, snapshot, start, events)
    const mode = skipsModel ? 'skip' : attempts
    let planned: PlannedRun | undefined
    let isAllowed: boolean
    try {
      planned = await planSession(this.#storage, this.#configuration, snapshot, config, mode, events)
      isAllowed = await this.#isAllowed(start, planned, config)
      const { steps } = planned
      const failed = recordedAttempts(planned.failed)
      if (!isAllowed) await attempts.abandon(planned, 'VETOED')
      else if (steps.length > 0 || failed.length > 0)
        await this.#storage.commit(snapshot, { ...start, steps, failed }, lease)
    } catch (error) {
      await attempts.abandon(planned, codeOf(error))
      throw error
    }
    if (!isAllowed) return this.#vetoed(start, planned, events)
    events.completed(planned)
    return this.#report(start, planned)
  }

  /** Listeners are outside the run: calls that they make later aren't part of it. */
  #eventsOf(sessionId: string, start: RunStart, lease: Lease | undefined): RunEvents {
    const emit = (event: CompactionEvent): void =>
      enclosingRun.run(withoutRunsOf(this, enclosingRun.getStore()), () =>
        this.#events.emit('compaction', event),
      )
    return new RunEvents(emit, sessionId, start, { isLive: lease !== undefined })
  }

  /** Whether no hook vetoes the run. Hooks are called only for runs that would change the view. */
  async #isAllowed(start: RunStart, planned: PlannedRun, { signal }: RunConfig): Promise<boolean> {
    if (planned.steps.length === 0 || !this.#events.hasHooks) return true
    const allowed = this.#events.allows(beforeCompaction(start, planned))
    return orAborted(planned.snapshot.session.id, allowed, signal)
  }

  #vetoed(start: RunStart, planned: PlannedRun, events: RunEvents): Promise<CompactionResult> {
    events.failed('VETOED')
    return this.#report(start, withoutSteps(planned), 'VETOED')
  }

  /** Returns the result, including messages appended while a summary was written. */
  async #report({ runId }: RunStart, planned: PlannedRun, idle?: IdleReason): Promise<CompactionResult> {
    return resultOf(planned, runId, await this.#storage.view(planned.snapshot.session.id, false), idle)
  }

  /**
   * Runs `work` while no other run calls a model for the session; otherwise that run's summary would be paid for and then be stale. Waits
   * for such a run at most `waitMs` milliseconds; after that, or if the session can't be leased, `work` runs anyway. `hasWaited`: the view
   * may have changed. `isBeside`: another run is still active, and changes by `work` make its summary stale. Runs within `work` must not
   * call a model. Throws `ABORTED` and the errors of `work`.
   */
  async undisturbed<T>(
    sessionId: string,
    waiting: { readonly waitMs: number; readonly signal: AbortSignal | undefined },
    work: (others: BesideOthers) => Promise<T>,
  ): Promise<T> {
    this.rejectReentry(sessionId)
    let hasBegun = false
    const calledAt = performance.now()
    const begin = (isBeside: boolean): Promise<T> => {
      hasBegun = true
      return work({ hasWaited: performance.now() - calledAt > POLL_MS / 2, isBeside })
    }
    try {
      return await this.#withLease(sessionId, waiting, () => begin(false))
    } catch (error) {
      if (hasBegun || !isUndertextError(error) || error.code === 'ABORTED') throw error
      return begin(error instanceof LeaseTaken)
    }
  }

  #withLease<T>(
    sessionId: string,
    config: Waiting & RunOrigin,
    work: (start: RunStart, lease: Lease) => Promise<T>,
    deadline: number = deadlineOf(config),
  ): Promise<T> {
    const start = startOf(config)
    const run = { runId: start.runId, deadline }
    return withLease(this.#storage, sessionId, config, run, (lease) => work(start, lease))
  }
}

/** See `undisturbed`. */
export type BesideOthers = { readonly hasWaited: boolean; readonly isBeside: boolean }

type RunOrigin = Pick<RunConfig, 'trigger' | 'actor' | 'reason' | 'job'>

function startOf({ trigger = 'manual', actor, reason, job }: RunOrigin): RunStart {
  return { runId: job?.runId ?? uuidv7(), trigger, actor, reason, ...(job !== undefined && { job }) }
}

/** Whether two runs would do the same: equal calls for a session with the same settings. */
function isSameRun(a: Shareable | undefined, b: Shareable | undefined): boolean {
  return a !== undefined && b !== undefined && a.settings === b.settings && isSameCall(a.call, b.call)
}

/** Whether a call limits how long it waits for another run, or continues without a model. */
function limitsWait({ waitMs, whenBusy }: RunConfig): boolean {
  return waitMs !== undefined || whenBusy !== undefined
}

function purged(sessionId: string): UndertextError<'STALE_PLAN'> {
  const why = 'the session was purged in the meantime'
  return new UndertextError('STALE_PLAN', { sessionId, why, messageIds: [] })
}

function codeOf(error: unknown): string {
  return isUndertextError(error) ? error.code : 'FAILED'
}

async function reportingFailure<T>(events: RunEvents, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    events.failed(codeOf(error))
    throw error
  }
}
