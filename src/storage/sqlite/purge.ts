import type { Authorship, Purged, PurgeRequest } from '../storage.ts'
import { writeAudit } from './audit.ts'
import { dropBlobs } from './blobs.ts'
import type { Connection } from './connection.ts'
import { clearFiles, erase } from './residue.ts'
import { requireSession } from './sessions.ts'

/**
 * The one verb that removes things for good. It lifts the guards for its own transaction, and leaves a receipt
 * of ids and numbers under session 0. Afterwards it clears the files.
 */
export function purgeSession(connection: Connection, id: string, request: PurgeRequest): Purged {
  const removed = removeSession(connection, id, request)
  return request.clearFiles && clearFiles(connection) ? removed : { ...removed, filesCleared: false }
}

function removeSession(connection: Connection, id: string, { actor, reason }: Authorship): Purged {
  return erase(connection, 'purgeSession', () => {
    const session = requireSession(connection, id)
    const { no } = session
    const { blobs, compactions } = unguarded(connection, String(no), () => {
      const blobs = dropBlobs(connection, no)
      const inSession = 'in (select key from undertext_messages where session = ?)'
      connection.run(`delete from undertext_replacements where message ${inSession}`, no)
      connection.run(`delete from undertext_contents where key ${inSession}`, no)
      connection.run('delete from undertext_messages where session = ?', no)
      return { blobs, compactions: dropSession(connection, no) }
    })
    const removed = { messages: session.messageCount, compactions, blobs }
    writeAudit(connection, 0, {
      event: 'purged',
      actor,
      detail: { sessionId: id, reason: reason ?? null, ...removed },
    })
    return removed
  })
}

/** Removes what is left of a session without messages, itself last; answers how many compactions that were. Within `unguarded`. */
export function dropSession(connection: Connection, no: number): number {
  const compactions = connection.run('delete from undertext_compactions where session = ?', no)
  for (const table of ['measurements', 'usage', 'jobs', 'circuits', 'operations', 'audit'])
    connection.run(`delete from undertext_${table} where session = ?`, no)
  connection.run('delete from undertext_sessions where no = ?', no)
  return compactions
}

/** Lifts the guards, which let nothing stored go, for one piece of work within the caller's transaction. `what` is for whoever looks. */
export function unguarded<T>(connection: Connection, what: string, work: () => T): T {
  connection.run("insert into undertext_meta (key, value) values ('purging', ?)", what)
  const result = work()
  connection.run("delete from undertext_meta where key = 'purging'")
  return result
}
