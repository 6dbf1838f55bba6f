import { v7 as uuidv7 } from 'uuid'
import type { RunConfig, RunSettings } from '../config/run-config.ts'
import { errorName, isUndertextError, standingFor, UndertextError } from '../errors.ts'
import type { JsonObject } from '../messages/json.ts'
import { type Part, partsOf } from '../messages/message.ts'
import { checkLaws } from '../model/laws.ts'
import { COMPACTION_STAGES, type Plan } from '../model/plan.ts'
import type { ViewRow } from '../model/view-row.ts'
import { cut } from '../stages/cut.ts'
import type {
  CompositeStage,
  PlanDraft,
  PlanningStage,
  SlowPlanningStage,
  Stage,
  StageContext,
  SummarizingStage,
} from '../stages/stage.ts'
import { bareCondensePlan } from '../stages/summarize.ts'
import type { CommitStep, Snapshot } from '../storage/storage.ts'
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
import { type SummaryMode, SummaryPlanner } from './plan-summaries.ts'
import { type ContentReader, type PlannedRun, RunDraft } from './run-draft.ts'
import { SummaryMaterial } from './summary-chunks.ts'
import { givenSummary, type WrittenSummary } from './write-summary.ts'

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
  config: RunConfig,
  mode: SummaryMode,
  onStage?: (step: CommitStep) => void,
): Promise<PlannedRun> {
  const draft = new RunDraft(storage, snapshot, settings, config, onStage)
  const run = new RunPlanner(draft, mode)
  if (config.range !== undefined) await run.condenseRange(config.range)
  else await run.runStages(config.pipeline, settings.targetTokens)
  return draft.result()
}

/** Takes a run through its stages, and adds what they plan to its draft. */
class RunPlanner {
  readonly #draft: RunDraft
  readonly #mode: SummaryMode
  readonly #summaries: SummaryPlanner

  constructor(draft: RunDraft, mode: SummaryMode) {
    this.#draft = draft
    this.#mode = mode
    this.#summaries = new SummaryPlanner(draft, mode)
  }

  /** Runs stages in order, each only while the history takes more than the budget. */
  async runStages(stages: readonly Stage[], budget: number): Promise<void> {
    for (const stage of stages) {
      const most = 'until' in stage && stage.until === 'limit' ? this.#draft.settings.limitTokens : budget
      if (this.#draft.view.tokens <= most) continue
      if ('stages' in stage) await this.runStages(stage.stages, stage.budget ?? budget)
      else if ('plan' in stage) await this.#runPlanning(stage, budget)
      else if (this.#mode.kind !== 'skip') await this.#runSummarizing(stage, budget)
    }
  }

  /** Condenses what is visible between two positions, with the text given or asked for. */
  async condenseRange({ from, to }: { from: number; to: number }): Promise<void> {
    const rows = this.#draft.view.rows.filter(({ anchor }) => anchor >= from && anchor <= to)
    const sessionId = this.#draft.sessionId
    if (rows.length === 0) {
      throw new UndertextError('ILLEGAL_BOUNDARY', {
        sessionId,
        why: 'nothing is visible in the range',
        messageIds: [],
      })
    }
    checkLaws(sessionId, this.#draft.view, bareCondensePlan(rows))
    const tokens = this.#draft.view.tokensOfRows(rows)
    const task = {
      rows,
      tokens,
      maxTokens: Math.max(1, Math.min(this.#draft.settings.stages.summaryMaxTokens, Math.floor(tokens / 2))),
    }
    const { summary } = this.#draft.config
    if (summary === undefined) {
      if (await this.#summaries.condense(task)) this.#draft.markUsed('summarize')
      return
    }
    const written = await this.#given(summary, rows)
    if (this.#summaries.accept(task, written, 'given')) this.#draft.markUsed('summarize')
  }

  async #given(text: string, rows: readonly ViewRow[]): Promise<WrittenSummary> {
    const material = new SummaryMaterial(undefined)
    await this.#draft.readSources(rows, (source) => material.add(source))
    return givenSummary(text, material)
  }

  async #runPlanning(stage: PlanningStage | SlowPlanningStage, budget: number): Promise<void> {
    const context = await this.#contextFor(stage, budget)
    const draft = await this.#own<PlanDraft | undefined>(stage, () => stage.plan(this.#draft.view, context))
    // A function without an answer answers null in some hands.
    if (draft === undefined || draft === null) return
    const plan = isWholePlan(draft, stage) ? named(draft, stage) : await this.#complete(draft, stage)
    if (plan === undefined) return
    this.#checkLaws(plan, stage)
    if (plan.insert?.kind === 'summary') return this.#addSummary(plan, stage)
    this.#draft.add(plan, uuidv7())
    this.#draft.markUsed(stage === cut ? 'truncate' : stage.name)
  }

  /** What a stage may look at: contents and metadata of the rows it asks for, those planned in this run included. */
  async #contextFor(stage: Exclude<Stage, CompositeStage>, budget: number): Promise<StageContext> {
    const { stages: settings, limitTokens } = this.#draft.settings
    const bare = { settings, targetTokens: budget, limitTokens }
    const named = (await this.#own(stage, () => stage.reads?.(this.#draft.view, bare))) ?? []
    this.#refuse(stage, readsProblem(named))
    const needed = named.map((row) => rowOf(this.#draft.view, row))
    const keeps = await this.#own(stage, () => stage.keeps?.(this.#draft.view, bare))
    const originals = new Map<number, readonly Part[]>()
    const shown = new Map<number, readonly Part[]>()
    const metadata = new Map<number, JsonObject>()
    await this.#draft.readSources(needed, (source, row) => {
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
        // The commonest mistake in a stage of one's own, and a silent one: the row would just be empty.
        if (stage.reads === undefined)
          throw this.#stageFailed(stage, 'contentOf needs the rows named by reads')
        return originals.get(key) ?? []
      },
      shownOf: ({ key }) => shown.get(key) ?? originals.get(key) ?? [],
      metadataOf: ({ key }) => metadata.get(key),
    }
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
      checkLaws(this.#draft.sessionId, this.#draft.view, plan)
    } catch (error) {
      if (!isUndertextError(error, 'ILLEGAL_BOUNDARY')) throw error
      throw new UndertextError('ILLEGAL_BOUNDARY', { ...error.facts, stage: name })
    }
  }

  #refuse(stage: Stage, problem: string | undefined): void {
    if (problem !== undefined) throw this.#stageFailed(stage, problem)
  }

  #stageFailed({ name }: Stage, error: string): UndertextError<'STAGE_FAILED'> {
    return new UndertextError('STAGE_FAILED', { sessionId: this.#draft.sessionId, stage: name, error })
  }

  /** Fills in what a stage left out; `undefined` for a plan of nothing. */
  async #complete(draft: PlanDraft, stage: Stage): Promise<Plan | undefined> {
    this.#refuse(stage, draftProblem(draft))
    const rows = rowsToMeasure(this.#draft.view, draft)
    const sources = rows.length === 0 ? [] : await this.#draft.sourcesOf(rows)
    const contents = new Map(
      rows.map((row, at) => {
        const { original, shown } = sources[at]!
        return [row.key, { original: partsOf(original), shown: partsOf(shown) }] as const
      }),
    )
    const nothing: RowContents = { original: [], shown: [] }
    const plan = completePlan(this.#draft.view, draft, stage.name, ({ key }) => contents.get(key) ?? nothing)
    if ('unfit' in plan) {
      throw new UndertextError('ILLEGAL_BOUNDARY', {
        sessionId: this.#draft.sessionId,
        why: 'only texts and tool results can be shown differently',
        messageIds: [plan.unfit.id],
      })
    }
    return plan.hide.length === 0 && plan.replace.length === 0 ? undefined : plan
  }

  /** A summary whose text a stage wrote itself meets law 7 like any other. */
  async #addSummary(plan: Plan, stage: Stage): Promise<void> {
    const tokens = this.#draft.view.tokensOfRows(plan.hide)
    const task = { rows: plan.hide, tokens, maxTokens: tokens }
    const { text, metadata } = plan.insert!
    const written = await this.#given(text, plan.hide)
    const whole = { ...written, metadata: { ...metadata, ...written.metadata } }
    if (this.#summaries.accept(task, whole, stage.name, plan)) this.#draft.markUsed(stage.name)
  }

  async #runSummarizing(stage: SummarizingStage, budget: number): Promise<void> {
    for (let round = 0; round < (stage.rounds ?? 1); round++) {
      const context = await this.#contextFor(stage, budget)
      const drafts = (await this.#own(stage, () => stage.summaries(this.#draft.view, context))) ?? []
      this.#refuse(stage, tasksProblem(drafts))
      let accepted = 0
      for (const draft of drafts) {
        const task = completeTask(this.#draft.view, draft, this.#draft.settings.stages.summaryMaxTokens)
        this.#checkLaws(bareCondensePlan(task.rows), stage)
        if (await this.#summaries.condense(named(task, stage))) accepted += 1
      }
      if (accepted > 0) this.#draft.markUsed(stage.name)
      else return
    }
  }
}

/** For the audit: which stage planned it, where the kind alone does not say. */
function named<T extends { readonly params?: JsonObject }>(planned: T, { name }: Stage): T {
  const isOurs = name === 'cut' || (COMPACTION_STAGES as readonly string[]).includes(name)
  return isOurs ? planned : { ...planned, params: { stage: name, ...planned.params } }
}
