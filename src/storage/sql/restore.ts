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
import type { Background, CopiedSession, RestoredRow, Restoring } from '../storage.ts'
import { firstTaken, takenMessageIds } from './append.ts'
import {
  AUDIT,
  CIRCUIT,
  COMPACTION_FIGURES,
  COMPACTION_ORIGIN,
  INSERT_CONTENT,
  insertInto,
  JOB,
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
import { readHead } from './export.ts'
import { publish, requireImport, setAside } from './imports.ts'
import { setMark } from './move.ts'
import { requireKey } from './pins.ts'
import { countAll, showing } from './recount.ts'
import { insertReplacement } from './replacements.ts'
import { restoreRequests } from './requests.ts'
import { encodeFlags, encodeKind, encodeRole, encodeTools } from './row-codec.ts'
import { estimatorOf, requireSession, resetNewest, type StoredSession } from './sessions.ts'
import type { Sql } from './sql.ts'
import { mapped, type Work } from './work.ts'

/*
 * The head of a history is written after its rows, because a compaction refers to the keys of rows it depends on. But rows refer to the
 * numbers of compactions, so these are reserved first: a placeholder row is inserted after them, and deleted at the end.
 */

/** Reserves numbers for compactions; returns the first. */
export function* reserveCompactions(sql: Sql, importId: string, count: number): Work<number> {
  return yield* sql.write('sessions.import', function* () {
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
  })
}

/** Compactions are numbered in the order of their records. */
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
  return yield* sql.write('sessions.import', function* () {
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

/** Writes compactions, starting at an index of their list. `undoneWith` holds the numbers of the audit's entries. */
export function* restoreCompactions(
  sql: Sql,
  restoring: Restoring,
  from: number,
  compactions: readonly CompactionRecord[],
  undoneWith: readonly number[],
): Work<void> {
  const references = referencesOf(restoring)
  const named = (ids: readonly string[]): number[] => ids.map((id) => references.numbers.get(id)!)
  yield* sql.write('sessions.import', function* () {
    yield* requireImport(sql, restoring.importId)
    const session = yield* requireSession(sql, restoring.importId)
    for (const [index, record] of compactions.entries()) {
      const { turned, undoneWithRun, copied } = record
      yield* sql.run(
        INSERT_COMPACTION,
        restoring.firstNo + from + index,
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
  const { importId, head } = restoring
  // Counting reads all rows, but needs no write lock, because an import in progress has no other writer.
  const counted = yield* sql.read('sessions.import', function* () {
    return yield* countAll(sql, (yield* requireImport(sql, importId)).no)
  })
  yield* sql.write('sessions.import', function* () {
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
    yield* resetNewest(sql, no)
  })
}

const INSERT_JOB = insertInto('undertext_jobs', ['no', 'session', ...JOB.names])
const INSERT_CIRCUIT = insertInto('undertext_circuits', ['session', ...CIRCUIT.names])

/** Gives a restored session its name, which lists it, and its background and mark. It replaces its predecessor, unless that has changed. */
export function* publishRestored(sql: Sql, restoring: Restoring, copied?: CopiedSession): Work<boolean> {
  const { importId, head } = restoring
  const { id, createdAt, updatedAt } = head.session
  const replaced = copied?.replaced
  const finish = function* (): Work<boolean> {
    if (replaced !== undefined) {
      if (!replaced.isUnchanged(yield* readHead(sql, id))) return false
      yield* setAside(sql, id, replaced.aside)
    }
    const { no } = yield* requireImport(sql, importId)
    if (copied !== undefined) {
      yield* writeBackground(sql, no, referencesOf(restoring), copied.background)
      yield* setMark(sql, copied.mark)
    }
    yield* publish(sql, importId, id, { createdAt, updatedAt })
    return true
  }
  return yield* replaced === undefined ? sql.write('finishImport', finish) : sql.erase('finishImport', finish)
}

function* writeBackground(
  sql: Sql,
  session: number,
  references: References,
  { jobs, circuit }: Background,
): Work<void> {
  for (const job of jobs) {
    const key = yield* sql.nextNo('undertext_jobs', session)
    yield* sql.insert(INSERT_JOB, key, session, ...JOB.write(job, references))
  }
  if (circuit !== undefined) yield* sql.run(INSERT_CIRCUIT, session, ...CIRCUIT.write(circuit, references))
}

function* releaseNumbers(sql: Sql, { importId, head, firstNo }: Restoring): Work<void> {
  if (head.compactions.length === 0) return
  const statement = 'delete from undertext_compactions where {family} no = ? and id = ?'
  yield* sql.unguarded(importId, function* () {
    yield* sql.run(statement, firstNo + head.compactions.length, importId)
  })
}

/** The values of a row's columns, which are computed before the write lock is taken. */
type Prepared = ReturnType<typeof prepare>

/** Kept by head, because each batch of a restore needs it. */
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
  yield* sql.write('sessions.import', function* () {
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
