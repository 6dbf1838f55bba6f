import { UndertextError } from '../../errors.ts'
import {
  type PartPreview,
  previewsOf,
  SHORTEST_PREVIEWED,
  type ToolOutputLimits,
} from '../../files/tool-output/message-previews.ts'
import { canonicalJson, stringifyJson } from '../../messages/json.ts'
import type { NewMessage } from '../../messages/message.ts'
import { indexMessage } from '../../model/message-parts.ts'
import { mapped, type Work } from '../../model/work.ts'
import type { Estimator } from '../../tokens/estimators/estimator-schema.ts'
import { type Sizes, SizesSum } from '../../tokens/measure.ts'
import type {
  Appended,
  AppendedMessage,
  Estimators,
  KnownMessage,
  Previewing,
  SessionSettings,
} from '../storage.ts'
import { addToCounters, commitPreviews, type RowPreview } from './append-preview.ts'
import { INSERT_CONTENT, insertInto } from './columns.ts'
import {
  decodeContent,
  type EncodedContent,
  encodeContent,
  keepBlobs,
  parseStoredObject,
  readBlobs,
} from './content-codec.ts'
import { decodeRole, encodeFlags, encodeRole, encodeTools, rowId } from './row-codec.ts'
import { decodeSettings, insertSession, readFigures, requireHead } from './sessions.ts'
import type { Sql } from './sql.ts'

/** A message with the values of its rows. */
type Prepared = {
  readonly message: NewMessage
  readonly encoded: EncodedContent
  readonly metadata: string | null
  readonly role: number
  readonly flags: number
  readonly sizes: Sizes
  readonly tools: string | null
  /** The shortened texts of its large tool outputs. */
  readonly previews: readonly PartPreview[]
}

/** Messages prepared for a session as it was when it was last read. */
type Batch = {
  readonly messages: readonly Prepared[]
  readonly estimator: Estimator
  /** The limits that large outputs were shortened by; `undefined` when no output may be large. */
  readonly previewed: { readonly limits: ToolOutputLimits | undefined } | undefined
}

const NO_PREVIEWS: readonly PartPreview[] = []

type AppendRequest = {
  readonly sessionId: string
  readonly messages: readonly NewMessage[]
  readonly estimators: Estimators
  readonly previewing: Previewing | undefined
}

/**
 * Adds messages at the end of a session, all or none, and creates the session when there is none.
 *
 * A retry of an append that was written returns its rows, whatever position it expects, because that position dates from before the first attempt moved the
 * end.
 */
export function* append(
  sql: Sql,
  sessionId: string,
  messages: readonly NewMessage[],
  expectedPosition: number | undefined,
  estimators: Estimators,
  previewing?: Previewing,
): Work<Appended> {
  const request = { sessionId, messages, estimators, previewing }
  return yield* writeMessages(sql, 'append', request, (write) => write(expectedPosition))
}

/**
 * A write transaction that appends messages. They are encoded and counted before it begins, because others wait for the write lock. When
 * the session has another estimator or other limits by the time the lock is held, the transaction is rolled back and all is repeated.
 */
export function* writeMessages<T>(
  sql: Sql,
  verb: string,
  request: AppendRequest,
  work: (write: (expectedPosition: number | undefined) => Work<Appended>) => Work<T>,
): Work<T> {
  for (;;) {
    const batch = yield* prepareBatch(sql, verb, request)
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

/**
 * Estimators of sessions that have another one than the store, as they were last seen: an append need not read its session
 * twice. A missing or old entry costs a retry.
 */
const ownEstimators = new WeakMap<Estimators, Map<string, string>>()
const MOST_SESSIONS = 1_000

function rememberEstimator(estimators: Estimators, { sessionId, estimator }: Head): void {
  const known = ownEstimators.get(estimators) ?? new Map<string, string>()
  if (known.size >= MOST_SESSIONS) known.clear()
  ownEstimators.set(estimators, known.set(sessionId, estimator))
}

function* prepareBatch(
  sql: Sql,
  verb: string,
  { sessionId, messages, estimators, previewing }: AppendRequest,
): Work<Batch> {
  const name = ownEstimators.get(estimators)?.get(sessionId)
  const estimator = (name === undefined ? undefined : estimators.byName.get(name)) ?? estimators.standard
  let previewed: Batch['previewed']
  const prepared = yield* mapped(messages, function* (message): Work<Prepared> {
    const encoded = encodeContent(message.content)
    const index = indexMessage(message, estimator, encoded.inputJson)
    // The JSON of a text is not shorter than the text.
    const mayBeLarge = index.results.length > 0 && encoded.content.length > SHORTEST_PREVIEWED
    if (mayBeLarge && previewing !== undefined && previewed === undefined) {
      const figures = yield* sql.outside(verb, () => readFigures(sql, sessionId))
      previewed = { limits: previewing.limitsFor(figures?.config) }
    }
    const limits = mayBeLarge ? previewed?.limits : undefined
    return {
      message,
      encoded,
      metadata: message.metadata === undefined ? null : stringifyJson(message.metadata),
      role: encodeRole(message.role),
      flags: encodeFlags(index),
      sizes: index.sizes,
      tools: encodeTools(index),
      previews: limits === undefined ? NO_PREVIEWS : previewsOf(message, index.results, limits, estimator),
    }
  })
  return { messages: prepared, estimator, previewed }
}

/** Writes a batch within the caller's transaction. Throws `OutdatedBatch` when it was prepared for other settings. */
function* writeBatch(
  sql: Sql,
  { sessionId, estimators, previewing }: AppendRequest,
  { messages: prepared, estimator, previewed }: Batch,
  expectedPosition: number | undefined,
): Work<Appended> {
  const session = yield* headOf(sql, sessionId, estimators, previewed !== undefined)
  if (session.estimator !== estimator.name) {
    if (!estimators.byName.has(session.estimator))
      throw new UndertextError('ESTIMATOR_UNKNOWN', { sessionId, estimator: session.estimator })
    rememberEstimator(estimators, session)
    throw new OutdatedBatch()
  }
  if (
    previewed !== undefined &&
    !sameLimits(previewed.limits, previewing!.limitsFor(session.settings.config))
  )
    throw new OutdatedBatch()
  const keyed = prepared.some(({ message }) => message.idempotencyKey !== undefined)
  if (expectedPosition !== undefined && expectedPosition !== session.position) {
    const repeated = keyed ? yield* repeatedRows(sql, session, prepared) : undefined
    if (repeated !== undefined) return { messages: repeated }
    const facts = { sessionId, expected: expectedPosition, actual: session.position }
    throw new UndertextError('POSITION_CONFLICT', facts)
  }
  const { messages, previews } = yield* appendAll(sql, session, prepared, keyed)
  if (previews.length === 0) return { messages }
  const run = previewing!.begin(session.settings)
  const limits = previewed!.limits!
  return { messages, preview: yield* commitPreviews(sql, sessionId, previews, { limits, run, estimator }) }
}

const NO_SETTINGS: SessionSettings = { config: undefined, provider: undefined, model: undefined }

function sameLimits(a: ToolOutputLimits | undefined, b: ToolOutputLimits | undefined): boolean {
  return a?.maxBytes === b?.maxBytes && a?.maxLines === b?.maxLines
}

type Head = {
  readonly no: number
  readonly sessionId: string
  readonly incarnation: string
  readonly position: number
  readonly estimator: string
  /** Read only when an output may be large. */
  readonly settings: SessionSettings
}

function* headOf(sql: Sql, sessionId: string, estimators: Estimators, withSettings: boolean): Work<Head> {
  yield* sql.enter(sessionId)
  const row = yield* sql.get(
    `select no, incarnation, messages, estimator${withSettings ? ', config, provider, model' : ''}
     from undertext_sessions where {family} id = ?`,
    sessionId,
  )
  if (row === undefined) {
    const { no, incarnation, estimator } = yield* insertSession(sql, sessionId, {}, estimators.standard.name)
    return { no, sessionId, incarnation, position: 0, estimator, settings: NO_SETTINGS }
  }
  const [no, incarnation, position, estimator] = row as [number, string, number, string]
  const settings = withSettings ? decodeSettings(row[4], row[5], row[6], `session ${sessionId}`) : NO_SETTINGS
  return { no, sessionId, incarnation, position, estimator, settings }
}

/**
 * Writes the messages in their order, and skips one whose idempotency key is stored already. A key may also repeat within
 * the array.
 */
function* appendAll(
  sql: Sql,
  head: Head,
  prepared: readonly Prepared[],
  keyed: boolean,
): Work<{ messages: AppendedMessage[]; previews: RowPreview[] }> {
  const now = Date.now()
  const previews: RowPreview[] = []
  const written: Prepared[] = []
  const messages = yield* mapped(prepared, function* (one): Work<AppendedMessage> {
    const existing = keyed ? yield* findByKey(sql, head, one) : undefined
    if (existing !== undefined) return existing
    written.push(one)
    return yield* insertMessage(sql, head, one, head.position + written.length, now, previews)
  })
  if (written.length > 0) {
    const sum = new SizesSum()
    for (const { sizes } of written) sum.add(sizes)
    yield* addToCounters(sql, head.no, { rows: written.length, sizes: sum.value, activeCompactions: 0 })
  }
  return { messages, previews }
}

/** The rows of messages, when all are stored with their keys and bodies. */
function* repeatedRows(
  sql: Sql,
  head: Head,
  prepared: readonly Prepared[],
): Work<AppendedMessage[] | undefined> {
  const found = yield* mapped(prepared, (one) => keyedRow(sql, head, one))
  return found.every((one) => one?.same === true) ? found.map((one) => one!.row) : undefined
}

/** The row with the message's idempotency key. Throws `IDEMPOTENCY_CONFLICT` when it has another body. */
function* findByKey(sql: Sql, head: Head, prepared: Prepared): Work<AppendedMessage | undefined> {
  const found = yield* keyedRow(sql, head, prepared)
  if (found === undefined || found.same) return found?.row
  throw new UndertextError('IDEMPOTENCY_CONFLICT', {
    sessionId: head.sessionId,
    idempotencyKey: prepared.message.idempotencyKey!,
    messageId: found.row.id,
  })
}

/** SQL: whether a row `m` is rewound: a manual compaction hides it, or the summary or marker that replaces it, at any depth. */
const IS_REWOUND = `exists (
  with recursive hiding(no) as (
    select coalesce(m.condense_parent, m.truncation_parent)
    union
    select coalesce(i.condense_parent, i.truncation_parent) from hiding h
      join undertext_messages i on {family i} i.session = m.session and i.position is null and i.inserted_by = h.no
  )
  select 1 from hiding h join undertext_compactions c on {family c} c.no = h.no where c.kind = 'manual')`

/** Finds stored messages by their keys, hidden and rewound ones included. */
export function* knownMessages(
  sql: Sql,
  sessionId: string,
  messages: readonly NewMessage[],
): Work<(KnownMessage | undefined)[]> {
  return yield* sql.read('knownMessages', function* () {
    const head = yield* requireHead(sql, sessionId)
    return yield* mapped(messages, function* (message) {
      const found = yield* storedUnder(sql, head, message, 'true', bodyWithoutMetadata)
      return found && { position: found.row.position, same: found.same }
    })
  })
}

/** The newest row with the message's key that is not rewound, and whether it has the same body. A rewound row does not keep its key. */
function* keyedRow(sql: Sql, head: Head, { message }: Prepared): Work<StoredUnder | undefined> {
  return yield* storedUnder(sql, head, message, `not ${IS_REWOUND}`, bodyOf)
}

type StoredUnder = { readonly row: AppendedMessage; readonly same: boolean }

type Body = Pick<NewMessage, 'role' | 'content' | 'metadata'>

function bodyOf({ role, content, metadata }: Body): string {
  return canonicalJson([role, content, metadata ?? null])
}

/** Without metadata, which grows with each import; except for a message that has only metadata. */
function bodyWithoutMetadata(body: Body): string {
  return body.content.length === 0 ? bodyOf(body) : canonicalJson([body.role, body.content])
}

/** The newest row with a message's key that meets a condition on `m`, and whether `compared` returns the same for both. */
function* storedUnder(
  sql: Sql,
  head: Pick<Head, 'no' | 'incarnation'>,
  message: NewMessage,
  condition: string,
  compared: (body: Body) => string,
): Work<StoredUnder | undefined> {
  const { idempotencyKey } = message
  if (idempotencyKey === undefined) return undefined
  const row = yield* sql.get(
    `select m.position, m.id, m.role, c.content, c.blobs, c.metadata
     from undertext_messages m join undertext_contents c on {family c} c.key = m.key
     where {family m} m.session = ? and m.idempotency_key = ? and ${condition} order by m.key desc limit 1`,
    head.no,
    idempotencyKey,
  )
  if (row === undefined) return undefined
  const [position, id, role, content, blobs, metadata] = row as [
    number,
    string | null,
    number,
    string,
    string | null,
    string | null,
  ]
  const messageId = rowId(head.incarnation, id, position, 0)
  const stored: Body = {
    role: decodeRole(role),
    content: decodeContent(content, blobs, yield* readBlobs(sql, [[blobs, messageId]]), messageId),
    ...(metadata !== null && { metadata: parseStoredObject(metadata, 'metadata', messageId) }),
  }
  return { row: { id: messageId, position, existing: true }, same: compared(stored) === compared(message) }
}

const INSERT_MESSAGE = insertInto('undertext_messages', [
  ...['key', 'session', 'anchor', 'position', 'role', 'flags', 'id'],
  ...['size_text', 'size_reasoning', 'size_calls', 'size_results', 'size_media'],
  ...['tools', 'created_at', 'idempotency_key'],
])

function* insertMessage(
  sql: Sql,
  head: Head,
  prepared: Prepared,
  position: number,
  now: number,
  previews: RowPreview[],
): Work<AppendedMessage> {
  const { message, encoded, sizes } = prepared
  if (message.id?.startsWith(`${head.incarnation}:`)) throw idTaken(head, message.id)
  try {
    const key = yield* sql.insert(
      INSERT_MESSAGE,
      sql.keyOf(head.no, { position }),
      head.no,
      position,
      position,
      prepared.role,
      prepared.flags,
      message.id ?? null,
      sizes.text,
      sizes.reasoning,
      sizes.toolCalls,
      sizes.toolResults,
      sizes.media,
      prepared.tools,
      message.createdAt ?? now,
      message.idempotencyKey ?? null,
    )
    yield* sql.run(INSERT_CONTENT, key, encoded.content, prepared.metadata, encoded.blobs)
    for (const preview of prepared.previews) previews.push({ ...preview, key })
  } catch (error) {
    throw explainConflict(sql, head, message, position, error)
  }
  yield* keepBlobs(sql, encoded.bytes)
  return { id: rowId(head.incarnation, message.id ?? null, position, 0), position, existing: false }
}

/** A row can exist with the same id, which is the caller's error, or at the same place, which is damage. */
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
  return new UndertextError('STORE_CORRUPT', {
    detail: `a row for position ${position} is there already`,
  })
}

function idTaken(head: Head, messageId: string): UndertextError<'MESSAGE_ID_TAKEN'> {
  return new UndertextError('MESSAGE_ID_TAKEN', { sessionId: head.sessionId, messageId })
}
