import { UndertextError } from '../../core/errors.ts'
import type { NewMessage } from '../../core/messages/message.ts'
import type { AppendedMessage, BroughtBack } from '../storage.ts'
import { writeMessages } from './append.ts'
import { writeAudit } from './audit.ts'
import { readSession, requireSession } from './sessions.ts'
import type { Sql } from './sql.ts'
import type { Work } from './work.ts'

/** Appends the conclusion of a fork to the session that it is a fork of, and records it. See `Storage.bringBack`. */
export function* bringBack(
  sql: Sql,
  sessionId: string,
  message: NewMessage,
  { fork, incarnation, from, to, actor, reason }: BroughtBack,
): Work<AppendedMessage> {
  const writing = { sessionId, messages: [message], previewing: undefined }
  return yield* writeMessages(sql, 'bringBack', writing, function* (write): Work<AppendedMessage> {
    yield* sql.enterAlone(sessionId)
    const { no } = yield* requireSession(sql, sessionId)
    // While its summary was written, the fork may have been purged, or the session that it is a fork of.
    const branch = yield* readSession(sql, fork)
    const isSame = branch?.incarnation === incarnation && branch.forkedFrom?.sessionId === sessionId
    if (!isSame) throw new UndertextError('SESSION_NOT_FOUND', { sessionId: fork })
    yield* sql.enter(sessionId)
    const [appended] = (yield* write(undefined)).messages
    const detail = { fork, from, to, position: appended!.position, reason: reason ?? null }
    yield* writeAudit(sql, no, { event: 'brought back', actor, detail })
    return appended!
  })
}
