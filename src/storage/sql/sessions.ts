import { randomBytes } from 'node:crypto'
import { invalid, UndertextError } from '../../core/errors.ts'
import { fitsIndex, incarnationOf, NAME_BYTES_RULE } from '../../core/messages/check.ts'
import { defined, type JsonObject, stringifyJson } from '../../core/messages/json.ts'
import type { Estimator } from '../../core/tokens/estimators/estimator-schema.ts'
import type { Seen } from '../owners.ts'
import type {
  ForkOrigin,
  ListedSession,
  MessageCounts,
  Session,
  SessionFields,
  SessionFigures,
  SessionQuery,
  SessionSettings,
} from '../storage.ts'
import { writeAudit } from './audit.ts'
import { insertInto, SIZE_COLUMNS, sizesOf } from './columns.ts'
import { parseStoredObject, storedNumber, storedText } from './content-codec.ts'
import { SILENT } from './row-codec.ts'
import { outside, type Row, reading, type Sql, writing } from './sql.ts'
import type { Step, Work } from './work.ts'

/** A session with its number in the database. */
export type StoredSession = Session & {
  readonly no: number
  readonly inserted: number
  readonly retired: number
}

const FIGURES = `provider, model, config, estimator, messages, visible, ${SIZE_COLUMNS.join(', ')}, hidden_condensed, hidden_truncated, hidden_manual, active_compactions, view_epoch, undone_automatic`
const FIGURE_NAMES = FIGURES.split(',').map((name) => name.trim())
/** The columns that stats need, of the alias `s`. */
export const FIGURES_OF_S = FIGURE_NAMES.map((name) => `s.${name}`).join(', ')
export const FIGURE_COUNT = FIGURE_NAMES.length
const COLUMNS = `${FIGURES}, no, id, incarnation, owner, title, metadata, created_at, updated_at, archived_at, inserted,
  retired, version, forked_at, (select o.id from undertext_sessions o
    where {same o undertext_sessions} {seen o} o.no = undertext_sessions.forked_from)`

/** SQL: the forks of a session, by its number. */
export const FORKS_OF = '{family} forked_at is not null and forked_from = ?'

export function* readSession(sql: Sql, id: string): Work<StoredSession | undefined> {
  yield* sql.enter(id)
  const row = yield* sql.get(`select ${COLUMNS} from undertext_sessions where {family} {named} id = ?`, id)
  if (row === undefined) yield* rejectAmbiguous(sql, id)
  return row && decodeSession(row)
}

/** Reads a session of any owner. Throws `SESSION_NOT_FOUND`. */
export function* sessionOf(sql: Sql, id: string, owner: string | null | undefined): Work<StoredSession> {
  yield* sql.enter(id, owner ?? null)
  const ofOwner = '{family} id = ? and owner is not distinct from ?'
  const [session] = yield* sessionsWhere(sql, ofOwner, id, owner ?? null)
  if (session === undefined) throw new UndertextError('SESSION_NOT_FOUND', { sessionId: id })
  return session
}

/** Throws `SESSION_AMBIGUOUS` if a session wasn't found because several owners have one with this id. */
export function* rejectAmbiguous(sql: Sql, sessionId: string): Work<void> {
  if (sql.seen === undefined && (yield* sql.isAmbiguous(sessionId)))
    throw new UndertextError('SESSION_AMBIGUOUS', { sessionId })
}

export const getSession = outside('sessions.get', (sql: Sql, id: string) => readSession(sql, id))

/** The fields needed to read the rows of a session. */
export type SessionHead = Pick<StoredSession, 'no' | 'id' | 'incarnation' | 'messageCount'> & {
  /** Present for a fork. */
  readonly forkedFrom?: Pick<ForkOrigin, 'position'>
}

/** Throws `SESSION_NOT_FOUND`. */
export function* requireHead(sql: Sql, id: string): Work<SessionHead> {
  yield* sql.enter(id)
  const row = yield* sql.get(
    'select no, incarnation, messages, case when forked_from is not null then forked_at end from undertext_sessions where {family} {named} id = ?',
    id,
  )
  if (row === undefined) {
    yield* rejectAmbiguous(sql, id)
    throw new UndertextError('SESSION_NOT_FOUND', { sessionId: id })
  }
  const [no, incarnation, messageCount, forkedAt] = row as unknown as [number, string, number, number | null]
  return {
    id,
    no,
    incarnation,
    messageCount,
    ...(forkedAt !== null && { forkedFrom: { position: forkedAt } }),
  }
}

/** Returns the figures of a session. It is called before every call of a model, so it reads only the columns that stats need. */
export function* readFigures(sql: Sql, id: string): Work<SessionFigures | undefined> {
  yield* sql.enter(id)
  const row = yield* sql.get(`select ${FIGURES} from undertext_sessions where {family} {named} id = ?`, id)
  if (row === undefined) yield* rejectAmbiguous(sql, id)
  return row && decodeFigures(row, `session ${id}`)
}

/** The index of the first column after the sizes. */
const AFTER_SIZES = 6 + SIZE_COLUMNS.length
/** The index of the first column after the figures. */
const AFTER_FIGURES = AFTER_SIZES + 6

export function decodeFigures(row: Row, name: string): SessionFigures {
  const number = (at: number): number => storedNumber(row[at], name)
  return {
    provider: storedText(row[0], name),
    model: storedText(row[1], name),
    config: parseConfig(row[2], name),
    estimator: row[3] as string,
    messageCount: number(4),
    visibleCount: number(5),
    visibleSizes: sizesOf(SIZE_COLUMNS.map((_, at) => number(6 + at))),
    hidden: {
      condensed: number(AFTER_SIZES),
      truncated: number(AFTER_SIZES + 1),
      manual: number(AFTER_SIZES + 2),
    },
    activeCompactions: number(AFTER_SIZES + 3),
    viewEpoch: number(AFTER_SIZES + 4),
    undoneAutomatic: number(AFTER_SIZES + 5),
  }
}

function decodeSession(row: Row): StoredSession {
  const name = `session no. ${row[AFTER_FIGURES]}`
  const text = (at: number): string | undefined => storedText(row[at], name)
  const number = (at: number): number => storedNumber(row[at], name)
  // The config of the figures is shared by all of its readers, while this one is returned to callers.
  const {
    provider,
    model,
    config: _,
    estimator,
    viewEpoch,
    undoneAutomatic,
    ...counters
  } = decodeFigures(row, name)
  return {
    no: number(AFTER_FIGURES),
    id: row[AFTER_FIGURES + 1] as string,
    incarnation: row[AFTER_FIGURES + 2] as string,
    owner: text(AFTER_FIGURES + 3),
    title: text(AFTER_FIGURES + 4),
    provider,
    model,
    config: parseJson(row[2], name),
    metadata: parseJson(row[AFTER_FIGURES + 5], name),
    estimator,
    createdAt: number(AFTER_FIGURES + 6),
    updatedAt: number(AFTER_FIGURES + 7),
    archivedAt: (row[AFTER_FIGURES + 8] as number | null) ?? undefined,
    ...counters,
    inserted: number(AFTER_FIGURES + 9),
    retired: number(AFTER_FIGURES + 10),
    version: number(AFTER_FIGURES + 11),
    viewEpoch,
    undoneAutomatic,
    ...(row[AFTER_FIGURES + 13] !== null && {
      forkedFrom: { sessionId: row[AFTER_FIGURES + 13] as string, position: number(AFTER_FIGURES + 12) },
    }),
  }
}

export function decodeSettings(
  config: unknown,
  provider: unknown,
  model: unknown,
  name: string,
): SessionSettings {
  return {
    config: parseConfig(config, name),
    provider: storedText(provider, name),
    model: storedText(model, name),
  }
}

/** Configs by their text: stats are read before every call, and settings are cached by object. */
const parsedConfigs = new Map<string, JsonObject>()
const MAX_CONFIGS = 100
const MAX_CACHED_LENGTH = 20_000

/** Returns the same object for the same text; it must not be modified. */
function parseConfig(value: unknown, name: string): JsonObject | undefined {
  if (value === null) return undefined
  const before = typeof value === 'string' ? parsedConfigs.get(value) : undefined
  if (before !== undefined) return before
  const config = parseJson(value, name)
  if (config === undefined || typeof value !== 'string' || value.length > MAX_CACHED_LENGTH) return config
  if (parsedConfigs.size >= MAX_CONFIGS) parsedConfigs.clear()
  parsedConfigs.set(value, config)
  return config
}

/** Returns the estimator that a session was counted with. Throws `ESTIMATOR_UNKNOWN`. */
export function estimatorOf(
  sql: Sql,
  { id: sessionId, estimator }: Pick<StoredSession, 'id' | 'estimator'>,
): Estimator {
  const found = sql.estimators.byName.get(estimator)
  if (found === undefined) throw new UndertextError('ESTIMATOR_UNKNOWN', { sessionId, estimator })
  return found
}

/** Throws `SESSION_NOT_FOUND`. */
export function* requireSession(sql: Sql, id: string): Work<StoredSession> {
  const session = yield* readSession(sql, id)
  if (session === undefined) throw new UndertextError('SESSION_NOT_FOUND', { sessionId: id })
  return session
}

const FIELDS = ['owner', 'title', 'provider', 'model', 'config', 'metadata'] as const
const INSERT = insertInto('undertext_sessions', [
  ...['no', 'id', 'incarnation', 'estimator', 'created_at', 'updated_at'],
  ...FIELDS,
])

function encodeFields(fields: SessionFields): (string | null)[] {
  return FIELDS.map((name) => {
    const value = fields[name] ?? null
    return typeof value === 'object' && value !== null ? stringifyJson(value) : value
  })
}

/** Throws `SESSION_EXISTS` if an owner has a session with this id; for `undefined`, if anyone has. */
export function* requireFreeId(sql: Sql, id: string, owner: Seen): Work<void> {
  if (yield* sql.isTaken(id, owner)) throw new UndertextError('SESSION_EXISTS', { sessionId: id })
}

/** Inserts a session within the caller's transaction. Throws `INVALID_INPUT` if its id is too long. */
export function* insertSession(
  sql: Sql,
  id: string,
  fields: SessionFields,
  estimator: string,
  isFork = false,
): Work<StoredSession> {
  if (!fitsIndex(id)) throw invalid(`sessionId ${NAME_BYTES_RULE}`)
  const now = Date.now()
  // An owner's store makes nothing for others.
  const owner = sql.seen === undefined ? (fields.owner ?? null) : sql.seen
  const no = yield* sql.insert(
    INSERT,
    yield* sql.admit(id, owner, isFork),
    id,
    // 96 random bits. Message ids begin with them, so they are short and need no escaping anywhere.
    incarnationOf(randomBytes(12)),
    estimator,
    now,
    now,
    ...encodeFields({ ...fields, owner }),
  )
  return yield* sessionNumbered(sql, no)
}

export const createSession = writing(
  'sessions.create',
  function* (sql: Sql, id: string, fields: SessionFields, estimator: string): Work<StoredSession> {
    yield* requireFreeId(sql, id, fields.owner ?? sql.seen)
    return yield* insertSession(sql, id, fields, estimator)
  },
)

/** Returns a session of the current family by its number. */
export function* sessionNumbered(sql: Sql, no: unknown): Work<StoredSession> {
  return (yield* sessionsWhere(sql, '{family} no = ?', no))[0]!
}

/** Returns sessions of the current family. */
export function* sessionsWhere(sql: Sql, where: string, ...values: unknown[]): Work<StoredSession[]> {
  return (yield* sql.all(`select ${COLUMNS} from undertext_sessions where ${where}`, ...values)).map(
    decodeSession,
  )
}

/** SQL: the time of a session's last message, at most that of its last change; 0 without messages. */
const NEWEST_AT = `coalesce((select case when m.created_at < undertext_sessions.updated_at then m.created_at else undertext_sessions.updated_at end from undertext_messages m
    where {same m undertext_sessions} m.session = undertext_sessions.no and m.position = undertext_sessions.messages and m.ordinal = 0), 0)`

/** Computes the `newestAt` of a session whose messages weren't appended here, within the caller's transaction. */
export function resetNewest(sql: Sql, session: number): Step<void> {
  return sql.run(`update undertext_sessions set newest_at = ${NEWEST_AT} where {family} no = ?`, session)
}

type Listed = StoredSession & ListedSession

export const listSessions = reading('sessions.list', function* (sql: Sql, query: SessionQuery): Work<
  Listed[]
> {
  const last = query.after && (yield* placeOf(sql, query.after))
  if (query.search !== undefined) return yield* search(sql, query, query.search.toLowerCase(), last)
  const rows = yield* page(sql, COLUMNS, query, last)
  return rows.map((row) => {
    const session = decodeSession(row)
    return { ...session, newestAt: storedNumber(row.at(-1), `session no. ${session.no}`) }
  })
})

/** The place of a session in the list: its `newestAt`, and the columns of the order of insertion. */
type ListPlace = readonly number[]

/** Enters the session after which a page begins. Throws `SESSION_NOT_FOUND`. */
function* placeOf(
  sql: Sql,
  { id, newestAt, ...listed }: NonNullable<SessionQuery['after']>,
): Work<ListPlace> {
  const isExact = sql.seen === undefined && 'owner' in listed
  const { no } = isExact ? yield* sessionOf(sql, id, listed.owner) : yield* requireSession(sql, id)
  const row = yield* sql.get('select newest_at, {ages} from undertext_sessions where {family} no = ?', no)
  const [current, ...ages] = row as readonly number[] as ListPlace
  return [newestAt ?? current!, ...ages]
}

/** The conditions of the sessions after a place, in order, each a range of an index. SQLite compares no row's key in a range. */
function rangesAfter(sql: Sql, after: ListPlace | undefined): (readonly [string, ...number[]])[] {
  if (after === undefined) return [['true']]
  if (sql.isRemote) return [[`(newest_at, {ages}) < (${after.map(() => '?').join(', ')})`, ...after]]
  return [
    ['newest_at = ? and no < ?', ...after],
    ['newest_at < ?', after[0]!],
  ]
}

/** Returns some columns of the sessions of a query and their `newestAt`, newest first. The session `after` must have been entered. */
function* page(
  sql: Sql,
  columns: string,
  { archived, limit }: Pick<SessionQuery, 'archived' | 'limit'>,
  after: ListPlace | undefined,
  [condition, ...values]: readonly [string, ...unknown[]] = ['true'],
): Work<Row[]> {
  const isArchived = archived ? 'archived_at is not null' : 'archived_at is null'
  let rows: Row[] = []
  for (const [range, ...place] of rangesAfter(sql, after)) {
    if (rows.length === limit) break
    const found = yield* sql.all(
      `select ${columns}, newest_at from undertext_sessions
       where {seen} ${isArchived} and staged_by is null and ${range} and ${condition}
       order by newest_at desc, {newest} limit ?`,
      ...[...place, ...values, limit - rows.length],
    )
    rows = rows.concat(found)
  }
  return rows
}

/**
 * SQL: a filter for candidates. Databases agree on ignoring case only for ASCII letters, so a text with other characters is always a
 * candidate.
 */
const MAY_CONTAIN =
  '({instr}(lower(id), ?) > 0 or {instr}(lower(title), ?) > 0 or length(id) <> octet_length(id) or length(title) <> octet_length(title))'
/** The number of candidates on the first page, and the growth factor of pages. Pages grow, so that many candidates take few queries. */
const CANDIDATES = 1_000
const CANDIDATES_GROWTH = 4

/** Returns the sessions whose id or title contains a text, given in lower case. Of all others, only these two columns are read. */
function* search(sql: Sql, query: SessionQuery, text: string, after: ListPlace | undefined): Work<Listed[]> {
  const found: Listed[] = []
  for (let [limit, last] = [CANDIDATES, after]; ; limit *= CANDIDATES_GROWTH) {
    const rows = yield* page(sql, 'id, title, owner', { ...query, limit }, last, [MAY_CONTAIN, text, text])
    for (const [id, title, owner, newestAt] of rows as [string, string | null, string | null, number][]) {
      if (!contains(id, text) && !contains(title, text)) continue
      found.push({ ...(yield* sessionOf(sql, id, owner ?? undefined)), newestAt })
      if (found.length === query.limit) return found
    }
    if (rows.length < limit) return found
    const [id, , owner, newestAt] = rows.at(-1)! as [string, string | null, string | null, number]
    last = yield* placeOf(sql, { id, newestAt, owner: owner ?? undefined })
  }
}

function contains(text: unknown, lowerCase: string): boolean {
  return typeof text === 'string' && text.toLowerCase().includes(lowerCase)
}

/** Counts the rows of a session. Reads all of them, without contents. */
export const countMessages = outside('sessions.get', function* (sql: Sql, id: string): Work<MessageCounts> {
  const { no, messageCount, visibleCount } = yield* requireSession(sql, id)
  const row = yield* sql.get(
    `select count(*) from undertext_messages where {family} session = ? and ${SILENT}`,
    no,
  )
  const bookkeeping = row![0] as number
  return { messages: messageCount - bookkeeping, bookkeeping, visible: visibleCount }
})

export const estimatorNames = outside('sessions.list', function* (sql: Sql): Work<string[]> {
  const rows = yield* sql.all(
    'select distinct estimator from undertext_sessions where {seen} staged_by is null',
  )
  return rows.map(([name]) => name as string)
})

export const newestSession = outside('sessions.list', function* (sql: Sql, archived: boolean): Work<
  string | undefined
> {
  const [first] = yield* page(sql, 'id', { archived, limit: 1 }, undefined)
  return first?.[0] as string | undefined
})

export const updateSession = writing(
  'sessions.update',
  function* (
    sql: Sql,
    id: string,
    fields: SessionFields & { readonly updatedAt?: number },
  ): Work<StoredSession> {
    const before = yield* requireSession(sql, id)
    yield* updateFields(sql, before, fields)
    return yield* sessionNumbered(sql, before.no)
  },
)

/** Writes the given fields of the entered session, within the caller's transaction. Throws `SESSION_EXISTS`. */
export function* updateFields(
  sql: Sql,
  before: StoredSession,
  fields: SessionFields & { readonly updatedAt?: number },
): Work<void> {
  const after = { ...before, ...defined(fields) }
  const owner = after.owner ?? null
  if (owner !== (before.owner ?? null)) {
    if (sql.seen !== undefined) throw invalid("the store of an owner can't change a session's owner")
    yield* requireFreeId(sql, before.id, owner)
    yield* sql.rename(before.id, owner)
  }
  const moved = (['provider', 'model'] as const).some(
    (name) => (after[name] ?? null) !== (before[name] ?? null),
  )
  yield* sql.run(
    `update undertext_sessions set ${FIELDS.join(' = ?, ')} = ?, updated_at = ?, version = version + 1,
       view_epoch = view_epoch + ? where {family} no = ?`,
    ...encodeFields(after),
    fields.updatedAt ?? Date.now(),
    moved ? 1 : 0,
    before.no,
  )
}

export const archiveSession = writing(
  'sessions.archive',
  function* (sql: Sql, id: string, archived: boolean): Work<StoredSession> {
    const before = yield* requireSession(sql, id)
    if ((before.archivedAt !== undefined) === archived) return before
    yield* sql.run(
      'update undertext_sessions set archived_at = ?, version = version + 1 where {family} no = ?',
      archived ? Date.now() : null,
      before.no,
    )
    yield* writeAudit(sql, before.no, { event: archived ? 'archived' : 'unarchived' })
    return yield* requireSession(sql, id)
  },
)

function parseJson(value: unknown, name: string): JsonObject | undefined {
  const text = storedText(value, name)
  return text === undefined ? undefined : parseStoredObject(text, 'config or metadata', name)
}
