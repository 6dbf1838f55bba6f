import type { CheckedConfig } from '../config/compaction.ts'
import { firstChangedOf, isWorthIt } from '../model/prompt-cache.ts'
import type { PlannedRun } from './planned-run.ts'

/**
 * What is left of a run of a job whose summaries all failed: nothing. A job runs before there is need; it is tried again, and
 * nothing is hidden because a model had a bad hour. Source: checklist F4, "Failure".
 */
export function unlessUnsummarized(planned: PlannedRun, { job }: CheckedConfig): PlannedRun {
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
export function weighed(planned: PlannedRun, { summarizer }: CheckedConfig): PlannedRun {
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
