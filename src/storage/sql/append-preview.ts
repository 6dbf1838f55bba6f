import type { PartPreview, ToolOutputLimits } from '../../core/files/tool-output/message-previews.ts'
import { encodeCoverage, NO_ROWS } from '../../core/model/coverage.ts'
import type { Estimator } from '../../core/tokens/estimators/estimator-schema.ts'
import { NO_SIZES, type Sizes, SizesSum, subtractSizes, tokensOf } from '../../core/tokens/measure.ts'
import type { AppendPreview, PreviewRun } from '../storage.ts'
import { writeAudit } from './audit.ts'
import { ADD_SIZES, sizeColumns } from './columns.ts'
import { writeCompaction } from './compaction-row.ts'
import { insertReplacement, showOnNew } from './replacements.ts'
import { requireSession } from './sessions.ts'
import type { Sql } from './sql.ts'
import type { Step, Work } from './work.ts'

/** A preview of a row that was just inserted. */
export type RowPreview = PartPreview & { readonly key: number }

/**
 * Applies the previews of an append after its rows and counters, within its transaction, so that no view ever has the full texts. The
 * view epoch stays: rows that others have read are unchanged.
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
  yield* addToCounters(sql, session.no, {
    rows: 0,
    sent: 0,
    sizes: subtractSizes(NO_SIZES, sum.value),
    activeCompactions: 1,
  })
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

/** What an append adds to the counters: rows, and how many of them are not silent. */
type Added = { readonly rows: number; readonly sent: number; sizes: Sizes; activeCompactions: number }

/** Changes the counters of a session by what an append wrote. The view epoch stays. */
export function addToCounters(
  sql: Sql,
  session: number,
  { rows, sent, sizes, activeCompactions }: Added,
): Step<void> {
  return sql.run(
    `update undertext_sessions set messages = messages + ?, visible = visible + ?, ${ADD_SIZES},
       active_compactions = active_compactions + ?, updated_at = ?, version = version + 1
     where {family} no = ?`,
    rows,
    sent,
    ...sizeColumns(sizes),
    activeCompactions,
    Date.now(),
    session,
  )
}
