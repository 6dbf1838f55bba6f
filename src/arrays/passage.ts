import { v7 as uuidv7 } from 'uuid'
import type { Part } from '../messages/message.ts'
import type { ChatMessage } from '../model/message-parts.ts'
import type { PlannedInsert, PlannedStep } from '../model/plan.ts'
import type { Manner } from '../rendering/rows.ts'
import { insertedMessage, replaceParts } from './applied.ts'
import { isVisible } from './effective-history.ts'

/** A message on its way through strategies. */
export type Item = {
  readonly message: ChatMessage
  /** Its index in the array that was given; `undefined` for one that a strategy made. */
  readonly origin: number | undefined
  /** Of a summary made on the way: its own text, and the indexes of the messages it stands for. */
  readonly summary?: { readonly text: string; readonly standsFor: readonly number[] }
}

/** The visible messages of an array, at the start of their way. */
export function itemsOf(messages: readonly ChatMessage[]): Item[] {
  return messages.flatMap((message, origin) => (isVisible(message) ? [{ message, origin }] : []))
}

export function messagesOf(items: readonly Item[]): ChatMessage[] {
  return items.map(({ message }) => message)
}

/** The indexes, in the array that was given, of what an item is or stands for. */
export function originsOf({ origin, summary }: Item): readonly number[] {
  return origin === undefined ? (summary?.standsFor ?? []) : [origin]
}

/** What inserted messages look like. */
type InsertLook = { readonly manner: Manner; readonly ownText?: string }

/** The items as a planned step leaves them. A row's key is its item's index + 1; the inserted row's is negative. */
export function afterStep(items: readonly Item[], { plan, after }: PlannedStep, look: InsertLook): Item[] {
  const shown = replaceParts(messagesOf(items), plan.replace)
  return after.rows.map(({ key }): Item => {
    const item = items[key - 1]
    if (item !== undefined) return { ...item, message: shown[key - 1]! }
    const covered = plan.hide.flatMap((row) => originsOf(items[row.key - 1]!))
    return insertedItem(plan.insert!, covered, look)
  })
}

/** The message a plan inserts. `standsFor`: indexes in the array that was given. */
export function insertedItem(insert: PlannedInsert, standsFor: readonly number[], look: InsertLook): Item {
  const { kind, text, metadata } = insert
  const id = uuidv7()
  if (kind === 'marker') return { message: insertedMessage(insert, id), origin: undefined }
  const { manner, ownText = text } = look
  const framed = `${manner.before}${text}${manner.after}`
  const shown = { ...insert, role: manner.role, text: framed, metadata: { ...metadata, isSummary: true } }
  const message = insertedMessage(shown, id)
  return { message, origin: undefined, summary: { text: ownText, standsFor } }
}

/** A message of its own: who writes into it, or into its parts, writes into nothing else. */
export function copyMessage(message: ChatMessage): ChatMessage {
  const { content } = message
  if (typeof content === 'string' || !Array.isArray(content)) return { ...message }
  return { ...message, content: content.map((part: Part) => ({ ...part })) }
}
