import type { JsonObject } from '../../core/json.ts'
import type { Connection } from './connection.ts'

type NewEntry = {
  readonly event: string
  readonly compaction?: number | undefined
  readonly run?: string | undefined
  readonly actor?: string | undefined
  readonly detail?: JsonObject | undefined
}

/** Writes one row of the audit, within the caller's transaction; answers its number. */
export function writeAudit(connection: Connection, session: number, entry: NewEntry): number {
  return connection.insert(
    'insert into undertext_audit (session, event, compaction, run, at, actor, detail) values (?, ?, ?, ?, ?, ?, ?)',
    session,
    entry.event,
    entry.compaction ?? null,
    entry.run ?? null,
    Date.now(),
    entry.actor ?? null,
    entry.detail === undefined ? null : JSON.stringify(entry.detail),
  )
}
