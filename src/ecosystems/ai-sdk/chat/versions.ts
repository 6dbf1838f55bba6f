import { invalid } from '../../../errors.ts'
import { canonicalJson } from '../../../messages/json.ts'
import { type NewMessage, type Part, partsOf, type StoredMessage } from '../../../messages/message.ts'
import { Conversion, type ConversionOptions } from '../../conversion.ts'
import { isObject, listAt, stringAt } from '../../wire.ts'
import { otherFields } from '../checks.ts'
import { contentOf, markReasoned } from '../parts.ts'
import { uiMessagesOf } from '../to-ui-messages.ts'
import { type Group, groupsOf } from '../ui-groups.ts'
import { type UiRow, uiMetadata, uiRowOf, worthKeeping } from '../ui-layout.ts'
import { RowReader } from '../ui-row-reader.ts'
import type { SdkUIMessage, UIMessageLike } from '../ui-types.ts'
import { unitsOf } from '../units.ts'

/*
 * Versions of the messages of a chat: one that stands in the log, one that somebody wants to save, and how the two compare.
 */

/** A message somebody wants to save, and the rows it would be. */
export type Given = {
  readonly message: SdkUIMessage
  readonly rows: readonly NewMessage[]
}

/** A message that stands in the log, and its rows. */
export type Standing = {
  readonly message: SdkUIMessage
  readonly rows: readonly StoredMessage[]
  /** Whether rows of it came from elsewhere than a chat: its id, then, is not what a browser knows it by. */
  readonly isForeign: boolean
}

/** A message as it is going to be read again. Throws `INVALID_INPUT`. */
export function givenAt(message: UIMessageLike, place: string): Given {
  const conversion = new Conversion('ai-sdk UIMessage')
  const rows = rowsOfUIMessage(message, place, conversion)
  const [read] = uiMessagesOf(groupsOf(rows), {}, conversion)
  return { message: read!, rows }
}

/** Messages that stand in the log, of rows in order. */
export function standingOf(rows: readonly StoredMessage[], tools?: 'all' | object): Standing[] {
  const groups: Group<StoredMessage>[] = groupsOf(rows)
  const options = tools === undefined ? {} : { tools: tools as 'all' }
  const messages = uiMessagesOf(groups, options, new Conversion('ai-sdk UIMessage'))
  return groups.map(({ rows: own, uiId }, index) => ({
    message: messages[index]!,
    rows: own.map(({ row }) => row),
    isForeign: uiId === undefined || own.some(({ ui }) => ui === undefined),
  }))
}

/** Whether two versions are the same, or the one given is an older one: what stands begins with it. */
export function isKnown(given: Given, { message, rows, isForeign }: Standing): boolean {
  const other = given.message.id === '' ? { ...message, id: '' } : message
  if (canonicalJson(given.message) === canonicalJson(other)) return true
  if (isForeign) return saysTheSame(given, rows)
  if (given.message.id !== message.id) return false
  if (commonRows(rows, given.rows).isPrefix) return true
  // A shorter version is an older one, also where its metadata (usage, a model's name) changed since.
  const older = commonRows(rows.map(withoutFirst), given.rows.map(withoutFirst))
  return older.isPrefix && older.rows < rows.length
}

/** A row without what it says of its whole message. */
function withoutFirst(row: NewMessage): NewMessage {
  const ui = uiRowOf(row.metadata)
  if (ui === undefined || row.metadata === undefined) return row
  const { first: _, ...rest } = ui
  return { ...row, metadata: { ...row.metadata, ...uiMetadata(rest) } }
}

/** Compares by what was said and done alone: other origins have other ids, and no layout. */
function saysTheSame(given: Given, rows: readonly StoredMessage[]): boolean {
  const said = (list: readonly NewMessage[]): string => {
    const { spoken, calls, results } = unitsOf(list)
    const texts = spoken.map(({ role, text, digest }) => [role, text, digest ?? ''])
    const system = list.filter(({ role }) => role === 'system').map(({ content }) => partsOf({ content }))
    return canonicalJson([texts, calls.map(({ id }) => id), results.map(({ id }) => id), system])
  }
  return given.message.role === roleOf(rows) && said(given.rows) === said(rows)
}

function roleOf([first]: readonly NewMessage[]): string {
  return first?.role === 'tool' ? 'assistant' : (first?.role ?? 'assistant')
}

/** How far the rows of one version are those of another. */
type Common = {
  /** How many rows are the same. */
  readonly rows: number
  /** How many parts of the results behind them are. */
  readonly parts: number
  /** Whether `wanted` is nothing but the beginning of `stored`. */
  readonly isPrefix: boolean
}

/** Compares rows of two versions from the beginning. Results that came one after another may be parted over rows differently. */
export function commonRows(stored: readonly NewMessage[], wanted: readonly NewMessage[]): Common {
  let rows = 0
  while (rows < stored.length && rows < wanted.length && bodyOf(stored[rows]!) === bodyOf(wanted[rows]!))
    rows++
  const [a, b] = [stored[rows], wanted[rows]]
  const parts = a === undefined || b === undefined ? 0 : commonResults(a, b)
  const isPrefix = b === undefined || (rows === wanted.length - 1 && parts > 0 && parts === partsOf(b).length)
  return { rows, parts, isPrefix }
}

/** How many results one row begins with that the other has, where one of the two has no others. */
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

/**
 * Messages of a chat (`UIMessage` of ai 5, 6 and 7) in the neutral form, ready to be appended. What a user says is one row; what an
 * assistant says is, for each step, a row with its texts and calls and a row with the results, as `convertToModelMessages` of the AI SDK
 * parts them: so models, pairing, pruning and figures see calls and results.
 *
 * All rows of a message name its id in `metadata['ai-sdk'].ui`, which also keeps how its parts were shown: order, states, titles, sources,
 * data, metadata. `toUIMessages` gives back what was read. A field that is `undefined` counts as absent, and values JSON cannot say come
 * back as JSON says them. Rows get no ids: a message that is edited keeps its own, and both versions stand in the log.
 *
 * Throws `INVALID_INPUT`, with the place and without the text, for what a `UIMessage` cannot be; with `lenient` such a part is kept unread.
 */
export function fromUIMessages(
  messages: readonly UIMessageLike[],
  options?: ConversionOptions,
): NewMessage[] {
  const conversion = new Conversion('ai-sdk UIMessage', options)
  return listAt(messages, 'messages').flatMap((message, index) => {
    conversion.at(index)
    const place = `[${index}]`
    const read = conversion.reading(message, place, () => rowsOfUIMessage(message, place, conversion))
    return Array.isArray(read) ? (read as NewMessage[]) : [{ role: 'user' as const, content: [read as Part] }]
  })
}

/** The rows of one message. Throws `INVALID_INPUT`. */
function rowsOfUIMessage(given: unknown, place: string, conversion: Conversion): NewMessage[] {
  if (!isObject(given)) throw invalid(`${place}: must be an object`)
  const message = given as { readonly [field: string]: unknown }
  const id = stringAt(message.id, `${place}.id`)
  const { role } = message
  if (role !== 'system' && role !== 'user' && role !== 'assistant')
    throw invalid(`${place}.role: must be system, user or assistant`)
  const parts = listAt(message.parts, `${place}.parts`)
  const first = otherFields(message, ['id', 'role', 'parts'], place, conversion)
  const reader = new RowReader(role, conversion)
  for (const [index, part] of parts.entries()) reader.add(part, `${place}.parts[${index}]`)
  return reader.finish().map(({ role: speaker, content, parts: shown, steering }, index) => {
    const row: UiRow = {
      id,
      ...(index === 0 && { first }),
      ...(steering !== undefined && { steering }),
      ...(speaker !== 'tool' && worthKeeping(shown, content.length)),
    }
    return { role: speaker, content: contentOf(markReasoned(content)), metadata: uiMetadata(row) }
  })
}
