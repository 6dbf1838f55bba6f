import { isUndertextError } from '../errors.ts'
import type { FailedAttempt, RunStart, Snapshot, Storage, SummaryRecord } from '../storage/storage.ts'
import type { StartedAttempt, SummaryMode } from './plan-summaries.ts'
import type { PlannedRun } from './planned-run.ts'
import type { RunTelling } from './run-events.ts'

/** The attempts that are to be on record: a model that was not asked cost nothing and did nothing. */
export function recorded({ failed }: Pick<PlannedRun, 'failed'>): readonly FailedAttempt[] {
  return failed.filter(({ wasAsked }) => wasAsked !== false)
}

/** The summaries one run asked for. Each is noted before it is asked, and brought to an end whatever happens. */
export class Attempts {
  readonly #storage: Storage
  readonly #snapshot: Snapshot
  readonly #run: RunStart
  readonly #open = new Map<string, StartedAttempt>()
  readonly #answers = new Map<string, SummaryRecord>()

  constructor(storage: Storage, snapshot: Snapshot, run: RunStart) {
    this.#storage = storage
    this.#snapshot = snapshot
    this.#run = run
  }

  /** Whether anything was asked that costs. */
  get hasAsked(): boolean {
    return this.#open.size > 0
  }

  /** Asks, and notes what is asked and what was answered. */
  mode(telling?: RunTelling): SummaryMode {
    return {
      kind: 'write',
      started: async (attempt) => {
        await this.#note(attempt)
        telling?.asked()
      },
      answered: (id, record) => this.#answered(id, record),
    }
  }

  /**
   * What was paid is written down at once: a process may be killed before its run ends, and the next one notes the attempt as
   * expired. When that cannot be done now, the end of the run does it.
   */
  async #answered(id: string, record: SummaryRecord): Promise<void> {
    this.#answers.set(id, record)
    if (!this.#open.has(id)) return
    try {
      await this.#storage.noteAnswer(id, record)
    } catch (failure) {
      if (!isUndertextError(failure)) throw failure
    }
  }

  async #note(attempt: StartedAttempt): Promise<void> {
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
    await this.#storage.endAttempts(this.#snapshot, this.#run, [...recorded({ failed }), ...previewed])
  }

  /**
   * After a run that ended in an error: nothing stays "running". When that cannot be noted (the disk is full, say) the
   * caller still hears how the run ended, and the next run notes the attempts as expired.
   */
  async abandon(planned: PlannedRun | undefined, error: string): Promise<void> {
    if (this.#open.size === 0) return
    const known = new Map(planned?.failed.map((attempt) => [attempt.id, attempt] as const))
    const ended = [...this.#open.values()].map(({ id, view, summarizer }) => ({
      id,
      status: 'aborted' as const,
      error,
      tokensBefore: view.tokens,
      tokensAfter: view.tokens,
      coveredTokens: 0,
      summary: this.#answers.get(id) ?? { summarizer },
      ...known.get(id),
    }))
    try {
      await this.#storage.endAttempts(this.#snapshot, this.#run, ended)
    } catch (failure) {
      if (!isUndertextError(failure)) throw failure
    }
  }
}
