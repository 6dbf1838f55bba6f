import { type CheckedConfig, mayAskModel, type RunSettings, resolveSettings } from '../config/compaction.ts'
import { type ChosenModel, resolveModel, windowOf } from '../config/model.ts'
import { firstChangedOf, isWorthIt } from '../model/prompt-cache.ts'
import type { CommitStep, Session, Snapshot, Storage } from '../storage/storage.ts'
import type { ContextWindows } from '../tokens/windows.ts'
import { planRun } from './plan-run.ts'
import type { SummaryMode } from './plan-summaries.ts'
import type { PlannedRun } from './planned-run.ts'
import type { RunTelling } from './run-events.ts'

/** A session's provider and model, the store-wide ones where it has none. */
export type ModelOf = (session: Session) => Pick<Session, 'provider' | 'model'>

/** What planning needs of a store. */
export type PlanningWorld = {
  readonly storage: Storage
  readonly modelOf: ModelOf
  readonly contextWindows: ContextWindows | undefined
}

/**
 * Plans a run over a snapshot for the model the session is for, with what was learnt of its window and what its provider cached,
 * and weighs what it saves. `telling` hears of each stage. Throws what `planRun` throws. Changes nothing.
 */
export async function planWeighed(
  { storage, modelOf, contextWindows }: PlanningWorld,
  snapshot: Snapshot,
  config: CheckedConfig,
  mode: SummaryMode,
  telling?: RunTelling,
): Promise<PlannedRun> {
  const { session, view } = snapshot
  const chosen = resolveModel(modelOf(session), config.provider, config.model)
  const readings = await storage.readings(session.id, chosen.key, chosen.model ?? '')
  const settings = resolveSettings(config, {
    chosen,
    contextWindow: windowOf(
      chosen,
      session.config,
      contextWindows,
      readings.learned.window,
      config.windows ?? 'maintained',
    ).tokens,
    inputLimit: readings.learned.input,
    viewEpoch: session.viewEpoch,
    readings,
    historyTokens: view.tokens,
    estimator: view.estimator,
  })
  telling?.planning(snapshot, settings)
  const cachedTokens = await cachedTokensOf(storage, snapshot, settings, chosen)
  const plan = async (how: SummaryMode, onStage?: (step: CommitStep) => void): Promise<PlannedRun> => {
    const planned = await planRun(storage, snapshot, settings, config, how, onStage)
    return weighed(unlessUnsummarized({ ...planned, cachedTokens }, config), config)
  }
  // No model is paid for what is known to save too little.
  if (mode.kind === 'write' && settings.minimumSavings > 0 && mayAskModel(config)) {
    const bound = await plan({ kind: 'estimate' })
    if (bound.heldBack === true) return bound
  }
  return plan(mode, (step) => telling?.stage(step))
}

/** What the provider reported as cached of the history, in the estimator's tokens. */
async function cachedTokensOf(
  storage: Storage,
  { session }: Snapshot,
  { othersTokens, scale }: RunSettings,
  { key, model = '' }: ChosenModel,
): Promise<number | undefined> {
  const cached = await storage.cachedTokens(session.id, key, model)
  return cached === undefined ? undefined : Math.max(0, Math.floor((cached - othersTokens) / scale))
}

/**
 * What is left of a run of a job whose summaries all failed: nothing. A job runs before there is need; it is tried again, and
 * nothing is hidden because a model had a bad hour. Source: checklist F4, "Failure".
 */
function unlessUnsummarized(planned: PlannedRun, { job }: CheckedConfig): PlannedRun {
  const { snapshot, steps, failed } = planned
  if (job === undefined || failed.length === 0 || steps.some(({ summary }) => summary !== undefined))
    return planned
  return { ...planned, steps: [], stagesUsed: [], after: snapshot.view }
}

/**
 * Holds a planned run back when it saves less than it must: nothing of it is left then but the summaries that failed. Never one
 * that is needed to make the request fit, and never one whose summary was paid for. Where a model was not asked yet, its
 * summary is taken to be empty, so that only what no answer could make worth it is held back.
 */
function weighed(planned: PlannedRun, { summarizer }: CheckedConfig): PlannedRun {
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
  if (isPaid || isWorthIt(worth)) return planned
  return { ...planned, steps: [], stagesUsed: [], pending: [], after: view, heldBack: true }
}
