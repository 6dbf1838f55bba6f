import type { StoredMessage } from '../../messages/message.ts'
import type { CompactionKind } from '../../model/plan.ts'
import type { Compaction } from '../../storage/storage.ts'

/** Why a stored row is not in the view. */
export type HiddenBy = {
  /** The compaction that hides it; for a row that a compaction inserted and that is out of force, that one. */
  readonly compaction: string
  readonly kind: CompactionKind | undefined
  /** Milliseconds since 1970. */
  readonly at: number | undefined
  readonly retired: boolean
}

/** What hides a row; `undefined` for one that is visible. */
export function hiddenBy(
  row: StoredMessage,
  compactions: ReadonlyMap<string, Compaction>,
): HiddenBy | undefined {
  if (!row.hidden) return undefined
  const id = row.retiredBy ?? row.condenseParent ?? row.truncationParent
  if (id === undefined) return undefined
  const found = compactions.get(id)
  const retired = row.retiredBy !== undefined
  return { compaction: id, kind: found?.kind, at: retired ? found?.changedAt : found?.createdAt, retired }
}

const VERBS: { readonly [kind in CompactionKind]: string } = {
  prune: 'pruned',
  deduplicate: 'deduplicated',
  condense: 'condensed',
  truncate: 'truncated',
  cut: 'cut in an emergency',
  manual: 'taken out',
  provider: 'compacted by its provider',
  preview: 'shown as a preview',
}

/** What a kind of compaction does to what it covers, as a participle. */
export function doneBy(kind: CompactionKind): string {
  return VERBS[kind]
}
