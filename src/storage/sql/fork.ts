import { v7 as uuidv7 } from 'uuid'
import { UndertextError } from '../../core/errors.ts'
import type { Json, JsonObject } from '../../core/messages/json.ts'
import type { NewMessage } from '../../core/messages/message.ts'
import { encodeCoverage } from '../../core/model/coverage.ts'
import type { Point } from '../../core/model/moment.ts'
import type { CompactionKind } from '../../core/model/plan.ts'
import type { AppendedMessage, BroughtBack, ForkRequest, Session } from '../storage.ts'
import { writeMessages } from './append.ts'
import { writeAudit } from './audit.ts'
import {
  COMPACTION_FIGURES,
  COMPACTION_ORIGIN,
  insertInto,
  MEASUREMENT,
  SAVED_COLUMNS,
  SAVED_OF_R,
  SAVED_SIZES,
  SIZE_COLUMNS,
} from './columns.ts'
import { placesIn, setTags } from './commit.ts'
import { coverageOf, decodeTurned, requiredKeys } from './compactions.ts'
import { damaged, parseStoredObject, storedRow } from './content-codec.ts'
import { inForceAt, pointOf } from './moments.ts'
import { requireKey } from './pins.ts'
import { COUNTERS, resetCounters } from './recount.ts'
import { showAll } from './replacements.ts'
import {
  FORKS_OF,
  insertSession,
  readSession,
  requireFreeId,
  requireSession,
  resetNewest,
  type StoredSession,
  sessionNumbered,
  sessionsWhere,
} from './sessions.ts'
import { type Row, reading, type Sql, writing } from './sql.ts'
import type { Work } from './work.ts'

/*
 * A fork has copies of the narrow rows at the same places, and of the compactions under new numbers and ids. Contents and long replacement
 * texts aren't copied: the copies refer to them. Tags, shown texts and counters are those at the moment of the fork.
 */

/** Longer replacements aren't copied. A reference is shorter than this, so a fork of a fork copies the reference. */
const COPIED_BYTES = 64

/** The state of a compaction at the moment of the fork, relative to the current tags. */
const STATES = {
  /** It wasn't in force. */
  undone: 0,
  /** It was in force, and still is. */
  active: 1,
  /** It was in force, and no longer is. */
  restored: 2,
} as const

type Copied = {
  readonly no: number
  readonly newNo: number
  readonly state: number
  readonly row: Row
}

type Forking = {
  readonly origin: StoredSession
  readonly fork: StoredSession
  /** The last position. */
  readonly position: number
  /** The moment of the past; `undefined` for now. */
  readonly past: Point | undefined
  readonly copied: readonly Copied[]
}

/** Copies a session, see `Storage.fork`. */
export const forkSession = writing(
  'sessions.fork',
  function* (sql: Sql, id: string, { id: newId, title, at, actor }: ForkRequest): Work<Session> {
    const origin = yield* requireSession(sql, id)
    yield* requireFreeId(sql, newId, origin.owner ?? sql.seen)
    const past = at && (yield* pointOf(sql, origin, at))
    const position = past?.position ?? origin.messageCount
    const fields = title === undefined ? origin : { ...origin, title }
    const fork = yield* insertSession(sql, newId, fields, origin.estimator, true)
    const copied = yield* compactionsAt(sql, origin, fork, past)
    const forking: Forking = { origin, fork, position, past, copied }
    const keys = yield* newKeys(sql, forking)
    yield* copyRows(sql, forking, keys)
    yield* copyCompactions(sql, forking, keys)
    yield* copyReplacements(sql, forking, keys)
    yield* settle(sql, forking, keys)
    yield* copyMeasurements(sql, forking)
    yield* writeAudit(sql, fork.no, { event: 'forked', actor, detail: { from: id, position } })
    yield* writeAudit(sql, origin.no, { event: 'forked', actor, detail: { fork: newId, position } })
    return yield* sessionNumbered(sql, fork.no)
  },
)

/** Appends the conclusion of a fork to the session that it was forked from, and records it. See `Storage.bringBack`. */
export function* bringBack(
  sql: Sql,
  sessionId: string,
  message: NewMessage,
  { fork, incarnation, from, to, actor, reason }: BroughtBack,
): Work<AppendedMessage> {
  const writing = { sessionId, messages: [message], previewing: undefined }
  return yield* writeMessages(sql, 'sessions.bringBack', writing, function* (write): Work<AppendedMessage> {
    yield* sql.enterAlone(sessionId)
    const { no } = yield* requireSession(sql, sessionId)
    // The fork or its origin may have been purged while the summary was written.
    const branch = yield* readSession(sql, fork)
    const isSame = branch?.incarnation === incarnation && branch.forkedFrom?.sessionId === sessionId
    if (!isSame) throw new UndertextError('SESSION_NOT_FOUND', { sessionId: fork })
    yield* sql.enter(sessionId)
    const [appended] = (yield* write(undefined)).messages
    const detail = { fork, from, to, position: appended!.position, reason: reason ?? null }
    yield* writeAudit(sql, no, { event: 'brought back', actor, detail })
    return appended!
  })
}

/** Returns the direct forks of a session, oldest first. */
export const listForks = reading('sessions.forks', function* (sql: Sql, id: string): Work<Session[]> {
  const { no } = yield* requireSession(sql, id)
  return yield* sessionsWhere(sql, `{seen} ${FORKS_OF} and staged_by is null order by no`, no)
})

/** The columns of a compaction: first those that differ in a copy, then the others. */
const CHANGED = ['no', 'id', 'run', 'status', 'coverage', 'requires', 'undone_with_run', 'turned']
const COMPACTION = [
  ...CHANGED,
  ...[...COMPACTION_ORIGIN.names, 'rows_inserted', ...COMPACTION_FIGURES.names].filter(
    (name) => !CHANGED.includes(name),
  ),
]

/** Returns the compactions that exist at a moment, with their state. Attempts without a result are ignored. */
function* compactionsAt(
  sql: Sql,
  origin: StoredSession,
  fork: StoredSession,
  past: Point | undefined,
): Work<Copied[]> {
  const rows = yield* sql.all(
    `select ${COMPACTION.join(', ')} from undertext_compactions
     where {family} session = ? and status in ('active', 'undone') order by no`,
    origin.no,
  )
  const stateOf = past === undefined ? stateNow : yield* statesAt(sql, origin, past)
  const existing = rows.flatMap((row) => {
    const state = stateOf(row)
    return state === undefined ? [] : [{ no: row[0] as number, state, row }]
  })
  if (existing.length === 0) return []
  const first =
    (yield* sql.nextNo('undertext_compactions', fork.no, existing.length)) ??
    1 + ((yield* sql.get('select coalesce(max(no), 0) from undertext_compactions'))![0] as number)
  return existing.map((one, at) => ({ ...one, newNo: first + at }))
}

function stateNow(row: Row): number {
  return row[3] === 'active' ? STATES.active : STATES.undone
}

/** Returns a function for the state of a compaction at a moment; `undefined` before it was made. */
function* statesAt(sql: Sql, { no }: StoredSession, past: Point): Work<(row: Row) => number | undefined> {
  const inForce = new Set((yield* inForceAt(sql, { no }, past)).map((one) => one.no))
  const made = yield* sql.all(
    `select distinct compaction from undertext_audit where {family} session = ? and no <= ? and compaction is not null and event = 'created'`,
    no,
    past.audit,
  )
  const known = new Set(made.map(([compaction]) => compaction))
  return (row) => {
    if (inForce.has(row[0] as number)) return row[3] === 'active' ? STATES.active : STATES.restored
    return known.has(row[0]) ? STATES.undone : undefined
  }
}

/** How the key of a copied row is computed from its place. */
type NewKeys = {
  /** SQL for the new key of the row `m`, with its values. */
  readonly sql: string
  readonly values: readonly number[]
  of(position: number | null, ordinal: number): number
}

function* newKeys(sql: Sql, { fork, position }: Forking): Work<NewKeys> {
  const first = sql.keyOf(fork.no, { position: 0 })
  const last =
    first === null
      ? ((yield* sql.get('select coalesce(max(key), 0) from undertext_messages'))![0] as number)
      : 0
  // In SQLite, messages come first and then the inserted rows, without gaps.
  const [each, messages, inserted] = first === null ? [1, last, last + position] : [2, first, first + 1]
  return {
    sql: 'case when m.position is null then ? + ? * m.ordinal else ? + ? * m.position end',
    values: [inserted, each, messages, each],
    of: (at, ordinal) => (at === null ? inserted + each * ordinal : messages + each * at),
  }
}

const PLAIN = [
  ...['anchor', 'ordinal', 'position', 'kind', 'role', 'flags', 'id'],
  ...SIZE_COLUMNS,
  ...['tools', 'created_at', 'idempotency_key', 'pinned'],
]
const TAGS = ['inserted_by', 'condense_parent', 'truncation_parent', 'retired_by']
const INTO_MESSAGES = `insert into undertext_messages ({family,} key, session, source, ${PLAIN.join(', ')}`

/** Old and new numbers of compactions, and their states. */
const RENUMBERED =
  'with renumbered as materialized (select {int k 0} as no, {int k 1} as new_no, {int k 2} as state from {elements ?} k)'

function* copyRows(sql: Sql, { origin, fork, position, copied }: Forking, keys: NewKeys): Work<void> {
  const columns = `{?,} ${keys.sql}, ?, coalesce(m.source, m.key), ${PLAIN.map((name) => `m.${name}`).join(', ')}`
  const messages = '{family m} m.session = ? and m.position between 1 and ?'
  if (copied.length === 0) {
    yield* sql.run(
      `${INTO_MESSAGES}) select ${columns} from undertext_messages m where ${messages} order by m.position`,
      ...[...keys.values, fork.no, origin.no, position],
    )
    return
  }
  const numbers = JSON.stringify(copied.map(({ no, newNo, state }) => [no, newNo, state]))
  const copy = `${RENUMBERED} ${INTO_MESSAGES}, ${TAGS.join(', ')})
    select ${columns}, by.new_no, condensing.new_no, truncating.new_no, case when by.state = ${STATES.undone} then by.new_no end
    from undertext_messages m left join renumbered by on by.no = m.inserted_by
      left join renumbered condensing on condensing.no = m.condense_parent and condensing.state = ${STATES.active}
      left join renumbered truncating on truncating.no = m.truncation_parent and truncating.state = ${STATES.active}`
  const values = [numbers, ...keys.values, fork.no, origin.no]
  yield* sql.run(`${copy} where ${messages} order by m.position`, ...values, position)
  yield* sql.run(
    `${copy} where {family m} m.session = ? and m.position is null and by.new_no is not null order by m.ordinal`,
    ...values,
  )
}

const INSERT_COMPACTION = insertInto('undertext_compactions', [...COMPACTION, 'session', 'copied_from'])
const INSERT_AUDIT = insertInto('undertext_audit', [
  ...['no', 'session', 'event', 'compaction', 'run', 'at', 'actor', 'detail', 'position'],
])

function* copyCompactions(sql: Sql, forking: Forking, keys: NewKeys): Work<void> {
  const { fork, copied } = forking
  if (copied.length === 0) return
  const numbers = new Map(copied.map(({ no, newNo }) => [no, newNo] as const))
  const named = new Map<string, string>()
  for (const { row } of copied) {
    named.set(row[1] as string, uuidv7())
    if (!named.has(row[2] as string)) named.set(row[2] as string, uuidv7())
  }
  const { entries, turnings } = yield* copyAudit(sql, forking, numbers, named)
  const places = yield* placesOf(sql, copied)
  const renumbered = (list: readonly number[]): number[] => list.flatMap((no) => numbers.get(no) ?? [])
  for (const { newNo, state, row } of copied) {
    const [no, id, run, , coverage, requires, withRunNow, turnedNow, ...rest] = row
    rest[PARAMS] = ownIds(forking, rest[PARAMS] as string | null)
    const { undoneWithRun, turned } =
      turnings === undefined
        ? { undoneWithRun: withRunNow as number | null, turned: decodeTurned(id as string, turnedNow) }
        : turnings.of(no as number)
    yield* sql.run(
      INSERT_COMPACTION,
      newNo,
      named.get(id as string)!,
      named.get(run as string)!,
      state === STATES.undone ? 'undone' : 'active',
      coverageText(id as string, coverage as string, renumbered),
      requires === null
        ? null
        : JSON.stringify(
            requiredKeys(id as string, requires).map(([key, part, by]) => {
              const moved = newKeyIn(places, keys, id as string)
              return by === undefined ? [moved(key), part] : [moved(key), part, by.map(moved)]
            }),
          ),
      undoneWithRun === null ? null : (entries.get(undoneWithRun) ?? null),
      turnedNow === null ? null : JSON.stringify([renumbered(turned.lifted), renumbered(turned.restored)]),
      ...rest,
      fork.no,
      id,
    )
  }
}

const PARAMS = COMPACTION.indexOf('params') - COMPACTION.indexOf('kind')

/** Replaces generated ids of the origin's messages in JSON with those of the fork. */
function ownIds({ origin, fork }: Forking, json: string | null): string | null {
  return json === null ? null : json.replaceAll(`"${origin.incarnation}:`, `"${fork.incarnation}:`)
}

function coverageText(id: string, text: string, renumbered: (list: readonly number[]) => number[]): string {
  const coverage = coverageOf(id, text, undefined)
  const { lifts, restores } = coverage
  if (lifts === undefined && restores === undefined) return text
  return encodeCoverage({
    ...coverage,
    ...(lifts !== undefined && { lifts: renumbered(lifts) }),
    ...(restores !== undefined && { restores: renumbered(restores) }),
  })
}

type Places = ReadonlyMap<number, readonly [position: number | null, ordinal: number]>

/** Returns the places of the rows that compactions point to, by key. */
function* placesOf(sql: Sql, copied: readonly Copied[]): Work<Places> {
  const keys = copied.flatMap(({ row }) =>
    requiredKeys(row[1] as string, row[5]).flatMap(([key, , by = []]) => [key, ...by]),
  )
  if (keys.length === 0) return new Map()
  const rows = yield* sql.all(
    'select key, position, ordinal from undertext_messages where {family} key in (select value from {list ?} k)',
    JSON.stringify(keys),
  )
  return new Map(
    rows.map(([key, position, ordinal]) => [key as number, [position as number | null, ordinal as number]]),
  )
}

function newKeyIn(places: Places, keys: NewKeys, compaction: string): (key: number) => number {
  return (key) => {
    const place = places.get(key)
    if (place === undefined) throw damaged('list of required parts', `compaction ${compaction}`)
    return keys.of(...place)
  }
}

/**
 * Copies the audit of the compactions up to the moment. Returns the new numbers of the entries, and for a moment of the past, which
 * compactions were undone and redone by then.
 */
function* copyAudit(
  sql: Sql,
  forking: Forking,
  numbers: ReadonlyMap<number, number>,
  named: ReadonlyMap<string, string>,
): Work<{ readonly entries: ReadonlyMap<number, number>; readonly turnings: Turnings | undefined }> {
  const { origin, fork, past, position: last, copied } = forking
  const rows = yield* sql.all(
    `select no, event, compaction, run, at, actor, detail, position from undertext_audit
     where {family} session = ? and (no <= ? or event = 'created') and (compaction is not null or event in ('run undone', 'run redone')) order by no`,
    origin.no,
    past?.audit ?? Number.MAX_SAFE_INTEGER,
  )
  const entries = new Map<number, number>()
  const turnings = past && new Turnings(copied)
  for (const [no, event, compaction, run, at, actor, detail, position] of rows) {
    const newNo = compaction === null ? null : numbers.get(compaction as number)
    const newRun = run === null ? null : named.get(run as string)
    if (newNo === undefined || newRun === undefined) continue
    const found = detail === null ? {} : parseStoredObject(detail, 'detail', `audit entry ${no}`)
    turnings?.add(
      no as number,
      event as string,
      compaction as number | null,
      run as string | null,
      found.rewind,
    )
    const key = yield* sql.insert(
      INSERT_AUDIT,
      yield* sql.nextNo('undertext_audit', fork.no),
      ...[fork.no, event, newNo, newRun, at, actor],
      detail === null ? null : ownIds(forking, JSON.stringify(renamed(found, named))),
      // A preview of an append that the fork contains only in part.
      Math.min(position as number, last),
    )
    entries.set(no as number, key)
  }
  return { entries, turnings }
}

type Turned = { readonly lifted: readonly number[]; readonly restored: readonly number[] }

/** Reconstructs from the audit how compactions were undone and redone up to a moment, because the rows have only the current state. */
class Turnings {
  readonly #withRun = new Map<number, number>()
  readonly #rewinds: ReadonlyMap<string, { readonly no: number; readonly lifts: ReadonlySet<number> }>
  /** The compactions that each rewind undid and redid when it was last in force. */
  readonly #turned = new Map<number, { lifted: number[]; restored: number[]; isOver: boolean }>()
  /** The undo of a run whose entries follow. `others`: compactions of other runs. */
  #undoing: { readonly no: number; readonly run: string; others: number[] } | undefined

  constructor(copied: readonly Copied[]) {
    this.#rewinds = new Map(
      copied.flatMap(({ no, row }) => {
        const { lifts, restores } = coverageOf(row[1] as string, row[4], undefined)
        if (lifts === undefined && restores === undefined) return []
        this.#turned.set(no, { lifted: [], restored: [], isOver: false })
        return [[row[1] as string, { no, lifts: new Set(lifts) }] as const]
      }),
    )
  }

  add(no: number, event: string, compaction: number | null, run: string | null, rewind: unknown): void {
    if (compaction !== null && typeof rewind === 'string') {
      this.#addTurned(event, compaction, rewind)
      return
    }
    if (compaction === null || event !== 'undone') this.#undoing = undefined
    if (compaction === null) {
      if (event === 'run undone') this.#undoing = { no, run: run!, others: [] }
      return
    }
    this.#withRun.delete(compaction)
    const turned = this.#turned.get(compaction)
    if (event === 'undone' && turned !== undefined) turned.isOver = true
    if (event === 'redone' && turned?.isOver === true) this.#begin(turned)
    const undoing = event === 'undone' ? this.#undoing : undefined
    if (undoing === undefined) return
    // Compactions that build on those of the run are undone first.
    undoing.others.push(compaction)
    if (undoing.run !== run) return
    for (const other of undoing.others) this.#withRun.set(other, undoing.no)
    undoing.others = []
  }

  /** A rewind undoes the compactions that it lifts, and redoes those that it restores; the undo of a rewind does the opposite. */
  #addTurned(event: string, compaction: number, id: string): void {
    const rewind = this.#rewinds.get(id)
    const turned = rewind && this.#turned.get(rewind.no)
    if (rewind === undefined || turned === undefined) return
    const isLifted = rewind.lifts.has(compaction)
    if (isLifted !== (event === 'undone')) return
    if (turned.isOver) this.#begin(turned)
    if (isLifted) turned.lifted.push(compaction)
    else turned.restored.push(compaction)
  }

  #begin(turned: { lifted: number[]; restored: number[]; isOver: boolean }): void {
    turned.lifted = []
    turned.restored = []
    turned.isOver = false
  }

  of(compaction: number): { readonly undoneWithRun: number | null; readonly turned: Turned } {
    return {
      undoneWithRun: this.#withRun.get(compaction) ?? null,
      turned: this.#turned.get(compaction) ?? { lifted: [], restored: [] },
    }
  }
}

/** Returns the detail with the new ids of compactions. */
function renamed(detail: JsonObject, named: ReadonlyMap<string, string>): JsonObject {
  const rename = (value: Json | undefined): Json | undefined =>
    typeof value === 'string' ? (named.get(value) ?? value) : value
  return Object.fromEntries(Object.entries(detail).map(([name, value]) => [name, rename(value)]))
}

function* copyReplacements(sql: Sql, { copied, position }: Forking, keys: NewKeys): Work<void> {
  const replacing = copied.filter(({ row }) => (row[COMPACTION.indexOf('parts_replaced')] as number) > 0)
  if (replacing.length === 0) return
  yield* sql.run(
    `${RENUMBERED} insert into undertext_replacements ({family,} compaction, message, part, text, ${SAVED_COLUMNS.join(', ')})
     select {?,} k.new_no, ${keys.sql}, r.part,
       case when octet_length(r.text) <= ${COPIED_BYTES} then r.text else '[' || r.compaction || ',' || r.message || ']' end,
       ${SAVED_OF_R}
     from renumbered k {cross} undertext_replacements r on {family r} r.compaction = k.no
       join undertext_messages m on {family m} m.key = r.message
     where m.position is null or m.position <= ?`,
    JSON.stringify(replacing.map(({ no, newNo, state }) => [no, newNo, state])),
    ...keys.values,
    position,
  )
}

/**
 * Copies measurements, so that the size of a fork is known before its first request: its system prompt and tools are its origin's. For a
 * moment of the past, the copies are outdated unless the view has never changed; then the fork's view is a beginning of the measured view.
 */
function* copyMeasurements(sql: Sql, { origin, fork, past }: Forking): Work<void> {
  const latest = past === undefined ? origin.viewEpoch : Math.max(0, origin.viewEpoch - 1)
  yield* sql.run(
    `insert into undertext_measurements ({family,} session, ${MEASUREMENT.names.join(', ')})
     select {?,} ?, ${MEASUREMENT.names
       .map((name) => (name === 'view_epoch' ? 'case when view_epoch < ? then view_epoch else ? end' : name))
       .join(', ')}
     from undertext_measurements where {family} session = ?`,
    ...[fork.no, latest, latest, origin.no],
  )
}

/** Sets the tags that differ from the current ones, the shown texts and the counters. */
function* settle(sql: Sql, forking: Forking, keys: NewKeys): Work<void> {
  const { origin, fork, position, past, copied } = forking
  yield* sql.run(
    'update undertext_sessions set forked_from = ?, forked_at = ?, version = ?, view_epoch = ? where {family} no = ?',
    ...[origin.no, position, origin.version, origin.viewEpoch, fork.no],
  )
  const isReplacing = copied.some(({ row }) => (row[COMPACTION.indexOf('parts_replaced')] as number) > 0)
  if (past !== undefined) yield* restoreMoment(sql, forking, past, keys)
  if (isReplacing) yield* showAll(sql, fork.no, past !== undefined)
  if (past !== undefined) yield* resetCounters(sql, fork.no)
  else
    yield* sql.run(
      `update undertext_sessions set (${COUNTERS}, undone_automatic) = (select ${COUNTERS}, undone_automatic
         from undertext_sessions o where {family o} o.no = ?) where {family} no = ?`,
      ...[origin.no, fork.no],
    )
  yield* resetNewest(sql, fork.no)
}

/** Sets the pins, tags and original sizes that the rows of a fork had at a moment. */
function* restoreMoment(
  sql: Sql,
  { origin, fork, position, copied }: Forking,
  past: Point,
  keys: NewKeys,
): Work<void> {
  yield* restorePins(sql, origin, fork, past)
  for (const { newNo, state, row } of copied) {
    if (state !== STATES.restored) continue
    const [, id, , , text] = row
    const kind = row[COMPACTION.indexOf('kind')] as CompactionKind
    const coverage = coverageOf(id as string, text, undefined)
    // The rows that it hid weren't pinned.
    if (coverage.rewinds !== true)
      for (const [where, ...values] of placesIn(sql, fork.no, coverage.hidden))
        yield* sql.run(`update undertext_messages set pinned = 0 where ${where} and pinned = 1`, ...values)
    if (yield* setTags(sql, fork.no, { kind, no: newNo }, coverage, true)) continue
    throw damaged('coverage', `compaction ${id}`)
  }
  yield* sql.run(
    `update undertext_messages set ${SAVED_SIZES.map((size) => `size_${size} = size_${size} + was.saved_${size}`).join(', ')}
     from (select ${keys.sql} as new_key, ${SAVED_COLUMNS.map((name) => `sum(r.${name}) as ${name}`).join(', ')}
       from undertext_messages m cross join {elements m.shown} s {cross} undertext_replacements r
         on {family r} r.message = m.key and r.part = {int s 0} and r.compaction = {int s 1}
       where {family m} m.session = ? and m.shown is not null and (m.position is null or m.position <= ?)
       group by m.key, m.position, m.ordinal) was
     where {family undertext_messages} undertext_messages.key = was.new_key and undertext_messages.session = ?`,
    ...[...keys.values, origin.no, position, fork.no],
  )
  // A preview of an append that the fork contains only in part.
  yield* sql.run(
    `update undertext_compactions set parts_replaced = (select count(*) from undertext_replacements r
       where {family r} r.compaction = undertext_compactions.no)
     where {family} session = ? and kind = 'preview'`,
    fork.no,
  )
}

/** Restores pins from the audit. An entry names up to 20 messages; for others the current pins are kept. */
function* restorePins(sql: Sql, origin: StoredSession, fork: StoredSession, { audit }: Point): Work<void> {
  const later = yield* sql.all(
    `select no, event, detail from undertext_audit
     where {family} session = ? and no > ? and event in ('pinned', 'unpinned') order by no`,
    origin.no,
    audit,
  )
  const done = new Set<string>()
  for (const [no, event, detail] of later) {
    const { messageIds } = parseStoredObject(detail, 'detail', `audit entry ${no}`)
    for (const id of (messageIds ?? []) as readonly string[]) {
      // The first change after the moment shows the state before it.
      if (done.has(id)) continue
      done.add(id)
      const key = yield* requireKey(sql, origin, id)
      const row = yield* sql.get(
        'select position, ordinal from undertext_messages where {family} key = ?',
        key,
      )
      const [position, ordinal] = storedRow(row, key)
      yield* sql.run(
        `update undertext_messages set pinned = ? where {family} session = ? and ${position === null ? 'position is null and ordinal' : 'position'} = ?`,
        ...[event === 'pinned' ? 0 : 1, fork.no, position ?? ordinal],
      )
    }
  }
}
