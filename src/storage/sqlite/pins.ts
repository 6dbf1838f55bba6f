import { UndertextError } from '../../errors.ts'
import type { Authorship } from '../storage.ts'
import { writeAudit } from './audit.ts'
import type { Connection } from './connection.ts'
import { requireSession, type StoredSession } from './sessions.ts'

/** The key of a row by its id. Throws `MESSAGE_NOT_FOUND`. */
export function requireKey(connection: Connection, session: StoredSession, messageId: string): number {
  const row = findRow(connection, session, messageId)
  if (row === undefined) throw new UndertextError('MESSAGE_NOT_FOUND', { sessionId: session.id, messageId })
  return row[0] as number
}

/** Throws `MESSAGE_NOT_FOUND` for the first id the session has no row of. */
export function requireMessages(connection: Connection, id: string, messageIds: readonly string[]): void {
  connection.read('hideMessages', () => {
    const session = requireSession(connection, id)
    for (const messageId of messageIds) requireKey(connection, session, messageId)
  })
}

/** An id of ours says where the row stands; any other is the caller's own. */
function findRow(
  connection: Connection,
  session: StoredSession,
  messageId: string,
): readonly unknown[] | undefined {
  const own = `${session.incarnation}:`
  if (!messageId.startsWith(own)) {
    return connection.get(
      'select key from undertext_messages where session = ? and id = ?',
      session.no,
      messageId,
    )
  }
  const place = /^(s?)([1-9]\d{0,14})$/.exec(messageId.slice(own.length))
  if (place === null) return undefined
  return place[1] === 's'
    ? connection.get(
        'select key from undertext_messages where session = ? and position is null and ordinal = ?',
        session.no,
        Number(place[2]),
      )
    : connection.get(
        'select key from undertext_messages where session = ? and position = ? and ordinal = 0 and id is null',
        session.no,
        Number(place[2]),
      )
}

/**
 * Pins rows (no compaction covers them) or unpins them; answers how many changed. Throws `SESSION_NOT_FOUND`,
 * `MESSAGE_NOT_FOUND`; then none is changed.
 */
export function pinMessages(
  connection: Connection,
  id: string,
  messageIds: readonly string[],
  pinned: boolean,
  { actor, reason }: Authorship,
): number {
  return connection.write(pinned ? 'pin' : 'unpin', () => {
    const session = requireSession(connection, id)
    let changed = 0
    for (const messageId of messageIds) {
      const key = requireKey(connection, session, messageId)
      const value = pinned ? 1 : 0
      changed += connection.run(
        'update undertext_messages set pinned = ? where key = ? and pinned <> ?',
        value,
        key,
        value,
      )
    }
    if (changed === 0) return 0
    connection.run(
      'update undertext_sessions set version = version + 1, view_epoch = view_epoch + 1 where no = ?',
      session.no,
    )
    // An audit row stays small however many messages there were; `writeAudit` looks after long ids.
    const detail = {
      count: changed,
      messageIds: messageIds.slice(0, 20),
      ...(reason === undefined ? {} : { reason }),
    }
    writeAudit(connection, session.no, { event: pinned ? 'pinned' : 'unpinned', actor, detail })
    return changed
  })
}
