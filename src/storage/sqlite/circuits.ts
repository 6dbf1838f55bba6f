import type { Circuit, Spending } from '../jobs.ts'
import { LEASE_MS } from '../process.ts'
import type { Connection, Row } from './connection.ts'
import { dueAt } from './jobs.ts'
import { requireHead } from './sessions.ts'

const COLUMNS = 'c.failures, c.view_epoch, c.model, c.error, c.open_until, c.changed_at'

export function readCircuit(connection: Connection, id: string): Circuit | undefined {
  return connection.outside('compactSession', () => circuitOf(connection, id))
}

function circuitOf(connection: Connection, id: string): Circuit | undefined {
  const sql = `select ${COLUMNS} from undertext_circuits c join undertext_sessions s on s.no = c.session where s.id = ?`
  const row = connection.get(sql, id)
  return row && decode(row)
}

export function noteFailure(
  connection: Connection,
  id: string,
  { viewEpoch, model, error }: Omit<Circuit, 'failures' | 'openUntil'>,
  { most, openUntil }: { readonly most: number; readonly openUntil: number },
): Circuit | undefined {
  return connection.write('compactSession', () => {
    const { no } = requireHead(connection, id)
    const before = circuitOf(connection, id)
    const isSame = before?.viewEpoch === viewEpoch && before.model === model
    const failures = isSame ? before.failures + 1 : 1
    connection.run(
      `insert into undertext_circuits (session, failures, view_epoch, model, error, open_until, changed_at) values (?, ?, ?, ?, ?, ?, ?)
       on conflict (session) do update set failures = excluded.failures, view_epoch = excluded.view_epoch, model = excluded.model,
         error = excluded.error, open_until = excluded.open_until, changed_at = excluded.changed_at`,
      no,
      failures,
      viewEpoch,
      model,
      error,
      failures >= most ? openUntil : null,
      Date.now(),
    )
    return circuitOf(connection, id)
  })
}

export function tryOnce(connection: Connection, id: string, openUntil: number, next: number): boolean {
  return connection.write('compactSession', () => {
    const { no } = requireHead(connection, id)
    const now = Date.now()
    // One of a clock that was set back since is over, whatever it says (see dueAt).
    const sql = `update undertext_circuits set open_until = ?, changed_at = ?
      where session = ? and (open_until = ? or changed_at > ?)`
    return connection.run(sql, next, now, no, openUntil, now + LEASE_MS) === 1
  })
}

export function resetCircuit(connection: Connection, id: string): Circuit | undefined {
  if (readCircuit(connection, id) === undefined) return undefined
  return connection.write('compactSession', () => {
    const before = circuitOf(connection, id)
    const { no } = requireHead(connection, id)
    connection.run('delete from undertext_circuits where session = ?', no)
    return before
  })
}

/**
 * Sums over the compactions that a model was asked for: those of the summarizer named, those of which a model, usage or cost is
 * noted, and attempts that did not come into force, since only a summarizer with a model is noted before it answers. Those that a clock
 * noted which was set back since are in no window.
 */
export function readSpending(
  connection: Connection,
  id: string | undefined,
  since: number,
  summarizer: string,
): Spending {
  return connection.outside('compactSession', () => {
    const asked = `summarizer is not null and created_at > ? and created_at <= ? and (summarizer = ? or model is not null or usage is not null
      or cost is not null or status in ('running', 'failed', 'rejected', 'aborted', 'expired'))`
    const tokens = (name: string): string => `coalesce(json_extract(usage, '$.${name}'), 0)`
    const sums = `select count(*), coalesce(sum(case when json_valid(usage) then ${tokens('inputTokens')} + ${tokens('outputTokens')} end), 0),
      coalesce(sum(cost), 0), min(created_at) from undertext_compactions where ${asked}`
    const until = Date.now() + LEASE_MS
    const row =
      id === undefined
        ? connection.get(sums, since, until, summarizer)
        : connection.get(
            `${sums} and session = (select no from undertext_sessions where id = ?)`,
            since,
            until,
            summarizer,
            id,
          )
    const [calls, used, cost, oldest] = row as readonly (number | null)[]
    return { calls: calls ?? 0, tokens: used ?? 0, cost: cost ?? 0, oldest: oldest ?? undefined }
  })
}

function decode(row: Row): Circuit {
  return {
    failures: row[0] as number,
    viewEpoch: row[1] as number,
    model: row[2] as string,
    error: row[3] as string,
    openUntil: row[4] === null ? undefined : dueAt(row[4] as number, row[5] as number),
  }
}
