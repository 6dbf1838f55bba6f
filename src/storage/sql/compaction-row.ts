import { UndertextError } from '../../core/errors.ts'
import { type JsonObject, stringifyJson } from '../../core/messages/json.ts'
import type { CompactionStatus } from '../../core/model/dependents.ts'
import type { CompactionKind } from '../../core/model/plan.ts'
import type { RunStart, SummaryRecord } from '../storage.ts'
import { damaged, parseStoredObject, storedNumber, storedText } from './content-codec.ts'
import type { StoredSession } from './sessions.ts'
import type { Row, Sql } from './sql.ts'
import type { Work } from './work.ts'

export type CompactionRow = {
  readonly id: string
  readonly kind: CompactionKind
  readonly status: CompactionStatus
  readonly params?: string
  readonly coverage: string
  readonly requires?: string | null
  readonly rowsHidden?: number
  readonly partsReplaced?: number
  readonly rowsInserted?: number
  readonly tokensBefore: number
  readonly tokensAfter: number
  readonly summary?: SummaryRecord | undefined
  readonly error?: string
  /** Default now; milliseconds since 1970. */
  readonly createdAt?: number | undefined
  /** Compactions build on others of lower rank: it is the order in which they came into force. */
  readonly rank: number
}

/**
 * Inserts a compaction, or ends one that was recorded as running; returns its number. `next`: the number of a new one, from `nextNo`.
 */
export function* writeCompaction(
  sql: Sql,
  session: StoredSession,
  run: RunStart,
  row: CompactionRow,
  next?: number | null,
): Work<number> {
  const now = Date.now()
  const written = yield* sql.get(
    `insert into undertext_compactions ({family,} no, id, session, run, kind, status, trigger, actor, reason, params, coverage, requires,
       rows_hidden, parts_replaced, rows_inserted, tokens_before, tokens_after, summarizer, model, prompt_version, usage, cost,
       error, created_at, changed_at, rank)
     values ({?,} ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     on conflict ({family,} id, session) do update set status = excluded.status, params = excluded.params, rows_hidden = excluded.rows_hidden,
       rows_inserted = excluded.rows_inserted, tokens_before = excluded.tokens_before, tokens_after = excluded.tokens_after,
       summarizer = excluded.summarizer, model = excluded.model, prompt_version = excluded.prompt_version,
       usage = excluded.usage, cost = excluded.cost, error = excluded.error, changed_at = excluded.changed_at,
       rank = excluded.rank
     where undertext_compactions.status in ('running', 'aborted', 'expired') and undertext_compactions.rows_inserted = 0
     returning no`,
    next === undefined ? yield* sql.nextNo('undertext_compactions', session.no) : next,
    row.id,
    session.no,
    run.runId,
    row.kind,
    row.status,
    run.trigger,
    run.actor ?? null,
    run.reason ?? null,
    row.params ?? null,
    row.coverage,
    row.requires ?? null,
    row.rowsHidden ?? 0,
    row.partsReplaced ?? 0,
    row.rowsInserted ?? 0,
    row.tokensBefore,
    row.tokensAfter,
    ...recordColumns(row.summary),
    row.error ?? null,
    row.createdAt ?? now,
    now,
    row.rank,
  )
  if (written === undefined) throw stale(session.id, 'it was applied already')
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

/** The values of the columns summarizer, model, prompt_version, usage, cost. */
export function recordColumns(summary: SummaryRecord | undefined): readonly (string | number | null)[] {
  return [
    summary?.summarizer ?? null,
    summary?.model ?? null,
    summary?.promptVersion ?? null,
    summary?.usage === undefined ? null : stringifyJson(summary.usage),
    summary?.cost ?? null,
  ]
}

/** The columns of a row by their index. Each throws `STORE_CORRUPT`, naming the row. */
export function columnsOf(row: Row, name: string) {
  const text = (at: number): string | undefined => storedText(row[at], name)
  return {
    text,
    required: (at: number): string => {
      const value = text(at)
      if (value === undefined) throw damaged('record', name)
      return value
    },
    number: (at: number): number => storedNumber(row[at], name),
    optional: (at: number): number | undefined =>
      row[at] === null ? undefined : storedNumber(row[at], name),
    json: (at: number): JsonObject | undefined =>
      row[at] === null ? undefined : parseStoredObject(row[at], 'record', name),
  }
}
