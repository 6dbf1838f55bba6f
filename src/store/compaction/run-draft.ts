import { v7 as uuidv7 } from 'uuid'
import { UndertextError } from '../../core/errors.ts'
import { defined, type JsonObject, listIn } from '../../core/messages/json.ts'
import { type Message, type Part, partsOf } from '../../core/messages/message.ts'
import { overlaid } from '../../core/messages/overlay.ts'
import { checkLaws } from '../../core/model/laws.ts'
import {
  applyPlan,
  type CompactionStage,
  type Plan,
  type PlannedInsert,
  type PlannedReplacement,
} from '../../core/model/plan.ts'
import { firstChange, type InvalidatedReasoning } from '../../core/model/reasoning.ts'
import type { View } from '../../core/model/view.ts'
import type { ViewRow } from '../../core/model/view-row.ts'
import type { SummaryTask } from '../../core/stages/stage.ts'
import { condensePlan, withoutSpareRows } from '../../core/stages/summarize.ts'
import { extractiveSummarizer } from '../../core/summarizers/extractive.ts'
import type { AnswerProblem, Summarizer } from '../../core/summarizers/summarizer.ts'
import { measureMessage, NO_SIZES, type Sizes } from '../../core/tokens/measure.ts'
import type {
  Attempt,
  CommitStep,
  FailedAttempt,
  Snapshot,
  Storage,
  SummaryRecord,
} from '../../storage/storage.ts'
import type { RunConfig, RunSettings } from '../config/run-config.ts'
import { SummaryMaterial, type SummarySource } from './summary-chunks.ts'
import { askForSummary, type SummaryNotes, summaryProblem, type WrittenSummary } from './write-summary.ts'

/** The request to a summarizer that was not made, shown in place of its summary. */
export type PendingSummary = {
  readonly summarizer: string
  /** The messages it would read. */
  readonly messages: readonly Message[]
  readonly inputTokens: number
  /** Maximum tokens of its summary; the figures of the preview count them in full. */
  readonly maxTokens: number
}

/** A run that is planned and not committed. */
export type PlannedRun = {
  readonly snapshot: Snapshot
  readonly settings: RunSettings
  readonly steps: readonly CommitStep[]
  readonly failed: readonly FailedAttempt[]
  readonly stagesUsed: readonly CompactionStage[]
  readonly after: View
  readonly pending: readonly PendingSummary[]
  /** The summarizers' own texts, by the id of the compaction: the inserted rows have notes and the digest besides. */
  readonly ownTexts: ReadonlyMap<string, string>
  /** Tokens of the view, by the estimator, that its provider reported as cached; `undefined` without a report. */
  readonly cachedTokens?: number | undefined
  /** Present when the model checks what precedes its reasoning and the run changes something. */
  readonly invalidatedReasoning?: InvalidatedReasoning | undefined
  /** The run would save less than its minimum, so its plans were dropped. */
  readonly heldBack?: true
}

/** The run with its plans and their texts dropped; failed summaries are kept. */
export function withoutSteps(planned: PlannedRun): PlannedRun {
  const { view } = planned.snapshot
  return { ...planned, steps: [], stagesUsed: [], pending: [], ownTexts: new Map(), after: view }
}

/** What planning reads from a storage, besides the snapshot. */
export type ContentReader = Pick<Storage, 'contents' | 'metadata' | 'shownTexts'>

/** How often the extractive summarizer is asked for less when its summary ends above the target. */
const MOST_SHORTENED = 3

/** Rows whose contents are read at once. */
export const PAGE_ROWS = 500

/**
 * How a run gets its summaries. An object: from the summarizer, and the object is notified. `estimate`: from summarizers without a
 * model; in place of a model's summary, an empty one of the maximum size is inserted. `skip`: only stages without a model run.
 */
export type SummaryMode = SummaryListener | 'estimate' | 'skip'

export type SummaryListener = {
  /** Called and awaited before a model is called. */
  readonly started?: (attempt: Attempt) => unknown
  /** Called and awaited after each answer, accepted or not, with the cost so far. */
  readonly answered?: (id: string, record: SummaryRecord) => unknown
}

/** `failed`: an error, which another request would not change. */
type Outcome = 'accepted' | 'failed' | AnswerProblem

/** What is known of a summary besides its text. */
type SummaryFacts = {
  /** The plan of the stage that wrote it. */
  readonly plan?: Plan | undefined
  /** The summarizer or model that this one replaces. */
  readonly insteadOf?: string | undefined
}

/** A run while it is planned: its steps so far, and the view they leave. Requests the summaries. */
export class RunDraft {
  readonly settings: RunSettings
  readonly config: RunConfig
  readonly mode: SummaryMode
  readonly #storage: ContentReader
  readonly #snapshot: Snapshot
  readonly #onStage: ((step: CommitStep) => void) | undefined
  #view: View
  #ordinal: number
  readonly #steps: CommitStep[] = []
  readonly #failed: FailedAttempt[] = []
  readonly #pending: PendingSummary[] = []
  readonly #ownTexts = new Map<string, string>()
  readonly #used = new Set<CompactionStage>()

  constructor(
    storage: ContentReader,
    snapshot: Snapshot,
    settings: RunSettings,
    config: RunConfig,
    mode: SummaryMode,
    onStage?: (step: CommitStep) => void,
  ) {
    this.#storage = storage
    this.#snapshot = snapshot
    this.settings = settings
    this.config = config
    this.mode = mode
    this.#onStage = onStage
    this.#view = snapshot.view
    this.#ordinal = snapshot.nextOrdinal
  }

  get sessionId(): string {
    return this.#snapshot.session.id
  }

  /** The view after the steps so far. */
  get view(): View {
    return this.#view
  }

  /** The index of the first row that the steps so far change; the length of the view when there is none. */
  get changedFrom(): number {
    const first = firstChange(this.#snapshot.view, this.#view)
    return first < 0 ? this.#view.rows.length : first
  }

  /** The run with the steps so far. */
  result(): PlannedRun {
    return {
      snapshot: this.#snapshot,
      settings: this.settings,
      steps: this.#steps,
      failed: this.#failed,
      stagesUsed: [...this.#used],
      after: this.#view,
      pending: this.#pending,
      ownTexts: this.#ownTexts,
    }
  }

  markUsed(stage: CompactionStage): void {
    this.#used.add(stage)
  }

  /** Adds a plan as the next step. Throws what `checkLaws` throws, and `ABORTED`. */
  add(plan: Plan, id: string, summary?: SummaryRecord): void {
    this.throwIfAborted()
    checkLaws(this.sessionId, this.#view, plan)
    const step = applyPlan(this.#view, plan, -1 - this.#steps.length, this.#ordinal)
    if (plan.insert !== undefined) this.#ordinal += 1
    const committed = { ...step, id, createdAt: Date.now(), summary }
    this.#steps.push(committed)
    this.#view = step.after
    this.#onStage?.(committed)
  }

  /**
   * Replaces the rows by a summary and returns whether one was accepted: by the summarizer, by a second request where it supports
   * that, or by the extractive one where `offlineFallback` allows it.
   */
  async condense(task: SummaryTask): Promise<boolean> {
    const { summarizer = extractiveSummarizer, insteadOf, offlineFallback } = this.config
    if (this.mode === 'estimate' && summarizer.usesModel) return this.#estimate(task, summarizer)
    let outcome = await this.#ask(task, summarizer, insteadOf)
    if (outcome !== 'accepted' && outcome !== 'failed' && summarizer.asksAgain === true)
      outcome = await this.#ask(task, summarizer, undefined, outcome)
    if (outcome !== 'accepted' && offlineFallback === true && summarizer !== extractiveSummarizer)
      outcome = await this.#ask(task, extractiveSummarizer, summarizer.name)
    return outcome === 'accepted'
  }

  /** Replaces the rows by a summary of the extractive summarizer; returns whether it was accepted. */
  async condenseOffline(task: SummaryTask, insteadOf: string | undefined): Promise<boolean> {
    // What a pending summary will contain is not known.
    const isPending = task.rows.some(({ key }) => this.#plannedInsert(key)?.text === '')
    if (isPending) return this.#addEstimated(task)
    return (await this.#ask(task, extractiveSummarizer, insteadOf)) === 'accepted'
  }

  /** Whether summaries were requested, and none was accepted. */
  get hasOnlyFailed(): boolean {
    return this.#failed.length > 0 && this.#steps.every(({ summary }) => summary === undefined)
  }

  /** Adds a text of the caller or of a stage; returns whether it was accepted. */
  accept(task: SummaryTask, written: WrittenSummary, summarizer: string, plan?: Plan): boolean {
    return this.#judge(uuidv7(), task, written, { summarizer }, { plan }) === 'accepted'
  }

  /**
   * Calls one summarizer; returns whether its text was accepted, or why not. Accepted or not, it is recorded. `retryOf`: why the
   * previous answer was rejected. `known`: the material, when it was read for an earlier answer. `shortened`: how often it was asked for less.
   */
  async #ask(
    task: SummaryTask,
    summarizer: Summarizer,
    insteadOf: string | undefined,
    retryOf?: AnswerProblem,
    known?: SummaryMaterial,
    shortened = 0,
  ): Promise<Outcome> {
    const id = uuidv7()
    this.throwIfAborted()
    const { mode } = this
    const listener = typeof mode === 'object' ? mode : {}
    // A call is recorded once, when the model is called.
    let recorded: Promise<void> | undefined
    const record = async (): Promise<void> => {
      if (!summarizer.usesModel) return
      await listener.started?.({ id, view: this.#view, rows: task.rows, summarizer: summarizer.name })
    }
    const calling = (): Promise<void> => {
      if (recorded === undefined) {
        recorded = record()
        // A summarizer that does not wait for it would leave its rejection without a handler until the end of the call.
        recorded.catch(() => undefined)
      }
      return recorded
    }
    const request = { ...this.#requestFor(task, retryOf), calling }
    const material = known ?? (await this.#read(task, summarizer, request.level))
    const asked = await askForSummary(summarizer, material, request, {
      timeoutMs: this.config.summaryTimeoutMs,
      signal: this.config.signal,
      view: this.#view,
      answered: (answer) => listener.answered?.(id, answer),
    })
    // Throws the error of the recording.
    await recorded
    if ('error' in asked) {
      this.throwIfAborted()
      const wasAsked = recorded !== undefined || !summarizer.usesModel
      this.#fail(id, 'failed', asked.error, asked.record, wasAsked)
      return 'failed'
    }
    // Only the extractive summarizer is asked again: a summary by a model is paid once, and what it replaces is recorded before the call.
    const fitting =
      summarizer === extractiveSummarizer ? this.#refitted(task, asked.written, shortened) : undefined
    if (fitting === undefined) return this.#judge(id, task, asked.written, asked.record, { insteadOf })
    return this.#ask(
      fitting,
      summarizer,
      insteadOf,
      retryOf,
      fitting.rows === task.rows ? material : undefined,
      fitting.rows === task.rows ? shortened + 1 : shortened,
    )
  }

  async #read(task: SummaryTask, summarizer: Summarizer, level?: number): Promise<SummaryMaterial> {
    const { readTools, userTools } = this.settings.stages
    const material = new SummaryMaterial(summarizer, { level, readTools, userTools })
    await this.readSources(task.rows, (source) => material.add(source))
    material.end()
    if (material.reader !== undefined || material.log !== undefined)
      await this.readSources(this.#rowsAfter(task), (source) => material.follow(source))
    return material
  }

  /** The rows that the view shows after a task's rows; at most one page. */
  #rowsAfter({ rows }: SummaryTask): readonly ViewRow[] {
    const last = rows.at(-1)
    const at = last === undefined ? undefined : this.#view.indexOf(last.key)
    return at === undefined ? [] : this.#view.rows.slice(at + 1, at + 1 + PAGE_ROWS)
  }

  /** The task for a summary that fits the target better: of fewer rows, or shorter when its text is larger than estimated. */
  #refitted(task: SummaryTask, written: WrittenSummary, shortened: number): SummaryTask | undefined {
    if (task.fillTokens === undefined || summaryProblem(written) !== undefined) return undefined
    const { sizes } = this.#summaryRow(written.text, {})
    const size = this.#view.tokensOfRow({ sizes })
    const over = this.#view.tokens - task.tokens + size - task.fillTokens
    if (over <= 0) return shortened > 0 ? undefined : withoutSpareRows(this.#view, task, size)
    if (shortened >= MOST_SHORTENED) return undefined
    const maxTokens = Math.floor((task.maxTokens * (size - over)) / size) - 1
    return maxTokens < task.maxTokens / 2 ? undefined : { ...task, maxTokens }
  }

  #requestFor(task: SummaryTask, retryOf?: AnswerProblem): Parameters<typeof askForSummary>[2] {
    const { summarizationProvider: provider, summarizationModel: model } = this.config
    return {
      sessionId: this.sessionId,
      sections: this.settings.stages.summarySections,
      userTools: this.settings.stages.userTools,
      // A second answer must be shorter: the first was too long, or not a summary.
      maxTokens:
        retryOf === undefined || retryOf === 'SUMMARY_CONTRADICTS_LOG'
          ? task.maxTokens
          : Math.max(1, Math.floor(task.maxTokens / 2)),
      ...levelOf(task),
      ...defined({ provider, model, retryOf }),
    }
  }

  /** Adds a summary that is not empty and smaller than the rows it replaces; records any other as a failure. */
  #judge(
    id: string,
    task: SummaryTask,
    written: WrittenSummary,
    record: SummaryRecord,
    { plan, insteadOf }: SummaryFacts,
  ): Outcome {
    const { rows, tokens: coveredTokens, maxTokens } = task
    const insert = this.#summaryRow(written.text, { ...written.metadata, ...levelOf(task) })
    const problem =
      summaryProblem(written) ??
      (this.#view.tokensOfRow(insert) >= coveredTokens ? 'SUMMARY_NOT_SMALLER' : undefined)
    if (problem !== undefined) {
      this.#fail(id, problem === 'SUMMARY_NOT_SMALLER' ? 'rejected' : 'failed', problem, record)
      return problem
    }
    const noted = { ...levelOf(task), ...defined({ insteadOf }), ...notesOf(written) }
    const params = { maxTokens, coveredTokens, ...noted, ...task.params }
    this.add(plan === undefined ? condensePlan(rows, insert, params) : { ...plan, insert }, id, record)
    this.#ownTexts.set(id, written.ownText)
    return 'accepted'
  }

  #summaryRow(text: string, metadata: JsonObject, sizes?: Sizes): PlannedInsert {
    const measured = sizes ?? measureMessage({ content: text }, this.#view.estimator)
    return { kind: 'summary', role: 'system', text, metadata, sizes: measured }
  }

  async #estimate(task: SummaryTask, summarizer: Summarizer): Promise<true> {
    const { rows, tokens: inputTokens, maxTokens } = task
    const sources = await this.sourcesOf(rows)
    const messages = sources.map(({ shown }) => shown)
    this.#pending.push({ summarizer: summarizer.name, messages, inputTokens, maxTokens })
    return this.#addEstimated(task)
  }

  /** Adds a summary without text that has the maximum size. */
  #addEstimated(task: SummaryTask): true {
    const { rows, maxTokens } = task
    // The largest number of units that are at most maxTokens.
    const { estimator, provider } = this.#view
    let units = 0
    for (let step = maxTokens; step >= 1; step = Math.floor(step / 2)) {
      while (estimator.toTokens(units + step, provider) <= maxTokens) units += step
    }
    const insert = this.#summaryRow('', levelOf(task), { ...NO_SIZES, text: units })
    this.add(condensePlan(rows, insert, { ...task.params }), uuidv7())
    return true
  }

  /** Records a summary that was not accepted. `wasAsked`: false when the model was not called. */
  #fail(
    id: string,
    status: FailedAttempt['status'],
    error: string,
    summary: SummaryRecord,
    wasAsked = true,
  ): void {
    const { tokens } = this.#view
    this.#failed.push({ ...(!wasAsked && { wasAsked }), id, status, error, tokens, summary })
  }

  /** Throws `ABORTED` after the caller's signal. */
  throwIfAborted(): void {
    if (this.config.signal?.aborted) throw new UndertextError('ABORTED', { sessionId: this.sessionId })
  }

  /** The rows as they are stored, and as the view shows them after the steps so far. */
  async sourcesOf(rows: readonly ViewRow[]): Promise<SummarySource[]> {
    const sources: SummarySource[] = []
    await this.readSources(rows, (source) => sources.push(source))
    return sources
  }

  /** The same, one after another, read in pages: memory does not grow with the rows unless the caller keeps them. */
  async readSources(
    rows: readonly ViewRow[],
    use: (source: SummarySource, row: ViewRow) => unknown,
  ): Promise<void> {
    const planned = new Map<number, PlannedReplacement[]>()
    for (const { plan } of this.#steps) {
      for (const replacement of plan.replace) listIn(planned, replacement.row.key).push(replacement)
    }
    for (let from = 0; from < rows.length; from += PAGE_ROWS) {
      this.throwIfAborted()
      const page = rows.slice(from, from + PAGE_ROWS)
      for (const [i, source] of (await this.#pageOf(page, planned)).entries()) use(source, page[i]!)
    }
  }

  async #pageOf(
    rows: readonly ViewRow[],
    planned: ReadonlyMap<number, readonly PlannedReplacement[]>,
  ): Promise<readonly SummarySource[]> {
    const stored = rows.filter(({ key }) => key > 0)
    const { id } = this.#snapshot.session
    const [contents, metadata, shownTexts] = await Promise.all([
      this.#storage.contents(
        id,
        stored.map(({ key }) => key),
      ),
      this.#storage.metadata(
        id,
        stored.filter(({ kind }) => kind === 'summary').map(({ key }) => key),
      ),
      this.#storage.shownTexts(
        id,
        rows.filter(({ shown }) => shown.length > 0).map(({ key }) => key),
      ),
    ])
    return rows.map((row) => {
      const content = contents.get(row.key) ?? this.#plannedContent(row.key) ?? []
      const original = { role: row.role, content }
      const texts = new Map(shownTexts.get(row.key))
      for (const { part, text } of planned.get(row.key) ?? []) texts.set(part, text)
      const show = (part: Part, index: number): Part => {
        const text = texts.get(index)
        return text === undefined ? part : overlaid(part, text)
      }
      return {
        kind: row.kind,
        shown: texts.size === 0 ? original : { role: row.role, content: content.map(show) },
        original,
        metadata: metadata.get(row.key) ?? this.#plannedInsert(row.key)?.metadata,
        position: row.position,
      }
    })
  }

  #plannedInsert(key: number): PlannedInsert | undefined {
    return key > 0 ? undefined : this.#steps.find(({ inserted }) => inserted?.key === key)?.plan.insert
  }

  #plannedContent(key: number): readonly Part[] | undefined {
    const insert = this.#plannedInsert(key)
    return insert && partsOf({ content: insert.text })
  }
}

/** The figures of a summary that are not 0, for the audit. */
function notesOf({ notes = {} }: WrittenSummary): SummaryNotes {
  return Object.fromEntries(Object.entries(notes).filter(([, figure]) => figure > 0))
}

function levelOf({ level }: SummaryTask): { level?: number } {
  return level === undefined || level === 0 ? {} : { level }
}

/** The images and files of the history before a run and after it. */
export function mediaChange({ snapshot, after }: Pick<PlannedRun, 'snapshot' | 'after'>) {
  const { sizes } = snapshot.view
  return {
    imagesBefore: sizes.images,
    imagesAfter: after.sizes.images,
    mediaBytesBefore: sizes.mediaBytes,
    mediaBytesAfter: after.sizes.mediaBytes,
  }
}
