import { setImmediate as turn } from 'node:timers/promises'
import { isUndertextError } from '../../core/errors.ts'
import type { Part } from '../../core/messages/message.ts'
import { distinctWordsOf, type SearchedRow, searchedRow, UNITS_AT_ONCE } from '../../core/search/words.ts'
import type { SessionName } from '../owners.ts'
import type { Indexed } from '../search.ts'
import { upsertInto } from './columns.ts'
import { decodeContent } from './content-codec.ts'
import { decodeKind, decodeRole, encodeKind } from './row-codec.ts'
import { outside, type RowWords, reading, type Sql } from './sql.ts'
import { KEY_OF_CONTENT } from './view.ts'
import { ordinalPlace, positionPlace } from './word-index.ts'
import type { Work } from './work.ts'

/*
 * Keeps the search index up to date, one page of rows per transaction. `core/search/words.ts` decides which words a row has, and
 * `word-index.ts` how they are stored.
 */

/** The number of rows, and of bytes of contents, that one transaction adds to the index. They are small so that no writer waits long. */
const [PAGE_ROWS, PAGE_BYTES] = [500, 500_000]

/** SQL: the rows of a session that aren't in the index. */
const UNINDEXED = `from undertext_sessions s left join undertext_searched i on {same i s} i.session = s.no
  where {seen s} (s.messages > coalesce(i.positions, 0) or s.inserted > coalesce(i.ordinals, 0))`

/** Returns sessions with rows that aren't in the index. */
export const readUnindexed = outside(
  'search',
  function* (sql: Sql, limit: number, onlyIfUsed?: boolean): Work<SessionName[]> {
    if (onlyIfUsed && (yield* sql.get('select 1 from undertext_searched limit 1')) === undefined) return []
    const { isComplete, markComplete } = sql.words
    if (isComplete !== undefined && (yield* isComplete(sql))) return []
    const rows = yield* sql.all(`select s.id, s.owner ${UNINDEXED} limit ?`, limit)
    const names = rows.map(([id, owner]) => ({ id: id as string, owner: owner as string | null }))
    const isMarked = sql.seen === undefined && !sql.readonly && markComplete !== undefined
    if (names.length > 0 || !isMarked) return names
    try {
      yield* sql.write('search', () => markComplete(sql, UNINDEXED), !onlyIfUsed)
    } catch (error) {
      // Without the mark, the next search would look through the sessions again.
      if (!isUndertextError(error)) throw error
    }
    return names
  },
)

/** Returns the number of rows that aren't in the index, of one session or of all. */
export const countUnindexed = reading('search', function* (sql: Sql, session?: string): Work<number> {
  if (session !== undefined) {
    const found = yield* readProgress(sql, { id: session })
    return found === undefined ? 0 : found.messages - found.positions + found.inserted - found.ordinals
  }
  const row = yield* sql.get(
    `select cast(sum(s.messages - coalesce(i.positions, 0) + s.inserted - coalesce(i.ordinals, 0)) as bigint) ${UNINDEXED}`,
  )
  return Number(row?.[0] ?? 0)
})

type Progress = {
  readonly no: number
  readonly incarnation: string
  readonly positions: number
  readonly ordinals: number
  readonly viewEpoch: number
}

type IndexPage = {
  readonly session: SessionName
  readonly before: Progress
  readonly positions: number
  readonly ordinals: number
  readonly rows: readonly (RowText & { readonly place: number })[]
  /** Whether no rows are left after these. */
  readonly isLast: boolean
}

/**
 * Adds rows to the index. Reads and splits them before the transaction, to hold its lock only briefly. Throws the errors of
 * `Searching.index`.
 */
export function* indexSessions(sql: Sql, sessions: readonly SessionName[], isPatient = true): Work<Indexed> {
  const pages: IndexPage[] = []
  let done = 0
  yield* sql.read('search', function* () {
    const room = { rows: PAGE_ROWS, bytes: PAGE_BYTES }
    for (const session of sessions.slice(0, sql.words.sessionsAtOnce)) {
      const page = yield* readIndexPage(sql, session, room)
      if (page !== undefined) pages.push(page)
      if (page?.isLast === false) break
      done++
      if (room.rows <= 0 || room.bytes <= 0) break
    }
  })
  // FTS5 adds rows fastest in the order of their rowids.
  pages.sort((a, b) => a.before.no - b.before.no)
  if (pages.length === 0) return { sessions: done, rows: 0 }
  const reading = wordsOfPages(pages)
  let step = reading.next()
  for (; step.done !== true; step = reading.next()) yield turn()
  const words = step.value
  const { unwritten, rows } = yield* sql.write(
    'search',
    function* () {
      const unwritten = new Set<SessionName>()
      let rows = 0
      for (const [at, page] of pages.entries()) {
        const { before, positions, ordinals } = page
        if (yield* writeIndexPage(sql, page, words[at]!))
          rows += positions - before.positions + ordinals - before.ordinals
        else unwritten.add(page.session)
      }
      return { unwritten, rows }
    },
    isPatient,
  )
  // If another process added rows meanwhile, some may still be missing, so the caller has to ask again.
  const first = sessions.findIndex((session) => unwritten.has(session))
  return { sessions: first === -1 ? done : Math.min(done, first), rows }
}

/** The columns that a row's text is read from. */
type RowText = { readonly role: unknown; readonly kind: unknown; readonly content: string }

/** Returns the searchable text of a stored row. */
export function searchedOf({ role, kind, content }: RowText, name: string | number): SearchedRow {
  return searchedRow({ role: decodeRole(role), kind: decodeKind(kind), content: contentOf(content, name) })
}

/** Splits rows into words. Pauses so that the process can do other work while a page or a long text is split. */
function* wordsOfPages(pages: readonly IndexPage[]): Generator<void, RowWords[][]> {
  const words: RowWords[][] = []
  let units = 0
  for (const { rows } of pages) {
    const found: RowWords[] = []
    for (const { place, ...row } of rows) {
      const { text } = searchedOf(row, place)
      units += text.length
      if (units > UNITS_AT_ONCE) {
        yield
        units = text.length % UNITS_AT_ONCE
      }
      found.push({ place, words: yield* distinctWordsOf(text) })
    }
    words.push(found)
  }
  return words
}

/** Reads rows, and reduces the remaining room accordingly. */
function* readIndexPage(
  sql: Sql,
  session: SessionName,
  room: { rows: number; bytes: number },
): Work<IndexPage | undefined> {
  const found = yield* readProgress(sql, session)
  if (found === undefined) return undefined
  const { messages, inserted, ...before } = found
  if (before.positions >= messages && before.ordinals >= inserted) return undefined
  const rows: (RowText & { place: number })[] = []
  const take = function* (place: 'position' | 'ordinal', after: number): Work<number> {
    const isIn = place === 'position' ? '' : 'm.position is null and'
    const lengths = yield* sql.all(
      `select m.${place}, octet_length(c.content) ${WITH_CONTENT}
       where {family m} m.session = ? and ${isIn} m.${place} > ? order by m.${place} limit ?`,
      ...[before.no, after, Math.max(1, room.rows)],
    )
    let last = after
    for (const [at, bytes] of lengths) {
      if (last > after && room.bytes <= 0) break
      room.bytes -= bytes as number
      room.rows--
      last = at as number
    }
    const contents = yield* sql.all(
      `select m.${place}, c.content, m.kind, m.role ${WITH_CONTENT}
       where {family m} m.session = ? and ${isIn} m.${place} > ? and m.${place} <= ? order by m.${place}`,
      ...[before.no, after, last],
    )
    for (const [at, content, kind, role] of contents) {
      if (kind === MARKER) continue
      const number = at as number
      rows.push({
        place: place === 'position' ? positionPlace(number) : ordinalPlace(number),
        ...{ role, kind, content: content as string },
      })
    }
    // Past the last existing row, so that numbers without a row aren't looked up again.
    return lengths.length === 0 ? Number.POSITIVE_INFINITY : last
  }
  const positions =
    before.positions < messages ? Math.min(messages, yield* take('position', before.positions)) : messages
  const hasRoom = positions === messages && room.rows > 0 && room.bytes > 0
  const ordinals =
    before.ordinals < inserted && hasRoom
      ? Math.min(inserted, yield* take('ordinal', before.ordinals))
      : before.ordinals
  rows.sort((a, b) => a.place - b.place)
  const isLast = positions === messages && ordinals === inserted
  return { session, before, positions, ordinals, rows, isLast }
}

const WITH_CONTENT = `from undertext_messages m join undertext_contents c on {same c m} c.key = ${KEY_OF_CONTENT}`
/** The text of a marker is generated, so it isn't searched. */
const MARKER = encodeKind('marker')

function* readProgress(
  sql: Sql,
  { id, owner }: SessionName,
): Work<(Progress & { messages: number; inserted: number }) | undefined> {
  yield* sql.enter(id, owner)
  const [ofOwner, values] =
    owner === undefined ? ['{named s}', []] : ['s.owner is not distinct from ? and', [owner]]
  const row = yield* sql.get(
    `select s.no, s.incarnation, coalesce(i.positions, 0), coalesce(i.ordinals, 0), s.view_epoch, s.messages, s.inserted
     from undertext_sessions s left join undertext_searched i on {same i s} i.session = s.no where {family s} ${ofOwner} s.id = ?`,
    ...values,
    id,
  )
  if (row === undefined) return undefined
  const [no, incarnation, positions, ordinals, viewEpoch, messages, inserted] = row as never as [
    number,
    string,
    ...[number, number, number, number, number],
  ]
  return { no, incarnation, positions, ordinals, viewEpoch, messages, inserted }
}

const WRITE_PROGRESS = upsertInto('undertext_searched', ['session'], ['positions', 'ordinals'])

/** Returns `false` if nothing was written because the session changed since its page was read. */
function* writeIndexPage(sql: Sql, page: IndexPage, rows: readonly RowWords[]): Work<boolean> {
  const { before, positions, ordinals } = page
  const now = yield* readProgress(sql, page.session)
  // Another process may have added these rows, removed the session or rewritten contents.
  const isSame =
    now !== undefined &&
    now.no === before.no &&
    now.incarnation === before.incarnation &&
    now.positions === before.positions &&
    now.ordinals === before.ordinals &&
    now.viewEpoch === before.viewEpoch &&
    now.messages >= positions
  if (!isSame) return false
  yield* sql.words.add(sql, before.no, rows)
  yield* sql.run(WRITE_PROGRESS, ...[before.no, positions, ordinals])
  return true
}

/**
 * Replaces the words of rows whose contents have changed, within the caller's transaction. Returns whether some of the rows aren't in the
 * index yet.
 */
export function* reindexRows(
  sql: Sql,
  { id, no, owner = null }: SessionName & { readonly no: number },
  keys: readonly number[],
): Work<boolean> {
  const progress = (yield* readProgress(sql, { id, owner }))!
  const rows = yield* sql.all(
    `select m.position, m.ordinal, m.kind, m.role, c.content from {list ?} k {cross} undertext_messages m on {family m} m.key = k.value
     {cross} undertext_contents c on {family c} c.key = ${KEY_OF_CONTENT}`,
    JSON.stringify(keys),
  )
  const indexed = rows.filter(([position, ordinal]) =>
    position === null ? (ordinal as number) <= progress.ordinals : (position as number) <= progress.positions,
  )
  const words = indexed.map(([position, ordinal, kind, role, content]): RowWords => {
    const place = position === null ? ordinalPlace(ordinal as number) : positionPlace(position as number)
    if (kind === MARKER) return { place, words: [] }
    const { text } = searchedOf({ role, kind, content: content as string }, place)
    return { place, words: finished(distinctWordsOf(text)) }
  })
  const places = words.map(({ place }) => place)
  if (places.length > 0) yield* sql.words.removeRows(sql, no, places)
  yield* sql.words.add(sql, no, words)
  return indexed.length < rows.length
}

/** Runs a reading without its pauses, because a transaction can't wait. */
function finished<T>(reading: Generator<void, T>): T {
  for (;;) {
    const { done, value } = reading.next()
    if (done === true) return value
  }
}

/** Returns a stored content without its images and files, which aren't searched; empty if it is damaged, which `sessions.verify` reports. */
function contentOf(content: string, row: string | number): string | Part[] {
  try {
    return decodeContent(content, null, NO_BLOBS, row)
  } catch (error) {
    if (isUndertextError(error, 'STORE_CORRUPT')) return ''
    throw error
  }
}

const NO_BLOBS = new Map<string, Uint8Array>()
