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
import type { ResultEntry } from '../../model/view-row.ts'
import type { Estimator } from '../../tokens/estimators/estimator-schema.ts'
import { type Sizes, SizesSum } from '../../tokens/tokens.ts'
import type {
  Appended,
  AppendedMessage,
  Estimators,
  KnownMessage,
  Previewing,
  SessionSaid,
} from '../storage.ts'
import { commitPreviews, type RowPreview } from './append-preview.ts'
import type { Connection } from './connection.ts'
import { sqliteCode } from './connection.ts'
import {
  blobReader,
  decodeContent,
  type EncodedContent,
  encodeContent,
  keepBlobs,
  parseStoredObject,
} from './content-codec.ts'
import { decodeRole, encodeFlags, encodeRole, encodeTools, rowId } from './row-codec.ts'
import { decodeSaid, insertSession, requireHead } from './sessions.ts'

/** A message with everything worked out that its rows need. */
type Prepared = {
  readonly message: NewMessage
  readonly encoded: EncodedContent
  readonly metadata: string | null
  readonly role: number
  readonly flags: number
  readonly sizes: Sizes
  readonly tools: string | null
  readonly results: readonly ResultEntry[]
  /** What its large tool outputs are shown as. */
  previews: readonly PartPreview[]
}

const NO_PREVIEWS: readonly PartPreview[] = []

function prepare(message: NewMessage, estimator: Estimator): Prepared {
  const encoded = encodeContent(message.content)
  const index = indexMessage(message, estimator, encoded.inputJson)
  return {
    message,
    encoded,
    metadata: message.metadata === undefined ? null : stringifyJson(message.metadata),
    role: encodeRole(message.role),
    flags: encodeFlags(index),
    sizes: index.sizes,
    tools: encodeTools(index),
    results: index.results,
    previews: NO_PREVIEWS,
  }
}

/** Whether an output of it may be large; the JSON of a text is not shorter than the text. */
function mayBeLarge({ results, encoded }: Prepared): boolean {
  return results.length > 0 && encoded.content.length > SHORTEST_PREVIEWED
}

function findPreviews(
  prepared: readonly Prepared[],
  limits: ToolOutputLimits | undefined,
  estimator: Estimator,
): void {
  for (const one of prepared) {
    const isAsked = limits !== undefined && mayBeLarge(one)
    one.previews = isAsked ? previewsOf(one.message, one.results, limits, estimator) : NO_PREVIEWS
  }
}

/**
 * Adds messages at the end of a session, all or none, and makes the session if need be.
 *
 * A retry of an append that was written is answered with its rows, whatever position it expects: it was sent
 * before its own first attempt moved the end.
 */
export function append(
  connection: Connection,
  sessionId: string,
  messages: readonly NewMessage[],
  expectedPosition: number | undefined,
  estimators: Estimators,
  previewing?: Previewing,
): Appended {
  const write = prepareAppend(messages, estimators, previewing)
  return connection.write('append', () => write(connection, sessionId, expectedPosition))
}

/** An append that is ready to be written, within the caller's transaction. */
type PreparedAppend = (
  connection: Connection,
  sessionId: string,
  expectedPosition: number | undefined,
) => Appended

/**
 * All work of an append that can be done before the write lock is taken. Without idempotency keys only the session's row is
 * read then. Its config is read with it when an output may be large, and only then: previews are made by the store's limits
 * before, and again when the session has others.
 */
export function prepareAppend(
  messages: readonly NewMessage[],
  estimators: Estimators,
  previewing?: Previewing,
): PreparedAppend {
  let prepared = messages.map((message) => prepare(message, estimators.standard))
  const isLarge = previewing !== undefined && prepared.some(mayBeLarge)
  let limits = isLarge ? previewing.limitsFor(undefined) : undefined
  if (limits !== undefined) findPreviews(prepared, limits, estimators.standard)
  const keyed = messages.some(({ idempotencyKey }) => idempotencyKey !== undefined)
  return (connection, sessionId, expectedPosition) => {
    const session = headOf(connection, sessionId, estimators, isLarge)
    let estimator = estimators.standard
    if (session.estimator !== estimator.name) {
      const own = estimators.byName.get(session.estimator)
      if (own === undefined) {
        throw new UndertextError('ESTIMATOR_UNKNOWN', { sessionId, estimator: session.estimator })
      }
      estimator = own
      prepared = messages.map((message) => prepare(message, own))
    }
    if (isLarge) {
      const own = previewing.limitsFor(session.said.config)
      if (estimator !== estimators.standard || !sameLimits(limits, own))
        findPreviews(prepared, own, estimator)
      limits = own
    }
    if (expectedPosition !== undefined && expectedPosition !== session.position) {
      const repeated = keyed ? repeatedRows(connection, session, prepared) : undefined
      if (repeated !== undefined) return { messages: repeated }
      throw new UndertextError('POSITION_CONFLICT', {
        sessionId,
        expected: expectedPosition,
        actual: session.position,
      })
    }
    const laid: RowPreview[] = []
    const appended = keyed
      ? appendKeyed(connection, session, prepared, laid)
      : appendAll(connection, session, prepared, laid)
    if (laid.length === 0) return { messages: appended }
    const run = previewing!.begin(session.said)
    const preview = commitPreviews(connection, sessionId, laid, { limits: limits!, run, estimator })
    return { messages: appended, preview }
  }
}

/** What is known of a session before it is read. */
const NOTHING_SAID: SessionSaid = { config: undefined, provider: undefined, model: undefined }

function sameLimits(a: ToolOutputLimits | undefined, b: ToolOutputLimits | undefined): boolean {
  return a?.maxBytes === b?.maxBytes && a?.maxLines === b?.maxLines
}

type Head = {
  readonly no: number
  readonly sessionId: string
  readonly incarnation: string
  readonly position: number
  readonly estimator: string
  /** What it says of itself, when that was asked for. */
  readonly said: SessionSaid
}

function headOf(connection: Connection, sessionId: string, estimators: Estimators, isSaid: boolean): Head {
  const row = connection.get(
    `select no, incarnation, messages, estimator${isSaid ? ', config, provider, model' : ''}
     from undertext_sessions where id = ?`,
    sessionId,
  )
  if (row === undefined) {
    const { no, incarnation, estimator } = insertSession(connection, sessionId, {}, estimators.standard.name)
    return { no, sessionId, incarnation, position: 0, estimator, said: NOTHING_SAID }
  }
  const [no, incarnation, position, estimator] = row as [number, string, number, string]
  const said = isSaid ? decodeSaid(row[4], row[5], row[6], `session ${sessionId}`) : NOTHING_SAID
  return { no, sessionId, incarnation, position, estimator, said }
}

function appendAll(
  connection: Connection,
  head: Head,
  prepared: readonly Prepared[],
  laid: RowPreview[],
): AppendedMessage[] {
  const now = Date.now()
  const appended = prepared.map((one, index) =>
    insertMessage(connection, head, one, head.position + index + 1, now, laid),
  )
  moveCounters(connection, head, prepared, now)
  return appended
}

/** Writes only messages whose key is new, in their order. A key may also repeat within the array. */
function appendKeyed(
  connection: Connection,
  head: Head,
  prepared: readonly Prepared[],
  laid: RowPreview[],
): AppendedMessage[] {
  const now = Date.now()
  const written: Prepared[] = []
  const appended = prepared.map((one) => {
    const existing = findByKey(connection, head, one)
    if (existing !== undefined) return existing
    written.push(one)
    return insertMessage(connection, head, one, head.position + written.length, now, laid)
  })
  if (written.length > 0) moveCounters(connection, head, written, now)
  return appended
}

/** The rows of messages that all are stored already, under their keys and with their bodies. */
function repeatedRows(
  connection: Connection,
  head: Head,
  prepared: readonly Prepared[],
): AppendedMessage[] | undefined {
  const rows: AppendedMessage[] = []
  for (const one of prepared) {
    const found = keyedRow(connection, head, one)
    if (found === undefined || !found.same) return undefined
    rows.push(found.row)
  }
  return rows
}

/** The row an idempotency key stands for. Throws `IDEMPOTENCY_CONFLICT` when it was used with another body. */
function findByKey(connection: Connection, head: Head, prepared: Prepared): AppendedMessage | undefined {
  const found = keyedRow(connection, head, prepared)
  if (found === undefined || found.same) return found?.row
  throw new UndertextError('IDEMPOTENCY_CONFLICT', {
    sessionId: head.sessionId,
    idempotencyKey: prepared.message.idempotencyKey!,
    messageId: found.row.id,
  })
}

/** Whether a row `m` is hidden by hand, or what stands for it is, or what stands for that. */
const TAKEN_BACK = `exists (
  with recursive hiding(no) as (
    select ifnull(m.condense_parent, m.truncation_parent)
    union
    select ifnull(i.condense_parent, i.truncation_parent) from hiding h
      join undertext_messages i on i.session = m.session and i.position is null and i.inserted_by = h.no
  )
  select 1 from hiding h join undertext_compactions c on c.no = h.no where c.kind = 'manual')`

/** Which messages are stored, by their keys. Hidden ones count: what was taken back since is known all the same. */
export function knownMessages(
  connection: Connection,
  sessionId: string,
  messages: readonly NewMessage[],
): (KnownMessage | undefined)[] {
  return connection.read('knownMessages', () => {
    const head = requireHead(connection, sessionId)
    return messages.map((message) => {
      const found = storedUnder(connection, head, message, 'true', saidBy)
      return found && { position: found.row.position, same: found.same }
    })
  })
}

/**
 * The newest row that came with the key, and whether its body is this one. A row that was hidden by hand has
 * given its key free, and so has one that a summary or a marker stood for when that was hidden by hand; an older one that was
 * not keeps it.
 */
function keyedRow(connection: Connection, head: Head, { message }: Prepared): StoredUnder | undefined {
  return storedUnder(connection, head, message, `not ${TAKEN_BACK}`, bodyOf)
}

type StoredUnder = { readonly row: AppendedMessage; readonly same: boolean }

type Body = Pick<NewMessage, 'role' | 'content' | 'metadata'>

function bodyOf({ role, content, metadata }: Body): string {
  return canonicalJson([role, content, metadata ?? null])
}

/** What is known beside a message grows; one of no content is all metadata. */
function saidBy(body: Body): string {
  return body.content.length === 0 ? bodyOf(body) : canonicalJson([body.role, body.content])
}

/** The newest row under a message's key for which a condition on `m` holds, and whether `compared` is the same of both. */
function storedUnder(
  connection: Connection,
  head: Pick<Head, 'no' | 'incarnation'>,
  message: NewMessage,
  condition: string,
  compared: (body: Body) => string,
): StoredUnder | undefined {
  const { idempotencyKey } = message
  if (idempotencyKey === undefined) return undefined
  const row = connection.get(
    `select m.position, m.id, m.role, c.content, c.blobs, c.metadata
     from undertext_messages m join undertext_contents c on c.key = m.key
     where m.session = ? and m.idempotency_key = ? and ${condition} order by m.key desc limit 1`,
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
    content: decodeContent(content, blobs, blobReader(connection), messageId),
    ...(metadata !== null && { metadata: parseStoredObject(metadata, 'metadata', messageId) }),
  }
  return { row: { id: messageId, position, existing: true }, same: compared(stored) === compared(message) }
}

function insertMessage(
  connection: Connection,
  head: Head,
  prepared: Prepared,
  position: number,
  now: number,
  laid: RowPreview[],
): AppendedMessage {
  const { message, encoded, sizes } = prepared
  if (message.id?.startsWith(`${head.incarnation}:`)) throw idTaken(head, message.id)
  try {
    const key = connection.insert(
      `insert into undertext_messages (session, anchor, position, role, flags, id, size_text, size_reasoning, size_calls,
         size_results, size_media, tools, created_at, idempotency_key)
       values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
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
    connection.run(
      'insert into undertext_contents (key, content, metadata, blobs) values (?, ?, ?, ?)',
      key,
      encoded.content,
      prepared.metadata,
      encoded.blobs,
    )
    for (const preview of prepared.previews) laid.push({ ...preview, key })
  } catch (error) {
    throw explained(connection, head, message, position, error)
  }
  keepBlobs(connection, encoded.bytes)
  return { id: rowId(head.incarnation, message.id ?? null, position, 0), position, existing: false }
}

/** A row can be there already by its id, which is the caller's doing, or by its place, which is damage. */
function explained(
  connection: Connection,
  head: Head,
  { id }: NewMessage,
  position: number,
  error: unknown,
): unknown {
  const code = sqliteCode(error)
  if (code !== 'SQLITE_CONSTRAINT_UNIQUE' && code !== 'SQLITE_CONSTRAINT_TRIGGER') return error
  const taken =
    id !== undefined &&
    connection.get('select 1 from undertext_messages where session = ? and id = ?', head.no, id) !== undefined
  if (taken) return idTaken(head, id)
  return new UndertextError('STORE_CORRUPT', {
    detail: `a row for position ${position} is there already`,
  })
}

function idTaken(head: Head, messageId: string): UndertextError<'MESSAGE_ID_TAKEN'> {
  return new UndertextError('MESSAGE_ID_TAKEN', { sessionId: head.sessionId, messageId })
}

function moveCounters(connection: Connection, head: Head, written: readonly Prepared[], now: number): void {
  const sum = new SizesSum()
  for (const one of written) sum.add(one.sizes)
  const sizes = sum.value
  connection.run(
    `update undertext_sessions set messages = messages + ?, visible = visible + ?, size_text = size_text + ?,
       size_reasoning = size_reasoning + ?, size_calls = size_calls + ?, size_results = size_results + ?,
       size_media = size_media + ?, updated_at = ?, version = version + 1 where no = ?`,
    written.length,
    written.length,
    sizes.text,
    sizes.reasoning,
    sizes.toolCalls,
    sizes.toolResults,
    sizes.media,
    now,
    head.no,
  )
}
