import { createHash } from 'node:crypto'
import { z } from 'zod'
import { encodeCursor } from '../../core/cursor.ts'
import { isUndertextError } from '../../core/errors.ts'
import { check, nameSchema } from '../../core/messages/check.ts'
import { defined, listIn } from '../../core/messages/json.ts'
import type { StoredMessage } from '../../core/messages/message.ts'
import { readQuery } from '../../core/search/query.ts'
import type { SearchHit } from '../../storage/storage.ts'
import { searchCursor, searchPlace, searchSchema } from '../search.ts'
import type { Store } from '../store.ts'
import {
  type Ask,
  answered,
  answerOf,
  countSchema,
  FRAME_TOKENS,
  filled,
  headWithin,
  pieceOf,
  placeOf,
  remarkAnswer,
  type Unit,
  withPassages,
  wordlessAnswer,
} from './answer.ts'
import type { RecallAnswer, RecalledPiece } from './data.ts'
import { type Passage, passagesOf, WHOLE } from './passages.ts'
import { badCursor, type RecallRemark } from './remarks.ts'
import { isRecall, rowsAt, rowText, soughtText } from './rows.ts'
import { type RecallBounds, type RecallScope, type Scope, textInput } from './scope.ts'

export const searchInput = z.strictObject({
  query: z
    .string()
    .min(1)
    .max(20_000)
    .describe(
      'What to look for: a question, or words that the text probably contains, such as names, paths, numbers, error messages. Text in double quotes is a phrase.',
    ),
  session: nameSchema.optional().describe('Only this session. Default: all sessions that may be read.'),
  hidden: z.boolean().optional().describe('true: only messages that a compaction hides.'),
  cursor: textInput(
    2_000,
    'The cursor of the previous answer, with the same query. Returns the next passages.',
  ),
})
/** The input of `searchLog`. */
export type SearchLogInput = z.input<typeof searchInput>

/** Messages whose passages compete for an answer. */
const POOL = 40
/** How much a message's place in the search counts, relative to the words of a passage. */
const RANK_SHARE = 0.35
/** The share of a neighbor's score that a message without words of the query gets. */
const BESIDE = 0.6

export const SEARCH: Ask<typeof searchInput> = { tool: 'search_history', input: searchInput, work: search }

/**
 * Finds passages of stored messages. A long message has several passages: those with the rarest words of the query close to each other.
 * Answers and calls of recall tools aren't found, because they repeat other messages.
 */
export function searchLog(
  store: Store,
  scope: RecallScope,
  input: SearchLogInput,
  bounds: RecallBounds = {},
): Promise<RecallAnswer> {
  return answered(store, scope, SEARCH, input, bounds)
}

async function search(
  asked: Scope,
  { query, session, hidden, cursor }: z.output<typeof searchInput>,
  maxTokens: number,
): Promise<RecallAnswer> {
  const named = session === undefined ? undefined : await asked.sessionOf(session)
  const scope = named?.scope ?? asked
  const searched = named === undefined ? scope.searched : [{ session: named.session.id }]
  const wordless = wordlessAnswer(scope, query)
  if (wordless !== undefined) return wordless
  const digest = digestOf([query, searched, hidden])
  const start =
    cursor === undefined
      ? FIRST_PLACE
      : readCursor(cursor, digest, searched.length, readQuery(query).words.length)
  for (let place = start; ; ) {
    const pool = await readPool(scope, searched, { query, hidden }, place)
    const passages = passagesIn(pool, query).slice(place.skip)
    const { next } = pool
    if (passages.length === 0 && next !== undefined) {
      place = next
      continue
    }
    const cursorAfter = (shown: number): string | undefined => {
      const after = shown < passages.length ? { ...pool.start, skip: place.skip + shown } : next
      return after && writeCursor(after, digest)
    }
    const part = pool.complete ? {} : { complete: false as const }
    const incomplete: RecallRemark[] = pool.complete ? [] : [{ code: 'incomplete' }]
    if (passages.length === 0) {
      const lead: RecallRemark = { code: cursor === undefined ? 'no-match' : 'no-passages' }
      return { ...remarkAnswer(scope, lead, incomplete), ...part }
    }
    const cursorTokens = Math.max(
      scope.tokensOf(cursorAfter(passages.length - 1) ?? ''),
      scope.tokensOf(cursorAfter(passages.length) ?? ''),
    )
    const units = passages.map(({ text: at, from, to }): Unit => {
      const { piece, text } = pool.found[at]!
      const whole = text.slice(from, to)
      const within = (tokens: number): RecalledPiece =>
        withPassages(piece, text, [{ from, to: from + headWithin(scope, whole, tokens).length }])
      return { piece, text: whole, within }
    })
    const chosen = filled(scope, maxTokens - FRAME_TOKENS - cursorTokens, 1, units).map((piece, at) => ({
      ...passages[at]!,
      to: piece.passages[0]!.to,
    }))
    const answer = answerOf(scope, maxTokens, chosen.length, (shown) => {
      const pieces = hitPieces(pool.found, chosen.slice(0, shown))
      const last = chosen[shown - 1]!
      const { sessionId, messageId } = pool.found[last.text]!.piece
      return {
        pieces,
        // Only the last passage of the list is cut, and only if nothing of its message is shown after it.
        cut: pieces.findIndex(
          (piece) =>
            piece.sessionId === sessionId &&
            piece.messageId === messageId &&
            piece.passages.at(-1)!.to === last.to,
        ),
        lead: { code: 'passages', messages: pieces.length },
        cursor: cursorAfter(shown),
        trail: [...incomplete, { code: 'around' }],
      }
    })
    return { ...answer, ...part }
  }
}

type Found = {
  readonly hit: SearchHit
  /** Without passages. */
  readonly piece: RecalledPiece
  readonly text: string
  /** The text in which the words of the query are looked up. */
  readonly sought: string
}
type Pool = {
  /** Best hits first. */
  readonly found: readonly Found[]
  readonly complete: boolean
  /** The start of this pool, and of the next one; `undefined` after the last one. */
  readonly start: Place
  readonly next: Place | undefined
}

type Place = {
  /** Number of passages of the pool that were shown. */
  readonly skip: number
  /** The moment of the first page: messages stored later aren't part of the list. Absent if no session has a second hit. */
  readonly moment: number | undefined
  /** Where the pool begins in the search of each session; `OVER` if it has no further hits. Empty for the first pool. */
  readonly pages: readonly (Page | typeof OVER)[]
  /**
   * The row counts by which the first page was ordered, as in the store's cursor. Only for a single search, because the cursor of twenty
   * sessions must be short.
   */
  readonly counts?: readonly number[] | undefined
}
type Page = { readonly block: number; readonly skip: number }
const OVER = '-'
const FIRST_PAGE: Page = { block: 0, skip: 0 }
const FIRST_PLACE: Place = { skip: 0, moment: undefined, pages: [] }

/** Continues the search of each session, and reads the rows of the hits. */
async function readPool(
  { store }: Scope,
  searched: Scope['searched'],
  { query, hidden }: { readonly query: string; readonly hidden: boolean | undefined },
  place: Place,
): Promise<Pool> {
  const hits: SearchHit[] = []
  const pages = searched.map((_, at) => place.pages[at] ?? FIRST_PAGE)
  const next: (Page | typeof OVER)[] = []
  let { moment, counts } = place
  let complete = true
  const limit = Math.max(8, Math.floor(POOL / searched.length))
  const optionsOf = (one: Scope['searched'][number]) => ({ ...one, ...(hidden !== undefined && { hidden }) })
  let withMoreHits: Scope['searched'][number] | undefined
  for (const [at, one] of searched.entries()) {
    const page = pages[at]!
    if (page === OVER) {
      next.push(OVER)
      continue
    }
    const options = check(searchSchema, { ...optionsOf(one), limit }, 'search')
    const result = await store.search(query, {
      ...options,
      ...(place.moment !== undefined && {
        cursor: searchCursor(query, options, {
          ...page,
          moment: place.moment,
          ...defined({ counts: place.counts }),
        }),
      }),
    })
    complete &&= result.complete
    for (const hit of result.hits) hits.push(hit)
    if (result.hits.length > 1) withMoreHits = one
    const after = result.cursor === undefined ? undefined : searchPlace(result.cursor)
    next.push(after === undefined ? OVER : { block: after.block, skip: after.skip })
    if (place.moment === undefined && after !== undefined) {
      moment = Math.max(moment ?? 0, after.moment)
      if (searched.length === 1) counts = after.counts
    }
  }
  if (moment === undefined && withMoreHits !== undefined) {
    // A finished list returns no cursor, and so no moment, but its first page does.
    const { cursor } = await store.search(query, { ...optionsOf(withMoreHits), limit: 1 })
    const first = cursor === undefined ? undefined : searchPlace(cursor)
    moment = first?.moment
    if (searched.length === 1) counts = first?.counts
  }
  if (searched.length > 1) hits.sort((a, b) => b.score - a.score)
  const rows = await rowsOfHits(store, hits)
  const found = hits.flatMap((hit) => {
    const row = rows.get(hit)
    if (row === undefined) return []
    const read = rowText(row)
    const piece = pieceOf(hit.sessionId, row, read.text.length)
    return [{ hit, piece, text: read.text, sought: soughtText(row, read) }]
  })
  return {
    ...{ found, complete, start: { skip: 0, moment, pages, counts } },
    next: next.every((one) => one === OVER) ? undefined : { skip: 0, moment, pages: next, counts },
  }
}

/** Returns the rows of hits, without those that repeat others: calls and answers of these tools. */
async function rowsOfHits(
  store: Store,
  hits: readonly SearchHit[],
): Promise<ReadonlyMap<SearchHit, StoredMessage>> {
  const bySession = new Map<string, SearchHit[]>()
  for (const hit of hits) listIn(bySession, hit.sessionId).push(hit)
  const rows = new Map<SearchHit, StoredMessage>()
  for (const [sessionId, own] of bySession) {
    const read = await rowsAt(store, sessionId, own).catch((error: unknown) => {
      // The session was purged after the search.
      if (isUndertextError(error, 'SESSION_NOT_FOUND')) return new Map<string, StoredMessage>()
      throw error
    })
    for (const hit of own) {
      const row = read.get(hit.messageId)
      if (row !== undefined && !isRecall(row)) rows.set(hit, row)
    }
  }
  return rows
}

/** Returns the passages of a pool, best first: by their words, and by their message's place in the search. */
function passagesIn({ found }: Pool, query: string): Passage[] {
  const own = passagesOf(
    readQuery(query),
    found.map(({ sought }) => sought),
  )
  const top = own[0]?.score ?? 1
  const best = new Map<number, number>()
  for (const { text, score } of own) if (!best.has(text)) best.set(text, score)
  const places = new Map(found.map(({ hit }, at) => [`${hit.sessionId} ${hit.position}`, at]))
  const first = found[0]?.hit.score ?? 1
  const beside = found.flatMap(({ hit, text }, at): Passage[] => {
    if (best.has(at) || text === '' || hit.position === undefined) return []
    const scoreAt = (position: number): number => {
      const other = places.get(`${hit.sessionId} ${position}`)
      return other === undefined ? 0 : (best.get(other) ?? 0)
    }
    const score = BESIDE * Math.max(scoreAt(hit.position - 1), scoreAt(hit.position + 1))
    return [{ text: at, from: 0, to: Math.min(text.length, WHOLE), at: 0, score }]
  })
  const ranked = [...own, ...beside].map((passage) => ({
    ...passage,
    score: passage.score + RANK_SHARE * top * (found[passage.text]!.hit.score / first),
  }))
  ranked.sort((a, b) => b.score - a.score || a.text - b.text || a.from - b.from)
  return withoutRepeated(ranked, ({ text, from, to }) => found[text]!.text.slice(from, to))
}

/** A passage is left out if at least this share of its lines is already shown by better ones, because agents read a file many times. */
const REPEATED = 0.7

function withoutRepeated(passages: readonly Passage[], textOf: (passage: Passage) => string): Passage[] {
  const shown = new Set<string>()
  return passages.filter((passage) => {
    const lines = textOf(passage)
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '')
    const length = lines.reduce((sum, line) => sum + line.length, 0)
    const known = lines.reduce((sum, line) => sum + (shown.has(line) ? line.length : 0), 0)
    if (length > 0 && known >= REPEATED * length) return false
    for (const line of lines) shown.add(line)
    return true
  })
}

/** Groups passages by message, in the order of each message's best passage. */
function hitPieces(found: readonly Found[], passages: readonly Passage[]): RecalledPiece[] {
  const byText = new Map<number, Passage[]>()
  for (const passage of passages) listIn(byText, passage.text).push(passage)
  return [...byText].map(([at, own]) => {
    const { piece, text } = found[at]!
    return withPassages(piece, text, own)
  })
}

// ── Cursors ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

function digestOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('base64url').slice(0, 6)
}

/**
 * A digest of the search, and a place. Equal pages of consecutive sessions are written once: a number of sessions, and the page, if any.
 */
const placeSchema = z.tuple([
  z.string(),
  countSchema,
  countSchema.nullable(),
  z.array(z.union([z.tuple([countSchema]), z.tuple([countSchema, countSchema, countSchema])])),
  z.array(countSchema),
])

function writeCursor({ skip, moment, pages, counts = [] }: Place, digest: string): string {
  const runs: [count: number, ...page: number[]][] = []
  for (const page of pages) {
    const own = page === OVER ? [] : [page.block, page.skip]
    const last = runs.at(-1)
    if (last !== undefined && last.slice(1).join() === own.join()) last[0]++
    else runs.push([1, ...own])
  }
  return encodeCursor([digest, skip, moment ?? null, runs, counts])
}

/** Throws `INVALID_INPUT` for a cursor of another search. */
function readCursor(cursor: string, digest: string, sessions: number, words: number): Place {
  const [own, skip, moment, runs, counts] = placeOf(placeSchema, cursor)
  const isOfAll = runs.reduce((sum, [count]) => sum + count, 0) === sessions
  if (own !== digest || !isOfAll || (counts.length > 0 && counts.length !== words + 1)) badCursor()
  const pages = runs.flatMap(([count, block, after = 0]) =>
    Array.from({ length: count }, () => (block === undefined ? OVER : { block, skip: after })),
  )
  return { skip, moment: moment ?? undefined, pages, counts: counts.length > 0 ? counts : undefined }
}
