import type { StoredMessage } from '../../messages/message.ts'
import type { SessionStore } from './session-options.ts'

/** The reasons of rewinds that take back a history as a whole, what a compaction hid included. */
export const WHOLE_REASONS: ReadonlySet<string> = new Set([
  'openai-agents: clearSession',
  'openai-agents: replaceHistoryWithCompaction',
])

/**
 * The messages of the log that were not taken back, whatever compactions did to them: hidden by no rewind themselves, and
 * neither is the summary or marker that stands for them.
 */
export async function fullHistory(store: SessionStore, sessionId: string): Promise<StoredMessage[]> {
  const rows = await store.getMessages(sessionId)
  const compactions = await store.listCompactions(sessionId)
  const rewinds = compactions.filter(({ status, params }) => status === 'active' && params.rewind === true)
  if (rewinds.length === 0) return rows.filter(({ kind }) => kind === 'message')

  const takenBack = new Set(rewinds.map(({ id }) => id))
  // Whatever an earlier compaction hides was there when the whole history was taken back.
  const places = new Map(compactions.map(({ id }, i) => [id, i]))
  const isWhole = ({ reason }: (typeof rewinds)[number]): boolean => WHOLE_REASONS.has(reason ?? '')
  const cleared = places.get(rewinds.findLast(isWhole)?.id ?? '') ?? 0
  const inserted = new Map(rows.map((row) => [row.condenseId ?? row.truncationId, row]))
  const isGone = (row: StoredMessage): boolean => {
    const parent = row.condenseParent ?? row.truncationParent
    if (parent === undefined) return false
    if (takenBack.has(parent) || (places.get(parent) ?? cleared) < cleared) return true
    const stands = inserted.get(parent)
    return stands !== undefined && isGone(stands)
  }
  return rows.filter((row) => row.kind === 'message' && !isGone(row))
}
