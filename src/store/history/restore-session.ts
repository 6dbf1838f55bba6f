import { z } from 'zod'
import { isUndertextError, UndertextError } from '../../core/errors.ts'
import { importOwnerOption, newNameSchema } from '../../core/messages/check.ts'
import { canonicalJson } from '../../core/messages/json.ts'
import type { Finding } from '../../core/model/coverage.ts'
import { HistoryCheck } from '../../storage/records/history-check.ts'
import {
  type HistoryHead,
  type HistoryRecord,
  isRow,
  type ReplacementRecord,
  type RowRecord,
  recordId,
  type SessionRecord,
} from '../../storage/records/records.ts'
import { redactedHead, redactedRecord } from '../../storage/redacting.ts'
import type { RestoredRow, Restoring, Session, SessionFields, Storage } from '../../storage/storage.ts'
import { exportedRows } from './export-session.ts'
import { BATCH_SIZE, Batch, discardAbandoned, othersFirst, staged } from './import/staging.ts'
import { namesWithin, ownNames, Renaming } from './renamed.ts'

export const restoreSchema = z.strictObject({
  /** The id of the restored session, in place of its own. */
  id: newNameSchema.optional(),
  /** The owner of the session, in place of the owner in the history. */
  owner: importOwnerOption,
  signal: z.instanceof(AbortSignal).optional(),
})
/** Options of `sessions.import`. */
export type RestoreOptions = z.input<typeof restoreSchema>

/** The result of a restore. */
export type SessionRestore = {
  readonly sessionId: string
  /** Whether the same session already existed, so that nothing was written. */
  readonly existing: boolean
  readonly messages: number
  readonly compactions: number
}

type RestoreHost = {
  /** Returns the storage of the owner of a session. */
  readonly storageOf: (owner: string | undefined) => Storage
  /** Throws if this store can't accept the session: unknown estimator, or invalid settings. */
  readonly admit: (session: HistoryHead['session'], sessionId: string) => void
}

/** See `sessions.import` of the store. */
export async function restoreSession(
  host: RestoreHost,
  records: HistoryRecords,
  { id, owner, signal }: z.output<typeof restoreSchema>,
): Promise<SessionRestore> {
  const checked = new CheckedRecords(records)
  try {
    const given = owned(await checked.head(), owner)
    // Ids are unique for an owner; in the store of an owner, the session becomes theirs.
    const storage = host.storageOf(given.session.owner)
    const { redaction } = storage
    // An existing session is compared with what would be stored.
    const head = redaction === undefined ? given : redactedHead(redaction, given)
    const sessionId = id ?? head.session.id
    admitted(host, head, sessionId)
    const there = await storage.session(sessionId)
    const restore = new Restore(storage, checked, sessionId, signal)
    await (there === undefined ? restore.write(head) : restore.compare(head, there))
    const { session, compactions } = head
    const existing = there !== undefined
    return { sessionId, existing, messages: session.messages, compactions: compactions.length }
  } finally {
    await checked.close()
  }
}

function owned(head: HistoryHead, owner: string | undefined): HistoryHead {
  return owner === undefined ? head : { ...head, session: { ...head.session, owner } }
}

/** The session's record follows the header. */
const SESSION_LINE = 2

function admitted({ admit }: RestoreHost, { session }: HistoryHead, sessionId: string): void {
  try {
    admit(session, sessionId)
  } catch (error) {
    if (isUndertextError(error, 'INVALID_INPUT')) throw refused(SESSION_LINE, error.facts.problems)
    throw error
  }
}

class Restore {
  readonly #storage: Storage
  readonly #records: CheckedRecords
  readonly #sessionId: string
  readonly #signal: AbortSignal | undefined

  constructor(storage: Storage, records: CheckedRecords, sessionId: string, signal: AbortSignal | undefined) {
    this.#storage = storage
    this.#records = records
    this.#sessionId = sessionId
    this.#signal = signal
  }

  /** Compares an existing session with the history. Throws `SESSION_EXISTS` if it differs. */
  async compare(given: HistoryHead, { incarnation }: Session): Promise<void> {
    const candidates = [ownNames(given), namesWithin(this.#sessionId, given)]
    const names = candidates.find((one) => one.incarnation === incarnation)
    const exists = new UndertextError('SESSION_EXISTS', { sessionId: this.#sessionId })
    if (names === undefined) throw exists
    const renaming = new Renaming(given, names)
    const there = await this.#storage.histories.head(this.#sessionId)
    if (canonicalJson(there.head) !== canonicalJson(renaming.head(given, this.#sessionId))) throw exists
    const own = exportedRows(this.#storage, there)
    for await (const { record } of this.#records.rows()) {
      const { value } = await own.next()
      if (canonicalJson(value) !== canonicalJson(this.#storable(renaming.row(record)))) throw exists
    }
    if ((await own.next()).done !== true) throw exists
  }

  #storable(record: NumberedRecord['record']): NumberedRecord['record'] {
    const { redaction } = this.#storage
    return redaction === undefined ? record : redactedRecord(redaction, record)
  }

  /** Writes the history as a session that is invisible until it is complete and verified. */
  async write(given: HistoryHead): Promise<void> {
    await discardAbandoned(this.#storage)
    const [own, others] = [ownNames(given), namesWithin(this.#sessionId, given)]
    // Under another id, always use other ids: the first may be restored at the same time, with ids that aren't visible yet.
    const isOther = this.#sessionId !== given.session.id
    const incarnations = isOther ? [others.incarnation] : [own.incarnation, others.incarnation]
    const { estimator } = given.session
    const about = { fields: sessionFields(given), estimator, incarnations }
    await staged(this.#storage, this.#sessionId, about, async ({ id: importId, incarnation }) => {
      const renaming = new Renaming(given, incarnation === others.incarnation ? others : own)
      const head = renaming.head(given, this.#sessionId)
      const records = this.#numbered(head, renaming)
      const restoring = await writeHistory(this.#storage, importId, head, records, { signal: this.#signal })
      await this.#requireSound(importId)
      await this.#storage.histories.publish(restoring)
    })
  }

  async *#numbered(
    { session }: HistoryHead,
    renaming: Renaming,
  ): AsyncGenerator<NumberedRecord, void, undefined> {
    for await (const { line, record } of this.#records.rows()) {
      this.#requireForeign(line, record, session)
      yield { line, record: renaming.row(record) }
    }
  }

  /** Ids were checked against the incarnation in the file; the incarnation here may differ. */
  #requireForeign(line: number, record: NumberedRecord['record'], { incarnation }: SessionRecord): void {
    if (record.type === 'message' && record.id?.startsWith(`${incarnation}:`) === true)
      throw refused(line, 'id must not have the form of the ids that undertext assigns in this session')
  }

  async #requireSound(importId: string): Promise<void> {
    const codes = await findingsOf(this.#storage, importId)
    if (codes.length > 0) throw refused(this.#records.line, `sessions.verify reports ${codes.join(', ')}`)
  }
}

/**
 * Writes the records of a history to an import in progress, in batches. `onRows` is called with the rows of each. Throws `ABORTED`, and
 * `HISTORY_REFUSED` for a duplicate message id.
 */
export async function writeHistory(
  { histories }: Storage,
  importId: string,
  head: HistoryHead,
  records: AsyncIterable<NumberedRecord>,
  {
    signal,
    onRows,
  }: { readonly signal?: AbortSignal | undefined; readonly onRows?: (rows: readonly RestoredRow[]) => void },
): Promise<Restoring> {
  const { compactions, audit, session } = head
  const firstNo = await histories.reserve(importId, compactions.length)
  const restoring = { importId, head, firstNo }
  const batch = new Batch<NumberedRecord>()
  const flush = async (): Promise<void> => {
    if (signal?.aborted === true) throw new UndertextError('ABORTED', { sessionId: session.id })
    const rows = rowsOf(batch.take())
    if (rows.length === 0) return
    try {
      await histories.writeRows(restoring, rows)
    } catch (error) {
      throw isUndertextError(error, 'MESSAGE_ID_TAKEN') ? twice(head, rows, error.facts.messageId) : error
    }
    onRows?.(rows)
    await othersFirst()
  }
  for await (const numbered of records) {
    // A row is written together with its replacements.
    if (numbered.record.type !== 'replacement' && batch.isFull) await flush()
    batch.add(numbered)
  }
  await flush()
  const undoneWith: number[] = []
  for (let at = 0; at < audit.length; at += BATCH_SIZE) {
    for (const no of await histories.writeAudit(restoring, audit.slice(at, at + BATCH_SIZE)))
      undoneWith.push(no)
    await othersFirst()
  }
  for (let at = 0; at < compactions.length; at += BATCH_SIZE) {
    await histories.writeCompactions(restoring, at, compactions.slice(at, at + BATCH_SIZE), undoneWith)
    await othersFirst()
  }
  await histories.settle(restoring)
  return restoring
}

/** Returns the codes of a session's problems. Problems of the store aren't problems of the session. */
export async function findingsOf(storage: Storage, id: string): Promise<string[]> {
  const { findings } = await storage.verify(id, false)
  return [...new Set(findings.filter(isOfSession).map(({ code }) => code))].sort()
}

const STORE_FINDINGS: readonly Finding['code'][] = ['GUARD_MISSING', 'GUARD_CHANGED', 'FOREIGN_TRIGGER']

function isOfSession({ code }: Finding): boolean {
  return !STORE_FINDINGS.includes(code)
}

export function sessionFields({ session }: HistoryHead): SessionFields {
  const { owner, title, provider, model, config, metadata } = session
  return { owner, title, provider, model, config, metadata }
}

function twice(
  head: HistoryHead,
  rows: readonly NumberedRow[],
  messageId: string,
): UndertextError<'HISTORY_REFUSED'> {
  const { incarnation } = head.session
  const line = rows.findLast(({ row }) => recordId(incarnation, row) === messageId)?.line ?? 0
  return refused(line, 'a message with its id already exists')
}

type NumberedRow = RestoredRow & { readonly line: number }

/** Groups records into rows with their replacements. The first record must be a row. */
function rowsOf(records: readonly NumberedRecord[]): NumberedRow[] {
  const rows: (NumberedRow & { readonly replacements: ReplacementRecord[] })[] = []
  for (const { line, record } of records) {
    if (record.type === 'replacement') rows.at(-1)!.replacements.push(record)
    else rows.push({ line, row: record, replacements: [] })
  }
  return rows
}

/** The records of one history, from its header to its end. */
export type HistoryRecords = AsyncIterable<HistoryRecord> | Iterable<HistoryRecord>

/** A record after the head, with its number. */
export type NumberedRecord = { readonly line: number; readonly record: RowRecord | ReplacementRecord }

/** Returns a `HISTORY_REFUSED` error. Records count from 1, like the lines of a file with one history. */
export function refused(line: number, why: string): UndertextError<'HISTORY_REFUSED'> {
  return new UndertextError('HISTORY_REFUSED', { line, why })
}

/** Records that are checked as they arrive. Throws `HISTORY_REFUSED`, and any error of the records. */
class CheckedRecords {
  readonly #check = new HistoryCheck()
  readonly #records: AsyncGenerator<HistoryRecord, void, undefined>
  #first: HistoryRecord | undefined
  #line = 0

  constructor(records: HistoryRecords) {
    this.#records = this.#checked(records)
  }

  /** The number of records read so far. */
  get line(): number {
    return this.#line
  }

  /** Returns the records before the rows. */
  async head(): Promise<HistoryHead> {
    for (;;) {
      const next = await this.#records.next()
      const { head } = this.#check
      if (head !== undefined) {
        this.#first = next.value ?? undefined
        return head.head
      }
    }
  }

  /** Yields the rows and replacements up to the end record, which is required. */
  async *rows(): AsyncGenerator<NumberedRecord, void, undefined> {
    const first = this.#first
    if (first !== undefined && isBody(first)) yield { line: this.#line, record: first }
    for await (const record of this.#records) if (isBody(record)) yield { line: this.#line, record }
  }

  /** Stops early and closes the iterator. */
  async close(): Promise<void> {
    await this.#records.return()
  }

  async *#checked(records: HistoryRecords): AsyncGenerator<HistoryRecord, void, undefined> {
    for await (const record of records) {
      this.#line += 1
      const problem = this.#check.take(record)
      if (problem !== undefined) throw refused(this.#line, problem)
      yield record
    }
    if (!this.#check.isDone) throw refused(this.#line, 'the end record is missing')
  }
}

export function isBody(record: HistoryRecord): record is RowRecord | ReplacementRecord {
  return isRow(record) || record.type === 'replacement'
}
