import { type Part, partsOf } from '../../core/messages/message.ts'
import {
  type CalledPair,
  describeCall,
  describePair,
  findCall,
  pairCalls,
  statusOf,
  type ToolCall,
  type ToolOutput,
  type ToolPair,
  type ToolRow,
  withoutOtherIds,
} from '../../core/model/tool-calls.ts'
import { DEFAULT_PROVIDER } from '../../core/tokens/budget.ts'
import type { ToolCallQuery } from '../storage.ts'
import { damaged, decodeContent, parseStored, readBlobs } from './content-codec.ts'
import { decodeCalls, decodeResults, decodeShown, rowId, skipTools } from './row-codec.ts'
import { estimatorOf, requireSession, type StoredSession } from './sessions.ts'
import { type Row, reading, type Sql } from './sql.ts'
import { CONTENT_OF_M, M_VISIBLE } from './view.ts'
import { mapped, type Work } from './work.ts'

/*
 * Calls and results of the log, including hidden ones. They are found in the index that planning uses (the `tools` column). Contents are
 * read only for the status of a call and for a requested output.
 */

const PAGE = 200

const TOOL_ROWS = `select m.key, m.position, m.id, m.tools, m.shown, ${M_VISIBLE},
    (select c.no from undertext_compactions c where {family c} c.no = m.truncation_parent and c.kind = 'manual')
  from undertext_messages m {index undertext_log} where {family m} m.session = ? and m.tools is not null`

/** The queries, exported for the test of their plans. `instr` may find other rows too, because a path can contain an id. */
export const TOOL_QUERIES = {
  after: `${TOOL_ROWS} and m.position > ? order by m.position limit ?`,
  ofId: `${TOOL_ROWS} and m.position < ? and {instr}(m.tools, ?) > 0 order by m.position desc limit ?`,
} as const

/** Returns a call with its input and output; `undefined` if it is unknown. Throws `SESSION_NOT_FOUND`, `ESTIMATOR_UNKNOWN`. */
export const readToolOutput = reading(
  'messages.toolOutput',
  function* (
    sql: Sql,
    id: string,
    callId: string,
    position: number | undefined,
  ): Work<ToolOutput | undefined> {
    const session = yield* requireSession(sql, id)
    const pair = findCall(yield* rowsOfId(sql, session, callId, position === undefined), position)
    if (pair === undefined) return undefined
    const { call, result } = pair
    const called = call && (yield* partOf(sql, call.row, call.entry.part, 'tool-call'))
    const answer = result && (yield* partOf(sql, result.row, result.entry.part, 'tool-result'))
    const status = statusOf(called, answer)
    return {
      ...describePair(pair, status, estimatorOf(sql, session), session.provider ?? DEFAULT_PROVIDER),
      ...(called !== undefined && { input: called.input }),
      ...(answer !== undefined && { output: answer.output }),
    }
  },
)

/** Returns the newest call with an id, and its result, within the caller's transaction. */
export function* newestCall(sql: Sql, session: StoredSession, callId: string): Work<ToolPair | undefined> {
  return findCall(yield* rowsOfId(sql, session, callId, true), undefined)
}

/**
 * Returns the rows that use an id, in order. For the newest call, the rows from the last row with a call on are enough, because a result
 * belongs to the nearest open call before it.
 */
function* rowsOfId(sql: Sql, session: StoredSession, callId: string, newestOnly: boolean): Work<ToolRow[]> {
  const rows: ToolRow[] = []
  const needle = JSON.stringify(callId)
  let hasCall = false
  let before = Number.MAX_SAFE_INTEGER
  // Most ids occur in two rows, a call and its result, so more are read only if needed.
  for (let page = newestOnly ? 2 : PAGE; ; page = PAGE) {
    const found = yield* sql.all(TOOL_QUERIES.ofId, session.no, before, needle, page)
    for (const stored of found) {
      const row = withoutOtherIds(decodeToolRow(session, stored), (used) => used === callId)
      before = stored[1] as number
      if (row === undefined) continue
      rows.push(row)
      hasCall ||= row.calls.length > 0
    }
    if (found.length < page || (newestOnly && hasCall)) return rows.reverse()
  }
}

/** Returns the calls after a position, in whole messages. Throws `SESSION_NOT_FOUND`, `ESTIMATOR_UNKNOWN`. */
export const readToolCalls = reading(
  'messages.toolCalls',
  function* (sql: Sql, id: string, { after, limit }: ToolCallQuery): Work<ToolCall[]> {
    const session = yield* requireSession(sql, id)
    const estimator = estimatorOf(sql, session)
    const provider = session.provider ?? DEFAULT_PROVIDER
    // Kept, so that a message with many calls is decoded once.
    const contents = { call: lastContent(sql), result: lastContent(sql) }
    return yield* mapped(yield* pageOfCalls(sql, session, after, limit), function* (pair) {
      const { call, result } = pair
      const answer =
        result && partIn(yield* contents.result(result.row), result.row, result.entry.part, 'tool-result')
      const called = answer && partIn(yield* contents.call(call.row), call.row, call.entry.part, 'tool-call')
      return describeCall(pair, statusOf(called, answer), estimator, provider)
    })
  },
)

/** Returns a function that reads the content of a row and keeps the last one. */
function lastContent(sql: Sql): (row: ToolRow) => Work<readonly Part[]> {
  let last: { readonly key: number; readonly parts: readonly Part[] } | undefined
  return function* (row) {
    if (last?.key !== row.key) last = { key: row.key, parts: yield* contentOf(sql, row) }
    return last.parts
  }
}

function* pageOfCalls(
  sql: Sql,
  session: StoredSession,
  after: number,
  limit: number,
): Work<readonly CalledPair[]> {
  const rows: ToolRow[] = []
  const wanted = new Set<string>()
  let calls = 0
  let end = after
  let last = after
  // For a call without a result, the rest of the log has to be read. Pages grow, because each round pairs all rows again.
  for (let page = PAGE; ; page *= 2) {
    const found = yield* sql.all(TOOL_QUERIES.after, session.no, last, page)
    for (const stored of found) {
      const row = decodeToolRow(session, stored)
      last = row.position
      if (calls < limit) {
        calls += row.calls.length
        for (const call of row.calls) wanted.add(call.id)
        if (row.calls.length > 0) end = row.position
      }
      rows.push(row)
    }
    const isLast = found.length < page
    if (calls < limit && !isLast) continue
    const own = rows.flatMap((row) => withoutOtherIds(row, (used) => wanted.has(used)) ?? [])
    const pairs = pairCalls(own).calls.filter(({ call }) => call.row.position <= end)
    if (isLast || pairs.every(({ result }) => result !== undefined)) return pairs
  }
}

/** Throws `STORE_CORRUPT`, naming the message. */
function decodeToolRow(session: StoredSession, row: Row): ToolRow {
  const [key, position, ownId, tools, shown, isVisible, rewoundBy] = row
  const messageId = rowId(session.incarnation, ownId, position, 0)
  const values = parseStored(`[${tools}]`, 'index of calls and results', messageId) as unknown[]
  if (skipTools(values, 0) !== values.length) throw damaged('index of calls and results', messageId)
  return {
    key: key as number,
    messageId,
    position: position as number,
    hidden: isVisible !== 1,
    rewoundBy: (rewoundBy as number | null) ?? undefined,
    shown: decodeShown(shown, messageId),
    calls: decodeCalls(values, 0),
    results: decodeResults(values, 0),
  }
}

function* partOf<T extends Part['type']>(
  sql: Sql,
  row: ToolRow,
  index: number,
  type: T,
): Work<Extract<Part, { type: T }>> {
  return partIn(yield* contentOf(sql, row), row, index, type)
}

function* contentOf(sql: Sql, { key, messageId }: ToolRow): Work<readonly Part[]> {
  const row = yield* sql.get(
    `select c.content, c.blobs from undertext_messages m join ${CONTENT_OF_M} where {family m} m.key = ?`,
    key,
  )
  if (row === undefined) throw damaged('content', messageId)
  const [stored, blobs] = row as [string, string | null]
  const content = decodeContent(stored, blobs, yield* readBlobs(sql, [[blobs, messageId]]), messageId)
  return partsOf({ content })
}

function partIn<T extends Part['type']>(
  parts: readonly Part[],
  { messageId }: ToolRow,
  index: number,
  type: T,
): Extract<Part, { type: T }> {
  const part = parts[index]
  if (part?.type !== type) throw damaged('index of calls and results', messageId)
  return part as Extract<Part, { type: T }>
}
