import { isUndertextError } from '../../../errors.ts'
import { type NewMessage, partsOf, type StoredMessage } from '../../../messages/message.ts'
import { unlessUnknown } from '../../../store/arguments.ts'
import type { Store } from '../../../store/store.ts'
import { takenBack } from '../taken-back.ts'
import { uiRowOf } from '../ui-layout.ts'
import type { Target, Wanted } from './target.ts'
import { commonRows, type Standing, standingOf } from './versions.ts'

/** What a chat needs of a store. */
export type ChatStorage = Pick<
  Store,
  | 'append'
  | 'createSession'
  | 'getMessages'
  | 'getSession'
  | 'hideMessages'
  | 'listCompactions'
  | 'prepareRequest'
  | 'recordUsage'
  | 'rewind'
  | 'undoCompaction'
  | 'updateSession'
  | 'withOverflowRecovery'
>

/** Why a rewind of a chat was made, as the audit tells it. */
const WENT_ON = 'the chat went on from an earlier message (undertext/ai-sdk)'

/** A chat as it stands. */
type ChatLog = {
  readonly standing: readonly Standing[]
  /** The last position of the log, 0 for none. */
  readonly position: number
  /** Whether a message of that id was taken back. */
  readonly isOut: (id: string) => boolean
}

/** Reads a chat as people see it: the log without what was taken back, whatever was compacted. Throws `SESSION_NOT_FOUND`. */
export async function readChat(store: ChatStorage, chatId: string, tools?: 'all' | object): Promise<ChatLog> {
  const rows = await store.getMessages(chatId)
  const messages = rows.filter(({ kind }) => kind === 'message')
  const isTouched = rows.some(({ truncationParent }) => truncationParent !== undefined)
  const out = isTouched ? takenBack(rows, await store.listCompactions(chatId)) : new Set<string>()
  const there = messages.filter(({ id }) => !out.has(id))
  const gone = new Set(messages.filter(({ id }) => out.has(id)).map(({ metadata }) => uiRowOf(metadata)?.id))
  return {
    standing: standingOf(there, tools),
    position: messages.at(-1)?.position ?? 0,
    isOut: (id) => gone.has(id),
  }
}

/** The same; a chat that is not there has no messages. */
async function readChatOrNone(store: ChatStorage, chatId: string): Promise<ChatLog> {
  const log = await unlessUnknown(readChat(store, chatId))
  return log ?? { standing: [], position: 0, isOut: () => false }
}

/** What a change of a chat did. */
export type SaveResult = {
  /** Rows that were appended. */
  readonly rowsAppended: number
  /** Rows that were taken back. */
  readonly rowsHidden: number
  /** The compaction of kind `manual` that took them back: `undoCompaction` gives them back. */
  readonly compactionId?: string
  /** Whether what was saved did not go on from what stood (see `onConflict`). */
  readonly isConflict: boolean
  /** Id of the last row of the log that stands now; absent for an empty chat. */
  readonly lastRowId?: string
}

/** How often a change is decided anew when others write meanwhile: each time somebody else got ahead. */
const MOST_TRIES = 50

/**
 * Makes a chat what `decide` says, in one transaction, decided anew when others write meanwhile. Rows that are there stay as long as they
 * are the same from the beginning; the rest is taken back by a rewind, and what is new goes behind.
 */
export async function changeChat(
  store: ChatStorage,
  chatId: string,
  decide: (log: ChatLog) => Target | Promise<Target>,
  actor: string | undefined,
): Promise<SaveResult> {
  for (let tries = 1; ; tries++) {
    const log = await readChatOrNone(store, chatId)
    const target = await decide(log)
    const nothing = { rowsAppended: 0, rowsHidden: 0, isConflict: target.isConflict }
    const change = changeTo(log.standing, target.messages)
    const last = log.standing.at(-1)?.rows.at(-1)
    if (change === undefined) return { ...nothing, ...(last && { lastRowId: last.id }) }
    try {
      return { ...nothing, ...(await commit(store, chatId, log, change, actor)) }
    } catch (error) {
      const isRace = isUndertextError(error, 'POSITION_CONFLICT') || isUndertextError(error, 'STALE_PLAN')
      if (!isRace || tries >= MOST_TRIES) throw error
    }
  }
}

/** Rows to be taken back, from the first on, and rows to be appended. */
type Change = { readonly hide: readonly StoredMessage[]; readonly append: readonly NewMessage[] }

/** `undefined` when nothing is to be done. */
function changeTo(standing: readonly Standing[], wanted: readonly Wanted[]): Change | undefined {
  let same = 0
  while (same < standing.length && wanted[same] === standing[same]) same++
  if (same === standing.length && same === wanted.length) return undefined
  const [there, version] = [standing[same], wanted[same]]
  const behind = wanted.slice(same).flatMap(({ rows }) => rows.map(asNew))
  if (there === undefined) return { hide: [], append: behind }
  const hidden = standing.slice(same).flatMap(({ rows }) => rows)
  if (version === undefined || there.isForeign || version.message.id !== there.message.id)
    return { hide: hidden, append: behind }
  const common = commonRows(there.rows, version.rows)
  const append = behind.slice(common.rows)
  const left = hidden.slice(common.rows)
  // More results of the same step: they go behind those that are there.
  const isMore = left.length === 1 && common.parts > 0 && common.parts === partsOf(left[0]!).length
  if (!isMore) return { hide: left, append }
  const [results, ...rest] = append
  return { hide: [], append: [{ ...results!, content: partsOf(results!).slice(common.parts) }, ...rest] }
}

/** What of a row is said again when what stands before it changes: its ids and keys stay where they are. */
function asNew({ role, content, metadata, createdAt }: NewMessage): NewMessage {
  return {
    role,
    content,
    ...(metadata !== undefined && { metadata }),
    ...(createdAt !== undefined && { createdAt }),
  }
}

async function commit(
  store: ChatStorage,
  chatId: string,
  { position, standing }: ChatLog,
  { hide, append }: Change,
  actor: string | undefined,
): Promise<Omit<SaveResult, 'isConflict'>> {
  const [first] = hide
  if (first === undefined) {
    const { messages } = await store.append(chatId, append, { expectedPosition: position })
    return { rowsAppended: messages.length, rowsHidden: 0, lastRowId: messages.at(-1)!.id }
  }
  const { messages, rowsHidden, compactionId } = await store.rewind(chatId, {
    from: { messageId: first.id },
    keepCompactions: true,
    ...(append.length > 0 && { append }),
    expectedPosition: position,
    reason: WENT_ON,
    ...(actor !== undefined && { actor }),
  })
  const left = standing.flatMap(({ rows }) => rows).findLast((row) => !hide.includes(row))
  const last = messages.at(-1)?.id ?? left?.id
  return {
    rowsAppended: messages.length,
    rowsHidden,
    ...(compactionId !== undefined && { compactionId }),
    ...(last !== undefined && { lastRowId: last }),
  }
}
