import { UndertextError } from '../../../core/errors.ts'
import { addedParts, ownParts } from '../../../core/messages/added.ts'
import { canonicalJson, defined } from '../../../core/messages/json.ts'
import { type NewMessage, type Part, partsOf, type StoredMessage } from '../../../core/messages/message.ts'
import { withoutGivenMark } from '../../../core/messages/user-answers.ts'
import type { Redaction } from '../../../storage/redaction.ts'
import { unlessUnknown } from '../../../store/arguments.ts'
import type { RewindOptions } from '../../../store/rewind.ts'
import type { Store } from '../../../store/store.ts'
import type { Turn } from '../../../store/turns.ts'
import { Conversion } from '../../conversion.ts'
import { withRetries } from '../../retry.ts'
import { rowsOfUIMessage } from '../from-ui-messages.ts'
import { unitsOf } from '../prompt-matching.ts'
import { causeOf, readLog } from '../session-reading.ts'
import { type UIMessageOptions, uiMessagesOf } from '../to-ui-messages.ts'
import type { SdkUIMessage, UIMessageLike } from '../types.ts'
import { groupsOf, uiMetadata, uiRowOf } from '../ui-rows.ts'

/** The store methods that a chat needs. */
export type ChatStorage = Pick<
  Store,
  | 'append'
  | 'beginTurn'
  | 'sessions'
  | 'getContextStats'
  | 'getMessages'
  | 'compactions'
  | 'listCompactions'
  | 'prepareRequest'
  | 'requests'
  | 'rewind'
  | 'undoCompaction'
  | 'withOverflowRecovery'
>

/** A chat as it is stored. */
type ChatLog = {
  readonly stored: readonly StoredUIMessage[]
  /** Rows that requests added, which aren't messages of the chat. */
  readonly added: readonly StoredMessage[]
  /** The last position of the log; 0 if it is empty. */
  readonly position: number
  /** Whether the message with this id was rewound. */
  readonly isRewound: (id: string) => boolean
}

/** A chat, in the store of its owner, and the actor that the audit names for its rewinds. */
export type Chat = {
  readonly store: ChatStorage
  readonly chatId: string
  readonly actor: string | undefined
  /** The turn that changes it; `undefined` outside of turns. */
  readonly turn?: Turn | undefined
  /** The redaction of the store: messages are compared, and sent, as they are stored. */
  readonly redaction: Redaction | undefined
}

/** Reads a chat as people see it: the log without rewound messages, compacted or not. Throws `SESSION_NOT_FOUND`. */
export async function readChat(
  { store, chatId }: Pick<Chat, 'store' | 'chatId'>,
  tools?: object,
): Promise<ChatLog> {
  const { log, rewound, position } = await readLog(store, chatId, await store.getMessages(chatId))
  const rewoundIds = new Set(rewound.map(({ metadata }) => uiRowOf(metadata)?.id))
  const added = log.filter((row) => addedParts(row).size > 0 && ownParts(row).length === 0)
  return { stored: storedMessagesOf(log, tools), added, position, isRewound: (id) => rewoundIds.has(id) }
}

/** The result of a change of a chat. */
export type SaveResult = {
  /** Rows that were appended. */
  readonly rowsAppended: number
  /** Rows that were hidden. */
  readonly rowsHidden: number
  /** The compaction of kind `manual` that hid them; `undoCompaction` restores them. */
  readonly compactionId?: string
  /** Whether the saved list did not continue the stored chat (see `onConflict`). */
  readonly isConflict: boolean
  /** Id of the chat's last row now; absent for an empty chat. */
  readonly lastRowId?: string
}

/** A change of a chat, and the rows that it appended. */
type ChatChange = SaveResult & { readonly appended: readonly AppendedRow[] }
/** An appended row: its position, and what was appended. */
export type AppendedRow = { readonly position: number; readonly row: NewMessage }

/** The most attempts at a change while other writers append first. */
const MAX_TRIES = 50

/**
 * Changes a chat to the target that `decide` returns, in one transaction; calls `decide` again if others write meanwhile. The rows that
 * both have from the beginning stay; a rewind hides the rest, and new rows are appended.
 */
export async function changeChat(
  chat: Chat,
  decide: (log: ChatLog) => Target | Promise<Target>,
): Promise<ChatChange> {
  return withRetries(MAX_TRIES, ['POSITION_CONFLICT', 'STALE_PLAN'], async () => {
    const known = await unlessUnknown(readChat(chat))
    const log = known ?? { stored: [], added: [], position: 0, isRewound: () => false }
    const target = await decide(log)
    const nothing = { rowsAppended: 0, rowsHidden: 0, isConflict: target.isConflict, appended: [] }
    const change = changeTo(log.stored, target.messages)
    const last = log.stored.at(-1)?.rows.at(-1)
    if (change === undefined) return { ...nothing, ...defined({ lastRowId: last?.id }) }
    return { ...nothing, ...(await commit(chat, log, change)) }
  })
}

/** Rows to hide, from the first on, and rows to append. */
type Change = { readonly hide: readonly StoredMessage[]; readonly append: readonly NewMessage[] }

/** Returns `undefined` if nothing changes. */
function changeTo(stored: readonly StoredUIMessage[], wanted: readonly TargetMessage[]): Change | undefined {
  let same = 0
  while (same < stored.length && wanted[same] === stored[same]) same++
  if (same === stored.length && same === wanted.length) return undefined
  const [former, version] = [stored[same], wanted[same]]
  const appended = wanted.slice(same).flatMap(({ rows }) => rows.map(withoutIds))
  if (former === undefined) return { hide: [], append: appended }
  const hidden = stored.slice(same).flatMap(({ rows }) => rows)
  if (version === undefined || former.isOtherOrigin || version.message.id !== former.message.id)
    return { hide: hidden, append: appended }
  const common = commonRows(former.rows, version.rows)
  const append = appended.slice(common.rows)
  const left = hidden.slice(common.rows)
  // More results of the same step are appended after the stored ones.
  const isMore = left.length === 1 && common.parts > 0 && common.parts === partsOf(left[0]!).length
  if (!isMore) return { hide: left, append }
  const [results, ...rest] = append
  return { hide: [], append: [{ ...results!, content: partsOf(results!).slice(common.parts) }, ...rest] }
}

/** A row without ids and keys, which belong to the stored row: it is appended again after an earlier row changed. */
function withoutIds({ role, content, metadata, createdAt }: NewMessage): NewMessage {
  return defined({ role, content, metadata, createdAt })
}

async function commit(
  { store, chatId, actor, turn }: Chat,
  { position, stored }: ChatLog,
  { hide, append }: Change,
): Promise<Omit<ChatChange, 'isConflict'>> {
  const [first] = hide
  const placed = (messages: readonly { readonly position: number }[]): AppendedRow[] =>
    messages.map((message, at) => ({ position: message.position, row: append[at]! }))
  if (first === undefined) {
    const where = { expectedPosition: position }
    const { messages } = await (turn === undefined
      ? store.append(chatId, append, where)
      : turn.append(append, where))
    const lastRowId = messages.at(-1)!.id
    return { rowsAppended: messages.length, rowsHidden: 0, lastRowId, appended: placed(messages) }
  }
  const options: RewindOptions = {
    from: { beforeMessage: first.id },
    keepCompactions: true,
    ...(append.length > 0 && { append }),
    expectedPosition: position,
    ...causeOf('rewound'),
    ...defined({ actor }),
  }
  const rewound = turn === undefined ? store.rewind(chatId, options) : turn.rewind(options)
  const { messages, rowsHidden, compactionId } = await rewound
  const left = stored.flatMap(({ rows }) => rows).findLast((row) => !hide.includes(row))
  const last = messages.at(-1)?.id ?? left?.id
  const appended = placed(messages)
  return defined({ rowsAppended: messages.length, rowsHidden, compactionId, lastRowId: last, appended })
}

/**
 * How to save a list that does not continue the stored chat: messages are missing or replaced.
 *
 * - `merge` (default): no stored message is lost. A newer version in the list replaces the stored one; new messages are appended.
 * - `replace`: the list becomes the chat; messages that are missing are rewound.
 * - `error`: `save` throws `HISTORY_DIVERGED`.
 */
export type OnConflict = 'merge' | 'replace' | 'error'

/** A message of the chat after a change: a stored one, or one to store. */
export type TargetMessage = StoredUIMessage | GivenMessage

/** A chat after a change. */
export type Target = {
  readonly messages: readonly TargetMessage[]
  /** Whether the list did not continue the stored chat. */
  readonly isConflict: boolean
}

/**
 * Returns a chat after a whole list is saved.
 *
 * These differences are not conflicts: messages after the log's end; a changed text of a user message (an edit); another answer instead of
 * the last one (a regeneration); a newer version of the assistant's last message; a replacement of `messageId`. An older version of a
 * message changes nothing. Any other list without stored messages is a conflict, because another tab may have written them. Throws
 * `HISTORY_DIVERGED` for a conflict with `onConflict: 'error'`.
 */
export function targetOfSave(
  chatId: string,
  stored: readonly StoredUIMessage[],
  given: readonly GivenMessage[],
  { onConflict, messageId }: { readonly onConflict: OnConflict; readonly messageId?: string | undefined },
): Target {
  let common = 0
  while (common < given.length && common < stored.length && isSameOrOlder(given[common]!, stored[common]!))
    common++
  const known = stored.slice(0, common)
  const whole = (): Target => ({ messages: [...known, ...given.slice(common)], isConflict: false })
  if (common === stored.length) return whole()

  const [next, former] = [given[common], stored[common]!]
  const ids = new Set(given.map(({ message }) => message.id))
  const missing = stored.slice(common + 1).filter(({ message }) => !ids.has(message.id))
  const isSameId = next?.message.id === former.message.id
  if (messageId !== undefined && messageId === former.message.id) return whole()
  if (next !== undefined) {
    if (isSameId && (next.message.role === 'user' || missing.length === 0)) return whole()
    const isRegeneration = next.message.role === 'assistant' && former.message.role === 'assistant'
    const isLast = missing.every(({ message }) => message.role === 'assistant')
    if (isRegeneration && isLast && !isSameId && !ids.has(former.message.id)) return whole()
  }
  if (onConflict === 'error') {
    const position = (former.rows[0]?.position ?? 1) - 1
    throw new UndertextError('HISTORY_DIVERGED', {
      sessionId: chatId,
      position,
      why: 'the list lacks messages that were stored since',
    })
  }
  if (onConflict === 'replace') return { ...whole(), isConflict: true }
  return { messages: merged(stored, given), isConflict: true }
}

/** All stored messages, in their newest versions, and new messages after them. */
function merged(stored: readonly StoredUIMessage[], given: readonly GivenMessage[]): TargetMessage[] {
  const versions = new Map(given.map((one) => [one.message.id, one]))
  const kept = stored.map((former) => {
    const version = versions.get(former.message.id)
    versions.delete(former.message.id)
    return version === undefined || isSameOrOlder(version, former) ? former : version
  })
  return [...kept, ...given.filter(({ message }) => versions.has(message.id))]
}

/** A message to save, and its rows. */
export type GivenMessage = {
  readonly message: SdkUIMessage
  readonly rows: readonly NewMessage[]
}

export type StoredUIMessage = {
  readonly message: SdkUIMessage
  readonly rows: readonly StoredMessage[]
  /** Whether some of its rows weren't stored by a chat. A browser then has another id for the message. */
  readonly isOtherOrigin: boolean
}

function storable(row: NewMessage, redaction: Redaction): NewMessage {
  const { redacted: _, ...stored } = redaction.message(row)
  return stored
}

/**
 * Converts a message to rows, and back to the message as it will be loaded: redacted, if the store redacts, because it is compared with what
 * is stored. Throws `INVALID_INPUT`, and the errors of the redaction.
 */
export function readGiven(message: UIMessageLike, place: string, redaction?: Redaction): GivenMessage {
  const conversion = new Conversion('ai-sdk UIMessage')
  const given = rowsOfUIMessage(message, place, conversion)
  const rows = redaction === undefined ? given : given.map((row) => storable(row, redaction))
  const [read] = uiMessagesOf(groupsOf(rows), {}, conversion)
  return { message: read!, rows }
}

/** The messages of stored rows, in order. */
function storedMessagesOf(rows: readonly StoredMessage[], tools?: object): StoredUIMessage[] {
  const groups = groupsOf(rows)
  const options = defined({ tools: tools as UIMessageOptions['tools'] })
  const messages = uiMessagesOf(groups, options, new Conversion('ai-sdk UIMessage'))
  return groups.map(({ rows: own, uiId }, index) => ({
    message: messages[index]!,
    rows: own.map(({ index: at }) => rows[at]!),
    isOtherOrigin: uiId === undefined || own.some(({ ui }) => ui === undefined),
  }))
}

/** Whether the given version is the stored one, or an older one that the stored one begins with. */
export function isSameOrOlder(
  given: GivenMessage,
  { message, rows, isOtherOrigin }: StoredUIMessage,
): boolean {
  const other = given.message.id === '' ? { ...message, id: '' } : message
  if (canonicalJson(given.message) === canonicalJson(other)) return true
  if (isOtherOrigin) return hasSameContent(given, rows)
  if (given.message.id !== message.id) return false
  if (commonRows(rows, given.rows).isPrefix) return true
  // A shorter version is older, even if its metadata (usage, a model's name) changed since.
  const older = commonRows(rows.map(withoutFirst), given.rows.map(withoutFirst))
  return older.isPrefix && older.rows < rows.length
}

/** A row without the fields of its whole message. */
function withoutFirst(row: NewMessage): NewMessage {
  const ui = uiRowOf(row.metadata)
  if (ui === undefined || row.metadata === undefined) return row
  const { first: _, ...rest } = ui
  return { ...row, metadata: { ...row.metadata, ...uiMetadata(rest) } }
}

/** Compares only texts, calls and results: rows of other origins have other ids, and no layout. */
function hasSameContent(given: GivenMessage, rows: readonly StoredMessage[]): boolean {
  const comparable = (list: readonly NewMessage[]): string => {
    const { utterances, calls, results } = unitsOf(list)
    const texts = utterances.map(({ role, text, digest }) => [role, text, digest ?? ''])
    const system = list.filter(({ role }) => role === 'system').map(({ content }) => partsOf({ content }))
    return canonicalJson([texts, calls.map(({ id }) => id), results.map(({ id }) => id), system])
  }
  return given.message.role === roleOf(rows) && comparable(given.rows) === comparable(rows)
}

function roleOf([first]: readonly NewMessage[]): string {
  return first?.role === 'tool' ? 'assistant' : (first?.role ?? 'assistant')
}

/** The common beginning of two versions. */
type Common = {
  /** The number of equal rows. */
  readonly rows: number
  /** The number of equal results in the next row. */
  readonly parts: number
  /** Whether `stored` begins with all of `wanted`. */
  readonly isPrefix: boolean
}

/** Compares rows of two versions from the beginning. Results may be split into rows differently. */
function commonRows(stored: readonly NewMessage[], wanted: readonly NewMessage[]): Common {
  let rows = 0
  while (rows < stored.length && rows < wanted.length && bodyOf(stored[rows]!) === bodyOf(wanted[rows]!))
    rows++
  const [a, b] = [stored[rows], wanted[rows]]
  const parts = a === undefined || b === undefined ? 0 : commonResults(a, b)
  const isPrefix = b === undefined || (rows === wanted.length - 1 && parts > 0 && parts === partsOf(b).length)
  return { rows, parts, isPrefix }
}

/** The number of results with which both rows begin, if one of them has no others. */
function commonResults(a: NewMessage, b: NewMessage): number {
  if (a.role !== 'tool' || b.role !== 'tool') return 0
  if (canonicalJson(a.metadata ?? {}) !== canonicalJson(b.metadata ?? {})) return 0
  const [left, right] = [comparedParts(a), comparedParts(b)]
  const most = Math.min(left.length, right.length)
  const isSame = canonicalJson(left.slice(0, most)) === canonicalJson(right.slice(0, most))
  return isSame ? most : 0
}

/** The compared content of a row, without marks of this package: versions from a browser or a stream have none. */
function bodyOf(row: NewMessage): string {
  const { undertext: _, ...given } = row.metadata ?? {}
  const content = row.role === 'tool' ? comparedParts(row) : row.content
  return canonicalJson([row.role, content, given])
}

/** The parts without the mark that records who gave a result. */
function comparedParts(row: NewMessage): readonly Part[] {
  return partsOf(row).map(withoutGivenMark)
}
