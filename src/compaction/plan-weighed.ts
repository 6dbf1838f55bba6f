import { type ChosenModel, resolveModel, windowOf } from '../config/model.ts'
import type { Configuration } from '../config/resolve.ts'
import { mayCallModel, type RunConfig, type RunSettings, resolveSettings } from '../config/run-config.ts'
import { firstChangedOf, isWorthIt } from '../model/prompt-cache.ts'
import type { CommitStep, Snapshot, Storage } from '../storage/storage.ts'
import { planRun } from './plan-run.ts'
import type { SummaryMode } from './plan-summaries.ts'
import type { PlannedRun } from './run-draft.ts'
import type { RunEvents } from './run-progress.ts'

/**
 * Plans a run over a snapshot for the model of the session, by its learned limits and what its provider cached, and drops the
 * plans of a run that saves too little. `events` is notified of each stage. Throws what `planRun` throws. Changes nothing.
 */
export async function planWeighed(
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
  const plan = async (how: SummaryMode, onStage?: (step: CommitStep) => void): Promise<PlannedRun> => {
    const planned = await planRun(storage, snapshot, settings, config, how, onStage)
    return dropUnlessWorthIt(dropUnlessSummarized({ ...planned, cachedTokens }, config), config)
  }
  // Before a model is paid: an estimate that saves too little ends the run.
  if (mode.kind === 'write' && settings.minimumSavings > 0 && mayCallModel(config)) {
    const bound = await plan({ kind: 'estimate' })
    if (bound.heldBack === true) return bound
  }
  return plan(mode, (step) => events?.stage(step))
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
  const { snapshot, steps, failed } = planned
  if (job === undefined || failed.length === 0 || steps.some(({ summary }) => summary !== undefined))
    return planned
  return { ...planned, steps: [], stagesUsed: [], after: snapshot.view }
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
  if (isPaid || isWorthIt(worth)) return planned
  return { ...planned, steps: [], stagesUsed: [], pending: [], after: view, heldBack: true }
}
