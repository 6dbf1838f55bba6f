import { createHash } from 'node:crypto'
import { isUndertextError, UndertextError } from '../../core/errors.ts'
import { isObject, listIn, parsedJson } from '../../core/messages/json.ts'
import { type TextRemover, withoutText } from '../../core/messages/text-removal.ts'
import { isSeen } from '../owners.ts'
import type { KeptKind, KeptNames, RemovedText, TextCounts, TextRemoval } from '../removals.ts'
import { REQUEST_TEXTS } from '../requests.ts'
import { AUDIT_COLUMNS, TEXT_PURGED, writeAudit, writeRemoval } from './audit.ts'
import { insertInto, NOTE_COLUMNS } from './columns.ts'
import {
  countReference,
  decodeContent,
  dropReferences,
  type EncodedContent,
  keepBlobs,
  parseStoredObject,
  readBlobs,
} from './content-codec.ts'
import { forgetRequestHashes, hashesIn, REQUEST_COLUMNS, readText, replaceRequest } from './requests.ts'
import { lockSharing, type NewContent, type NewText, rewriteRows, type SharingRow } from './rewrite.ts'
import { decodeKind, decodeRole } from './row-codec.ts'
import { requireSession, type StoredSession } from './sessions.ts'
import { erasing, type Row, reading, type Sql } from './sql.ts'
import { CONTENT_OF_M, KEY_OF_CONTENT, TEXT_OF_R } from './view.ts'
import type { Step, Work } from './work.ts'

/*
 * Removes a text from everything that is stored of a session. A first transaction only reads, because most sessions don't contain the text;
 * if one does, it is searched again in the transaction that writes.
 */

/** A change of stored values, found by reading and written later. */
type Change = (sql: Sql) => Step<void>

/** What a removal changes in a session. */
type Plan = {
  /** The keys of the rows with changed contents or replacements. */
  readonly keys: Set<number>
  readonly contents: Map<number, NewContent>
  readonly texts: NewText[]
  readonly changes: Change[]
  readonly counts: { -readonly [K in keyof TextCounts]: number }
  readonly kept: Map<KeptKind, { count: number; positions: number[] }>
}

const NO_COUNTS: TextCounts = {
  ...{ matches: 0, messages: 0, summaries: 0, replacements: 0, notes: 0, requests: 0 },
  ...{ compactions: 0, jobs: 0, audit: 0, fields: 0 },
}

function emptyPlan(): Plan {
  const found = { keys: new Set<number>(), contents: new Map(), texts: [], changes: [] }
  return { ...found, counts: { ...NO_COUNTS }, kept: new Map() }
}

/** Removes a text from a session. See `Removals.purgeText`. */
export function* purgeText(sql: Sql, id: string, removal: TextRemoval): Work<RemovedText> {
  if (sql.readonly && !removal.dryRun)
    throw new UndertextError('STORE_READONLY', { verb: 'privacy.purgeText' })
  const found = yield* findText(sql, id, removal)
  if (removal.dryRun || found.counts.matches === 0) return resultOf(found, [])
  return yield* removeText(sql, id, removal)
}

const findText = reading(
  'privacy.purgeText',
  function* (sql: Sql, id: string, removal: TextRemoval): Work<Plan> {
    return yield* planOf(sql, yield* requireSession(sql, id), removal)
  },
)

const removeText = erasing(
  'privacy.purgeText',
  function* (sql: Sql, id: string, removal: TextRemoval): Work<RemovedText> {
    yield* sql.enterAlone(id)
    const session = yield* requireSession(sql, id)
    const plan = yield* planOf(sql, session, { ...removal, seen: new Set() })
    const rows = yield* lockSharing(sql, session, [...plan.keys])
    const bySession = new Map<StoredSession, SharingRow[]>()
    for (const row of rows) listIn(bySession, row.session).push(row)
    yield* sql.unguarded(String(session.no), function* () {
      yield* rewriteRows(sql, rows, plan)
      yield* sql.enter(id, session.owner ?? null)
      for (const change of plan.changes) yield* change(sql)
      for (const [other, own] of bySession) {
        yield* sql.enter(other.id, other.owner ?? null)
        yield* forgetHashes(
          sql,
          other.no,
          own.reduce((first, { anchor }) => Math.min(first, anchor), own[0]!.anchor),
        )
      }
      yield* sql.enter(id, session.owner ?? null)
      if (plan.changes.length > 0)
        yield* sql.run(
          'update undertext_sessions set version = version + 1 where {family} no = ?',
          session.no,
        )
    })
    const { actor, reason } = removal
    const counts = Object.entries(plan.counts).filter(([, count]) => count > 0)
    const detail = { ...Object.fromEntries(counts), reason: reason ?? null }
    yield* writeRemoval(sql, session.no, { event: TEXT_PURGED, actor, detail })
    const others = [...bySession].filter(([other]) => other !== session)
    for (const [other, own] of others) {
      yield* sql.enter(other.id, other.owner ?? null)
      const shared = { sharedWith: id, rows: own.length, reason: reason ?? null }
      yield* writeRemoval(sql, other.no, { event: TEXT_PURGED, actor, detail: shared })
    }
    return resultOf(
      plan,
      others.flatMap(([other]) => (isSeen(sql.seen, other) ? [other.id] : [])),
    )
  },
)

/** Removes a text from the notes of an owner. */
export function* purgeNotes(sql: Sql, owner: string, removal: TextRemoval): Work<RemovedText> {
  const planning = function* (): Work<Plan> {
    yield* sql.enterOwner(owner)
    const plan = emptyPlan()
    const remover = removal.remover()
    yield* planTable(sql, plan, NOTES, ['session = 0 and owner = ?', owner], remover, removal)
    if (remover.isIn(owner)) keep(plan, 'owner')
    return plan
  }
  const found = yield* sql.read('privacy.purgeText', planning)
  if (removal.dryRun || found.counts.matches === 0) return resultOf(found, [])
  return yield* sql.erase('privacy.purgeText', function* () {
    const plan = yield* planning()
    yield* sql.unguarded('notes', function* () {
      for (const change of plan.changes) yield* change(sql)
    })
    const { notes, matches } = plan.counts
    const detail = { notes, matches, reason: removal.reason ?? null }
    yield* writeAudit(sql, 0, { event: TEXT_PURGED, actor: removal.actor, detail })
    return resultOf(plan, [])
  })
}

export function* noteOwners(sql: Sql): Work<string[]> {
  const { seen } = sql
  if (seen !== undefined) return seen === null ? [] : [seen]
  return yield* sql.outside('privacy.purgeText', function* () {
    const rows = yield* sql.all('select distinct owner from undertext_notes where session = 0 order by owner')
    return rows.map(([owner]) => owner as string)
  })
}

export function* clearPurged(sql: Sql): Work<boolean> {
  return yield* sql.clearFiles()
}

function resultOf({ counts, kept }: Plan, sharedWith: readonly string[]): RemovedText {
  const names = [...kept].map(([kind, { count, positions }]): KeptNames => {
    return { kind, count, ...(positions.length > 0 && { positions }) }
  })
  return { counts, kept: names, sharedWith }
}

const MAX_POSITIONS = 20

function keep(plan: Plan, kind: KeptKind, position?: number | null): void {
  const known = plan.kept.get(kind) ?? { count: 0, positions: [] }
  plan.kept.set(kind, known)
  known.count++
  if (position != null && known.positions.length < MAX_POSITIONS) known.positions.push(position)
}

/** Searches everything that is stored of a session. */
function* planOf(sql: Sql, session: StoredSession, removal: TextRemoval): Work<Plan> {
  const plan = emptyPlan()
  const remover = removal.remover()
  yield* planRows(sql, plan, session, remover, removal)
  yield* planTexts(sql, plan, session, remover, removal)
  for (const table of TABLES) yield* planTable(sql, plan, table, [table.where, session.no], remover, removal)
  yield* planRequests(sql, plan, session, remover, removal)
  const operations = yield* sql.all(
    'select id from undertext_operations where {family} session = ?',
    session.no,
  )
  for (const [id] of operations) if (remover.isIn(id as string)) keep(plan, 'operationId')
  if (remover.isIn(session.id)) keep(plan, 'sessionId')
  if (session.owner !== undefined && remover.isIn(session.owner)) keep(plan, 'owner')
  plan.counts.matches = remover.matches
  return plan
}

/** The number of rows that are read at a time. */
const PAGE = 200

/** Searches the contents of all rows, hidden or not. */
function* planRows(
  sql: Sql,
  plan: Plan,
  session: StoredSession,
  remover: TextRemover,
  { within, seen }: TextRemoval,
): Work<void> {
  const all = yield* sql.all(
    'select key from undertext_messages where {family} session = ? order by key',
    session.no,
  )
  for (let from = 0; from < all.length; from += PAGE) {
    const rows = yield* sql.all(
      `select m.key, ${KEY_OF_CONTENT}, c.content, c.blobs, c.metadata, m.role, m.kind, m.position, m.id, m.idempotency_key,
         (select s.incarnation from undertext_messages o join undertext_sessions s on {same s o} s.no = o.session
            where {family o} o.key = m.source)
       from {list ?} k {cross} undertext_messages m on {family m} m.key = k.value {cross} ${CONTENT_OF_M}`,
      JSON.stringify(all.slice(from, from + PAGE).map(([key]) => key)),
    )
    const blobs = yield* readBlobs(
      sql,
      rows.map((row) => [row[3] as string | null, row[0] as number]),
    )
    const length = rows.reduce((sum, row) => sum + (row[2] as string).length, 0)
    within(length, () => {
      for (const row of rows) planRow(plan, session, row, blobs, remover, seen)
    })
  }
}

function planRow(
  plan: Plan,
  session: StoredSession,
  row: Row,
  blobs: ReadonlyMap<string, Uint8Array>,
  remover: TextRemover,
  seen: Set<string>,
): void {
  const [key, contentKey, stored, places, fields, role, kind, place, id, idempotencyKey, owner] = row
  const position = place as number | null
  if (id !== null && remover.isIn(id as string)) keep(plan, 'messageId', position)
  if (idempotencyKey !== null && remover.isIn(idempotencyKey as string))
    keep(plan, 'idempotencyKey', position)
  const before = remover.matches
  try {
    const content = decodeContent(stored as string, places as string | null, blobs, key as number)
    const metadata = fields === null ? undefined : parseStoredObject(fields, 'metadata', key as number)
    keepNames(plan, content, remover, position)
    const message = { role: decodeRole(role), content, ...(metadata !== undefined && { metadata }) }
    const now = withoutText(message, remover)
    if (now === undefined) return
    const shared = `${owner ?? session.incarnation}:${contentKey}`
    if (seen.has(shared)) {
      remover.matches = before
      return
    }
    seen.add(shared)
    plan.keys.add(key as number)
    plan.contents.set(contentKey as number, { content: now.content, metadata: now.metadata })
    plan.counts[decodeKind(kind) === 'message' ? 'messages' : 'summaries']++
  } catch (error) {
    if (!isUndertextError(error, 'STORE_CORRUPT')) throw error
    keep(plan, 'unreadable', position)
  }
}

/** Notes the ids and names of calls and results that contain the text. */
function keepNames(
  plan: Plan,
  content: NewContent['content'],
  remover: TextRemover,
  position: number | null,
): void {
  if (typeof content === 'string') return
  for (const part of content) {
    if (part.type !== 'tool-call' && part.type !== 'tool-result') continue
    if (remover.isIn(part.toolCallId)) keep(plan, 'toolCallId', position)
    if (part.toolName !== undefined && remover.isIn(part.toolName)) keep(plan, 'toolName', position)
  }
}

/** Searches the texts of replacements. A long text is stored once for a session and its forks. */
function* planTexts(
  sql: Sql,
  plan: Plan,
  session: StoredSession,
  remover: TextRemover,
  { within, seen }: TextRemoval,
): Work<void> {
  const rows = yield* sql.all(
    `select r.compaction, r.message, r.part, r.text, ${TEXT_OF_R}
     from undertext_compactions c {cross} undertext_replacements r on {family r} r.compaction = c.no
     where {family c} c.session = ? and c.parts_replaced > 0 order by r.compaction, r.message, r.part`,
    session.no,
  )
  const length = rows.reduce((sum, row) => sum + String(row[4]).length, 0)
  within(length, () => {
    for (const [compaction, message, part, stored, shown] of rows) {
      const text = parsedJson(String(shown))
      if (typeof text !== 'string') continue
      const before = remover.matches
      const now = remover.replaced(text)
      if (now === text) continue
      const owner = String(stored).startsWith('[')
        ? (parsedJson(String(stored)) as number[])
        : [compaction, message]
      const shared = `${owner} ${part} ${text}`
      if (seen.has(shared)) {
        remover.matches = before
        continue
      }
      seen.add(shared)
      plan.keys.add(message as number)
      const [by, row] = owner as [number, number]
      plan.texts.push({ compaction: by, row, part: part as number, text: now })
      plan.counts.replacements++
    }
  })
}

/** A table whose rows have texts. The columns of a guarded one are all of its columns, because no statement may update them. */
type Table = {
  readonly name: string
  readonly where: string
  readonly key: readonly string[]
  readonly counted: 'notes' | 'compactions' | 'jobs' | 'audit' | 'fields'
  /** The columns with texts, and how each is changed. */
  readonly texts: { readonly [column: string]: (value: string, remover: TextRemover) => string }
  readonly columns?: readonly string[]
}

const asText = (value: string, remover: TextRemover): string => remover.replaced(value)
const asJson = (value: string, remover: TextRemover): string => remover.replacedJson(value)

/** The fields of an audit entry that people write; the others are ids and numbers. */
const WRITTEN = ['reason', 'error', 'why']

function asDetail(value: string, remover: TextRemover): string {
  const detail = parsedJson(value)
  if (!isObject(detail)) return value
  const written = Object.fromEntries(Object.entries(detail).filter(([name]) => WRITTEN.includes(name)))
  const now = remover.replacedIn(written)
  return now === written ? value : JSON.stringify({ ...detail, ...now })
}

const NOTES: Table = {
  name: 'undertext_notes',
  where: 'session = ?',
  key: ['session', 'owner', 'no'],
  counted: 'notes',
  texts: { text: asJson, metadata: asJson, actor: asText },
  columns: NOTE_COLUMNS,
}

const TABLES: readonly Table[] = [
  NOTES,
  {
    ...{ name: 'undertext_sessions', where: 'no = ?', key: ['no'], counted: 'fields' },
    texts: { title: asText, metadata: asJson, config: asJson },
  },
  {
    ...{ name: 'undertext_compactions', where: 'session = ?', key: ['no'], counted: 'compactions' },
    texts: { actor: asText, reason: asText, params: asJson, error: asText },
  },
  {
    ...{ name: 'undertext_jobs', where: 'session = ?', key: ['no'], counted: 'jobs' },
    texts: { request: asJson, error: asText },
  },
  {
    ...{ name: 'undertext_turns', where: 'session = ?', key: ['session'], counted: 'fields' },
    texts: { draft: asJson },
  },
  {
    ...{ name: 'undertext_circuits', where: 'session = ?', key: ['session'], counted: 'jobs' },
    texts: { error: asText },
  },
  {
    ...{ name: 'undertext_audit', where: 'session = ?', key: ['no'], counted: 'audit' },
    texts: { actor: asText, detail: asDetail },
    columns: AUDIT_COLUMNS,
  },
]

function* planTable(
  sql: Sql,
  plan: Plan,
  { name, key, texts, columns, counted }: Table,
  [where, ...values]: readonly [string, ...unknown[]],
  remover: TextRemover,
  { within }: TextRemoval,
): Work<void> {
  const names = Object.keys(texts)
  const read = columns ?? [...key, ...names]
  const rows = yield* sql.all(`select ${read.join(', ')} from ${name} where {family} ${where}`, ...values)
  const length = rows.reduce(
    (sum, row) => sum + row.reduce<number>((all, one) => all + String(one).length, 0),
    0,
  )
  within(length, () => {
    for (const row of rows) {
      if (name === NOTES.name && remover.isIn(String(row[read.indexOf('key')] ?? ''))) keep(plan, 'noteKey')
      const now = row.map((value, at) => {
        const change = texts[read[at]!]
        return change === undefined || typeof value !== 'string' ? value : change(value, remover)
      })
      if (now.every((value, at) => value === row[at])) continue
      plan.counts[counted]++
      const is = key.map((column) => `${column} = ?`).join(' and ')
      const place = key.map((column) => now[read.indexOf(column)])
      plan.changes.push(function* (sql) {
        if (columns === undefined) {
          const changed = names.map((column) => now[read.indexOf(column)])
          const set = names.map((column) => `${column} = ?`).join(', ')
          return yield* sql.run(`update ${name} set ${set} where {family} ${is}`, ...changed, ...place)
        }
        yield* sql.run(`delete from ${name} where {family} ${is}`, ...place)
        yield* sql.run(insertInto(name, columns), ...now)
      })
    }
    plan.counts.matches = remover.matches
  })
}

/** Searches the recorded requests: their texts, which are blobs, and how they were rendered. */
function* planRequests(
  sql: Sql,
  plan: Plan,
  session: StoredSession,
  remover: TextRemover,
  { within }: TextRemoval,
): Work<void> {
  const rows = yield* sql.all(
    `select ${REQUEST_COLUMNS.join(', ')} from undertext_requests where {family} session = ? order by no`,
    session.no,
  )
  // Requests of a session share most of their texts.
  const known = new Map<string, string | undefined>()
  const at = (column: string): number => REQUEST_COLUMNS.indexOf(column)
  for (const row of rows) {
    const now = [...row]
    const dropped = new Map<string, number>()
    const kept: EncodedContent['bytes'][number][] = []
    for (const name of REQUEST_TEXTS) {
      const list = row[at(name)]
      if (!(list instanceof Uint8Array)) continue
      const hashes = hashesIn(list, `request no. ${row[at('no')]}`)!
      const shared = `${name} ${hashes}`
      if (!known.has(shared)) {
        const text = yield* readText(sql, hashes)
        const changed = text && within(text.length, () => withoutLines(text, remover))
        known.set(shared, changed === text ? undefined : changed)
      }
      const text = known.get(shared)
      if (text === undefined) continue
      const pieces = piecesOf(text)
      now[at(name)] = Buffer.concat(pieces.map(({ hash }) => hash))
      for (const piece of pieces) kept.push(piece)
      for (const hash of hashes) countReference(dropped, hash)
    }
    const rendering = row[at('rendering')] as string | null
    const settings =
      rendering === null ? null : within(rendering.length, () => remover.replacedJson(rendering))
    if (settings === rendering && kept.length === 0) continue
    plan.counts.requests++
    now[at('rendering')] = settings
    plan.changes.push(function* (sql) {
      yield* replaceRequest(sql, now)
      yield* keepBlobs(sql, kept)
      if (dropped.size > 0) yield* dropReferences(sql, dropped)
    })
  }
}

/** Removes the hashes of requests that sent rows from a place on, and of rewinds, which are made of the messages that they appended. */
function* forgetHashes(sql: Sql, session: number, from: number): Work<void> {
  yield* forgetRequestHashes(sql, session, from)
  yield* sql.run("update undertext_operations set digest = 'removed' where {family} session = ?", session)
}

/** Texts of requests are JSON, one value a line. */
function withoutLines(text: string, remover: TextRemover): string {
  if (!text.includes('\n')) return remover.replacedJson(text)
  const lines = text.split('\n').map((line) => (line === '' ? line : remover.replacedJson(line)))
  return lines.join('\n')
}

/** Each message is a piece, as when the request was recorded. */
function piecesOf(text: string): EncodedContent['bytes'] {
  return text
    .split(/(?<=\n)/)
    .filter((line) => line !== '')
    .map((line) => {
      const bytes = Buffer.from(line, 'utf8')
      return { hash: createHash('sha256').update(bytes).digest(), bytes }
    })
}
