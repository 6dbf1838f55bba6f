import { invalid, UndertextError } from '../../core/errors.ts'
import { headOf } from '../../core/messages/characters.ts'
import { defined, listIn } from '../../core/messages/json.ts'
import type { StoredMessage, ViewMessage } from '../../core/messages/message.ts'
import { countRows, type RowSet, withoutRows } from '../../core/model/coverage.ts'
import {
  hiderOf,
  type Moment,
  newestByPart,
  type Point,
  rowsAt,
  savedByNewest,
  statesAfter,
  TRANSITIONS,
  type Transition,
} from '../../core/model/moment.ts'
import { type CompactionKind, isCondensing } from '../../core/model/plan.ts'
import { type Sizes, SizesSum, subtractSizes } from '../../core/tokens/measure.ts'
import type { MessageQuery, PastDiff, PastFigures, ViewChange } from '../storage.ts'
import { SAVED_OF_R, savedSizes, sizesOf } from './columns.ts'
import { SIZE_TOTALS } from './commit.ts'
import { compactionsNumbered, findTargets, type StoredCompaction } from './compactions.ts'
import { ORIGINAL, parseStoredObject, storedRow } from './content-codec.ts'
import { requireKey } from './pins.ts'
import { COUNT_SENT, decodeKind, decodeRole, encodeShown, requestNo, rowId, SILENT } from './row-codec.ts'
import { requireHead, type SessionHead } from './sessions.ts'
import { type Row, reading, type Sql } from './sql.ts'
import {
  decodeRows,
  decodeView,
  LOOKED_UP_CONTENT,
  lookUp,
  pageOf,
  type Rare,
  STORED_COLUMNS,
  TEXT_OF_R,
  viewColumns,
} from './view.ts'
import type { Work } from './work.ts'

/*
 * The past of a session, within the caller's transaction. Which compactions were in force is computed from the transitions in the audit,
 * which rows were visible from the coverage, and their texts from the replacements; never from the tags, which are current.
 */

const EVENTS = TRANSITIONS.map((event) => `'${event}'`).join(', ')

/**
 * Returns the point that a moment refers to; `undefined` is the present. Throws `MESSAGE_NOT_FOUND`, `COMPACTION_NOT_FOUND`,
 * `REQUEST_NOT_FOUND`, and `INVALID_INPUT` for an unknown entry of the audit.
 */
export function* pointOf(sql: Sql, session: SessionHead, moment: Moment | undefined): Work<Point> {
  const { no } = session
  if (moment === undefined)
    return { position: session.messageCount, audit: yield* lastEntry(sql, no, 'true') }
  if ('afterMessage' in moment) return yield* besideMessage(sql, session, moment.afterMessage, 'after')
  if ('beforeMessage' in moment) return yield* besideMessage(sql, session, moment.beforeMessage, 'before')
  if ('beforeCompaction' in moment)
    return yield* besideCompaction(sql, session, moment.beforeCompaction, 'before')
  if ('afterCompaction' in moment)
    return yield* besideCompaction(sql, session, moment.afterCompaction, 'after')
  if ('time' in moment) return yield* atTime(sql, no, Number(moment.time))
  if ('audit' in moment) {
    const row = yield* sql.get(`${POSITION_OF_ENTRY} and no = ?`, no, moment.audit)
    if (row === undefined) throw invalid('moment: the session has no audit entry with this number')
    return { position: row[0] as number, audit: moment.audit }
  }
  const request = requestNo(session.incarnation, moment.request)
  const row =
    request === undefined
      ? undefined
      : yield* sql.get(
          'select position, audit from undertext_requests where {family} session = ? and no = ?',
          ...[no, request],
        )
  if (row === undefined)
    throw new UndertextError('REQUEST_NOT_FOUND', {
      sessionId: session.id,
      request: headOf(moment.request, 200),
    })
  return { position: row[0] as number, audit: row[1] as number }
}

const POSITION_OF_ENTRY = 'select position, no from undertext_audit where {family} session = ?'

/** Returns the number of the last audit entry that meets a condition, or of the one `before` entries earlier; 0 if there is none. */
function* lastEntry(sql: Sql, session: number, condition: string, value?: number, before = 0): Work<number> {
  const row = yield* sql.get(
    `${POSITION_OF_ENTRY} and ${condition} order by no desc limit 1 offset ?`,
    ...[session, ...(value === undefined ? [] : [value]), before],
  )
  return (row?.[1] as number | undefined) ?? 0
}

type Side = 'before' | 'after'

/**
 * Returns the point before or after a message of the log. For an inserted row, returns the point before or after its compaction, because
 * the row comes and goes with it. Throws `MESSAGE_NOT_FOUND`.
 */
function* besideMessage(sql: Sql, session: SessionHead, message: string | number, side: Side): Work<Point> {
  let position = message
  if (typeof message === 'string') {
    const key = yield* requireKey(sql, session, message)
    const row = yield* sql.get(
      `select m.position, c.id from undertext_messages m left join undertext_compactions c on {family c} c.no = m.inserted_by
       where {family m} m.key = ?`,
      key,
    )
    const [place, compaction] = storedRow(row, key)
    position = (place ?? compaction) as number | string
  }
  if (typeof position === 'string') return yield* besideCompaction(sql, session, position, side)
  if (position > session.messageCount)
    throw new UndertextError('MESSAGE_NOT_FOUND', { sessionId: session.id, messageId: String(message) })
  const audit = yield* lastEntry(sql, session.no, 'position < ?', position)
  return { position: side === 'after' ? position : position - 1, audit }
}

/** Returns the point with all messages and audit entries up to a time. */
function* atTime(sql: Sql, session: number, time: number): Work<Point> {
  const written = yield* sql.get(
    `select position from undertext_messages where {family} session = ? and position is not null and created_at <= ?
     order by position desc limit 1`,
    ...[session, time],
  )
  const noted = yield* sql.get(`${POSITION_OF_ENTRY} and at <= ? order by no desc limit 1`, session, time)
  const [position, audit] = (noted ?? [0, 0]) as [number, number]
  return { position: Math.max((written?.[0] ?? 0) as number, position), audit }
}

/** Returns the point before the first or after the last compaction of a run, or before or after the compaction with an id. */
function* besideCompaction(sql: Sql, session: SessionHead, id: string, side: Side): Work<Point> {
  const { targets } = yield* findTargets(sql, session.id, id)
  const numbers = JSON.stringify(targets.map(({ no }) => no))
  // An attempt that ended without a summary was never made.
  const row = yield* sql.get(
    `select no, compaction, event, position from undertext_audit
     where {family} session = ? and compaction in (select value from {list ?} k)
     order by case event when 'created' then 0 else 1 end, ${side === 'before' ? 'no' : 'no desc'} limit 1`,
    session.no,
    numbers,
  )
  if (row === undefined)
    throw new UndertextError('COMPACTION_NOT_FOUND', { sessionId: session.id, compactionId: id })
  const [no, compaction, event, position] = row as [number, number, string, number]
  if (side === 'after') return { position, audit: no }
  if (event !== 'created') return { position, audit: yield* lastEntry(sql, session.no, 'no < ?', no) }
  const target = targets.find((one) => one.no === compaction)!
  // A rewind undoes and redoes other compactions first, each with its own entry.
  const { lifts = [], restores = [] } = target.coverage
  const audit = yield* lastEntry(sql, session.no, 'no < ?', no, lifts.length + restores.length)
  if (target.kind !== 'preview') return { position, audit }
  // A preview was made together with its messages.
  const [first] = (yield* sql.get(
    `select min(m.position) from undertext_replacements r {cross} undertext_messages m on {family m} m.key = r.message
     where {family r} r.compaction = ?`,
    target.no,
  ))!
  return { position: (first as number) - 1, audit }
}

/**
 * Returns the compactions in force at a point in order of rank, with their status at that point. A preview is in force as soon as its
 * messages exist.
 */
export function* inForceAt(
  sql: Sql,
  session: { readonly no: number },
  point: Point,
): Work<StoredCompaction[]> {
  return (yield* compactionsAt(sql, session, point)).filter(({ status }) => status === 'active')
}

/** Like `inForceAt`, including undone compactions. */
function* compactionsAt(sql: Sql, session: { readonly no: number }, point: Point): Work<StoredCompaction[]> {
  const rows = yield* sql.all(
    `select no, compaction, event from undertext_audit
     where {family} session = ? and compaction is not null and event in (${EVENTS}) order by no`,
    session.no,
  )
  const transitions = rows.map(([no, compaction, event]) => ({ no, compaction, event }) as Transition)
  const states = statesAfter(transitions, point.audit)
  for (const no of yield* previewsWritten(sql, session, point, transitions)) states.set(no, true)
  for (const no of yield* unrecorded(sql, session, point, transitions)) states.set(no, true)
  const known = yield* compactionsNumbered(sql, session.no, [...states.keys()])
  return known.map((one) => ({ ...one, status: states.get(one.no) ? 'active' : 'undone' }))
}

/**
 * Returns the preview that is recorded after a point but has messages up to it, if any. It belongs to the append of the point's last
 * message.
 */
function* previewsWritten(
  sql: Sql,
  session: { readonly no: number },
  { position, audit }: Point,
  transitions: readonly Transition[],
): Work<number[]> {
  const later = transitions.filter(({ no, event }) => no > audit && event === 'created')
  if (later.length === 0) return []
  const rows = yield* sql.all(
    `select c.no from {list ?} k {cross} undertext_compactions c on {family c} c.no = k.value
     where c.session = ? and c.kind = 'preview' and exists (select 1 from undertext_replacements r
       {cross} undertext_messages m on {family m} m.key = r.message
       where {family r} r.compaction = c.no and m.position <= ?)`,
    JSON.stringify(later.map(({ compaction }) => compaction)),
    session.no,
    position,
  )
  return rows.map(([no]) => no as number)
}

/**
 * Returns the active compactions without a transition in the audit, as in a file written by other software. They count as in force from
 * their last row on.
 */
function* unrecorded(
  sql: Sql,
  session: { readonly no: number },
  { position }: Point,
  transitions: readonly Transition[],
): Work<number[]> {
  const rows = yield* sql.all(
    `select no from undertext_compactions where {family} session = ? and status = 'active' and coalesce(last_anchor, 0) <= ?`,
    session.no,
    position,
  )
  const recorded = new Set(transitions.map(({ compaction }) => compaction))
  return rows.flatMap(([no]) => (recorded.has(no as number) ? [] : [no as number]))
}

/** SQL for the rows `m` of the ranges `k`. Each range is a search in the index of the log. */
const IN_RANGES = `from {elements ?} k ${lookUp(
  'undertext_messages',
  'm',
  '{family m} m.session = ? and m.position between {int k 0} and {int k 1}',
)}`
/** SQL for inserted rows, by ordinal. */
const INSERTED = `from {list ?} k {cross} undertext_messages m on {family m} m.session = ? and m.position is null and m.ordinal = k.value`

const JOIN_REPLACEMENTS = '{cross} undertext_replacements r on {family r} r.message = m.key'
const OF_COMPACTIONS = `from {list ?} k {cross} undertext_replacements r on {family r} r.compaction = k.value
  {cross} undertext_messages m on {family m} m.key = r.message`

/** The query for past messages, exported for the test of its plan. */
export const PAST_VIEW = `${viewColumns('null')} ${IN_RANGES} ${LOOKED_UP_CONTENT}`

/** Reads the rows of the messages of a set, then those of its inserted rows. */
function* rowsOf(
  sql: Sql,
  session: { readonly no: number },
  set: RowSet,
  select: string,
  join: string,
): Work<Row[]> {
  let rows: Row[] = []
  if (set.positions.length > 0) {
    const text = `${select} ${IN_RANGES} ${join}`
    rows = yield* sql.all(text, JSON.stringify(set.positions), session.no)
  }
  if (set.inserted.length > 0) {
    const ordinals = JSON.stringify(set.inserted.map(({ ordinal }) => ordinal))
    rows = rows.concat(yield* sql.all(`${select} ${INSERTED} ${join}`, ordinals, session.no))
  }
  return rows
}

/** Returns the view at a point: the same as `readView` returned at that time. */
export function* readViewAt(
  sql: Sql,
  session: SessionHead,
  point: Point,
  withProvenance = false,
): Work<ViewMessage[]> {
  const inForce = yield* inForceAt(sql, session, point)
  const set = rowsAt(inForce, point.position)
  const found = yield* rowsOf(sql, session, set, viewColumns('null'), LOOKED_UP_CONTENT)
  const replaced = yield* replacedIn(sql, session, set, inForce)
  const texts = new Map<string, string>()
  const ordinals = new Map<Row, number>()
  const rows = found.map((row) => {
    if (row[6] === null && replaced.size === 0) return row
    const rare = row[6] === null ? undefined : (JSON.parse(row[6] as string) as Rare)
    const ordinal = rare?.[1] ?? 0
    const parts = replaced.get(placeName(row[1], ordinal)) ?? []
    for (const { key, part, compaction, text } of parts) texts.set(`${key}:${part}:${compaction}`, text)
    const [, , insertedBy = null, , blobs = null, compactionId = null] = rare ?? []
    const shown = (): Rare => [parts[0]!.key, ordinal, insertedBy, encodeShown(parts), blobs, compactionId]
    const changed = parts.length === 0 ? row : [...row.slice(0, 6), JSON.stringify(shown())]
    if (ordinal > 0) ordinals.set(changed, ordinal)
    return changed
  })
  // Inserted rows were read last, and a cluster returns messages in any order.
  rows.sort((a, b) => (a[1] as number) - (b[1] as number) || (ordinals.get(a) ?? 0) - (ordinals.get(b) ?? 0))
  return yield* decodeView(sql, session, rows, withProvenance, texts)
}

type ShownThen = {
  readonly key: number
  readonly part: number
  readonly compaction: number
  readonly text: string
}

function placeName(anchor: unknown, ordinal: unknown): string {
  return ordinal === 0 ? `${anchor}` : `s${ordinal}`
}

/** Returns the texts that rows of a set showed in place of parts, in part order, by the place of the row. */
function* replacedIn(
  sql: Sql,
  session: { readonly no: number },
  set: RowSet,
  inForce: readonly StoredCompaction[],
): Work<ReadonlyMap<string, readonly ShownThen[]>> {
  const byRow = new Map<string, ShownThen[]>()
  const replacing = new Set(inForce.filter(({ partsReplaced }) => partsReplaced > 0).map(({ no }) => no))
  if (replacing.size === 0) return byRow
  const select = `select m.anchor, m.ordinal, r.message, r.part, r.compaction, ${TEXT_OF_R}`
  const parts = inForce.reduce((sum, { partsReplaced }) => sum + partsReplaced, 0)
  // Starts from whichever are fewer: the rows, or the replacements in force, which may belong to hidden rows.
  const found =
    parts < countRows(set)
      ? yield* sql.all(`${select} ${OF_COMPACTIONS}`, JSON.stringify([...replacing]))
      : yield* rowsOf(sql, session, set, select, JOIN_REPLACEMENTS)
  for (const [anchor, ordinal, ...one] of found) {
    const [key, part, compaction, text] = one as unknown as [number, number, number, string]
    if (replacing.has(compaction))
      listIn(byRow, placeName(anchor, ordinal)).push({ key, part, compaction, text })
  }
  for (const [place, all] of byRow)
    byRow.set(
      place,
      newestByPart(all).filter(({ text }) => text !== ORIGINAL),
    )
  return byRow
}

/** Returns the figures of a session at a point, by the current estimator: its counters at that point. Reads no contents. */
export function* readFiguresAt(sql: Sql, session: { readonly no: number }, point: Point): Work<PastFigures> {
  const inForce = yield* inForceAt(sql, session, point)
  const set = rowsAt(inForce, point.position)
  let sent = 0
  const sum = new SizesSum()
  for (const [count, ...totals] of yield* rowsOf(
    sql,
    session,
    set,
    `select ${COUNT_SENT}, ${SIZE_TOTALS}`,
    '',
  )) {
    sent += count as number
    sum.add(sizesOf(totals))
  }
  for (const saved of yield* savedSince(sql, session, set, inForce)) sum.add(saved)
  const hiddenBy = (isCounted: (kind: CompactionKind) => boolean): number =>
    inForce.reduce((rows, { kind, rowsHidden }) => rows + (isCounted(kind) ? rowsHidden : 0), 0)
  return {
    messageCount: point.position,
    visibleCount: sent,
    visibleSizes: sum.value,
    hidden: {
      condensed: hiddenBy(isCondensing),
      truncated: hiddenBy((kind) => !isCondensing(kind) && kind !== 'manual'),
      manual: hiddenBy((kind) => kind === 'manual'),
    },
    activeCompactions: inForce.length,
  }
}

/**
 * For each row of a set with replacements at the point or now, returns the tokens that the current replacements save, minus those that the
 * replacements at the point saved.
 */
function* savedSince(
  sql: Sql,
  session: { readonly no: number },
  set: RowSet,
  inForce: readonly StoredCompaction[],
): Work<Sizes[]> {
  const then = new Set(inForce.map(({ no }) => no))
  const select = `select r.message, r.part, r.compaction, (select c.status from undertext_compactions c where {family c} c.no = r.compaction),
    ${SAVED_OF_R}`
  const byRow = new Map<number, Saving[]>()
  for (const row of yield* rowsOf(sql, session, set, select, JOIN_REPLACEMENTS)) {
    const [key, part, compaction, status] = row as [number, number, number, string]
    listIn(byRow, key).push({ part, compaction, saved: savedSizes(row, 4), isActive: status === 'active' })
  }
  return [...byRow.values()].map((all) =>
    subtractSizes(
      savedByNewest(all.filter(({ isActive }) => isActive)),
      savedByNewest(all.filter(({ compaction }) => then.has(compaction))),
    ),
  )
}

type Saving = {
  readonly part: number
  readonly compaction: number
  readonly saved: Sizes
  readonly isActive: boolean
}

/** Returns a point and the time of its last message or audit entry, in milliseconds since 1970; `undefined` for an empty point. */
export const readPoint = reading(
  'messages.moment',
  function* (
    sql: Sql,
    id: string,
    moment: Moment | undefined,
  ): Work<Point & { readonly time: number | undefined }> {
    const session = yield* requireHead(sql, id)
    const point = yield* pointOf(sql, session, moment)
    const written = yield* sql.get(
      'select created_at from undertext_messages where {family} session = ? and position = ?',
      session.no,
      point.position,
    )
    const noted = yield* sql.get(
      'select at from undertext_audit where {family} session = ? and no = ?',
      session.no,
      point.audit,
    )
    const times = [written, noted].flatMap((row) => (row === undefined ? [] : (row[0] as number)))
    return { ...point, time: times.sort((a, b) => a - b).at(-1) }
  },
)

export const readPastView = reading(
  'getEffectiveHistory',
  function* (
    sql: Sql,
    id: string,
    moment: Moment,
    withProvenance: boolean,
  ): Work<{ readonly point: Point; readonly messages: ViewMessage[] }> {
    const session = yield* requireHead(sql, id)
    const point = yield* pointOf(sql, session, moment)
    return { point, messages: yield* readViewAt(sql, session, point, withProvenance) }
  },
)

/** Returns stored rows with their tags at a moment. The pages are the same as those of `readMessages`. */
export const readPastMessages = reading(
  'getMessages',
  function* (sql: Sql, id: string, query: MessageQuery, moment: Moment): Work<StoredMessage[]> {
    const session = yield* requireHead(sql, id)
    const point = yield* pointOf(sql, session, moment)
    const range = pageOf(point.position, query)
    if (range === undefined) return []
    const compactions = yield* compactionsAt(sql, session, point)
    const inForce = compactions.filter(({ status }) => status === 'active')
    const stored: RowSet = {
      positions: [range],
      inserted: compactions
        .flatMap(({ coverage }) => coverage.inserted ?? [])
        .filter(({ anchor }) => anchor >= range[0] && anchor <= range[1]),
    }
    const set = query.visible === true ? sharedRows(stored, rowsAt(inForce, point.position)) : stored
    const rows = yield* rowsOf(sql, session, set, STORED_COLUMNS, LOOKED_UP_CONTENT)
    const tagged = yield* withTagsOf(sql, session, point, rows, set, compactions)
    tagged.sort((a, b) => (a[12] as number) - (b[12] as number) || (a[4] as number) - (b[4] as number))
    const messages = yield* decodeRows(sql, session, tagged, query.shown === true)
    return query.order === 'forward' ? messages : messages.reverse()
  },
)

function sharedRows(a: RowSet, b: RowSet): RowSet {
  return withoutRows(a, [withoutRows(a, [b])])
}

/** Returns stored rows with the tags at a point in place of the current ones. */
function* withTagsOf(
  sql: Sql,
  session: SessionHead,
  point: Point,
  rows: readonly Row[],
  set: RowSet,
  compactions: readonly StoredCompaction[],
): Work<Row[]> {
  const inForce = compactions.filter(({ status }) => status === 'active')
  const undone = new Set(compactions.filter(({ status }) => status === 'undone').map(({ no }) => no))
  const hider = hiderOf(inForce)
  const replaced = yield* replacedIn(sql, session, set, inForce)
  const pinned = yield* pinsAt(sql, session, point)
  return rows.map((row) => {
    const [position, ordinal, id, insertedBy, anchor] = [row[3], row[4], row[5], row[11], row[12]]
    const by = hider({ position: position as number | null, ordinal: ordinal as number })
    const isCondensed = by !== undefined && isCondensing(by.kind)
    const shown = replaced.get(placeName(anchor, ordinal)) ?? []
    const wasPinned = pinned.get(rowId(session.incarnation, id, position, ordinal))
    const past = [...row]
    past[7] = encodeShown(shown)
    if (wasPinned !== undefined) past[13] = wasPinned ? 1 : 0
    past[15] = isCondensed ? by.no : null
    past[16] = by !== undefined && !isCondensed ? by.no : null
    past[17] = undone.has(insertedBy as number) ? insertedBy : null
    return past
  })
}

/**
 * Returns whether messages were pinned at a point, for those that entries of the audit name. An entry names at most 20 messages; for the
 * others, the current pins are the best approximation.
 */
function* pinsAt(
  sql: Sql,
  session: { readonly no: number },
  { audit }: Point,
): Work<ReadonlyMap<string, boolean>> {
  const rows = yield* sql.all(
    "select no, event, detail from undertext_audit where {family} session = ? and event in ('pinned', 'unpinned') order by no",
    session.no,
  )
  const pins = new Map<string, boolean>()
  for (const [no, event, detail] of rows) {
    const { messageIds } = parseStoredObject(detail, 'detail', `audit entry ${no}`)
    for (const id of Array.isArray(messageIds) ? (messageIds as string[]) : []) {
      if ((no as number) <= audit) pins.set(id, event === 'pinned')
      else if (!pins.has(id)) pins.set(id, event === 'unpinned')
    }
  }
  return pins
}

/** The last column: whether the row is silent. */
const NARROW = `select m.kind, m.role, m.position, m.ordinal, m.id, m.created_at, m.anchor, m.inserted_by,
  case when ${SILENT} then 1 else 0 end`

/** Returns the rows that the views of two moments show differently. Reads no contents. */
export const readDiff = reading(
  'messages.diff',
  function* (sql: Sql, id: string, from: Moment, to: Moment | undefined): Work<PastDiff> {
    const session = yield* requireHead(sql, id)
    const first = yield* sideOf(sql, session, yield* pointOf(sql, session, from))
    const second = yield* sideOf(sql, session, yield* pointOf(sql, session, to))
    const ids = new Map([...first.inForce, ...second.inForce].map((one) => [one.no, one.id] as const))
    const changes: (readonly [anchor: number, ordinal: number, change: ViewChange])[] = []
    for (const [change, set, absent] of [
      ['disappeared', withoutRows(first.set, [second.set]), second],
      ['appeared', withoutRows(second.set, [first.set]), first],
    ] as const) {
      for (const row of yield* rowsOf(sql, session, set, NARROW, '')) {
        const [position, ordinal, insertedBy, silent] = [
          row[2] as number | null,
          row[3] as number,
          row[7],
          row[8],
        ]
        if (silent === 1) continue
        const hiding = absent.hider({ position, ordinal })?.id ?? ids.get(insertedBy as number)
        changes.push([
          row[6] as number,
          ordinal,
          { change, ...narrowRow(session, row), ...defined({ compactionId: hiding }) },
        ])
      }
    }
    const both = sharedRows(first.set, second.set)
    const parts = changedParts(first.replaced, second.replaced, ids)
    for (const row of parts.size === 0 ? [] : yield* rowsOf(sql, session, both, NARROW, '')) {
      const changed = parts.get(placeName(row[6], row[3]))
      if (changed === undefined) continue
      const change = { change: 'changed' as const, ...narrowRow(session, row), parts: changed }
      changes.push([row[6] as number, row[3] as number, change])
    }
    changes.sort((a, b) => a[0] - b[0] || a[1] - b[1])
    return {
      ...{ from: first.point, to: second.point, before: first.figures, after: second.figures },
      changes: changes.map(([, , change]) => change),
    }
  },
)

function narrowRow(session: SessionHead, row: Row): Omit<ViewChange, 'change'> {
  const [kind, role, position, ordinal, id, createdAt] = row
  return {
    id: rowId(session.incarnation, id, position, ordinal),
    kind: decodeKind(kind),
    role: decodeRole(role),
    ...(position !== null && { position: position as number }),
    createdAt: createdAt as number,
  }
}

function* sideOf(sql: Sql, session: SessionHead, point: Point) {
  const inForce = yield* inForceAt(sql, session, point)
  const set = rowsAt(inForce, point.position)
  return {
    ...{ point, inForce, set, hider: hiderOf(inForce) },
    replaced: yield* replacedIn(sql, session, set, inForce),
    figures: yield* readFiguresAt(sql, session, point),
  }
}

type ShownRows = ReadonlyMap<string, readonly ShownThen[]>

/** Returns the parts of rows whose texts come from other compactions, by the place of the row. */
function changedParts(
  before: ShownRows,
  after: ShownRows,
  ids: ReadonlyMap<number, string>,
): Map<string, NonNullable<ViewChange['parts']>> {
  const changed = new Map<string, NonNullable<ViewChange['parts']>>()
  for (const place of new Set([...before.keys(), ...after.keys()])) {
    const [old = [], current = []] = [before.get(place), after.get(place)]
    const numbers = [...new Set([...old, ...current].map(({ part }) => part))].sort((a, b) => a - b)
    const textOf = (shown: readonly ShownThen[], part: number): string | null => {
      const one = shown.find((other) => other.part === part)
      return one === undefined ? null : ids.get(one.compaction)!
    }
    const parts = numbers.flatMap((part) => {
      const [was, is] = [textOf(old, part), textOf(current, part)]
      return was === is ? [] : { part, before: was, after: is }
    })
    if (parts.length > 0) changed.set(place, parts)
  }
  return changed
}
