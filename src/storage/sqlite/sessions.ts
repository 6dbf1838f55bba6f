import { randomBytes } from 'node:crypto'
import { UndertextError } from '../../errors.ts'
import { type JsonObject, stringifyJson } from '../../messages/json.ts'
import type {
  MessageCounts,
  Session,
  SessionFields,
  SessionFigures,
  SessionQuery,
  SessionSaid,
} from '../storage.ts'
import { writeAudit } from './audit.ts'
import type { Connection, Row } from './connection.ts'
import { parseStoredObject, storedNumber, storedText } from './content-codec.ts'
import { encodeKind, encodeRole } from './row-codec.ts'

/** A session together with its number inside the database. */
export type StoredSession = Session & {
  readonly no: number
  readonly inserted: number
  readonly retired: number
}

const COLUMNS = `no, id, incarnation, owner, title, provider, model, config, metadata, estimator, created_at,
  updated_at, archived_at, messages, inserted, visible, size_text, size_reasoning, size_calls, size_results,
  size_media, hidden_condensed, hidden_truncated, hidden_by_hand, retired, active_compactions, version, view_epoch, undone_automatic`

export function readSession(connection: Connection, id: string): StoredSession | undefined {
  const row = connection.get(`select ${COLUMNS} from undertext_sessions where id = ?`, id)
  return row && decodeSession(row)
}

/** What reading the rows of a session needs of it: a few columns instead of all. */
export type SessionHead = Pick<StoredSession, 'no' | 'id' | 'incarnation' | 'messageCount'>

/** Throws `SESSION_NOT_FOUND`. */
export function requireHead(connection: Connection, id: string): SessionHead {
  const row = connection.get('select no, incarnation, messages from undertext_sessions where id = ?', id)
  if (row === undefined) throw new UndertextError('SESSION_NOT_FOUND', { sessionId: id })
  return { id, no: row[0] as number, incarnation: row[1] as string, messageCount: row[2] as number }
}

/** The figures of a session; stands before every call of a model, so it reads what stats need and no more. */
export function readFigures(connection: Connection, id: string): SessionFigures | undefined {
  const row = connection.get(
    `select provider, model, estimator, messages, visible, size_text, size_reasoning, size_calls, size_results, size_media,
       hidden_condensed, hidden_truncated, hidden_by_hand, active_compactions, view_epoch, config, undone_automatic from undertext_sessions where id = ?`,
    id,
  )
  if (row === undefined) return undefined
  const name = `session ${id}`
  const number = (at: number): number => storedNumber(row[at], name)
  return {
    provider: storedText(row[0], name),
    model: storedText(row[1], name),
    estimator: row[2] as string,
    messageCount: number(3),
    visibleCount: number(4),
    visibleSizes: {
      text: number(5),
      reasoning: number(6),
      toolCalls: number(7),
      toolResults: number(8),
      media: number(9),
    },
    hidden: { condensed: number(10), truncated: number(11), byHand: number(12) },
    activeCompactions: number(13),
    viewEpoch: number(14),
    config: parseConfig(row[15], name),
    undoneAutomatic: number(16),
  }
}

export function decodeSaid(config: unknown, provider: unknown, model: unknown, name: string): SessionSaid {
  return {
    config: parseConfig(config, name),
    provider: storedText(provider, name),
    model: storedText(model, name),
  }
}

/** Configs by their text: stats stand before every call, and the settings are remembered by the object. */
const parsedConfigs = new Map<string, JsonObject>()
const MOST_CONFIGS = 100
const LONGEST_REMEMBERED = 20_000

/** The same text gives the same object, so nobody may change it. */
function parseConfig(value: unknown, name: string): JsonObject | undefined {
  if (value === null) return undefined
  const before = typeof value === 'string' ? parsedConfigs.get(value) : undefined
  if (before !== undefined) return before
  const config = parseJson(value, name)
  if (config === undefined || typeof value !== 'string' || value.length > LONGEST_REMEMBERED) return config
  if (parsedConfigs.size >= MOST_CONFIGS) parsedConfigs.clear()
  parsedConfigs.set(value, config)
  return config
}

/** Throws `SESSION_NOT_FOUND`. */
export function requireSession(connection: Connection, id: string): StoredSession {
  const session = readSession(connection, id)
  if (session === undefined) throw new UndertextError('SESSION_NOT_FOUND', { sessionId: id })
  return session
}

/** Inserts a session, within the caller's transaction. */
export function insertSession(
  connection: Connection,
  id: string,
  fields: SessionFields,
  estimator: string,
): StoredSession {
  const now = Date.now()
  connection.run(
    `insert into undertext_sessions (id, incarnation, owner, title, provider, model, config, metadata, estimator, created_at, updated_at)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    id,
    // 96 random bits: ids of messages begin with it, so it is short and needs no escaping anywhere.
    randomBytes(12).toString('base64url'),
    fields.owner ?? null,
    fields.title ?? null,
    fields.provider ?? null,
    fields.model ?? null,
    encodeJson(fields.config),
    encodeJson(fields.metadata),
    estimator,
    now,
    now,
  )
  return requireSession(connection, id)
}

export function createSession(
  connection: Connection,
  id: string,
  fields: SessionFields,
  estimator: string,
): StoredSession {
  return connection.write('createSession', () => {
    if (readSession(connection, id) !== undefined)
      throw new UndertextError('SESSION_EXISTS', { sessionId: id })
    return insertSession(connection, id, fields, estimator)
  })
}

export function listSessions(connection: Connection, query: SessionQuery): StoredSession[] {
  return connection.read('listSessions', () => {
    const after =
      query.after === undefined ? Number.MAX_SAFE_INTEGER : requireSession(connection, query.after).no
    if (query.search === undefined) return page(connection, COLUMNS, query, after).map(decodeSession)
    return search(connection, { ...query, search: query.search.toLowerCase() }, after)
  })
}

/** Some columns of the sessions a query names, newest first, before the number `before`. */
function page(
  connection: Connection,
  columns: string,
  { archived, owner, limit }: Omit<SessionQuery, 'after' | 'search'>,
  before: number,
  [condition, ...values]: readonly [string, ...unknown[]] = ['true'],
): Row[] {
  const isArchived = archived ? 'archived_at is not null' : 'archived_at is null'
  const isOwned = owner === undefined ? '' : 'and owner = ?'
  return connection.all(
    `select ${columns} from undertext_sessions
     where no < ? and ${isArchived} and staged_by is null ${isOwned} and ${condition} order by no desc limit ?`,
    before,
    ...(owner === undefined ? [] : [owner]),
    ...values,
    limit,
  )
}

/**
 * What SQLite can tell about a search: it knows the case of ASCII letters only, so a text with another character stays
 * a candidate. A `%` or `_` in the search only adds candidates.
 */
const MAY_HOLD =
  '(id like ? or title like ? or length(id) <> octet_length(id) or length(title) <> octet_length(title))'
const CANDIDATES = 1_000

/** The sessions that hold a text in lower case. Of the others no more than the id and the title is read. */
function search(
  connection: Connection,
  query: SessionQuery & { readonly search: string },
  from: number,
): StoredSession[] {
  const found: StoredSession[] = []
  const asked = { ...query, limit: CANDIDATES }
  const pattern = `%${query.search}%`
  let before = from
  for (;;) {
    const rows = page(connection, 'no, id, title', asked, before, [MAY_HOLD, pattern, pattern])
    for (const [no, id, title] of rows) {
      if (!holds(id, query.search) && !holds(title, query.search)) continue
      found.push(decodeSession(connection.get(`select ${COLUMNS} from undertext_sessions where no = ?`, no)!))
      if (found.length === query.limit) return found
    }
    if (rows.length < CANDIDATES) return found
    before = rows.at(-1)![0] as number
  }
}

function holds(text: unknown, lowerCase: string): boolean {
  return typeof text === 'string' && text.toLowerCase().includes(lowerCase)
}

/** SQL for a row that keeps something and is sent nowhere: a tool's, with no part that a model is sent. */
const IS_SILENT = `kind = ${encodeKind('message')} and role = ${encodeRole('tool')} and flags = 0 and tools is null`
const IS_VISIBLE = 'condense_parent is null and truncation_parent is null and retired_by is null'

/** What rows there are; reads all rows of the session, without their contents. */
export function countMessages(connection: Connection, id: string): MessageCounts {
  return connection.outside('countMessages', () => {
    const { no, messageCount } = requireSession(connection, id)
    const [bookkeeping, visible] = connection.get(
      `select ifnull(sum(${IS_SILENT}), 0), ifnull(sum(${IS_VISIBLE} and not (${IS_SILENT})), 0)
       from undertext_messages where session = ?`,
      no,
    ) as [number, number]
    return { messages: messageCount - bookkeeping, bookkeeping, visible }
  })
}

/** Sessions that are looked at first, and how many times as many each time after. */
const CHANGED_LAST = 100
const MORE = 10

/**
 * The session with the newest message. None has one that is newer than its last change, so those that were changed last are looked at until
 * a message is newer than the changes of all that are left.
 */
export function newestSession(connection: Connection, archived: boolean): string | undefined {
  return connection.outside('listSessions', () => {
    for (let limit = CHANGED_LAST; ; limit *= MORE) {
      const rows = connection.all(
        `select s.id, s.updated_at, ifnull(min(s.updated_at, (select m.created_at from undertext_messages m
             where m.session = s.no and m.position = s.messages and m.ordinal = 0)), 0) as said
         from (select no, id, updated_at, messages from undertext_sessions
           where (archived_at is not null) = ? and staged_by is null order by updated_at desc, no desc limit ?) s
         order by said desc, s.no desc`,
        archived ? 1 : 0,
        limit,
      )
      const oldest = rows.reduce(
        (least, [, updatedAt]) => Math.min(least, updatedAt as number),
        Number.POSITIVE_INFINITY,
      )
      const [first] = rows
      if (first === undefined) return undefined
      if (rows.length < limit || (first[2] as number) >= oldest) return first[0] as string
    }
  })
}

export function updateSession(
  connection: Connection,
  id: string,
  fields: SessionFields & { readonly updatedAt?: number },
): StoredSession {
  return connection.write('updateSession', () => {
    updateFields(connection, requireSession(connection, id), fields)
    return requireSession(connection, id)
  })
}

/** Writes what is given of a session's fields, within the caller's transaction. */
export function updateFields(
  connection: Connection,
  before: StoredSession,
  fields: SessionFields & { readonly updatedAt?: number },
): void {
  const pick = <T>(change: T | null | undefined, current: T | undefined): T | null =>
    change === undefined ? (current ?? null) : change
  const provider = pick(fields.provider, before.provider)
  const model = pick(fields.model, before.model)
  const moved = provider !== (before.provider ?? null) || model !== (before.model ?? null)
  connection.run(
    `update undertext_sessions set owner = ?, title = ?, provider = ?, model = ?, config = ?, metadata = ?,
       updated_at = ?, version = version + 1, view_epoch = view_epoch + ? where no = ?`,
    pick(fields.owner, before.owner),
    pick(fields.title, before.title),
    provider,
    model,
    encodeJson(pick(fields.config, before.config)),
    encodeJson(pick(fields.metadata, before.metadata)),
    fields.updatedAt ?? Date.now(),
    moved ? 1 : 0,
    before.no,
  )
}

export function archiveSession(connection: Connection, id: string, archived: boolean): StoredSession {
  return connection.write('archiveSession', () => {
    const before = requireSession(connection, id)
    if ((before.archivedAt !== undefined) === archived) return before
    connection.run(
      'update undertext_sessions set archived_at = ?, version = version + 1 where no = ?',
      archived ? Date.now() : null,
      before.no,
    )
    writeAudit(connection, before.no, { event: archived ? 'archived' : 'unarchived' })
    return requireSession(connection, id)
  })
}

function encodeJson(value: JsonObject | null | undefined): string | null {
  return value === null || value === undefined ? null : stringifyJson(value)
}

function parseJson(value: unknown, name: string): JsonObject | undefined {
  const text = storedText(value, name)
  return text === undefined ? undefined : parseStoredObject(text, 'config or metadata', name)
}

function decodeSession(row: Row): StoredSession {
  const name = `session no. ${row[0]}`
  const text = (at: number): string | undefined => storedText(row[at], name)
  const number = (at: number): number => storedNumber(row[at], name)
  const json = (at: number): JsonObject | undefined => parseJson(row[at], name)
  return {
    no: number(0),
    id: row[1] as string,
    incarnation: row[2] as string,
    owner: text(3),
    title: text(4),
    provider: text(5),
    model: text(6),
    config: json(7),
    metadata: json(8),
    estimator: row[9] as string,
    createdAt: number(10),
    updatedAt: number(11),
    archivedAt: (row[12] as number | null) ?? undefined,
    messageCount: number(13),
    inserted: number(14),
    visibleCount: number(15),
    visibleSizes: {
      text: number(16),
      reasoning: number(17),
      toolCalls: number(18),
      toolResults: number(19),
      media: number(20),
    },
    hidden: { condensed: number(21), truncated: number(22), byHand: number(23) },
    retired: number(24),
    activeCompactions: number(25),
    version: number(26),
    viewEpoch: number(27),
    undoneAutomatic: number(28),
  }
}
