import { createHash } from 'node:crypto'
import { z } from 'zod'
import { isUndertextError } from '../errors.ts'
import { check, nameSchema } from '../messages/check.ts'
import { listIn } from '../messages/lists.ts'
import type { StoredMessage } from '../messages/message.ts'
import { readQuery } from '../search/query.ts'
import type { SearchHit } from '../storage/storage.ts'
import { firstPageOf } from '../store/search.ts'
import type { Store } from '../store/store.ts'
import {
  answering,
  answerOf,
  FRAME_TOKENS,
  HEADING_TOKENS,
  headWithin,
  LEAST_PIECE,
  pieceOf,
  type RecallAnswer,
  type RecalledPiece,
  withPassages,
} from './answer.ts'
import { type Passage, passagesOf, WHOLE } from './passages.ts'
import { BAD_CURSOR, wrong } from './problems.ts'
import { isRecall, rowText } from './row-text.ts'
import { rowsAt } from './rows.ts'
import { boundsSchema, type RecallBounds, type RecallScope, type Scope } from './scope.ts'

export const searchInput = z.strictObject({
  query: z
    .string()
    .min(1)
    .max(20_000)
    .describe(
      'What you look for: a question or words that the text probably has: names, paths, numbers, error messages. Text in double quotes is a phrase.',
    ),
  session: nameSchema.optional().describe('Only this session. Default: all that may be read.'),
  hidden: z.boolean().optional().describe('true: only what is no longer in the conversation as you see it.'),
  cursor: z
    .string()
    .max(2_000)
    .optional()
    .describe('The cursor of the answer before, with the same query, for the next passages.'),
})
/** The input of `searchLog`. */
export type SearchLogInput = z.input<typeof searchInput>

/** Messages whose passages compete for an answer. */
const POOL = 40
/** How much the place of a message in the search counts, beside the words of a passage. */
const RANK_SHARE = 0.35
/** What a message without words of the query, beside one that has them, counts of that one. */
const BESIDE = 0.6

/**
 * Finds passages of stored messages by what they say. A long message has several passages: those with the rarest words of the query
 * near each other. Answers and calls of recall tools are not found, because they repeat other messages.
 */
export async function searchLog(
  store: Store,
  scope: RecallScope,
  input: SearchLogInput,
  bounds: RecallBounds = {},
): Promise<RecallAnswer> {
  const { maxTokens } = check(boundsSchema, bounds, 'searchLog')
  return answering(store, scope, async (now) => {
    const checked = check(searchInput, input, 'search_history')
    return search(now, checked, maxTokens)
  })
}

async function search(
  scope: Scope,
  { query, session, hidden, cursor }: z.output<typeof searchInput>,
  maxTokens: number,
): Promise<RecallAnswer> {
  const searched = session === undefined ? scope.searched : [{ session: (await scope.sessionOf(session)).id }]
  const digest = digestOf([query, searched, hidden])
  const start = cursor === undefined ? { skip: 0, pages: [] } : readCursor(cursor, digest)
  for (let { skip, pages } = start; ; skip = 0) {
    const pool = await readPool(scope, searched, { query, hidden }, pages)
    const passages = passagesIn(pool, query).slice(skip)
    const isLast = pool.next === undefined
    if (passages.length === 0 && !isLast) {
      pages = pool.next!
      continue
    }
    const chosen = fitting(scope, pool.found, passages, maxTokens - FRAME_TOKENS)
    const pieces = piecesOf(pool.found, chosen)
    const part = pool.complete ? {} : { complete: false as const }
    const incomplete = pool.complete ? [] : ['Rows that are not in the index yet were not searched.']
    const cursorAfter = (shown: number): string | undefined => {
      if (shown < passages.length) return writeCursor(skip + shown, pool.start, digest)
      return isLast ? undefined : writeCursor(0, pool.next!, digest)
    }
    if (pieces.length === 0)
      return {
        ...answerOf(scope, maxTokens, {
          ...{ pieces, cursor: undefined, trail: incomplete },
          lead:
            cursor === undefined
              ? 'No message has words of this query. Try other words: names, numbers, or a word of the answer.'
              : 'No further passages.',
        }),
        ...part,
      }
    const count = `${pieces.length} ${pieces.length === 1 ? 'message' : 'messages'}`
    const answer = answerOf(
      scope,
      maxTokens,
      {
        pieces,
        lead: `Passages of ${count}, best first.`,
        cursor: cursorAfter(chosen.length),
        trail: [...incomplete, 'For what is around a message: read_history with its position.'],
      },
      (left) => {
        const shown = new Set(pieces.slice(0, left).map(({ messageId }) => messageId))
        const first = chosen.findIndex(({ text }) => !shown.has(pool.found[text]!.row.id))
        return { cursor: cursorAfter(first === -1 ? chosen.length : Math.max(1, first)), trail: incomplete }
      },
    )
    return { ...answer, ...part }
  }
}

type Found = { readonly hit: SearchHit; readonly row: StoredMessage; readonly text: string }
type Pool = {
  /** Best hits first. */
  readonly found: readonly Found[]
  readonly complete: boolean
  /** Cursors of the searches for this pool, and for the next one; `undefined` after the last one. */
  readonly start: readonly (string | undefined)[]
  readonly next: readonly (string | undefined)[] | undefined
}

/** The cursor of a search that has no further hits. */
const OVER = '-'

async function readPool(
  { store }: Scope,
  searched: Scope['searched'],
  { query, hidden }: { readonly query: string; readonly hidden: boolean | undefined },
  pages: readonly (string | undefined)[],
): Promise<Pool> {
  const hits: SearchHit[] = []
  const [start, next]: (string | undefined)[][] = [[], []]
  let complete = true
  const limit = Math.max(8, Math.floor(POOL / searched.length))
  for (const [at, one] of searched.entries()) {
    const cursor = pages[at]
    if (cursor === OVER) {
      start!.push(OVER)
      next!.push(OVER)
      continue
    }
    const options = { ...one, ...(hidden !== undefined && { hidden }) }
    const result = await store
      .search(query, { ...options, limit, ...(cursor !== undefined && { cursor }) })
      .catch((error: unknown) => {
        throw cursor !== undefined && isUndertextError(error, 'INVALID_INPUT') ? wrong(BAD_CURSOR) : error
      })
    complete &&= result.complete
    for (const hit of result.hits) hits.push(hit)
    // A page is the same later by a cursor, which names its moment. A list that is over has none, but its first page has.
    const named =
      cursor ??
      result.cursor ??
      (result.hits.length > 1 ? await store.search(query, { ...options, limit: 1 }) : result).cursor
    start!.push(cursor ?? (named && firstPageOf(named)))
    next!.push(result.cursor ?? OVER)
  }
  if (searched.length > 1) hits.sort((a, b) => b.score - a.score)
  const bySession = new Map<string, SearchHit[]>()
  for (const hit of hits) listIn(bySession, hit.sessionId).push(hit)
  const rows = new Map<SearchHit, StoredMessage>()
  for (const [sessionId, own] of bySession) {
    const read = await rowsAt(store, sessionId, own).catch((error: unknown) => {
      // Purged since the search.
      if (isUndertextError(error, 'SESSION_NOT_FOUND')) return new Map<string, StoredMessage>()
      throw error
    })
    for (const hit of own) {
      const row = read.get(hit.messageId)
      if (row !== undefined && !isRecall(row)) rows.set(hit, row)
    }
  }
  const found = hits.flatMap((hit) => {
    const row = rows.get(hit)
    return row === undefined ? [] : [{ hit, row, text: rowText(row).text }]
  })
  return { found, complete, start: start!, next: next!.every((one) => one === OVER) ? undefined : next }
}

/** The passages of a pool, best first: by their words, and by the place of their message in the search. */
function passagesIn({ found }: Pool, query: string): Passage[] {
  const own = passagesOf(
    readQuery(query),
    found.map(({ text }) => text),
  )
  const top = own[0]?.score ?? 1
  const best = new Map<number, number>()
  for (const { text, score } of own) if (!best.has(text)) best.set(text, score)
  const places = new Map(found.map(({ hit }, at) => [`${hit.sessionId} ${hit.position}`, at]))
  const first = found[0]?.hit.score ?? 1
  const beside = found.flatMap(({ hit, text }, at): Passage[] => {
    if (best.has(at) || text === '' || hit.position === undefined) return []
    const near = [hit.position - 1, hit.position + 1].map((position) => {
      const other = places.get(`${hit.sessionId} ${position}`)
      return other === undefined ? 0 : (best.get(other) ?? 0)
    })
    const score = BESIDE * Math.max(...near)
    return [{ text: at, from: 0, to: Math.min(text.length, WHOLE), at: 0, score }]
  })
  const ranked = [...own, ...beside].map((passage) => ({
    ...passage,
    score: passage.score + RANK_SHARE * top * (found[passage.text]!.hit.score / first),
  }))
  ranked.sort((a, b) => b.score - a.score || a.text - b.text || a.from - b.from)
  return withoutRepeated(ranked, ({ text, from, to }) => found[text]!.text.slice(from, to))
}

/** The share of the lines of a passage that better ones show already from which on it is left out: agents read a file many times. */
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

/** The first passages that fit, each at least in part. */
function fitting(
  scope: Scope,
  found: readonly Found[],
  passages: readonly Passage[],
  room: number,
): Passage[] {
  const chosen: Passage[] = []
  const headed = new Set<number>()
  let left = room
  for (const passage of passages) {
    const heading = headed.has(passage.text) ? 10 : HEADING_TOKENS
    if (left < heading + LEAST_PIECE) break
    const text = found[passage.text]!.text.slice(passage.from, passage.to)
    const head = headWithin(scope, text, left - heading)
    if (head.length === 0) break
    left -= heading + scope.tokensOf(head)
    headed.add(passage.text)
    chosen.push({ ...passage, to: passage.from + head.length })
  }
  return chosen
}

/** Passages by message, in the order of the best passage of each. */
function piecesOf(found: readonly Found[], passages: readonly Passage[]): RecalledPiece[] {
  const byText = new Map<number, Passage[]>()
  for (const passage of passages) listIn(byText, passage.text).push(passage)
  return [...byText].map(([at, own]) => {
    const { hit, row, text } = found[at]!
    return withPassages(pieceOf(hit.sessionId, row, text.length), text, own)
  })
}

// ── Cursors ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

function digestOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('base64url').slice(0, 6)
}

function writeCursor(skip: number, pages: readonly (string | undefined)[], digest: string): string {
  return [digest, skip.toString(36), ...pages.map((page) => page ?? '')].join('~')
}

function readCursor(
  cursor: string,
  digest: string,
): { readonly skip: number; readonly pages: readonly (string | undefined)[] } {
  const [own, skip = '', ...pages] = cursor.split('~')
  const number = /^[0-9a-z]{1,6}$/.test(skip) ? Number.parseInt(skip, 36) : undefined
  if (own !== digest || number === undefined) throw wrong(BAD_CURSOR)
  return { skip: number, pages: pages.map((page) => (page === '' ? undefined : page)) }
}
