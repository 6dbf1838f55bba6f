import { isUndertextError, UndertextError } from '../../core/errors.ts'
import {
  MIN_PREVIEWED_LENGTH,
  type PartPreview,
  previewsOf,
  type ToolOutputLimits,
} from '../../core/files/tool-output/message-previews.ts'
import { canonicalJson, stringifyJson } from '../../core/messages/json.ts'
import { type NewMessage, partsOf } from '../../core/messages/message.ts'
import { isEdited } from '../../core/messages/text-removal.ts'
import { indexMessage, type MessageIndex } from '../../core/model/message-parts.ts'
import { tombstonesIn } from '../../core/retention/tombstone.ts'
import type { Estimator } from '../../core/tokens/estimators/estimator-schema.ts'
import { type Sizes, SizesSum } from '../../core/tokens/measure.ts'
import type {
  Also,
  Appended,
  AppendedMessage,
  Estimators,
  KnownMessage,
  MessageToWrite,
  Previewing,
  Redactions,
  SessionSettings,
  TurnUse,
} from '../storage.ts'
import { commitPreviews, type RowPreview } from './append-preview.ts'
import { writeAudit } from './audit.ts'
import { CONTENT_COLUMNS, INSERT_CONTENT, insertInto, SIZE_COLUMNS, sizeColumns } from './columns.ts'
import { moveCounters } from './commit.ts'
import {
  decodeContent,
  type EncodedContent,
  encodeContent,
  keepBlobs,
  parseStoredObject,
  readBlobs,
} from './content-codec.ts'
import { decodeRole, encodeFlags, encodeRole, encodeTools, rowId } from './row-codec.ts'
import { decodeSettings, estimatorOf, insertSession, rejectAmbiguous, requireHead } from './sessions.ts'
import { reading, type Sql } from './sql.ts'
import { useTurn } from './turns.ts'
import { CONTENT_OF_M } from './view.ts'
import { begun, Done, mapped, type Step, type Work } from './work.ts'

type Prepared = {
  readonly message: MessageToWrite
  readonly encoded: EncodedContent
  readonly metadata: string | null
  readonly role: number
  readonly flags: number
  readonly sizes: Sizes
  readonly tools: string | null
  readonly silent: boolean
  readonly results: MessageIndex['results']
  /** The shortened texts of its large tool outputs. */
  readonly previews: readonly PartPreview[]
}

/** Messages prepared for a session as it was last read. */
type Batch = {
  readonly messages: readonly Prepared[]
  readonly estimator: Estimator
  /** The limits that shortened large outputs; `undefined` if no output can be large. */
  readonly previewed: { readonly limits: ToolOutputLimits | undefined } | undefined
}

const NO_PREVIEWS: readonly PartPreview[] = []

type AppendRequest = {
  readonly sessionId: string
  readonly messages: readonly MessageToWrite[]
  readonly previewing: Previewing | undefined
}

/**
 * Appends messages to a session, all or none, and creates the session if it doesn't exist.
 *
 * If an append is retried, its rows are returned whatever position the retry expects, because that position predates the first attempt.
 */
export function* append(
  sql: Sql,
  sessionId: string,
  messages: readonly MessageToWrite[],
  expectedPosition: number | undefined,
  previewing?: Previewing,
  also?: Also,
  turn?: TurnUse,
): Work<Appended> {
  const request = { sessionId, messages, previewing }
  const batch = prepareBatch(sql, request)
  if (turn !== undefined) return yield* appendForTurn(sql, request, batch, expectedPosition, turn, also)
  const appended =
    also === undefined ? yield* appendAtOnce(sql, sessionId, batch, expectedPosition) : undefined
  if (appended !== undefined) return appended
  const work = withAlso(sql, (write) => write(expectedPosition), also)
  return yield* writeMessages(sql, 'append', request, work, batch)
}

/** Writes the messages within the caller's transaction. */
export type Write = (expectedPosition: number | undefined) => Work<Appended>

/**
 * Adds a function of the application to the end of some work. If everything was already stored, so are the rows that the function wrote
 * then, and it isn't called.
 */
export function withAlso<T extends Appended & { readonly rowsHidden?: number }>(
  sql: Sql,
  work: (write: Write) => Work<T>,
  also: Also | undefined,
): (write: Write) => Work<T> {
  if (also === undefined) return work
  return function* (write) {
    const done = yield* work(write)
    const { messages, rowsHidden = 0 } = done
    if (rowsHidden > 0 || messages.some(({ existing }) => !existing)) yield* sql.lend(also, messages)
    return done
  }
}

/** A position that no session has. */
const NO_POSITION = -1

/** Appends messages if a turn holds the session. If they are stored with their keys, a repeated append returns them after its end too. */
function* appendForTurn(
  sql: Sql,
  request: AppendRequest,
  batch: Batch,
  expectedPosition: number | undefined,
  turn: TurnUse,
  also: Also | undefined,
): Work<Appended> {
  const { sessionId } = request
  const appending = function* (write: Write): Work<Appended> {
    if (!(yield* useTurn(sql, sessionId, turn))) return { messages: [] }
    return yield* write(expectedPosition)
  }
  try {
    return yield* writeMessages(sql, 'append', request, withAlso(sql, appending, also), batch)
  } catch (error) {
    if (!isUndertextError(error, 'TURN_LOST')) throw error
    try {
      return yield* writeMessages(sql, 'append', request, (write) => write(NO_POSITION), batch)
    } catch (conflict) {
      throw isUndertextError(conflict, 'POSITION_CONFLICT') ? error : conflict
    }
  }
}

/** The maximum number of messages in one statement. */
const MAX_STATEMENT_MESSAGES = 16

/**
 * Appends plain messages in one round trip if the engine supports it. The session must exist, and the messages must have no own ids, blobs
 * or previews.
 */
function* appendAtOnce(
  sql: Sql,
  id: string,
  { messages: rows, estimator, previewed }: Batch,
  expectedPosition: number | undefined,
): Work<Appended | undefined> {
  if (
    sql.appendOnce === undefined ||
    rows.length === 0 ||
    rows.length > MAX_STATEMENT_MESSAGES ||
    previewed !== undefined
  )
    return undefined
  const keys = rows.flatMap(({ message }) => message.idempotencyKey ?? [])
  if (new Set(keys).size < keys.length) return undefined
  if (rows.some(({ message, encoded }) => message.id !== undefined || encoded.blobs !== null))
    return undefined
  if (rows.some(({ message }) => message.redacted !== undefined)) return undefined
  const now = Date.now()
  const row = yield* sql.appendOnce({
    ...{ id, estimator: estimator.name, expectedPosition, now, keys, ...sumOf(rows) },
    numbers: rows.flatMap(({ message, role, flags, sizes }) => [
      ...[role, flags, ...sizeColumns(sizes), message.createdAt ?? now],
    ]),
    texts: rows.flatMap(({ message, encoded, tools, metadata }) => [
      ...[tools, encoded.content, metadata],
      message.idempotencyKey ?? null,
    ]),
  })
  if (row === undefined) return undefined
  const [last, incarnation] = row as [number, string]
  const messages = rows.map((_, at) => {
    const position = last - rows.length + 1 + at
    return { id: rowId(incarnation, null, position, 0), position, existing: false }
  })
  return { messages }
}

/** Returns what messages add to the counters. */
function sumOf(rows: readonly Prepared[]): { readonly visible: number; readonly sizes: Sizes } {
  const sum = new SizesSum()
  let visible = 0
  for (const { sizes, silent } of rows) {
    sum.add(sizes)
    if (!silent) visible += 1
  }
  return { visible, sizes: sum.value }
}

/**
 * Runs a write transaction that appends messages. The messages are encoded and counted first, because other writers wait while it holds the
 * lock. If the session turns out to have another estimator or other limits, the transaction is rolled back and everything is repeated.
 */
export function* writeMessages<T>(
  sql: Sql,
  verb: string,
  request: AppendRequest,
  work: (write: Write) => Work<T>,
  prepared?: Batch,
): Work<T> {
  for (let first = prepared; ; first = undefined) {
    const batch = first ?? prepareBatch(sql, request)
    try {
      return yield* sql.write(verb, () =>
        work((expectedPosition) => writeBatch(sql, request, batch, expectedPosition)),
      )
    } catch (error) {
      if (!(error instanceof OutdatedBatch)) throw error
    }
  }
}

class OutdatedBatch extends Error {}

/** The settings that a batch is prepared for. */
type Seen = { readonly estimator: string; readonly config: SessionSettings['config'] }

/**
 * The last known settings of sessions that don't use the store's, so that an append needn't read its session twice. A missing or old entry
 * costs a retry.
 */
const seenSessions = new WeakMap<Estimators, Map<string, Seen>>()
const MAX_SESSIONS = 1_000

function outdated(estimators: Estimators, { sessionId, estimator, settings }: Head): OutdatedBatch {
  const known = seenSessions.get(estimators) ?? new Map<string, Seen>()
  if (known.size >= MAX_SESSIONS) known.clear()
  seenSessions.set(estimators, known.set(sessionId, { estimator, config: settings.config }))
  return new OutdatedBatch()
}

function prepareBatch({ estimators }: Sql, { sessionId, messages, previewing }: AppendRequest): Batch {
  const seen = seenSessions.get(estimators)?.get(sessionId)
  const estimator = (seen && estimators.byName.get(seen.estimator)) ?? estimators.standard
  const prepared = messages.map((message) => prepare(message, estimator))
  if (previewing === undefined || !prepared.some(mayBeLarge))
    return { messages: prepared, estimator, previewed: undefined }
  const limits = previewing.limitsFor(seen?.config)
  if (limits === undefined) return { messages: prepared, estimator, previewed: { limits } }
  const shortened = prepared.map((one) =>
    mayBeLarge(one) ? { ...one, previews: previewsOf(one.message, one.results, limits, estimator) } : one,
  )
  return { messages: shortened, estimator, previewed: { limits } }
}

function prepare(message: MessageToWrite, estimator: Estimator): Prepared {
  const encoded = encodeContent(message.content)
  const index = indexMessage(message, estimator, encoded.inputJson)
  return {
    // A copy, because the caller may change the object while the database works.
    message: { ...message },
    encoded,
    metadata: message.metadata === undefined ? null : stringifyJson(message.metadata),
    role: encodeRole(message.role),
    flags: encodeFlags(index),
    sizes: index.sizes,
    tools: encodeTools(index),
    silent: index.silent,
    results: index.results,
    previews: NO_PREVIEWS,
  }
}

/** The JSON of a text is at least as long as the text, so no large output is missed. */
function mayBeLarge({ results, encoded }: Prepared): boolean {
  return results.length > 0 && encoded.content.length > MIN_PREVIEWED_LENGTH
}

/** Writes a batch within the caller's transaction. Throws `OutdatedBatch` if it was prepared for other settings. */
function* writeBatch(
  sql: Sql,
  { sessionId, previewing }: AppendRequest,
  { messages: prepared, estimator, previewed }: Batch,
  expectedPosition: number | undefined,
): Work<Appended> {
  // SQLite reports a taken id when the row is inserted.
  const taking = sql.isRemote ? yield* beginTaking(sql, sessionId, prepared) : NOTHING_TAKEN
  const session = yield* headOf(sql, sessionId, previewed !== undefined)
  if (session.estimator !== estimator.name) {
    estimatorOf(sql, { id: sessionId, estimator: session.estimator })
    throw outdated(sql.estimators, session)
  }
  if (
    previewed !== undefined &&
    !sameLimits(previewed.limits, previewing!.limitsFor(session.settings.config))
  )
    throw outdated(sql.estimators, session)
  const keyed = prepared.some(({ message }) => message.idempotencyKey !== undefined)
  if (expectedPosition !== undefined && expectedPosition !== session.position) {
    const repeated = keyed ? yield* repeatedRows(sql, session, prepared) : undefined
    if (repeated !== undefined) return { messages: repeated }
    const facts = { sessionId, expected: expectedPosition, actual: session.position }
    throw new UndertextError('POSITION_CONFLICT', facts)
  }
  const { messages, previews } = yield* appendAll(sql, session, prepared, keyed, yield* taking)
  if (previews.length === 0) return { messages }
  const run = previewing!.begin(session.settings)
  const limits = previewed!.limits!
  return { messages, preview: yield* commitPreviews(sql, sessionId, previews, { limits, run, estimator }) }
}

const NO_SETTINGS: SessionSettings = { config: undefined, provider: undefined, model: undefined }

function sameLimits(a: ToolOutputLimits | undefined, b: ToolOutputLimits | undefined): boolean {
  return (
    a?.maxBytes === b?.maxBytes &&
    a?.maxLines === b?.maxLines &&
    (a?.userTools === b?.userTools || a?.userTools?.join('\n') === b?.userTools?.join('\n'))
  )
}

type Head = {
  readonly no: number
  readonly sessionId: string
  readonly incarnation: string
  readonly position: number
  readonly estimator: string
  /** Read only if an output may be large. */
  readonly settings: SessionSettings
}

function* headOf(sql: Sql, sessionId: string, withSettings: boolean): Work<Head> {
  yield* sql.enter(sessionId)
  const row = yield* sql.get(
    `select no, incarnation, messages, estimator${withSettings ? ', config, provider, model' : ''}
     from undertext_sessions where {family} {named} id = ?`,
    sessionId,
  )
  if (row === undefined) {
    yield* rejectAmbiguous(sql, sessionId)
    const { no, incarnation, estimator } = yield* insertSession(
      sql,
      sessionId,
      {},
      sql.estimators.standard.name,
    )
    return { no, sessionId, incarnation, position: 0, estimator, settings: NO_SETTINGS }
  }
  const [no, incarnation, position, estimator] = row as [number, string, number, string]
  const settings = withSettings ? decodeSettings(row[4], row[5], row[6], `session ${sessionId}`) : NO_SETTINGS
  return { no, sessionId, incarnation, position, estimator, settings }
}

/** Writes the messages in order, and skips those whose idempotency key is already stored. A key may also occur twice in the array. */
function* appendAll(
  sql: Sql,
  head: Head,
  prepared: readonly Prepared[],
  keyed: boolean,
  taken: ReadonlySet<unknown>,
): Work<{ messages: AppendedMessage[]; previews: RowPreview[] }> {
  const stored = keyed ? yield* keyedRows(sql, head, prepared) : NONE_STORED
  const earlier = new Map<string, StoredUnder & { readonly message: NewMessage }>()
  const written: Prepared[] = []
  const messages: AppendedMessage[] = []
  for (let at = 0; at < prepared.length; at++) {
    const one = prepared[at]!
    const { message } = one
    const key = message.idempotencyKey
    const known = stored[at] ?? (key === undefined ? undefined : repeated(earlier.get(key), message))
    if (known?.same === false) throw keyTaken(head, key!, known.row.id)
    if (known !== undefined) {
      messages.push({ ...known.row, existing: true })
      continue
    }
    const position = head.position + written.length + 1
    const row = { id: rowId(head.incarnation, message.id ?? null, position, 0), position, existing: false }
    written.push(one)
    messages.push(row)
    if (key !== undefined) earlier.set(key, { message, row, same: true })
  }
  const now = Date.now()
  const previews = yield* insertMessages(sql, head, written, taken, now)
  const last = written.at(-1)
  if (last !== undefined) {
    const newestAt = Math.min(last.message.createdAt ?? now, now)
    const appended = { messages: written.length, newestAt }
    yield* moveCounters(sql, head.no, { appended, ...sumOf(written) }, false)
  }
  yield* recordRedactions(sql, head, written)
  return { messages, previews }
}

/** Records in the audit what was redacted in new messages: kinds and numbers. */
function* recordRedactions(sql: Sql, head: Head, written: readonly Prepared[]): Work<void> {
  const redacted: { [kind: string]: number } = {}
  const positions: number[] = []
  for (const [at, { message }] of written.entries()) {
    if (message.redacted === undefined) continue
    positions.push(head.position + at + 1)
    for (const kind in message.redacted) redacted[kind] = (redacted[kind] ?? 0) + message.redacted[kind]!
  }
  if (positions.length === 0) return
  const detail = { kinds: redacted satisfies Redactions, positions }
  yield* writeAudit(sql, head.no, { event: 'redacted', detail })
}

/** Compares a message to an earlier message of the array with the same key. */
function repeated(
  earlier: (StoredUnder & { readonly message: NewMessage }) | undefined,
  message: NewMessage,
): StoredUnder | undefined {
  return earlier && { row: earlier.row, same: bodyOf(earlier.message) === bodyOf(message) }
}

/** Returns the rows of messages if all of them are stored with their keys and bodies. */
function* repeatedRows(
  sql: Sql,
  head: Head,
  prepared: readonly Prepared[],
): Work<AppendedMessage[] | undefined> {
  const found = yield* keyedRows(sql, head, prepared)
  return found.every((one) => one?.same === true) ? found.map((one) => one!.row) : undefined
}

function keyTaken(head: Head, idempotencyKey: string, messageId: string): UndertextError {
  const { sessionId } = head
  return new UndertextError('IDEMPOTENCY_CONFLICT', { sessionId, idempotencyKey, messageId })
}

/**
 * SQL: whether a row `m` is rewound, that is, whether a manual compaction hides it, or hides the summary or marker that replaces it, at any
 * depth.
 */
const IS_REWOUND = `exists (
  with recursive hiding(no) as (
    select coalesce(m.condense_parent, m.truncation_parent)
    union
    select coalesce(i.condense_parent, i.truncation_parent) from hiding h
      join undertext_messages i on {family i} i.session = m.session and i.position is null and i.inserted_by = h.no
  )
  select 1 from hiding h join undertext_compactions c on {family c} c.no = h.no where c.kind = 'manual')`

/** Finds stored messages by their keys, including hidden and rewound ones. */
export const knownMessages = reading(
  'knownMessages',
  function* (
    sql: Sql,
    sessionId: string,
    messages: readonly NewMessage[],
  ): Work<(KnownMessage | undefined)[]> {
    const head = yield* requireHead(sql, sessionId)
    const found = yield* storedUnder(sql, head, messages, 'true', bodyWithoutMetadata)
    return found.map((one) => one && { position: one.row.position, same: one.same })
  },
)

/**
 * Returns the newest rows with the messages' keys, and whether each has the same body. Rewound rows are ignored: their keys are free again.
 */
function* keyedRows(sql: Sql, head: Head, prepared: readonly Prepared[]): Work<(StoredUnder | undefined)[]> {
  const messages = prepared.map(({ message }) => message)
  return yield* storedUnder(sql, head, messages, `not ${IS_REWOUND}`, bodyOf)
}

const NONE_STORED: readonly undefined[] = []
type StoredUnder = { readonly row: AppendedMessage; readonly same: boolean }

type Body = Pick<NewMessage, 'role' | 'content' | 'metadata'>

function bodyOf({ role, content, metadata }: Body): string {
  return canonicalJson([role, content, metadata ?? null])
}

/** Omits metadata, which grows with each import, unless the message has nothing else. */
function bodyWithoutMetadata(body: Body): string {
  return body.content.length === 0 ? bodyOf(body) : canonicalJson([body.role, body.content])
}

/** Returns, for each message, the newest row with its key that meets a condition on `m`, and whether `compared` is equal for both. */
function* storedUnder(
  sql: Sql,
  head: Pick<Head, 'no' | 'incarnation'>,
  messages: readonly NewMessage[],
  condition: string,
  compared: (body: Body) => string,
): Work<(StoredUnder | undefined)[]> {
  const keys = [...new Set(messages.flatMap(({ idempotencyKey }) => idempotencyKey ?? []))]
  const rows =
    keys.length === 0
      ? []
      : yield* sql.all(
          `select m.idempotency_key, m.position, m.id, m.role, c.content, c.blobs, c.metadata
           from undertext_messages m join ${CONTENT_OF_M}
           where {family m} m.session = ? and m.idempotency_key in (select value from {texts ?} k) and ${condition} order by m.key`,
          head.no,
          JSON.stringify(keys),
        )
  // Later rows of a key overwrite earlier ones.
  const newest = new Map(rows.map((row) => [row[0] as string, row] as const))
  return yield* mapped(messages, function* (message) {
    const row = message.idempotencyKey === undefined ? undefined : newest.get(message.idempotencyKey)
    if (row === undefined) return undefined
    const [, place, id, role, content, blobs, metadata] = row
    const position = place as number
    const messageId = rowId(head.incarnation, id, position, 0)
    const found = yield* readBlobs(sql, [[blobs as string | null, messageId]])
    const stored: Body = {
      role: decodeRole(role),
      content: decodeContent(content as string, blobs as string | null, found, messageId),
      ...(metadata !== null && { metadata: parseStoredObject(metadata, 'metadata', messageId) }),
    }
    // The message as it was before something was removed from it must not be stored again.
    const isReduced = isEdited(stored) || partsOf(stored).some((part) => tombstonesIn(part).length > 0)
    const same = isReduced || compared(stored) === compared(message)
    return { row: { id: messageId, position, existing: true }, same }
  })
}

const MESSAGE_COLUMNS = [
  ...['key', 'session', 'anchor', 'position', 'role', 'flags', 'id'],
  ...SIZE_COLUMNS,
  ...['tools', 'created_at', 'idempotency_key'],
]

/** Inserts messages at the end of the log; returns the previews of their rows. */
function* insertMessages(
  sql: Sql,
  head: Head,
  written: readonly Prepared[],
  taken: ReadonlySet<unknown>,
  now: number,
): Work<RowPreview[]> {
  const previews: RowPreview[] = []
  for (const { message } of written)
    if (message.id?.startsWith(`${head.incarnation}:`)) throw idTaken(head, message.id)
  let position = head.position
  if (sql.isRemote) {
    const twice = firstTaken(
      written.flatMap(({ message }) => message.id ?? []),
      taken,
    )
    if (twice !== undefined) throw idTaken(head, twice)
    for (const rows of batchesOf(written)) {
      yield* insertMany(sql, head, rows, position, now)
      for (const one of rows) {
        const key = sql.keyOf(head.no, { position: ++position })!
        for (const preview of one.previews) previews.push({ ...preview, key })
      }
    }
    yield* keepBlobs(
      sql,
      written.flatMap(({ encoded }) => encoded.bytes),
    )
    return previews
  }
  // A generator per message would slow an append down by 1%.
  for (const one of written) {
    const { message, encoded } = one
    position++
    let key: number
    try {
      key = yield* sql.insert(
        INSERT_MESSAGE,
        sql.keyOf(head.no, { position }),
        ...rowOf(head.no, one, position, now),
      )
      yield* sql.run(INSERT_CONTENT, key, encoded.content, one.metadata, encoded.blobs)
    } catch (error) {
      throw explainConflict(sql, head, message, position, error)
    }
    if (encoded.bytes.length > 0) yield* keepBlobs(sql, encoded.bytes)
    for (const preview of one.previews) previews.push({ ...preview, key })
  }
  return previews
}

const INSERT_MESSAGE = insertInto('undertext_messages', MESSAGE_COLUMNS)

/** The values of `MESSAGE_COLUMNS` after the key. */
function rowOf(
  session: number,
  { message, role, flags, sizes, tools }: Prepared,
  position: number,
  now: number,
): unknown[] {
  return [
    ...[session, position, position, role, flags, message.id ?? null, ...sizeColumns(sizes)],
    ...[tools, message.createdAt ?? now, message.idempotencyKey ?? null],
  ]
}

function* insertMany(
  sql: Sql,
  head: Head,
  rows: readonly Prepared[],
  after: number,
  now: number,
): Work<void> {
  const keyAt = (at: number): number => sql.keyOf(head.no, { position: after + at + 1 })!
  const messages = sql.run(
    insertInto('undertext_messages', MESSAGE_COLUMNS, rows.length),
    ...rows.flatMap((row, at) => [keyAt(at), ...rowOf(head.no, row, after + at + 1, now)]),
  )
  const contents = sql.run(
    insertInto('undertext_contents', CONTENT_COLUMNS, rows.length),
    ...rows.flatMap(({ encoded, metadata }, at) => [keyAt(at), encoded.content, metadata, encoded.blobs]),
  )
  yield* messages
  yield* contents
}

/** The maximum number of rows in one statement. Their parameters stay far below PostgreSQL's limit. */
const MAX_STATEMENT_ROWS = 64

/** Splits a list into parts whose lengths are powers of two, so that only a few different statements are prepared. */
function* batchesOf<T>(list: readonly T[]): Generator<readonly T[]> {
  for (let from = 0, size = MAX_STATEMENT_ROWS; from < list.length; from += size) {
    while (size > list.length - from) size /= 2
    yield list.slice(from, from + size)
  }
}

/** A conflict has two possible causes: a row with the same id, which is the caller's error, or a row at the same place, which is damage. */
function explainConflict(
  sql: Sql,
  head: Head,
  { id }: NewMessage,
  position: number,
  error: unknown,
): unknown {
  const column = sql.takenColumn(error)
  if (column === undefined) return error
  if (column === 'id') return idTaken(head, id!)
  const detail = `a row for position ${position} already exists`
  return new UndertextError('STORE_CORRUPT', { detail })
}

/**
 * Returns those of some ids that are in use in a session. They are looked up first, because an error of PostgreSQL doesn't name the row.
 */
export function* takenMessageIds(
  sql: Sql,
  sessionId: string,
  ids: readonly string[],
): Work<ReadonlySet<unknown>> {
  if (ids.length === 0) return NONE_TAKEN
  const rows = yield* sql.all(
    `select id from undertext_messages where {family} session = (select no from undertext_sessions where {family} {named} id = ?)
       and id in (select value from {texts ?} k)`,
    sessionId,
    JSON.stringify(ids),
  )
  return new Set(rows.map(([id]) => id))
}

const NONE_TAKEN: ReadonlySet<unknown> = new Set()
const NOTHING_TAKEN = new Done(NONE_TAKEN)

/** Starts to look up the ids of messages; the returned step waits for the result. */
function* beginTaking(
  sql: Sql,
  sessionId: string,
  prepared: readonly Prepared[],
): Work<Step<ReadonlySet<unknown>>> {
  yield* sql.enter(sessionId)
  const ids = prepared.flatMap(({ message }) => message.id ?? [])
  return begun(takenMessageIds(sql, sessionId, ids))
}

/** Returns the first id that is taken, or that occurs twice. */
export function firstTaken(ids: readonly string[], taken: ReadonlySet<unknown>): string | undefined {
  const seen = new Set(taken)
  return ids.find((id) => seen.size === seen.add(id).size)
}

function idTaken(head: Head, messageId: string): UndertextError<'MESSAGE_ID_TAKEN'> {
  return new UndertextError('MESSAGE_ID_TAKEN', { sessionId: head.sessionId, messageId })
}
