import { check, newNameSchema } from '../../../core/messages/check.ts'
import { lastBlockOf } from '../../../core/messages/compaction-block.ts'
import { defined, isObject, type JsonObject } from '../../../core/messages/json.ts'
import type { NewMessage, PositionRange } from '../../../core/messages/message.ts'
import type { Session, SessionFields } from '../../../storage/storage.ts'
import { AppliedCompactions } from './applied-compactions.ts'
import type { FieldsEvent, ImportEvent, ImportEvents, MessageEvent } from './import-types.ts'
import {
  type CheckedImport,
  checkedEvents,
  fieldsEventSchema,
  type ImportHost,
  labelOf,
  type SessionImport,
} from './import-types.ts'
import {
  type ImportedUsage,
  type Names,
  UsageRecord,
  usageOfFields,
  usageOfMessage,
} from './imported-usage.ts'
import { Batch, othersFirst, staged } from './staging.ts'

/** The accumulated fields of a conversation: the last value of each wins; metadata is merged. */
class ImportedFields {
  #fields: { title?: string; provider?: string; model?: string } = {}
  #metadata: JsonObject = {}
  #createdAt: number | undefined
  #reported: Names | undefined
  readonly #formerTitles = new Set<string | undefined>()

  add(event: FieldsEvent): void {
    const { title, formerTitles, provider, model, createdAt, metadata } = check(
      fieldsEventSchema,
      event,
      'fields',
    )
    for (const former of formerTitles ?? []) this.#formerTitles.add(labelOf(former))
    const labels = { title: labelOf(title), provider: labelOf(provider), model: labelOf(model) }
    for (const [name, label] of Object.entries(labels))
      if (label !== undefined) this.#fields = { ...this.#fields, [name]: label }
    this.#metadata = { ...this.#metadata, ...metadata }
    if (createdAt !== undefined && Number.isSafeInteger(createdAt) && createdAt >= 0)
      this.#createdAt = createdAt
  }

  get createdAt(): number | undefined {
    return this.#createdAt
  }

  /** Returns the provider and model of a session: its own, else those of the conversation. */
  namesFor({ provider, model }: Names): Names {
    const own = this.#names
    if (provider === undefined && model === undefined) return own
    const isSame = provider === undefined || provider === own.provider
    return { provider, model: model ?? (isSame ? own.model : undefined) }
  }

  /** The provider and model in the fields, else those of the last usage. */
  get #names(): Names {
    const { provider, model } = this.#fields
    if (provider === undefined && this.#reported !== undefined) return this.#reported
    return { provider, model }
  }

  report({ provider, model }: ImportedUsage): void {
    if (provider !== undefined && model !== undefined)
      this.#reported = { provider: labelOf(provider), model: labelOf(model) }
  }

  /** Returns the usage of the last request, which is stored separately from the messages. */
  usage(): Promise<ImportedUsage | undefined> {
    return usageOfFields(this.#metadata)
  }

  /** Returns the fields of a session; the metadata is under the source's name. */
  fieldsFor(source: string): SessionFields {
    const isEmpty = Object.keys(this.#metadata).length === 0
    return {
      ...this.#fields,
      ...defined(this.#names),
      ...(!isEmpty && { metadata: { [source]: this.#metadata } }),
    }
  }

  /**
   * Returns the fields that a session lacks; `undefined` if it lacks none. Its own fields stay, because they may have been set here; a
   * title from the source follows the source.
   */
  newTo({ title, provider, model, metadata }: Session, source: string): SessionFields | undefined {
    const value = { ...this.#fields, ...defined(this.#names) }
    const isFree = title === undefined || this.#formerTitles.has(title)
    const isSameProvider = provider === undefined || provider === value.provider
    const there = metadata?.[source] ?? {}
    const isMore = isObject(there) && Object.keys(this.#metadata).some((name) => !Object.hasOwn(there, name))
    const fields: SessionFields = {
      ...(isFree && value.title !== undefined && value.title !== title && { title: value.title }),
      ...(model === undefined && isSameProvider && modelFields(value)),
      ...(isMore && { metadata: { ...metadata, [source]: { ...this.#metadata, ...there } } }),
    }
    return Object.keys(fields).length === 0 ? undefined : fields
  }
}

function modelFields({ provider, model }: SessionFields): SessionFields {
  if (model === undefined) return {}
  return { model, ...(provider !== undefined && { provider }) }
}

const NO_NAMES: Names = { provider: undefined, model: undefined }

/** Imports a conversation as a new session, in batches; it is invisible until it is complete. */
export function importNew(
  host: ImportHost,
  sessionId: string,
  events: ImportEvents,
  options: CheckedImport,
): Promise<SessionImport> {
  check(newNameSchema, sessionId, 'sessions.import: sessionId')
  const { owner, source, beforePublish } = options
  const { storage, estimator } = host
  return staged(
    storage,
    sessionId,
    { estimator, fields: owner === undefined ? {} : { owner } },
    async ({ id }) => {
      const writing = new Writing(host, id, NO_NAMES, 0, options)
      for await (const event of checkedEvents(events, sessionId, options)) await writing.take(event)
      await writing.finish()
      // After a change of the model, reports of earlier requests no longer count.
      const names = defined(writing.fields.namesFor(NO_NAMES))
      if (writing.hasReports && Object.keys(names).length > 0) await storage.updateSession(id, names)
      await writing.recordUsage()
      await beforePublish?.()
      const { messages, existing, compactions, fields } = writing
      const detail = {
        source,
        messages,
        compactions: compactions.outcomes.length,
        ...(options.reason !== undefined && { reason: options.reason }),
      }
      await storage.finishImport(id, sessionId, {
        fields: fields.fieldsFor(source),
        createdAt: fields.createdAt,
        updatedAt: writing.writtenAt,
        audit: { event: 'imported', actor: options.actor, detail },
      })
      return { sessionId, status: 'imported', messages, existing, compactions: compactions.outcomes }
    },
  )
}

/** Writes events to a session in order. */
export class Writing {
  readonly #host: ImportHost
  readonly #sessionId: string
  readonly #session: Names
  readonly #batch = new Batch<NewMessage>()
  #batched: (ImportedUsage | undefined)[] = []
  readonly #usage: UsageRecord
  /** The last answer that was written, and whether any message had a usage. */
  #answer: { readonly message: NewMessage; readonly position: number } | undefined
  #isReported = false
  /** The positions of the conversation's messages, by ordinal minus 1. */
  readonly #positions: number[] = []
  #position: number
  readonly compactions: AppliedCompactions
  readonly fields = new ImportedFields()
  /** The time of the newest message, if known. */
  writtenAt: number | undefined
  /** Number of messages that were written. */
  messages = 0
  /** Number of messages whose key occurred before. */
  existing = 0

  constructor(host: ImportHost, sessionId: string, session: Names, position: number, options: CheckedImport) {
    this.#host = host
    this.#sessionId = sessionId
    this.#session = session
    this.#position = position
    this.#usage = new UsageRecord(host, sessionId)
    const { source, actor, reason } = options
    this.compactions = new AppliedCompactions(host.storage, { source, actor, reason })
  }

  /** Handles the next event. Throws `INVALID_INPUT` and the storage's errors. */
  async take(event: ImportEvent): Promise<void> {
    if (event.type === 'fields') this.fields.add(event)
    else if (event.type === 'compaction') {
      await this.flush()
      const { madeAfter } = event
      const upTo = madeAfter === undefined ? undefined : (this.#positions[madeAfter - 1] ?? 0)
      await this.#usage.record(this.#names, upTo)
      await this.compactions.apply(this.#sessionId, event.compaction, (covers) => this.#positionsOf(covers))
    } else await this.#add(event)
  }

  async known(event: MessageEvent, position: number): Promise<void> {
    this.#positions.push(position)
    this.existing += 1
    const usage = await usageOf(event)
    if (usage !== undefined) this.#usage.known(usage)
  }

  get #names(): Names {
    return this.fields.namesFor(this.#session)
  }

  async #add(event: MessageEvent): Promise<void> {
    const { message } = event
    this.#batched.push(await usageOf(event))
    this.#batch.add(message)
    const { createdAt } = message
    if (createdAt !== undefined) this.writtenAt = Math.max(createdAt, this.writtenAt ?? 0)
    // A provider's compaction is recorded right after its block.
    if (this.#batch.isFull || lastBlockOf(message.content) !== undefined) await this.flush()
  }

  async finish(): Promise<void> {
    await this.flush()
    const usage = this.#answer === undefined || this.#isReported ? undefined : await this.fields.usage()
    if (usage !== undefined)
      this.#usage.add(this.#answer!.message, this.#answer!.position, usage, this.#names)
    await this.compactions.settle(this.#sessionId)
  }

  /** Whether the usage of a request still has to be recorded for the current view. */
  get hasReports(): boolean {
    return this.#usage.hasReports
  }

  /** Records the usage, once the session has its model. */
  async recordUsage(): Promise<void> {
    await this.#usage.record(this.#names)
    await this.#usage.settle()
  }

  async flush(): Promise<void> {
    const messages = this.#batch.take()
    const usages = this.#batched
    this.#batched = []
    if (messages.length === 0) return
    // A block replaces the visible rows, so compactions are settled first.
    if (messages.some(({ content }) => lastBlockOf(content) !== undefined))
      await this.compactions.settle(this.#sessionId)
    const { messages: appended } = await this.#host.storage.append(this.#sessionId, messages, this.#position)
    for (const [i, { position, existing }] of appended.entries()) {
      this.#positions.push(position)
      if (existing) this.existing += 1
      else {
        this.messages += 1
        this.#position = position
        this.#note(messages[i]!, position, usages[i])
      }
    }
    await this.#host.recordAppended(this.#sessionId, messages, appended)
    await othersFirst()
  }

  #note(message: NewMessage, position: number, usage: ImportedUsage | undefined): void {
    if (message.role === 'assistant') this.#answer = { message, position }
    if (usage === undefined) return
    this.#isReported = true
    this.fields.report(usage)
    this.#usage.add(message, position, usage, this.#names)
  }

  #positionsOf(covers: readonly PositionRange[]): PositionRange[] {
    const positions: PositionRange[] = []
    for (const [from, to] of covers)
      for (let ordinal = from; ordinal <= Math.min(to, this.#positions.length); ordinal++) {
        const position = this.#positions[ordinal - 1]!
        const last = positions.at(-1)
        if (last !== undefined && last[1] === position - 1)
          positions[positions.length - 1] = [last[0], position]
        else positions.push([position, position])
      }
    return positions
  }
}

/** Returns the usage of a message: the given one, else the one in its metadata. */
async function usageOf({ message, usage }: MessageEvent): Promise<ImportedUsage | undefined> {
  return usage === undefined ? usageOfMessage(message) : (usage ?? undefined)
}
