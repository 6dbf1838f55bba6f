import { type ErrorCode, isUndertextError, UndertextError } from '../core/errors.ts'
import { typedText } from '../core/messages/client-markup.ts'
import { defined } from '../core/messages/json.ts'
import { isSilent, type NewMessage, type PositionRange, partsOf } from '../core/messages/message.ts'
import { messageProblem } from '../core/messages/message-check.ts'
import { titleFrom } from '../core/messages/title.ts'
import type {
  CompactionEvent,
  ImportEvent,
  MessageEvent,
  SessionImport,
} from '../store/history/import/import-types.ts'
import {
  type CheckedConversation,
  type ImportedConversation,
  type Importing,
  type ImportNote,
  type ImportProblem,
  MAX_LISTED,
  outcomeOf,
  refused,
  withCount,
} from './import-report.ts'
import { nameTaken, otherName, sessionNames } from './session-rows.ts'
import type { ConversationEvent, FileInput, PlacedMessage, Source, SourceEvent } from './source.ts'
import { titleOf } from './sources/fields.ts'

/**
 * Yields the events of one conversation that are stored, that is, without notes, problems and messages that the store would reject. The
 * coverage of compactions is renumbered to skip the latter.
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

  /** Returns the number of omitted messages before an ordinal. */
  #leftBefore(ordinal: number): number {
    let count = 0
    while (count < this.#left.length && this.#left[count]! < ordinal) count += 1
    return count
  }
}

/** Errors of a single conversation that don't affect the others. */
const CONVERSATION_ERRORS: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'INVALID_INPUT',
  'SESSION_EXISTS',
  'IMPORT_DIVERGED',
  'IDEMPOTENCY_CONFLICT',
  'MESSAGE_ID_TAKEN',
  'POSITION_CONFLICT',
])

type Events = AsyncIterable<ImportEvent> | (() => AsyncIterable<ImportEvent> | readonly ImportEvent[])

/** The maximum number of events held in memory so that the store can check them before it extends a session. */
const HELD_EVENTS = 20_000

/**
 * Imports the conversations of a file: checks all of it, then reads it again and stores them in order. Throws `FILE_CHANGED` if the second
 * reading differs from the first; the current conversation isn't stored then.
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
      if (dryRun) return outcomeOf(sessionId, checked, { status: 'checked', ...counts }, skipBad)
      const isNew = done.status !== 'unchanged'
      const session = isNew && (await this.#importing.store.sessions.get(sessionId, { counts: true }))
      const visible = session ? { visible: session.counts.visible } : {}
      return outcomeOf(sessionId, checked, { ...done, ...counts, ...visible }, skipBad)
    } catch (error) {
      if (!isUndertextError(error) || !CONVERSATION_ERRORS.has(error.code)) throw error
      return outcomeOf(name, checked, { status: 'refused', why: whyOf(error), code: error.code })
    }
  }

  /** Returns the numbers of messages and bookkeeping rows. Existing ones precede new ones. */
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

  /** Stores the conversation under its id, or under its alternative id if the first belongs to another conversation. */
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
      ...defined({ owner, actor, reason, signal }),
      beforePublish: () => {
        if (this.#importing.input.mark() !== mark) throw this.#changed()
      },
    })
  }

  /** Yields the only conversation of a file, from its beginning. */
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

  /** Returns one of several conversations: all of its events or, for a long conversation, the events as they are read. */
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

type Open = {
  -readonly [K in Exclude<keyof CheckedConversation, 'problems' | 'notes'>]: CheckedConversation[K]
} & {
  readonly problems: ImportProblem[]
  readonly notes: ImportNote[]
}

/** Reads a file to its end and collects its contents by conversation. */
export async function checkFile(
  source: Source,
  { input, options, onMessages }: Importing,
): Promise<CheckedConversation[]> {
  const checked = new Conversations(input, onMessages)
  for await (const event of inConversations(source.read(input, options))) checked.take(event)
  return checked.end()
}

class Conversations {
  readonly #input: FileInput
  readonly #onMessages: (count: number) => void
  readonly #done: CheckedConversation[] = []
  #open: Open | undefined
  #messages = 0
  #problems = 0
  #notes = 0

  constructor(input: FileInput, onMessages: (count: number) => void) {
    this.#input = input
    this.#onMessages = onMessages
  }

  take(event: SourceEvent): void {
    if (event.type === 'conversation') this.#begin(event)
    else if (event.type === 'problem') this.#problem({ ...event.at, why: event.why })
    else if (event.type === 'note') this.#note({ ...event.at, kind: event.kind, why: event.why })
    else if (event.type === 'message') this.#message(event)
  }

  end(): CheckedConversation[] {
    if (this.#open !== undefined) this.#close()
    return this.#done
  }

  #begin({ id, otherwise, branchOf }: ConversationEvent): void {
    if (this.#open !== undefined) this.#close()
    this.#open = {
      id,
      otherwise,
      branchOf,
      messages: 0,
      sent: 0,
      unread: undefined,
      problemCount: 0,
      noteCount: 0,
      problems: [],
      notes: [],
      mark: '',
    }
  }

  #message(event: PlacedMessage): void {
    const why = storable(event)
    if (why !== undefined) {
      this.#problem({ ...event.at, why })
      return
    }
    this.#open!.messages += 1
    if (!isSilent(event.message)) this.#open!.sent += 1
    this.#open!.unread ??= event.unread
    this.#onMessages(++this.#messages)
  }

  #note(note: ImportNote): void {
    const here = this.#open!
    here.noteCount += 1
    if (++this.#notes <= MAX_LISTED) here.notes.push(note)
  }

  #problem(problem: ImportProblem): void {
    const here = this.#open!
    here.problemCount += 1
    if (++this.#problems <= MAX_LISTED) here.problems.push(problem)
  }

  #close(): void {
    const open = this.#open!
    open.mark = this.#input.mark()
    this.#done.push(open)
    this.#open = undefined
  }
}

/** Returns a description of a file without any readable message; `undefined` for any other file. */
function unreadableLook(
  { title }: Pick<Source, 'title'>,
  conversations: readonly CheckedConversation[],
): string | undefined {
  const unread = conversations.find((one) => one.unread !== undefined)?.unread
  if (unread === undefined || conversations.some(({ sent }) => sent > 0)) return undefined
  const fields = unread.length === 0 ? '' : `; they have the fields ${unread.join(', ')}`
  return `${title}, but none of its messages can be read${fields}`
}

/** Returns why the store would reject a message, or `undefined`. */
function storable({ message }: MessageEvent): string | undefined {
  const problem = messageProblem(message)
  if (problem === undefined) return undefined
  return problem.startsWith('.') ? `message${problem}` : `message ${problem}`
}

/** Reads the events of a file conversation by conversation. */
class EventCursor {
  readonly #events: AsyncIterator<SourceEvent>
  /** The event after the current conversation: the beginning of the next one. */
  #ahead: SourceEvent | undefined
  #isOver = false

  constructor(events: AsyncIterable<SourceEvent>) {
    this.#events = inConversations(events)[Symbol.asyncIterator]()
  }

  /** Moves to the next conversation, skipping the rest of the current one; returns `false` if there is none. */
  async next(): Promise<boolean> {
    while (this.#ahead === undefined && !this.#isOver) await this.#read()
    const isThere = this.#ahead !== undefined
    this.#ahead = undefined
    return isThere
  }

  async *rest(): AsyncGenerator<SourceEvent, void, undefined> {
    for (;;) {
      const event = await this.#read()
      if (event === undefined) return
      yield event
    }
  }

  async close(): Promise<void> {
    await this.#events.return?.()
  }

  async #read(): Promise<SourceEvent | undefined> {
    if (this.#ahead !== undefined || this.#isOver) return undefined
    const { done, value } = await this.#events.next()
    if (done === true) this.#isOver = true
    else if (value.type === 'conversation') this.#ahead = value
    else return value
    return undefined
  }
}

/** Yields events, starting with a conversation, because earlier events belong to it. */
async function* inConversations(
  events: AsyncIterable<SourceEvent>,
): AsyncGenerator<SourceEvent, void, undefined> {
  let before: SourceEvent[] | undefined = []
  for await (const event of events) {
    if (before !== undefined) {
      const isBegun = event.type === 'conversation'
      if (!isBegun && event.type !== 'message') {
        before.push(event)
        continue
      }
      yield isBegun ? event : { type: 'conversation', at: {} }
      yield* before
      before = undefined
      if (isBegun) continue
    }
    yield event
  }
  if (before === undefined || before.length === 0) return
  yield { type: 'conversation', at: {} }
  yield* before
}
