import { UndertextError } from '../../errors.ts'
import { stringifyJson } from '../../messages/json.ts'
import { encodeCoverage, type RowSet } from '../../model/coverage.ts'
import { compareRows } from '../../model/view.ts'
import type { AuditRecord, CompactionRecord, RequiredRecord, RowSetRecord } from '../records/records.ts'
import type { Restoring } from '../storage.ts'
import type { Connection } from './connection.ts'
import { requireKey } from './pins.ts'
import { countAll } from './recount.ts'
import { unguarded } from './residue.ts'
import { requireSession, type StoredSession } from './sessions.ts'
import { requireStaged } from './staging.ts'

/*
 * What stands before the rows of a history, written behind them: a compaction names the keys of rows it leans on, and rows name the
 * numbers of compactions. So the numbers are kept free first, by a row behind them that goes when they are written.
 */

/** Those of some ids that compactions or runs have. */
export function takenIds(connection: Connection, ids: readonly string[]): string[] {
  return connection.outside('restoreSession', () =>
    connection
      .all(
        `select value from json_each(?) k where exists (select 1 from undertext_compactions c where c.id = k.value)
           or exists (select 1 from undertext_compactions c where c.run = k.value)`,
        JSON.stringify(ids),
      )
      .map(([id]) => id as string),
  )
}

/** Keeps numbers for compactions that are to come, and answers the first of them. */
export function reserveCompactions(connection: Connection, stagedId: string, count: number): number {
  return connection.write('restoreSession', () => {
    const { no: session } = requireStaged(connection, stagedId)
    const last = connection.get('select ifnull(max(no), 0) from undertext_compactions')![0] as number
    if (count > 0) {
      const now = Date.now()
      connection.run(
        `insert into undertext_compactions (no, id, session, run, kind, status, trigger, coverage, tokens_before, tokens_after,
           created_at, changed_at, rank) values (?, ?, ?, ?, 'manual', 'aborted', 'import', '{}', 0, 0, ?, ?, 0)`,
        last + count + 1,
        stagedId,
        session,
        stagedId,
        now,
        now,
      )
    }
    return last + 1
  })
}

/** The numbers of compactions by their ids. */
function numbersOf({ head, firstNo }: Restoring): ReadonlyMap<string, number> {
  return new Map(head.compactions.map(({ id }, index) => [id, firstNo + index] as const))
}

/** Writes entries of the audit; answers their numbers. */
export function restoreAudit(
  connection: Connection,
  restoring: Restoring,
  entries: readonly AuditRecord[],
): number[] {
  const { stagedId } = restoring
  const byId = numbersOf(restoring)
  return connection.write('restoreSession', () => {
    const { no: session } = requireStaged(connection, stagedId)
    return entries.map(({ event, compaction, run, at, actor, detail, position }) =>
      connection.insert(
        `insert into undertext_audit (session, event, compaction, run, at, actor, detail, position)
         values (?, ?, ?, ?, ?, ?, ?, ?)`,
        session,
        event,
        compaction === undefined ? null : byId.get(compaction)!,
        run ?? null,
        at,
        actor ?? null,
        json(detail),
        position ?? null,
      ),
    )
  })
}

/**
 * Writes compactions, from a place in their list on. Throws `SESSION_EXISTS` when an id is taken by now: somebody else brings in the same history.
 */
export function restoreCompactions(
  connection: Connection,
  restoring: Restoring,
  from: number,
  compactions: readonly CompactionRecord[],
  undoneWith: readonly number[],
): void {
  const { stagedId, firstNo, head } = restoring
  const byId = numbersOf(restoring)
  connection.write('restoreSession', () => {
    requireStaged(connection, stagedId)
    const session = requireSession(connection, stagedId)
    for (const [index, record] of compactions.entries()) {
      if (connection.get('select 1 from undertext_compactions where id = ?', record.id) !== undefined)
        throw new UndertextError('SESSION_EXISTS', { sessionId: head.session.id })
      insertCompaction(connection, session, firstNo + from + index, record, undoneWith, byId)
    }
  })
}

function insertCompaction(
  connection: Connection,
  session: StoredSession,
  no: number,
  record: CompactionRecord,
  undoneWith: readonly number[],
  byId: ReadonlyMap<string, number>,
): void {
  const named = (ids: readonly string[]): number[] => ids.map((id) => byId.get(id)!)
  const { turned } = record
  connection.run(
    `insert into undertext_compactions (no, id, session, run, kind, status, trigger, actor, reason, params, coverage, requires,
       rows_hidden, parts_replaced, rows_inserted, tokens_before, tokens_after, summarizer, model, prompt_version, usage, cost,
       error, created_at, changed_at, rank, undone_with_run, turned)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    no,
    record.id,
    session.no,
    record.run,
    record.kind,
    record.status,
    record.trigger,
    record.actor ?? null,
    record.reason ?? null,
    json(record.params),
    coverageText(record, named),
    requiredKeys(connection, session, record.requires),
    record.rowsHidden,
    record.partsReplaced,
    record.inserts === undefined ? 0 : 1,
    record.tokensBefore,
    record.tokensAfter,
    record.summarizer ?? null,
    record.model ?? null,
    record.promptVersion ?? null,
    json(record.usage),
    record.cost ?? null,
    record.error ?? null,
    record.createdAt,
    record.changedAt,
    record.rank,
    record.undoneWithRun === undefined ? null : undoneWith[record.undoneWithRun - 1]!,
    turned === undefined ? null : JSON.stringify([named(turned.lifted), named(turned.restored)]),
  )
}

function json(value: object | undefined): string | null {
  return value === undefined ? null : stringifyJson(value)
}

function coverageText(
  { hides, beside, openCalls, rewinds, lifts, restores }: CompactionRecord,
  numbersOf: (ids: readonly string[]) => number[],
): string {
  return encodeCoverage({
    hidden: rowSet(hides),
    beside: rowSet(beside),
    inserted: undefined,
    openCalls: openCalls === true,
    ...(rewinds === true && { rewinds }),
    ...(lifts !== undefined && { lifts: numbersOf(lifts) }),
    ...(restores !== undefined && { restores: numbersOf(restores) }),
  })
}

function rowSet({ positions = [], inserted = [] }: RowSetRecord = {}): RowSet {
  const places = inserted.map(([anchor, ordinal]) => ({ anchor, ordinal }))
  return { positions, inserted: places.sort(compareRows) }
}

function requiredKeys(
  connection: Connection,
  session: StoredSession,
  requires: readonly RequiredRecord[] | undefined,
): string | null {
  if (requires === undefined) return null
  const keyOf = (id: string): number => requireKey(connection, session, id)
  const keys = requires.map(({ message, part, by }) =>
    by === undefined ? [keyOf(message), part] : [keyOf(message), part, by.map(keyOf)],
  )
  return JSON.stringify(keys)
}

/** Writes the figures, the operations and the counters, and gives up the row that kept the numbers. */
export function settleRestored(connection: Connection, restoring: Restoring): void {
  const { stagedId, head } = restoring
  // Counting goes over all rows; nobody else writes to a staged session, so it needs no write lock.
  const counted = connection.read('restoreSession', () =>
    countAll(connection, requireStaged(connection, stagedId).no),
  )
  connection.write('restoreSession', () => {
    const { no } = requireStaged(connection, stagedId)
    releaseNumbers(connection, restoring)
    writeFigures(connection, no, restoring)
    const { version, viewEpoch, archivedAt, undoneAutomatic = 0 } = head.session
    connection.run(
      `update undertext_sessions set messages = ?, inserted = ?, visible = ?, size_text = ?, size_reasoning = ?, size_calls = ?,
         size_results = ?, size_media = ?, hidden_condensed = ?, hidden_truncated = ?, hidden_by_hand = ?, retired = ?,
         active_compactions = ?, version = ?, view_epoch = ?, undone_automatic = ?, archived_at = ?, updated_at = ? where no = ?`,
      ...counted,
      version,
      viewEpoch,
      undoneAutomatic,
      archivedAt ?? null,
      Date.now(),
      no,
    )
  })
}

function releaseNumbers(connection: Connection, { stagedId, head, firstNo }: Restoring): void {
  if (head.compactions.length === 0) return
  const sql = 'delete from undertext_compactions where no = ? and id = ?'
  unguarded(connection, stagedId, () => connection.run(sql, firstNo + head.compactions.length, stagedId))
}

function writeFigures(connection: Connection, session: number, restoring: Restoring): void {
  const { head } = restoring
  for (const one of head.usage) {
    connection.run(
      `insert into undertext_usage (session, provider, model, requests, input_tokens, cache_read_tokens, cache_creation_tokens,
         output_tokens, last_cache_read_tokens, last_cache_creation_tokens, at) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      ...[session, one.provider, one.model, one.requests, one.inputTokens, one.cacheReadTokens],
      ...[one.cacheCreationTokens, one.outputTokens, one.lastCacheReadTokens ?? null],
      ...[one.lastCacheCreationTokens ?? null, one.at],
    )
  }
  for (const one of head.measurements) {
    connection.run(
      `insert into undertext_measurements (session, provider, model, estimator, view_epoch, tokens, held, history, standing,
         pending, first_tokens, first_estimate, at) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      ...[session, one.provider, one.model, one.estimator, one.viewEpoch, one.tokens, one.held, one.history],
      ...[one.standing, one.pending, one.firstTokens ?? null, one.firstEstimate, one.at],
    )
  }
  const byId = numbersOf(restoring)
  for (const { id, digest, compaction, positions } of head.operations) {
    connection.run(
      'insert into undertext_operations (session, id, digest, compaction, positions) values (?, ?, ?, ?, ?)',
      ...[session, id, digest, compaction === undefined ? null : byId.get(compaction)!],
      JSON.stringify(positions),
    )
  }
}
