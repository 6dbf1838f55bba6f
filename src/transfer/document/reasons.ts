import type { StoredMessage } from '../../messages/message.ts'
import type { Compaction } from '../../storage/storage.ts'
import type { DocumentCompaction, SessionDocument } from './session-document.ts'

/** Why a row is hidden, and by which compaction. */
export type HiddenReason = { readonly why: string; readonly by: DocumentCompaction | undefined }

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
