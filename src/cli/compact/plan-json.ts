import type { CompactionPlan, PlannedRow } from './compaction-plan.ts'
import type { ShownPlan } from './plan-text.ts'

/** A plan for programs: docs/cli-compact.md has the shape. */
export function planJson({ sessionId, provider, model, preview }: ShownPlan, plan: CompactionPlan) {
  const { firstChanged: first, summaryPending = [] } = preview
  return {
    session: sessionId,
    provider,
    model: model ?? null,
    reason: preview.reason ?? null,
    tokensBefore: preview.tokensBefore,
    tokensAfter: preview.tokensAfter,
    tokensSaved: preview.tokensSaved,
    targetTokens: preview.targetTokens,
    reachedTarget: preview.reachedTarget,
    fits: preview.fits,
    cache:
      first === undefined
        ? null
        : {
            firstChangedPosition: first.position,
            cachedTokens: first.cachedTokens,
            tokensGivenUp: first.tokensGivenUp,
            source: first.source,
          },
    stages: plan.stages.map(({ compactionId, rows, inserts, ...stage }) => ({
      compaction: compactionId,
      ...stage,
      rows: rows.map(rowJson),
      inserts: inserts ?? null,
    })),
    kept: plan.kept.map(rowJson),
    summaryPending: summaryPending.map(({ summarizer, messages, inputTokens, maxTokens }) => ({
      summarizer,
      messages: messages.length,
      inputTokens,
      maxTokens,
    })),
  }
}

function rowJson({ messageId, position, why, ...row }: PlannedRow) {
  return { id: messageId, position: position ?? null, ...row, why: why === '' ? null : why }
}
