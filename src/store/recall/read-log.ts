import { z } from 'zod'
import { encodeCursor } from '../../core/cursor.ts'
import { nameSchema } from '../../core/messages/check.ts'
import type { StoredMessage } from '../../core/messages/message.ts'
import { readQuery } from '../../core/search/query.ts'
import type { Store } from '../store.ts'
import {
  type Ask,
  answered,
  answerOf,
  FRAME_TOKENS,
  filled,
  headWithin,
  MIN_PIECE_TOKENS,
  pieceFrom,
  pieceOf,
  placeOf,
  remarkAnswer,
  type Unit,
  withPassages,
} from './answer.ts'
import type { RecallAnswer, RecalledPiece } from './data.ts'
import { passagesOf } from './passages.ts'
import { type RecallRemark, wrong } from './remarks.ts'
import { rowNamed, rowsBetween, rowText } from './rows.ts'
import { type RecallBounds, type RecallScope, type Scope, textInput } from './scope.ts'

/** The default number of neighbors, their maximum, and the messages of a page without a middle. */
const [DEFAULT_NEIGHBORS, MAX_NEIGHBORS, PAGE] = [2, 20, 20]

const positionSchema = z.int().positive()

export const readInput = z.strictObject({
  position: positionSchema.optional().describe('The position of the message in the middle.'),
  messageId: nameSchema.optional().describe('Its id, instead of the position.'),
  before: z.int().nonnegative().max(MAX_NEIGHBORS).optional().describe('Messages before it. Default 2.'),
  after: z.int().nonnegative().max(MAX_NEIGHBORS).optional().describe('Messages after it. Default 2.'),
  query: textInput(20_000, 'For a long message, returns passages with these words instead of its beginning.'),
  session: nameSchema.optional().describe('The session of the message. Default: this conversation.'),
  cursor: textInput(300, 'A cursor from an earlier answer. Returns the messages before or after it.'),
})
/** The input of `readLog`. */
export type ReadLogInput = z.input<typeof readInput>

/** Share of the remaining room that one message may take if others follow. */
const SHARE = 0.6

export const READ: Ask<typeof readInput> = { tool: 'read_history', input: readInput, work: read }

/**
 * Reads stored messages of the log in order, including hidden ones: one with its neighbors, or from a cursor on. Without `position`,
 * `messageId` and `cursor`, reads the last ones.
 */
export function readLog(
  store: Store,
  scope: RecallScope,
  input: ReadLogInput,
  bounds: RecallBounds = {},
): Promise<RecallAnswer> {
  return answered(store, scope, READ, input, bounds)
}

async function read(
  asked: Scope,
  input: z.output<typeof readInput>,
  maxTokens: number,
): Promise<RecallAnswer> {
  const { before = DEFAULT_NEIGHBORS, after = DEFAULT_NEIGHBORS, query, cursor } = input
  const { session, scope } = await asked.sessionOf(input.session)
  const { id, messageCount: last } = session
  if (last === 0) return remarkAnswer(scope, { code: 'empty' })
  const order =
    cursor === undefined
      ? await aroundOrder(scope, id, last, { ...input, before, after })
      : cursorOrder(cursor, last)
  if (order.length === 0) return remarkAnswer(scope, { code: 'no-further', last })
  const rows = new Map<number, StoredMessage>()
  const sorted = order.toSorted((a, b) => a - b)
  for (const row of await rowsBetween(scope.store, id, sorted[0]!, sorted.at(-1)!))
    if (row.position !== undefined) rows.set(row.position, row)
  const units = order.flatMap((position): Unit[] => {
    const row = rows.get(position)
    if (row === undefined) return []
    const { text } = rowText(row)
    const piece = pieceOf(id, row, text.length)
    return [{ piece, text, within: (tokens) => shownOf(scope, piece, text, query, tokens) }]
  })
  const best = filled(scope, maxTokens - FRAME_TOKENS, SHARE, units)
  const trail: RecallRemark[] = id === scope.base?.id ? [] : [{ code: 'pass-session' }]
  return answerOf(scope, maxTokens, best.length, (shown) => {
    // The best ones are always adjacent.
    const pieces = best.slice(0, shown).sort((a, b) => a.anchor - b.anchor)
    const [first, end] = [pieces[0]!.anchor, pieces.at(-1)!.anchor]
    return {
      pieces,
      cut: pieces.indexOf(best[shown - 1]!),
      lead: { code: 'messages', first, end, last },
      previous: first > 1 ? encodeCursor([first, '-']) : undefined,
      cursor: end < last ? encodeCursor([end, '+']) : undefined,
      trail,
    }
  })
}

/** Returns positions by importance: the middle, then those next to it, nearest first. */
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

/** A position, and whether the page continues after or before it. */
const readCursor = z.tuple([positionSchema, z.enum(['+', '-'])])

function cursorOrder(cursor: string, last: number): number[] {
  const [from, direction] = placeOf(readCursor, cursor)
  const step = direction === '+' ? 1 : -1
  const start = step === 1 ? from + 1 : Math.min(from - 1, last)
  return Array.from({ length: PAGE }, (_, at) => start + step * at).filter((at) => at >= 1 && at <= last)
}

/** Returns a message within a number of tokens: whole, else passages with the words of the query, else its beginning. */
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
    if (left < MIN_PIECE_TOKENS / 2) break
    const part = headWithin(scope, text.slice(from, to), left - 10)
    places.push({ from, to: from + part.length })
    left -= scope.tokensOf(part) + 10
  }
  return places.length === 0 ? head : withPassages(piece, text, places)
}
