import { type ErrorCode, isUndertextError, UndertextError } from '../core/errors.ts'
import { typedText } from '../core/messages/client-markup.ts'
import { isSilent, type NewMessage, type PositionRange, partsOf } from '../core/messages/message.ts'
import { titleFrom } from '../core/messages/title.ts'
import type { CompactionEvent, ImportEvent, SessionImport } from '../store/history/import/import-types.ts'
import { checkFile, storable, unreadableLook } from './check-file.ts'
import { EventCursor } from './history-lines.ts'
import {
  type CheckedConversation,
  type ImportedConversation,
  type Importing,
  outcomeOf,
  refused,
  withCount,
} from './import-report.ts'
import { nameTaken, otherName, sessionNames } from './session-rows.ts'
import type { Source, SourceEvent } from './source.ts'
import { titleOf } from './sources/fields.ts'

/**
 * Yields the events of one conversation that are stored: without notes, problems and messages that the store would reject. The coverage of
 * compactions is renumbered without the latter.
 */
export class StoredEvents {
  /** Ordinals of the omitted messages, in order. */
  readonly #left: number[] = []
  #ordinal = 0

  take(event: SourceEvent): ImportEvent | undefined {
    switch (event.type) {
      case 'fields':
        return event
      case 'message':
        this.#ordinal += 1
        if (storable(event) === undefined) return event
        this.#left.push(this.#ordinal)
        return undefined
      case 'compaction':
        return this.#left.length === 0 ? event : this.#recounted(event)
      default:
        return undefined
    }
  }

  #recounted(event: CompactionEvent): CompactionEvent {
    const covers = event.compaction.covers.flatMap(([from, to]): PositionRange[] => {
      const first = from - this.#leftBefore(from)
      const last = to - this.#leftBefore(to + 1)
      return first <= last ? [[first, last]] : []
    })
    const { madeAfter } = event
    const after = madeAfter === undefined ? {} : { madeAfter: madeAfter - this.#leftBefore(madeAfter + 1) }
    return { ...event, ...after, compaction: { ...event.compaction, covers } }
  }

  /** The number of omitted messages before an ordinal. */
  #leftBefore(ordinal: number): number {
    let count = 0
    while (count < this.#left.length && this.#left[count]! < ordinal) count += 1
    return count
  }
}

/** Errors of a single conversation that do not affect the others. */
const OF_CONVERSATION: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'INVALID_INPUT',
  'SESSION_EXISTS',
  'IMPORT_DIVERGED',
  'IDEMPOTENCY_CONFLICT',
  'MESSAGE_ID_TAKEN',
  'POSITION_CONFLICT',
])

/** Events that can be read once, or several times. */
type Events = AsyncIterable<ImportEvent> | (() => AsyncIterable<ImportEvent> | readonly ImportEvent[])

/** The maximum number of events in memory, so that the store can check them before it extends a session. */
const HELD_EVENTS = 20_000

/**
 * Imports the conversations of a file: checks all of it, then reads it again and stores them in order. Throws `FILE_CHANGED` when the second
 * reading differs from the first; the conversation it was storing is not stored then.
 */
export async function importConversations(
  source: Source,
  importing: Importing,
): Promise<ImportedConversation[]> {
  const { input, options, path } = importing
  const conversations = await checkFile(source, importing)
  const looks = unreadableLook(source, conversations)
  if (looks !== undefined) throw new UndertextError('FILE_UNRECOGNIZED', { file: path, looks })
  const names = sessionNames(conversations, input.name, options)
  importing.onWrite()
  const writer = new FileWriter(source, importing)
  const done: ImportedConversation[] = []
  try {
    for (const [i, checked] of conversations.entries())
      done.push(await writer.write(checked, names[i]!, conversations.length === 1))
    return done
  } catch (error) {
    throw withCount(error, path, options.signal, done)
  } finally {
    await writer.close()
  }
}

function whyOf(error: UndertextError): string {
  return isUndertextError(error, 'SESSION_EXISTS') ? nameTaken(error.facts.sessionId) : error.message
}

class FileWriter {
  readonly #source: Source
  readonly #importing: Importing
  readonly #cursor: EventCursor
  #messages = 0
  /** The places of the conversation's bookkeeping rows. */
  #silent: number[] = []

  constructor(source: Source, importing: Importing) {
    this.#source = source
    this.#importing = importing
    this.#cursor = this.#open()
  }

  async write(checked: CheckedConversation, name: string, isOnly: boolean): Promise<ImportedConversation> {
    const { skipBad, dryRun } = this.#importing.options
    const why = refused(checked, skipBad)
    if (why !== undefined || checked.messages === 0) {
      if (!isOnly) await this.#next()
      return outcomeOf(name, checked, why === undefined ? { status: 'empty' } : { status: 'refused', why })
    }
    const events = isOnly ? () => this.#afresh() : await this.#held()
    try {
      const done = await this.#importAs(name, checked, events)
      const { sessionId } = done
      const counts = this.#countsOf(done)
      const isNew = !dryRun && done.status !== 'unchanged'
      const visible = isNew
        ? (await this.#importing.store.sessions.get(sessionId, { counts: true })).counts.visible
        : undefined
      const outcome = dryRun
        ? ({ status: 'checked', ...counts } as const)
        : { ...done, ...counts, ...(visible !== undefined && { visible }) }
      return outcomeOf(sessionId, checked, outcome, skipBad)
    } catch (error) {
      if (!isUndertextError(error) || !OF_CONVERSATION.has(error.code)) throw error
      return outcomeOf(name, checked, { status: 'refused', why: whyOf(error), code: error.code })
    }
  }

  /** The numbers of messages and bookkeeping rows. Existing ones precede new ones. */
  #countsOf({ messages, existing }: SessionImport): {
    readonly messages: number
    readonly existing: number
    readonly bookkeeping: number
  } {
    const silent = this.#silent.length
    const before = this.#silent.filter((ordinal) => ordinal <= existing).length
    const bookkeeping = Math.min(silent - before, messages)
    return { messages: messages - bookkeeping, existing: existing - before, bookkeeping }
  }

  close(): Promise<void> {
    return this.#cursor.close()
  }

  /** Stores it under its id, or under its alternative id if the first belongs to another conversation. */
  async #importAs(name: string, checked: CheckedConversation, events: Events): Promise<SessionImport> {
    const other = otherName(checked, this.#importing.options)
    try {
      return await this.#import(name, checked, events)
    } catch (error) {
      const isTaken = isUndertextError(error, 'SESSION_EXISTS') && typeof events === 'function'
      if (other === undefined || !isTaken) throw error
      return this.#import(other, checked, events)
    }
  }

  #import(name: string, { mark }: CheckedConversation, events: Events): Promise<SessionImport> {
    const { store, options } = this.#importing
    const { owner, actor, reason, signal, dryRun } = options
    return store.sessions.import(events, {
      id: name,
      source: this.#source.name,
      dryRun,
      ...(owner !== undefined && { owner }),
      ...(actor !== undefined && { actor }),
      ...(reason !== undefined && { reason }),
      ...(signal !== undefined && { signal }),
      beforePublish: () => {
        if (this.#importing.input.mark() !== mark) throw this.#changed()
      },
    })
  }

  /** The only conversation of a file, from its beginning. */
  async *#afresh(): AsyncGenerator<ImportEvent, void, undefined> {
    const cursor = this.#open()
    try {
      if (!(await cursor.next())) throw this.#changed()
      this.#messages = 0
      yield* this.#stored(cursor.rest())
    } finally {
      await cursor.close()
    }
  }

  /** One of several conversations: all of its events, or for a long one the events as they are read. */
  async #held(): Promise<AsyncIterable<ImportEvent> | (() => readonly ImportEvent[])> {
    await this.#next()
    const rest = this.#stored(this.#cursor.rest())
    const held: ImportEvent[] = []
    while (held.length < HELD_EVENTS) {
      const { done, value } = await rest.next()
      if (done === true) return () => held
      held.push(value)
    }
    return followedBy(held, rest)
  }

  async #next(): Promise<void> {
    if (!(await this.#cursor.next())) throw this.#changed()
  }

  async *#stored(events: AsyncIterable<SourceEvent>): AsyncGenerator<ImportEvent, void, undefined> {
    const stored = new StoredEvents()
    let ordinal = 0
    let isTitled = false
    let typed: string | undefined
    this.#silent = []
    for await (const event of events) {
      const taken = stored.take(event)
      if (taken === undefined) continue
      if (taken.type === 'fields') isTitled ||= taken.title !== undefined
      if (event.type === 'message' && event.added !== true) typed ??= titleOfMessage(event.message)
      if (taken.type === 'message') {
        ordinal += 1
        if (isSilent(taken.message)) this.#silent.push(ordinal)
        this.#importing.onMessages(++this.#messages)
      }
      yield taken
    }
    if (!isTitled && typed !== undefined) yield { type: 'fields', title: typed }
  }

  #open(): EventCursor {
    const { input, options } = this.#importing
    return new EventCursor(this.#source.read(input, options))
  }

  #changed(): UndertextError<'FILE_CHANGED'> {
    return new UndertextError('FILE_CHANGED', { file: this.#importing.path, imported: 0 })
  }
}

/** A title from a message that a user typed. */
function titleOfMessage(message: NewMessage): string | undefined {
  if (message.role !== 'user') return undefined
  for (const part of partsOf(message)) {
    const typed = part.type === 'text' ? typedText(part.text) : ''
    const title = typed === '' ? undefined : titleOf(titleFrom(typed))
    if (title !== undefined) return title
  }
  return undefined
}

async function* followedBy<T>(
  held: readonly T[],
  rest: AsyncIterable<T>,
): AsyncGenerator<T, void, undefined> {
  yield* held
  yield* rest
}
