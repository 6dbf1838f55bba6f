import { isUndertextError, UndertextError } from '../../../errors.ts'
import { type NewMessage, partsOf, type StoredMessage } from '../../../messages/message.ts'
import { unlessUnknown } from '../../../store/arguments.ts'
import type { Store } from '../../../store/store.ts'
import { takenBack } from '../session-reading.ts'
import { uiRowOf } from '../ui-rows.ts'
import { commonRows, type Given, isKnown, type Standing, standingOf } from './versions.ts'

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

/**
 * What to do with a list that does not go on from what stands: it lacks messages, or says others in their place.
 *
 * - `merge` (default): nothing that stands is taken back. What the list knows in a newer version takes the place of the older one, what is
 *   new goes behind.
 * - `replace`: the list is the chat from now on; what it lacks is taken back.
 * - `error`: the save is refused (`HISTORY_DIVERGED`).
 */
export type OnConflict = 'merge' | 'replace' | 'error'

/** A message of the chat as it is to be: one that stands, or one to be stored. */
export type Wanted = Standing | Given

/** What a chat is to be. */
export type Target = {
  readonly messages: readonly Wanted[]
  /** Whether the list did not go on from what stands. */
  readonly isConflict: boolean
}

/**
 * What a chat is to be when a whole list of it is saved. Pure.
 *
 * Where list and log part, these are no conflict but what people do: a list that goes on; a user's message with other words under its own id
 * (an edit); another answer in the place of the last one (made anew); an assistant's last message in a newer version; and whatever comes in
 * the place of `messageId`. An older version of a message changes nothing. Whatever else lacks messages that stand is a conflict: another tab
 * may have written them. Throws `HISTORY_DIVERGED` for that where it is asked for.
 */
export function targetOf(
  chatId: string,
  standing: readonly Standing[],
  given: readonly Given[],
  { onConflict, messageId }: { readonly onConflict: OnConflict; readonly messageId?: string | undefined },
): Target {
  let common = 0
  while (common < given.length && common < standing.length && isKnown(given[common]!, standing[common]!))
    common++
  const known = standing.slice(0, common)
  const whole = (): Target => ({ messages: [...known, ...given.slice(common)], isConflict: false })
  if (common === standing.length) return whole()

  const [next, there] = [given[common], standing[common]!]
  const ids = new Set(given.map(({ message }) => message.id))
  const lacking = standing.slice(common + 1).filter(({ message }) => !ids.has(message.id))
  const isSameId = next?.message.id === there.message.id
  if (messageId !== undefined && messageId === there.message.id) return whole()
  if (next !== undefined) {
    if (isSameId && (next.message.role === 'user' || lacking.length === 0)) return whole()
    const isAnew = next.message.role === 'assistant' && there.message.role === 'assistant'
    const isLast = lacking.every(({ message }) => message.role === 'assistant')
    if (isAnew && isLast && !isSameId && !ids.has(there.message.id)) return whole()
  }
  if (onConflict === 'error') {
    const position = (there.rows[0]?.position ?? 1) - 1
    throw new UndertextError('HISTORY_DIVERGED', {
      sessionId: chatId,
      position,
      why: 'the list lacks messages that were stored since',
    })
  }
  if (onConflict === 'replace') return { ...whole(), isConflict: true }
  return { messages: merged(standing, given), isConflict: true }
}

/** All that stands, in newer versions where there are some, and what is new behind it. */
function merged(standing: readonly Standing[], given: readonly Given[]): Wanted[] {
  const versions = new Map(given.map((one) => [one.message.id, one]))
  const kept = standing.map((there) => {
    const version = versions.get(there.message.id)
    versions.delete(there.message.id)
    return version === undefined || isKnown(version, there) ? there : version
  })
  return [...kept, ...given.filter(({ message }) => versions.has(message.id))]
}
