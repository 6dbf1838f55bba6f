import { countBefore } from '../../core/messages/json.ts'
import { firstChangedOf, isWorthIt } from '../../core/model/prompt-cache.ts'
import type { InvalidatedReasoning } from '../../core/model/reasoning.ts'
import { prefixLaw, ReasoningLoss } from '../../core/model/reasoning.ts'
import { isMediaDue } from '../../core/tokens/media-limits.ts'
import { bindsReasoning } from '../../core/tokens/reasoning-bindings.ts'
import type { CommitStep, ReasoningRecord, Snapshot, Storage } from '../../storage/storage.ts'
import { type ChosenModel, resolveModel, windowOf } from '../config/model.ts'
import type { Configuration } from '../config/resolve.ts'
import { mayCallModel, type RunConfig, type RunSettings, resolveSettings } from '../config/run-config.ts'
import { PAGE_ROWS } from './row-sources.ts'
import { mediaIn, type PlannedRun, Run, type SummaryMode, withoutSteps } from './run.ts'
import type { RunEvents } from './run-progress.ts'

/**
 * Plans a run over a snapshot for the session's model, by its learned limits and its provider's cached tokens, and drops the plans of a run
 * that saves too little. `events` is notified of each stage. Throws the errors of `Run.plan`. Changes nothing.
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
  const plan = async (mode: SummaryMode, onStage?: (step: CommitStep) => void): Promise<PlannedRun> => {
    const planned = await new Run({
      ...{ storage, snapshot, settings, config, mode, onStage },
      bindsReasoning: isBound,
    }).plan()
    return dropUnlessWorthIt(dropUnlessSummarized({ ...planned, cachedTokens }, config), config)
  }
  // Before a model is paid for: an estimate that saves too little ends the run.
  if (typeof mode === 'object' && settings.minimumSavings > 0 && mayCallModel(config)) {
    const bound = await plan('estimate')
    if (bound.isHeldBack === true) return bound
  }
  const planned = await plan(mode, (step) => events?.stage(step))
  return isBound
    ? { ...planned, invalidatedReasoning: await invalidatedReasoningOf(storage, planned) }
    : planned
}

/** Whether reasoning at a position can be sent now and could be invalidated: what precedes it hasn't changed, and its model checks that. */
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

/** Returns the reasoning that a run invalidates. Only contents with reasoning are read, if it can be invalidated. */
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

/** Returns the tokens of the history that the provider reported as cached, converted to those of the estimator. */
async function cachedTokensOf(
  storage: Storage,
  { session }: Snapshot,
  { othersTokens, scale }: RunSettings,
  { key, model = '' }: ChosenModel,
): Promise<number | undefined> {
  const cached = await storage.cachedTokens(session.id, key, model)
  return cached === undefined ? undefined : Math.max(0, Math.floor((cached - othersTokens) / scale))
}

/** Drops the plans of a job whose summaries all failed: it runs before it is necessary, and is retried. */
function dropUnlessSummarized(planned: PlannedRun, { job }: RunConfig): PlannedRun {
  const { steps, failed } = planned
  if (job === undefined || failed.length === 0 || steps.some(({ summary }) => summary !== undefined))
    return planned
  return withoutSteps(planned)
}

/**
 * Drops the plans of a run that saves less than its minimum, unless the request needs them to fit or a summary was paid for. A summary that
 * isn't written yet counts as empty, so that a run is dropped only if no summary could make it worthwhile.
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
  return { ...withoutSteps(planned), isHeldBack: true }
}

/** Whether a run reduces images or bytes that were due, however many tokens it saves. */
function savesDueMedia({ snapshot, settings, after }: PlannedRun): boolean {
  const { sizes } = snapshot.view
  const isLess = after.sizes.images < sizes.images || after.sizes.mediaBytes < sizes.mediaBytes
  return isLess && isMediaDue(mediaIn(snapshot.view, settings), settings.media)
}
