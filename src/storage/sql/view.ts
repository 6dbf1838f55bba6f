import { type JsonObject, listIn } from '../../core/messages/json.ts'
import {
  type Part,
  type PositionRange,
  partsOf,
  type ShownText,
  type StoredMessage,
  type ViewMessage,
} from '../../core/messages/message.ts'
import { withReplacements } from '../../core/messages/overlay.ts'
import type { MessageQuery } from '../storage.ts'
import { provenanceOf } from './compactions.ts'
import {
  type Blobs,
  damaged,
  decodeContent,
  parseStoredObject,
  parseStoredText,
  readBlobs,
} from './content-codec.ts'
import {
  decodeKind,
  decodeRole,
  decodeShown,
  PACKED_KIND,
  rowId,
  unpackKind,
  unpackRole,
} from './row-codec.ts'
import { requireHead, type SessionHead } from './sessions.ts'
import { type Row, reading, type Sql } from './sql.ts'
import { mapped, type Work } from './work.ts'

/** SQL: a visible row. Every query that must use the index contains this condition. */
export const VISIBLE = 'condense_parent is null and truncation_parent is null and retired_by is null'

/** SQL: a visible row of the alias `m`. */
export const M_VISIBLE = 'm.condense_parent is null and m.truncation_parent is null and m.retired_by is null'

/**
 * SQL: the key of the content of a row `m`. Not `coalesce`, which PostgreSQL treats as potentially leaking, so that with row-level security
 * it wouldn't look the key up in an index.
 */
export const KEY_OF_CONTENT = 'case when m.source is null then m.key else m.source end'

/** SQL: the content of the row `m`; for a copy in a fork, the content of its original. */
export const CONTENT_OF_M = `undertext_contents c on {family c} c.key = ${KEY_OF_CONTENT}`

/** SQL: looks up a row for each row before it, because for a join PostgreSQL would read the whole table. */
export function lookUp(table: string, alias: string, condition: string): string {
  return `{find} ${table} ${alias} {where} ${condition} {found ${alias}}`
}

/** SQL: `CONTENT_OF_M` as a lookup. */
export const LOOKED_UP_CONTENT = lookUp('undertext_contents', 'c', `{family c} c.key = ${KEY_OF_CONTENT}`)

/** SQL: the text of the replacement `r`. In a fork, a long text is a reference: a list of its compaction and its row. */
export const TEXT_OF_R = `case when substr(r.text, 1, 1) = '[' then (select o.text from undertext_replacements o
    where {family o} o.compaction = {at r.text 0} and o.message = {at r.text 1} and o.part = r.part) else r.text end`

/**
 * Returns the view: the visible rows in order, with replacements applied. Uses one indexed query that reads no hidden row (a test asserts
 * its plan).
 */
export const readView = reading(
  'getEffectiveHistory',
  function* (
    sql: Sql,
    id: string,
    withProvenance: boolean,
    without: readonly number[] = [],
  ): Work<ViewMessage[]> {
    yield* sql.enter(id)
    // Sent together, because the statements don't depend on each other.
    const rows =
      without.length === 0 ? sql.all(VIEW_QUERY, id) : sql.all(VIEW_WITHOUT, id, JSON.stringify(without))
    const head = yield* requireHead(sql, id)
    return yield* decodeView(sql, head, yield* rows, withProvenance)
  },
)

/** SQL: the columns of a view's rows. `shown`: the replacements that they show. */
export function viewColumns(shown: 'm.shown' | 'null'): string {
  return `select ${PACKED_KIND}, m.anchor, m.created_at, c.content, m.id, c.metadata,
    case when ${shown} is not null or c.blobs is not null or m.inserted_by is not null then
      cast({array}(m.key, m.ordinal, m.inserted_by, cast(${shown} as text), cast(c.blobs as text),
        (select by.id from undertext_compactions by where {family by} by.no = m.inserted_by)) as text) end`
}

/**
 * The query for the view, exported for the test of its plan. Fewer columns are faster, so the last column contains the values that few rows
 * have; it is null for a message without replacements and blobs. The position of a message is its anchor.
 */
export const VIEW_QUERY = `${viewColumns('m.shown')}
  from undertext_messages m {index undertext_visible} ${LOOKED_UP_CONTENT}
  where {family m} m.session = (select no from undertext_sessions where {family} {named} id = ?) and ${M_VISIBLE} order by m.anchor, m.ordinal`

/** The query for the view without the rows of given keys. */
const VIEW_WITHOUT = VIEW_QUERY.replace(
  ' order by',
  ' and m.key not in (select value from {list ?} k) order by',
)

export type ViewColumns = readonly [
  packed: number,
  anchor: number,
  createdAt: number,
  content: string,
  ownId: string | null,
  metadata: string | null,
  rare: string | null,
]
/** The last column. */
export type Rare = readonly [
  key: number,
  ordinal: number,
  insertedBy: number | null,
  shown: string | null,
  blobs: string | null,
  compactionId: string | null,
]

/** Returns the messages of a view's rows, within the caller's transaction. `texts`: the texts that they show, if not the current ones. */
export function* decodeView(
  sql: Sql,
  session: SessionHead,
  found: readonly Row[],
  withProvenance: boolean,
  texts?: ShownTexts,
): Work<ViewMessage[]> {
  const rows = found as unknown as readonly ViewColumns[]
  const rares = new Map<ViewColumns, Rare>()
  for (const row of rows) if (row[6] !== null) rares.set(row, JSON.parse(row[6]) as Rare)
  const context = yield* contextOf(sql, session, rares.values(), texts)
  const provenance = withProvenance ? yield* provenanceOf(sql, session.no) : undefined
  return rows.map((row) => {
    const rare = row[6] === null ? undefined : rares.get(row)
    const message = decodeViewRow(context, row, rare)
    if (provenance === undefined) return message
    const positions: readonly PositionRange[] =
      message.position === undefined ? provenance(rare![2]!) : [[message.position, message.position]]
    return { ...message, positions }
  })
}

type ViewContext = {
  readonly session: SessionHead
  readonly shownTexts: ShownTexts
  readonly blobs: Blobs
}

/** Reads the additional data for rows with rare values. */
function* contextOf(
  sql: Sql,
  session: SessionHead,
  rares: Iterable<Rare>,
  texts: ShownTexts | undefined,
): Work<ViewContext> {
  const blobs: [string, number][] = []
  let isReplaced = false
  for (const [key, , , shown, places] of rares) {
    if (shown !== null) isReplaced = true
    if (places !== null) blobs.push([places, key])
  }
  return {
    session,
    shownTexts: texts ?? (isReplaced ? yield* readShownTexts(sql, session.no) : NO_TEXTS),
    blobs: yield* readBlobs(sql, blobs),
  }
}

/** The stored texts of replacements, by `key:part:compaction`, where the key is the row's. */
export type ShownTexts = ReadonlyMap<string, string>
const NO_TEXTS: ShownTexts = new Map()

/** Returns the texts of all replacements shown in the view. */
function* readShownTexts(sql: Sql, session: number): Work<ShownTexts> {
  const rows = yield* sql.all(
    `select r.message, r.part, r.compaction, ${TEXT_OF_R}
     from undertext_messages m {index undertext_visible} join undertext_replacements r on {family r} r.message = m.key
     where {family m} m.session = ? and ${M_VISIBLE} and m.shown is not null`,
    session,
  )
  return new Map(
    rows.map(
      ([message, part, compaction, text]) => [`${message}:${part}:${compaction}`, text as string] as const,
    ),
  )
}

function decodeViewRow(context: ViewContext, row: ViewColumns, rare: Rare | undefined): ViewMessage {
  // Accessed by index, because destructuring an array uses its iterator, which is slow over thousands of rows.
  const anchor = row[1]
  const createdAt = row[2]
  const metadata = row[5]
  const kind = unpackKind(row[0])
  const role = unpackRole(row[0])
  const isMessage = kind === 'message'
  const place = isMessage ? anchor : null
  const id = rowId(context.session.incarnation, row[4], place, rare === undefined ? 0 : rare[1])
  const content = decodeContent(row[3], rare === undefined ? null : rare[4], context.blobs, id)
  const message: { -readonly [K in keyof ViewMessage]: ViewMessage[K] } = isMessage
    ? { id, kind, role, content, createdAt, position: anchor }
    : { id, kind, role, content, createdAt }
  if (metadata !== null) message.metadata = parseStoredObject(metadata, 'metadata', id)
  if (rare === undefined) {
    if (isMessage) return message
    throw damaged('compaction', id)
  }
  const [key, , , shown, , compactionId] = rare
  if (shown !== null) Object.assign(message, replacedContent(context, key, content, shown, id))
  if (kind !== 'message') Object.assign(message, insertedTags(kind, compactionId!))
  return message
}

function replacedContent(
  context: ViewContext,
  key: number,
  original: ViewMessage['content'],
  shown: string,
  messageId: string,
): Pick<ViewMessage, 'content' | 'replacedParts'> {
  const texts = context.shownTexts
  const entries = decodeShown(shown, messageId)
  return {
    replacedParts: entries.map(({ part }) => part),
    content: withReplacements(original, (part) => {
      const entry = entries.find((candidate) => candidate.part === part)
      const text = entry && texts.get(`${key}:${part}:${entry.compaction}`)
      return text === undefined ? undefined : parseStoredText(text, 'replacement', messageId)
    }),
  }
}

function insertedTags(kind: 'summary' | 'marker', compaction: string): Partial<ViewMessage> {
  return kind === 'summary'
    ? { condenseId: compaction }
    : { truncationId: compaction, isTruncationMarker: true }
}

/** The columns of stored rows. */
export const STORED_COLUMNS = `select m.key, m.kind, m.role, m.position, m.ordinal, m.id, m.created_at, m.shown, c.content, c.metadata,
      c.blobs, m.inserted_by, m.anchor, m.pinned, m.idempotency_key, m.condense_parent, m.truncation_parent, m.retired_by`

/** SQL: stored rows between two places of the log; `place` names the column. */
function storedRows(place: string, index = ''): string {
  return `${STORED_COLUMNS}
    from undertext_messages m ${index} join ${CONTENT_OF_M}
    where {family m} m.session = ? and ${place} between ? and ?`
}

const MESSAGES = storedRows('m.position')
const INSERTED = storedRows('m.position is null and m.anchor')
const SHOWN = storedRows(`${M_VISIBLE} and m.anchor`, '{index undertext_visible}')

/** Returns rows in view order, within the caller's transaction. */
function* rowsIn(sql: Sql, { no }: SessionHead, range: PositionRange, ...queries: string[]): Work<Row[]> {
  const rows: Row[] = []
  for (const text of queries) for (const row of yield* sql.all(text, no, ...range)) rows.push(row)
  return rows.sort((a, b) => (a[12] as number) - (b[12] as number) || (a[4] as number) - (b[4] as number))
}

/** Returns stored rows, hidden or not. A page consists of messages of the log; inserted rows come with the message before them. */
export const readMessages = reading(
  'getMessages',
  function* (sql: Sql, id: string, query: MessageQuery): Work<StoredMessage[]> {
    const session = yield* requireHead(sql, id)
    const range = pageOf(session.messageCount, query)
    if (range === undefined) return []
    const queries = query.visible === true ? [SHOWN] : [MESSAGES, INSERTED]
    const rows = yield* rowsIn(sql, session, range, ...queries)
    const messages = yield* decodeRows(sql, session, rows, query.shown === true)
    return query.order === 'forward' ? messages : messages.reverse()
  },
)

export function* decodeRows(
  sql: Sql,
  session: SessionHead,
  rows: readonly Row[],
  isShown: boolean,
): Work<StoredMessage[]> {
  const ids = yield* compactionIds(sql, namedIn(rows))
  const blobs = yield* readBlobs(
    sql,
    rows.map((row) => [row[10] as string | null, row[0] as number]),
  )
  const originOf = yield* originsOf(sql, session, rows)
  return yield* mapped(rows, function* (row) {
    const own = decodeStored(session, row, ids, blobs)
    const origin = originOf?.(row)
    const message = origin === undefined ? own : { ...own, ...origin }
    return isShown ? yield* withShown(sql, message, row, ids) : message
  })
}

type Origin = Pick<StoredMessage, 'copiedFrom'>

/** Returns a function that computes, for a fork, which rows stored rows are copies of. */
function* originsOf(
  sql: Sql,
  { no, forkedFrom }: SessionHead,
  rows: readonly Row[],
): Work<((row: Row) => Origin | undefined) | undefined> {
  if (forkedFrom === undefined) return undefined
  const found = yield* sql.get(
    `select o.id, o.incarnation from undertext_sessions s join undertext_sessions o on {family o} {seen o} o.no = s.forked_from
     where {family s} s.no = ?`,
    no,
  )
  // The original may belong to another owner.
  if (found === undefined) return undefined
  const [sessionId, incarnation] = found as unknown as [string, string]
  const inserters = rows.flatMap((row) => row[11] ?? [])
  const copied = yield* sql.all(
    `select no from undertext_compactions where {family} session = ? and copied_from <> ''
       and no in (select value from {list ?} k)`,
    no,
    JSON.stringify(inserters),
  )
  const copiedInserters = new Set(copied.map(([compaction]) => compaction))
  return (row) => {
    const [, , , position, ordinal, id] = row
    const isCopied =
      position === null ? copiedInserters.has(row[11]) : (position as number) <= forkedFrom.position
    if (!isCopied) return undefined
    return { copiedFrom: { sessionId, messageId: rowId(incarnation, id, position, ordinal) } }
  }
}

/** Adds the texts that a row shows in place of its parts. */
function* withShown(sql: Sql, message: StoredMessage, row: Row, ids: CompactionIds): Work<StoredMessage> {
  if (row[7] === null) return message
  const shown = yield* mapped(
    decodeShown(row[7], message.id),
    function* ({ part, compaction }): Work<ShownText> {
      const [text] =
        (yield* sql.get(
          `select ${TEXT_OF_R} from undertext_replacements r where {family r} r.message = ? and r.part = ? and r.compaction = ?`,
          row[0]!,
          part,
          compaction,
        )) ?? []
      if (text === undefined) throw damaged('replacement', message.id)
      return {
        part,
        text: parseStoredText(text, 'replacement', message.id),
        compactionId: ids.get(compaction)!,
      }
    },
  )
  return { ...message, shown }
}

/** Returns the messages of the log in some ranges of positions, in order, within the caller's transaction. */
export function* readRange(
  sql: Sql,
  session: SessionHead,
  ranges: readonly PositionRange[],
): Work<StoredMessage[]> {
  const rows = yield* mapped(ranges, (range) => rowsIn(sql, session, range, MESSAGES))
  return yield* decodeRows(sql, session, rows.flat(), false)
}

export function pageOf(
  last: number,
  { after, before, limit, order }: MessageQuery,
): PositionRange | undefined {
  let from = Math.max(1, (after ?? 0) + 1)
  let to = Math.min(last, (before ?? last + 1) - 1)
  if (limit !== undefined) {
    if (order === 'forward') to = Math.min(to, from + limit - 1)
    else from = Math.max(from, to - limit + 1)
  }
  return from > to ? undefined : [from, to]
}

type CompactionIds = ReadonlyMap<unknown, string>
const NO_IDS: CompactionIds = new Map()

/** Reads only the compactions that rows refer to: a page refers to few, and a session may have thousands. */
function* compactionIds(sql: Sql, named: Iterable<unknown>): Work<CompactionIds> {
  const numbers = new Set(named)
  numbers.delete(null)
  if (numbers.size === 0) return NO_IDS
  const [only] = numbers
  if (numbers.size === 1) {
    const row = yield* sql.get('select id from undertext_compactions where {family} no = ?', only)
    return new Map([[only, row?.[0] as string]])
  }
  const rows = yield* sql.all(
    'select c.no, c.id from {list ?} k {cross} undertext_compactions c on {family c} c.no = k.value',
    JSON.stringify([...numbers]),
  )
  return new Map(rows as unknown as [number, string][])
}

/** Returns the numbers of the compactions that stored rows refer to. */
function* namedIn(rows: readonly Row[]): Generator<unknown> {
  for (const row of rows) {
    yield* [row[11], row[15], row[16], row[17]]
    if (row[7] !== null) for (const { compaction } of decodeShown(row[7])) yield compaction
  }
}

function decodeStored(session: SessionHead, row: Row, ids: CompactionIds, blobs: Blobs): StoredMessage {
  const kind = decodeKind(row[1])
  const [condenseParent, truncationParent, retiredBy] = [row[15], row[16], row[17]]
  const messageId = rowId(session.incarnation, row[5], row[3], row[4])
  const message: { -readonly [K in keyof StoredMessage]: StoredMessage[K] } = {
    id: messageId,
    kind,
    role: decodeRole(row[2]),
    content: decodeContent(row[8] as string, row[10] as string | null, blobs, messageId),
    anchor: row[12] as number,
    createdAt: row[6] as number,
    pinned: row[13] === 1,
    hidden: condenseParent !== null || truncationParent !== null || retiredBy !== null,
  }
  if (row[3] !== null) message.position = row[3] as number
  if (row[9] !== null) message.metadata = parseStoredObject(row[9], 'metadata', messageId)
  if (row[14] !== null) message.idempotencyKey = row[14] as string
  if (row[7] !== null) message.replacedParts = decodeShown(row[7], messageId).map(({ part }) => part)
  if (condenseParent !== null) message.condenseParent = ids.get(condenseParent)!
  if (truncationParent !== null) message.truncationParent = ids.get(truncationParent)!
  if (retiredBy !== null) message.retiredBy = ids.get(retiredBy)!
  if (kind !== 'message') Object.assign(message, insertedTags(kind, ids.get(row[11])!))
  return message
}

const CONTENTS_AT_ONCE = 1_000
const KEYED = '{list ?} k {cross} undertext_messages m on {family m} m.key = k.value'

/** Returns the original parts of rows, by key. */
export const readContents = reading(
  'compactSession',
  function* (sql: Sql, id: string, keys: readonly number[]): Work<Map<number, readonly Part[]>> {
    yield* sql.enter(id)
    return yield* contentsOf(sql, keys)
  },
)

/** Returns the original parts of rows, by key, within the caller's transaction. */
export function* contentsOf(sql: Sql, keys: readonly number[]): Work<Map<number, readonly Part[]>> {
  const contents = new Map<number, readonly Part[]>()
  // Read in pages, so that a long session isn't in memory twice, stored and decoded.
  for (let from = 0; from < keys.length; from += CONTENTS_AT_ONCE) {
    const rows = yield* sql.all(
      `select m.key, c.content, c.blobs from ${KEYED} join ${CONTENT_OF_M}`,
      JSON.stringify(keys.slice(from, from + CONTENTS_AT_ONCE)),
    )
    const found = yield* readBlobs(
      sql,
      rows.map(([key, , blobs]) => [blobs as string | null, key as number]),
    )
    for (const [key, content, blobs] of rows) {
      const decoded = decodeContent(content as string, blobs as string | null, found, key as number)
      contents.set(key as number, partsOf({ content: decoded }))
    }
  }
  return contents
}

/** Returns the metadata of rows, by key; rows without metadata are omitted. */
export const readMetadata = reading(
  'compactSession',
  function* (sql: Sql, id: string, keys: readonly number[]): Work<Map<number, JsonObject>> {
    yield* sql.enter(id)
    return yield* metadataOf(sql, keys)
  },
)

/** Returns the metadata of rows, by key, within the caller's transaction. */
export function* metadataOf(sql: Sql, keys: readonly number[]): Work<Map<number, JsonObject>> {
  const rows = yield* sql.all(
    `select m.key, c.metadata from ${KEYED} join ${CONTENT_OF_M} where c.metadata is not null`,
    JSON.stringify(keys),
  )
  return new Map(
    rows.map(
      ([key, metadata]) => [key as number, parseStoredObject(metadata, 'metadata', key as number)] as const,
    ),
  )
}

/** SQL: `cross join` makes one step for each shown part, instead of one for each pair. Exported for the test of its plan. */
export const SHOWN_QUERY = `select m.key, r.part, ${TEXT_OF_R} from {list ?} k join undertext_messages m on {family m} m.key = k.value
    cross join {elements m.shown} s {cross} undertext_replacements r
    on {family r} r.message = m.key and r.part = {int s 0} and r.compaction = {int s 1}
  where m.shown is not null`

/** Returns the parts that the stage `cut` shortened in the view, by the positions of their messages. */
export const readCutParts = reading('prepareRequest', function* (sql: Sql, id: string): Work<
  Map<number, number[]>
> {
  const { no } = yield* requireHead(sql, id)
  const rows = yield* sql.all(
    `select m.position, r.part, r.compaction, m.shown
       from undertext_messages m {index undertext_visible} join undertext_replacements r on {family r} r.message = m.key
       join undertext_compactions c on {family c} c.no = r.compaction
       where {family m} m.session = ? and ${M_VISIBLE} and m.shown is not null and m.position is not null and c.kind = 'cut'
       order by m.anchor, r.part`,
    no,
  )
  const cut = new Map<number, number[]>()
  for (const [position, part, compaction, shown] of rows) {
    // A newer replacement may show another text.
    const isShown = decodeShown(shown).some((one) => one.part === part && one.compaction === compaction)
    if (isShown) listIn(cut, position as number).push(part as number)
  }
  return cut
})

/** Returns the texts that rows show in place of their parts, by key and part. */
export const readShown = reading(
  'compactSession',
  function* (sql: Sql, id: string, keys: readonly number[]): Work<Map<number, Map<number, string>>> {
    yield* sql.enter(id)
    const rows = yield* sql.all(SHOWN_QUERY, JSON.stringify(keys))
    const texts = new Map<number, Map<number, string>>()
    for (const [key, part, text] of rows) {
      const parts = texts.get(key as number) ?? new Map<number, string>()
      parts.set(part as number, parseStoredText(text, 'replacement', key as number))
      texts.set(key as number, parts)
    }
    return texts
  },
)
