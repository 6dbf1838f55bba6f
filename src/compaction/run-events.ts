import type { RunSettings } from '../config/compaction.ts'
import { type BeforeCompaction, type CompactionEvent, percentOf } from '../events.ts'
import { stageOf } from '../model/plan.ts'
import type { CommitStep, RunStart, Snapshot } from '../storage/storage.ts'
import type { PlannedRun } from './planned-run.ts'

/**
 * What one run tells: `started` once there is something to do, a `stage` for each plan, then `completed` or `failed`, once.
 *
 * A run that asks a model is told of while it goes on: it may take its time, and is planned only once. Any other may be
 * planned again when the view changes under it, so it is told of at its end, in a row.
 */
export class RunTelling {
  readonly #emit: (event: CompactionEvent) => void
  readonly #sessionId: string
  readonly #start: RunStart
  readonly #isLive: boolean
  #settings: RunSettings | undefined
  #tokensBefore = 0
  #waiting: CompactionEvent[] = []
  #hasStarted = false
  #hasEnded = false
  #hasAsked = false

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

  /** A plan is about to be made, perhaps not for the first time. */
  planning(snapshot: Snapshot, settings: RunSettings): void {
    this.#settings = settings
    this.#tokensBefore = snapshot.view.tokens
    if (this.#isLive) return
    this.#waiting = []
    this.#hasStarted = false
  }

  /** Whether a model was asked. */
  get hasAsked(): boolean {
    return this.#hasAsked
  }

  /** A model is asked. */
  asked(): void {
    this.#hasAsked = true
    this.started()
  }

  /** There is something to do. */
  started(): void {
    if (this.#hasStarted || this.#settings === undefined) return
    this.#hasStarted = true
    this.#tell({
      phase: 'started',
      ...this.#figures(this.#tokensBefore),
      trigger: this.#start.trigger,
      targetTokens: this.#settings.targetTokens,
    })
  }

  stage(step: CommitStep): void {
    this.started()
    const tokensAfter = step.after.tokens
    const stage = stageOf(step.plan)
    this.#tell({ phase: 'stage', ...this.#figures(tokensAfter), stage, compactionId: step.id, tokensAfter })
  }

  /** After the commit; `failed` when all that came of it is a summary that failed. Nothing when nothing was to be done. */
  done(planned: PlannedRun): void {
    const { steps, failed, after, settings } = planned
    if (steps.length === 0) {
      if (failed.length > 0) this.failed('SUMMARY_FAILED')
      else if (this.#isLive) this.failed('SAVES_TOO_LITTLE')
      return
    }
    this.started()
    const fallback = fallbackOf(planned)
    this.#end({
      phase: 'completed',
      ...this.#figures(after.tokens),
      tokensAfter: after.tokens,
      compactionIds: steps.map(({ id }) => id),
      reachedTarget: after.tokens <= settings.targetTokens,
      failedSummaries: failed.length,
      ...(fallback !== undefined && { fallback }),
    })
  }

  /** The run ended without anything in force. An error before there was anything to do is no event. */
  failed(code: string): void {
    if (code === 'SUMMARY_FAILED') this.started()
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

  #tell(event: CompactionEvent): void {
    if (this.#isLive) this.#emit(event)
    else this.#waiting.push(event)
  }

  #end(event: CompactionEvent): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    for (const one of this.#waiting) this.#emit(one)
    this.#emit(event)
  }
}

/** What a hook is told of a run. */
export function aboutRun(
  sessionId: string,
  start: RunStart,
  { steps, snapshot, after }: PlannedRun,
): BeforeCompaction {
  return {
    sessionId,
    runId: start.runId,
    trigger: start.trigger,
    tokensBefore: snapshot.view.tokens,
    tokensAfter: after.tokens,
    compactions: steps.map((step) => ({
      id: step.id,
      stage: stageOf(step.plan),
      rowsHidden: step.plan.hide.length,
      partsReplaced: step.plan.replace.length,
      tokensAfter: step.after.tokens,
    })),
  }
}

/** What was done after the first summary that failed: another summarizer's work, or the next stage. */
function fallbackOf({ steps, failed }: PlannedRun): string | undefined {
  const [first] = failed
  if (first === undefined) return undefined
  const names = new Set(failed.map(({ summary }) => summary.summarizer))
  // The view only shrinks: what was planned later starts from no more tokens.
  const next = steps.find(
    ({ before, summary }) =>
      before.tokens <= first.tokensBefore && !(summary && names.has(summary.summarizer)),
  )
  return next === undefined ? undefined : (next.summary?.summarizer ?? stageOf(next.plan))
}
