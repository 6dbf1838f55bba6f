import type { ContextStats } from '../../compaction/stats.ts'
import { isUndertextError } from '../../errors.ts'
import { listIn } from '../../messages/lists.ts'
import type { PositionRange, StoredMessage } from '../../messages/message.ts'
import type { AuditEntry, Compaction } from '../../storage/storage.ts'
import type { Store } from '../../store/store.ts'
import { sessionRows } from '../session-rows.ts'
import { standsFor } from '../stands-for.ts'
import type { DocumentSettings } from './options.ts'

/** What a document needs of a store. */
export type DocumentStore = Pick<
  Store,
  'getSession' | 'getMessages' | 'listCompactions' | 'getAuditLog' | 'getContextStats'
>

type Session = Awaited<ReturnType<DocumentStore['getSession']>>

/** A compaction by the number it has in a document, with what became of it. */
export type DocumentCompaction = {
  /** 1 for the first that was made. */
  readonly number: number
  readonly compaction: Compaction
  /** When it was undone, redone, or ended, oldest first. */
  readonly changes: readonly Pick<AuditEntry, 'event' | 'at' | 'actor'>[]
  /** The positions of the log it hides in the end, through all summaries beneath it. */
  readonly standsFor: readonly PositionRange[]
}

/** What a document says before the conversation. */
export type SessionDocument = {
  readonly session: Session
  /** Absent for a session without messages, and where the store was not given its estimator. */
  readonly stats: ContextStats | undefined
  readonly compactions: readonly DocumentCompaction[]
  readonly byId: ReadonlyMap<string, DocumentCompaction>
}

/** Reads what stands before the conversation. Throws `SESSION_NOT_FOUND`. */
export async function readDocument(store: DocumentStore, sessionId: string): Promise<SessionDocument> {
  const session = await store.getSession(sessionId)
  const stats = await statsOf(store, session)
  const listed = await store.listCompactions(sessionId)
  const changes = listed.length === 0 ? new Map<string, never>() : await changesOf(store, sessionId)
  const positionsOf = standsFor(listed)
  const compactions = listed.map((compaction, index) => ({
    number: index + 1,
    compaction,
    changes: changes.get(compaction.id) ?? [],
    standsFor: positionsOf(compaction),
  }))
  return { session, stats, compactions, byId: new Map(compactions.map((one) => [one.compaction.id, one])) }
}

async function statsOf(store: DocumentStore, session: Session): Promise<ContextStats | undefined> {
  try {
    return (await store.getContextStats(session.id)) ?? undefined
  } catch (error) {
    if (isUndertextError(error, 'ESTIMATOR_UNKNOWN')) return undefined
    throw error
  }
}

/** The rows of a session as it stood when the document was begun, with the texts they show. */
export function rowsOf(store: DocumentStore, session: Session): AsyncGenerator<StoredMessage> {
  return sessionRows(store, session, { shown: true })
}

/** What stands in a document's conversation: a row, or how many messages are left out there. */
type DocumentRow = StoredMessage | { readonly left: number }

/** The rows a document shows, in order. Inserted rows that are left out are not counted: they are nobody's words. */
export async function* shownRows(
  store: DocumentStore,
  session: Session,
  { hidden }: Pick<DocumentSettings, 'hidden'>,
): AsyncGenerator<DocumentRow> {
  let left = 0
  for await (const row of rowsOf(store, session)) {
    if (row.hidden && hidden === 'omit') {
      if (row.kind === 'message') left++
      continue
    }
    if (left > 0) yield { left }
    left = 0
    yield row
  }
  if (left > 0) yield { left }
}

/** Whether anything of a session was changed since the document was begun. */
export async function hasChanged(store: DocumentStore, session: Session): Promise<boolean> {
  const now = await store.getSession(session.id)
  return now.version !== session.version || now.incarnation !== session.incarnation
}

const AUDIT_PAGE = 1_000

async function changesOf(
  store: DocumentStore,
  sessionId: string,
): Promise<ReadonlyMap<string, Pick<AuditEntry, 'event' | 'at' | 'actor'>[]>> {
  const changes = new Map<string, Pick<AuditEntry, 'event' | 'at' | 'actor'>[]>()
  for (let after = 0; ; ) {
    const entries = await store.getAuditLog(sessionId, { after, limit: AUDIT_PAGE })
    for (const { event, at, actor, compactionId } of entries) {
      if (compactionId === undefined || event === 'created' || event === 'started') continue
      listIn(changes, compactionId).push({ event, at, actor })
    }
    if (entries.length < AUDIT_PAGE) return changes
    after = entries.at(-1)!.no
  }
}

/** Why a row is hidden, and by which compaction. */
type HiddenReason = { readonly why: string; readonly by: DocumentCompaction | undefined }

/** `undefined` for a row that is seen. */
export function hiddenReason(row: StoredMessage, { byId }: SessionDocument): HiddenReason | undefined {
  if (!row.hidden) return undefined
  // An inserted row whose compaction is not in force is hidden for that, whatever covered it before.
  if (row.retiredBy !== undefined)
    return { why: 'its compaction is not in force', by: byId.get(row.retiredBy) }
  if (row.condenseParent !== undefined)
    return { why: 'a summary stands for it', by: byId.get(row.condenseParent) }
  const by = byId.get(row.truncationParent!)
  return { why: by === undefined ? 'a compaction hides it' : hidingWords(by.compaction), by }
}

function hidingWords({ kind, params }: Compaction): string {
  if (kind === 'truncate') return 'it was truncated'
  if (kind !== 'manual') return 'a compaction hides it'
  return params.rewind === true ? 'it was taken back' : 'it was hidden by hand'
}

/** The compaction that inserted a row. */
export function insertedBy(row: StoredMessage, { byId }: SessionDocument): DocumentCompaction | undefined {
  return byId.get(row.condenseId ?? row.truncationId ?? '')
}

/** Where a compaction stands, in words. */
export function statusWords({ status }: Compaction): string {
  return status === 'active' ? 'in force' : status
}
