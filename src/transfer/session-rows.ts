import type { StoredMessage } from '../core/message.ts'
import type { Session } from '../storage/storage.ts'
import type { Store } from '../store.ts'

/** Messages that are read at once. */
const PAGE = 100

/** The rows of a session as it stood when it was read, in order, a page at a time. What was appended since is not among them. */
export async function* sessionRows(
  store: Pick<Store, 'getMessages'>,
  { id, messageCount }: Pick<Session, 'id' | 'messageCount'>,
  options: { readonly shown?: boolean } = {},
): AsyncGenerator<StoredMessage> {
  for (let after = 0; after < messageCount; after += PAGE)
    yield* await store.getMessages(id, { ...options, after, before: messageCount + 1, limit: PAGE })
}
