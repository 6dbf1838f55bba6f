import { UndertextError } from '../../core/errors.ts'
import { compareTexts } from '../../core/messages/characters.ts'
import { defined } from '../../core/messages/json.ts'
import type { RowSet } from '../../core/model/coverage.ts'
import {
  type CompactionRecord,
  type HistoryHead,
  type ReplacementRecord,
  type RequiredRecord,
  type RowRecord,
  type RowSetRecord,
  recordId,
  type SessionRecord,
} from '../records/records.ts'
import { Hiding, namedTags, withoutBytes } from '../records/row-fields.ts'
import type { Background, ExportedHead, ExportedRows } from '../storage.ts'
import {
  AUDIT,
  CIRCUIT,
  COMPACTION_FIGURES,
  COMPACTION_ORIGIN,
  type Columns,
  JOB,
  MEASUREMENT,
  NOTE,
  OPERATION,
  type References,
  USAGE,
} from './columns.ts'
import { coverageOf, decodeTurned, distinctRows, idsOfKeys, placeOf, requiredKeys } from './compactions.ts'
import {
  type Blobs,
  damaged,
  decodeContent,
  parseReplacement,
  parseStoredObject,
  readBlobs,
} from './content-codec.ts'
import { exportRequests } from './requests.ts'
import { decodeKind, decodeRole } from './row-codec.ts'
import { requireSession, type StoredSession } from './sessions.ts'
import { type Row, reading, type Sql } from './sql.ts'
import { CONTENT_OF_M, TEXT_OF_R } from './view.ts'
import type { Work } from './work.ts'

/** The state that the rows of an export are read with. */
type ExportedWithin = {
  readonly no: number
  /** Ids of compactions by their numbers. */
  readonly ids: ReadonlyMap<number, string>
  /** Keys of pinned rows. */
  readonly pinned: ReadonlySet<number>
  readonly hiding: Hiding
}

/** Reads all data of a session that is small or changes, as of one moment. Throws `SESSION_NOT_FOUND`, `STORE_CORRUPT`. */
export const exportHead = reading('sessions.export', readHead)

/** Like `exportHead`, within the caller's transaction. */
export function* readHead(sql: Sql, id: string): Work<ExportedHead> {
  const session = yield* requireSession(sql, id)
  const { no } = session
  const all = function* (table: string, columns: string, order: string): Work<Row[]> {
    return yield* sql.all(
      `select ${columns} from undertext_${table} where {family} session = ? order by ${order}`,
      no,
    )
  }
  const ids = new Map((yield* all('compactions', 'no, id', 'no')) as unknown as [number, string][])
  const references: References = { ids, numbers: new Map() }
  const records = function* <T extends string, R extends object>(
    type: T,
    columns: Columns<R>,
    table: string,
    order: string,
  ) {
    return (yield* all(table, columns.names.join(', '), order)).map((row, index) => ({
      type,
      ...columns.read(row, 0, `${type} no. ${index + 1}`, references),
    }))
  }
  const entries = (yield* all('audit', 'no', 'no')).map(
    ([entry], index) => [entry as number, index + 1] as const,
  )
  const numbers = new Map(entries)
  const head: HistoryHead = {
    session: yield* sessionRecord(sql, session),
    compactions: yield* exportCompactions(sql, session, references, numbers),
    audit: yield* records('audit', AUDIT, 'audit', 'no'),
    usage: byModel(yield* records('usage', USAGE, 'usage', 'provider, model')),
    measurements: byModel(yield* records('measurement', MEASUREMENT, 'measurements', 'provider, model')),
    operations: (yield* records('operation', OPERATION, 'operations', 'id')).sort((a, b) =>
      compareTexts(a.id, b.id),
    ),
    ...(yield* exportRequests(sql, session, numbers)),
    notes: yield* records('note', NOTE, 'notes', 'no'),
  }
  const background = yield* readBackground(sql, no, references)
  const pinned = (yield* sql.all(
    'select key from undertext_messages where {family} session = ? and pinned = 1',
    no,
  )).map(([key]) => key as number)
  const hiding = new Hiding(head.compactions)
  return { head, background, within: { no, ids, pinned: new Set(pinned), hiding } satisfies ExportedWithin }
}

function* readBackground(sql: Sql, no: number, references: References): Work<Background> {
  const jobs = yield* sql.all(
    `select ${JOB.names.join(', ')} from undertext_jobs where {family} session = ? order by no`,
    no,
  )
  const circuit = yield* sql.get(
    `select ${CIRCUIT.names.join(', ')} from undertext_circuits where {family} session = ?`,
    no,
  )
  return {
    jobs: jobs.map((row) => {
      const job = JOB.read(row, 0, 'job', references)
      return job.state === 'running' ? { ...job, state: 'queued' } : job
    }),
    circuit: circuit && CIRCUIT.read(circuit, 0, 'circuit', references),
  }
}

/** Sorted here, because PostgreSQL sorts texts by the database's collation. */
function byModel<T extends { readonly provider: string; readonly model?: string | undefined }>(
  records: T[],
): T[] {
  return records.sort(
    (a, b) => compareTexts(a.provider, b.provider) || compareTexts(a.model ?? '', b.model ?? ''),
  )
}

/** The last position and ordinal are taken from the rows, so that a wrong counter can't lose a message. */
function* sessionRecord(sql: Sql, session: StoredSession): Work<SessionRecord> {
  const rows = (yield* sql.get(
    `select (select max(position) from undertext_messages where {family} session = ? and position is not null),
       (select max(ordinal) from undertext_messages where {family} session = ? and position is null)`,
    session.no,
    session.no,
  ))!
  const { id, incarnation, estimator, createdAt, updatedAt, version, viewEpoch, undoneAutomatic } = session
  const { owner, title, provider, model, config, metadata, archivedAt } = session
  return {
    ...{ type: 'session', id, incarnation },
    ...defined({ owner, title, provider, model, config, metadata }),
    ...{ estimator, createdAt, updatedAt },
    ...defined({ archivedAt }),
    messages: (rows[0] as number | null) ?? 0,
    inserted: (rows[1] as number | null) ?? 0,
    ...{ version, viewEpoch },
    ...(undoneAutomatic > 0 && { undoneAutomatic }),
  }
}

/** Returns the compactions of a session, oldest first. `entries`: the audit's entries by number, counted from 1. Throws `STORE_CORRUPT`. */
function* exportCompactions(
  sql: Sql,
  session: StoredSession,
  references: References,
  entries: ReadonlyMap<number, number>,
): Work<CompactionRecord[]> {
  const all = yield* sql.all(
    `select c.no, c.id, c.coverage, c.requires, c.turned, c.undone_with_run, m.anchor, m.ordinal, c.copied_from, ${COMPACTION_ORIGIN.of('c')}, ${COMPACTION_FIGURES.of('c')}
     from undertext_compactions c left join undertext_messages m on {family m} m.inserted_by = c.no
     where {family c} c.session = ? order by c.no`,
    session.no,
  )
  const rows = distinctRows(all)
  const requirements = yield* requirementsOf(sql, session, rows)
  const named = (numbers: readonly number[]): string[] => numbers.map((no) => references.ids.get(no)!)
  return rows.map((row) => {
    const [no, id, coverage, requires, turned, undoneWith, anchor, ordinal, copiedFrom] = row
    const name = `compaction no. ${no}`
    const origin = COMPACTION_ORIGIN.read(row, 9, name, references)
    const figures = COMPACTION_FIGURES.read(row, 9 + COMPACTION_ORIGIN.names.length, name, references)
    const place = placeOf(anchor, ordinal)
    const { hidden, beside, inserted, openCalls, rewinds, lifts, restores } = coverageOf(
      origin.id,
      coverage,
      place,
    )
    const { lifted, restored } = decodeTurned(origin.id, turned)
    const undoneWithRun = origin.status === 'undone' ? entries.get(undoneWith as number) : undefined
    return {
      type: 'compaction',
      ...origin,
      ...defined({
        hides: rowSetRecord(hidden),
        beside: rowSetRecord(beside),
        inserts: inserted && ([inserted.anchor, inserted.ordinal] as const),
        openCalls: openCalls || undefined,
        rewinds,
        lifts: lifts && named(lifts),
        restores: restores && named(restores),
        turned: turned === null ? undefined : { lifted: named(lifted), restored: named(restored) },
        requires: requires === null ? undefined : requirements(id as string, requires),
      }),
      ...figures,
      ...defined({ undoneWithRun, copied: copiedFrom === null ? undefined : (true as const) }),
    }
  })
}

function rowSetRecord({ positions, inserted }: RowSet): RowSetRecord | undefined {
  if (positions.length === 0 && inserted.length === 0) return undefined
  return {
    ...(positions.length > 0 && { positions }),
    ...(inserted.length > 0 && {
      inserted: inserted.map(({ anchor, ordinal }) => [anchor, ordinal] as const),
    }),
  }
}

/** Returns a function for the parts that a compaction depends on, by id, using one query for all compactions. */
function* requirementsOf(
  sql: Sql,
  session: StoredSession,
  compactions: readonly Row[],
): Work<(id: string, requires: unknown) => RequiredRecord[]> {
  const keys = compactions.flatMap(([, id, , requires]) =>
    requiredKeys(id as string, requires).flatMap(([key, , by = []]) => [key, ...by]),
  )
  const ids = yield* idsOfKeys(sql, session, keys)
  return (compaction, requires) => {
    const idOf = (key: number): string => {
      const id = ids.get(key)
      if (id === undefined) throw damaged('list of required parts', `compaction ${compaction}`)
      return id
    }
    return requiredKeys(compaction, requires).map(([key, part, by]) => ({
      message: idOf(key),
      part,
      ...defined({ by: by?.map(idOf) }),
    }))
  }
}

/** The maximum number of messages in a page, and of bytes of their contents. A single message may be larger. */
const MAX_ROWS = 500
const MAX_BYTES = 4_000_000

/**
 * Returns the rows after a position, as they were when the head was read: pins and tags follow from the head, and everything else is
 * written once. Throws `STORE_CORRUPT`, and `SESSION_NOT_FOUND` if the session was purged in the meantime.
 */
export const exportRows = reading(
  'sessions.export',
  function* (sql: Sql, exported: ExportedHead, after: number): Work<ExportedRows> {
    const { session } = exported.head
    const { no } = exported.within as ExportedWithin
    yield* requireSame(sql, exported)
    const last = yield* lastOfPage(sql, no, after, session.messages)
    const rows = yield* readRows(sql, exported, after, last)
    const replacements = yield* readReplacements(sql, exported, rows)
    const blobs = yield* readBlobs(
      sql,
      rows.map((row) => [row[11] as string | null, row[0] as number]),
    )
    const reader = rowReader(exported, blobs)
    const records = rows.flatMap((row) => {
      const record = reader(row)
      const id = recordId(session.incarnation, record)
      const shown = replacements.get(row[0] as number) ?? []
      return [record, ...shown.map((one): ReplacementRecord => ({ ...one, message: id }))]
    })
    return { records, next: last >= session.messages ? undefined : last }
  },
)

function* requireSame(sql: Sql, { head, within }: ExportedHead): Work<void> {
  const { id, incarnation, messages } = head.session
  yield* sql.enter(id)
  const row = yield* sql.get(
    'select no, messages from undertext_sessions where {family} {named} id = ? and incarnation = ?',
    id,
    incarnation,
  )
  if (row?.[0] !== (within as ExportedWithin).no)
    throw new UndertextError('SESSION_NOT_FOUND', { sessionId: id })
  if ((row[1] as number) < messages)
    throw new UndertextError('STORE_CORRUPT', { detail: `messages of session ${id} are missing` })
}

/** Returns the last position of a page. Sizes are computed without reading the contents. */
function* lastOfPage(sql: Sql, no: number, after: number, messages: number): Work<number> {
  const sizes = yield* sql.all(
    `select m.position, octet_length(c.content) + coalesce(octet_length(c.metadata), 0)
       + case when c.blobs is null then 0 else (select coalesce(sum(octet_length(b.bytes)), 0) from {elements c.blobs} p
           join undertext_blobs b on {family b} b.hash = {unhex p 2}) end
       + (select coalesce(sum(octet_length(${TEXT_OF_R})), 0) from undertext_replacements r where {family r} r.message = m.key)
     from undertext_messages m join ${CONTENT_OF_M}
     where {family m} m.session = ? and m.position > ? and m.position <= ? order by m.position limit ?`,
    no,
    after,
    messages,
    MAX_ROWS,
  )
  let bytes = 0
  let last = after
  for (const [position, size] of sizes) {
    bytes += size as number
    if (bytes > MAX_BYTES && last !== after) return last
    last = position as number
  }
  return sizes.length < MAX_ROWS ? messages : last
}

const COLUMNS = `m.key, m.kind, m.role, m.position, m.anchor, m.ordinal, m.id, m.created_at, m.idempotency_key, c.content,
  c.metadata, c.blobs, m.inserted_by`
const ROWS = `select ${COLUMNS} from undertext_messages m join ${CONTENT_OF_M} where {family m} m.session = ?`

/** Returns the messages of a page and the inserted rows after them, in view order. */
function* readRows(sql: Sql, { head, within }: ExportedHead, after: number, to: number): Work<Row[]> {
  const { no } = within as ExportedWithin
  const ordinals = head.compactions.flatMap(({ inserts }) =>
    inserts !== undefined && inserts[0] > (after === 0 ? -1 : after) && inserts[0] <= to ? [inserts[1]] : [],
  )
  const messages = yield* sql.all(`${ROWS} and m.position > ? and m.position <= ?`, no, after, to)
  const inserted = yield* sql.all(
    `${ROWS} and m.position is null and m.ordinal in (select value from {list ?} k)`,
    no,
    JSON.stringify(ordinals),
  )
  return [...messages, ...inserted].sort(
    (a, b) => (a[4] as number) - (b[4] as number) || (a[5] as number) - (b[5] as number),
  )
}

function rowReader({ head, within }: ExportedHead, found: Blobs): (row: Row) => RowRecord {
  const { ids, pinned, hiding } = within as ExportedWithin
  return (row) => {
    const [
      key,
      kind,
      role,
      position,
      anchor,
      ordinal,
      id,
      createdAt,
      idempotencyKey,
      stored,
      text,
      blobs,
      by,
    ] = row
    const type = decodeKind(kind)
    const decoded = decodeContent(stored as string, blobs as string | null, found, key as number)
    const { content, bytes } = withoutBytes(decoded)
    const place = type === 'message' ? { type, position: position as number } : undefined
    const tags = hiding.tagsOf(place ?? { type: type as 'summary', ordinal: ordinal as number })
    const { retired, ...parents } = namedTags(tags, head.compactions)
    const metadata = text === null ? undefined : parseStoredObject(text, 'metadata', key as number)
    const fields = {
      ...{ role: decodeRole(role), content },
      ...defined({ bytes: bytes.length === 0 ? undefined : bytes, metadata }),
      createdAt: createdAt as number,
      ...defined({
        idempotencyKey: (idempotencyKey as string | null) ?? undefined,
        pinned: pinned.has(key as number) ? (true as const) : undefined,
      }),
      ...parents,
    }
    if (place !== undefined) return { ...place, ...(id !== null && { id: id as string }), ...fields }
    const compaction = ids.get(by as number)
    if (compaction === undefined) throw damaged('compaction', key as number)
    return {
      type: type as 'summary' | 'marker',
      ...{ anchor: anchor as number, ordinal: ordinal as number, compaction },
      ...(retired === true && { retired }),
      ...fields,
    }
  }
}

/** Returns the replacements of rows by key, without those of later compactions. */
function* readReplacements(
  sql: Sql,
  { within }: ExportedHead,
  rows: readonly Row[],
): Work<ReadonlyMap<number, Omit<ReplacementRecord, 'message'>[]>> {
  const { ids } = within as ExportedWithin
  const found = yield* sql.all(
    `select r.message, r.compaction, r.part, ${TEXT_OF_R} from {list ?} k
     join undertext_replacements r on {family r} r.message = k.value order by r.message, r.part, r.compaction`,
    JSON.stringify(rows.map(([key]) => key)),
  )
  const byKey = new Map<number, Omit<ReplacementRecord, 'message'>[]>()
  for (const [key, no, part, text] of found) {
    const compaction = ids.get(no as number)
    if (compaction === undefined) continue
    const list = byKey.get(key as number) ?? []
    const shown = parseReplacement(text, key as number)
    list.push({ type: 'replacement', compaction, part: part as number, text: shown } as (typeof list)[number])
    byKey.set(key as number, list)
  }
  return byKey
}
