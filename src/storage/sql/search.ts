import { setImmediate as turn } from 'node:timers/promises'
import { isUndertextError } from '../../core/errors.ts'
import { codePointStart } from '../../core/messages/characters.ts'
import type { Part } from '../../core/messages/message.ts'
import { orderPlaces, type Place, type PlaceOrder, type Places } from '../../core/search/places.ts'
import type { SearchQuery } from '../../core/search/query.ts'
import {
  type Candidate,
  type Collection,
  candidateOf,
  rank,
  rarity,
  tellingWords,
} from '../../core/search/rank.ts'
import { snippetOf } from '../../core/search/snippet.ts'
import {
  distinctWordsOf,
  type SearchedRow,
  searchedRow,
  UNITS_AT_ONCE,
  wordsOf,
} from '../../core/search/words.ts'
import type { Indexed, SearchFilter, SearchHit, SearchPage, SearchRequest } from '../search.ts'
import { decodeContent, parseStoredObject } from './content-codec.ts'
import { decodeKind, decodeRole, encodeKind, encodeRole, rowId } from './row-codec.ts'
import { requireHead } from './sessions.ts'
import type { Row, Sql } from './sql.ts'
import { KEY_OF_CONTENT, M_VISIBLE } from './view.ts'
import {
  addWords,
  countRows,
  type Expression,
  estimateRows,
  ordinalPlace,
  positionPlace,
  readMoment,
  readPlaces,
  removeWords,
  type Scope,
} from './word-index.ts'
import { begun, mapped, together, type Work } from './work.ts'

// ── The index ───────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Rows and bytes of contents that one transaction adds to the index, so that no writer waits for it long. */
const [PAGE_ROWS, PAGE_BYTES] = [500, 500_000]
/** Sessions in one transaction: one in PostgreSQL, where each is locked meanwhile. */
const PAGE_SESSIONS = { sqlite: 250, postgres: 1 }

/** The rows of a session that are not in the index. */
const UNINDEXED = `from undertext_sessions s left join undertext_searched i on {same i s} i.session = s.no
  where s.messages > coalesce(i.positions, 0) or s.inserted > coalesce(i.ordinals, 0)`

/**
 * Sessions with rows that are not in the index. To look through all of them takes time, so SQLite marks the last key when all were
 * found complete: keys grow, except after a removal, which deletes the mark.
 */
export function* readUnindexed(sql: Sql, limit: number, onlyIfUsed = false): Work<string[]> {
  return yield* sql.outside('search', function* () {
    if (onlyIfUsed && (yield* sql.get('select 1 from undertext_searched limit 1')) === undefined) return []
    if (sql.dialect === 'sqlite' && (yield* sql.get(IS_COMPLETE)) !== undefined) return []
    const ids = (yield* sql.all(`select s.id ${UNINDEXED} limit ?`, limit)).map(([id]) => id as string)
    if (ids.length === 0 && sql.dialect === 'sqlite' && !sql.readonly) yield* markComplete(sql, !onlyIfUsed)
    return ids
  })
}

/** How many rows are not in the index, of one session or of all. */
export function* countUnindexed(sql: Sql, session?: string): Work<number> {
  return yield* sql.read('search', function* () {
    if (session !== undefined) {
      const found = yield* readProgress(sql, session)
      return found === undefined ? 0 : found.messages - found.positions + found.inserted - found.ordinals
    }
    const row = yield* sql.get(
      `select cast(sum(s.messages - coalesce(i.positions, 0) + s.inserted - coalesce(i.ordinals, 0)) as bigint) ${UNINDEXED}`,
    )
    return Number(row?.[0] ?? 0)
  })
}

const IS_COMPLETE = `select 1 from undertext_meta where key = 'searched'
  and cast(value as integer) = coalesce((select max(key) from undertext_messages), 0)`

function* markComplete(sql: Sql, isPatient: boolean): Work<void> {
  try {
    yield* sql.write(
      'search',
      function* () {
        yield* sql.run(
          `insert into undertext_meta (key, value) select 'searched', coalesce((select max(key) from undertext_messages), 0)
         where not exists (select 1 ${UNINDEXED}) on conflict (key) do update set value = excluded.value`,
        )
      },
      isPatient,
    )
  } catch (error) {
    // Without the mark the next search looks through the sessions again.
    if (!isUndertextError(error)) throw error
  }
}

/** Removes a session from the index, within the transaction that removes rows of it. */
export function* forgetWords(sql: Sql, session: number): Work<void> {
  yield* removeWords(sql, session)
  if (sql.dialect === 'sqlite') yield* sql.run("delete from undertext_meta where key = 'searched'")
}

/** How far a session is in the index. */
type Progress = {
  readonly no: number
  readonly incarnation: string
  readonly positions: number
  readonly ordinals: number
}

/** The next rows of a session for the index. */
type IndexPage = {
  readonly id: string
  readonly before: Progress
  readonly positions: number
  readonly ordinals: number
  readonly rows: readonly (RowText & { readonly place: number })[]
  /** Whether no other rows are left. */
  readonly isLast: boolean
}

/** Adds rows to the index; throws as `Searching.index`. It reads and splits the rows before the transaction, to hold its lock briefly. */
export function* indexSessions(sql: Sql, ids: readonly string[], isPatient = true): Work<Indexed> {
  const pages: IndexPage[] = []
  let done = 0
  yield* sql.read('search', function* () {
    const room = { rows: PAGE_ROWS, bytes: PAGE_BYTES }
    for (const id of ids.slice(0, PAGE_SESSIONS[sql.dialect])) {
      const page = yield* readIndexPage(sql, id, room)
      if (page !== undefined) pages.push(page)
      if (page?.isLast === false) break
      done++
      if (room.rows <= 0 || room.bytes <= 0) break
    }
  })
  // Rows of FTS5 are added fastest in the order of their rowids.
  pages.sort((a, b) => a.before.no - b.before.no)
  if (pages.length === 0) return { sessions: done, rows: 0 }
  const reading = wordsOfPages(pages)
  let step = reading.next()
  for (; step.done !== true; step = reading.next()) yield turn()
  const words = step.value
  const { unwritten, rows } = yield* sql.write(
    'search',
    function* () {
      const unwritten = new Set<string>()
      let rows = 0
      for (const [at, page] of pages.entries()) {
        const { before, positions, ordinals } = page
        if (yield* writeIndexPage(sql, page, words[at]!))
          rows += positions - before.positions + ordinals - before.ordinals
        else unwritten.add(page.id)
      }
      return { unwritten, rows }
    },
    isPatient,
  )
  // Where another process added rows meanwhile, some may still be missing: the caller asks again.
  const first = ids.findIndex((id) => unwritten.has(id))
  return { sessions: first === -1 ? done : Math.min(done, first), rows }
}

/** A row as its text is read from it. */
type RowText = { readonly role: unknown; readonly kind: unknown; readonly content: string }

function searchedOf({ role, kind, content }: RowText, name: string | number): SearchedRow {
  return searchedRow({ role: decodeRole(role), kind: decodeKind(kind), content: contentOf(content, name) })
}

type RowWords = { readonly place: number; readonly words: readonly string[] }

/** The words of each row. Pauses, so that other work of the process goes on while a page or a long text is split. */
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

/** Reduces the room by what it reads. */
function* readIndexPage(
  sql: Sql,
  id: string,
  room: { rows: number; bytes: number },
): Work<IndexPage | undefined> {
  const found = yield* readProgress(sql, id)
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
    // After the last row that there is: numbers without a row are not looked for again.
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
  return { id, before, positions, ordinals, rows, isLast }
}

const WITH_CONTENT = `from undertext_messages m join undertext_contents c on {same c m} c.key = ${KEY_OF_CONTENT}`
/** The text of a marker is ours. */
const MARKER = encodeKind('marker')

function* readProgress(
  sql: Sql,
  id: string,
): Work<(Progress & { messages: number; inserted: number }) | undefined> {
  yield* sql.enter(id)
  const row = yield* sql.get(
    `select s.no, s.incarnation, coalesce(i.positions, 0), coalesce(i.ordinals, 0), s.messages, s.inserted
     from undertext_sessions s left join undertext_searched i on {same i s} i.session = s.no where {family s} s.id = ?`,
    id,
  )
  if (row === undefined) return undefined
  const [no, incarnation, positions, ordinals, messages, inserted] = row as never as [
    number,
    string,
    ...[number, number, number, number],
  ]
  return { no, incarnation, positions, ordinals, messages, inserted }
}

/** Returns `false` when nothing was written, because the session changed since its page was read. */
function* writeIndexPage(sql: Sql, page: IndexPage, rows: readonly RowWords[]): Work<boolean> {
  const { before, positions, ordinals } = page
  const now = yield* readProgress(sql, page.id)
  // Another process may have added these rows, or removed the session.
  const isSame =
    now !== undefined &&
    now.no === before.no &&
    now.incarnation === before.incarnation &&
    now.positions === before.positions &&
    now.ordinals === before.ordinals &&
    now.messages >= positions
  if (!isSame) return false
  yield* addWords(sql, before.no, rows)
  yield* sql.run(
    `insert into undertext_searched ({family,} session, positions, ordinals) values ({?,} ?, ?, ?)
     on conflict ({family,} session) do update set positions = excluded.positions, ordinals = excluded.ordinals`,
    ...[before.no, positions, ordinals],
  )
  return true
}

/** A stored content, without its images and files, which are not searched; nothing of a damaged one, which `verifySession` reports. */
function contentOf(content: string, row: string | number): string | Part[] {
  try {
    return decodeContent(content, null, NO_BLOBS, row)
  } catch (error) {
    if (isUndertextError(error, 'STORE_CORRUPT')) return ''
    throw error
  }
}

const NO_BLOBS = new Map<string, Uint8Array>()

// ── The search ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Rows with a word that are considered; a word that more rows have is common. */
const MOST_PLACES = 1_000
/** Candidates that are read and ranked together. */
const BLOCK = 40
/** Entries of the index that are compared for rows with several common words: a search takes no longer in a larger store. */
const MOST_MERGED = 100_000
/** Common words of which all pairs are looked for. */
const MOST_PAIRED = 4
/** How far around a candidate its neighbours are read. */
const NEIGHBOURS = 2
/** Sessions of an owner that are searched one by one. */
const FEW_SESSIONS = 50

/** Finds rows. The index gives candidates by the words of the query; blocks of them are read and ranked. Throws `SESSION_NOT_FOUND`. */
export function* find(sql: Sql, request: SearchRequest): Work<SearchPage> {
  return yield* sql.read('search', function* () {
    const { query, after, limit } = request
    const session =
      request.session === undefined
        ? undefined
        : yield* requireHead(sql, request.session, request.filter.owner)
    if (query.words.length === 0) return { hits: [], next: undefined }
    const moment = after?.moment ?? (yield* readMoment(sql))
    // All rows that SQLite reads on the first page are of its moment; in PostgreSQL its clock decides.
    const until = sql.dialect === 'postgres' ? moment : after?.moment
    const scopes = yield* scopesOf(sql, request.filter, session?.no, until)
    const pool = yield* readPool(sql, request, scopes, session, moment)
    const hasForks = session === undefined && (yield* sql.get(IS_SHARED)) !== undefined
    const shown = hasForks ? { texts: new Set<string>(), upTo: 0 } : undefined
    const search: Search = { query, filter: request.filter, moment, shown, ...pool }
    const hits: SearchHit[] = []
    for (let { block, skip } = after ?? { block: 0, skip: 0 }; block * BLOCK < pool.places.length; block++) {
      const ranked = yield* rankBlock(sql, search, block)
      const taken = ranked.slice(skip, skip + limit - hits.length)
      for (const { row, score } of taken) hits.push(yield* hitOf(sql, row, score, query))
      if (hits.length === limit) {
        const left = skip + taken.length
        const { counts } = pool
        if (left < ranked.length) return { hits, next: { block, skip: left, moment, counts } }
        const isOver = (block + 1) * BLOCK >= pool.places.length
        return { hits, next: isOver ? undefined : { block: block + 1, skip: 0, moment, counts } }
      }
      skip = 0
    }
    return { hits, next: undefined }
  })
}

const IS_SHARED = 'select 1 from undertext_messages where source is not null limit 1'

/** Where to look: everywhere or in a session; for an owner of few sessions in a file, in each of them. */
function* scopesOf(
  sql: Sql,
  filter: SearchFilter,
  session: number | undefined,
  moment: number | undefined,
): Work<Scope[]> {
  const { owner, roles, tools, from, to, hidden } = filter
  const conditions: string[] = []
  const values: unknown[] = []
  const add = (condition: string, ...given: unknown[]): void => {
    conditions.push(condition)
    for (const value of given) values.push(value)
  }
  if (roles !== undefined)
    add('m.role in (select value from {list ?} roles)', JSON.stringify(roles.map(encodeRole)))
  if (tools !== undefined)
    add(`(${tools.map(() => '{instr}(m.tools, ?) > 0').join(' or ')})`, ...tools.map(nameInTools))
  if (from !== undefined) add('m.created_at >= ?', from)
  if (to !== undefined) add('m.created_at <= ?', to)
  if (hidden !== undefined) add(`${hidden ? 'not ' : ''}(${M_VISIBLE})`)
  // An import in progress is in no list, but it can be named.
  const isStaged = 'select 1 from undertext_sessions where staged_by is not null limit 1'
  if (session === undefined && (yield* sql.get(isStaged)) !== undefined)
    add(
      `exists (select 1 from undertext_sessions o where {same o m} o.no = m.session and o.staged_by is null)`,
    )
  const scope = (no: number | undefined): Scope => ({
    session: no,
    condition: conditions.join(' and '),
    values,
    moment,
  })
  if (owner === undefined) return [scope(session)]
  if (sql.dialect === 'sqlite' && session === undefined) {
    const owned = yield* sql.all(
      'select no from undertext_sessions where owner = ? order by no desc limit ?',
      owner,
      FEW_SESSIONS + 1,
    )
    if (owned.length <= FEW_SESSIONS) return owned.map(([no]) => scope(no as number))
  }
  add('exists (select 1 from undertext_sessions s where {same s m} s.no = m.session and s.owner = ?)', owner)
  return [scope(session)]
}

/** A name as the column `tools` has it. */
function nameInTools(name: string): string {
  return JSON.stringify(name)
}

/** Candidates, and what the index knows of words. */
type Pool = {
  readonly places: PlaceOrder
  readonly collection: Collection
  /** As `SearchPlace.counts`. */
  readonly counts: readonly number[]
}

type Search = Pool & {
  readonly query: SearchQuery
  readonly filter: SearchFilter
  readonly moment: number
  /** What was shown of texts that forks share: the texts of the candidates up to a number. Absent where no text is shared. */
  readonly shown: { readonly texts: Set<string>; upTo: number } | undefined
}

function* readPool(
  sql: Sql,
  { query, isQuestion, after }: SearchRequest,
  scopes: readonly Scope[],
  session: { readonly no: number; readonly messageCount: number } | undefined,
  moment: number,
): Work<Pool> {
  const words = query.words.map(({ word }) => word)
  const placesWith = (expression: Expression): Work<Places[]> =>
    mapped(scopes, (scope) => readPlaces(sql, expression, scope, MOST_PLACES))
  // Sent together: the statements do not wait for each other.
  const asked = begun(together(words, (word) => placesWith([[word]])))
  const [known, ...knownCounts] = after?.counts ?? []
  const documents = known ?? (yield* countDocuments(sql, session, moment))
  const lists = (yield* asked).map((found) => [...found])
  const counts = lists.map((found) => found.reduce((sum, { places }) => sum + places.length, 0))
  const common = [...words.keys()].filter((index) => counts[index]! >= MOST_PLACES)
  const rare = words.filter((_, index) => counts[index]! < MOST_PLACES)
  // How rare a word is does not depend on the filter.
  const isFiltered = scopes.length !== 1 || scopes[0]!.condition !== ''
  // Rows that are appended later must not change the order of the pages that follow.
  const isCounted = known !== undefined
  for (const [index, count] of knownCounts.entries()) counts[index] = count
  const uncounted = isCounted ? [] : isFiltered ? words.keys() : common
  const counted = yield* together(uncounted, function* (index) {
    const [newest] = lists[index]!
    const exact = isFiltered || sql.dialect === 'postgres'
    const count = exact
      ? yield* countRows(sql, words[index]!, session?.no)
      : yield* estimateRows(sql, newest!, session, documents)
    return [index, count] as const
  })
  for (const [index, count] of counted) counts[index] = Math.max(count, counts[index]!)
  common.sort((a, b) => counts[a]! - counts[b]!)
  // Of a common word not all rows were read: those with several words of the query are looked for.
  let left = MOST_MERGED
  const add = function* (several: readonly number[], expression: Expression, entries: number): Work<void> {
    const expected = Math.min(entries, (MOST_PLACES * documents) / counts[several.at(-1)!]!)
    if (expected > left) return
    left -= expected
    for (const found of yield* placesWith(expression)) for (const index of several) lists[index]!.push(found)
  }
  const all = rare.reduce((sum, word) => sum + counts[words.indexOf(word)]!, 0)
  for (const index of common) if (rare.length > 0) yield* add([index], [rare, [words[index]!]], all)
  for (const several of combinations(common))
    yield* add(
      several,
      several.map((index) => [words[index]!]),
      counts[several[0]!]!,
    )
  const frequencies = new Map(words.map((word, index) => [word, counts[index]!]))
  const collection: Collection = { documents, documentsWith: (word) => frequencies.get(word) ?? 0 }
  const found = query.words.map(({ word, weight }, index) => ({
    value: weight * rarity(word, collection),
    lists: lists[index]!,
  }))
  return { places: orderPlaces(found, isQuestion), collection, counts: [documents, ...counts] }
}

/** All pairs of the least common words, and more and more of them together. */
function combinations(common: readonly number[]): number[][] {
  const first = common.slice(0, MOST_PAIRED)
  const pairs = first.flatMap((a, at) => first.slice(at + 1).map((b) => [a, b]))
  const more = common.slice(2, MOST_PAIRED + 2).map((_, at) => common.slice(0, at + 3))
  return [...pairs, ...more]
}

/** How many rows there were at a moment; in SQLite the last key is as good as a count. In PostgreSQL those of all sessions are of now. */
function* countDocuments(
  sql: Sql,
  session: { readonly no: number } | undefined,
  moment: number,
): Work<number> {
  if (session === undefined)
    return sql.dialect === 'sqlite'
      ? moment
      : Number((yield* sql.get('select sum(messages + inserted)::bigint from undertext_sessions'))![0] ?? 0)
  const row = yield* sql.get(
    sql.dialect === 'sqlite'
      ? 'select position from undertext_messages where session = ? and position is not null and key <= ? order by position desc limit 1'
      : 'select place / 2 from undertext_words where {family} session = ? and added <= ? order by place desc limit 1',
    ...[session.no, moment],
  )
  return Number(row?.[0] ?? 0)
}

/** A row that was read for the ranking. */
type FoundRow = Candidate & {
  readonly place: Place
  readonly row: Row
  /** What is searched of it; absent for a long text, which is read again for a hit. */
  readonly searched?: SearchedRow
}

/** The hits of a block of candidates, best first. */
function* rankBlock(
  sql: Sql,
  search: Search,
  block: number,
): Work<{ readonly row: FoundRow; readonly score: number }[]> {
  const { query, filter, places, moment } = search
  const own = places.slice(block * BLOCK, (block + 1) * BLOCK)
  const names = new Set(own.map(nameOf))
  // A neighbour without words of the query changes no score.
  const beside = own.flatMap(neighboursOf).filter(places.has)
  const context = new Map(beside.map((place) => [nameOf(place), place]))
  for (const name of names) context.delete(name)
  const isKnown = ({ place, row }: FoundRow): boolean => places.has(place) || addedAt(row) <= moment
  const rows = (yield* readRows(sql, own, [...context.values()], query, places)).filter(isKnown)
  const mayBeHit = (place: Place, row: Row): boolean =>
    places.has(place) || (addedAt(row) <= moment && passes(row, filter))
  const stored = new Map(rows.map(({ place, row }) => [nameOf(place), row]))
  const shown = yield* firstOfTexts(sql, search, block, mayBeHit, stored)
  return rank(query, rows, search.collection).filter(
    ({ row: { place, row } }) => shown.has(nameOf(place)) && mayBeHit(place, row),
  )
}

/**
 * Names of the rows of a block that are shown: of a text that forks share only the first row, in the order of the candidates, which is by
 * score and then the newest session.
 */
function* firstOfTexts(
  sql: Sql,
  { places, shown }: Search,
  block: number,
  mayBeHit: (place: Place, row: Row) => boolean,
  rows: ReadonlyMap<string, Row>,
): Work<ReadonlySet<string>> {
  const own = places.slice(block * BLOCK, (block + 1) * BLOCK)
  if (shown === undefined) return new Set(own.map(nameOf))
  const { texts } = shown
  /** Returns whether no row before had the text. */
  const addText = (place: Place, row: Row | undefined): boolean => {
    if (row === undefined || !mayBeHit(place, row)) return false
    const known = texts.size
    return texts.add(`${row[0]} ${row[CONTENT_KEY]}`).size > known
  }
  const before = places.slice(shown.upTo, block * BLOCK)
  for (const row of before.length === 0 ? [] : yield* readStored(sql, before, 0)) addText(placeOf(row), row)
  shown.upTo = (block + 1) * BLOCK
  return new Set(own.filter((place) => addText(place, rows.get(nameOf(place)))).map(nameOf))
}

function nameOf({ family, session, place }: Place): string {
  return `${family} ${session} ${place}`
}

/** The messages around a message. */
function neighboursOf({ family, session, place }: Place): Place[] {
  if (place % 2 === 1) return []
  const near: Place[] = []
  for (let distance = -NEIGHBOURS; distance <= NEIGHBOURS; distance++)
    if (distance !== 0 && place + 2 * distance > 0)
      near.push({ family, session, place: place + 2 * distance })
  return near
}

/** The columns of `readRows`: of long contents only that they are. The last is what the moment of a search is compared with. */
const FOUND = `m.session, m.kind, m.role, m.position, m.ordinal, m.anchor, m.id, m.created_at, m.tools,
  case when octet_length(c.content) <= ? then c.content end, c.metadata, s.id, s.incarnation,
  (select h.id from undertext_compactions h where {same h m} h.no = coalesce(m.condense_parent, m.truncation_parent, m.retired_by)),
  c.key`
/** The places of some columns in a row; the family is the first. */
const [KIND, ROLE, CREATED_AT, TOOLS, CONTENT, HIDDEN_BY, CONTENT_KEY, ADDED] = [2, 3, 8, 9, 10, 14, 15, 16]
const JOINED = `{cross} undertext_contents c on {same c m} c.key = ${KEY_OF_CONTENT} {cross} undertext_sessions s on {same s m} s.no = m.session`
/** By position, or by ordinal for inserted rows. */
const SQLITE_ROWS = [
  ['m.position = {int k 2} and m.ordinal = 0', 0],
  ['m.position is null and m.ordinal = {int k 2}', 1],
] as const
const OF_PLACE = `m.family = {int k 0} and m.session = {int k 1} and m.key = ({int k 1} - 1) * ${2 ** 34} + {int k 2}`
const [POSTGRES_ROWS, CITUS_ROWS] = [
  `cross join lateral (select * from undertext_messages m where ${OF_PLACE} offset 0) m`,
  // Each worker looks for the rows that it has.
  `join undertext_messages m on ${OF_PLACE}`,
].map(
  (joined) => `select m.family, ${FOUND},
    (select min(w.added) from undertext_words w where {same w m} w.session = m.session and w.place = {int k 2})
  from {elements ?} k ${joined} ${JOINED}`,
) as [string, string]

function addedAt(row: Row): number {
  return (row[ADDED] as number | null) ?? Number.POSITIVE_INFINITY
}

/** Contents up to this size, bytes, are read together; a longer one alone, so that memory does not grow with their number. */
const MOST_TOGETHER = 20_000
/** No content is longer than 2^31 bytes, the range of the length in PostgreSQL. */
const WHOLE = 2 ** 31 - 1
/** Units of texts that a block reads, of one text, and of a short text in any case: neighbours are read no further. */
const [MOST_READ, MOST_OF_ONE, LEAST_OF_ONE] = [200_000, 50_000, 500]

/** Reads rows and those beside them. Of a long text the index knows which words come later. */
function* readRows(
  sql: Sql,
  own: readonly Place[],
  beside: readonly Place[],
  query: SearchQuery,
  order: PlaceOrder,
): Work<FoundRow[]> {
  const telling = tellingWords(query)
  const stored = new Map<string, Row>()
  for (const row of yield* readStored(sql, [...own, ...beside], MOST_TOGETHER))
    stored.set(nameOf(placeOf(row)), row)
  let room = MOST_READ
  const found: FoundRow[] = []
  // An engine may return the rows in any order; the first ones are read furthest.
  for (const [at, place] of [...own, ...beside].entries()) {
    const row = stored.get(nameOf(place))
    if (row === undefined) continue
    const isOwn = at < own.length
    const left = isOwn ? room : 0
    const isLong = row[CONTENT] === null
    const [whole] = isLong && left > 0 ? yield* readStored(sql, [place], WHOLE) : [row]
    // Removed meanwhile, where the engine reads each statement at a later moment.
    if (whole === undefined) continue
    const candidate = candidateIn(whole, place, telling, left)
    if (isOwn) room -= candidate.read
    if (candidate.isCut) {
      const words = new Set(candidate.row.words)
      for (const index of order.wordsOf(place)) {
        const { word } = query.words[index]!
        if (!words.has(word)) candidate.row.words.push(word)
      }
    }
    found.push({ ...candidate.row, row, ...(!isLong && { searched: candidate.searched }) })
  }
  return found
}

function* readStored(sql: Sql, places: readonly Place[], most: number): Work<Row[]> {
  if (sql.dialect === 'postgres') {
    const list = places.map(({ family, session, place }) => [family, session, place])
    return yield* sql.all(sql.isDistributed ? CITUS_ROWS : POSTGRES_ROWS, most, JSON.stringify(list))
  }
  const rows: Row[] = []
  for (const [condition, rest] of SQLITE_ROWS) {
    const list = places.flatMap(({ session, place }) =>
      place % 2 === rest ? [[0, session, (place - rest) / 2]] : [],
    )
    if (list.length === 0) continue
    const found = yield* sql.all(
      `select 0, ${FOUND}, m.key from {elements ?} k {cross} undertext_messages m {index undertext_log}
       on m.session = {int k 1} and ${condition} ${JOINED}`,
      most,
      JSON.stringify(list),
    )
    for (const row of found) rows.push(row)
  }
  return rows
}

function placeOf([family, session, , , position, ordinal]: Row): Place {
  return {
    family: family as number,
    session: session as number,
    place: position !== null ? positionPlace(position as number) : ordinalPlace(ordinal as number),
  }
}

/** What a row says, and how many units of its text were read. */
function candidateIn(
  row: Row,
  place: Place,
  telling: ReadonlyMap<string, string>,
  left: number,
): {
  readonly row: Candidate & { readonly place: Place; readonly words: string[] }
  readonly searched: SearchedRow
  readonly read: number
  /** Whether a part of the text was not read. */
  readonly isCut: boolean
} {
  const [, , kind, role, position, , , , createdAt, , content, metadata, sessionId] = row
  const name = `session ${sessionId}, row ${place.place}`
  const searched =
    content === null ? { text: '', own: 0 } : searchedOf({ role, kind, content: content as string }, name)
  const { text, own } = searched
  const end = wordEnd(text, Math.max(LEAST_OF_ONE, Math.min(MOST_OF_ONE, left)))
  // Other words count by their number. A piece of a text would keep all of it in memory.
  const wordsIn = (some: string): string[] => wordsOf(some).map((word) => telling.get(word) ?? '')
  const typed = text.slice(0, own)
  const words = wordsIn(typed.slice(0, end))
  const count = words.length
  for (const word of wordsIn(text.slice(own, Math.max(own, end)))) words.push(word)
  const candidate = candidateOf(
    typed,
    decodeRole(role),
    metadata === null ? undefined : parseStoredObject(metadata, 'metadata', name),
    {
      key: `${sessionId} ${place.place}`,
      session: sessionId as string,
      createdAt: createdAt as number,
      ...(position !== null && { position: position as number }),
    },
    words,
  )
  const isCut = content === null || end < text.length
  return { row: { ...candidate, words, place, own: count }, searched, read: end, isCut }
}

/** The longest word that is not cut where a text is cut. */
const MOST_WORD = 200

/** A place near another one, or before it, at which no word is cut. */
function wordEnd(text: string, at: number): number {
  if (at >= text.length) return text.length
  for (let place = at; place > at - MOST_WORD && place > 0; place--)
    if (text.charCodeAt(place) <= 0x20) return place
  return codePointStart(text, at)
}

/** The same as the conditions of `scopesOf` on a row; its session is that of a hit. */
function passes(row: Row, { roles, tools, from, to, hidden }: SearchFilter): boolean {
  const at = row[CREATED_AT] as number
  const named = row[TOOLS] as string | null
  return (
    decodeKind(row[KIND]) !== 'marker' &&
    (roles?.includes(decodeRole(row[ROLE])) ?? true) &&
    (tools?.some((name) => named?.includes(nameInTools(name))) ?? true) &&
    (from === undefined || at >= from) &&
    (to === undefined || at <= to) &&
    (hidden === undefined || hidden === (row[HIDDEN_BY] !== null))
  )
}

/** Units of a text in which the passage of a hit is looked for. */
const MAX_PASSAGE = 200_000

/** A passage of the own words; of what a user attached, when only that has words of the query. */
function passageOf({ text, own }: SearchedRow, query: SearchQuery): SearchHit['snippet'] {
  const typed = snippetOf(text.slice(0, Math.min(own, MAX_PASSAGE)), query)
  if (typed.marks.length > 0 || own === text.length) return typed
  const attached = snippetOf(text.slice(own, own + MAX_PASSAGE), query)
  return attached.marks.length > 0 || own === 0 ? attached : typed
}

function* hitOf(sql: Sql, found: FoundRow, score: number, query: SearchQuery): Work<SearchHit> {
  const { row, place } = found
  const [, , kind, role, position, ordinal, anchor, id, createdAt, , , , sessionId, incarnation, hiddenBy] =
    row
  let { searched } = found
  if (searched === undefined) {
    const [again] = yield* readStored(sql, [place], WHOLE)
    searched =
      again === undefined
        ? { text: '', own: 0 }
        : searchedOf({ role, kind, content: again[CONTENT] as string }, place.place)
  }
  return {
    sessionId: sessionId as string,
    messageId: rowId(incarnation as string, id, position, ordinal),
    kind: decodeKind(kind) as SearchHit['kind'],
    role: decodeRole(role),
    ...(position === null ? {} : { position: position as number }),
    anchor: anchor as number,
    createdAt: createdAt as number,
    score,
    snippet: passageOf(searched, query),
    ...(hiddenBy === null ? {} : { hiddenBy: hiddenBy as string }),
  }
}
