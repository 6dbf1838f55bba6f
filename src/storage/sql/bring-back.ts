import type { NewMessage } from '../../messages/message.ts'
import type { Work } from '../../model/work.ts'
import type { AppendedMessage, BroughtBack, Estimators } from '../storage.ts'
import { writeMessages } from './append.ts'
import { writeAudit } from './audit.ts'
import { requireSession } from './sessions.ts'
import type { Sql } from './sql.ts'

/** Appends the conclusion of a fork to the session that it is a fork of, and records it. See `Storage.bringBack`. */
export function* bringBack(
  sql: Sql,
  sessionId: string,
  message: NewMessage,
  { fork, from, to, actor, reason }: BroughtBack,
  estimators: Estimators,
): Work<AppendedMessage> {
  const writing = { sessionId, messages: [message], estimators, previewing: undefined }
  return yield* writeMessages(sql, 'bringBack', writing, function* (write): Work<AppendedMessage> {
    const { no } = yield* requireSession(sql, sessionId)
    const [appended] = (yield* write(undefined)).messages
    const detail = { fork, from, to, position: appended!.position, reason: reason ?? null }
    yield* writeAudit(sql, no, { event: 'brought back', actor, detail })
    return appended!
  })
}
