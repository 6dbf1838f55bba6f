import { z } from 'zod'
import { invalid, UndertextError } from '../../../core/errors.ts'
import { headOf } from '../../../core/messages/characters.ts'
import {
  check,
  importOwnerOption,
  isIterable,
  jsonObjectSchema,
  labelSchema,
  MAX_NAME_LENGTH,
  nameSchema,
} from '../../../core/messages/check.ts'
import { isObject, type JsonObject } from '../../../core/messages/json.ts'
import type { NewMessage, PositionRange } from '../../../core/messages/message.ts'
import { checkMessages } from '../../../core/messages/message-check.ts'
import type { AppendedMessage, Storage } from '../../../storage/storage.ts'
import type { ChosenModel } from '../../config/model.ts'
import { type ImportedUsage, importedUsageSchema, type Names } from './imported-usage.ts'

const rangeSchema = z
  .tuple([z.int().positive(), z.int().positive()])
  .refine(([from, to]) => from <= to, 'must not end before it begins')

export const importedCompactionSchema = z.strictObject({
  id: nameSchema,
  kind: z.enum(['condense', 'truncate', 'manual']),
  covers: z.array(rangeSchema),
  text: z.string().optional(),
  createdAt: z.int().optional(),
  reason: z.string().optional(),
  model: z.string().optional(),
  undone: z.boolean().optional(),
})

export const fieldsEventSchema = z.strictObject({
  type: z.literal('fields'),
  title: z.string().optional(),
  formerTitles: z.array(z.string()).readonly().optional(),
  provider: z.string().optional(),
  model: z.string().optional(),
  createdAt: z.number().optional(),
  metadata: jsonObjectSchema.optional(),
})

export const importSchema = z.strictObject({
  /** The source of the conversation: its metadata is stored under this name, which also identifies its compactions. */
  source: nameSchema,
  owner: importOwnerOption,
  actor: nameSchema.optional(),
  reason: labelSchema.optional(),
  /** Whether to do a dry run: nothing is written, and compactions aren't tried. */
  dryRun: z.boolean().default(false),
  signal: z.instanceof(AbortSignal).optional(),
  /** Called after everything is written and before the session becomes visible; an error discards the session. */
  beforePublish: z
    .custom<() => Promise<void> | void>((value) => typeof value === 'function', 'must be a function')
    .optional(),
})
/** Options of `sessions.import`. */
export type ImportOptions = z.input<typeof importSchema>
export type CheckedImport = z.output<typeof importSchema>

/** The outcome of an imported compaction. */
export type CompactionOutcome = {
  /** The compaction's id in its own system. */
  readonly id: string
  readonly status: 'applied' | 'known' | 'refused'
  readonly compactionId?: string
  /**
   * Number of rows that were hidden in the source and stay visible here, because the laws forbid hiding half of a tool call or a system
   * message.
   */
  readonly rowsLeft?: number
  /** Why the compaction was rejected. */
  readonly why?: string
}

/** The result of importing a conversation. */
export type SessionImport = {
  readonly sessionId: string
  /** `imported`: a new session. `extended`: new messages were appended to an existing one. `unchanged`: nothing was new. */
  readonly status: 'imported' | 'extended' | 'unchanged'
  /** Number of written messages, and of existing ones. */
  readonly messages: number
  readonly existing: number
  readonly compactions: readonly CompactionOutcome[]
}

/** An import as the author of its compactions. */
export type ImportRun = {
  readonly source: string
  readonly actor: string | undefined
  readonly reason: string | undefined
}

/** What an import needs from its store. */
export type ImportHost = {
  readonly storage: Storage
  /** The estimator of new sessions. */
  readonly estimator: string
  /** Returns the model that a session's figures belong to. */
  modelFor(session: Names): ChosenModel
  /** Records a provider's compaction from a block among appended messages. */
  recordAppended(
    sessionId: string,
    messages: readonly NewMessage[],
    appended: readonly AppendedMessage[],
  ): Promise<unknown>
}

/* The events of one conversation, from a file reader or from an application that stores messages elsewhere. */

/** Fields of the conversation. May occur anywhere and repeatedly: the last value wins. */
export type FieldsEvent = {
  readonly type: 'fields'
  readonly title?: string
  /** Former titles: a session with one of them gets the new title. */
  readonly formerTitles?: readonly string[]
  readonly provider?: string
  readonly model?: string
  /** Milliseconds since 1970. */
  readonly createdAt?: number
  /** Stored as the session's metadata under the source's name. */
  readonly metadata?: JsonObject
}

/**
 * A message to append. Its `idempotencyKey` must be the same whenever the same message is imported, so it is made from the source's message
 * id, or from the message's place in the conversation.
 */
export type MessageEvent = {
  readonly type: 'message'
  readonly message: NewMessage
  /**
   * The usage that the provider reported with this answer. Default: the one in the message's metadata (`usage` of an API's response,
   * `usage_metadata` of LangChain …); `null` for none, if another conversation counts it.
   */
  readonly usage?: ImportedUsage | null
}

/** A compaction by the source's system; follows all messages that it covers. */
export type CompactionEvent = {
  readonly type: 'compaction'
  readonly compaction: ImportedCompaction
  /** The ordinal of the last message event before the compaction was made. Default: all messages so far. */
  readonly madeAfter?: number
}

/** A compaction of an imported conversation, as described by its source. */
export type ImportedCompaction = {
  /** Unique within the conversation, and the same in every import. */
  readonly id: string
  /** `condense` replaces its rows with a summary; `truncate` hides them, with or without a marker; `manual` hides them on request. */
  readonly kind: 'condense' | 'truncate' | 'manual'
  /** The covered messages, by ordinals of the message events: those still visible when the compaction is made, including summaries. */
  readonly covers: readonly PositionRange[]
  /** The text of the summary or the marker. Required for a condensation. */
  readonly text?: string
  /** Milliseconds since 1970. */
  readonly createdAt?: number
  readonly reason?: string
  readonly model?: string
  /** Whether the source's system had undone the compaction; it is then applied and undone, so that it can be redone. */
  readonly undone?: boolean
}

/** The events of an import, in order: messages, fields and compactions of a conversation. */
export type ImportEvent = FieldsEvent | MessageEvent | CompactionEvent

/** The events of an import. A function must return the same events each time it is called. */
export type ImportEvents = EventList | (() => EventList)
type EventList = AsyncIterable<ImportEvent> | Iterable<ImportEvent>

/**
 * Yields the events from the beginning, each checked before it is passed on; the content of compactions and fields is checked where it is
 * used. Every event of an import passes here, so the signal is checked here. Throws `INVALID_INPUT`, `ABORTED` and any error of the events.
 */
export async function* checkedEvents(
  events: ImportEvents,
  sessionId: string,
  { signal }: Pick<CheckedImport, 'signal'>,
): AsyncGenerator<ImportEvent> {
  const throwIfAborted = (): void => {
    if (signal?.aborted) throw new UndertextError('ABORTED', { sessionId })
  }
  const list: unknown = typeof events === 'function' ? events() : events
  if (!isIterable<ImportEvent>(list)) throw invalid('sessions.import: events must be iterable')
  for await (const event of list) {
    throwIfAborted()
    if (!isObject(event) || typeof event.type !== 'string')
      throw invalid('sessions.import: an event must be an object with a type')
    if (event.type === 'message') {
      checkMessages([event.message], 'sessions.import: message')
      if (event.usage != null) check(importedUsageSchema, event.usage, 'sessions.import: usage')
    } else if (event.type !== 'fields' && event.type !== 'compaction')
      throw invalid('sessions.import: an event has an unknown type')
    yield event
  }
  throwIfAborted()
}

/** Returns a text from a file as a label: shortened, without characters that a database can't store. */
export function labelOf(text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  const label = headOf(text.replaceAll('\0', ' ').toWellFormed(), MAX_NAME_LENGTH).trim()
  return label === '' ? undefined : label
}
