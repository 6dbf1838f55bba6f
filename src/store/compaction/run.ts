import { v7 as uuidv7 } from 'uuid'
import { errorName, isUndertextError, UndertextError, withOriginal } from '../../core/errors.ts'
import type { JsonObject } from '../../core/messages/json.ts'
import { defined } from '../../core/messages/json.ts'
import { type Message, type Part, partsOf } from '../../core/messages/message.ts'
import { checkLaws, missingAfterSummary } from '../../core/model/laws.ts'
import {
  applyPlan,
  bareCondensePlan,
  COMPACTION_STAGES,
  type Plan,
  type PlannedInsert,
} from '../../core/model/plan.ts'
import { firstChange, type InvalidatedReasoning } from '../../core/model/reasoning.ts'
import type { View } from '../../core/model/view.ts'
import type { ViewRow } from '../../core/model/view-row.ts'
import { prune } from '../../core/stages/clear-tool-outputs.ts'
import { deduplicate } from '../../core/stages/deduplicate.ts'
import { latestPart } from '../../core/stages/latest-part.ts'
import {
  type CompositeStage,
  isBuiltInStage,
  type MediaNeed,
  type PlanDraft,
  type PlanningStage,
  type SlowPlanningStage,
  type Stage,
  type StageContext,
  type SummarizingStage,
  type SummaryTask,
} from '../../core/stages/stage.ts'
import {
  condensePlan,
  planFurtherSummaries,
  summarize,
  withoutSpareRows,
} from '../../core/stages/summarize.ts'
import { extractiveSummarizer } from '../../core/summarizers/extractive.ts'
import type { AnswerProblem, Summarizer } from '../../core/summarizers/summarizer.ts'
import { measureMessage, NO_SIZES, type Sizes } from '../../core/tokens/measure.ts'
import { isMediaDue, mediaFigures, type RequestMedia, withPending } from '../../core/tokens/media-limits.ts'
import type { Redaction } from '../../storage/redaction.ts'
import type { Attempt, CommitStep, FailedAttempt, Snapshot, SummaryRecord } from '../../storage/storage.ts'
import {
  type RunConfig,
  type RunSettings,
  requestsSummaries,
  TARGET_TOLERANCE,
} from '../config/run-config.ts'
import {
  completePlan,
  completeTask,
  draftProblem,
  isWholePlan,
  type RowContents,
  readsProblem,
  redactedDraft,
  rowOf,
  rowsToMeasure,
  tasksProblem,
} from './draft-plan.ts'
import { type ContentReader, PAGE_ROWS, RowSources } from './row-sources.ts'
import { SummaryMaterial } from './summary-chunks.ts'
import {
  askForSummary,
  fittedByLines,
  givenSummary,
  type SummaryNotes,
  summaryProblem,
  type WrittenSummary,
} from './write-summary.ts'

/** A request to a summarizer that wasn't made, shown in place of its summary. */
export type PendingSummary = {
  readonly summarizer: string
  /** The messages that the summarizer would read. */
  readonly messages: readonly Message[]
  readonly inputTokens: number
  /** Maximum tokens of the summary; the figures of the preview count all of them. */
  readonly maxTokens: number
}

/** A run that is planned and not yet committed. */
export type PlannedRun = {
  readonly snapshot: Snapshot
  readonly settings: RunSettings
  readonly steps: readonly CommitStep[]
  readonly failed: readonly FailedAttempt[]
  readonly after: View
  readonly pending: readonly PendingSummary[]
  /** The summarizers' own texts, by compaction id: the inserted rows also contain notes and the digest. */
  readonly ownTexts: ReadonlyMap<string, string>
  /** Tokens of the view, by the estimator, that its provider reported as cached; `undefined` without a report. */
  readonly cachedTokens?: number | undefined
  /** Present if the model checks what precedes its reasoning and the run changes something. */
  readonly invalidatedReasoning?: InvalidatedReasoning | undefined
  /** The run would save less than its minimum, so its plans were dropped. */
  readonly isHeldBack?: true
}

/** Returns the run without its plans and their texts; failed summaries are kept. */
export function withoutSteps(planned: PlannedRun): PlannedRun {
  const { view } = planned.snapshot
  return { ...planned, steps: [], pending: [], ownTexts: new Map(), after: view }
}

/** How often the extractive summarizer is asked for a shorter summary if its first ends above the target. */
const MAX_SHORTENINGS = 3

/**
 * How a run gets its summaries. An object: from the summarizer, and the object is notified. `estimate`: from summarizers without a model;
 * in place of a model's summary, an empty one of maximum size is inserted. `skip`: only stages without a model run.
 */
export type SummaryMode = SummaryListener | 'estimate' | 'skip'

export type SummaryListener = {
  /** Called and awaited before a model is called. */
  readonly started?: (attempt: Attempt) => unknown
  /** Called and awaited after each answer, accepted or not, with the cost so far. */
  readonly answered?: (id: string, record: SummaryRecord) => unknown
}

/** `failed`: an error that another request wouldn't change. */
type Outcome = 'accepted' | 'failed' | AnswerProblem

/** The input from which a run is planned. */
export type RunInput = {
  readonly storage: ContentReader
  readonly snapshot: Snapshot
  readonly settings: RunSettings
  readonly config: RunConfig
  readonly mode: SummaryMode
  /** Called for each plan that is added. */
  readonly onStage?: ((step: CommitStep) => void) | undefined
  /** Whether the model checks what precedes its reasoning; old rows are then changed as late in the view as suffices. */
  readonly bindsReasoning?: boolean
}

/**
 * A run during planning: the stages in order, each on the view that the previous one left, until the target is reached. Nothing is written,
 * and no transaction is open while a summarizer works.
 */
export class Run {
  readonly #in: RunInput
  /** Whether the run summarizes: then nothing after a summary is hidden without being in one. */
  readonly #summarizes: boolean
  #view: View
  #ordinal: number
  readonly #steps: CommitStep[] = []
  readonly #sources: RowSources
  readonly #failed: FailedAttempt[] = []
  readonly #pending: PendingSummary[] = []
  readonly #ownTexts = new Map<string, string>()
  /** The stages after the current one and their budgets: their summaries may be placed before the rows that the current one hides. */
  #toCome: readonly { readonly stages: readonly Stage[]; readonly budget: number }[] = []

  constructor(input: RunInput) {
    this.#in = input
    this.#summarizes = input.config.pipeline.some(requestsSummaries)
    this.#view = input.snapshot.view
    this.#ordinal = input.snapshot.nextOrdinal
    this.#sources = new RowSources(input, this.#steps)
  }

  /** Throws the errors of `checkLaws` for a range of the caller, and `ABORTED`. */
  async plan(): Promise<PlannedRun> {
    const { config, settings, snapshot } = this.#in
    if (config.range !== undefined) await this.#condenseRange(config.range)
    else await this.#runStages(config.pipeline, settings.targetTokens)
    return {
      snapshot,
      settings,
      steps: this.#steps,
      failed: this.#failed,
      after: this.#view,
      pending: this.#pending,
      ownTexts: this.#ownTexts,
    }
  }

  get #sessionId(): string {
    return this.#in.snapshot.session.id
  }

  /** Runs stages in order, each only while the history is over the budget. */
  async #runStages(stages: readonly Stage[], budget: number): Promise<void> {
    const outer = this.#toCome
    for (const [at, stage] of stages.entries()) {
      this.#toCome = [...outer, { stages: stages.slice(at + 1), budget }]
      if (!this.#isNeeded(stage, budget)) continue
      if ('stages' in stage) await this.#runStages(stage.stages, stage.budget ?? budget)
      else if ('plan' in stage) await this.#runPlanning(stage, budget)
      else if (this.#in.mode !== 'skip') await this.#runSummarizing(stage, budget)
    }
    this.#toCome = outer
  }

  #isNeeded(stage: Stage, budget: number): boolean {
    const { settings } = this.#in
    if ('stages' in stage) return stage.stages.some((one) => this.#isNeeded(one, stage.budget ?? budget))
    const until = 'until' in stage ? stage.until : 'target'
    if (until === 'media') return true
    return !settings.isForMedia && this.#view.tokens > (until === 'limit' ? settings.limitTokens : budget)
  }

  /** Replaces the visible rows between two positions with a summary: the given one, or one by the summarizer. */
  async #condenseRange({ from, to }: { from: number; to: number }): Promise<void> {
    const rows = this.#view.rows.filter(({ anchor }) => anchor >= from && anchor <= to)
    const sessionId = this.#sessionId
    if (rows.length === 0) {
      throw new UndertextError('ILLEGAL_BOUNDARY', {
        sessionId,
        why: 'no message is visible in the range',
        messageIds: [],
      })
    }
    checkLaws(sessionId, this.#view, bareCondensePlan(rows))
    const tokens = this.#view.tokensOfRows(rows)
    const task = {
      rows,
      tokens,
      maxTokens: Math.max(1, Math.min(this.#in.settings.stages.summaryMaxTokens, Math.floor(tokens / 2))),
    }
    const { summary } = this.#in.config
    if (summary === undefined) await this.#condense(task)
    else this.#judge(uuidv7(), task, await this.#givenSummary(summary, rows), { summarizer: 'given' })
  }

  async #givenSummary(text: string, rows: readonly ViewRow[]): Promise<WrittenSummary> {
    const { readTools, userTools } = this.#in.settings.stages
    const material = new SummaryMaterial(undefined, { readTools, userTools })
    await this.#sources.read(rows, (source) => material.add(source))
    return givenSummary(text, material)
  }

  async #runPlanning(stage: PlanningStage | SlowPlanningStage, budget: number): Promise<void> {
    const context = await this.#contextFor(stage, budget)
    const draft = await this.#call<PlanDraft | undefined>(stage, () => stage.plan(this.#view, context))
    // A stage of the application may return null instead of undefined.
    if (draft === undefined || draft === null) return
    const whole = isWholePlan(draft, stage)
      ? named(await this.#redacted(draft, stage), stage)
      : await this.#complete(draft, stage)
    if (whole === undefined) return
    const plan =
      this.#in.bindsReasoning === true && changesOldRows(stage) ? this.#latestPart(whole, budget) : whole
    this.#checkLaws(plan, stage)
    if (plan.insert?.kind === 'summary') return this.#addSummary(plan, stage)
    const isWhole = !this.#leavesHole(plan, stage)
    const lawful = isWhole ? plan : this.#beforeSummary(plan)
    if (lawful !== undefined) this.#add(lawful, uuidv7())
    if (!isWhole) await this.#summarizeFurther(budget)
  }

  #latestPart(plan: Plan, targetTokens: number): Plan {
    const { settings, snapshot } = this.#in
    const first = firstChange(snapshot.view, this.#view)
    return latestPart(this.#view, plan, {
      // Relative to the steps so far.
      changedFrom: first < 0 ? this.#view.rows.length : first,
      targetTokens,
      minimumWorth: settings.minimumSavings,
      minimumSavings: settings.stages.pruneMinimumSavings,
    })
  }

  /**
   * Whether a run that summarizes would hide messages after the newest summary, or before a stage that may summarize earlier messages, so
   * that they would be neither in a summary nor in the view. What a stage of the application hides is its own decision.
   */
  #leavesHole(plan: Plan, stage: Stage): boolean {
    if (!this.#summarizes || plan.hide.length === 0 || !isBuiltInStage(stage)) return false
    const { rows } = this.#view
    const { after } = applyPlan(this.#view, plan, Number.MIN_SAFE_INTEGER, 0)
    // If the plan reaches the budget, no summary follows.
    const isFollowed = this.#toCome.some(
      ({ stages, budget }) => after.tokens > budget && stages.some(requestsSummaries),
    )
    if (isFollowed) return true
    return missingAfterSummary(rows, after.rows).length > 0
  }

  /**
   * Returns the part of a plan before the newest summary: rows whose own summary failed, or that were too few for one. A call before the
   * summary stays with a result after it.
   */
  #beforeSummary(plan: Plan): Plan | undefined {
    const { rows, turns } = this.#view
    const newest = rows.findLastIndex(({ kind }) => kind === 'summary')
    const hidden = new Set(plan.hide)
    const hide = rows.filter(
      (row, index) => hidden.has(row) && turns.groupOf(index).every((member) => member < newest),
    )
    return hide.some(({ kind }) => kind === 'message') ? { ...plan, hide } : undefined
  }

  /**
   * Makes room with further summaries, in place of hiding messages after the newest one. The offline summarizer writes them: a model was
   * already asked, or may not be. A view that is almost within the budget stays as it is.
   */
  async #summarizeFurther(budget: number): Promise<void> {
    const { stages, limitTokens } = this.#in.settings
    const { summarizer, job, trigger } = this.#in.config
    // A job whose summaries failed is retried later.
    if (job !== undefined && this.#hasOnlyFailed) return
    const tolerance = trigger === 'overflow' ? 0 : TARGET_TOLERANCE
    if (this.#view.tokens <= Math.min(budget * (1 + tolerance), limitTokens)) return
    const target = Math.min(budget, limitTokens)
    const insteadOf = summarizer?.usesModel === true ? summarizer.name : undefined
    await this.#condenseOffline(planFurtherSummaries(this.#view, target, stages.summaryMaxTokens), insteadOf)
    if (this.#view.tokens <= limitTokens) return
    // The request must fit: one summary of everything, including earlier summaries.
    const settings = { ...stages, keepRecentTokens: undefined, keepRecentRatio: undefined }
    const context = {
      settings,
      targetTokens: target,
      limitTokens,
      contentOf: () => [],
      metadataOf: () => undefined,
    }
    await this.#condenseOffline(summarize.summaries(this.#view, context) as readonly SummaryTask[], insteadOf)
  }

  /** Returns the contents and metadata of the rows that a stage asks for, with the changes of this run. */
  async #contextFor(stage: Exclude<Stage, CompositeStage>, budget: number): Promise<StageContext> {
    const { stages: settings, limitTokens } = this.#in.settings
    const media = mediaNeed(this.#view, this.#in.settings)
    const bare = { settings, targetTokens: budget, limitTokens, media }
    const named = (await this.#call(stage, () => stage.reads?.(this.#view, bare))) ?? []
    this.#refuse(stage, readsProblem(named))
    const needed = named.map((row) => rowOf(this.#view, row))
    const keeps = await this.#call(stage, () => stage.keeps?.(this.#view, bare))
    const originals = new Map<number, readonly Part[]>()
    const shown = new Map<number, readonly Part[]>()
    const metadata = new Map<number, JsonObject>()
    await this.#sources.read(needed, (source, row) => {
      const { key } = row
      if (source.metadata !== undefined) metadata.set(key, source.metadata)
      const parts = partsOf(source.original)
      if (keeps?.(row, parts) === false) return
      originals.set(key, parts)
      if (source.shown !== source.original) shown.set(key, partsOf(source.shown))
    })
    return {
      ...bare,
      contentOf: ({ key }) => {
        // The most common mistake in a custom stage: without the error the row would just be empty.
        if (stage.reads === undefined)
          throw this.#stageFailed(stage, 'contentOf requires reads to name the rows')
        return originals.get(key) ?? []
      },
      shownOf: ({ key }) => shown.get(key) ?? originals.get(key) ?? [],
      metadataOf: ({ key }) => metadata.get(key),
    }
  }

  /** Calls a stage. A stage of the application may throw anything, even a message that quotes the conversation. */
  async #call<T>(stage: Stage, work: () => T | Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      if (isUndertextError(error)) throw error
      throw withOriginal(this.#stageFailed(stage, errorName(error)), error)
    }
  }

  #checkLaws(plan: Plan, { name }: Stage): void {
    try {
      checkLaws(this.#sessionId, this.#view, plan)
    } catch (error) {
      if (!isUndertextError(error, 'ILLEGAL_BOUNDARY')) throw error
      throw new UndertextError('ILLEGAL_BOUNDARY', { ...error.facts, stage: name })
    }
  }

  #refuse(stage: Stage, problem: string | undefined): void {
    if (problem !== undefined) throw this.#stageFailed(stage, problem)
  }

  #stageFailed({ name }: Stage, error: string): UndertextError<'STAGE_FAILED'> {
    return new UndertextError('STAGE_FAILED', { sessionId: this.#sessionId, stage: name, error })
  }

  /** Measures the texts of a plan again that a redaction changes: those that a built-in stage took from contents stored without it. */
  async #redacted(plan: Plan, stage: Stage): Promise<Plan> {
    const redacted = redactedDraft(this.#redaction, plan)
    if (redacted === plan) return plan
    const measured = await this.#complete(redacted, stage)
    const replace = plan.replace.flatMap((one, at) =>
      redacted.replace![at]!.text === one.text
        ? [one]
        : (measured?.replace.filter(({ row, part }) => row.key === one.row.key && part === one.part) ?? []),
    )
    return { ...plan, replace, ...defined({ insert: measured?.insert }) }
  }

  get #redaction(): Redaction | undefined {
    return this.#in.storage.redaction
  }

  async #complete(given: PlanDraft, stage: Stage): Promise<Plan | undefined> {
    this.#refuse(stage, draftProblem(given))
    const draft = redactedDraft(this.#redaction, given)
    const rows = rowsToMeasure(this.#view, draft)
    const sources = rows.length === 0 ? [] : await this.#sources.all(rows)
    const contents = new Map(
      rows.map((row, at) => {
        const { original, shown } = sources[at]!
        return [row.key, { original: partsOf(original), shown: partsOf(shown) }] as const
      }),
    )
    const nothing: RowContents = { original: [], shown: [] }
    const plan = completePlan(this.#view, draft, stage.name, ({ key }) => contents.get(key) ?? nothing)
    if ('unfit' in plan) {
      throw new UndertextError('ILLEGAL_BOUNDARY', {
        sessionId: this.#sessionId,
        why: 'only texts and tool results can be replaced',
        messageIds: [plan.unfit.id],
      })
    }
    return plan.hide.length === 0 && plan.replace.length === 0 ? undefined : plan
  }

  /** A summary that the stage wrote itself must be smaller than its rows, like any other. */
  async #addSummary(plan: Plan, stage: Stage): Promise<void> {
    const tokens = this.#view.tokensOfRows(plan.hide)
    const task = { rows: plan.hide, tokens, maxTokens: tokens }
    const { text, metadata } = plan.insert!
    const written = await this.#givenSummary(text, plan.hide)
    const whole = { ...written, metadata: { ...metadata, ...written.metadata } }
    this.#judge(uuidv7(), task, whole, { summarizer: stage.name }, undefined, plan)
  }

  async #runSummarizing(stage: SummarizingStage, budget: number): Promise<void> {
    for (let round = 0; round < (stage.rounds ?? 1); round++) {
      const context = await this.#contextFor(stage, budget)
      const drafts = (await this.#call(stage, () => stage.summaries(this.#view, context))) ?? []
      this.#refuse(stage, tasksProblem(drafts))
      let accepted = 0
      for (const draft of drafts) {
        const task = completeTask(this.#view, draft, this.#in.settings.stages.summaryMaxTokens)
        this.#checkLaws(bareCondensePlan(task.rows), stage)
        if (await this.#condense(named(task, stage))) accepted += 1
      }
      if (accepted === 0) return
    }
  }

  /** Adds a plan as the next step. Throws the errors of `checkLaws`, and `ABORTED`. */
  #add(plan: Plan, id: string, summary?: SummaryRecord): void {
    this.#sources.throwIfAborted()
    checkLaws(this.#sessionId, this.#view, plan)
    const step = applyPlan(this.#view, plan, -1 - this.#steps.length, this.#ordinal)
    if (plan.insert !== undefined) this.#ordinal += 1
    const committed = { ...step, id, createdAt: Date.now(), summary }
    this.#steps.push(committed)
    this.#view = step.after
    this.#in.onStage?.(committed)
  }

  /**
   * Replaces rows with a summary and returns whether one was accepted: from the summarizer, from a second request if the summarizer
   * supports that, or from the extractive one if `offlineFallback` allows it.
   */
  async #condense(task: SummaryTask): Promise<boolean> {
    const { summarizer = extractiveSummarizer, insteadOf, offlineFallback } = this.#in.config
    if (this.#in.mode === 'estimate' && summarizer.usesModel) return this.#estimate(task, summarizer)
    let outcome = await this.#ask(task, summarizer, insteadOf)
    if (outcome !== 'accepted' && outcome !== 'failed' && summarizer.asksAgain === true)
      outcome = await this.#ask(task, summarizer, undefined, outcome)
    if (outcome !== 'accepted' && offlineFallback === true && summarizer !== extractiveSummarizer)
      outcome = await this.#ask(task, extractiveSummarizer, summarizer.name)
    return outcome === 'accepted'
  }

  /** Replaces each task's rows with a summary that the extractive summarizer writes. */
  async #condenseOffline(tasks: readonly SummaryTask[], insteadOf: string | undefined): Promise<void> {
    for (const task of tasks) {
      // The content of a pending summary isn't known.
      if (task.rows.some(({ key }) => this.#sources.insertOf(key)?.text === '')) this.#addEstimated(task)
      else await this.#ask(task, extractiveSummarizer, insteadOf)
    }
  }

  /** Whether summaries were requested, and none was accepted. */
  get #hasOnlyFailed(): boolean {
    return this.#failed.length > 0 && this.#steps.every(({ summary }) => summary === undefined)
  }

  /**
   * Calls one summarizer; returns whether its text was accepted, or why not. Either way the call is recorded. `retryOf`: why the previous
   * answer was rejected. `known`: the material, if it was read for an earlier answer. `shortened`: how often a shorter summary was
   * requested.
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
    this.#sources.throwIfAborted()
    const { mode } = this.#in
    const listener = typeof mode === 'object' ? mode : {}
    // A call is recorded once, when the model is called.
    let recorded: Promise<void> | undefined
    const record = async (): Promise<void> => {
      if (!summarizer.usesModel) return
      await listener.started?.({ id, view: this.#view, rows: task.rows, summarizer: summarizer.name })
    }
    const calling = (): Promise<void> => {
      recorded ??= record()
      // A summarizer that doesn't wait for it would leave the rejection unhandled until the end of the call.
      recorded.catch(() => undefined)
      return recorded
    }
    const request = { ...this.#requestFor(task, retryOf), calling }
    const material = known ?? (await this.#read(task, summarizer, request.level))
    const asked = await askForSummary(summarizer, material, request, {
      timeoutMs: this.#in.config.summaryTimeoutMs,
      signal: this.#in.config.signal,
      view: this.#view,
      answered: (answer) => listener.answered?.(id, answer),
    })
    // Throws if the recording failed.
    await recorded
    if ('error' in asked) {
      this.#sources.throwIfAborted()
      const wasCalled = recorded !== undefined || !summarizer.usesModel
      const { error, record: summary } = asked
      this.#fail({ ...(!wasCalled && { wasCalled }), id, status: 'failed', error, summary })
      return 'failed'
    }
    // Only the extractive summarizer is asked again: a model's summary is paid for once, and the rows that it replaces are recorded before
    // the call. Its lines are fitted.
    const fitting =
      summarizer === extractiveSummarizer ? this.#refitted(task, asked.written, shortened) : undefined
    const written = summarizer.usesModel ? this.#fitted(task, asked.written) : asked.written
    if (fitting === undefined) return this.#judge(id, task, written, asked.record, insteadOf)
    return fitting.rows === task.rows
      ? this.#ask(fitting, summarizer, insteadOf, retryOf, material, shortened + 1)
      : this.#ask(fitting, summarizer, insteadOf, retryOf, undefined, shortened)
  }

  async #read(task: SummaryTask, summarizer: Summarizer, level?: number): Promise<SummaryMaterial> {
    const { readTools, userTools } = this.#in.settings.stages
    const material = new SummaryMaterial(summarizer, { level, readTools, userTools })
    await this.#sources.read(task.rows, (source) => material.add(source))
    material.end()
    if (material.reader !== undefined || material.log !== undefined)
      await this.#sources.read(this.#rowsAfter(task), (source) => material.follow(source))
    return material
  }

  /** Returns the rows that the view shows after a task's rows; at most one page. */
  #rowsAfter({ rows }: SummaryTask): readonly ViewRow[] {
    const last = rows.at(-1)
    const at = last === undefined ? undefined : this.#view.indexOf(last.key)
    return at === undefined ? [] : this.#view.rows.slice(at + 1, at + 1 + PAGE_ROWS)
  }

  /** Returns a task for a summary that fits the target better: of fewer rows, or shorter if its text is larger than estimated. */
  #refitted(task: SummaryTask, written: WrittenSummary, shortened: number): SummaryTask | undefined {
    if (task.fillTokens === undefined || summaryProblem(written) !== undefined) return undefined
    const { sizes } = this.#summaryRow(written.text, {})
    const size = this.#view.tokensOfRow({ sizes })
    const over = this.#view.tokens - task.tokens + size - task.fillTokens
    if (over <= 0) return shortened > 0 ? undefined : withoutSpareRows(this.#view, task, size)
    if (shortened >= MAX_SHORTENINGS) return undefined
    const maxTokens = Math.floor((task.maxTokens * (size - over)) / size) - 1
    return maxTokens < task.maxTokens / 2 ? undefined : { ...task, maxTokens }
  }

  /** Returns a summary that ends a little above its room without its least important lines: messages after it would be replaced instead. */
  #fitted(task: SummaryTask, written: WrittenSummary): WrittenSummary {
    if (summaryProblem(written) !== undefined || this.#in.config.range !== undefined) return written
    const { targetTokens, limitTokens } = this.#in.settings
    const room = Math.min(task.fillTokens ?? targetTokens, limitTokens) - (this.#view.tokens - task.tokens)
    return fittedByLines(written, (text) => this.#view.tokensOfRow(this.#summaryRow(text, {})) <= room)
  }

  #requestFor(task: SummaryTask, retryOf?: AnswerProblem): Parameters<typeof askForSummary>[2] {
    const { summarizationProvider: provider, summarizationModel: model } = this.#in.config
    return {
      sessionId: this.#sessionId,
      sections: this.#in.settings.stages.summarySections,
      userTools: this.#in.settings.stages.userTools,
      // A second answer must be shorter: the first was too long, or wasn't a summary.
      maxTokens:
        retryOf === undefined || retryOf === 'SUMMARY_CONTRADICTS_LOG'
          ? task.maxTokens
          : Math.max(1, Math.floor(task.maxTokens / 2)),
      ...levelOf(task),
      ...defined({ provider, model, retryOf }),
    }
  }

  /**
   * Adds a summary that isn't empty and is smaller than the rows it replaces; records any other as a failure. `insteadOf`: the summarizer
   * or model that its writer replaces. `plan`: that of the stage that wrote it.
   */
  #judge(
    id: string,
    task: SummaryTask,
    written: WrittenSummary,
    record: SummaryRecord,
    insteadOf?: string,
    plan?: Plan,
  ): Outcome {
    const { rows, tokens: coveredTokens, maxTokens } = task
    const insert = this.#summaryRow(written.text, { ...written.metadata, ...levelOf(task) })
    const problem =
      summaryProblem(written) ??
      (this.#view.tokensOfRow(insert) >= coveredTokens ? 'SUMMARY_NOT_SMALLER' : undefined)
    if (problem !== undefined) {
      const status = problem === 'SUMMARY_NOT_SMALLER' ? 'rejected' : 'failed'
      this.#fail({ id, status, error: problem, summary: record })
      return problem
    }
    const noted = { ...levelOf(task), ...defined({ insteadOf }), ...notesOf(written) }
    const params = { maxTokens, coveredTokens, ...noted, ...task.params }
    this.#add(plan === undefined ? condensePlan(rows, insert, params) : { ...plan, insert }, id, record)
    this.#ownTexts.set(id, written.ownText)
    return 'accepted'
  }

  #summaryRow(written: string, given: JsonObject, sizes?: Sizes): PlannedInsert {
    const text = this.#redaction?.text(written) ?? written
    const metadata = this.#redaction?.json(given) ?? given
    const measured = sizes ?? measureMessage({ content: text }, this.#view.estimator)
    return { kind: 'summary', role: 'system', text, metadata, sizes: measured }
  }

  async #estimate(task: SummaryTask, summarizer: Summarizer): Promise<true> {
    const { rows, tokens: inputTokens, maxTokens } = task
    const sources = await this.#sources.all(rows)
    const messages = sources.map(({ shown }) => shown)
    this.#pending.push({ summarizer: summarizer.name, messages, inputTokens, maxTokens })
    return this.#addEstimated(task)
  }

  /** Adds a summary without text, of maximum size. */
  #addEstimated(task: SummaryTask): true {
    const { rows, maxTokens } = task
    // The largest number of units that amount to at most `maxTokens`.
    const { estimator, provider } = this.#view
    let units = 0
    for (let step = maxTokens; step >= 1; step = Math.floor(step / 2)) {
      while (estimator.toTokens(units + step, provider) <= maxTokens) units += step
    }
    const insert = this.#summaryRow('', levelOf(task), { ...NO_SIZES, text: units })
    this.#add(condensePlan(rows, insert, { ...task.params }), uuidv7())
    return true
  }

  #fail(attempt: Omit<FailedAttempt, 'tokens'>): void {
    this.#failed.push({ ...attempt, tokens: this.#view.tokens })
  }
}

/** Whether a stage is a built-in one that shortens old rows anywhere in the view. */
function changesOldRows(stage: Stage): boolean {
  return stage === prune || stage === deduplicate
}

/** Adds the stage's name for the audit, unless it is one of the pipeline. */
function named<T extends { readonly params?: JsonObject }>(planned: T, { name }: Stage): T {
  const isOurs = name === 'cut' || (COMPACTION_STAGES as readonly string[]).includes(name)
  return isOurs ? planned : { ...planned, params: { stage: name, ...planned.params } }
}

function notesOf({ notes = {} }: WrittenSummary): SummaryNotes {
  return Object.fromEntries(Object.entries(notes).filter(([, figure]) => figure > 0))
}

function levelOf({ level }: SummaryTask): { level?: number } {
  return level === undefined || level === 0 ? {} : { level }
}

/** Returns the images and files of the history before and after a run. */
export function mediaChange({ snapshot, after }: Pick<PlannedRun, 'snapshot' | 'after'>) {
  const { sizes } = snapshot.view
  return {
    imagesBefore: sizes.images,
    imagesAfter: after.sizes.images,
    mediaBytesBefore: sizes.mediaBytes,
    mediaBytesAfter: after.sizes.mediaBytes,
  }
}

/** Returns the images and bytes of a request with this view. */
export function mediaIn(
  { sizes, tokens }: View,
  { scale, othersTokens, pendingMedia }: RunSettings,
): RequestMedia {
  return mediaFigures(withPending(sizes, pendingMedia), scale * tokens + othersTokens)
}

function mediaNeed(view: View, settings: RunSettings): MediaNeed {
  const { media } = settings
  const used = mediaIn(view, settings)
  return { isDue: isMediaDue(used, media), used, target: media.target, limit: media.limit }
}
