import { type JsonObject, listIn, stringifyJson } from '../../core/messages/json.ts'
import type { Part, RowKind } from '../../core/messages/message.ts'
import { subtractSizes } from '../../core/tokens/measure.ts'
import {
  ADD_SIZES,
  INSERT_CONTENT,
  insertInto,
  SAVED_COLUMNS,
  SIZE_COLUMNS,
  sizeColumns,
  sizesOf,
} from './columns.ts'
import { type RowFigures, SIZE_TOTALS } from './commit.ts'
import { blobsOf, dropReferences, type EncodedContent, encodeContent, keepBlobs } from './content-codec.ts'
import { type Recounted, recountKeys, writeRecounted } from './recount.ts'
import { INSERT_REPLACEMENT } from './replacements.ts'
import { COUNT_SENT, decodeKind, encodeFlags, RETIRED, SPEAKS } from './row-codec.ts'
import { reindexRows } from './search-index.ts'
import { estimatorOf, type StoredSession, sessionNumbered } from './sessions.ts'
import type { Sql } from './sql.ts'
import { KEY_OF_CONTENT, M_VISIBLE, VISIBLE } from './view.ts'
import type { Work } from './work.ts'

/*
 * Changes stored contents for good: what a removal of text and retention are made of. A caller, within `erasing`:
 *
 *   yield* sql.enterAlone(id)
 *   const session = yield* requireSession(sql, id)
 *   const rows = yield* lockSharing(sql, session, keys)          // those rows and their copies in other sessions
 *   const contents = new Map([[rows[0].content, { content, metadata }]])
 *   yield* sql.unguarded('why', () => rewriteRows(sql, rows, { contents }))
 *   yield* writeRemoval(…)                                        // for each session of `rows`
 *
 * and afterwards, outside of the transaction, `sql.clearFiles()`. Everything derived from the contents is true afterwards: sizes, savings of
 * replacements, counters, the index of calls, flags, references to blobs, and the search index. Coverage, tags and figures of compactions
 * stay, so undo and redo work as before. A part may become one of another kind, but the number and the order of parts must stay.
 */

/** A row, and the key of its content, which forks share with the session that they were forked from. */
export type SharingRow = {
  readonly key: number
  readonly content: number
  readonly session: StoredSession
  readonly kind: RowKind
  readonly anchor: number
  /** Whether the row is in the view of its session now. */
  readonly isVisible: boolean
  readonly isPinned: boolean
}

/** What is stored instead. */
export type NewContent = {
  readonly content: string | readonly Part[]
  readonly metadata: JsonObject | undefined
}

/** The text that a compaction shows in place of a part. The row is the one that stores the text, not one that refers to it. */
export type NewText = {
  readonly compaction: number
  readonly row: number
  readonly part: number
  /** `null` shows the original. */
  readonly text: string | null
}

/**
 * Returns rows of an entered session and all rows of other sessions with the same contents, and locks those sessions. The caller must have
 * called `enterAlone`, so that no other such work waits for a session that this one holds.
 */
export function* lockSharing(sql: Sql, session: StoredSession, keys: readonly number[]): Work<SharingRow[]> {
  const found = yield* sql.all(
    `select distinct ${KEY_OF_CONTENT} from {list ?} k {cross} undertext_messages m on {family m} m.key = k.value`,
    JSON.stringify(keys),
  )
  const contents = found.map(([key]) => key as number).sort((a, b) => a - b)
  if (contents.length === 0) return []
  const list = JSON.stringify(contents)
  const sessions = new Map([[session.no, session]])
  for (;;) {
    const users = [
      ...(yield* sql.all(OWNERS, list)),
      ...(yield* sql.all(USERS, contents[0]!, contents.at(-1)!)),
    ].filter(([no]) => !sessions.has(no as number))
    if (users.length === 0) break
    for (const [no, id, owner] of users) {
      yield* sql.enter(id as string, owner as string | null)
      sessions.set(no as number, yield* sessionNumbered(sql, no))
    }
    // Once more, because a row may have been copied before its session was locked. A file has a single writer.
    if (!sql.isShared) break
  }
  yield* sql.enter(session.id, session.owner ?? null)
  const rows = [
    ...(yield* sql.all(
      `${ROWS} {list ?} k {cross} undertext_messages m on {family m} m.key = k.value`,
      list,
    )),
    ...(yield* sql.all(COPIES, JSON.stringify([...sessions.keys()]), list)),
  ]
  return rows.map(([key, content, no, kind, anchor, visible, pinned]) => ({
    key: key as number,
    content: content as number,
    session: sessions.get(no as number)!,
    kind: decodeKind(kind),
    anchor: anchor as number,
    isVisible: visible === 1,
    isPinned: pinned === 1,
  }))
}

/** SQL: the sessions of the rows that own contents. */
const OWNERS = `select distinct s.no, s.id, s.owner from {list ?} k {cross} undertext_messages m on {family m} m.key = k.value
  {cross} undertext_sessions s on {family s} s.no = m.session`
/** SQL: the forks that may have copies of rows in a range of keys. */
export const USERS = `select s.no, s.id, s.owner from undertext_sessions s where {family s} s.forked_at is not null and exists (
  select 1 from undertext_messages m where {family m} m.session = s.no and m.source between ? and ?) order by s.no`
const ROWS = `select m.key, ${KEY_OF_CONTENT}, m.session, m.kind, m.anchor, case when ${M_VISIBLE} then 1 else 0 end, m.pinned from`
const COPIES = `${ROWS} {list ?} k {cross} undertext_messages m on {family m} m.session = k.value and m.source is not null
  where m.source in (select value from {list ?} c)`

/**
 * Replaces contents, by their keys, and texts of replacements for good, within `unguarded`. `rows` must include every row that has one of
 * these contents or shows one of these texts, as `lockSharing` returns them. Returns the number of removed blobs.
 *
 * Raises the version of each session, and also its view epoch if a visible row has changed, so that older plans are stale and older
 * reports count as those of a former view.
 */
export function* rewriteRows(
  sql: Sql,
  rows: readonly SharingRow[],
  {
    contents,
    texts = [],
  }: {
    readonly contents: ReadonlyMap<number, NewContent>
    readonly texts?: readonly NewText[]
  },
): Work<number> {
  const bySession = new Map<StoredSession, SharingRow[]>()
  for (const row of rows) listIn(bySession, row.session).push(row)
  const before = new Map<StoredSession, Omit<RowFigures, 'retired'>>()
  for (const [session, own] of bySession) before.set(session, yield* figuresOf(sql, keysOf(own)))
  const blobs = yield* replaceContents(sql, contents)
  for (const { compaction, row, part, text } of texts) {
    const place = [compaction, row, part]
    yield* sql.run(
      'delete from undertext_replacements where {family} compaction = ? and message = ? and part = ?',
      ...place,
    )
    // What it saves is counted below.
    yield* sql.run(INSERT_REPLACEMENT, ...place, JSON.stringify(text), ...NOTHING_SAVED)
  }
  for (const [session, own] of bySession) {
    yield* sql.enter(session.id, session.owner ?? null)
    const keys = keysOf(own)
    yield* recount(sql, session, keys)
    const isUnread = yield* reindexRows(sql, session, keys)
    const [was, is] = [before.get(session)!, yield* figuresOf(sql, keys)]
    yield* sql.run(
      `update undertext_sessions set visible = visible + ?, ${ADD_SIZES}, version = version + 1, view_epoch = view_epoch + ?
       where {family} no = ?`,
      ...[is.sent - was.sent, ...sizeColumns(subtractSizes(is.sizes, was.sizes))],
      // A page of the search index that was read before must not be written.
      ...[isUnread || own.some(({ isVisible }) => isVisible) ? 1 : 0, session.no],
    )
  }
  return blobs
}

const NOTHING_SAVED = SAVED_COLUMNS.map(() => 0)

function keysOf(rows: readonly SharingRow[]): number[] {
  return rows.map(({ key }) => key)
}

/** Returns what visible rows add to the counters of their session. */
function* figuresOf(sql: Sql, keys: readonly number[]): Work<Omit<RowFigures, 'retired'>> {
  const [sent, ...totals] = (yield* sql.get(
    `select ${COUNT_SENT}, ${SIZE_TOTALS} from undertext_messages
     where {family} key in (select value from {list ?} k) and ${VISIBLE}`,
    JSON.stringify(keys),
  ))!
  return { sent: sent as number, sizes: sizesOf(totals) }
}

function* replaceContents(sql: Sql, contents: ReadonlyMap<number, NewContent>): Work<number> {
  const keys = [...contents.keys()]
  const dropped = yield* blobsOf(sql, keys)
  const kept: EncodedContent['bytes'][number][] = []
  yield* sql.run(
    'delete from undertext_contents where {family} key in (select value from {list ?} k)',
    JSON.stringify(keys),
  )
  for (const [key, { content, metadata }] of contents) {
    const encoded = encodeContent(content)
    const fields = metadata === undefined ? null : stringifyJson(metadata)
    yield* sql.run(INSERT_CONTENT, key, encoded.content, fields, encoded.blobs)
    for (const one of encoded.bytes) {
      const hash = one.hash.toString('hex')
      const left = dropped.get(hash) ?? 0
      // A blob that the content still has keeps its reference.
      if (left === 0) kept.push(one)
      else if (left === 1) dropped.delete(hash)
      else dropped.set(hash, left - 1)
    }
  }
  yield* keepBlobs(sql, kept)
  return dropped.size === 0 ? 0 : yield* dropReferences(sql, dropped)
}

/** Computes the derived columns of rows from their new contents. */
function* recount(sql: Sql, session: StoredSession, keys: readonly number[]): Work<void> {
  const stored = yield* sql.all(
    'select key, kind, flags from undertext_messages where {family} key in (select value from {list ?} k)',
    JSON.stringify(keys),
  )
  const before = new Map(stored.map(([key, kind, flags]) => [key as number, { kind, flags }] as const))
  yield* recountKeys(sql, keys, estimatorOf(sql, session), function* (row) {
    const { kind, flags } = before.get(row.key)!
    const now = flagsOf(decodeKind(kind), row.index)
    if (now !== flags) yield* setFlags(sql, row.key, now)
    yield* writeRecounted(sql, row)
  })
}

/** An inserted row has only the flags that say whether other providers can read it, and whether something of it was removed. */
function flagsOf(kind: RowKind, index: Recounted['index']): number {
  if (kind === 'message') return encodeFlags(index)
  return (index.speaks ? SPEAKS : 0) | (index.isRetired ? RETIRED : 0)
}

/** All columns of a row. */
export const ROW_COLUMNS = [
  ...['key', 'session', 'anchor', 'ordinal', 'position', 'kind', 'role', 'flags', 'id'],
  ...SIZE_COLUMNS,
  ...['tools', 'created_at', 'idempotency_key', 'inserted_by', 'condense_parent', 'truncation_parent'],
  ...['retired_by', 'pinned', 'shown', 'source'],
]
const INSERT_ROW = insertInto('undertext_messages', ROW_COLUMNS)

/** Sets the flags of a row. No statement may update them, so the row is removed and inserted again. */
function* setFlags(sql: Sql, key: number, flags: number): Work<void> {
  const row = yield* sql.get(
    `select ${ROW_COLUMNS.join(', ')} from undertext_messages where {family} key = ?`,
    key,
  )
  yield* sql.run('delete from undertext_messages where {family} key = ?', key)
  yield* sql.run(INSERT_ROW, ...row!.with(ROW_COLUMNS.indexOf('flags'), flags))
}
