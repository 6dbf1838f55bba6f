import type { Row, WordIndex } from '../sql/sql.ts'
import { expressionOf, FOUND, FOUND_IN, MAX_COUNTED_ROWS } from '../sql/word-index.ts'

/* The search index in SQLite: a table of FTS5 whose rowid is session and place, so that the rows of a session are a range. */

/** The maximum number of rows with a word for which a condition is checked. */
const MAX_CHECKED_ROWS = 200_000
const IN_SESSION = 'rowid >= ? << 32 and rowid < (? + 1) << 32'

/** Rows by position, or by ordinal for inserted rows. */
const ROWS = [
  ['m.position = {int k 2} and m.ordinal = 0', 0],
  ['m.position is null and m.ordinal = {int k 2}', 1],
] as const

export const words: WordIndex = {
  sessionsAtOnce: 250,
  hasRanges: true,

  *add(sql, session, rows) {
    for (const { place, words } of rows)
      if (words.length > 0)
        yield* sql.run(
          'insert into undertext_words (rowid, words) values ((? << 32) | ?, ?)',
          ...[session, place, words.join(' ')],
        )
  },

  /** The words stay in the file until it is cleared (residue.ts). After a removal, keys no longer only grow, so the mark is deleted. */
  *remove(sql, session) {
    yield* sql.run(`delete from undertext_words where ${IN_SESSION}`, session, session)
    yield* sql.run("delete from undertext_meta where key = 'searched'")
  },

  removeRows(sql, session, places) {
    return sql.run(
      'delete from undertext_words where rowid in (select (? << 32) | value from json_each(?))',
      ...[session, JSON.stringify(places)],
    )
  },

  /** Newest sessions first. */
  find(sql, words, { session, moment, ...scope }, limit) {
    const range = session === undefined ? '' : `and ${IN_SESSION}`
    const isIn = session === undefined ? [] : [session, session]
    const query = `select rowid as at from undertext_words where undertext_words match ? ${range} order by rowid desc limit ?`
    const condition = [scope.condition, moment === undefined ? '' : 'm.key <= ?'].filter((one) => one !== '')
    const text = expressionOf(words, '"', ' OR ', ' AND ')
    const lists = 'select json_group_array(at >> 32), json_group_array(at & 4294967295)'
    if (condition.length === 0) return sql.get(`${lists} from (${query})`, ...[text, ...isIn, limit])
    return sql.get(
      `${lists} from (select w.at from (${query}) w {cross} undertext_messages m {index undertext_log}
       on m.session = w.at >> 32 and m.position is (case when w.at & 1 = 0 then (w.at & 4294967295) / 2 end)
         and m.ordinal = (case when w.at & 1 = 0 then 0 else (w.at & 4294967295) / 2 end)
       where ${condition.join(' and ')} limit ?)`,
      ...[text, ...isIn, MAX_CHECKED_ROWS, ...scope.values, ...(moment === undefined ? [] : [moment]), limit],
    )
  },

  *count(sql, word, session) {
    const row =
      session === undefined
        ? yield* sql.get('select doc from undertext_vocabulary where term = ?', word)
        : yield* sql.get(
            `select count(*) from (select 1 from undertext_words where undertext_words match ? and ${IN_SESSION} limit ?)`,
            ...[expressionOf([[word]], '"', '', ''), session, session, MAX_COUNTED_ROWS],
          )
    return Number(row?.[0] ?? 0)
  },

  /** Extrapolates from the share of the newest rows that contain the word. */
  *estimate(sql, { sessions, places }, session, documents) {
    const [oldest, place] = [sessions.at(-1)!, places.at(-1)!]
    const before = place % 2 === 0 ? place / 2 - 1 : 0
    const row = session
      ? [session.messageCount]
      : yield* sql.get('select sum(messages + inserted) from undertext_sessions where no >= ?', oldest)
    const newer = Math.max(places.length, ((row?.[0] as number | null) ?? 0) - before)
    return Math.round((places.length * documents) / newer)
  },

  *moment(sql) {
    const row = yield* sql.get('select max(key) from undertext_messages')
    return (row?.[0] as number | null) ?? 0
  },

  /** The last key approximates the number of rows. */
  *documents(sql, session, moment) {
    if (session === undefined) return moment
    const row = yield* sql.get(
      'select position from undertext_messages where session = ? and position is not null and key <= ? order by position desc limit 1',
      ...[session, moment],
    )
    return Number(row?.[0] ?? 0)
  },

  *rows(sql, places, most) {
    const rows: Row[] = []
    for (const [condition, rest] of ROWS) {
      const list = places.flatMap(({ session, place }) =>
        place % 2 === rest ? [[0, session, (place - rest) / 2]] : [],
      )
      if (list.length === 0) continue
      const found = yield* sql.all(
        `select 0, ${FOUND}, m.key from {elements ?} k {cross} undertext_messages m {index undertext_log}
         on m.session = {int k 1} and ${condition} ${FOUND_IN}`,
        most,
        JSON.stringify(list),
      )
      for (const row of found) rows.push(row)
    }
    return rows
  },

  // Checking all sessions takes long, so once all are complete, the last key is marked. A later row has a higher key, except after a
  // removal.

  *isComplete(sql) {
    const marked = yield* sql.get(
      `select 1 from undertext_meta where key = 'searched'
         and cast(value as integer) = coalesce((select max(key) from undertext_messages), 0)`,
    )
    return marked !== undefined
  },

  *markComplete(sql, unindexed) {
    yield* sql.run(
      `insert into undertext_meta (key, value) select 'searched', coalesce((select max(key) from undertext_messages), 0)
       where not exists (select 1 ${unindexed}) on conflict (key) do update set value = excluded.value`,
    )
  },
}
