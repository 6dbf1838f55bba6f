import { UndertextError } from '../../errors.ts'
import { type ReplacementRecord, type RowRecord, recordId } from '../records/records.ts'
import { namedTags, withoutBytes } from '../records/schemas.ts'
import type { ExportedHead, ExportedRows } from '../storage.ts'
import type { Connection, Row } from './connection.ts'
import { blobReader, damaged, decodeContent, parseReplacement, parseStoredObject } from './content-codec.ts'
import type { ExportedWithin } from './export-head.ts'
import { decodeKind, decodeRole } from './row-codec.ts'

/** Most messages of a page, and most bytes of their contents; one message may be larger. */
const MAX_ROWS = 500
const MAX_BYTES = 4_000_000

/**
 * The rows behind a position as they were when the head was read: what of them changes (pins, tags) is told by the head, all else
 * is written once. Throws `SESSION_NOT_FOUND` when the session was purged since, `STORE_CORRUPT`.
 */
export function exportRows(connection: Connection, exported: ExportedHead, after: number): ExportedRows {
  return connection.read('exportSession', () => {
    const { session } = exported.head
    const { no } = exported.within as ExportedWithin
    requireSame(connection, exported)
    const last = lastOfPage(connection, no, after, session.messages)
    const rows = readRows(connection, exported, after, last)
    const replacements = readReplacements(connection, exported, rows)
    const reader = rowReader(connection, exported)
    const records = rows.flatMap((row) => {
      const record = reader(row)
      const id = recordId(session.incarnation, record)
      const shown = replacements.get(row[0] as number) ?? []
      return [record, ...shown.map((one): ReplacementRecord => ({ ...one, message: id }))]
    })
    return { records, next: last >= session.messages ? undefined : last }
  })
}

function requireSame(connection: Connection, { head, within }: ExportedHead): void {
  const { id, incarnation, messages } = head.session
  const row = connection.get(
    'select no, messages from undertext_sessions where id = ? and incarnation = ?',
    id,
    incarnation,
  )
  if (row?.[0] !== (within as ExportedWithin).no)
    throw new UndertextError('SESSION_NOT_FOUND', { sessionId: id })
  if ((row[1] as number) < messages)
    throw new UndertextError('STORE_CORRUPT', { detail: `messages of session ${id} are missing` })
}

/** The last position of a page. Sizes are told without reading the contents. */
function lastOfPage(connection: Connection, no: number, after: number, messages: number): number {
  const sizes = connection.all(
    `select m.position, octet_length(c.content) + ifnull(octet_length(c.metadata), 0)
       + iif(c.blobs is null, 0, (select total(octet_length(b.bytes)) from json_each(c.blobs) p
           join undertext_blobs b on b.hash = unhex(p.value ->> 2)))
       + (select total(octet_length(r.text)) from undertext_replacements r where r.message = m.key)
     from undertext_messages m join undertext_contents c on c.key = m.key
     where m.session = ? and m.position > ? and m.position <= ? order by m.position limit ?`,
    no,
    after,
    messages,
    MAX_ROWS,
  )
  let bytes = 0
  let last = after
  for (const [position, size] of sizes) {
    bytes += size as number
    if (bytes > MAX_BYTES && last !== after) return last
    last = position as number
  }
  return sizes.length < MAX_ROWS ? messages : last
}

const COLUMNS = `m.key, m.kind, m.role, m.position, m.anchor, m.ordinal, m.id, m.created_at, m.idempotency_key, c.content,
  c.metadata, c.blobs, m.inserted_by`
const ROWS = `select ${COLUMNS} from undertext_messages m join undertext_contents c on c.key = m.key where m.session = ?`

/** The messages of a page and the inserted rows that stand behind them, in the order of the view. */
function readRows(connection: Connection, { head, within }: ExportedHead, after: number, to: number): Row[] {
  const { no } = within as ExportedWithin
  const ordinals = head.compactions.flatMap(({ inserts }) =>
    inserts !== undefined && inserts[0] > (after === 0 ? -1 : after) && inserts[0] <= to ? [inserts[1]] : [],
  )
  const messages = connection.all(`${ROWS} and m.position > ? and m.position <= ?`, no, after, to)
  const inserted = connection.all(
    `${ROWS} and m.position is null and m.ordinal in (select value from json_each(?))`,
    no,
    JSON.stringify(ordinals),
  )
  return [...messages, ...inserted].sort(
    (a, b) => (a[4] as number) - (b[4] as number) || (a[5] as number) - (b[5] as number),
  )
}

function rowReader(connection: Connection, { head, within }: ExportedHead): (row: Row) => RowRecord {
  const { ids, pinned, hiding } = within as ExportedWithin
  const blobOf = blobReader(connection)
  return ([
    key,
    kindCode,
    role,
    position,
    anchor,
    ordinal,
    id,
    createdAt,
    idempotencyKey,
    stored,
    metadata,
    blobs,
    by,
  ]) => {
    const type = decodeKind(kindCode)
    const decoded = decodeContent(stored as string, blobs as string | null, blobOf, key as number)
    const { content, bytes } = withoutBytes(decoded)
    const place = type === 'message' ? { type, position: position as number } : undefined
    const tags = hiding.tagsOf(place ?? { type: type as 'summary', ordinal: ordinal as number })
    const { retired, ...parents } = namedTags(tags, head.compactions)
    const fields = {
      ...{ role: decodeRole(role), content },
      ...(bytes.length > 0 && { bytes }),
      ...(metadata !== null && { metadata: parseStoredObject(metadata, 'metadata', key as number) }),
      createdAt: createdAt as number,
      ...(idempotencyKey !== null && { idempotencyKey: idempotencyKey as string }),
      ...(pinned.has(key as number) && { pinned: true as const }),
      ...parents,
    }
    if (place !== undefined) return { ...place, ...(id !== null && { id: id as string }), ...fields }
    const compaction = ids.get(by as number)
    if (compaction === undefined) throw damaged('compaction', key as number)
    return {
      type: type as 'summary' | 'marker',
      ...{ anchor: anchor as number, ordinal: ordinal as number, compaction },
      ...(retired === true && { retired }),
      ...fields,
    }
  }
}

/** The texts shown in place of parts of some rows, by their keys, but for those of compactions that came later. */
function readReplacements(
  connection: Connection,
  { within }: ExportedHead,
  rows: readonly Row[],
): ReadonlyMap<number, Omit<ReplacementRecord, 'message'>[]> {
  const { ids } = within as ExportedWithin
  const found = connection.all(
    `select r.message, r.compaction, r.part, r.text from json_each(?) k
     join undertext_replacements r on r.message = k.value order by r.message, r.part, r.compaction`,
    JSON.stringify(rows.map(([key]) => key)),
  )
  const byKey = new Map<number, Omit<ReplacementRecord, 'message'>[]>()
  for (const [key, no, part, text] of found) {
    const compaction = ids.get(no as number)
    if (compaction === undefined) continue
    const list = byKey.get(key as number) ?? []
    const shown = parseReplacement(text, key as number)
    list.push({ type: 'replacement', compaction, part: part as number, text: shown } as (typeof list)[number])
    byKey.set(key as number, list)
  }
  return byKey
}
