import { UndertextError } from '../../errors.ts'
import { stringifyJson } from '../../messages/json.ts'
import type { PositionRange } from '../../messages/message.ts'
import { mergeRanges } from '../../model/expansion.ts'
import type { CompactionStatus } from '../../model/nesting.ts'
import type { CompactionKind } from '../../model/plan.ts'
import type { RunStart, SummaryRecord } from '../storage.ts'
import { loadCompactions } from './compactions.ts'
import type { Connection } from './connection.ts'
import type { StoredSession } from './sessions.ts'

type CompactionRow = {
  readonly id: string
  readonly kind: CompactionKind
  readonly status: CompactionStatus
  readonly params: string | null
  readonly coverage: string
  readonly requires: string | null
  readonly rowsHidden: number
  readonly partsReplaced: number
  readonly rowsInserted: number
  readonly tokensBefore: number
  readonly tokensAfter: number
  readonly summary: SummaryRecord | undefined
  readonly error: string | null
  /** When it was made, where that was not now; milliseconds since 1970. */
  readonly createdAt?: number | undefined
  /** Its place in the order in which things were done: what builds on what. */
  readonly rank: number
}

/** Inserts a compaction, or brings one that was noted as running to its end; answers its number. */
export function writeCompaction(
  connection: Connection,
  session: StoredSession,
  run: RunStart,
  row: CompactionRow,
): number {
  const now = Date.now()
  const { summary } = row
  const written = connection.get(
    `insert into undertext_compactions (id, session, run, kind, status, trigger, actor, reason, params, coverage, requires,
       rows_hidden, parts_replaced, rows_inserted, tokens_before, tokens_after, summarizer, model, prompt_version, usage, cost,
       error, created_at, changed_at, rank)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     on conflict (id) do update set status = excluded.status, params = excluded.params, rows_hidden = excluded.rows_hidden,
       rows_inserted = excluded.rows_inserted, tokens_before = excluded.tokens_before, tokens_after = excluded.tokens_after,
       summarizer = excluded.summarizer, model = excluded.model, prompt_version = excluded.prompt_version,
       usage = excluded.usage, cost = excluded.cost, error = excluded.error, changed_at = excluded.changed_at,
       rank = excluded.rank
     where status in ('running', 'aborted', 'expired') and rows_inserted = 0
     returning no`,
    row.id,
    session.no,
    run.runId,
    row.kind,
    row.status,
    run.trigger,
    run.actor ?? null,
    run.reason ?? null,
    row.params,
    row.coverage,
    row.requires,
    row.rowsHidden,
    row.partsReplaced,
    row.rowsInserted,
    row.tokensBefore,
    row.tokensAfter,
    ...recordColumns(summary),
    row.error,
    row.createdAt ?? now,
    now,
    row.rank,
  )
  if (written === undefined) {
    throw new UndertextError('STALE_PLAN', {
      sessionId: session.id,
      why: 'it was applied already',
      messageIds: [],
    })
  }
  return written[0] as number
}

/** What is noted of a summary, as the columns summarizer, model, prompt_version, usage, cost. */
export function recordColumns(summary: SummaryRecord | undefined): readonly (string | number | null)[] {
  return [
    summary?.summarizer ?? null,
    summary?.model ?? null,
    summary?.promptVersion ?? null,
    summary?.usage === undefined ? null : stringifyJson(summary.usage),
    summary?.cost ?? null,
  ]
}

/**
 * A function that says which positions of the log the row inserted by a compaction stands for, down to the
 * originals: what the compaction hid, and what the inserted rows among that stood for.
 */
export function provenanceOf(
  connection: Connection,
  session: number,
): (compaction: number) => readonly PositionRange[] {
  const compactions = loadCompactions(connection, session)
  const byNo = new Map(compactions.map((compaction) => [compaction.no, compaction] as const))
  const byOrdinal = new Map(
    compactions.flatMap((compaction) => {
      const { inserted } = compaction.coverage
      return inserted === undefined ? [] : [[inserted.ordinal, compaction.no] as const]
    }),
  )
  const known = new Map<number, readonly PositionRange[]>()
  const positionsOf = (no: number): readonly PositionRange[] => {
    const found = known.get(no)
    if (found !== undefined) return found
    known.set(no, [])
    const hidden = byNo.get(no)?.coverage.hidden
    const inner = (hidden?.inserted ?? []).flatMap(({ ordinal }) => {
      const by = byOrdinal.get(ordinal)
      return by === undefined ? [] : positionsOf(by)
    })
    const positions = mergeRanges([...(hidden?.positions ?? []), ...inner])
    known.set(no, positions)
    return positions
  }
  return positionsOf
}
