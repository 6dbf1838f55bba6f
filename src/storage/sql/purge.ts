import type { Work } from '../../model/work.ts'
import type { Authorship, Purged, PurgeRequest } from '../storage.ts'
import { writeAudit } from './audit.ts'
import { dropBlobs } from './content-codec.ts'
import { forgetWords } from './search.ts'
import { requireSession } from './sessions.ts'
import type { Sql } from './sql.ts'

/** Removes a session permanently, leaves a receipt of ids and numbers in the audit of session 0, and clears the files. */
export function* purgeSession(sql: Sql, id: string, request: PurgeRequest): Work<Purged> {
  const removed = yield* removeSession(sql, id, request)
  const isCleared = request.clearFiles && (yield* sql.clearFiles())
  return isCleared ? removed : { ...removed, filesCleared: false }
}

function* removeSession(sql: Sql, id: string, { actor, reason }: Authorship): Work<Purged> {
  return yield* sql.erase('purgeSession', function* () {
    const session = yield* requireSession(sql, id)
    const { no } = session
    const { blobs, compactions } = yield* sql.unguarded(String(no), function* () {
      const blobs = yield* dropBlobs(sql, no)
      const inSession = 'in (select key from undertext_messages where {family} session = ?)'
      // Each may take long, and the time limit of a statement begins when it is sent.
      yield* sql.change(`delete from undertext_replacements where {family} message ${inSession}`, no)
      yield* sql.change(`delete from undertext_contents where {family} key ${inSession}`, no)
      yield* sql.change('delete from undertext_messages where {family} session = ?', no)
      return { blobs, compactions: yield* dropSession(sql, id, no) }
    })
    const removed = { messages: session.messageCount, compactions, blobs }
    const detail = { sessionId: id, reason: reason ?? null, ...removed }
    yield* writeAudit(sql, 0, { event: 'purged', actor, detail })
    return removed
  })
}

/** Removes what is left of a session without messages, itself last; returns the number of compactions. Within `unguarded`. */
export function* dropSession(sql: Sql, id: string, no: number): Work<number> {
  const compactions = yield* sql.change('delete from undertext_compactions where {family} session = ?', no)
  yield* forgetWords(sql, no)
  for (const table of ['searched', 'measurements', 'usage', 'jobs', 'circuits', 'operations', 'audit'])
    yield* sql.run(`delete from undertext_${table} where {family} session = ?`, no)
  yield* sql.run('delete from undertext_sessions where {family} no = ?', no)
  yield* sql.leave(id)
  return compactions
}
