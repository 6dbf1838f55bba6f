/*
 * The session summaries of the SDK: folded from the entries by the SDK's own function, and kept in the
 * session's metadata with the position up to which they were folded. A kept summary depends on the log only, so
 * concurrent writers do no harm: an older summary is only folded from further back.
 */

import { isUndertextError } from '../../errors.ts'
import { isObject, type JsonObject } from '../../messages/json.ts'
import type { Session } from '../../storage/storage.ts'
import type { Transcript } from './entry.ts'
import { keepIn, keptOf } from './entry.ts'
import { type DeletionMark, liveAmong, marksAmong, readTranscript } from './transcript.ts'
import type { FoldSessionSummary, SessionStoreEntry, SessionSummaryEntry, TranscriptStore } from './types.ts'

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
