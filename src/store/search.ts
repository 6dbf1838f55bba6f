import { createHash } from 'node:crypto'
import { z } from 'zod'
import { decodeCursor, encodeCursor } from '../core/cursor.ts'
import { invalid } from '../core/errors.ts'
import { nameSchema, ownerOption } from '../core/messages/check.ts'
import { ROLES } from '../core/messages/message.ts'
import { MAX_TEXT, readQuery, type SearchQuery } from '../core/search/query.ts'
import type { SearchHit, SearchPlace, Storage } from '../storage/storage.ts'
import { timeSchema } from './config/store-options.ts'
import type { Events } from './events.ts'
import { SearchIndex } from './index-catch-up.ts'

export const searchSchema = z.strictObject({
  /** Only this session. */
  session: nameSchema.optional(),
  /** Only sessions of this owner. */
  owner: ownerOption,
  roles: z.array(z.enum(ROLES)).min(1).optional(),
  /** Only messages that call one of these tools or contain a result of one. */
  tools: z.array(nameSchema).min(1).max(100).optional(),
  /** Only messages from this time on (`from`) and up to this time (`to`): milliseconds since 1970, or a `Date`. */
  from: timeSchema.optional(),
  to: timeSchema.optional(),
  /** Only messages that a compaction hides (`true`), or only those in the view (`false`). Default: both. */
  hidden: z.boolean().optional(),
  /** Maximum hits per page. Default 10. */
  limit: z.int().positive().max(100).default(10),
  /** The `cursor` of the previous page. */
  cursor: z.string().max(200).optional(),
})
/** Options of `search`. */
export type SearchOptions = z.input<typeof searchSchema>
export type CheckedSearch = z.output<typeof searchSchema>
export const searchedTextSchema = z.string()

/** The result of a search. */
export type SearchResult = {
  /** Best first. */
  readonly hits: readonly SearchHit[]
  /** Pass it with the same query and options to get the next hits; absent after the last page. */
  readonly cursor?: string
  /** `false` if some rows weren't searched: they aren't in the index, and the store is read-only, full, or locked by another process. */
  readonly complete: boolean
  /** Words of the query, as written, that were ignored because they are too common to be in the index. Absent if no word was ignored. */
  readonly leftOut?: readonly string[]
  /** `true` if the query has no words, or all of them were ignored, so that there are no hits. */
  readonly noWords?: true
}

/** Searches, after the index has caught up. */
export class Searcher {
  readonly #storage: Storage
  readonly index: SearchIndex

  constructor(storage: Storage, events: Events) {
    this.#storage = storage
    this.index = new SearchIndex(storage, events)
  }

  /** `storage`: that of the owner of the options, if there is one. */
  async search(
    text: string,
    options: CheckedSearch,
    storage: Storage = this.#storage,
  ): Promise<SearchResult> {
    const { session, owner, limit, cursor, ...filter } = options
    const digest = digestOf(text, [session, owner, filter])
    const query = readQuery(text)
    const after = cursor === undefined ? undefined : placeOf(cursor, digest, query.words.length)
    // Rows stored since the first page aren't part of the list, and a query without words finds nothing.
    const isIndexed = after !== undefined || query.words.length === 0
    const complete = isIndexed || (await this.index.catchUp(session))
    const { hits, next } = await storage.searching.find({
      ...{ query, isQuestion: isQuestion(text, query), session, filter, limit, after },
    })
    return {
      hits,
      ...(next !== undefined && { cursor: cursorOf(next, digest) }),
      complete,
      ...(query.leftOut.length > 0 && { leftOut: query.leftOut }),
      ...(query.words.length === 0 && { noWords: true }),
    }
  }
}

/** Number of words from which a text is more likely a question than a name or a word to look up. */
const QUESTION_WORDS = 5

function isQuestion(text: string, { phrases }: SearchQuery): boolean {
  if (phrases.length > 0) return false
  const read = text.slice(0, MAX_TEXT)
  return /[?？؟]/.test(read) || read.trim().split(/\s+/, QUESTION_WORDS).length === QUESTION_WORDS
}

function digestOf(text: string, options: unknown): string {
  return createHash('sha256').update(text).update(JSON.stringify(options)).digest('base64url').slice(0, 8)
}

const count = z.int().nonnegative()
/** A digest of the search, followed by its place. */
const cursorSchema = z.tuple([z.string(), count, count, count, z.array(count)])

function cursorOf({ block, skip, moment, counts = [] }: SearchPlace, digest: string): string {
  return encodeCursor([digest, block, skip, moment, counts])
}

/** Returns the cursor of a place in a search. */
export function searchCursor(text: string, options: CheckedSearch, place: SearchPlace): string {
  const { session, owner, limit: _, cursor: __, ...filter } = options
  return cursorOf(place, digestOf(text, [session, owner, filter]))
}

/** Returns the place of a cursor that a search returned. */
export function searchPlace(cursor: string): SearchPlace {
  return read(cursor)!.place
}

function read(cursor: string): { readonly digest: string; readonly place: SearchPlace } | undefined {
  const held = decodeCursor(cursorSchema, cursor)
  if (held === undefined) return undefined
  const [digest, block, skip, moment, counts] = held
  return { digest, place: { block, skip, moment, ...(counts.length > 0 && { counts }) } }
}

function placeOf(cursor: string, expected: string, words: number): SearchPlace {
  const { digest, place } = read(cursor) ?? {}
  const isComplete = place?.counts === undefined || place.counts.length === words + 1
  if (place === undefined || digest !== expected || !isComplete)
    throw invalid("search: the cursor doesn't belong to this query with these options")
  return place
}
