import type { Places } from '../../core/search/places.ts'
import type { Expression, Scope, Sql } from './sql.ts'
import { KEY_OF_CONTENT } from './view.ts'
import type { Work } from './work.ts'

/*
 * The search index, which finds the rows with a word. A row is identified by its session and its place there: twice the position of a
 * message, or twice the ordinal of an inserted row plus one. The engines store it differently (sqlite/words.ts, postgres/words.ts).
 */

/** The number of rows with a word up to which they are all counted; a word in more rows is common, and only the newest are taken. */
export const MAX_COUNTED_ROWS = 20_000

export function positionPlace(position: number): number {
  return 2 * position
}

export function ordinalPlace(ordinal: number): number {
  return 2 * ordinal + 1
}

/** Returns the places of rows that meet an expression. */
export function* readPlaces(sql: Sql, words: Expression, scope: Scope, limit: number): Work<Places> {
  const lists = (yield* sql.words.find(sql, words, scope, limit))!
  const [sessions = [], places = [], families] = lists.map(
    (list) => JSON.parse((list as string | null) ?? '[]') as number[],
  )
  return { sessions, places, ...(families !== undefined && { families }) }
}

/** Words consist of letters, digits and `_`, so they need no escaping. */
export function expressionOf(words: Expression, quote: string, or: string, and: string): string {
  return words.map((one) => `(${one.map((word) => `${quote}${word}${quote}`).join(or)})`).join(and)
}

/** SQL: the columns of a found row, besides its family. A long content isn't included, only the fact that it exists. */
export const FOUND = `m.session, m.kind, m.role, m.position, m.ordinal, m.anchor, m.id, m.created_at, m.tools,
  case when octet_length(c.content) <= ? then c.content end, c.metadata, s.id, s.incarnation,
  (select h.id from undertext_compactions h where {same h m} h.no = coalesce(m.condense_parent, m.truncation_parent, m.retired_by)),
  c.key`
export const FOUND_IN = `{cross} undertext_contents c on {same c m} c.key = ${KEY_OF_CONTENT} {cross} undertext_sessions s on {same s m} s.no = m.session`
