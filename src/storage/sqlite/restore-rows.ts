import { UndertextError } from '../../errors.ts'
import { stringifyJson } from '../../messages/json.ts'
import { type NewMessage, partsOf } from '../../messages/message.ts'
import { indexMessage } from '../../model/message-parts.ts'
import type { Estimator } from '../../tokens/estimators/estimator-schema.ts'
import { type ReplacementRecord, type RowRecord, recordId } from '../records/records.ts'
import { Hiding, type RowTags, withBytes } from '../records/row-fields.ts'
import type { RestoredRow, Restoring } from '../storage.ts'
import type { Connection } from './connection.ts'
import { sqliteCode } from './connection.ts'
import { type EncodedContent, encodeContent, keepBlobs, ORIGINAL } from './content-codec.ts'
import { savedOf, showing } from './recount.ts'
import { encodeFlags, encodeKind, encodeRole, encodeTools } from './row-codec.ts'
import { requireStaged } from './staging.ts'

/** What a row's columns are made of, worked out before the write lock is taken. */
type Prepared = {
  readonly row: RowRecord
  readonly encoded: EncodedContent
  readonly index: ReturnType<typeof indexMessage>
  readonly tags: RowTags
  readonly replacements: readonly PreparedReplacement[]
  readonly shown: ReturnType<typeof showing>
}

type PreparedReplacement = Parameters<typeof showing>[1][number] & { readonly text: string | null }

/** Coverage by the head it is of: a restore asks for each of its batches. */
const hidings = new WeakMap<Restoring['head'], Hiding>()

function hidingOf({ head }: Restoring): Hiding {
  const known = hidings.get(head) ?? new Hiding(head.compactions)
  hidings.set(head, known)
  return known
}

/** Writes rows with the tags they have, what is shown in place of their parts, and their blobs. Throws `MESSAGE_ID_TAKEN`. */
export function restoreRows(
  connection: Connection,
  restoring: Restoring,
  rows: readonly RestoredRow[],
  estimator: Estimator,
): void {
  const byId = new Map(restoring.head.compactions.map(({ id }, index) => [id, index] as const))
  const prepared = rows.map((row) => prepare(restoring, row, byId, estimator))
  connection.write('restoreSession', () => {
    const { no } = requireStaged(connection, restoring.stagedId)
    for (const one of prepared) insertRow(connection, restoring, no, one)
    connection.run('update undertext_sessions set updated_at = ? where no = ?', Date.now(), no)
  })
}

function prepare(
  restoring: Restoring,
  { row, replacements }: RestoredRow,
  byId: ReadonlyMap<string, number>,
  estimator: Estimator,
): Prepared {
  const content = withBytes(row.content as NewMessage['content'], row.bytes ?? [])!
  const encoded = encodeContent(content)
  const index = indexMessage({ content }, estimator, encoded.inputJson)
  const parts = partsOf({ content })
  const laid = replacements.map(({ compaction, part, text }: ReplacementRecord) => {
    const at = byId.get(compaction)!
    const active = restoring.head.compactions[at]!.status === 'active'
    const saved = savedOf(parts[part], text, estimator)
    return { compaction: restoring.firstNo + at, part, text, saved, active, isOriginal: text === null }
  })
  const tags = hidingOf(restoring).tagsOf(row)
  return { row, encoded, index, tags, replacements: laid, shown: showing(index, laid) }
}

function insertRow(connection: Connection, restoring: Restoring, session: number, prepared: Prepared): void {
  const { row, encoded, index, tags, shown, replacements } = prepared
  const { shownSizes: sizes } = shown
  const noOf = (at: number | undefined): number | null => (at === undefined ? null : restoring.firstNo + at)
  const isMessage = row.type === 'message'
  try {
    const key = connection.insert(
      `insert into undertext_messages (session, anchor, ordinal, position, kind, role, flags, id, size_text, size_reasoning,
         size_calls, size_results, size_media, tools, created_at, idempotency_key, inserted_by, condense_parent,
         truncation_parent, retired_by, pinned, shown)
       values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      session,
      isMessage ? row.position : row.anchor,
      isMessage ? 0 : row.ordinal,
      isMessage ? row.position : null,
      encodeKind(row.type),
      encodeRole(row.role),
      encodeFlags(index),
      isMessage ? (row.id ?? null) : null,
      sizes.text,
      sizes.reasoning,
      sizes.toolCalls,
      sizes.toolResults,
      sizes.media,
      encodeTools(index),
      row.createdAt,
      isMessage ? (row.idempotencyKey ?? null) : null,
      isMessage ? null : noOf(hidingOf(restoring).inserterOf(row.ordinal)),
      noOf(tags.condenseParent),
      noOf(tags.truncationParent),
      noOf(tags.retiredBy),
      row.pinned === true ? 1 : 0,
      shown.shown,
    )
    connection.run(
      'insert into undertext_contents (key, content, metadata, blobs) values (?, ?, ?, ?)',
      key,
      encoded.content,
      row.metadata === undefined ? null : stringifyJson(row.metadata),
      encoded.blobs,
    )
    for (const replacement of replacements) insertReplacement(connection, key, replacement)
  } catch (error) {
    if (sqliteCode(error) !== 'SQLITE_CONSTRAINT_UNIQUE') throw error
    const messageId = recordId(restoring.head.session.incarnation, row)
    throw new UndertextError('MESSAGE_ID_TAKEN', { sessionId: restoring.head.session.id, messageId })
  }
  keepBlobs(connection, encoded.bytes)
}

function insertReplacement(
  connection: Connection,
  key: number,
  { compaction, part, text, saved }: PreparedReplacement,
): void {
  connection.run(
    `insert into undertext_replacements (compaction, message, part, text, saved_text, saved_reasoning, saved_results, saved_media)
     values (?, ?, ?, ?, ?, ?, ?, ?)`,
    compaction,
    key,
    part,
    text === null ? ORIGINAL : JSON.stringify(text),
    saved.text,
    saved.reasoning,
    saved.toolResults,
    saved.media,
  )
}
