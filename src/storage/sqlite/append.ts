import { indexMessage } from '../../core/index-message.ts'
import { canonicalJson, stringifyJson } from '../../core/json.ts'
import type { NewMessage } from '../../core/message.ts'
import { type Estimator, type Sizes, SizesSum } from '../../core/tokens.ts'
import { UndertextError } from '../../errors.ts'
import type { AppendedMessage, Estimators } from '../storage.ts'
import { blobReader, keepBlobs } from './blobs.ts'
import type { Connection } from './connection.ts'
import { decodeContent, type EncodedContent, encodeContent, parseStoredObject } from './content-codec.ts'
import { sqliteCode } from './failure.ts'
import { decodeRole, encodeFlags, encodeRole, rowId } from './row-codec.ts'
import { insertSession } from './sessions.ts'
import { encodeTools } from './tools-codec.ts'

/** A message with everything worked out that its rows need. */
type Prepared = {
  readonly message: NewMessage
  readonly encoded: EncodedContent
  readonly metadata: string | null
  readonly role: number
  readonly flags: number
  readonly sizes: Sizes
  readonly tools: string | null
}

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
  }
}

/**
 * Adds messages at the end of a session, all or none, and makes the session if need be.
 *
 * All work that can be done before is done before the write lock is taken. Without idempotency keys nothing is
 * read: one update of the session's row gives the positions and moves the counters.
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
): AppendedMessage[] {
  let prepared = messages.map((message) => prepare(message, estimators.standard))
  const keyed = messages.some(({ idempotencyKey }) => idempotencyKey !== undefined)
  return connection.write('append', () => {
    const session = headOf(connection, sessionId, estimators)
    if (session.estimator !== estimators.standard.name) {
      const estimator = estimators.byName.get(session.estimator)
      if (estimator === undefined) {
        throw new UndertextError('ESTIMATOR_UNKNOWN', { sessionId, estimator: session.estimator })
      }
      prepared = messages.map((message) => prepare(message, estimator))
    }
    if (expectedPosition !== undefined && expectedPosition !== session.position) {
      const repeated = keyed ? repeatedRows(connection, session, prepared) : undefined
      if (repeated !== undefined) return repeated
      throw new UndertextError('POSITION_CONFLICT', {
        sessionId,
        expected: expectedPosition,
        actual: session.position,
      })
    }
    return keyed ? appendKeyed(connection, session, prepared) : appendAll(connection, session, prepared)
  })
}

type Head = {
  readonly no: number
  readonly sessionId: string
  readonly incarnation: string
  readonly position: number
  readonly estimator: string
}

function headOf(connection: Connection, sessionId: string, estimators: Estimators): Head {
  const row = connection.get(
    'select no, incarnation, messages, estimator from undertext_sessions where id = ?',
    sessionId,
  )
  if (row === undefined) {
    const { no, incarnation, estimator } = insertSession(connection, sessionId, {}, estimators.standard.name)
    return { no, sessionId, incarnation, position: 0, estimator }
  }
  const [no, incarnation, position, estimator] = row as [number, string, number, string]
  return { no, sessionId, incarnation, position, estimator }
}

function appendAll(connection: Connection, head: Head, prepared: readonly Prepared[]): AppendedMessage[] {
  const now = Date.now()
  const appended = prepared.map((one, index) =>
    insertMessage(connection, head, one, head.position + index + 1, now),
  )
  moveCounters(connection, head, prepared, now)
  return appended
}

/** Writes only messages whose key is new, in their order. A key may also repeat within the array. */
function appendKeyed(connection: Connection, head: Head, prepared: readonly Prepared[]): AppendedMessage[] {
  const now = Date.now()
  const written: Prepared[] = []
  const appended = prepared.map((one) => {
    const existing = findByKey(connection, head, one)
    if (existing !== undefined) return existing
    written.push(one)
    return insertMessage(connection, head, one, head.position + written.length, now)
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

/**
 * The newest row that came with the key, and whether its body is this one. A row that was hidden by hand has
 * given its key free; an older one that was not keeps it.
 */
function keyedRow(
  connection: Connection,
  head: Head,
  { message }: Prepared,
): { readonly row: AppendedMessage; readonly same: boolean } | undefined {
  const { idempotencyKey } = message
  if (idempotencyKey === undefined) return undefined
  const row = connection.get(
    `select m.position, m.id, m.role, c.content, c.blobs, c.metadata
     from undertext_messages m join undertext_contents c on c.key = m.key
     left join undertext_compactions h on h.no = m.truncation_parent
     where m.session = ? and m.idempotency_key = ? and h.kind is not 'manual' order by m.key desc limit 1`,
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
  const stored = canonicalJson([
    decodeRole(role),
    decodeContent(content, blobs, blobReader(connection), messageId),
    metadata === null ? null : parseStoredObject(metadata, 'metadata', messageId),
  ])
  return {
    row: { id: messageId, position, existing: true },
    same: stored === canonicalJson([message.role, message.content, message.metadata ?? null]),
  }
}

function insertMessage(
  connection: Connection,
  head: Head,
  prepared: Prepared,
  position: number,
  now: number,
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
