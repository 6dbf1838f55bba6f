import { UndertextError } from '../../errors.ts'
import { stringifyJson } from '../../messages/json.ts'
import { type NewMessage, partsOf } from '../../messages/message.ts'
import { encodeCoverage, type RowSet } from '../../model/coverage.ts'
import { indexMessage } from '../../model/message-parts.ts'
import { compareRows } from '../../model/view.ts'
import type { Estimator } from '../../tokens/estimators/estimator-schema.ts'
import {
  type AuditRecord,
  type CompactionRecord,
  type RequiredRecord,
  type RowSetRecord,
  recordId,
} from '../records/records.ts'
import { Hiding, withBytes } from '../records/row-fields.ts'
import type { RestoredRow, Restoring } from '../storage.ts'
import {
  AUDIT,
  COMPACTION_FIGURES,
  COMPACTION_ORIGIN,
  INSERT_CONTENT,
  insertInto,
  MEASUREMENT,
  OPERATION,
  type References,
  USAGE,
} from './columns.ts'
import { type Connection, sqliteCode } from './connection.ts'
import { encodeContent, keepBlobs } from './content-codec.ts'
import { requireImport } from './imports.ts'
import { requireKey } from './pins.ts'
import { countAll, savedOf, showing } from './recount.ts'
import { insertReplacement } from './replacements.ts'
import { unguarded } from './residue.ts'
import { encodeFlags, encodeKind, encodeRole, encodeTools } from './row-codec.ts'
import { requireSession, type StoredSession } from './sessions.ts'

/*
 * The head of a history is written after its rows, because a compaction names the keys of rows it depends on. Rows name the
 * numbers of compactions, so these are reserved first, by a placeholder row after them that is deleted at the end.
 */

/** The ids among these that compactions or runs have already. */
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

/** Reserves numbers for compactions, and returns the first. */
export function reserveCompactions(connection: Connection, importId: string, count: number): number {
  return connection.write('restoreSession', () => {
    const { no: session } = requireImport(connection, importId)
    const last = connection.get('select ifnull(max(no), 0) from undertext_compactions')![0] as number
    if (count > 0) {
      const now = Date.now()
      connection.run(
        `insert into undertext_compactions (no, id, session, run, kind, status, trigger, coverage, tokens_before, tokens_after,
           created_at, changed_at, rank) values (?, ?, ?, ?, 'manual', 'aborted', 'import', '{}', 0, 0, ?, ?, 0)`,
        last + count + 1,
        importId,
        session,
        importId,
        now,
        now,
      )
    }
    return last + 1
  })
}

/** Compactions get their numbers in the order of their records. */
function referencesOf({ head, firstNo }: Restoring): References {
  const numbers = new Map(head.compactions.map(({ id }, index) => [id, firstNo + index] as const))
  return { ids: new Map(), numbers }
}

const INSERT_AUDIT = insertInto('undertext_audit', ['session', ...AUDIT.names])

/** Writes entries of the audit; returns their numbers. */
export function restoreAudit(
  connection: Connection,
  restoring: Restoring,
  entries: readonly AuditRecord[],
): number[] {
  const references = referencesOf(restoring)
  return connection.write('restoreSession', () => {
    const { no } = requireImport(connection, restoring.importId)
    return entries.map((entry) => connection.insert(INSERT_AUDIT, no, ...AUDIT.write(entry, references)))
  })
}

const INSERT_COMPACTION = insertInto('undertext_compactions', [
  ...['no', 'session', 'coverage', 'requires', 'rows_inserted', 'undone_with_run', 'turned'],
  ...COMPACTION_ORIGIN.names,
  ...COMPACTION_FIGURES.names,
])

/**
 * Writes compactions, from an index of their list on; `undoneWith` has the numbers of the audit's entries. Throws `SESSION_EXISTS`
 * when an id was taken meanwhile, because another process restores the same history.
 */
export function restoreCompactions(
  connection: Connection,
  restoring: Restoring,
  from: number,
  compactions: readonly CompactionRecord[],
  undoneWith: readonly number[],
): void {
  const { importId, firstNo, head } = restoring
  const references = referencesOf(restoring)
  const named = (ids: readonly string[]): number[] => ids.map((id) => references.numbers.get(id)!)
  connection.write('restoreSession', () => {
    requireImport(connection, importId)
    const session = requireSession(connection, importId)
    for (const [index, record] of compactions.entries()) {
      if (connection.get('select 1 from undertext_compactions where id = ?', record.id) !== undefined)
        throw new UndertextError('SESSION_EXISTS', { sessionId: head.session.id })
      const { turned, undoneWithRun } = record
      connection.run(
        INSERT_COMPACTION,
        firstNo + from + index,
        session.no,
        coverageText(record, named),
        requiredKeys(connection, session, record.requires),
        record.inserts === undefined ? 0 : 1,
        undoneWithRun === undefined ? null : undoneWith[undoneWithRun - 1]!,
        turned === undefined ? null : JSON.stringify([named(turned.lifted), named(turned.restored)]),
        ...COMPACTION_ORIGIN.write(record, references),
        ...COMPACTION_FIGURES.write(record, references),
      )
    }
  })
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

const FIGURES = [
  [insertInto('undertext_usage', ['session', ...USAGE.names]), USAGE, 'usage'],
  [insertInto('undertext_measurements', ['session', ...MEASUREMENT.names]), MEASUREMENT, 'measurements'],
  [insertInto('undertext_operations', ['session', ...OPERATION.names]), OPERATION, 'operations'],
] as const

/** Writes the figures, the operations and the counters, and deletes the placeholder of the numbers. */
export function settleRestored(connection: Connection, restoring: Restoring): void {
  const { importId, head } = restoring
  // Counting reads all rows. An import in progress has no other writer, so it needs no write lock.
  const counted = connection.read('restoreSession', () =>
    countAll(connection, requireImport(connection, importId).no),
  )
  connection.write('restoreSession', () => {
    const { no } = requireImport(connection, importId)
    releaseNumbers(connection, restoring)
    const references = referencesOf(restoring)
    for (const [sql, columns, records] of FIGURES)
      for (const record of head[records]) connection.run(sql, no, ...columns.write(record, references))
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

function releaseNumbers(connection: Connection, { importId, head, firstNo }: Restoring): void {
  if (head.compactions.length === 0) return
  const sql = 'delete from undertext_compactions where no = ? and id = ?'
  unguarded(connection, importId, () => connection.run(sql, firstNo + head.compactions.length, importId))
}

/** The values of a row's columns, computed before the write lock is taken. */
type Prepared = ReturnType<typeof prepare>

/** By head: each batch of a restore needs it. */
const hidings = new WeakMap<Restoring['head'], Hiding>()

function hidingOf({ head }: Restoring): Hiding {
  const known = hidings.get(head) ?? new Hiding(head.compactions)
  hidings.set(head, known)
  return known
}

/** Writes rows with their tags, replacements and blobs. Throws `MESSAGE_ID_TAKEN`. */
export function restoreRows(
  connection: Connection,
  restoring: Restoring,
  rows: readonly RestoredRow[],
  estimator: Estimator,
): void {
  const byId = new Map(restoring.head.compactions.map(({ id }, index) => [id, index] as const))
  const prepared = rows.map((row) => prepare(restoring, row, byId, estimator))
  connection.write('restoreSession', () => {
    const { no } = requireImport(connection, restoring.importId)
    for (const one of prepared) insertRow(connection, restoring, no, one)
    connection.run('update undertext_sessions set updated_at = ? where no = ?', Date.now(), no)
  })
}

function prepare(
  restoring: Restoring,
  { row, replacements }: RestoredRow,
  byId: ReadonlyMap<string, number>,
  estimator: Estimator,
) {
  const content = withBytes(row.content as NewMessage['content'], row.bytes ?? [])!
  const encoded = encodeContent(content)
  const index = indexMessage({ content }, estimator, encoded.inputJson)
  const parts = partsOf({ content })
  const restored = replacements.map(({ compaction, part, text }) => {
    const at = byId.get(compaction)!
    return {
      compaction: restoring.firstNo + at,
      part,
      text: text ?? '',
      original: text === null,
      isOriginal: text === null,
      saved: savedOf(parts[part], text, estimator),
      active: restoring.head.compactions[at]!.status === 'active',
    }
  })
  const tags = hidingOf(restoring).tagsOf(row)
  return { row, encoded, index, tags, replacements: restored, ...showing(index, restored) }
}

const INSERT_ROW = insertInto('undertext_messages', [
  ...['session', 'anchor', 'ordinal', 'position', 'kind', 'role', 'flags', 'id'],
  ...[
    'size_text',
    'size_reasoning',
    'size_calls',
    'size_results',
    'size_media',
    'tools',
    'created_at',
    'idempotency_key',
  ],
  ...['inserted_by', 'condense_parent', 'truncation_parent', 'retired_by', 'pinned', 'shown'],
])

function insertRow(connection: Connection, restoring: Restoring, session: number, prepared: Prepared): void {
  const { row, encoded, index, tags, shown, shownSizes: sizes, replacements } = prepared
  const noOf = (at: number | undefined): number | null => (at === undefined ? null : restoring.firstNo + at)
  const isMessage = row.type === 'message'
  try {
    const key = connection.insert(
      INSERT_ROW,
      session,
      isMessage ? row.position : row.anchor,
      isMessage ? 0 : row.ordinal,
      isMessage ? row.position : null,
      encodeKind(row.type),
      encodeRole(row.role),
      encodeFlags(index),
      isMessage ? (row.id ?? null) : null,
      sizes.text,
      sizes.reasoning,
      sizes.toolCalls,
      sizes.toolResults,
      sizes.media,
      encodeTools(index),
      row.createdAt,
      isMessage ? (row.idempotencyKey ?? null) : null,
      isMessage ? null : noOf(hidingOf(restoring).inserterOf(row.ordinal)),
      noOf(tags.condenseParent),
      noOf(tags.truncationParent),
      noOf(tags.retiredBy),
      row.pinned === true ? 1 : 0,
      shown,
    )
    const metadata = row.metadata === undefined ? null : stringifyJson(row.metadata)
    connection.run(INSERT_CONTENT, key, encoded.content, metadata, encoded.blobs)
    for (const one of replacements) insertReplacement(connection, one.compaction, key, one)
  } catch (error) {
    if (sqliteCode(error) !== 'SQLITE_CONSTRAINT_UNIQUE') throw error
    const messageId = recordId(restoring.head.session.incarnation, row)
    throw new UndertextError('MESSAGE_ID_TAKEN', { sessionId: restoring.head.session.id, messageId })
  }
  keepBlobs(connection, encoded.bytes)
}
