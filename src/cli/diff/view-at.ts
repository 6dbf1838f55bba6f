import type { Part, StoredMessage } from '../../messages/message.ts'
import { withReplacements } from '../../messages/overlay.ts'
import { dependsOn } from '../../model/nesting.ts'
import type { Compaction } from '../../storage/storage.ts'

/** What a compaction shows in place of a part; `null`: the original itself. */
export type ReplacementText = {
  readonly compactionId: string
  readonly messageId: string
  readonly part: number
  readonly text: string | null
}

/** All that is stored of a session. Rows in the order of the view, compactions in the order they first came into force. */
export type StoredHistory = {
  readonly rows: readonly StoredMessage[]
  readonly compactions: readonly Compaction[]
  readonly replacements: readonly ReplacementText[]
}

/** A row as a view shows it. */
export type SeenRow = { readonly row: StoredMessage; readonly content: string | readonly Part[] }

/** The view a set of compactions gives: a function of the rows and that set, and of nothing else. */
export function viewAt(history: StoredHistory, inForce: ReadonlySet<string>): SeenRow[] {
  const active = history.compactions.filter(({ id }) => inForce.has(id))
  const hidden = hiddenRows(active)
  const ordinals = ordinalsOf(history.compactions)
  const shown = shownTexts(active, history.replacements)
  return history.rows.flatMap((row) => {
    const insertedBy = row.condenseId ?? row.truncationId
    if (row.kind !== 'message' && (insertedBy === undefined || !inForce.has(insertedBy))) return []
    const isHidden =
      row.position === undefined
        ? hidden.ordinals.has(ordinals.get(row.id) ?? -1)
        : hidden.positions.has(row.position)
    if (isHidden) return []
    const texts = shown.get(row.id)
    return {
      row,
      content: texts === undefined ? row.content : withReplacements(row.content, (part) => texts.get(part)),
    }
  })
}

function hiddenRows(active: readonly Compaction[]) {
  const positions = new Set<number>()
  const ordinals = new Set<number>()
  for (const { coverage } of active) {
    for (const [from, to] of coverage.hidden.positions)
      for (let position = from; position <= to; position += 1) positions.add(position)
    for (const { ordinal } of coverage.hidden.inserted) ordinals.add(ordinal)
  }
  return { positions, ordinals }
}

/** Inserted rows by their ids, as coverage names them. */
function ordinalsOf(compactions: readonly Compaction[]): ReadonlyMap<string, number> {
  return new Map(
    compactions.flatMap(({ coverage: { inserted }, insertedIds }) =>
      inserted === undefined ? [] : insertedIds.map((id) => [id, inserted.ordinal] as const),
    ),
  )
}

/** The newest text in force of each part, by row and part. */
function shownTexts(
  active: readonly Compaction[],
  replacements: readonly ReplacementText[],
): ReadonlyMap<string, ReadonlyMap<number, string>> {
  const ranks = new Map(active.map(({ id }, rank) => [id, rank] as const))
  const inOrder = replacements
    .filter(({ compactionId }) => ranks.has(compactionId))
    .sort((a, b) => ranks.get(a.compactionId)! - ranks.get(b.compactionId)!)
  const shown = new Map<string, Map<number, string>>()
  for (const { messageId, part, text } of inOrder) {
    const parts = shown.get(messageId) ?? new Map<number, string>()
    shown.set(messageId, parts)
    if (text === null) parts.delete(part)
    else parts.set(part, text)
  }
  return shown
}

/** Ids of the compactions in force that build on some, those on these, and so on. */
export function dependentsOf(compactions: readonly Compaction[], targets: ReadonlySet<string>): string[] {
  const nested = compactions.map((one, rank) => ({ ...one, no: rank, rank }))
  const taken = nested.filter(({ id }) => targets.has(id))
  const found: string[] = []
  // In the order they came into force, so that one pass meets everybody behind those it builds on.
  for (const candidate of nested) {
    if (candidate.status !== 'active' || targets.has(candidate.id)) continue
    if (!taken.some((earlier) => dependsOn(candidate, earlier))) continue
    taken.push(candidate)
    found.push(candidate.id)
  }
  return found
}
