import { Hiding } from '../records/hiding.ts'
import type {
  AuditRecord,
  HistoryHead,
  MeasurementRecord,
  OperationRecord,
  SessionRecord,
  UsageRecord,
} from '../records/records.ts'
import type { ExportedHead } from '../storage.ts'
import type { Connection } from './connection.ts'
import { parseStored } from './content-codec.ts'
import { exportCompactions } from './export-compactions.ts'
import { columnsOf, defined } from './record-columns.ts'
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
