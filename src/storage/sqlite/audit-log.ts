import type { AuditEntry } from '../storage.ts'
import type { Connection } from './connection.ts'
import { parseStoredObject } from './content-codec.ts'
import { requireSession } from './sessions.ts'

/** The audit of a session, oldest first. */
export function readAudit(
  connection: Connection,
  id: string,
  query: { after: number; limit: number },
): AuditEntry[] {
  return connection.read('getAuditLog', () => {
    const session = requireSession(connection, id)
    const rows = connection.all(
      `select a.no, a.event, c.id, a.run, a.at, a.actor, a.detail
       from undertext_audit a left join undertext_compactions c on c.no = a.compaction
       where a.session = ? and a.no > ? order by a.no limit ?`,
      session.no,
      query.after,
      query.limit,
    )
    return rows.map(([no, event, compactionId, runId, at, actor, detail]) => ({
      no: no as number,
      event: event as string,
      compactionId: (compactionId as string | null) ?? undefined,
      runId: (runId as string | null) ?? undefined,
      at: at as number,
      actor: (actor as string | null) ?? undefined,
      detail: detail === null ? undefined : parseStoredObject(detail, 'detail', `audit entry ${no}`),
    }))
  })
}
