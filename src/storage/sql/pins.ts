import { UndertextError } from '../../errors.ts'
import { defined } from '../../messages/defined.ts'
import type { Work } from '../../model/work.ts'
import type { Authorship } from '../storage.ts'
import { writeAudit } from './audit.ts'
import { requireSession, type StoredSession } from './sessions.ts'
import type { Sql } from './sql.ts'

/** The key of a row by its id. Throws `MESSAGE_NOT_FOUND`. */
export function* requireKey(sql: Sql, session: StoredSession, messageId: string): Work<number> {
  const [where, value] = placeOf(session, messageId)
  const row = yield* sql.get(
    `select key from undertext_messages where {family} session = ? and ${where}`,
    session.no,
    value,
  )
  if (row === undefined) throw new UndertextError('MESSAGE_NOT_FOUND', { sessionId: session.id, messageId })
  return row[0] as number
}

/** The condition for a row by its id, and its parameter. Ids of this package contain the place of the row; others are the caller's. */
function placeOf(
  { incarnation }: StoredSession,
  messageId: string,
): readonly [where: string, value: unknown] {
  const own = `${incarnation}:`
  if (!messageId.startsWith(own)) return ['id = ?', messageId]
  const [, inserted, place] = /^(s?)([1-9]\d{0,14})$/.exec(messageId.slice(own.length)) ?? []
  if (inserted === 's') return ['position is null and ordinal = ?', Number(place)]
  // Without a place, no row: null equals nothing.
  return ['position = ? and ordinal = 0 and id is null', place === undefined ? null : Number(place)]
}

/** Throws `MESSAGE_NOT_FOUND` for the first id without a row in the session. */
export function* requireMessages(sql: Sql, id: string, messageIds: readonly string[]): Work<void> {
  yield* sql.read('hideMessages', function* () {
    const session = yield* requireSession(sql, id)
    for (const messageId of messageIds) yield* requireKey(sql, session, messageId)
  })
}

/** Pins rows, so that no compaction covers them, or unpins them; returns how many changed. All or none. Throws `SESSION_NOT_FOUND`, `MESSAGE_NOT_FOUND`. */
export function* pinMessages(
  sql: Sql,
  id: string,
  messageIds: readonly string[],
  pinned: boolean,
  { actor, reason }: Authorship,
): Work<number> {
  return yield* sql.write(pinned ? 'pin' : 'unpin', function* () {
    const session = yield* requireSession(sql, id)
    const value = pinned ? 1 : 0
    let changed = 0
    for (const messageId of messageIds) {
      const statement = 'update undertext_messages set pinned = ? where {family} key = ? and pinned <> ?'
      changed += yield* sql.run(statement, value, yield* requireKey(sql, session, messageId), value)
    }
    if (changed === 0) return 0
    yield* sql.run(
      'update undertext_sessions set version = version + 1, view_epoch = view_epoch + 1 where {family} no = ?',
      session.no,
    )
    // The row of the audit stays small for any number of messages; `writeAudit` shortens long ids.
    const detail = { count: changed, messageIds: messageIds.slice(0, 20), ...defined({ reason }) }
    yield* writeAudit(sql, session.no, { event: pinned ? 'pinned' : 'unpinned', actor, detail })
    return changed
  })
}
