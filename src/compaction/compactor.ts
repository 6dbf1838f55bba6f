import { v7 as uuidv7 } from 'uuid'
import { invalid } from '../core/check.ts'
import { canonicalJson } from '../core/json.ts'
import { checkLaws } from '../core/laws.ts'
import type { Plan } from '../core/plan.ts'
import { applyPlan } from '../core/plan.ts'
import { tokensOf } from '../core/tokens.ts'
import { isUndertextError, UndertextError } from '../errors.ts'
import { LEASE_HOLDER } from '../process.ts'
import type { Authorship, Lease, RunStart, Session, Snapshot, Storage, Trigger } from '../storage/storage.ts'
import { extractiveSummarizer } from '../summarizers/extractive.ts'
import type { Summarizer } from '../summarizers/summarizer.ts'
import { type CheckedConfig, resolveModel, resolveSettings, waitMsOf } from './config.ts'
import { type PlannedRun, planRun, type StartedAttempt, type SummaryMode } from './plan-run.ts'
import { CompactionPreview, plannedRunOf } from './preview.ts'
import { type CompactionResult, idleReason, outlineOf } from './result.ts'

/** How long a lease holds without being renewed, and how often it is renewed, milliseconds. */
const LEASE_MS = 60_000
const RENEW_MS = 15_000
/** How often somebody who waits looks again, milliseconds. */
const POLL_MS = 50
/** How often a run without a model is planned anew when somebody changed the view in between. */
const ATTEMPTS = 5

/** Carries compactions out: reads, plans, asks for summaries, commits. The walk of design 3.5. */
export class Compactor {
  readonly #storage: Storage
  readonly #summarizer: Summarizer | undefined
  readonly #running = new Map<
    string,
    { readonly request: string; readonly result: Promise<CompactionResult | null> }
  >()

  constructor(storage: Storage, summarizer: Summarizer | undefined) {
    this.#storage = storage
    this.#summarizer = summarizer
  }

  /** The same request for the same session shares the run; another one waits until it is done. */
  async compact(sessionId: string, config: CheckedConfig): Promise<CompactionResult | null> {
    const filled = this.#fill(config)
    const request = requestKey(filled)
    for (
      let current = this.#running.get(sessionId);
      current !== undefined;
      current = this.#running.get(sessionId)
    ) {
      if (current.request === request && request !== undefined) return current.result
      if (filled.trigger === 'overflow') break
      await settled(current.result)
    }
    const result = this.#run(sessionId, filled)
    const entry = { request: request ?? '', result }
    this.#running.set(sessionId, entry)
    try {
      return await result
    } finally {
      if (this.#running.get(sessionId) === entry) this.#running.delete(sessionId)
    }
  }

  async preview(
    sessionId: string,
    config: CheckedConfig,
    summarize: boolean,
  ): Promise<CompactionPreview | null> {
    const filled = this.#fill(config)
    const snapshot = await this.#snapshot(sessionId, filled)
    if (snapshot === undefined) return null
    const run = this.#start(filled)
    const attempts = new Attempts(this.#storage, snapshot, run)
    const mode: SummaryMode = summarize
      ? { kind: 'write', started: (attempt) => attempts.note(attempt) }
      : { kind: 'estimate' }
    const planned = await this.#plan(snapshot, filled, mode)
    if (summarize) await attempts.close(planned)
    return new CompactionPreview(planned, filled, await this.#storage.view(sessionId, false))
  }

  /** Applies a preview: its very plans, with the model asked now where it was not asked before. */
  async apply(sessionId: string, preview: CompactionPreview): Promise<CompactionResult> {
    const behind = plannedRunOf(preview)
    if (behind === undefined) throw invalid('compactSession: this is no preview made by this package')
    const { run: planned, config } = behind
    if (planned.pending.length > 0) {
      const result = await this.#withLease(sessionId, config, (start, lease) =>
        this.#runOn(planned.snapshot, config, start, lease),
      )
      return result as CompactionResult
    }
    const start = this.#start(config)
    await this.#storage.commit(planned.snapshot, { ...start, steps: planned.steps, failed: [] }, undefined)
    return this.#report(sessionId, start, planned)
  }

  /** Hides messages by hand; answers the compaction's id. */
  async hide(sessionId: string, messageIds: readonly string[], authorship: Authorship): Promise<string> {
    for (let attempt = 1; ; attempt++) {
      const session = await this.#storage.session(sessionId)
      if (session === undefined) throw new UndertextError('SESSION_NOT_FOUND', { sessionId })
      await this.#storage.requireMessages(sessionId, messageIds)
      const snapshot = await this.#storage.snapshot(
        sessionId,
        resolveModel(session, undefined, undefined).provider,
      )
      if (snapshot === undefined) throw new UndertextError('SESSION_NOT_FOUND', { sessionId })
      const plan = manualPlan(sessionId, snapshot, messageIds)
      checkLaws(sessionId, snapshot.view, plan)
      const id = uuidv7()
      const step = { ...applyPlan(snapshot.view, plan, -1, snapshot.nextOrdinal), id, createdAt: Date.now() }
      try {
        const run = { runId: uuidv7(), trigger: 'manual' as const, ...authorship }
        await this.#storage.commit(snapshot, { ...run, steps: [step], failed: [] }, undefined)
        return id
      } catch (error) {
        if (!isUndertextError(error, 'STALE_PLAN') || attempt === ATTEMPTS) throw error
      }
    }
  }

  #fill(config: CheckedConfig): CheckedConfig {
    return { ...config, summarizer: config.summarizer ?? this.#summarizer ?? extractiveSummarizer }
  }

  #start({ trigger = 'manual', actor, reason }: CheckedConfig): RunStart {
    return { runId: uuidv7(), trigger: trigger as Trigger, actor, reason }
  }

  async #snapshot(sessionId: string, config: CheckedConfig): Promise<Snapshot | undefined> {
    const session = await this.#storage.session(sessionId)
    if (session === undefined || session.messageCount === 0) return undefined
    return this.#storage.snapshot(sessionId, resolveModel(session, config.provider, config.model).provider)
  }

  async #run(sessionId: string, config: CheckedConfig): Promise<CompactionResult | null> {
    const session = await this.#storage.session(sessionId)
    if (session === undefined || session.messageCount === 0) return null
    const usesModel =
      (config.enableSummarize ?? true) && config.summarizer!.usesModel && config.summary === undefined
    const inTheWay = await this.#waitForOthers(sessionId, config)
    if (usesModel && inTheWay === undefined) {
      return this.#withLease(sessionId, config, (start, lease) =>
        this.#fresh(sessionId, config, start, lease),
      )
    }
    return this.#fresh(sessionId, config, this.#start(config), undefined, usesModel)
  }

  /** Plans and commits. Without a model nothing was paid for, so a plan that went stale is simply made again. */
  async #fresh(
    sessionId: string,
    config: CheckedConfig,
    start: RunStart,
    lease: Lease | undefined,
    skipModel = false,
  ): Promise<CompactionResult | null> {
    for (let attempt = 1; ; attempt++) {
      const snapshot = await this.#snapshot(sessionId, config)
      if (snapshot === undefined) return null
      try {
        return await this.#runOn(snapshot, config, start, lease, skipModel)
      } catch (error) {
        const again = lease === undefined && isUndertextError(error, 'STALE_PLAN') && attempt < ATTEMPTS
        if (!again) throw error
      }
    }
  }

  async #runOn(
    snapshot: Snapshot,
    config: CheckedConfig,
    start: RunStart,
    lease: Lease | undefined,
    skipModel = false,
  ): Promise<CompactionResult> {
    const attempts = new Attempts(this.#storage, snapshot, start)
    const mode: SummaryMode = skipModel
      ? { kind: 'skip' }
      : { kind: 'write', started: (attempt) => attempts.note(attempt) }
    let planned: PlannedRun | undefined
    try {
      planned = await this.#plan(snapshot, config, mode)
      if (planned.steps.length > 0 || planned.failed.length > 0) {
        await this.#storage.commit(
          snapshot,
          { ...start, steps: planned.steps, failed: planned.failed },
          lease,
        )
      }
    } catch (error) {
      await attempts.abandon(planned, isUndertextError(error) ? error.code : 'FAILED')
      throw error
    }
    return this.#report(snapshot.session.id, start, planned)
  }

  #plan(snapshot: Snapshot, config: CheckedConfig, mode: SummaryMode): Promise<PlannedRun> {
    const settings = resolveSettings(config, snapshot.session, snapshot.view.tokens, snapshot.view.estimator)
    return planRun(this.#storage, snapshot, settings, config, mode)
  }

  /** The figures and the view after the commit, from the rows themselves. */
  async #report(sessionId: string, { runId }: RunStart, planned: PlannedRun): Promise<CompactionResult> {
    const { snapshot, settings } = planned
    const [session, messages] = await Promise.all([
      this.#storage.session(sessionId),
      this.#storage.view(sessionId, false),
    ])
    const { estimator, provider } = snapshot.view
    const { visibleSizes, visibleCount } = session ?? (snapshot.session as Session)
    const tokensBefore = snapshot.view.tokens
    const tokensAfter = tokensOf(visibleSizes, visibleCount, estimator, provider)
    const reason = idleReason(planned)
    return {
      compacted: planned.steps.length > 0,
      stagesUsed: [...planned.stagesUsed],
      tokensBefore,
      tokensAfter,
      tokensSaved: tokensBefore - tokensAfter,
      messages,
      runId,
      compactions: planned.steps.map(outlineOf),
      failed: planned.failed.map(({ id, status, error }) => ({ id, status, error })),
      targetTokens: settings.targetTokens,
      reachedTarget: tokensAfter <= settings.targetTokens,
      fits: tokensAfter <= settings.limitTokens,
      ...(reason !== undefined && { reason }),
    }
  }

  /** Waits for another process's run. An overflow does not wait: it is answered the lease in the way. */
  async #waitForOthers(sessionId: string, config: CheckedConfig): Promise<Lease | undefined> {
    const deadline = Date.now() + waitMsOf(config)
    for (;;) {
      const lease = await this.#storage.leaseInTheWay(sessionId, LEASE_HOLDER)
      if (lease === undefined || config.trigger === 'overflow') return lease
      if (Date.now() >= deadline) {
        throw new UndertextError('COMPACTION_IN_PROGRESS', {
          sessionId,
          runId: lease.runId,
          expiresAt: lease.expiresAt,
        })
      }
      await pause(POLL_MS, config.signal)
    }
  }

  async #withLease<T>(
    sessionId: string,
    config: CheckedConfig,
    work: (start: RunStart, lease: Lease) => Promise<T>,
  ): Promise<T> {
    const start = this.#start(config)
    const newLease = (): Lease => ({
      runId: start.runId,
      holder: LEASE_HOLDER,
      expiresAt: Date.now() + LEASE_MS,
    })
    const deadline = Date.now() + waitMsOf(config)
    for (;;) {
      const inTheWay = await this.#storage.takeLease(sessionId, newLease())
      if (inTheWay === undefined) break
      if (Date.now() >= deadline || config.trigger === 'overflow') {
        throw new UndertextError('COMPACTION_IN_PROGRESS', {
          sessionId,
          runId: inTheWay.runId,
          expiresAt: inTheWay.expiresAt,
        })
      }
      await pause(POLL_MS, config.signal)
    }
    const renewal = setInterval(() => {
      // A renewal that fails is no matter: the commit checks the lease itself.
      void Promise.resolve()
        .then(() => this.#storage.renewLease(sessionId, newLease()))
        .catch(() => undefined)
    }, RENEW_MS)
    renewal.unref()
    try {
      return await work(start, newLease())
    } finally {
      clearInterval(renewal)
      await this.#storage.releaseLease(sessionId, newLease(), start, [])
    }
  }
}

/** The summaries one run asked for. Each is noted before it is asked, and brought to an end whatever happens. */
class Attempts {
  readonly #storage: Storage
  readonly #snapshot: Snapshot
  readonly #run: RunStart
  readonly #open = new Map<string, StartedAttempt>()

  constructor(storage: Storage, snapshot: Snapshot, run: RunStart) {
    this.#storage = storage
    this.#snapshot = snapshot
    this.#run = run
  }

  async note(attempt: StartedAttempt): Promise<void> {
    await this.#storage.noteAttempt(this.#snapshot, this.#run, attempt)
    this.#open.set(attempt.id, attempt)
  }

  /**
   * After a preview that asked a model: what it cost is noted. A summary that was accepted is in force only when
   * the preview is applied; until then its attempt stands as aborted, with the reason `PREVIEWED`.
   */
  async close({ steps, failed }: PlannedRun): Promise<void> {
    if (this.#open.size === 0) return
    const previewed = steps
      .filter(({ id }) => this.#open.has(id))
      .map(({ id, before, summary }) => ({
        id,
        status: 'aborted' as const,
        error: 'PREVIEWED',
        tokensBefore: before.tokens,
        tokensAfter: before.tokens,
        coveredTokens: 0,
        summary: summary!,
      }))
    const { session } = this.#snapshot
    await this.#storage.releaseLease(session.id, undefined, this.#run, [...failed, ...previewed])
  }

  /** After a run that ended in an error: nothing stays "running". */
  async abandon(planned: PlannedRun | undefined, error: string): Promise<void> {
    if (this.#open.size === 0) return
    const summaries = new Map(planned?.steps.map(({ id, summary }) => [id, summary] as const))
    const known = new Map(planned?.failed.map((attempt) => [attempt.id, attempt] as const))
    const ended = [...this.#open.values()].map(({ id, view, summarizer }) => ({
      id,
      status: 'aborted' as const,
      error,
      tokensBefore: view.tokens,
      tokensAfter: view.tokens,
      coveredTokens: 0,
      summary: summaries.get(id) ?? { summarizer },
      ...known.get(id),
    }))
    await this.#storage.releaseLease(this.#snapshot.session.id, undefined, this.#run, ended)
  }
}

function manualPlan(sessionId: string, snapshot: Snapshot, messageIds: readonly string[]): Plan {
  const wanted = new Set(messageIds)
  const hide = snapshot.view.rows.filter((row) => wanted.delete(row.id))
  if (wanted.size > 0) {
    throw new UndertextError('ILLEGAL_BOUNDARY', {
      sessionId,
      why: 'they are hidden already',
      messageIds: [...wanted],
    })
  }
  return { kind: 'manual', hide, replace: [], requires: [], params: {} }
}

/** What makes two requests the same. A request that carries functions or signals is like no other. */
function requestKey({ summarizer, signal, actor, reason, ...config }: CheckedConfig): string | undefined {
  if (signal !== undefined || config.toolDefinitions !== undefined) return undefined
  return canonicalJson({ ...config, summarizer: summarizer?.name })
}

async function settled(promise: Promise<unknown>): Promise<void> {
  try {
    await promise
  } catch {
    // Its own caller hears of it; whoever waits only wants it over.
  }
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, ms)
    function done(): void {
      clearTimeout(timer)
      signal?.removeEventListener('abort', done)
      resolve()
    }
    signal?.addEventListener('abort', done)
  })
}
