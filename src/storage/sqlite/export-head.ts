import { defined } from '../../messages/defined.ts'
import type { RowSet } from '../../model/coverage.ts'
import type { CompactionStatus } from '../../model/nesting.ts'
import type { CompactionKind } from '../../model/plan.ts'
import type {
  AuditRecord,
  CompactionRecord,
  HistoryHead,
  MeasurementRecord,
  OperationRecord,
  RequiredRecord,
  RowSetRecord,
  SessionRecord,
  UsageRecord,
} from '../records/records.ts'
import { Hiding } from '../records/row-fields.ts'
import type { ExportedHead } from '../storage.ts'
import { columnsOf } from './compaction-row.ts'
import { coverageOf, decodeTurned, placeOf, requiredKeys } from './compactions.ts'
import type { Connection, Row } from './connection.ts'
import { damaged, parseStored } from './content-codec.ts'
import { rowId } from './row-codec.ts'
import { requireSession, type StoredSession } from './sessions.ts'

/** What the rows of an export are read by: the session and its compactions inside the database, and which rows were pinned. */
export type ExportedWithin = {
  readonly no: number
  /** Ids of compactions by their numbers. */
  readonly ids: ReadonlyMap<number, string>
  /** Keys of rows. */
  readonly pinned: ReadonlySet<number>
  readonly hiding: Hiding
}

/** Everything of a session that is small or changes, read at one moment. Throws `SESSION_NOT_FOUND`, `STORE_CORRUPT`. */
export function exportHead(connection: Connection, id: string): ExportedHead {
  return connection.read('exportSession', () => {
    const session = requireSession(connection, id)
    const { no } = session
    const { audit, numbers } = readAudit(connection, no)
    const compactions = exportCompactions(connection, session, numbers)
    const head: HistoryHead = {
      session: sessionRecord(connection, session),
      compactions: compactions.map(({ record }) => record),
      audit,
      usage: readUsage(connection, no),
      measurements: readMeasurements(connection, no),
      operations: readOperations(connection, no),
    }
    const pinned = connection
      .all('select key from undertext_messages where session = ? and pinned = 1', no)
      .map(([key]) => key as number)
    const ids = new Map(compactions.map((one) => [one.no, one.record.id]))
    const hiding = new Hiding(head.compactions)
    return { head, within: { no, ids, pinned: new Set(pinned), hiding } satisfies ExportedWithin }
  })
}

/** The last position and ordinal are asked of the rows: a counter that is wrong must not cost a message. */
function sessionRecord(connection: Connection, session: StoredSession): SessionRecord {
  const rows = connection.get(
    `select (select max(position) from undertext_messages where session = ? and position is not null),
       (select max(ordinal) from undertext_messages where session = ? and position is null)`,
    session.no,
    session.no,
  )!
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

/** The audit, and which entry of it has which number, counted from 1. */
function readAudit(
  connection: Connection,
  session: number,
): { audit: AuditRecord[]; numbers: ReadonlyMap<number, number> } {
  const rows = connection.all(
    `select a.no, a.event, c.id, a.run, a.at, a.actor, a.detail, a.position
     from undertext_audit a left join undertext_compactions c on c.no = a.compaction where a.session = ? order by a.no`,
    session,
  )
  const audit = rows.map((row): AuditRecord => {
    const columns = columnsOf(row, `audit entry ${row[0]}`)
    return {
      ...{ type: 'audit', event: columns.required(1) },
      ...defined({ compaction: columns.text(2), run: columns.text(3) }),
      at: columns.number(4),
      ...defined({ actor: columns.text(5), detail: columns.json(6), position: columns.optional(7) }),
    }
  })
  return { audit, numbers: new Map(rows.map(([no], index) => [no as number, index + 1])) }
}

function readUsage(connection: Connection, session: number): UsageRecord[] {
  const rows = connection.all(
    `select provider, model, requests, input_tokens, cache_read_tokens, cache_creation_tokens, output_tokens,
       last_cache_read_tokens, last_cache_creation_tokens, at
     from undertext_usage where session = ? order by provider, model`,
    session,
  )
  return rows.map((row) => {
    const { text, number, optional } = columnsOf(row, 'usage')
    return {
      ...{ type: 'usage', provider: text(0) ?? '', model: text(1) ?? '', requests: number(2) },
      ...{ inputTokens: number(3), cacheReadTokens: number(4), cacheCreationTokens: number(5) },
      outputTokens: number(6),
      ...defined({ lastCacheReadTokens: optional(7), lastCacheCreationTokens: optional(8) }),
      at: number(9),
    }
  })
}

function readMeasurements(connection: Connection, session: number): MeasurementRecord[] {
  const rows = connection.all(
    `select provider, model, estimator, view_epoch, tokens, held, history, standing, pending, first_tokens, first_estimate, at
     from undertext_measurements where session = ? order by provider, model`,
    session,
  )
  return rows.map((row) => {
    const { text, number, optional } = columnsOf(row, 'measurement')
    return {
      ...{ type: 'measurement', provider: text(0) ?? '', model: text(1) ?? '', estimator: text(2) ?? '' },
      ...{ viewEpoch: number(3), tokens: number(4), held: number(5) },
      ...{ history: number(6), standing: number(7), pending: number(8) },
      ...defined({ firstTokens: optional(9) }),
      ...{ firstEstimate: number(10), at: number(11) },
    }
  })
}

function readOperations(connection: Connection, session: number): OperationRecord[] {
  const rows = connection.all(
    `select o.id, o.digest, c.id, o.positions from undertext_operations o
     left join undertext_compactions c on c.no = o.compaction where o.session = ? order by o.id`,
    session,
  )
  return rows.map((row) => {
    const { text, required } = columnsOf(row, 'operation')
    const positions = parseStored(row[3], 'positions', `operation ${row[0]}`) as number[]
    return {
      ...{ type: 'operation', id: required(0), digest: required(1) },
      ...defined({ compaction: text(2) }),
      positions,
    }
  })
}

/** A compaction, and its number inside the database. */
type NumberedCompaction = { readonly no: number; readonly record: CompactionRecord }

/** The compactions of a session, oldest first. `entries`: which entry of the audit has which number. Throws `STORE_CORRUPT`. */
function exportCompactions(
  connection: Connection,
  session: StoredSession,
  entries: ReadonlyMap<number, number>,
): NumberedCompaction[] {
  const rows = connection.all(
    `select c.no, c.id, c.run, c.kind, c.status, c.trigger, c.actor, c.reason, c.params, c.coverage, c.requires, c.rows_hidden,
       c.parts_replaced, c.tokens_before, c.tokens_after, c.summarizer, c.model, c.prompt_version, c.usage, c.cost, c.error,
       c.created_at, c.changed_at, c.rank, c.undone_with_run, c.turned, m.anchor, m.ordinal
     from undertext_compactions c left join undertext_messages m on m.inserted_by = c.no
     where c.session = ? group by c.no order by c.no`,
    session.no,
  )
  const requires = requirements(connection, session, rows)
  const ids = new Map(rows.map(([no, id]) => [no, id as string] as const))
  const named = (numbers: readonly number[]): string[] => numbers.map((no) => ids.get(no)!)
  return rows.map((row): NumberedCompaction => {
    const no = row[0] as number
    const columns = columnsOf(row, `compaction no. ${no}`)
    const { hidden, beside, inserted, openCalls, rewinds, lifts, restores } = coverageOf(
      columns.required(1),
      row[9],
      placeOf(row[26], row[27]),
    )
    const isUndone = row[4] === 'undone' && row[24] !== null
    const undoneWithRun = isUndone ? entries.get(row[24] as number) : undefined
    const { lifted, restored } = decodeTurned(columns.required(1), row[25])
    const turned = row[25] === null ? undefined : { lifted: named(lifted), restored: named(restored) }
    const record: CompactionRecord = {
      ...{ type: 'compaction', id: columns.required(1), run: columns.required(2) },
      kind: columns.required(3) as CompactionKind,
      status: columns.required(4) as CompactionStatus,
      trigger: columns.required(5),
      ...defined({ actor: columns.text(6), reason: columns.text(7), params: columns.json(8) }),
      ...defined({ hides: rowSetRecord(hidden), beside: rowSetRecord(beside) }),
      ...(inserted !== undefined && { inserts: [inserted.anchor, inserted.ordinal] as const }),
      ...(openCalls && { openCalls: true as const }),
      ...(rewinds === true && { rewinds: true as const }),
      ...defined({ lifts: lifts && named(lifts), restores: restores && named(restores), turned }),
      ...defined({ requires: requires(row) }),
      ...{ rowsHidden: columns.number(11), partsReplaced: columns.number(12) },
      ...{ tokensBefore: columns.number(13), tokensAfter: columns.number(14) },
      ...defined({ summarizer: columns.text(15), model: columns.text(16), promptVersion: columns.text(17) }),
      ...defined({ usage: columns.json(18), cost: columns.optional(19), error: columns.text(20) }),
      ...{ createdAt: columns.number(21), changedAt: columns.number(22), rank: columns.number(23) },
      ...defined({ undoneWithRun }),
    }
    return { no, record }
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

/** A function that says what a compaction leans on, by ids: one query for all of them. */
function requirements(
  connection: Connection,
  session: StoredSession,
  compactions: readonly Row[],
): (row: Row) => RequiredRecord[] | undefined {
  const keysOf = (row: Row): ReturnType<typeof requiredKeys> => requiredKeys(row[1] as string, row[10])
  const keys = new Set(compactions.flatMap((row) => keysOf(row).flatMap(([key, , by = []]) => [key, ...by])))
  const rows = connection.all(
    'select m.key, m.id, m.position, m.ordinal from json_each(?) k join undertext_messages m on m.key = k.value',
    JSON.stringify([...keys]),
  )
  const ids = new Map(
    rows.map(([key, id, position, ordinal]) => [key, rowId(session.incarnation, id, position, ordinal)]),
  )
  const idOf = (key: number, row: Row): string => {
    const id = ids.get(key)
    if (id === undefined) throw damaged('list of required parts', `compaction ${row[1]}`)
    return id
  }
  return (row) => {
    if (row[10] === null) return undefined
    return keysOf(row).map(([key, part, by]) => ({
      ...{ message: idOf(key, row), part },
      ...(by !== undefined && { by: by.map((one) => idOf(one, row)) }),
    }))
  }
}
