import type { CompactionPreview } from '../../compaction/preview.ts'
import { estimatorNamed } from '../../core/estimators/built-in.ts'
import type { Message } from '../../core/message.ts'
import { addSizes, type Estimator, measureMessage, neurolinkEstimator, tokensOf } from '../../core/tokens.ts'
import type { SqliteStore } from '../../open.ts'
import type { PreviewOptions } from '../../store-options.ts'
import { isTokenizerName, tokenizerEstimator } from '../../tokenizers/tokenizer.ts'
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
  const estimator = await estimatorOf(stats.estimator)
  const measure = (message: Pick<Message, 'content'>): number => rowTokens(message, estimator, stats.provider)
  return {
    sessionId,
    provider: stats.provider,
    model: stats.model,
    preview,
    plan: compactionPlan(preview.compactions, view, measure, isPending(preview)),
  }
}

function isPending({ summaryPending = [] }: CompactionPreview): boolean {
  return summaryPending.length > 0
}

/** A row's own tokens, without what a conversation takes as such: what a second one like it would add. */
function rowTokens(message: Pick<Message, 'content'>, estimator: Estimator, provider: string): number {
  const sizes = measureMessage(message, estimator)
  return tokensOf(addSizes(sizes, sizes), 2, estimator, provider) - tokensOf(sizes, 1, estimator, provider)
}

async function estimatorOf(name: string): Promise<Estimator> {
  if (isTokenizerName(name)) return tokenizerEstimator(name)
  return estimatorNamed(name) ?? neurolinkEstimator
}
