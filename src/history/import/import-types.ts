import { z } from 'zod'
import { invalid, UndertextError } from '../../errors.ts'
import { headOf } from '../../messages/characters.ts'
import {
  isIterable,
  jsonObjectSchema,
  labelSchema,
  MAX_NAME_LENGTH,
  nameSchema,
} from '../../messages/check.ts'
import { isObject, type JsonObject } from '../../messages/json.ts'
import type { NewMessage, PositionRange } from '../../messages/message.ts'
import { checkMessages } from '../../messages/message-check.ts'
import type { AppendedMessage, Storage } from '../../storage/storage.ts'

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
  /** What the conversation comes from: its metadata stands under this name, and its compactions are told by it. */
  source: nameSchema,
  owner: labelSchema.optional(),
  actor: nameSchema.optional(),
  reason: labelSchema.optional(),
  /** Whether it is only looked what would be done: nothing is written, and compactions are not tried. */
  dryRun: z.boolean().default(false),
  signal: z.instanceof(AbortSignal).optional(),
  /** Called when everything is written and before anybody can see it; what it throws discards the session. */
  beforePublish: z
    .custom<() => Promise<void> | void>((value) => typeof value === 'function', 'must be a function')
    .optional(),
})
export type ImportOptions = z.input<typeof importSchema>
export type CheckedImport = z.output<typeof importSchema>

/** What became of a compaction that came with a conversation. */
export type CompactionOutcome = {
  /** As its own system calls it. */
  readonly id: string
  readonly status: 'applied' | 'known' | 'refused'
  readonly compactionId?: string
  /** Rows it was to hide and that stay, because the laws let no half of a tool call or a system message be hidden. */
  readonly rowsLeft?: number
  /** Why it was refused. */
  readonly why?: string
}

export type SessionImport = {
  readonly sessionId: string
  /** `imported`: a new session. `extended`: what was new was appended to the one there was. `unchanged`: all was there. */
  readonly status: 'imported' | 'extended' | 'unchanged'
  /** Messages that were written, and that were there already. */
  readonly messages: number
  readonly existing: number
  readonly compactions: readonly CompactionOutcome[]
}

/** Who imports, and what compactions of an import are noted with. */
export type ImportRun = {
  readonly source: string
  readonly actor: string | undefined
  readonly reason: string | undefined
}

/** What an import needs of the store it is a verb of. */
export type ImportHost = {
  readonly storage: Storage
  /** The estimator new sessions are counted by. */
  readonly estimator: string
  /** Records what a provider compacted by itself, told by a block among messages that were appended. */
  recordAppended(
    sessionId: string,
    messages: readonly NewMessage[],
    appended: readonly AppendedMessage[],
  ): Promise<unknown>
}

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
type EventList = AsyncIterable<ImportEvent> | Iterable<ImportEvent>

/**
 * The events from their beginning, each looked at before it is handed on; what stands in a compaction and in fields is checked where they
 * are made. Every event of an import comes through here, so here an import is given up. Throws `INVALID_INPUT`, `ABORTED` and what the
 * events throw.
 */
export async function* checkedEvents(
  events: ImportEvents,
  sessionId: string,
  { signal }: Pick<CheckedImport, 'signal'>,
): AsyncGenerator<ImportEvent> {
  const refuseAborted = (): void => {
    if (signal?.aborted) throw new UndertextError('ABORTED', { sessionId })
  }
  const list: unknown = typeof events === 'function' ? events() : events
  if (!isIterable<ImportEvent>(list)) throw invalid('importSession: events must be iterable')
  for await (const event of list) {
    refuseAborted()
    if (!isObject(event) || typeof event.type !== 'string')
      throw invalid('importSession: an event is no event')
    if (event.type === 'message') checkMessages([event.message], 'importSession: message')
    else if (event.type !== 'fields' && event.type !== 'compaction')
      throw invalid('importSession: an event has a type that is none')
    yield event
  }
  refuseAborted()
}

/** A text of a file as a label: short, and nothing a database cannot hold. */
export function labelOf(text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  const label = headOf(text.replaceAll('\0', ' ').toWellFormed(), MAX_NAME_LENGTH).trim()
  return label === '' ? undefined : label
}
