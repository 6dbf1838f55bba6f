import { codePointStart } from '../../core/messages/characters.ts'
import { orderPlaces, type Place, type PlaceOrder, type Places } from '../../core/search/places.ts'
import type { SearchQuery } from '../../core/search/query.ts'
import {
  type Candidate,
  type Collection,
  candidateOf,
  distinctiveWords,
  rank,
  rarity,
} from '../../core/search/rank.ts'
import { snippetOf } from '../../core/search/snippet.ts'
import { type SearchedRow, wordsOf } from '../../core/search/words.ts'
import type { SearchFilter, SearchHit, SearchPage, SearchRequest } from '../search.ts'
import { parseStoredObject } from './content-codec.ts'
import { decodeKind, decodeRole, encodeRole, rowId } from './row-codec.ts'
import { searchedOf } from './search-index.ts'
import { requireHead } from './sessions.ts'
import { type Expression, type Row, reading, type Scope, type Sql } from './sql.ts'
import { M_VISIBLE } from './view.ts'
import { ordinalPlace, positionPlace, readPlaces } from './word-index.ts'
import { begun, mapped, together, type Work } from './work.ts'

/** The maximum number of rows with a word that are considered. A word in more rows is common. */
const MAX_PLACES = 1_000
/** The number of candidates that are read and ranked together. */
const BLOCK = 40
/**
 * The maximum number of index entries that are compared to find rows with several common words, so that a search takes no longer in a
 * larger store.
 */
const MAX_MERGED = 100_000
/** The maximum number of common words that are combined in pairs. */
const MAX_PAIRED_WORDS = 4
/** The distance, in rows, up to which a candidate's neighbors are read. */
const NEIGHBOR_ROWS = 2
/** The maximum number of an owner's sessions that are searched one by one. */
const MAX_SEPARATE_SESSIONS = 50

/** Finds rows. The index returns candidates by the words of the query, which are read and ranked in blocks. Throws `SESSION_NOT_FOUND`. */
export const find = reading('search', function* (sql: Sql, request: SearchRequest): Work<SearchPage> {
  const { query, after, limit } = request
  const session = request.session === undefined ? undefined : yield* requireHead(sql, request.session)
  if (query.words.length === 0) return { hits: [], next: undefined }
  const moment = after?.moment ?? (yield* sql.words.moment(sql))
  // In SQLite, all rows read for the first page belong to its moment; in PostgreSQL, the database's clock decides.
  const until = sql.isShared ? moment : after?.moment
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

const IS_SHARED = 'select 1 from undertext_messages where source is not null limit 1'

/** Returns the scopes to search: everything, one session, or each session of an owner who has few of them in a file. */
function* scopesOf(
  sql: Sql,
  filter: SearchFilter,
  session: number | undefined,
  moment: number | undefined,
): Work<Scope[]> {
  const { roles, tools, from, to, hidden } = filter
  const conditions: string[] = []
  const values: unknown[] = []
  const add = (condition: string, ...given: unknown[]): void => {
    conditions.push(condition)
    for (const value of given) values.push(value)
  }
  if (roles !== undefined)
    add('m.role in (select value from {list ?} roles)', JSON.stringify(roles.map(encodeRole)))
  if (tools !== undefined)
    add(`(${tools.map(() => '{instr}(m.tools, ?) > 0').join(' or ')})`, ...tools.map(encodedToolName))
  if (from !== undefined) add('m.created_at >= ?', from)
  if (to !== undefined) add('m.created_at <= ?', to)
  if (hidden !== undefined) add(`${hidden ? 'not ' : ''}(${M_VISIBLE})`)
  // A search of all sessions excludes imports in progress, but an import can be searched by its name.
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
  if (sql.seen === undefined || session !== undefined) return [scope(session)]
  if (sql.words.hasRanges) {
    const owned = yield* sql.all(
      'select no from undertext_sessions where {seen} true order by no desc limit ?',
      MAX_SEPARATE_SESSIONS + 1,
    )
    if (owned.length <= MAX_SEPARATE_SESSIONS) return owned.map(([no]) => scope(no as number))
  }
  add('exists (select 1 from undertext_sessions s where {same s m} {seen s} s.no = m.session)')
  return [scope(session)]
}

/** Returns a name as it appears in the column `tools`. */
function encodedToolName(name: string): string {
  return JSON.stringify(name)
}

/** Candidates, and the index's figures about words. */
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
  /** The texts already shown, for texts that forks share: those of the candidates up to a number. Absent if no text is shared. */
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
    mapped(scopes, (scope) => readPlaces(sql, expression, scope, MAX_PLACES))
  // Sent together, because the statements don't depend on each other.
  const asked = begun(together(words, (word) => placesWith([[word]])))
  const [known, ...knownCounts] = after?.counts ?? []
  const documents = known ?? (yield* sql.words.documents(sql, session?.no, moment))
  const lists = (yield* asked).map((found) => [...found])
  const counts = lists.map((found) => found.reduce((sum, { places }) => sum + places.length, 0))
  const common = [...words.keys()].filter((index) => counts[index]! >= MAX_PLACES)
  const rare = words.filter((_, index) => counts[index]! < MAX_PLACES)
  // The rarity of a word doesn't depend on the filter.
  const isFiltered = scopes.length !== 1 || scopes[0]!.condition !== ''
  // Rows appended later must not change the order of the following pages.
  const isCounted = known !== undefined
  for (const [index, count] of knownCounts.entries()) counts[index] = count
  const uncounted = isCounted ? [] : isFiltered ? words.keys() : common
  const counted = yield* together(uncounted, function* (index) {
    const [newest] = lists[index]!
    const { estimate } = sql.words
    const count =
      isFiltered || estimate === undefined
        ? yield* sql.words.count(sql, words[index]!, session?.no)
        : yield* estimate(sql, newest!, session, documents)
    return [index, count] as const
  })
  for (const [index, count] of counted) counts[index] = Math.max(count, counts[index]!)
  common.sort((a, b) => counts[a]! - counts[b]!)
  // Not all rows with a common word were read, so rows with several words of the query are searched for.
  let left = MAX_MERGED
  const add = function* (several: readonly number[], expression: Expression, entries: number): Work<void> {
    const expected = Math.min(entries, (MAX_PLACES * documents) / counts[several.at(-1)!]!)
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

/** Returns combinations of common words: all pairs of the least common ones, and increasingly large groups of them. */
function combinations(common: readonly number[]): number[][] {
  const first = common.slice(0, MAX_PAIRED_WORDS)
  const pairs = first.flatMap((a, at) => first.slice(at + 1).map((b) => [a, b]))
  const more = common.slice(2, MAX_PAIRED_WORDS + 2).map((_, at) => common.slice(0, at + 3))
  return [...pairs, ...more]
}

type FoundRow = Candidate & {
  readonly place: Place
  readonly row: Row
  /** Its searchable text; absent for a long text, which is read again if the row is a hit. */
  readonly searched?: SearchedRow
}

/** Returns the hits of a block of candidates, best first. */
function* rankBlock(
  sql: Sql,
  search: Search,
  block: number,
): Work<{ readonly row: FoundRow; readonly score: number }[]> {
  const { query, filter, places, moment } = search
  const own = places.slice(block * BLOCK, (block + 1) * BLOCK)
  const names = new Set(own.map(nameOf))
  // A neighbor without words of the query changes no score.
  const beside = own.flatMap(neighborsOf).filter(places.has)
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
 * Returns the names of the rows of a block that are shown. If forks share a text, only its first row is shown, in the order of the
 * candidates: by score, then newest session first.
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
  /** Returns whether no earlier row had the text. */
  const addText = (place: Place, row: Row | undefined): boolean => {
    if (row === undefined || !mayBeHit(place, row)) return false
    const known = texts.size
    return texts.add(`${row[0]} ${row[CONTENT_KEY]}`).size > known
  }
  const before = places.slice(shown.upTo, block * BLOCK)
  for (const row of before.length === 0 ? [] : yield* sql.words.rows(sql, before, 0))
    addText(placeOf(row), row)
  shown.upTo = (block + 1) * BLOCK
  return new Set(own.filter((place) => addText(place, rows.get(nameOf(place)))).map(nameOf))
}

function nameOf({ family, session, place }: Place): string {
  return `${family} ${session} ${place}`
}

function neighborsOf({ family, session, place }: Place): Place[] {
  if (place % 2 === 1) return []
  const near: Place[] = []
  for (let distance = -NEIGHBOR_ROWS; distance <= NEIGHBOR_ROWS; distance++)
    if (distance !== 0 && place + 2 * distance > 0)
      near.push({ family, session, place: place + 2 * distance })
  return near
}

/** The indexes of some columns in a row: the family, `FOUND`, and the value that is compared with the moment of a search. */
const [KIND, ROLE, CREATED_AT, TOOLS, CONTENT, HIDDEN_BY, CONTENT_KEY, ADDED] = [2, 3, 8, 9, 10, 14, 15, 16]

function addedAt(row: Row): number {
  return (row[ADDED] as number | null) ?? Number.POSITIVE_INFINITY
}

/**
 * The maximum size in bytes of contents that are read together. A longer content is read alone, so that memory doesn't grow with the number
 * of contents.
 */
const MAX_CONTENT_BYTES = 20_000
/** The maximum length of a content in bytes, which PostgreSQL accepts as a length. */
const UNLIMITED_BYTES = 2 ** 31 - 1
/**
 * UTF-16 units to read: at most of all candidates of a block, at most of one text, and at least of one text. Of neighbors, only the least
 * is read.
 */
const [MAX_READ_UNITS, MAX_ROW_UNITS, MIN_ROW_UNITS] = [200_000, 50_000, 500]

/** Reads rows and their neighbors. For a long text, the index shows which words come later. */
function* readRows(
  sql: Sql,
  own: readonly Place[],
  beside: readonly Place[],
  query: SearchQuery,
  order: PlaceOrder,
): Work<FoundRow[]> {
  const telling = distinctiveWords(query)
  const stored = new Map<string, Row>()
  for (const row of yield* sql.words.rows(sql, [...own, ...beside], MAX_CONTENT_BYTES))
    stored.set(nameOf(placeOf(row)), row)
  let room = MAX_READ_UNITS
  const found: FoundRow[] = []
  // The engine may return the rows in any order, but the first candidates are read furthest.
  for (const [at, place] of [...own, ...beside].entries()) {
    const row = stored.get(nameOf(place))
    if (row === undefined) continue
    const isOwn = at < own.length
    const left = isOwn ? room : 0
    const isLong = row[CONTENT] === null
    const [whole] = isLong && left > 0 ? yield* sql.words.rows(sql, [place], UNLIMITED_BYTES) : [row]
    // The row was removed meanwhile, because each statement of the engine may see a later moment.
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

function placeOf([family, session, , , position, ordinal]: Row): Place {
  return {
    family: family as number,
    session: session as number,
    place: position !== null ? positionPlace(position as number) : ordinalPlace(ordinal as number),
  }
}

/** Returns a row's searchable text, and how many units of it were read. */
function candidateIn(
  row: Row,
  place: Place,
  telling: ReadonlyMap<string, string>,
  left: number,
): {
  readonly row: Candidate & { readonly place: Place; readonly words: string[] }
  readonly searched: SearchedRow
  readonly read: number
  /** Whether a part of the text wasn't read. */
  readonly isCut: boolean
} {
  const [, , kind, role, position, , , , createdAt, , content, metadata, sessionId] = row
  const name = `session ${sessionId}, row ${place.place}`
  const searched =
    content === null ? { text: '', own: 0 } : searchedOf({ role, kind, content: content as string }, name)
  const { text, own } = searched
  const end = wordEnd(text, Math.max(MIN_ROW_UNITS, Math.min(MAX_ROW_UNITS, left)))
  // Other words count only by their number. They aren't kept, because a slice would keep the whole text in memory.
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

/** The length of the longest word that isn't split where a text is cut. */
const MAX_WORD_LENGTH = 200

/** Returns a place near another one, or before it, where no word is split. */
function wordEnd(text: string, at: number): number {
  if (at >= text.length) return text.length
  for (let place = at; place > at - MAX_WORD_LENGTH && place > 0; place--)
    if (text.charCodeAt(place) <= 0x20) return place
  return codePointStart(text, at)
}

/** Returns whether a row meets the conditions of `scopesOf`. The session isn't checked, because it is that of a hit. */
function passes(row: Row, { roles, tools, from, to, hidden }: SearchFilter): boolean {
  const at = row[CREATED_AT] as number
  const named = row[TOOLS] as string | null
  return (
    decodeKind(row[KIND]) !== 'marker' &&
    (roles?.includes(decodeRole(row[ROLE])) ?? true) &&
    (tools?.some((name) => named?.includes(encodedToolName(name))) ?? true) &&
    (from === undefined || at >= from) &&
    (to === undefined || at <= to) &&
    (hidden === undefined || hidden === (row[HIDDEN_BY] !== null))
  )
}

/** The length of the text, in UTF-16 units, in which the passage of a hit is searched for. */
const MAX_PASSAGE = 200_000

/** Returns a passage of the row's own text; if only the text that a user attached has words of the query, a passage of that. */
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
    const [again] = yield* sql.words.rows(sql, [place], UNLIMITED_BYTES)
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
