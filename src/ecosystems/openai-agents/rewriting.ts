import { isUndertextError, UndertextError } from '../../errors.ts'
import type { NewMessage, StoredMessage, ViewMessage } from '../../messages/message.ts'
import type { SessionStore } from './session-options.ts'
import type { Rewrite } from './session-rewrites.ts'
import { type Originals, OriginalsNeeded, type ShownRow } from './session-rows.ts'

/** What is to be done with a history as it stands. Asked again when somebody else changed it meanwhile. */
export type Decide = (rows: readonly ShownRow[], originals: Originals) => Rewrite

/** An id under which a rewrite is done once, and what it is. */
export type Operation = { readonly operationId: string; readonly operationBody: string }

type Said = Partial<Operation> & { readonly reason: string; readonly actor?: string }

/** Takes back what a decision says and appends what it says, in one transaction. What the decision throws ends it. */
export async function rewriteHistory(
  store: SessionStore,
  sessionId: string,
  show: (view: readonly ViewMessage[]) => readonly ShownRow[],
  decide: Decide,
  said: Said,
): Promise<void> {
  const originals = new Map<string, StoredMessage>()
  for (;;) {
    let append: readonly NewMessage[] = []
    const from = (view: readonly ViewMessage[]) => {
      const rows = show(view)
      const rewrite = decide(rows, originals)
      if (rewrite === undefined) throw new NothingToDo()
      append = rewrite.append
      const first = rows[rewrite.from]
      return first === undefined ? ('end' as const) : { messageId: first.row.id }
    }
    try {
      await store.rewind(sessionId, { from, append: () => append, keepCompactions: true, ...said })
      return
    } catch (error) {
      if (error instanceof NothingToDo) return
      if (error instanceof OriginalsNeeded) await fetchOriginals(store, sessionId, error.rows, originals)
      else if (said.operationId !== undefined && isUndertextError(error, 'SESSION_NOT_FOUND'))
        await make(store, sessionId)
      else throw error
    }
  }
}

class NothingToDo extends Error {}

async function fetchOriginals(
  store: SessionStore,
  sessionId: string,
  rows: readonly ViewMessage[],
  originals: Map<string, StoredMessage>,
): Promise<void> {
  for (const { id, position = 1 } of rows) {
    const [message] = await store.getMessages(sessionId, { after: position - 1, limit: 1 })
    if (message?.id !== id) throw new UndertextError('MESSAGE_NOT_FOUND', { sessionId, messageId: id })
    originals.set(id, message)
  }
}

/** A transaction that says nothing has nowhere to be remembered without a session. */
async function make(store: SessionStore, sessionId: string): Promise<void> {
  try {
    await store.createSession({ id: sessionId })
  } catch (error) {
    if (!isUndertextError(error, 'SESSION_EXISTS')) throw error
  }
}
