import type { JsonObject } from '../../messages/json.ts'
import type { NewMessage, PositionRange } from '../../messages/message.ts'

/*
 * What an import is told of one conversation, whoever tells it: a reader of files, or an application that has its messages elsewhere.
 */

/** What is known of the conversation itself; told anywhere within it, also more than once: the last word counts. */
export type FieldsEvent = {
  readonly type: 'fields'
  readonly title?: string
  /** What the conversation was called before: a session that has one of these titles gets the new one. */
  readonly formerTitles?: readonly string[]
  readonly provider?: string
  readonly model?: string
  /** Milliseconds since 1970. */
  readonly createdAt?: number
  /** Kept as the session's metadata under the source's name. */
  readonly metadata?: JsonObject
}

/**
 * A message, to be appended. Its `idempotencyKey` is the same whenever the same message is told: made of the source's own id of it, or of its
 * place in the conversation.
 */
export type MessageEvent = { readonly type: 'message'; readonly message: NewMessage }

/** A compaction the source's system had made, told behind all messages it covers and before those appended after it. */
export type CompactionEvent = { readonly type: 'compaction'; readonly compaction: ImportedCompaction }

export type ImportedCompaction = {
  /** Unique within the conversation, and the same whenever it is told. */
  readonly id: string
  /** `condense` stands a summary for what it covers; `truncate` hides it, with a marker or without; `manual` takes it out by hand. */
  readonly kind: 'condense' | 'truncate' | 'manual'
  /** What it covers, by ordinals of the conversation's message events: what is still visible there when it is made, summaries included. */
  readonly covers: readonly PositionRange[]
  /** The summary's text, or the marker's. A condensation without one cannot be. */
  readonly text?: string
  /** Milliseconds since 1970. */
  readonly createdAt?: number
  readonly reason?: string
  readonly model?: string
  /** Whether the source's system had undone it: it is made and undone, so that it can be put back. */
  readonly undone?: boolean
}

/** What an import is told, in order: a conversation's messages, what is known of it, and the compactions it had. */
export type ImportEvent = FieldsEvent | MessageEvent | CompactionEvent

/** Where the events of an import come from. A function gives the same ones each time it is called. */
export type ImportEvents = EventList | (() => EventList)
export type EventList = AsyncIterable<ImportEvent> | Iterable<ImportEvent>
