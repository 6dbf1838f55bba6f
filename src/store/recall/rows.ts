import { UndertextError } from '../../core/errors.ts'
import type { StoredMessage } from '../../core/messages/message.ts'
import type { Store } from '../store.ts'

/** Positions between two rows that are read together rather than with two statements. */
const MOST_BETWEEN = 4

/** The place of a row: a summary is stored after the message at its anchor. */
export type RowPlace = { readonly messageId: string; readonly anchor: number }

/** Stored rows by id, with what the view shows in place of their parts; those that are gone are left out. */
export async function rowsAt(
  store: Store,
  sessionId: string,
  places: readonly RowPlace[],
): Promise<Map<string, StoredMessage>> {
  const wanted = new Set(places.map(({ messageId }) => messageId))
  const anchors = [...new Set(places.map(({ anchor }) => anchor))].sort((a, b) => a - b)
  const found = new Map<string, StoredMessage>()
  for (let at = 0; at < anchors.length; ) {
    const first = anchors[at]!
    let last = first
    while (at < anchors.length && anchors[at]! - last <= MOST_BETWEEN) last = anchors[at++]!
    for (const row of await rowsBetween(store, sessionId, first, last))
      if (wanted.has(row.id)) found.set(row.id, row)
  }
  return found
}

/** The rows from one position to another, summaries included. */
export async function rowsBetween(
  store: Store,
  sessionId: string,
  from: number,
  to: number,
): Promise<StoredMessage[]> {
  const first = Math.max(1, from)
  if (to < first) return []
  return store.getMessages(sessionId, { after: first - 1, limit: to - first + 1, shown: true })
}

/** A message by its position. Throws `MESSAGE_NOT_FOUND`. */
export async function messageAt(store: Store, sessionId: string, position: number): Promise<StoredMessage> {
  const rows = await rowsBetween(store, sessionId, position, position)
  const row = rows.find((one) => one.position === position)
  if (row === undefined)
    throw new UndertextError('MESSAGE_NOT_FOUND', { sessionId, messageId: String(position) })
  return row
}

/** A row by its id. Throws `MESSAGE_NOT_FOUND`. */
export async function rowNamed(store: Store, sessionId: string, messageId: string): Promise<StoredMessage> {
  const { position } = await store.messages.moment(sessionId, { afterMessage: messageId })
  const at = (rows: readonly StoredMessage[]): StoredMessage | undefined =>
    rows.find(({ id }) => id === messageId)
  const message = at(await rowsBetween(store, sessionId, position, position))
  if (message !== undefined) return message
  // A summary names the moment of its compaction; it is stored after the last message that it covers.
  const { positions } = await store.messages.expand(sessionId, messageId)
  const summary = at(await rowsBetween(store, sessionId, positions[1], positions[1]))
  if (summary !== undefined) return summary
  throw new UndertextError('MESSAGE_NOT_FOUND', { sessionId, messageId })
}
