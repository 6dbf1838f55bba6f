import type { Places } from '../../core/search/places.ts'
import type { Expression, Scope, Sql } from './sql.ts'
import { KEY_OF_CONTENT } from './view.ts'
import type { Work } from './work.ts'

/*
 * The index of the search: which rows have a word. A row is named by its session and its place there: twice the position of a message, or
 * twice the ordinal of an inserted row plus one. The engines keep it in their own ways (sqlite/words.ts, postgres/words.ts).
 */

/** Rows with a word that are counted, or of which the newest are taken; with more, a word is common. */
export const MOST_COUNTED = 20_000

export function positionPlace(position: number): number {
  return 2 * position
}

export function ordinalPlace(ordinal: number): number {
  return 2 * ordinal + 1
}

/** Rows that meet an expression. */
export function* readPlaces(sql: Sql, words: Expression, scope: Scope, limit: number): Work<Places> {
  const lists = (yield* sql.words.find(sql, words, scope, limit))!
  const [sessions = [], places = [], families] = lists.map(
    (list) => JSON.parse((list as string | null) ?? '[]') as number[],
  )
  return { sessions, places, ...(families !== undefined && { families }) }
}

/** Words are letters, digits and `_`, so that they need no escapes. */
export function expressionOf(words: Expression, quote: string, or: string, and: string): string {
  return words.map((one) => `(${one.map((word) => `${quote}${word}${quote}`).join(or)})`).join(and)
}

/** The columns of a row that was found, besides its family: of long contents only that they are. */
export const FOUND = `m.session, m.kind, m.role, m.position, m.ordinal, m.anchor, m.id, m.created_at, m.tools,
  case when octet_length(c.content) <= ? then c.content end, c.metadata, s.id, s.incarnation,
  (select h.id from undertext_compactions h where {same h m} h.no = coalesce(m.condense_parent, m.truncation_parent, m.retired_by)),
  c.key`
export const FOUND_IN = `{cross} undertext_contents c on {same c m} c.key = ${KEY_OF_CONTENT} {cross} undertext_sessions s on {same s m} s.no = m.session`
