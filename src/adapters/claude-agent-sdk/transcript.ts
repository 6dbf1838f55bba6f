import { isUndertextError } from '../../core/errors.ts'
import { isObject, type JsonObject } from '../../core/messages/json.ts'
import type { NewMessage, StoredMessage } from '../../core/messages/message.ts'
import type { Session } from '../../storage/storage.ts'
import { withRetries } from '../retry.ts'
import {
  deletionOf,
  entryOf,
  type FoldSessionSummary,
  keepIn,
  keptOf,
  type SessionStoreEntry,
  type SessionSummaryEntry,
  type Transcript,
  type TranscriptStore,
} from './entry.ts'

/** How often an append is retried after another writer stored one of its entries. */
const MAX_TRIES = 5

/**
 * Appends the new entries of a batch, in order, in one transaction. An entry whose `uuid` the transcript has is
 * left out, whatever its content.
 */
export async function appendNew(
  store: TranscriptStore,
  { id }: Transcript,
  session: Session,
  messages: readonly NewMessage[],
): Promise<void> {
  let fresh = firstOfEach(messages)
  // Deleted entries can come again, though their rows may still hold their keys.
  let isDoubtful = keptOf(session).deleted === true
  await withRetries(MAX_TRIES, ['IDEMPOTENCY_CONFLICT'], async () => {
    if (isDoubtful) fresh = await unknownOf(store, id, fresh)
    isDoubtful = true
    if (fresh.length > 0) await store.append(id, fresh)
  })
}

function firstOfEach(messages: readonly NewMessage[]): readonly NewMessage[] {
  const keys = new Set<string>()
  return messages.filter(({ idempotencyKey }) => {
    if (idempotencyKey === undefined) return true
    if (keys.has(idempotencyKey)) return false
    keys.add(idempotencyKey)
    return true
  })
}

/**
 * Returns the messages whose entries the transcript doesn't have, with keys that no deleted row holds. A deleted row releases its key if
 * the deletion hides the row or its replacement, but not if a truncation without a marker had hidden the row before.
 */
async function unknownOf(
  store: TranscriptStore,
  id: string,
  messages: readonly NewMessage[],
): Promise<readonly NewMessage[]> {
  const { entries, marks } = await readTranscript(store, id)
  const known = new Set(entries.map(({ entry }) => entry.uuid))
  const last = marks.findLast(({ compactionId }) => compactionId !== undefined)
  return messages.flatMap((message): NewMessage[] => {
    const { idempotencyKey } = message
    if (idempotencyKey === undefined) return [message]
    if (known.has(entryOf(message)?.uuid)) return []
    if (last === undefined) return [message]
    const [plain] = idempotencyKey.split(SUFFIX)
    return [{ ...message, idempotencyKey: `${plain}${SUFFIX}${last.position}` }]
  })
}

/** Separates a key from the position of the deletion before it. Other keys don't contain it. */
const SUFFIX = '%-'

/*
 * Which rows of a session are the transcript's entries now. Every appended row counts, whatever compactions of the store hide: they change
 * the store's view, not Claude Code's. Only a deletion removes rows, and undoing it restores them.
 */

/** The parameters of deletions. They distinguish them from other manual compactions. */
export const DELETED = { by: 'claude-agent-sdk', why: 'deleted' } as const

/** The mark at the end of deleted rows. */
export type DeletionMark = {
  readonly position: number
  /** The name that the deletions of one call share. */
  readonly deletion: string
  /** The compaction that hides it; absent when the deletion was undone, or was never completed. */
  readonly compactionId?: string
}

/** A row of a transcript that is not deleted. */
type LiveEntry = {
  readonly position: number
  readonly entry: SessionStoreEntry
}

/**
 * The marks among some rows, in order, and which of them are in force. A mark that another compaction hides no longer has an effect: its
 * own deletion was undone before, and the later deletion also covers the rows before it.
 */
async function marksAmong(
  store: TranscriptStore,
  sessionId: string,
  rows: readonly StoredMessage[],
): Promise<DeletionMark[]> {
  const marks: DeletionMark[] = []
  for (const row of rows) {
    const { position, hidden, truncationParent: compactionId } = row
    const deletion = deletionOf(row)
    if (deletion === undefined || position === undefined) continue
    if (!hidden) marks.push({ position, deletion })
    else if (compactionId !== undefined && (await isDeletion(store, sessionId, compactionId)))
      marks.push({ position, deletion, compactionId })
  }
  return marks
}

async function isDeletion(store: TranscriptStore, sessionId: string, compactionId: string): Promise<boolean> {
  const { params } = await store.compactions.get(sessionId, compactionId)
  return params.by === DELETED.by && params.why === DELETED.why
}

/** The rows that are not deleted, in order. A repeated entry counts once, with its first content. */
function liveAmong(rows: readonly StoredMessage[], marks: readonly DeletionMark[]): LiveEntry[] {
  const live: LiveEntry[] = []
  const seen = new Set<string>()
  let next = 0
  for (const row of rows) {
    const { position } = row
    const entry = position === undefined ? undefined : entryOf(row)
    if (position === undefined || entry === undefined) continue
    // The first mark after a row decides whether it is deleted.
    while (next < marks.length && marks[next]!.position < position) next += 1
    if (marks[next]?.compactionId !== undefined) continue
    const { uuid } = entry
    if (typeof uuid === 'string' && uuid !== '') {
      if (seen.has(uuid)) continue
      seen.add(uuid)
    }
    live.push({ position, entry })
  }
  return live
}

/** A transcript as it is now. */
type Read = {
  readonly entries: readonly LiveEntry[]
  readonly marks: readonly DeletionMark[]
  /** The last position that was read. */
  readonly position: number
}

/** Reads a whole transcript. Throws `SESSION_NOT_FOUND`. */
export async function readTranscript(store: TranscriptStore, sessionId: string): Promise<Read> {
  const rows = await store.getMessages(sessionId)
  const marks = await marksAmong(store, sessionId, rows)
  const position = rows.reduce((last, row) => Math.max(last, row.position ?? 0), 0)
  return { entries: liveAmong(rows, marks), marks, position }
}

/*
 * The session summaries of the SDK: folded from the entries by the SDK's own function, and kept in the
 * session's metadata with the position up to which they were folded. A kept summary depends on the log only, so
 * concurrent writers do no harm: an older summary is only folded from further back.
 */

/** A summary as it is kept. */
type Kept = {
  /** The position up to which the log was folded. */
  readonly position: number
  /** When the session reached it, in milliseconds since 1970. */
  readonly mtime: number
  /** The marks at that time and whether they were in force, as text. */
  readonly deleted: string
  readonly data: JsonObject
}

/** The time of the last append: the time kept for the last position, else that of the session's last change. */
export function mtimeOf(session: Session): number {
  const kept = keptSummary(session)
  return kept?.position === session.messageCount ? kept.mtime : session.updatedAt
}

/** The current summary of a session. New entries are folded in, and the result is kept. */
export async function summaryOf(
  store: TranscriptStore,
  { key, id }: Transcript,
  session: Session,
  fold: FoldSessionSummary,
): Promise<SessionSummaryEntry> {
  const mtime = mtimeOf(session)
  const kept = keptSummary(session)
  const { sessionId } = key
  const isOld = kept === undefined || kept.position < session.messageCount
  const news = await newSince(store, id, session, kept)
  if (!isOld && !news.isWhole) return { sessionId, mtime, data: { ...kept.data } }
  const before = news.isWhole || kept === undefined ? undefined : { sessionId, mtime, data: { ...kept.data } }
  const summary = fold(before, { projectKey: key.projectKey, sessionId }, news.entries, { mtime })
  await keep(store, id, {
    position: news.position,
    mtime,
    deleted: news.deleted,
    data: summary.data as JsonObject,
  })
  return summary
}

type News = {
  readonly entries: SessionStoreEntry[]
  readonly position: number
  readonly deleted: string
  /** Whether these are all entries, not only those after the kept position. */
  readonly isWhole: boolean
}

async function newSince(
  store: TranscriptStore,
  id: string,
  { messageCount }: Session,
  kept: Kept | undefined,
): Promise<News> {
  if (kept !== undefined && kept.position <= messageCount && (await isInForce(store, id, kept.deleted))) {
    const rows = kept.position === messageCount ? [] : await store.getMessages(id, { after: kept.position })
    const marks = await marksAmong(store, id, rows)
    if (marks.length === 0) {
      const position = rows.reduce((last, row) => Math.max(last, row.position ?? 0), kept.position)
      const entries = liveAmong(rows, []).map(({ entry }) => entry)
      return { entries, position, deleted: kept.deleted, isWhole: false }
    }
  }
  const { entries, marks, position } = await readTranscript(store, id)
  return { entries: entries.map(({ entry }) => entry), position, deleted: marksText(marks), isWhole: true }
}

/** Marks as text: the position of each with `+` if it is in force, else `-`. */
function marksText(marks: readonly DeletionMark[]): string {
  return marks
    .map(({ position, compactionId }) => `${compactionId === undefined ? '-' : '+'}${position}`)
    .join('')
}

/** Whether the state of the kept marks is unchanged. */
async function isInForce(store: TranscriptStore, id: string, deleted: string): Promise<boolean> {
  for (const [sign, position] of deleted.matchAll(/[+-](\d+)/g)) {
    const rows = await store.getMessages(id, { after: Number(position) - 1, limit: 1 })
    if (marksText(await marksAmong(store, id, rows)) !== sign) return false
  }
  return true
}

async function keep(store: TranscriptStore, id: string, kept: Kept): Promise<void> {
  try {
    await keepIn(store, id, { summary: kept })
  } catch (error) {
    // It is kept for speed only: a read-only or busy store folds again next time.
    if (!isUndertextError(error)) throw error
  }
}

function keptSummary(session: Session): Kept | undefined {
  const { summary } = keptOf(session)
  if (!isObject(summary)) return undefined
  const { position, mtime, deleted, data } = summary
  if (typeof position !== 'number' || typeof mtime !== 'number' || typeof deleted !== 'string')
    return undefined
  return isObject(data) ? { position, mtime, deleted, data: data as JsonObject } : undefined
}
