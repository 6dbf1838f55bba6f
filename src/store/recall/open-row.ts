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
  countSchema,
  cursorPlace,
  FRAME_TOKENS,
  filled,
  pieceFrom,
  pieceOf,
  placeIn,
  placeOf,
  remarkAnswer,
  rowCursor,
  rowCursorSchema,
  type Unit,
} from './answer.ts'
import type { RecallAnswer, RecalledPiece } from './data.ts'
import { passagesOf, WHOLE } from './passages.ts'
import { badCursor, type RecallRemark, wrong } from './remarks.ts'
import { messageAt, rowNamed, rowText } from './rows.ts'
import { type RecallBounds, type RecallScope, type Scope, textInput } from './scope.ts'

export const openInput = z.strictObject({
  position: z
    .int()
    .positive()
    .optional()
    .describe('The position of a message: its whole text as it was stored.'),
  messageId: nameSchema
    .optional()
    .describe('The id of a message or of a summary: the messages that the summary replaces.'),
  callId: textInput(1_000, 'The id of a tool call: its whole output, even if it is shown shortened.'),
  levels: z
    .enum(['one', 'all'])
    .optional()
    .describe(
      'For a summary. "one" (default) returns what it was made from, which may be other summaries. "all" returns the original messages.',
    ),
  query: textInput(20_000, 'Begins at the passage with these words instead of the beginning.'),
  session: nameSchema.optional().describe('The session. Default: this conversation.'),
  cursor: textInput(1_100, 'A cursor from an earlier answer. Returns what follows it.'),
})
/** The input of `openRow`. */
export type OpenRowInput = z.input<typeof openInput>

/** The rows below a summary, at one level or at all levels, after a given row. */
const belowCursor = z.tuple([z.string(), z.enum(['one', 'all']), countSchema])
const openCursor = z.union([rowCursorSchema, belowCursor])

/** Maximum rows of a summary that one answer reads. */
const PAGE = 40
/** Units shown before the words of a query. */
const BEFORE = 160
/** Units of a page when paging backward, for the cursor of the previous page. */
const PAGE_UNITS = 4_000

export const OPEN: Ask<typeof openInput> = { tool: 'open_history', input: openInput, work: open }

/**
 * Opens what the view shows shortened: for a message or a tool output, its whole stored text; for a summary, the messages that it replaces.
 * Also opens hidden rows.
 */
export function openRow(
  store: Store,
  scope: RecallScope,
  input: OpenRowInput,
  bounds: RecallBounds = {},
): Promise<RecallAnswer> {
  return answered(store, scope, OPEN, input, bounds)
}

async function open(
  asked: Scope,
  input: z.output<typeof openInput>,
  maxTokens: number,
): Promise<RecallAnswer> {
  const { position, messageId, callId, query, levels = 'one', cursor } = input
  const { session, scope } = await asked.sessionOf(input.session)
  const { id } = session
  if (cursor !== undefined) {
    const place = placeOf(openCursor, cursor)
    if (typeof place[1] === 'string') {
      const [summary, levels, after] = place as z.output<typeof belowCursor>
      const row = await rowNamed(scope.store, id, summary)
      return openSummary(scope, id, row, { levels, after, query, maxTokens })
    }
    const [name, offset, end] = place as z.output<typeof rowCursorSchema>
    const row = await rowOf(scope, id, name)
    const { text } = rowText(row)
    if (offset > text.length || (end !== undefined && (end <= offset || end > text.length))) badCursor()
    return openText(scope, id, row, text, { from: cursorPlace(text, offset), end }, maxTokens)
  }
  if (callId !== undefined) {
    const { call, result } = await scope.store.messages.toolOutput(
      id,
      callId,
      position === undefined ? {} : { position },
    )
    const place = result ?? call!
    const row = await messageAt(scope.store, id, place.position)
    const { text, starts, ends } = rowText(row)
    // Only this call or output: other parts of the same message are separate texts.
    const [start, end] = [starts[place.part] ?? 0, ends[place.part] ?? text.length]
    const from = start + startOf(text.slice(start, end), query)
    return openText(scope, id, row, text, { from, end: end < text.length ? end : undefined }, maxTokens)
  }
  const name = position ?? messageId
  if (name === undefined) {
    const { messageId, callId } = scope.names
    throw wrong(`Name what to open: a position, a ${messageId}, a ${callId} or a cursor.`)
  }
  const row = await rowOf(scope, id, name)
  if (row.kind === 'summary') return openSummary(scope, id, row, { levels, after: 0, query, maxTokens })
  const { text } = rowText(row)
  return openText(scope, id, row, text, { from: startOf(text, query), end: undefined }, maxTokens)
}

function rowOf({ store }: Scope, sessionId: string, name: string | number): Promise<StoredMessage> {
  return typeof name === 'number' ? messageAt(store, sessionId, name) : rowNamed(store, sessionId, name)
}

/**
 * Returns a place a little before the first word of the best matching passage, at the start of a line if one is near; without a match, the
 * beginning.
 */
function startOf(text: string, query: string | undefined): number {
  const best = query === undefined ? undefined : passagesOf(readQuery(query), [text])[0]
  if (best === undefined || text.length <= WHOLE) return 0
  const from = placeIn(text, best.at - BEFORE)
  const line = text.lastIndexOf('\n', best.at) + 1
  return line >= from ? line : from
}

/** Returns the text of a row from a place on, up to an end, which is that of one part of a longer message. */
function openText(
  scope: Scope,
  sessionId: string,
  row: StoredMessage,
  text: string,
  { from, end }: { readonly from: number; readonly end: number | undefined },
  maxTokens: number,
): RecallAnswer {
  const empty = pieceOf(sessionId, row, text.length)
  const [piece] = filled(scope, maxTokens - FRAME_TOKENS, 1, [
    { piece: empty, text, within: (tokens) => pieceFrom(scope, empty, text, from, tokens, end) },
  ]) as [RecalledPiece]
  const answer = answerOf(scope, maxTokens, 1, () => ({
    pieces: [piece],
    end,
    lead: { code: text === '' ? 'no-text' : 'text' },
    previous: from === 0 ? undefined : rowCursor(piece, placeIn(text, from - PAGE_UNITS)),
    trail: [
      ...(end === undefined ? [] : [{ code: 'part-ends' as const, end }]),
      ...sessionHint(scope, sessionId),
    ],
  }))
  const rest = answer.pieces[0]?.cursor
  return rest === undefined ? answer : { ...answer, cursor: rest }
}

function sessionHint(scope: Scope, sessionId: string): RecallRemark[] {
  return sessionId === scope.base?.id ? [] : [{ code: 'pass-session' }]
}

async function openSummary(
  scope: Scope,
  sessionId: string,
  summary: StoredMessage,
  given: {
    readonly levels: 'one' | 'all'
    readonly after: number
    readonly query: string | undefined
    readonly maxTokens: number
  },
): Promise<RecallAnswer> {
  const { levels, after, query, maxTokens } = given
  if (summary.kind !== 'summary') badCursor()
  const { rows, marks, more } = await below(scope, sessionId, summary.id, levels, after)
  const cursorAt = (shown: number): string | undefined =>
    shown === rows.length && !more
      ? undefined
      : encodeCursor([summary.id, levels, shown === 0 ? after : marks[shown - 1]])
  if (rows.length === 0) return remarkAnswer(scope, { code: 'no-sources' })
  const units = rows.map((row): Unit => {
    const { text } = rowText(row)
    const piece = pieceOf(sessionId, row, text.length)
    return { piece, text, within: (tokens) => pieceFrom(scope, piece, text, startOf(text, query), tokens) }
  })
  const room = maxTokens - FRAME_TOKENS - scope.tokensOf(cursorAt(rows.length - 1) ?? '')
  // Short messages whole; of a long one only enough to leave room for others.
  const pieces = filled(scope, room, 1 / 3, units)
  return answerOf(scope, maxTokens, pieces.length, (shown) => ({
    pieces: pieces.slice(0, shown),
    lead: { code: 'sources' },
    cursor: cursorAt(shown),
    trail: sessionHint(scope, sessionId),
  }))
}

/** Returns the rows below a summary, and for each the number with which a page continues after it. */
async function below(
  { store }: Scope,
  sessionId: string,
  summaryId: string,
  levels: 'one' | 'all',
  after: number,
): Promise<{
  readonly rows: readonly StoredMessage[]
  readonly marks: readonly number[]
  readonly more: boolean
}> {
  if (levels === 'all') {
    const sources = await store.messages.expand(sessionId, summaryId, { flat: true, after, limit: PAGE + 1 })
    const rows = sources.slice(0, PAGE)
    return { rows, marks: rows.map(({ anchor }) => anchor), more: sources.length > PAGE }
  }
  const { children = [] } = await store.messages.expand(sessionId, summaryId)
  const page = children.slice(after, after + PAGE)
  const rows: StoredMessage[] = []
  for (const child of page)
    rows.push(
      child.kind === 'message'
        ? await messageAt(store, sessionId, child.positions[0])
        : await rowNamed(store, sessionId, child.id),
    )
  return {
    rows,
    marks: page.map((_, at) => after + at + 1),
    more: after + page.length < children.length,
  }
}
