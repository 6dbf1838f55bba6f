import { z } from 'zod'
import { check, nameSchema, ownerOption } from '../core/messages/check.ts'
import { defined, parsedJson } from '../core/messages/json.ts'
import type { Message } from '../core/messages/message.ts'
import { type HistoryHead, isRow, type RowRecord, recordId } from '../storage/records/records.ts'
import { withBytes } from '../storage/records/row-fields.ts'
import { Counts, Redaction } from '../storage/redaction.ts'
import { REQUEST_TEXTS } from '../storage/requests.ts'
import type { Redactions, Storage } from '../storage/storage.ts'
import { found, type StoreContext, sessionsIn } from './context.ts'
import { exportedRows } from './history/export-session.ts'

/* Reports what a redaction would find in a store that was written without it: kinds, numbers and places, never the texts. */

export const scanSchema = z
  .strictObject({
    /** Only this session. */
    session: nameSchema.optional(),
    /** Only the sessions and notes of this owner. */
    owner: ownerOption,
  })
  .refine(({ session, owner }) => session === undefined || owner === undefined, 'name a session or an owner')

/** Options of `privacy.scan`: a session or an owner. Default: everything. */
export type ScanOptions = z.input<typeof scanSchema>

export const SCANNED_PLACES = [
  'message',
  'summary',
  'replacement',
  'compaction',
  'request',
  'note',
  'session',
  'audit',
] as const

/** A place with texts that a redaction would replace. */
export type ScannedText = {
  /** The session; absent for a note of an owner. */
  readonly sessionId?: string
  /** The owner of a note. */
  readonly owner?: string
  /**
   * What has the texts: a message; a summary or marker; a text shown in place of a part; the reason or settings of a compaction; a recorded
   * request; a note; the title, settings or metadata of a session; or an entry of its audit.
   */
  readonly place: (typeof SCANNED_PLACES)[number]
  /** The id of the message, row, compaction or note; the number of the request or the entry. Absent for a session. */
  readonly id?: string
  /** The index of the part; absent for the metadata of a message, and for all other places. */
  readonly part?: number
  /** The number of texts by kind. */
  readonly found: Redactions
}

const MAX_NOTES = 10_000

/** See `Privacy.scan`. */
export async function* scan(
  context: StoreContext,
  options: ScanOptions = {},
): AsyncGenerator<ScannedText, void, undefined> {
  const { session, owner } = check(scanSchema, options, 'privacy.scan')
  const storage = context.storageOf(owner)
  const redaction = storage.redaction ?? (await redactionOfSecrets())
  if (session !== undefined) {
    yield* new Scan(storage, redaction).session(found(await storage.session(session), session).id)
    return
  }
  for await (const listed of sessionsIn(storage)) {
    // Two owners may have a session with the same id.
    const own = context.owner === undefined ? storage.seenBy(listed.owner ?? null) : storage
    yield* new Scan(own, redaction).session(listed.id)
  }
  const owners = owner === undefined ? await storage.removals.noteOwners() : [owner]
  for (const one of owners) yield* new Scan(storage, redaction).owner(one)
}

/** The rules are loaded when they are needed. */
async function redactionOfSecrets(): Promise<Redaction> {
  const { redactSecrets } = await import('../core/secrets/redact-secrets.ts')
  return new Redaction([redactSecrets], { sealed: 'drop', opaque: 'keep' })
}

class Scan {
  readonly #storage: Storage
  readonly #redaction: Redaction

  constructor(storage: Storage, redaction: Redaction) {
    this.#storage = storage
    this.#redaction = redaction
  }

  /** A session that is removed in the meantime has nothing. */
  async *session(sessionId: string): AsyncGenerator<ScannedText> {
    const exported = await this.#storage.histories.head(sessionId)
    yield* this.#head(sessionId, exported.head)
    let id = ''
    for await (const record of exportedRows(this.#storage, exported)) {
      if (isRow(record)) {
        id = recordId(exported.head.session.incarnation, record)
        yield* this.#row(sessionId, id, record)
      } else if (record.text !== null) {
        yield* this.#value({ sessionId, place: 'replacement', id, part: record.part }, record.text)
      }
    }
  }

  async *owner(owner: string): AsyncGenerator<ScannedText> {
    const notes = await this.#storage.notes.list({ owner }, { limit: MAX_NOTES, all: true, key: undefined })
    for (const { id, text, metadata } of notes)
      yield* this.#value({ owner, place: 'note', id }, [text, metadata])
  }

  *#head(sessionId: string, head: HistoryHead): Generator<ScannedText> {
    const { session, compactions, audit, notes, requests } = head
    const { title, config, metadata } = session
    yield* this.#value({ sessionId, place: 'session' }, { title, config, metadata })
    for (const { id, reason, params } of compactions)
      yield* this.#value({ sessionId, place: 'compaction', id }, { reason, params })
    for (const [at, { detail }] of audit.entries())
      yield* this.#value({ sessionId, place: 'audit', id: String(at + 1) }, detail)
    for (const { id, text, metadata } of notes)
      yield* this.#value({ sessionId, place: 'note', id }, [text, metadata])
    const pieces = new Map(head.pieces.map(({ sha256, text }) => [sha256, text] as const))
    for (const [at, request] of requests.entries()) {
      const texts = REQUEST_TEXTS.map(
        (name) => request[name]?.map((hash) => pieces.get(hash) ?? '').join('') ?? '',
      )
      const values = texts.flatMap((text) => text.split('\n').map((line) => parsedJson(line) ?? line))
      yield* this.#value({ sessionId, place: 'request', id: String(at + 1) }, values)
    }
  }

  *#row(sessionId: string, id: string, row: RowRecord): Generator<ScannedText> {
    const content = withBytes(row.content as Message['content'], row.bytes ?? [])
    if (content === undefined) return
    const message: Message = { role: row.role, content, ...defined({ metadata: row.metadata }) }
    const place = row.type === 'message' ? 'message' : 'summary'
    for (const { part, found } of this.#redaction.find(message))
      yield { sessionId, place, id, ...defined({ part }), found }
  }

  *#value(where: Omit<ScannedText, 'found'>, value: unknown): Generator<ScannedText> {
    const counts = new Counts()
    this.#redaction.json(value, counts)
    if (!counts.isEmpty) yield { ...where, found: counts.found }
  }
}
