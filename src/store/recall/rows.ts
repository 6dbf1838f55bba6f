import { UndertextError } from '../../core/errors.ts'
import { withoutMarkup } from '../../core/messages/client-markup.ts'
import { isObject, type Json, stringifyJson } from '../../core/messages/json.ts'
import { mediaWord, outputText, type Part, partsOf, type StoredMessage } from '../../core/messages/message.ts'
import { isRecallTool } from '../../core/messages/tool-names.ts'
import { searchedText } from '../../core/search/words.ts'
import type { Store } from '../store.ts'

/** Maximum positions between two rows that are read together rather than with two statements. */
const MAX_GAP = 4

/** The place of a row: a summary is stored after the message at its anchor. */
type RowPlace = { readonly messageId: string; readonly anchor: number }

/** Returns stored rows by id, with the texts that the view shows in place of their parts; rows that no longer exist are left out. */
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
    while (at < anchors.length && anchors[at]! - last <= MAX_GAP) last = anchors[at++]!
    for (const row of await rowsBetween(store, sessionId, first, last))
      if (wanted.has(row.id)) found.set(row.id, row)
  }
  return found
}

/** Returns the rows from one position to another, including summaries. */
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

/** Returns a message by its position. Throws `MESSAGE_NOT_FOUND`. */
export async function messageAt(store: Store, sessionId: string, position: number): Promise<StoredMessage> {
  const rows = await rowsBetween(store, sessionId, position, position)
  const row = rows.find((one) => one.position === position)
  if (row === undefined)
    throw new UndertextError('MESSAGE_NOT_FOUND', { sessionId, messageId: String(position) })
  return row
}

/** Returns a row by its id. Throws `MESSAGE_NOT_FOUND`. */
export async function rowNamed(store: Store, sessionId: string, messageId: string): Promise<StoredMessage> {
  const { position } = await store.messages.moment(sessionId, { afterMessage: messageId })
  const at = (rows: readonly StoredMessage[]): StoredMessage | undefined =>
    rows.find(({ id }) => id === messageId)
  const message = at(await rowsBetween(store, sessionId, position, position))
  if (message !== undefined) return message
  // For a summary, the moment is that of its compaction; it is stored after the last message that it covers.
  const { positions } = await store.messages.expand(sessionId, messageId)
  const summary = at(await rowsBetween(store, sessionId, positions[1], positions[1]))
  if (summary !== undefined) return summary
  throw new UndertextError('MESSAGE_NOT_FOUND', { sessionId, messageId })
}

/** The readable text of a stored message, and where each of its parts begins. */
export type RowText = {
  readonly text: string
  /** For each part, the index of its first UTF-16 unit in the text. */
  readonly starts: readonly number[]
  /** For each part, the index after its last unit. */
  readonly ends: readonly number[]
}

/** Returns a message as text: texts unchanged, calls with their arguments, outputs in full, and a word in place of an image or a file. */
export function rowText(message: Pick<StoredMessage, 'content'>): RowText {
  const texts: string[] = []
  const [starts, ends]: [number[], number[]] = [[], []]
  let at = 0
  for (const part of partsOf(message)) {
    const text = partText(part)
    const separator = at === 0 || text === '' ? '' : '\n'
    starts.push(at + separator.length)
    at += separator.length + text.length
    ends.push(at)
    if (text !== '') texts.push(separator, text)
  }
  return { text: texts.join(''), starts, ends }
}

/** Returns the same text with spaces in place of what a client added to a user's message, because those words are no reason to find it. */
export function soughtText(
  message: Pick<StoredMessage, 'content' | 'role' | 'kind'>,
  { text, starts, ends }: RowText,
): string {
  if (message.role !== 'user' || message.kind !== 'message') return text
  const sought: string[] = []
  let from = 0
  for (const [at, part] of partsOf(message).entries()) {
    const own = text.slice(starts[at], ends[at])
    sought.push(text.slice(from, starts[at]), part.type === 'text' ? withoutMarkup(own) : own)
    from = ends[at]!
  }
  return sought.join('') + text.slice(from)
}

function partText(part: Part): string {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return part.text
    case 'image':
    case 'file':
      return mediaWord(part)
    case 'tool-call':
      return `${part.toolName}\n${jsonText(part.input)}`
    case 'tool-result':
      return part.output.type === 'json' || part.output.type === 'error-json'
        ? jsonText(part.output.value)
        : outputText(part.output)
    case 'provider':
      // The searchable part; the rest is encoded or encrypted.
      return searchedText({ content: [part] })
  }
}

/** Returns a line for each field of an object; texts unchanged, so that a program in an argument is readable. */
function jsonText(value: Json): string {
  if (typeof value === 'string') return value
  if (!isObject(value)) return stringifyJson(value)
  return Object.entries(value)
    .map(([name, field]) => `${name}: ${typeof field === 'string' ? field : stringifyJson(field ?? null)}`)
    .join('\n')
}

/** Returns the tools that a message calls or contains a result of, without duplicates. */
export function toolsOf(message: Pick<StoredMessage, 'content'>): string[] {
  const names = new Set<string>()
  for (const part of partsOf(message))
    if ((part.type === 'tool-call' || part.type === 'tool-result') && part.toolName !== undefined)
      names.add(part.toolName)
  return [...names]
}

/** The beginning of an answer of these tools, for results without a tool name. */
export const ANSWER_START = 'From the stored history'

/** Whether a message contains only calls of these tools, or their answers: its words are found elsewhere. */
export function isRecall(message: Pick<StoredMessage, 'content'>): boolean {
  const parts = partsOf(message).filter(
    (part) => part.type !== 'reasoning' && (part.type !== 'text' || part.text.trim() !== ''),
  )
  return (
    parts.some(({ type }) => type === 'tool-call' || type === 'tool-result') &&
    parts.every((part) => {
      if (part.type === 'tool-call') return isRecallTool(part.toolName)
      if (part.type !== 'tool-result') return false
      if (part.toolName !== undefined) return isRecallTool(part.toolName)
      return outputText(part.output).startsWith(ANSWER_START)
    })
  )
}
