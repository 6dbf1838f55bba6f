import type { StoredMessage } from '../../messages/message.ts'
import type { Compaction } from '../../storage/storage.ts'

/** Why messages were set aside by the middleware, as the audit tells it. */
export const SET_ASIDE = 'the application went on from an earlier message (undertext/ai-sdk)'
/** Why an answer was hidden that came to a question which had been taken back meanwhile. */
export const CAME_LATE = 'what it answers was taken back meanwhile (undertext/ai-sdk)'

/**
 * Ids of the messages of a log that are no part of the conversation any more: a rewind took them back, or one of the two reasons above
 * hid them. Among them are those a summary or a truncation had hidden before, when what stood for them, or what stood around them, was
 * taken back. What was hidden to make room, or by hand, still is part of it.
 */
export function takenBack(
  rows: readonly StoredMessage[],
  compactions: readonly Compaction[],
): ReadonlySet<string> {
  const active = compactions.filter(({ kind, status }) => kind === 'manual' && status === 'active')
  const rewinds = active.filter(({ params }) => params.rewind === true)
  const reasons = active.filter(({ reason }) => reason === SET_ASIDE || reason === CAME_LATE)
  const ids = new Set([...rewinds, ...reasons].map(({ id }) => id))
  if (ids.size === 0) return new Set()
  const spans = rewinds.map(spanOf)
  const standing = new Map<string, StoredMessage>()
  for (const row of rows) {
    const compaction = row.condenseId ?? row.truncationId
    if (row.kind !== 'message' && compaction !== undefined) standing.set(compaction, row)
  }

  const isOut = (row: StoredMessage): boolean => {
    if (row.truncationParent !== undefined && ids.has(row.truncationParent)) return true
    const parent = row.condenseParent ?? row.truncationParent
    if (parent === undefined) return false
    const place = row.position ?? row.anchor
    if (spans.some(([from, to]) => from < place && place < to)) return true
    const inserted = standing.get(parent)
    return inserted !== undefined && isOut(inserted)
  }
  return new Set(rows.filter((row) => row.kind === 'message' && isOut(row)).map(({ id }) => id))
}

/** The first and the last position a rewind hid. */
function spanOf({ coverage }: Compaction): readonly [from: number, to: number] {
  const { positions } = coverage.hidden
  return [positions[0]?.[0] ?? 0, positions.at(-1)?.[1] ?? 0]
}
