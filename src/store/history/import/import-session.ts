import { isUndertextError, UndertextError } from '../../../core/errors.ts'
import { check } from '../../../core/messages/check.ts'
import { isObject } from '../../../core/messages/json.ts'
import type { Session } from '../../../storage/storage.ts'
import { importNew, Writing } from './import-new.ts'
import type { ImportEvent, ImportEvents, ImportedCompaction, MessageEvent } from './import-types.ts'
import {
  type CheckedImport,
  checkedEvents,
  type ImportHost,
  type ImportOptions,
  importSchema,
  type SessionImport,
} from './import-types.ts'
import { Batch, discardAbandoned } from './staging.ts'

/**
 * Imports the new part of a conversation that was imported before. The session must match its beginning word for word; new messages are
 * appended, and missing fields are set. If the events can be read twice, all of them are checked before anything is written.
 *
 * Throws `SESSION_EXISTS` for a session with another conversation, `IMPORT_DIVERGED`.
 */
async function extendSession(
  host: ImportHost,
  session: Session,
  events: ImportEvents,
  options: CheckedImport,
): Promise<SessionImport> {
  const { id: sessionId, messageCount } = session
  const rewound: ImportedCompaction[] = []
  const checked = () => checkedEvents(events, sessionId, options)
  if (typeof events === 'function') {
    const known = new KnownBeginning(host, session)
    await settleAll(known, checked())
    if (!known.hasNewEvents) {
      await options.beforePublish?.()
      return { sessionId, status: 'unchanged', messages: 0, existing: known.existing, compactions: [] }
    }
    for (const each of known.rewound) rewound.push(each)
  }
  const writing = new Writing(host, sessionId, session, messageCount, options)
  await writing.compactions.takeBack(sessionId, rewound)
  const known = new KnownBeginning(host, session, writing)
  await settleAll(known, checked())
  await options.beforePublish?.()
  await writing.finish()
  const { outcomes } = writing.compactions
  const isChanged = writing.messages > 0 || outcomes.some(({ status }) => status === 'applied')
  if (isChanged) await learn(host, session, writing, options)
  await writing.recordUsage()
  return {
    sessionId,
    status: isChanged ? 'extended' : 'unchanged',
    messages: writing.messages,
    existing: writing.existing,
    compactions: outcomes,
  }
}

/**
 * Sets titles and models, which are often known only later in a conversation. The session's last change is its newest message, as after a
 * first import, not the time of this import.
 */
async function learn(
  { storage }: ImportHost,
  { id, updatedAt: before }: Session,
  { fields, writtenAt }: Writing,
  { source }: CheckedImport,
): Promise<void> {
  const session = await storage.session(id)
  const fresh = session && fields.newTo(session, source)
  const updatedAt = writtenAt === undefined ? undefined : Math.max(before, writtenAt)
  if (fresh !== undefined || updatedAt !== undefined)
    await storage.updateSession(id, { ...fresh, ...(updatedAt !== undefined && { updatedAt }) })
}

/** Returns what an import would do, without writing. Throws the errors that the import would throw for the existing session. */
async function previewImport(
  host: ImportHost,
  sessionId: string,
  events: ImportEvents,
  options: CheckedImport,
): Promise<SessionImport> {
  const session = await host.storage.session(sessionId)
  const result = { sessionId, compactions: [] }
  const checked = checkedEvents(events, sessionId, options)
  if (session === undefined) {
    let messages = 0
    for await (const event of checked) if (event.type === 'message') messages += 1
    await options.beforePublish?.()
    return { ...result, status: 'imported', messages, existing: 0 }
  }
  const known = new KnownBeginning(host, session)
  await settleAll(known, checked)
  await options.beforePublish?.()
  const { fresh, existing } = known
  return { ...result, status: fresh > 0 ? 'extended' : 'unchanged', messages: fresh, existing }
}

async function settleAll(known: KnownBeginning, events: AsyncIterable<ImportEvent>): Promise<void> {
  const batch = new Batch<ImportEvent>()
  for await (const event of events) {
    batch.add(event)
    if (batch.isFull) await known.settle(batch.take())
  }
  await known.settle(batch.take())
}

/** Passes events on to a receiver, if any, and finds where the stored part ends and the new part begins. */
class KnownBeginning {
  readonly #host: ImportHost
  readonly #session: Session
  readonly #writing: Writing | undefined
  #last = 0
  /** The first stored position that was skipped. */
  #gap: number | undefined
  #isPast = false
  #hasCompactions = false
  /** Compactions that their own system has undone. */
  readonly rewound: ImportedCompaction[] = []
  /** Number of stored messages, and of new ones. */
  existing = 0
  fresh = 0

  constructor(host: ImportHost, session: Session, writing?: Writing) {
    this.#host = host
    this.#session = session
    this.#writing = writing
  }

  /** Whether anything may have to be written. */
  get hasNewEvents(): boolean {
    return this.#isPast || this.#hasCompactions
  }

  async settle(events: readonly ImportEvent[]): Promise<void> {
    const messages = events.flatMap((event) => (event.type === 'message' ? [event.message] : []))
    const found = await this.#host.storage.knownMessages(this.#session.id, messages)
    let next = 0
    for (const event of events) {
      if (event.type === 'compaction') {
        this.#hasCompactions = true
        if (isObject(event.compaction) && event.compaction.undone === true)
          this.rewound.push(event.compaction)
      }
      if (event.type !== 'message') {
        await this.#writing?.take(event)
        continue
      }
      const known = found[next++]
      if (known === undefined) await this.#new(event)
      else await this.#known(event, known.position, known.same)
    }
  }

  async #known(event: MessageEvent, position: number, isSame: boolean): Promise<void> {
    if (!isSame) throw this.#diverged(position, 'the message there has changed')
    if (this.#isPast) throw this.#diverged(position, 'a new message now precedes it')
    if (position > this.#last + 1) this.#gap ??= this.#last + 1
    this.#last = Math.max(this.#last, position)
    this.existing += 1
    await this.#writing?.known(event, position)
  }

  async #new(event: MessageEvent): Promise<void> {
    const { id: sessionId, messageCount } = this.#session
    if (!this.#isPast && this.#last === 0 && messageCount > 0)
      throw new UndertextError('SESSION_EXISTS', { sessionId })
    if (!this.#isPast && this.#last < messageCount)
      throw this.#diverged(this.#last + 1, 'other messages were appended after the imported ones')
    if (this.#gap !== undefined)
      throw this.#diverged(this.#gap, 'the import no longer contains the message there')
    this.#isPast = true
    this.fresh += 1
    await this.#writing?.take(event)
  }

  #diverged(position: number, why: string): UndertextError<'IMPORT_DIVERGED'> {
    return new UndertextError('IMPORT_DIVERGED', { sessionId: this.#session.id, position, why })
  }
}

/** See `sessions.import` of the store. */
export async function importSession(
  host: ImportHost,
  sessionId: string,
  given: ImportEvents,
  options: ImportOptions,
): Promise<SessionImport> {
  // A list can be read twice.
  const events = Array.isArray(given) ? () => given as readonly ImportEvent[] : given
  const checked = check(importSchema, options, 'sessions.import')
  if (checked.dryRun) return previewImport(host, sessionId, events, checked)
  await discardAbandoned(host.storage)
  const there = await host.storage.session(sessionId)
  if (there !== undefined) return extendSession(host, there, events, checked)
  try {
    return await importNew(host, sessionId, events, checked)
  } catch (error) {
    // Another process created it in the meantime, perhaps from the same file.
    const made = isUndertextError(error, 'SESSION_EXISTS') && typeof events === 'function'
    const session = made ? await host.storage.session(sessionId) : undefined
    if (session === undefined) throw error
    return extendSession(host, session, events, checked)
  }
}
