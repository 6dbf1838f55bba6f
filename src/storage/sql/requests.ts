import { UndertextError } from '../../core/errors.ts'
import { headOf } from '../../core/messages/characters.ts'
import { defined, type JsonObject, parsedJson, stringifyJson } from '../../core/messages/json.ts'
import type { PositionRange } from '../../core/messages/message.ts'
import type { Point } from '../../core/model/moment.ts'
import { canonicalProvider } from '../../core/tokens/providers.ts'
import type { HistoryHead, PieceRecord, RequestRecord } from '../records/records.ts'
import {
  type FoundRequest,
  type NewRequest,
  type Pieces,
  REQUEST_TEXTS,
  type RequestKey,
  type RequestQuery,
  type SessionPoint,
  type StoredRequest,
} from '../requests.ts'
import { insertInto } from './columns.ts'
import {
  countReference,
  damaged,
  keepPieces,
  parseStoredObject,
  storedNumber,
  storedOptional,
  storedText,
} from './content-codec.ts'
import { readViewAt } from './moments.ts'
import { requireKey } from './pins.ts'
import { requestId, requestNo } from './row-codec.ts'
import { requireHead, type SessionHead } from './sessions.ts'
import { outside, type Row, reading, type Sql, writing } from './sql.ts'
import { readRange } from './view.ts'
import { begun, mapped, type Step, together, type Work } from './work.ts'

/*
 * Requests to a model. The sent text isn't stored again, because it can be rendered from the view at its moment. Only texts that aren't in
 * the log are stored, as blobs: a text is the concatenation of its blobs.
 */

const FIELDS = [
  ...['position', 'audit', 'provider', 'model', 'rendering', 'renderer', 'hash'],
  ...REQUEST_TEXTS,
  ...['prompt_first', 'prompt_last', 'answer_first', 'answer_last'],
  ...['input_tokens', 'cache_read_tokens', 'cache_creation_tokens', 'output_tokens', 'at'],
]
const TEXTS = REQUEST_TEXTS.join(', ')
/** All columns of a request. */
export const REQUEST_COLUMNS = ['session', 'no', ...FIELDS]
const INSERT = insertInto('undertext_requests', REQUEST_COLUMNS)
const SELECT = `select no, ${FIELDS.join(', ')} from undertext_requests where {family} session = ?`
/** Locks a blob until the end of the transaction, because a session of the same family may drop its last reference meanwhile. */
const KNOWN_BLOB = 'select hash from undertext_blobs where {family} hash = ? {kept}'
const BYTES_OF_HASH = 32

/**
 * Returns the number of the last entry of a session's audit, and the values that show whether the session has changed since; `undefined`
 * for an unknown session.
 */
export const readPresent = outside('prepareRequest', function* (sql: Sql, id: string): Work<
  SessionPoint | undefined
> {
  yield* sql.enter(id)
  const row = yield* sql.get(
    `select s.incarnation, s.version,
         (select coalesce(max(a.no), 0) from undertext_audit a where {family a} a.session = s.no)
       from undertext_sessions s where {family s} {named s} s.id = ?`,
    id,
  )
  return row && { incarnation: row[0] as string, version: row[1] as number, audit: row[2] as number }
})

/** Records a request in its own transaction; returns its id. Throws `SESSION_NOT_FOUND`. */
export const recordRequest = writing(
  'recordResponse',
  function* (sql: Sql, id: string, request: NewRequest): Work<string | undefined> {
    yield* sql.enter(id)
    const noting = noteRequest(sql, id, request)
    return yield* noting(yield* requireHead(sql, id))
  },
)

/**
 * Records the place of a request's answer, once; returns whether this call recorded it. The answer must come after the moment of the
 * request. Throws `SESSION_NOT_FOUND`, `REQUEST_NOT_FOUND`.
 */
export const recordAnswer = writing(
  'requests.recordAnswer',
  function* (sql: Sql, id: string, request: string, range: PositionRange): Work<boolean> {
    const session = yield* requireHead(sql, id)
    const no = requireNo(session, request)
    const [first, last] = range
    const isKnown = yield* sql.get(
      'select 1 from undertext_requests where {family} session = ? and no = ?',
      session.no,
      no,
    )
    if (isKnown === undefined) throw unknownRequest(session, request)
    if (last > session.messageCount) return false
    const changed = yield* sql.change(
      `update undertext_requests set answer_first = ?, answer_last = ?
       where {family} session = ? and no = ? and answer_first is null and position < ?`,
      ...[first, last, session.no, no, first],
    )
    return changed > 0
  },
)

/**
 * Starts to read the data that a record needs, within a transaction that has entered the session. Returns a function that writes the record
 * and returns its id. If the moment of the request isn't in this session, because the session was purged and created again, nothing is
 * recorded.
 */
export function noteRequest(
  sql: Sql,
  id: string,
  request: NewRequest,
): (session: Pick<SessionHead, 'no' | 'incarnation' | 'messageCount'>) => Work<string | undefined> {
  const reading = begun(readPlace(sql, id, request))
  return function* (session) {
    const { last, hasEntry, known } = yield* reading
    if (!hasEntry || request.position > session.messageCount) return undefined
    yield* insertRequest(sql, session.no, last + 1, request, known)
    return requestId(session.incarnation, last + 1)
  }
}

type Place = { readonly last: number; readonly hasEntry: boolean; readonly known: Set<string> }

/** Returns the number of the last request, whether the entry of the audit belongs to the session, and which blobs exist. */
function* readPlace(sql: Sql, id: string, request: NewRequest): Work<Place> {
  const reading: Step<Row | undefined> = sql.get(
    `select (select coalesce(max(r.no), 0) from undertext_requests r where {family r} r.session = s.no),
       (select count(*) from undertext_audit a where {family a} a.session = s.no and a.no = ?)
     from undertext_sessions s where {family s} {named s} s.id = ?`,
    request.audit,
    id,
  )
  const hashes = REQUEST_TEXTS.flatMap((name) => request[name] ?? [])
    .map(({ hash }) => hash)
    .sort((a, b) => a.compare(b))
  const looking = begun(together(hashes, (hash) => sql.get(KNOWN_BLOB, hash)))
  const place = yield* reading
  const found = yield* looking
  const known = new Set(found.flatMap((row) => (row === undefined ? [] : [hex(row[0])])))
  return { last: (place?.[0] ?? 0) as number, hasEntry: request.audit === 0 || place?.[1] === 1, known }
}

/** Writes a request and its blobs. `known`: the blobs that exist. */
function* insertRequest(
  sql: Sql,
  session: number,
  no: number,
  request: NewRequest,
  known: Set<string>,
): Work<void> {
  const { position, audit, provider, model, rendering, renderer, hash, promptRange, answer, billed } = request
  const texts = REQUEST_TEXTS.map((name) => request[name])
  yield* keepPieces(
    sql,
    texts.flatMap((pieces) => pieces ?? []),
    known,
  )
  yield* sql.run(
    INSERT,
    ...[session, no, position, audit, provider, model, rendering ?? null, renderer, hash],
    ...texts.map((pieces) => (pieces === undefined ? null : Buffer.concat(pieces.map((one) => one.hash)))),
    ...(promptRange ?? [null, null]),
    ...(answer ?? [null, null]),
    ...[billed?.inputTokens ?? null, billed?.cacheReadTokens ?? null, billed?.cacheCreationTokens ?? null],
    ...[billed?.outputTokens ?? null, request.at],
  )
}

/** More requests than a session has. */
const MAX_NO = 2 ** 31 - 1

/** Returns the requests of a session. Throws as `Storage.requests` does. */
export const readRequests = reading(
  'requests.list',
  function* (sql: Sql, id: string, { after, before, order, limit }: RequestQuery): Work<StoredRequest[]> {
    const session = yield* requireHead(sql, id)
    const rows = yield* sql.all(
      `${SELECT} and no > ? and no < ? order by no ${order === 'backward' ? 'desc' : ''} limit ?`,
      session.no,
      after === undefined ? 0 : requireNo(session, after),
      before === undefined ? MAX_NO : requireNo(session, before),
      limit,
    )
    return rows.map((row) => decode(session, row))
  },
)

function requireNo(session: SessionHead, requestId: string): number {
  const no = requestNo(session.incarnation, requestId)
  if (no === undefined) throw unknownRequest(session, requestId)
  return no
}

function unknownRequest({ id }: SessionHead, requestId: string): UndertextError {
  return new UndertextError('REQUEST_NOT_FOUND', { sessionId: id, request: headOf(requestId, 200) })
}

/** Returns a request within the caller's transaction; `undefined` if it is unknown. Throws `MESSAGE_NOT_FOUND`. */
export function* findRequest(
  sql: Sql,
  session: SessionHead,
  key: RequestKey,
): Work<StoredRequest | undefined> {
  if ('id' in key) {
    const no = requestNo(session.incarnation, key.id)
    const row = no === undefined ? undefined : yield* sql.get(`${SELECT} and no = ?`, session.no, no)
    return row && decode(session, row)
  }
  const position = typeof key.answer === 'number' ? key.answer : yield* positionOf(sql, session, key.answer)
  if (position === undefined) return undefined
  // A message has one request. In older records, answers may overlap; then the answer that ends first is the right one.
  const row = yield* sql.get(
    `${SELECT} and answer_last is not null and answer_last >= ? and answer_first <= ? order by answer_last, no limit 1`,
    ...[session.no, position, position],
  )
  return row && decode(session, row)
}

/** Returns the position of a message; `undefined` for an inserted row. */
function* positionOf(sql: Sql, session: SessionHead, messageId: string): Work<number | undefined> {
  const key = yield* requireKey(sql, session, messageId)
  const row = yield* sql.get('select position from undertext_messages where {family} key = ?', key)
  return (row?.[0] as number | null) ?? undefined
}

/**
 * Returns a request with its texts, its prompt if it is in the log, and the view at its moment. Throws `SESSION_NOT_FOUND`,
 * `REQUEST_NOT_FOUND`, `MESSAGE_NOT_FOUND`, `STORE_CORRUPT`.
 */
export const readRequest = reading(
  'requests.get',
  function* (sql: Sql, id: string, key: RequestKey): Work<FoundRequest> {
    const session = yield* requireHead(sql, id)
    const request = yield* findRequest(sql, session, key)
    if (request === undefined)
      throw new UndertextError('REQUEST_NOT_FOUND', { sessionId: id, request: nameOf(key) })
    const texts = yield* mapped(REQUEST_TEXTS, function* (name) {
      const hashes = request[name]
      return [name, hashes === undefined ? undefined : yield* readText(sql, hashes)] as const
    })
    const { promptRange } = request
    return {
      request,
      texts: Object.fromEntries(texts) as FoundRequest['texts'],
      stored: promptRange === undefined ? [] : yield* readRange(sql, session, [promptRange]),
      view: yield* readViewAt(sql, session, request),
    }
  },
)

function nameOf(key: RequestKey): string {
  return headOf('id' in key ? key.id : String(key.answer), 200)
}

/** The size of a request as reported by its provider, for the view at a point. */
export type PastReport = {
  readonly tokens: number
  readonly at: number
  readonly point: Point
}

/** SQL: the last position of the messages that a request sent. If its prompt wasn't in the log, that is the position before its answer. */
const LAST_SENT = `case when r.prompt is not null then r.answer_first - 1 else coalesce(case when r.prompt_last > r.position then r.prompt_last end, r.position) end`
/** The number of reports that are examined to find one of a provider and model. */
const MAX_REPORTS = 20

/**
 * Returns the last report of a request whose messages all come before a point, unless a compaction has changed the view in between. For the
 * moment of a request, returns its own report, which includes its prompt.
 */
export function* reportOfView(
  sql: Sql,
  session: SessionHead,
  { position, audit }: Point,
  of: { readonly provider: string; readonly model: string; readonly request: string | undefined },
): Work<PastReport | undefined> {
  const columns = `r.provider, r.input_tokens + coalesce(r.cache_read_tokens, 0) + coalesce(r.cache_creation_tokens, 0), r.at,
    ${LAST_SENT}, r.audit`
  const ofModel =
    'from undertext_requests r where {family r} r.session = ? and r.model = ? and r.input_tokens is not null'
  const no = of.request === undefined ? undefined : requestNo(session.incarnation, of.request)
  const rows =
    no === undefined
      ? yield* sql.all(
          `select ${columns} ${ofModel} and ${LAST_SENT} <= ? and r.audit <= ? and not exists (select 1 from undertext_audit a
             where {family a} a.session = r.session and a.no > r.audit and a.no <= ? and a.compaction is not null)
           order by r.no desc limit ?`,
          ...[session.no, of.model, position, audit, audit, MAX_REPORTS],
        )
      : yield* sql.all(`select ${columns} ${ofModel} and r.no = ?`, session.no, of.model, no)
  const row = rows.find(([provider]) => canonicalProvider(provider as string) === of.provider)
  if (row === undefined) return undefined
  const [, tokens, at, last, entry] = row as [string, number, number, number | null, number]
  return { tokens, at, point: { position: Math.min(last ?? position, position), audit: entry } }
}

/** Returns the text of blobs; `undefined` if one of them is gone. */
export function* readText(sql: Sql, hashes: readonly string[]): Work<string | undefined> {
  const bytes: Uint8Array[] = []
  for (const hash of hashes) {
    const row = yield* sql.get(
      'select bytes from undertext_blobs where {family} hash = ?',
      Buffer.from(hash, 'hex'),
    )
    if (!(row?.[0] instanceof Uint8Array)) return undefined
    bytes.push(row[0])
  }
  return Buffer.concat(bytes).toString('utf8')
}

function decode(session: Pick<SessionHead, 'incarnation'>, row: Row): StoredRequest {
  const name = `request no. ${row[0]}`
  const number = (at: number): number => storedNumber(row[at], name)
  const optional = (at: number): number | undefined => storedOptional(row[at], name)
  const text = (at: number): string => storedText(row[at], name) ?? ''
  const range = (at: number): PositionRange | undefined =>
    row[at] === null ? undefined : [number(at), number(at + 1)]
  const no = number(0)
  return {
    no,
    id: requestId(session.incarnation, no),
    position: number(1),
    audit: number(2),
    provider: text(3),
    model: text(4),
    rendering: storedText(row[5], name),
    renderer: number(6),
    hash: bytesOf(row[7], name),
    system: hashesIn(row[8], name),
    tools: hashesIn(row[9], name),
    prompt: hashesIn(row[10], name),
    files: hashesIn(row[11], name),
    promptRange: range(12),
    answer: range(14),
    billed:
      row[16] === null
        ? undefined
        : {
            inputTokens: number(16),
            cacheReadTokens: optional(17),
            cacheCreationTokens: optional(18),
            outputTokens: optional(19) ?? 0,
          },
    at: number(20),
  }
}

function bytesOf(value: unknown, row: string): Buffer {
  if (!(value instanceof Uint8Array)) throw damaged('record', row)
  return Buffer.from(value)
}

function hex(value: unknown): string {
  return Buffer.from(value as Uint8Array).toString('hex')
}

/** Returns the hashes in a column, in hexadecimal. */
export function hashesIn(value: unknown, row: string): string[] | undefined {
  if (value === null) return undefined
  const bytes = bytesOf(value, row)
  if (bytes.length === 0 || bytes.length % BYTES_OF_HASH !== 0) throw damaged('record', row)
  const count = bytes.length / BYTES_OF_HASH
  return Array.from({ length: count }, (_, at) =>
    bytes.subarray(at * BYTES_OF_HASH, (at + 1) * BYTES_OF_HASH).toString('hex'),
  )
}

/**
 * Replaces a request with one without hashes of what was sent: with everything else known, a short text could be guessed from them. Its
 * rendering says that it was edited. Must run within `unguarded`.
 */
export function* replaceRequest(sql: Sql, row: Row): Work<void> {
  const [session, no] = row
  const rendering = row[REQUEST_COLUMNS.indexOf('rendering')] as string | null
  const { bound: _, ...settings } = parsedJson(rendering ?? '{}') as JsonObject
  const edited = stringifyJson({ ...settings, edited: true })
  yield* sql.run('delete from undertext_requests where {family} session = ? and no = ?', session, no)
  yield* sql.run(
    INSERT,
    ...row
      .with(REQUEST_COLUMNS.indexOf('rendering'), edited)
      .with(REQUEST_COLUMNS.indexOf('hash'), Buffer.alloc(BYTES_OF_HASH)),
  )
}

/** Removes the hashes of the requests of a session that sent rows from a place on, because what they sent has changed. */
export function* forgetRequestHashes(sql: Sql, session: number, from: number): Work<void> {
  const rows = yield* sql.all(
    `select ${REQUEST_COLUMNS.join(', ')} from undertext_requests where {family} session = ? and position >= ?`,
    ...[session, from],
  )
  for (const row of rows) yield* replaceRequest(sql, row)
}

/** Returns how often the requests of a session, or those of a JSON list of numbers, refer to each blob, by hash. */
export function* requestBlobs(sql: Sql, session: number, numbers?: string): Work<Map<string, number>> {
  const rows = yield* sql.all(
    `select no, ${TEXTS} from undertext_requests where {family} session = ? and (system is not null or tools is not null
       or prompt is not null or files is not null) ${numbers === undefined ? '' : 'and no in (select value from {list ?} k)'}`,
    ...[session, ...(numbers === undefined ? [] : [numbers])],
  )
  const counts = new Map<string, number>()
  for (const [no, ...texts] of rows)
    for (const text of texts)
      for (const hash of hashesIn(text, `request no. ${no}`) ?? []) countReference(counts, hash)
  return counts
}

/**
 * Returns the requests of a session as records, and their texts. `entries`: the audit's entries by number, counted from 1. Throws
 * `STORE_CORRUPT`.
 */
export function* exportRequests(
  sql: Sql,
  session: SessionHead,
  entries: ReadonlyMap<number, number>,
): Work<{ readonly pieces: PieceRecord[]; readonly requests: RequestRecord[] }> {
  const stored = (yield* sql.all(`${SELECT} order by no`, session.no)).map((row) => decode(session, row))
  const pieces = new Map<string, PieceRecord>()
  for (const request of stored)
    for (const sha256 of REQUEST_TEXTS.flatMap((name) => request[name] ?? [])) {
      if (pieces.has(sha256)) continue
      const text = yield* readText(sql, [sha256])
      if (text === undefined)
        throw new UndertextError('STORE_CORRUPT', {
          detail: `blob ${sha256} of request no. ${request.no} is missing`,
        })
      pieces.set(sha256, { type: 'piece', sha256, text })
    }
  const requests = stored.map((request): RequestRecord => {
    const { position, provider, model, rendering, renderer, hash, promptRange, answer, billed, at } = request
    const { system, tools, prompt, files } = request
    return {
      ...{ type: 'request', position, audit: entries.get(request.audit) ?? 0, provider, model },
      ...(rendering !== undefined && {
        rendering: parseStoredObject(rendering, 'rendering', `request no. ${request.no}`),
      }),
      ...{ renderer, sha256: hash.toString('hex') },
      ...defined({ system, tools, prompt, files, promptRange, answer }),
      ...(billed !== undefined && defined(billed)),
      at,
    } as RequestRecord
  })
  return { pieces: [...pieces.values()], requests }
}

/** Writes records of requests within the caller's transaction, after the session's audit. */
export function* restoreRequests(
  sql: Sql,
  session: number,
  { pieces, requests, audit }: Pick<HistoryHead, 'pieces' | 'requests' | 'audit'>,
): Work<void> {
  if (requests.length === 0) return
  const numbers = yield* sql.all(
    'select no from undertext_audit where {family} session = ? order by no limit ?',
    session,
    audit.length,
  )
  const bytes = new Map(pieces.map(({ sha256, text }) => [sha256, Buffer.from(text, 'utf8')] as const))
  const known = new Set<string>()
  for (const sha256 of bytes.keys())
    if ((yield* sql.get(KNOWN_BLOB, Buffer.from(sha256, 'hex'))) !== undefined) known.add(sha256)
  const piecesOf = (hashes: readonly string[] | undefined): Pieces | undefined =>
    hashes?.map((hash) => ({ hash: Buffer.from(hash, 'hex'), bytes: bytes.get(hash)! }))
  for (const [index, record] of requests.entries()) {
    const { inputTokens, cacheReadTokens, cacheCreationTokens, outputTokens = 0 } = record
    const request: NewRequest = {
      ...{ position: record.position, provider: record.provider, model: record.model },
      audit: record.audit === 0 ? 0 : (numbers[record.audit - 1]![0] as number),
      rendering: record.rendering && stringifyJson(record.rendering),
      renderer: record.renderer,
      hash: Buffer.from(record.sha256, 'hex'),
      ...{ system: piecesOf(record.system), tools: piecesOf(record.tools) },
      ...{ prompt: piecesOf(record.prompt), files: piecesOf(record.files) },
      ...{ promptRange: record.promptRange, answer: record.answer },
      billed:
        inputTokens === undefined
          ? undefined
          : { inputTokens, cacheReadTokens, cacheCreationTokens, outputTokens },
      at: record.at,
    }
    yield* insertRequest(sql, session, index + 1, request, known)
  }
}
