import { UndertextError } from '../../core/errors.ts'
import { defined } from '../../core/messages/json.ts'
import type { Authorship } from '../storage.ts'
import { writeAudit } from './audit.ts'
import { requireSession, type StoredSession } from './sessions.ts'
import { reading, type Sql } from './sql.ts'
import type { Work } from './work.ts'

/** Returns the key of a row by its id. Throws `MESSAGE_NOT_FOUND`. */
export function* requireKey(sql: Sql, session: Named, messageId: string): Work<number> {
  const [key] = yield* requireKeys(sql, session, [messageId])
  return key!
}

type Named = Pick<StoredSession, 'no' | 'id' | 'incarnation'>

/** How an id refers to a row: by its place, if the id was generated, or by the caller's id. */
type Name = { readonly by: 'position' | 'ordinal' | 'id'; readonly value: number | string }

/** Returns how an id refers to a row; `undefined` for an id in the generated form without a valid place. */
function namedBy({ incarnation }: Named, messageId: string): Name | undefined {
  const own = `${incarnation}:`
  if (!messageId.startsWith(own)) return { by: 'id', value: messageId }
  const [, inserted, place] = /^(s?)([1-9]\d{0,14})$/.exec(messageId.slice(own.length)) ?? []
  return place === undefined
    ? undefined
    : { by: inserted === 's' ? 'ordinal' : 'position', value: Number(place) }
}

/** The queries for rows, in lists, by how ids refer to them. */
const BY_NAME = {
  position: 'm.position = k.value and m.ordinal = 0 and m.id is null',
  ordinal: 'm.position is null and m.ordinal = k.value',
  id: 'm.id = k.value',
} as const

/** Returns the keys of rows in the order of their ids. Throws `MESSAGE_NOT_FOUND` for the first id without a row. */
function* requireKeys(sql: Sql, session: Named, messageIds: readonly string[]): Work<number[]> {
  const names = messageIds.map((id) => namedBy(session, id))
  const keys = new Map<string | number, number>()
  for (const by of ['position', 'ordinal', 'id'] as const) {
    const values = names.flatMap((name) => (name?.by === by ? [name.value] : []))
    if (values.length === 0) continue
    const list = by === 'id' ? '{texts ?} k' : '{list ?} k'
    const rows = yield* sql.all(
      `select k.value, m.key from ${list} {cross} undertext_messages m on {family m} m.session = ? and ${BY_NAME[by]}`,
      JSON.stringify(values),
      session.no,
    )
    for (const [value, key] of rows) keys.set(`${by} ${value}`, key as number)
  }
  return names.map((name, at) => {
    const key = name && keys.get(`${name.by} ${name.value}`)
    if (key !== undefined) return key
    throw new UndertextError('MESSAGE_NOT_FOUND', { sessionId: session.id, messageId: messageIds[at]! })
  })
}

/** Throws `MESSAGE_NOT_FOUND` for the first id without a row in the session. */
export const requireMessages = reading(
  'compactions.hide',
  function* (sql: Sql, id: string, messageIds: readonly string[]): Work<void> {
    yield* requireKeys(sql, yield* requireSession(sql, id), messageIds)
  },
)

/**
 * Pins rows, so that no compaction covers them, or unpins them, all or none; returns the number of changed rows. Throws
 * `SESSION_NOT_FOUND`, `MESSAGE_NOT_FOUND`.
 */
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
    const keys = yield* requireKeys(sql, session, messageIds)
    const unlike = yield* sql.all(
      'select key from undertext_messages where {family} key in (select value from {list ?} k) and pinned <> ?',
      JSON.stringify(keys),
      value,
    )
    if (unlike.length === 0) return 0
    const changed = new Set(unlike.map(([key]) => key as number))
    yield* sql.run(
      'update undertext_messages set pinned = ? where {family} key in (select value from {list ?} k)',
      value,
      JSON.stringify([...changed]),
    )
    yield* sql.run(
      'update undertext_sessions set version = version + 1, view_epoch = view_epoch + 1 where {family} no = ?',
      session.no,
    )
    // Only those that changed, because past pins are read from here. Their number is limited, so that the row of the audit stays small;
    // `writeAudit` shortens long ids.
    const ids = new Set(messageIds.filter((_, at) => changed.has(keys[at]!)))
    const detail = { count: changed.size, messageIds: [...ids].slice(0, 20), ...defined({ reason }) }
    yield* writeAudit(sql, session.no, { event: pinned ? 'pinned' : 'unpinned', actor, detail })
    return changed.size
  })
}
