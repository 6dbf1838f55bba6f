import type { CompactionPreview } from '../../compaction/preview.ts'
import type { SqliteStore } from '../../open.ts'
import type { PreviewOptions } from '../../store-options.ts'
import { ownTokens, tokenCounter } from '../token-counter.ts'
import { compactionPlan } from './compaction-plan.ts'
import type { ShownPlan } from './plan-text.ts'

/** A preview of a compaction, and what it means row by row; `undefined` for a session without messages. */
export async function makePlan(
  store: SqliteStore,
  sessionId: string,
  config: PreviewOptions,
): Promise<ShownPlan | undefined> {
  const view = await store.getEffectiveHistory(sessionId)
  const preview = await store.previewCompaction(sessionId, config)
  const stats = await store.getContextStats(sessionId, config.provider, config.model)
  if (preview === null || stats === null) return undefined
  // The store has counted by it, so it is one of ours.
  const tokens = (await tokenCounter(stats.estimator, stats.provider))!
  return {
    sessionId,
    provider: stats.provider,
    model: stats.model,
    preview,
    plan: compactionPlan(preview.compactions, view, (row) => ownTokens(row, tokens), isPending(preview)),
  }
}

function isPending({ summaryPending = [] }: CompactionPreview): boolean {
  return summaryPending.length > 0
}
