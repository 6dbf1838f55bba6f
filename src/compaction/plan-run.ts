import { v7 as uuidv7 } from 'uuid'
import type { JsonObject } from '../core/json.ts'
import { checkLaws } from '../core/laws.ts'
import { type Message, type Part, partsOf } from '../core/message.ts'
import { overlaid } from '../core/overlay.ts'
import {
  applyPlan,
  COMPACTION_STAGES,
  type CompactionStage,
  type Plan,
  type PlannedInsert,
} from '../core/plan.ts'
import { cut } from '../core/stages/cut.ts'
import type {
  CompositeStage,
  PlanDraft,
  PlanningStage,
  SlowPlanningStage,
  Stage,
  StageContext,
  SummarizingStage,
  SummaryTask,
} from '../core/stages/stage.ts'
import { bareCondensePlan, condensePlan } from '../core/stages/summarize.ts'
import { measureMessage, NO_SIZES } from '../core/tokens.ts'
import type { View, ViewRow } from '../core/view.ts'
import { errorName, isUndertextError, standingFor, UndertextError } from '../errors.ts'
import type { CommitStep, FailedAttempt, Snapshot, Storage, SummaryRecord } from '../storage/storage.ts'
import { extractiveSummarizer } from '../summarizers/extractive.ts'
import type { AnswerProblem, Summarizer } from '../summarizers/summarizer.ts'
import { askForSummary } from './ask-for-summary.ts'
import type { CheckedConfig, RunSettings } from './config.ts'
import {
  completePlan,
  completeTask,
  draftProblem,
  isWholePlan,
  type RowContents,
  readsProblem,
  rowOf,
  rowsToMeasure,
  tasksProblem,
} from './draft-plan.ts'
import { givenSummary, type SummarySource, type WrittenSummary } from './write-summary.ts'

/** What a model would be asked for, shown in place of a summary that was not made. */
export type PendingSummary = {
  readonly summarizer: string
  /** What it would read. */
  readonly messages: readonly Message[]
  readonly inputTokens: number
  /** Upper bound of what it may answer; the figures of the preview count it in full. */
  readonly maxTokens: number
}

/** A planned run: everything a commit needs, and nothing written. */
export type PlannedRun = {
  readonly snapshot: Snapshot
  readonly settings: RunSettings
  readonly steps: readonly CommitStep[]
  readonly failed: readonly FailedAttempt[]
  readonly stagesUsed: readonly CompactionStage[]
  readonly after: View
  readonly pending: readonly PendingSummary[]
  /** Tokens of the view, in the estimator's, that its provider reported as cached; `undefined` where it did not. */
  readonly cachedTokens?: number | undefined
  /** Its stages would save less than they must, so nothing of what they planned is left. */
  readonly heldBack?: true
}

/** How a run comes by its summaries. */
export type SummaryMode =
  /** Ask the summarizer. `started` is called before each question, with the id the compaction will have. */
  | {
      readonly kind: 'write'
      readonly started?: (attempt: StartedAttempt) => unknown
      /** Called with what it cost so far after each answer, accepted or not; waited for. */
      readonly answered?: (id: string, record: SummaryRecord) => unknown
    }
  /** Do not ask a model: leave an upper bound. Summarizers without a model are asked all the same. */
  | { readonly kind: 'estimate' }
  /** Go on with the stages that need no model. */
  | { readonly kind: 'skip' }

/** What planning reads of a storage, besides the snapshot. */
export type ContentReader = Pick<Storage, 'contents' | 'metadata' | 'shownTexts'>

export type StartedAttempt = {
  readonly id: string
  readonly view: View
  readonly rows: readonly ViewRow[]
  readonly summarizer: string
}

/**
 * Plans a run over a snapshot: the stages in order, each on what the one before left, until the target is met.
 * Nothing is written; the only slow thing is the summarizer, and no transaction is open while it works. `onStage` hears of
 * each plan as soon as it was added.
 *
 * Throws what `checkLaws` throws for a range of the caller's own, and `ABORTED`.
 */
export async function planRun(
  storage: ContentReader,
  snapshot: Snapshot,
  settings: RunSettings,
  config: CheckedConfig,
  mode: SummaryMode,
  onStage?: (step: CommitStep) => void,
): Promise<PlannedRun> {
  const run = new RunPlanner(storage, snapshot, settings, config, mode, onStage)
  if (config.range !== undefined) await run.condenseRange(config.range)
  else await run.runStages(settings.pipeline, settings.targetTokens)
  return run.result()
}

/** One summary that is asked for. */
type Question = {
  readonly task: SummaryTask
  readonly sources: readonly SummarySource[]
  readonly summarizer: Summarizer
  /** What was wrong with the answer before. */
  readonly retryOf?: AnswerProblem
  /** Who was to write and does not. */
  readonly insteadOf?: string | undefined
}

/** What came of it: `failed` is an error, which no other question would mend. */
type Outcome = 'accepted' | 'failed' | AnswerProblem

class RunPlanner {
  readonly #storage: ContentReader
  readonly #snapshot: Snapshot
  readonly #settings: RunSettings
  readonly #config: CheckedConfig
  readonly #mode: SummaryMode
  readonly #onStage: ((step: CommitStep) => void) | undefined
  #view: View
  #ordinal: number
  #plans = 0
  readonly #steps: CommitStep[] = []
  readonly #failed: FailedAttempt[] = []
  readonly #pending: PendingSummary[] = []
  readonly #used = new Set<CompactionStage>()

  constructor(
    storage: ContentReader,
    snapshot: Snapshot,
    settings: RunSettings,
    config: CheckedConfig,
    mode: SummaryMode,
    onStage?: (step: CommitStep) => void,
  ) {
    this.#storage = storage
    this.#snapshot = snapshot
    this.#settings = settings
    this.#config = config
    this.#mode = mode
    this.#onStage = onStage
    this.#view = snapshot.view
    this.#ordinal = snapshot.nextOrdinal
  }

  result(): PlannedRun {
    return {
      snapshot: this.#snapshot,
      settings: this.#settings,
      steps: this.#steps,
      failed: this.#failed,
      stagesUsed: [...this.#used],
      after: this.#view,
      pending: this.#pending,
    }
  }

  /** Runs stages in order, each only while the history takes more than the budget. */
  async runStages(stages: readonly Stage[], budget: number): Promise<void> {
    for (const stage of stages) {
      const most = 'until' in stage && stage.until === 'limit' ? this.#settings.limitTokens : budget
      if (this.#view.tokens <= most) continue
      if ('stages' in stage) await this.runStages(stage.stages, stage.budget ?? budget)
      else if ('plan' in stage) await this.#runPlanning(stage, budget)
      else if (this.#mode.kind !== 'skip') await this.#runSummarizing(stage, budget)
    }
  }

  /** Condenses what is visible between two positions, with the text given or asked for. */
  async condenseRange({ from, to }: { from: number; to: number }): Promise<void> {
    const rows = this.#view.rows.filter(({ anchor }) => anchor >= from && anchor <= to)
    const sessionId = this.#snapshot.session.id
    if (rows.length === 0) {
      throw new UndertextError('ILLEGAL_BOUNDARY', {
        sessionId,
        why: 'nothing is visible in the range',
        messageIds: [],
      })
    }
    checkLaws(sessionId, this.#view, bareCondensePlan(rows))
    const tokens = this.#view.tokensOfRows(rows)
    const task = {
      rows,
      tokens,
      maxTokens: Math.max(1, Math.min(this.#settings.stages.summaryMaxTokens, Math.floor(tokens / 2))),
    }
    const { summary } = this.#config
    if (summary === undefined) {
      if (await this.#condense(task)) this.#used.add('summarize')
      return
    }
    const written = givenSummary(summary, await this.#sourcesOf(rows))
    if (this.#accept(task, written, 'given')) this.#used.add('summarize')
  }

  async #runPlanning(stage: PlanningStage | SlowPlanningStage, budget: number): Promise<void> {
    const context = await this.#contextFor(stage, budget)
    const draft = await this.#own<PlanDraft | undefined>(stage, () => stage.plan(this.#view, context))
    // A function without an answer answers null in some hands.
    if (draft === undefined || draft === null) return
    const plan = isWholePlan(draft, stage) ? named(draft, stage) : await this.#complete(draft, stage)
    if (plan === undefined) return
    this.#checkLaws(plan, stage)
    if (plan.insert?.kind === 'summary') return this.#addSummary(plan, stage)
    this.#add(plan, uuidv7())
    this.#used.add(stage === cut ? 'truncate' : stage.name)
  }

  /** What a stage may look at: contents and metadata of the rows it asks for, those planned in this run included. */
  async #contextFor(stage: Exclude<Stage, CompositeStage>, budget: number): Promise<StageContext> {
    const { stages: settings, limitTokens } = this.#settings
    const bare = { settings, targetTokens: budget, limitTokens }
    const named = (await this.#own(stage, () => stage.reads?.(this.#view, bare))) ?? []
    this.#refuse(stage, readsProblem(named))
    const needed = named.map((row) => rowOf(this.#view, row))
    const sources = needed.length === 0 ? [] : await this.#sourcesOf(needed)
    const byKey = new Map(needed.map(({ key }, at) => [key, sources[at]!] as const))
    return {
      ...bare,
      contentOf: ({ key }) => {
        // The commonest mistake in a stage of one's own, and a silent one: the row would just be empty.
        if (stage.reads === undefined)
          throw this.#stageFailed(stage, 'contentOf needs the rows named by reads')
        return partsIn(byKey.get(key)?.original)
      },
      shownOf: ({ key }) => partsIn(byKey.get(key)?.shown),
      metadataOf: ({ key }) => byKey.get(key)?.metadata,
    }
  }

  #plannedInsert(key: number): PlannedInsert | undefined {
    return key > 0 ? undefined : this.#steps.find(({ inserted }) => inserted?.key === key)?.plan.insert
  }

  #plannedContent(key: number): readonly Part[] | undefined {
    const insert = this.#plannedInsert(key)
    return insert && partsOf({ content: insert.text })
  }

  /** Calls a stage. One of the application's own may throw anything; its words may quote the conversation. */
  async #own<T>(stage: Stage, work: () => T | Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      if (isUndertextError(error)) throw error
      throw standingFor(this.#stageFailed(stage, errorName(error)), error)
    }
  }

  /** Holds what a stage planned to the laws, and says whose plan it was. */
  #checkLaws(plan: Plan, { name }: Stage): void {
    try {
      checkLaws(this.#snapshot.session.id, this.#view, plan)
    } catch (error) {
      if (!isUndertextError(error, 'ILLEGAL_BOUNDARY')) throw error
      throw new UndertextError('ILLEGAL_BOUNDARY', { ...error.facts, stage: name })
    }
  }

  #refuse(stage: Stage, problem: string | undefined): void {
    if (problem !== undefined) throw this.#stageFailed(stage, problem)
  }

  #stageFailed({ name }: Stage, error: string): UndertextError<'STAGE_FAILED'> {
    return new UndertextError('STAGE_FAILED', { sessionId: this.#snapshot.session.id, stage: name, error })
  }

  /** Fills in what a stage left out; `undefined` for a plan of nothing. */
  async #complete(draft: PlanDraft, stage: Stage): Promise<Plan | undefined> {
    this.#refuse(stage, draftProblem(draft))
    const rows = rowsToMeasure(this.#view, draft)
    const sources = rows.length === 0 ? [] : await this.#sourcesOf(rows)
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
        sessionId: this.#snapshot.session.id,
        why: 'only texts and tool results can be shown differently',
        messageIds: [plan.unfit.id],
      })
    }
    return plan.hide.length === 0 && plan.replace.length === 0 ? undefined : plan
  }

  /** A summary whose text a stage wrote itself meets law 7 like any other. */
  async #addSummary(plan: Plan, stage: Stage): Promise<void> {
    const tokens = this.#view.tokensOfRows(plan.hide)
    const task = { rows: plan.hide, tokens, maxTokens: tokens }
    const { text, metadata } = plan.insert!
    const written = givenSummary(text, await this.#sourcesOf(plan.hide))
    const whole = { ...written, metadata: { ...metadata, ...written.metadata } }
    if (this.#accept(task, whole, stage.name, plan)) this.#used.add(stage.name)
  }

  async #runSummarizing(stage: SummarizingStage, budget: number): Promise<void> {
    for (let round = 0; round < (stage.rounds ?? 1); round++) {
      const context = await this.#contextFor(stage, budget)
      const drafts = (await this.#own(stage, () => stage.summaries(this.#view, context))) ?? []
      this.#refuse(stage, tasksProblem(drafts))
      let accepted = 0
      for (const draft of drafts) {
        const task = completeTask(this.#view, draft, this.#settings.stages.summaryMaxTokens)
        this.#checkLaws(bareCondensePlan(task.rows), stage)
        if (await this.#condense(named(task, stage))) accepted += 1
      }
      if (accepted > 0) this.#used.add(stage.name)
      else return
    }
  }

  /**
   * Answers whether a summary stands for the rows now: by the summarizer, by the same one asked once more where it heeds what was
   * wrong, or by the extractive one where that may step in.
   */
  async #condense(task: SummaryTask): Promise<boolean> {
    const summarizer = this.#config.summarizer ?? extractiveSummarizer
    const sources = await this.#sourcesOf(task.rows)
    if (this.#mode.kind === 'estimate' && summarizer.usesModel)
      return this.#estimate(task, sources, summarizer)
    const { insteadOf } = this.#config
    const first = await this.#ask({ task, sources, summarizer, insteadOf })
    if (first === 'accepted') return true
    if (first !== 'failed' && summarizer.asksAgain === true) {
      const second = await this.#ask({ task, sources, summarizer, retryOf: first })
      if (second === 'accepted') return true
    }
    if (this.#config.offlineFallback !== true || summarizer === extractiveSummarizer) return false
    const last = await this.#ask({
      task,
      sources,
      summarizer: extractiveSummarizer,
      insteadOf: summarizer.name,
    })
    return last === 'accepted'
  }

  /** Asks one summarizer; answers whether its text was accepted, or what was wrong with it. Whatever it did is noted. */
  async #ask({ task, sources, summarizer, retryOf, insteadOf }: Question): Promise<Outcome> {
    const id = uuidv7()
    this.#throwIfAborted()
    if (this.#mode.kind === 'write' && summarizer.usesModel) {
      await this.#mode.started?.({ id, view: this.#view, rows: task.rows, summarizer: summarizer.name })
    }
    const mode = this.#mode
    const asked = await askForSummary(summarizer, sources, this.#requestFor(task, retryOf), {
      timeoutMs: this.#config.summaryTimeoutMs,
      signal: this.#config.signal,
      view: this.#view,
      answered: mode.kind === 'write' ? (record) => mode.answered?.(id, record) : undefined,
    })
    if ('error' in asked) {
      this.#throwIfAborted()
      this.#fail(id, 'failed', asked.error, task, asked.record)
      return 'failed'
    }
    const { written, record } = asked
    const problem = this.#problemOf(task, written)
    if (problem === undefined) {
      this.#addSummaryRow(task, written, id, record, { insteadOf })
      return 'accepted'
    }
    this.#fail(id, problem === 'SUMMARY_NOT_SMALLER' ? 'rejected' : 'failed', problem, task, record)
    return problem
  }

  #requestFor(task: SummaryTask, retryOf?: AnswerProblem): Parameters<typeof askForSummary>[2] {
    const { summarizationProvider, summarizationModel } = this.#config
    return {
      sessionId: this.#snapshot.session.id,
      sections: this.#settings.stages.summarySections,
      // Once more, and shorter: the answer before was too long, or none.
      maxTokens: retryOf === undefined ? task.maxTokens : Math.max(1, Math.floor(task.maxTokens / 2)),
      ...levelOf(task),
      ...(summarizationProvider !== undefined && { provider: summarizationProvider }),
      ...(summarizationModel !== undefined && { model: summarizationModel }),
      ...(retryOf !== undefined && { retryOf }),
    }
  }

  /** Law 7: a summary that is empty or no smaller than what it stands for is not committed. */
  #problemOf(task: SummaryTask, written: WrittenSummary): AnswerProblem | undefined {
    if (written.problem !== undefined) return written.problem
    if (written.text.trim() === '' || written.answer.text.trim() === '') return 'EMPTY_SUMMARY'
    const { sizes } = this.#summaryRow(written.text, {})
    return this.#view.tokensOfRow(sizes) >= task.tokens ? 'SUMMARY_NOT_SMALLER' : undefined
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
    this.#add(plan === undefined ? condensePlan(task.rows, insert, params) : { ...plan, insert }, id, record)
  }

  /** A text that was given, by a caller or a stage; answers whether it was accepted. */
  #accept(task: SummaryTask, written: WrittenSummary, summarizer: string, plan?: Plan): boolean {
    const id = uuidv7()
    const record = { summarizer }
    const problem = this.#problemOf(task, written)
    if (problem === undefined)
      this.#addSummaryRow(task, written, id, record, plan === undefined ? {} : { plan })
    else this.#fail(id, problem === 'SUMMARY_NOT_SMALLER' ? 'rejected' : 'failed', problem, task, record)
    return problem === undefined
  }

  #summaryRow(text: string, metadata: JsonObject): PlannedInsert {
    return {
      kind: 'summary',
      role: 'system',
      text,
      metadata,
      sizes: measureMessage({ content: text }, this.#view.estimator),
    }
  }

  #estimate(task: SummaryTask, sources: readonly SummarySource[], summarizer: Summarizer): true {
    this.#pending.push({
      summarizer: summarizer.name,
      messages: sources.map(({ shown }) => shown),
      inputTokens: task.tokens,
      maxTokens: task.maxTokens,
    })
    // The largest number of units that is worth no more than maxTokens.
    let units = 0
    for (let step = task.maxTokens; step >= 1; step = Math.floor(step / 2)) {
      while (this.#view.estimator.toTokens(units + step, this.#view.provider) <= task.maxTokens) units += step
    }
    const insert: PlannedInsert = {
      kind: 'summary',
      role: 'system',
      text: '',
      metadata: levelOf(task),
      sizes: { ...NO_SIZES, text: units },
    }
    this.#add(condensePlan(task.rows, insert, { ...task.params }), uuidv7())
    return true
  }

  #add(plan: Plan, id: string, summary?: SummaryRecord): void {
    this.#throwIfAborted()
    checkLaws(this.#snapshot.session.id, this.#view, plan)
    this.#plans += 1
    const step = applyPlan(this.#view, plan, -this.#plans, this.#ordinal)
    if (plan.insert !== undefined) this.#ordinal += 1
    const committed = { ...step, id, createdAt: Date.now(), summary }
    this.#steps.push(committed)
    this.#view = step.after
    this.#onStage?.(committed)
  }

  #fail(
    id: string,
    status: FailedAttempt['status'],
    error: string,
    task: SummaryTask,
    summary: SummaryRecord,
  ): void {
    const { tokens } = this.#view
    this.#failed.push({
      id,
      status,
      error,
      tokensBefore: tokens,
      tokensAfter: tokens,
      summary,
      coveredTokens: task.tokens,
    })
  }

  #throwIfAborted(): void {
    if (this.#config.signal?.aborted)
      throw new UndertextError('ABORTED', { sessionId: this.#snapshot.session.id })
  }

  /** The rows as the view shows them, steps planned before included, and as they are stored. */
  async #sourcesOf(rows: readonly ViewRow[]): Promise<SummarySource[]> {
    const stored = rows.filter(({ key }) => key > 0)
    const [contents, metadata, shownTexts] = await Promise.all([
      this.#storage.contents(stored.map(({ key }) => key)),
      this.#storage.metadata(stored.filter(({ kind }) => kind === 'summary').map(({ key }) => key)),
      this.#storage.shownTexts(rows.filter(({ shown }) => shown.length > 0).map(({ key }) => key)),
    ])
    const planned = new Map<string, string>()
    for (const { plan } of this.#steps) {
      for (const { row, part, text } of plan.replace) planned.set(`${row.key}:${part}`, text)
    }
    return rows.map((row) => {
      const original = contents.get(row.key) ?? this.#plannedContent(row.key) ?? []
      const shown = original.map((part, index) => {
        const text = planned.get(`${row.key}:${index}`) ?? shownTexts.get(row.key)?.get(index)
        return text === undefined ? part : overlaid(part, text)
      })
      return {
        kind: row.kind,
        shown: { role: row.role, content: shown },
        original: { role: row.role, content: original },
        metadata: metadata.get(row.key) ?? this.#plannedInsert(row.key)?.metadata,
      }
    })
  }
}

function partsIn(message: Message | undefined): readonly Part[] {
  return message === undefined ? [] : partsOf(message)
}

function levelOf({ level }: SummaryTask): { level?: number } {
  return level === undefined || level === 0 ? {} : { level }
}

/** For the audit: which stage planned it, where the kind alone does not say. */
function named<T extends { readonly params?: JsonObject }>(planned: T, { name }: Stage): T {
  const isOurs = name === 'cut' || (COMPACTION_STAGES as readonly string[]).includes(name)
  return isOurs ? planned : { ...planned, params: { stage: name, ...planned.params } }
}
