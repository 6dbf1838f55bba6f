import type { PartPreview, ToolOutputLimits } from '../../core/files/tool-output/message-previews.ts'
import { encodeCoverage, NO_ROWS } from '../../core/model/coverage.ts'
import type { Estimator } from '../../core/tokens/estimators/estimator-schema.ts'
import { NO_SIZES, SizesSum, subtractSizes, tokensOf } from '../../core/tokens/measure.ts'
import type { AppendPreview, PreviewRun } from '../storage.ts'
import { writeAudit } from './audit.ts'
import { moveCounters } from './commit.ts'
import { writeCompaction } from './compaction-row.ts'
import { insertReplacement, showOnNew } from './replacements.ts'
import { requireSession } from './sessions.ts'
import type { Sql } from './sql.ts'
import type { Work } from './work.ts'

/** A preview of a row that was just inserted. */
export type RowPreview = PartPreview & { readonly key: number }

/**
 * Applies the previews of an append after its rows and counters, within its transaction, so that no view ever has the full texts. The view
 * epoch is kept, because rows that others have read don't change.
 */
export function* commitPreviews(
  sql: Sql,
  sessionId: string,
  previews: readonly RowPreview[],
  { limits, run, estimator }: { limits: ToolOutputLimits; run: PreviewRun; estimator: Estimator },
): Work<AppendPreview> {
  const session = yield* requireSession(sql, sessionId)
  const sum = new SizesSum()
  for (const { saved } of previews) sum.add(saved)
  const { visibleSizes, visibleCount } = session
  const tokensBefore = tokensOf(visibleSizes, visibleCount, estimator, run.provider)
  const tokensAfter = tokensOf(subtractSizes(visibleSizes, sum.value), visibleCount, estimator, run.provider)
  const no = yield* writeCompaction(sql, session, run, {
    id: run.id,
    kind: 'preview',
    status: 'active',
    params: { maxBytes: limits.maxBytes, maxLines: limits.maxLines },
    coverage: encodeCoverage({ hidden: NO_ROWS, beside: NO_ROWS, inserted: undefined, openCalls: false }),
    partsReplaced: previews.length,
    tokensBefore,
    tokensAfter,
    rank: session.version + 1,
  })
  for (const preview of previews) yield* insertReplacement(sql, no, preview.key, preview)
  yield* showOnNew(sql, no)
  const sizes = subtractSizes(NO_SIZES, sum.value)
  yield* moveCounters(sql, session.no, { sizes, activeCompactions: 1 }, false)
  yield* writeAudit(sql, session.no, {
    event: 'created',
    compaction: no,
    run: run.runId,
    actor: run.actor,
    detail: { kind: 'preview', rows: 0, parts: previews.length, tokensBefore, tokensAfter },
  })
  return {
    compactionId: run.id,
    runId: run.runId,
    parts: previews.length,
    savedTokens: tokensBefore - tokensAfter,
  }
}
