import { v7 as uuidv7 } from 'uuid'
import { errorName, isUndertextError, standingFor, UndertextError } from '../../core/errors.ts'
import type { JsonObject } from '../../core/messages/json.ts'
import { countBefore } from '../../core/messages/json.ts'
import { type Part, partsOf } from '../../core/messages/message.ts'
import { checkLaws, missingAfterSummary } from '../../core/model/laws.ts'
import { applyPlan, bareCondensePlan, COMPACTION_STAGES, type Plan } from '../../core/model/plan.ts'
import { firstChangedOf, isWorthIt } from '../../core/model/prompt-cache.ts'
import { type InvalidatedReasoning, prefixLaw, ReasoningLoss } from '../../core/model/reasoning.ts'
import type { View } from '../../core/model/view.ts'
import type { ViewRow } from '../../core/model/view-row.ts'
import { cut } from '../../core/stages/cut.ts'
import { deduplicate } from '../../core/stages/deduplicate.ts'
import { latestPart } from '../../core/stages/latest-part.ts'
import { prune } from '../../core/stages/prune.ts'
import {
  type CompositeStage,
  isOurs,
  type MediaNeed,
  type PlanDraft,
  type PlanningStage,
  type SlowPlanningStage,
  type Stage,
  type StageContext,
  type SummarizingStage,
  type SummaryTask,
} from '../../core/stages/stage.ts'
import { planFurtherSummaries, summarize } from '../../core/stages/summarize.ts'
import { isMediaDue, mediaFigures, type RequestMedia, withPending } from '../../core/tokens/media-limits.ts'
import { bindsReasoning } from '../../core/tokens/reasoning-bindings.ts'
import type { CommitStep, ReasoningRecord, Snapshot, Storage } from '../../storage/storage.ts'
import { type ChosenModel, resolveModel, windowOf } from '../config/model.ts'
import type { Configuration } from '../config/resolve.ts'
import {
  mayCallModel,
  type RunConfig,
  type RunSettings,
  requestsSummaries,
  resolveSettings,
  TARGET_TOLERANCE,
} from '../config/run-config.ts'
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
import {
  type ContentReader,
  PAGE_ROWS,
  type PlannedRun,
  RunDraft,
  type SummaryMode,
  withoutSteps,
} from './run-draft.ts'
import type { RunEvents } from './run-progress.ts'
import { SummaryMaterial } from './summary-chunks.ts'
import { givenSummary, type WrittenSummary } from './write-summary.ts'

/**
 * Plans a run over a snapshot: the stages in order, each on the view that the one before left, until the target is reached.
 * Nothing is written, and no transaction is open while a summarizer works. `onStage` is called for each plan that was added.
 * `bindsReasoning`: the model checks what precedes its reasoning, so old rows are changed as late in the view as that is enough.
 *
 * Throws what `checkLaws` throws for a range of the caller, and `ABORTED`.
 */
export async function planRun(
  storage: ContentReader,
  snapshot: Snapshot,
  settings: RunSettings,
  config: RunConfig,
  mode: SummaryMode,
  onStage?: (step: CommitStep) => void,
  bindsReasoning = false,
): Promise<PlannedRun> {
  const draft = new RunDraft(storage, snapshot, settings, config, mode, onStage)
  const run = new RunPlanner(draft, bindsReasoning)
  if (config.range !== undefined) await run.condenseRange(config.range)
  else await run.runStages(config.pipeline, settings.targetTokens)
  return draft.result()
}

/** Runs the stages and adds their plans to the draft of the run. */
class RunPlanner {
  readonly #draft: RunDraft
  /** Whether the run summarizes: then nothing is hidden after a summary without being in one. */
  readonly #summarizes: boolean
  readonly #bindsReasoning: boolean
  /** The stages after the current one and their budgets: their summaries may be placed before what the current one hides. */
  #toCome: readonly { readonly stages: readonly Stage[]; readonly budget: number }[] = []

  constructor(draft: RunDraft, bindsReasoning: boolean) {
    this.#draft = draft
    this.#bindsReasoning = bindsReasoning
    this.#summarizes = draft.config.pipeline.some(requestsSummaries)
  }

  /** Runs stages in order, each only while the history is over the budget. */
  async runStages(stages: readonly Stage[], budget: number): Promise<void> {
    const outer = this.#toCome
    for (const [at, stage] of stages.entries()) {
      this.#toCome = [...outer, { stages: stages.slice(at + 1), budget }]
      if (!this.#isNeeded(stage, budget)) continue
      if ('stages' in stage) await this.runStages(stage.stages, stage.budget ?? budget)
      else if ('plan' in stage) await this.#runPlanning(stage, budget)
      else if (this.#draft.mode !== 'skip') await this.#runSummarizing(stage, budget)
    }
    this.#toCome = outer
  }

  #isNeeded(stage: Stage, budget: number): boolean {
    const { view, settings } = this.#draft
    if ('stages' in stage) return stage.stages.some((one) => this.#isNeeded(one, stage.budget ?? budget))
    const until = 'until' in stage ? stage.until : 'target'
    if (until === 'media') return true
    return !settings.isForMedia && view.tokens > (until === 'limit' ? settings.limitTokens : budget)
  }

  /** Replaces the visible rows between two positions by a summary: the given one, or one by the summarizer. */
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
      if (await this.#draft.condense(task)) this.#draft.markUsed('summarize')
      return
    }
    const written = await this.#givenSummary(summary, rows)
    if (this.#draft.accept(task, written, 'given')) this.#draft.markUsed('summarize')
  }

  async #givenSummary(text: string, rows: readonly ViewRow[]): Promise<WrittenSummary> {
    const { readTools, userTools } = this.#draft.settings.stages
    const material = new SummaryMaterial(undefined, { readTools, userTools })
    await this.#draft.readSources(rows, (source) => material.add(source))
    return givenSummary(text, material)
  }

  async #runPlanning(stage: PlanningStage | SlowPlanningStage, budget: number): Promise<void> {
    const context = await this.#contextFor(stage, budget)
    const draft = await this.#call<PlanDraft | undefined>(stage, () => stage.plan(this.#draft.view, context))
    // A stage of the application may return null instead of undefined.
    if (draft === undefined || draft === null) return
    const whole = isWholePlan(draft, stage) ? named(draft, stage) : await this.#complete(draft, stage)
    if (whole === undefined) return
    const plan = this.#bindsReasoning && changesOldRows(stage) ? this.#latestPart(whole, budget) : whole
    this.#checkLaws(plan, stage)
    if (plan.insert?.kind === 'summary') return this.#addSummary(plan, stage)
    const isWhole = !this.#leavesHole(plan, stage)
    const lawful = isWhole ? plan : this.#beforeSummary(plan)
    if (lawful !== undefined) {
      this.#draft.add(lawful, uuidv7())
      this.#draft.markUsed(stage === cut ? 'truncate' : stage.name)
    }
    if (!isWhole) await this.#summarizeFurther(budget)
  }

  #latestPart(plan: Plan, targetTokens: number): Plan {
    const { view, settings, changedFrom } = this.#draft
    return latestPart(view, plan, {
      changedFrom,
      targetTokens,
      minimumWorth: settings.minimumSavings,
      minimumSavings: settings.stages.pruneMinimumSavings,
    })
  }

  /**
   * Whether a run that summarizes would hide messages after the newest summary, or before a stage that may summarize those before them, so
   * that they would be in no summary and not in the view. What a stage of the application hides is its decision.
   */
  #leavesHole(plan: Plan, stage: Stage): boolean {
    if (!this.#summarizes || plan.hide.length === 0 || !isOurs(stage)) return false
    const { rows } = this.#draft.view
    const { after } = applyPlan(this.#draft.view, plan, Number.MIN_SAFE_INTEGER, 0)
    // Where it reaches the budget, no summary follows.
    const isFollowed = this.#toCome.some(
      ({ stages, budget }) => after.tokens > budget && stages.some(requestsSummaries),
    )
    if (isFollowed) return true
    return missingAfterSummary(rows, after.rows).length > 0
  }

  /**
   * The part of a plan before the newest summary: rows whose own summary failed, or that were too few for one. A call before the
   * summary stays with a result after it.
   */
  #beforeSummary(plan: Plan): Plan | undefined {
    const { rows, turns } = this.#draft.view
    const newest = rows.findLastIndex(({ kind }) => kind === 'summary')
    const hidden = new Set(plan.hide)
    const hide = rows.filter(
      (row, index) => hidden.has(row) && turns.groupOf(index).every((member) => member < newest),
    )
    return hide.some(({ kind }) => kind === 'message') ? { ...plan, hide } : undefined
  }

  /**
   * Makes room by further summaries in place of hiding messages after the newest one. The offline summarizer writes them: a model was asked
   * already, or may not be. A view that is almost within the budget stays as it is.
   */
  async #summarizeFurther(budget: number): Promise<void> {
    const draft = this.#draft
    const { stages, limitTokens } = draft.settings
    const { summarizer, job, trigger } = draft.config
    // A job whose summaries failed is tried again later.
    if (job !== undefined && draft.hasOnlyFailed) return
    const tolerance = trigger === 'overflow' ? 0 : TARGET_TOLERANCE
    if (draft.view.tokens <= Math.min(budget * (1 + tolerance), limitTokens)) return
    const target = Math.min(budget, limitTokens)
    const insteadOf = summarizer?.usesModel === true ? summarizer.name : undefined
    const condense = async (tasks: readonly SummaryTask[]): Promise<void> => {
      for (const task of tasks) if (await draft.condenseOffline(task, insteadOf)) draft.markUsed('summarize')
    }
    await condense(planFurtherSummaries(draft.view, target, stages.summaryMaxTokens))
    if (draft.view.tokens <= limitTokens) return
    // The request must fit: one summary of all, the earlier ones included.
    const settings = { ...stages, keepRecentTokens: undefined, keepRecentRatio: undefined }
    const context = {
      settings,
      targetTokens: target,
      limitTokens,
      contentOf: () => [],
      metadataOf: () => undefined,
    }
    await condense(summarize.summaries(draft.view, context) as readonly SummaryTask[])
  }

  /** The contents and metadata of the rows that a stage asks for, with the changes of this run. */
  async #contextFor(stage: Exclude<Stage, CompositeStage>, budget: number): Promise<StageContext> {
    const { stages: settings, limitTokens } = this.#draft.settings
    const media = mediaNeed(this.#draft.view, this.#draft.settings)
    const bare = { settings, targetTokens: budget, limitTokens, media }
    const named = (await this.#call(stage, () => stage.reads?.(this.#draft.view, bare))) ?? []
    this.#refuse(stage, readsProblem(named))
    const needed = named.map((row) => rowOf(this.#draft.view, row))
    const keeps = await this.#call(stage, () => stage.keeps?.(this.#draft.view, bare))
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
        // The most common mistake in a stage of an application: without the error the row would just be empty.
        if (stage.reads === undefined)
          throw this.#stageFailed(stage, 'contentOf needs the rows named by reads')
        return originals.get(key) ?? []
      },
      shownOf: ({ key }) => shown.get(key) ?? originals.get(key) ?? [],
      metadataOf: ({ key }) => metadata.get(key),
    }
  }

  /** Calls a stage. One of the application may throw anything, also a message that quotes the conversation. */
  async #call<T>(stage: Stage, work: () => T | Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      if (isUndertextError(error)) throw error
      throw standingFor(this.#stageFailed(stage, errorName(error)), error)
    }
  }

  /** Checks the laws for the plan of a stage, and names the stage in the error. */
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

  /** Completes the plan of a stage; `undefined` when it changes nothing. */
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
        why: 'only texts and tool results can be replaced',
        messageIds: [plan.unfit.id],
      })
    }
    return plan.hide.length === 0 && plan.replace.length === 0 ? undefined : plan
  }

  /** A summary that the stage wrote itself must be smaller than its rows, as any other. */
  async #addSummary(plan: Plan, stage: Stage): Promise<void> {
    const tokens = this.#draft.view.tokensOfRows(plan.hide)
    const task = { rows: plan.hide, tokens, maxTokens: tokens }
    const { text, metadata } = plan.insert!
    const written = await this.#givenSummary(text, plan.hide)
    const whole = { ...written, metadata: { ...metadata, ...written.metadata } }
    if (this.#draft.accept(task, whole, stage.name, plan)) this.#draft.markUsed(stage.name)
  }

  async #runSummarizing(stage: SummarizingStage, budget: number): Promise<void> {
    for (let round = 0; round < (stage.rounds ?? 1); round++) {
      const context = await this.#contextFor(stage, budget)
      const drafts = (await this.#call(stage, () => stage.summaries(this.#draft.view, context))) ?? []
      this.#refuse(stage, tasksProblem(drafts))
      let accepted = 0
      for (const draft of drafts) {
        const task = completeTask(this.#draft.view, draft, this.#draft.settings.stages.summaryMaxTokens)
        this.#checkLaws(bareCondensePlan(task.rows), stage)
        if (await this.#draft.condense(named(task, stage))) accepted += 1
      }
      if (accepted > 0) this.#draft.markUsed(stage.name)
      else return
    }
  }
}

/** The images and bytes of a request with this view. */
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

/** Whether a run reduces images or bytes that were due, whatever it saves in tokens. */
function savesDueMedia({ snapshot, settings, after }: PlannedRun): boolean {
  const { sizes } = snapshot.view
  const isLess = after.sizes.images < sizes.images || after.sizes.mediaBytes < sizes.mediaBytes
  return isLess && isMediaDue(mediaIn(snapshot.view, settings), settings.media)
}

/** Whether a stage is a built-in one that shortens what old rows show, wherever they are. */
function changesOldRows(stage: Stage): boolean {
  return stage === prune || stage === deduplicate
}

/** Names the stage for the audit, unless it is one of the pipeline. */
function named<T extends { readonly params?: JsonObject }>(planned: T, { name }: Stage): T {
  const isOurs = name === 'cut' || (COMPACTION_STAGES as readonly string[]).includes(name)
  return isOurs ? planned : { ...planned, params: { stage: name, ...planned.params } }
}

/**
 * Plans a run over a snapshot for the model of the session, by its learned limits and what its provider cached, and drops the
 * plans of a run that saves too little. `events` is notified of each stage. Throws what `planRun` throws. Changes nothing.
 */
export async function planSession(
  storage: Storage,
  configuration: Configuration,
  snapshot: Snapshot,
  config: RunConfig,
  mode: SummaryMode,
  events?: RunEvents,
): Promise<PlannedRun> {
  const { session, view } = snapshot
  const chosen = resolveModel(configuration.modelOf(session), config.provider, config.model)
  const readings = await storage.readings(session.id, chosen.key, chosen.model ?? '')
  const settings = resolveSettings(config, {
    sizes: view.sizes,
    chosen,
    contextWindow: windowOf(
      chosen,
      session.config,
      configuration.ofStore.settings.contextWindows,
      readings.learned.window,
      config.windows ?? 'maintained',
    ).tokens,
    inputLimit: readings.learned.input,
    viewEpoch: session.viewEpoch,
    readings,
    historyTokens: view.tokens,
    estimator: view.estimator,
  })
  events?.planning(snapshot, settings)
  const cachedTokens = await cachedTokensOf(storage, snapshot, settings, chosen)
  const isBound = bindsReasoning(chosen.provider, chosen.model)
  const plan = async (how: SummaryMode, onStage?: (step: CommitStep) => void): Promise<PlannedRun> => {
    const planned = await planRun(storage, snapshot, settings, config, how, onStage, isBound)
    return dropUnlessWorthIt(dropUnlessSummarized({ ...planned, cachedTokens }, config), config)
  }
  // Before a model is paid: an estimate that saves too little ends the run.
  if (typeof mode === 'object' && settings.minimumSavings > 0 && mayCallModel(config)) {
    const bound = await plan('estimate')
    if (bound.heldBack === true) return bound
  }
  const planned = await plan(mode, (step) => events?.stage(step))
  return isBound
    ? { ...planned, invalidatedReasoning: await invalidatedReasoningOf(storage, planned) }
    : planned
}

/** Whether reasoning at a position can be sent now and be made invalid: what precedes it has not changed, and its model checks that. */
function canBeInvalidated(record: ReasoningRecord): (position: number) => boolean {
  const law = prefixLaw(record)
  const { answers } = record
  return (position) => {
    const answer = answers[countBefore(answers, ({ first }) => first <= position) - 1]
    const isOfAnswer = answer !== undefined && position <= answer.last
    if (isOfAnswer && !bindsReasoning(answer.provider, answer.model)) return false
    return law({ position, since: isOfAnswer ? answer.first - 1 : position - 1 })
  }
}

/** The reasoning that a run makes invalid. Only contents with reasoning are read, where that can be invalid. */
async function invalidatedReasoningOf(
  storage: Pick<Storage, 'contents' | 'reasoning'>,
  { snapshot, steps, after }: PlannedRun,
): Promise<InvalidatedReasoning | undefined> {
  if (steps.length === 0) return undefined
  const { id } = snapshot.session
  const loss = new ReasoningLoss(snapshot.view, after, canBeInvalidated(await storage.reasoning(id, true)))
  for (let from = 0; from < loss.rows.length; from += PAGE_ROWS) {
    const page = loss.rows.slice(from, from + PAGE_ROWS)
    const contents = await storage.contents(
      id,
      page.map(({ row }) => row.key),
    )
    for (const one of page) loss.add(one, contents.get(one.row.key) ?? [])
  }
  return loss.value
}

/** Tokens of the history that the provider reported as cached, in those of the estimator. */
async function cachedTokensOf(
  storage: Storage,
  { session }: Snapshot,
  { othersTokens, scale }: RunSettings,
  { key, model = '' }: ChosenModel,
): Promise<number | undefined> {
  const cached = await storage.cachedTokens(session.id, key, model)
  return cached === undefined ? undefined : Math.max(0, Math.floor((cached - othersTokens) / scale))
}

/** Drops the plans of a job whose summaries all failed: it runs before it is necessary, and is tried again. */
function dropUnlessSummarized(planned: PlannedRun, { job }: RunConfig): PlannedRun {
  const { steps, failed } = planned
  if (job === undefined || failed.length === 0 || steps.some(({ summary }) => summary !== undefined))
    return planned
  return withoutSteps(planned)
}

/**
 * Drops the plans of a run that saves less than its minimum, unless the request needs them to fit or a summary was paid. A summary
 * that was not written yet counts as empty, so that only a run that no summary could make worthwhile is dropped.
 */
function dropUnlessWorthIt(planned: PlannedRun, { summarizer }: RunConfig): PlannedRun {
  const { snapshot, settings, steps, after, pending, cachedTokens } = planned
  const { view } = snapshot
  if (steps.length === 0 || settings.minimumSavings === 0 || view.tokens > settings.limitTokens)
    return planned
  const isPaid =
    summarizer?.usesModel === true && steps.some(({ summary }) => summary?.summarizer === summarizer.name)
  const atMost = pending.reduce((sum, { maxTokens }) => sum + maxTokens, 0)
  const worth = {
    changed: firstChangedOf(view, after, cachedTokens),
    before: view,
    tokensAfter: Math.max(0, after.tokens - atMost),
    minimum: settings.minimumSavings,
  }
  if (isPaid || isWorthIt(worth) || savesDueMedia(planned)) return planned
  return { ...withoutSteps(planned), heldBack: true }
}
