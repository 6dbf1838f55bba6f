import { v7 as uuidv7 } from 'uuid'
import type { JsonObject } from '../messages/json.ts'
import type { Plan, PlannedInsert } from '../model/plan.ts'
import type { View } from '../model/view.ts'
import type { ViewRow } from '../model/view-row.ts'
import type { SummaryTask } from '../stages/stage.ts'
import { condensePlan } from '../stages/summarize.ts'
import type { SummaryRecord } from '../storage/storage.ts'
import { extractiveSummarizer } from '../summarizers/extractive.ts'
import type { AnswerProblem, Summarizer } from '../summarizers/summarizer.ts'
import { measureMessage, NO_SIZES } from '../tokens/tokens.ts'
import type { RunDraft } from './run-draft.ts'
import { SummaryMaterial } from './summary-chunks.ts'
import type { WrittenSummary } from './write-summary.ts'
import { askForSummary } from './write-summary.ts'

/** How a run gets its summaries. */
export type SummaryMode =
  /** Call the summarizer. `started` is called before, with the id that the compaction will have. */
  | {
      readonly kind: 'write'
      readonly started?: (attempt: StartedAttempt) => unknown
      /** Called and awaited after each answer, accepted or not, with the cost so far. */
      readonly answered?: (id: string, record: SummaryRecord) => unknown
    }
  /** Do not call a model but insert an empty summary of the maximum size. Summarizers without a model are called. */
  | { readonly kind: 'estimate' }
  /** Run only the stages that need no model. */
  | { readonly kind: 'skip' }

/** A summary that is about to be requested: the id that its compaction will have, and the rows that it replaces. */
export type StartedAttempt = {
  readonly id: string
  readonly view: View
  readonly rows: readonly ViewRow[]
  readonly summarizer: string
}

/** One request for a summary. */
type Question = {
  readonly task: SummaryTask
  readonly summarizer: Summarizer
  /** Why the previous answer was rejected. */
  readonly retryOf?: AnswerProblem
  /** The summarizer or model that this one replaces. */
  readonly insteadOf?: string | undefined
}

/** `failed`: an error, which another request would not change. */
type Outcome = 'accepted' | 'failed' | AnswerProblem

/** Requests the summaries of one run, and adds them to its draft. */
export class SummaryPlanner {
  readonly #draft: RunDraft
  readonly #mode: SummaryMode

  constructor(draft: RunDraft, mode: SummaryMode) {
    this.#draft = draft
    this.#mode = mode
  }

  /**
   * Replaces the rows by a summary and returns whether one was accepted: by the summarizer, by a second request where it supports
   * that, or by the extractive one where `offlineFallback` allows it.
   */
  async condense(task: SummaryTask): Promise<boolean> {
    const summarizer = this.#draft.config.summarizer ?? extractiveSummarizer
    if (this.#mode.kind === 'estimate' && summarizer.usesModel) return this.#estimate(task, summarizer)
    const { insteadOf } = this.#draft.config
    const first = await this.#ask({ task, summarizer, insteadOf })
    if (first === 'accepted') return true
    if (first !== 'failed' && summarizer.asksAgain === true) {
      const second = await this.#ask({ task, summarizer, retryOf: first })
      if (second === 'accepted') return true
    }
    if (this.#draft.config.offlineFallback !== true || summarizer === extractiveSummarizer) return false
    const last = await this.#ask({
      task,
      summarizer: extractiveSummarizer,
      insteadOf: summarizer.name,
    })
    return last === 'accepted'
  }

  /** Calls one summarizer; returns whether its text was accepted, or why not. Accepted or not, it is recorded. */
  async #ask({ task, summarizer, retryOf, insteadOf }: Question): Promise<Outcome> {
    const id = uuidv7()
    this.#draft.throwIfAborted()
    const mode = this.#mode
    const recording = this.#recording(id, task, summarizer)
    const request = { ...this.#requestFor(task, retryOf), calling: recording.begin }
    const material = new SummaryMaterial(summarizer, request.level)
    await this.#draft.readSources(task.rows, (source) => material.add(source))
    const asked = await askForSummary(summarizer, material, request, {
      timeoutMs: this.#draft.config.summaryTimeoutMs,
      signal: this.#draft.config.signal,
      view: this.#draft.view,
      answered: mode.kind === 'write' ? (record) => mode.answered?.(id, record) : undefined,
    })
    const wasAsked = await recording.isRecorded()
    if ('error' in asked) {
      this.#draft.throwIfAborted()
      this.#draft.fail(id, 'failed', asked.error, task, asked.record, wasAsked)
      return 'failed'
    }
    const { written, record } = asked
    const problem = this.#problemOf(task, written)
    if (problem === undefined) {
      this.#addSummaryRow(task, written, id, record, { insteadOf })
      return 'accepted'
    }
    this.#draft.fail(id, problem === 'SUMMARY_NOT_SMALLER' ? 'rejected' : 'failed', problem, task, record)
    return problem
  }

  /**
   * `begin` records once that a model is called. `isRecorded` waits for that and returns whether the request is to be recorded;
   * throws the error of the recording.
   */
  #recording(
    id: string,
    task: SummaryTask,
    summarizer: Summarizer,
  ): { readonly begin: () => Promise<void>; readonly isRecorded: () => Promise<boolean> } {
    let recorded: Promise<void> | undefined
    const record = async (): Promise<void> => {
      if (this.#mode.kind !== 'write' || !summarizer.usesModel) return
      await this.#mode.started?.({ id, view: this.#draft.view, rows: task.rows, summarizer: summarizer.name })
    }
    return {
      begin: () => {
        recorded ??= record()
        return recorded
      },
      isRecorded: async () => {
        await recorded
        return recorded !== undefined || !summarizer.usesModel
      },
    }
  }

  #requestFor(task: SummaryTask, retryOf?: AnswerProblem): Parameters<typeof askForSummary>[2] {
    const { summarizationProvider, summarizationModel } = this.#draft.config
    return {
      sessionId: this.#draft.sessionId,
      sections: this.#draft.settings.stages.summarySections,
      // A second answer must be shorter: the first was too long, or not a summary.
      maxTokens: retryOf === undefined ? task.maxTokens : Math.max(1, Math.floor(task.maxTokens / 2)),
      ...levelOf(task),
      ...(summarizationProvider !== undefined && { provider: summarizationProvider }),
      ...(summarizationModel !== undefined && { model: summarizationModel }),
      ...(retryOf !== undefined && { retryOf }),
    }
  }

  /** A summary that is empty or not smaller than the rows it replaces is rejected. */
  #problemOf(task: SummaryTask, written: WrittenSummary): AnswerProblem | undefined {
    if (written.problem !== undefined) return written.problem
    if (written.text.trim() === '' || written.answer.text.trim() === '') return 'EMPTY_SUMMARY'
    const { sizes } = this.#summaryRow(written.text, {})
    return this.#draft.view.tokensOfRow(sizes) >= task.tokens ? 'SUMMARY_NOT_SMALLER' : undefined
  }

  #addSummaryRow(
    task: SummaryTask,
    written: WrittenSummary,
    id: string,
    record: SummaryRecord,
    { plan, insteadOf }: { readonly plan?: Plan; readonly insteadOf?: string | undefined },
  ): void {
    const insert = this.#summaryRow(written.text, { ...written.metadata, ...levelOf(task) })
    const params = {
      maxTokens: task.maxTokens,
      coveredTokens: task.tokens,
      ...levelOf(task),
      ...(insteadOf !== undefined && { insteadOf }),
      ...task.params,
    }
    this.#draft.add(
      plan === undefined ? condensePlan(task.rows, insert, params) : { ...plan, insert },
      id,
      record,
    )
  }

  /** Adds a text of the caller or of a stage; returns whether it was accepted. */
  accept(task: SummaryTask, written: WrittenSummary, summarizer: string, plan?: Plan): boolean {
    const id = uuidv7()
    const record = { summarizer }
    const problem = this.#problemOf(task, written)
    if (problem === undefined)
      this.#addSummaryRow(task, written, id, record, plan === undefined ? {} : { plan })
    else
      this.#draft.fail(id, problem === 'SUMMARY_NOT_SMALLER' ? 'rejected' : 'failed', problem, task, record)
    return problem === undefined
  }

  #summaryRow(text: string, metadata: JsonObject): PlannedInsert {
    return {
      kind: 'summary',
      role: 'system',
      text,
      metadata,
      sizes: measureMessage({ content: text }, this.#draft.view.estimator),
    }
  }

  async #estimate(task: SummaryTask, summarizer: Summarizer): Promise<true> {
    const sources = await this.#draft.sourcesOf(task.rows)
    this.#draft.addPending({
      summarizer: summarizer.name,
      messages: sources.map(({ shown }) => shown),
      inputTokens: task.tokens,
      maxTokens: task.maxTokens,
    })
    // The largest number of units that are at most maxTokens.
    let units = 0
    for (let step = task.maxTokens; step >= 1; step = Math.floor(step / 2)) {
      while (this.#draft.view.estimator.toTokens(units + step, this.#draft.view.provider) <= task.maxTokens)
        units += step
    }
    const insert: PlannedInsert = {
      kind: 'summary',
      role: 'system',
      text: '',
      metadata: levelOf(task),
      sizes: { ...NO_SIZES, text: units },
    }
    this.#draft.add(condensePlan(task.rows, insert, { ...task.params }), uuidv7())
    return true
  }
}

function levelOf({ level }: SummaryTask): { level?: number } {
  return level === undefined || level === 0 ? {} : { level }
}
