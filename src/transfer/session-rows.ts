import type { StoredMessage } from '../messages/message.ts'
import type { Session } from '../storage/storage.ts'
import type { Store } from '../store/store.ts'

/** Messages that are read at once. */
const PAGE = 100

export type SessionRowsOptions = {
  /** With the texts that rows show in place of parts. */
  readonly shown?: boolean
  /** Only rows of the view. */
  readonly visible?: boolean
  /** First and last position; default: all. */
  readonly from?: number | undefined
  readonly to?: number | undefined
  /** `backward`: the last first. */
  readonly order?: 'forward' | 'backward'
}

/** The rows of a session as it stood when it was read, in order, a page at a time. What was appended since is not among them. */
export async function* sessionRows(
  store: Pick<Store, 'getMessages'>,
  { id, messageCount }: Pick<Session, 'id' | 'messageCount'>,
  { from = 1, to = messageCount, order = 'forward', ...options }: SessionRowsOptions = {},
): AsyncGenerator<StoredMessage> {
  const last = Math.min(to, messageCount)
  for (let done = 0; done <= last - from; done += PAGE) {
    const first = order === 'forward' ? from + done : Math.max(from, last - done - PAGE + 1)
    const behind = order === 'forward' ? Math.min(last, first + PAGE - 1) : last - done
    yield* await store.getMessages(id, { ...options, order, after: first - 1, before: behind + 1 })
  }
}
