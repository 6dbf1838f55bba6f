import { isUndertextError } from '../../core/errors.ts'
import { defined } from '../../core/messages/json.ts'
import { type PlannedStep, stageOf } from '../../core/model/plan.ts'
import type {
  Attempt,
  CommitStep,
  FailedAttempt,
  RunStart,
  Snapshot,
  Storage,
  SummaryRecord,
} from '../../storage/storage.ts'
import type { RunSettings } from '../config/run-config.ts'
import { type BeforeCompaction, type CompactionEvent, percentOf } from '../events.ts'
import { mediaChange, type PlannedRun, type SummaryListener } from './run.ts'

/**
 * Emits the events of one run: `started` once there is something to do, a `stage` for each plan, then `completed` or `failed`, once.
 *
 * A run that calls a model emits its events as they happen: it may take long, and is planned only once. Any other run may be planned again
 * if the view changes, so it emits all its events at the end.
 */
export class RunEvents {
  readonly #emit: (event: CompactionEvent) => void
  readonly #sessionId: string
  readonly #start: RunStart
  readonly #isLive: boolean
  #settings: RunSettings | undefined
  #tokensBefore = 0
  #pending: CompactionEvent[] = []
  #hasStarted = false
  #hasEnded = false
  hasCalledModel = false

  constructor(
    emit: (event: CompactionEvent) => void,
    sessionId: string,
    start: RunStart,
    options: { readonly isLive: boolean },
  ) {
    this.#emit = emit
    this.#sessionId = sessionId
    this.#start = start
    this.#isLive = options.isLive
  }

  planning(snapshot: Snapshot, settings: RunSettings): void {
    this.#settings = settings
    this.#tokensBefore = snapshot.view.tokens
    if (this.#isLive) return
    this.#pending = []
    this.#hasStarted = false
  }

  modelCalled(): void {
    this.hasCalledModel = true
    this.#started()
  }

  #started(): void {
    if (this.#hasStarted || this.#settings === undefined) return
    this.#hasStarted = true
    this.#send({
      phase: 'started',
      ...this.#figures(this.#tokensBefore),
      trigger: this.#start.trigger,
      targetTokens: this.#settings.targetTokens,
    })
  }

  stage(step: CommitStep): void {
    this.#started()
    const tokensAfter = step.after.tokens
    const stage = stageOf(step.plan)
    this.#send({ phase: 'stage', ...this.#figures(tokensAfter), stage, compactionId: step.id, tokensAfter })
  }

  /** Called after the commit. Emits `failed` if the run produced only failed summaries, and nothing if there was nothing to do. */
  completed(planned: PlannedRun): void {
    const { steps, failed, after, settings } = planned
    if (steps.length === 0) {
      if (failed.length > 0) this.failed('SUMMARY_FAILED')
      else if (this.#isLive) this.failed('SAVES_TOO_LITTLE')
      return
    }
    this.#started()
    this.#end({
      phase: 'completed',
      ...this.#figures(after.tokens),
      tokensAfter: after.tokens,
      ...mediaChange(planned),
      compactionIds: steps.map(({ id }) => id),
      reachedTarget: after.tokens <= settings.targetTokens,
      failedSummaries: failed.length,
      ...defined({
        fallback: fallbackOf(planned),
        invalidatedReasoning: planned.invalidatedReasoning,
      }),
    })
  }

  /** Called if the run ended and changed nothing. An error before there was anything to do emits no event. */
  failed(code: string): void {
    if (code === 'SUMMARY_FAILED') this.#started()
    if (!this.#hasStarted) return
    const tokensAfter = this.#tokensBefore
    this.#end({ phase: 'failed', ...this.#figures(tokensAfter), tokensAfter, code })
  }

  #figures(tokens: number) {
    const { othersTokens, scale, availableTokens } = this.#settings!
    return {
      sessionId: this.#sessionId,
      runId: this.#start.runId,
      tokensBefore: this.#tokensBefore,
      percent: percentOf(Math.round(othersTokens + scale * tokens), availableTokens),
    }
  }

  #send(event: CompactionEvent): void {
    if (this.#isLive) this.#emit(event)
    else this.#pending.push(event)
  }

  #end(event: CompactionEvent): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    for (const one of this.#pending) this.#emit(one)
    this.#emit(event)
  }
}

/** Returns the description of a run that hooks receive before its commit. */
export function beforeCompaction(
  { runId, trigger }: Pick<RunStart, 'runId' | 'trigger'>,
  {
    steps,
    snapshot,
    after,
  }: Pick<PlannedRun, 'snapshot' | 'after'> & {
    readonly steps: readonly (PlannedStep & { readonly id: string })[]
  },
): BeforeCompaction {
  return {
    sessionId: snapshot.session.id,
    runId,
    trigger,
    tokensBefore: snapshot.view.tokens,
    tokensAfter: after.tokens,
    ...mediaChange({ snapshot, after }),
    compactions: steps.map((step) => ({
      id: step.id,
      stage: stageOf(step.plan),
      rowsHidden: step.plan.hide.length,
      partsReplaced: step.plan.replace.length,
      tokensAfter: step.after.tokens,
    })),
  }
}

/** Returns what replaced the first failed summary: the name of another summarizer, or of the next stage. */
function fallbackOf({ steps, failed }: PlannedRun): string | undefined {
  const [first] = failed
  if (first === undefined) return undefined
  const names = new Set(failed.map(({ summary }) => summary.summarizer))
  // The view only shrinks, so a step planned later starts from no more tokens.
  const next = steps.find(
    ({ before, summary }) => before.tokens <= first.tokens && !(summary && names.has(summary.summarizer)),
  )
  return next === undefined ? undefined : (next.summary?.summarizer ?? stageOf(next.plan))
}

/** Returns the failed attempts to record: a model that wasn't called cost nothing. */
export function recordedAttempts(failed: readonly FailedAttempt[]): readonly FailedAttempt[] {
  return failed.filter(({ wasCalled }) => wasCalled !== false)
}

/** The summaries that one run requests. Each is recorded before the model is called, and closed whatever happens. */
export class SummaryAttempts implements SummaryListener {
  readonly #storage: Storage
  readonly #snapshot: Snapshot
  readonly #run: RunStart
  readonly #events: RunEvents | undefined
  readonly #open = new Map<string, Attempt>()
  readonly #answers = new Map<string, SummaryRecord>()

  constructor(storage: Storage, snapshot: Snapshot, run: RunStart, events?: RunEvents) {
    this.#storage = storage
    this.#snapshot = snapshot
    this.#run = run
    this.#events = events
  }

  /** Whether a model was called. */
  get hasCalledModel(): boolean {
    return this.#open.size > 0
  }

  async started(attempt: Attempt): Promise<void> {
    await this.#storage.noteAttempt(this.#snapshot, this.#run, attempt)
    this.#open.set(attempt.id, attempt)
    this.#events?.modelCalled()
  }

  /**
   * Records the cost at once: the process may be killed before its run ends, and the next one marks the attempt as expired. If the storage
   * can't write it now, the end of the run records it.
   */
  async answered(id: string, record: SummaryRecord): Promise<void> {
    this.#answers.set(id, record)
    if (!this.#open.has(id)) return
    await ignoringStorageErrors(() => this.#storage.noteAnswer(this.#snapshot.session.id, id, record))
  }

  /**
   * After a preview that called a model: records its cost. An accepted summary takes effect only when the preview is applied; until then
   * its attempt is recorded as aborted, with the reason `PREVIEWED`.
   */
  async close({ steps, failed }: PlannedRun): Promise<void> {
    if (this.#open.size === 0) return
    const previewed = steps
      .filter(({ id }) => this.#open.has(id))
      .map(({ id, before, summary }) => aborted(id, 'PREVIEWED', before.tokens, summary!))
    const ended = [...recordedAttempts(failed), ...previewed]
    await this.#storage.endAttempts(this.#snapshot, this.#run, ended)
  }

  /**
   * After a run that ended in an error: no attempt stays "running". If that can't be recorded (for example, because the disk is full), the
   * caller still receives the run's error, and the next run marks the attempts as expired.
   */
  async abandon(planned: PlannedRun | undefined, error: string): Promise<void> {
    if (this.#open.size === 0) return
    const failed = new Map(planned?.failed.map((attempt) => [attempt.id, attempt] as const))
    const ended = [...this.#open.values()].map(
      ({ id, view, summarizer }) =>
        failed.get(id) ?? aborted(id, error, view.tokens, this.#answers.get(id) ?? { summarizer }),
    )
    await ignoringStorageErrors(() => this.#storage.endAttempts(this.#snapshot, this.#run, ended))
  }
}

function aborted(id: string, error: string, tokens: number, summary: SummaryRecord): FailedAttempt {
  return { id, status: 'aborted', error, tokens, summary }
}

async function ignoringStorageErrors(work: () => unknown): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (!isUndertextError(error)) throw error
  }
}
