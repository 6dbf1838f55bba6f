import { isUndertextError, UndertextError } from '../../errors.ts'
import type { NewMessage, StoredMessage } from '../../messages/message.ts'
import { unlessUnknown } from '../../store/arguments.ts'
import type { Store } from '../../store/store.ts'
import { type PromptHistory, readPrompt } from './known.ts'
import { SET_ASIDE, takenBack } from './taken-back.ts'

/** What to do when an application goes on from an earlier point of a conversation than its end. */
export type OnDivergence = 'setAside' | 'append' | 'error'

type ReadingStore = Pick<Store, 'getMessages' | 'listCompactions' | 'hideMessages'>

/** What a prompt brings, against the session as it is. */
type SessionReading = {
  readonly fresh: readonly NewMessage[]
  /** Messages of the log the prompt does not go on from, oldest first. */
  readonly beyond: readonly StoredMessage[]
  /** The last position of the log when it was read, 0 for none. */
  readonly position: number
}

/** Messages read besides as many as the prompt has: results may stand in messages of their own. */
const MARGIN = 16

/**
 * Reads a prompt against the end of the log; against all of it only when the prompt shows an answer that is not found at the
 * end. A session that is not there is empty.
 */
export async function readSession(
  store: ReadingStore,
  sessionId: string,
  prompt: readonly NewMessage[],
  history: PromptHistory,
): Promise<SessionReading> {
  const window = prompt.length + MARGIN
  const end = await logOf(store, sessionId, window)
  const read = readPrompt(end.log, prompt, history)
  const isWhole = end.rows < window || end.first === 1
  const isClear = read.fresh.length < prompt.length && read.shared === end.log.length
  const looksBack = history === 'whole' || prompt.some(({ role }) => role === 'assistant')
  if (isWhole || isClear || !looksBack || history === 'new') return answer(end, read)
  const all = await logOf(store, sessionId, undefined)
  return answer(all, readPrompt(all.log, prompt, history))
}

function answer({ log, position }: Log, { fresh, shared }: ReturnType<typeof readPrompt>): SessionReading {
  return { fresh, beyond: log.slice(shared), position }
}

type Log = {
  readonly log: readonly StoredMessage[]
  readonly position: number
  readonly first: number
  readonly rows: number
}

/** The last messages of the log, oldest first, without what was set aside. */
async function logOf(store: ReadingStore, sessionId: string, limit: number | undefined): Promise<Log> {
  const options = { order: 'backward', ...(limit !== undefined && { limit }) } as const
  const rows = (await unlessUnknown(store.getMessages(sessionId, options))) ?? []
  const messages = rows.filter(({ kind }) => kind === 'message').reverse()
  const bounds = {
    position: messages.at(-1)?.position ?? 0,
    first: messages[0]?.position ?? 1,
    rows: messages.length,
  }
  if (!rows.some(({ truncationParent }) => truncationParent !== undefined))
    return { log: messages, ...bounds }
  const aside = takenBack(rows, await store.listCompactions(sessionId))
  const log = messages.filter(({ id }) => !aside.has(id))
  return { log, ...bounds }
}

/**
 * Takes out of the view what the application does not go on from; answers the compaction that did, for its undoing. What a
 * summary stands for cannot be taken out of it: `HISTORY_DIVERGED`. Calls that wait for results stay.
 */
export async function setAside(
  store: ReadingStore,
  sessionId: string,
  beyond: readonly StoredMessage[],
  { onDivergence, actor }: { readonly onDivergence: OnDivergence; readonly actor?: string | undefined },
): Promise<string | undefined> {
  if (beyond.length === 0 || onDivergence === 'append') return undefined
  const diverged = (why: string): UndertextError => {
    const position = (beyond[0]?.position ?? 1) - 1
    return new UndertextError('HISTORY_DIVERGED', { sessionId, position, why })
  }
  if (onDivergence === 'error') throw diverged('the option onDivergence forbids it')
  if (beyond.some(({ condenseParent }) => condenseParent !== undefined))
    throw diverged('a summary stands for what came behind it')
  const visible = beyond.filter(({ hidden, role }) => !hidden && role !== 'system')
  if (visible.some(({ pinned }) => pinned)) throw diverged('a message behind it is pinned')
  if (visible.length === 0) return undefined
  const ids = visible.map(({ id }) => id)
  try {
    const made = await store.hideMessages(sessionId, ids, {
      reason: SET_ASIDE,
      ...(actor !== undefined && { actor }),
    })
    return made.id
  } catch (error) {
    // Calls without results cannot be hidden; what is sent says that there is none.
    if (isUndertextError(error, 'PENDING_TOOL_CALLS')) return undefined
    throw error
  }
}
