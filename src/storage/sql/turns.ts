import { invalid, UndertextError } from '../../core/errors.ts'
import { isObject, stringifyJson } from '../../core/messages/json.ts'
import type { NewMessage } from '../../core/messages/message.ts'
import { isHeld } from '../process.ts'
import type { Lease, TakenTurn, TurnDraft, TurnUse } from '../storage.ts'
import { upsertInto } from './columns.ts'
import { damaged, decodeContent, encodeContent, parseStored } from './content-codec.ts'
import { requireHead, requireSession } from './sessions.ts'
import { outside, type Sql, writing } from './sql.ts'
import { newestCall } from './tool-calls.ts'
import type { Work } from './work.ts'

/** The longest draft, in characters of JSON: it is written again at each flush. */
const MAX_DRAFT_LENGTH = 16 * 1024 * 1024

const CLAIM_TURN = upsertInto('undertext_turns', ['session'], ['id', 'holder', 'expires'])
const CLAIM_CALL = upsertInto('undertext_claims', ['session', 'position', 'call'], ['turn', 'at'])
const OWN_TURN = '{family} session = ? and id = ?'
const NO_DRAFT = 'draft = null, draft_turn = null, draft_position = null, draft_at = null'

/** Returns the turn that holds a session, if it is alive. */
function* turnInTheWay(sql: Sql, session: number): Work<Lease | undefined> {
  const row = yield* sql.get(
    'select id, holder, expires from undertext_turns where {family} session = ?',
    session,
  )
  if (row === undefined) return undefined
  const [runId, holder, expires] = row as [string, string, number]
  const expiresAt = expires - (yield* sql.clockOffset())
  return isHeld({ holder, run: runId, expiresAt }, sql.isShared) ? { runId, holder, expiresAt } : undefined
}

export const activeTurn = outside('sessions.activeTurn', function* (sql: Sql, id: string): Work<
  Lease | undefined
> {
  return yield* turnInTheWay(sql, (yield* requireHead(sql, id)).no)
})

/** Claims a session for a turn. A caller that waits doesn't lock the database each time. */
export function* takeTurn(sql: Sql, id: string, lease: Lease, takeOver: boolean): Work<TakenTurn> {
  const seen = yield* sql.outside('beginTurn', function* () {
    const { no } = yield* requireHead(sql, id)
    return takeOver ? undefined : yield* turnInTheWay(sql, no)
  })
  if (seen !== undefined) return { other: seen }
  return yield* sql.write('beginTurn', function* (): Work<TakenTurn> {
    const { no } = yield* requireHead(sql, id)
    const other = takeOver ? undefined : yield* turnInTheWay(sql, no)
    if (other !== undefined) return { other }
    const expires = lease.expiresAt + (yield* sql.clockOffset())
    yield* sql.run(CLAIM_TURN, no, lease.runId, lease.holder, expires)
    return { draft: yield* readDraft(sql, no, id) }
  })
}

export const renewTurn = writing(
  'beginTurn',
  function* (sql: Sql, id: string, { runId, expiresAt }: Lease): Work<boolean> {
    const { no } = yield* requireHead(sql, id)
    const expires = expiresAt + (yield* sql.clockOffset())
    return (
      (yield* sql.change(`update undertext_turns set expires = ? where ${OWN_TURN}`, expires, no, runId)) ===
      1
    )
  },
)

export function* flushDraft(
  sql: Sql,
  id: string,
  turnId: string,
  messages: readonly NewMessage[],
): Work<void> {
  const draft = encodeDraft(messages)
  yield* sql.write('turn.flush', function* () {
    const { no, messageCount } = yield* requireHead(sql, id)
    const changed = yield* sql.change(
      `update undertext_turns set draft = ?, draft_turn = id, draft_position = ?, draft_at = ? where ${OWN_TURN}`,
      ...[draft, messageCount, Date.now(), no, turnId],
    )
    if (changed !== 1) throw lost(id, turnId)
  })
}

export const dropDraft = writing(
  'turn.dropDraft',
  function* (sql: Sql, id: string, turnId: string): Work<void> {
    const { no } = yield* requireHead(sql, id)
    const changed = yield* sql.change(`update undertext_turns set ${NO_DRAFT} where ${OWN_TURN}`, no, turnId)
    if (changed !== 1) throw lost(id, turnId)
  },
)

export const endTurn = writing('turn.end', function* (sql: Sql, id: string, turnId: string): Work<void> {
  const { no } = yield* requireHead(sql, id)
  yield* sql.run(`delete from undertext_turns where ${OWN_TURN} and draft is null`, no, turnId)
  yield* sql.run(`update undertext_turns set holder = '', expires = 0 where ${OWN_TURN}`, no, turnId)
})

/**
 * Checks, within the transaction of an append or a rewind, that a turn holds the session, and removes its draft. Returns `false` if the
 * draft that would be appended is no longer there. Throws `TURN_LOST`.
 */
export function* useTurn(sql: Sql, sessionId: string, { id, as }: TurnUse): Work<boolean> {
  const { no } = yield* requireHead(sql, sessionId)
  const row = yield* sql.get(`select draft_at from undertext_turns where ${OWN_TURN}`, no, id)
  if (row === undefined) throw lost(sessionId, id)
  if (as === 'draft' && row[0] === null) return false
  if (as === 'end') yield* sql.run(`delete from undertext_turns where ${OWN_TURN}`, no, id)
  else yield* sql.run(`update undertext_turns set ${NO_DRAFT} where ${OWN_TURN}`, no, id)
  return true
}

export const claimCall = writing(
  'turn.claimCall',
  function* (sql: Sql, id: string, turnId: string, callId: string, again: boolean): Work<boolean> {
    const session = yield* requireSession(sql, id)
    const own = yield* sql.get(`select 1 from undertext_turns where ${OWN_TURN}`, session.no, turnId)
    if (own === undefined) throw lost(id, turnId)
    const pair = yield* newestCall(sql, session, callId)
    if (pair?.call === undefined) throw new UndertextError('TOOL_CALL_NOT_FOUND', { sessionId: id, callId })
    if (pair.result !== undefined) return false
    const place = [session.no, pair.call.row.position, callId]
    const known = yield* sql.get(
      'select 1 from undertext_claims where {family} session = ? and position = ? and call = ?',
      ...place,
    )
    if (known !== undefined && !again) return false
    yield* sql.run(CLAIM_CALL, ...place, turnId, Date.now())
    return true
  },
)

function lost(sessionId: string, turnId: string): UndertextError<'TURN_LOST'> {
  return new UndertextError('TURN_LOST', { sessionId, turnId })
}

/** Returns the JSON of a draft. Its contents have the form of stored ones, and their bytes are beside them. */
function encodeDraft(messages: readonly NewMessage[]): string {
  const json = stringifyJson(
    messages.map(({ content, ...rest }) => {
      const { content: text, blobs, bytes } = encodeContent(content)
      const data = bytes.map(({ hash, bytes: own }) => [
        hash.toString('hex'),
        Buffer.from(own).toString('base64'),
      ])
      return { ...rest, content: text, ...(blobs !== null && { blobs, data }) }
    }),
  )
  if (json.length <= MAX_DRAFT_LENGTH) return json
  throw invalid(`turn.flush: a draft may have ${MAX_DRAFT_LENGTH} characters of JSON, not ${json.length}`)
}

function* readDraft(sql: Sql, session: number, id: string): Work<TurnDraft | undefined> {
  const row = yield* sql.get(
    'select draft, draft_turn, draft_position, draft_at from undertext_turns where {family} session = ? and draft is not null',
    session,
  )
  if (row === undefined) return undefined
  const [draft, turnId, position, flushedAt] = row as [string, string, number, number]
  const messages = decodeDraft(draft, `session ${id}`)
  return { turnId, messages, position, flushedAt }
}

function decodeDraft(draft: string, session: string): NewMessage[] {
  const messages = parseStored(draft, 'draft', session)
  if (!Array.isArray(messages)) throw damaged('draft', session)
  return messages.map((message: unknown) => {
    if (!isObject(message) || typeof message.content !== 'string') throw damaged('draft', session)
    const { content, blobs = null, data = [], ...rest } = message
    const bytes = (data as [string, string][]).map(
      ([hash, text]) => [hash, Buffer.from(text, 'base64')] as const,
    )
    const read = decodeContent(content, blobs as string | null, new Map(bytes), session)
    return { ...rest, content: read } as unknown as NewMessage
  })
}
