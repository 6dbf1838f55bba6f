import { z } from 'zod'
import { check, nameSchema } from '../../core/messages/check.ts'
import type { StoredMessage } from '../../core/messages/message.ts'
import { readQuery } from '../../core/search/query.ts'
import type { Store } from '../store.ts'
import {
  answering,
  answerOf,
  FRAME_TOKENS,
  headWithin,
  LEAST_PIECE,
  leastOf,
  pieceFrom,
  pieceMeter,
  pieceOf,
  type RecallAnswer,
  type RecalledPiece,
  sentenceAnswer,
  withPassages,
} from './answer.ts'
import { passagesOf } from './passages.ts'
import { BAD_CURSOR, wrong } from './problems.ts'
import { rowText } from './row-text.ts'
import { rowNamed, rowsBetween } from './rows.ts'
import { boundsSchema, type RecallBounds, type RecallScope, type Scope } from './scope.ts'

/** Neighbours by default, the most that may be asked for, and messages of a page without a middle. */
const [NEIGHBOURS, MOST_NEIGHBOURS, PAGE] = [2, 20, 20]

const positionSchema = z.int().positive()

export const readInput = z.strictObject({
  position: positionSchema.optional().describe('The position of the message in the middle.'),
  messageId: nameSchema.optional().describe('Its id, instead of the position.'),
  before: z.int().nonnegative().max(MOST_NEIGHBOURS).optional().describe('Messages before it. Default 2.'),
  after: z.int().nonnegative().max(MOST_NEIGHBOURS).optional().describe('Messages after it. Default 2.'),
  query: z
    .string()
    .max(20_000)
    .optional()
    .describe('For a long message, returns passages with these words instead of its beginning.'),
  session: nameSchema.optional().describe('The session of the message. Default: this conversation.'),
  cursor: z
    .string()
    .max(300)
    .optional()
    .describe('A cursor from an earlier answer. Returns the messages before or after it.'),
})
/** The input of `readLog`. */
export type ReadLogInput = z.input<typeof readInput>

/** How much of the room that is left one message may take when others follow. */
const SHARE = 0.6

/**
 * Reads messages of the log in order, as they were stored, hidden ones included: one with its neighbours, or from a cursor on. Without
 * `position`, `messageId` and `cursor` the last ones.
 */
export async function readLog(
  store: Store,
  scope: RecallScope,
  input: ReadLogInput,
  bounds: RecallBounds = {},
): Promise<RecallAnswer> {
  const { maxTokens } = check(boundsSchema, bounds, 'readLog')
  return answering(store, scope, maxTokens, async (now) =>
    read(now, check(readInput, input, 'read_history'), maxTokens),
  )
}

async function read(
  asked: Scope,
  input: z.output<typeof readInput>,
  maxTokens: number,
): Promise<RecallAnswer> {
  const { before = NEIGHBOURS, after = NEIGHBOURS, query, cursor } = input
  const { session, scope } = await asked.sessionOf(input.session)
  const { id, messageCount: last } = session
  if (last === 0) return sentenceAnswer(scope, maxTokens, 'The session is empty.')
  const order =
    cursor === undefined
      ? await aroundOrder(scope, id, last, { ...input, before, after })
      : cursorOrder(cursor, last)
  if (order.length === 0)
    return sentenceAnswer(scope, maxTokens, `There are no further messages: the positions are 1 to ${last}.`)
  const rows = new Map<number, StoredMessage>()
  const sorted = order.toSorted((a, b) => a - b)
  for (const row of await rowsBetween(scope.store, id, sorted[0]!, sorted.at(-1)!))
    if (row.position !== undefined) rows.set(row.position, row)
  const best: RecalledPiece[] = []
  const meter = pieceMeter(scope)
  let left = maxTokens - FRAME_TOKENS
  for (const [at, position] of order.entries()) {
    const row = rows.get(position)
    if (row === undefined) continue
    const { text } = rowText(row)
    const empty = pieceOf(id, row, text.length)
    const room = left - meter.heading(empty)
    if (room < leastOf(scope, text) && best.length > 0) break
    const isLast = at === order.length - 1
    const share = isLast ? room : Math.max(LEAST_PIECE, Math.floor(room * SHARE))
    const piece = shownOf(scope, empty, text, query, share)
    left -= meter.add(piece)
    best.push(piece)
  }
  const trail = id === scope.base?.id ? [] : ['Pass the session with the cursor.']
  return answerOf(scope, maxTokens, best.length, (shown) => {
    // The best ones are always neighbours of each other.
    const pieces = best.slice(0, shown).sort((a, b) => a.anchor - b.anchor)
    const [first, end] = [pieces[0]!.anchor, pieces.at(-1)!.anchor]
    return {
      pieces,
      cut: pieces.indexOf(best[shown - 1]!),
      lead: `Messages ${first} to ${end} of ${last}.`,
      previous: first > 1 ? `${first}-` : undefined,
      cursor: end < last ? `${end}+` : undefined,
      trail,
    }
  })
}

/** Positions in the order of their worth: the middle, then what is next to it, nearest first. */
async function aroundOrder(
  { store }: Scope,
  sessionId: string,
  last: number,
  { position, messageId, before, after }: z.output<typeof readInput> & { before: number; after: number },
): Promise<number[]> {
  const middle =
    position ?? (messageId === undefined ? last : (await rowNamed(store, sessionId, messageId)).anchor)
  if (middle > last) throw wrong(`There is no position ${middle}: the last one is ${last}.`)
  const order = [middle]
  for (let distance = 1; distance <= Math.max(before, after); distance++) {
    if (distance <= after && middle + distance <= last) order.push(middle + distance)
    if (distance <= before && middle - distance >= 1) order.push(middle - distance)
  }
  return order
}

/** `40+`: from 41 on; `40-`: from 39 backward. */
function cursorOrder(cursor: string, last: number): number[] {
  const [, digits, direction] = /^(\d{1,15})([+-])$/.exec(cursor) ?? []
  if (digits === undefined) throw wrong(BAD_CURSOR)
  const from = Number(digits)
  const step = direction === '+' ? 1 : -1
  const start = step === 1 ? from + 1 : Math.min(from - 1, last)
  return Array.from({ length: PAGE }, (_, at) => start + step * at).filter((at) => at >= 1 && at <= last)
}

/** A message within tokens: whole, else passages with the words of the query, else its beginning. */
function shownOf(
  scope: Scope,
  piece: RecalledPiece,
  text: string,
  query: string | undefined,
  tokens: number,
): RecalledPiece {
  const head = pieceFrom(scope, piece, text, 0, tokens)
  if (query === undefined || query === '' || head.cursor === undefined) return head
  const places: { from: number; to: number }[] = []
  let left = tokens
  for (const { from, to } of passagesOf(readQuery(query), [text])) {
    if (left < LEAST_PIECE / 2) break
    const part = headWithin(scope, text.slice(from, to), left - 10)
    places.push({ from, to: from + part.length })
    left -= scope.tokensOf(part) + 10
  }
  return places.length === 0 ? head : withPassages(piece, text, places)
}
