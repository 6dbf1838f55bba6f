import { UndertextError } from '../../errors.ts'
import { defined } from '../../messages/defined.ts'
import type { Authorship } from '../storage.ts'
import { writeAudit } from './audit.ts'
import type { Connection } from './connection.ts'
import { requireSession, type StoredSession } from './sessions.ts'

/** The key of a row by its id. Throws `MESSAGE_NOT_FOUND`. */
export function requireKey(connection: Connection, session: StoredSession, messageId: string): number {
  const [where, value] = placeOf(session, messageId)
  const row = connection.get(
    `select key from undertext_messages where session = ? and ${where}`,
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
export function requireMessages(connection: Connection, id: string, messageIds: readonly string[]): void {
  connection.read('hideMessages', () => {
    const session = requireSession(connection, id)
    for (const messageId of messageIds) requireKey(connection, session, messageId)
  })
}

/** Pins rows, so that no compaction covers them, or unpins them; returns how many changed. All or none. Throws `SESSION_NOT_FOUND`, `MESSAGE_NOT_FOUND`. */
export function pinMessages(
  connection: Connection,
  id: string,
  messageIds: readonly string[],
  pinned: boolean,
  { actor, reason }: Authorship,
): number {
  return connection.write(pinned ? 'pin' : 'unpin', () => {
    const session = requireSession(connection, id)
    const value = pinned ? 1 : 0
    let changed = 0
    for (const messageId of messageIds) {
      const sql = 'update undertext_messages set pinned = ? where key = ? and pinned <> ?'
      changed += connection.run(sql, value, requireKey(connection, session, messageId), value)
    }
    if (changed === 0) return 0
    connection.run(
      'update undertext_sessions set version = version + 1, view_epoch = view_epoch + 1 where no = ?',
      session.no,
    )
    // The row of the audit stays small for any number of messages; `writeAudit` shortens long ids.
    const detail = { count: changed, messageIds: messageIds.slice(0, 20), ...defined({ reason }) }
    writeAudit(connection, session.no, { event: pinned ? 'pinned' : 'unpinned', actor, detail })
    return changed
  })
}
