import { canonicalJson } from '../../../messages/json.ts'
import { type NewMessage, partsOf, type StoredMessage } from '../../../messages/message.ts'
import { Conversion } from '../../conversion.ts'
import { rowsOfUIMessage } from '../from-ui-messages.ts'
import { unitsOf } from '../prompt-matching.ts'
import { uiMessagesOf } from '../to-ui-messages.ts'
import type { SdkUIMessage, UIMessageLike } from '../types.ts'
import { type Group, groupsOf, uiMetadata, uiRowOf } from '../ui-rows.ts'

/*
 * Versions of the messages of a chat: one that is stored, one that is to be saved, and how the two compare.
 */

/** A message to save, and its rows. */
export type GivenMessage = {
  readonly message: SdkUIMessage
  readonly rows: readonly NewMessage[]
}

/** A stored message, and its rows. */
export type StoredUIMessage = {
  readonly message: SdkUIMessage
  readonly rows: readonly StoredMessage[]
  /** Whether rows of it do not come from a chat: a browser then knows it by another id. */
  readonly isOtherOrigin: boolean
}

/** A message as it will be read again. Throws `INVALID_INPUT`. */
export function readGiven(message: UIMessageLike, place: string): GivenMessage {
  const conversion = new Conversion('ai-sdk UIMessage')
  const rows = rowsOfUIMessage(message, place, conversion)
  const [read] = uiMessagesOf(groupsOf(rows), {}, conversion)
  return { message: read!, rows }
}

/** The messages of stored rows, in order. */
export function storedMessagesOf(rows: readonly StoredMessage[], tools?: 'all' | object): StoredUIMessage[] {
  const groups: Group<StoredMessage>[] = groupsOf(rows)
  const options = tools === undefined ? {} : { tools: tools as 'all' }
  const messages = uiMessagesOf(groups, options, new Conversion('ai-sdk UIMessage'))
  return groups.map(({ rows: own, uiId }, index) => ({
    message: messages[index]!,
    rows: own.map(({ row }) => row),
    isOtherOrigin: uiId === undefined || own.some(({ ui }) => ui === undefined),
  }))
}

/** Whether the given version is the stored one, or an older one: the stored one begins with it. */
export function isSameOrOlder(
  given: GivenMessage,
  { message, rows, isOtherOrigin }: StoredUIMessage,
): boolean {
  const other = given.message.id === '' ? { ...message, id: '' } : message
  if (canonicalJson(given.message) === canonicalJson(other)) return true
  if (isOtherOrigin) return hasSameContent(given, rows)
  if (given.message.id !== message.id) return false
  if (commonRows(rows, given.rows).isPrefix) return true
  // A shorter version is an older one, also where its metadata (usage, a model's name) changed since.
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

/** Compares texts, calls and results only: other origins have other ids, and no layout. */
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

/** How far the rows of one version are those of another. */
type Common = {
  /** How many rows are the same. */
  readonly rows: number
  /** How many parts of the results after them are. */
  readonly parts: number
  /** Whether `stored` begins with all of `wanted`. */
  readonly isPrefix: boolean
}

/** Compares rows of two versions from the beginning. Results may be spread over rows differently. */
export function commonRows(stored: readonly NewMessage[], wanted: readonly NewMessage[]): Common {
  let rows = 0
  while (rows < stored.length && rows < wanted.length && bodyOf(stored[rows]!) === bodyOf(wanted[rows]!))
    rows++
  const [a, b] = [stored[rows], wanted[rows]]
  const parts = a === undefined || b === undefined ? 0 : commonResults(a, b)
  const isPrefix = b === undefined || (rows === wanted.length - 1 && parts > 0 && parts === partsOf(b).length)
  return { rows, parts, isPrefix }
}

/** How many results both rows begin with, where one of the two has no others. */
function commonResults(a: NewMessage, b: NewMessage): number {
  if (a.role !== 'tool' || b.role !== 'tool') return 0
  if (canonicalJson(a.metadata ?? {}) !== canonicalJson(b.metadata ?? {})) return 0
  const [left, right] = [partsOf(a), partsOf(b)]
  const most = Math.min(left.length, right.length)
  const isSame = canonicalJson(left.slice(0, most)) === canonicalJson(right.slice(0, most))
  return isSame ? most : 0
}

function bodyOf({ role, content, metadata }: NewMessage): string {
  return canonicalJson([role, content, metadata ?? {}])
}
