import type { Places } from '../../core/search/places.ts'
import type { Row, Sql } from './sql.ts'
import type { Work } from './work.ts'

/*
 * The index of the search: which rows have a word. A row is named by its session and its place there: twice the position of a message, or
 * twice the ordinal of an inserted row plus one. In SQLite the index is a table of FTS5, whose rowid is session and place, so the rows of
 * a session are a range of it. In PostgreSQL it has a tsvector for each row.
 */

/** All of these words, of which each is one of several. */
export type Expression = readonly (readonly string[])[]

/** Which rows are asked for. */
export type Scope = {
  /** The number of the session that was entered; without, all families. */
  readonly session: number | undefined
  /** A condition on the row `m` of the messages, and its values; empty for none. */
  readonly condition: string
  readonly values: readonly unknown[]
  /** Only rows up to here; see `readMoment`. */
  readonly moment: number | undefined
}

/** Words of a row in PostgreSQL, units of text: a tsvector holds less than 1 MB. */
const MOST_PART = 200_000
/** Rows with a word that are looked at for a condition. */
const MOST_LOOKED_AT = 200_000
/** Rows with a word that are counted, or of which the newest are taken, in PostgreSQL; with more, a word is common. */
const MOST_COUNTED = 20_000

export function positionPlace(position: number): number {
  return 2 * position
}

export function ordinalPlace(ordinal: number): number {
  return 2 * ordinal + 1
}

/** Adds rows of the session that was entered; `words` are distinct. */
export function* addWords(
  sql: Sql,
  session: number,
  rows: readonly { readonly place: number; readonly words: readonly string[] }[],
): Work<void> {
  const found = rows.filter(({ words }) => words.length > 0)
  if (sql.dialect === 'sqlite') {
    for (const { place, words } of found)
      yield* sql.run(
        'insert into undertext_words (rowid, words) values ((? << 32) | ?, ?)',
        ...[session, place, words.join(' ')],
      )
    return
  }
  const parts = found.flatMap(({ place, words }) =>
    partsOf(words).map((text, part) => [place, part, text] as const),
  )
  if (parts.length === 0) return
  yield* sql.run(
    `insert into undertext_words ({family,} session, place, part, words)
     select {?,} cast(? as bigint), {int k 0}, {int k 1}, array_to_tsvector(string_to_array(k.value ->> 2, ' ')) from {elements ?} k`,
    session,
    JSON.stringify(parts),
  )
}

function partsOf(words: readonly string[]): string[] {
  const parts: string[] = []
  let [part, units] = [[] as string[], 0]
  for (const word of words) {
    if (units > MOST_PART) {
      parts.push(part.join(' '))
      ;[part, units] = [[], 0]
    }
    part.push(word)
    units += word.length + 1
  }
  return [...parts, part.join(' ')]
}

/** Removes all rows of a session that was entered. In SQLite their words stay in the file until it is cleared (sqlite/residue.ts). */
export function* removeWords(sql: Sql, session: number): Work<void> {
  if (sql.dialect === 'postgres') {
    yield* sql.run('delete from undertext_words where {family} session = ?', session)
    return
  }
  yield* sql.run(
    'delete from undertext_words where rowid >= ? << 32 and rowid < (? + 1) << 32',
    session,
    session,
  )
}

/** Rows that meet an expression, newest sessions first in SQLite. They are many, so each column is one value: a JSON list. */
export function* readPlaces(sql: Sql, words: Expression, scope: Scope, limit: number): Work<Places> {
  const read = sql.dialect === 'sqlite' ? readSqlite : readPostgres
  const [sessions = [], places = [], families] = (yield* read(sql, words, scope, limit))!.map(
    (list) => JSON.parse((list as string | null) ?? '[]') as number[],
  )
  return { sessions, places, ...(families !== undefined && { families }) }
}

function* readSqlite(sql: Sql, words: Expression, scope: Scope, limit: number): Work<Row | undefined> {
  const { session, moment } = scope
  const range = session === undefined ? '' : 'and rowid >= ? << 32 and rowid < (? + 1) << 32'
  const isIn = session === undefined ? [] : [session, session]
  const query = `select rowid as at from undertext_words where undertext_words match ? ${range} order by rowid desc limit ?`
  const condition = [
    ...(scope.condition === '' ? [] : [scope.condition]),
    ...(moment === undefined ? [] : ['m.key <= ?']),
  ].join(' and ')
  const text = expressionOf(words, '"', ' OR ', ' AND ')
  const lists = 'select json_group_array(at >> 32), json_group_array(at & 4294967295)'
  if (condition === '') return yield* sql.get(`${lists} from (${query})`, ...[text, ...isIn, limit])
  return yield* sql.get(
    `${lists} from (select w.at from (${query}) w {cross} undertext_messages m {index undertext_log}
     on m.session = w.at >> 32 and m.position is (case when w.at & 1 = 0 then (w.at & 4294967295) / 2 end)
       and m.ordinal = (case when w.at & 1 = 0 then 0 else (w.at & 4294967295) / 2 end)
     where ${condition} limit ?)`,
    ...[text, ...isIn, MOST_LOOKED_AT, ...scope.values, ...(moment === undefined ? [] : [moment]), limit],
  )
}

function* readPostgres(sql: Sql, words: Expression, scope: Scope, limit: number): Work<Row | undefined> {
  const { session, moment } = scope
  const isIn = session === undefined ? '' : '{family w} w.session = ? and'
  const isOld = moment === undefined ? '' : 'and w.added <= ?'
  const text = expressionOf(words, "'", ' | ', ' & ')
  const rows =
    scope.condition === ''
      ? 'undertext_words w'
      : `undertext_words w join undertext_messages m on {same m w} m.session = w.session
           and m.key = (w.session - 1) * ${2 ** 34} + w.place and ${scope.condition}`
  return yield* sql.get(
    `select json_agg(session)::text, json_agg(place)::text, json_agg(family)::text from (
       select * from (select w.family, w.session, w.place, w.added from ${rows}
         where ${isIn} w.words @@ cast(? as tsquery) ${isOld} limit ?) known
       order by added desc, family, session desc, place desc limit ?) found`,
    ...[...scope.values, ...(session === undefined ? [] : [session]), text],
    ...[...(moment === undefined ? [] : [moment]), MOST_COUNTED, limit],
  )
}

/** Words are letters, digits and `_`, so that they need no escapes. */
function expressionOf(words: Expression, quote: string, or: string, and: string): string {
  return words.map((one) => `(${one.map((word) => `${quote}${word}${quote}`).join(or)})`).join(and)
}

/** In how many rows a word is: of all, or of the session that was entered. */
export function* countRows(sql: Sql, word: string, session: number | undefined): Work<number> {
  if (sql.dialect === 'sqlite' && session === undefined) {
    const row = yield* sql.get('select doc from undertext_vocabulary where term = ?', word)
    return (row?.[0] as number | undefined) ?? 0
  }
  const isIn = session === undefined ? '' : '{family} session = ? and'
  const row =
    sql.dialect === 'sqlite'
      ? yield* sql.get(
          `select count(*) from (select 1 from undertext_words
             where undertext_words match ? and rowid >= ? << 32 and rowid < (? + 1) << 32 limit ?)`,
          ...[expressionOf([[word]], '"', '', ''), session, session, MOST_COUNTED],
        )
      : yield* sql.get(
          `select count(*) from (select 1 from undertext_words where ${isIn} words @@ cast(? as tsquery) limit ?) found`,
          ...(session === undefined ? [] : [session]),
          ...[expressionOf([[word]], "'", '', ''), MOST_COUNTED],
        )
  return Number(row![0])
}

/** In how many rows a common word is in SQLite, from the share of the newest rows that have it: to count them takes long. */
export function* estimateRows(
  sql: Sql,
  { sessions, places }: Places,
  session: { readonly messageCount: number } | undefined,
  documents: number,
): Work<number> {
  const [oldest, place] = [sessions.at(-1)!, places.at(-1)!]
  const before = place % 2 === 0 ? place / 2 - 1 : 0
  const row = session
    ? [session.messageCount]
    : yield* sql.get('select sum(messages + inserted) from undertext_sessions where no >= ?', oldest)
  const newer = Math.max(places.length, ((row?.[0] as number | null) ?? 0) - before)
  return Math.round((places.length * documents) / newer)
}

/** The moment of a search: it distinguishes rows that are stored later. */
export function* readMoment(sql: Sql): Work<number> {
  const row = yield* sql.get(
    sql.dialect === 'sqlite'
      ? 'select max(key) from undertext_messages'
      : 'select (extract(epoch from clock_timestamp()) * 1000000)::bigint',
  )
  return (row?.[0] as number | null) ?? 0
}
