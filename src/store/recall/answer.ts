import { z } from 'zod'
import { decodeCursor, encodeCursor } from '../../core/cursor.ts'
import { isUndertextError, type UndertextError } from '../../core/errors.ts'
import { characterStart, codePointStart, headOf } from '../../core/messages/characters.ts'
import { check } from '../../core/messages/check.ts'
import { defined } from '../../core/messages/json.ts'
import type { StoredMessage } from '../../core/messages/message.ts'
import { readQuery } from '../../core/search/query.ts'
import type { Estimator } from '../../core/tokens/estimators/estimator-schema.ts'
import { truncateToTokenBudget } from '../../core/tokens/truncate-text.ts'
import type { Store } from '../store.ts'
import type { AnswerData, RecallAnswer, RecalledPiece } from './data.ts'
import { badCursor, type Names, type RecallRemark, sentenceOf } from './remarks.ts'
import { compactionLine, indented, pieceLines, textOf } from './render.ts'
import { toolsOf } from './rows.ts'
import { boundsSchema, type RecallBounds, type RecallScope, type Scope, scopeNow } from './scope.ts'

/** Tokens for the marks, the sentences around them and a cursor. */
export const FRAME_TOKENS = 130
/** Minimum tokens for a piece; with less room it is left out, unless it fits whole. */
export const MIN_PIECE_TOKENS = 60
/** Minimum tokens worth cutting. */
const MIN_CUT_TOKENS = MIN_PIECE_TOKENS / 2

/** The implementation of a tool: checks its input, and answers within a scope and a number of tokens. */
export type Ask<S extends z.ZodType, A extends RecallAnswer = RecallAnswer> = {
  readonly tool: string
  readonly input: S
  readonly work: (scope: Scope, given: z.output<S>, maxTokens: number) => Promise<A>
}

/** The label of the input in errors. The sentence omits it: the model knows which tool it called, and by which name. */
const INPUT = 'input'

/**
 * Returns the answer of a tool. A mistake of the model becomes an answer that explains what to do; a failure of the store, or an invalid
 * scope of the application, throws.
 */
export async function answered<S extends z.ZodType, A extends RecallAnswer>(
  store: Store,
  given: RecallScope,
  { tool, input: schema, work }: Ask<S, A>,
  input: z.input<S>,
  bounds: RecallBounds,
  names?: Names,
): Promise<A | RecallAnswer> {
  const { maxTokens } = check(boundsSchema, bounds, tool)
  let scope: Scope
  try {
    scope = await scopeNow(store, given, names)
  } catch (error) {
    if (!isUndertextError(error, 'SESSION_NOT_FOUND')) throw error
    return problemAnswer(error.code, 'No message of this conversation is stored.')
  }
  try {
    return await work(scope, check(schema, input, INPUT), maxTokens)
  } catch (error) {
    const sentence = sentenceOf(error, scope.names)?.replaceAll(`${INPUT}: `, '')
    if (sentence === undefined) throw error
    return problemAnswer((error as UndertextError).code, headWithin(scope, sentence, maxTokens - 8), scope)
  }
}

export function problemAnswer(problem: string, text: string, scope?: Scope): RecallAnswer {
  const tokens = scope?.tokensOf(text) ?? Math.ceil(text.length / 4)
  return { text, tokens, pieces: [], remarks: [], problem }
}

/** Returns an answer that contains no stored text. */
export function remarkAnswer(
  scope: Scope,
  lead: RecallRemark,
  trail: readonly RecallRemark[] = [],
): RecallAnswer {
  return rendered(scope, { lead, trail }, false)
}

/** Returns the answer to a query without any searchable word; `undefined` if it has one. */
export function wordlessAnswer(scope: Scope, query: string): RecallAnswer | undefined {
  const { words, leftOut } = readQuery(query)
  if (words.length > 0) return undefined
  const answer = remarkAnswer(scope, { code: 'wordless', leftOut })
  return { ...answer, noWords: true, ...(leftOut.length > 0 && { leftOut }) }
}

/**
 * Returns an answer that stays within its tokens. `dataOf(n)` builds the answer with the `n` best of `count` units: messages, passages or
 * notes. The excess is cut from the last unit's piece, then that unit is left out, so the cursors never skip it. The best unit always
 * stays, if necessary with a short heading and without text.
 */
export function answerOf(
  scope: Scope,
  maxTokens: number,
  count: number,
  dataOf: (shown: number) => AnswerData,
): RecallAnswer {
  let answer: RecallAnswer | undefined
  for (const [data, isBrief] of attempts(count, dataOf)) {
    answer = fitted(scope, maxTokens, data, isBrief)
    if (answer.tokens <= maxTokens) break
  }
  return answer!
}

function* attempts(
  count: number,
  dataOf: (shown: number) => AnswerData,
): Generator<readonly [data: AnswerData, isBrief: boolean]> {
  for (let shown = count; shown > 1; shown--) yield [dataOf(shown), false]
  const best = dataOf(Math.min(1, count))
  yield [best, false]
  yield [best, true]
  const [piece] = best.pieces ?? []
  if (piece === undefined) return
  for (let left = piece.passages.length - 1; left >= 0; left--) {
    const passages = piece.passages.slice(0, left)
    const to = passages.at(-1)?.to ?? piece.passages[0]?.from ?? 0
    const cursor = to < piece.length ? rowCursor(piece, to, best.end) : undefined
    yield [{ ...best, pieces: [{ ...piece, passages, ...defined({ cursor }) }] }, true]
  }
}

/** Returns the answer, with its piece cut if it is too long and a cut is worthwhile. */
function fitted(scope: Scope, maxTokens: number, given: AnswerData, isBrief: boolean): RecallAnswer {
  for (let data = given; ; ) {
    const answer = rendered(scope, data, isBrief)
    if (answer.tokens <= maxTokens) return answer
    const { pieces = [], cut = pieces.length - 1 } = data
    const piece = pieces[cut]
    const shorter = piece && shortened(scope, piece, answer.tokens - maxTokens, data.end)
    if (shorter === undefined) return answer
    data = { ...data, pieces: pieces.with(cut, shorter) }
  }
}

function rendered(scope: Scope, data: AnswerData, isBrief: boolean): RecallAnswer {
  const { pieces = [], notes, lead, trail = [], cursor, previous } = data
  const text = textOf(scope, data, isBrief)
  const remarks = [lead, ...trail]
  return { text, tokens: scope.tokensOf(text), pieces, remarks, ...defined({ notes, cursor, previous }) }
}

/** Returns a piece without the given number of tokens at its end; `undefined` if it would show next to nothing. */
function shortened(
  scope: Scope,
  piece: RecalledPiece,
  tokens: number,
  end: number | undefined,
): RecalledPiece | undefined {
  const last = piece.passages.at(-1)
  if (last === undefined) return undefined
  const room = scope.tokensOf(indented(last.text)) - tokens - 8
  if (room < MIN_CUT_TOKENS) return undefined
  const text = headWithin(scope, last.text, room)
  const to = last.from + text.length
  return {
    ...piece,
    passages: piece.passages.with(-1, { from: last.from, to, text }),
    cursor: rowCursor(piece, to, end),
  }
}

/** Tokens for the line of a further passage of a message. */
const PLACE_TOKENS = 16

/** Measures pieces as an answer shows them: each compaction is listed once, and each message has one heading. */
function pieceMeter(scope: Scope): {
  /** Tokens of a piece's heading, before its text is chosen. */
  readonly heading: (piece: RecalledPiece) => number
  /** Tokens of a piece that follows the previous ones. */
  readonly add: (piece: RecalledPiece) => number
} {
  const named = new Set<string>()
  const headed = new Set<string>()
  const nameOf = ({ sessionId, messageId }: RecalledPiece): string => JSON.stringify([sessionId, messageId])
  const compactionsOf = ({ hiddenBy, replacedBy = [] }: RecalledPiece): readonly string[] =>
    hiddenBy === undefined ? replacedBy : [hiddenBy]
  const tokensOf = (piece: RecalledPiece): number => {
    const lines = pieceLines(scope, piece, 99, () => 'C99', false)
    for (const id of compactionsOf(piece)) if (!named.has(id)) lines.push(compactionLine('C99', id))
    return scope.tokensOf(lines.join('\n'))
  }
  return {
    heading(piece) {
      if (headed.has(nameOf(piece))) return PLACE_TOKENS
      const passages = [{ from: Math.max(0, piece.length - 1), to: piece.length, text: '' }]
      return tokensOf({ ...piece, passages, cursor: rowCursor(piece, piece.length) })
    },
    add(piece) {
      if (headed.has(nameOf(piece)))
        return PLACE_TOKENS + scope.tokensOf(indented(piece.passages.map(({ text }) => text).join('\n')))
      const tokens = tokensOf(piece)
      headed.add(nameOf(piece))
      for (const id of compactionsOf(piece)) named.add(id)
      return tokens
    },
  }
}

/** Returns the room that a text must have next to others: all its tokens if it is short. */
function minTokensOf(scope: Scope, text: string): number {
  return text.length > 8 * MIN_PIECE_TOKENS
    ? MIN_PIECE_TOKENS
    : Math.min(MIN_PIECE_TOKENS, scope.tokensOf(indented(text)))
}

/** A piece that may be shown: its heading, its text, and the piece itself within a number of tokens. Several may belong to one message. */
export type Unit = {
  readonly piece: RecalledPiece
  readonly text: string
  readonly within: (tokens: number) => RecalledPiece
}

/** Returns the first units that fit, at least one. A unit that others follow takes at most a share of the remaining room. */
export function filled(scope: Scope, room: number, share: number, units: readonly Unit[]): RecalledPiece[] {
  const pieces: RecalledPiece[] = []
  const meter = pieceMeter(scope)
  let left = room
  for (const [at, { piece, text, within }] of units.entries()) {
    const own = left - meter.heading(piece)
    if (own < minTokensOf(scope, text) && pieces.length > 0) break
    const isLast = at === units.length - 1
    const shown = within(isLast ? own : Math.max(MIN_PIECE_TOKENS, Math.floor(own * share)))
    left -= meter.add(shown)
    pieces.push(shown)
  }
  return pieces
}

/** Returns a piece that shows a text from a place on, as far as its tokens allow: at least one character. */
export function pieceFrom(
  scope: Scope,
  piece: RecalledPiece,
  text: string,
  from: number,
  tokens: number,
  end?: number,
): RecalledPiece {
  const head = headWithin(scope, from === 0 && end === undefined ? text : text.slice(from, end), tokens)
  return withPassages(piece, text, [{ from, to: from + head.length }], end)
}

/**
 * Returns the longest beginning of a text within a number of tokens, as an answer shows it; at least one code point. Ends inside a
 * character only if that character alone doesn't fit.
 */
export function headWithin(scope: Scope, text: string, tokens: number): string {
  // Indenting adds two units to each line.
  const measureText = (piece: string): number => scope.estimator.measureText(indented(piece))
  const estimator = Object.create(scope.estimator, { measureText: { value: measureText } }) as Estimator
  const cut = truncateToTokenBudget(text, tokens, scope.provider, { estimator, ending: '' })
  if (cut.text !== '' || text === '') return cut.text
  let units = Math.max(2, Math.min(MAX_CHARACTER_UNITS, 2 * Math.floor(tokens)))
  while (units > 2 && scope.tokensOf(indented(headOf(text, units))) > tokens)
    units = Math.ceil(units * 0.8) - 1
  return headOf(text, Math.max(2, units))
}

/** Units to try of a character that doesn't fit whole. */
const MAX_CHARACTER_UNITS = 1_024

/** Returns a stored row as a piece, without passages. */
export function pieceOf(sessionId: string, row: StoredMessage, length: number): RecalledPiece {
  const { id: messageId, kind, position, anchor, role, createdAt, shown } = row
  const tools = toolsOf(row)
  const hiddenBy = row.condenseParent ?? row.truncationParent ?? row.retiredBy
  const replacedBy = [...new Set((shown ?? []).map(({ compactionId }) => compactionId))]
  return {
    ...{ sessionId, messageId, kind, ...defined({ position }), anchor, role, createdAt },
    ...(tools.length > 0 && { tools }),
    ...(hiddenBy !== undefined && { hiddenBy }),
    ...(hiddenBy === undefined && replacedBy.length > 0 && { replacedBy }),
    ...{ passages: [], length },
  }
}

/** Returns a piece with passages in the order of the text, overlapping ones joined, and the cursor for the rest, at first up to `end`. */
export function withPassages(
  piece: RecalledPiece,
  text: string,
  places: readonly { readonly from: number; readonly to: number }[],
  end?: number,
): RecalledPiece {
  const merged: { from: number; to: number }[] = []
  for (const { from, to } of [...places].sort((a, b) => a.from - b.from)) {
    const last = merged.at(-1)
    if (last !== undefined && from <= last.to + 1) last.to = Math.max(last.to, to)
    else merged.push({ from, to })
  }
  const passages = merged.map(({ from, to }) => ({ from, to, text: text.slice(from, to) }))
  const to = passages.at(-1)?.to ?? 0
  return { ...piece, passages, ...(to < text.length && { cursor: rowCursor(piece, to, end) }) }
}

// ── Cursors ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Returns the content of a tool's cursor. Throws `INVALID_INPUT`. */
export function placeOf<S extends z.ZodType>(schema: S, cursor: string): z.output<S> {
  return decodeCursor(schema, cursor) ?? badCursor()
}

export const countSchema = z.int().nonnegative()
/** A row by its position or id, a place in its text, and the end of the shown part of the text. */
export const rowCursorSchema = z.tuple([z.union([z.int(), z.string()]), countSchema, countSchema.optional()])

/** Returns the cursor of `open_history` for the text of a row from a place on, up to `end` if that comes later. */
export function rowCursor(
  { messageId, position }: Pick<RecalledPiece, 'messageId' | 'position'>,
  offset: number,
  end?: number,
): string {
  return encodeCursor([position ?? messageId, offset, ...(end !== undefined && offset < end ? [end] : [])])
}

/** Returns a place in a text that isn't inside a character. */
export function placeIn(text: string, at: number): number {
  return characterStart(text, Math.min(text.length, Math.max(0, at)))
}

/** Returns the place in a cursor. It may be inside a character that is longer than an answer, so it only keeps surrogate pairs together. */
export function cursorPlace(text: string, at: number): number {
  return codePointStart(text, Math.min(text.length, at))
}
