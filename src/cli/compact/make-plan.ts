import type { CompactionPreview } from '../../compaction/result.ts'
import type { PreviewOptions } from '../../config/store-options.ts'
import type { ViewMessage } from '../../messages/message.ts'
import type { SqliteStore } from '../../store/open.ts'
import { sessionRows } from '../../transfer/session-rows.ts'
import { tokenCounter } from '../token-counter.ts'
import { viewContent } from '../transcript/view-content.ts'
import { type CompactionPlan, compactionPlan } from './compaction-plan.ts'
import type { ShownPlan } from './plan-text.ts'

/** A preview of a compaction; `undefined` for a session without messages. */
export async function makePlan(
  store: SqliteStore,
  sessionId: string,
  config: PreviewOptions,
): Promise<ShownPlan | undefined> {
  const preview = await store.previewCompaction(sessionId, config)
  const stats = await store.getContextStats(sessionId, config.provider, config.model)
  if (preview === null || stats === null) return undefined
  const { provider, model, estimator } = stats
  return { sessionId, provider, model, estimator, preview }
}

/** What a preview means row by row. Reads the whole view. */
export async function planRows(
  store: SqliteStore,
  { sessionId, provider, estimator, preview }: ShownPlan,
): Promise<CompactionPlan> {
  // The store has counted by it, so it is one of ours.
  const tokens = (await tokenCounter(estimator, provider))!
  const view = await viewOf(store, sessionId)
  return await compactionPlan(preview.compactions, view, tokens.own, isPending(preview))
}

/** The view as it is, a page at a time: of a long one its texts are much more than its plan. */
async function viewOf(store: SqliteStore, sessionId: string): Promise<AsyncIterable<ViewMessage>> {
  const session = await store.getSession(sessionId)
  return (async function* () {
    for await (const row of sessionRows(store, session, { visible: true, shown: true }))
      yield { ...row, content: viewContent(row) }
  })()
}

function isPending({ summaryPending = [] }: CompactionPreview): boolean {
  return summaryPending.length > 0
}
