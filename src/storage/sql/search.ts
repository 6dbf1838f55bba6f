import { isUndertextError } from '../../errors.ts'
import type { Message, Part } from '../../messages/message.ts'
import { begun, together, type Work } from '../../model/work.ts'
import type { SearchQuery } from '../../search/query.ts'
import { type Candidate, type Collection, candidateOf, MAX_READ, rank, rarity } from '../../search/rank.ts'
import { snippetOf } from '../../search/snippet.ts'
import { searchedText, wordsOf } from '../../search/words.ts'
import type { SearchFilter, SearchHit, SearchPage, SearchRequest } from '../search.ts'
import { decodeContent, parseStoredObject } from './content-codec.ts'
import { decodeKind, decodeRole, encodeKind, encodeRole, rowId } from './row-codec.ts'
import { requireHead } from './sessions.ts'
import type { Row, Sql } from './sql.ts'
import { M_VISIBLE } from './view.ts'
import {
  addWords,
  countRows,
  ordinalPlace,
  type Place,
  positionPlace,
  readMoment,
  readPlaces,
  removeWords,
  type Scope,
} from './word-index.ts'

// ── The index ───────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Rows and bytes of contents that one transaction adds to the index, so that no writer waits for it long. */
const [PAGE_ROWS, PAGE_BYTES] = [500, 500_000]
/** Sessions in one transaction: one in PostgreSQL, where each is locked meanwhile. */
const PAGE_SESSIONS = { sqlite: 250, postgres: 1 }

/** The rows of a session that are not in the index. */
const UNINDEXED = `from undertext_sessions s left join undertext_searched i on {same i s} i.session = s.no
  where s.messages > coalesce(i.positions, 0) or s.inserted > coalesce(i.ordinals, 0)`

/**
 * Sessions with rows that are not in the index. To look through all of them takes time, so SQLite notes the last key when all were
 * found complete: keys grow, except after a removal, which deletes the note.
 */
export function* readUnindexed(sql: Sql, limit: number, begun = false): Work<string[]> {
  return yield* sql.outside('search', function* () {
    if (begun && (yield* sql.get('select 1 from undertext_searched limit 1')) === undefined) return []
    if (sql.dialect === 'sqlite' && (yield* sql.get(IS_NOTED)) !== undefined) return []
    const ids = (yield* sql.all(`select s.id ${UNINDEXED} limit ?`, limit)).map(([id]) => id as string)
    if (ids.length === 0 && sql.dialect === 'sqlite' && !sql.readonly) yield* note(sql)
    return ids
  })
}

const IS_NOTED = `select 1 from undertext_meta where key = 'searched'
  and cast(value as integer) = coalesce((select max(key) from undertext_messages), 0)`

function* note(sql: Sql): Work<void> {
  try {
    yield* sql.write('search', function* () {
      yield* sql.run(
        `insert into undertext_meta (key, value) select 'searched', coalesce((select max(key) from undertext_messages), 0)
         where not exists (select 1 ${UNINDEXED}) on conflict (key) do update set value = excluded.value`,
      )
    })
  } catch (error) {
    // Without the note the next search looks through the sessions again.
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
  readonly rows: readonly { readonly place: number; readonly content: string }[]
  /** Whether no other rows are left. */
  readonly isLast: boolean
}

/** Adds rows to the index; throws as `Searching.index`. Read and split into words before the transaction, whose lock is then held for less. */
export function* indexSessions(sql: Sql, ids: readonly string[]): Work<number> {
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
  const words = pages.map(({ rows }) =>
    rows.map(({ place, content }) => ({
      place,
      words: [...new Set(wordsOf(searchedText({ content: contentOf(content, place) })))],
    })),
  )
  if (pages.length > 0)
    yield* sql.write('search', function* () {
      for (const [at, page] of pages.entries()) yield* writeIndexPage(sql, page, words[at]!)
    })
  return done
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
  const rows: { place: number; content: string }[] = []
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
      `select m.${place}, c.content, m.kind ${WITH_CONTENT}
       where {family m} m.session = ? and ${isIn} m.${place} > ? and m.${place} <= ? order by m.${place}`,
      ...[before.no, after, last],
    )
    for (const [at, content, kind] of contents) {
      if (kind === MARKER) continue
      const number = at as number
      rows.push({
        place: place === 'position' ? positionPlace(number) : ordinalPlace(number),
        content: content as string,
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

const WITH_CONTENT =
  'from undertext_messages m join undertext_contents c on {same c m} c.key = coalesce(m.source, m.key)'
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

function* writeIndexPage(
  sql: Sql,
  page: IndexPage,
  rows: readonly { readonly place: number; readonly words: readonly string[] }[],
): Work<void> {
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
  if (!isSame) return
  yield* addWords(sql, before.no, rows)
  yield* sql.run(
    `insert into undertext_searched ({family,} session, positions, ordinals) values ({?,} ?, ?, ?)
     on conflict ({family,} session) do update set positions = excluded.positions, ordinals = excluded.ordinals`,
    ...[before.no, positions, ordinals],
  )
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
/** Common words of which all pairs are looked for. */
const MOST_PAIRED = 4
/** How far around a candidate its neighbours are read, and their share in the order of candidates. */
const [NEIGHBOURS, SHARE] = [2, 0.3]
/** Sessions of an owner that are searched one by one. */
const FEW_SESSIONS = 50

/** Finds rows. The index gives candidates by the words of the query; blocks of them are read and ranked. Throws `SESSION_NOT_FOUND`. */
export function* find(sql: Sql, request: SearchRequest): Work<SearchPage> {
  return yield* sql.read('search', function* () {
    const { query, after, limit } = request
    const session = request.session === undefined ? undefined : yield* requireHead(sql, request.session)
    if (query.words.length === 0) return { hits: [], next: undefined }
    const moment = after?.moment ?? (yield* readMoment(sql))
    const scopes = yield* scopesOf(sql, request.filter, session?.no, after?.moment)
    const pool = yield* readPool(sql, query, scopes, session)
    const search: Search = { query, isQuestion: request.isQuestion, filter: request.filter, moment, ...pool }
    const hits: SearchHit[] = []
    for (let { block, skip } = after ?? { block: 0, skip: 0 }; block * BLOCK < pool.places.length; block++) {
      const ranked = yield* rankBlock(sql, search, block)
      const taken = ranked.slice(skip, skip + limit - hits.length)
      for (const { row, score } of taken) hits.push(hitOf(row, score, query))
      if (hits.length === limit) {
        const left = skip + taken.length
        if (left < ranked.length) return { hits, next: { block, skip: left, moment } }
        const isOver = (block + 1) * BLOCK >= pool.places.length
        return { hits, next: isOver ? undefined : { block: block + 1, skip: 0, moment } }
      }
      skip = 0
    }
    return { hits, next: undefined }
  })
}

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

/** Candidates, the most promising first, and what the index knows of words. */
type Pool = {
  readonly places: readonly Place[]
  readonly isIn: (place: Place) => boolean
  readonly collection: Collection
}

type Search = Pool & {
  readonly isQuestion: boolean
  readonly query: SearchQuery
  readonly filter: SearchFilter
  readonly moment: number
}

/** Places of one session are neighbours as numbers. */
const SESSION_UNIT = 2 ** 34

function* readPool(
  sql: Sql,
  query: SearchQuery,
  scopes: readonly Scope[],
  session: { readonly no: number; readonly messageCount: number } | undefined,
): Work<Pool> {
  const words = query.words.map(({ word }) => word)
  const placesWith = function* (expression: readonly (readonly string[])[]): Work<Place[]> {
    const found: Place[] = []
    for (const scope of scopes)
      for (const place of yield* readPlaces(sql, expression, scope, MOST_PLACES)) found.push(place)
    return found
  }
  // Sent together: the statements do not wait for each other.
  const asked = begun(together(words, (word) => placesWith([[word]])))
  const counted = begun(together(words, (word) => countRows(sql, word, session?.no)))
  const documents = session?.messageCount ?? (yield* countDocuments(sql))

  const slots = new Map<string, number>()
  const known = new Map<number, Place>()
  const keyOf = ({ family, session: no, place }: Place): number | undefined => {
    const slot = slots.get(`${family} ${no}`)
    return slot === undefined ? undefined : slot * SESSION_UNIT + place
  }
  const places = words.map(() => new Set<number>())
  const add = (found: readonly Place[], ...of: readonly number[]): void => {
    for (const place of found) {
      const name = `${place.family} ${place.session}`
      if (!slots.has(name)) slots.set(name, slots.size)
      const key = keyOf(place)!
      if (!known.has(key)) known.set(key, place)
      for (const index of of) places[index]!.add(key)
    }
  }
  const rare: string[] = []
  const common: number[] = []
  for (const [index, all] of (yield* asked).entries()) {
    add(all, index)
    if (all.length < MOST_PLACES) rare.push(words[index]!)
    else common.push(index)
  }
  // The counted rows include those that a condition leaves out.
  const frequencies = new Map(
    (yield* counted).map((count, index) => [words[index]!, Math.max(count, places[index]!.size)] as const),
  )
  common.sort((a, b) => frequencies.get(words[a]!)! - frequencies.get(words[b]!)!)
  // Of a common word not all rows were read: those with several words of the query are looked for.
  for (const index of common) if (rare.length > 0) add(yield* placesWith([rare, [words[index]!]]), index)
  for (const several of combinations(common))
    add(yield* placesWith(several.map((index) => [words[index]!])), ...several)

  const collection: Collection = { documents, documentsWith: (word) => frequencies.get(word) ?? 0 }
  const scores = new Map<number, number>()
  for (const [index, { word, weight }] of query.words.entries()) {
    const value = weight * rarity(word, collection)
    for (const key of places[index]!) scores.set(key, (scores.get(key) ?? 0) + value)
  }
  const around = (key: number): number =>
    key % 2 === 1 ? 0 : Math.max(scores.get(key - 2) ?? 0, scores.get(key + 2) ?? 0)
  const ordered = [...scores]
    .map(([key, score]) => ({ place: known.get(key)!, score: score + SHARE * around(key) }))
    .sort((a, b) => b.score - a.score || comparePlaces(a.place, b.place))
  return {
    places: ordered.map(({ place }) => place),
    isIn: (place) => known.has(keyOf(place) ?? -1),
    collection,
  }
}

/** All pairs of the least common words, and more and more of them together. */
function combinations(common: readonly number[]): number[][] {
  const first = common.slice(0, MOST_PAIRED)
  const pairs = first.flatMap((a, at) => first.slice(at + 1).map((b) => [a, b]))
  const more = common.slice(2, MOST_PAIRED + 2).map((_, at) => common.slice(0, at + 3))
  return [...pairs, ...more]
}

function comparePlaces(a: Place, b: Place): number {
  return b.session - a.session || b.family - a.family || b.place - a.place
}

/** How many rows there are, and were; the last key is as good as a count. */
function* countDocuments(sql: Sql): Work<number> {
  const row = yield* sql.get(
    sql.dialect === 'sqlite'
      ? 'select max(key) from undertext_messages'
      : 'select sum(messages + inserted)::bigint from undertext_sessions',
  )
  return (row?.[0] as number | null) ?? 0
}

/** A row that was read for the ranking. */
type FoundRow = Candidate & {
  readonly place: Place
  readonly row: Row
  readonly message: Pick<Message, 'content'>
}

/** The hits of a block of candidates, best first. */
function* rankBlock(
  sql: Sql,
  search: Search,
  block: number,
): Work<{ readonly row: FoundRow; readonly score: number }[]> {
  const { query, filter, places, isIn } = search
  const own = places.slice(block * BLOCK, (block + 1) * BLOCK)
  const names = new Set(own.map(nameOf))
  const beside = new Map(own.flatMap(neighboursOf).map((place) => [nameOf(place), place]))
  const context = [...beside].filter(([name]) => !names.has(name)).map(([, place]) => place)
  const rows = (yield* readRows(sql, [...own, ...context], query, names)).filter(
    ({ place, row }) =>
      names.has(nameOf(place)) || ((row[15] as number | null) ?? Number.POSITIVE_INFINITY) <= search.moment,
  )
  // The answer to a question may have none of its words: it is beside a row that has them, and a hit of the first block with either.
  const earlier = new Set(
    places
      .slice(0, block * BLOCK)
      .flatMap((place) => [place, ...neighboursOf(place)])
      .map(nameOf),
  )
  const mayBeHit = ({ place, row }: FoundRow): boolean =>
    !earlier.has(nameOf(place)) &&
    (names.has(nameOf(place)) || ((search.isQuestion || isIn(place)) && passes(row, filter)))
  return rank(query, rows, search.collection).filter(({ row }) => mayBeHit(row))
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

/** The columns of `readRows`. The last is what the moment of a search is compared with. */
const FOUND = `m.session, m.kind, m.role, m.position, m.ordinal, m.anchor, m.id, m.created_at, m.tools, c.content, c.metadata,
  s.id, s.incarnation,
  (select h.id from undertext_compactions h where {same h m} h.no = coalesce(m.condense_parent, m.truncation_parent, m.retired_by))`
const JOINED = `{cross} undertext_contents c on {same c m} c.key = coalesce(m.source, m.key) {cross} undertext_sessions s on {same s m} s.no = m.session`
/** By position, or by ordinal for inserted rows. */
const SQLITE_ROWS = [
  ['m.position = {int k 2} and m.ordinal = 0', 0],
  ['m.position is null and m.ordinal = {int k 2}', 1],
] as const
const POSTGRES_ROWS = `select m.family, ${FOUND},
    (select min(w.added) from undertext_words w where {same w m} w.session = m.session and w.place = {int k 2})
  from {elements ?} k join undertext_messages m on m.family = {int k 0} and m.session = {int k 1}
    and m.key = ({int k 1} - 1) * ${SESSION_UNIT} + {int k 2} ${JOINED}`

/** Units of long texts that a block reads for the words of the query, after the beginning of each. */
const MAX_REST = 4_000_000

/** Reads rows by their places. Of long texts, only those with a name in `whole` are read further than their beginning. */
function* readRows(
  sql: Sql,
  places: readonly Place[],
  query: SearchQuery,
  whole: ReadonlySet<string>,
): Work<FoundRow[]> {
  const wanted = new Set(query.words.map(({ word }) => word))
  let left = MAX_REST
  const decode = (row: Row): FoundRow => {
    const found = decodeRow(row)
    if (!whole.has(nameOf(found.place)) || left <= 0) return found
    const rest = searchedText(found.message).slice(MAX_READ, MAX_READ + left)
    left -= rest.length
    const more = rest === '' ? [] : wordsOf(rest).filter((word) => wanted.has(word))
    return more.length === 0 ? found : { ...found, words: [...found.words, ...more] }
  }
  if (sql.dialect === 'postgres') {
    const list = places.map(({ family, session, place }) => [family, session, place])
    return (yield* sql.all(POSTGRES_ROWS, JSON.stringify(list))).map(decode)
  }
  const rows: FoundRow[] = []
  for (const [condition, rest] of SQLITE_ROWS) {
    const list = places.flatMap(({ session, place }) =>
      place % 2 === rest ? [[0, session, (place - rest) / 2]] : [],
    )
    if (list.length === 0) continue
    const found = yield* sql.all(
      `select 0, ${FOUND}, m.key from {elements ?} k {cross} undertext_messages m {index undertext_log}
       on m.session = {int k 1} and ${condition} ${JOINED}`,
      JSON.stringify(list),
    )
    for (const row of found) rows.push(decode(row))
  }
  return rows
}

function decodeRow(row: Row): FoundRow {
  const [family, session, , role, position, ordinal, , , createdAt, , content, metadata, sessionId] = row
  const isMessage = position !== null
  const place = {
    family: family as number,
    session: session as number,
    place: isMessage ? positionPlace(position as number) : ordinalPlace(ordinal as number),
  }
  const name = `session ${sessionId}, row ${place.place}`
  const message = {
    role: decodeRole(role),
    content: contentOf(content as string, name),
    ...(metadata !== null && { metadata: parseStoredObject(metadata, 'metadata', name) }),
  }
  const candidate = candidateOf(message, {
    key: `${sessionId} ${place.place}`,
    session: sessionId as string,
    createdAt: createdAt as number,
    ...(isMessage && { position: position as number }),
  })
  return { ...candidate, place, row, message }
}

/** The same as the conditions of `scopesOf` on a row; its session is that of a hit. */
function passes(row: Row, { roles, tools, from, to, hidden }: SearchFilter): boolean {
  const at = row[8] as number
  const named = row[9] as string | null
  return (
    decodeKind(row[2]) !== 'marker' &&
    (roles?.includes(decodeRole(row[3])) ?? true) &&
    (tools?.some((name) => named?.includes(nameInTools(name))) ?? true) &&
    (from === undefined || at >= from) &&
    (to === undefined || at <= to) &&
    (hidden === undefined || hidden === (row[14] !== null))
  )
}

/** Units of a text in which the passage of a hit is looked for. */
const MAX_PASSAGE = 200_000

function hitOf({ row, message }: FoundRow, score: number, query: SearchQuery): SearchHit {
  const [, , kind, role, position, ordinal, anchor, id, createdAt, , , , sessionId, incarnation, hiddenBy] =
    row
  return {
    sessionId: sessionId as string,
    messageId: rowId(incarnation as string, id, position, ordinal),
    kind: decodeKind(kind) as SearchHit['kind'],
    role: decodeRole(role),
    ...(position === null ? {} : { position: position as number }),
    anchor: anchor as number,
    createdAt: createdAt as number,
    score,
    snippet: snippetOf(searchedText(message).slice(0, MAX_PASSAGE), query),
    ...(hiddenBy === null ? {} : { hiddenBy: hiddenBy as string }),
  }
}
