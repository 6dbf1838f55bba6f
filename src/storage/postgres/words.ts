import type { WordIndex } from '../sql/sql.ts'
import { expressionOf, FOUND, FOUND_IN, MAX_COUNTED_ROWS } from '../sql/word-index.ts'

/* The search index in PostgreSQL: one tsvector for each row, or several for a long one, because a tsvector holds less than 1 MB. */

/** The maximum length of the words in a tsvector, in UTF-16 units. */
const MAX_PART_LENGTH = 200_000

const OF_PLACE = `m.family = {int k 0} and m.session = {int k 1} and m.key = ({int k 1} - 1) * ${2 ** 34} + {int k 2}`
const [ROWS, CITUS_ROWS] = [
  `cross join lateral (select * from undertext_messages m where ${OF_PLACE} offset 0) m`,
  // Each worker searches its own rows.
  `join undertext_messages m on ${OF_PLACE}`,
].map(
  (joined) => `select m.family, ${FOUND},
    (select min(w.added) from undertext_words w where {same w m} w.session = m.session and w.place = {int k 2})
  from {elements ?} k ${joined} ${FOUND_IN}`,
) as [string, string]

export const words: WordIndex = {
  /** One, because each session is locked meanwhile. */
  sessionsAtOnce: 1,
  hasRanges: false,

  *add(sql, session, rows) {
    const parts = rows.flatMap(({ place, words }) =>
      words.length === 0 ? [] : partsOf(words).map((text, part) => [place, part, text] as const),
    )
    if (parts.length === 0) return
    yield* sql.run(
      `insert into undertext_words ({family,} session, place, part, words)
       select {?,} cast(? as bigint), {int k 0}, {int k 1}, array_to_tsvector(string_to_array(k.value ->> 2, ' ')) from {elements ?} k`,
      session,
      JSON.stringify(parts),
    )
  },

  remove(sql, session) {
    return sql.run('delete from undertext_words where {family} session = ?', session)
  },

  removeRows(sql, session, places) {
    return sql.run(
      'delete from undertext_words where {family} session = ? and place in (select value from {list ?} k)',
      ...[session, JSON.stringify(places)],
    )
  },

  find(sql, words, { session, condition, values, moment }, limit) {
    const isIn = session === undefined ? '' : '{family w} w.session = ? and'
    const isOld = moment === undefined ? '' : 'and w.added <= ?'
    const rows =
      condition === ''
        ? 'undertext_words w'
        : `undertext_words w join undertext_messages m on {same m w} m.session = w.session
             and m.key = (w.session - 1) * ${2 ** 34} + w.place and ${condition}`
    return sql.get(
      `select json_agg(session)::text, json_agg(place)::text, json_agg(family)::text from (
         select * from (select w.family, w.session, w.place, w.added from ${rows}
           where ${isIn} w.words @@ cast(? as tsquery) ${isOld} limit ?) known
         order by added desc, family, session desc, place desc limit ?) found`,
      ...[...values, ...(session === undefined ? [] : [session]), expressionOf(words, "'", ' | ', ' & ')],
      ...[...(moment === undefined ? [] : [moment]), MAX_COUNTED_ROWS, limit],
    )
  },

  *count(sql, word, session) {
    const isIn = session === undefined ? '' : '{family} session = ? and'
    const row = yield* sql.get(
      `select count(*) from (select 1 from undertext_words where ${isIn} words @@ cast(? as tsquery) limit ?) found`,
      ...(session === undefined ? [] : [session]),
      ...[expressionOf([[word]], "'", '', ''), MAX_COUNTED_ROWS],
    )
    return Number(row![0])
  },

  *moment(sql) {
    const row = yield* sql.get('select (extract(epoch from clock_timestamp()) * 1000000)::bigint')
    return row![0] as number
  },

  /** For all sessions, the current numbers. */
  *documents(sql, session, moment) {
    const row =
      session === undefined
        ? yield* sql.get('select sum(messages + inserted)::bigint from undertext_sessions')
        : yield* sql.get(
            'select place / 2 from undertext_words where {family} session = ? and added <= ? order by place desc limit 1',
            ...[session, moment],
          )
    return Number(row?.[0] ?? 0)
  },

  rows: (sql, places, most) => {
    const list = places.map(({ family, session, place }) => [family, session, place])
    return sql.all(sql.isDistributed ? CITUS_ROWS : ROWS, most, JSON.stringify(list))
  },
}

function partsOf(words: readonly string[]): string[] {
  const parts: string[] = []
  let [part, units] = [[] as string[], 0]
  for (const word of words) {
    if (units > MAX_PART_LENGTH) {
      parts.push(part.join(' '))
      ;[part, units] = [[], 0]
    }
    part.push(word)
    units += word.length + 1
  }
  return [...parts, part.join(' ')]
}
