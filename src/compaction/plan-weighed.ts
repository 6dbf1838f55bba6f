import { type CheckedConfig, mayAskModel, type RunSettings, resolveSettings } from '../config/compaction.ts'
import { type ChosenModel, resolveModel, windowOf } from '../config/model.ts'
import type { CommitStep, Session, Snapshot, Storage } from '../storage/storage.ts'
import type { ContextWindows } from '../tokens/windows.ts'
import { planRun } from './plan-run.ts'
import type { SummaryMode } from './plan-summaries.ts'
import type { PlannedRun } from './planned-run.ts'
import type { RunTelling } from './run-events.ts'
import { unlessUnsummarized, weighed } from './weigh.ts'

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
