import { UndertextError } from '../../core/errors.ts'
import { type JsonObject, stringifyJson } from '../../core/messages/json.ts'
import type { CompactionStatus } from '../../core/model/coverage.ts'
import type { CompactionKind } from '../../core/model/plan.ts'
import type { RunStart, SummaryRecord } from '../storage.ts'
import { COMPACTION_FIGURES, COMPACTION_ORIGIN, insertInto, setExcluded } from './columns.ts'
import type { StoredSession } from './sessions.ts'
import type { Sql } from './sql.ts'
import type { Work } from './work.ts'

export type CompactionRow = {
  readonly id: string
  readonly kind: CompactionKind
  readonly status: CompactionStatus
  readonly params?: JsonObject
  readonly coverage: string
  readonly requires?: string | null
  readonly rowsHidden?: number
  readonly partsReplaced?: number
  readonly rowsInserted?: number
  readonly tokensBefore: number
  readonly tokensAfter: number
  readonly summary?: SummaryRecord | undefined
  readonly error?: string
  /** In milliseconds since 1970. Default: now. */
  readonly createdAt?: number | undefined
  /** The order in which compactions came into force. A compaction builds only on those of lower rank. */
  readonly rank: number
}

/** The columns that the end of an attempt doesn't change. */
const KEPT: ReadonlySet<string> = new Set(['parts_replaced', 'created_at'])
const ENDED = COMPACTION_FIGURES.names.filter((name) => !KEPT.has(name))
const WRITE = `${insertInto('undertext_compactions', [
  ...['no', 'session', 'coverage', 'requires', 'rows_inserted'],
  ...[...COMPACTION_ORIGIN.names, ...COMPACTION_FIGURES.names],
])}
  on conflict ({family,} id, session) do update set ${setExcluded(['status', 'params', 'rows_inserted', ...ENDED])}
  where undertext_compactions.status in ('running', 'aborted', 'expired') and undertext_compactions.rows_inserted = 0
  returning no`

/** Inserts a compaction, or ends one that was recorded as running; returns its number. `next`: the number for a new one, from `nextNo`. */
export function* writeCompaction(
  sql: Sql,
  session: StoredSession,
  run: RunStart,
  row: CompactionRow,
  next?: number | null,
): Work<number> {
  const now = Date.now()
  const { summary, coverage, requires = null, rowsInserted = 0, ...facts } = row
  const { runId, trigger, actor, reason } = run
  const record = {
    ...{ rowsHidden: 0, partsReplaced: 0, changedAt: now, ...facts, ...summary },
    ...{ run: runId, trigger, actor, reason, createdAt: row.createdAt ?? now },
  }
  const written = yield* sql.get(
    WRITE,
    next === undefined ? yield* sql.nextNo('undertext_compactions', session.no) : next,
    ...[session.no, coverage, requires, rowsInserted],
    ...COMPACTION_ORIGIN.write(record),
    ...COMPACTION_FIGURES.write(record),
  )
  if (written === undefined) throw stale(session.id, 'it was already applied')
  return written[0] as number
}

/** The error of a plan that no longer matches the session. */
export function stale(
  sessionId: string,
  why: string,
  messageIds: readonly string[] = [],
): UndertextError<'STALE_PLAN'> {
  return new UndertextError('STALE_PLAN', { sessionId, why, messageIds })
}

/** Returns the values of the columns summarizer, model, prompt_version, usage, cost. */
export function recordColumns(summary: SummaryRecord | undefined): readonly (string | number | null)[] {
  return [
    summary?.summarizer ?? null,
    summary?.model ?? null,
    summary?.promptVersion ?? null,
    summary?.usage === undefined ? null : stringifyJson(summary.usage),
    summary?.cost ?? null,
  ]
}
