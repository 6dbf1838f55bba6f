import { type ErrorCode, isUndertextError, UndertextError } from '../errors.ts'
import type { ImportEvent } from '../import/import-event.ts'
import type { SessionImport } from '../import/import-types.ts'
import type { Store } from '../store.ts'
import type { CheckedConversation } from './check-file.ts'
import { EventCursor } from './event-cursor.ts'
import type { FileInput } from './file-input.ts'
import { withCount } from './import-error.ts'
import type { CheckedImportFile } from './import-options.ts'
import type { ImportedConversation } from './import-report.ts'
import { outcomeOf, refused } from './outcomes.ts'
import { nameTaken } from './session-names.ts'
import type { ReadOptions, Source, SourceEvent } from './source.ts'
import { StoredEvents } from './stored-events.ts'

/** What an import needs of a store. */
export type ImportStore = Pick<Store, 'importSession' | 'restoreSession' | 'getSession'>

export type Writing = {
  readonly store: ImportStore
  readonly path: string
  readonly input: FileInput
  readonly source: Source
  readonly reading: ReadOptions
  readonly options: CheckedImportFile
  readonly onMessages: (count: number) => void
}

/** Errors that say a conversation cannot be stored, and nothing of the others. */
const OF_CONVERSATION: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'INVALID_INPUT',
  'SESSION_EXISTS',
  'IMPORT_DIVERGED',
  'IDEMPOTENCY_CONFLICT',
  'MESSAGE_ID_TAKEN',
  'POSITION_CONFLICT',
])

/** Most events of a conversation that are held, so that the store can look at them before it writes to a session there is. */
const HELD_EVENTS = 20_000

/**
 * Reads a file that was checked once more and stores its conversations under `names`, one after the other. Throws `FILE_CHANGED` when it reads
 * other bytes than were checked; the conversation at hand is not stored then.
 */
export async function writeFile(
  conversations: readonly CheckedConversation[],
  names: readonly string[],
  writing: Writing,
): Promise<ImportedConversation[]> {
  const writer = new FileWriter(writing)
  const done: ImportedConversation[] = []
  try {
    for (const [i, checked] of conversations.entries())
      done.push(await writer.write(checked, names[i]!, conversations.length === 1))
    return done
  } catch (error) {
    throw withCount(error, writing.path, writing.options.signal, done)
  } finally {
    await writer.close()
  }
}

function whyOf(error: UndertextError): string {
  return isUndertextError(error, 'SESSION_EXISTS') ? nameTaken(error.facts.sessionId) : error.message
}

class FileWriter {
  readonly #writing: Writing
  readonly #cursor: EventCursor
  #messages = 0

  constructor(writing: Writing) {
    this.#writing = writing
    this.#cursor = this.#open()
  }

  async write(checked: CheckedConversation, name: string, isOnly: boolean): Promise<ImportedConversation> {
    const { skipBad, dryRun } = this.#writing.options
    const why = refused(checked, skipBad)
    if (why !== undefined || checked.messages === 0) {
      if (!isOnly) await this.#next()
      return outcomeOf(name, checked, why === undefined ? { status: 'empty' } : { status: 'refused', why })
    }
    const events = isOnly ? () => this.#afresh() : await this.#held()
    try {
      const done = await this.#import(name, checked, events)
      const { messages, existing } = done
      const told = dryRun ? ({ status: 'checked', messages, existing } as const) : done
      return outcomeOf(name, checked, told, skipBad)
    } catch (error) {
      if (!isUndertextError(error) || !OF_CONVERSATION.has(error.code)) throw error
      return outcomeOf(name, checked, { status: 'refused', why: whyOf(error), code: error.code })
    }
  }

  close(): Promise<void> {
    return this.#cursor.close()
  }

  #import(
    name: string,
    { mark }: CheckedConversation,
    events: AsyncIterable<ImportEvent> | (() => AsyncIterable<ImportEvent> | readonly ImportEvent[]),
  ): Promise<SessionImport> {
    const { store, source, options } = this.#writing
    const { owner, actor, reason, signal, dryRun } = options
    return store.importSession(name, events, {
      source: source.name,
      dryRun,
      ...(owner !== undefined && { owner }),
      ...(actor !== undefined && { actor }),
      ...(reason !== undefined && { reason }),
      ...(signal !== undefined && { signal }),
      beforePublish: () => {
        if (this.#writing.input.mark() !== mark) throw this.#changed()
      },
    })
  }

  /** The one conversation of a file, from its beginning. */
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

  /** One of several conversations: all of it, or where it is long the events as they come. */
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
    for await (const event of events) {
      const taken = stored.take(event)
      if (taken === undefined) continue
      if (taken.type === 'message') this.#writing.onMessages(++this.#messages)
      yield taken
    }
  }

  #open(): EventCursor {
    const { source, input, reading } = this.#writing
    return new EventCursor(source.read(input, reading))
  }

  #changed(): UndertextError<'FILE_CHANGED'> {
    return new UndertextError('FILE_CHANGED', { file: this.#writing.path, imported: 0 })
  }
}

async function* followedBy<T>(
  held: readonly T[],
  rest: AsyncIterable<T>,
): AsyncGenerator<T, void, undefined> {
  yield* held
  yield* rest
}
