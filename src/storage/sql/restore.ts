import { UndertextError } from '../../core/errors.ts'
import { stringifyJson } from '../../core/messages/json.ts'
import { type NewMessage, partsOf } from '../../core/messages/message.ts'
import { encodeCoverage, type RowSet } from '../../core/model/coverage.ts'
import { indexMessage } from '../../core/model/message-parts.ts'
import { savedOf } from '../../core/model/plan.ts'
import { compareRows } from '../../core/model/view.ts'
import type { Estimator } from '../../core/tokens/estimators/estimator-schema.ts'
import {
  type AuditRecord,
  type CompactionRecord,
  type RequiredRecord,
  type RowSetRecord,
  recordId,
} from '../records/records.ts'
import { Hiding, withBytes } from '../records/row-fields.ts'
import type { RestoredRow, Restoring } from '../storage.ts'
import { firstTaken, takenMessageIds } from './append.ts'
import {
  AUDIT,
  COMPACTION_FIGURES,
  COMPACTION_ORIGIN,
  INSERT_CONTENT,
  insertInto,
  MEASUREMENT,
  NOTE,
  OPERATION,
  type References,
  SIZE_COLUMNS,
  setColumns,
  sizeColumns,
  USAGE,
} from './columns.ts'
import { encodeContent, keepBlobs } from './content-codec.ts'
import { requireImport } from './imports.ts'
import { requireKey } from './pins.ts'
import { countAll, showing } from './recount.ts'
import { insertReplacement } from './replacements.ts'
import { restoreRequests } from './requests.ts'
import { encodeFlags, encodeKind, encodeRole, encodeTools } from './row-codec.ts'
import { estimatorOf, requireSession, type StoredSession } from './sessions.ts'
import { type Row, type Sql, writing } from './sql.ts'
import { mapped, type Work } from './work.ts'

/*
 * The head of a history is written after its rows, because a compaction names the keys of rows it depends on. Rows name the
 * numbers of compactions, so these are reserved first, by a placeholder row after them that is deleted at the end.
 */

/** The ids among these that compactions or runs have already. */
export function* takenIds(sql: Sql, ids: readonly string[]): Work<string[]> {
  // A restored session is the first of a new family.
  if (sql.isShared) return []
  return yield* sql.outside('restoreSession', function* () {
    return (yield* sql.all(
      `select value from {list ?} k where exists (select 1 from undertext_compactions c where c.id = k.value)
           or exists (select 1 from undertext_compactions c where c.run = k.value)`,
      JSON.stringify(ids),
    )).map(([id]) => id as string)
  })
}

/** Reserves numbers for compactions, and returns the first. */
export const reserveCompactions = writing(
  'restoreSession',
  function* (sql: Sql, importId: string, count: number): Work<number> {
    const { no: session } = yield* requireImport(sql, importId)
    const first = yield* sql.nextNo('undertext_compactions', session, count)
    if (first !== null) return first
    const last = (yield* sql.get('select coalesce(max(no), 0) from undertext_compactions'))![0] as number
    if (count > 0) {
      const now = Date.now()
      yield* sql.run(
        `insert into undertext_compactions ({family,} no, id, session, run, kind, status, trigger, coverage, tokens_before, tokens_after,
           created_at, changed_at, rank) values ({?,} ?, ?, ?, ?, 'manual', 'aborted', 'import', '{}', 0, 0, ?, ?, 0)`,
        last + count + 1,
        importId,
        session,
        importId,
        now,
        now,
      )
    }
    return last + 1
  },
)

/** Compactions get their numbers in the order of their records. */
function referencesOf({ head, firstNo }: Restoring): References {
  const numbers = new Map(head.compactions.map(({ id }, index) => [id, firstNo + index] as const))
  return { ids: new Map(), numbers }
}

const INSERT_AUDIT = insertInto('undertext_audit', ['no', 'session', ...AUDIT.names])

/** Writes entries of the audit; returns their numbers. */
export function* restoreAudit(
  sql: Sql,
  restoring: Restoring,
  entries: readonly AuditRecord[],
): Work<number[]> {
  const references = referencesOf(restoring)
  return yield* sql.write('restoreSession', function* () {
    const { no } = yield* requireImport(sql, restoring.importId)
    return yield* mapped(entries, function* (entry) {
      const key = yield* sql.nextNo('undertext_audit', no)
      return yield* sql.insert(INSERT_AUDIT, key, no, ...AUDIT.write(entry, references))
    })
  })
}

const INSERT_COMPACTION = insertInto('undertext_compactions', [
  ...['no', 'session', 'coverage', 'requires', 'rows_inserted', 'undone_with_run', 'turned', 'copied_from'],
  ...COMPACTION_ORIGIN.names,
  ...COMPACTION_FIGURES.names,
])

/**
 * Writes compactions, from an index of their list on; `undoneWith` has the numbers of the audit's entries. Throws `SESSION_EXISTS`
 * when an id was taken meanwhile, because another process restores the same history.
 */
export const restoreCompactions = writing('restoreSession', insertCompactions)

/** The same within the caller's transaction. */
export function* insertCompactions(
  sql: Sql,
  restoring: Restoring,
  from: number,
  compactions: readonly CompactionRecord[],
  undoneWith: readonly number[],
): Work<void> {
  const { importId, firstNo, head } = restoring
  const references = referencesOf(restoring)
  const named = (ids: readonly string[]): number[] => ids.map((id) => references.numbers.get(id)!)
  yield* requireImport(sql, importId)
  const session = yield* requireSession(sql, importId)
  for (const [index, record] of compactions.entries()) {
    if (
      (yield* sql.get('select 1 from undertext_compactions where {family} id = ?', record.id)) !== undefined
    )
      throw new UndertextError('SESSION_EXISTS', { sessionId: head.session.id })
    const { turned, undoneWithRun, copied } = record
    yield* sql.run(
      INSERT_COMPACTION,
      firstNo + from + index,
      session.no,
      coverageText(record, named),
      yield* requiredKeys(sql, session, record.requires),
      record.inserts === undefined ? 0 : 1,
      undoneWithRun === undefined ? null : undoneWith[undoneWithRun - 1]!,
      turned === undefined ? null : JSON.stringify([named(turned.lifted), named(turned.restored)]),
      copied === undefined ? null : '',
      ...COMPACTION_ORIGIN.write(record, references),
      ...COMPACTION_FIGURES.write(record, references),
    )
  }
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

function* requiredKeys(
  sql: Sql,
  session: StoredSession,
  requires: readonly RequiredRecord[] | undefined,
): Work<string | null> {
  if (requires === undefined) return null
  const keyOf = (id: string): Work<number> => requireKey(sql, session, id)
  const keys = yield* mapped(requires, function* ({ message, part, by }) {
    const key = yield* keyOf(message)
    return by === undefined ? [key, part] : [key, part, yield* mapped(by, keyOf)]
  })
  return JSON.stringify(keys)
}

const FIGURES = [
  [insertInto('undertext_usage', ['session', ...USAGE.names]), USAGE, 'usage'],
  [insertInto('undertext_measurements', ['session', ...MEASUREMENT.names]), MEASUREMENT, 'measurements'],
  [insertInto('undertext_operations', ['session', ...OPERATION.names]), OPERATION, 'operations'],
] as const
const INSERT_NOTE = insertInto('undertext_notes', ['session', 'owner', ...NOTE.names])

/** Writes the figures, the operations, the notes and the counters, and deletes the placeholder of the numbers. */
export function* settleRestored(sql: Sql, restoring: Restoring): Work<void> {
  // Counting reads all rows. An import in progress has no other writer, so it needs no write lock.
  const counted = yield* sql.read('restoreSession', () => countImport(sql, restoring))
  yield* sql.write('restoreSession', () => writeSettled(sql, restoring, counted))
}

/** The counters of a session that is restored. */
export function* countImport(sql: Sql, { importId }: Restoring): Work<Row> {
  return yield* countAll(sql, (yield* requireImport(sql, importId)).no)
}

/** Writes what `settleRestored` writes, within the caller's transaction. */
export function* writeSettled(sql: Sql, restoring: Restoring, counted: Row): Work<void> {
  const { importId, head } = restoring
  const { no } = yield* requireImport(sql, importId)
  yield* releaseNumbers(sql, restoring)
  const references = referencesOf(restoring)
  for (const [statement, columns, records] of FIGURES)
    for (const record of head[records]) yield* sql.run(statement, no, ...columns.write(record, references))
  yield* restoreRequests(sql, no, head)
  for (const note of head.notes) yield* sql.run(INSERT_NOTE, no, '', ...NOTE.write(note, references))
  const { version, viewEpoch, archivedAt, undoneAutomatic = 0 } = head.session
  yield* sql.run(
    `update undertext_sessions set messages = ?, inserted = ?, visible = ?, ${setColumns(SIZE_COLUMNS)},
         hidden_condensed = ?, hidden_truncated = ?, hidden_manual = ?, retired = ?,
         active_compactions = ?, version = ?, view_epoch = ?, undone_automatic = ?, archived_at = ?, updated_at = ? where {family} no = ?`,
    ...counted,
    version,
    viewEpoch,
    undoneAutomatic,
    archivedAt ?? null,
    Date.now(),
    no,
  )
}

function* releaseNumbers(sql: Sql, { importId, head, firstNo }: Restoring): Work<void> {
  if (head.compactions.length === 0) return
  const statement = 'delete from undertext_compactions where {family} no = ? and id = ?'
  yield* sql.unguarded(importId, function* () {
    yield* sql.run(statement, firstNo + head.compactions.length, importId)
  })
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
export function* restoreRows(sql: Sql, restoring: Restoring, rows: readonly RestoredRow[]): Work<void> {
  const estimator = estimatorOf(sql, restoring.head.session)
  const byId = new Map(restoring.head.compactions.map(({ id }, index) => [id, index] as const))
  const prepared = rows.map((row) => prepare(restoring, row, byId, estimator))
  yield* sql.write('restoreSession', function* () {
    const { no } = yield* requireImport(sql, restoring.importId)
    if (sql.isRemote) {
      const ids = rows.flatMap(({ row }) => (row.type === 'message' ? (row.id ?? []) : []))
      const taken = firstTaken(ids, yield* takenMessageIds(sql, restoring.importId, ids))
      if (taken !== undefined) throw idTaken(restoring, taken)
    }
    for (const one of prepared) yield* insertRow(sql, restoring, no, one)
    yield* sql.run('update undertext_sessions set updated_at = ? where {family} no = ?', Date.now(), no)
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
  ...['key', 'session', 'anchor', 'ordinal', 'position', 'kind', 'role', 'flags', 'id'],
  ...[...SIZE_COLUMNS, 'tools', 'created_at', 'idempotency_key'],
  ...['inserted_by', 'condense_parent', 'truncation_parent', 'retired_by', 'pinned', 'shown'],
])

function* insertRow(sql: Sql, restoring: Restoring, session: number, prepared: Prepared): Work<void> {
  const { row, encoded, index, tags, shown, shownSizes: sizes, replacements } = prepared
  const noOf = (at: number | undefined): number | null => (at === undefined ? null : restoring.firstNo + at)
  const isMessage = row.type === 'message'
  try {
    const place = isMessage ? { position: row.position } : { ordinal: row.ordinal }
    const key = yield* sql.insert(
      INSERT_ROW,
      sql.keyOf(session, place),
      session,
      isMessage ? row.position : row.anchor,
      isMessage ? 0 : row.ordinal,
      isMessage ? row.position : null,
      encodeKind(row.type),
      encodeRole(row.role),
      encodeFlags(index),
      isMessage ? (row.id ?? null) : null,
      ...sizeColumns(sizes),
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
    yield* sql.run(INSERT_CONTENT, key, encoded.content, metadata, encoded.blobs)
    for (const one of replacements) yield* insertReplacement(sql, one.compaction, key, one)
  } catch (error) {
    if (sql.takenColumn(error) === undefined) throw error
    throw idTaken(restoring, recordId(restoring.head.session.incarnation, row))
  }
  yield* keepBlobs(sql, encoded.bytes)
}

function idTaken({ head }: Restoring, messageId: string): UndertextError<'MESSAGE_ID_TAKEN'> {
  return new UndertextError('MESSAGE_ID_TAKEN', { sessionId: head.session.id, messageId })
}
